//! *Lifetimes* of allocated objects, and of local variables that other threads can reach. Every allocation that lowering meets is an object with an
//! address of its own, which no other allocation ever gets: what was freed stays where it
//! was, so that a use after `free` is never hidden by a later allocation. Where the program names
//! `free`, each such object has a *status* in shared memory, and what engines see are
//! loads, stores and assertions of kind [`AssertKind::Memory`]:
//!
//! | C | steps |
//! |---|---|
//! | `*p` | `s = status; assert(s != FREED)`, then the access |
//! | `free(p)` | nothing for a null pointer; `p` is the first byte of an allocation, else `InvalidFree`; `s = status; assert(s != FREED)` (`DoubleFree`); `status = FREED` |
//! | `malloc` | `status = LIVE`, where leaks are asked about |
//! | the end of the program | `s = status; assert(s != LIVE)`, where leaks are asked about |
//!
//! *Weak memory.* `free` is no fence, so the status is an ordinary variable and its store is
//! buffered like others: a draining step would hide behaviours of the accesses around it. No error
//! is lost by that. An access that is made after `free` was issued can wait until the status has
//! arrived, and then the check before it fails; what arrives meanwhile changes only what the
//! thread does after that. The freeing thread itself reads its own buffer. No alarm is false: the
//! status says `FREED` only after `free`. A store counts when it is issued. Under TSO that loses nothing,
//! since whoever can know that the thread has gone on knows it by a later store of
//! that thread, which arrives later. Under PSO a plain store may arrive after a later one told
//! another thread to free the object; that is not seen.
//!
//! *RC11.* Status accesses are plain: an access and a `free` that nothing orders are a data race. What is
//! allocated while other threads run has a second variable for its *allocation*: `malloc` stores 1 in it, each use
//! by another thread loads it and asserts that it is 1. So is a use that is not ordered with the allocation.
//!
//! *Local variables.* One is *published* when a pointer to it is stored in shared memory or
//! given to a thread: then it is in memory (an earlier pass has seen that), with a status that is
//! `LIVE` from its declaration on and `FREED` when its function returns. By its name it is only accessed while it
//! lives. What `main` declares lives until the program ends. The end of a block inside a function ends no life
//! here.
//!
//! Objects that nothing frees have their checks removed in the end ([`settle`]).

use std::collections::BTreeSet;
use std::rc::Rc;

use palisade_program::{
    Asked, AssertKind, BinOp, Cfg, Expr as Ir, GlobalId, Init, LocalAtom, LocalExpr, MemoryError,
    Orders, Place as Memory, Program, Span, Step,
};

use super::cases::{is, within};
use super::code::{Code, Lower};
use super::graph::without_skips;
use super::layout::{Object, compatible};
use super::place::Place;
use super::value::Val;
use crate::c::ast::Expr;

/// What a status says: in use (or not yet, where nobody asks),
const LIVE: i64 = 0;
/// freed,
const FREED: i64 = 1;
/// not allocated so far.
const NEVER: i64 = 2;

/// What an allocation says before and behind it.
const MISSING: i64 = 0;
const MADE: i64 = 1;

/// What it is to use an object whose life has ended.
const fn used(object: &Object) -> AssertKind {
    AssertKind::Memory(if object.on_stack {
        MemoryError::UseAfterReturn
    } else {
        MemoryError::UseAfterFree
    })
}

impl super::Context<'_> {
    /// Whether the use of allocated memory is checked.
    pub(super) fn checks_lifetimes(&self) -> bool {
        let asked = self.options.asked.checks_memory() && self.mpi.is_none();
        let frees = self.names_used.mentioned.contains("free")
            || self.names_used.mentioned.contains("realloc");
        asked && (frees || self.options.check_leaks || !self.published.is_empty())
    }

    /// Whether it is checked that a use knows of the allocation.
    pub(super) fn checks_allocations(&self) -> bool {
        let asked = self.options.asked.checks_memory() && self.mpi.is_none();
        asked && self.options.orders == Orders::Kept && self.allocates_at_all()
    }

    fn allocates_at_all(&self) -> bool {
        let named = |name: &str| self.names_used.mentioned.contains(name);
        let all = ["malloc", "calloc", "aligned_alloc", "memalign", "realloc"];
        all.into_iter().any(named)
    }

    /// The status of a new object.
    fn status(&mut self, object: &Object, span: Span) -> GlobalId {
        let end = if object.on_stack { "gone" } else { "freed" };
        let status = self.global(format!("{}.{end}", object.name), None, span);
        self.statuses.insert(status);
        status
    }

    /// The newest object, with a status.
    fn replaced(&mut self, object: &Object, status: GlobalId) -> Rc<Object> {
        let object = Rc::new(Object {
            status: Some(status),
            ..object.clone()
        });
        self.objects.pop();
        self.objects.push(object.clone());
        object
    }
}

