//! *Canonical* states: states that differ only in the names of nodes, of threads and
//! (where nobody compares data) of data values get the same form, in which
//! nodes are numbered as they are reached from shared variables and locals. Garbage
//! is dropped. The form is also the key under which a state is stored.
//!
//! Threads are alike: all call any method, and roles and what threads keep between calls are
//! renamed with them. They are sorted by what they execute and by their roles;
//! where that leaves ties every order is tried and the least form taken. Renaming by
//! any bijection would be right; taking the least one is what makes equal states meet.

use palisade_program::LocId;
use palisade_program::heap::Operation;

use crate::buffer::{Cell, Returned, Store};
use crate::spec::Abstract;
use crate::state::{Frame, State};
use crate::track::{Belief, Effect};
use crate::value::{Life, Memory, Node, Value, Word};

/// What may be renamed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Renaming {
    /// Data values: nobody compares them.
    pub(crate) data: bool,
    /// Threads.
    pub(crate) threads: bool,
    /// The order of stores of one thread to different words: PSO.
    pub(crate) stores: bool,
}

/// Calls `f` on every value of memory.
pub(crate) fn for_each_value(memory: &mut Memory, f: &mut dyn FnMut(&mut Value)) {
    let nodes = memory.nodes.iter_mut().flat_map(|n| &mut n.words);
    for word in memory.shared.iter_mut().chain(nodes) {
        f(&mut word.value);
        f(&mut word.tag);
    }
}

/// Numbers for nodes, in the order in which they are reached.
struct Numbers {
    by_node: Vec<Option<u32>>,
    order: Vec<usize>,
}

impl Numbers {
    fn new(nodes: usize) -> Self {
        Self {
            by_node: vec![None; nodes],
            order: Vec::new(),
        }
    }

    fn reach(&mut self, value: Value) {
        if let Value::Node(index) = value
            && self.by_node[index as usize].is_none()
        {
            self.by_node[index as usize] = Some(self.order.len() as u32);
            self.order.push(index as usize);
        }
    }

    /// Follows the fields of all nodes reached so far.
    fn close(&mut self, memory: &Memory) {
        let mut at = 0;
        while let Some(&index) = self.order.get(at) {
            for word in &memory.nodes[index].words {
                self.reach(word.value);
            }
            at += 1;
        }
    }

    fn rename(&self, value: &mut Value) {
        if let Value::Node(index) = value
            && let Some(number) = self.by_node[*index as usize]
        {
            *index = number;
        }
    }

    fn rename_cell(&self, cell: &mut Cell) {
        if let Cell::Field { node, .. } = cell
            && let Some(number) = self.by_node[*node as usize]
        {
            *node = number;
        }
    }

    /// The memory with only the nodes that have numbers.
    fn apply(&self, memory: &Memory) -> Memory {
        let mut renamed = Memory {
            shared: memory.shared.clone(),
            nodes: self
                .order
                .iter()
                .map(|&i| memory.nodes[i].clone())
                .collect(),
        };
        for_each_value(&mut renamed, &mut |value| self.rename(value));
        renamed
    }
}

/// Memory that only its shared variables lead into, without garbage.
pub(crate) fn tidied(memory: Memory) -> Memory {
    if memory.nodes.is_empty() {
        return memory;
    }
    let mut numbers = Numbers::new(memory.nodes.len());
    memory.shared.iter().for_each(|w| numbers.reach(w.value));
    numbers.close(&memory);
    numbers.apply(&memory)
}

/// Reaches the nodes that a thread's locals, what it keeps, and its stores lead to.
fn of_thread(state: &State, thread: usize, numbers: &mut Numbers) {
    if let Some(frame) = &state.threads[thread] {
        frame.locals.iter().for_each(|v| numbers.reach(*v));
    }
    state.kept[thread].iter().for_each(|v| numbers.reach(*v));
    for store in state.buffers.get(thread).into_iter().flatten() {
        if let Some(node) = store.at.node() {
            numbers.reach(Value::Node(node));
        }
        numbers.reach(store.word.value);
    }
}

/// For each node whether shared variables lead to it, and whether anything does.
pub(crate) fn reached(state: &State) -> (Vec<bool>, Vec<bool>) {
    let memory = &state.memory;
    let mut numbers = Numbers::new(memory.nodes.len());
    memory.shared.iter().for_each(|w| numbers.reach(w.value));
    numbers.close(memory);
    let shared = numbers.by_node.iter().map(Option::is_some).collect();
    (0..state.threads.len()).for_each(|thread| of_thread(state, thread, &mut numbers));
    numbers.close(memory);
    let any = numbers.by_node.iter().map(Option::is_some).collect();
    (shared, any)
}

