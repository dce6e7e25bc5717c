//! *Twins*: threads that were written out one by one but are the same. Two
//! templates that run once are twins if their code is the same up to names, and if
//! no property tells them apart: exchanging them maps the properties to
//! themselves. Then what one does the other can do, and both get the same fences,
//! as copies of one template do.
//!
//! Threads that are alike only after renaming variables as well (the two sides of
//! Dekker's algorithm) are not tied: their fences are found one by one.

use palisade_program::{
    BinOp, Cfg, Count, EdgeId, Expr, Program, PropAtom, PropExpr, Property, Template, TemplateId,
};

use crate::site::Site;

/// Groups sites that are decided together. Every site is in one group; groups are
/// in the order of their first sites.
pub fn decisions(program: &Program, sites: &[Site]) -> Vec<Vec<usize>> {
    let stands_for: Vec<TemplateId> = program
        .template_ids()
        .map(|t| first_twin(program, t))
        .collect();
    let key = |site: &Site| -> Vec<(TemplateId, EdgeId)> {
        let edges = site.edges.iter().map(|(t, e)| (stands_for[t.index()], *e));
        let mut edges: Vec<_> = edges.collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    };
    let keys: Vec<_> = sites.iter().map(key).collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in 0..sites.len() {
        match groups.iter_mut().find(|g| keys[g[0]] == keys[index]) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// The first template that is a twin of `template`, perhaps itself.
fn first_twin(program: &Program, template: TemplateId) -> TemplateId {
    let earlier = program.template_ids().take(template.index());
    let mut twins = earlier.filter(|&other| are_twins(program, other, template));
    twins.next().unwrap_or(template)
}

fn are_twins(program: &Program, a: TemplateId, b: TemplateId) -> bool {
    let (first, second) = (program.template(a), program.template(b));
    is_single(first)
        && is_single(second)
        && same_locals(first, second)
        && same_code(&first.cfg, &second.cfg)
        && properties_allow(program, a, b)
}

fn is_single(template: &Template) -> bool {
    template.count == Count::Once && !template.is_process
}

fn same_locals(a: &Template, b: &Template) -> bool {
    let same = |(x, y): (&palisade_program::Local, &palisade_program::Local)| {
        x.init == y.init && x.domain == y.domain && x.role == y.role
    };
    a.locals.len() == b.locals.len() && a.locals.iter().zip(&b.locals).all(same)
}

/// The same graphs, whatever the spans.
fn same_code(a: &Cfg, b: &Cfg) -> bool {
    let same = |(x, y): (&palisade_program::Edge, &palisade_program::Edge)| {
        x.from == y.from && x.to == y.to && same_step(&x.step, &y.step)
    };
    a.entry == b.entry
        && a.exit == b.exit
        && a.loc_count() == b.loc_count()
        && a.edges.len() == b.edges.len()
        && a.edges.iter().zip(&b.edges).all(same)
}

fn same_step(a: &palisade_program::Step, b: &palisade_program::Step) -> bool {
    use palisade_program::Step;
    match (a, b) {
        (Step::Atomic(a), Step::Atomic(b)) => a.kind == b.kind && same_code(&a.body, &b.body),
        (a, b) => a == b,
    }
}

/// Whether exchanging the two threads maps the properties to themselves, up to
/// the order of operands of `&&` and `||`.
fn properties_allow(program: &Program, a: TemplateId, b: TemplateId) -> bool {
    let exchange = |t: TemplateId| match t {
        t if t == a => b,
        t if t == b => a,
        t => t,
    };
    let as_they_are = texts(&program.properties, &|t| t);
    as_they_are == texts(&program.properties, &exchange)
}

/// The properties as texts that do not depend on the order of operands, sorted.
fn texts(properties: &[Property], rename: &dyn Fn(TemplateId) -> TemplateId) -> Vec<String> {
    let text = |p: &Property| {
        let atom = |a: &PropAtom| named(p, a, rename);
        format!("{:?} {}", p.kind, canonical(&p.cond, &atom))
    };
    let mut all: Vec<String> = properties.iter().map(text).collect();
    all.sort_unstable();
    all
}

/// An atom with its thread under its new name.
fn named(
    property: &Property,
    atom: &PropAtom,
    rename: &dyn Fn(TemplateId) -> TemplateId,
) -> String {
    let thread = |var: palisade_program::ThreadVarId| {
        let thread = property.threads[var.index()];
        format!("{}{:?}", rename(thread.template).0, thread.pick)
    };
    match atom {
        PropAtom::Global(var, element) => format!("global {} {element:?}", var.0),
        PropAtom::Local(var, local) => format!("local {} of {}", local.0, thread(*var)),
        PropAtom::SelfOf(var) => format!("self of {}", thread(*var)),
        PropAtom::At(var, loc) => format!("{} at {}", thread(*var), loc.0),
    }
}

/// An expression as text with the operands of `&&` and `||` sorted.
fn canonical(e: &PropExpr, atom: &dyn Fn(&PropAtom) -> String) -> String {
    match e {
        Expr::Const(c) => c.to_string(),
        Expr::Atom(a) => atom(a),
        Expr::Unary(op, arg) => format!("{op:?}({})", canonical(arg, atom)),
        Expr::Binary(op @ (BinOp::And | BinOp::Or), ..) => {
            let mut operands = Vec::new();
            flatten(e, *op, atom, &mut operands);
            operands.sort_unstable();
            format!("{op:?}({})", operands.join(", "))
        }
        Expr::Binary(op, a, b) => {
            format!("{op:?}({}, {})", canonical(a, atom), canonical(b, atom))
        }
        Expr::Cond(c, a, b) => {
            let parts = [c, a, b].map(|e| canonical(e, atom));
            format!("Cond({})", parts.join(", "))
        }
    }
}

fn flatten(
    e: &PropExpr,
    op: BinOp,
    atom: &dyn Fn(&PropAtom) -> String,
    operands: &mut Vec<String>,
) {
    if let Expr::Binary(same, a, b) = e
        && *same == op
    {
        flatten(a, op, atom, operands);
        flatten(b, op, atom, operands);
    } else {
        operands.push(canonical(e, atom));
    }
}
