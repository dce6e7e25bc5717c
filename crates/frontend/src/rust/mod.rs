//! The *Rust front end*: the installed `rustc` compiles the program, and what it makes is read back
//! ([`crate::llvm`]). docs/rust.md is its reference.
//!
//! | file | term |
//! |---|---|
//! | `compile` | calls of the compiler |
//! | `places` | where the lines of the source are |
//! | `library/` | the standard library, loom and shuttle as programs see them here |

mod compile;
mod places;

pub use compile::{Overflow, Package};

use std::path::Path;

use palisade_program::{Orders, Source, Span};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::{Parsed, llvm};

/// How Rust programs are read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What integer overflow does.
    pub overflow: Overflow,
    /// The function that is verified: a test. `main` if there is none.
    pub test: Option<String>,
    /// The package that the file belongs to.
    pub package: Option<Package>,
}

/// Reads a Rust program.
pub fn parse(
    path: &Path,
    source: &Source,
    options: &Options,
    orders: Orders,
) -> Result<Parsed, Diagnostics> {
    let refused = |source: &Source, span, message: String, help: &str| {
        let error = Diagnostic::error(span, message).help(help);
        Diagnostics::new(source.clone(), vec![error])
    };
    let compiled = compile::compile(path, source.text(), options).map_err(|trouble| {
        let span = trouble
            .place
            .and_then(|(line, column)| places::Places::new(source).span_in(0, line, column));
        refused(
            source,
            span.unwrap_or_default(),
            trouble.message,
            trouble.help,
        )
    })?;
    let source = match compiled.files.is_empty() {
        true => source.clone(),
        false => Source::of_files(compiled.files.clone()),
    };
    let mut modules = Vec::new();
    for text in &compiled.modules {
        let module = llvm::parse(text);
        modules.push(module.map_err(|words| {
            let help = "this compiler writes something new; please report it with its version";
            let message = format!("the compiler's output cannot be read: {words}");
            refused(&source, Span::default(), message, help)
        })?);
    }
    let Some(entry) = entry(&modules, options) else {
        let (message, help) = match &options.test {
            Some(name) => (
                format!("no function `{name}` without parameters in this program"),
                "name a test function by its path, such as `tests::works`",
            ),
            None => (
                "no function `main`".to_owned(),
                "write one, or name a test function with --test",
            ),
        };
        return Err(refused(&source, Span::default(), message, help));
    };
    let places = places::Places::new(&source);
    let spans = |file: &str, line: u32, column: u32| places.span(file, line, column);
    let line = |span: Span| source.position(span.start).line;
    let mut program = llvm::lower(&modules, &entry, &spans, &line, orders)
        .map_err(|(span, message, help)| refused(&source, span, message, help))?;
    program.names.functions = places.functions();
    program.source = source.clone();
    Ok(Parsed {
        program,
        warnings: Vec::new(),
    })
}

/// The symbol of the function that is verified.
fn entry(modules: &[llvm::Module], options: &Options) -> Option<String> {
    let wanted = options.test.as_deref().unwrap_or("main");
    let mut found = None;
    // The user's crate comes first.
    for name in llvm::function_names(modules.first()?) {
        let shown = format!("{:#}", rustc_demangle::demangle(name));
        let Some((_, path)) = shown.split_once("::") else {
            continue;
        };
        let last = path.rsplit("::").next();
        if path == wanted {
            return Some(name.to_owned());
        }
        if options.test.is_some() && last == Some(wanted) && !path.contains('{') {
            found = Some(name.to_owned());
        }
    }
    found
}
