//! All tests of this folder as one program: linking one for each file took most of the build.

mod abstract_certificates;
mod deadlock;
mod exact_cells;
mod extrapolation;
mod fair_rc11;
mod growth;
mod interference_free;
mod joins;
mod many;
mod oldest;
mod progress;
mod projection;
mod rc11;
mod reductions;
mod remote_order;
mod sapa;
mod shifted;
mod transitions;
mod twins;
mod unbounded;
mod unbuffered;
mod words;
