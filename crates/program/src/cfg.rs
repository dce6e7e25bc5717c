//! Steps and control-flow graphs. A thread is a [`Cfg`]: locations joined by
//! edges, each edge carrying one [`Step`]. A branch is two edges with opposite
//! [`Step::Assume`]s; a non-deterministic choice is several edges from one
//! location. A thread has ended when it is at [`Cfg::exit`].
//!
//! An *atomic block* ([`Step::Atomic`]) carries a graph of its own. It is enabled
//! when the thread's own buffers are empty, runs without interleaving and
//! without buffer steps, its stores go straight to memory, and it happens as a
//! whole: a run that cannot get from its entry to its exit (a false `assume`)
//! does not happen at all. A failing `assert` inside it is a violation.
//!
//! A block of kind [`AtomicKind::Read`] stores nothing and does not wait: it leaves
//! the buffers alone, and its loads read what loads outside would read there, the
//! own buffered stores first.

use crate::expr::Expr;
use crate::ids::{Cell, EdgeId, GlobalId, LocId, LocalId, TemplateId};
use crate::memory_error::MemoryError;
use crate::order::Order;
use crate::program::{Domain, LocalAtom, LocalExpr};
use crate::remote::RemoteAtomic;
use crate::source::Span;
use crate::verdict::Bound;

/// A cell of shared memory named by a variable, or by an array and an index.
/// The index is in range: front ends put an [`Step::Assert`] of kind
/// [`AssertKind::Index`] before any access whose index might not be.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The variable or array.
    pub var: GlobalId,
    /// The index, over locals; `None` exactly for variables that are no array.
    pub index: Option<LocalExpr>,
    /// The memory order of the access, for RC11.
    pub order: Order,
}

impl Place {
    /// The variable `var` itself.
    pub const fn scalar(var: GlobalId) -> Self {
        Self {
            var,
            index: None,
            order: Order::Plain,
        }
    }

    /// The same cell, accessed with this order.
    #[must_use]
    pub fn ordered(mut self, order: Order) -> Self {
        self.order = order;
        self
    }
}

/// Kinds of fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FenceKind {
    /// Waits until all own buffers are empty.
    Full,
    /// `fence(ss)`: under PSO, stores issued after it leave the buffers only when
    /// none issued before it is still buffered; it never waits. No effect elsewhere.
    StoreStore,
    /// `fence?`: a place where synthesis may put a fence; by itself no effect.
    Candidate,
    /// A fence of C11 with this order, for RC11. Programs for other models have none.
    Ordered(Order),
}

/// What an assertion is about: decides the words of the report.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AssertKind {
    /// Written by the user.
    User,
    /// An array index is in range.
    Index,
    /// A value is in the declared domain of its variable.
    Domain,
    /// No signed integer overflows (C).
    SignedOverflow,
    /// The error function of this name is not called (SV-COMP's `unreach-call`).
    ErrorCall(String),
    /// Another rule of the source language: what is said when it is broken.
    Language(String),
    /// A lock, or another object of the thread library, is not used against its rules (C): what
    /// is said when it is.
    LockMisuse(String),
    /// A thread is not awaited against the rules (C): what is said when it is.
    ThreadMisuse(String),
    /// No two accesses race of which at least one is part of a remote operation (RMA).
    RemoteRace {
        /// What is said of the two accesses when they do.
        words: String,
        /// Where the operation stands that was still under way.
        other: Span,
    },
    /// Remote operations and their synchronisation stand in the epochs that the library asks
    /// for (RMA): what is said when they do not.
    EpochMisuse(String),
    /// Memory is used as C allows.
    Memory(MemoryError),
    /// The run does not reach what the front end cannot model. A run that fails it
    /// violates nothing; where one exists, the verdict is unknown.
    Unsupported(String),
    /// Nothing is read from this variable before something was written to it. A run
    /// that fails it violates nothing: what is read is any value of `domain`
    /// ([`crate::Program::choosing`]).
    Uninitialised {
        /// The variable's name.
        variable: String,
        /// The values of its type.
        domain: Option<Domain>,
    },
    /// An object and its specification agree (linearizability): what is said if not.
    Specification(String),
    /// A reduction: a store or a remote operation finds room in a bounded buffer.
    BufferOverflow,
    /// A reduction: the summary invariant of buffered stores to this cell.
    Summary(Cell),
    /// A reduction: a value set has listed values only.
    ListedValue,
}

