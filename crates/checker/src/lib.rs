//! Search of abstract state spaces.
//!
//! | file | term |
//! |---|---|
//! | [`broadcast`] | explicit search of Boolean broadcast programs |
//! | [`search`] | 3-valued explicit search, breadth first, with covering |

pub mod broadcast;
pub mod search;
