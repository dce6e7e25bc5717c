//! Any program and structures (parted by a line `####`): analysed or refused, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_shape::analysis::{Input, Options, analyse};

fuzz_target!(|text: &str| {
    let (program, states) = text.split_once("\n####\n").unwrap_or((text, "%n = {} %p = {}"));
    for name in ["fuzz.tvp", "fuzz.tvm"] {
        let mut options = Options::default();
        options.limits.structures = Some(100);
        options.limits.workers = 1;
        options.bounds.visits = 4;
        let input = |name, text| Input { name, text };
        if let Err(errors) = analyse(input(name, program), input("fuzz.tvs", states), &options) {
            assert!(!errors.to_string().is_empty());
        }
    }
});
