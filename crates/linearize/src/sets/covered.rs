//! *Covered* runs: a second look before `holds` is said. The program itself is run at random, with the
//! concrete semantics of the search, and what each call knows in each state, for each key, must be among the views
//! that were found. Whether the key is in is told here by following the list, and what a call has seen by keeping
//! the nodes of the list at every step: nothing of the analysis' own account is used but the order of a view's parts.
//!
//! It is a test of the analysis on the program at hand, not a proof.

use std::collections::BTreeSet;

use palisade_program::heap::{Place, Tag, Type};
use palisade_program::{LocId, SharedId};

use super::fixpoint::Fixpoint;
use super::object::{Object, Word};
use super::view::{History, Key, Link, Mark, Node, Slot, Standing, View, marked};
use crate::options::Reclaim;
use crate::prove::walk::Random;
use crate::step::{Outcome, Rules, run};
use crate::value::{Memory, Value};

const RUNS: usize = 300;
const STEPS: usize = 120;
const THREADS: usize = 3;
const KEYS: u32 = 3;
/// Steps over locals in a row.
const LOCAL_STEPS: usize = 100;

/// Where a thread goes on, with which memory and locals.
type Way = (LocId, Memory, Vec<Value>);

struct Call {
    part: usize,
    at: LocId,
    argument: u32,
    locals: Vec<Value>,
    /// Nodes that were in the list since the call began, since it last read the root.
    listed: BTreeSet<u32>,
    listed_since: BTreeSet<u32>,
    history: Vec<History>,
}

struct Runner<'a> {
    object: &'a Object<'a>,
    mark: Mark,
    rules: Rules<'a>,
    memory: Memory,
    calls: Vec<Option<Call>>,
}

/// What a run shows that the analysis does not know of.
pub(super) fn objection(all: &Fixpoint<'_>) -> Option<&'static str> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..RUNS {
        let mut runner = Runner {
            object: all.object,
            mark: all.mark,
            rules: Rules {
                structs: &all.object.program.structs,
                reclaim: Reclaim::Never,
                numbers: 2,
                nodes: usize::MAX,
            },
            memory: Memory::new(&all.object.program.shared),
            calls: (0..THREADS).map(|_| None).collect(),
        };
        if !runner.init(&mut random) {
            return Some("`init` does not come to its end in a random run");
        }
        for _ in 0..STEPS {
            if let Err(why) = runner.step(&mut random) {
                return Some(why);
            }
            for thread in 0..THREADS {
                for key in 0..KEYS {
                    let view = runner.view(thread, key);
                    if view.is_some_and(|view| !all.covers(&view)) {
                        return Some("a random run comes to a view that was not found");
                    }
                }
            }
        }
    }
    None
}

