//! Property files: `key = value` settings that TVLA's models come with.
//!
//! Place: options of a run. Known keys change the limits; others (display, TVLA's choice of
//! data structures, differencing, which is always on here) are listed as ignored.

use crate::engine::Limits;

/// Applies a property file to the limits; returns the keys that had no effect.
pub fn apply(text: &str, limits: &mut Limits) -> Result<Vec<String>, String> {
    let mut ignored = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let Some((key, value)) = line.split_once(['=', ':']) else {
            ignored.push(line.to_owned());
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "tvla.joinType" | "tvla.join" => limits.join = value.parse()?,
            "tvla.maxStructures" | "tvla.engine.maxStructures" => {
                limits.structures = positive(key, value)?;
            }
            "tvla.maxMessages" | "tvla.engine.maxMessages" => {
                limits.messages = positive(key, value)?;
            }
            _ => ignored.push(key.to_owned()),
        }
    }
    Ok(ignored)
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
    use super::apply;
    use crate::engine::Limits;
    use crate::join::Join;

    #[test]
    fn known_keys_apply_and_others_are_listed() {
        let mut limits = Limits::default();
        let text = "# comment\ntvla.joinType = rel\ntvla.maxMessages=5\ntvla.terse = true\n";
        let ignored = apply(text, &mut limits);
        assert_eq!(ignored, Ok(vec!["tvla.terse".to_owned()]));
        assert_eq!((limits.join, limits.messages), (Join::Rel, Some(5)));
        assert!(apply("tvla.joinType = none", &mut limits).is_err());
    }
}
