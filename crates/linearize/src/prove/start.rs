//! The *start*: `init`, run alone before any thread, and what must never hold.

use palisade_program::heap::{Cond, Place, Step, Term};
use palisade_program::{LocId, LocalId};

use super::action::{Action, Maker, STEP};
use super::fragment::Sequence;
use super::step::failed;
use super::supported::free_choice;
use super::term::not;
use super::{CYCLE, Level};

impl Maker<'_> {
    pub(super) fn init_term(&self, term: Term) -> String {
        match term {
            Term::Local(id) => format!("{}(v)", self.fragment.init_variable(id)),
            Term::Shared(id) => format!("{}(v)", self.fragment.pointer(id)),
            Term::Null => "0".to_owned(),
            // The fragment has none; any node is sound.
            Term::Empty | Term::Infinity(_) | Term::Undefined => "1/2".to_owned(),
            Term::Bool(_) | Term::Int(_) | Term::Plus(..) => "1/2".to_owned(),
        }
    }

    /// `init` runs at labels of its own, before any thread; its locals are unary.
    pub(super) fn start(&mut self) {
        let fragment = self.fragment;
        let label = |at: LocId| format!("init{}", at.index());
        let Some(init) = &fragment.program.init else {
            self.begin("init0");
            return;
        };
        // The first edge's source is the entry label.
        let mut order: Vec<usize> = (0..init.edges.len()).collect();
        order.sort_by_key(|&e| (init.edges[e].from != init.entry, e));
        for e in order {
            let edge = &init.edges[e];
            let mut action = Action {
                title: "init".to_owned(),
                ..Action::default()
            };
            if !free_choice(&edge.step) {
                self.init_step(&edge.step, &mut action);
            }
            let name = format!("init.e{e}");
            let text = action.text(&name, "", "");
            self.add(&text, &label(edge.from), &name, &label(edge.to));
        }
        self.begin(&label(init.exit));
    }

    pub(super) fn init_step(&self, step: &Step, action: &mut Action) {
        let link = &self.fragment.link.1;
        match step {
            Step::New { to } => {
                let x = self.fragment.init_variable(*to);
                action.creates = true;
                action.update("is_node", "is_node(v) = is_node(v) | isNew(v)".to_owned());
                action.update(&x, format!("{x}(v) = isNew(v)"));
            }
            Step::Assign { to, value } => {
                let x = self.fragment.init_variable(*to);
                action.update(&x, format!("{x}(v) = {}", self.init_term(*value)));
            }
            Step::Read { to, from, .. } => {
                let x = self.fragment.init_variable(*to);
                match from {
                    Place::Shared(id) => {
                        let g = self.fragment.pointer(*id);
                        action.update(&x, format!("{x}(v) = {g}(v)"));
                    }
                    Place::Field { of, .. } => {
                        self.init_dereference(*of, action);
                        let of = self.fragment.init_variable(*of);
                        action.focus(format!("{of}(v) & {link}(v,w)"));
                        action.update(&x, format!("{x}(v) = E(u) {of}(u) & {link}(u,v)"));
                    }
                }
            }
            Step::Write { to, value, .. } => self.init_write(*to, *value, action),
            Step::Cas {
                at,
                expect,
                new,
                success,
                ..
            } => {
                let holds = self.init_holds(*at, *expect, action);
                if *success {
                    action.precondition.push(holds);
                    self.init_write(*at, *new, action);
                } else {
                    action.precondition.push(not(&holds));
                }
            }
            Step::Assume(cond) => {
                let formula = self.init_cond(cond);
                action.precondition.push(formula);
            }
            Step::Free(local) => self.init_dereference(*local, action),
            // The fragment has no locks in `init`, and choices are taken before this.
            Step::Skip
            | Step::Fence
            | Step::Havoc { .. }
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Return(_) => {}
            Step::Compute { .. } => {}
            Step::Fail(failure) => action.complain("1".to_owned(), failed(*failure)),
        }
    }

    fn init_dereference(&self, of: LocalId, action: &mut Action) {
        let of = self.fragment.init_variable(of);
        action.complain(format!("!(E(v) {of}(v))"), "null dereference");
    }

    /// The place holds the term.
    fn init_holds(&self, at: Place, expect: Term, action: &mut Action) -> String {
        let there = match at {
            Place::Shared(id) => format!("{}(v)", self.fragment.pointer(id)),
            Place::Field { of, .. } => {
                self.init_dereference(of, action);
                let (of, link) = (self.fragment.init_variable(of), &self.fragment.link.1);
                action.focus(format!("{of}(v) & {link}(v,w)"));
                format!("(E(u) {of}(u) & {link}(u,v))")
            }
        };
        let expect = self.init_term(expect);
        format!("!(E(v) !({there} <-> {expect}))")
    }

    fn init_write(&self, to: Place, value: Term, action: &mut Action) {
        let link = &self.fragment.link.1;
        let value = self.init_term(value);
        match to {
            Place::Shared(id) => {
                let g = self.fragment.pointer(id);
                action.update(g, format!("{g}(v) = {value}"));
                if self.level >= Level::History {
                    let was = format!("was[{g}]");
                    action.update(&was, format!("{was}(v) = {was}(v) | {value}"));
                }
            }
            Place::Field { of, .. } => {
                self.init_dereference(of, action);
                let of = self.fragment.init_variable(of);
                action.focus(format!("{of}(v) & {link}(v,w)"));
                if self.acyclic && value != "0" {
                    let closes = format!("E(v) {value} & ({of}(v) | has[{link}](v))");
                    action.complain(closes, CYCLE);
                }
                let value = value.replace("(v)", "(w)");
                action.update(
                    link,
                    format!("{link}(v,w) = ({of}(v) ? {value} : {link}(v,w))"),
                );
            }
        }
    }

    pub(super) fn init_cond(&self, cond: &Cond) -> String {
        match cond {
            Cond::True => "1".to_owned(),
            Cond::Eq(a, b) => {
                let (a, b) = (self.init_term(*a), self.init_term(*b));
                format!("!(E(v) !({a} <-> {b}))")
            }
            Cond::Not(inner) => format!("!({})", self.init_cond(inner)),
            Cond::And(a, b) => format!("({} & {})", self.init_cond(a), self.init_cond(b)),
            Cond::Or(a, b) => format!("({} | {})", self.init_cond(a), self.init_cond(b)),
            Cond::Holds(_) | Cond::Less(..) => "1/2".to_owned(),
        }
    }

    /// From `init` to the threads: ghosts get their first values.
    pub(super) fn begin(&mut self, from: &str) {
        let mut action = Action {
            title: "threads begin".to_owned(),
            ..Action::default()
        };
        for x in self.fragment.init_variables() {
            action.update(&x, format!("{x}(v) = 0"));
        }
        // The first node of all stands before the first value of a queue.
        if let (Sequence::Queue, Some(before)) = (self.fragment.sequence, self.fragment.before) {
            let (_, g) = &self.fragment.pointers[before];
            for ghost in ["s.pos", "s.last", "com", "dq"] {
                action.update(ghost, format!("{ghost}(v) = {g}(v)"));
            }
        }
        if self.level >= Level::History {
            for (_, g) in &self.fragment.pointers {
                let was = format!("was[{g}]");
                action.update(&was, format!("{was}(v) = {g}(v)"));
            }
        }
        let text = action.text("begin", "", "");
        self.add(&text, from, "begin", STEP);
    }

    pub(super) fn check(&mut self) {
        let mut action = Action {
            title: "never".to_owned(),
            ..Action::default()
        };
        for never in &self.fragment.program.nevers {
            let formula = self.cond(0, &never.cond, &mut action);
            action.complain(formula, "what must never hold");
        }
        // Inside an atomic block is not between steps; elsewhere what is shared is as it was before.
        for location in self.fragment.locations.iter().filter(|l| l.busy) {
            let nobody = format!("!(E(t) at[{}](t))", location.name);
            action.precondition.push(nobody);
        }
        if !action.messages.is_empty() {
            let text = action.text("check", "", "");
            self.add(&text, STEP, "check", STEP);
        }
    }
}
