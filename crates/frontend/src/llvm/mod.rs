//! Programs as *LLVM's text*: what a compiler makes of a source, read back. The compiler does generics,
//! traits, closures and layouts; this front end executes what is the same in all runs ahead
//! and keeps what threads do to shared memory.
//!
//! | file | term |
//! |---|---|
//! | `ir`, `cursor`, `parse` | modules, and how they are read |
//! | `debug` | places, names and types of the source |
//! | `arith` | machine words as expressions |
//! | `values` | what is known of numbers |
//! | `world`, `memory`, `state` | objects and cells; private memory; a thread |
//! | `analysis`, `merge` | what is dead, and where paths meet |
//! | `engine`, `access`, `spread`, `call`, `thread` | execution: instructions, memory, calls, threads |
//! | `finish` | the Program |

mod access;
mod analysis;
mod arith;
mod call;
mod cursor;
mod debug;
mod engine;
mod finish;
mod ir;
mod memory;
mod merge;
mod parse;
mod spread;
mod state;
mod thread;
mod values;
mod world;

pub(crate) use ir::Module;
pub(crate) use parse::parse;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use palisade_program::{LocId, Orders, Program, Span};

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

/// The Program whose `main` is the function `entry`. `spans` finds the places of the user's files.
pub(crate) fn lower(
    modules: &[Module],
    entry: &str,
    spans: &dyn Fn(&str, u32, u32) -> Option<Span>,
    line: &dyn Fn(Span) -> u32,
    orders: Orders,
) -> Result<Program, Refusal> {
    let mut world = World::new(modules);
    let mut liveness = BTreeMap::new();
    let debug = modules.iter().map(Debug::new).collect();
    let places = Places { debug, spans, line };
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
                settings: Settings { orders },
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
            return finish::program(&mut world, &places, threads, orders, weak_loads);
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
