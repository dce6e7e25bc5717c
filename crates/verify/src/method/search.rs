//! One *search* over abstract states: CEGAR on an encoding of the memory model, started
//! with what hints, earlier verifications and a proof under SC have to offer.

use std::rc::Rc;

use palisade_abstraction::space::Space;
use palisade_certify::{AccessLoc, Kind, disturbed};
use palisade_logic::Formula;
use palisade_program::Model;

use super::cegar::initial::{Initial, initial_atoms};
use super::cegar::{End, Engine, limits};
use super::extrapolate::{Searched, Setup};
use super::{Record, Session, promotes};
use crate::answer::{Answer, Gap, Proof};
use crate::portfolio::{Explicit, Search};
use crate::question::{Options, Promote, Strategy};
use crate::reduction::model::{Encoded, Reached};

/// A remark on proofs for which the lazy construction was needed.
const TOO_WEAK: &str =
    "the extrapolated Boolean program was too weak; the lazy construction was used";

/// What one search is about.
pub(super) struct Task<'t> {
    /// What is searched.
    pub(super) encoded: &'t Encoded<'t>,
    /// Accesses at which its threads are not interrupted.
    pub(super) interference_free: &'t [AccessLoc],
    /// Most rounds of refinement; 0: it ends where it would need predicates.
    pub(super) rounds: usize,
    /// Most abstract states.
    pub(super) states: usize,
}

impl Session<'_> {
    /// Tries the ways that the proof under SC suggests, one after another while they are
    /// too weak.
    pub(super) fn cegar(&self, search: &Search, record: &mut Record) -> Answer {
        // An extrapolated Boolean program has no predicate that says which list goes with which value, unless
        // the sources are explicit.
        let lists =
            self.options.promote != Promote::Never || self.options.strategy != Strategy::Program;
        let encoded = self.encoder.encode_with(&search.encoding, lists);
        let task = Task {
            encoded: &encoded,
            interference_free: &[],
            rounds: search.rounds,
            states: search.states,
        };
        let threads = self.instances.clone();
        let mut space = match search.explicit {
            Explicit::All => Space::open(encoded.program(), threads),
            explicit @ (Explicit::Finite | Explicit::Control) => {
                Space::new(encoded.program(), threads, promotes(explicit))
            }
        };
        space.monotone = encoded.listing_flags(&space);
        if search.explicit == Explicit::All {
            // There is no data that a proof under SC could say anything about.
            return self.search(&task, &space, Setup::new(self.options), record);
        }
        let searched = Searched {
            reduced: encoded.reduced(),
            space: &space,
            promote: promotes(search.explicit),
        };
        let mut answer = crate::portfolio::nothing().into();
        for stage in 0.. {
            let setup = match self.sc_proof.setup(searched, stage) {
                Ok(Some(setup)) => setup,
                Ok(None) => break,
                Err(known) => return known,
            };
            let helps_out = self.options.strategy == Strategy::Program
                && setup.options.strategy == Strategy::Lazy;
            answer = self.search(&task, &space, setup, record);
            record.add_earlier(&self.sc_proof.take_cost());
            if stage > 0 && helps_out {
                record.stats.lazy_was_needed = true;
                record.notes.push(TOO_WEAK.to_owned());
            }
            if !matches!(answer, Answer::Gap(Gap::Weak(_))) {
                break;
            }
        }
        answer
    }

    /// One run of the CEGAR loop.
    pub(super) fn search(
        &self,
        task: &Task<'_>,
        space: &Space<'_>,
        setup: Setup<'_>,
        record: &mut Record,
    ) -> Answer {
        let (mut prover, posts) = self.knowledge.take_prover(limits(self.options));
        let initial = Initial {
            space,
            options: self.options,
        };
        let mut atoms = initial_atoms(&initial, &mut record.notes);
        atoms.extend(setup.atoms);
        atoms.extend(self.knowledge.atoms(space));
        let options: Options = setup.options;
        let rounds = task.rounds.min(options.max_rounds);
        let mut engine = Engine::new(space, &options, atoms);
        engine.advisor = setup.advisor;
        engine.posts = Rc::clone(&posts);
        engine.cubes = setup.cubes;
        engine.facts = setup.facts;
        engine.falsifier = self.falsifier.clone().filter(|_| task.rounds > 0);
        let end = engine.run(&mut prover, rounds, task.states);
        self.knowledge.keep_prover(prover, posts);
        let Engine {
            predicates,
            stats,
            notes,
            stuck,
            ..
        } = engine;
        if !stuck.is_empty() {
            record.stuck = stuck;
        }
        record.add(stats);
        let deadlock = self.falsifier.as_ref().and_then(|f| f.deadlock());
        self.saw_deadlock(deadlock, record);
        let shown = predicates.atoms().iter();
        let shown = shown.map(|a| Formula::from(a.clone()).display(space).to_string());
        record.predicates = shown.collect();
        if matches!(
            end,
            End::Proved(_) | End::Refuted(_) | End::Gap(Gap::FewStates(_))
        ) {
            self.knowledge.learn(space, predicates.atoms());
        }
        let copies = self.options.copies();
        match &end {
            End::Refuted(run) => self.suspect(task.encoded, run),
            End::Proved(_) | End::Falsified(_) | End::Gap(_) => {
                self.unsuspect(task.encoded.encoding());
            }
        }
        match end {
            End::Gap(gap) => {
                record.notes = notes;
                gap.into()
            }
            End::Falsified(run) => Answer::Run(run),
            End::Refuted(run) => match task.encoded.run_back(&self.instances, copies, &run) {
                Ok(run) => Answer::Run(run),
                Err(gap) => gap.into(),
            },
            End::Proved(nodes) => {
                let reached = Reached {
                    space,
                    nodes: &nodes,
                    predicates: &predicates,
                    argument: if self.options.compress {
                        Kind::Stops
                    } else {
                        Kind::Inductive
                    },
                    threads: copies,
                };
                let mut certificate = match task.encoded.proof_back(&reached) {
                    Ok(certificate) => certificate,
                    Err(gap) => return gap.into(),
                };
                certificate.interference_free = task.interference_free.to_vec();
                let disturbed = disturbed(self.program, &certificate);
                if !disturbed.is_empty() {
                    return Gap::Interference(disturbed).into();
                }
                Answer::Proof(Proof::Certificate(Box::new(certificate)))
            }
        }
    }

    /// The memory model.
    pub(super) const fn model(&self) -> Model {
        self.options.model
    }
}
