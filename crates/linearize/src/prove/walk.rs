//! Random *walks* of the program: which facts hold at which locations. They choose soft
//! invariants; a wrong choice costs time, never soundness.

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::LocId;
use palisade_program::heap::{Body, CommitKind, Step, Term};

use super::facts::{Colour, Fact};
use super::fragment::{Effect, Fragment, Location, Sequence};
use super::places::at_once;
use super::supported::free_choice;
use crate::code::Code;
use crate::options::Reclaim;
use crate::step::{Outcome, Rules, holds, run};
use crate::value::{Memory, Value};

/// The facts (indices) that held in one state, as bits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Valuation(Vec<u64>);

impl Valuation {
    /// Whether the fact held.
    pub fn contains(&self, fact: usize) -> bool {
        self.0[fact / 64] >> (fact % 64) & 1 == 1
    }
}

/// The valuations seen at a location.
pub type Seen = BTreeSet<Valuation>;

const WALKS: usize = 800;
const STEPS: usize = 80;
const THREADS: usize = 3;

/// Walks, and notes what held.
pub fn walk(fragment: &Fragment<'_>, facts: &[Fact]) -> Vec<Seen> {
    let mut seen = vec![Seen::new(); fragment.locations.len()];
    let locals: Vec<BTreeSet<usize>> = facts.iter().map(Fact::locals).collect();
    let spoken = |l: &Location| {
        let all = 0..facts.len();
        all.filter(|&f| locals[f].is_subset(&l.live)).collect()
    };
    let spoken: Vec<Vec<usize>> = fragment.locations.iter().map(spoken).collect();
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..WALKS {
        let mut walker = Walker::new(fragment, THREADS, &mut random);
        for _ in 0..STEPS {
            if !walker.step(&mut random) {
                break;
            }
            walker.note(facts, &spoken, &mut seen);
        }
    }
    seen
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // xorshift64*: any spread of numbers will do.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

/// A call that runs.
pub(super) struct Call {
    pub(super) method: usize,
    at: LocId,
    /// Commits of an edge that are still to come.
    commits: Option<(usize, usize)>,
    locals: Vec<Value>,
    pub(super) done: bool,
    pub(super) empty: bool,
    pub(super) noted: bool,
    pub(super) result: Option<u32>,
}

/// A random run under way.
pub(super) struct Walker<'a> {
    fragment: &'a Fragment<'a>,
    codes: Vec<Code<'a>>,
    rules: Rules<'a>,
    pub(super) memory: Memory,
    pub(super) calls: Vec<Option<Call>>,
    /// The thread that must go on.
    pub(super) busy: Option<usize>,
    /// Whether `init` has come to its end.
    pub(super) begun: bool,
    /// What has gone wrong.
    pub(super) wrong: Option<&'static str>,
    fresh: u32,
    pub(super) entered: BTreeSet<u32>,
    pub(super) left: BTreeSet<u32>,
    pub(super) was: Vec<BTreeSet<u32>>,
    pub(super) next: BTreeMap<u32, u32>,
    pub(super) first: Option<u32>,
    pub(super) last: Option<u32>,
}

pub(super) fn node(value: Value) -> Option<u32> {
    match value {
        Value::Node(node) => Some(node),
        _ => None,
    }
}

impl<'a> Walker<'a> {
    pub(super) fn new(fragment: &'a Fragment<'a>, threads: usize, random: &mut Random) -> Self {
        let mut walker = Self {
            fragment,
            codes: fragment.methods.iter().map(|m| Code::new(m.body)).collect(),
            rules: Rules {
                structs: &fragment.program.structs,
                reclaim: Reclaim::Never,
                numbers: 2,
                nodes: usize::MAX,
            },
            memory: Memory::new(&fragment.program.shared),
            calls: (0..threads).map(|_| None).collect(),
            busy: None,
            begun: fragment.program.init.is_none(),
            wrong: None,
            fresh: 0,
            entered: BTreeSet::new(),
            left: BTreeSet::new(),
            was: vec![BTreeSet::new(); fragment.pointers.len()],
            next: BTreeMap::new(),
            first: None,
            last: None,
        };
        if let Some(init) = &fragment.program.init {
            walker.init(init, random);
        }
        if let (Sequence::Queue, Some(before)) = (fragment.sequence, fragment.before) {
            let (id, _) = &fragment.pointers[before];
            walker.first = node(walker.memory.shared(*id));
            walker.last = walker.first;
            walker.entered.extend(walker.first);
            walker.left.extend(walker.first);
        }
        walker.look();
        walker
    }

