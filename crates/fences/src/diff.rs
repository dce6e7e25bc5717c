//! The *unified diff* of two texts.

use similar::TextDiff;

/// The diff from `old` to `new`, with names as in `a/x.pal` and `b/x.pal`; empty if
/// they are equal.
pub fn unified(old_name: &str, new_name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut unified = diff.unified_diff();
    unified.header(old_name, new_name).to_string()
}
