//! *Any number of threads* under RC11: views of a few copies. [`crate::views`] has the idea and the argument; here the states are
//! those of this module, summarised.
//!
//! A *view* is memory (the histories), what the threads that run once know and where they are, and the same of `m` copies of the
//! template declared with `[*]`. The claim: in every reachable state, whatever the number of copies, every `m` of them are a view of the set. The
//! check makes the set by itself:
//!
//! 1. Initial states are in it.
//! 2. It is closed under the steps of the threads that are seen.
//! 3. Let there be one more copy, such that all `m` of the `m + 1` copies are a view in the set, over the same memory. After a step of
//!    any of them the other `m` are a view in the set.
//!
//! A step changes memory, and what the thread knows that takes it. Of other threads it only changes how positions are
//! named (a message is inserted, or becomes an old one), and which accesses they have not seen: that depends on the
//! thread at hand, and not on who else is seen. For this to be so
//!
//! - memory forgets nothing that *all* threads know (there may be others), only what [`Summary`] says;
//! - an access that a view has not seen is known by location and class, not by thread. To join views then keeps an
//!   access as not seen if some thread's is not seen by one and some thread's not by the other: races are only added;
//! - there is no SC order: SC accesses and fences are taken as acquire and release ones, which only adds behaviours.
//!
//! With fewer copies than are seen there are no more runs: a copy that does not move is as it was at the start. (`finally`
//! waits for all copies to end, and is refused; so are deadlock and progress.) A property over `k` copies needs `m >= k`.

use std::collections::BTreeSet;
use std::time::Instant;

use palisade_program::{
    Count, FenceKind, LocalAtom, Order, Pick, Place, Program, PropAtom, PropertyKind, Step,
    TemplateId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::memory::Memory;
use super::packed::Packer;
use super::{Judge, State, Trouble, block_order};
use crate::certificate::{Certificate, Summary};
use crate::check::Options;
use crate::refusal::{Reason, Refusal};
use palisade_program::shift::Groups;

/// More views than this, or more copies together with one more, are not looked at.
const MOST: usize = 300_000;

/// Checks a certificate of views: how many there are.
pub(super) fn check(
    program: &Program,
    certificate: &Certificate,
    summary: Summary,
    options: &Options,
) -> Result<usize, Refusal> {
    let unsupported = |what: &str| Refusal::whole(Reason::Unsupported(what.to_owned()));
    let template = template(program).map_err(&unsupported)?;
    let size = certificate.threads;
    if !(1..=2).contains(&size) {
        return Err(unsupported("views of so many copies"));
    }
    for property in &program.properties {
        let own = property.threads.iter().filter(|t| t.template == template);
        let numbered = own
            .clone()
            .any(|thread| matches!(thread.pick, Pick::Copy(_)));
        if own.count() > size as usize || numbered {
            return Err(unsupported("a property over more copies than a view has"));
        }
    }
    let weak = without_sc_order(program);
    let more = Certificate {
        threads: size + 1,
        ..certificate.clone()
    };
    let of = |certificate: &Certificate| {
        let mut judge = Judge::new(&weak, certificate, summary, Groups::default());
        judge.nameless = true;
        judge
    };
    let mut search = Search {
        seen: of(certificate),
        more: of(&more),
        template,
        packer: Packer::default(),
        parts: FxHashMap::default(),
        states: Vec::new(),
        views: FxHashSet::default(),
        beside: FxHashMap::default(),
        open: Vec::new(),
    };
    let found = search.all(options);
    found.map_err(|stop| match stop {
        Stop::Trouble(trouble) => search.seen.refusal(trouble),
        Stop::Refusal(refusal) => refusal,
    })
}

/// The template that is declared with `[*]`, if this check can treat the program.
fn template(program: &Program) -> Result<TemplateId, &'static str> {
    let mut any = program
        .template_ids()
        .filter(|t| program.template(*t).count == Count::Any);
    let (Some(template), None) = (any.next(), any.next()) else {
        return Err("another number of templates with any number of copies than one");
    };
    if program.deadlock || program.progress {
        return Err("deadlock and progress of any number of threads under RC11");
    }
    let mut numbered = false;
    for edge in &program.template(template).cfg.edges {
        edge.step.for_each_expr(&mut |e| {
            numbered |= e.any_atom(|atom| *atom == LocalAtom::SelfId);
        });
    }
    for property in &program.properties {
        if property.kind == PropertyKind::Finally {
            return Err("`finally` with any number of threads");
        }
        numbered |= property.cond.any_atom(|atom| match atom {
            PropAtom::SelfOf(t) => property.threads[t.index()].template == template,
            PropAtom::Global(..) | PropAtom::Local(..) | PropAtom::At(..) => false,
        });
    }
    if numbered {
        return Err("the numbers of copies, with any number of them under RC11");
    }
    Ok(template)
}

