//! *Shifted* states: one for all that differ by a shift of counters ([`palisade_program::shift`]; the module
//! [`crate::shift`] checks the rules). Steps of a program that follows the rules map shifted states to shifted
//! states, and a state violates a property if and only if a shifted one does. So the least set that has a
//! representative of each initial state and of each successor of a representative has one of every reachable
//! state. The representative is the state in which the first cell of each group, in memory, is from 0 to the
//! modulus - 1. Buffered stores and live locals move along; what is dead is 0.

use super::gaps::Width;
use super::threads::{Own, Threads};
use crate::certificate::Counters;
use crate::shift::{self, IllTyped, check};
use crate::steps::{Trouble, unsupported};
use palisade_program::shift::{Counter, Group, Groups};
use palisade_program::{Cell, Instance, LocalId, Model, Program, Span};
use rustc_hash::FxHashMap;

/// One group of counters, by cells and threads.
pub(super) struct Members {
    pub(super) modulus: i64,
    group: Group,
    pub(super) cells: Vec<Cell>,
    /// For each thread its locals, at each location.
    pub(super) locals: Vec<Vec<Vec<LocalId>>>,
}

/// How states are shifted.
pub(super) struct Shift {
    pub(super) groups: Vec<Members>,
    /// For each cell its group.
    group_of: Vec<Option<usize>>,
    /// From which gap on it does not matter how wide it is, if it is looked at so.
    pub(super) width: Option<Width>,
    /// States of threads moved by a number, by thread, state, group and number.
    moved: FxHashMap<(usize, u32, usize, i64), u32>,
}

impl Shift {
    /// For the groups of a program, `None` if counters are exact; an error if they are against the rules.
    pub(super) fn of(
        program: &Program,
        model: Model,
        instances: &[Instance],
        counters: Counters,
    ) -> Result<Option<Self>, IllTyped> {
        if counters == Counters::Exact {
            return Ok(None);
        }
        let groups = Groups::infer(program);
        let distances = check(program, &groups)?;
        let width = match counters {
            Counters::Exact | Counters::Shifted => None,
            // Words have no order.
            Counters::Gaps if groups.0.iter().any(|group| group.width.is_some()) => {
                return Err(IllTyped);
            }
            Counters::Gaps => {
                Some(Width::of(program, model, instances, &distances).ok_or(IllTyped)?)
            }
        };
        let cells = || (0..program.cell_count()).map(Cell::from);
        let group_of = |cell| groups.of(Counter::Global(program.variable_of(cell).0));
        let group_of: Vec<Option<usize>> = cells().map(group_of).collect();
        let members = |(number, group): (usize, &Group)| Members {
            modulus: group.modulus,
            group: group.clone(),
            cells: cells()
                .filter(|cell| group_of[cell.index()] == Some(number))
                .collect(),
            locals: instances
                .iter()
                .map(|i| locals_of(program, group, *i))
                .collect(),
        };
        Ok(Some(Self {
            groups: groups.0.iter().enumerate().map(members).collect(),
            group_of,
            width,
            moved: FxHashMap::default(),
        }))
    }

    /// The group of a cell.
    pub(super) fn group_of(&self, cell: Cell) -> Option<usize> {
        self.group_of[cell.index()]
    }
}

fn locals_of(program: &Program, group: &Group, instance: Instance) -> Vec<Vec<LocalId>> {
    let count = program.template(instance.template).cfg.loc_count();
    let mut at = vec![Vec::new(); count];
    let own = group.locals.iter();
    for (_, loc, local) in own.filter(|(t, ..)| *t == instance.template) {
        at[loc.index()].push(*local);
    }
    at
}

impl Threads<'_> {
    /// Makes a state its representative. `state` has the numbers of the threads' states, then those of the
    /// cells' values.
    pub(super) fn represent(
        &mut self,
        shift: &mut Shift,
        state: &mut [u32],
    ) -> Result<(), Trouble> {
        let (own, cells) = state.split_at_mut(self.count());
        for (number, group) in shift.groups.iter().enumerate() {
            let Some(&first) = group.cells.first() else {
                continue;
            };
            let newest = self.value(first, cells[first.index()]);
            let by = newest - newest.rem_euclid(group.modulus);
            if by == 0 {
                continue;
            }
            for &cell in &group.cells {
                let value = self.value(cell, cells[cell.index()]);
                cells[cell.index()] = self.number(cell, less(&group.group, value, by)?);
            }
            for (thread, state) in own.iter_mut().enumerate() {
                let key = (thread, *state, number, by);
                *state = if let Some(known) = shift.moved.get(&key) {
                    *known
                } else {
                    let mut moved = self.own(thread, *state).clone();
                    for local in &group.locals[thread][moved.loc.index()] {
                        let value = &mut moved.locals[local.index()];
                        *value = less(&group.group, *value, by)?;
                    }
                    let is_member = |cell: Cell| shift.group_of(cell) == Some(number);
                    move_slots(&mut moved, is_member, |value| less(&group.group, value, by))?;
                    let moved = self.intern(thread, moved);
                    shift.moved.insert(key, moved);
                    moved
                };
            }
        }
        Ok(())
    }
}

/// Gives the buffered stores to the cells of a group other values.
pub(super) fn move_slots(
    own: &mut Own,
    is_member: impl Fn(Cell) -> bool,
    moved: impl Fn(i64) -> Result<i64, Trouble>,
) -> Result<(), Trouble> {
    let cells: Vec<Cell> = own.buffer.cells().collect();
    if cells.len() != own.slots.len() {
        return Err(unsupported("slots that are no stores", Span::default()));
    }
    for (cell, value) in cells.into_iter().zip(&mut own.slots) {
        if is_member(cell) {
            *value = moved(*value)?;
        }
    }
    Ok(())
}

fn less(group: &Group, value: i64, by: i64) -> Result<i64, Trouble> {
    let moved = shift::moved(group, value, by);
    moved.ok_or_else(|| unsupported("a value of more than 64 bits", Span::default()))
}
