//! *Interference-free accesses* in a proof state by state: loads and stores at which a thread
//! need not be interrupted, since nobody else is at the same memory then (data that a lock
//! protects, results that a thread leaves behind): both-movers in Lipton's sense [Lipton,
//! CACM 1975]. With them a proof has far fewer states. `palisade-certify` has the rule and
//! the argument; here they are guessed.
//!
//! At first all loads and stores are thought to be free of interference but for those with
//! which random schedules see interference. The search with the others shows whether they
//! are: those that its invariant refutes are given up, and the search is made anew. The
//! schedules do not depend on the machine's speed or on chance: their seeds are the same
//! every time.

use std::collections::BTreeSet;

use palisade_abstraction::command::{Commands, End};
use palisade_abstraction::space::{Control, Space};
use palisade_certify::{AccessLoc, Disturbances, candidates, empty_buffers, stops_passing};
use palisade_logic::Formula;
use palisade_machine::Random;
use palisade_memory::reduced::Reduced;
use palisade_program::{Instance, Model, Program};

use crate::evidence::certificate::Translator;
use crate::portfolio::GUESSING;

/// The accesses with which no random schedule through `space` sees interference.
pub(crate) fn guessed(
    program: &Program,
    model: Model,
    space: &Space<'_>,
    translator: &Translator<'_>,
) -> Vec<AccessLoc> {
    let mut accesses = candidates(program, model);
    let everywhere: Vec<Vec<bool>> = space
        .threads
        .iter()
        .map(|t| vec![true; program.template(t.template).cfg.loc_count()])
        .collect();
    let mut commands = Commands::new(space);
    let Some(start) = space.initial_controls().into_iter().next() else {
        return accesses;
    };
    let (schedules, steps) = GUESSING;
    for seed in 0..schedules {
        if accesses.is_empty() {
            break;
        }
        let threads = &space.threads;
        let watch = Disturbances::new(program, model, threads, &accesses, &everywhere);
        let mut random = Random::new(seed);
        let mut seen = BTreeSet::new();
        let mut at = start.clone();
        for _ in 0..steps {
            seen.extend(watch.at(&translator.control(&at, &[])));
            match step(&mut commands, &at, &mut random) {
                Some(next) => at = next,
                None => break,
            }
        }
        accesses.retain(|access| !seen.contains(access));
    }
    accesses
}

/// Some state after `control`; `None` if there is none whose data is known.
fn step(commands: &mut Commands<'_>, control: &Control, random: &mut Random) -> Option<Control> {
    let space = commands.space();
    let mut ways = Vec::new();
    for thread in 0..control.pcs.len() {
        let cfg = &space.program.template(space.threads[thread].template).cfg;
        for (edge, _) in cfg.outgoing(control.pcs[thread]) {
            let branches = commands.execute(control, thread, edge).ok()?;
            ways.extend(branches.iter().copied());
        }
    }
    let possible = |branch: &palisade_abstraction::command::Branch| match branch.end {
        End::At(to) => (branch.guard == Formula::True).then_some(to),
        End::Failed(_) => None,
    };
    ways.retain(|way| possible(commands.branch(*way)).is_some());
    let way = ways.get(random.below(ways.len()))?;
    let branch = commands.branch(*way);
    let mut next = control.clone();
    next.pcs[branch.thread] = possible(branch)?;
    for &(position, value) in &branch.explicit {
        next.values[position] = value;
    }
    Some(next)
}

/// For each thread and location of the searched program whether the thread need not be
/// interrupted there.
pub(crate) fn interior(
    program: &Program,
    model: Model,
    threads: &[Instance],
    reduced: Option<&Reduced>,
    free: &[AccessLoc],
) -> Vec<Vec<bool>> {
    let stops = stops_passing(program, model, threads, free);
    let of = |(instance, stops): (&Instance, Vec<bool>)| match reduced {
        None => stops.iter().map(|stop| !stop).collect(),
        Some(reduced) => {
            let locs = &reduced.templates[instance.template.index()].locs;
            let mut interior: Vec<bool> = locs.iter().map(|loc| !stops[loc.index()]).collect();
            // A thread whose buffers are empty at its exit has ended there.
            let cfg = &program.template(instance.template).cfg;
            interior[cfg.exit.index()] = empty_buffers(cfg)[cfg.exit.index()];
            interior
        }
    };
    threads.iter().zip(stops).map(of).collect()
}
