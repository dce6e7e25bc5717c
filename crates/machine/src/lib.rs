//! The *concrete machine*: the operational semantics of SC, x86-TSO, PSO, RMA and RC11
//! (docs/memory-models.md) for programs as written, before any reduction or
//! abstraction. It is the oracle of the pipeline: [`explore()`] searches all runs
//! within bounds, [`replay()`] runs the counterexamples of other engines. It knows
//! nothing of `crates/memory` and `crates/certify`: three independent accounts
//! of the same models.
//!
//! | file | term |
//! |---|---|
//! | `options`, `initial` | what to explore, bounds, results |
//! | `machine`, `code` | a program compiled for a model |
//! | `state`, `pack` | states, and states as bytes |
//! | `step`, `block`, `expand` | one step, atomic blocks, all steps |
//! | `remote` | remote atomic operations |
//! | `rc11` | the memory of RC11: histories, views, the SC order |
//! | `property` | `never` and `finally` |
//! | `partial_order`, `canonical`, `shift` | the reductions of the search |
//! | `store`, `visit`, `sight`, `search` | visited states, breadth-first search |
//! | `external`, `runs`, `storage`, `checkpoint` | the loop over levels, states on disk, checkpoints |
//! | `network` | what several processes that search together need of each other |
//! | `shortest` | the trace of a violation |
//! | `random_schedule` | random schedules |
//! | `mod@replay`, `trace` | runs by name, and as evidence |

// A new kind of step must be thought of in every place that tells steps apart.
#![warn(clippy::wildcard_enum_match_arm)]

mod block;
mod canonical;
mod checkpoint;
mod code;
mod delay;
mod expand;
mod explore;
mod external;
mod initial;
mod machine;
mod network;
mod options;
mod pack;
mod partial_order;
mod progress;
mod property;
mod random_schedule;
mod rc11;
mod remote;
mod replay;
mod runs;
mod search;
mod shift;
mod shortest;
mod sight;
mod state;
mod step;
mod storage;
mod store;
mod trace;
mod visit;

pub use explore::{explore, explore_choosing, explore_choosing_in};
pub use network::{Alone, Lost, Network};
pub use options::{Bound, Bounds, Exploration, Final, Options, Stats, Unsupported};
pub use palisade_program::{Action, ActionKind, BlockStep};
pub use random_schedule::{Random, random_schedules};
pub use rc11::Summary;
pub use replay::{
    Refused, ReplayError, Replayed, Start, ThreadStep, Witness, replay, replay_deepest,
    replay_guided, replay_threads,
};
pub use storage::{Storage, StorageError};

/// A number for a text, the same in all processes of a version: not for security.
pub fn digest(text: &str) -> u64 {
    pack::hash(text.as_bytes())
}
