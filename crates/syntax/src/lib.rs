//! What the parsers of all languages share. A language has its own tokens, tree and messages; how one
//! looks at text and tokens, how deep they may nest, how operators bind and where one goes on behind an error is
//! said here once.
//!
//! | file | term |
//! |---|---|
//! | [`scanner`] | a place in a text: runs of characters, symbols, comments |
//! | [`cursor`] | a place in a list of tokens |
//! | [`parser`] | recursive descent: nesting, operator precedence, lists, recovery |

pub mod cursor;
pub mod parser;
pub mod scanner;

pub use cursor::{Cursor, Token};
pub use parser::Parser;
pub use scanner::Scanner;
