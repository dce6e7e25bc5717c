//! *Refinement*: new predicates that exclude an infeasible abstract path. Two
//! sources, used together:
//!
//! - weakest preconditions of the conditions in an unsat core, pulled back along
//!   the path ([Dan et al., SAS 2013, section 4]; [Donaldson et al., CAV 2011, section 4]);
//! - sequence interpolants of the path in SSA form.
//!
//! Of both the atoms are taken. Adding predicates is always sound.

use std::collections::{BTreeMap, BTreeSet};

use palisade_abstraction::command::{Branch, Commands};
use palisade_abstraction::space::Space;
use palisade_checker::search::{Path, Target, initial_data};
use palisade_logic::interpolate::Method;
use palisade_logic::substitute::Substitution;
use palisade_logic::term::Overflow;
use palisade_logic::tidy::tidy_atoms;
use palisade_logic::{Atom, Formula, Int, Key, Outcome, Prover, Purpose, Relation, Term, Var};
use palisade_program::GlobalId;

/// Images of atoms after which no more are made.
const MAX_IMAGES: usize = 400;
/// Differences beyond this are about distances, not about order.
const MAX_DISTANCE: i128 = 2;

/// A part of the formula of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    /// A fact about the initial values.
    Initial(usize),
    /// The guard of a step, or the target.
    Guard(usize),
    /// An update: step and position.
    Update(usize, usize),
}

/// A branch in which sets are single variables: the element that was added last. Of a
/// path that no choice of elements makes feasible this choice does not either; what
/// excludes it may be of use for the others.
fn representative(branch: &Branch) -> Branch {
    if branch.sets.is_empty() && branch.picks.is_empty() {
        return branch.clone();
    }
    let mut own = branch.clone();
    let pick = |(set, element): &(Var, Var)| (*element, Term::var(*set));
    let picks: Substitution = branch.picks.iter().map(pick).collect();
    // A renaming keeps numbers in range.
    let renamed = |term: &Term| term.substitute(&picks).unwrap_or_else(|_| term.clone());
    own.guard = own.guard.substitute(&picks).unwrap_or(Formula::True);
    let written = branch.written.iter();
    let updates = written.filter_map(|v| Some((*v, renamed(branch.updates.get(*v)?))));
    own.updates = updates.collect();
    for change in &branch.sets {
        if let Some(last) = change.added.last() {
            own.updates.set(change.var, renamed(last));
        }
    }
    own
}

/// An infeasible path, cut down to what makes it so.
pub struct Infeasible {
    /// For each branch, the part of its guard that matters; then the target.
    guards: Vec<Formula>,
    /// For each branch, the updates that matter; `None` where the value does not.
    updates: Vec<Vec<(Var, Option<Term>)>>,
    /// The initial values that matter.
    initial: Vec<Formula>,
    slots: u32,
}

impl Infeasible {
    /// Cuts `path` down to its conditions and what they depend on. All conditions
    /// are kept, also those that hold because of the values at hand:
    /// [`Self::widen`] looks for a reason that does not need these values.
    pub fn new(commands: &Commands<'_>, path: &Path) -> Self {
        let space = commands.space();
        let branches: Vec<&Branch> = path
            .branches
            .iter()
            .map(|&b| &**commands.branch(b))
            .collect();
        let branches: Vec<Branch> = branches.into_iter().map(representative).collect();
        let branches: Vec<&Branch> = branches.iter().collect();
        let mut guards: Vec<Formula> = branches.iter().map(|b| b.guard.clone()).collect();
        guards.push(match &path.target {
            Target::Property(_, formula) => formula.clone(),
            Target::Assert(_) => Formula::True,
        });
        let mut needed: BTreeSet<Var> = guards[branches.len()].free_vars();
        let mut updates = vec![Vec::new(); branches.len()];
        for (i, branch) in branches.iter().enumerate().rev() {
            let kept: Vec<(Var, Term)> = branch
                .written
                .iter()
                .filter(|v| needed.contains(v))
                .filter_map(|v| branch.updates.get(*v).map(|t| (*v, t.clone())))
                .collect();
            for (var, _) in &kept {
                needed.remove(var);
            }
            for (_, term) in &kept {
                term.for_each_var(&mut |v| {
                    needed.insert(v);
                });
            }
            needed.extend(guards[i].free_vars());
            updates[i] = kept
                .into_iter()
                .map(|(var, term)| (var, Some(term)))
                .collect();
        }
        let facts = initial_data(space);
        let relevant = facts
            .conjuncts()
            .iter()
            .filter(|f| !f.free_vars().is_disjoint(&needed));
        let initial = relevant.cloned().collect();
        Self {
            guards,
            updates,
            initial,
            slots: space.first_fresh(),
        }
    }

