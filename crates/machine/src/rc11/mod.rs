//! *RC11*, the repaired C11 model [Lahav et al., PLDI 2017], as a machine: each location has a
//! history of messages, each thread a view of which it knows, and SC events a second history.
//! Its rules are in docs/memory-models.md. It has the outcomes of the axioms
//! (`tests/rc11.rs` compares them on random programs) and no load buffering, as RC11 has none.
//!
//! | file | term |
//! |---|---|
//! | `view` | positions in histories, views, what old messages carry |
//! | `memory` | histories, the SC order as marks with bounds |
//! | `access` | loads, stores, updates and fences: every way they may happen |
//! | `races` | data races on plain accesses, by happens-before |
//! | `ahead`, `normal` | what can be forgotten; the summary of old messages |
//! | `meaning` | which programs have a meaning under RC11 |
//! | `turn` | a thread's step under RC11 |
//! | `prompt` | partial-order reduction |
//! | `bytes` | memory as bytes |
//!
//! The exact machine keeps every message that some thread has not passed. One that lags without
//! end makes histories grow: then [`Bound::History`](crate::Bound) is touched. With a
//! [`Summary`] old messages are folded instead, which only adds behaviours.

mod access;
mod ahead;
mod bytes;
mod meaning;
mod memory;
mod normal;
mod prompt;
mod races;
mod turn;
mod view;

pub(crate) use meaning::check;
pub(crate) use memory::Memory;
pub use normal::Summary;
pub(crate) use prompt::Prompt;
pub(crate) use turn::{Turn, TurnEnd, Turns};

use palisade_program::Order;
use palisade_program::shift::{Group, Groups};

use crate::machine::{Act, Machine, Spot};
use crate::options::Options;
use crate::state::State;

use ahead::{Ahead, ahead};
use races::Races;

/// What a machine for RC11 knows of its program.
pub(crate) struct Rc11 {
    races: Races,
    /// What lies ahead of each thread at each location.
    ahead: Vec<Vec<Ahead>>,
    summary: Option<Summary>,
    shifts: Vec<Shift>,
    mixed: bool,
    /// Most messages of a location.
    most: usize,
}

impl Rc11 {
    /// For a machine whose threads are compiled.
    pub(crate) fn of(machine: &Machine<'_>, options: &Options) -> Self {
        let mut plain = vec![false; machine.cells];
        for thread in &machine.threads {
            for arc in &thread.graph.arcs {
                if let Some((spot, Order::Plain)) = accessed(arc.act)
                    && options.races
                {
                    cells(spot).for_each(|cell| plain[cell] = true);
                }
            }
        }
        let threads = machine.threads.iter();
        let ahead = threads.map(|t| ahead(&t.graph, &t.blocks, machine.cells));
        Self {
            races: Races::new(&plain, machine.threads.len()),
            ahead: ahead.collect(),
            summary: options.summary,
            shifts: match options.summary {
                Some(summary) if summary.shifted => shifts(machine),
                Some(_) | None => Vec::new(),
            },
            mixed: machine.program.mixed_seq_cst().is_some(),
            most: options.buffer.unwrap_or(usize::MAX),
        }
    }
}

/// A group of counters ([`palisade_program::shift`]).
struct Shift {
    cells: Vec<usize>,
    /// Slots of locals, for each thread and location.
    slots: Vec<Vec<Vec<u32>>>,
    group: Group,
}

fn shifts(machine: &Machine<'_>) -> Vec<Shift> {
    let program = machine.program;
    let groups = Groups::infer(program).0;
    let shift = |group: Group| Shift {
        cells: group
            .globals
            .iter()
            .flat_map(|&var| {
                let count = program.global(var).cell_count() as u32;
                (0..count).map(move |i| program.cell(var, i).index())
            })
            .collect(),
        slots: machine
            .threads
            .iter()
            .map(|thread| {
                let template = thread.instance.template;
                let mut at = vec![Vec::new(); program.template(template).cfg.loc_count()];
                for (_, loc, local) in group.locals.iter().filter(|(t, ..)| *t == template) {
                    at[loc.index()].push(thread.base + local.0);
                }
                at
            })
            .collect(),
        group,
    };
    groups.into_iter().map(shift).collect()
}

