//! *Check*: from a data structure to a verdict. All runs within bounds are searched for a
//! history that no order of its calls explains; if none is found and commit points explain
//! short runs, a proof for any number of threads, nodes and values is tried.
//!
//! | file | what |
//! |---|---|
//! | `proof` | by shape analysis |
//! | `sets` | sorted lists as sets, by views of calls |
//! | `lockstep` | objects without lists, by predicate abstraction |
//! | `relaxed` | TSO and PSO: from proofs under SC, where the program is robust |

pub mod lockstep;
pub mod proof;
mod relaxed;
mod sets;

use std::fmt::Write;

use palisade_program::heap::{Program, Specification};
use palisade_program::{Source, Unknown};

use self::proof::Attempt;
use crate::points::{Points, Suggestion, applied, suggest};
use crate::prove::{self, Proof};
use crate::returns;
use crate::robust::NotRobust;
use crate::sets::Certificate;
use crate::{
    Bound, Buffers, Failure, Found, Options, Reclaim, Search, Witness, check_commits, stages,
    timeline,
};

/// Bounds of the searches about commit points: they are many, and a wrong point
/// shows early.
const COMMIT_THREADS: u32 = 2;
const COMMIT_CALLS: u32 = 3;
const COMMIT_STATES: usize = 100_000;

/// Further calls, and states, of the search for a wrong run that the prover says there may be.
const FURTHER_CALLS: u32 = 3;
const FURTHER_STATES: usize = 200_000;

/// The answer about a data structure.
#[derive(Debug)]
pub enum Verdict {
    /// It is linearizable, for any number of threads, nodes and values.
    Holds,
    /// The run shows that it is not.
    Violated(Box<Witness>),
    /// Neither could be shown.
    Unknown,
}

/// What is known in the end.
#[derive(Debug)]
pub struct Checked {
    /// The answer.
    pub verdict: Verdict,
    /// Why: what is violated, or what is missing.
    pub reason: String,
    /// The bounds, if nothing else stands between this and a verdict.
    pub bound: Option<String>,
    /// Remarks.
    pub notes: Vec<String>,
    /// Whether the proof's certificate was checked, if it has one.
    pub certified: Option<bool>,
    /// The certificate of a set.
    pub certificate: Option<Box<Certificate>>,
    /// Under TSO and PSO, if no violation was found: whether runs are like runs under SC, or why
    /// that is not seen.
    pub robust: Option<Result<(), NotRobust>>,
    /// States of the search.
    pub states: u64,
    /// Steps of the search.
    pub transitions: u64,
    /// The shape analysis that was tried, for drawings.
    pub proof: Option<Box<Proof>>,
    /// The program to prove, if nothing speaks against it: no bug was found, and no wrong
    /// commit point. It has the commit points of the text, or those that were found.
    may_hold: Option<Box<Program>>,
}

/// What is asked.
pub struct Question<'a> {
    /// Bounds of the search.
    pub bounds: Options,
    /// How to prove; `None`: only search.
    pub proof: Option<prove::Options<'a>>,
    /// Says whether and why it is time to stop.
    pub stopped: &'a dyn Fn() -> Option<Unknown>,
    /// Told about progress of proofs without shapes.
    pub progress: Option<fn(&palisade_verify::Progress)>,
}

fn unknown(reason: String) -> Checked {
    Checked {
        verdict: Verdict::Unknown,
        reason,
        bound: None,
        notes: Vec::new(),
        may_hold: None,
        certified: None,
        certificate: None,
        robust: None,
        states: 0,
        transitions: 0,
        proof: None,
    }
}

/// Searches runs, looks at the commit points if none is wrong, and then for a proof.
pub fn check(program: &Program, question: &Question<'_>) -> Checked {
    judge(program, question).unwrap_or_else(|failure| unknown(failure.to_string()))
}

