//! From a violation that a search found to a run: a shortest one, and among the
//! shortest one with as few context switches as possible.
//!
//! The search tells the distance L of the nearest violations. Going back from
//! them level by level, the states that lie on some run of length L are *marked*
//! (up to symmetry). Going forward over marked states only, each pair of a state
//! and the thread that ran last gets the least number of switches: a shortest
//! path in a layered graph. Pairs that differ only by which copy of a symmetric template
//! is which are one.
//!
//! A step of memory does not change which thread runs; it counts as one switch
//! if it is for another thread than the running one, so that a buffered store of
//! `left` that reaches memory while `right` runs is not counted twice. Among runs
//! with equally many switches, one that changes columns rarely is taken.

use std::collections::{HashMap, HashSet};
use std::io;

use crate::canonical;
use crate::expand::{Move, Scratch, Sink};
use crate::external::Trouble;
use crate::network::{Network, gather};
use crate::pack::Reader;
use crate::search::{Found, Kept, Piece, Task};
use crate::sight::{get_states, put_states};
use crate::state::State;
use palisade_program::Action;

/// Searches with more states do not look for all shortest runs, only for one.
const MOST_STATES: u64 = 4_000_000;
/// Most pairs of state and thread in a layer; beyond, those with most switches go.
const MOST_NODES: usize = 20_000;
const NOBODY: usize = usize::MAX;

/// A run: the state in which it starts, and its steps.
pub(crate) struct Run {
    pub(crate) start: State,
    pub(crate) actions: Vec<Action>,
}

/// The best run to the targets of a search, whose states `network` may share.
pub(crate) fn best_run(
    task: &Task<'_, '_>,
    found: &Found,
    network: &mut dyn Network,
) -> Result<Option<Run>, Trouble> {
    let Some(target) = found.targets.first() else {
        return Ok(None);
    };
    let level = found.length as usize - usize::from(found.fails);
    // All processes must take the same way.
    let stopped = vec![u8::from(task.stopped().is_some())];
    let stopped = gather(network, stopped)?.concat().contains(&1);
    let small = found.stats.states <= MOST_STATES && !stopped;
    let marks = if small && !task.partial_order {
        mark_all(task, found, level, network)?
    } else {
        chain(task, found, target, level, network)?
    };
    Ok(Forward { task, marks }.run(found.length as usize, found.fails))
}

/// A run to one state of a level.
pub(crate) fn run_to(
    task: &Task<'_, '_>,
    found: &Found,
    (state, level): &(Vec<u8>, u32),
    network: &mut dyn Network,
) -> Result<Option<Run>, Trouble> {
    let marks = chain(task, found, state, *level as usize, network)?;
    Ok(Forward { task, marks }.run(*level as usize, false))
}

/// Packed states, by level.
type Marks = Vec<HashSet<Vec<u8>>>;

/// The states of one run to `target`: the one by which it was found, if states know from which
/// they were reached; else that of the least predecessors.
fn chain(
    task: &Task<'_, '_>,
    found: &Found,
    target: &[u8],
    level: usize,
    network: &mut dyn Network,
) -> Result<Marks, Trouble> {
    let mut states = vec![target.to_vec()];
    if let Kept::Memory(resident) = &found.kept
        && resident.parents
    {
        let store = &resident.store;
        let mut at = store.find(target);
        while let Some(parent) = at.and_then(|id| store.parent(id)) {
            states.push(store.state(parent).to_vec());
            at = Some(parent);
        }
    } else {
        for before in (0..level).rev() {
            let reached = HashSet::from([states[states.len() - 1].clone()]);
            let all = predecessors(task, found, before, &reached, network)?;
            states.extend(all.into_iter().min());
        }
    }
    states.reverse();
    Ok(states.into_iter().map(|s| HashSet::from([s])).collect())
}

/// All states on runs of this length to the targets.
fn mark_all(
    task: &Task<'_, '_>,
    found: &Found,
    level: usize,
    network: &mut dyn Network,
) -> Result<Marks, Trouble> {
    let mut marks: Marks = vec![HashSet::new(); level + 1];
    marks[level].extend(found.targets.iter().cloned());
    for before in (0..level).rev() {
        let more = predecessors(task, found, before, &marks[before + 1], network)?;
        marks[before].extend(more);
    }
    Ok(marks)
}