/// Empties nodes that nothing leads to and that wait for no `new`: as in the canonical form, they
/// are no reason to take another node for shared.
pub(crate) fn empty_garbage(state: &mut State) {
    let memory = &state.memory;
    let mut numbers = Numbers::new(memory.nodes.len());
    memory.shared.iter().for_each(|w| numbers.reach(w.value));
    (0..state.threads.len()).for_each(|thread| of_thread(state, thread, &mut numbers));
    for (index, node) in memory.nodes.iter().enumerate() {
        if node.life != Life::Live {
            numbers.reach(Value::Node(index as u32));
        }
    }
    numbers.close(memory);
    let nodes = state.memory.nodes.iter_mut().zip(numbers.by_node);
    for (node, _) in nodes.filter(|(_, number)| number.is_none()) {
        node.words
            .iter_mut()
            .for_each(|word| word.value = Value::Null);
    }
}

/// The canonical form of a state, and its key.
pub(crate) fn canonical(state: &State, renaming: Renaming) -> (State, Box<[u8]>) {
    let mut best: Option<(State, Vec<u8>)> = None;
    for order in orders(state, renaming) {
        let form = renamed(state, &order, renaming);
        let key = encode(&form);
        if best.as_ref().is_none_or(|(_, least)| key < *least) {
            best = Some((form, key));
        }
    }
    let (form, key) = best.expect("there is at least one order");
    (form, key.into_boxed_slice())
}

/// Orders of the threads to try: sorted by what they execute, ties in every way.
fn orders(state: &State, renaming: Renaming) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..state.threads.len()).collect();
    if !renaming.threads {
        return vec![order];
    }
    let rank = |thread: usize| {
        let executes = state.threads[thread].as_ref().map(|f| (f.method, f.at));
        let roles = state.roles.iter().enumerate();
        // When no call is left nobody asks for them, and they are dropped.
        let asked = state.calls_left > 0;
        let own = roles.filter(|(_, of)| asked && **of == Some(thread as u32));
        // Roles by the numbers of their bits: which, if there are many, is all the same.
        (
            executes,
            own.fold(0_u64, |bits, (role, _)| bits | 1 << (role % 64)),
        )
    };
    let keeps = state.kept.iter().any(|kept| !kept.is_empty())
        || state.buffers.iter().any(|buffer| !buffer.is_empty());
    order.sort_by_key(|&thread| rank(thread));
    let mut all = vec![Vec::new()];
    let mut start = 0;
    while start < order.len() {
        let same = order[start..]
            .iter()
            .take_while(|&&t| rank(t) == rank(order[start]));
        let end = start + same.count();
        let group = &order[start..end];
        // Threads between calls that keep nothing are all alike.
        let ways = if rank(group[0]).0.is_none() && !keeps {
            vec![group.to_vec()]
        } else {
            permutations(group)
        };
        let longer = all.iter().flat_map(|before: &Vec<usize>| {
            ways.iter().map(|way| [before.as_slice(), way].concat())
        });
        all = longer.collect();
        start = end;
    }
    all
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.len() <= 1 {
        return vec![items.to_vec()];
    }
    let mut all = Vec::new();
    for (index, &first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(index);
        for tail in permutations(&rest) {
            all.push([&[first], tail.as_slice()].concat());
        }
    }
    all
}

