//! *Fixed predicates*: one search with exactly the program's hints, by a
//! chosen strategy: no refinement, so that strategies can be compared on the same
//! work [Dan et al., SAS 2013, tables 1 and 2]. Variables with few values are
//! abstracted as well unless [`crate::Promote::Always`] is set.
//!
//! Under TSO and PSO the predicates are extrapolated first ([`super::extrapolate`]), and for
//! [`Strategy::Cubes`] the cubes of the Boolean program under SC, for [`Strategy::Program`] its
//! facts; buffers are bounded, by one cell unless the options say how many.
//!
//! The portfolio has several stages, tried while they are too weak: without case
//! splitting, with all predicates split, and under a weak model with a strengthened proof
//! under SC ([`super::strengthen`]) and with predicates over the copies of several threads.
//! Which of them suffices does not depend on the strategy, so for the expensive ones it is
//! found out by the lazy one. Figures are those of the stage that decided; the calls before
//! it are counted apart.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::Commands;
use palisade_abstraction::extrapolate::{Extrapolated, Listed, Literals};
use palisade_abstraction::hints;
use palisade_abstraction::lazy::Lazy;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_abstraction::tables::Tables;
use palisade_abstraction::transformer::Transformer;
use palisade_certify::Kind;
use palisade_checker::search::{self, Node, Outcome, Path, Search};
use palisade_logic::{Atom, Formula, Prover, Purpose, SolverStats, Var};
use palisade_program::Model;

use super::cegar::limits;
use super::cegar::simulate::{Run, Simulated, simulate};
use super::cegar::timed::Timed;
use super::extrapolate::{ScProof, Searched, copies, incoming};
use super::{Record, Session, promotes_fixed};
use crate::answer::{Answer, Gap, Proof, Stats, Weak};
use crate::portfolio::Stage;
use crate::question::{Options, Strategy};
use crate::reduction::model::{Encoded, Encoding, Reached};

/// What the stages remember of each other.
#[derive(Default)]
pub(super) struct Memory {
    /// Counts the queries of the proof under SC, and of trials.
    preparation: Arc<SolverStats>,
    /// The hints with what strengthens the proof under SC.
    strengthened: Option<BTreeSet<Atom>>,
    /// A stage has been found that the lazy strategy does not find too weak.
    started: bool,
    /// Calls of stages that were too weak.
    failed: u64,
}

/// What a search uses.
#[derive(Default)]
pub(super) struct Vocabulary {
    pub(super) atoms: BTreeSet<Atom>,
    pub(super) cubes: BTreeSet<Literals>,
    /// The renamed Boolean program under SC.
    pub(super) facts: Extrapolated,
    /// Values of control variables that the paper has predicates for.
    control: usize,
}

/// What is taken over from the Boolean program under SC, beside its predicates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// Nothing.
    Nothing,
    /// Its cubes.
    Cubes,
    /// Its facts.
    Facts,
}

impl Taken {
    /// What a strategy uses.
    pub(super) const fn by(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Cubes => Self::Cubes,
            Strategy::Program => Self::Facts,
            Strategy::Enumerate | Strategy::Cores | Strategy::Lazy => Self::Nothing,
        }
    }
}

