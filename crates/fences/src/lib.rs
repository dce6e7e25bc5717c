//! *Fence synthesis* [Abdulla et al., SAS 2012, section 7]: the cheapest set of
//! fences with which a program satisfies its properties under TSO or PSO, or of flushes
//! under RMA [Baumann et al., VMCAI 2018, section 5.1], proved by `palisade-verify`, and the patch of the
//! source text that puts them in.
//!
//! The program comes with a `fence?` edge at every place where a fence may go (a
//! front end's [`Gap`](palisade_program::Gap)s). A placement switches some of
//! these edges to real fences and changes nothing else, so that edges, locations
//! and variables are the same in all placements of one program: runs of one can be
//! replayed on another.
//!
//! | file | term |
//! |---|---|
//! | [`site`] | places for fences, and which of them can matter |
//! | [`twins`] | identical threads, which get the same fences |
//! | [`plan`] | levels, placements, and the program with a placement |
//! | [`cost`] | what fences cost |
//! | [`hitting_set`] | the cheapest placement that satisfies all clauses |
//! | [`clause`] | from a run of a bug to the places of which one needs a fence |
//! | [`mod@synthesize`] | the loop |
//! | `rerun` | bugs that are found without a search |
//! | `easiest` | of placements that cost the same, one that is proved soon |
//! | [`paper`] | [Abdulla et al., SAS 2012]'s own way, for comparison |
//! | [`removal`] | [Baumann et al., VMCAI 2018]'s own way, for flushes |
//! | [`mod@repair`] | synthesis, patch and final proof: the verdict |
//! | [`completion`] | flushes, fences and quiets that end remote races |
//! | [`patch`], [`diff`] | the fences as changes of the source |
//! | [`orders`] | memory orders and fences of C11, under RC11 |

// A new kind of step must be thought of in every place that tells steps apart.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod clause;
pub mod completion;
pub mod cost;
pub mod diff;
mod easiest;
pub mod hitting_set;
pub mod orders;
pub mod paper;
pub mod patch;
pub mod plan;
pub mod removal;
pub mod repair;
mod rerun;
pub mod site;
pub mod synthesize;
pub mod twins;

pub use cost::{Cost, Costs, Rule};
pub use patch::Spelling;
pub use plan::{Level, Placement, Plan};
pub use repair::{Language, Repaired, nouns, repair};
pub use site::{Site, sites, useful};
pub use synthesize::{End, Options, Outcome, Progress, Repair, Search, synthesize};
