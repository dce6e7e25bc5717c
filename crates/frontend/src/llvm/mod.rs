//! Programs as *LLVM's text*: what a compiler makes of a source, read back. The compiler does generics,
//! traits, closures and layouts; this front end executes what is the same in all runs ahead
//! and keeps what threads do to shared memory.
//!
//! | file | term |
//! |---|---|
//! | `ir`, `cursor`, `parse`, `parse_inst` | modules, and how they are read |
//! | `debug` | places, names and types of the source |
//! | `arith`, `division`, `overflow` | machine words as expressions |
//! | `values` | what is known of numbers |
//! | `world`, `memory`, `state` | objects and cells; private memory; a thread |
//! | `analysis`, `merge` | what is dead, and where paths meet |
//! | `engine`, `operand`, `instruction` | execution: paths, numbers, instructions |
//! | `access`, `spread`, `update`, `block` | memory: cells, arrays, read-modify-writes, bytes |
//! | `call`, `known`, `growth`, `thread` | calls, functions known by name, vectors, threads |
//! | `finish` | the Program |

// What executes instructions has one shape: a method with the state that may fail.
#![allow(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value
)]
// Numbers of locals and allocations are looked for until one is free.
#![allow(clippy::maybe_infinite_iter, clippy::needless_for_each)]

mod access;
mod analysis;
mod arith;
mod block;
mod call;
mod cursor;
mod debug;
mod division;
mod engine;
mod finish;
mod growth;
mod instruction;
mod ir;
mod known;
mod memory;
mod merge;
mod operand;
mod overflow;
mod parse;
mod parse_inst;
mod spread;
mod state;
mod thread;
mod update;
mod values;
mod world;

pub(crate) use ir::Module;
pub(crate) use parse::parse;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use palisade_program::{LocId, Orders, Program, Side, Span};

use crate::Stop;
use debug::Debug;
use engine::{Engine, Made, Places, Settings};
use state::{Frame, State, Value};
use world::World;

/// Executions until nothing new is found, at most.
const MOST_ROUNDS: usize = 200;

/// Why there is no Program: where, what, and what to do about it.
pub(crate) type Refusal = (Span, String, &'static str);

/// A finished thread.
struct Thread {
    edges: Vec<Made>,
    locs: u32,
    exit: LocId,
    locals: u32,
}

/// What is known of the text that the compiler has read.
pub(crate) struct Text<'a> {
    /// The place of a file, line and column, if the file is the user's.
    pub(crate) spans: &'a dyn Fn(&str, u32, u32) -> Option<Span>,
    /// The line of a span.
    pub(crate) line: &'a dyn Fn(Span) -> u32,
    /// Where a fence may stand beside the statement of an access.
    pub(crate) gap: &'a dyn Fn(Span, Side) -> Option<Span>,
}

/// The Program whose `main` is the function `entry`, and where memory is allocated that may be freed
/// while pointers to it are kept.
pub(crate) fn lower(
    modules: &[Module],
    entry: &str,
    text: &Text<'_>,
    orders: Orders,
    stop: &Stop,
) -> Result<(Program, Option<Span>), Refusal> {
    let mut world = World::new(modules);
    let mut liveness = BTreeMap::new();
    let debug = modules.iter().map(Debug::new).collect();
    let places = Places { debug, text };
    for _ in 0..MOST_ROUNDS {
        world.grown = false;
        world.initial.clear();
        world.planned.clear();
        let mut threads = BTreeMap::new();
        let mut weak_loads = false;
        let mut next = 0;
        loop {
            if next > 0 && !world.planned.contains(&next) {
                if next >= world.plans.len() {
                    break;
                }
                next += 1;
                continue;
            }
            let mut engine = Engine {
                world: &mut world,
                places: &places,
                liveness: &mut liveness,
                settings: Settings { orders, stop },
                thread: next,
                edges: Vec::new(),
                locs: 2,
                exit: LocId(1),
                here: LocId(0),
                untouched: next == 0,
                work: Vec::new(),
                variants: HashMap::new(),
                most_locals: 0,
                steps: 0,
                weak_loads: false,
            };
            let state = start(&mut engine, entry, next)?;
            engine.run(state)?;
            weak_loads |= engine.weak_loads;
            if let Some(refusal) = engine.world.refusal.take() {
                return Err(refusal);
            }
            let thread = Thread {
                edges: engine.edges,
                locs: engine.locs,
                exit: engine.exit,
                locals: engine.most_locals,
            };
            threads.insert(next, thread);
            next += 1;
        }
        if !world.grown {
            let program = finish::program(&mut world, &places, threads, orders, weak_loads)?;
            return Ok((program, finish::kept_after_free(&world)));
        }
    }
    Err((
        Span::default(),
        "unsupported: what the threads share does not come to an end".to_owned(),
        engine::SMALLER,
    ))
}

/// The first state of a thread.
fn start(engine: &mut Engine<'_, '_>, entry: &str, thread: usize) -> Result<State, Refusal> {
    let mut state = State {
        frames: Vec::new(),
        memory: BTreeMap::new(),
        heap: BTreeSet::new(),
        started: 0,
        spawned: BTreeSet::new(),
        destructors: Vec::new(),
        is_behind_model: false,
        prelude: thread == 0,
        known: BTreeMap::new(),
    };
    let (function, arguments) = if thread == 0 {
        (entry.to_owned(), Vec::new())
    } else {
        let plan = engine.world.plans[thread].clone();
        state.memory = thread::given_memory(&plan);
        if !plan.at_once {
            let flag = thread::started(thread);
            engine.await_flag(flag, palisade_program::LocalId(0), plan.span);
        }
        let argument = Value::Word(palisade_program::Expr::Const(plan.argument));
        (plan.function, vec![argument])
    };
    let Some(index) = engine.world.function_index(&function) else {
        let words = "a thread whose function has no code".to_owned();
        return Err((Span::default(), words, engine::SMALLER));
    };
    let parameters = &engine.world.function_at(index).parameters;
    let registers = parameters
        .iter()
        .map(|(_, reg)| *reg)
        .zip(arguments)
        .collect();
    state.frames.push(Frame {
        function: index,
        path: 0,
        block: 0,
        inst: 0,
        registers: Rc::new(registers),
    });
    Ok(state)
}

/// The functions of a module that have code.
pub(crate) fn function_names(module: &Module) -> impl Iterator<Item = &str> {
    module.functions.iter().map(|f| f.name.as_str())
}
