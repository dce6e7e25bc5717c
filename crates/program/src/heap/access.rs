//! *Accessors*: the parts of a step or term that analyses ask for, where it has them. A new kind of
//! step has to be thought of here once.

use super::{Cond, Place, Step, Term};
use crate::ids::LocalId;

impl Term {
    /// The local that it is.
    pub const fn local(self) -> Option<LocalId> {
        match self {
            Self::Local(id) => Some(id),
            Self::Null | Self::Empty | Self::Undefined | Self::Bool(_) | Self::Int(_) => None,
            Self::Infinity(_) | Self::Plus(..) | Self::Shared(_) => None,
        }
    }
}

impl Step {
    /// The condition without which the step does not happen, over locals.
    pub const fn assumed(&self) -> Option<&Cond> {
        match self {
            Self::Assume(cond) => Some(cond),
            Self::Skip
            | Self::Fence
            | Self::Assign { .. }
            | Self::Havoc { .. }
            | Self::New { .. } => None,
            Self::Read { .. } | Self::Write { .. } | Self::Cas { .. } => None,
            Self::Lock(_) | Self::Unlock(_) | Self::Free(_) | Self::Return(_) => None,
            Self::Compute { .. } | Self::Fail(_) => None,
        }
    }

    /// The local that a place is read into, and the place.
    pub const fn read(&self) -> Option<(LocalId, Place)> {
        match self {
            Self::Read { to, from, .. } => Some((*to, *from)),
            Self::Skip
            | Self::Fence
            | Self::Assume(_)
            | Self::Assign { .. }
            | Self::Havoc { .. } => None,
            Self::New { .. } | Self::Write { .. } | Self::Cas { .. } => None,
            Self::Lock(_) | Self::Unlock(_) | Self::Free(_) | Self::Return(_) => None,
            Self::Compute { .. } | Self::Fail(_) => None,
        }
    }

    /// The place that a plain write changes, and what is written.
    pub const fn written(&self) -> Option<(Place, Term)> {
        match self {
            Self::Write { to, value, .. } => Some((*to, *value)),
            Self::Skip
            | Self::Fence
            | Self::Assume(_)
            | Self::Assign { .. }
            | Self::Havoc { .. } => None,
            Self::New { .. } | Self::Read { .. } | Self::Cas { .. } => None,
            Self::Lock(_) | Self::Unlock(_) | Self::Free(_) | Self::Return(_) => None,
            Self::Compute { .. } | Self::Fail(_) => None,
        }
    }

    /// The place of a `cas`, and what it writes if it succeeds.
    pub const fn swapped(&self) -> Option<(Place, Term)> {
        match self {
            Self::Cas { at, new, .. } => Some((*at, *new)),
            Self::Skip
            | Self::Fence
            | Self::Assume(_)
            | Self::Assign { .. }
            | Self::Havoc { .. } => None,
            Self::New { .. } | Self::Read { .. } | Self::Write { .. } => None,
            Self::Lock(_) | Self::Unlock(_) | Self::Free(_) | Self::Return(_) => None,
            Self::Compute { .. } | Self::Fail(_) => None,
        }
    }

    /// The value that a `return` gives.
    pub const fn returned(&self) -> Option<Term> {
        match self {
            Self::Return(value) => *value,
            Self::Skip
            | Self::Fence
            | Self::Assume(_)
            | Self::Assign { .. }
            | Self::Havoc { .. } => None,
            Self::New { .. } | Self::Read { .. } | Self::Write { .. } | Self::Cas { .. } => None,
            Self::Lock(_) | Self::Unlock(_) | Self::Free(_) => None,
            Self::Compute { .. } | Self::Fail(_) => None,
        }
    }

    /// The locals that it gives a value.
    pub fn assigned(&self) -> impl Iterator<Item = LocalId> + use<> {
        let (to, tag) = match self {
            Self::Assign { to, .. } | Self::Havoc { to } | Self::New { to } => (Some(*to), None),
            Self::Compute { to, .. } => (Some(*to), None),
            Self::Fail(_) => (None, None),
            Self::Read { to, tag, .. } => (Some(*to), *tag),
            Self::Skip | Self::Fence | Self::Assume(_) | Self::Write { .. } | Self::Cas { .. } => {
                (None, None)
            }
            Self::Lock(_) | Self::Unlock(_) | Self::Free(_) | Self::Return(_) => (None, None),
        };
        to.into_iter().chain(tag)
    }
}
