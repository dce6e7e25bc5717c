//! *Extrapolation*: from what proved a program under SC to what may prove it under
//! TSO and PSO ([Dan et al., SAS 2013, sections 4.2], 4.3 and 5). The proof under SC speaks of
//! memory; the reduced program has, beside memory, copies of its variables in store
//! buffers. What is known of a variable is worth knowing of its copies too.
//!
//! | rule | paper | here |
//! |---|---|---|
//! | 1 | predicates `V_cnt_T = i`, `overflow = 0` | counters and overflow are explicit control: no predicate; [`Copies::generic_count`] says how many the paper would have |
//! | 2 | keep the SC predicates | the empty choice of [`Copies::choices`] |
//! | 3 | `lift(p)`: buffered versions in place of variables | [`Copies::lift_atoms`] |
//! | 4 | `V_(i-1)_T = V_i_T`, `V_i_T = V` | [`Copies::neighbours`], only when the other rules were too weak: it rarely gives anything, and the paper's own tables have no such predicates (Dekker: 7 + 4 lifted + 9 of rule 1 = 20) |
//! | 5 | a thread that never writes `X` has no copies of it | it has no buffer for it |
//! | 6 | all occurrences of a variable are replaced alike, copies of two threads are not mixed | a choice is a substitution by one thread's copies, unless [`Copies::mixed`] is set because that was too weak |
//! | 7 | with a fence between any two writes, one copy at most | [`Thread::single`] |
//!
//! *TSO* (derived; the paper's version is in its reference 10). The buffer of a
//! thread is one sequence; cell `i` holds a store to any of the variables that the
//! thread writes. Each cell is a possible copy of each of these variables, two
//! variables never have the same cell as their copy, and the same rules apply.
//!
//! *RMA* [Baumann et al., VMCAI 2018, section 4.2]. What the network has read for a pending operation, and
//! any element of an operation's value set, are copies of the variable that the operation
//! reads. What is said of the target is said of them too ([`Copies::incoming`]): the target may get
//! them. [`program`] takes over whole Boolean programs.
//!
//! *Cubes* (section 4.3) are lifted as one formula: all literals of a cube by the
//! same choice ([`Copies::lift_cubes`]). [`listed`] searches these and single
//! literals only.

pub mod copies;
pub mod lift;
pub mod listed;
pub mod program;

pub use copies::{Copies, Thread};
pub use lift::{Literals, literals_of};
pub use listed::Listed;
pub use program::{Extrapolated, Fact};
