//! Direct stores: what the memory models find, the certificate checker confirms, and
//! nothing more; proofs and runs are said of the original program.

use palisade_arbitrary::{Shape, generate};
use palisade_certify::{Certificate, Fingerprint, Kind, Reason, confirm_unbuffered, parse, print};
use palisade_frontend::pal;
use palisade_memory::unbuffered::unbuffered_stores;
use palisade_program::unbuffered::StoreEdge;
use palisade_program::{Model, Program, Source, Step, Verdict};
use palisade_verify::{Options, verify};

const WEAK: [Model; 2] = [Model::Tso, Model::Pso];

fn program(text: &str) -> Program {
    let parsed = pal::parse(Source::new("test.pal", text));
    parsed.expect("the text is a program").program
}

/// A certificate that claims nothing else.
fn claims(program: &Program, model: Model, direct: Vec<StoreEdge>) -> Certificate {
    let fingerprint = Fingerprint::of(program, model, 2);
    Certificate {
        unbuffered: direct,
        ..Certificate::empty(fingerprint, Kind::Stops, model, 2)
    }
}

#[test]
fn two_accounts_of_unbuffered_stores_agree() {
    let (mut confirmed, mut refused) = (0, 0);
    for seed in 0..300 {
        let shape = match seed % 2 {
            0 => Shape::publications(),
            _ => Shape::default(),
        };
        let program = program(&generate(seed, &shape));
        for model in WEAK {
            let direct = unbuffered_stores(&program, model);
            confirmed += direct.len();
            let found = confirm_unbuffered(&program, &claims(&program, model, direct.clone()));
            assert_eq!(found, Ok(()), "seed {seed}, {model}");
            for id in program.template_ids() {
                for (number, edge) in program.template(id).cfg.edges.iter().enumerate() {
                    let store = (id, number.into());
                    if !matches!(edge.step, Step::Store { .. }) || direct.contains(&store) {
                        continue;
                    }
                    let more = [&direct[..], &[store]].concat();
                    let found = confirm_unbuffered(&program, &claims(&program, model, more));
                    let is_refused = matches!(found, Err(Reason::Direct(_)));
                    assert!(is_refused, "seed {seed}, {model}, {store:?}");
                    refused += 1;
                }
            }
        }
    }
    println!("{confirmed} stores confirmed, {refused} refused");
    assert!(confirmed > 300 && refused > 300);
}

/// An unbounded loop of stores, its order kept by TSO.
const PASSING: &str = "shared data = 0; shared flag = 0;
    thread w { local i = 0; while (1) { i = i + 1; data = i; flag = i; } }
    thread r { local f = 0; local d = 0; while (1) { f = flag; d = data; assert(d >= f); } }";

#[test]
fn a_proof_names_its_unbuffered_stores() {
    let program = program(PASSING);
    let options = Options {
        model: Model::Tso,
        ..Options::default()
    };
    let report = verify(&program, &options);
    assert_eq!(report.verdict, Verdict::Holds);
    assert!(report.certified && report.stats.unbuffered_stores == 2);
    let certificate = report.certificate.expect("a proof has one");
    let text = print(&program, &certificate);
    assert!(text.contains("\nunbuffered w "), "{text}");
    let read = parse(&program, &text).expect("what is printed is read");
    assert_eq!(read, certificate);
    let check = palisade_certify::check(&program, &read, &palisade_certify::Options::default());
    check.expect("it is a proof");
    // Without its direct stores it is a proof of nothing.
    let forged = Certificate {
        unbuffered: Vec::new(),
        ..certificate
    };
    let check = palisade_certify::check(&program, &forged, &palisade_certify::Options::default());
    assert!(check.is_err());
}

/// A run through direct stores, some to an element that only the run knows.
#[test]
fn a_run_is_one_of_the_original() {
    let program = program(
        "shared a[3] = 0; shared go = 0;
        thread w { local i = 0; havoc: i = *; assume(0 <= i && i < 3); a[i] = 7; go = 1; }
        thread r { local x = 0; assume(go == 1); x = a[2]; assert(x == 0); }",
    );
    for falsify in [false, true] {
        let options = Options {
            model: Model::Tso,
            falsify,
            ..Options::default()
        };
        let report = verify(&program, &options);
        let Verdict::Violated(violation) = report.verdict else {
            panic!("{:?}", report.verdict);
        };
        assert_eq!(report.stats.unbuffered_stores, 2);
        let memory_steps = violation.trace.steps.iter().filter(|s| s.by_memory);
        assert_eq!(memory_steps.count(), 2);
    }
}
