//! The *judge* decides obligations: that some literals cannot hold at once, or
//! that they imply one of several cubes. Two cheap rules come before the solver:
//!
//! - *form*: most conjuncts of an invariant are untouched by a step and stand on
//!   both sides;
//! - *evaluation*: a literal all of whose variables are fixed by equations among
//!   the known literals (`x = 3`) is computed.
//!
//! What is left is taken apart: literals that share no variable with others, not even through
//! a third, are impossible or not whatever these say, so that a query is impossible if and only
//! if one of its parts is. Parts are small and come up again and again; their answers are
//! remembered. The solver is asked plainly, without the shortcuts that the engines use.

use palisade_logic::limits::{Limits, Reason};
use palisade_logic::prover::{Answer, Cluster, Options, Prover};
use palisade_logic::{Assignment, Formula, Int, Key, Lit, Purpose, Relation, SolverStats, Var};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::Instant;

/// Queries of a step that go to the common session before the step gets one of
/// its own: a session costs as much as some tens of queries.
const YOUNG: u32 = 24;

/// Queries after which the common session is renewed: one that holds too many
/// definitions slows down.
const RENEW: u32 = 256;

/// The session for queries of steps that ask rarely.
const COMMON: Cluster = Cluster(0);

/// Decides obligations for one worker.
pub(crate) struct Judge {
    prover: Prover,
    /// Whether some literals are impossible, for those that were asked about.
    answered: FxHashMap<Box<[Lit]>, bool>,
    facts: Vec<Option<Box<Fact>>>,
    asked: FxHashMap<Cluster, u32>,
    common: u32,
    limits: Limits,
    /// Queries that went to the solver.
    pub(crate) calls: u64,
    /// Obligations that were decided.
    pub(crate) obligations: u64,
}

/// What the judge has found out about the formula of a literal.
struct Fact {
    formula: Formula,
    vars: Box<[Var]>,
    equation: Option<(Var, Int)>,
}

/// Literals that hold, sorted, and the values that their equations fix.
struct Known {
    lits: Vec<Lit>,
    values: Assignment,
    fixed: Vec<Var>,
}

