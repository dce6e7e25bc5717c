//! The *syntax tree* of a heap program: what the text says, names not yet looked up.

use palisade_program::Span;
use palisade_program::heap::{CommitKind, Tag};

pub(crate) use crate::pal::ast::Name;

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) structs: Vec<Struct>,
    pub(crate) shared: Vec<Decl>,
    /// `local` outside methods.
    pub(crate) kept: Vec<Decl>,
    pub(crate) inits: Vec<Init>,
    pub(crate) methods: Vec<Method>,
    pub(crate) functions: Vec<Method>,
    pub(crate) specs: Vec<Spec>,
    pub(crate) nevers: Vec<(Expr, Span)>,
}

/// A type as written: `marked node`.
#[derive(Clone, Debug)]
pub(crate) struct TypeName {
    pub(crate) tag: Option<Tag>,
    pub(crate) name: Name,
    pub(crate) span: Span,
}

/// `struct node { ... }`
#[derive(Debug)]
pub(crate) struct Struct {
    pub(crate) circular: bool,
    pub(crate) name: Name,
    /// With the lengths of arrays.
    pub(crate) fields: Vec<(TypeName, Name, Option<Expr>)>,
}

/// One name of a declaration, with its value.
#[derive(Debug)]
pub(crate) struct Decl {
    pub(crate) ty: TypeName,
    pub(crate) name: Name,
    /// How many elements, for an array.
    pub(crate) length: Option<Expr>,
    pub(crate) value: Option<Expr>,
    /// `{ ... }`: the values of the elements, in the place of one for all.
    pub(crate) values: Vec<Expr>,
}

/// `init { ... }`
#[derive(Debug)]
pub(crate) struct Init {
    pub(crate) body: Vec<Stmt>,
    pub(crate) span: Span,
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) ty: TypeName,
    pub(crate) name: Name,
    /// `ref`: it is the caller's local itself (functions only).
    pub(crate) is_reference: bool,
}

/// `method name(parameters) returns type as operation by role { ... }`, or a function.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: Option<TypeName>,
    pub(crate) operation: Option<Name>,
    pub(crate) role: Option<Name>,
    pub(crate) body: Vec<Stmt>,
    /// The closing brace.
    pub(crate) end: Span,
    /// The head.
    pub(crate) span: Span,
}

/// `spec ...`
#[derive(Debug)]
pub(crate) enum Spec {
    /// `spec stack;`
    Named(Name),
    /// `spec { ... }`
    Own(OwnSpec),
}

/// A specification of one's own.
#[derive(Debug)]
pub(crate) struct OwnSpec {
    pub(crate) shared: Vec<Decl>,
    pub(crate) inits: Vec<Init>,
    pub(crate) operations: Vec<Method>,
    pub(crate) span: Span,
}

/// `a.b[i].c`: a variable, and fields, parts and indices behind it.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) base: Name,
    pub(crate) parts: Vec<Part>,
    pub(crate) span: Span,
}

/// What stands behind a variable.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// `.next`
    Field(Name),
    /// `[i]`
    Index(Expr),
}

impl Path {
    /// The names behind the variable, if there are only names.
    pub(crate) fn fields(&self) -> Option<Vec<&Name>> {
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
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

impl Expr {
    /// The number that it is, if that can be told from the text.
    pub(crate) fn number(&self) -> Option<i64> {
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

/// A compare-and-swap.
#[derive(Clone, Debug)]
pub(crate) struct Cas {
    pub(crate) place: Path,
    pub(crate) expect: Expr,
    pub(crate) new: Expr,
    /// The local that gets what is there instead if it fails.
    pub(crate) found: Option<Path>,
    /// Whether it may fail for no reason, as C's weak one.
    pub(crate) is_weak: bool,
}

/// Kinds of expression.
#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
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
    Cas(Box<Cas>),
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
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

/// Kinds of statement.
#[derive(Debug)]
pub(crate) enum StmtKind {
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
pub(crate) struct Fact {
    pub(crate) kind: FactKind,
    /// Whether a `!` stands in front.
    pub(crate) negated: bool,
}

/// Kinds of fact.
#[derive(Debug)]
pub(crate) enum FactKind {
    /// `done`, `was(head, x)`
    Word(Name, Vec<Name>),
    /// A comparison.
    Compare(Expr),
}
