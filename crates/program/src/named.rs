//! *Named threads*: `self` as a local variable. Where a template runs in any number
//! of copies, a copy's number is no constant of a small space: any integer from 0
//! may be it, and all that is known of two copies is that their numbers differ. So
//! the templates declared with `[*]` get a local in place of `self`, which starts
//! with any value and is never written; who analyses the program adds that the
//! numbers of distinct copies are distinct.

use crate::cfg::{Atomic, Cfg, Place, Step};
use crate::expr::Expr;
use crate::ids::{LocalId, ThreadVarId};
use crate::program::{Count, Domain, Init, Local, LocalAtom, Origin, Program, Role};
use crate::property::{PropAtom, PropExpr, ThreadVar};

/// The name of the local that stands for `self`.
pub const SELF: &str = "self";

/// A program in which templates declared with `[*]` do not use `self`; processes
/// keep it.
#[derive(Clone, Debug)]
pub struct Named {
    /// The program.
    pub program: Program,
    /// For each template the local that is its copies' number, if it is used.
    pub numbers: Vec<Option<LocalId>>,
}

impl Named {
    /// Replaces `self` in the templates of `program` that are declared with `[*]`.
    pub fn of(program: &Program) -> Self {
        let mut program = program.clone();
        let mut numbers = Vec::new();
        for id in program.template_ids() {
            let template = program.template(id);
            let many = template.count == Count::Any && !program.is_rma();
            let used = many && uses_self(&program, id.index());
            numbers.push(used.then(|| LocalId::from(program.template(id).locals.len())));
        }
        for (template, number) in program.templates.iter_mut().zip(&numbers) {
            let Some(number) = *number else { continue };
            template.locals.push(Local {
                name: SELF.to_owned(),
                init: Init::Any,
                domain: Some(Domain {
                    lo: 0,
                    hi: i64::MAX,
                }),
                role: Role::Data,
                origin: Origin::User,
                span: template.span,
            });
            name_in_graph(&mut template.cfg, number);
        }
        for property in &mut program.properties {
            property.cond = named_condition(&property.cond, &property.threads, &numbers);
        }
        for hint in &mut program.hints {
            hint.expr = named_condition(&hint.expr, &hint.threads, &numbers);
        }
        Self { program, numbers }
    }
}

/// Whether code, properties or hints read the number of a template's copies.
fn uses_self(program: &Program, template: usize) -> bool {
    let mut used = false;
    for edge in &program.templates[template].cfg.edges {
        edge.step.for_each_expr(&mut |e| {
            used |= e.any_atom(|atom| *atom == LocalAtom::SelfId);
        });
    }
    let own =
        |threads: &[ThreadVar], t: &ThreadVarId| threads[t.index()].template.index() == template;
    let reads = |e: &PropExpr, threads: &[ThreadVar]| {
        e.any_atom(|atom| matches!(atom, PropAtom::SelfOf(t) if own(threads, t)))
    };
    used || program
        .properties
        .iter()
        .any(|p| reads(&p.cond, &p.threads))
        || program.hints.iter().any(|h| reads(&h.expr, &h.threads))
}

fn named_condition(e: &PropExpr, threads: &[ThreadVar], numbers: &[Option<LocalId>]) -> PropExpr {
    e.substitute(&mut |atom| match atom {
        PropAtom::SelfOf(t) => match numbers[threads[t.index()].template.index()] {
            Some(number) => Expr::Atom(PropAtom::Local(*t, number)),
            None => Expr::Atom(atom.clone()),
        },
        PropAtom::Global(..) | PropAtom::Local(..) | PropAtom::At(..) => Expr::Atom(atom.clone()),
    })
}

fn name_in_graph(cfg: &mut Cfg, number: LocalId) {
    for edge in &mut cfg.edges {
        name_in_step(&mut edge.step, number);
    }
}

fn name_in_step(step: &mut Step, number: LocalId) {
    let name = |e: &mut Expr<LocalAtom>| {
        *e = e.substitute(&mut |atom| match atom {
            LocalAtom::SelfId => Expr::Atom(LocalAtom::Local(number)),
            LocalAtom::Local(local) => Expr::Atom(LocalAtom::Local(*local)),
        });
    };
    let place = |place: &mut Place| {
        if let Some(index) = &mut place.index {
            name(index);
        }
    };
    match step {
        Step::Skip | Step::Havoc { .. } | Step::Fence(_) => {}
        Step::Assume(e) | Step::Assign { value: e, .. } | Step::Assert { cond: e, .. } => name(e),
        Step::Load { src, .. } => place(src),
        Step::Store { dst, value } => {
            place(dst);
            name(value);
        }
        Step::Atomic(atomic) => {
            let Atomic { body, .. } = &mut **atomic;
            name_in_graph(body, number);
        }
        // Steps of processes, whose number is their place in the network: a program
        // that has them keeps it.
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {}
    }
}