    /// Keeps only what is needed to exclude the path, and of that as few initial
    /// values and assigned constants as possible. What excludes it then is general:
    /// relations between variables instead of the values of one run, which would
    /// come back with other values in the next round.
    pub fn widen(&mut self, prover: &mut Prover) -> Result<(), Overflow> {
        if !self.keep_core(prover)? {
            return Ok(());
        }
        for part in self.constants() {
            let before = (
                self.guards.clone(),
                self.updates.clone(),
                self.initial.clone(),
            );
            self.drop_part(part);
            if !self.keep_core(prover)? {
                (self.guards, self.updates, self.initial) = before;
            }
        }
        Ok(())
    }

    /// The parts that tie the path to certain values.
    fn constants(&self) -> Vec<Part> {
        let initial = (0..self.initial.len()).map(Part::Initial);
        let constant = |t: &Option<Term>| t.as_ref().is_some_and(|t| t.as_constant().is_some());
        let assigned = self.updates.iter().enumerate().flat_map(|(step, updates)| {
            let own = updates
                .iter()
                .enumerate()
                .filter(|(_, (_, term))| constant(term));
            own.map(move |(index, _)| Part::Update(step, index))
                .collect::<Vec<_>>()
        });
        initial.chain(assigned).collect()
    }

    fn drop_part(&mut self, part: Part) {
        match part {
            Part::Initial(index) => self.initial[index] = Formula::True,
            Part::Guard(step) => self.guards[step] = Formula::True,
            Part::Update(step, index) => self.updates[step][index].1 = None,
        }
    }

    /// If the path is infeasible, drops all parts outside an unsat core.
    fn keep_core(&mut self, prover: &mut Prover) -> Result<bool, Overflow> {
        let parts = self.parts()?;
        let formulas: Vec<Formula> = parts.iter().map(|(_, f)| f.clone()).collect();
        let Outcome::Unsat(core) = prover.solve_all(&formulas, Purpose::Refine) else {
            return Ok(false);
        };
        let used: BTreeSet<Part> = core.into_iter().map(|i| parts[i].0).collect();
        for (part, _) in parts {
            if !used.contains(&part) {
                self.drop_part(part);
            }
        }
        Ok(true)
    }

    /// Whether an atom speaks of program variables only.
    fn is_over_slots(&self, atom: &Atom) -> bool {
        Formula::from(atom.clone())
            .free_vars()
            .iter()
            .all(|v| v.0 < self.slots)
    }

    /// The atoms of the weakest preconditions along the path.
    pub fn wp_atoms(&self) -> Result<BTreeSet<Atom>, Overflow> {
        let mut atoms = BTreeSet::new();
        let last = self.guards.len() - 1;
        let mut wp = self.guards[last].clone();
        atoms.extend(wp.atoms());
        for i in (0..last).rev() {
            // A value that does not matter is a variable of its own, beyond the slots.
            let fresh = |n: usize| Term::var(Var(self.slots + (1 << 25) + n as u32));
            let terms = self.updates[i].iter().enumerate();
            let updates: Substitution = terms
                .map(|(n, (var, term))| (*var, term.clone().unwrap_or_else(|| fresh(i * 64 + n))))
                .collect();
            wp = wp.substitute(&updates)?.and(&self.guards[i]);
            atoms.extend(wp.atoms());
        }
        atoms.retain(|a| self.is_over_slots(a));
        Ok(atoms)
    }

