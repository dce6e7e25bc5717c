//! *Commands*: what an edge of the program does, as guarded parallel assignments
//! under SC. Executing an edge symbolically at given explicit values yields
//! *branches*; each has a guard over the data before the step and the data after
//! it as terms over the data before. Choices (paths through an atomic block,
//! elements of an array under a computed index, values of an explicit variable
//! that gets data) become several branches. Since the explicit values are
//! constants here, branches that they exclude never arise. A command may go on
//! over interior locations (`interior`): several edges as one.
//!
//! Variables of [`Role::Set`] are sets: a branch says what joins them, and which fresh
//! variables stand for elements that it takes.
//!
//! Executed under SC: fences do nothing, put and get are synchronous ([Baumann et al., VMCAI 2018],
//! section 2.2). Other models reach this file as reduced programs.

mod remote_atomic;
mod sets;

pub use sets::SetUpdate;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use palisade_logic::lower::{LowerError, formula_of, term_of};
use palisade_logic::substitute::Substitution;
use palisade_logic::{Formula, Term, Var};
use palisade_program::cfg::{Cfg, Edge, Place, Step};
use palisade_program::{Cell, EdgeId, Instance, LocId, LocalAtom, LocalExpr, LocalId, Role, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::interior::interior;
use crate::space::{Control, Explicit, Space};

/// Most steps executed for one command, over all its paths.
const MAX_STEPS: usize = 4_000;

/// Number of a branch in [`Commands`].
pub type BranchId = usize;

/// Why a command cannot be executed symbolically.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub struct Unsupported {
    /// What it is.
    pub what: String,
    /// Where it stands.
    pub span: Span,
}

impl From<LowerError> for Unsupported {
    fn from(error: LowerError) -> Self {
        Self {
            what: error.to_string(),
            span: error.span(),
        }
    }
}

/// A non-deterministic value on the way of a branch, for replay: either known,
/// or what the model says of a fresh variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Chosen {
    /// An explicit variable got this value.
    Value(i64),
    /// A data variable got whatever this variable is.
    Fresh(Var),
}

/// An edge that a branch goes over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// The edge.
    pub edge: EdgeId,
    /// Inside an atomic block: the edges of its body.
    pub path: Vec<EdgeId>,
    /// Non-deterministic values, in the order of the steps that choose.
    pub chosen: Vec<Chosen>,
}

/// How a branch ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// The thread is at this location.
    At(LocId),
    /// An assertion with this span has failed.
    Failed(Span),
}

/// One guarded parallel assignment.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The thread that acts.
    pub thread: usize,
    /// The edge that it starts with.
    pub edge: EdgeId,
    /// The edges that it goes over: that one, and interior ones after it.
    pub moves: Vec<Move>,
    /// Condition on the data before the step (with fresh variables for `*`).
    pub guard: Formula,
    /// New values of data variables, over the data before the step.
    pub updates: Substitution,
    /// The data variables that get new values, sorted.
    pub written: Vec<Var>,
    /// Data variables that are dead afterwards, sorted.
    pub forgotten: Vec<Var>,
    /// New values of explicit variables, by position.
    pub explicit: Vec<(usize, i64)>,
    /// What becomes of sets; each of them is among `written`.
    pub sets: Vec<SetUpdate>,
    /// Elements taken from sets: the set, and the fresh variable that stands for the
    /// element. All were taken before the branch changes the set.
    pub picks: Vec<(Var, Var)>,
    /// Where it ends.
    pub end: End,
}

/// Executes edges and remembers their branches.
#[derive(Debug)]
pub struct Commands<'s> {
    space: &'s Space<'s>,
    /// For each thread and location whether it is interior.
    interior: Vec<Vec<bool>>,
    /// For each thread and edge: positions of the explicit variables it reads.
    reads: Vec<Vec<Vec<usize>>>,
    memo: FxHashMap<(usize, EdgeId, Vec<i64>), Rc<[BranchId]>>,
    branches: Vec<Rc<Branch>>,
}

impl<'s> Commands<'s> {
    /// The commands of a space, one per edge.
    pub fn new(space: &'s Space<'s>) -> Self {
        let none = |t: &Instance| vec![false; space.program.template(t.template).cfg.loc_count()];
        Self::with_interior(space, space.threads.iter().map(none).collect())
    }

    /// The commands of a space; a command goes on over interior locations.
    pub fn compressed(space: &'s Space<'s>) -> Self {
        let of = |t: &Instance| interior(space.program, t.template);
        let interior = match &space.interior {
            Some(known) => known.clone(),
            None => space.threads.iter().map(of).collect(),
        };
        Self::with_interior(space, interior)
    }

