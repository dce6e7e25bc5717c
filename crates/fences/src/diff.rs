//! The *unified diff* of two texts. The longest common subsequence of lines is
//! computed after equal lines at both ends are set aside: patches change few lines.

use std::fmt::Write;

/// Lines of context around a change.
const CONTEXT: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Same,
    Gone,
    New,
}

/// The diff from `old` to `new`, with names as in `a/x.pal` and `b/x.pal`; empty if
/// they are equal.
pub fn unified(old_name: &str, new_name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let (before, after) = (lines(old), lines(new));
    let changes = changes(&before, &after);
    let mut text = format!("--- {old_name}\n+++ {new_name}\n");
    for (from, to) in hunks(&changes) {
        push_hunk(&mut text, &changes, from, to);
    }
    text
}

/// The lines of a text with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn changes<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<(Kind, &'t str)> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = before.iter().zip(after).take_while(same).count();
    let (b, a) = (&before[head..], &after[head..]);
    let tail = b.iter().rev().zip(a.iter().rev()).take_while(same).count();
    let (middle_b, middle_a) = (&b[..b.len() - tail], &a[..a.len() - tail]);
    let mut all: Vec<(Kind, &str)> = before[..head].iter().map(|l| (Kind::Same, *l)).collect();
    all.extend(middle(middle_b, middle_a));
    all.extend(b[b.len() - tail..].iter().map(|l| (Kind::Same, *l)));
    all
}

/// The changes between two short lists of lines.
fn middle<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<(Kind, &'t str)> {
    // `longest[i][j]`: the longest common subsequence from line i and line j on.
    let mut longest = vec![vec![0_u32; after.len() + 1]; before.len() + 1];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            longest[i][j] = if before[i] == after[j] {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut all = Vec::new();
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            all.push((Kind::Same, before[i]));
            i += 1;
            j += 1;
        } else if j == after.len() || (i < before.len() && longest[i + 1][j] >= longest[i][j + 1]) {
            all.push((Kind::Gone, before[i]));
            i += 1;
        } else {
            all.push((Kind::New, after[j]));
            j += 1;
        }
    }
    all
}

/// Ranges of changes with their context; ranges that touch are one.
fn hunks(changes: &[(Kind, &str)]) -> Vec<(usize, usize)> {
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for (index, (kind, _)) in changes.iter().enumerate() {
        if *kind == Kind::Same {
            continue;
        }
        let from = index.saturating_sub(CONTEXT);
        let to = (index + CONTEXT + 1).min(changes.len());
        match hunks.last_mut() {
            Some((_, end)) if *end >= from => *end = to,
            Some(_) | None => hunks.push((from, to)),
        }
    }
    hunks
}

fn push_hunk(text: &mut String, changes: &[(Kind, &str)], from: usize, to: usize) {
    let count = |part: &[(Kind, &str)], other: Kind| part.iter().filter(|c| c.0 != other).count();
    let range = |other: Kind| {
        let (before, lines) = (
            count(&changes[..from], other),
            count(&changes[from..to], other),
        );
        let start = if lines == 0 { before } else { before + 1 };
        if lines == 1 {
            format!("{start}")
        } else {
            format!("{start},{lines}")
        }
    };
    // Writing to a string does not fail.
    let _ = writeln!(text, "@@ -{} +{} @@", range(Kind::New), range(Kind::Gone));
    for (kind, line) in &changes[from..to] {
        text.push(match kind {
            Kind::Same => ' ',
            Kind::Gone => '-',
            Kind::New => '+',
        });
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}
