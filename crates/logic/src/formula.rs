//! Formulas in negation normal form: literals under conjunction, disjunction
//! and equivalence. The constructors flatten, sort, drop repetitions and notice
//! a formula beside its own negation, so that equal values are met often and
//! negation needs no node of its own.
//!
//! Comparisons of terms that contain a choice are split by its condition
//! (`(c ? 1 : 0) = 1` becomes `c`): predicates should speak of program
//! variables. Above [`MAX_SPLIT`] choices, or [`MAX_SPLIT_LITERALS`] literals in their conditions, the
//! choice stays inside the atom: each split writes its condition twice, and conditions that
//! compare choices would double at every level.

use crate::atom::{Atom, Literal, Normal, Relation};
use crate::names::Var;
use crate::term::{Choice, Int, Key, Overflow, Term};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many choices in one comparison are split into cases.
pub(crate) const MAX_SPLIT: usize = 5;
/// How many literals the conditions of choices may have that are split into cases.
const MAX_SPLIT_LITERALS: usize = 100;

/// A quantifier-free formula over linear integer atoms.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Formula {
    /// Holds everywhere.
    True,
    /// Holds nowhere.
    False,
    /// An atom or its negation.
    Literal(Literal),
    /// All of at least two formulas, sorted and distinct.
    And(Arc<[Formula]>),
    /// One of at least two formulas, sorted and distinct.
    Or(Arc<[Formula]>),
    /// Both or neither.
    Iff(Arc<(Formula, Formula)>),
}

impl From<bool> for Formula {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

impl From<Literal> for Formula {
    fn from(literal: Literal) -> Self {
        Self::Literal(literal)
    }
}

impl From<Atom> for Formula {
    fn from(atom: Atom) -> Self {
        Self::Literal(atom.literal())
    }
}

/// The literals in the conditions of a sum, repeated ones counted again; at most `most` are counted.
pub(crate) fn literals_within(sum: &[(Key, Int)], most: usize) -> usize {
    up_to(most, sum.iter(), |(key, _), most| match key {
        Key::Var(_) => 0,
        Key::Div(inner, _) | Key::Mod(inner, _) => literals_within(inner.sum(), most),
        Key::Ite(choice) => {
            let count = literals_of(&choice.condition, most);
            let count = count + literals_within(choice.then.sum(), most - count);
            count + literals_within(choice.otherwise.sum(), most - count)
        }
    })
}

/// The same of a formula, its own literals included.
pub(crate) fn literals_of(formula: &Formula, most: usize) -> usize {
    match formula {
        Formula::Literal(literal) if most > 0 => 1 + literals_within(literal.atom.sum(), most - 1),
        Formula::True | Formula::False | Formula::Literal(_) => 0,
        Formula::And(parts) | Formula::Or(parts) => up_to(most, parts.iter(), literals_of),
        Formula::Iff(sides) => up_to(most, [&sides.0, &sides.1].into_iter(), literals_of),
    }
}

/// The sum of what each counts, until there are enough.
fn up_to<T>(most: usize, all: impl Iterator<Item = T>, count: impl Fn(T, usize) -> usize) -> usize {
    let mut sum = 0;
    for one in all {
        if sum >= most {
            return most;
        }
        sum += count(one, most - sum);
    }
    sum
}

impl Formula {
    /// `a <= b`.
    pub fn le(a: &Term, b: &Term) -> Result<Self, Overflow> {
        Self::compare(&a.minus(b)?, Relation::Le)
    }

    /// `a < b`.
    pub fn lt(a: &Term, b: &Term) -> Result<Self, Overflow> {
        Self::compare(&a.minus(b)?.plus_constant(1)?, Relation::Le)
    }

    /// `a >= b`.
    pub fn ge(a: &Term, b: &Term) -> Result<Self, Overflow> {
        Self::le(b, a)
    }

    /// `a > b`.
    pub fn gt(a: &Term, b: &Term) -> Result<Self, Overflow> {
        Self::lt(b, a)
    }

    /// `a = b`.
    pub fn eq(a: &Term, b: &Term) -> Result<Self, Overflow> {
        Self::compare(&a.minus(b)?, Relation::Eq)
    }

    /// `a != b`.
    pub fn ne(a: &Term, b: &Term) -> Result<Self, Overflow> {
        Ok(Self::eq(a, b)?.negated())
    }

