//! *Typing*: the types of expressions as far as `sizeof`, `typeof` and
//! `__auto_type` need them while parsing (and the points-to analysis after it), and the values of
//! constant expressions.

use super::{Meaning, Parser};
use crate::c::ast::{Binary, Expr, ExprKind, StmtKind, Unary};
use crate::c::types::{DataModel, Structs, Type};

/// What is known of names, to tell types by.
pub(in crate::c) struct Typing<'t> {
    /// The type of a variable, an enumerator or a function.
    pub(in crate::c) names: &'t dyn Fn(&str) -> Option<Type>,
    pub(in crate::c) structs: &'t Structs,
    pub(in crate::c) model: DataModel,
}

impl Parser<'_> {
    /// The type of an expression, if it is known here.
    pub(super) fn type_of(&self, e: &Expr) -> Option<Type> {
        let names = |name: &str| match self.lookup(name)? {
            Meaning::Variable(ty) => Some(ty.clone()),
            Meaning::Enumerator(_) => Some(Type::INT),
            Meaning::Typedef(_) => None,
        };
        let typing = Typing {
            names: &names,
            structs: &self.file.structs,
            model: self.model,
        };
        typing.type_of(e)
    }

    /// The arms of `c ? a : b` in their common type, so that the one that is not taken
    /// counts as well.
    pub(super) fn same_type(&self, a: Expr, b: Expr) -> (Expr, Expr) {
        let types = (self.type_of(&a), self.type_of(&b));
        let (Some(m), Some(n)) = types else {
            return (a, b);
        };
        if m == n || !m.is_integer() || !n.is_integer() {
            return (a, b);
        }
        let ty = m.common(&n);
        let cast = |e: Expr| Expr {
            span: e.span,
            kind: ExprKind::Cast(ty.clone(), Box::new(e)),
        };
        (cast(a), cast(b))
    }

    /// `size_t`.
    pub(super) fn size_type(&self) -> Type {
        Type::Int {
            bits: self.model.word(),
            signed: false,
        }
    }
}

impl Typing<'_> {
    /// The type of an expression, if it is known here.
    pub(in crate::c) fn type_of(&self, e: &Expr) -> Option<Type> {
        Some(match &e.kind {
            ExprKind::Int(_, ty) => ty.clone(),
            ExprKind::Float(literal) => Type::Other(literal.ty),
            ExprKind::Str(s) => Type::Array(Type::CHAR.into(), Some(s.chars().count() as u64 + 1)),
            ExprKind::Ident(name) => (self.names)(name)?,
            ExprKind::Unary(op, e) => self.type_of_unary(*op, e)?,
            ExprKind::Binary(op, a, b) => self.type_of_binary(*op, a, b)?,
            ExprKind::Assign(_, a, _) => self.type_of(a)?.plain().clone(),
            ExprKind::Cond(_, Some(a), b) => {
                let (a, b) = (self.type_of(a)?.decayed(), self.type_of(b)?.decayed());
                if a.is_pointer() || b == Type::Void {
                    a
                } else if b.is_pointer() {
                    b
                } else {
                    a.common(&b)
                }
            }
            ExprKind::Cond(c, None, b) => self.type_of(c)?.common(&self.type_of(b)?),
            ExprKind::Call(f, _) => match self.type_of(f)?.plain() {
                Type::Function(signature) => signature.result.clone(),
                Type::Pointer(to) => match &**to {
                    Type::Function(signature) => signature.result.clone(),
                    _ => return None,
                },
                _ => return None,
            },
            ExprKind::Index(a, b) => {
                let (a, b) = (self.type_of(a)?, self.type_of(b)?);
                a.pointee().or(b.pointee())?.clone()
            }
            ExprKind::Member(e, name) => self.member(&self.type_of(e)?, name)?,
            ExprKind::Arrow(e, name) => self.member(self.type_of(e)?.pointee()?, name)?,
            ExprKind::Cast(ty, _) | ExprKind::Compound(ty, _) => ty.clone(),
            ExprKind::Comma(_, b) => self.type_of(b)?.decayed(),
            ExprKind::Statements(body) => match body.last().map(|s| &s.kind) {
                Some(StmtKind::Expr(e)) => self.type_of(e)?,
                _ => Type::Void,
            },
            ExprKind::UnknownSize => Type::Int {
                bits: self.model.word(),
                signed: false,
            },
        })
    }

    fn member(&self, ty: &Type, name: &str) -> Option<Type> {
        let Type::Struct(id) = ty.plain() else {
            return None;
        };
        let fields = self.structs.get(*id)?.fields.as_ref()?;
        fields.iter().find_map(|f| match &f.name {
            Some(n) if n == name => Some(f.ty.clone()),
            Some(_) => None,
            None => self.member(&f.ty, name),
        })
    }

    fn type_of_unary(&self, op: Unary, e: &Expr) -> Option<Type> {
        let ty = self.type_of(e)?;
        Some(match op {
            Unary::Plus | Unary::Minus | Unary::BitNot => ty.promoted(),
            Unary::Not => Type::INT,
            Unary::Deref => match ty.plain() {
                Type::Function(_) => ty,
                _ => ty.pointee()?.clone(),
            },
            Unary::Address => Type::pointer(ty),
            Unary::PreIncrement
            | Unary::PreDecrement
            | Unary::PostIncrement
            | Unary::PostDecrement => ty.plain().clone(),
        })
    }

    fn type_of_binary(&self, op: Binary, a: &Expr, b: &Expr) -> Option<Type> {
        let (a, b) = (self.type_of(a)?.decayed(), self.type_of(b)?.decayed());
        Some(match op {
            Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge | Binary::Eq | Binary::Ne => {
                Type::INT
            }
            Binary::And | Binary::Or => Type::INT,
            Binary::Shl | Binary::Shr => a.promoted(),
            Binary::Sub if a.is_pointer() && b.is_pointer() => Type::Int {
                bits: self.model.word(),
                signed: true,
            },
            Binary::Add | Binary::Sub if a.is_pointer() => a,
            Binary::Add if b.is_pointer() => b,
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Rem => a.common(&b),
            Binary::BitAnd | Binary::BitOr | Binary::BitXor => a.common(&b),
        })
    }
}

