//! *Thread states*: the location of a thread, its locals, the shape of its buffers and the values in
//! them. A thread has few of them; each is given a number, so that a state of the program is a
//! number for each thread and one for the value of each cell.
//!
//! What a thread can do depends on its own state and on the cells that it reads. It is run as for
//! every other certificate ([`crate::steps`]), with every value known; which cells were asked for is
//! recorded. The next cell that is asked for depends only on the values of those before, so that
//! all outcomes of a step form a *decision tree*: inner nodes ask for the value of a cell, leaves
//! have the effects. A step is run once for each leaf.
//!
//! Copies of a template that never asks for its own number, and of which no property does, are *alike*: exchanging the states of two
//! of them makes a state that can do the same and violates the same [Clarke et al., FMSD 1996]. They have
//! their numbers in common, and of the states that differ by such exchanges only the one is kept in which these ascend.

use super::judged::Judged;
use crate::buffer::Buffer;
use crate::buffer_summary::{Keep, SummaryInvariant};
use crate::remote::Processes;
use crate::state::StateVar;
use crate::steps::{Effect, Explicit, Outcome, Runner, Trouble, departed, unsupported};
use crate::stops::stops;
use crate::views::uses_number;
use palisade_logic::{Formula, Term, Var};
use palisade_program::liveness::Liveness;
use palisade_program::{Cell, Instance, LocId, LocalId, Model, Program, Span};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ops::Range;

/// The state of one thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Own {
    pub(super) loc: LocId,
    /// Those that are dead are 0.
    pub(super) locals: Box<[i64]>,
    pub(super) buffer: Buffer,
    /// The values of the slots of `buffer`, in the order of [`Buffer::slots`].
    pub(super) slots: Box<[i64]>,
}

/// An effect on the numbers that make a state.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The thread's next state.
    pub(super) to: u32,
    /// Cells that are written, with the numbers of their values.
    pub(super) writes: Range<u32>,
}

/// A node of a decision tree.
enum Node {
    /// Not run yet.
    Open,
    /// Goes on at the node for the number of this cell's value; 0 where there is none yet.
    Ask(Cell, Vec<u32>),
    /// The changes.
    Done(Range<u32>),
}

/// What is known of one state of a thread.
pub(super) struct Known {
    own: Own,
    /// The roots of its steps' trees: one for each edge, and the memory system's.
    roots: Range<u32>,
    /// Whether the thread has ended and nothing is buffered.
    pub(super) has_ended: bool,
}

/// One thread and its states.
struct Thread {
    instance: Instance,
    stops: Vec<bool>,
    live: Liveness,
    numbers: FxHashMap<Own, u32>,
    states: Vec<Known>,
}

/// The values that a cell was found to have.
#[derive(Default)]
struct Values {
    numbers: FxHashMap<i64, u32>,
    values: Vec<i64>,
}

/// The thread states, steps and values that a search has met.
pub(super) struct Threads<'p> {
    program: &'p Program,
    model: Model,
    pub(super) judged: Judged<'p>,
    instances: Vec<Instance>,
    /// For each thread the first one that is like it.
    like: Vec<usize>,
    all: Vec<Thread>,
    /// For each thread and state which properties it leaves possible ([`Judged::possible`]).
    possible: Vec<Vec<Box<[u64]>>>,
    cells: Vec<Values>,
    nodes: Vec<Node>,
    roots: Vec<u32>,
    changes: Vec<Change>,
    writes: Vec<(u32, u32)>,
}

/// The values before a step, with a record of the cells that were asked for.
struct Before<'a> {
    thread: u32,
    own: &'a Own,
    slots: Vec<StateVar>,
    cells: &'a dyn Fn(Cell) -> i64,
    asked: RefCell<Vec<Cell>>,
}

