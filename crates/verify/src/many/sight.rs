//! *Sights*: how sharply views are looked at, and one search over views.

use std::collections::BTreeSet;
use std::time::Instant;

use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::Commands;
use palisade_abstraction::lazy::Lazy;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_abstraction::transformer::Transformer;
use palisade_abstraction::valuation::PredId;
use palisade_certify::Kind;
use palisade_checker::search;
use palisade_checker::views::{self, Extension, Failure, Outcome, Room, Views};
use palisade_logic::{Atom, Formula, Prover};
use palisade_program::{Count, TemplateId, Unknown, Verdict};

use super::{Many, Task};
use crate::blame;
use crate::engine::{limits, unknown_of};
use crate::evidence;
use crate::invariant::Translator;
use crate::options::{Progress, Stats};
use crate::pool::Pool;

/// Copies that views show at most, unless a property speaks of more.
const MOST_SEEN: u32 = 3;
/// Extensions that one search over views looks at.
const WORK: usize = 1_000_000;
/// Predicates over the threads of one extension; with more the search takes too long.
const MOST_PREDICATES: usize = 500;
/// How often views ask for predicates at one sight.
const MOST_ASKS: usize = 8;
/// How far the cone of influence reaches at most.
const MOST_DEPTH: usize = 3;

/// How sharply views are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// Copies that are seen.
    pub(super) seen: u32,
    /// Which views are told apart.
    pub(super) cases: Cases,
    /// How far the cone of influence reaches.
    pub(super) depth: usize,
    /// Copies of the searches that find predicates for it, at most.
    pub(super) copies: u32,
    /// How often views may ask for predicates themselves.
    pub(super) asks: usize,
}

/// Which views with one control are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cases {
    /// None: they are joined.
    Joined,
    /// Those that come about, with the cases that a search with a few copies split.
    Found,
    /// All cases of all predicates.
    All,
}

/// What is tried one after another. Joined views are few, whatever the predicates, and
/// two copies are enough to see that a lock excludes one of them. What needs cases is
/// tried later: it may take many more views.
pub(super) fn sights(fewest: u32) -> Vec<Sight> {
    let two = fewest.max(2);
    let three = MOST_SEEN.max(two);
    let ways = [
        (1, Cases::Found, 1, 2, 0),
        (two, Cases::Joined, MOST_DEPTH, two, 0),
        (two, Cases::Found, MOST_DEPTH, two, 0),
        (1, Cases::Found, MOST_DEPTH, 2, MOST_ASKS),
        (two, Cases::Joined, MOST_DEPTH, two, MOST_ASKS),
        (two, Cases::Found, MOST_DEPTH, two, MOST_ASKS),
        (two, Cases::Joined, MOST_DEPTH, two + 1, MOST_ASKS),
        (1, Cases::All, MOST_DEPTH, 2, 0),
        (two, Cases::All, 1, two + 1, 0),
        (two, Cases::All, MOST_DEPTH, two + 1, 0),
        (three, Cases::Joined, MOST_DEPTH, three + 1, 0),
        (three, Cases::Found, MOST_DEPTH, three + 1, 0),
        (three, Cases::All, MOST_DEPTH, three + 1, 0),
    ];
    let sight = |(seen, cases, depth, copies, asks)| Sight {
        seen,
        cases,
        depth,
        copies,
        asks,
    };
    let sights = ways.into_iter().map(sight);
    sights.filter(|s| s.seen >= fewest).collect()
}

/// How a search over views ended.
pub(super) enum Seen {
    /// It is a proof, and the check of its certificate says this.
    Proof(Verdict),
    /// It failed, for want of some of these predicates: those that are nearer to the
    /// failure first.
    Failed(Vec<BTreeSet<Atom>>),
}

