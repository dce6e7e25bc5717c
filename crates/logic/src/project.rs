//! Interpolants without Spacer, by *projection*: strongest postconditions from
//! the front or weakest preconditions from the back of a chain, each projected
//! to the variables common to both sides of the cut. On the SSA form of a path
//! most variables are defined by equations and projection is substitution; what
//! remains is eliminated by Fourier and Motzkin's method.
//!
//! Projection here may be weaker than the exact one (over the integers
//! Fourier-Motzkin loses divisibility, and literals with the variable inside a
//! remainder are dropped). The result is then checked like any other candidate,
//! so weakness costs an interpolant, never soundness.

use crate::atom::{Literal, Relation};
use crate::formula::Formula;
use crate::interpolate::{Chain, InterpolateError};
use crate::names::Var;
use crate::substitute::Substitution;
use crate::term::{Int, Key, Overflow, Term};

/// Cases and literals beyond which projection gives up.
const MAX_CASES: usize = 64;
const MAX_LITERALS: usize = 256;

type Cube = Vec<Literal>;

/// `I_i = project(I_{i-1} && A_i)`.
pub(crate) fn forward(chain: &Chain<'_>) -> Result<Vec<Formula>, InterpolateError> {
    let mut known = Formula::True;
    let mut found = Vec::new();
    for cut in 0..chain.cuts() {
        known = project(&known.and(&chain.formulas()[cut]), chain.common(cut))?;
        found.push(known.clone());
    }
    Ok(found)
}

/// `I_i = !project(A_{i+1} && !I_{i+1})`.
pub(crate) fn backward(chain: &Chain<'_>) -> Result<Vec<Formula>, InterpolateError> {
    let mut failing = Formula::True;
    let mut found = Vec::new();
    for cut in (0..chain.cuts()).rev() {
        failing = project(&failing.and(&chain.formulas()[cut + 1]), chain.common(cut))?;
        found.push(failing.negated());
    }
    found.reverse();
    Ok(found)
}

/// A consequence of `formula` over `keep` (sorted) alone, as strong as the
/// method gives.
fn project(formula: &Formula, keep: &[Var]) -> Result<Formula, InterpolateError> {
    Projection { keep, cases: 0 }.formula(formula)
}

struct Projection<'a> {
    keep: &'a [Var],
    cases: usize,
}

impl Projection<'_> {
    fn formula(&mut self, formula: &Formula) -> Result<Formula, InterpolateError> {
        let mut results = Vec::new();
        for cube in cubes(&formula.simplified())? {
            self.cases += 1;
            if self.cases > MAX_CASES || cube.len() > MAX_LITERALS {
                return Err(InterpolateError::TooManyCases);
            }
            results.push(self.cube(cube)?);
        }
        Ok(Formula::any(results).simplified())
    }

    /// Removes one variable and goes on with the rest.
    fn cube(&mut self, cube: Cube) -> Result<Formula, InterpolateError> {
        if let Some((at, var, value)) = self.definition(&cube)? {
            let rest = without(&cube, at).substitute(&Substitution::single(var, value))?;
            return self.formula(&rest);
        }
        let Some(var) = self.cheapest(&cube) else {
            return Ok(Formula::all(cube.into_iter().map(Formula::from)));
        };
        let inside = |literal: &Literal| {
            literal
                .atom
                .sum()
                .iter()
                .any(|(key, _)| key_hides(key, var))
        };
        let cube: Cube = cube
            .into_iter()
            .filter(|literal| !inside(literal))
            .collect();
        let is_equation = |l: &&Literal| l.positive && l.atom.relation() == Relation::Eq;
        let mentions = |l: &&Literal| coefficient(&l.atom.term(), var) != 0;
        if let Some(at) = cube.iter().position(|l| is_equation(&l) && mentions(&l)) {
            return self.by_equation(&cube, at, var);
        }
        let is_gap = |l: &&Literal| !l.positive && l.atom.relation() == Relation::Eq;
        if let Some(at) = cube.iter().position(|l| is_gap(&l) && mentions(&l)) {
            return self.split(&cube, at);
        }
        let rest = by_inequalities(&cube, var)?;
        self.formula(&rest)
    }

    fn unwanted(&self, var: Var) -> bool {
        self.keep.binary_search(&var).is_err()
    }

    /// An equation that says what an unwanted variable is.
    fn definition(&self, cube: &Cube) -> Result<Option<(usize, Var, Term)>, Overflow> {
        for (at, literal) in cube.iter().enumerate() {
            if !literal.positive || literal.atom.relation() != Relation::Eq {
                continue;
            }
            let term = literal.atom.term();
            for (key, c) in term.sum().iter() {
                let Key::Var(var) = key else { continue };
                let hidden = term.sum().iter().any(|(key, _)| key_hides(key, *var));
                if c.abs() == 1 && self.unwanted(*var) && !hidden {
                    let rest = term.minus(&Term::var(*var).times(*c)?)?;
                    return Ok(Some((at, *var, rest.times(-c)?)));
                }
            }
        }
        Ok(None)
    }

    /// The unwanted variable whose elimination makes the fewest literals.
    fn cheapest(&self, cube: &Cube) -> Option<Var> {
        let mut unwanted: Vec<Var> = Vec::new();
        for literal in cube {
            Formula::from(literal.clone()).for_each_var(&mut |var| unwanted.push(var));
        }
        unwanted.retain(|var| self.unwanted(*var));
        unwanted.sort_unstable();
        unwanted.dedup();
        let cost = |var: &Var| {
            let signs = cube
                .iter()
                .map(|l| coefficient(&l.atom.term(), *var).signum());
            let (up, down) = signs.fold((0_usize, 0_usize), |(up, down), sign| match sign {
                1 => (up + 1, down),
                -1 => (up, down + 1),
                _ => (up, down),
            });
            (up * down, *var)
        };
        unwanted.into_iter().min_by_key(cost)
    }

    /// Eliminates `var` by an equation `c * var + r = 0` where `c` is not ±1:
    /// cross-multiplies, and remembers that `c` divides `r`.
    fn by_equation(
        &mut self,
        cube: &Cube,
        at: usize,
        var: Var,
    ) -> Result<Formula, InterpolateError> {
        let equation = cube[at].atom.term();
        let c = coefficient(&equation, var);
        let rest = equation.minus(&Term::var(var).times(c)?)?;
        let divides = Formula::eq(&rest.modulo(c.abs())?, &Term::constant(0))?;
        let mut parts = vec![divides];
        for (i, literal) in cube.iter().enumerate() {
            if i == at {
                continue;
            }
            let term = literal.atom.term();
            let d = coefficient(&term, var);
            let combined = term
                .times(c.abs())?
                .minus(&equation.times(d * c.signum())?)?;
            let atom = Formula::compare(&combined, literal.atom.relation())?;
            parts.push(if literal.positive {
                atom
            } else {
                atom.negated()
            });
        }
        self.formula(&Formula::all(parts))
    }

    /// `t != 0` as `t < 0` or `t > 0`.
    fn split(&mut self, cube: &Cube, at: usize) -> Result<Formula, InterpolateError> {
        let (term, zero) = (cube[at].atom.term(), Term::constant(0));
        let rest = without(cube, at);
        let below = self.formula(&rest.and(&Formula::lt(&term, &zero)?))?;
        let above = self.formula(&rest.and(&Formula::gt(&term, &zero)?))?;
        Ok(below.or(&above))
    }
}