impl Explicit for Before<'_> {
    fn value(&self, var: Var) -> Option<i64> {
        let state_var = StateVar::of(var)?;
        match state_var {
            StateVar::Cell(cell) => {
                let mut asked = self.asked.borrow_mut();
                if !asked.contains(&cell) {
                    asked.push(cell);
                }
                Some((self.cells)(cell))
            }
            StateVar::Local { thread, local } => {
                let own = thread == self.thread;
                own.then(|| self.own.locals[local.index()])
            }
            StateVar::Slot { .. } | StateVar::CellSlot { .. } => {
                let at = self.slots.iter().position(|slot| *slot == state_var)?;
                Some(self.own.slots[at])
            }
            StateVar::Last { .. } | StateVar::Low { .. } | StateVar::Number { .. } => None,
            StateVar::Carried { .. } | StateVar::Element { .. } => None,
        }
    }

    fn contains(&self, var: Var) -> bool {
        StateVar::of(var).is_some()
    }
}

impl<'p> Threads<'p> {
    pub(super) fn new(
        program: &'p Program,
        model: Model,
        instances: &[Instance],
        judged: Judged<'p>,
        exchange: bool,
    ) -> Self {
        let like = |(thread, instance): (usize, &Instance)| {
            let first = instances
                .iter()
                .position(|i| i.template == instance.template);
            let are_alike = exchange && !uses_number(program, instance.template);
            first.filter(|_| are_alike).unwrap_or(thread)
        };
        let thread = |instance: &Instance| Thread {
            instance: *instance,
            stops: stops(program, model, instance.template),
            live: Liveness::of(program, instance.template),
            numbers: FxHashMap::default(),
            states: Vec::new(),
        };
        Self {
            program,
            model,
            judged,
            instances: instances.to_vec(),
            like: instances.iter().enumerate().map(like).collect(),
            possible: vec![Vec::new(); instances.len()],
            all: instances.iter().map(thread).collect(),
            cells: (0..program.cell_count())
                .map(|_| Values::default())
                .collect(),
            // Node 0 is that of a step that was not run.
            nodes: vec![Node::Open],
            roots: Vec::new(),
            changes: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// The program.
    pub(super) fn program(&self) -> &'p Program {
        self.program
    }

    /// The memory model.
    pub(super) fn model(&self) -> Model {
        self.model
    }

    /// The stops of a thread's template.
    pub(super) fn stops(&self, thread: usize) -> &[bool] {
        &self.all[self.like[thread]].stops
    }

    /// A thread's template and number.
    pub(super) fn instance(&self, thread: usize) -> Instance {
        self.instances[thread]
    }

    /// Threads that are alike, where there are several.
    pub(super) fn alike(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.count()];
        for (thread, first) in self.like.iter().enumerate() {
            all[*first].push(thread);
        }
        all.retain(|alike| alike.len() > 1);
        all
    }

    /// How many threads there are.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// What is known of a thread's state.
    pub(super) fn known(&self, thread: usize, number: u32) -> &Known {
        &self.all[self.like[thread]].states[number as usize]
    }

    /// The state itself.
    pub(super) fn own(&self, thread: usize, number: u32) -> &Own {
        &self.known(thread, number).own
    }

    /// The value of a cell that has this number.
    pub(super) fn value(&self, cell: Cell, number: u32) -> i64 {
        self.cells[cell.index()].values[number as usize]
    }

    /// The number of a cell's value.
    pub(super) fn number(&mut self, cell: Cell, value: i64) -> u32 {
        let own = &mut self.cells[cell.index()];
        *own.numbers.entry(value).or_insert_with(|| {
            own.values.push(value);
            own.values.len() as u32 - 1
        })
    }

    /// The number of a thread's state; its dead locals are forgotten.
    pub(super) fn intern(&mut self, thread: usize, mut own: Own) -> u32 {
        let known = &mut self.all[self.like[thread]];
        for dead in known.live.dead(own.loc) {
            own.locals[dead.index()] = 0;
        }
        if let Some(number) = known.numbers.get(&own) {
            return *number;
        }
        let cfg = &self.program.template(known.instance.template).cfg;
        let steps = cfg.outgoing(own.loc).count() as u32 + 1;
        let first = self.roots.len() as u32;
        self.roots.resize((first + steps) as usize, 0);
        let number = known.states.len() as u32;
        known.numbers.insert(own.clone(), number);
        known.states.push(Known {
            has_ended: own.loc == cfg.exit && own.buffer.is_empty(),
            roots: first..first + steps,
            own,
        });
        number
    }

