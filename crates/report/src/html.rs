//! *Pages*: a result as one self-contained page for a browser. The page holds its data as
//! JSON, a style sheet and a script; it loads nothing. A run can be stepped through with the
//! keyboard: a column for each thread with its source, memory, buffers, and the execution
//! graph.

use palisade_program::{Names, Program, Source, Trace, TraceStep};
use serde_json::{Value, json};

use crate::columns::{Detail, View};
use crate::document::Document;
use crate::execution::Execution;
use crate::style::Style;
use crate::{graph, svg};

const FRAME: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// What a page shows beside what the JSON document has.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Page {
    /// The program's text.
    source: Option<(String, String)>,
    /// The run, ready to be shown.
    run: Option<Value>,
    /// The changes that repair the program, as a unified diff.
    pub patch: Option<String>,
    /// Pictures (SVG) with their titles.
    pub drawings: Vec<(String, String)>,
    /// The invariant that was proved, a part a line.
    pub invariant: Vec<String>,
    /// The same in short: what holds when a thread is at a place.
    pub places: Vec<Place>,
    /// What else is to be known about them.
    pub places_note: String,
    /// What threads did one after the other.
    pub timeline: Option<Timeline>,
    /// Further text: a time line.
    pub text: Option<String>,
}

/// What holds when a thread is at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The thread.
    pub thread: String,
    /// Where: a line of the program.
    pub line: u32,
    /// What holds.
    pub facts: Vec<String>,
}

/// What threads did one after the other: calls, steps, returns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    /// Names of the threads.
    pub threads: Vec<String>,
    /// What happened.
    pub events: Vec<TimelineEvent>,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimelineEvent {
    /// The thread, from 0.
    pub thread: usize,
    /// `call`, `step` or `return`.
    pub kind: &'static str,
    /// In words.
    pub text: String,
    /// The line.
    pub line: u32,
}

/// Arrows of the largest control-flow graphs that pages show.
const MOST_ARROWS: usize = 150;

impl Page {
    /// A page about a text.
    pub fn of_source(source: &Source) -> Self {
        Self {
            source: Some((source.name().to_owned(), source.text().to_owned())),
            ..Self::default()
        }
    }

    /// A page about a program and, if there is one, a run of it.
    pub fn of_program(program: &Program, trace: Option<&Trace>) -> Self {
        let arrows: usize = program.templates.iter().map(|t| t.cfg.edges.len()).sum();
        let flow = trace.filter(|_| arrows <= MOST_ARROWS).map(|trace| {
            let picture = svg::render(&graph::with_run(program, trace));
            ("Control flow with the run".to_owned(), picture)
        });
        Self {
            run: trace.map(|trace| run(trace, &program.source, &program.names)),
            drawings: flow.into_iter().collect(),
            ..Self::of_source(&program.source)
        }
    }

    /// Whether it says no more than the document does.
    pub fn is_bare(&self) -> bool {
        let nothing = self.run.is_none() && self.patch.is_none() && self.text.is_none();
        let nothing = nothing && self.timeline.is_none() && self.drawings.is_empty();
        nothing && self.invariant.is_empty()
    }

    /// The page as a text.
    pub fn render(&self, document: &Document) -> String {
        let source = self.source.as_ref().map(|(name, text)| {
            let lines: Vec<&str> = text.lines().collect();
            json!({ "name": name, "lines": lines })
        });
        let drawings = self.drawings.iter();
        let drawings = drawings.map(|(title, svg)| json!({ "title": title, "svg": svg }));
        let mut heading = serde_json::to_value(document).unwrap_or_default();
        if let Some(keys) = heading.as_object_mut() {
            // The run below says the same.
            keys.remove("trace");
        }
        let places = self.places.iter().map(
            |place| json!({ "thread": place.thread, "line": place.line, "facts": place.facts }),
        );
        let timeline = self.timeline.as_ref().map(|timeline| {
            let event = |e: &TimelineEvent| {
                json!({ "thread": e.thread, "kind": e.kind, "text": e.text, "line": e.line })
            };
            let events: Vec<Value> = timeline.events.iter().map(event).collect();
            json!({ "threads": timeline.threads, "events": events })
        });
        let data = json!({
            "places": places.collect::<Vec<_>>(),
            "places_note": self.places_note,
            "timeline": timeline,
            "document": heading,
            "source": source,
            "run": self.run,
            "patch": self.patch,
            "drawings": drawings.collect::<Vec<_>>(),
            "invariant": self.invariant,
            "text": self.text,
        });
        // No text of the data ends the script that it stands in.
        let data = data.to_string().replace('<', "\\u003c");
        let input = document.input.as_deref().unwrap_or(&document.command);
        FRAME
            .replace("{{title}}", &escaped(&format!("palisade: {input}")))
            .replace("{{style}}", STYLE)
            .replace("{{script}}", SCRIPT)
            .replace("{{data}}", &data)
    }
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// The run as the script reads it.
fn run(trace: &Trace, source: &Source, names: &Names) -> Value {
    let view = View {
        source,
        names,
        detail: Detail::Events,
        style: Style::PLAIN,
        width: 100,
    };
    let values = |memory: &std::collections::BTreeMap<String, i64>| -> Value {
        let users = memory.iter().filter(|(cell, _)| !names.is_made_up(cell));
        let shown = users.map(|(cell, value)| (cell.clone(), json!(names.value(cell, *value))));
        Value::Object(shown.collect())
    };
    // What only the front end has a variable for is shown as it was written: a thread is started.
    let event = |step: &TraceStep| {
        if step.by_memory {
            return step.text.clone();
        }
        let text = view.event(step, &trace.because);
        if text.is_empty() {
            source.slice(step.span).to_owned()
        } else {
            text
        }
    };
    let steps: Vec<Value> = trace
        .steps
        .iter()
        .map(|step| {
            json!({
                "thread": step.thread,
                "memory_system": step.by_memory,
                "line": source.position(step.span.start).line,
                "file": Some(source.file_at(step.span.start)).filter(|file| *file != source.name()),
                "function": names.function_at(step.span),
                "text": step.text,
                "event": event(step),
                "shown": view.is_shown(step),
                "failed": step.failed,
                "memory": values(&step.memory),
                "locals": step.locals,
                "buffers": step.buffers,
            })
        })
        .collect();
    let execution = Execution::of(trace, |cell| names.is_made_up(cell));
    let nodes = execution.nodes.iter().map(|node| {
        let letter = if node.writes { "W" } else { "R" };
        let value = names.value(&node.cell, node.value);
        json!({
            "thread": node.thread,
            "step": node.step,
            "label": format!("{letter} {} {value}", node.cell),
            "cell": node.cell,
            "value": value,
            "writes": node.writes,
        })
    });
    let edges = execution.edges.iter();
    let edges = edges.map(|(from, to, how)| json!([from, to, how.name()]));
    json!({
        "threads": trace.threads,
        "initial": values(&trace.initial),
        "steps": steps,
        "ending": view.ending(trace),
        "graph": { "nodes": nodes.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_the_program_leaves_the_data() {
        let source = Source::new("x.pal", "// </script><script>alert(1)</script>\n");
        let page = Page::of_source(&source).render(&Document::new("verify"));
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(
            page.contains("\\u003c/script>\\u003cscript>alert(1)"),
            "{page}"
        );
        assert!(!page.contains("{{"), "{page}");
        for loads in ["src=", "href=", "@import", "url(h", "fetch(", "XMLHttp"] {
            assert!(!page.contains(loads), "{loads}");
        }
    }
}
