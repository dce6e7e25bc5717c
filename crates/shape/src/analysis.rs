//! Analysis: from texts to a verdict, the library's entry point.
//!
//! Place: above everything else in this crate; the command line calls [`analyse`].

use crate::engine::{Fixpoint, Limits, Probe, run};
use crate::explore::{Bounds, find_run};
use crate::model::Model;
use crate::states;
use crate::structure::Structure;
use crate::syntax::elaborate::{BUILT_IN, Reading, elaborate};
use crate::syntax::lexer::{Lexeme, Token, lex};
use crate::syntax::parser::Parser;
use crate::syntax::preprocess::{Loader, preprocess};
use crate::syntax::program::{Language, program};
use crate::syntax::{Diagnostics, Span, tvs};
use crate::verdict::{Means, Verdict, decide};
use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A source text with its name.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The file name, for messages and for the language (`.tvm` is concurrent).
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// How to analyse.
pub struct Options<'a> {
    /// Join and limits.
    pub limits: Limits,
    /// Bounds of the concrete exploration behind the verdict.
    pub bounds: Bounds,
    /// Macros, as (name, value).
    pub defines: Vec<(String, String)>,
    /// Whether a thread that an update makes `ready` has to wait until another has taken a step,
    /// as in TVLA. That hides the runs in which it starts at once.
    pub delayed_start: bool,
    /// How included files are found.
    pub loader: &'a Loader<'a>,
    /// Set to stop early.
    pub cancel: Option<&'a AtomicBool>,
}

fn no_files(_: &str, _: &str) -> Option<(String, String)> {
    None
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            bounds: Bounds::default(),
            defines: Vec::new(),
            delayed_start: false,
            loader: &no_files,
            cancel: None,
        }
    }
}

/// The outcome.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The model.
    pub model: Model,
    /// The input structures.
    pub initial: Vec<Structure>,
    /// The verdict.
    pub verdict: Verdict,
    /// What the engine found.
    pub fixpoint: Fixpoint,
    /// File names by index, for spans.
    pub files: Vec<String>,
}

/// Reads a program.
pub fn read_program(
    input: Input<'_>,
    options: &Options<'_>,
    errors: &mut Diagnostics,
) -> Option<Model> {
    read_using(input, &[], options, errors)
}

/// Reads a program whose structures use these built-in predicates.
fn read_using(
    input: Input<'_>,
    used: &[&'static str],
    options: &Options<'_>,
    errors: &mut Diagnostics,
) -> Option<Model> {
    let language = if Path::new(input.name)
        .extension()
        .is_some_and(|e| e == "tvm")
    {
        Language::Tvm
    } else {
        Language::Tvp
    };
    let tokens = tokens(input, options, errors);
    // What follows a missing file or quote would be told in vain.
    if !errors.is_empty() {
        return None;
    }
    let ast = program(&mut Parser::new(&tokens, errors), language).ok()?;
    if !errors.is_empty() {
        return None;
    }
    let reading = Reading {
        concurrent: language == Language::Tvm,
        used,
        delayed: options.delayed_start,
    };
    elaborate(&ast, reading, errors)
}

/// The words of a text.
fn tokens(input: Input<'_>, options: &Options<'_>, errors: &mut Diagnostics) -> Vec<Lexeme> {
    let lines = preprocess(
        input.name,
        input.text,
        &options.defines,
        options.loader,
        errors,
    );
    lex(&lines, errors)
}

/// The built-in predicates that structures use. Errors in them are told when they are read.
fn built_in_used(structures: Input<'_>, options: &Options<'_>) -> Vec<&'static str> {
    let words = tokens(structures, options, &mut Diagnostics::default());
    let used = |name: &&str| {
        words
            .iter()
            .any(|t| t.token == Token::Ident((*name).into()))
    };
    BUILT_IN.into_iter().filter(used).collect()
}

/// Reads structures for a model.
pub fn read_structures(
    model: &Model,
    input: Input<'_>,
    options: &Options<'_>,
    errors: &mut Diagnostics,
) -> Vec<Structure> {
    read_located(model, input, options, errors).0
}

/// Reads structures; tells where each stands (when there is no error).
fn read_located(
    model: &Model,
    input: Input<'_>,
    options: &Options<'_>,
    errors: &mut Diagnostics,
) -> (Vec<Structure>, Vec<Span>) {
    let tokens = tokens(input, options, errors);
    if !errors.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let Ok(list) = tvs::structures(&mut Parser::new(&tokens, errors)) else {
        return (Vec::new(), Vec::new());
    };
    let spans = list.iter().map(|ast| ast.span).collect();
    (states::build(model, &list, errors), spans)
}

/// Analyses a program from the given structures.
pub fn analyse(
    program: Input<'_>,
    structures: Input<'_>,
    options: &Options<'_>,
) -> Result<Analysis, Diagnostics> {
    let mut errors = Diagnostics::default();
    let used = built_in_used(structures, options);
    let Some(model) = read_using(program, &used, options, &mut errors) else {
        return Err(errors);
    };
    let beginning = Span {
        file: u32::try_from(errors.files.len()).unwrap_or(u32::MAX),
        line: 1,
        column: 1,
    };
    let (initial, spans) = read_located(&model, structures, options, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    if initial.is_empty() {
        errors.error(
            beginning,
            format!("{} holds no structure", structures.name),
            "the analysis needs at least one initial structure",
        );
        return Err(errors);
    }
    let means = Means {
        bounds: &options.bounds,
        parallel: options.limits.workers != 1,
        cancel: options.cancel,
    };
    let limits = &options.limits;
    let places = Places {
        spans: &spans,
        beginning,
    };
    let pool = match limits.workers {
        0 | 1 => None,
        workers => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers);
            pool.build().ok()
        }
    };
    match pool {
        Some(pool) => pool.install(|| conclude(model, initial, limits, means, places, errors)),
        None => conclude(model, initial, limits, means, places, errors),
    }
}

/// Where the input structures stand.
#[derive(Clone, Copy)]
struct Places<'a> {
    spans: &'a [Span],
    beginning: Span,
}

/// The fixed point and the verdict.
fn conclude(
    model: Model,
    initial: Vec<Structure>,
    limits: &Limits,
    means: Means<'_>,
    Places { spans, beginning }: Places<'_>,
    mut errors: Diagnostics,
) -> Result<Analysis, Diagnostics> {
    // Whoever sets a limit on structures or messages says how far to go.
    let free = limits.structures.is_none() && limits.messages.is_none();
    let early = RefCell::new(None);
    let probe = |fixpoint: &Fixpoint| {
        *early.borrow_mut() = find_run(&model, &initial, fixpoint, means.bounds, means.cancel);
        early.borrow().is_some()
    };
    let probe: Option<&Probe<'_>> = if free { Some(&probe) } else { None };
    let fixpoint = run(&model, &initial, limits, means.cancel, probe);
    if fixpoint.inconsistent.len() == initial.len() {
        for (i, rule) in &fixpoint.inconsistent {
            errors.error(
                spans.get(*i).copied().unwrap_or(beginning),
                format!(
                    "input structure {} breaks {}",
                    i + 1,
                    model.rules.origin(*rule)
                ),
                "no input structure is consistent, so nothing was analysed: correct its values",
            );
        }
        return Err(errors);
    }
    let verdict = match early.into_inner() {
        Some(run) => Verdict::Violated(Box::new(run)),
        None => decide(&model, &initial, &fixpoint, means),
    };
    Ok(Analysis {
        verdict,
        model,
        initial,
        fixpoint,
        files: errors.files,
    })
}
