//! *Units*: the files of a C program with the flags that each is preprocessed with. They come
//! from the command line, and from a `compile_commands.json` (the compilation database of
//! Clang, which build systems write).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use palisade_frontend::c::{Preprocessor, Unit};
use serde_json::Value;

use crate::args::PreprocessorArgs;

/// The flags of the first file, and the other files with theirs.
pub(crate) fn units(
    file: &Path,
    more: &[PathBuf],
    args: &PreprocessorArgs,
) -> Result<(Preprocessor, Vec<Unit>)> {
    let database = match &args.compile_commands {
        Some(folder) => Some(Database::read(folder)?),
        None => None,
    };
    let flags = |file: &Path| -> Result<Preprocessor> {
        let mut flags = match &database {
            Some(database) => database.flags(file)?,
            None => Preprocessor::default(),
        };
        let own: Preprocessor = args.into();
        flags.folders.extend(own.folders);
        flags.defines.extend(own.defines);
        flags.undefines.extend(own.undefines);
        flags.includes.extend(own.includes);
        flags.standard = own.standard.or(flags.standard);
        Ok(flags)
    };
    let first = flags(file)?;
    let mut units = Vec::new();
    for file in more {
        units.push(Unit {
            file: file.clone(),
            preprocessor: flags(file)?,
        });
    }
    Ok((first, units))
}

struct Database {
    path: PathBuf,
    entries: Vec<Value>,
}

impl Database {
    fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("compile_commands.json");
        let name = path.display();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        let entries = serde_json::from_str(&text);
        let entries = entries.with_context(|| format!("{name} is no list of commands"))?;
        Ok(Self { path, entries })
    }

    /// The flags that a file is compiled with.
    fn flags(&self, file: &Path) -> Result<Preprocessor> {
        let wanted = fs::canonicalize(file);
        let wanted = wanted.with_context(|| format!("cannot read {}", file.display()))?;
        for entry in &self.entries {
            let text = |key: &str| entry[key].as_str().unwrap_or_default();
            let folder = Path::new(text("directory"));
            let own = fs::canonicalize(folder.join(text("file")));
            if own.is_ok_and(|own| own == wanted) {
                let words = match entry["arguments"].as_array() {
                    Some(words) => words
                        .iter()
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect(),
                    None => words(text("command")),
                };
                return Ok(flags(&words, folder));
            }
        }
        bail!(
            "{} has no command for {}",
            self.path.display(),
            file.display()
        )
    }
}

/// The flags for the preprocessor among the words of a command that runs in `folder`.
fn flags(words: &[String], folder: &Path) -> Preprocessor {
    let mut flags = Preprocessor::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let mut value = |flag: &str| {
            let behind = word.strip_prefix(flag)?;
            match behind {
                "" => rest.next().cloned(),
                other => Some(other.to_owned()),
            }
        };
        if let Some(standard) = word.strip_prefix("-std=") {
            flags.standard = Some(standard.to_owned());
        } else if let Some(file) = value("-include") {
            flags.includes.push(folder.join(file));
        } else if let Some(dir) = value("-isystem").or_else(|| value("-iquote")) {
            flags.folders.push(folder.join(dir));
        } else if let Some(dir) = value("-I") {
            flags.folders.push(folder.join(dir));
        } else if let Some(define) = value("-D") {
            flags.defines.push(define);
        } else if let Some(name) = value("-U") {
            flags.undefines.push(name);
        }
    }
    flags
}

/// A command as a shell splits it: by blanks, with quotes and backslashes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let (mut quote, mut letters) = (None, command.chars());
    while let Some(c) = letters.next() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('\\', None | Some('"')) => {
                word.get_or_insert_default().extend(letters.next());
            }
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_a_shell_does() {
        let split = words(r#"cc -DA='"x y"' -I inc "-Ia b" -D B\ C -c a.c"#);
        let expected = [
            "cc",
            "-DA=\"x y\"",
            "-I",
            "inc",
            "-Ia b",
            "-D",
            "B C",
            "-c",
            "a.c",
        ];
        assert_eq!(split, expected);
        let flags = flags(&split, Path::new("/w"));
        assert_eq!(flags.folders, [Path::new("/w/inc"), Path::new("/w/a b")]);
        assert_eq!(flags.defines, ["A=\"x y\"", "B C"]);
    }
}
