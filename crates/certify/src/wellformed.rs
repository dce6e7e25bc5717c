//! Whether a certificate fits its program's form: numbers in range, shapes in
//! their one form, atoms over variables that exist. After this check the rest
//! may index tables without looking.

use crate::buffer_summary::{BufferSummary, SummaryInvariant};
use crate::certificate::{Certificate, Control, Entry, Kind};
use crate::refusal::Reason;
use crate::remote::operations;
use crate::remote_atomic::{atomic_number, atomic_operations};
use crate::state::StateVar;
use crate::views::is_numbered;
use palisade_logic::Formula;
use palisade_program::{Cell, Instance, Model, Program};
use rustc_hash::FxHashSet;

/// The first thing that does not fit, if there is one.
pub(crate) fn wellformed(
    program: &Program,
    instances: &[Instance],
    certificate: &Certificate,
) -> Result<(), Reason> {
    let count = |i: &Instance| operations(program, i.template).len() as u32;
    let atomics = |i: &Instance| atomic_operations(program, i.template).len() as u32;
    Form {
        program,
        operations: instances.iter().map(count).collect(),
        atomics: instances.iter().map(atomics).collect(),
        instances,
        certificate,
    }
    .all()
}

struct Form<'a> {
    program: &'a Program,
    instances: &'a [Instance],
    certificate: &'a Certificate,
    /// How many remote operations each thread has.
    operations: Vec<u32>,
    /// How many remote atomic operations each thread has.
    atomics: Vec<u32>,
}

fn malformed<T>(what: impl Into<String>) -> Result<T, Reason> {
    Err(Reason::Malformed(what.into()))
}

