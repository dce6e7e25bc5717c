//! Expressions. Each shared read is a load of its own, from left to right, into a
//! temporary. `&&`, `||` and `?:` keep their short circuit: when what may be
//! skipped makes steps, they become branches; otherwise they stay in one
//! expression over locals.

use palisade_program::{BinOp, Domain, Expr as Value, LocalAtom, LocalExpr, LocalId, Span, Step};

use super::access::{Target, fits};
use super::code::{Binding, Code};
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, ExprKind};
use crate::range::Range;

/// The expression that reads a local.
pub(super) fn read_local(local: LocalId) -> LocalExpr {
    Value::Atom(LocalAtom::Local(local))
}

impl Code<'_, '_> {
    /// The value of a condition, as 0 or 1 or any integer; a `*` is a free choice
    /// of 0 and 1.
    pub(super) fn truth(&mut self, e: &Expr) -> LocalExpr {
        if matches!(e.kind, ExprKind::Any) {
            return self.havoc(Some(Domain { lo: 0, hi: 1 }), e.span);
        }
        self.value(e)
    }

    /// The value of `e`, where a plain `*` chooses within `domain`.
    pub(super) fn value_in(&mut self, e: &Expr, domain: Option<Domain>) -> LocalExpr {
        if matches!(e.kind, ExprKind::Any) {
            return self.havoc(domain, e.span);
        }
        self.value(e)
    }

    fn havoc(&mut self, domain: Option<Domain>, span: Span) -> LocalExpr {
        let dst = self.temporary(domain.map(Range::from));
        self.emit(Step::Havoc { dst, domain }, span);
        read_local(dst)
    }

