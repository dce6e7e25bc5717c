//! *Sizes of store buffers* as the command line gives them: `auto`, `bounded:2`,
//! `bounded:x=2,y=1`, `bounded:2,x=3`, `bounded:1,writer=3`, `bounded:1,writer.x=2`, `abstract:2`. A
//! variable or thread without a size of its own gets the first number, or 1. With `+` at the end,
//! sizes grow where they are too small.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};
use palisade_program::{Model, Program};
use palisade_verify::{Buffers, Sizes};

/// Cells of a buffer for which none are given, beside variables that have some.
const OTHERS: u32 = 1;
/// The largest size: larger programs than that are not readable, let alone provable.
const MOST: u32 = 64;

/// How store buffers are modelled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct BuffersArg {
    /// The sizes,
    pub(crate) how: Buffers,
    /// and whether they are only where to start.
    pub(crate) grows: bool,
}

impl FromStr for BuffersArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::default());
        }
        let (text, grows) = match text.strip_suffix('+') {
            Some(start) => (start, true),
            None => (text, false),
        };
        if let Some(cells) = text.strip_prefix("abstract:") {
            let cells = match cells.trim() {
                "0" => 0,
                some => size(some)?,
            };
            let how = Buffers::Abstract(cells);
            return Ok(Self { how, grows });
        }
        let list = text.strip_prefix("bounded:");
        let list = list.ok_or("expected `auto`, `bounded:K` or `abstract:K`, such as bounded:2")?;
        let mut default = None;
        let mut named = BTreeMap::new();
        for part in list.split(',') {
            match part.split_once('=') {
                Some((name, cells)) => {
                    let name = name.trim().to_owned();
                    if named.insert(name.clone(), size(cells)?).is_some() {
                        return Err(format!("`{name}` has two sizes"));
                    }
                }
                None if default.is_none() => default = Some(size(part)?),
                None => return Err(format!("a second size for all variables: `{part}`")),
            }
        }
        let default = default.unwrap_or(OTHERS);
        let how = Buffers::Bounded(Sizes { default, named });
        Ok(Self { how, grows })
    }
}

fn size(text: &str) -> Result<u32, String> {
    let digits = Some(text.trim()).filter(|t| !t.starts_with('+'));
    match digits.and_then(|t| t.parse().ok()) {
        Some(cells) if (1..=MOST).contains(&cells) => Ok(cells),
        Some(_) | None => Err(format!("`{text}` is no number of cells from 1 to {MOST}")),
    }
}

impl fmt::Display for BuffersArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.how {
            Buffers::Auto => f.write_str("auto")?,
            Buffers::Abstract(cells) => write!(f, "abstract:{cells}")?,
            Buffers::Bounded(sizes) => {
                write!(f, "bounded:{}", sizes.default)?;
                let mut named = sizes.named.iter();
                named.try_for_each(|(name, cells)| write!(f, ",{name}={cells}"))?;
            }
        }
        f.write_str(if self.grows { "+" } else { "" })
    }
}

impl BuffersArg {
    /// Refuses sizes that mean nothing for this program under this model.
    pub(crate) fn check(&self, program: &Program, model: Model) -> Result<()> {
        let Buffers::Bounded(sizes) = &self.how else {
            return Ok(());
        };
        let is_variable = |name: &str| program.globals.iter().any(|g| g.name == name);
        let is_thread = |name: &str| program.templates.iter().any(|t| t.name == name);
        let is_both = |name: &str| {
            let parts = name.split_once('.');
            parts.is_some_and(|(thread, variable)| is_thread(thread) && is_variable(variable))
        };
        let mut names = sizes.named.keys();
        if model == Model::Tso && names.clone().any(|n| is_variable(n) || is_both(n)) {
            bail!(
                "--buffers {self}: under tso a thread has one buffer for all variables; \
                 use bounded:K or bounded:K,THREAD=K"
            );
        }
        let is_known = |name: &&String| is_variable(name) || is_thread(name) || is_both(name);
        match names.find(|name| !is_known(name)) {
            Some(name) => bail!("--buffers {self}: there is no shared variable or thread `{name}`"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Result<(u32, Vec<(String, u32)>), String> {
        match text.parse::<BuffersArg>()?.how {
            Buffers::Auto | Buffers::Abstract(_) => Err(text.to_owned()),
            Buffers::Bounded(s) => Ok((s.default, s.named.into_iter().collect())),
        }
    }

    #[test]
    fn sizes_for_all_and_for_some() {
        assert_eq!(sizes("bounded:2"), Ok((2, Vec::new())));
        let named = vec![("x".to_owned(), 2), ("y".to_owned(), 1)];
        assert_eq!(sizes("bounded:x=2,y=1"), Ok((1, named.clone())));
        assert_eq!(sizes("bounded:3,y=1,x=2"), Ok((3, named)));
        assert_eq!(sizes("auto"), Err("auto".to_owned()));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "2", "bounded", "bounded:", "bounded:0", "bounded:1,2"] {
            assert!(text.parse::<BuffersArg>().is_err(), "{text}");
        }
        for text in [
            "bounded:x=",
            "bounded:x=1,x=2",
            "bounded:-1",
            "bounded:x=65",
            "abstract",
            "abstract:",
            "abstract:x=1",
            "auto+",
            "bounded:+2",
        ] {
            assert!(text.parse::<BuffersArg>().is_err(), "{text}");
        }
    }

    #[test]
    fn shown_as_read() {
        for text in [
            "auto",
            "bounded:2",
            "bounded:1,x=2,y=1",
            "abstract:3",
            "abstract:0",
            "abstract:1+",
            "bounded:2,x=1+",
        ] {
            let read: BuffersArg = text.parse().expect("right");
            assert_eq!(read.to_string(), text);
        }
    }
}
