//! *Certificates*: the evidence for `holds`, as text, and its check.
//!
//! ```
//! use palisade::{Options, certificate, read, verify};
//!
//! let text = "shared x = 0; thread t { x = 1; assert(x == 1); }";
//! let program = read("t.pal".as_ref(), text)?;
//! let proof = verify(&program, &Options::default()).certificate.expect("a proof");
//!
//! let written = certificate::print(&program, &proof);
//! let again = certificate::parse(&program, &written).expect("what was printed is read");
//! assert!(certificate::check(&program, &again, &certificate::Options::default()).is_ok());
//! # Ok::<(), palisade::Diagnostics>(())
//! ```

pub use palisade_certify::{Certificate, Checked, Options, Refusal, check, parse, print};
