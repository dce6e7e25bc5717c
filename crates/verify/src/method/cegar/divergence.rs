//! *Divergence*: refinement that adds one constant per round (`x = 1`, `x = 2`,
//! ...) never ends. Three answers. [`Bounds`] notices a sum that gets ever new
//! bounds and offers the program's own constants instead. From then on [`conditions`]
//! of the path are taken as well: a loop of a million rounds is left too early on
//! every path, so that no reason why a path is none speaks of what comes after it. Data-driven
//! atoms: the path is executed on terms, and where a linear
//! relation of two or three variables holds at every visit of a location vector,
//! at least `MIN_VISITS` times, it becomes a predicate.

use std::collections::{BTreeMap, BTreeSet};

use palisade_abstraction::command::Commands;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_checker::search::{Path, Target};
use palisade_logic::substitute::Substitution;
use palisade_logic::term::Sum as LogicSum;
use palisade_logic::{Atom, Formula, Relation, Term, Var};
use palisade_program::{Init, LocId, Program};

/// Visits of a control that make a relation credible.
const MIN_VISITS: usize = 3;
/// Bounds of one sum after which new ones are suspect.
const MAX_BOUNDS: usize = 8;
/// Most variables considered for relations of three.
const MAX_IN_TRIPLES: usize = 8;
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
        let sums = pairs(space).filter_map(|(a, b)| pair_sums(rows, a, b));
        for sum in sums.chain(triple_sums(space, rows)) {
            if let Some(atom) = equation(rows, &sum)
                && known.find(&atom).is_none()
                && atoms.len() < MAX_RELATIONS
            {
                atoms.insert(atom);
            }
        }
    }
    atoms
}

/// The atoms of the conditions on a path, and of what is violated at its end.
pub fn conditions(space: &Space<'_>, commands: &Commands<'_>, path: &Path) -> BTreeSet<Atom> {
    let guards = path.branches.iter().map(|&b| &commands.branch(b).guard);
    let target = match &path.target {
        Target::Property(_, formula) => Some(formula),
        Target::Assert(_) => None,
    };
    let is_data = |var: &Var| (var.0 as usize) < space.slots.len();
    let atoms = guards.chain(target).flat_map(Formula::atoms);
    atoms
        .filter(|atom| Formula::from(atom.clone()).free_vars().iter().all(is_data))
        .collect()
}

/// A sum of variables with coefficients.
type Sum = Vec<(usize, i128)>;
/// What the variables are at one visit.
type Row = Vec<Option<i128>>;

/// The sums of two variables that the first two visits suggest: `a - k b` with the
/// slope between them.
fn pair_sums(rows: &[Row], a: usize, b: usize) -> Option<Sum> {
    let (first, second) = (&rows[0], &rows[1]);
    let (da, db) = (
        second[a]?.checked_sub(first[a]?)?,
        second[b]?.checked_sub(first[b]?)?,
    );
    match (da, db) {
        (0, _) | (_, 0) => None,
        _ if da % db == 0 => Some(vec![(a, 1), (b, -(da / db))]),
        _ if db % da == 0 => Some(vec![(a, -(db / da)), (b, 1)]),
        _ => None,
    }
}

