//! One step of the program as an *action* of the model: focus, precondition, messages,
//! updates. Updates read the structure before the step, so conditional commits, which
//! speak of the state after it, are actions of their own at a busy location.

use std::collections::BTreeMap;
use std::fmt::Write;

use palisade_program::heap::{Commit, CommitKind, Cond, Edge, Place, Step, Term, Type};
use palisade_program::{LocId, LocalId};

use super::Level;
use super::facts::{Colour, Fact, first};
use super::fragment::{Effect, Fragment, Sequence, at_once, free_choice};

/// An action under construction. `tr` is the thread that acts.
#[derive(Default)]
struct Action {
    title: String,
    focus: Vec<String>,
    precondition: Vec<String>,
    messages: Vec<(String, &'static str)>,
    creates: bool,
    /// By predicate.
    updates: BTreeMap<String, String>,
}

impl Action {
    fn complain(&mut self, when: String, text: &'static str) {
        self.messages.push((when, text));
    }

    fn focus(&mut self, formula: String) {
        if !self.focus.contains(&formula) {
            self.focus.push(formula);
        }
    }

    /// `predicate(t, u)` of the acting thread becomes `value`.
    fn set_local(&mut self, predicate: &str, value: &str) {
        let update = format!("{predicate}(t, u) = (t == tr ? {value} : {predicate}(t, u))");
        self.updates.insert(predicate.to_owned(), update);
    }

    /// The unary `predicate` of the acting thread becomes `value`.
    fn set_flag(&mut self, predicate: &str, value: &str) {
        let update = match value {
            "1" => format!("{predicate}(t) = {predicate}(t) | t == tr"),
            "0" => format!("{predicate}(t) = {predicate}(t) & t != tr"),
            _ => format!("{predicate}(t) = (t == tr ? {value} : {predicate}(t))"),
        };
        self.updates.insert(predicate.to_owned(), update);
    }

    fn forget_local(&mut self, predicate: &str) {
        let update = format!("{predicate}(t, u) = {predicate}(t, u) & t != tr");
        self.updates.insert(predicate.to_owned(), update);
    }

    /// The call takes effect, exactly once.
    fn take_effect(&mut self) {
        self.complain("done(tr)".to_owned(), "a call takes effect twice");
        self.set_flag("done", "1");
    }

    fn update(&mut self, predicate: &str, update: String) {
        self.updates.insert(predicate.to_owned(), update);
    }

    /// The text; `guard` holds of `tr` (or is empty, for actions of no thread).
    fn text(&self, name: &str, guard: &str, last: &str) -> String {
        let mut out = format!("%action {name}() {{\n  %t \"{}\"\n", self.title);
        let guarded = |f: &String| match guard {
            "" => f.clone(),
            guard => format!("{guard} & {f}"),
        };
        let bare = (!guard.is_empty()).then(|| guard.to_owned());
        let focus: Vec<String> = bare
            .iter()
            .cloned()
            .chain(self.focus.iter().map(guarded))
            .collect();
        if !focus.is_empty() {
            let _ = writeln!(out, "  %f {{ {} }}", focus.join(", "));
        }
        let all: Vec<String> = bare
            .into_iter()
            .chain(self.precondition.iter().cloned())
            .collect();
        if !all.is_empty() {
            let _ = writeln!(out, "  %p {}", all.join(" & "));
        }
        for (when, text) in &self.messages {
            let _ = writeln!(out, "  %message ({when}) -> \"{text}\"");
        }
        if self.creates {
            out.push_str("  %new\n");
        }
        out.push_str("  {\n");
        for update in self.updates.values() {
            let _ = writeln!(out, "    {update}");
        }
        let _ = writeln!(out, "{last}  }}\n}}");
        out
    }
}

/// The text of all actions, and the edges of the model's control flow: label, action,
/// label.
pub struct Actions {
    /// Definitions.
    pub text: String,
    /// Edges.
    pub edges: Vec<(String, String, String)>,
}

/// The label at which all threads run.
const STEP: &str = "step";

/// All actions.
pub fn actions(fragment: &Fragment<'_>, level: Level) -> Actions {
    let mut maker = Maker {
        fragment,
        level,
        out: Actions {
            text: String::new(),
            edges: Vec::new(),
        },
    };
    maker.start();
    for (m, method) in fragment.methods.iter().enumerate() {
        let call = Action {
            title: format!("{} is called", method.name),
            ..Action::default()
        };
        let entry = fragment.location(m, method.body.entry);
        maker.thread(&call, &format!("call.{}", method.name), None, entry);
        for (e, edge) in method.body.edges.iter().enumerate() {
            maker.edge(m, e, edge);
        }
    }
    maker.check();
    maker.out
}

struct Maker<'a> {
    fragment: &'a Fragment<'a>,
    level: Level,
    out: Actions,
}

