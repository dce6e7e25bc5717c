//! *Shadows*: for each access that may be under way, a variable of the same shape as
//! the memory that it touches. It holds 0, or the number of the call that the access comes from.
//! An access looks at the shadows that conflict with it, one under way is marked, and what completes
//! it sets its shadows to 0.
//!
//! | part of an access | complete after |
//! |---|---|
//! | target | flush, unlock, fence, complete; quiet, barrier |
//! | origin | the same, and flush_local; for blocking calls their return |
//! | store to a shared window | what synchronises the window ([`super::window`]) |
//! | origin of a request | the same, and the wait of the request |
//! | write of GASPI | the delivery of a notification ([`super::gaspi`]); its origin also the wait for its queue |
//! | target of a request that brings a value | the same, and the wait of the request |

use palisade_program::{
    AssertKind, AtomicKind, BinOp, Expr as Ir, GlobalId, LocalExpr, Order, Place as Memory, Span,
    Step,
};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::graph::Op;
use super::super::layout::Cells;

/// Cells of one shadow at most: completing an access goes through all of them.
const MAX_SHADOW: u64 = 1024;

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) enum Class {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It is atomic.
    Atomic {
        /// The type that it is atomic for.
        datatype: i64,
        /// Where it starts in the memory's element, in bytes.
        phase: u64,
        /// What it does.
        change: AtomicClass,
    },
}

/// What an atomic access does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) enum AtomicClass {
    /// It reads.
    Read,
    /// It compares and swaps.
    Swap,
    /// It combines by the operation with this number.
    Combine(i64),
}

impl Class {
    /// Whether memory changes.
    const fn writes(self) -> bool {
        match self {
            Self::Read => false,
            Self::Write => true,
            Self::Atomic { change, .. } => !matches!(change, AtomicClass::Read),
        }
    }

    /// Whether two accesses of one cell conflict. Atomic ones do not if they are of one type, start at the same
    /// byte, and have the same operation; a read or a compare-and-swap goes with
    /// every operation (MPI's `same_op_no_op`, and what MPI's own examples ask for).
    pub(super) fn conflicts(self, other: Self) -> bool {
        match (self, other) {
            (
                Self::Atomic {
                    datatype: a,
                    phase: p,
                    change: x,
                },
                Self::Atomic {
                    datatype: b,
                    phase: q,
                    change: y,
                },
            ) if (a, p) == (b, q) => match (x, y) {
                (AtomicClass::Combine(op), AtomicClass::Combine(or)) => op != or,
                (AtomicClass::Read | AtomicClass::Swap, _)
                | (_, AtomicClass::Read | AtomicClass::Swap) => false,
            },
            (Self::Read | Self::Write | Self::Atomic { .. }, _) => self.writes() || other.writes(),
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "written",
            Self::Atomic { .. } => "atomic",
        }
    }
}

/// Which side of an operation an access is, and what completes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) enum Part {
    /// The target's memory.
    Target,
    /// A buffer of the origin.
    Origin,
    /// A buffer of the origin, in an operation with this request.
    RequestOrigin(usize),
    /// The target's memory, in an operation with this request that brings a value.
    RequestTarget(usize),
    /// OpenSHMEM, GASPI: the target's memory, until the network delivers the operation with this number.
    Delivered(usize),
    /// OpenSHMEM: the target's memory, in a put that a fence has ordered before later ones.
    Fenced,
    /// A store to a shared window of MPI, until its rank synchronises the window.
    Stored,
}

/// How an access meets what is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meeting {
    Plain,
    /// A load or store, which comes behind the stores of its rank.
    Own,
    /// OpenSHMEM: a fence may have ordered it behind others of the same PE.
    Ordered,
    /// OpenSHMEM: a wait for a value, which may be on its way.
    Wait,
}

/// An access that may be under way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) struct Access {
    /// The memory: an object and one of its leaves.
    pub(super) object: usize,
    pub(super) leaf: usize,
    /// The rank that has called the operation.
    pub(super) by: u32,
    /// The window (or context) and the rank that it goes to.
    pub(super) channel: usize,
    pub(super) to: u32,
    pub(super) part: Part,
    pub(super) class: Class,
}

/// An operation that is issued: who, where, over what.
#[derive(Clone)]
pub(super) struct Issue {
    pub(super) site: usize,
    pub(super) channel: usize,
    pub(super) to: u32,
    pub(super) request: Option<usize>,
    /// Whether the operation brings a value: the wait of its request completes all of it.
    pub(super) fetches: bool,
    /// GASPI: whether it is a notification that comes behind the writes before it.
    pub(super) covers: bool,
}

