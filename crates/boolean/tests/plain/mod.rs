//! The oracle of these tests: plain search of *Boolean broadcast programs* with a given number
//! of named threads, exactly the semantics of [Donaldson et al., CAV 2011, appendix A]. A state is a store and
//! the threads' positions, packed into words.
//!
//! | paper | here |
//! |---|---|
//! | store sigma | [`State`] |
//! | eval(phi, i, j, sigma), a subset of {0, 1} | `Eval::eval`, a `Set` |
//! | exec(assign, i, sigma) | `Checker::assign` |
//!
//! `goto` and `skip` change nothing but the position, so they are taken together
//! with the statement that follows them: a step is an assignment, `assume` or
//! `assert`. That hides no state that a property could see: positions which a
//! `never` speaks of are not passed over. The search is breadth first; traces are
//! shortest in steps.

use std::collections::VecDeque;
use std::time::Instant;

use palisade_boolean::ast::{Copies, Value};
use palisade_boolean::check::{Options, Stop};
use palisade_boolean::resolve::{Code, Place, Resolved, Step};
use rustc_hash::FxHashMap;

use palisade_boolean::thread::{Closure, Eval, MAX_OPEN, Move, Set, closure, set_bit, settled};

/// How a search ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// No property can be violated with this many threads.
    Safe,
    /// A shortest violating run has so many steps.
    Violated(usize),
}

/// A store with the positions of the threads, in words.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct State(Box<[u64]>);

/// Where the parts of a [`State`] are.
#[derive(Clone, Debug)]
struct Layout {
    /// First word of each thread: its position; its locals follow.
    threads: Vec<usize>,
    words: usize,
}

/// Where a state came from: the state before, the thread.
type Origin = (usize, usize);

/// A search.
pub(crate) struct Checker<'p> {
    program: &'p Resolved,
    options: &'p Options,
    /// The kind of each thread.
    kinds: Vec<usize>,
    /// The thread of each kind that runs once.
    only: Vec<usize>,
    layout: Layout,
    closures: Vec<Closure>,
    /// Where a thread really is when it gets to a position.
    settled: Vec<Vec<usize>>,
    pub(crate) states: Vec<(State, Option<Origin>)>,
    known: FxHashMap<State, usize>,
    queue: VecDeque<usize>,
    started: Instant,
}

/// A violation that was found: the state, and whether a step from it fails an assertion.
type Found = (usize, bool);

impl<'p> Checker<'p> {
    /// A search that has not begun.
    pub(crate) fn new(program: &'p Resolved, options: &'p Options) -> Self {
        let mut kinds = Vec::new();
        let mut only = Vec::new();
        for (kind, thread) in program.threads.iter().enumerate() {
            only.push(kinds.len());
            let copies = match thread.copies {
                Copies::One => 1,
                Copies::Fixed(n) => n,
                Copies::Any => options.threads,
            };
            kinds.extend((0..copies).map(|_| kind));
        }
        let mut words = program.shared.len().div_ceil(64);
        let mut threads = Vec::new();
        for kind in &kinds {
            threads.push(words);
            words += 1 + program.threads[*kind].locals.len().div_ceil(64);
        }
        Self {
            program,
            options,
            only,
            layout: Layout { threads, words },
            closures: (0..program.threads.len())
                .map(|t| closure(program, t))
                .collect(),
            settled: (0..program.threads.len())
                .map(|t| settled(program, t))
                .collect(),
            kinds,
            states: Vec::new(),
            known: FxHashMap::default(),
            queue: VecDeque::new(),
            started: Instant::now(),
        }
    }

    /// Runs it to the end.
    pub(crate) fn run(&mut self) -> Result<Outcome, Stop> {
        self.started = Instant::now();
        let mut found = self.start()?;
        while found.is_none()
            && let Some(id) = self.queue.pop_front()
        {
            self.check_limits(id as u64)?;
            found = self.expand(id)?;
        }
        Ok(found.map_or(Outcome::Safe, |found| Outcome::Violated(self.steps(found))))
    }