fn renamed(state: &State, order: &[usize], renaming: Renaming) -> State {
    let memory = &state.memory;
    let mut numbers = Numbers::new(memory.nodes.len());
    memory.shared.iter().for_each(|w| numbers.reach(w.value));
    for &thread in order {
        of_thread(state, thread, &mut numbers);
    }
    numbers.close(memory);
    // Freed nodes wait for `new`, though nothing leads to them.
    let lost = numbers.order.len();
    for (index, node) in memory.nodes.iter().enumerate() {
        if node.life != Life::Live {
            numbers.reach(Value::Node(index as u32));
        }
    }
    numbers.close(memory);
    let mut memory = numbers.apply(memory);
    for node in &mut memory.nodes[lost..] {
        // What was stored in it tells apart states only; `new` leaves it to be read
        // as data that no call was given.
        for word in &mut node.words {
            if matches!(word.value, Value::Data(_)) {
                word.value = Value::Undefined;
            }
        }
    }
    let mut threads: Vec<Option<Frame>> = order.iter().map(|&t| state.threads[t].clone()).collect();
    for frame in threads.iter_mut().flatten() {
        frame.locals.iter_mut().for_each(|v| numbers.rename(v));
    }
    let mut kept: Vec<Vec<Value>> = order.iter().map(|&t| state.kept[t].clone()).collect();
    let words = kept.iter_mut().flatten();
    words.for_each(|v| numbers.rename(v));
    let in_order = |thread: &usize| state.buffers.get(*thread).cloned();
    let mut buffers: Vec<Vec<Store>> = order.iter().filter_map(in_order).collect();
    for store in buffers.iter_mut().flatten() {
        numbers.rename_cell(&mut store.at);
        numbers.rename(&mut store.word.value);
    }
    let in_order = |thread: &usize| state.returned.get(*thread).cloned();
    let returned: Vec<Vec<Returned>> = order.iter().filter_map(in_order).collect();
    if renaming.stores {
        for (buffer, returned) in buffers.iter_mut().zip(&returned) {
            sort_stores(buffer, returned);
        }
    }
    let mut roles = state.roles.clone();
    for thread in roles.iter_mut().flatten() {
        *thread = place(*thread, order);
    }
    if state.calls_left == 0 {
        // Nobody asks any more.
        roles.fill(None);
    }
    rename_threads(&mut memory, order);
    let beliefs = state.beliefs.iter().map(|belief| Belief {
        spec: belief.spec.clone(),
        calls: order.iter().map(|&t| belief.calls[t].clone()).collect(),
        taken: order
            .iter()
            .filter_map(|&t| belief.taken.get(t).copied())
            .collect(),
    });
    let mut form = State {
        memory,
        threads,
        kept,
        buffers,
        returned,
        roles,
        calls_left: state.calls_left,
        fresh: state.fresh,
        beliefs: beliefs.collect(),
    };
    if renaming.data {
        rename_data(&mut form);
    }
    form.beliefs.sort();
    form
}

/// Sorts stores by their words where their order does not matter: those to different words under PSO, between two
/// returns.
fn sort_stores(buffer: &mut [Store], returned: &[Returned]) {
    let mut ends: Vec<usize> = returned.iter().map(|call| call.waits).collect();
    ends.push(buffer.len());
    let mut start = 0;
    for end in ends {
        if end > start {
            buffer[start..end].sort_by_key(|store| store.at);
            start = end;
        }
    }
}

/// The new number of a thread.
fn place(thread: u32, order: &[usize]) -> u32 {
    let found = order.iter().position(|&t| t == thread as usize);
    found.map_or(thread, |index| index as u32)
}

fn rename_threads(memory: &mut Memory, order: &[usize]) {
    for_each_value(memory, &mut |value| {
        if let Value::Holder(thread) = value {
            *thread = place(*thread, order);
        }
    });
    for node in &mut memory.nodes {
        if let Life::FreedBy(thread) = &mut node.life {
            *thread = place(*thread, order);
        }
    }
}

/// Numbers data values in the order in which they are met; those that only beliefs
/// know keep their order among themselves.
fn rename_data(form: &mut State) {
    let mut names: Vec<Option<u32>> = vec![None; form.fresh as usize];
    let mut count = 0;
    let mut name = |value: &mut Value| {
        if let Value::Data(old) = value {
            let slot = &mut names[*old as usize];
            let new = *slot.get_or_insert_with(|| {
                count += 1;
                count - 1
            });
            *old = new;
        }
    };
    for_each_value(&mut form.memory, &mut name);
    for frame in form.threads.iter_mut().flatten() {
        frame.arguments.iter_mut().for_each(&mut name);
        frame.locals.iter_mut().for_each(&mut name);
    }
    form.kept.iter_mut().flatten().for_each(&mut name);
    for store in form.buffers.iter_mut().flatten() {
        name(&mut store.word.value);
    }
    for call in form.returned.iter_mut().flatten() {
        call.arguments.iter_mut().for_each(&mut name);
        name(&mut call.value);
    }
    let mut used = vec![false; form.fresh as usize];
    let mut mark = |value: &mut Value| {
        if let Value::Data(old) = value {
            used[*old as usize] = true;
        }
    };
    form.beliefs
        .iter_mut()
        .for_each(|b| in_belief(b, &mut mark));
    for (slot, used) in names.iter_mut().zip(used) {
        if used && slot.is_none() {
            *slot = Some(count);
            count += 1;
        }
    }
    let mut rename = |value: &mut Value| {
        if let Value::Data(old) = value
            && let Some(new) = names[*old as usize]
        {
            *old = new;
        }
    };
    form.beliefs
        .iter_mut()
        .for_each(|b| in_belief(b, &mut rename));
    form.fresh = count;
}

fn in_belief(belief: &mut Belief, f: &mut dyn FnMut(&mut Value)) {
    belief.spec.for_each_value(f);
    for call in &mut belief.calls {
        call.done.iter_mut().for_each(&mut *f);
        call.noted.iter_mut().for_each(&mut *f);
    }
}