    /// Emits the steps that `e` needs; the result is an expression over locals.
    pub(super) fn value(&mut self, e: &Expr) -> LocalExpr {
        match &e.kind {
            ExprKind::Int(value) => Value::Const(*value),
            ExprKind::SelfId => self.self_id(),
            ExprKind::Any => self.havoc(None, e.span),
            ExprKind::Place(place) => {
                if place.index.is_none()
                    && self.lookup(&place.name.text).is_none()
                    && let Some(constant) = self.context.constants.get(&place.name.text)
                {
                    return Value::Const(constant.value);
                }
                match self.target(place) {
                    Some(target) => self.read(&target, e.span),
                    None => Value::Const(0),
                }
            }
            ExprKind::Unary(op, arg) => {
                let arg = self.value(arg);
                Value::unary(*op, arg)
            }
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), _, b) if !self.is_pure(b) => {
                let result = self.temporary(Some(Range::new(0, 1)));
                self.short_circuit(*op, e, result);
                read_local(result)
            }
            ExprKind::Binary(op, a, b) => {
                let left = self.value(a);
                let right = self.value(b);
                self.check_operands(*op, &left, &right, e, b);
                Value::binary(*op, left, right)
            }
            ExprKind::Cond(c, a, b) if self.is_pure(a) && self.is_pure(b) => {
                let c = self.value(c);
                let (a, b) = (self.value(a), self.value(b));
                match c {
                    Value::Const(0) => b,
                    Value::Const(_) => a,
                    c => Value::Cond(Box::new(c), Box::new(a), Box::new(b)),
                }
            }
            ExprKind::Cond(..) | ExprKind::Choose(_) => {
                let result = self.temporary(None);
                self.assign_local(result, e, e.span);
                read_local(result)
            }
            ExprKind::Call(name, args) => self.call_value(name, args, e.span),
            ExprKind::ChooseRange(lo, hi) => match self.context.interval(lo, hi) {
                Some(domain) => self.havoc(Some(domain), e.span),
                None => Value::Const(0),
            },
            ExprKind::At(..) | ExprKind::Field(..) => {
                self.report(
                    Diagnostic::error(e.span, "threads are named in properties only")
                        .label("not a variable of this thread")
                        .help("share the value through a `shared` variable"),
                );
                Value::Const(0)
            }
        }
    }

    fn self_id(&self) -> LocalExpr {
        // A thread that exists once has the number 0.
        if self.copies() == Some(1) && self.is_single() {
            return Value::Const(0);
        }
        Value::Atom(LocalAtom::SelfId)
    }

    fn is_single(&self) -> bool {
        self.unit
            .is_some_and(|u| self.context.units[u].count == palisade_program::Count::Once)
    }

    /// `a && b` or `a || b` into `result`, as branches.
    fn short_circuit(&mut self, op: BinOp, e: &Expr, result: LocalId) {
        let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        debug_assert!(matches!(op, BinOp::And | BinOp::Or));
        self.branch(e, yes, no);
        for (from, value) in [(yes, 1), (no, 0)] {
            let value = Value::Const(value);
            let step = Step::Assign { dst: result, value };
            self.graph.edge(from, step, join, e.span);
        }
        self.here = join;
    }

    /// Multiplication needs a constant side, division a positive constant divisor.
    fn check_operands(
        &mut self,
        op: BinOp,
        left: &LocalExpr,
        right: &LocalExpr,
        e: &Expr,
        divisor: &Expr,
    ) {
        let constant = |v: &LocalExpr| matches!(v, Value::Const(_));
        if op == BinOp::Mul && !constant(left) && !constant(right) {
            self.report(
                Diagnostic::error(e.span, "product of two variables")
                    .label("one side must be a constant")
                    .help(
                        "multiply by a number or a `const`; the proofs are about linear arithmetic",
                    ),
            );
        }
        if matches!(op, BinOp::Div | BinOp::Mod) && !matches!(right, Value::Const(1..)) {
            self.report(
                Diagnostic::error(
                    divisor.span,
                    "division by something other than a positive constant",
                )
                .label("must be a positive constant")
                .help("divide by a number or a `const` above 0"),
            );
        }
    }

    // Assignments to locals.

    /// `local = e`, straight into the local where that is possible.
    pub(super) fn assign_local(&mut self, local: LocalId, e: &Expr, span: Span) {
        let domain = self.locals[local.index()].domain;
        match &e.kind {
            ExprKind::Any => self.emit(Step::Havoc { dst: local, domain }, span),
            ExprKind::ChooseRange(lo, hi) if domain.is_none() => {
                if let Some(domain) = self.context.interval(lo, hi) {
                    let domain = Some(domain);
                    self.emit(Step::Havoc { dst: local, domain }, span);
                }
            }
            ExprKind::Choose(values) => self.choose_value(local, values, span),
            ExprKind::Cond(c, a, b) if !(self.is_pure(a) && self.is_pure(b)) => {
                let (then, other) = (self.graph.loc(), self.graph.loc());
                let join = self.graph.loc();
                self.branch(c, then, other);
                for (start, value) in [(then, a), (other, b)] {
                    self.here = start;
                    self.assign_local(local, value, span);
                    self.graph.unify(self.here, join);
                }
                self.here = join;
            }
            ExprKind::Place(place) if self.is_shared_read(e) => match self.target(place) {
                Some(Target::Shared(src)) if fits(domain, self.shared_range(src.var)) => {
                    self.emit(Step::Load { dst: local, src }, span);
                }
                Some(target) => {
                    let value = self.read(&target, e.span);
                    self.assign_value(local, value, span);
                }
                None => {}
            },
            ExprKind::Call(name, args) if domain.is_none() => {
                self.call_into(local, name, args, e.span, span);
            }
            _ => {
                let value = self.value(e);
                self.assign_value(local, value, span);
            }
        }
    }

    fn is_shared_read(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Place(place) => {
                self.lookup(&place.name.text).is_none()
                    && !self.context.constants.contains_key(&place.name.text)
            }
            _ => false,
        }
    }

    /// `local = choose(a, b, c)`: one branch per value.
    fn choose_value(&mut self, local: LocalId, values: &[Expr], span: Span) {
        let (start, join) = (self.here, self.graph.loc());
        for value in values {
            self.here = start;
            if !self.is_pure(value) {
                self.here = self.graph.loc();
                self.graph.edge(start, Step::Skip, self.here, span);
            }
            self.assign_local(local, value, span);
            self.graph.unify(self.here, join);
        }
        self.here = join;
    }

    /// `local = value`, with a check of the local's domain.
    pub(super) fn assign_value(&mut self, local: LocalId, value: LocalExpr, span: Span) {
        let domain = self.locals[local.index()].domain;
        self.check_domain(&value, domain, span);
        self.emit(Step::Assign { dst: local, value }, span);
    }

    // Purity.

    /// Whether lowering `e` emits no step.
    pub(super) fn is_pure(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Int(_) | ExprKind::SelfId => true,
            ExprKind::Any | ExprKind::Choose(_) | ExprKind::ChooseRange(..) => false,
            ExprKind::Place(place) => match (self.lookup(&place.name.text), &place.index) {
                (Some(Binding::Scalar(_)), _) => true,
                (Some(Binding::Array(_)), Some(index)) => matches!(index.kind, ExprKind::Int(_)),
                (Some(Binding::Array(_)), None) => true,
                (None, _) => self.context.constants.contains_key(&place.name.text),
            },
            ExprKind::Unary(_, arg) => self.is_pure(arg),
            ExprKind::Binary(_, a, b) => self.is_pure(a) && self.is_pure(b),
            ExprKind::Cond(c, a, b) => self.is_pure(c) && self.is_pure(a) && self.is_pure(b),
            ExprKind::Call(name, args) => {
                super::call::wrap_of(&name.text).is_some() && args.iter().all(|a| self.is_pure(a))
            }
            ExprKind::At(..) | ExprKind::Field(..) => true,
        }
    }
}
