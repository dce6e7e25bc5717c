//! A *run under SC* as one under TSO or PSO. Memory may take every
//! store at once, so a run under SC is one of the weaker model too, with an update
//! after each store. Which cell a store with a computed index goes to is not in the
//! run: the machine knows, it refuses updates of cells that have nothing buffered.

use palisade_machine::{Action, ActionKind, Witness};
use palisade_program::cfg::Step;
use palisade_program::{Cell, Instance, Model, Program};

use crate::evidence::replay;
use crate::method::cegar::simulate::Run;

/// Longest run that is replayed: the prefixes are run again and again.
const MAX_STEPS: usize = 2_000;

/// A run of `program` under SC as one under `model`; none if it shows no
/// violation there.
pub fn under(
    program: &Program,
    instances: &[Instance],
    model: Model,
    threads: u32,
    run: &Run,
) -> Option<Witness> {
    if run.steps.len() > MAX_STEPS {
        return None;
    }
    let start = replay::start(program, instances, model, threads, run);
    let mut actions: Vec<Action> = Vec::new();
    for step in &run.steps {
        let Some(action) = replay::action(program, None, instances, step) else {
            continue;
        };
        let cells = stored(program, instances, &action);
        let thread = action.thread;
        actions.push(action);
        let mut update = None;
        for cell in cells.clone() {
            let kind = ActionKind::Update { cell };
            actions.push(Action { thread, kind });
            // A single candidate needs no trial.
            let fits =
                cells.len() == 1 || palisade_machine::replay(program, &start, &actions).is_ok();
            if fits {
                update = Some(cell);
                break;
            }
            actions.pop();
        }
        if !cells.is_empty() && update.is_none() {
            return None;
        }
    }
    // An assertion may speak of more than the run says.
    let replayed = palisade_machine::replay(program, &start, &actions).ok()?;
    replayed.violation?;
    Some(Witness { start, actions })
}

/// The cells that a step may have stored to, outside of atomic blocks.
fn stored(program: &Program, instances: &[Instance], action: &Action) -> Vec<Cell> {
    let ActionKind::Step { edge, .. } = &action.kind else {
        return Vec::new();
    };
    let template = program.template(instances[action.thread].template);
    let Step::Store { dst, .. } = &template.cfg.edge(*edge).step else {
        return Vec::new();
    };
    let count = match dst.index {
        Some(_) => program.global(dst.var).cell_count() as u32,
        None => 1,
    };
    (0..count).map(|i| program.cell(dst.var, i)).collect()
}
