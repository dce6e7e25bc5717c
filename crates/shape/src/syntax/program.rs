//! The parser of program files, TVP and TVM.
//!
//! Place: tokens to [`ProgramAst`]. TVP: `declarations %% actions %% edges [%% labels]`. TVM:
//! `declarations %% actions %% threads %% global actions [%% output]`.

use palisade_syntax::Parser as _;

use super::ast::{
    ActionBody, ActionMacro, Decl, EdgeAction, EdgeAst, FocusItem, Ignored, MessageAst,
    PredicateDecl, ProgramAst, ThreadAst, UpdateItem,
};
use super::lexer::Token;
use super::parser::{Failed, Parsed, Parser};

/// Which language a program file is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// Sequential programs with a control flow graph.
    Tvp,
    /// Concurrent programs.
    Tvm,
}

/// Parses a program file.
pub fn program(p: &mut Parser<'_>, language: Language) -> Parsed<ProgramAst> {
    let mut out = ProgramAst {
        decls: decls(p, false)?,
        ..ProgramAst::default()
    };
    section(p, "the actions")?;
    while matches!(p.token(), Token::Directive(d) if d == "action") {
        out.actions.push(action(p)?);
    }
    section(p, "the program")?;
    match language {
        Language::Tvp => {
            while !matches!(p.token(), Token::Section | Token::End) {
                out.edges.push(edge(p)?);
            }
            if matches!(p.token(), Token::Section) {
                p.advance();
                while !matches!(p.token(), Token::End | Token::Section) {
                    out.printed.push(label(p)?);
                    p.eat(",");
                }
            }
        }
        Language::Tvm => {
            while !matches!(p.token(), Token::Section | Token::End) {
                out.threads.push(thread(p)?);
            }
            if matches!(p.token(), Token::Section) {
                p.advance();
                while matches!(p.token(), Token::Ident(_)) {
                    let span = p.span();
                    let name = p.ident("an action")?;
                    p.sign("(")?;
                    out.globals.push((name, p.names_until(")")?, span));
                }
            }
            // Output modifiers only choose what is printed.
            if matches!(p.token(), Token::Section) {
                while !matches!(p.token(), Token::End) {
                    p.advance();
                }
            }
        }
    }
    if !matches!(p.token(), Token::End) {
        return Err(p.expected("the end of the file", ""));
    }
    out.ignored = std::mem::take(&mut p.ignored);
    Ok(out)
}

fn section(p: &mut Parser<'_>, next: &str) -> Parsed<()> {
    if matches!(p.token(), Token::Section) {
        p.advance();
        return Ok(());
    }
    Err(p.expected(
        &format!("`%%` before {next}"),
        "a program is: declarations %% actions %% program; declarations start with %s %p %i %r %f \
         %message or foreach, actions with %action",
    ))
}

fn decls(p: &mut Parser<'_>, nested: bool) -> Parsed<Vec<Decl>> {
    let mut out = Vec::new();
    loop {
        let span = p.span();
        match p.token() {
            Token::Directive(d) => match d.as_str() {
                // A parametric set is a set; its members are only merged by the decomposition.
                "s" | "pset" => {
                    p.advance();
                    if d == "pset" {
                        p.ignored.push((Ignored::ParametricSet, span));
                    }
                    let name = p.ident("a set name")?;
                    out.push(Decl::Set(name, p.set()?, span));
                }
                "dname" => {
                    p.advance();
                    p.ignored.push((Ignored::Name, span));
                    p.formula()?;
                    if matches!(p.token(), Token::Text(_))
                        || matches!(p.token(), Token::Ident(w) if w != "foreach")
                    {
                        p.text()?;
                    }
                }
                "closecycle" => {
                    p.advance();
                    p.ignored.push((Ignored::CloseCycle, span));
                    p.name()?;
                    p.sign("->")?;
                    p.formula()?;
                }
                "p" | "i" => {
                    p.advance();
                    out.push(Decl::Predicate(Box::new(predicate(p, d == "i")?)));
                }
                "r" => {
                    p.advance();
                    let body = p.formula()?;
                    p.sign("==>")?;
                    out.push(Decl::Rule(body, p.formula()?, span));
                }
                "f" => {
                    p.advance();
                    out.push(Decl::Focus(focus(p)?));
                }
                "message" => {
                    p.advance();
                    out.push(Decl::Message(message(p)?));
                }
                _ => return Ok(out),
            },
            Token::Ident(w) if w == "foreach" => {
                p.advance();
                p.sign("(")?;
                let (var, set) = p.member()?;
                p.sign(")")?;
                p.sign("{")?;
                let body = p.nested(|p| decls(p, true))?;
                p.sign("}")?;
                out.push(Decl::Foreach(var, set, body, span));
            }
            _ if nested && !p.is("}") => {
                return Err(p.expected(
                    "a declaration or `}`",
                    "declarations start with %s %p %i %r %f %message or foreach",
                ));
            }
            _ => return Ok(out),
        }
    }
}

