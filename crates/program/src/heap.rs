//! A *heap program* is a concurrent data structure as code: struct types, shared
//! variables, methods that any number of threads call at any time, and a
//! specification that says what the calls should do one at a time. It is what
//! `palisade linearize` reads; it has its own IR beside [`crate::Program`], because
//! nodes, not integers, are what it is about.
//!
//! Memory is sequentially consistent, or has store buffers (TSO, PSO): a [`Step::Write`] goes to the
//! thread's buffer and reaches memory later, [`Step::Read`] finds the thread's own stores first,
//! and [`Step::Fence`], [`Step::Cas`], [`Step::Lock`], [`Step::Unlock`] and atomic blocks wait until the
//! buffer is empty and act on memory.
//!
//! How it runs. First [`Program::init`] runs alone. Then each thread calls methods,
//! one after another. A call sets the parameters, puts every other local to its
//! [default](Type), and starts at [`Body::entry`]. One edge is one atomic step;
//! between two steps other threads may act, unless the thread stands at a location
//! that is [atomic](Location::atomic). A thread that cannot leave an atomic location
//! should not have entered the block: such a run does not happen at all. A call ends
//! with a [`Step::Return`], which leads to [`Body::exit`].
//!
//! The front end promises: operands have the types
//! that their steps ask for; a [`Place::Field`] is a field of the struct that its local
//! points to; tags are given exactly for places that have one; every path ends in a
//! `Return`; a location's edges are either one step, or steps with conditions
//! (`Assume`, `Cas`), of which those enabled are alternatives.
//!
//! Commit points ([`Commit`]) are what the user claims about where an operation
//! takes effect. They are ghosts: no run depends on them.
//!
//! | file | term |
//! |---|---|
//! | `access` | the parts of steps and terms |
//! | [`mod@print`] | a heap program as text |
//! | [`soft`] | soft invariants that the user gives |

mod access;
pub mod print;
pub mod soft;

use crate::ids::{FieldId, LocId, LocalId, SharedId, StructId};
use crate::source::{Source, Span};

/// Types of variables and fields, each with the value it starts with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Type {
    /// Values that are stored and compared only (`==`, `!=`, and `<` where there is
    /// an order); starts as [`Term::Undefined`].
    Data,
    /// Mathematical integers; starts as 0.
    Int,
    /// Truth values; starts as false.
    Bool,
    /// A lock, touched by [`Step::Lock`] and [`Step::Unlock`] only; starts free.
    Lock,
    /// A pointer to a node of a struct; starts as null.
    Pointer(StructId),
}

/// What is packed into the same word beside a pointer: read, written and compared
/// together with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Tag {
    /// A bit ([`Type::Bool`]).
    Mark,
    /// A number ([`Type::Int`]).
    Count,
}

impl Tag {
    /// The type of the tag itself.
    pub const fn ty(self) -> Type {
        match self {
            Self::Mark => Type::Bool,
            Self::Count => Type::Int,
        }
    }
}

/// A field of a struct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// What is packed beside it; pointers only.
    pub tag: Option<Tag>,
    /// Where it is declared.
    pub span: Span,
}

/// A struct type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Struct {
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Declared `circular`: lists of it may have cycles.
    pub circular: bool,
    /// Where it is declared.
    pub span: Span,
}

/// A shared variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shared {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// What is packed beside it; pointers only. Tags start as `false` or 0.
    pub tag: Option<Tag>,
    /// The value it starts with: a constant of its type.
    pub init: Term,
    /// Where it is declared.
    pub span: Span,
}

/// What a local is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// A parameter of the method.
    Parameter,
    /// Declared in the body.
    Variable,
    /// The tag of the packed local given: declared together with it.
    TagOf(LocalId),
    /// Made by the front end for a part of an expression; its value is used by the
    /// steps that follow directly.
    Temporary,
    /// A word that the thread keeps between its calls ([`Program::kept`], by index): a call
    /// starts with what the last call of the thread has left in it.
    Kept(usize),
}

