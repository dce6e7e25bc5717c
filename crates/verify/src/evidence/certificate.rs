//! From the abstract states that a search has reached to a *certificate*. The
//! states are an inductive invariant of the program that was searched; a reduced
//! program's variables are renamed to what they stand for in the original:
//! buffer counters, targets and epochs become shapes, buffered values become
//! slots, and what is known of the abstract part of a buffer is known of the stores
//! beyond the exact ones; `sets` has what is said of value sets. Nothing here is trusted: `palisade-certify` proves the result anew.

mod sets;

use std::collections::BTreeMap;

use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::{Control, SlotKind, Space};
use palisade_certify::{
    AtomicOperation, Buffer, BufferSummary, Certificate, Cube, Entry, Fingerprint, Item, Keep,
    Kind, Operation, Pending, PendingAtomic, StateVar, SummaryInvariant,
};
use palisade_checker::search::Node;
use palisade_logic::substitute::Substitution;
use palisade_logic::term::Overflow;
use palisade_logic::{Formula, Term};
use palisade_memory::reduced::{Part, Reduced};
use palisade_memory::remote_atomics::Input;
use palisade_memory::rma;
use palisade_memory::summary;
use palisade_memory::value_sets::{SetCell, SetPart};
use palisade_program::{Cell, LocId, Model, Program};

use self::sets::Listed;

/// What a slot of the searched space is in the original program.
#[derive(Clone, Copy, Debug)]
enum Slot {
    /// A state variable.
    State(StateVar),
    /// A buffered value: it exists while more than this many stores (to the cell)
    /// are buffered.
    Buffered(StateVar, usize, Option<Cell>, u32),
    /// Of the stores to a cell that are in the abstract part of the buffer: it exists
    /// while there are some.
    BufferSummary(StateVar, usize, Cell),
    /// What the network has read for a slot of an operation: it exists while the
    /// slot's phase says so.
    Carried(StateVar, usize, Part),
    /// Of a slot of a remote atomic operation: an operand, or the value from before.
    Atomic(StateVar, usize, u32, u32, Option<u32>),
    /// Any element of a value set: it exists while the control variable of this slot
    /// is 1.
    Element(StateVar, usize),
    /// Any element of the set of a variable: an element of the set of each operation that
    /// reads the cell and is pending.
    Shared(Cell),
    /// Part of the shape, or a temporary.
    Shape,
}

/// Translates states of a space into the vocabulary of certificates.
pub struct Translator<'a> {
    space: &'a Space<'a>,
    reduced: Option<&'a Reduced>,
    original: &'a Program,
    model: Model,
    kind: Kind,
    slots: Vec<Slot>,
}

impl<'a> Translator<'a> {
    /// For states of `space`, which is that of `original` or of `reduced`.
    pub fn new(
        space: &'a Space<'a>,
        original: &'a Program,
        reduced: Option<&'a Reduced>,
        model: Model,
        kind: Kind,
    ) -> Self {
        let mut translator = Self {
            kind,
            space,
            reduced,
            original,
            model,
            slots: Vec::new(),
        };
        translator.slots = space
            .slots
            .iter()
            .map(|s| translator.slot(s.kind))
            .collect();
        translator
    }

    fn slot(&self, kind: SlotKind) -> Slot {
        let (thread, local) = match kind {
            SlotKind::Cell(cell) => return self.cell(cell),
            SlotKind::Local(thread, local) => (thread, local),
        };
        let own = StateVar::Local {
            thread: thread as u32,
            local,
        };
        let Some(part) = self.part(thread, local.index()) else {
            return Slot::State(own);
        };
        let thread_number = thread as u32;
        match part {
            Part::Own => Slot::State(own),
            Part::Value(None, position) => {
                let slot = StateVar::Slot {
                    thread: thread_number,
                    position,
                };
                Slot::Buffered(slot, thread, None, position)
            }
            Part::Value(Some(cell), position) => {
                let slot = StateVar::CellSlot {
                    thread: thread_number,
                    cell,
                    position,
                };
                Slot::Buffered(slot, thread, Some(cell), position)
            }
            Part::Last(cell) => {
                let thread_number = thread as u32;
                let last = StateVar::Last {
                    thread: thread_number,
                    cell,
                };
                Slot::BufferSummary(last, thread, cell)
            }
            Part::Low(cell) => {
                let thread_number = thread as u32;
                let low = StateVar::Low {
                    thread: thread_number,
                    cell,
                };
                Slot::BufferSummary(low, thread, cell)
            }
            Part::Carried(number, slot) => {
                let pending = self.pending(thread, number, slot, true);
                let carried = StateVar::carried(thread_number, pending);
                Slot::Carried(carried, thread, Part::Phase(number, slot))
            }
            Part::AtomicInput(number, slot, i) => {
                let input = self.atomic(thread, number, slot).input(thread_number, i);
                Slot::Atomic(input, thread, number, slot, Some(i))
            }
            Part::AtomicOld(number, slot) => {
                let old = self.atomic(thread, number, slot).old(thread_number);
                Slot::Atomic(old, thread, number, slot, None)
            }
            Part::Phase(..) | Part::AtomicPhase(..) | Part::AtomicGot(..) => Slot::Shape,
            Part::Count(_) | Part::Target(_) | Part::Epoch(..) | Part::More(_) => Slot::Shape,
            Part::CurrentEpoch | Part::Scratch => Slot::Shape,
        }
    }

