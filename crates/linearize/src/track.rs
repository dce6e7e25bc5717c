//! *Tracking* linearizations while a run goes on, instead of looking at its history
//! afterwards. A `Belief` is one way in which the calls so far can have taken
//! effect: the state of the specification, and for each pending call whether it has
//! taken effect and with which result. The beliefs of a state are all that agree with
//! the results returned so far; when none is left the history is not linearizable.
//!
//! Which moves beliefs make is the `Mode`:
//!
//! - `Any`: a call may take effect at any time between call and return. It is enough to
//!   let it happen when some call returns: then the returning call must have taken
//!   effect, and others may have before it (just-in-time linearization). A belief that
//!   waits can still do later whatever it could have done earlier, so nothing is lost.
//!   This knows nothing of commit points. With store buffers a call may take effect until it is
//!   complete, perhaps after its return (`buffer`); its result is known then, and the calls of
//!   one thread take effect one after another.
//! - `Commits`: calls take effect at the commit points of the program, and nowhere else.
//! - `Points`: calls take effect when they execute one of the chosen edges, for the last
//!   time in the call; which edges, may depend on the return that ends the call.

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::heap::{Commit, CommitKind, Operation};

use crate::buffer::Returned;
use crate::spec::{Abstract, BrokenSpec, Oracle};
use crate::value::Value;

/// How far a pending call is.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Effect {
    /// The result, if it has taken effect.
    pub(crate) done: Option<Value>,
    /// The edge at which it took effect (`Points`).
    pub(crate) edge: Option<u32>,
    /// The result noted at a `commit later`.
    pub(crate) noted: Option<Value>,
}

/// One way in which the calls so far can have taken effect.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Belief {
    pub(crate) spec: Abstract,
    /// By thread.
    pub(crate) calls: Vec<Effect>,
    /// By thread, how many of its calls that have returned and are not complete have taken effect:
    /// the first ones. No threads are here under SC.
    pub(crate) taken: Vec<u32>,
}

/// Edges at which the calls of a method may take effect, by method and by the edge
/// that returns.
pub(crate) type Points = BTreeMap<(usize, usize), BTreeSet<usize>>;

/// When calls take effect.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    Any,
    Commits,
    Points(Points),
}

/// A pending call.
#[derive(Clone, Debug)]
pub(crate) struct Pending<'a> {
    pub(crate) thread: usize,
    pub(crate) operation: Operation,
    pub(crate) arguments: &'a [Value],
}

/// What is wrong with commit points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrongCommit {
    /// The call has taken effect already.
    Twice,
    /// Nothing was noted before a `confirm`.
    NothingNoted,
    /// The call returns and has not taken effect.
    Missing,
    /// The call returns another result than the specification gave.
    Result,
}

type Beliefs = Vec<Belief>;

fn sorted(mut beliefs: Beliefs) -> Beliefs {
    beliefs.sort();
    beliefs.dedup();
    beliefs
}

/// The beliefs after a commit point of `pending`.
pub(crate) fn commit(
    oracle: &Oracle<'_>,
    beliefs: &[Belief],
    pending: &Pending<'_>,
    commit: &Commit,
) -> Result<Result<Beliefs, WrongCommit>, BrokenSpec> {
    let me = pending.thread;
    let mut after = Vec::new();
    let mut wrong = WrongCommit::Twice;
    for belief in beliefs {
        if belief.calls[me].done.is_some() {
            if commit.kind == CommitKind::Later {
                after.push(belief.clone());
            }
            continue;
        }
        match commit.kind {
            CommitKind::Now => {
                for (spec, result) in
                    oracle.apply(&belief.spec, pending.operation, pending.arguments)?
                {
                    let mut next = belief.clone();
                    next.spec = spec;
                    next.calls[me].done = Some(result);
                    next.calls[me].noted = None;
                    after.push(next);
                }
            }
            CommitKind::Later => {
                let ways = oracle.apply(&belief.spec, pending.operation, pending.arguments)?;
                let unchanged = ways.into_iter().filter(|(spec, _)| *spec == belief.spec);
                let mut results: Vec<Option<Value>> =
                    unchanged.map(|(_, result)| Some(result)).collect();
                if results.is_empty() {
                    results.push(None);
                }
                for noted in results {
                    let mut next = belief.clone();
                    next.calls[me].noted = noted;
                    after.push(next);
                }
            }
            CommitKind::Confirm => {
                if let Some(noted) = belief.calls[me].noted {
                    let mut next = belief.clone();
                    next.calls[me].done = Some(noted);
                    next.calls[me].noted = None;
                    after.push(next);
                } else {
                    wrong = WrongCommit::NothingNoted;
                }
            }
        }
    }
    Ok(if after.is_empty() {
        Err(wrong)
    } else {
        Ok(sorted(after))
    })
}

/// The beliefs after `pending` has executed `edge`, one of the chosen.
pub(crate) fn pass(
    oracle: &Oracle<'_>,
    beliefs: &[Belief],
    pending: &Pending<'_>,
    edge: usize,
) -> Result<Beliefs, BrokenSpec> {
    let me = pending.thread;
    let mut after = Vec::new();
    for belief in beliefs {
        if belief.calls[me].done.is_some() {
            // It was not the last time.
            if belief.calls[me].edge != Some(edge as u32) {
                after.push(belief.clone());
            }
            continue;
        }
        for (spec, result) in oracle.apply(&belief.spec, pending.operation, pending.arguments)? {
            let mut next = belief.clone();
            next.spec = spec;
            next.calls[me].done = Some(result);
            next.calls[me].edge = Some(edge as u32);
            after.push(next);
        }
        after.push(belief.clone());
    }
    Ok(sorted(after))
}