impl Judge {
    pub(crate) fn new(limits: &Limits, stats: &Arc<SolverStats>) -> Self {
        let options = Options {
            limits: limits.clone(),
            stats: Arc::clone(stats),
            ..Options::plain()
        };
        Self {
            prover: Prover::new(options),
            answered: FxHashMap::default(),
            facts: Vec::new(),
            asked: FxHashMap::default(),
            common: 0,
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
        match self.known(lits) {
            Some(known) => self.ask(cluster, &known.lits, &[]),
            None => Ok(true),
        }
    }

    /// Whether `lits` imply one of `targets`, each a conjunction.
    pub(crate) fn covered(
        &mut self,
        cluster: Cluster,
        lits: &[Lit],
        targets: &[Vec<Lit>],
    ) -> Result<bool, Reason> {
        self.obligations += 1;
        let Some(known) = self.known(lits) else {
            return Ok(true);
        };
        let mut left: Vec<Vec<Lit>> = Vec::new();
        for target in targets {
            match self.remaining(&known, target) {
                Some(rest) if rest.is_empty() => return Ok(true),
                Some(rest) => left.push(rest),
                None => {}
            }
        }
        if let [rest] = &left[..] {
            // One target: each of its literals alone.
            for lit in rest {
                if !self.ask(cluster, &known.lits, &[!*lit])? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let fails: Vec<Lit> = left.iter().map(|rest| self.negation(rest)).collect();
        self.ask(cluster, &known.lits, &fails)
    }

    /// The literals with the values that they fix; `None` if they contradict
    /// each other by form or by evaluation.
    fn known(&mut self, lits: &[Lit]) -> Option<Known> {
        let mut lits = lits.to_vec();
        lits.sort_unstable();
        lits.dedup();
        lits.retain(|lit| *lit != Lit::TRUE);
        if contradictory(&lits) {
            return None;
        }
        let mut values = Assignment::default();
        let mut fixed = Vec::new();
        for lit in lits.iter().filter(|lit| lit.is_positive()) {
            if let Some((var, value)) = self.fact(*lit).equation {
                values.set(var, value);
                fixed.push(var);
            }
        }
        fixed.sort_unstable();
        let known = Known {
            lits,
            values,
            fixed,
        };
        let fails = |lit: &Lit| self.evaluate(&known, *lit) == Some(false);
        (!known.lits.iter().any(fails)).then_some(known)
    }

    /// The literals of `target` that follow from `known` neither by form nor by
    /// evaluation; `None` if one of them contradicts it.
    fn remaining(&mut self, known: &Known, target: &[Lit]) -> Option<Vec<Lit>> {
        let mut rest = Vec::new();
        for lit in target {
            match self.decide(known, *lit) {
                Some(true) => {}
                Some(false) => return None,
                None => rest.push(*lit),
            }
        }
        Some(rest)
    }

    fn decide(&mut self, known: &Known, lit: Lit) -> Option<bool> {
        if lit == Lit::TRUE || known.lits.binary_search(&lit).is_ok() {
            return Some(true);
        }
        if lit == Lit::FALSE || known.lits.binary_search(&!lit).is_ok() {
            return Some(false);
        }
        self.evaluate(known, lit)
    }

    /// The value of a literal whose variables are all fixed. Numbers that leave
    /// the range decide nothing.
    fn evaluate(&mut self, known: &Known, lit: Lit) -> Option<bool> {
        let fact = self.fact(lit);
        let is_fixed = |var: &Var| known.fixed.binary_search(var).is_ok();
        if !fact.vars.iter().all(is_fixed) {
            return None;
        }
        let value = fact.formula.eval(&known.values).ok()?;
        Some(value == lit.is_positive())
    }

    fn fact(&mut self, lit: Lit) -> &Fact {
        let index = lit.index();
        if index >= self.facts.len() {
            self.facts.resize_with(index + 1, || None);
        }
        let prover = &self.prover;
        self.facts[index].get_or_insert_with(|| {
            let base = if lit.is_positive() { lit } else { !lit };
            let formula = prover.formula(base);
            Box::new(Fact {
                vars: formula.free_vars().into_iter().collect(),
                equation: equation(&formula),
                formula,
            })
        })
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

    /// Asks the solver whether `known` and `goals` are impossible together, part by part:
    /// those with goals first, the others matter only if `known` contradicts itself.
    /// `unknown` is an error, never an answer.
    fn ask(&mut self, cluster: Cluster, known: &[Lit], goals: &[Lit]) -> Result<bool, Reason> {
        let mut query: Vec<Lit> = goals.to_vec();
        query.extend(known.iter().filter(|lit| !goals.contains(lit)));
        let mut trouble = None;
        for part in self.parts(&query) {
            match self.ask_part(cluster, part) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(reason) => trouble = trouble.or(Some(reason)),
            }
        }
        trouble.map_or(Ok(false), Err)
    }

    /// The classes of literals that share variables, in the order of their first literals.
    fn parts(&mut self, query: &[Lit]) -> Vec<Vec<Lit>> {
        let mut parts: Vec<(Vec<Lit>, Vec<Var>)> = Vec::new();
        for lit in query {
            let mut joined = (vec![*lit], self.fact(*lit).vars.to_vec());
            let mut at = None;
            let mut kept = Vec::with_capacity(parts.len() + 1);
            for part in parts {
                if part.1.iter().any(|v| joined.1.contains(v)) {
                    at = at.or(Some(kept.len()));
                    joined.0.extend(part.0);
                    joined.1.extend(part.1);
                } else {
                    kept.push(part);
                }
            }
            kept.insert(at.unwrap_or(kept.len()), joined);
            parts = kept;
        }
        parts.into_iter().map(|(lits, _)| lits).collect()
    }

    fn ask_part(&mut self, cluster: Cluster, mut query: Vec<Lit>) -> Result<bool, Reason> {
        query.sort_unstable();
        query.dedup();
        if contradictory(&query) {
            return Ok(true);
        }
        if let Some(known) = self.answered.get(&*query) {
            return Ok(*known);
        }
        self.calls += 1;
        let cluster = self.session(cluster);
        let impossible = match self.prover.check(cluster, &query, Purpose::Certify) {
            Answer::Sat => false,
            Answer::Unsat(_) => true,
            Answer::Unknown(reason) => return Err(reason),
        };
        self.answered.insert(query.into(), impossible);
        Ok(impossible)
    }
}

impl Judge {
    /// The session that a query of `step` goes to.
    fn session(&mut self, step: Cluster) -> Cluster {
        let asked = self.asked.entry(step).or_default();
        *asked += 1;
        if *asked > YOUNG && step != COMMON {
            return step;
        }
        self.common += 1;
        if self.common.is_multiple_of(RENEW) {
            self.prover.forget(COMMON);
        }
        COMMON
    }
}

/// Whether sorted literals contradict each other by form: a literal and its
/// negation are neighbours in the order.
fn contradictory(sorted: &[Lit]) -> bool {
    let opposite = |pair: &[Lit]| pair[0] == !pair[1];
    sorted.contains(&Lit::FALSE) || sorted.windows(2).any(opposite)
}

/// The variable and value of a formula of the form `x = 3`.
fn equation(formula: &Formula) -> Option<(Var, Int)> {
    let Formula::Literal(literal) = formula else {
        return None;
    };
    match (&**literal.atom.sum(), literal.atom.relation()) {
        ([(Key::Var(var), 1)], Relation::Eq) if literal.positive => {
            Some((*var, literal.atom.bound()))
        }
        _ => None,
    }
}
