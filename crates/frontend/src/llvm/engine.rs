//! The *engine* executes the code of one thread ahead of all runs (online partial evaluation). What
//! is the same in all runs is computed: calls, pointers, enums, private memory. What is left are
//! accesses of shared memory and what depends on them; these become the steps of the thread.
//!
//! `main` begins with a *prelude*: as long as it runs alone nothing depends on other
//! threads, and what it leaves in shared memory are the initial values.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use palisade_program::{
    AssertKind, Expr, FREED, FenceKind, LocId, LocalExpr, LocalId, MemoryError, Order, Orders,
    Side, Span, Step,
};

use crate::Stop;

use super::analysis::Liveness;
use super::arith;
use super::debug::Debug;
use super::ir::{End, Function, Inst, Operand};
use super::merge::Variant;
use super::state::{Frame, State, Value};
use super::values::{decided, refine};
use super::world::{Key, World};

/// Nesting of calls at most.
const MOST_CALLS: usize = 128;
/// Instructions that are executed at most.
const MOST_STEPS: u64 = 60_000_000;
/// Places of a thread at most.
const MOST_PLACES: usize = 40_000;

/// Why execution cannot go on along a path.
#[derive(Clone, Debug)]
pub(super) enum Trouble {
    /// The front end has no model for it.
    Unsupported(String, &'static str),
    /// The program does something wrong.
    Wrong(AssertKind),
    /// Something new was found out: this execution does not count.
    Again,
    /// The path ends, as there are no values for it so far.
    Nothing,
}

pub(super) type Run<T> = Result<T, Trouble>;

pub(super) fn unsupported<T>(words: impl Into<String>, help: &'static str) -> Run<T> {
    Err(Trouble::Unsupported(words.into(), help))
}

/// Help for what no rewriting makes smaller.
pub(super) const SMALLER: &str = "write this part of the program in another way, or leave it out";

/// What comes after an instruction.
pub(super) enum Flow {
    Next,
    /// Other states go on, from these places.
    Fork(Vec<(State, LocId)>),
    /// The thread has ended.
    End,
}

/// An edge of the thread that is being made.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) from: LocId,
    pub(super) step: Step,
    pub(super) to: LocId,
    pub(super) span: Span,
}

/// Where the text is: file names as the compiler knows them, and where their lines start.
pub(super) struct Places<'a> {
    pub(super) debug: Vec<Debug<'a>>,
    pub(super) text: &'a super::Text<'a>,
}

/// What is asked of the engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings<'w> {
    pub(super) orders: Orders,
    /// When to stop.
    pub(super) stop: &'w Stop,
}

pub(super) struct Engine<'w, 'm> {
    pub(super) world: &'w mut World<'m>,
    pub(super) places: &'w Places<'m>,
    pub(super) liveness: &'w mut BTreeMap<(usize, usize), Rc<Liveness>>,
    pub(super) settings: Settings<'w>,
    pub(super) thread: usize,
    pub(super) edges: Vec<Made>,
    pub(super) locs: u32,
    pub(super) exit: LocId,
    pub(super) here: LocId,
    /// Whether the thread being made has no step so far.
    pub(super) untouched: bool,
    pub(super) work: Vec<(State, LocId)>,
    pub(super) variants: HashMap<State, Vec<Variant>>,
    pub(super) most_locals: u32,
    pub(super) steps: u64,
    /// Loads that hardware for RC11 might reorder.
    pub(super) weak_loads: bool,
}

