//! `palisade bench rma` on small programs of the suite: a row of table 3, and the constructions
//! of the Boolean program beside each other.

use crate::bench_support;

use bench_support::rows;
use serde_json::Value;

#[test]
fn a_row_has_the_fewest_flushes_and_their_proof() {
    let rows = rows("rma", &["--program", "Peterson"]);
    let [row] = &rows[..] else {
        panic!("one row: {rows:?}");
    };
    assert_eq!(row["verdict"], "holds", "{row}");
    assert_eq!(row["certified"], true, "{row}");
    assert_eq!(row["minimum"], "proved", "{row}");
    assert_eq!(row["flushes"], 4, "{row}");
    assert_eq!(row["needed"], row["flushes"], "{row}");
    assert_eq!(row["paper"]["flushes"], 4, "{row}");
    // The Boolean programs of the table, of the program with all flushes.
    let boolean = &row["boolean_programs"];
    assert_eq!(boolean["extrapolated"], "holds", "{row}");
    assert_eq!(boolean["extrapolation_calls"], 0, "{row}");
    assert!(
        boolean["rma_lines"].as_u64() > boolean["sc_lines"].as_u64(),
        "{row}"
    );
    assert!(
        boolean["rma_predicates"].as_u64() > boolean["sc_predicates"].as_u64(),
        "{row}"
    );
}

/// All constructions come to the same verdict; extrapolation asks no solver.
#[test]
fn constructions_agree() {
    for program in ["Queue", "Bluetooth"] {
        let rows = rows("rma", &["--constructions", "--program", program]);
        let methods: Vec<&Value> = rows.iter().map(|row| &row["method"]).collect();
        assert_eq!(methods, ["standard", "lazy", "program"], "{rows:?}");
        for row in &rows {
            assert_eq!(row["verdict"], "holds", "{row}");
            assert_eq!(row["certified"], true, "{row}");
        }
        assert_eq!(rows[2]["construction_calls"], 0, "{rows:?}");
        // The extrapolated program did it alone.
        assert_eq!(rows[2]["too_weak"], false, "{rows:?}");
        assert!(rows[2]["facts"].as_u64() > Some(0), "{rows:?}");
    }
}
