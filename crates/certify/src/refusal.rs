//! Why a certificate is *refused*, and where. A refusal is never a statement
//! about the program: the program may be right and the certificate too weak, or
//! the program may use something that this check does not treat.

use palisade_program::{LineColumn, LocId, Span};
use std::fmt;

/// Why the check did not succeed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    /// The certificate was made for another program, model or number of threads.
    #[error("the certificate is for another program, model or number of threads")]
    Fingerprint,
    /// The certificate does not fit the program's form.
    #[error("malformed certificate: {0}")]
    Malformed(String),
    /// The program uses something that this check cannot treat.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// There are more reachable states than the certificate says, or than are looked at.
    #[error("more than {0} states")]
    States(u64),
    /// Some initial state is not in the invariant.
    #[error("an initial state is not in the invariant")]
    Initial,
    /// A step leads out of the invariant.
    #[error("a step leads out of the invariant")]
    NotClosed,
    /// An assertion can fail in the invariant.
    #[error("an assertion may fail")]
    Assertion,
    /// Two accesses can race in the invariant (RC11).
    #[error("there may be a data race")]
    Race,
    /// An array index can be out of range in the invariant.
    #[error("an array index may be out of range")]
    Index,
    /// A store that the certificate lets go to memory at once needs its buffer.
    #[error("a store needs its buffer: {0}")]
    Direct(String),
    /// Others may disturb an access at which the certificate does not let a thread stop.
    #[error("an access may be disturbed (location {})", .0.index())]
    Disturbed(LocId),
    /// A store beyond the exact ones may break what the certificate claims of it.
    #[error("a buffered store may break what the certificate claims of its buffer")]
    SummaryInvariant,
    /// A state of the invariant satisfies a `never` or falsifies a `finally`.
    #[error("property {0} may be violated")]
    Property(usize),
    /// A state of the invariant may be a deadlock.
    #[error("there may be a deadlock")]
    Deadlock,
    /// From a state of the invariant a thread may spin for ever.
    #[error("a thread may spin for ever")]
    Progress,
    /// The solver gave no answer, or a limit was reached.
    #[error("undecided: {0}")]
    Undecided(#[from] palisade_logic::limits::Reason),
}

/// Where in the certificate and the program the check failed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Site {
    /// The entry that the failing step starts from, as text.
    pub control: Option<String>,
    /// The thread and its step, as text.
    pub step: Option<String>,
    /// Where the step or property stands in the source.
    pub span: Option<(Span, LineColumn)>,
}

/// A certificate that was not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// Where.
    pub site: Site,
}

impl Refusal {
    /// A refusal of the certificate as a whole.
    pub(crate) fn whole(reason: Reason) -> Self {
        let site = Site::default();
        Self { reason, site }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        if let Some((_, position)) = self.site.span {
            write!(f, " at {position}")?;
        }
        if let Some(step) = &self.site.step {
            write!(f, ", step {step}")?;
        }
        if let Some(control) = &self.site.control {
            write!(f, ", from {control}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
