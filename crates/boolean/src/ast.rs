//! The syntax tree of Boolean programs. Trees are equal if they say the same,
//! wherever it stands ([`At`] compares equal to every other); notes, the
//! comments beside declarations and statements, belong to the tree.

use palisade_program::Span;

/// Where something stands; no part of what it says.
#[derive(Clone, Copy, Debug, Default)]
pub struct At(pub Span);

impl PartialEq for At {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for At {}

/// A whole program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BooleanProgram {
    /// Shared variables.
    pub shared: Vec<Variable>,
    /// Conditions that hold at the start.
    pub initially: Vec<Property>,
    /// The threads; programs without `thread` sections have one without a name.
    pub threads: Vec<Thread>,
    /// States that must not be reached.
    pub never: Vec<Property>,
}

/// A condition of the whole program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Property {
    /// The condition.
    pub cond: Expr,
    /// A comment beside it.
    pub note: Option<String>,
    /// Where it stands.
    pub at: At,
}

/// A declared variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its first value.
    pub init: Value,
    /// A comment beside it: the predicate that it stands for.
    pub note: Option<String>,
    /// Where it stands.
    pub at: At,
}

/// A literal value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// `0`
    False,
    /// `1`
    True,
    /// `*`: either.
    Any,
}

/// How many threads run a piece of code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Copies {
    /// `thread t { }`
    One,
    /// `thread t[n] { }`
    Fixed(u32),
    /// `thread t[*] { }`, or code outside any thread: as many as are asked for.
    Any,
}

/// The code of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its name; none for code outside any thread.
    pub name: Option<String>,
    /// How many run it.
    pub copies: Copies,
    /// Its variables.
    pub locals: Vec<Variable>,
    /// Its statements.
    pub body: Vec<Statement>,
    /// Labels after the last statement.
    pub end: Vec<Label>,
    /// Where it stands.
    pub at: At,
}

/// A label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// A name or a number.
    pub name: String,
    /// Where it stands.
    pub at: At,
}

/// A statement with its labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// The labels before it.
    pub labels: Vec<Label>,
    /// What it does.
    pub kind: StatementKind,
    /// A comment beside it.
    pub note: Option<String>,
    /// Where it stands.
    pub at: At,
}

/// What a statement does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StatementKind {
    /// `a, [b] = e, f constrain g`
    Assign {
        /// What is assigned to.
        targets: Vec<Target>,
        /// As many values.
        values: Vec<Expr>,
        /// What must hold between the values before and after.
        constrain: Option<Expr>,
    },
    /// `goto a, b`
    Goto(Vec<Label>),
    /// `assume e`
    Assume(Expr),
    /// `assert e`
    Assert(Expr),
    /// `skip`
    Skip,
}

/// What an assignment changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The variable.
    pub name: String,
    /// Whether it is a broadcast to passive threads, and to which of them.
    pub passive: Option<Passive>,
    /// Where it stands.
    pub at: At,
}

/// Which passive threads are meant: `[v]` those of the same kind, `[t.v]` those
/// that run `t`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passive {
    /// Their kind, if it is named.
    pub thread: Option<String>,
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: Box<ExprKind>,
    /// Where it stands.
    pub at: At,
}

/// Binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `^`: exactly one.
    Xor,
    /// `==`
    Iff,
    /// `=>`
    Implies,
}

impl Op {
    /// The value.
    pub const fn apply(self, a: bool, b: bool) -> bool {
        match self {
            Self::And => a && b,
            Self::Or => a || b,
            Self::Xor => a != b,
            Self::Iff => a == b,
            Self::Implies => !a || b,
        }
    }
}

/// What an expression is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExprKind {
    /// `0`, `1`, `*`
    Value(Value),
    /// A shared variable or an own local.
    Name(String),
    /// `[v]` or `[t.v]`: a passive thread's local.
    Passive(Passive, String),
    /// `'v`: the value after the assignment.
    Next(String),
    /// `t@label`
    Location(String, Label),
    /// `!e`
    Not(Expr),
    /// `a op b`
    Binary(Op, Expr, Expr),
    /// `c ? a : b`
    Cond(Expr, Expr, Expr),
    /// `choose(a, b)`: 1 if `a`, else 0 if `b`, else either.
    Choose(Expr, Expr),
}

impl Expr {
    /// An expression that stands nowhere.
    pub fn new(kind: ExprKind) -> Self {
        Self {
            kind: Box::new(kind),
            at: At::default(),
        }
    }

    /// `0`, `1` or `*`.
    pub fn value(value: Value) -> Self {
        Self::new(ExprKind::Value(value))
    }

    /// A variable.
    pub fn name(name: impl Into<String>) -> Self {
        Self::new(ExprKind::Name(name.into()))
    }

    /// `!self`
    #[must_use]
    pub fn negated(self) -> Self {
        match *self.kind {
            ExprKind::Value(Value::False) => Self::value(Value::True),
            ExprKind::Value(Value::True) => Self::value(Value::False),
            ExprKind::Not(e) => e,
            _ => Self::new(ExprKind::Not(self)),
        }
    }

    /// All of `parts`.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::join(Op::And, parts, Value::True, Value::False)
    }

    /// One of `parts`.
    pub fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::join(Op::Or, parts, Value::False, Value::True)
    }

    /// `parts` joined by `op`, whose neutral and absorbing values are given.
    fn join(
        op: Op,
        parts: impl IntoIterator<Item = Self>,
        neutral: Value,
        absorbing: Value,
    ) -> Self {
        let mut result: Option<Self> = None;
        for part in parts {
            match *part.kind {
                ExprKind::Value(v) if v == neutral => {}
                ExprKind::Value(v) if v == absorbing => return part,
                _ => {
                    result = Some(match result {
                        None => part,
                        Some(left) => Self::new(ExprKind::Binary(op, left, part)),
                    });
                }
            }
        }
        result.unwrap_or_else(|| Self::value(neutral))
    }
}
