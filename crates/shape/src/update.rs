//! Update: the structure after an action, for one binding of its variables.
//!
//! Place: middle step of [`crate::transfer`]. Paper: [Friggens and Groves, arXiv 2015, section 2]
//! (TVLA's predicate-update formulas).
//!
//! All formulas read the structure before the action, extended by created objects. A core
//! predicate without an update keeps its value; an instrumentation predicate without one is
//! computed by `differencing.rs`, and on created objects by its definition, whatever
//! the model says about differencing: a stale value would be a wrong one.

use crate::action::{Action, Creation, Updated};
use crate::coerce::{Dirty, Shift};
use crate::differencing::{Change, ClosureIndex, difference};
use crate::eval::{Plan, Table};
use crate::flat::Flat;
use crate::kleene::Kleene;
use crate::structure::{Structure, bits};
use crate::vocabulary::{PredId, Vocabulary};

/// What updates need to know about a vocabulary.
#[derive(Clone, Debug)]
pub struct Instrumentation {
    /// Defined predicates in order of dependency, with their compiled definitions and the
    /// predicates they mention.
    defined: Vec<Defined>,
    closures: ClosureIndex,
    is_new: Option<PredId>,
    instance: Option<PredId>,
}

#[derive(Clone, Debug)]
struct Defined {
    predicate: PredId,
    plan: Plan,
    /// The faster way, where the definition fits.
    flat: Option<Flat>,
    uses: Vec<PredId>,
    universe: bool,
}

impl Instrumentation {
    /// Compiles all definitions. `None` when one nests too many variables.
    pub fn new(voc: &Vocabulary) -> Option<Self> {
        let mut defined = Vec::new();
        for p in voc.instrumentation() {
            let def = voc.get(p).definition.as_ref().expect("instrumentation");
            let mut uses = Vec::new();
            def.formula.each_predicate(&mut |q| uses.push(q));
            uses.sort_unstable();
            uses.dedup();
            let plan = Plan::plain(&def.formula, &def.args, &[])?;
            defined.push(Defined {
                predicate: p,
                flat: Flat::new(voc, &plan),
                plan,
                uses,
                universe: def.formula.depends_on_universe(),
            });
        }
        Some(Self {
            defined,
            closures: ClosureIndex::new(voc),
            is_new: voc.find("isNew"),
            instance: voc.find("instance"),
        })
    }
}

/// The structure grew beyond the size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Applies the action for one binding; the result is to be coerced by what is dirty.
pub(crate) fn update(
    voc: &Vocabulary,
    info: &Instrumentation,
    action: &Action,
    s: &Structure,
    binding: &[usize],
) -> Result<(Structure, Dirty), TooLarge> {
    let before = s.len();
    let ext = extend(voc, info, action, s, binding)?;
    let n = ext.len();
    let created = crate::structure::mask(n) & !crate::structure::mask(before);
    let mut dirty = if created == 0 {
        Dirty::none(voc)
    } else {
        Dirty::all(voc)
    };

    let mut new = ext.clone();
    let mut plus = Structure::new(voc, n);
    plus.set_word(voc, PredId::AC, (0, 0));
    let mut minus = plus.clone();
    let mut changed = Changed(vec![false; voc.len()]);
    for u in &action.updates {
        let old = whole(voc, &ext, u.predicate);
        let full = full_word(&ext, voc, u.predicate);
        let yes = u.when_true.eval(voc, &ext, binding);
        let no = if u.shannon {
            u.when_false.eval(voc, &ext, binding)
        } else {
            yes.clone()
        };
        let value = Updated::new(&old, &yes, &no, full);
        if value.new != old
            || value
                .plus
                .may
                .iter()
                .chain(value.minus.may.iter())
                .any(|w| *w != 0)
        {
            write(voc, &mut new, u.predicate, &value.new);
            write(voc, &mut plus, u.predicate, &value.plus);
            write(voc, &mut minus, u.predicate, &value.minus);
            changed.0[u.predicate.index()] = true;
            dirty.shift(u.predicate, Shift::between(&old, &value.new));
        }
    }
    let removed = retain(voc, action, s, binding, &mut new, &mut dirty);
    differentiate(
        voc,
        info,
        action,
        Sides {
            ext: &ext,
            new: &mut new,
            plus: &mut plus,
            minus: &mut minus,
            created,
        },
        changed,
        removed || created != 0,
        &mut dirty,
    );
    finish(voc, info, &mut new);
    Ok((new, dirty))
}

