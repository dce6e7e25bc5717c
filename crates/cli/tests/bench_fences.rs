//! `palisade bench fences`: [Abdulla et al., SAS 2012, table 1]. The paper's fences under TSO, and
//! ours under PSO, each proved to be the fewest, certified, without hints.

use crate::bench_support;

use bench_support::rows;
use serde_json::Value;

/// Full fences under TSO, full and store-store fences under PSO, for each process.
const EXPECTED: [(&str, u64, (u64, u64)); 8] = [
    ("Burns", 1, (1, 0)),
    ("Simple Dekker", 1, (1, 0)),
    ("Full Dekker", 1, (1, 0)),
    ("Dijkstra", 1, (1, 0)),
    ("Lamport Bakery", 2, (2, 0)),
    ("Lamport Fast", 2, (2, 1)),
    ("Peterson", 1, (1, 1)),
    ("Linux Ticket Lock", 0, (0, 0)),
];

fn row<'r>(rows: &'r [Value], program: &str, model: &str) -> &'r Value {
    let mut found = rows
        .iter()
        .filter(|row| row["program"] == program && row["model"] == model);
    let row = found.next().unwrap_or_else(|| panic!("no {program}"));
    assert!(found.next().is_none(), "{program} twice");
    row
}

#[test]
fn the_published_fences_are_the_fewest() {
    let rows = rows("fences", &[]);
    assert_eq!(rows.len(), 2 * EXPECTED.len());
    for (program, tso, pso) in EXPECTED {
        for (model, (full, store_store)) in [("tso", (tso, 0)), ("pso", pso)] {
            let row = row(&rows, program, model);
            assert_eq!(row["verdict"], "holds", "{row}");
            assert_eq!(row["certified"], true, "{row}");
            assert_eq!(row["minimum"], "proved", "{row}");
            assert_eq!(row["fences_per_process"]["full"], full, "{row}");
            assert_eq!(row["fences_per_process"]["ss"], store_store, "{row}");
        }
        let paper = &row(&rows, program, "tso")["paper"];
        assert_eq!(paper["fences_per_process"], tso, "{program}");
    }
}

#[test]
fn one_program_under_one_model() {
    let rows = rows("fences", &["--model", "pso", "--program", "burns"]);
    assert_eq!(rows.len(), 1);
    assert!(rows[0]["paper"].is_null());
}