impl Issue {
    pub(super) const fn target(&self) -> Part {
        match self.request {
            Some(request) if self.fetches => Part::RequestTarget(request),
            Some(_) | None => Part::Target,
        }
    }

    pub(super) const fn origin(&self) -> Part {
        match self.request {
            Some(request) => Part::RequestOrigin(request),
            None => Part::Origin,
        }
    }

    /// OpenSHMEM: the target's memory, until the network delivers the operation.
    pub(super) const fn target_of_delivery(&self) -> Part {
        match self.request {
            Some(number) => Part::RequestTarget(number),
            None => Part::Target,
        }
    }
}

impl Code<'_, '_> {
    /// The object and leaf that a variable holds.
    pub(super) fn memory_of_variable(&self, var: GlobalId) -> Option<(usize, usize)> {
        let count = self.cx.objects.len().max(self.cx.previous.objects.len());
        (0..count).find_map(|k| {
            let object = self.cx.object_number(k)?;
            let is_it = |c: &Cells| matches!(c, Cells::Shared(v) if *v == var);
            object.cells.iter().position(is_it).map(|leaf| (k, leaf))
        })
    }

    /// The shadow of an access.
    fn shadow(&mut self, access: &Access, span: Span) -> Lower<(GlobalId, u64)> {
        let object = self.cx.object_number(access.object);
        let Some(leaf) = object.as_ref().and_then(|o| o.leaves.get(access.leaf)) else {
            return unsupported(span, "a remote access to this memory", "use an array");
        };
        let (count, is_array) = (leaf.count(), !leaf.dims.is_empty());
        if count > MAX_SHADOW {
            return unsupported(
                span,
                "a remote access to so large an array",
                "1024 elements at most are followed",
            );
        }
        let name = object.as_ref().map_or("", |o| &o.name);
        let part = match access.part {
            Part::Target => "target".to_owned(),
            Part::Origin => "origin".to_owned(),
            Part::RequestOrigin(n) => format!("origin.request{n}"),
            Part::RequestTarget(n) => format!("target.request{n}"),
            Part::Delivered(n) => format!("target.delivered{n}"),
            Part::Fenced => "target.fenced".to_owned(),
            Part::Stored => "stored".to_owned(),
        };
        let class = match access.class {
            Class::Read | Class::Write => access.class.word().to_owned(),
            Class::Atomic {
                datatype,
                phase,
                change,
            } => {
                let change = match change {
                    AtomicClass::Read => "read".to_owned(),
                    AtomicClass::Swap => "swap".to_owned(),
                    AtomicClass::Combine(op) => format!("op{op}"),
                };
                format!("atomic.{datatype}.{phase}.{change}")
            }
        };
        let name = format!(
            "{name}{}.{class}.by{}.{part}.{}.to{}",
            leaf.path, access.by, access.channel, access.to
        );
        let len = is_array.then_some(count as u32);
        Ok((self.cx.common(name, len, span), count))
    }

    /// The accesses under way that conflict with one of this class.
    fn rivals(&self, place: &Memory, class: Class) -> Vec<(Access, Vec<usize>)> {
        let Some(onesided) = &self.cx.onesided else {
            return Vec::new();
        };
        let Some((object, leaf)) = self.memory_of_variable(place.var) else {
            return Vec::new();
        };
        let me = self.me();
        let is_rival = |a: &Access| {
            let both_atomic = matches!(
                (a.class, class),
                (Class::Atomic { datatype: x, phase: p, .. }, Class::Atomic { datatype: y, phase: q, .. })
                    if (x, p) == (y, q)
            );
            // The library keeps the order of one rank's atomic operations on one location.
            (a.object, a.leaf) == (object, leaf)
                && a.class.conflicts(class)
                && !(both_atomic && a.by == me)
        };
        let all = onesided.tracked.accesses.iter();
        let all = all.filter(|(access, _)| is_rival(access));
        all.map(|(access, sites)| (access.clone(), sites.iter().copied().collect()))
            .collect()
    }

    /// Asserts that nothing is under way that conflicts with an access.
    pub(super) fn check_access(
        &mut self,
        place: &Memory,
        class: Class,
        what: &str,
        span: Span,
    ) -> Lower<()> {
        self.meet(place, class, (what, Meeting::Plain), span)
    }

