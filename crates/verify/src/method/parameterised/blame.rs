//! *Blame*: which predicates a search over views has lacked. Views know less than a
//! search with a few copies, so a run of views that fails need not be one of these, and
//! refinement of runs does not see what was missing. Here the failed run of views is
//! gone through backwards: what its end asks for, and the weakest preconditions of that
//! by the steps before, whether they are of threads that are seen or of another copy.
//! The atoms of each step are one layer; the nearest layer with something new is
//! what is tried next. Copies change places along a run of views, so that an atom is
//! always meant of all choices of copies.
//!
//! Instead of a weakest precondition with a remainder (`(x + 1) % 2^32`) the same
//! without it is taken, and the range of `x`, or the bounds between which the two agree.

use std::collections::BTreeSet;

use palisade_abstraction::command::Branch;
use palisade_abstraction::renaming::instances;
use palisade_abstraction::space::{SlotKind, Space};
use palisade_checker::search::Target;
use palisade_checker::views::Failure;
use palisade_logic::{Atom, Formula, Int, Key, Relation, Term, Var};

use crate::method::cegar::refine::comparisons;

/// Most atoms that are followed backwards.
const MOST_FOLLOWED: usize = 48;
/// Most variables of an atom that is taken.
const MOST_VARS: usize = 3;

/// A layer of atoms, over the variables of a space.
pub(crate) struct Layer<'s> {
    /// The space.
    pub(crate) space: &'s Space<'s>,
    /// The atoms.
    pub(crate) atoms: BTreeSet<Atom>,
}

/// The atoms that `failure` lacked, nearest to its end first; `base` is the space of
/// views, and `step` says for each of its steps the space and the branch.
pub(crate) fn layers<'s>(
    base: &'s Space<'s>,
    failure: &Failure,
    steps: &[(&'s Space<'s>, std::rc::Rc<Branch>)],
) -> Vec<Layer<'s>> {
    let mut wanted: BTreeSet<Atom> = BTreeSet::new();
    let mut layers = Vec::new();
    if let Target::Property(_, formula) = &failure.target {
        wanted = useful(base, &formula.atoms());
        layers.push(Layer {
            space: base,
            atoms: wanted.clone(),
        });
    }
    for (space, branch) in steps.iter().rev() {
        let mut atoms = branch.guard.atoms();
        for atom in &wanted {
            for image in instances(base, space, atom) {
                if let Ok(before) = Formula::from(image).substitute(&branch.updates) {
                    atoms.extend(before.atoms());
                }
            }
        }
        let atoms = useful(space, &atoms);
        for atom in &atoms {
            wanted.extend(instances(space, base, atom).into_iter().next());
        }
        while wanted.len() > MOST_FOLLOWED {
            wanted.pop_last();
        }
        layers.push(Layer { space, atoms });
    }
    layers
}

/// What `atoms` over `space` suggest: the same without remainders, the order of the
/// variables that they compare, and, where a shared variable equals a local of a copy,
/// that the locals of two copies are equal, which follows if it equals both.
pub(crate) fn relations(space: &Space<'_>, atoms: &BTreeSet<Atom>) -> BTreeSet<Atom> {
    let mut all = useful(space, atoms);
    let more: BTreeSet<Atom> = all.iter().filter_map(|a| of_two_copies(space, a)).collect();
    all.extend(comparisons(space, &all));
    all.extend(more);
    all
}

/// For `shared = local + c` the equation of this local of two copies.
fn of_two_copies(space: &Space<'_>, atom: &Atom) -> Option<Atom> {
    let [(Key::Var(a), c), (Key::Var(b), d)] = atom.sum().as_ref() else {
        return None;
    };
    if atom.relation() != Relation::Eq || c + d != 0 {
        return None;
    }
    let kind = |var: &Var| space.slots.get(var.0 as usize).map(|s| s.kind);
    let (thread, local) = match (kind(a)?, kind(b)?) {
        (SlotKind::Cell(_), SlotKind::Local(thread, local))
        | (SlotKind::Local(thread, local), SlotKind::Cell(_)) => (thread, local),
        (SlotKind::Cell(_), SlotKind::Cell(_)) | (SlotKind::Local(..), SlotKind::Local(..)) => {
            return None;
        }
    };
    let own = space.threads[thread];
    let other = |t: &usize| *t != thread && space.threads[*t].template == own.template;
    let other = (0..space.threads.len()).find(other)?;
    let term = |thread: usize| Term::var(Var(space.local_slot(thread, local) as u32));
    let equation = Formula::eq(&term(thread), &term(other)).ok()?;
    equation.atoms().pop_first()
}

