//! A *session*: one long-lived Z3 solver. Each
//! formula is given to the solver once, behind an indicator (`b => formula`, and
//! `c => !formula` for the negation); a query only assumes indicators. Sessions
//! are kept apart per cluster of queries because a solver that holds every
//! definition slows down.
//!
//! A query is run in slices of Z3's deterministic resource units, doubling, and
//! the limits are looked at between slices: cancellation works without a second
//! thread, and small queries pay nothing for it.

use crate::encode::Encoder;
use crate::eval::Assignment;
use crate::limits::{Limits, Reason};
use crate::literals::{Lit, Literals};
use crate::names::Var;
use crate::term::Overflow;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::time::Instant;
use z3::ast::{Ast, Bool};
use z3::{Params, SatResult, Solver};

/// Resource units of the first slice; some ten milliseconds.
const FIRST_SLICE: u32 = 200_000;

/// Every so many queries a session looks at which definitions were used since,
/// and how many unused ones it bears besides.
const WINDOW: u64 = 64;
const SPARE: usize = 32;

/// What the solver found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// All literals can hold at once; the model if it was asked for and fits.
    Sat(Option<Assignment>),
    /// These of the literals cannot.
    Unsat(Vec<Lit>),
}

/// One solver with the definitions it has seen.
pub(crate) struct Session {
    solver: Solver,
    encoder: Encoder,
    indicators: FxHashMap<Lit, Indicator>,
    queries: u64,
    arithmetic: Arithmetic,
    slice: u32,
}

/// Which of Z3's arithmetic solvers a session uses (its parameter
/// `arith.solver`). The old one is faster on sums alone, by a fifth; with
/// divisions and remainders from earlier queries about, it can take seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arithmetic {
    Linear = 2,
    General = 6,
}

