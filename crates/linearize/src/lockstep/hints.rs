//! *Hints*: predicates to begin with. Refinement would find what a proof needs, too, but not always
//! before it has tried one number after another: a counter that is compared with 0 looks like a
//! counter that may be 1, 2, 3. What is likely to be needed is known from the text: words of object and
//! specification that start alike may stay alike; what was read is compared with what is
//! there; and constants matter to the variables that they are compared with. A hint that says
//! nothing costs a little time, and nothing rests on one.

use std::collections::BTreeSet;

use palisade_program::heap::{Body, Cond, Place, Step, Term};
use palisade_program::{
    BinOp, Expr, Global, GlobalId, Hint, LocalId, Pick, PropAtom, PropExpr, SharedId, Span,
    TemplateId, ThreadVar, ThreadVarId,
};

use super::words::{Scope, number};

/// Predicates at most.
const MOST: usize = 32;

/// Adds hints, in the order in which they are likely to help.
#[derive(Default)]
pub(super) struct Hints {
    all: Vec<PropExpr>,
}

fn word(id: GlobalId) -> PropExpr {
    Expr::Atom(PropAtom::Global(id, None))
}

fn local(id: LocalId) -> PropExpr {
    Expr::Atom(PropAtom::Local(ThreadVarId(0), id))
}

impl Hints {
    fn add(&mut self, op: BinOp, a: PropExpr, b: PropExpr) {
        let expr = Expr::binary(op, a, b);
        if !self.all.contains(&expr) {
            self.all.push(expr);
        }
    }

    /// Words of the object, and of the specification behind them, that start alike.
    pub(super) fn alike(&mut self, globals: &[Global], object: usize) {
        let ids = || (0..globals.len()).map(GlobalId::from);
        for a in ids().take(object) {
            for b in ids().skip(object) {
                let (mine, its) = (&globals[a.index()], &globals[b.index()]);
                let truth = mine.domain.is_some() || its.domain.is_some();
                if !truth && mine.init == its.init {
                    self.add(BinOp::Eq, word(a), word(b));
                }
            }
        }
    }

    /// What a body reads and compares.
    pub(super) fn of_body(&mut self, scope: &Scope<'_>, globals: &[Global]) {
        let body = scope.body;
        let truth = |id: GlobalId| globals[id.index()].domain.is_some();
        for edge in &body.edges {
            if let Some((to, from)) = reads(&edge.step) {
                let words = scope
                    .local_words(to)
                    .into_iter()
                    .zip(scope.shared_words(from));
                for (to, from) in words.filter(|(_, from)| !truth(from.var)) {
                    self.add(BinOp::Eq, local(to), word(from.var));
                }
            }
        }
        for edge in &body.edges {
            let commits = edge.commits.iter().map(|commit| &commit.when);
            let assumed = edge.step.assumed();
            for cond in assumed.into_iter().chain(commits) {
                self.of_cond(scope, cond);
            }
        }
    }

    fn of_cond(&mut self, scope: &Scope<'_>, cond: &Cond) {
        match cond {
            Cond::True | Cond::Holds(_) => {}
            Cond::Not(inner) => self.of_cond(scope, inner),
            Cond::And(a, b) | Cond::Or(a, b) => {
                self.of_cond(scope, a);
                self.of_cond(scope, b);
            }
            Cond::Eq(a, b) | Cond::Less(a, b) => {
                let less = matches!(cond, Cond::Less(..));
                let op = if less { BinOp::Lt } else { BinOp::Eq };
                for a in sides(scope, *a) {
                    for b in sides(scope, *b) {
                        if matches!(a, Expr::Const(_)) != matches!(b, Expr::Const(_)) {
                            self.add(op, a.clone(), b);
                        }
                    }
                }
            }
        }
    }

    /// All of them, those about a thread for each of the templates.
    pub(super) fn finish(mut self, templates: usize) -> Vec<Hint> {
        self.all.truncate(MOST);
        let hint = |expr: &PropExpr, template: TemplateId| {
            let about_thread = expr.any_atom(|atom| matches!(atom, PropAtom::Local(..)));
            let thread = ThreadVar {
                template,
                pick: Pick::Any(1),
            };
            let hint = Hint {
                threads: about_thread.then_some(thread).into_iter().collect(),
                expr: expr.clone(),
                span: Span::default(),
            };
            (about_thread || template == TemplateId(0)).then_some(hint)
        };
        let templates = || (0..templates).map(TemplateId::from);
        let all = self.all.iter();
        all.flat_map(|expr| templates().filter_map(move |template| hint(expr, template)))
            .collect()
    }
}

/// What a term of a comparison is: a constant, a local's first word, and the shared variables that
/// it is read from.
fn sides(scope: &Scope<'_>, term: Term) -> Vec<PropExpr> {
    let shared = |id: SharedId| word(scope.shared_words(id)[0].var);
    match term {
        Term::Local(id) | Term::Plus(id, _) => {
            let from: BTreeSet<SharedId> = sources(scope.body, id);
            let first = scope.words[id.index()];
            let from = from.into_iter().map(shared);
            std::iter::once(local(first)).chain(from).collect()
        }
        Term::Shared(id) => vec![shared(id)],
        Term::Null | Term::Empty | Term::Infinity(_) | Term::Undefined => {
            vec![Expr::Const(number(term))]
        }
        Term::Bool(_) | Term::Int(_) => vec![Expr::Const(number(term))],
    }
}

fn sources(body: &Body, local: LocalId) -> BTreeSet<SharedId> {
    let steps = body.edges.iter().filter_map(|edge| reads(&edge.step));
    let of_local = steps.filter(|(to, _)| *to == local);
    of_local.map(|(_, from)| from).collect()
}

/// The local that a shared variable is read into.
fn reads(step: &Step) -> Option<(LocalId, SharedId)> {
    match step.read()? {
        (to, Place::Shared(from)) => Some((to, from)),
        (_, Place::Field { .. }) => None,
    }
}
