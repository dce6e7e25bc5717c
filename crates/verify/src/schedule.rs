//! The *schedule*: the loop from a question to a verdict. It goes through the rows of the
//! [`crate::portfolio`]: applies a row's reductions, lets its method try, walks the answer
//! back, asks for evidence, and decides by the typed answer what comes next:
//!
//! - a proof whose certificate was accepted, or a run that the machine has replayed, ends
//!   it;
//! - a summary invariant that is wrong is dropped, and the row is tried again;
//! - a run that only abstract buffers have says which of them need more exact cells, and
//!   a bounded buffer that overflows, if it may grow, gets more: then the row is tried again;
//! - where a program has few states a proof state by state comes first, then the row again;
//! - a run that violates something that was not asked about ends it, too: then only the
//!   assertions that are asked about are looked at, for a run that counts;
//! - any other gap leads to the next row, unless time or memory has run out.

use std::rc::Rc;
use std::time::Instant;

use palisade_certify::Certificate;
use palisade_machine::Witness;
use palisade_program::symmetry::Asymmetry;
use palisade_program::{
    AssertKind, Bound, Broken, Chosen, Model, Program, Unknown, Verdict, Violation,
};

use crate::answer::{Answer, Attempt, Gap, Proof, Report, Vacuity, Weak};
use crate::evidence;
use crate::knowledge::Knowledge;
use crate::method::falsify::{falsify, reach_more};
use crate::method::{Record, Session};
use crate::portfolio::{self, MOST_JOINED, Method, OnGap, QUICK, Row, When};
use crate::question::Options;
use crate::reduction::generalise::{Threads, with_threads};
use crate::reduction::joins::waits_for_all;
use crate::reduction::{Layer, Stack};

/// Verifies `program` under `options.model`.
pub fn verify(program: &Program, options: &Options) -> Report {
    verify_with(program, options, &Knowledge::default())
}

/// Verifies `program` with what earlier verifications of similar programs have left.
/// Where a variable is read before anything was written to it, the question is asked again
/// about the program in which it starts with any value ([`Program::choosing`]).
pub fn verify_with(program: &Program, options: &Options, knowledge: &Knowledge) -> Report {
    let mut chosen = Chosen::new();
    let mut report = decide(program, options, knowledge);
    while let Verdict::Unknown(Unknown::Uninitialised(variable, span)) = &report.verdict {
        if chosen.insert(variable.clone(), *span).is_some() {
            break;
        }
        let attempts = std::mem::take(&mut report.attempts);
        report = decide(&program.choosing(&chosen), options, knowledge);
        report.attempts.splice(0..0, attempts);
    }
    report.chosen = chosen;
    if report.verdict == Verdict::Holds {
        reach(program, options, &mut report);
    }
    report
}

/// Looks for a run to each `reach` of a program that violates nothing else. That no run gets
/// there is proved like a `never`.
fn reach(program: &Program, options: &Options, report: &mut Report) {
    let subject = report.subject(program).into_owned();
    for number in 0..subject.reaches.len() {
        let second = decide(&subject.reaching(number), options, &Knowledge::default());
        report.attempts.extend(second.attempts);
        match second.verdict {
            Verdict::Violated(run) => report.reached.push(*run),
            Verdict::Holds => {
                let violation = Box::new(subject.unreachable(number));
                report.verdict = Verdict::Violated(violation);
                report.certified = second.certified;
                report.certificate = None;
                return;
            }
            Verdict::Unknown(why) => report.verdict = Verdict::Unknown(why),
        }
    }
}

fn decide(program: &Program, options: &Options, knowledge: &Knowledge) -> Report {
    let original = Rc::new(program.clone());
    let schedule = Schedule {
        original: &original,
        options,
        knowledge,
    };
    // Histories are no buffers.
    let (base, selected): (&[Layer], &[Layer]) = match options.model {
        Model::Rc11 => (&[], &[Layer::Select]),
        Model::Sc | Model::Tso | Model::Pso | Model::Rma => {
            (&[Layer::Unbuffer], &[Layer::Select, Layer::Unbuffer])
        }
    };
    let mut first = schedule.run(base);
    let is_chosen = |v: &Violation| {
        let broken = &v.broken;
        matches!(broken, Broken::Assert(AssertKind::Uninitialised { .. }))
    };
    if let Some(Gap::BesideThePoint(violation)) = &first.gap
        && !is_chosen(violation)
    {
        let mut second = schedule.run(selected);
        let attempts = std::mem::take(&mut first.report.attempts);
        second.report.attempts.splice(0..0, attempts);
        if second.gap.is_none() {
            return second.report;
        }
        first.report.attempts = second.report.attempts;
    }
    first.settled(program)
}

