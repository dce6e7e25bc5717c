//! *Replay*: runs that other engines found are done step by step on the
//! machine, under the memory model, and are refused at the first step that the
//! model does not allow. A trace that comes out is evidence.
//!
//! [`replay`] takes every step of a run, those of memory too. [`replay_threads`]
//! takes the threads' steps under SC, where memory has no steps of its own.
//! [`replay_guided`] takes the threads' steps and searches for the steps of memory
//! in between; [`replay_deepest`] does so for long runs.

use std::collections::{BTreeMap, HashSet, VecDeque};

use palisade_program::{Cell, EdgeId, LocalId, Model, Program, Trace, Violation};

use crate::expand::{Move, MoveKind, Scratch, Sink};
use crate::machine::{Keep, Machine};
use crate::options::{Bound, Bounds, Options, Unsupported};
use crate::state::State;
use crate::trace::Recorder;
use palisade_program::{Action, ActionKind, BlockStep};

/// How a run starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The memory model.
    pub model: Model,
    /// Copies of templates declared with `[*]`.
    pub threads: u32,
    /// Values of cells that start with any value; 0 (or the nearest value of
    /// the domain) where none is given.
    pub cells: BTreeMap<Cell, i64>,
    /// The same for locals: thread and local.
    pub locals: BTreeMap<(usize, LocalId), i64>,
}

impl Start {
    /// Under `model`, with `threads` copies for `[*]` and no chosen values.
    pub fn new(model: Model, threads: u32) -> Self {
        Self {
            model,
            threads,
            cells: BTreeMap::new(),
            locals: BTreeMap::new(),
        }
    }
}

/// A run in the program's words: what [`replay`] needs to run it again, on this
/// program or on one with the same edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// How it starts.
    pub start: Start,
    /// Its steps, those of memory too.
    pub actions: Vec<Action>,
}

/// A step of a thread, for replays that leave memory's steps open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStep {
    /// The thread: an index into [`Program::instances`].
    pub thread: usize,
    /// The edge.
    pub edge: EdgeId,
    /// The value of a `*`; 0 or the nearest value of its domain if none is given.
    pub choice: Option<i64>,
    /// The run inside an atomic block; any run if none is given.
    pub path: Option<Vec<BlockStep>>,
}

impl ThreadStep {
    /// The step of an action, if it is one of a thread.
    pub fn of(action: &Action) -> Option<Self> {
        let (edge, choice, path) = match &action.kind {
            ActionKind::Step { edge, choice } => (*edge, *choice, None),
            ActionKind::Block { edge, path } | ActionKind::Ordered { edge, path, .. } => {
                (*edge, None, Some(path.clone()))
            }
            ActionKind::Update { .. } => return None,
            ActionKind::NetworkRead { .. } | ActionKind::NetworkWrite { .. } => return None,
            ActionKind::AtomicRead { .. } | ActionKind::AtomicApply { .. } => return None,
        };
        Some(Self {
            thread: action.thread,
            edge,
            choice,
            path,
        })
    }
}

/// A run that was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The run. It ends at the first violation, even if more steps were given.
    pub trace: Trace,
    /// The violation in which it ends.
    pub violation: Option<Box<Violation>>,
    /// Whether no step is possible at its end although not all threads have ended.
    pub stuck: bool,
    /// All actions of the run, those of memory too.
    pub actions: Vec<Action>,
}

/// Why one action was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No such thread.
    #[error("there is no such thread")]
    NoThread,
    /// The thread is not where the edge starts.
    #[error("the thread is not where this edge starts")]
    NotThere,
    /// A condition is false.
    #[error("its condition is false")]
    Disabled,
    /// A fence, an atomic block or a flush waits for buffers to empty.
    #[error("it waits for buffered stores or pending operations")]
    Waits,
    /// The run inside an atomic block does not reach its end.
    #[error("the atomic block's run does not reach its end")]
    NoPath,
    /// The run goes on after a failing assertion.
    #[error("the run goes on after a failing assertion")]
    Goes,
    /// No such store or operation is ready.
    #[error("no such store or remote operation can be done now")]
    NothingToDo,
    /// A value does not fit.
    #[error("a bound is touched: {0}")]
    Bound(Bound),
}

