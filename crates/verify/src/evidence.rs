//! *Evidence* (DESIGN idea 5): an abstract counterexample's run is replayed by
//! the concrete machine on the original program under its memory model; reached
//! states become a certificate that is checked anew. Without it no verdict.

use std::sync::Arc;

use palisade_certify::Certificate;
use palisade_logic::SolverStats;
use palisade_machine::{Action, ActionKind, BlockStep, Start, ThreadStep, Witness};
use palisade_memory::reduced::{Meaning, Reduced};
use palisade_program::cfg::Step;
use palisade_program::{Cell, EdgeId, Init, Instance, LocalId, Model, Program, Unknown, Violation};

use crate::engine::limits;
use crate::options::Options;
use crate::simulate::{Run, RunStep};

/// Replays a run on the concrete machine.
pub fn replay(
    program: &Program,
    reduced: Option<&Reduced>,
    instances: &[Instance],
    model: Model,
    threads: u32,
    run: &Run,
) -> Result<(Box<Violation>, Witness), Unknown> {
    let same: Vec<usize> = (0..instances.len()).collect();
    replay_as(program, reduced, (instances, &same), model, threads, run)
}

/// States that the machine looks at for the network's steps of one run.
const GUIDED_STATES: usize = 60_000;

/// Replays a run whose network steps go through value sets: these do not say which operation
/// it was, so that only the threads' steps are taken, and the machine looks for steps of the
/// network in between.
pub fn replay_guided(
    program: &Program,
    reduced: Option<&Reduced>,
    instances: &[Instance],
    model: Model,
    threads: u32,
    run: &Run,
) -> Result<(Box<Violation>, Witness), Unknown> {
    let start = start(program, instances, model, threads, run);
    let steps = run.steps.iter();
    let steps = steps.filter_map(|s| thread_only(&action(program, reduced, instances, s)?));
    let steps: Vec<ThreadStep> = steps.collect();
    let replayed = palisade_machine::replay_deepest(program, &start, &steps, GUIDED_STATES);
    let replayed = replayed.map_err(|error| Unknown::ReplayFailed(error.to_string()))?;
    let violation = replayed.violation.ok_or_else(|| {
        Unknown::ReplayFailed("the machine runs the threads' steps but sees no violation".into())
    })?;
    let actions = replayed.actions;
    Ok((violation, Witness { start, actions }))
}

/// The step, if it is a thread's. Which way an atomic block went is left open: the
/// reduction has put steps of its own into it.
fn thread_only(action: &Action) -> Option<ThreadStep> {
    let (edge, choice) = match &action.kind {
        ActionKind::Step { edge, choice } => (*edge, *choice),
        ActionKind::Block { edge, .. } => (*edge, None),
        ActionKind::Update { .. } => return None,
        ActionKind::NetworkRead { .. } | ActionKind::NetworkWrite { .. } => return None,
        ActionKind::AtomicRead { .. } | ActionKind::AtomicApply { .. } => return None,
    };
    Some(ThreadStep {
        thread: action.thread,
        edge,
        choice,
        path: None,
    })
}

/// The same where the machine's threads have other places: `places` gives them by the
/// run's threads.
pub(crate) fn replay_as(
    program: &Program,
    reduced: Option<&Reduced>,
    (instances, places): (&[Instance], &[usize]),
    model: Model,
    threads: u32,
    run: &Run,
) -> Result<(Box<Violation>, Witness), Unknown> {
    let mut start = start(program, instances, model, threads, run);
    let locals = std::mem::take(&mut start.locals).into_iter();
    start.locals = locals.map(|((t, l), v)| ((places[t], l), v)).collect();
    let actions: Vec<Action> = run
        .steps
        .iter()
        .filter_map(|s| action(program, reduced, instances, s))
        .map(|a| Action {
            thread: places[a.thread],
            ..a
        })
        .collect();
    match palisade_machine::replay(program, &start, &actions) {
        Ok(replayed) => {
            let violation = replayed.violation.ok_or_else(|| {
                Unknown::ReplayFailed("the machine runs the trace but sees no violation".into())
            })?;
            let actions = replayed.actions;
            Ok((violation, Witness { start, actions }))
        }
        Err(error) => Err(Unknown::ReplayFailed(error.to_string())),
    }
}

