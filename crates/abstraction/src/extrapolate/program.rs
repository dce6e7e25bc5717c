//! *Boolean program extrapolation* [Baumann et al., VMCAI 2018, section 4.3]: the Boolean program of a
//! reduced program is made from the one under SC, without asking a solver.
//!
//! The Boolean program under SC is a table of facts: a cube contradicts the guard of a
//! statement and what the statement would make of a predicate ([`Fact`]). A fact stays
//! true if variables are renamed, whatever to: a model of the renamed literals would
//! give one of the original ones. So each fact is renamed in all ways in which the
//! reduced program has copies of variables (memory itself, buffered values, elements of
//! value sets), and a cube of the extrapolated program is one whose literals are those
//! of a renamed fact whose other parts are there, *letter by letter*. Beside the facts
//! two rules of form are used: a literal contradicts its negation, and a cube contradicts
//! a disjunction if it contradicts each part.
//!
//! | [Baumann et al., VMCAI 2018] | here |
//! |---|---|
//! | `Y = randomElem(XSet)`: `p = choose(phi_t[XSet/X], phi_f[XSet/X])` | the facts of `Y = X` with the element taken in place of `X` |
//! | `XSet = {X}`: `p[XSet/X] = p` | a literal contradicts its negation |
//! | `addToSet(XSet, X)`: `choose(p[XSet/X] & p, !p[XSet/X] & !p)` | the predicate is false for some element if it is for one that was there or for the new one: a disjunction |
//! | predicates over `Y` and a set are unknown after `Y = randomElem(XSet)` | no fact speaks of two sets, unless a literal contradicts its negation |
//!
//! To the letter the first rule is unsound for a predicate over both `X` and `Y`: after `Y = X` it is
//! known that `X <= Y`, after `Y = randomElem(XSet)` it is not, since `X` may have changed. Here the
//! condition that is asked about has the element where it had `Y`, and it takes a predicate that
//! relates `X` to `XSet` to answer it. These come from [`Copies::incoming`]: what is said of `Y` is
//! said of the sets that are written to `Y`. Without them Bakery is not proved.
//!
//! What is left out only makes the program less precise. The facts of the initial states
//! are evaluated.

use std::collections::{BTreeMap, BTreeSet};

use palisade_logic::{Formula, Prover, Reason};

use crate::cubes::{Cover, Cube, CubeSearch, Question, size};
use crate::extrapolate::copies::Copies;
use crate::extrapolate::lift::Literals;

/// Most cubes that are combined for a disjunction.
const MOST_CUBES: usize = 1000;

/// A cube and conditions that cannot hold at once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fact {
    /// The cube.
    pub cube: Literals,
    /// The conditions; at least one.
    pub base: BTreeSet<Formula>,
}

/// A renamed fact.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Renamed {
    cube: BTreeSet<Formula>,
    base: BTreeSet<Formula>,
}

/// The facts of a Boolean program, renamed in all ways.
#[derive(Clone, Debug, Default)]
pub struct Extrapolated {
    facts: Vec<Renamed>,
    /// Facts by the least of their conditions.
    by_condition: BTreeMap<Formula, Vec<usize>>,
}

impl Extrapolated {
    /// The facts with copies in place of variables.
    pub fn new<'a>(facts: impl IntoIterator<Item = &'a Fact>, copies: &Copies) -> Self {
        let mut all = BTreeSet::new();
        for fact in facts {
            let cube: Vec<Formula> = fact.cube.iter().map(formula_of).collect();
            let parts = cube.iter().chain(&fact.base);
            let vars = parts.flat_map(Formula::free_vars).collect();
            for choice in copies.choices(&vars) {
                let image = |f: &Formula| f.substitute(&choice);
                let cube: Result<BTreeSet<Formula>, _> = cube.iter().map(image).collect();
                let base: Result<BTreeSet<Formula>, _> = fact.base.iter().map(image).collect();
                // A renaming keeps numbers in range.
                if let (Ok(cube), Ok(base)) = (cube, base) {
                    all.insert(Renamed { cube, base });
                }
            }
        }
        let facts: Vec<Renamed> = all.into_iter().collect();
        let mut by_condition: BTreeMap<Formula, Vec<usize>> = BTreeMap::new();
        for (number, fact) in facts.iter().enumerate() {
            if let Some(least) = fact.base.first() {
                by_condition.entry(least.clone()).or_default().push(number);
            }
        }
        Self {
            facts,
            by_condition,
        }
    }

    /// How many renamed facts there are.
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// Cubes that contradict all of `base`.
    fn contradicting(&self, base: &BTreeSet<Formula>, vocabulary: &Vocabulary) -> Cover {
        let mut found = Cover::default();
        let opposed = |f: &Formula| base.contains(&f.negated());
        if base.contains(&Formula::False) || base.iter().any(opposed) {
            found.insert(Cube::unknown(vocabulary.width));
            return found;
        }
        for condition in base {
            if let Some(literal) = vocabulary.literal(&condition.negated()) {
                found.insert(vocabulary.cube([literal]));
            }
            for &number in self.by_condition.get(condition).into_iter().flatten() {
                let fact = &self.facts[number];
                if !fact.base.is_subset(base) {
                    continue;
                }
                // Literals that are conditions already need not be known.
                let open = fact.cube.iter().filter(|f| !base.contains(*f));
                let literals: Option<Vec<_>> = open.map(|f| vocabulary.literal(f)).collect();
                if let Some(literals) = literals.filter(|l| agree(l)) {
                    found.insert(vocabulary.cube(literals));
                }
            }
        }
        found
    }
}