/// All calls that may take effect.
#[derive(Clone, Copy)]
pub(crate) struct Open<'a> {
    /// The calls that run.
    pub(crate) pending: &'a [Pending<'a>],
    /// By thread, those that have returned and are not complete; no threads under SC.
    pub(crate) returned: &'a [Vec<Returned>],
}

/// The beliefs that agree with a return of `thread` with `value`, in mode `Any`: the call is
/// complete. `open` are all calls that may take effect, that one among them.
pub(crate) fn returned(
    oracle: &Oracle<'_>,
    beliefs: &[Belief],
    open: Open<'_>,
    thread: usize,
    value: Value,
) -> Result<Beliefs, BrokenSpec> {
    let ends = |belief: &Belief| belief.calls[thread].done.is_some();
    let mut after = until(oracle, beliefs, open, &ends)?;
    after.retain(|belief| belief.calls[thread].done == Some(value));
    for belief in &mut after {
        belief.calls[thread] = Effect::default();
    }
    Ok(sorted(after))
}

/// The beliefs that agree with a return of `thread` with `value`, in mode `Any`, where the call is
/// not complete: it becomes the last of those that have returned, of which there were `before`.
pub(crate) fn left(beliefs: &[Belief], thread: usize, value: Value, before: usize) -> Beliefs {
    let agrees = |belief: &&Belief| belief.calls[thread].done.is_none_or(|done| done == value);
    let agreeing = beliefs.iter().filter(agrees).cloned();
    let after = agreeing.map(|mut belief| {
        if belief.calls[thread].done.is_some() {
            belief.taken[thread] = before as u32 + 1;
        }
        belief.calls[thread] = Effect::default();
        belief
    });
    sorted(after.collect())
}

/// The beliefs in which the first `count` calls of `thread` that have returned have taken effect:
/// they are complete, and not counted any more.
pub(crate) fn completed(
    oracle: &Oracle<'_>,
    beliefs: &[Belief],
    open: Open<'_>,
    thread: usize,
    count: u32,
) -> Result<Beliefs, BrokenSpec> {
    let ends = |belief: &Belief| belief.taken[thread] >= count;
    let mut after = until(oracle, beliefs, open, &ends)?;
    for belief in &mut after {
        belief.taken[thread] -= count;
    }
    Ok(sorted(after))
}

/// Lets calls take effect, in all orders, until `ends`.
fn until(
    oracle: &Oracle<'_>,
    beliefs: &[Belief],
    calls: Open<'_>,
    ends: &dyn Fn(&Belief) -> bool,
) -> Result<Beliefs, BrokenSpec> {
    let mut seen: BTreeSet<Belief> = beliefs.iter().cloned().collect();
    let mut open: Vec<Belief> = beliefs.to_vec();
    let mut after = Vec::new();
    while let Some(belief) = open.pop() {
        if ends(&belief) {
            after.push(belief);
            continue;
        }
        for next in taking_effect(oracle, &belief, calls)? {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    Ok(after)
}

/// The beliefs after one more call has taken effect. The calls of one thread do so one after another.
fn taking_effect(
    oracle: &Oracle<'_>,
    belief: &Belief,
    calls: Open<'_>,
) -> Result<Beliefs, BrokenSpec> {
    let mut after = Vec::new();
    let first = |thread: usize| {
        calls
            .returned
            .get(thread)?
            .get(belief.taken[thread] as usize)
    };
    for (thread, _) in calls.returned.iter().enumerate() {
        let Some(call) = first(thread) else { continue };
        for (spec, result) in oracle.apply(&belief.spec, call.operation, &call.arguments)? {
            if result == call.value {
                let mut next = belief.clone();
                next.spec = spec;
                next.taken[thread] += 1;
                after.push(next);
            }
        }
    }
    for call in calls.pending {
        if belief.calls[call.thread].done.is_some() || first(call.thread).is_some() {
            continue;
        }
        for (spec, result) in oracle.apply(&belief.spec, call.operation, call.arguments)? {
            let mut next = belief.clone();
            next.spec = spec;
            next.calls[call.thread].done = Some(result);
            after.push(next);
        }
    }
    Ok(after)
}

/// The beliefs that agree with a return, in the other modes; `allowed` are the edges
/// at which the call may have taken effect, if that matters.
pub(crate) fn returned_done(
    beliefs: &[Belief],
    thread: usize,
    value: Value,
    allowed: Option<&BTreeSet<usize>>,
) -> Result<Beliefs, WrongCommit> {
    let mut after = Vec::new();
    let mut wrong = WrongCommit::Missing;
    for belief in beliefs {
        let call = &belief.calls[thread];
        let here = match (allowed, call.edge) {
            (None, _) => true,
            (Some(allowed), Some(edge)) => allowed.contains(&(edge as usize)),
            (Some(_), None) => false,
        };
        match call.done {
            Some(result) if result == value && here => {
                let mut next = belief.clone();
                next.calls[thread] = Effect::default();
                after.push(next);
            }
            Some(_) => wrong = WrongCommit::Result,
            None => {}
        }
    }
    if after.is_empty() {
        return Err(wrong);
    }
    Ok(sorted(after))
}
