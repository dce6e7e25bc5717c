//! Reading a *suite*: programs and a list of them (`suite.json`) with the published figures.
//! Suites are part of the program, so that it can be run from anywhere; another folder with the
//! same files can be given.

use include_dir::{Dir, include_dir};
use palisade_frontend::Diagnostics;
use palisade_program::Source;
use serde_json::Value;

use crate::{Error, Request};

static SUITES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../suites");

/// The files of one suite.
pub(crate) struct Files<'r> {
    /// The folder of the suite that is built in.
    pub(crate) name: &'static str,
    pub(crate) request: &'r Request,
}

impl Files<'_> {
    /// A file of the suite: built in, or from the folder given.
    pub(crate) fn read(&self, name: &str) -> Result<Source, Error> {
        if let Some(folder) = &self.request.folder {
            let path = folder.join(name).display().to_string();
            return match std::fs::read_to_string(&path) {
                Ok(text) => Ok(Source::new(path, text)),
                Err(error) => Err(Error::Read(path, error)),
            };
        }
        let file = SUITES.get_file(format!("{}/{name}", self.name));
        let text = file.and_then(include_dir::File::contents_utf8);
        let text = text.ok_or_else(|| Error::Suite(format!("the suite has no file {name}")))?;
        Ok(Source::new(format!("suites/{}/{name}", self.name), text))
    }

    /// The list of the suite.
    pub(crate) fn index(&self) -> Result<Value, Error> {
        let index = self.read("suite.json")?;
        serde_json::from_str(index.text())
            .map_err(|error| Error::Suite(format!("{} is no JSON: {error}", index.name())))
    }

    /// The programs of the list whose names or titles have the part that was asked for.
    pub(crate) fn programs(&self) -> Result<Vec<Value>, Error> {
        let index = self.index()?;
        let all = index.get("programs").unwrap_or(&index).as_array();
        let all = all.ok_or_else(|| Error::Suite("suite.json has no list of programs".into()))?;
        let named = |entry: &Value, key: &str| self.is_wanted(entry[key].as_str()?).then_some(());
        let wanted = |entry: &&Value| {
            named(entry, "name")
                .or_else(|| named(entry, "title"))
                .is_some()
        };
        Ok(all.iter().filter(wanted).cloned().collect())
    }

    /// Whether a name has the part that was asked for.
    pub(crate) fn is_wanted(&self, name: &str) -> bool {
        let part = self.request.program.as_deref().unwrap_or_default();
        name.to_lowercase().contains(&part.to_lowercase())
    }
}

/// A text of an entry.
pub(crate) fn text<'e>(entry: &'e Value, key: &str) -> Result<&'e str, Error> {
    let missing = || Error::Suite(format!("an entry of suite.json has no `{key}`"));
    entry[key].as_str().ok_or_else(missing)
}

/// What is wrong with a program of a suite.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn wrong(diagnostics: Diagnostics) -> Error {
    Error::Program(diagnostics.render(false))
}
