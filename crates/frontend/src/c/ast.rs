//! The *syntax tree* of a C file, with types resolved: declarations are in terms of
//! [`Type`], enumeration constants and `sizeof` are numbers already.

use palisade_program::Span;

use super::real::Literal;
use super::types::{Structs, Type};

/// A whole file.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) items: Vec<Item>,
    pub(super) structs: Structs,
    /// What each `sizeof` is of, by where it stands: allocations are made for such types.
    pub(super) sizes: std::collections::HashMap<Span, Type>,
}

/// What stands at the top level.
#[derive(Debug)]
pub(super) enum Item {
    Function(Function),
    Variable(Declaration),
}

/// A function with a body.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) result: Type,
    pub(super) params: Vec<(Option<String>, Type)>,
    pub(super) body: Vec<Stmt>,
    pub(super) span: Span,
    /// All of it, with its body.
    pub(super) extent: Span,
}

/// How a variable is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Storage {
    #[default]
    Automatic,
    Static,
    Extern,
    Typedef,
}

/// A declared variable (or function: the type says).
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) ty: Type,
    /// The length of an array, where it is no constant.
    pub(super) length: Option<Box<Expr>>,
    pub(super) storage: Storage,
    /// Whether it stands in one of the user's files.
    pub(super) is_own: bool,
    pub(super) thread_local: bool,
    pub(super) init: Option<Initializer>,
    pub(super) span: Span,
}

/// An initialiser.
#[derive(Clone, Debug)]
pub(super) enum Initializer {
    Value(Expr),
    List(Vec<(Vec<Designator>, Initializer)>, Span),
}

/// `.name` or `[index]`.
#[derive(Clone, Debug)]
pub(super) enum Designator {
    Field(String),
    Index(u64),
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct Stmt {
    pub(super) kind: StmtKind,
    pub(super) span: Span,
}

/// Kinds of statement.
#[derive(Clone, Debug)]
pub(super) enum StmtKind {
    Empty,
    Expr(Expr),
    Declare(Vec<Declaration>),
    Block(Vec<Stmt>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    DoWhile(Box<Stmt>, Expr),
    For(Option<Box<Stmt>>, Option<Expr>, Option<Expr>, Box<Stmt>),
    Switch(Expr, Box<Stmt>),
    /// `case lo ... hi:`
    Case(i128, i128, Box<Stmt>),
    Default(Box<Stmt>),
    Label(String, Box<Stmt>),
    Goto(String),
    Break,
    Continue,
    Return(Option<Expr>),
    /// Inline assembler without operands: its template.
    Asm(String),
    /// What is not supported if it is reached.
    Refused(Refusal),
    /// A place where synthesis may put a fence.
    Gap,
}

/// Why a statement is not supported.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) what: String,
    pub(super) help: &'static str,
    /// Only where memory orders are kept: it has no meaning in C11's memory model.
    pub(super) only_ordered: bool,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
}

/// Unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unary {
    Plus,
    Minus,
    Not,
    BitNot,
    Deref,
    Address,
    PreIncrement,
    PreDecrement,
    PostIncrement,
    PostDecrement,
}

/// Binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
}

/// Kinds of expression.
#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Int(i128, Type),
    /// A floating-point number.
    Float(Literal),
    Str(String),
    Ident(String),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `a = b`, `a += b`
    Assign(Option<Binary>, Box<Expr>, Box<Expr>),
    /// `c ? a : b`; without `a`, as GNU C has it, the value of `c`.
    Cond(Box<Expr>, Option<Box<Expr>>, Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    Index(Box<Expr>, Box<Expr>),
    Member(Box<Expr>, String),
    Arrow(Box<Expr>, String),
    Cast(Type, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    /// `({ ... })`
    Statements(Vec<Stmt>),
    Compound(Type, Box<Initializer>),
    /// `sizeof` of something whose size is not known here.
    UnknownSize,
}
