//! *Commits*: where a call takes effect the operation of the specification runs, in the same
//! atomic step; where it returns, the result is compared.

use std::collections::BTreeMap;
use std::rc::Rc;

use palisade_program::heap::{Commit, CommitKind, Cond, Edge, Operation, Step as HeapStep, Term};
use palisade_program::{CfgBuilder, LocId, LocalExpr, LocalId, Place, SharedId, Span, Step};

use super::steps::{assert, chain};
use super::words::{FALSE, Scope, TRUE, equal, is_set, local, set};
use super::{Call, Translation};
use crate::code::Code;
use crate::prove::Unsupported;
use crate::prove::supported::refuse;

/// What the translation can run at a commit point: what has an end, and touches no locks.
pub(super) fn check_operation(scope: &Scope<'_>) -> Result<(), Unsupported> {
    let body = scope.body;
    for edge in &body.edges {
        if matches!(edge.step, HeapStep::Lock(_) | HeapStep::Unlock(_)) {
            return refuse("a lock in the specification", edge.span);
        }
        let mut seen = vec![false; body.locations.len()];
        let mut open = vec![edge.to];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at.index()], true) {
                open.extend(body.leaving(at).map(|(_, edge)| edge.to));
            }
        }
        if seen[edge.from.index()] {
            return refuse("a loop in the specification", edge.span);
        }
    }
    Ok(())
}

/// Where an operation of the specification goes on.
#[derive(Clone, Copy)]
struct Ways {
    from: LocId,
    /// It has given a result.
    done: LocId,
    /// It is not possible.
    blocked: LocId,
}