/// The states of a level, of all processes, with a successor in `reached`.
fn predecessors(
    task: &Task<'_, '_>,
    found: &Found,
    level: usize,
    reached: &HashSet<Vec<u8>>,
    network: &mut dyn Network,
) -> Result<Vec<Vec<u8>>, Trouble> {
    let pieces = found.kept.pieces(level);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let size = pieces.len().div_ceil(cores).max(8);
    let work = |pieces: &[Piece<'_>]| -> io::Result<Vec<Vec<u8>>> {
        let mut back = Back {
            task,
            reached,
            hit: false,
            bytes: Vec::new(),
            scratch: canonical::Scratch::default(),
        };
        let (mut scratch, mut state) = (Scratch::default(), State::default());
        let mut hits = Vec::new();
        let reduce = task.partial_order;
        for piece in pieces {
            piece.for_each(|bytes| {
                task.machine.unpack(bytes, &mut state);
                back.hit = false;
                task.machine.expand(&state, reduce, &mut scratch, &mut back);
                if back.hit {
                    hits.push(bytes.to_vec());
                }
            })?;
        }
        Ok(hits)
    };
    let mine = std::thread::scope(|scope| {
        let handles: Vec<_> = pieces
            .chunks(size)
            .map(|chunk| scope.spawn(move || work(chunk)))
            .collect();
        let mut hits = Vec::new();
        for handle in handles {
            hits.extend(handle.join().expect("expanding a state does not panic")?);
        }
        Ok::<_, io::Error>(hits)
    })?;
    let mut message = Vec::new();
    put_states(&mut message, &mine);
    let all = gather(network, message)?;
    let states = all.iter().flat_map(|m| get_states(&mut Reader::new(m)));
    Ok(states.collect())
}

struct Back<'a, 'p> {
    task: &'a Task<'a, 'p>,
    reached: &'a HashSet<Vec<u8>>,
    hit: bool,
    bytes: Vec<u8>,
    scratch: canonical::Scratch,
}

impl Sink for Back<'_, '_> {
    fn next(&mut self, next: &State, _step: Move<'_>) {
        if !self.hit {
            self.task.pack(next, &mut self.scratch, &mut self.bytes);
            self.hit = self.reached.contains(&self.bytes);
        }
    }

    fn fails(&mut self, _step: Move<'_>) {}
}

/// The thread that ran last, and the one in whose column the last step stands.
type Last = (usize, usize);
/// Switches, then changes of column.
type Cost = (u32, u32);

/// A state with the thread that ran last, and how it was reached best.
struct Node {
    state: State,
    last: Last,
    cost: Cost,
    back: usize,
    action: Option<Action>,
}

struct Forward<'a, 'p> {
    task: &'a Task<'a, 'p>,
    marks: Marks,
}

impl Forward<'_, '_> {
    /// The best run of this length; `fails`: its last step fails an assertion
    /// and leads to no state, else it ends in a marked state.
    fn run(&self, length: usize, fails: bool) -> Option<Run> {
        let mut layers = vec![self.start()];
        for level in 1..self.marks.len() {
            let next = self.layer(&layers[level - 1], level);
            layers.push(next);
        }
        let (level, index, last) = if fails {
            let before = layers.get(length.checked_sub(1)?)?;
            let (index, action) = self.failing_step(before)?;
            (length - 1, index, Some(action))
        } else {
            let ends = layers.get(length)?.iter().enumerate();
            let (index, _) = ends.min_by_key(|(_, node)| node.cost)?;
            (length, index, None)
        };
        Some(collect(layers, level, index, last))
    }

    fn is_marked(&self, state: &State, level: usize, bytes: &mut Vec<u8>) -> bool {
        let mut scratch = canonical::Scratch::default();
        self.task.pack(state, &mut scratch, bytes);
        self.marks[level].contains(bytes)
    }

    fn start(&self) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut bytes = Vec::new();
        let machine = self.task.machine;
        machine.for_each_initial(&mut crate::options::Bounds::default(), |state, _| {
            if !self.marks.is_empty() && self.is_marked(state, 0, &mut bytes) {
                nodes.push(Node {
                    state: state.clone(),
                    last: (NOBODY, NOBODY),
                    cost: (0, 0),
                    back: 0,
                    action: None,
                });
            }
            nodes.len() < MOST_NODES
        });
        nodes
    }

    /// The steps of a state, as the search has taken them: under RC11 states of reduced searches say what was
    /// left out.
    fn expand(&self, state: &State, scratch: &mut Scratch, step: &mut Step<'_, '_>) {
        let machine = self.task.machine;
        let reduce = self.task.partial_order && machine.prompt.is_some();
        machine.expand(state, reduce, scratch, step);
    }

