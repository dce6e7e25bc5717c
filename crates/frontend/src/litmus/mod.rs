//! Litmus tests in herd's format.
