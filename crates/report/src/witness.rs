//! *Witnesses*: verdicts about C programs in the exchange format of the software
//! verification community, version 2 [Ayaziová et al., SPIN 2024], for validators.
//!
//! A *violation witness* is a sequence of segments, each of which ends with one waypoint
//! that an execution follows; the last one is the target, where the property is violated.
//! A waypoint of ours is the beginning of a statement that touches shared memory in the
//! run (an assumption that is true), or the value that a call has returned. Threads are
//! told by `thread_id`, as in version 2.2; a run of one thread is written as version 2.0.
//!
//! A *correctness witness* is a set of invariants at places of the text.
//!
//! The format knows sequential consistency only: a run that needs a store buffer cannot be
//! written in it.

use std::fmt::Write;

use palisade_program::{Action, Names, Source, Span, Trace};
use sha2::{Digest, Sha256};

/// What a witness is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The files of the program: name and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// The property, such as `G ! call(reach_error())`.
    pub property: String,
    /// `LP64` or `ILP32`.
    pub data_model: &'static str,
    /// When the witness is made, in seconds since 1970.
    pub time: u64,
}

/// What holds whenever a thread is at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invariant {
    /// Where.
    pub span: Span,
    /// A C expression without side effects.
    pub value: String,
}

/// Something that an execution passes.
struct Waypoint {
    kind: &'static str,
    thread: usize,
    line: u32,
    file: String,
    function: Option<String>,
    /// Value and format.
    constraint: Option<(String, &'static str)>,
}

/// The witness of a run under SC; the last argument is where the property is violated.
pub fn violation(
    subject: &Subject,
    source: &Source,
    names: &Names,
    trace: &Trace,
    violated: Span,
) -> String {
    let mut waypoints = Vec::new();
    let mut last = vec![None; trace.threads.len()];
    let waypoint = |kind, thread, span, constraint| {
        let at = statement(source, span);
        Waypoint {
            kind,
            thread,
            line: source.position(at).line,
            file: source.file_at(at).to_owned(),
            function: names.function_at(span).map(str::to_owned),
            constraint,
        }
    };
    for step in trace.steps.iter().filter(|step| !step.by_memory) {
        let choice = step.action.as_ref().and_then(Action::choice);
        if let Some(value) = choice.filter(|_| is_input(source.slice(step.span))) {
            let returned = format!("\\result == {value}");
            let constraint = Some((returned, "acsl_expression"));
            waypoints.push(waypoint(
                "function_return",
                step.thread,
                step.span,
                constraint,
            ));
            continue;
        }
        if step.events.is_empty() || step.failed {
            continue;
        }
        let assumed = Some(("1".to_owned(), "c_expression"));
        let next = waypoint("assumption", step.thread, step.span, assumed);
        // The accesses of one statement are one waypoint.
        let here = Some((next.file.clone(), next.line));
        if last[step.thread] != here {
            last[step.thread] = here;
            waypoints.push(next);
        }
    }
    let thread = trace.steps.last().map_or(0, |step| step.thread);
    waypoints.push(waypoint("target", thread, violated, None));
    let version = if trace.threads.len() > 1 {
        "2.2"
    } else {
        "2.0"
    };
    let mut content = String::new();
    for waypoint in &waypoints {
        // Writing to a string does not fail.
        let _ = write!(
            content,
            "  - segment:\n    - waypoint:\n        type: {}\n        action: follow\n",
            quoted(waypoint.kind)
        );
        if trace.threads.len() > 1 {
            let _ = writeln!(content, "        thread_id: {}", waypoint.thread);
        }
        push_location(
            &mut content,
            &waypoint.file,
            waypoint.line,
            None,
            waypoint.function.as_deref(),
            8,
        );
        if let Some((value, format)) = &waypoint.constraint {
            let (value, format) = (quoted(value), quoted(format));
            let _ = write!(
                content,
                "        constraint:\n          value: {value}\n          format: {format}\n"
            );
        }
    }
    entry(subject, "violation_sequence", version, &content)
}

/// The witness of a proof under SC.
pub fn correctness(
    subject: &Subject,
    source: &Source,
    names: &Names,
    invariants: &[Invariant],
) -> String {
    let mut content = String::new();
    for invariant in invariants {
        let text = source.slice(invariant.span);
        let is_loop = ["while", "for", "do"].iter().any(|word| {
            let rest = text.strip_prefix(word);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        });
        let kind = if is_loop {
            "loop_invariant"
        } else {
            "location_invariant"
        };
        // Writing to a string does not fail.
        let _ = write!(content, "  - invariant:\n      type: {}\n", quoted(kind));
        let at = invariant.span.start;
        let place = source.position(at);
        push_location(
            &mut content,
            source.file_at(at),
            place.line,
            is_loop.then_some(place.column),
            names.function_at(invariant.span),
            6,
        );
        let (value, format) = (quoted(&invariant.value), quoted("c_expression"));
        let _ = write!(content, "      value: {value}\n      format: {format}\n");
    }
    entry(subject, "invariant_set", "2.0", &content)
}

/// Whether a text calls for an input.
fn is_input(text: &str) -> bool {
    text.contains("__VERIFIER_nondet_")
}

/// The first line of the statement around a place: one behind the end of another statement,
/// a brace, a condition, a label or a comment.
fn statement(source: &Source, span: Span) -> u32 {
    let text = source.text();
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |n| n + 1);
    let mut at = span.start as usize;
    loop {
        let start = line_start(at);
        let before = text[..start].trim_end();
        let line = before[line_start(before.len())..].trim_start();
        let ends = before.ends_with([';', '{', '}', ')', ':']) || before.ends_with("else");
        let comment = before.ends_with("*/") || line.starts_with("//") || line.starts_with('#');
        if ends || comment || before.is_empty() {
            // On the first line the place itself is in it.
            return (span.start as usize).min(at) as u32;
        }
        at = before.len() - line.len();
    }
}

