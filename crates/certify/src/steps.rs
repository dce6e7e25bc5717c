//! The steps of a program under a memory model, derived here from the Program
//! alone: the third account of the models beside the concrete machine and the
//! reductions, and the one that `holds` rests on.
//!
//! A step of one thread is run *symbolically*: from the values that the control
//! fixes and variables for all others to a set of [`Effect`]s, each with the
//! condition under which it happens (its guard), the parallel assignment it
//! performs on state variables, the new location and the new shape of the
//! thread's buffers. What must not happen on the way (a failing assertion, an
//! index out of range) is a [`Fault`] with its condition.
//!
//! | step | SC | TSO, PSO |
//! |---|---|---|
//! | load | memory | newest own buffered store to the cell, else memory |
//! | store | memory | one more slot; with abstract buffers, if there is no room, one store less is known exactly (`buffer_summary.rs`) |
//! | fence | nothing (RMA as well) | only with empty own buffers |
//! | fence(ss) | nothing | TSO nothing; PSO a fence in the shape |
//! | atomic block | all runs from entry to exit, on memory | the same, only with empty own buffers |
//! | atomic block that only reads | the same | all runs from entry to exit, with loads as above |
//! | put, get, flush | at once | unsupported; RMA: `remote.rs` |
//!
//! The memory system's own steps under TSO and PSO are departures ([`departed`]).
//!
//! A computed array index is split into cases. A body with loops is followed as
//! far as its symbolic states differ; when they do not come to an end within
//! [`MAX_FRAMES`] the step is unsupported. Front ends promise that indices are
//! in range ([`palisade_program::Place`]); the promise is not trusted.

mod remote;

use crate::buffer::{Buffer, Departure, Joining};
use crate::buffer_summary::{BufferSummary, Keep, SummaryInvariant};
use crate::expression::{formula_of, term_of};
use crate::refusal::Reason;
use crate::remote::Processes;
use crate::state::{StateVar, fresh};
use palisade_logic::{Formula, Overflow, Substitution, Term, Var};
use palisade_program::{
    Atomic, Cell, Cfg, Domain, EdgeId, FenceKind, Instance, LocId, LocalAtom, LocalExpr, LocalId,
    Model, Place, Program, Span, Step,
};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Symbolic states that one step may pass through.
pub(crate) const MAX_FRAMES: usize = 20_000;

/// Conjuncts of a guard inside an atomic block: a loop whose condition is data
/// adds one in every round.
const MAX_GUARD: usize = 100;

/// Domains up to this size are enumerated where the chosen value is explicit.
pub(crate) const MAX_ENUMERATED: i128 = 256;

/// One way in which a step can happen.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    /// When it happens, over the state before.
    pub(crate) guard: Formula,
    /// What it assigns, over the state before and fresh variables.
    pub(crate) updates: Substitution,
    /// The state variables that it assigns.
    pub(crate) written: Vec<Var>,
    /// The thread's new location; `None` for steps of the memory system.
    pub(crate) to: Option<LocId>,
    /// The thread's new buffers.
    pub(crate) buffer: Buffer,
    /// Values that join sets: the variable of the set's elements, and the value.
    pub(crate) adds: Vec<(Var, Term)>,
    /// Elements that were taken from sets: the variable of the set's elements, and the
    /// variable that stands for the one taken.
    pub(crate) picks: Vec<(Var, Var)>,
}

/// What must not happen.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// When it happens, over the state before.
    pub(crate) condition: Formula,
    /// What it is.
    pub(crate) reason: Reason,
    /// Where it stands.
    pub(crate) span: Span,
}

/// Everything that one step can do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) effects: Vec<Effect>,
    pub(crate) faults: Vec<Fault>,
}

/// A step that cannot be run symbolically.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) reason: Reason,
    pub(crate) span: Span,
}

/// What a control fixes and which variables it could fix.
pub(crate) trait Explicit {
    /// The value of an explicit variable, if the control gives one.
    fn value(&self, var: Var) -> Option<i64>;
    /// Whether the variable is explicit.
    fn contains(&self, var: Var) -> bool;
}

