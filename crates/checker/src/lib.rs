//! Search of abstract state spaces.
//!
//! | file | term |
//! |---|---|
//! | [`search`] | 3-valued explicit search, breadth first, with covering |
//! | [`views`] | any number of threads, seen a few at a time |

pub mod search;
pub mod views;
