//! Patched text is the program that was meant: for every example and for texts
//! with awkward places, reading the patched text gives the same program, step by
//! step, as putting the fences into the syntax tree.

use std::fs;
use std::path::Path;

use palisade_fences::patch::{Spelling, patched};
use palisade_fences::{Level, diff};
use palisade_frontend::pal;
use palisade_program::{Cfg, FenceKind, Gap, Program, Source, Step};

fn gaps(text: &str) -> Vec<Gap> {
    let source = Source::new("test.pal", text);
    let gapped = pal::parse_gapped(source, &|_| true);
    gapped.unwrap_or_else(|e| panic!("{e}\n{text}")).gaps
}

/// The program with fences put into the tree.
fn in_tree(text: &str, fences: &[(Gap, Level)]) -> Program {
    let wanted = |gap: &Gap| fences.iter().any(|(g, _)| g == gap);
    let source = Source::new("test.pal", text);
    let gapped = pal::parse_gapped(source, &wanted).expect("it was read before");
    let mut program = gapped.program;
    for template in &mut program.templates {
        for edge in &mut template.cfg.edges {
            if edge.step == Step::Fence(FenceKind::Candidate) {
                let level = fences.iter().find(|(gap, _)| gap.at == edge.span);
                edge.step = Step::Fence(match level.expect("a wanted gap").1 {
                    Level::Full => FenceKind::Full,
                    Level::StoreStore => FenceKind::StoreStore,
                    Level::None => FenceKind::Candidate,
                });
            }
        }
    }
    program
}

fn same_code(a: &Cfg, b: &Cfg) -> bool {
    let same = |x: &Step, y: &Step| match (x, y) {
        (Step::Atomic(x), Step::Atomic(y)) => x.kind == y.kind && same_code(&x.body, &y.body),
        (x, y) => x == y,
    };
    a.entry == b.entry
        && a.exit == b.exit
        && a.edges.len() == b.edges.len()
        && a.edges
            .iter()
            .zip(&b.edges)
            .all(|(x, y)| x.from == y.from && x.to == y.to && same(&x.step, &y.step))
}

fn same_program(a: &Program, b: &Program) -> bool {
    let labels = |p: &Program| -> Vec<(String, u32)> {
        let labels = p.templates.iter().flat_map(|t| &t.labels);
        labels.map(|l| (l.name.clone(), l.loc.0)).collect()
    };
    let conditions =
        |p: &Program| -> Vec<_> { p.properties.iter().map(|p| p.cond.clone()).collect() };
    a.templates.len() == b.templates.len()
        && a.templates
            .iter()
            .zip(&b.templates)
            .all(|(x, y)| same_code(&x.cfg, &y.cfg))
        && labels(a) == labels(b)
        && conditions(a) == conditions(b)
}

/// Checks these fences; returns the patched text.
fn check(text: &str, fences: &[(Gap, Level)]) -> String {
    let new = patched(&Source::new("test.pal", text), fences, &Spelling::pal())
        .text()
        .to_owned();
    let parsed = pal::parse(Source::new("test.pal", new.as_str()));
    let parsed = parsed.unwrap_or_else(|e| panic!("{e}\n{new}"));
    let meant = in_tree(text, fences);
    assert!(same_program(&parsed.program, &meant), "{fences:?}\n{new}");
    new
}

/// Each gap alone, every other one, and all of them.
fn check_all(text: &str) -> usize {
    let gaps = gaps(text);
    let with = |chosen: &dyn Fn(usize) -> bool| -> Vec<(Gap, Level)> {
        let chosen = gaps.iter().enumerate().filter(|(i, _)| chosen(*i));
        let level = |i: usize| [Level::Full, Level::StoreStore][i % 2];
        chosen.map(|(i, gap)| (*gap, level(i))).collect()
    };
    for index in 0..gaps.len() {
        check(text, &with(&|i| i == index));
    }
    for rest in 0..3 {
        check(text, &with(&|i| i % 3 == rest));
    }
    check(text, &with(&|_| true));
    gaps.len()
}

