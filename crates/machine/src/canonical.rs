//! Symmetry reduction: one representative for all states that differ only by
//! which copy of a template is which.

use crate::machine::Machine;
use crate::state::State;

/// How to find representatives.
pub(crate) struct Canonical {}

/// Memory for finding representatives, reused.
#[derive(Default)]
pub(crate) struct Scratch {}

impl Canonical {
    /// For a machine; `None` if it has no symmetry.
    pub(crate) fn of(_machine: &Machine<'_>) -> Option<Self> {
        None
    }

    /// The bytes of the representative of `state`.
    pub(crate) fn pack(
        &self,
        machine: &Machine<'_>,
        state: &State,
        _scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) {
        machine.pack(state, out);
    }
}
