//! Tokens: how a thread is told to start, and when it need not be told.

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::liveness::Liveness;
use palisade_program::{
    BinOp, Count, Domain, Expr, GlobalId, LocId, LocalAtom, LocalExpr, LocalId, Step, TemplateId,
};

use super::edit::{edit, is, is_chain, loads, steps, stores};
use super::{At, Pass};

impl Pass<'_> {
    /// Tokens of threads in any number become flags that stay up.
    pub(super) fn keep_tokens_up(&mut self) {
        let mut edits = Vec::new();
        for thread in self.threads() {
            if self.program.templates[thread].count == Count::Any
                && let Some(at) = self.start_of(thread)
                && self.program.templates[at.0].count == Count::Once
                && self.goes_round(thread, at)
            {
                edits.push((thread, at));
            }
        }
        for (thread, at) in edits {
            let started = self.books[thread].started;
            let creation = &mut self.program.templates[at.0].cfg.edges[at.1].step;
            without_check(creation, started);
            let template = &mut self.program.templates[thread];
            edit(&mut template.cfg, &mut |step| {
                if stores(step, started) {
                    *step = Step::Skip;
                }
            });
        }
    }

    /// Whether the creator can come back to the creation at `at` in the same state.
    fn goes_round(&self, thread: usize, at: At) -> bool {
        let edge = self.edge(at);
        if !self.is_creation(at.0, &edge.step) {
            return false;
        }
        let mut written = BTreeSet::new();
        let mut chosen: BTreeMap<LocalId, Vec<i64>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let round = self.way_back(
            at.0,
            edge.to,
            edge.from,
            &mut seen,
            &mut chosen,
            &mut written,
        );
        let live = Liveness::of(self.program, TemplateId::from(at.0));
        if !round || written.iter().any(|l| live.is_live(edge.to, *l)) {
            return false;
        }
        // What is passed on must be the same again.
        self.books[thread].argument.is_none_or(|argument| {
            steps(&edge.step).iter().all(|step| match step {
                Step::Store { dst, value } if dst.var == argument => {
                    let mut same = true;
                    value.for_each_atom(&mut |atom| match atom {
                        LocalAtom::Local(l) => same &= !written.contains(l),
                        LocalAtom::SelfId => {}
                    });
                    same
                }
                _ => true,
            })
        })
    }

    /// A path of repeatable steps from `loc` to `goal`. Choices on it can be made so
    /// that it is taken: `chosen` has the values that still pass all conditions.
    fn way_back(
        &self,
        t: usize,
        loc: LocId,
        goal: LocId,
        seen: &mut BTreeSet<LocId>,
        chosen: &mut BTreeMap<LocalId, Vec<i64>>,
        written: &mut BTreeSet<LocalId>,
    ) -> bool {
        if loc == goal {
            return true;
        }
        if !seen.insert(loc) {
            return false;
        }
        for (_, edge) in self.cfg(t).outgoing(loc) {
            let mut choices = chosen.clone();
            let mut writes = written.clone();
            match &edge.step {
                Step::Havoc { dst, domain } => {
                    writes.insert(*dst);
                    let fits = |v: &i64| domain.is_none_or(|d: Domain| d.contains(*v));
                    choices.insert(*dst, [0, 1, -1, 2].into_iter().filter(fits).collect());
                }
                Step::Assume(e) if pass(e, &mut choices) => {}
                step if Self::is_idempotent(step) || self.is_creation(t, step) => {
                    for local in steps(step).iter().filter_map(|s| s.written_local()) {
                        writes.insert(local);
                        choices.remove(&local);
                    }
                }
                _ => continue,
            }
            if self.way_back(t, edge.to, goal, seen, &mut choices, &mut writes) {
                *chosen = choices;
                *written = writes;
                return true;
            }
        }
        false
    }

    /// Whether a step touches nothing but locals, which it gives constants.
    fn is_idempotent(step: &Step) -> bool {
        match step {
            Step::Skip | Step::Fence(_) => true,
            Step::Assign { value, .. } => matches!(value, Expr::Const(_)),
            _ => false,
        }
    }

    /// Whether a step passes a token to a new thread: it waits until the last token was
    /// taken, and does quiet things besides.
    fn is_creation(&self, t: usize, step: &Step) -> bool {
        let Step::Atomic(atomic) = step else {
            return false;
        };
        let flag = |var: GlobalId| {
            self.threads().any(|k| {
                let any = self.program.templates[k].count == Count::Any;
                any && self.books[k].started == var
            })
        };
        let argument = |var: GlobalId| self.threads().any(|k| self.books[k].argument == Some(var));
        is_chain(&atomic.body)
            && atomic.body.edges.iter().all(|e| match &e.step {
                Step::Load { src, .. } => flag(src.var),
                Step::Assume(e) => is_check(e),
                Step::Store { dst, .. } if argument(dst.var) || flag(dst.var) => true,
                step => self.is_quiet(t, step) && !matches!(step, Step::Store { .. }),
            })
    }

    /// Threads that `main` starts before anything else run from the start.
    pub(super) fn start_at_once(&mut self) {
        for thread in self.threads() {
            let Some(at) = self.start_of(thread) else {
                continue;
            };
            if at.0 == 0 && self.comes_first(at.1) && self.is_awaited_only(thread) {
                let started = self.books[thread].started;
                let begin = self.program.templates[thread].cfg.entry;
                for edge in &mut self.program.templates[thread].cfg.edges {
                    if edge.from == begin && steps(&edge.step).iter().any(|s| loads(s, started)) {
                        edge.step = Step::Skip;
                    }
                }
                self.drop_stores(started);
            }
        }
    }

    /// Whether `main` gets to the edge by quiet steps without choice.
    fn comes_first(&self, edge: usize) -> bool {
        let cfg = self.cfg(0);
        let mut at = cfg.entry;
        for _ in 0..=cfg.loc_count() {
            let mut out = cfg.outgoing(at);
            let (Some((id, next)), None) = (out.next(), out.next()) else {
                return false;
            };
            if !self.is_quiet(0, &next.step) {
                return false;
            }
            if id.index() == edge {
                return true;
            }
            at = next.to;
        }
        false
    }

    /// Whether nothing but the thread's first step reads its flag, and that step does
    /// nothing else.
    fn is_awaited_only(&self, thread: usize) -> bool {
        let started = self.books[thread].started;
        let readers = self.edges_with(&|s| loads(s, started));
        let [at] = readers.as_slice() else {
            return false;
        };
        let edge = self.edge(*at);
        at.0 == thread
            && edge.from == self.cfg(thread).entry
            && steps(&edge.step).iter().all(|step| match step {
                Step::Load { src, .. } => src.var == started,
                Step::Assume(_) | Step::Skip => true,
                _ => false,
            })
    }
}

