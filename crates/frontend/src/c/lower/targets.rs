//! *Targets*: which addresses a pointer may hold at a location ([Donaldson et al., CAV 2011, section 3]:
//! loc and targets). Lowering follows a pointer case by case over all objects of its
//! type; here the cases that cannot be are taken away again, and checks that cannot
//! fail with them.
//!
//! The values of a thread's locals are followed from location to location; those of a
//! shared variable (of each element of an array) are all that is ever stored to it,
//! whoever does it and whenever it arrives, so the result is right for every memory model. A variable with more than a
//! few values may hold anything.
//!
//! | [Donaldson et al., CAV 2011] | here |
//! |---|---|
//! | targets(loc, p) | [`State`] at a location |
//! | Morris's axiom: `wp(*p = e, f)` by cases over what `*p` may alias | the cases as branches of the control flow, so that every later step sees plain variables |

use std::collections::BTreeSet;
use std::rc::Rc;

use palisade_program::{
    AssertKind, Atomic, BinOp, Cfg, CfgBuilder, Domain, Expr as Ir, Init, LocalAtom, LocalExpr,
    LocalId, Place, Program, Step, UNINITIALISED, UnOp,
};

use super::layout::{LARGE, WILD};
use crate::Stop;

/// Values of a variable that are told apart.
const FEW: usize = 16;
/// Combinations of values that are tried to decide a condition.
const MAX_TRIED: usize = 64;
/// Locations times locals that are looked at.
const MAX_WORK: usize = 4_000_000;

/// What a variable may hold.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Values {
    /// In order; many locations share them.
    Few(Rc<[i64]>),
    Any,
}

impl Values {
    fn one(value: i64) -> Self {
        Self::Few(Rc::from([value]))
    }

    fn few(all: &BTreeSet<i64>) -> Self {
        if all.len() > FEW {
            return Self::Any;
        }
        Self::Few(all.iter().copied().collect())
    }

    fn of(init: Init) -> Self {
        match init {
            Init::Value(value) => Self::one(value),
            Init::Any => Self::Any,
        }
    }

    /// What is uninitialised is any value of its type instead.
    fn choose(&mut self, domain: Option<Domain>) {
        let Self::Few(few) = self else { return };
        if !few.contains(&UNINITIALISED) {
            return;
        }
        let others = few.iter().copied().filter(|v| *v != UNINITIALISED);
        *self = match domain {
            Some(d) if d == WILD => Self::Few(
                others
                    .chain(d.lo..=d.hi)
                    .collect::<BTreeSet<_>>()
                    .into_iter()
                    .collect(),
            ),
            Some(_) | None => Self::Any,
        };
    }

    /// Adds other values; tells whether there are new ones.
    fn join(&mut self, other: &Self) -> bool {
        let (Self::Few(a), Self::Few(b)) = (&*self, other) else {
            return std::mem::replace(self, Self::Any) != Self::Any;
        };
        if Rc::ptr_eq(a, b) || b.iter().all(|value| a.binary_search(value).is_ok()) {
            return false;
        }
        *self = Self::few(&a.iter().chain(b.iter()).copied().collect());
        true
    }
}

/// What the followed locals may hold at a location. Most steps change nothing of it: states are shared
/// until they differ.
#[derive(Clone)]
struct State {
    /// The followed locals, in order.
    locals: Rc<[LocalId]>,
    values: Rc<Vec<Values>>,
}

impl State {
    fn slot(&self, local: LocalId) -> Option<usize> {
        self.locals.binary_search(&local).ok()
    }

    fn get(&self, local: LocalId) -> Option<&Values> {
        self.slot(local).map(|slot| &self.values[slot])
    }

    /// Changes what a local may hold, if it is followed.
    fn change(&mut self, local: LocalId, to: impl FnOnce(&Values) -> Values) {
        if let Some(slot) = self.slot(local) {
            let new = to(&self.values[slot]);
            if new != self.values[slot] {
                Rc::make_mut(&mut self.values)[slot] = new;
            }
        }
    }
}

