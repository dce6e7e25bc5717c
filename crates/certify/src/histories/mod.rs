//! Certificates of *histories*, for RC11. Such a certificate says no more than how much of
//! histories and of the SC order is kept ([`Summary`]). The check finds the invariant by itself:
//! the least set of states, with so much kept, that has the initial ones and is closed under
//! every step; no state of it may violate anything. That is as much work as to confirm a set
//! that is given, and nothing in the certificate is trusted.
//!
//! The steps are this crate's own account of RC11 [Lahav et al., PLDI 2017]; docs/memory-models.md
//! has the machine in words, docs/soundness.md why what is forgotten only adds behaviours.
//!
//! | file | term |
//! |---|---|
//! | `view` | spots in histories, views |
//! | `memory` | messages, gates of the SC order, what threads know; fences |
//! | `access` | loads, stores, read-modify-writes |
//! | `shared`, `packed` | parts that states have in common; states as bytes |
//! | `ahead`, `forget` | what may lie ahead; what may be forgotten |
//! | `fair` | deadlock and progress |
//! | `prompt` | runs in which loads happen as soon as they can |
//! | `far` | counters far behind, by order |
//! | `many` | any number of threads: views of a few copies |
//!
//! Threads move from stop to stop ([`crate::stops`]): between them are steps over locals only,
//! which commute with every step of another thread, whatever the memory model. Tests are stops
//! here, since a load that leads to one may race.

mod access;
mod ahead;
mod fair;
mod far;
mod forget;
mod many;
mod memory;
mod packed;
mod prompt;
mod shared;
mod view;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use palisade_logic::Term;
use palisade_program::liveness::Liveness;
use palisade_program::property::{PropAtom, PropertyKind};
use palisade_program::shift::{Counter, FAR, Group, Groups};
use palisade_program::{
    AtomicKind, Cfg, Domain, Edge, Init, Instance, LocId, LocalExpr, LocalId, Model, Order, Orders,
    Place, Program, PropExpr, Span, Step,
};
use rustc_hash::FxHashSet;

use crate::certificate::{Certificate, Summary};
use crate::check::{Options, admissible};
use crate::expression::term_of;
use crate::property::choices;
use crate::refusal::{Reason, Refusal, Site};
use crate::shift;
use crate::steps::Trouble;
use crate::stops::stops;

use access::{Access, Source};
use ahead::{Ahead, ahead, fence_order};
use far::Scene;
use memory::Memory;
use packed::Packer;
use prompt::Stand;
use shared::Shared;
use view::Spot;

/// More states than this are not looked at.
const MOST_STATES: usize = 3_000_000;
/// The same for prompt runs, which are tried without a search of the machine before.
const MOST_PROMPT: usize = 300_000;
/// With so many messages a summary of prompt runs forgets nothing.
const EXACT: u32 = 64;
/// More values of one choice than this are not tried.
const MOST_VALUES: i128 = 256;

/// Whether every way through a block has a store.
fn stores_always(body: &Cfg) -> bool {
    let mut reached = vec![body.entry];
    let mut next = 0;
    while let Some(&at) = reached.get(next) {
        next += 1;
        let idle = body.outgoing(at).filter(|(_, e)| e.step.stored().is_none());
        for (_, edge) in idle {
            if !reached.contains(&edge.to) {
                reached.push(edge.to);
            }
        }
    }
    !reached.contains(&body.exit)
}

