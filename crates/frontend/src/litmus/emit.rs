//! The *emitter* grows one thread's control-flow graph: a current location, steps
//! appended to it, branches, and atomic blocks, in which the same calls append to
//! the block's own graph.

use palisade_program::{
    AssertKind, Atomic, AtomicKind, Cfg, CfgBuilder, Init, LocId, Local, LocalAtom, LocalExpr,
    LocalId, Origin, Role, Span, Step,
};

/// The expression that reads `id`.
pub(super) const fn read(id: LocalId) -> LocalExpr {
    LocalExpr::Atom(LocalAtom::Local(id))
}

/// A thread that is being built.
#[derive(Clone, Debug)]
pub(super) struct Emitter {
    locals: Vec<Local>,
    graph: CfgBuilder,
    entry: LocId,
    exit: LocId,
    at: LocId,
    /// The thread's graph while an atomic block is open, and where the block starts.
    outer: Option<(CfgBuilder, LocId, LocId)>,
    jumps_to_exit: bool,
    temps: Vec<LocalId>,
    temps_in_use: usize,
}

impl Emitter {
    /// An empty thread.
    pub(super) fn new() -> Self {
        let mut graph = CfgBuilder::new();
        let entry = graph.loc();
        let exit = graph.loc();
        Self {
            locals: Vec::new(),
            graph,
            entry,
            exit,
            at: entry,
            outer: None,
            jumps_to_exit: false,
            temps: Vec::new(),
            temps_in_use: 0,
        }
    }

    /// A new local.
    pub(super) fn local(&mut self, name: &str, init: i64, origin: Origin, span: Span) -> LocalId {
        let id = LocalId::from(self.locals.len());
        self.locals.push(Local {
            name: name.to_owned(),
            init: Init::Value(init),
            domain: None,
            role: Role::Data,
            origin,
            span,
        });
        id
    }

    /// A temporary, in use until [`Self::release`].
    pub(super) fn temp(&mut self) -> LocalId {
        if self.temps_in_use == self.temps.len() {
            let name = format!("${}", self.temps.len() + 1);
            let id = self.local(&name, 0, Origin::Temporary, Span::default());
            self.temps.push(id);
        }
        self.temps_in_use += 1;
        self.temps[self.temps_in_use - 1]
    }

    /// Gives all temporaries back: no later step reads them.
    pub(super) fn release(&mut self) {
        self.temps_in_use = 0;
    }

    /// The current location.
    pub(super) const fn here(&self) -> LocId {
        self.at
    }

    /// A new location of the current graph.
    pub(super) fn loc(&mut self) -> LocId {
        self.graph.loc()
    }

    /// Ends the thread here; what follows is reached by jumps only.
    pub(super) fn end(&mut self, span: Span) {
        self.jumps_to_exit = true;
        let exit = self.exit;
        self.edge_to(Step::Skip, exit, span);
        self.at = self.loc();
    }

    /// Goes on at `loc`.
    pub(super) const fn go_on(&mut self, loc: LocId) {
        self.at = loc;
    }

    /// Appends a step.
    pub(super) fn step(&mut self, step: Step, span: Span) {
        let to = self.graph.loc();
        self.graph.edge(self.at, step, to, span);
        self.at = to;
    }

    /// Appends `dst = value`.
    pub(super) fn assign(&mut self, dst: LocalId, value: LocalExpr, span: Span) {
        if value != read(dst) {
            self.step(Step::Assign { dst, value }, span);
        }
    }

    /// Adds an edge from the current location to `to`; stays here.
    pub(super) fn edge_to(&mut self, step: Step, to: LocId, span: Span) {
        self.graph.edge(self.at, step, to, span);
    }

    /// Two ways on: returns where to go if `cond` holds, and where if not.
    pub(super) fn branch(&mut self, cond: &LocalExpr, span: Span) -> (LocId, LocId) {
        let (yes, no) = (self.loc(), self.loc());
        match cond {
            LocalExpr::Const(0) => self.edge_to(Step::Skip, no, span),
            LocalExpr::Const(_) => self.edge_to(Step::Skip, yes, span),
            LocalExpr::Atom(_)
            | LocalExpr::Unary(..)
            | LocalExpr::Binary(..)
            | LocalExpr::Cond(..) => {
                self.edge_to(Step::Assume(cond.clone()), yes, span);
                self.edge_to(Step::Assume(cond.clone().negate()), no, span);
            }
        }
        (yes, no)
    }

    /// Appends a check that must not fail.
    pub(super) fn check(&mut self, cond: LocalExpr, what: &str, span: Span) {
        let kind = AssertKind::Language(what.to_owned());
        self.step(Step::Assert { cond, kind }, span);
    }

    /// Whether an atomic block is open.
    pub(super) const fn in_atomic(&self) -> bool {
        self.outer.is_some()
    }

    /// Opens an atomic block.
    pub(super) fn open_atomic(&mut self) {
        debug_assert!(self.outer.is_none(), "atomic blocks do not nest");
        let mut body = CfgBuilder::new();
        let entry = body.loc();
        let graph = std::mem::replace(&mut self.graph, body);
        self.outer = Some((graph, self.at, entry));
        self.at = entry;
    }

    /// Closes it and appends it to the thread.
    pub(super) fn close_atomic(&mut self, kind: AtomicKind, span: Span) {
        let Some((graph, at, entry)) = self.outer.take() else {
            debug_assert!(false, "no atomic block is open");
            return;
        };
        let body = std::mem::replace(&mut self.graph, graph);
        let (body, _) = body.finish(entry, self.at);
        self.at = at;
        self.step(Step::Atomic(Box::new(Atomic { kind, body })), span);
    }

    /// The finished thread; falling off its code ends it.
    pub(super) fn finish(mut self, span: Span) -> (Vec<Local>, Cfg) {
        let mut exit = self.at;
        if self.jumps_to_exit {
            self.graph.edge(self.at, Step::Skip, self.exit, span);
            exit = self.exit;
        }
        let (cfg, _) = self.graph.finish(self.entry, exit);
        (self.locals, cfg)
    }
}
