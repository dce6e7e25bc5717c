//! Data structures as code.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_frontend::heap;
use palisade_program::Source;

fuzz_target!(|text: &str| {
    let _ = heap::parse(Source::new("f.pal", text));
});
