//! The *condition*: what a test asks about its final states. This file reads it
//! as written (`locations [...]`, `filter p`, `exists p`, `~exists p`, `forall p`);
//! [`observe`](super::observe) ties its names to the program.
//!
//! Precedence is that of herd's grammar: `~` binds tightest, then `=>`, then
//! `/\`, then `\/`.

use palisade_program::Span;
use palisade_syntax::Parser as _;

use super::Failure;
use super::init::{self, Literal, LocRef};
use super::lexer::{Reader, Tok, Token};
use super::ty::Ty;
use crate::diagnostic::Diagnostic;

/// Which final states the condition speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Quantifier {
    /// `exists`: some state satisfies it.
    Exists,
    /// `~exists`: none does.
    NotExists,
    /// `forall`: all do.
    Forall,
}

/// A proposition over atoms `A`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Prop<A> {
    /// An atom.
    Atom(A),
    /// `~p`
    Not(Box<Prop<A>>),
    /// `p /\ q /\ ...`; `true` if empty.
    And(Vec<Prop<A>>),
    /// `p \/ q \/ ...`; `false` if empty.
    Or(Vec<Prop<A>>),
    /// `p => q`
    Implies(Box<Prop<A>>, Box<Prop<A>>),
}

impl<A> Prop<A> {
    /// Whether it holds when `atom` says which atoms do.
    pub fn eval(&self, atom: &impl Fn(&A) -> bool) -> bool {
        match self {
            Self::Atom(a) => atom(a),
            Self::Not(p) => !p.eval(atom),
            Self::And(ps) => ps.iter().all(|p| p.eval(atom)),
            Self::Or(ps) => ps.iter().any(|p| p.eval(atom)),
            Self::Implies(p, q) => !p.eval(atom) || q.eval(atom),
        }
    }

    /// Replaces every atom; stops at the first error.
    pub(super) fn try_map<B>(
        &self,
        f: &mut impl FnMut(&A) -> Result<Prop<B>, Failure>,
    ) -> Result<Prop<B>, Failure> {
        let mut all = |ps: &[Self]| {
            ps.iter()
                .map(|p| p.try_map(f))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(match self {
            Self::Atom(a) => return f(a),
            Self::Not(p) => Prop::Not(Box::new(p.try_map(f)?)),
            Self::And(ps) => Prop::And(all(ps)?),
            Self::Or(ps) => Prop::Or(all(ps)?),
            Self::Implies(p, q) => {
                let p = p.try_map(f)?;
                Prop::Implies(Box::new(p), Box::new(q.try_map(f)?))
            }
        })
    }

    /// As text, with as few parentheses as herd writes.
    pub fn show(&self, atom: &impl Fn(&A) -> String) -> String {
        self.show_at(0, atom)
    }

    /// `level`: 0 anywhere, 1 inside `/\`, 2 inside `=>` and `~`.
    fn show_at(&self, level: u8, atom: &impl Fn(&A) -> String) -> String {
        let join = |ps: &[Self], own: u8, word: &str| {
            let parts: Vec<String> = ps.iter().map(|p| p.show_at(own, atom)).collect();
            parts.join(word)
        };
        let (own, text) = match self {
            Self::Atom(a) => (3, atom(a)),
            Self::Not(p) => (3, format!("not ({})", p.show_at(0, atom))),
            Self::And(ps) if ps.is_empty() => (3, "true".to_owned()),
            Self::Or(ps) if ps.is_empty() => (3, "false".to_owned()),
            Self::And(ps) => (1, join(ps, 1, " /\\ ")),
            Self::Or(ps) => (0, join(ps, 0, " \\/ ")),
            Self::Implies(p, q) => (
                2,
                format!("{} => {}", p.show_at(3, atom), q.show_at(2, atom)),
            ),
        };
        if own < level {
            format!("({text})")
        } else {
            text
        }
    }
}

/// The right side of an equation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Right {
    /// A value.
    Value(Literal),
    /// The values of a whole array.
    Array(Vec<Literal>),
    /// Another location's value.
    Loc(LocRef),
}

/// An equation as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Equation {
    pub(super) left: LocRef,
    pub(super) right: Right,
    pub(super) span: Span,
}

/// An item of `locations [...]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Listed {
    pub(super) loc: LocRef,
    pub(super) ty: Option<Ty>,
    pub(super) span: Span,
}

/// The whole section as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Question {
    pub(super) listed: Vec<Listed>,
    pub(super) filter: Option<Prop<Equation>>,
    pub(super) quantifier: Quantifier,
    pub(super) prop: Prop<Equation>,
}

/// Parses the section. An empty one means `forall true`.
pub(super) fn parse(tokens: &[Token]) -> Result<Question, Failure> {
    let mut p = Reader::new(tokens);
    let listed = p.locations()?;
    let filter = if p.eat_name("filter") {
        Some(p.or()?)
    } else {
        None
    };
    let (quantifier, prop) = p.constraint()?;
    while p.eat(";") {}
    if p.eat_name("with") {
        // Which answers other models expect: of no use here.
        while *p.tok() != Tok::End {
            p.advance();
        }
    }
    if *p.tok() != Tok::End {
        return Err(p.unexpected("the end of the condition"));
    }
    Ok(Question {
        listed,
        filter,
        quantifier,
        prop,
    })
}

