//! Certificates of one program: read and checked.
#![no_main]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use palisade_certify::{Options, check, parse};
use palisade_frontend::pal;
use palisade_program::{Program, Source};

static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    let text = include_str!("../../examples/dekker_fenced.pal");
    let parsed = pal::parse(Source::new("dekker_fenced.pal", text));
    parsed.expect("an example").program
});

fuzz_target!(|text: &str| {
    if let Ok(certificate) = parse(&PROGRAM, text) {
        let mut options = Options::default();
        options.limits.deadline = Some(Instant::now() + Duration::from_secs(2));
        let _ = check(&PROGRAM, &certificate, &options);
    }
});