fn predicate(p: &mut Parser<'_>, instrumentation: bool) -> Parsed<PredicateDecl> {
    let span = p.span();
    let name = p.name()?;
    p.sign("(")?;
    let args = p.idents_until(")")?;
    let formula = if instrumentation {
        p.sign("=")?;
        Some(p.formula()?)
    } else {
        None
    };
    let mut properties = Vec::new();
    let mut dependencies = Vec::new();
    loop {
        let at = p.span();
        match p.token() {
            Token::Ident(w) if w != "foreach" => {
                p.advance();
                properties.push((w.clone(), at));
                if p.eat("(") {
                    p.idents_until(")")?;
                    p.errors.error(
                        at,
                        format!("the property `{w}` with arguments is not supported"),
                        "write the rule with %r",
                    );
                    return Err(Failed);
                }
            }
            Token::Sign("[") => {
                p.advance();
                let from = p.idents_until("]")?;
                if !p.eat("-->") && !p.eat("->") {
                    return Err(p.expected("`-->`", "a dependency is [x, y] --> z"));
                }
                dependencies.push((from, p.ident("an argument")?, at));
            }
            _ => break,
        }
    }
    let mut shown = None;
    if p.eat("{") {
        let mut values = Vec::new();
        while !p.eat("}") {
            match p.token() {
                Token::Value(k) => {
                    values.push(*k);
                    p.advance();
                    p.eat(",");
                }
                _ => return Err(p.expected("0, 1, 1/2 or `}`", "the values shown in pictures")),
            }
        }
        shown = Some(values);
    }
    Ok(PredicateDecl {
        name,
        args,
        formula,
        properties,
        dependencies,
        shown,
        span,
    })
}

fn focus(p: &mut Parser<'_>) -> Parsed<Vec<FocusItem>> {
    p.sign("{")?;
    focus_items(p)
}

fn focus_items(p: &mut Parser<'_>) -> Parsed<Vec<FocusItem>> {
    let mut out = Vec::new();
    if p.eat("}") {
        return Ok(out);
    }
    loop {
        let span = p.span();
        if p.take_word("foreach") {
            p.sign("(")?;
            let (var, set) = p.member()?;
            p.sign(")")?;
            p.sign("{")?;
            out.push(FocusItem::Foreach(var, set, p.nested(focus_items)?));
        } else {
            out.push(FocusItem::Formula(p.formula()?, span));
        }
        if p.eat("}") {
            return Ok(out);
        }
        p.sign(",")?;
    }
}

fn message(p: &mut Parser<'_>) -> Parsed<MessageAst> {
    let span = p.span();
    if p.eat("[") {
        p.ignored.push((Ignored::MessageComposition, span));
        p.formula()?;
        p.sign("]")?;
    }
    let formula = p.message_formula()?;
    if !p.eat("->") {
        return Err(p.expected(
            "`->` and a text",
            "write %message (condition) -> \"text\"; implications in the condition need parentheses",
        ));
    }
    Ok(MessageAst {
        formula,
        text: p.text()?,
        span,
    })
}

fn action(p: &mut Parser<'_>) -> Parsed<ActionMacro> {
    p.advance();
    let span = p.span();
    let name = p.ident("an action name")?;
    p.sign("(")?;
    let args = p.idents_until(")")?;
    p.sign("{")?;
    let body = action_body(p)?;
    Ok(ActionMacro {
        name,
        args,
        body,
        span,
    })
}

/// A formula unless the clause ends here.
fn optional_formula(p: &mut Parser<'_>) -> Parsed<Option<super::ast::FormulaAst>> {
    match p.token() {
        Token::Directive(_) | Token::Sign("{" | "}") => Ok(None),
        _ => Ok(Some(p.formula()?)),
    }
}