/// Those of `atoms` over data, each also without remainders.
fn useful(space: &Space<'_>, atoms: &BTreeSet<Atom>) -> BTreeSet<Atom> {
    let is_data = |var: &Var| {
        let slot = space.slots.get(var.0 as usize);
        slot.is_some_and(|s| s.explicit.is_none())
    };
    let fits = |atom: &Atom| {
        let vars = Formula::from(atom.clone()).free_vars();
        !vars.is_empty() && vars.len() <= MOST_VARS && vars.iter().all(is_data)
    };
    let mut all = BTreeSet::new();
    for atom in atoms {
        let plain = without_remainders(atom);
        if plain.is_empty() {
            all.insert(atom.clone());
        }
        all.extend(plain);
    }
    all.retain(fits);
    all
}

/// For an atom over remainders: the same over what they are the remainders of, and the
/// bounds within which that makes no difference. Nothing for other atoms.
fn without_remainders(atom: &Atom) -> BTreeSet<Atom> {
    let mut all = BTreeSet::new();
    let mut current = BTreeSet::from([atom.clone()]);
    // Remainders of remainders are rarely deeper.
    for _ in 0..2 {
        let mut next = BTreeSet::new();
        for atom in &current {
            match unwrapped(atom) {
                Some(found) => next.extend(found),
                None => drop(all.insert(atom.clone())),
            }
        }
        current = next;
    }
    all.extend(current);
    all.remove(atom);
    all
}

/// One step of [`without_remainders`]: the first remainder of the atom's sum.
fn unwrapped(atom: &Atom) -> Option<BTreeSet<Atom>> {
    let term = atom.term();
    let (key, factor) = term
        .sum()
        .iter()
        .find(|(key, _)| matches!(key, Key::Mod(..)))?;
    let Key::Mod(inner, modulus) = key else {
        return None;
    };
    // `x - 1` modulo m is written as `x + m - 1`.
    let round: Int = if inner.offset() > modulus / 4 * 3 {
        -*modulus
    } else {
        0
    };
    let value = inner.plus_constant(round).ok()?;
    let rest = term.sum().iter().filter(|(k, _)| k != key).cloned();
    let rest = Term::of_parts(rest.collect(), term.offset()).ok()?;
    let plain = rest.plus(&value.times(*factor).ok()?).ok()?;
    let mut all = Formula::compare(&plain, atom.relation()).ok()?.atoms();
    let (least, greatest) = (0, modulus - 1);
    let bounds = match inner.sum().as_ref() {
        // The range of the variable's type: that a step keeps, other bounds move with it.
        [(Key::Var(var), 1)] if is_signed(inner, *modulus) => {
            (Term::var(*var), least - modulus / 2, greatest - modulus / 2)
        }
        [(Key::Var(var), 1)] => (Term::var(*var), least, greatest),
        _ => (value, least, greatest),
    };
    all.extend(between(bounds)?);
    Some(all)
}

/// Whether a remainder is that of signed numbers: they are moved by half the modulus.
fn is_signed(inner: &Term, modulus: Int) -> bool {
    (modulus / 4..=modulus / 4 * 3).contains(&inner.offset())
}

fn between((term, least, greatest): (Term, Int, Int)) -> Option<BTreeSet<Atom>> {
    let mut all = Formula::ge(&term, &Term::wide_constant(least).ok()?)
        .ok()?
        .atoms();
    let greatest = Term::wide_constant(greatest).ok()?;
    all.extend(Formula::le(&term, &greatest).ok()?.atoms());
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Var = Var(0);
    const Y: Var = Var(1);

    fn atoms(formula: Result<Formula, palisade_logic::Overflow>) -> BTreeSet<Atom> {
        formula.expect("small numbers").atoms()
    }

    /// The atoms of `y <= (x + by) % 2^32 - less`, without remainders.
    fn plain(by: Int, less: Int) -> BTreeSet<Atom> {
        let sum = Term::var(X).plus_constant(by).expect("small");
        let wrapped = sum.modulo(1 << 32).expect("small");
        let right = wrapped.plus_constant(-less).expect("small");
        let atom = atoms(Formula::le(&Term::var(Y), &right)).pop_first();
        without_remainders(&atom.expect("a comparison"))
    }

    fn expected(by: Int, least: Int, greatest: Int) -> BTreeSet<Atom> {
        let right = Term::var(X).plus_constant(by).expect("small");
        let mut all = atoms(Formula::le(&Term::var(Y), &right));
        all.extend(between((Term::var(X), least, greatest)).expect("small"));
        all
    }

    #[test]
    fn unsigned_numbers_lose_their_remainders() {
        assert_eq!(plain(1, 0), expected(1, 0, (1 << 32) - 1));
        assert_eq!(plain(-1, 0), expected(-1, 0, (1 << 32) - 1));
    }

    #[test]
    fn signed_numbers_lose_their_remainders() {
        let half: Int = 1 << 31;
        assert_eq!(plain(half + 1, half), expected(1, -half, half - 1));
        assert_eq!(plain(half - 1, half), expected(-1, -half, half - 1));
    }

    #[test]
    fn other_atoms_stay() {
        let atom = atoms(Formula::le(&Term::var(X), &Term::var(Y))).pop_first();
        assert!(without_remainders(&atom.expect("a comparison")).is_empty());
    }
}
