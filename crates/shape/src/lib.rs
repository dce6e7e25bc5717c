//! Shape analysis by 3-valued logic and canonical abstraction.
//!
//! `palisade-shape` reads TVLA's languages (TVP, TVM, TVS), computes the set of 3-valued
//! structures that can arise at each location, and says whether the model's messages can be
//! given. Paper: [Friggens and Groves, arXiv 2015] ("Collapsing Threads Safely with Soft Invariants").
//!
//! | step | module |
//! |---|---|
//! | input | [`syntax`], `states` to a [`model`] |
//! | values, structures, formulas | [`kleene`], [`vocabulary`], [`structure`], [`formula`], [`eval`] |
//! | an action | [`transfer`]: [`focus`], [`coerce`] (by `rules`), `update` (with differencing), [`blur`] |
//! | the set of structures | [`engine`] with a [`join`] |
//! | the second account | [`naive`], [`concrete`], [`worlds`], [`explore`], `confirm` |
//! | output | [`verdict`], [`report`], [`mod@print`], [`draw`] |

mod action;
pub mod analysis;
mod bindings;
pub mod blur;
mod clause;
mod closure;
pub mod coerce;
mod compile;
pub mod concrete;
mod confirm;
mod differencing;
pub mod draw;
pub mod engine;
pub mod eval;
pub mod explore;
mod flat;
pub mod focus;
pub mod formula;
pub mod isomorphism;
pub mod join;
pub mod kleene;
pub mod model;
pub mod naive;
pub mod print;
pub mod properties;
mod query;
pub mod report;
mod rows;
mod rules;
mod scope;
mod states;
pub mod structure;
pub mod syntax;
mod table;
mod toward;
pub mod transfer;
mod update;
pub mod verdict;
pub mod vocabulary;
pub mod worlds;
