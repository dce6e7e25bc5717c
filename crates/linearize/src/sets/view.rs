//! A *view* is what one call knows: where it is, what its locals are, and the nodes that they point
//! to. The other threads and nodes are left out (thread-modular analysis [Gotsman et al., PLDI 2007];
//! the nodes of a view are a fragment of the heap [Abdulla et al., ESOP 2018]).
//!
//! *What a view says* (its concretisation), shared by the search for a proof and by the check of its
//! certificate. A call in a state satisfies a view if the nodes of the view are different nodes of the heap, the first of them
//! the root, such that
//!
//! - the call is at this location of this method, its argument has this class, and its locals have these values; of
//!   [`Slot::Any`] nothing is said;
//! - the key is in the set exactly if `inside`, the shared bools are `bits`, and the call holds these shared locks;
//! - each node has this key class, this [`Standing`], these bits; the call holds these locks of it, and no lock of any node that is
//!   not in the view;
//! - each link leads where [`Link`] says;
//! - if the argument is the key itself: since the call began, the state after which is included, the key was in the set at some
//!   time exactly if `was_in`, out exactly if `was_out`, and the call has changed that exactly if `done`.
//!
//! *Listed* nodes are those that are reached from the root. The key is *in* the set if a listed node that has it is not marked.

/// How a key compares with the one that is looked at. The root is no node: its link is the shared
/// pointer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    Root,
    /// Never written: a first node without a key.
    Unset,
    /// `-infinity`
    Least,
    Less,
    Equal,
    Greater,
    /// `infinity`
    Greatest,
}

/// Where a node is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Standing {
    /// Allocated by this call and not yet reached by anyone else.
    Own,
    /// Reached from the root.
    Listed,
    /// It was listed since the call has last read the root.
    Left,
    /// It was listed since the call began, but not since it has last read the root.
    LeftBefore,
}

impl Standing {
    pub(super) const fn left(self) -> bool {
        matches!(self, Self::Left | Self::LeftBefore)
    }
}

/// Where a link leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Link {
    Null,
    To(u8),
    /// To a marked node, from which only marked nodes lead on to this one, or to null.
    Past(Option<u8>),
    Unknown,
}

/// A node of a view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Node {
    pub(super) key: Key,
    pub(super) standing: Standing,
    /// Fields of type bool, and the mark beside the link.
    pub(super) bits: u8,
    /// Its locks that this call holds.
    pub(super) held: u8,
    pub(super) link: Link,
}

/// The value of a local.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Slot {
    Null,
    At(u8),
    Bool(bool),
    Key(Key),
    Empty,
    /// Some number.
    Any,
}

/// What has been since the call began; kept only for calls with the key that is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(super) struct History {
    /// Whether the key was in the set at some time.
    pub(super) was_in: bool,
    /// Whether it was not.
    pub(super) was_out: bool,
    /// Whether the call has changed the set.
    pub(super) done: bool,
}

/// A view.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct View {
    pub(super) method: u8,
    pub(super) at: u16,
    /// The argument of the call.
    pub(super) argument: Key,
    /// Whether the key is in the set.
    pub(super) inside: bool,
    pub(super) history: History,
    /// Shared variables of type bool.
    pub(super) bits: u8,
    /// Shared locks that this call holds.
    pub(super) held: u8,
    pub(super) locals: Vec<Slot>,
    /// The root first.
    pub(super) nodes: Vec<Node>,
}

/// Which bit says that a node is not in the set though it is listed, with which value.
pub(super) type Mark = Option<(u8, bool)>;

pub(super) const fn marked(bits: u8, mark: Mark) -> bool {
    match mark {
        None => false,
        Some((bit, value)) => (bits >> bit & 1 == 1) == value,
    }
}

impl Node {
    /// Whether it is out though it may be listed; the root is no node.
    pub(super) fn marked(self, mark: Mark) -> bool {
        self.key != Key::Root && marked(self.bits, mark)
    }
}

/// Whether a link may lead from one key to another in the list.
pub(super) const fn ascends(from: Key, to: Key) -> bool {
    match (from, to) {
        (_, Key::Root) | (Key::Equal, Key::Equal) => false,
        (_, _) => from as u8 <= to as u8,
    }
}

impl Key {
    /// Before the key that is looked at.
    pub(super) const fn low(self) -> bool {
        matches!(self, Self::Root | Self::Unset | Self::Least | Self::Less)
    }

    /// Behind the key that is looked at.
    pub(super) const fn high(self) -> bool {
        matches!(self, Self::Greater | Self::Greatest)
    }
}

impl View {
    /// Whether history is kept: only calls with the key itself are judged by it.
    pub(super) const fn judged(&self) -> bool {
        matches!(self.argument, Key::Equal)
    }

    /// What is the case now has been the case.
    pub(super) const fn notice(&mut self) {
        if self.judged() {
            self.history.was_in |= self.inside;
            self.history.was_out |= !self.inside;
        }
    }
}
