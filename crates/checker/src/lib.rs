//! Search of abstract state spaces.
//!
//! | file | term |
//! |---|---|
//! | [`search`] | 3-valued explicit search, breadth first, with covering |
//! | `cover` | coverage by several states together |
//! | [`views`] | any number of threads, seen a few at a time |

// A new kind of step must be thought of in every place that tells steps apart.
#![warn(clippy::wildcard_enum_match_arm)]

mod cover;
pub mod search;
pub mod views;
