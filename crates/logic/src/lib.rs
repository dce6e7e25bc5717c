//! Linear integer logic: terms and formulas in normal form, solver sessions
//! over Z3, models, cores and interpolants.
//!
//! The engines above (abstraction, certificates, refinement) build
//! [`Formula`]s over [`Var`]s that they number themselves, and ask a
//! [`Prover`]. Terms and formulas are plain data (`Send`); everything of Z3
//! stays inside the prover, which belongs to one thread. This crate knows
//! nothing of threads, memory models or control flow of the program that is
//! verified.
//!
//! ```
//! use palisade_logic::{Answer, Cluster, Formula, Options, Prover, Purpose, Term, Var};
//!
//! let (x, y) = (Term::var(Var(0)), Term::var(Var(1)));
//! let mut prover = Prover::new(Options::default());
//! let below = prover.literal(&Formula::lt(&x, &y)?);
//! let equal = prover.literal(&Formula::eq(&x, &y)?);
//! assert_eq!(prover.literal(&Formula::le(&y, &x)?), !below, "one atom, two literals");
//! let answer = prover.check(Cluster(0), &[below, equal], Purpose::Other);
//! assert_eq!(answer, Answer::Unsat(vec![0, 1]));
//! assert_eq!(prover.check(Cluster(0), &[!below, !equal], Purpose::Other), Answer::Sat);
//! # Ok::<(), palisade_logic::Overflow>(())
//! ```
//!
//! | file | term |
//! |---|---|
//! | `names` | variables and their names |
//! | [`term`] | linear normal form |
//! | [`atom`] | normal form of atoms, literals |
//! | `formula` | formulas in negation normal form |
//! | `eval`, [`substitute`], `display` | evaluation, substitution and weakest preconditions, printing |
//! | [`tidy`] | pairs of inequalities become equations |
//! | [`lower`] | from the Program's expressions |
//! | `literals` | formulas as numbers |
//! | [`limits`], [`stats`] | what bounds a query, what is counted |
//! | [`prover`] | what engines ask; a pool of solver sessions, one per cluster of queries |
//! | `memo`, `difference`, `form`, `refutation` | what answers before the solver does |
//! | [`interpolate`] | sequence interpolants: from Spacer, or by projection |

// A new kind of step must be thought of in every place that tells steps apart.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod atom;
mod decode;
mod difference;
mod display;
mod encode;
mod eval;
mod form;
mod formula;
pub mod interpolate;
pub mod limits;
mod literals;
pub mod lower;
mod memo;
mod names;
mod project;
pub mod prover;
mod refutation;
mod session;
mod spacer;
pub mod stats;
pub mod substitute;
pub mod term;
pub mod tidy;

pub use atom::{Atom, Literal, Relation};
pub use eval::Assignment;
pub use formula::Formula;
pub use interpolate::{InterpolateError, Method};
pub use limits::{Limits, Reason};
pub use literals::Lit;
pub use lower::LowerError;
pub use names::{Names, Numbered, Var};
pub use prover::{Answer, Cluster, Options, Outcome, Prover};
pub use stats::{Purpose, SolverStats};
pub use substitute::Substitution;
pub use term::{Int, Key, Overflow, Term};
pub use tidy::tidy_atoms;
