//! Exploration from end to end: compile, search with reductions, and for a
//! violation search again without partial order for a shortest run, which is then
//! replayed.

use palisade_program::{
    Broken, Cell, Chosen, LocalId, Model, Program, Span, Unknown, Vacuous, Verdict, Violation,
};

use crate::canonical::Canonical;
use crate::delay::Delays;
use crate::external::Trouble;
use crate::machine::{Keep, Machine};
use crate::network::{Alone, Network, gather};
use crate::options::{Bound, Bounds, Exploration, Options, Unsupported};
use crate::partial_order::mark_safe;
use crate::rc11::Prompt;
use crate::replay::{Start, ThreadStep, Witness, replay_deepest};
use crate::search::{End, Found, Task};
use crate::shortest::{Run, best_run, run_to};
use crate::state::State;
use crate::storage::Storage;
use crate::trace::Recorder;
use crate::visit::Partition;

/// States that the exact machine looks at to follow a run with summarised histories.
const SUMMARISED: usize = 50_000;

/// Explores all runs of `program` within the bounds of `options`.
///
/// ```
/// use palisade_machine::{Options, explore};
/// use palisade_program::{Model, Program, Source, Verdict};
///
/// let program = Program {
///     source: Source::new("empty.pal", ""),
///     ..Program::default()
/// };
/// let exploration = explore(&program, &Options::new(Model::Tso)).unwrap();
/// assert_eq!(exploration.verdict, Verdict::Holds);
/// ```
///
/// # Errors
/// What the machine cannot run.
pub fn explore(program: &Program, options: &Options) -> Result<Exploration, Unsupported> {
    explore_in(program, options, None)
}

fn explore_in(
    program: &Program,
    options: &Options,
    mut storage: Option<&mut Storage<'_>>,
) -> Result<Exploration, Unsupported> {
    let mut first = search(program, options, storage.as_deref_mut())?;
    let Verdict::Violated(violation) = &first.verdict else {
        return with_reaches(program, options, first, storage);
    };
    if program.asked.includes_broken(&violation.broken) {
        return Ok(first);
    }
    // A run that is beside the point: is there one that is not?
    if let Some(narrowed) = program.narrowed() {
        let second = search(&narrowed, options, storage)?;
        if is_confirmed(program, &second) {
            return Ok(second);
        }
    }
    let violation = violation.clone();
    first.verdict = program.judged(violation.clone());
    first.beside_the_point = Some(violation);
    first.witness = None;
    Ok(first)
}

/// Whether what was found where other assertions are assumptions is a violation of the program itself. A thread that waits at such an
/// assumption waits for nothing: in the program it fails there. So a deadlock, or threads without progress, have to be those of a run of the
/// program, too.
fn is_confirmed(program: &Program, found: &Exploration) -> bool {
    let Verdict::Violated(violation) = &found.verdict else {
        return false;
    };
    if !matches!(violation.broken, Broken::Deadlock | Broken::Progress) {
        return true;
    }
    let replayed = found.witness.as_ref().and_then(|run| {
        let replayed = crate::replay::replay(program, &run.start, &run.actions);
        replayed.ok()?.violation
    });
    replayed.is_some_and(|again| again.broken == violation.broken)
}

/// Looks for a run to each `reach`, where nothing is violated. One that no run reaches is
/// violated, if all runs were seen.
fn with_reaches(
    program: &Program,
    options: &Options,
    mut found: Exploration,
    mut storage: Option<&mut Storage<'_>>,
) -> Result<Exploration, Unsupported> {
    for number in 0..program.reaches.len() {
        let reaching = program.reaching(number);
        let second = search(&reaching, options, storage.as_deref_mut())?;
        match second.verdict {
            Verdict::Violated(run) => found.reached.push(*run),
            Verdict::Holds => {
                let violation = Box::new(program.unreachable(number));
                found.verdict = Verdict::Violated(violation);
                return Ok(found);
            }
            Verdict::Unknown(why) => found.verdict = Verdict::Unknown(why),
        }
    }
    Ok(found)
}

