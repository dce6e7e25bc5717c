//! Property files: `key = value` settings that TVLA's models come with.
//!
//! Place: options of a run. Known keys change the limits; others (display, TVLA's choice of
//! data structures, differencing, which is always on here) are listed as ignored. None of them
//! can make a verdict wrong: a limit that is reached makes it `unknown`.
//!
//! A program asks for a file by `@properties "file"` in a comment ([`requested`]); the caller
//! decides what wins over what.

use crate::analysis::{Input, Options};
use crate::engine::Limits;
use crate::syntax::Diagnostics;
use crate::syntax::preprocess::preprocess;

/// A property file that a program asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requested {
    /// The path as written.
    pub path: String,
    /// The file that asks.
    pub from: String,
    /// Name and text, if the loader finds it.
    pub found: Option<(String, String)>,
}

/// A setting that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PropertyError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

/// The property files that a program and what it includes ask for, in order. Errors of the
/// program are not told here: reading it will.
pub fn requested(program: Input<'_>, options: &Options<'_>) -> Vec<Requested> {
    let mut errors = Diagnostics::default();
    let defines = &options.defines;
    let text = preprocess(
        program.name,
        program.text,
        defines,
        options.loader,
        &mut errors,
    );
    let asked = text.properties.into_iter();
    asked
        .map(|(path, from)| Requested {
            found: (options.loader)(&path, &from),
            path,
            from,
        })
        .collect()
}

/// Applies a property file to the limits; returns the keys that had no effect.
pub fn apply(text: &str, limits: &mut Limits) -> Result<Vec<String>, PropertyError> {
    let mut ignored = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let Some((key, value)) = line.split_once(['=', ':']) else {
            ignored.push(line.to_owned());
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let known = set(key, value, limits).map_err(|message| PropertyError {
            line: number,
            message,
        })?;
        if !known {
            ignored.push(key.to_owned());
        }
    }
    Ok(ignored)
}

/// Applies one setting; tells whether its key is known.
fn set(key: &str, value: &str, limits: &mut Limits) -> Result<bool, String> {
    match key {
        "tvla.joinType" | "tvla.join" => limits.join = value.parse()?,
        "tvla.maxStructures" | "tvla.engine.maxStructures" => {
            limits.structures = positive(key, value)?;
        }
        "tvla.maxMessages" | "tvla.engine.maxMessages" => {
            limits.messages = positive(key, value)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A limit; zero and below mean none.
fn positive(key: &str, value: &str) -> Result<Option<usize>, String> {
    let number: i64 = value
        .parse()
        .map_err(|_| format!("`{key} = {value}`: expected a number"))?;
    Ok(usize::try_from(number).ok().filter(|n| *n > 0))
}

#[cfg(test)]
mod tests {
    use super::{apply, requested};
    use crate::analysis::{Input, Options};
    use crate::engine::Limits;
    use crate::join::Join;

    #[test]
    fn known_keys_apply_and_others_are_listed() {
        let mut limits = Limits::default();
        let text = "# comment\ntvla.joinType = rel\ntvla.maxMessages=5\ntvla.terse = true\n";
        let ignored = apply(text, &mut limits);
        assert_eq!(ignored, Ok(vec!["tvla.terse".to_owned()]));
        assert_eq!((limits.join, limits.messages), (Join::Rel, Some(5)));
        let wrong = apply("# comment\ntvla.joinType = none", &mut limits);
        assert_eq!(wrong.map_err(|e| e.line), Err(2));
    }

    #[test]
    fn comments_ask_for_files_beside_the_file_they_stand_in() {
        let load = |path: &str, from: &str| match (path, from) {
            ("sub/lists.tvp", "p.tvp") => Some(("sub/lists.tvp", "// @properties \"a\"\n")),
            ("a", "sub/lists.tvp") => Some(("sub/a", "tvla.joinType = rel")),
            _ => None,
        };
        let loader = |path: &str, from: &str| {
            load(path, from).map(|(name, text)| (name.to_owned(), text.to_owned()))
        };
        let options = Options {
            loader: &loader,
            ..Options::default()
        };
        let program = Input {
            name: "p.tvp",
            text: "/* @properties \"none\" */\n#include \"sub/lists.tvp\"\n",
        };
        let found: Vec<_> = requested(program, &options)
            .into_iter()
            .map(|r| (r.path, r.found.map(|f| f.0)))
            .collect();
        let expected = [
            ("none".to_owned(), None),
            ("a".to_owned(), Some("sub/a".to_owned())),
        ];
        assert_eq!(found, expected);
    }
}
