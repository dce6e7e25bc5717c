//! Laws on which the minimum rests: a bug with some fences is there with fewer; places that are no
//! candidates are not missed; runs with fences are runs without. (The minimum against all placements:
//! `crates/soak`.)

use crate::common;

use common::{everywhere, explored, gapped, soak};
use palisade_arbitrary::{Shape, generate};
use palisade_fences::{Cost, End, Level, Options, Placement, Plan, Rule, sites, synthesize};
use palisade_frontend::pal::Gapped;
use palisade_program::Model;
use palisade_verify::reduction::Reduction;

fn shape(seed: u64) -> Shape {
    let plain = Shape {
        fences: false,
        store_store: false,
        arrays: false,
        ..Shape::default()
    };
    match seed % 4 {
        0 => Shape {
            statements: 3,
            ..plain
        },
        1 => Shape {
            threads: 3,
            statements: 2,
            loops: false,
            ..plain
        },
        2 => Shape {
            statements: 3,
            fences: true,
            store_store: true,
            ..plain
        },
        _ => Shape {
            statements: 4,
            loops: false,
            atomics: false,
            ..plain
        },
    }
}

#[test]
fn fences_only_remove_runs() {
    let mut violated = 0;
    for seed in 0..soak(60) {
        let text = generate(seed, &shape(seed));
        let model = [Model::Tso, Model::Pso][seed as usize % 2];
        let gapped = gapped(&text);
        let sites = sites(&gapped.program, &gapped.gaps);
        let plan = Plan::new(&gapped.program, model, sites, &Rule::Count);
        let verdict = |p: &Placement| explored(&plan.switched(p), model);
        for decision in 0..plan.decisions.len() {
            let none = plan.nothing();
            let chain = [Level::None, Level::StoreStore, Level::Full];
            let verdicts: Vec<Option<bool>> = chain
                .iter()
                .map(|&l| verdict(&none.with(decision, l)))
                .collect();
            violated += u64::from(verdicts[0] == Some(false));
            for pair in verdicts.windows(2) {
                let gets_worse = pair[0] == Some(true) && pair[1] == Some(false);
                assert!(
                    !gets_worse,
                    "seed {seed} {model} decision {decision}\n{text}"
                );
            }
        }
    }
    assert!(violated > 20);
}

/// Places that are no candidates are not missed: with a candidate in every gap of the
/// text there is no cheaper repair.
#[test]
fn the_candidates_suffice() {
    let (mut compared, mut repaired) = (0, 0);
    let count = soak(200);
    for seed in 0..count {
        let text = generate(seed, &shape(seed));
        let model = [Model::Tso, Model::Pso][seed as usize % 2];
        let few = gapped(&text);
        let needs = explored(&few.program, Model::Sc) == Some(true)
            && explored(&few.program, model) == Some(false);
        if !needs {
            continue;
        }
        compared += 1;
        let least = |gapped: &Gapped| -> Option<Cost> {
            let sites = sites(&gapped.program, &gapped.gaps);
            let plan = Plan::new(&gapped.program, model, sites, &Rule::Count);
            let mut options = Options::default();
            options.verify.model = model;
            let outcome = synthesize(&plan, &options);
            match &outcome.end {
                End::Repaired(repairs) if outcome.is_minimum => {
                    Some(plan.cost(&repairs[0].placement))
                }
                _ => None,
            }
        };
        let cost = least(&few);
        assert_eq!(
            cost,
            least(&everywhere(&text)),
            "seed {seed} {model}\n{text}"
        );
        repaired += u64::from(cost.is_some());
    }
    println!("{compared} compared, {repaired} repaired");
    assert!(repaired * 20 > count);
}

/// A placement as a reduction: a run of the program with fences is one of the program
/// without.
#[test]
fn runs_with_fences_are_runs_without() {
    let mut replayed = 0;
    for seed in 0..soak(60) {
        let gapped = everywhere(&generate(seed, &shape(seed)));
        let model = [Model::Tso, Model::Pso][seed as usize % 2];
        let sites = sites(&gapped.program, &gapped.gaps);
        let plan = Plan::new(&gapped.program, model, sites, &Rule::Count);
        let mut placements = vec![plan.everything(), plan.nothing()];
        let single = (0..plan.decisions.len()).take(6);
        placements.extend(single.map(|d| plan.nothing().with(d, Level::Full)));
        for placement in placements {
            let placed = plan.placed(&placement);
            let limits = palisade_machine::Options {
                max_states: Some(5_000),
                workers: 1,
                ..palisade_machine::Options::new(model)
            };
            let found = palisade_machine::explore(placed.program(), &limits).expect("suits");
            let Some(run) = found.witness else { continue };
            let run = placed.run_back(run).expect("runs come back");
            let again = palisade_machine::replay(plan.program, &run.start, &run.actions);
            assert!(again.is_ok_and(|r| r.violation.is_some()), "seed {seed}");
            replayed += 1;
        }
    }
    assert!(replayed > 20, "{replayed}");
}