/// Why a run cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The program has no meaning under the model.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A start value contradicts the program.
    #[error("{0} cannot start with that value")]
    Start(String),
    /// A step is not possible.
    #[error("step {step} is not possible: {refused}")]
    Step {
        /// Index of the step.
        step: usize,
        /// Why not.
        refused: Refused,
    },
    /// No steps of memory in between make it possible.
    #[error("no order of memory steps lets step {step} happen")]
    NoOrder {
        /// Index of the first thread step that was never reached.
        step: usize,
    },
    /// The search for steps of memory was given up.
    #[error("gave up after {states} states")]
    GaveUp {
        /// States looked at.
        states: usize,
    },
}

pub(crate) fn machine_for<'p>(
    program: &'p Program,
    start: &Start,
) -> Result<Machine<'p>, Unsupported> {
    let mut options = Options::new(start.model);
    options.buffer = None;
    options.threads = start.threads;
    Machine::new(program, &options, Keep::All)
}

/// The state in which a run starts.
pub(crate) fn first_state(machine: &Machine<'_>, start: &Start) -> Result<State, ReplayError> {
    let mut state = None;
    machine.for_each_initial(&mut Bounds::default(), |first, _| {
        state = Some(first.clone());
        false
    });
    let mut state = state.unwrap_or_default();
    let (_, free) = machine.initial_choices();
    for (slot, choice) in &free {
        let nearest = choice.all.map_or(0, |d| 0.max(d.lo).min(d.hi));
        state.slots[*slot as usize] = nearest;
    }
    let mut set = |slot: usize, name: String, value: i64| {
        let allowed = match free.iter().find(|(s, _)| *s as usize == slot) {
            Some((_, choice)) => choice.all.is_none_or(|d| d.contains(value)),
            None => state.slots.get(slot) == Some(&value),
        };
        if allowed {
            state.slots[slot] = value;
            Ok(())
        } else {
            Err(ReplayError::Start(name))
        }
    };
    for (cell, value) in &start.cells {
        if cell.index() >= machine.cells {
            return Err(ReplayError::Start(format!("cell {}", cell.0)));
        }
        set(cell.index(), machine.program.cell_name(*cell), *value)?;
    }
    for ((thread, local), value) in &start.locals {
        let code = machine.threads.get(*thread);
        let code = code.ok_or_else(|| ReplayError::Start(format!("thread {thread}")))?;
        let template = machine.program.template(code.instance.template);
        if local.index() >= template.locals.len() {
            return Err(ReplayError::Start(format!("local {}", local.0)));
        }
        let slot = code.base as usize + local.index();
        set(slot, template.local(*local).name.clone(), *value)?;
    }
    machine.start_memory(&mut state);
    Ok(state)
}

/// Replays a run, every step of which is given.
pub fn replay(
    program: &Program,
    start: &Start,
    actions: &[Action],
) -> Result<Replayed, ReplayError> {
    let machine = machine_for(program, start)?;
    let state = first_state(&machine, start)?;
    record(&machine, state, actions)
}

/// Replays `actions` from `state`.
fn record(
    machine: &Machine<'_>,
    state: State,
    actions: &[Action],
) -> Result<Replayed, ReplayError> {
    let mut recorder = Recorder::new(machine, state);
    let mut violation = recorder.violation();
    let mut done = 0;
    for (step, action) in actions.iter().enumerate() {
        if violation.is_some() {
            break;
        }
        let refused = recorder.act(action);
        refused.map_err(|refused| ReplayError::Step { step, refused })?;
        violation = recorder.violation();
        done = step + 1;
    }
    let stuck = !recorder.has_failed() && recorder.is_stuck();
    let violation = violation.or_else(|| recorder.no_progress());
    Ok(Replayed {
        trace: recorder.trace,
        violation: violation.map(Box::new),
        stuck,
        actions: actions[..done].to_vec(),
    })
}

