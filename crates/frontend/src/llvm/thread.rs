//! *Threads*: how they are started, end and are awaited. What the library in `rust/library`
//! asks for are *requests*, calls of functions named `__palisade_*`.
//!
//! Each request for a thread that execution comes to makes a thread of its own. What only its
//! closure can reach from then on is given to it; what the starting thread can reach as well is
//! shared. A thread that is started before any step of `main` runs from the beginning. Others wait
//! for a flag; a flag also says that a thread has ended. Flags are released and acquired.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use palisade_program::{
    Atomic, AtomicKind, BinOp, CfgBuilder, Expr, GlobalId, LocalExpr, Order, Orders, Place, Span,
    Step, UNINITIALISED,
};

use super::access::FORMATTING;
use super::engine::{Engine, Flow, Run, SMALLER, unsupported};
use super::ir::Argument;
use super::memory::{Bytes, Content, FORMATTED, Found};
use super::state::{State, Value};
use super::values::Values;
use super::world::{Key, ObjectId, Plan};

/// Threads at most.
const MOST_THREADS: usize = 24;
/// Flags have numbers from here on, until the variables are known.
pub(super) const FIRST_FLAG: u32 = 1 << 24;

/// The flag that says that a thread was started.
pub(super) const fn started(thread: usize) -> GlobalId {
    GlobalId(FIRST_FLAG + 2 * thread as u32)
}

/// The flag that says that a thread has ended.
pub(super) const fn ended(thread: usize) -> GlobalId {
    GlobalId(FIRST_FLAG + 2 * thread as u32 + 1)
}

