//! Worlds of an abstract structure: small concrete structures that embed in it.
//!
//! Place: below [`crate::explore`] and `confirm`. Every summary object becomes one or a
//! few objects, every unknown value is decided, rules pruning on the way; what remains is
//! checked by the naive evaluator (definitions, axioms, embedding), so a wrong coerce could
//! only lose worlds.

use crate::coerce::{Dirty, tuple_at};
use crate::concrete::define;
use crate::explore::Bounds;
use crate::isomorphism::canonical;
use crate::kleene::Kleene;
use crate::model::Model;
use crate::naive::World;
use crate::rules::Source;
use crate::structure::Structure;
use crate::vocabulary::PredId;
use rustc_hash::FxHashSet;

/// Worlds are not larger than this, because the naive evaluator is cubic and worse, but where
/// a structure has no smaller ones and the formulas are simple ([`affordable`]).
pub(crate) const LARGEST: usize = 12;

/// Assignments that one formula may have in a larger world.
const MOST_ASSIGNMENTS: usize = 1 << 23;

/// Whether the naive evaluator can look at worlds of `n` objects.
fn affordable(model: &Model, n: usize) -> bool {
    let assignments = n.checked_pow(u32::try_from(model.nesting()).unwrap_or(u32::MAX));
    assignments.is_some_and(|a| a <= MOST_ASSIGNMENTS)
}

/// Small concrete worlds that embed in a structure.
pub fn worlds(model: &Model, s: &Structure, bounds: &Bounds) -> Vec<World> {
    let mut out: Vec<World> = Vec::new();
    each_world(model, s, bounds, &mut |w| {
        out.push(w);
        true
    });
    out
}

/// Whether a structure has a small world.
pub(crate) fn has_world(model: &Model, s: &Structure, bounds: &Bounds) -> bool {
    let mut found = false;
    each_world(model, s, bounds, &mut |_| {
        found = true;
        false
    });
    found
}

/// Calls `see` with one world after another until it returns false.
pub(crate) fn each_world(
    model: &Model,
    s: &Structure,
    bounds: &Bounds,
    see: &mut impl FnMut(World) -> bool,
) {
    let voc = &model.vocabulary;
    let abstracted = World::of(voc, s);
    let mut found = 0;
    let mut seen: FxHashSet<Structure> = FxHashSet::default();
    let mut decisions = 0;
    for objects in copies(model, s, bounds) {
        if !voc.fits(objects.len()) {
            continue;
        }
        let mut concrete = s.select(voc, &objects);
        for u in 0..concrete.len() {
            concrete.set(voc, PredId::SM, &[u], Kleene::False);
            concrete.set(voc, PredId::AC, &[u], Kleene::True);
        }
        let mut stack = vec![(concrete, Dirty::all(voc))];
        while let Some((mut c, dirty)) = stack.pop() {
            decisions += 1;
            if decisions > bounds.decisions || found >= bounds.worlds {
                return;
            }
            if model.rules.coerce(voc, &mut c, dirty).is_err() {
                continue;
            }
            let Some((p, tuple)) = undecided(model, &c) else {
                let w = World::of(voc, &c);
                if genuine(model, &w, &abstracted) && seen.insert(canonical(voc, &c)) {
                    found += 1;
                    if !see(w) {
                        return;
                    }
                }
                continue;
            };
            for value in [Kleene::True, Kleene::False] {
                let mut next = c.clone();
                next.set(voc, p, &tuple, value);
                let mut dirty = Dirty::none(voc);
                dirty.mark(p);
                stack.push((next, dirty));
            }
        }
    }
}

/// The ways to choose how many objects each summary object stands for, small ones first.
fn copies(model: &Model, s: &Structure, bounds: &Bounds) -> Vec<Vec<usize>> {
    let voc = &model.vocabulary;
    let mut out: Vec<Vec<usize>> = vec![vec![]];
    // A structure with many objects still has worlds, if not small ones.
    let fewest = s.active(voc).count_ones() as usize;
    let most = if fewest > LARGEST && affordable(model, fewest) {
        fewest
    } else {
        LARGEST
    };
    let copied = s.summaries(voc).count_ones() as usize * (bounds.least.max(1) - 1);
    let room = bounds.objects.max(s.len() + copied.max(1)).min(most);
    for u in 0..s.len() {
        let summary = s.is_summary(voc, u);
        let least = match s.get(voc, PredId::AC, &[u]) == Kleene::True {
            true if summary => bounds.least,
            there => usize::from(there),
        };
        let most = if summary { bounds.copies } else { 1 };
        out = out
            .iter()
            .flat_map(|list| (least..=most).map(move |k| [list.clone(), vec![u; k]].concat()))
            .filter(|list| list.len() <= room)
            .collect();
        if out.len() > 200 {
            out.truncate(200);
        }
    }
    out.sort_by_key(Vec::len);
    out
}

/// A value that is unknown, core predicates first.
fn undecided(model: &Model, s: &Structure) -> Option<(PredId, Vec<usize>)> {
    let voc = &model.vocabulary;
    let find = |defined: bool| {
        voc.ids()
            .filter(|p| voc.get(*p).definition.is_some() == defined)
            .find_map(|p| {
                let (may, must) = s.planes(voc, p);
                let row = (0..may.len()).find(|r| may[*r] & !must[*r] != 0)?;
                let bit = (may[row] & !must[row]).trailing_zeros() as usize;
                Some((p, tuple_at(row, bit, voc.get(p).arity, s.len())))
            })
    };
    find(false).or_else(|| find(true))
}

/// Whether a world is what its definitions say, satisfies the axioms, and embeds.
fn genuine(model: &Model, w: &World, abstracted: &World) -> bool {
    let voc = &model.vocabulary;
    let mut defined = w.clone();
    define(voc, &mut defined);
    defined == *w
        && model
            .axioms
            .iter()
            .all(|a| a.source == Source::Definition || w.satisfies_for(&a.vars, &a.formula))
        && w.embeds_in(voc, abstracted)
}
