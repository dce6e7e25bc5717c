//! A few programs of every row. `palisade-soak` runs as many as one likes.

use palisade_soak::{ROWS, run};

fn row(name: &str) {
    let row = ROWS.iter().find(|r| r.name == name).expect("a row");
    let counts = run(row, 0, row.few, 1).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{name}: {counts:?}");
    assert!(row.is_informative(&counts), "{name}: {counts:?}");
}

macro_rules! rows {
    ($($test:ident $name:literal)*) => {
        $(#[test] fn $test() { row($name); })*

        /// No row is forgotten, and shares are shares.
        #[test]
        fn every_row_is_a_test() {
            let names: Vec<&str> = ROWS.iter().map(|r| r.name).collect();
            assert_eq!(names, [$($name),*]);
            assert_eq!(ROWS.iter().map(|r| r.share).sum::<u64>(), 1000);
        }
    };
}

rows! {
    machine "machine"
    machine_rma "machine-rma"
    finals "finals"
    protocols_machine "protocols-machine"
    reachable "reachable"
    reachable_reduced "reachable-reduced"
    counters "counters"
    counters_reachable "counters-reachable"
    counters_gaps "counters-gaps"
    protocols_reachable "protocols-reachable"
    verify "verify"
    protocols "protocols"
    publications "publications"
    predicates "predicates"
    strategies "strategies"
    buffers "buffers"
    rma "rma"
    rma_sets "rma-sets"
    rma_extrapolated "rma-extrapolated"
    rma_atomics "rma-atomics"
    any_number "any-number"
    fences "fences"
    deadlock "deadlock"
    rc11 "rc11"
}

/// Programs on which accounts have differed.
#[test]
fn differences_of_old_stay_mended() {
    // Listed sets whose sources are not explicit: the certificate was refused.
    let (name, seed) = ("rma-extrapolated", 1_000_000_028);
    let row = ROWS.iter().find(|r| r.name == name).expect("a row");
    run(row, seed, 1, 1).unwrap_or_else(|failure| panic!("{failure}"));
}