impl Reader<'_> {
    fn locations(&mut self) -> Result<Vec<Listed>, Failure> {
        let mut listed = Vec::new();
        if !self.eat_name("locations") {
            return Ok(listed);
        }
        self.expect("[")?;
        while !self.eat("]") {
            listed.push(self.listed()?);
            if !self.eat(";") && !self.is("]") {
                return Err(self.unexpected("`;` or `]`"));
            }
        }
        Ok(listed)
    }

    fn listed(&mut self) -> Result<Listed, Failure> {
        self.refuse_fault()?;
        let span = self.span();
        let loc = init::location(self)?;
        let mut words = Vec::new();
        while matches!(self.tok(), Tok::Name(_)) {
            words.push(self.name("a type")?.0);
        }
        let span = span.to(self.last_span());
        while self.eat("*") {}
        let ty = match words.as_slice() {
            [] => None,
            words => Some(Ty::named(words).ok_or_else(|| {
                Failure::from(Diagnostic::error(
                    span,
                    format!("unknown type `{}`", words.join(" ")),
                ))
            })?),
        };
        Ok(Listed { loc, ty, span })
    }

    fn refuse_fault(&self) -> Result<(), Failure> {
        match self.tok() {
            Tok::Name(name) if name == "fault" || name == "Fault" => {
                Err(Diagnostic::error(self.span(), "faults are not supported").into())
            }
            Tok::Name(_) | Tok::Number(_) | Tok::Punct(_) | Tok::Text(_) | Tok::End => Ok(()),
        }
    }

    fn constraint(&mut self) -> Result<(Quantifier, Prop<Equation>), Failure> {
        let c = &mut *self;
        if *c.tok() == Tok::End || c.is(";") {
            return Ok((Quantifier::Forall, Prop::And(Vec::new())));
        }
        if c.eat("~") || c.eat_name("not") {
            if !c.eat_name("exists") {
                return Err(c.unexpected("`exists`"));
            }
            return Ok((Quantifier::NotExists, self.or()?));
        }
        if c.eat_name("forall") {
            return Ok((Quantifier::Forall, self.or()?));
        }
        if c.eat_name("observed") || c.eat_name("Observed") {
            return Ok((Quantifier::Exists, self.observed()?));
        }
        if c.eat_name("exists") || c.eat_name("final") || c.is("(") {
            return Ok((Quantifier::Exists, self.or()?));
        }
        Err(c.unexpected("`exists`, `~exists` or `forall`"))
    }

    /// `observed x=1; y=2; and x=2; y=1;`: a list of states.
    fn observed(&mut self) -> Result<Prop<Equation>, Failure> {
        let mut states = Vec::new();
        loop {
            let mut state = Vec::new();
            while !matches!(self.tok(), Tok::End)
                && !matches!(self.tok(), Tok::Name(n) if n == "and")
            {
                state.push(self.equation()?);
                self.expect(";")?;
            }
            states.push(Prop::And(state));
            if !self.eat_name("and") {
                return Ok(Prop::Or(states));
            }
        }
    }

    fn or(&mut self) -> Result<Prop<Equation>, Failure> {
        let mut parts = vec![self.and()?];
        while self.eat("\\/") {
            parts.push(self.and()?);
        }
        Ok(single(parts, Prop::Or))
    }

    fn and(&mut self) -> Result<Prop<Equation>, Failure> {
        let mut parts = vec![self.implies()?];
        while self.eat("/\\") {
            parts.push(self.implies()?);
        }
        Ok(single(parts, Prop::And))
    }

    fn implies(&mut self) -> Result<Prop<Equation>, Failure> {
        let left = self.nested(Self::unary)?;
        Ok(if self.eat("=>") {
            Prop::Implies(Box::new(left), Box::new(self.nested(Self::implies)?))
        } else {
            left
        })
    }

    fn unary(&mut self) -> Result<Prop<Equation>, Failure> {
        let mut negations = 0_usize;
        while self.eat("~") || self.eat_name("not") {
            negations += 1;
        }
        let inner = if self.eat("(") {
            let inner = self.or()?;
            self.expect(")")?;
            inner
        } else if self.eat_name("true") {
            Prop::And(Vec::new())
        } else if self.eat_name("false") {
            Prop::Or(Vec::new())
        } else {
            self.equation()?
        };
        // An even number of negations cancels out.
        Ok(if negations % 2 == 1 {
            Prop::Not(Box::new(inner))
        } else {
            inner
        })
    }

    fn equation(&mut self) -> Result<Prop<Equation>, Failure> {
        self.refuse_fault()?;
        let start = self.span();
        let left = init::location(self)?;
        let negated = if self.eat("=") || self.eat("==") {
            false
        } else if self.eat("!=") || self.eat("<>") {
            true
        } else {
            return Err(self.unexpected("`=`"));
        };
        let right = self.right()?;
        let span = start.to(self.last_span());
        let atom = Prop::Atom(Equation { left, right, span });
        Ok(if negated {
            Prop::Not(Box::new(atom))
        } else {
            atom
        })
    }

    fn right(&mut self) -> Result<Right, Failure> {
        let c = self;
        if c.eat("{") {
            let list = init::list(c)?;
            c.expect("}")?;
            return Ok(Right::Array(list));
        }
        let names_register =
            *c.tok_at(1) == Tok::Punct(":") && matches!(c.tok(), Tok::Number(_) | Tok::Name(_));
        if c.eat("*") || c.is("[") || names_register {
            return Ok(Right::Loc(init::location(c)?));
        }
        Ok(Right::Value(init::literal(c)?))
    }
}

fn single(
    mut parts: Vec<Prop<Equation>>,
    many: fn(Vec<Prop<Equation>>) -> Prop<Equation>,
) -> Prop<Equation> {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => many(parts),
    }
}
