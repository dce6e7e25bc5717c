//! loom's names, for tests that were written for it: the verifier runs their threads itself.
#![allow(clippy::all, missing_docs)]

pub use std::{hint, thread};

#[inline]
pub fn model<F: Fn() + Sync + Send + 'static>(f: F) {
    f();
}

pub mod model {
    #[derive(Debug, Default)]
    pub struct Builder {
        pub max_threads: usize,
        pub max_branches: usize,
        pub max_permutations: Option<usize>,
        pub preemption_bound: Option<usize>,
    }
    impl Builder {
        #[inline]
        pub fn new() -> Self {
            Self::default()
        }
        #[inline]
        pub fn check<F: Fn() + Sync + Send + 'static>(&self, f: F) {
            f();
        }
    }
}

pub mod sync {
    pub use std::sync::*;
}

pub mod cell {
    pub use std::cell::Cell;

    #[derive(Debug, Default)]
    pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline]
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }
        #[inline]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }
        #[inline]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
        #[inline]
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }
}
