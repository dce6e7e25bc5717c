//! Simultaneous *substitution* of terms for variables, and the weakest
//! preconditions that are made of it: of a parallel assignment (substitution),
//! of `assume` (implication) and of `havoc` (a fresh variable takes the old
//! one's place, to be read as universally quantified).

use crate::formula::Formula;
use crate::names::Var;
use crate::term::{Key, Overflow, Term};
use std::collections::BTreeMap;

/// Terms to put in place of variables, all at once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Substitution {
    terms: BTreeMap<Var, Term>,
}

impl Substitution {
    /// The substitution of `term` for `var` alone.
    pub fn single(var: Var, term: Term) -> Self {
        std::iter::once((var, term)).collect()
    }

    /// Adds `term` for `var`, in place of an earlier term for it.
    pub fn set(&mut self, var: Var, term: Term) {
        self.terms.insert(var, term);
    }

    /// The term for `var`, if it is replaced.
    pub fn get(&self, var: Var) -> Option<&Term> {
        self.terms.get(&var)
    }
}

impl FromIterator<(Var, Term)> for Substitution {
    fn from_iter<I: IntoIterator<Item = (Var, Term)>>(iter: I) -> Self {
        Self {
            terms: iter.into_iter().collect(),
        }
    }
}

impl Term {
    /// This term with every variable replaced as `substitution` says.
    pub fn substitute(&self, substitution: &Substitution) -> Result<Self, Overflow> {
        if !self.touched_by(substitution) {
            return Ok(self.clone());
        }
        let mut result = Self::wide_constant(self.offset())?;
        for (key, coefficient) in self.sum().iter() {
            let part = substitute_key(key, substitution)?;
            result = result.plus(&part.times(*coefficient)?)?;
        }
        Ok(result)
    }

    fn touched_by(&self, substitution: &Substitution) -> bool {
        let mut touched = false;
        self.for_each_var(&mut |var| touched |= substitution.terms.contains_key(&var));
        touched
    }
}

fn substitute_key(key: &Key, substitution: &Substitution) -> Result<Term, Overflow> {
    match key {
        Key::Var(var) => Ok(substitution
            .get(*var)
            .cloned()
            .unwrap_or_else(|| Term::var(*var))),
        Key::Div(term, divisor) => term.substitute(substitution)?.div(*divisor),
        Key::Mod(term, divisor) => term.substitute(substitution)?.modulo(*divisor),
        Key::Ite(choice) => Ok(Term::ite(
            &choice.condition.substitute(substitution)?,
            &choice.then.substitute(substitution)?,
            &choice.otherwise.substitute(substitution)?,
        )),
    }
}

impl Formula {
    /// This formula with every variable replaced as `substitution` says.
    pub fn substitute(&self, substitution: &Substitution) -> Result<Self, Overflow> {
        let all = |parts: &[Self]| -> Result<Vec<Self>, Overflow> {
            parts
                .iter()
                .map(|part| part.substitute(substitution))
                .collect()
        };
        match self {
            Self::True => Ok(Self::True),
            Self::False => Ok(Self::False),
            Self::Literal(literal) => {
                let term = literal.atom.term();
                if !term.touched_by(substitution) {
                    return Ok(self.clone());
                }
                let atom = Self::compare(&term.substitute(substitution)?, literal.atom.relation())?;
                Ok(if literal.positive {
                    atom
                } else {
                    atom.negated()
                })
            }
            Self::And(parts) => Ok(Self::all(all(parts)?)),
            Self::Or(parts) => Ok(Self::any(all(parts)?)),
            Self::Iff(sides) => Ok(Self::iff(
                &sides.0.substitute(substitution)?,
                &sides.1.substitute(substitution)?,
            )),
        }
    }
}
