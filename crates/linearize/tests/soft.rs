//! Soft invariants: those of the text suffice where the paper's do, wrong ones harm nobody
//! [Friggens and Groves, arXiv 2015, section 3.5], and what is proved with collapsed threads is proved without.

use std::fs;
use std::path::PathBuf;

use palisade_linearize::points::{Points, applied, suggest};
use palisade_linearize::prove::{Interleaving, Options, Proof, Soft, counts, prove};
use palisade_linearize::{Found, check_commits};
use palisade_program::Source;
use palisade_program::heap::Program;

fn parsed(text: &str) -> Program {
    match palisade_frontend::heap::parse(Source::new("soft.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{}", errors.render(false)),
    }
}

fn text(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(folder.join(name)).expect("the file can be read")
}

fn attempt(program: &Program, soft: Soft) -> Proof {
    let options = Options {
        soft,
        ..Options::default()
    };
    prove(program, &options).unwrap_or_else(|no| panic!("{no:?}"))
}

#[test]
fn the_two_invariants_of_the_paper_suffice_for_inc() {
    let inc = parsed(&text("suites/soft/inc.pal"));
    let proof = attempt(&inc, Soft::Hand);
    assert!(proof.holds(), "{:?}", proof.messages);
    assert_eq!((proof.text.defined, proof.text.soft), (2, 2));
    let proof = attempt(&inc, Soft::None);
    assert!(!proof.holds(), "collapsed threads alone are too coarse");
    assert_eq!(proof.text.soft, 0);
}

/// Those of the suite, found by leaving out one after another of what the prover finds.
#[test]
fn invariants_picked_by_hand_suffice() {
    let mut names = vec!["treiber", "ms_queue"];
    if std::env::var_os("PALISADE_SOAK").is_some() {
        names.push("dglm_queue");
    }
    for name in names {
        let program = parsed(&text(&format!("suites/soft/{name}.pal")));
        let given: usize = program.methods.iter().map(|m| m.body.softs.len()).sum();
        let proof = attempt(&program, Soft::Hand);
        assert!(proof.holds(), "{name}: {:?}", proof.messages);
        assert!(
            proof.text.defined >= given && proof.text.soft < given,
            "{name}"
        );
    }
}

#[test]
fn over_definition_has_a_first_pass() {
    let inc = parsed(&text("examples/linear/inc.pal"));
    let over = attempt(&inc, Soft::Over);
    let all = attempt(&inc, Soft::All);
    assert!(over.holds() && all.holds());
    assert!(over.text.soft < all.text.soft, "the first pass drops some");
    assert_eq!(over.text.defined, all.text.defined);
    assert_eq!(over.kept, all.kept, "useless ones change no state");
}

/// Wrong soft invariants: the proof is the same, and no wrong program is proved by them.
#[test]
fn wrong_invariants_are_harmless() {
    let wrong = [
        "soft a == null;",
        "soft b != null;",
        "soft a == b;",
        "soft a != x;",
        "soft b == x when a != null;",
    ];
    let inc = text("suites/soft/inc.pal");
    let place = "a = x;";
    for line in wrong {
        let changed = inc.replacen(place, &format!("{line} {place} {line}"), 1);
        let proof = attempt(&parsed(&changed), Soft::Hand);
        assert!(proof.holds(), "{line}: {:?}", proof.messages);
    }
    // A list with an end: `x` becomes null, whatever is claimed.
    let broken = inc.replacen("last.next = first;", "", 1);
    assert_ne!(broken, inc);
    for line in ["soft b != null;", "soft a.next != null;", "soft a != null;"] {
        let changed = broken
            .replacen(place, &format!("{line} {place} {line}"), 1)
            .replacen("} while", &format!("{line}\n    }} while"), 1);
        for soft in [Soft::Hand, Soft::Found] {
            let proof = attempt(&parsed(&changed), soft);
            assert!(!proof.holds(), "{line} {soft:?}");
        }
    }
}

