//! Programs under RMA, found by `make soak`, at which a verdict ended as a defect of Palisade: a run in an order of remote atomic
//! operations that the network does not have, and a certificate that could not say which list of values goes with
//! which value.

use palisade_frontend::pal;
use palisade_program::{Model, Source, Unknown, Verdict};
use palisade_verify::{Buffers, Options, Promote, Report, verify};

fn verified(text: &str, options: Options) -> Report {
    let parsed = pal::parse(Source::new("test.pal", text.to_owned()));
    let program = parsed.expect("the text is a program").program;
    let options = Options {
        model: Model::Rma,
        ..options
    };
    verify(&program, &options)
}

/// The reduction may let the second operation overtake the first; the machine does not. There is a violation in order, too,
/// which falsification finds; without it the verdict is unknown, and not for a replay that failed.
#[test]
fn operations_out_of_order_are_too_weak_not_a_defect() {
    let text = "process p0 { shared x00 = 0; local r = 0;
             accumulate(x10, p1, r, no_op);
             x00 = fetch_and_op(x10, p1, r, no_op); }
         process p1 { shared x10 = 2; }
         never x00 == 2 && x10 == 2;";
    let falsified = verified(
        text,
        Options {
            falsify: true,
            ..Options::default()
        },
    );
    assert!(matches!(falsified.verdict, Verdict::Violated(_)));
    for buffers in [Buffers::Auto, Buffers::Abstract(1)] {
        let options = Options {
            buffers,
            max_rounds: 20,
            ..Options::default()
        };
        let verdict = verified(text, options).verdict;
        assert_ne!(verdict, Verdict::Holds);
        let failed = matches!(verdict, Verdict::Unknown(Unknown::ReplayFailed(_)));
        assert!(!failed, "{verdict:?}");
    }
}

/// Nothing bounds `r` here but the run itself.
#[test]
fn a_certificate_of_summaries_where_nothing_is_explicit() {
    let text = "process p0 { shared x01 = 0; }
         process p1 { shared x10 = 0; shared x11 = 0; local r = 0;
             x10 = 1;
             r = x10;
             put(x01, p0, x11);
             x11 = (r + 1) % 3; }";
    let options = Options {
        promote: Promote::Never,
        buffers: Buffers::Abstract(0),
        ..Options::default()
    };
    let report = verified(text, options);
    let refused = matches!(
        &report.verdict,
        Verdict::Unknown(Unknown::CertificateRefused(_))
    );
    assert!(!refused, "{:?}", report.verdict);
    // Where sources are explicit the same sets prove it.
    let options = Options {
        buffers: Buffers::Abstract(0),
        ..Options::default()
    };
    let report = verified(text, options);
    assert_eq!(report.verdict, Verdict::Holds);
    assert!(report.certified);
}
