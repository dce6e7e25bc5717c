//! The *syntax tree* of a heap program: what the text says, names not yet looked up.

use palisade_program::Span;
use palisade_program::heap::{CommitKind, Tag};

pub(super) use crate::pal::ast::Name;

/// A whole file.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) structs: Vec<Struct>,
    pub(super) shared: Vec<Decl>,
    /// `local` outside methods.
    pub(super) kept: Vec<Decl>,
    pub(super) inits: Vec<Init>,
    pub(super) methods: Vec<Method>,
    pub(super) functions: Vec<Method>,
    pub(super) specs: Vec<Spec>,
    pub(super) nevers: Vec<(Expr, Span)>,
}

/// A type as written: `marked node`.
#[derive(Clone, Debug)]
pub(super) struct TypeName {
    pub(super) tag: Option<Tag>,
    pub(super) name: Name,
    pub(super) span: Span,
}

/// `struct node { ... }`
#[derive(Debug)]
pub(super) struct Struct {
    pub(super) circular: bool,
    pub(super) name: Name,
    /// With the lengths of arrays.
    pub(super) fields: Vec<(TypeName, Name, Option<Expr>)>,
}

/// One name of a declaration, with its value.
#[derive(Debug)]
pub(super) struct Decl {
    pub(super) ty: TypeName,
    pub(super) name: Name,
    /// How many elements, for an array.
    pub(super) length: Option<Expr>,
    pub(super) value: Option<Expr>,
    /// `{ ... }`: the values of the elements, in the place of one for all.
    pub(super) values: Vec<Expr>,
}

/// `init { ... }`
#[derive(Debug)]
pub(super) struct Init {
    pub(super) body: Vec<Stmt>,
    pub(super) span: Span,
}

/// `method name(parameters) returns type as operation by role { ... }`, or a function.
#[derive(Debug)]
pub(super) struct Method {
    pub(super) name: Name,
    pub(super) parameters: Vec<(TypeName, Name)>,
    pub(super) returns: Option<TypeName>,
    pub(super) operation: Option<Name>,
    pub(super) role: Option<Name>,
    pub(super) body: Vec<Stmt>,
    /// The closing brace.
    pub(super) end: Span,
    /// The head.
    pub(super) span: Span,
}

/// `spec ...`
#[derive(Debug)]
pub(super) enum Spec {
    /// `spec stack;`
    Named(Name),
    /// `spec { ... }`
    Own(OwnSpec),
}

/// A specification of one's own.
#[derive(Debug)]
pub(super) struct OwnSpec {
    pub(super) shared: Vec<Decl>,
    pub(super) inits: Vec<Init>,
    pub(super) operations: Vec<Method>,
    pub(super) span: Span,
}

/// `a.b[i].c`: a variable, and fields, parts and indices behind it.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) base: Name,
    pub(super) parts: Vec<Part>,
    pub(super) span: Span,
}

/// What stands behind a variable.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// `.next`
    Field(Name),
    /// `[i]`
    Index(Expr),
}

impl Path {
    /// The names behind the variable, if there are only names.
    pub(super) fn fields(&self) -> Option<Vec<&Name>> {
        let name = |part: &'_ Part| matches!(part, Part::Field(_));
        let all = self.parts.iter().all(name);
        let names = self.parts.iter().filter_map(|part| match part {
            Part::Field(name) => Some(name),
            Part::Index(_) => None,
        });
        all.then(|| names.collect())
    }
}

/// Comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
}

impl Expr {
    /// The number that it is, if that can be told from the text.
    pub(super) fn number(&self) -> Option<i64> {
        match &self.kind {
            ExprKind::Int(value) => Some(*value),
            ExprKind::Add(a, b, false) => a.number()?.checked_add(b.number()?),
            ExprKind::Add(a, b, true) => a.number()?.checked_sub(b.number()?),
            ExprKind::Remainder(a, b) => {
                let by = b.number().filter(|by| *by > 0)?;
                a.number()?.checked_rem_euclid(by)
            }
            ExprKind::Null
            | ExprKind::Empty
            | ExprKind::Infinity(_)
            | ExprKind::Bool(_)
            | ExprKind::Any
            | ExprKind::Path(_)
            | ExprKind::New(_)
            | ExprKind::Pack(..)
            | ExprKind::Cas(..)
            | ExprKind::Swap(..)
            | ExprKind::Not(_)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Compare(..)
            | ExprKind::Call(..) => None,
        }
    }
}

/// Kinds of expression.
#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Null,
    Empty,
    /// `infinity`, or `-infinity` if the flag is not set.
    Infinity(bool),
    Bool(bool),
    Int(i64),
    /// `*`
    Any,
    Path(Path),
    /// `new node`
    New(Name),
    /// `pack(p, tag)`
    Pack(Box<Expr>, Box<Expr>),
    /// `cas(place, expect, new)`
    Cas(Path, Box<Expr>, Box<Expr>),
    /// `xchg(place, new)`, or `fetch_add(place, number)` if the flag is set: the old value.
    Swap(Path, Box<Expr>, bool),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Compare(Compare, Box<Expr>, Box<Expr>),
    /// Sum, or difference if the flag is set.
    Add(Box<Expr>, Box<Expr>, bool),
    /// `a % b`
    Remainder(Box<Expr>, Box<Expr>),
    /// `f(a, b)`
    Call(Name, Vec<Expr>),
}

/// A statement.
#[derive(Debug)]
pub(super) struct Stmt {
    pub(super) kind: StmtKind,
    pub(super) span: Span,
}

/// Kinds of statement.
#[derive(Debug)]
pub(super) enum StmtKind {
    Block(Vec<Stmt>),
    Declare(Vec<Decl>),
    Assign(Path, Expr),
    /// A `cas` whose outcome does not matter.
    Cas(Expr),
    /// An `xchg` or `fetch_add` whose value does not matter.
    Swap(Expr),
    /// A call of a function whose value does not matter.
    Call(Expr),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    DoWhile(Box<Stmt>, Expr),
    /// `for (start; condition; step) body`
    For(
        Option<Box<Stmt>>,
        Option<Expr>,
        Option<Box<Stmt>>,
        Box<Stmt>,
    ),
    Choose(Vec<Vec<Stmt>>),
    Break,
    Continue,
    Return(Option<Expr>),
    Atomic(Vec<Stmt>),
    Lock(Path),
    Unlock(Path),
    Free(Expr),
    Assume(Expr),
    Assert(Expr),
    Skip,
    Fence,
    Commit(CommitKind, Option<Expr>),
    /// `soft fact when fact;`
    Soft(Fact, Option<Fact>),
}

/// What a soft invariant says of a thread.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) kind: FactKind,
    /// Whether a `!` stands in front.
    pub(super) negated: bool,
}

/// Kinds of fact.
#[derive(Debug)]
pub(super) enum FactKind {
    /// `done`, `was(head, x)`
    Word(Name, Vec<Name>),
    /// A comparison.
    Compare(Expr),
}
