//! What the tests of certificates share: building programs by hand and at
//! random, a slow direct interpreter of the memory models, and certificates made
//! of its reachable states.
#![allow(dead_code, reason = "each test file uses its own part of this")]

pub(crate) mod build;
pub(crate) mod interpret;
pub(crate) mod invariant;
pub(crate) mod random;
