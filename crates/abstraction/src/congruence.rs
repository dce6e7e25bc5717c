//! *Congruences* [Granger, IJCM 1989]: `x % m == r` for variables that grow by steps of `m`, such as
//! the next free cell of a heap whose objects have two cells. No comparison with constants
//! says that, and an index in range may rest on it.
//!
//! The analysis knows for each location of a thread a congruence of each local, and one for each
//! memory cell. What it finds are *suggestions*: a predicate that does not help costs time, never
//! correctness. So a local that got its value from a variable with a congruence is asked for the same,
//! although it may have had other values before (`r = 0; ... r = next;`).
//!
//! | modulus `m` | the values |
//! |---|---|
//! | 0 | `r` alone |
//! | 1 | all |
//! | other | those that leave `r` |

use std::collections::{BTreeMap, BTreeSet};

use palisade_logic::{Atom, Formula, Term, Var};
use palisade_program::cfg::{Cfg, Place, Step};
use palisade_program::{
    BinOp, Expr, GlobalId, Init, Instance, LocalAtom, LocalExpr, LocalId, Program, UnOp,
};

use crate::space::Space;

/// Largest modulus that is suggested.
const MAX_MODULUS: i128 = 64;

/// The values that leave `rest` when divided by `modulus`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Class {
    modulus: i128,
    rest: i128,
}

impl Class {
    const ANY: Self = Self {
        modulus: 1,
        rest: 0,
    };

    const fn constant(value: i64) -> Self {
        Self {
            modulus: 0,
            rest: value as i128,
        }
    }

    fn of(modulus: i128, rest: Option<i128>) -> Self {
        let rest = rest.filter(|r| r.unsigned_abs() <= 1 << 64);
        match rest {
            Some(rest) if modulus == 0 => Self { modulus, rest },
            Some(rest) => Self {
                modulus,
                rest: rest.rem_euclid(modulus),
            },
            None => Self::ANY,
        }
    }

    /// The least class with the values of both.
    fn join(self, other: Self) -> Self {
        let apart = (self.rest - other.rest).abs();
        let modulus = gcd(gcd(self.modulus, other.modulus), apart);
        Self::of(modulus, Some(self.rest))
    }

    fn plus(self, other: Self) -> Self {
        let modulus = gcd(self.modulus, other.modulus);
        Self::of(modulus, self.rest.checked_add(other.rest))
    }

    fn times(self, factor: i128) -> Self {
        match self.modulus.checked_mul(factor.abs()) {
            Some(modulus) if modulus <= 1 << 64 => Self::of(modulus, self.rest.checked_mul(factor)),
            Some(_) | None => Self::ANY,
        }
    }

    /// Whether it says something that no comparison says.
    const fn is_telling(self) -> bool {
        self.modulus > 1 && self.modulus <= MAX_MODULUS
    }
}

const fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The congruences that some thread's variables may need as predicates.
pub fn suggested(space: &Space<'_>) -> BTreeSet<Atom> {
    let mut analysis = Analysis::of(space);
    while std::mem::take(&mut analysis.changed) {
        for thread in &space.threads {
            analysis.thread(*thread);
        }
    }
    let globals = analysis.globals.iter().enumerate();
    let globals = globals.filter(|(_, class)| class.is_telling());
    let mut found: BTreeMap<usize, Class> = BTreeMap::new();
    for (var, class) in globals {
        let var = GlobalId::from(var);
        for index in 0..space.program.global(var).cell_count() {
            let cell = space.program.cell(var, index as u32);
            found.insert(space.cell_slot(cell), *class);
        }
    }
    if found.is_empty() {
        return BTreeSet::new();
    }
    for thread in 0..space.threads.len() {
        for (local, class) in analysis.copies(space.threads[thread]) {
            found.insert(space.local_slot(thread, local), class);
        }
    }
    let mut all = BTreeSet::new();
    for (slot, class) in found {
        if space.slots[slot].explicit.is_some() {
            continue;
        }
        // Moduli and remainders are small.
        let remainder = Term::var(Var(slot as u32)).modulo(class.modulus);
        let rest = Term::constant(class.rest as i64);
        let is = remainder.and_then(|remainder| Formula::eq(&remainder, &rest));
        all.extend(is.into_iter().flat_map(|f| f.atoms()));
    }
    all
}

