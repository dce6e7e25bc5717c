//! Which predicates a branch *affects*: those over a variable that it writes
//! ([Dan et al., SAS 2013, section 6.1]: only these get an update), those that its guard may
//! make known, and those that it forgets. With each goes its weakest precondition
//! and its cone of influence. The strategies that build tables and the export of
//! Boolean programs share this account of a branch.

use palisade_logic::{Formula, Var};

use crate::command::{Branch, End};
use crate::predicates::Predicates;
use crate::valuation::{PredId, PredSet};

/// A predicate whose value a branch decides anew.
#[derive(Clone, Debug)]
pub struct Affected {
    /// The predicate.
    pub pred: PredId,
    /// What must hold before the branch for the predicate to hold after it.
    pub wp: Formula,
    /// Over a set that changes: the same for other elements. The predicate is true if
    /// all hold, false if none does.
    pub others: Vec<Formula>,
    /// Predicates that may matter for its value.
    pub cone: PredSet,
    /// Whether the branch writes it; else it is only strengthened by the guard.
    pub written: bool,
}

impl Affected {
    /// What must hold before the branch for the predicate to be true after it, and for it to be
    /// false: the opposite, except over sets.
    pub fn outcomes(&self) -> (Formula, Formula) {
        let others = self.others.iter();
        let none = Formula::all(others.clone().map(Formula::negated)).and(&self.wp.negated());
        (Formula::all(others.cloned()).and(&self.wp), none)
    }
}

/// What a branch does to the predicates.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Predicates that may matter for the guard.
    pub guard_cone: PredSet,
    /// Predicates that do not keep their value.
    pub cleared: PredSet,
    /// Predicates whose new value is not described: over locals that are dead
    /// afterwards, or with a weakest precondition whose numbers grow out of range.
    pub lost: PredSet,
    /// Predicates that are decided anew, in order.
    pub affected: Vec<Affected>,
}

/// The effect of `branch`, with cones of influence that reach `depth` far.
pub fn effect(predicates: &Predicates, branch: &Branch, depth: usize) -> Effect {
    let guard_vars = branch.with_sets(branch.guard.free_vars());
    let mut effect = Effect {
        guard_cone: predicates.cone(guard_vars.iter().copied(), depth),
        cleared: PredSet::new(predicates.len()),
        lost: PredSet::new(predicates.len()),
        affected: Vec::new(),
    };
    // After a failed assertion there is no state.
    let after = match branch.end {
        End::At(_) => 0..predicates.len(),
        End::Failed(_) => 0..0,
    };
    for pred in after {
        let has = |vars: &[Var]| {
            let mut own = predicates.vars(pred).iter();
            own.any(|v| vars.binary_search(v).is_ok())
        };
        let written = has(&branch.written);
        if !written && !has(&branch.forgotten) && !has(&guard_vars) {
            continue;
        }
        let formula = predicates.formula(pred, true);
        let ways = branch.values_of(predicates.vars(pred));
        let wps: Result<Vec<Formula>, _> = ways.iter().map(|w| formula.substitute(w)).collect();
        match wps {
            Ok(mut wps) if !wps.is_empty() && !has(&branch.forgotten) => {
                let vars = branch.with_sets(wps.iter().flat_map(Formula::free_vars).collect());
                let vars = vars.into_iter().chain(guard_vars.iter().copied());
                let cone = predicates.cone(vars, depth);
                let wp = wps.remove(0);
                if written {
                    effect.cleared.insert(pred);
                }
                effect.affected.push(Affected {
                    pred,
                    wp,
                    others: wps,
                    cone,
                    written,
                });
            }
            Ok(_) | Err(_) => {
                effect.cleared.insert(pred);
                effect.lost.insert(pred);
            }
        }
    }
    effect
}
