//! *Soft invariants* that the user gives: "a thread that stands here has this property".
//! The proof side keeps them as predicates of collapsed threads and relies on none, so a
//! wrong one costs time and nothing else [Friggens and Groves, arXiv 2015, sections 3.4 and 3.5].

use crate::ids::{FieldId, LocId, LocalId, SharedId};
use crate::source::Span;

use super::print::Names;
use super::{Place, Term};

/// What can be said of a thread, by where its locals point. A call *enters* or *leaves* a
/// node when the node's value enters or leaves the specification's sequence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Fact {
    /// `x != null`.
    NotNull(LocalId),
    /// `x.next != null`.
    Linked(LocalId, FieldId),
    /// `x.next == y`.
    Next(LocalId, FieldId, LocalId),
    /// `x.value == v`: the data is that of the node.
    Value(LocalId, FieldId, LocalId),
    /// `x == y`, both not null.
    Same(LocalId, LocalId),
    /// `x == g`, a shared pointer, not null.
    Is(LocalId, SharedId),
    /// `was(g, x)`: the shared pointer has pointed to the node.
    Was(SharedId, LocalId),
    /// `reaches(g, x)`: the node can be reached from the shared pointer.
    Reaches(SharedId, LocalId),
    /// `entered(x)`: the node's value has entered the sequence.
    Entered(LocalId),
    /// `left(x)`: it has left it again.
    Left(LocalId),
    /// `written(x)`: the node's value was written.
    Written(LocalId),
    /// `first(x)`: top of the stack; of a queue the node that left last.
    First(LocalId),
    /// `last(x)`: of a queue the node that entered last.
    Last(LocalId),
    /// `result(x)`: the node, or the data, is what the specification returned.
    Result(LocalId),
    /// `done`: the call has taken effect.
    Done,
    /// `nothing`: it took effect with the result `empty`.
    Nothing,
    /// `noted`: at the last `commit later` the result would have been `empty`.
    Noted,
    /// `holds(l)`: the thread holds the lock.
    Holds(SharedId),
}

/// A fact or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Literal {
    /// The fact.
    pub fact: Fact,
    /// Whether it holds.
    pub holds: bool,
}

/// `soft then when condition;`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Soft {
    /// Where a thread stands.
    pub at: LocId,
    /// What should hold of it.
    pub then: Literal,
    /// Only if this holds.
    pub when: Option<Literal>,
    /// Where it is written.
    pub span: Span,
}

impl Literal {
    /// As in the source.
    pub fn text(&self, names: Names<'_>) -> String {
        let local = |id: LocalId| names.term(Term::Local(id));
        let shared = |id: SharedId| names.place(Place::Shared(id));
        let compared = |left: String, right: &str, equal: bool| {
            let sign = if equal { "==" } else { "!=" };
            format!("{left} {sign} {right}")
        };
        let said = |text: String| if self.holds { text } else { format!("!{text}") };
        match self.fact {
            Fact::NotNull(x) => compared(local(x), "null", !self.holds),
            Fact::Linked(of, field) => {
                compared(names.place(Place::Field { of, field }), "null", !self.holds)
            }
            Fact::Next(of, field, y) | Fact::Value(of, field, y) => {
                let place = names.place(Place::Field { of, field });
                compared(place, &local(y), self.holds)
            }
            Fact::Same(x, y) => compared(local(x), &local(y), self.holds),
            Fact::Is(x, g) => compared(local(x), &shared(g), self.holds),
            Fact::Was(g, x) => said(format!("was({}, {})", shared(g), local(x))),
            Fact::Reaches(g, x) => said(format!("reaches({}, {})", shared(g), local(x))),
            Fact::Entered(x) => said(format!("entered({})", local(x))),
            Fact::Left(x) => said(format!("left({})", local(x))),
            Fact::Written(x) => said(format!("written({})", local(x))),
            Fact::First(x) => said(format!("first({})", local(x))),
            Fact::Last(x) => said(format!("last({})", local(x))),
            Fact::Result(x) => said(format!("result({})", local(x))),
            Fact::Done => said("done".to_owned()),
            Fact::Nothing => said("nothing".to_owned()),
            Fact::Noted => said("noted".to_owned()),
            Fact::Holds(l) => said(format!("holds({})", shared(l))),
        }
    }
}

impl Soft {
    /// As in the source.
    pub fn text(&self, names: Names<'_>) -> String {
        let then = self.then.text(names);
        match &self.when {
            None => format!("soft {then}"),
            Some(when) => format!("soft {then} when {}", when.text(names)),
        }
    }
}
