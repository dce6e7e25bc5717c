//! The *loop* of synthesis: propose the cheapest placement that satisfies all
//! clauses, look for a bug in it, learn a clause from the bug or prove that there
//! is none.
//!
//! - Bugs come from a short exploration, or from the abstraction engine; each has
//!   been run by the concrete machine, and so has its clause ([`crate::clause`]).
//! - A placement is a repair only if `palisade-verify` proves it, with whatever
//!   buffers it takes. One that it cannot decide is set aside like a refuted one,
//!   and whatever costs more is then no longer known to be a minimum. After several such
//!   placements any repair will do: fences everywhere, less what a proof does without.
//! - With more than two threads, of placements of the same cost one is taken with which more stores need no buffer:
//!   it is as good for the user, and proved much sooner.
//! - A run that refuted an earlier placement, with its threads in another order, may refute the next.
//! - Verifications share their work: predicates and the solver's answers survive.
//! - A bug with fences everywhere is looked for under SC; if it is there no fence
//!   can repair it.

use std::rc::Rc;

use palisade_program::{Model, Program, Unknown, Verdict, Violation};
use palisade_verify::reduction::Reduction;
use palisade_verify::{Bug, Goal, Knowledge, Report, Stats, falsify, verify_with};

use crate::clause::{Refuted, is_everything, replays, strengthen};
use crate::cost::Cost;
use crate::hitting_set::{Clause, exceeding, minimum};

use crate::paper;
use crate::plan::{Level, Placement, Plan};
use crate::removal;

/// How many times more states a falsification looks at with more than two threads.
const LARGE: u64 = 30;

/// How placements are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Search {
    /// The minimum, by hitting sets.
    #[default]
    Exact,
    /// Fences after all writes of a bug's trace, then greedy removal ([Abdulla et al., SAS 2012]
    /// section 7, case 2). For flushes: removal from all of them ([Baumann et al., VMCAI 2018] section
    /// 5.1). No minimum.
    Paper,
}

/// Options of a synthesis.
#[derive(Clone, Debug)]
pub struct Options {
    /// How placements are verified; its model is that of the plan.
    pub verify: palisade_verify::Options,
    /// Find every placement of minimum cost.
    pub all: bool,
    /// Most fences.
    pub max_fences: Option<usize>,
    /// How placements are found.
    pub search: Search,
    /// States that the search for bugs before a proof looks at.
    pub falsify_states: u64,
    /// Placements that may stay undecided before any repair will do.
    pub max_undecided: usize,
    /// Predicates and answers of the solver that one verification leaves for the
    /// next: placements are the same program with other switches.
    pub knowledge: Rc<Knowledge>,
    /// Told about progress.
    pub progress: Option<fn(&Progress)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            verify: palisade_verify::Options::default(),
            all: false,
            max_fences: None,
            search: Search::default(),
            falsify_states: 30_000,
            max_undecided: 12,
            knowledge: Rc::default(),
            progress: None,
        }
    }
}

/// Where a synthesis stands.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Placements looked at.
    pub round: usize,
    /// Bugs found.
    pub bugs: usize,
    /// The best placement so far: the cheapest that nothing is known against.
    pub best: String,
}

/// A placement that was proved.
#[derive(Clone, Debug)]
pub struct Repair {
    /// The placement.
    pub placement: Placement,
    /// The proof.
    pub report: Report,
}

/// How a synthesis ended.
#[derive(Clone, Debug)]
pub enum End {
    /// With placements that were proved, all of the same cost; more than one only
    /// if all were asked for.
    Repaired(Vec<Repair>),
    /// The bug exists under SC: no fence can repair it.
    WrongUnderSc(Box<Violation>),
    /// With a full fence at every candidate there still is a bug, and none was found
    /// under SC.
    NoRepair(Box<Violation>),
    /// Every placement with so few fences has a bug.
    TooFew(usize),
    /// Something ran out.
    Unknown(Unknown),
}

