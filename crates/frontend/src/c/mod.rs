//! The *C front end*: self-contained C11 with pthreads and atomics, GNU extensions in
//! common use, SV-COMP's conventions. docs/c.md is its reference.
//!
//! | file | term |
//! |---|---|
//! | `preprocess` | `cc -E` against the headers in `headers/`, line markers |
//! | `lexer`, `align` | tokens, located in the user's file |
//! | `types`, `ast`, `parser` | the syntax tree with resolved types |
//! | `bit_fields`, `packing` | where members of structs stand |
//! | `points_to` | what pointers may point to |
//! | `openmp` | the calls that directives of OpenMP become |
//! | `gaps` | places between statements, for fences |
//! | `lower` | the Program |
//! | `object` | data structures, from functions as methods |
//! | `predicates` | predicates for it, from comments and files |
//! | `litmus` | the threads of litmus tests |
//!
//! Verdicts hold for the program as written: that the compiler keeps the order of
//! memory accesses is an assumption ([`palisade_program::Assumption`]). Integers have their C widths
//! unless [`Options::math`] says otherwise.

mod align;
mod ast;
mod bit_fields;
mod gaps;
mod lexer;
pub(crate) mod litmus;
mod lower;
mod object;
mod openmp;
mod packing;
mod parser;
mod points_to;
mod predicates;
mod preprocess;
mod real;
mod types;

pub use lower::Library;
pub use object::{Object, ParsedObject, has_specification, parse_object};
pub use predicates::{noted, with_predicates};
pub use preprocess::Preprocessor;
pub use types::DataModel;

pub(crate) use lower::without_skips;

use std::path::{Path, PathBuf};

use palisade_program::{Asked, Gap, Orders, Program, Source, Span};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::{Gapped, Parsed};

/// Errors of one file at most that are told.
const MAX_ERRORS: usize = 20;

/// Adds an error, unless it is known: functions are read once for each call.
fn note_error(errors: &mut Vec<Diagnostic>, error: Diagnostic) {
    let same = |e: &Diagnostic| e.span == error.span && e.message == error.message;
    if !errors.iter().any(same) {
        errors.push(error);
    }
}

/// What to do about data races: a `never` for each pair of threads and variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Races {
    /// Nothing.
    #[default]
    Ignore,
    /// Properties are added. Accesses that cannot be judged are left out: some races
    /// are missed then, and none is wrong.
    Note,
    /// Properties are added; a program whose accesses cannot all be judged is refused.
    Check,
}

/// How C programs are read.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // each is a question of its own
pub struct Options {
    /// Widths of `long` and pointers.
    pub data_model: DataModel,
    /// Mathematical integers instead of those of C.
    pub math: bool,
    /// Whether signed overflow is a violation.
    pub check_overflow: bool,
    /// Whether memory that is still allocated in the end is a violation.
    pub check_leaks: bool,
    /// Whether reads of what nothing was written to are violations; else they are of any value.
    pub check_uninitialised: bool,
    /// Whether a signal of a condition variable that nobody waits for is lost: asked where
    /// the program must get on.
    pub lost_signals: bool,
    /// Whether threads go on when `main` has returned, as if it had called `pthread_exit`.
    pub outlive_main: bool,
    /// What to do about data races.
    pub races: Races,
    /// The function that must not be called (`--property`); then only its calls are
    /// violations, and a failing `assert` ends the program.
    pub error_function: Option<String>,
    /// Which properties are asked about.
    pub asked: Asked,
    /// How many ranks run an MPI program.
    pub ranks: Option<u32>,
    /// What becomes of memory orders: fences, or they are kept for RC11.
    pub orders: Orders,
    /// Flags for the preprocessor.
    pub preprocessor: Preprocessor,
    /// Further files of the program, each with flags of its own.
    pub units: Vec<Unit>,
    /// How Rust programs are read.
    pub rust: crate::rust::Options,
    /// When to stop reading.
    pub stop: crate::Stop,
    /// Whether pointers are followed over all objects, without points-to analysis: a second account
    /// that tests compare with.
    pub all_targets: bool,
}

/// A file of a program that has several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// The file.
    pub file: PathBuf,
    /// Flags for the preprocessor.
    pub preprocessor: Preprocessor,
}

/// Reads a C file; `.i` files are preprocessed already.
pub fn parse(path: &Path, source: &Source, options: &Options) -> Result<Parsed, Diagnostics> {
    let mut no_change = |_: &mut ast::File, _: &Source| {};
    let program = parse_changed(path, source, options, &mut no_change)?;
    Ok(Parsed {
        program,
        warnings: Vec::new(),
    })
}

/// Reads a C file and puts a candidate for a fence into each of its gaps that
/// `wanted` accepts.
pub fn parse_gapped(
    path: &Path,
    source: &Source,
    options: &Options,
    wanted: &dyn Fn(&Gap) -> bool,
) -> Result<Gapped, Diagnostics> {
    let mut gaps = Vec::new();
    let mut fill = |file: &mut ast::File, user: &Source| gaps = gaps::fill(file, user, wanted);
    let program = parse_changed(path, source, options, &mut fill)?;
    Ok(Gapped { program, gaps })
}

/// Where calls can be put into a program whose remote races are always looked for.
pub struct RemotePlaces {
    /// The files.
    pub source: Source,
    /// The gaps after remote operations, each with the number of loops around it in the text.
    pub gaps: Vec<(Gap, u32)>,
    /// The library that the program uses.
    pub library: Library,
}

