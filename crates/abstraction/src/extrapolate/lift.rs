//! *Lifting*: predicates and cubes over the variables under SC become predicates
//! and cubes over memory and buffered copies ([Dan et al., SAS 2013, section 5], rules 2 to 4).
//! Whatever is lifted is only a suggestion: predicates are evaluated and cubes are
//! tested against the reduced program as any others, so that a bad suggestion costs
//! time, never correctness.

use std::collections::BTreeSet;

use palisade_logic::atom::Literal;
use palisade_logic::{Atom, Formula, Relation, Term, Var};

use crate::cubes::Cube;
use crate::extrapolate::copies::Copies;
use crate::predicates::Predicates;

/// A cube whose literals are written out.
pub type Literals = BTreeSet<Literal>;

/// The literals of a cube over `predicates`.
pub fn literals_of(predicates: &Predicates, cube: &Cube) -> Literals {
    let literal = |(p, positive): (usize, bool)| Literal {
        atom: predicates.atoms()[p].clone(),
        positive,
    };
    cube.known().map(literal).collect()
}

impl Copies {
    /// Rules 2 and 3: the atoms themselves, and their buffered versions.
    pub fn lift_atoms<'a>(&self, atoms: impl IntoIterator<Item = &'a Atom>) -> BTreeSet<Atom> {
        let mut lifted = BTreeSet::new();
        for atom in atoms {
            let formula = Formula::from(atom.clone());
            for choice in self.choices(&formula.free_vars()) {
                // A renaming keeps numbers in range.
                if let Ok(image) = formula.substitute(&choice) {
                    lifted.extend(image.atoms());
                }
            }
        }
        lifted.retain(|atom| self.speaks_of_data(atom));
        lifted
    }

    /// Rule 4: how a buffered value and the next older one, or memory, compare. The
    /// paper asks whether they are equal; where `atoms` order the variable against
    /// others, what is needed is their order instead (a counter that only grows).
    pub fn neighbours<'a>(&self, atoms: impl IntoIterator<Item = &'a Atom>) -> BTreeSet<Atom> {
        let mut ordered: BTreeSet<Var> = BTreeSet::new();
        for atom in atoms {
            let vars = Formula::from(atom.clone()).free_vars();
            if atom.relation() == Relation::Le && vars.len() > 1 {
                ordered.extend(vars);
            }
        }
        let mut all = BTreeSet::new();
        for thread in &self.threads {
            for (var, places) in &thread.places {
                let memory = self.same.get(var).copied();
                let next_older = |i: usize| i.checked_sub(1).map_or(memory, |j| Some(places[j]));
                let pairs = (0..places.len()).filter_map(|i| Some((next_older(i)?, places[i])));
                let pairs: BTreeSet<(Var, Var)> = pairs
                    .chain(places.iter().filter_map(|p| Some((memory?, *p))))
                    .collect();
                for (older, newer) in pairs {
                    let (older, newer) = (Term::var(older), Term::var(newer));
                    let formula = if ordered.contains(var) {
                        Formula::le(&older, &newer)
                    } else {
                        Formula::eq(&older, &newer)
                    };
                    all.extend(formula.map_or_else(|_| BTreeSet::new(), |f| f.atoms()));
                }
            }
        }
        all.retain(|atom| self.speaks_of_data(atom));
        all
    }

    /// Cube extrapolation: each cube with all its literals replaced by one choice.
    pub fn lift_cubes<'a>(
        &self,
        cubes: impl IntoIterator<Item = &'a Literals>,
    ) -> BTreeSet<Literals> {
        let mut lifted = BTreeSet::new();
        for cube in cubes {
            let vars: BTreeSet<Var> = cube.iter().flat_map(vars_of).collect();
            for choice in self.choices(&vars) {
                let image = cube.iter().map(|literal| {
                    let formula = Formula::from(literal.clone()).substitute(&choice).ok()?;
                    match formula {
                        Formula::Literal(literal) => Some(literal),
                        Formula::True | Formula::False => None,
                        Formula::And(_) | Formula::Or(_) | Formula::Iff(_) => None,
                    }
                });
                lifted.extend(image.collect::<Option<Literals>>());
            }
        }
        lifted.retain(|cube| cube.iter().all(|l| self.speaks_of_data(&l.atom)));
        lifted
    }

    /// The pass of section 6.3: cubes without the literals over buffered values.
    ///
    /// The paper removes them from the cubes that were found. A smaller cube need
    /// not imply what the larger one does, so here they are removed from the cubes
    /// that are tried, and what is left is tested as any other.
    pub fn drop_buffered(&self, cubes: BTreeSet<Literals>) -> BTreeSet<Literals> {
        let memory_only =
            |literal: &Literal| !vars_of(literal).into_iter().any(|v| self.is_buffered(v));
        let kept = |cube: Literals| cube.into_iter().filter(memory_only).collect::<Literals>();
        let cubes = cubes.into_iter().map(kept);
        cubes.filter(|cube| cube.len() > 1).collect()
    }

    fn speaks_of_data(&self, atom: &Atom) -> bool {
        let vars = Formula::from(atom.clone()).free_vars();
        !vars.is_empty() && vars.is_disjoint(&self.explicit)
    }
}