/// The sums `a - b - c` of three variables, all of which change.
fn triple_sums(space: &Space<'_>, rows: &[Row]) -> Vec<Sum> {
    let changing = |slot: &usize| {
        let values: BTreeSet<Option<i128>> = rows.iter().map(|row| row[*slot]).collect();
        values.len() > 1 && !values.contains(&None)
    };
    let data = data_slots(space).filter(changing).take(MAX_IN_TRIPLES);
    let data: Vec<usize> = data.collect();
    let mut sums = Vec::new();
    for &a in &data {
        for (i, &b) in data.iter().enumerate() {
            for &c in data[i + 1..].iter().filter(|c| **c != a && b != a) {
                sums.push(vec![(a, 1), (b, -1), (c, -1)]);
            }
        }
    }
    sums
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

fn data_slots<'a>(space: &'a Space<'_>) -> impl Iterator<Item = usize> + 'a {
    (0..space.slots.len()).filter(|s| space.slots[*s].explicit.is_none())
}

/// Pairs of data variables.
fn pairs(space: &Space<'_>) -> impl Iterator<Item = (usize, usize)> + use<> {
    let data: Vec<usize> = data_slots(space).collect();
    let all = data.clone();
    data.into_iter().flat_map(move |a| {
        all.clone()
            .into_iter()
            .filter(move |b| *b > a)
            .map(move |b| (a, b))
    })
}

/// The equation `sum = c`, if that holds in all rows and the first variable takes
/// enough values to make it credible.
fn equation(rows: &[Row], sum: &Sum) -> Option<Atom> {
    let value = |row: &Row| {
        sum.iter().try_fold(0_i128, |total, (slot, factor)| {
            total.checked_add(factor.checked_mul(row[*slot]?)?)
        })
    };
    let constant = value(&rows[0])?;
    let varied: BTreeSet<Option<i128>> = rows.iter().map(|row| row[sum[0].0]).collect();
    if varied.len() < MIN_VISITS || rows.iter().any(|row| value(row) != Some(constant)) {
        return None;
    }
    let mut term = Term::wide_constant(-constant).ok()?;
    for (slot, factor) in sum {
        term = term
            .plus(&Term::var(Var(*slot as u32)).times(*factor).ok()?)
            .ok()?;
    }
    Formula::eq(&term, &Term::constant(0))
        .ok()?
        .atoms()
        .into_iter()
        .next()
}

/// Whether refinement keeps inventing bounds for one sum, and what to try
/// instead: bounds that occur in the program.
#[derive(Debug, Default)]
pub struct Bounds {
    seen: BTreeMap<LogicSum, BTreeSet<i128>>,
    constants: BTreeSet<i128>,
    diverging: bool,
}

impl Bounds {
    /// With the constants of a program.
    pub fn of(program: &Program) -> Self {
        let mut constants = BTreeSet::from([0, 1]);
        let mut add = |c: i64| {
            constants.extend([i128::from(c), -i128::from(c)]);
        };
        for template in &program.templates {
            for edge in &template.cfg.edges {
                edge.step.for_each_expr(&mut |e| constants_of(e, &mut add));
            }
        }
        for property in &program.properties {
            constants_of(&property.cond, &mut add);
        }
        Self {
            seen: BTreeMap::new(),
            constants,
            diverging: false,
        }
    }

    /// Whether some sum has had too many bounds.
    pub fn is_diverging(&self) -> bool {
        self.diverging
    }

    /// Sorts out atoms whose sum has had too many bounds already and puts bounds
    /// from the program in their place.
    pub fn tame(&mut self, atoms: BTreeSet<Atom>) -> BTreeSet<Atom> {
        let mut kept = BTreeSet::new();
        for atom in atoms {
            let bounds = self.seen.entry(LogicSum::clone(atom.sum())).or_default();
            let known = bounds.contains(&atom.bound());
            if known || bounds.len() < MAX_BOUNDS || self.constants.contains(&atom.bound()) {
                bounds.insert(atom.bound());
                kept.insert(atom);
                continue;
            }
            self.diverging = true;
            for &c in &self.constants {
                for relation in [Relation::Le, Relation::Eq] {
                    kept.extend(atom.rebound(relation, c));
                }
            }
        }
        kept
    }
}

fn constants_of<A>(e: &palisade_program::Expr<A>, f: &mut impl FnMut(i64)) {
    use palisade_program::Expr;
    match e {
        Expr::Const(c) => f(*c),
        Expr::Atom(_) => {}
        Expr::Unary(_, a) => constants_of(a, f),
        Expr::Binary(_, a, b) => {
            constants_of(a, f);
            constants_of(b, f);
        }
        Expr::Cond(c, a, b) => {
            constants_of(c, f);
            constants_of(a, f);
            constants_of(b, f);
        }
    }
}
