//! The *memo* in front of a session: answers that follow from earlier ones.
//! Three stores are asked in turn: the same set of literals; a model under
//! which all literals hold (found earlier, evaluated once per literal); a core
//! that is among the literals. All three stay valid when literals are added.
//!
//! Sets of literals are bit sets over the session's own numbering, so that the
//! tests are a few words long.

use crate::eval::Assignment;
use crate::literals::{Lit, Literals};
use crate::session::Decision;
use crate::stats::Source;
use rustc_hash::FxHashMap;

/// How much is kept. The least recently useful goes first; the exact store is
/// emptied when it is full.
const MAX_MODELS: usize = 256;
const MAX_CORES: usize = 1024;
const MAX_EXACT: usize = 1 << 16;

/// Extracting a model costs about as much as this many checks, and so it must
/// have saved that many to be worth its price. The first models are taken on
/// trust, and one now and then to notice that the queries have changed.
const PRICE_OF_MODEL: u64 = 2;
const MODELS_ON_TRUST: u64 = 16;
const RETRY_EVERY: u64 = 32;

type Bits = Vec<u64>;

struct StoredModel {
    assignment: Assignment,
    /// The literals that hold, for the first `evaluated` local numbers.
    holds: Bits,
    evaluated: usize,
}

struct StoredCore {
    bits: Bits,
    lits: Vec<Lit>,
}

enum Known {
    Sat,
    Unsat(Vec<Lit>),
}

/// Earlier answers of one session.
#[derive(Default)]
pub(crate) struct Memo {
    /// Table index to local number, and back.
    numbers: FxHashMap<usize, u32>,
    indices: Vec<usize>,
    exact: FxHashMap<Box<[Lit]>, Known>,
    models: Vec<StoredModel>,
    cores: Vec<StoredCore>,
    query: Bits,
    model_hits: u64,
    models_taken: u64,
    models_refused: u64,
}

impl Memo {
    /// Whether the model of the next `sat` answer should be extracted.
    pub(crate) fn wants_model(&mut self) -> bool {
        let pays = self.model_hits >= PRICE_OF_MODEL * self.models_taken;
        if pays || self.models_taken < MODELS_ON_TRUST {
            return true;
        }
        self.models_refused += 1;
        self.models_refused.is_multiple_of(RETRY_EVERY)
    }

    /// Looks for an answer to `query` (a sorted set). When a model is wanted,
    /// `sat` is only answered with one.
    pub(crate) fn find(
        &mut self,
        table: &Literals,
        query: &[Lit],
        want_model: bool,
    ) -> Option<(Decision, Source)> {
        match self.exact.get(query) {
            Some(Known::Unsat(core)) => {
                return Some((Decision::Unsat(core.clone()), Source::Exact));
            }
            Some(Known::Sat) if !want_model => return Some((Decision::Sat(None), Source::Exact)),
            Some(Known::Sat) | None => {}
        }
        self.query = self.bits(query);
        if let Some(at) = self.find_model(table) {
            self.models[..=at].rotate_right(1);
            self.model_hits += 1;
            let model = want_model.then(|| self.models[0].assignment.clone());
            return Some((Decision::Sat(model), Source::Model));
        }
        let at = self
            .cores
            .iter()
            .position(|core| is_subset(&core.bits, &self.query))?;
        self.cores[..=at].rotate_right(1);
        Some((Decision::Unsat(self.cores[0].lits.clone()), Source::Core))
    }

    fn find_model(&mut self, table: &Literals) -> Option<usize> {
        let (query, indices) = (&self.query, &self.indices);
        self.models.iter_mut().position(|model| {
            model.extend(table, indices);
            is_subset(query, &model.holds)
        })
    }

    /// Keeps a decision of the solver about `query`.
    pub(crate) fn store(&mut self, query: &[Lit], decision: &Decision) {
        if self.exact.len() >= MAX_EXACT {
            self.exact.clear();
        }
        let known = match decision {
            Decision::Sat(model) => {
                if let Some(assignment) = model {
                    self.models.truncate(MAX_MODELS - 1);
                    let assignment = assignment.clone();
                    let model = StoredModel {
                        assignment,
                        holds: Vec::new(),
                        evaluated: 0,
                    };
                    self.models.insert(0, model);
                    self.models_taken += 1;
                }
                Known::Sat
            }
            Decision::Unsat(core) => {
                self.cores.truncate(MAX_CORES - 1);
                let bits = self.bits(core);
                self.cores.insert(
                    0,
                    StoredCore {
                        bits,
                        lits: core.clone(),
                    },
                );
                Known::Unsat(core.clone())
            }
        };
        self.exact.insert(query.into(), known);
    }

    fn bits(&mut self, lits: &[Lit]) -> Bits {
        let mut bits = Vec::new();
        for lit in lits {
            let next = self.indices.len() as u32;
            let number = *self.numbers.entry(lit.index()).or_insert(next);
            if number == next {
                self.indices.push(lit.index());
            }
            set(
                &mut bits,
                2 * number as usize + usize::from(!lit.is_positive()),
            );
        }
        bits
    }
}

impl StoredModel {
    /// Evaluates the literals that are new since the last time. One whose value
    /// overflows holds neither way.
    fn extend(&mut self, table: &Literals, indices: &[usize]) {
        for (number, index) in indices.iter().enumerate().skip(self.evaluated) {
            if let Ok(truth) = table.base(*index).eval(&self.assignment) {
                set(&mut self.holds, 2 * number + usize::from(!truth));
            }
        }
        self.evaluated = indices.len();
    }
}

fn set(bits: &mut Bits, at: usize) {
    if bits.len() <= at / 64 {
        bits.resize(at / 64 + 1, 0);
    }
    bits[at / 64] |= 1 << (at % 64);
}

fn is_subset(small: &[u64], large: &[u64]) -> bool {
    small
        .iter()
        .enumerate()
        .all(|(i, word)| word & !large.get(i).copied().unwrap_or(0) == 0)
}
