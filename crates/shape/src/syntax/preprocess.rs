//! The preprocessor: a C-like `#include`, `#define`, `#undef`, `#if` and friends.
//!
//! Place: first step of every input file. Comments are removed here (their `@properties
//! "file"` requests are kept); every remaining line remembers its file and number.
//!
//! Limits: expansion depth and output size are bounded, so no input expands for ever.

use super::{Diagnostics, Span};
use rustc_hash::FxHashMap;

/// How deep includes and macro expansions may nest.
const MAX_DEPTH: usize = 60;
/// Most bytes of preprocessed text.
const MAX_OUTPUT: usize = 32 << 20;

/// Finds the text of an included file: (path as written, including file) to (name, text).
pub type Loader<'a> = dyn Fn(&str, &str) -> Option<(String, String)> + 'a;

/// One line of output.
#[derive(Clone, Debug)]
pub struct Line {
    /// Text without comments and directives.
    pub text: String,
    /// File index and line number.
    pub span: Span,
}

/// What preprocessing yields.
#[derive(Clone, Debug, Default)]
pub struct Preprocessed {
    /// The lines.
    pub lines: Vec<Line>,
    /// Property files asked for in comments: the path as written, and the file that asks.
    pub properties: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
struct Macro {
    parameters: Option<Vec<String>>,
    body: String,
}

struct State<'a> {
    macros: FxHashMap<String, Macro>,
    out: Preprocessed,
    size: usize,
    loader: &'a Loader<'a>,
    errors: &'a mut Diagnostics,
}

/// Preprocesses a text. `defines` are `NAME` or `NAME(value)` or `NAME=value`.
pub fn preprocess(
    name: &str,
    text: &str,
    defines: &[(String, String)],
    loader: &Loader<'_>,
    errors: &mut Diagnostics,
) -> Preprocessed {
    let mut state = State {
        macros: defines
            .iter()
            .map(|(n, v)| {
                (
                    n.clone(),
                    Macro {
                        parameters: None,
                        body: v.clone(),
                    },
                )
            })
            .collect(),
        out: Preprocessed::default(),
        size: 0,
        loader,
        errors,
    };
    state.file(name, text, 0);
    state.out
}