impl Many<'_> {
    /// Searches over views.
    pub(super) fn views(
        &mut self,
        task: &Task<'_>,
        sight: Sight,
        pool: &Pool<'_>,
    ) -> Result<Seen, Unknown> {
        let started = Instant::now();
        let seen = sight.seen;
        let base = self.space(task, views::threads(task.program, seen, None));
        let any = |id: &TemplateId| task.program.template(*id).count == Count::Any;
        let templates: Vec<TemplateId> = task.program.template_ids().filter(any).collect();
        let wider: Vec<Space<'_>> = templates
            .iter()
            .map(|t| self.space(task, views::threads(task.program, seen, Some(*t))))
            .collect();
        let mut halls: Vec<Hall<'_>> = std::iter::once(&base)
            .chain(&wider)
            .map(|space| self.hall(space, pool, sight.cases))
            .collect();
        if halls.iter().any(|h| h.predicates.len() > MOST_PREDICATES) {
            return Err(Unknown::GaveUp(
                "too many predicates between threads".into(),
            ));
        }
        let bad = BadStates::new(&base);
        let search_options = search::Options {
            merge: sight.cases == Cases::Joined,
            max_states: Some(self.options.max_states),
            limits: limits(self.options),
        };
        let mut rooms = Vec::new();
        for hall in &mut halls {
            let mut transformer = Lazy::new(&mut hall.prover);
            transformer.set_depth(sight.depth);
            rooms.push((
                &mut hall.commands,
                &hall.predicates,
                transformer,
                &hall.axioms,
            ));
        }
        let mut rooms = rooms
            .iter_mut()
            .map(|(commands, predicates, transformer, axioms)| {
                let room = Room {
                    commands,
                    predicates,
                    transformer,
                };
                (room, (*axioms).clone())
            });
        let first = rooms.next().map(|(room, _)| room);
        let extensions = rooms
            .zip(&templates)
            .map(|((room, axioms), template)| Extension {
                template: *template,
                room,
                axioms,
            });
        let extensions = extensions.collect();
        let first = first.ok_or_else(|| Unknown::GaveUp("no threads".into()))?;
        let mut search =
            Views::new(first, &bad, extensions, &search_options).map_err(unknown_of)?;
        search.max_work = WORK;
        let outcome = search.run();
        let counts = search.stats;
        drop(search);
        self.count(&base, pool, &counts, started);
        match outcome.map_err(unknown_of)? {
            Outcome::Failed(failure) => {
                self.stuck = stuck(&failure, seen, &halls);
                Ok(Seen::Failed(lacked(&failure, pool, &halls)))
            }
            Outcome::Safe(nodes) => {
                let predicates = &halls[0].predicates;
                Ok(Seen::Proof(
                    self.proof(task, seen, &base, predicates, &nodes),
                ))
            }
        }
    }

    fn hall<'s>(&self, space: &'s Space<'s>, pool: &Pool<'_>, cases: Cases) -> Hall<'s> {
        let predicates = pool.all_over(space, cases == Cases::All);
        let equations = self.distinct(space);
        let axioms = equations.iter().flat_map(Formula::atoms);
        let axioms = axioms.filter_map(|atom| predicates.find(&atom).map(|p| (p, false)));
        let commands = if self.options.compress {
            Commands::compressed(space)
        } else {
            Commands::new(space)
        };
        Hall {
            axioms: axioms.collect(),
            commands,
            predicates,
            prover: self.knowledge.new_prover(limits(self.options)),
        }
    }

    fn count(
        &mut self,
        space: &Space<'_>,
        pool: &Pool<'_>,
        counts: &search::SearchStats,
        started: Instant,
    ) {
        let (predicates, split) = (pool.len(), pool.split_count());
        let own = Stats {
            predicates,
            split,
            explicit: space.explicit.len(),
            iterations: 1,
            states: counts.states,
            steps: counts.steps,
            times: vec![("views", started.elapsed())],
            ..Stats::default()
        };
        self.report.stats = own.following(&self.report.stats);
        if let Some(progress) = self.options.progress {
            progress(&Progress {
                round: self.report.stats.iterations,
                predicates,
                states: counts.states,
            });
        }
    }

    /// Views that are closed become a certificate, which is checked.
    fn proof(
        &mut self,
        task: &Task<'_>,
        seen: u32,
        base: &Space<'_>,
        predicates: &Predicates,
        nodes: &[search::Node],
    ) -> Verdict {
        let started = Instant::now();
        let shown = predicates.atoms().iter();
        let shown = shown.map(|a| Formula::from(a.clone()).display(base).to_string());
        self.report.predicates = shown.collect();
        let model = self.options.model;
        let translator = Translator::new(base, self.program, task.reduced, model, Kind::Views);
        let verdict = match translator.certificate(nodes, predicates, seen) {
            Err(overflow) => Verdict::Unknown(Unknown::GaveUp(overflow.to_string())),
            Ok(certificate) => {
                self.report.stats.certificate_entries = certificate.entries.len();
                let checked = if self.options.certify {
                    let stats = &self.knowledge.solver;
                    evidence::certify(self.program, &certificate, self.options, stats)
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
        };
        self.report.notes.push(format!(
            "for every number of threads: any {seen} of each template [*] are enough to see why"
        ));
        self.report.stats.spend("certify", started.elapsed());
        verdict
    }
}

/// Where a search over views ends that is no proof.
fn stuck(failure: &Failure, seen: u32, halls: &[Hall<'_>]) -> String {
    let Some((extension, branch)) = failure.steps.last() else {
        return String::new();
    };
    let commands = &halls[extension.map_or(0, |number| number + 1)].commands;
    let branch = commands.branch(*branch);
    let space = commands.space();
    let template = space
        .program
        .template(space.threads[branch.thread].template);
    let at = template.cfg.edge(branch.edge).span.start;
    let others = failure.steps.iter().filter(|(e, _)| e.is_some()).count();
    format!(
        "; stuck with views of {seen} after {} steps ({others} of threads that are not seen), \
         last at line {} of {}",
        failure.steps.len(),
        space.program.source.position(at).line,
        template.name
    )
}

/// The predicates of templates that a failed search over views has lacked.
fn lacked(failure: &Failure, pool: &Pool<'_>, halls: &[Hall<'_>]) -> Vec<BTreeSet<Atom>> {
    let hall = |extension: &Option<usize>| &halls[extension.map_or(0, |number| number + 1)];
    let steps = failure.steps.iter().map(|(extension, branch)| {
        let commands = &hall(extension).commands;
        (commands.space(), commands.branch(*branch).clone())
    });
    let steps: Vec<_> = steps.collect();
    let layers = blame::layers(halls[0].commands.space(), failure, &steps);
    let of_templates = |layer: &blame::Layer<'_>| {
        let atoms = layer.atoms.iter();
        atoms
            .filter_map(|a| pool.of_templates(layer.space, a))
            .collect()
    };
    layers.iter().map(of_templates).collect()
}

/// What a search over views needs for one space.
struct Hall<'s> {
    commands: Commands<'s>,
    predicates: Predicates,
    prover: Prover,
    /// Predicates that are false for ever.
    axioms: Vec<(PredId, bool)>,
}
