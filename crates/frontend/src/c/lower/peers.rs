//! *Names of other tools* that programs call without defining them: CBMC's fences, Nidhugg's exchanges that wait,
//! ESBMC's unreachable code, and choices under any name that ends in `nondet`.

use palisade_program::{AssertKind, Expr as Ir, FenceKind, Order, Orders, Span, Step};

use super::code::{Code, Lower};
use super::value::Val;
use crate::c::ast::{Binary, Expr, ExprKind, Item};
use crate::c::types::Type;

impl Code<'_, '_> {
    /// A function of another tool; `None` if it is none.
    pub(super) fn peer_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        match (name, args) {
            ("__CPROVER_fence", kinds) => {
                self.fence_of(kinds, span);
                Ok(Some(Val::void()))
            }
            ("__ESBMC_unreachable", []) => {
                self.oblige(Ir::FALSE, AssertKind::ErrorCall(name.to_owned()), span);
                self.block(span);
                Ok(Some(Val::void()))
            }
            ("__VERIFIER_xchg_await_aint", [at, value, how, operand]) => self
                .awaited_exchange(at, value, how, operand, span)
                .map(Some),
            (_, []) if name.ends_with("_nondet") => {
                let mut items = self.cx.file.items.iter();
                let declared = items.find_map(|item| match item {
                    Item::Variable(d) if d.name == name => Some(d.ty.plain().clone()),
                    Item::Variable(_) | Item::Function(_) => None,
                });
                let ty = match declared {
                    Some(Type::Function(signature)) => signature.result.plain().clone(),
                    Some(_) | None => Type::INT,
                };
                Ok(ty.is_integer().then(|| self.any_value(&ty, span)))
            }
            _ => Ok(None),
        }
    }

    /// `__CPROVER_fence("WWfence", ...)`: which accesses stay in order. Under TSO and PSO loads are in order anyway. C11 has no
    /// fence for some of them only.
    fn fence_of(&mut self, kinds: &[Expr], span: Span) {
        let has = |kind| {
            let mut texts = kinds.iter();
            texts.any(|e| matches!(&e.kind, ExprKind::Str(text) if text == kind))
        };
        match self.cx.options.orders {
            _ if has("WRfence") => self.fence(Order::SeqCst, span),
            Orders::Kept => self.refuse_run("this fence under rc11", span),
            Orders::Mapped if has("WWfence") => {
                self.emit(Step::Fence(FenceKind::StoreStore), span);
            }
            Orders::Mapped => {}
        }
    }

    /// Nidhugg's exchange, which waits until what stands there compares so with `operand`: bits of `how` say
    /// whether it may be greater (1), equal (2), less (4), and whether that is meant with sign (8).
    fn awaited_exchange(
        &mut self,
        at: &Expr,
        value: &Expr,
        how: &Expr,
        operand: &Expr,
        span: Span,
    ) -> Lower<Val> {
        let place = self.target_of(at)?;
        let value = self.value(value)?;
        let value = self.saved(value, span);
        let operand = self.value(operand)?;
        let operand = self.saved(operand, span);
        let how = self.value(how)?.as_constant();
        let (is_signed, relation) = match how {
            Some(how @ 0..16) => (how & 8 > 0, how & 7),
            Some(_) | None => (false, 0),
        };
        if relation == 0 {
            self.refuse_run("an exchange that waits for something else", span);
            return Ok(Val::constant(0, &Type::INT));
        }
        let ty = Type::Int {
            bits: 32,
            signed: is_signed,
        };
        let (old, _) = self.read_modify_write(
            &place,
            Order::SeqCst,
            |code, old| {
                let (a, b) = (
                    code.convert(old, &ty, span)?,
                    code.convert(operand, &ty, span)?,
                );
                let mut ready = Ir::FALSE;
                for (bit, op) in [(1, Binary::Gt), (2, Binary::Eq), (4, Binary::Lt)] {
                    if relation & bit > 0 {
                        let v = code.binary(op, a.clone(), b.clone(), span)?;
                        ready = ready.or(code.truth(v, span)?);
                    }
                }
                if relation == 7 {
                    ready = Ir::TRUE;
                }
                code.emit(Step::Assume(ready), span);
                Ok(value)
            },
            span,
        )?;
        Ok(old)
    }
}
