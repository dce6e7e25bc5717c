//! *The paper's way* [Abdulla et al., SAS 2012, section 7, case 2], for comparison: fences after all
//! writes of a bug's trace, then greedy removal while the trace stays infeasible;
//! repeat until no bug is left. Fences only ever come on top of earlier ones, so
//! the result is right but no minimum.
//!
//! Departure: where fences after writes do not stop the trace (a candidate may be
//! missing there) all candidates that the trace passes are taken.

use palisade_machine::{ActionKind, Witness};
use palisade_program::{EdgeId, Program, Step, TemplateId};

use crate::clause::{Refuted, is_everything, replays, replays_guided};
use crate::plan::{Level, Placement, Plan};
use crate::synthesize::{End, Judgement, Repair, Synthesis};

/// Runs the paper's search.
pub(crate) fn search(synthesis: &mut Synthesis<'_, '_>) -> End {
    let mut placement = synthesis.plan.nothing();
    loop {
        match synthesis.judge(&placement) {
            Judgement::Proved(report) => {
                let report = *report;
                return synthesis.repaired(vec![Repair { placement, report }]);
            }
            Judgement::Buggy(violation, refuted) => {
                if is_everything(&refuted.placement) {
                    return synthesis.beyond_fences(violation);
                }
                placement = fenced(synthesis.plan, &placement, &refuted);
                let most = synthesis.options.max_fences.unwrap_or(usize::MAX);
                if synthesis.plan.fences(&placement).len() > most {
                    return End::TooFew(most);
                }
            }
            // More fences might be proved, but this search has no reason to add any.
            Judgement::Undecided(why) => {
                synthesis.set_aside(placement, why.clone());
                return End::Unknown(why);
            }
        }
    }
}

/// `placement` with further fences that stop the run.
fn fenced(plan: &Plan<'_>, placement: &Placement, refuted: &Refuted) -> Placement {
    let witness = &refuted.witness;
    let writes = passed(plan, witness, true);
    let mut added = with_all(placement, &writes);
    let mut decisions = writes;
    if is_feasible(plan, &added, witness) {
        decisions = passed(plan, witness, false);
        added = with_all(placement, &decisions);
    }
    if is_feasible(plan, &added, witness) {
        // Whatever the run does not pass cannot stop it, and it is known that some
        // placement does: take what it takes.
        return plan.everything();
    }
    for decision in decisions {
        let old = placement.0[decision];
        let fewer = added.with(decision, old);
        if !is_feasible(plan, &fewer, witness) {
            added = fewer;
        }
    }
    added
}

fn with_all(placement: &Placement, decisions: &[usize]) -> Placement {
    let full = |p: Placement, &d: &usize| p.with(d, Level::Full);
    decisions.iter().fold(placement.clone(), full)
}

fn is_feasible(plan: &Plan<'_>, placement: &Placement, witness: &Witness) -> bool {
    let program = plan.switched(placement);
    replays(&program, witness)
        .or_else(|| replays_guided(&program, witness))
        .is_some()
}

/// The decisions whose candidates the run passes, in order; only those after a
/// write, if so wanted: no other access of memory in between.
fn passed(plan: &Plan<'_>, witness: &Witness, after_writes: bool) -> Vec<usize> {
    let instances = plan.program.instances(witness.start.threads);
    let mut has_written = vec![false; instances.len()];
    let mut found = Vec::new();
    for action in &witness.actions {
        let edge = match &action.kind {
            ActionKind::Step { edge, .. } | ActionKind::Block { edge, .. } => *edge,
            ActionKind::Ordered { edge, .. } => *edge,
            ActionKind::Update { .. } => continue,
            ActionKind::NetworkRead { .. } | ActionKind::NetworkWrite { .. } => continue,
            ActionKind::AtomicRead { .. } | ActionKind::AtomicApply { .. } => continue,
        };
        let template = instances[action.thread].template;
        let wrote = &mut has_written[action.thread];
        if let Some(decision) = decision_of(plan, template, edge) {
            if (*wrote || !after_writes) && !found.contains(&decision) {
                found.push(decision);
            }
        } else {
            *wrote = writes_last(plan.program, template, edge, *wrote);
        }
    }
    found
}

fn writes_last(program: &Program, template: TemplateId, edge: EdgeId, before: bool) -> bool {
    let step = &program.template(template).cfg.edge(edge).step;
    matches!(step, Step::Store { .. }) || (before && step.is_local())
}

fn decision_of(plan: &Plan<'_>, template: TemplateId, edge: EdgeId) -> Option<usize> {
    let has = |sites: &Vec<usize>| {
        let mut edges = sites.iter().flat_map(|&s| &plan.sites[s].edges);
        edges.any(|e| *e == (template, edge))
    };
    plan.decisions.iter().position(has)
}
