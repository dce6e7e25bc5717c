//! *Abstract buffers* in certificates: invariants over store buffers of every
//! length [Abdulla et al., SAS 2012, section 4]. A certificate may say how many stores of a buffer
//! it speaks of exactly; the others it knows as a set of cells, for each the value
//! of the last store, and what is claimed of the values.
//!
//! **Meaning.** A state of the model matches a [`Buffer`](crate::Buffer) with cells
//! in `many` when its buffered stores are those of `items`, exactly, and besides, for
//! each cell c of `many` and for no other, one or more stores to c such that
//!
//! - the value of the last of them is [`StateVar::Last`](crate::StateVar::Last);
//! - *among V*: each value is in V;
//! - *rising*: the values ascend, and none is below
//!   [`StateVar::Low`](crate::StateVar::Low);
//! - with [`Keep::Newest`] they are older than the stores of `items`, with
//!   [`Keep::Oldest`] newer. Under PSO this is meant of the stores to one cell.
//!
//! Nothing is said of their number, nor of the order between different cells, nor
//! (PSO) of store-store fences among them.
//!
//! **Steps.** The steps of this crate are those of exact buffers, with two more
//! rules. Where the stores in `items` would become more than the certificate's
//! `cells` (PSO: of those to one cell), one of them is only known as one of `many`
//! afterwards: the oldest with `Newest`, the new one with `Oldest`, which is also
//! taken whenever `many` has stores that must stay older. That forgets something
//! and is therefore right if the claim is proved of the store: its value is in V, or
//! not below the last. It is the last of those to its cell, being newer than all.
//! And a store of `many` may leave: it is the only one to its cell, then its value
//! is `Last` and the cell leaves the set; or one of several, then it has some value
//! as claimed, and (rising) those that stay are not below it.

use palisade_program::{Cell, Model};

/// Which stores are known exactly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Keep {
    /// The newest.
    #[default]
    Newest,
    /// The oldest.
    Oldest,
}

/// What is claimed of the values of stores that are not known exactly.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum SummaryInvariant {
    /// Nothing.
    #[default]
    Any,
    /// They are among these.
    Among(Vec<i64>),
    /// They ascend.
    Rising,
}

/// How a certificate speaks of long buffers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferSummary {
    /// Stores of one buffer that are known exactly.
    pub cells: u32,
    /// The same of other buffers, by thread and, under PSO, cell. Knowing less is right at
    /// any time, so any number is right.
    pub sizes: Vec<(u32, Option<Cell>, u32)>,
    /// Which.
    pub keep: Keep,
    /// What is claimed of a thread's stores to a cell; of others nothing is.
    pub claims: Vec<(u32, Cell, SummaryInvariant)>,
    /// RMA: how many instances of a thread's operation have slots, by thread and operation;
    /// of others `cells` have. The instances are the same whichever of them have slots, so any
    /// number is right.
    pub slots: Vec<(u32, u32, u32)>,
}

impl BufferSummary {
    /// What is claimed of `thread`'s stores to `cell`.
    pub fn claim(&self, thread: u32, cell: Cell) -> &SummaryInvariant {
        let own = self.claims.iter().find(|c| c.0 == thread && c.1 == cell);
        own.map_or(&SummaryInvariant::Any, |c| &c.2)
    }

    /// How many stores of `thread`'s buffer, under PSO that for `cell`, are known exactly.
    pub fn cells(&self, model: Model, thread: u32, cell: Cell) -> u32 {
        let buffer = match model {
            Model::Pso => Some(cell),
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => None,
        };
        let mut own = self.sizes.iter();
        let own = own.find(|s| (s.0, s.1) == (thread, buffer));
        own.map_or(self.cells, |s| s.2)
    }

    /// How many instances of `thread`'s operation have slots.
    pub fn slots(&self, thread: u32, operation: u32) -> u32 {
        let own = self.slots.iter();
        let mut own = own.filter(|s| (s.0, s.1) == (thread, operation));
        own.next().map_or(self.cells, |s| s.2)
    }
}
