//! *Terms and conditions* of the program as formulas of the model. `tr` is the thread that acts;
//! a term is the node that it points to, null is no node.

use palisade_program::LocalId;
use palisade_program::heap::{Cond, Place, Step, Term};

use super::action::{Action, Maker};
use super::facts::{Colour, Fact};

impl Maker<'_> {
    pub(super) fn variable(&self, m: usize, local: LocalId) -> &str {
        let found = self.fragment.variable(m, local);
        found.map_or("", |v| &self.fragment.variables[v].name)
    }

    /// `u` is the term's node.
    pub(super) fn term(&self, m: usize, term: Term, u: &str) -> String {
        match term {
            Term::Local(id) => format!("{}(tr,{u})", self.variable(m, id)),
            Term::Shared(id) => format!("{}({u})", self.fragment.pointer(id)),
            Term::Null
            | Term::Empty
            | Term::Infinity(_)
            | Term::Undefined
            | Term::Bool(_)
            | Term::Int(_)
            | Term::Plus(..) => "0".to_owned(),
        }
    }

    /// The term is not null.
    pub(super) fn some(&self, m: usize, term: Term) -> String {
        match term {
            Term::Local(id) => format!("has[{}](tr)", self.variable(m, id)),
            Term::Shared(id) => format!("has[{}]()", self.fragment.pointer(id)),
            Term::Null
            | Term::Empty
            | Term::Infinity(_)
            | Term::Undefined
            | Term::Bool(_)
            | Term::Int(_)
            | Term::Plus(..) => "0".to_owned(),
        }
    }

    pub(super) fn equal(&self, m: usize, a: Term, b: Term, action: &mut Action) -> String {
        if let (Term::Null, Term::Null) = (a, b) {
            return "1".to_owned();
        }
        for (one, other) in [(a, b), (b, a)] {
            if other == Term::Null {
                action.focus(self.term(m, one, "v"));
                return format!("!{}", self.some(m, one));
            }
        }
        let (of_a, of_b) = (self.term(m, a, "v"), self.term(m, b, "v"));
        action.focus(format!("{of_a} & {of_b}"));
        let same = self.same(m, a, b);
        format!("({same} | !{} & !{})", self.some(m, a), self.some(m, b))
    }

    /// Both are the same node, by a fact where there is one.
    pub(super) fn same(&self, m: usize, a: Term, b: Term) -> String {
        let number = |t: Term| match t {
            Term::Local(id) => self.fragment.variable(m, id),
            _ => None,
        };
        match (number(a), number(b)) {
            (Some(x), Some(y)) if x == y => format!("has[{}](tr)", self.fragment.variables[x].name),
            (Some(x), Some(y)) => {
                let together =
                    |l: &super::fragment::Location| l.live.contains(&x) && l.live.contains(&y);
                if self.fragment.locations.iter().any(together) {
                    let fact = Fact::Same(x.min(y), x.max(y));
                    format!("{}(tr)", fact.name(self.fragment))
                } else {
                    format!("(E(u) {} & {})", self.term(m, a, "u"), self.term(m, b, "u"))
                }
            }
            _ => format!("(E(u) {} & {})", self.term(m, a, "u"), self.term(m, b, "u")),
        }
    }

    pub(super) fn cond(&self, m: usize, cond: &Cond, action: &mut Action) -> String {
        match cond {
            Cond::True => "1".to_owned(),
            Cond::Eq(a, b) => self.equal(m, *a, *b, action),
            Cond::Not(inner) => not(&self.cond(m, inner, action)),
            Cond::And(a, b) => and(&self.cond(m, a, action), &self.cond(m, b, action)),
            Cond::Or(a, b) => or(&self.cond(m, a, action), &self.cond(m, b, action)),
            // The fragment has none; any outcome is sound.
            Cond::Holds(_) | Cond::Less(..) => "1/2".to_owned(),
        }
    }

    /// A condition about the state after `step`, told before it.
    pub(super) fn before(&self, m: usize, step: &Step, cond: &Cond, action: &mut Action) -> String {
        let Step::Read { to, from, .. } = step else {
            return self.cond(m, cond, action);
        };
        match cond {
            Cond::Eq(a, b) => {
                let read = |t: Term| t == Term::Local(*to);
                match from {
                    Place::Shared(id) => {
                        let now = |t: Term| if read(t) { Term::Shared(*id) } else { t };
                        self.equal(m, now(*a), now(*b), action)
                    }
                    Place::Field { of, .. } if read(*a) || read(*b) => {
                        format!("!{}", self.on(&Colour::Linked, m, *of))
                    }
                    Place::Field { .. } => self.equal(m, *a, *b, action),
                }
            }
            Cond::Not(inner) => not(&self.before(m, step, inner, action)),
            Cond::And(a, b) => and(
                &self.before(m, step, a, action),
                &self.before(m, step, b, action),
            ),
            Cond::Or(a, b) => or(
                &self.before(m, step, a, action),
                &self.before(m, step, b, action),
            ),
            Cond::True | Cond::Holds(_) | Cond::Less(..) => self.cond(m, cond, action),
        }
    }
}

// Constants are folded: an action that is never possible is left out of the model.

pub(super) fn not(a: &str) -> String {
    match a {
        "0" => "1".to_owned(),
        "1" => "0".to_owned(),
        _ => format!("!({a})"),
    }
}

fn and(a: &str, b: &str) -> String {
    match (a, b) {
        ("0", _) | (_, "0") => "0".to_owned(),
        ("1", other) | (other, "1") => other.to_owned(),
        _ => format!("({a} & {b})"),
    }
}

fn or(a: &str, b: &str) -> String {
    match (a, b) {
        ("1", _) | (_, "1") => "1".to_owned(),
        ("0", other) | (other, "0") => other.to_owned(),
        _ => format!("({a} | {b})"),
    }
}
