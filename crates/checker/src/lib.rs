//! Search of abstract state spaces.
//!
//! | file | term |
//! |---|---|
//! | `boolean` | what one thread of a Boolean program can do |
//! | [`broadcast`] | plain explicit search of Boolean broadcast programs |
//! | [`counted`] | the same with threads counted, not named |
//! | [`cover`] | the same for any number of threads: backward coverability |
//! | [`search`] | 3-valued explicit search, breadth first, with covering |
//! | [`views`] | any number of threads, seen a few at a time |

mod boolean;
pub mod broadcast;
pub mod counted;
pub mod cover;
pub mod search;
pub mod views;