/// The places after remote operations; `None` if the program may be asked without its races.
pub fn remote_places(
    path: &Path,
    source: &Source,
    options: &Options,
) -> Result<Option<RemotePlaces>, Diagnostics> {
    let (source, mut file) = parsed(path, source, options)?;
    let (is_always, library) = lower::always_races(&file);
    if !is_always {
        return Ok(None);
    }
    let gaps = match library {
        Library::Shmem => gaps::after_shmem(&mut file, &source),
        Library::Mpi | Library::Gaspi => {
            let wanted = |g: &Gap| g.flush.is_some() && g.side == palisade_program::Side::After;
            gaps::fill(&mut file, &source, &wanted)
        }
    };
    let gaps = gaps::with_loops(&file, gaps);
    Ok(Some(RemotePlaces {
        source,
        gaps,
        library,
    }))
}

/// Reads a program; `change` works on the syntax tree before it is lowered.
fn parse_changed(
    path: &Path,
    source: &Source,
    options: &Options,
    change: &mut dyn FnMut(&mut ast::File, &Source),
) -> Result<Program, Diagnostics> {
    let (source, mut file) = parsed(path, source, options)?;
    change(&mut file, &source);
    let program = lower::lower(&file, &source, options);
    if options.stop.is_raised() {
        return Err(Diagnostics::stopped(source));
    }
    program.map_err(|items| Diagnostics::new(source, items))
}

/// The syntax tree of a program.
fn parsed(
    path: &Path,
    source: &Source,
    options: &Options,
) -> Result<(Source, ast::File), Diagnostics> {
    let (source, texts) = preprocessed(path, source, options)?;
    let mut units = Vec::new();
    for (name, text, origin) in &texts {
        let tokens = lexer::lex(text, &source, origin.clone());
        let tokens = tokens.map_err(|item| Diagnostics::new(source.clone(), vec![item]))?;
        let stem = Path::new(name).file_stem().unwrap_or_default();
        units.push((stem.to_string_lossy().into_owned(), tokens));
    }
    match parser::parse(&units, options.data_model, false) {
        Ok(file) => Ok((source, file)),
        Err(items) => Err(Diagnostics::new(source, items)),
    }
}

/// A file's name, its preprocessed text, and where its tokens are from.
type Text = (String, String, lexer::Origin);

/// The files of a program as one source, and their preprocessed texts. `source` may hold
/// included files as well: these are not read from the disk.
fn preprocessed(
    path: &Path,
    source: &Source,
    options: &Options,
) -> Result<(Source, Vec<Text>), Diagnostics> {
    let plain = preprocessed_with(path, source, options, &[])?;
    let texts = plain.1.iter();
    let mut preludes: Vec<_> = texts
        .flat_map(|(_, t, _)| preprocess::preludes(t))
        .collect();
    preludes.sort_unstable();
    preludes.dedup();
    if preludes.is_empty() {
        return Ok(plain);
    }
    preprocessed_with(path, source, options, &preludes)
}

/// The same, with these preludes.
fn preprocessed_with(
    path: &Path,
    source: &Source,
    options: &Options,
    preludes: &[&'static str],
) -> Result<(Source, Vec<Text>), Diagnostics> {
    let mut given = source.files().map(|(name, range)| {
        let text = source.text()[range].to_owned();
        (name.to_owned(), text)
    });
    let first = given.next().unwrap_or_default();
    let changed: Vec<(String, String)> = given.collect();
    let mut files = vec![first.clone()];
    let mut inputs = Vec::new();
    let own = Unit {
        file: path.to_owned(),
        preprocessor: options.preprocessor.clone(),
    };
    for (k, unit) in std::iter::once(&own).chain(&options.units).enumerate() {
        let name = match k {
            0 => first.0.clone(),
            _ => unit.file.display().to_string(),
        };
        if k > 0 {
            let known = changed.iter().find(|(n, _)| *n == name);
            let text = match known {
                Some((_, text)) => text.clone(),
                None => std::fs::read_to_string(&unit.file).map_err(|e| {
                    let what = format!("cannot read {name}: {e}");
                    let item = Diagnostic::error(Span::default(), what);
                    Diagnostics::new(source.clone(), vec![item])
                })?,
            };
            files.push((name.clone(), text));
        }
        let text = files.last().map_or("", |(_, text)| text);
        let is_preprocessed = unit.file.extension().is_some_and(|e| e == "i");
        let input = if is_preprocessed {
            Ok(preprocess::already(text))
        } else {
            let unit = preprocess::Unit {
                path: &unit.file,
                name: &name,
                text,
                flags: &unit.preprocessor,
                preludes,
            };
            preprocess::run(&unit, &changed, options.data_model)
        };
        let input = input.map_err(|item| {
            let whole = Source::new(name.clone(), text);
            Diagnostics::new(whole, vec![item])
        })?;
        inputs.push((name, input));
    }
    // The text of a file that is preprocessed already is no place for the user.
    if let [(_, only)] = inputs.as_slice()
        && path.extension().is_some_and(|e| e == "i")
        && let Some(main) = only.files.first()
    {
        files = vec![(main.name.clone(), main.text.clone())];
    }
    for included in inputs.iter().flat_map(|(_, input)| &input.files) {
        if !files.iter().any(|(name, _)| *name == included.name) {
            files.push((included.name.clone(), included.text.clone()));
        }
    }
    let source = Source::of_files(files);
    let ranges: lexer::Files = source
        .files()
        .map(|(name, range)| (name.to_owned(), range))
        .collect();
    let at = |name: &str| ranges.get(name).cloned().unwrap_or(0..0);
    let mut texts = Vec::new();
    for (name, input) in inputs {
        let origin = if input.files.is_empty() {
            lexer::Origin::Itself(at(&name).start)
        } else {
            let files = input.files.iter();
            let files = files.map(|file| (file.marker.clone(), at(&file.name)));
            lexer::Origin::Markers(files.collect())
        };
        texts.push((name, input.text, origin));
    }
    Ok((source, texts))
}
