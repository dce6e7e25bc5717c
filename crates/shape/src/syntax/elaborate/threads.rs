//! Threads of concurrent programs: the scheduling parts of every step.
//!
//! Place: part of elaboration, for TVM. The scheduled thread `tr` is runnable and at the
//! source of the edge; afterwards it is at the target, and, unless an atomic block goes on,
//! every ready thread may run next.

use super::actions::{Assigned, Extra};
use super::{Elaborator, Env};
use crate::formula::{Formula, Var};
use crate::kleene::Kleene;
use crate::model::{Edge, Model};
use crate::syntax::Span;
use crate::syntax::ast::{ActionBody, ProgramAst};
use crate::vocabulary::PredId;

impl Elaborator<'_> {
    pub(super) fn concurrent(mut self, ast: &ProgramAst) -> Option<Model> {
        if ast.threads.is_empty() {
            self.errors.error(
                Span::default(),
                "the program has no threads",
                "the third section of a tvm file is %thread name { ... }",
            );
            return None;
        }
        let entries: Vec<(String, String)> = ast
            .threads
            .iter()
            .filter_map(|t| Some((t.name.clone(), t.edges.first()?.source.clone())))
            .collect();
        let tr = self.var("tr");
        let mut actions = Vec::new();
        let total = ast.threads.iter().map(|t| t.edges.len()).sum::<usize>() + ast.globals.len();
        for e in ast.threads.iter().flat_map(|t| &t.edges) {
            let entries = &entries;
            let made = self.edge_action(ast, e, |this, body| {
                let find = |n: &str| this.voc.find(n).expect("built in");
                let at = |l: &str| find(&format!("at[{l}]"));
                let (source, target) = (at(&e.source), at(&e.target));
                let runnable = find("runnable");
                let here = Formula::Atom(source, vec![tr]);
                let scheduled = Formula::Atom(runnable, vec![tr]);
                Extra {
                    focus: vec![Formula::and([scheduled.clone(), here.clone()])],
                    precondition: vec![scheduled, here],
                    schedule: Some(Schedule {
                        source,
                        target,
                        moves: !body.explicit_at,
                        goes_on: e.atomic,
                        tr,
                        entries: entries.clone(),
                        span: e.span,
                    }),
                    ..Extra::default()
                }
            });
            actions.extend(made);
        }
        for (name, args, span) in &ast.globals {
            if let Some((found, env)) = self.find_action(&ast.actions, name, args, *span) {
                let extra = Extra {
                    name: name.clone(),
                    ..Extra::default()
                };
                actions.extend(self.action(&found.body, &env, extra, *span));
            }
        }
        if actions.len() != total {
            return None;
        }
        let edges = (0..actions.len())
            .map(|action| Edge {
                source: 0,
                target: 0,
                action,
            })
            .collect();
        let mut model = self.finish(vec!["states".to_owned()], edges, actions, true, vec![])?;
        model.threads = entries;
        Some(model)
    }
}

/// The scheduling part of a thread's step.
pub(super) struct Schedule {
    pub(super) source: PredId,
    pub(super) target: PredId,
    pub(super) moves: bool,
    pub(super) goes_on: bool,
    pub(super) tr: Var,
    pub(super) entries: Vec<(String, String)>,
    pub(super) span: Span,
}

impl Schedule {
    pub(super) fn add(
        &self,
        e: &mut Elaborator<'_>,
        body: &ActionBody,
        env: &Env,
        list: &mut Vec<Assigned>,
    ) -> Option<()> {
        if body.wait.is_some() {
            e.errors.error(
                self.span,
                "%wait is not supported",
                "TVLA 3 ignores it; use %stop and %start",
            );
            return None;
        }
        let v = e.var("__thread");
        let same = Formula::Eq(v, self.tr);
        let mut at: Vec<(PredId, Formula)> = Vec::new();
        if self.moves && self.source != self.target {
            at.push((
                self.source,
                Formula::and([Formula::Atom(self.source, vec![v]), same.clone().not()]),
            ));
            at.push((
                self.target,
                Formula::or([Formula::Atom(self.target, vec![v]), same]),
            ));
        }
        if let Some(thread) = &body.new_thread {
            self.new_thread(e, thread, v, &mut at)?;
        }
        for (p, f) in at {
            if !list.iter().any(|(q, ..)| *q == p) {
                list.push((p, vec![v], f, self.span));
            }
        }
        self.run_next(e, body, env, v, list)
    }

    pub(super) fn new_thread(
        &self,
        e: &mut Elaborator<'_>,
        thread: &str,
        v: Var,
        at: &mut Vec<(PredId, Formula)>,
    ) -> Option<()> {
        let Some((_, label)) = self.entries.iter().find(|(n, _)| n == thread) else {
            e.errors.error(
                self.span,
                format!("the thread `{thread}` is not defined"),
                "define it with %thread",
            );
            return None;
        };
        let find = |n: &str| e.voc.find(n).expect("built in");
        let fresh = Formula::Atom(find("isNew"), vec![v]);
        for p in [find("isthread"), find(&format!("at[{label}]"))] {
            match at.iter_mut().find(|(q, _)| *q == p) {
                Some((_, f)) => *f = Formula::or([f.clone(), fresh.clone()]),
                None => at.push((p, Formula::or([Formula::Atom(p, vec![v]), fresh.clone()]))),
            }
        }
        Some(())
    }

    /// Who may run next: the same thread inside an atomic block, else every ready thread.
    pub(super) fn run_next(
        &self,
        e: &mut Elaborator<'_>,
        body: &ActionBody,
        env: &Env,
        v: Var,
        list: &mut Vec<Assigned>,
    ) -> Option<()> {
        let find = |e: &Elaborator<'_>, n: &str| e.voc.find(n).expect("built in");
        let (ready, runnable) = (find(e, "ready"), find(e, "runnable"));
        let given = list.iter().find(|(q, ..)| *q == ready).cloned();
        let mut fresh = 1 << 29;
        let before = Formula::Atom(ready, vec![v]);
        let mut value = match &given {
            Some((_, args, f, _)) => f.substitute(&[(args[0], v)], &mut fresh),
            None => before.clone(),
        };
        // Which threads may run next: as in TVLA, or those that are ready then.
        let mut next = if e.delayed { before } else { value.clone() };
        let mut changed = given.is_some();
        for (f, starts) in [(&body.start, true), (&body.stop, false)] {
            let Some(f) = f else { continue };
            let u = e.unary(f, env, &[self.tr], "%start or %stop", self.span)?;
            let f = u.formula.substitute(&[(u.var, v)], &mut fresh);
            for ready in [&mut value, &mut next] {
                *ready = if starts {
                    Formula::or([ready.clone(), f.clone()])
                } else {
                    Formula::and([ready.clone(), f.clone().not()])
                };
            }
            changed = true;
        }
        if changed {
            list.retain(|(q, ..)| *q != ready);
            list.push((ready, vec![v], value, self.span));
        }
        if !self.goes_on && !list.iter().any(|(q, ..)| *q == runnable) {
            let may_run = Formula::ite(next, Formula::Value(Kleene::Half), Formula::FALSE);
            list.push((runnable, vec![v], may_run, self.span));
        }
        Some(())
    }
}