// ---- the key

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn length(&mut self, length: usize) {
        self.number(length as u64);
    }

    fn value(&mut self, value: Value) {
        match value {
            Value::Nothing => self.0.push(0),
            Value::Null => self.0.push(1),
            Value::Empty => self.0.push(2),
            Value::Undefined => self.0.push(3),
            Value::Least => self.0.push(10),
            Value::Greatest => self.0.push(11),
            Value::Bool(false) => self.0.push(4),
            Value::Bool(true) => self.0.push(5),
            Value::Node(index) => self.tagged(6, u64::from(index)),
            Value::Holder(thread) => self.tagged(7, u64::from(thread)),
            Value::Data(number) => self.tagged(8, u64::from(number)),
            // Zigzag: small numbers of either sign are short.
            Value::Int(number) => self.tagged(9, ((number << 1) ^ (number >> 63)) as u64),
        }
    }

    fn values(&mut self, values: &[Value]) {
        for value in values {
            self.value(*value);
        }
    }

    fn tagged(&mut self, tag: u8, number: u64) {
        self.0.push(tag);
        self.number(number);
    }

    fn word(&mut self, word: Word) {
        self.value(word.value);
        self.value(word.tag);
    }

    fn option(&mut self, value: Option<Value>) {
        match value {
            None => self.0.push(255),
            Some(value) => self.value(value),
        }
    }

    fn node(&mut self, node: &Node) {
        self.number(u64::from(node.of.0));
        match node.life {
            Life::Live => self.0.push(0),
            Life::Freed => self.0.push(1),
            Life::FreedBy(thread) => self.tagged(2, u64::from(thread)),
        }
        node.words.iter().for_each(|w| self.word(*w));
    }

    fn memory(&mut self, memory: &Memory) {
        memory.shared.iter().for_each(|w| self.word(*w));
        self.length(memory.nodes.len());
        memory.nodes.iter().for_each(|n| self.node(n));
    }

    fn frame(&mut self, frame: Option<&Frame>) {
        let Some(Frame {
            method,
            at: LocId(at),
            arguments,
            locals,
        }) = frame
        else {
            self.0.push(0);
            return;
        };
        self.length(method + 1);
        self.number(u64::from(*at));
        self.values(arguments);
        self.values(locals);
    }

    fn buffer(&mut self, buffer: &[Store]) {
        self.length(buffer.len());
        for store in buffer {
            match store.at {
                Cell::Shared(id) => self.tagged(0, id.index() as u64),
                Cell::Field { node, field } => {
                    self.tagged(1, u64::from(node));
                    self.length(field.index());
                }
            }
            self.word(store.word);
        }
    }

    fn returned(&mut self, calls: &[Returned]) {
        self.length(calls.len());
        for call in calls {
            let Returned {
                operation,
                arguments,
                value,
                waits,
            } = call;
            self.operation(*operation);
            self.length(arguments.len());
            self.values(arguments);
            self.value(*value);
            self.length(*waits);
        }
    }

    fn operation(&mut self, operation: Operation) {
        match operation {
            Operation::Push => self.0.push(0),
            Operation::Pop => self.0.push(1),
            Operation::Enqueue => self.0.push(2),
            Operation::Dequeue => self.0.push(3),
            Operation::Add => self.0.push(4),
            Operation::Remove => self.0.push(5),
            Operation::Contains => self.0.push(6),
            Operation::Unspecified => self.0.push(7),
            Operation::Own(index) => self.tagged(8, index as u64),
        }
    }

    fn belief(&mut self, belief: &Belief) {
        match &belief.spec {
            Abstract::Nothing => {}
            Abstract::Sequence(values) | Abstract::Set(values) => {
                self.length(values.len());
                self.values(values);
            }
            Abstract::Own(memory) => self.memory(memory),
        }
        for Effect { done, edge, noted } in &belief.calls {
            self.option(*done);
            self.option(*noted);
            self.number(edge.map_or(0, |e| u64::from(e) + 1));
        }
        belief.taken.iter().for_each(|t| self.number(u64::from(*t)));
    }
}

fn encode(state: &State) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(64));
    out.number(u64::from(state.calls_left));
    out.memory(&state.memory);
    for frame in &state.threads {
        out.frame(frame.as_ref());
    }
    // How many there are is the same in all states of a program.
    state.kept.iter().for_each(|kept| out.values(kept));
    state.buffers.iter().for_each(|buffer| out.buffer(buffer));
    state.returned.iter().for_each(|calls| out.returned(calls));
    for role in &state.roles {
        out.number(role.map_or(0, |thread| u64::from(thread) + 1));
    }
    out.length(state.beliefs.len());
    for belief in &state.beliefs {
        out.belief(belief);
    }
    out.0
}
