//! Fences: every placement of a small program is explored, by increasing cost. Synthesis must
//! find the same least cost, and, asked for all, the same placements.

use palisade_fences::{
    Cost, End, Level, Options, Placement, Plan, Rule, sites, synthesize, useful,
};
use palisade_frontend::pal::{self, Gapped};
use palisade_program::{Model, Program, Source};

use super::concrete;
use crate::{Difference, Outcome};

/// Placements that are explored one by one, at most.
const MOST: usize = 250;

/// The least placements, found twice. Programs that need no fence count as `Holds`, those that
/// some repair as `Violated`.
pub(crate) fn fewest_fences(
    seed: u64,
    text: &str,
    program: &Program,
) -> Result<Outcome, Difference> {
    let model = [Model::Tso, Model::Pso][seed as usize % 2];
    let (Some(sc), Some(weak)) = (concrete(program, Model::Sc), concrete(program, model)) else {
        return Ok(Outcome::Skipped);
    };
    // Programs that need nothing or are wrong are many; a few are enough.
    if (weak || !sc) && seed % 8 > 1 {
        return Ok(Outcome::Skipped);
    }
    let Some(gapped) = gapped(text) else {
        return Ok(Outcome::Skipped);
    };
    let sites = sites(&gapped.program, &gapped.gaps);
    let plan = Plan::new(&gapped.program, model, sites, &Rule::Count);
    let levels = plan.levels().len() + 1;
    if levels.pow(plan.decisions.len().min(20) as u32) > MOST {
        return Ok(Outcome::Skipped);
    }
    let Some(best) = exhaustive(&plan) else {
        return Ok(Outcome::Skipped);
    };
    let mut options = Options {
        all: true,
        ..Options::default()
    };
    options.verify.model = model;
    let outcome = synthesize(&plan, &options);
    let differs = |what: &str| Err(format!("{model}: {what}: {:?}", outcome.end));
    match &outcome.end {
        End::Repaired(repairs) => {
            let mut found: Vec<Placement> = repairs.iter().map(|r| r.placement.clone()).collect();
            found.sort();
            if repairs.iter().any(|r| !r.report.certified) {
                return differs("not certified");
            }
            let wrong = |p: &Placement| concrete(&plan.switched(p), model) == Some(false);
            if found.iter().any(wrong) {
                return differs("a repair does not repair");
            }
            if !outcome.undecided.is_empty() {
                // Right, but perhaps not the cheapest; then it must not say so.
                let is_best = plan.cost(&found[0]) == plan.cost(&best[0]);
                if outcome.is_minimum && !is_best {
                    return differs("called a minimum");
                }
                return Ok(Outcome::Unknown);
            }
            if !outcome.is_minimum || !outcome.is_complete || found != best {
                return differs("not all of the best placements");
            }
            let needs_some = plan.cost(&best[0]) != Cost::default();
            Ok([Outcome::Holds, Outcome::Violated][usize::from(needs_some)])
        }
        End::WrongUnderSc(_) if sc => differs("right under SC"),
        End::WrongUnderSc(_) => Ok(Outcome::Holds),
        End::NoRepair(_) if !sc || !best.is_empty() => differs("there is a repair"),
        End::NoRepair(_) => Ok(Outcome::Holds),
        End::Unknown(_) if !outcome.undecided.is_empty() => Ok(Outcome::Unknown),
        End::TooFew(_) | End::Unknown(_) => differs("no answer"),
    }
}

/// The program with candidates at the places that can matter.
fn gapped(text: &str) -> Option<Gapped> {
    let read = |wanted: &dyn Fn(&palisade_program::Gap) -> bool| {
        pal::parse_gapped(Source::new("random.pal", text), wanted).ok()
    };
    let all = read(&|_| true)?;
    let kept = useful(&all.program, &all.gaps, Model::Pso);
    read(&|gap| kept.contains(&gap.at))
}

/// All placements that the machine finds right, of least cost.
fn exhaustive(plan: &Plan<'_>) -> Option<Vec<Placement>> {
    let mut all = vec![Placement(Vec::new())];
    for _ in 0..plan.decisions.len() {
        let extended = all.iter().flat_map(|p| {
            let levels = [Level::None];
            let levels = levels.into_iter().chain(plan.levels().iter().copied());
            levels.map(|l| Placement(p.0.iter().copied().chain([l]).collect()))
        });
        all = extended.collect();
    }
    all.sort_by_key(|p| plan.cost(p));
    let mut best: Vec<Placement> = Vec::new();
    for placement in all {
        let least = best.first().map(|b| plan.cost(b));
        if least.is_some_and(|l| l < plan.cost(&placement)) {
            break;
        }
        if concrete(&plan.switched(&placement), plan.model)? {
            best.push(placement);
        }
    }
    best.sort();
    Some(best)
}
