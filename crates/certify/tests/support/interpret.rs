//! A slow, direct interpreter: docs/memory-models.md read as code, for
//! small finite programs. Its own account of PSO: every buffered store carries
//! the *epoch* in which it was issued; a store-store fence begins a new epoch; a
//! store may leave when it is the oldest to its cell and no store of an earlier
//! epoch is buffered.

use palisade_program::property::{Pick, PropAtom, PropertyKind};
use palisade_program::*;
use std::collections::BTreeSet;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct State {
    pub(crate) locs: Vec<LocId>,
    pub(crate) cells: Vec<i64>,
    pub(crate) locals: Vec<Vec<i64>>,
    /// Per thread the buffered stores (epoch, cell, value), oldest first.
    pub(crate) buffers: Vec<Vec<(u32, Cell, i64)>>,
    /// Per thread the epoch of stores to come.
    pub(crate) epochs: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Exploration {
    pub(crate) states: BTreeSet<State>,
    pub(crate) violated: bool,
    /// A bound was touched: `states` is not all.
    pub(crate) bounded: bool,
}

pub(crate) struct Interpreter<'a> {
    pub(crate) program: &'a Program,
    pub(crate) model: Model,
    pub(crate) instances: Vec<Instance>,
    pub(crate) max_states: usize,
    pub(crate) max_value: i64,
    pub(crate) max_buffer: usize,
    /// For each thread its stops: a thread elsewhere is not interrupted, and
    /// states in which one is elsewhere are not looked at.
    pub(crate) stops: Option<Vec<Vec<bool>>>,
    out: Exploration,
}

/// A value outside the range that the test looks at, or no value at all.
struct Out;

impl<'a> Interpreter<'a> {
    pub(crate) fn new(program: &'a Program, model: Model, threads: u32) -> Self {
        Self {
            program,
            model,
            instances: program.instances(threads),
            max_states: 600,
            max_value: 50,
            max_buffer: 3,
            stops: None,
            out: Exploration::default(),
        }
    }

    pub(crate) fn explore(mut self) -> Exploration {
        let mut open = self.initial();
        let mut seen = BTreeSet::new();
        while let Some(state) = open.pop() {
            if !seen.insert(state.clone()) {
                continue;
            }
            if seen.len() > self.max_states {
                self.out.bounded = true;
                break;
            }
            if let Some(thread) = self.between_stops(&state) {
                open.extend(self.thread_steps(&state, thread));
                continue;
            }
            if self.violates(&state) {
                self.out.violated = true;
            }
            for thread in 0..self.instances.len() {
                open.extend(self.thread_steps(&state, thread));
                open.extend(self.departures(&state, thread));
            }
            self.out.states.insert(state);
        }
        self.out
    }

    fn between_stops(&self, state: &State) -> Option<usize> {
        let stops = self.stops.as_ref()?;
        let at_stop = |thread: usize| stops[thread][state.locs[thread].index()];
        (0..self.instances.len()).find(|thread| !at_stop(*thread))
    }

