//! From terms and formulas to Z3's. Variables are cached per encoder; Z3 shares
//! equal terms itself. `div` and `mod` of SMT-LIB round down and are never
//! negative for positive divisors, as here.

use crate::atom::Relation;
use crate::formula::Formula;
use crate::names::Var;
use crate::term::{Int, Key, Term};
use rustc_hash::FxHashMap;
use z3::ast::{self, Bool};

/// Builds Z3 terms in the context of the current thread.
#[derive(Default)]
pub(crate) struct Encoder {
    vars: FxHashMap<Var, ast::Int>,
}

pub(crate) fn number(value: Int) -> ast::Int {
    i64::try_from(value).map_or_else(|_| ast::Int::from_i128(value), ast::Int::from_i64)
}

impl Encoder {
    pub(crate) fn var(&mut self, var: Var) -> ast::Int {
        self.vars
            .entry(var)
            .or_insert_with(|| ast::Int::new_const(format!("v{}", var.0)))
            .clone()
    }

    pub(crate) fn term(&mut self, term: &Term) -> ast::Int {
        self.sum(term.sum(), term.offset())
    }

    fn sum(&mut self, sum: &[(Key, Int)], constant: Int) -> ast::Int {
        let mut parts: Vec<ast::Int> = Vec::with_capacity(sum.len() + 1);
        for (key, coefficient) in sum {
            let key = self.key(key);
            parts.push(match *coefficient {
                1 => key,
                c => ast::Int::mul(&[number(c), key]),
            });
        }
        if constant != 0 || parts.is_empty() {
            parts.push(number(constant));
        }
        if parts.len() == 1 {
            parts.swap_remove(0)
        } else {
            ast::Int::add(&parts)
        }
    }

    fn key(&mut self, key: &Key) -> ast::Int {
        match key {
            Key::Var(var) => self.var(*var),
            Key::Div(term, divisor) => self.term(term).div(number(*divisor)),
            Key::Mod(term, divisor) => self.term(term).modulo(number(*divisor)),
            Key::Ite(choice) => {
                let condition = self.formula(&choice.condition);
                let then = self.term(&choice.then);
                condition.ite(&then, &self.term(&choice.otherwise))
            }
        }
    }

    pub(crate) fn formula(&mut self, formula: &Formula) -> Bool {
        match formula {
            Formula::True => Bool::from_bool(true),
            Formula::False => Bool::from_bool(false),
            Formula::Literal(literal) => {
                let sum = self.sum(literal.atom.sum(), 0);
                let bound = number(literal.atom.bound());
                match (literal.atom.relation(), literal.positive) {
                    (Relation::Le, true) => sum.le(bound),
                    (Relation::Le, false) => sum.gt(bound),
                    (Relation::Eq, true) => sum.eq(bound),
                    (Relation::Eq, false) => sum.eq(bound).not(),
                }
            }
            Formula::And(parts) => {
                let parts: Vec<Bool> = parts.iter().map(|part| self.formula(part)).collect();
                Bool::and(&parts)
            }
            Formula::Or(parts) => {
                let parts: Vec<Bool> = parts.iter().map(|part| self.formula(part)).collect();
                Bool::or(&parts)
            }
            Formula::Iff(sides) => self.formula(&sides.0).iff(self.formula(&sides.1)),
        }
    }
}