    /// A cell of memory, or one that the reduction has added for value sets.
    fn cell(&self, cell: Cell) -> Slot {
        let Some(number) = cell.index().checked_sub(self.original.cell_count()) else {
            return Slot::State(StateVar::Cell(cell));
        };
        let set = self.set_cells()[number];
        let Some(thread) = self.thread_of(&set) else {
            return Slot::Shape;
        };
        match set.part {
            SetPart::More | SetPart::Used | SetPart::Has(_) => Slot::Shape,
            SetPart::Summary if self.shares_sets() => match self.source(&set) {
                Some(source) => Slot::Shared(source),
                None => Slot::Shape,
            },
            SetPart::Summary => {
                let flag = self.set_slot(&SetCell {
                    part: SetPart::More,
                    ..set
                });
                Slot::Element(self.element(thread, set.operation), flag)
            }
        }
    }

    /// The value of an explicit slot; 0 if it is none.
    fn explicit_value(&self, control: &Control, slot: usize) -> i64 {
        let explicit = self.space.slots[slot].explicit.as_ref();
        explicit.map_or(0, |e| control.values[e.position])
    }

    /// A slot of the reduction's operation with this number, by the number that the
    /// certificate gives it.
    fn pending(&self, thread: usize, number: u32, slot: u32, read: bool) -> Pending {
        let template = self.space.threads[thread].template;
        let parts = self.reduced.map(|r| &r.templates[template.index()]);
        let own = parts.and_then(|p| p.operations.get(number as usize));
        let is_it = |o: &Operation| {
            own.is_some_and(|own| {
                (own.edge.0, own.source, own.target) == (o.edge, o.source, o.target)
            })
        };
        let known = palisade_certify::operations(self.original, template);
        // One that is not there has a number that the checker refuses.
        let operation = known.iter().position(is_it).unwrap_or(known.len());
        Pending {
            operation: operation as u32,
            slot,
            read,
        }
    }

    /// A slot of the reduction's remote atomic operation with this number.
    fn atomic(&self, thread: usize, number: u32, slot: u32) -> PendingAtomic {
        let template = self.space.threads[thread].template;
        let parts = self.reduced.map(|r| &r.templates[template.index()]);
        let own = parts.and_then(|p| p.atomics.get(number as usize));
        let cell_of = |input: &Input| match input {
            Input::Value(_) => None,
            Input::Cell(cell) => Some(*cell),
        };
        let is_it = |o: &AtomicOperation| {
            own.is_some_and(|own| {
                let inputs: Vec<Option<Cell>> = own.inputs.iter().map(cell_of).collect();
                (own.edge.0, own.cell, own.result) == (o.edge, o.cell, o.result)
                    && inputs == o.inputs
            })
        };
        let known = palisade_certify::atomic_operations(self.original, template);
        // One that is not there has a number that the checker refuses.
        let operation = known.iter().position(is_it).unwrap_or(known.len());
        PendingAtomic {
            operation: operation as u32,
            slot,
            got: 0,
            applied: false,
        }
    }

    /// What a slot of a remote atomic operation holds; none if it is free.
    fn pending_atomic(
        &self,
        control: &Control,
        thread: usize,
        number: u32,
        slot: u32,
    ) -> Option<PendingAtomic> {
        let value = |part| self.control_value(control, thread, part);
        let phase = value(Part::AtomicPhase(number, slot));
        let applied = phase == rma::READ;
        let template = self.space.threads[thread].template;
        let operation = self.reduced?.templates[template.index()]
            .atomics
            .get(number as usize)?;
        let mut got = 0;
        for (i, input) in operation.inputs.iter().enumerate() {
            let has = match input {
                Input::Value(_) => true,
                Input::Cell(_) => value(Part::AtomicGot(number, slot, i as u32)) == 1,
            };
            got |= u32::from(has && !applied) << i;
        }
        (phase != rma::FREE).then(|| PendingAtomic {
            got,
            applied,
            ..self.atomic(thread, number, slot)
        })
    }

