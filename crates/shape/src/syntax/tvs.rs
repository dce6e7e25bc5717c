//! The parser of structure files, TVS.
//!
//! Place: tokens to [`StructureAst`]s. Also reads what TVLA and this engine print
//! (`%location L = { ... }`, `%message "..."`), ignoring locations and messages.

use palisade_syntax::Parser as _;

use super::ast::{StructureAst, ValueAst};
use super::lexer::Token;
use super::parser::{Parsed, Parser};
use crate::kleene::Kleene;

/// Parses a sequence of structures.
pub fn structures(p: &mut Parser<'_>) -> Parsed<Vec<StructureAst>> {
    let mut out = Vec::new();
    loop {
        if p.eat(",") {
            continue;
        }
        match p.token() {
            Token::End => return Ok(out),
            Token::Directive(d) if d == "location" => {
                p.advance();
                if !matches!(p.advance().token, Token::Ident(_) | Token::Text(_)) {
                    return Err(p.expected("a label", ""));
                }
                p.sign("=")?;
                p.sign("{")?;
                while !p.eat("}") {
                    if !p.eat(",") {
                        out.push(structure(p)?);
                    }
                }
            }
            Token::Directive(_) => out.push(structure(p)?),
            _ => {
                return Err(p.expected(
                    "a structure",
                    "a structure is %n = { objects } %p = { values }",
                ));
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
        let Token::Directive(d) = p.token() else {
            return Err(p.expected("`%n`, `%t` or `%p`", "a structure is %n = {...} %p = {...}"));
        };
        p.advance();
        match d.as_str() {
            "message" => {
                p.advance();
            }
            "d" => {
                p.sign("=")?;
                p.sign("{")?;
                while !p.eat("}") {
                    if matches!(p.advance().token, Token::End) {
                        return Err(p.expected("`}`", ""));
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
                if p.eat("}") {
                    continue;
                }
                loop {
                    let span = p.span();
                    s.nodes.push((node(p)?, span));
                    if p.eat("}") {
                        break;
                    }
                    p.sign(",")?;
                }
            }
            "p" => {
                p.sign("=")?;
                p.sign("{")?;
                while !p.eat("}") {
                    s.values.push(values(p)?);
                }
                return Ok(s);
            }
            other => {
                let what = format!("`%n`, `%t` or `%p` instead of `%{other}`");
                return Err(p.expected(&what, "a structure is %n = {...} %p = {...}"));
            }
        }
    }
}

fn threads(p: &mut Parser<'_>, s: &mut StructureAst) -> Parsed<()> {
    if p.eat("}") {
        return Ok(());
    }
    loop {
        let span = p.span();
        let name = node(p)?;
        p.sign("(")?;
        let thread = p.ident("a thread")?;
        let label = if p.eat(",") {
            Some(p.ident("a label")?)
        } else {
            None
        };
        p.sign(")")?;
        s.threads.push((name, thread, label, span));
        if p.eat("}") {
            return Ok(());
        }
        p.sign(",")?;
    }
}

/// An object's name: an identifier, or the bracketed lists and `.0`/`.1` that tools print.
fn node(p: &mut Parser<'_>) -> Parsed<String> {
    if p.eat("[") {
        let mut parts = Vec::new();
        loop {
            parts.push(p.nested(node)?);
            if p.eat("]") {
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
        match &p.advance().token {
            Token::Value(k) => name = format!("{name}.{k}"),
            Token::Ident(w) => name = format!("{name}.{w}"),
            _ => return Err(p.expected("0, 1 or a name after `.`", "")),
        }
    }
    Ok(name)
}

fn kleene(p: &mut Parser<'_>) -> Parsed<Kleene> {
    match p.token() {
        Token::Value(k) => {
            p.advance();
            Ok(*k)
        }
        _ => Err(p.expected("0, 1 or 1/2", "")),
    }
}

fn values(p: &mut Parser<'_>) -> Parsed<ValueAst> {
    let span = p.span();
    let name = p.name()?;
    p.sign("=")?;
    let mut entries = Vec::new();
    if !p.eat("{") {
        entries.push((vec![], kleene(p)?, span));
        return Ok(ValueAst {
            name,
            entries,
            span,
        });
    }
    while !p.eat("}") {
        let span = p.span();
        let mut tuple = Vec::new();
        if p.eat("(") {
            loop {
                tuple.push(node(p)?);
                if p.eat(")") {
                    break;
                }
                p.sign(",")?;
            }
        } else {
            tuple.push(node(p)?);
            if p.eat("->") {
                tuple.push(node(p)?);
            }
        }
        let value = if p.eat(":") { kleene(p)? } else { Kleene::True };
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