impl AssertKind {
    /// What is said of a failed assertion with this condition.
    pub fn failure(&self, cond: &str) -> String {
        match self {
            Self::User => format!("assertion failed: {cond}"),
            Self::Index => format!("array index out of range: {cond}"),
            Self::Domain => format!("value outside its declared range: {cond}"),
            Self::SignedOverflow => "signed overflow".to_owned(),
            Self::ErrorCall(function) => format!("{function} is called"),
            Self::Language(words) | Self::LockMisuse(words) | Self::ThreadMisuse(words) => {
                words.clone()
            }
            Self::Specification(words) | Self::EpochMisuse(words) => words.clone(),
            Self::RemoteRace { words, .. } => words.clone(),
            Self::Memory(error) => error.to_string(),
            Self::Unsupported(what) => format!("unsupported: {what}"),
            Self::Uninitialised { variable, .. } => {
                format!("`{variable}` is read before anything was written to it")
            }
            Self::BufferOverflow => Bound::BufferOverflow(None).to_string(),
            Self::Summary(cell) => {
                format!(
                    "summary invariant of buffered stores to cell {}",
                    cell.index()
                )
            }
            Self::ListedValue => "a value that is not listed".to_owned(),
        }
    }
}

/// What the user wrote that became an atomic block: decides how it is printed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicKind {
    /// `atomic { ... }`
    Block,
    /// `atomic(read) { ... }`: does not wait for the own buffers, has no store.
    Read,
    /// `cas(x, old, new)`
    Cas,
    /// `xchg(x, v)`
    Xchg,
    /// `fetch_add(x, v)`
    FetchAdd,
    /// `lock(m)`
    Lock,
    /// `unlock(m)`
    Unlock,
}

/// An atomic block: see the module's header.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Atomic {
    /// What the user wrote.
    pub kind: AtomicKind,
    /// The block; it holds no fence, atomic, remote or flush step. Its exit
    /// has no outgoing edge.
    pub body: Cfg,
}

impl Atomic {
    /// Whether the block waits for the thread's own buffers to be empty, and leaves
    /// them empty.
    pub const fn drains(&self) -> bool {
        match self.kind {
            AtomicKind::Read => false,
            AtomicKind::Block | AtomicKind::Cas | AtomicKind::Xchg => true,
            AtomicKind::FetchAdd | AtomicKind::Lock | AtomicKind::Unlock => true,
        }
    }
}

/// Whose operations a flush waits for (RMA).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FlushTarget {
    /// Operations whose remote side is this process; `copy` picks one of
    /// several copies of the template.
    Process {
        /// The process.
        template: TemplateId,
        /// Which copy, for processes declared with `[n]`.
        copy: Option<LocalExpr>,
    },
    /// All own operations.
    All,
    /// The own side of operations that the other target names: a put waits until its source
    /// is read, a get and an atomic operation with a result until that is written, one without
    /// a result until its operands are read.
    Local(Box<FlushTarget>),
}

impl FlushTarget {
    /// The process that it names; `None` if it is for all.
    pub fn process(&self) -> Option<TemplateId> {
        match self {
            Self::Process { template, .. } => Some(*template),
            Self::All => None,
            Self::Local(whole) => whole.process(),
        }
    }

    /// The process and which copy of it, if it names one of several.
    pub fn one_copy(&self) -> Option<(TemplateId, &LocalExpr)> {
        match self {
            Self::Process { template, copy } => Some((*template, copy.as_ref()?)),
            Self::All => None,
            Self::Local(whole) => whole.one_copy(),
        }
    }

    /// Whether only the own side is waited for.
    pub const fn is_local(&self) -> bool {
        match self {
            Self::Local(_) => true,
            Self::Process { .. } | Self::All => false,
        }
    }
}