/// A word that each thread keeps between its calls: one of a variable that is declared
/// `local` outside methods. A packed one is two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Its name; `x.mark`, `x.count` for a tag.
    pub name: String,
    /// Its type; never [`Type::Lock`].
    pub ty: Type,
    /// The value that it has before the first call of a thread: a constant of its type.
    pub init: Term,
    /// Where it is declared.
    pub span: Span,
}

/// A local variable of a body. A packed local is two: the pointer and its tag.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Local {
    /// Its name: unique in the body. Temporaries are called `$1`, `$2`, tags `x.mark`.
    pub name: String,
    /// Its type; never [`Type::Lock`].
    pub ty: Type,
    /// What it is.
    pub role: Role,
    /// Where it is declared.
    pub span: Span,
}

/// A value without an effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Term {
    /// The null pointer.
    Null,
    /// The value that says that there was nothing to take; of type data, and
    /// different from all values that calls are given.
    Empty,
    /// Data below (`false`) or above (`true`) all values that calls are given: keys of sentinels.
    Infinity(bool),
    /// The value that data starts with: no call is given it, and it is not `empty`.
    /// Only as the initial value of variables, locals and fields.
    Undefined,
    /// A truth value.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A local.
    Local(LocalId),
    /// An integer local plus a constant.
    Plus(LocalId, i64),
    /// The present value of a shared variable (without its tag): in conditions of
    /// commits and in `never` only, where it is a ghost that no step reads.
    Shared(SharedId),
}

/// A condition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Cond {
    /// Always.
    True,
    /// A term of type bool.
    Holds(Term),
    /// Two terms of the same type are equal.
    Eq(Term, Term),
    /// The first is less: numbers, or data in an order that the program does not know
    /// more about than that it is total.
    Less(Term, Term),
    /// Not.
    Not(Box<Cond>),
    /// Both.
    And(Box<Cond>, Box<Cond>),
    /// One or both.
    Or(Box<Cond>, Box<Cond>),
}

impl Cond {
    /// The opposite.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            other @ (Self::True
            | Self::Holds(_)
            | Self::Eq(..)
            | Self::Less(..)
            | Self::And(..)
            | Self::Or(..)) => Self::Not(Box::new(other)),
        }
    }

    /// Whether it compares two terms that are both `wanted`, or orders one that is.
    fn compares(&self, wanted: &dyn Fn(Term) -> bool) -> bool {
        match self {
            Self::True | Self::Holds(_) => false,
            Self::Eq(a, b) => wanted(*a) && wanted(*b),
            Self::Less(a, b) => wanted(*a) || wanted(*b),
            Self::Not(inner) => inner.compares(wanted),
            Self::And(a, b) | Self::Or(a, b) => a.compares(wanted) || b.compares(wanted),
        }
    }

    /// Calls `f` on every term.
    pub fn for_each_term(&self, f: &mut dyn FnMut(Term)) {
        match self {
            Self::True => {}
            Self::Holds(term) => f(*term),
            Self::Eq(a, b) | Self::Less(a, b) => {
                f(*a);
                f(*b);
            }
            Self::Not(inner) => inner.for_each_term(f),
            Self::And(a, b) | Self::Or(a, b) => {
                a.for_each_term(f);
                b.for_each_term(f);
            }
        }
    }
}

/// A word of memory that threads share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A shared variable.
    Shared(SharedId),
    /// A field of the node that a local points to. To use it when the local is null
    /// is a null dereference: a violation.
    Field {
        /// The pointer.
        of: LocalId,
        /// The field, of the struct that the local's type names.
        field: FieldId,
    },
}

/// Operators of [`Step::Compute`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Operator {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The remainder: never negative. The right side is a positive constant.
    Remainder,
}

/// What a step complains of that is never right.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Failure {
    /// The condition of an `assert` does not hold.
    Assertion,
    /// The index of an array is out of range.
    Index,
}