fn judge(program: &Program, question: &Question<'_>) -> Result<Checked, Failure> {
    let options = &question.bounds;
    if options.buffers != Buffers::Sc {
        return relaxed::judge(program, question);
    }
    let search = stages::search(program, options)?;
    let cost = (search.states, search.transitions);
    let mut judgement = judged(program, options, question, search);
    (judgement.states, judgement.transitions) = cost;
    let claims = judgement.may_hold.take();
    let searched = judgement.bound.is_some() && options.reclaim == Reclaim::Never;
    // Sets need no commit points; they were tried before.
    let set = program.specification == Specification::Set;
    match (&question.proof, claims) {
        (Some(_), _) if set => {}
        (None, _) => {}
        (Some(how), Some(claims)) => {
            let found_points = !program.has_commits();
            let beyond = try_proof(question, how, &claims, found_points, &mut judgement);
            if beyond && let Some(found) = search_further(program, options, question)? {
                judgement = found;
            }
        }
        (Some(_), None) if searched => judgement.notes.push(proof::not_tried()),
        (Some(_), None) => {}
    }
    if !matches!(judgement.verdict, Verdict::Violated(_)) {
        judgement.notes.extend(returns::never(program, options)?);
    }
    if options.reclaim != Reclaim::Never && !program.frees() {
        let note = "the program frees nothing: --free makes no difference but for leaks";
        judgement.notes.push(note.to_owned());
    }
    Ok(judgement)
}

/// A violation in runs with more calls than were asked for: the prover says that there may be one.
fn search_further(
    program: &Program,
    options: &Options,
    question: &Question<'_>,
) -> Result<Option<Checked>, Failure> {
    let further = Options {
        calls: options.calls + FURTHER_CALLS,
        max_states: options.max_states.min(FURTHER_STATES),
        ..options.clone()
    };
    let search = stages::search(program, &further)?;
    let cost = (search.states, search.transitions);
    if !matches!(search.found, Found::Wrong(_)) {
        return Ok(None);
    }
    let mut judgement = judged(program, &further, question, search);
    (judgement.states, judgement.transitions) = cost;
    Ok(Some(judgement))
}

/// What a search says by itself.
fn searched(
    program: &Program,
    options: &Options,
    question: &Question<'_>,
    search: Search,
) -> Checked {
    let bounds = search.bounds;
    match search.found {
        Found::Wrong(witness) => {
            let also = search.also.map(|also| {
                let line = program.source.position(also.span.start).line;
                format!(
                    "another run: {} at line {line}",
                    timeline::words(&also.what)
                )
            });
            Checked {
                reason: timeline::words(&witness.what),
                verdict: Verdict::Violated(witness),
                notes: also.into_iter().collect(),
                ..unknown(String::new())
            }
        }
        Found::Stopped(_) => {
            let why = (question.stopped)().unwrap_or(Unknown::Interrupted);
            unknown(why.to_string())
        }
        Found::Nothing => {
            let bound = bounds_text(options, &bounds);
            let reason = format!("no violation in runs of {bound}");
            Checked {
                bound: Some(bound),
                ..unknown(reason)
            }
        }
    }
}

/// What a search says, and the commit points, or the proof of a set.
fn judged(
    program: &Program,
    options: &Options,
    question: &Question<'_>,
    search: Search,
) -> Checked {
    let is_open = matches!(search.found, Found::Nothing);
    let mut judgement = searched(program, options, question, search);
    if !is_open {
        return judgement;
    }
    let set = program.specification == Specification::Set;
    if set
        && options.reclaim == Reclaim::Never
        && let Some(how) = &question.proof
    {
        match sets::attempt(program, how) {
            Attempt::Proved(proved) => {
                judgement.verdict = Verdict::Holds;
                judgement.bound = None;
                judgement.notes.extend(proved.notes);
                judgement.certified = proved.certified.then_some(true);
                judgement.certificate = proved.certificate;
                return Checked {
                    reason: "linearizable, for any number of threads, nodes and values".to_owned(),
                    ..judgement
                };
            }
            Attempt::Failed(notes) | Attempt::Beyond(notes) => {
                let stopped = (question.stopped)().map(|why| format!("no proof: {why}"));
                let notes = stopped.map_or(notes, |why| vec![why]);
                judgement.notes.extend(notes);
            }
        }
    }
    // What was searched stands, whatever comes of the commit points.
    if let Err(failure) = about_commits(program, options, &mut judgement) {
        judgement.may_hold = None;
        judgement.notes.push(format!("commit points: {failure}"));
    }
    judgement
}