/// The predicates that an action may have changed.
struct Changed(Vec<bool>);

impl Changed {
    fn any(&self, of: &[PredId]) -> bool {
        of.iter().any(|p| self.0[p.index()])
    }

    fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }
}

/// The structures of an update in progress.
struct Sides<'a> {
    ext: &'a Structure,
    new: &'a mut Structure,
    plus: &'a mut Structure,
    minus: &'a mut Structure,
    created: u64,
}

/// Computes the instrumentation predicates that the action does not update.
fn differentiate(
    voc: &Vocabulary,
    info: &Instrumentation,
    action: &Action,
    sides: Sides<'_>,
    mut changed: Changed,
    universe: bool,
    dirty: &mut Dirty,
) {
    if changed.is_empty() && !universe {
        return;
    }
    let Sides {
        ext,
        new,
        plus,
        minus,
        created,
    } = sides;
    let mut old = ext.clone();
    if created != 0 {
        let (may, must) = old.word(voc, PredId::AC);
        old.set_word(voc, PredId::AC, (may & !created, must & !created));
        for d in &info.defined {
            let value = d.plan.eval(voc, &old, &[]);
            merge_created(voc, &mut old, d.predicate, &value, created);
        }
    }
    for d in &info.defined {
        let given = action.updates.iter().any(|u| u.predicate == d.predicate);
        let concerned = changed.any(&d.uses) || universe && d.universe;
        if given || !concerned && created == 0 {
            continue;
        }
        let change = Change {
            voc,
            old: &old,
            new,
            plus,
            minus,
        };
        let stored = whole(voc, &old, d.predicate);
        let diff = match &d.flat {
            Some(flat) => flat.difference(&change, &stored),
            None => difference(&change, &info.closures, &d.plan, &stored),
        };
        let still = |t: &Table| t.may.iter().all(|w| *w == 0);
        if diff.new == stored && created == 0 && still(&diff.plus) && still(&diff.minus) {
            continue;
        }
        dirty.shift(d.predicate, Shift::between(&stored, &diff.new));
        changed.0[d.predicate.index()] = true;
        write(voc, new, d.predicate, &diff.new);
        write(voc, plus, d.predicate, &diff.plus);
        write(voc, minus, d.predicate, &diff.minus);
    }
}

/// Writes the values of tuples that contain a created object.
fn merge_created(voc: &Vocabulary, s: &mut Structure, p: PredId, value: &Table, created: u64) {
    let arity = voc.get(p).arity;
    if arity == 0 {
        return;
    }
    let n = s.len();
    let (may, must) = s.planes_mut(voc, p);
    for row in 0..may.len() {
        let mut rest = row;
        let mut fresh = false;
        for _ in 1..arity {
            fresh |= created >> (rest % n) & 1 == 1;
            rest /= n;
        }
        let take = if fresh { u64::MAX } else { created };
        may[row] = may[row] & !take | value.may[row] & take;
        must[row] = must[row] & !take | value.must[row] & take;
    }
}

/// Deletes the objects that are not retained: their `ac` becomes 0, or 1/2 where unknown.
/// Returns whether any did.
fn retain(
    voc: &Vocabulary,
    action: &Action,
    s: &Structure,
    binding: &[usize],
    new: &mut Structure,
    dirty: &mut Dirty,
) -> bool {
    let Some(kept) = &action.retain else {
        return false;
    };
    let t = kept.plan.eval(voc, s, binding);
    let old = s.universe();
    let (may, must) = new.word(voc, PredId::AC);
    let now = (may & (t.may[0] | !old), must & (t.must[0] | !old));
    if now == (may, must) {
        return false;
    }
    new.set_word(voc, PredId::AC, now);
    dirty.mark_universe();
    true
}

