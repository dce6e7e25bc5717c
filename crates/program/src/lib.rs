//! The *Program*: what every front end produces and every engine reads.
//!
//! Threads are control-flow graphs over mathematical integers. Accesses of
//! shared memory are steps of their own ([`Step::Load`], [`Step::Store`], ...),
//! so that SC, TSO, PSO, RMA and RC11 see the same events; expressions in steps range
//! over thread-local variables only. This crate holds data and pure views of it
//! (printing, liveness, symmetry); it knows nothing of any memory model, of
//! solvers, or of source languages.
//!
//! | file | term |
//! |---|---|
//! | `source` | source text, spans, line and column |
//! | [`unbuffered`] | stores that reach memory at once |
//! | `uninitialised` | memory that is read before it is written |
//! | [`expr`] | integer expressions, generic in what their atoms are |
//! | `wrap` | wrapping to a width by cases |
//! | [`projection`] | the program without what some variables hold |
//! | [`gap`] | places between statements |
//! | [`heap`] | data structures as code: nodes, methods, specifications (for linearizability) |
//! | `ids` | index types |
//! | [`mod@cfg`] | steps, edges, control-flow graphs, atomic blocks |
//! | [`property`] | `never`, `finally`, hints |
//! | [`random`] | random numbers, the same every time |
//! | [`remote`] | remote atomic operations |
//! | `program` | variables, templates, the whole program |
//! | [`liveness`] | which locals matter at a location |
//! | `order` | memory orders of C11 |
//! | `memory_error` | what may not be done with memory |
//! | [`named`] | `self` as a local variable |
//! | `names` | what people call things, for reports |
//! | [`symmetry`] | which copies of a template are interchangeable |
//! | [`mod@print`] | steps and properties as text |
//! | `action` | the steps of a run, by name |
//! | `vacuity` | what no run gets to |
//! | `verdict` | verdicts, traces, names of the memory models |

// A new kind of step must be thought of in every place that tells steps apart.
#![warn(clippy::wildcard_enum_match_arm)]

mod action;
mod asked;
pub mod cfg;
mod deadlock;
pub mod expr;
pub mod gap;
pub mod heap;
mod ids;
pub mod liveness;
mod memory_error;
pub mod named;
mod names;
mod order;
pub mod presence;
pub mod print;
mod program;
pub mod projection;
pub mod property;
pub mod random;
pub mod remote;
pub mod shift;
mod source;
mod status;
pub mod symmetry;
pub mod unbuffered;
mod uninitialised;
mod vacuity;
mod verdict;
mod wrap;

pub use action::{Action, ActionKind, BlockStep};
pub use asked::{Asked, Assumption};
pub use cfg::{
    AssertKind, Atomic, AtomicKind, Cfg, CfgBuilder, Edge, FenceKind, FlushTarget, Place, Step,
};
pub use deadlock::{Life, Stuck};
pub use expr::{BinOp, EvalError, Expr, UnOp};
pub use gap::{FlushWords, Gap, Head, Side};
pub use ids::{
    Cell, EdgeId, FieldId, GlobalId, LocId, LocalId, MethodId, SharedId, StructId, TemplateId,
    ThreadVarId,
};
pub use memory_error::MemoryError;
pub use names::Names;
pub use order::{Order, Orders};
pub use program::{
    Count, Domain, Global, Home, Init, Instance, Label, Local, LocalAtom, LocalExpr, Origin,
    Program, Role, Template,
};
pub use property::{Hint, Pick, PropAtom, PropExpr, Property, PropertyKind, ThreadVar};
pub use remote::{Change, Operand, RemoteAtomic, RemoteOp};
pub use source::{LineColumn, Source, Span};
pub use uninitialised::{Chosen, FREED, OPAQUE, UNINITIALISED};
pub use vacuity::Vacuous;
pub use verdict::{
    Bound, Broken, BufferName, Event, Model, SearchBound, Standing, Trace, TraceStep, Unknown,
    Verdict, Violation, listed,
};