    fn part(&self, thread: usize, local: usize) -> Option<Part> {
        let template = self.space.threads[thread].template;
        self.reduced
            .map(|r| r.templates[template.index()].locals[local])
    }

    /// The value of the thread's control variable that is `part`; 0 if it has none.
    fn control_value(&self, control: &Control, thread: usize, part: Part) -> i64 {
        let template = self.space.threads[thread].template;
        let parts = self
            .reduced
            .map_or(&[][..], |r| &r.templates[template.index()].locals);
        let Some(local) = parts.iter().position(|p| *p == part) else {
            return 0;
        };
        let slot = self.space.local_slot(thread, local.into());
        let explicit = self.space.slots[slot].explicit.as_ref();
        explicit.map_or(0, |e| control.values[e.position])
    }

    /// The shape of a thread's buffers.
    fn buffer(&self, control: &Control, thread: usize) -> Buffer {
        let Some(reduced) = self.reduced else {
            return Buffer::default();
        };
        let template = &reduced.templates[self.space.threads[thread].template.index()];
        let mut items = Vec::new();
        match self.model {
            Model::Sc | Model::Rc11 => {}
            Model::Rma => return self.remote(control, thread),
            Model::Tso => {
                let count = self.control_value(control, thread, Part::Count(None));
                for position in 0..count as u32 {
                    let target = self.control_value(control, thread, Part::Target(position));
                    items.push(Item::Store(template.buffered[target as usize]));
                }
            }
            Model::Pso => {
                let mut stores = Vec::new();
                for &cell in &template.buffered {
                    let count = self.control_value(control, thread, Part::Count(Some(cell)));
                    for position in 0..count as u32 {
                        let part = Part::Epoch(cell, position);
                        stores.push((self.control_value(control, thread, part), cell));
                    }
                }
                stores.sort_unstable();
                let current = self.control_value(control, thread, Part::CurrentEpoch);
                let mut epoch = 0;
                for (own, cell) in stores {
                    items.extend((epoch..own).map(|_| Item::Fence));
                    epoch = own;
                    items.push(Item::Store(cell));
                }
                items.extend((epoch..current).map(|_| Item::Fence));
            }
        }
        let more = |cell: &Cell| self.control_value(control, thread, Part::More(*cell)) == 1;
        let mut buffer = Buffer {
            items,
            many: template.buffered.iter().copied().filter(more).collect(),
            ..Buffer::default()
        };
        if self.model == Model::Pso {
            buffer.normalise();
        }
        buffer
    }

    /// The pending operations of a thread.
    fn remote(&self, control: &Control, thread: usize) -> Buffer {
        let template = self.space.threads[thread].template;
        let parts = self
            .reduced
            .map_or(&[][..], |r| &r.templates[template.index()].locals);
        let mut pending = Vec::new();
        for part in parts {
            let Part::Phase(number, slot) = *part else {
                continue;
            };
            let phase = self.control_value(control, thread, *part);
            if phase != rma::FREE {
                pending.push(self.pending(thread, number, slot, phase == rma::READ));
            }
        }
        pending.sort_unstable();
        let used = self.in_use(control);
        let used = used.filter(|c| self.thread_of(c) == Some(thread));
        let number = |c: &SetCell| self.set_number(thread, c.operation);
        let mut sets: Vec<u32> = used.map(number).collect();
        sets.sort_unstable();
        let mut atomics = Vec::new();
        for part in parts {
            if let Part::AtomicPhase(number, slot) = *part {
                atomics.extend(self.pending_atomic(control, thread, number, slot));
            }
        }
        atomics.sort_unstable();
        Buffer {
            pending,
            sets,
            atomics,
            ..Buffer::default()
        }
    }

