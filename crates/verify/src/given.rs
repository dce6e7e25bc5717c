//! One search with exactly the *given* predicates (the program's hints), by a
//! chosen strategy: no refinement, so that strategies can be compared on the same
//! work (DESIGN idea 4; seed 000, tables 1 and 2). Variables with few values are
//! abstracted as well unless [`Promote::Always`] is set.
//!
//! Under TSO and PSO the predicates are lifted first ([`crate::lift`]), and for
//! [`Strategy::Cubes`] the cubes of the Boolean program under SC; buffers are
//! bounded, by one cell unless the options say how many.
//!
//! The search is run without case splitting first; if its counterexample is no
//! run, it is repeated with all predicates split, and under a weak model with a
//! strengthened proof under SC ([`crate::strengthen`]) and with predicates over the
//! copies of several threads: the *stages*. Which of them suffices does not depend
//! on the strategy, so for the dear ones it is found out by the lazy one. Figures
//! are those of the stage that decided; the calls before it are counted apart. Evidence is asked for as always: a proof's certificate
//! is checked, a counterexample is replayed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::Commands;
use palisade_abstraction::extrapolate::{Listed, Literals};
use palisade_abstraction::hints;
use palisade_abstraction::lazy::Lazy;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_abstraction::tables::Tables;
use palisade_abstraction::transformer::Transformer;
use palisade_certify::Kind;
use palisade_checker::search::{self, Node, Outcome, Path, Search};
use palisade_logic::{Atom, Formula, Prover, Purpose, SolverStats};
use palisade_memory::reduced::{Full, Reduced};
use palisade_memory::{pso, tso};
use palisade_program::{Cell, Instance, Model, Program, Span, Unknown, Verdict};

use crate::engine::{limits, unknown_of, unknown_reason};
use crate::evidence;
use crate::invariant::Translator;
use crate::lift::{Teacher, copies};
use crate::options::{Buffers, Options, Promote, Report, Stats, Strategy};
use crate::simulate::{Run, Simulated, simulate};
use crate::timed::Timed;

/// How many copies of `[*]` templates run.
const COPIES: u32 = 2;

/// Searches `program` with its hints as predicates.
pub fn check_given(program: &Program, options: &Options) -> Report {
    let mut report = Report {
        verdict: Verdict::Unknown(Unknown::GaveUp("not run".into())),
        witness: None,
        certified: false,
        certificate: None,
        predicates: Vec::new(),
        notes: Vec::new(),
        stats: Stats::default(),
    };
    let threads = options.threads.unwrap_or(COPIES);
    let row = Row {
        program,
        options,
        instances: program.instances(threads),
        threads,
        promote: match options.promote {
            Promote::Always | Promote::All => true,
            Promote::Auto | Promote::Never => false,
        },
        solver: RefCell::default(),
    };
    report.verdict = match row.run(&mut report) {
        Ok(verdict) => verdict,
        Err(unknown) => Verdict::Unknown(unknown),
    };
    let solver = row.solver.borrow();
    let calls = |p: &Purpose| (p.name(), solver.solver_calls(*p));
    report.stats.solver_calls = Purpose::ALL.iter().map(calls).collect();
    report.stats.cache_hits = solver.total_hits();
    report
}

/// One row of a table.
struct Row<'a> {
    program: &'a Program,
    options: &'a Options,
    instances: Vec<Instance>,
    threads: u32,
    promote: bool,
    /// The counters of the stage at hand.
    solver: RefCell<Arc<SolverStats>>,
}

/// What a search uses.
#[derive(Default)]
struct Vocabulary {
    atoms: BTreeSet<Atom>,
    cubes: BTreeSet<Literals>,
    /// Values of control variables that the paper has predicates for.
    control: usize,
}

/// How much is taken from the given predicates.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // switches are independent
struct Stage {
    /// The proof under SC is strengthened first.
    strengthened: bool,
    /// Buffered values are compared with memory (rule 4).
    neighbours: bool,
    /// Copies of several threads are mixed in one predicate.
    mixed: bool,
    /// All predicates are split.
    split: bool,
}

