//! *Extrapolation* of a proof under SC to a program under a weak model [Dan et al., SAS
//! 2013; VMCAI 2018]: finds the proof, says which variables of the reduced program are
//! copies of which, and hands out the extrapolated predicates, cubes and facts. The rules
//! are in [`palisade_abstraction::extrapolate`]; this file connects them with the
//! reductions and the loop.
//!
//! The proof under SC is found by the same loop, within bounds that do not depend
//! on time. If there is a bug under SC instead, its run is one under the model:
//! memory may always take each store at once.

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
use palisade_program::{Cell, Instance, Model, Program};

use super::sc_run;
use super::strengthen::strengthen;
use crate::answer::{Answer, Gap, Stats};
use crate::method::cegar::{Advice, Advisor, End, Engine, limits};
use crate::method::falsify::Falsifier;
use crate::portfolio::{MAX_EXTRAPOLATED, SC_PROOF};
use crate::question::{Extrapolate, Options, Strategy};

/// What a search under SC has shown.
#[derive(Clone, Debug)]
pub enum ScAnswer {
    /// The predicates of a proof, over the slots of the program's own space.
    Proof(BTreeSet<Atom>),
    /// A run of the program under the weak model into a violation.
    Run(Witness),
    /// Something should be done first.
    Stop(Gap),
    /// Neither a proof nor a bug.
    Nothing,
}

/// A program to be proved under a weak model, seen under SC.
pub struct ScProof<'a> {
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
    /// Looks for bugs while the proof under SC is searched for.
    pub falsifier: Option<Rc<Falsifier<'a>>>,
    /// What was found, by whether finite variables are explicit.
    answers: RefCell<BTreeMap<bool, Rc<ScAnswer>>>,
    /// What finding out has cost.
    cost: RefCell<Stats>,
}

impl<'a> ScProof<'a> {
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
            falsifier: None,
            answers: RefCell::default(),
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

    /// What is found under SC; searched for once.
    pub fn answer(&self, promote: bool) -> Rc<ScAnswer> {
        if let Some(known) = self.answers.borrow().get(&promote) {
            return Rc::clone(known);
        }
        let answer = Rc::new(self.search(promote));
        // A search that was stopped begins anew when it is asked for again.
        if !matches!(&*answer, ScAnswer::Stop(_)) {
            let mut answers = self.answers.borrow_mut();
            answers.insert(promote, Rc::clone(&answer));
        }
        answer
    }

    fn search(&self, promote: bool) -> ScAnswer {
        let space = Space::new(self.program, self.instances.clone(), promote);
        // Strategies find the same proof at different cost.
        let options = Options {
            model: Model::Sc,
            strategy: Strategy::Lazy,
            ..self.options.clone()
        };
        let hinted = if options.hints {
            hints::atoms(&space).unwrap_or_default()
        } else {
            BTreeSet::new()
        };
        let mut engine = Engine::new(&space, &options, hinted);
        engine.falsifier.clone_from(&self.falsifier);
        let (rounds, states) = SC_PROOF;
        let (rounds, states) = (
            options.max_rounds.min(rounds),
            options.max_states.min(states),
        );
        let end = engine.run(&mut self.prover(), rounds, states);
        self.cost.replace_with(|cost| Stats {
            iterations: cost.iterations + engine.stats.iterations,
            steps: cost.steps + engine.stats.steps,
            ..Stats::default()
        });
        match end {
            End::Proved(_) => ScAnswer::Proof(engine.predicates.atoms().iter().cloned().collect()),
            End::Refuted(run) => {
                let (program, model) = (self.program, self.options.model);
                let run = sc_run::under(program, &self.instances, model, self.copies, &run);
                run.map_or(ScAnswer::Nothing, ScAnswer::Run)
            }
            End::Falsified(run) => ScAnswer::Run(run),
            End::Gap(gap @ Gap::FewStates(_)) => ScAnswer::Stop(gap),
            End::Gap(_) => ScAnswer::Nothing,
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
            cover_by_several: self.options.cover_by_several,
            max_states: Some(SC_PROOF.1),
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
pub struct Setup<'t> {
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
}

impl Setup<'_> {
    /// Nothing is known beforehand.
    pub fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            atoms: BTreeSet::new(),
            cubes: BTreeSet::new(),
            facts: Extrapolated::default(),
            advisor: None,
        }
    }
}

