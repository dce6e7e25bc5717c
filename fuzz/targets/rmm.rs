//! `.rmm`: whatever is read can be printed as `.pal` and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_frontend::{pal, rmm};
use palisade_program::Source;

fuzz_target!(|text: &str| {
    if let Ok(parsed) = rmm::parse(Source::new("f.rmm", text)) {
        let printed = pal::print(&parsed.program);
        if let Err(errors) = pal::parse(Source::new("printed", printed.as_str())) {
            panic!("{errors}\n{printed}");
        }
    }
});
