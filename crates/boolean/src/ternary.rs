//! *3-valued search* of Boolean programs ([Dan et al., SAS 2013, section 6.1]): a variable is
//! true, false or unknown, and a state stands for all states that agree with what it knows.
//! Predicate abstraction leaves much unknown, so that one state stands for very many.
//!
//! | paper | here |
//! |---|---|
//! | 3-valued logic | [`Valuation`], [`values`] |
//! | partial concretization of assume conditions | `Facts::require`: what must be so for the condition to hold is known afterwards |
//! | merging of states | [`crate::check::Options::merge`] |
//!
//! **It over-approximates.** Let a state of the program agree with a 3-valued one, and step.
//! [`values`] gives every value that an expression may have, so a variable that gets a known
//! value gets it in the step. `require` only draws conclusions that hold in all states, and
//! for all choices, for which the condition has the value asked for. A state that another
//! one covers is dropped: the steps from it are among those of the other. So if no violation
//! is reached there is none. A violation that is reached may be none: [`crate::check`]
//! follows its path in the program itself.
//!
//! Threads of one kind are interchangeable, and are sorted. A step has one successor: broadcasts
//! choose nothing, since what they leave open is unknown.

use std::collections::VecDeque;
use std::time::Instant;

use palisade_abstraction::valuation::Valuation;
use palisade_program::Span;
use rustc_hash::FxHashMap;

use crate::ast::{Copies, Op, Value};
use crate::check::{Options, Stop, Target};
use crate::resolve::{Code, Place, Resolved, Step};
use crate::thread::{Closure, Lookup, Move, Set, closure, settled, values};

/// Most cases in which one condition is looked at.
const MAX_CASES: usize = 64;
/// Most variables that are enumerated for the first states.
const MAX_FIRST: usize = 10;

/// A thread.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Part {
    kind: usize,
    position: usize,
    locals: Valuation,
}

/// What is known of a state; the threads are sorted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    shared: Valuation,
    parts: Vec<Part>,
}

impl State {
    fn new(shared: Valuation, mut parts: Vec<Part>) -> Self {
        parts.sort();
        Self { shared, parts }
    }

    fn covers(&self, other: &Self) -> bool {
        let mut parts = self.parts.iter().zip(&other.parts);
        self.shared.covers(&other.shared) && parts.all(|(a, b)| a.locals.covers(&b.locals))
    }

    fn join(&self, other: &Self) -> Self {
        let parts = self.parts.iter().zip(&other.parts);
        let parts = parts.map(|(a, b)| Part {
            locals: a.locals.join(&b.locals),
            ..a.clone()
        });
        Self {
            shared: self.shared.join(&other.shared),
            parts: parts.collect(),
        }
    }
}

/// One step of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathStep {
    /// The kind of the thread that acts.
    pub kind: usize,
    /// Its statement.
    pub span: Span,
}

/// A path to a violation in 3-valued states.
#[derive(Clone, Debug)]
pub struct Path {
    /// The steps; the last one fails the assertion, if one fails.
    pub steps: Vec<PathStep>,
    /// What is violated.
    pub target: Target,
}

/// What is known before and after a step of one thread.
#[derive(Clone)]
struct Facts<'f> {
    shared: Valuation,
    own: Valuation,
    next_shared: Valuation,
    next_own: Valuation,
    /// A passive thread's locals.
    passive: Option<&'f Valuation>,
    /// The assignment, if there is one.
    parts: &'f [(Place, Code)],
    /// Where the threads are, for properties.
    threads: &'f [Part],
    changed: bool,
}

fn set_of(known: Option<bool>) -> Set {
    known.map_or(Set::BOTH, Set::of)
}

impl Lookup for Facts<'_> {
    fn shared(&self, i: usize) -> Set {
        set_of(self.shared.get(i))
    }

    fn own(&self, i: usize) -> Set {
        set_of(self.own.get(i))
    }

    fn passive(&self, i: usize) -> Set {
        set_of(self.passive.and_then(|locals| locals.get(i)))
    }

    fn next_shared(&self, i: usize) -> Set {
        if self.is_assigned(Place::Shared(i)) {
            set_of(self.next_shared.get(i))
        } else {
            self.shared(i)
        }
    }

    fn next_own(&self, i: usize) -> Set {
        if self.is_assigned(Place::Own(i)) {
            set_of(self.next_own.get(i))
        } else {
            self.own(i)
        }
    }

    fn is_at(&self, kind: usize, position: usize) -> bool {
        let mut threads = self.threads.iter();
        threads.any(|p| p.kind == kind && p.position == position)
    }
}

