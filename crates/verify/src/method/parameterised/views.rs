//! One search over *views*: abstract states of a few of any number of copies.

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
use palisade_checker::views::{self, Extension, Failure, Layer as ViewLayer, Outcome, Views};
use palisade_logic::{Atom, Formula, Prover};
use palisade_program::{Count, TemplateId};

use super::blame;
use super::template_predicates::TemplatePredicates;
use super::{Record, Session, Task};
use crate::answer::{Gap, Progress, Proof, Stats, StuckStep, Weak};
use crate::method::cegar::limits;
use crate::portfolio::{Cases, MOST_VIEW_PREDICATES, Sharpness, VIEW_WORK};
use crate::reduction::model::Reached;

/// How a search over views ended.
pub(super) enum Seen {
    /// It is a proof.
    Proof(Proof),
    /// It failed, for want of some of these predicates: those that are nearer to the
    /// failure first.
    Failed(Vec<BTreeSet<Atom>>),
}

impl Session<'_> {
    /// Searches over views.
    pub(super) fn views(
        &mut self,
        task: &Task<'_>,
        sharpness: Sharpness,
        pool: &TemplatePredicates<'_>,
        record: &mut Record,
    ) -> Result<Seen, Gap> {
        let started = Instant::now();
        let seen = sharpness.seen;
        let program = task.encoded.program();
        let base = self.numbered_space(task, views::threads(program, seen, None));
        let any = |id: &TemplateId| program.template(*id).count == Count::Any;
        let templates: Vec<TemplateId> = program.template_ids().filter(any).collect();
        let wider: Vec<Space<'_>> = templates
            .iter()
            .map(|t| self.numbered_space(task, views::threads(program, seen, Some(*t))))
            .collect();
        let mut layers: Vec<Layer<'_>> = std::iter::once(&base)
            .chain(&wider)
            .map(|space| self.layer(space, pool, sharpness.cases))
            .collect();
        if layers
            .iter()
            .any(|h| h.predicates.len() > MOST_VIEW_PREDICATES)
        {
            return Err(Weak::ManyPredicates.into());
        }
        let bad = BadStates::new(&base);
        let search_options = search::Options {
            merge: sharpness.cases == Cases::Joined,
            cover_by_several: false,
            max_states: Some(self.options.max_states),
            limits: limits(self.options),
        };
        let mut searched = Vec::new();
        for layer in &mut layers {
            let mut transformer = Lazy::new(&mut layer.prover);
            transformer.set_depth(sharpness.depth);
            searched.push((
                &mut layer.commands,
                &layer.predicates,
                transformer,
                &layer.axioms,
            ));
        }
        let mut searched =
            searched
                .iter_mut()
                .map(|(commands, predicates, transformer, axioms)| {
                    let layer = ViewLayer {
                        commands,
                        predicates,
                        transformer,
                    };
                    (layer, (*axioms).clone())
                });
        let first = searched.next().map(|(layer, _)| layer);
        let extensions = searched
            .zip(&templates)
            .map(|((layer, axioms), template)| Extension {
                template: *template,
                layer,
                axioms,
            });
        let extensions = extensions.collect();
        let first = first.ok_or(Weak::Nothing)?;
        let mut search = Views::new(first, &bad, extensions, &search_options)?;
        search.max_work = VIEW_WORK;
        let outcome = search.run();
        let counts = search.stats;
        drop(search);
        self.count(&base, pool, &counts, started, record);
        match outcome? {
            Outcome::Failed(failure) => {
                self.parameterised.stuck = stuck(&failure, seen, &layers);
                record.stuck = abstract_run(&failure, &layers);
                Ok(Seen::Failed(lacked(&failure, pool, &layers)))
            }
            Outcome::Safe(nodes) => {
                let reached = Reached {
                    space: &base,
                    nodes: &nodes,
                    predicates: &layers[0].predicates,
                    argument: Kind::Views,
                    threads: seen,
                };
                let shown = reached.predicates.atoms().iter();
                let shown = shown.map(|a| Formula::from(a.clone()).display(&base).to_string());
                record.predicates = shown.collect();
                let certificate = task.encoded.proof_back(&reached)?;
                record.notes.push(format!(
                    "for every number of threads: any {seen} of each template [*] are enough to \
                     see why"
                ));
                Ok(Seen::Proof(Proof::Certificate(Box::new(certificate))))
            }
        }
    }

    fn layer<'s>(
        &self,
        space: &'s Space<'s>,
        pool: &TemplatePredicates<'_>,
        cases: Cases,
    ) -> Layer<'s> {
        let predicates = pool.all_over(space, cases == Cases::All);
        let equations = self.stack.impossible(space);
        let axioms = equations.iter().flat_map(Formula::atoms);
        let axioms = axioms.filter_map(|atom| predicates.find(&atom).map(|p| (p, false)));
        let commands = if self.options.compress {
            Commands::compressed(space)
        } else {
            Commands::new(space)
        };
        Layer {
            axioms: axioms.collect(),
            commands,
            predicates,
            prover: self.knowledge.new_prover(limits(self.options)),
        }
    }

    fn count(
        &self,
        space: &Space<'_>,
        pool: &TemplatePredicates<'_>,
        counts: &search::SearchStats,
        started: Instant,
        record: &mut Record,
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
        record.add(own);
        if let Some(progress) = self.options.progress {
            progress(&Progress {
                round: record.stats.iterations,
                predicates,
                states: counts.states,
            });
        }
    }
}

