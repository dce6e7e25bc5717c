//! Verdict: what an analysis says about the model, and on what grounds.
//!
//! Place: the last step. `holds` needs a finished fixed point without messages and the
//! confirmation of `confirm`; `violated` needs a concrete run; all else is `unknown`
//! with a typed reason.

use crate::confirm::{confirm, confirm_by, fired};
use crate::engine::{Fixpoint, Stop};
use crate::explore::{Bounds, Explored, Objection, Run, Stored, find_run, search, stopped};
use crate::model::Model;
use crate::rules::Source;
use crate::structure::Structure;
use crate::worlds::has_world;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// The verdict.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// No message can be given.
    Holds {
        /// Worlds on which the naive evaluator confirmed it.
        worlds: usize,
        /// Steps it checked.
        steps: usize,
        /// Edges along which it checked one.
        edges: usize,
        /// Edges along which the analysis took a structure to another.
        fired: usize,
        /// Axioms that no small world satisfies, by index: the worlds need not either.
        relaxed: Vec<usize>,
    },
    /// A message can be given; this run does.
    Violated(Box<Run>),
    /// Neither is known.
    Unknown(Reason),
}

/// Why nothing is known.
#[derive(Clone, Debug)]
pub enum Reason {
    /// Messages were given, but no small concrete run gives one.
    Messages,
    /// The analysis did not finish.
    Stopped(Stop),
    /// A message that counts only when definite was unknown.
    Doubtful(String),
    /// No concrete world was small enough for the naive evaluator.
    Unconfirmed,
    /// The naive evaluator disagrees, or the model assumes too much.
    Objection(Box<Objection>),
}

impl Verdict {
    /// Exit code of the command line.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Holds { .. } => 0,
            Self::Violated(_) => 1,
            Self::Unknown(_) => 3,
        }
    }

    /// `holds`, `violated` or `unknown`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds { .. } => "holds",
            Self::Violated(_) => "violated",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// What deciding may use.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Bounds of the concrete exploration.
    pub bounds: &'a Bounds,
    /// Whether to use all cores.
    pub parallel: bool,
    /// Set to stop early.
    pub cancel: Option<&'a AtomicBool>,
}

/// Decides.
pub fn decide(
    model: &Model,
    initial: &[Structure],
    fixpoint: &Fixpoint,
    means: Means<'_>,
) -> Verdict {
    let cancel = means.cancel;
    let bounds = &means.bounds.scaled(fixpoint.intermediate);
    if !fixpoint.messages.is_empty() {
        return match find_run(model, initial, fixpoint, bounds, cancel) {
            Some(run) => Verdict::Violated(Box::new(run)),
            None if stopped(cancel) => Verdict::Unknown(Reason::Stopped(Stop::Cancelled)),
            None => Verdict::Unknown(Reason::Messages),
        };
    }
    let found = search(model, initial, fixpoint, bounds, cancel);
    if let Some(run) = found.run {
        return Verdict::Violated(Box::new(run));
    }
    if fixpoint.stop != Stop::Finished {
        return Verdict::Unknown(Reason::Stopped(fixpoint.stop));
    }
    if let Some(text) = &fixpoint.doubtful {
        return Verdict::Unknown(Reason::Doubtful(text.clone()));
    }
    let objection = |o| Verdict::Unknown(Reason::Objection(Box::new(o)));
    if let Some(o) = found.objection {
        return objection(o);
    }
    let checked = confirm(model, fixpoint, bounds, means.parallel, cancel);
    if let Some(o) = checked.objection {
        return objection(o);
    }
    if stopped(cancel) {
        return Verdict::Unknown(Reason::Stopped(Stop::Cancelled));
    }
    if found.worlds + checked.worlds == 0 {
        return without_worlds(model, initial, fixpoint, bounds, means);
    }
    holds(fixpoint, &[found, checked], vec![])
}

