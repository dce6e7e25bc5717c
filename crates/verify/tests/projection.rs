//! Forgotten variables: proofs that do without them, and what the checker makes of these.

use palisade_certify::{Certificate, check, parse, print};
use palisade_frontend::pal;
use palisade_program::{GlobalId, Model, Program, Source, Verdict};
use palisade_verify::{Options, Report, verify};

/// What `a` gets of `b` arrives whenever it likes; what it says is of no use to the proof.
fn program(property: &str) -> Program {
    let text = format!(
        "process b {{ shared y = 0; while (1) {{ y = 1; y = 0; }} }}
         process a {{
             shared junk = 0; shared turns = 0; local j = 0;
             while (1) {{
                 junk = get(y, b);
                 j = junk;
                 turns = 0;
                 if (j == 1) {{ turns = 1; }}
                 assert({property});
             }}
         }}"
    );
    let parsed = pal::parse(Source::new("test.pal", text));
    parsed.expect("the text is a program").program
}

fn verified(program: &Program) -> Report {
    let options = Options {
        model: Model::Rma,
        ..Options::default()
    };
    verify(program, &options)
}

fn is_proof(program: &Program, certificate: &Certificate) -> bool {
    check(program, certificate, &palisade_certify::Options::default()).is_ok()
}

#[test]
fn a_proof_names_what_it_forgets() {
    let program = program("turns <= 1");
    let report = verified(&program);
    assert_eq!(report.verdict, Verdict::Holds);
    assert!(report.certified, "{:?}", report.notes);
    let certificate = report.certificate.expect("a proof has one");
    let text = print(&program, &certificate);
    assert!(text.contains("\nprojects junk\n"), "{text}");
    let read = parse(&program, &text).expect("what is printed is read");
    assert_eq!(read, certificate);
    assert!(is_proof(&program, &read));
    // It speaks of another program if it forgets less or more.
    let forgetting = |forgotten: Vec<GlobalId>| Certificate {
        forgotten,
        ..certificate.clone()
    };
    assert!(!is_proof(&program, &forgetting(Vec::new())));
    let all = (0..program.globals.len()).map(GlobalId::from).collect();
    assert!(!is_proof(&program, &forgetting(all)));
    assert!(!is_proof(&program, &forgetting(vec![GlobalId(99)])));
}

/// Where the verdict rests on the variable, the proof does too.
#[test]
fn what_is_needed_is_kept() {
    let report = verified(&program("turns == 0 || j == 1"));
    assert_eq!(report.verdict, Verdict::Holds);
    let report = verified(&program("turns == 0"));
    assert!(matches!(report.verdict, Verdict::Violated(_)));
}

/// Threads that take two cells of an array each. That the second is in range rests on the first
/// being odd.
fn cells(first: u32, property: &str) -> Program {
    let text = format!(
        "shared next = {first};
         shared cells[9] = 0;
         thread t[*] {{
             local i, v;
             while (1) {{
                 atomic {{ assume(next < 9); i = next; next = next + 2; }}
                 cells[i + 1] = 1;
                 v = cells[i + 1];
                 assert({property});
             }}
         }}"
    );
    let parsed = pal::parse(Source::new("test.pal", text));
    parsed.expect("the text is a program").program
}

/// What an array holds is left out where it does not matter, for any number of threads; where it
/// does, neither a proof nor a violation comes of leaving it out.
#[test]
fn arrays_of_any_contents() {
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let options = Options {
            model,
            ..Options::default()
        };
        let any = cells(1, "i >= 1");
        let report = verify(&any, &options);
        assert_eq!(report.verdict, Verdict::Holds, "{model}");
        assert!(report.certified, "{model}: {:?}", report.notes);
        let certificate = report.certificate.expect("a proof has one");
        assert_eq!(certificate.forgotten, [GlobalId(1)]);
        let remembered = Certificate {
            forgotten: Vec::new(),
            ..certificate
        };
        assert!(!is_proof(&any, &remembered));
        // The second cell of the last pair is out of range.
        let outside = verify(&cells(0, "i >= 0"), &options).verdict;
        assert!(
            matches!(outside, Verdict::Violated(_)),
            "{model}: {outside:?}"
        );
        // Any content may be 2; the program stores 1 only.
        let matters = verify(&cells(1, "v <= 1"), &options);
        assert!(!matches!(matters.verdict, Verdict::Violated(_)), "{model}");
        let forgotten = matters.certificate.map(|c| c.forgotten);
        assert!(forgotten.is_none_or(|f| f.is_empty()), "{model}");
    }
}
