//! *Code*: the statements of a process as a control-flow graph. A statement is
//! lowered between two locations, so that loops and branches meet without extra
//! steps. A label names the location before its statement; a location has at most
//! one label, and one that others can enter in passing (the start of an `either`)
//! has none of its alternatives' labels.

use std::collections::BTreeMap;

use palisade_program::Init;
use palisade_program::{
    CfgBuilder, Domain, Expr, FenceKind, Label, Life, LocId, Local, LocalAtom, LocalExpr, LocalId,
    Origin, Role, Span, Step, Template,
};

use super::memory::Memory;
use super::{Atom, Complaints, Group, Lower, locked};
use crate::pal::suggest::nearest;
use crate::range::{Range, range_of};
use crate::rmm::ast::{self, Cond, Decl, Labelled, Name, Process, Stmt, StmtKind};

/// Most steps of one process.
const MAX_STEPS: usize = 100_000;

/// A process as a thread, with what properties need to know of it.
pub(super) struct Thread {
    pub(super) template: Template,
    /// Where its labels are; `None` if the code never gets there.
    pub(super) labels: BTreeMap<String, Option<LocId>>,
    pub(super) registers: BTreeMap<String, LocalId>,
}

/// A thread that is being built.
pub(super) struct Code<'a, 'c> {
    pub(super) memory: &'a Memory,
    pub(super) group: &'a Group,
    pub(super) complaints: &'a mut Complaints<'c>,
    /// The thread's graph, or that of the atomic block that is being built.
    pub(super) graph: CfgBuilder,
    pub(super) in_atomic: bool,
    locals: Vec<Local>,
    registers: BTreeMap<String, LocalId>,
    scratch: Option<LocalId>,
    labels: Vec<(Name, LocId)>,
    gotos: Vec<(LocId, Name, Span)>,
    steps: usize,
}

/// Builds the thread of a process.
pub(super) fn template(
    process: &Process,
    group: &Group,
    memory: &Memory,
    complaints: &mut Complaints<'_>,
) -> Thread {
    let mut code = Code {
        memory,
        group,
        complaints,
        graph: CfgBuilder::new(),
        in_atomic: false,
        locals: Vec::new(),
        registers: BTreeMap::new(),
        scratch: None,
        labels: Vec::new(),
        gotos: Vec::new(),
        steps: 0,
    };
    for decl in &process.registers {
        let id = code.local(decl);
        code.registers.insert(decl.name.text.clone(), id);
    }
    let entry = code.graph.loc();
    let exit = code.graph.loc();
    code.sequence(&process.text, entry, exit);
    code.link();
    code.finish(process, entry, exit)
}

impl Code<'_, '_> {
    fn local(&mut self, decl: &Decl) -> LocalId {
        self.locals.push(Local {
            name: decl.name.text.clone(),
            init: decl.init,
            domain: decl.domain,
            role: Role::Data,
            origin: Origin::User,
            span: decl.name.span,
        });
        LocalId::from(self.locals.len() - 1)
    }

    /// A local for values on their way from memory; no step reads it later.
    pub(super) fn scratch(&mut self) -> LocalId {
        if let Some(id) = self.scratch {
            return id;
        }
        let mut name = "$tmp".to_owned();
        while self.registers.contains_key(&name) {
            name.push('_');
        }
        self.locals.push(Local {
            name,
            init: Init::Value(0),
            domain: None,
            role: Role::Data,
            origin: Origin::Temporary,
            span: Span::default(),
        });
        let id = LocalId::from(self.locals.len() - 1);
        self.scratch = Some(id);
        id
    }

    /// Adds a step between two locations.
    pub(super) fn edge(&mut self, from: LocId, step: Step, to: LocId, span: Span) {
        self.steps += 1;
        if self.steps == MAX_STEPS {
            let help = format!("at most {MAX_STEPS} steps are read");
            self.complaints
                .error(span, "the process is too large", help);
        }
        if self.steps < MAX_STEPS {
            self.graph.edge(from, step, to, span);
        }
    }

    /// Adds a step from a location; returns where it ends.
    pub(super) fn step(&mut self, from: LocId, step: Step, span: Span) -> LocId {
        let to = self.graph.loc();
        self.edge(from, step, to, span);
        to
    }

