//! Saved runs of one program: read, and run again by the machine.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use palisade_frontend::pal;
use palisade_machine::{Start, replay};
use palisade_program::{Model, Program, Source};
use palisade_report::saved::Saved;

static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    let text = include_str!("../../examples/dekker.pal");
    let parsed = pal::parse(Source::new("dekker.pal", text));
    parsed.expect("an example").program
});

fuzz_target!(|text: &str| {
    let Ok(document) = serde_json::from_str(text) else {
        return;
    };
    if let Ok(saved) = Saved::read(&document)
        && let Some(copies) = PROGRAM.copies_named(&saved.threads)
    {
        let mut start = Start::new(Model::Tso, copies);
        start.locals.clone_from(&saved.locals);
        let _ = replay(&PROGRAM, &start, &saved.actions);
    }
});
