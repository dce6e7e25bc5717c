//! Transfer: what one action makes of one structure.
//!
//! Place: the step of the fixed point. Paper: [Friggens and Groves, arXiv 2015, section 2] (TVLA's
//! order): focus, coerce, precondition, messages, update, coerce, blur, messages.
//!
//! Soundness: if a concrete structure embeds in the input and the action takes it to another,
//! that one embeds in one of the results, unless a flag of [`Post`] says that a limit was hit
//! or a rule of the model was assumed.

use crate::action::{Action, Message};
use crate::bindings::TooMany;
use crate::blur::blur;
use crate::coerce::{Breach, Dirty, RuleSet, tuple_at};
use crate::join::Join;
use crate::kleene::Kleene;
use crate::structure::{Structure, bits};
use crate::update::{Instrumentation, update};
use crate::vocabulary::{PredId, Vocabulary};

/// What is fixed while an analysis runs.
pub struct Context<'a> {
    /// The predicates.
    pub vocabulary: &'a Vocabulary,
    /// The consistency rules.
    pub rules: &'a RuleSet,
    /// The compiled definitions.
    pub instrumentation: &'a Instrumentation,
    /// The join in use.
    pub join: Join,
}

/// A message that an action gave.
#[derive(Clone, Debug)]
pub struct Report {
    /// Index among the action's messages, before first, then after.
    pub message: usize,
    /// Its value.
    pub value: Kleene,
    /// The structure that caused it.
    pub structure: Structure,
}

/// The results of an action.
#[derive(Clone, Debug, Default)]
pub struct Post {
    /// The structures, coerced and blurred.
    pub structures: Vec<Structure>,
    /// The messages given.
    pub reports: Vec<Report>,
    /// Rules that discarded a structure after the update.
    pub discarded: Vec<Breach>,
    /// A structure grew beyond 64 objects: the results are incomplete.
    pub too_large: bool,
    /// Focus left an atom unknown.
    pub focus_gave_up: bool,
    /// The action's halt condition held.
    pub halted: bool,
    /// Structures built on the way.
    pub intermediate: usize,
    /// A message for a definite value only was unknown.
    pub doubtful: Option<String>,
    /// Results that the engine knew already and has dropped.
    pub known: usize,
}

/// Applies an action to a structure that is closed under the rules.
pub fn apply(cx: &Context<'_>, action: &Action, s: &Structure) -> Post {
    let voc = cx.vocabulary;
    let mut post = Post::default();
    // What is 0 here is 0 on every focused structure (Embedding Theorem): nothing to do.
    match enabled(voc, action, s) {
        Ok(bindings) if bindings.is_empty() => return post,
        Ok(_) | Err(TooMany) => {}
    }
    for focused in focus_and_coerce(cx, action, s, &mut post) {
        let Ok(bindings) = enabled(voc, action, &focused) else {
            // Too many bindings to try: the results would be incomplete.
            post.too_large = true;
            return post;
        };
        for binding in bindings {
            let mut bound = focused.clone();
            for u in &binding {
                bound.set(voc, PredId::AC, &[*u], Kleene::True);
            }
            give(voc, &action.messages, 0, &bound, &binding, &mut post);
            if let Some((_, plan)) = &action.halt {
                post.halted |= plan.value(voc, &bound, &binding).must();
            }
            finish(cx, action, &bound, &binding, &mut post);
        }
    }
    post
}

/// What focus makes of a structure, where the action may then be taken.
pub(crate) fn focused(cx: &Context<'_>, action: &Action, s: &Structure) -> Vec<Structure> {
    let may_be_taken =
        |f: &Structure| enabled(cx.vocabulary, action, f).is_ok_and(|b| !b.is_empty());
    let all = focus_and_coerce(cx, action, s, &mut Post::default());
    all.into_iter().filter(may_be_taken).collect()
}

fn focus_and_coerce(
    cx: &Context<'_>,
    action: &Action,
    s: &Structure,
    post: &mut Post,
) -> Vec<Structure> {
    let voc = cx.vocabulary;
    let mut structures = vec![(s.clone(), Dirty::none(voc))];
    for plan in &action.focus_plans {
        let mut next = Vec::new();
        for (s, dirty) in structures {
            let focused = plan.focus(voc, s, dirty);
            post.focus_gave_up |= focused.gave_up;
            // Coercing between formulas drops impossible cases before they are split again.
            for (mut s, dirty) in focused.structures {
                // What is 0 now stays 0, however the structure is split.
                if enabled(voc, action, &s).is_ok_and(|b| b.is_empty()) {
                    continue;
                }
                post.intermediate += 1;
                if cx.rules.coerce(voc, &mut s, dirty).is_ok() {
                    next.push((s, Dirty::none(voc)));
                }
            }
        }
        structures = next;
    }
    structures.into_iter().map(|(s, _)| s).collect()
}

/// The bindings of the precondition's variables for which it is 1 or 1/2.
fn enabled(voc: &Vocabulary, action: &Action, s: &Structure) -> Result<Vec<Vec<usize>>, TooMany> {
    if let Some(binder) = &action.binder {
        return binder.find(voc, s);
    }
    let Some(plan) = &action.precondition_plan else {
        return Ok(vec![vec![]]);
    };
    if plan.result_too_wide(s.len()) {
        return Err(TooMany);
    }
    let k = action.bindings.len();
    let t = plan.eval(voc, s, &[]);
    let (existing, _) = s.word(voc, PredId::AC);
    let mut out = Vec::new();
    for (row, word) in t.may.iter().enumerate() {
        for bit in bits(*word) {
            let tuple = tuple_at(row, bit, k, s.len());
            if tuple.iter().all(|u| existing >> u & 1 == 1) {
                out.push(tuple);
            }
        }
    }
    Ok(out)
}

fn give(
    voc: &Vocabulary,
    messages: &[Message],
    first: usize,
    s: &Structure,
    binding: &[usize],
    post: &mut Post,
) {
    for (i, m) in messages.iter().enumerate() {
        let value = m.plan.value(voc, s, binding);
        if m.only.is_some() && value == Kleene::Half {
            post.doubtful.get_or_insert_with(|| m.text.clone());
        }
        if m.fires(value) {
            post.reports.push(Report {
                message: first + i,
                value,
                structure: s.clone(),
            });
        }
    }
}

fn finish(cx: &Context<'_>, action: &Action, s: &Structure, binding: &[usize], post: &mut Post) {
    let voc = cx.vocabulary;
    let Ok((mut new, dirty)) = update(voc, cx.instrumentation, action, s, binding) else {
        post.too_large = true;
        return;
    };
    post.intermediate += 1;
    if let Err(breach) = cx.rules.coerce(voc, &mut new, dirty) {
        post.discarded.push(breach);
        return;
    }
    let result = if cx.join == Join::Conc {
        new
    } else {
        blur(voc, &new)
    };
    if !action.post_messages.is_empty() {
        // A message after the update is about the whole result; the bound variables of the
        // precondition do not survive the blur.
        give(
            voc,
            &action.post_messages,
            action.messages.len(),
            &result,
            &[],
            post,
        );
    }
    post.structures.push(result);
}
