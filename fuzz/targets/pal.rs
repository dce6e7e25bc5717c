//! `.pal`: whatever is read can be formatted, printed, and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_frontend::pal;
use palisade_program::{Orders, Source};

fuzz_target!(|text: &str| {
    let _ = pal::parse_ordered(Source::new("f.pal", text), Orders::Kept);
    if let Ok(parsed) = pal::parse(Source::new("f.pal", text)) {
        pal::format(text).expect("what is read can be formatted");
        let printed = pal::print(&parsed.program);
        if let Err(errors) = pal::parse(Source::new("printed", printed.as_str())) {
            panic!("{errors}\n{printed}");
        }
    }
});