    fn layer(&self, before: &[Node], level: usize) -> Vec<Node> {
        let mut step = Step::new(self, Some(level), before);
        let mut scratch = Scratch::default();
        for (index, node) in before.iter().enumerate() {
            step.index = index;
            self.expand(&node.state, &mut scratch, &mut step);
        }
        let mut nodes = step.nodes;
        if nodes.len() > MOST_NODES {
            nodes.sort_by_key(|n| n.cost);
            nodes.truncate(MOST_NODES);
        }
        nodes
    }

    /// The node from which a failing step costs least, and the step.
    fn failing_step(&self, before: &[Node]) -> Option<(usize, Action)> {
        let mut best: Option<(Cost, usize, Action)> = None;
        let mut scratch = Scratch::default();
        for (index, node) in before.iter().enumerate() {
            let mut step = Step::new(self, None, before);
            step.index = index;
            self.expand(&node.state, &mut scratch, &mut step);
            if let Some((cost, action)) = step.failing
                && best.as_ref().is_none_or(|b| cost < b.0)
            {
                best = Some((cost, index, action));
            }
        }
        best.map(|(_, index, action)| (index, action))
    }
}

/// A state and who was last, up to symmetry: the bytes of the state's representative, what
/// distinguishes the two threads, and whether they are one.
type Key = (Vec<u8>, [Vec<i64>; 2], bool);

struct Step<'a, 'p> {
    forward: &'a Forward<'a, 'p>,
    /// The layer that is built; none if only failing steps are looked for.
    level: Option<usize>,
    from: &'a [Node],
    index: usize,
    nodes: Vec<Node>,
    known: HashMap<Key, usize>,
    failing: Option<(Cost, Action)>,
    bytes: Vec<u8>,
}

impl<'a, 'p> Step<'a, 'p> {
    fn new(forward: &'a Forward<'a, 'p>, level: Option<usize>, from: &'a [Node]) -> Self {
        Self {
            forward,
            level,
            from,
            index: 0,
            nodes: Vec::new(),
            known: HashMap::new(),
            failing: None,
            bytes: Vec::new(),
        }
    }

    /// For a state whose representative is in `bytes`.
    fn key(&self, state: &State, (runner, column): Last) -> Key {
        let task = self.forward.task;
        let of = |thread: usize| match task.canonical {
            Some(canonical) if thread != NOBODY => canonical.key(task.machine, state, thread),
            Some(_) | None => vec![thread as i64],
        };
        let threads = [of(runner), of(column)];
        (self.bytes.clone(), threads, runner == column)
    }

    /// The cost after the step, and who was last.
    fn cost(&self, step: &Move<'_>) -> (Cost, Last) {
        let node = &self.from[self.index];
        let (runner, column) = node.last;
        let differs = |other: usize| u32::from(other != NOBODY && other != step.thread);
        let cost = (node.cost.0 + differs(runner), node.cost.1 + differs(column));
        let runner = if step.by_memory() {
            runner
        } else {
            step.thread
        };
        (cost, (runner, step.thread))
    }
}

impl Sink for Step<'_, '_> {
    fn next(&mut self, next: &State, step: Move<'_>) {
        let forward = self.forward;
        let marked = |level| forward.is_marked(next, level, &mut self.bytes);
        if !self.level.is_some_and(marked) {
            return;
        }
        let (cost, last) = self.cost(&step);
        let key = self.key(next, last);
        let node = |action| Node {
            state: next.clone(),
            last,
            cost,
            back: self.index,
            action: Some(action),
        };
        let action = step.action(&self.from[self.index].state);
        match self.known.get(&key) {
            Some(&at) if self.nodes[at].cost <= cost => {}
            Some(&at) => self.nodes[at] = node(action),
            None => {
                let node = node(action);
                self.known.insert(key, self.nodes.len());
                self.nodes.push(node);
            }
        }
    }

    fn fails(&mut self, step: Move<'_>) {
        let (cost, _) = self.cost(&step);
        if self.failing.as_ref().is_none_or(|f| cost < f.0) {
            let action = step.action(&self.from[self.index].state);
            self.failing = Some((cost, action));
        }
    }
}

fn collect(
    mut layers: Vec<Vec<Node>>,
    level: usize,
    mut index: usize,
    last: Option<Action>,
) -> Run {
    let mut actions: Vec<Action> = last.into_iter().collect();
    for layer in layers[1..=level].iter_mut().rev() {
        let node = &mut layer[index];
        actions.extend(node.action.take());
        index = node.back;
    }
    actions.reverse();
    let start = layers.swap_remove(0).swap_remove(index).state;
    Run { start, actions }
}