impl CubeSearch for Extrapolated {
    fn contradictions(
        &self,
        prover: &mut Prover,
        question: &Question<'_>,
    ) -> Result<Cover, Reason> {
        let vocabulary = Vocabulary::of(prover, question);
        let mut base = BTreeSet::new();
        let mut choices: Vec<Formula> = Vec::new();
        for lit in question.base {
            let formula = prover.formula(*lit);
            if let Formula::Or(parts) = &formula {
                choices = parts.to_vec();
            }
            base.extend(formula.conjuncts().iter().cloned());
        }
        if choices.is_empty() {
            return Ok(self.contradicting(&base, &vocabulary));
        }
        // Each part must be contradicted. Further disjunctions stay whole: with less to
        // contradict, fewer cubes are found.
        let mut all = vec![Cube::unknown(question.width)];
        for part in choices {
            let mut with = base.clone();
            with.extend(part.conjuncts().iter().cloned());
            let cover = self.contradicting(&with, &vocabulary);
            let mut longer = Cover::default();
            for cube in &all {
                for other in cover.cubes().iter().filter(|c| are_consistent(cube, c)) {
                    longer.insert(cube.with(other));
                }
            }
            all = longer.cubes().to_vec();
            // Small ones hold in more states.
            all.sort_by_key(size);
            all.truncate(MOST_CUBES);
        }
        Ok(all.into_iter().collect())
    }

    fn name(&self) -> &'static str {
        "program"
    }
}

fn are_consistent(a: &Cube, b: &Cube) -> bool {
    a.known().all(|(p, value)| b.get(p) != Some(!value))
}

fn formula_of(literal: &palisade_logic::atom::Literal) -> Formula {
    let formula = Formula::from(literal.atom.clone());
    if literal.positive {
        formula
    } else {
        formula.negated()
    }
}

/// Whether no literal is the opposite of another.
fn agree(literals: &[(usize, bool)]) -> bool {
    let clash = |(p, v): &(usize, bool)| literals.contains(&(*p, !*v));
    !literals.iter().any(clash)
}

/// What the literals of a question say.
struct Vocabulary {
    by_formula: BTreeMap<Formula, (usize, bool)>,
    width: usize,
}

impl Vocabulary {
    fn of(prover: &Prover, question: &Question<'_>) -> Self {
        let mut by_formula = BTreeMap::new();
        for (at, (slot, lit)) in question.slots.iter().enumerate() {
            for (lit, value) in [(*lit, true), (question.opposite(at), false)] {
                // Of a set, what holds for all holds for an element that was taken.
                for part in prover.formula(lit).conjuncts() {
                    by_formula.entry(part.clone()).or_insert((*slot, value));
                }
            }
        }
        Self {
            by_formula,
            width: question.width,
        }
    }

    fn literal(&self, formula: &Formula) -> Option<(usize, bool)> {
        self.by_formula.get(formula).copied()
    }

    fn cube(&self, literals: impl IntoIterator<Item = (usize, bool)>) -> Cube {
        let mut cube = Cube::unknown(self.width);
        for (slot, value) in literals {
            cube.set(slot, Some(value));
        }
        cube
    }
}