fn holds(fixpoint: &Fixpoint, explored: &[Explored], relaxed: Vec<usize>) -> Verdict {
    let sum = |count: fn(&Explored) -> usize| explored.iter().map(count).sum();
    let edges: BTreeSet<usize> = explored.iter().flat_map(|e| e.edges.clone()).collect();
    let fired = fired(fixpoint);
    Verdict::Holds {
        worlds: sum(|e| e.worlds),
        steps: sum(|e| e.steps),
        edges: fired.intersection(&edges).count(),
        fired: fired.len(),
        relaxed,
    }
}

/// The verdict where nothing has a small world, as in a model whose numbers have no end: the
/// confirmation is made on worlds that need not satisfy the rules which exclude them all. They are
/// beginnings of real ones, with two objects at least for every summary object, so that one step
/// does not come to their end; where the result is not closed on them, it is not confirmed.
fn without_worlds(
    model: &Model,
    initial: &[Structure],
    fixpoint: &Fixpoint,
    bounds: &Bounds,
    means: Means<'_>,
) -> Verdict {
    let unconfirmed = Verdict::Unknown(Reason::Unconfirmed);
    let given = (0..model.axioms.len()).filter(|i| model.axioms[*i].source == Source::Given);
    let given: Vec<usize> = given.collect();
    let one = given.iter().map(|axiom| vec![*axiom]);
    let bounds = &Bounds {
        least: 2,
        ..*bounds
    };
    for relaxed in one.chain([given.clone()]) {
        if bounds.visits == 0 || stopped(means.cancel) {
            break;
        }
        let weaker = model.without(&relaxed);
        if !initial.iter().any(|s| has_world(&weaker, s, bounds)) {
            continue;
        }
        let stored = Stored {
            model: &weaker,
            fixpoint,
        };
        let checked = confirm_by(&stored, model, bounds, means.parallel, means.cancel);
        let confirmed = checked.objection.is_none() && checked.worlds > 0;
        if !confirmed || stopped(means.cancel) {
            break;
        }
        return holds(fixpoint, &[checked], relaxed);
    }
    unconfirmed
}

/// A reason as a sentence.
pub fn explain(model: &Model, reason: &Reason) -> String {
    let title = |edge: usize| {
        let e = &model.edges[edge];
        format!(
            "`{}` from {}",
            model.actions[e.action].title.replace('\n', " "),
            model.locations[e.source]
        )
    };
    match reason {
        Reason::Messages => {
            "messages were given, but no small concrete run that gives one was found".to_owned()
        }
        Reason::Stopped(stop) => match stop {
            Stop::Finished => "finished".to_owned(),
            Stop::Structures => "the limit on structures was reached".to_owned(),
            Stop::Messages => "the limit on messages was reached".to_owned(),
            Stop::Time => "time limit reached".to_owned(),
            Stop::Memory => "memory limit reached".to_owned(),
            Stop::TooLarge => {
                "a structure would need more than 64 objects, or an action has too many bindings"
                    .to_owned()
            }
            Stop::Halted => "a %halt condition held".to_owned(),
            Stop::Decided => "a run was found before the fixed point".to_owned(),
            Stop::Cancelled => "interrupted".to_owned(),
        },
        Reason::Doubtful(text) => {
            format!("the message \"{text}\" counts only when definite, and was unknown")
        }
        Reason::Unconfirmed => {
            "no message was given, but no world was small enough to confirm it".to_owned()
        }
        Reason::Objection(o) => match &**o {
            Objection::NotCovered { location, .. } => format!(
                "the naive evaluator found a state at {} that no stored structure covers",
                model.locations[*location]
            ),
            Objection::MessageMissed { edge } => format!(
                "the naive evaluator found a message of {} that the analysis did not give",
                title(*edge)
            ),
            Objection::AxiomBroken { edge, axiom } => format!(
                "a run breaks {} by {}: what the model assumes does not hold",
                model.axioms[*axiom].origin,
                title(*edge)
            ),
            Objection::UpdateWrong { edge, predicate } => format!(
                "the update of {} by {} contradicts its definition on a run",
                model.vocabulary.get(*predicate).name,
                title(*edge)
            ),
        },
    }
}
