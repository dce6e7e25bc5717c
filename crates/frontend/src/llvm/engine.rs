//! The *engine* executes the code of one thread ahead of all runs (online partial evaluation). What
//! is the same in all runs is computed: calls, pointers, enums, private memory. What is left are
//! accesses of shared memory and what depends on them; these become the steps of the thread.
//!
//! `main` begins with a *prelude*: as long as it runs alone nothing depends on other
//! threads, and what it leaves in shared memory are the initial values.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use palisade_program::{
    AssertKind, Expr, LocId, LocalExpr, LocalId, MemoryError, Order, Orders, Span, Step,
};

use super::analysis::Liveness;
use super::arith;
use super::debug::Debug;
use super::ir::{Const, End, Function, Inst, Operand, Type};
use super::merge::Variant;
use super::state::{Frame, State, Value};
use super::values::{decided, possible, range_of, refine, values_of};
use super::world::{FREED, Key, ObjectId, World};

/// Nesting of calls at most.
const MOST_CALLS: usize = 128;
/// Instructions that are executed at most.
const MOST_STEPS: u64 = 60_000_000;
/// Places of a thread at most.
const MOST_PLACES: usize = 40_000;
/// Nodes of an expression at most, before it gets a local of its own.
const MOST_NODES: usize = 24;

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
    pub(super) spans: &'a dyn Fn(&str, u32, u32) -> Option<Span>,
    /// The line of a span.
    pub(super) line: &'a dyn Fn(Span) -> u32,
}

/// What is asked of the engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) orders: Orders,
}

