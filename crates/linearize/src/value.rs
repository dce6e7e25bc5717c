//! *Values* and *memory* of concrete runs: words, nodes, the heap.

use palisade_program::heap::{Field, Tag, Term, Type};
use palisade_program::{SharedId, StructId};

/// A value. Nodes are indices into [`Memory::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Value {
    /// No result; no tag.
    Nothing,
    /// The null pointer; a free lock.
    Null,
    /// A node.
    Node(u32),
    /// The thread that holds a lock.
    Holder(u32),
    /// A truth value.
    Bool(bool),
    /// A number.
    Int(i64),
    /// Data below all values that calls are given; values are ordered as they stand here.
    Least,
    /// A data value that a call was given.
    Data(u32),
    /// Data above all values that calls are given.
    Greatest,
    /// `empty`.
    Empty,
    /// Data that was never written.
    Undefined,
}

/// A word of shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Word {
    pub(crate) value: Value,
    pub(crate) tag: Value,
}

/// Whether a node may be used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Life {
    /// Allocated.
    Live,
    /// Freed; by this thread in its present call.
    FreedBy(u32),
    /// Freed in a call that has ended.
    Freed,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Node {
    pub(crate) of: StructId,
    pub(crate) life: Life,
    pub(crate) words: Vec<Word>,
}

/// Shared variables and nodes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) shared: Vec<Word>,
    pub(crate) nodes: Vec<Node>,
}

/// What a type starts with.
pub(crate) const fn default_of(ty: Type) -> Value {
    match ty {
        Type::Data => Value::Undefined,
        Type::Int => Value::Int(0),
        Type::Bool => Value::Bool(false),
        Type::Lock | Type::Pointer(_) => Value::Null,
    }
}

const fn default_tag(tag: Option<Tag>) -> Value {
    match tag {
        None => Value::Nothing,
        Some(Tag::Mark) => Value::Bool(false),
        Some(Tag::Count) => Value::Int(0),
    }
}

/// A constant, for initial values; terms over variables are not constants.
pub(crate) const fn constant(term: Term) -> Value {
    match term {
        Term::Null => Value::Null,
        Term::Empty => Value::Empty,
        Term::Infinity(false) => Value::Least,
        Term::Infinity(true) => Value::Greatest,
        Term::Undefined | Term::Local(_) | Term::Plus(..) | Term::Shared(_) => Value::Undefined,
        Term::Bool(value) => Value::Bool(value),
        Term::Int(value) => Value::Int(value),
    }
}

impl Memory {
    /// Memory before anything ran.
    pub(crate) fn new(shared: &[palisade_program::heap::Shared]) -> Self {
        let word = |s: &palisade_program::heap::Shared| Word {
            value: match s.ty {
                Type::Lock => Value::Null,
                Type::Data | Type::Int | Type::Bool | Type::Pointer(_) => constant(s.init),
            },
            tag: default_tag(s.tag),
        };
        Self {
            shared: shared.iter().map(word).collect(),
            nodes: Vec::new(),
        }
    }

    pub(crate) fn shared(&self, id: SharedId) -> Value {
        self.shared[id.index()].value
    }

    /// A fresh node.
    pub(crate) fn allocate(&mut self, of: StructId, fields: &[Field]) -> Value {
        let word = |f: &Field| Word {
            value: default_of(f.ty),
            tag: default_tag(f.tag),
        };
        self.nodes.push(Node {
            of,
            life: Life::Live,
            words: fields.iter().map(word).collect(),
        });
        Value::Node(self.nodes.len() as u32 - 1)
    }
}