struct Indicator {
    constant: Bool,
    /// Number of the query that used it last.
    last_used: u64,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::with_arithmetic(Arithmetic::Linear)
    }

    fn with_arithmetic(arithmetic: Arithmetic) -> Self {
        let solver = Solver::new_for_logic("QF_LIA").unwrap_or_default();
        let mut params = Params::new();
        params.set_u32("arith.solver", arithmetic as u32);
        params.set_u32("rlimit", FIRST_SLICE);
        // Ctrl-C belongs to the program, which sets the cancellation flag.
        params.set_bool("ctrl_c", false);
        solver.set_params(&params);
        Self {
            solver,
            encoder: Encoder::default(),
            indicators: FxHashMap::default(),
            queries: 0,
            arithmetic,
            slice: FIRST_SLICE,
        }
    }

    /// How many literals were defined; a measure of the solver's load.
    pub(crate) fn size(&self) -> usize {
        self.indicators.len()
    }

    fn indicator(&mut self, table: &Literals, lit: Lit) -> Bool {
        if let Some(indicator) = self.indicators.get_mut(&lit) {
            indicator.last_used = self.queries;
            return indicator.constant.clone();
        }
        let sign = if lit.is_positive() { 'p' } else { 'n' };
        let constant = Bool::new_const(format!("{sign}{}", lit.index()));
        let formula = self.encoder.formula(&table.formula(lit));
        self.solver.assert(constant.implies(formula));
        let indicator = Indicator {
            constant: constant.clone(),
            last_used: self.queries,
        };
        self.indicators.insert(lit, indicator);
        constant
    }

    /// Starts over when most definitions are no longer used: they cost time in
    /// every check. Decided by counts, not by the clock, to be reproducible.
    fn renew_if_stale(&mut self) {
        if !self.queries.is_multiple_of(WINDOW) {
            return;
        }
        let since = self.queries.saturating_sub(WINDOW);
        let used = self
            .indicators
            .values()
            .filter(|i| i.last_used >= since)
            .count();
        if self.indicators.len() > 2 * used + SPARE {
            let queries = self.queries;
            *self = Self {
                queries,
                ..Self::new()
            };
        }
    }

    /// Decides the conjunction of `lits`, without a model.
    pub(crate) fn decide(
        &mut self,
        table: &Literals,
        lits: &[Lit],
        limits: &Limits,
    ) -> Result<Decision, Reason> {
        self.queries += 1;
        self.renew_if_stale();
        if self.arithmetic == Arithmetic::Linear && lits.iter().any(|lit| table.is_opaque(*lit)) {
            let queries = self.queries;
            *self = Self {
                queries,
                ..Self::with_arithmetic(Arithmetic::General)
            };
        }
        let assumptions: Vec<Bool> = lits.iter().map(|lit| self.indicator(table, *lit)).collect();
        if self.run(&assumptions, limits)? {
            Ok(Decision::Sat(None))
        } else {
            Ok(Decision::Unsat(self.core(lits, &assumptions)))
        }
    }

    /// Runs the solver in growing slices until it answers or a limit applies.
    fn run(&mut self, assumptions: &[Bool], limits: &Limits) -> Result<bool, Reason> {
        let started = Instant::now();
        let mut slice = FIRST_SLICE;
        loop {
            if let Some(reason) = limits.exceeded(started) {
                return Err(reason);
            }
            self.set_slice(slice, limits, started);
            match self.solver.check_assumptions(assumptions) {
                SatResult::Sat => return Ok(true),
                SatResult::Unsat => return Ok(false),
                SatResult::Unknown => {
                    let reason = self.solver.get_reason_unknown().unwrap_or_default();
                    if !is_slice_end(&reason) || slice == u32::MAX {
                        return Err(Reason::Solver(reason));
                    }
                    slice = slice.saturating_mul(2);
                }
            }
        }
    }

    fn set_slice(&mut self, slice: u32, limits: &Limits, started: Instant) {
        if slice == self.slice {
            return;
        }
        let mut params = Params::new();
        params.set_u32("rlimit", slice);
        // The wall clock guards only slices of hard queries: it costs a timer.
        let timeout = (slice > FIRST_SLICE)
            .then(|| limits.remaining(started))
            .flatten();
        let milliseconds = timeout.map(|t| u32::try_from(t.as_millis() + 1).unwrap_or(u32::MAX));
        params.set_u32("timeout", milliseconds.unwrap_or(u32::MAX));
        self.solver.set_params(&params);
        self.slice = slice;
    }

    fn core(&self, lits: &[Lit], assumptions: &[Bool]) -> Vec<Lit> {
        let core = self.solver.get_unsat_core();
        let mut found: Vec<Lit> = lits
            .iter()
            .zip(assumptions)
            .filter(|(_, own)| core.iter().any(|c| c.get_z3_ast() == own.get_z3_ast()))
            .map(|(lit, _)| *lit)
            .collect();
        found.sort_unstable();
        found
    }

    /// The model of the last check, which was `sat`, evaluated here against the very query: a
    /// model that fails is no evidence.
    pub(crate) fn model(&mut self, table: &Literals, lits: &[Lit]) -> Result<Assignment, Reason> {
        let model = self.solver.get_model().ok_or(Reason::ModelRejected)?;
        let vars: BTreeSet<Var> = lits
            .iter()
            .flat_map(|lit| table.vars(lit.index()).iter().copied())
            .collect();
        let mut assignment = Assignment::default();
        for var in vars {
            let term = self.encoder.var(var);
            let value = model.eval(&term, true).ok_or(Reason::ModelRejected)?;
            assignment.set(var, value.as_i128().ok_or(Reason::ModelTooLarge)?);
        }
        for lit in lits {
            match table.holds(*lit, &assignment) {
                Ok(true) => {}
                Ok(false) => return Err(Reason::ModelRejected),
                Err(Overflow) => return Err(Reason::ModelTooLarge),
            }
        }
        Ok(assignment)
    }
}

/// Whether Z3's words mean that the slice was used up.
fn is_slice_end(reason: &str) -> bool {
    ["resource", "canceled", "timeout", "interrupted"]
        .iter()
        .any(|word| reason.contains(word))
}