/// Beyond the bounds: a proof for any number of threads, nodes and values. Says whether there is
/// a run that may be wrong.
fn try_proof(
    question: &Question<'_>,
    how: &prove::Options<'_>,
    program: &Program,
    found_points: bool,
    judgement: &mut Checked,
) -> bool {
    let (attempt, proof) = proof::attempt(question, how, program);
    judgement.proof = proof;
    let beyond = matches!(attempt, Attempt::Beyond(_));
    match attempt {
        Attempt::Proved(proved) => {
            let threads = match how.threads.filter(|_| !how.collapse) {
                None => "any number of threads".to_owned(),
                Some(n) => format!("{n} threads"),
            };
            judgement.verdict = Verdict::Holds;
            judgement.bound = None;
            let nodes = if program.structs.is_empty() {
                ""
            } else {
                ", nodes"
            };
            judgement.reason = if program.specification == Specification::Nothing {
                format!("for {threads}{}", nodes.replace(',', " and"))
            } else {
                format!("linearizable, for {threads}{nodes} and values")
            };
            judgement.certified = proved.certified.then_some(true);
            // That points explain short runs is no news now; which ones were found is.
            judgement.notes.retain(|_| found_points);
            judgement.notes.extend(proved.notes);
        }
        Attempt::Failed(notes) | Attempt::Beyond(notes) => {
            if let Some(why) = (question.stopped)() {
                judgement.notes.push(format!("no proof: {why}"));
            } else {
                judgement.notes.extend(notes);
            }
        }
    }
    beyond
}

fn bounds_text(options: &Options, touched: &[Bound]) -> String {
    let (threads, calls) = (options.threads, options.calls);
    let mut text = format!("{threads} threads with {calls} calls");
    for bound in touched {
        let more = match bound {
            Bound::Nodes => format!("{} nodes", options.nodes),
            Bound::LocalSteps => "short loops over locals".to_owned(),
            Bound::Numbers => "numbers of 64 bits".to_owned(),
            Bound::Stores => format!("{} buffered stores", options.stores),
            Bound::States => format!("{} states", options.max_states),
        };
        // Writing to a string does not fail.
        let _ = write!(text, ", {more}");
    }
    text
}

/// Whether the commit points explain short runs; others if they do not.
fn about_commits(
    program: &Program,
    options: &Options,
    judgement: &mut Checked,
) -> Result<(), Failure> {
    if program.specification == Specification::Nothing {
        // The prover knows of no memory that is given back.
        if options.reclaim == Reclaim::Never {
            judgement.may_hold = Some(Box::new(program.clone()));
        }
        return Ok(());
    }
    let short = Options {
        threads: options.threads.min(COMMIT_THREADS),
        calls: options.calls.min(COMMIT_CALLS),
        max_states: options.max_states.min(COMMIT_STATES),
        ..options.clone()
    };
    let (threads, calls) = (short.threads, short.calls);
    if program.has_commits() {
        match check_commits(program, &short)?.found {
            Found::Nothing => {
                if options.reclaim == Reclaim::Never {
                    judgement.may_hold = Some(Box::new(program.clone()));
                }
                judgement.notes.push(format!(
                    "the commit points explain all runs of {threads} threads with {calls} calls"
                ));
                return Ok(());
            }
            Found::Stopped(_) => return Ok(()),
            Found::Wrong(witness) => {
                let line = program.source.position(witness.span.start).line;
                let what = timeline::words(&witness.what);
                judgement
                    .notes
                    .push(format!("commit point: {what} (line {line})"));
            }
        }
    }
    match suggest(program, &short)? {
        Points::Found(points) => {
            let found = points.iter().map(|point| suggestion(&program.source, point));
            judgement.notes.extend(found);
            // Where the text claims nothing, these are the claims.
            if !program.has_commits()
                && options.reclaim == Reclaim::Never
                && let Some(with_points) = applied(program, &points)
                && matches!(check_commits(&with_points, &short)?.found, Found::Nothing)
            {
                judgement.may_hold = Some(Box::new(with_points));
            }
        }
        Points::Cut => judgement
            .notes
            .push("the search for commit points was cut".to_owned()),
        Points::None => judgement.notes.push(format!(
            "no single access per `return` explains all runs of {threads} threads with {calls} calls"
        )),
    }
    Ok(())
}

fn suggestion(source: &Source, point: &Suggestion) -> String {
    format!(
        "{}: calls that return at line {} can commit at line {}: {}",
        point.method,
        source.position(point.at_return.start).line,
        source.position(point.span.start).line,
        point.step
    )
}
