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
use palisade_abstraction::extrapolate::{
    Copies, Extrapolated, Fact, Literals, Thread, literals_of,
};
use palisade_abstraction::hints;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_abstraction::tables::Tables;
use palisade_checker::search::{self, Search};
use palisade_logic::{Atom, Prover, SolverStats, Var};
use palisade_machine::Witness;
use palisade_memory::need;
use palisade_memory::reduced::{Part, Reduced};
use palisade_memory::remote_atomics::Input;
use palisade_memory::value_sets::SetPart;
use palisade_program::{Cell, Instance, Model, Program, Violation};

use crate::elsewhere;
use crate::engine::{Advice, Advisor, End, Engine, limits};
use crate::hunt::Hunts;
use crate::options::{Extrapolate, Options, Stats, Strategy};
use crate::strengthen::strengthen;

/// Most rounds of the search for a proof under SC.
const MAX_ROUNDS: usize = 60;
/// Most abstract states of one of its searches.
const MAX_STATES: usize = 200_000;

/// A violation under the weak model, and its run.
pub type Bug = Box<(Box<Violation>, Witness)>;

/// Most lifted predicates that are used without being asked for: above it, finding
/// the few that are needed is cheaper.
const MAX_LIFTED: usize = 100;

/// What a run under SC taught.
#[derive(Clone, Debug)]
pub enum Lesson {
    /// The predicates of a proof, over the slots of the program's own space.
    Proof(BTreeSet<Atom>),
    /// A bug that the machine has replayed under the model.
    Bug(Bug),
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
    /// Looks for bugs while SC is studied.
    pub hunts: Option<Rc<Hunts<'a>>>,
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
            hunts: None,
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

    /// Forgets what SC has taught.
    pub fn forget(&self) {
        self.lessons.borrow_mut().clear();
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
        // Strategies find the same proof at different cost.
        let options = Options {
            model: Model::Sc,
            strategy: Strategy::Lazy,
            max_rounds: self.options.max_rounds.min(MAX_ROUNDS),
            ..self.options.clone()
        };
        let hinted = if options.hints {
            hints::atoms(&space).unwrap_or_default()
        } else {
            BTreeSet::new()
        };
        let mut engine = Engine::new(&space, &options, hinted);
        engine.hunts.clone_from(&self.hunts);
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
            End::Advised(bug) => Lesson::Bug(bug),
            End::Unknown(_) => Lesson::Nothing,
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
        self.boolean_program(promote, atoms, false).0
    }

    /// The facts of the Boolean program under SC with these predicates. `split`: also those that
    /// a search needs which decides what predicates leave open.
    pub fn facts(&self, promote: bool, atoms: &BTreeSet<Atom>, split: bool) -> BTreeSet<Fact> {
        self.boolean_program(promote, atoms, split).1
    }

    /// The Boolean program under SC, as far as its states are reached; with cases split if
    /// there is no proof without, or if that is asked for.
    fn boolean_program(
        &self,
        promote: bool,
        atoms: &BTreeSet<Atom>,
        split_too: bool,
    ) -> (BTreeSet<Literals>, BTreeSet<Fact>) {
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
        let mut facts = BTreeSet::new();
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
            facts.extend(tables.facts(&predicates));
            if !split_too && !matches!(outcome, Ok(search::Outcome::Error(_))) {
                break;
            }
        }
        (cubes, facts)
    }
}

/// One way to try a reduced program.
pub struct Plan<'t> {
    /// The options of the loop.
    pub options: Options,
    /// Predicates to start with.
    pub atoms: BTreeSet<Atom>,
    /// Cubes for [`Strategy::Cubes`].
    pub cubes: BTreeSet<Literals>,
    /// Facts for [`Strategy::Program`].
    pub facts: Extrapolated,
    /// Whom to ask before refinement.
    pub advisor: Option<Advisor<'t>>,
    /// A bug that is known already.
    pub bug: Option<Bug>,
}