    /// Which properties a thread in this state leaves possible, as bits.
    pub(super) fn possible(&mut self, thread: usize, number: u32) -> &[u64] {
        for next in self.possible[thread].len() as u32..=number {
            let own = &self.all[self.like[thread]].states[next as usize].own;
            let possible = self.judged.possible(thread, own);
            self.possible[thread].push(possible);
        }
        &self.possible[thread][number as usize]
    }

    /// How many steps a thread in this state has.
    pub(super) fn steps(&self, thread: usize, number: u32) -> u32 {
        let roots = &self.known(thread, number).roots;
        roots.end - roots.start
    }

    /// The changes that a step can make; `cells` has the numbers of the cells' values.
    pub(super) fn changes(
        &mut self,
        thread: usize,
        number: u32,
        step: u32,
        cells: &[u32],
    ) -> Result<Range<u32>, Trouble> {
        let root = self.known(thread, number).roots.start + step;
        let mut at = self.roots[root as usize];
        loop {
            match &self.nodes[at as usize] {
                Node::Done(changes) => return Ok(changes.clone()),
                Node::Ask(cell, next) => {
                    let value = cells[cell.index()] as usize;
                    at = next.get(value).copied().unwrap_or(0);
                }
                Node::Open => break,
            }
        }
        self.run(thread, number, step, cells)
    }

    /// A change by its number.
    pub(super) fn change(&self, number: u32) -> &Change {
        &self.changes[number as usize]
    }

    /// The writes of a change: cell and number of the value.
    pub(super) fn writes(&self, change: &Change) -> &[(u32, u32)] {
        &self.writes[change.writes.start as usize..change.writes.end as usize]
    }

    /// Runs a step with these values, and adds the leaf.
    fn run(
        &mut self,
        thread: usize,
        number: u32,
        step: u32,
        cells: &[u32],
    ) -> Result<Range<u32>, Trouble> {
        let own = self.own(thread, number).clone();
        let (outcome, asked) = {
            let value = |cell: Cell| self.value(cell, cells[cell.index()]);
            let before = Before {
                thread: thread as u32,
                own: &own,
                slots: own.buffer.slots(self.model, thread as u32, None),
                cells: &value,
                asked: RefCell::default(),
            };
            (self.outcome(thread, step, &before)?, before.asked.take())
        };
        if let Some(fault) = outcome.faults.into_iter().next() {
            return Err(Trouble {
                reason: fault.reason,
                span: fault.span,
            });
        }
        let span = self.span(thread);
        let mut found = Vec::new();
        for effect in &outcome.effects {
            if effect.guard != Formula::True || !effect.adds.is_empty() || !effect.picks.is_empty()
            {
                return Err(unsupported("a choice among values without bound", span));
            }
            found.push(self.changed(thread, &own, effect)?);
        }
        let first = self.changes.len() as u32;
        self.changes.extend(found);
        let tables = [self.changes.len(), self.writes.len(), self.roots.len()];
        let is_small = |n: &usize| u32::try_from(*n).is_ok();
        if !tables.iter().chain([&self.nodes.len()]).all(is_small) {
            return Err(unsupported("so many states of one thread", span));
        }
        let changes = first..self.changes.len() as u32;
        self.grow(thread, number, step, (cells, &asked), changes.clone())?;
        Ok(changes)
    }

    /// The symbolic run of a step, in which every value is known.
    fn outcome(&self, thread: usize, step: u32, before: &Before<'_>) -> Result<Outcome, Trouble> {
        let own = &self.all[self.like[thread]];
        let template = self.program.template(own.instance.template);
        let number = thread as u32;
        let mut edges = template.cfg.outgoing(before.own.loc);
        let Some((edge, _)) = edges.nth(step as usize) else {
            let mut effects = Vec::new();
            for departure in before
                .own
                .buffer
                .departures(self.model, number, Keep::default())
            {
                let own = (number, &SummaryInvariant::Any);
                effects.extend(departed(departure, own, before, template.span)?);
            }
            return Ok(Outcome {
                effects,
                faults: Vec::new(),
            });
        };
        let runner = Runner::new(
            self.program,
            (self.model, None),
            (number, own.instance, false),
            before,
            Processes {
                instances: &[],
                buffers: &[],
            },
        );
        let buffer = &before.own.buffer;
        runner.run(&template.cfg, edge.index(), &own.stops, buffer)
    }

