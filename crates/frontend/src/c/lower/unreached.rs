//! Assertions that *cannot be reached*, as the front end sees it: behind a condition that is never true, since
//! nothing stores to the variables that it names, or behind a loop that cannot end. They are
//! left out of the program, and it says where they stand ([`palisade_program::Program::left_out`]).
//!
//! One statement may be lowered often (calls, unrolled loops, several threads): an assertion counts as
//! reached if one copy of it can be. What a constant of the text switches off (`if (0)`) is not told.

use std::collections::BTreeSet;

use palisade_program::{AssertKind, Span, Step, Template};

use super::code::Code;
use super::walk;
use crate::c::ast::{ExprKind, Stmt};

/// The assertions of a program, by where their conditions stand.
#[derive(Default)]
pub(super) struct Asserts {
    met: BTreeSet<Span>,
    /// Those whose condition is true whatever happens: no step is left of them.
    trivial: BTreeSet<Span>,
}

impl Asserts {
    /// One is lowered.
    pub(super) fn meet(&mut self, span: Span, is_trivial: bool) {
        self.met.insert(span);
        if is_trivial {
            self.trivial.insert(span);
        }
    }

    /// Those that no path through a thread leads to.
    pub(super) fn unreached(&self, templates: &[Template]) -> Vec<Span> {
        let mut on_paths = BTreeSet::new();
        for template in templates {
            let cfg = &template.cfg;
            let mut seen = BTreeSet::from([cfg.entry]);
            let mut open = vec![cfg.entry];
            while let Some(loc) = open.pop() {
                for (_, edge) in cfg.outgoing(loc) {
                    asserts(&edge.step, edge.span, &mut on_paths);
                    if seen.insert(edge.to) {
                        open.push(edge.to);
                    }
                }
            }
        }
        let all = self.met.iter().copied();
        all.filter(|span| !on_paths.contains(span) && !self.trivial.contains(span))
            .collect()
    }
}

fn asserts(step: &Step, span: Span, found: &mut BTreeSet<Span>) {
    match step {
        Step::Assert { kind, .. } if *kind == AssertKind::User => {
            found.insert(span);
        }
        Step::Atomic(block) => {
            for edge in &block.body.edges {
                asserts(&edge.step, edge.span, found);
            }
        }
        Step::Assert { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
        Step::Havoc { .. } | Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => {}
        Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => {}
    }
}

impl Code<'_, '_> {
    /// Notes the assertions of a statement that control does not get to.
    pub(super) fn skip_asserts(&mut self, s: &Stmt) {
        if self.is_chosen {
            return;
        }
        let is_defined = self.cx.functions.contains_key("assert");
        let mut spans = Vec::new();
        walk::each_in_stmt(s, &mut |e| {
            if let ExprKind::Call(callee, args) = &e.kind
                && let (ExprKind::Ident(name), [cond]) = (&callee.kind, args.as_slice())
                && (name == "__palisade_assert" || name == "assert" && !is_defined)
            {
                spans.push(cond.span);
            }
        });
        for span in spans {
            self.cx.asserts.meet(span, false);
        }
    }
}
