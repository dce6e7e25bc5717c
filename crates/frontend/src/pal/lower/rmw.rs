//! Atomic blocks, and the operations that are atomic blocks: `cas`, `xchg`,
//! `fetch_add`, `lock` and `unlock`. Blocks inside blocks dissolve. Operands are
//! evaluated before the block, in order; only the read and the write of the one
//! place are inside.

use palisade_program::{
    Atomic, AtomicKind, BinOp, Cfg, Expr as Value, LocalAtom, LocalExpr, LocalId, Order,
    Place as Memory, Span, Step,
};

use super::code::Code;
use super::expr::read_local;
use super::graph::Graph;
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, ExprKind, Place, Stmt};

impl Code<'_, '_> {
    /// `atomic { ... }`, `atomic(read) { ... }`
    pub(super) fn atomic(&mut self, kind: AtomicKind, body: &[Stmt], span: Span) {
        let region = self.frame().region;
        if region == 0 {
            self.frame().region = span.start;
        }
        self.atomically(kind, span, |code| code.block(body));
        self.frame().region = region;
    }

    /// Runs `f` with a graph of its own and adds that as one atomic step; inside an
    /// atomic block just runs `f`.
    fn atomically(&mut self, kind: AtomicKind, span: Span, f: impl FnOnce(&mut Self)) {
        self.atomic_depth += 1;
        if self.atomic_depth > 1 {
            if self.only_reads && kind != AtomicKind::Read {
                self.report(
                    Diagnostic::error(span, "a block that waits inside one that only reads")
                        .help("take it out of the `atomic(read)` block, or write `atomic`"),
                );
            }
            f(self);
            self.atomic_depth -= 1;
            return;
        }
        let mut inner = Graph::default();
        let entry = inner.loc();
        let outer = std::mem::replace(&mut self.graph, inner);
        let before = std::mem::replace(&mut self.here, entry);
        self.forget_assertions();
        self.only_reads = kind == AtomicKind::Read;
        f(self);
        self.only_reads = false;
        let inner = std::mem::replace(&mut self.graph, outer);
        let exit = std::mem::replace(&mut self.here, before);
        self.forget_assertions();
        self.atomic_depth -= 1;
        self.dead = false;
        let (body, _) = inner.finish(entry, exit);
        if kind == AtomicKind::Read {
            self.refuse_stores(&body);
        }
        let atomic = Box::new(Atomic { kind, body });
        self.emit(Step::Atomic(atomic), span);
    }

    fn refuse_stores(&mut self, body: &Cfg) {
        for edge in &body.edges {
            if let Step::Store { .. } = edge.step {
                self.report(
                    Diagnostic::error(edge.span, "a store in an `atomic(read)` block").help(
                        "write `atomic { ... }`: it waits until the own stores are in memory",
                    ),
                );
            }
        }
    }

    /// `lock(m)`: waits until `m` is 0 and makes it 1.
    pub(super) fn lock(&mut self, place: &Place, span: Span) {
        let Some(place) = self.operand_place(place) else {
            return;
        };
        let old = self.temporary(None);
        let place = place.ordered(self.kept(Order::Acquire));
        self.atomically(AtomicKind::Lock, span, |code| {
            let src = place.clone();
            code.emit(Step::Load { dst: old, src }, span);
            let free = LocalExpr::binary(BinOp::Eq, read_local(old), Value::Const(0));
            code.emit(Step::Assume(free), span);
            code.store(place, Value::Const(1), span);
        });
    }

    /// `unlock(m)`: makes `m` 0.
    pub(super) fn unlock(&mut self, place: &Place, span: Span) {
        let Some(place) = self.operand_place(place) else {
            return;
        };
        let place = place.ordered(self.kept(Order::Release));
        self.atomically(AtomicKind::Unlock, span, |code| {
            code.store(place, Value::Const(0), span);
        });
    }

