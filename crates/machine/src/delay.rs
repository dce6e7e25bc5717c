//! *Delay* of the network (RMA): which pending remote operations may wait. A half of an
//! operation that nothing needs now can be done later just as well, so a search with
//! partial-order reduction leaves it out and does it where it is needed: a flag that was got
//! is written when its process is about to look at it, and read before its owner changes it.
//!
//! In a state an operation is *due* if its process is at a flush that waits for it or has no
//! room for another one that comes next, if a property sees its target, or if one of its
//! halves to come touches a cell together with
//! - a step of a thread from its location, whether enabled or not,
//! - a part of a remote atomic operation, or
//! - the next half of an operation that is due itself.
//!
//! Two accesses of one cell touch if one of them writes. All others are *late*: their halves
//! are left out. If nothing else can step, nothing is late.
//!
//! **Nothing is lost.** Let a run from a state s lead to a violation, a touched bound or an
//! end, and let it begin with halves of late operations up to a first other step d. That is
//! a step of a thread, which is where it was in s, or the next half of an operation that is
//! due in s: second halves come after first ones, and an operation is late with both. No
//! late half touches a cell with d, makes room for it or is waited for by it, and no
//! property sees one. So d can be done first and then the late halves in their order, and the
//! rest of the run is the same. With [`saturate`](crate::Options::saturate) too: where
//! a half leaves one operation less before an equal one is added, there it may leave as many
//! after. If there is no such d, the run ends with late halves: a violation was there before
//! them, or the run comes to an end, where all of them are done since nothing else can step.
//!
//! Together with ample sets ([`crate::partial_order`]): a run either loses its first step,
//! or keeps its length while a thread goes on through safe locations, which form no cycle.

use palisade_program::{Cell, GlobalId, Model, PropAtom};

use crate::machine::{Act, Graph, Machine, Spot, Thread};
use crate::remote::Input;
use crate::state::{NO_CELL, Pending, State};

/// Cells and threads are numbered below this, or nothing is delayed.
const MOST: usize = 64;

/// What the steps from a location touch: cells, and threads that a flush waits for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Touched {
    reads: u64,
    writes: u64,
    flushes: u64,
    issues: bool,
}

/// The late operations of a state: for each thread, those with these numbers.
#[derive(Debug, Default)]
pub(crate) struct Late {
    threads: Vec<u64>,
}

impl Late {
    /// Whether the operation at `index` of thread `t` is late.
    pub(crate) fn contains(&self, t: usize, index: usize) -> bool {
        self.threads
            .get(t)
            .is_some_and(|&late| late >> index & 1 != 0)
    }

    /// Whether no operation is late.
    pub(crate) fn is_empty(&self) -> bool {
        self.threads.iter().all(|&late| late == 0)
    }

    /// Nothing is late.
    pub(crate) fn clear(&mut self) {
        self.threads.clear();
    }
}

/// What the network may leave for later.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    /// For each thread, what the steps from each location touch; empty if nothing is delayed.
    threads: Vec<Vec<Touched>>,
    /// The cells that a property sees.
    seen: u64,
}

impl Delays {
    /// The delays of a machine.
    pub(crate) fn of(machine: &Machine<'_>) -> Self {
        let few = machine.cells <= MOST && machine.threads.len() <= MOST;
        if machine.model != Model::Rma || !few {
            return Self::default();
        }
        let of_thread = |thread: &Thread| {
            let locs = 0..thread.graph.loc_count() as u32;
            locs.map(|loc| touched(thread, loc)).collect()
        };
        Self {
            threads: machine.threads.iter().map(of_thread).collect(),
            seen: seen(machine),
        }
    }

    /// Finds the late operations of a state.
    pub(crate) fn find(&self, machine: &Machine<'_>, state: &State, late: &mut Late) {
        late.clear();
        let mut pending = state.queues.iter().map(|q| q.pending.len());
        if self.threads.is_empty() || pending.any(|n| n > MOST) {
            return;
        }
        let all = |n: usize| if n == 0 { 0 } else { u64::MAX >> (MOST - n) };
        let pending = state.queues.iter().map(|q| all(q.pending.len()));
        late.threads.extend(pending);
        if late.is_empty() {
            return;
        }
        let mut due = self.touched_now(state);
        while self.narrow(machine, state, &mut due, late) {}
    }