    fn init(&mut self, init: &'a Body, random: &mut Random) {
        let code = Code::new(init);
        let mut locals = code.defaults.clone();
        let mut at = init.entry;
        for _ in 0..200 {
            if at == init.exit {
                self.begun = true;
                return;
            }
            let mut ways = Vec::new();
            for &e in code.leaving(at) {
                let edge = &init.edges[e];
                let outcome = if free_choice(&edge.step) {
                    Outcome::Done(vec![(self.memory.clone(), locals.clone())])
                } else {
                    run(&edge.step, init, &self.memory, &locals, 0, &self.rules)
                };
                match outcome {
                    Outcome::Done(done) => {
                        ways.extend(done.into_iter().map(|way| (edge.to, way)));
                    }
                    Outcome::Blocked => {}
                    Outcome::Wrong(_) => self.wrong = Some("a step of `init` goes wrong"),
                }
            }
            if ways.is_empty() {
                return;
            }
            let choice = random.below(ways.len());
            let (to, (memory, after)) = ways.swap_remove(choice);
            (at, self.memory, locals) = (to, memory, after);
        }
    }

    /// Where shared pointers are now, they have been.
    fn look(&mut self) {
        for ((id, _), was) in self.fragment.pointers.iter().zip(&mut self.was) {
            was.extend(node(self.memory.shared(*id)));
        }
    }

    /// One step of some thread; false when none is possible.
    pub(super) fn step(&mut self, random: &mut Random) -> bool {
        let thread = self.busy.unwrap_or_else(|| random.below(self.calls.len()));
        if self.calls[thread].is_none() {
            let method = random.below(self.fragment.methods.len());
            let code = &self.codes[method];
            let mut locals = code.defaults.clone();
            if self.fragment.program.methods[method].parameters > 0 {
                locals[0] = Value::Data(self.fresh);
                self.fresh += 1;
            }
            self.calls[thread] = Some(Call {
                method,
                at: code.body.entry,
                commits: None,
                locals,
                done: false,
                empty: false,
                noted: false,
                result: None,
            });
        } else if !self.advance(thread, random) {
            return self.busy.is_none();
        }
        self.look();
        let place = self.calls[thread].as_ref().and_then(|c| self.place(c));
        let busy = place.is_some_and(|l| self.fragment.locations[l].busy);
        self.busy = busy.then_some(thread);
        true
    }

    pub(super) fn place(&self, call: &Call) -> Option<usize> {
        match call.commits {
            Some((edge, number)) => self.fragment.before_commit(call.method, edge, number),
            None => self.fragment.location(call.method, call.at),
        }
    }

    fn advance(&mut self, thread: usize, random: &mut Random) -> bool {
        let Some(mut call) = self.calls[thread].take() else {
            return false;
        };
        if let Some((edge, number)) = call.commits {
            self.later_commit(&mut call, edge, number);
            self.calls[thread] = Some(call);
            return true;
        }
        let code = &self.codes[call.method];
        let body = code.body;
        let mut ways = Vec::new();
        for &e in code.leaving(call.at) {
            let step = &body.edges[e].step;
            match run(
                step,
                body,
                &self.memory,
                &call.locals,
                thread as u32,
                &self.rules,
            ) {
                Outcome::Done(done) => ways.extend(done.into_iter().map(|way| (e, way))),
                Outcome::Blocked => {}
                Outcome::Wrong(_) => self.wrong = Some("a step goes wrong"),
            }
        }
        if ways.is_empty() {
            self.calls[thread] = Some(call);
            return false;
        }
        let choice = random.below(ways.len());
        let (e, (memory, locals)) = ways.swap_remove(choice);
        (self.memory, call.locals) = (memory, locals);
        let edge = &body.edges[e];
        call.at = edge.to;
        if let Step::Return(value) = edge.step {
            self.returned(&call, value);
            return true;
        }
        if at_once(&edge.step, &edge.commits) {
            for commit in &edge.commits {
                if holds(&commit.when, &self.memory, &call.locals).unwrap_or(false) {
                    self.commit(&mut call, commit.kind);
                }
            }
        } else {
            call.commits = Some((e, 0));
        }
        self.forget(&mut call);
        self.calls[thread] = Some(call);
        true
    }

