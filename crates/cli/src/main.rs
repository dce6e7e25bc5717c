//! The palisade command.
fn main() {}
