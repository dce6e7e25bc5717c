//! A *verdict* about a Boolean broadcast program: with a few threads by a 3-valued search
//! ([`ternary`]) and, where that is not precise enough, by counting them ([`counted`]); with any
//! number, or with at most a given number ([`cover`]).

use std::collections::BTreeMap;

use palisade_logic::{Limits, Reason};
use palisade_program::{
    AssertKind, Bound, Broken, Source, Span, Trace, TraceStep, Unknown, Verdict, Violation,
};

use crate::ast::Copies;
use crate::counted::{self, Checker, Run, RunStep};
use crate::cover::{self, Any, Effort};
use crate::resolve::Resolved;
use crate::ternary::{self, Path};

/// How to search.
#[derive(Clone, Debug)]
pub struct Options {
    /// Copies of threads that run in any number.
    pub threads: u32,
    /// Most states to keep.
    pub max_states: Option<usize>,
    /// Join 3-valued states where threads are at the same places.
    pub merge: bool,
    /// Time and cancellation.
    pub limits: Limits,
}

/// Threads from which on they are not counted one state after another at once: states grow with
/// their number, and what a violation needs does not.
const MANY: u32 = 4;
/// Pairs and elements of the basis after which threads are counted after all.
const SYMBOLIC: usize = 200_000;

/// Why a search ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Time or cancellation.
    Limit(Reason),
    /// More states than allowed.
    States(usize),
    /// A step, or the start, that chooses this many bits freely.
    Choices(usize),
}

/// What a trace violates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Its last step fails the assertion with this span.
    Assert(Span),
    /// Its last state satisfies the `never` with this number.
    Never(usize),
}

/// What a search found.
pub struct Checked {
    /// The verdict.
    pub verdict: Verdict,
    /// States, or pairs of shared and local state.
    pub states: usize,
    /// The search in words.
    pub summary: String,
}

/// Searches a program with [`Options::threads`] threads, or with any number.
pub fn check(program: &Resolved, source: &Source, any: bool, options: &Options) -> Checked {
    let (run, states, summary) = if any {
        with_any(program, options)
    } else {
        with_number(program, options)
    };
    Checked {
        verdict: judge(program, source, &run),
        states,
        summary,
    }
}

/// A violating run, states, the search in words.
type Found = (Result<Option<Box<Run>>, Stop>, usize, String);

fn with_number(program: &Resolved, options: &Options) -> Found {
    let mut kinds = program.threads.iter();
    if options.threads >= MANY
        && kinds.any(|t| t.copies == Copies::Any)
        && let Some(found) = with_at_most(program, options)
    {
        return found;
    }
    let mut search = ternary::Search::new(program, options);
    let found = search.run();
    let running = Checker::new(program, options).thread_names().len();
    let said = format!("{running} threads, {} 3-valued states", search.states);
    match found {
        Ok(None) => return (Ok(None), search.states, said),
        Ok(Some(path)) => {
            if let Some(run) = followed(program, options, &path) {
                return (Ok(Some(run)), search.states, said);
            }
        }
        Err(stop @ Stop::Limit(_)) => return (Err(stop), search.states, said),
        Err(Stop::States(_) | Stop::Choices(_)) => {}
    }
    let mut checker = Checker::new(program, options);
    let run = checker.run().map(|outcome| match outcome {
        counted::Outcome::Safe => None,
        counted::Outcome::Violated(run) => Some(run),
    });
    let states = checker.state_count();
    (run, states, format!("{running} threads, {states} states"))
}

/// A run of the program along a path of 3-valued states, if it is found.
fn followed(program: &Resolved, options: &Options, path: &Path) -> Option<Box<Run>> {
    // What it cannot tell the search does.
    Checker::new(program, options).follow(path).ok().flatten()
}

/// The search for any number of threads, with a limit; `None` if it becomes too large.
fn with_at_most(program: &Resolved, options: &Options) -> Option<Found> {
    let most = options.max_states.unwrap_or(SYMBOLIC).min(SYMBOLIC);
    let symbolic = Options {
        max_states: Some(most),
        ..options.clone()
    };
    let all = options.threads;
    let (outcome, effort) = cover::check(program, &symbolic, Some(all));
    let (run, threads) = match outcome {
        Ok(Any::Safe) => (Ok(None), format!("{all} threads")),
        // The others need not act: steps are monotone.
        Ok(Any::Violated(n, run)) => (Ok(Some(run)), format!("{n} of {all} threads")),
        Err(stop @ Stop::Limit(_)) => (Err(stop), format!("{all} threads")),
        Err(Stop::States(_) | Stop::Choices(_)) => return None,
    };
    Some((run, effort.pairs, said(&threads, effort)))
}

/// The search in words.
fn said(threads: &str, effort: Effort) -> String {
    let (pairs, basis) = (effort.pairs, effort.basis);
    format!("{threads}, {pairs} pairs of shared and local state, a basis of {basis}")
}

fn with_any(program: &Resolved, options: &Options) -> Found {
    let (outcome, effort) = cover::check(program, options, None);
    let threads = match &outcome {
        Ok(Any::Violated(n, _)) => format!("{n} threads"),
        Ok(Any::Safe) | Err(_) => "any number of threads".to_owned(),
    };
    let run = outcome.map(|outcome| match outcome {
        Any::Safe => None,
        Any::Violated(_, run) => Some(run),
    });
    (run, effort.pairs, said(&threads, effort))
}

fn judge(program: &Resolved, source: &Source, found: &Result<Option<Box<Run>>, Stop>) -> Verdict {
    let trace = match found {
        Ok(None) => return Verdict::Holds,
        Ok(Some(run)) => run,
        Err(stop) => return Verdict::Unknown(unknown(stop)),
    };
    let (broken, span) = match trace.target {
        Target::Assert(span) => (Broken::Assert(AssertKind::User), span),
        Target::Never(number) => (Broken::Property(number), program.never[number].1),
    };
    let message = match trace.target {
        Target::Assert(_) => format!("assertion failed: {}", source.slice(span)),
        Target::Never(_) => format!("never {}", source.slice(span)),
    };
    Verdict::Violated(Box::new(Violation {
        broken,
        span,
        message,
        trace: shown(source, trace),
    }))
}

fn unknown(stop: &Stop) -> Unknown {
    match stop {
        Stop::Limit(Reason::Cancelled) => Unknown::Interrupted,
        Stop::Limit(Reason::Deadline) => Unknown::Time,
        Stop::Limit(reason) => Unknown::GaveUp(reason.to_string()),
        Stop::States(states) => Unknown::Bound(vec![Bound::BooleanStates(*states)]),
        Stop::Choices(bits) => Unknown::GaveUp(format!(
            "a step chooses {bits} values freely: too many successors"
        )),
    }
}

/// The trace as all engines show theirs: Booleans are 0 and 1.
fn shown(source: &Source, run: &Run) -> Trace {
    let values = |list: &[(String, bool)]| -> BTreeMap<String, i64> {
        let number = |(n, v): &(String, bool)| (n.clone(), i64::from(*v));
        list.iter().map(number).collect()
    };
    let step = |step: &RunStep| TraceStep {
        thread: step.thread,
        span: step.span,
        text: source.slice(step.span).to_owned(),
        memory: values(&step.shared),
        locals: values(&step.locals),
        ..TraceStep::default()
    };
    Trace {
        threads: run.threads.clone(),
        initial: values(&run.start),
        steps: run.steps.iter().map(step).collect(),
        ..Trace::default()
    }
}
