//! The knobs of the generator.

/// What random programs look like.
// Each switch is a yes or no of its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads that run, copies included.
    pub threads: usize,
    /// Shared variables.
    pub vars: usize,
    /// Statements in a thread's outermost block, at most.
    pub statements: usize,
    /// Values are 0 to `modulus - 1`.
    pub modulus: i64,
    /// Templates with several copies, `self`, arrays indexed by `self`.
    pub copies: bool,
    /// Arrays.
    pub arrays: bool,
    /// `fence`.
    pub fences: bool,
    /// `fence(ss)`.
    pub store_store: bool,
    /// Atomic blocks, those that only read too, `cas`, `xchg`, `fetch_add`.
    pub atomics: bool,
    /// Loops.
    pub loops: bool,
    /// `choose`, `if (*)`.
    pub choices: bool,
    /// `assert` in the code.
    pub asserts: bool,
    /// `never`.
    pub nevers: bool,
    /// `finally`.
    pub finals: bool,
    /// An RMA program: processes with put, get, flush.
    pub processes: bool,
    /// Threads that publish several times in a row: data, a fence, a flag.
    pub publications: bool,
    /// In RMA programs: compare-and-swap, fetch-and-op, accumulate.
    pub remote_atomics: bool,
    /// In RMA programs: most flushes wait for the own side only.
    pub local_flushes: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            threads: 2,
            vars: 2,
            statements: 5,
            modulus: 3,
            copies: true,
            arrays: true,
            fences: true,
            store_store: true,
            atomics: true,
            loops: true,
            choices: true,
            asserts: true,
            nevers: true,
            finals: true,
            processes: false,
            publications: false,
            remote_atomics: false,
            local_flushes: false,
        }
    }
}

impl Shape {
    /// Two threads, one of which publishes several times in a row.
    pub fn publications() -> Self {
        Self {
            publications: true,
            vars: 1,
            modulus: 4,
            ..Self::default()
        }
    }

    /// Small RMA programs.
    pub fn rma() -> Self {
        Self {
            statements: 4,
            processes: true,
            ..Self::default()
        }
    }
}