    /// What variables hold that were computed with wrapping, by *symbolic execution* of the path [King, CACM 1976]: where
    /// a variable's value is a sum modulo something of values that other variables hold, that equation.
    /// Interpolants would tell apart the cases of each remainder.
    pub fn wrapped_values(&self) -> Result<BTreeSet<Atom>, Overflow> {
        let mut next = self.slots + (1 << 24);
        let mut symbol = || {
            next += 1;
            Term::var(Var(next))
        };
        let wraps = |term: &Term| {
            term.sum()
                .iter()
                .any(|(key, _)| matches!(key, Key::Mod(..)))
        };
        let mut values: BTreeMap<Var, Term> = BTreeMap::new();
        let mut atoms = BTreeSet::new();
        for updates in &self.updates {
            // Choices of a branch are its own.
            values.retain(|var, _| var.0 < self.slots);
            let mut written = Vec::new();
            for (var, term) in updates {
                let Some(term) = term else {
                    written.push((*var, symbol()));
                    continue;
                };
                term.for_each_var(&mut |v| {
                    values.entry(v).or_insert_with(&mut symbol);
                });
                let now: Substitution = values.iter().map(|(v, t)| (*v, t.clone())).collect();
                let term = remainder(term)?.unwrap_or_else(|| term.clone());
                written.push((*var, term.substitute(&now)?));
            }
            values.extend(written);
            for (var, value) in values.iter().filter(|(_, value)| wraps(value)) {
                let held = values.iter().filter(|(v, _)| *v != var && v.0 < self.slots);
                // Of several that hold a value, the first: shared ones are.
                let names: BTreeMap<Var, Var> =
                    (held.rev().filter_map(|(v, t)| Some((t.as_var()?, *v)))).collect();
                let names: Substitution =
                    names.into_iter().map(|(s, v)| (s, Term::var(v))).collect();
                let equal = Formula::eq(&Term::var(*var), &value.substitute(&names)?)?;
                atoms.extend(equal.atoms().into_iter().filter(|a| self.is_over_slots(a)));
            }
        }
        Ok(atoms)
    }

    /// The atoms of sequence interpolants, or why there are none.
    pub fn interpolant_atoms(
        &self,
        prover: &mut Prover,
        method: Method,
    ) -> Result<BTreeSet<Atom>, String> {
        let (chain, versions) = self.chain().map_err(|e| e.to_string())?;
        let found = prover
            .interpolate(&chain, method)
            .map_err(|e| e.to_string())?;
        let mut atoms = BTreeSet::new();
        for (cut, interpolant) in found.iter().enumerate() {
            let back: Substitution = versions[cut]
                .iter()
                .map(|(slot, ssa)| (*ssa, Term::var(*slot)))
                .collect();
            let formula = interpolant.substitute(&back).map_err(|e| e.to_string())?;
            atoms.extend(formula.atoms());
        }
        atoms.retain(|a| self.is_over_slots(a));
        Ok(tidy_atoms(atoms))
    }

    /// The path in SSA form, part by part.
    fn parts(&self) -> Result<Vec<(Part, Formula)>, Overflow> {
        let (steps, _) = self.ssa()?;
        Ok(steps.into_iter().flatten().collect())
    }

    /// The path as a chain of formulas, and for each cut the current version of
    /// each variable. Steps without content are left out.
    #[allow(clippy::type_complexity)] // a chain and its cuts
    fn chain(&self) -> Result<(Vec<Formula>, Vec<BTreeMap<Var, Var>>), Overflow> {
        let (steps, versions) = self.ssa()?;
        let whole = |parts: Vec<(Part, Formula)>| Formula::all(parts.into_iter().map(|(_, f)| f));
        let mut steps = steps.into_iter().map(whole);
        let mut chain = vec![steps.next().unwrap_or(Formula::True)];
        let mut cuts = Vec::new();
        for (formula, cut) in steps.zip(versions) {
            if formula != Formula::True {
                chain.push(formula);
                cuts.push(cut);
            }
        }
        Ok((chain, cuts))
    }

