//! Litmus tests.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_frontend::litmus;
use palisade_program::{Orders, Source};

fuzz_target!(|text: &str| {
    let _ = litmus::parse_ordered(Source::new("f.litmus", text), Orders::Kept);
    let _ = litmus::parse(Source::new("f.litmus", text));
});