    /// A call that has not taken effect, or with another result.
    fn returned(&mut self, call: &Call, value: Option<Term>) {
        if self.fragment.sequence == Sequence::Nothing {
            return;
        }
        let right = match value {
            None => true,
            Some(Term::Local(id)) => {
                let variable = self.fragment.variable(call.method, id);
                let given = variable.and_then(|v| self.points(call, v));
                given.is_some() && given == call.result
            }
            Some(_) => call.empty,
        };
        if !call.done || !right {
            self.wrong = Some("a call returns what it should not");
        }
    }

    fn later_commit(&mut self, call: &mut Call, edge: usize, number: usize) {
        let body = self.codes[call.method].body;
        let commits = &body.edges[edge].commits;
        let commit = &commits[number];
        if holds(&commit.when, &self.memory, &call.locals).unwrap_or(false) {
            self.commit(call, commit.kind);
        }
        call.commits = (number + 1 < commits.len()).then_some((edge, number + 1));
        self.forget(call);
    }

    /// Locals that do not matter are null, as in the model.
    fn forget(&self, call: &mut Call) {
        let live = self.place(call).map(|l| &self.fragment.locations[l].live);
        for (v, variable) in self.fragment.variables.iter().enumerate() {
            let matters = live.is_none_or(|live| live.contains(&v));
            if variable.method == call.method && !matters {
                let defaults = &self.codes[call.method].defaults;
                call.locals[variable.local.index()] = defaults[variable.local.index()];
            }
        }
    }

    fn commit(&mut self, call: &mut Call, kind: CommitKind) {
        let method = &self.fragment.methods[call.method];
        let nothing_left = match self.fragment.sequence {
            Sequence::Stack | Sequence::Nothing => self.first.is_none(),
            Sequence::Queue => self.first == self.last,
        };
        let takes_effect = kind != CommitKind::Later && method.effect != Effect::Other;
        if takes_effect && call.done {
            self.wrong = Some("a call takes effect twice");
        }
        if kind == CommitKind::Confirm && !call.noted {
            self.wrong = Some("a call confirms what was not noted");
        }
        match (method.effect, kind) {
            (Effect::Insert, CommitKind::Now) => {
                call.done = true;
                let mine = method.mine.map(|v| self.fragment.variables[v].local);
                let Some(n) = mine.and_then(|id| node(call.locals[id.index()])) else {
                    return;
                };
                self.entered.insert(n);
                match self.fragment.sequence {
                    Sequence::Stack => {
                        if let Some(first) = self.first {
                            self.next.insert(n, first);
                        }
                        self.first = Some(n);
                    }
                    Sequence::Queue | Sequence::Nothing => {
                        if let Some(last) = self.last {
                            self.next.insert(last, n);
                        }
                        self.last = Some(n);
                    }
                }
            }
            (Effect::Take, CommitKind::Now) => {
                call.done = true;
                call.empty = nothing_left;
                let next = |from: Option<u32>| from.and_then(|n| self.next.get(&n).copied());
                match self.fragment.sequence {
                    Sequence::Stack => {
                        call.result = self.first;
                        self.first = next(self.first);
                    }
                    Sequence::Queue | Sequence::Nothing => {
                        call.result = next(self.first);
                        if let Some(result) = call.result {
                            self.first = Some(result);
                            self.left.insert(result);
                        }
                    }
                }
            }
            (Effect::Take, CommitKind::Later) => call.noted = nothing_left,
            (Effect::Take, CommitKind::Confirm) => (call.done, call.empty) = (true, true),
            (Effect::Insert, CommitKind::Later | CommitKind::Confirm) | (Effect::Other, _) => {}
        }
    }

