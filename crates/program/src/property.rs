//! Properties beside `assert`: `never` (no reachable state satisfies it) and
//! `finally` (holds whenever all threads have ended and all buffers and pending
//! operations have drained), and the user's predicate hints.
//!
//! A property names threads by *thread variables*. `left` is the one copy of its
//! template, `t[2]` a certain copy, `t#1` and `t#2` any two distinct copies: a
//! `never` is violated if some choice of distinct copies satisfies it, a
//! `finally` if some choice falsifies it.

use crate::expr::Expr;
use crate::ids::{GlobalId, LocId, LocalId, TemplateId, ThreadVarId};
use crate::source::Span;

/// How a thread variable picks a copy of its template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Pick {
    /// The template exists once.
    Only,
    /// The copy with this number, from 0: `t[2]`.
    Copy(u32),
    /// Any copy; those with different numbers are distinct: `t#1`, `t#2`.
    Any(u32),
}

/// A thread that a property speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ThreadVar {
    /// The template
    pub template: TemplateId,
    /// and which copy of it.
    pub pick: Pick,
}

/// What a property's expression may read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PropAtom {
    /// A shared variable in memory, with the element's number for arrays.
    Global(GlobalId, Option<u32>),
    /// A thread's local.
    Local(ThreadVarId, LocalId),
    /// A thread's number.
    SelfOf(ThreadVarId),
    /// 1 when the thread is at this location, else 0. (A label's location is the
    /// one before the labelled statement.)
    At(ThreadVarId, LocId),
}

/// An expression in a property.
pub type PropExpr = Expr<PropAtom>;

/// Which kind of property.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum PropertyKind {
    /// No reachable state satisfies it. Checked between steps: not inside atomic
    /// blocks.
    Never,
    /// Holds in every state in which all threads have ended and everything has drained.
    Finally,
}

/// A property of the whole program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Property {
    /// `never` or `finally`.
    pub kind: PropertyKind,
    /// The threads that it speaks of.
    pub threads: Vec<ThreadVar>,
    /// The condition.
    pub cond: PropExpr,
    /// Where the user wrote it.
    pub span: Span,
}

/// `predicate e;`: a predicate that the user expects to be useful. Never needed
/// for soundness.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Hint {
    /// The threads that it speaks of.
    pub threads: Vec<ThreadVar>,
    /// The predicate.
    pub expr: PropExpr,
    /// Where the user wrote it.
    pub span: Span,
}
