//! The *judge* decides obligations: that some literals cannot hold at once, or
//! that they imply one of several cubes. What the form shows is decided without
//! the solver: most conjuncts of an invariant are untouched by a step and stand
//! on both sides. Everything that was proved once is remembered.

use palisade_logic::limits::{Limits, Reason};
use palisade_logic::prover::{Answer, Cluster, Options, Prover};
use palisade_logic::{Formula, Lit, Purpose, SolverStats};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::time::Instant;

/// Decides obligations for one worker.
pub(crate) struct Judge {
    prover: Prover,
    proved: FxHashSet<Box<[Lit]>>,
    limits: Limits,
    /// Queries that went to the solver.
    pub(crate) calls: u64,
    /// Obligations that were decided.
    pub(crate) obligations: u64,
}

impl Judge {
    pub(crate) fn new(limits: &Limits, stats: &Arc<SolverStats>) -> Self {
        let options = Options {
            limits: limits.clone(),
            stats: Arc::clone(stats),
            ..Options::default()
        };
        Self {
            prover: Prover::new(options),
            proved: FxHashSet::default(),
            limits: limits.clone(),
            calls: 0,
            obligations: 0,
        }
    }

    /// The literal of a formula.
    pub(crate) fn lit(&mut self, formula: &Formula) -> Lit {
        self.prover.literal(formula)
    }

    /// The literals of a formula's conjuncts.
    pub(crate) fn conjuncts(&mut self, formula: &Formula) -> Vec<Lit> {
        let parts = formula.conjuncts().iter();
        parts.map(|part| self.prover.literal(part)).collect()
    }

    /// Whether a limit of the whole run was reached.
    pub(crate) fn interrupted(&self) -> Result<(), Reason> {
        match self.limits.exceeded(Instant::now()) {
            Some(reason) => Err(reason),
            None => Ok(()),
        }
    }

    /// Whether `lits` cannot hold at once.
    pub(crate) fn impossible(&mut self, cluster: Cluster, lits: &[Lit]) -> Result<bool, Reason> {
        self.obligations += 1;
        let mut query: Vec<Lit> = lits.to_vec();
        query.sort_unstable();
        query.dedup();
        if contradictory(&query) {
            return Ok(true);
        }
        self.ask(cluster, query)
    }

    /// Whether `known` implies one of `targets`, each a conjunction.
    pub(crate) fn covered(
        &mut self,
        cluster: Cluster,
        known: &[Lit],
        targets: &[Vec<Lit>],
    ) -> Result<bool, Reason> {
        self.obligations += 1;
        let mut query: Vec<Lit> = known.to_vec();
        query.sort_unstable();
        query.dedup();
        if contradictory(&query) {
            return Ok(true);
        }
        let mut left: Vec<Vec<Lit>> = Vec::new();
        for target in targets {
            match remaining(&query, target) {
                Some(rest) if rest.is_empty() => return Ok(true),
                Some(rest) => left.push(rest),
                None => {}
            }
        }
        for rest in left {
            let fails = self.negation(&rest);
            query.push(fails);
        }
        query.sort_unstable();
        query.dedup();
        self.ask(cluster, query)
    }

    /// The literal that says that `lits` do not all hold.
    fn negation(&mut self, lits: &[Lit]) -> Lit {
        if let [lit] = lits {
            return !*lit;
        }
        let parts = lits.iter().map(|lit| self.prover.formula(!*lit));
        let clause = Formula::any(parts.collect::<Vec<_>>());
        self.prover.literal(&clause)
    }

    /// Asks the solver whether the sorted `query` is impossible, unless it was
    /// proved before. `unknown` is an error, never an answer.
    fn ask(&mut self, cluster: Cluster, query: Vec<Lit>) -> Result<bool, Reason> {
        if contradictory(&query) || self.proved.contains(&*query) {
            return Ok(true);
        }
        self.calls += 1;
        match self.prover.check(cluster, &query, Purpose::Certify) {
            Answer::Sat => Ok(false),
            Answer::Unsat(_) => {
                self.proved.insert(query.into());
                Ok(true)
            }
            Answer::Unknown(reason) => Err(reason),
        }
    }
}

/// Whether sorted literals contradict each other by form: a literal and its
/// negation are neighbours in the order.
fn contradictory(sorted: &[Lit]) -> bool {
    let opposite = |pair: &[Lit]| pair[0] == !pair[1];
    sorted.contains(&Lit::FALSE) || sorted.windows(2).any(opposite)
}

/// The literals of `target` that do not follow from the sorted `known` by form;
/// `None` if one of them contradicts it.
fn remaining(known: &[Lit], target: &[Lit]) -> Option<Vec<Lit>> {
    let holds = |lit: Lit| lit == Lit::TRUE || known.binary_search(&lit).is_ok();
    if target.iter().any(|lit| holds(!*lit)) {
        return None;
    }
    Some(target.iter().copied().filter(|lit| !holds(*lit)).collect())
}