/// The cells with SC accesses, if there are SC fences: there it matters which stores happen
/// before a fence, and which are only known by loads.
fn tracked(program: &Program) -> Vec<bool> {
    let mut cells = vec![false; program.cell_count()];
    let mut fenced = false;
    for edge in program.templates.iter().flat_map(|t| &t.cfg.edges) {
        let block = edge.step.block();
        let default = block.map_or(Order::Plain, |block| block_order(block.kind));
        let inner = block.into_iter().flat_map(|block| &block.body.edges);
        for step in std::iter::once(edge).chain(inner).map(|edge| &edge.step) {
            if let Step::Fence(kind) = step {
                fenced |= fence_order(*kind) == Some(Order::SeqCst);
            }
            let place = step.loaded().or(step.stored());
            let seq_cst = place.filter(|p| p.order.or(default) == Order::SeqCst);
            if let Some(place) = seq_cst {
                let first = program.cell(place.var, 0).index();
                let count = program.global(place.var).cell_count();
                cells[first..first + count].fill(true);
            }
        }
    }
    cells.iter().map(|sc| *sc && fenced).collect()
}

/// The order of an access in an atomic block where none is written.
const fn block_order(kind: AtomicKind) -> Order {
    match kind {
        AtomicKind::Lock => Order::Acquire,
        AtomicKind::Unlock => Order::Release,
        AtomicKind::Block | AtomicKind::Read | AtomicKind::Cas => Order::SeqCst,
        AtomicKind::Xchg | AtomicKind::FetchAdd => Order::SeqCst,
    }
}

/// A state of the invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
struct State {
    at: Vec<LocId>,
    locals: Vec<Shared<Vec<i64>>>,
    memory: Memory,
    /// Threads that wait at a read for a message that is not there yet (prompt runs).
    late: Vec<bool>,
    /// Between stops only: threads that cannot go on, and the message that was just written.
    stuck: Vec<bool>,
    news: Option<(usize, Source)>,
}

impl State {
    /// The same with another memory.
    fn with(&self, memory: Memory) -> Self {
        Self {
            at: self.at.clone(),
            locals: self.locals.clone(),
            memory,
            late: self.late.clone(),
            stuck: self.stuck.clone(),
            news: self.news,
        }
    }
}

/// Checks a certificate of histories: how many states the invariant has.
pub(crate) fn check(
    program: &Program,
    certificate: &Certificate,
    summary: Summary,
    options: &Options,
) -> Result<usize, Refusal> {
    admissible(program, certificate).map_err(Refusal::whole)?;
    let unsupported = |what: &str| Refusal::whole(Reason::Unsupported(what.to_owned()));
    if certificate.model != Model::Rc11 || program.orders != Orders::Kept {
        return Err(unsupported("histories of another model than RC11"));
    }
    let asked = program.deadlock || program.progress;
    if asked && program.templates.iter().any(|t| t.life.waits_at_assume) {
        return Err(unsupported("assumptions that wait, under RC11"));
    }
    if summary.many {
        return many::check(program, certificate, summary, options);
    }
    let groups = if summary.shifted {
        Groups::infer(program)
    } else {
        Groups::default()
    };
    if let Err(shift::IllTyped) = shift::check(program, &groups) {
        return Err(unsupported("counters that are no group"));
    }
    if summary.prompt && !prompt::suffices(program) {
        return Err(unsupported(
            "prompt runs, where threads are looked at together",
        ));
    }
    let mut judge = Judge::new(program, certificate, summary, groups);
    if !summary.prompt {
        return judge.all(options);
    }
    let mut states = 0;
    for absent in prompt::absences(program, &judge.instances) {
        judge.absent = absent;
        states += judge.all(options)?;
    }
    Ok(states)
}

struct Judge<'p> {
    program: &'p Program,
    summary: Summary,
    instances: Vec<Instance>,
    /// For each thread: its stops, what it can do, what lies ahead, and which locals live, by location.
    stops: Vec<Vec<bool>>,
    stands: Vec<Vec<Stand>>,
    ahead: Vec<Vec<Ahead>>,
    live: Vec<Liveness>,
    /// Threads that do nothing in the runs that are looked at.
    absent: Vec<bool>,
    /// Cells with plain accesses.
    racy: Vec<bool>,
    /// Cells with SC accesses, in a program with SC fences.
    tracked: Rc<Vec<bool>>,
    /// Counters that are shifted together: integers, and words.
    groups: Groups,
    words: Groups,
    /// Whether accesses are not told apart by thread.
    nameless: bool,
}

