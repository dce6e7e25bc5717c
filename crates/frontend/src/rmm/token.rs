//! *Tokens*: the words of the language. A token knows its own text, and where it
//! stands: for a word that came out of a macro that is not the same.

use palisade_program::Span;

/// A kind of token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tok {
    /// The end of the file.
    End,
    /// A name of a variable, label or macro.
    Name,
    /// `$name`
    Register,
    /// A number without sign.
    Number,
    /// A reserved word.
    Word(&'static str),
    /// An operator or bracket.
    Symbol(&'static str),
}

/// Reserved words. `macro`, `endmacro` and `Z` are no reserved words in memorax,
/// but the first two cannot be used for anything else.
pub(super) const WORDS: &[&str] = &[
    "assume",
    "cas",
    "data",
    "do",
    "either",
    "else",
    "endmacro",
    "false",
    "fence",
    "forbidden",
    "goto",
    "if",
    "llfence",
    "locked",
    "macro",
    "me",
    "my",
    "nop",
    "not",
    "or",
    "other",
    "predicates",
    "process",
    "read",
    "registers",
    "slocked",
    "ssfence",
    "syncrd",
    "syncwr",
    "text",
    "then",
    "true",
    "while",
    "write",
];

/// Symbols, longer ones before those that they start with.
pub(super) const SYMBOLS: &[&str] = &[
    ":=", "||", "&&", "!=", "<=", ">=", "=", "(", ")", ",", "-", "*", ";", ":", "{", "}", "<", ">",
    "+", "[", "]", "@",
];

/// A macro call or the use of a macro's parameter; 0 is the file itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Frame(pub(super) u32);

/// The file's own text.
pub(super) const FILE: Frame = Frame(0);

/// A token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) tok: Tok,
    /// Its letters.
    pub(super) text: Span,
    /// Where it stands in the text of its frame.
    pub(super) span: Span,
    /// Whose text it belongs to.
    pub(super) frame: Frame,
}

impl palisade_syntax::Token for Token {
    type Span = Span;

    fn span(&self) -> Span {
        self.span
    }

    fn is(&self, what: &str) -> bool {
        match self.tok {
            Tok::Word(text) | Tok::Symbol(text) => text == what,
            Tok::End | Tok::Name | Tok::Register | Tok::Number => false,
        }
    }

    fn is_end(&self) -> bool {
        self.tok == Tok::End
    }
}
