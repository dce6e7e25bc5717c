//! Variables and their names. A variable is an opaque number: which program
//! variable, SSA copy or buffer cell it stands for is known to the user of the
//! crate, who keeps the table and lends it as [`Names`] for printing.

/// An integer variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Var(pub u32);

/// How variables are called when terms and formulas are printed.
pub trait Names {
    /// The name of `var`.
    fn name(&self, var: Var) -> String;
}

impl<F: Fn(Var) -> String> Names for F {
    fn name(&self, var: Var) -> String {
        self(var)
    }
}

/// Names for when no table is at hand: `v0`, `v1`, ...
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Numbered;

impl Names for Numbered {
    fn name(&self, var: Var) -> String {
        format!("v{}", var.0)
    }
}
