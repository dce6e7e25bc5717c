//! *Divergence*: refinement that adds one constant per round (`x = 1`, `x = 2`,
//! ...) never ends. Data-driven atoms answer it (shared/ref/lessons.md, 4): the
//! path is executed on terms, and where the sum or difference of two variables
//! has the same constant value at every visit of a location vector, at least
//! [`MIN_VISITS`] times, that equation becomes a predicate.

use std::collections::{BTreeMap, BTreeSet};

use palisade_abstraction::command::Commands;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_checker::search::Path;
use palisade_logic::substitute::Substitution;
use palisade_logic::{Atom, Formula, Term, Var};
use palisade_program::{Init, LocId};

/// Visits of a control that make a relation credible.
const MIN_VISITS: usize = 3;
/// Most relations added at once.
const MAX_RELATIONS: usize = 12;

/// Equations between two variables that hold at every visit of some control of
/// the path.
pub fn relations(
    space: &Space<'_>,
    commands: &Commands<'_>,
    path: &Path,
    known: &Predicates,
) -> BTreeSet<Atom> {
    let mut visits: BTreeMap<&[LocId], Vec<Vec<Option<i128>>>> = BTreeMap::new();
    let mut values = Substitution::default();
    for (slot, s) in space.slots.iter().enumerate() {
        if let (Init::Value(v), None) = (s.init, &s.explicit) {
            values.set(Var(slot as u32), Term::constant(v));
        }
    }
    for (i, (control, _)) in path.states.iter().enumerate() {
        let row = (0..space.slots.len())
            .map(|slot| constant(space, &values, slot, control))
            .collect();
        visits.entry(&control.pcs).or_default().push(row);
        let Some(&branch) = path.branches.get(i) else {
            break;
        };
        let branch = commands.branch(branch);
        let mut updated = Vec::new();
        for var in &branch.written {
            let term = branch
                .updates
                .get(*var)
                .cloned()
                .unwrap_or_else(|| Term::var(*var));
            // What cannot be computed is unknown: itself.
            updated.push((
                *var,
                term.substitute(&values).unwrap_or_else(|_| Term::var(*var)),
            ));
        }
        for (var, term) in updated {
            values.set(var, term);
        }
    }
    let mut atoms = BTreeSet::new();
    for rows in visits.values().filter(|rows| rows.len() >= MIN_VISITS) {
        for (a, b) in pairs(space) {
            for sign in [-1, 1] {
                if let Some(c) = common(rows, a, b, sign)
                    && let Some(atom) = equation(a, b, sign, c)
                    && known.find(&atom).is_none()
                    && atoms.len() < MAX_RELATIONS
                {
                    atoms.insert(atom);
                }
            }
        }
    }
    atoms
}

fn constant(
    space: &Space<'_>,
    values: &Substitution,
    slot: usize,
    control: &palisade_abstraction::space::Control,
) -> Option<i128> {
    let live = space.is_live_at(slot, &control.pcs);
    values.get(Var(slot as u32)).filter(|_| live)?.as_constant()
}

/// Pairs of data variables.
fn pairs(space: &Space<'_>) -> impl Iterator<Item = (usize, usize)> + use<> {
    let data: Vec<usize> = (0..space.slots.len())
        .filter(|s| space.slots[*s].explicit.is_none())
        .collect();
    let all = data.clone();
    data.into_iter().flat_map(move |a| {
        all.clone()
            .into_iter()
            .filter(move |b| *b > a)
            .map(move |b| (a, b))
    })
}

/// The value of `a + sign * b` if it is the same in all rows while `a` is not.
fn common(rows: &[Vec<Option<i128>>], a: usize, b: usize, sign: i128) -> Option<i128> {
    let value = |row: &Vec<Option<i128>>| row[a]?.checked_add(sign.checked_mul(row[b]?)?);
    let first = value(&rows[0])?;
    let varied: BTreeSet<Option<i128>> = rows.iter().map(|row| row[a]).collect();
    (varied.len() >= MIN_VISITS && rows.iter().all(|row| value(row) == Some(first)))
        .then_some(first)
}

fn equation(a: usize, b: usize, sign: i128, c: i128) -> Option<Atom> {
    let a = Term::var(Var(a as u32));
    let b = Term::var(Var(b as u32)).times(sign).ok()?;
    let sum = a.plus(&b).ok()?;
    let equal = Formula::eq(&sum, &Term::wide_constant(c).ok()?).ok()?;
    equal.atoms().into_iter().next()
}