/// Removes what pointers, and what the registers that say which locks a thread holds make impossible.
pub(super) fn prune(program: &mut Program, held_locks: Vec<BTreeSet<LocalId>>, stop: &Stop) {
    let followed = Followed::of(program, held_locks);
    let work: usize = program
        .templates
        .iter()
        .zip(&followed.locals)
        .map(|(t, locals)| t.cfg.loc_count() * locals.len())
        .sum();
    if work == 0 || work > MAX_WORK {
        return;
    }
    let globals = program.globals.iter();
    let mut analysis = Analysis {
        globals: globals
            .map(|g| g.init.iter().map(|i| Values::of(*i)).collect())
            .collect(),
        followed,
        grown: true,
        stop,
    };
    while std::mem::take(&mut analysis.grown) {
        for (k, template) in program.templates.iter().enumerate() {
            analysis.flow(&template.cfg, analysis.start(program, k));
        }
    }
    for k in 0..program.templates.len() {
        let start = analysis.start(program, k);
        program.templates[k].cfg = analysis.pruned(&program.templates[k].cfg, start);
    }
}

/// The variables that decide where pointers point.
struct Followed {
    locals: Vec<BTreeSet<LocalId>>,
    globals: BTreeSet<usize>,
}

impl Followed {
    /// These locals, those that are compared with addresses, and where their values come
    /// from.
    fn of(program: &Program, mut locals: Vec<BTreeSet<LocalId>>) -> Self {
        locals.resize(program.templates.len(), BTreeSet::new());
        let mut all = Self {
            locals,
            globals: BTreeSet::new(),
        };
        loop {
            let before = all.size();
            for (k, template) in program.templates.iter().enumerate() {
                all.look(k, &template.cfg);
            }
            if all.size() == before {
                return all;
            }
        }
    }

    fn size(&self) -> usize {
        self.globals.len() + self.locals.iter().map(BTreeSet::len).sum::<usize>()
    }

    fn look(&mut self, template: usize, cfg: &Cfg) {
        for edge in &cfg.edges {
            match &edge.step {
                Step::Assume(cond) | Step::Assert { cond, .. } => {
                    if mentions_address(cond) {
                        self.take(template, cond);
                    }
                }
                Step::Assign { dst, value } => {
                    if self.locals[template].contains(dst) {
                        self.take(template, value);
                    }
                }
                Step::Load { dst, src } => {
                    if self.locals[template].contains(dst) {
                        self.globals.insert(src.var.index());
                    }
                }
                Step::Store { dst, value } => {
                    if self.globals.contains(&dst.var.index()) {
                        self.take(template, value);
                    }
                }
                Step::Atomic(block) => self.look(template, &block.body),
                Step::Skip | Step::Havoc { .. } | Step::Fence(_) => {}
                Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {}
            }
        }
    }

    fn take(&mut self, template: usize, e: &LocalExpr) {
        self.locals[template].extend(locals_of(e));
    }
}

fn locals_of(e: &LocalExpr) -> BTreeSet<LocalId> {
    let mut all = BTreeSet::new();
    e.for_each_atom(&mut |atom| {
        if let LocalAtom::Local(local) = atom {
            all.insert(*local);
        }
    });
    all
}

/// Whether a number in the expression is an address.
fn mentions_address(e: &LocalExpr) -> bool {
    match e {
        Ir::Const(c) => *c >= LARGE,
        Ir::Atom(_) => false,
        Ir::Unary(_, a) => mentions_address(a),
        Ir::Binary(_, a, b) => mentions_address(a) || mentions_address(b),
        Ir::Cond(a, b, c) => mentions_address(a) || mentions_address(b) || mentions_address(c),
    }
}

struct Analysis<'s> {
    /// What each element of each shared variable may hold.
    globals: Vec<Vec<Values>>,
    followed: Followed,
    /// Whether a shared variable may hold more than was known when it was read.
    grown: bool,
    stop: &'s Stop,
}

