//! A second account of the models, as direct as possible: states are plain data in a
//! set, steps are read off the Program itself, nothing is packed, compiled or reduced;
//! states share the threads that a step does not touch, and that is all that is done for speed.
//! docs/memory-models.md, sentence by sentence.
//!
//! Store-store fences under PSO are kept differently here than in the machine:
//! every store carries the number of stores and fences that its thread issued
//! before it, and the rule is checked on these numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use palisade_program::{
    AtomicKind, Cfg, FenceKind, FlushTarget, Init, Instance, LocalAtom, LocalExpr, Model, Operand,
    Pick, Place, Program, PropAtom, Property, PropertyKind, RemoteAtomic, RemoteOp, Step,
};
use rustc_hash::FxHashSet;

/// A buffered store.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Store {
    cell: usize,
    value: i64,
    /// Number of store-store fences that the thread passed before it.
    fences: u32,
}

/// A pending half of a remote operation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Half {
    Read {
        from: usize,
        to: usize,
        remote: Instance,
        put: bool,
    },
    Write {
        to: usize,
        value: i64,
        remote: Instance,
        put: bool,
    },
}

/// A remote atomic operation that has not changed its cell yet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Change {
    cell: usize,
    /// A compare-and-swap if there is none.
    op: Option<RemoteOp>,
    /// Values, or cells that are still to be read.
    operands: Vec<Result<i64, usize>>,
    result: Option<usize>,
    remote: Instance,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Thread {
    loc: u32,
    locals: Vec<i64>,
    /// In the order of issue.
    buffer: Vec<Store>,
    fences: u32,
    pending: Vec<Half>,
    /// In the order of issue.
    changes: Vec<Change>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct State {
    memory: Vec<i64>,
    threads: Vec<Rc<Thread>>,
}

impl State {
    /// A thread, to change it.
    fn thread(&mut self, t: usize) -> &mut Thread {
        Rc::make_mut(&mut self.threads[t])
    }
}

/// What the reference found.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Some property or assertion is violated.
    pub violated: bool,
    /// Length of a shortest run to a violation.
    pub length: Option<usize>,
    /// Some state is a deadlock (if nothing is violated: the search ends there).
    pub deadlock: bool,
    /// Memory and locals of all final states (if nothing is violated).
    pub finals: BTreeSet<(Vec<i64>, Vec<Vec<i64>>)>,
    /// Number of states seen; `None` if there are more than the limit.
    pub states: Option<usize>,
}

impl Answer {
    fn violated_after(&mut self, length: usize) {
        self.violated = true;
        self.length = Some(self.length.map_or(length, |l| l.min(length)));
    }
}

struct Reference<'p> {
    program: &'p Program,
    model: Model,
    instances: Vec<Instance>,
}

/// Explores everything up to the first violation, and up to `limit` states.
pub fn explore(program: &Program, model: Model, limit: usize) -> Answer {
    let reference = Reference {
        program,
        model,
        instances: program.instances(2),
    };
    reference.run(limit)
}