    // ---- what holds

    /// Notes which of the facts that a location speaks of hold.
    fn note(&self, facts: &[Fact], spoken: &[Vec<usize>], seen: &mut [Seen]) {
        for (thread, call) in self.calls.iter().enumerate() {
            let Some(call) = call else { continue };
            let Some(place) = self.place(call) else {
                continue;
            };
            let mut held = vec![0; facts.len().div_ceil(64)];
            for &f in &spoken[place] {
                if self.holds(&facts[f], call, thread as u32) {
                    held[f / 64] |= 1 << (f % 64);
                }
            }
            seen[place].insert(Valuation(held));
        }
    }

    /// The node that a variable stands for; data by the node that holds it.
    pub(super) fn points(&self, call: &Call, v: usize) -> Option<u32> {
        let variable = &self.fragment.variables[v];
        let value = call.locals[variable.local.index()];
        match value {
            Value::Data(_) => {
                let holds_it = |n: &crate::value::Node| n.words.iter().any(|w| w.value == value);
                let found = self.memory.nodes.iter().position(holds_it);
                found.map(|n| n as u32)
            }
            other => node(other),
        }
    }

    pub(super) fn link(&self, n: u32) -> Option<u32> {
        node(self.memory.nodes[n as usize].words[self.fragment.link.0.index()].value)
    }

    fn reaches(&self, from: Option<u32>, to: u32) -> bool {
        let mut at = from;
        for _ in 0..=self.memory.nodes.len() {
            match at {
                Some(n) if n == to => return true,
                Some(n) => at = self.link(n),
                None => return false,
            }
        }
        false
    }

    fn coloured(&self, colour: &Colour, n: u32) -> bool {
        let pointer = |p: usize| node(self.memory.shared(self.fragment.pointers[p].0));
        match colour {
            Colour::Entered => self.entered.contains(&n),
            Colour::Left => self.left.contains(&n),
            Colour::Valued => {
                let words = &self.memory.nodes[n as usize].words;
                words.iter().any(|w| matches!(w.value, Value::Data(_)))
            }
            Colour::Linked => self.link(n).is_some(),
            Colour::Pointer(p) => pointer(*p) == Some(n),
            Colour::Was(p) => self.was[*p].contains(&n),
            Colour::Reached(p) => self.reaches(pointer(*p), n),
            Colour::First => self.first == Some(n),
            Colour::Last => self.last == Some(n),
            Colour::Front => self.first.and_then(|n| self.next.get(&n)) == Some(&n),
        }
    }

    fn holds(&self, fact: &Fact, call: &Call, thread: u32) -> bool {
        let points = |v: usize| {
            let own = self.fragment.variables[v].method == call.method;
            own.then(|| self.points(call, v)).flatten()
        };
        match fact {
            Fact::Has(x) => points(*x).is_some(),
            Fact::On(colour, x) => points(*x).is_some_and(|n| self.coloured(colour, n)),
            Fact::Next(x, y) => {
                let after = points(*x).and_then(|n| self.link(n));
                after.is_some() && after == points(*y)
            }
            Fact::End(x, y) => {
                points(*y).is_none() && points(*x).is_some_and(|n| self.link(n).is_none())
            }
            Fact::Same(x, y) => points(*x).is_some() && points(*x) == points(*y),
            Fact::Shared(p) => node(self.memory.shared(self.fragment.pointers[*p].0)).is_some(),
            Fact::Result(x) => call.result.is_some() && points(*x) == call.result,
            Fact::Done => call.done,
            Fact::Empty => call.empty,
            Fact::Noted => call.noted,
            Fact::Holds(lock) => {
                let (id, _) = self.fragment.locks[*lock];
                self.memory.shared(id) == Value::Holder(thread)
            }
        }
    }
}
