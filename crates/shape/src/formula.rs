//! Formulas: first-order logic with transitive closure over the predicates of a vocabulary.
//!
//! Place: made by the front end; compiled by [`crate::eval`], split by [`crate::focus`],
//! turned into rules by `rules`. Paper: [Friggens and Groves, arXiv 2015, section 2.]

use crate::kleene::Kleene;
use crate::vocabulary::PredId;
use std::collections::BTreeSet;

/// A logical variable. Names are interned by the front end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Var(pub u32);

/// A formula.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Formula {
    /// A constant.
    Value(Kleene),
    /// Equality of two objects.
    Eq(Var, Var),
    /// A predicate applied to variables.
    Atom(PredId, Vec<Var>),
    /// Negation.
    Not(Box<Formula>),
    /// Conjunction; empty is 1.
    And(Vec<Formula>),
    /// Disjunction; empty is 0.
    Or(Vec<Formula>),
    /// `(c ? a : b)`; an unknown condition gives the join of both.
    Ite(Box<Formula>, Box<Formula>, Box<Formula>),
    /// Existential quantification.
    Exists(Var, Box<Formula>),
    /// Universal quantification.
    Forall(Var, Box<Formula>),
    /// Transitive closure: `TC (from,to)(a,b) body`, a path of at least one step.
    Tc(Box<Closure>),
}

/// The parts of a transitive closure.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Closure {
    /// Where the path starts.
    pub from: Var,
    /// Where it ends.
    pub to: Var,
    /// Start of a step, bound in the body.
    pub a: Var,
    /// End of a step, bound in the body.
    pub b: Var,
    /// The step relation.
    pub body: Formula,
}

impl Formula {
    /// The constant 1.
    pub const TRUE: Self = Self::Value(Kleene::True);
    /// The constant 0.
    pub const FALSE: Self = Self::Value(Kleene::False);

    /// The formula under an optional negation, and whether there is none.
    pub(crate) fn unsigned(&self) -> (&Self, bool) {
        if let Self::Not(inner) = self {
            (inner, false)
        } else {
            (self, true)
        }
    }

    /// Negation, with double negations and constants removed.
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub fn not(self) -> Self {
        match self {
            Self::Value(k) => Self::Value(k.not()),
            Self::Not(inner) => *inner,
            other @ (Self::Eq(..)
            | Self::Atom(..)
            | Self::And(_)
            | Self::Or(_)
            | Self::Ite(..)
            | Self::Exists(..)
            | Self::Forall(..)
            | Self::Tc(_)) => Self::Not(Box::new(other)),
        }
    }

    /// Flattened conjunction without neutral parts.
    pub fn and(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut out = Vec::new();
        for part in parts {
            match part {
                Self::And(more) => out.extend(more),
                Self::Value(Kleene::True) => {}
                Self::Value(Kleene::False) => return Self::FALSE,
                other => out.push(other),
            }
        }
        if out.len() == 1 {
            out.remove(0)
        } else if out.is_empty() {
            Self::TRUE
        } else {
            Self::And(out)
        }
    }

    /// Flattened disjunction without neutral parts.
    pub fn or(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut out = Vec::new();
        for part in parts {
            match part {
                Self::Or(more) => out.extend(more),
                Self::Value(Kleene::False) => {}
                Self::Value(Kleene::True) => return Self::TRUE,
                other => out.push(other),
            }
        }
        if out.len() == 1 {
            out.remove(0)
        } else if out.is_empty() {
            Self::FALSE
        } else {
            Self::Or(out)
        }
    }

    /// `(c ? a : b)`, simplified where the condition is constant.
    pub fn ite(c: Self, a: Self, b: Self) -> Self {
        match c {
            Self::Value(Kleene::True) => a,
            Self::Value(Kleene::False) => b,
            c => Self::Ite(Box::new(c), Box::new(a), Box::new(b)),
        }
    }

    /// Equivalence: `(a & b) | (!a & !b)`, which has Kleene's value.
    pub fn iff(a: Self, b: Self) -> Self {
        Self::or([
            Self::and([a.clone(), b.clone()]),
            Self::and([a.not(), b.not()]),
        ])
    }

    /// Existential closure over several variables.
    pub fn exists(vars: &[Var], body: Self) -> Self {
        vars.iter()
            .rev()
            .fold(body, |f, v| Self::Exists(*v, Box::new(f)))
    }

