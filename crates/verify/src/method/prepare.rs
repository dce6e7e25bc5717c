//! The first half of *two phases* [Dan et al., SAS 2013, section 6.1]: what a Boolean program is
//! made from, so that it can be written to a file and checked by another command. That is the
//! program whose buffers are variables, its predicates, lifted from those that were given for
//! SC, and the cubes of the Boolean program under SC, lifted in the same way; or its facts, for
//! Boolean program extrapolation ([Baumann et al., VMCAI 2018, section 4.3]).
//!
//! Which predicates are lifted is found out as in [`super::fixed`]: the first of the stages with
//! which a search proves the program; if none does, the plain one.

use std::collections::BTreeSet;
use std::sync::Arc;

use palisade_abstraction::extrapolate::{Extrapolated, Literals};
use palisade_abstraction::hints;
use palisade_abstraction::space::Space;
use palisade_logic::{Atom, SolverStats};
use palisade_program::{Instance, Program};

use super::extrapolate::{ScAnswer, ScProof};
use super::fixed::{FixedQuestion, Taken};
use super::promotes_fixed;
use crate::answer::Gap;
use crate::portfolio::{self, STAGES, Stage};
use crate::question::{Extrapolate, Options, Strategy};
use crate::reduction::model::Encoder;

/// Most states of a search that finds out which predicates are needed.
const MAX_STATES: usize = 100_000;

/// What a Boolean program is made from.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The program, to be run under SC.
    pub program: Program,
    /// Its predicates, over the variables of its threads.
    pub atoms: BTreeSet<Atom>,
    /// The lifted cubes, if they were asked for.
    pub cubes: BTreeSet<Literals>,
    /// The renamed Boolean program under SC, if [`Strategy::Program`] was asked for.
    pub facts: Extrapolated,
    /// Remarks.
    pub notes: Vec<String>,
}

/// Prepares the program with these threads under the model of `options`. Predicates are those
/// of the program, or, if it has none and `infer` is set, those of a proof under SC. With
/// [`Extrapolate::None`] they are not lifted.
pub fn prepare(
    program: &Program,
    instances: &[Instance],
    infer: bool,
    options: &Options,
) -> Result<Prepared, Gap> {
    let encoding = portfolio::first_encoding(program, options)?;
    let encoder = Encoder::new(program, options, instances);
    if let Some(gap) = encoder.refusal(&encoding) {
        return Err(gap);
    }
    let encoded = encoder.encode(&encoding);
    let promote = promotes_fixed(options);
    let sc = Space::new(program, instances.to_vec(), promote);
    let own = hints::atoms(&sc).map_err(|u| Gap::Unsupported(u.what, u.span))?;
    let copies = options.copies();
    let solver = Arc::new(SolverStats::default());
    let threads = instances.to_vec();
    let sc_proof = ScProof::new(program, threads, copies, options, Arc::clone(&solver));
    let mut notes = Vec::new();
    let mut given = own;
    if infer
        && given.is_empty()
        && let ScAnswer::Proof(found) = &*sc_proof.answer(promote)
    {
        given.clone_from(found);
        notes.push("the predicates are those of a proof under SC".to_owned());
    }
    let mut made = Prepared {
        program: encoded.program().clone(),
        atoms: given.clone(),
        cubes: BTreeSet::new(),
        facts: Extrapolated::default(),
        notes,
    };
    if encoded.reduced().is_none() {
        return Ok(made);
    }
    made.notes.insert(0, encoding.describe(program));
    let space = Space::new(encoded.program(), instances.to_vec(), promote);
    // A trial need not find out everything.
    let trial = Options {
        max_states: options.max_states.min(MAX_STATES),
        ..options.clone()
    };
    let question = |stage| FixedQuestion {
        options: &trial,
        sc_proof: &sc_proof,
        encoded: &encoded,
        space: &space,
        stage,
        promote,
    };
    let taken = match options.extrapolate {
        Extrapolate::Cubes => Taken::Cubes,
        Extrapolate::Auto | Extrapolate::Predicates | Extrapolate::None => {
            Taken::by(options.strategy)
        }
    };
    let mut strengthened = None;
    let mut atoms_at = |stage: Stage| -> BTreeSet<Atom> {
        let stronger = || sc_proof.strengthened(promote, &given);
        if stage.strengthened {
            return strengthened.get_or_insert_with(stronger).clone();
        }
        given.clone()
    };
    let mut chosen = STAGES[0];
    if options.extrapolate == Extrapolate::None {
        made.atoms = question(chosen).in_memory(&given);
        return Ok(made);
    }
    for stage in STAGES {
        let asked = question(stage);
        let vocabulary = asked.vocabulary(&atoms_at(stage), Taken::Nothing);
        let prover = asked.prover(&solver, true);
        let found = asked
            .search(Strategy::Lazy, vocabulary, prover)
            .search_as(stage.split);
        match found {
            Ok(_) => {
                chosen = stage;
                break;
            }
            Err(Gap::Time) => return Err(Gap::Time),
            Err(Gap::Interrupted) => return Err(Gap::Interrupted),
            Err(_) => {}
        }
    }
    let atoms = atoms_at(chosen);
    let vocabulary = question(chosen).vocabulary(&atoms, taken);
    made.notes.extend(chosen.notes(&sc, &given, &atoms));
    made.atoms = vocabulary.atoms;
    made.cubes = vocabulary.cubes;
    made.facts = vocabulary.facts;
    Ok(made)
}
