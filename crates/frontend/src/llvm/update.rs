//! *Read-modify-writes*: exchanges, compare-and-exchange, atomic arithmetic, and waiting for a word. On
//! a shared cell each is one atomic block.

use palisade_program::{
    Atomic, AtomicKind, BinOp, CfgBuilder, Domain, Expr, LocalExpr, Order, Place, Span, Step,
};

use super::access::{Target, uninitialised};
use super::arith;
use super::engine::{Engine, Run, SMALLER, Trouble, unsupported};
use super::ir::{Change, Inst, Type};
use super::state::{State, Value};
use super::values::{Values, decided, range_of};

impl Engine<'_, '_> {
    /// `cmpxchg` and `atomicrmw`.
    pub(super) fn read_modify_write(
        &mut self,
        state: &mut State,
        address: i64,
        inst: &Inst,
    ) -> Run<()> {
        match inst {
            Inst::CompareExchange {
                dst,
                ty,
                expected,
                new,
                orders,
                weak,
                ..
            } => {
                let bits = bits_of(ty)?;
                let expected = self.word_of(state, expected, bits)?;
                let new = self.word_of(state, new, bits)?;
                let how = How::Swap {
                    expected,
                    new,
                    orders: *orders,
                    weak: *weak,
                };
                let (old, same) = self.change_cell(state, address, bits, how)?;
                let parts = vec![Value::Word(old), Value::Word(same)];
                state.set(*dst, Value::Parts(parts));
                Ok(())
            }
            Inst::Change {
                dst,
                how,
                ty,
                value,
                order,
                ..
            } => {
                let bits = bits_of(ty)?;
                let by = self.word_of(state, value, bits)?;
                let how = How::By {
                    change: *how,
                    by,
                    order: *order,
                };
                let (old, _) = self.change_cell(state, address, bits, how)?;
                state.set(*dst, Value::Word(old));
                Ok(())
            }
            _ => unsupported("this instruction", SMALLER),
        }
    }

    /// Changes a word in one step: what it was, and whether it was changed.
    fn change_cell(
        &mut self,
        state: &mut State,
        address: i64,
        bits: u32,
        how: How,
    ) -> Run<(LocalExpr, LocalExpr)> {
        let size = u64::from(bits) / 8;
        let ty = Type::Int(bits);
        let (object, offset) = self.place(address, size)?;
        let may_fail = matches!(&how, How::Swap { weak: true, .. });
        if may_fail && state.prelude {
            self.end_prelude(state)?;
        }
        if !matches!(self.target(state, object)?, Target::Shared) {
            let Value::Word(old) = self.load(state, address, &ty, Order::Plain, true)? else {
                return Err(uninitialised());
            };
            let (new, same) = how.outcome(state, bits, &old)?;
            let same = if may_fail {
                same.and(self.luck(state, &[&old, &new]))
            } else {
                same
            };
            let new = match decided(&same, &state.known) {
                Some(true) => new,
                Some(false) => old.clone(),
                None => Expr::Cond(Box::new(same.clone()), Box::new(new), Box::new(old.clone())),
            };
            let new = self.small(state, new);
            self.store(state, address, &ty, Value::Word(new), Order::Plain)?;
            return Ok((old, same));
        }
        let id = self.demand((object, offset), size, Order::Relaxed)?;
        let cell = self.world.cells[&(object, offset)].clone();
        let Some(values) = cell.known(true) else {
            return Err(Trouble::Again);
        };
        let span = self.span(state);
        self.drop_dead(state);
        let kept = how.operands();
        let luck = if may_fail {
            self.luck(state, &kept)
        } else {
            Expr::TRUE
        };
        let mut used = kept.clone();
        used.push(&luck);
        let dst = state.fresh(&used);
        let old = self.use_local(dst);
        state.known.insert(dst, values);
        let (new, same) = how.outcome(state, bits, &old)?;
        let same = same.and(luck);
        // What can be stored: only values for which the comparison holds.
        let mut then = state.clone();
        super::values::refine(&same, true, &mut then.known);
        if decided(&same, &state.known) != Some(false) {
            self.note_store(&then, (object, offset), &new);
        }
        let (kind, first, second) = match &how {
            How::Swap { orders, .. } => (AtomicKind::Cas, orders.1, orders.0),
            How::By {
                change: Change::Exchange,
                order,
                ..
            } => (AtomicKind::Xchg, *order, *order),
            How::By { order, .. } => (AtomicKind::FetchAdd, *order, *order),
        };
        let mut body = CfgBuilder::new();
        let (entry, middle, exit) = (body.loc(), body.loc(), body.loc());
        let src = Place::scalar(id).ordered(self.kept(first));
        body.edge(entry, Step::Load { dst, src }, middle, span);
        let mut at = middle;
        if same != Expr::TRUE {
            at = body.loc();
            body.edge(middle, Step::Assume(same.clone()), at, span);
            body.edge(middle, Step::Assume(same.clone().negate()), exit, span);
        }
        let place = Place::scalar(id).ordered(self.kept(second));
        let store = Step::Store {
            dst: place,
            value: new,
        };
        body.edge(at, store, exit, span);
        let (body, _) = body.finish(entry, exit);
        self.before_access(span);
        self.emit(Step::Atomic(Box::new(Atomic { kind, body })), span);
        self.check_loaded(state, &cell, &old, true)?;
        self.after_access(span);
        let old = self.settled(state, old);
        let same = match decided(&same, &state.known) {
            Some(is) => Expr::Const(i64::from(is)),
            None => same,
        };
        Ok((old, same))
    }

