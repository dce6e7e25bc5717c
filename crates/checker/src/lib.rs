//! Search of abstract state spaces.
//!
//! | file | term |
//! |---|---|
//! | [`search`] | 3-valued explicit search, breadth first, with covering |

pub mod search;
