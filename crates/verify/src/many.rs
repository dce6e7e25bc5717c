//! *Any number of threads*: programs with templates declared with `[*]` are proved
//! for every number of copies, by views ([`palisade_checker::views`]), or refuted
//! with some number of copies.
//!
//! The predicates are those of the templates (`pool`). They come from
//! ordinary searches with a few copies: such a search simulates its counterexamples
//! thread by thread, so that each step has the name of the thread that makes it, and
//! its interpolants are generalised by taking the names out (seed 003, section 4). A
//! counterexample with a few copies that is a run is a bug. If the few copies are
//! proved and the views still fail, they are looked at more sharply (`sight`), with
//! predicates that they lack themselves (`blame`).
//!
//! `self` is a local that starts with any value ([`palisade_program::named`]); that
//! the numbers of two copies differ is a fact of the initial states and, since nobody
//! writes them, of all others.
//!
//! Under TSO and PSO all this is done with the reduced program: a buffer is local to
//! its thread, and that a buffered store reaches memory is a step of the thread that
//! notifies the others as every store to memory does.

mod numbered;
mod sight;

use std::collections::BTreeSet;

use palisade_abstraction::hints;
use palisade_abstraction::space::Space;
use palisade_checker::views;
use palisade_logic::{Formula, Term, Var};
use palisade_memory::reduced::Reduced;
use palisade_program::named::Named;
use palisade_program::symmetry::Symmetry;
use palisade_program::{Count, Instance, Pick, Program, Property, PropertyKind, Unknown, Verdict};

use crate::engine::{End, Engine, limits};
use crate::evidence;
use crate::hunt;
use crate::knowledge::Knowledge;
use crate::options::{Options, Promote, Report};
use crate::plan::{self, Planned, Reducer, Search};
use crate::pool::Pool;

use sight::{Cases, Seen, sights};

/// Copies that the search for bugs and predicates goes up to.
const MOST_COPIES: u32 = 4;
/// Rounds of refinement of one search with a few copies.
const ROUNDS: usize = 60;
/// States of one search with a few copies.
const STATES: usize = 100_000;
/// Copies that the machine tries when views of a few copies have failed,
const HUNTED_COPIES: std::ops::RangeInclusive<u32> = 4..=6;
/// and its states for each of these numbers.
const HUNTED_STATES: u64 = 200_000;

/// Verifies a program with templates declared with `[*]` for every number of copies.
pub(crate) fn verify_any(program: &Program, options: &Options, knowledge: &Knowledge) -> Report {
    let named = Named::of(program);
    let counted = knowledge.counts();
    let instances = named.program.instances(2);
    let mut many = Many {
        program,
        named: &named,
        options,
        knowledge,
        reducer: Reducer::new(&named.program, options, &instances),
        dropped: false,
        hunted: false,
        stuck: String::new(),
        report: Report::not_run(),
    };
    many.report.verdict = many.run();
    let mut report = many.report;
    knowledge.count_since(&counted, &mut report.stats);
    report
}

/// Why a program cannot be proved for every number of copies, if it cannot.
pub fn refusal(program: &Program) -> Option<Unknown> {
    let process = program.templates.iter().find(|t| t.is_process);
    if let Some(process) = process
        && program.has_unbounded_threads()
    {
        let what = "any number of copies in a program with processes".to_owned();
        return Some(Unknown::Unsupported(what, process.span));
    }
    let symmetry = Symmetry::of(program);
    for id in program.template_ids() {
        if program.template(id).count == Count::Any
            && let Some(asymmetry) = symmetry.asymmetry(id)
        {
            let what = format!(
                "any number of copies that are not alike: {}",
                asymmetry.reason
            );
            return Some(Unknown::Unsupported(what, asymmetry.span));
        }
    }
    None
}

struct Many<'a> {
    program: &'a Program,
    named: &'a Named,
    options: &'a Options,
    knowledge: &'a Knowledge,
    reducer: Reducer<'a>,
    /// The last search failed because of a claim, which was dropped.
    dropped: bool,
    /// The machine has looked for bugs with more copies.
    hunted: bool,
    /// Where views have failed last.
    stuck: String,
    report: Report,
}

/// What is searched.
struct Task<'t> {
    planned: &'t Planned,
    reduced: Option<&'t Reduced>,
    program: &'t Program,
    promote: bool,
}