    /// Looks at the count of states, and now and then at the clock.
    fn check_limits(&self, tick: u64) -> Result<(), Stop> {
        let max = self.options.max_states.unwrap_or(usize::MAX);
        if self.states.len() > max {
            return Err(Stop::States(self.states.len()));
        }
        if tick.is_multiple_of(256)
            && let Some(reason) = self.options.limits.exceeded(self.started)
        {
            return Err(Stop::Limit(reason));
        }
        Ok(())
    }

    /// All first states: every `*` has both values.
    fn start(&mut self) -> Result<Option<Found>, Stop> {
        let program = self.program;
        let mut first = State(vec![0; self.layout.words].into());
        let mut any = Vec::new();
        let mut set = |base: usize, index: usize, value: Value| match value {
            Value::False => {}
            Value::True => set_bit(&mut first.0[base..], index, true),
            Value::Any => any.push((base, index, Set::BOTH)),
        };
        for (i, (_, value)) in program.shared.iter().enumerate() {
            set(0, i, *value);
        }
        for (thread, kind) in self.kinds.iter().enumerate() {
            let base = self.layout.threads[thread] + 1;
            for (i, (_, value)) in program.threads[*kind].locals.iter().enumerate() {
                set(base, i, *value);
            }
        }
        for (thread, kind) in self.kinds.iter().enumerate() {
            first.0[self.layout.threads[thread]] = self.settled[*kind][0] as u64;
        }
        let mut choices = Choices::new(first, any)?;
        while let Some(state) = choices.next() {
            let holds = |code: &Code| self.values(code, (&state, &state), 0, 0).has(true);
            if program.initially.iter().all(holds)
                && let Some(found) = self.reach(state, None)
            {
                return Ok(Some(found));
            }
            self.check_limits(choices.number)?;
        }
        Ok(None)
    }

