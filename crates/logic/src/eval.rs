//! Evaluation of terms and formulas under an *assignment* of the variables.
//! Arithmetic is checked: a value that leaves `i128` is [`Overflow`], never a
//! wrapped number.

use crate::atom::{Literal, Relation};
use crate::formula::Formula;
use crate::names::Var;
use crate::term::{Int, Key, Overflow, Term};
use std::collections::BTreeMap;

/// Values for variables; those not mentioned are 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assignment {
    values: BTreeMap<Var, Int>,
}

impl Assignment {
    /// Gives `var` a value.
    pub fn set(&mut self, var: Var, value: Int) {
        self.values.insert(var, value);
    }

    /// The value of `var`; 0 unless it was set.
    pub fn value(&self, var: Var) -> Int {
        self.values.get(&var).copied().unwrap_or(0)
    }
}

impl FromIterator<(Var, Int)> for Assignment {
    fn from_iter<I: IntoIterator<Item = (Var, Int)>>(iter: I) -> Self {
        Self {
            values: iter.into_iter().collect(),
        }
    }
}

impl Term {
    /// The value under `assignment`.
    pub fn eval(&self, assignment: &Assignment) -> Result<Int, Overflow> {
        eval_sum(self.sum(), assignment)?
            .checked_add(self.offset())
            .ok_or(Overflow)
    }
}

impl Literal {
    /// Whether the literal holds under `assignment`.
    pub fn eval(&self, assignment: &Assignment) -> Result<bool, Overflow> {
        let value = eval_sum(self.atom.sum(), assignment)?;
        let truth = match self.atom.relation() {
            Relation::Le => value <= self.atom.bound(),
            Relation::Eq => value == self.atom.bound(),
        };
        Ok(truth == self.positive)
    }
}

impl Formula {
    /// Whether the formula holds under `assignment`.
    pub fn eval(&self, assignment: &Assignment) -> Result<bool, Overflow> {
        match self {
            Self::True => Ok(true),
            Self::False => Ok(false),
            Self::Literal(literal) => literal.eval(assignment),
            Self::And(parts) => {
                for part in parts.iter() {
                    if !part.eval(assignment)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Or(parts) => {
                for part in parts.iter() {
                    if part.eval(assignment)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::Iff(sides) => Ok(sides.0.eval(assignment)? == sides.1.eval(assignment)?),
        }
    }
}

fn eval_sum(sum: &[(Key, Int)], assignment: &Assignment) -> Result<Int, Overflow> {
    let mut total: Int = 0;
    for (key, coefficient) in sum {
        let product = eval_key(key, assignment)?
            .checked_mul(*coefficient)
            .ok_or(Overflow)?;
        total = total.checked_add(product).ok_or(Overflow)?;
    }
    Ok(total)
}

fn eval_key(key: &Key, assignment: &Assignment) -> Result<Int, Overflow> {
    match key {
        Key::Var(var) => Ok(assignment.value(*var)),
        Key::Div(term, divisor) => Ok(term.eval(assignment)?.div_euclid(*divisor)),
        Key::Mod(term, divisor) => Ok(term.eval(assignment)?.rem_euclid(*divisor)),
        Key::Ite(choice) => {
            if choice.condition.eval(assignment)? {
                choice.then.eval(assignment)
            } else {
                choice.otherwise.eval(assignment)
            }
        }
    }
}
