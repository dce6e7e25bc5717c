//! *Did you mean*: the known name that is nearest to one that is unknown, by the
//! number of letters inserted, dropped, replaced or swapped.

/// The candidate nearest to `word`, if one is near enough to be a slip.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Nobody mistypes a name of a hundred letters; the limit keeps this cheap.
    if word.is_empty() || word.len() > 100 {
        return None;
    }
    let allowed = 1 + word.len() / 4;
    candidates
        .into_iter()
        .filter(|c| c.len().abs_diff(word.len()) <= allowed && *c != word)
        .map(|c| (strsim::osa_distance(word, c), c))
        .filter(|(distance, c)| *distance <= allowed && *distance < word.len().max(c.len()))
        .min()
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["critical", "flag", "x"];
        assert_eq!(nearest("critcal", known), Some("critical"));
        assert_eq!(nearest("falg", known), Some("flag"));
        assert_eq!(nearest("turn", known), None);
        assert_eq!(nearest("y", known), None);
    }
}