impl Analysis<'_> {
    fn start(&self, program: &Program, template: usize) -> State {
        let locals = &program.templates[template].locals;
        let followed: Rc<[LocalId]> = self.followed.locals[template].iter().copied().collect();
        let values = followed.iter();
        let values = values.map(|l| Values::of(locals[l.index()].init)).collect();
        State {
            locals: followed,
            values: Rc::new(values),
        }
    }

    /// What may be at each location; `None` where nothing gets.
    fn flow(&mut self, cfg: &Cfg, start: State) -> Vec<Option<State>> {
        let mut states: Vec<Option<State>> = vec![None; cfg.loc_count()];
        states[cfg.entry.index()] = Some(start);
        let mut open = BTreeSet::from([cfg.entry]);
        while let Some(loc) = open.pop_first().filter(|_| !self.stop.is_raised()) {
            let Some(state) = states[loc.index()].clone() else {
                continue;
            };
            for (_, edge) in cfg.outgoing(loc) {
                let Some(after) = self.post(&edge.step, &state) else {
                    continue;
                };
                if join_state(&mut states[edge.to.index()], after) {
                    open.insert(edge.to);
                }
            }
        }
        states
    }

    /// The state after a step; `None` if it cannot be made.
    fn post(&mut self, step: &Step, state: &State) -> Option<State> {
        let mut after = state.clone();
        match step {
            Step::Skip | Step::Fence(_) | Step::Flush(_) => {}
            // Where the check fails the value is any of its type (`Program::choosing`).
            Step::Assert {
                cond,
                kind: AssertKind::Uninitialised { domain, .. },
            } => {
                for local in locals_of(cond) {
                    after.change(local, |old| {
                        let mut new = old.clone();
                        new.choose(*domain);
                        new
                    });
                }
            }
            Step::Assume(cond) | Step::Assert { cond, .. } => {
                if decide(cond, state) == Some(false) {
                    return None;
                }
                refine(cond, &mut after);
            }
            Step::Assign { dst, value } => {
                after.change(*dst, |_| values(value, state));
            }
            Step::Havoc { dst, domain } => {
                after.change(*dst, |_| match domain {
                    Some(d) if *d == WILD => Values::Few((d.lo..=d.hi).collect()),
                    Some(_) | None => Values::Any,
                });
            }
            Step::Load { dst, src } => {
                after.change(*dst, |_| self.loaded(src, state));
            }
            Step::Store { dst, value } => self.stored(dst, state, &values(value, state)),
            Step::Atomic(block) => {
                let states = self.flow(&block.body, after);
                return states[block.body.exit.index()].clone();
            }
            // The network writes what it read elsewhere.
            Step::Put { remote, local } | Step::Get { local, remote } => {
                self.stored(remote, state, &Values::Any);
                self.stored(local, state, &Values::Any);
            }
            Step::RemoteAtomic(atomic) => {
                for place in atomic.places() {
                    self.stored(place, state, &Values::Any);
                }
            }
        }
        Some(after)
    }

    /// The elements that a place may be.
    fn elements(&self, place: &Place, state: &State) -> Vec<usize> {
        let count = self.globals[place.var.index()].len();
        let index = place.index.as_ref().map(|i| values(i, state));
        match index {
            Some(Values::Few(few)) => few
                .iter()
                .filter_map(|i| usize::try_from(*i).ok().filter(|i| *i < count))
                .collect(),
            Some(Values::Any) | None => (0..count).collect(),
        }
    }

    fn loaded(&self, place: &Place, state: &State) -> Values {
        let mut all = Values::Few(Rc::from([]));
        for k in self.elements(place, state) {
            all.join(&self.globals[place.var.index()][k]);
        }
        all
    }

    fn stored(&mut self, place: &Place, state: &State, values: &Values) {
        let var = place.var.index();
        if self.followed.globals.contains(&var) {
            for k in self.elements(place, state) {
                self.grown |= self.globals[var][k].join(values);
            }
        }
    }

    /// The graph without the steps that cannot be made.
    fn pruned(&mut self, cfg: &Cfg, start: State) -> Cfg {
        let states = self.flow(cfg, start);
        let mut builder = CfgBuilder::new();
        for _ in 0..cfg.loc_count() {
            builder.loc();
        }
        for edge in &cfg.edges {
            let Some(state) = &states[edge.from.index()] else {
                continue;
            };
            let step = match &edge.step {
                Step::Assume(cond) => match decide(cond, state) {
                    Some(false) => continue,
                    Some(true) => Step::Skip,
                    None => edge.step.clone(),
                },
                Step::Assert { cond, .. } if decide(cond, state) == Some(true) => Step::Skip,
                Step::Atomic(block) => Step::Atomic(Box::new(Atomic {
                    body: self.pruned(&block.body, state.clone()),
                    ..(**block).clone()
                })),
                other => other.clone(),
            };
            builder.edge(edge.from, step, edge.to, edge.span);
        }
        let whole = builder.finish(cfg.entry, cfg.exit).0;
        super::graph::without_skips(&whole)
    }
}