fn push_location(
    out: &mut String,
    file: &str,
    line: u32,
    column: Option<u32>,
    function: Option<&str>,
    indent: usize,
) {
    let pad = " ".repeat(indent);
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "{pad}location:\n{pad}  file_name: {}\n{pad}  line: {line}\n",
        quoted(file)
    );
    if let Some(column) = column {
        let _ = writeln!(out, "{pad}  column: {column}");
    }
    if let Some(function) = function {
        let _ = writeln!(out, "{pad}  function: {}", quoted(function));
    }
}

/// One entry: what it is, who has made it and of what, and its content.
fn entry(subject: &Subject, kind: &str, version: &str, content: &str) -> String {
    let mut out = String::new();
    let specification = format!("CHECK( init(main()), LTL({}) )", subject.property);
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "- entry_type: {}\n  metadata:\n    format_version: {}\n    uuid: {}\n    \
         creation_time: {}\n    producer:\n      name: \"palisade\"\n      version: {}\n    \
         task:\n      input_files:\n",
        quoted(kind),
        quoted(version),
        quoted(&uuid(subject, content)),
        quoted(&iso_time(subject.time)),
        quoted(env!("CARGO_PKG_VERSION")),
    );
    for (name, _) in &subject.files {
        let _ = writeln!(out, "      - {}", quoted(name));
    }
    out.push_str("      input_file_hashes:\n");
    for (name, contents) in &subject.files {
        let _ = writeln!(out, "        {}: {}", quoted(name), quoted(&hash(contents)));
    }
    let _ = write!(
        out,
        "      specification: {}\n      data_model: {}\n      language: \"C\"\n  content:\n{content}",
        quoted(&specification),
        quoted(subject.data_model)
    );
    out
}

/// A string of YAML, which has those of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// A UUID of version 8: made of what the entry says, so that the same entry has the same.
fn uuid(subject: &Subject, content: &str) -> String {
    let mut hash = Sha256::new();
    for (name, contents) in &subject.files {
        hash.update(name);
        hash.update(contents);
    }
    hash.update(&subject.property);
    hash.update(content);
    let mut bytes = hash.finalize();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = hex(&bytes[..16]);
    let parts = [
        &text[..8],
        &text[8..12],
        &text[12..16],
        &text[16..20],
        &text[20..],
    ];
    parts.join("-")
}

/// Seconds since 1970 as ISO 8601, in UTC [Hinnant, `civil_from_days`].
fn iso_time(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_begin_on_their_first_line() {
        let text = "int f() {\n  x =\n    a +\n    b;\n  if (c)\n    y = 1;\n  // z\n  z = 2;\n}\n";
        let source = Source::new("t.c", text);
        let line = |word: &str| {
            let at = text.find(word).expect(word);
            source
                .position(statement(&source, Span::new(at, at + 1)))
                .line
        };
        assert_eq!(line("b;"), 2);
        assert_eq!(line("x ="), 2);
        assert_eq!(line("y ="), 6);
        assert_eq!(line("z = 2"), 8);
    }

    #[test]
    fn times_are_iso_8601() {
        assert_eq!(iso_time(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso_time(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(iso_time(1_767_225_599), "2025-12-31T23:59:59Z");
    }

    #[test]
    fn hashes_are_those_of_the_standard() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash(b""), empty);
    }
}
