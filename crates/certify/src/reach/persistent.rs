//! *Persistent sets* [Godefroid, LNCS 1996, ch. 4]: in a state it may be enough to look at the steps of one
//! thread, since nothing that others can do before it moves makes a difference to them.
//!
//! A *part* of a state is either the program steps of a thread alone, or these together with the departures from its
//! store buffer. What a part *touches* is found in the text of the program: the cells that its steps up to the next stop read and
//! write (and, with departures, the cells of stores that are buffered). What others touch *later* are the cells that any
//! step behind their location reads or writes, and those of stores that they have buffered. A thread is *waiting*
//! if nothing is buffered and none of its steps changes anything in this state. It stays so until a cell that it reads is written; so it
//! counts only if another thread that counts, or a buffer, may write one.
//!
//! A part is enough if
//!
//! - it has a step that changes something;
//! - it writes no cell that those who count touch later, and reads none that they write later or have buffered;
//! - without its departures: no step of it waits for the buffer to be empty, or nothing is buffered. Its other steps
//!   commute with departures from its own buffer: a store goes to the other end, and a load reads the newest own store, or
//!   what this has left in memory;
//! - no `never` looks at what it changes;
//! - one of its successors is expanded later than the state itself. Otherwise all steps are taken.
//!
//! **Claim.** What can fail in some run (an assertion, an index, a `never`, a `finally`, a deadlock) fails in a state that is found.
//! Let w be a shortest sequence of steps from a state s that was found to a state where something fails, and to that step,
//! if it is one. Let only a part P be looked at in s. If w has a step of P, let a be the first. Those before it are of others, who were
//! not touched by P: they count, and by the second and third condition neither do they change what a
//! does, nor a what they do. So a comes first in another sequence that is as long, and what is left of it is shorter. If w has no step of P,
//! any step of P may be put before it: those of w do the same behind it, what fails still fails
//! (a `never` by the fourth condition; a state in which all have ended or nobody can move cannot be the last of w, since P can move there).
//! The sequence is as long as before, but starts, by the last condition, in a state that is expanded later. States are
//! finitely many, so this happens finitely often.
//!
//! Progress is about more than what happens next: where it is asked for, and where states are looked at up to a shift, all
//! steps are taken.

use super::threads::Threads;
use crate::stops::until_stop;
use palisade_program::{
    Atomic, Cell, Cfg, Edge, Expr, FenceKind, LocId, LocalId, Model, Place, Program, PropAtom,
    PropertyKind, Step, TemplateId,
};

/// A set of cells.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Cells(Vec<u64>);

impl Cells {
    fn none(program: &Program) -> Self {
        Self(vec![0; program.cell_count().div_ceil(64)])
    }

    fn insert(&mut self, cell: Cell) {
        self.0[cell.index() / 64] |= 1 << (cell.index() % 64);
    }

    fn join(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}

/// What steps touch.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Touched {
    reads: Cells,
    /// At once, or when a store leaves its buffer.
    writes: Cells,
}

impl Touched {
    fn nothing(program: &Program) -> Self {
        let none = Cells::none(program);
        Self {
            reads: none.clone(),
            writes: none,
        }
    }

    fn join(&mut self, other: &Self) {
        self.reads.join(&other.reads);
        self.writes.join(&other.writes);
    }

    fn add(&mut self, program: &Program, step: &Step) {
        match step {
            Step::Load { src, .. } => {
                cells(program, src).for_each(|cell| self.reads.insert(cell));
            }
            Step::Store { dst, .. } => {
                cells(program, dst).for_each(|cell| self.writes.insert(cell));
            }
            Step::Atomic(atomic) => {
                let edges = atomic.body.edges.iter();
                edges.for_each(|edge| self.add(program, &edge.step));
            }
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
            Step::Fence(_) | Step::Assert { .. } => {}
            // Programs with these are not reduced.
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {}
        }
    }
}

/// The cells that a place may be.
fn cells(program: &Program, place: &Place) -> impl Iterator<Item = Cell> {
    let count = program.global(place.var).cell_count() as u32;
    let only = match &place.index {
        None => Some(0),
        Some(Expr::Const(index)) => u32::try_from(*index).ok().filter(|index| *index < count),
        Some(Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..)) => None,
    };
    let range = only.map_or(0..count, |index| index..index + 1);
    range.map(|index| program.cell(place.var, index))
}

/// What is known of a location.
struct At {
    /// What the steps from here touch, up to the next stop. Stores that are buffered are not among the writes.
    next: Touched,
    /// Whether one of them waits for the buffer to be empty.
    waits: bool,
    /// Whether a `never` looks at what they do: at locations, locals and memory.
    is_seen: bool,
    /// What all steps from here on touch.
    later: Touched,
}

