//! *Effects*: assignments, atomic operations, calls.
//!
//! A function that gets a pointer to a member or to a shared variable is read once for each place that it is given; one that gets
//! a pointer to a local of its caller has a reference to it.

use palisade_program::Span;

use super::body::{Body, block_of};
use super::kinds::{Kind, Slot};
use super::operation::{Atomic, Cas, Expected, atomic, is_fence, uncast};
use super::place::{Passable, Spot};
use super::reader::{Passed, Sort, callee, number};
use super::value::{expr, is_allocation, statement};
use super::{Read, refused};
use crate::c::ast::{Binary, Expr, ExprKind, Stmt, Unary};
use crate::c::parser::constant;
use crate::c::types::Type;
use crate::heap::ast as heap;

/// gcc's number of sequential consistency.
const SEQ_CST: i128 = 5;

/// What a function of the library does to a lock.
enum Lock {
    Acquire,
    Release,
    Nothing,
}

fn lock(name: &str) -> Option<Lock> {
    Some(match name {
        "pthread_mutex_lock" | "pthread_spin_lock" | "mtx_lock" => Lock::Acquire,
        "pthread_mutex_unlock" | "pthread_spin_unlock" | "mtx_unlock" => Lock::Release,
        "pthread_mutex_init"
        | "pthread_spin_init"
        | "mtx_init"
        | "pthread_mutex_destroy"
        | "pthread_spin_destroy"
        | "mtx_destroy" => Lock::Nothing,
        _ => return None,
    })
}

fn path(path: &heap::Path, span: Span) -> heap::Expr {
    expr(heap::ExprKind::Path(path.clone()), span)
}

impl Body<'_, '_> {
    pub(super) fn statements(&mut self, body: &[Stmt]) {
        self.list(body);
    }