    /// `term relation 0`, in normal form and split by the choices in `term`.
    pub fn compare(term: &Term, relation: Relation) -> Result<Self, Overflow> {
        let choices = term
            .sum()
            .iter()
            .filter(|(key, _)| matches!(key, Key::Ite(_)));
        if choices.count() <= MAX_SPLIT
            && literals_within(term.sum(), MAX_SPLIT_LITERALS) < MAX_SPLIT_LITERALS
        {
            Self::compare_split(term, relation, MAX_SPLIT)
        } else {
            Self::compare_whole(term, relation)
        }
    }

    fn compare_split(term: &Term, relation: Relation, depth: usize) -> Result<Self, Overflow> {
        let choice = term.sum().iter().find_map(|(key, c)| match key {
            Key::Ite(choice) => Some((choice, *c)),
            Key::Var(_) | Key::Div(..) | Key::Mod(..) => None,
        });
        let Some((choice, coefficient)) = choice.filter(|_| depth > 0) else {
            return Self::compare_whole(term, relation);
        };
        let Choice {
            condition,
            then,
            otherwise,
        } = &**choice;
        let own = Term::of_parts(vec![(Key::Ite(Arc::clone(choice)), coefficient)], 0)?;
        let rest = term.minus(&own)?;
        let branch = |value: &Term| {
            Self::compare_split(&rest.plus(&value.times(coefficient)?)?, relation, depth - 1)
        };
        Ok(Self::ite(condition, &branch(then)?, &branch(otherwise)?))
    }

    fn compare_whole(term: &Term, relation: Relation) -> Result<Self, Overflow> {
        Ok(match Atom::normalise(term, relation)? {
            Normal::Truth(truth) => truth.into(),
            Normal::Literal(literal) => Self::Literal(literal),
        })
    }

    /// The opposite formula. What is in normal form stays so when all of it is negated: nothing is
    /// looked for again, and the work is that of one walk over the formula.
    #[must_use]
    pub fn negated(&self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Literal(literal) => Self::Literal(literal.negated()),
            Self::And(parts) => Self::Or(opposites(parts)),
            Self::Or(parts) => Self::And(opposites(parts)),
            Self::Iff(sides) => Self::Iff(Arc::new((sides.0.clone(), sides.1.negated()))),
        }
    }

