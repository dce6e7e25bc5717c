//! The examples of RC11: each says which verdict to expect. Proofs are certified, and runs into
//! violations replayed.

use std::fs;
use std::path::Path;

use palisade::repair::{Candidates, Flushes, orders};
use palisade::{Broken, Model, Options, Verdict, c, read_c, verify};
use palisade_program::Orders;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rc11")
}

#[test]
fn examples_have_their_verdicts() {
    let mut files: Vec<_> = fs::read_dir(folder())
        .expect("readable")
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.sort();
    let (mut proved, mut refuted) = (0, 0);
    for file in files {
        let name = file.display();
        // Takes several seconds; `make soak` tries it.
        let is_slow = file.ends_with("dekker.pal");
        if is_slow && std::env::var("PALISADE_SOAK").is_err() {
            continue;
        }
        let text = fs::read_to_string(&file).expect("readable");
        let expects = |verdict: &str| text.contains(&format!("expect: rc11={verdict}"));
        let kept = c::Options {
            orders: Orders::Kept,
            ..c::Options::default()
        };
        let program = read_c(&file, &text, &kept).unwrap_or_else(|errors| panic!("{errors}"));
        let options = Options {
            model: Model::Rc11,
            falsify: true,
            ..Options::default()
        };
        let report = verify(&program, &options);
        match &report.verdict {
            Verdict::Holds => {
                assert!(expects("holds"), "{name} holds");
                assert!(report.certified, "{name} is not certified");
                proved += 1;
            }
            Verdict::Violated(violation) => {
                assert!(expects("violated"), "{name}: {}", violation.message);
                let race = violation.broken == Broken::DataRace;
                assert!(
                    race || matches!(violation.broken, Broken::Assert(_)),
                    "{name}"
                );
                refuted += 1;
            }
            Verdict::Unknown(why) => panic!("{name}: {why}"),
        }
    }
    assert!(proved >= 12 && refuted >= 12, "{proved} {refuted}");
}

/// The orders that are known from the literature come out of a program whose orders were all
/// chosen anew: these examples have them already.
#[test]
fn the_weakest_orders_are_those_of_the_examples() {
    let kept = c::Options {
        orders: Orders::Kept,
        ..c::Options::default()
    };
    for name in ["tas", "mp", "once", "refcount", "publish", "rw"] {
        let file = folder().join(format!("{name}.pal"));
        let text = fs::read_to_string(&file).expect("readable");
        let read = Candidates::read(&file, &text, Model::Rc11, Flushes::All, &kept);
        let candidates = read.unwrap_or_else(|errors| panic!("{errors}"));
        let plan = candidates.orders(orders::Start::SeqCst, &orders::Rule::default());
        let mut options = palisade::repair::Options::default();
        options.verify.model = Model::Rc11;
        let found = candidates.repair_orders(&plan, &candidates.spelling(), &options);
        assert_eq!(found.verdict, Verdict::Holds, "{name}");
        assert!(found.outcome.is_minimum && found.is_certified(), "{name}");
        assert_eq!(plan.changed(&found.placements[0]).count(), 0, "{name}");
        assert_eq!(found.patched.text(), text, "{name}");
    }
}
