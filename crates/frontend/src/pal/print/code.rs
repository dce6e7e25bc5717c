//! Graphs as text. Locations are written one after another, each followed by the
//! one its step leads to where that is possible; all other edges are `goto`s. Two
//! opposite assumptions are an `if`, several edges a `choose`.

use std::fmt::Write;

use palisade_program::print::{expr, remote_atomic};
use palisade_program::{
    AssertKind, Cfg, Edge, Expr, FenceKind, GlobalId, LocId, LocalAtom, LocalExpr, LocalId, Place,
    Program, Span, Step, TemplateId,
};

use super::names::{Names, TemplateNames, is_chain};

/// Writes one graph: a thread's, or an atomic block's.
pub(super) struct Code<'a> {
    pub(super) program: &'a Program,
    pub(super) names: &'a mut Names,
    pub(super) template: TemplateId,
    pub(super) out: String,
    /// Line of the source that the last comment named.
    pub(super) origin: u32,
}

/// How the locations of a graph are called.
enum Labels {
    /// A thread's: the names of the template.
    Thread,
    /// An atomic block's: made up, by location.
    Block(Vec<Option<String>>),
}

impl Code<'_> {
    fn own(&mut self) -> &mut TemplateNames {
        &mut self.names.templates[self.template.index()]
    }

    /// The body of the thread.
    pub(super) fn thread(&mut self, cfg: &Cfg) {
        self.graph(cfg, &mut Labels::Thread);
        // A label at the end of a thread is the place where it has ended.
        let labels = self.own().labels[cfg.exit.index()].clone();
        for label in labels {
            let _ = writeln!(self.out, "{label}:");
        }
    }

    fn graph(&mut self, cfg: &Cfg, labels: &mut Labels) {
        let order = layout(cfg);
        // Labels first: a jump may lead to a place that is written before it.
        for (i, &loc) in order.iter().enumerate() {
            let next = order.get(i + 1).copied().or(Some(cfg.exit));
            for target in jumps(cfg, loc, next) {
                if target != cfg.exit || matches!(labels, Labels::Block(_)) {
                    self.label(target, labels);
                }
            }
        }
        for (i, &loc) in order.iter().enumerate() {
            self.write_labels(loc, labels);
            // The last one may fall off the end: that is the exit.
            let next = order.get(i + 1).copied().or(Some(cfg.exit));
            self.location(cfg, loc, next, labels);
        }
        if let Labels::Block(all) = labels
            && let Some(label) = &all[cfg.exit.index()]
        {
            let _ = writeln!(self.out, "{label}:");
        }
    }

    fn label(&mut self, loc: LocId, labels: &mut Labels) -> String {
        match labels {
            Labels::Thread => self.own().label(loc),
            Labels::Block(all) => {
                if let Some(label) = &all[loc.index()] {
                    return label.clone();
                }
                let label = self.own().fresh(&format!("A{}", loc.0));
                all[loc.index()] = Some(label.clone());
                label
            }
        }
    }

    fn write_labels(&mut self, loc: LocId, labels: &Labels) {
        let here = match labels {
            Labels::Thread => self.own().labels[loc.index()].clone(),
            Labels::Block(all) => all[loc.index()].clone().into_iter().collect(),
        };
        for label in here {
            let _ = writeln!(self.out, "{label}:");
        }
    }

    /// The edges from `loc`; `next` is written right behind it.
    fn location(&mut self, cfg: &Cfg, loc: LocId, next: Option<LocId>, labels: &mut Labels) {
        let edges: Vec<&Edge> = cfg.outgoing(loc).map(|(_, edge)| edge).collect();
        match edges.as_slice() {
            [] => self
                .out
                .push_str("assume(false); // no step leads on from here\n"),
            [edge] => {
                self.step(edge);
                self.jump(cfg, edge.to, next, labels);
            }
            [yes, no] if is_branch(yes, no) => {
                let Step::Assume(cond) = &yes.step else {
                    return;
                };
                self.comment(yes.span);
                let cond = self.expr(cond);
                let _ = write!(self.out, "if ({cond}) ");
                self.jump(cfg, yes.to, None, labels);
                self.jump(cfg, no.to, next, labels);
            }
            many => {
                for (i, edge) in many.iter().enumerate() {
                    self.out
                        .push_str(if i == 0 { "choose {\n" } else { "or {\n" });
                    self.step(edge);
                    self.jump(cfg, edge.to, None, labels);
                    self.out.push_str("}\n");
                }
            }
        }
    }

    fn jump(&mut self, cfg: &Cfg, to: LocId, next: Option<LocId>, labels: &mut Labels) {
        if Some(to) == next {
            return;
        }
        if to == cfg.exit && matches!(labels, Labels::Thread) {
            self.out.push_str("return;\n");
            return;
        }
        let label = self.label(to, labels);
        let _ = writeln!(self.out, "goto {label};");
    }

    /// Names the line that a step comes from, when it is another than before.
    fn comment(&mut self, span: Span) {
        let source = &self.program.source;
        if span == Span::default() || span.end as usize > source.text().len() {
            return;
        }
        let line = source.position(span.start).line;
        if line != self.origin {
            self.origin = line;
            let text: String = source.line_at(span.start).trim().chars().take(70).collect();
            let _ = writeln!(self.out, "// line {line}: {text}");
        }
    }

    fn step(&mut self, edge: &Edge) {
        self.comment(edge.span);
        if let Step::Atomic(atomic) = &edge.step {
            let kind = if atomic.drains() { "" } else { "(read)" };
            let _ = writeln!(self.out, "atomic{kind} {{");
            let mut labels = Labels::Block(vec![None; atomic.body.loc_count()]);
            if is_chain(&atomic.body) && atomic.body.entry == atomic.body.exit {
                // Nothing inside.
            } else {
                self.graph(&atomic.body, &mut labels);
            }
            self.out.push_str("}\n");
            return;
        }
        if let Step::Assert { kind, .. } = &edge.step {
            let why = match kind {
                AssertKind::User => None,
                AssertKind::Index => Some("the index is in range".to_owned()),
                AssertKind::Domain => Some("the value is in the declared range".to_owned()),
                AssertKind::Summary(cell) => Some(format!(
                    "summary invariant of buffered stores to {}",
                    self.program.cell_name(*cell)
                )),
                AssertKind::SignedOverflow
                | AssertKind::ErrorCall(_)
                | AssertKind::Language(_)
                | AssertKind::LockMisuse(_)
                | AssertKind::ThreadMisuse(_)
                | AssertKind::RemoteRace { .. }
                | AssertKind::EpochMisuse(_)
                | AssertKind::Memory(_)
                | AssertKind::Unsupported(_)
                | AssertKind::Uninitialised { .. }
                | AssertKind::Specification(_)
                | AssertKind::BufferOverflow
                | AssertKind::ListedValue => Some(kind.failure("")),
            };
            if let Some(why) = why {
                // A line break would end the comment.
                let _ = writeln!(self.out, "// {}", why.replace(['\n', '\r'], " "));
            }
        }
        let text = self.simple_step(&edge.step);
        let _ = writeln!(self.out, "{text};");
    }

    fn simple_step(&self, step: &Step) -> String {
        let e = |e: &LocalExpr| self.expr(e);
        let name =
            |id: LocalId| self.names.templates[self.template.index()].locals[id.index()].clone();
        match step {
            Step::Skip | Step::Atomic(_) => "skip".to_owned(),
            Step::Assume(c) => format!("assume({})", e(c)),
            Step::Assign { dst, value } => format!("{} = {}", name(*dst), e(value)),
            Step::Havoc { dst, domain: None } => format!("{} = *", name(*dst)),
            Step::Havoc {
                dst,
                domain: Some(d),
            } => format!("{} = choose({}..{})", name(*dst), d.lo, d.hi),
            Step::Load { dst, src } => {
                let value = palisade_program::print::load(&self.place(src), src.order);
                format!("{} = {value}", name(*dst))
            }
            Step::Store { dst, value } => {
                palisade_program::print::store(&self.place(dst), &e(value), dst.order)
            }
            Step::Fence(FenceKind::Full) => "fence".to_owned(),
            Step::Fence(FenceKind::StoreStore) => "fence(ss)".to_owned(),
            Step::Fence(FenceKind::Candidate) => "fence?".to_owned(),
            Step::Fence(FenceKind::Ordered(order)) => format!("fence({order})"),
            Step::Assert { cond, .. } => format!("assert({})", e(cond)),
            Step::Put { remote, local } => {
                let (remote, process) = self.remote(remote);
                format!("put({remote}, {process}, {})", self.place(local))
            }
            Step::Get { local, remote } => {
                let (remote, process) = self.remote(remote);
                format!("{} = get({remote}, {process})", self.place(local))
            }
            Step::RemoteAtomic(atomic) => {
                let remote = self.remote(&atomic.remote);
                remote_atomic(atomic, remote, &|p| self.place(p), &e)
            }
            Step::Flush(target) => {
                let name = |t: TemplateId| self.names.templates[t.index()].name.clone();
                palisade_program::print::flush(target, &name, &e)
            }
        }
    }

    fn expr(&self, e: &LocalExpr) -> String {
        let locals = &self.names.templates[self.template.index()].locals;
        expr(e, &|atom| match atom {
            LocalAtom::Local(id) => locals[id.index()].clone(),
            LocalAtom::SelfId => "self".to_owned(),
        })
    }

    fn per_copy(&self, var: GlobalId) -> bool {
        let home = self.program.global(var).home;
        home.is_some_and(|home| home.per_copy)
    }

    fn place(&self, place: &Place) -> String {
        let name = &self.names.globals[place.var.index()];
        match &place.index {
            // The own copy of a process's variable needs no index.
            Some(Expr::Atom(LocalAtom::SelfId)) if self.per_copy(place.var) => name.clone(),
            Some(index) => format!("{name}[{}]", self.expr(index)),
            None => name.clone(),
        }
    }

    /// A remote place, and the process that it lives in.
    fn remote(&self, place: &Place) -> (String, String) {
        let home = self.program.global(place.var).home;
        let process = home.map_or_else(
            || "nowhere".to_owned(),
            |home| self.names.templates[home.template.index()].name.clone(),
        );
        match &place.index {
            Some(copy) if self.per_copy(place.var) => {
                let name = self.names.globals[place.var.index()].clone();
                (name, format!("{process}[{}]", self.expr(copy)))
            }
            _ => (self.place(place), process),
        }
    }
}