impl Translation<'_> {
    /// A commit point.
    pub(super) fn commit(
        &mut self,
        call: &Call<'_>,
        commit: &Commit,
        (from, to): (LocId, LocId),
        graph: &mut CfgBuilder,
    ) -> Result<(), Unsupported> {
        let span = commit.span;
        let mut read: BTreeMap<SharedId, Vec<LocalExpr>> = BTreeMap::new();
        let mut loads = Vec::new();
        commit.when.for_each_term(&mut |term| {
            if let Term::Shared(id) = term
                && !read.contains_key(&id)
            {
                let (steps, words) = self.load(&call.scope, id, false);
                loads.extend(steps);
                read.insert(id, words);
            }
        });
        let mut counts = from;
        if commit.when != Cond::True {
            let cond = call.scope.cond(&commit.when, &|id| read[&id].clone());
            let looked = graph.loc();
            chain(graph, from, loads, looked, span);
            counts = graph.loc();
            graph.edge(looked, Step::Assume(cond.clone()), counts, span);
            graph.edge(looked, Step::Assume(cond.negate()), to, span);
        }
        let done = self.ghosts.done;
        let once = assert(is_set(done).negate(), "a call takes effect twice");
        match commit.kind {
            CommitKind::Now => {
                let [begun, given, blocked] = [(); 3].map(|()| graph.loc());
                graph.edge(counts, once, begun, span);
                let ways = Ways {
                    from: begun,
                    done: given,
                    blocked,
                };
                self.operation(call, self.ghosts.expected, ways, span, graph)?;
                let impossible = "the specification does not allow the call to take effect here";
                graph.edge(blocked, assert(FALSE, impossible), given, span);
                let after = std::iter::once(set(done, TRUE)).chain(self.forget_note());
                chain(graph, given, after.collect(), to, span);
            }
            CommitKind::Later => {
                let open = graph.loc();
                graph.edge(counts, Step::Assume(is_set(done)), to, span);
                graph.edge(counts, Step::Assume(is_set(done).negate()), open, span);
                self.note(call, (open, to), span, graph)?;
            }
            CommitKind::Confirm => {
                let noted = self.ghosts.noted;
                let result = local(self.ghosts.noted_result);
                let steps = vec![
                    once,
                    assert(is_set(noted), "no result was noted before a `confirm`"),
                    set(self.ghosts.expected, result),
                    set(done, TRUE),
                    set(noted, FALSE),
                ];
                chain(graph, counts, steps, to, span);
            }
        }
        Ok(())
    }

    /// Nothing is noted.
    pub(super) fn forget_note(&self) -> Option<Step> {
        self.notes.then(|| set(self.ghosts.noted, FALSE))
    }

    /// `commit later`: the result is noted if the operation changes nothing. What it changes is
    /// put back.
    fn note(
        &mut self,
        call: &Call<'_>,
        (from, to): (LocId, LocId),
        span: Span,
        graph: &mut CfgBuilder,
    ) -> Result<(), Unsupported> {
        let (save, saved) = self.specification_state();
        let (look, found) = self.specification_state();
        let [begun, given, blocked, compared, other] = [(); 5].map(|()| graph.loc());
        chain(graph, from, save, begun, span);
        let ways = Ways {
            from: begun,
            done: given,
            blocked,
        };
        self.operation(call, self.ghosts.noted_result, ways, span, graph)?;
        chain(graph, given, look, compared, span);
        let words = |state: &[(Place, LocalExpr)]| state.iter().map(|(_, w)| w.clone()).collect();
        let same = equal(words(&saved), words(&found));
        let noted = self.ghosts.noted;
        let keep = vec![Step::Assume(same.clone()), set(noted, TRUE)];
        chain(graph, compared, keep, to, span);
        graph.edge(compared, Step::Assume(same.negate()), other, span);
        graph.edge(blocked, Step::Skip, other, span);
        let stores = saved
            .into_iter()
            .map(|(dst, value)| Step::Store { dst, value });
        let back = stores.chain([set(noted, FALSE)]).collect();
        chain(graph, other, back, to, span);
        Ok(())
    }

    /// Loads of all that the specification knows into new temporaries.
    fn specification_state(&mut self) -> (Vec<Step>, Vec<(Place, LocalExpr)>) {
        let shared = self.own.map_or(0, |own| own.shared.len());
        let mut places = Vec::new();
        if let Some(scope) = self.operations.first() {
            for id in (0..shared).map(SharedId::from) {
                places.extend(scope.shared_words(id));
                if self
                    .own
                    .is_some_and(|own| own.shared[id.index()].tag.is_some())
                {
                    places.push(scope.shared_tag(id));
                }
            }
        }
        let mut steps = Vec::new();
        let mut words = Vec::new();
        for src in places {
            let dst = self.names.temporary();
            steps.push(Step::Load {
                dst,
                src: src.clone(),
            });
            words.push((src, local(dst)));
        }
        (steps, words)
    }

    /// The operation of the specification that a call stands for; its result goes to `result`.
    fn operation(
        &mut self,
        call: &Call<'_>,
        result: LocalId,
        ways: Ways,
        span: Span,
        graph: &mut CfgBuilder,
    ) -> Result<(), Unsupported> {
        let Operation::Own(index) = call.method.operation else {
            return refuse("a method that no operation is named for", call.method.span);
        };
        let scope = Rc::clone(&self.operations[index]);
        let body = scope.body;
        let places: Vec<LocId> = body.locations.iter().map(|_| graph.loc()).collect();
        let mut begin = Vec::new();
        for (parameter, argument) in call.arguments.iter().enumerate() {
            begin.push(set(scope.words[parameter], local(*argument)));
        }
        let live = Code::new(body).live()[body.entry.index()].clone();
        for (index, declared) in body.locals.iter().enumerate() {
            if live[index] && index >= call.arguments.len() {
                let start = scope.defaults(declared.ty);
                begin.extend(scope.assign(LocalId::from(index), &start));
            }
        }
        chain(graph, ways.from, begin, places[body.entry.index()], span);
        for at in (0..body.locations.len()).map(LocId::from) {
            if at == body.exit {
                continue;
            }
            let edges: Vec<&Edge> = body.leaving(at).map(|(_, edge)| edge).collect();
            for edge in self.picked(&edges) {
                let from = places[at.index()];
                if let HeapStep::Return(value) = &edge.step {
                    let value = value.map(|value| scope.term(value).swap_remove(0));
                    let steps = value.map(|value| set(result, value)).into_iter().collect();
                    chain(graph, from, steps, ways.done, span);
                } else {
                    let steps = self.steps(&scope, edge)?;
                    chain(graph, from, steps, places[edge.to.index()], span);
                }
            }
            if let Some(stuck) = stuck(&scope, &edges) {
                graph.edge(places[at.index()], Step::Assume(stuck), ways.blocked, span);
            }
        }
        Ok(())
    }

    /// The edges of a location of the specification; one of them where it chooses and the choice
    /// is given.
    fn picked<'e>(&mut self, edges: &[&'e Edge]) -> Vec<&'e Edge> {
        let free = |edge: &&Edge| matches!(edge.step, HeapStep::Skip);
        if edges.len() < 2 || !edges.iter().all(free) {
            return edges.to_vec();
        }
        let number = self.choices.len();
        self.choices.push(edges.len());
        match self.picks.get(number).and_then(|&pick| edges.get(pick)) {
            Some(only) => vec![only],
            None => edges.to_vec(),
        }
    }

    /// What must hold when a call returns.
    pub(super) fn returns(&self, call: &Call<'_>, step: &HeapStep) -> Vec<Step> {
        let HeapStep::Return(value) = step else {
            return Vec::new();
        };
        if self.own.is_none() {
            return Vec::new();
        }
        let mut steps = vec![assert(
            is_set(self.ghosts.done),
            "a call returns and has not taken effect",
        )];
        if let Some(value) = value {
            let same = equal(call.scope.term(*value), vec![local(self.ghosts.expected)]);
            let what = "a call returns another result than the specification gave";
            steps.push(assert(same, what));
        }
        steps
    }
}

/// When none of the edges of a location of the specification is possible; `None` if one always is.
fn stuck(scope: &Scope<'_>, edges: &[&Edge]) -> Option<LocalExpr> {
    if let [a, b] = edges
        && let (HeapStep::Assume(a), HeapStep::Assume(b)) = (&a.step, &b.step)
        && (a.clone().negated() == *b || b.clone().negated() == *a)
    {
        return None;
    }
    let mut none = TRUE;
    for edge in edges {
        // Any other step is possible; of a `cas` both outcomes are there.
        let cond = edge.step.assumed()?;
        none = none.and(scope.cond(cond, &|_| Vec::new()).negate());
    }
    Some(none)
}
