//! Search of Boolean broadcast programs with *counted* threads: a state is the shared
//! part and, for every local state (*part*) that some thread is in, how many are
//! ([Donaldson et al., CAV 2011, section 4]; counter abstraction as in B-Boom, explicit). Threads of one
//! kind are interchangeable, so a state stands for all orders of its threads: parts
//! are sorted, and n threads in k parts are one state instead of many.
//!
//! | paper | here |
//! |---|---|
//! | a thread's local state | [`Part`] |
//! | exec(assign, i, sigma) | [`Machine::act`], one active part |
//! | broadcast to the passive threads | each passive part has its outcomes; threads in the same part are spread over them in all ways |
//!
//! The steps are those of `broadcast`, so shortest runs are as long.

mod follow;

use std::collections::VecDeque;
use std::time::Instant;

use crate::ast::{Copies, Value};
use crate::resolve::{Code, Place, Resolved, Step};
use palisade_program::Span;
use rustc_hash::FxHashMap;

use crate::check::{Options, Stop, Target};
use crate::thread::{Closure, Eval, MAX_OPEN, Move, Set, bit, closure, set_bit, settled};

/// Most successors of one step.
const MAX_WAYS: usize = 1 << 20;

/// The local state of a thread.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Part {
    /// Which code it runs.
    pub kind: usize,
    /// Where it is.
    pub position: usize,
    /// Its variables, as bits.
    pub locals: Box<[u64]>,
}

/// The shared variables, as bits.
pub type Shared = Box<[u64]>;

/// A shared part and counted parts, sorted.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct State {
    /// The shared variables.
    pub shared: Shared,
    /// The parts of the threads, sorted, with their counts above 0.
    pub parts: Box<[(Part, u32)]>,
}

impl State {
    /// A state with these threads in any order.
    pub fn new(shared: Shared, parts: impl IntoIterator<Item = (Part, u32)>) -> Self {
        let mut sorted: Vec<(Part, u32)> = parts.into_iter().filter(|p| p.1 > 0).collect();
        sorted.sort();
        sorted.dedup_by(|b, a| {
            let same = a.0 == b.0;
            a.1 += if same { b.1 } else { 0 };
            same
        });
        Self {
            shared,
            parts: sorted.into(),
        }
    }

    /// Whether the one thread of a kind is at a position.
    fn is_at(&self, kind: usize, position: usize) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|(p, _)| p.kind == kind && p.position == position)
    }
}

/// What a step of an active thread does.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The statement.
    pub span: Span,
    /// All ways to end: the shared part and the active thread's; none if the step is
    /// not possible.
    pub ends: Vec<(Shared, Part)>,
    /// Whether it fails an assertion.
    pub fails: bool,
    /// What each passive thread may become, if the step tells passive threads.
    assigned: Vec<usize>,
    kind: usize,
    statement: usize,
}

/// The threads of a Boolean program and what they can do.
pub struct Machine<'p> {
    /// The program.
    pub program: &'p Resolved,
    closures: Vec<Closure>,
    settled: Vec<Vec<usize>>,
}

impl<'p> Machine<'p> {
    /// The machine of a program.
    pub fn new(program: &'p Resolved) -> Self {
        let kinds = 0..program.threads.len();
        Self {
            program,
            closures: kinds.clone().map(|t| closure(program, t)).collect(),
            settled: kinds.map(|t| settled(program, t)).collect(),
        }
    }

    fn words(count: usize) -> usize {
        count.div_ceil(64)
    }

    /// All first values of the shared variables, whatever `initially` says.
    fn first_shared(&self) -> Result<Vec<Shared>, Stop> {
        let values: Vec<Value> = self.program.shared.iter().map(|v| v.1).collect();
        first(&values)
    }

    /// All first parts of a kind.
    pub fn first_parts(&self, kind: usize) -> Result<Vec<Part>, Stop> {
        let locals = self.program.threads[kind].locals.iter();
        let values: Vec<Value> = locals.map(|v| v.1).collect();
        let position = self.settled[kind][0];
        let part = |locals| Part {
            kind,
            position,
            locals,
        };
        Ok(first(&values)?.into_iter().map(part).collect())
    }