    /// A shared place as operand of an atomic operation.
    fn operand_place(&mut self, place: &Place) -> Option<Memory> {
        if self.lookup(&place.name.text).is_some() {
            let message = format!("`{}` is a local", place.name.text);
            self.report(
                Diagnostic::error(place.span, message)
                    .label("expected a shared variable")
                    .help("atomic operations and locks work on shared memory"),
            );
            return None;
        }
        self.shared_place(place)
    }

    /// The place that is the first argument of an atomic operation.
    pub(super) fn first_argument(&mut self, args: &[Expr]) -> Option<Memory> {
        if let ExprKind::Place(place) = &args[0].kind {
            return self.operand_place(place);
        }
        self.report(
            Diagnostic::error(args[0].span, "expected a shared variable")
                .label("not a variable")
                .help("atomic operations work on shared memory"),
        );
        None
    }

    /// A local that receives a result while `uses` are still needed: `wanted`
    /// itself if they do not mention it.
    pub(super) fn result_local(&mut self, wanted: Option<LocalId>, uses: &[&LocalExpr]) -> LocalId {
        let mentions = |local: LocalId| {
            uses.iter()
                .any(|e| e.any_atom(|a| *a == LocalAtom::Local(local)))
        };
        match wanted {
            Some(local) if !mentions(local) && self.locals[local.index()].domain.is_none() => local,
            _ => self.temporary(None),
        }
    }

    /// `cas(x, old, new)`: 1 and the new value stored if `x` was `old`, else 0.
    pub(super) fn cas(
        &mut self,
        args: &[Expr],
        (order, failing): (Order, Order),
        wanted: Option<LocalId>,
        span: Span,
    ) -> LocalExpr {
        let place = self.first_argument(args);
        let old = self.value(&args[1]);
        let new = self.value(&args[2]);
        let Some(place) = place else {
            return Value::Const(0);
        };
        let index = place.index.clone().unwrap_or(Value::Const(0));
        let result = self.result_local(wanted, &[&old, &new, &index]);
        self.set_range(result, None);
        self.atomically(AtomicKind::Cas, span, |code| {
            let src = place.clone().ordered(failing);
            let place = place.ordered(order);
            code.emit(Step::Load { dst: result, src }, span);
            let (start, join) = (code.here, code.graph.loc());
            let equal = LocalExpr::binary(BinOp::Eq, read_local(result), old);
            let different = equal.clone().negate();
            code.emit(Step::Assume(equal), span);
            code.store(place, new, span);
            code.set(result, 1, span);
            code.graph.unify(code.here, join);
            code.here = start;
            code.emit(Step::Assume(different), span);
            code.set(result, 0, span);
            code.graph.unify(code.here, join);
            code.here = join;
        });
        read_local(result)
    }

    fn set(&mut self, dst: LocalId, value: i64, span: Span) {
        let value = Value::Const(value);
        self.emit(Step::Assign { dst, value }, span);
    }

    /// `xchg(x, v)` and `fetch_add(x, v)`: the old value of `x`.
    pub(super) fn read_and_write(
        &mut self,
        kind: AtomicKind,
        args: &[Expr],
        (order, _): (Order, Order),
        wanted: Option<LocalId>,
        span: Span,
    ) -> LocalExpr {
        let place = self.first_argument(args);
        let operand = self.value(&args[1]);
        let Some(place) = place else {
            return Value::Const(0);
        };
        let index = place.index.clone().unwrap_or(Value::Const(0));
        let result = self.result_local(wanted, &[&operand, &index]);
        let range = self.shared_range(place.var);
        self.set_range(result, range);
        let new = if kind == AtomicKind::FetchAdd {
            LocalExpr::binary(BinOp::Add, read_local(result), operand)
        } else {
            operand
        };
        let place = place.ordered(order);
        self.atomically(kind, span, |code| {
            let src = place.clone();
            code.emit(Step::Load { dst: result, src }, span);
            code.store(place, new, span);
        });
        read_local(result)
    }
}