/// The stages, the cheapest first (splitting many predicates is dear); under SC only
/// those that lift nothing.
const STAGES: [Stage; 6] = {
    let plain = Stage {
        strengthened: false,
        neighbours: false,
        mixed: false,
        split: false,
    };
    let strengthened = Stage {
        strengthened: true,
        ..plain
    };
    let compared = Stage {
        neighbours: true,
        ..plain
    };
    let all = Stage {
        strengthened: true,
        neighbours: true,
        mixed: true,
        split: false,
    };
    let split = Stage {
        split: true,
        ..plain
    };
    [
        plain,
        strengthened,
        compared,
        split,
        all,
        Stage { split: true, ..all },
    ]
};

impl Stage {
    const fn is_plain(self) -> bool {
        !self.strengthened && !self.neighbours && !self.mixed
    }

    /// What is worth telling.
    fn notes(self, sc: &Space<'_>, own: &BTreeSet<Atom>, atoms: &BTreeSet<Atom>) -> Vec<String> {
        let mut notes = Vec::new();
        if self.strengthened && atoms != own {
            let added = atoms.difference(own);
            let added = added.map(|a| Formula::from(a.clone()).display(sc).to_string());
            let added: Vec<String> = added.collect();
            let added = added.join(", ");
            notes.push(format!("the proof under SC was strengthened by {added}"));
        }
        if self.neighbours {
            notes.push("buffered values are compared with memory (rule 4)".to_owned());
        }
        if self.mixed {
            notes.push("buffered copies of several threads stand in one predicate".to_owned());
        }
        notes
    }
}