impl Many<'_> {
    fn run(&mut self) -> Verdict {
        if let Some(why) = refusal(self.program) {
            return Verdict::Unknown(why);
        }
        if let Some(verdict) = self.hunt() {
            return verdict;
        }
        let waits = |p: &&Property| p.kind == PropertyKind::Finally;
        if let Some(property) = self.program.properties.iter().find(waits) {
            let what = "`finally` with any number of threads".to_owned();
            return Verdict::Unknown(Unknown::Unsupported(what, property.span));
        }
        let plan = match plan::searches(&self.named.program, self.options) {
            Ok(plan) => plan,
            Err(unknown) => return Verdict::Unknown(unknown),
        };
        let mut verdict = Verdict::Unknown(Unknown::GaveUp("nothing to search".into()));
        for planned in &plan {
            verdict = self.planned(planned);
            match &verdict {
                Verdict::Holds | Verdict::Violated(_) => break,
                Verdict::Unknown(Unknown::Time | Unknown::Interrupted) => break,
                Verdict::Unknown(_) => {}
            }
        }
        verdict
    }

    /// Lets the machine look for shallow bugs with a few copies.
    fn hunt(&mut self) -> Option<Verdict> {
        self.hunt_among(1..=MOST_COPIES - 1, hunt::QUICK)
    }

    fn hunt_among(
        &mut self,
        numbers: std::ops::RangeInclusive<u32>,
        states: u64,
    ) -> Option<Verdict> {
        if !(self.options.hunt && self.options.refine) {
            return None;
        }
        for copies in numbers {
            let options = Options {
                threads: Some(copies),
                ..self.options.clone()
            };
            if let Some(bug) = hunt::hunt(self.program, options.model, states, &options) {
                self.report.stats.hunted_states = bug.states;
                self.report.witness = Some(bug.witness);
                return Some(Verdict::Violated(bug.violation));
            }
        }
        None
    }

    /// Does one search of the plan, anew as long as claims turn out to be wrong.
    fn planned(&mut self, planned: &Planned) -> Verdict {
        loop {
            let reduced = self.reducer.reduce(&planned.search);
            self.report.notes.clear();
            let verdict = self.attempts(planned, reduced.as_ref());
            if !std::mem::take(&mut self.dropped) {
                return verdict;
            }
        }
    }

    /// Finite variables explicit first, then not.
    fn attempts(&mut self, planned: &Planned, reduced: Option<&Reduced>) -> Verdict {
        let attempts: &[bool] = match self.options.promote {
            Promote::Auto => &[true, false],
            Promote::Always | Promote::All => &[true],
            Promote::Never => &[false],
        };
        let program = reduced.map_or(&self.named.program, |r| &r.program);
        let explicit = |promote| {
            let threads = views::threads(program, 1, None);
            Space::new(program, threads, promote).explicit.len()
        };
        let mut last = Verdict::Unknown(Unknown::GaveUp("not run".into()));
        for (number, &promote) in attempts.iter().enumerate() {
            if number > 0 && explicit(true) == explicit(false) {
                break;
            }
            let task = Task {
                planned,
                reduced,
                program,
                promote,
            };
            last = self.attempt(&task);
            match &last {
                Verdict::Holds | Verdict::Violated(_) => break,
                Verdict::Unknown(Unknown::Time | Unknown::Interrupted | Unknown::Memory) => break,
                Verdict::Unknown(_) if self.dropped => break,
                Verdict::Unknown(_) => {}
            }
        }
        last
    }

    /// A space of the searched program, with what is known of thread numbers.
    fn space<'t>(&self, task: &Task<'t>, threads: Vec<Instance>) -> Space<'t> {
        let mut space = Space::new(task.program, threads, task.promote);
        space.facts = self
            .distinct(&space)
            .into_iter()
            .map(|f| f.negated())
            .collect();
        space
    }

    /// For each two copies of a template the equation of their numbers, which is wrong.
    fn distinct(&self, space: &Space<'_>) -> Vec<Formula> {
        let number = |thread: usize| {
            let template = space.threads[thread].template;
            let local = self.named.numbers[template.index()]?;
            Some(Term::var(Var(space.local_slot(thread, local) as u32)))
        };
        let mut all = Vec::new();
        for a in 0..space.threads.len() {
            for b in a + 1..space.threads.len() {
                if space.threads[a].template == space.threads[b].template
                    && let (Some(a), Some(b)) = (number(a), number(b))
                {
                    all.extend(Formula::eq(&a, &b));
                }
            }
        }
        all
    }

    /// The fewest copies that views must show: those of which a property speaks.
    fn fewest(&self) -> u32 {
        let mut most = 1;
        for property in &self.program.properties {
            for template in self.program.template_ids() {
                let copies = property.threads.iter().filter(|t| t.template == template);
                let picks: BTreeSet<Pick> = copies.map(|t| t.pick).collect();
                most = most.max(picks.len() as u32);
            }
        }
        most
    }

    /// Alternates between views and searches with a few copies.
    fn attempt(&mut self, task: &Task<'_>) -> Verdict {
        let reference = self.space(task, task.program.instances(MOST_COPIES));
        let mut pool = Pool::new(&reference);
        if self.options.hints {
            for atom in hints::atoms(&reference).unwrap_or_default() {
                pool.add(&reference, &atom, false);
            }
        }
        for atom in hints::index_bounds(&reference) {
            pool.add(&reference, &atom, false);
        }
        for atom in self.distinct(&reference).iter().flat_map(Formula::atoms) {
            pool.add(&reference, &atom, false);
        }
        let mut searched = Few::default();
        let mut why = None;
        for sight in sights(self.fewest()) {
            if (sight.cases == Cases::All || sight.seen > 2)
                && !std::mem::replace(&mut self.hunted, true)
                && let Some(verdict) = self.hunt_among(HUNTED_COPIES, HUNTED_STATES)
            {
                return verdict;
            }
            let mut asked = 0;
            loop {
                let looked_at = !matches!(task.planned.search, Search::Hunting(_));
                let mut lacked = Vec::new();
                match looked_at.then(|| self.views(task, sight, &pool)) {
                    Some(Ok(Seen::Proof(verdict))) => return verdict,
                    Some(Ok(Seen::Failed(layers))) => lacked = layers,
                    None => {}
                    Some(Err(stop @ (Unknown::Time | Unknown::Interrupted))) => {
                        return Verdict::Unknown(stop);
                    }
                    Some(Err(other)) => {
                        why = Some(other);
                        break;
                    }
                }
                match self.few(task, sight.copies, &mut pool, &mut searched) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(verdict) => return verdict,
                }
                if !looked_at {
                    let bound = "buffers of a few stores (the program stores without bound)";
                    return Verdict::Unknown(Unknown::Bound(vec![bound.to_owned()]));
                }
                asked += 1;
                let more = self.options.refine && asked <= sight.asks;
                let related = || sight.seen > 1 && asked == 1;
                if !(more
                    && (related() && pool.ask_for(&pool.relations())
                        || lacked.iter().any(|layer| pool.ask_for(layer))))
                {
                    break;
                }
            }
        }
        let coarse = || {
            Unknown::GaveUp(format!(
                "views of a few threads are too coarse{}",
                self.stuck
            ))
        };
        Verdict::Unknown(searched.unknown.or(why).unwrap_or_else(coarse))
    }

    /// Searches with a few copies, until there is something new in the pool.
    fn few(
        &mut self,
        task: &Task<'_>,
        most: u32,
        pool: &mut Pool<'_>,
        searched: &mut Few,
    ) -> Result<bool, Verdict> {
        if !self.options.refine {
            return Ok(false);
        }
        for copies in 2..=most.min(MOST_COPIES) {
            let before = pool.size();
            if searched.proved.contains(&(copies, before)) || searched.given_up.contains(&copies) {
                continue;
            }
            match self.copies(task, copies, pool)? {
                None => {}
                Some(why) => {
                    searched.given_up.insert(copies);
                    searched.unknown = Some(why);
                    continue;
                }
            }
            searched.proved.insert((copies, pool.size()));
            if pool.size() != before {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The ordinary loop with this many copies. A proof goes into the pool.
    fn copies(
        &mut self,
        task: &Task<'_>,
        copies: u32,
        pool: &mut Pool<'_>,
    ) -> Result<Option<Unknown>, Verdict> {
        let instances = task.program.instances(copies);
        let space = self.space(task, instances.clone());
        let options = Options {
            max_rounds: self.options.max_rounds.min(task.planned.rounds).min(ROUNDS),
            ..self.options.clone()
        };
        let table = pool.over(&space);
        let mut engine = Engine::new(&space, &options, pool.atoms_over(&space));
        for (p, atom) in table.atoms().iter().enumerate() {
            if table.is_split(p)
                && let Some(own) = engine.predicates.find(atom)
            {
                engine.predicates.mark_split(own);
            }
        }
        let (mut prover, posts) = self.knowledge.take_prover(limits(self.options));
        let end = engine.run(&mut prover, self.options.max_states.min(STATES));
        self.knowledge.keep_prover(prover, posts);
        let stats = std::mem::take(&mut engine.stats);
        self.report.stats = stats.following(&self.report.stats);
        match end {
            End::Proved(_) => {
                pool.add_all(&space, &engine.predicates);
                Ok(None)
            }
            End::Unknown(why @ (Unknown::Time | Unknown::Interrupted)) => {
                Err(Verdict::Unknown(why))
            }
            End::Unknown(why) => Ok(Some(why)),
            End::Advised(bug) => {
                self.report.witness = Some(bug.1);
                Err(Verdict::Violated(bug.0))
            }
            End::Refuted(run) => {
                let (program, model) = (self.program, self.options.model);
                let replayed =
                    evidence::replay(program, task.reduced, &instances, model, copies, &run)
                        .or_else(|why| self.replay_numbered(task, &instances, &run).ok_or(why));
                match replayed {
                    Ok((violation, witness)) => {
                        self.report.witness = Some(witness);
                        Err(Verdict::Violated(violation))
                    }
                    Err(failed) => {
                        let search = (&task.planned.search, task.reduced);
                        let (why, dropped) = self.reducer.no_bug(search, &instances, &run, failed);
                        self.dropped = dropped;
                        Err(Verdict::Unknown(why))
                    }
                }
            }
        }
    }
}

/// What the searches with a few copies have come to.
#[derive(Default)]
struct Few {
    /// Numbers of copies that were proved with a pool of this size.
    proved: BTreeSet<(u32, (usize, usize))>,
    /// Numbers of copies that could not be decided,
    given_up: BTreeSet<u32>,
    /// and why.
    unknown: Option<Unknown>,
}