    /// An expression for what it does.
    pub(super) fn effect(&mut self, e: &Expr) -> Read<()> {
        let span = e.span;
        match &e.kind {
            ExprKind::Cast(_, a) => self.effect(a),
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.effect(b)
            }
            ExprKind::Assign(None, to, value) => self.store(to, value, span).map(|_| ()),
            ExprKind::Assign(Some(op), to, by) => {
                self.change(to, *op, Some(by), span, false).map(|_| ())
            }
            ExprKind::Unary(Unary::PreIncrement | Unary::PostIncrement, a) => {
                self.change(a, Binary::Add, None, span, false).map(|_| ())
            }
            ExprKind::Unary(Unary::PreDecrement | Unary::PostDecrement, a) => {
                self.change(a, Binary::Sub, None, span, false).map(|_| ())
            }
            ExprKind::Call(f, args) => self.call_for_effect(f, args, span),
            ExprKind::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                let c = self.condition(a)?;
                let (done, inner) = self.apart(|body| body.effect(b));
                done?;
                let c = if *op == Binary::And {
                    c
                } else {
                    expr(heap::ExprKind::Not(Box::new(c)), span)
                };
                self.emit(heap::StmtKind::If(c, block_of(inner, span), None), span);
                Ok(())
            }
            ExprKind::Cond(c, a, b) => {
                let c = self.condition(c)?;
                let (first, yes) =
                    self.apart(|body| a.as_deref().map_or(Ok(()), |a| body.effect(a)));
                let (second, no) = self.apart(|body| body.effect(b));
                first?;
                second?;
                self.emit(
                    heap::StmtKind::If(c, block_of(yes, span), Some(block_of(no, span))),
                    span,
                );
                Ok(())
            }
            ExprKind::Statements(body) => {
                self.statements(body);
                Ok(())
            }
            ExprKind::Unary(_, a) | ExprKind::Member(a, _) | ExprKind::Arrow(a, _) => {
                self.effect(a)
            }
            ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => {
                self.effect(a)?;
                self.effect(b)
            }
            ExprKind::Int(..)
            | ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Ident(_)
            | ExprKind::Compound(..)
            | ExprKind::UnknownSize => Ok(()),
        }
    }

    /// The place that is written and its name.
    fn written(&mut self, to: &Expr) -> Read<(Spot, heap::Path, Sort)> {
        let spot = self.place(to)?;
        let Some(sort) = self.spot_sort(&spot) else {
            return refused(
                to.span,
                "an assignment of this type",
                "assign integers and pointers to nodes",
            );
        };
        let named = self.named_place(&spot, to.span)?;
        Ok((spot, named, sort))
    }

    /// Where one operand is on the way to a place and another is a value, both may read shared memory.
    fn in_order(&self, to: &heap::Path, values: &[&heap::Expr], span: Span) -> Read<()> {
        let mut way = to.clone();
        way.parts.pop();
        let is_way = !to.parts.is_empty() && self.reads(&path(&way, span));
        let readers = values.iter().filter(|e| self.reads(e)).count() + usize::from(is_way);
        if readers > 1 {
            return refused(
                span,
                "operands of which both touch shared memory, in an order that C leaves open",
                "put one of them into a local first",
            );
        }
        Ok(())
    }

    fn store(&mut self, to: &Expr, value: &Expr, span: Span) -> Read<Option<heap::Expr>> {
        if self.sort_of(to) == Some(Sort::Object) {
            self.object_value(value)?;
            if let ExprKind::Ident(name) = &to.kind {
                self.meanings
                    .entry(name.clone())
                    .or_insert(super::body::Meaning::Object);
            }
            return Ok(None);
        }
        let (spot, named, sort) = self.written(to)?;
        let value = self.value(value, sort)?;
        self.in_order(&named, &[&value], span)?;
        self.put(&spot, named, value, spot.ty.is_atomic(), span);
        Ok(None)
    }

    /// Writes a value; `ordered`: nothing that follows comes before it.
    fn put(&mut self, spot: &Spot, to: heap::Path, value: heap::Expr, ordered: bool, span: Span) {
        self.assign(to, value, span);
        if ordered && self.reader.fences && !Self::is_local(spot) {
            self.emit(heap::StmtKind::Fence, span);
        }
    }

    /// `x += by`, `x++`; gives what was there before or is there then, if `wanted`.
    fn change(
        &mut self,
        to: &Expr,
        op: Binary,
        by: Option<&Expr>,
        span: Span,
        wanted: bool,
    ) -> Read<Option<(heap::Expr, heap::Expr)>> {
        if !matches!(op, Binary::Add | Binary::Sub) {
            return refused(span, "this operation", "use + and -");
        }
        self.reader.note_numbers();
        let minus = op == Binary::Sub;
        let (spot, named, sort) = self.written(to)?;
        let by = match by {
            Some(by) => self.value(by, Sort::Value(Kind::Number))?,
            None => number(1, span),
        };
        self.in_order(&named, &[&by], span)?;
        let sum = |old: heap::Expr| {
            let kind = heap::ExprKind::Add(Box::new(old), Box::new(by.clone()), minus);
            expr(kind, span)
        };
        if spot.ty.is_atomic() && !Self::is_local(&spot) {
            let add = Self::fetch_add(named, by.clone(), minus, span);
            if !wanted {
                self.emit(heap::StmtKind::Swap(add), span);
                return Ok(None);
            }
            let old = self.temporary(sort, span)?;
            self.assign(old.clone(), add, span);
            return Ok(Some((path(&old, span), sum(path(&old, span)))));
        }
        if !wanted {
            let value = sum(path(&named, span));
            self.assign(named, value, span);
            return Ok(None);
        }
        let old = self.temporary(sort, span)?;
        self.assign(old.clone(), path(&named, span), span);
        self.assign(named, sum(path(&old, span)), span);
        Ok(Some((path(&old, span), sum(path(&old, span)))))
    }

    fn fetch_add(to: heap::Path, by: heap::Expr, minus: bool, span: Span) -> heap::Expr {
        let by = match (minus, by.number()) {
            (false, _) => by,
            (true, Some(by)) => number(-i128::from(by), span),
            (true, None) => {
                let kind = heap::ExprKind::Add(Box::new(number(0, span)), Box::new(by), true);
                expr(kind, span)
            }
        };
        expr(heap::ExprKind::Swap(to, Box::new(by), true), span)
    }

    /// The value of an assignment or increment of shared memory.
    pub(super) fn changed(&mut self, e: &Expr, want: Sort) -> Read<heap::Expr> {
        let span = e.span;
        let both = match &e.kind {
            ExprKind::Assign(None, to, value) => {
                let value = self.value(value, want)?;
                let local = self.temporary(want, span)?;
                self.assign(local.clone(), value, span);
                let (spot, named, _) = self.written(to)?;
                self.put(&spot, named, path(&local, span), spot.ty.is_atomic(), span);
                return Ok(path(&local, span));
            }
            ExprKind::Assign(Some(op), to, by) => self.change(to, *op, Some(by), span, true)?,
            ExprKind::Unary(op, a) => {
                let is_plus = matches!(op, Unary::PreIncrement | Unary::PostIncrement);
                let op = if is_plus { Binary::Add } else { Binary::Sub };
                self.change(a, op, None, span, true)?
            }
            _ => None,
        };
        let is_old = matches!(
            e.kind,
            ExprKind::Unary(Unary::PostIncrement | Unary::PostDecrement, _)
        );
        match both {
            Some((old, _)) if is_old => Ok(old),
            Some((_, new)) => Ok(new),
            None => refused(span, "the value of this", "do it in a statement of its own"),
        }
    }

    // ---- calls ----

    /// The sort of what an atomic operation gives.
    pub(super) fn atomic_sort(&self, at: &Expr, operation: &Atomic<'_>) -> Option<Sort> {
        match operation {
            Atomic::Load | Atomic::Exchange(_) | Atomic::Add { .. } | Atomic::Other => {
                self.pointed_sort(at)
            }
            Atomic::Cas(cas) => match cas.expected {
                Expected::Found(_) => self.pointed_sort(at),
                Expected::Variable(_) | Expected::Value(_) => Some(Sort::Value(Kind::Truth)),
            },
            Atomic::TestAndSet => Some(Sort::Value(Kind::Truth)),
            Atomic::Store(..) | Atomic::Clear(_) | Atomic::Initialise(_) => None,
        }
    }

    fn call_for_effect(&mut self, f: &Expr, args: &[Expr], span: Span) -> Read<()> {
        let name = callee(f)?;
        if is_fence(name) {
            if Self::is_seq_cst(args.first()) {
                self.emit(heap::StmtKind::Fence, span);
            }
            return Ok(());
        }
        if let Some((at, operation)) = atomic(name, args) {
            return match operation {
                Atomic::Store(value, order) => {
                    let is_ordered = Self::is_seq_cst(order);
                    self.atomic_store(at, value, is_ordered, span)
                }
                Atomic::Initialise(value) => self.atomic_store(at, value, false, span),
                Atomic::Clear(order) => {
                    let is_ordered = name != "__sync_lock_release" && Self::is_seq_cst(order);
                    let (spot, named, sort) = self.atomic_place(at)?;
                    let kind = if sort == Sort::Value(Kind::Truth) {
                        heap::ExprKind::Bool(false)
                    } else {
                        heap::ExprKind::Int(0)
                    };
                    self.put(&spot, named, expr(kind, span), is_ordered, span);
                    Ok(())
                }
                Atomic::Load => Ok(()),
                _ => {
                    let value = self.atomic_value(at, &operation, span)?;
                    match value.kind {
                        heap::ExprKind::Cas(..) => self.emit(heap::StmtKind::Cas(value), span),
                        heap::ExprKind::Swap(..) => self.emit(heap::StmtKind::Swap(value), span),
                        heap::ExprKind::Not(inner)
                            if matches!(inner.kind, heap::ExprKind::Cas(..)) =>
                        {
                            self.emit(heap::StmtKind::Cas(*inner), span);
                        }
                        _ => {}
                    }
                    Ok(())
                }
            };
        }
        if let (Some(lock), Some(at)) = (lock(name), args.first()) {
            let spot = self.target(at)?;
            let named = self.named_place(&spot, span)?;
            match lock {
                Lock::Acquire => self.emit(heap::StmtKind::Lock(named), span),
                Lock::Release => self.emit(heap::StmtKind::Unlock(named), span),
                Lock::Nothing => {}
            }
            return Ok(());
        }
        match (name, args) {
            ("free", [pointer]) => {
                let Some(sort @ Sort::Node(_)) = self.sort_of(pointer) else {
                    return refused(span, "freeing this", "free nodes only");
                };
                let value = self.value(pointer, sort)?;
                self.emit(heap::StmtKind::Free(value), span);
                Ok(())
            }
            ("__palisade_assert", [c]) => {
                let c = self.condition(c)?;
                self.emit(heap::StmtKind::Assert(c), span);
                Ok(())
            }
            ("__VERIFIER_assume" | "__CPROVER_assume" | "assume_abort_if_not", [c]) => {
                let c = self.condition(c)?;
                self.emit(heap::StmtKind::Assume(c), span);
                Ok(())
            }
            _ if crate::c::lower::is_silent(name)
                || matches!(name, "_mm_pause" | "__builtin_ia32_pause" | "cpu_relax") =>
            {
                Ok(())
            }
            _ => {
                let call = self.call_function(name, args, span)?;
                self.emit(heap::StmtKind::Call(call), span);
                Ok(())
            }
        }
    }

    /// The value of a call.
    pub(super) fn called(
        &mut self,
        f: &Expr,
        args: &[Expr],
        want: Sort,
        span: Span,
    ) -> Read<heap::Expr> {
        let name = callee(f)?;
        if let Some((at, operation)) = atomic(name, args) {
            return self.atomic_value(at, &operation, span);
        }
        if is_allocation(name) {
            return match self.reader.allocated(args) {
                Some(Type::Struct(id)) if want == Sort::Node(id) => {
                    if name != "calloc" {
                        self.reader.note_allocation();
                    }
                    let name = super::reader::named(&self.reader.node_name(id), span);
                    Ok(expr(heap::ExprKind::New(name), span))
                }
                _ => refused(
                    span,
                    "this allocation",
                    "allocate `sizeof` of the struct that the pointer leads to",
                ),
            };
        }
        match (name, args) {
            ("__builtin_expect", [value, ..]) => self.value(value, want),
            ("__VERIFIER_nondet_bool", []) => Ok(expr(heap::ExprKind::Any, span)),
            _ => self.call_function(name, args, span),
        }
    }

    /// A call of a function of the program.
    pub(super) fn call_function(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Read<heap::Expr> {
        let Some(called) = self.reader.unit.functions.get(name).cloned() else {
            let what = format!("a call of `{name}`, which is not defined here");
            return refused(
                span,
                &what,
                "give its file, or take it out of the data structure",
            );
        };
        if args.len() != called.parameters.len() {
            return refused(
                span,
                "a call with another number of arguments",
                "give one for each parameter",
            );
        }
        let (mut passed, mut arguments) = (Vec::new(), Vec::new());
        for (parameter, arg) in called.parameters.iter().zip(args) {
            let ty = &called.locals[parameter];
            let slot = Slot::Local(name.to_owned(), parameter.clone());
            match self.reader.sort(ty, Some(&slot)) {
                Some(Sort::Object) => {
                    self.object_value(arg)?;
                    passed.push(Passed::Object);
                }
                Some(sort) if !leads_to_value(ty) => {
                    arguments.push(self.value(arg, sort)?);
                    passed.push(Passed::Value);
                }
                _ if ty.is_pointer() => {
                    let spot = self.target(arg)?;
                    let Some((way, how)) = Self::passable(&spot) else {
                        return refused(
                            arg.span,
                            "a pointer to an element of an array",
                            "pass the index",
                        );
                    };
                    arguments.extend(way.map(|way| path(&way, arg.span)));
                    passed.push(match how {
                        Passable::Shared(root, path) => Passed::Shared(root, path),
                        Passable::Member(id, path) => Passed::Member(id, path),
                        Passable::Local => Passed::Reference,
                    });
                }
                _ => {
                    return refused(
                        arg.span,
                        "an argument of this type",
                        "pass integers and pointers",
                    );
                }
            }
        }
        if arguments.iter().filter(|e| self.reads(e)).count() > 1 {
            return refused(
                span,
                "arguments of which several touch shared memory, in an order that C leaves open",
                "put them into locals first",
            );
        }
        let name = self.reader.function_name(name, &passed);
        let name = super::reader::named(&name, span);
        Ok(expr(heap::ExprKind::Call(name, arguments), span))
    }

    // ---- atomic operations ----

    fn atomic_place(&mut self, at: &Expr) -> Read<(Spot, heap::Path, Sort)> {
        let spot = self.target(at)?;
        let Some(sort) = self.spot_sort(&spot) else {
            return refused(
                at.span,
                "an atomic operation on this type",
                "use integers and pointers to nodes",
            );
        };
        let named = self.named_place(&spot, at.span)?;
        Ok((spot, named, sort))
    }

    fn atomic_store(&mut self, at: &Expr, value: &Expr, ordered: bool, span: Span) -> Read<()> {
        let (spot, named, sort) = self.atomic_place(at)?;
        let value = self.value(value, sort)?;
        self.in_order(&named, &[&value], span)?;
        self.put(&spot, named, value, ordered, span);
        Ok(())
    }

    /// Whether an operation is sequentially consistent: it says so, or says nothing.
    fn is_seq_cst(order: Option<&Expr>) -> bool {
        order.is_none_or(|order| constant(uncast(order)).is_none_or(|v| v & 0xff == SEQ_CST))
    }

    fn atomic_value(&mut self, at: &Expr, operation: &Atomic<'_>, span: Span) -> Read<heap::Expr> {
        let (_, named, sort) = self.atomic_place(at)?;
        match operation {
            Atomic::Load => Ok(path(&named, span)),
            Atomic::Exchange(value) => {
                let value = self.value(value, sort)?;
                self.in_order(&named, &[&value], span)?;
                if sort == Sort::Value(Kind::Truth)
                    && matches!(value.kind, heap::ExprKind::Bool(true))
                {
                    return Ok(Self::test_and_set(named, span));
                }
                Ok(expr(
                    heap::ExprKind::Swap(named, Box::new(value), false),
                    span,
                ))
            }
            Atomic::Add { by, minus, new } => {
                self.reader.note_numbers();
                let by = self.value(by, Sort::Value(Kind::Number))?;
                self.in_order(&named, &[&by], span)?;
                let add = Self::fetch_add(named, by.clone(), *minus, span);
                if !new {
                    return Ok(add);
                }
                let old = self.temporary(sort, span)?;
                self.assign(old.clone(), add, span);
                let kind = heap::ExprKind::Add(Box::new(path(&old, span)), Box::new(by), *minus);
                Ok(expr(kind, span))
            }
            Atomic::Cas(cas) => self.compare_and_swap(named, sort, cas, span),
            Atomic::TestAndSet => Ok(Self::test_and_set(named, span)),
            Atomic::Other => refused(span, "atomic operations on bits", "use + and -"),
            Atomic::Store(..) | Atomic::Clear(_) | Atomic::Initialise(_) => refused(
                span,
                "the value of a store",
                "do it in a statement of its own",
            ),
        }
    }

    fn test_and_set(named: heap::Path, span: Span) -> heap::Expr {
        let truth = |value| expr(heap::ExprKind::Bool(value), span);
        let cas = heap::ExprKind::Cas(Box::new(heap::Cas {
            place: named,
            expect: truth(false),
            new: truth(true),
            found: None,
            is_weak: false,
        }));
        let cas = expr(cas, span);
        expr(heap::ExprKind::Not(Box::new(cas)), span)
    }

    fn compare_and_swap(
        &mut self,
        to: heap::Path,
        sort: Sort,
        cas: &Cas<'_>,
        span: Span,
    ) -> Read<heap::Expr> {
        let (mut variable, mut found) = (None, None);
        let expected = match cas.expected {
            Expected::Variable(at) => {
                let spot = self.target(at)?;
                if !Self::is_local(&spot) {
                    return refused(at.span, "an expected value in shared memory", "use a local");
                }
                let named = self.named_place(&spot, at.span)?;
                let value = path(&named, span);
                variable = Some(named);
                value
            }
            Expected::Value(e) => self.value(e, sort)?,
            Expected::Found(e) => {
                found = Some(self.temporary(sort, span)?);
                self.value(e, sort)?
            }
        };
        let new = self.value(cas.new, sort)?;
        self.in_order(&to, &[&expected, &new], span)?;
        if let Some(found) = found {
            let write = statement(to.clone(), new, span);
            let is_it = equal(path(&found, span), expected, span);
            let body = vec![
                statement(found.clone(), path(&to, span), span),
                when(is_it, vec![write], None, span),
            ];
            self.emit(heap::StmtKind::Atomic(body), span);
            return Ok(path(&found, span));
        }
        let swap = heap::ExprKind::Cas(Box::new(heap::Cas {
            place: to,
            expect: expected,
            new,
            found: variable.filter(|_| self.live.contains(span)),
            is_weak: cas.may_fail,
        }));
        Ok(expr(swap, span))
    }
}

/// Whether a pointer leads to values: an integer, a truth value, a pointer.
fn leads_to_value(ty: &Type) -> bool {
    ty.pointee().is_some_and(Type::is_scalar)
}

fn when(
    c: heap::Expr,
    then: Vec<heap::Stmt>,
    other: Option<Vec<heap::Stmt>>,
    span: Span,
) -> heap::Stmt {
    let other = other.map(|other| block_of(other, span));
    heap::Stmt {
        kind: heap::StmtKind::If(c, block_of(then, span), other),
        span,
    }
}

fn equal(a: heap::Expr, b: heap::Expr, span: Span) -> heap::Expr {
    expr(
        heap::ExprKind::Compare(heap::Compare::Eq, Box::new(a), Box::new(b)),
        span,
    )
}