    /// The same for a put or an atomic operation, which a fence may order.
    pub(super) fn check_ordered(
        &mut self,
        place: &Memory,
        class: Class,
        what: &str,
        span: Span,
    ) -> Lower<()> {
        self.meet(place, class, (what, Meeting::Ordered), span)
    }

    /// The same for a wait.
    pub(super) fn check_look(
        &mut self,
        place: &Memory,
        class: Class,
        what: &str,
        span: Span,
    ) -> Lower<()> {
        // A thread of the PE that stores there otherwise races with it.
        self.cx.atomic_accesses.insert((span, place.var));
        self.meet(place, class, (what, Meeting::Wait), span)
    }

    /// The same for a call that is over when it returns, without an access under way: other threads of the rank may race
    /// with it.
    pub(super) fn check_blocking(
        &mut self,
        place: &Memory,
        class: Class,
        what: &str,
        span: Span,
    ) -> Lower<()> {
        self.cx.plain_accesses.insert((span, place.var));
        self.check_access(place, class, what, span)
    }

    fn meet(
        &mut self,
        place: &Memory,
        class: Class,
        (what, meeting): (&str, Meeting),
        span: Span,
    ) -> Lower<()> {
        let me = self.me();
        for (access, sites) in self.rivals(place, class) {
            let is_own_write = access.by == me && access.class.writes();
            let mut fenced = None;
            match (meeting, access.part) {
                (Meeting::Ordered, Part::Fenced) if is_own_write => continue,
                (Meeting::Own, Part::Stored) if is_own_write => continue,
                (Meeting::Ordered, Part::Delivered(n) | Part::RequestTarget(n)) if is_own_write => {
                    let word = self.fenced_word(n, span);
                    fenced = Some(self.load_from(&Memory::scalar(word), span));
                }
                (Meeting::Wait, Part::Delivered(_)) if access.class == Class::Write => continue,
                (Meeting::Plain | Meeting::Own | Meeting::Ordered | Meeting::Wait, _) => {}
            }
            let (var, _) = self.shadow(&access, span)?;
            let object = self.cx.object_number(access.object);
            let name = object.map_or_else(String::new, |o| o.name.clone());
            let dst = self.temporary(span);
            let src = Memory {
                var,
                index: place.index.clone(),
                order: Order::Plain,
            };
            self.emit(Step::Load { dst, src }, span);
            let found = self.read(dst);
            if meeting == Meeting::Wait && access.class == Class::Write {
                let none = LocalExpr::binary(BinOp::Eq, found, Ir::Const(0));
                let why = "a wait for a value of a put of several elements, or in a loop";
                self.require(none, why, span);
                continue;
            }
            for number in sites {
                let site = self.cx.one_sided().tracked.sites[number].clone();
                let words = format!(
                    "remote race: {what} of `{name}` while {} is under way",
                    site.words
                );
                let kind = AssertKind::RemoteRace {
                    words,
                    other: site.span,
                };
                let mark = Ir::Const(number as i64 + 1);
                let mut cond = LocalExpr::binary(BinOp::Ne, found.clone(), mark);
                if let Some(fenced) = &fenced {
                    cond = cond.or(LocalExpr::binary(BinOp::Eq, fenced.clone(), Ir::Const(1)));
                }
                self.emit(Step::Assert { cond, kind }, span);
            }
        }
        Ok(())
    }

    /// A load or store of the rank's own memory: checks it, and runs `f` in the same step.
    pub(in super::super) fn own_access(
        &mut self,
        place: &Memory,
        class: Class,
        span: Span,
        f: impl FnOnce(&mut Self),
    ) {
        let shared = self.shared_window_of(place.var);
        if shared.is_some() && (self.order.is_some() || self.block_depth > 0) {
            // Neither at once nor under way: what they order is not MPI's to say.
            let why = "an atomic operation of C on a shared window";
            self.require(Ir::FALSE, why, span);
        }
        let shared = shared.filter(|_| class == Class::Write);
        if self.rivals(place, class).is_empty() && shared.is_none() {
            f(self);
            return;
        }
        let word = if class == Class::Read {
            "load"
        } else {
            "store"
        };
        let what = format!("{} {word}", self.whose());
        let is_outer = self.block_depth == 0;
        if is_outer {
            self.cx.plain_accesses.insert((span, place.var));
            self.emit_op(Op::Begin(AtomicKind::Block), span);
            self.block_depth += 1;
        }
        let mut checked = self.meet(place, class, (&what, Meeting::Own), span);
        if let (Ok(()), Some(window)) = (&checked, shared) {
            checked = self.mark_store(place, window, span);
        }
        if let Err(error) = checked
            && self.cx.errors.note(error).is_err()
        {
            self.refuse_run("this remote access", span);
        }
        f(self);
        if is_outer {
            self.block_depth -= 1;
            self.emit_op(Op::End, span);
        }
    }

