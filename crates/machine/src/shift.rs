//! *Shifted* states: one for all that differ by a shift of counters ([`palisade_program::shift`] has the rules and
//! the argument). It is that in which the first cell of each group, in memory, is from 0 to the modulus - 1.
//! Buffered stores and live locals move along. Actions name no values of counters, so that a run through
//! representatives is a run of the program.

use palisade_program::shift::{Counter, Group, Groups};
use palisade_program::{Cell, Model};

use crate::machine::{Machine, WHOLE};
use crate::state::State;

/// One group of counters.
struct Members {
    group: Group,
    cells: Vec<usize>,
}

/// How states are shifted.
#[derive(Default)]
pub(crate) struct Shift {
    groups: Vec<Members>,
    /// For each cell its group.
    cells: Vec<Option<usize>>,
    /// For each thread, location and local its group.
    locals: Vec<Vec<Vec<Option<usize>>>>,
}

impl Shift {
    /// For a machine. There is none where values count: in a range. What a thread does alone on a memory that
    /// stays as it is ([`crate::progress`]) commutes with a shift.
    pub(crate) fn of(machine: &Machine<'_>) -> Self {
        let program = machine.program;
        let is_buffered = match machine.model {
            Model::Sc | Model::Tso | Model::Pso => true,
            Model::Rma | Model::Rc11 => false,
        };
        if !is_buffered || machine.range != WHOLE {
            return Self::default();
        }
        let groups = Groups::infer(program);
        if groups.0.is_empty() {
            return Self::default();
        }
        let group_of = |cell| groups.of(Counter::Global(program.variable_of(Cell::from(cell)).0));
        let cells: Vec<Option<usize>> = (0..machine.cells).map(group_of).collect();
        let members = |(number, group): (usize, &Group)| Members {
            group: group.clone(),
            cells: (0..machine.cells)
                .filter(|cell| cells[*cell] == Some(number))
                .collect(),
        };
        let locals = machine.threads.iter().map(|thread| {
            let template = thread.instance.template;
            let code = program.template(template);
            let mut at = vec![vec![None; code.locals.len()]; code.cfg.loc_count()];
            for (number, group) in groups.0.iter().enumerate() {
                for (_, loc, local) in group.locals.iter().filter(|(t, ..)| *t == template) {
                    at[loc.index()][local.index()] = Some(number);
                }
            }
            at
        });
        Self {
            groups: groups.0.iter().enumerate().map(members).collect(),
            locals: locals.collect(),
            cells,
        }
    }

    /// Whether there are no counters.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Makes a state its representative. Where a value would not fit 64 bits it stays as it is.
    pub(crate) fn apply(&self, machine: &Machine<'_>, state: &mut State) {
        for (number, Members { group, cells }) in self.groups.iter().enumerate() {
            let first = state.slots[cells[0]];
            let by = first - first.rem_euclid(group.modulus);
            if by == 0 {
                continue;
            }
            let mut fits = true;
            self.for_each(machine, state, number, |value| {
                fits &= group.moved(*value, by).is_some();
            });
            if fits {
                self.for_each(machine, state, number, |value| {
                    *value = group.moved(*value, by).unwrap_or(*value);
                });
            }
        }
    }

    /// Calls `f` with each value of a group: memory, live locals and buffered stores.
    fn for_each(
        &self,
        machine: &Machine<'_>,
        state: &mut State,
        group: usize,
        mut f: impl FnMut(&mut i64),
    ) {
        for &cell in &self.groups[group].cells {
            f(&mut state.slots[cell]);
        }
        for (t, thread) in machine.threads.iter().enumerate() {
            let pc = state.pcs[t] as usize;
            for &slot in &thread.live[pc] {
                if self.locals[t][pc][(slot - thread.base) as usize] == Some(group) {
                    f(&mut state.slots[slot as usize]);
                }
            }
            for store in &mut state.queues[t].stores {
                if self.cells[store.cell as usize] == Some(group) {
                    f(&mut store.value);
                }
            }
        }
    }
}
