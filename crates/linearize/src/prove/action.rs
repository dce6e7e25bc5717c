//! One step of the program as an *action* of the model: focus, precondition, messages,
//! updates. Updates read the structure before the step, so conditional commits, which
//! speak of the state after it, are actions of their own at a busy location.

use std::collections::BTreeMap;
use std::fmt::Write;

use palisade_program::heap::{Commit, Cond, Edge};

use super::Level;
use super::fragment::Fragment;
use super::places::at_once;
use super::term::not;

/// An action under construction. `tr` is the thread that acts.
#[derive(Default)]
pub(super) struct Action {
    pub(super) title: String,
    pub(super) focus: Vec<String>,
    pub(super) precondition: Vec<String>,
    pub(super) messages: Vec<(String, &'static str)>,
    pub(super) creates: bool,
    /// By predicate.
    pub(super) updates: BTreeMap<String, String>,
}

impl Action {
    pub(super) fn complain(&mut self, when: String, text: &'static str) {
        self.messages.push((when, text));
    }

    pub(super) fn focus(&mut self, formula: String) {
        if !self.focus.contains(&formula) {
            self.focus.push(formula);
        }
    }

    /// `predicate(t, u)` of the acting thread becomes `value`.
    pub(super) fn set_local(&mut self, predicate: &str, value: &str) {
        let update = format!("{predicate}(t, u) = (t == tr ? {value} : {predicate}(t, u))");
        self.updates.insert(predicate.to_owned(), update);
    }

    /// The unary `predicate` of the acting thread becomes `value`.
    pub(super) fn set_flag(&mut self, predicate: &str, value: &str) {
        let update = match value {
            "1" => format!("{predicate}(t) = {predicate}(t) | t == tr"),
            "0" => format!("{predicate}(t) = {predicate}(t) & t != tr"),
            _ => format!("{predicate}(t) = (t == tr ? {value} : {predicate}(t))"),
        };
        self.updates.insert(predicate.to_owned(), update);
    }

    pub(super) fn forget_local(&mut self, predicate: &str) {
        let update = format!("{predicate}(t, u) = {predicate}(t, u) & t != tr");
        self.updates.insert(predicate.to_owned(), update);
    }

    /// The call takes effect, exactly once.
    pub(super) fn take_effect(&mut self) {
        self.complain("done(tr)".to_owned(), "a call takes effect twice");
        self.set_flag("done", "1");
    }

    pub(super) fn update(&mut self, predicate: &str, update: String) {
        self.updates.insert(predicate.to_owned(), update);
    }

    /// The text; `guard` holds of `tr` (or is empty, for actions of no thread).
    pub(super) fn text(&self, name: &str, guard: &str, last: &str) -> String {
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
pub(super) const STEP: &str = "step";

/// All actions; `acyclic` says whether they complain of links that may close a cycle.
pub fn actions(fragment: &Fragment<'_>, level: Level, acyclic: bool) -> Actions {
    let mut maker = Maker {
        fragment,
        level,
        acyclic,
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
        maker.thread(&call, &format!("{}.call", method.name), None, entry);
        for (e, edge) in method.body.edges.iter().enumerate() {
            maker.edge(m, e, edge);
        }
    }
    maker.check();
    maker.out
}

pub(super) struct Maker<'a> {
    pub(super) fragment: &'a Fragment<'a>,
    pub(super) level: Level,
    /// Whether links are checked for cycles.
    pub(super) acyclic: bool,
    out: Actions,
}
impl Maker<'_> {
    pub(super) fn add(&mut self, text: &str, from: &str, name: &str, to: &str) {
        self.out.text.push_str(text);
        self.out
            .edges
            .push((from.to_owned(), name.to_owned(), to.to_owned()));
    }

    /// Adds an action of a thread that goes from one location to another; `None` is
    /// `idle`.
    pub(super) fn thread(
        &mut self,
        action: &Action,
        name: &str,
        from: Option<usize>,
        to: Option<usize>,
    ) {
        if action.precondition.iter().any(|formula| formula == "0") {
            return;
        }
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

    pub(super) fn edge(&mut self, m: usize, e: usize, edge: &Edge) {
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
                without.precondition.push(not(&formula));
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
    pub(super) fn conditional(
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
            let formula = if counts { formula } else { not(&formula) };
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

    pub(super) fn title(&self, m: usize, edge: &Edge) -> String {
        let names = palisade_program::heap::print::Names {
            structs: &self.fragment.program.structs,
            shared: &self.fragment.program.shared,
            body: Some(self.fragment.methods[m].body),
        };
        names.step(&edge.step).replace('"', "'")
    }

    /// Locals that do not matter any more become null.
    pub(super) fn forget(
        &self,
        m: usize,
        from: Option<usize>,
        to: Option<usize>,
        action: &mut Action,
    ) {
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
}
