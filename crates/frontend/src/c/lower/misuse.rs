//! *Misuse* of the objects of the thread library: what POSIX and C11 leave undefined. Where
//! everything is asked about, each operation asserts what it needs
//! ([`AssertKind::LockMisuse`], [`AssertKind::ThreadMisuse`]).
//!
//! An object says in its number whether it was destroyed ([`DESTROYED`]) or never initialised
//! ([`RAW`]: automatic and allocated objects without initialiser; one that lives as long as the
//! program and is zero is initialised, as on Linux, unless it is a semaphore or a barrier, which only a call initialises).
//!
//! *Owners.* Which locks a thread holds is kept in registers of that thread, one for each lock that
//! it may name, so that others see nothing of it. Where control flow alone says that the thread
//! holds the lock, `targets` removes check and register again. An array of more than
//! [`MAX_OWNED`] locks, and what a pointer to one of that many may be, is not followed
//! anywhere.

use palisade_program::{
    Asked, AssertKind, BinOp, Expr as Ir, GlobalId, Init, LocalAtom, LocalExpr, LocalId,
    Place as Memory, Span, Step,
};

use super::cases::{Case, CellRef, cases_of_variable, is, push_cases};
use super::code::{Code, Lower};
use super::layout::compatible;
use super::place::Place;
use crate::c::types::{Opaque, Type};

/// What an object holds after `destroy`.
pub(super) const DESTROYED: i64 = -2;
/// What it holds before it is initialised.
pub(super) const RAW: i64 = -3;
/// Locks that one expression may mean, at most.
const MAX_OWNED: usize = 16;

/// Registers that are about threads, not about a lock.
const NO_LOCK: GlobalId = GlobalId(u32::MAX);

/// How often a thread holds a lock after an operation.
#[derive(Clone, Copy)]
pub(super) enum Hold {
    Once,
    Not,
    /// So many times more.
    More(i64),
}

/// A lock that an expression may mean: when, and where its owner says so.
struct Owned {
    when: LocalExpr,
    held: LocalId,
}

/// What people call an object of this type.
pub(super) fn noun(ty: &Type) -> &'static str {
    match ty.plain() {
        Type::Opaque(Opaque::Mutex { .. }) => "mutex",
        Type::Opaque(Opaque::Cond) => "condition variable",
        Type::Opaque(Opaque::Rwlock) => "rwlock",
        Type::Opaque(Opaque::Barrier) => "barrier",
        Type::Opaque(Opaque::Semaphore) => "semaphore",
        _ => "object",
    }
}

/// Whether an object of this type has to be initialised.
pub(super) fn needs_initialiser(ty: &Type) -> bool {
    match ty.plain() {
        Type::Opaque(of) => match of {
            Opaque::Mutex { .. } | Opaque::Cond | Opaque::Rwlock => true,
            Opaque::Barrier | Opaque::Semaphore => true,
            Opaque::Once | Opaque::Attributes(_) => false,
        },
        _ => false,
    }
}

impl Code<'_, '_> {
    /// Whether misuse is looked for.
    pub(super) fn checks_misuse(&self) -> bool {
        self.cx.options.asked == Asked::All
    }

    /// Asserts something about the use of a lock or its kin.
    pub(super) fn permit(&mut self, cond: LocalExpr, what: &str, span: Span) {
        if self.checks_misuse() {
            self.oblige(cond, AssertKind::LockMisuse(what.to_owned()), span);
        }
    }

    /// Asserts that an object that holds `old` is there.
    pub(super) fn permit_use(&mut self, ty: &Type, old: &LocalExpr, span: Span) {
        let noun = noun(ty);
        let what = format!("use of a destroyed {noun}");
        self.permit(is(old, DESTROYED).negate(), &what, span);
        let what = format!("use of a {noun} that was not initialised");
        self.permit(is(old, RAW).negate(), &what, span);
    }

    /// An object of the library without initialiser, of so many elements.
    pub(super) fn undefine_object(&mut self, var: GlobalId, count: u64, span: Span) {
        if self.loop_depth == 0 && !self.is_any {
            // Reached once at most.
            self.cx.globals[var.index()].init.fill(Init::Value(RAW));
            return;
        }
        let is_array = self.cx.globals[var.index()].len.is_some();
        for k in 0..count {
            let dst = Memory {
                index: is_array.then_some(Ir::Const(k as i64)),
                ..Memory::scalar(var)
            };
            let value = Ir::Const(RAW);
            self.emit(Step::Store { dst, value }, span);
        }
    }

