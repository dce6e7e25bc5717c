//! The *machine*: how concrete runs go on from a state. Every thread may call any method
//! while calls are left.
//!
//! Steps that no other thread can notice are run together with the access before
//! them: steps over locals, accesses of a node that only the thread's own locals
//! lead to, and returns. A call begins together with its first access. This loses no
//! violation. Steps over locals and private nodes commute with all steps of others. A
//! return that comes earlier, or a call that begins later, only adds to the order that
//! a linearization must respect, so that a history with an early return and a late call
//! is linearizable only if the others that it stands for are.
//!
//! With store buffers (`buffer`) a store goes to the thread's buffer, which nobody notices: it belongs to the access
//! before it. But the next access is a move of its own, since the store may reach memory in between.

use std::cell::RefCell;
use std::collections::BTreeSet;

use palisade_program::heap::{Edge, Method, Place, Program, Specification, Step, Term, Type};
use palisade_program::{LocId, Span};

use crate::buffer::{Returned, Store};
use crate::canonical::{Renaming, reached};
use crate::code::{Code, accesses};
use crate::flush::Effected;
use crate::options::{Buffers, Options, Reclaim};
use crate::spec::{BrokenSpec, Oracle};
use crate::state::{Frame, State};
use crate::step::{Fault, Outcome, Rules, holds, run, term};
use crate::track::{self, Belief, Effect, Mode, Open, Pending, WrongCommit};
use crate::value::{Life, Memory, Value, constant};

/// Steps over locals in a row; more are taken for an endless loop.
const MAX_LOCAL_STEPS: usize = 2_000;

/// Steps over locals in all ways of going on from one place; free choices in a loop
/// make many.
const MAX_WAYS: usize = 20_000;

/// Who runs `init`: none of the threads, so that nobody can give back a lock that it has kept.
const INIT: u32 = u32::MAX;

/// What a run violates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// No order of the calls explains their results.
    NotLinearizable,
    /// A step goes wrong.
    Step(Fault),
    /// A `never` holds: its index.
    Never(usize),
    /// Nodes that shared variables lead to form a cycle.
    Cycle,
    /// A node was not freed and nothing leads to it.
    Leak,
    /// A commit point is wrong; no violation of the data structure.
    Commit(WrongCommit),
}

/// Bounds that a search may touch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Bound {
    /// Nodes.
    Nodes,
    /// Steps without an access of shared memory.
    LocalSteps,
    /// The range of numbers.
    Numbers,
    /// Stores that wait for memory.
    Stores,
    /// States.
    States,
}

/// One thing that happens in a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Call {
        method: usize,
        arguments: Vec<Value>,
    },
    Step {
        method: usize,
        edge: usize,
        /// Locals after the step.
        locals: Vec<Value>,
        /// Whether it is a store that waits in the buffer.
        waits: bool,
    },
    /// A store reaches memory: the one at this place in the buffer.
    Flush {
        index: usize,
        store: Store,
    },
    Return {
        value: Value,
        span: Span,
    },
}

/// Where a move leads.
pub(crate) enum End {
    State(Box<State>),
    Wrong { what: Wrong, span: Span },
}

/// A move of one thread.
pub(crate) struct Move {
    pub(crate) thread: usize,
    pub(crate) events: Vec<Event>,
    pub(crate) end: End,
}

/// A program, prepared for running.
pub(crate) struct Machine<'a> {
    pub(crate) program: &'a Program,
    pub(crate) options: &'a Options,
    pub(crate) mode: Mode,
    pub(crate) oracle: Oracle<'a>,
    codes: Vec<Code<'a>>,
    /// By method, for each edge the first one that is the same access; for chosen points only.
    accesses: Vec<Vec<usize>>,
    pub(crate) rules: Rules<'a>,
    pub(crate) renaming: Renaming,
    pub(crate) touched: RefCell<BTreeSet<Bound>>,
}