/// Which of a thread's steps are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) thread: usize,
    /// Those of the memory system, too.
    pub(super) departures: bool,
}

/// Finds persistent sets.
pub(super) struct Persistent {
    /// For each thread what is known of its locations.
    threads: Vec<Vec<At>>,
    /// The cells that a `never` reads.
    seen: Cells,
    /// For each thread the cells of the stores that it has buffered.
    buffered: Vec<Cells>,
    /// Whether a thread has a program step that changes something.
    moves: Vec<bool>,
    /// Where each thread is.
    locs: Vec<LocId>,
    /// Who can move before the part does.
    counts: Vec<bool>,
    /// What these may write.
    written: Cells,
}

impl Persistent {
    /// For the threads of a program, unless it is one that is not reduced.
    pub(super) fn of(threads: &Threads<'_>) -> Option<Self> {
        let program = threads.program();
        let is_remote = |step: &Step| match step {
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => true,
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => false,
            Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => false,
            Step::Atomic(_) | Step::Assert { .. } => false,
        };
        let count = threads.count();
        let mut templates = (0..count).map(|t| threads.instance(t).template);
        let has_remote = templates.any(|template| {
            let edges = program.template(template).cfg.edges.iter();
            edges.map(|edge| &edge.step).any(is_remote)
        });
        if program.progress || has_remote || count < 2 {
            return None;
        }
        let mut seen = Cells::none(program);
        let nevers = || {
            let all = program.properties.iter();
            all.filter(|p| p.kind == PropertyKind::Never)
        };
        for never in nevers() {
            never.cond.for_each_atom(&mut |atom| {
                if let PropAtom::Global(var, index) = atom {
                    seen.insert(program.cell(*var, index.unwrap_or(0)));
                }
            });
        }
        let known = |thread| {
            let template = threads.instance(thread).template;
            locations(
                program,
                threads.model(),
                template,
                threads.stops(thread),
                &seen,
            )
        };
        Some(Self {
            threads: (0..count).map(known).collect(),
            buffered: vec![Cells::none(program); count],
            moves: vec![false; count],
            locs: vec![LocId::from(0); count],
            counts: vec![false; count],
            written: Cells::none(program),
            seen,
        })
    }

    /// Looks at a state: `own` has the numbers of the threads' states, and `moves` says which threads have a program step
    /// that changes something.
    pub(super) fn look(&mut self, threads: &Threads<'_>, own: &[u32], moves: &[bool]) {
        self.moves.copy_from_slice(moves);
        for (thread, &number) in own.iter().enumerate() {
            let own = threads.own(thread, number);
            self.locs[thread] = own.loc;
            self.buffered[thread].clear();
            let cells = own.buffer.cells();
            cells.for_each(|cell| self.buffered[thread].insert(cell));
        }
    }

    /// A part of the steps of this state that is enough, of the threads from `first` on.
    pub(super) fn part(&mut self, first: usize) -> Option<Part> {
        let parts = (first..self.locs.len())
            .flat_map(|thread| [false, true].map(|departures| Part { thread, departures }));
        parts.into_iter().find(|part| self.is_enough(*part))
    }

    fn is_enough(&mut self, part: Part) -> bool {
        let Part { thread, departures } = part;
        let locs = &self.locs;
        let here = &self.threads[thread][locs[thread].index()];
        let has_stores = !self.buffered[thread].is_empty();
        let own = if departures {
            // Without stores it is the same as without departures.
            has_stores && !self.buffered[thread].meets(&self.seen)
        } else {
            self.moves[thread] && !(has_stores && here.waits)
        };
        if !own || here.is_seen {
            return false;
        }
        let mut writes = here.next.writes.clone();
        if departures {
            writes.join(&self.buffered[thread]);
        }
        // Who counts: those who can move, and whom they may wake.
        self.written.clear();
        for (other, buffered) in self.buffered.iter().enumerate() {
            if other != thread || !departures {
                self.written.join(buffered);
            }
            let is_awake = self.moves[other] || !buffered.is_empty();
            self.counts[other] = other != thread && is_awake;
            if self.counts[other] {
                let later = &self.threads[other][locs[other].index()].later;
                self.written.join(&later.writes);
            }
        }
        loop {
            let asleep = (0..locs.len()).filter(|other| *other != thread && !self.counts[*other]);
            let woken = asleep.into_iter().find(|&other| {
                let next = &self.threads[other][locs[other].index()].next;
                next.reads.meets(&self.written)
            });
            let Some(woken) = woken else { break };
            self.counts[woken] = true;
            let later = &self.threads[woken][locs[woken].index()].later;
            self.written.join(&later.writes);
        }
        let others = (0..locs.len()).filter(|other| *other != thread);
        !others.into_iter().any(|other| {
            let later = &self.threads[other][locs[other].index()].later;
            let buffered = &self.buffered[other];
            let disturbs = self.counts[other]
                && (writes.meets(&later.reads)
                    || writes.meets(&later.writes)
                    || here.next.reads.meets(&later.writes));
            disturbs || writes.meets(buffered) || here.next.reads.meets(buffered)
        })
    }
}