fn action_body(p: &mut Parser<'_>) -> Parsed<ActionBody> {
    let mut b = ActionBody::default();
    // Messages before the update clauses are pre-messages, after them post-messages.
    let mut updated = false;
    loop {
        let span = p.span();
        match p.token() {
            Token::Sign("}") => {
                p.advance();
                return Ok(b);
            }
            Token::Sign("{") => {
                p.advance();
                b.updates = updates(p)?;
                updated = true;
            }
            Token::Directive(d) => {
                p.advance();
                match d.as_str() {
                    "t" => b.title = p.text()?,
                    "f" => b.focus = focus(p)?,
                    "p" => b.precondition = Some(p.formula()?),
                    "message" if updated => b.post_messages.push(message(p)?),
                    "message" => b.messages.push(message(p)?),
                    "new" => {
                        b.create = Some(optional_formula(p)?);
                        updated = true;
                    }
                    "clone" => {
                        b.cloned = Some(optional_formula(p)?);
                        updated = true;
                    }
                    "retain" => {
                        b.retain = Some(p.formula()?);
                        updated = true;
                    }
                    "start" => b.start = Some(p.formula()?),
                    "wait" => b.wait = Some(p.formula()?),
                    "stop" => b.stop = Some(p.formula()?),
                    "newthread" => b.new_thread = Some(p.ident("a thread")?),
                    "halt" => b.halt = Some(optional_formula(p)?),
                    "explicitat" => b.explicit_at = true,
                    "compose" | "frame" | "frame_pre" => {
                        let what = match d.as_str() {
                            "compose" => Ignored::Compose,
                            "frame" => Ignored::Frame,
                            _ => Ignored::FrameBefore,
                        };
                        p.ignored.push((what, span));
                        p.formula()?;
                    }
                    "decompose" => {
                        p.ignored.push((Ignored::Decompose, span));
                        optional_formula(p)?;
                    }
                    // Without the decomposition only the first member of the set would act.
                    "param" => {
                        p.errors.error(
                            span,
                            "`%param` belongs to TVLA's decomposition, which is not supported",
                            "write the action with an argument, and one edge for each member of the set",
                        );
                        return Err(Failed);
                    }
                    other => {
                        let clauses = "clauses: %t %f %p %message %new %clone { updates } %retain; \
                             in tvm also %start %wait %stop %newthread %halt %explicitat";
                        let unclosed = p.unclosed().filter(|_| other == "action");
                        p.errors.error(
                            span,
                            format!("unknown clause `%{other}` in an action"),
                            unclosed.unwrap_or_else(|| clauses.to_owned()),
                        );
                        return Err(Failed);
                    }
                }
            }
            _ => {
                return Err(p.expected(
                    "a clause or `}`",
                    "clauses: %t %f %p %message %new %clone { updates } %retain",
                ));
            }
        }
    }
}

fn updates(p: &mut Parser<'_>) -> Parsed<Vec<UpdateItem>> {
    let mut out = Vec::new();
    while !p.eat("}") {
        if p.take_word("foreach") {
            p.sign("(")?;
            let (var, set) = p.member()?;
            p.sign(")")?;
            p.sign("{")?;
            out.push(UpdateItem::Foreach(var, set, p.nested(updates)?));
            continue;
        }
        let span = p.span();
        let wrapped = p.eat("(");
        let name = p.name()?;
        p.sign("(")?;
        let args = p.idents_until(")")?;
        if wrapped {
            p.sign(")")?;
        }
        p.sign("=")?;
        let formula = p.formula()?;
        let auto = p.take_word("auto");
        out.push(UpdateItem::Update(name, args, formula, auto, span));
    }
    Ok(out)
}

fn label(p: &mut Parser<'_>) -> Parsed<String> {
    if let Token::Text(t) = p.token() {
        p.advance();
        return Ok(t.clone());
    }
    p.ident("a label")
}

fn edge(p: &mut Parser<'_>) -> Parsed<EdgeAst> {
    let source = label(p)?;
    let span = p.span();
    let action = match p.token() {
        Token::Directive(d) if d == "assert" || d == "hardassert" => {
            p.advance();
            p.sign("(")?;
            let f = p.formula()?;
            p.sign(")")?;
            EdgeAction::Assert(f, d == "hardassert")
        }
        _ => {
            let name = p.ident("an action")?;
            p.sign("(")?;
            EdgeAction::Call(name, p.names_until(")")?)
        }
    };
    Ok(EdgeAst {
        source,
        action,
        target: label(p)?,
        atomic: false,
        span,
    })
}

fn thread(p: &mut Parser<'_>) -> Parsed<ThreadAst> {
    if !p.take_directive("thread") && !p.take_directive("method") {
        return Err(p.expected(
            "`%thread name {` or `%%`",
            "the program of a tvm file is threads",
        ));
    }
    let span = p.span();
    let name = p.ident("a thread name")?;
    p.sign("{")?;
    let mut edges = Vec::new();
    while !p.eat("}") {
        if matches!(p.token(), Token::Ident(w) if w == "atomic")
            && matches!(p.second(), Token::Sign("{"))
        {
            p.advance();
            p.advance();
            let first = edges.len();
            while !p.eat("}") {
                edges.push(edge(p)?);
            }
            mark_atomic(&mut edges[first..]);
        } else {
            edges.push(edge(p)?);
        }
    }
    Ok(ThreadAst { name, edges, span })
}

/// An edge keeps the thread running when its target is a source inside the same block.
fn mark_atomic(block: &mut [EdgeAst]) {
    let sources: Vec<String> = block.iter().map(|e| e.source.clone()).collect();
    for e in block {
        e.atomic = sources.contains(&e.target);
    }
}
