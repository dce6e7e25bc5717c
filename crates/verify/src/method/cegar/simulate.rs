//! *Simulation*: is an abstract counterexample a run of the program? The path is
//! executed forward on terms. Values start as constants (or as unknowns where the
//! program says `*`), so that on most paths everything folds and what is left is
//! one small query over the non-deterministic inputs.

use std::collections::BTreeMap;

use palisade_abstraction::command::{Branch, Chosen, Commands};
use palisade_abstraction::space::{Control, SlotKind, Space};
use palisade_checker::search::{Path, Target};
use palisade_logic::substitute::Substitution;
use palisade_logic::term::Overflow;
use palisade_logic::{Assignment, Formula, Outcome, Prover, Purpose, Reason, Term, Var};
use palisade_program::{EdgeId, Init};

/// A run that the concrete machine can take: initial values and choices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Initial values of all memory cells.
    pub cells: Vec<i64>,
    /// Initial values of each thread's locals.
    pub locals: Vec<Vec<i64>>,
    /// The steps.
    pub steps: Vec<RunStep>,
}

/// A step of a [`Run`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunStep {
    /// The thread.
    pub thread: usize,
    /// Its edge.
    pub edge: EdgeId,
    /// Inside an atomic block: the edges of its body.
    pub path: Vec<EdgeId>,
    /// The values that `*` took, in order.
    pub chosen: Vec<i64>,
    /// The thread's locals before the step; for interior steps, before the first of
    /// those that belong together.
    pub locals: Vec<i64>,
}

/// What simulation finds.
#[derive(Clone, Debug)]
pub enum Simulated {
    /// A run.
    Feasible(Run),
    /// No run.
    Infeasible,
    /// Not known.
    Unknown(Reason),
}

/// Simulates an abstract counterexample.
pub fn simulate(
    commands: &Commands<'_>,
    path: &Path,
    prover: &mut Prover,
) -> Result<Simulated, Overflow> {
    let space = commands.space();
    let branches: Vec<&Branch> = path
        .branches
        .iter()
        .map(|&b| &**commands.branch(b))
        .collect();
    let mut state = State::initial(space);
    let mut conditions = state.take_facts();
    let mut chosen = Vec::new();
    for branch in &branches {
        let (guard, choices) = state.step(branch)?;
        conditions.extend(guard.conjuncts().iter().cloned());
        chosen.push(choices);
    }
    if let Target::Property(_, formula) = &path.target {
        let formula = formula.substitute(&state.values)?;
        conditions.extend(formula.conjuncts().iter().cloned());
    }
    Ok(match prover.solve_all(&conditions, Purpose::Simulate) {
        Outcome::Sat(model) => match run(space, path, &branches, &chosen, &model) {
            Some(run) => Simulated::Feasible(run),
            None => Simulated::Unknown(Reason::ModelTooLarge),
        },
        Outcome::Unsat(_) => Simulated::Infeasible,
        Outcome::Unknown(reason) => Simulated::Unknown(reason),
    })
}

/// The data at one point of the path, over the inputs.
#[derive(Clone)]
pub(crate) struct State {
    /// The values of data variables.
    pub(crate) values: Substitution,
    /// The elements of sets.
    sets: BTreeMap<Var, Vec<Term>>,
    facts: Vec<Formula>,
    next: u32,
    first_fresh: u32,
}

impl State {
    /// The data at the start.
    pub(crate) fn initial(space: &Space<'_>) -> Self {
        let mut state = Self {
            values: Substitution::default(),
            sets: BTreeMap::new(),
            facts: space.facts.clone(),
            // Inputs: slot i's initial value is Var(i); choices follow, beyond
            // the numbers that branches use for theirs.
            next: space.first_fresh() + (1 << 20),
            first_fresh: space.first_fresh(),
        };
        for (slot, s) in space.slots.iter().enumerate() {
            if s.explicit.is_some() {
                continue;
            }
            let var = Var(slot as u32);
            if space.sets.contains_key(&slot) {
                state.sets.insert(var, vec![Term::constant(0)]);
            }
            match (s.init, s.domain) {
                (Init::Value(v), _) => state.values.set(var, Term::constant(v)),
                (Init::Any, Some(d)) => {
                    let within = [
                        Formula::le(&Term::constant(d.lo), &Term::var(var)),
                        Formula::le(&Term::var(var), &Term::constant(d.hi)),
                    ];
                    state.facts.extend(within.into_iter().flatten());
                }
                (Init::Any, None) => {}
            }
        }
        state
    }

    /// What is known of the inputs; once.
    pub(crate) fn take_facts(&mut self) -> Vec<Formula> {
        std::mem::take(&mut self.facts)
    }