/// As [`explore`]; variables that are read before anything was written to them, which are
/// returned as well, start with any value ([`Program::choosing`]).
///
/// # Errors
/// What the machine cannot run.
pub fn explore_choosing(
    program: &Program,
    options: &Options,
) -> Result<(Exploration, Chosen), Unsupported> {
    choosing(program, options, None)
}

/// The same, with states kept as `storage` says. Verdict, number of states and shortest runs are
/// the same (of more than four million states, some shortest run). Final states are not
/// collected where states have checkpoints or are partitioned.
///
/// # Errors
/// What the machine cannot run.
pub fn explore_choosing_in(
    program: &Program,
    options: &Options,
    storage: &mut Storage<'_>,
) -> Result<(Exploration, Chosen), Unsupported> {
    choosing(program, options, Some(storage))
}

fn choosing(
    program: &Program,
    options: &Options,
    mut storage: Option<&mut Storage<'_>>,
) -> Result<(Exploration, Chosen), Unsupported> {
    let mut chosen = Chosen::new();
    let mut found = explore_in(program, options, storage.as_deref_mut())?;
    while let Verdict::Unknown(Unknown::Uninitialised(variable, span)) = &found.verdict {
        if chosen.insert(variable.clone(), *span).is_some() {
            break;
        }
        let choosing = program.choosing(&chosen);
        found = explore_in(&choosing, options, storage.as_deref_mut())?;
    }
    Ok((found, chosen))
}

/// One search, for whatever violation is met first.
fn search(
    program: &Program,
    options: &Options,
    mut storage: Option<&mut Storage<'_>>,
) -> Result<Exploration, Unsupported> {
    let keep = if options.collect_finals {
        Keep::Finals
    } else {
        Keep::Live
    };
    let mut machine = Machine::new(program, options, keep)?;
    // What a thread can do alone is asked of all states.
    let partial_order = options.partial_order && !program.progress;
    if partial_order {
        mark_safe(&mut machine);
        machine.prompt = Prompt::of(&machine);
        machine.delays = Delays::of(&machine);
    }
    // Histories and views would have to be renamed with the copies.
    let named = options.model == Model::Rc11;
    let symmetry = options.symmetry && !options.collect_finals && !named;
    let shift = options.shift && !options.collect_finals;
    let canonical = Canonical::of(&machine, symmetry, shift);
    let task = Task {
        machine: &machine,
        options,
        canonical: canonical.as_ref(),
        partial_order,
        last_level: None,
        partition: storage.as_ref().map_or(Partition::WHOLE, |s| s.partition()),
        spills: storage.as_ref().is_some_and(|s| s.spills()),
    };
    let mut found = task.run_in(storage.as_deref_mut());
    let evidence = Evidence {
        task: &task,
        program,
    };
    let mut deadlock = None;
    let looks = match found.end {
        End::Violated | End::Time | End::Cancelled => None,
        End::Storage(_) | End::Overflow => None,
        End::Complete | End::Levels | End::States | End::Memory => found.stuck.take(),
    };
    if let Some(stuck) = looks {
        match with_network(storage.as_deref_mut(), |n| run_to(&task, &found, &stuck, n)) {
            Ok(run) => deadlock = run.and_then(|run| evidence.deadlock(&run)),
            Err(trouble) => found.end = End::Storage(trouble.to_string()),
        }
    }
    let mut witness = None;
    let mut verdict = match &found.end {
        End::Violated => evidence.violated(&mut found, &mut witness, storage.as_deref_mut()),
        End::Complete | End::Levels if found.bounds.is_empty() => Verdict::Holds,
        End::Complete | End::Levels => Verdict::Unknown(bound(found.bounds)),
        End::States => {
            found.bounds.touch(Bound::States);
            Verdict::Unknown(bound(found.bounds))
        }
        End::Memory | End::Overflow => Verdict::Unknown(Unknown::Memory),
        End::Time => Verdict::Unknown(Unknown::Time),
        End::Cancelled => Verdict::Unknown(Unknown::Interrupted),
        End::Storage(why) => Verdict::Unknown(Unknown::Lost(why.clone())),
    };
    let vacuous = match &verdict {
        Verdict::Violated(_) | Verdict::Unknown(Unknown::Lost(_)) => Ok(Vec::new()),
        Verdict::Holds | Verdict::Unknown(_) if !options.notes => Ok(Vec::new()),
        Verdict::Holds | Verdict::Unknown(_) => {
            with_network(storage, |n| vacuous(&task, &found, n))
        }
    };
    let vacuous = vacuous.unwrap_or_else(|trouble| {
        verdict = Verdict::Unknown(Unknown::Lost(trouble.to_string()));
        Vec::new()
    });
    Ok(Exploration {
        vacuous,
        reached: Vec::new(),
        verdict,
        witness,
        beside_the_point: None,
        finals: found.finals,
        deadlock: deadlock.map(Box::new),
        bounds: found.bounds,
        stats: found.stats,
    })
}

