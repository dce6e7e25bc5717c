//! A transformer whose work is *timed*: tables tell the time to build a Boolean
//! program apart from the time to check it [Dan et al., SAS 2013, tables 1 and 2]. Here the
//! parts of the program are built when the check first meets them, so the watch is
//! on whenever the search asks for a step.

use std::rc::Rc;
use std::time::{Duration, Instant};

use palisade_abstraction::command::{Branch, BranchId};
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::transformer::{Transformer, Work};
use palisade_abstraction::valuation::Valuation;
use palisade_logic::{Formula, Prover, Reason};

/// Another transformer and the time it took.
pub struct Timed<'t> {
    inner: Box<dyn Transformer + 't>,
    /// The time so far.
    pub spent: Duration,
}

impl<'t> Timed<'t> {
    /// Starts with no time spent.
    pub fn new(inner: Box<dyn Transformer + 't>) -> Self {
        Self {
            inner,
            spent: Duration::ZERO,
        }
    }

    fn watch<T>(&mut self, work: impl FnOnce(&mut (dyn Transformer + 't)) -> T) -> T {
        let started = Instant::now();
        let result = work(&mut *self.inner);
        self.spent += started.elapsed();
        result
    }
}

impl Transformer for Timed<'_> {
    fn post(
        &mut self,
        predicates: &Predicates,
        id: BranchId,
        branch: &Branch,
        state: &Valuation,
    ) -> Result<Rc<[Valuation]>, Reason> {
        self.watch(|inner| inner.post(predicates, id, branch, state))
    }

    fn may(
        &mut self,
        predicates: &Predicates,
        formula: &Formula,
        state: &Valuation,
    ) -> Result<bool, Reason> {
        self.watch(|inner| inner.may(predicates, formula, state))
    }

    fn initial(
        &mut self,
        predicates: &Predicates,
        formula: &Formula,
    ) -> Result<Rc<[Valuation]>, Reason> {
        self.watch(|inner| inner.initial(predicates, formula))
    }

    fn predicates_changed(&mut self) {
        self.inner.predicates_changed();
    }

    fn prover(&mut self) -> &mut Prover {
        self.inner.prover()
    }

    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn set_depth(&mut self, depth: usize) {
        self.inner.set_depth(depth);
    }

    fn work(&self) -> Work {
        self.inner.work()
    }
}