impl Code<'_, '_> {
    /// Reads a status and asserts that it is not `bad`.
    fn check_status(&mut self, status: GlobalId, bad: i64, kind: AssertKind, span: Span) {
        let dst = self.temporary(span);
        let src = Memory::scalar(status);
        self.emit(Step::Load { dst, src }, span);
        let cond = LocalExpr::binary(BinOp::Ne, self.read(dst), Ir::Const(bad));
        self.emit(Step::Assert { cond, kind }, span);
    }

    fn set_status(&mut self, status: GlobalId, value: i64, span: Span) {
        let dst = Memory::scalar(status);
        let value = Ir::Const(value);
        self.emit(Step::Store { dst, value }, span);
    }

    /// Before an access of an object: it is allocated, and not freed.
    fn check_object(&mut self, object: &Object, span: Span) {
        if let Some((thread, allocation)) = object.allocation
            && thread != self.thread
        {
            let kind = AssertKind::Memory(MemoryError::UseBeforeAllocation);
            self.check_status(allocation, MISSING, kind, span);
        }
        if let Some(status) = object.status {
            self.check_status(status, FREED, used(object), span);
        }
    }

    /// Before an access: what it touches is not freed. Inside a block of the library nothing is
    /// checked, since it was before.
    pub(super) fn check_live(&mut self, place: &Place, span: Span) {
        if !(self.cx.checks_lifetimes() || self.cx.checks_allocations()) || self.block_depth > 0 {
            return;
        }
        let (address, object, among, ty) = match place {
            Place::Variable { object, .. } => {
                if !object.on_stack {
                    self.check_object(&object.clone(), span);
                }
                return;
            }
            Place::Address {
                address,
                object,
                among,
                ty,
                ..
            } => (address, *object, among.as_ref(), ty.clone()),
        };
        if let Some(k) = object {
            if let Some(object) = self.cx.object_number(k) {
                self.check_object(&object, span);
            }
            return;
        }
        let objects = self.cx.targets(None, among, self.thread);
        let fits = |o: &Rc<Object>| o.leaves.iter().any(|leaf| compatible(&leaf.ty, &ty));
        let has_check = |o: &Rc<Object>| {
            o.status.is_some() || o.allocation.is_some_and(|(t, _)| t != self.thread)
        };
        let checked = objects.into_iter().filter(|o| has_check(o) && fits(o));
        let checked: Vec<Rc<Object>> = checked.collect();
        if checked.is_empty() {
            return;
        }
        let join = self.graph.loc();
        for object in checked {
            let (yes, no) = (self.graph.loc(), self.graph.loc());
            let inside = within(address, &object);
            self.assume(inside.clone(), yes, span);
            self.assume(inside.negate(), no, span);
            self.here = yes;
            self.check_object(&object, span);
            self.go(join, span);
            self.here = no;
        }
        self.go(join, span);
        self.here = join;
    }

    /// What `malloc` has made, with what says so where other threads may not know it.
    pub(super) fn with_allocation(&mut self, object: Rc<Object>, span: Span) -> Rc<Object> {
        // What `main` does before it starts a thread happens before all that threads do.
        let is_first = self.thread == 0 && self.loop_depth == 0 && self.cx.plans.len() <= 1;
        if is_first || !self.cx.checks_allocations() {
            return object;
        }
        let name = format!("{}.allocated", object.name);
        let allocation = self.cx.global(name, None, span);
        self.cx.allocations.insert(allocation);
        self.set_status(allocation, MADE, span);
        let object = Rc::new(Object {
            allocation: Some((self.thread, allocation)),
            ..Object::clone(&object)
        });
        self.cx.objects.pop();
        self.cx.objects.push(object.clone());
        object
    }

    /// What `malloc` has made, with a status where that is needed.
    pub(super) fn with_status(&mut self, object: Rc<Object>, span: Span) -> Rc<Object> {
        if !self.cx.checks_lifetimes() {
            return object;
        }
        let status = self.cx.status(&object, span);
        if self.cx.options.check_leaks {
            self.cx.globals[status.index()].init = vec![Init::Value(NEVER)];
            self.set_status(status, LIVE, span);
        }
        self.cx.replaced(&object, status)
    }

    /// Whether the next object is a published local variable.
    pub(super) fn is_published(&self) -> bool {
        self.cx.published.contains(&self.cx.objects.len())
    }

    /// A pointer goes where other threads can read it.
    pub(super) fn note_published(&mut self, pointer: &Val) {
        let target = pointer.object.and_then(|k| self.cx.object_number(k));
        if let (Some(k), Some(target)) = (pointer.object, target)
            && target.on_stack
        {
            self.cx.published.insert(k);
        }
    }

    /// A published local variable, which lives from here until its function returns.
    pub(super) fn until_return(&mut self, object: Rc<Object>, span: Span) -> Rc<Object> {
        let is_main = self.thread == 0 && self.frames.len() == 1;
        if is_main || !self.cx.checks_lifetimes() {
            return object;
        }
        let status = self.cx.status(&object, span);
        self.set_status(status, LIVE, span);
        self.frame().published.push(status);
        self.cx.replaced(&object, status)
    }

    /// A function returns, or all functions of a thread that exits.
    pub(super) fn end_lives(&mut self, published: &[GlobalId], span: Span) {
        for status in published {
            self.set_status(*status, FREED, span);
        }
    }

