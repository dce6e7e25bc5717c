//! *Shifted* states: one for all that differ by a shift of counters ([`palisade_program::shift`]; the module
//! [`crate::shift`] checks the rules). Steps of a program that follows the rules map shifted states to shifted
//! states, and a state violates a property if and only if a shifted one does. So the least set that has a
//! representative of each initial state and of each successor of a representative has one of every reachable
//! state. The representative is the state in which the first cell of each group, in memory, is from 0 to the
//! modulus - 1. Buffered stores and live locals move along; what is dead is 0.

use super::threads::{Own, Threads};
use crate::shift::{IllTyped, check};
use crate::steps::{Trouble, unsupported};
use palisade_program::shift::{Counter, Group, Groups};
use palisade_program::{Cell, Instance, LocalId, Program, Span};
use rustc_hash::FxHashMap;

/// One group of counters, by cells and threads.
struct Members {
    modulus: i64,
    cells: Vec<Cell>,
    /// For each thread its locals, at each location.
    locals: Vec<Vec<Vec<LocalId>>>,
}

/// How states are shifted.
pub(super) struct Shift {
    groups: Vec<Members>,
    /// For each cell its group.
    group_of: Vec<Option<usize>>,
    /// States of threads moved by a number, by thread, state, group and number.
    moved: FxHashMap<(usize, u32, usize, i64), u32>,
}

impl Shift {
    /// For the groups of a program; an error if they are against the rules.
    pub(super) fn of(program: &Program, instances: &[Instance]) -> Result<Self, IllTyped> {
        let groups = Groups::infer(program);
        check(program, &groups)?;
        let cells = || (0..program.cell_count()).map(Cell::from);
        let group_of = |cell| groups.of(Counter::Global(program.variable_of(cell).0));
        let group_of: Vec<Option<usize>> = cells().map(group_of).collect();
        let members = |(number, group): (usize, &Group)| Members {
            modulus: group.modulus,
            cells: cells()
                .filter(|cell| group_of[cell.index()] == Some(number))
                .collect(),
            locals: instances
                .iter()
                .map(|i| locals_of(program, group, *i))
                .collect(),
        };
        Ok(Self {
            groups: groups.0.iter().enumerate().map(members).collect(),
            group_of,
            moved: FxHashMap::default(),
        })
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
                cells[cell.index()] = self.number(cell, less(value, by)?);
            }
            for (thread, state) in own.iter_mut().enumerate() {
                let key = (thread, *state, number, by);
                *state = if let Some(known) = shift.moved.get(&key) {
                    *known
                } else {
                    let mut moved = self.own(thread, *state).clone();
                    for local in &group.locals[thread][moved.loc.index()] {
                        let value = &mut moved.locals[local.index()];
                        *value = less(*value, by)?;
                    }
                    let is_member = |cell: Cell| shift.group_of[cell.index()] == Some(number);
                    move_slots(&mut moved, is_member, by)?;
                    let moved = self.intern(thread, moved);
                    shift.moved.insert(key, moved);
                    moved
                };
            }
        }
        Ok(())
    }
}

/// Moves the values of buffered stores to the cells of a group.
fn move_slots(own: &mut Own, is_member: impl Fn(Cell) -> bool, by: i64) -> Result<(), Trouble> {
    let cells: Vec<Cell> = own.buffer.cells().collect();
    if cells.len() != own.slots.len() {
        return Err(unsupported("slots that are no stores", Span::default()));
    }
    for (cell, value) in cells.into_iter().zip(&mut own.slots) {
        if is_member(cell) {
            *value = less(*value, by)?;
        }
    }
    Ok(())
}

fn less(value: i64, by: i64) -> Result<i64, Trouble> {
    let moved = value.checked_sub(by);
    moved.ok_or_else(|| unsupported("a value of more than 64 bits", Span::default()))
}