/// A thread in the middle of a move.
struct Running {
    state: State,
    events: Vec<Event>,
    /// Whether it has done something that others can notice.
    passed: bool,
    steps: usize,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(program: &'a Program, options: &'a Options, mode: Mode) -> Self {
        let rules = Rules {
            structs: &program.structs,
            reclaim: options.reclaim,
            numbers: options.values,
            nodes: options.nodes,
        };
        let codes = program.methods.iter().map(|m| Code::new(&m.body));
        let accesses = match &mode {
            Mode::Any | Mode::Commits => Vec::new(),
            Mode::Points(_) => program.methods.iter().map(|m| accesses(&m.body)).collect(),
        };
        Self {
            program,
            options,
            mode,
            oracle: Oracle::new(program, rules),
            codes: codes.collect(),
            accesses,
            rules,
            renaming: Renaming {
                data: !compares_data(program),
                threads: options.reduce,
                stores: options.reduce && options.buffers == Buffers::Pso,
            },
            touched: RefCell::default(),
        }
    }

    /// The same with as many nodes as are wanted: for replays, where garbage stays.
    pub(crate) fn unbounded(mut self) -> Self {
        self.rules.nodes = usize::MAX;
        self
    }

    pub(crate) fn touch(&self, bound: Bound) {
        self.touched.borrow_mut().insert(bound);
    }

    // ---- the start

    /// The states after `init`, or what goes wrong in it.
    pub(crate) fn initial(&self) -> Result<Vec<End>, BrokenSpec> {
        let threads = self.options.threads as usize;
        let calls = vec![Effect::default(); threads];
        let buffered = match self.options.buffers {
            Buffers::Sc => 0,
            Buffers::Tso | Buffers::Pso => threads,
        };
        let beliefs = self.oracle.initial()?.into_iter().map(|spec| Belief {
            spec,
            calls: calls.clone(),
            taken: vec![0; buffered],
        });
        let mut beliefs: Vec<Belief> = beliefs.collect();
        beliefs.sort();
        let kept: Vec<Value> = self.program.kept.iter().map(|k| constant(k.init)).collect();
        let start = |memory: Memory| State {
            memory,
            threads: vec![None; threads],
            kept: vec![kept.clone(); threads],
            roles: vec![None; self.program.roles.len()],
            buffers: vec![Vec::new(); buffered],
            returned: vec![Vec::new(); buffered],
            calls_left: self.options.calls,
            fresh: 0,
            beliefs: beliefs.clone(),
        };
        let memory = Memory::new(&self.program.shared);
        let Some(init) = &self.program.init else {
            let state = start(memory);
            return Ok(vec![self.checked(state, Span::default())]);
        };
        let code = Code::new(init);
        let mut ends = Vec::new();
        let mut open = vec![(init.entry, memory, code.defaults.clone(), 0)];
        let mut ways = 0;
        while let Some((at, memory, locals, steps)) = open.pop() {
            ways += 1;
            if steps > MAX_LOCAL_STEPS || ways > MAX_WAYS {
                self.touch(Bound::LocalSteps);
                continue;
            }
            for &index in code.leaving(at) {
                let edge = &init.edges[index];
                self.note_nodes(edge, &memory);
                match run(&edge.step, init, &memory, &locals, INIT, &self.rules) {
                    Outcome::Blocked => {}
                    Outcome::Wrong(Fault::Overflow) => self.touch(Bound::Numbers),
                    Outcome::Wrong(fault) => ends.push(End::Wrong {
                        what: Wrong::Step(fault),
                        span: edge.span,
                    }),
                    Outcome::Done(ways) => {
                        for (memory, locals) in ways {
                            if matches!(edge.step, Step::Return(_)) {
                                ends.push(self.checked(start(memory), edge.span));
                            } else {
                                open.push((edge.to, memory, locals, steps + 1));
                            }
                        }
                    }
                }
            }
        }
        Ok(ends)
    }

