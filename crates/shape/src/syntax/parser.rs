//! The parser's shared parts: cursor, names, sets, formulas.
//!
//! Place: used by [`super::program`] and [`super::tvs`]. Recursive descent; nesting is bounded,
//! so no input overflows the stack. Binding, loosest first: quantifiers (as far right as
//! possible), `<->`, `->`, `|`, `&`, `!`; all binary signs associate to the left.

use super::ast::{FormulaAst, Name, Piece, SetExpr};
use super::lexer::Token;
use super::{Diagnostics, Span};

/// How deep formulas and sets may nest.
const MAX_NESTING: usize = 400;

/// Parsing failed; the error is in the diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// Result of a parsing function.
pub type Parsed<T> = Result<T, Failed>;

/// A cursor over tokens.
pub struct Parser<'a> {
    tokens: &'a [(Token, Span)],
    at: usize,
    nesting: usize,
    /// Inside `%message`, outside parentheses: `->` ends the formula.
    arrow_ends: bool,
    pub(crate) errors: &'a mut Diagnostics,
}

impl<'a> Parser<'a> {
    /// Starts at the first token; the last token is [`Token::End`].
    pub fn new(tokens: &'a [(Token, Span)], errors: &'a mut Diagnostics) -> Self {
        Self {
            tokens,
            at: 0,
            nesting: 0,
            arrow_ends: false,
            errors,
        }
    }

