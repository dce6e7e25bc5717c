//! *Refinement of transitions* [Donaldson et al., CAV 2011, section 4; Ball et al., TACAS
//! 2004].
//! An abstract path may be impossible although the predicates suffice, because an
//! abstract step was computed from a part of what is known (the cone of influence).
//! The steps of the path are asked about one by one, each with all that is known
//! before and after it; a step that is none by itself gets the whole cone from then
//! on, and no predicate is added.

use palisade_abstraction::command::Commands;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::transformer::Transformer;
use palisade_abstraction::valuation::Valuation;
use palisade_checker::search::Path;
use palisade_logic::{Formula, Outcome, Purpose};

/// Sharpens the steps of `path` that are impossible by themselves; tells whether one
/// was not sharp before.
pub fn sharpen(
    commands: &Commands<'_>,
    path: &Path,
    predicates: &Predicates,
    transformer: &mut dyn Transformer,
) -> bool {
    let mut sharpened = false;
    for (i, &id) in path.branches.iter().enumerate() {
        let branch = commands.branch(id);
        let mut parts = literals(predicates, &path.states[i].1);
        parts.push(branch.guard.clone());
        let after = path.states.get(i + 1).map(|(_, state)| state);
        for literal in after.into_iter().flat_map(|s| literals(predicates, s)) {
            // What overflows says nothing: leaving it out asks a weaker question.
            parts.extend(literal.substitute(&branch.updates));
        }
        let outcome = transformer.prover().solve_all(&parts, Purpose::Refine);
        if let Outcome::Unsat(_) = outcome {
            sharpened |= transformer.sharpen(id);
        }
    }
    sharpened
}

fn literals(predicates: &Predicates, state: &Valuation) -> Vec<Formula> {
    state
        .known()
        .map(|(p, value)| predicates.formula(p, value))
        .collect()
}
