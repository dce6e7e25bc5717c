//! Tokens of the certificate's text. A *name* starts with a letter, `_` or `$`
//! and goes on with letters, digits, `_ $ ' . #`, an index in brackets, and
//! after `.buf`, `.last` and `.low` a name in parentheses: `t[0].r`,
//! `left.buf(a[1])[0]`. Any other name stands in backquotes, a backquote in it doubled.

/// A token; names and numbers carry their text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    /// A name, without its backquotes.
    Name(String),
    /// A number without a sign.
    Number(String),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// A token and the column (in characters, from 1) where it starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Placed {
    pub(crate) token: Token,
    pub(crate) column: u32,
}

/// A character that starts no token, or a name without its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BadToken {
    pub(crate) column: u32,
    pub(crate) what: &'static str,
}

/// Longer signs before their beginnings.
const SIGNS: [&str; 24] = [
    "<=>", "<=", ">=", "==", "!=", "&&", "||", "<", ">", "=", "!", "&", "|", "+", "-", "*", "/",
    "%", "(", ")", ",", ":", "?", "@",
];

/// Words that are no names unless in backquotes.
const WORDS: [&str; 5] = ["true", "false", "with", "buffers", "at"];

/// What a cell's name in parentheses may follow.
const OF_CELL: [&str; 3] = [".buf", ".last", ".low"];

/// Splits one line into tokens; `#` at the start of a token begins a comment.
pub(crate) fn tokens(line: &str) -> Result<Vec<Placed>, BadToken> {
    let mut found = Vec::new();
    let mut rest = line;
    let mut column = 1;
    loop {
        let trimmed = rest.trim_start();
        column += (rest.len() - trimmed.len()) as u32;
        rest = trimmed;
        if rest.is_empty() || rest.starts_with('#') {
            return Ok(found);
        }
        let (token, length) = next(rest).map_err(|what| BadToken { column, what })?;
        found.push(Placed { token, column });
        column += rest[..length].chars().count() as u32;
        rest = &rest[length..];
    }
}

fn next(rest: &str) -> Result<(Token, usize), &'static str> {
    let first = rest.chars().next().unwrap_or(' ');
    if first == '`' {
        return quoted_name(rest);
    }
    if first.is_ascii_digit() {
        let length = digits(rest);
        return Ok((Token::Number(rest[..length].to_owned()), length));
    }
    if is_start(first) {
        let length = plain_name(rest);
        return Ok((Token::Name(rest[..length].to_owned()), length));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err("this character starts no token"),
    }
}

fn is_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Length of the name that `text` starts with.
fn plain_name(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let Some(c) = rest.chars().next() else {
            return at;
        };
        at += match c {
            '[' => match digits(&rest[1..]) {
                n if n > 0 && rest[1 + n..].starts_with(']') => n + 2,
                _ => return at,
            },
            '(' if OF_CELL.iter().any(|end| text[..at].ends_with(end)) => match rest.find(')') {
                Some(end) => end + 1,
                None => return at,
            },
            c if is_start(c) || c.is_alphanumeric() || matches!(c, '\'' | '.' | '#') => {
                c.len_utf8()
            }
            _ => return at,
        };
    }
}

fn quoted_name(rest: &str) -> Result<(Token, usize), &'static str> {
    let mut name = String::new();
    let mut at = 1;
    while let Some(end) = rest[at..].find('`') {
        name.push_str(&rest[at..at + end]);
        at += end + 1;
        if !rest[at..].starts_with('`') {
            return Ok((Token::Name(name), at));
        }
        name.push('`');
        at += 1;
    }
    Err("this name has no closing backquote")
}

/// `name` so that [`tokens`] reads it as one name: in backquotes if need be.
pub(crate) fn quoted(name: &str) -> String {
    let starts = name.chars().next().is_some_and(is_start);
    if starts && plain_name(name) == name.len() && !WORDS.contains(&name) {
        name.to_owned()
    } else {
        format!("`{}`", name.replace('`', "``"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let names = [
            "x",
            "a[12]",
            "t[0].r",
            "left.buf[0]",
            "left.buf(a[1])[2]",
            "left.last(a[1])",
            "t[0].low(x)",
            "$3",
            "r'",
            "true",
            "1x",
            "a b",
            "a`b",
            "x[",
            "with",
            "t[0].$1",
            "p(q)",
            "größe",
            "a[-1]",
        ];
        for name in names {
            let line = format!("{} = 1", quoted(name));
            let found = tokens(&line).expect("tokens");
            assert_eq!(found[0].token, Token::Name(name.to_owned()), "{line}");
            assert_eq!(found.len(), 3, "{line}");
        }
    }

    #[test]
    fn columns_count_characters() {
        let found = tokens("größe <= 3 # rest").expect("tokens");
        let columns: Vec<u32> = found.iter().map(|t| t.column).collect();
        assert_eq!(columns, [1, 7, 10]);
        assert_eq!(tokens("x ` y").map_err(|e| e.column), Err(3));
        assert_eq!(tokens("x ; y").map_err(|e| e.column), Err(3));
    }
}