    fn with_interior(space: &'s Space<'s>, interior: Vec<Vec<bool>>) -> Self {
        let reads = (0..space.threads.len()).map(|thread| {
            let cfg = &space.program.template(space.threads[thread].template).cfg;
            cfg.edges
                .iter()
                .map(|edge| explicit_reads(space, thread, cfg, edge, &interior[thread]))
                .collect()
        });
        Self {
            space,
            reads: reads.collect(),
            interior,
            memo: FxHashMap::default(),
            branches: Vec::new(),
        }
    }

    /// The branch `id`.
    pub fn branch(&self, id: BranchId) -> &Rc<Branch> {
        &self.branches[id]
    }

    /// All branches met so far.
    pub fn branches(&self) -> impl Iterator<Item = &Branch> {
        self.branches.iter().map(|branch| &**branch)
    }

    /// Positions of the explicit variables that an edge of `thread` reads.
    pub fn explicit_reads(&self, thread: usize, edge: EdgeId) -> &[usize] {
        &self.reads[thread][edge.index()]
    }

    /// Whether commands of `thread` go on when they get to `loc`.
    pub fn is_interior(&self, thread: usize, loc: LocId) -> bool {
        self.interior[thread][loc.index()]
    }

    /// The space.
    pub fn space(&self) -> &'s Space<'s> {
        self.space
    }

    /// The branches of `edge` of `thread` at `control`.
    pub fn execute(
        &mut self,
        control: &Control,
        thread: usize,
        edge: EdgeId,
    ) -> Result<Rc<[BranchId]>, Unsupported> {
        let reads = &self.reads[thread][edge.index()];
        let key = (
            thread,
            edge,
            reads.iter().map(|&p| control.values[p]).collect(),
        );
        if let Some(known) = self.memo.get(&key) {
            return Ok(Rc::clone(known));
        }
        let first = self.branches.len();
        let made =
            Executor::new(self.space, control, thread, edge, &self.interior[thread]).run()?;
        self.branches.extend(made.into_iter().map(Rc::new));
        let ids: Rc<[BranchId]> = (first..self.branches.len()).collect();
        self.memo.insert(key, Rc::clone(&ids));
        Ok(ids)
    }
}

/// Positions of the explicit variables that a command may read: the thread's
/// explicit locals in its expressions, explicit cells of the arrays it reads.
fn explicit_reads(
    space: &Space<'_>,
    thread: usize,
    cfg: &Cfg,
    edge: &Edge,
    interior: &[bool],
) -> Vec<usize> {
    let mut slots = Vec::new();
    let mut seen = BTreeSet::new();
    let mut stack = vec![edge];
    while let Some(edge) = stack.pop() {
        collect_reads(space, thread, &edge.step, &mut slots);
        if interior[edge.to.index()] && seen.insert(edge.to) {
            stack.extend(onward(cfg, edge.to).map(|(_, e)| e));
        }
    }
    let mut positions: Vec<usize> = slots
        .into_iter()
        .filter_map(|slot| space.slots[slot].explicit.as_ref().map(|e| e.position))
        .collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// The edges that leave a location: self-loops of the memory system stay behind.
fn onward(cfg: &Cfg, loc: LocId) -> impl Iterator<Item = (EdgeId, &Edge)> {
    cfg.outgoing(loc).filter(move |(_, e)| e.to != loc)
}

fn collect_reads(space: &Space<'_>, thread: usize, step: &Step, slots: &mut Vec<usize>) {
    step.for_each_expr(&mut |e| {
        e.for_each_atom(&mut |atom| {
            if let LocalAtom::Local(id) = atom {
                slots.push(space.local_slot(thread, *id));
            }
        });
    });
    let place = |place: &Place, slots: &mut Vec<usize>| {
        for index in 0..space.program.global(place.var).cell_count() {
            slots.push(space.cell_slot(space.program.cell(place.var, index as u32)));
        }
    };
    match step {
        Step::Load { src, .. } => place(src, slots),
        Step::Put { local: from, .. } | Step::Get { remote: from, .. } => place(from, slots),
        Step::RemoteAtomic(atomic) => atomic.places().for_each(|p| place(p, slots)),
        Step::Atomic(atomic) => {
            for edge in &atomic.body.edges {
                collect_reads(space, thread, &edge.step, slots);
            }
        }
        // A store to a set depends on whether the set is in use.
        Step::Store { dst, .. } => {
            if let Role::Set(flag) = space.program.global(dst.var).role {
                let flag = Place {
                    var: flag,
                    index: dst.index.clone(),
                    order: dst.order,
                };
                place(&flag, slots);
            }
        }
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
        Step::Fence(_) | Step::Assert { .. } | Step::Flush(_) => {}
    }
}

/// A partial run of an edge.
#[derive(Clone, Debug)]
struct Run {
    guard: Vec<Formula>,
    data: BTreeMap<usize, Term>,
    explicit: BTreeMap<usize, i64>,
    moves: Vec<Move>,
    failed: Option<Span>,
    sets: BTreeMap<usize, SetUpdate>,
    picks: Vec<(Var, Var)>,
}

/// All that decides how a run can go on.
type SymbolicState = (
    Formula,
    BTreeMap<usize, Term>,
    BTreeMap<usize, i64>,
    BTreeMap<usize, SetUpdate>,
);

impl Run {
    fn enter(&mut self, edge: EdgeId) {
        self.moves.push(Move {
            edge,
            path: Vec::new(),
            chosen: Vec::new(),
        });
    }

    fn symbolic_state(&self) -> SymbolicState {
        let guard = Formula::all(self.guard.iter().cloned());
        let (data, explicit) = (self.data.clone(), self.explicit.clone());
        (guard, data, explicit, self.sets.clone())
    }

    fn last(&mut self) -> &mut Move {
        self.moves
            .last_mut()
            .expect("a run enters an edge before it steps")
    }
}

struct Executor<'s> {
    space: &'s Space<'s>,
    control: &'s Control,
    thread: usize,
    edge: EdgeId,
    interior: &'s [bool],
    fresh: u32,
    steps: usize,
}