/// What a synthesis found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Whether the cost is known to be the least: no cheaper placement was left
    /// undecided.
    pub is_minimum: bool,
    /// Whether all placements of minimum cost were decided, if all were asked for.
    pub is_complete: bool,
    /// Placements looked at.
    pub rounds: usize,
    /// Bugs found.
    pub bugs: usize,
    /// Placements that could not be decided, and why.
    pub undecided: Vec<(Placement, Unknown)>,
    /// What verifications cost together.
    pub stats: Stats,
    /// Most predicates of any verification.
    pub predicates: usize,
    /// Placements with bugs, each the highest that was found to have its run.
    pub refuted: Vec<Refuted>,
}

impl Outcome {
    /// Whether a run that the machine has done violates the program with this placement: one
    /// of those that the synthesis has met, run anew.
    pub fn has_bug(&self, plan: &Plan<'_>, placement: &Placement) -> bool {
        let own = self.refuted.iter();
        let mut own = own.filter(|r| placement.is_below(&r.placement));
        own.any(|r| replays(&plan.switched(placement), &r.witness).is_some())
    }
}

/// Finds the cheapest fences with which the plan's program satisfies its
/// properties.
pub fn synthesize(plan: &Plan<'_>, options: &Options) -> Outcome {
    let mut synthesis = Synthesis::new(plan, options);
    let end = match falsify_sc(plan, options) {
        Some(bug) => wrong_under_sc(bug.violation),
        None => match options.search {
            Search::Exact => synthesis.exact(),
            Search::Paper if plan.model == Model::Rma => removal::search(&mut synthesis),
            Search::Paper => paper::search(&mut synthesis),
        },
    };
    synthesis.finish(end)
}

fn falsify_sc(plan: &Plan<'_>, options: &Options) -> Option<Bug> {
    falsify(
        plan.program,
        Model::Sc,
        options.falsify_states,
        &options.verify,
    )
}

/// What is known about one placement.
pub(crate) enum Judgement {
    Proved(Box<Report>),
    Buggy(Box<Violation>, Refuted),
    Undecided(Unknown),
}

/// The state of a search.
pub(crate) struct Synthesis<'p, 'a> {
    pub(crate) plan: &'a Plan<'p>,
    pub(crate) options: &'a Options,
    rounds: usize,
    pub(crate) bugs: usize,
    pub(crate) clauses: Vec<Clause>,
    undecided: Vec<(Placement, Unknown)>,
    repairs: Vec<Repair>,
    is_complete: bool,
    stats: Stats,
    predicates: usize,
    pub(crate) refuted: Vec<Refuted>,
}

impl<'p, 'a> Synthesis<'p, 'a> {
    fn new(plan: &'a Plan<'p>, options: &'a Options) -> Self {
        Self {
            plan,
            options,
            rounds: 0,
            bugs: 0,
            clauses: Vec::new(),
            undecided: Vec::new(),
            repairs: Vec::new(),
            is_complete: true,
            stats: Stats::default(),
            predicates: 0,
            refuted: Vec::new(),
        }
    }

    fn finish(self, end: End) -> Outcome {
        let cost = self.repairs.first().map(|r| self.plan.cost(&r.placement));
        let cheaper = |(p, _): &(Placement, Unknown)| cost.is_none_or(|c| self.plan.cost(p) < c);
        let exact = self.options.search == Search::Exact || cost == Some(Cost::default());
        Outcome {
            is_minimum: exact && cost.is_some() && !self.undecided.iter().any(cheaper),
            is_complete: self.is_complete && self.undecided.is_empty(),
            end,
            rounds: self.rounds,
            bugs: self.bugs,
            undecided: self.undecided,
            stats: self.stats,
            predicates: self.predicates,
            refuted: self.refuted,
        }
    }

    /// The loop over placements by increasing cost.
    fn exact(&mut self) -> End {
        while let Some(placement) = self.propose() {
            let placement = self.easiest(placement);
            if let Some(first) = self.repairs.first()
                && self.plan.cost(&placement) > self.plan.cost(&first.placement)
            {
                break;
            }
            match self.judge(&placement) {
                Judgement::Proved(report) => {
                    let clause = exceeding(&placement, self.plan.levels());
                    let report = *report;
                    self.repairs.push(Repair { placement, report });
                    if !self.options.all {
                        break;
                    }
                    self.clauses.push(clause);
                }
                Judgement::Buggy(violation, refuted) => {
                    if let Some(end) = self.learn(violation, &refuted) {
                        return end;
                    }
                }
                Judgement::Undecided(why) => match self.set_aside(placement, why) {
                    Some(End::Unknown(why)) if !why.ends_everything() => {
                        return self.settle().unwrap_or(End::Unknown(why));
                    }
                    Some(end) => return end,
                    None => {}
                },
            }
        }
        self.concluded()
    }

