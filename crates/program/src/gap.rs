//! *Gaps*: places between the statements of a source text where synthesis may
//! write one more statement, such as a fence. A front end that knows its gaps
//! lowers each of them to a [`FenceKind::Candidate`](crate::FenceKind::Candidate)
//! edge whose span is the gap's, so that everything after the front end works on
//! edges and only the patch of the source needs the gap again. A gap in a
//! function that is inlined at several places has several edges.

use crate::source::Span;

/// Which of its two neighbours a gap is told by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Side {
    /// It stands after the statement.
    After,
    /// It stands before the statement.
    Before,
    /// The user marked the place with a statement of its own, which goes away.
    At,
    /// It stands in the loop, before the condition: entry and repetition meet here.
    Head,
}

/// A place between statements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Gap {
    /// What tells it from all other gaps, and the span of its edges: for a gap after
    /// a statement that statement, for a mark the mark, else an empty span.
    pub at: Span,
    /// The statement that it is told by; with its labels.
    pub statement: Span,
    /// On which side of it.
    pub side: Side,
    /// The statement stands alone as the body of a branch or loop and needs braces
    /// if another one joins it.
    pub lonely: bool,
    /// For [`Side::Head`]: the parts of the loop.
    pub head: Option<Head>,
    /// RMA: the gap stands after a remote operation, or in place of a flush
    /// ([`Side::At`]), and this is what a flush there waits for.
    pub flush: Option<FlushWords>,
}

/// What a flush waits for, in the words of the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FlushWords {
    /// The process, or the rank.
    pub target: Span,
    /// The window, in languages that have them.
    pub window: Option<Span>,
}

/// The parts of a loop whose head is a gap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Head {
    /// The condition.
    pub condition: Span,
    /// The body.
    pub body: Span,
    /// Whether the body has braces.
    pub is_block: bool,
}
