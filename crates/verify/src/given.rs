//! One search with exactly the *given* predicates (the program's hints), by a
//! chosen strategy: no refinement, so that strategies can be compared on the same
//! work (DESIGN idea 4; seed 000, tables 1 and 2). Variables with few values are
//! abstracted as well unless [`Promote::Always`] is set.
//!
//! The search is run without case splitting first; if its counterexample is no
//! run, it is repeated with all predicates split. Evidence is asked for as always:
//! a proof's certificate is checked, a counterexample is replayed.
//!
//! Under SC only: other models would need the predicates extrapolated first.

use std::sync::Arc;
use std::time::Instant;

use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::Commands;
use palisade_abstraction::hints;
use palisade_abstraction::lazy::Lazy;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_abstraction::tables::Tables;
use palisade_certify::Kind;
use palisade_checker::search::{self, Node, Outcome, Path, Search, Stop};
use palisade_logic::{Formula, Prover, Purpose, SolverStats};
use palisade_program::{Instance, Model, Program, Span, Unknown, Verdict};

use crate::engine::{limits, unknown_reason};
use crate::evidence;
use crate::invariant::Translator;
use crate::options::{Options, Promote, Report, Stats, Strategy};
use crate::simulate::{Run, Simulated, simulate};

/// How many copies of `[*]` templates run.
const COPIES: u32 = 2;

/// Searches `program` once with its hints as predicates.
pub fn check_given(program: &Program, options: &Options) -> Report {
    let solver = Arc::new(SolverStats::default());
    let mut report = Report {
        verdict: Verdict::Unknown(Unknown::GaveUp("not run".into())),
        witness: None,
        certified: false,
        certificate: None,
        predicates: Vec::new(),
        notes: Vec::new(),
        stats: Stats::default(),
    };
    report.verdict = match row(program, options, &solver, &mut report) {
        Ok(verdict) => verdict,
        Err(unknown) => Verdict::Unknown(unknown),
    };
    let calls = |p: &Purpose| (p.name(), solver.solver_calls(*p));
    report.stats.solver_calls = Purpose::ALL.iter().map(calls).collect();
    report.stats.cache_hits = solver.total_hits();
    report
}

fn row(
    program: &Program,
    options: &Options,
    solver: &Arc<SolverStats>,
    report: &mut Report,
) -> Result<Verdict, Unknown> {
    if options.model != Model::Sc {
        let what = "given predicates under another model than SC";
        return Err(Unknown::Unsupported(what.to_owned(), Span::default()));
    }
    let copies = options.threads.unwrap_or(COPIES);
    let instances = program.instances(copies);
    let promote = match options.promote {
        Promote::Always => true,
        Promote::Auto | Promote::Never => false,
    };
    let space = Space::new(program, instances.clone(), promote);
    let mut given = Given {
        space: &space,
        options,
        predicates: Predicates::default(),
        prover: Prover::new(palisade_logic::Options {
            limits: limits(options),
            stats: Arc::clone(solver),
            ..palisade_logic::Options::default()
        }),
        stats: Stats::default(),
    };
    let atoms = hints::atoms(&space).map_err(|u| Unknown::Unsupported(u.what, u.span))?;
    for atom in atoms {
        given.predicates.add(atom);
    }
    let shown = |a: &palisade_logic::Atom| Formula::from(a.clone()).display(&space).to_string();
    report.predicates = given.predicates.atoms().iter().map(shown).collect();
    let found = given.search_twice();
    report.stats = given.stats.clone();
    match found? {
        Found::Proved(nodes) => {
            let started = Instant::now();
            let kind = if options.compress {
                Kind::Stops
            } else {
                Kind::Inductive
            };
            let translator = Translator::new(&space, program, None, options.model, kind);
            let certificate = translator
                .certificate(&nodes, &given.predicates, copies)
                .map_err(|overflow| Unknown::GaveUp(overflow.to_string()))?;
            report.stats.certificate_entries = certificate.entries.len();
            if options.certify {
                evidence::certify(program, &certificate, options, solver)?;
                report.certified = true;
            }
            report.certificate = Some(certificate);
            report.stats.times.push(("certify", started.elapsed()));
            if program.has_unbounded_threads() {
                let bound = format!("{copies} copies of templates declared with [*]");
                return Err(Unknown::Bound(vec![bound]));
            }
            Ok(Verdict::Holds)
        }
        Found::Run(run) => replay(program, &instances, options.model, copies, &run),
    }
}

fn replay(
    program: &Program,
    instances: &[Instance],
    model: Model,
    copies: u32,
    run: &Run,
) -> Result<Verdict, Unknown> {
    evidence::replay(program, None, instances, model, copies, run)
        .map(|(violation, _)| Verdict::Violated(violation))
}

/// What a search shows.
enum Found {
    Proved(Vec<Node>),
    Run(Run),
}

struct Given<'a> {
    space: &'a Space<'a>,
    options: &'a Options,
    predicates: Predicates,
    prover: Prover,
    stats: Stats,
}

impl<'a> Given<'a> {
    fn search_twice(&mut self) -> Result<Found, Unknown> {
        let mut commands = if self.options.compress {
            Commands::compressed(self.space)
        } else {
            Commands::new(self.space)
        };
        for split in [false, true] {
            if split {
                for p in 0..self.predicates.len() {
                    self.predicates.mark_split(p);
                }
            }
            let path = match self.search(&mut commands)? {
                Outcome::Safe(nodes) => return Ok(Found::Proved(nodes)),
                Outcome::Error(path) => path,
            };
            if let Some(run) = self.simulate(&commands, &path)? {
                return Ok(Found::Run(run));
            }
        }
        Err(Unknown::GaveUp("the given predicates are too weak".into()))
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
        let (outcome, searched, cubes) = match self.options.strategy {
            Strategy::Lazy => {
                let mut lazy = Lazy::new(prover);
                let mut search = Search::new(commands, &bad, &self.predicates, &mut lazy, &options);
                (search.run(), search.stats, (0, 0))
            }
            Strategy::Enumerate | Strategy::Cores | Strategy::Cubes => {
                let mut tables = if self.options.strategy == Strategy::Cores {
                    Tables::cores(prover, max_size)
                } else {
                    Tables::enumerate(prover, max_size)
                };
                let mut search =
                    Search::new(commands, &bad, &self.predicates, &mut tables, &options);
                let outcome = search.run();
                let searched = search.stats;
                let stats = tables.stats();
                (outcome, searched, (stats.cubes, stats.largest))
            }
        };
        self.stats.predicates = self.predicates.len();
        self.stats.split = self.predicates.split_count();
        self.stats.explicit = self.space.explicit.len();
        self.stats.iterations += 1;
        self.stats.states = searched.states;
        self.stats.steps += searched.steps;
        self.stats.cubes = cubes;
        self.stats.times.push(("search", started.elapsed()));
        outcome.map_err(|stop| match stop {
            Stop::Limit(reason) => unknown_reason(reason),
            Stop::States(n) => Unknown::Bound(vec![format!("{n} abstract states")]),
            Stop::Unsupported(u) => Unknown::Unsupported(u.what, u.span),
        })
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