    /// The parts of the initial state and of each step in SSA form, and the
    /// versions of the variables before each step.
    #[allow(clippy::type_complexity)] // steps and the cuts before them
    fn ssa(&self) -> Result<(Vec<Vec<(Part, Formula)>>, Vec<BTreeMap<Var, Var>>), Overflow> {
        let mut next = self.slots + (1 << 24);
        let mut fresh = || {
            next += 1;
            Var(next)
        };
        let mut current: BTreeMap<Var, Var> = BTreeMap::new();
        let mut initial = Vec::new();
        for (index, fact) in self.initial.iter().enumerate() {
            initial.push((
                Part::Initial(index),
                rename(fact, &mut current, &mut fresh)?,
            ));
        }
        let mut steps = vec![initial];
        let mut versions = Vec::new();
        for (step, guard) in self.guards.iter().enumerate() {
            // Choices of a branch are its own: each gets a new version.
            current.retain(|var, _| var.0 < self.slots);
            let mut reads = current.clone();
            let mut parts = vec![(Part::Guard(step), rename(guard, &mut reads, &mut fresh)?)];
            let updates = self.updates.get(step).map_or(&[][..], Vec::as_slice);
            let mut written = Vec::new();
            for (index, (var, term)) in updates.iter().enumerate() {
                let new = fresh();
                if let Some(term) = term {
                    let value = rename_term(term, &mut reads, &mut fresh)?;
                    let equal = Formula::eq(&Term::var(new), &value)?;
                    parts.push((Part::Update(step, index), equal));
                }
                written.push((*var, new));
            }
            // Variables first read here have this version also before.
            versions.push(reads.clone());
            steps.push(parts);
            current = reads;
            current.extend(written);
        }
        Ok((steps, versions))
    }
}

/// The remainder that a term by cases is, if its cases are a value and the same value a round of its type further or back
/// ([`palisade_program::Expr::wrapped`]).
fn remainder(term: &Term) -> Result<Option<Term>, Overflow> {
    let mut conditions = BTreeSet::new();
    let mut cases = Vec::new();
    let mut open = vec![term.clone()];
    while let Some(next) = open.pop() {
        match (&**next.sum(), next.offset()) {
            ([(Key::Ite(choice), 1)], 0) => {
                conditions.extend(choice.condition.atoms());
                open.extend([choice.then.clone(), choice.otherwise.clone()]);
            }
            _ => cases.push(next),
        }
    }
    let mut apart = Vec::new();
    for case in &cases {
        let Some(by) = case.minus(&cases[0])?.as_constant() else {
            return Ok(None);
        };
        apart.push(by);
    }
    let (least, most) = (apart.iter().min(), apart.iter().max());
    let (Some(&least), Some(&most)) = (least, most) else {
        return Ok(None);
    };
    let distances = apart.iter().filter(|by| **by != least);
    let Some(round) = distances
        .map(|by| by - least)
        .min()
        .filter(|r| r.count_ones() == 1)
    else {
        return Ok(None);
    };
    if (most - least) % round != 0 {
        return Ok(None);
    }
    // Conditions compare the value with the ends of its type: half a round away, or a whole one.
    let near = |limit: Int, k: Int| (limit - k.abs()).abs() <= 1;
    let ends = conditions.iter().map(|atom| atom.term().offset());
    let signed = ends
        .into_iter()
        .any(|k| near(round / 2, k - cases[0].offset()) || near(round / 2, k + cases[0].offset()));
    let half = if signed { round / 2 } else { 0 };
    let value = cases[0].plus_constant(half)?.modulo(round)?;
    Ok(Some(value.plus_constant(-half)?))
}

fn rename(
    formula: &Formula,
    current: &mut BTreeMap<Var, Var>,
    fresh: &mut impl FnMut() -> Var,
) -> Result<Formula, Overflow> {
    for var in formula.free_vars() {
        current.entry(var).or_insert_with(&mut *fresh);
    }
    let names: Substitution = current
        .iter()
        .map(|(v, ssa)| (*v, Term::var(*ssa)))
        .collect();
    formula.substitute(&names)
}

fn rename_term(
    term: &Term,
    current: &mut BTreeMap<Var, Var>,
    fresh: &mut impl FnMut() -> Var,
) -> Result<Term, Overflow> {
    term.for_each_var(&mut |var| {
        current.entry(var).or_insert_with(&mut *fresh);
    });
    let names: Substitution = current
        .iter()
        .map(|(v, ssa)| (*v, Term::var(*ssa)))
        .collect();
    term.substitute(&names)
}

/// The images of `atoms` under all renamings of identical threads: where one copy
/// of a template needs a predicate, so do the others.
/// Elements of arrays with one element per copy move along.
pub fn generalise(space: &Space<'_>, atoms: BTreeSet<Atom>) -> BTreeSet<Atom> {
    images(atoms, &transpositions(space))
}