fn join_state(old: &mut Option<State>, new: State) -> bool {
    let Some(old) = old else {
        *old = Some(new);
        return true;
    };
    if Rc::ptr_eq(&old.values, &new.values) {
        return false;
    }
    let mut changed = false;
    for (slot, values) in new.values.iter().enumerate() {
        let mut joined = old.values[slot].clone();
        if joined.join(values) {
            Rc::make_mut(&mut old.values)[slot] = joined;
            changed = true;
        }
    }
    changed
}

/// The values of some locals, one combination after another; `None` if there are too
/// many.
fn combinations(locals: &BTreeSet<LocalId>, state: &State) -> Option<Vec<Vec<(LocalId, i64)>>> {
    let mut all: Vec<Vec<(LocalId, i64)>> = vec![Vec::new()];
    for local in locals {
        let Some(Values::Few(few)) = state.get(*local) else {
            return None;
        };
        if all.len() * few.len() > MAX_TRIED {
            return None;
        }
        let longer = all.iter().flat_map(|some| {
            few.iter().map(move |value| {
                let mut more = some.clone();
                more.push((*local, *value));
                more
            })
        });
        all = longer.collect();
    }
    Some(all)
}

/// The value of an expression for one combination; `None` where it has none.
fn eval(e: &LocalExpr, values: &[(LocalId, i64)]) -> Option<i64> {
    if e.any_atom(|atom| matches!(atom, LocalAtom::SelfId)) {
        return None;
    }
    let find = |atom: &LocalAtom| {
        let found = values.iter().find(|(l, _)| *atom == LocalAtom::Local(*l));
        found.map_or(0, |(_, value)| *value)
    };
    e.eval(&find).ok()
}

/// What an expression may be.
fn values(e: &LocalExpr, state: &State) -> Values {
    let all = combinations(&locals_of(e), state).and_then(|all| {
        let values = all.iter().map(|some| eval(e, some));
        values.collect::<Option<BTreeSet<i64>>>()
    });
    all.map_or(Values::Any, |few| Values::few(&few))
}

/// Whether a condition is always true or always false here.
fn decide(cond: &LocalExpr, state: &State) -> Option<bool> {
    match cond {
        Ir::Binary(BinOp::And, a, b) => match (decide(a, state), decide(b, state)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Ir::Binary(BinOp::Or, a, b) => match (decide(a, state), decide(b, state)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => whole(cond, state),
        },
        Ir::Unary(UnOp::Not, a) => decide(a, state).map(|t| !t),
        Ir::Const(_) | Ir::Atom(_) | Ir::Unary(..) | Ir::Binary(..) | Ir::Cond(..) => {
            whole(cond, state)
        }
    }
}

/// The same, by trying all combinations of values.
fn whole(cond: &LocalExpr, state: &State) -> Option<bool> {
    let all = combinations(&locals_of(cond), state)?;
    let mut truths = all.iter().map(|some| eval(cond, some).map(|v| v != 0));
    let first = truths.next()??;
    truths.all(|t| t == Some(first)).then_some(first)
}

/// Keeps the values with which a condition can be true.
fn refine(cond: &LocalExpr, state: &mut State) {
    if let Ir::Binary(BinOp::And, a, b) = cond {
        refine(a, state);
        refine(b, state);
        return;
    }
    let locals = locals_of(cond);
    let [local] = locals.iter().copied().collect::<Vec<_>>()[..] else {
        return;
    };
    let is_possible = |value: &i64| eval(cond, &[(local, *value)]) != Some(0);
    state.change(local, |old| match old {
        Values::Few(few) => Values::Few(few.iter().copied().filter(is_possible).collect()),
        Values::Any => Values::Any,
    });
}