/// What is about to be searched: a reduced program and its space.
#[derive(Clone, Copy)]
pub struct Searched<'t> {
    /// The reduced program; `None` if the program itself is searched.
    pub reduced: Option<&'t Reduced>,
    /// Its space.
    pub space: &'t Space<'t>,
    /// Whether finite variables are explicit in it.
    pub promote: bool,
}

impl ScProof<'_> {
    /// The way to try `searched` at this stage, from 0, each tried when the one before
    /// was too weak; none if there are no more.
    pub fn setup<'t>(
        &'t self,
        searched: Searched<'t>,
        stage: usize,
    ) -> Result<Option<Setup<'t>>, Answer> {
        let mut setup = Setup::new(self.options);
        let by_cubes = matches!(self.options.strategy, Strategy::Cubes | Strategy::Program)
            || self.options.extrapolate == Extrapolate::Cubes;
        let Some(reduced) = searched.reduced else {
            return Ok((stage == 0).then_some(setup));
        };
        match self.options.extrapolate {
            Extrapolate::Cubes | Extrapolate::Auto | Extrapolate::Predicates if by_cubes => {
                if !self.setup_cubes(&mut setup, reduced, searched, stage)? {
                    return Ok(None);
                }
            }
            Extrapolate::Predicates if stage == 0 => {
                match &*self.answer(searched.promote) {
                    ScAnswer::Proof(atoms) => {
                        setup.atoms = lifted(self, reduced, searched, atoms, false);
                    }
                    ScAnswer::Run(run) => return Err(Answer::Run(run.clone())),
                    ScAnswer::Stop(gap) => return Err(gap.clone().into()),
                    ScAnswer::Nothing => {}
                }
                setup.advisor = Some(self.advisor(reduced, searched, 1));
            }
            // Exactly the predicates given: nothing is to be found elsewhere.
            Extrapolate::Auto if stage == 0 && self.options.refine => {
                setup.advisor = Some(self.advisor(reduced, searched, 0));
            }
            Extrapolate::Auto | Extrapolate::None if stage == 0 => {}
            Extrapolate::Auto
            | Extrapolate::Predicates
            | Extrapolate::Cubes
            | Extrapolate::None => return Ok(None),
        }
        Ok(Some(setup))
    }

    /// Cubes first, then those of a strengthened proof, then the lazy strategy. The Boolean program
    /// is tried as it is, then with cases split, then that of a strengthened proof.
    fn setup_cubes(
        &self,
        setup: &mut Setup<'_>,
        reduced: &Reduced,
        searched: Searched<'_>,
        stage: usize,
    ) -> Result<bool, Answer> {
        let answer = self.answer(searched.promote);
        let mut atoms = match (&*answer, stage) {
            (ScAnswer::Proof(atoms), _) => atoms.clone(),
            (ScAnswer::Run(run), _) => return Err(Answer::Run(run.clone())),
            (ScAnswer::Stop(gap), _) => return Err(gap.clone().into()),
            // Nothing to extrapolate from: straight to the last way.
            (ScAnswer::Nothing, 0) => BTreeSet::new(),
            (ScAnswer::Nothing, _) => return Ok(false),
        };
        let proved = matches!(&*answer, ScAnswer::Proof(_));
        let whole = proved && self.options.strategy == Strategy::Program;
        let (split, stage) = match stage {
            0 => (false, 0),
            stage if whole => (true, stage - 1),
            stage => (false, stage),
        };
        if stage > 0 {
            atoms = self.strengthened(searched.promote, &atoms);
        }
        setup.atoms = lifted(self, reduced, searched, &atoms, stage > 0);
        match stage {
            0 | 1 if whole => {
                setup.options.refine = false;
                if !split {
                    // Cases are split with the facts for that.
                    setup.options.max_rounds = setup.options.max_rounds.min(1);
                }
                setup.facts = self.extrapolated(reduced, searched, &atoms, (stage > 0, split));
            }
            0 | 1 if proved => {
                setup.options.strategy = Strategy::Cubes;
                setup.options.refine = false;
                let sc = self.space(searched.promote);
                let mut copies = copies(&sc, reduced, searched.space);
                copies.mixed = stage > 0;
                setup.cubes = copies.lift_cubes(&self.cubes(searched.promote, &atoms));
                if self.options.drop_buffered {
                    setup.cubes = copies.drop_buffered(std::mem::take(&mut setup.cubes));
                }
            }
            0 => setup.options.strategy = Strategy::Lazy,
            2 if self.options.refine => setup.options.strategy = Strategy::Lazy,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The Boolean program under SC with these predicates, renamed for a reduced program:
    /// over copies of several threads if they are `mixed`, with the facts for cases that are
    /// `split`.
    pub(super) fn extrapolated(
        &self,
        reduced: &Reduced,
        searched: Searched<'_>,
        atoms: &BTreeSet<Atom>,
        (mixed, split): (bool, bool),
    ) -> Extrapolated {
        let sc = self.space(searched.promote);
        let mut copies = copies(&sc, reduced, searched.space);
        copies.mixed = mixed;
        copies.incoming = incoming(&sc, reduced, searched.space);
        take_elements(&mut copies, searched.space);
        let facts = self.facts(searched.promote, atoms, split);
        Extrapolated::new(&facts, &copies)
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
    fn advisor<'t>(
        &'t self,
        reduced: &'t Reduced,
        searched: Searched<'t>,
        from: usize,
    ) -> Advisor<'t> {
        let mut stage = from;
        let most = match self.options.extrapolate {
            Extrapolate::Auto => MAX_EXTRAPOLATED,
            Extrapolate::Predicates | Extrapolate::Cubes | Extrapolate::None => usize::MAX,
        };
        Box::new(move || {
            stage += 1;
            let advice = |atoms: &BTreeSet<Atom>| {
                let lifted = lifted(self, reduced, searched, atoms, stage > 1);
                if lifted.len() <= most {
                    Advice::Atoms(lifted)
                } else {
                    Advice::Nothing
                }
            };
            match (&*self.answer(searched.promote), stage) {
                (ScAnswer::Proof(atoms), 1) => advice(atoms),
                (ScAnswer::Proof(atoms), 2) => advice(&self.strengthened(searched.promote, atoms)),
                (ScAnswer::Run(run), 1) => Advice::Run(run.clone()),
                (ScAnswer::Stop(gap), _) => Advice::Stop(gap.clone()),
                (ScAnswer::Proof(_) | ScAnswer::Run(_) | ScAnswer::Nothing, _) => Advice::Nothing,
            }
        })
    }
}

/// The lifted predicates; `widely`: with rule 4, and over copies of several threads.
fn lifted(
    sc_proof: &ScProof<'_>,
    reduced: &Reduced,
    searched: Searched<'_>,
    atoms: &BTreeSet<Atom>,
    widely: bool,
) -> BTreeSet<Atom> {
    let sc = sc_proof.space(searched.promote);
    let mut copies = copies(&sc, reduced, searched.space);
    copies.mixed = widely;
    if sc_proof.takes_incoming() {
        copies.incoming = incoming(&sc, reduced, searched.space);
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
pub(super) fn incoming(sc: &Space<'_>, reduced: &Reduced, space: &Space<'_>) -> Vec<(Var, Var)> {
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
            // Section 4.2 [Baumann et al., VMCAI 2018]: what is said of a variable, of all elements of a
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
