//! *Copies*: which variables of a reduced program hold buffered versions of which
//! variables of the program under SC, and in which ways the former may be put in
//! place of the latter (rules 5, 6 and 7 of [Dan et al., SAS 2013, section 5]).

use std::collections::{BTreeMap, BTreeSet};

use palisade_logic::substitute::Substitution;
use palisade_logic::{Term, Var};

/// Most ways to replace the variables of one formula by one thread's copies; beyond
/// it only ways with one copy are tried. A cube over four variables with two copies
/// each has 80.
const MOST_CHOICES: usize = 128;

/// The store buffers of one thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// For each variable that the thread writes, the places that may hold a
    /// buffered value of it, oldest first.
    pub places: BTreeMap<Var, Vec<Var>>,
    /// Whether at most one of its stores is buffered at a time (rule 7).
    pub single: bool,
}

/// The variables of a program under SC in a reduced program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Copies {
    /// For each variable under SC, the same variable of the reduced program.
    pub same: BTreeMap<Var, Var>,
    /// The threads' buffers.
    pub threads: Vec<Thread>,
    /// Places whose values a variable under SC may get: what is said of the variable then was said
    /// of the place before.
    pub incoming: Vec<(Var, Var)>,
    /// Whether copies of several threads may stand in one formula. Rule 6 takes this
    /// as not needed; a variable of one thread compared with one of another needs it
    /// when both are buffered.
    pub mixed: bool,
    /// Variables of the reduced program whose values are explicit: no predicate
    /// speaks of them.
    pub explicit: BTreeSet<Var>,
    /// How many control variables and values the reduction has for its buffers: the
    /// predicates of rule 1, which are explicit here.
    pub generic_count: usize,
}

impl Copies {
    /// All ways to replace `vars`: first the variables themselves (rule 2), then for
    /// each thread every way to take buffered copies for some of them.
    pub fn choices(&self, vars: &BTreeSet<Var>) -> Vec<Substitution> {
        let mut all = vec![self.substitution(vars, &BTreeMap::new())];
        let incoming = self.incoming.iter().filter(|(var, _)| vars.contains(var));
        let incoming = incoming.map(|(var, place)| BTreeMap::from([(*var, *place)]));
        all.extend(incoming.map(|way| self.substitution(vars, &way)));
        if self.mixed {
            let everywhere: Vec<(Var, Vec<Var>)> =
                vars.iter().map(|v| (*v, self.all(*v))).collect();
            let written = everywhere.iter().filter(|(_, places)| !places.is_empty());
            let written: Vec<(Var, &[Var])> = written.map(|(v, p)| (*v, p.as_slice())).collect();
            let ways = ways(&written, false);
            all.extend(ways.iter().map(|way| self.substitution(vars, way)));
            return all;
        }
        for thread in &self.threads {
            let written: Vec<(Var, &[Var])> = vars
                .iter()
                .filter_map(|v| Some((*v, thread.places.get(v)?.as_slice())))
                .collect();
            let ways = ways(&written, thread.single);
            all.extend(ways.iter().map(|way| self.substitution(vars, way)));
        }
        all
    }

    fn substitution(&self, vars: &BTreeSet<Var>, way: &BTreeMap<Var, Var>) -> Substitution {
        let place = |v: &Var| way.get(v).or_else(|| self.same.get(v)).copied();
        let replaced = vars.iter().filter_map(|v| Some((*v, place(v)?)));
        replaced.map(|(v, to)| (v, Term::var(to))).collect()
    }

    /// The copies of a variable in all threads.
    fn all(&self, var: Var) -> Vec<Var> {
        let places = self.threads.iter().filter_map(|t| t.places.get(&var));
        places.flatten().copied().collect()
    }

    /// Whether a variable of the reduced program holds a buffered value.
    pub fn is_buffered(&self, var: Var) -> bool {
        let mut places = self.threads.iter().flat_map(|t| t.places.values());
        places.any(|places| places.contains(&var))
    }
}

/// Every way to give at least one of the variables a place, no place twice.
fn ways(written: &[(Var, &[Var])], single: bool) -> Vec<BTreeMap<Var, Var>> {
    let count = |(_, places): &(Var, &[Var])| places.len() + 1;
    let product = written
        .iter()
        .try_fold(1_usize, |n, one| n.checked_mul(count(one)));
    if single || product.is_none_or(|n| n > MOST_CHOICES) {
        let one = |(var, places): &(Var, &[Var])| {
            let of = *var;
            let ways = places.iter().map(move |p| BTreeMap::from([(of, *p)]));
            ways.collect::<Vec<_>>()
        };
        return written.iter().flat_map(one).collect();
    }
    let mut all: Vec<BTreeMap<Var, Var>> = vec![BTreeMap::new()];
    for (var, places) in written {
        let mut more = Vec::new();
        for way in &all {
            for place in *places {
                if !way.values().any(|taken| taken == place) {
                    let mut longer = way.clone();
                    longer.insert(*var, *place);
                    more.push(longer);
                }
            }
        }
        all.extend(more);
    }
    // The first is the way without copies.
    all.remove(0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Var = Var(0);
    const Y: Var = Var(1);

    fn copies(single: bool) -> Copies {
        let places = BTreeMap::from([(X, vec![Var(10), Var(11)]), (Y, vec![Var(20)])]);
        let reader = Thread::default();
        Copies {
            same: [(X, X), (Y, Y), (Var(2), Var(5))].into(),
            threads: vec![Thread { places, single }, reader],
            ..Copies::default()
        }
    }

    #[test]
    fn all_combinations_of_one_thread() {
        let all = copies(false).choices(&[X, Y].into());
        // Itself; x in two places, y in one, both in two ways.
        assert_eq!(all.len(), 1 + 2 + 1 + 2);
    }

    #[test]
    fn rule_7_allows_one_copy() {
        assert_eq!(copies(true).choices(&[X, Y].into()).len(), 1 + 3);
    }

    #[test]
    fn copies_of_two_threads_are_mixed_if_asked() {
        let mut copies = copies(false);
        let places = BTreeMap::from([(Y, vec![Var(40)])]);
        copies.threads.push(Thread {
            places,
            single: false,
        });
        let separate = copies.choices(&[X, Y].into()).len();
        assert_eq!(separate, 1 + 2 + 1 + 2 + 1);
        copies.mixed = true;
        // x in two places, with y in memory or in one of its two.
        assert_eq!(copies.choices(&[X, Y].into()).len(), 3 * 3);
    }

    #[test]
    fn locals_are_renamed_only() {
        let all = copies(false).choices(&[Var(2)].into());
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].get(Var(2)), Some(&Term::var(Var(5))));
    }

    #[test]
    fn one_cell_holds_one_variable() {
        let shared = vec![Var(30), Var(31)];
        let places = BTreeMap::from([(X, shared.clone()), (Y, shared)]);
        let thread = Thread {
            places,
            single: false,
        };
        let copies = Copies {
            same: [(X, X), (Y, Y)].into(),
            threads: vec![thread],
            ..Copies::default()
        };
        // Itself; each in two places; both, in different ones.
        assert_eq!(copies.choices(&[X, Y].into()).len(), 1 + 2 + 2 + 2);
    }
}
