//! The syntax tree of an `.rmm` file. Names are texts, not yet resolved.

use palisade_program::{BinOp, Domain, Init, Span};

/// A whole file.
#[derive(Debug, Default)]
pub(super) struct File {
    /// Alternatives of `forbidden`.
    pub(super) forbidden: Vec<Forbidden>,
    pub(super) predicates: Vec<(Cond, Span)>,
    pub(super) data: Vec<Decl>,
    pub(super) processes: Vec<Process>,
}

/// A name with its place.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

/// One combination of labels; `None` is `*`.
#[derive(Debug)]
pub(super) struct Forbidden {
    pub(super) labels: Vec<Option<Name>>,
    pub(super) span: Span,
}

/// A variable or register.
#[derive(Debug)]
pub(super) struct Decl {
    pub(super) name: Name,
    pub(super) init: Init,
    pub(super) domain: Option<Domain>,
}

/// `process(n) data ... registers ... text ...`
#[derive(Debug)]
pub(super) struct Process {
    /// The word `process`, with its count.
    pub(super) span: Span,
    pub(super) count: u32,
    pub(super) data: Vec<Decl>,
    pub(super) registers: Vec<Decl>,
    pub(super) text: Vec<Labelled>,
}

/// A statement with or without a label.
#[derive(Debug)]
pub(super) struct Labelled {
    pub(super) label: Option<Name>,
    pub(super) stmt: Stmt,
}

/// A statement.
#[derive(Debug)]
pub(super) struct Stmt {
    pub(super) kind: StmtKind,
    pub(super) span: Span,
    /// Whether it was written where it stands, not in a macro.
    pub(super) in_file: bool,
}

/// Alternatives of `either` and `locked`.
pub(super) type Alternatives = Vec<Vec<Labelled>>;

/// What a statement does.
#[derive(Debug)]
pub(super) enum StmtKind {
    /// `nop`
    Nop,
    /// `read: loc = e`, `syncrd: loc = e`
    ReadEqual(Sync, Loc, Expr),
    /// `read: $r := loc`, `syncrd: $r := loc`
    ReadInto(Sync, Name, Loc),
    /// `write: loc := e` and its kin
    Write(WriteKind, Loc, Expr),
    /// `cas(loc, old, new)`
    Cas(Loc, Expr, Expr),
    /// `fence`
    Fence,
    /// `ssfence`
    StoreFence,
    /// `llfence`
    LoadFence,
    /// A place where synthesis may put a fence; not written by the user.
    Candidate,
    /// `$r := e`
    Assign(Name, Expr),
    /// `assume: b`
    Assume(Cond),
    /// `if b then S else S`
    If(Cond, Box<Labelled>, Option<Box<Labelled>>),
    /// `while b do S`
    While(Cond, Box<Labelled>),
    /// `goto L`
    Goto(Name),
    /// `either { S or S }`
    Either(Alternatives),
    /// `locked { S or S }`
    Locked(Alternatives),
    /// `{ S ; S }`
    Block(Vec<Labelled>),
}

/// Whether a read is synchronising.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sync {
    /// `read:`
    No,
    /// `syncrd:`
    Yes,
}

/// Kinds of write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriteKind {
    /// `write:`
    Plain,
    /// `slocked write:`, a write and a store-store fence
    StoreLocked,
    /// `locked write:`
    Locked,
    /// `syncwr:`
    Sync,
}

/// A memory location.
#[derive(Debug)]
pub(super) struct Loc {
    pub(super) kind: LocKind,
    pub(super) span: Span,
}

/// How it is addressed.
#[derive(Debug)]
pub(super) enum LocKind {
    /// `x`
    Global(String),
    /// `x[my]`
    My(String),
    /// `x[2]`: of the second other process
    Other(String, i64),
    /// `[e]`
    Pointer(Expr),
}

/// An integer expression.
#[derive(Debug)]
pub(super) enum Expr {
    Number(i64),
    Register(Name),
    /// A memory location: in predicates only.
    Memory(Box<Loc>),
    Negative(Box<Expr>),
    Sum(Box<Expr>, Box<Expr>),
    Difference(Box<Expr>, Box<Expr>),
}

/// A Boolean expression.
#[derive(Debug)]
pub(super) enum Cond {
    Constant(bool),
    Compare(BinOp, Expr, Expr),
    Not(Box<Cond>),
    And(Box<Cond>, Box<Cond>),
    Or(Box<Cond>, Box<Cond>),
}
