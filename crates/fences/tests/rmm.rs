//! Fences in `.rmm` files: a fence in a gap means the same as in the patched text,
//! in lists, branches, loops, choices, and macros that are used several times.
#![allow(missing_docs)]

use std::path::Path;

use palisade_fences::Level;
use palisade_fences::patch::{Spelling, patched};
use palisade_frontend::{load, load_gapped};
use palisade_program::{Atomic, Cfg, CfgBuilder, FenceKind, Gap, Program, Source, Span, Step};

const PROGRAM: &str = "
    macro set(v, e) write: v := e endmacro
    macro enter(s) s; either { read: f[0] = 0 or LATE: nop; set(x, 2); s } endmacro
    forbidden CS CS
    data x = 0 : [0:3]
    process data f = 0 : [0:1] registers $r = 0 text
      L0: write: f[my] := 1;
      if $r = 0 then write: x := 1 else goto L0;
      if $r = 1 then if $r = 2 then OWN: read: x = 1;
      while $r < 1 do while $r < 2 do write: x := 3; /* no ; before the comment */
      locked { read: $r := x; write: x := 1 };
      enter(set(f[my], 1));
      { read: $r := x; $r := 0 };
      CS: either { write: x := 0; nop or M: read: x = 1 };
      goto L0;
      DEAD: read: x = 1
    process data f = 0 : [0:1] text
      locked write: f[my] := 1; CS: read: f[0] = 0; set(x, 1)";

/// The graph with all spans forgotten.
fn plain(cfg: &Cfg) -> Cfg {
    let mut graph = CfgBuilder::new();
    for _ in cfg.locs() {
        graph.loc();
    }
    for edge in &cfg.edges {
        let step = match &edge.step {
            Step::Atomic(atomic) => Step::Atomic(Box::new(Atomic {
                kind: atomic.kind,
                body: plain(&atomic.body),
            })),
            step => step.clone(),
        };
        graph.edge(edge.from, step, edge.to, Span::default());
    }
    graph.finish_whole(cfg.entry, cfg.exit)
}

fn graphs(program: &Program) -> Vec<Cfg> {
    program.templates.iter().map(|t| plain(&t.cfg)).collect()
}

/// Fences at these gaps: by candidates, and by the patched text.
fn check(gaps: &[Gap]) {
    let path = Path::new("t.rmm");
    let wanted = |gap: &Gap| gaps.contains(gap);
    let mut filled = load_gapped(path, PROGRAM, &wanted).expect("right").program;
    for template in &mut filled.templates {
        for edge in &mut template.cfg.edges {
            if edge.step == Step::Fence(FenceKind::Candidate) {
                edge.step = Step::Fence(FenceKind::Full);
            }
        }
    }
    let fences: Vec<(Gap, Level)> = gaps.iter().map(|gap| (*gap, Level::Full)).collect();
    let source = Source::new("t.rmm", PROGRAM);
    let text = patched(&source, &fences, &Spelling::rmm())
        .text()
        .to_owned();
    let parsed = load(path, &text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(graphs(&parsed.program), graphs(&filled), "{gaps:?}\n{text}");
}

#[test]
fn a_fence_in_a_gap_is_a_fence_in_the_text() {
    let all = load_gapped(Path::new("t.rmm"), PROGRAM, &|_| true).expect("right");
    assert!(all.gaps.len() > 25, "{}", all.gaps.len());
    let mut places: Vec<Span> = all.gaps.iter().map(|gap| gap.at).collect();
    places.dedup();
    assert_eq!(places.len(), all.gaps.len(), "two gaps at one place");
    for (i, gap) in all.gaps.iter().enumerate() {
        check(&[*gap]);
        check(&all.gaps[i..]);
    }
}