/// The value of a constant expression, as C computes it.
pub(in crate::c) fn constant(e: &Expr) -> Option<i128> {
    typed_constant(e).map(|(v, _)| v)
}

/// A constant with its type; unsigned numbers are not negative here, whatever their
/// width.
fn typed_constant(e: &Expr) -> Option<(i128, Type)> {
    match &e.kind {
        ExprKind::Int(v, ty) => Some((*v, ty.clone())),
        ExprKind::Unary(op, e) => {
            let (v, ty) = typed_constant(e)?;
            let promoted = ty.promoted();
            match op {
                Unary::Plus => Some((v, promoted)),
                Unary::Minus => Some((within(-v, &promoted), promoted)),
                Unary::Not => Some((i128::from(v == 0), Type::INT)),
                Unary::BitNot => Some((within(!v, &promoted), promoted)),
                Unary::Deref | Unary::Address => None,
                Unary::PreIncrement | Unary::PreDecrement => None,
                Unary::PostIncrement | Unary::PostDecrement => None,
            }
        }
        ExprKind::Binary(op, a, b) => {
            constant_binary(*op, &typed_constant(a)?, &typed_constant(b)?)
        }
        ExprKind::Cond(c, a, b) => match (typed_constant(c)?, a) {
            ((0, _), _) => typed_constant(b),
            (_, Some(a)) => typed_constant(a),
            (v, None) => Some(v),
        },
        ExprKind::Cast(ty, e) => {
            let (v, _) = typed_constant(e)?;
            let ty = ty.plain().clone();
            match ty {
                Type::Bool => Some((i128::from(v != 0), ty)),
                Type::Int { .. } => Some((within(v, &ty), ty)),
                Type::Pointer(_) => Some((v, ty)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A number brought into the range of an integer type.
fn within(v: i128, ty: &Type) -> i128 {
    match ty {
        Type::Int {
            bits: 64,
            signed: false,
        } => v & i128::from(u64::MAX),
        Type::Int { bits, signed } => i128::from(palisade_program::expr::wrap(v, *bits, *signed)),
        _ => v,
    }
}

fn constant_binary(op: Binary, a: &(i128, Type), b: &(i128, Type)) -> Option<(i128, Type)> {
    let ty = match op {
        Binary::Shl | Binary::Shr => a.1.promoted(),
        _ => a.1.common(&b.1),
    };
    let shift = u32::try_from(b.0).ok().filter(|b| *b < 64);
    let (a, b) = match op {
        Binary::And | Binary::Or | Binary::Shl | Binary::Shr => (a.0, b.0),
        _ => (within(a.0, &ty), within(b.0, &ty)),
    };
    let truth = |t: bool| Some((i128::from(t), Type::INT));
    let number = |v: Option<i128>| v.map(|v| (within(v, &ty), ty.clone()));
    match op {
        Binary::Add => number(a.checked_add(b)),
        Binary::Sub => number(a.checked_sub(b)),
        Binary::Mul => number(a.checked_mul(b)),
        Binary::Div => number(a.checked_div(b)),
        Binary::Rem => number(a.checked_rem(b)),
        Binary::Shl => number(shift.map(|b| a << b)),
        Binary::Shr => number(shift.map(|b| a >> b)),
        Binary::Lt => truth(a < b),
        Binary::Gt => truth(a > b),
        Binary::Le => truth(a <= b),
        Binary::Ge => truth(a >= b),
        Binary::Eq => truth(a == b),
        Binary::Ne => truth(a != b),
        Binary::BitAnd => number(Some(a & b)),
        Binary::BitOr => number(Some(a | b)),
        Binary::BitXor => number(Some(a ^ b)),
        Binary::And => truth(a != 0 && b != 0),
        Binary::Or => truth(a != 0 || b != 0),
    }
}
