//! Symmetry reduction: one representative for all states that differ only by
//! which copy of a symmetric template is which (Ip and Dill, *Better verification
//! through symmetry*, 1996). What is interchangeable, and which variables hold
//! thread numbers, is [`palisade_program::symmetry`]'s business.
//!
//! Copies are sorted by a *key* that does not depend on how they are numbered:
//! location, locals and array elements that are no thread numbers, whether a
//! variable names the copy itself, and the shape of what it has under way. Copies
//! with equal keys are tried in every order, if there are not too many orders,
//! and the least packed state is taken. When there are too many, any order
//! will do: every state is represented by a state of its own orbit, which is all
//! that soundness asks for.

use palisade_program::symmetry::Symmetry;
use palisade_program::{GlobalId, LocalId, TemplateId};

use crate::machine::Machine;
use crate::remote::Input;
use crate::shift::Shift;
use crate::state::{NO_CELL, State};

/// Most orders of copies with equal keys that are tried.
const MOST_ORDERS: usize = 24;

/// The copies of one symmetric template and what is renamed along.
struct Group {
    first: usize,
    count: usize,
    /// For each cell, whether it holds numbers of this template.
    names: Vec<bool>,
    /// First cells of the arrays that are permuted along, and whether their
    /// elements hold numbers.
    arrays: Vec<(usize, bool)>,
    /// Cells outside those arrays that hold numbers.
    scalars: Vec<usize>,
    /// For each thread, by location and local: whether it holds numbers.
    locals: Vec<Vec<Vec<bool>>>,
}

/// How to find representatives.
pub(crate) struct Canonical {
    groups: Vec<Group>,
    /// Counters are shifted before copies are sorted.
    shift: Shift,
}

/// Memory for finding representatives, reused.
#[derive(Default)]
pub(crate) struct Scratch {
    keys: Vec<Vec<i64>>,
    order: Vec<usize>,
    from: State,
    to: State,
    bytes: Vec<u8>,
    tried: Vec<usize>,
    places: Vec<usize>,
}

impl Canonical {
    /// For a machine, with the symmetry of copies, and of counters, as asked for; `None` if it has
    /// neither.
    pub(crate) fn of(machine: &Machine<'_>, copies: bool, counters: bool) -> Option<Self> {
        let mut groups: Vec<Group> = Vec::new();
        if copies {
            let symmetry = Symmetry::of(machine.program);
            let templates = machine.program.template_ids();
            let symmetric = templates.filter(|&t| symmetry.is_symmetric(t));
            groups.extend(symmetric.filter_map(|t| Group::of(machine, &symmetry, t)));
        }
        let shift = if counters {
            Shift::of(machine)
        } else {
            Shift::default()
        };
        (!groups.is_empty() || !shift.is_empty()).then_some(Self { groups, shift })
    }

    /// The bytes of the representative of `state`.
    pub(crate) fn pack(
        &self,
        machine: &Machine<'_>,
        state: &State,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) {
        scratch.from.clone_from(state);
        self.shift.apply(machine, &mut scratch.from);
        if self.groups.is_empty() {
            machine.pack(&scratch.from, out);
        }
        for (i, group) in self.groups.iter().enumerate() {
            if i > 0 {
                machine.unpack(out, &mut scratch.from);
            }
            group.sort(machine, scratch, out);
        }
    }

    /// What distinguishes `thread` from others in `state`, whatever the numbers of copies.
    pub(crate) fn key(&self, machine: &Machine<'_>, state: &State, thread: usize) -> Vec<i64> {
        let group = self
            .groups
            .iter()
            .position(|g| (g.first..g.first + g.count).contains(&thread));
        let Some(number) = group else {
            return vec![-1, thread as i64];
        };
        let group = &self.groups[number];
        let mut key = vec![number as i64];
        group.key(machine, state, thread - group.first, &mut key);
        key
    }
}