impl Plan<'_> {
    /// Nothing is known beforehand.
    pub fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            atoms: BTreeSet::new(),
            cubes: BTreeSet::new(),
            facts: Extrapolated::default(),
            advisor: None,
            bug: None,
        }
    }
}

/// What is about to be searched: a reduced program and its space.
#[derive(Clone, Copy)]
pub struct Pupil<'t> {
    /// The reduced program; `None` if the program itself is searched.
    pub reduced: Option<&'t Reduced>,
    /// Its space.
    pub space: &'t Space<'t>,
    /// Whether finite variables are explicit in it.
    pub promote: bool,
}

impl Teacher<'_> {
    /// The way to try `pupil` at this stage, from 0, each tried when the one before
    /// was too weak; none if there are no more.
    pub fn plan<'t>(&'t self, pupil: Pupil<'t>, stage: usize) -> Option<Plan<'t>> {
        let mut plan = Plan::new(self.options);
        let by_cubes = matches!(self.options.strategy, Strategy::Cubes | Strategy::Program)
            || self.options.extrapolate == Extrapolate::Cubes;
        let Some(reduced) = pupil.reduced else {
            return (stage == 0).then_some(plan);
        };
        match self.options.extrapolate {
            Extrapolate::Cubes | Extrapolate::Auto | Extrapolate::Predicates if by_cubes => {
                self.plan_cubes(&mut plan, reduced, pupil, stage)?;
            }
            Extrapolate::Predicates if stage == 0 => {
                match &*self.lesson(pupil.promote) {
                    Lesson::Proof(atoms) => plan.atoms = lifted(self, reduced, pupil, atoms, false),
                    Lesson::Bug(bug) => plan.bug = Some(bug.clone()),
                    Lesson::Nothing => {}
                }
                plan.advisor = Some(self.advisor(reduced, pupil, 1));
            }
            // Exactly the predicates given: nothing is to be found elsewhere.
            Extrapolate::Auto if stage == 0 && self.options.refine => {
                plan.advisor = Some(self.advisor(reduced, pupil, 0));
            }
            Extrapolate::Auto | Extrapolate::None if stage == 0 => {}
            Extrapolate::Auto
            | Extrapolate::Predicates
            | Extrapolate::Cubes
            | Extrapolate::None => return None,
        }
        Some(plan)
    }

    /// Cubes first, then those of a strengthened proof, then the lazy strategy. The Boolean program
    /// is tried as it is, then with cases split, then that of a strengthened proof.
    fn plan_cubes(
        &self,
        plan: &mut Plan<'_>,
        reduced: &Reduced,
        pupil: Pupil<'_>,
        stage: usize,
    ) -> Option<()> {
        let lesson = self.lesson(pupil.promote);
        let mut atoms = match (&*lesson, stage) {
            (Lesson::Proof(atoms), _) => atoms.clone(),
            (Lesson::Bug(bug), 0) => {
                plan.bug = Some(bug.clone());
                return Some(());
            }
            // Nothing to lift from: straight to the last way.
            (Lesson::Nothing, 0) => BTreeSet::new(),
            (Lesson::Bug(_) | Lesson::Nothing, _) => return None,
        };
        let proved = matches!(&*lesson, Lesson::Proof(_));
        let whole = proved && self.options.strategy == Strategy::Program;
        let (split, stage) = match stage {
            0 => (false, 0),
            stage if whole => (true, stage - 1),
            stage => (false, stage),
        };
        if stage > 0 {
            atoms = self.strengthened(pupil.promote, &atoms);
        }
        plan.atoms = lifted(self, reduced, pupil, &atoms, stage > 0);
        match stage {
            0 | 1 if whole => {
                plan.options.refine = false;
                if !split {
                    // Cases are split with the facts for that.
                    plan.options.max_rounds = plan.options.max_rounds.min(1);
                }
                let sc = self.space(pupil.promote);
                let mut copies = copies(&sc, reduced, pupil.space);
                copies.mixed = stage > 0;
                copies.incoming = incoming(&sc, reduced, pupil.space);
                take_elements(&mut copies, pupil.space);
                let facts = self.facts(pupil.promote, &atoms, split);
                plan.facts = Extrapolated::new(&facts, &copies);
            }
            0 | 1 if proved => {
                plan.options.strategy = Strategy::Cubes;
                plan.options.refine = false;
                let sc = self.space(pupil.promote);
                let mut copies = copies(&sc, reduced, pupil.space);
                copies.mixed = stage > 0;
                plan.cubes = copies.lift_cubes(&self.cubes(pupil.promote, &atoms));
                if self.options.drop_buffered {
                    plan.cubes = copies.drop_buffered(std::mem::take(&mut plan.cubes));
                }
            }
            0 => plan.options.strategy = Strategy::Lazy,
            2 if self.options.refine => plan.options.strategy = Strategy::Lazy,
            _ => return None,
        }
        Some(())
    }

    /// Whether what is said of targets is said of all that may be written to them. Where predicates
    /// are only added on demand, finding the few that are needed is cheaper.
    fn takes_incoming(&self) -> bool {
        match self.options.extrapolate {
            Extrapolate::Predicates | Extrapolate::Cubes => true,
            Extrapolate::Auto => self.options.strategy == Strategy::Program,
            Extrapolate::None => false,
        }
    }

    /// Hands out the lifted predicates of the proof, then those of a strengthened
    /// one, over mixed copies; from this stage on.
    fn advisor<'t>(&'t self, reduced: &'t Reduced, pupil: Pupil<'t>, from: usize) -> Advisor<'t> {
        let mut stage = from;
        let most = match self.options.extrapolate {
            Extrapolate::Auto => MAX_LIFTED,
            Extrapolate::Predicates | Extrapolate::Cubes | Extrapolate::None => usize::MAX,
        };
        Box::new(move || {
            stage += 1;
            let advice = |atoms: &BTreeSet<Atom>| {
                let lifted = lifted(self, reduced, pupil, atoms, stage > 1);
                if lifted.len() <= most {
                    Advice::Atoms(lifted)
                } else {
                    Advice::Nothing
                }
            };
            match (&*self.lesson(pupil.promote), stage) {
                (Lesson::Proof(atoms), 1) => advice(atoms),
                (Lesson::Proof(atoms), 2) => advice(&self.strengthened(pupil.promote, atoms)),
                (Lesson::Bug(bug), 1) => Advice::Bug(bug.clone()),
                (Lesson::Proof(_) | Lesson::Bug(_) | Lesson::Nothing, _) => Advice::Nothing,
            }
        })
    }
}