    /// Universal closure over several variables.
    pub fn forall(vars: &[Var], body: Self) -> Self {
        vars.iter()
            .rev()
            .fold(body, |f, v| Self::Forall(*v, Box::new(f)))
    }

    /// Free variables in order of their number.
    pub fn free_vars(&self) -> BTreeSet<Var> {
        let mut out = BTreeSet::new();
        self.collect_free(&mut Vec::new(), &mut out);
        out
    }

    fn collect_free(&self, bound: &mut Vec<Var>, out: &mut BTreeSet<Var>) {
        let mut see = |v: &Var, bound: &Vec<Var>| {
            if !bound.contains(v) {
                out.insert(*v);
            }
        };
        match self {
            Self::Value(_) => {}
            Self::Eq(a, b) => {
                see(a, bound);
                see(b, bound);
            }
            Self::Atom(_, args) => args.iter().for_each(|v| see(v, bound)),
            Self::Not(f) => f.collect_free(bound, out),
            Self::And(fs) | Self::Or(fs) => fs.iter().for_each(|f| f.collect_free(bound, out)),
            Self::Ite(c, a, b) => {
                c.collect_free(bound, out);
                a.collect_free(bound, out);
                b.collect_free(bound, out);
            }
            Self::Exists(v, f) | Self::Forall(v, f) => {
                bound.push(*v);
                f.collect_free(bound, out);
                bound.pop();
            }
            Self::Tc(tc) => {
                see(&tc.from, bound);
                see(&tc.to, bound);
                bound.extend([tc.a, tc.b]);
                tc.body.collect_free(bound, out);
                bound.truncate(bound.len() - 2);
            }
        }
    }

    /// How deep quantifiers nest; a closure is not counted.
    pub(crate) fn nesting(&self) -> usize {
        match self {
            Self::Value(_) | Self::Eq(..) | Self::Atom(..) => 0,
            Self::Not(f) => f.nesting(),
            Self::And(fs) | Self::Or(fs) => fs.iter().map(Self::nesting).max().unwrap_or(0),
            Self::Ite(c, a, b) => c.nesting().max(a.nesting()).max(b.nesting()),
            Self::Exists(_, f) | Self::Forall(_, f) => 1 + f.nesting(),
            Self::Tc(tc) => tc.body.nesting(),
        }
    }

    /// Calls `see` on every predicate that occurs.
    pub fn each_predicate(&self, see: &mut impl FnMut(PredId)) {
        match self {
            Self::Value(_) | Self::Eq(..) => {}
            Self::Atom(p, _) => see(*p),
            Self::Not(f) | Self::Exists(_, f) | Self::Forall(_, f) => f.each_predicate(see),
            Self::And(fs) | Self::Or(fs) => fs.iter().for_each(|f| f.each_predicate(see)),
            Self::Ite(c, a, b) => {
                c.each_predicate(see);
                a.each_predicate(see);
                b.each_predicate(see);
            }
            Self::Tc(tc) => tc.body.each_predicate(see),
        }
    }

    /// Whether equality, a quantifier or a closure occurs: then the value can depend on the
    /// universe and on `sm` besides the predicates.
    pub fn depends_on_universe(&self) -> bool {
        match self {
            Self::Value(_) | Self::Atom(..) => false,
            Self::Eq(..) | Self::Exists(..) | Self::Forall(..) | Self::Tc(_) => true,
            Self::Not(f) => f.depends_on_universe(),
            Self::And(fs) | Self::Or(fs) => fs.iter().any(Self::depends_on_universe),
            Self::Ite(c, a, b) => [c, a, b].iter().any(|f| f.depends_on_universe()),
        }
    }

    /// Replaces the atom `p(args)` (exactly these variables, not rebound) by a constant.
    #[must_use]
    pub fn with_atom(&self, p: PredId, args: &[Var], value: Kleene) -> Self {
        let go = |f: &Self| f.with_atom(p, args, value);
        match self {
            Self::Atom(q, vars) if *q == p && vars == args => Self::Value(value),
            Self::Value(_) | Self::Eq(..) | Self::Atom(..) => self.clone(),
            Self::Not(f) => go(f).not(),
            Self::And(fs) => Self::and(fs.iter().map(go)),
            Self::Or(fs) => Self::or(fs.iter().map(go)),
            Self::Ite(c, a, b) => Self::ite(go(c), go(a), go(b)),
            Self::Exists(v, f) if !args.contains(v) => Self::Exists(*v, Box::new(go(f))),
            Self::Forall(v, f) if !args.contains(v) => Self::Forall(*v, Box::new(go(f))),
            Self::Exists(..) | Self::Forall(..) => self.clone(),
            Self::Tc(tc) if !args.contains(&tc.a) && !args.contains(&tc.b) => {
                Self::Tc(Box::new(Closure {
                    body: go(&tc.body),
                    ..(**tc).clone()
                }))
            }
            Self::Tc(_) => self.clone(),
        }
    }