    /// Goes over a branch: its guard, and the variables of its choices.
    pub(crate) fn step(
        &mut self,
        branch: &Branch,
    ) -> Result<(Formula, BTreeMap<Var, Var>), Overflow> {
        let mut choices = BTreeMap::new();
        for chosen in branch.moves.iter().flat_map(|m| &m.chosen) {
            if let Chosen::Fresh(var) = chosen {
                debug_assert!(
                    var.0 >= self.first_fresh,
                    "choices are numbered after the slots"
                );
                let own = Var(self.next);
                self.next += 1;
                choices.insert(*var, own);
                self.values.set(*var, Term::var(own));
            }
        }
        let mut guard = Formula::True;
        for (set, element) in &branch.picks {
            let own = Var(self.next);
            self.next += 1;
            self.values.set(*element, Term::var(own));
            let elements = self.sets.get(set).map_or(&[][..], Vec::as_slice);
            let is = elements.iter().map(|e| Formula::eq(&Term::var(own), e));
            let is: Result<Vec<Formula>, Overflow> = is.collect();
            guard = guard.and(&Formula::any(is?));
        }
        let guard = guard.and(&branch.guard.substitute(&self.values)?);
        self.change_sets(branch)?;
        let mut updated = Vec::new();
        let of_sets = |var: &&Var| !branch.sets.iter().any(|s| s.var == **var);
        for var in branch.written.iter().filter(of_sets) {
            let term = branch
                .updates
                .get(*var)
                .cloned()
                .unwrap_or_else(|| Term::var(*var));
            updated.push((*var, term.substitute(&self.values)?));
        }
        for (var, term) in updated {
            self.values.set(var, term);
        }
        Ok((guard, choices))
    }

    /// What joins sets, with the values before the branch.
    fn change_sets(&mut self, branch: &Branch) -> Result<(), Overflow> {
        for change in &branch.sets {
            let added = change.added.iter().map(|t| t.substitute(&self.values));
            let added: Result<Vec<Term>, Overflow> = added.collect();
            let elements = self.sets.entry(change.var).or_default();
            if change.emptied {
                elements.clear();
            }
            elements.extend(added?);
        }
        Ok(())
    }
}

/// The values of a thread's locals at one point of the path.
fn locals_at(
    space: &Space<'_>,
    thread: usize,
    control: &Control,
    state: &State,
    model: &Assignment,
) -> Option<Vec<i64>> {
    let template = space.program.template(space.threads[thread].template);
    let value = |local: usize| {
        let slot = space.local_slot(thread, local.into());
        if let Some(explicit) = &space.slots[slot].explicit {
            return Some(control.values[explicit.position]);
        }
        let var = Var(slot as u32);
        let value = match state.values.get(var) {
            Some(term) => term.eval(model).ok()?,
            None => model.value(var),
        };
        i64::try_from(value).ok()
    };
    (0..template.locals.len()).map(value).collect()
}

fn run(
    space: &Space<'_>,
    path: &Path,
    branches: &[&Branch],
    chosen: &[BTreeMap<Var, Var>],
    model: &Assignment,
) -> Option<Run> {
    let narrow = |value: i128| i64::try_from(value).ok();
    let mut cells = Vec::new();
    let mut locals = vec![Vec::new(); space.threads.len()];
    for (slot, s) in space.slots.iter().enumerate() {
        let value = match (s.init, &s.explicit) {
            (Init::Value(v), _) => v,
            (Init::Any, Some(e)) => path.start.values[e.position],
            (Init::Any, None) => {
                let value = narrow(model.value(Var(slot as u32)))?;
                s.domain.map_or(value, |d| value.clamp(d.lo, d.hi))
            }
        };
        match s.kind {
            SlotKind::Cell(_) => cells.push(value),
            SlotKind::Local(thread, _) => locals[thread].push(value),
        }
    }
    let mut steps = Vec::new();
    let mut state = State::initial(space);
    for (number, (branch, choices)) in branches.iter().zip(chosen).enumerate() {
        let before = locals_at(space, branch.thread, &path.states[number].0, &state, model)?;
        // The same walk as in the query: choices get the same variables.
        state.step(branch).ok()?;
        for moved in &branch.moves {
            let values = moved.chosen.iter().map(|c| match c {
                Chosen::Value(v) => Some(*v),
                Chosen::Fresh(var) => narrow(model.value(choices[var])),
            });
            steps.push(RunStep {
                thread: branch.thread,
                edge: moved.edge,
                path: moved.path.clone(),
                chosen: values.collect::<Option<_>>()?,
                locals: before.clone(),
            });
        }
    }
    Some(Run {
        cells,
        locals,
        steps,
    })
}
