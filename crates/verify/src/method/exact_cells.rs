//! *k from the counterexample* [Abdulla et al., SAS 2012, section 7, case 3]. A run of the
//! program with abstract buffers that the machine does not have is replayed with growing `k`;
//! the first `k` whose abstraction does not have the run either is taken, and the search
//! starts again. There is one: with as many cells as the run has stores, no store is in the
//! abstract part, and the run would be one of the machine.
//!
//! | paper | here |
//! |---|---|
//! | *ce*, transitions with rules | [`Taken`]: the steps of the threads and the updates of memory, without the rules; the values that `*` takes are open, too |
//! | *ce* is feasible under i-abstraction | [`Session::has_run`]: some choice of rules gives satisfiable conditions |
//! | k | [`ExactCells`]: each thread has its own, under PSO each of its variables |
//!
//! *Departure.* The paper has one `k`. Here it is lowered again for one buffer after
//! another as long as the run stays excluded: the cells of a buffer multiply the states, so
//! only those that the counterexample needs are given.
//!
//! Nothing of this is trusted: any `k` gives an abstraction that has all runs.

use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::{Branch, Commands, End};
use palisade_abstraction::space::{Control, Space};
use palisade_logic::{Formula, Outcome, Prover, Purpose};
use palisade_memory::reduced::Meaning;
use palisade_memory::summary::{BufferOf, ExactCells};
use palisade_program::cfg::Step;
use palisade_program::{Bound, Cell, EdgeId, GlobalId, Model};

use super::Session;
use super::cegar::limits;
use super::cegar::simulate::{Run, RunStep, State};
use crate::answer::Gap;
use crate::portfolio::{MOST_CELLS, Method, REPLAYED, Search};
use crate::question::Buffers;
use crate::reduction::model::{Encoded, Encoding};

/// A run that abstract buffers have and the machine does not.
#[derive(Clone, Debug)]
pub(super) struct Spurious {
    encoding: Encoding,
    run: Vec<Taken>,
}

/// A step of a run in terms of the original program.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Taken {
    thread: usize,
    meaning: Meaning,
    /// Inside an atomic block of the original: the edges of its body.
    path: Vec<EdgeId>,
}