/// One atomic step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing.
    Skip,
    /// Waits until the thread's stores have reached memory; under SC nothing.
    Fence,
    /// Goes on only if the condition holds; over locals only.
    Assume(Cond),
    /// `to = value`.
    Assign {
        /// The local.
        to: LocalId,
        /// Over locals.
        value: Term,
    },
    /// `to = *`: any value of the local's type; integers and truth values only.
    Havoc {
        /// The local.
        to: LocalId,
    },
    /// `to = new node`. A fresh node has the defaults of its fields' types; with
    /// reclamation a freed node may come back as it is.
    New {
        /// The local; its type says of which struct.
        to: LocalId,
    },
    /// `to = from`.
    Read {
        /// The local.
        to: LocalId,
        /// Takes the tag, if it is wanted; `None` also where the place has none.
        tag: Option<LocalId>,
        /// The place.
        from: Place,
    },
    /// `to = value`.
    Write {
        /// The place.
        to: Place,
        /// Over locals.
        value: Term,
        /// The tag: given exactly if the place has one.
        tag: Option<Term>,
    },
    /// One outcome of a compare-and-swap. A `cas` is two edges from one location, alike
    /// but for `success`: the first is enabled when the place holds `expect` (and
    /// `expect_tag`) and writes `new` (and `new_tag`), the second is enabled
    /// otherwise and writes nothing.
    Cas {
        /// The place.
        at: Place,
        /// Expected, over locals.
        expect: Term,
        /// Expected tag: given exactly if the place has one.
        expect_tag: Option<Term>,
        /// Written.
        new: Term,
        /// Written tag: given exactly if the place has one.
        new_tag: Option<Term>,
        /// Which outcome.
        success: bool,
    },
    /// Waits until the lock is free and takes it.
    Lock(Place),
    /// Gives the lock back. That the thread does not hold it is a violation.
    Unlock(Place),
    /// Gives the node back to the allocator. Without reclamation it has no effect.
    Free(LocalId),
    /// `to = left operator right`, for numbers.
    Compute {
        /// The local.
        to: LocalId,
        /// The operator.
        operator: Operator,
        /// Over locals.
        left: Term,
        /// Over locals.
        right: Term,
    },
    /// A violation: it does not happen in runs of a correct program. The steps before it say when.
    Fail(Failure),
    /// Ends the call. The value is given exactly if the method returns something.
    Return(Option<Term>),
}

impl Step {
    /// The shared word that the step reads or writes, if any.
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::Read { from: place, .. }
            | Self::Write { to: place, .. }
            | Self::Cas { at: place, .. }
            | Self::Lock(place)
            | Self::Unlock(place) => Some(*place),
            Self::Skip
            | Self::Fence
            | Self::Assume(_)
            | Self::Assign { .. }
            | Self::Havoc { .. }
            | Self::New { .. }
            | Self::Free(_)
            | Self::Compute { .. }
            | Self::Fail(_)
            | Self::Return(_) => None,
        }
    }

    /// The local that the step follows to a node, if any: it must not be null.
    pub const fn dereferences(&self) -> Option<LocalId> {
        if let Self::Free(local) = self {
            return Some(*local);
        }
        match self.place() {
            Some(Place::Field { of, .. }) => Some(of),
            Some(Place::Shared(_)) | None => None,
        }
    }

    /// Whether it may change memory that threads share (not counting whether it is
    /// enabled).
    pub const fn writes(&self) -> bool {
        matches!(
            self,
            Self::Write { .. } | Self::Cas { success: true, .. } | Self::Lock(_) | Self::Unlock(_)
        )
    }
}

/// Kinds of commit point.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CommitKind {
    /// `commit`: the operation takes effect at this step.
    Now,
    /// `commit later`: the operation may have taken effect here; a `confirm` later in the
    /// call decides. It notes the result that the specification would give *now*. It is
    /// for operations that, with this result, leave the specification's state
    /// unchanged: for others it notes nothing. A later one replaces an earlier one.
    Later,
    /// `confirm`: the operation took effect at the last `commit later`, with the
    /// result noted there. Without a note it is a wrong commit point.
    Confirm,
}

/// What the user claims about where an operation takes effect: right after the step
/// of the edge that carries it, atomically with it. A call should have exactly one
/// effective point (`Now` or `Confirm`) before it returns, and return the result that
/// the specification gave there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    /// Which kind.
    pub kind: CommitKind,
    /// It counts only if this holds after the step; over locals and shared variables.
    pub when: Cond,
    /// Where it stands.
    pub span: Span,
}