/// The thread whose step is run.
pub(crate) struct Runner<'a> {
    pub(crate) program: &'a Program,
    pub(crate) model: Model,
    pub(crate) beyond: Option<&'a BufferSummary>,
    pub(crate) thread: u32,
    pub(crate) instance: Instance,
    /// Whether `self` is not known ([`StateVar::Number`]).
    pub(crate) numbered: bool,
    pub(crate) explicit: &'a dyn Explicit,
    pub(crate) processes: Processes<'a>,
    faults: Vec<Fault>,
    inputs: u32,
    frames: usize,
}

/// A symbolic state on the way through a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Frame {
    guard: Formula,
    values: BTreeMap<Var, Term>,
    buffer: Buffer,
    adds: Vec<(Var, Term)>,
}

impl Frame {
    /// The frame restricted by `condition`; `None` when that is impossible by form.
    fn assuming(mut self, condition: &Formula) -> Option<Self> {
        self.guard = self.guard.and(condition);
        (self.guard != Formula::False).then_some(self)
    }
}

impl<'a> Runner<'a> {
    pub(crate) fn new(
        program: &'a Program,
        (model, beyond): (Model, Option<&'a BufferSummary>),
        (thread, instance, numbered): (u32, Instance, bool),
        explicit: &'a dyn Explicit,
        processes: Processes<'a>,
    ) -> Self {
        Self {
            program,
            model,
            beyond,
            thread,
            instance,
            numbered,
            explicit,
            processes,
            faults: Vec::new(),
            inputs: 0,
            frames: 0,
        }
    }

    /// Runs edge number `edge` of `cfg`, and on to the next stop, with the thread's
    /// buffers as in `buffer`.
    pub(crate) fn run(
        mut self,
        cfg: &Cfg,
        edge: usize,
        stops: &[bool],
        buffer: &Buffer,
    ) -> Result<Outcome, Trouble> {
        let start = Frame {
            guard: Formula::True,
            values: BTreeMap::new(),
            buffer: buffer.clone(),
            adds: Vec::new(),
        };
        let mut effects = Vec::new();
        let mut open = vec![(EdgeId::from(edge), start)];
        while let Some((id, frame)) = open.pop() {
            let edge = cfg.edge(id);
            self.count_frame(&frame, edge.span)?;
            let frames = match &edge.step {
                Step::Atomic(atomic) if !atomic.drains() => {
                    self.block(frame, atomic, edge.span, Memory::of(self.model))?
                }
                Step::Atomic(atomic) if frame.buffer.has_no_store() => {
                    self.block(frame, atomic, edge.span, Memory::Direct)?
                }
                Step::Atomic(_) => Vec::new(),
                Step::Put { remote, local } if self.model == Model::Rma => {
                    self.issue(frame, id, (remote, local), edge.span)?
                }
                Step::Get { local, remote } if self.model == Model::Rma => {
                    self.issue(frame, id, (local, remote), edge.span)?
                }
                Step::RemoteAtomic(atomic) if self.model == Model::Rma => {
                    self.issue_atomic(frame, id, atomic, edge.span)?
                }
                step @ (Step::Skip
                | Step::Assume(_)
                | Step::Assign { .. }
                | Step::Havoc { .. }
                | Step::Load { .. }
                | Step::Store { .. }
                | Step::Fence(_)
                | Step::Assert { .. }
                | Step::Put { .. }
                | Step::Get { .. }
                | Step::RemoteAtomic(_)
                | Step::Flush(_)) => {
                    self.step(frame, step, edge.span, Memory::of(self.model), false)?
                }
            };
            for frame in frames {
                if stops[edge.to.index()] {
                    effects.push(Effect {
                        guard: frame.guard,
                        written: frame.values.keys().copied().collect(),
                        updates: frame.values.into_iter().collect(),
                        to: Some(edge.to),
                        buffer: frame.buffer,
                        adds: frame.adds,
                        picks: Vec::new(),
                    });
                } else {
                    open.extend(cfg.outgoing(edge.to).map(|(next, _)| (next, frame.clone())));
                }
            }
        }
        Ok(Outcome {
            effects,
            faults: self.faults,
        })
    }

    /// All runs of an atomic block from its entry to its exit. Runs that meet
    /// in the same symbolic state are followed once.
    fn block(
        &mut self,
        start: Frame,
        atomic: &Atomic,
        span: Span,
        memory: Memory,
    ) -> Result<Vec<Frame>, Trouble> {
        let body = &atomic.body;
        let cyclic = body.has_cycle();
        let mut done = Vec::new();
        let mut seen = FxHashSet::default();
        let mut open = vec![(body.entry, start)];
        while let Some((loc, frame)) = open.pop() {
            if !seen.insert((loc, frame.clone())) {
                continue;
            }
            self.count_frame(&frame, span)?;
            if loc == body.exit {
                done.push(frame);
                continue;
            }
            for (_, edge) in body.outgoing(loc) {
                if !atomic.drains() && matches!(edge.step, Step::Store { .. }) {
                    return Err(unsupported("a store in a block that only reads", edge.span));
                }
                let after = self.step(frame.clone(), &edge.step, edge.span, memory, cyclic)?;
                open.extend(after.into_iter().map(|frame| (edge.to, frame)));
            }
        }
        Ok(done)
    }

    fn count_frame(&mut self, frame: &Frame, span: Span) -> Result<(), Trouble> {
        self.frames += 1;
        if self.frames <= MAX_FRAMES && frame.guard.conjuncts().len() <= MAX_GUARD {
            return Ok(());
        }
        let what = "an atomic block with too many runs, or with a loop over data";
        Err(unsupported(what, span))
    }

    /// One step that is no atomic block. `enumerate` asks to list the values
    /// of small domains.
    fn step(
        &mut self,
        frame: Frame,
        step: &Step,
        span: Span,
        memory: Memory,
        enumerate: bool,
    ) -> Result<Vec<Frame>, Trouble> {
        match step {
            Step::Skip | Step::Fence(FenceKind::Candidate) => Ok(vec![frame]),
            Step::Assume(e) => {
                let condition = self.formula(&frame, e, span)?;
                Ok(frame.assuming(&condition).into_iter().collect())
            }
            Step::Assign { dst, value } => {
                let value = self.term(&frame, value, span)?;
                Ok(vec![self.with_local(frame, *dst, value, span)?])
            }
            Step::Havoc { dst, domain } => self.havoc(frame, *dst, *domain, span, enumerate),
            Step::Load { dst, src } => {
                let mut after = Vec::new();
                for (frame, cell) in self.cells(frame, src, span)? {
                    let value = self.load(&frame, cell, span, memory)?;
                    after.push(self.with_local(frame, *dst, value, span)?);
                }
                Ok(after)
            }
            Step::Store { dst, value } => {
                let value = self.term(&frame, value, span)?;
                let mut after = Vec::new();
                for (frame, cell) in self.cells(frame, dst, span)? {
                    after.push(self.store(frame, cell, value.clone(), span, memory)?);
                }
                Ok(after)
            }
            Step::Fence(FenceKind::Full) => {
                let passes = frame.buffer.has_no_store();
                Ok(passes.then_some(frame).into_iter().collect())
            }
            Step::Fence(FenceKind::StoreStore) => {
                let buffer = frame.buffer.with_fence(self.model);
                Ok(vec![Frame { buffer, ..frame }])
            }
            Step::Fence(FenceKind::Ordered(_)) => {
                Err(unsupported("a fence of C11 under this model", span))
            }
            Step::Atomic(_) => Err(unsupported("an atomic block in an atomic block", span)),
            Step::Assert { cond, kind: _ } => {
                let condition = self.formula(&frame, cond, span)?;
                self.fault(&frame, &condition.negated(), Reason::Assertion, span);
                Ok(frame.assuming(&condition).into_iter().collect())
            }
            Step::Put { remote, local } => self.copy(frame, remote, local, span),
            Step::Get { local, remote } => self.copy(frame, local, remote, span),
            Step::Flush(target) if self.model == Model::Rma => self.flush(frame, target, span),
            Step::RemoteAtomic(atomic) => self.at_once(frame, atomic, span),
            Step::Flush(_) => self.only_sc(span).map(|()| vec![frame]),
        }
    }

    fn havoc(
        &mut self,
        frame: Frame,
        dst: LocalId,
        domain: Option<Domain>,
        span: Span,
        enumerate: bool,
    ) -> Result<Vec<Frame>, Trouble> {
        let explicit = self.explicit.contains(self.local(dst, span)?);
        let Some(domain) = domain else {
            let input = self.input();
            return Ok(vec![self.with_local(frame, dst, input, span)?]);
        };
        let size = i128::from(domain.hi) - i128::from(domain.lo) + 1;
        if (explicit || enumerate) && size <= MAX_ENUMERATED {
            return (domain.lo..=domain.hi)
                .map(|v| self.with_local(frame.clone(), dst, Term::constant(v), span))
                .collect();
        }
        let input = self.input();
        let inside = within(&input, domain).map_err(|e| overflow(e, span))?;
        let frame = self.with_local(frame, dst, input, span)?;
        Ok(frame.assuming(&inside).into_iter().collect())
    }

    fn input(&mut self) -> Term {
        self.inputs += 1;
        fresh(self.inputs)
    }

    /// The cells that a place may name, each with the frame in which it does.
    fn cells(
        &mut self,
        frame: Frame,
        place: &Place,
        span: Span,
    ) -> Result<Vec<(Frame, Cell)>, Trouble> {
        let count = self.program.global(place.var).cell_count() as u32;
        let Some(index) = &place.index else {
            return Ok(vec![(frame, self.program.cell(place.var, 0))]);
        };
        let index = self.term(&frame, index, span)?;
        let mut cases = Vec::new();
        let mut outside = Vec::new();
        for i in 0..count {
            let here = Formula::eq(&index, &Term::constant(i64::from(i)));
            let here = here.map_err(|e| overflow(e, span))?;
            if here == Formula::False {
                continue;
            }
            outside.push(here.negated());
            if let Some(frame) = frame.clone().assuming(&here) {
                cases.push((frame, self.program.cell(place.var, i)));
            }
        }
        self.fault(&frame, &Formula::all(outside), Reason::Index, span);
        Ok(cases)
    }

    fn load(&self, frame: &Frame, cell: Cell, span: Span, memory: Memory) -> Result<Term, Trouble> {
        let buffered = match memory {
            Memory::Direct => None,
            Memory::Buffered => {
                let keep = self.beyond.map_or(Keep::default(), |b| b.keep);
                frame.buffer.newest(self.model, self.thread, cell, keep)
            }
        };
        let source = number(buffered.unwrap_or(StateVar::Cell(cell)), span)?;
        Ok(self.value(frame, source))
    }

    fn store(
        &mut self,
        mut frame: Frame,
        cell: Cell,
        value: Term,
        span: Span,
        memory: Memory,
    ) -> Result<Frame, Trouble> {
        if memory == Memory::Direct {
            if self.model == Model::Rma {
                let own = (self.thread, &frame.buffer);
                for element in self.processes.listening(self.program, own, cell, span)? {
                    frame.adds.push((element, value.clone()));
                }
            }
            frame
                .values
                .insert(number(StateVar::Cell(cell), span)?, value);
            return Ok(frame);
        }
        let (model, thread) = (self.model, self.thread);
        if let Some(beyond) = self.beyond
            && beyond.keep == Keep::Oldest
            && frame.buffer.is_beyond(model, thread, cell, beyond)
        {
            let held = frame.buffer.join(cell);
            return self.join(frame, (cell, held), value, span);
        }
        let (buffer, slot) = frame.buffer.with_store(model, thread, cell);
        frame.buffer = buffer;
        frame.values.insert(number(slot, span)?, value);
        match self.beyond {
            Some(beyond) if beyond.keep == Keep::Newest => {
                match frame.buffer.too_old(model, thread, cell, beyond) {
                    Some(joining) => self.forget(frame, joining, span),
                    None => Ok(frame),
                }
            }
            Some(_) | None => Ok(frame),
        }
    }

    /// The oldest of the exact stores is not known exactly any more.
    fn forget(&mut self, frame: Frame, joining: Joining, span: Span) -> Result<Frame, Trouble> {
        let value = self.value(&frame, number(joining.slot, span)?);
        let mut frame = self.join(frame, (joining.cell, joining.held), value, span)?;
        frame.buffer = joining.after;
        let mut vacated = joining.slot;
        for (to, from) in joining.moves {
            let value = self.value(&frame, number(from, span)?);
            frame.values.insert(number(to, span)?, value);
            vacated = from;
        }
        frame.values.remove(&number(vacated, span)?);
        Ok(frame)
    }

    /// A store of `value` is now one of `many`; `held` tells whether there were
    /// others to its cell. The claim about them must be true of it.
    fn join(
        &mut self,
        mut frame: Frame,
        (cell, held): (Cell, bool),
        value: Term,
        span: Span,
    ) -> Result<Frame, Trouble> {
        let thread = self.thread;
        let last = number(StateVar::Last { thread, cell }, span)?;
        let claim = self
            .beyond
            .map_or(&SummaryInvariant::Any, |b| b.claim(thread, cell));
        let broken = match claim {
            SummaryInvariant::Any => Formula::False,
            SummaryInvariant::Among(values) => among(&value, values)
                .map_err(|e| overflow(e, span))?
                .negated(),
            SummaryInvariant::Rising if held => {
                let before = self.value(&frame, last);
                Formula::lt(&value, &before).map_err(|e| overflow(e, span))?
            }
            SummaryInvariant::Rising => {
                let low = number(StateVar::Low { thread, cell }, span)?;
                frame.values.insert(low, value.clone());
                Formula::False
            }
        };
        self.fault(&frame, &broken, Reason::SummaryInvariant, span);
        frame.values.insert(last, value);
        Ok(frame)
    }

    fn fault(&mut self, frame: &Frame, condition: &Formula, reason: Reason, span: Span) {
        let condition = frame.guard.and(condition);
        if condition != Formula::False {
            self.faults.push(Fault {
                condition,
                reason,
                span,
            });
        }
    }

    fn local(&self, local: LocalId, span: Span) -> Result<Var, Trouble> {
        let thread = self.thread;
        number(StateVar::Local { thread, local }, span)
    }

    fn with_local(
        &self,
        mut frame: Frame,
        local: LocalId,
        value: Term,
        span: Span,
    ) -> Result<Frame, Trouble> {
        frame.values.insert(self.local(local, span)?, value);
        Ok(frame)
    }

    /// The value of a state variable: as written on the way, else as the control
    /// fixes it, else the variable itself.
    fn value(&self, frame: &Frame, var: Var) -> Term {
        frame
            .values
            .get(&var)
            .cloned()
            .unwrap_or_else(|| before(self.explicit, var))
    }

    fn atom(&self, frame: &Frame, atom: LocalAtom, span: Span) -> Result<Term, Trouble> {
        match atom {
            LocalAtom::SelfId if self.numbered => {
                let thread = self.thread;
                let var = StateVar::Number { thread }.var();
                let var = var.ok_or_else(|| unsupported("so large a program", span))?;
                Ok(self.value(frame, var))
            }
            LocalAtom::SelfId => Ok(Term::constant(i64::from(self.instance.copy))),
            LocalAtom::Local(local) => {
                let var = self.local(local, span)?;
                Ok(self.value(frame, var))
            }
        }
    }

    fn term(&self, frame: &Frame, e: &LocalExpr, span: Span) -> Result<Term, Trouble> {
        term_of(e, span, &mut |a| self.atom(frame, *a, span))
    }

    fn formula(&self, frame: &Frame, e: &LocalExpr, span: Span) -> Result<Formula, Trouble> {
        formula_of(e, span, &mut |a| self.atom(frame, *a, span))
    }
}

/// Whether loads and stores go through the thread's buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Memory {
    Direct,
    Buffered,
}