    /// A choice that nothing decides: a weak exchange may fail for no reason.
    pub(super) fn luck(&mut self, state: &mut State, keep: &[&LocalExpr]) -> LocalExpr {
        let dst = state.fresh(keep);
        let domain = Some(Domain { lo: 0, hi: 1 });
        let span = self.span(state);
        self.emit(Step::Havoc { dst, domain }, span);
        state.known.insert(dst, Values::range(0, 1));
        let e = self.use_local(dst);
        LocalExpr::binary(BinOp::Eq, e, Expr::Const(1))
    }

    /// `take`: waits until a word has a value, and replaces it.
    pub(super) fn take(&mut self, state: &mut State, address: i64, from: i64, to: i64) -> Run<()> {
        let ty = Type::Int(32);
        let (object, offset) = self.place(address, 4)?;
        if !matches!(self.target(state, object)?, Target::Shared) {
            let old = self.load(state, address, &ty, Order::Plain, true)?;
            if old != Value::Word(Expr::Const(from)) {
                // Nobody else can change it.
                let span = self.span(state);
                self.block_for_ever(span);
                return Err(Trouble::Nothing);
            }
            return self.store(
                state,
                address,
                &ty,
                Value::Word(Expr::Const(to)),
                Order::Plain,
            );
        }
        let id = self.demand((object, offset), 4, Order::Relaxed)?;
        self.note_store(state, (object, offset), &Expr::Const(to));
        self.drop_dead(state);
        let span = self.span(state);
        let dst = state.fresh(&[]);
        let old = self.use_local(dst);
        let mut body = CfgBuilder::new();
        let (entry, middle, found, exit) = (body.loc(), body.loc(), body.loc(), body.loc());
        let src = Place::scalar(id).ordered(self.kept(Order::Acquire));
        body.edge(entry, Step::Load { dst, src }, middle, span);
        let test = LocalExpr::binary(BinOp::Eq, old, Expr::Const(from));
        body.edge(middle, Step::Assume(test), found, span);
        let place = Place::scalar(id).ordered(self.kept(Order::Acquire));
        let store = Step::Store {
            dst: place,
            value: Expr::Const(to),
        };
        body.edge(found, store, exit, span);
        let (body, _) = body.finish(entry, exit);
        let kind = AtomicKind::Lock;
        self.emit(Step::Atomic(Box::new(Atomic { kind, body })), span);
        Ok(())
    }

    /// A run that comes here waits and never goes on.
    pub(super) fn block_for_ever(&mut self, span: Span) {
        let mut body = CfgBuilder::new();
        let (entry, exit) = (body.loc(), body.loc());
        body.edge(entry, Step::Assume(Expr::FALSE), exit, span);
        let (body, _) = body.finish(entry, exit);
        let kind = AtomicKind::Lock;
        self.emit(Step::Atomic(Box::new(Atomic { kind, body })), span);
    }
}

/// A read-modify-write.
enum How {
    Swap {
        expected: LocalExpr,
        new: LocalExpr,
        orders: (Order, Order),
        weak: bool,
    },
    By {
        change: Change,
        by: LocalExpr,
        order: Order,
    },
}

impl How {
    fn operands(&self) -> Vec<&LocalExpr> {
        match self {
            Self::Swap { expected, new, .. } => vec![expected, new],
            Self::By { by, .. } => vec![by],
        }
    }

    /// What is stored, and if.
    fn outcome(&self, state: &State, bits: u32, old: &LocalExpr) -> Run<(LocalExpr, LocalExpr)> {
        match self {
            Self::Swap { expected, new, .. } => {
                let same = LocalExpr::binary(BinOp::Eq, old.clone(), expected.clone());
                let same = match decided(&same, &state.known) {
                    Some(is) => Expr::Const(i64::from(is)),
                    None => same,
                };
                Ok((new.clone(), same))
            }
            Self::By { change, by, .. } => {
                let ranges = |e: &LocalExpr| range_of(e, &state.known);
                let new = arith::changed(*change, bits, old.clone(), by.clone(), &ranges);
                let new = new.or_else(|words| unsupported(words, SMALLER))?;
                Ok((new, Expr::TRUE))
            }
        }
    }
}

fn bits_of(ty: &Type) -> Run<u32> {
    match ty.bits() {
        Some(bits) if bits <= 64 => Ok(bits),
        Some(_) | None => unsupported("an atomic access of more than 64 bits", SMALLER),
    }
}