/// The images of `atoms` under all products of `generators`.
fn images(atoms: BTreeSet<Atom>, generators: &[Substitution]) -> BTreeSet<Atom> {
    let mut all = atoms.clone();
    let mut frontier = atoms;
    while !frontier.is_empty() && all.len() < MAX_IMAGES {
        let mut next = BTreeSet::new();
        for atom in &frontier {
            for renaming in generators {
                if let Ok(image) = Formula::from(atom.clone()).substitute(renaming) {
                    next.extend(image.atoms());
                }
            }
        }
        frontier = next.difference(&all).cloned().collect();
        all.extend(next);
    }
    all
}

/// The *comparisons* behind `atoms`: for a difference of two variables, which is
/// the larger; for one variable, its sign. The constants of interpolants come from
/// the run that they exclude (`number[0] = m + 1` because both began at 0), and one
/// round later another run brings other constants; the order is what lasts. With
/// interpolants alone the bakery of three threads takes 138 predicates, with
/// comparisons first 33.
pub fn comparisons(space: &Space<'_>, atoms: &BTreeSet<Atom>) -> BTreeSet<Atom> {
    let mut all = BTreeSet::new();
    for atom in atoms {
        match atom.sum().len() {
            1 if is_sign(atom) => {
                all.insert(atom.clone());
            }
            2 if is_near_difference(atom) => {
                all.extend(
                    [-1, 0]
                        .iter()
                        .filter_map(|b| atom.rebound(Relation::Le, *b)),
                );
            }
            _ => {}
        }
    }
    images(all, &element_transpositions(space))
}

fn is_sign(atom: &Atom) -> bool {
    match atom.relation() {
        Relation::Le => atom.bound() == 0 || atom.bound() == -1,
        Relation::Eq => atom.bound() == 0,
    }
}

/// Whether the atom says of two variables that they are at most so far apart that
/// their order may be meant.
fn is_near_difference(atom: &Atom) -> bool {
    let coefficients = atom.sum().iter().map(|(_, c)| *c);
    atom.bound().abs() <= MAX_DISTANCE && coefficients.sum::<i128>() == 0
}

/// Transpositions of two elements of arrays with one element per copy, the copies
/// themselves staying: what is compared with one thread's element may have to be
/// compared with each.
fn element_transpositions(space: &Space<'_>) -> Vec<Substitution> {
    let mut all = Vec::new();
    for a in 0..space.threads.len() {
        for b in a + 1..space.threads.len() {
            if space.threads[a].template == space.threads[b].template {
                all.push(swap(element_pairs(space, a, b)));
            }
        }
    }
    all
}

/// Transpositions of two copies of one template, as renamings of the slots.
fn transpositions(space: &Space<'_>) -> Vec<Substitution> {
    let mut all = Vec::new();
    for a in 0..space.threads.len() {
        for b in a + 1..space.threads.len() {
            if space.threads[a].template == space.threads[b].template {
                all.push(transposition(space, a, b));
            }
        }
    }
    all
}

fn transposition(space: &Space<'_>, a: usize, b: usize) -> Substitution {
    let template = space.program.template(space.threads[a].template);
    let locals = (0..template.locals.len())
        .map(|l| (space.local_slot(a, l.into()), space.local_slot(b, l.into())));
    let mut pairs: Vec<(usize, usize)> = locals.collect();
    pairs.extend(element_pairs(space, a, b));
    swap(pairs)
}

/// The elements that belong to copies `a` and `b`, in arrays with one per copy.
fn element_pairs(space: &Space<'_>, a: usize, b: usize) -> Vec<(usize, usize)> {
    let program = space.program;
    let template = space.threads[a].template;
    let same = space.threads.iter().filter(|t| t.template == template);
    let copies = same.count();
    let (i, j) = (space.threads[a].copy, space.threads[b].copy);
    let per_copy = |var: &GlobalId| {
        let len = program.global(*var).len;
        len.is_some_and(|n| n as usize == copies)
    };
    let slot = |var, k| space.cell_slot(program.cell(var, k));
    let arrays = program.global_ids().filter(per_copy);
    arrays.map(|var| (slot(var, i), slot(var, j))).collect()
}

/// The renaming that exchanges each pair of slots.
fn swap(pairs: Vec<(usize, usize)>) -> Substitution {
    let both = pairs.into_iter().flat_map(|(x, y)| [(x, y), (y, x)]);
    both.map(|(from, to)| (Var(from as u32), Term::var(Var(to as u32))))
        .collect()
}
