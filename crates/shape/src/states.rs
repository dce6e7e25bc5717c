//! Initial structures: the TVS syntax turned into [`Structure`]s of a model.
//!
//! Place: after the model is known, before the engine. Values not listed are 0, as in TVLA,
//! also those of instrumentation predicates; a value that contradicts a definition makes
//! the structure inconsistent, which the engine reports.

use crate::kleene::Kleene;
use crate::model::Model;
use crate::structure::{MAX_OBJECTS, Structure};
use crate::syntax::Diagnostics;
use crate::syntax::ast::StructureAst;
use crate::syntax::elaborate::BUILT_IN;
use crate::vocabulary::PredId;

/// Builds the structures; errors go to `errors`.
pub(crate) fn build(
    model: &Model,
    list: &[StructureAst],
    errors: &mut Diagnostics,
) -> Vec<Structure> {
    list.iter()
        .filter_map(|ast| structure(model, ast, errors))
        .collect()
}

fn structure(model: &Model, ast: &StructureAst, errors: &mut Diagnostics) -> Option<Structure> {
    let voc = &model.vocabulary;
    let mut names: Vec<&str> = Vec::new();
    let threads = ast.threads.iter().map(|(n, _, _, s)| (n, s));
    let nodes = ast.nodes.iter().map(|(n, s)| (n, s));
    for (name, span) in threads.chain(nodes) {
        if names.contains(&name.as_str()) {
            errors.error(
                *span,
                format!("the object `{name}` is listed twice"),
                "give every object its own name",
            );
            return None;
        }
        names.push(name);
    }
    if names.len() > MAX_OBJECTS {
        errors.error(
            ast.span,
            format!("the structure has {} objects", names.len()),
            format!("at most {MAX_OBJECTS} are possible; use summary objects"),
        );
        return None;
    }
    if !voc.fits(names.len()) {
        errors.error(
            ast.span,
            format!(
                "{} objects with predicates of so many arguments do not fit in memory",
                names.len()
            ),
            "use fewer objects (summary objects), or predicates of fewer arguments",
        );
        return None;
    }
    let mut s = Structure::new(voc, names.len());
    for (i, (_, thread, label, span)) in ast.threads.iter().enumerate() {
        let entry = label.clone().or_else(|| {
            let found = model.threads.iter().find(|(n, _)| n == thread);
            found.map(|(_, l)| l.clone())
        });
        let at = entry.and_then(|l| voc.find(&format!("at[{l}]")));
        let (Some(at), Some(isthread)) = (at, voc.find("isthread")) else {
            errors.error(
                *span,
                format!("the thread `{thread}` or its label does not exist"),
                "threads are those of the tvm program",
            );
            return None;
        };
        s.set(voc, isthread, &[i], Kleene::True);
        s.set(voc, at, &[i], Kleene::True);
    }
    for v in &ast.values {
        // TVLA's older name.
        let full = match v.name.to_string() {
            n if n == "inac" => "ac".to_owned(),
            n => n,
        };
        let Some(p) = voc.find(&full) else {
            if BUILT_IN.contains(&full.as_str())
                && v.entries.iter().all(|(_, k, _)| *k == Kleene::False)
            {
                continue;
            }
            errors.error(
                v.span,
                format!("the predicate `{full}` is not declared in the program"),
                "structures can only use the program's predicates",
            );
            return None;
        };
        for (tuple, value, span) in &v.entries {
            entry(model, &mut s, p, (tuple, *value), &names, *span, errors)?;
        }
    }
    runnable(model, &mut s);
    Some(s)
}

fn entry(
    model: &Model,
    s: &mut Structure,
    p: PredId,
    (tuple, value): (&[String], Kleene),
    names: &[&str],
    span: crate::syntax::Span,
    errors: &mut Diagnostics,
) -> Option<()> {
    let voc = &model.vocabulary;
    let pred = voc.get(p);
    if pred.arity != tuple.len() {
        errors.error(
            span,
            format!(
                "`{}` has arity {}, not {}",
                pred.name,
                pred.arity,
                tuple.len()
            ),
            "write `p = 1` (arity 0), `p = {u}` (1), `p = {u->w}` (2), `p = {(u,v,w)}` (more)",
        );
        return None;
    }
    let mut objects = Vec::new();
    for name in tuple {
        let Some(u) = names.iter().position(|n| n == name) else {
            errors.error(
                span,
                format!("the object `{name}` is not listed in %n or %t"),
                "add it there",
            );
            return None;
        };
        objects.push(u);
    }
    if p == PredId::SM && value == Kleene::True {
        errors.error(
            span,
            "`sm` cannot be 1",
            "write `sm = {u:1/2}` for a summary object",
        );
        return None;
    }
    if p == PredId::AC && value == Kleene::False {
        errors.error(
            span,
            "`ac` cannot be 0",
            "leave the object out, or write 1/2 for one that may exist",
        );
        return None;
    }
    s.set(voc, p, &objects, value);
    Some(())
}

/// Ready threads may run (tvm).
fn runnable(model: &Model, s: &mut Structure) {
    let voc = &model.vocabulary;
    if !model.concurrent {
        return;
    }
    let find = |n: &str| voc.find(n).expect("built in");
    let (isthread, ready, runnable) = (find("isthread"), find("ready"), find("runnable"));
    for u in 0..s.len() {
        if s.get(voc, isthread, &[u]).must() && s.get(voc, ready, &[u]).may() {
            s.set(voc, runnable, &[u], Kleene::Half);
        }
    }
}
