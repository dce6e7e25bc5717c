//! *Replay*: from the run of a search to a run of the concrete machine on the program
//! under its memory model.

use palisade_machine::{Action, ActionKind, BlockStep, Start, ThreadStep, Witness};
use palisade_memory::reduced::{Meaning, Reduced};
use palisade_program::cfg::Step;
use palisade_program::{Cell, EdgeId, Init, Instance, LocalId, Model, Program};

use crate::answer::Gap;
use crate::method::cegar::simulate::{Run, RunStep};
use crate::portfolio::GUIDED_STATES;

/// Replays a run whose network steps go through value sets: these do not say which operation
/// it was, so that only the threads' steps are taken, and the machine looks for steps of the
/// network in between.
pub fn guided(program: &Program, start: Start, actions: &[Action]) -> Result<Witness, Gap> {
    let steps: Vec<ThreadStep> = actions.iter().filter_map(thread_only).collect();
    let replayed = palisade_machine::replay_deepest(program, &start, &steps, GUIDED_STATES);
    let replayed = replayed.map_err(|error| Gap::Spurious(error.to_string()))?;
    let actions = replayed.actions;
    Ok(Witness { start, actions })
}

/// The step, if it is a thread's. Which way an atomic block went is left open: the
/// reduction has put steps of its own into it.
fn thread_only(action: &Action) -> Option<ThreadStep> {
    let (edge, choice) = match &action.kind {
        ActionKind::Step { edge, choice } => (*edge, *choice),
        ActionKind::Block { edge, .. } | ActionKind::Ordered { edge, .. } => (*edge, None),
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

/// Values for what starts with any value.
pub fn start(
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
pub fn action(
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
