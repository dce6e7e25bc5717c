//! *Memory errors* of C: what may not be done with memory, and with pointers to it.

use std::fmt;

/// What is wrong. Indices out of range have a kind of their own, [`crate::AssertKind::Index`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryError {
    /// Freed memory is read or written.
    UseAfterFree,
    /// Allocated memory is read or written by a thread that need not know of the allocation.
    UseBeforeAllocation,
    /// A local variable is read or written after its function has returned.
    UseAfterReturn,
    /// Memory is freed for the second time.
    DoubleFree,
    /// Something is freed that no allocation has returned.
    InvalidFree,
    /// Memory is still allocated when the program ends.
    Leak,
    /// Memory or a local variable is read to which nothing was written, where that is asked about.
    Uninitialised,
    /// A null pointer is followed.
    Null,
    /// A pointer to no object is followed.
    Wild,
}

impl MemoryError {
    /// One word for scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UseAfterFree => "use-after-free",
            Self::UseBeforeAllocation => "use-before-allocation",
            Self::UseAfterReturn => "use-after-return",
            Self::DoubleFree => "double-free",
            Self::InvalidFree => "invalid-free",
            Self::Leak => "memory-leak",
            Self::Uninitialised => "uninitialised",
            Self::Null => "null-dereference",
            Self::Wild => "invalid-dereference",
        }
    }
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UseAfterFree => "use after free",
            Self::UseBeforeAllocation => "use before allocation",
            Self::UseAfterReturn => "use of a local variable after its function has returned",
            Self::DoubleFree => "double free",
            Self::InvalidFree => "free of what was not allocated",
            Self::Leak => "memory leak: not freed when the program ends",
            Self::Uninitialised => "read of what nothing was written to",
            Self::Null => "null pointer dereference",
            Self::Wild => "a pointer to no object is followed",
        })
    }
}
