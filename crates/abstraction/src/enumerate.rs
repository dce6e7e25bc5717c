//! The strategy *enumerate*: cubes by increasing size ([Dan et al., SAS 2013, Fig. 6a] and 7).
//! Every cube over the slots up to the largest size is given to the solver unless
//! a smaller cube that was found is part of it: BUILDBOUNDEDCUBES with
//! subsumption. The slots are the cone of influence already.
//!
//! Departures: a cube is tested for contradicting `guard & !wp` instead of
//! implying `wp`, so that what the guard says is used; cubes that contradict the
//! guard are not looked at again for the predicates.

use palisade_logic::{Prover, Reason};

use crate::cubes::{Cover, Cube, CubeSearch, Question, contradict};

/// Tries all cubes by increasing size.
#[derive(Clone, Copy, Debug, Default)]
pub struct BySize;

impl CubeSearch for BySize {
    fn contradictions(
        &self,
        prover: &mut Prover,
        question: &Question<'_>,
    ) -> Result<Cover, Reason> {
        let most = question.slots.len();
        let largest = question.max_size.map_or(most, |max| max.min(most));
        let mut found = Cover::default();
        for size in 0..=largest {
            let mut tried = false;
            for_each_cube(question, size, &mut |cube| {
                if found.subsumes(cube) || question.ignores(cube) {
                    return Ok(());
                }
                tried = true;
                let lits = question.literals(cube);
                if contradict(prover, question.cluster, &lits)? {
                    found.insert(cube.clone());
                }
                Ok(())
            })?;
            // Fig. 6a: "if cubes = {} then break".
            if !tried {
                break;
            }
        }
        Ok(found)
    }

    fn name(&self) -> &'static str {
        "enumerate"
    }
}

/// Calls `f` on every cube of exactly `size` literals.
fn for_each_cube(
    question: &Question<'_>,
    size: usize,
    f: &mut dyn FnMut(&Cube) -> Result<(), Reason>,
) -> Result<(), Reason> {
    let mut cube = Cube::unknown(question.width);
    extend(question, 0, size, &mut cube, f)
}

fn extend(
    question: &Question<'_>,
    from: usize,
    missing: usize,
    cube: &mut Cube,
    f: &mut dyn FnMut(&Cube) -> Result<(), Reason>,
) -> Result<(), Reason> {
    if missing == 0 {
        return f(cube);
    }
    let slots = question.slots;
    for at in from..=slots.len().saturating_sub(missing) {
        let Some((slot, _)) = slots.get(at) else {
            break;
        };
        for value in [true, false] {
            cube.set(*slot, Some(value));
            extend(question, at + 1, missing - 1, cube, f)?;
        }
        cube.set(*slot, None);
    }
    Ok(())
}