    /// The locks that a place may be; `None` where that is not followed.
    fn owned(&mut self, place: &Place, span: Span) -> Lower<Option<Vec<Owned>>> {
        if !self.checks_misuse() {
            return Ok(None);
        }
        let cases = self.quiet_cases(place, span)?;
        let is_only = cases.len() == 1;
        let mut cells: Vec<(LocalExpr, GlobalId, u32)> = Vec::new();
        let mut variables = Vec::new();
        for case in cases {
            let CellRef::Shared(cell) = case.cell else {
                continue;
            };
            let when = if is_only { Ir::TRUE } else { case.when };
            let len = self.cx.length_of(cell.var);
            variables.push(cell.var);
            match cell.index {
                None => cells.push((when, cell.var, 0)),
                Some(Ir::Const(k)) => cells.push((when, cell.var, u32::try_from(k).unwrap_or(0))),
                Some(_) if len as usize > MAX_OWNED => self.cx.forget_owner(cell.var),
                Some(index) => cells.extend((0..len).map(|k| {
                    let here = is(&index, i64::from(k));
                    (when.clone().and(here), cell.var, k)
                })),
            }
        }
        if cells.len() > MAX_OWNED {
            for var in &variables {
                self.cx.forget_owner(*var);
            }
        }
        if variables.iter().any(|var| self.cx.has_no_owner(*var)) {
            return Ok(None);
        }
        let owned = cells.into_iter().map(|(when, var, k)| {
            let held = self.held_flag(var, k, span);
            Owned { when, held }
        });
        Ok(Some(owned.collect()))
    }

    /// The register that says whether this thread has joined another one.
    pub(super) fn claimed_flag(&mut self, thread: usize, span: Span) -> LocalId {
        let key = (NO_LOCK, thread as u32);
        if let Some(flag) = self.held_locks.get(&key) {
            return *flag;
        }
        let flag = self.hidden(span);
        self.untracked.insert(flag);
        self.held_locks.insert(key, flag);
        flag
    }

    /// The register that says how often this thread holds a lock.
    fn held_flag(&mut self, var: GlobalId, k: u32, span: Span) -> LocalId {
        if let Some(held) = self.held_locks.get(&(var, k)) {
            return *held;
        }
        let held = self.hidden(span);
        self.untracked.insert(held);
        self.held_locks.insert((var, k), held);
        held
    }

    /// The cells that a place may be, without checks that it is one of them.
    fn quiet_cases(&mut self, place: &Place, span: Span) -> Lower<Vec<Case>> {
        let (address, object, among, ty) = match place {
            Place::Variable {
                object,
                offset,
                index,
                ..
            } => return cases_of_variable(object, *offset, index, span),
            Place::Address {
                address,
                object,
                among,
                ty,
                ..
            } => (address, *object, among.as_ref(), ty),
        };
        let objects = self.cx.targets(object, among, self.thread);
        let mut cases = Vec::new();
        for object in &objects {
            for (k, leaf) in object.leaves.iter().enumerate() {
                if compatible(&leaf.ty, ty) {
                    push_cases(object, k, address, true, &mut cases);
                }
            }
        }
        cases.retain(|c| c.when != Ir::FALSE);
        Ok(cases)
    }

    /// From here on this thread holds the lock as often as that.
    pub(super) fn hold(&mut self, place: &Place, change: Hold, span: Span) -> Lower<()> {
        for Owned { when, held } in self.owned(place, span)?.unwrap_or_default() {
            let old: LocalExpr = Ir::Atom(LocalAtom::Local(held));
            let new = match change {
                Hold::Once => Ir::Const(1),
                Hold::Not => Ir::Const(0),
                Hold::More(by) => LocalExpr::binary(BinOp::Add, old.clone(), Ir::Const(by)),
            };
            let value = match when {
                Ir::Const(_) => new,
                when => Ir::Cond(Box::new(when), Box::new(new), Box::new(old)),
            };
            self.assign(held, value, span);
        }
        Ok(())
    }

    /// Asserts that this thread holds the lock.
    pub(super) fn permit_owner(&mut self, place: &Place, what: &str, span: Span) -> Lower<()> {
        let Some(owned) = self.owned(place, span)? else {
            return Ok(());
        };
        for Owned { when, held } in owned {
            let held: LocalExpr = Ir::Atom(LocalAtom::Local(held));
            let holds = LocalExpr::binary(BinOp::Gt, held, Ir::Const(0));
            let cond = match when {
                Ir::Const(_) => holds,
                when => when.negate().or(holds),
            };
            self.permit(cond, what, span);
        }
        Ok(())
    }
}

impl super::Context<'_> {
    fn length_of(&self, var: GlobalId) -> u32 {
        // A variable of a later thread: an earlier pass has it.
        let global = self.globals.get(var.index());
        global.and_then(|g| g.len).unwrap_or(MAX_OWNED as u32 + 1)
    }

    fn forget_owner(&mut self, var: GlobalId) {
        self.unowned.insert(var);
    }

    fn has_no_owner(&self, var: GlobalId) -> bool {
        self.unowned.contains(&var)
    }
}
