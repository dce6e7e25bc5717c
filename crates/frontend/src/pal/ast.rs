//! The *syntax tree* of a `.pal` file: what was written, with spans, before any
//! name is resolved. Its depth is bounded by the parser, so recursive walks over
//! it are safe.

use palisade_program::{AtomicKind, BinOp, FenceKind, PropertyKind, RemoteOp, Span, UnOp};

/// A name where it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) items: Vec<Item>,
}

/// A declaration at the top level.
#[derive(Debug)]
pub(crate) enum Item {
    Const {
        name: Name,
        value: Expr,
    },
    Shared(Vec<Decl>),
    Function(Function),
    Unit(Unit),
    Property(Property),
    Predicate {
        cond: Expr,
        span: Span,
    },
    /// `reach e;`
    Reach {
        cond: Expr,
        span: Span,
    },
}

/// `never` or `finally`.
#[derive(Debug)]
pub(crate) struct Property {
    pub(crate) kind: PropertyKind,
    pub(crate) cond: Expr,
    pub(crate) span: Span,
}

/// `fn name(params) { body }`
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: Name,
    pub(crate) params: Vec<Name>,
    pub(crate) body: Vec<Stmt>,
}

/// A thread or a process.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) is_process: bool,
    pub(crate) name: Name,
    pub(crate) count: Copies,
    pub(crate) body: Vec<Stmt>,
    pub(crate) span: Span,
}

/// How many copies of a thread were asked for.
#[derive(Debug)]
pub(crate) enum Copies {
    Once,
    Fixed(Expr),
    Any,
}

/// One declared variable: `control name[len] in lo..hi = init`.
#[derive(Debug)]
pub(crate) struct Decl {
    pub(crate) control: bool,
    pub(crate) name: Name,
    pub(crate) len: Option<Expr>,
    pub(crate) domain: Option<(Expr, Expr)>,
    pub(crate) init: DeclInit,
    pub(crate) span: Span,
}

/// An initial value.
#[derive(Debug)]
pub(crate) enum DeclInit {
    /// Nothing was written: zero.
    None,
    /// One value, for all elements of an array.
    Value(Expr),
    /// `{ a, b, c }`
    List(Vec<Expr>, Span),
}

/// A statement with its labels.
#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) labels: Vec<Name>,
    pub(crate) kind: StmtKind,
    /// Without the labels, with the closing semicolon.
    pub(crate) span: Span,
}

/// Kinds of statement.
#[derive(Debug)]
pub(crate) enum StmtKind {
    /// `;`, or nothing after a label at the end of a block.
    Empty,
    Block(Vec<Stmt>),
    Local(Vec<Decl>),
    /// Inside a process only.
    Shared(Vec<Decl>),
    Assign {
        place: Place,
        value: Expr,
    },
    /// `place op= value`
    Update {
        place: Place,
        op: BinOp,
        value: Expr,
    },
    If {
        arms: Vec<(Expr, Stmt)>,
        otherwise: Option<Box<Stmt>>,
    },
    While {
        cond: Expr,
        body: Box<Stmt>,
    },
    DoWhile {
        body: Box<Stmt>,
        cond: Expr,
    },
    For {
        init: Option<Box<Stmt>>,
        cond: Option<Expr>,
        update: Option<Box<Stmt>>,
        body: Box<Stmt>,
    },
    Break,
    Continue,
    Goto(Name),
    Choose(Vec<Vec<Stmt>>),
    Assume(Expr),
    Assert(Expr),
    Skip,
    /// An atomic block of kind `Block` or `Read`.
    Atomic(AtomicKind, Vec<Stmt>),
    Lock(Place),
    Unlock(Place),
    Fence(FenceKind),
    Return(Option<Expr>),
    /// A call whose result is not used.
    Call(Expr),
    Put {
        remote: Place,
        process: Process,
        local: Place,
    },
    Get {
        local: Place,
        remote: Place,
        process: Process,
    },
    RemoteAtomic(Box<RemoteAtomic>),
    /// A flush, and whether it waits for the own side only; `None` is `flush(all)`.
    Flush(Option<Process>, bool),
}

/// A remote atomic operation.
#[derive(Debug)]
pub(crate) struct RemoteAtomic {
    pub(crate) result: Option<Place>,
    pub(crate) remote: Place,
    pub(crate) process: Process,
    pub(crate) change: RemoteChange,
}

/// What it does to the remote variable.
#[derive(Debug)]
pub(crate) enum RemoteChange {
    /// Expected and new value.
    CompareSwap(Expr, Expr),
    Op(RemoteOp, Expr),
}

/// A process that a remote operation names: `p` or `p[e]`.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) name: Name,
    pub(crate) copy: Option<Expr>,
    pub(crate) span: Span,
}

/// Something that can be assigned to: `x` or `a[e]`.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) name: Name,
    pub(crate) index: Option<Box<Expr>>,
    pub(crate) span: Span,
}

/// An expression.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
    /// Height of the tree; the parser refuses trees that are too high.
    pub(crate) height: u16,
}

/// Kinds of expression.
#[derive(Debug)]
pub(crate) enum ExprKind {
    Int(i64),
    SelfId,
    /// `*`: any value.
    Any,
    /// `x` or `a[e]`
    Place(Place),
    Unary(UnOp, Box<Expr>),
    Binary(BinOp, Box<Expr>, Box<Expr>),
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    Call(Name, Vec<Expr>),
    /// `choose(a, b)`
    Choose(Vec<Expr>),
    /// `choose(lo..hi)`
    ChooseRange(Box<Expr>, Box<Expr>),
    /// `t#1@label`
    At(Thread, Name),
    /// `t#1.x`, `t.a[e]`, `t.self`
    Field(Thread, Name, Option<Box<Expr>>),
}

/// A thread that a property names.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) name: Name,
    pub(crate) pick: ThreadPick,
    pub(crate) span: Span,
}

/// Which copy of the thread.
#[derive(Debug)]
pub(crate) enum ThreadPick {
    /// `t`
    Plain,
    /// `t[e]`
    Copy(Box<Expr>),
    /// `t#1`
    Number(u64),
}