impl<'p> Judge<'p> {
    fn new(
        program: &'p Program,
        certificate: &Certificate,
        summary: Summary,
        groups: Groups,
    ) -> Self {
        let integers = |group: &Group| group.width.is_none();
        let (groups, words) = groups.0.into_iter().partition(integers);
        let instances = program.instances(certificate.threads);
        let templates = || instances.iter().map(|i| i.template);
        let mut racy = vec![false; program.cell_count()];
        for template in &program.templates {
            for edge in &template.cfg.edges {
                let place = edge.step.loaded().or(edge.step.stored());
                if let Some(place) = place.filter(|p| p.order == Order::Plain) {
                    let first = program.cell(place.var, 0).index();
                    let count = program.global(place.var).cell_count();
                    racy[first..first + count].fill(true);
                }
            }
        }
        Self {
            program,
            summary,
            stops: templates()
                .map(|t| {
                    if summary.prompt {
                        let stands = prompt::stands(program, t);
                        stands.iter().map(|stand| *stand != Stand::Passes).collect()
                    } else {
                        stops(program, Model::Rc11, t)
                    }
                })
                .collect(),
            stands: templates().map(|t| prompt::stands(program, t)).collect(),
            ahead: templates().map(|t| ahead(program, t)).collect(),
            live: templates().map(|t| Liveness::of(program, t)).collect(),
            absent: vec![false; instances.len()],
            racy,
            tracked: Rc::new(tracked(program)),
            groups: Groups(groups),
            words: Groups(words),
            nameless: false,
            instances,
        }
    }

    fn has_counters(&self) -> bool {
        !self.groups.0.is_empty() || !self.words.0.is_empty()
    }