    // ---- moves

    /// The code of a method.
    pub(crate) fn code(&self, method: usize) -> &Code<'a> {
        &self.codes[method]
    }

    /// All moves from a state, by thread.
    pub(crate) fn moves(&self, state: &State) -> Result<Vec<Move>, BrokenSpec> {
        let mut moves = Vec::new();
        let mut idle: Vec<usize> = Vec::new();
        for thread in 0..state.threads.len() {
            self.flushes(state, thread, &mut moves)?;
            if state.threads[thread].is_some() {
                self.segment(state.clone(), thread, Vec::new(), &mut moves)?;
            } else if state.calls_left > 0 {
                // Of threads between calls that are alike one is enough.
                let alike = |other: &usize| alike(state, *other, thread);
                if !(self.renaming.threads && idle.iter().any(alike)) {
                    self.calls(state, thread, &mut moves)?;
                }
                idle.push(thread);
            }
        }
        Ok(moves)
    }

    fn calls(&self, state: &State, thread: usize, moves: &mut Vec<Move>) -> Result<(), BrokenSpec> {
        for (method, declared) in self.program.methods.iter().enumerate() {
            let me = Some(thread as u32);
            let of = declared.role.and_then(|role| state.roles[role]);
            if of.is_some() && of != me {
                continue;
            }
            for (arguments, fresh) in self.arguments(declared, state.fresh) {
                let code = &self.codes[method];
                let mut locals = code.defaults.clone();
                locals[..arguments.len()].copy_from_slice(&arguments);
                let mut next = state.clone();
                next.calls_left -= 1;
                next.fresh = fresh;
                if let Some(role) = declared.role {
                    next.roles[role] = me;
                }
                for &(local, word) in &code.kept {
                    let kept = &mut next.kept[thread][word];
                    locals[local] = std::mem::replace(kept, Value::Nothing);
                }
                next.threads[thread] = Some(Frame {
                    method,
                    at: code.body.entry,
                    arguments: arguments.clone(),
                    locals,
                });
                let call = Event::Call { method, arguments };
                self.segment(next, thread, vec![call], moves)?;
            }
        }
        Ok(())
    }

    /// What a method can be called with, each with the number of the next data value.
    fn arguments(&self, method: &Method, fresh: u32) -> Vec<(Vec<Value>, u32)> {
        let mut all = vec![(Vec::new(), fresh)];
        for local in &method.body.locals[..method.parameters] {
            let longer = all.iter().flat_map(|(before, fresh)| {
                let next = fresh + u32::from(local.ty == Type::Data);
                let values = self.argument(local.ty, *fresh).into_iter();
                values.map(move |value| ([before.as_slice(), &[value]].concat(), next))
            });
            all = longer.collect();
        }
        all
    }

    /// Values for a parameter. Where nobody compares data each call gets a new value:
    /// calls with equal values behave like calls with different ones, renamed.
    fn argument(&self, ty: Type, fresh: u32) -> Vec<Value> {
        let values = self.options.values;
        match ty {
            Type::Data if self.renaming.data => vec![Value::Data(fresh)],
            Type::Data => (0..values).map(Value::Data).collect(),
            Type::Bool => vec![Value::Bool(false), Value::Bool(true)],
            // Callers have numbers besides data and truth values only.
            Type::Int | Type::Lock | Type::Pointer(_) => {
                (0..i64::from(values)).map(Value::Int).collect()
            }
        }
    }

    /// Runs a thread up to the next place where others may act.
    fn segment(
        &self,
        state: State,
        thread: usize,
        events: Vec<Event>,
        moves: &mut Vec<Move>,
    ) -> Result<(), BrokenSpec> {
        // Without reductions a call is a move of its own.
        let begins = !events.is_empty() && !self.options.reduce;
        let mut open = vec![Running {
            state,
            events,
            passed: begins,
            steps: 0,
        }];
        let mut ways = 0;
        while let Some(running) = open.pop() {
            let Some(frame) = &running.state.threads[thread] else {
                continue;
            };
            let code = &self.codes[frame.method];
            let at = frame.at;
            let leaving = code.leaving(at);
            let edges = &code.body.edges;
            let atomic = |at: LocId| code.body.locations[at.index()].atomic;
            let visible = leaving.iter().any(|&index| {
                let enters = !atomic(at) && atomic(edges[index].to);
                enters || self.visible(&running.state, thread, &edges[index])
            });
            let rests = !atomic(at) && running.passed;
            if rests && visible {
                self.arrive(running, thread, edges[leaving[0]].span, moves);
                continue;
            }
            ways += 1;
            if running.steps > MAX_LOCAL_STEPS || ways > MAX_WAYS {
                self.touch(Bound::LocalSteps);
                continue;
            }
            let before = (open.len(), moves.len());
            for &index in leaving.iter().rev() {
                self.step(&running, thread, index, visible, &mut open, moves)?;
            }
            // Stuck for good, outside an atomic block: others go on.
            if rests && before == (open.len(), moves.len()) {
                let span = leaving.first().map_or(Span::default(), |&i| edges[i].span);
                self.arrive(running, thread, span, moves);
            }
        }
        Ok(())
    }

    fn arrive(&self, running: Running, thread: usize, span: Span, moves: &mut Vec<Move>) {
        moves.push(Move {
            thread,
            events: running.events,
            end: self.checked(running.state, span),
        });
    }

    /// One edge of the running thread.
    fn step(
        &self,
        running: &Running,
        thread: usize,
        index: usize,
        visible: bool,
        open: &mut Vec<Running>,
        moves: &mut Vec<Move>,
    ) -> Result<(), BrokenSpec> {
        let Some(frame) = &running.state.threads[thread] else {
            return Ok(());
        };
        let code = &self.codes[frame.method];
        let edge = &code.body.edges[index];
        let memory = &running.state.memory;
        self.note_nodes(edge, memory);
        let me = thread as u32;
        let mut stored = None;
        let outcome = match self.effect(&running.state, thread, index, edge) {
            Effected::Memory => run(
                &edge.step,
                code.body,
                memory,
                &frame.locals,
                me,
                &self.rules,
            ),
            Effected::Waits => Outcome::Blocked,
            Effected::Wrong(fault) => Outcome::Wrong(fault),
            Effected::Stored(store) => {
                stored = Some(store);
                Outcome::Done(vec![(memory.clone(), frame.locals.clone())])
            }
            Effected::Forwarded(locals) => Outcome::Done(vec![(memory.clone(), locals)]),
        };
        let ways = match outcome {
            Outcome::Blocked => return Ok(()),
            Outcome::Wrong(Fault::Overflow) => {
                self.touch(Bound::Numbers);
                return Ok(());
            }
            Outcome::Wrong(fault) => {
                let mut events = running.events.clone();
                events.push(Event::Step {
                    method: frame.method,
                    edge: index,
                    locals: frame.locals.clone(),
                    waits: false,
                });
                moves.push(Move {
                    thread,
                    events,
                    end: End::Wrong {
                        what: Wrong::Step(fault),
                        span: edge.span,
                    },
                });
                return Ok(());
            }
            Outcome::Done(ways) => ways,
        };
        for (memory, locals) in ways {
            let mut events = running.events.clone();
            let mut state = State {
                memory,
                ..running.state.clone()
            };
            if !matches!(edge.step, Step::Return(_)) {
                events.push(Event::Step {
                    method: frame.method,
                    edge: index,
                    locals: locals.clone(),
                    waits: stored.is_some(),
                });
            }
            if let Some(store) = stored {
                state.buffers[thread].push(store);
            }
            if let Some(frame) = &mut state.threads[thread] {
                frame.locals = locals;
                frame.at = edge.to;
            }
            let ended = self.ghosts(&mut state, thread, index, edge)?;
            let wrong = match (ended, &edge.step) {
                (Err(wrong), _) => Some(wrong),
                (Ok(()), Step::Return(value)) => {
                    match self.returns(&mut state, thread, index, *value, edge.span)? {
                        Ok(event) => {
                            events.push(event);
                            None
                        }
                        Err((event, wrong)) => {
                            events.push(event);
                            Some(wrong)
                        }
                    }
                }
                (Ok(()), _) => None,
            };
            if let Some(what) = wrong {
                let span = edge.span;
                moves.push(Move {
                    thread,
                    events,
                    end: End::Wrong { what, span },
                });
                continue;
            }
            if let Some(frame) = &mut state.threads[thread] {
                code.forget(frame.at, &mut frame.locals);
            }
            let next = Running {
                state,
                events,
                passed: running.passed || visible || stored.is_some(),
                steps: running.steps + 1,
            };
            if matches!(edge.step, Step::Return(_)) {
                self.arrive(next, thread, edge.span, moves);
            } else {
                open.push(next);
            }
        }
        Ok(())
    }

    /// Commit points and chosen points on an edge that was executed.
    fn ghosts(
        &self,
        state: &mut State,
        thread: usize,
        index: usize,
        edge: &Edge,
    ) -> Result<Result<(), Wrong>, BrokenSpec> {
        let Some(frame) = &state.threads[thread] else {
            return Ok(Ok(()));
        };
        let pending = self.pending(thread, frame);
        match &self.mode {
            Mode::Any => {}
            Mode::Commits => {
                for commit in &edge.commits {
                    // A number out of range in a ghost decides nothing.
                    if !holds(&commit.when, &state.memory, &frame.locals).unwrap_or(false) {
                        continue;
                    }
                    match track::commit(&self.oracle, &state.beliefs, &pending, commit)? {
                        Ok(beliefs) => state.beliefs = beliefs,
                        Err(wrong) => return Ok(Err(Wrong::Commit(wrong))),
                    }
                }
            }
            Mode::Points(points) => {
                let index = self.accesses[frame.method][index];
                let chosen = points
                    .iter()
                    .any(|((method, _), edges)| *method == frame.method && edges.contains(&index));
                if chosen {
                    state.beliefs = track::pass(&self.oracle, &state.beliefs, &pending, index)?;
                }
            }
        }
        Ok(Ok(()))
    }

    fn pending<'f>(&self, thread: usize, frame: &'f Frame) -> Pending<'f> {
        Pending {
            thread,
            operation: self.program.methods[frame.method].operation,
            arguments: &frame.arguments,
        }
    }

    /// All calls that run.
    pub(crate) fn all_pending<'f>(&self, state: &'f State) -> Vec<Pending<'f>> {
        let running = state.threads.iter().enumerate();
        running
            .filter_map(|(thread, frame)| Some(self.pending(thread, frame.as_ref()?)))
            .collect()
    }

    /// Ends a call.
    fn returns(
        &self,
        state: &mut State,
        thread: usize,
        index: usize,
        value: Option<Term>,
        span: Span,
    ) -> Result<Result<Event, (Event, Wrong)>, BrokenSpec> {
        let Some(frame) = &state.threads[thread] else {
            return Ok(Err((
                Event::Return {
                    value: Value::Nothing,
                    span,
                },
                Wrong::NotLinearizable,
            )));
        };
        let value = match value {
            None => Ok(Value::Nothing),
            Some(value) => term(value, &state.memory, &frame.locals),
        };
        let value = value.unwrap_or(Value::Undefined);
        let event = Event::Return { value, span };
        if self.program.specification != Specification::Nothing {
            let after = match &self.mode {
                Mode::Any => {
                    let after = if self.is_complete(state, thread) {
                        let pending = self.all_pending(state);
                        let open = Open {
                            pending: &pending,
                            returned: &state.returned,
                        };
                        track::returned(&self.oracle, &state.beliefs, open, thread, value)?
                    } else {
                        let before = state.returned[thread].len();
                        track::left(&state.beliefs, thread, value, before)
                    };
                    if after.is_empty() {
                        Err(Wrong::NotLinearizable)
                    } else {
                        Ok(after)
                    }
                }
                Mode::Commits => {
                    track::returned_done(&state.beliefs, thread, value, None).map_err(Wrong::Commit)
                }
                Mode::Points(points) => {
                    let allowed = points.get(&(frame.method, index));
                    let none = BTreeSet::new();
                    let allowed = Some(allowed.unwrap_or(&none));
                    track::returned_done(&state.beliefs, thread, value, allowed)
                        .map_err(Wrong::Commit)
                }
            };
            match after {
                Ok(beliefs) => state.beliefs = beliefs,
                Err(wrong) => return Ok(Err((event, wrong))),
            }
        }
        for &(local, word) in &self.codes[frame.method].kept {
            state.kept[thread][word] = frame.locals[local];
        }
        if !self.is_complete(state, thread) {
            let returned = Returned {
                operation: self.program.methods[frame.method].operation,
                arguments: frame.arguments.clone(),
                value,
                waits: state.buffers[thread].len(),
            };
            state.returned[thread].push(returned);
        }
        state.threads[thread] = None;
        for node in &mut state.memory.nodes {
            if node.life == Life::FreedBy(thread as u32) {
                node.life = Life::Freed;
            }
        }
        Ok(Ok(event))
    }

    fn note_nodes(&self, edge: &Edge, memory: &Memory) {
        if matches!(edge.step, Step::New { .. }) && memory.nodes.len() >= self.rules.nodes {
            self.touch(Bound::Nodes);
        }
    }

    /// Whether others can notice a step, or it can notice others.
    fn visible(&self, state: &State, thread: usize, edge: &Edge) -> bool {
        let commits = matches!(self.mode, Mode::Commits) && !edge.commits.is_empty();
        if commits || !self.options.reduce {
            return true;
        }
        let buffer = state.buffers.get(thread);
        if let Some(buffer) = buffer {
            let code = state.threads[thread]
                .as_ref()
                .map(|f| &self.codes[f.method]);
            let atomic = code.is_some_and(|c| c.body.locations[edge.from.index()].atomic);
            if !atomic && matches!(edge.step, Step::Write { .. }) {
                return false;
            }
            if !atomic && !buffer.is_empty() && self.drains(edge) {
                return true;
            }
        }
        match edge.step.place() {
            Some(Place::Shared(_)) => true,
            Some(Place::Field { of, .. }) => {
                let frame = state.threads[thread].as_ref();
                match frame.map(|f| f.locals[of.index()]) {
                    Some(Value::Node(node)) => !private(state, thread, node),
                    // Null: the step goes wrong whenever it happens.
                    Some(_) | None => false,
                }
            }
            None => match edge.step {
                Step::New { .. } | Step::Free(_) => self.options.reclaim != Reclaim::Never,
                Step::Skip
                | Step::Fence
                | Step::Assume(_)
                | Step::Assign { .. }
                | Step::Havoc { .. }
                | Step::Read { .. }
                | Step::Write { .. }
                | Step::Cas { .. }
                | Step::Lock(_)
                | Step::Unlock(_)
                | Step::Compute { .. }
                | Step::Fail(_)
                | Step::Return(_) => false,
            },
        }
    }

    // ---- what must hold in every state

    pub(crate) fn checked(&self, state: State, span: Span) -> End {
        match self.wrong(&state) {
            Some((what, place)) => End::Wrong {
                what,
                span: place.unwrap_or(span),
            },
            None => End::State(Box::new(state)),
        }
    }

    fn wrong(&self, state: &State) -> Option<(Wrong, Option<Span>)> {
        for (index, never) in self.program.nevers.iter().enumerate() {
            if holds(&never.cond, &state.memory, &[]).unwrap_or(false) {
                return Some((Wrong::Never(index), Some(never.span)));
            }
        }
        let leaks = self.options.check_leaks && self.options.reclaim != Reclaim::Never;
        if !leaks && !self.options.check_cycles {
            return None;
        }
        let (shared, any) = reached(state);
        let nodes = &state.memory.nodes;
        if leaks
            && nodes
                .iter()
                .zip(any)
                .any(|(node, reached)| node.life == Life::Live && !reached)
        {
            return Some((Wrong::Leak, None));
        }
        // What is on its way to memory may be half of a change.
        let settled = state.buffers.iter().all(Vec::is_empty);
        if self.options.check_cycles && settled && self.cyclic(&state.memory, &shared) {
            return Some((Wrong::Cycle, None));
        }
        None
    }

    /// Whether following one field from a node that is shared leads back to it.
    fn cyclic(&self, memory: &Memory, shared: &[bool]) -> bool {
        let live = |index: usize| memory.nodes[index].life == Life::Live;
        for start in (0..memory.nodes.len()).filter(|&i| shared[i] && live(i)) {
            let of = memory.nodes[start].of;
            let declared = &self.program.structs[of.index()];
            if declared.circular {
                continue;
            }
            for (field, declared) in declared.fields.iter().enumerate() {
                if declared.ty != Type::Pointer(of) {
                    continue;
                }
                let mut at = start;
                for _ in 0..memory.nodes.len() {
                    match memory.nodes[at].words[field].value {
                        Value::Node(next) if live(next as usize) => at = next as usize,
                        _ => break,
                    }
                    if at == start {
                        return true;
                    }
                }
            }
        }
        false
    }
}

