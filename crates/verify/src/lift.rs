//! *Lifting* a proof under SC to a program under TSO or PSO (seed 000): finds the
//! proof, says which variables of the reduced program are copies of which, and
//! hands out the lifted predicates and cubes. The rules are in
//! [`palisade_abstraction::extrapolate`]; this file connects them with the
//! reductions and the loop.
//!
//! The proof under SC is found by the same loop, within bounds that do not depend
//! on time. If there is a bug under SC instead, its run is replayed under the
//! model: memory may always take each store at once, so that it is a bug there
//! too, unless an assertion speaks of more than the run says.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::Commands;
use palisade_abstraction::extrapolate::{Copies, Literals, Thread, literals_of};
use palisade_abstraction::hints;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_abstraction::tables::Tables;
use palisade_checker::search::{self, Search};
use palisade_logic::{Atom, Prover, SolverStats, Var};
use palisade_machine::Witness;
use palisade_memory::need;
use palisade_memory::reduced::{Part, Reduced};
use palisade_program::{Cell, Instance, Model, Program, Violation};

use crate::elsewhere;
use crate::engine::{End, Engine, limits};
use crate::options::{Options, Stats};
use crate::strengthen::strengthen;

/// Most rounds of the search for a proof under SC.
const MAX_ROUNDS: usize = 60;
/// Most abstract states of one of its searches.
const MAX_STATES: usize = 200_000;

/// What a run under SC taught.
#[derive(Clone, Debug)]
pub enum Lesson {
    /// The predicates of a proof, over the slots of the program's own space.
    Proof(BTreeSet<Atom>),
    /// A bug that the machine has replayed under the model.
    Bug(Box<(Box<Violation>, Witness)>),
    /// Neither a proof nor a bug.
    Nothing,
}

/// A program to be proved under a weak model, seen under SC.
pub struct Teacher<'a> {
    /// The program.
    pub program: &'a Program,
    /// The threads that run.
    pub instances: Vec<Instance>,
    /// Copies of `[*]` templates.
    pub copies: u32,
    /// The options, with the weak model.
    pub options: &'a Options,
    /// Where solver calls are counted.
    pub solver: Arc<SolverStats>,
    /// What was learned, by whether finite variables are explicit.
    lessons: RefCell<BTreeMap<bool, Rc<Lesson>>>,
    /// What finding out has cost.
    cost: RefCell<Stats>,
}

impl<'a> Teacher<'a> {
    /// Has not looked at the program yet.
    pub fn new(
        program: &'a Program,
        instances: Vec<Instance>,
        copies: u32,
        options: &'a Options,
        solver: Arc<SolverStats>,
    ) -> Self {
        Self {
            program,
            instances,
            copies,
            options,
            solver,
            lessons: RefCell::default(),
            cost: RefCell::default(),
        }
    }

    fn prover(&self) -> Prover {
        Prover::new(palisade_logic::Options {
            limits: limits(self.options),
            stats: Arc::clone(&self.solver),
            memo: self.options.shortcuts,
            differences: self.options.shortcuts,
        })
    }

    /// The rounds and steps that were spent under SC since this was last asked.
    pub fn take_cost(&self) -> Stats {
        self.cost.take()
    }

    /// What SC teaches; found once.
    pub fn lesson(&self, promote: bool) -> Rc<Lesson> {
        if let Some(known) = self.lessons.borrow().get(&promote) {
            return Rc::clone(known);
        }
        let lesson = Rc::new(self.study(promote));
        let mut lessons = self.lessons.borrow_mut();
        lessons.insert(promote, Rc::clone(&lesson));
        lesson
    }

    fn study(&self, promote: bool) -> Lesson {
        let space = Space::new(self.program, self.instances.clone(), promote);
        let options = Options {
            model: Model::Sc,
            max_rounds: self.options.max_rounds.min(MAX_ROUNDS),
            ..self.options.clone()
        };
        let hinted = if options.hints {
            hints::atoms(&space).unwrap_or_default()
        } else {
            BTreeSet::new()
        };
        let mut engine = Engine::new(&space, &options, hinted);
        let end = engine.run(&mut self.prover(), options.max_states.min(MAX_STATES));
        self.cost.replace_with(|cost| Stats {
            iterations: cost.iterations + engine.stats.iterations,
            steps: cost.steps + engine.stats.steps,
            ..Stats::default()
        });
        match end {
            End::Proved(_) => Lesson::Proof(engine.predicates.atoms().iter().cloned().collect()),
            End::Refuted(run) => {
                let (program, model) = (self.program, self.options.model);
                let replayed =
                    elsewhere::replay(program, &self.instances, model, self.copies, &run);
                replayed.map_or(Lesson::Nothing, |found| Lesson::Bug(Box::new(found)))
            }
            End::Advised(..) | End::Unknown(_) => Lesson::Nothing,
        }
    }