impl Stage {
    /// What is worth telling.
    pub(super) fn notes(
        self,
        sc: &Space<'_>,
        own: &BTreeSet<Atom>,
        atoms: &BTreeSet<Atom>,
    ) -> Vec<String> {
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

impl Session<'_> {
    /// Searches with the program's hints as predicates, at one stage.
    pub(super) fn fixed(
        &mut self,
        encoding: &Encoding,
        stage: Stage,
        record: &mut Record,
    ) -> Answer {
        match self.fixed_stage(encoding, stage, record) {
            Ok(answer) => answer,
            Err(gap) => gap.into(),
        }
    }

    fn fixed_stage(
        &mut self,
        encoding: &Encoding,
        stage: Stage,
        record: &mut Record,
    ) -> Result<Answer, Gap> {
        let too_weak = || Gap::from(Weak::Given(String::new()));
        let promote = promotes_fixed(self.options);
        let encoded = self.encoder.encode_with(encoding, promote);
        let space = Space::new(encoded.program(), self.instances.clone(), promote);
        let sc = Space::new(self.program, self.instances.clone(), promote);
        let own = hints::atoms(&sc).map_err(|u| Gap::Unsupported(u.what, u.span))?;
        let weak = encoded.reduced().is_some();
        // The proof under SC is prepared with counters of its own.
        let preparation = Arc::clone(&self.fixed.preparation);
        let sc_proof = ScProof::new(
            self.program,
            self.instances.clone(),
            self.options.copies(),
            self.options,
            Arc::clone(&preparation),
        );
        let mut atoms = own.clone();
        if stage.strengthened {
            let stronger = || sc_proof.strengthened(promote, &own);
            atoms.clone_from(self.fixed.strengthened.get_or_insert_with(stronger));
            if atoms == own && !stage.neighbours {
                return Err(too_weak());
            }
        }
        let fixed = FixedQuestion {
            options: self.options,
            sc_proof: &sc_proof,
            encoded: &encoded,
            space: &space,
            stage,
            promote,
        };
        // Which vocabulary suffices is found out with the cheapest strategy, apart.
        if weak && !self.fixed.started && self.options.strategy != Strategy::Lazy {
            let trial = fixed.vocabulary(&atoms, Taken::Nothing);
            let prover = fixed.prover(&preparation, true);
            let mut given = fixed.search(Strategy::Lazy, trial, prover);
            if let Err(gap @ Gap::Weak(_)) = given.search_as(stage.split) {
                return Err(gap);
            }
        }
        self.fixed.started = true;
        record.notes = stage.notes(&sc, &own, &atoms);
        let vocabulary = fixed.vocabulary(&atoms, Taken::by(self.options.strategy));
        let solver = Arc::new(SolverStats::default());
        let control_predicates = vocabulary.control;
        let prover = fixed.prover(&solver, self.options.shortcuts);
        let mut given = fixed.search(self.options.strategy, vocabulary, prover);
        given.stats = Stats {
            preparation_calls: self.fixed.failed + preparation.total_solver_calls(),
            control_predicates,
            lifted_cubes: given.cubes.len(),
            ..Stats::default()
        };
        let shown = |a: &Atom| Formula::from(a.clone()).display(&space).to_string();
        record.predicates = given.predicates.atoms().iter().map(shown).collect();
        let found = given.search_as(stage.split);
        record.stats = given.stats.clone();
        let calls = |p: &Purpose| (p.name(), solver.solver_calls(*p));
        record.stats.solver_calls = Purpose::ALL.iter().map(calls).collect();
        record.stats.cache_hits = solver.total_hits();
        self.fixed.failed += solver.total_solver_calls();
        match found? {
            Found::Proved(nodes) => {
                let reached = Reached {
                    space: &space,
                    nodes: &nodes,
                    predicates: &given.predicates,
                    argument: if self.options.compress {
                        Kind::Stops
                    } else {
                        Kind::Inductive
                    },
                    threads: self.options.copies(),
                };
                let certificate = encoded.proof_back(&reached)?;
                Ok(Answer::Proof(Proof::Certificate(Box::new(certificate))))
            }
            Found::Run(run) => {
                let copies = self.options.copies();
                Ok(Answer::Run(encoded.run_back(
                    &self.instances,
                    copies,
                    &run,
                )?))
            }
        }
    }
}

/// What a stage is about.
pub(super) struct FixedQuestion<'a> {
    pub(super) options: &'a Options,
    pub(super) sc_proof: &'a ScProof<'a>,
    pub(super) encoded: &'a Encoded<'a>,
    pub(super) space: &'a Space<'a>,
    pub(super) stage: Stage,
    pub(super) promote: bool,
}

impl<'a> FixedQuestion<'a> {
    /// The predicates of the program in its encoding, without those over buffers.
    pub(super) fn in_memory(&self, atoms: &BTreeSet<Atom>) -> BTreeSet<Atom> {
        let sc = self.sc_proof.space(self.promote);
        let Some(reduced) = self.encoded.reduced() else {
            return atoms.clone();
        };
        let mut copies = copies(&sc, reduced, self.space);
        copies.threads.clear();
        copies.lift_atoms(atoms)
    }