    /// Statements one after another.
    pub(super) fn sequence(&mut self, list: &[Labelled], from: LocId, to: LocId) {
        let mut at = from;
        for (i, item) in list.iter().enumerate() {
            let next = if i + 1 == list.len() {
                to
            } else {
                self.graph.loc()
            };
            self.labelled(item, at, next);
            at = next;
        }
    }

    fn labelled(&mut self, item: &Labelled, from: LocId, to: LocId) {
        let mut at = from;
        if let Some(label) = &item.label {
            // Each label is a control state of its own.
            if self.labels.iter().any(|(_, loc)| *loc == at) {
                at = self.step(at, Step::Skip, label.span);
            }
            if self
                .labels
                .iter()
                .any(|(known, _)| known.text == label.text)
            {
                let message = format!("the label `{}` is used twice", label.text);
                let help = "labels are unique in a process";
                self.complaints.error(label.span, message, help);
            } else {
                self.labels.push((label.clone(), at));
            }
        }
        // The error has been reported; what follows is checked too.
        let _reported: Lower<()> = self.stmt(&item.stmt, at, to);
    }

    fn stmt(&mut self, stmt: &Stmt, from: LocId, to: LocId) -> Lower<()> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Nop | StmtKind::LoadFence => self.edge(from, Step::Skip, to, span),
            StmtKind::ReadEqual(sync, loc, value) => {
                self.read_equal(*sync, loc, value, (from, to), span)?;
            }
            StmtKind::ReadInto(sync, register, loc) => {
                self.read_into(*sync, register, loc, (from, to), span)?;
            }
            StmtKind::Write(kind, loc, value) => {
                self.write(*kind, loc, value, (from, to), span)?;
            }
            StmtKind::Cas(loc, old, new) => {
                self.cas(loc, old, new, (from, to), span)?;
            }
            StmtKind::Fence => self.edge(from, Step::Fence(FenceKind::Full), to, span),
            StmtKind::StoreFence => {
                self.edge(from, Step::Fence(FenceKind::StoreStore), to, span);
            }
            StmtKind::Candidate => {
                self.edge(from, Step::Fence(FenceKind::Candidate), to, span);
            }
            StmtKind::Assign(register, value) => {
                self.assign(register, value, (from, to), span)?;
            }
            StmtKind::Assume(cond) => {
                let cond = self.cond(cond)?;
                self.edge(from, Step::Assume(cond), to, span);
            }
            StmtKind::If(cond, yes, no) => self.branch(cond, yes, no.as_deref(), (from, to), span),
            StmtKind::While(cond, body) => self.repeat(cond, body, (from, to), span),
            StmtKind::Goto(label) => self.gotos.push((from, label.clone(), span)),
            StmtKind::Either(alternatives) => {
                for list in alternatives {
                    let start = if needs_start(list) {
                        self.step(from, Step::Skip, span)
                    } else {
                        from
                    };
                    self.sequence(list, start, to);
                }
            }
            StmtKind::Locked(alternatives) => {
                locked::block(self, alternatives, (from, to), span)?;
            }
            StmtKind::Block(list) => self.sequence(list, from, to),
        }
        Ok(())
    }

    fn branch(
        &mut self,
        cond: &Cond,
        yes: &Labelled,
        no: Option<&Labelled>,
        (from, to): (LocId, LocId),
        span: Span,
    ) {
        // A wrong condition does not hide what is wrong in the branches.
        let cond = self.cond(cond).unwrap_or(Expr::TRUE);
        let start = self.graph.loc();
        self.edge(from, Step::Assume(cond.clone()), start, span);
        self.labelled(yes, start, to);
        match no {
            Some(no) => {
                let start = self.graph.loc();
                self.edge(from, Step::Assume(cond.negate()), start, span);
                self.labelled(no, start, to);
            }
            None => self.edge(from, Step::Assume(cond.negate()), to, span),
        }
    }

    fn repeat(&mut self, cond: &Cond, body: &Labelled, (from, to): (LocId, LocId), span: Span) {
        let cond = self.cond(cond).unwrap_or(Expr::TRUE);
        let start = self.graph.loc();
        self.edge(from, Step::Assume(cond.clone()), start, span);
        self.edge(from, Step::Assume(cond.negate()), to, span);
        self.labelled(body, start, from);
    }

    /// Adds the jumps, now that all labels are known.
    fn link(&mut self) {
        for (from, target, span) in std::mem::take(&mut self.gotos) {
            let known = self.labels.iter().find(|(l, _)| l.text == target.text);
            if let Some((_, loc)) = known {
                let loc = *loc;
                self.edge(from, Step::Skip, loc, span);
                continue;
            }
            let known = self.labels.iter().map(|(l, _)| l.text.as_str());
            let help = no_label_help(&target.text, known);
            let message = format!("there is no label `{}` in this process", target.text);
            self.complaints.error(target.span, message, help);
        }
    }

    fn finish(self, process: &Process, entry: LocId, exit: LocId) -> Thread {
        let (cfg, renumbered) = self.graph.finish(entry, exit);
        let mut named = BTreeMap::new();
        let mut labels = Vec::new();
        for (name, loc) in self.labels {
            let loc = renumbered[loc.index()];
            named.insert(name.text.clone(), loc);
            labels.extend(loc.map(|loc| Label {
                name: name.text,
                loc,
                span: name.span,
            }));
        }
        labels.sort_by_key(|l| l.loc);
        let template = Template {
            name: self.group.name.clone(),
            count: self.group.template_count(),
            is_process: false,
            locals: self.locals,
            cfg,
            labels,
            life: Life {
                waits_at_assume: true,
                ..Life::default()
            },
            span: process.span,
        };
        Thread {
            template,
            labels: named,
            registers: self.registers,
        }
    }

    /// A register.
    pub(super) fn register(&mut self, name: &Name) -> Lower<LocalId> {
        if let Some(id) = self.registers.get(&name.text) {
            return Ok(*id);
        }
        let message = format!("unknown register `{}`", name.text);
        let known = self.registers.keys().map(String::as_str);
        let help = match nearest(&name.text, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "declare it under `registers`".to_owned(),
        };
        Err(self.complaints.error(name.span, message, help))
    }

    /// The domain of a register.
    pub(super) fn domain_of(&self, register: LocalId) -> Option<Domain> {
        self.locals[register.index()].domain
    }

    /// An expression over registers.
    pub(super) fn expr(&mut self, e: &ast::Expr) -> Lower<LocalExpr> {
        super::expr(e, &mut |atom| self.atom(atom))
    }

    /// The range of an expression, where it is known from the domains of the registers. A write
    /// whose range lies in its target's domain needs no check.
    pub(super) fn range(&self, e: &LocalExpr) -> Option<Range> {
        range_of(e, &|atom| match atom {
            LocalAtom::Local(id) => self.domain_of(*id).map(Range::from),
            LocalAtom::SelfId => None,
        })
    }

    fn atom(&mut self, atom: Atom<'_>) -> Lower<LocalExpr> {
        match atom {
            Atom::Register(name) => Ok(Expr::Atom(LocalAtom::Local(self.register(name)?))),
            Atom::Memory(loc) => {
                let help = "read it into a register first: `read: $r := x`";
                let message = "expressions cannot read memory";
                Err(self.complaints.error(loc.span, message, help))
            }
        }
    }

    /// A condition.
    pub(super) fn cond(&mut self, cond: &Cond) -> Lower<LocalExpr> {
        super::cond(cond, &mut |atom| self.atom(atom))
    }
}

/// What to do about an unknown label.
pub(super) fn no_label_help<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("put `{name}:` before a statement of the process"),
    }
}

/// Whether an alternative needs a location of its own to start at: it has a label
/// there, or a loop that comes back to it.
fn needs_start(list: &[Labelled]) -> bool {
    let Some(first) = list.first() else {
        return false;
    };
    let inside = match &first.stmt.kind {
        StmtKind::While(..) => true,
        StmtKind::Block(list) => needs_start(list),
        StmtKind::Either(_) | StmtKind::Locked(_) => false,
        StmtKind::Nop | StmtKind::ReadEqual(..) | StmtKind::ReadInto(..) => false,
        StmtKind::Write(..) | StmtKind::Cas(..) | StmtKind::Assign(..) => false,
        StmtKind::Fence | StmtKind::StoreFence | StmtKind::LoadFence => false,
        StmtKind::Candidate => false,
        StmtKind::Assume(_) | StmtKind::If(..) | StmtKind::Goto(_) => false,
    };
    first.label.is_some() || inside
}
