//! Seeded faults: each is caught by the comparison with the machine on the fixed
//! list of shapes. So the comparison can fail, and the list is long enough.

use crate::common;

use common::faults::FAULTS;
use common::shapes::SHAPES;
use common::{Change, Disagreement, WEAK, agree, unchanged};
use palisade_memory::reduced::Reduced;
use palisade_program::{Model, Program};

/// The first shape and size on which a change shows.
fn caught(change: Change<'_>, model: Model) -> Option<(&'static str, Disagreement)> {
    for shape in SHAPES {
        let program = shape.program();
        for k in 1..=3 {
            if let Err(why) = agree(&program, model, k, change) {
                return Some((shape.name, why));
            }
        }
    }
    None
}

#[test]
fn every_fault_is_caught() {
    let mut missed = Vec::new();
    let mut count = 0;
    for fault in FAULTS {
        for &model in fault.models {
            count += 1;
            let seed = |program: &Program, reduced: &mut Reduced| fault.seed(program, reduced);
            match caught(&seed, model) {
                Some((shape, why)) => println!("{} ({model})\n    {shape}: {why}", fault.name),
                None => missed.push(format!("{} ({model})", fault.name)),
            }
        }
    }
    println!("{count} faults");
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
    assert!(FAULTS.len() >= 20);
}

/// The one fault that is in no step: properties that take a thread which has
/// drained for one that is not at its end.
#[test]
fn properties_that_forget_the_drained_end_are_caught() {
    let forget = |program: &Program, reduced: &mut Reduced| {
        reduced.program.properties.clone_from(&program.properties);
    };
    for model in WEAK {
        assert!(caught(&forget, model).is_some(), "{model}");
    }
}

/// What is caught is the fault: without one nothing is.
#[test]
fn nothing_is_caught_without_a_fault() {
    for model in WEAK {
        assert_eq!(caught(&unchanged, model), None, "{model}");
    }
}
