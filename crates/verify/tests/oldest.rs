//! Loops that store several variables in order, without a fence: the automatic plan
//! also tries abstract buffers that know the oldest stores exactly.
#![allow(missing_docs)]

use palisade_frontend::pal;
use palisade_program::{Model, Source, Verdict};
use palisade_verify::{Options, verify};

const PROGRAM: &str = "
    shared x = 0, y = 0, z = 0;
    thread writer { while (1) { x = 1; y = 1; end: skip; } }
    thread reader { while (1) { assume(y == 1); assume(z == 0); end: skip; } }
    thread other { while (1) { z = 1; fence; assume(x == 0); end: skip; } }
    never writer@end && reader@end && other@end;";

fn verdict(text: &str) -> (Verdict, bool) {
    let parsed = pal::parse(Source::new("t.pal", text)).expect("right");
    let options = Options {
        model: Model::Tso,
        ..Options::default()
    };
    let report = verify(&parsed.program, &options);
    (report.verdict, report.certified)
}

#[test]
fn the_order_of_stores_in_a_loop_is_known() {
    assert_eq!(verdict(PROGRAM), (Verdict::Holds, true));
}

#[test]
fn its_twin_is_violated() {
    let (verdict, _) = verdict(&PROGRAM.replace("fence; ", ""));
    assert!(matches!(verdict, Verdict::Violated(_)), "{verdict:?}");
}
