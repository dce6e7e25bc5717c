//! Predicate abstraction: from a program under SC (original or reduced) and a
//! set of predicates to abstract transformers, and to Boolean programs.
//!
//! | file | term |
//! |---|---|
//! | [`finite`] | variables with few values |
//! | [`space`] | threads, variables, explicit control against data |
//! | [`command`] | edges as guarded parallel assignments |
//! | [`bad`] | states that violate a property |
//! | [`predicates`] | the table of predicates, cone of influence |
//! | [`valuation`] | 3-valued valuations as bit masks |
//! | [`transformer`] | the interface of the strategies |
//! | [`lazy`] | the strategy that asks only about what the search meets |

pub mod bad;
pub mod command;
pub mod finite;
pub mod lazy;
pub mod predicates;
pub mod space;
pub mod transformer;
pub mod valuation;
