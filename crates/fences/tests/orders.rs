//! Memory orders under RC11 against exhaustive search: every placement of orders and fences of a
//! random small program is explored by the machine; the search must find the least cost, and with
//! `all` the same placements. The law on which clauses rest is checked along: a bug with
//! some orders is there with weaker ones.

use crate::common;

use std::collections::BTreeSet;

use common::soak;
use palisade_arbitrary::ordered::{Op, text};
use palisade_fences::orders::{End, Plan, Rule, Start, Words, search};
use palisade_fences::{Options, sites, useful};
use palisade_frontend::pal::{self, Gapped};
use palisade_machine::{Exploration, explore};
use palisade_program::random::Rng;
use palisade_program::{Model, Order, Orders, Program, Source, Verdict};

/// Most placements that are explored one by one.
const MOST: usize = 300;

fn gapped(text: &str) -> Gapped {
    let read = |wanted: &dyn Fn(&palisade_program::Gap) -> bool| {
        pal::parse_gapped_ordered(Source::new("test.pal", text), Orders::Kept, wanted)
            .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
    };
    let all = read(&|_| true);
    let kept = useful(&all.program, &all.gaps, Model::Rc11);
    read(&|gap| kept.contains(&gap.at))
}

fn explored(program: &Program) -> Exploration {
    let options = palisade_machine::Options {
        buffer: None,
        collect_finals: true,
        shortest: false,
        workers: 1,
        ..palisade_machine::Options::new(Model::Rc11)
    };
    explore(program, &options).expect("it has a meaning")
}

fn is_right(program: &Program) -> bool {
    match explored(program).verdict {
        Verdict::Holds => true,
        Verdict::Violated(_) => false,
        Verdict::Unknown(why) => panic!("{why}"),
    }
}

/// The values of all threads' locals at the end.
fn outcomes(
    threads: &[Vec<Op>],
    cells: usize,
    order: fn(Op) -> Option<Op>,
) -> BTreeSet<Vec<Vec<i64>>> {
    let changed = |ops: &Vec<Op>| ops.iter().filter_map(|op| order(*op)).collect();
    let threads: Vec<Vec<Op>> = threads.iter().map(changed).collect();
    let found = explored(&gapped(&text(&threads, cells)).program);
    found.finals.iter().map(|f| f.locals.clone()).collect()
}

fn with(op: Op, order: Order) -> Option<Op> {
    Some(match op {
        Op::Load(c, _) => Op::Load(c, order),
        Op::Store(c, v, _) => Op::Store(c, v, order),
        Op::Update(c, v, _) => Op::Update(c, v, order),
        Op::Fence(_) if order == Order::Relaxed => return None,
        Op::Fence(_) => Op::Fence(order),
    })
}

fn relaxed(op: Op) -> Option<Op> {
    with(op, Order::Relaxed)
}

fn strongest(op: Op) -> Option<Op> {
    with(op, Order::SeqCst)
}

/// Two accesses of two locations, and sometimes a fence between them.
fn two(rng: &mut Rng, value: i64) -> Vec<Op> {
    use Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let first = rng.below(2);
    let mut op = |cell: usize, value: i64| match rng.below(9) {
        0..4 => Op::Store(cell, value, *rng.pick(&[Relaxed, Release, SeqCst])),
        4..8 => Op::Load(cell, *rng.pick(&[Relaxed, Acquire, SeqCst])),
        _ => Op::Update(cell, value, *rng.pick(&[Relaxed, Acquire, Release, AcqRel])),
    };
    let mut ops = vec![op(first, value), op(1 - first, value + 1)];
    if rng.below(3) == 0 {
        ops.insert(1, Op::Fence(*rng.pick(&[Acquire, Release, AcqRel, SeqCst])));
    }
    ops
}

