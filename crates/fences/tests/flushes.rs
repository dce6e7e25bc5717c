//! Flushes: figure 2 of [Baumann et al., VMCAI 2018], the minimum against exhaustive search on random small
//! programs with processes, both searches, both starts, and the searches that count
//! pending operations to one and to two against the exact one.

use crate::common;

use common::{all_placements, explored, soak};
use palisade_arbitrary::{Shape, generate};
use palisade_fences::patch::{Spelling, patched};
use palisade_fences::{End, Options, Outcome, Placement, Plan, Rule, Search, sites, synthesize};
use palisade_frontend::pal::{self, Gapped};
use palisade_program::{Model, Side, Source, Verdict};

const FIGURE_2: &str = "process one {
    shared Y = 1;
}
process two {
    shared R = 0;
    shared X = 2;
    local r;
    put(Y, one, X);
    X = 3;
    R = get(Y, one);
    r = R;
}
finally (two.r != 3);
";

fn gapped(text: &str, side: Side) -> Gapped {
    let wanted = |gap: &palisade_program::Gap| gap.flush.is_some() && gap.side == side;
    pal::parse_gapped(Source::new("test.pal", text), &wanted)
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn plan(gapped: &Gapped) -> Plan<'_> {
    let sites = sites(&gapped.program, &gapped.gaps);
    Plan::new(&gapped.program, Model::Rma, sites, &Rule::Count)
}

fn found(plan: &Plan<'_>, search: Search) -> Outcome {
    let mut options = Options {
        all: true,
        search,
        ..Options::default()
    };
    options.verify.model = Model::Rma;
    synthesize(plan, &options)
}

/// The placements that were proved, sorted.
fn placements(outcome: &Outcome) -> Vec<Placement> {
    let End::Repaired(repairs) = &outcome.end else {
        return Vec::new();
    };
    let mut all: Vec<Placement> = repairs.iter().map(|r| r.placement.clone()).collect();
    all.sort();
    all
}

#[test]
fn figure_2_needs_the_flush_after_the_put() {
    let gapped = gapped(FIGURE_2, Side::After);
    let plan = plan(&gapped);
    assert_eq!(plan.sites.len(), 2, "after the put and after the get");
    for search in [Search::Exact, Search::Paper] {
        let outcome = found(&plan, search);
        let [only] = &placements(&outcome)[..] else {
            panic!("{search:?}: {:?}", outcome.end);
        };
        assert_eq!(plan.describe(only), "flush after line 8");
        assert_eq!(outcome.is_minimum, search == Search::Exact);
    }
}

#[test]
fn own_flushes_are_kept_or_taken_out() {
    let all = FIGURE_2
        .replace("put(Y, one, X);", "put(Y, one, X);\n    flush(one);")
        .replace("R = get(Y, one);", "R = get(Y, one); flush(all);");
    let gapped = gapped(&all, Side::At);
    let plan = plan(&gapped);
    assert_eq!(plan.sites.len(), 2);
    let outcome = found(&plan, Search::Exact);
    let [only] = &placements(&outcome)[..] else {
        panic!("{:?}", outcome.end);
    };
    let levels: Vec<_> = plan.sites_at(only);
    let levels: Vec<_> = levels.iter().map(|(s, level)| (s.gap, *level)).collect();
    let source = Source::new("test.pal", all.as_str());
    let text = patched(&source, &levels, &Spelling::pal())
        .text()
        .to_owned();
    assert!(
        text.contains("put(Y, one, X);\n    flush(one);\n"),
        "{text}"
    );
    assert!(!text.contains("flush(all)"), "{text}");
    let program = pal::parse(Source::new("patched.pal", text)).expect("right");
    assert_eq!(explored(&program.program, Model::Rma), Some(true));
}

/// All placements that the machine finds right, with the fewest flushes.
fn exhaustive(plan: &Plan<'_>) -> Option<Vec<Placement>> {
    let mut all = all_placements(plan);
    all.sort_by_key(|p| plan.cost(p));
    let mut best: Vec<Placement> = Vec::new();
    for placement in all {
        let cost = plan.cost(&placement);
        if best.first().is_some_and(|b| plan.cost(b) < cost) {
            break;
        }
        if explored(&plan.switched(&placement), Model::Rma)? {
            best.push(placement);
        }
    }
    best.sort();
    Some(best)
}

fn shape(seed: u64) -> Shape {
    Shape {
        remote_atomics: seed.is_multiple_of(3),
        fences: seed.is_multiple_of(2),
        asserts: false,
        statements: 3,
        ..Shape::rma()
    }
}

