//! *Floating-point numbers*: accesses to them are followed, for races and lifetimes, and their values are not. Every value
//! is the same mark; what depends on one (a comparison, an integer made of it) ends the run as unsupported.

use palisade_program::{Expr as Ir, Span, Step};

use super::code::{Code, Lower};
use super::onesided::{Class, OPAQUE};
use super::place::{Access, CellRef, Place};
use super::value::Val;
use crate::c::ast::Binary;
use crate::c::types::Type;

impl Val {
    /// A value that is not followed.
    pub(super) fn opaque(ty: &Type) -> Self {
        Self::constant(i128::from(OPAQUE), ty)
    }
}

impl Code<'_, '_> {
    /// Something depends on a value that is not followed.
    pub(super) fn refuse_float(&mut self, ty: &Type, span: Span) -> Val {
        self.refuse_run("a value that depends on floating point", span);
        Val::constant(0, ty)
    }

    /// Converts from or to floating point.
    pub(super) fn convert_float(&mut self, v: &Val, to: &Type, span: Span) -> Val {
        match (&v.ty, to) {
            (_, Type::Other(_)) => Val::opaque(to),
            (Type::Other(_), _) => self.refuse_float(to, span),
            _ => v.clone(),
        }
    }

    /// An operator of which one operand is floating point.
    pub(super) fn float_operation(&mut self, op: Binary, span: Span) -> Val {
        match op {
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => {
                Val::opaque(&Type::Other("double"))
            }
            Binary::Rem | Binary::Shl | Binary::Shr => self.refuse_float(&Type::INT, span),
            Binary::BitAnd | Binary::BitOr | Binary::BitXor => self.refuse_float(&Type::INT, span),
            Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge | Binary::Eq | Binary::Ne => {
                self.refuse_float(&Type::INT, span)
            }
            Binary::And | Binary::Or => self.refuse_float(&Type::INT, span),
        }
    }

    /// Reads a floating-point number.
    pub(super) fn load_float(&mut self, place: &Place, span: Span) -> Lower<Val> {
        let ty = place.ty().plain().clone();
        self.check_live(place, span);
        let cases = self.cases(place, Access::Load, span)?;
        let (start, join) = (self.here, self.graph.loc());
        for case in &cases {
            let then = self.graph.loc();
            self.here = start;
            self.assume(case.when.clone(), then, span);
            self.at(then);
            if let CellRef::Shared(memory) = &case.cell {
                let src = memory.clone().ordered(self.access_order(&case.ty));
                let is_remote = self.cx.onesided.is_some();
                self.own_access(&src.clone(), Class::Read, span, |code| {
                    if !is_remote {
                        let dst = code.temporary(span);
                        code.emit(Step::Load { dst, src }, span);
                    }
                });
            }
            self.go(join, span);
        }
        if cases.is_empty() {
            self.assume(Ir::FALSE, join, span);
        }
        self.at(join);
        Ok(Val::opaque(&ty))
    }
}