/// The program with acquire and release in place of seq_cst.
fn without_sc_order(program: &Program) -> Program {
    let mut weak = program.clone();
    for edge in weak.templates.iter_mut().flat_map(|t| &mut t.cfg.edges) {
        match &mut edge.step {
            Step::Atomic(atomic) => {
                let default = block_order(atomic.kind);
                for inner in &mut atomic.body.edges {
                    weaken(&mut inner.step, default);
                }
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
            | Step::Flush(_)) => weaken(step, Order::Plain),
        }
    }
    weak
}

fn weaken(step: &mut Step, default: Order) {
    let acq_rel = |place: &mut Place| {
        if place.order.or(default) == Order::SeqCst {
            place.order = Order::AcqRel;
        }
    };
    match step {
        Step::Load { src, .. } => acq_rel(src),
        Step::Store { dst, .. } => acq_rel(dst),
        Step::Fence(kind @ (FenceKind::Full | FenceKind::Ordered(Order::SeqCst))) => {
            *kind = FenceKind::Ordered(Order::AcqRel);
        }
        Step::Fence(FenceKind::StoreStore | FenceKind::Candidate | FenceKind::Ordered(_)) => {}
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
        Step::Assert { .. } | Step::Atomic(_) | Step::Put { .. } | Step::Get { .. } => {}
        Step::RemoteAtomic(_) | Step::Flush(_) => {}
    }
}

/// Why the search has ended without a proof.
enum Stop {
    Trouble(Trouble),
    Refusal(Refusal),
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

/// Memory with the threads that run once, and some copies in order: numbers of [`Search::states`].
type View = (u32, Vec<u32>);

struct Search<'p> {
    /// Over states of `m` copies, and of one more.
    seen: Judge<'p>,
    more: Judge<'p>,
    template: TemplateId,
    packer: Packer,
    /// Parts of states by their bytes. A part is a state of some of the threads; that of a copy has no histories.
    parts: FxHashMap<Box<[u8]>, u32>,
    states: Vec<State>,
    /// The set.
    views: FxHashSet<View>,
    /// The copies that are a view, over this memory, with these others.
    beside: FxHashMap<View, BTreeSet<u32>>,
    open: Vec<View>,
}

