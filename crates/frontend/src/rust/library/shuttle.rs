//! shuttle's names, for tests that were written for it: the verifier runs their threads itself.
#![allow(clippy::all, missing_docs)]

pub use std::{hint, thread};

pub mod sync {
    pub use std::sync::*;
}

#[inline]
pub fn check<F: Fn() + Sync + Send + 'static>(f: F) {
    f();
}
#[inline]
pub fn check_random<F: Fn() + Sync + Send + 'static>(f: F, _: usize) {
    f();
}
#[inline]
pub fn check_dfs<F: Fn() + Sync + Send + 'static>(f: F, _: Option<usize>) {
    f();
}
#[inline]
pub fn check_pct<F: Fn() + Sync + Send + 'static>(f: F, _: usize, _: usize) {
    f();
}
