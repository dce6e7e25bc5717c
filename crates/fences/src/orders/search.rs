//! The *search* for orders, as that for fences ([`mod@crate::synthesize`]): propose the cheapest
//! placement that satisfies all clauses; verify it; a bug becomes a clause, a proof is the end.
//!
//! A bug with some orders is a bug with all weaker ones. It is told by a strong placement that still
//! has one, and the clause is "exceed this placement somewhere". Each decision is raised as far as the machine can repeat the
//! steps of the bug's threads; what holds them back is raised further if a short search finds
//! another bug. Every such bug has been run by the machine.

use palisade_machine::{ThreadStep, Witness, replay_deepest};
use palisade_program::{Model, Program, Unknown, Verdict, Violation};
use palisade_verify::{Bug, Goal, Report, falsify, verify_with};

use crate::cost::Cost;
use crate::hitting_set::{Clause, cheapest};
use crate::synthesize::{Options, Progress};

use super::plan::{Levelled, Plan};

/// States that the machine looks at to repeat a run with other orders.
const REPEATED: usize = 400;

/// How a search ended.
#[derive(Clone, Debug)]
pub enum End {
    /// With placements that were proved, all of the same cost; more than one only if all
    /// were asked for.
    Proved(Vec<(Levelled, Report)>),
    /// With the strongest orders and a fence everywhere there still is a bug.
    Wrong(Box<Violation>),
    /// Every placement with so few fences has a bug.
    TooFew(usize),
    /// Something ran out.
    Unknown(Unknown),
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Whether the cost is known to be the least.
    pub is_minimum: bool,
    /// Whether all placements of least cost were decided, if all were asked for.
    pub is_complete: bool,
    /// Placements looked at.
    pub rounds: usize,
    /// Bugs found.
    pub bugs: usize,
    /// Placements that could not be decided, and why.
    pub undecided: Vec<(Levelled, Unknown)>,
    /// States of all verifications.
    pub states: usize,
}

/// Finds the cheapest orders and fences with which the plan's program satisfies its properties.
pub fn search(plan: &Plan<'_>, options: &Options) -> Outcome {
    let mut search = Search {
        plan,
        options,
        clauses: Vec::new(),
        proved: Vec::new(),
        outcome: Outcome {
            end: End::Unknown(Unknown::Interrupted),
            is_minimum: false,
            is_complete: true,
            rounds: 0,
            bugs: 0,
            undecided: Vec::new(),
            states: 0,
        },
    };
    let end = search.run();
    let mut outcome = search.outcome;
    let least = search.proved.first().map(|(p, _)| plan.cost(p));
    let cheaper = |(p, _): &(Levelled, Unknown)| least.is_none_or(|c| plan.cost(p) < c);
    outcome.is_minimum = least.is_some() && !outcome.undecided.iter().any(cheaper);
    outcome.is_complete &= outcome.undecided.is_empty();
    outcome.end = end;
    outcome
}

struct Search<'a, 'p> {
    plan: &'a Plan<'p>,
    options: &'a Options,
    clauses: Vec<Clause>,
    proved: Vec<(Levelled, Report)>,
    outcome: Outcome,
}

/// What is known about one placement.
enum Judgement {
    Proved(Box<Report>),
    Buggy(Bug),
    Undecided(Unknown),
}

impl Search<'_, '_> {
    fn run(&mut self) -> End {
        let choices = self.plan.choices();
        let most = self.options.max_fences;
        while let Some(placement) = cheapest(&choices, &self.clauses, most) {
            let cost: Cost = self.plan.cost(&placement);
            let found = self.proved.first();
            if found.is_some_and(|(first, _)| self.plan.cost(first) < cost) {
                break;
            }
            match self.judge(&placement) {
                Judgement::Proved(report) => {
                    self.clauses.push(self.plan.exceeding(&placement));
                    self.proved.push((placement, *report));
                    if !self.options.all {
                        break;
                    }
                }
                Judgement::Buggy(bug) => {
                    self.outcome.bugs += 1;
                    let violation = bug.violation.clone();
                    let refuted = self.strengthened(placement, bug);
                    if self.plan.is_everything(&refuted) {
                        return End::Wrong(violation);
                    }
                    self.clauses.push(self.plan.exceeding(&refuted));
                }
                Judgement::Undecided(why) => {
                    self.clauses.push(self.plan.exceeding(&placement));
                    self.outcome.undecided.push((placement, why.clone()));
                    let many = self.outcome.undecided.len() >= self.options.max_undecided;
                    if why.ends_everything() || many {
                        self.outcome.is_complete = false;
                        break;
                    }
                }
            }
        }
        if !self.proved.is_empty() {
            return End::Proved(self.proved.clone());
        }
        match (self.outcome.undecided.first(), most) {
            (Some((_, why)), _) => End::Unknown(why.clone()),
            (None, Some(most)) => End::TooFew(most),
            (None, None) => End::Unknown(Unknown::GaveUp("no placement is left".into())),
        }
    }

