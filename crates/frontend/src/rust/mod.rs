//! The *Rust front end*: the installed `rustc` compiles the program, and what it makes is read back
//! (`crate::llvm`). docs/rust.md is its reference.
//!
//! | file | term |
//! |---|---|
//! | `compile` | calls of the compiler |
//! | `package` | the crates of a cargo package |
//! | `places` | where the lines of the source are |
//! | `library/` | the standard library, loom and shuttle as programs see them here |

mod compile;
pub mod package;
mod places;

pub use compile::Overflow;

use std::path::{Path, PathBuf};

use palisade_program::{Gap, Orders, Program, Source, Span};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::{Gapped, Parsed, Stop, llvm};

/// How Rust programs are read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What integer overflow does.
    pub overflow: Overflow,
    /// The function that is verified: a test. `main` if there is none.
    pub test: Option<String>,
    /// Other crates, those that one uses before it.
    pub crates: Vec<Crate>,
    /// What the program's own crate sees; all other crates by their names if nothing is said.
    pub own: Option<Crate>,
    /// Conditions for all crates, as the compiler takes them.
    pub conditions: Vec<String>,
}

/// A crate, as the compiler is called for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// Its root file.
    pub file: PathBuf,
    /// Its edition.
    pub edition: String,
    /// Conditions, such as `feature="std"`.
    pub conditions: Vec<String>,
    /// Variables of the environment that `env!` reads.
    pub environment: Vec<(String, String)>,
    /// What it calls other crates.
    pub externs: Vec<(String, Linked)>,
}

/// A crate that another one uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Linked {
    /// One of [`Options::crates`].
    Crate(usize),
    /// The library of macros that the compiler loads.
    Macro(PathBuf),
}

impl Crate {
    /// A crate by its root file, which may use `before`.
    pub fn new(name: String, file: PathBuf, before: &[Self]) -> Self {
        let externs = before.iter().enumerate();
        Self {
            name,
            file,
            edition: "2021".to_owned(),
            conditions: Vec::new(),
            environment: Vec::new(),
            externs: externs
                .map(|(number, one)| (one.name.clone(), Linked::Crate(number)))
                .collect(),
        }
    }
}

impl Options {
    /// The libraries of macros.
    fn macros(&self) -> impl Iterator<Item = &PathBuf> {
        let externs = self.crates.iter().chain(&self.own).flat_map(|c| &c.externs);
        externs.filter_map(|(_, linked)| match linked {
            Linked::Macro(library) => Some(library),
            Linked::Crate(_) => None,
        })
    }

    /// The program's own crate.
    fn root(&self) -> Crate {
        let root = || Crate::new("program".to_owned(), PathBuf::new(), &self.crates);
        self.own.clone().unwrap_or_else(root)
    }
}

/// Reads a Rust program.
pub fn parse(
    path: &Path,
    source: &Source,
    options: &Options,
    orders: Orders,
    stop: &Stop,
) -> Result<Parsed, Diagnostics> {
    let (gapped, kept) = read(path, source, (options, orders), None, stop)?;
    let warnings = kept.map(|span| {
        let words =
            "memory that is freed is not handed out again: runs that need that (ABA) are not seen";
        Diagnostic::warning(span, words).label("allocated here").help(
            "free it when no thread can hold the pointer any more, or compare a counter with it",
        )
    });
    Ok(Parsed {
        program: gapped.program,
        warnings: warnings.into_iter().collect(),
    })
}

/// Reads a Rust program and puts a candidate for a fence into each of its gaps that `wanted`
/// accepts: before and behind statements that access shared memory.
pub fn parse_gapped(
    path: &Path,
    source: &Source,
    how: (&Options, Orders),
    wanted: &dyn Fn(&Gap) -> bool,
    stop: &Stop,
) -> Result<Gapped, Diagnostics> {
    read(path, source, how, Some(wanted), stop).map(|(gapped, _)| gapped)
}

fn read(
    path: &Path,
    source: &Source,
    (options, orders): (&Options, Orders),
    wanted: Option<&dyn Fn(&Gap) -> bool>,
    stop: &Stop,
) -> Result<(Gapped, Option<Span>), Diagnostics> {
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
    let source = source.clone();
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
    let gaps = std::cell::RefCell::new(std::collections::BTreeSet::new());
    let gap = |access: Span, side| {
        let wanted = wanted?;
        let gap = places.gap(access, side)?;
        wanted(&gap).then(|| {
            gaps.borrow_mut().insert(gap);
            gap.at
        })
    };
    let text = llvm::Text {
        spans: &spans,
        line: &line,
        gap: &gap,
    };
    let lowered = llvm::lower(&modules, &entry, &text, orders, stop);
    if stop.is_raised() {
        return Err(Diagnostics::stopped(source));
    }
    let (mut program, kept) =
        lowered.map_err(|(span, message, help)| refused(&source, span, message, help))?;
    program.names.functions = places.functions();
    program.source = source.clone();
    let gaps = gaps.into_inner().into_iter().collect();
    Ok((Gapped { program, gaps }, kept))
}

/// Reads LLVM's text as it is, without its compiler: for tests of that reader.
#[doc(hidden)]
pub fn read_llvm(text: &str, orders: Orders) -> Result<Program, String> {
    let modules = [llvm::parse(text)?];
    let entry = entry(&modules, &Options::default()).ok_or("no function `main`")?;
    let text = llvm::Text {
        spans: &|_, _, _| None,
        line: &|_| 0,
        gap: &|_, _| None,
    };
    let lowered = llvm::lower(&modules, &entry, &text, orders, &Stop::default());
    lowered
        .map(|(program, _)| program)
        .map_err(|(_, message, _)| message)
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
