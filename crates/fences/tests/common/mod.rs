//! What the tests share: plans from text, and explorations.

#![allow(dead_code)] // not every test file uses all of it

use palisade_fences::{Options, Outcome, Placement, Plan, Rule, sites, synthesize, useful};
use palisade_frontend::pal::{self, Gapped};
use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Verdict};

/// How many times more to do than usual: `PALISADE_SOAK`.
pub(crate) fn soak(count: u64) -> u64 {
    let factor = std::env::var("PALISADE_SOAK").ok();
    count * factor.and_then(|f| f.parse().ok()).unwrap_or(1)
}

/// The program with candidates at the places that can matter.
pub(crate) fn gapped(text: &str) -> Gapped {
    let read = |wanted: &dyn Fn(&palisade_program::Gap) -> bool| {
        pal::parse_gapped(Source::new("test.pal", text), wanted)
            .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
    };
    let all = read(&|_| true);
    let kept = useful(&all.program, &all.gaps, Model::Pso);
    read(&|gap| kept.contains(&gap.at))
}

/// The program with a candidate in every gap.
pub(crate) fn everywhere(text: &str) -> Gapped {
    pal::parse_gapped(Source::new("test.pal", text), &|_| true)
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// Synthesises fences, with all placements of minimum cost.
pub(crate) fn synthesized(text: &str, model: Model, rule: &Rule, options: &Options) -> Found {
    let gapped = gapped(text);
    let sites = sites(&gapped.program, &gapped.gaps);
    let plan = Plan::new(&gapped.program, model, sites, rule);
    let options = Options {
        verify: palisade_verify::Options {
            model,
            ..options.verify.clone()
        },
        ..options.clone()
    };
    let outcome = synthesize(&plan, &options);
    let described = match &outcome.end {
        palisade_fences::End::Repaired(repairs) => repairs
            .iter()
            .map(|r| plan.describe(&r.placement))
            .collect(),
        palisade_fences::End::WrongUnderSc(_)
        | palisade_fences::End::NoRepair(_)
        | palisade_fences::End::TooFew(_)
        | palisade_fences::End::Unknown(_) => Vec::new(),
    };
    Found { outcome, described }
}

/// What came out, and the repairs in words.
pub(crate) struct Found {
    pub(crate) outcome: Outcome,
    pub(crate) described: Vec<String>,
}

/// The exact verdict of an exploration, if it is one.
pub(crate) fn explored(program: &Program, model: Model) -> Option<bool> {
    let options = palisade_machine::Options {
        buffer: Some(8),
        max_states: Some(20_000),
        workers: 1,
        ..palisade_machine::Options::new(model)
    };
    match explore(program, &options).ok()?.verdict {
        Verdict::Holds => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// All placements of a plan.
pub(crate) fn all_placements(plan: &Plan<'_>) -> Vec<Placement> {
    let mut all = vec![Placement(Vec::new())];
    for _ in 0..plan.decisions.len() {
        let extended = all.iter().flat_map(|p| {
            let levels = [palisade_fences::Level::None];
            let levels = levels.into_iter().chain(plan.levels().iter().copied());
            levels.map(|l| Placement(p.0.iter().copied().chain([l]).collect()))
        });
        all = extended.collect();
    }
    all
}
