//! The check of a certificate: it is for this program, it is well formed, every
//! initial state is in, it is closed under every step, and it excludes every
//! violation. What is proved is then true of all reachable states, whoever made
//! the certificate and however.
//!
//! Everything is derived from the Program and the model here; this crate knows
//! nothing of `palisade-memory`, `palisade-abstraction`, `palisade-checker` and
//! `palisade-machine`. It trusts `palisade-program`, `palisade-logic` and Z3.

use crate::certificate::{Certificate, Kind};
use crate::context::Context;
use crate::deadlock;
use crate::fingerprint::Fingerprint;
use crate::histories;
use crate::interference;
use crate::judge::Judge;
use crate::progress;
use crate::reach;
use crate::refusal::{Reason, Refusal, Site};
use crate::state::MAX_THREADS;
use crate::unbuffered::confirmed;
use crate::views::{self, subject};
use crate::wellformed::wellformed;
use crate::worker::Worker;
use palisade_logic::{Limits, SolverStats};
use palisade_program::{Model, Program, Span};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Fewer entries than this are not worth a second thread.
const PARALLEL_FROM: usize = 512;

/// How to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// What ends the check.
    pub limits: Limits,
    /// Where solver queries are counted.
    pub stats: Arc<SolverStats>,
    /// Threads that share the work on large certificates.
    pub workers: usize,
    /// Most states that a check of histories finds by itself.
    pub states: usize,
    /// Whether a search of reachable states leaves out steps that make no difference, and states that differ by an exchange
    /// of threads that are alike.
    pub reduce: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            stats: Arc::default(),
            workers: 1,
            states: usize::MAX,
            reduce: true,
        }
    }
}

impl From<Limits> for Options {
    fn from(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }
}

/// A certificate that was confirmed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Entries of the invariant.
    pub entries: usize,
    /// Facts that were proved.
    pub obligations: u64,
    /// Those that needed the solver.
    pub solver_calls: u64,
    /// Wall-clock time.
    pub time: Duration,
}

/// Checks that `certificate` proves every property of `program` under the
/// certificate's model.
///
/// # Errors
/// A [`Refusal`] says what could not be confirmed and where. It is no statement
/// about the program.
pub fn check(
    program: &Program,
    certificate: &Certificate,
    options: &Options,
) -> Result<Checked, Refusal> {
    let started = Instant::now();
    if let Kind::Histories(summary) = certificate.kind {
        let states = histories::check(program, certificate, summary, options)?;
        return Ok(Checked {
            entries: states,
            obligations: states as u64,
            solver_calls: 0,
            time: started.elapsed(),
        });
    }
    if let Kind::Reachable(reachable) = certificate.kind {
        let found = reach::check(program, certificate, reachable, options)?;
        return Ok(Checked {
            entries: found.states,
            obligations: found.steps,
            solver_calls: 0,
            time: started.elapsed(),
        });
    }
    if certificate.model == Model::Rc11 {
        let reason = Reason::Unsupported("this kind of certificate under RC11".to_owned());
        return Err(Refusal::whole(reason));
    }
    deadlock::admissible(program, certificate).map_err(Refusal::whole)?;
    progress::admissible(program, certificate).map_err(Refusal::whole)?;
    let program = &*subject(program, certificate.kind);
    let program = &*confirmed(program, certificate).map_err(Refusal::whole)?;
    interference::admissible(program, certificate).map_err(Refusal::whole)?;
    if certificate.kind == Kind::Views {
        let (obligations, solver_calls) = views::check(program, certificate, options)?;
        return Ok(Checked {
            entries: certificate.entries.len(),
            obligations,
            solver_calls,
            time: started.elapsed(),
        });
    }
    admissible(program, certificate).map_err(Refusal::whole)?;
    let instances = program.instances(certificate.threads);
    wellformed(program, &instances, certificate).map_err(Refusal::whole)?;
    if let Some(access) = interference::disturbed(program, certificate).first() {
        return Err(Refusal::whole(Reason::Disturbed(access.1)));
    }
    let context = Context::new(program, certificate, instances);
    let workers = if certificate.entries.len() < PARALLEL_FROM {
        1
    } else {
        options.workers.max(1)
    };
    let (obligations, solver_calls) = run(&context, options, workers)?;
    Ok(Checked {
        entries: certificate.entries.len(),
        obligations,
        solver_calls,
        time: started.elapsed(),
    })
}

pub(crate) fn admissible(program: &Program, certificate: &Certificate) -> Result<(), Reason> {
    let expected = Fingerprint::of(program, certificate.model, certificate.threads);
    if certificate.fingerprint != expected {
        return Err(Reason::Fingerprint);
    }
    if certificate.threads > MAX_THREADS {
        return Err(Reason::Unsupported("so many threads".to_owned()));
    }
    Ok(())
}

/// Runs the workers; the refusal of the first entry that has one wins.
fn run(context: &Context<'_>, options: &Options, workers: usize) -> Result<(u64, u64), Refusal> {
    let refused = AtomicUsize::new(usize::MAX);
    let part = |first: usize| work(context, options, first, workers, &refused);
    let mut results = Vec::new();
    if workers == 1 {
        results.push(part(0));
    } else {
        std::thread::scope(|scope| {
            let part = &part;
            let handles: Vec<_> = (0..workers).map(|w| scope.spawn(move || part(w))).collect();
            for handle in handles {
                results.push(handle.join().unwrap_or_else(|_| Err(lost_worker())));
            }
        });
    }
    let mut first: Option<(usize, Refusal)> = None;
    let mut counts = (0, 0);
    for result in results {
        match result {
            Ok(own) => counts = (counts.0 + own.0, counts.1 + own.1),
            Err((entry, refusal)) => {
                if first.as_ref().is_none_or(|(earlier, _)| entry < *earlier) {
                    first = Some((entry, refusal));
                }
            }
        }
    }
    first.map_or(Ok(counts), |(_, refusal)| Err(refusal))
}

/// A worker that panicked has proved nothing.
fn lost_worker() -> (usize, Refusal) {
    let reason = Reason::Unsupported("a worker of the check was lost".to_owned());
    (0, Refusal::whole(reason))
}

/// Every `step`th entry from `first`; the first worker also does the initial
/// states. A refusal carries the number of its entry, 0 for the initial states.
fn work(
    context: &Context<'_>,
    options: &Options,
    first: usize,
    step: usize,
    refused: &AtomicUsize,
) -> Result<(u64, u64), (usize, Refusal)> {
    let judge = Judge::new(&options.limits, &options.stats);
    let mut worker = Worker::new(context, judge);
    if first == 0 {
        let initial = worker.initial_states();
        initial.map_err(|t| {
            refused.store(0, Ordering::Relaxed);
            (0, located(context, t.reason, t.span))
        })?;
    }
    let entries = context.certificate.entries.iter().enumerate();
    for (i, entry) in entries.skip(first).step_by(step) {
        // Only entries before the first refusal can still change the result.
        if i + 1 > refused.load(Ordering::Relaxed) {
            break;
        }
        worker.entry(entry).map_err(|refusal| {
            refused.fetch_min(i + 1, Ordering::Relaxed);
            (i + 1, refusal)
        })?;
    }
    Ok((worker.judge.obligations, worker.judge.calls))
}

pub(crate) fn located(context: &Context<'_>, reason: Reason, span: Span) -> Refusal {
    let position = context.program.source.position(span.start);
    let span = (span != Span::default()).then_some((span, position));
    let site = Site {
        span,
        ..Site::default()
    };
    Refusal { reason, site }
}