/// The classes of a thread's locals at one location.
type Locals = Vec<Class>;

struct Analysis<'p> {
    program: &'p Program,
    /// By variable; the cells of an array have one.
    globals: Vec<Class>,
    /// Whether a variable has got new values.
    changed: bool,
}

impl<'p> Analysis<'p> {
    fn of(space: &Space<'p>) -> Self {
        let first = |init: &[Init]| {
            let classes = init.iter().map(|init| class_of(*init));
            classes.reduce(Class::join).unwrap_or(Class::ANY)
        };
        Self {
            program: space.program,
            globals: space
                .program
                .globals
                .iter()
                .map(|g| first(&g.init))
                .collect(),
            changed: true,
        }
    }

    /// Adds what a thread stores.
    fn thread(&mut self, thread: Instance) {
        let template = self.program.template(thread.template);
        let start = template.locals.iter().map(|l| class_of(l.init)).collect();
        self.graph(thread, &template.cfg, start);
    }

    /// The locals' classes at the exit, if the thread comes there.
    fn graph(&mut self, thread: Instance, cfg: &Cfg, start: Locals) -> Option<Locals> {
        let mut at: Vec<Option<Locals>> = vec![None; cfg.loc_count()];
        at[cfg.entry.index()] = Some(start);
        let mut queue = BTreeSet::from([cfg.entry]);
        while let Some(loc) = queue.pop_first() {
            for (_, edge) in cfg.outgoing(loc) {
                let Some(before) = &at[loc.index()] else {
                    break;
                };
                let Some(after) = self.step(thread, &edge.step, before.clone()) else {
                    continue;
                };
                let joined: Locals = match &at[edge.to.index()] {
                    Some(known) => known.iter().zip(&after).map(|(a, b)| a.join(*b)).collect(),
                    None => after,
                };
                if at[edge.to.index()].as_ref() != Some(&joined) {
                    at[edge.to.index()] = Some(joined);
                    queue.insert(edge.to);
                }
            }
        }
        at.swap_remove(cfg.exit.index())
    }

    /// The locals after a step; `None` if it does not come to its end.
    fn step(&mut self, thread: Instance, step: &Step, mut locals: Locals) -> Option<Locals> {
        match step {
            Step::Assign { dst, value } => {
                locals[dst.index()] = value_of(thread, &locals, value);
            }
            Step::Havoc { dst, .. } => locals[dst.index()] = Class::ANY,
            Step::Load { dst, src } => locals[dst.index()] = self.globals[src.var.index()],
            Step::Store { dst, value } => {
                let value = value_of(thread, &locals, value);
                self.add(dst, value);
            }
            // The network is left to other predicates.
            Step::Put { remote: to, .. } | Step::Get { local: to, .. } => self.add(to, Class::ANY),
            Step::RemoteAtomic(atomic) => {
                for place in atomic.places() {
                    self.add(place, Class::ANY);
                }
            }
            Step::Atomic(atomic) => return self.graph(thread, &atomic.body, locals),
            Step::Skip | Step::Assume(_) | Step::Assert { .. } => {}
            Step::Fence(_) | Step::Flush(_) => {}
        }
        Some(locals)
    }

    fn add(&mut self, place: &Place, value: Class) {
        let class = &mut self.globals[place.var.index()];
        let joined = class.join(value);
        self.changed |= joined != *class;
        *class = joined;
    }

