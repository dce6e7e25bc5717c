//! Boolean programs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_boolean::{parse, resolve::resolve};

fuzz_target!(|text: &str| {
    if let Ok(program) = parse(text) {
        let _ = resolve(&program);
    }
});