impl Group {
    fn of(machine: &Machine<'_>, symmetry: &Symmetry, template: TemplateId) -> Option<Self> {
        let program = machine.program;
        let mine = |t: &crate::machine::Thread| t.instance.template == template;
        let first = machine.threads.iter().position(mine)?;
        let count = machine.threads.iter().filter(|t| mine(t)).count();
        // A value range that cuts off some copies' numbers is not symmetric.
        let fits = machine.range.contains(0) && machine.range.contains(count as i64 - 1);
        if count < 2 || !fits {
            return None;
        }
        let holds = |var: GlobalId| symmetry.names_in(var) == Some(template);
        let permuted = |var: GlobalId| symmetry.indexed_by(var) == Some(template);
        let start = |var: GlobalId| program.cell(var, 0).index();
        let mut names = vec![false; machine.cells];
        for var in program.global_ids().filter(|&v| holds(v)) {
            names[start(var)..][..program.global(var).cell_count()].fill(true);
        }
        let arrays: Vec<(usize, bool)> = program
            .global_ids()
            .filter(|&v| permuted(v))
            .map(|v| (start(v), holds(v)))
            .collect();
        let scalars = program
            .global_ids()
            .filter(|&v| holds(v) && !permuted(v))
            .flat_map(|v| start(v)..start(v) + program.global(v).cell_count())
            .collect();
        let locals = machine.threads.iter().map(|thread| {
            let t = thread.instance.template;
            let count = program.template(t).locals.len();
            let at = |loc| {
                let local = |l| symmetry.names_in_local(t, loc, LocalId::from(l));
                (0..count).map(|l| local(l) == Some(template)).collect()
            };
            program.template(t).cfg.locs().map(at).collect()
        });
        Some(Self {
            first,
            count,
            names,
            arrays,
            scalars,
            locals: locals.collect(),
        })
    }

    /// Packs into `out` the least state among the tried orders of the copies.
    fn sort(&self, machine: &Machine<'_>, scratch: &mut Scratch, out: &mut Vec<u8>) {
        scratch.keys.resize_with(self.count, Vec::new);
        for copy in 0..self.count {
            let key = &mut scratch.keys[copy];
            key.clear();
            self.key(machine, &scratch.from, copy, key);
        }
        scratch.order.clear();
        scratch.order.extend(0..self.count);
        let keys = &scratch.keys;
        scratch.order.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
        let orders = self.orders(scratch);
        let mut best = false;
        for number in 0..orders {
            self.places(scratch, number);
            self.permute(machine, scratch);
            machine.pack(&scratch.to, &mut scratch.bytes);
            if !best || scratch.bytes < *out {
                out.clone_from(&scratch.bytes);
                best = true;
            }
        }
    }

    /// What distinguishes the copy from others, whatever their numbers.
    fn key(&self, machine: &Machine<'_>, state: &State, copy: usize, key: &mut Vec<i64>) {
        let t = self.first + copy;
        let thread = &machine.threads[t];
        let own = copy as i64;
        let queue = &state.queues[t];
        key.push(i64::from(state.pcs[t]));
        key.push(queue.stores.len() as i64);
        key.push(queue.pending.len() as i64);
        key.push(queue.atomics.len() as i64);
        let stores = key.len();
        for store in &queue.stores {
            let is_name = self.names[store.cell as usize];
            key.push(self.anonymous(store.value, is_name, own));
        }
        if machine.model == palisade_program::Model::Pso {
            // The order of cells depends on how copies are numbered.
            key[stores..].sort_unstable();
        }
        let pc = state.pcs[t] as usize;
        for &slot in &thread.live[pc] {
            let value = state.slots[slot as usize];
            let is_name = self.locals[t][pc][(slot - thread.base) as usize];
            key.push(self.anonymous(value, is_name, own));
        }
        for &(base, is_name) in &self.arrays {
            key.push(self.anonymous(state.slots[base + copy], is_name, own));
        }
        for &cell in &self.scalars {
            key.push(i64::from(state.slots[cell] == own));
        }
    }

    /// A value; if it names a copy, only whether it is this one.
    fn anonymous(&self, value: i64, is_name: bool, own: i64) -> i64 {
        if is_name && (0..self.count as i64).contains(&value) {
            if value == own { i64::MAX } else { i64::MAX - 1 }
        } else {
            value
        }
    }

    /// How many orders to try: the product of the factorials of the numbers of
    /// copies with equal keys, or 1 if that is too much.
    fn orders(&self, scratch: &Scratch) -> usize {
        let mut product = 1_usize;
        let mut run = 1;
        for i in 1..self.count {
            let (a, b) = (scratch.order[i - 1], scratch.order[i]);
            run = if scratch.keys[a] == scratch.keys[b] {
                run + 1
            } else {
                1
            };
            product = product.saturating_mul(run);
        }
        if product > MOST_ORDERS { 1 } else { product }
    }

