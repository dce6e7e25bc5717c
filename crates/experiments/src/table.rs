//! *Tables*: rows of JSON as text. A column has a heading and two patterns, for rows of ours and
//! for published rows: text with names in braces. `{stats.states}` is that value of the row, and
//! after a colon stands how it is shown:
//!
//! | `{x:...}` | is |
//! |---|---|
//! | `.2` | a number with two decimals |
//! | `K` | thousands, with as many decimals as matter |
//! | `k` | thousands as they are |
//! | `M` | bytes as megabytes |
//! | `?` | nothing if there is no value |
//! | `-` | `-` if there is no value |

use std::fmt::Write;

use serde_json::Value;

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// What stands above it, if not empty.
    pub title: String,
    /// Stands before each line.
    pub indent: &'static str,
    /// The columns, one in a line: heading, `<` or `>` for where its cells stand, patterns of ours
    /// and of the paper's rows, such as `seconds > | {stats.cpu_seconds:.2} | {seconds}`.
    pub columns: &'static str,
    /// What a published figure is called that there is not.
    pub unpublished: &'static str,
}

/// A line of a table.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    is_ours: bool,
    value: Value,
    shown: Value,
}

impl Line {
    /// A row of ours, and what is shown instead of values of the same names.
    pub(crate) fn ours(value: Value, shown: Value) -> Self {
        Self {
            is_ours: true,
            value,
            shown,
        }
    }

    /// A published row.
    pub(crate) fn paper(value: Value) -> Self {
        Self {
            is_ours: false,
            value,
            shown: Value::Null,
        }
    }

    fn get(&self, path: &str) -> &Value {
        let last = path.rsplit('.').next().unwrap_or(path);
        let instead = self.shown.get(last);
        instead.unwrap_or_else(|| {
            path.split('.').fold(&self.value, |value, key| {
                let element = key.parse().ok().and_then(|k: usize| value.get(k));
                element.unwrap_or(&value[key])
            })
        })
    }

    /// A pattern with its values.
    fn cell(&self, pattern: &str, unpublished: &str) -> String {
        let mut text = String::new();
        let mut rest = pattern;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').unwrap_or((after, ""));
            let (path, how) = name.split_once(':').unwrap_or((name, ""));
            let absent = match how {
                "?" => "",
                _ if self.is_ours || how == "-" || self.value["timeout"] == true => "-",
                _ => unpublished,
            };
            text.push_str(before);
            text.push_str(&show(self.get(path), how, absent));
            rest = behind;
        }
        text + rest
    }
}

fn show(value: &Value, how: &str, absent: &str) -> String {
    match (value, value.as_f64()) {
        (Value::Null, _) => absent.to_owned(),
        (Value::String(text), _) => text.clone(),
        (_, Some(number)) => match how {
            ".2" => format!("{number:.2}"),
            "K" if number >= 100_000.0 => format!("{:.0}", number / 1000.0),
            "K" if number >= 10_000.0 => format!("{:.1}", number / 1000.0),
            "K" => format!("{:.3}", number / 1000.0),
            "k" => (number / 1000.0).to_string(),
            "M" => format!("{:.0}", number / f64::from(1 << 20)),
            _ => value.to_string(),
        },
        (other, None) => other.to_string(),
    }
}

/// A column: heading, whether it stands on the left, patterns of ours and of the paper's rows.
type Column = (&'static str, bool, &'static str, &'static str);

fn column(line: &'static str) -> Column {
    let mut parts = line.split('|').map(str::trim);
    let mut part = || parts.next().unwrap_or_default();
    let (head, ours, paper) = (part(), part(), part());
    let name = head.trim_end_matches(['<', '>']).trim_end();
    (name, head.ends_with('<'), ours, paper)
}

impl Table {
    /// The table as text, after an empty line; nothing if it has no lines.
    pub(crate) fn render(&self, lines: &[Line]) -> String {
        if lines.is_empty() {
            return String::new();
        }
        let columns: Vec<Column> = self.columns.lines().map(column).collect();
        let mut cells: Vec<Vec<String>> = vec![columns.iter().map(|c| c.0.to_owned()).collect()];
        cells.extend(lines.iter().map(|line| {
            let cell = |(_, _, ours, paper): &Column| {
                line.cell(if line.is_ours { ours } else { paper }, self.unpublished)
            };
            columns.iter().map(cell).collect()
        }));
        let width = |c: usize| cells.iter().map(|line| line[c].chars().count()).max();
        let widths: Vec<usize> = (0..columns.len()).filter_map(width).collect();
        let mut text = "\n".to_owned();
        if !self.title.is_empty() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}\n", self.title);
        }
        for line in cells {
            let aligned: Vec<String> = (line.iter().zip(&widths).zip(&columns))
                .map(|((cell, width), (_, is_words, _, _))| {
                    if *is_words {
                        format!("{cell:<width$}")
                    } else {
                        format!("{cell:>width$}")
                    }
                })
                .collect();
            let line = format!("{}{}", self.indent, aligned.join("  "));
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_stand_in_patterns() {
        let table = Table {
            title: "a title".to_owned(),
            indent: "  ",
            columns: "\
name < | {name} | {name}
n    > | {n:K} | {n:k}
s    > | {stats.s:.2}/{none} | {stats.s}
     < | {why:?} | -",
            unpublished: "?",
        };
        let lines = [
            Line::paper(json!({ "name": "x", "n": 12_000 })),
            Line::ours(
                json!({ "name": "long", "n": 1500, "stats": { "s": 1 } }),
                json!({ "name": "y", "why": "w" }),
            ),
        ];
        let expected = "\na title\n\n  name      n       s\n  x        12       ?  -\n  \
                        y     1.500  1.00/-  w\n";
        assert_eq!(table.render(&lines), expected);
        assert_eq!(table.render(&[]), "");
    }
}