pub(super) struct Engine<'w, 'm> {
    pub(super) world: &'w mut World<'m>,
    pub(super) places: &'w Places<'m>,
    pub(super) liveness: &'w mut BTreeMap<(usize, usize), Rc<Liveness>>,
    pub(super) settings: Settings,
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
                if let Some(span) = (self.places.spans)(&place.file, place.line, place.column) {
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
                let result = if self.steps > MOST_STEPS || self.locs as usize > MOST_PLACES {
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

    /// Makes a register a constant, by cases.
    pub(super) fn pinned(
        &mut self,
        state: &mut State,
        operand: &Operand,
        what: &str,
    ) -> Run<Result<i64, Flow>> {
        let e = self.word(state, operand)?;
        if let Expr::Const(value) = e {
            return Ok(Ok(value));
        }
        let Some(values) = possible(&e, &state.known) else {
            return unsupported(
                format!("{what} that is not known before the program runs"),
                "use an index with a bounds check, or fewer different objects",
            );
        };
        let Operand::Reg(reg) = operand else {
            return unsupported(what.to_owned(), SMALLER);
        };
        let span = self.span(state);
        let start = self.here;
        let mut forks = Vec::new();
        for value in values {
            let test =
                LocalExpr::binary(palisade_program::BinOp::Eq, e.clone(), Expr::Const(value));
            if decided(&test, &state.known) == Some(false) {
                continue;
            }
            forks.extend(self.fork(state, start, test.clone(), span, |_, state| {
                refine(&test, true, &mut state.known);
                state.settle();
                state.set(*reg, Value::Word(Expr::Const(value)));
                Ok(Flow::Next)
            })?);
        }
        Ok(Err(Flow::Fork(forks)))
    }

    /// The value of an operand.
    pub(super) fn value(&mut self, state: &State, operand: &Operand, ty: &Type) -> Run<Value> {
        match operand {
            Operand::Reg(reg) => Ok(state
                .top()
                .registers
                .get(reg)
                .cloned()
                .unwrap_or(Value::Undefined)),
            Operand::Const(constant) => self.constant(constant, ty),
        }
    }

    fn constant(&mut self, constant: &Const, ty: &Type) -> Run<Value> {
        let word = |value| Ok(Value::Word(Expr::Const(value)));
        match constant {
            Const::Undef => Ok(Value::Undefined),
            Const::Int(value) => match ty.bits() {
                Some(bits) if bits <= 64 => word(arith::canonical(*value, bits)),
                Some(_) | None => unsupported("an integer of more than 64 bits", SMALLER),
            },
            Const::Zero => match ty {
                Type::Int(_) | Type::Pointer | Type::Other(..) => word(0),
                Type::Struct(fields, _) => {
                    let parts = fields.iter().map(|ty| self.constant(constant, ty));
                    Ok(Value::Parts(parts.collect::<Run<_>>()?))
                }
                Type::Array(n, of) => {
                    let part = self.constant(constant, of)?;
                    Ok(Value::Parts(vec![part; *n as usize]))
                }
                Type::Void => Ok(Value::Undefined),
            },
            Const::Symbol(_) | Const::Moved(..) => {
                let address = self.world.constant_address(constant);
                match address {
                    Ok(address) => word(address),
                    Err(words) => unsupported(words, SMALLER),
                }
            }
            Const::Parts(parts) => {
                let parts = parts.iter().map(|(ty, part)| self.constant(part, ty));
                Ok(Value::Parts(parts.collect::<Run<_>>()?))
            }
            Const::Bytes(_) => unsupported("an array as a value", SMALLER),
            Const::Unknown(text) => unsupported(format!("the constant `{text}`"), SMALLER),
        }
    }

    /// The number that an operand is.
    pub(super) fn word(&mut self, state: &State, operand: &Operand) -> Run<LocalExpr> {
        // The width of constants does not matter for what is kept in 64 bits.
        match self.value(state, operand, &Type::Int(64))? {
            Value::Word(e) => Ok(e),
            Value::Undefined => Err(Trouble::Wrong(AssertKind::Language(
                "uninitialised memory is used".to_owned(),
            ))),
            Value::Parts(_) => unsupported("a struct in place of a number", SMALLER),
        }
    }

    /// The number of an operand of this width.
    pub(super) fn word_of(
        &mut self,
        state: &State,
        operand: &Operand,
        bits: u32,
    ) -> Run<LocalExpr> {
        if let Operand::Const(Const::Int(value)) = operand
            && bits <= 64
        {
            return Ok(Expr::Const(arith::canonical(*value, bits)));
        }
        self.word(state, operand)
    }

    /// Keeps a result; a large one gets a local of its own, and so does one with few values.
    pub(super) fn keep(&mut self, state: &mut State, dst: u32, e: LocalExpr) {
        let e = self.small(state, e);
        state.set(dst, Value::Word(e));
    }

    pub(super) fn small(&mut self, state: &mut State, e: LocalExpr) -> LocalExpr {
        if matches!(e, Expr::Const(_) | Expr::Atom(_)) {
            return e;
        }
        if let Some(values) = possible(&e, &state.known)
            && values.len() == 1
            && let Some(value) = values.first()
        {
            return Expr::Const(*value);
        }
        let (lo, hi) = range_of(&e, &state.known);
        let few = (2..64).contains(&(hi.saturating_sub(lo))) && possible_without_range(&e, state);
        if !few && nodes(&e) <= MOST_NODES {
            return e;
        }
        self.in_local(state, e)
    }

    /// A local with this value.
    pub(super) fn in_local(&mut self, state: &mut State, e: LocalExpr) -> LocalExpr {
        let values = values_of(&e, &state.known);
        self.drop_dead(state);
        let dst = state.fresh(&[&e]);
        let span = self.span(state);
        self.emit(Step::Assign { dst, value: e }, span);
        state.known.insert(dst, values);
        self.use_local(dst)
    }

    fn instruction(&mut self, state: &mut State, inst: &'m Inst) -> Run<Flow> {
        match inst {
            Inst::Alloca { dst, size } => {
                let (path, thread) = (state.top().path, self.thread);
                let span = self.span(state);
                let object = self
                    .world
                    .object(Key::Stack(thread, path, *dst), *size, span);
                if state.prelude || !self.world.is_shared(object) {
                    state.memory.insert(object, Rc::default());
                }
                state.set(*dst, Value::Word(Expr::Const(World::address(object))));
            }
            Inst::Load {
                dst,
                ty,
                from,
                order,
                defined,
            } => {
                let pointer = self.word(state, from)?;
                if let Some(value) = self.spread_load(state, &pointer, ty, *order) {
                    state.set(*dst, value);
                    return Ok(Flow::Next);
                }
                let address = match self.pinned(state, from, "a pointer")? {
                    Ok(address) => address,
                    Err(flow) => return Ok(flow),
                };
                let value = self.load(state, address, ty, *order, *defined)?;
                state.set(*dst, value);
            }
            Inst::Store {
                ty,
                value,
                to,
                order,
            } => {
                let pointer = self.word(state, to)?;
                let value = self.value(state, value, ty)?;
                if self.spread_store(state, &pointer, ty, &value, *order)? {
                    return Ok(Flow::Next);
                }
                let address = match self.pinned(state, to, "a pointer")? {
                    Ok(address) => address,
                    Err(flow) => return Ok(flow),
                };
                self.store(state, address, ty, value, *order)?;
            }
            Inst::Address {
                dst,
                base,
                offset,
                scaled,
            } => {
                let mut e = self.word(state, base)?;
                for (ty, index, by) in scaled {
                    let bits = ty.bits().unwrap_or(64);
                    let index = self.word_of(state, index, bits)?;
                    let index = self.small(state, index);
                    let known = &state.known;
                    let ranges = |e: &LocalExpr| range_of(e, known);
                    let signed = arith::cast(super::ir::Cast::SignExtend, bits, 64, index, &ranges);
                    let moved = signed.and_then(|index| {
                        let by = Expr::Const(*by);
                        arith::binary(super::ir::Binary::Mul, 64, index, by, &ranges)
                    });
                    let sum = moved.and_then(|by| {
                        arith::binary(super::ir::Binary::Add, 64, e.clone(), by, &ranges)
                    });
                    e = sum.or_else(|words| unsupported(words, SMALLER))?;
                }
                let known = &state.known;
                let ranges = |e: &LocalExpr| range_of(e, known);
                let e = arith::binary(super::ir::Binary::Add, 64, e, Expr::Const(*offset), &ranges);
                let e = e.or_else(|words| unsupported(words, SMALLER))?;
                self.keep(state, *dst, e);
            }
            Inst::Binary {
                dst,
                op,
                bits,
                left,
                right,
            } => {
                let a = self.word_of(state, left, *bits)?;
                let b = self.word_of(state, right, *bits)?;
                let known = &state.known;
                let ranges = |e: &LocalExpr| range_of(e, known);
                let e = arith::binary(*op, *bits, a, b, &ranges);
                let e = e.or_else(|words| unsupported(words, SMALLER))?;
                self.keep(state, *dst, e);
            }
            Inst::Compare {
                dst,
                predicate,
                bits,
                left,
                right,
            } => {
                let a = self.word_of(state, left, *bits)?;
                let b = self.word_of(state, right, *bits)?;
                let known = &state.known;
                let ranges = |e: &LocalExpr| range_of(e, known);
                let e = arith::compare(*predicate, *bits, a, b, &ranges);
                let e = e.or_else(|words| unsupported(words, SMALLER))?;
                let e = match decided(&e, &state.known) {
                    Some(is) => Expr::Const(i64::from(is)),
                    None => e,
                };
                self.keep(state, *dst, e);
            }
            Inst::Cast {
                dst,
                kind,
                from,
                to,
                value,
            } => {
                let e = self.word_of(state, value, *from)?;
                let known = &state.known;
                let ranges = |e: &LocalExpr| range_of(e, known);
                let e = arith::cast(*kind, *from, *to, e, &ranges);
                let e = e.or_else(|words| unsupported(words, SMALLER))?;
                self.keep(state, *dst, e);
            }
            Inst::Select {
                dst,
                ty,
                test,
                yes,
                no,
            } => {
                let test = self.word_of(state, test, 1)?;
                let yes = self.value(state, yes, ty)?;
                let no = self.value(state, no, ty)?;
                let value = match (decided(&test, &state.known), yes, no) {
                    (Some(true), yes, _) => yes,
                    (Some(false), _, no) => no,
                    (None, Value::Word(yes), Value::Word(no)) => {
                        let e = Expr::Cond(Box::new(test), Box::new(yes), Box::new(no));
                        Value::Word(self.small(state, e))
                    }
                    (None, yes, no) if yes == no => yes,
                    (None, ..) => return unsupported("a choice between structs", SMALLER),
                };
                state.set(*dst, value);
            }
            Inst::Extract { dst, ty, of, path } => {
                let mut value = self.value(state, of, ty)?;
                for index in path {
                    value = match value {
                        Value::Parts(mut parts) if *index < parts.len() => {
                            parts.swap_remove(*index)
                        }
                        Value::Undefined => Value::Undefined,
                        Value::Parts(_) | Value::Word(_) => {
                            return unsupported("a part of something else", SMALLER);
                        }
                    };
                }
                state.set(*dst, value);
            }
            Inst::Insert {
                dst,
                ty,
                of,
                part,
                path,
            } => {
                let of = self.value(state, of, ty)?;
                let part = self.value(state, &part.1, &part.0)?;
                let value = inserted(of, ty, part, path).ok_or_else(|| {
                    Trouble::Unsupported("a part of something else".into(), SMALLER)
                })?;
                state.set(*dst, value);
            }
            Inst::Copy { dst, ty, value } => {
                let value = match self.value(state, value, ty)? {
                    // `freeze`: any value will do, and the same one each time.
                    Value::Undefined if ty.bits().is_some() => Value::Word(Expr::Const(0)),
                    value => value,
                };
                state.set(*dst, value);
            }
            Inst::CompareExchange { at, .. } | Inst::Change { at, .. } => {
                let address = match self.pinned(state, at, "a pointer")? {
                    Ok(address) => address,
                    Err(flow) => return Ok(flow),
                };
                self.read_modify_write(state, address, inst)?;
            }
            Inst::Fence(order, single_thread) => {
                if !single_thread {
                    self.fence(state, *order);
                }
            }
            Inst::Call { .. } => return self.call(state, inst),
            Inst::Phi { .. } => return unsupported("a value that depends on the way", SMALLER),
            Inst::Declare { at, variable } => self.note_name(state, *at, *variable),
            Inst::Unknown { text, .. } => {
                return unsupported(format!("the instruction {text}"), SMALLER);
            }
        }
        Ok(Flow::Next)
    }

    /// Remembers what people call the memory at a register.
    fn note_name(&mut self, state: &State, at: u32, variable: u32) {
        let module = state.top().function.0;
        let debug = &self.places.debug[module];
        let Some((name, ty, place)) = debug.variable(variable) else {
            return;
        };
        if (self.places.spans)(&place.file, place.line.max(1), 1).is_none() {
            return;
        }
        let Some(Value::Word(Expr::Const(address))) = state.top().registers.get(&at) else {
            return;
        };
        if let Some((object, 0)) = self.world.at(*address) {
            let slot = &mut self.world.objects[object].name;
            if slot.is_none() {
                *slot = Some((name, Some((module, ty))));
            }
        }
    }

    /// Names what a pointer in a named object points to.
    pub(super) fn name_targets(&mut self, object: ObjectId, offset: u64, address: i64) {
        let Some((target, 0)) = self.world.at(address) else {
            return;
        };
        if offset != 0 || self.world.objects[target].name.is_some() {
            return;
        }
        let Some((name, Some((module, ty)))) = self.world.objects[object].name.clone() else {
            return;
        };
        let debug = &self.places.debug[module];
        if let Some(pointee) = debug.pointee(ty)
            && debug.size(pointee) == self.world.objects[target].size
        {
            self.world.objects[target].name = Some((name, Some((module, pointee))));
        }
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
            None => 0,
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
            return Ok(Flow::End);
        };
        let inst = &self.function(caller).blocks[caller.block].insts[caller.inst].0;
        if let Inst::Call { dst: Some(dst), .. } = inst {
            state.set(*dst, value);
        }
        state.top_mut().inst += 1;
        Ok(Flow::Next)
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
        let error = match address {
            0 => MemoryError::Null,
            FREED => MemoryError::UseAfterFree,
            _ => MemoryError::Wild,
        };
        Trouble::Wrong(AssertKind::Memory(error))
    }
}

/// Whether the values of an expression are few because of its form, not of its locals.
fn possible_without_range(e: &LocalExpr, state: &State) -> bool {
    let locals = super::values::locals_of(e);
    locals.iter().any(|id| {
        state
            .known
            .get(id)
            .is_none_or(|values| values.list().is_none())
    })
}

fn nodes(e: &LocalExpr) -> usize {
    match e {
        Expr::Const(_) | Expr::Atom(_) => 1,
        Expr::Unary(_, a) => 1 + nodes(a),
        Expr::Binary(_, a, b) => 1 + nodes(a) + nodes(b),
        Expr::Cond(c, a, b) => 1 + nodes(c) + nodes(a) + nodes(b),
    }
}

fn inserted(of: Value, ty: &Type, part: Value, path: &[usize]) -> Option<Value> {
    let [index, rest @ ..] = path else {
        return Some(part);
    };
    let count = match ty {
        Type::Struct(fields, _) => fields.len(),
        Type::Array(n, _) => *n as usize,
        Type::Void | Type::Int(_) | Type::Pointer | Type::Other(..) => return None,
    };
    let mut parts = match of {
        Value::Parts(parts) => parts,
        Value::Undefined => vec![Value::Undefined; count],
        Value::Word(_) => return None,
    };
    let (_, inner) = ty.part(*index as u64)?;
    let slot = parts.get_mut(*index)?;
    *slot = inserted(slot.clone(), inner, part, rest)?;
    Some(Value::Parts(parts))
}