    pub(super) fn vocabulary(&self, atoms: &BTreeSet<Atom>, taken: Taken) -> Vocabulary {
        let Some(reduced) = self.encoded.reduced() else {
            return Vocabulary {
                atoms: atoms.clone(),
                ..Vocabulary::default()
            };
        };
        let sc = self.sc_proof.space(self.promote);
        let mut copies = copies(&sc, reduced, self.space);
        copies.mixed = self.stage.mixed;
        if self.options.model == Model::Rma {
            copies.incoming = incoming(&sc, reduced, self.space);
        }
        let mut vocabulary = Vocabulary {
            atoms: copies.lift_atoms(atoms),
            control: copies.generic_count,
            ..Vocabulary::default()
        };
        if self.stage.neighbours {
            vocabulary.atoms.extend(copies.neighbours(atoms));
        }
        match taken {
            Taken::Nothing => {}
            Taken::Cubes => {
                vocabulary.cubes = copies.lift_cubes(&self.sc_proof.cubes(self.promote, atoms));
                if self.options.drop_buffered {
                    vocabulary.cubes = copies.drop_buffered(vocabulary.cubes);
                }
            }
            Taken::Facts => {
                let searched = Searched {
                    reduced: Some(reduced),
                    space: self.space,
                    promote: self.promote,
                };
                let how = (self.stage.mixed, self.stage.split);
                vocabulary.facts = self.sc_proof.extrapolated(reduced, searched, atoms, how);
            }
        }
        vocabulary
    }

    pub(super) fn prover(&self, stats: &Arc<SolverStats>, shortcuts: bool) -> Prover {
        Prover::new(palisade_logic::Options {
            limits: limits(self.options),
            stats: Arc::clone(stats),
            memo: shortcuts,
            differences: shortcuts,
        })
    }

    pub(super) fn search(
        &self,
        strategy: Strategy,
        vocabulary: Vocabulary,
        prover: Prover,
    ) -> FixedSearch<'a> {
        let sets = self.space.sets.keys().map(|slot| Var(*slot as u32));
        let mut predicates = Predicates::with_sets(sets.collect());
        for atom in vocabulary.atoms {
            if predicates.admits(&atom) {
                predicates.add(atom);
            }
        }
        let cubes = Listed::new(&predicates, &vocabulary.cubes);
        FixedSearch {
            space: self.space,
            options: self.options,
            strategy,
            predicates,
            cubes,
            facts: vocabulary.facts,
            prover,
            stats: Stats::default(),
        }
    }
}

/// What a search shows.
pub(super) enum Found {
    Proved(Vec<Node>),
    Run(Run),
}

pub(super) struct FixedSearch<'a> {
    space: &'a Space<'a>,
    options: &'a Options,
    strategy: Strategy,
    predicates: Predicates,
    cubes: Listed,
    facts: Extrapolated,
    prover: Prover,
    stats: Stats,
}

impl<'a> FixedSearch<'a> {
    /// One search, with all predicates split or none, and its simulation.
    pub(super) fn search_as(&mut self, split: bool) -> Result<Found, Gap> {
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
            None => Err(Weak::Given(String::new()).into()),
        }
    }

    fn search(&mut self, commands: &mut Commands<'a>) -> Result<Outcome, Gap> {
        let started = Instant::now();
        let options = search::Options {
            merge: self.options.merge,
            cover_by_several: self.options.cover_by_several,
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
            Strategy::Program if self.options.model != Model::Sc => {
                Box::new(Tables::extrapolated(prover, self.facts.clone()))
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
        Ok(outcome?)
    }

    /// The run of an abstract counterexample, if it is one.
    fn simulate(&mut self, commands: &Commands<'_>, path: &Path) -> Result<Option<Run>, Gap> {
        match simulate(commands, path, &mut self.prover) {
            Ok(Simulated::Feasible(run)) => Ok(Some(run)),
            Ok(Simulated::Infeasible) => Ok(None),
            Ok(Simulated::Unknown(reason)) => Err(reason.into()),
            Err(overflow) => Err(overflow.into()),
        }
    }
}