    /// Negation normal form: `Not` only above atoms, equalities and closures.
    ///
    /// Exact in Kleene's logic but for `?:`, whose two-valued reading is kept
    /// (`(c & a) | (!c & b)`), so the result is for splitting and rules, not for evaluation.
    #[must_use]
    pub fn nnf(&self, positive: bool) -> Self {
        match self {
            Self::Value(k) => Self::Value(if positive { *k } else { k.not() }),
            Self::Eq(..) | Self::Atom(..) | Self::Tc(_) => {
                if positive {
                    self.clone()
                } else {
                    self.clone().not()
                }
            }
            Self::Not(f) => f.nnf(!positive),
            Self::And(fs) if positive => Self::and(fs.iter().map(|f| f.nnf(true))),
            Self::And(fs) => Self::or(fs.iter().map(|f| f.nnf(false))),
            Self::Or(fs) if positive => Self::or(fs.iter().map(|f| f.nnf(true))),
            Self::Or(fs) => Self::and(fs.iter().map(|f| f.nnf(false))),
            Self::Ite(c, a, b) => Self::or([
                Self::and([c.nnf(true), a.nnf(positive)]),
                Self::and([c.nnf(false), b.nnf(positive)]),
            ]),
            Self::Exists(v, f) if positive => Self::Exists(*v, Box::new(f.nnf(true))),
            Self::Exists(v, f) => Self::Forall(*v, Box::new(f.nnf(false))),
            Self::Forall(v, f) if positive => Self::Forall(*v, Box::new(f.nnf(true))),
            Self::Forall(v, f) => Self::Exists(*v, Box::new(f.nnf(false))),
        }
    }

    /// Renames every bound variable to a fresh one, so that none is bound twice or free.
    #[must_use]
    pub fn rename_bound(&self, fresh: &mut u32) -> Self {
        self.rename(&mut Vec::new(), fresh)
    }

    fn rename(&self, map: &mut Vec<(Var, Var)>, fresh: &mut u32) -> Self {
        let look = |map: &Vec<(Var, Var)>, v: Var| {
            map.iter()
                .rev()
                .find(|(from, _)| *from == v)
                .map_or(v, |(_, to)| *to)
        };
        match self {
            Self::Value(_) => self.clone(),
            Self::Eq(a, b) => Self::Eq(look(map, *a), look(map, *b)),
            Self::Atom(p, args) => Self::Atom(*p, args.iter().map(|v| look(map, *v)).collect()),
            Self::Not(f) => f.rename(map, fresh).not(),
            Self::And(fs) => Self::And(fs.iter().map(|f| f.rename(map, fresh)).collect()),
            Self::Or(fs) => Self::Or(fs.iter().map(|f| f.rename(map, fresh)).collect()),
            Self::Ite(c, a, b) => Self::Ite(
                Box::new(c.rename(map, fresh)),
                Box::new(a.rename(map, fresh)),
                Box::new(b.rename(map, fresh)),
            ),
            Self::Exists(v, f) | Self::Forall(v, f) => {
                let new = Var(*fresh);
                *fresh += 1;
                map.push((*v, new));
                let body = Box::new(f.rename(map, fresh));
                map.pop();
                if matches!(self, Self::Exists(..)) {
                    Self::Exists(new, body)
                } else {
                    Self::Forall(new, body)
                }
            }
            Self::Tc(tc) => {
                let (a, b) = (Var(*fresh), Var(*fresh + 1));
                *fresh += 2;
                let (from, to) = (look(map, tc.from), look(map, tc.to));
                map.extend([(tc.a, a), (tc.b, b)]);
                let body = tc.body.rename(map, fresh);
                map.truncate(map.len() - 2);
                Self::Tc(Box::new(Closure {
                    from,
                    to,
                    a,
                    b,
                    body,
                }))
            }
        }
    }

    /// Substitutes free variables; bound variables are renamed first, so nothing is caught.
    #[must_use]
    pub fn substitute(&self, map: &[(Var, Var)], fresh: &mut u32) -> Self {
        self.rename(&mut map.to_vec(), fresh)
    }
}