impl<'s> Executor<'s> {
    fn new(
        space: &'s Space<'s>,
        control: &'s Control,
        thread: usize,
        edge: EdgeId,
        interior: &'s [bool],
    ) -> Self {
        let fresh = space.first_fresh();
        Self {
            space,
            control,
            thread,
            edge,
            interior,
            fresh,
            steps: 0,
        }
    }

    fn run(mut self) -> Result<Vec<Branch>, Unsupported> {
        let template = self
            .space
            .program
            .template(self.space.threads[self.thread].template);
        let cfg = &template.cfg;
        let start = Run {
            guard: Vec::new(),
            data: BTreeMap::new(),
            explicit: BTreeMap::new(),
            moves: Vec::new(),
            failed: None,
            sets: BTreeMap::new(),
            picks: Vec::new(),
        };
        let mut done = Vec::new();
        let mut stack = vec![(self.edge, start)];
        while let Some((id, mut run)) = stack.pop() {
            let edge = cfg.edge(id);
            run.enter(id);
            let runs = if let Step::Atomic(atomic) = &edge.step {
                self.block(&atomic.body, run)?
            } else {
                self.step(&edge.step, edge.span, run)?
            };
            for run in runs {
                if run.failed.is_none() && self.interior[edge.to.index()] {
                    stack.extend(onward(cfg, edge.to).map(|(next, _)| (next, run.clone())));
                } else {
                    done.push(self.branch(run, edge.to));
                }
            }
            self.count(edge.span)?;
        }
        Ok(done)
    }

