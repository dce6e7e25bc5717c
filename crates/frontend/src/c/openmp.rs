//! The *calls that directives of OpenMP become*. The parser writes them (`parser/openmp`), lowering
//! gives them their meaning (`lower/openmp`). Constructs have numbers.
//!
//! | call | meaning |
//! |---|---|
//! | `PARALLEL(f, n, x, &y)` | `n` threads run `f`; `x` and `y` are variables around it, `y` is written there |
//! | `TASK(f, x, &y, +z)` | a task runs `f`; it has a copy of `z` |
//! | `TASKWAIT()`, `TASKYIELD()`, `BARRIER()` | |
//! | `CLAIM(k)` | whether this thread is the first of its team here |
//! | `OWNS(k, i, schedule, chunk, total)` | whether this thread does iteration `i` |
//! | `ORDERED(k, i)`, `ITERATED(k, i)` | waits for the iterations before; they wait no longer for this one |
//! | `ENTER(name)`, `LEAVE(name)` | a critical section |

/// A team of threads runs a function.
pub(super) const PARALLEL: &str = "__palisade_omp_parallel";
/// A task runs a function.
pub(super) const TASK: &str = "__palisade_omp_task";
/// Waits for the tasks that this one has made.
pub(super) const TASKWAIT: &str = "__palisade_omp_taskwait";
/// Tasks that this one has made may come before what follows.
pub(super) const TASKYIELD: &str = "__palisade_omp_taskyield";
/// A barrier of the team.
pub(super) const BARRIER: &str = "__palisade_omp_barrier";
/// Whether this thread is the first of its team at a construct.
pub(super) const CLAIM: &str = "__palisade_omp_claim";
/// Whether this thread does an iteration.
pub(super) const OWNS: &str = "__palisade_omp_owns";
/// Waits until all iterations before are through their ordered part.
pub(super) const ORDERED: &str = "__palisade_omp_ordered";
/// An iteration is through its ordered part.
pub(super) const ITERATED: &str = "__palisade_omp_iterated";
/// Enters a critical section.
pub(super) const ENTER: &str = "__palisade_omp_enter";
/// Leaves it.
pub(super) const LEAVE: &str = "__palisade_omp_leave";

/// Which thread does which iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Schedule {
    /// The implementation decides.
    Any,
    /// One piece for each thread.
    Static,
    /// Chunks in turn.
    StaticChunks,
    /// Chunks for whoever comes first.
    Dynamic,
}

impl Schedule {
    const ALL: [Self; 4] = [Self::Any, Self::Static, Self::StaticChunks, Self::Dynamic];

    pub(super) const fn number(self) -> i128 {
        self as i128
    }

    pub(super) fn of_number(number: i128) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.number() == number)
    }
}
