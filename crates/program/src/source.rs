//! Source text and spans. A program comes from one file, or from several: those that
//! the user gave and what they include. Their texts stand one behind the other, and a span
//! is a range of bytes of the whole; traces, patches and errors are all located by spans.

use std::fmt;

/// A half-open range of byte offsets into [`Source::text`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A position as people count it: both from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for LineColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The text of the input with the name of its (first) file as the user wrote it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Source {
    name: String,
    text: String,
    line_starts: Vec<u32>,
    /// Further files: names, and where their texts start.
    others: Vec<(String, u32)>,
}

impl Source {
    /// Keeps `text` under `name`. Texts beyond 4 GiB are the front ends' to refuse.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(
                text.bytes()
                    .enumerate()
                    .filter(|&(_, b)| b == b'\n')
                    .map(|(i, _)| i as u32 + 1),
            )
            .collect();
        Self {
            name: name.into(),
            text,
            line_starts,
            others: Vec::new(),
        }
    }

    /// Several files, names and texts. One alone is kept as it is; else each ends with a
    /// line break.
    pub fn of_files(files: Vec<(String, String)>) -> Self {
        let mut name = None;
        let mut text = String::new();
        let mut others = Vec::new();
        for (file, lines) in files {
            if name.is_none() {
                name = Some(file);
            } else {
                if !text.ends_with('\n') {
                    text.push('\n');
                }
                others.push((file, text.len() as u32));
            }
            text.push_str(&lines);
        }
        Self {
            others,
            ..Self::new(name.unwrap_or_default(), text)
        }
    }

    /// The files: their names and where their texts are.
    pub fn files(&self) -> impl Iterator<Item = (&str, std::ops::Range<usize>)> {
        let starts = self.others.iter().map(|(_, start)| *start as usize);
        let ends = starts.clone().chain([self.text.len()]);
        let names = self.others.iter().map(|(name, _)| name.as_str());
        std::iter::once(self.name())
            .chain(names)
            .zip(std::iter::once(0).chain(starts).zip(ends))
            .map(|(name, (start, end))| (name, start..end))
    }

    /// The name of the file that a byte is in, and where its text starts.
    fn file(&self, offset: u32) -> (&str, u32) {
        let before = self.others.partition_point(|(_, start)| *start <= offset);
        match before.checked_sub(1).and_then(|k| self.others.get(k)) {
            Some((name, start)) => (name, *start),
            None => (&self.name, 0),
        }
    }

    /// The name of the file that a byte is in.
    pub fn file_at(&self, offset: u32) -> &str {
        self.file(offset).0
    }

    /// A byte's place in words: `file:line:column`.
    pub fn place(&self, offset: u32) -> String {
        format!("{}:{}", self.file_at(offset), self.position(offset))
    }

    /// The line that a byte is in, without its line break.
    pub fn line_at(&self, offset: u32) -> &str {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        self.line(line as u32)
    }

    /// The file's name as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span; empty when the span is not of this source.
    pub fn slice(&self, span: Span) -> &str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// Line and column of a byte offset, in its file.
    pub fn position(&self, offset: u32) -> LineColumn {
        let line = self
            .line_starts
            .partition_point(|&start| start <= offset)
            .max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let column = self
            .text
            .get(start as usize..offset as usize)
            .map_or(1, |before| before.chars().count() as u32 + 1);
        let first = match self.file(offset) {
            (_, 0) => 0,
            (_, start) => self.line_starts.partition_point(|&s| s < start),
        };
        LineColumn {
            line: (line - first) as u32,
            column,
        }
    }

    /// The text of line `line` (from 1) of the whole, without its line break.
    pub fn line(&self, line: u32) -> &str {
        let index = line.saturating_sub(1) as usize;
        let start = self.line_starts.get(index).copied().unwrap_or(0) as usize;
        let end = self
            .line_starts
            .get(index + 1)
            .map_or(self.text.len(), |&next| next as usize);
        self.text
            .get(start..end)
            .unwrap_or("")
            .trim_end_matches(['\n', '\r'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_one_and_in_characters() {
        let source = Source::new("t", "ab\nαβγ\n\nx");
        assert_eq!(source.position(0).to_string(), "1:1");
        assert_eq!(source.position(2).to_string(), "1:3");
        assert_eq!(source.position(3).to_string(), "2:1");
        assert_eq!(source.position(7).to_string(), "2:3");
        assert_eq!(source.position(11).to_string(), "4:1");
        assert_eq!(source.line(2), "αβγ");
        assert_eq!(source.line(3), "");
    }

    #[test]
    fn each_file_has_its_own_lines() {
        let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let files = vec![
            file("a.c", "one\ntwo"),
            file("b.h", "three\nfour\n"),
            file("c.h", ""),
        ];
        let source = Source::of_files(files);
        let at = |word: &str| source.text().find(word).expect("a word") as u32;
        assert_eq!(source.place(at("two")), "a.c:2:1");
        assert_eq!(source.place(at("three")), "b.h:1:1");
        assert_eq!(source.place(at("our")), "b.h:2:2");
        assert_eq!(source.line_at(at("our")), "four");
        let files: Vec<_> = source
            .files()
            .map(|(n, r)| (n, &source.text()[r]))
            .collect();
        assert_eq!(
            files,
            [("a.c", "one\ntwo\n"), ("b.h", "three\nfour\n"), ("c.h", "")]
        );
        assert_eq!(source.name(), "a.c");
    }
}
