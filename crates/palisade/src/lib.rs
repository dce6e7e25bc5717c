//! Palisade as a library: from source text to a verdict with evidence. The `palisade`
//! command parses arguments, calls this, and prints.
//!
//! ```
//! use palisade::{Model, Options, Verdict, read, verify};
//!
//! // Store buffering: each thread may read 0 before the other's store arrives.
//! let text = "shared x = 0; shared y = 0;
//!     thread left { local a; x = 1; a = y; }
//!     thread right { local b; y = 1; b = x; }
//!     finally left.a == 1 || right.b == 1;";
//! let program = read("sb.pal".as_ref(), text)?;
//! let options = |model| Options { model, ..Options::default() };
//!
//! let sc = verify(&program, &options(Model::Sc));
//! assert_eq!(sc.verdict, Verdict::Holds);
//! assert!(sc.certified);
//!
//! let tso = verify(&program, &options(Model::Tso));
//! let Verdict::Violated(violation) = tso.verdict else { panic!() };
//! assert!(violation.trace.steps.len() > 2);
//! # Ok::<(), palisade::Diagnostics>(())
//! ```
//!
//! | function | what it does |
//! |---|---|
//! | [`read`], [`read_c`] | source text (`.pal`, `.rmm`, `.c`, `.i`) to a [`Program`] |
//! | [`verify`], [`verify_threads`] | proves or refutes, also with any number of threads |
//! | [`explore`] | searches all runs of a finite program |
//! | [`repair()`] | the fewest fences or flushes, proved, as a patch |
//! | [`linearize`] | is a data structure linearizable? |
//! | [`litmus`] | runs a litmus test in herd's format |
//! | [`certificate`] | certificates as text, and their check |
//! | [`trace`] | a run as text, one column a thread |
//! | [`races`] | data races of C programs that a short search finds |

pub mod certificate;
pub mod linearize;
pub mod litmus;
pub mod races;
pub mod repair;
pub mod trace;

use std::path::Path;

pub use palisade_frontend::{Diagnostic, Diagnostics, c};
pub use palisade_machine as machine;
pub use palisade_machine::explore;
pub use palisade_program::{
    Asked, Assumption, Bound, Broken, Model, Program, Source, Trace, Unknown, Verdict, Violation,
};
pub use palisade_verify::{
    Buffers, Knowledge, Options, Report, Threads, verify, verify_threads, verify_with,
};
pub use repair::repair;

/// Reads a program in the language that the extension of `path` names; `text` is the
/// contents of the file.
///
/// ```
/// let program = palisade::read("one.c".as_ref(), "int main(void) { return 0; }")?;
/// assert_eq!(program.templates.len(), 1);
///
/// let errors = palisade::read("wrong.pal".as_ref(), "thread t { x = ; }");
/// assert!(errors.is_err_and(|e| !e.items.is_empty()));
/// # Ok::<(), palisade::Diagnostics>(())
/// ```
///
/// # Errors
/// What is wrong with the text, each at its place and with a remedy.
pub fn read(path: &Path, text: &str) -> Result<Program, Diagnostics> {
    read_c(path, text, &c::Options::default())
}

/// As [`read`], with options for C.
///
/// # Errors
/// As for [`read`].
pub fn read_c(path: &Path, text: &str, options: &c::Options) -> Result<Program, Diagnostics> {
    palisade_frontend::load_with(path, text, options).map(|parsed| parsed.program)
}
