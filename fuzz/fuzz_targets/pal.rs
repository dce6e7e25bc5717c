//! Any text: it is read or refused, never a panic. What is read survives
//! formatting (twice is once) and printing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_frontend::pal;
use palisade_program::Source;

fuzz_target!(|text: &str| {
    match pal::parse(Source::new("fuzz.pal", text)) {
        Ok(parsed) => {
            let formatted = pal::format(text).expect("what was read can be formatted");
            let again = pal::format(&formatted).expect("what was formatted can be formatted");
            assert_eq!(formatted, again);
            let printed = pal::print(&parsed.program);
            if let Err(errors) = pal::parse(Source::new("printed.pal", printed.as_str())) {
                panic!("{errors}\n{printed}");
            }
        }
        Err(errors) => {
            assert!(!errors.to_string().is_empty());
        }
    }
});