/// No state agrees with what is known.
struct Impossible;

fn learn(
    known: &mut Valuation,
    i: usize,
    value: bool,
    changed: &mut bool,
) -> Result<(), Impossible> {
    match known.get(i) {
        Some(before) if before != value => Err(Impossible),
        Some(_) => Ok(()),
        None => {
            known.set(i, Some(value));
            *changed = true;
            Ok(())
        }
    }
}

impl<'f> Facts<'f> {
    fn before(shared: &Valuation, own: &Valuation, threads: &'f [Part]) -> Self {
        Self {
            next_shared: Valuation::unknown(0),
            next_own: Valuation::unknown(0),
            shared: shared.clone(),
            own: own.clone(),
            passive: None,
            parts: &[],
            threads,
            changed: false,
        }
    }

    fn is_assigned(&self, place: Place) -> bool {
        self.parts.iter().any(|(target, _)| *target == place)
    }

    /// Draws conclusions from `code` having the value `want`.
    fn force(&mut self, code: &Code, want: bool) -> Result<(), Impossible> {
        match code {
            Code::Value(Value::Any) => Ok(()),
            Code::Value(_) | Code::At(..) | Code::Passive(_) => {
                let possible = values(code, self).has(want);
                possible.then_some(()).ok_or(Impossible)
            }
            Code::Shared(i) => learn(&mut self.shared, *i, want, &mut self.changed),
            Code::Own(i) => learn(&mut self.own, *i, want, &mut self.changed),
            Code::NextShared(i) if self.is_assigned(Place::Shared(*i)) => {
                learn(&mut self.next_shared, *i, want, &mut self.changed)
            }
            Code::NextShared(i) => learn(&mut self.shared, *i, want, &mut self.changed),
            Code::NextOwn(i) if self.is_assigned(Place::Own(*i)) => {
                learn(&mut self.next_own, *i, want, &mut self.changed)
            }
            Code::NextOwn(i) => learn(&mut self.own, *i, want, &mut self.changed),
            Code::Not(e) => self.force(e, !want),
            Code::Binary(op @ (Op::And | Op::Or), _) => self.force_chain(*op, code, want),
            Code::Binary(op, parts) => {
                self.force_both(parts, |a, b| Set::of(op.apply(a, b)).has(want))
            }
            Code::Choose(parts) => self.force_both(parts, |a, b| Set::chosen(a, b).has(want)),
            Code::Cond(parts) => {
                let choices = values(&parts.0, self).values();
                let part = |choice: bool| if choice { &parts.1 } else { &parts.2 };
                let choices: Vec<bool> = choices
                    .filter(|c| values(part(*c), self).has(want))
                    .collect();
                match choices[..] {
                    [] => Err(Impossible),
                    [only] => {
                        self.force(&parts.0, only)?;
                        self.force(part(only), want)
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// The same for `a && b && ...` and `a || b || ...`, however long.
    fn force_chain(&mut self, op: Op, code: &Code, want: bool) -> Result<(), Impossible> {
        let mut operands = Vec::new();
        let mut stack = vec![code];
        while let Some(part) = stack.pop() {
            match part {
                Code::Binary(own, parts) if *own == op => stack.extend([&parts.1, &parts.0]),
                other => operands.push(other),
            }
        }
        // All operands have the value that decides nothing, or one has the other.
        let all = want == (op == Op::And);
        if all {
            return operands.into_iter().try_for_each(|o| self.force(o, want));
        }
        let mut open = operands.into_iter().filter(|o| values(o, self).has(want));
        let Some(first) = open.next() else {
            return Err(Impossible);
        };
        if open.next().is_none() {
            return self.force(first, want);
        }
        Ok(())
    }

    /// The same for two operands, of which only some pairs of values give what is asked for.
    fn force_both(
        &mut self,
        parts: &(Code, Code),
        gives: impl Fn(bool, bool) -> bool,
    ) -> Result<(), Impossible> {
        let (a, b) = (values(&parts.0, self), values(&parts.1, self));
        let (mut left, mut right) = ([false; 2], [false; 2]);
        for x in a.values() {
            for y in b.values() {
                if gives(x, y) {
                    left[usize::from(x)] = true;
                    right[usize::from(y)] = true;
                }
            }
        }
        if left == [false; 2] {
            return Err(Impossible);
        }
        if left[0] != left[1] {
            self.force(&parts.0, left[1])?;
        }
        if right[0] != right[1] {
            self.force(&parts.1, right[1])?;
        }
        Ok(())
    }

    /// What `code` having the value `want` and the assignment say of all values, until nothing
    /// new is found.
    fn require(&mut self, code: Option<&Code>, want: bool) -> Result<(), Impossible> {
        let parts = self.parts;
        loop {
            self.changed = false;
            if let Some(code) = code {
                self.force(code, want)?;
            }
            for (place, value) in parts {
                let next = match place {
                    Place::Shared(i) => self.next_shared.get(*i),
                    Place::Own(i) => self.next_own.get(*i),
                    Place::Passive(..) => continue,
                };
                if let Some(next) = next {
                    self.force(value, next)?;
                } else if let Some(known) = values(value, self).known() {
                    let changed = &mut self.changed;
                    match place {
                        Place::Shared(i) => learn(&mut self.next_shared, *i, known, changed)?,
                        Place::Own(i) => learn(&mut self.next_own, *i, known, changed)?,
                        Place::Passive(..) => {}
                    }
                }
            }
            if !self.changed {
                return Ok(());
            }
        }
    }

    /// Whether `code` may have the value `want`: decided by cases, as long as they are few.
    fn may(&self, code: &Code, want: bool, cases: &mut usize) -> bool {
        let mut facts = self.clone();
        if facts.require(Some(code), want).is_err() {
            return false;
        }
        if values(code, &facts).known().is_some() || *cases == 0 {
            return true;
        }
        let Some(open) = facts.open(code) else {
            return true;
        };
        *cases -= 1;
        [false, true].into_iter().any(|value| {
            let mut case = facts.clone();
            case.force(&open, value).is_ok() && case.may(code, want, cases)
        })
    }

    /// A variable of `code` that is unknown.
    fn open(&self, code: &Code) -> Option<Code> {
        let mut found = None;
        code.for_each(&mut |part| {
            let is_variable = match part {
                Code::Shared(_) | Code::Own(_) | Code::NextShared(_) | Code::NextOwn(_) => true,
                Code::Value(_) | Code::Passive(_) | Code::At(..) | Code::Not(_) => false,
                Code::Binary(..) | Code::Cond(_) | Code::Choose(_) => false,
            };
            if found.is_none() && is_variable && values(part, self) == Set::BOTH {
                found = Some(part.clone());
            }
        });
        found
    }
}

struct Node {
    state: State,
    parent: Option<(usize, PathStep)>,
    depth: usize,
}

/// What a step of a thread does.
enum Effect {
    Fails,
    Goes(State),
}

/// The search.
pub struct Search<'p> {
    program: &'p Resolved,
    options: &'p Options,
    closures: Vec<Closure>,
    settled: Vec<Vec<usize>>,
    /// The shared variables and locals whose values are always known: they are part of the key.
    determined: (Vec<usize>, Vec<Vec<usize>>),
    nodes: Vec<Node>,
    skipped: Vec<bool>,
    here: FxHashMap<Vec<u64>, Vec<usize>>,
    queue: VecDeque<usize>,
    /// States that were kept.
    pub states: usize,
}

impl<'p> Search<'p> {
    /// A search that has not begun.
    pub fn new(program: &'p Resolved, options: &'p Options) -> Self {
        let kinds = 0..program.threads.len();
        Self {
            program,
            options,
            closures: kinds.clone().map(|t| closure(program, t)).collect(),
            settled: kinds.map(|t| settled(program, t)).collect(),
            determined: determined(program),
            nodes: Vec::new(),
            skipped: Vec::new(),
            here: FxHashMap::default(),
            queue: VecDeque::new(),
            states: 0,
        }
    }

    /// Searches all states; `None` if no violation is reached.
    pub fn run(&mut self) -> Result<Option<Path>, Stop> {
        let started = Instant::now();
        for state in self.first_states() {
            if let Some(path) = self.reach(state, None) {
                return Ok(Some(path));
            }
        }
        while let Some(id) = self.queue.pop_front() {
            if id.is_multiple_of(64)
                && let Some(reason) = self.options.limits.exceeded(started)
            {
                return Err(Stop::Limit(reason));
            }
            if self.options.max_states.is_some_and(|max| self.states > max) {
                return Err(Stop::States(self.states));
            }
            if !self.skipped[id]
                && let Some(path) = self.expand(id)
            {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// The first states: what `initially` relates is enumerated, as long as that is little.
    fn first_states(&self) -> Vec<State> {
        let program = self.program;
        let known = |variables: &[(String, Value)]| {
            let mut known = Valuation::unknown(variables.len());
            for (i, (_, value)) in variables.iter().enumerate() {
                match value {
                    Value::False => known.set(i, Some(false)),
                    Value::True => known.set(i, Some(true)),
                    Value::Any => {}
                }
            }
            known
        };
        let mut parts = Vec::new();
        for (kind, code) in program.threads.iter().enumerate() {
            let part = Part {
                kind,
                position: self.settled[kind][0],
                locals: known(&code.locals),
            };
            let copies = match code.copies {
                Copies::One => 1,
                Copies::Fixed(n) => n,
                Copies::Any => self.options.threads,
            };
            parts.extend((0..copies).map(|_| part.clone()));
        }
        let mut all = vec![known(&program.shared)];
        let mut related = Vec::new();
        for code in &program.initially {
            code.for_each(&mut |part| {
                if let Code::Shared(i) = part
                    && all[0].get(*i).is_none()
                    && !related.contains(i)
                {
                    related.push(*i);
                }
            });
        }
        if related.len() > MAX_FIRST {
            related.clear();
        }
        for i in related {
            let both = |state: &Valuation| {
                [false, true].map(|value| {
                    let mut case = state.clone();
                    case.set(i, Some(value));
                    case
                })
            };
            all = all.iter().flat_map(both).collect();
        }
        let possible = |shared: &Valuation| {
            let facts = Facts::before(shared, &Valuation::unknown(0), &parts);
            let mut conditions = program.initially.iter();
            conditions.all(|code| facts.may(code, true, &mut MAX_CASES.clone()))
        };
        all.retain(possible);
        let state = |shared| State::new(shared, parts.clone());
        all.into_iter().map(state).collect()
    }

    fn expand(&mut self, id: usize) -> Option<Path> {
        let state = self.nodes[id].state.clone();
        for actor in 0..state.parts.len() {
            if actor > 0 && state.parts[actor] == state.parts[actor - 1] {
                continue;
            }
            let kind = state.parts[actor].kind;
            let moves = self.closures[kind][state.parts[actor].position].clone();
            for action in moves {
                let (span, effect) = match action {
                    Move::Execute(statement) => {
                        let code = &self.program.threads[kind].steps[statement];
                        (code.1, self.execute(&state, actor, statement))
                    }
                    Move::Arrive(position, span) => {
                        let mut parts = state.parts.clone();
                        parts[actor].position = position;
                        let next = State::new(state.shared.clone(), parts);
                        (span, vec![Effect::Goes(next)])
                    }
                };
                let step = PathStep { kind, span };
                for effect in effect {
                    let found = match effect {
                        Effect::Fails => Some(self.path(id, Some(step), Target::Assert(span))),
                        Effect::Goes(next) => self.reach(next, Some((id, step))),
                    };
                    if found.is_some() {
                        return found;
                    }
                }
            }
        }
        None
    }

    /// What the thread `actor` does by a statement: it fails, or there is one next state at most.
    fn execute(&self, state: &State, actor: usize, statement: usize) -> Vec<Effect> {
        let active = &state.parts[actor];
        let mut facts = Facts::before(&state.shared, &active.locals, &[]);
        let mut effects = Vec::new();
        let code = match &self.program.threads[active.kind].steps[statement].0 {
            Step::Goto(_) => return effects,
            Step::Assume(code) => Some(code),
            Step::Assert(code) => {
                if facts.may(code, false, &mut MAX_CASES.clone()) {
                    effects.push(Effect::Fails);
                }
                Some(code)
            }
            Step::Assign(parts, constrain) => {
                facts.parts = parts;
                facts.next_shared = Valuation::unknown(self.program.shared.len());
                facts.next_own = Valuation::unknown(self.program.threads[active.kind].locals.len());
                constrain.as_ref()
            }
        };
        let possible = |code: &Code, facts: &Facts<'_>| {
            values(code, facts).known().is_some() || facts.may(code, true, &mut MAX_CASES.clone())
        };
        if facts.require(code, true).is_err() || code.is_some_and(|code| !possible(code, &facts)) {
            return effects;
        }
        let mut parts = state.parts.clone();
        for (k, part) in parts.iter_mut().enumerate() {
            if k != actor {
                Self::notify(&mut facts, &state.parts[k].locals, part);
            }
        }
        let (mut shared, mut own) = (facts.shared.clone(), facts.own.clone());
        for (place, _) in facts.parts {
            match place {
                Place::Shared(i) => shared.set(*i, facts.next_shared.get(*i)),
                Place::Own(i) => own.set(*i, facts.next_own.get(*i)),
                Place::Passive(..) => {}
            }
        }
        parts[actor] = Part {
            kind: active.kind,
            position: self.settled[active.kind][statement + 1],
            locals: own,
        };
        effects.push(Effect::Goes(State::new(shared, parts)));
        effects
    }

    /// A passive thread gets what is broadcast to it.
    fn notify<'f>(facts: &mut Facts<'f>, before: &'f Valuation, part: &mut Part) {
        facts.passive = Some(before);
        for (place, value) in facts.parts {
            if let Place::Passive(kind, i) = place
                && *kind == part.kind
            {
                part.locals.set(*i, values(value, facts).known());
            }
        }
        facts.passive = None;
    }

    /// Where the threads are, and the variables that are always known.
    fn key(&self, state: &State) -> Vec<u64> {
        let mut key = Vec::with_capacity(state.parts.len() + 1);
        let bits = |known: &Valuation, list: &[usize], key: &mut Vec<u64>| {
            for chunk in list.chunks(64) {
                let bits = chunk.iter().enumerate();
                let bits = bits.map(|(k, i)| u64::from(known.get(*i) == Some(true)) << k);
                key.push(bits.fold(0, |word, bit| word | bit));
            }
        };
        bits(&state.shared, &self.determined.0, &mut key);
        for part in &state.parts {
            key.push((part.kind as u64) << 32 | part.position as u64);
            bits(&part.locals, &self.determined.1[part.kind], &mut key);
        }
        key
    }

    /// Adds a state unless it is covered; tells if it is bad.
    fn reach(&mut self, mut state: State, parent: Option<(usize, PathStep)>) -> Option<Path> {
        let here = self.here.entry(self.key(&state)).or_default();
        if here.iter().any(|&n| self.nodes[n].state.covers(&state)) {
            return None;
        }
        if self.options.merge {
            for &n in here.iter() {
                state = state.join(&self.nodes[n].state);
            }
        }
        let depth = parent.map_or(0, |(from, _)| self.nodes[from].depth + 1);
        here.retain(|&n| {
            let covered = state.covers(&self.nodes[n].state);
            // A deeper state must not stand for it: paths would become longer.
            let same = self.nodes[n].depth == depth || self.options.merge;
            self.skipped[n] |= covered && same;
            !covered
        });
        let id = self.nodes.len();
        here.push(id);
        let facts = Facts::before(&state.shared, &Valuation::unknown(0), &state.parts);
        let mut never = self.program.never.iter();
        let broken = never.position(|(code, _)| facts.may(code, true, &mut MAX_CASES.clone()));
        self.nodes.push(Node {
            state,
            parent,
            depth,
        });
        self.skipped.push(false);
        self.states += 1;
        self.queue.push_back(id);
        broken.map(|number| self.path(id, None, Target::Never(number)))
    }

    fn path(&self, last: usize, step: Option<PathStep>, target: Target) -> Path {
        let mut steps: Vec<PathStep> = step.into_iter().collect();
        let mut at = last;
        while let Some((before, step)) = self.nodes[at].parent {
            steps.push(step);
            at = before;
        }
        steps.reverse();
        Path { steps, target }
    }
}

/// The shared variables, and the locals of each kind, that only get constants.
fn determined(program: &Resolved) -> (Vec<usize>, Vec<Vec<usize>>) {
    let fixed = |list: &[(String, Value)]| -> Vec<bool> {
        list.iter().map(|(_, value)| *value != Value::Any).collect()
    };
    let mut shared = fixed(&program.shared);
    let mut locals: Vec<Vec<bool>> = program.threads.iter().map(|t| fixed(&t.locals)).collect();
    for (kind, code) in program.threads.iter().enumerate() {
        for (step, _) in &code.steps {
            let Step::Assign(parts, _) = step else {
                continue;
            };
            for (place, value) in parts {
                let constant = matches!(value, Code::Value(Value::False | Value::True));
                match place {
                    Place::Shared(i) => shared[*i] &= constant,
                    Place::Own(i) => locals[kind][*i] &= constant,
                    Place::Passive(kind, i) => locals[*kind][*i] &= constant,
                }
            }
        }
    }
    let chosen = |flags: Vec<bool>| -> Vec<usize> {
        let numbered = flags.into_iter().enumerate();
        numbered.filter_map(|(i, f)| f.then_some(i)).collect()
    };
    (chosen(shared), locals.into_iter().map(chosen).collect())
}
