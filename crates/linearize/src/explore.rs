//! The *search* over all runs within bounds, breadth first, so that the run that is
//! found is among the shortest. States are stored in canonical form.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::Instant;

use palisade_program::Span;
use palisade_program::heap::{Program, Specification};

use crate::canonical::canonical;
use crate::machine::{Bound, End, Machine, Wrong};
use crate::options::Options;
use crate::spec::BrokenSpec;
use crate::state::State;
use crate::track::{Mode, Points};
use crate::witness::{self, Witness};

/// Why a search ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The deadline.
    Time,
    /// Cancelled from outside.
    Cancelled,
}

/// How a search ended.
#[derive(Clone, Debug)]
pub enum Found {
    /// A run that violates.
    Wrong(Box<Witness>),
    /// None in all runs within the bounds, unless [`Search::bounds`] says that some
    /// were cut.
    Nothing,
    /// Ended early.
    Stopped(Stop),
}

/// States that are looked at for a history that is not linearizable after a run was
/// found that goes wrong in another way: the history says more.
const PATIENCE: u64 = 20_000;

/// What a search found and cost.
#[derive(Clone, Debug)]
pub struct Search {
    /// How it ended.
    pub found: Found,
    /// A run that goes wrong in another way and was found first.
    pub also: Option<Box<Witness>>,
    /// Bounds that cut runs off, besides the numbers of threads and calls.
    pub bounds: Vec<Bound>,
    /// States stored.
    pub states: u64,
    /// Moves taken.
    pub transitions: u64,
    /// Moves of the longest shortest run.
    pub depth: u64,
}

/// A search cannot be done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The specification itself goes wrong.
    #[error("{0}")]
    Specification(String),
    /// A run that was found cannot be run again: a bug.
    #[error("a run could not be replayed: {0}")]
    Replay(String),
}

impl From<BrokenSpec> for Failure {
    fn from(BrokenSpec(text): BrokenSpec) -> Self {
        Self::Specification(text)
    }
}

/// Looks for a run that is not linearizable or goes wrong in another way; commit
/// points play no part.
pub fn explore(program: &Program, options: &Options) -> Result<Search, Failure> {
    search(&Machine::new(program, options, Mode::Any))
}

/// Looks for a run in which a commit point is wrong.
pub fn check_commits(program: &Program, options: &Options) -> Result<Search, Failure> {
    search(&Machine::new(program, options, Mode::Commits))
}

/// Looks for a run that cannot be explained by calls that take effect at `points`.
pub(crate) fn check_points(
    program: &Program,
    options: &Options,
    points: Points,
) -> Result<Search, Failure> {
    search(&Machine::new(program, options, Mode::Points(points)))
}

/// How a state was reached.
#[derive(Clone, Copy)]
struct Origin {
    parent: u32,
    depth: u32,
}

const NO_PARENT: u32 = u32::MAX;

struct Store {
    known: HashMap<Box<[u8]>, u32>,
    origins: Vec<Origin>,
    open: VecDeque<(State, u32)>,
}

impl Store {
    fn add(&mut self, machine: &Machine<'_>, state: &State, parent: u32) {
        let (form, key) = canonical(state, machine.renaming);
        let number = self.origins.len() as u32;
        if let std::collections::hash_map::Entry::Vacant(entry) = self.known.entry(key) {
            entry.insert(number);
            let depth = match parent {
                NO_PARENT => 0,
                parent => self.origins[parent as usize].depth + 1,
            };
            self.origins.push(Origin { parent, depth });
            self.open.push_back((form, number));
        }
    }

    /// The keys on the way to a state, the first state first.
    fn way(&self, mut number: u32) -> Vec<&[u8]> {
        let mut numbers = Vec::new();
        while number != NO_PARENT {
            numbers.push(number);
            number = self.origins[number as usize].parent;
        }
        numbers.reverse();
        let places: HashMap<u32, usize> =
            numbers.iter().enumerate().map(|(i, n)| (*n, i)).collect();
        let mut keys: Vec<&[u8]> = vec![&[]; numbers.len()];
        for (key, number) in &self.known {
            if let Some(&place) = places.get(number) {
                keys[place] = key;
            }
        }
        keys
    }
}

fn search(machine: &Machine<'_>) -> Result<Search, Failure> {
    let mut store = Store {
        known: HashMap::new(),
        origins: Vec::new(),
        open: VecDeque::new(),
    };
    let (mut transitions, mut expanded, mut depth) = (0, 0_u64, 0);
    let mut found = None;
    for end in machine.initial()? {
        match end {
            End::State(state) => store.add(machine, &state, NO_PARENT),
            End::Wrong { what, span } => {
                found.get_or_insert_with(|| witness::at_start(machine, &what, span));
            }
        }
    }
    let mut found = found.map(|witness| Found::Wrong(Box::new(witness)));
    let mut also: Option<Box<Witness>> = None;
    let mut patience = PATIENCE;
    while found.is_none()
        && patience > 0
        && let Some((state, number)) = store.open.pop_front()
    {
        expanded += 1;
        patience -= u64::from(also.is_some());
        if expanded.is_multiple_of(64)
            && let Some(progress) = machine.options.progress
        {
            progress(store.origins.len() as u64);
        }
        if expanded.is_multiple_of(64)
            && let Some(stop) = stopped(machine.options)
        {
            found = also.take().map(Found::Wrong).or(Some(Found::Stopped(stop)));
            break;
        }
        depth = u64::from(store.origins[number as usize].depth);
        let mut wrong: Vec<(Wrong, Span)> = Vec::new();
        for step in machine.moves(&state)? {
            transitions += 1;
            match step.end {
                End::State(next) => {
                    if store.origins.len() < machine.options.max_states {
                        store.add(machine, &next, number);
                    } else if !store
                        .known
                        .contains_key(&canonical(&next, machine.renaming).1)
                    {
                        machine.touched.borrow_mut().insert(Bound::States);
                    }
                }
                End::Wrong { what, span } => wrong.push((what, span)),
            }
        }
        let history = wrong
            .iter()
            .find(|(what, _)| *what == Wrong::NotLinearizable);
        let first = wrong.first().filter(|_| also.is_none());
        if let Some((what, span)) = history.or(first) {
            let way = store.way(number);
            let witness = Box::new(witness::replay(machine, &way, what, *span)?);
            if is_final(machine, what) {
                found = Some(Found::Wrong(witness));
            } else {
                also = Some(witness);
            }
        }
    }
    let found = found.or_else(|| also.take().map(Found::Wrong));
    Ok(Search {
        found: found.unwrap_or(Found::Nothing),
        also,
        bounds: machine.touched.borrow().iter().copied().collect(),
        states: store.origins.len() as u64,
        transitions,
        depth,
    })
}

/// Whether nothing better can be found than a run that goes wrong like this.
fn is_final(machine: &Machine<'_>, what: &Wrong) -> bool {
    let specified = machine.program.specification != Specification::Nothing;
    *what == Wrong::NotLinearizable || !specified || !matches!(machine.mode, Mode::Any)
}

fn stopped(options: &Options) -> Option<Stop> {
    let raised =
        |flag: &std::sync::Arc<_>| std::sync::atomic::AtomicBool::load(flag, Ordering::Relaxed);
    if options.cancel.as_ref().is_some_and(raised) {
        return Some(Stop::Cancelled);
    }
    let late = |deadline: &Instant| Instant::now() >= *deadline;
    options
        .deadline
        .as_ref()
        .is_some_and(late)
        .then_some(Stop::Time)
}