    /// `free(p)`.
    pub(super) fn free(&mut self, pointer: &Expr, span: Span) -> Lower<()> {
        let pointer = self.value(pointer)?;
        self.free_value(pointer, span);
        Ok(())
    }

    /// The same, of a pointer that was evaluated.
    pub(super) fn free_value(&mut self, pointer: Val, span: Span) {
        if !self.cx.checks_lifetimes() || pointer.as_constant() == Some(0) {
            return;
        }
        let pointer = self.saved(pointer, span);
        let address = pointer.e.clone();
        // All of them: freeing another one is a violation.
        let objects = self.cx.targets(pointer.object, None, self.thread);
        let allocated: Vec<(GlobalId, i64)> = objects
            .iter()
            .filter(|o| !o.on_stack)
            .filter_map(|o| Some((o.status?, o.base?)))
            .collect();
        let (join, done) = (self.graph.loc(), self.graph.loc());
        let null = is(&address, 0);
        let mut any = null.clone();
        for (_, base) in &allocated {
            any = any.or(is(&address, *base));
        }
        let kind = AssertKind::Memory(MemoryError::InvalidFree);
        self.oblige(any, kind, span);
        let start = self.here;
        self.assume(null, join, span);
        for (status, base) in allocated {
            let here = self.graph.loc();
            self.here = start;
            self.assume(is(&address, base), here, span);
            self.here = here;
            self.check_status(
                status,
                FREED,
                AssertKind::Memory(MemoryError::DoubleFree),
                span,
            );
            self.set_status(status, FREED, span);
            self.go(join, span);
        }
        self.here = join;
        self.go(done, span);
        self.here = done;
    }

    /// The program ends here.
    pub(super) fn check_leaks(&mut self, span: Span) {
        if !self.cx.options.check_leaks || !self.cx.checks_lifetimes() {
            return;
        }
        let kind = match self.cx.options.asked {
            // SV-COMP asks for what nothing points to any more, which is not followed here.
            Asked::Memory => AssertKind::Unsupported("memory that is not freed in the end".into()),
            _ => AssertKind::Memory(MemoryError::Leak),
        };
        let count = self.cx.objects.len().max(self.cx.previous.objects.len());
        for k in 0..count {
            if let Some(object) = self.cx.object_number(k)
                && let (Some(status), false) = (object.status, object.on_stack)
            {
                self.check_status(status, LIVE, kind.clone(), span);
            }
        }
    }
}

/// Removes the checks of objects that nothing frees, and what nobody asks about.
pub(super) fn settle(
    program: &mut Program,
    statuses: &BTreeSet<GlobalId>,
    allocations: &BTreeSet<GlobalId>,
) {
    let mut unasked = allocations.clone();
    for edge in program.templates.iter().flat_map(|t| &t.cfg.edges) {
        if let Step::Load { src, .. } = &edge.step {
            unasked.remove(&src.var);
        }
    }
    for edge in program.templates.iter_mut().flat_map(|t| &mut t.cfg.edges) {
        if matches!(&edge.step, Step::Store { dst, .. } if unasked.contains(&dst.var)) {
            edge.step = Step::Skip;
        }
    }
    let mut stored = BTreeSet::new();
    for template in &program.templates {
        note_stores(&template.cfg, &mut stored);
    }
    let settled: BTreeSet<GlobalId> = statuses.difference(&stored).copied().collect();
    if settled.is_empty() {
        return;
    }
    for template in &mut program.templates {
        remove_checks(&mut template.cfg, &settled);
        template.cfg = without_skips(&template.cfg);
    }
}

fn note_stores(cfg: &Cfg, stored: &mut BTreeSet<GlobalId>) {
    for edge in &cfg.edges {
        if let Step::Store { dst, .. } = &edge.step {
            stored.insert(dst.var);
        }
        if let Some(block) = edge.step.block() {
            note_stores(&block.body, stored);
        }
    }
}

/// Each load of a status is followed by the assertion about it, and by nothing else.
fn remove_checks(cfg: &mut Cfg, settled: &BTreeSet<GlobalId>) {
    let mut removed = Vec::new();
    for edge in &mut cfg.edges {
        match &mut edge.step {
            Step::Load { dst, src } if settled.contains(&src.var) => {
                removed.push((edge.to, *dst));
                edge.step = Step::Skip;
            }
            Step::Atomic(block) => remove_checks(&mut block.body, settled),
            Step::Load { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
            Step::Havoc { .. } | Step::Store { .. } | Step::Fence(_) | Step::Assert { .. } => {}
            Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => {}
        }
    }
    for edge in &mut cfg.edges {
        let about = |cond: &LocalExpr| {
            removed.iter().any(|(loc, dst)| {
                *loc == edge.from && cond.any_atom(|a| *a == LocalAtom::Local(*dst))
            })
        };
        if matches!(&edge.step, Step::Assert { cond, .. } if about(cond)) {
            edge.step = Step::Skip;
        }
    }
}