#[test]
fn threads_apart_agree_with_threads_collapsed() {
    let inc = text("examples/linear/inc.pal");
    let broken = inc.replacen("last.next = first;", "", 1);
    for (program, expected) in [(&inc, true), (&broken, false)] {
        let program = parsed(program);
        assert_eq!(attempt(&program, Soft::Found).holds(), expected);
        for threads in 1..=2 {
            let options = Options {
                soft: Soft::None,
                collapse: false,
                threads: Some(threads),
                interleaving: Interleaving::Restricted,
                ..Options::default()
            };
            let apart = prove(&program, &options).unwrap_or_else(|no| panic!("{no:?}"));
            assert_eq!(apart.holds(), expected, "{threads} {:?}", apart.messages);
        }
    }
}

/// The structures with one thread, Treiber's stack with more; a plain store instead of `cas` does no harm alone, and does with
/// two threads.
#[test]
fn structures_with_threads_apart() {
    let apart = |program: &Program, threads: usize, soft: Soft| {
        let options = Options {
            soft,
            collapse: false,
            threads: Some(threads),
            interleaving: Interleaving::Restricted,
            ..Options::default()
        };
        let proof = prove(program, &options).unwrap_or_else(|no| panic!("{no:?}"));
        (proof.holds(), proof.messages)
    };
    for name in ["treiber", "ms_queue", "dglm_queue", "two_lock_queue"] {
        let program = parsed(&text(&format!("examples/linear/{name}.pal")));
        let (holds, messages) = apart(&program, 1, Soft::None);
        assert!(holds, "{name}: {messages:?}");
        if name == "treiber" || std::env::var_os("PALISADE_SOAK").is_some() {
            for threads in 2..=3 {
                let (holds, messages) = apart(&program, threads, Soft::Found);
                assert!(holds, "{name}, {threads} threads: {messages:?}");
            }
        }
    }
    let store = parsed(&text("examples/linear/treiber_store.pal"));
    assert!(apart(&store, 1, Soft::None).0);
    assert!(apart(&store, 1, Soft::Found).0);
    assert!(!apart(&store, 2, Soft::Found).0);
    assert!(!attempt(&store, Soft::Found).holds());
}

#[test]
fn locations_and_invariants_are_counted() {
    let treiber = parsed(&text("suites/soft/treiber.pal"));
    let full = counts(&treiber, Interleaving::Full, Soft::Hand).expect("supported");
    assert_eq!((full["push"].locations, full["pop"].locations), (6, 7));
    let given = treiber.methods.iter().map(|m| m.body.softs.len());
    let counted: usize = full.values().map(|count| count.soft).sum();
    assert_eq!(counted, given.sum::<usize>(), "none is lost, none the same");
    let restricted = counts(&treiber, Interleaving::Restricted, Soft::Hand).expect("supported");
    assert!(restricted["pop"].locations < full["pop"].locations);
}

/// Code without commit points: those that are found explain its runs.
#[test]
fn points_that_are_found_are_claims() {
    let short = palisade_linearize::Options {
        calls: 3,
        ..palisade_linearize::Options::default()
    };
    for name in ["treiber", "ms_queue", "two_lock_queue"] {
        let with = text(&format!("examples/linear/{name}.pal"));
        let claims = |line: &&str| {
            let line = line.trim_start();
            line.starts_with("commit") || line.starts_with("confirm")
        };
        let bare: Vec<&str> = with.lines().filter(|line| !claims(line)).collect();
        let bare = parsed(&bare.join("\n"));
        assert!(!bare.has_commits(), "{name}");
        let Ok(Points::Found(points)) = suggest(&bare, &short) else {
            panic!("{name}: no points are found");
        };
        let claimed = applied(&bare, &points).unwrap_or_else(|| panic!("{name}"));
        let search = check_commits(&claimed, &short).expect("a search");
        assert!(matches!(search.found, Found::Nothing), "{name}");
    }
}

/// The model knows an argument by its node: code that changes or copies one is refused.
#[test]
fn arguments_are_written_only() {
    let treiber = text("examples/linear/treiber.pal");
    // A copy that stays one is no matter: tests/prove.rs.
    for line in ["v = t.value;", "data w = t.value; v = w;"] {
        let changed = treiber.replacen("n.value = v;", &format!("{line} n.value = v;"), 1);
        assert_ne!(changed, treiber);
        let no = prove(&parsed(&changed), &Options::default()).expect_err("refused");
        assert!(no.what.contains("an argument"), "{line}: {}", no.what);
        let place = parsed(&changed).source.position(no.span.start).line;
        assert_eq!(place, 16, "{line}");
    }
}