    /// Counts a step inside one command; too many are refused.
    fn count(&mut self, span: Span) -> Result<(), Unsupported> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let what = "an atomic block with too many paths or an unbounded loop".into();
            return Err(Unsupported { what, span });
        }
        Ok(())
    }

    fn branch(&self, mut run: Run, to: LocId) -> Branch {
        // A set that is not in use any more has a fixed content, as it had at first.
        for (&set, flag) in &self.space.sets {
            if run.explicit.get(flag) == Some(&0) {
                let emptied = SetUpdate {
                    var: Var(set as u32),
                    emptied: true,
                    added: vec![Term::constant(0)],
                };
                run.sets.insert(set, emptied);
            }
        }
        let mut updates = Substitution::default();
        let mut written = Vec::new();
        for (slot, term) in run.data {
            let var = Var(slot as u32);
            if term.as_var() != Some(var) {
                written.push(var);
                updates.set(var, term);
            }
        }
        written.extend(run.sets.values().map(|s| s.var));
        written.sort_unstable();
        let dead = self.space.dead_slots(self.thread, to);
        let mut explicit = run.explicit;
        let mut forgotten = Vec::new();
        for slot in dead {
            match self.space.slots[slot].explicit {
                Some(_) => drop(explicit.insert(slot, 0)),
                None => forgotten.push(Var(slot as u32)),
            }
        }
        forgotten.sort_unstable();
        let position = |slot: usize| self.space.slots[slot].explicit.as_ref().map(|e| e.position);
        Branch {
            thread: self.thread,
            edge: self.edge,
            moves: run.moves,
            guard: Formula::all(run.guard),
            updates,
            written,
            forgotten,
            explicit: explicit
                .into_iter()
                .filter_map(|(slot, v)| position(slot).map(|p| (p, v)))
                .collect(),
            sets: run.sets.into_values().collect(),
            picks: run.picks,
            end: run.failed.map_or(End::At(to), End::Failed),
        }
    }

    /// All runs of an atomic block from its entry to its exit; runs that cannot
    /// reach the exit do not happen, runs that fail an assertion do. A run that
    /// comes to a location in the same symbolic state as another adds nothing.
    fn block(&mut self, body: &Cfg, start: Run) -> Result<Vec<Run>, Unsupported> {
        let cyclic = body.has_cycle();
        let mut seen = FxHashSet::default();
        let mut done = Vec::new();
        let mut stack = vec![(body.entry, start)];
        while let Some((loc, run)) = stack.pop() {
            if loc == body.exit {
                done.push(run);
                continue;
            }
            if cyclic && !seen.insert((loc, run.symbolic_state())) {
                continue;
            }
            let mut next = Vec::new();
            for (id, edge) in body.outgoing(loc) {
                self.count(edge.span)?;
                for mut run in self.step(&edge.step, edge.span, run.clone())? {
                    run.last().path.push(id);
                    match run.failed {
                        Some(_) => done.push(run),
                        None => next.push((edge.to, run)),
                    }
                }
            }
            stack.extend(next.into_iter().rev());
        }
        Ok(done)
    }

    fn step(&mut self, step: &Step, span: Span, mut run: Run) -> Result<Vec<Run>, Unsupported> {
        match step {
            Step::Skip | Step::Fence(_) | Step::Flush(_) => Ok(vec![run]),
            Step::Assume(e) => {
                let condition = self.formula(&run, e, span)?;
                Ok(Self::assume(run, condition).into_iter().collect())
            }
            Step::Assert { cond, .. } => {
                let condition = self.formula(&run, cond, span)?;
                let mut failing = run.clone();
                failing.failed = Some(span);
                let failing = Self::assume(failing, condition.negated());
                Ok(Self::assume(run, condition)
                    .into_iter()
                    .chain(failing)
                    .collect())
            }
            Step::Assign { dst, value } => {
                let value = self.term(&run, value, span)?;
                self.assign(run, self.local(*dst), &value, span)
            }
            Step::Havoc { dst, domain } => {
                let slot = self.local(*dst);
                if let Some(explicit) = &self.space.slots[slot].explicit {
                    let values = explicit.any_of(*domain).ok_or_else(|| not_known(span))?;
                    let runs = values.into_iter().map(|v| {
                        let mut run = run.clone();
                        run.last().chosen.push(Chosen::Value(v));
                        run.explicit.insert(slot, v);
                        run
                    });
                    return Ok(runs.collect());
                }
                let fresh = Var(self.fresh);
                self.fresh += 1;
                let value = Term::var(fresh);
                if let Some(d) = domain {
                    let low = Formula::le(&Term::constant(d.lo), &value);
                    let high = Formula::le(&value, &Term::constant(d.hi));
                    run.guard.push(fits(low, span)?);
                    run.guard.push(fits(high, span)?);
                }
                run.last().chosen.push(Chosen::Fresh(fresh));
                run.data.insert(slot, value);
                Ok(vec![run])
            }
            Step::Load { dst, src } => self.copy(run, src, span, &|_| None, Some(*dst)),
            Step::Store { dst, value } => {
                let value = self.term(&run, value, span)?;
                let mut runs = Vec::new();
                for (run, cell) in self.cells(run, dst, span)? {
                    runs.extend(self.assign(run, self.space.cell_slot(cell), &value, span)?);
                }
                Ok(runs)
            }
            Step::Put {
                remote: to,
                local: from,
            }
            | Step::Get {
                local: to,
                remote: from,
            } => self.copy(run, from, span, &|run| self.cells(run, to, span).ok(), None),
            Step::RemoteAtomic(atomic) => self.remote_atomic(run, atomic, span),
            Step::Atomic(atomic) => {
                let what = "an atomic block inside an atomic block".to_owned();
                debug_assert!(false, "front ends flatten nested blocks: {:?}", atomic.kind);
                Err(Unsupported { what, span })
            }
        }
    }

    /// Reads a place and assigns it to a local, or to the cells that `to` names.
    fn copy(
        &self,
        run: Run,
        from: &Place,
        span: Span,
        to: &dyn Fn(Run) -> Option<Vec<(Run, Cell)>>,
        local: Option<LocalId>,
    ) -> Result<Vec<Run>, Unsupported> {
        let mut runs = Vec::new();
        for (run, cell) in self.cells(run, from, span)? {
            let (run, value) = self.take(run, self.space.cell_slot(cell), span)?;
            if let Some(local) = local {
                runs.extend(self.assign(run, self.local(local), &value, span)?);
            } else {
                let targets = to(run).ok_or_else(|| Unsupported {
                    what: "this remote place".to_owned(),
                    span,
                })?;
                for (run, target) in targets {
                    runs.extend(self.assign(run, self.space.cell_slot(target), &value, span)?);
                }
            }
        }
        Ok(runs)
    }

    fn local(&self, id: LocalId) -> usize {
        self.space.local_slot(self.thread, id)
    }

    /// The value of a slot at this point of the run.
    fn read(&self, run: &Run, slot: usize) -> Term {
        match &self.space.slots[slot].explicit {
            Some(e) => {
                let before = self.control.values[e.position];
                Term::constant(run.explicit.get(&slot).copied().unwrap_or(before))
            }
            None => run
                .data
                .get(&slot)
                .cloned()
                .unwrap_or_else(|| Term::var(Var(slot as u32))),
        }
    }

    fn assume(mut run: Run, condition: Formula) -> Option<Run> {
        if condition == Formula::False {
            return None;
        }
        run.guard.push(condition);
        Some(run)
    }

    /// `slot = value`; an explicit variable that gets data has a run per value.
    fn assign(
        &self,
        mut run: Run,
        slot: usize,
        value: &Term,
        span: Span,
    ) -> Result<Vec<Run>, Unsupported> {
        if let Some(&flag) = self.space.sets.get(&slot) {
            return Ok(vec![self.join(run, slot, flag, value)]);
        }
        let Some(explicit) = &self.space.slots[slot].explicit else {
            run.data.insert(slot, value.clone());
            return Ok(vec![run]);
        };
        if let Some(constant) = value.as_constant() {
            let constant = i64::try_from(constant).map_err(|_| Unsupported {
                what: "a number that exceeds 64 bits".to_owned(),
                span,
            })?;
            run.explicit.insert(slot, constant);
            return Ok(vec![run]);
        }
        known_values(explicit, span)?;
        let mut runs = Vec::new();
        for &v in &explicit.values {
            let equal = fits(Formula::eq(value, &Term::constant(v)), span)?;
            if let Some(mut run) = Self::assume(run.clone(), equal) {
                run.explicit.insert(slot, v);
                runs.push(run);
            }
        }
        Ok(runs)
    }

    /// The cells that a place may name, each with the run in which it does.
    fn cells(&self, run: Run, place: &Place, span: Span) -> Result<Vec<(Run, Cell)>, Unsupported> {
        let program = self.space.program;
        let Some(index) = &place.index else {
            return Ok(vec![(run, program.cell(place.var, 0))]);
        };
        let index = self.term(&run, index, span)?;
        let count = program.global(place.var).cell_count() as u32;
        let mut all = Vec::new();
        for element in 0..count {
            let equal = fits(
                Formula::eq(&index, &Term::constant(i64::from(element))),
                span,
            )?;
            if let Some(run) = Self::assume(run.clone(), equal) {
                all.push((run, program.cell(place.var, element)));
            }
        }
        Ok(all)
    }

    fn atom(&self, run: &Run, atom: LocalAtom) -> Term {
        match atom {
            LocalAtom::SelfId => Term::constant(i64::from(self.space.threads[self.thread].copy)),
            LocalAtom::Local(id) => self.read(run, self.local(id)),
        }
    }

    fn term(&self, run: &Run, e: &LocalExpr, span: Span) -> Result<Term, Unsupported> {
        Ok(term_of(e, span, &mut |atom| Ok(self.atom(run, *atom)))?)
    }

    fn formula(&self, run: &Run, e: &LocalExpr, span: Span) -> Result<Formula, Unsupported> {
        Ok(formula_of(e, span, &mut |atom| Ok(self.atom(run, *atom)))?)
    }
}

fn fits<T>(
    result: Result<T, palisade_logic::term::Overflow>,
    span: Span,
) -> Result<T, Unsupported> {
    result.map_err(|error| Unsupported {
        what: error.to_string(),
        span,
    })
}

/// That an explicit variable has no other values than those listed.
fn known_values(explicit: &Explicit, span: Span) -> Result<(), Unsupported> {
    if explicit.open {
        return Err(not_known(span));
    }
    Ok(())
}

fn not_known(span: Span) -> Unsupported {
    Unsupported {
        what: "data for a variable whose values are not known".to_owned(),
        span,
    }
}
