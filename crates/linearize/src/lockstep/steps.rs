//! *Steps* of a body as steps of the program, in a row; those of one edge happen together.

use palisade_program::heap::{Edge, Operator, Place, Step as HeapStep, Term};
use palisade_program::{
    AssertKind, BinOp, CfgBuilder, Expr, LocId, LocalExpr, LocalId, Place as ProgramPlace,
    SharedId, Span, Step,
};

use super::Translation;
use super::words::{self, Scope, equal, is_set, local, not_null, set};
use crate::prove::Unsupported;
use crate::prove::quiet::private;
use crate::prove::step::failed;
use crate::prove::supported::refuse;

/// Adds steps in a row.
pub(super) fn chain(graph: &mut CfgBuilder, from: LocId, steps: Vec<Step>, to: LocId, span: Span) {
    let mut steps = steps;
    let last = steps.pop().unwrap_or(Step::Skip);
    let mut at = from;
    for step in steps {
        let next = graph.loc();
        graph.edge(at, step, next, span);
        at = next;
    }
    graph.edge(at, last, to, span);
}

pub(super) fn assert(cond: LocalExpr, what: &str) -> Step {
    Step::Assert {
        cond,
        kind: AssertKind::Specification(what.to_owned()),
    }
}

impl Translation<'_> {
    /// The steps of an edge, without commits; none for a `return`.
    pub(super) fn steps(
        &mut self,
        scope: &Scope<'_>,
        edge: &Edge,
    ) -> Result<Vec<Step>, Unsupported> {
        Ok(match &edge.step {
            HeapStep::Skip | HeapStep::Fence | HeapStep::Return(_) => Vec::new(),
            HeapStep::Assume(cond) => vec![Step::Assume(scope.cond(cond, &|_| Vec::new()))],
            HeapStep::Assign { to, value } => {
                scope.assign(*to, &scope.stored(*value, scope.local_type(*to)))
            }
            HeapStep::Havoc { to } => {
                vec![words::any(scope.local_type(*to), scope.words[to.index()])]
            }
            HeapStep::New { to } => {
                self.allocates = true;
                let id = scope.words[to.index()];
                let mut steps = scope.assign(*to, &scope.defaults(scope.local_type(*to)));
                if let Some(next) = self.next.map(ProgramPlace::scalar) {
                    steps[0] = Step::Load {
                        dst: id,
                        src: next.clone(),
                    };
                    steps.push(Step::Store {
                        dst: next,
                        value: Expr::binary(BinOp::Add, local(id), Expr::Const(1)),
                    });
                } else {
                    steps[0] = Step::Havoc {
                        dst: id,
                        domain: None,
                    };
                    steps.push(Step::Assume(not_null(id)));
                }
                steps
            }
            HeapStep::Read { to, tag, from } => read(scope, *to, *tag, *from),
            HeapStep::Write { to, value, tag } => match to {
                Place::Shared(id) => store(scope, *id, *value, *tag),
                Place::Field { of, field } => {
                    if !private(scope.body)[edge.from.index()][of.index()] {
                        return refuse("a write to a node that others may know", edge.span);
                    }
                    let word = scope.field(*of, *field);
                    let value = scope.term(*value).swap_remove(0);
                    vec![dereference(scope, *of), set(word, value)]
                }
            },
            HeapStep::Cas {
                at,
                expect,
                expect_tag,
                new,
                new_tag,
                success,
            } => {
                let Place::Shared(id) = *at else {
                    return refuse("a `cas` on a field", edge.span);
                };
                let (mut steps, found) = self.load(scope, id, expect_tag.is_some());
                let mut expected = scope.term(*expect);
                if let Some(tag) = expect_tag {
                    // Null has fewer words; its tag is compared all the same.
                    expected = scope.stored(*expect, scope.shared_type(id));
                    expected.extend(scope.term(*tag));
                }
                let same = equal(found, expected);
                if *success {
                    steps.push(Step::Assume(same));
                    steps.extend(store(scope, id, *new, *new_tag));
                } else {
                    steps.push(Step::Assume(same.negate()));
                }
                steps
            }
            HeapStep::Lock(place) => {
                let (id, held) = self.lock(*place, edge.span)?;
                let (mut steps, found) = self.load(scope, id, false);
                steps.push(Step::Assume(equal(found, vec![words::FALSE])));
                steps.extend(store(scope, id, Term::Bool(true), None));
                steps.push(set(held, words::TRUE));
                steps
            }
            HeapStep::Unlock(place) => {
                let (id, held) = self.lock(*place, edge.span)?;
                let mut steps = vec![assert(
                    is_set(held),
                    "a lock is given back that the thread does not hold",
                )];
                steps.extend(store(scope, id, Term::Bool(false), None));
                steps.push(set(held, words::FALSE));
                steps
            }
            HeapStep::Free(local) => vec![dereference(scope, *local)],
            HeapStep::Compute {
                to,
                operator,
                left,
                right,
            } => {
                let operator = match operator {
                    Operator::Add => BinOp::Add,
                    Operator::Subtract => BinOp::Sub,
                    Operator::Remainder => BinOp::Mod,
                };
                let word = |term: &Term| scope.term(*term).swap_remove(0);
                let value = Expr::binary(operator, word(left), word(right));
                scope.assign(*to, &[value])
            }
            HeapStep::Fail(failure) => vec![assert(words::FALSE, failed(*failure))],
        })
    }

    /// The shared lock, and the local that says that the thread holds it.
    fn lock(&self, place: Place, span: Span) -> Result<(SharedId, LocalId), Unsupported> {
        let found = match place {
            Place::Shared(id) => self.held[id.index()].map(|held| (id, held)),
            Place::Field { .. } => None,
        };
        match found {
            Some(found) => Ok(found),
            None => refuse("a lock in a node", span),
        }
    }

    /// Loads of a shared variable's words, and if asked for of its tag, into new temporaries.
    pub(super) fn load(
        &mut self,
        scope: &Scope<'_>,
        id: SharedId,
        tag: bool,
    ) -> (Vec<Step>, Vec<LocalExpr>) {
        let mut places = scope.shared_words(id);
        if tag {
            places.push(scope.shared_tag(id));
        }
        let mut steps = Vec::new();
        let mut words = Vec::new();
        for src in places {
            let dst = self.names.temporary();
            steps.push(Step::Load { dst, src });
            words.push(local(dst));
        }
        (steps, words)
    }
}