    fn judge(&mut self, placement: &[usize]) -> Judgement {
        self.outcome.rounds += 1;
        if let Some(progress) = self.options.progress {
            progress(&Progress {
                round: self.outcome.rounds,
                bugs: self.outcome.bugs,
                best: self.plan.describe(placement),
            });
        }
        let program = self.plan.switched(placement);
        if let Some(bug) = self.bug(&program, self.options.falsify_states) {
            return Judgement::Buggy(bug);
        }
        let options = palisade_verify::Options {
            model: Model::Rc11,
            goal: Goal::Placement,
            falsify: false,
            ..self.options.verify.clone()
        };
        let report = verify_with(&program, &options, &self.options.knowledge);
        self.outcome.states += report.stats.states;
        match (&report.verdict, &report.witness) {
            (Verdict::Holds, _) => Judgement::Proved(Box::new(report)),
            (Verdict::Violated(violation), Some(witness)) if report.chosen.is_empty() => {
                Judgement::Buggy(Bug {
                    violation: violation.clone(),
                    witness: witness.clone(),
                    states: self.options.falsify_states,
                })
            }
            (Verdict::Violated(_), _) => Judgement::Undecided(Unknown::ReplayFailed(
                "a violation came without a run of the program".into(),
            )),
            (Verdict::Unknown(why), _) => Judgement::Undecided(why.clone()),
        }
    }

    fn bug(&self, program: &Program, states: u64) -> Option<Bug> {
        falsify(program, Model::Rc11, states, &self.options.verify)
    }

    /// A strong placement above `placement` that still has a bug. Fences first: a clause without
    /// them asks for what is cheap.
    fn strengthened(&self, mut placement: Levelled, bug: Bug) -> Levelled {
        let states = (2 * bug.states + 200).min(self.options.falsify_states);
        let mut order: Vec<usize> = (0..placement.len()).collect();
        order.sort_by_key(|&d| self.plan.decisions[d].choice.fences == 0);
        let mut run = bug.witness;
        let mut held_back = Vec::new();
        for decision in order {
            for (level, higher) in self.above(&placement, decision) {
                if let Some(same) = repeated(&self.plan.switched(&higher), &run) {
                    (placement, run) = (higher, same);
                    break;
                }
                held_back.push((decision, level));
            }
        }
        for (decision, level) in held_back {
            let mut above = self.above(&placement, decision).into_iter();
            let Some((_, higher)) = above.find(|(l, _)| *l == level) else {
                continue;
            };
            if let Some(other) = self.bug(&self.plan.switched(&higher), states) {
                placement = higher;
                // The rest may be raised with this one.
                run = other.witness;
                for decision in 0..placement.len() {
                    let mut above = self.above(&placement, decision).into_iter();
                    let found = above.find_map(|(_, higher)| {
                        let same = repeated(&self.plan.switched(&higher), &run)?;
                        Some((higher, same))
                    });
                    (placement, run) = found.unwrap_or((placement, run));
                }
            }
        }
        placement
    }

    /// The placements that have a higher level of one decision, the highest first.
    fn above(&self, placement: &[usize], decision: usize) -> Vec<(usize, Levelled)> {
        let levels = &self.plan.decisions[decision].levels;
        let own = levels[placement[decision]];
        let above = (0..levels.len()).rev();
        let above = above.filter(|&l| levels[l] != own && own.is_below(levels[l]));
        let with = |level: usize| {
            let mut higher = placement.to_vec();
            higher[decision] = level;
            (level, higher)
        };
        above.map(with).collect()
    }
}

/// The run with the same steps of threads on a program with other orders, if the machine has one that
/// violates what is asked about.
fn repeated(program: &Program, run: &Witness) -> Option<Witness> {
    let steps: Vec<ThreadStep> = run.actions.iter().filter_map(ThreadStep::of).collect();
    let replayed = replay_deepest(program, &run.start, &steps, REPEATED).ok()?;
    let violation = replayed.violation?;
    let is_asked = program.asked.includes_broken(&violation.broken);
    is_asked.then(|| Witness {
        start: run.start.clone(),
        actions: replayed.actions,
    })
}
