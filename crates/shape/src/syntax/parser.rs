//! The parser's shared parts: cursor, names, sets, formulas.
//!
//! Place: used by [`super::program`] and [`super::tvs`]. Recursive descent; nesting is bounded,
//! so no input overflows the stack. Binding, loosest first: quantifiers (as far right as
//! possible), `<->`, `->`, `|`, `&`, `!`; all binary signs associate to the left.

use palisade_syntax::{Cursor, Parser as Syntax};

use super::ast::{FormulaAst, Ignored, Name, Piece, SetExpr};
use super::lexer::{Lexeme, Token};
use super::{Diagnostics, Span};

/// Parsing failed; the error is in the diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// Result of a parsing function.
pub type Parsed<T> = Result<T, Failed>;

/// Makes a formula of two.
type Connective = fn(Box<FormulaAst>, Box<FormulaAst>) -> FormulaAst;

/// The place in the tokens.
pub struct Parser<'a> {
    cursor: Cursor<'a, Lexeme>,
    /// Inside `%message`, outside parentheses: `->` ends the formula.
    arrow_ends: bool,
    /// What has no meaning here.
    pub(super) ignored: Vec<(Ignored, Span)>,
    pub(crate) errors: &'a mut Diagnostics,
}

impl<'a> Syntax<'a> for Parser<'a> {
    type Token = Lexeme;
    type Error = Failed;
    const MAX_DEPTH: u32 = 400;
    const MAX_CHAIN: u32 = u32::MAX;

    fn cursor(&self) -> &Cursor<'a, Lexeme> {
        &self.cursor
    }

    fn cursor_mut(&mut self) -> &mut Cursor<'a, Lexeme> {
        &mut self.cursor
    }

    fn too_deep(&mut self) -> Failed {
        let help = "split it by instrumentation predicates or sets";
        let span = self.span();
        self.errors.error(span, "the text nests too deeply", help);
        Failed
    }

    fn too_long(&mut self) -> Failed {
        let help = "split it by instrumentation predicates or sets";
        let span = self.span();
        self.errors.error(span, "the formula is too long", help);
        Failed
    }

    fn expected(&mut self, what: &str, help: &str) -> Failed {
        let found = self.token();
        let span = self.span();
        let help = match (found, self.unclosed()) {
            (Token::Section | Token::End | Token::Directive(_), Some(unclosed)) => unclosed,
            _ => help.to_owned(),
        };
        self.errors
            .error(span, format!("expected {what}, found {found}"), help);
        Failed
    }
}

impl<'a> Parser<'a> {
    /// Starts at the first token; the last token is [`Token::End`].
    pub fn new(tokens: &'a [Lexeme], errors: &'a mut Diagnostics) -> Self {
        Self {
            cursor: Cursor::new(tokens),
            arrow_ends: false,
            ignored: Vec::new(),
            errors,
        }
    }

