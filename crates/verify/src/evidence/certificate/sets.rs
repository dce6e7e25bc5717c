//! *Value sets* in certificates: which of the cells that the reduction has added stands for what,
//! and what is known of the elements of each set. Where operations share the set of a
//! variable, the certificate still has a set for each of them: what is known of all elements of the
//! shared one is known of those of each.

use palisade_abstraction::space::Control;
use palisade_certify::{StateVar, set_of};
use palisade_logic::Var;
use palisade_memory::value_sets::{SetCell, SetPart};
use palisade_program::Cell;

use super::Translator;

/// A listed set: its element, and its values.
pub(super) type Listed = (Var, Vec<i64>);

impl<'a> Translator<'a> {
    pub(super) fn set_cells(&self) -> &'a [SetCell] {
        let sets = self.reduced.and_then(|r| r.sets.as_ref());
        sets.map_or(&[], |(_, cells)| cells)
    }

    /// Whether all operations that read a cell share one set.
    pub(super) fn shares_sets(&self) -> bool {
        self.set_cells().iter().any(|c| c.part == SetPart::Used)
    }

    /// The cell that the operation of a set reads.
    pub(super) fn source(&self, set: &SetCell) -> Option<Cell> {
        let template = self.reduced?.templates.get(set.template)?;
        let operation = template.operations.get(set.operation as usize)?;
        Some(operation.source)
    }

    /// The sets in use: their flags.
    pub(super) fn in_use(&self, control: &Control) -> impl Iterator<Item = &'a SetCell> {
        let more = self.set_cells().iter().filter(|c| c.part == SetPart::More);
        more.filter(|c| self.explicit_value(control, self.set_slot(c)) == 1)
    }

    /// The slot of a cell that the reduction has added.
    pub(super) fn set_slot(&self, cell: &SetCell) -> usize {
        let number = self.set_cells().iter().position(|c| c == cell);
        let number = number.expect("every set has all its parts");
        self.space
            .cell_slot(Cell::from(self.original.cell_count() + number))
    }

    pub(super) fn thread_of(&self, set: &SetCell) -> Option<usize> {
        let mut threads = self.space.threads.iter();
        threads.position(|i| i.template.index() == set.template && i.copy == set.copy)
    }

    pub(super) fn element(&self, thread: usize, number: u32) -> StateVar {
        StateVar::Element {
            thread: thread as u32,
            operation: self.set_number(thread, number),
        }
    }

    /// The number of the set of the reduction's operation with this number.
    pub(super) fn set_number(&self, thread: usize, number: u32) -> u32 {
        let template = self.space.threads[thread].template;
        let known = palisade_certify::operations(self.original, template);
        set_of(&known, self.pending(thread, number, 0, false).operation)
    }

    /// The listed sets in use, in order, with the values that they have.
    pub(super) fn listed(&self, control: &Control) -> Vec<Listed> {
        let mut all = Vec::new();
        for more in self.in_use(control) {
            let Some(thread) = self.thread_of(more) else {
                continue;
            };
            let Some(element) = self.element(thread, more.operation).var() else {
                continue;
            };
            let shared = self.shares_sets();
            let number = |c: &SetCell| (c.template, c.copy, c.operation);
            let own = |c: &&SetCell| {
                number(c) == number(more) || shared && self.source(c) == self.source(more)
            };
            let mut values = Vec::new();
            let mut is_listed = false;
            for cell in self.set_cells().iter().filter(own) {
                if let SetPart::Has(value) = cell.part {
                    is_listed = true;
                    if self.explicit_value(control, self.set_slot(cell)) == 1 {
                        values.push(value);
                    }
                }
            }
            if is_listed {
                all.push((element, values));
            }
        }
        all
    }

    /// The elements of the sets of all pending operations that read a cell.
    pub(super) fn elements(&self, control: &Control, cell: Cell) -> Vec<Var> {
        let reading = self.in_use(control);
        let reading = reading.filter(|c| self.source(c) == Some(cell));
        let elements = reading.filter_map(|c| {
            let thread = self.thread_of(c)?;
            self.element(thread, c.operation).var()
        });
        elements.collect()
    }
}
