//! Delta debugging [Zeller and Hildebrandt, TSE 2002] of a program: lines are taken out, most
//! at a time first, as long as the program still shows the difference. A range of lines that opens a
//! block is taken out together with the line that closes it; the lines between may stay.

/// The smallest text found for which `fails` is still true. It is true of `text`.
pub fn shrink(text: &str, fails: impl Fn(&str) -> bool) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut size = lines.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        let mut removed = false;
        while at < lines.len() {
            let end = (at + size).min(lines.len());
            let shorter = candidates(&lines, at, end);
            match shorter.into_iter().find(|c| fails(&joined(c))) {
                Some(shorter) => {
                    lines = shorter;
                    removed = true;
                }
                None => at += 1,
            }
        }
        if !removed || size > 1 {
            size /= 2;
        }
    }
    joined(&lines)
}

fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|l| [*l, "\n"]).collect()
}

/// The lines without some: those from `at` to `end`, and, where `at` opens a block, the whole
/// block or its first and last line.
fn candidates<'t>(lines: &[&'t str], at: usize, end: usize) -> Vec<Vec<&'t str>> {
    let without = |gone: &dyn Fn(usize) -> bool| -> Vec<&'t str> {
        let kept = lines.iter().enumerate().filter(|(i, _)| !gone(*i));
        kept.map(|(_, line)| *line).collect()
    };
    let mut all = vec![without(&|i| (at..end).contains(&i))];
    if let Some(close) = closing(lines, at) {
        all.push(without(&|i| (at..=close).contains(&i)));
        all.push(without(&|i| i == at || i == close));
    }
    all
}

/// The line that closes the block opened in line `at`.
fn closing(lines: &[&str], at: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (i, line) in lines.iter().enumerate().skip(at) {
        for c in line.chars() {
            depth += i32::from(c == '{') - i32::from(c == '}');
        }
        if depth <= 0 {
            return (i > at).then_some(i);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn keeps_what_the_difference_needs() {
        let text = "shared x = 0;\nshared y = 0;\nthread a {\n  if (*) {\n    y = 1;\n    x = 1;\n  }\n}\nthread b {\n  y = 2;\n}\n";
        let balanced = |t: &str| t.matches('{').count() == t.matches('}').count();
        let small = shrink(text, |t| balanced(t) && t.contains("x = 1"));
        assert_eq!(small, "    x = 1;\n");
    }

    #[test]
    fn a_program_that_needs_everything_stays() {
        let text = "a\nb\nc\n";
        assert_eq!(shrink(text, |t| t == text), text);
    }
}
