//! The parser of structure files, TVS.
//!
//! Place: tokens to [`StructureAst`]s. Also reads what TVLA and this engine print
//! (`%location L = { ... }`, `%message "..."`), ignoring locations and messages.

use super::ast::{StructureAst, ValueAst};
use super::lexer::Token;
use super::parser::{Parsed, Parser};
use crate::kleene::Kleene;

/// Parses a sequence of structures.
pub fn structures(p: &mut Parser<'_>) -> Parsed<Vec<StructureAst>> {
    let mut out = Vec::new();
    loop {
        if p.take(",") {
            continue;
        }
        match p.peek() {
            Token::End => return Ok(out),
            Token::Directive(d) if d == "location" => {
                p.advance();
                if !matches!(p.advance(), Token::Ident(_) | Token::Text(_)) {
                    return p.expected("a label", "");
                }
                p.sign("=")?;
                p.sign("{")?;
                while !p.take("}") {
                    if !p.take(",") {
                        out.push(structure(p)?);
                    }
                }
            }
            Token::Directive(_) => out.push(structure(p)?),
            _ => {
                return p.expected(
                    "a structure",
                    "a structure is %n = { objects } %p = { values }",
                );
            }
        }
    }
}

fn structure(p: &mut Parser<'_>) -> Parsed<StructureAst> {
    let mut s = StructureAst {
        nodes: Vec::new(),
        threads: Vec::new(),
        values: Vec::new(),
        span: p.span(),
    };
    loop {
        let Token::Directive(d) = p.peek() else {
            return p.expected("`%n`, `%t` or `%p`", "a structure is %n = {...} %p = {...}");
        };
        p.advance();
        match d.as_str() {
            "message" => {
                p.advance();
            }
            "d" => {
                p.sign("=")?;
                p.sign("{")?;
                while !p.take("}") {
                    if matches!(p.advance(), Token::End) {
                        return p.expected("`}`", "");
                    }
                }
            }
            "t" => {
                p.sign("=")?;
                p.sign("{")?;
                threads(p, &mut s)?;
            }
            "n" => {
                p.sign("=")?;
                p.sign("{")?;
                if p.take("}") {
                    continue;
                }
                loop {
                    let span = p.span();
                    s.nodes.push((node(p)?, span));
                    if p.take("}") {
                        break;
                    }
                    p.sign(",")?;
                }
            }
            "p" => {
                p.sign("=")?;
                p.sign("{")?;
                while !p.take("}") {
                    s.values.push(values(p)?);
                }
                return Ok(s);
            }
            other => {
                let what = format!("`%n`, `%t` or `%p` instead of `%{other}`");
                return p.expected(&what, "a structure is %n = {...} %p = {...}");
            }
        }
    }
}

fn threads(p: &mut Parser<'_>, s: &mut StructureAst) -> Parsed<()> {
    if p.take("}") {
        return Ok(());
    }
    loop {
        let span = p.span();
        let name = node(p)?;
        p.sign("(")?;
        let thread = p.ident("a thread")?;
        let label = if p.take(",") {
            Some(p.ident("a label")?)
        } else {
            None
        };
        p.sign(")")?;
        s.threads.push((name, thread, label, span));
        if p.take("}") {
            return Ok(());
        }
        p.sign(",")?;
    }
}

/// An object's name: an identifier, or the bracketed lists and `.0`/`.1` that tools print.
fn node(p: &mut Parser<'_>) -> Parsed<String> {
    if p.take("[") {
        let mut parts = Vec::new();
        loop {
            parts.push(p.deeper(node)?);
            if p.take("]") {
                return suffix(p, format!("[{}]", parts.join(",")));
            }
            p.sign(",")?;
        }
    }
    let id = p.ident("an object")?;
    suffix(p, id)
}

fn suffix(p: &mut Parser<'_>, mut name: String) -> Parsed<String> {
    while p.is(".") {
        p.advance();
        match p.advance() {
            Token::Value(k) => name = format!("{name}.{k}"),
            Token::Ident(w) => name = format!("{name}.{w}"),
            _ => return p.expected("0, 1 or a name after `.`", ""),
        }
    }
    Ok(name)
}

fn kleene(p: &mut Parser<'_>) -> Parsed<Kleene> {
    match p.peek() {
        Token::Value(k) => {
            p.advance();
            Ok(*k)
        }
        _ => p.expected("0, 1 or 1/2", ""),
    }
}

fn values(p: &mut Parser<'_>) -> Parsed<ValueAst> {
    let span = p.span();
    let name = p.name()?;
    p.sign("=")?;
    let mut entries = Vec::new();
    if !p.take("{") {
        entries.push((vec![], kleene(p)?, span));
        return Ok(ValueAst {
            name,
            entries,
            span,
        });
    }
    while !p.take("}") {
        let span = p.span();
        let mut tuple = Vec::new();
        if p.take("(") {
            loop {
                tuple.push(node(p)?);
                if p.take(")") {
                    break;
                }
                p.sign(",")?;
            }
        } else {
            tuple.push(node(p)?);
            if p.take("->") {
                tuple.push(node(p)?);
            }
        }
        let value = if p.take(":") {
            kleene(p)?
        } else {
            Kleene::True
        };
        entries.push((tuple, value, span));
        if !p.is("}") {
            p.sign(",")?;
        }
    }
    Ok(ValueAst {
        name,
        entries,
        span,
    })
}
