//! *The paper's search for flushes* [Baumann et al., VMCAI 2018, section 5.1]: start with all flushes, find
//! by removing one at a time which are always needed (breadth first, depth one), then
//! remove further ones depth first, only among those that could be removed alone.
//!
//! What is known to fail is not asked about again: a bug that exists with a placement
//! exists with every lower one ([`crate::plan`]), and a placement that could not be proved
//! is taken to fail with fewer flushes as well, as the paper does. So a result is right,
//! but it is not claimed to be a minimum.

use crate::clause::is_everything;
use crate::plan::{Level, Placement};
use crate::synthesize::{End, Judgement, Repair, Synthesis};

/// The search over sets of flushes.
struct Removal<'s, 'p, 'a> {
    synthesis: &'s mut Synthesis<'p, 'a>,
    /// Placements that fail, and with them all lower ones.
    failing: Vec<Placement>,
    /// Decisions that can do without their flush if all others keep theirs.
    removable: Vec<usize>,
    /// The best so far.
    best: Vec<Repair>,
    ended: Option<End>,
}

/// Runs the search.
pub(crate) fn search(synthesis: &mut Synthesis<'_, '_>) -> End {
    let start = synthesis.plan.everything();
    let first = match synthesis.judge(&start) {
        Judgement::Proved(report) => Repair {
            placement: start.clone(),
            report: *report,
        },
        Judgement::Buggy(violation, _) => return synthesis.beyond_fences(violation),
        Judgement::Undecided(why) => {
            synthesis.set_aside(start, why.clone());
            return End::Unknown(why);
        }
    };
    let decisions = start.0.len();
    let mut removal = Removal {
        synthesis,
        failing: Vec::new(),
        removable: Vec::new(),
        best: vec![first],
        ended: None,
    };
    for decision in 0..decisions {
        if removal.remove(&start, decision).is_some() {
            removal.removable.push(decision);
        }
    }
    let removable = removal.removable.clone();
    for (next, &decision) in removable.iter().enumerate() {
        removal.descend(&start.with(decision, Level::None), next + 1);
    }
    let Removal {
        synthesis,
        mut best,
        ended,
        ..
    } = removal;
    if let Some(end) = ended {
        return end;
    }
    if !synthesis.options.all {
        best.truncate(1);
    }
    synthesis.repaired(best)
}

impl Removal<'_, '_, '_> {
    /// Removes one flush; the placement without it if that is still proved.
    fn remove(&mut self, from: &Placement, decision: usize) -> Option<Placement> {
        let fewer = from.with(decision, Level::None);
        if self.ended.is_some() || self.failing.iter().any(|f| fewer.is_below(f)) {
            return None;
        }
        match self.synthesis.judge(&fewer) {
            Judgement::Proved(report) => {
                let report = *report;
                let placement = fewer.clone();
                self.keep(Repair { placement, report });
                Some(fewer)
            }
            Judgement::Buggy(_, refuted) => {
                debug_assert!(!is_everything(&refuted.placement), "all flushes suffice");
                self.failing.push(refuted.placement);
                None
            }
            Judgement::Undecided(why) => {
                self.failing.push(fewer.clone());
                self.ended = self.synthesis.set_aside(fewer, why);
                if let (Some(_), false) = (&self.ended, self.best.is_empty()) {
                    // What was proved so far stays a result.
                    self.ended = Some(self.synthesis.repaired(self.best.clone()));
                }
                None
            }
        }
    }

    /// Keeps a repair if none is better.
    fn keep(&mut self, repair: Repair) {
        let cost = |r: &Repair| self.synthesis.plan.cost(&r.placement);
        let best = self.best.first().map(cost);
        let own = cost(&repair);
        if best.is_some_and(|best| best < own) {
            return;
        }
        if best.is_some_and(|best| own < best) {
            self.best.clear();
        }
        if self.best.iter().all(|r| r.placement != repair.placement) {
            self.best.push(repair);
        }
    }

    /// Removes further flushes from a placement that is proved, from the removable ones
    /// that come at `next` or later.
    fn descend(&mut self, placement: &Placement, next: usize) {
        let left = &self.removable[next..];
        // Without any of those that are left: what this branch could come to.
        let least = left
            .iter()
            .fold(placement.clone(), |p, &d| p.with(d, Level::None));
        let best = self.best.first();
        let best = best.map(|r| self.synthesis.plan.cost(&r.placement));
        let cost = self.synthesis.plan.cost(&least);
        let hopeless = best.is_some_and(|best| best < cost || (best == cost && !self.wants_all()));
        if hopeless {
            return;
        }
        for at in next..self.removable.len() {
            let decision = self.removable[at];
            if let Some(fewer) = self.remove(placement, decision) {
                self.descend(&fewer, at + 1);
            }
        }
    }

    const fn wants_all(&self) -> bool {
        self.synthesis.options.all
    }
}