/// One step of a thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Nothing; gives a label its own location.
    Skip,
    /// Enabled when the expression is not 0.
    Assume(LocalExpr),
    /// `dst = value`.
    Assign {
        /// The local that changes.
        dst: LocalId,
        /// Its new value.
        value: LocalExpr,
    },
    /// `dst = *`: any integer, or any of the domain.
    Havoc {
        /// The local that changes.
        dst: LocalId,
        /// The values to choose from; all integers if none.
        domain: Option<Domain>,
    },
    /// Reads shared memory.
    Load {
        /// The local that receives the value.
        dst: LocalId,
        /// Where from.
        src: Place,
    },
    /// Writes shared memory (through the buffer, under TSO and PSO).
    Store {
        /// Where to.
        dst: Place,
        /// The value.
        value: LocalExpr,
    },
    /// A fence.
    Fence(FenceKind),
    /// An atomic block.
    Atomic(Box<Atomic>),
    /// A violation if the expression is 0; else nothing.
    Assert {
        /// What should hold.
        cond: LocalExpr,
        /// What it is about.
        kind: AssertKind,
    },
    /// `put(remote, p, local)`: the network reads `local` (a variable of this
    /// process), later writes that value to `remote`.
    Put {
        /// The remote variable; its home is the remote side.
        remote: Place,
        /// The own variable.
        local: Place,
    },
    /// `local = get(remote, p)`: the network reads `remote`, later writes that
    /// value to `local`.
    Get {
        /// The own variable.
        local: Place,
        /// The remote variable; its home is the remote side.
        remote: Place,
    },
    /// A remote atomic operation is issued.
    RemoteAtomic(Box<RemoteAtomic>),
    /// Waits for own remote operations.
    Flush(FlushTarget),
}

impl Step {
    /// Where a plain store writes.
    pub const fn stored(&self) -> Option<&Place> {
        match self {
            Self::Store { dst, .. } => Some(dst),
            Self::Skip | Self::Assume(_) | Self::Assign { .. } | Self::Havoc { .. } => None,
            Self::Load { .. } | Self::Fence(_) | Self::Atomic(_) | Self::Assert { .. } => None,
            Self::Put { .. } | Self::Get { .. } | Self::RemoteAtomic(_) | Self::Flush(_) => None,
        }
    }

    /// What a plain load reads.
    pub const fn loaded(&self) -> Option<&Place> {
        match self {
            Self::Load { src, .. } => Some(src),
            Self::Skip | Self::Assume(_) | Self::Assign { .. } | Self::Havoc { .. } => None,
            Self::Store { .. } | Self::Fence(_) | Self::Atomic(_) | Self::Assert { .. } => None,
            Self::Put { .. } | Self::Get { .. } | Self::RemoteAtomic(_) | Self::Flush(_) => None,
        }
    }

    /// The block of an atomic step.
    pub fn block(&self) -> Option<&Atomic> {
        match self {
            Self::Atomic(atomic) => Some(atomic),
            Self::Skip | Self::Assume(_) | Self::Assign { .. } | Self::Havoc { .. } => None,
            Self::Load { .. } | Self::Store { .. } | Self::Fence(_) | Self::Assert { .. } => None,
            Self::Put { .. } | Self::Get { .. } | Self::RemoteAtomic(_) | Self::Flush(_) => None,
        }
    }

    /// Calls `f` on every expression of the step, those of atomic bodies too.
    pub fn for_each_expr(&self, f: &mut impl FnMut(&LocalExpr)) {
        let place = |place: &Place, f: &mut dyn FnMut(&LocalExpr)| {
            if let Some(index) = &place.index {
                f(index);
            }
        };
        match self {
            Self::Skip | Self::Havoc { .. } | Self::Fence(_) => {}
            Self::Assume(e) | Self::Assign { value: e, .. } | Self::Assert { cond: e, .. } => f(e),
            Self::Load { src, .. } => place(src, f),
            Self::Store { dst, value } => {
                place(dst, f);
                f(value);
            }
            Self::Atomic(atomic) => atomic
                .body
                .edges
                .iter()
                .for_each(|e| e.step.for_each_expr(f)),
            Self::Put { remote, local } | Self::Get { local, remote } => {
                place(remote, f);
                place(local, f);
            }
            Self::RemoteAtomic(atomic) => {
                atomic.places().for_each(|p| place(p, f));
                atomic.values().for_each(f);
            }
            Self::Flush(target) => {
                if let Some((_, e)) = target.one_copy() {
                    f(e);
                }
            }
        }
    }