    /// Some repair where the cheapest cannot be told: of fences everywhere those go,
    /// one by one, without which there still is a proof.
    fn settle(&mut self) -> Option<End> {
        let mut placement = self.plan.everything();
        let Judgement::Proved(report) = self.judge(&placement) else {
            return None;
        };
        let mut report = *report;
        let levels = self.plan.levels();
        for decision in (0..placement.0.len()).rev() {
            for level in [Level::None, Level::StoreStore] {
                let fewer = placement.with(decision, level);
                if level != Level::None && !levels.contains(&level) {
                    continue;
                }
                if let Judgement::Proved(found) = self.judge(&fewer) {
                    (placement, report) = (fewer, *found);
                    break;
                }
            }
        }
        let most = self.options.max_fences.unwrap_or(usize::MAX);
        if self.plan.fences(&placement).len() > most {
            return None;
        }
        Some(self.repaired(vec![Repair { placement, report }]))
    }

    /// The cheapest placement that nothing is known against.
    fn propose(&self) -> Option<Placement> {
        minimum(
            &self.plan.costs,
            self.plan.levels(),
            &self.clauses,
            self.options.max_fences,
        )
    }

    /// Nothing is left to be proposed.
    fn concluded(&mut self) -> End {
        if !self.repairs.is_empty() {
            return End::Repaired(self.repairs.clone());
        }
        match (self.undecided.first(), self.options.max_fences) {
            (Some((_, why)), _) => End::Unknown(why.clone()),
            (None, Some(most)) => End::TooFew(most),
            // Only an empty clause, which ends the loop, excludes everything.
            (None, None) => End::Unknown(Unknown::GaveUp("no placement is left".into())),
        }
    }

    /// Turns a bug into a clause; the end, if the clause cannot be satisfied.
    fn learn(&mut self, violation: Box<Violation>, refuted: &Refuted) -> Option<End> {
        if is_everything(&refuted.placement) {
            return Some(self.beyond_fences(violation));
        }
        self.clauses.push(refuted.clause(self.plan));
        None
    }

    /// The bug is there with all fences: is it under SC?
    pub(crate) fn beyond_fences(&mut self, violation: Box<Violation>) -> End {
        if let Some(bug) = falsify_sc(self.plan, self.options) {
            return wrong_under_sc(bug.violation);
        }
        let options = palisade_verify::Options {
            model: Model::Sc,
            ..self.options.verify.clone()
        };
        let report = verify_with(self.plan.program, &options, &self.options.knowledge);
        self.count(&report);
        match report.verdict {
            Verdict::Violated(violation) => wrong_under_sc(violation),
            Verdict::Holds => End::NoRepair(violation),
            Verdict::Unknown(why) => {
                let why = format!("with all fences there is still a bug; under SC: {why}");
                End::Unknown(Unknown::GaveUp(why))
            }
        }
    }

    /// Remembers that a placement could not be decided; the end, if it is time.
    pub(crate) fn set_aside(&mut self, placement: Placement, why: Unknown) -> Option<End> {
        self.clauses.push(exceeding(&placement, self.plan.levels()));
        self.undecided.push((placement, why.clone()));
        if !why.ends_everything() && self.undecided.len() < self.options.max_undecided {
            return None;
        }
        self.is_complete = false;
        Some(if self.repairs.is_empty() {
            End::Unknown(why)
        } else {
            End::Repaired(self.repairs.clone())
        })
    }

