//! *Wrapping*: breaking a line of text into lines of at most a given width, at
//! blanks where possible. Width is counted in terminal cells.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many terminal cells `text` takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Breaks `text` into lines of at most `cells` cells (at least 1); lines after
/// the first start with `indent` blanks. Never returns an empty list. A word
/// wider than a line is cut.
pub(crate) fn wrap(text: &str, cells: usize, indent: usize) -> Vec<String> {
    let cells = cells.max(1);
    let margin = |blanks: usize| " ".repeat(blanks.min(cells - 1));
    let words = text.trim_start_matches(' ');
    let mut lines = vec![margin(text.len() - words.len())];
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        push_word(&mut lines, word, cells, &margin(indent));
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// Adds a word to the last line, or to a new one if it does not fit there.
fn push_word(lines: &mut Vec<String>, word: &str, cells: usize, margin: &str) {
    let line = lines.last().map_or("", String::as_str);
    let is_started = !line.trim().is_empty();
    if is_started && width(line) + 1 + width(word) > cells {
        lines.push(margin.to_owned());
    } else if is_started && let Some(line) = lines.last_mut() {
        line.push(' ');
    }
    for c in word.chars() {
        let line = lines.last().map_or("", String::as_str);
        if width(line) + c.width().unwrap_or(0) > cells && !line.trim().is_empty() {
            lines.push(margin.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn breaks_at_blanks_and_cuts_long_words() {
        assert_eq!(wrap("one two three", 8, 0), ["one two", "three"]);
        assert_eq!(wrap("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(wrap("abcdefgh", 3, 0), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3, 0), [""]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_line_is_too_wide(text in "[a-z ]{0,60}", cells in 1_usize..20) {
            let lines = wrap(&text, cells, 1);
            prop_assert!(!lines.is_empty());
            prop_assert!(lines.iter().all(|line| width(line) <= cells));
            let letters = |s: &str| s.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
