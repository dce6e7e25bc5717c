//! *Linearizability* of data structures as code.
//!
//! ```
//! use palisade::linearize::{Verdict, linearize};
//!
//! let counter = "
//! spec {
//!     shared int n = 0;
//!     operation increment() returns int { n = n + 1; return n; }
//! }
//! shared int c = 0;
//! method increment() returns int {
//!     int x;
//!     while (true) {
//!         x = c;
//!         if (cas(c, x, x + 1)) { commit; return x + 1; }
//!     }
//! }";
//! let right = linearize("counter.pal".as_ref(), counter)?;
//! assert!(matches!(right.verdict, Verdict::Holds), "for any number of threads");
//!
//! let racy = counter.replace("if (cas(c, x, x + 1)) { commit;", "if (true) { c = x + 1;");
//! let wrong = linearize("racy.pal".as_ref(), &racy)?;
//! assert!(matches!(wrong.verdict, Verdict::Violated(_)));
//! # Ok::<(), palisade::Diagnostics>(())
//! ```

pub mod fences;

use std::path::Path;

use palisade_frontend::{Diagnostics, heap};
pub use palisade_linearize::check::{Checked, Question, Verdict, check};
pub use palisade_linearize::{Buffers, Options, Witness, prove, timeline};
use palisade_program::Source;
pub use palisade_program::heap::Program;

/// Reads a data structure.
///
/// # Errors
/// What is wrong with the text.
pub fn read(path: &Path, text: &str) -> Result<Program, Diagnostics> {
    let source = Source::new(path.display().to_string(), text);
    heap::parse(source).map(|parsed| parsed.program)
}

/// Is the data structure linearizable? With everything as usual.
///
/// # Errors
/// What is wrong with the text.
pub fn linearize(path: &Path, text: &str) -> Result<Checked, Diagnostics> {
    let question = Question {
        bounds: Options::default(),
        proof: Some(prove::Options::default()),
        stopped: &|| None,
        progress: None,
    };
    Ok(check(&read(path, text)?, &question))
}
