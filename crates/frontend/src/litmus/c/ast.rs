//! The *syntax tree* of C litmus tests: functions `P0`, `P1`, ... of simple
//! statements over locals, pointers to shared locations, and calls of the
//! kernel's and C11's access functions.

use palisade_program::{BinOp, Span};

use super::super::ty::Ty;

/// A C type: a base type under some number of stars.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CTy {
    /// The base type.
    pub(super) base: Ty,
    /// The number of stars.
    pub(super) stars: u8,
    /// Whether plain accesses of what it points to are C11's sequentially
    /// consistent ones.
    pub(super) atomic: bool,
}

impl CTy {
    /// A value of base type `ty`.
    pub(super) const fn value(ty: Ty) -> Self {
        Self {
            base: ty,
            stars: 0,
            atomic: false,
        }
    }

    /// The type of values.
    pub(super) const fn ty(self) -> Ty {
        if self.stars == 0 {
            self.base
        } else {
            Ty::pointer(64)
        }
    }

    /// What it points to.
    pub(super) const fn target(self) -> Option<Self> {
        match self.stars {
            0 => None,
            stars => Some(Self {
                stars: stars - 1,
                ..self
            }),
        }
    }
}

/// An expression with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
}

/// Unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unary {
    /// `-e`
    Neg,
    /// `!e`
    Not,
    /// `~e`
    BitNot,
}

/// What an expression is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ExprKind {
    Number(i128),
    Name(String),
    Unary(Unary, Box<Expr>),
    Binary(BinOp, Box<Expr>, Box<Expr>),
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    Deref(Box<Expr>),
    AddressOf(Box<Expr>),
    Cast(CTy, Box<Expr>),
    Call(String, Vec<Expr>),
}

/// A statement with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stmt {
    pub(super) kind: StmtKind,
    pub(super) span: Span,
}

/// What a statement is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum StmtKind {
    Declare {
        name: String,
        ty: CTy,
        value: Option<Expr>,
    },
    /// `target = value` or `target op= value`.
    Assign {
        target: Expr,
        op: Option<BinOp>,
        value: Expr,
    },
    Call(Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    While(Expr, Vec<Stmt>),
    DoWhile(Vec<Stmt>, Expr),
    Return,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Function {
    pub(super) proc: u32,
    pub(super) params: Vec<(String, CTy, Span)>,
    pub(super) body: Vec<Stmt>,
    pub(super) span: Span,
}
