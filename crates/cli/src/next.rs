//! *Next steps*: what a user can do about `unknown`. The reason says what ran out; here is
//! one command to try first, further remedies, and the abstract run at which the search
//! for a proof is stuck, at its source lines.

use std::fmt::Write;

use palisade_program::{Bound, Program, SearchBound, Span, Unknown, Verdict};
use serde_json::{Value, json};

use crate::context::Context;

/// Steps of a stuck run that people see; the document has all.
const SHOWN_STEPS: usize = 12;

/// What to do about a verdict.
#[derive(Default)]
pub(crate) struct Next {
    /// Commands, the best first.
    commands: Vec<String>,
    /// Other remedies.
    helps: Vec<String>,
    /// Threads and places of the abstract run.
    stuck: Vec<(String, Span)>,
}

/// What the remedies depend on.
pub(crate) struct Situation<'a> {
    /// The program.
    pub(crate) program: &'a Program,
    /// Whether it is C with the integers of C.
    pub(crate) has_c_integers: bool,
    /// Whether it is a text to which predicates can be added.
    pub(crate) takes_predicates: bool,
    /// The command without an option that holds the method back.
    pub(crate) unrestricted: Option<String>,
    /// The time limit, in seconds.
    pub(crate) timeout: Option<f64>,
}

impl Next {
    /// What to do about a verdict of `fence`.
    pub(crate) fn of_limits(verdict: &Verdict, program: &Program, context: &Context) -> Self {
        let mut next = Self::default();
        if let Verdict::Unknown(why) = verdict {
            let situation = Situation {
                program,
                has_c_integers: false,
                takes_predicates: false,
                unrestricted: None,
                timeout: context.timeout(),
            };
            next.limits(why, &situation, context);
        }
        next
    }

    /// What to do about a verdict of `verify`.
    pub(crate) fn of_proof(
        verdict: &Verdict,
        situation: &Situation<'_>,
        context: &Context,
    ) -> Self {
        let Verdict::Unknown(why) = verdict else {
            return Self::default();
        };
        let mut next = Self::default();
        next.limits(why, situation, context);
        match why {
            Unknown::Bound(bounds) => {
                for bound in bounds {
                    next.proof_bound(bound, context);
                }
            }
            Unknown::GaveUp(_) => {
                next.commands.extend(situation.unrestricted.clone());
                if situation.has_c_integers {
                    next.commands.push(context.again("--ints", "math"));
                }
                if situation.program.has_unbounded_threads() {
                    next.commands.push(context.again("--copies", "2"));
                }
                if situation.takes_predicates {
                    next.helps.push(
                        "a `predicate ...;` in the program, or --predicates FILE, may say what \
                         is missing"
                            .to_owned(),
                    );
                }
            }
            Unknown::Unsupported(..) if situation.program.has_unbounded_threads() => {
                next.commands.push(context.again("--copies", "2"));
            }
            Unknown::Time | Unknown::Memory | Unknown::Interrupted | Unknown::Lost(_) => {}
            Unknown::Unsupported(..) | Unknown::Uninitialised(..) => {}
            Unknown::CertificateRefused(_) | Unknown::ReplayFailed(_) => {}
        }
        next
    }

    /// What to do about a verdict of `explore`.
    pub(crate) fn of_search(
        verdict: &Verdict,
        bounds: impl Iterator<Item = SearchBound>,
        (buffer, states): (Option<usize>, Option<u64>),
        situation: &Situation<'_>,
        context: &Context,
    ) -> Self {
        let Verdict::Unknown(why) = verdict else {
            return Self::default();
        };
        let mut next = Self::default();
        next.limits(why, situation, context);
        if matches!(why, Unknown::Bound(_)) {
            for bound in bounds {
                next.search_bound(bound, buffer, states, context);
            }
        }
        if matches!(why, Unknown::Bound(_) | Unknown::Time | Unknown::Memory) {
            let model = context.option("--model", "-m");
            let model = model.map_or_else(String::new, |model| format!(" --model {model}"));
            let file = situation.program.source.name();
            next.commands
                .insert(0, format!("palisade verify {file}{model}"));
            next.helps
                .push("`verify` proves programs without bounds, too".to_owned());
        }
        next
    }

    /// With the run at which the search for a proof was stuck.
    pub(crate) fn stuck_at(mut self, steps: impl Iterator<Item = (String, Span)>) -> Self {
        self.stuck = steps.collect();
        self
    }

