//! The *CEGAR loop*: search with the predicates so far; if an abstract
//! counterexample is found, simulate it; a run is a bug, an infeasible path gives
//! new predicates, and so on [Clarke et al., CAV 2000]. Refinement escalates:
//!
//! 1. new atoms from interpolants; if there is none, from weakest preconditions;
//!    if there is none, from Spacer; of each, first the bare comparisons behind the
//!    atoms (`x < y`, `x = 0`), then the atoms with their constants;
//! 2. no new atom: the path's atoms are marked for case splitting, since what is
//!    missing is a disjunction of what is known;
//! 3. all marked: the cone of influence is widened;
//! 4. atoms that were held back because their sum gets ever new bounds;
//! 5. nothing left: give up, saying where.

pub mod copies;
pub mod divergence;
pub mod initial;
pub mod refine;
pub mod simulate;
pub mod timed;
pub mod transitions;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::Commands;
use palisade_abstraction::extrapolate::{Extrapolated, Listed, Literals};
use palisade_abstraction::lazy::Lazy;
use palisade_abstraction::posts::Posts;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_abstraction::tables::Tables;
use palisade_abstraction::transformer::Transformer;
use palisade_checker::search::{self, Node, Outcome, Path, Search};
use palisade_logic::interpolate::Method;
use palisade_logic::{Atom, Limits, Prover, Var};
use palisade_machine::Witness;
use palisade_program::{Model, Span};

use self::copies::along_copies;
use self::refine::{Infeasible, comparisons, generalise};
use self::simulate::{Run, Simulated, simulate};
use self::transitions::sharpen;
use crate::answer::{Gap, Progress, Stats, StuckStep, Weak};
use crate::method::falsify::{Falsifier, Heard};
use crate::portfolio::MAX_DEPTH;
use crate::question::{Options, Strategy};

/// How the loop ended.
#[derive(Debug)]
pub enum End {
    /// The states of the last search are an inductive invariant.
    Proved(Vec<Node>),
    /// A run that violates the property: which one, and where the assertion stands.
    Refuted(Run),
    /// A run of the concrete machine into a violation, found meanwhile.
    Falsified(Witness),
    /// Neither.
    Gap(Gap),
}

/// What an advisor has to say.
#[derive(Debug)]
pub enum Advice {
    /// Predicates that may help.
    Atoms(BTreeSet<Atom>),
    /// A run of the concrete machine into a violation.
    Run(Witness),
    /// What should be done first.
    Stop(Gap),
    /// No more.
    Nothing,
}

/// Someone to ask, when predicates are needed, before refinement finds its own.
pub type Advisor<'a> = Box<dyn FnMut() -> Advice + 'a>;

/// Interpolation methods that cost next to nothing, best first.
const CHEAP: [Method; 3] = [Method::Cycle, Method::Backward, Method::Forward];
/// Where new predicates come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AtomSource {
    /// What variables hold that were computed with wrapping.
    WrappedValues,
    /// Cheap interpolants, and relations seen in the data.
    Interpolants,
    /// Weakest preconditions.
    Preconditions,
    /// Spacer: general but expensive.
    Spacer,
}

/// The sources in the order in which they are asked, until one has something new.
const SOURCES: [AtomSource; 4] = [
    AtomSource::WrappedValues,
    AtomSource::Interpolants,
    AtomSource::Preconditions,
    AtomSource::Spacer,
];
/// One run of the loop over one space.
pub struct Engine<'a> {
    /// The space.
    pub space: &'a Space<'a>,
    /// The options.
    pub options: &'a Options,
    /// The predicates.
    pub predicates: Predicates,
    /// Counters.
    pub stats: Stats,
    /// Remarks.
    pub notes: Vec<String>,
    /// The last abstract counterexample.
    pub stuck: Vec<StuckStep>,
    /// Asked before refinement.
    pub advisor: Option<Advisor<'a>>,
    /// Looks for a bug without abstraction once the searches have become large. Where a
    /// proof state by state is worth a try the loop ends.
    pub falsifier: Option<Rc<Falsifier<'a>>>,
    /// The cubes of [`Strategy::Cubes`].
    pub cubes: BTreeSet<Literals>,
    /// The facts of [`Strategy::Program`].
    pub facts: Extrapolated,
    /// Posts computed with the prover that [`Self::run`] gets, and with no other.
    pub posts: Rc<RefCell<Posts>>,
    bounds: divergence::Bounds,
    times: [Duration; 3],
}

