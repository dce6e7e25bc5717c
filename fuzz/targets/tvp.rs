//! Shape models and structures: `.tvp`, a line `====`, `.tvs`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_shape::analysis::{Input, Options, read_program, read_structures};

fuzz_target!(|text: &str| {
    let (program, states) = text.split_once("\n====\n").unwrap_or((text, ""));
    let options = Options::default();
    for name in ["f.tvp", "f.tvm"] {
        let mut errors = palisade_shape::syntax::Diagnostics::default();
        let program = Input { name, text: program };
        if let Some(model) = read_program(program, &options, &mut errors) {
            let states = Input { name: "f.tvs", text: states };
            let _ = read_structures(&model, states, &options, &mut errors);
        }
    }
});
