//! *Direct stores* in a verification: what needs no buffer gets none
//! ([`palisade_memory::direct`] has the rule), before anything else is done under
//! TSO or PSO. What is found out about the changed program is said of the original: its
//! runs are runs of the original in which the store reaches memory at once, and its
//! certificate becomes one of the original that names the direct stores.
//!
//! Where the user asks for buffers of a certain kind, all stores get them.

use palisade_certify::confirm_direct;
use palisade_machine::{Action, ActionKind, Witness, replay};
use palisade_memory::blocks::cells;
use palisade_memory::direct::direct_stores;
use palisade_program::cfg::Step;
use palisade_program::direct::{StoreEdge, with_direct};
use palisade_program::{EdgeId, Instance, Program, Unknown, Verdict, Violation};

use crate::options::{Buffers, Options, Report};

/// A program with direct stores.
pub(crate) struct Direct<'p> {
    original: &'p Program,
    stores: Vec<StoreEdge>,
    /// The changed program.
    pub program: Program,
}

impl<'p> Direct<'p> {
    /// The program with its direct stores, if it has any.
    pub(crate) fn of(original: &'p Program, options: &Options) -> Option<Self> {
        if !options.direct || options.buffers != Buffers::Auto {
            return None;
        }
        let stores = direct_stores(original, options.model);
        if stores.is_empty() {
            return None;
        }
        let program = with_direct(original, &stores)?;
        Some(Self {
            original,
            stores,
            program,
        })
    }

    /// The report on the changed program as one on the original.
    pub(crate) fn of_original(&self, mut report: Report) -> Report {
        report.stats.direct_stores = self.stores.len();
        if let Some(certificate) = &mut report.certificate {
            certificate.direct.clone_from(&self.stores);
        }
        let refused = match (&report.verdict, &report.certificate) {
            (Verdict::Holds, Some(certificate)) if report.certified => {
                confirm_direct(self.original, certificate).err()
            }
            _ => None,
        };
        if let Some(refusal) = refused {
            report.certified = false;
            report.verdict = Verdict::Unknown(Unknown::CertificateRefused(refusal.to_string()));
        }
        if let Verdict::Violated(_) = report.verdict {
            let run = report.witness.as_ref().and_then(|w| self.run(w));
            report.verdict = if let Some((violation, witness)) = run {
                report.witness = Some(witness);
                Verdict::Violated(violation)
            } else {
                let why = "its direct stores could not be run in buffers".to_owned();
                Verdict::Unknown(Unknown::ReplayFailed(why))
            };
        }
        report
    }

    /// A run of the changed program as one of the original.
    fn run(&self, witness: &Witness) -> Option<(Box<Violation>, Witness)> {
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
                let possible = only || replay(self.original, &start, &actions).is_ok();
                let update = actions.pop()?;
                possible.then_some(update)
            });
            actions.push(fits?);
        }
        let replayed = replay(self.original, &start, &actions).ok()?;
        let actions = replayed.actions;
        Some((replayed.violation?, Witness { start, actions }))
    }

    /// The edge of the direct store that the action is.
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
        let named = cells(self.original, dst).into_iter();
        named.map(|(_, cell)| ActionKind::Update { cell }).collect()
    }
}