/// Whether `e` is the check that the last token was taken.
pub(super) fn is_check(e: &LocalExpr) -> bool {
    match e {
        Expr::Binary(BinOp::Eq, a, b) => {
            matches!(**a, Expr::Atom(LocalAtom::Local(_))) && matches!(**b, Expr::Const(0))
        }
        _ => false,
    }
}

/// Keeps of each chosen local the values that satisfy `e`; false if `e` speaks of
/// other locals or no value is left.
pub(super) fn pass(e: &LocalExpr, chosen: &mut BTreeMap<LocalId, Vec<i64>>) -> bool {
    let mut locals = BTreeSet::new();
    let mut closed = true;
    e.for_each_atom(&mut |atom| match atom {
        LocalAtom::Local(l) => drop(locals.insert(*l)),
        LocalAtom::SelfId => closed = false,
    });
    let mut locals = locals.into_iter();
    let (Some(local), None) = (locals.next(), locals.next()) else {
        return false;
    };
    let Some(values) = chosen.get_mut(&local).filter(|_| closed) else {
        return false;
    };
    values.retain(|v| e.eval(&|_| *v).is_ok_and(|r| r != 0));
    !values.is_empty()
}

/// Drops the wait for the last token.
pub(super) fn without_check(creation: &mut Step, started: GlobalId) {
    let Step::Atomic(atomic) = creation else {
        return;
    };
    let mut checked = BTreeSet::new();
    edit(&mut atomic.body, &mut |step| match step {
        Step::Load { dst, src } if src.var == started => {
            checked.insert(*dst);
            *step = Step::Skip;
        }
        Step::Assume(e) if checked.iter().any(|l| *e == is(*l, 0)) => *step = Step::Skip,
        _ => {}
    });
}
