//! *Memory orders* under RC11: the weakest orders and the fewest fences with which a program
//! satisfies its properties. Not fences alone are placed: each atomic access chooses its order.
//!
//! | file | term |
//! |---|---|
//! | [`level`] | the orders of an access or fence, as a partial order |
//! | [`text`] | where an order is written, and how it is changed |
//! | [`cost`] | what orders cost |
//! | [`plan`] | decisions, placements, and the program with a placement |
//! | [`mod@search`] | clauses from bugs, the cheapest placement, its proof |
//! | [`mod@repair`] | search, patch and final proof: the verdict |

pub mod cost;
pub mod level;
pub mod plan;
pub mod repair;
pub mod search;
pub mod text;

pub use cost::Rule;
pub use level::{Carrier, Strength};
pub use plan::{Decision, Plan, Spot, Start};
pub use repair::{Repaired, repair};
pub use search::{End, Outcome, search};
pub use text::Words;
