//! Predicate abstraction: from a program under SC (original or reduced) and a
//! set of predicates to abstract transformers.
//!
//! | file | term |
//! |---|---|
//! | [`finite`] | variables with few values |
//! | [`growth`] | whether values grow without end |
//! | [`space`] | threads, variables, explicit control against data |
//! | `interior` | locations where a thread need not be interrupted |
//! | [`command`] | edges as guarded parallel assignments |
//! | [`bad`] | states that violate a property |
//! | [`predicates`] | the table of predicates, cone of influence |
//! | [`hints`] | the predicates that the user gives |
//! | [`congruence`] | predicates `x % m == r` of variables that grow by steps |
//! | [`valuation`] | 3-valued valuations as bit masks |
//! | [`renaming`] | threads, variables and predicates of one space in another |
//! | [`transformer`] | the interface of the strategies |
//! | [`lazy`] | the strategy that asks only about what the search meets |
//! | [`posts`] | what it remembers beyond one search |
//! | [`affected`] | which predicates a branch affects |
//! | [`cubes`] | cubes, covers, what is asked about them |
//! | [`enumerate`], [`cores`] | two ways to find cubes |
//! | [`tables`] | the strategies that build tables of cubes |
//! | [`extrapolate`] | predicates and cubes of the SC proof, lifted to buffers |

// A new kind of step must be thought of in every place that tells steps apart.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod affected;
pub mod bad;
pub mod command;
pub mod congruence;
pub mod cores;
pub mod cubes;
pub mod enumerate;
pub mod extrapolate;
pub mod finite;
pub mod growth;
pub mod hints;
mod interior;
pub mod lazy;
pub mod posts;
pub mod predicates;
pub mod renaming;
pub mod space;
pub mod tables;
pub mod transformer;
pub mod valuation;
