//! The loop that decides a program: abstract, check, simulate, refine; then
//! evidence. `holds` comes with an inductive invariant that `palisade-certify`
//! has checked; `violated` with a trace that `palisade-machine` has run.
//!
//! | file | term |
//! |---|---|
//! | [`options`] | options, statistics, the report |
//! | [`driver`] | what is searched, and the verdict |
//! | `direct` | stores that need no buffer get none |
//! | `forget` | a proof that does without some variables (RMA) |
//! | [`many`] | any number of threads |
//! | `pool` | predicates of templates |
//! | `plan` | the searches of a verification, one after another |
//! | [`given`] | one search with exactly the given predicates |
//! | [`threads`] | numbers of copies |
//! | [`timed`] | what a strategy's work takes |
//! | [`seeds`] | predicates to start with |
//! | [`lift`] | a proof under SC, lifted to TSO and PSO |
//! | [`strengthen`] | a more precise proof under SC |
//! | [`elsewhere`] | a run under SC, under another model |
//! | [`hunt`] | short searches of the machine for bugs |
//! | [`knowledge`] | what one verification leaves for the next |
//! | [`engine`] | the CEGAR loop |
//! | [`simulate`] | is an abstract counterexample a run? |
//! | [`refine`] | new predicates from an infeasible path |
//! | [`parameterised`] | predicates along the copies of variables |
//! | [`transitions`] | sharper abstract steps instead of predicates |
//! | [`divergence`] | data-driven predicates |
//! | [`evidence`] | replay and certificates |
//! | [`invariant`] | from reached states to a certificate |

mod blame;
mod direct;
pub mod divergence;
pub mod driver;
pub mod elsewhere;
pub mod engine;
pub mod evidence;
mod forget;
pub mod given;
pub mod hunt;
pub mod invariant;
pub mod joins;
pub mod knowledge;
pub mod lift;
pub mod many;
pub mod options;
pub mod parameterised;
mod plan;
mod pool;
pub mod refine;
pub mod seeds;
pub mod simulate;
pub mod strengthen;
pub mod threads;
pub mod timed;
pub mod transitions;
mod undisturbed;

pub use driver::{verify, verify_with};
pub use given::check_given;
pub use joins::waits_for_all;
pub use knowledge::Knowledge;
pub use options::{
    Buffers, Extrapolate, Keep, Options, Progress, Promote, Report, Sharing, Sizes, Stats, Strategy,
};
pub use plan::{ABSTRACT, SETS, cell_values, stored_values};
pub use threads::{Threads, with_joins, with_threads};
