//! Certificates made of reachable states: which variables are explicit is a
//! choice, the others are described exactly by equations.

use super::interpret::State;
use palisade_certify::*;
use palisade_logic::{Formula, Term};
use palisade_program::liveness::Liveness;
use palisade_program::*;
use std::collections::BTreeMap;

/// The state variables that exist in `state`, with their values.
pub(crate) fn valuation(model: Model, state: &State) -> Vec<(StateVar, i64)> {
    let mut all: Vec<(StateVar, i64)> = Vec::new();
    for (i, value) in state.cells.iter().enumerate() {
        all.push((StateVar::Cell(Cell::from(i)), *value));
    }
    for (thread, locals) in state.locals.iter().enumerate() {
        let thread = thread as u32;
        for (i, value) in locals.iter().enumerate() {
            let local = LocalId::from(i);
            all.push((StateVar::Local { thread, local }, *value));
        }
        let mut seen: BTreeMap<Cell, u32> = BTreeMap::new();
        for (i, (_, cell, value)) in state.buffers[thread as usize].iter().enumerate() {
            let of_cell = seen.entry(*cell).or_default();
            let slot = if model == Model::Pso {
                StateVar::CellSlot {
                    thread,
                    cell: *cell,
                    position: *of_cell,
                }
            } else {
                StateVar::Slot {
                    thread,
                    position: i as u32,
                }
            };
            *of_cell += 1;
            all.push((slot, *value));
        }
    }
    all
}

pub(crate) fn shapes(state: &State) -> Vec<Buffer> {
    let threads = state.buffers.iter().zip(&state.epochs);
    threads
        .map(|(buffer, next)| {
            let mut items = Vec::new();
            let mut last = None;
            for (epoch, cell, _) in buffer {
                if last.is_some_and(|l| l != *epoch) {
                    items.push(Item::Fence);
                }
                items.push(Item::Store(*cell));
                last = Some(*epoch);
            }
            if last.is_some_and(|l| l != *next) {
                items.push(Item::Fence);
            }
            Buffer::exact(items)
        })
        .collect()
}

/// The certificate whose invariant is exactly `states`; variables for which
/// `is_explicit` holds are explicit.
pub(crate) fn exact(
    program: &Program,
    model: Model,
    threads: u32,
    states: impl IntoIterator<Item = State>,
    is_explicit: impl Fn(StateVar) -> bool,
) -> Certificate {
    exact_live(program, model, threads, states, is_explicit, false)
}

/// As [`exact`]; with `forget`, dead locals may have any value.
pub(crate) fn exact_live(
    program: &Program,
    model: Model,
    threads: u32,
    states: impl IntoIterator<Item = State>,
    is_explicit: impl Fn(StateVar) -> bool,
    forget: bool,
) -> Certificate {
    let states: Vec<State> = states.into_iter().collect();
    let instances = program.instances(threads);
    let live: Vec<Liveness> = instances
        .iter()
        .map(|i| Liveness::of(program, i.template))
        .collect();
    let is_dead = |state: &State, var: StateVar| match var {
        StateVar::Local { thread, local } => {
            let t = thread as usize;
            forget && !live[t].is_live(state.locs[t], local)
        }
        StateVar::Cell(_) | StateVar::Slot { .. } | StateVar::CellSlot { .. } => false,
        StateVar::Last { .. } | StateVar::Low { .. } => false,
        StateVar::Carried { .. } | StateVar::Element { .. } => false,
        StateVar::Number { .. } => false,
    };
    let mut explicit: Vec<StateVar> = states
        .iter()
        .flat_map(|s| valuation(model, s))
        .map(|(v, _)| v)
        .filter(|v| is_explicit(*v))
        .collect();
    explicit.sort_unstable();
    explicit.dedup();
    let mut atoms: BTreeMap<(StateVar, i64), u32> = BTreeMap::new();
    let mut entries: BTreeMap<Control, Vec<Cube>> = BTreeMap::new();
    for state in &states {
        let all = valuation(model, state);
        let values = explicit.iter().map(|v| {
            let found = all.iter().find(|(own, _)| own == v);
            found.filter(|_| !is_dead(state, *v)).map(|f| f.1)
        });
        let control = Control {
            locs: state.locs.clone(),
            buffers: shapes(state),
            values: values.collect(),
        };
        let data = all
            .iter()
            .filter(|(v, _)| !explicit.contains(v) && !is_dead(state, *v));
        let cube = data.map(|(v, value)| {
            let next = atoms.len() as u32;
            (*atoms.entry((*v, *value)).or_insert(next), true)
        });
        let cube = Cube(cube.collect());
        let cubes = entries.entry(control).or_default();
        if !cubes.contains(&cube) {
            cubes.push(cube);
        }
    }
    let mut table = vec![Formula::True; atoms.len()];
    for ((var, value), number) in atoms {
        let var = Term::var(var.var().expect("small"));
        table[number as usize] = Formula::eq(&var, &Term::constant(value)).expect("small");
    }
    Certificate {
        fingerprint: Fingerprint::of(program, model, threads),
        kind: Kind::Inductive,
        model,
        threads,
        unbuffered: Vec::new(),
        forgotten: Vec::new(),
        present: Vec::new(),
        interference_free: Vec::new(),
        beyond: None,
        explicit,
        atoms: table,
        entries: entries
            .into_iter()
            .map(|(control, cubes)| Entry { control, cubes })
            .collect(),
    }
}