/// Values for what starts with any value.
pub(crate) fn start(
    program: &Program,
    instances: &[Instance],
    model: Model,
    threads: u32,
    run: &Run,
) -> Start {
    let mut start = Start::new(model, threads);
    for (index, init) in program.initial_cells().into_iter().enumerate() {
        if init == Init::Any {
            start.cells.insert(Cell::from(index), run.cells[index]);
        }
    }
    for (thread, instance) in instances.iter().enumerate() {
        for (index, local) in program
            .template(instance.template)
            .locals
            .iter()
            .enumerate()
        {
            if local.init == Init::Any {
                start
                    .locals
                    .insert((thread, LocalId::from(index)), run.locals[thread][index]);
            }
        }
    }
    start
}

/// A step in the machine's words; steps that are the reduction's own are left out.
pub(crate) fn action(
    program: &Program,
    reduced: Option<&Reduced>,
    instances: &[Instance],
    step: &RunStep,
) -> Option<Action> {
    let template = instances[step.thread].template;
    let meaning = match reduced {
        Some(r) => r.templates[template.index()].edges[step.edge.index()],
        None => Meaning::Step {
            edge: step.edge,
            skip: 0,
        },
    };
    let kind = match meaning {
        Meaning::Step { edge, skip } => thread_step(program, template, edge, skip, step),
        Meaning::Update(cell) => ActionKind::Update { cell },
        Meaning::Read { source, target } => ActionKind::NetworkRead { source, target },
        Meaning::Write { target, value } => ActionKind::NetworkWrite {
            target,
            value: step.locals[value.index()],
        },
        // Which of several on one cell is not in the run: the first is tried.
        Meaning::AtomicRead { target, operand } => ActionKind::AtomicRead {
            target,
            position: 0,
            operand: operand as usize,
        },
        Meaning::AtomicApply(target) => ActionKind::AtomicApply { target },
        // Which operation it was is not in the run.
        Meaning::End | Meaning::Pick(_) => return None,
    };
    Some(Action {
        thread: step.thread,
        kind,
    })
}

fn thread_step(
    program: &Program,
    template: palisade_program::TemplateId,
    edge: EdgeId,
    skip: u32,
    step: &RunStep,
) -> ActionKind {
    let mut chosen = step.chosen.iter().copied();
    match &program.template(template).cfg.edge(edge).step {
        Step::Atomic(atomic) => {
            let own = step
                .path
                .iter()
                .filter(|e| e.0 >= skip)
                .map(|e| EdgeId(e.0 - skip))
                .filter(|e| e.index() < atomic.body.edges.len());
            let path: Vec<BlockStep> = own
                .map(|inner| {
                    let is_choice = matches!(atomic.body.edge(inner).step, Step::Havoc { .. });
                    let choice = is_choice.then(|| chosen.next()).flatten();
                    (inner, choice)
                })
                .collect();
            ActionKind::Block { edge, path }
        }
        Step::Skip
        | Step::Assume(_)
        | Step::Assign { .. }
        | Step::Havoc { .. }
        | Step::Load { .. }
        | Step::Store { .. }
        | Step::Fence(_)
        | Step::Assert { .. }
        | Step::Put { .. }
        | Step::Get { .. }
        | Step::RemoteAtomic(_)
        | Step::Flush(_) => ActionKind::Step {
            edge,
            choice: chosen.next(),
        },
    }
}

/// Has a certificate checked. A refusal is a bug of Palisade, unless a limit was
/// reached.
pub fn certify(
    program: &Program,
    certificate: &Certificate,
    options: &Options,
    stats: &Arc<SolverStats>,
) -> Result<(), Unknown> {
    let check = palisade_certify::Options {
        limits: limits(options),
        stats: Arc::clone(stats),
        workers: 1,
    };
    match palisade_certify::check(program, certificate, &check) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(match refusal.reason {
            palisade_certify::Reason::Undecided(reason) => crate::engine::unknown_reason(reason),
            _ => Unknown::CertificateRefused(refusal.to_string()),
        }),
    }
}
