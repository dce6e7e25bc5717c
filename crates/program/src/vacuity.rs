//! *Vacuity*: what a program says that no run gets to. A property holds of it for no reason:
//! labels that `never` names, assertions, and what stands behind an `assume` that is never true.
//!
//! Code is known by where it stands in the source: what several threads, or several calls of
//! a function, have of it counts as reached if one of them gets there.

use std::collections::BTreeMap;
use std::fmt;

use crate::cfg::{AssertKind, Cfg, Step};
use crate::ids::{LocId, TemplateId};
use crate::program::{LocalExpr, Program, Template};
use crate::property::PropAtom;
use crate::source::Span;

/// The label of critical sections.
const CRITICAL: &str = "critical";

/// What no run gets to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Vacuous {
    /// An assertion.
    Assertion,
    /// This label, of a critical section or named by a property.
    Label(String),
    /// What stands behind an `assume`.
    Assume,
}

impl fmt::Display for Vacuous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assertion => f.write_str("this assertion is never reached"),
            Self::Label(name) => write!(f, "`{name}` is never reached"),
            Self::Assume => f.write_str("no run passes this assumption"),
        }
    }
}

/// Whether things were reached, by where they stand.
type Reached = BTreeMap<(Span, Vacuous), bool>;

impl Program {
    /// Whether there is something that could be vacuous.
    pub fn may_be_vacuous(&self) -> bool {
        !self.vacuous(&|_, _| false).is_empty()
    }

    /// What no thread gets to, if threads get to these locations only.
    pub fn vacuous(&self, reached: &dyn Fn(TemplateId, LocId) -> bool) -> Vec<(Span, Vacuous)> {
        let mut all = Reached::new();
        let mut note = |span: Span, what: Vacuous, here: bool| {
            *all.entry((span, what)).or_default() |= here;
        };
        for id in self.template_ids() {
            let template = self.template(id);
            let here = |loc: LocId| reached(id, loc);
            for edge in &template.cfg.edges {
                asserts(&edge.step, &mut |span| {
                    note(
                        span.unwrap_or(edge.span),
                        Vacuous::Assertion,
                        here(edge.from),
                    );
                });
            }
            for label in &template.labels {
                if label.name == CRITICAL || self.names_location(id, label.loc) {
                    let what = Vacuous::Label(format!("{}@{}", template.name, label.name));
                    note(label.span, what, here(label.loc));
                }
            }
            for (span, from, to) in assumes(template) {
                // One that is not reached is not what stands in the way.
                if here(from) {
                    note(span, Vacuous::Assume, here(to));
                }
            }
        }
        for span in &self.left_out {
            all.entry((*span, Vacuous::Assertion)).or_default();
        }
        let unreached = all.into_iter().filter(|(_, reached)| !reached);
        unreached.map(|(what, _)| what).collect()
    }

    /// Whether a property names a location of a template.
    fn names_location(&self, template: TemplateId, loc: LocId) -> bool {
        self.properties.iter().any(|property| {
            property.cond.any_atom(|atom| {
                let PropAtom::At(thread, at) = atom else {
                    return false;
                };
                *at == loc && property.threads[thread.index()].template == template
            })
        })
    }
}

/// Calls `f` for each assertion of the user in a step, with its place if it is in a block.
fn asserts(step: &Step, f: &mut dyn FnMut(Option<Span>)) {
    match step {
        Step::Assert { kind, .. } if *kind == AssertKind::User => f(None),
        Step::Atomic(block) => {
            for edge in &block.body.edges {
                asserts(&edge.step, &mut |span| f(Some(span.unwrap_or(edge.span))));
            }
        }
        Step::Assert { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
        Step::Havoc { .. } | Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => {}
        Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => {}
    }
}

/// The assumptions of a thread that are no branch, with the locations before and behind: what
/// is the only step, or stands beside one to a place from which nothing leads on.
fn assumes(template: &Template) -> Vec<(Span, LocId, LocId)> {
    let cfg = &template.cfg;
    let mut all = Vec::new();
    for loc in cfg.locs() {
        let steps: Vec<_> = cfg.outgoing(loc).map(|(_, edge)| edge).collect();
        let is_dead = |to: LocId| to != cfg.exit && cfg.outgoing(to).next().is_none();
        let on: Vec<_> = steps.iter().filter(|edge| !is_dead(edge.to)).collect();
        let [only] = on.as_slice() else { continue };
        let is_only_way = entering(cfg, only.to) == 1;
        if matches!(&only.step, Step::Assume(cond) if *cond != LocalExpr::FALSE) && is_only_way {
            all.push((only.span, loc, only.to));
        }
    }
    all
}

fn entering(cfg: &Cfg, loc: LocId) -> usize {
    cfg.edges.iter().filter(|edge| edge.to == loc).count()
}
