//! The strategy *cores*: the minimal cubes that contradict a base are the minimal
//! unsatisfiable *cores* of the base with all literals, and these are the dual of
//! the base's models. Every model of the base gives each slot a value; a cube
//! contradicts the base exactly if it disagrees with every model somewhere. So the
//! minimal cubes are the minimal hitting sets of the models' opposites, and models
//! are asked for only where a candidate needs one ("dualise and advance", Gunopulos
//! et al. 1997; for cores: Bailey and Stuckey 2005):
//!
//! 1. Take a smallest candidate that disagrees with all models so far.
//! 2. No model of base and candidate: it is a core, and minimal, since each of its
//!    proper parts agrees with a model that is known.
//! 3. Else the new model agrees with this candidate and maybe with others: replace
//!    each of them by its extensions that disagree with the model.
//!
//! Solver calls: one for each minimal cube and one for each model that was
//! needed, instead of one for each cube that exists.

use palisade_logic::{Assignment, Outcome, Overflow, Prover, Purpose, Reason};

use crate::cubes::{Cover, Cube, CubeSearch, Question, give_up_or, size};

/// Finds minimal cubes as hitting sets of models.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByCores;

impl CubeSearch for ByCores {
    fn contradictions(
        &self,
        prover: &mut Prover,
        question: &Question<'_>,
    ) -> Result<Cover, Reason> {
        let mut found = Cover::default();
        // By size, so that a candidate contained in another is met first.
        let mut candidates: Vec<Vec<Cube>> = vec![vec![Cube::unknown(question.width)]];
        let mut at = 0;
        while at < candidates.len() {
            let Some(candidate) = candidates[at].pop() else {
                at += 1;
                continue;
            };
            if question.ignores(&candidate) || found.subsumes(&candidate) {
                continue;
            }
            let lits = question.literals(&candidate);
            match prover.check_model(question.cluster, &lits, Purpose::Abstract) {
                Outcome::Unsat(_) => found.insert(candidate),
                // A candidate whose model is too large, or about which the solver
                // cannot decide, is dropped: less is known.
                Outcome::Sat(model) => {
                    if let Ok(agreeing) = values(prover, question, &model) {
                        candidates[at].push(candidate);
                        advance(question, &mut candidates, &agreeing);
                    }
                }
                Outcome::Unknown(reason) => give_up_or(reason, ())?,
            }
        }
        Ok(found)
    }

    fn name(&self) -> &'static str {
        "cores"
    }
}

/// The value of every slot in a model.
fn values(prover: &Prover, question: &Question<'_>, model: &Assignment) -> Result<Cube, Overflow> {
    let mut cube = Cube::unknown(question.width);
    for (at, (slot, lit)) in question.slots.iter().enumerate() {
        let value = if prover.formula(*lit).eval(model)? {
            Some(true)
        } else {
            let no = prover.formula(question.opposite(at)).eval(model)?;
            no.then_some(false)
        };
        cube.set(*slot, value);
    }
    Ok(cube)
}

/// Replaces the candidates that agree with a model by their smallest extensions
/// that do not. A candidate agrees if all its literals hold in the model.
fn advance(question: &Question<'_>, candidates: &mut Vec<Vec<Cube>>, model: &Cube) {
    let mut agreeing = Vec::new();
    for group in candidates.iter_mut() {
        let (agree, keep) = group.drain(..).partition(|cube: &Cube| cube.covers(model));
        *group = keep;
        agreeing.push(agree);
    }
    for cube in agreeing.into_iter().flatten() {
        let next = size(&cube) + 1;
        if question.max_size.is_some_and(|max| next > max) {
            continue;
        }
        if candidates.len() <= next {
            candidates.resize_with(next + 1, Vec::new);
        }
        for (slot, _) in question.slots.iter().rev() {
            if cube.get(*slot).is_some() {
                continue;
            }
            // A value that the model does not have; either, if it has none.
            let model = model.get(*slot);
            for value in [true, false].into_iter().filter(|v| model != Some(*v)) {
                let mut longer = cube.clone();
                longer.set(*slot, Some(value));
                if !contains_smaller(candidates, &longer, next) {
                    candidates[next].push(longer);
                }
            }
        }
    }
}

/// Whether a candidate of at most this size is part of `cube`, or is `cube`.
fn contains_smaller(candidates: &[Vec<Cube>], cube: &Cube, size: usize) -> bool {
    let mut smaller = candidates.iter().take(size + 1).flatten();
    smaller.any(|other| other.covers(cube))
}
