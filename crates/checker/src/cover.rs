//! *Coverage by a disjunction* [Abdulla et al., SAS 2012, section 6, Algorithm 1]: a state is dropped if
//! its concrete states are among those of several states together, though no one of them has all.
//!
//! Decided by case splitting: a valuation is covered if a state covers it, or if it is covered with
//! some predicate true and with the same predicate false. A predicate over a set is never split: it
//! may be neither true of all elements nor false of all, so a state whose set predicates are not
//! known to hold takes no part.

use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::valuation::Valuation;

/// Most cases that are looked at for one state; more, and it counts as not covered.
const MOST_CASES: usize = 256;

/// Whether the concrete states of `valuation` are among those of `states` together.
pub(crate) fn by_disjunction(
    states: &[&Valuation],
    valuation: &Valuation,
    predicates: &Predicates,
) -> bool {
    let fits = |state: &&&Valuation| {
        let mut known = state.known();
        known.all(|(p, value)| !predicates.is_of_set(p) || valuation.get(p) == Some(value))
    };
    let states: Vec<&Valuation> = states.iter().filter(fits).copied().collect();
    let mut cases = vec![valuation.clone()];
    let mut looked_at = 0;
    while let Some(case) = cases.pop() {
        looked_at += 1;
        if looked_at > MOST_CASES {
            return false;
        }
        if states.iter().any(|state| state.covers(&case)) {
            continue;
        }
        // The state that misses least, of those that have something in common with the case.
        let missing = |state: &&&Valuation| {
            let known = state.known();
            known.filter(|(p, _)| case.get(*p).is_none()).count()
        };
        let meeting = states.iter().filter(|state| state.meet(&case).is_some());
        let Some(nearest) = meeting.min_by_key(missing) else {
            return false;
        };
        let mut open = nearest.known().filter(|(p, _)| case.get(*p).is_none());
        let Some((p, _)) = open.next() else {
            return false;
        };
        for value in [true, false] {
            let mut split = case.clone();
            split.set(p, Some(value));
            cases.push(split);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_logic::{Formula, Relation, Term, Var};

    const COUNT: usize = 4;

    fn valuation(number: usize) -> Valuation {
        let mut made = Valuation::unknown(COUNT);
        let mut rest = number;
        for p in 0..COUNT {
            made.set(p, [None, Some(true), Some(false)][rest % 3]);
            rest /= 3;
        }
        made
    }

    /// Predicates over variables, the last of them over a set if that is asked for.
    fn predicates(with_set: bool) -> Predicates {
        let set = Var(COUNT as u32 - 1);
        let sets = if with_set { vec![set] } else { Vec::new() };
        let mut table = Predicates::with_sets(sets.into_iter().collect());
        for v in 0..COUNT as u32 {
            let formula = Formula::compare(&Term::var(Var(v)), Relation::Le).expect("small");
            table.add(formula.atoms().pop_first().expect("an atom"));
        }
        table
    }

    /// By brute force: every total valuation is in one of them. What is said of a set is
    /// compared as it is.
    fn brute(states: &[&Valuation], wanted: &Valuation, table: &Predicates) -> bool {
        (0..1_usize << COUNT).all(|bits| {
            let mut whole = wanted.clone();
            let mut is_in = true;
            for p in 0..COUNT {
                if table.is_of_set(p) {
                    continue;
                }
                let value = bits >> p & 1 == 1;
                is_in &= wanted.get(p).is_none_or(|w| w == value);
                whole.set(p, Some(value));
            }
            !is_in || states.iter().any(|s| s.covers(&whole))
        })
    }

    #[test]
    fn as_brute_force_says() {
        let mut seed = 7_usize;
        let mut next = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % 81
        };
        let (mut covered, mut several) = (0, 0);
        for with_set in [false, true] {
            let table = predicates(with_set);
            for _ in 0..4_000 {
                let states: Vec<Valuation> = (0..5).map(|_| valuation(next())).collect();
                let states: Vec<&Valuation> = states.iter().collect();
                let wanted = valuation(next());
                let found = by_disjunction(&states, &wanted, &table);
                assert_eq!(
                    found,
                    brute(&states, &wanted, &table),
                    "{states:?} {wanted:?}"
                );
                covered += usize::from(found);
                several += usize::from(found && !states.iter().any(|s| s.covers(&wanted)));
            }
        }
        assert!(covered > 500 && several > 20, "{covered} {several}");
    }
}
