//! Report: the outcome of an analysis as plain text.
//!
//! Place: output for terminals and tests; other forms read [`Analysis`] itself. Counts are in
//! TVLA's terms (per location, kept, total) and in the seed's (canonically abstract states =
//! kept, stored states = total).

use crate::action::Message;
use crate::analysis::Analysis;
use crate::engine::Given;
use crate::explore::Run;
use crate::formula::Var;
use crate::print::tvs;
use crate::verdict::{Verdict, explain};
use std::fmt::Write;

/// A message of an edge's action: those before the update first, then those after it.
pub fn message_of(a: &Analysis, edge: usize, index: usize) -> Option<&Message> {
    let action = &a.model.actions[a.model.edges[edge].action];
    let mut all = action.messages.iter().chain(&action.post_messages);
    all.nth(index)
}

/// The title of an edge's action on one line.
fn title(a: &Analysis, edge: usize) -> String {
    let e = &a.model.edges[edge];
    let action = &a.model.actions[e.action];
    let from = &a.model.locations[e.source];
    format!("{from}: {}", action.title.trim().replace('\n', " "))
}

/// What the variables of an action's precondition stand for: `tr = u1`, in a model with
/// threads the thread that moves.
pub fn bound(a: &Analysis, edge: usize, bound: &[usize]) -> Vec<String> {
    let action = &a.model.actions[a.model.edges[edge].action];
    let name = |v: Var| {
        a.model
            .variables
            .get(v.0 as usize)
            .map_or("?", String::as_str)
    };
    let pairs = action.bindings.iter().zip(bound);
    pairs.map(|(v, u)| format!("{} = u{u}", name(*v))).collect()
}

/// One message: text, the actions that led to it, the structure that caused it.
pub fn message(a: &Analysis, m: &Given) -> String {
    let mut out = format!(
        "message: {} (value {}, {} times)\n",
        m.text.replace('\n', " "),
        m.value,
        m.count
    );
    for o in a.fixpoint.trace(m.from) {
        let _ = writeln!(out, "  {}", title(a, o.edge));
    }
    let _ = writeln!(out, "  {}", title(a, m.edge));
    for line in tvs(&a.model.vocabulary, &m.structure).lines() {
        let _ = writeln!(out, "    {line}");
    }
    out
}

/// A concrete run, step by step.
pub fn run(a: &Analysis, r: &Run) -> String {
    let voc = &a.model.vocabulary;
    let mut out = String::from("run from\n");
    for line in tvs(voc, &r.start.structure(voc)).lines() {
        let _ = writeln!(out, "    {line}");
    }
    for s in &r.steps {
        let _ = match bound(a, s.edge, &s.bound).join(", ") {
            none if none.is_empty() => writeln!(out, "  {}", title(a, s.edge)),
            bound => writeln!(out, "  {} [{bound}]", title(a, s.edge)),
        };
    }
    if let Some(last) = r.steps.last() {
        out.push_str("in\n");
        for line in tvs(voc, &last.world.structure(voc)).lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
    out
}

/// What else is worth knowing: what was ignored or dropped, what stands for nothing.
pub fn notes(a: &Analysis) -> Vec<String> {
    let f = &a.fixpoint;
    let origin = |rule: usize| a.model.rules.origin(rule);
    let mut out = a.model.ignored.clone();
    for (rule, n) in &f.discarded {
        let origin = origin(*rule);
        out.push(format!("{n} results were dropped because of {origin}"));
    }
    for (i, rule) in &f.inconsistent {
        let (number, origin) = (i + 1, origin(*rule));
        out.push(format!(
            "input structure {number} breaks {origin} and stands for nothing"
        ));
    }
    if f.focus_gave_up {
        out.push("focus left some values unknown".to_owned());
    }
    if let Verdict::Holds { edges, fired, .. } = &a.verdict
        && edges < fired
    {
        let left = fired - edges;
        out.push(format!(
            "{left} of {fired} actions rest on the analysis alone: no small world was found that takes them (--visits N looks at more)"
        ));
    }
    if let Verdict::Holds { relaxed, .. } = &a.verdict
        && !relaxed.is_empty()
    {
        let rules = relaxed.iter().map(|i| a.model.axioms[*i].origin.as_str());
        out.push(format!(
            "no small world satisfies {}: the worlds of the confirmation need not",
            rules.collect::<Vec<_>>().join(", ")
        ));
    }
    out
}

/// The whole outcome.
pub fn text(a: &Analysis) -> String {
    let f = &a.fixpoint;
    let mut out = String::new();
    for (label, at) in a.model.locations.iter().zip(&f.locations) {
        let _ = writeln!(out, "{label}: {} structures", at.set.structures().len());
    }
    let _ = writeln!(
        out,
        "kept {} (canonically abstract states), total {} (stored states)",
        f.kept(),
        f.total
    );
    for m in &f.messages {
        out.push_str(&message(a, m));
    }
    for note in notes(a) {
        let _ = writeln!(out, "note: {note}");
    }
    match &a.verdict {
        Verdict::Holds {
            worlds,
            steps,
            edges,
            fired,
            ..
        } => {
            let _ = writeln!(
                out,
                "holds (confirmed on {worlds} worlds, {steps} steps, {edges} of {fired} actions)"
            );
        }
        Verdict::Violated(r) => {
            out.push_str(&run(a, r));
            let (edge, index) = r.message;
            let text = message_of(a, edge, index).map_or("", |m| m.text.as_str());
            let _ = writeln!(out, "violated: {}", text.replace('\n', " "));
        }
        Verdict::Unknown(reason) => {
            let _ = writeln!(out, "unknown: {}", explain(&a.model, reason));
        }
    }
    out
}
