//! *Linearizability* of data structures: whether calls of many threads always look as
//! if they had happened one at a time, in an order that respects which call ended
//! before which began.
//!
//! Two sides. The concrete side runs the program within bounds (threads, calls, nodes)
//! in all interleavings, and finds histories that no order explains; it knows nothing
//! of commit points. It also checks given commit points, and searches for some.
//!
//! | file | term |
//! |---|---|
//! | [`options`] | bounds and memory management |
//! | `value`, `state` | memory, nodes, states |
//! | `code`, `step` | bodies prepared for running; what one step does |
//! | `returns` | calls that can never return |
//! | `spec` | states of the specification |
//! | `track` | all ways in which calls can have taken effect so far |
//! | [`machine`] | moves of threads |
//! | `buffer`, `flush` | store buffers; how steps and memory use them |
//! | `canonical` | states up to renaming |
//! | [`explore`](mod@explore) | the search |
//! | [`stages`] | searches with more and more calls |
//! | [`witness`], `history` | the run that was found, run again; its history, checked again |
//! | [`timeline`] | a witness as text |
//! | [`points`] | where calls can be said to take effect |
//! | [`prove`], [`sets`], [`lockstep`] | proofs for any number of threads: lists, sets, objects without lists |
//! | [`robust`] | programs for which buffers make no difference |
//! | [`fences`] | where fences may stand |
//! | [`mod@check`] | search, commit points and proof: the verdict |

mod buffer;
mod canonical;
pub mod check;
mod code;
pub mod explore;
pub mod fences;
mod flush;
mod history;
pub mod lockstep;
pub mod machine;
pub mod options;
pub mod points;
pub mod prove;
mod returns;
pub mod robust;
pub mod sets;
mod spec;
pub mod stages;
mod state;
pub mod step;
pub mod timeline;
pub mod track;
mod value;
pub mod witness;

pub use explore::{Failure, Found, Search, Stop, check_commits, explore};
pub use machine::{Bound, Wrong};
pub use options::{Buffers, Options, Reclaim};
pub use witness::Witness;
