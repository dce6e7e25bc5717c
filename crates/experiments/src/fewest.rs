//! *The fewest fences* of the programs of [Dan et al., SAS 2013, section 6.2], searched: for each
//! program and number of cells a smallest set of its candidates (`fence?;`) with which `verify`
//! proves it under TSO, and one under PSO. The paper claims that these differ.
//!
//! More fences leave fewer runs, so that a set suffices if a part of it does. A candidate is
//! *needed* if all others together do not suffice; every sufficient set has all needed ones, and
//! only sets that do are tried, by size. A set that is neither proved nor refuted counts as one
//! that does not suffice, and the row says how many there were.

use std::collections::BTreeMap;

use palisade_frontend::pal;
use palisade_program::{Bound, Model, Source, Unknown, Verdict};
use palisade_verify::{Buffers, Options, Sizes, verify};
use serde_json::{Value, json};

use crate::cupex::{candidates, fenced};
use crate::suite::{Files, text};
use crate::{Case, Error, Plan, Request, Row};

/// The models compared.
const MODELS: [Model; 2] = [Model::Tso, Model::Pso];

const LEGEND: &str = "\
the fewest fences with which buffers of k cells suffice and the program holds: so many, and which of \
the program's candidates; sets: placements that were verified
";

const COLUMNS: &str = "\
program < | {program}              |
k       > | {cells}                |
places  > | {candidates}           |
tso     > | {tso}                  |
which   < | {tso_set}              |
pso     > | {pso}                  |
which   < | {pso_set}              |
sets    > | {sets}                 |
seconds > | {stats.cpu_seconds:.2} |
        < | {remark}               |";

pub(crate) fn plan(request: &Request) -> Result<Plan, Error> {
    if request.model.is_some() {
        let why = "both models are compared; leave --model out";
        return Err(Error::Model(why));
    }
    let files = Files {
        name: "cupex",
        request,
    };
    let mut cases = Vec::new();
    for entry in &files.programs()? {
        let name = text(entry, "name")?.to_owned();
        let source = files.read(text(entry, "program")?)?;
        for cells in 1..=3 {
            if request.cells.is_some_and(|only| only != cells) {
                continue;
            }
            let (name, source) = (name.clone(), source.clone());
            cases.push(Case {
                table: Some(0),
                group: String::new(),
                paper: Vec::new(),
                run: Box::new(move |request| measure(request, &name, &source, cells)),
            });
        }
    }
    Ok(Plan::of_one(LEGEND, COLUMNS, cases))
}

fn measure(request: &Request, name: &str, source: &Source, cells: u32) -> Row {
    let mut value = json!({
        "program": name,
        "cells": cells,
        "candidates": candidates(source.text()),
        "stats": {},
    });
    let mut remarks = Vec::new();
    let mut sets = 0;
    for model in MODELS {
        let mut search = Search {
            source,
            options: Options {
                buffers: Buffers::Bounded(Sizes {
                    default: cells,
                    named: BTreeMap::new(),
                }),
                falsify: true,
                ..request.verification(model)
            },
            sets: 0,
            undecided: 0,
        };
        let found = search.fewest();
        sets += search.sets;
        if search.undecided > 0 {
            remarks.push(format!("{model}: {} sets undecided", search.undecided));
        }
        let is_late = search.options.is_over();
        value[model.to_string()] = match &found {
            Some(set) if !is_late => json!(set.len()),
            Some(_) | None => json!(if is_late { "T/O" } else { "none suffice" }),
        };
        let set = found.filter(|_| !is_late).unwrap_or_default();
        let words: Vec<String> = set.iter().map(usize::to_string).collect();
        value[format!("{model}_set")] = json!(words.join(" "));
    }
    value["sets"] = json!(sets);
    value["remark"] = json!(remarks.join("; "));
    Row {
        value,
        shown: Value::Object(serde_json::Map::new()),
    }
}

/// The search for one program under one model.
struct Search<'s> {
    source: &'s Source,
    options: Options,
    /// Placements that were verified.
    sets: usize,
    /// Those of them that were neither proved nor refuted.
    undecided: usize,
}

impl Search<'_> {
    /// A smallest set that suffices; `None` if not even all candidates do.
    fn fewest(&mut self) -> Option<Vec<usize>> {
        let all: Vec<usize> = (1..=candidates(self.source.text())).collect();
        if !self.suffices(&all) {
            return None;
        }
        let without = |n: usize| -> Vec<usize> {
            let rest = all.iter().copied().filter(|other| *other != n);
            rest.collect()
        };
        let mut needed = Vec::new();
        let mut others = Vec::new();
        for &n in &all {
            if self.suffices(&without(n)) {
                others.push(n);
            } else {
                needed.push(n);
            }
        }
        let tried = (0..=others.len()).flat_map(|size| subsets(&others, size));
        for more in tried {
            let mut set = [needed.clone(), more].concat();
            set.sort_unstable();
            if self.options.is_over() || set == all || self.suffices(&set) {
                return Some(set);
            }
        }
        None
    }

    /// Whether the program holds with these fences, in buffers of the given size.
    fn suffices(&mut self, set: &[usize]) -> bool {
        let text = fenced(self.source.text(), set).unwrap_or_default();
        let Ok(parsed) = pal::parse(Source::new(self.source.name(), text)) else {
            return false;
        };
        self.sets += 1;
        let verdict = verify(&parsed.program, &self.options).verdict;
        let is_overflow = |bound: &Bound| matches!(bound, Bound::BufferOverflow(_));
        match verdict {
            Verdict::Holds => true,
            Verdict::Violated(_) => false,
            Verdict::Unknown(Unknown::Bound(bounds)) if bounds.iter().all(is_overflow) => false,
            Verdict::Unknown(_) => {
                self.undecided += 1;
                false
            }
        }
    }
}

/// All subsets of this size, in the order of their elements.
fn subsets(all: &[usize], size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for (at, first) in all.iter().enumerate() {
        for mut rest in subsets(&all[at + 1..], size - 1) {
            rest.insert(0, *first);
            found.push(rest);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Suite;

    #[test]
    fn peterson_needs_fewer_fences_under_tso() {
        let request = Request {
            program: Some("Peterson".to_owned()),
            cells: Some(3),
            ..Request::all(Suite::FewestFences)
        };
        let results = crate::run(&request).expect("the suite can be read");
        let row = &results.rows[0];
        assert_eq!((&row["tso"], &row["pso"]), (&json!(2), &json!(4)), "{row}");
        assert_eq!(row["tso_set"], "2 5");
    }

    #[test]
    fn subsets_of_a_size() {
        let all = [1, 2, 3];
        assert_eq!(subsets(&all, 0), [Vec::<usize>::new()]);
        assert_eq!(subsets(&all, 2), [vec![1, 2], vec![1, 3], vec![2, 3]]);
        assert_eq!(subsets(&all, 4), Vec::<Vec<usize>>::new());
    }
}