    fn template(&self, thread: usize) -> &'a Template {
        self.program.template(self.instances[thread].template)
    }

    fn initial(&self) -> Vec<State> {
        let choose = |init: Init, domain: Option<Domain>| match (init, domain) {
            (Init::Value(v), _) => vec![v],
            (Init::Any, Some(d)) => (d.lo..=d.hi).collect(),
            (Init::Any, None) => panic!("the tests' programs are finite"),
        };
        let threads = self.instances.len();
        let mut all = vec![State {
            locs: (0..threads).map(|t| self.template(t).cfg.entry).collect(),
            cells: Vec::new(),
            locals: vec![Vec::new(); threads],
            buffers: vec![Vec::new(); threads],
            epochs: vec![0; threads],
        }];
        for global in &self.program.globals {
            for init in &global.init {
                all = extended(&all, &choose(*init, global.domain), |s, v| s.cells.push(v));
            }
        }
        for t in 0..threads {
            for l in &self.template(t).locals {
                all = extended(&all, &choose(l.init, l.domain), |s, v| s.locals[t].push(v));
            }
        }
        all
    }

    fn eval(&self, state: &State, thread: usize, e: &LocalExpr) -> Result<i64, Out> {
        let copy = i64::from(self.instances[thread].copy);
        let value = e.eval(&|atom| match atom {
            LocalAtom::Local(id) => state.locals[thread][id.index()],
            LocalAtom::SelfId => copy,
        });
        match value {
            Ok(v) if v.abs() <= self.max_value => Ok(v),
            _ => Err(Out),
        }
    }

    fn thread_steps(&mut self, state: &State, thread: usize) -> Vec<State> {
        let cfg = &self.template(thread).cfg;
        let mut after = Vec::new();
        for (_, edge) in cfg.outgoing(state.locs[thread]) {
            let buffered = self.model != Model::Sc;
            let next = match &edge.step {
                Step::Atomic(atomic)
                    if atomic.kind != AtomicKind::Read && !state.buffers[thread].is_empty() =>
                {
                    Ok(Vec::new())
                }
                Step::Atomic(atomic) => self.block(state, thread, &atomic.body),
                step => self.step(state, thread, step, buffered),
            };
            match next {
                Ok(next) => after.extend(next.into_iter().map(|mut s| {
                    s.locs[thread] = edge.to;
                    s
                })),
                Err(Out) => self.out.bounded = true,
            }
        }
        after
    }

    fn block(&mut self, state: &State, thread: usize, body: &Cfg) -> Result<Vec<State>, Out> {
        let mut seen = BTreeSet::new();
        let mut open = vec![(body.entry, state.clone())];
        let mut done = Vec::new();
        while let Some((loc, state)) = open.pop() {
            if !seen.insert((loc, state.clone())) {
                continue;
            }
            if loc == body.exit {
                done.push(state);
                continue;
            }
            for (_, edge) in body.outgoing(loc) {
                let next = self.step(&state, thread, &edge.step, false)?;
                open.extend(next.into_iter().map(|s| (edge.to, s)));
            }
        }
        Ok(done)
    }

    fn cell(&self, state: &State, thread: usize, place: &Place) -> Result<Cell, Out> {
        let index = match &place.index {
            None => 0,
            Some(e) => self.eval(state, thread, e)?,
        };
        let count = self.program.global(place.var).cell_count() as i64;
        if (0..count).contains(&index) {
            Ok(self.program.cell(place.var, index as u32))
        } else {
            Err(Out)
        }
    }

    fn step(
        &mut self,
        state: &State,
        thread: usize,
        step: &Step,
        buffered: bool,
    ) -> Result<Vec<State>, Out> {
        let mut next = state.clone();
        match step {
            Step::Skip | Step::Fence(FenceKind::Candidate) => {}
            Step::Fence(FenceKind::Ordered(_)) => unreachable!("orders are mapped to fences"),
            Step::Assume(e) => {
                if self.eval(state, thread, e)? == 0 {
                    return Ok(Vec::new());
                }
            }
            Step::Assign { dst, value } => {
                next.locals[thread][dst.index()] = self.eval(state, thread, value)?;
            }
            Step::Havoc { dst, domain } => {
                let domain = domain.expect("the tests' programs are finite");
                return Ok((domain.lo..=domain.hi)
                    .map(|v| {
                        let mut next = state.clone();
                        next.locals[thread][dst.index()] = v;
                        next
                    })
                    .collect());
            }
            Step::Load { dst, src } => {
                let cell = self.cell(state, thread, src)?;
                let mut own = state.buffers[thread].iter().filter(|b| b.1 == cell);
                // Within one cell the order of issue is the order of the list.
                let newest = own.next_back().map(|b| b.2);
                next.locals[thread][dst.index()] = newest.unwrap_or(state.cells[cell.index()]);
            }
            Step::Store { dst, value } => {
                let cell = self.cell(state, thread, dst)?;
                let value = self.eval(state, thread, value)?;
                if !buffered {
                    next.cells[cell.index()] = value;
                } else if state.buffers[thread].len() == self.max_buffer {
                    return Err(Out);
                } else {
                    next.buffers[thread].push((state.epochs[thread], cell, value));
                }
            }
            Step::Fence(FenceKind::Full) => {
                if !state.buffers[thread].is_empty() {
                    return Ok(Vec::new());
                }
            }
            Step::Fence(FenceKind::StoreStore) => {
                let epoch = state.epochs[thread];
                if self.model == Model::Pso && state.buffers[thread].iter().any(|b| b.0 == epoch) {
                    next.epochs[thread] += 1;
                }
            }
            Step::Assert { cond, .. } => {
                if self.eval(state, thread, cond)? == 0 {
                    self.out.violated = true;
                    return Ok(Vec::new());
                }
            }
            Step::Put { remote, local }
            | Step::Get {
                local: remote,
                remote: local,
            } => {
                let from = self.cell(state, thread, local)?;
                let to = self.cell(state, thread, remote)?;
                next.cells[to.index()] = state.cells[from.index()];
            }
            Step::RemoteAtomic(_) => panic!("the tests' programs have no remote atomics"),
            Step::Flush(_) => {}
            Step::Atomic(_) => panic!("no atomic block in an atomic block"),
        }
        self.canonical(&mut next, thread);
        Ok(vec![next])
    }

    fn departures(&self, state: &State, thread: usize) -> Vec<State> {
        let buffer = &state.buffers[thread];
        let mut after = Vec::new();
        for (i, (epoch, cell, value)) in buffer.iter().enumerate() {
            let may = match self.model {
                Model::Tso => i == 0,
                Model::Pso => {
                    let earlier = buffer.iter().any(|b| b.0 < *epoch);
                    !earlier && buffer[..i].iter().all(|b| b.1 != *cell)
                }
                Model::Sc | Model::Rma | Model::Rc11 => false,
            };
            if may {
                let mut next = state.clone();
                next.buffers[thread].remove(i);
                next.cells[cell.index()] = *value;
                self.canonical(&mut next, thread);
                after.push(next);
            }
        }
        after
    }

    /// Epochs count from 0 without gaps; under PSO the order between cells of
    /// one epoch is forgotten.
    fn canonical(&self, state: &mut State, thread: usize) {
        if self.model != Model::Pso {
            return;
        }
        let buffer = &mut state.buffers[thread];
        let used: BTreeSet<u32> = buffer.iter().map(|b| b.0).collect();
        let rank = |epoch: u32| used.iter().filter(|e| **e < epoch).count() as u32;
        state.epochs[thread] = rank(state.epochs[thread]);
        for entry in buffer.iter_mut() {
            entry.0 = rank(entry.0);
        }
        buffer.sort_by_key(|b| (b.0, b.1));
    }

    fn violates(&self, state: &State) -> bool {
        let ended = state.buffers.iter().all(Vec::is_empty)
            && (0..state.locs.len()).all(|t| state.locs[t] == self.template(t).cfg.exit);
        self.program.properties.iter().any(|property| {
            if property.kind == PropertyKind::Finally && !ended {
                return false;
            }
            self.choices(property).iter().any(|choice| {
                let value = property.cond.eval(&|atom| match atom {
                    PropAtom::Global(var, index) => {
                        state.cells[self.program.cell(*var, index.unwrap_or(0)).index()]
                    }
                    PropAtom::Local(t, l) => state.locals[choice[t.index()]][l.index()],
                    PropAtom::SelfOf(t) => i64::from(self.instances[choice[t.index()]].copy),
                    PropAtom::At(t, loc) => i64::from(state.locs[choice[t.index()]] == *loc),
                });
                let value = value.expect("small values") != 0;
                value == (property.kind == PropertyKind::Never)
            })
        })
    }

    /// All maps from thread variables to threads, the wrong ones thrown away.
    fn choices(&self, property: &Property) -> Vec<Vec<usize>> {
        let n = self.instances.len();
        let vars = &property.threads;
        let count = n.pow(vars.len() as u32);
        let all = (0..count).map(|mut code| {
            let mut choice = Vec::new();
            for _ in vars {
                choice.push(code % n);
                code /= n;
            }
            choice
        });
        all.filter(|choice| {
            let fits = vars.iter().zip(choice).all(|(v, t)| {
                let i = self.instances[*t];
                let copy = match v.pick {
                    Pick::Copy(c) => i.copy == c,
                    Pick::Only | Pick::Any(_) => true,
                };
                i.template == v.template && copy
            });
            let apart = |a: usize, b: usize| match (vars[a].pick, vars[b].pick) {
                (Pick::Any(x), Pick::Any(y)) if vars[a].template == vars[b].template => {
                    (x == y) == (choice[a] == choice[b])
                }
                _ => true,
            };
            fits && (0..vars.len()).all(|a| (0..a).all(|b| apart(a, b)))
        })
        .collect()
    }
}

fn extended(all: &[State], values: &[i64], push: impl Fn(&mut State, i64)) -> Vec<State> {
    let mut longer = Vec::new();
    for state in all {
        for value in values {
            let mut state = state.clone();
            push(&mut state, *value);
            longer.push(state);
        }
    }
    longer
}
