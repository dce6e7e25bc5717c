//! The *driver*: from a program, a model and options to a verdict with evidence.
//! It picks what is searched (the program itself, or a reduction), runs the loop
//! on it, and asks for evidence.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use palisade_abstraction::space::Space;
use palisade_certify::{AccessLoc, Kind, disturbed};
use palisade_logic::{Formula, SolverStats};
use palisade_machine::Witness;
use palisade_memory::reduced::Reduced;
use palisade_memory::value_sets::SetPart;
use palisade_program::{Broken, Cell, Instance, Model, Program, Unknown, Verdict, Violation};

use crate::direct::Direct;
use crate::engine::{self, End, Engine};
use crate::evidence;
use crate::forget::Forgetting;
use crate::hunt::{self, Hunted, Hunts};
use crate::invariant::Translator;
use crate::knowledge::Knowledge;
use crate::lift::{Plan, Pupil, Teacher};
use crate::many;
use crate::options::{Buffers, Extrapolate, Options, Promote, Report, Strategy};
use crate::plan::{self, Planned, Reducer, Search};
use crate::seeds::{Seeding, seed_atoms};
use crate::threads::{generalised, of_declared};
use crate::undisturbed;

/// States after which finite variables are no longer kept explicit.
const EXPLICIT_STATES: usize = 1_500_000;

/// The same where all variables are explicit, and there may be no end of states.
const COUNTING_STATES: usize = 150_000;

/// The same of proofs state by state.
const OPEN_STATES: usize = 1_200_000;

/// What is remarked of a proof without predicates.
const STATE_BY_STATE: &str =
    "proved state by state: in the certificate every variable has its value";

/// What is said where the lazy construction was needed.
pub const TOO_WEAK: &str =
    "the extrapolated Boolean program was too weak; the lazy construction was used";

/// Verifies `program` under `options.model`.
pub fn verify(program: &Program, options: &Options) -> Report {
    verify_with(program, options, &Knowledge::default())
}

/// Verifies `program` with what earlier verifications of similar programs have left.
pub fn verify_with(program: &Program, options: &Options, knowledge: &Knowledge) -> Report {
    match Direct::of(program, options) {
        Some(direct) => direct.of_original(verify_whole(&direct.program, options, knowledge)),
        None => verify_whole(program, options, knowledge),
    }
}

/// Verifies `program` with a buffer for every store.
fn verify_whole(program: &Program, options: &Options, knowledge: &Knowledge) -> Report {
    if program.has_unbounded_threads() && options.threads.is_none() && options.symmetry {
        return many::verify_any(program, options, knowledge);
    }
    if options.symmetry
        && let Some(any) = generalised(program)
    {
        // A bug may need as many copies as are declared.
        if options.hunt
            && options.refine
            && let Some(bug) = hunt::hunt(program, options.model, hunt::QUICK, options)
        {
            return bug.report();
        }
        let report = many::verify_any(&any, options, knowledge);
        if let Some(report) = of_declared(program, &any, report) {
            return report;
        }
    }
    let stats = Arc::clone(&knowledge.solver);
    let copies = options.copies();
    let instances = program.instances(copies);
    let solver = Arc::clone(&stats);
    let mut teacher = Teacher::new(program, instances.clone(), copies, options, solver);
    let list = may_list_states(program, options);
    let hunts = || Rc::new(Hunts::new(program, options, list));
    let hunts = (options.hunt && options.refine).then(hunts);
    teacher.hunts.clone_from(&hunts);
    let mut driver = Driver {
        program,
        options,
        reducer: Reducer::new(program, options, &instances),
        brief: false,
        dropped: false,
        disturbed: BTreeSet::new(),
        instances,
        knowledge,
        counted: knowledge.counts(),
        solver: stats,
        teacher: Rc::new(teacher),
        hunts,
        report: Report::not_run(),
    };
    driver.report.verdict = driver.run();
    driver.finish()
}

/// Whether a proof may do without predicates, whatever values there are. Other ways that
/// are asked for are tried as asked.
fn may_list_states(program: &Program, options: &Options) -> bool {
    (options.model != Model::Rma || plan::has_exact_slots(program))
        && !program.has_unbounded_threads()
        && options.promote == Promote::Auto
        && options.strategy == Strategy::Lazy
        && options.extrapolate == Extrapolate::Auto
        && options.buffers == Buffers::Auto
}

