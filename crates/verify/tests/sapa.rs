//! The fourteen programs of [Donaldson et al., CAV 2011] (`suites/sapa`): proved for any number of threads;
//! their twins hold with one thread fewer than table 2 says and are violated with as
//! many.

use std::path::{Path, PathBuf};

use palisade_certify::Kind;
use palisade_frontend::c;
use palisade_program::{Program, Source, Verdict};
use palisade_verify::{Options, Report, Threads, verify, with_threads};

/// Each with the number of threads that its twin's bug needs.
const PROGRAMS: [(&str, u32); 14] = [
    ("increment_lock", 2),
    ("increment_cas", 2),
    ("incdec_lock", 3),
    ("incdec_cas", 3),
    ("tas_lock", 2),
    ("ticket_lock", 3),
    ("prng_lock", 2),
    ("prng_cas", 3),
    ("findmax_lock", 2),
    ("findmax_cas", 2),
    ("findmaxopt_lock", 2),
    ("findmaxopt_cas", 1),
    ("stack_lock", 4),
    ("stack_cas", 2),
];

fn program(name: &str) -> Program {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/sapa");
    let file: PathBuf = folder.join(format!("{name}.c"));
    let text = std::fs::read_to_string(&file).expect("the suite has this program");
    let source = Source::new(format!("{name}.c"), text);
    match c::parse(&file, &source, &c::Options::default()) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{}", errors.render(false)),
    }
}

fn with(name: &str, threads: Threads) -> Report {
    let program = with_threads(&program(name), threads).expect("the number does not matter");
    // As the command does.
    let options = Options {
        falsify: true,
        ..Options::default()
    };
    verify(&program, &options)
}

#[test]
fn proved_for_any_number() {
    for (name, _) in PROGRAMS {
        let report = with(name, Threads::Any);
        assert_eq!(report.verdict, Verdict::Holds, "{name}");
        assert!(report.certified, "{name}");
        let certificate = report.certificate.expect("a proof has a certificate");
        assert_eq!(certificate.kind, Kind::Views, "{name}");
    }
}

#[test]
fn twins_are_violated_by_as_many_threads_as_they_need() {
    for (name, needed) in PROGRAMS {
        let report = with(&format!("{name}_unsafe"), Threads::Exactly(needed));
        let violated = matches!(report.verdict, Verdict::Violated(_));
        assert!(violated, "{name}: {:?}", report.verdict);
        assert!(report.witness.is_some(), "{name}");
    }
}

#[test]
fn twins_hold_with_fewer() {
    for (name, needed) in PROGRAMS.into_iter().filter(|(_, needed)| *needed > 1) {
        let report = with(&format!("{name}_unsafe"), Threads::Exactly(needed - 1));
        assert_eq!(report.verdict, Verdict::Holds, "{name}");
        assert!(report.certified, "{name}");
    }
}

/// `FindMax` over an array of any contents: what it holds does not matter to the proof.
#[test]
fn the_largest_element_of_an_array() {
    let report = with("array_findmax_lock", Threads::Any);
    assert_eq!(report.verdict, Verdict::Holds);
    let certificate = report.certificate.expect("a proof has a certificate");
    assert_eq!(
        (certificate.kind, certificate.forgotten.len()),
        (Kind::Views, 1)
    );
    let twin = with("array_findmax_lock_unsafe", Threads::Any);
    assert!(
        matches!(twin.verdict, Verdict::Violated(_)),
        "{:?}",
        twin.verdict
    );
    assert!(twin.witness.is_some());
}

/// Stacks over an index heap; the proofs take long (`palisade verify suites/sapa/index_stack_lock.c`).
#[test]
fn twins_of_stacks_over_an_index_heap() {
    for name in ["index_stack_lock_unsafe", "index_stack_cas_unsafe"] {
        let report = with(name, Threads::Any);
        let violated = matches!(report.verdict, Verdict::Violated(_));
        assert!(
            violated && report.witness.is_some(),
            "{name}: {:?}",
            report.verdict
        );
    }
}
