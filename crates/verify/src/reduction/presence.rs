//! *Flags* for deadlocks of any number of threads ([`palisade_program::presence`] has what they say). Which locations
//! have one is a guess that decides whether a proof is found, not whether it is right: a thread that is where it has taken a lock, and
//! not yet given it back, is one for which others wait.
//!
//! A variable is *taken* by an atomic block that may have to wait, reads it and writes it, and *given back* by the next step that
//! writes it. For each variable the locations in between have flags, one for all of them at which the same condition over shared
//! variables makes a step possible (none, for most: there a step is always possible).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use palisade_certify::{Certificate, Fingerprint};
use palisade_machine::Witness;
use palisade_program::cfg::{Cfg, Step};
use palisade_program::presence::{Presence, with_presence};
use palisade_program::{Count, GlobalId, LocId, Model, Program, PropExpr, TemplateId};

use super::deadlock::shared_condition;
use super::{Kind, Reduction};
use crate::answer::{Gap, Weak};

/// A program with flags.
pub struct Flags {
    original: Rc<Program>,
    presences: Vec<Presence>,
    program: Rc<Program>,
}

impl Flags {
    /// `None` if the number of all threads is known.
    pub fn of(original: &Rc<Program>, model: Model) -> Option<Self> {
        let mut presences = Vec::new();
        for id in original.template_ids() {
            if original.template(id).count == Count::Any {
                presences.extend(of_template(original, id));
            }
        }
        if presences.is_empty() {
            // Nobody waits for anybody of whom a flag could tell: one copy at a time is looked at all the same.
            let any = |id: &TemplateId| original.template(*id).count == Count::Any;
            presences.push(Presence {
                template: original.template_ids().find(any)?,
                locs: Vec::new(),
            });
        }
        Some(Self {
            program: Rc::new(with_presence(original, &presences, model != Model::Sc)?),
            original: Rc::clone(original),
            presences,
        })
    }
}

impl Reduction for Flags {
    fn describe(&self) -> String {
        "flags where threads have taken something".to_owned()
    }

    fn kind(&self) -> Kind {
        Kind::Over
    }

    fn program(&self) -> &Rc<Program> {
        &self.program
    }

    // What the flags say of a few copies need not be a deadlock, and the machine looks for those by itself.
    fn run_back(&self, _: Witness) -> Result<Witness, Gap> {
        Err(Weak::Deadlocks.into())
    }

    fn proof_back(&self, mut certificate: Certificate) -> Certificate {
        certificate.present.extend(self.presences.iter().cloned());
        let (model, threads) = (certificate.model, certificate.threads);
        certificate.fingerprint = Fingerprint::of(&self.original, model, threads);
        certificate
    }
}

fn of_template(program: &Program, id: TemplateId) -> Vec<Presence> {
    let cfg = &program.template(id).cfg;
    let mut all = Vec::new();
    for var in program.global_ids() {
        let held = held(program, id, var);
        let mut by_condition: BTreeMap<String, Vec<LocId>> = BTreeMap::new();
        for loc in held {
            if loc == cfg.exit {
                continue;
            }
            let Some(condition) = shared_condition(program, id, loc) else {
                continue;
            };
            let key = format!("{condition:?}");
            by_condition.entry(key).or_default().push(loc);
        }
        for locs in by_condition.into_values() {
            let presence = Presence { template: id, locs };
            if !all.contains(&presence) {
                all.push(presence);
            }
        }
    }
    all
}

/// Where a thread may be that has taken `var`.
fn held(program: &Program, id: TemplateId, var: GlobalId) -> BTreeSet<LocId> {
    let cfg = &program.template(id).cfg;
    let mut open: Vec<LocId> = Vec::new();
    for edge in &cfg.edges {
        if let Step::Atomic(block) = &edge.step
            && writes(&edge.step, var)
            && reads(&block.body, var)
            && shared_condition(program, id, edge.from) != Some(PropExpr::TRUE)
        {
            open.push(edge.to);
        }
    }
    let mut held = BTreeSet::new();
    while let Some(loc) = open.pop() {
        if !held.insert(loc) {
            continue;
        }
        for (_, edge) in cfg.outgoing(loc) {
            if !writes(&edge.step, var) {
                open.push(edge.to);
            }
        }
    }
    held
}

fn reads(body: &Cfg, var: GlobalId) -> bool {
    let mut loads = body.edges.iter().filter_map(|edge| edge.step.loaded());
    loads.any(|place| place.var == var)
}

fn writes(step: &Step, var: GlobalId) -> bool {
    if let Step::Atomic(block) = step {
        return block.body.edges.iter().any(|edge| writes(&edge.step, var));
    }
    step.stored().is_some_and(|place| place.var == var)
}