/// Verifies `program` with `threads` copies of each template that has several. Where it
/// waits for all copies of a template nobody waits in a proof for any number
/// ([`crate::reduction::joins`]), so that a violation need not be one: it is looked for with
/// a few copies, which are waited for.
///
/// # Errors
/// What in the program depends on the number that it declares.
pub fn verify_threads(
    program: &Program,
    threads: Threads,
    options: &Options,
) -> Result<Report, Asymmetry> {
    let changed = with_threads(program, threads)?;
    let report = verify(&changed, options);
    let Verdict::Violated(_) = &report.verdict else {
        return Ok(report);
    };
    if threads != Threads::Any || !waits_for_all(program) {
        return Ok(report);
    }
    for n in MOST_JOINED {
        let Ok(few) = with_threads(program, Threads::Exactly(n)) else {
            continue;
        };
        if let Some(bug) = falsify(&few, options.model, QUICK, options) {
            let mut found = bug.report();
            found.notes = report.notes;
            let note = format!("a run of {n} threads that are waited for");
            found.notes.push(note);
            found.attempts = report.attempts;
            return Ok(found);
        }
    }
    let gap = Gap::Weak(Weak::Joins);
    Ok(Report {
        verdict: Verdict::Unknown(gap.unknown(program)),
        witness: None,
        ..report
    })
}

/// Searches `program` with its hints as predicates, and no others.
pub fn check_given(program: &Program, options: &Options) -> Report {
    let original = Rc::new(program.clone());
    let knowledge = Knowledge::default();
    let schedule = Schedule {
        original: &original,
        options,
        knowledge: &knowledge,
    };
    let decided = match portfolio::fixed(program, options) {
        Ok(rows) => schedule.rows(&rows),
        Err(gap) => Decided::at_once(gap),
    };
    decided.settled(program)
}

/// What a schedule has come to.
struct Decided {
    report: Report,
    /// What was missing, if there is no verdict.
    gap: Option<Gap>,
}

impl Decided {
    fn at_once(gap: Gap) -> Self {
        Self {
            report: Report::new(Verdict::Unknown(Unknown::Interrupted)),
            gap: Some(gap),
        }
    }

    fn settled(self, program: &Program) -> Report {
        let mut report = self.report;
        if let Some(gap) = self.gap {
            report.verdict = Verdict::Unknown(gap.unknown(program));
        }
        report
    }
}

/// What evidence has confirmed.
enum Confirmed {
    Proof(Option<Box<Certificate>>),
    Run(Box<Violation>, Witness),
}

struct Schedule<'a> {
    original: &'a Rc<Program>,
    options: &'a Options,
    knowledge: &'a Knowledge,
}