    /// All first states with so many threads of each kind.
    pub fn first_states(&self, copies: &[u32]) -> Result<Vec<State>, Stop> {
        let mut spread: Vec<Vec<(Part, u32)>> = vec![Vec::new()];
        for (kind, &count) in copies.iter().enumerate() {
            let parts = self.first_parts(kind)?;
            let mut next = Vec::new();
            for start in &spread {
                for ways in distributions(&parts, count)? {
                    next.push(start.iter().cloned().chain(ways).collect());
                }
            }
            spread = next;
        }
        let mut all = Vec::new();
        for shared in self.first_shared()? {
            for parts in &spread {
                let state = State::new(shared.clone(), parts.iter().cloned());
                let mut conditions = self.program.initially.iter();
                if conditions.all(|code| Self::holds(&state, code)) {
                    all.push(state);
                }
            }
        }
        Ok(all)
    }

    /// Whether a condition on the whole state may hold.
    fn holds(state: &State, code: &Code) -> bool {
        let eval = Eval {
            shared: &state.shared,
            own: &[],
            passive: &[],
            next_shared: &state.shared,
            next_own: &[],
            at: &|kind, position| state.is_at(kind, position),
        };
        eval.eval(code).has(true)
    }

    /// The first `never` that a state satisfies.
    pub fn broken(&self, state: &State) -> Option<usize> {
        let mut never = self.program.never.iter();
        never.position(|(code, _)| Self::holds(state, code))
    }

    /// All steps of a thread in `active`.
    pub fn act(&self, shared: &Shared, active: &Part) -> Result<Vec<Effect>, Stop> {
        let mut effects = Vec::new();
        let code = &self.program.threads[active.kind];
        for action in &self.closures[active.kind][active.position] {
            let statement = match action {
                Move::Execute(statement) => *statement,
                Move::Arrive(position, span) => {
                    let moved = Part {
                        position: *position,
                        ..active.clone()
                    };
                    effects.push(Effect {
                        span: *span,
                        ends: vec![(shared.clone(), moved)],
                        fails: false,
                        assigned: Vec::new(),
                        kind: active.kind,
                        statement: 0,
                    });
                    continue;
                }
            };
            effects.extend(self.execute(shared, active, statement, &code.steps[statement])?);
        }
        Ok(effects)
    }

    fn execute(
        &self,
        shared: &Shared,
        active: &Part,
        statement: usize,
        (step, span): &(Step, Span),
    ) -> Result<Option<Effect>, Stop> {
        let mut effect = Effect {
            span: *span,
            ends: Vec::new(),
            fails: false,
            assigned: Vec::new(),
            kind: active.kind,
            statement,
        };
        let behind = |locals: &[u64]| Part {
            kind: active.kind,
            position: self.settled[active.kind][statement + 1],
            locals: locals.into(),
        };
        match step {
            Step::Goto(_) => return Ok(None),
            Step::Assume(code) | Step::Assert(code) => {
                let values = eval(shared, &active.locals, &active.locals, code);
                effect.fails = matches!(step, Step::Assert(_)) && values.has(false);
                if values.has(true) {
                    effect.ends.push((shared.clone(), behind(&active.locals)));
                }
            }
            Step::Assign(parts, constrain) => {
                let mut bits = Vec::new();
                for (k, (place, code)) in parts.iter().enumerate() {
                    let values = || eval(shared, &active.locals, &active.locals, code);
                    match place {
                        Place::Shared(i) => bits.push((true, *i, values())),
                        Place::Own(i) => bits.push((false, *i, values())),
                        Place::Passive(..) => effect.assigned.push(k),
                    }
                }
                for (new_shared, new_own) in choices(shared, &active.locals, &bits)? {
                    let allowed = constrain.as_ref().is_none_or(|code| {
                        let eval = Eval {
                            shared,
                            own: &active.locals,
                            passive: &active.locals,
                            next_shared: &new_shared,
                            next_own: &new_own,
                            at: &|_, _| false,
                        };
                        eval.eval(code).has(true)
                    });
                    if allowed {
                        effect.ends.push((new_shared, behind(&new_own)));
                    }
                }
            }
        }
        Ok(Some(effect))
    }