/// Drops objects that are gone and the values of the temporary predicates.
fn finish(voc: &Vocabulary, info: &Instrumentation, new: &mut Structure) {
    for p in [info.is_new, info.instance].into_iter().flatten() {
        let (may, must) = new.planes_mut(voc, p);
        may.fill(0);
        must.fill(0);
    }
    let (existing, _) = new.word(voc, PredId::AC);
    if existing != new.universe() {
        let keep: Vec<usize> = bits(existing).collect();
        *new = new.select(voc, &keep);
    }
}

/// The structure with created and cloned objects.
fn extend(
    voc: &Vocabulary,
    info: &Instrumentation,
    action: &Action,
    s: &Structure,
    binding: &[usize],
) -> Result<Structure, TooLarge> {
    let mut out = s.clone();
    match &action.create {
        None => {}
        Some(Creation::One) => {
            if !voc.fits(s.len() + 1) {
                return Err(TooLarge);
            }
            out = out.extend(voc, 1);
            mark_new(voc, info, &mut out, s.len(), None);
        }
        Some(Creation::Each(_, _, plan)) => {
            let t = plan.eval(voc, s, binding);
            out = create_each(voc, info, &out, &t, false)?;
        }
    }
    if let Some(cloned) = &action.cloned {
        let t = cloned.plan.eval(voc, s, binding);
        out = create_each(voc, info, &out, &t, true)?;
    }
    Ok(out)
}

/// One created object for every object of the table; clones copy the values among themselves.
fn create_each(
    voc: &Vocabulary,
    info: &Instrumentation,
    s: &Structure,
    chosen: &Table,
    copy: bool,
) -> Result<Structure, TooLarge> {
    let originals: Vec<usize> = bits(chosen.may[0]).collect();
    let first = s.len();
    if !voc.fits(first + originals.len()) {
        return Err(TooLarge);
    }
    let mut out = s.extend(voc, originals.len());
    for (i, u) in originals.iter().enumerate() {
        let summary = s.get(voc, PredId::SM, &[*u]);
        let active = s
            .get(voc, PredId::AC, &[*u])
            .and(Kleene::from_bits(true, chosen.must[0] >> u & 1 == 1));
        out.set(voc, PredId::SM, &[first + i], summary);
        out.set(voc, PredId::AC, &[first + i], active);
        mark_new(voc, info, &mut out, first + i, Some(*u));
    }
    if copy {
        let part = s.select(voc, &originals);
        for p in voc.ids() {
            let arity = voc.get(p).arity;
            if arity == 0 || p == PredId::SM || p == PredId::AC {
                continue;
            }
            if Some(p) == info.is_new || Some(p) == info.instance {
                continue;
            }
            let m = originals.len();
            for index in 0..m.pow(arity as u32) {
                let tuple = crate::coerce::tuple_at(index / m, index % m, arity, m);
                let shifted: Vec<usize> = tuple.iter().map(|i| i + first).collect();
                out.set(voc, p, &shifted, part.get(voc, p, &tuple));
            }
        }
    }
    Ok(out)
}

fn mark_new(
    voc: &Vocabulary,
    info: &Instrumentation,
    s: &mut Structure,
    object: usize,
    of: Option<usize>,
) {
    if let Some(p) = info.is_new {
        s.set(voc, p, &[object], Kleene::True);
    }
    if let (Some(p), Some(original)) = (info.instance, of) {
        // instance(new, old), which is what TVLA's models read; a copy of a summary object
        // stands beside each of several originals, so only its own original is meant.
        let value = if s.is_summary(voc, original) {
            Kleene::Half
        } else {
            Kleene::True
        };
        s.set(voc, p, &[object, original], value);
    }
}

/// A predicate's planes as a table.
pub(crate) fn whole(voc: &Vocabulary, s: &Structure, p: PredId) -> Table {
    let (may, must) = s.planes(voc, p);
    Table {
        may: may.into(),
        must: must.into(),
    }
}

fn full_word(s: &Structure, voc: &Vocabulary, p: PredId) -> u64 {
    if voc.get(p).arity == 0 {
        1
    } else {
        s.universe()
    }
}

/// Writes a table over the arguments in order into a predicate's planes.
fn write(voc: &Vocabulary, s: &mut Structure, p: PredId, t: &Table) {
    let (may, must) = s.planes_mut(voc, p);
    may.copy_from_slice(&t.may);
    must.copy_from_slice(&t.must);
}
