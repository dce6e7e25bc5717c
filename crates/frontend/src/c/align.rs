//! *Alignment* of preprocessed tokens with the user's line: those that both have in this order are the user's, by
//! a longest common subsequence; the others are from macros.

use std::ops::Range;

use palisade_program::Span;

use super::lexer::{PUNCTUATORS, passed_word, string_prefix};

/// A token of the preprocessed text.
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    /// The line of the user's that it is from.
    pub(super) line: Option<Range<usize>>,
    /// Its place if there is no such line, or if it is too long to be aligned.
    pub(super) span: Span,
}

/// Pairs of tokens that are compared for one line, at most.
const MOST_PAIRS: usize = 4_000_000;

/// The place of each token.
pub(super) fn spans(source: &str, pieces: &[Piece<'_>]) -> Vec<Span> {
    let mut spans: Vec<Span> = pieces.iter().map(|p| p.span).collect();
    let mut at = 0;
    while at < pieces.len() {
        let Some(line) = &pieces[at].line else {
            // What is not the user's stands where the user's last token does.
            if at > 0 {
                spans[at] = spans[at - 1];
            }
            at += 1;
            continue;
        };
        let is_foreign = |p: &Piece<'_>| p.line.as_ref().is_some_and(|l| l != line);
        let end = pieces[at..].iter().position(is_foreign);
        let end = end.map_or(pieces.len(), |n| at + n);
        let own: Vec<usize> = (at..end).filter(|k| pieces[*k].line.is_some()).collect();
        let texts: Vec<&str> = own.iter().map(|k| pieces[*k].text).collect();
        if let Some(found) = line_spans(source, line, &texts) {
            for (k, span) in own.iter().zip(found) {
                spans[*k] = span;
            }
        }
        for k in at + 1..end {
            if pieces[k].line.is_none() {
                spans[k] = spans[k - 1];
            }
        }
        at = end;
    }
    spans
}

/// The places of the tokens of one line.
fn line_spans(source: &str, line: &Range<usize>, texts: &[&str]) -> Option<Vec<Span>> {
    let text = source.get(line.clone())?;
    let words = words(text);
    if words.len() * texts.len() > MOST_PAIRS {
        return None;
    }
    let matched = common(
        texts,
        &words.iter().map(|w| &text[w.clone()]).collect::<Vec<_>>(),
    );
    let mut cursor = 0;
    // The macro since the last token that both have.
    let mut name: Option<Range<usize>> = None;
    let mut last = 0..0;
    let mut spans = Vec::with_capacity(texts.len());
    for (k, found) in matched.iter().enumerate() {
        if let Some(word) = found.map(|w| words[w].clone()) {
            // A name that is passed over is that of a macro, which gives this token.
            let from = name.take().map_or(cursor, |name| name.end);
            let first = passed_word(&text[from..word.start]).map_or(word.start, |w| from + w);
            cursor = word.end;
            last = first..word.end;
        } else {
            let next = matched[k..].iter().flatten().next();
            let until = next.map_or(text.len(), |w| words[*w].start);
            if name.is_none() {
                let start = passed_word(&text[cursor..until]).map(|at| cursor + at);
                name = start.and_then(|start| words.iter().find(|w| w.start == start).cloned());
            }
            last = name.clone().unwrap_or(last);
        }
        spans.push(Span::new(line.start + last.start, line.start + last.end));
    }
    Some(spans)
}

/// For each token of `a` the one of `b` that it is, in order, as many as can be; of several ways the one
/// that takes the last tokens of `a`, since a macro's body comes before what follows the macro.
fn common(a: &[&str], b: &[&str]) -> Vec<Option<usize>> {
    let (n, m) = (a.len(), b.len());
    // longest[i][j]: of the first i of `a` and the first j of `b`.
    let mut longest = vec![vec![0_u32; m + 1]; n + 1];
    for i in 0..n {
        for j in 0..m {
            longest[i + 1][j + 1] = if a[i] == b[j] {
                longest[i][j] + 1
            } else {
                longest[i][j + 1].max(longest[i + 1][j])
            };
        }
    }
    let mut matched = vec![None; n];
    let (mut i, mut j) = (n, m);
    while i > 0 && j > 0 {
        if a[i - 1] == b[j - 1] {
            matched[i - 1] = Some(j - 1);
            (i, j) = (i - 1, j - 1);
        } else if longest[i][j - 1] >= longest[i - 1][j] {
            j -= 1;
        } else {
            i -= 1;
        }
    }
    matched
}

/// The tokens of a line as written, without comments.
fn words(text: &str) -> Vec<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = &text[at..];
        let length = if rest.starts_with("//") {
            break;
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            continue;
        } else if c.is_whitespace() || c == '\\' {
            at += c.len_utf8();
            continue;
        } else if let Some(prefix) = string_prefix(rest) {
            quoted(rest, prefix)
        } else if c.is_ascii_digit() {
            number(rest)
        } else if is_word(c) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            let punctuator = PUNCTUATORS.iter().find(|p| rest.starts_with(**p));
            punctuator.map_or(c.len_utf8(), |p| p.len())
        };
        all.push(at..at + length);
        at += length;
    }
    all
}

/// A preprocessing number.
fn number(rest: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    rest.find(|c| !is_part(c)).unwrap_or(rest.len())
}

/// A string or character behind its prefix, with both quotes.
fn quoted(rest: &str, prefix: usize) -> usize {
    let quote = rest[prefix..].chars().next().unwrap_or('"');
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip_while(|(i, _)| *i <= prefix) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return i + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::line_spans;

    /// What each token of a preprocessed line is said to be in the user's line.
    fn places<'t>(line: &'t str, tokens: &str) -> Vec<&'t str> {
        let tokens: Vec<&str> = tokens.split(' ').collect();
        let spans = line_spans(line, &(0..line.len()), &tokens).expect("a short line");
        let text = |s: &palisade_program::Span| &line[s.start as usize..s.end as usize];
        spans.iter().map(text).collect()
    }

    #[test]
    fn a_macro_does_not_displace_what_follows() {
        let line = "SET(x); check(x == 5);";
        let found = places(line, "do { x = 4 ; } while ( 0 ) ; check ( x == 5 ) ;");
        assert_eq!(
            found[11..],
            [";", "check", "(", "x", "==", "5", ")", ";"],
            "{found:?}"
        );
        let of_macro = |t: &&str| ["SET", "(", "x", ")"].contains(t);
        assert!(found[..11].iter().all(of_macro), "{found:?}");
    }

    #[test]
    fn a_token_of_a_macro_is_the_name_of_the_macro() {
        let found = places("x = NO; y = 1;", "x = 0 ; y = 1 ;");
        assert_eq!(found, ["x", "=", "NO", ";", "y", "=", "1", ";"]);
    }

    #[test]
    fn comments_and_strings_are_no_tokens() {
        let found = places("f(\"a;b\" /* ; */, 'c');", "f ( \"a;b\" , 'c' ) ;");
        assert_eq!(found, ["f", "(", "\"a;b\"", ",", "'c'", ")", ";"]);
    }
}