/// Where a search over views ends that is no proof.
fn stuck(failure: &Failure, seen: u32, layers: &[Layer<'_>]) -> String {
    let Some((extension, branch)) = failure.steps.last() else {
        return String::new();
    };
    let commands = &layers[extension.map_or(0, |number| number + 1)].commands;
    let branch = commands.branch(*branch);
    let space = commands.space();
    let template = space
        .program
        .template(space.threads[branch.thread].template);
    let at = template.cfg.edge(branch.edge).span.start;
    let others = failure.steps.iter().filter(|(e, _)| e.is_some()).count();
    format!(
        "stuck with views of {seen} after {} steps ({others} of threads that are not seen), \
         last at line {} of {}",
        failure.steps.len(),
        space.program.source.position(at).line,
        template.name
    )
}

/// The steps of a search over views that is no proof.
fn abstract_run(failure: &Failure, layers: &[Layer<'_>]) -> Vec<StuckStep> {
    let mut all = Vec::new();
    for (extension, branch) in &failure.steps {
        let commands = &layers[extension.map_or(0, |number| number + 1)].commands;
        let branch = commands.branch(*branch);
        let space = commands.space();
        let instance = space.threads[branch.thread];
        let template = space.program.template(instance.template);
        let name = match extension {
            Some(_) => format!("another {}", template.name),
            None => space.program.instance_name(instance),
        };
        StuckStep::push(&mut all, name, template.cfg.edge(branch.edge).span);
    }
    all
}

/// The predicates of templates that a failed search over views has lacked.
fn lacked(
    failure: &Failure,
    pool: &TemplatePredicates<'_>,
    layers: &[Layer<'_>],
) -> Vec<BTreeSet<Atom>> {
    let layer = |extension: &Option<usize>| &layers[extension.map_or(0, |number| number + 1)];
    let steps = failure.steps.iter().map(|(extension, branch)| {
        let commands = &layer(extension).commands;
        (commands.space(), commands.branch(*branch).clone())
    });
    let steps: Vec<_> = steps.collect();
    let layers = blame::layers(layers[0].commands.space(), failure, &steps);
    let of_templates = |layer: &blame::Layer<'_>| {
        let atoms = layer.atoms.iter();
        atoms
            .filter_map(|a| pool.of_templates(layer.space, a))
            .collect()
    };
    layers.iter().map(of_templates).collect()
}

/// What a search over views needs for one space.
struct Layer<'s> {
    commands: Commands<'s>,
    predicates: Predicates,
    prover: Prover,
    /// Predicates that are false for ever.
    axioms: Vec<(PredId, bool)>,
}