    /// The next token.
    pub fn token(&self) -> &'a Token {
        &self.peek().token
    }

    /// The token after the next.
    pub fn second(&self) -> &'a Token {
        &self.cursor.peek_at(1).token
    }

    /// A remedy if a brace before the next token is still open: where a part ends too early, its end
    /// is missing.
    pub(super) fn unclosed(&self) -> Option<String> {
        let mut open: Vec<Span> = Vec::new();
        for Lexeme { token, span } in &self.cursor.tokens()[..self.cursor.position()] {
            match token {
                Token::Sign("{") => open.push(*span),
                Token::Sign("}") => drop(open.pop()),
                _ => {}
            }
        }
        let place = self.errors.place(*open.last()?);
        Some(format!("is the `}}` missing that closes {place}?"))
    }

    /// Demands a sign.
    pub fn sign(&mut self, sign: &str) -> Parsed<()> {
        self.need(sign, "check the brackets and commas before it")?;
        Ok(())
    }

    /// Takes a directive if it is next.
    pub fn take_directive(&mut self, name: &str) -> bool {
        let found = matches!(self.token(), Token::Directive(d) if d == name);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a word if it is next.
    pub fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.token(), Token::Ident(w) if w == word);
        if found {
            self.advance();
        }
        found
    }

    /// Demands an identifier.
    pub fn ident(&mut self, what: &str) -> Parsed<String> {
        match self.token() {
            Token::Ident(w) => {
                self.advance();
                Ok(w.clone())
            }
            _ => Err(self.expected(what, "identifiers start with a letter, `_` or `$`")),
        }
    }

    /// A list of identifiers up to a closing sign, which is taken.
    pub fn idents_until(&mut self, close: &str) -> Parsed<Vec<String>> {
        let mut out = Vec::new();
        if self.eat(close) {
            return Ok(out);
        }
        loop {
            out.push(self.ident("an identifier")?);
            if self.eat(close) {
                return Ok(out);
            }
            self.sign(",")?;
        }
    }

    /// `id` or `id[names]`.
    pub fn name(&mut self) -> Parsed<Name> {
        let id = self.ident("a name")?;
        let mut params = Vec::new();
        if self.eat("[") {
            params = self.nested(|p| p.names_until("]"))?;
        }
        Ok(Name { id, params })
    }

    /// A list of names up to a closing sign, which is taken.
    pub fn names_until(&mut self, close: &str) -> Parsed<Vec<Name>> {
        let mut out = Vec::new();
        if self.eat(close) {
            return Ok(out);
        }
        loop {
            out.push(self.name()?);
            if self.eat(close) {
                return Ok(out);
            }
            self.sign(",")?;
        }
    }

    /// A set expression.
    pub fn set(&mut self) -> Parsed<SetExpr> {
        self.nested(|p| {
            let mut left = p.set_atom()?;
            loop {
                let make = if p.eat("+") {
                    SetExpr::Plus
                } else if p.eat("-") {
                    SetExpr::Minus
                } else if p.eat("&") {
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
        if self.eat("(") {
            let inner = self.set()?;
            self.sign(")")?;
            return Ok(inner);
        }
        if self.eat("{") {
            let mut names = Vec::new();
            if self.eat("}") {
                return Ok(SetExpr::Constant(names));
            }
            loop {
                names.push(self.name()?);
                if self.eat("}") {
                    return Ok(SetExpr::Constant(names));
                }
                if self.eat(":") {
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
            return Err(self.expected("`in`", "write `name in Set`"));
        }
        Ok((var, self.set()?))
    }

    /// A text joined by `+`.
    pub fn text(&mut self) -> Parsed<Vec<Piece>> {
        let mut out = Vec::new();
        loop {
            match self.token() {
                Token::Text(t) => {
                    out.push(Piece::Text(t.clone()));
                    self.advance();
                }
                Token::Ident(_) => out.push(Piece::Name(self.name()?)),
                _ => {
                    return Err(
                        self.expected("a text", "texts are \"...\" and names, joined by `+`")
                    );
                }
            }
            if !self.eat("+") {
                return Ok(out);
            }
        }
    }

    /// A formula.
    pub fn formula(&mut self) -> Parsed<FormulaAst> {
        self.nested(|p| {
            p.binary(
                0,
                Self::connective,
                Self::literal,
                |_, make, left, right| Ok(make(Box::new(left), Box::new(right))),
            )
        })
    }

    fn connective(&self) -> Option<(Connective, u8)> {
        Some(match self.token() {
            Token::Sign("<->") => (FormulaAst::Iff, 1),
            Token::Sign("->") if !self.arrow_ends => (FormulaAst::Implies, 2),
            Token::Sign("|") => (FormulaAst::Or, 3),
            Token::Sign("&") => (FormulaAst::And, 4),
            _ => return None,
        })
    }

    fn literal(&mut self) -> Parsed<FormulaAst> {
        self.nested(Self::unary)
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

    fn unary(&mut self) -> Parsed<FormulaAst> {
        if self.eat("!") {
            return Ok(FormulaAst::Not(Box::new(self.nested(Self::unary)?)));
        }
        if (self.is("|") || self.is("&")) && matches!(self.second(), Token::Sign("/")) {
            return self.combine();
        }
        if self.eat("(") {
            return self.bracketed(Self::parenthesis);
        }
        match self.token() {
            Token::Value(k) => {
                self.advance();
                Ok(FormulaAst::Value(*k))
            }
            Token::Ident(w) if w == "E" || w == "A" => {
                self.advance();
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
                self.advance();
                let (l, r) = self.pair()?;
                let (a, b) = self.pair()?;
                Ok(FormulaAst::Tc([l, r, a, b], Box::new(self.formula()?)))
            }
            Token::Ident(_) => self.atom(),
            _ => Err(self.expected(
                "a formula",
                "formulas are p(v), v == w, E(v) f, A(v) f, TC (a,b)(c,d) f, (c ? f : g), 0, 1, 1/2",
            )),
        }
    }

    fn parenthesis(&mut self) -> Parsed<FormulaAst> {
        let first = self.formula()?;
        if self.eat("?") {
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
        self.advance();
        self.advance();
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
        if self.eat("(") {
            let args = self.idents_until(")")?;
            return Ok(FormulaAst::Atom(name, args, span));
        }
        for (sign, reflexive) in [("*", true), ("+", false)] {
            if self.is(sign) && matches!(self.second(), Token::Sign("(")) {
                self.advance();
                let (a, b) = self.pair()?;
                return Ok(FormulaAst::Closure(name, a, b, reflexive, span));
            }
        }
        let equal = self.is("==");
        if name.params.is_empty() && (equal || self.is("!=")) {
            self.advance();
            let right = self.ident("a variable")?;
            let eq = FormulaAst::Eq(name.id, right);
            return Ok(if equal {
                eq
            } else {
                FormulaAst::Not(Box::new(eq))
            });
        }
        Err(self.expected(
            "`(`, `==` or `!=` after a name in a formula",
            "a predicate takes its arguments in parentheses, also when it has none: p()",
        ))
    }
}