impl Row<'_> {
    fn run(&self, report: &mut Report) -> Result<Verdict, Unknown> {
        let reduced = self.reduce()?;
        let searched = reduced.as_ref().map_or(self.program, |r| &r.program);
        let space = Space::new(searched, self.instances.clone(), self.promote);
        let sc = Space::new(self.program, self.instances.clone(), self.promote);
        let own = hints::atoms(&sc).map_err(|u| Unknown::Unsupported(u.what, u.span))?;
        // The proof under SC is prepared with counters of its own.
        let preparation = Arc::new(SolverStats::default());
        let (instances, solver) = (self.instances.clone(), Arc::clone(&preparation));
        let teacher = Teacher::new(self.program, instances, self.threads, self.options, solver);
        let weak = reduced.is_some();
        let stages: Vec<Stage> = STAGES
            .into_iter()
            .filter(|s| weak || s.is_plain())
            .collect();
        let mut strengthened = None;
        let mut started = false;
        // Calls of stages that were too weak.
        let mut failed = 0;
        let mut last = Unknown::GaveUp("not run".into());
        for stage in stages {
            let mut atoms = own.clone();
            if stage.strengthened {
                let stronger = || teacher.strengthened(self.promote, &own);
                atoms.clone_from(strengthened.get_or_insert_with(stronger));
                if atoms == own && !stage.neighbours {
                    continue;
                }
            }
            // Which vocabulary suffices is found out with the cheapest strategy, apart.
            if weak && !started && self.options.strategy != Strategy::Lazy {
                let reduced = reduced.as_ref();
                let trial = self.vocabulary(&teacher, reduced, &space, &atoms, stage, false);
                let prover = self.prover(&preparation, true);
                let mut given = self.given(&space, Strategy::Lazy, trial, prover);
                if matches!(given.search_as(stage.split), Err(Unknown::GaveUp(_))) {
                    continue;
                }
            }
            started = true;
            report.notes = stage.notes(&sc, &own, &atoms);
            let reduced = reduced.as_ref();
            let vocabulary = self.vocabulary(&teacher, reduced, &space, &atoms, stage, true);
            report.stats = Stats {
                preparation_calls: failed + preparation.total_solver_calls(),
                ..Stats::default()
            };
            self.solver.take();
            report.stats.control_predicates = vocabulary.control;
            match self.attempt(&space, reduced, vocabulary, stage.split, report) {
                Err(why @ Unknown::GaveUp(_)) => last = why,
                decided => return decided,
            }
            failed += self.solver.borrow().total_solver_calls();
        }
        if !started {
            last = Unknown::GaveUp("the given predicates are too weak".into());
        }
        Err(last)
    }

    /// The program under its model with bounded buffers; none for SC.
    fn reduce(&self) -> Result<Option<Reduced>, Unknown> {
        let unsupported = |what: &str| Unknown::Unsupported(what.to_owned(), Span::default());
        let model = self.options.model;
        if model == Model::Sc {
            return Ok(None);
        }
        if self.program.is_rma() {
            return Err(unsupported("an RMA program under TSO or PSO"));
        }
        let size = |cell: Cell| match &self.options.buffers {
            Buffers::Bounded(sizes) => sizes.of(self.program, cell),
            Buffers::Auto | Buffers::Abstract(_) => 1,
        };
        match model {
            Model::Tso => Ok(Some(tso::reduce(self.program, size(Cell(0)), Full::Fails))),
            Model::Pso => Ok(Some(pso::reduce(self.program, &size, Full::Fails))),
            Model::Sc | Model::Rma => Err(unsupported("given predicates under RMA")),
        }
    }

    /// What a search may use: lifted if the program is reduced; cubes only if they
    /// are wanted.
    fn vocabulary(
        &self,
        teacher: &Teacher<'_>,
        reduced: Option<&Reduced>,
        space: &Space<'_>,
        atoms: &BTreeSet<Atom>,
        stage: Stage,
        cubes: bool,
    ) -> Vocabulary {
        let Some(reduced) = reduced else {
            return Vocabulary {
                atoms: atoms.clone(),
                ..Vocabulary::default()
            };
        };
        let mut copies = copies(&teacher.space(self.promote), reduced, space);
        copies.mixed = stage.mixed;
        let mut vocabulary = Vocabulary {
            atoms: copies.lift_atoms(atoms),
            cubes: BTreeSet::new(),
            control: copies.generic_count,
        };
        if stage.neighbours {
            vocabulary.atoms.extend(copies.neighbours(atoms));
        }
        if cubes && self.options.strategy == Strategy::Cubes {
            vocabulary.cubes = copies.lift_cubes(&teacher.cubes(self.promote, atoms));
            if self.options.drop_buffered {
                vocabulary.cubes = copies.drop_buffered(vocabulary.cubes);
            }
        }
        vocabulary
    }

    fn prover(&self, stats: &Arc<SolverStats>, shortcuts: bool) -> Prover {
        Prover::new(palisade_logic::Options {
            limits: limits(self.options),
            stats: Arc::clone(stats),
            memo: shortcuts,
            differences: shortcuts,
        })
    }

    fn given<'g>(
        &'g self,
        space: &'g Space<'g>,
        strategy: Strategy,
        vocabulary: Vocabulary,
        prover: Prover,
    ) -> Given<'g> {
        let mut predicates = Predicates::default();
        for atom in vocabulary.atoms {
            predicates.add(atom);
        }
        let cubes = Listed::new(&predicates, &vocabulary.cubes);
        Given {
            space,
            options: self.options,
            strategy,
            predicates,
            cubes,
            prover,
            stats: Stats::default(),
        }
    }

    fn attempt(
        &self,
        space: &Space<'_>,
        reduced: Option<&Reduced>,
        vocabulary: Vocabulary,
        split: bool,
        report: &mut Report,
    ) -> Result<Verdict, Unknown> {
        let prover = self.prover(&self.solver.borrow(), self.options.shortcuts);
        let mut given = self.given(space, self.options.strategy, vocabulary, prover);
        given.stats = std::mem::take(&mut report.stats);
        given.stats.lifted_cubes = given.cubes.len();
        let shown = |a: &Atom| Formula::from(a.clone()).display(space).to_string();
        report.predicates = given.predicates.atoms().iter().map(shown).collect();
        let found = given.search_as(split);
        report.stats = given.stats.clone();
        match found? {
            Found::Proved(nodes) => {
                self.certify(space, reduced, &nodes, &given.predicates, report)?;
                if self.program.has_unbounded_threads() {
                    let bound = format!("{} copies of templates declared with [*]", self.threads);
                    return Err(Unknown::Bound(vec![bound]));
                }
                Ok(Verdict::Holds)
            }
            Found::Run(run) => {
                let (program, model) = (self.program, self.options.model);
                let instances = &self.instances;
                evidence::replay(program, reduced, instances, model, self.threads, &run)
                    .map(|(violation, _)| Verdict::Violated(violation))
            }
        }
    }

    fn certify(
        &self,
        space: &Space<'_>,
        reduced: Option<&Reduced>,
        nodes: &[Node],
        predicates: &Predicates,
        report: &mut Report,
    ) -> Result<(), Unknown> {
        let started = Instant::now();
        let kind = if self.options.compress {
            Kind::Stops
        } else {
            Kind::Inductive
        };
        let model = self.options.model;
        let translator = Translator::new(space, self.program, reduced, model, kind);
        let certificate = translator
            .certificate(nodes, predicates, self.threads)
            .map_err(|overflow| Unknown::GaveUp(overflow.to_string()))?;
        report.stats.certificate_entries = certificate.entries.len();
        if self.options.certify {
            let solver = self.solver.borrow();
            evidence::certify(self.program, &certificate, self.options, &solver)?;
            report.certified = true;
        }
        report.certificate = Some(certificate);
        report.stats.spend("certify", started.elapsed());
        Ok(())
    }
}