fn read(scope: &Scope<'_>, to: LocalId, tag: Option<LocalId>, from: Place) -> Vec<Step> {
    match from {
        Place::Shared(id) => {
            let mut steps: Vec<Step> = scope
                .local_words(to)
                .into_iter()
                .zip(scope.shared_words(id))
                .map(|(dst, src)| Step::Load { dst, src })
                .collect();
            steps.extend(tag.map(|tag| Step::Load {
                dst: scope.words[tag.index()],
                src: scope.shared_tag(id),
            }));
            steps
        }
        Place::Field { of, field } => vec![
            dereference(scope, of),
            set(scope.words[to.index()], local(scope.field(of, field))),
        ],
    }
}

/// A node's field is used.
fn dereference(scope: &Scope<'_>, of: LocalId) -> Step {
    assert(not_null(scope.words[of.index()]), "null is dereferenced")
}

/// Stores of a term and a tag to a shared variable.
fn store(scope: &Scope<'_>, id: SharedId, value: Term, tag: Option<Term>) -> Vec<Step> {
    let words = scope.stored(value, scope.shared_type(id));
    let stores = scope.shared_words(id).into_iter().zip(words);
    let mut steps: Vec<Step> = stores
        .map(|(dst, value)| Step::Store { dst, value })
        .collect();
    steps.extend(tag.map(|tag| Step::Store {
        dst: scope.shared_tag(id),
        value: scope.term(tag).swap_remove(0),
    }));
    steps
}
