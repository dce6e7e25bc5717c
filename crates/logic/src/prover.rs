//! The *prover*: what the engines ask. It holds the table of literals and a
//! pool of solver sessions, one per [`Cluster`] of queries that belong together
//! (a statement, a set of variables), and counts what it answers.
//!
//! A prover belongs to one thread, as Z3's terms do; every worker makes its own
//! and shares the [`SolverStats`] and the cancellation flag of [`Limits`].
//! `unknown` is an answer of its own and is never turned into another.

use crate::difference::{Differences, Finding};
use crate::eval::Assignment;
use crate::formula::Formula;
use crate::limits::{Limits, Reason};
use crate::literals::{Lit, Literals};
use crate::memo::Memo;
use crate::refutation::Refutation;
use crate::session::{Decision, Session};
use crate::stats::{Purpose, SolverStats, Source};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::Instant;

/// Queries that share a solver session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cluster(pub u32);

/// The answer to whether a set of literals can hold at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// They can.
    Sat,
    /// Those at these positions of the query cannot (sorted).
    Unsat(Vec<usize>),
    /// Not known, and why.
    Unknown(Reason),
}

/// As [`Answer`], with a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// They can: under this assignment, which was evaluated.
    Sat(Assignment),
    /// Those at these positions of the query cannot (sorted).
    Unsat(Vec<usize>),
    /// Not known, and why.
    Unknown(Reason),
}

/// How a prover works.
#[derive(Clone, Debug)]
pub struct Options {
    /// What ends a query.
    pub limits: Limits,
    /// Where queries are counted.
    pub stats: Arc<SolverStats>,
    /// Whether earlier answers are looked up before the solver is asked.
    pub memo: bool,
    /// Whether difference bounds are decided without the solver.
    pub differences: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            stats: Arc::default(),
            memo: true,
            differences: true,
        }
    }
}

impl Options {
    /// Nothing in front of the solver: for checking evidence.
    pub fn plain() -> Self {
        Self {
            memo: false,
            differences: false,
            ..Self::default()
        }
    }
}

/// Definitions after which the session of one-shot queries is renewed.
const SCRATCH_LIMIT: usize = 128;

/// Sessions kept at a time; each holds more than a megabyte.
const MAX_SESSIONS: usize = 24;

/// The table of literals and the pool of sessions.
pub struct Prover {
    literals: Literals,
    sessions: FxHashMap<Cluster, (Session, u64)>,
    /// Counts queries, to know which session was used last.
    clock: u64,
    /// The session of one-shot queries. Like all others it is made when the first question
    /// comes: the solver's own tables are larger than most proofs without questions.
    scratch: Option<Session>,
    memos: FxHashMap<Cluster, Memo>,
    differences: Differences,
    options: Options,
}

impl Prover {
    /// A prover for the current thread.
    pub fn new(options: Options) -> Self {
        Self {
            literals: Literals::default(),
            sessions: FxHashMap::default(),
            clock: 0,
            scratch: None,
            memos: FxHashMap::default(),
            differences: Differences::default(),
            options,
        }
    }

    /// The literal of `formula`; the same for equal formulas, opposite for a
    /// formula and its negation.
    pub fn literal(&mut self, formula: &Formula) -> Lit {
        self.literals.intern(formula)
    }

    /// The formula of a literal.
    pub fn formula(&self, lit: Lit) -> Formula {
        self.literals.formula(lit)
    }

