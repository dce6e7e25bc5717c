//! *Sequence interpolants*: for formulas `A_1 .. A_n` that cannot hold together,
//! formulas `I_1 .. I_{n-1}` such that `A_1 => I_1`, `I_i && A_{i+1} => I_{i+1}`,
//! `I_{n-1} && A_n` is unsatisfiable, and `I_i` uses only variables common to
//! `A_1 .. A_i` and `A_{i+1} .. A_n`. On the SSA form of an infeasible path they
//! say at each point what rules the path out; refinement takes their atoms.
//!
//! Whatever the method, each sequence passes plain solver queries for the three
//! conditions before it is returned; the condition on variables is checked too.

use crate::formula::Formula;
use crate::limits::Reason;
use crate::literals::Lit;
use crate::names::Var;
use crate::project;
use crate::prover::{Outcome, Prover};
use crate::spacer;
use crate::stats::Purpose;
use crate::term::Overflow;
use std::collections::BTreeSet;
use std::time::Instant;

/// How interpolants are found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Method {
    /// From a refutation by difference bounds: general atoms, microseconds;
    /// only where the unsat core consists of such bounds.
    Cycle,
    /// Spacer on the steps of an unsat core: general atoms, but tens of
    /// milliseconds, and seconds on long chains.
    Spacer,
    /// Strongest postconditions of an unsat core, projected to the common
    /// variables.
    Forward,
    /// Weakest preconditions of an unsat core, projected likewise.
    Backward,
}

impl Method {
    /// All methods, the cheapest first.
    pub const ALL: [Self; 4] = [Self::Cycle, Self::Backward, Self::Forward, Self::Spacer];
}

/// Why there are no interpolants.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InterpolateError {
    /// The formulas can hold together.
    #[error("the chain is satisfiable")]
    Satisfiable,
    /// A query stayed unknown.
    #[error("{0}")]
    Unknown(Reason),
    /// The sequence that was found fails a condition at this cut (from 0).
    #[error("the sequence found is no interpolant at cut {cut}")]
    Rejected {
        /// The cut, from 0.
        cut: usize,
    },
    /// The contradiction is not one of difference bounds.
    #[error("the contradiction is not one of difference bounds")]
    NotDifferences,
    /// Spacer's answer uses something outside linear integer arithmetic.
    #[error("an interpolant cannot be read back: {0}")]
    Unreadable(String),
    /// Projection would need too many cases.
    #[error("projection needs too many cases")]
    TooManyCases,
    /// A number left the range of terms.
    #[error("a number in an interpolant exceeds 96 bits")]
    Overflow,
}

impl From<Overflow> for InterpolateError {
    fn from(Overflow: Overflow) -> Self {
        Self::Overflow
    }
}

/// A chain of formulas with the variables common to both sides of each cut.
pub(crate) struct Chain<'a> {
    formulas: &'a [Formula],
    common: Vec<Vec<Var>>,
}

impl<'a> Chain<'a> {
    pub(crate) fn new(formulas: &'a [Formula]) -> Self {
        let vars: Vec<BTreeSet<Var>> = formulas.iter().map(Formula::free_vars).collect();
        let mut before = BTreeSet::new();
        let mut common = Vec::new();
        for cut in 1..formulas.len() {
            before.extend(vars[cut - 1].iter().copied());
            let after = |var: &Var| vars[cut..].iter().any(|of_step| of_step.contains(var));
            common.push(before.iter().copied().filter(after).collect());
        }
        Self { formulas, common }
    }

    pub(crate) fn formulas(&self) -> &[Formula] {
        self.formulas
    }

    pub(crate) fn cuts(&self) -> usize {
        self.common.len()
    }

    pub(crate) fn common(&self, cut: usize) -> &[Var] {
        &self.common[cut]
    }
}

impl Prover {
    /// Sequence interpolants of `chain`, one for each of the `n - 1` cuts.
    pub fn interpolate(
        &mut self,
        chain: &[Formula],
        method: Method,
    ) -> Result<Vec<Formula>, InterpolateError> {
        let core = self.core_of_chain(chain)?;
        let found = match method {
            Method::Cycle => self.cycle_interpolants(&core)?,
            Method::Spacer => self.spacer_interpolants(&core)?,
            Method::Forward => project::forward(&Chain::new(&core))?,
            Method::Backward => project::backward(&Chain::new(&core))?,
        };
        let found: Vec<Formula> = found.iter().map(Formula::simplified).collect();
        self.check_interpolants(chain, &found)?;
        Ok(found)
    }