/// What is known of all locations of a template.
fn locations(
    program: &Program,
    model: Model,
    template: TemplateId,
    stops: &[bool],
    seen: &Cells,
) -> Vec<At> {
    let cfg = &program.template(template).cfg;
    let watched = Watched::of(program, template);
    let later = later(program, cfg);
    let locs = cfg.locs().zip(later);
    locs.map(|(loc, later)| {
        let first = cfg.outgoing(loc).map(|(_, edge)| edge);
        let all = first.flat_map(|edge| [vec![edge], until_stop(cfg, edge, stops)].concat());
        let all: Vec<&Edge> = all.collect();
        let mut next = Touched::nothing(program);
        for edge in &all {
            let mut touched = Touched::nothing(program);
            touched.add(program, &edge.step);
            if is_buffered(&edge.step, model) {
                touched.writes.clear();
            }
            next.join(&touched);
        }
        let is_watched = |edge: &&Edge| {
            watched.locs.contains(&edge.from)
                || watched.locs.contains(&edge.to)
                || watched.writes(&edge.step)
        };
        At {
            waits: all.iter().any(|edge| waits(&edge.step)),
            is_seen: all.iter().any(is_watched) || next.writes.meets(seen),
            next,
            later,
        }
    })
    .collect()
}

/// For each location what all steps from there on touch.
fn later(program: &Program, cfg: &Cfg) -> Vec<Touched> {
    let mut all = vec![Touched::nothing(program); cfg.loc_count()];
    loop {
        let mut changed = false;
        for edge in cfg.edges.iter().rev() {
            let mut here = all[edge.from.index()].clone();
            here.add(program, &edge.step);
            here.join(&all[edge.to.index()]);
            if here != all[edge.from.index()] {
                all[edge.from.index()] = here;
                changed = true;
            }
        }
        if !changed {
            return all;
        }
    }
}

/// Whether what the step writes goes to the store buffer.
fn is_buffered(step: &Step, model: Model) -> bool {
    match model {
        Model::Sc | Model::Rma | Model::Rc11 => false,
        Model::Tso | Model::Pso => step.stored().is_some(),
    }
}

/// Whether the step waits for the buffer to be empty.
fn waits(step: &Step) -> bool {
    match step {
        Step::Atomic(atomic) => Atomic::drains(atomic),
        Step::Fence(FenceKind::Full | FenceKind::Ordered(_)) => true,
        Step::Fence(FenceKind::Candidate | FenceKind::StoreStore) => false,
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => false,
        Step::Load { .. } | Step::Store { .. } | Step::Assert { .. } => false,
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => true,
    }
}

/// What a `never` looks at in a template.
#[derive(Default)]
struct Watched {
    locs: Vec<LocId>,
    locals: Vec<LocalId>,
}

impl Watched {
    fn of(program: &Program, template: TemplateId) -> Self {
        let mut watched = Self::default();
        let all = program.properties.iter();
        for property in all.filter(|p| p.kind == PropertyKind::Never) {
            property.cond.for_each_atom(&mut |atom| match atom {
                PropAtom::At(t, loc) if property.threads[t.index()].template == template => {
                    watched.locs.push(*loc);
                }
                PropAtom::Local(t, local) if property.threads[t.index()].template == template => {
                    watched.locals.push(*local);
                }
                PropAtom::At(..) | PropAtom::Local(..) => {}
                PropAtom::Global(..) | PropAtom::SelfOf(_) => {}
            });
        }
        watched
    }

    fn writes(&self, step: &Step) -> bool {
        match step {
            Step::Assign { dst, .. } | Step::Havoc { dst, .. } | Step::Load { dst, .. } => {
                self.locals.contains(dst)
            }
            Step::Atomic(atomic) => {
                let written = atomic.body.written_locals();
                written.iter().any(|local| self.locals.contains(local))
            }
            Step::Skip | Step::Assume(_) | Step::Store { .. } => false,
            Step::Fence(_) | Step::Assert { .. } => false,
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => false,
        }
    }
}