#[test]
fn as_few_as_the_best_of_all_placements() {
    let (mut compared, mut repaired, mut hopeless) = (0, 0, 0);
    for seed in 0..soak(250) {
        let text = generate(seed, &shape(seed));
        let gapped = gapped(&text, Side::After);
        let plan = plan(&gapped);
        if plan.decisions.len() > 5 || explored(&gapped.program, Model::Sc) != Some(true) {
            continue;
        }
        let Some(best) = exhaustive(&plan) else {
            continue;
        };
        compared += 1;
        let exact = found(&plan, Search::Exact);
        let context = format!("seed {seed}: {:?}\n{text}", exact.end);
        assert!(exact.undecided.is_empty(), "finite programs; {context}");
        assert_eq!(placements(&exact), best, "{context}");
        let paper = found(&plan, Search::Paper);
        if best.is_empty() {
            assert!(matches!(exact.end, End::NoRepair(_)), "{context}");
            assert!(matches!(paper.end, End::NoRepair(_)), "{context}");
            hopeless += 1;
            continue;
        }
        assert!(exact.is_minimum && exact.is_complete, "{context}");
        assert_eq!(placements(&paper), best, "the paper's search; {context}");
        repaired += u32::from(plan.cost(&best[0]) != palisade_fences::Cost::default());
    }
    println!("{compared} compared, {repaired} repaired, {hopeless} beyond repair");
    // Most random programs need no flush; a few that do are among them.
    assert!(compared > 60 && repaired > 1);
}

/// Messages: one process puts data and flags in some order and changes what it sends, another
/// reads them once. Nearly all that are right under SC need flushes.
fn message(seed: u64) -> String {
    const STEPS: [&str; 6] = [
        "put(x, reader, one);",
        "put(y, reader, one);",
        "put(x, reader, two);",
        "q = get(x, reader);",
        "two = 0;",
        "one = 1;",
    ];
    let mut rest = seed;
    let mut steps = String::new();
    for _ in 0..4 {
        steps.push_str(STEPS[rest as usize % STEPS.len()]);
        steps.push(' ');
        rest /= STEPS.len() as u64;
    }
    format!(
        "process writer {{ shared one = 1; shared two = 2; shared q = 0; {steps} }}\n\
         process reader {{ shared x = 0; shared y = 0; local r = 0; local s = 0; r = y; s = x; }}\n\
         finally (reader.r != 1 || reader.s != 0);\n"
    )
}

#[test]
fn messages_get_as_few_as_the_best_of_all_placements() {
    let (mut compared, mut repaired) = (0, 0);
    // All sequences are 6^4; a step that is prime to it visits them in a mixed order.
    for number in 0..soak(60) {
        let text = message(number * 211 % 1296);
        let gapped = gapped(&text, Side::After);
        let plan = plan(&gapped);
        if explored(&gapped.program, Model::Sc) != Some(true) {
            continue;
        }
        let Some(best) = exhaustive(&plan) else {
            continue;
        };
        compared += 1;
        let exact = found(&plan, Search::Exact);
        assert_eq!(placements(&exact), best, "{:?}\n{text}", exact.end);
        assert!(exact.is_minimum && exact.is_complete, "{text}");
        let Some(first) = best.first() else { continue };
        repaired += u32::from(plan.cost(first) != palisade_fences::Cost::default());
        for decision in 0..first.0.len() {
            let fewer = first.with(decision, palisade_fences::Level::None);
            if fewer != *first {
                assert!(exact.has_bug(&plan, &fewer), "{text}");
            }
        }
    }
    println!("{compared} compared, {repaired} repaired");
    assert!(compared > 20 && repaired > 8, "{compared}, {repaired}");
}

/// What is proved with counted operations holds, and what is violated was replayed.
#[test]
fn counting_loses_no_bug() {
    let (mut held, mut violated, mut unknown) = (0, 0, 0);
    for seed in 0..soak(300) {
        let text = generate(seed, &shape(seed));
        let program = pal::parse(Source::new("t.pal", text.as_str())).expect("right");
        let Some(exact) = explored(&program.program, Model::Rma) else {
            continue;
        };
        let options = palisade_machine::Options {
            saturate: Some(1 + seed as usize % 2),
            workers: 1,
            ..palisade_machine::Options::new(Model::Rma)
        };
        let counted = palisade_machine::explore(&program.program, &options).expect("fits");
        match counted.verdict {
            Verdict::Holds => assert!(exact, "seed {seed}\n{text}"),
            Verdict::Violated(_) => assert!(!exact, "seed {seed}\n{text}"),
            Verdict::Unknown(_) => unknown += 1,
        }
        held += u32::from(exact);
        violated += u32::from(!exact);
    }
    println!("{held} held, {violated} violated, {unknown} unknown");
    assert!(held > 50 && violated > 50 && unknown * 5 < held + violated);
}

/// A loop that issues operations without end is proved; its twin is not.
#[test]
fn any_number_of_operations_is_covered() {
    let text = |sent: &str| {
        format!(
            "process a {{ shared X = 0; }}\n\
             process b {{ shared Y = {sent}; while (1) {{ put(X, a, Y); }} }}\n\
             never X == 2;\n"
        )
    };
    for (sent, verdict) in [("1", "holds"), ("2", "violated")] {
        let parsed = pal::parse(Source::new("t.pal", text(sent))).expect("right");
        let options = palisade_machine::Options {
            saturate: Some(2),
            ..palisade_machine::Options::new(Model::Rma)
        };
        let found = palisade_machine::explore(&parsed.program, &options).expect("fits");
        let word = match found.verdict {
            Verdict::Holds => "holds",
            Verdict::Violated(_) => "violated",
            Verdict::Unknown(_) => "unknown",
        };
        assert_eq!(word, verdict, "{sent}");
    }
}
