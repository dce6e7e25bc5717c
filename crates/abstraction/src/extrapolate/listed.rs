//! The strategy *cubes* [Dan et al., SAS 2013, section 4.3, Fig. 6b]: the search for cubes is
//! limited to single cubes. What is tried is every literal and every cube of a
//! given list, the cubes of the SC proof's Boolean program lifted to buffered
//! copies; their number is linear where all cubes are exponential.
//!
//! | paper | here |
//! |---|---|
//! | `V_rmm` | the slots of a question, each as a cube of one literal |
//! | `C_rmm` | the list |
//! | COMPUTEAPPROX(V + C, phi) | [`Listed::contradictions`](CubeSearch::contradictions) with base `!phi` |
//!
//! Departure: a cube that contains a smaller one that was found is not asked about.

use palisade_logic::{Prover, Reason};

use crate::cubes::{Cover, Cube, CubeSearch, Question, contradict};
use crate::extrapolate::lift::Literals;
use crate::predicates::Predicates;
use crate::valuation::{PredId, PredSet};

/// Tries single literals and the cubes of a list.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// By size, then in order.
    cubes: Vec<Vec<(PredId, bool)>>,
}

impl Listed {
    /// The cubes over `predicates` among `cubes`; those with other literals are left
    /// out.
    pub fn new<'a>(predicates: &Predicates, cubes: impl IntoIterator<Item = &'a Literals>) -> Self {
        let numbered = |cube: &Literals| {
            let number =
                |l: &palisade_logic::atom::Literal| Some((predicates.find(&l.atom)?, l.positive));
            cube.iter().map(number).collect::<Option<Vec<_>>>()
        };
        let mut cubes: Vec<_> = cubes.into_iter().filter_map(numbered).collect();
        cubes.retain(|cube| cube.len() > 1);
        for cube in &mut cubes {
            cube.sort_unstable();
        }
        cubes.sort_by_key(|cube| (cube.len(), cube.clone()));
        cubes.dedup();
        Self { cubes }
    }

    /// How many cubes are listed.
    pub fn len(&self) -> usize {
        self.cubes.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.cubes.is_empty()
    }
}

impl CubeSearch for Listed {
    fn contradictions(
        &self,
        prover: &mut Prover,
        question: &Question<'_>,
    ) -> Result<Cover, Reason> {
        let mut slots = PredSet::new(question.width);
        for (slot, _) in question.slots {
            slots.insert(*slot);
        }
        let singles = question.slots.iter();
        let singles = singles.flat_map(|(slot, _)| [vec![(*slot, true)], vec![(*slot, false)]]);
        let inside = |cube: &&Vec<(PredId, bool)>| cube.iter().all(|(p, _)| slots.contains(*p));
        let listed = self.cubes.iter().filter(inside).cloned();
        let mut found = Cover::default();
        for literals in std::iter::once(Vec::new()).chain(singles).chain(listed) {
            let mut cube = Cube::unknown(question.width);
            for (p, value) in literals {
                cube.set(p, Some(value));
            }
            if found.subsumes(&cube) || question.ignores(&cube) {
                continue;
            }
            if contradict(prover, question.cluster, &question.literals(&cube))? {
                found.insert(cube);
            }
        }
        Ok(found)
    }

    fn name(&self) -> &'static str {
        "cubes"
    }
}