impl Memory {
    fn of(model: Model) -> Self {
        match model {
            Model::Sc | Model::Rma | Model::Rc11 => Self::Direct,
            Model::Tso | Model::Pso => Self::Buffered,
        }
    }
}

/// The value of `var` before a step.
pub(crate) fn before(explicit: &dyn Explicit, var: Var) -> Term {
    explicit.value(var).map_or(Term::var(var), Term::constant)
}

/// The memory system moves a buffered store to memory: in one way, or, where only
/// a claim about its value is known, in one way for each value that is listed.
pub(crate) fn departed(
    departure: Departure,
    (thread, claim): (u32, &SummaryInvariant),
    explicit: &dyn Explicit,
    span: Span,
) -> Result<Vec<Effect>, Trouble> {
    let cell = departure.cell;
    let target = number(StateVar::Cell(cell), span)?;
    let known =
        |state_var| -> Result<Term, Trouble> { Ok(before(explicit, number(state_var, span)?)) };
    let mut guard = Formula::True;
    let mut updates = BTreeMap::new();
    for (to, from) in departure.moves {
        updates.insert(number(to, span)?, known(from)?);
    }
    let values = match (departure.slot, claim) {
        (Some(slot), _) => vec![known(slot)?],
        (None, SummaryInvariant::Any) => vec![fresh(1)],
        (None, SummaryInvariant::Among(values)) => {
            values.iter().map(|v| Term::constant(*v)).collect()
        }
        (None, SummaryInvariant::Rising) => {
            let low = StateVar::Low { thread, cell };
            let above = Formula::le(&known(low)?, &fresh(1));
            let below = Formula::le(&fresh(1), &known(StateVar::Last { thread, cell })?);
            guard = above.map_err(|e| overflow(e, span))?;
            guard = guard.and(&below.map_err(|e| overflow(e, span))?);
            // Those that stay are not below the one that leaves.
            updates.insert(number(low, span)?, fresh(1));
            vec![fresh(1)]
        }
    };
    let effect = |value: Term| {
        let mut updates = updates.clone();
        updates.insert(target, value);
        Effect {
            guard: guard.clone(),
            written: updates.keys().copied().collect(),
            updates: updates.into_iter().collect(),
            to: None,
            buffer: departure.after.clone(),
            adds: Vec::new(),
            picks: Vec::new(),
        }
    };
    Ok(values.into_iter().map(effect).collect())
}

/// `term` is one of `values`.
fn among(term: &Term, values: &[i64]) -> Result<Formula, Overflow> {
    let is = |v: &i64| Formula::eq(term, &Term::constant(*v));
    let all: Result<Vec<_>, _> = values.iter().map(is).collect();
    Ok(Formula::any(all?))
}

/// `lo <= term <= hi`.
pub(crate) fn within(term: &Term, domain: Domain) -> Result<Formula, Overflow> {
    let above = Formula::ge(term, &Term::constant(domain.lo))?;
    Ok(above.and(&Formula::le(term, &Term::constant(domain.hi))?))
}

pub(crate) fn number(state_var: StateVar, span: Span) -> Result<Var, Trouble> {
    state_var
        .var()
        .ok_or_else(|| unsupported("so large a program", span))
}

pub(crate) fn unsupported(what: &str, span: Span) -> Trouble {
    Trouble {
        reason: Reason::Unsupported(what.to_owned()),
        span,
    }
}

pub(crate) fn overflow(error: Overflow, span: Span) -> Trouble {
    unsupported(&error.to_string(), span)
}
