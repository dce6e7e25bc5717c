//! *Calls that can never return*: a method that keeps its lock leaves others waiting for ever.
//! That is no violation of linearizability, which says nothing of calls that are pending, so
//! it is a note. All runs of a few calls are looked at as a graph: a call in a
//! state from which no state without pending calls can be reached never returns, whatever
//! the scheduler does. What bounds have cut off may return.

use std::collections::{HashMap, VecDeque};

use palisade_program::heap::Program;

use crate::canonical::canonical;
use crate::explore::Failure;
use crate::machine::{End, Machine};
use crate::options::Options;
use crate::state::State;
use crate::track::Mode;

/// Threads, calls and states of the runs that are looked at.
const THREADS: u32 = 2;
const CALLS: u32 = 3;
const STATES: usize = 20_000;

/// What is said of a call that can never return, if there is one.
pub(crate) fn never(program: &Program, options: &Options) -> Result<Option<String>, Failure> {
    let options = Options {
        threads: options.threads.min(THREADS),
        calls: options.calls.min(CALLS),
        max_states: STATES,
        // With reductions a call that waits at once does not begin.
        reduce: false,
        ..options.clone()
    };
    let machine = Machine::new(program, &options, Mode::Any);
    Ok(Graph::of(&machine)?
        .stuck()
        .map(|state| described(program, &machine, state)))
}

/// All states, with the states before each.
struct Graph {
    states: Vec<State>,
    before: Vec<Vec<u32>>,
    /// States that have more successors than are known.
    cut: Vec<u32>,
}

impl Graph {
    /// The states of all runs, up to bounds.
    fn of(machine: &Machine<'_>) -> Result<Self, Failure> {
        let mut known: HashMap<Box<[u8]>, u32> = HashMap::new();
        let mut graph = Self {
            states: Vec::new(),
            before: Vec::new(),
            cut: Vec::new(),
        };
        let mut open = VecDeque::new();
        let mut add = |graph: &mut Self, state: &State, open: &mut VecDeque<u32>| {
            let (form, key) = canonical(state, machine.renaming);
            let next = graph.states.len() as u32;
            let number = *known.entry(key).or_insert(next);
            if number == next {
                graph.states.push(form);
                graph.before.push(Vec::new());
                open.push_back(number);
            }
            number
        };
        for end in machine.initial()? {
            if let End::State(state) = end {
                add(&mut graph, &state, &mut open);
            }
        }
        while let Some(number) = open.pop_front() {
            if graph.states.len() > STATES {
                graph.cut.push(number);
                continue;
            }
            machine.touched.borrow_mut().clear();
            let state = graph.states[number as usize].clone();
            for step in machine.moves(&state)? {
                if let End::State(next) = step.end {
                    let next = add(&mut graph, &next, &mut open);
                    graph.before[next as usize].push(number);
                }
            }
            if !machine.touched.borrow().is_empty() {
                graph.cut.push(number);
            }
        }
        Ok(graph)
    }

    /// The first state from which some call never returns.
    fn stuck(&self) -> Option<&State> {
        let is_quiet = |state: &State| state.threads.iter().all(Option::is_none);
        let quiet = (0..self.states.len() as u32).filter(|n| is_quiet(&self.states[*n as usize]));
        let mut open: Vec<u32> = quiet.chain(self.cut.iter().copied()).collect();
        let mut returns = vec![false; self.states.len()];
        for number in &open {
            returns[*number as usize] = true;
        }
        while let Some(number) = open.pop() {
            for before in &self.before[number as usize] {
                if !std::mem::replace(&mut returns[*before as usize], true) {
                    open.push(*before);
                }
            }
        }
        let first = returns.iter().position(|returns| !returns)?;
        Some(&self.states[first])
    }
}

/// The calls that are pending in a state, and where they are.
fn described(program: &Program, machine: &Machine<'_>, state: &State) -> String {
    let pending = state.threads.iter().flatten().map(|frame| {
        let method = &program.methods[frame.method];
        let code = machine.code(frame.method);
        let edge = code
            .leaving(frame.at)
            .first()
            .map(|e| &method.body.edges[*e]);
        let line = edge.map(|edge| program.source.position(edge.span.start).line);
        match line {
            Some(line) => format!("`{}` (line {line})", method.name),
            None => format!("`{}`", method.name),
        }
    });
    let pending: Vec<String> = pending.collect();
    format!(
        "a call can never return: {} waits for ever in a run of {} calls",
        pending.join(" or "),
        machine.options.calls
    )
}
