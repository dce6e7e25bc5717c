//! What is *asked* of a program: which of its properties count. A verification task may
//! ask for calls of an error function only, and a front end may assert that a run does
//! not reach what it cannot model ([`AssertKind::Unsupported`]). A run into anything
//! else decides nothing: it is *beside the point*, and every engine treats it alike.
//!
//! [`Program::narrowed`] is the program in which all other assertions are assumptions.
//! Its runs are runs of the program itself that meet no other error on their way, so
//! that its violations are violations; a proof of it proves nothing.

use std::fmt;

use crate::cfg::{AssertKind, Cfg, Step};
use crate::memory_error::MemoryError;
use crate::program::Program;
use crate::verdict::{Broken, Unknown, Verdict, Violation};

/// Which properties are asked about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Asked {
    /// All of them.
    #[default]
    All,
    /// Calls of the error function ([`AssertKind::ErrorCall`]).
    ErrorCalls,
    /// Overflow of signed integers.
    SignedOverflow,
    /// `never` and `finally`, which are data races in C programs, and remote races.
    Properties,
    /// Memory is used as C allows ([`AssertKind::Memory`], [`AssertKind::Index`]).
    Memory,
    /// Memory that is still allocated when the program ends.
    Leaks,
}

impl Asked {
    /// Whether failing assertions of this kind count.
    pub const fn includes(self, kind: &AssertKind) -> bool {
        match self {
            Self::All => !matches!(
                kind,
                AssertKind::Unsupported(_) | AssertKind::Uninitialised { .. }
            ),
            Self::ErrorCalls => matches!(kind, AssertKind::ErrorCall(_)),
            Self::SignedOverflow => matches!(kind, AssertKind::SignedOverflow),
            Self::Properties => matches!(kind, AssertKind::RemoteRace { .. }),
            Self::Memory => {
                let is_uninitialised =
                    matches!(kind, AssertKind::Memory(MemoryError::Uninitialised));
                matches!(kind, AssertKind::Memory(_) | AssertKind::Index) && !is_uninitialised
            }
            Self::Leaks => matches!(kind, AssertKind::Memory(MemoryError::Leak)),
        }
    }

    /// Whether memory errors that only C knows of are looked for.
    pub const fn checks_memory(self) -> bool {
        matches!(self, Self::All | Self::Memory | Self::Leaks)
    }

    /// Whether what a run violates counts.
    pub const fn includes_broken(self, broken: &Broken) -> bool {
        match (self, broken) {
            (_, Broken::Assert(kind)) => self.includes(kind),
            (Self::All | Self::Properties, Broken::Property(_) | Broken::DataRace) => true,
            (
                Self::ErrorCalls | Self::SignedOverflow | Self::Memory | Self::Leaks,
                Broken::Property(_) | Broken::DataRace,
            ) => false,
            (_, Broken::Deadlock | Broken::Progress | Broken::Unreachable(_)) => true,
        }
    }
}

/// What a verdict about a program takes for granted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Assumption {
    /// The compiler keeps the order of memory accesses.
    AccessOrder,
    /// Integers are mathematical, not those of the source language.
    MathematicalIntegers,
    /// `malloc` and its kin never fail.
    Allocation,
    /// The same, and nothing is used after it was freed.
    FreedUnused,
    /// No allocation returns an address that was freed.
    FreshAddresses,
    /// Relaxed and acquire loads are not reordered, as on x86.
    LoadsInOrder,
    /// Functions without a body return any value and do nothing else.
    UndefinedFunctions,
    /// Nobody waits or spins any more when `main` has returned, though it does not wait for
    /// all threads.
    MainEnds,
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AccessOrder => "assumes that the compiler keeps the order of memory accesses",
            Self::MathematicalIntegers => "integers are mathematical, not those of C (--ints math)",
            Self::LoadsInOrder => {
                "relaxed and acquire loads keep their order on x86; for ARM, POWER and RISC-V use \
                 --model rc11"
            }
            Self::Allocation => "assumes that allocation succeeds",
            Self::FreedUnused => "assumes that allocation succeeds; use after free is not checked",
            Self::FreshAddresses => {
                "assumes that freed addresses are not allocated again (ABA problems are not seen)"
            }
            Self::MainEnds => {
                "`main` does not join all threads: when it returns the program is over, also for threads \
                 that wait or spin (--outlive-main: they go on)"
            }
            Self::UndefinedFunctions => {
                "assumes that functions without a body return any value and do nothing else"
            }
        })
    }
}

impl Program {
    /// What a run into `violation` says about what is asked.
    pub fn judged(&self, violation: Box<Violation>) -> Verdict {
        if self.asked.includes_broken(&violation.broken) {
            return Verdict::Violated(violation);
        }
        Verdict::Unknown(match &violation.broken {
            Broken::Assert(AssertKind::Unsupported(what)) => {
                Unknown::Unsupported(what.clone(), violation.span)
            }
            Broken::Assert(AssertKind::Uninitialised { variable, .. }) => {
                Unknown::Uninitialised(variable.clone(), violation.span)
            }
            Broken::Assert(_)
            | Broken::Property(_)
            | Broken::Deadlock
            | Broken::Progress
            | Broken::Unreachable(_)
            | Broken::DataRace => Unknown::GaveUp(format!(
                "another error comes first: {} at line {}",
                violation.message,
                self.source.position(violation.span.start).line
            )),
        })
    }

    /// The program with only those assertions that are asked about, the others being
    /// assumptions; `None` if all are asked about.
    pub fn narrowed(&self) -> Option<Self> {
        let mut program = self.clone();
        let mut changed = false;
        for template in &mut program.templates {
            changed |= narrow(&mut template.cfg, self.asked);
        }
        changed.then_some(program)
    }
}

fn narrow(cfg: &mut Cfg, asked: Asked) -> bool {
    let mut changed = false;
    for edge in &mut cfg.edges {
        match &mut edge.step {
            Step::Assert { cond, kind } if !asked.includes(kind) => {
                edge.step = Step::Assume(cond.clone());
                changed = true;
            }
            Step::Atomic(block) => changed |= narrow(&mut block.body, asked),
            Step::Assert { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
            Step::Havoc { .. } | Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => {}
            Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => {}
        }
    }
    changed
}
