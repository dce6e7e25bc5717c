//! The *driver*: from a program, a model and options to a verdict with evidence.
//! It picks what is searched (the program itself, or a reduction), runs the loop
//! on it, and asks for evidence.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use palisade_abstraction::space::Space;
use palisade_certify::Kind;
use palisade_logic::{Formula, Prover, Purpose, SolverStats};
use palisade_machine::Witness;
use palisade_memory::reduced::{Full, OVERFLOW, Reduced};
use palisade_memory::{need, pso, tso};
use palisade_program::{Broken, Cell, Instance, Model, Program, Span, Unknown, Verdict, Violation};

use crate::engine::{self, End, Engine};
use crate::evidence;
use crate::invariant::Translator;
use crate::lift::{Plan, Pupil, Teacher};
use crate::options::{Buffers, Options, Promote, Report, Stats};
use crate::seeds::{Seeding, seed_atoms};

/// States after which finite variables are no longer kept explicit.
const EXPLICIT_STATES: usize = 1_500_000;
/// Copies of `[*]` templates when none are asked for.
const DEFAULT_COPIES: u32 = 2;
/// Buffers up to this size are modelled at their full need at once.
const EXACT_CELLS: u32 = 6;
/// Cells per buffer when stores without bound rule out every bound.
const HUNTING_CELLS: u32 = 2;

/// Verifies `program` under `options.model`.
pub fn verify(program: &Program, options: &Options) -> Report {
    let stats = Arc::new(SolverStats::default());
    let copies = options.threads.unwrap_or(DEFAULT_COPIES);
    let instances = program.instances(copies);
    let solver = Arc::clone(&stats);
    let teacher = Teacher::new(program, instances.clone(), copies, options, solver);
    let mut driver = Driver {
        program,
        options,
        instances,
        solver: stats,
        teacher: Rc::new(teacher),
        report: Report {
            verdict: Verdict::Unknown(Unknown::GaveUp("not run".into())),
            witness: None,
            certified: false,
            certificate: None,
            predicates: Vec::new(),
            notes: Vec::new(),
            stats: Stats::default(),
        },
    };
    driver.report.verdict = driver.run();
    driver.finish()
}

/// What the search works on.
struct Task {
    /// `None`: the program itself.
    reduced: Option<Reduced>,
    /// Whether runs may be missing, so that a proof proves nothing.
    partial: bool,
}

struct Driver<'a> {
    program: &'a Program,
    options: &'a Options,
    instances: Vec<Instance>,
    solver: Arc<SolverStats>,
    teacher: Rc<Teacher<'a>>,
    report: Report,
}

