//! Verdicts about C programs, by the concrete machine.

use std::path::Path;

use palisade_frontend::c::{self, Options};
use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Unknown, Verdict};

/// What every program starts with: it is preprocessed already.
const PRELUDE: &str = "\
extern void reach_error(void);
void check(int c) { if (!c) reach_error(); }
typedef unsigned long pthread_t;
typedef unsigned long size_t;
typedef struct { int x; } pthread_mutex_t;
void *malloc(size_t);
void *memcpy(void *, const void *, size_t);
typedef _Atomic int atomic_int;
";

/// The program that a text is read as; an error in words otherwise.
pub(crate) fn read(text: &str) -> Result<Program, String> {
    let source = Source::new("test.i", format!("{PRELUDE}{text}"));
    match c::parse(Path::new("test.i"), &source, &Options::default()) {
        Ok(parsed) => Ok(parsed.program),
        Err(diagnostics) => Err(diagnostics.items[0].message.clone()),
    }
}

/// The verdict about a program, in words.
pub(crate) fn verdict(text: &str) -> String {
    let program = match read(text) {
        Ok(program) => program,
        Err(words) => return format!("error: {words}"),
    };
    let limits = palisade_machine::Options {
        workers: 1,
        max_states: Some(200_000),
        ..palisade_machine::Options::new(Model::Sc)
    };
    match explore(&program, &limits) {
        Err(e) => format!("error: {e}"),
        Ok(result) => match result.verdict {
            Verdict::Holds => "holds".to_owned(),
            Verdict::Violated(v) if v.message == "reach_error is called" => "violated".to_owned(),
            Verdict::Violated(v) => v.message,
            Verdict::Unknown(why @ Unknown::Unsupported(..)) => why.to_string(),
            Verdict::Unknown(why) => format!("unknown: {why}"),
        },
    }
}

/// Checks the verdicts about programs.
pub(crate) fn check_all(programs: &[(&str, &str)]) {
    for (text, wanted) in programs {
        assert_eq!(verdict(text), *wanted, "{text}");
    }
}