impl<'a> Engine<'a> {
    /// Starts with the given predicates.
    pub fn new(space: &'a Space<'a>, options: &'a Options, atoms: BTreeSet<Atom>) -> Self {
        let sets = space.sets.keys().map(|slot| Var(*slot as u32)).collect();
        let mut predicates = Predicates::with_sets(sets);
        for atom in atoms {
            if predicates.admits(&atom) {
                predicates.add(atom);
            }
        }
        Self {
            space,
            options,
            predicates,
            stats: Stats::default(),
            notes: Vec::new(),
            stuck: Vec::new(),
            advisor: None,
            falsifier: None,
            cubes: BTreeSet::new(),
            facts: Extrapolated::default(),
            posts: Rc::default(),
            bounds: divergence::Bounds::of(space.program),
            times: [Duration::ZERO; 3],
        }
    }

    /// Runs the loop to its end; `max_rounds` 0: to where it would need more predicates.
    pub fn run(&mut self, prover: &mut Prover, max_rounds: usize, max_states: usize) -> End {
        let limits = prover.limits().clone();
        let search_options = search::Options {
            merge: self.options.merge,
            cover_by_several: self.options.cover_by_several,
            max_states: Some(max_states),
            limits: limits.clone(),
        };
        let mut commands = if self.options.compress {
            Commands::compressed(self.space)
        } else {
            Commands::new(self.space)
        };
        let bad = BadStates::new(self.space);
        let mut transformer = transformer(
            self.options,
            prover,
            Rc::clone(&self.posts),
            &self.predicates,
            &self.cubes,
            &self.facts,
        );
        let end = loop {
            match self.round(
                &mut commands,
                &bad,
                &mut *transformer,
                &search_options,
                max_rounds,
            ) {
                Ok(Some(end)) => break end,
                Ok(None) => {}
                Err(gap) => break End::Gap(gap),
            }
            if self.stats.iterations >= max_rounds {
                break End::Gap(Weak::Rounds(self.stuck()).into());
            }
        };
        let work = transformer.work();
        self.stats.posts = (work.posts, work.remembered);
        self.stats.cubes = (work.cubes, work.largest_cube);
        self.stats.predicates = self.predicates.len();
        self.stats.split = self.predicates.split_count();
        self.stats.explicit = self.space.explicit.len();
        self.stats.times = vec![
            ("search", self.times[0]),
            ("simulate", self.times[1]),
            ("refine", self.times[2]),
        ];
        end
    }

    /// Where the last counterexample ends.
    fn stuck(&self) -> String {
        self.notes.last().cloned().unwrap_or_default()
    }

