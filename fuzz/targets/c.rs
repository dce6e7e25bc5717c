//! Preprocessed C.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use palisade_frontend::c::{self, Options};
use palisade_program::Source;

fuzz_target!(|text: &str| {
    let source = Source::new("f.i", text);
    let _ = c::parse(Path::new("f.i"), &source, &Options::default());
});
