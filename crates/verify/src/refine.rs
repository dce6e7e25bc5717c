//! *Refinement*: new predicates that exclude an infeasible abstract path. Two
//! sources, used together (shared/ref/lessons.md, 2):
//!
//! - weakest preconditions of the conditions in an unsat core, pulled back along
//!   the path (seed 000, section 4; seed 003, section 4);
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
use palisade_logic::{Atom, Formula, Prover, Term, Var};

/// Images of atoms after which no more are made.
const MAX_IMAGES: usize = 400;

/// An infeasible path, cut down to what makes it so.
pub struct Infeasible {
    /// For each branch, the part of its guard that matters; then the target.
    guards: Vec<Formula>,
    /// For each branch, the updates that matter.
    updates: Vec<Vec<(Var, Term)>>,
    /// The initial values that matter.
    initial: Formula,
    slots: u32,
}

impl Infeasible {
    /// Cuts `path` down to the conditions of `core` and what they depend on.
    pub fn new(commands: &Commands<'_>, path: &Path, core: &[usize]) -> Self {
        let space = commands.space();
        let branches: Vec<&Branch> = path
            .branches
            .iter()
            .map(|&b| &**commands.branch(b))
            .collect();
        let mut guards = vec![Formula::True; branches.len() + 1];
        for &position in core {
            guards[position] = match branches.get(position) {
                Some(branch) => branch.guard.clone(),
                None => match &path.target {
                    Target::Property(_, formula) => formula.clone(),
                    Target::Assert(_) => Formula::True,
                },
            };
        }
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
            updates[i] = kept;
        }
        let facts = initial_data(space);
        let relevant = facts
            .conjuncts()
            .iter()
            .filter(|f| !f.free_vars().is_disjoint(&needed));
        let initial = Formula::all(relevant.cloned());
        Self {
            guards,
            updates,
            initial,
            slots: space.first_fresh(),
        }
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
            let updates: Substitution = self.updates[i].iter().cloned().collect();
            wp = wp.substitute(&updates)?.and(&self.guards[i]);
            atoms.extend(wp.atoms());
        }
        atoms.retain(|a| self.is_over_slots(a));
        Ok(atoms)
    }

    /// The atoms of sequence interpolants, or why there are none.
    pub fn interpolant_atoms(
        &self,
        prover: &mut Prover,
        method: Method,
    ) -> Result<BTreeSet<Atom>, String> {
        let (chain, versions) = self.ssa().map_err(|e| e.to_string())?;
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

    /// The path in SSA form: the chain of formulas, and for each cut the current
    /// version of each variable. Steps without content are left out.
    #[allow(clippy::type_complexity)] // a chain and its cuts
    fn ssa(&self) -> Result<(Vec<Formula>, Vec<BTreeMap<Var, Var>>), Overflow> {
        let mut next = self.slots + (1 << 24);
        let mut fresh = || {
            next += 1;
            Var(next)
        };
        let mut current: BTreeMap<Var, Var> = BTreeMap::new();
        let mut chain = vec![rename(&self.initial, &mut current, &mut fresh)?];
        let mut versions = Vec::new();
        for (i, guard) in self.guards.iter().enumerate() {
            // Choices of a branch are its own: each gets a new version.
            current.retain(|var, _| var.0 < self.slots);
            let mut parts = vec![rename(guard, &mut current, &mut fresh)?];
            let before = current.clone();
            let updates = self.updates.get(i).map_or(&[][..], Vec::as_slice);
            let mut written = Vec::new();
            let mut reads = before;
            for (var, term) in updates {
                let value = rename_term(term, &mut reads, &mut fresh)?;
                let new = fresh();
                parts.push(Formula::eq(&Term::var(new), &value)?);
                written.push((*var, new));
            }
            let mut after = reads;
            after.extend(written);
            let formula = Formula::all(parts);
            if formula != Formula::True {
                // Variables first read here start at this version also before.
                let cut = after_names(&current, &after, updates);
                versions.push(cut);
                chain.push(formula);
            }
            current = after;
        }
        Ok((chain, versions))
    }
}

/// The versions before a step: those after it, except for what it writes.
fn after_names(
    before: &BTreeMap<Var, Var>,
    after: &BTreeMap<Var, Var>,
    updates: &[(Var, Term)],
) -> BTreeMap<Var, Var> {
    let mut names = before.clone();
    for (var, version) in after {
        if !updates.iter().any(|(written, _)| written == var) {
            names.entry(*var).or_insert(*version);
        }
    }
    names
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
/// of a template needs a predicate, so do the others (shared/ref/lessons.md, 7).
/// Elements of arrays with one element per copy move along.
pub fn generalise(space: &Space<'_>, atoms: BTreeSet<Atom>) -> BTreeSet<Atom> {
    let transpositions = transpositions(space);
    let mut all = atoms.clone();
    let mut frontier = atoms;
    // Transpositions generate all permutations.
    while !frontier.is_empty() && all.len() < MAX_IMAGES {
        let mut next = BTreeSet::new();
        for atom in &frontier {
            for renaming in &transpositions {
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
    let program = space.program;
    let template = program.template(space.threads[a].template);
    let copies = space
        .threads
        .iter()
        .filter(|t| t.template == space.threads[a].template)
        .count();
    let mut pairs: Vec<(usize, usize)> = (0..template.locals.len())
        .map(|l| (space.local_slot(a, l.into()), space.local_slot(b, l.into())))
        .collect();
    let (i, j) = (space.threads[a].copy, space.threads[b].copy);
    for var in program.global_ids() {
        if program
            .global(var)
            .len
            .is_some_and(|n| n as usize == copies)
        {
            let slot = |k| space.cell_slot(program.cell(var, k));
            pairs.push((slot(i), slot(j)));
        }
    }
    let both = pairs.into_iter().flat_map(|(x, y)| [(x, y), (y, x)]);
    both.map(|(from, to)| (Var(from as u32), Term::var(Var(to as u32))))
        .collect()
}