    /// The counters.
    pub fn stats(&self) -> &Arc<SolverStats> {
        &self.options.stats
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Changes the limits for the queries to come.
    pub fn set_limits(&mut self, limits: Limits) {
        self.options.limits = limits;
    }

    /// Forgets the session of `cluster`.
    pub fn forget(&mut self, cluster: Cluster) {
        self.sessions.remove(&cluster);
        self.memos.remove(&cluster);
    }

    /// Whether all of `lits` can hold at once.
    pub fn check(&mut self, cluster: Cluster, lits: &[Lit], purpose: Purpose) -> Answer {
        match self.decide(Some(cluster), lits, false, purpose) {
            Ok(Decision::Sat(_)) => Answer::Sat,
            Ok(Decision::Unsat(core)) => Answer::Unsat(positions(lits, &core)),
            Err(reason) => Answer::Unknown(reason),
        }
    }

    /// As [`Prover::check`], with a model. Extracting one costs more than the
    /// check: ask only where the values are needed.
    pub fn check_model(&mut self, cluster: Cluster, lits: &[Lit], purpose: Purpose) -> Outcome {
        outcome(lits, self.decide(Some(cluster), lits, true, purpose))
    }

    /// Whether all of `formulas` can hold at once, with a model: one query
    /// outside any cluster. The core has positions in `formulas`.
    pub fn solve_all(&mut self, formulas: &[Formula], purpose: Purpose) -> Outcome {
        let lits: Vec<Lit> = formulas.iter().map(|f| self.literal(f)).collect();
        outcome(&lits, self.decide(None, &lits, true, purpose))
    }

    /// Whether `b` holds wherever `a` does.
    pub fn implies(&mut self, a: &Formula, b: &Formula, purpose: Purpose) -> Result<bool, Reason> {
        let opposite = b.negated();
        let lits: Vec<Lit> = a
            .conjuncts()
            .iter()
            .chain(opposite.conjuncts())
            .map(|part| self.literals.intern(part))
            .collect();
        match self.decide(None, &lits, false, purpose)? {
            Decision::Sat(_) => Ok(false),
            Decision::Unsat(_) => Ok(true),
        }
    }

    /// Asks, in turn, the form of the query, the limits, the difference bounds,
    /// the memo and the solver.
    fn decide(
        &mut self,
        cluster: Option<Cluster>,
        lits: &[Lit],
        want_model: bool,
        purpose: Purpose,
    ) -> Result<Decision, Reason> {
        let stats = Arc::clone(&self.options.stats);
        let answer = match canonical(lits) {
            Err(core) => Ok((Decision::Unsat(core), Source::Trivial)),
            Ok(query) => self.decide_set(cluster, &query, want_model, purpose),
        };
        let (decision, source) = answer?;
        stats.count(purpose, source);
        Ok(decision)
    }

    fn decide_set(
        &mut self,
        cluster: Option<Cluster>,
        query: &[Lit],
        want_model: bool,
        purpose: Purpose,
    ) -> Result<(Decision, Source), Reason> {
        if let Some(reason) = self.options.limits.exceeded(Instant::now()) {
            return Err(reason);
        }
        if self.options.differences
            && let Some(decision) = self.decide_differences(query, want_model)
        {
            return Ok((decision, Source::Difference));
        }
        let memo = cluster.filter(|_| self.options.memo);
        if let Some(cluster) = memo
            && let Some(found) =
                self.memos
                    .entry(cluster)
                    .or_default()
                    .find(&self.literals, query, want_model)
        {
            return Ok(found);
        }
        let started = Instant::now();
        let keep_model =
            memo.is_some_and(|cluster| self.memos.entry(cluster).or_default().wants_model());
        let decision = self.ask_solver(cluster, query, want_model, keep_model);
        self.options.stats.count_call(purpose, started.elapsed());
        let decision = decision?;
        if let Some(cluster) = memo {
            self.memos
                .entry(cluster)
                .or_default()
                .store(query, &decision);
        }
        Ok((decision, Source::Solver))
    }

    /// The answer as far as difference bounds give one: a core always counts, a
    /// model only when every literal holds under it.
    fn decide_differences(&mut self, query: &[Lit], want_model: bool) -> Option<Decision> {
        match self.differences.decide(&self.literals, query) {
            Finding::Unsat(refutation) => Some(Decision::Unsat(refutation.core(query))),
            Finding::Open => None,
            Finding::Sat { whole: true } => Some(Decision::Sat(
                want_model.then(|| self.differences.model(&self.literals)),
            )),
            Finding::Sat { whole: false } => {
                let model = self.differences.model(&self.literals);
                let holds = |lit: &Lit| self.literals.holds(*lit, &model) == Ok(true);
                query
                    .iter()
                    .all(holds)
                    .then_some(Decision::Sat(Some(model)))
            }
        }
    }

    /// Drops the session that was not used for longest when `cluster` needs a
    /// new one and there are many.
    fn make_room(&mut self, cluster: Cluster) {
        if self.sessions.len() < MAX_SESSIONS || self.sessions.contains_key(&cluster) {
            return;
        }
        // The clock's values are distinct, so the choice is determined.
        let oldest = self.sessions.iter().min_by_key(|(_, (_, used))| *used);
        if let Some(oldest) = oldest.map(|(cluster, _)| *cluster) {
            self.sessions.remove(&oldest);
        }
    }

    /// The refutation of `query` by difference bounds, if there is one.
    pub(crate) fn refute(&mut self, query: &[Lit]) -> Option<Refutation> {
        match self.differences.decide(&self.literals, query) {
            Finding::Unsat(refutation) => Some(refutation),
            Finding::Sat { .. } | Finding::Open => None,
        }
    }

    pub(crate) fn table(&self) -> &Literals {
        &self.literals
    }

    fn ask_solver(
        &mut self,
        cluster: Option<Cluster>,
        query: &[Lit],
        want_model: bool,
        keep_model: bool,
    ) -> Result<Decision, Reason> {
        self.clock += 1;
        let session = if let Some(cluster) = cluster {
            self.make_room(cluster);
            let entry = self
                .sessions
                .entry(cluster)
                .or_insert_with(|| (Session::new(), 0));
            entry.1 = self.clock;
            &mut entry.0
        } else {
            self.scratch.take_if(|own| own.size() > SCRATCH_LIMIT);
            self.scratch.get_or_insert_with(Session::new)
        };
        match session.decide(&self.literals, query, &self.options.limits)? {
            Decision::Sat(_) if want_model => {
                Ok(Decision::Sat(Some(session.model(&self.literals, query)?)))
            }
            // For the memo a model is welcome, not needed.
            Decision::Sat(_) if keep_model => {
                Ok(Decision::Sat(session.model(&self.literals, query).ok()))
            }
            decision @ (Decision::Sat(_) | Decision::Unsat(_)) => Ok(decision),
        }
    }
}

/// The query as a sorted set without `true`, or a core that shows by its form
/// that it cannot hold.
fn canonical(lits: &[Lit]) -> Result<Vec<Lit>, Vec<Lit>> {
    let mut query: Vec<Lit> = lits
        .iter()
        .copied()
        .filter(|lit| *lit != Lit::TRUE)
        .collect();
    query.sort_unstable();
    query.dedup();
    if query.first() == Some(&Lit::FALSE) {
        return Err(vec![Lit::FALSE]);
    }
    // A literal and its negation are neighbours.
    match query.windows(2).find(|pair| pair[0] == !pair[1]) {
        Some(pair) => Err(pair.to_vec()),
        None => Ok(query),
    }
}

/// The first position of each literal of `core` in `lits`, sorted.
fn positions(lits: &[Lit], core: &[Lit]) -> Vec<usize> {
    let mut found: Vec<usize> = core
        .iter()
        .filter_map(|c| lits.iter().position(|lit| lit == c))
        .collect();
    found.sort_unstable();
    found
}

fn outcome(lits: &[Lit], decision: Result<Decision, Reason>) -> Outcome {
    match decision {
        Ok(Decision::Sat(Some(model))) => Outcome::Sat(model),
        Ok(Decision::Sat(None)) => Outcome::Unknown(Reason::ModelTooLarge),
        Ok(Decision::Unsat(core)) => Outcome::Unsat(positions(lits, &core)),
        Err(reason) => Outcome::Unknown(reason),
    }
}