    /// Notes that an access is under way from here on.
    pub(super) fn mark_access(
        &mut self,
        place: &Memory,
        (part, class): (Part, Class),
        issue: &Issue,
        span: Span,
    ) -> Lower<()> {
        let Some((object, leaf)) = self.memory_of_variable(place.var) else {
            return unsupported(span, "a remote access to this memory", "use a variable");
        };
        let access = Access {
            object,
            leaf,
            by: self.me(),
            channel: issue.channel,
            to: issue.to,
            part,
            class,
        };
        let sites = &mut self.cx.one_sided().tracked.accesses;
        sites.entry(access.clone()).or_default().insert(issue.site);
        let (var, _) = self.shadow(&access, span)?;
        let dst = Memory {
            var,
            index: place.index.clone(),
            order: Order::Plain,
        };
        let value = Ir::Const(issue.site as i64 + 1);
        self.emit(Step::Store { dst, value }, span);
        Ok(())
    }

    /// Completes the own accesses that `is_done` says.
    pub(super) fn complete_accesses(
        &mut self,
        is_done: &dyn Fn(&Access) -> bool,
        span: Span,
    ) -> Lower<()> {
        let me = self.me();
        for place in self.shadow_cells(&|a| a.by == me && is_done(a), span)? {
            self.store_to(&place, Ir::Const(0), span);
        }
        Ok(())
    }

    /// The cells of the shadows that `is_meant` says.
    pub(super) fn shadow_cells(
        &mut self,
        is_meant: &dyn Fn(&Access) -> bool,
        span: Span,
    ) -> Lower<Vec<Memory>> {
        let all = self.cx.one_sided().tracked.accesses.keys();
        let meant: Vec<Access> = all.filter(|a| is_meant(a)).cloned().collect();
        let mut cells = Vec::new();
        for access in meant {
            let (var, count) = self.shadow(&access, span)?;
            let is_array = self.cx.globals[var.index()].len.is_some();
            cells.extend((0..count).map(|k| Memory {
                var,
                index: is_array.then_some(Ir::Const(k as i64)),
                order: Order::Plain,
            }));
        }
        Ok(cells)
    }

    /// OpenSHMEM: a fence orders the puts that have no delivery of their own.
    pub(super) fn fence_accesses(&mut self, channel: usize, span: Span) -> Lower<()> {
        let is_put =
            |a: &Access| a.channel == channel && a.part == Part::Target && a.class.writes();
        self.shift_accesses(&is_put, &|_| Part::Fenced, span)
    }

    /// The own accesses that `is_meant` says are completed as another part says from here on.
    pub(super) fn shift_accesses(
        &mut self,
        is_meant: &dyn Fn(&Access) -> bool,
        shifted: &dyn Fn(Part) -> Part,
        span: Span,
    ) -> Lower<()> {
        let me = self.me();
        let all = self.cx.one_sided().tracked.accesses.iter();
        let meant = all.filter(|(a, _)| a.by == me && is_meant(a));
        let meant: Vec<_> = meant.map(|(a, sites)| (a.clone(), sites.clone())).collect();
        for (access, sites) in meant {
            let fenced = Access {
                part: shifted(access.part),
                ..access.clone()
            };
            let known = &mut self.cx.one_sided().tracked.accesses;
            known.entry(fenced.clone()).or_default().extend(sites);
            let (from, to) = (access, fenced);
            let from = self.shadow_cells(&|a| *a == from, span)?;
            let to = self.shadow_cells(&|a| *a == to, span)?;
            for (from, to) in from.iter().zip(&to) {
                let mark = self.load_from(from, span);
                let before = self.load_from(to, span);
                let is_new = LocalExpr::binary(BinOp::Ne, mark.clone(), Ir::Const(0));
                let value = Ir::Cond(Box::new(is_new), Box::new(mark), Box::new(before));
                self.store_to(to, value, span);
                self.store_to(from, Ir::Const(0), span);
            }
        }
        Ok(())
    }
}
