//! *Expectations*: what a file says about its own verdicts, on one of its first lines:
//!
//! ```text
//! // expect: sc=holds tso=violated pso=violated
//! // expect: -n 2 sc=holds rma=violated
//! // expect: linearizable
//! // expect: not linearizable
//! ```
//!
//! Words that begin with `-` are options of the command, with the word behind them unless
//! that is a verdict. `unbounded` says that `explore` does not end on the program.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use palisade_program::Model;

/// Lines of a file that are looked at.
const FIRST_LINES: usize = 5;

/// A verdict by its word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    Holds,
    Violated,
    Unknown,
}

impl Expected {
    /// The word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Unknown => "unknown",
        }
    }

    /// The verdict of this word.
    pub(crate) fn named(word: &str) -> Option<Self> {
        let all = [Self::Holds, Self::Violated, Self::Unknown];
        all.into_iter().find(|verdict| verdict.word() == word)
    }
}

/// What a file expects.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Expectations {
    /// Verdicts by memory model.
    pub(crate) by_model: Vec<(Model, Expected)>,
    /// The verdict where there is no model: linearizability.
    pub(crate) plain: Option<Expected>,
    /// Options of the command.
    pub(crate) options: Vec<String>,
}

impl Expectations {
    /// The verdict expected under a model.
    pub(crate) fn under(&self, model: Option<Model>) -> Option<Expected> {
        match model {
            Some(model) => self.by_model.iter().find(|(m, _)| *m == model).map(|e| e.1),
            None => self.plain,
        }
    }

    /// Reads a file's own line; nothing is expected if there is none.
    pub(crate) fn of_file(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().take(FIRST_LINES).find_map(|line| {
            let (before, words) = line.split_once("expect:")?;
            let comment = before.trim().chars().all(|c| "/*#(% ".contains(c));
            comment.then_some(words)
        });
        let Some(line) = line else {
            return Ok(Self::default());
        };
        match Self::parse(line) {
            Ok(found) => Ok(found),
            Err(word) => bail!(
                "{}: `{word}` is no expectation\n  help: write `expect: sc=holds tso=violated`",
                path.display()
            ),
        }
    }

    /// The words behind `expect:`; an error is the word that makes no sense.
    fn parse(line: &str) -> Result<Self, String> {
        let line = line.trim_end_matches("*/").trim_end_matches("*)");
        let mut found = Self::default();
        let mut words = line.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let pair = word.trim_end_matches(',').split_once('=');
            if word.starts_with('-') {
                found.options.push(word.to_owned());
                let argument = words.next_if(|next| !next.contains('=') && !next.starts_with('-'));
                found.options.extend(argument.map(str::to_owned));
            } else if let Some((model, verdict)) = pair {
                let known = Model::ALL.into_iter().find(|m| m.to_string() == model);
                let (Some(model), Some(verdict)) = (known, Expected::named(verdict)) else {
                    return Err(word.to_owned());
                };
                found.by_model.push((model, verdict));
            } else {
                match word.trim_end_matches(',') {
                    "linearizable" => found.plain = found.plain.or(Some(Expected::Holds)),
                    "not" => found.plain = Some(Expected::Violated),
                    "unbounded" => {}
                    // `linearizable, also with --free`: told apart by other tests.
                    "also" | "but" if found.plain.is_some() => break,
                    _ => return Err(word.to_owned()),
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_verdicts_and_options() {
        let found = Expectations::parse(" -n 2 sc=holds rma=violated unbounded */").expect("read");
        assert_eq!(found.options, ["-n", "2"]);
        assert_eq!(found.under(Some(Model::Sc)), Some(Expected::Holds));
        assert_eq!(found.under(Some(Model::Rma)), Some(Expected::Violated));
        assert_eq!(found.under(Some(Model::Tso)), None);
        let plain = |line: &str| Expectations::parse(line).expect("read").under(None);
        assert_eq!(plain("linearizable"), Some(Expected::Holds));
        assert_eq!(plain("not linearizable"), Some(Expected::Violated));
        assert_eq!(
            plain("linearizable, but violated with --free"),
            Some(Expected::Holds)
        );
        assert_eq!(Expectations::parse("sc=safe"), Err("sc=safe".to_owned()));
        assert_eq!(
            Expectations::parse("tos=holds"),
            Err("tos=holds".to_owned())
        );
    }
}