/// The place and order of a load or store.
pub(crate) const fn accessed(act: Act) -> Option<(Spot, Order)> {
    match act {
        Act::Load { src, order, .. } => Some((src, order)),
        Act::Store { dst, order, .. } => Some((dst, order)),
        Act::Skip | Act::Assume(_) | Act::Assign { .. } | Act::Havoc { .. } => None,
        Act::Buffer { .. } | Act::Fence | Act::StoreStore | Act::Ordered(_) => None,
        Act::Block(_) | Act::Assert(_) | Act::Copy { .. } | Act::Issue { .. } => None,
        Act::Remote(_) | Act::Flush { .. } => None,
    }
}

fn cells(spot: Spot) -> std::ops::Range<usize> {
    match spot {
        Spot::Cell(cell) => cell as usize..cell as usize + 1,
        Spot::Element { base, len, .. } => base as usize..(base + len) as usize,
    }
}

impl Machine<'_> {
    /// Memory as it is before the first step, with the values of the state's cells. Does nothing
    /// under other models.
    pub(crate) fn start_memory(&self, state: &mut State) {
        if let Some(rc11) = &self.rc11 {
            let values = &state.slots[..self.cells];
            let words = rc11.races.words();
            let memory = Memory::new(values, self.threads.len(), words, rc11.mixed);
            state.memory = Some(Box::new(memory));
            self.settle(state);
        }
    }

    /// The state when all stores have arrived: every thread sees the newest message of each location, and no
    /// other. A memory that is fair brings every run of finitely many stores there [Lahav et al.,
    /// OOPSLA 2021, s. 4], and a thread may read the newest message in every state, so that what one can do
    /// here it can do in `state`, too. Under other models it is the state itself.
    pub(crate) fn arrived(&self, state: &State) -> State {
        let mut arrived = state.clone();
        self.start_memory(&mut arrived);
        arrived
    }

    /// Brings memory into normal form.
    pub(crate) fn settle(&self, state: &mut State) {
        let (Some(rc11), Some(memory)) = (&self.rc11, &mut state.memory) else {
            return;
        };
        let ahead: Vec<Option<&Ahead>> = self
            .threads
            .iter()
            .zip(&state.pcs)
            .zip(&rc11.ahead)
            .map(|((thread, &pc), ahead)| (pc != thread.graph.exit).then(|| &ahead[pc as usize]))
            .collect();
        memory.normalise(&ahead, &rc11.races, rc11.summary);
        for shift in &rc11.shifts {
            let newest = memory.newest(shift.cells[0]);
            let by = newest - newest.rem_euclid(shift.group.modulus);
            for &cell in &shift.cells {
                memory.shift(cell, by, &shift.group);
            }
            let threads = self.threads.iter().zip(&state.pcs).zip(&shift.slots);
            for ((thread, &pc), slots) in threads {
                // What is dead is 0.
                let live = &thread.live[pc as usize];
                for slot in slots[pc as usize].iter().filter(|slot| live.contains(slot)) {
                    let value = &mut state.slots[*slot as usize];
                    *value = shift.group.moved(*value, by).unwrap_or(*value);
                }
            }
        }
        for (cell, slot) in state.slots[..self.cells].iter_mut().enumerate() {
            *slot = memory.newest(cell);
        }
    }

    /// Whether another location of a thread means that other things lie ahead.
    pub(crate) fn has_passed(&self, t: usize, from: u32, to: u32) -> bool {
        self.rc11.as_ref().is_some_and(|rc11| {
            let ahead = &rc11.ahead[t];
            ahead[from as usize] != ahead[to as usize] || to == self.threads[t].graph.exit
        })
    }
}