    /// One refutation of the core by difference bounds, cut everywhere.
    fn cycle_interpolants(&mut self, core: &[Formula]) -> Result<Vec<Formula>, InterpolateError> {
        let mut query: Vec<Lit> = Vec::new();
        let mut steps: Vec<usize> = Vec::new();
        for (step, formula) in core.iter().enumerate() {
            for part in formula.conjuncts() {
                query.push(self.literal(part));
                steps.push(step);
            }
        }
        let refutation = self
            .refute(&query)
            .ok_or(InterpolateError::NotDifferences)?;
        let places = self.table().places();
        (0..core.len().saturating_sub(1))
            .map(|cut| Ok(refutation.interpolant(&|at| steps[at as usize] <= cut, places)?))
            .collect()
    }

    /// Spacer on the steps that the core uses: its work grows fast with the
    /// length of the chain. What holds at a cut holds on over steps that are
    /// not used; before the first `true` does, and after the last `false`.
    /// (Spacer's preprocessing drops relations that it finds unreachable by
    /// itself, and then has no cover for them.)
    fn spacer_interpolants(&mut self, core: &[Formula]) -> Result<Vec<Formula>, InterpolateError> {
        let used: Vec<usize> = (0..core.len())
            .filter(|step| core[*step] != Formula::True)
            .collect();
        let chain: Vec<Formula> = used.iter().map(|step| core[*step].clone()).collect();
        let started = Instant::now();
        let inner = spacer::candidates(&Chain::new(&chain), self.limits());
        self.stats()
            .count_call(Purpose::Interpolate, started.elapsed());
        let inner = inner?;
        let at_cut = |cut: usize| match used.iter().filter(|step| **step <= cut).count() {
            0 => Formula::True,
            before => inner.get(before - 1).cloned().unwrap_or(Formula::False),
        };
        Ok((0..core.len().saturating_sub(1)).map(at_cut).collect())
    }

    /// The chain reduced to the conjuncts of an unsat core.
    pub fn core_of_chain(&mut self, chain: &[Formula]) -> Result<Vec<Formula>, InterpolateError> {
        let parts: Vec<(usize, &Formula)> = chain
            .iter()
            .enumerate()
            .flat_map(|(step, formula)| formula.conjuncts().iter().map(move |part| (step, part)))
            .collect();
        let formulas: Vec<Formula> = parts.iter().map(|(_, part)| (*part).clone()).collect();
        match self.solve_all(&formulas, Purpose::Interpolate) {
            Outcome::Sat(_) => Err(InterpolateError::Satisfiable),
            Outcome::Unknown(reason) => Err(InterpolateError::Unknown(reason)),
            Outcome::Unsat(core) => {
                let of_step = |step: usize| {
                    let inside = core.iter().filter(|at| parts[**at].0 == step);
                    Formula::all(inside.map(|at| formulas[*at].clone()))
                };
                Ok((0..chain.len()).map(of_step).collect())
            }
        }
    }

    /// Checks that `found` are sequence interpolants of `chain`, by plain
    /// queries and independently of how they were found.
    pub fn check_interpolants(
        &mut self,
        chain: &[Formula],
        found: &[Formula],
    ) -> Result<(), InterpolateError> {
        let shape = Chain::new(chain);
        if found.len() != shape.cuts() {
            return Err(InterpolateError::Rejected {
                cut: found.len().min(shape.cuts()),
            });
        }
        for (cut, formula) in found.iter().enumerate() {
            let common = shape.common(cut);
            if !formula.free_vars().iter().all(|var| common.contains(var)) {
                return Err(InterpolateError::Rejected { cut });
            }
        }
        for (step, formula) in chain.iter().enumerate() {
            let before = step
                .checked_sub(1)
                .map_or(Formula::True, |cut| found[cut].clone());
            let after = found.get(step).cloned().unwrap_or(Formula::False);
            let holds = self.implies(&before.and(formula), &after, Purpose::Interpolate);
            if !holds.map_err(InterpolateError::Unknown)? {
                return Err(InterpolateError::Rejected {
                    cut: step.min(shape.cuts()),
                });
            }
        }
        Ok(())
    }
}
