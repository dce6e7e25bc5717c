//! Reading a *suite*: programs and a list of them (`suite.json`) with the published figures.
//! Suites are part of the command, so that it can be run from anywhere; `--folder` takes the
//! same files from elsewhere.

use anyhow::{Context as _, Result};
use palisade_program::Source;
use serde_json::Value;

use crate::args::BenchArgs;

/// A suite that is built in.
pub(super) struct Suite {
    /// Its folder, for messages.
    pub(super) folder: &'static str,
    /// Its files with their names.
    pub(super) files: &'static [(&'static str, &'static str)],
}

impl Suite {
    /// A file of the suite: built in, or from the folder given.
    pub(super) fn file(&self, args: &BenchArgs, name: &str) -> Result<Source> {
        if let Some(folder) = &args.folder {
            return crate::input::read(&folder.join(name));
        }
        let found = self.files.iter().find(|(own, _)| *own == name);
        let (_, text) = found.with_context(|| format!("the suite has no file {name}"))?;
        Ok(Source::new(format!("{}/{name}", self.folder), *text))
    }

    /// The entries of the list whose names have the part that was asked for.
    pub(super) fn entries(&self, args: &BenchArgs) -> Result<Vec<Value>> {
        let index = self.file(args, "suite.json")?;
        let index: Value = serde_json::from_str(index.text())
            .with_context(|| format!("{} is no JSON", index.name()))?;
        let programs = index["programs"].as_array();
        let programs = programs.context("suite.json has no list of programs")?;
        let part = args.program.as_deref().unwrap_or_default().to_lowercase();
        let wanted = |entry: &&Value| {
            let name = entry["name"].as_str().unwrap_or_default().to_lowercase();
            name.contains(&part)
        };
        Ok(programs.iter().filter(wanted).cloned().collect())
    }
}

/// A text of an entry.
pub(super) fn text<'e>(entry: &'e Value, key: &str) -> Result<&'e str> {
    let value = entry[key].as_str();
    value.with_context(|| format!("an entry of suite.json has no `{key}`"))
}