    /// The space of the program itself.
    pub fn space(&self, promote: bool) -> Space<'a> {
        Space::new(self.program, self.instances.clone(), promote)
    }

    /// The predicates of an imprecise proof with others that make it more precise.
    pub fn strengthened(&self, promote: bool, atoms: &BTreeSet<Atom>) -> BTreeSet<Atom> {
        let space = self.space(promote);
        strengthen(&space, self.options, &mut self.prover(), atoms)
    }

    /// The cubes of the Boolean program under SC with these predicates.
    pub fn cubes(&self, promote: bool, atoms: &BTreeSet<Atom>) -> BTreeSet<Literals> {
        let space = self.space(promote);
        let mut predicates = Predicates::default();
        for atom in atoms {
            predicates.add(atom.clone());
        }
        let mut commands = if self.options.compress {
            Commands::compressed(&space)
        } else {
            Commands::new(&space)
        };
        let bad = BadStates::new(&space);
        let options = search::Options {
            merge: self.options.merge,
            max_states: Some(MAX_STATES),
            limits: limits(self.options),
        };
        let mut prover = self.prover();
        let mut cubes = BTreeSet::new();
        for split in [false, true] {
            if split {
                for p in 0..predicates.len() {
                    predicates.mark_split(p);
                }
            }
            let mut tables = Tables::cores(&mut prover, Some(self.options.cube_size));
            let mut search = Search::new(&mut commands, &bad, &predicates, &mut tables, &options);
            // Whatever was found counts, also if the search ended early.
            let outcome = search.run();
            let found = tables.all_cubes();
            cubes.extend(found.iter().map(|cube| literals_of(&predicates, cube)));
            if !matches!(outcome, Ok(search::Outcome::Error(_))) {
                break;
            }
        }
        cubes
    }
}

/// Which variables of `space`, the space of `reduced`, hold copies of which of `sc`,
/// the space of the program itself.
pub fn copies(sc: &Space<'_>, reduced: &Reduced, space: &Space<'_>) -> Copies {
    let var = |slot: usize| Var(slot as u32);
    let cells = (0..sc.program.cell_count()).map(Cell::from);
    let mut copies = Copies {
        same: cells
            .map(|c| (var(sc.cell_slot(c)), var(space.cell_slot(c))))
            .collect(),
        ..Copies::default()
    };
    let one_store = need::most_buffered(sc.program, None).is_some_and(|n| n <= 1);
    // The flag `overflow`.
    copies.generic_count = 1;
    for (number, instance) in space.threads.iter().enumerate() {
        let template = &reduced.templates[instance.template.index()];
        let mut thread = Thread {
            single: one_store,
            ..Thread::default()
        };
        let mut shared = 0;
        for (index, part) in template.locals.iter().enumerate() {
            let slot = space.local_slot(number, index.into());
            match part {
                Part::Own => {
                    let own = sc.local_slot(number, index.into());
                    copies.same.insert(var(own), var(slot));
                }
                Part::Value(Some(cell), _) => {
                    let places = thread.places.entry(var(sc.cell_slot(*cell)));
                    places.or_default().push(var(slot));
                }
                Part::Value(None, _) => {
                    shared += 1;
                    for cell in &template.buffered {
                        let places = thread.places.entry(var(sc.cell_slot(*cell)));
                        places.or_default().push(var(slot));
                    }
                }
                Part::Count(_) | Part::Target(_) => {
                    let values = space.slots[slot].explicit.as_ref();
                    copies.generic_count += values.map_or(0, |e| e.values.len());
                }
                Part::Epoch(..) | Part::CurrentEpoch | Part::Scratch => {}
            }
        }
        thread.single |= shared == 1;
        copies.threads.push(thread);
    }
    let slots = space.slots.iter().enumerate();
    let explicit = slots.filter(|(_, s)| s.explicit.is_some());
    copies.explicit = explicit.map(|(slot, _)| var(slot)).collect();
    copies
}