impl Form<'_> {
    fn all(&self) -> Result<(), Reason> {
        self.beyond()?;
        let mut seen = FxHashSet::default();
        for explicit in &self.certificate.explicit {
            let of_set = matches!(explicit, StateVar::Element { .. });
            if of_set || !self.exists(*explicit) || explicit.var().is_none() {
                return malformed("an explicit variable does not exist");
            }
            if !seen.insert(*explicit) {
                return malformed("an explicit variable is listed twice");
            }
        }
        let mut slots = Vec::new();
        for (i, atom) in self.certificate.atoms.iter().enumerate() {
            slots.push(self.slots_of(i, atom)?);
        }
        self.certificate
            .entries
            .iter()
            .enumerate()
            .try_for_each(|(i, entry)| self.entry(i + 1, entry, &slots))
    }

    /// Abstract buffers are for models with buffers; each claim is one of a store
    /// that exists, and made once.
    fn beyond(&self) -> Result<(), Reason> {
        let Some(beyond) = &self.certificate.beyond else {
            return Ok(());
        };
        let mut slots = FxHashSet::default();
        for (thread, operation, _) in &beyond.slots {
            let (thread, operation) = (*thread, *operation);
            let exists = self.exists(StateVar::Element { thread, operation });
            if !exists || !slots.insert((thread, operation)) {
                return malformed("slots are of no operation, or said twice");
            }
        }
        match self.certificate.model {
            Model::Tso | Model::Pso => {}
            Model::Rma if beyond.claims.is_empty() && beyond.sizes.is_empty() => return Ok(()),
            Model::Sc | Model::Rma | Model::Rc11 => {
                return malformed("abstract buffers without buffers");
            }
        }
        self.sizes(beyond)?;
        let mut seen = FxHashSet::default();
        for (thread, cell, _) in &beyond.claims {
            let exists = self.exists(StateVar::Last {
                thread: *thread,
                cell: *cell,
            });
            if !exists || !seen.insert((*thread, *cell)) {
                return malformed("a claim is of no buffer, or made twice");
            }
        }
        Ok(())
    }

    /// Each size is of a buffer that exists, and said once. Copies of a template that has any
    /// number of them are interchangeable: they have no sizes of their own.
    fn sizes(&self, beyond: &BufferSummary) -> Result<(), Reason> {
        if self.certificate.kind == Kind::Views && !beyond.sizes.is_empty() {
            return malformed("buffers of interchangeable threads have different sizes");
        }
        let mut seen = FxHashSet::default();
        for &(thread, cell, _) in &beyond.sizes {
            let fits = match (self.certificate.model, cell) {
                (Model::Pso, Some(cell)) => cell.index() < self.program.cell_count(),
                (Model::Tso, None) => true,
                (_, Some(_) | None) => false,
            };
            let exists = fits && (thread as usize) < self.instances.len();
            if !exists || !seen.insert((thread, cell)) {
                return malformed("a size is of no buffer, or said twice");
            }
        }
        Ok(())
    }

    /// Whether the program has this variable under the certificate's model, at
    /// some shape.
    fn exists(&self, state_var: StateVar) -> bool {
        let cell = |cell: Cell| cell.index() < self.program.cell_count();
        let thread = |thread: u32| (thread as usize) < self.instances.len();
        match state_var {
            StateVar::Cell(c) => cell(c),
            StateVar::Local { thread: t, local } => {
                thread(t) && {
                    let instance = self.instances[t as usize];
                    local.index() < self.program.template(instance.template).locals.len()
                }
            }
            StateVar::Slot { thread: t, .. } => thread(t) && self.certificate.model == Model::Tso,
            StateVar::CellSlot {
                thread: t, cell: c, ..
            } => thread(t) && cell(c) && self.certificate.model == Model::Pso,
            StateVar::Carried {
                thread: t,
                operation,
                ..
            } => {
                let exists = match atomic_number(operation) {
                    Some(atomic) => atomic < self.atomic_count(t as usize),
                    None => operation < self.operation_count(t as usize),
                };
                thread(t) && self.certificate.model == Model::Rma && exists
            }
            StateVar::Element {
                thread: t,
                operation,
            } => {
                let known = |t: u32| self.operation_count(t as usize);
                let has_sets = self.certificate.model == Model::Rma;
                thread(t) && has_sets && operation < known(t)
            }
            StateVar::Last { thread: t, cell: c } => {
                thread(t) && cell(c) && self.certificate.beyond.is_some()
            }
            StateVar::Low { thread: t, cell: c } => {
                let rising = |b: &BufferSummary| *b.claim(t, c) == SummaryInvariant::Rising;
                thread(t) && cell(c) && self.certificate.beyond.as_ref().is_some_and(rising)
            }
            StateVar::Number { thread: t } => {
                thread(t) && {
                    let instance = self.instances[t as usize];
                    is_numbered(self.program, self.certificate.kind, instance)
                }
            }
        }
    }

    /// How many remote operations a thread has.
    fn operation_count(&self, thread: usize) -> u32 {
        self.operations.get(thread).copied().unwrap_or(0)
    }

    /// How many remote atomic operations a thread has.
    fn atomic_count(&self, thread: usize) -> u32 {
        self.atomics.get(thread).copied().unwrap_or(0)
    }

    /// The buffer slots that an atom speaks of.
    fn slots_of(&self, number: usize, atom: &Formula) -> Result<Vec<StateVar>, Reason> {
        let mut slots = Vec::new();
        for var in atom.free_vars() {
            match StateVar::of(var) {
                Some(slot) if is_slot(slot) && self.exists(slot) => slots.push(slot),
                Some(other) if self.exists(other) => {}
                Some(_) | None => {
                    return malformed(format!("atom {number} has an unknown variable"));
                }
            }
        }
        let of_sets = slots.iter();
        let of_sets = of_sets.filter(|s| matches!(s, StateVar::Element { .. }));
        if of_sets.count() > 1 {
            return malformed(format!("atom {number} speaks of two sets"));
        }
        Ok(slots)
    }

    fn entry(&self, number: usize, entry: &Entry, slots: &[Vec<StateVar>]) -> Result<(), Reason> {
        let control = &entry.control;
        self.control(number, control)?;
        let present = self.slots_at(control);
        for (explicit, value) in self.certificate.explicit.iter().zip(&control.values) {
            if value.is_some() && is_slot(*explicit) && !present.contains(explicit) {
                return malformed(format!("entry {number} gives a value to an absent slot"));
            }
        }
        for (atom, _) in entry.cubes.iter().flat_map(|cube| &cube.0) {
            let Some(slots) = slots.get(*atom as usize) else {
                return malformed(format!("entry {number} has an unknown atom"));
            };
            if slots.iter().any(|slot| !present.contains(slot)) {
                return malformed(format!("entry {number} speaks of an absent slot"));
            }
        }
        Ok(())
    }

    fn control(&self, number: usize, control: &Control) -> Result<(), Reason> {
        let threads = self.instances.len();
        if control.locs.len() != threads || control.buffers.len() != threads {
            return malformed(format!("entry {number} has a wrong number of threads"));
        }
        if control.values.len() != self.certificate.explicit.len() {
            return malformed(format!("entry {number} has a wrong number of values"));
        }
        for (loc, instance) in control.locs.iter().zip(self.instances) {
            let count = self.program.template(instance.template).cfg.loc_count();
            if loc.index() >= count {
                return malformed(format!("entry {number} has an unknown location"));
            }
        }
        for (thread, buffer) in control.buffers.iter().enumerate() {
            let known = |cell: Cell| cell.index() < self.program.cell_count();
            let exact = buffer.many.is_empty() && buffer.sets.is_empty();
            let abstracted = self.certificate.beyond.is_some() || exact;
            let cells = buffer.cells().chain(buffer.many.iter().copied());
            let count = self.operation_count(thread);
            let pending = buffer.pending.iter().map(|p| p.operation);
            let operations = { pending.chain(buffer.sets.iter().copied()) }.all(|o| o < count);
            let known_atomics = self.atomic_count(thread);
            let atomics = buffer.atomics.iter().all(|p| p.operation < known_atomics);
            let fits =
                operations && atomics && abstracted && buffer.is_canonical(self.certificate.model);
            if !fits || !{ cells }.all(known) {
                return malformed(format!("entry {number} has an impossible buffer"));
            }
        }
        Ok(())
    }

    fn slots_at(&self, control: &Control) -> Vec<StateVar> {
        let buffers = control.buffers.iter().enumerate();
        buffers
            .flat_map(|(thread, b)| {
                let beyond = self.certificate.beyond.as_ref();
                b.slots(self.certificate.model, thread as u32, beyond)
            })
            .collect()
    }
}

const fn is_slot(state_var: StateVar) -> bool {
    match state_var {
        StateVar::Cell(_) | StateVar::Local { .. } | StateVar::Number { .. } => false,
        StateVar::Slot { .. } | StateVar::CellSlot { .. } | StateVar::Carried { .. } => true,
        StateVar::Last { .. } | StateVar::Low { .. } | StateVar::Element { .. } => true,
    }
}