fn vars_of(literal: &Literal) -> BTreeSet<Var> {
    Formula::from(literal.atom.clone()).free_vars()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::extrapolate::copies::Thread;

    const X: Var = Var(0);
    const R: Var = Var(1);
    const X0: Var = Var(7);

    fn copies() -> Copies {
        Copies {
            same: [(X, X), (R, R)].into(),
            threads: vec![Thread {
                places: BTreeMap::from([(X, vec![X0])]),
                single: false,
            }],
            ..Copies::default()
        }
    }

    fn atom(formula: &Formula) -> Atom {
        formula.atoms().into_iter().next().expect("one atom")
    }

    fn less(a: Var, b: Var) -> Formula {
        Formula::lt(&Term::var(a), &Term::var(b)).expect("small")
    }

    #[test]
    fn figure_8_needs_the_buffered_value() {
        let zero = Formula::eq(&Term::var(X), &Term::constant(0)).expect("small");
        let lifted = copies().lift_atoms([&atom(&zero)]);
        let buffered = Formula::eq(&Term::var(X0), &Term::constant(0)).expect("small");
        assert_eq!(lifted, [atom(&zero), atom(&buffered)].into());
    }

    #[test]
    fn occurrences_are_replaced_alike() {
        // r < x and 0 < x: the copy stands in both or in neither.
        let literal = |formula: Formula| {
            let Formula::Literal(l) = formula else {
                panic!("{formula:?} is no literal")
            };
            l
        };
        let positive = |x: Var| {
            let f = Formula::lt(&Term::constant(0), &Term::var(x));
            literal(f.expect("small"))
        };
        let cube: Literals = [literal(less(R, X)), positive(X)].into();
        let lifted = copies().lift_cubes([&cube]);
        let copy: Literals = [literal(less(R, X0)), positive(X0)].into();
        assert_eq!(lifted, [cube, copy.clone()].into());
        let memory: BTreeSet<Literals> = copies().drop_buffered([copy].into());
        assert!(memory.is_empty());
    }

    #[test]
    fn copies_compare_with_memory_as_the_variable_does_with_others() {
        let equal = Formula::eq(&Term::var(X), &Term::var(X0)).expect("small");
        assert_eq!(copies().neighbours([]), [atom(&equal)].into());
        let order = Formula::le(&Term::var(X), &Term::var(X0)).expect("small");
        let by_order = copies().neighbours([&atom(&less(R, X))]);
        assert_eq!(by_order, [atom(&order)].into());
    }

    #[test]
    fn explicit_variables_have_no_predicates() {
        let mut copies = copies();
        copies.explicit.insert(X0);
        let lifted = copies.lift_atoms([&atom(&less(R, X))]);
        assert_eq!(lifted.len(), 1);
        assert_eq!(copies.neighbours([]).len(), 0);
    }
}
