//! Labels and jumps.
//!
//! A jump makes the place where it stands and its target one location, so it
//! costs no step, unless the jump is labelled or would lead to itself. Labels own
//! their location: what is labelled is a place that properties can name.

use std::collections::HashMap;

use palisade_program::{LocId, Span, Step};

use super::code::Code;
use super::walk::{for_each_child, has_label};
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, Name, Stmt, StmtKind};

/// A label of a frame.
pub(super) struct LabelInfo {
    span: Span,
    /// The atomic block it stands in (its start), 0 outside.
    region: u32,
    /// Its location, once a jump or the label itself was met.
    loc: Option<LocId>,
    /// The declarations in scope at the label, once it was met.
    declared: Option<usize>,
    /// Jumps that were met before the label, with the declarations in scope there.
    jumps: Vec<(usize, Span)>,
}

impl Code<'_, '_> {
    /// All labels of a frame's body, with the atomic blocks they stand in.
    pub(super) fn collect_labels(&mut self, body: &[Stmt]) -> HashMap<String, LabelInfo> {
        let mut labels = HashMap::new();
        for stmt in body {
            self.collect_from(stmt, 0, &mut labels);
        }
        labels
    }

    fn collect_from(&mut self, stmt: &Stmt, region: u32, labels: &mut HashMap<String, LabelInfo>) {
        if !self.active.is_empty() {
            // Inlining takes time for statements without steps, too.
            self.context.inlined_steps += 1;
        }
        for label in &stmt.labels {
            if labels.contains_key(&label.text) {
                self.report(
                    Diagnostic::error(
                        label.span,
                        format!("label `{}` is declared twice", label.text),
                    )
                    .label("declared again here")
                    .help("rename one of the two"),
                );
                continue;
            }
            let info = LabelInfo {
                span: label.span,
                region,
                loc: None,
                declared: None,
                jumps: Vec::new(),
            };
            labels.insert(label.text.clone(), info);
        }
        let region = match &stmt.kind {
            // The first statement of a file never is an atomic block: 0 is free.
            StmtKind::Atomic(..) if region == 0 => stmt.span.start,
            _ => region,
        };
        for_each_child(&stmt.kind, &mut |child| {
            self.collect_from(child, region, labels);
        });
    }

    /// Places the labels of `stmt` here; gives their location.
    pub(super) fn define_labels(&mut self, stmt: &Stmt) -> Option<LocId> {
        for label in &stmt.labels {
            let declared = self.frame().declared;
            let Some(info) = self.frame().labels.get_mut(&label.text) else {
                continue;
            };
            if info.span != label.span {
                continue;
            }
            info.declared = Some(declared);
            let jumps = std::mem::take(&mut info.jumps);
            let loc = info.loc;
            for (from, span) in jumps {
                self.check_jump_scope(declared, from, span, &label.text);
            }
            // A jump may arrive here from where the assertion does not hold.
            self.forget_assertions();
            let here = self.here;
            match loc {
                Some(loc) => self.graph.unify(loc, here),
                None => {
                    if let Some(info) = self.frame().labels.get_mut(&label.text) {
                        info.loc = Some(here);
                    }
                }
            }
            self.label_seen = true;
            self.dead = false;
            if self.atomic_depth == 0 {
                self.graph.set_labelled(here);
                self.labels.push((label.clone(), here));
            } else {
                self.hidden_labels.insert(label.text.clone());
            }
        }
        (!stmt.labels.is_empty()).then_some(self.here)
    }

    pub(super) fn goto(&mut self, label: &Name, span: Span) {
        let region = self.frame().region;
        let declared = self.frame().declared;
        let Some(info) = self.frame().labels.get_mut(&label.text) else {
            let names: Vec<String> = self.context.candidates(|_| {
                let labels = self.frames.iter().flat_map(|f| f.labels.keys());
                labels.cloned().collect()
            });
            let known = names.iter().map(String::as_str);
            self.context.unknown(
                format!("unknown label `{}`", label.text),
                label,
                known,
                "put the label before a statement of this thread: `name: ...`",
            );
            return;
        };
        if info.region != region {
            self.leaves_atomic("goto", span);
            return;
        }
        let at_label = info.declared;
        if at_label.is_none() {
            info.jumps.push((declared, span));
        }
        let loc = info.loc;
        if let Some(at_label) = at_label {
            self.check_jump_scope(at_label, declared, span, &label.text);
        }
        let target = loc.unwrap_or_else(|| {
            let loc = self.graph.loc();
            if let Some(info) = self.frame().labels.get_mut(&label.text) {
                info.loc = Some(loc);
            }
            loc
        });
        // Another statement may jump here again later.
        if self.atomic_depth == 0 {
            self.graph.set_labelled(target);
        }
        self.jump_to(target, span);
    }

    /// A jump may not skip a declaration whose variable is in scope at the label:
    /// the declarations at the label must be among those at the jump.
    fn check_jump_scope(&mut self, at_label: usize, at_jump: usize, span: Span, label: &str) {
        let mut node = at_jump;
        while node > at_label {
            node = self.declarations[node];
        }
        if node != at_label {
            self.report(
                Diagnostic::error(span, format!("the jump to `{label}` skips a declaration"))
                    .label("jumps into the scope of a local")
                    .help("declare the local before the jump"),
            );
        }
    }

    pub(super) fn leaves_atomic(&mut self, what: &str, span: Span) {
        self.report(
            Diagnostic::error(
                span,
                format!("`{what}` crosses the border of an atomic block"),
            )
            .label("an atomic block is entered at its start and left at its end")
            .help("set a local inside the block and test it behind it"),
        );
    }

    /// Goes on at `target`; what follows here cannot be reached.
    pub(super) fn jump_to(&mut self, target: LocId, span: Span) {
        if self.graph.same(self.here, target) || self.graph.is_labelled(self.here) {
            self.graph.edge(self.here, Step::Skip, target, span);
        } else {
            self.graph.unify(self.here, target);
        }
        self.here = self.graph.loc();
        self.dead = true;
    }

    pub(super) fn warn_if_dead(&mut self, stmt: &Stmt) {
        let silent = matches!(stmt.kind, StmtKind::Empty | StmtKind::Local(_));
        if !self.dead || silent || has_label(stmt) {
            return;
        }
        self.dead = false;
        self.report(
            Diagnostic::warning(stmt.span, "unreachable statement")
                .label("no path leads here")
                .help("remove it, or label it and jump to it"),
        );
    }

    pub(super) fn return_from(&mut self, value: Option<&Expr>, span: Span) {
        let result = self.frame().result;
        if self.frame().function.is_empty() && value.is_some() {
            self.report(
                Diagnostic::error(span, "a thread returns no value")
                    .label("value in a thread's `return`")
                    .help("write `return;`, or store the value in a shared variable"),
            );
            return;
        }
        if let Some(value) = value {
            match result {
                Some(result) => self.assign_local(result, value, span),
                None => {
                    self.value(value);
                }
            }
        }
        if self.frame().base_depth != self.atomic_depth {
            self.leaves_atomic("return", span);
            return;
        }
        let exit = self.frame().exit;
        self.jump_to(exit, span);
    }
}
