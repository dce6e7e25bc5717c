//! The properties of an exported Boolean program: `never` and `finally` become
//! `never` over labels, predicates and explicit variables. What a property says of
//! the data depends on where the threads are, so there is one `never` for each way
//! to be at the locations that it mentions.

use std::collections::BTreeMap;

use palisade_logic::Formula;
use palisade_program::{Count, LocId, PropAtom, Property, PropertyKind, TemplateId};

use crate::ast::{BooleanProgram, Expr, ExprKind, Value};
use crate::export::{ExportError, Exporter, STATES, label, property};
use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::Unsupported;

impl Exporter<'_, '_> {
    pub(super) fn properties(&mut self, program: &mut BooleanProgram) -> Result<(), ExportError> {
        let space = self.space;
        let bad = BadStates::new(space);
        for (index, item) in space.program.properties.iter().enumerate() {
            self.refuse_copies(item)?;
            let places = self.mentioned(index);
            let note = space.program.show_property(item);
            let reads = &self.property_reads(index);
            for control in self.controls(reads, item.span)? {
                for (pcs, located) in self.located(&places) {
                    let mut control = control.clone();
                    control.pcs = pcs;
                    let facts = Expr::all([located, self.explicit_facts(reads, &control)]);
                    for (number, formula) in bad.at(&control)? {
                        if number == index {
                            let cond = self.never(&formula, facts.clone())?;
                            program.never.push(property(cond, Some(note.clone())));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// What a Boolean program with templates cannot say: something of their copies.
    fn refuse_copies(&self, item: &Property) -> Result<(), Unsupported> {
        let program = self.space.program;
        let many = |t: TemplateId| program.template(t).count != Count::Once;
        let named = item.threads.iter().any(|t| many(t.template));
        let all_ended = item.kind == PropertyKind::Finally && program.template_ids().any(many);
        if self.scopes.is_some() && (named || all_ended) {
            return Err(Unsupported {
                what: "a property over the copies of a template".to_owned(),
                span: item.span,
            });
        }
        Ok(())
    }

    fn never(&mut self, formula: &Formula, facts: Expr) -> Result<Expr, ExportError> {
        let base = self.literals(formula);
        let cone = self.predicates.cone(formula.free_vars(), 1);
        let refused = self.contradictions(STATES, &base, (&cone, &[]), &[])?;
        Ok(Expr::all([facts, self.cover(&refused).negated()]))
    }

    /// Positions of the explicit variables that a property may read.
    fn property_reads(&self, index: usize) -> Vec<usize> {
        let space = self.space;
        let item = &space.program.properties[index];
        let mut slots = Vec::new();
        item.cond.for_each_atom(&mut |atom| match atom {
            PropAtom::Global(var, element) => {
                let cell = space.program.cell(*var, element.unwrap_or(0));
                slots.push(space.cell_slot(cell));
            }
            PropAtom::Local(var, local) => {
                let template = item.threads[var.index()].template;
                let threads = space.threads.iter().enumerate();
                let of_template = threads.filter(|(_, i)| i.template == template);
                slots.extend(of_template.map(|(thread, _)| space.local_slot(thread, *local)));
            }
            PropAtom::SelfOf(_) | PropAtom::At(..) => {}
        });
        let explicit = |slot: usize| space.slots[slot].explicit.as_ref().map(|e| e.position);
        let mut positions: Vec<usize> = slots.into_iter().filter_map(explicit).collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// The locations of each thread on which a property may depend.
    fn mentioned(&self, index: usize) -> BTreeMap<usize, Vec<LocId>> {
        let space = self.space;
        let item = &space.program.properties[index];
        let mut places: BTreeMap<usize, Vec<LocId>> = BTreeMap::new();
        let mut add = |thread: usize, loc: LocId| {
            let locs = places.entry(thread).or_default();
            if !locs.contains(&loc) {
                locs.push(loc);
            }
        };
        item.cond.for_each_atom(&mut |atom| {
            if let PropAtom::At(var, loc) = atom {
                let template = item.threads[var.index()].template;
                for (thread, instance) in space.threads.iter().enumerate() {
                    if instance.template == template {
                        add(thread, *loc);
                    }
                }
            }
        });
        if item.kind == PropertyKind::Finally {
            for (thread, instance) in space.threads.iter().enumerate() {
                add(thread, space.program.template(instance.template).cfg.exit);
            }
        }
        places
    }

    /// All ways to be at the mentioned locations or elsewhere, with the condition
    /// that says so.
    fn located(&self, places: &BTreeMap<usize, Vec<LocId>>) -> Vec<(Box<[LocId]>, Expr)> {
        let entries = self.space.threads.iter().map(|t| {
            let cfg = &self.space.program.template(t.template).cfg;
            cfg.entry
        });
        let mut all: Vec<(Box<[LocId]>, Expr)> =
            vec![(entries.collect(), Expr::value(Value::True))];
        for (&thread, locs) in places {
            let name = self.thread_name(thread);
            let at = |loc: LocId| {
                let place = label(self.location(thread, loc));
                Expr::new(ExprKind::Location(name.clone(), place))
            };
            let template = self.space.threads[thread].template;
            let cfg = &self.space.program.template(template).cfg;
            let mut choices: Vec<(LocId, Expr)> = locs.iter().map(|l| (*l, at(*l))).collect();
            if let Some(other) = cfg.locs().find(|l| !locs.contains(l)) {
                let nowhere = Expr::all(locs.iter().map(|l| at(*l).negated()));
                choices.push((other, nowhere));
            }
            all = all
                .iter()
                .flat_map(|(pcs, cond)| {
                    let with = |(loc, here): &(LocId, Expr)| {
                        let mut pcs = pcs.clone();
                        pcs[thread] = *loc;
                        (pcs, Expr::all([cond.clone(), here.clone()]))
                    };
                    choices.iter().map(with).collect::<Vec<_>>()
                })
                .collect();
        }
        all
    }
}