/// The lifted predicates; `widely`: with rule 4, and over copies of several threads.
fn lifted(
    teacher: &Teacher<'_>,
    reduced: &Reduced,
    pupil: Pupil<'_>,
    atoms: &BTreeSet<Atom>,
    widely: bool,
) -> BTreeSet<Atom> {
    let sc = teacher.space(pupil.promote);
    let mut copies = copies(&sc, reduced, pupil.space);
    copies.mixed = widely;
    if teacher.takes_incoming() {
        copies.incoming = incoming(&sc, reduced, pupil.space);
    }
    let mut lifted = copies.lift_atoms(atoms);
    if widely {
        lifted.extend(copies.neighbours(atoms));
    }
    lifted
}

/// An element that was taken from a set is a copy of the variable that the set is of.
fn take_elements(copies: &mut Copies, space: &Space<'_>) {
    let element = space.first_element();
    let is_set = |place: &Var| space.sets.contains_key(&(place.0 as usize));
    let all = copies.threads.iter().flat_map(|t| &t.places);
    let of_sets = all.filter(|(_, places)| places.iter().any(is_set));
    let places = of_sets.map(|(var, _)| (*var, vec![element])).collect();
    let of_sets = copies.incoming.iter().filter(|(_, place)| is_set(place));
    let taken: Vec<(Var, Var)> = of_sets.map(|(var, _)| (*var, element)).collect();
    copies.incoming.extend(taken);
    copies.threads.push(Thread {
        places,
        single: false,
    });
}