impl Reference<'_> {
    fn run(&self, limit: usize) -> Answer {
        let mut answer = Answer::default();
        let mut seen = FxHashSet::default();
        let start = Rc::new(self.start());
        let mut level = vec![Rc::clone(&start)];
        seen.insert(start);
        let mut depth = 0;
        while !level.is_empty() && !answer.violated {
            let mut next_level = Vec::new();
            for state in level {
                if self.is_broken(&state) {
                    answer.violated_after(depth);
                }
                let (next, failing) = self.successors(&state);
                if failing {
                    // The step that fails counts.
                    answer.violated_after(depth + 1);
                }
                if next.is_empty() && !failing {
                    if self.all_ended(&state) {
                        let locals = state.threads.iter().map(|t| t.locals.clone());
                        answer
                            .finals
                            .insert((state.memory.clone(), locals.collect()));
                    } else if self.waits(&state) {
                        answer.deadlock = true;
                    }
                }
                for state in next {
                    let state = Rc::new(state);
                    if seen.insert(Rc::clone(&state)) {
                        next_level.push(state);
                    }
                }
                if seen.len() > limit {
                    return answer;
                }
            }
            level = next_level;
            depth += 1;
        }
        answer.states = Some(seen.len());
        answer
    }

    fn start(&self) -> State {
        let value = |init: &Init| match init {
            Init::Value(value) => *value,
            Init::Any => panic!("the reference knows no `= *`"),
        };
        let threads = self.instances.iter().map(|i| {
            let template = self.program.template(i.template);
            Rc::new(Thread {
                loc: template.cfg.entry.0,
                locals: template.locals.iter().map(|l| value(&l.init)).collect(),
                buffer: Vec::new(),
                fences: 0,
                pending: Vec::new(),
                changes: Vec::new(),
            })
        });
        State {
            memory: self.program.initial_cells().iter().map(value).collect(),
            threads: threads.collect(),
        }
    }

    fn all_ended(&self, state: &State) -> bool {
        let ended = |(t, i): (&Rc<Thread>, &Instance)| {
            t.loc == self.program.template(i.template).cfg.exit.0
                && t.buffer.is_empty()
                && t.pending.is_empty()
                && t.changes.is_empty()
        };
        state.threads.iter().zip(&self.instances).all(ended)
    }

    /// Whether a state in which nothing moves is a deadlock: no thread has failed an `assume`,
    /// the programs of this test having no other way to be over.
    fn waits(&self, state: &State) -> bool {
        let failed = |(t, i): (&Rc<Thread>, &Instance)| {
            let cfg = &self.program.template(i.template).cfg;
            let mut edges = cfg.edges.iter().filter(|e| e.from.0 == t.loc);
            t.loc != cfg.exit.0 && edges.all(|e| matches!(e.step, Step::Assume(_)))
        };
        !state.threads.iter().zip(&self.instances).any(failed)
    }

    // --- Properties ---

    fn is_broken(&self, state: &State) -> bool {
        self.program.properties.iter().any(|p| match p.kind {
            PropertyKind::Never => self.choices(p).iter().any(|c| self.holds(p, c, state)),
            PropertyKind::Finally => {
                self.all_ended(state) && self.choices(p).iter().any(|c| !self.holds(p, c, state))
            }
        })
    }

    /// All choices of threads for the property's thread variables.
    fn choices(&self, property: &Property) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for var in &property.threads {
            let mut longer = Vec::new();
            for chosen in all {
                for (i, instance) in self.instances.iter().enumerate() {
                    if instance.template != var.template {
                        continue;
                    }
                    if let Pick::Copy(copy) = var.pick
                        && copy != instance.copy
                    {
                        continue;
                    }
                    let mut more: Vec<usize> = chosen.clone();
                    more.push(i);
                    longer.push(more);
                }
            }
            all = longer;
        }
        let any = |i: usize| matches!(property.threads[i].pick, Pick::Any(_));
        all.retain(|chosen| {
            (0..chosen.len()).all(|i| (0..i).all(|j| !(any(i) && any(j) && chosen[i] == chosen[j])))
        });
        all
    }

    fn holds(&self, property: &Property, chosen: &[usize], state: &State) -> bool {
        let value = property.cond.eval(&|atom| match atom {
            PropAtom::Global(var, element) => {
                state.memory[self.program.cell(*var, element.unwrap_or(0)).index()]
            }
            PropAtom::Local(t, local) => state.threads[chosen[t.index()]].locals[local.index()],
            PropAtom::SelfOf(t) => i64::from(self.instances[chosen[t.index()]].copy),
            PropAtom::At(t, loc) => i64::from(state.threads[chosen[t.index()]].loc == loc.0),
        });
        value.expect("small values do not overflow") != 0
    }

    // --- Steps ---

    /// All successors, and whether a step fails an assertion.
    fn successors(&self, state: &State) -> (Vec<State>, bool) {
        let mut next = Vec::new();
        let mut failing = false;
        for t in 0..state.threads.len() {
            let template = self.program.template(self.instances[t].template);
            if state.threads[t].loc != template.cfg.exit.0 {
                for edge in &template.cfg.edges {
                    if edge.from.0 != state.threads[t].loc {
                        continue;
                    }
                    for mut after in self.step(state, t, &edge.step, &mut failing) {
                        after.thread(t).loc = edge.to.0;
                        next.push(after);
                    }
                }
            }
            self.memory_steps(state, t, &mut next);
        }
        (next, failing)
    }

    fn eval(&self, state: &State, t: usize, e: &LocalExpr) -> i64 {
        let value = e.eval(&|atom| match atom {
            LocalAtom::Local(id) => state.threads[t].locals[id.index()],
            LocalAtom::SelfId => i64::from(self.instances[t].copy),
        });
        value.expect("small values do not overflow")
    }

    fn cell(&self, state: &State, t: usize, place: &Place) -> usize {
        let index = place.index.as_ref().map_or(0, |e| self.eval(state, t, e));
        let index = u32::try_from(index).expect("indices are asserted to be in range");
        self.program.cell(place.var, index).index()
    }

    fn buffered(&self) -> bool {
        matches!(self.model, Model::Tso | Model::Pso)
    }

    fn load(state: &State, t: usize, cell: usize) -> i64 {
        // The newest own entry for the variable, else memory.
        let own = state.threads[t]
            .buffer
            .iter()
            .rev()
            .find(|s| s.cell == cell);
        own.map_or(state.memory[cell], |s| s.value)
    }

    fn step(&self, state: &State, t: usize, step: &Step, failing: &mut bool) -> Vec<State> {
        let mut next = state.clone();
        match step {
            Step::Skip => {}
            Step::Assume(e) => {
                if self.eval(state, t, e) == 0 {
                    return Vec::new();
                }
            }
            Step::Assert { cond, .. } => {
                if self.eval(state, t, cond) == 0 {
                    *failing = true;
                    return Vec::new();
                }
            }
            Step::Assign { dst, value } => {
                next.thread(t).locals[dst.index()] = self.eval(state, t, value);
            }
            Step::Havoc { dst, domain } => {
                let domain = domain.expect("random programs choose from ranges");
                let with = |value| {
                    let mut next = state.clone();
                    next.thread(t).locals[dst.index()] = value;
                    next
                };
                return (domain.lo..=domain.hi).map(with).collect();
            }
            Step::Load { dst, src } => {
                let cell = self.cell(state, t, src);
                next.thread(t).locals[dst.index()] = Self::load(state, t, cell);
            }
            Step::Store { dst, value } => {
                let (cell, value) = (self.cell(state, t, dst), self.eval(state, t, value));
                if self.buffered() {
                    let fences = state.threads[t].fences;
                    next.thread(t).buffer.push(Store {
                        cell,
                        value,
                        fences,
                    });
                } else {
                    next.memory[cell] = value;
                }
            }
            Step::Fence(FenceKind::Full) => {
                if !state.threads[t].buffer.is_empty() {
                    return Vec::new();
                }
            }
            Step::Fence(FenceKind::StoreStore) => {
                if self.model == Model::Pso {
                    next.thread(t).fences += 1;
                    tidy(next.thread(t));
                }
            }
            Step::Fence(FenceKind::Candidate) => {}
            Step::Fence(FenceKind::Ordered(_)) => unreachable!("orders are mapped to fences"),
            Step::Atomic(atomic) => {
                if atomic.kind != AtomicKind::Read && !state.threads[t].buffer.is_empty() {
                    return Vec::new();
                }
                return self.block(state, t, &atomic.body, failing);
            }
            Step::Put { remote, local } => {
                let (from, to) = (self.cell(state, t, local), self.cell(state, t, remote));
                self.issue(&mut next, t, from, to, true);
            }
            Step::Get { local, remote } => {
                let (from, to) = (self.cell(state, t, remote), self.cell(state, t, local));
                self.issue(&mut next, t, from, to, false);
            }
            Step::RemoteAtomic(atomic) => self.remote_atomic(state, &mut next, t, atomic),
            Step::Flush(target) => {
                let (whole, local) = match target {
                    FlushTarget::Local(whole) => (&**whole, true),
                    whole => (whole, false),
                };
                let waits = |remote: &Instance| match whole {
                    FlushTarget::All | FlushTarget::Local(_) => true,
                    FlushTarget::Process { template, copy } => {
                        remote.template == *template
                            && copy.as_ref().is_none_or(|copy| {
                                self.eval(state, t, copy) == i64::from(remote.copy)
                            })
                    }
                };
                let half = |half: &Half| match half {
                    Half::Read { remote, .. } => waits(remote),
                    // Of a put nothing is left to be done here.
                    Half::Write { put: true, .. } if local => false,
                    Half::Write { remote, .. } => waits(remote),
                };
                let change = |c: &Change| {
                    let done = c.result.is_none() && c.operands.iter().all(Result::is_ok);
                    waits(&c.remote) && !(local && done)
                };
                let thread = &state.threads[t];
                if thread.pending.iter().any(half) || thread.changes.iter().any(change) {
                    return Vec::new();
                }
            }
        }
        vec![next]
    }

    fn issue(&self, next: &mut State, t: usize, from: usize, to: usize, put: bool) {
        if self.model != Model::Rma {
            next.memory[to] = next.memory[from];
            return;
        }
        let remote = self.home(if put { to } else { from });
        next.thread(t).pending.push(Half::Read {
            from,
            to,
            remote,
            put,
        });
        next.thread(t).pending.sort();
    }

    fn home(&self, cell: usize) -> Instance {
        let (var, element) = self.program.variable_of(palisade_program::Cell::from(cell));
        let home = self.program.global(var).home;
        let home = home.expect("remote variables have a home");
        Instance {
            template: home.template,
            copy: if home.per_copy { element } else { 0 },
        }
    }

    /// Issues a remote atomic operation; without a network all its parts happen now.
    fn remote_atomic(&self, state: &State, next: &mut State, t: usize, atomic: &RemoteAtomic) {
        let operand = |o: &Operand| match o {
            Operand::Value(e) => Ok(self.eval(state, t, e)),
            Operand::Place(place) => Err(self.cell(state, t, place)),
        };
        let op = match &atomic.change {
            palisade_program::Change::Op { op, .. } => Some(*op),
            palisade_program::Change::CompareSwap { .. } => None,
        };
        let cell = self.cell(state, t, &atomic.remote);
        let change = Change {
            cell,
            op,
            operands: atomic.change.operands().map(operand).collect(),
            result: atomic.result.as_ref().map(|p| self.cell(state, t, p)),
            remote: self.home(cell),
        };
        if self.model == Model::Rma {
            next.thread(t).changes.push(change);
            return;
        }
        let value = |o: &Result<i64, usize>| o.unwrap_or_else(|cell| state.memory[cell]);
        let values: Vec<i64> = change.operands.iter().map(value).collect();
        let old = state.memory[cell];
        next.memory[cell] = changed(change.op, old, &values);
        if let Some(result) = change.result {
            next.memory[result] = old;
        }
    }

    /// The parts of remote atomic operations.
    fn change_steps(state: &State, t: usize, next: &mut Vec<State>) {
        let changes = &state.threads[t].changes;
        for (i, change) in changes.iter().enumerate() {
            for (o, operand) in change.operands.iter().enumerate() {
                if let Err(cell) = operand {
                    let mut after = state.clone();
                    after.thread(t).changes[i].operands[o] = Ok(state.memory[*cell]);
                    next.push(after);
                }
            }
            let values: Result<Vec<i64>, usize> = change.operands.iter().copied().collect();
            let Ok(values) = values else { continue };
            if changes[..i]
                .iter()
                .any(|earlier| earlier.cell == change.cell)
            {
                continue;
            }
            let mut after = state.clone();
            let old = state.memory[change.cell];
            after.memory[change.cell] = changed(change.op, old, &values);
            after.thread(t).changes.remove(i);
            if let Some(to) = change.result {
                after.thread(t).pending.push(Half::Write {
                    to,
                    value: old,
                    remote: change.remote,
                    put: false,
                });
                after.thread(t).pending.sort();
            }
            next.push(after);
        }
    }

    /// All complete runs of a block.
    fn block(&self, state: &State, t: usize, body: &Cfg, failing: &mut bool) -> Vec<State> {
        let mut ends = Vec::new();
        let mut seen = BTreeSet::new();
        let mut stack = vec![(body.entry, state.clone())];
        while let Some((loc, state)) = stack.pop() {
            if loc == body.exit {
                ends.push(state);
                continue;
            }
            if !seen.insert((loc, state.clone())) {
                continue;
            }
            for edge in body.edges.iter().filter(|e| e.from == loc) {
                if let Step::Store { dst, value } = &edge.step {
                    // Straight to memory.
                    let mut next = state.clone();
                    next.memory[self.cell(&state, t, dst)] = self.eval(&state, t, value);
                    stack.push((edge.to, next));
                } else {
                    for next in self.step(&state, t, &edge.step, failing) {
                        stack.push((edge.to, next));
                    }
                }
            }
        }
        ends
    }

    /// Updates from the thread's buffers; halves of its remote operations.
    fn memory_steps(&self, state: &State, t: usize, next: &mut Vec<State>) {
        let thread = &state.threads[t];
        for (i, store) in thread.buffer.iter().enumerate() {
            let older = &thread.buffer[..i];
            let free = match self.model {
                Model::Tso => older.is_empty(),
                // The oldest of its cell, and no store issued before a fence that
                // it was issued after is still in any of the thread's buffers.
                _ => older
                    .iter()
                    .all(|o| o.cell != store.cell && o.fences == store.fences),
            };
            if free {
                let mut after = state.clone();
                after.memory[store.cell] = store.value;
                after.thread(t).buffer.remove(i);
                tidy(after.thread(t));
                next.push(after);
            }
        }
        Self::change_steps(state, t, next);
        for (i, half) in thread.pending.iter().enumerate() {
            let mut after = state.clone();
            let pending = &mut after.thread(t).pending;
            pending.remove(i);
            match half {
                Half::Read {
                    from,
                    to,
                    remote,
                    put,
                } => pending.push(Half::Write {
                    to: *to,
                    value: state.memory[*from],
                    remote: *remote,
                    put: *put,
                }),
                Half::Write { to, value, .. } => after.memory[*to] = *value,
            }
            after.thread(t).pending.sort();
            next.push(after);
        }
    }
}

