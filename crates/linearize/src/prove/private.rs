//! What is known of the node that a local points to: whether others may know it, and which fields were
//! written since it was allocated. A node that only this local leads to is *private*: nobody sees what is done with it.

use std::collections::BTreeSet;

use palisade_program::heap::{Body, Edge, Place, Step, Term};
use palisade_program::{FieldId, LocalId};

use super::places::assigns;

/// What is known at one location, on all paths to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Known {
    /// Whether another local, a field or a shared variable may lead to the node.
    pub(super) public: bool,
    /// The fields that were written since it was allocated; `None`: all, since others gave it.
    pub(super) written: Option<BTreeSet<FieldId>>,
}

impl Known {
    /// A node that others have made, or none at all.
    pub(super) const OTHERS: Self = Self {
        public: true,
        written: None,
    };

    /// None at all, and nobody knows of it.
    pub(super) const NOTHING: Self = Self {
        public: false,
        written: None,
    };

    pub(super) fn has(&self, field: FieldId) -> bool {
        let written = self.written.as_ref();
        written.is_none_or(|written| written.contains(&field))
    }

    fn joined(&self, other: &Self) -> Self {
        let written = match (&self.written, &other.written) {
            (None, one) | (one, None) => one.clone(),
            (Some(a), Some(b)) => Some(a & b),
        };
        Self {
            public: self.public || other.public,
            written,
        }
    }

    fn after(&self, step: &Step, local: LocalId) -> Self {
        if matches!(step, Step::New { to } if *to == local) {
            return Self {
                public: false,
                written: Some(BTreeSet::new()),
            };
        }
        if assigns(step, local) {
            return Self::OTHERS;
        }
        let mut next = self.clone();
        next.public |= hands_on(step, local);
        if let (Some(field), Some(written)) = (written_field(step, local), &mut next.written) {
            written.insert(field);
        }
        next
    }
}

/// The field of the local's node that a plain write changes.
pub(super) fn written_field(step: &Step, local: LocalId) -> Option<FieldId> {
    match step.written() {
        Some((Place::Field { of, field }, _)) if of == local => Some(field),
        Some((Place::Field { .. } | Place::Shared(_), _)) | None => None,
    }
}

/// Whether others may know the local's node behind the step, by way of this local.
pub(super) fn hands_on(step: &Step, local: LocalId) -> bool {
    let value = Some(Term::Local(local));
    let swapped = matches!(step, Step::Cas { success: true, .. })
        && step.swapped().map(|(_, new)| new) == value;
    let assigned = matches!(step, Step::Assign { value: of, .. } if Some(*of) == value);
    swapped
        || assigned
        || step.returned() == value
        || step.written().map(|(_, written)| written) == value
}

/// What is known of the local's node in front of each edge; `None` where no run comes.
pub(super) fn known(body: &Body, local: LocalId, entry: &Known) -> Vec<Option<Known>> {
    let mut at: Vec<Option<Known>> = vec![None; body.locations.len()];
    at[body.entry.index()] = Some(entry.clone());
    loop {
        let mut changed = false;
        for Edge { from, to, step, .. } in &body.edges {
            let Some(before) = &at[from.index()] else {
                continue;
            };
            let after = before.after(step, local);
            let joined = match &at[to.index()] {
                Some(old) => old.joined(&after),
                None => after,
            };
            if at[to.index()].as_ref() != Some(&joined) {
                at[to.index()] = Some(joined);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let edges = body.edges.iter();
    edges.map(|edge| at[edge.from.index()].clone()).collect()
}