/// An edge of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// From.
    pub from: LocId,
    /// To; the exit exactly for [`Step::Return`] and [`Step::Fail`].
    pub to: LocId,
    /// The step.
    pub step: Step,
    /// Commit points, in the order in which they count; mostly none.
    pub commits: Vec<Commit>,
    /// Where the step stands.
    pub span: Span,
}

/// A location of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Location {
    /// No other thread acts while a thread is here: inside `atomic`.
    pub atomic: bool,
}

/// A control-flow graph with its locals.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Body {
    /// The locals; parameters first.
    pub locals: Vec<Local>,
    /// The locations.
    pub locations: Vec<Location>,
    /// The edges; those of one location are in the order of the text.
    pub edges: Vec<Edge>,
    /// Where a call starts.
    pub entry: LocId,
    /// Where it has ended.
    pub exit: LocId,
    /// Soft invariants; ghosts like commits.
    pub softs: Vec<soft::Soft>,
}

impl Body {
    /// The edges that leave a location, with their indices.
    pub fn leaving(&self, at: LocId) -> impl Iterator<Item = (usize, &Edge)> {
        self.edges
            .iter()
            .enumerate()
            .filter(move |(_, e)| e.from == at)
    }

    /// Adds a step in front of all others.
    pub fn put_first(&mut self, step: Step, span: Span) {
        let from = LocId::from(self.locations.len());
        self.locations.push(Location { atomic: false });
        let to = std::mem::replace(&mut self.entry, from);
        let commits = Vec::new();
        self.edges.push(Edge {
            from,
            to,
            step,
            commits,
            span,
        });
    }

    /// The struct that a local points to.
    pub fn pointee(&self, local: LocalId) -> Option<StructId> {
        match self.locals.get(local.index())?.ty {
            Type::Pointer(of) => Some(of),
            Type::Data | Type::Int | Type::Bool | Type::Lock => None,
        }
    }
}

/// What a method is in the specification.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// Stack: puts its argument on top.
    Push,
    /// Stack: takes the top; `empty` if there is none.
    Pop,
    /// Queue: appends its argument.
    Enqueue,
    /// Queue: takes the first; `empty` if there is none.
    Dequeue,
    /// Set: true if its argument was not in the set and now is.
    Add,
    /// Set: true if its argument was in the set and now is not.
    Remove,
    /// Set: whether its argument is in the set.
    Contains,
    /// Index into [`Sequential::operations`].
    Own(usize),
    /// Nothing is specified ([`Specification::Nothing`]).
    Unspecified,
}

/// A method of the data structure, or an operation of an own specification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// What it is in the specification.
    pub operation: Operation,
    /// How many of the first locals are parameters.
    pub parameters: usize,
    /// What it returns; data includes [`Term::Empty`].
    pub returns: Option<Type>,
    /// The role that it belongs to ([`Program::roles`], by index), if any.
    pub role: Option<usize>,
    /// Its code.
    pub body: Body,
    /// Where its head stands.
    pub span: Span,
}

/// A specification of one's own: a sequential program with a state of its own. An
/// operation runs as a whole. It may choose (several results are right), and where it
/// cannot get to a `Return` it is not possible. Its [`Place::Shared`] and
/// [`Term::Shared`] mean [`Sequential::shared`], its nodes are none of the data
/// structure's; struct types are those of the program. It has no commits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sequential {
    /// Its state.
    pub shared: Vec<Shared>,
    /// Runs once at the start; without parameters and result.
    pub init: Option<Body>,
    /// Its operations; same parameters and result as the methods that name them.
    pub operations: Vec<Method>,
}