    /// The next token.
    pub fn peek(&self) -> &'a Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)].0
    }

    /// The token after the next.
    pub fn peek_second(&self) -> &'a Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].0
    }

    /// Where the next token is.
    pub fn span(&self) -> Span {
        self.tokens[self.at.min(self.tokens.len() - 1)].1
    }

    /// Takes the next token.
    pub fn advance(&mut self) -> &'a Token {
        let t = self.peek();
        self.at += 1;
        t
    }

    /// Reports that something else was expected.
    pub fn expected<T>(&mut self, what: &str, help: &str) -> Parsed<T> {
        let found = self.peek().clone();
        let span = self.span();
        let help = match (&found, self.unclosed()) {
            (Token::Section | Token::End | Token::Directive(_), Some(unclosed)) => unclosed,
            _ => help.to_owned(),
        };
        self.errors
            .error(span, format!("expected {what}, found {found}"), help);
        Err(Failed)
    }

    /// A remedy if a brace before the next token is still open: where a part ends too early, its end
    /// is missing.
    pub(super) fn unclosed(&self) -> Option<String> {
        let mut open: Vec<Span> = Vec::new();
        for (token, span) in &self.tokens[..self.at.min(self.tokens.len())] {
            match token {
                Token::Sign("{") => open.push(*span),
                Token::Sign("}") => drop(open.pop()),
                _ => {}
            }
        }
        let place = self.errors.place(*open.last()?);
        Some(format!("is the `}}` missing that closes {place}?"))
    }

    /// Whether the next token is this sign.
    pub fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if *s == sign)
    }

    /// Takes a sign if it is next.
    pub fn take(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.at += 1;
        }
        found
    }

    /// Demands a sign.
    pub fn sign(&mut self, sign: &str) -> Parsed<()> {
        if self.take(sign) {
            Ok(())
        } else {
            self.expected(
                &format!("`{sign}`"),
                "check the brackets and commas before it",
            )
        }
    }

    /// Takes a directive if it is next.
    pub fn take_directive(&mut self, name: &str) -> bool {
        let found = matches!(self.peek(), Token::Directive(d) if d == name);
        if found {
            self.at += 1;
        }
        found
    }

    /// Takes a word if it is next.
    pub fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Ident(w) if w == word);
        if found {
            self.at += 1;
        }
        found
    }

    /// Demands an identifier.
    pub fn ident(&mut self, what: &str) -> Parsed<String> {
        match self.peek() {
            Token::Ident(w) => {
                self.at += 1;
                Ok(w.clone())
            }
            _ => self.expected(what, "identifiers start with a letter, `_` or `$`"),
        }
    }

    /// A list of identifiers up to a closing sign, which is taken.
    pub fn idents_until(&mut self, close: &str) -> Parsed<Vec<String>> {
        let mut out = Vec::new();
        if self.take(close) {
            return Ok(out);
        }
        loop {
            out.push(self.ident("an identifier")?);
            if self.take(close) {
                return Ok(out);
            }
            self.sign(",")?;
        }
    }

    /// `id` or `id[names]`.
    pub fn name(&mut self) -> Parsed<Name> {
        let id = self.ident("a name")?;
        let mut params = Vec::new();
        if self.take("[") {
            params = self.deeper(|p| p.names_until("]"))?;
        }
        Ok(Name { id, params })
    }

    /// A list of names up to a closing sign, which is taken.
    pub fn names_until(&mut self, close: &str) -> Parsed<Vec<Name>> {
        let mut out = Vec::new();
        if self.take(close) {
            return Ok(out);
        }
        loop {
            out.push(self.name()?);
            if self.take(close) {
                return Ok(out);
            }
            self.sign(",")?;
        }
    }

    /// Runs a nested parse, refusing to go too deep.
    pub fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            let span = self.span();
            self.errors.error(
                span,
                "the text nests too deeply",
                "split it by instrumentation predicates or sets",
            );
            return Err(Failed);
        }
        self.nesting += 1;
        let out = f(self);
        self.nesting -= 1;
        out
    }

    /// A set expression.
    pub fn set(&mut self) -> Parsed<SetExpr> {
        self.deeper(|p| {
            let mut left = p.set_atom()?;
            loop {
                let make = if p.take("+") {
                    SetExpr::Plus
                } else if p.take("-") {
                    SetExpr::Minus
                } else if p.take("&") {
                    SetExpr::And
                } else {
                    return Ok(left);
                };
                let right = p.set_atom()?;
                left = make(Box::new(left), Box::new(right));
            }
        })
    }

    fn set_atom(&mut self) -> Parsed<SetExpr> {
        if self.take("(") {
            let inner = self.set()?;
            self.sign(")")?;
            return Ok(inner);
        }
        if self.take("{") {
            let mut names = Vec::new();
            if self.take("}") {
                return Ok(SetExpr::Constant(names));
            }
            loop {
                names.push(self.name()?);
                if self.take("}") {
                    return Ok(SetExpr::Constant(names));
                }
                if self.take(":") {
                    let (var, set) = self.member()?;
                    self.sign("}")?;
                    return Ok(SetExpr::Comprehension(names, var, Box::new(set)));
                }
                self.sign(",")?;
            }
        }
        let span = self.span();
        let id = self.ident("a set")?;
        Ok(SetExpr::Use(id, span))
    }

    /// `z in S`.
    pub fn member(&mut self) -> Parsed<(String, SetExpr)> {
        let var = self.ident("a name")?;
        if !self.take_word("in") {
            return self.expected("`in`", "write `name in Set`");
        }
        Ok((var, self.set()?))
    }

    /// A text joined by `+`.
    pub fn text(&mut self) -> Parsed<Vec<Piece>> {
        let mut out = Vec::new();
        loop {
            match self.peek() {
                Token::Text(t) => {
                    out.push(Piece::Text(t.clone()));
                    self.at += 1;
                }
                Token::Ident(_) => out.push(Piece::Name(self.name()?)),
                _ => {
                    return self.expected("a text", "texts are \"...\" and names, joined by `+`");
                }
            }
            if !self.take("+") {
                return Ok(out);
            }
        }
    }

    /// A formula.
    pub fn formula(&mut self) -> Parsed<FormulaAst> {
        self.deeper(|p| {
            let mut left = p.implication()?;
            while p.take("<->") {
                left = FormulaAst::Iff(Box::new(left), Box::new(p.implication()?));
            }
            Ok(left)
        })
    }

    /// A formula in which a top-level `->` ends it, for messages.
    pub fn message_formula(&mut self) -> Parsed<FormulaAst> {
        let before = std::mem::replace(&mut self.arrow_ends, true);
        let out = self.formula();
        self.arrow_ends = before;
        out
    }

    fn bracketed<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let before = std::mem::replace(&mut self.arrow_ends, false);
        let out = f(self);
        self.arrow_ends = before;
        out
    }

    fn implication(&mut self) -> Parsed<FormulaAst> {
        let mut left = self.disjunction()?;
        while !self.arrow_ends && self.take("->") {
            left = FormulaAst::Implies(Box::new(left), Box::new(self.disjunction()?));
        }
        Ok(left)
    }

    fn disjunction(&mut self) -> Parsed<FormulaAst> {
        let mut left = self.conjunction()?;
        while self.take("|") {
            left = FormulaAst::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed<FormulaAst> {
        let mut left = self.deeper(Self::unary)?;
        while self.take("&") {
            left = FormulaAst::And(Box::new(left), Box::new(self.deeper(Self::unary)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<FormulaAst> {
        if self.take("!") {
            return Ok(FormulaAst::Not(Box::new(self.deeper(Self::unary)?)));
        }
        if (self.is("|") || self.is("&")) && matches!(self.peek_second(), Token::Sign("/")) {
            return self.combine();
        }
        if self.take("(") {
            return self.bracketed(Self::parenthesis);
        }
        match self.peek() {
            Token::Value(k) => {
                self.at += 1;
                Ok(FormulaAst::Value(*k))
            }
            Token::Ident(w) if w == "E" || w == "A" => {
                self.at += 1;
                self.sign("(")?;
                let vars = self.idents_until(")")?;
                let body = Box::new(self.formula()?);
                Ok(if w == "E" {
                    FormulaAst::Exists(vars, body)
                } else {
                    FormulaAst::Forall(vars, body)
                })
            }
            Token::Ident(w) if w == "TC" => {
                self.at += 1;
                let (l, r) = self.pair()?;
                let (a, b) = self.pair()?;
                Ok(FormulaAst::Tc([l, r, a, b], Box::new(self.formula()?)))
            }
            Token::Ident(_) => self.atom(),
            _ => self.expected(
                "a formula",
                "formulas are p(v), v == w, E(v) f, A(v) f, TC (a,b)(c,d) f, (c ? f : g), 0, 1, 1/2",
            ),
        }
    }

    fn parenthesis(&mut self) -> Parsed<FormulaAst> {
        let first = self.formula()?;
        if self.take("?") {
            let yes = self.formula()?;
            self.sign(":")?;
            let no = self.formula()?;
            self.sign(")")?;
            return Ok(FormulaAst::Ite(
                Box::new(first),
                Box::new(yes),
                Box::new(no),
            ));
        }
        self.sign(")")?;
        Ok(first)
    }

    fn combine(&mut self) -> Parsed<FormulaAst> {
        let or = self.is("|");
        self.at += 2;
        self.sign("{")?;
        self.bracketed(|p| {
            let f = p.formula()?;
            p.sign(":")?;
            let (var, set) = p.member()?;
            p.sign("}")?;
            Ok(FormulaAst::Combine(or, Box::new(f), var, set))
        })
    }

    fn pair(&mut self) -> Parsed<(String, String)> {
        self.sign("(")?;
        let a = self.ident("a variable")?;
        self.sign(",")?;
        let b = self.ident("a variable")?;
        self.sign(")")?;
        Ok((a, b))
    }

    fn atom(&mut self) -> Parsed<FormulaAst> {
        let span = self.span();
        let name = self.name()?;
        if self.take("(") {
            let args = self.idents_until(")")?;
            return Ok(FormulaAst::Atom(name, args, span));
        }
        for (sign, reflexive) in [("*", true), ("+", false)] {
            if self.is(sign) && matches!(self.peek_second(), Token::Sign("(")) {
                self.at += 1;
                let (a, b) = self.pair()?;
                return Ok(FormulaAst::Closure(name, a, b, reflexive, span));
            }
        }
        let equal = self.is("==");
        if name.params.is_empty() && (equal || self.is("!=")) {
            self.at += 1;
            let right = self.ident("a variable")?;
            let eq = FormulaAst::Eq(name.id, right);
            return Ok(if equal {
                eq
            } else {
                FormulaAst::Not(Box::new(eq))
            });
        }
        self.expected(
            "`(`, `==` or `!=` after a name in a formula",
            "a predicate takes its arguments in parentheses, also when it has none: p()",
        )
    }
}