/// Removes comments, keeping line breaks; collects `@properties "file"`.
/// Tells by its line and column a comment that is not closed.
fn strip_comments(
    text: &str,
    properties: &mut Vec<String>,
    open: &mut Option<(u32, u32)>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes: Vec<char> = text.chars().collect();
    let mut i = 0;
    let note = |comment: &str, properties: &mut Vec<String>| {
        if let Some(at) = comment.find("@properties") {
            let mut quoted = comment[at..].split('"');
            if let (Some(_), Some(file)) = (quoted.next(), quoted.next()) {
                properties.push(file.to_owned());
            }
        }
    };
    while i < bytes.len() {
        let two = (bytes[i], bytes.get(i + 1).copied().unwrap_or(' '));
        if two == ('/', '/') {
            let end = (i..bytes.len())
                .find(|j| bytes[*j] == '\n')
                .unwrap_or(bytes.len());
            note(&bytes[i..end].iter().collect::<String>(), properties);
            i = end;
        } else if two == ('/', '*') {
            let end = (i + 2..bytes.len())
                .find(|j| bytes[*j] == '*' && bytes.get(j + 1) == Some(&'/'))
                .map_or(bytes.len() + 1, |j| j + 2);
            if end > bytes.len() {
                let before = bytes[..i].iter().rev();
                let column = before.take_while(|c| **c != '\n').count();
                let line = bytes[..i].iter().filter(|c| **c == '\n').count();
                *open = Some((line as u32 + 1, column as u32 + 1));
            }
            let end = end.min(bytes.len());
            let comment: String = bytes[i..end].iter().collect();
            note(&comment, properties);
            out.push(' ');
            out.extend(comment.chars().filter(|c| *c == '\n'));
            i = end;
        } else if bytes[i] == '"' {
            let end = (i + 1..bytes.len())
                .find(|j| bytes[*j] == '"')
                .map_or(bytes.len(), |j| j + 1);
            out.extend(&bytes[i..end]);
            i = end;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    out
}

impl State<'_> {
    fn file(&mut self, name: &str, text: &str, depth: usize) {
        let file = self.errors.files.len() as u32;
        self.errors.files.push(name.to_owned());
        let mut properties = Vec::new();
        let mut open = None;
        let text = strip_comments(text, &mut properties, &mut open);
        if let Some((line, column)) = open {
            let span = Span { file, line, column };
            self.errors
                .error(span, "the comment is not closed", "add `*/`");
        }
        let asked = properties.into_iter().map(|file| (file, name.to_owned()));
        self.out.properties.extend(asked);
        // (this branch is active, some branch of this #if was taken)
        let mut branches: Vec<(bool, bool)> = Vec::new();
        let mut pending: Option<(String, Span)> = None;
        let lines: Vec<&str> = text.split('\n').collect();
        let mut at = 0;
        while at < lines.len() {
            let span = Span {
                file,
                line: at as u32 + 1,
                column: 1,
            };
            let mut line = lines[at].trim_end_matches('\r').to_owned();
            at += 1;
            let is_directive = line.trim_start().starts_with('#');
            // A stray blank after the backslash is common in models: accept it.
            while line.trim_end().ends_with('\\') && at < lines.len() {
                let cut = line.trim_end().len() - 1;
                line.truncate(cut);
                line.push(' ');
                line.push_str(lines[at].trim_end_matches('\r'));
                at += 1;
            }
            let active = branches.iter().all(|(a, _)| *a);
            if is_directive {
                if let Some((text, span)) = pending.take() {
                    self.emit(text, span);
                }
                self.directive(
                    line.trim_start()[1..].trim(),
                    span,
                    &mut branches,
                    (name, depth),
                );
            } else if active {
                let (text, span) = match pending.take() {
                    Some((before, first)) => (before + " " + &line, first),
                    None => (line, span),
                };
                match self.expand(&text, &mut Vec::new()) {
                    Ok(expanded) => self.emit(expanded, span),
                    Err(Incomplete) if at < lines.len() && text.len() < 100_000 => {
                        pending = Some((text, span));
                    }
                    Err(Incomplete) => self.emit(text, span),
                }
            }
            if self.size > MAX_OUTPUT {
                self.errors.error(
                    span,
                    "the preprocessed text is too long",
                    "look for a macro or include that repeats itself",
                );
                return;
            }
        }
        if let Some((text, span)) = pending {
            self.emit(text, span);
        }
        if !branches.is_empty() {
            let span = Span {
                file,
                line: lines.len() as u32,
                column: 1,
            };
            self.errors
                .error(span, "`#if` without `#endif`", "add the missing `#endif`");
        }
    }

    fn emit(&mut self, text: String, span: Span) {
        self.size += text.len() + 1;
        if !text.trim().is_empty() {
            self.out.lines.push(Line { text, span });
        }
    }

    fn directive(
        &mut self,
        line: &str,
        span: Span,
        branches: &mut Vec<(bool, bool)>,
        (name, depth): (&str, usize),
    ) {
        let (word, rest) = split_word(line);
        let rest = rest.trim();
        let active = branches.iter().all(|(a, _)| *a);
        match word {
            "ifdef" | "ifndef" => {
                let defined = self.macros.contains_key(split_word(rest).0);
                let take = defined == (word == "ifdef");
                branches.push((take, take));
            }
            "if" => {
                let take = active && self.condition(rest, span);
                branches.push((take, take));
            }
            // `#elseif` is no directive of C; without a condition it can only mean `#else`.
            "elif" | "else" | "elseif" => {
                let outer = branches.len() > 1
                    && branches[..branches.len() - 1].iter().all(|(a, _)| *a)
                    || branches.len() == 1;
                let Some((_, taken)) = branches.last().copied() else {
                    self.errors.error(
                        span,
                        format!("`#{word}` without `#if`"),
                        "remove it or add the `#if`",
                    );
                    return;
                };
                let otherwise = word == "else" || word == "elseif" && rest.is_empty();
                let take = !taken && (otherwise || outer && self.condition(rest, span));
                *branches.last_mut().expect("checked") = (take, taken || take);
            }
            "endif" => {
                if branches.pop().is_none() {
                    self.errors
                        .error(span, "`#endif` without `#if`", "remove it or add the `#if`");
                }
            }
            _ if !active => {}
            "define" => self.define(rest, span),
            "undef" => {
                self.macros.remove(split_word(rest).0);
            }
            "include" => self.include(rest, span, name, depth),
            "" | "pragma" | "line" | "warning" => {}
            "error" => self.errors.error(
                span,
                format!("#error {rest}"),
                "the model refuses these options",
            ),
            other => self.errors.error(
                span,
                format!("unknown directive `#{other}`"),
                "known: #include #define #undef #if #ifdef #ifndef #elif #else #endif",
            ),
        }
    }

    fn include(&mut self, rest: &str, span: Span, name: &str, depth: usize) {
        let path = rest.trim_matches(|c| c == '"' || c == '<' || c == '>' || c == ' ');
        if depth >= MAX_DEPTH {
            self.errors.error(
                span,
                "includes nest too deeply",
                "does a file include itself?",
            );
            return;
        }
        // Some models were written where a backslash parts folders.
        let other = || (self.loader)(&path.replace('\\', "/"), name);
        let found = (self.loader)(path, name).or_else(other);
        match found {
            Some((found, text)) => self.file(&found, &text, depth + 1),
            None => self.errors.error(
                span,
                format!("cannot read the included file `{path}`"),
                "paths are relative to the including file",
            ),
        }
    }

    fn define(&mut self, rest: &str, span: Span) {
        let (name, after) = split_word(rest);
        if name.is_empty() {
            self.errors.error(
                span,
                "`#define` without a name",
                "write `#define NAME text`",
            );
            return;
        }
        let (parameters, body) = match after.strip_prefix('(') {
            None => (None, after),
            Some(tail) => {
                let Some((list, body)) = tail.split_once(')') else {
                    self.errors.error(
                        span,
                        "the parameter list of the macro is not closed",
                        "add `)`",
                    );
                    return;
                };
                let names = list.split(',').map(|p| p.trim().to_owned());
                (Some(names.filter(|p| !p.is_empty()).collect()), body)
            }
        };
        self.macros.insert(
            name.to_owned(),
            Macro {
                parameters,
                body: body.trim().to_owned(),
            },
        );
    }

    /// `#if` expressions: numbers, names (0 when not a number), defined(X), ! && || == !=.
    fn condition(&mut self, text: &str, span: Span) -> bool {
        let mut protected = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("defined") {
            protected.push_str(
                &self
                    .expand(&rest[..at], &mut Vec::new())
                    .unwrap_or_default(),
            );
            rest = rest[at + 7..].trim_start_matches([' ', '(']);
            let (word, after) = split_word(rest);
            protected.push_str(if self.macros.contains_key(word) {
                " 1 "
            } else {
                " 0 "
            });
            rest = after
                .trim_start_matches([' '])
                .strip_prefix(')')
                .unwrap_or(after);
        }
        protected.push_str(&self.expand(rest, &mut Vec::new()).unwrap_or_default());
        if let Some(v) = Condition::new(&protected).value() {
            v != 0
        } else {
            self.errors.error(
                span,
                format!("cannot read the condition `{text}`"),
                "use numbers, defined(X), ! && || == != < >",
            );
            false
        }
    }

    /// Expands macros in a text. `active` are the macros being expanded.
    fn expand(&self, text: &str, active: &mut Vec<String>) -> Result<String, Incomplete> {
        if active.len() > MAX_DEPTH {
            return Ok(text.to_owned());
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if c == '"' {
                let end = rest[1..].find('"').map_or(rest.len(), |e| e + 2);
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            } else if is_start(c) {
                let (word, after) = split_word(rest);
                rest = self.word(word, after, active, &mut out)?;
            } else {
                let len = c.len_utf8();
                // digits glue to letters that follow, so that 1x is not expanded in parts
                out.push_str(&rest[..len]);
                rest = &rest[len..];
            }
            if out.len() > MAX_OUTPUT {
                return Ok(out);
            }
        }
        Ok(out)
    }

    fn word<'t>(
        &self,
        word: &str,
        after: &'t str,
        active: &mut Vec<String>,
        out: &mut String,
    ) -> Result<&'t str, Incomplete> {
        let Some(found) = self
            .macros
            .get(word)
            .filter(|_| !active.iter().any(|a| a == word))
        else {
            out.push_str(word);
            return Ok(after);
        };
        let Some(parameters) = &found.parameters else {
            active.push(word.to_owned());
            out.push_str(&self.expand(&paste(&found.body), active)?);
            active.pop();
            return Ok(after);
        };
        let open = after.trim_start();
        if open.is_empty() && active.is_empty() {
            // The parentheses may stand on the next line.
            return Err(Incomplete);
        }
        let Some(inner) = open.strip_prefix('(') else {
            out.push_str(word);
            return Ok(after);
        };
        let (arguments, rest) = arguments(inner).ok_or(Incomplete)?;
        let mut values = Vec::new();
        for a in &arguments {
            values.push(self.expand(a.trim(), active)?);
        }
        let body = substitute(&found.body, parameters, &arguments, &values);
        active.push(word.to_owned());
        out.push_str(&self.expand(&paste(&body), active)?);
        active.pop();
        Ok(rest)
    }
}