/// Which variables get the values of which slots and sets: the targets of remote operations. What is
/// to be known of a target is to be known of all that may be written to it, also in
/// relation to the variable that the operation reads, which may have changed since.
fn incoming(sc: &Space<'_>, reduced: &Reduced, space: &Space<'_>) -> Vec<(Var, Var)> {
    let var = |slot: usize| Var(slot as u32);
    let mut all = Vec::new();
    for (number, instance) in space.threads.iter().enumerate() {
        let template = &reduced.templates[instance.template.index()];
        for (index, part) in template.locals.iter().enumerate() {
            if let Part::Carried(operation, _) = part {
                let target = template.operations[*operation as usize].target;
                let slot = space.local_slot(number, index.into());
                all.push((var(sc.cell_slot(target)), var(slot)));
            }
        }
    }
    let sets = reduced.sets.iter().flat_map(|(_, cells)| cells.iter());
    for (number, set) in sets.enumerate() {
        if set.part != SetPart::Summary {
            continue;
        }
        let operations = &reduced.templates[set.template].operations;
        let own = &operations[set.operation as usize];
        let slot = space.cell_slot(Cell::from(sc.program.cell_count() + number));
        let alike = operations.iter().filter(|o| o.source == own.source);
        all.extend(alike.map(|o| (var(sc.cell_slot(o.target)), var(slot))));
    }
    all.sort_unstable();
    all.dedup();
    all
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
                Part::Value(Some(cell), _) | Part::Last(cell) | Part::Low(cell) => {
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
                Part::Count(_) | Part::Target(_) | Part::More(_) => {
                    let values = space.slots[slot].explicit.as_ref();
                    copies.generic_count += values.map_or(0, |e| e.values.len());
                }
                Part::AtomicInput(number, _, i) => {
                    let inputs = &template.atomics[*number as usize].inputs;
                    if let Input::Cell(source) = &inputs[*i as usize] {
                        let places = thread.places.entry(var(sc.cell_slot(*source)));
                        places.or_default().push(var(slot));
                    }
                }
                Part::AtomicOld(number, _) => {
                    let cell = template.atomics[*number as usize].cell;
                    let places = thread.places.entry(var(sc.cell_slot(cell)));
                    places.or_default().push(var(slot));
                }
                Part::AtomicPhase(..) | Part::AtomicGot(..) | Part::Phase(..) => {
                    let values = space.slots[slot].explicit.as_ref();
                    copies.generic_count += values.map_or(0, |e| e.values.len());
                }
                Part::Carried(number, _) => {
                    let source = template.operations[*number as usize].source;
                    let places = thread.places.entry(var(sc.cell_slot(source)));
                    places.or_default().push(var(slot));
                }
                Part::Epoch(..) | Part::CurrentEpoch | Part::Scratch => {}
            }
        }
        // Stores beyond the cells have copies of their own.
        thread.single |= shared == 1 && reduced.beyond.is_none();
        copies.threads.push(thread);
    }
    for (number, set) in reduced
        .sets
        .iter()
        .flat_map(|(_, cells)| cells.iter().enumerate())
    {
        let is_it = |i: &Instance| i.template.index() == set.template && i.copy == set.copy;
        let Some(thread) = space.threads.iter().position(is_it) else {
            continue;
        };
        match set.part {
            // Section 4.2 of seed 004: what is said of a variable, of all elements of a
            // set of its values.
            SetPart::Summary => {
                let parts = &reduced.templates[set.template].operations;
                let source = parts[set.operation as usize].source;
                let slot = space.cell_slot(Cell::from(sc.program.cell_count() + number));
                let places = copies.threads[thread]
                    .places
                    .entry(var(sc.cell_slot(source)));
                places.or_default().push(var(slot));
            }
            SetPart::More | SetPart::Used => copies.generic_count += 1,
            SetPart::Has(_) => {}
        }
    }
    let slots = space.slots.iter().enumerate();
    let explicit = slots.filter(|(_, s)| s.explicit.is_some());
    copies.explicit = explicit.map(|(slot, _)| var(slot)).collect();
    copies
}
