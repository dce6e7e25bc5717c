//! *Stop*: how a reader is told to end before it is done. It is the flag that engines look at
//! and their deadline; readers whose work can grow beyond the length of the text (C inlines functions
//! and unrolls loops, Rust is executed ahead) look at both.
//!
//! A reader that sees it leaves by any error: what it has read so far says nothing. The front end's
//! entry points turn whatever comes back after the stop into [`Diagnostics::stopped`](crate::Diagnostics::stopped).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// When to stop reading. The default is never.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    flag: Option<Arc<AtomicBool>>,
    deadline: Option<Instant>,
}

impl Stop {
    /// Stops when the flag is raised, or when the time has come.
    pub const fn new(flag: Arc<AtomicBool>, deadline: Option<Instant>) -> Self {
        Self {
            flag: Some(flag),
            deadline,
        }
    }

    /// Whether to stop now.
    pub fn is_raised(&self) -> bool {
        let raised = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        self.flag.as_ref().is_some_and(raised)
            || self.deadline.is_some_and(|end| Instant::now() >= end)
    }
}