/// Whether two edges are the two sides of an `if`.
fn is_branch(yes: &Edge, no: &Edge) -> bool {
    match (&yes.step, &no.step) {
        (Step::Assume(a), Step::Assume(b)) => {
            !matches!(a, Expr::Const(_)) && a.clone().negate() == *b
        }
        _ => false,
    }
}

/// The order in which locations are written: depth first from the entry, the last
/// edge's target right behind its source. The exit is not written.
fn layout(cfg: &Cfg) -> Vec<LocId> {
    let mut order = Vec::new();
    let mut seen = vec![false; cfg.loc_count()];
    let mut stack = vec![cfg.entry];
    while let Some(loc) = stack.pop() {
        if loc == cfg.exit || std::mem::replace(&mut seen[loc.index()], true) {
            continue;
        }
        order.push(loc);
        stack.extend(cfg.outgoing(loc).map(|(_, edge)| edge.to));
    }
    order
}

/// The targets that are reached by a `goto` from `loc` when `next` follows it.
fn jumps(cfg: &Cfg, loc: LocId, next: Option<LocId>) -> Vec<LocId> {
    let edges: Vec<&Edge> = cfg.outgoing(loc).map(|(_, edge)| edge).collect();
    match edges.as_slice() {
        [edge] => (Some(edge.to) != next)
            .then_some(edge.to)
            .into_iter()
            .collect(),
        [yes, no] if is_branch(yes, no) => {
            let other = (Some(no.to) != next).then_some(no.to);
            std::iter::once(yes.to).chain(other).collect()
        }
        many => many.iter().map(|edge| edge.to).collect(),
    }
}