    /// The locals that get their value from a variable with a telling class, and that class.
    fn copies(&self, thread: Instance) -> BTreeMap<LocalId, Class> {
        let template = self.program.template(thread.template);
        let mut steps = Vec::new();
        all_steps(&template.cfg, &mut steps);
        let mut found: BTreeMap<LocalId, Class> = BTreeMap::new();
        loop {
            let before = found.len();
            for step in &steps {
                let (dst, class) = match step {
                    Step::Load { dst, src } => (dst, self.globals[src.var.index()]),
                    Step::Assign { dst, value } => {
                        let known = |id: usize| found.get(&LocalId::from(id)).copied();
                        let locals = 0..template.locals.len();
                        let locals: Locals =
                            locals.map(|id| known(id).unwrap_or(Class::ANY)).collect();
                        (dst, value_of(thread, &locals, value))
                    }
                    Step::Skip | Step::Assume(_) | Step::Assert { .. } | Step::Havoc { .. } => {
                        continue;
                    }
                    Step::Store { .. } | Step::Fence(_) | Step::Flush(_) | Step::Atomic(_) => {
                        continue;
                    }
                    Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) => continue,
                };
                if class.is_telling() {
                    found.entry(*dst).or_insert(class);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }
}

/// The steps of a graph, also those inside atomic blocks.
fn all_steps<'c>(cfg: &'c Cfg, steps: &mut Vec<&'c Step>) {
    for edge in &cfg.edges {
        steps.push(&edge.step);
        if let Step::Atomic(atomic) = &edge.step {
            all_steps(&atomic.body, steps);
        }
    }
}

const fn class_of(init: Init) -> Class {
    match init {
        Init::Value(value) => Class::constant(value),
        Init::Any => Class::ANY,
    }
}

/// The class of an expression's values.
fn value_of(thread: Instance, locals: &[Class], e: &LocalExpr) -> Class {
    let of = |e: &LocalExpr| value_of(thread, locals, e);
    match e {
        Expr::Const(value) => Class::constant(*value),
        Expr::Atom(LocalAtom::SelfId) => Class::constant(i64::from(thread.copy)),
        Expr::Atom(LocalAtom::Local(id)) => locals[id.index()],
        Expr::Unary(UnOp::Neg, a) => of(a).times(-1),
        // A constant that wraps around becomes a multiple of 2^bits larger or smaller.
        Expr::Unary(UnOp::Wrap { bits, .. }, a) => {
            let class = of(a);
            Class::of(gcd(class.modulus, 1 << bits), Some(class.rest))
        }
        Expr::Unary(UnOp::Not | UnOp::BitNot, _) => Class::ANY,
        Expr::Binary(BinOp::Add, a, b) => of(a).plus(of(b)),
        Expr::Binary(BinOp::Sub, a, b) => of(a).plus(of(b).times(-1)),
        Expr::Binary(BinOp::Mul, a, b) => match (of(a), of(b)) {
            (class, Class { modulus: 0, rest }) | (Class { modulus: 0, rest }, class) => {
                class.times(rest)
            }
            (_, _) => Class::ANY,
        },
        Expr::Binary(BinOp::Div | BinOp::Mod | BinOp::Shl | BinOp::Shr, ..) => Class::ANY,
        Expr::Binary(BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor, ..) => Class::ANY,
        Expr::Binary(BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le, ..) => Class::ANY,
        Expr::Binary(BinOp::Gt | BinOp::Ge | BinOp::And | BinOp::Or, ..) => Class::ANY,
        Expr::Cond(_, a, b) => of(a).join(of(b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The laws of classes, against their members.
    #[test]
    fn classes_hold_what_they_say() {
        let class = |modulus: i128, rest: i128| Class::of(modulus, Some(rest));
        let has = |c: Class, v: i128| match c.modulus {
            0 => c.rest == v,
            m => v.rem_euclid(m) == c.rest,
        };
        let all: Vec<Class> = (0..7)
            .flat_map(|m| (-3..4).map(move |r| class(m, r)))
            .collect();
        for a in &all {
            for b in &all {
                for x in (-12..12).filter(|x| has(*a, *x)) {
                    assert!(has(a.join(*b), x), "{a:?} {b:?} {x}");
                    assert!(has(a.times(3), 3 * x) && has(a.times(-2), -2 * x));
                    for y in (-12..12).filter(|y| has(*b, *y)) {
                        assert!(has(a.plus(*b), x + y), "{a:?} {b:?} {x} {y}");
                    }
                }
            }
        }
    }
}
