//! *Strengthening* an imprecise proof under SC before it is lifted ([Dan et al., SAS 2013],
//! section 6.3): a predicate that is unknown in parts of the proof does no harm
//! there, but its buffered copies inherit the uncertainty, and under the weak model
//! that may be too much (the paper's Queue, `Tail < Head`).
//!
//! Where a step makes a predicate unknown, the atoms of its weakest precondition
//! are what would have decided it. Such atoms are tried one by one; one that leaves
//! fewer predicates unknown in the states of the proof is kept.

use std::collections::{BTreeMap, BTreeSet};

use palisade_abstraction::affected::effect;
use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::Commands;
use palisade_abstraction::lazy::Lazy;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_abstraction::transformer::Transformer;
use palisade_checker::search::{self, Node, Outcome, Search};
use palisade_logic::{Atom, Formula, Prover, Var};

use crate::method::cegar::limits;
use crate::question::Options;

/// Most candidates that are tried.
const MAX_CANDIDATES: usize = 24;
/// Most states of the proofs that are looked at.
const MAX_STATES: usize = 20_000;

/// How precise a proof is.
struct Precision {
    /// Pairs of a state and a predicate that is unknown in it.
    unknown: usize,
    /// Atoms that would have decided a predicate, with how often.
    candidates: BTreeMap<Atom, usize>,
}

/// `atoms` with others that make the proof under SC more precise; only `atoms` if
/// they prove nothing.
pub fn strengthen(
    space: &Space<'_>,
    options: &Options,
    prover: &mut Prover,
    atoms: &BTreeSet<Atom>,
) -> BTreeSet<Atom> {
    let mut kept = atoms.clone();
    let Some(first) = precision(space, options, prover, atoms, &kept) else {
        return kept;
    };
    let mut candidates: Vec<(Atom, usize)> = first.candidates.into_iter().collect();
    // Most frequent first; the map has put equal ones in order.
    candidates.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    candidates.truncate(MAX_CANDIDATES);
    let mut best = first.unknown;
    for (candidate, _) in candidates {
        let mut trial = kept.clone();
        trial.insert(candidate);
        if let Some(precision) = precision(space, options, prover, atoms, &trial)
            && precision.unknown < best
        {
            best = precision.unknown;
            kept = trial;
        }
    }
    kept
}

/// How precise the proof with `trial` is for the predicates `atoms`; none if it is
/// no proof.
fn precision(
    space: &Space<'_>,
    options: &Options,
    prover: &mut Prover,
    atoms: &BTreeSet<Atom>,
    trial: &BTreeSet<Atom>,
) -> Option<Precision> {
    let mut predicates = Predicates::default();
    for atom in atoms.iter().chain(trial) {
        predicates.add(atom.clone());
    }
    let mut commands = if options.compress {
        Commands::compressed(space)
    } else {
        Commands::new(space)
    };
    let bad = BadStates::new(space);
    let search_options = search::Options {
        merge: options.merge,
        cover_by_several: options.cover_by_several,
        max_states: Some(MAX_STATES),
        limits: limits(options),
    };
    for split in [false, true] {
        for p in 0..if split { predicates.len() } else { 0 } {
            predicates.mark_split(p);
        }
        let mut lazy = Lazy::new(prover);
        let mut search = Search::new(&mut commands, &bad, &predicates, &mut lazy, &search_options);
        match search.run() {
            Ok(Outcome::Safe(nodes)) => {
                return measure(space, &mut commands, &predicates, &mut lazy, atoms, &nodes);
            }
            Ok(Outcome::Error(_)) => {}
            Err(_) => return None,
        }
    }
    None
}

fn measure<'s>(
    space: &Space<'s>,
    commands: &mut Commands<'s>,
    predicates: &Predicates,
    lazy: &mut Lazy<'_>,
    atoms: &BTreeSet<Atom>,
    nodes: &[Node],
) -> Option<Precision> {
    let mut result = Precision {
        unknown: 0,
        candidates: BTreeMap::new(),
    };
    for node in nodes {
        let live = |v: &Var| space.is_live_at(v.0 as usize, &node.control.pcs);
        let unknown = |p: &usize| {
            let known = node.valuation.get(*p).is_some();
            !known && predicates.vars(*p).iter().all(live)
        };
        result.unknown += (0..atoms.len()).filter(unknown).count();
        for thread in 0..node.control.pcs.len() {
            let template = space.threads[thread].template;
            let cfg = &space.program.template(template).cfg;
            for (edge, _) in cfg.outgoing(node.control.pcs[thread]) {
                let branches = commands.execute(&node.control, thread, edge).ok()?;
                for &id in branches.iter() {
                    let branch = commands.branch(id).clone();
                    let posts = lazy.post(predicates, id, &branch, &node.valuation).ok()?;
                    for affected in effect(predicates, &branch, lazy.depth()).affected {
                        let lost = posts.iter().any(|post| post.get(affected.pred).is_none());
                        if affected.pred < atoms.len() && lost {
                            result.suggest(space, predicates, &affected.wp);
                        }
                    }
                }
            }
        }
    }
    Some(result)
}

impl Precision {
    /// Counts the atoms of a weakest precondition that are no predicates yet.
    fn suggest(&mut self, space: &Space<'_>, predicates: &Predicates, wp: &Formula) {
        for atom in wp.atoms() {
            let vars = Formula::from(atom.clone()).free_vars();
            let slot = |v: &Var| space.slots.get(v.0 as usize);
            let data = |v: &Var| slot(v).is_some_and(|s| s.explicit.is_none());
            if !vars.is_empty() && vars.iter().all(data) && predicates.find(&atom).is_none() {
                *self.candidates.entry(atom).or_default() += 1;
            }
        }
    }
}
