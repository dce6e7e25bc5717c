//! Merging: threads with equal code, started in a row, become `t[n]`.

use palisade_program::liveness::Liveness;
use palisade_program::{
    Atomic, AtomicKind, BinOp, Cfg, CfgBuilder, Count, Domain, Expr, GlobalId, Init, LocId, Local,
    LocalAtom, LocalExpr, LocalId, Origin, Place, Role, Span, Step, TemplateId,
};

use super::edit::{edit, edit_step, is, loads, steps, stores};
use super::{At, Pass};

impl Pass<'_> {
    /// The code of a thread with its own flags under fixed names.
    fn code(&self, thread: usize) -> (Cfg, &[Local]) {
        let books = &self.books[thread];
        let template = &self.program.templates[thread];
        let mut cfg = template.cfg.clone();
        let own = [Some(books.started), Some(books.ended), books.result];
        edit(&mut cfg, &mut |step| {
            let (Step::Load { src: place, .. } | Step::Store { dst: place, .. }) = step else {
                return;
            };
            if let Some(k) = own.iter().position(|v| *v == Some(place.var)) {
                place.var = GlobalId(u32::MAX - k as u32);
            }
        });
        (cfg, &template.locals)
    }

    pub(super) fn merge(&mut self) {
        let mut first = 1;
        while first < self.program.templates.len() {
            if let Some(group) = self.group(first) {
                self.join(&group);
            }
            first += 1;
        }
    }

    /// The threads that become one template with `first`, in the order in which they
    /// are started, with the edges that start them.
    fn group(&self, first: usize) -> Option<Vec<(usize, At)>> {
        let simple = |k: usize| {
            let books = &self.books[k];
            self.program.templates[k].count == Count::Once
                && !books.argument.is_some_and(|v| self.is_loaded(v))
                && !books.result.is_some_and(|v| self.is_loaded(v))
        };
        let start = self.start_of(first)?;
        if !simple(first) || !self.is_quiet(start.0, &self.edge(start).step) {
            return None;
        }
        // A loop back to the creation would start the same thread twice.
        let code = self.code(first);
        let mut group = vec![(first, start)];
        for edge in self.quiet_row(start).into_iter().skip(1) {
            let at = (start.0, edge);
            let thread = self.threads().find(|k| self.start_of(*k) == Some(at));
            if let Some(thread) = thread.filter(|k| simple(*k) && self.code(*k) == code) {
                group.push((thread, at));
            }
        }
        let joinable = self.joins(&group).is_some();
        (group.len() > 1 && joinable).then_some(group)
    }

    /// Where the creator awaits the threads of a group: for each the edge of the load
    /// and that of the `assume`. Empty if it awaits none; `None` if it does not await
    /// all of them in a row.
    fn joins(&self, group: &[(usize, At)]) -> Option<Vec<(usize, usize)>> {
        let creator = group[0].1.0;
        let mut pairs = Vec::new();
        for (thread, _) in group {
            let ended = self.books[*thread].ended;
            match self.edges_with(&|s| loads(s, ended)).as_slice() {
                [] => {}
                [at] if at.0 == creator => pairs.push((at.1, self.wait(*at, ended)?)),
                _ => return None,
            }
        }
        if pairs.is_empty() {
            return Some(pairs);
        }
        if pairs.len() != group.len() {
            return None;
        }
        // In a row: from the first one on, all are met with nothing else between.
        let in_row = |first: &(usize, usize)| {
            let row = self.waits_from(creator, first.0);
            pairs.iter().all(|p| row.contains(p)).then_some(row)
        };
        let row = pairs.iter().find_map(in_row)?;
        pairs.sort_by_key(|p| row.iter().position(|q| q == p));
        Some(pairs)
    }

    /// The `assume` that follows the load of a flag at once, if nothing else reads it.
    fn wait(&self, at: At, ended: GlobalId) -> Option<usize> {
        let edge = self.edge(at);
        let Step::Load { dst, src } = &edge.step else {
            return None;
        };
        let next = self.only_way(at.0, edge.to)?;
        let after = self.edge((at.0, next));
        let waits = src.var == ended && after.step == Step::Assume(is(*dst, 1));
        let live = Liveness::of(self.program, TemplateId::from(at.0)).is_live(after.to, *dst);
        (waits && !live).then_some(next)
    }

    /// Loads of `ended` flags with their `assume`s that follow each other from the edge
    /// `first` on.
    fn waits_from(&self, t: usize, first: usize) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        let mut next = Some(first);
        while let Some(edge) = next {
            if found.iter().any(|p| p.0 == edge) {
                break;
            }
            let step = &self.edge((t, edge)).step;
            let last = match step {
                Step::Load { src, .. }
                    if self.threads().any(|k| self.books[k].ended == src.var) =>
                {
                    let Some(wait) = self.wait((t, edge), src.var) else {
                        break;
                    };
                    found.push((edge, wait));
                    wait
                }
                step if self.is_quiet(t, step) => edge,
                _ => break,
            };
            next = self.only_way(t, self.edge((t, last)).to);
        }
        found
    }

    /// Makes one template of a group.
    fn join(&mut self, group: &[(usize, At)]) {
        let Some(joins) = self.joins(group) else {
            return;
        };
        let (kept, (creator, _)) = group[0];
        let count = group.len() as u32;
        let books = self.books[kept].clone();
        self.program.templates[kept].count = Count::Fixed(count);
        for (k, (thread, at)) in group.iter().enumerate() {
            let started = self.books[*thread].started;
            let last = k + 1 == group.len();
            let edge = &mut self.program.templates[creator].cfg.edges[at.1];
            edit_step(&mut edge.step, &mut |step| match step {
                Step::Store { dst, .. } if dst.var == started && last => dst.var = books.started,
                Step::Store { dst, .. } if dst.var == started => *step = Step::Skip,
                _ => {}
            });
        }
        for (k, (load, wait)) in joins.iter().enumerate() {
            let edges = &mut self.program.templates[creator].cfg.edges;
            let Step::Load { dst, src } = &mut edges[*load].step else {
                continue;
            };
            let dst = *dst;
            if k + 1 == joins.len() {
                src.var = books.ended;
                edges[*wait].step = Step::Assume(is(dst, i64::from(count)));
            } else {
                edges[*load].step = Step::Skip;
                edges[*wait].step = Step::Skip;
            }
        }
        if !joins.is_empty() {
            self.count_ends(kept, i64::from(count));
        }
        let mut gone: Vec<usize> = group[1..].iter().map(|(k, _)| *k).collect();
        gone.sort_unstable();
        for k in gone.into_iter().rev() {
            self.program.templates.remove(k);
            self.merged.push(self.books.remove(k));
        }
    }

    /// The end of each copy is counted.
    fn count_ends(&mut self, thread: usize, count: i64) {
        let ended = self.books[thread].ended;
        self.program.globals[ended.index()].domain = Some(Domain { lo: 0, hi: count });
        let template = &mut self.program.templates[thread];
        let seen = LocalId::from(template.locals.len());
        template.locals.push(Local {
            name: "$ended".to_owned(),
            init: Init::Value(0),
            domain: None,
            role: Role::Data,
            origin: Origin::Temporary,
            span: template.span,
        });
        for edge in &mut template.cfg.edges {
            if steps(&edge.step).iter().any(|s| stores(s, ended)) {
                edge.step = counting(ended, seen, count, edge.span);
            }
        }
    }
}

/// `seen = ended; assume(seen < count); ended = seen + 1` as one step. The condition
/// always holds; it says so to engines that look at values.
pub(super) fn counting(ended: GlobalId, seen: LocalId, count: i64, span: Span) -> Step {
    let read = || Expr::Atom(LocalAtom::Local(seen));
    let place = || Place::scalar(ended);
    let mut body = CfgBuilder::new();
    let at: Vec<LocId> = (0..4).map(|_| body.loc()).collect();
    let load = Step::Load {
        dst: seen,
        src: place(),
    };
    body.edge(at[0], load, at[1], span);
    let below = LocalExpr::binary(BinOp::Lt, read(), Expr::Const(count));
    body.edge(at[1], Step::Assume(below), at[2], span);
    let store = Step::Store {
        dst: place(),
        value: LocalExpr::binary(BinOp::Add, read(), Expr::Const(1)),
    };
    body.edge(at[2], store, at[3], span);
    Step::Atomic(Box::new(Atomic {
        kind: AtomicKind::Block,
        body: body.finish(at[0], at[3]).0,
    }))
}