    /// The local that the step overwrites; for atomic blocks see
    /// [`Cfg::written_locals`].
    pub const fn written_local(&self) -> Option<LocalId> {
        match self {
            Self::Assign { dst, .. } | Self::Havoc { dst, .. } | Self::Load { dst, .. } => {
                Some(*dst)
            }
            Self::Skip | Self::Assume(_) | Self::Store { .. } | Self::Fence(_) => None,
            Self::Atomic(_) | Self::Assert { .. } => None,
            Self::Put { .. } | Self::Get { .. } => None,
            Self::RemoteAtomic(_) | Self::Flush(_) => None,
        }
    }

    /// Whether the step touches nothing but the thread's own locals.
    pub const fn is_local(&self) -> bool {
        match self {
            Self::Skip | Self::Assume(_) | Self::Assign { .. } | Self::Havoc { .. } => true,
            Self::Assert { .. } => true,
            Self::Fence(FenceKind::Candidate) => true,
            Self::Load { .. } | Self::Store { .. } | Self::Atomic(_) => false,
            Self::Fence(FenceKind::Full | FenceKind::StoreStore | FenceKind::Ordered(_)) => false,
            Self::Put { .. } | Self::Get { .. } => false,
            Self::RemoteAtomic(_) | Self::Flush(_) => false,
        }
    }
}

/// An edge of a control-flow graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    /// From here
    pub from: LocId,
    /// to there
    pub to: LocId,
    /// by this step,
    pub step: Step,
    /// which the user wrote here.
    pub span: Span,
}

/// A control-flow graph. Edges are sorted by `from`; build with [`CfgBuilder`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cfg {
    /// Where it starts.
    pub entry: LocId,
    /// Where it ends.
    pub exit: LocId,
    /// All edges, sorted by their source; within one source in the order in
    /// which they were added.
    pub edges: Vec<Edge>,
    /// `first[l] .. first[l + 1]` are the edges from location `l`.
    first: Vec<u32>,
}

impl Cfg {
    /// Number of locations; they are `0..loc_count`.
    pub fn loc_count(&self) -> usize {
        self.first.len() - 1
    }

    /// All locations.
    pub fn locs(&self) -> impl Iterator<Item = LocId> + use<> {
        (0..self.loc_count()).map(LocId::from)
    }

    /// The edges from `loc`, with their ids.
    pub fn outgoing(&self, loc: LocId) -> impl Iterator<Item = (EdgeId, &Edge)> {
        let range = self.first[loc.index()] as usize..self.first[loc.index() + 1] as usize;
        range.map(move |i| (EdgeId::from(i), &self.edges[i]))
    }

    /// The edge `id`.
    pub fn edge(&self, id: EdgeId) -> &Edge {
        &self.edges[id.index()]
    }

    /// Every local that some step may overwrite, also inside atomic blocks.
    pub fn written_locals(&self) -> Vec<LocalId> {
        let mut written = Vec::new();
        for edge in &self.edges {
            if let Step::Atomic(atomic) = &edge.step {
                written.extend(atomic.body.written_locals());
            } else {
                written.extend(edge.step.written_local());
            }
        }
        written.sort_unstable();
        written.dedup();
        written
    }

    /// Locations without which no cycle of locations `inside` is left, but for edges from a
    /// location to itself: those to which a walk in depth comes back before it has left them.
    pub fn cycle_cuts(&self, inside: &[bool]) -> Vec<LocId> {
        let mut cuts = Vec::new();
        // As in `has_cycle`: 0 new, 1 on the path, 2 done.
        let mut colour: Vec<u8> = inside.iter().map(|inside| 2 * u8::from(!inside)).collect();
        let mut stack: Vec<(LocId, bool)> = self.locs().map(|loc| (loc, false)).collect();
        while let Some((loc, leave)) = stack.pop() {
            if leave {
                colour[loc.index()] = 2;
            } else if colour[loc.index()] == 0 {
                colour[loc.index()] = 1;
                stack.push((loc, true));
                for (_, edge) in self.outgoing(loc).filter(|(_, edge)| edge.to != loc) {
                    match colour[edge.to.index()] {
                        0 => stack.push((edge.to, false)),
                        1 => cuts.push(edge.to),
                        _ => {}
                    }
                }
            }
        }
        cuts
    }