    fn span(&self, thread: usize) -> Span {
        let template = self.instance(thread).template;
        self.program.template(template).span
    }

    /// The change that an effect is.
    fn changed(&mut self, thread: usize, own: &Own, effect: &Effect) -> Result<Change, Trouble> {
        let span = self.span(thread);
        let number = thread as u32;
        let written = |state_var: StateVar| -> Result<Option<i64>, Trouble> {
            let term = state_var.var().and_then(|var| effect.updates.get(var));
            term.map(|term| known(term, span)).transpose()
        };
        let mut next = Own {
            loc: effect.to.unwrap_or(own.loc),
            locals: own.locals.clone(),
            buffer: effect.buffer.clone(),
            slots: Box::default(),
        };
        for (i, value) in next.locals.iter_mut().enumerate() {
            let local = StateVar::Local {
                thread: number,
                local: LocalId::from(i),
            };
            *value = written(local)?.unwrap_or(*value);
        }
        let before = own.buffer.slots(self.model, number, None);
        let mut slots = Vec::new();
        for slot in effect.buffer.slots(self.model, number, None) {
            let kept = || before.iter().position(|earlier| *earlier == slot);
            let value = match written(slot)? {
                Some(value) => Some(value),
                None => kept().map(|at| own.slots[at]),
            };
            slots.push(value.ok_or_else(|| unsupported("a slot without a value", span))?);
        }
        next.slots = slots.into();
        let first = self.writes.len() as u32;
        for &var in &effect.written {
            if let (Some(StateVar::Cell(cell)), Some(term)) =
                (StateVar::of(var), effect.updates.get(var))
            {
                let value = self.number(cell, known(term, span)?);
                self.writes.push((cell.0, value));
            }
        }
        let writes = first..self.writes.len() as u32;
        let to = self.intern(thread, next);
        Ok(Change { to, writes })
    }

    /// Adds a leaf behind the cells that were asked for.
    fn grow(
        &mut self,
        thread: usize,
        number: u32,
        step: u32,
        (cells, asked): (&[u32], &[Cell]),
        changes: Range<u32>,
    ) -> Result<(), Trouble> {
        let root = (self.known(thread, number).roots.start + step) as usize;
        if self.roots[root] == 0 {
            self.roots[root] = self.fresh();
        }
        let mut at = self.roots[root] as usize;
        for &cell in asked {
            if matches!(self.nodes[at], Node::Open) {
                self.nodes[at] = Node::Ask(cell, Vec::new());
            }
            let value = cells[cell.index()] as usize;
            let fresh = self.nodes.len() as u32;
            let next = match &mut self.nodes[at] {
                Node::Ask(same, next) if *same == cell => {
                    if next.len() <= value {
                        next.resize(value + 1, 0);
                    }
                    if next[value] == 0 {
                        next[value] = fresh;
                    }
                    next[value]
                }
                Node::Ask(..) | Node::Open | Node::Done(_) => {
                    let what = "a step that asks for other cells with the same values";
                    return Err(unsupported(what, self.span(thread)));
                }
            };
            if next == fresh {
                self.nodes.push(Node::Open);
            }
            at = next as usize;
        }
        self.nodes[at] = Node::Done(changes);
        Ok(())
    }

    fn fresh(&mut self) -> u32 {
        self.nodes.push(Node::Open);
        self.nodes.len() as u32 - 1
    }
}

/// The value of a term that has one.
fn known(term: &Term, span: Span) -> Result<i64, Trouble> {
    let value = term
        .as_constant()
        .ok_or_else(|| unsupported("a choice among values without bound", span))?;
    i64::try_from(value).map_err(|_| unsupported("a value of more than 64 bits", span))
}
