//! A *parser* by recursive descent. Nesting and chains of operators are limited, so that no input exhausts the
//! stack, here or in later passes over the tree. Operators are read by *precedence climbing* [Richards and
//! Whitby-Strevens, BCPL, 1979]: an operand, then all operators that bind stronger than those around, each with
//! its right operand.

use crate::cursor::{Cursor, Token};

/// The places in the text that a parser speaks of.
pub type SpanOf<'t, P> = <<P as Parser<'t>>::Token as Token>::Span;

/// Makes an expression of an operator and its operands.
pub type Apply<P, O, E, X> = fn(&mut P, O, E, E) -> Result<E, X>;

/// A parser.
pub trait Parser<'t> {
    /// Its tokens.
    type Token: Token + 't;
    /// What failed; where errors are collected on the side, only that one was reported.
    type Error;

    /// How deep statements and brackets may nest.
    const MAX_DEPTH: u32;
    /// How many operators of one strength may follow each other.
    const MAX_CHAIN: u32;

    /// Where it is.
    fn cursor(&self) -> &Cursor<'t, Self::Token>;
    /// Where it is, to go on.
    fn cursor_mut(&mut self) -> &mut Cursor<'t, Self::Token>;
    /// The error that something nests too deeply.
    fn too_deep(&mut self) -> Self::Error;
    /// The error that a chain of operators is too long.
    fn too_long(&mut self) -> Self::Error;
    /// The error that something else was expected here.
    fn expected(&mut self, what: &str, help: &str) -> Self::Error;

    /// The next token.
    fn peek(&self) -> &'t Self::Token {
        self.cursor().peek()
    }

    /// Takes the next token; the end stays where it is.
    fn advance(&mut self) -> &'t Self::Token {
        self.cursor_mut().advance()
    }

    /// Whether this symbol or reserved word is next.
    fn is(&self, text: &str) -> bool {
        self.peek().is(text)
    }

    /// Takes this symbol or reserved word if it is next.
    fn eat(&mut self, text: &str) -> bool {
        self.cursor_mut().eat(text)
    }

    /// Whether the text is over.
    fn at_end(&self) -> bool {
        self.peek().is_end()
    }

    /// Where the next token stands.
    fn span(&self) -> SpanOf<'t, Self> {
        self.peek().span()
    }

    /// Where the token before the next one stands.
    fn last_span(&self) -> SpanOf<'t, Self> {
        self.cursor().last().span()
    }

    /// Takes this symbol or reserved word, or says that it is missing.
    fn need(&mut self, text: &str, help: &str) -> Result<SpanOf<'t, Self>, Self::Error> {
        if self.is(text) {
            return Ok(self.advance().span());
        }
        Err(self.expected(&format!("`{text}`"), help))
    }

    /// Runs `f` one level deeper.
    fn nested<R>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<R, Self::Error>,
    ) -> Result<R, Self::Error> {
        if self.cursor().depth >= Self::MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.cursor_mut().depth += 1;
        let result = f(self);
        self.cursor_mut().depth -= 1;
        result
    }

    /// Operands and operators that bind stronger than `above`; those of one strength associate to the left.
    /// `operator` says which one comes next and how strong it is.
    fn binary<E, O>(
        &mut self,
        above: u8,
        operator: fn(&Self) -> Option<(O, u8)>,
        operand: fn(&mut Self) -> Result<E, Self::Error>,
        apply: Apply<Self, O, E, Self::Error>,
    ) -> Result<E, Self::Error> {
        let mut left = operand(self)?;
        let mut length = 0;
        while let Some((op, strength)) = operator(self)
            && strength > above
        {
            length += 1;
            if length > Self::MAX_CHAIN {
                return Err(self.too_long());
            }
            self.advance();
            let right = self.nested(|p| p.binary(strength, operator, operand, apply))?;
            left = apply(self, op, left, right)?;
        }
        Ok(left)
    }

    /// Items with a separator between them, up to `close`, which is taken; after the last one a
    /// separator may stand.
    fn list<I>(
        &mut self,
        separator: &str,
        close: &str,
        help: &str,
        item: fn(&mut Self) -> Result<I, Self::Error>,
    ) -> Result<Vec<I>, Self::Error> {
        let mut items = Vec::new();
        while !self.is(close) {
            items.push(item(self)?);
            if !self.eat(separator) {
                break;
            }
        }
        self.need(close, help)?;
        Ok(items)
    }

    /// Behind an error: goes to the next token that is one of these, or to the end.
    fn skip_to(&mut self, stops: &[&str]) {
        while !self.at_end() && !stops.iter().any(|stop| self.is(stop)) {
            self.advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use palisade_program::Span;

    use super::*;

    struct Word(&'static str, usize);

    impl Token for Word {
        type Span = Span;
        fn span(&self) -> Span {
            Span::new(self.1, self.1 + self.0.len())
        }
        fn is(&self, text: &str) -> bool {
            self.0 == text
        }
        fn is_end(&self) -> bool {
            self.0.is_empty()
        }
    }

    struct Sums<'t>(Cursor<'t, Word>);

    impl<'t> Parser<'t> for Sums<'t> {
        type Token = Word;
        type Error = String;
        const MAX_DEPTH: u32 = 5;
        const MAX_CHAIN: u32 = 4;
        fn cursor(&self) -> &Cursor<'t, Word> {
            &self.0
        }
        fn cursor_mut(&mut self) -> &mut Cursor<'t, Word> {
            &mut self.0
        }
        fn too_deep(&mut self) -> String {
            "deep".to_owned()
        }
        fn too_long(&mut self) -> String {
            "long".to_owned()
        }
        fn expected(&mut self, what: &str, _: &str) -> String {
            format!("expected {what} at {}", self.span().start)
        }
    }

    impl Sums<'_> {
        fn operator(&self) -> Option<(char, u8)> {
            match self.peek().0 {
                "+" => Some(('+', 1)),
                "*" => Some(('*', 2)),
                _ => None,
            }
        }

        fn operand(&mut self) -> Result<String, String> {
            if self.eat("(") {
                let inner = self.nested(Self::sum)?;
                self.need(")", "")?;
                return Ok(inner);
            }
            if self.at_end() {
                return Err(self.expected("a word", ""));
            }
            Ok(self.advance().0.to_owned())
        }

        fn sum(&mut self) -> Result<String, String> {
            let apply = |_: &mut Self, op, a, b| Ok(format!("({a}{op}{b})"));
            self.binary(0, Self::operator, Self::operand, apply)
        }
    }

    fn check(text: &'static str, expected: Result<&str, &str>) {
        let mut words: Vec<Word> = text.split(' ').map(|word| Word(word, 0)).collect();
        words.push(Word("", text.len()));
        let found = Sums(Cursor::new(&words)).sum();
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn operators_bind_by_strength_and_to_the_left() {
        check("a + b * c + d", Ok("((a+(b*c))+d)"));
        check("a * b * c + d", Ok("(((a*b)*c)+d)"));
        check("( a + b ) * c", Ok("((a+b)*c)"));
    }

    #[test]
    fn errors_and_limits_are_reported() {
        check("a + ( b", Err("expected `)` at 7"));
        check("a +", Err("expected a word at 3"));
        check("a + a + a + a + a", Ok("((((a+a)+a)+a)+a)"));
        check("a + a + a + a + a + a", Err("long"));
        check("( ( ( ( ( a ) ) ) ) )", Ok("a"));
        check("( ( ( ( ( ( a ) ) ) ) ) )", Err("deep"));
    }

    #[test]
    fn lists_end_at_their_close() {
        let words: Vec<Word> = ["a", ",", "b", ",", ")", "c", ""]
            .map(|w| Word(w, 0))
            .into();
        let mut parser = Sums(Cursor::new(&words));
        let items = parser.list(",", ")", "", Sums::operand);
        assert_eq!(items, Ok(vec!["a".to_owned(), "b".to_owned()]));
        parser.skip_to(&["d"]);
        assert!(parser.at_end());
    }
}
