//! *Cubes*: conjunctions of literals over predicates, and disjunctions of them.
//! A cube is a [`Valuation`]: its literals are what it knows. It holds in an
//! abstract state that knows all of them, that is, in one that it covers.
//!
//! The central question [Dan et al., SAS 2013, section 4.1] is `F(phi)`: the weakest
//! disjunction of cubes that implies `phi`. A cube implies `phi` exactly if it
//! contradicts `!phi`, so both strategies that build tables search for the
//! minimal cubes that contradict a *base* ([`Question`]); they differ in how:
//!
//! | paper | here |
//! |---|---|
//! | vocabulary V | the slots of a [`Question`] |
//! | F(phi) | [`CubeSearch::contradictions`] with base `!phi` |
//! | COMPUTEAPPROX, subsumption | [`Cover::subsumes`] |
//! | G(phi) = !F(!phi) | a state passes unless [`Cover::holds`] |
//!
//! A cube that contradicts itself implies everything; it is found too, which
//! keeps states that no concrete state has from going on.

use palisade_logic::{Answer, Cluster, Lit, Prover, Purpose, Reason};

use crate::valuation::Valuation;

/// A conjunction of literals.
pub type Cube = Valuation;

/// A disjunction of cubes, none of which contains another.
#[derive(Clone, Debug, Default)]
pub struct Cover {
    cubes: Vec<Cube>,
}

impl Cover {
    /// Whether some cube holds in `state`.
    pub fn holds(&self, state: &Valuation) -> bool {
        self.cubes.iter().any(|cube| cube.covers(state))
    }

    /// Whether `cube` implies one of these, by its form.
    pub fn subsumes(&self, cube: &Cube) -> bool {
        self.holds(cube)
    }

    /// Adds a cube unless it is subsumed; drops those that it subsumes.
    pub fn insert(&mut self, cube: Cube) {
        if !self.subsumes(&cube) {
            self.cubes.retain(|old| !cube.covers(old));
            self.cubes.push(cube);
        }
    }

    /// The cubes.
    pub fn cubes(&self) -> &[Cube] {
        &self.cubes
    }
}

impl FromIterator<Cube> for Cover {
    fn from_iter<I: IntoIterator<Item = Cube>>(iter: I) -> Self {
        let mut cover = Self::default();
        iter.into_iter().for_each(|cube| cover.insert(cube));
        cover
    }
}

/// The number of literals of a cube.
pub fn size(cube: &Cube) -> usize {
    cube.known().count()
}

/// Which cubes are searched for: those that contradict `base`.
#[derive(Clone, Debug)]
pub struct Question<'q> {
    /// The solver session to ask.
    pub cluster: Cluster,
    /// What the cube must contradict.
    pub base: &'q [Lit],
    /// The literals that cubes are made of, each with its number in the cube.
    pub slots: &'q [(usize, Lit)],
    /// The negated literals, in the order of `slots`; none if they are the complements.
    /// For a predicate over a set neither may hold: some elements satisfy it, some do
    /// not.
    pub opposites: &'q [Lit],
    /// How many numbers cubes have.
    pub width: usize,
    /// Largest cubes to look for; no limit if none.
    pub max_size: Option<usize>,
    /// Cubes that contain one of these are of no interest.
    pub ignored: &'q [&'q Cover],
}

impl Question<'_> {
    /// The literals of a cube, after those of the base.
    pub fn literals(&self, cube: &Cube) -> Vec<Lit> {
        let known = |(at, (slot, lit)): (usize, &(usize, Lit))| {
            let value = cube.get(*slot)?;
            Some(if value { *lit } else { self.opposite(at) })
        };
        let cube = self.slots.iter().enumerate().filter_map(known);
        self.base.iter().copied().chain(cube).collect()
    }

    /// The negated literal at a position of `slots`.
    pub fn opposite(&self, at: usize) -> Lit {
        self.opposites.get(at).map_or(!self.slots[at].1, |lit| *lit)
    }

    /// Whether a cube is of no interest.
    pub fn ignores(&self, cube: &Cube) -> bool {
        self.ignored.iter().any(|cover| cover.subsumes(cube))
    }
}

/// A way to find cubes.
pub trait CubeSearch {
    /// Minimal cubes that contradict the question's base. All of them up to the
    /// largest size, except those that are ignored and those about which the
    /// solver could not decide. Leaving out cubes is sound: less is known.
    fn contradictions(&self, prover: &mut Prover, question: &Question<'_>)
    -> Result<Cover, Reason>;

    /// The strategy's name.
    fn name(&self) -> &'static str;
}

/// Whether `lits` contradict each other. Not knowing counts as no: sound, since
/// it only leaves out a cube.
pub fn contradict(prover: &mut Prover, cluster: Cluster, lits: &[Lit]) -> Result<bool, Reason> {
    match prover.check(cluster, lits, Purpose::Abstract) {
        Answer::Sat => Ok(false),
        Answer::Unsat(_) => Ok(true),
        Answer::Unknown(reason) => give_up_or(reason, false),
    }
}

/// Passes on reasons that end the whole run; otherwise goes on with `value`.
pub fn give_up_or<T>(reason: Reason, value: T) -> Result<T, Reason> {
    match reason {
        Reason::Cancelled | Reason::Deadline => Err(reason),
        Reason::QueryTime | Reason::Solver(_) | Reason::ModelTooLarge | Reason::ModelRejected => {
            Ok(value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(literals: &[(usize, bool)]) -> Cube {
        let mut cube = Cube::unknown(4);
        for (p, value) in literals {
            cube.set(*p, Some(*value));
        }
        cube
    }

    #[test]
    fn a_cover_keeps_the_smallest_cubes() {
        let mut cover = Cover::default();
        cover.insert(cube(&[(0, true), (1, false)]));
        cover.insert(cube(&[(2, true)]));
        cover.insert(cube(&[(2, true), (3, true)]));
        assert_eq!(cover.cubes().len(), 2);
        cover.insert(cube(&[(0, true)]));
        assert_eq!(cover.cubes(), [cube(&[(2, true)]), cube(&[(0, true)])]);
        assert!(cover.holds(&cube(&[(0, true), (3, false)])));
        assert!(!cover.holds(&cube(&[(0, false), (2, false)])));
        assert_eq!(size(&cube(&[(1, true), (3, false)])), 2);
    }
}