/// Fourier-Motzkin: each upper bound on `var` with each lower bound.
fn by_inequalities(cube: &Cube, var: Var) -> Result<Formula, Overflow> {
    let (mut upper, mut lower, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for literal in cube {
        let term = as_at_most_zero(literal)?;
        match (coefficient(&term, var), literal.atom.relation()) {
            (0, _) | (_, Relation::Eq) => parts.push(Formula::from(literal.clone())),
            (c, Relation::Le) if c > 0 => upper.push((term, c)),
            (c, Relation::Le) => lower.push((term, -c)),
        }
    }
    for (above, a) in &upper {
        for (below, b) in &lower {
            let sum = above.times(*b)?.plus(&below.times(*a)?)?;
            parts.push(Formula::compare(&sum, Relation::Le)?);
        }
    }
    Ok(Formula::all(parts))
}

/// The term `t` with the literal being `t <= 0` (for equations: `t = 0` or its
/// negation, unchanged).
fn as_at_most_zero(literal: &Literal) -> Result<Term, Overflow> {
    let term = literal.atom.term();
    if literal.positive || literal.atom.relation() == Relation::Eq {
        Ok(term)
    } else {
        term.negated().plus_constant(1)
    }
}

fn coefficient(term: &Term, var: Var) -> Int {
    let at = term
        .sum()
        .binary_search_by(|(key, _)| key.cmp(&Key::Var(var)));
    at.map_or(0, |at| term.sum()[at].1)
}

/// Whether `var` occurs inside an opaque key.
fn key_hides(key: &Key, var: Var) -> bool {
    if matches!(key, Key::Var(_)) {
        return false;
    }
    let mut found = false;
    key.for_each_var(&mut |other| found |= other == var);
    found
}

fn without(cube: &Cube, at: usize) -> Formula {
    let others = cube.iter().enumerate().filter(|(i, _)| *i != at);
    Formula::all(others.map(|(_, literal)| Formula::from(literal.clone())))
}

/// Disjunctive normal form, up to [`MAX_CASES`].
fn cubes(formula: &Formula) -> Result<Vec<Cube>, InterpolateError> {
    match formula {
        Formula::True => Ok(vec![Vec::new()]),
        Formula::False => Ok(Vec::new()),
        Formula::Literal(literal) => Ok(vec![vec![literal.clone()]]),
        Formula::Or(parts) => {
            let mut all = Vec::new();
            for part in parts.iter() {
                all.extend(cubes(part)?);
            }
            bounded(all)
        }
        Formula::And(parts) => {
            let mut all = vec![Vec::new()];
            for part in parts.iter() {
                let cases = cubes(part)?;
                if all.len() * cases.len() > MAX_CASES {
                    return Err(InterpolateError::TooManyCases);
                }
                let joined = |cube: &Cube| {
                    let cube = cube.clone();
                    cases
                        .iter()
                        .map(move |case| cube.iter().chain(case).cloned().collect())
                };
                all = all.iter().flat_map(joined).collect();
            }
            Ok(all)
        }
        Formula::Iff(sides) => {
            let (a, b) = (&sides.0, &sides.1);
            let neither = a.negated().and(&b.negated());
            let mut all = cubes(&a.and(b))?;
            all.extend(cubes(&neither)?);
            bounded(all)
        }
    }
}

fn bounded(cases: Vec<Cube>) -> Result<Vec<Cube>, InterpolateError> {
    if cases.len() > MAX_CASES {
        Err(InterpolateError::TooManyCases)
    } else {
        Ok(cases)
    }
}