impl<'m> Engine<'_, 'm> {
    /// `__palisade_*`
    pub(super) fn request(
        &mut self,
        state: &mut State,
        name: &str,
        dst: Option<u32>,
        arguments: &'m [Argument],
    ) -> Run<Flow> {
        if name == "opaque" {
            return self.opaque(state, dst, arguments);
        }
        let what = "a thread, a lock or a function";
        let numbers = match self.all_pinned(state, arguments, what)? {
            Ok(numbers) => numbers,
            Err(flow) => return Ok(flow),
        };
        match (name, numbers.as_slice()) {
            ("spawn", [function, argument, scope]) => {
                let id = self.spawn(state, *function, *argument, *scope)?;
                self.answered(state, dst, Some(id as i64))
            }
            ("join", [id]) => {
                self.join(state, *id as usize)?;
                self.answered(state, dst, None)
            }
            ("join_scope", [scope]) => {
                for id in 1..self.world.plans.len() {
                    if self.world.plans[id].scope != *scope {
                        continue;
                    }
                    if state.spawned.contains(&id) {
                        self.join(state, id)?;
                    } else if self.world.plans[id].parent != self.thread {
                        self.join_if_started(state, id);
                    }
                }
                self.answered(state, dst, None)
            }
            ("many_values", []) => unsupported(
                "a channel that carries more than eight values",
                "send fewer values, or give each phase a channel of its own",
            ),
            ("formatted", []) => self.answered(state, dst, Some(FORMATTED)),
            ("test_name", []) => unsupported(
                "the name of a test's first thread",
                "ask for the name of a thread that you have named",
            ),
            ("duration", []) => unsupported(
                "how much time has passed",
                "compare the time with a deadline: both may come first",
            ),
            ("behind_model", []) => {
                state.is_behind_model = true;
                self.answered(state, dst, None)
            }
            ("many_entries", []) => unsupported(
                "a map, set or queue of more than eight entries",
                "insert fewer entries",
            ),
            ("rendezvous", []) => unsupported(
                "a channel without room for a value",
                "give the channel room for one value",
            ),
            ("self", []) => self.answered(state, dst, Some(self.thread as i64)),
            ("take", [at, from, to]) => {
                self.take(state, *at, *from, *to)?;
                self.answered(state, dst, None)
            }
            ("choose", []) => {
                self.end_prelude(state)?;
                let e = self.luck(state, &[]);
                if let Some(dst) = dst {
                    state.set(dst, Value::Word(e));
                }
                state.top_mut().inst += 1;
                Ok(Flow::Next)
            }
            ("ended", [id]) => {
                let e = self.flag(state, ended(*id as usize), Order::Acquire);
                if let Some(dst) = dst {
                    state.set(dst, Value::Word(e));
                }
                state.top_mut().inst += 1;
                Ok(Flow::Next)
            }
            _ => unsupported("a request that is not known", SMALLER),
        }
    }

    /// A value that is treated as if only a run could decide it.
    fn opaque(&mut self, state: &mut State, dst: Option<u32>, arguments: &[Argument]) -> Run<Flow> {
        let [argument] = arguments else {
            return unsupported("this request", SMALLER);
        };
        self.end_prelude(state)?;
        let e = self.word(state, &argument.value)?;
        let bits = argument.ty.bits().unwrap_or(64);
        self.drop_dead(state);
        let local = state.fresh(&[&e]);
        let span = self.span(state);
        self.emit(
            Step::Assign {
                dst: local,
                value: e,
            },
            span,
        );
        state.known.insert(local, Values::all(bits));
        let e = self.use_local(local);
        if let Some(dst) = dst {
            state.set(dst, Value::Word(e));
        }
        state.top_mut().inst += 1;
        Ok(Flow::Next)
    }

    /// From here on there are other threads, or values that only runs decide: what shared objects
    /// hold now are their initial values.
    pub(super) fn end_prelude(&mut self, state: &mut State) -> Run<()> {
        if !state.prelude {
            return Ok(());
        }
        state.prelude = false;
        // What shared memory points to is shared.
        loop {
            let mut found = BTreeSet::new();
            for (object, content) in &state.memory {
                if !self.world.is_shared(*object) {
                    continue;
                }
                for (_, bytes) in content.parts.values() {
                    if let Bytes::Word(e) = bytes {
                        found.extend(self.pointed(state, e));
                    }
                }
            }
            found.retain(|object| {
                matches!(
                    self.world.objects[*object].key,
                    Key::Heap(..) | Key::Stack(..)
                ) && !self.world.is_shared(*object)
            });
            if found.is_empty() {
                break;
            }
            found
                .into_iter()
                .for_each(|object| self.world.share(object));
        }
        let shared: Vec<ObjectId> = state
            .memory
            .keys()
            .copied()
            .filter(|object| self.world.is_shared(*object))
            .collect();
        for object in shared {
            if let Some(content) = state.memory.remove(&object) {
                self.world.initial.insert(object, (*content).clone());
            }
        }
        self.note_initial()
    }

    /// What cells hold at first counts among what they may hold.
    fn note_initial(&mut self) -> Run<()> {
        let cells: Vec<((ObjectId, u64), u64)> = self
            .world
            .cells
            .iter()
            .map(|(at, cell)| (*at, cell.size))
            .collect();
        for ((object, offset), size) in cells {
            let value = self.world.initial_word(object, offset, size);
            let value = value.or_else(|words| unsupported(words, SMALLER))?;
            let values = Values::one(value.unwrap_or(UNINITIALISED));
            self.world.stored(object, offset, &values);
        }
        Ok(())
    }

    fn spawn(&mut self, state: &mut State, function: i64, argument: i64, scope: i64) -> Run<usize> {
        let span = self.span(state);
        self.end_prelude(state)?;
        let key = self
            .world
            .at(function)
            .map(|(object, _)| self.world.objects[object].key.clone());
        let Some(Key::Function(function)) = key else {
            return unsupported("a thread whose function is not known", SMALLER);
        };
        let frame = state.top();
        let start = (self.thread, frame.path, frame.inst, state.started);
        state.started += 1;
        let next = self.world.plans.len().max(1);
        let id = *self.world.starts.entry(start).or_insert(next);
        if id >= MOST_THREADS {
            // No run of so many threads is ever looked at, so that it is said at once.
            let words =
                "unsupported: more than 23 threads, or threads started in a loop without end";
            let help = "start a fixed number of threads, at most 23";
            self.world.refusal = Some((span, words.to_owned(), help));
            return unsupported("too many threads", help);
        }
        let given = self.give(state, argument)?;
        let at_once = self.untouched;
        state.spawned.insert(id);
        let plan = Plan {
            parent: self.thread,
            function,
            argument,
            given,
            at_once,
            scope,
            span,
        };
        self.plan(id, plan);
        if !at_once {
            self.set_flag(started(id), span);
        }
        Ok(id)
    }

    /// Keeps the plan of a thread; where it was made before, both must agree.
    fn plan(&mut self, id: usize, plan: Plan) {
        while self.world.plans.len() <= id {
            self.world.plans.push(plan.clone());
            self.world.grown = true;
        }
        let old = &self.world.plans[id];
        if self.world.planned.insert(id) {
            self.world.plans[id] = plan;
            return;
        }
        let mut shared: Vec<ObjectId> = Vec::new();
        for object in old.given.keys().chain(plan.given.keys()) {
            if old.given.get(object) != plan.given.get(object) {
                shared.push(*object);
            }
        }
        for object in shared {
            self.world.share(object);
        }
    }

    /// Takes from the state what only the argument's owner can reach.
    fn give(&mut self, state: &mut State, argument: i64) -> Run<BTreeMap<ObjectId, Content>> {
        let reach = |engine: &Self, state: &State, roots: BTreeSet<ObjectId>| {
            let mut reached = roots;
            let mut work: Vec<ObjectId> = reached.iter().copied().collect();
            while let Some(object) = work.pop() {
                let Some(content) = state.memory.get(&object) else {
                    continue;
                };
                for (_, bytes) in content.parts.values() {
                    if let Bytes::Word(e) = bytes {
                        for next in engine.pointed(state, e) {
                            if reached.insert(next) {
                                work.push(next);
                            }
                        }
                    }
                }
            }
            reached
        };
        let Some((root, _)) = self.world.at(argument) else {
            return Ok(BTreeMap::new());
        };
        let theirs = reach(self, state, BTreeSet::from([root]));
        // What this thread can still reach: by what it reads later, not by what it holds.
        let mut rest = state.clone();
        rest.top_mut().inst += 1;
        self.forget(&mut rest);
        let roots = self.roots(&rest);
        let ours = reach(self, &rest, roots);
        let mut given = BTreeMap::new();
        for object in theirs {
            let Some(content) = state.memory.get(&object) else {
                continue;
            };
            if self.world.is_constant(object) {
                continue;
            }
            let dynamic = content.parts.values().any(|(_, bytes)| match bytes {
                Bytes::Word(e) => !matches!(e, Expr::Const(_)),
                Bytes::CopyOf(..) => false,
            });
            if ours.contains(&object) || dynamic {
                self.world.share(object);
                continue;
            }
            if let Some(content) = state.memory.remove(&object) {
                self.world.given.insert(object);
                given.insert(object, (*content).clone());
            }
        }
        Ok(given)
    }

    fn kept_place(&self, flag: GlobalId, order: Order) -> Place {
        Place::scalar(flag).ordered(self.kept(order))
    }

    /// Reads a flag.
    fn flag(&mut self, state: &mut State, flag: GlobalId, order: Order) -> LocalExpr {
        self.drop_dead(state);
        let dst = state.fresh(&[]);
        let span = self.span(state);
        let src = self.kept_place(flag, order);
        self.emit(Step::Load { dst, src }, span);
        state.known.insert(dst, Values::range(0, 1));
        self.use_local(dst)
    }

    /// Sets a flag; what was stored before is in memory then.
    fn set_flag(&mut self, flag: GlobalId, span: Span) {
        let store = Step::Store {
            dst: self.kept_place(flag, Order::Release),
            value: Expr::Const(1),
        };
        self.at_once(vec![store], AtomicKind::Block, span);
    }

    /// Steps as one, where orders are not kept.
    fn at_once(&mut self, steps: Vec<Step>, kind: AtomicKind, span: Span) {
        if self.settings.orders == Orders::Kept {
            steps.into_iter().for_each(|step| self.emit(step, span));
            return;
        }
        let mut body = CfgBuilder::new();
        let entry = body.loc();
        let mut at = entry;
        for step in steps {
            let next = body.loc();
            body.edge(at, step, next, span);
            at = next;
        }
        let (body, _) = body.finish(entry, at);
        self.emit(Step::Atomic(Box::new(Atomic { kind, body })), span);
    }

    /// Waits until a flag is set.
    pub(super) fn await_flag(
        &mut self,
        flag: GlobalId,
        local: palisade_program::LocalId,
        span: Span,
    ) {
        let src = self.kept_place(flag, Order::Acquire);
        let e = self.use_local(local);
        let test = LocalExpr::binary(BinOp::Eq, e, Expr::Const(1));
        let steps = vec![Step::Load { dst: local, src }, Step::Assume(test)];
        self.at_once(steps, AtomicKind::Block, span);
    }

    fn join(&mut self, state: &mut State, id: usize) -> Run<()> {
        if id == 0 || id >= self.world.plans.len() {
            return unsupported("a join of something that is no thread", SMALLER);
        }
        self.drop_dead(state);
        let local = state.fresh(&[]);
        let span = self.span(state);
        self.await_flag(ended(id), local, span);
        Ok(())
    }

    /// Waits for a thread that others may have started.
    fn join_if_started(&mut self, state: &mut State, id: usize) {
        self.drop_dead(state);
        let first = state.fresh(&[]);
        let was_started = self.use_local(first);
        let second = state.fresh(&[&was_started]);
        let has_ended = self.use_local(second);
        let span = self.span(state);
        let is = |e, value| LocalExpr::binary(BinOp::Eq, e, Expr::Const(value));
        let steps = vec![
            Step::Load {
                dst: first,
                src: self.kept_place(started(id), Order::Acquire),
            },
            Step::Load {
                dst: second,
                src: self.kept_place(ended(id), Order::Acquire),
            },
            Step::Assume(is(was_started, 0).or(is(has_ended, 1))),
        ];
        self.at_once(steps, AtomicKind::Block, span);
    }

    /// The thread has come to its end.
    pub(super) fn end_thread(&mut self, state: &State) {
        let _ = state;
        let span = match self.world.plans.get(self.thread) {
            Some(plan) if self.thread > 0 => plan.span,
            _ => Span::default(),
        };
        if self.thread > 0 {
            self.set_flag(ended(self.thread), span);
        }
        let (from, to) = (self.here, self.exit);
        self.edges.push(super::engine::Made {
            from,
            step: Step::Skip,
            to,
            span,
        });
    }

    /// The objects that registers point into.
    fn roots(&self, state: &State) -> BTreeSet<ObjectId> {
        let mut found = BTreeSet::new();
        for frame in &state.frames {
            for value in frame.registers.values() {
                self.note_pointed(state, value, &mut found);
            }
        }
        found
    }
}

impl super::world::World<'_> {
    /// What a cell holds when the threads start; `None` if nothing was written there.
    pub(super) fn initial_word(
        &mut self,
        object: ObjectId,
        offset: u64,
        size: u64,
    ) -> Result<Option<i64>, String> {
        if !self.initial.contains_key(&object)
            && let Key::Static(name) = self.objects[object].key.clone()
        {
            let content = self.initial_content(&name)?;
            self.initial.insert(object, content);
        }
        let Some(content) = self.initial.get(&object) else {
            return Ok(None);
        };
        match content.word(offset, size) {
            Found::Word(Expr::Const(FORMATTED)) => Err(FORMATTING.to_owned()),
            Found::Word(Expr::Const(value)) => Ok(Some(value)),
            Found::Nothing => Ok(None),
            Found::Word(_) | Found::CopyOf(..) => Err("an initial value".to_owned()),
        }
    }
}

/// Memory of a thread that is given to it.
pub(super) fn given_memory(plan: &Plan) -> BTreeMap<ObjectId, Rc<Content>> {
    plan.given
        .iter()
        .map(|(id, content)| (*id, Rc::new(content.clone())))
        .collect()
}