    /// The state variable of a slot, if it exists at `control`.
    fn state_var(&self, control: &Control, slot: usize) -> Option<StateVar> {
        match self.slots[slot] {
            Slot::State(var) => self.space.is_live_at(slot, &control.pcs).then_some(var),
            Slot::Buffered(var, thread, cell, position) => {
                let count = self.control_value(control, thread, Part::Count(cell));
                (i64::from(position) < count).then_some(var)
            }
            Slot::BufferSummary(var, thread, cell) => {
                let more = self.control_value(control, thread, Part::More(cell));
                (more == 1).then_some(var)
            }
            Slot::Carried(var, thread, phase) => {
                let phase = self.control_value(control, thread, phase);
                (phase == rma::READ).then_some(var)
            }
            Slot::Atomic(var, thread, number, slot, input) => {
                let pending = self.pending_atomic(control, thread, number, slot)?;
                let exists = match input {
                    Some(i) => !pending.applied && pending.got >> i & 1 == 1,
                    None => pending.applied,
                };
                exists.then_some(var)
            }
            Slot::Element(var, flag) => (self.explicit_value(control, flag) == 1).then_some(var),
            Slot::Shared(_) | Slot::Shape => None,
        }
    }

    /// A control in the certificate's terms, with the values of these slots.
    pub(crate) fn control(
        &self,
        control: &Control,
        explicit: &[usize],
    ) -> palisade_certify::Control {
        let original_loc = |thread: usize, loc: LocId| match self.reduced {
            Some(r) => r.templates[self.space.threads[thread].template.index()].locs[loc.index()],
            None => loc,
        };
        palisade_certify::Control {
            locs: control
                .pcs
                .iter()
                .enumerate()
                .map(|(t, loc)| original_loc(t, *loc))
                .collect(),
            buffers: (0..control.pcs.len())
                .map(|t| self.buffer(control, t))
                .collect(),
            values: explicit
                .iter()
                .map(|&slot| {
                    let position = self.space.slots[slot].explicit.as_ref().map(|e| e.position);
                    self.state_var(control, slot)
                        .and(position)
                        .map(|p| control.values[p])
                })
                .collect(),
        }
    }

    /// A literal in the certificate's variables. Buffer cells that do not exist
    /// are 0 in the reduced program. What is said of a set that several pending operations share
    /// is said of each: no literal speaks of two sets.
    fn literal(&self, control: &Control, formula: &Formula) -> Result<Formula, Overflow> {
        let mut names = Substitution::default();
        let mut shared = None;
        for var in formula.free_vars() {
            let slot = var.0 as usize;
            if let Slot::Shared(cell) = self.slots[slot] {
                shared = Some((var, cell));
            }
            let term = match self.state_var(control, slot).and_then(StateVar::var) {
                Some(own) => Term::var(own),
                None => Term::constant(0),
            };
            names.set(var, term);
        }
        let Some((var, cell)) = shared else {
            return formula.substitute(&names);
        };
        let elements = self.elements(control, cell);
        if elements.is_empty() {
            return formula.substitute(&names);
        }
        let mut all = Formula::True;
        for element in elements {
            names.set(var, Term::var(element));
            all = all.and(&formula.substitute(&names)?);
        }
        Ok(all)
    }

    /// How the certificate speaks of long buffers.
    fn beyond(&self) -> Option<BufferSummary> {
        let reduced = self.reduced?;
        if let Some((cells, _)) = reduced.sets {
            return Some(BufferSummary {
                cells,
                sizes: Vec::new(),
                keep: Keep::default(),
                claims: Vec::new(),
                slots: self.slots(reduced, cells),
            });
        }
        let (cells, keep) = reduced.beyond.as_ref()?;
        let mut sizes = Vec::new();
        let mut claims = Vec::new();
        for (thread, instance) in self.space.threads.iter().enumerate() {
            let own = cells.named.iter();
            let own = own.filter(|((template, _), _)| *template == instance.template.index());
            sizes.extend(own.map(|((_, cell), cells)| (thread as u32, *cell, *cells)));
            for (cell, claim) in &reduced.templates[instance.template.index()].claims {
                let claim = match claim {
                    summary::SummaryInvariant::Any => continue,
                    summary::SummaryInvariant::Among(values) => {
                        SummaryInvariant::Among(values.clone())
                    }
                    summary::SummaryInvariant::Rising => SummaryInvariant::Rising,
                };
                claims.push((thread as u32, *cell, claim));
            }
        }
        Some(BufferSummary {
            cells: cells.default,
            sizes,
            keep: match keep {
                summary::Keep::Newest => Keep::Newest,
                summary::Keep::Oldest => Keep::Oldest,
            },
            claims,
            slots: Vec::new(),
        })
    }

    /// The operations that have other than `usual` slots, by thread and number.
    fn slots(&self, reduced: &Reduced, usual: u32) -> Vec<(u32, u32, u32)> {
        let mut all = Vec::new();
        for (thread, instance) in self.space.threads.iter().enumerate() {
            let template = &reduced.templates[instance.template.index()];
            for number in 0..template.operations.len() as u32 {
                let own = template.locals.iter();
                let own = own.filter(|p| matches!(p, Part::Phase(n, _) if *n == number));
                let own = own.count() as u32;
                if own != usual {
                    let operation = self.pending(thread, number, 0, false).operation;
                    all.push((thread as u32, operation, own));
                }
            }
        }
        all.sort_unstable();
        all
    }

