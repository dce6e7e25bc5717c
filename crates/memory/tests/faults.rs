//! Seeded faults: each is caught by the comparison with the machine on the fixed
//! list of shapes. So the comparison can fail, and the list is long enough.

mod common;

use common::faults::FAULTS;
use common::seeding::Fault;
use common::shapes::SHAPES;
use common::{Disagreement, agree};
use palisade_program::Model;

/// The first shape and size on which the fault shows.
fn caught(fault: &Fault, model: Model) -> Option<(&'static str, Disagreement)> {
    for shape in SHAPES {
        let program = shape.program();
        for k in 1..=3 {
            let seed = |program: &_, reduced: &mut _| fault.seed(program, reduced);
            if let Err(why) = agree(&program, model, k, &seed) {
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
            match caught(fault, model) {
                Some((shape, why)) => println!("{} ({model})\n    {shape}: {why}", fault.name),
                None => missed.push(format!("{} ({model})", fault.name)),
            }
        }
    }
    println!("{count} faults");
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
    assert!(FAULTS.len() >= 20);
}