/// What a search shows.
enum Found {
    Proved(Vec<Node>),
    Run(Run),
}

struct Given<'a> {
    space: &'a Space<'a>,
    options: &'a Options,
    strategy: Strategy,
    predicates: Predicates,
    cubes: Listed,
    prover: Prover,
    stats: Stats,
}

impl<'a> Given<'a> {
    /// One search, with all predicates split or none, and its simulation.
    fn search_as(&mut self, split: bool) -> Result<Found, Unknown> {
        let mut commands = if self.options.compress {
            Commands::compressed(self.space)
        } else {
            Commands::new(self.space)
        };
        for p in 0..if split { self.predicates.len() } else { 0 } {
            self.predicates.mark_split(p);
        }
        let path = match self.search(&mut commands)? {
            Outcome::Safe(nodes) => return Ok(Found::Proved(nodes)),
            Outcome::Error(path) => path,
        };
        match self.simulate(&commands, &path)? {
            Some(run) => Ok(Found::Run(run)),
            None => Err(Unknown::GaveUp("the given predicates are too weak".into())),
        }
    }

    fn search(&mut self, commands: &mut Commands<'a>) -> Result<Outcome, Unknown> {
        let started = Instant::now();
        let options = search::Options {
            merge: self.options.merge,
            max_states: Some(self.options.max_states),
            limits: limits(self.options),
        };
        let bad = BadStates::new(self.space);
        let max_size = Some(self.options.cube_size);
        let prover = &mut self.prover;
        let inner: Box<dyn Transformer + '_> = match self.strategy {
            Strategy::Lazy => Box::new(Lazy::new(prover)),
            Strategy::Enumerate => Box::new(Tables::enumerate(prover, max_size)),
            Strategy::Cubes if self.options.model != Model::Sc => {
                Box::new(Tables::listed(prover, self.cubes.clone()))
            }
            Strategy::Cores | Strategy::Cubes | Strategy::Program => {
                Box::new(Tables::cores(prover, max_size))
            }
        };
        let mut timed = Timed::new(inner);
        let mut search = Search::new(commands, &bad, &self.predicates, &mut timed, &options);
        let outcome = search.run();
        let searched = search.stats;
        let work = timed.work();
        self.stats.predicates = self.predicates.len();
        self.stats.split = self.predicates.split_count();
        self.stats.explicit = self.space.explicit.len();
        self.stats.iterations += 1;
        self.stats.states = searched.states;
        self.stats.steps += searched.steps;
        self.stats.cubes = (work.cubes, work.largest_cube);
        let build = timed.spent;
        drop(timed);
        self.stats.spend("build", build);
        self.stats
            .spend("check", started.elapsed().saturating_sub(build));
        outcome.map_err(unknown_of)
    }

    /// The run of an abstract counterexample, if it is one.
    fn simulate(&mut self, commands: &Commands<'_>, path: &Path) -> Result<Option<Run>, Unknown> {
        match simulate(commands, path, &mut self.prover) {
            Ok(Simulated::Feasible(run)) => Ok(Some(run)),
            Ok(Simulated::Infeasible) => Ok(None),
            Ok(Simulated::Unknown(reason)) => Err(unknown_reason(reason)),
            Err(overflow) => Err(Unknown::GaveUp(overflow.to_string())),
        }
    }
}