/// Whether two threads between calls differ in their names only: they have no roles, and keep the same.
fn alike(state: &State, a: usize, b: usize) -> bool {
    let has_role = |thread: usize| state.roles.contains(&Some(thread as u32));
    let waits = |thread: usize| state.buffers.get(thread).is_some_and(|b| !b.is_empty());
    state.kept[a] == state.kept[b]
        && ![a, b]
            .iter()
            .any(|thread| has_role(*thread) || waits(*thread))
}

/// Whether nothing but locals of `thread`, and what it keeps, leads to a node. What waits in buffers leads there, too, and
/// so does a store into the node.
pub(crate) fn private(state: &State, thread: usize, node: u32) -> bool {
    let is_it = |value: Value| value == Value::Node(node);
    let memory = &state.memory;
    let nodes = memory.nodes.iter().flat_map(|n| &n.words);
    let others = state
        .threads
        .iter()
        .enumerate()
        .filter(|(t, _)| *t != thread);
    let locals = others
        .filter_map(|(_, f)| f.as_ref())
        .flat_map(|f| &f.locals);
    let kept = state.kept.iter().enumerate().filter(|(t, _)| *t != thread);
    let mut locals = locals.chain(kept.flat_map(|(_, kept)| kept));
    let mut stores = state.buffers.iter().flatten();
    let waits = stores.any(|s| is_it(s.word.value) || s.at.node() == Some(node));
    !waits
        && !memory.shared.iter().chain(nodes).any(|w| is_it(w.value))
        && !locals.any(|v| is_it(*v))
}

/// Whether methods or the specification compare data.
pub(crate) fn compares_data(program: &Program) -> bool {
    let by_spec = match &program.specification {
        Specification::Set => true,
        Specification::Own(own) => {
            let as_program = Program {
                shared: own.shared.clone(),
                methods: own.operations.clone(),
                ..program.clone()
            };
            as_program.compares_data()
        }
        Specification::Stack | Specification::Queue | Specification::Nothing => false,
    };
    by_spec || program.compares_data()
}
