//! Search of abstract state spaces.
//!
//! | file | term |
//! |---|---|
//! | [`broadcast`] | explicit search of Boolean broadcast programs |
//! | [`search`] | 3-valued explicit search, breadth first, with covering |
//! | [`views`] | any number of threads, seen a few at a time |

pub mod broadcast;
pub mod search;
pub mod views;