#[test]
fn every_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files = 0;
    for folder in [folder.clone(), folder.join("fence")] {
        let entries = fs::read_dir(folder).expect("the examples are there");
        let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        for path in paths {
            let text = match path.extension().and_then(|e| e.to_str()) {
                Some("pal") => fs::read_to_string(&path).expect("a text"),
                Some(_) | None => continue,
            };
            // Gaps of processes are for flushes, not for fences.
            if gaps(&text).iter().any(|gap| gap.flush.is_some()) {
                continue;
            }
            check_all(&text);
            check_all(&text.replace('\n', "\r\n"));
            files += 1;
        }
    }
    assert!(files > 20);
}

#[test]
fn awkward_places() {
    let text = "\
shared x, y, z;
fn twice(v) { x = v; if (v == 1) y = v; else { z = v; } return v; }
fn inside() { x = 1; y = 1; }
thread t[2] { x = 1; y = 2; local r = x; /* c */ z = r; // end
    if (x == 1) y = 1; else if (y == 1) z = 2; else for (r = 0; r < 2; r++) x = r;
    while (x == 1) y = 3;
    while (y == 1) { if (z == 1) { x = 2; } }
    while (y == 1 && x == 0) { x = 2;
        continue; }
    do x = 3; while (y == 2);
    if (x == 2) if (y == 2) z = 1; else x = 7;
    a: b: x = 5; goto c;
    c: r = twice(1); { x = r; }
    atomic { inside(); x = 2; y = 1; }
    choose { x = 1; } or { assume(y == 1); } or { }
    while (x == 9) { if (y == 8) break; x = 10; }
    cas(x, 0, 1); lock(z); unlock(z);
    if (r == 1) { return; }
    x = 4; end: }
finally x >= 0;
";
    assert!(check_all(text) > 40);
    assert!(gaps(text).iter().any(|gap| gap.lonely));
    assert!(gaps(text).iter().any(|gap| gap.head.is_some()));
}

#[test]
fn no_gap_where_an_atomic_block_calls() {
    let text = "shared x, y;\nfn f() { x = 1; y = 1; }\nfn g() { f(); }\n\
                thread t { atomic { g(); } x = 2; }\n";
    let places: Vec<_> = gaps(text).iter().map(|gap| gap.at.start).collect();
    let thread = text.find("thread").expect("it is there") as u32;
    assert!(!places.is_empty() && places.iter().all(|at| *at > thread));
}

#[test]
fn marked_places_only() {
    let text = "shared x, y;\nthread t { x = 1; fence?; y = 1; if (x == 1) fence?; }\n";
    let gaps = gaps(text);
    assert_eq!(gaps.len(), 2);
    let new = check(
        text,
        &[(gaps[0], Level::StoreStore), (gaps[1], Level::Full)],
    );
    assert!(new.contains("x = 1; fence(ss); y = 1; if (x == 1) fence; }"));
}

#[test]
fn lines_and_indentation() {
    let text = "shared x, y;\nthread t {\n    x = 1; // one\n    y = 1; x = 2;\n}\n";
    let all: Vec<_> = gaps(text).iter().map(|g| (*g, Level::Full)).collect();
    let new = check(text, &all);
    let expected = "shared x, y;\nthread t {\n    fence;\n    x = 1; // one\n    fence;\n    \
                    y = 1; fence; x = 2; fence;\n}\n";
    assert_eq!(new, expected);
    let diff = diff::unified("a", "b", text, &new);
    let expected = "--- a\n+++ b\n@@ -1,5 +1,7 @@\n shared x, y;\n thread t {\n+    fence;\n     \
                    x = 1; // one\n-    y = 1; x = 2;\n+    fence;\n+    y = 1; fence; x = 2; \
                    fence;\n }\n";
    assert_eq!(diff, expected);
}