impl Session<'_> {
    /// Remembers a run into a violation, in case that the machine does not have it.
    pub(super) fn suspect(&self, encoded: &Encoded<'_>, run: &Run) {
        if end_of(encoded.encoding()).is_none() {
            return;
        }
        let is_own = |step: &RunStep| {
            let template = self.instances[step.thread].template;
            encoded.is_own_assertion(template, step.edge, &step.path)
        };
        if run.steps.last().is_some_and(is_own) {
            return self.unsuspect(encoded.encoding());
        }
        let steps = run.steps.iter();
        let taken = steps.map(|s| self.taken(encoded, s.thread, s.edge, &s.path));
        let spurious = Spurious {
            encoding: encoded.encoding().clone(),
            run: taken.collect(),
        };
        if let Some(end) = end_of(encoded.encoding()) {
            self.spurious.borrow_mut()[end] = Some(spurious);
        }
    }

    /// A search in this encoding has come to another end.
    pub(super) fn unsuspect(&self, encoding: &Encoding) {
        if let Some(end) = end_of(encoding) {
            self.spurious.borrow_mut()[end] = None;
        }
    }

    /// Whether a run says which cells a search with this encoding should have.
    pub(crate) fn has_spurious_run(&self, encoding: &Encoding) -> bool {
        end_of(encoding).is_some_and(|end| self.spurious.borrow()[end].is_some())
    }

    /// The method with the cells that the last run of its kind asks for.
    ///
    /// # Errors
    /// A search with at most its cells would show the same run again.
    pub(crate) fn guided(&self, method: &Method) -> Result<Method, Gap> {
        let Method::Cegar(search) = method else {
            return Ok(method.clone());
        };
        let (Encoding::Abstract(cells) | Encoding::AbstractOther(cells)) = &search.encoding else {
            return Ok(method.clone());
        };
        if !self.has_spurious_run(&search.encoding) {
            return Ok(method.clone());
        }
        match self.excluding(&search.encoding) {
            Some(encoding) => Ok(Method::Cegar(Search {
                encoding,
                ..search.clone()
            })),
            None => Err(Gap::Bound(Bound::ExactCells(cells.most()))),
        }
    }

    /// The method with cells that exclude the run that it has ended with. Cells that were
    /// given stay as they are, unless they may grow.
    pub(crate) fn larger(&self, row: &Method, tried: &Method, gap: &Gap) -> Option<Method> {
        let is_given = self.options.buffers != Buffers::Auto;
        if is_given && !self.options.grow_buffers {
            return None;
        }
        let larger = if let Gap::Overflow { variable, .. } = gap
            && is_given
        {
            self.roomier(tried, *variable)?
        } else if matches!(gap, Gap::Bound(Bound::BufferOverflow(_))) && is_given {
            self.roomier(tried, None)?
        } else if matches!(gap, Gap::Bound(Bound::ExactCells(_))) {
            self.guided(row).ok()?
        } else {
            return None;
        };
        (larger != *tried).then_some(larger)
    }

    /// The method with one cell more for the bounded buffers of a variable, or for all.
    fn roomier(&self, tried: &Method, variable: Option<GlobalId>) -> Option<Method> {
        let mut larger = tried.clone();
        match larger.encoding_mut()? {
            Encoding::Bounded(sizes) => {
                for (cell, size) in sizes.iter_mut().enumerate() {
                    let of = self.program.variable_of(Cell::from(cell)).0;
                    *size += u32::from(variable.is_none_or(|v| v == of));
                }
                sizes.iter().all(|k| *k <= MOST_CELLS).then_some(larger)
            }
            Encoding::BoundedEach(all) => {
                for (cell, size) in all.iter_mut().flat_map(|s| s.iter_mut().enumerate()) {
                    let of = self.program.variable_of(Cell::from(cell)).0;
                    *size += u32::from(variable.is_none_or(|v| v == of));
                }
                let mut all = all.iter().flatten();
                all.all(|k| *k <= MOST_CELLS).then_some(larger)
            }
            Encoding::Slots(slots) => {
                *slots += 1;
                (*slots <= MOST_CELLS).then_some(larger)
            }
            Encoding::Itself | Encoding::Blocking(_) | Encoding::BlockingSlots(_) => None,
            Encoding::Abstract(_) | Encoding::AbstractOther(_) => None,
            Encoding::Sets(_) | Encoding::Mixed(_) | Encoding::Listed => None,
        }
    }

    /// The least cells that exclude the last run, within those of a row.
    fn excluding(&self, row: &Encoding) -> Option<Encoding> {
        let (Encoding::Abstract(k) | Encoding::AbstractOther(k)) = row else {
            return None;
        };
        let end = usize::from(matches!(row, Encoding::AbstractOther(_)));
        let least = if self.options.grow_buffers {
            MOST_CELLS
        } else {
            0
        };
        let most = k.most().max(least);
        let spurious = self.spurious.borrow()[end].clone()?;
        let (Encoding::Abstract(before) | Encoding::AbstractOther(before)) = &spurious.encoding
        else {
            return None;
        };
        let with = |cells: &ExactCells| match end {
            1 => Encoding::AbstractOther(cells.clone()),
            _ => Encoding::Abstract(cells.clone()),
        };
        let is_excluded = |cells: &ExactCells| !self.has_run(&with(cells), &spurious.run);
        let buffers = self.buffers(&spurious.run);
        let at_least = |k: u32| {
            let own = buffers.iter();
            own.fold(before.clone(), |cells, b| {
                cells.with(*b, cells.of(*b).max(k))
            })
        };
        let least = buffers.iter().map(|b| before.of(*b)).min()?;
        let mut sizes = (least + 1..=most).map(at_least);
        let mut found = sizes.find(is_excluded)?;
        for &buffer in &buffers {
            let lower = before.of(buffer)..found.of(buffer);
            let mut lower = lower.map(|k| found.with(buffer, k));
            if let Some(smaller) = lower.find(is_excluded) {
                found = smaller;
            }
        }
        Some(with(&found))
    }

    /// The buffers that a run stores into, in order.
    fn buffers(&self, run: &[Taken]) -> Vec<BufferOf> {
        let mut all = Vec::new();
        for taken in run {
            let template = self.instances[taken.thread].template;
            let Meaning::Step { edge, .. } = taken.meaning else {
                continue;
            };
            let Step::Store { dst, .. } = &self.program.template(template).cfg.edge(edge).step
            else {
                continue;
            };
            let cells = palisade_memory::blocks::cells(self.program, dst).into_iter();
            all.extend(cells.map(|(_, cell)| match self.model() {
                Model::Pso => (template.index(), Some(cell)),
                Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => (template.index(), None),
            }));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What a step of a search is in the original program.
    fn taken(&self, encoded: &Encoded<'_>, thread: usize, edge: EdgeId, path: &[EdgeId]) -> Taken {
        let template = self.instances[thread].template;
        let meaning = match encoded.reduced() {
            Some(reduced) => reduced.templates[template.index()].edges[edge.index()],
            None => Meaning::Step { edge, skip: 0 },
        };
        let own = |edge: EdgeId, skip: u32| {
            let Step::Atomic(atomic) = &self.program.template(template).cfg.edge(edge).step else {
                return Vec::new();
            };
            let own = path.iter().filter_map(|e| e.0.checked_sub(skip));
            let own = own.map(EdgeId);
            own.filter(|e| e.index() < atomic.body.edges.len())
                .collect()
        };
        let path = if let Meaning::Step { edge, skip } = meaning {
            own(edge, skip)
        } else {
            Vec::new()
        };
        Taken {
            thread,
            meaning,
            path,
        }
    }

    /// Whether the program in this encoding has the run, with whatever rules and values.
    /// Where that is not found out, it has.
    fn has_run(&self, encoding: &Encoding, run: &[Taken]) -> bool {
        let encoded = self.encoder.encode(encoding);
        let space = Space::new(encoded.program(), self.instances.clone(), false);
        let (mut prover, posts) = self.knowledge.take_prover(limits(self.options));
        let mut replay = Replay {
            session: self,
            encoded: &encoded,
            run,
            commands: Commands::new(&space),
            bad: BadStates::new(&space),
            prover: &mut prover,
            steps: 0,
        };
        let starts = space.initial_controls().into_iter();
        let mut starts = starts.map(|control| {
            let mut state = State::initial(&space);
            let conditions = state.take_facts();
            (control, state, conditions)
        });
        let found = starts.any(|(control, state, conditions)| {
            replay.has_rest(0, &control, &state, &conditions) != Some(false)
        });
        self.knowledge.keep_prover(prover, posts);
        found
    }
}

/// Which end of a buffer is exact, where the rest is abstract.
const fn end_of(encoding: &Encoding) -> Option<usize> {
    match encoding {
        Encoding::Abstract(_) => Some(0),
        Encoding::AbstractOther(_) => Some(1),
        Encoding::Itself | Encoding::Blocking(_) => None,
        Encoding::Bounded(_) | Encoding::BoundedEach(_) => None,
        Encoding::Slots(_) | Encoding::BlockingSlots(_) => None,
        Encoding::Sets(_) | Encoding::Mixed(_) | Encoding::Listed => None,
    }
}

/// A replay of a run in one encoding.
struct Replay<'r, 's> {
    session: &'r Session<'r>,
    encoded: &'r Encoded<'r>,
    run: &'r [Taken],
    commands: Commands<'s>,
    bad: BadStates<'s>,
    prover: &'r mut Prover,
    steps: usize,
}

impl Replay<'_, '_> {
    /// Whether the steps from number `at` on can follow; `None` if that is not found out.
    fn has_rest(
        &mut self,
        at: usize,
        control: &Control,
        state: &State,
        conditions: &[Formula],
    ) -> Option<bool> {
        let Some(next) = self.run.get(at) else {
            return self.is_bad(control, state, conditions);
        };
        self.steps += 1;
        if self.steps > REPLAYED {
            return None;
        }
        let branches = self.branches(next, control)?;
        let is_one = branches.len() == 1;
        for branch in branches {
            let mut state = state.clone();
            let (guard, _) = state.step(&branch).ok()?;
            let mut conditions = conditions.to_vec();
            conditions.extend(guard.conjuncts().iter().cloned());
            if guard == Formula::False {
                continue;
            }
            if (!is_one && guard != Formula::True) && !self.is_satisfiable(&conditions)? {
                continue;
            }
            let found = match branch.end {
                End::Failed(_) => {
                    at + 1 == self.run.len()
                        && !self.is_own_assertion(&branch)
                        && self.is_satisfiable(&conditions)?
                }
                End::At(to) => {
                    let mut control = control.clone();
                    control.pcs[branch.thread] = to;
                    for &(position, value) in &branch.explicit {
                        control.values[position] = value;
                    }
                    self.has_rest(at + 1, &control, &state, &conditions)?
                }
            };
            if found {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The ways in which a step of the run can happen.
    fn branches(&mut self, next: &Taken, control: &Control) -> Option<Vec<Branch>> {
        let space = self.commands.space();
        let template = space.threads[next.thread].template;
        let cfg = &space.program.template(template).cfg;
        let mut all = Vec::new();
        for (edge, _) in cfg.outgoing(control.pcs[next.thread]) {
            let ids = self.commands.execute(control, next.thread, edge).ok()?;
            for &id in ids.iter() {
                let branch = &**self.commands.branch(id);
                let path = branch.moves.first().map_or(&[][..], |m| &m.path);
                if self.session.taken(self.encoded, next.thread, edge, path) == *next {
                    all.push(branch.clone());
                }
            }
        }
        Some(all)
    }

    /// Whether an assertion of the reduction, not of the program, has failed.
    fn is_own_assertion(&self, branch: &Branch) -> bool {
        let template = self.session.instances[branch.thread].template;
        let last = branch.moves.last();
        last.is_some_and(|m| self.encoded.is_own_assertion(template, m.edge, &m.path))
    }

    /// Whether the last state can violate a property.
    fn is_bad(&mut self, control: &Control, state: &State, conditions: &[Formula]) -> Option<bool> {
        for (_, formula) in self.bad.at(control).ok()? {
            let formula = formula.substitute(&state.values).ok()?;
            let mut all = conditions.to_vec();
            all.extend(formula.conjuncts().iter().cloned());
            if self.is_satisfiable(&all)? {
                return Some(true);
            }
        }
        Some(false)
    }

    fn is_satisfiable(&mut self, conditions: &[Formula]) -> Option<bool> {
        match self.prover.solve_all(conditions, Purpose::Simulate) {
            Outcome::Sat(_) => Some(true),
            Outcome::Unsat(_) => Some(false),
            Outcome::Unknown(_) => None,
        }
    }
}