/// What is searched.
struct Task<'t> {
    search: &'t Search,
    /// `None`: the program itself.
    reduced: Option<Reduced>,
    /// Options of this search.
    options: Options,
    /// Accesses at which its threads are not interrupted.
    undisturbed: Vec<AccessLoc>,
}

struct Driver<'a> {
    program: &'a Program,
    options: &'a Options,
    instances: Vec<Instance>,
    /// What earlier verifications have left, and their queries.
    knowledge: &'a Knowledge,
    counted: (Vec<u64>, u64),
    solver: Arc<SolverStats>,
    teacher: Rc<Teacher<'a>>,
    /// The machine, if it may look for bugs; not where exactly the given predicates are
    /// asked about.
    hunts: Option<Rc<Hunts<'a>>>,
    report: Report,
    reducer: Reducer<'a>,
    /// Whether searches end where they would need predicates.
    brief: bool,
    /// The last search failed because of a claim, which was dropped.
    dropped: bool,
    /// The last search failed because these accesses are disturbed.
    disturbed: BTreeSet<AccessLoc>,
}

impl Driver<'_> {
    fn copies(&self) -> u32 {
        self.options.copies()
    }

    fn run(&mut self) -> Verdict {
        let plan = match plan::searches(self.program, self.options) {
            Ok(plan) => self.knowledge.in_order(plan),
            Err(unknown) => return Verdict::Unknown(unknown),
        };
        let listed = self.options.model != Model::Rma && !self.program.has_unbounded_threads();
        if self.options.promote == Promote::All && listed {
            let why = "there are too many states, or a variable starts with any value";
            let unknown = Verdict::Unknown(Unknown::GaveUp(why.to_owned()));
            return self.state_by_state(&plan, usize::MAX).unwrap_or(unknown);
        }
        if let Some(verdict) = self.quick(&plan) {
            return verdict;
        }
        let mut verdict = Verdict::Unknown(Unknown::GaveUp("nothing to search".into()));
        for planned in &plan {
            verdict = self.planned(planned);
            while let Some(most) = self.few_states() {
                match self.state_by_state(&plan, most) {
                    Some(found) => verdict = found,
                    None => verdict = self.planned(planned),
                }
            }
            match &verdict {
                Verdict::Holds => {
                    self.knowledge.proved_by(&planned.search);
                    break;
                }
                Verdict::Violated(_) => break,
                Verdict::Unknown(Unknown::Time | Unknown::Interrupted) => break,
                Verdict::Unknown(_) => {}
            }
        }
        if verdict == Verdict::Holds && self.program.has_unbounded_threads() {
            let bound = format!("{} copies of templates declared with [*]", self.copies());
            verdict = Verdict::Unknown(Unknown::Bound(vec![bound]));
        }
        verdict
    }

    /// The quick hunt. If it has seen all states, one search without looking for
    /// predicates, then a proof state by state.
    fn quick(&mut self, plan: &[Planned]) -> Option<Verdict> {
        self.hunts.as_ref()?;
        let (program, options) = (self.program, self.options);
        match hunt::look(program, options.model, hunt::QUICK, options) {
            Hunted::Bug(bug) => {
                self.report.stats.hunted_states = bug.states;
                Some(self.known((bug.violation, bug.witness)))
            }
            Hunted::All(_) if may_list_states(program, options) => {
                self.brief = true;
                let verdict = plan.first().map(|planned| self.planned(planned));
                self.brief = false;
                match verdict? {
                    Verdict::Unknown(Unknown::Time | Unknown::Interrupted) => None,
                    Verdict::Unknown(_) => self.state_by_state(plan, usize::MAX),
                    decided => Some(decided),
                }
            }
            Hunted::All(_) | Hunted::Nothing => None,
        }
    }

    /// How many states a proof state by state may have, if a hunt since this was last asked
    /// says that one should be tried.
    fn few_states(&self) -> Option<usize> {
        let few = self.hunts.as_ref().and_then(|h| h.take_few());
        if few.is_some() {
            // It has not been studied to the end.
            self.teacher.forget();
        }
        few
    }

    /// Tries a proof with every variable explicit: the invariant is the set of states that
    /// are reached. `None`: there are more than `most`, or variables start with any value.
    fn state_by_state(&mut self, plan: &[Planned], most: usize) -> Option<Verdict> {
        let search = match plan {
            [only] => only.search.clone(),
            // No run has filled the buffers of the hunt.
            _ => Search::Bounded(vec![hunt::BUFFER; self.program.cell_count()]),
        };
        let mut task = Task {
            search: &search,
            reduced: self.reducer.reduce(&search),
            options: self.options.clone(),
            undisturbed: Vec::new(),
        };
        self.report.notes.clear();
        let (program, model) = (self.program, self.options.model);
        let reduced = task.reduced.as_ref();
        let mut space = Space::open(
            reduced.map_or(program, |r| &r.program),
            self.instances.clone(),
        );
        if self.options.compress {
            let translator = Translator::new(&space, program, reduced, model, Kind::Stops);
            task.undisturbed = undisturbed::unseen(program, model, &space, &translator);
        }
        let max = self.options.max_states.min(OPEN_STATES).min(most);
        let verdict = loop {
            let passed = &task.undisturbed;
            space.interior = (!passed.is_empty())
                .then(|| undisturbed::interior(program, model, &space.threads, reduced, passed));
            self.brief = true;
            let verdict = self.attempt(&task, &space, Plan::new(self.options), max);
            self.brief = false;
            if self.disturbed.is_empty() {
                break verdict;
            }
            let disturbed = std::mem::take(&mut self.disturbed);
            task.undisturbed
                .retain(|access| !disturbed.contains(access));
        };
        match verdict {
            Verdict::Unknown(_) => None,
            Verdict::Violated(_) => Some(verdict),
            Verdict::Holds => {
                self.report.stats.state_by_state = true;
                self.report.stats.undisturbed = task.undisturbed.len();
                self.report.notes.push(STATE_BY_STATE.to_owned());
                Some(verdict)
            }
        }
    }

    /// Does one search of the plan, anew as long as claims turn out to be wrong.
    fn planned(&mut self, planned: &Planned) -> Verdict {
        if planned.search == Search::Forgetting {
            return self.forgetting();
        }
        loop {
            let task = Task {
                search: &planned.search,
                reduced: self.reducer.reduce(&planned.search),
                options: Options {
                    max_rounds: self.options.max_rounds.min(planned.rounds),
                    ..self.options.clone()
                },
                undisturbed: Vec::new(),
            };
            // Remarks of earlier searches do not concern this one.
            self.report.notes.clear();
            let verdict = self.task(&task);
            if !std::mem::take(&mut self.dropped) {
                return verdict;
            }
        }
    }

    /// Looks for a proof that does without some variables.
    fn forgetting(&mut self) -> Verdict {
        let Some(forgetting) = Forgetting::of(self.program) else {
            return Verdict::Unknown(Unknown::GaveUp("no variable to forget".into()));
        };
        let report = forgetting.verify(self.options);
        let before = std::mem::take(&mut self.report.stats);
        let stats = report.stats.clone().following(&before);
        match report.verdict {
            Verdict::Holds => {
                self.report = Report { stats, ..report };
                Verdict::Holds
            }
            Verdict::Unknown(_) | Verdict::Violated(_) => {
                self.report.stats = stats;
                forgetting.says_nothing(report.verdict)
            }
        }
    }

    /// Searches one task: finite variables explicit first, then not.
    fn task(&mut self, task: &Task<'_>) -> Verdict {
        let searched = task.reduced.as_ref().map_or(self.program, |r| &r.program);
        if *task.search == Search::Counting {
            let mut space = Space::open(searched, self.instances.clone());
            space.monotone = listing_flags(task.reduced.as_ref(), &space);
            let max = self.options.max_states.min(COUNTING_STATES);
            // There is no data of which SC could teach anything.
            return self.attempt(task, &space, Plan::new(self.options), max);
        }
        let attempts: &[bool] = match self.options.promote {
            Promote::Auto if self.brief => &[true],
            Promote::Auto => &[true, false],
            Promote::Always | Promote::All => &[true],
            Promote::Never => &[false],
        };
        let mut last = Verdict::Unknown(Unknown::GaveUp("not run".into()));
        for (number, &promote) in attempts.iter().enumerate() {
            let mut space = Space::new(searched, self.instances.clone(), promote);
            space.monotone = listing_flags(task.reduced.as_ref(), &space);
            if number > 0
                && space.explicit.len()
                    == Space::new(searched, self.instances.clone(), true)
                        .explicit
                        .len()
            {
                break;
            }
            let max = if number + 1 < attempts.len() {
                self.options.max_states.min(EXPLICIT_STATES)
            } else {
                self.options.max_states
            };
            last = self.attempts(task, &space, promote, max);
            match &last {
                Verdict::Holds | Verdict::Violated(_) => break,
                Verdict::Unknown(_) if self.dropped => break,
                Verdict::Unknown(Unknown::Time | Unknown::Interrupted | Unknown::Memory) => break,
                // What buffers bound they bound whatever is explicit; the number of
                // states is another matter.
                Verdict::Unknown(Unknown::Bound(bounds))
                    if !bounds.iter().any(|b| b.ends_with("abstract states")) =>
                {
                    break;
                }
                Verdict::Unknown(_) => {}
            }
        }
        last
    }

    /// Tries the ways that the proof under SC suggests, one after another while they
    /// are too weak.
    fn attempts(
        &mut self,
        task: &Task<'_>,
        space: &Space<'_>,
        promote: bool,
        max_states: usize,
    ) -> Verdict {
        let teacher = Rc::clone(&self.teacher);
        let pupil = Pupil {
            reduced: task.reduced.as_ref(),
            space,
            promote,
        };
        let mut verdict = Verdict::Unknown(Unknown::GaveUp("not run".into()));
        for stage in 0.. {
            let Some(plan) = teacher.plan(pupil, stage) else {
                break;
            };
            let helps_out = self.options.strategy == Strategy::Program
                && plan.options.strategy == Strategy::Lazy;
            verdict = match plan.bug {
                Some(bug) => self.known(*bug),
                None => self.attempt(task, space, plan, max_states),
            };
            let cost = teacher.take_cost();
            self.report.stats = std::mem::take(&mut self.report.stats).following(&cost);
            if stage > 0 && helps_out {
                self.report.notes.push(TOO_WEAK.to_owned());
            }
            match &verdict {
                Verdict::Unknown(Unknown::GaveUp(_)) => {}
                Verdict::Unknown(_) | Verdict::Holds | Verdict::Violated(_) => break,
            }
        }
        verdict
    }

    /// A violation that was replayed already.
    fn known(&mut self, (violation, witness): (Box<Violation>, Witness)) -> Verdict {
        self.report.witness = Some(witness);
        Verdict::Violated(violation)
    }

    fn attempt(
        &mut self,
        task: &Task<'_>,
        space: &Space<'_>,
        plan: Plan<'_>,
        max_states: usize,
    ) -> Verdict {
        let (mut prover, posts) = self.knowledge.take_prover(engine::limits(self.options));
        let seeding = Seeding {
            original: self.program,
            reduced: task.reduced.as_ref(),
            space,
            options: &task.options,
        };
        let mut atoms = seed_atoms(&seeding, &mut self.report.notes);
        atoms.extend(plan.atoms);
        atoms.extend(self.knowledge.atoms(space));
        let options = Options {
            max_rounds: plan.options.max_rounds.min(task.options.max_rounds),
            ..plan.options
        };
        let mut engine = Engine::new(space, &options, atoms);
        engine.advisor = plan.advisor;
        engine.posts = Rc::clone(&posts);
        engine.cubes = plan.cubes;
        engine.facts = plan.facts;
        engine.brief = self.brief;
        engine.hunts = self.hunts.clone().filter(|_| !self.brief);
        let end = engine.run(&mut prover, max_states);
        self.knowledge.keep_prover(prover, posts);
        let Engine {
            predicates,
            stats,
            notes,
            ..
        } = engine;
        self.report.stats = stats.following(&self.report.stats);
        self.report.predicates = predicates
            .atoms()
            .iter()
            .map(|a| Formula::from(a.clone()).display(space).to_string())
            .collect();
        let stopped = self.hunts.as_ref().is_some_and(|hunts| hunts.are_few());
        if stopped || matches!(end, End::Proved(_) | End::Refuted(_)) {
            self.knowledge.learn(space, predicates.atoms());
        }
        match end {
            End::Unknown(unknown) => {
                self.report.notes = notes;
                Verdict::Unknown(unknown)
            }
            End::Advised(bug) => self.known(*bug),
            End::Refuted(run) => {
                let copies = self.copies();
                let (program, model) = (self.program, self.options.model);
                let reduced = task.reduced.as_ref();
                let replayed = if task.search.has_sets() {
                    evidence::replay_guided(program, reduced, &self.instances, model, copies, &run)
                } else {
                    evidence::replay(program, reduced, &self.instances, model, copies, &run)
                };
                match replayed {
                    Ok((violation, witness)) => {
                        self.report.witness = Some(witness);
                        Verdict::Violated(violation)
                    }
                    Err(failed) => {
                        let search = (task.search, task.reduced.as_ref());
                        let (why, dropped) =
                            self.reducer.no_bug(search, &self.instances, &run, failed);
                        self.dropped = dropped;
                        Verdict::Unknown(why)
                    }
                }
            }
            End::Proved(_)
                if matches!(task.search, Search::Hunting(_) | Search::HuntingSlots(_)) =>
            {
                let bound = match task.search {
                    Search::HuntingSlots(_) => "a few pending instances of a remote operation",
                    _ => "buffers of a few stores (the program stores without bound)",
                };
                Verdict::Unknown(Unknown::Bound(vec![bound.to_owned()]))
            }
            End::Proved(nodes) => {
                let started = Instant::now();
                let reduced = task.reduced.as_ref();
                let kind = if self.options.compress {
                    Kind::Stops
                } else {
                    Kind::Inductive
                };
                let translator =
                    Translator::new(space, self.program, reduced, self.options.model, kind);
                let verdict = match translator.certificate(&nodes, &predicates, self.copies()) {
                    Err(overflow) => Verdict::Unknown(Unknown::GaveUp(overflow.to_string())),
                    Ok(mut certificate) => {
                        certificate.undisturbed.clone_from(&task.undisturbed);
                        self.disturbed = disturbed(self.program, &certificate);
                        if self.disturbed.is_empty() {
                            self.certify(certificate)
                        } else {
                            let why = "an access may be disturbed".to_owned();
                            Verdict::Unknown(Unknown::GaveUp(why))
                        }
                    }
                };
                self.report.stats.spend("certify", started.elapsed());
                verdict
            }
        }
    }

    fn certify(&mut self, certificate: palisade_certify::Certificate) -> Verdict {
        self.report.stats.certificate_entries = certificate.entries.len();
        let checked = if self.options.certify {
            evidence::certify(self.program, &certificate, self.options, &self.solver)
        } else {
            Ok(())
        };
        self.report.certificate = Some(certificate);
        match checked {
            Ok(()) => {
                self.report.certified = self.options.certify;
                Verdict::Holds
            }
            Err(unknown) => Verdict::Unknown(unknown),
        }
    }

    fn finish(mut self) -> Report {
        self.knowledge
            .count_since(&self.counted, &mut self.report.stats);
        if let Verdict::Violated(violation) = &self.report.verdict {
            debug_assert!(
                violation.broken != Broken::Deadlock,
                "never looked for here"
            );
        }
        self.report
    }
}

/// The positions of the flags that say which values listed sets have. Steps only ask whether a
/// value is there, never whether it is not (`memory/value_sets.rs`).
fn listing_flags(reduced: Option<&Reduced>, space: &Space<'_>) -> Vec<usize> {
    let Some((reduced, (_, cells))) = reduced.and_then(|r| Some((r, r.sets.as_ref()?))) else {
        return Vec::new();
    };
    let first = reduced.program.cell_count() - cells.len();
    let listing = cells.iter().enumerate();
    let listing = listing.filter(|(_, cell)| matches!(cell.part, SetPart::Has(_)));
    let slots = listing.map(|(number, _)| space.cell_slot(Cell::from(first + number)));
    let explicit = slots.filter_map(|slot| space.slots[slot].explicit.as_ref());
    explicit.map(|e| e.position).collect()
}
