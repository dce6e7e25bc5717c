//! *Sets* in commands: variables of [`Role::Set`](palisade_program::Role::Set), to which
//! stores add and of which loads take an element. A branch says what becomes of them.

use std::collections::BTreeSet;

use palisade_logic::substitute::Substitution;
use palisade_logic::{Term, Var};
use palisade_program::Span;

use super::{Branch, Executor, Run, Unsupported};

/// What a branch does to a set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SetUpdate {
    /// The set.
    pub var: Var,
    /// Whether its elements are forgotten before others are added.
    pub emptied: bool,
    /// The elements that are added, over the data before the step.
    pub added: Vec<Term>,
}

impl Branch {
    /// `vars` and the sets from which elements among them were taken, sorted.
    pub fn with_sets(&self, mut vars: BTreeSet<Var>) -> Vec<Var> {
        for (set, element) in &self.picks {
            if vars.contains(element) {
                vars.insert(*set);
            }
        }
        vars.into_iter().collect()
    }

    /// The values of `vars` after the branch: one, or for a set one for each way to take
    /// an element. Sets are variables of their own here: the element that was there.
    pub fn values_of(&self, vars: &[Var]) -> Vec<Substitution> {
        let changed = self.sets.iter().find(|s| vars.contains(&s.var));
        let Some(change) = changed else {
            return vec![self.updates.clone()];
        };
        let kept = (!change.emptied).then(|| self.updates.clone());
        let added = change.added.iter().map(|value| {
            let mut updates = self.updates.clone();
            updates.set(change.var, value.clone());
            updates
        });
        kept.into_iter().chain(added).collect()
    }
}

impl Executor<'_> {
    /// Reads a slot: some element, if it is a set.
    pub(super) fn take(
        &self,
        mut run: Run,
        slot: usize,
        span: Span,
    ) -> Result<(Run, Term), Unsupported> {
        if !self.space.sets.contains_key(&slot) {
            let value = self.read(&run, slot);
            return Ok((run, value));
        }
        if run.sets.contains_key(&slot) {
            let what = "an element of a set that has changed in the same step".to_owned();
            return Err(Unsupported { what, span });
        }
        let element = Var(self.space.first_element().0 + run.picks.len() as u32);
        run.picks.push((Var(slot as u32), element));
        Ok((run, Term::var(element)))
    }

    /// A value joins a set; it is the only one if the set was not in use.
    pub(super) fn join(&self, mut run: Run, set: usize, flag: usize, value: &Term) -> Run {
        let unused = self.read(&run, flag).as_constant() == Some(0);
        let change = run.sets.entry(set).or_insert_with(|| SetUpdate {
            var: Var(set as u32),
            emptied: unused,
            added: Vec::new(),
        });
        change.added.push(value.clone());
        run
    }
}
