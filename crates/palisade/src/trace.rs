//! *Traces* as text: one column a thread.
//!
//! ```
//! use palisade::{Options, Verdict, read, trace, verify};
//!
//! let program = read("t.pal".as_ref(), "shared x = 0; thread t { x = 1; assert(x == 0); }")?;
//! let Verdict::Violated(violation) = verify(&program, &Options::default()).verdict else {
//!     panic!()
//! };
//! assert!(trace::text(&program, &violation.trace, 80).contains("x = 1"));
//! # Ok::<(), palisade::Diagnostics>(())
//! ```

use palisade_program::{Program, Trace};
use palisade_report::Style;
use palisade_report::columns::{Detail, View};

/// The trace in at most `width` columns of characters, without colours.
pub fn text(program: &Program, trace: &Trace, width: usize) -> String {
    let view = View {
        source: &program.source,
        names: &program.names,
        detail: Detail::usual(&program.names),
        style: Style::PLAIN,
        width,
    };
    view.render(trace)
}