    fn cfg(&self, thread: usize) -> &'p Cfg {
        &self.program.template(self.instances[thread].template).cfg
    }

    fn refusal(&self, trouble: Trouble) -> Refusal {
        let position = self.program.source.position(trouble.span.start);
        let site = Site {
            span: (trouble.span != Span::default()).then_some((trouble.span, position)),
            ..Site::default()
        };
        Refusal {
            reason: trouble.reason,
            site,
        }
    }

    /// The least invariant; every state of it is judged.
    fn all(&self, options: &Options) -> Result<usize, Refusal> {
        let mut seen: FxHashSet<Box<[u8]>> = FxHashSet::default();
        let mut packer = Packer::default();
        let mut is_new = |state: &State| {
            let bytes = packer.pack(state);
            !seen.contains(bytes) && seen.insert(bytes.into())
        };
        let mut open = Vec::new();
        let initial = self.initial().map_err(|t| self.refusal(t))?;
        open.extend(initial.into_iter().filter(&mut is_new));
        let mut count = open.len();
        while let Some(state) = open.pop() {
            // Not a query: only what ends everything ends it.
            if let Some(reason) = options.limits.exceeded(Instant::now()) {
                return Err(Refusal::whole(Reason::Undecided(reason)));
            }
            let most = if self.summary.prompt && self.summary.messages < EXACT {
                MOST_PROMPT
            } else {
                MOST_STATES
            };
            if count > most.min(options.states) {
                let what = Reason::Unsupported("so many states".to_owned());
                return Err(Refusal::whole(what));
            }
            let judged = self.properties(&state).and_then(|()| self.fair(&state));
            judged.map_err(|t| self.refusal(t))?;
            let next = self.successors(&state).map_err(|t| self.refusal(t))?;
            for state in next {
                if is_new(&state) {
                    count += 1;
                    open.push(state);
                }
            }
        }
        Ok(count)
    }

    fn initial(&self) -> Result<Vec<State>, Trouble> {
        let program = self.program;
        let mut cells: Vec<Vec<i64>> = vec![Vec::new()];
        for (index, init) in program.initial_cells().into_iter().enumerate() {
            let (var, _) = program.variable_of(palisade_program::Cell::from(index));
            let values = values(init, program.global(var).domain, program.global(var).span)?;
            cells = extended(&cells, &values);
        }
        let mut locals: Vec<Vec<Vec<i64>>> = vec![Vec::new()];
        for instance in &self.instances {
            let mut own: Vec<Vec<i64>> = vec![Vec::new()];
            for local in &program.template(instance.template).locals {
                own = extended(&own, &values(local.init, local.domain, local.span)?);
            }
            locals = extended(&locals, &own);
        }
        // Who does nothing may as well have ended.
        let at: Vec<LocId> = (0..self.instances.len())
            .map(|t| {
                if self.absent[t] {
                    self.cfg(t).exit
                } else {
                    self.cfg(t).entry
                }
            })
            .collect();
        let mut all = Vec::new();
        for values in &cells {
            for locals in &locals {
                let state = State {
                    at: at.clone(),
                    locals: locals.iter().cloned().map(Shared::from).collect(),
                    memory: Memory {
                        nameless: self.nameless,
                        ..Memory::new(values, self.instances.len(), self.tracked.clone())
                    },
                    late: vec![false; at.len()],
                    stuck: vec![false; at.len()],
                    news: None,
                };
                if self.summary.prompt {
                    for state in self.run_on(state)? {
                        all.push(self.settled(state)?);
                    }
                } else {
                    all.push(self.settled(state)?);
                }
            }
        }
        Ok(all)
    }

    /// The state with what does not matter any more forgotten.
    fn settled(&self, mut state: State) -> Result<State, Trouble> {
        let rests = if self.summary.prompt {
            self.rests(&state)
        } else {
            vec![false; state.at.len()]
        };
        for (thread, locals) in state.locals.iter_mut().enumerate() {
            // Counters of a group are what they are, and whether a thread waits is asked.
            let rests = rests[thread] && !self.has_counters() && !self.program.deadlock;
            for local in 0..locals.len() {
                let live = self.live[thread].is_live(state.at[thread], LocalId::from(local));
                let dead = rests || !live;
                if dead && locals[local] != 0 {
                    locals[local] = 0;
                }
            }
        }
        let ahead = |thread: usize| {
            let at = state.at[thread];
            let ended = at == self.cfg(thread).exit || rests[thread];
            (!ended).then(|| &self.ahead[thread][at.index()])
        };
        let ahead: Vec<Option<&Ahead>> = (0..state.at.len()).map(ahead).collect();
        state.memory.settle(self.summary, &ahead);
        state.stuck.fill(false);
        if self.summary.prompt {
            self.shift_far(&mut state)?;
        } else {
            self.shift(&self.groups, &mut state)?;
        }
        self.shift(&self.words, &mut state)?;
        Ok(state)
    }

    /// Moves each group of counters so that the newest value of its first cell is from 0 to the
    /// modulus - 1.
    fn shift(&self, groups: &Groups, state: &mut State) -> Result<(), Trouble> {
        for group in &groups.0 {
            let first = self.program.cell(group.globals[0], 0).index();
            let newest = state.memory.cells[first].last();
            let newest = newest.map_or(0, |message| message.value);
            let by = newest - newest.rem_euclid(group.modulus);
            let fits = Cell::new(true);
            let moved = |value: i64| {
                let moved = shift::moved(group, value, by);
                fits.set(fits.get() && moved.is_some());
                moved.unwrap_or(value)
            };
            let far = |value: i64| shift::lag(group, value) > group.window();
            for &var in &group.globals {
                let cells = 0..self.program.global(var).cell_count() as u32;
                for cell in cells.map(|i| self.program.cell(var, i).index()) {
                    state.memory.shift(cell, &moved, &far);
                }
            }
            for (thread, instance) in self.instances.iter().enumerate() {
                let at = state.at[thread];
                let own = group.locals.iter();
                let own = own.filter(|(t, loc, _)| (*t, *loc) == (instance.template, at));
                // Dead locals are 0.
                for (_, _, local) in own.filter(|(.., l)| self.live[thread].is_live(at, *l)) {
                    if by != 0 {
                        let value = &mut state.locals[thread][local.index()];
                        *value = moved(*value);
                    }
                }
            }
            if !fits.get() {
                return Err(unsupported("a value of more than 64 bits", Span::default()));
            }
        }
        Ok(())
    }

    /// The value of an expression, outside of atomic blocks.
    fn value(
        &self,
        state: &State,
        thread: usize,
        e: &LocalExpr,
        span: Span,
    ) -> Result<i64, Trouble> {
        self.value_in(state, thread, e, None, span)
    }

    /// The value of an expression, perhaps in an atomic block.
    fn value_in(
        &self,
        state: &State,
        thread: usize,
        e: &LocalExpr,
        block: Option<&Cfg>,
        span: Span,
    ) -> Result<i64, Trouble> {
        if !self.summary.prompt || self.groups.0.is_empty() {
            return self.plain_value(state, thread, e, span);
        }
        let scene = Scene {
            state,
            thread,
            block,
            span,
        };
        self.far_value(e, &scene)
    }

    /// The value that is written to a variable of a group, or of none.
    fn written(
        &self,
        state: &State,
        thread: usize,
        e: &LocalExpr,
        (group, block): (Option<&Group>, Option<&Cfg>),
        span: Span,
    ) -> Result<i64, Trouble> {
        if !self.summary.prompt || self.groups.0.is_empty() {
            return self.plain_value(state, thread, e, span);
        }
        let scene = Scene {
            state,
            thread,
            block,
            span,
        };
        self.far_written(e, group, &scene)
    }

    fn cell(
        &self,
        state: &State,
        thread: usize,
        place: &Place,
        span: Span,
    ) -> Result<usize, Trouble> {
        let index = match &place.index {
            None => 0,
            Some(index) => self.value(state, thread, index, span)?,
        };
        let count = self.program.global(place.var).cell_count() as i64;
        if !(0..count).contains(&index) {
            return Err(trouble(Reason::Index, span));
        }
        Ok(self.program.cell(place.var, index as u32).index())
    }

    /// The states after a move.
    fn successors(&self, state: &State) -> Result<Vec<State>, Trouble> {
        if self.summary.prompt {
            return self.prompt_moves(state);
        }
        let mut all = Vec::new();
        for thread in 0..self.instances.len() {
            all.extend(self.moves(state, thread)?);
        }
        Ok(all)
    }

    /// The states after a move of a thread: one step, and then local ones up to a stop.
    fn moves(&self, state: &State, thread: usize) -> Result<Vec<State>, Trouble> {
        let cfg = self.cfg(thread);
        let mut open = Vec::new();
        if state.at[thread] != cfg.exit {
            for (_, edge) in cfg.outgoing(state.at[thread]) {
                self.step(state, thread, edge, &mut open)?;
            }
        }
        let mut done = Vec::new();
        while let Some(state) = open.pop() {
            let at = state.at[thread];
            if self.stops[thread][at.index()] {
                done.push(self.settled(state)?);
                continue;
            }
            for (_, edge) in cfg.outgoing(at) {
                self.step(&state, thread, edge, &mut open)?;
            }
        }
        Ok(done)
    }

    /// The messages that a thread may read, in this atomic block or outside. Of values far
    /// behind too little is known: nobody may read them. A block that always stores cannot if no such
    /// message is left for a read-modify-write.
    fn sources(
        &self,
        memory: &Memory,
        thread: usize,
        cell: usize,
        block: Option<&Cfg>,
        span: Span,
    ) -> Result<Vec<(Source, i64)>, Trouble> {
        let mut all = memory.sources(thread, cell);
        if !self.has_counters() {
            return Ok(all);
        }
        let (var, _) = self.program.variable_of(palisade_program::Cell::from(cell));
        let is_word = self.words.of(Counter::Global(var)).is_some();
        // Of words far behind no order is known, which is what is used of integers.
        if self.summary.prompt && !is_word {
            let spot = &memory.minds[thread].now.spots[cell];
            let updates = block.is_some_and(stores_always);
            let is_free = |value| spot.old(value).is_some_and(|fact| fact.free);
            all.retain(|(_, value)| !(updates && far::is_far(*value)) || is_free(*value));
            return Ok(all);
        }
        if let Some(far) = memory.minds[thread].now.spots[cell].old(FAR) {
            if far.free || !block.is_some_and(stores_always) {
                return Err(unsupported("a counter that is read far behind", span));
            }
            all.retain(|(_, value)| *value != FAR);
        }
        Ok(all)
    }

    /// Every way in which a step may happen.
    fn step(
        &self,
        state: &State,
        thread: usize,
        edge: &Edge,
        out: &mut Vec<State>,
    ) -> Result<(), Trouble> {
        let span = edge.span;
        let arrived = |mut state: State| {
            state.at[thread] = edge.to;
            state
        };
        match &edge.step {
            Step::Load { dst, src } => {
                let cell = self.cell(state, thread, src, span)?;
                for (source, value) in self.sources(&state.memory, thread, cell, None, span)? {
                    let access = Access {
                        thread,
                        cell,
                        order: src.order,
                        read: Some(source),
                        write: None,
                    };
                    let mut after = state.clone();
                    after.locals[thread][dst.index()] = value;
                    self.happen(&arrived(after), &access, span, out)?;
                }
            }
            Step::Store { dst, value } => {
                let access = Access {
                    thread,
                    cell: self.cell(state, thread, dst, span)?,
                    order: dst.order,
                    read: None,
                    write: Some(self.written(
                        state,
                        thread,
                        value,
                        (self.group_of(dst.var), None),
                        span,
                    )?),
                };
                self.happen(&arrived(state.clone()), &access, span, out)?;
            }
            Step::Fence(kind) => match fence_order(*kind) {
                None if *kind == palisade_program::FenceKind::StoreStore => {
                    return Err(unsupported("a store-store fence under RC11", span));
                }
                None => out.push(arrived(state.clone())),
                Some(order) => {
                    for memory in state.memory.fence(thread, order) {
                        out.push(arrived(state.with(memory)));
                    }
                }
            },
            Step::Atomic(atomic) => {
                let way = Way {
                    state: state.clone(),
                    at: atomic.body.entry,
                    event: None,
                    reads: None,
                };
                let order = block_order(atomic.kind);
                for (way, span) in self.ways(&atomic.body, thread, order, way)? {
                    let after = arrived(way.state);
                    match way.event {
                        None => out.push(after),
                        Some(access) => self.happen(&after, &access, span, out)?,
                    }
                }
            }
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {
                return Err(unsupported("a remote operation under RC11", span));
            }
            local @ (Step::Skip
            | Step::Assume(_)
            | Step::Assign { .. }
            | Step::Havoc { .. }
            | Step::Assert { .. }) => {
                let after = self.local(state, thread, local, (edge.to, None), span)?;
                out.extend(after.into_iter().map(arrived));
            }
        }
        Ok(())
    }

    /// The access happens in every way; `after` has everything else behind it.
    fn happen(
        &self,
        after: &State,
        access: &Access,
        span: Span,
        out: &mut Vec<State>,
    ) -> Result<(), Trouble> {
        let all = after.memory.access(access, &self.racy);
        let all = all.map_err(|()| trouble(Reason::Race, span))?;
        for memory in all {
            let spot = memory.minds[access.thread].now.spots[access.cell].clone();
            let mut state = after.with(memory);
            if let Some(value) = access.write {
                let source = match spot {
                    Spot::Kept(i) => Source::Kept(i),
                    Spot::Old(_) | Spot::Nowhere => Source::Old(value),
                };
                state.news = Some((access.cell, source));
            }
            out.push(state);
        }
        Ok(())
    }

    /// A step over locals.
    fn local(
        &self,
        state: &State,
        thread: usize,
        step: &Step,
        (to, block): (LocId, Option<&Cfg>),
        span: Span,
    ) -> Result<Vec<State>, Trouble> {
        let with = |local: &LocalId, value: i64| {
            let mut state = state.clone();
            state.locals[thread][local.index()] = value;
            state
        };
        Ok(match step {
            Step::Assume(cond) => match self.value_in(state, thread, cond, block, span)? {
                0 => Vec::new(),
                _ => vec![state.clone()],
            },
            Step::Assert { cond, .. } => match self.value_in(state, thread, cond, block, span)? {
                0 => return Err(trouble(Reason::Assertion, span)),
                _ => vec![state.clone()],
            },
            Step::Assign { dst, value } => {
                let group = self.target(thread, to, block, *dst);
                vec![with(
                    dst,
                    self.written(state, thread, value, (group, block), span)?,
                )]
            }
            Step::Havoc { dst, domain } => {
                let values = values(Init::Any, *domain, span)?;
                values.into_iter().map(|value| with(dst, value)).collect()
            }
            Step::Skip | Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => {
                vec![state.clone()]
            }
            Step::Atomic(_) | Step::Put { .. } | Step::Get { .. } => vec![state.clone()],
            Step::RemoteAtomic(_) | Step::Flush(_) => vec![state.clone()],
        })
    }

    /// All ways through an atomic block: each is one event at most.
    fn ways(
        &self,
        body: &Cfg,
        thread: usize,
        default: Order,
        first: Way,
    ) -> Result<Vec<(Way, Span)>, Trouble> {
        let mut done = Vec::new();
        let mut open = vec![(first, Span::default())];
        let mut steps = 0;
        while let Some((way, last)) = open.pop() {
            if way.at == body.exit {
                done.push((way, last));
                continue;
            }
            for (_, edge) in body.outgoing(way.at) {
                let span = edge.span;
                steps += 1;
                if steps > MOST_STATES / 100 {
                    return Err(unsupported("so long an atomic block", span));
                }
                let order = |place: &Place| place.order.or(default);
                let arrived = |way: Way| Way { at: edge.to, ..way };
                match &edge.step {
                    Step::Load { dst, src } => {
                        let cell = self.cell(&way.state, thread, src, span)?;
                        if way.event.is_some() {
                            return Err(unsupported("a second load in an atomic block", span));
                        }
                        for (source, value) in
                            self.sources(&way.state.memory, thread, cell, Some(body), span)?
                        {
                            let mut next = way.clone();
                            next.state.locals[thread][dst.index()] = value;
                            next.reads = Some(cell);
                            next.event = Some(Access {
                                thread,
                                cell,
                                order: order(src),
                                read: Some(source),
                                write: None,
                            });
                            open.push((arrived(next), span));
                        }
                    }
                    Step::Store { dst, value } => {
                        let cell = self.cell(&way.state, thread, dst, span)?;
                        let group = (self.group_of(dst.var), Some(body));
                        let value = self.written(&way.state, thread, value, group, span)?;
                        let read = match (way.event, way.reads) {
                            (None, _) => None,
                            (Some(event), Some(at)) if at == cell && event.write.is_none() => {
                                event.read
                            }
                            (Some(_), _) => {
                                return Err(unsupported("an atomic block of two events", span));
                            }
                        };
                        let mut next = way.clone();
                        next.event = Some(Access {
                            thread,
                            cell,
                            order: order(dst),
                            read,
                            write: Some(value),
                        });
                        open.push((arrived(next), span));
                    }
                    Step::Atomic(_) | Step::Fence(_) | Step::Put { .. } | Step::Get { .. } => {
                        return Err(unsupported("this step in an atomic block", span));
                    }
                    Step::RemoteAtomic(_) | Step::Flush(_) => {
                        return Err(unsupported("this step in an atomic block", span));
                    }
                    local @ (Step::Skip
                    | Step::Assume(_)
                    | Step::Assign { .. }
                    | Step::Havoc { .. }
                    | Step::Assert { .. }) => {
                        let scene = (edge.to, Some(body));
                        for state in self.local(&way.state, thread, local, scene, span)? {
                            let next = Way {
                                state,
                                ..way.clone()
                            };
                            open.push((arrived(next), last));
                        }
                    }
                }
            }
        }
        Ok(done)
    }

    /// No property is violated in a state.
    fn properties(&self, state: &State) -> Result<(), Trouble> {
        let mut both = state.at.iter().enumerate();
        let ended = both.all(|(thread, at)| *at == self.cfg(thread).exit);
        for (number, property) in self.program.properties.iter().enumerate() {
            let is_never = property.kind == PropertyKind::Never;
            if !is_never && !ended {
                continue;
            }
            for choice in choices(&property.threads, &self.instances) {
                let holds = self.truth(state, &property.cond, &choice, property.span, is_never)?;
                if holds == is_never {
                    return Err(trouble(Reason::Property(number), property.span));
                }
            }
        }
        Ok(())
    }

    fn truth(
        &self,
        state: &State,
        cond: &PropExpr,
        choice: &[usize],
        span: Span,
        is_never: bool,
    ) -> Result<bool, Trouble> {
        let far = self.summary.prompt && !self.groups.0.is_empty();
        let value = term_of(cond, span, &mut |atom| {
            let value = match atom {
                PropAtom::Global(..) if is_never => {
                    return Err(unsupported("a `never` over memory under RC11", span));
                }
                PropAtom::Global(var, index) => {
                    let cell = self.program.cell(*var, index.unwrap_or(0)).index();
                    let newest = state.memory.cells[cell].last();
                    newest.map_or(0, |message| message.value)
                }
                PropAtom::Local(t, local) => state.locals[choice[t.index()]][local.index()],
                PropAtom::SelfOf(t) => i64::from(self.instances[choice[t.index()]].copy),
                PropAtom::At(t, loc) => i64::from(state.at[choice[t.index()]] == *loc),
            };
            if far && value < -(1 << 30) {
                return Err(unsupported("a counter far behind in a property", span));
            }
            Ok(Term::constant(value))
        })?;
        Ok(narrow(&value, span)? != 0)
    }
}