impl Runner<'_> {
    fn init(&mut self, random: &mut Random) -> bool {
        let Some(part) = (self.object.parts.iter()).position(|p| p.operation.is_none()) else {
            return true;
        };
        let code = &self.object.parts[part].code;
        let (mut at, mut locals) = (code.body.entry, code.defaults.clone());
        for _ in 0..LOCAL_STEPS {
            if at == code.body.exit {
                return true;
            }
            let Ok(Some((to, memory, after))) = self.choose(part, at, &locals, 0, random) else {
                return false;
            };
            (at, self.memory, locals) = (to, memory, after);
        }
        false
    }

    /// One of the ways in which a thread can go on.
    fn choose(
        &self,
        part: usize,
        at: LocId,
        locals: &[Value],
        me: u32,
        random: &mut Random,
    ) -> Result<Option<Way>, &'static str> {
        let code = &self.object.parts[part].code;
        let mut ways = Vec::new();
        for &e in code.leaving(at) {
            let edge = &code.body.edges[e];
            match run(&edge.step, code.body, &self.memory, locals, me, &self.rules) {
                Outcome::Done(done) => {
                    ways.extend(
                        done.into_iter()
                            .map(|(memory, locals)| (edge.to, memory, locals)),
                    );
                }
                Outcome::Blocked => {}
                Outcome::Wrong(_) => return Err("a step of a random run goes wrong"),
            }
        }
        if ways.is_empty() {
            return Ok(None);
        }
        let choice = random.below(ways.len());
        Ok(Some(ways.swap_remove(choice)))
    }

    /// A step of some thread, and what follows where nobody interrupts.
    fn step(&mut self, random: &mut Random) -> Result<(), &'static str> {
        let thread = random.below(self.calls.len());
        if self.calls[thread].is_none() {
            self.begin(thread, random);
        } else {
            self.advance(thread, random)?;
        }
        for _ in 0..LOCAL_STEPS {
            let Some(call) = &self.calls[thread] else {
                return Ok(());
            };
            // Wherever the program lets others act, whether the proof looks there or not.
            if !self.object.parts[call.part].body.locations[call.at.index()].atomic {
                return Ok(());
            }
            self.advance(thread, random)?;
        }
        Ok(())
    }

    fn begin(&mut self, thread: usize, random: &mut Random) {
        let methods = self.object.program.methods.len();
        let part = random.below(methods);
        let argument = random.below(KEYS as usize) as u32;
        let code = &self.object.parts[part].code;
        let mut locals = code.defaults.clone();
        locals[0] = Value::Data(argument);
        self.calls[thread] = Some(Call {
            part,
            at: code.body.entry,
            argument,
            locals,
            listed: BTreeSet::new(),
            listed_since: BTreeSet::new(),
            history: vec![History::default(); KEYS as usize],
        });
        self.look();
    }

    fn advance(&mut self, thread: usize, random: &mut Random) -> Result<(), &'static str> {
        let Some(call) = &self.calls[thread] else {
            return Ok(());
        };
        let (part, at) = (call.part, call.at);
        let Some((to, memory, locals)) =
            self.choose(part, at, &call.locals, thread as u32, random)?
        else {
            return Ok(());
        };
        let before: Vec<bool> = (0..KEYS).map(|key| self.inside(key)).collect();
        self.memory = memory;
        let after: Vec<bool> = (0..KEYS).map(|key| self.inside(key)).collect();
        let body = self.object.parts[part].body;
        let reads_root = body.leaving(at).any(|(_, e)| {
            let read = e.step.read().map(|(_, from)| from);
            read == Some(Place::Shared(self.object.root()))
        });
        if let Some(call) = &mut self.calls[thread] {
            (call.at, call.locals) = (to, locals);
            for (key, (before, after)) in before.iter().zip(&after).enumerate() {
                call.history[key].done |= before != after;
            }
            if reads_root {
                call.listed_since.clear();
            }
        }
        self.look();
        if to == body.exit {
            self.calls[thread] = None;
        }
        Ok(())
    }

    fn link(&self, node: u32) -> Value {
        let words = &self.memory.nodes[node as usize].words;
        let link = self.object.fields().position(|word| word == Word::Link);
        link.map_or(Value::Null, |link| words[link].value)
    }

    /// The nodes of the list.
    fn list(&self) -> Vec<u32> {
        let mut list = Vec::new();
        let mut at = self.memory.shared(self.object.root());
        while let Value::Node(node) = at {
            if list.contains(&node) {
                break;
            }
            list.push(node);
            at = self.link(node);
        }
        list
    }

    fn key(&self, node: u32) -> Value {
        let words = &self.memory.nodes[node as usize].words;
        let key = self.object.fields().position(|word| word == Word::Key);
        key.map_or(Value::Undefined, |key| words[key].value)
    }

    fn inside(&self, key: u32) -> bool {
        let there =
            |&node: &u32| self.key(node) == Value::Data(key) && !marked(self.bits(node), self.mark);
        self.list().iter().any(there)
    }

    /// What is in the list now has been in it.
    fn look(&mut self) {
        let list = self.list();
        let inside: Vec<bool> = (0..KEYS).map(|key| self.inside(key)).collect();
        for call in self.calls.iter_mut().flatten() {
            call.listed.extend(&list);
            call.listed_since.extend(&list);
            for (history, inside) in call.history.iter_mut().zip(&inside) {
                history.was_in |= inside;
                history.was_out |= !inside;
            }
        }
    }

    fn bits(&self, node: u32) -> u8 {
        let words = &self.memory.nodes[node as usize].words;
        let mut bits = 0;
        for (word, what) in words.iter().zip(self.object.fields()) {
            let (bit, value) = match what {
                Word::Bit(bit) => (Some(bit), word.value),
                Word::Link => (self.object.mark, word.tag),
                Word::Key | Word::Lock(_) | Word::Number | Word::Unused => (None, word.value),
            };
            if let Some(bit) = bit {
                bits |= u8::from(value == Value::Bool(true)) << bit;
            }
        }
        bits
    }

    /// What a call knows, with respect to a key.
    fn view(&self, thread: usize, key: u32) -> Option<View> {
        let call = self.calls[thread].as_ref()?;
        let part = &self.object.parts[call.part];
        if !part.open[call.at.index()] {
            return None;
        }
        let shared = self.object.program.shared.iter().enumerate();
        let (mut bits, mut held) = (0, 0);
        for (index, _) in shared {
            let id = SharedId::from(index);
            match self.object.word(Place::Shared(id)) {
                Word::Bit(bit) => {
                    bits |= u8::from(self.memory.shared(id) == Value::Bool(true)) << bit;
                }
                Word::Lock(lock) => {
                    let mine = self.memory.shared(id) == Value::Holder(thread as u32);
                    held |= u8::from(mine) << lock;
                }
                Word::Link | Word::Key | Word::Number | Word::Unused => {}
            }
        }
        let history = call.history[key as usize];
        let argument = class(Value::Data(call.argument), key);
        let view = View {
            method: call.part as u8,
            at: call.at.index() as u16,
            argument,
            inside: self.inside(key),
            history,
            bits,
            held,
            locals: self.slots(call, key),
            nodes: self.nodes(call, thread as u32, key),
        };
        Some(view.reduce(&part.live[call.at.index()], self.mark))
    }

    fn slots(&self, call: &Call, key: u32) -> Vec<Slot> {
        let body = self.object.parts[call.part].body;
        let slot =
            |(value, local): (&Value, &palisade_program::heap::Local)| match (local.ty, *value) {
                (Type::Int, _) => Slot::Any,
                (Type::Data, Value::Empty) => Slot::Empty,
                (Type::Data, value) => Slot::Key(class(value, key)),
                (_, Value::Node(node)) => Slot::At(node as u8 + 1),
                (_, Value::Bool(value)) => Slot::Bool(value),
                (_, _) => Slot::Null,
            };
        call.locals.iter().zip(&body.locals).map(slot).collect()
    }

    fn nodes(&self, call: &Call, me: u32, key: u32) -> Vec<Node> {
        let to = |value: Value| match value {
            Value::Node(node) => Link::To(node as u8 + 1),
            _ => Link::Null,
        };
        let root = self.object.root();
        let word = self.memory.shared[root.index()];
        let mark = match self.object.program.shared[root.index()].tag {
            Some(Tag::Mark) => u8::from(word.tag == Value::Bool(true)),
            Some(Tag::Count) | None => 0,
        };
        let mut nodes = vec![Node {
            key: Key::Root,
            standing: Standing::Listed,
            bits: mark << self.object.mark.unwrap_or(0),
            held: 0,
            link: to(word.value),
        }];
        let list = self.list();
        for node in 0..self.memory.nodes.len() as u32 {
            let standing = if list.contains(&node) {
                Standing::Listed
            } else if call.listed_since.contains(&node) {
                Standing::Left
            } else if call.listed.contains(&node) {
                Standing::LeftBefore
            } else {
                Standing::Own
            };
            let words = &self.memory.nodes[node as usize].words;
            let mut held = 0;
            for (word, what) in words.iter().zip(self.object.fields()) {
                if let Word::Lock(lock) = what {
                    held |= u8::from(word.value == Value::Holder(me)) << lock;
                }
            }
            nodes.push(Node {
                key: class(self.key(node), key),
                standing,
                bits: self.bits(node),
                held,
                link: to(self.link(node)),
            });
        }
        nodes
    }
}

fn class(value: Value, key: u32) -> Key {
    match value {
        Value::Data(value) if value < key => Key::Less,
        Value::Data(value) if value == key => Key::Equal,
        Value::Data(_) => Key::Greater,
        Value::Least => Key::Least,
        Value::Greatest => Key::Greatest,
        _ => Key::Unset,
    }
}