/// Replays the threads' steps of a run under SC; `start` says the initial values,
/// its model is not looked at.
pub fn replay_threads(
    program: &Program,
    start: &Start,
    steps: &[ThreadStep],
) -> Result<Replayed, ReplayError> {
    let mut start = start.clone();
    start.model = Model::Sc;
    replay_guided(program, &start, steps, 10_000)
}

/// Replays the threads' steps of a run under the start's model, with steps of
/// memory wherever they are needed, and after the last step until something is
/// violated or nothing is left to do. Looks at no more than `limit` states.
pub fn replay_guided(
    program: &Program,
    start: &Start,
    steps: &[ThreadStep],
    limit: usize,
) -> Result<Replayed, ReplayError> {
    let machine = machine_for(program, start)?;
    let state = first_state(&machine, start)?;
    let actions = guide(&machine, &state, steps, limit, Order::Breadth)?;
    record(&machine, state, &actions)
}

/// The same, but what has most of the threads' steps behind it is looked at first: runs of
/// many steps are found soon, and may have more steps of memory than they need.
pub fn replay_deepest(
    program: &Program,
    start: &Start,
    steps: &[ThreadStep],
    limit: usize,
) -> Result<Replayed, ReplayError> {
    let machine = machine_for(program, start)?;
    let state = first_state(&machine, start)?;
    let actions = guide(&machine, &state, steps, limit, Order::Deepest)?;
    record(&machine, state, &actions)
}

/// Which node is looked at next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// The one that was found first.
    Breadth,
    /// One with the most thread steps done, of these the one that was found first.
    Deepest,
}

/// A node of the search for memory steps.
struct Node {
    state: State,
    /// Thread steps done.
    done: usize,
    back: usize,
    action: Option<Action>,
}

/// Search over states and numbers of thread steps done.
fn guide(
    machine: &Machine<'_>,
    start: &State,
    steps: &[ThreadStep],
    limit: usize,
    order: Order,
) -> Result<Vec<Action>, ReplayError> {
    let mut guide = Guide {
        steps,
        nodes: vec![Node {
            state: start.clone(),
            done: 0,
            back: 0,
            action: None,
        }],
        seen: HashSet::new(),
        bytes: Vec::new(),
        machine,
        current: 0,
        failing: None,
        open: vec![VecDeque::new(); steps.len() + 1],
    };
    guide.open[0].push_back(0);
    let mut scratch = Scratch::default();
    let mut furthest = 0;
    let mut complete = None;
    while let Some(next) = guide.next_open(order) {
        guide.current = next;
        let node = &guide.nodes[guide.current];
        furthest = furthest.max(node.done);
        if node.done == steps.len() {
            complete = complete.or(Some(guide.current));
        }
        if machine.broken(&node.state).is_some() {
            return Ok(guide.path(guide.current, None));
        }
        let state = node.state.clone();
        machine.expand(&state, false, &mut scratch, &mut guide);
        if guide.nodes[guide.current].done == steps.len() {
            let (program, mut bounds) = (machine.program, Bounds::default());
            let stuck = program.deadlock && machine.is_stuck(&state, &mut scratch, &mut bounds);
            let mut spins = || {
                !machine
                    .spinning(&state, &mut scratch, &mut bounds)
                    .is_empty()
            };
            if stuck || program.progress && spins() {
                return Ok(guide.path(guide.current, None));
            }
        }
        if let Some(action) = guide.failing.take() {
            return Ok(guide.path(guide.current, Some(action)));
        }
        if guide.nodes.len() > limit {
            return match complete {
                Some(end) => Ok(guide.path(end, None)),
                None => Err(ReplayError::GaveUp {
                    states: guide.nodes.len(),
                }),
            };
        }
    }
    match complete {
        Some(end) => Ok(guide.path(end, None)),
        None => Err(ReplayError::NoOrder { step: furthest }),
    }
}