impl Schedule<'_> {
    /// Tries the rows for the question, after the reductions `base`.
    fn run(&self, base: &[Layer]) -> Decided {
        let Some(stack) = Stack::apply(self.original, base, self.options) else {
            return Decided::at_once(portfolio::nothing());
        };
        match portfolio::rows(&stack, base, self.options, self.knowledge) {
            Ok(rows) => self.rows(&rows),
            Err(gap) => Decided::at_once(gap),
        }
    }

    fn rows(&self, rows: &[Row]) -> Decided {
        let mut stacks: Vec<(&[Layer], Stack)> = Vec::new();
        for row in rows {
            if !stacks.iter().any(|(layers, _)| *layers == row.layers)
                && let Some(stack) = Stack::apply(self.original, &row.layers, self.options)
            {
                stacks.push((&row.layers, stack));
            }
        }
        // What is learned of a program without some variables is of no use for the whole.
        let apart = self.knowledge.apart();
        let mut sessions = Vec::new();
        for (layers, stack) in &stacks {
            let knowledge = if layers.contains(&Layer::Project) {
                &apart
            } else {
                self.knowledge
            };
            sessions.push((*layers, Session::new(stack, self.options, knowledge)));
        }
        let counted = self.knowledge.counts();
        let mut progress = Progress {
            record: Record::default(),
            attempts: Vec::new(),
        };
        let decided = self.all(rows, &mut sessions, &mut progress);
        let Progress { record, attempts } = progress;
        let mut report = Report {
            attempts,
            deadlock: record.deadlock,
            vacuity: record.vacuity.unwrap_or_default(),
            notes: record.notes,
            stuck: record.stuck,
            predicates: record.predicates,
            stats: record.stats,
            ..Decided::at_once(portfolio::nothing()).report
        };
        if report.stats.solver_calls.is_empty() {
            self.knowledge.count_since(&counted, &mut report.stats);
        }
        let gap = match decided {
            Ok(Confirmed::Run(violation, witness)) => {
                report.verdict = Verdict::Violated(violation);
                report.deadlock = None;
                report.vacuity = Vacuity::default();
                report.witness = Some(witness);
                None
            }
            Ok(Confirmed::Proof(certificate)) => {
                let is_for_any = |c: &Certificate| c.kind.is_for_any();
                let is_partial = self.original.has_unbounded_threads()
                    && !certificate.as_deref().is_some_and(is_for_any);
                report.certified = certificate.is_some() && self.options.certify && !is_partial;
                report.certificate = certificate.map(|c| *c);
                report.verdict = Verdict::Holds;
                reach_more(self.original, self.options, &mut report.vacuity);
                is_partial.then(|| Gap::Bound(Bound::Copies(self.options.copies())))
            }
            Err(gap) => Some(gap),
        };
        Decided { report, gap }
    }

    /// Tries one row after another.
    fn all(
        &self,
        rows: &[Row],
        sessions: &mut [(&[Layer], Session<'_>)],
        progress: &mut Progress,
    ) -> Result<Confirmed, Gap> {
        let mut last = portfolio::nothing();
        for row in rows {
            let own = |(layers, _): &&mut (&[Layer], Session<'_>)| *layers == row.layers;
            let Some((_, session)) = sessions.iter_mut().find(own) else {
                // A reduction that has nothing to do.
                continue;
            };
            if !is_due(row, &last, session, progress) {
                continue;
            }
            last = match self.row(&row.method, session, progress) {
                Ok(confirmed) => return Ok(confirmed),
                Err(gap) if gap.ends_everything() => return Err(gap),
                Err(gap @ Gap::BesideThePoint(_)) => return Err(gap),
                Err(gap) => match (row.on_gap, &gap) {
                    (OnGap::Next, _) | (OnGap::NextIfWeak, Gap::Weak(_)) => match row.method {
                        // That no bug was found is not why there is no verdict.
                        Method::Falsify { .. } | Method::Saturate { .. } => last,
                        // Neither is that a search came to its limit.
                        Method::Reach { .. } if matches!(gap, Gap::Weak(Weak::Nothing)) => last,
                        Method::Cegar(_) | Method::StateByState { .. } => gap,
                        Method::Histories { .. } | Method::Prompt { .. } => gap,
                        Method::Many { .. } => gap,
                        Method::Reach { .. } => gap,
                        Method::Views(_) | Method::Fixed { .. } => gap,
                    },
                    (OnGap::NextIfWeak, _) => return Err(gap),
                },
            };
        }
        Err(last)
    }

    /// Tries one row, again as long as something is learned that helps it.
    fn row(
        &self,
        method: &Method,
        session: &mut Session<'_>,
        progress: &mut Progress,
    ) -> Result<Confirmed, Gap> {
        let mut sized = session.guided(method)?;
        loop {
            match self.attempt(&sized, session, progress) {
                Err(Gap::Summary { template, cell, .. })
                    if session.encoder.drop_summary(template, cell) => {}
                Err(gap @ (Gap::Overflow { .. } | Gap::Bound(_))) => {
                    match session.larger(method, &sized, &gap) {
                        Some(larger) => sized = larger,
                        None => return Err(gap),
                    }
                }
                Err(Gap::FewStates(few)) => {
                    let Some(listed) = session.few_states(few) else {
                        continue;
                    };
                    match self.attempt(&listed, session, progress) {
                        Err(gap) if !gap.ends_everything() => {}
                        decided => return decided,
                    }
                }
                decided => return decided,
            }
        }
    }

    /// Tries one row once.
    fn attempt(
        &self,
        method: &Method,
        session: &mut Session<'_>,
        progress: &mut Progress,
    ) -> Result<Confirmed, Gap> {
        let started = Instant::now();
        let answer = session.attempt(method, &mut progress.record);
        progress.record.stats.unbuffered_stores = session.stack.unbuffered_stores();
        let confirmed = self.confirmed(answer, session, progress);
        let confirmed = confirmed.map_err(|gap| match method.encoding() {
            Some(encoding) => encoding.blamed(session.stack.top(), self.options, gap),
            None => gap,
        });
        if matches!(confirmed, Ok(Confirmed::Proof(_))) {
            session.proved_by(method);
        }
        progress.attempts.push(Attempt {
            reductions: session.stack.describe(),
            method: method.describe(session.stack.top()),
            time: started.elapsed(),
            outcome: match &confirmed {
                Ok(Confirmed::Proof(_)) => "proof".to_owned(),
                Ok(Confirmed::Run(..)) => "run into a violation".to_owned(),
                Err(Gap::Weak(Weak::Nothing)) => "nothing found".to_owned(),
                Err(gap) => gap.clone().unknown(self.original).to_string(),
            },
        });
        confirmed
    }

    /// Walks an answer back through the reductions, and asks for evidence.
    fn confirmed(
        &self,
        answer: Answer,
        session: &Session<'_>,
        progress: &mut Progress,
    ) -> Result<Confirmed, Gap> {
        match answer {
            Answer::Gap(gap) => Err(gap),
            Answer::Run(run) => {
                let run = session.stack.run_back(run)?;
                let (violation, run) = evidence::replayed(self.original, run)?;
                Ok(Confirmed::Run(violation, run))
            }
            Answer::Proof(_) if !session.stack.keeps_proofs() => Err(portfolio::nothing()),
            Answer::Proof(Proof::Exhaustive(states)) => {
                let record = &mut progress.record;
                record.stats.states = states as usize;
                let note = "all runs were searched; there is no certificate";
                record.notes.push(note.to_owned());
                Ok(Confirmed::Proof(None))
            }
            Answer::Proof(Proof::Checked(certificate, states))
                if Rc::ptr_eq(session.stack.top(), self.original) =>
            {
                progress.record.stats.states = states;
                progress.record.stats.certificate_entries = states;
                Ok(Confirmed::Proof(Some(certificate)))
            }
            Answer::Proof(Proof::Certificate(certificate) | Proof::Checked(certificate, _)) => {
                let started = Instant::now();
                let certificate = session.stack.proof_back(*certificate);
                let stats = &mut progress.record.stats;
                stats.certificate_entries = certificate.entries.len();
                if self.options.certify {
                    let solver = &self.knowledge.solver;
                    let checked =
                        evidence::checked(self.original, &certificate, self.options, solver);
                    progress.record.stats.spend("certify", started.elapsed());
                    let stats = &mut progress.record.stats;
                    stats.certificate_entries = checked?;
                    if let palisade_certify::Kind::Reachable(_) = certificate.kind {
                        stats.states = stats.certificate_entries;
                    }
                }
                progress.record.notes.extend(session.stack.notes());
                Ok(Confirmed::Proof(Some(Box::new(certificate))))
            }
        }
    }
}

/// What the rows so far have left.
struct Progress {
    record: Record,
    attempts: Vec<Attempt>,
}

/// Whether it is worth trying a row after what happened before.
fn is_due(row: &Row, last: &Gap, session: &Session<'_>, progress: &Progress) -> bool {
    let less = |is_views| match row.method.encoding() {
        Some(encoding) => session.is_less_explicit(encoding, is_views),
        None => true,
    };
    match row.when {
        When::Always => true,
        When::AllStatesSeen(buffer) => progress.record.all_states_seen == Some(buffer),
        When::StatesUnseen => progress.record.all_states_seen.is_none(),
        When::Inexpressible => {
            progress.record.all_states_seen.is_none() && matches!(last, Gap::Unsupported(..))
        }
        When::Violated => matches!(last, Gap::Spurious(_)),
        When::CellsMissing => {
            let encoding = row.method.encoding();
            encoding.is_some_and(|encoding| session.has_spurious_run(encoding))
        }
        // What buffers bound they bound whatever is explicit; the number of states is
        // another matter.
        When::LessExplicit => match last {
            Gap::Bound(Bound::AbstractStates(_)) => less(false),
            Gap::Bound(_) | Gap::Summary { .. } | Gap::Overflow { .. } => false,
            Gap::Time | Gap::Memory | Gap::Interrupted | Gap::Interference(_) => less(false),
            Gap::FewStates(_) | Gap::Spurious(_) | Gap::Weak(_) => less(false),
            Gap::Unsupported(..) | Gap::Refused(_) | Gap::BesideThePoint(_) => less(false),
        },
        When::LessExplicitViews => less(true),
    }
}