/// The new value of a cell; without an operation a compare-and-swap.
fn changed(op: Option<RemoteOp>, old: i64, values: &[i64]) -> i64 {
    match op {
        None if old == values[0] => values[1],
        None | Some(RemoteOp::NoOp) => old,
        Some(RemoteOp::Replace) => values[0],
        Some(RemoteOp::Sum) => old + values[0],
        Some(RemoteOp::Min) => old.min(values[0]),
        Some(RemoteOp::Max) => old.max(values[0]),
        Some(RemoteOp::BitAnd) => old & values[0],
        Some(RemoteOp::BitOr) => old | values[0],
        Some(RemoteOp::BitXor) => old ^ values[0],
    }
}

/// Only differences between the numbers of fences matter: renumber them, so that
/// loops with fences do not make infinitely many states.
fn tidy(thread: &mut Thread) {
    let mut numbers: Vec<u32> = thread.buffer.iter().map(|s| s.fences).collect();
    numbers.push(thread.fences);
    numbers.sort_unstable();
    numbers.dedup();
    let new: BTreeMap<u32, u32> = (0..).zip(&numbers).map(|(new, &old)| (old, new)).collect();
    for store in &mut thread.buffer {
        store.fences = new[&store.fences];
    }
    thread.fences = new[&thread.fences];
}