    /// The values of `code` for an active and a passive thread.
    #[allow(clippy::items_after_statements)] // a closure cannot say this lifetime
    fn values(
        &self,
        code: &Code,
        (state, next): (&State, &State),
        active: usize,
        passive: usize,
    ) -> Set {
        let threads = &self.layout.threads;
        fn locals<'s>(state: &'s State, threads: &[usize], thread: usize) -> &'s [u64] {
            let base = threads.get(thread).map_or(state.0.len(), |t| t + 1);
            &state.0[base..]
        }
        let eval = Eval {
            shared: &state.0,
            own: locals(state, threads, active),
            passive: locals(state, threads, passive),
            next_shared: &next.0,
            next_own: locals(next, threads, active),
            at: &|kind, position| state.0[threads[self.only[kind]]] == position as u64,
        };
        eval.eval(code)
    }

    fn expand(&mut self, id: usize) -> Result<Option<Found>, Stop> {
        let program = self.program;
        for thread in 0..self.kinds.len() {
            let kind = self.kinds[thread];
            let position = self.states[id].0.0[self.layout.threads[thread]] as usize;
            for action in self.closures[kind][position].clone() {
                let statement = match action {
                    Move::Execute(statement) => statement,
                    Move::Arrive(position, _) => {
                        let mut state = self.states[id].0.clone();
                        state.0[self.layout.threads[thread]] = position as u64;
                        let found = self.reach(state, Some((id, thread)));
                        if found.is_some() {
                            return Ok(found);
                        }
                        continue;
                    }
                };
                let (step, _) = &program.threads[kind].steps[statement];
                let from = (id, thread);
                let found = match step {
                    Step::Goto(_) => None,
                    Step::Assume(code) => self.condition(from, statement, code).1,
                    Step::Assert(code) => {
                        let (may_fail, found) = self.condition(from, statement, code);
                        if may_fail {
                            return Ok(Some((id, true)));
                        }
                        found
                    }
                    Step::Assign(parts, constrain) => {
                        self.assign(from, statement, parts, constrain.as_ref())?
                    }
                };
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// Goes on where the condition may hold; tells whether it may also not.
    fn condition(&mut self, from: Origin, statement: usize, code: &Code) -> (bool, Option<Found>) {
        let (id, thread) = from;
        let state = self.states[id].0.clone();
        let values = self.values(code, (&state, &state), thread, thread);
        let found = if values.has(true) {
            self.step_to(state, from, statement)
        } else {
            None
        };
        (values.has(false), found)
    }

    /// exec(assign, i, sigma): every target gets any value of its expression.
    fn assign(
        &mut self,
        from: Origin,
        statement: usize,
        parts: &[(Place, Code)],
        constrain: Option<&Code>,
    ) -> Result<Option<Found>, Stop> {
        let (id, active) = from;
        let state = self.states[id].0.clone();
        let mut choices = Vec::new();
        for (place, code) in parts {
            let own = |passive| self.values(code, (&state, &state), active, passive);
            match place {
                Place::Shared(i) => choices.push((0, *i, own(active))),
                Place::Own(i) => {
                    choices.push((self.layout.threads[active] + 1, *i, own(active)));
                }
                Place::Passive(kind, i) => {
                    for (passive, its) in self.kinds.iter().enumerate() {
                        if its == kind && passive != active {
                            let base = self.layout.threads[passive] + 1;
                            choices.push((base, *i, own(passive)));
                        }
                    }
                }
            }
        }
        let mut choices = Choices::new(state.clone(), choices)?;
        while let Some(next) = choices.next() {
            let allowed = constrain
                .is_none_or(|code| self.values(code, (&state, &next), active, active).has(true));
            if allowed && let Some(found) = self.step_to(next, from, statement) {
                return Ok(Some(found));
            }
            self.check_limits(choices.number)?;
        }
        Ok(None)
    }

    /// The active thread is behind `statement` in `state`.
    fn step_to(&mut self, mut state: State, from: Origin, statement: usize) -> Option<Found> {
        let thread = from.1;
        let position = self.settled[self.kinds[thread]][statement + 1];
        state.0[self.layout.threads[thread]] = position as u64;
        self.reach(state, Some(from))
    }

    /// Adds a state unless it is known; tells if it is bad.
    fn reach(&mut self, state: State, from: Option<Origin>) -> Option<Found> {
        if self.known.contains_key(&state) {
            return None;
        }
        let id = self.states.len();
        let mut never = self.program.never.iter();
        let bad = never.any(|(code, _)| self.values(code, (&state, &state), 0, 0).has(true));
        self.known.insert(state.clone(), id);
        self.states.push((state, from));
        self.queue.push_back(id);
        bad.then_some((id, false))
    }

    /// Steps of the run to a violation.
    fn steps(&self, (last, failing): Found) -> usize {
        let mut steps = usize::from(failing);
        let mut at = last;
        while let (_, Some((before, _))) = &self.states[at] {
            steps += 1;
            at = *before;
        }
        steps
    }
}

/// All states that differ from a first one in some bits, each with a set of values.
struct Choices {
    state: State,
    open: Vec<(usize, usize)>,
    number: u64,
    end: u64,
}

impl Choices {
    fn new(mut state: State, bits: Vec<(usize, usize, Set)>) -> Result<Self, Stop> {
        let mut open = Vec::new();
        for (base, index, values) in bits {
            if values == Set::BOTH {
                open.push((base, index));
            } else {
                set_bit(&mut state.0[base..], index, values.has(true));
            }
        }
        if open.len() > MAX_OPEN {
            return Err(Stop::Choices(open.len()));
        }
        Ok(Self {
            state,
            number: 0,
            end: 1 << open.len(),
            open,
        })
    }

    fn next(&mut self) -> Option<State> {
        if self.number == self.end {
            return None;
        }
        let mut state = self.state.clone();
        for (at, (base, index)) in self.open.iter().enumerate() {
            set_bit(&mut state.0[*base..], *index, self.number >> at & 1 == 1);
        }
        self.number += 1;
        Some(state)
    }
}
