//! A *diagnostic* is an error or a warning that points at a span of the source,
//! says what was expected, and offers a remedy. [`Diagnostics`] are those of one
//! run together with the source, so that they can be shown with the lines they
//! point at.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use palisade_program::{Source, Span};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// No Program is made.
    Error,
    /// Probably not what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

/// One message about one place in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub span: Span,
    /// What is wrong, in one line.
    pub message: String,
    /// A few words under the marked place.
    pub label: Option<String>,
    /// The remedy.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            span,
            message: message.into(),
            label: None,
            help: None,
        }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(span, message)
        }
    }

    /// With a few words under the marked place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// With a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The diagnostics of one run, with the source they point into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostics {
    /// The source.
    pub source: Source,
    /// The messages, by position.
    pub items: Vec<Diagnostic>,
    /// Whether the reader was told to stop ([`Stop`](crate::Stop)): nothing is known of the text then.
    pub stopped: bool,
}

impl Diagnostics {
    /// The diagnostics `items` about `source`, sorted by position.
    pub fn new(source: Source, mut items: Vec<Diagnostic>) -> Self {
        items.sort_by_key(|d| (d.span, d.severity));
        Self {
            source,
            items,
            stopped: false,
        }
    }

    /// The reader of `source` was told to stop before it was done.
    pub const fn stopped(source: Source) -> Self {
        Self {
            source,
            items: Vec::new(),
            stopped: true,
        }
    }

    /// As text for a terminal; with colours if `colour`.
    pub fn render(&self, colour: bool) -> String {
        render(&self.source, &self.items, colour)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}

/// Diagnostics about `source` as text for a terminal, one after another, each
/// followed by a line break.
pub fn render(source: &Source, items: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut out = String::new();
    for item in items {
        out.push_str(&render_one(source, item, &renderer));
        out.push_str("\n\n");
    }
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn render_one(source: &Source, item: &Diagnostic, renderer: &Renderer) -> String {
    let excerpt = Excerpt::around(source, item.span);
    let mut mark = AnnotationKind::Primary.span(excerpt.start..excerpt.end);
    if let Some(label) = &item.label {
        mark = mark.label(label.as_str());
    }
    let level = match item.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let group: Group<'_> = level.primary_title(item.message.as_str()).element(
        Snippet::source(excerpt.text.as_str())
            .line_start(excerpt.line)
            .path(source.file_at(item.span.start))
            .annotation(mark),
    );
    match &item.help {
        Some(help) => renderer.render(&[group.element(Level::HELP.message(help.as_str()))]),
        None => renderer.render(&[group]),
    }
}

/// The part of the source that is shown: the lines of the span, at most
/// [`Excerpt::LINES`] of them, each cut when it is very long, so that showing an
/// error in a 10 MB line costs no more than in a short one.
struct Excerpt {
    text: String,
    line: usize,
    start: usize,
    end: usize,
}

impl Excerpt {
    const LINES: u32 = 6;
    const WIDTH: usize = 4000;

    fn around(source: &Source, span: Span) -> Self {
        let text = source.text();
        let start = floor_boundary(text, span.start as usize);
        let mut end = ceil_boundary(text, span.end as usize).max(start);
        let first = source.position(start as u32).line;
        let mut line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        if start - line_start > Self::WIDTH {
            line_start = floor_boundary(text, start - Self::WIDTH);
        }
        let last = source.position(end as u32).line;
        if last >= first + Self::LINES || end - start > Self::WIDTH {
            let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
            end = ceil_boundary(text, line_end.min(start + Self::WIDTH));
        }
        let rest = text[end..].find('\n').map_or(text.len(), |i| end + i);
        let stop = ceil_boundary(text, rest.min(end + Self::WIDTH));
        Self {
            text: text[line_start..stop].to_owned(),
            line: first as usize,
            start: start - line_start,
            end: end - line_start,
        }
    }
}

/// The nearest character boundary at or before `offset`.
fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest character boundary at or after `offset`.
fn ceil_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_line_its_label_and_its_help() {
        let source = Source::new("t.pal", "shared x;\nthread t { y = 1; }\n");
        let item = Diagnostic::error(Span::new(21, 22), "unknown variable `y`")
            .label("not declared")
            .help("declare it");
        let text = Diagnostics::new(source, vec![item]).to_string();
        for part in [
            "error: unknown variable `y`",
            "t.pal:2:12",
            "^ not declared",
            "help: declare it",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn spans_anywhere_are_shown_without_panic() {
        let text = format!("{}é\n\nαβ\n\n\n\n\n\nx", "a".repeat(10_000));
        let source = Source::new("t", text.as_str());
        for start in (0..text.len() + 3).rev().take(30).chain([0, 5000]) {
            for length in [0, 1, 2, 20, 9000] {
                let item = Diagnostic::error(Span::new(start, start + length), "m");
                assert!(render(&source, &[item], false).contains("error: m"));
            }
        }
    }
}