    /// What threads and remote atomic operations touch next; `reads` also has what properties
    /// see.
    fn touched_now(&self, state: &State) -> Touched {
        let mut due = Touched {
            reads: self.seen,
            ..Touched::default()
        };
        for (touched, &pc) in self.threads.iter().zip(&state.pcs) {
            due.reads |= touched[pc as usize].reads;
            due.writes |= touched[pc as usize].writes;
        }
        for atomic in state.queues.iter().flat_map(|q| &q.atomics) {
            due.writes |= bit(atomic.cell);
            for input in atomic.inputs {
                if let Input::Cell(cell) = input {
                    due.reads |= bit(cell);
                }
            }
        }
        due
    }

    /// Takes operations out that are due; whether there were some.
    fn narrow(
        &self,
        machine: &Machine<'_>,
        state: &State,
        due: &mut Touched,
        late: &mut Late,
    ) -> bool {
        let mut changed = false;
        for (t, queue) in state.queues.iter().enumerate() {
            let own = self.threads[t][state.pcs[t] as usize];
            let is_full = queue.pending.len() + queue.atomics.len() >= machine.buffer;
            for (index, pending) in queue.pending.iter().enumerate() {
                let awaited = own.flushes >> pending.remote & 1 != 0 || own.issues && is_full;
                if late.contains(t, index) && (awaited || meets(pending, due)) {
                    late.threads[t] &= !(1 << index);
                    match pending.source {
                        NO_CELL => due.writes |= bit(pending.target),
                        source => due.reads |= bit(source),
                    }
                    changed = true;
                }
            }
        }
        changed
    }
}

/// Whether what is left of an operation touches a cell that is touched.
fn meets(pending: &Pending, due: &Touched) -> bool {
    let source = match pending.source {
        NO_CELL => 0,
        source => bit(source),
    };
    bit(pending.target) & (due.reads | due.writes) != 0 || source & due.writes != 0
}

fn bit(cell: u32) -> u64 {
    1 << cell
}

/// The cells that a place may mean.
fn cells(spot: Spot) -> u64 {
    match spot {
        Spot::Cell(cell) => bit(cell),
        Spot::Element { base, len, .. } => (base..base + len).fold(0, |all, cell| all | bit(cell)),
    }
}

fn touched(thread: &Thread, loc: u32) -> Touched {
    let mut all = Touched::default();
    for arc in thread.graph.from(loc) {
        let act = thread.graph.arcs[arc].act;
        if let Act::Block(block) = act {
            let body: &Graph = &thread.blocks[block as usize];
            body.arcs.iter().for_each(|arc| all.add(arc.act));
        } else {
            all.add(act);
        }
    }
    all
}

impl Touched {
    fn add(&mut self, act: Act) {
        match act {
            Act::Load { src, .. } => self.reads |= cells(src),
            Act::Store { dst, .. } | Act::Buffer { dst, .. } => self.writes |= cells(dst),
            Act::Copy { dst, src } => {
                self.reads |= cells(src);
                self.writes |= cells(dst);
            }
            Act::Issue { .. } | Act::Remote(_) => self.issues = true,
            Act::Flush { first, count, .. } => {
                self.flushes |= (first..first + count).fold(0, |all, t| all | bit(t));
            }
            Act::Skip | Act::Assume(_) | Act::Assign { .. } | Act::Havoc { .. } => {}
            Act::Assert(_) | Act::Fence | Act::StoreStore | Act::Block(_) | Act::Ordered(_) => {}
        }
    }
}

/// The cells that properties read.
fn seen(machine: &Machine<'_>) -> u64 {
    let program = machine.program;
    let mut seen = 0;
    let mut add = |var: GlobalId| {
        let Cell(base) = program.cell(var, 0);
        let count = program.global(var).cell_count() as u32;
        seen |= (base..base + count).fold(0, |all, cell| all | bit(cell));
    };
    for property in &program.properties {
        property.cond.for_each_atom(&mut |atom| match atom {
            PropAtom::Global(var, _) => add(*var),
            PropAtom::Local(..) | PropAtom::SelfOf(_) | PropAtom::At(..) => {}
        });
    }
    seen
}