/// Calls `f` with the processes that share the search.
fn with_network<T>(
    storage: Option<&mut Storage<'_>>,
    f: impl FnOnce(&mut dyn Network) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    match storage {
        Some(storage) => f(&mut *storage.network),
        None => f(&mut Alone),
    }
}

/// What no thread got to in the states that were seen.
fn vacuous(
    task: &Task<'_, '_>,
    found: &Found,
    network: &mut dyn Network,
) -> Result<Vec<(Span, Vacuous)>, Trouble> {
    let machine = task.machine;
    let program = machine.program;
    if !program.may_be_vacuous() {
        return Ok(Vec::new());
    }
    let mut firsts = Vec::new();
    let mut locs = 0;
    for template in &program.templates {
        firsts.push(locs);
        locs += template.cfg.loc_count();
    }
    let mut reached = vec![0_u8; locs];
    let mut state = State::default();
    for level in 0..found.kept.levels() {
        for piece in found.kept.pieces(level) {
            piece.for_each(|bytes| {
                machine.unpack(bytes, &mut state);
                for (thread, pc) in machine.threads.iter().zip(&state.pcs) {
                    reached[firsts[thread.instance.template.index()] + *pc as usize] = 1;
                }
            })?;
        }
    }
    let all = gather(network, reached)?;
    let is_reached = |at: usize| all.iter().any(|one| one[at] == 1);
    Ok(program.vacuous(&|template, loc| is_reached(firsts[template.index()] + loc.index())))
}

fn lost(trouble: &Trouble) -> Verdict {
    Verdict::Unknown(Unknown::Lost(trouble.to_string()))
}

fn bound(bounds: Bounds) -> Unknown {
    Unknown::Bound(bounds.iter().map(palisade_program::Bound::Search).collect())
}

struct Evidence<'a, 'p> {
    task: &'a Task<'a, 'p>,
    program: &'p Program,
}

impl Evidence<'_, '_> {
    /// The violation with a replayed trace.
    fn violated(
        &self,
        found: &mut Found,
        witness: &mut Option<Witness>,
        mut storage: Option<&mut Storage<'_>>,
    ) -> Verdict {
        let start = std::time::Instant::now();
        found.stats.shortest = !self.task.partial_order && !found.cut;
        let mut run = None;
        if self.task.partial_order && self.task.options.shortest && found.length > 0 {
            let mut options = self.task.options.clone();
            let used = found.kept.memory();
            options.max_memory = options.max_memory.map(|most| most.saturating_sub(used));
            let again = Task {
                machine: self.task.machine,
                options: &options,
                canonical: self.task.canonical,
                partial_order: false,
                last_level: Some(found.length),
                partition: self.task.partition,
                spills: self.task.spills,
            };
            let second = again.run_in(storage.as_deref_mut());
            found.stats.trace_states = second.stats.states;
            if second.end == End::Violated {
                let best = |n: &mut dyn Network| best_run(&again, &second, n);
                run = match with_network(storage.as_deref_mut(), best) {
                    Ok(run) => run,
                    Err(trouble) => return lost(&trouble),
                };
                found.stats.shortest = run.is_some() && !second.cut;
            }
        }
        if run.is_none() {
            run = match with_network(storage, |n| best_run(self.task, found, n)) {
                Ok(run) => run,
                Err(trouble) => return lost(&trouble),
            };
        }
        if self.task.options.summary.is_some() {
            found.stats.seconds += start.elapsed().as_secs_f64();
            return self.summarised(run.as_ref(), witness);
        }
        let violation = run.as_ref().and_then(|run| self.violation(run));
        *witness = run.filter(|_| violation.is_some()).map(|run| Witness {
            start: self.named_start(&run.start),
            actions: run.actions,
        });
        found.stats.seconds += start.elapsed().as_secs_f64();
        match violation {
            Some(violation) => Verdict::Violated(Box::new(violation)),
            None if self.task.options.saturate.is_some() => Verdict::Unknown(Unknown::GaveUp(
                "a violation with counted operations has no run of the machine".to_owned(),
            )),
            None => Verdict::Unknown(Unknown::ReplayFailed(
                "the machine's own trace was refused (a bug in Palisade)".to_owned(),
            )),
        }
    }

