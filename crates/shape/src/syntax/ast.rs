//! Syntax trees of TVP, TVM and TVS, before names are resolved.
//!
//! Place: from the parsers to [`super::elaborate`].

use super::Span;
use crate::kleene::Kleene;
use std::fmt;

/// A name with parameters, such as `r[n,x]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name {
    /// The identifier.
    pub id: String,
    /// The parameters in brackets.
    pub params: Vec<Name>,
}

impl Name {
    /// A name without parameters.
    pub fn plain(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            params: Vec::new(),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        if !self.params.is_empty() {
            f.write_str("[")?;
            for (i, p) in self.params.iter().enumerate() {
                if i > 0 {
                    f.write_str(",")?;
                }
                write!(f, "{p}")?;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}

/// A set expression.
#[derive(Clone, Debug)]
pub enum SetExpr {
    /// A declared set.
    Use(String, Span),
    /// `{a, b}`.
    Constant(Vec<Name>),
    /// `{p[z] : z in S}`.
    Comprehension(Vec<Name>, String, Box<SetExpr>),
    /// `+`.
    Plus(Box<SetExpr>, Box<SetExpr>),
    /// `-`.
    Minus(Box<SetExpr>, Box<SetExpr>),
    /// `&`.
    And(Box<SetExpr>, Box<SetExpr>),
}

/// A formula.
#[derive(Clone, Debug)]
pub enum FormulaAst {
    /// A constant.
    Value(Kleene),
    /// `a == b`.
    Eq(String, String),
    /// `p(args)`.
    Atom(Name, Vec<String>, Span),
    /// `p+(a,b)`, or `p*(a,b)` when the flag is set.
    Closure(Name, String, String, bool, Span),
    /// `!f`.
    Not(Box<FormulaAst>),
    /// Conjunction.
    And(Box<FormulaAst>, Box<FormulaAst>),
    /// Disjunction.
    Or(Box<FormulaAst>, Box<FormulaAst>),
    /// `f -> g`.
    Implies(Box<FormulaAst>, Box<FormulaAst>),
    /// `f <-> g`.
    Iff(Box<FormulaAst>, Box<FormulaAst>),
    /// `(c ? a : b)`.
    Ite(Box<FormulaAst>, Box<FormulaAst>, Box<FormulaAst>),
    /// `E(v,...) f`.
    Exists(Vec<String>, Box<FormulaAst>),
    /// `A(v,...) f`.
    Forall(Vec<String>, Box<FormulaAst>),
    /// `TC (l,r)(a,b) f`.
    Tc([String; 4], Box<FormulaAst>),
    /// `|/{ f : z in S }` (true) or `&/{...}`.
    Combine(bool, Box<FormulaAst>, String, SetExpr),
}

/// A text joined by `+`.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A string.
    Text(String),
    /// A name, printed.
    Name(Name),
}

/// `%message f -> text`.
#[derive(Clone, Debug)]
pub struct MessageAst {
    /// The condition.
    pub formula: FormulaAst,
    /// The text.
    pub text: Vec<Piece>,
    /// Where.
    pub span: Span,
}

/// A declaration.
#[derive(Clone, Debug)]
pub enum Decl {
    /// `%s Name set`.
    Set(String, SetExpr, Span),
    /// `%p` or, with a formula, `%i`.
    Predicate(Box<PredicateDecl>),
    /// `%r body ==> head`.
    Rule(FormulaAst, FormulaAst, Span),
    /// `foreach (z in S) { ... }`.
    Foreach(String, SetExpr, Vec<Decl>, Span),
    /// `%f { ... }`, added to every action.
    Focus(Vec<FocusItem>),
    /// `%message`, added to every action.
    Message(MessageAst),
}

/// The parts of `%p` and `%i`.
#[derive(Clone, Debug)]
pub struct PredicateDecl {
    /// Its name.
    pub name: Name,
    /// Its arguments.
    pub args: Vec<String>,
    /// The definition of an instrumentation predicate.
    pub formula: Option<FormulaAst>,
    /// Property words.
    pub properties: Vec<(String, Span)>,
    /// Functional dependencies `[x, y] --> z`: arguments that determine another.
    pub dependencies: Vec<(Vec<String>, String, Span)>,
    /// The values shown in pictures.
    pub shown: Option<Vec<Kleene>>,
    /// Where.
    pub span: Span,
}

/// An item of a focus list.
#[derive(Clone, Debug)]
pub enum FocusItem {
    /// A formula.
    Formula(FormulaAst, Span),
    /// `foreach`.
    Foreach(String, SetExpr, Vec<FocusItem>),
}

/// An item of an update block.
#[derive(Clone, Debug)]
pub enum UpdateItem {
    /// `p(args) = formula`, with `auto` asking for differencing.
    Update(Name, Vec<String>, FormulaAst, bool, Span),
    /// `foreach`.
    Foreach(String, SetExpr, Vec<UpdateItem>),
}

/// The clauses of an action.
#[derive(Clone, Debug, Default)]
pub struct ActionBody {
    /// `%t`.
    pub title: Vec<Piece>,
    /// `%f`.
    pub focus: Vec<FocusItem>,
    /// `%p`.
    pub precondition: Option<FormulaAst>,
    /// `%message` before.
    pub messages: Vec<MessageAst>,
    /// `%new`, with its formula.
    pub create: Option<Option<FormulaAst>>,
    /// `%clone`.
    pub cloned: Option<Option<FormulaAst>>,
    /// Updates.
    pub updates: Vec<UpdateItem>,
    /// `%retain`.
    pub retain: Option<FormulaAst>,
    /// `%message` after.
    pub post_messages: Vec<MessageAst>,
    /// `%start` (tvm).
    pub start: Option<FormulaAst>,
    /// `%wait` (tvm).
    pub wait: Option<FormulaAst>,
    /// `%stop` (tvm).
    pub stop: Option<FormulaAst>,
    /// `%newthread T` (tvm).
    pub new_thread: Option<String>,
    /// `%halt` (tvm).
    pub halt: Option<Option<FormulaAst>>,
    /// `%explicitat` (tvm).
    pub explicit_at: bool,
}

/// `%action name(args) { ... }`.
#[derive(Clone, Debug)]
pub struct ActionMacro {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub args: Vec<String>,
    /// Its clauses.
    pub body: ActionBody,
    /// Where.
    pub span: Span,
}

/// What an edge does.
#[derive(Clone, Debug)]
pub enum EdgeAction {
    /// An action by name with arguments.
    Call(String, Vec<Name>),
    /// `%assert(f)`, hard when the flag is set.
    Assert(FormulaAst, bool),
}

/// `L1 action(x) L2`.
#[derive(Clone, Debug)]
pub struct EdgeAst {
    /// From.
    pub source: String,
    /// What.
    pub action: EdgeAction,
    /// To.
    pub target: String,
    /// Inside `atomic`, and not its last edge: the thread keeps running (tvm).
    pub atomic: bool,
    /// Where.
    pub span: Span,
}

/// `%thread` or `%method` (tvm).
#[derive(Clone, Debug)]
pub struct ThreadAst {
    /// Its name.
    pub name: String,
    /// Its edges.
    pub edges: Vec<EdgeAst>,
    /// Where.
    pub span: Span,
}

/// A whole program file.
#[derive(Clone, Debug, Default)]
pub struct ProgramAst {
    /// Declarations.
    pub decls: Vec<Decl>,
    /// Actions.
    pub actions: Vec<ActionMacro>,
    /// The control flow graph (tvp).
    pub edges: Vec<EdgeAst>,
    /// Threads (tvm).
    pub threads: Vec<ThreadAst>,
    /// Global actions (tvm).
    pub globals: Vec<(String, Vec<Name>, Span)>,
    /// Labels to print (tvp).
    pub printed: Vec<String>,
    /// What was read and has no meaning here, with its place.
    pub ignored: Vec<(Ignored, Span)>,
}

/// Directives of TVLA's decomposition. They say how structures may be split into parts and joined
/// again; TVLA's default engine, which does not split them, ignores them too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ignored {
    /// `%dname formula name`.
    Name,
    /// `%pset`: read as `%s`.
    ParametricSet,
    /// `%closecycle p -> formula`.
    CloseCycle,
    /// `%compose formula`.
    Compose,
    /// `%decompose formula`.
    Decompose,
    /// `%frame formula`.
    Frame,
    /// `%frame_pre formula`.
    FrameBefore,
    /// `%message [formula] ...`.
    MessageComposition,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "`%dname`",
            Self::ParametricSet => "that the set is parametric (`%pset`)",
            Self::CloseCycle => "`%closecycle`",
            Self::Compose => "`%compose`",
            Self::Decompose => "`%decompose`",
            Self::Frame => "`%frame`",
            Self::FrameBefore => "`%frame_pre`",
            Self::MessageComposition => "the composition formula of the message",
        })
    }
}

/// The entries of one predicate in a structure.
#[derive(Clone, Debug)]
pub struct ValueAst {
    /// The predicate.
    pub name: Name,
    /// Tuples with their values; a nullary predicate has one empty tuple.
    pub entries: Vec<(Vec<String>, Kleene, Span)>,
    /// Where.
    pub span: Span,
}

/// One structure.
#[derive(Clone, Debug)]
pub struct StructureAst {
    /// Object names.
    pub nodes: Vec<(String, Span)>,
    /// Thread objects: name, thread, optional label.
    pub threads: Vec<(String, String, Option<String>, Span)>,
    /// Predicate values.
    pub values: Vec<ValueAst>,
    /// Where.
    pub span: Span,
}