    /// Whether the graph has a cycle that is reachable from its entry.
    pub fn has_cycle(&self) -> bool {
        // Depth-first search with an explicit stack: 0 new, 1 on the path, 2 done.
        let mut colour = vec![0_u8; self.loc_count()];
        let mut stack = vec![(self.entry, false)];
        while let Some((loc, leave)) = stack.pop() {
            if leave {
                colour[loc.index()] = 2;
            } else if colour[loc.index()] == 0 {
                colour[loc.index()] = 1;
                stack.push((loc, true));
                for (_, edge) in self.outgoing(loc) {
                    match colour[edge.to.index()] {
                        0 => stack.push((edge.to, false)),
                        1 => return true,
                        _ => {}
                    }
                }
            }
        }
        false
    }
}

/// Builds a [`Cfg`]: locations are handed out, edges added in any order.
#[derive(Clone, Debug, Default)]
pub struct CfgBuilder {
    edges: Vec<Edge>,
    locs: u32,
}

impl CfgBuilder {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new location.
    pub fn loc(&mut self) -> LocId {
        self.locs += 1;
        LocId(self.locs - 1)
    }

    /// Adds an edge.
    pub fn edge(&mut self, from: LocId, step: Step, to: LocId, span: Span) {
        self.edges.push(Edge {
            from,
            to,
            step,
            span,
        });
    }

    /// The graph from `entry` to `exit` with all its locations under their numbers,
    /// also those that cannot be reached.
    pub fn finish_whole(self, entry: LocId, exit: LocId) -> Cfg {
        assemble(entry, exit, self.edges, self.locs)
    }

    /// The graph from `entry` to `exit`. Locations that cannot be reached from the
    /// entry are removed (the exit is kept) and the others renumbered; the second
    /// result maps old locations to new.
    pub fn finish(self, entry: LocId, exit: LocId) -> (Cfg, Vec<Option<LocId>>) {
        let count = self.locs as usize;
        let mut successors = vec![Vec::new(); count];
        for edge in &self.edges {
            successors[edge.from.index()].push(edge.to);
        }
        let mut reached = vec![false; count];
        reached[exit.index()] = true;
        let mut stack = vec![entry];
        while let Some(loc) = stack.pop() {
            if !std::mem::replace(&mut reached[loc.index()], true) || loc == exit {
                stack.extend(&successors[loc.index()]);
                successors[loc.index()].clear();
            }
        }
        let mut renumbered = vec![None; count];
        let mut next = 0;
        for (old, new) in renumbered.iter_mut().enumerate() {
            if reached[old] {
                *new = Some(LocId(next));
                next += 1;
            }
        }
        let new = |old: LocId| renumbered[old.index()];
        let edges: Vec<Edge> = self
            .edges
            .into_iter()
            .filter_map(|e| {
                Some(Edge {
                    from: new(e.from)?,
                    to: new(e.to)?,
                    ..e
                })
            })
            .collect();
        let kept = |old: LocId| new(old).expect("entry and exit are always kept");
        let cfg = assemble(kept(entry), kept(exit), edges, next);
        (cfg, renumbered)
    }
}

/// Sorts the edges by source, keeping their order otherwise.
fn assemble(entry: LocId, exit: LocId, mut edges: Vec<Edge>, locs: u32) -> Cfg {
    edges.sort_by_key(|e| e.from);
    let first = (0..=locs)
        .map(|loc| edges.partition_point(|e| e.from.0 < loc) as u32)
        .collect();
    Cfg {
        entry,
        exit,
        edges,
        first,
    }
}

/// The expression that reads local `id`.
pub const fn local(id: LocalId) -> LocalExpr {
    Expr::Atom(LocalAtom::Local(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreachable_locations_are_removed() {
        let mut b = CfgBuilder::new();
        let (a, lost, end) = (b.loc(), b.loc(), b.loc());
        b.edge(lost, Step::Skip, end, Span::default());
        b.edge(a, Step::Skip, a, Span::default());
        let (cfg, map) = b.finish(a, end);
        assert_eq!(cfg.loc_count(), 2);
        assert_eq!(cfg.edges.len(), 1);
        assert_eq!(map[lost.index()], None);
        assert!(cfg.has_cycle());
        assert_eq!(cfg.outgoing(cfg.entry).count(), 1);
        assert_eq!(cfg.outgoing(cfg.exit).count(), 0);
    }
}