impl Search<'_> {
    fn all(&mut self, options: &Options) -> Result<usize, Stop> {
        for state in self.seen.initial()? {
            self.add(&state, None);
        }
        let mut together: FxHashSet<View> = FxHashSet::default();
        while let Some(view) = self.open.pop() {
            if let Some(reason) = options.limits.exceeded(Instant::now()) {
                let reason = Reason::Undecided(reason);
                return Err(Stop::Refusal(Refusal::whole(reason)));
            }
            if self.views.len().max(together.len()) > MOST.min(options.states) {
                let reason = Reason::Unsupported("so many views".to_owned());
                return Err(Stop::Refusal(Refusal::whole(reason)));
            }
            let state = self.composed(&self.seen, &view);
            self.seen.properties(&state)?;
            for thread in 0..self.seen.instances.len() {
                for after in self.seen.moves(&state, thread)? {
                    self.add(&after, None);
                }
            }
            for larger in self.larger(&view) {
                if together.insert(larger.clone()) {
                    self.step_unseen(&larger)?;
                }
            }
        }
        Ok(self.views.len())
    }

    /// One more copy, of which all views are in the set.
    fn larger(&self, (common, copies): &View) -> Vec<View> {
        let beside = |rest: Vec<u32>| self.beside.get(&(*common, rest));
        let candidates = match copies[..] {
            [_] => beside(Vec::new()).cloned(),
            [a, b] => beside(vec![a])
                .zip(beside(vec![b]))
                .map(|(a, b)| a.intersection(b).copied().collect()),
            _ => None,
        };
        let with = |more: u32| {
            let mut all = copies.clone();
            all.push(more);
            all.sort_unstable();
            (*common, all)
        };
        candidates.into_iter().flatten().map(with).collect()
    }

    /// Each copy in turn moves, and is not seen afterwards.
    fn step_unseen(&mut self, view: &View) -> Result<(), Stop> {
        let state = self.composed(&self.more, view);
        let copies = self.copies(&self.more);
        for (number, &thread) in copies.iter().enumerate() {
            if number > 0 && view.1[number] == view.1[number - 1] {
                continue;
            }
            for after in self.more.moves(&state, thread)? {
                self.add(&after, Some(thread));
            }
        }
        Ok(())
    }

    /// The threads that are copies.
    fn copies(&self, judge: &Judge<'_>) -> Vec<usize> {
        let all = judge.instances.iter().enumerate();
        all.filter(|(_, instance)| instance.template == self.template)
            .map(|(thread, _)| thread)
            .collect()
    }

    /// A view of a state, without a copy that is not seen.
    fn add(&mut self, state: &State, without: Option<usize>) {
        let judge = if without.is_some() {
            &self.more
        } else {
            &self.seen
        };
        let copies = self.copies(judge);
        let once: Vec<usize> = (0..state.at.len())
            .filter(|thread| !copies.contains(thread))
            .collect();
        let common = self.part(part(state, &once, true));
        let mut own: Vec<u32> = Vec::new();
        for &copy in copies.iter().filter(|copy| Some(**copy) != without) {
            own.push(self.part(part(state, &[copy], false)));
        }
        own.sort_unstable();
        let view = (common, own);
        if self.views.contains(&view) {
            return;
        }
        for (i, copy) in view.1.iter().enumerate() {
            let mut rest = view.1.clone();
            rest.remove(i);
            let beside = self.beside.entry((common, rest)).or_default();
            beside.insert(*copy);
        }
        self.views.insert(view.clone());
        self.open.push(view);
    }

    /// The number of a part.
    fn part(&mut self, state: State) -> u32 {
        let bytes = self.packer.pack(&state);
        if let Some(number) = self.parts.get(bytes) {
            return *number;
        }
        let number = self.states.len() as u32;
        self.parts.insert(bytes.into(), number);
        self.states.push(state);
        number
    }

    fn composed(&self, judge: &Judge<'_>, (common, copies): &View) -> State {
        let common = &self.states[*common as usize];
        let mut once = 0..common.at.len();
        let mut copies = copies.iter().map(|copy| &self.states[*copy as usize]);
        let mut state = State {
            at: Vec::new(),
            locals: Vec::new(),
            memory: Memory {
                minds: Vec::new(),
                ..common.memory.clone()
            },
            late: vec![false; judge.instances.len()],
            stuck: vec![false; judge.instances.len()],
            news: None,
        };
        for instance in &judge.instances {
            let (from, thread) = if instance.template == self.template {
                (copies.next(), Some(0))
            } else {
                (Some(common), once.next())
            };
            if let (Some(from), Some(thread)) = (from, thread) {
                state.at.push(from.at[thread]);
                state.locals.push(from.locals[thread].clone());
                state.memory.minds.push(from.memory.minds[thread].clone());
            }
        }
        state
    }
}

/// Some threads of a state, with its histories or without.
fn part(state: &State, threads: &[usize], histories: bool) -> State {
    let memory = &state.memory;
    let cells = if histories {
        memory.cells.clone()
    } else {
        Vec::new()
    };
    State {
        at: threads.iter().map(|&t| state.at[t]).collect(),
        locals: threads.iter().map(|&t| state.locals[t].clone()).collect(),
        memory: Memory {
            cells,
            gates: Vec::new(),
            minds: threads.iter().map(|&t| memory.minds[t].clone()).collect(),
            tracked: memory.tracked.clone(),
            nameless: memory.nameless,
            // Of other parts it is not known.
            folded: true,
        },
        late: Vec::new(),
        stuck: Vec::new(),
        news: None,
    }
}