    /// Looks for a bug with a placement, or a proof.
    pub(crate) fn judge(&mut self, placement: &Placement) -> Judgement {
        self.rounds += 1;
        self.tell(placement);
        let placed = self.plan.placed(placement);
        let program = placed.program();
        let model = self.plan.model;
        let states = self.falsify_states();
        if let Some(bug) = self
            .known_bug(placement)
            .or_else(|| self.scheduled_bug(program))
        {
            return self.buggy(placement, bug);
        }
        if let Some(bug) = falsify(program, model, states, &self.options.verify) {
            return self.buggy(placement, bug);
        }
        let options = palisade_verify::Options {
            model,
            goal: Goal::Placement,
            ..self.options.verify.clone()
        };
        let report = verify_with(program, &options, &self.options.knowledge);
        self.count(&report);
        match (&report.verdict, &report.witness) {
            (Verdict::Holds, _) => Judgement::Proved(Box::new(report)),
            // The run is of another program.
            (Verdict::Violated(_), Some(_)) if !report.chosen.is_empty() => {
                let first = report.chosen.iter().next();
                let first = first.map(|(name, span)| (name.clone(), *span));
                let (name, span) = first.unwrap_or_default();
                Judgement::Undecided(Unknown::Uninitialised(name, span))
            }
            (Verdict::Violated(violation), Some(witness)) => {
                let bug = Bug {
                    violation: violation.clone(),
                    witness: witness.clone(),
                    states,
                };
                self.buggy(placement, bug)
            }
            (Verdict::Violated(_), None) => Judgement::Undecided(Unknown::ReplayFailed(
                "a violation came without its run".into(),
            )),
            (Verdict::Unknown(why), _) => Judgement::Undecided(why.clone()),
        }
    }

    /// States of a falsification. Bugs of three threads lie deeper, and proofs that there is none
    /// take much longer.
    fn falsify_states(&self) -> u64 {
        let copies = self.options.verify.copies();
        let has_many = self.plan.program.instances(copies).len() > 2;
        let factor = match self.plan.model {
            Model::Tso | Model::Pso if has_many => LARGE,
            Model::Sc | Model::Tso | Model::Pso | Model::Rma | Model::Rc11 => 1,
        };
        self.options.falsify_states * factor
    }

    /// A bug was found: the highest placement that still has one.
    fn buggy(&mut self, placement: &Placement, bug: Bug) -> Judgement {
        self.bugs += 1;
        let (model, limits) = (self.plan.model, &self.options.verify);
        // A bug that was found at once is worth a look for others that need fewer
        // reorderings; in large programs only runs of this one are.
        let states = (4 * bug.states + 1_000).min(self.options.falsify_states);
        let mut another =
            |program: &Program| falsify(program, model, states, limits).map(|bug| bug.witness);
        let found = Refuted {
            placement: placement.clone(),
            witness: bug.witness,
        };
        let refuted = strengthen(self.plan, found, &mut another);
        if refuted.is_confirmed(self.plan) {
            self.refuted.push(refuted.clone());
            Judgement::Buggy(bug.violation, refuted)
        } else {
            Judgement::Undecided(Unknown::ReplayFailed(
                "the run of a bug cannot be repeated (a bug in Palisade)".into(),
            ))
        }
    }

    pub(crate) fn repaired(&mut self, repairs: Vec<Repair>) -> End {
        self.repairs = repairs;
        End::Repaired(self.repairs.clone())
    }

    fn count(&mut self, report: &Report) {
        let mut stats = report.stats.clone().following(&self.stats);
        for (purpose, calls) in &self.stats.solver_calls {
            match stats.solver_calls.iter_mut().find(|(p, _)| p == purpose) {
                Some((_, sum)) => *sum += calls,
                None => stats.solver_calls.push((purpose, *calls)),
            }
        }
        stats.cache_hits += self.stats.cache_hits;
        self.predicates = self.predicates.max(stats.predicates);
        self.stats = stats;
    }

    fn tell(&self, placement: &Placement) {
        if let Some(progress) = self.options.progress {
            progress(&Progress {
                round: self.rounds,
                bugs: self.bugs,
                best: self.plan.describe(placement),
            });
        }
    }
}

/// A violation under SC; its trace without the steps over candidates, which do nothing and
/// which the user did not write.
fn wrong_under_sc(mut violation: Box<Violation>) -> End {
    let is_candidate = |text: &str| text.trim_end_matches(';') == "fence?";
    violation.trace.steps.retain(|s| !is_candidate(&s.text));
    End::WrongUnderSc(violation)
}