    /// What a passive thread may become by a step of `active`: at least one part.
    pub fn passive(
        &self,
        shared: &Shared,
        active: &Part,
        effect: &Effect,
        passive: &Part,
    ) -> Result<Vec<Part>, Stop> {
        let mut bits = Vec::new();
        if let Some((Step::Assign(parts, _), _)) = self.program.threads[effect.kind]
            .steps
            .get(effect.statement)
        {
            for &k in &effect.assigned {
                let (place, code) = &parts[k];
                if let Place::Passive(kind, i) = place
                    && *kind == passive.kind
                {
                    let values = eval(shared, &active.locals, &passive.locals, code);
                    bits.push((false, *i, values));
                }
            }
        }
        let ends = choices(shared, &passive.locals, &bits)?;
        let part = |(_, locals): (Shared, Box<[u64]>)| Part {
            locals,
            ..passive.clone()
        };
        Ok(ends.into_iter().map(part).collect())
    }

    /// All ways in which the threads of `state` but one in `active` may change by a step.
    pub(crate) fn spread(
        &self,
        state: &State,
        active: &Part,
        effect: &Effect,
    ) -> Result<Vec<Changes>, Stop> {
        let mut spread: Vec<Changes> = vec![Vec::new()];
        for (part, count) in &state.parts {
            let count = count - u32::from(part == active);
            let outcomes = self.passive(&state.shared, active, effect, part)?;
            let ways = distributions(&outcomes, count)?;
            if spread.len().saturating_mul(ways.len()) > MAX_WAYS {
                return Err(Stop::Choices(MAX_OPEN));
            }
            let with = |before: &Changes| -> Vec<Changes> {
                let change = |way: &Vec<(Part, u32)>| {
                    let changes = way.iter().map(|(to, n)| (part.clone(), to.clone(), *n));
                    before.iter().cloned().chain(changes).collect()
                };
                ways.iter().map(change).collect()
            };
            spread = spread.iter().flat_map(with).collect();
        }
        Ok(spread)
    }

    /// All states after one step of a thread in `active`.
    fn successors(&self, state: &State, active: &Part) -> Result<Vec<Successor>, Stop> {
        let mut all = Vec::new();
        for effect in self.act(&state.shared, active)? {
            if effect.ends.is_empty() {
                continue;
            }
            let spread = self.spread(state, active, &effect)?;
            for (shared, moved) in &effect.ends {
                for changes in &spread {
                    let parts = changes.iter().map(|(_, to, n)| (to.clone(), *n));
                    all.push(Successor {
                        span: effect.span,
                        moved: moved.clone(),
                        changes: changes.clone(),
                        after: State::new(shared.clone(), parts.chain([(moved.clone(), 1)])),
                    });
                }
            }
        }
        Ok(all)
    }
}

/// From which part how many passive threads got to which.
pub(crate) type Changes = Vec<(Part, Part, u32)>;

struct Successor {
    span: Span,
    moved: Part,
    changes: Changes,
    after: State,
}

fn eval(shared: &[u64], own: &[u64], passive: &[u64], code: &Code) -> Set {
    let eval = Eval {
        shared,
        own,
        passive,
        next_shared: shared,
        next_own: own,
        at: &|_, _| false,
    };
    eval.eval(code)
}

/// All first values of variables.
fn first(values: &[Value]) -> Result<Vec<Box<[u64]>>, Stop> {
    let words = vec![0; Machine::words(values.len())];
    let bits: Vec<(bool, usize, Set)> = values
        .iter()
        .enumerate()
        .map(|(i, value)| {
            let set = match value {
                Value::False => Set::of(false),
                Value::True => Set::of(true),
                Value::Any => Set::BOTH,
            };
            (true, i, set)
        })
        .collect();
    let all = choices(&words, &[], &bits)?;
    Ok(all.into_iter().map(|(shared, _)| shared).collect())
}