/// A program that forbids an outcome which relaxed orders allow, and the strongest do not; one
/// in eight forbids one that all allow.
fn forbidding(rng: &mut Rng) -> Option<String> {
    let cells = 2;
    let threads = [two(rng, 1), two(rng, 3)];
    let weak = outcomes(&threads, cells, relaxed);
    let strong = outcomes(&threads, cells, strongest);
    let hopeless = rng.below(8) == 0;
    let extra: Vec<_> = weak
        .iter()
        .filter(|o| strong.contains(*o) == hopeless)
        .collect();
    if extra.is_empty() {
        return None;
    }
    let outcome = extra[rng.below(extra.len())];
    let mut conjuncts = Vec::new();
    for (t, ops) in threads.iter().enumerate() {
        let reads = ops.iter().enumerate().filter(|(_, op)| op.reads());
        for ((i, _), value) in reads.zip(&outcome[t]) {
            conjuncts.push(format!("t{t}.r{i} == {value}"));
        }
    }
    if conjuncts.is_empty() {
        return None;
    }
    let body = text(&threads, cells);
    Some(format!("{body}finally !({});\n", conjuncts.join(" && ")))
}

/// All placements; nothing if they are too many.
fn all_placements(plan: &Plan<'_>) -> Option<Vec<Vec<usize>>> {
    let mut all = vec![Vec::new()];
    for decision in &plan.decisions {
        let may = |l: &usize| decision.choice.allowed & (1 << l) != 0;
        let levels: Vec<usize> = (0..decision.levels.len()).filter(may).collect();
        let with = |p: &Vec<usize>| {
            let p = p.clone();
            let each = levels.iter().map(move |&l| [p.clone(), vec![l]].concat());
            each.collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
        if all.len() > MOST {
            return None;
        }
    }
    Some(all)
}

#[test]
fn as_cheap_as_the_best_of_all_placements() {
    let mut rng = Rng::new(24);
    let (mut compared, mut fenced, mut hopeless, mut pairs) = (0, 0, 0, 0);
    for number in 0..soak(300) {
        let Some(text) = forbidding(&mut rng) else {
            continue;
        };
        let gapped = gapped(&text);
        let start = [Start::Own, Start::Relaxed, Start::SeqCst][number as usize % 3];
        let sites = sites(&gapped.program, &gapped.gaps);
        let plan = Plan::new(&gapped.program, Words::Pal, start, sites, &Rule::default());
        let Some(all) = all_placements(&plan) else {
            continue;
        };
        let right: Vec<bool> = all.iter().map(|p| is_right(&plan.switched(p))).collect();
        for (p, _) in all.iter().zip(&right).filter(|(_, right)| !**right).take(8) {
            for (q, right) in all.iter().zip(&right) {
                let mut both = plan.decisions.iter().zip(p).zip(q);
                if both.all(|((d, &p), &q)| d.levels[q].is_below(d.levels[p])) {
                    assert!(!right, "weaker orders mend a bug: {p:?} {q:?}\n{text}");
                    pairs += 1;
                }
            }
        }
        let good = all.iter().zip(&right).filter(|(_, right)| **right);
        let least = good.clone().map(|(p, _)| plan.cost(p)).min();
        let good = good.map(|(p, _)| p);
        let best: BTreeSet<_> = good.filter(|p| Some(plan.cost(p)) == least).collect();
        let mut options = Options {
            all: true,
            ..Options::default()
        };
        options.verify.model = Model::Rc11;
        let outcome = search(&plan, &options);
        match &outcome.end {
            End::Proved(found) => {
                assert!(found.iter().all(|(_, report)| report.certified), "{text}");
                assert!(outcome.is_minimum && outcome.is_complete, "{text}");
                let found: BTreeSet<_> = found.iter().map(|(p, _)| p).collect();
                assert_eq!(found, best, "program {number} {start:?}\n{text}");
                compared += 1;
                let has_fence =
                    |p: &&Vec<usize>| plan.switched(p) != plan.switched(&vec![0; p.len()]);
                fenced += u64::from(found.iter().any(has_fence));
            }
            End::Wrong(_) => {
                assert!(best.is_empty(), "program {number}: {best:?}\n{text}");
                hopeless += 1;
            }
            End::TooFew(_) | End::Unknown(_) => panic!("{:?}\n{text}", outcome.end),
        }
    }
    println!("{compared} compared, {fenced} with orders, {hopeless} hopeless, {pairs} pairs");
    assert!(compared >= 10 && fenced >= 5 && hopeless >= 1 && pairs >= 500);
}