    /// The new place of each copy in the order with this number: each run of
    /// equal keys is permuted by a digit of `number` per position.
    fn places(&self, scratch: &mut Scratch, mut number: usize) {
        let Scratch {
            keys,
            order,
            tried,
            places,
            ..
        } = scratch;
        tried.clone_from(order);
        let mut run = 1;
        for i in 1..self.count {
            let same = keys[order[i - 1]] == keys[order[i]];
            run = if same { run + 1 } else { 1 };
            tried.swap(i, i - number % run);
            number /= run;
        }
        // From "who comes to place i" to "where does copy c go".
        places.resize(self.count, 0);
        for (place, &copy) in tried.iter().enumerate() {
            places[copy] = place;
        }
    }

    /// Applies `places` to `from`, giving `to`.
    fn permute(&self, machine: &Machine<'_>, scratch: &mut Scratch) {
        let Scratch {
            from, to, places, ..
        } = scratch;
        to.clone_from(from);
        let rename = |value: i64| {
            if (0..self.count as i64).contains(&value) {
                places[value as usize] as i64
            } else {
                value
            }
        };
        for (copy, &place) in places.iter().enumerate() {
            let (old, new) = (self.first + copy, self.first + place);
            to.pcs[new] = from.pcs[old];
            to.queues[new].clone_from(&from.queues[old]);
            let (a, b) = (&machine.threads[old], &machine.threads[new]);
            let count = self.locals[old][0].len();
            let values = &from.slots[a.base as usize..][..count];
            to.slots[b.base as usize..][..count].copy_from_slice(values);
            for &(base, _) in &self.arrays {
                to.slots[base + place] = from.slots[base + copy];
            }
        }
        for (cell, _) in self.names.iter().enumerate().filter(|(_, n)| **n) {
            to.slots[cell] = rename(to.slots[cell]);
        }
        for (t, thread) in machine.threads.iter().enumerate() {
            // Dead locals are not packed: they need no care.
            let pc = to.pcs[t] as usize;
            for &slot in &thread.live[pc] {
                if self.locals[t][pc][(slot - thread.base) as usize] {
                    let slot = slot as usize;
                    to.slots[slot] = rename(to.slots[slot]);
                }
            }
            self.permute_queue(machine, &mut to.queues[t], places, rename);
        }
    }

    fn permute_queue(
        &self,
        machine: &Machine<'_>,
        queue: &mut crate::state::Queue,
        places: &[usize],
        rename: impl Fn(i64) -> i64,
    ) {
        let move_cell = |cell: u32| {
            let inside =
                |&&(base, _): &&(usize, bool)| (base..base + self.count).contains(&(cell as usize));
            match self.arrays.iter().find(inside) {
                Some(&(base, _)) => (base + places[cell as usize - base]) as u32,
                None => cell,
            }
        };
        let move_thread = |thread: u32| {
            let copy = (thread as usize).checked_sub(self.first);
            match copy.filter(|copy| *copy < self.count) {
                Some(copy) => (self.first + places[copy]) as u32,
                None => thread,
            }
        };
        for store in &mut queue.stores {
            if self.names[store.cell as usize] {
                store.value = rename(store.value);
            }
            store.cell = move_cell(store.cell);
        }
        if machine.model == palisade_program::Model::Pso {
            queue.stores.sort_by_key(|s| (s.epoch, s.cell));
        }
        for pending in &mut queue.pending {
            if self.names[pending.target as usize] && pending.source == NO_CELL {
                pending.value = rename(pending.value);
            }
            if pending.source != NO_CELL {
                pending.source = move_cell(pending.source);
            }
            pending.target = move_cell(pending.target);
            pending.remote = move_thread(pending.remote);
        }
        queue.pending.sort_unstable();
        for atomic in &mut queue.atomics {
            // Their values are never thread numbers (see the analysis of symmetry).
            atomic.cell = move_cell(atomic.cell);
            atomic.remote = move_thread(atomic.remote);
            if atomic.result != NO_CELL {
                atomic.result = move_cell(atomic.result);
            }
            for input in &mut atomic.inputs {
                if let Input::Cell(cell) = input {
                    *cell = move_cell(*cell);
                }
            }
        }
        // A stable sort: the order of issue stays.
        queue.atomics.sort_by_key(|a| a.cell);
    }
}