impl Driver<'_> {
    fn copies(&self) -> u32 {
        self.options.threads.unwrap_or(DEFAULT_COPIES)
    }

    fn run(&mut self) -> Verdict {
        let tasks = match self.tasks() {
            Ok(tasks) => tasks,
            Err(unknown) => return Verdict::Unknown(unknown),
        };
        let mut verdict = Verdict::Unknown(Unknown::GaveUp("nothing to search".into()));
        for task in &tasks {
            verdict = self.task(task);
            match &verdict {
                Verdict::Holds | Verdict::Violated(_) => break,
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

    /// What to search, one after another until there is a verdict.
    fn tasks(&self) -> Result<Vec<Task>, Unknown> {
        let model = self.options.model;
        let refuse = |what: &str| Err(Unknown::Unsupported(what.to_owned(), Span::default()));
        match model {
            Model::Sc => {
                return Ok(vec![Task {
                    reduced: None,
                    partial: false,
                }]);
            }
            Model::Rma => return refuse("verification under RMA"),
            Model::Tso | Model::Pso if self.program.is_rma() => {
                return refuse("an RMA program under TSO or PSO");
            }
            Model::Tso | Model::Pso => {}
        }
        let reduce = |size: &dyn Fn(Cell) -> u32, full| match model {
            Model::Pso => pso::reduce(self.program, size, full),
            Model::Sc | Model::Tso | Model::Rma => tso::reduce(self.program, size(Cell(0)), full),
        };
        match &self.options.buffers {
            Buffers::Bounded(sizes) => {
                let reduced = reduce(&|cell| sizes.of(self.program, cell), Full::Fails);
                Ok(vec![Task {
                    reduced: Some(reduced),
                    partial: false,
                }])
            }
            Buffers::Auto => {
                let need = |cell| match model {
                    Model::Pso => need::most_buffered(self.program, Some(cell)),
                    Model::Sc | Model::Tso | Model::Rma => need::most_buffered(self.program, None),
                };
                let needs: Option<Vec<u32>> = (0..self.program.cell_count())
                    .map(|c| need(Cell::from(c)))
                    .collect();
                let bounded = |k: u32, full: Full| Task {
                    reduced: Some(reduce(&|_| k, full)),
                    partial: full == Full::Blocks,
                };
                Ok(match needs {
                    Some(needs) if needs.iter().all(|n| *n <= EXACT_CELLS) => {
                        let size = |cell: Cell| needs.get(cell.index()).copied().unwrap_or(0);
                        vec![Task {
                            reduced: Some(reduce(&size, Full::Fails)),
                            partial: false,
                        }]
                    }
                    // A buffer of k cells may do although control flow alone does not
                    // show it; bugs are looked for early, before a bound hides them.
                    Some(_) | None => vec![
                        bounded(1, Full::Fails),
                        bounded(HUNTING_CELLS, Full::Blocks),
                        bounded(2, Full::Fails),
                        bounded(3, Full::Fails),
                    ],
                })
            }
        }
    }

    /// Searches one task: finite variables explicit first, then not.
    fn task(&mut self, task: &Task) -> Verdict {
        let searched = task.reduced.as_ref().map_or(self.program, |r| &r.program);
        let attempts: &[bool] = match self.options.promote {
            Promote::Auto => &[true, false],
            Promote::Always => &[true],
            Promote::Never => &[false],
        };
        let mut last = Verdict::Unknown(Unknown::GaveUp("not run".into()));
        for (number, &promote) in attempts.iter().enumerate() {
            let space = Space::new(searched, self.instances.clone(), promote);
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
        task: &Task,
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
            verdict = match plan.bug {
                Some(bug) => self.known(*bug),
                None => self.attempt(task, space, plan, max_states),
            };
            let cost = teacher.take_cost();
            self.report.stats = std::mem::take(&mut self.report.stats).following(&cost);
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
        task: &Task,
        space: &Space<'_>,
        plan: Plan<'_>,
        max_states: usize,
    ) -> Verdict {
        let mut prover = Prover::new(palisade_logic::Options {
            limits: engine::limits(self.options),
            stats: Arc::clone(&self.solver),
            ..palisade_logic::Options::default()
        });
        let seeding = Seeding {
            original: self.program,
            reduced: task.reduced.as_ref(),
            space,
            options: self.options,
        };
        let mut atoms = seed_atoms(&seeding, &mut self.report.notes);
        atoms.extend(plan.atoms);
        let mut engine = Engine::new(space, &plan.options, atoms);
        engine.advisor = plan.advisor;
        engine.cubes = plan.cubes;
        let end = engine.run(&mut prover, max_states);
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
                match evidence::replay(program, reduced, &self.instances, model, copies, &run) {
                    Ok((violation, witness)) => {
                        self.report.witness = Some(witness);
                        Verdict::Violated(violation)
                    }
                    Err(_) if self.overflows(task, &run) => {
                        Verdict::Unknown(Unknown::Bound(vec![OVERFLOW.to_owned()]))
                    }
                    Err(unknown) => Verdict::Unknown(unknown),
                }
            }
            End::Proved(_) if task.partial => Verdict::Unknown(Unknown::Bound(vec![format!(
                "buffers of {HUNTING_CELLS} stores (the program stores without bound)"
            )])),
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
                    Ok(certificate) => self.certify(certificate),
                };
                self.report.stats.times.push(("certify", started.elapsed()));
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

    /// Whether the run ends with the overflow of a bounded buffer.
    fn overflows(&self, task: &Task, run: &crate::simulate::Run) -> bool {
        let (Some(reduced), Some(last)) = (&task.reduced, run.steps.last()) else {
            return false;
        };
        let template = self.instances[last.thread].template;
        let edge = reduced.program.template(template).cfg.edge(last.edge);
        let palisade_program::Step::Atomic(atomic) = &edge.step else {
            return false;
        };
        last.path
            .last()
            .is_some_and(|inner| match &atomic.body.edge(*inner).step {
                palisade_program::Step::Assert { kind, .. } => {
                    *kind == palisade_program::AssertKind::Other(OVERFLOW.to_owned())
                }
                _ => false,
            })
    }

    fn finish(mut self) -> Report {
        let stats = &mut self.report.stats;
        stats.solver_calls = Purpose::ALL
            .iter()
            .map(|p| (p.name(), self.solver.solver_calls(*p)))
            .collect();
        stats.cache_hits = self.solver.total_hits();
        if let Verdict::Violated(violation) = &self.report.verdict {
            debug_assert!(
                violation.broken != Broken::Deadlock,
                "never looked for here"
            );
        }
        self.report
    }
}
