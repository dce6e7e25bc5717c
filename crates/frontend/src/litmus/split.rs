//! The *sections* of a litmus test: head line, initial state in braces, code,
//! condition, and whatever a trailing `<< >>` block holds. Only their borders
//! are found here; each section has a parser of its own.
//!
//! The head line is `ARCH NAME (texname) "doc"`; after it come `Key=value` lines
//! that other tools read, and comments. Everything but architecture and name is
//! skipped.

use std::ops::Range;

use palisade_program::Span;

use super::Failure;
use super::lexer::{Comments, comment_end, is_word};
use crate::diagnostic::Diagnostic;

/// What the test is written in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arch {
    /// 32-bit code, destination first.
    X86,
    /// 64-bit code, destination last.
    X86_64,
    /// C with kernel or C11 atomics.
    C,
}

/// The borders of the sections, as byte ranges of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sections {
    pub(super) arch: Arch,
    pub(super) name: String,
    pub(super) init: Range<usize>,
    pub(super) code: Range<usize>,
    pub(super) condition: Range<usize>,
}

/// Finds the sections.
pub(super) fn split(text: &str) -> Result<Sections, Failure> {
    let (arch, name, after_name) = head(text)?;
    let open = find_init(text, after_name)?;
    let comments = match arch {
        Arch::C => Comments::C,
        Arch::X86 | Arch::X86_64 => Comments::Herd,
    };
    let close = matching_brace(text, open)?;
    let code_start = close + 1;
    let code_end = code_end(text, code_start, comments)?;
    let condition_end = condition_end(text, code_end)?;
    Ok(Sections {
        arch,
        name,
        init: open + 1..close,
        code: code_start..code_end,
        condition: code_end..condition_end,
    })
}

fn head(text: &str) -> Result<(Arch, String, usize), Failure> {
    let start = text.len() - text.trim_start().len();
    let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    let line = &text[start..line_end];
    let arch_length = line.find(char::is_whitespace).unwrap_or(line.len());
    let arch_span = Span::new(start, start + arch_length);
    let arch = match &line[..arch_length] {
        "X86" | "x86" => Arch::X86,
        "X86_64" | "x86_64" => Arch::X86_64,
        "C" => Arch::C,
        "" => {
            return Err(Diagnostic::error(arch_span, "the file is empty")
                .help("a litmus test starts with its architecture and name: `X86_64 SB`")
                .into());
        }
        other => {
            return Err(
                Diagnostic::error(arch_span, format!("unknown architecture `{other}`"))
                    .label("expected X86, X86_64 or C")
                    .help("a litmus test starts with its architecture and name: `X86_64 SB`")
                    .into(),
            );
        }
    };
    let rest = &line[arch_length..];
    let name_start = start + arch_length + (rest.len() - rest.trim_start().len());
    let name: String = text[name_start..line_end]
        .chars()
        .take_while(|&c| is_name(c))
        .collect();
    if name.is_empty() {
        return Err(Diagnostic::error(arch_span, "the test has no name")
            .help("write a name after the architecture: `X86_64 SB`")
            .into());
    }
    let after = name_start + name.len();
    Ok((arch, name, after))
}

fn is_name(c: char) -> bool {
    is_word(c) || matches!(c, '/' | '-' | '+' | '[' | ']' | '@' | ',' | '=' | ':')
}

/// The opening brace of the initial state. `Key=value` lines, strings and
/// comments before it are skipped whole, since they may hold braces.
fn find_init(text: &str, from: usize) -> Result<usize, Failure> {
    let mut at = from;
    let mut fresh_line = false;
    while at < text.len() {
        let rest = &text[at..];
        if fresh_line && is_info_line(rest) {
            at += rest.find('\n').unwrap_or(rest.len());
            fresh_line = false;
            continue;
        }
        if rest.starts_with("(*")
            && let Some(after) = comment_end(text, at, text.len(), Comments::Herd)?
        {
            at = after;
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        match c {
            '{' => return Ok(at),
            '"' => at += rest[1..].find('"').map_or(1, |i| i + 2),
            _ => at += c.len_utf8(),
        }
        fresh_line = c == '\n' || (fresh_line && c.is_whitespace());
    }
    Err(
        Diagnostic::error(Span::new(text.len(), text.len()), "no initial state")
            .help("write it in braces after the name, `{ }` if everything starts as 0")
            .into(),
    )
}

fn is_info_line(rest: &str) -> bool {
    let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    length > 0
        && rest[length..]
            .trim_start_matches([' ', '\t'])
            .starts_with('=')
}

/// The brace that closes the one at `open`.
fn matching_brace(text: &str, open: usize) -> Result<usize, Failure> {
    let mut depth = 0_usize;
    let mut at = open;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("(*")
            && let Some(after) = comment_end(text, at, text.len(), Comments::Herd)?
        {
            at = after;
            continue;
        }
        match rest.as_bytes()[0] {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Ok(at),
            b'}' => depth -= 1,
            _ => {}
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    Err(
        Diagnostic::error(Span::new(open, open + 1), "the initial state is not closed")
            .help("close it with `}`")
            .into(),
    )
}

/// Where the code ends: at the first word that starts the condition, outside
/// comments and (for C) outside braces.
fn code_end(text: &str, from: usize, comments: Comments) -> Result<usize, Failure> {
    let mut at = from;
    let mut depth = 0_usize;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(after) = comment_end(text, at, text.len(), comments)? {
            at = after;
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        if is_word(c) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            if depth == 0 && starts_condition(&rest[..length]) {
                return Ok(at);
            }
            at += length;
            continue;
        }
        match c {
            '~' if starts_condition(first_word(&rest[1..])) => return Ok(at),
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '"' => {
                at += rest[1..].find('"').map_or(1, |i| i + 2);
                continue;
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    Ok(text.len())
}

fn first_word(rest: &str) -> &str {
    let rest = rest.trim_start();
    &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())]
}

fn starts_condition(word: &str) -> bool {
    matches!(
        word,
        "final" | "forall" | "exists" | "observed" | "Observed" | "locations" | "filter"
    )
}

/// The condition ends at `<<` or with the file.
fn condition_end(text: &str, from: usize) -> Result<usize, Failure> {
    let mut at = from;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("<<") {
            return Ok(at);
        }
        match comment_end(text, at, text.len(), Comments::Herd)? {
            Some(after) => at = after,
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    Ok(text.len())
}