    /// The certificate that these states are.
    pub fn certificate(
        &self,
        nodes: &[Node],
        predicates: &Predicates,
        threads: u32,
    ) -> Result<Certificate, Overflow> {
        let explicit: Vec<usize> = self
            .space
            .explicit
            .iter()
            .copied()
            .filter(|slot| !matches!(self.slots[*slot], Slot::Shape))
            .collect();
        let mut atoms = Atoms::default();
        let mut entries: BTreeMap<palisade_certify::Control, Vec<Reached>> = BTreeMap::new();
        for node in nodes {
            let mut literals = Vec::new();
            for (p, value) in node.valuation.known() {
                let literal = self.literal(&node.control, &predicates.formula(p, value))?;
                for part in literal.conjuncts() {
                    literals.push(atoms.literal(part));
                }
            }
            literals.sort_unstable();
            literals.dedup();
            let reached = Reached {
                literals,
                listed: self.listed(&node.control),
            };
            let control = self.control(&node.control, &explicit);
            let own = entries.entry(control).or_default();
            if !own.iter().any(|other| other.covers(&reached)) {
                own.retain(|other| !reached.covers(other));
                own.push(reached);
            }
        }
        let mut translated = Vec::with_capacity(entries.len());
        for (control, own) in entries {
            let cubes = own.into_iter().map(|reached| reached.cube(&mut atoms));
            let cubes = cubes.collect::<Result<_, Overflow>>()?;
            translated.push(Entry { control, cubes });
        }
        let name = |slot: &usize| match self.slots[*slot] {
            Slot::State(var) | Slot::Buffered(var, ..) | Slot::BufferSummary(var, ..) => Some(var),
            Slot::Carried(var, ..) | Slot::Element(var, _) | Slot::Atomic(var, ..) => Some(var),
            Slot::Shared(_) | Slot::Shape => None,
        };
        Ok(Certificate {
            fingerprint: Fingerprint::of(self.original, self.model, threads),
            kind: self.kind,
            model: self.model,
            threads,
            unbuffered: Vec::new(),
            forgotten: Vec::new(),
            present: Vec::new(),
            interference_free: Vec::new(),
            beyond: self.beyond(),
            explicit: explicit.iter().filter_map(name).collect(),
            atoms: atoms.formulas,
            entries: translated,
        })
    }
}

/// A state: what is known of its data, and the values that its listed sets have.
struct Reached {
    literals: Vec<(u32, bool)>,
    listed: Vec<Listed>,
}

impl Reached {
    /// Whether all states of `other` are of this one: its sets have no fewer values.
    fn covers(&self, other: &Self) -> bool {
        let wider = |(own, others): (&Listed, &Listed)| {
            own.0 == others.0 && others.1.iter().all(|v| own.1.contains(v))
        };
        self.literals == other.literals
            && self.listed.len() == other.listed.len()
            && self.listed.iter().zip(&other.listed).all(wider)
    }

    /// The cube: each element of a listed set is one of its values.
    fn cube(self, atoms: &mut Atoms) -> Result<Cube, Overflow> {
        let mut literals = self.literals;
        for (element, values) in self.listed {
            let is = |v: i64| Formula::eq(&Term::var(element), &Term::constant(v));
            let any = values.into_iter().map(is).collect::<Result<Vec<_>, _>>()?;
            literals.push(atoms.literal(&Formula::any(any)));
        }
        literals.sort_unstable();
        literals.dedup();
        Ok(Cube(literals))
    }
}

/// The table of atoms of a certificate.
#[derive(Default)]
struct Atoms {
    formulas: Vec<Formula>,
    index: BTreeMap<Formula, u32>,
}

impl Atoms {
    fn literal(&mut self, formula: &Formula) -> (u32, bool) {
        let (atom, positive) = match formula {
            Formula::Literal(l) if !l.positive => (formula.negated(), false),
            Formula::True | Formula::False | Formula::Literal(_) => (formula.clone(), true),
            Formula::And(_) | Formula::Or(_) | Formula::Iff(_) => (formula.clone(), true),
        };
        let next = self.formulas.len() as u32;
        let number = *self.index.entry(atom.clone()).or_insert(next);
        if number == next {
            self.formulas.push(atom);
        }
        (number, positive)
    }
}