impl<'m> Engine<'_, 'm> {
    pub(super) fn loc(&mut self) -> LocId {
        self.locs += 1;
        LocId(self.locs - 1)
    }

    /// Adds a step.
    pub(super) fn emit(&mut self, step: Step, span: Span) {
        let to = self.loc();
        let from = self.here;
        self.edges.push(Made {
            from,
            step,
            to,
            span,
        });
        self.here = to;
        self.untouched = false;
    }

    /// Behind an access: a fence may stand here.
    pub(super) fn after_access(&mut self, span: Span) {
        if let Some(gap) = (self.places.text.gap)(span, Side::After) {
            self.emit(Step::Fence(FenceKind::Candidate), gap);
        }
    }

    /// Before an access, unless a fence may stand behind the last one.
    pub(super) fn before_access(&mut self, span: Span) {
        let is_candidate = |made: &Made| {
            made.to == self.here && matches!(made.step, Step::Fence(FenceKind::Candidate))
        };
        if self.edges.last().is_some_and(is_candidate) {
            return;
        }
        if let Some(gap) = (self.places.text.gap)(span, Side::Before) {
            self.emit(Step::Fence(FenceKind::Candidate), gap);
        }
    }

    pub(super) fn use_local(&mut self, id: LocalId) -> LocalExpr {
        self.most_locals = self.most_locals.max(id.0 + 1);
        palisade_program::cfg::local(id)
    }

    pub(super) fn function(&self, frame: &Frame) -> &'m Function {
        self.world.function_at(frame.function)
    }

    pub(super) fn live(&mut self, function: (usize, usize)) -> Rc<Liveness> {
        let world = &self.world;
        self.liveness
            .entry(function)
            .or_insert_with(|| Rc::new(Liveness::of(world.function_at(function))))
            .clone()
    }

    /// Where the user has written what is executed now.
    pub(super) fn span(&self, state: &State) -> Span {
        for frame in state.frames.iter().rev() {
            let block = &self.function(frame).blocks[frame.block];
            let debug = block.insts.get(frame.inst).map_or(block.end.1, |(_, d)| *d);
            for place in self.places.debug[frame.function.0].places(debug) {
                if let Some(span) = (self.places.text.spans)(&place.file, place.line, place.column)
                {
                    return span;
                }
            }
        }
        match self.world.plans.get(self.thread) {
            Some(plan) if self.thread > 0 => plan.span,
            Some(_) | None => Span::default(),
        }
    }

    /// Executes the thread from a state; its steps start at `self.here`.
    pub(super) fn run(&mut self, state: State) -> Result<(), (Span, String, &'static str)> {
        self.work.push((state, self.here));
        while let Some((mut state, at)) = self.work.pop() {
            self.here = at;
            loop {
                self.steps += 1;
                let is_large = self.steps > MOST_STEPS || self.locs as usize > MOST_PLACES;
                let result = if is_large || self.settings.stop.is_raised() {
                    let span = self.span(&state);
                    let words = "the program is too large when its calls and loops are unrolled";
                    let help = "start fewer threads, allocate less, or make loops shorter";
                    return Err((span, words.to_owned(), help));
                } else {
                    self.step(&mut state)
                };
                match result {
                    Ok(Flow::Next) => {}
                    Ok(Flow::Fork(others)) => {
                        self.work.extend(others.into_iter().rev());
                        break;
                    }
                    Ok(Flow::End) => {
                        self.end_thread(&state);
                        break;
                    }
                    Err(Trouble::Unsupported(words, help)) => {
                        let span = self.span(&state);
                        if state.prelude {
                            return Err((span, format!("unsupported: {words}"), help));
                        }
                        self.fail(AssertKind::Unsupported(words), span);
                        break;
                    }
                    Err(Trouble::Wrong(kind)) => {
                        let span = self.span(&state);
                        self.fail(kind, span);
                        break;
                    }
                    Err(Trouble::Again | Trouble::Nothing) => break,
                }
            }
        }
        Ok(())
    }

    /// A run that comes here has failed.
    pub(super) fn fail(&mut self, kind: AssertKind, span: Span) {
        let cond = Expr::FALSE;
        self.emit(Step::Assert { cond, kind }, span);
    }

    /// Executes one instruction.
    fn step(&mut self, state: &mut State) -> Run<Flow> {
        let frame = state.top();
        let function = self.function(frame);
        let Some(block) = function.blocks.get(frame.block) else {
            return unsupported("a function without code", SMALLER);
        };
        if let Some((inst, _)) = block.insts.get(frame.inst) {
            let flow = self.instruction(state, inst)?;
            // A call goes on behind itself when it returns.
            if matches!(flow, Flow::Next) && !matches!(inst, Inst::Call { .. }) {
                state.top_mut().inst += 1;
            }
            return Ok(flow);
        }
        match &block.end.0 {
            End::Jump(to) => self.jump(state, *to),
            End::Branch(test, yes, no) => {
                let test = self.word(state, test)?;
                let (yes, no) = (*yes, *no);
                self.branch(state, test, yes, no)
            }
            End::Switch {
                bits,
                on,
                default,
                cases,
            } => self.switch(state, *bits, on, *default, cases),
            End::Return(value) => {
                let value = match value {
                    Some((ty, operand)) => self.value(state, operand, ty)?,
                    None => Value::Undefined,
                };
                self.leave(state, value)
            }
            End::Unreachable => Err(Trouble::Wrong(AssertKind::Language(
                "unreachable code is reached".to_owned(),
            ))),
            End::Unknown(words) => unsupported(words.clone(), SMALLER),
        }
    }

    /// Goes to a block, which may be where paths meet.
    fn jump(&mut self, state: &mut State, to: usize) -> Run<Flow> {
        let frame = state.top();
        let function = self.function(frame);
        let from = function.blocks[frame.block].name.as_str();
        let mut chosen = Vec::new();
        let mut first = 0;
        for (inst, _) in &function.blocks[to].insts {
            let Inst::Phi { dst, ty, incoming } = inst else {
                break;
            };
            first += 1;
            let Some((value, _)) = incoming.iter().find(|(_, name)| name == from) else {
                return unsupported("a value that depends on the way", SMALLER);
            };
            chosen.push((*dst, self.value(state, value, ty)?));
        }
        for (dst, value) in chosen {
            state.set(dst, value);
        }
        let top = state.top_mut();
        top.block = to;
        top.inst = first;
        let function = top.function;
        if !state.prelude && self.live(function).joins[to] {
            return self.meet(state);
        }
        Ok(Flow::Next)
    }

    /// Two ways, one of them if that is known.
    pub(super) fn branch(
        &mut self,
        state: &mut State,
        test: LocalExpr,
        yes: usize,
        no: usize,
    ) -> Run<Flow> {
        match decided(&test, &state.known) {
            Some(true) => return self.jump(state, yes),
            Some(false) => return self.jump(state, no),
            None => {}
        }
        let span = self.span(state);
        let mut forks = Vec::new();
        let start = self.here;
        for (is, target) in [(true, yes), (false, no)] {
            let guard = if is {
                test.clone()
            } else {
                test.clone().negate()
            };
            forks.extend(self.fork(state, start, guard, span, |engine, state| {
                refine(&test, is, &mut state.known);
                state.settle();
                engine.jump(state, target)
            })?);
        }
        Ok(Flow::Fork(forks))
    }

    /// A copy of the state that goes on only if `guard` holds.
    pub(super) fn fork(
        &mut self,
        state: &State,
        start: LocId,
        guard: LocalExpr,
        span: Span,
        then: impl FnOnce(&mut Self, &mut State) -> Run<Flow>,
    ) -> Run<Vec<(State, LocId)>> {
        let mut copy = state.clone();
        self.here = start;
        self.emit(Step::Assume(guard), span);
        match then(self, &mut copy) {
            Ok(Flow::Next) => Ok(vec![(copy, self.here)]),
            Ok(Flow::Fork(more)) => Ok(more),
            Ok(Flow::End) => {
                self.end_thread(&copy);
                Ok(Vec::new())
            }
            Err(Trouble::Wrong(kind)) => {
                let span = self.span(&copy);
                self.fail(kind, span);
                Ok(Vec::new())
            }
            Err(Trouble::Unsupported(words, _)) => {
                let span = self.span(&copy);
                self.fail(AssertKind::Unsupported(words), span);
                Ok(Vec::new())
            }
            Err(Trouble::Again | Trouble::Nothing) => Ok(Vec::new()),
        }
    }

    fn switch(
        &mut self,
        state: &mut State,
        bits: u32,
        on: &Operand,
        default: usize,
        cases: &[(u128, usize)],
    ) -> Run<Flow> {
        let on = self.word(state, on)?;
        let span = self.span(state);
        let start = self.here;
        let mut forks = Vec::new();
        let mut rest = Expr::TRUE;
        let mut left = state.clone();
        for (value, target) in cases {
            let value = arith::canonical(*value, bits);
            let test =
                LocalExpr::binary(palisade_program::BinOp::Eq, on.clone(), Expr::Const(value));
            match decided(&test, &left.known) {
                Some(false) => continue,
                Some(true) => {
                    if forks.is_empty() && rest == Expr::TRUE {
                        return self.jump(state, *target);
                    }
                    forks.extend(self.fork(&left, start, rest, span, |engine, state| {
                        engine.jump(state, *target)
                    })?);
                    return Ok(Flow::Fork(forks));
                }
                None => {}
            }
            let guard = rest.clone().and(test.clone());
            forks.extend(self.fork(&left, start, guard, span, |engine, state| {
                refine(&test, true, &mut state.known);
                state.settle();
                engine.jump(state, *target)
            })?);
            rest = rest.and(test.clone().negate());
            refine(&test, false, &mut left.known);
        }
        if rest == Expr::TRUE {
            return self.jump(state, default);
        }
        forks.extend(self.fork(&left, start, rest, span, |engine, state| {
            state.settle();
            engine.jump(state, default)
        })?);
        Ok(Flow::Fork(forks))
    }

    /// Enters a function.
    pub(super) fn enter(
        &mut self,
        state: &mut State,
        name: &str,
        arguments: Vec<Value>,
    ) -> Run<Flow> {
        let Some(index) = self.world.function_index(name) else {
            return unsupported("a function without code", SMALLER);
        };
        if state.frames.len() >= MOST_CALLS {
            return unsupported(
                "calls nested too deeply",
                "write recursion as a loop with a bound",
            );
        }
        let path = match state.frames.last() {
            Some(frame) => {
                let (path, block, inst) = (frame.path, frame.block, frame.inst);
                self.world.path(path, block, inst)
            }
            // Behind the thread's function.
            None => self.world.path(0, usize::MAX, state.destructors.len()),
        };
        let function = self.world.function_at(index);
        let registers: BTreeMap<u32, Value> = function
            .parameters
            .iter()
            .map(|(_, reg)| *reg)
            .zip(arguments)
            .collect();
        state.frames.push(Frame {
            function: index,
            path,
            block: 0,
            inst: 0,
            registers: Rc::new(registers),
        });
        Ok(Flow::Next)
    }

    /// Returns from a function.
    fn leave(&mut self, state: &mut State, value: Value) -> Run<Flow> {
        let thread = self.thread;
        let Some(frame) = state.frames.pop() else {
            return Ok(Flow::End);
        };
        let live = self.live(frame.function);
        for local in live.locals.keys() {
            if let Some(object) = self
                .world
                .known_object(&Key::Stack(thread, frame.path, *local))
            {
                state.memory.remove(&object);
            }
        }
        let Some(caller) = state.frames.last() else {
            return self.destroy(state);
        };
        let inst = &self.function(caller).blocks[caller.block].insts[caller.inst].0;
        if let Inst::Call { dst: Some(dst), .. } = inst {
            state.set(*dst, value);
        }
        state.top_mut().inst += 1;
        Ok(Flow::Next)
    }

    /// The thread's function has returned: its variables are destroyed, the last one first.
    fn destroy(&mut self, state: &mut State) -> Run<Flow> {
        let Some((variable, destructor)) = state.destructors.pop() else {
            return Ok(Flow::End);
        };
        let object = self.world.at(destructor).filter(|(_, at)| *at == 0);
        let key = object.map(|(object, _)| self.world.objects[object].key.clone());
        let Some(Key::Function(name)) = key else {
            return Err(self.fault(destructor));
        };
        self.enter(state, &name, vec![Value::Word(Expr::Const(variable))])
    }

    /// An order, where those are kept.
    pub(super) const fn kept(&self, order: Order) -> Order {
        match self.settings.orders {
            Orders::Kept => order,
            Orders::Mapped => Order::Plain,
        }
    }

    /// What is wrong with using an address.
    pub(super) fn fault(&self, address: i64) -> Trouble {
        let object = self.world.at(address).map(|(object, _)| object);
        if let Some(object) = object
            && let Key::Function(name) = &self.world.objects[object].key
        {
            // A variable of a crate that is there as machine code only.
            let words = format!("`{}`, whose contents are not known", self.shown(name));
            return Trouble::Unsupported(words, SMALLER);
        }
        let error = match address {
            0 => MemoryError::Null,
            FREED => MemoryError::UseAfterFree,
            _ => MemoryError::Wild,
        };
        Trouble::Wrong(AssertKind::Memory(error))
    }
}