    /// One search and, if it fails, one simulation and refinement.
    fn round(
        &mut self,
        commands: &mut Commands<'a>,
        bad: &BadStates<'a>,
        transformer: &mut dyn Transformer,
        search_options: &search::Options,
        max_rounds: usize,
    ) -> Result<Option<End>, Gap> {
        self.stats.iterations += 1;
        let started = Instant::now();
        let calls = transformer.prover().stats().total_solver_calls();
        let mut search = Search::new(commands, bad, &self.predicates, transformer, search_options);
        let outcome = search.run();
        self.stats.states = search.stats.states;
        self.stats.steps += search.stats.steps;
        self.times[0] += started.elapsed();
        if self.options.strategy == Strategy::Program && self.options.model != Model::Sc {
            let made = transformer.prover().stats().total_solver_calls() - calls;
            let before = self.stats.extrapolated.map_or(0, |(calls, _)| calls);
            self.stats.extrapolated = Some((before + made, self.facts.len()));
        }
        if let Some(progress) = self.options.progress {
            progress(&Progress {
                round: self.stats.iterations,
                predicates: self.predicates.len(),
                states: self.stats.states,
            });
        }
        let safe = matches!(outcome, Ok(Outcome::Safe(_)));
        if !safe && let Some(falsifier) = &self.falsifier {
            let calls = transformer.prover().stats().total_solver_calls();
            match falsifier.ask(&self.stats, calls) {
                Heard::Bug(bug) => return Ok(Some(End::Falsified(bug.witness))),
                Heard::Stop(gap) => return Err(gap),
                Heard::Nothing => {}
            }
        }
        let path = match outcome {
            Ok(Outcome::Safe(nodes)) => return Ok(Some(End::Proved(nodes))),
            Ok(Outcome::Error(path)) => path,
            Err(stop) => return Err(stop.into()),
        };
        let started = Instant::now();
        let simulated = simulate(commands, &path, transformer.prover());
        self.times[1] += started.elapsed();
        match simulated {
            Ok(Simulated::Feasible(run)) => return Ok(Some(End::Refuted(run))),
            Ok(Simulated::Infeasible) => {}
            Ok(Simulated::Unknown(reason)) => return Err(reason.into()),
            Err(overflow) => return Err(overflow.into()),
        }
        self.note_stuck(commands, &path);
        if max_rounds == 0 {
            return Err(Weak::PredicatesNeeded.into());
        }
        match self.ask(transformer) {
            Advice::Run(found) => return Ok(Some(End::Falsified(found))),
            Advice::Stop(gap) => return Err(gap),
            Advice::Atoms(_) => return Ok(None),
            Advice::Nothing => {}
        }
        if !self.options.refine {
            return if self.sharpen(transformer) {
                Ok(None)
            } else {
                Err(Weak::Given(self.stuck()).into())
            };
        }
        let started = Instant::now();
        let refined = self.refine(commands, &path, transformer);
        self.times[2] += started.elapsed();
        if refined {
            Ok(None)
        } else {
            Err(Weak::NothingNew(self.stuck()).into())
        }
    }

    /// Asks the advisor until it has something new or nothing more.
    fn ask(&mut self, transformer: &mut dyn Transformer) -> Advice {
        while let Some(advisor) = &mut self.advisor {
            match advisor() {
                Advice::Nothing => self.advisor = None,
                Advice::Atoms(atoms) if self.add(&atoms) => {
                    transformer.predicates_changed();
                    return Advice::Atoms(atoms);
                }
                Advice::Atoms(_) => {}
                last @ (Advice::Run(_) | Advice::Stop(_)) => return last,
            }
        }
        Advice::Nothing
    }

    /// Makes the most of the predicates that there are: case splitting, then a
    /// wider cone.
    fn sharpen(&mut self, transformer: &mut dyn Transformer) -> bool {
        let mut marked = false;
        for p in 0..self.predicates.len() {
            marked |= self.predicates.mark_split(p);
        }
        let depth = transformer.depth();
        if marked {
            transformer.predicates_changed();
        } else if depth < MAX_DEPTH {
            transformer.set_depth(depth + 1);
        }
        marked || depth < MAX_DEPTH
    }

    /// Finds new predicates, or another way to be more precise.
    fn refine(
        &mut self,
        commands: &Commands<'a>,
        path: &Path,
        transformer: &mut dyn Transformer,
    ) -> bool {
        if self.options.transitions && sharpen(commands, path, &self.predicates, transformer) {
            return true;
        }
        let mut infeasible = Infeasible::new(commands, path);
        if infeasible.widen(transformer.prover()).is_err() {
            infeasible = Infeasible::new(commands, path);
        }
        transformer.predicates_changed();
        let mut all = BTreeSet::new();
        for source in SOURCES {
            let found = self.atoms_from(source, &infeasible, commands, path, transformer);
            let bare = comparisons(self.space, &found);
            if self.add_everywhere(commands, &generalise(self.space, bare)) {
                return true;
            }
            let found = generalise(self.space, found);
            all.extend(found.iter().cloned());
            let mut tamed = self.bounds.tame(found);
            if self.bounds.is_diverging() {
                let conditions = divergence::conditions(self.space, commands, path);
                tamed.extend(generalise(self.space, conditions));
            }
            if self.add_everywhere(commands, &tamed) {
                return true;
            }
        }
        let atoms = self.bounds.tame(all.clone());
        let mut grown = false;
        for atom in &atoms {
            if let Some(p) = self.predicates.find(atom) {
                grown |= self.predicates.mark_split(p);
            }
        }
        if grown {
            return true;
        }
        let depth = transformer.depth();
        if depth < MAX_DEPTH {
            transformer.set_depth(depth + 1);
            return true;
        }
        if self.add(&all) {
            return true;
        }
        // The path's atoms are all split and still do not exclude it: split all.
        for p in 0..self.predicates.len() {
            grown |= self.predicates.mark_split(p);
        }
        grown
    }

