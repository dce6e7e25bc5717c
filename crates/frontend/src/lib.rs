//! Front ends: source text in, [`Program`](palisade_program::Program) out.
//!
//! First stage of the pipeline. A front end reads the whole of its input, reports
//! as many errors as it can find in one run, each at its exact span with a
//! remedy, and lowers what is right to the one IR that all engines read.
//! A construct that a front end does not support is a located error, never a guess.
//!
//! | module | term |
//! |---|---|
//! | [`diagnostic`] | errors and warnings with spans, and how they are shown |
//! | [`pal`] | the `.pal` language: parse, format, print |
//! | [`heap`] | data structures as code, for linearizability |
//! | [`litmus`] | herd's `.litmus` format |
//! | [`rmm`] | the `.rmm` language of memorax |
//! | `mapping` | memory orders as fences, for the models of hardware |
//! | [`Stop`] | how a reader is told to end before it is done |
//! | `range` | intervals, to leave out checks that cannot fail |
//! | [`c`] | C with pthreads and atomics |
//! | [`rust`] | Rust, by way of its compiler |
//! | `llvm` | programs as LLVM's text |

pub mod c;
pub mod diagnostic;
pub mod heap;
pub mod litmus;
mod llvm;
mod mapping;
pub mod pal;
mod range;
pub mod rmm;
pub mod rust;
pub mod sequential;
mod stop;

pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use stop::Stop;

/// A program that was read without error.
pub use pal::{Gapped, Parsed};

use std::path::Path;

use palisade_program::{Gap, Orders, Source, Span};

/// Reads a program in the language that the file's extension names. `path` is
/// only looked at for its name and extension; `text` is the contents.
pub fn load(path: &Path, text: &str) -> Result<Parsed, Diagnostics> {
    load_with(path, text, &c::Options::default())
}

/// As [`load`], with options for C.
pub fn load_with(path: &Path, text: &str, options: &c::Options) -> Result<Parsed, Diagnostics> {
    let source = Source::new(path.display().to_string(), text);
    match path.extension().and_then(|e| e.to_str()) {
        Some("pal") => pal::parse_ordered(source, options.orders),
        Some("rmm") if options.orders == Orders::Kept => Err(unsupported(
            source,
            "`.rmm` programs have no memory orders: they have no meaning under rc11",
            "use --model sc, tso or pso",
        )),
        Some("rmm") => rmm::parse(source),
        Some("c" | "i") => c::parse(path, &source, options),
        Some("rs") => rust::parse(path, &source, &options.rust, options.orders, &options.stop),
        Some("litmus") => Err(unsupported(
            source,
            "a litmus test is not a program",
            "run it with `palisade litmus`",
        )),
        Some(_) | None => Err(unsupported(
            source,
            "unknown kind of file",
            "programs are read from files that end in `.pal`, `.c`, `.i`, `.rs` or `.rmm`",
        )),
    }
}

/// Reads a program and puts a candidate for a fence into each of its gaps that
/// `wanted` accepts; a program with marked places keeps those only.
pub fn load_gapped(
    path: &Path,
    text: &str,
    wanted: &dyn Fn(&Gap) -> bool,
) -> Result<Gapped, Diagnostics> {
    load_gapped_with(path, text, &c::Options::default(), wanted)
}

/// As [`load_gapped`], with options for C.
pub fn load_gapped_with(
    path: &Path,
    text: &str,
    options: &c::Options,
    wanted: &dyn Fn(&Gap) -> bool,
) -> Result<Gapped, Diagnostics> {
    let source = Source::new(path.display().to_string(), text);
    match path.extension().and_then(|e| e.to_str()) {
        Some("pal") => pal::parse_gapped_ordered(source, options.orders, wanted),
        Some("rmm") => rmm::parse_gapped(source, wanted),
        Some("c") => c::parse_gapped(path, &source, options, wanted),
        Some("rs") => {
            let how = (&options.rust, options.orders);
            rust::parse_gapped(path, &source, how, wanted, &options.stop)
        }
        Some(_) | None => Err(unsupported(
            source,
            "fences cannot be put into this kind of file",
            "fences are found for programs that end in `.pal`, `.rmm`, `.c` or `.rs`",
        )),
    }
}

fn unsupported(source: Source, message: &str, help: &str) -> Diagnostics {
    let error = Diagnostic::error(Span::default(), message).help(help);
    Diagnostics::new(source, vec![error])
}