/// A way through an atomic block so far.
#[derive(Clone)]
struct Way {
    state: State,
    at: LocId,
    event: Option<Access>,
    /// The cell that it has read.
    reads: Option<usize>,
}

fn trouble(reason: Reason, span: Span) -> Trouble {
    Trouble { reason, span }
}

fn unsupported(what: &str, span: Span) -> Trouble {
    trouble(Reason::Unsupported(what.to_owned()), span)
}

/// A known value.
fn narrow(term: &Term, span: Span) -> Result<i64, Trouble> {
    let value = term.as_constant();
    let value = value.and_then(|value| i64::try_from(value).ok());
    value.ok_or_else(|| unsupported("a value beyond 64 bits", span))
}

/// The values that something may start with, or be chosen from.
fn values(init: Init, domain: Option<Domain>, span: Span) -> Result<Vec<i64>, Trouble> {
    match (init, domain) {
        (Init::Value(value), _) => Ok(vec![value]),
        (Init::Any, Some(d)) if i128::from(d.hi) - i128::from(d.lo) < MOST_VALUES => {
            Ok((d.lo..=d.hi).collect())
        }
        (Init::Any, _) => Err(unsupported("so many values under RC11", span)),
    }
}

/// Every list with every item behind it.
fn extended<T: Clone>(lists: &[Vec<T>], items: &[T]) -> Vec<Vec<T>> {
    let with = |list: &Vec<T>, item: &T| {
        let mut list = list.clone();
        list.push(item.clone());
        list
    };
    let all = lists.iter();
    all.flat_map(|list| items.iter().map(move |item| with(list, item)))
        .collect()
}