struct Guide<'a, 'p> {
    machine: &'a Machine<'p>,
    steps: &'a [ThreadStep],
    nodes: Vec<Node>,
    seen: HashSet<(usize, Vec<u8>)>,
    bytes: Vec<u8>,
    current: usize,
    failing: Option<Action>,
    /// Nodes that were not looked at, by the number of thread steps done.
    open: Vec<VecDeque<usize>>,
}

impl Guide<'_, '_> {
    /// Takes the node that is to be looked at next.
    fn next_open(&mut self, order: Order) -> Option<usize> {
        let waiting = self.open.iter_mut().filter(|q| !q.is_empty());
        let queue = match order {
            Order::Breadth => waiting.min_by_key(|q| q.front().copied())?,
            Order::Deepest => waiting.last()?,
        };
        queue.pop_front()
    }

    /// How many thread steps are done after `step`, if it is one that is wanted.
    fn after(&self, step: &Move<'_>) -> Option<usize> {
        let done = self.nodes[self.current].done;
        let wanted = self.steps.get(done).filter(|w| w.thread == step.thread);
        let fits = match step.kind {
            MoveKind::Update(_) | MoveKind::Network(_) | MoveKind::Atomic(..) => {
                return Some(done);
            }
            MoveKind::Step(arc, _) => wanted.is_some_and(|w| w.edge.index() == arc),
            MoveKind::Block(arc, path) | MoveKind::Ordered(arc, path, _) => {
                wanted.is_some_and(|w| {
                    w.edge.index() == arc && w.path.as_ref().is_none_or(|p| same_path(p, path))
                })
            }
        };
        fits.then_some(done + 1)
    }

    fn path(&self, end: usize, last: Option<Action>) -> Vec<Action> {
        let mut actions: Vec<Action> = last.into_iter().collect();
        let mut at = end;
        while let Some(action) = &self.nodes[at].action {
            actions.push(action.clone());
            at = self.nodes[at].back;
        }
        actions.reverse();
        actions
    }

    /// The action with the choices that were asked for, which the expansion of
    /// an unbounded `*` may not have tried.
    fn action(&self, step: &Move<'_>) -> Action {
        let node = &self.nodes[self.current];
        let mut action = step.action(&node.state);
        if let Some(wanted) = self.steps.get(node.done)
            && let ActionKind::Step { choice, .. } = &mut action.kind
            && choice.is_some()
        {
            *choice = wanted.choice;
        }
        action
    }
}

fn same_path(wanted: &[BlockStep], path: &[BlockStep]) -> bool {
    let same = |(w, p): (&BlockStep, &BlockStep)| w.0 == p.0 && (w.1.is_none() || w.1 == p.1);
    wanted.len() == path.len() && wanted.iter().zip(path).all(same)
}

impl Sink for Guide<'_, '_> {
    fn next(&mut self, next: &State, step: Move<'_>) {
        let Some(done) = self.after(&step) else {
            return;
        };
        let action = self.action(&step);
        let mut state = next.clone();
        if let ActionKind::Step {
            edge,
            choice: Some(value),
        } = action.kind
        {
            // A chosen value that the expansion did not try.
            let from = &self.nodes[self.current].state;
            self.machine
                .apply(from, &mut state, step.thread, edge.index(), value);
        }
        self.machine.pack(&state, &mut self.bytes);
        if self.seen.insert((done, self.bytes.clone())) {
            self.open[done].push_back(self.nodes.len());
            self.nodes.push(Node {
                state,
                done,
                back: self.current,
                action: Some(action),
            });
        }
    }

    fn fails(&mut self, step: Move<'_>) {
        if self.after(&step).is_some() && self.failing.is_none() {
            self.failing = Some(self.action(&step));
        }
    }
}
