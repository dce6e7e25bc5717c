//! *Commits*: the specification's operation, done together with a step. Its sequence is kept in
//! ghosts (see the header of [`super`]).

use palisade_program::heap::CommitKind;

use super::action::{Action, Maker};
use super::facts::{Colour, Fact, first};
use super::fragment::{Effect, Sequence};

impl Maker<'_> {
    /// The sequence is empty.
    pub(super) fn nothing_left(&self) -> &'static str {
        match self.fragment.sequence {
            Sequence::Stack => "!has[s.top]()",
            Sequence::Queue | Sequence::Nothing => "(E(u) s.pos(u) & s.last(u))",
        }
    }

    pub(super) fn focus_sequence(&self, action: &mut Action) {
        let first = first(self.fragment.sequence);
        action.focus(format!("{first}(v) & s.next(v,w)"));
        if self.fragment.sequence == Sequence::Queue {
            action.focus("s.pos(v) & s.last(v)".to_owned());
        }
    }

    pub(super) fn commit(&self, m: usize, kind: CommitKind, action: &mut Action) {
        let method = &self.fragment.methods[m];
        match (method.effect, kind) {
            (Effect::Other, _) | (Effect::Insert, CommitKind::Later) => {}
            (Effect::Insert, CommitKind::Confirm) => {
                action.complain("1".to_owned(), "confirm without a note");
            }
            (Effect::Insert, CommitKind::Now) => {
                action.take_effect();
                if let Some(mine) = method.mine {
                    self.insert(mine, action);
                }
            }
            (Effect::Take, CommitKind::Now) => {
                action.take_effect();
                self.take(action);
            }
            (Effect::Take, CommitKind::Later) => {
                self.focus_sequence(action);
                action.set_flag("noted", self.nothing_left());
            }
            (Effect::Take, CommitKind::Confirm) => {
                action.take_effect();
                action.complain("!noted(tr)".to_owned(), "confirm without a note");
                action.set_flag("rempty", "1");
            }
        }
    }

    pub(super) fn insert(&self, mine: usize, action: &mut Action) {
        let n = &self.fragment.variables[mine].name;
        let on = |colour| Fact::On(colour, mine).name(self.fragment);
        let (entered, valued) = (on(Colour::Entered), on(Colour::Valued));
        action.complain(
            format!("!has[{n}](tr) | {entered}(tr) | !{valued}(tr)"),
            "the argument is not in a node of its own",
        );
        let link = &self.fragment.link.1;
        action.focus(format!("{n}(tr,v) & s.next(v,w)"));
        action.focus(format!("{n}(tr,v) & {link}(v,w)"));
        match self.fragment.sequence {
            Sequence::Stack => {
                action.update(
                    "s.next",
                    format!("s.next(v,w) = ({n}(tr,v) ? s.top(w) : s.next(v,w))"),
                );
                action.update("s.top", format!("s.top(v) = {n}(tr,v)"));
            }
            Sequence::Queue | Sequence::Nothing => {
                action.focus("s.last(v) & s.next(v,w)".to_owned());
                action.update(
                    "s.next",
                    format!("s.next(v,w) = (s.last(v) ? {n}(tr,w) : s.next(v,w))"),
                );
                action.update("s.last", format!("s.last(v) = {n}(tr,v)"));
            }
        }
        action.update("com", format!("com(v) = com(v) | {n}(tr,v)"));
    }

    pub(super) fn take(&self, action: &mut Action) {
        self.focus_sequence(action);
        let empty = self.nothing_left();
        action.set_flag("rempty", empty);
        match self.fragment.sequence {
            Sequence::Stack => {
                action.set_local("res", "s.top(u)");
                action.update("s.top", "s.top(v) = E(u) s.top(u) & s.next(u,v)".to_owned());
            }
            Sequence::Queue | Sequence::Nothing => {
                let next = "E(x) s.pos(x) & s.next(x,u)";
                action.set_local("res", next);
                action.update(
                    "dq",
                    "dq(v) = dq(v) | (E(u) s.pos(u) & s.next(u,v))".to_owned(),
                );
                action.update(
                    "s.pos",
                    format!("s.pos(v) = ({empty} ? s.pos(v) : E(u) s.pos(u) & s.next(u,v))"),
                );
            }
        }
    }
}
