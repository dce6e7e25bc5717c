//! *Models*: the texts of a shape analysis. A program includes other files, and
//! an error may stand in any of them: whatever was read is kept, so that it can
//! be shown with the line it points at.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use palisade_frontend::{Diagnostic, Diagnostics};
use palisade_program::{Source, Span};
use palisade_report::{Complaint, Outcome};
use palisade_shape::syntax;

use crate::context::{Context, complain};
use crate::input;

/// The texts that were read, by name.
#[derive(Default)]
pub(crate) struct Texts {
    read: RefCell<BTreeMap<String, Source>>,
}

impl Texts {
    /// Reads a file that was named on the command line.
    pub(crate) fn read(&self, path: &Path) -> Result<Source> {
        let source = input::read(path)?;
        self.keep(&source);
        Ok(source)
    }

    /// Finds a file that another one names: beside that one.
    pub(crate) fn load(&self, path: &str, from: &str) -> Option<(String, String)> {
        let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(path);
        let text = fs::read_to_string(&beside).ok()?;
        let name = beside.display().to_string();
        self.keep(&Source::new(name.clone(), text.clone()));
        Some((name, text))
    }

    fn keep(&self, source: &Source) {
        let mut read = self.read.borrow_mut();
        read.insert(source.name().to_owned(), source.clone());
    }

    /// The text of that name.
    pub(crate) fn get(&self, name: &str) -> Option<Source> {
        self.read.borrow().get(name).cloned()
    }
}

/// The file of initial structures when none is named: the program's name with
/// `.tvs`.
pub(crate) fn default_states(program: &Path) -> Result<PathBuf> {
    let states = program.with_extension("tvs");
    if program == Path::new("-") || !states.is_file() {
        let program = program.display();
        anyhow::bail!(
            "no initial structures: {} is not there; name the file: \
             palisade shape {program} STATES.tvs",
            states.display()
        );
    }
    Ok(states)
}

/// Prints what is wrong with a model: to people, and in the document.
pub(crate) fn refuse(context: &Context, texts: &Texts, errors: &syntax::Diagnostics) -> Outcome {
    let mut document = context.document();
    document.input = errors.files.first().cloned();
    let mut rendered = Vec::new();
    for (file, items) in by_file(errors) {
        let Some(source) = texts.get(&file) else {
            // Nothing to show, but still to be said.
            rendered.extend(items.iter().map(|e| unlocated(&file, e)));
            document
                .diagnostics
                .extend(items.iter().map(|e| bare(&file, e)));
            continue;
        };
        let items = items.iter().map(|error| locate(&source, error)).collect();
        let located = Diagnostics::new(source, items);
        rendered.push(located.render(context.coloured_errors));
        let complaints = input::complaints(&located.source, &located.items);
        document.diagnostics.extend(complaints);
    }
    complain(&rendered.join("\n"));
    context.print("", &document);
    Outcome::BadInput
}

/// The errors of each file, files in the order of their first error.
fn by_file(errors: &syntax::Diagnostics) -> Vec<(String, Vec<&syntax::Diagnostic>)> {
    let mut groups: Vec<(String, Vec<&syntax::Diagnostic>)> = Vec::new();
    for error in &errors.errors {
        let file = errors.files.get(error.span.file as usize);
        let file = file.map_or("input", String::as_str);
        match groups.iter_mut().find(|(name, _)| name == file) {
            Some((_, items)) => items.push(error),
            None => groups.push((file.to_owned(), vec![error])),
        }
    }
    groups
}

/// The error with its place in the text. Columns are those of the line after
/// macros were expanded: one beyond the line is taken as its end.
fn locate(source: &Source, error: &syntax::Diagnostic) -> Diagnostic {
    let span = word_at(source, error.span.line, error.span.column);
    let diagnostic = Diagnostic::error(span, error.message.clone());
    if error.help.is_empty() {
        diagnostic
    } else {
        diagnostic.help(error.help.clone())
    }
}

/// The word that begins at a line and column, or the character there.
pub(crate) fn word_at(source: &Source, line: u32, column: u32) -> Span {
    let text = source.text();
    let ends = text.split_inclusive('\n').map(str::len);
    let start: usize = ends.take(line.saturating_sub(1) as usize).sum();
    let line = source.line(line.max(1));
    let offset = |chars: usize| line.char_indices().nth(chars).map_or(line.len(), |c| c.0);
    let from = offset(column.saturating_sub(1) as usize);
    let rest = &line[from..];
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let length = word.max(rest.chars().next().map_or(0, char::len_utf8));
    Span::new(start + from, start + from + length)
}

fn unlocated(file: &str, error: &syntax::Diagnostic) -> String {
    let help = match error.help.as_str() {
        "" => String::new(),
        help => format!("  = help: {help}\n"),
    };
    format!("error: {} ({file})\n{help}", error.message)
}

fn bare(file: &str, error: &syntax::Diagnostic) -> Complaint {
    Complaint {
        severity: palisade_report::Severity::Error,
        message: error.message.clone(),
        file: Some(file.to_owned()),
        line: None,
        column: None,
        help: Some(error.help.clone()).filter(|help| !help.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_words_and_never_beyond_the_line() {
        let source = Source::new("f", "ab ü\n\n  + cde\n");
        let at = |line, column| {
            let span = word_at(&source, line, column);
            (source.position(span.start), source.slice(span).to_owned())
        };
        for (line, column, word) in [
            (1, 1, "ab"),
            (1, 4, "ü"),
            (3, 3, "+"),
            (3, 5, "cde"),
            (3, 6, "de"),
        ] {
            let (place, slice) = at(line, column);
            assert_eq!((place.line, place.column), (line, column));
            assert_eq!(slice, word);
        }
        assert_eq!(at(1, 80).1, "");
        assert_eq!(at(1, 80).0.line, 1);
        assert_eq!(at(2, 1).1, "");
        assert_eq!(at(0, 0).1, "ab");
        assert_eq!(at(99, 1).1, "");
    }
}
