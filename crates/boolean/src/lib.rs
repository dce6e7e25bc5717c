//! *Boolean broadcast programs* [Donaldson et al., CAV 2011, appendix A]: what predicate
//! abstraction makes of a program, as a language with a checker of its own. `verify` needs
//! none of this. All variables are Boolean, shared or local to
//! a thread; a statement is a parallel assignment, an `assume`, an `assert`, a
//! non-deterministic `goto` or `skip`. A *broadcast* `[b] = e` assigns to the
//! local `b` of every passive thread.
//!
//! ```text
//! shared s = 0;            // one variable for all threads
//! local l = *;             // one for each thread, any value at the start
//! 1: goto 2, 4;
//! 2: assume !s;
//! 3: s, [l] = 1, [l] && l; // parallel; [l] is the passive thread's l
//! 4: assert choose(s, l);
//! ```
//!
//! Departures from the appendix, all additions: several kinds of threads
//! (`thread name[n] { ... }`), labels may be names, `assert`, `skip`, `never e;`
//! over shared variables and locations (`left@cs`), `initially e;`, and
//! `constrain e` on assignments, where `'b` is the value of `b` after them (the
//! refinement of abstract transitions of section 4 needs it).
//! docs/boolean-programs.md is the reference.
//!
//! | file | term |
//! |---|---|
//! | [`ast`] | the syntax tree |
//! | `lexer`, `parser` | text to tree, located errors |
//! | `print` | tree to text; `parse(print(p)) == p` |
//! | [`resolve`] | names become numbers, the rules of the appendix are checked |
//! | [`scope`] | shared, local and mixed predicates; which steps notify passive threads |
//! | [`export`] | the Boolean program of a program and its predicates |
//! | [`mixed`] | mixed predicates taken as local or as shared: unsound, to be measured |
//! | `properties` | its properties |
//! | [`thread`] | what one thread can do |
//! | [`ternary`] | 3-valued search, which comes first |
//! | [`counted`] | search with a number of threads, which are counted, not named |
//! | [`cover`] | search for any number of threads: backward coverability |
//! | [`check`] | a verdict by one of them |

pub mod ast;
pub mod check;
pub mod counted;
pub mod cover;
pub mod export;
mod lexer;
pub mod mixed;
mod parser;
mod print;
mod properties;
pub mod resolve;
pub mod scope;
pub mod ternary;
pub mod thread;

pub use ast::BooleanProgram;
pub use parser::parse;

use palisade_program::Span;

/// What is wrong with a Boolean program, where, and the remedy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct BpError {
    /// Where.
    pub span: Span,
    /// What, in one line.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl BpError {
    fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            help: help.into(),
        }
    }
}
