//! *Steps* of the program as parts of an action: what they focus on, when they are possible,
//! what they complain of, what they change.

use palisade_program::LocalId;
use palisade_program::heap::{Failure, Place, Step, Term};

use super::action::{Action, Maker};
use super::facts::{Colour, Fact};
use super::fragment::{Effect, Sequence};
use super::term::not;
use super::{CYCLE, Level};

/// What is said of a step that is never right.
pub(crate) const fn failed(failure: Failure) -> &'static str {
    match failure {
        Failure::Assertion => "an assertion fails",
        Failure::Index => "an index is out of range",
    }
}

impl Maker<'_> {
    pub(super) fn dereference(&self, m: usize, of: LocalId, action: &mut Action) {
        action.complain(
            format!("!has[{}](tr)", self.variable(m, of)),
            "null dereference",
        );
    }

    pub(super) fn step(&self, m: usize, step: &Step, action: &mut Action) {
        match step {
            // The fragment has no `*` and no numbers.
            Step::Skip | Step::Fence | Step::Havoc { .. } | Step::Compute { .. } => {}
            Step::Fail(failure) => action.complain("1".to_owned(), failed(*failure)),
            // Memory is garbage-collected, but null cannot be freed.
            Step::Free(local) => self.dereference(m, *local, action),
            Step::Assume(cond) => {
                let formula = self.cond(m, cond, action);
                action.precondition.push(formula);
            }
            Step::Assign { to, value } => {
                action.focus(self.term(m, *value, "v"));
                action.set_local(self.variable(m, *to), &self.term(m, *value, "u"));
            }
            Step::New { to } => {
                action.creates = true;
                action.update("is_node", "is_node(v) = is_node(v) | isNew(v)".to_owned());
                action.set_local(self.variable(m, *to), "isNew(u)");
            }
            Step::Read { to, from, .. } => self.read(m, *to, *from, action),
            Step::Write { to, value, .. } => self.write(m, *to, *value, action),
            Step::Cas {
                at,
                expect,
                new,
                success,
                ..
            } => {
                let formula = self.holds(m, *at, *expect, action);
                if *success {
                    action.precondition.push(formula);
                    self.write(m, *at, *new, action);
                } else {
                    action.precondition.push(not(&formula));
                }
                if let Place::Field { of, .. } = at
                    && !*success
                {
                    self.dereference(m, *of, action);
                }
            }
            Step::Lock(place) => {
                if let Place::Shared(id) = place {
                    let lock = self.fragment.lock(*id);
                    action.focus.insert(0, format!("held[{lock}]()"));
                    action.precondition.push(format!("!held[{lock}]()"));
                    action.set_flag(&format!("hold[{lock}]"), "1");
                }
            }
            Step::Unlock(place) => {
                if let Place::Shared(id) = place {
                    let lock = self.fragment.lock(*id);
                    action.complain(format!("!hold[{lock}](tr)"), "the lock is not held");
                    action.set_flag(&format!("hold[{lock}]"), "0");
                }
            }
            Step::Return(value) => self.returns(m, *value, action),
        }
    }

    pub(super) fn is_link(&self, place: Place) -> bool {
        matches!(place, Place::Field { field, .. } if field == self.fragment.link.0)
    }

    pub(super) fn read(&self, m: usize, to: LocalId, from: Place, action: &mut Action) {
        let target = self.variable(m, to).to_owned();
        match from {
            Place::Shared(id) => {
                let pointer = self.fragment.pointer(id);
                action.focus(format!("{pointer}(v)"));
                action.set_local(&target, &format!("{pointer}(u)"));
                if self.level >= Level::History {
                    self.focus_locals(m, action);
                }
            }
            Place::Field { of, .. } => {
                let of_name = self.variable(m, of).to_owned();
                self.dereference(m, of, action);
                if self.is_link(from) {
                    let link = &self.fragment.link.1;
                    action.focus(format!("{of_name}(tr,v) & {link}(v,w)"));
                    let value = format!("E(x) {of_name}(tr,x) & {link}(x,u)");
                    action.set_local(&target, &value);
                    if self.level >= Level::History {
                        self.focus_locals(m, action);
                    }
                } else {
                    action.focus(format!("{of_name}(tr,v)"));
                    action.set_local(&target, &format!("{of_name}(tr,u) & val(u)"));
                }
            }
        }
    }

    /// Splits on where all pointers of the method point: what was just read may decide it.
    pub(super) fn focus_locals(&self, m: usize, action: &mut Action) {
        for variable in self
            .fragment
            .variables
            .iter()
            .filter(|v| v.method == m && !v.data)
        {
            action.focus(format!("{}(tr,v)", variable.name));
        }
    }

    pub(super) fn write(&self, m: usize, to: Place, value: Term, action: &mut Action) {
        match to {
            Place::Shared(id) => {
                let pointer = self.fragment.pointer(id).to_owned();
                if value != Term::Null {
                    action.focus(self.term(m, value, "v"));
                }
                let update = format!("{pointer}(v) = {}", self.term(m, value, "v"));
                action.update(&pointer, update);
                if self.level >= Level::History {
                    let was = format!("was[{pointer}]");
                    let update = format!("{was}(v) = {was}(v) | {}", self.term(m, value, "v"));
                    action.update(&was, update);
                }
            }
            Place::Field { of, .. } => {
                let of_name = self.variable(m, of).to_owned();
                self.dereference(m, of, action);
                if self.is_link(to) {
                    let link = &self.fragment.link.1;
                    action.focus(format!("{of_name}(tr,v) & {link}(v,w)"));
                    if value != Term::Null {
                        action.focus(self.term(m, value, "v"));
                    }
                    self.no_cycle(m, of, value, action);
                    let value = self.term(m, value, "w");
                    let update = format!("{link}(v,w) = ({of_name}(tr,v) ? {value} : {link}(v,w))");
                    action.update(link, update);
                } else {
                    action.focus(format!("{of_name}(tr,v)"));
                    let written = self.on(&Colour::Valued, m, of);
                    action.complain(written, "a value is written twice");
                    action.update("val", format!("val(v) = val(v) | {of_name}(tr,v)"));
                }
            }
        }
    }

    /// A link from `of` to `to` closes no cycle if nothing leads to `of`, or no link leaves `to`,
    /// and the two are not the same. Nothing leads to a node that has not entered the sequence while
    /// all links lead to nodes that have.
    fn no_cycle(&self, m: usize, of: LocalId, to: Term, action: &mut Action) {
        let Term::Local(id) = to else { return };
        if !self.acyclic {
            return;
        }
        let (entered, leaves) = (
            self.on(&Colour::Entered, m, of),
            self.on(&Colour::Linked, m, id),
        );
        let same = self.same(m, Term::Local(of), to);
        let elsewhere = "(E(v) is_node(v) & !nextcom(v))";
        action.complain(
            format!("{same} | {leaves} & ({entered} | {elsewhere})"),
            CYCLE,
        );
    }

    pub(super) fn on(&self, colour: &Colour, m: usize, local: LocalId) -> String {
        match self.fragment.variable(m, local) {
            Some(v) => format!("{}(tr)", Fact::On(colour.clone(), v).name(self.fragment)),
            None => "0".to_owned(),
        }
    }

    /// The place holds the term.
    pub(super) fn holds(&self, m: usize, at: Place, expect: Term, action: &mut Action) -> String {
        match at {
            Place::Shared(id) => self.equal(m, expect, Term::Shared(id), action),
            Place::Field { of, .. } => {
                let (of_name, link) = (self.variable(m, of).to_owned(), &self.fragment.link.1);
                action.focus(format!("{of_name}(tr,v) & {link}(v,w)"));
                let linked = self.on(&Colour::Linked, m, of);
                if expect == Term::Null {
                    return format!("!{linked}");
                }
                let there = self.term(m, expect, "w");
                action.focus(self.term(m, expect, "v"));
                let some = self.some(m, expect);
                format!("((E(u,w) {of_name}(tr,u) & {link}(u,w) & {there}) | !{linked} & !{some})")
            }
        }
    }

    pub(super) fn returns(&self, m: usize, value: Option<Term>, action: &mut Action) {
        let fragment = self.fragment;
        for (_, lock) in &fragment.locks {
            action.complain(format!("hold[{lock}](tr)"), "a call returns with a lock");
        }
        if fragment.sequence == Sequence::Nothing {
            return;
        }
        action.complain(
            "!done(tr)".to_owned(),
            "a call returns without having taken effect",
        );
        match value {
            None => {}
            Some(Term::Local(id)) => {
                if let Some(v) = fragment.variable(m, id) {
                    let name = &fragment.variables[v].name;
                    action.focus(format!("{name}(tr,v)"));
                    action.focus("res(tr,v)".to_owned());
                    let right = Fact::Result(v).name(fragment);
                    action.complain(format!("!{right}(tr)"), "a wrong result");
                }
            }
            Some(_) => action.complain("!rempty(tr)".to_owned(), "empty is a wrong result"),
        }
        action.set_flag("done", "0");
        if fragment.methods.iter().any(|m| m.effect == Effect::Take) {
            action.set_flag("rempty", "0");
            action.set_flag("noted", "0");
            action.forget_local("res");
        }
    }
}