    /// RC11: the violation of a search with summarised histories, if the exact machine has one
    /// with the same steps of threads.
    fn summarised(&self, run: Option<&Run>, witness: &mut Option<Witness>) -> Verdict {
        let found = run.and_then(|run| {
            let start = self.named_start(&run.start);
            let steps: Vec<ThreadStep> = run.actions.iter().filter_map(ThreadStep::of).collect();
            let replayed = replay_deepest(self.program, &start, &steps, SUMMARISED).ok()?;
            let actions = replayed.actions;
            Some((replayed.violation?, Witness { start, actions }))
        });
        match found {
            Some((violation, run)) => {
                *witness = Some(run);
                Verdict::Violated(violation)
            }
            None => Verdict::Unknown(Unknown::GaveUp(
                "a violation with summarised histories has no run of the machine".to_owned(),
            )),
        }
    }

    fn violation(&self, run: &Run) -> Option<Violation> {
        self.replayed(run, |recorder| {
            let violation = recorder.violation();
            violation.or_else(|| recorder.no_progress())
        })
    }

    fn deadlock(&self, run: &Run) -> Option<Violation> {
        self.replayed(run, |r| r.is_stuck().then(|| r.deadlock()))
    }

    /// Replays a run on a machine that keeps all locals, and looks at its end.
    fn replayed<T>(
        &self,
        run: &Run,
        look: impl Fn(&mut Recorder<'_, '_>) -> Option<T>,
    ) -> Option<T> {
        let mut options = self.task.options.clone();
        options.buffer = None;
        options.saturate = None;
        let machine = Machine::new(self.program, &options, Keep::All).ok()?;
        let mut recorder = Recorder::new(&machine, self.start(&machine, &run.start));
        for action in &run.actions {
            recorder.act(action).ok()?;
        }
        look(&mut recorder)
    }

    /// The chosen initial values of a search's `start`, by name.
    fn named_start(&self, start: &State) -> Start {
        let machine = self.task.machine;
        let options = self.task.options;
        let mut named = Start::new(options.model, options.threads);
        for (slot, _) in machine.initial_choices().1 {
            let value = start.slots[slot as usize];
            if (slot as usize) < machine.cells {
                named.cells.insert(Cell(slot), value);
                continue;
            }
            let owner = machine.threads.iter().rposition(|t| t.base <= slot);
            if let Some(thread) = owner {
                let local = LocalId(slot - machine.threads[thread].base);
                named.locals.insert((thread, local), value);
            }
        }
        named
    }

    /// The initial state of `machine` with the choices of the search's `start`.
    fn start(&self, machine: &Machine<'_>, start: &State) -> State {
        let (mut slots, free) = machine.initial_choices();
        for (slot, choice) in free {
            let nearest = choice.all.map_or(0, |d| 0.max(d.lo).min(d.hi));
            slots[slot as usize] = nearest;
        }
        let (_, chosen) = self.task.machine.initial_choices();
        for (slot, _) in chosen {
            slots[slot as usize] = start.slots[slot as usize];
        }
        let mut state = State {
            slots,
            ..start.clone()
        };
        machine.start_memory(&mut state);
        state
    }
}