/// What calls should do one at a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Specification {
    /// A stack, empty at first: [`Operation::Push`], [`Operation::Pop`].
    Stack,
    /// A first-in first-out queue, empty at first: [`Operation::Enqueue`],
    /// [`Operation::Dequeue`].
    Queue,
    /// A set, empty at first: [`Operation::Add`], [`Operation::Remove`],
    /// [`Operation::Contains`].
    Set,
    /// One's own.
    Own(Box<Sequential>),
    /// `spec none`: results do not matter, only the safety of the heap and `never`.
    Nothing,
}

/// A condition over shared variables that must not hold in any state after `init`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Never {
    /// The condition; its terms are constants and [`Term::Shared`].
    pub cond: Cond,
    /// Where it stands.
    pub span: Span,
}

/// A data structure as code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its text.
    pub source: Source,
    /// Struct types.
    pub structs: Vec<Struct>,
    /// Shared variables.
    pub shared: Vec<Shared>,
    /// What each thread keeps between its calls.
    pub kept: Vec<Kept>,
    /// Roles: all calls of all methods of one role are calls of one thread, which may have
    /// several roles.
    pub roles: Vec<String>,
    /// Runs once before all calls; without parameters, result and commits.
    pub init: Option<Body>,
    /// The methods.
    pub methods: Vec<Method>,
    /// What calls should do one at a time.
    pub specification: Specification,
    /// What must not happen to shared variables.
    pub nevers: Vec<Never>,
}

impl Program {
    /// Whether a body frees nodes.
    pub fn frees(&self) -> bool {
        let bodies = self.methods.iter().map(|m| &m.body).chain(&self.init);
        let mut steps = bodies.flat_map(|body| &body.edges).map(|edge| &edge.step);
        steps.any(|step| matches!(step, Step::Free(_)))
    }

    /// Whether a method has assertions or indices that may be wrong.
    pub fn may_fail(&self) -> bool {
        let mut edges = self.methods.iter().flat_map(|m| &m.body.edges);
        edges.any(|edge| matches!(edge.step, Step::Fail(_)))
    }

    /// Whether a step uses an infinite value.
    pub fn has_infinity(&self) -> bool {
        let infinite = |term: &Term| matches!(term, Term::Infinity(_));
        let bodies = self.methods.iter().map(|m| &m.body).chain(&self.init);
        let mut steps = bodies.flat_map(|body| &body.edges).map(|edge| &edge.step);
        steps.any(|step| match step {
            Step::Assume(cond) => {
                let mut found = false;
                cond.for_each_term(&mut |term| found |= infinite(&term));
                found
            }
            Step::Assign { value, .. } | Step::Write { value, .. } | Step::Return(Some(value)) => {
                infinite(value)
            }
            Step::Cas { expect, new, .. } => infinite(expect) || infinite(new),
            Step::Skip
            | Step::Fence
            | Step::Havoc { .. }
            | Step::New { .. }
            | Step::Read { .. } => false,
            Step::Lock(_) | Step::Unlock(_) | Step::Free(_) | Step::Return(None) => false,
            Step::Compute { .. } | Step::Fail(_) => false,
        }) || self.kept.iter().any(|kept| infinite(&kept.init))
    }

    /// Whether any method has a commit point.
    pub fn has_commits(&self) -> bool {
        let mut edges = self.methods.iter().flat_map(|m| &m.body.edges);
        edges.any(|edge| !edge.commits.is_empty())
    }

    /// Whether methods compare data values with each other, so that which values calls are
    /// given matters. Without that, results are the same up to renaming of the values.
    pub fn compares_data(&self) -> bool {
        self.methods.iter().any(|method| {
            let data = |term: Term| match term {
                Term::Local(id) => method.body.locals[id.index()].ty == Type::Data,
                Term::Shared(id) => self.shared[id.index()].ty == Type::Data,
                // No call is given these.
                Term::Empty | Term::Infinity(_) | Term::Undefined => false,
                Term::Null | Term::Bool(_) | Term::Int(_) | Term::Plus(..) => false,
            };
            method.body.edges.iter().any(|edge| {
                let tested = edge.step.assumed().is_some_and(|cond| cond.compares(&data));
                let expected =
                    |step: &Step| matches!(step, Step::Cas { expect, .. } if data(*expect));
                tested || expected(&edge.step)
            })
        })
    }
}