impl Maker<'_> {
    fn add(&mut self, text: &str, from: &str, name: &str, to: &str) {
        self.out.text.push_str(text);
        self.out
            .edges
            .push((from.to_owned(), name.to_owned(), to.to_owned()));
    }

    /// Adds an action of a thread that goes from one location to another; `None` is
    /// `idle`.
    fn thread(&mut self, action: &Action, name: &str, from: Option<usize>, to: Option<usize>) {
        let place = |l: Option<usize>| l.map_or("idle", |l| &self.fragment.locations[l].name);
        let (source, target) = (place(from), place(to));
        let busy = to.is_some_and(|l| self.fragment.locations[l].busy);
        let run = if busy {
            "t == tr"
        } else {
            "(is_thread(t) ? 1/2 : 0)"
        };
        let mut last = String::new();
        if source != target {
            let _ = writeln!(last, "    at[{source}](t) = at[{source}](t) & t != tr");
            let _ = writeln!(last, "    at[{target}](t) = at[{target}](t) | t == tr");
        }
        let _ = writeln!(last, "    run(t) = {run}");
        let guard = format!("run(tr) & at[{source}](tr)");
        let text = action.text(name, &guard, &last);
        self.add(&text, STEP, name, STEP);
    }

    fn edge(&mut self, m: usize, e: usize, edge: &Edge) {
        let fragment = self.fragment;
        let method = &fragment.methods[m];
        let stepped = || {
            let mut action = Action {
                title: self.title(m, edge),
                ..Action::default()
            };
            self.step(m, &edge.step, &mut action);
            action
        };
        let name = format!("{}.e{e}", method.name);
        let from = fragment.location(m, edge.from);
        let target = fragment.location(m, edge.to);
        if at_once(&edge.step, &edge.commits) {
            let when = edge.commits.first().map_or(&Cond::True, |c| &c.when);
            let mut together = stepped();
            let mut without = (*when != Cond::True).then(stepped);
            if let Some(without) = &mut without {
                let formula = self.before(m, &edge.step, when, &mut together);
                together.precondition.push(formula);
                let formula = self.before(m, &edge.step, when, without);
                without.precondition.push(format!("!({formula})"));
            }
            for commit in &edge.commits {
                self.commit(m, commit.kind, &mut together);
            }
            self.forget(m, from, target, &mut together);
            self.thread(&together, &name, from, target);
            if let Some(mut without) = without {
                self.forget(m, from, target, &mut without);
                self.thread(&without, &format!("{name}.not"), from, target);
            }
            return;
        }
        let mut action = stepped();
        let stop = |number: usize| fragment.before_commit(m, e, number).or(target);
        self.forget(m, from, stop(0), &mut action);
        self.thread(&action, &name, from, stop(0));
        for (number, commit) in edge.commits.iter().enumerate() {
            self.conditional(
                m,
                commit,
                &format!("{name}.c{number}"),
                stop(number),
                stop(number + 1),
            );
        }
    }

    /// A commit that counts only if its condition holds.
    fn conditional(
        &mut self,
        m: usize,
        commit: &Commit,
        name: &str,
        from: Option<usize>,
        to: Option<usize>,
    ) {
        for counts in [true, false] {
            if !counts && commit.when == Cond::True {
                continue;
            }
            let mut action = Action {
                title: if counts { "commit" } else { "no commit" }.to_owned(),
                ..Action::default()
            };
            let formula = self.cond(m, &commit.when, &mut action);
            let formula = if counts {
                formula
            } else {
                format!("!({formula})")
            };
            action.precondition.push(formula);
            if counts {
                self.commit(m, commit.kind, &mut action);
            }
            self.forget(m, from, to, &mut action);
            let name = if counts {
                name.to_owned()
            } else {
                format!("{name}.not")
            };
            self.thread(&action, &name, from, to);
        }
    }

    fn title(&self, m: usize, edge: &Edge) -> String {
        let names = palisade_program::heap::print::Names {
            structs: &self.fragment.program.structs,
            shared: &self.fragment.program.shared,
            body: Some(self.fragment.methods[m].body),
        };
        names.step(&edge.step).replace('"', "'")
    }

    /// Locals that do not matter any more become null.
    fn forget(&self, m: usize, from: Option<usize>, to: Option<usize>, action: &mut Action) {
        let live = |l: Option<usize>, v: usize| {
            l.is_some_and(|l| self.fragment.locations[l].live.contains(&v))
        };
        for (v, variable) in self.fragment.variables.iter().enumerate() {
            if variable.method != m || live(to, v) {
                continue;
            }
            if live(from, v) || action.updates.contains_key(&variable.name) {
                action.forget_local(&variable.name);
            }
        }
    }

    // ---- terms and conditions

    fn variable(&self, m: usize, local: LocalId) -> &str {
        let found = self.fragment.variable(m, local);
        found.map_or("", |v| &self.fragment.variables[v].name)
    }

    /// `u` is the term's node.
    fn term(&self, m: usize, term: Term, u: &str) -> String {
        match term {
            Term::Local(id) => format!("{}(tr,{u})", self.variable(m, id)),
            Term::Shared(id) => format!("{}({u})", self.fragment.pointer(id)),
            Term::Null
            | Term::Empty
            | Term::Undefined
            | Term::Bool(_)
            | Term::Int(_)
            | Term::Plus(..) => "0".to_owned(),
        }
    }

    /// The term is not null.
    fn some(&self, m: usize, term: Term) -> String {
        match term {
            Term::Local(id) => format!("has[{}](tr)", self.variable(m, id)),
            Term::Shared(id) => format!("has[{}]()", self.fragment.pointer(id)),
            Term::Null
            | Term::Empty
            | Term::Undefined
            | Term::Bool(_)
            | Term::Int(_)
            | Term::Plus(..) => "0".to_owned(),
        }
    }

    fn equal(&self, m: usize, a: Term, b: Term, action: &mut Action) -> String {
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
    fn same(&self, m: usize, a: Term, b: Term) -> String {
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

    fn cond(&self, m: usize, cond: &Cond, action: &mut Action) -> String {
        match cond {
            Cond::True => "1".to_owned(),
            Cond::Eq(a, b) => self.equal(m, *a, *b, action),
            Cond::Not(inner) => format!("!({})", self.cond(m, inner, action)),
            Cond::And(a, b) => {
                format!(
                    "({} & {})",
                    self.cond(m, a, action),
                    self.cond(m, b, action)
                )
            }
            Cond::Or(a, b) => {
                format!(
                    "({} | {})",
                    self.cond(m, a, action),
                    self.cond(m, b, action)
                )
            }
            // The fragment has none; any outcome is sound.
            Cond::Holds(_) | Cond::Less(..) => "1/2".to_owned(),
        }
    }

    /// A condition about the state after `step`, told before it.
    fn before(&self, m: usize, step: &Step, cond: &Cond, action: &mut Action) -> String {
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
            Cond::Not(inner) => format!("!({})", self.before(m, step, inner, action)),
            Cond::And(a, b) => {
                let (a, b) = (
                    self.before(m, step, a, action),
                    self.before(m, step, b, action),
                );
                format!("({a} & {b})")
            }
            Cond::Or(a, b) => {
                let (a, b) = (
                    self.before(m, step, a, action),
                    self.before(m, step, b, action),
                );
                format!("({a} | {b})")
            }
            Cond::True | Cond::Holds(_) | Cond::Less(..) => self.cond(m, cond, action),
        }
    }

    // ---- steps

    fn dereference(&self, m: usize, of: LocalId, action: &mut Action) {
        action.complain(
            format!("!has[{}](tr)", self.variable(m, of)),
            "null dereference",
        );
    }

    fn step(&self, m: usize, step: &Step, action: &mut Action) {
        match step {
            Step::Skip | Step::Free(_) | Step::Havoc { .. } => {}
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
                    action.precondition.push(format!("!({formula})"));
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

    fn is_link(&self, place: Place) -> bool {
        matches!(place, Place::Field { field, .. } if field == self.fragment.link.0)
    }

    fn read(&self, m: usize, to: LocalId, from: Place, action: &mut Action) {
        let target = self.variable(m, to).to_owned();
        match from {
            Place::Shared(id) => {
                let pointer = self.fragment.pointer(id);
                action.focus(format!("{pointer}(v)"));
                action.set_local(&target, &format!("{pointer}(u)"));
            }
            Place::Field { of, .. } => {
                let of_name = self.variable(m, of).to_owned();
                self.dereference(m, of, action);
                if self.is_link(from) {
                    let link = &self.fragment.link.1;
                    action.focus(format!("{of_name}(tr,v) & {link}(v,w)"));
                    let value = format!("E(x) {of_name}(tr,x) & {link}(x,u)");
                    action.set_local(&target, &value);
                    if self.level == Level::Reach {
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
    fn focus_locals(&self, m: usize, action: &mut Action) {
        for variable in self
            .fragment
            .variables
            .iter()
            .filter(|v| v.method == m && !v.data)
        {
            action.focus(format!("{}(tr,v)", variable.name));
        }
    }

    fn write(&self, m: usize, to: Place, value: Term, action: &mut Action) {
        match to {
            Place::Shared(id) => {
                let pointer = self.fragment.pointer(id).to_owned();
                if value != Term::Null {
                    action.focus(self.term(m, value, "v"));
                }
                let update = format!("{pointer}(v) = {}", self.term(m, value, "v"));
                action.update(&pointer, update);
                if self.level == Level::Reach {
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

    fn on(&self, colour: &Colour, m: usize, local: LocalId) -> String {
        match self.fragment.variable(m, local) {
            Some(v) => format!("{}(tr)", Fact::On(colour.clone(), v).name(self.fragment)),
            None => "0".to_owned(),
        }
    }

    /// The place holds the term.
    fn holds(&self, m: usize, at: Place, expect: Term, action: &mut Action) -> String {
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

    fn returns(&self, m: usize, value: Option<Term>, action: &mut Action) {
        let fragment = self.fragment;
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

    // ---- the specification

    /// The sequence is empty.
    fn nothing_left(&self) -> &'static str {
        match self.fragment.sequence {
            Sequence::Stack => "!has[s.top]()",
            Sequence::Queue | Sequence::Nothing => "(E(u) s.pos(u) & s.last(u))",
        }
    }

    fn focus_sequence(&self, action: &mut Action) {
        let first = first(self.fragment.sequence);
        action.focus(format!("{first}(v) & s.next(v,w)"));
        if self.fragment.sequence == Sequence::Queue {
            action.focus("s.pos(v) & s.last(v)".to_owned());
        }
    }

    fn commit(&self, m: usize, kind: CommitKind, action: &mut Action) {
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

    fn insert(&self, mine: usize, action: &mut Action) {
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

    fn take(&self, action: &mut Action) {
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

    // ---- the start, and what must hold always

    fn init_variable(&self, local: LocalId) -> String {
        let body = self.fragment.program.init.as_ref();
        let name = body.map_or("", |b| &b.locals[local.index()].name);
        format!("init.{name}")
    }

    fn init_term(&self, term: Term) -> String {
        match term {
            Term::Local(id) => format!("{}(v)", self.init_variable(id)),
            _ => "0".to_owned(),
        }
    }

    /// `init` runs at labels of its own, before any thread; its locals are unary.
    fn start(&mut self) {
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

    fn init_step(&self, step: &Step, action: &mut Action) {
        let link = &self.fragment.link.1;
        match step {
            Step::New { to } => {
                let x = self.init_variable(*to);
                action.creates = true;
                action.update("is_node", "is_node(v) = is_node(v) | isNew(v)".to_owned());
                action.update(&x, format!("{x}(v) = isNew(v)"));
            }
            Step::Assign { to, value } => {
                let x = self.init_variable(*to);
                action.update(&x, format!("{x}(v) = {}", self.init_term(*value)));
            }
            Step::Read { to, from, .. } => {
                let x = self.init_variable(*to);
                match from {
                    Place::Shared(id) => {
                        let g = self.fragment.pointer(*id);
                        action.update(&x, format!("{x}(v) = {g}(v)"));
                    }
                    Place::Field { of, .. } => {
                        let of = self.init_variable(*of);
                        action.complain(format!("!(E(v) {of}(v))"), "null dereference");
                        action.focus(format!("{of}(v) & {link}(v,w)"));
                        action.update(&x, format!("{x}(v) = E(u) {of}(u) & {link}(u,v)"));
                    }
                }
            }
            Step::Write { to, value, .. } => match to {
                Place::Shared(id) => {
                    let g = self.fragment.pointer(*id);
                    action.update(g, format!("{g}(v) = {}", self.init_term(*value)));
                }
                Place::Field { of, .. } => {
                    let of = self.init_variable(*of);
                    action.complain(format!("!(E(v) {of}(v))"), "null dereference");
                    action.focus(format!("{of}(v) & {link}(v,w)"));
                    let value = self.init_term(*value).replace("(v)", "(w)");
                    action.update(
                        link,
                        format!("{link}(v,w) = ({of}(v) ? {value} : {link}(v,w))"),
                    );
                }
            },
            Step::Assume(cond) => {
                let formula = self.init_cond(cond);
                action.precondition.push(formula);
            }
            // Alone, `init` gets every free lock, and commits nothing.
            Step::Skip
            | Step::Havoc { .. }
            | Step::Cas { .. }
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Free(_)
            | Step::Return(_) => {}
        }
    }

    fn init_cond(&self, cond: &Cond) -> String {
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
    fn begin(&mut self, from: &str) {
        let mut action = Action {
            title: "threads begin".to_owned(),
            ..Action::default()
        };
        if let Some(init) = &self.fragment.program.init {
            for local in &init.locals {
                if matches!(local.ty, Type::Pointer(_)) {
                    let x = format!("init.{}", local.name);
                    action.update(&x, format!("{x}(v) = 0"));
                }
            }
        }
        // The first node of all stands before the first value of a queue.
        if let (Sequence::Queue, Some((_, g))) =
            (self.fragment.sequence, self.fragment.pointers.first())
        {
            for ghost in ["s.pos", "s.last", "com", "dq"] {
                action.update(ghost, format!("{ghost}(v) = {g}(v)"));
            }
        }
        if self.level == Level::Reach {
            for (_, g) in &self.fragment.pointers {
                let was = format!("was[{g}]");
                action.update(&was, format!("{was}(v) = {g}(v)"));
            }
        }
        let text = action.text("begin", "", "");
        self.add(&text, from, "begin", STEP);
    }

    fn check(&mut self) {
        let mut action = Action {
            title: "never".to_owned(),
            ..Action::default()
        };
        for never in &self.fragment.program.nevers {
            let formula = self.cond(0, &never.cond, &mut action);
            action.complain(formula, "what must never hold");
        }
        if !action.messages.is_empty() {
            let text = action.text("check", "", "");
            self.add(&text, STEP, "check", STEP);
        }
    }
}
