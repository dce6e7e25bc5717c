//! From Z3's terms back to formulas, for interpolants. Only what linear integer
//! arithmetic needs is read; anything else is an error that names it.

use crate::formula::Formula;
use crate::term::{Int, Overflow, Term};
use z3::ast::{Ast, Dynamic};
use z3::{AstKind, DeclKind, SortKind};

/// Why a term of Z3 has no form here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum DecodeError {
    /// An operator outside linear integer arithmetic.
    Unexpected(String),
    /// A number that is too large.
    Overflow,
}

impl From<Overflow> for DecodeError {
    fn from(_: Overflow) -> Self {
        Self::Overflow
    }
}

/// Reads terms whose bound variables stand for `arguments`, in order.
pub(crate) struct Decoder<'a> {
    pub(crate) arguments: &'a [Term],
}

fn unexpected<T>(what: &Dynamic) -> Result<T, DecodeError> {
    Err(DecodeError::Unexpected(what.to_string()))
}

impl Decoder<'_> {
    pub(crate) fn formula(&self, ast: &Dynamic) -> Result<Formula, DecodeError> {
        if ast.kind() != AstKind::App {
            return unexpected(ast);
        }
        let children = ast.children();
        let parts = || children.iter().map(|child| self.formula(child));
        let pair = |compare: fn(&Term, &Term) -> Result<Formula, Overflow>| match &children[..] {
            [a, b] => Ok(compare(&self.term(a)?, &self.term(b)?)?),
            _ => unexpected(ast),
        };
        match (ast.decl().kind(), &children[..]) {
            (DeclKind::True, []) => Ok(Formula::True),
            (DeclKind::False, []) => Ok(Formula::False),
            (DeclKind::And, _) => Ok(Formula::all(parts().collect::<Result<Vec<_>, _>>()?)),
            (DeclKind::Or, _) => Ok(Formula::any(parts().collect::<Result<Vec<_>, _>>()?)),
            (DeclKind::Not, [a]) => Ok(self.formula(a)?.negated()),
            (DeclKind::Implies, [a, b]) => Ok(self.formula(a)?.implies(&self.formula(b)?)),
            (DeclKind::Iff, [a, b]) => Ok(Formula::iff(&self.formula(a)?, &self.formula(b)?)),
            (DeclKind::Eq, [a, b]) if a.sort_kind() == SortKind::Bool => {
                Ok(Formula::iff(&self.formula(a)?, &self.formula(b)?))
            }
            (DeclKind::Ite, [c, a, b]) => Ok(Formula::ite(
                &self.formula(c)?,
                &self.formula(a)?,
                &self.formula(b)?,
            )),
            (DeclKind::Eq, _) => pair(Formula::eq),
            (DeclKind::Le, _) => pair(Formula::le),
            (DeclKind::Ge, _) => pair(Formula::ge),
            (DeclKind::Lt, _) => pair(Formula::lt),
            (DeclKind::Gt, _) => pair(Formula::gt),
            _ => unexpected(ast),
        }
    }

    fn term(&self, ast: &Dynamic) -> Result<Term, DecodeError> {
        match ast.kind() {
            AstKind::Numeral => {
                let value = ast.as_int().and_then(|int| int.as_i128());
                Ok(Term::wide_constant(value.ok_or(DecodeError::Overflow)?)?)
            }
            AstKind::Var => self.argument(ast),
            AstKind::App => self.application(ast),
            AstKind::Quantifier | AstKind::Sort | AstKind::FuncDecl | AstKind::Unknown => {
                unexpected(ast)
            }
        }
    }

    /// A bound variable; Z3 prints it as `(:var 3)`, and the binding offers no
    /// other access to the number.
    fn argument(&self, ast: &Dynamic) -> Result<Term, DecodeError> {
        let text = ast.to_string();
        let number = text
            .strip_prefix("(:var ")
            .and_then(|rest| rest.strip_suffix(')'));
        let index = number.and_then(|digits| digits.parse::<usize>().ok());
        match index.and_then(|index| self.arguments.get(index)) {
            Some(term) => Ok(term.clone()),
            None => unexpected(ast),
        }
    }

    fn application(&self, ast: &Dynamic) -> Result<Term, DecodeError> {
        let children = ast.children();
        match (ast.decl().kind(), &children[..]) {
            (DeclKind::Add, _) => self.fold(&children, Term::plus),
            (DeclKind::Sub, _) => self.fold(&children, Term::minus),
            (DeclKind::Uminus, [a]) => Ok(self.term(a)?.negated()),
            (DeclKind::Mul, [a, b]) => {
                let (a, b) = (self.term(a)?, self.term(b)?);
                match (a.as_constant(), b.as_constant()) {
                    (Some(c), _) => Ok(b.times(c)?),
                    (None, Some(c)) => Ok(a.times(c)?),
                    (None, None) => unexpected(ast),
                }
            }
            (DeclKind::Idiv, [a, d]) => Ok(self.term(a)?.div(self.divisor(d)?)?),
            (DeclKind::Mod, [a, d]) => Ok(self.term(a)?.modulo(self.divisor(d)?)?),
            (DeclKind::Ite, [c, a, b]) => {
                Ok(Term::ite(&self.formula(c)?, &self.term(a)?, &self.term(b)?))
            }
            _ => unexpected(ast),
        }
    }

    fn fold(
        &self,
        children: &[Dynamic],
        join: fn(&Term, &Term) -> Result<Term, Overflow>,
    ) -> Result<Term, DecodeError> {
        let mut parts = children.iter().map(|child| self.term(child));
        let first = parts.next().unwrap_or_else(|| Ok(Term::constant(0)))?;
        parts.try_fold(first, |sum, part| Ok(join(&sum, &part?)?))
    }

    fn divisor(&self, ast: &Dynamic) -> Result<Int, DecodeError> {
        match self.term(ast)?.as_constant() {
            Some(divisor) if divisor > 0 => Ok(divisor),
            Some(_) | None => unexpected(ast),
        }
    }
}