/// All ways to choose bits of the shared words (true) and a thread's (false).
#[allow(clippy::type_complexity)] // pairs of words
fn choices(
    shared: &[u64],
    own: &[u64],
    bits: &[(bool, usize, Set)],
) -> Result<Vec<(Box<[u64]>, Box<[u64]>)>, Stop> {
    let open = bits.iter().filter(|b| b.2 == Set::BOTH).count();
    if 1 << open.min(MAX_OPEN) > MAX_WAYS {
        return Err(Stop::Choices(open));
    }
    let mut all: Vec<(Box<[u64]>, Box<[u64]>)> = vec![(shared.into(), own.into())];
    for (is_shared, index, values) in bits {
        let mut next = Vec::with_capacity(all.len());
        for words in &all {
            for value in values.values() {
                let mut words = words.clone();
                let side = if *is_shared {
                    &mut words.0
                } else {
                    &mut words.1
                };
                set_bit(side, *index, value);
                next.push(words);
            }
        }
        all = next;
    }
    Ok(all)
}

/// All ways to spread `count` threads over `parts`.
fn distributions(parts: &[Part], count: u32) -> Result<Vec<Vec<(Part, u32)>>, Stop> {
    let mut all: Vec<(Vec<(Part, u32)>, u32)> = vec![(Vec::new(), count)];
    for (k, part) in parts.iter().enumerate() {
        let last = k + 1 == parts.len();
        let mut next = Vec::new();
        for (way, rest) in &all {
            let least = if last { *rest } else { 0 };
            for n in least..=*rest {
                let mut way = way.clone();
                if n > 0 {
                    way.push((part.clone(), n));
                }
                next.push((way, rest - n));
            }
        }
        all = next;
        if all.len() > MAX_WAYS {
            return Err(Stop::Choices(MAX_OPEN));
        }
    }
    Ok(all.into_iter().map(|(way, _)| way).collect())
}

/// One step of a run in which threads have names again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunStep {
    /// The thread that acts.
    pub thread: usize,
    /// Its statement.
    pub span: Span,
    /// The shared variables after the step.
    pub shared: Vec<(String, bool)>,
    /// The thread's locals after the step.
    pub locals: Vec<(String, bool)>,
}

/// A run that violates a property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The threads' names.
    pub threads: Vec<String>,
    /// The shared variables at the start.
    pub start: Vec<(String, bool)>,
    /// The steps.
    pub steps: Vec<RunStep>,
    /// What is violated.
    pub target: Target,
}

/// How a search ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// No property can be violated with this many threads.
    Safe,
    /// A shortest violating run.
    Violated(Box<Run>),
}

/// A violation: the state before, and the thread that fails an assertion.
type Found = (usize, Option<(Part, Span)>, Target);

/// A search with counted threads.
pub struct Checker<'p> {
    machine: Machine<'p>,
    options: &'p Options,
    states: Vec<(State, Option<(usize, Part)>)>,
    known: FxHashMap<State, usize>,
    queue: VecDeque<usize>,
    started: Instant,
}

impl<'p> Checker<'p> {
    /// A search that has not begun.
    pub fn new(program: &'p Resolved, options: &'p Options) -> Self {
        Self {
            machine: Machine::new(program),
            options,
            states: Vec::new(),
            known: FxHashMap::default(),
            queue: VecDeque::new(),
            started: Instant::now(),
        }
    }

    /// How many states were reached.
    pub fn state_count(&self) -> usize {
        self.states.len()
    }

    /// How many threads of each kind run.
    fn copies(&self) -> Vec<u32> {
        let copies = |t: &crate::resolve::ThreadCode| match t.copies {
            Copies::One => 1,
            Copies::Fixed(n) => n,
            Copies::Any => self.options.threads,
        };
        self.machine.program.threads.iter().map(copies).collect()
    }

