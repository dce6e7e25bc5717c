//! A *token* is a word of the language: a name, a number, or a symbol, with its
//! span. Keywords are names; the parser knows them by their text.

use palisade_program::Span;

/// Kinds of token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tok {
    /// An identifier or keyword.
    Name,
    /// A decimal number up to 2^63 (that one only behind a minus sign).
    Int(u64),
    /// A symbol, by its text.
    Sym(&'static str),
    /// The end of the text.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Tok,
    pub(crate) span: Span,
}

impl palisade_syntax::Token for Token {
    type Span = Span;

    fn span(&self) -> Span {
        self.span
    }

    fn is(&self, text: &str) -> bool {
        matches!(self.kind, Tok::Sym(symbol) if symbol == text)
    }

    fn is_end(&self) -> bool {
        self.kind == Tok::End
    }
}

/// A comment and where it stands, for the formatter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Comment {
    pub(crate) span: Span,
    /// `// ...`, which ends with its line.
    pub(crate) line: bool,
}

/// Symbols; longer ones before their prefixes.
pub(crate) const SYMBOLS: &[&str] = &[
    "..", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "++", "--", "+=", "-=", "{", "}", "(",
    ")", "[", "]", ";", ",", ":", "?", "=", "<", ">", "+", "-", "*", "/", "%", "!", "~", "&", "|",
    "^", "@", "#", ".",
];

/// Words that cannot name a variable, a thread, a function or a label. Others
/// with a meaning (`in`, `control`, `or`, `lock`, ...) have it only where
/// nothing else could stand.
pub(crate) const RESERVED: &[&str] = &[
    "assert",
    "assume",
    "atomic",
    "break",
    "choose",
    "const",
    "continue",
    "do",
    "else",
    "false",
    "fence",
    "finally",
    "fn",
    "for",
    "goto",
    "if",
    "int",
    "local",
    "never",
    "predicate",
    "process",
    "return",
    "self",
    "shared",
    "skip",
    "thread",
    "true",
    "while",
];

/// Built-in functions; a user's function may not have their names.
pub(crate) const BUILTINS: &[&str] = &[
    "cas",
    "xchg",
    "fetch_add",
    "lock",
    "unlock",
    "put",
    "get",
    "flush",
    "flush_local",
    "compare_and_swap",
    "fetch_and_op",
    "accumulate",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
];

/// Whether `word` is reserved.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_sorted() {
        assert!(RESERVED.is_sorted());
    }

    #[test]
    fn longer_symbols_come_first() {
        for (i, a) in SYMBOLS.iter().enumerate() {
            for b in &SYMBOLS[i + 1..] {
                assert!(!b.starts_with(a), "{a} hides {b}");
            }
        }
    }
}