    fn limits(&mut self, why: &Unknown, situation: &Situation<'_>, context: &Context) {
        let source = &situation.program.source;
        match why {
            Unknown::Time => {
                let seconds = situation.timeout.map_or(60.0, |s| (6.0 * s).max(10.0));
                self.commands
                    .push(context.again("--timeout", &format!("{seconds:.0}s")));
            }
            Unknown::Memory => self.helps.push(
                "fewer threads, smaller ranges (`in 0..3`) or fewer buffered stores need less; \
                 --memory SIZE allows more, and `explore --spill DIR` writes states to disk"
                    .to_owned(),
            ),
            Unknown::Unsupported(what, span) => self.helps.push(format!(
                "write {} without it: {what}",
                source.place(span.start)
            )),
            Unknown::Uninitialised(variable, span) => self.helps.push(format!(
                "initialise `{variable}` before {}",
                source.place(span.start)
            )),
            Unknown::CertificateRefused(_) | Unknown::ReplayFailed(_) => self
                .helps
                .push("this is a defect of palisade; please report it with the input".to_owned()),
            Unknown::Lost(_) => self.helps.push(
                "a search with --checkpoint DIR goes on with --resume, when all processes are \
                 started again"
                    .to_owned(),
            ),
            Unknown::Interrupted | Unknown::Bound(_) | Unknown::GaveUp(_) => {}
        }
    }

    fn proof_bound(&mut self, bound: &Bound, context: &Context) {
        match bound {
            Bound::BufferOverflow(_) => {
                self.commands.push(context.again("--buffers", "abstract:1"));
                self.helps.push(
                    "--buffers bounded:K with more cells, or abstract:K for any number of stores"
                        .to_owned(),
                );
            }
            Bound::ExactCells(k) => {
                self.commands
                    .push(context.again("--buffers", &format!("abstract:{}", k + 1)));
                self.helps.push(
                    "--buffers abstract:K with more exact cells, or --keep oldest".to_owned(),
                );
            }
            Bound::Copies(n) => {
                self.commands
                    .push(context.again("--copies", &(n + 1).to_string()));
                self.helps.push("no number of copies proves all".to_owned());
            }
            Bound::AbstractStates(n) => {
                self.commands
                    .push(context.again("--max-states", &(10 * n).to_string()));
            }
            Bound::Histories(_) => self
                .helps
                .push("fewer threads, values or seq_cst events may do".to_owned()),
            Bound::Search(_) | Bound::BooleanStates(_) | Bound::FewStores => {}
            Bound::FewOperations | Bound::Summary(_) | Bound::ValueSets => {}
        }
    }

    fn search_bound(
        &mut self,
        bound: SearchBound,
        buffer: Option<usize>,
        states: Option<u64>,
        context: &Context,
    ) {
        let help = match bound {
            SearchBound::Buffer => {
                "--buffer N lets buffers hold more; a loop that stores fills any"
            }
            SearchBound::History => {
                "--buffer N remembers more stores; `verify` summarises old ones"
            }
            SearchBound::Range => "--range LO..HI admits more values",
            SearchBound::Choice => "--range LO..HI tries more values, a declared range all of them",
            SearchBound::Threads => "--copies N tries more threads; no number proves all",
            SearchBound::States => "--max-states N stores more",
            SearchBound::Overflow | SearchBound::Undefined | SearchBound::Index => return,
            SearchBound::Block | SearchBound::StateSize => return,
        };
        self.helps.push(help.to_owned());
        match (bound, buffer, states) {
            (SearchBound::Buffer | SearchBound::History, Some(size), _) => {
                self.commands
                    .push(context.again("--buffer", &(2 * size).to_string()));
            }
            (SearchBound::States, _, Some(states)) => {
                self.commands
                    .push(context.again("--max-states", &(10 * states).to_string()));
            }
            _ => {}
        }
    }

    /// For people.
    pub(crate) fn text(&self, program: &Program) -> String {
        let mut text = String::new();
        for command in self.commands.iter().take(1) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "  try: {command}");
        }
        for help in &self.helps {
            let _ = writeln!(text, "  help: {help}");
        }
        if self.stuck.is_empty() {
            return text;
        }
        let left_out = self.stuck.len().saturating_sub(SHOWN_STEPS);
        text.push_str("stuck at this abstract run (the program may not have it):\n");
        if left_out > 0 {
            let _ = writeln!(text, "  ... {left_out} earlier steps");
        }
        for (thread, span) in &self.stuck[left_out..] {
            let line = program.source.position(span.start).line;
            let _ = writeln!(text, "  line {line:3}  {thread}: {}", words(program, *span));
        }
        text
    }

    /// For scripts; nothing if there is nothing to say.
    pub(crate) fn value(&self, program: &Program) -> Option<Value> {
        let tries: Vec<&String> = self.commands.iter().chain(&self.helps).collect();
        if tries.is_empty() && self.stuck.is_empty() {
            return None;
        }
        let stuck = self.stuck.iter().map(|(thread, span)| {
            let place = program.source.position(span.start);
            json!({
                "thread": thread,
                "file": program.source.file_at(span.start),
                "line": place.line,
                "column": place.column,
                "step": words(program, *span),
            })
        });
        Some(json!({ "try": tries, "stuck": stuck.collect::<Vec<_>>() }))
    }
}

/// The first line of a statement; a name alone is read there.
fn words(program: &Program, span: Span) -> String {
    let text = program.source.slice(span);
    let line = text.lines().next().unwrap_or_default().trim();
    let is_name = line
        .chars()
        .all(|c| c.is_alphanumeric() || "_[].".contains(c));
    if is_name {
        format!("reads {line}")
    } else {
        line.to_owned()
    }
}
