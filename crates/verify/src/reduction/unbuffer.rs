//! *Unbuffered stores*: what needs no buffer gets none ([`palisade_memory::unbuffered`] has the
//! rule), before anything else is done under TSO or PSO. Runs of the changed program are
//! runs of the original in which the store reaches memory at once; its certificate becomes
//! one of the original that names the unbuffered stores.
//!
//! Where the user asks for buffers of a certain kind, all stores get them.

use std::rc::Rc;

use palisade_certify::Certificate;
use palisade_machine::{Action, ActionKind, Witness, replay};
use palisade_memory::blocks::cells;
use palisade_memory::unbuffered::unbuffered_stores;
use palisade_program::cfg::Step;
use palisade_program::unbuffered::{StoreEdge, with_unbuffered};
use palisade_program::{EdgeId, Instance, Program};

use super::{Kind, Reduction};
use crate::answer::Gap;
use crate::question::{Buffers, Options};

/// A program with unbuffered stores.
pub struct Unbuffer {
    original: Rc<Program>,
    stores: Vec<StoreEdge>,
    program: Rc<Program>,
}

impl Unbuffer {
    /// `None` if every store needs its buffer.
    pub fn of(original: &Rc<Program>, options: &Options) -> Option<Self> {
        if !options.unbuffer || options.buffers != Buffers::Auto {
            return None;
        }
        let stores = unbuffered_stores(original, options.model);
        if stores.is_empty() {
            return None;
        }
        Some(Self {
            program: Rc::new(with_unbuffered(original, &stores)?),
            original: Rc::clone(original),
            stores,
        })
    }

    /// The actions of a run of the changed program as actions of the original.
    fn actions(&self, witness: &Witness) -> Option<Vec<Action>> {
        let start = witness.start.clone();
        let instances = self.original.instances(start.threads);
        let mut actions: Vec<Action> = Vec::with_capacity(witness.actions.len());
        for action in &witness.actions {
            let stored = self.stored(&instances, action);
            let Some(edge) = stored else {
                actions.push(action.clone());
                continue;
            };
            let thread = action.thread;
            let kind = ActionKind::Step { edge, choice: None };
            actions.push(Action { thread, kind });
            let updates = self.updates(*instances.get(thread)?, edge);
            let only = updates.len() == 1;
            let fits = updates.into_iter().find_map(|kind| {
                actions.push(Action { thread, kind });
                let possible = only || replay(&self.original, &start, &actions).is_ok();
                let update = actions.pop()?;
                possible.then_some(update)
            });
            actions.push(fits?);
        }
        Some(actions)
    }

    /// The edge of the unbuffered store that the action is.
    fn stored(&self, instances: &[Instance], action: &Action) -> Option<EdgeId> {
        let ActionKind::Block { edge, .. } = &action.kind else {
            return None;
        };
        let template = instances.get(action.thread)?.template;
        self.stores.contains(&(template, *edge)).then_some(*edge)
    }

    /// The steps of memory one of which follows the store.
    fn updates(&self, instance: Instance, edge: EdgeId) -> Vec<ActionKind> {
        let cfg = &self.original.template(instance.template).cfg;
        let Step::Store { dst, .. } = &cfg.edge(edge).step else {
            return Vec::new();
        };
        let named = cells(&self.original, dst).into_iter();
        named.map(|(_, cell)| ActionKind::Update { cell }).collect()
    }
}

impl Reduction for Unbuffer {
    fn describe(&self) -> String {
        match self.stores.len() {
            1 => "unbuffer 1 store".to_owned(),
            n => format!("unbuffer {n} stores"),
        }
    }

    fn kind(&self) -> Kind {
        Kind::Exact
    }

    fn program(&self) -> &Rc<Program> {
        &self.program
    }

    fn run_back(&self, run: Witness) -> Result<Witness, Gap> {
        let lost = || Gap::Spurious("its unbuffered stores could not be run in buffers".into());
        let actions = self.actions(&run).ok_or_else(lost)?;
        let start = run.start;
        Ok(Witness { start, actions })
    }

    fn unbuffered_stores(&self) -> usize {
        self.stores.len()
    }

    fn proof_back(&self, mut certificate: Certificate) -> Certificate {
        // What was reduced may have been reduced once more.
        certificate.unbuffered.extend(&self.stores);
        certificate.unbuffered.sort_unstable();
        certificate.unbuffered.dedup();
        certificate
    }
}