    /// Names of the threads: `left`, or `t[1]` for one of several.
    pub fn thread_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (code, count) in self.machine.program.threads.iter().zip(self.copies()) {
            match code.copies {
                Copies::One => names.push(code.name.clone()),
                Copies::Fixed(_) | Copies::Any => {
                    names.extend((0..count).map(|k| format!("{}[{k}]", code.name)));
                }
            }
        }
        names
    }

    /// Runs it to the end.
    pub fn run(&mut self) -> Result<Outcome, Stop> {
        self.started = Instant::now();
        for state in self.machine.first_states(&self.copies())? {
            if let Some(found) = self.reach(state, None) {
                return Ok(Outcome::Violated(Box::new(self.trace(found)?)));
            }
        }
        while let Some(id) = self.queue.pop_front() {
            self.check_limits(id)?;
            if let Some(found) = self.expand(id)? {
                return Ok(Outcome::Violated(Box::new(self.trace(found)?)));
            }
        }
        Ok(Outcome::Safe)
    }

    fn check_limits(&self, tick: usize) -> Result<(), Stop> {
        let max = self.options.max_states.unwrap_or(usize::MAX);
        if self.states.len() > max {
            return Err(Stop::States(self.states.len()));
        }
        if tick.is_multiple_of(64)
            && let Some(reason) = self.options.limits.exceeded(self.started)
        {
            return Err(Stop::Limit(reason));
        }
        Ok(())
    }

    fn expand(&mut self, id: usize) -> Result<Option<Found>, Stop> {
        let state = self.states[id].0.clone();
        for (active, _) in &state.parts {
            for effect in self.machine.act(&state.shared, active)? {
                if effect.fails {
                    let target = Target::Assert(effect.span);
                    return Ok(Some((id, Some((active.clone(), effect.span)), target)));
                }
            }
            for next in self.machine.successors(&state, active)? {
                let found = self.reach(next.after, Some((id, active.clone())));
                if found.is_some() {
                    return Ok(found);
                }
            }
            self.check_limits(id)?;
        }
        Ok(None)
    }

    fn reach(&mut self, state: State, from: Option<(usize, Part)>) -> Option<Found> {
        if self.known.contains_key(&state) {
            return None;
        }
        let id = self.states.len();
        let bad = self.machine.broken(&state);
        self.known.insert(state.clone(), id);
        self.states.push((state, from));
        self.queue.push_back(id);
        bad.map(|number| (id, None, Target::Never(number)))
    }

    /// The run to a violation: threads get their names back, and where several could
    /// act, the first does.
    fn trace(&self, (last, failing, target): Found) -> Result<Run, Stop> {
        let mut path = vec![last];
        while let Some((before, _)) = &self.states[path[path.len() - 1]].1 {
            path.push(*before);
        }
        path.reverse();
        let program = self.machine.program;
        let first = &self.states[path[0]].0;
        let mut threads: Vec<Part> = Vec::new();
        for kind in 0..program.threads.len() {
            for (part, count) in first.parts.iter().filter(|(p, _)| p.kind == kind) {
                threads.extend((0..*count).map(|_| part.clone()));
            }
        }
        let mut run = Run {
            threads: self.thread_names(),
            start: named(&program.shared, &first.shared),
            steps: Vec::new(),
            target,
        };
        for pair in path.windows(2) {
            let (before, after) = (&self.states[pair[0]].0, &self.states[pair[1]]);
            let Some((_, active)) = &after.1 else {
                continue;
            };
            let all = self.machine.successors(before, active)?;
            let taken = all.into_iter().find(|s| s.after == after.0);
            if let Some(taken) = taken {
                let actor = follow(&mut threads, active, &taken);
                run.steps.push(RunStep {
                    thread: actor,
                    span: taken.span,
                    shared: named(&program.shared, &after.0.shared),
                    locals: named(&program.threads[active.kind].locals, &threads[actor].locals),
                });
            }
        }
        if let Some((active, span)) = failing {
            let actor = threads.iter().position(|p| *p == active).unwrap_or(0);
            run.steps.push(RunStep {
                thread: actor,
                span,
                shared: named(&program.shared, &self.states[last].0.shared),
                locals: named(&program.threads[active.kind].locals, &active.locals),
            });
        }
        Ok(run)
    }
}

/// Lets the first thread in `active` act and the others change; tells who acted.
fn follow(threads: &mut [Part], active: &Part, taken: &Successor) -> usize {
    let actor = threads.iter().position(|p| p == active).unwrap_or(0);
    let mut changes = taken.changes.clone();
    for (k, part) in threads.iter_mut().enumerate() {
        if k == actor {
            *part = taken.moved.clone();
            continue;
        }
        let next = changes
            .iter_mut()
            .find(|(from, _, n)| from == part && *n > 0);
        if let Some((_, to, n)) = next {
            *n -= 1;
            *part = to.clone();
        }
    }
    actor
}

fn named(variables: &[(String, Value)], words: &[u64]) -> Vec<(String, bool)> {
    let names = variables.iter().enumerate();
    names
        .map(|(i, (name, _))| (name.clone(), bit(words, i)))
        .collect()
}