    fn atoms_from(
        &mut self,
        source: AtomSource,
        infeasible: &Infeasible,
        commands: &Commands<'a>,
        path: &Path,
        transformer: &mut dyn Transformer,
    ) -> BTreeSet<Atom> {
        match source {
            AtomSource::WrappedValues => infeasible.wrapped_values().unwrap_or_default(),
            AtomSource::Interpolants => {
                let mut found = BTreeSet::new();
                for method in CHEAP {
                    if let Ok(atoms) = infeasible.interpolant_atoms(transformer.prover(), method) {
                        found = atoms;
                        break;
                    }
                }
                found.extend(divergence::relations(
                    self.space,
                    commands,
                    path,
                    &self.predicates,
                ));
                found
            }
            AtomSource::Preconditions => infeasible.wp_atoms().unwrap_or_default(),
            AtomSource::Spacer => {
                match infeasible.interpolant_atoms(transformer.prover(), Method::Spacer) {
                    Ok(found) => found,
                    Err(why) => {
                        self.notes.push(format!("no interpolants: {why}"));
                        BTreeSet::new()
                    }
                }
            }
        }
    }

    /// Adds predicates, with parameterised ones if asked for; tells whether some of
    /// `atoms` are new.
    fn add_everywhere(&mut self, commands: &Commands<'a>, atoms: &BTreeSet<Atom>) -> bool {
        let is_new = self.add(atoms);
        if is_new && self.options.parameterised {
            self.add(&along_copies(commands, atoms));
        }
        is_new
    }

    /// Adds predicates; tells whether some are new.
    fn add(&mut self, atoms: &BTreeSet<Atom>) -> bool {
        let before = self.predicates.len();
        for atom in atoms {
            if self.predicates.admits(atom) {
                self.predicates.add(atom.clone());
            }
        }
        self.predicates.len() > before
    }

    /// Remembers where the abstract counterexample ends.
    fn note_stuck(&mut self, commands: &Commands<'a>, path: &Path) {
        let Some(last) = path.branches.last() else {
            self.notes = vec!["stuck in the initial state".to_owned()];
            return;
        };
        let program = self.space.program;
        self.stuck.clear();
        for branch in &path.branches {
            let branch = commands.branch(*branch);
            let instance = self.space.threads[branch.thread];
            let span = program
                .template(instance.template)
                .cfg
                .edge(branch.edge)
                .span;
            StuckStep::push(&mut self.stuck, program.instance_name(instance), span);
        }
        let branch = commands.branch(*last);
        let template = program.template(self.space.threads[branch.thread].template);
        let span: Span = template.cfg.edge(branch.edge).span;
        let at = program.source.position(span.start);
        let thread = program.instance_name(self.space.threads[branch.thread]);
        self.notes = vec![format!(
            "stuck after {} steps, last at line {} of {thread}",
            path.branches.len(),
            at.line
        )];
    }
}

/// The strategy that the options ask for.
fn transformer<'p>(
    options: &Options,
    prover: &'p mut Prover,
    kept: Rc<RefCell<Posts>>,
    predicates: &Predicates,
    cubes: &BTreeSet<Literals>,
    facts: &Extrapolated,
) -> Box<dyn Transformer + 'p> {
    let largest = Some(options.cube_size);
    match options.strategy {
        Strategy::Lazy => Box::new(Lazy::sharing(prover, kept)),
        Strategy::Enumerate => Box::new(Tables::enumerate(prover, largest)),
        Strategy::Cubes if options.model != Model::Sc => {
            Box::new(Tables::listed(prover, Listed::new(predicates, cubes)))
        }
        Strategy::Program if options.model != Model::Sc => {
            Box::new(Tables::extrapolated(prover, facts.clone()))
        }
        Strategy::Cores | Strategy::Cubes | Strategy::Program => {
            Box::new(Tables::cores(prover, largest))
        }
    }
}

/// The limits of the solver for these options.
pub fn limits(options: &Options) -> Limits {
    Limits {
        query: Some(Duration::from_secs(10)),
        deadline: options.deadline,
        cancel: options.cancel.clone(),
    }
}
