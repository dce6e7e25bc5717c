//! Shapes with known answers: the reduced program gives them, for both kinds of
//! full buffer.

use crate::common;

use common::shapes::SHAPES;
use common::{Answer, WEAK, answer, parse, reduce, run};
use palisade_memory::need::most_buffered;
use palisade_memory::reduced::Full;
use palisade_program::{AssertKind, Broken, Model, Verdict};

const fn letter(answer: Answer) -> char {
    match answer {
        Answer::Holds => 'h',
        Answer::Violated => 'v',
        Answer::Overflow | Answer::Open => '?',
    }
}

#[test]
fn shapes_have_their_answers() {
    let mut wrong = Vec::new();
    for shape in SHAPES {
        let program = shape.program();
        // Loops are no longer than two rounds of two stores.
        let k = most_buffered(&program, None).unwrap_or(4).max(1);
        for full in [Full::Fails, Full::Blocks] {
            let mut found = String::new();
            found.push(letter(answer(&run(&program, Model::Sc, None, false))));
            for model in WEAK {
                let reduced = reduce(&program, model, k, full);
                let answer = answer(&run(&reduced.program, Model::Sc, None, false));
                found.push(letter(answer));
            }
            if found != shape.expected {
                wrong.push(format!("{}: {found}, not {}", shape.name, shape.expected));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A bound that is too small is said to be so, and never taken for a bug.
#[test]
fn overflow_has_its_own_words() {
    let program = parse("shared x = 0; thread t { x = 1; x = 2; x = 3; } never x == 4;");
    for model in WEAK {
        for k in 1..=3 {
            let reduced = reduce(&program, model, k, Full::Fails);
            let found = run(&reduced.program, Model::Sc, None, false);
            match found.verdict {
                Verdict::Violated(v) if k < 3 => {
                    assert_eq!(v.broken, Broken::Assert(AssertKind::BufferOverflow));
                }
                Verdict::Holds if k == 3 => {}
                other => panic!("{model}, k = {k}: {other:?}"),
            }
        }
    }
}