/// A macro call that does not end on its line.
struct Incomplete;

fn is_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$'
}

fn split_word(text: &str) -> (&str, &str) {
    let end = text
        .char_indices()
        .find(|(i, c)| !(is_start(*c) || *i > 0 && c.is_ascii_digit()))
        .map_or(text.len(), |(i, _)| i);
    text.split_at(end)
}

/// Splits macro arguments at top-level commas; the text starts after `(`.
fn arguments(text: &str) -> Option<(Vec<String>, &str)> {
    let mut depth = 0usize;
    let mut current = String::new();
    let mut out = Vec::new();
    let mut quoted = false;
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '{' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => {
                out.push(current);
                return Some((out, &text[i + 1..]));
            }
            ')' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                out.push(std::mem::take(&mut current));
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    None
}

/// Replaces parameters: beside `##` by the argument as written, else expanded.
fn substitute(body: &str, names: &[String], raw: &[String], expanded: &[String]) -> String {
    let mut out = String::new();
    let mut rest = body;
    while let Some(c) = rest.chars().next() {
        if is_start(c) {
            let (word, after) = split_word(rest);
            match names.iter().position(|n| n == word) {
                Some(i) => {
                    let glued =
                        out.trim_end().ends_with("##") || after.trim_start().starts_with("##");
                    let list = if glued { raw } else { expanded };
                    out.push_str(list.get(i).map_or("", |a| a.trim()));
                }
                None => out.push_str(word),
            }
            rest = after;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Carries out `##`.
fn paste(body: &str) -> String {
    if !body.contains("##") {
        return body.to_owned();
    }
    body.split("##").map(str::trim).collect::<Vec<_>>().concat()
}

/// A tiny evaluator of `#if` conditions.
struct Condition<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Condition<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            depth: 0,
        }
    }

    fn value(mut self) -> Option<i64> {
        let v = self.or()?;
        self.rest.trim().is_empty().then_some(v)
    }

    fn take(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    fn or(&mut self) -> Option<i64> {
        let mut v = self.and()?;
        while self.take("||") {
            let w = self.and()?;
            v = i64::from(v != 0 || w != 0);
        }
        Some(v)
    }

    fn and(&mut self) -> Option<i64> {
        let mut v = self.compare()?;
        while self.take("&&") {
            let w = self.compare()?;
            v = i64::from(v != 0 && w != 0);
        }
        Some(v)
    }

    fn compare(&mut self) -> Option<i64> {
        let v = self.unary()?;
        for (token, test) in [
            ("==", (|a, b| a == b) as fn(i64, i64) -> bool),
            ("!=", |a, b| a != b),
            ("<=", |a, b| a <= b),
            (">=", |a, b| a >= b),
            ("<", |a, b| a < b),
            (">", |a, b| a > b),
        ] {
            if self.take(token) {
                let w = self.unary()?;
                return Some(i64::from(test(v, w)));
            }
        }
        Some(v)
    }

    fn unary(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > 1000 {
            return None;
        }
        let v = if self.take("!") {
            i64::from(self.unary()? == 0)
        } else if self.take("-") {
            self.unary()?.checked_neg()?
        } else if self.take("(") {
            let v = self.or()?;
            self.take(")").then_some(v)?
        } else {
            self.rest = self.rest.trim_start();
            let end = self
                .rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(self.rest.len());
            let (word, after) = self.rest.split_at(end);
            if word.is_empty() {
                return None;
            }
            self.rest = after;
            word.parse().unwrap_or(0)
        };
        self.depth -= 1;
        Some(v)
    }
}