    /// `self && other`.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self::all([self.clone(), other.clone()])
    }

    /// `self || other`.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self::any([self.clone(), other.clone()])
    }

    /// `self => other`.
    #[must_use]
    pub fn implies(&self, other: &Self) -> Self {
        self.negated().or(other)
    }

    /// `condition ? then : otherwise`.
    #[must_use]
    pub fn ite(condition: &Self, then: &Self, otherwise: &Self) -> Self {
        if then == otherwise {
            return then.clone();
        }
        let opposite = condition.negated();
        match (then, otherwise) {
            (Self::True, _) => condition.or(otherwise),
            (Self::False, _) => opposite.and(otherwise),
            (_, Self::True) => opposite.or(then),
            (_, Self::False) => condition.and(then),
            _ => Self::any([condition.and(then), opposite.and(otherwise)]),
        }
    }

    /// `a <=> b`.
    #[must_use]
    pub fn iff(a: &Self, b: &Self) -> Self {
        match (a, b) {
            (Self::True, other) | (other, Self::True) => return other.clone(),
            (Self::False, other) | (other, Self::False) => return other.negated(),
            _ if a == b => return Self::True,
            _ => {}
        }
        // One form for `a <=> b`, `b <=> a` and `!a <=> !b`: of each side the
        // smaller of itself and its negation, in order, the sign on the second.
        let least = |side: &Self| {
            let opposite = side.negated();
            if opposite < *side {
                (opposite, true)
            } else {
                (side.clone(), false)
            }
        };
        let ((a, turned), (b, other_turned)) = (least(a), least(b));
        let (first, second) = if a <= b { (a, b) } else { (b, a) };
        let opposed = turned != other_turned;
        if first == second {
            return (!opposed).into();
        }
        Self::Iff(Arc::new((
            first,
            if opposed { second.negated() } else { second },
        )))
    }

    /// The conjunction of `parts`.
    #[must_use]
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut set = BTreeSet::new();
        for part in parts {
            match part {
                Self::True => {}
                Self::False => return Self::False,
                Self::And(inner) => set.extend(inner.iter().cloned()),
                Self::Literal(_) | Self::Or(_) | Self::Iff(_) => {
                    set.insert(part);
                }
            }
        }
        if has_opposites(&set) {
            return Self::False;
        }
        collect(set, Self::True, Self::And)
    }

    /// The disjunction of `parts`.
    #[must_use]
    pub fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut set = BTreeSet::new();
        for part in parts {
            match part {
                Self::False => {}
                Self::True => return Self::True,
                Self::Or(inner) => set.extend(inner.iter().cloned()),
                Self::Literal(_) | Self::And(_) | Self::Iff(_) => {
                    set.insert(part);
                }
            }
        }
        if has_opposites(&set) {
            return Self::True;
        }
        collect(set, Self::False, Self::Or)
    }

    /// The parts of a conjunction; a formula that is none is its only part.
    pub fn conjuncts(&self) -> &[Self] {
        match self {
            Self::True => &[],
            Self::And(parts) => parts,
            Self::False | Self::Literal(_) | Self::Or(_) | Self::Iff(_) => {
                std::slice::from_ref(self)
            }
        }
    }

    /// Calls `f` on every literal in the order of the formula, also on those in
    /// the conditions of choices inside atoms.
    pub fn for_each_literal(&self, f: &mut dyn FnMut(&Literal)) {
        match self {
            Self::True | Self::False => {}
            Self::Literal(literal) => {
                for (key, _) in literal.atom.sum().iter() {
                    literals_in_key(key, f);
                }
                f(literal);
            }
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.for_each_literal(f));
            }
            Self::Iff(sides) => {
                sides.0.for_each_literal(f);
                sides.1.for_each_literal(f);
            }
        }
    }

    /// Whether some atom contains a division, a remainder or a choice.
    pub fn has_opaque_keys(&self) -> bool {
        let mut found = false;
        self.for_each_literal(&mut |literal| {
            found |= literal
                .atom
                .sum()
                .iter()
                .any(|(key, _)| !matches!(key, Key::Var(_)));
        });
        found
    }

    /// Calls `f` on every variable; repeats possible.
    pub fn for_each_var(&self, f: &mut dyn FnMut(Var)) {
        match self {
            Self::True | Self::False => {}
            Self::Literal(literal) => {
                literal
                    .atom
                    .sum()
                    .iter()
                    .for_each(|(key, _)| key.for_each_var(f));
            }
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.for_each_var(f));
            }
            Self::Iff(sides) => {
                sides.0.for_each_var(f);
                sides.1.for_each_var(f);
            }
        }
    }

    /// The variables that occur.
    pub fn free_vars(&self) -> BTreeSet<Var> {
        let mut vars = BTreeSet::new();
        self.for_each_var(&mut |var| {
            vars.insert(var);
        });
        vars
    }

    /// The atoms that occur.
    pub fn atoms(&self) -> BTreeSet<Atom> {
        let mut atoms = BTreeSet::new();
        self.for_each_literal(&mut |literal| {
            atoms.insert(literal.atom.clone());
        });
        atoms
    }
}

fn literals_in_term(term: &Term, f: &mut dyn FnMut(&Literal)) {
    for (key, _) in term.sum().iter() {
        literals_in_key(key, f);
    }
}

fn literals_in_key(key: &Key, f: &mut dyn FnMut(&Literal)) {
    match key {
        Key::Var(_) => {}
        Key::Div(term, _) | Key::Mod(term, _) => literals_in_term(term, f),
        Key::Ite(choice) => {
            literals_in_term(&choice.then, f);
            literals_in_term(&choice.otherwise, f);
            choice.condition.for_each_literal(f);
        }
    }
}

/// The opposites of distinct formulas, sorted.
fn opposites(parts: &[Formula]) -> Arc<[Formula]> {
    let mut opposites: Vec<Formula> = parts.iter().map(Formula::negated).collect();
    opposites.sort_unstable();
    opposites.into()
}

fn has_opposites(set: &BTreeSet<Formula>) -> bool {
    // Both literals of an atom are neighbours in the order.
    let mut last: Option<&Literal> = None;
    for part in set {
        match part {
            Formula::Literal(literal) => {
                if last.is_some_and(|l| l.atom == literal.atom) {
                    return true;
                }
                last = Some(literal);
            }
            Formula::True | Formula::False => {}
            Formula::And(_) | Formula::Or(_) | Formula::Iff(_) => {
                if set.contains(&part.negated()) {
                    return true;
                }
            }
        }
    }
    false
}

fn collect(set: BTreeSet<Formula>, empty: Formula, many: fn(Arc<[Formula]>) -> Formula) -> Formula {
    let mut parts: Vec<Formula> = set.into_iter().collect();
    match parts.len() {
        0 => empty,
        1 => parts.swap_remove(0),
        _ => many(parts.into()),
    }
}
