//! Random programs in the `.pal` language, for tests that compare two engines.
//! [`generate`] gives the same text for the same seed and [`Shape`].
//!
//! Programs are small, most of them end, and their values stay finite: every
//! computed value is taken modulo [`Shape::modulus`]. A loop that may run for ever
//! stores nothing, or passes a full fence in every round, so buffers stay finite
//! too. Properties are drawn so that about half of the programs violate one.
//!
//! | file | what |
//! |---|---|
//! | `shape` | the knobs |
//! | `writer` | lines with indentation |
//! | `threads` | programs with threads |
//! | `idioms` | shapes in which memory models differ |
//! | `processes` | programs with processes (RMA) |
//! | [`counters`] | counters that are compared with each other |
//! | [`ordered`] | programs with memory orders (RC11) |
//! | [`orderly`] | the same with conditions, loops and locks |
//! | [`protocols`] | hand-over, handshakes, seqlocks, locks, with faults |
//! | [`shrink()`] | delta debugging of a program that shows a difference |

pub mod counters;
mod idioms;
pub mod ordered;
pub mod orderly;
mod processes;
pub mod protocols;
mod shape;
mod shrink;
mod threads;
mod writer;

pub use palisade_program::random::Rng;
pub use shape::Shape;
pub use shrink::shrink;

/// A random program.
///
/// ```
/// use palisade_arbitrary::{Shape, generate};
///
/// let text = generate(7, &Shape::default());
/// assert_eq!(text, generate(7, &Shape::default()));
/// assert!(text.contains("thread"));
/// ```
pub fn generate(seed: u64, shape: &Shape) -> String {
    let mut rng = Rng::new(seed);
    if shape.processes {
        processes::generate(&mut rng, shape)
    } else {
        threads::generate(&mut rng, shape)
    }
}
