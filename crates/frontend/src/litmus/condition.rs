//! The *condition*: what a test asks about its final states. This file reads it
//! as written (`locations [...]`, `filter p`, `exists p`, `~exists p`, `forall p`);
//! [`observe`](super::observe) ties its names to the program.
//!
//! Precedence is that of herd's grammar: `~` binds tightest, then `=>`, then
//! `/\`, then `\/`.

use palisade_program::Span;

use super::Failure;
use super::init::{self, Literal, LocRef};
use super::lexer::{Cursor, Tok, Token};
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
    let mut p = Parser {
        cursor: Cursor::new(tokens),
        depth: 0,
    };
    let listed = p.locations()?;
    let filter = if p.cursor.eat_name("filter") {
        Some(p.or()?)
    } else {
        None
    };
    let (quantifier, prop) = p.constraint()?;
    while p.cursor.eat(";") {}
    if p.cursor.eat_name("with") {
        // Which answers other models expect: of no use here.
        while *p.cursor.peek() != Tok::End {
            p.cursor.advance();
        }
    }
    if *p.cursor.peek() != Tok::End {
        return Err(p.cursor.unexpected("the end of the condition"));
    }
    Ok(Question {
        listed,
        filter,
        quantifier,
        prop,
    })
}

/// Deeper nesting is refused, so that no input exhausts the stack.
const MAX_DEPTH: usize = 200;

struct Parser<'a> {
    cursor: Cursor<'a>,
    depth: usize,
}

impl Parser<'_> {
    fn locations(&mut self) -> Result<Vec<Listed>, Failure> {
        let mut listed = Vec::new();
        if !self.cursor.eat_name("locations") {
            return Ok(listed);
        }
        self.cursor.expect("[")?;
        while !self.cursor.eat("]") {
            listed.push(self.listed()?);
            if !self.cursor.eat(";") && !self.cursor.is("]") {
                return Err(self.cursor.unexpected("`;` or `]`"));
            }
        }
        Ok(listed)
    }

    fn listed(&mut self) -> Result<Listed, Failure> {
        self.refuse_fault()?;
        let span = self.cursor.span();
        let loc = init::location(&mut self.cursor)?;
        let mut words = Vec::new();
        while matches!(self.cursor.peek(), Tok::Name(_)) {
            words.push(self.cursor.name("a type")?.0);
        }
        let span = span.to(self.cursor.previous());
        while self.cursor.eat("*") {}
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
        match self.cursor.peek() {
            Tok::Name(name) if name == "fault" || name == "Fault" => {
                Err(Diagnostic::error(self.cursor.span(), "faults are not supported").into())
            }
            Tok::Name(_) | Tok::Number(_) | Tok::Punct(_) | Tok::Text(_) | Tok::End => Ok(()),
        }
    }

    fn constraint(&mut self) -> Result<(Quantifier, Prop<Equation>), Failure> {
        let c = &mut self.cursor;
        if *c.peek() == Tok::End || c.is(";") {
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
            while !matches!(self.cursor.peek(), Tok::End)
                && !matches!(self.cursor.peek(), Tok::Name(n) if n == "and")
            {
                state.push(self.equation()?);
                self.cursor.expect(";")?;
            }
            states.push(Prop::And(state));
            if !self.cursor.eat_name("and") {
                return Ok(Prop::Or(states));
            }
        }
    }

    fn or(&mut self) -> Result<Prop<Equation>, Failure> {
        let mut parts = vec![self.and()?];
        while self.cursor.eat("\\/") {
            parts.push(self.and()?);
        }
        Ok(single(parts, Prop::Or))
    }

    fn and(&mut self) -> Result<Prop<Equation>, Failure> {
        let mut parts = vec![self.implies()?];
        while self.cursor.eat("/\\") {
            parts.push(self.implies()?);
        }
        Ok(single(parts, Prop::And))
    }

    fn implies(&mut self) -> Result<Prop<Equation>, Failure> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Diagnostic::error(
                self.cursor.span(),
                "the condition is nested too deeply",
            )
            .help(format!("at most {MAX_DEPTH} levels"))
            .into());
        }
        let left = self.unary()?;
        let result = if self.cursor.eat("=>") {
            Prop::Implies(Box::new(left), Box::new(self.implies()?))
        } else {
            left
        };
        self.depth -= 1;
        Ok(result)
    }

    fn unary(&mut self) -> Result<Prop<Equation>, Failure> {
        let mut negations = 0_usize;
        while self.cursor.eat("~") || self.cursor.eat_name("not") {
            negations += 1;
        }
        let inner = if self.cursor.eat("(") {
            let inner = self.or()?;
            self.cursor.expect(")")?;
            inner
        } else if self.cursor.eat_name("true") {
            Prop::And(Vec::new())
        } else if self.cursor.eat_name("false") {
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
        let start = self.cursor.span();
        let left = init::location(&mut self.cursor)?;
        let negated = if self.cursor.eat("=") || self.cursor.eat("==") {
            false
        } else if self.cursor.eat("!=") || self.cursor.eat("<>") {
            true
        } else {
            return Err(self.cursor.unexpected("`=`"));
        };
        let right = self.right()?;
        let span = start.to(self.cursor.previous());
        let atom = Prop::Atom(Equation { left, right, span });
        Ok(if negated {
            Prop::Not(Box::new(atom))
        } else {
            atom
        })
    }

    fn right(&mut self) -> Result<Right, Failure> {
        let c = &mut self.cursor;
        if c.eat("{") {
            let list = init::list(c)?;
            c.expect("}")?;
            return Ok(Right::Array(list));
        }
        let names_register =
            *c.peek_at(1) == Tok::Punct(":") && matches!(c.peek(), Tok::Number(_) | Tok::Name(_));
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
