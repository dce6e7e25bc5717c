//! The one interface behind which the *strategies* for abstract transformers
//! stand. A strategy must over-approximate: if a concrete state
//! satisfies the valuation and the branch's guard, its successor satisfies one
//! of the valuations of [`Transformer::post`]; if some concrete state of the
//! valuation satisfies a formula, [`Transformer::may`] says so. The search is
//! sound for whatever keeps to that.

use std::rc::Rc;

use palisade_logic::{Formula, Lit, Prover, Reason};

use crate::command::{Branch, BranchId};
use crate::predicates::Predicates;
use crate::valuation::{PredId, Valuation};

/// What a strategy has done so far; what it does not count is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Posts asked for.
    pub posts: u64,
    /// Posts answered from memory.
    pub remembered: u64,
    /// Cubes in tables, with more than one literal.
    pub cubes: usize,
    /// Literals of the largest cube.
    pub largest_cube: usize,
}

/// Builds abstract successors.
pub trait Transformer {
    /// Abstract successors of `state` under `branch` (number `id`); none if the
    /// guard excludes it.
    fn post(
        &mut self,
        predicates: &Predicates,
        id: BranchId,
        branch: &Branch,
        state: &Valuation,
    ) -> Result<Rc<[Valuation]>, Reason>;

    /// Whether some concrete state of `state` may satisfy `formula`.
    fn may(
        &mut self,
        predicates: &Predicates,
        formula: &Formula,
        state: &Valuation,
    ) -> Result<bool, Reason>;

    /// What can be known of the predicates where `formula` holds: one valuation,
    /// or several if predicates are split. Used for the initial states.
    fn initial(
        &mut self,
        predicates: &Predicates,
        formula: &Formula,
    ) -> Result<Rc<[Valuation]>, Reason>;

    /// Called when predicates were added or marked.
    fn predicates_changed(&mut self);

    /// The prover that answers its questions.
    fn prover(&mut self) -> &mut Prover;

    /// How far the cone of influence reaches.
    fn depth(&self) -> usize;

    /// Lets the cone of influence reach further.
    fn set_depth(&mut self, depth: usize);

    /// Lets all that is known count for one branch from now on; tells whether it did
    /// not. Strategies that cannot do that for one branch do nothing.
    fn sharpen(&mut self, _branch: BranchId) -> bool {
        false
    }

    /// Its counters.
    fn work(&self) -> Work;
}

/// What is known of the predicates under `facts`; where a predicate that is split is open, both
/// cases. `decide` gives the value of a predicate under some facts, and its literal.
pub(crate) fn cases(
    predicates: &Predicates,
    facts: Vec<Lit>,
    mut decide: impl FnMut(&[Lit], PredId) -> Result<(Option<bool>, Lit), Reason>,
) -> Result<Rc<[Valuation]>, Reason> {
    let mut results = Vec::new();
    let mut stack = vec![(0, Valuation::unknown(predicates.len()), facts)];
    'cases: while let Some((from, mut state, facts)) = stack.pop() {
        for p in from..predicates.len() {
            let (value, lit) = decide(&facts, p)?;
            state.set(p, value);
            if value.is_none() && predicates.is_split(p) {
                for choice in [false, true] {
                    let (mut case, mut facts) = (state.clone(), facts.clone());
                    case.set(p, Some(choice));
                    facts.push(if choice { lit } else { !lit });
                    stack.push((p + 1, case, facts));
                }
                continue 'cases;
            }
        }
        results.push(state);
    }
    results.sort();
    Ok(results.into())
}
