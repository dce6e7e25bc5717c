//! The *cursor*: a place in a list of tokens, the last of which says that the text is over. It never
//! leaves the list: there is always a next token.

/// A token of some language.
pub trait Token {
    /// A place in the text.
    type Span: Copy;
    /// Where it stands.
    fn span(&self) -> Self::Span;
    /// Whether it is this symbol or reserved word.
    fn is(&self, text: &str) -> bool;
    /// Whether the text is over.
    fn is_end(&self) -> bool;
}

/// A place in a list of tokens.
#[derive(Clone, Debug)]
pub struct Cursor<'t, T> {
    tokens: &'t [T],
    at: usize,
    pub(crate) depth: u32,
}

impl<'t, T: Token> Cursor<'t, T> {
    /// At the first of some tokens; the last of them is the end.
    pub fn new(tokens: &'t [T]) -> Self {
        debug_assert!(tokens.last().is_some_and(Token::is_end));
        Self {
            tokens,
            at: 0,
            depth: 0,
        }
    }

    /// The next token.
    pub fn peek(&self) -> &'t T {
        self.peek_at(0)
    }

    /// The token `ahead` places behind the next.
    pub fn peek_at(&self, ahead: usize) -> &'t T {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    /// The token before the next one; at the start the next one itself.
    pub fn last(&self) -> &'t T {
        &self.tokens[self.at.saturating_sub(1)]
    }

    /// All tokens.
    pub const fn tokens(&self) -> &'t [T] {
        self.tokens
    }

    /// Takes the next token; the end stays where it is.
    pub fn advance(&mut self) -> &'t T {
        let token = self.peek();
        self.at += usize::from(!token.is_end());
        token
    }

    /// Takes the next token if it is this symbol or reserved word.
    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.peek().is(text);
        if found {
            self.advance();
        }
        found
    }

    /// The number of the next token.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Goes to a token, by its number.
    pub fn seek(&mut self, position: usize) {
        self.at = position.min(self.tokens.len() - 1);
    }
}
