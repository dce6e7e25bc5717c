//! The *scanner*: a place in a text, from which a lexer takes one token after another.

use palisade_program::Span;

/// A place in a text.
#[derive(Clone, Debug)]
pub struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

/// A comment that is not closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unclosed(
    /// The sign that opens it.
    pub Span,
);

impl<'t> Scanner<'t> {
    /// At `at` in a text.
    pub const fn new(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    /// Where it is, in bytes.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// What has not been taken yet.
    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The next character.
    pub fn first(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// How many bytes come next whose characters satisfy `f`.
    pub fn run(&self, f: impl Fn(char) -> bool) -> usize {
        let rest = self.rest();
        rest.find(|c| !f(c)).unwrap_or(rest.len())
    }

    /// Takes some bytes.
    pub fn take(&mut self, length: usize) -> Span {
        let start = self.at;
        self.at += length;
        Span::new(start, self.at)
    }

    /// Takes the characters that satisfy `f`.
    pub fn take_while(&mut self, f: impl Fn(char) -> bool) -> Span {
        self.take(self.run(f))
    }

    /// The first of `symbols` that comes next. Longer ones stand before their prefixes.
    pub fn symbol(&self, symbols: &[&'static str]) -> Option<&'static str> {
        let rest = self.rest();
        symbols.iter().copied().find(|s| rest.starts_with(s))
    }

    /// Takes a comment of this form, if one comes next. Where `nests`, it may hold others of its form.
    pub fn comment(
        &mut self,
        open: &str,
        close: &str,
        nests: bool,
    ) -> Result<Option<Span>, Unclosed> {
        if !self.rest().starts_with(open) {
            return Ok(None);
        }
        let start = self.at;
        let mut depth = 0_usize;
        while self.at < self.text.len() {
            let rest = self.rest();
            if rest.starts_with(open) && (nests || depth == 0) {
                depth += 1;
                self.at += open.len();
            } else if rest.starts_with(close) {
                depth -= 1;
                self.at += close.len();
                if depth == 0 {
                    return Ok(Some(Span::new(start, self.at)));
                }
            } else {
                self.at += self.first().map_or(1, char::len_utf8);
            }
        }
        Err(Unclosed(Span::new(start, start + open.len())))
    }

    /// Takes a comment that ends with its line, if one comes next; the line break stays.
    pub fn line_comment(&mut self, open: &str) -> Option<Span> {
        let is_comment = self.rest().starts_with(open);
        is_comment.then(|| self.take_while(|c| c != '\n'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_nest_only_where_they_may() {
        let text = "(* a (* b *) c *) d";
        let mut scanner = Scanner::new(text, 0);
        assert_eq!(
            scanner.comment("(*", "*)", true),
            Ok(Some(Span::new(0, 17)))
        );
        let mut scanner = Scanner::new(text, 0);
        assert_eq!(
            scanner.comment("(*", "*)", false),
            Ok(Some(Span::new(0, 12)))
        );
    }

    #[test]
    fn what_opens_a_comment_does_not_close_it() {
        let mut scanner = Scanner::new("/*/ é", 0);
        let unclosed = Err(Unclosed(Span::new(0, 2)));
        assert_eq!(scanner.comment("/*", "*/", false), unclosed);
        assert_eq!(scanner.rest(), "");
    }

    #[test]
    fn the_longest_symbol_comes_first() {
        let scanner = Scanner::new("<<= 1", 0);
        assert_eq!(scanner.symbol(&["<<=", "<<", "<"]), Some("<<="));
        assert_eq!(scanner.symbol(&["=="]), None);
    }
}
