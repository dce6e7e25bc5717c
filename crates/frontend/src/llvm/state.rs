//! The *state* of a thread while its code is executed ahead of all runs: its calls, its registers,
//! and the memory that only it can touch. Numbers are constants, or expressions over the locals
//! of the thread that is being made.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use palisade_program::{Expr, LocalAtom, LocalExpr, LocalId};

use super::ir::Reg;
use super::memory::{Bytes, Content};
use super::values::{Known, Values, locals_of};
use super::world::{ObjectId, PathId};

/// The value of a register.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Value {
    Undefined,
    Word(LocalExpr),
    Parts(Vec<Value>),
}

impl Value {
    fn visit(&self, f: &mut dyn FnMut(&LocalExpr)) {
        match self {
            Self::Undefined => {}
            Self::Word(e) => f(e),
            Self::Parts(parts) => parts.iter().for_each(|p| p.visit(f)),
        }
    }

    fn change(&mut self, f: &mut dyn FnMut(&mut LocalExpr)) {
        match self {
            Self::Undefined => {}
            Self::Word(e) => f(e),
            Self::Parts(parts) => parts.iter_mut().for_each(|p| p.change(f)),
        }
    }
}

/// A call that has not returned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Frame {
    /// Module and function.
    pub(super) function: (usize, usize),
    pub(super) path: PathId,
    pub(super) block: usize,
    pub(super) inst: usize,
    pub(super) registers: Rc<BTreeMap<Reg, Value>>,
}

/// See the module's header.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    pub(super) frames: Vec<Frame>,
    pub(super) memory: BTreeMap<ObjectId, Rc<Content>>,
    /// Numbers of allocations in use.
    pub(super) heap: BTreeSet<u32>,
    /// Threads started so far.
    pub(super) started: u32,
    /// Which.
    pub(super) spawned: BTreeSet<usize>,
    /// Variables of the thread that have to be destroyed when it ends, each with the function that does it.
    pub(super) destructors: Vec<(i64, i64)>,
    /// Whether a model of loom's has ended: what is asserted now is about all of its executions.
    pub(super) is_behind_model: bool,
    /// Whether no thread was started yet and all is known.
    pub(super) prelude: bool,
    pub(super) known: Known,
}

impl State {
    pub(super) fn top(&self) -> &Frame {
        self.frames
            .last()
            .expect("a running thread is in a function")
    }

    pub(super) fn top_mut(&mut self) -> &mut Frame {
        self.frames
            .last_mut()
            .expect("a running thread is in a function")
    }

    pub(super) fn set(&mut self, reg: Reg, value: Value) {
        Rc::make_mut(&mut self.top_mut().registers).insert(reg, value);
    }

    /// Calls `f` on every number.
    pub(super) fn visit(&self, f: &mut dyn FnMut(&LocalExpr)) {
        for frame in &self.frames {
            frame.registers.values().for_each(|v| v.visit(f));
        }
        for content in self.memory.values() {
            for (_, bytes) in content.parts.values() {
                if let Bytes::Word(e) = bytes {
                    f(e);
                }
            }
        }
    }

    /// Lets `f` change every number, in the order of [`Self::visit`].
    pub(super) fn change(&mut self, f: &mut dyn FnMut(&mut LocalExpr)) {
        for frame in &mut self.frames {
            Rc::make_mut(&mut frame.registers)
                .values_mut()
                .for_each(|v| v.change(f));
        }
        for content in self.memory.values_mut() {
            for (_, bytes) in Rc::make_mut(content).parts.values_mut() {
                if let Bytes::Word(e) = bytes {
                    f(e);
                }
            }
        }
    }

    /// A local that nothing uses, neither here nor in `keep`.
    pub(super) fn fresh(&self, keep: &[&LocalExpr]) -> LocalId {
        let mut used = BTreeSet::new();
        self.visit(&mut |e| note_locals(e, &mut used));
        keep.iter().for_each(|e| note_locals(e, &mut used));
        let free = (0..).map(LocalId).find(|id| !used.contains(id));
        free.expect("there are more numbers than locals")
    }

    /// Puts constants where a local has one value only.
    pub(super) fn settle(&mut self) {
        let single = |values: &Values| {
            let list = values.list()?;
            (list.len() == 1).then(|| list.first().copied())?
        };
        let known: BTreeMap<LocalId, i64> = self
            .known
            .iter()
            .filter_map(|(id, values)| Some((*id, single(values)?)))
            .collect();
        if known.is_empty() {
            return;
        }
        self.change(&mut |e| {
            if locals_of(e).iter().any(|id| known.contains_key(id)) {
                *e = put_constants(e, &known);
            }
        });
        for id in known.keys() {
            self.known.remove(id);
        }
    }
}

fn note_locals(e: &LocalExpr, used: &mut BTreeSet<LocalId>) {
    e.for_each_atom(&mut |atom| {
        if let LocalAtom::Local(id) = atom {
            used.insert(*id);
        }
    });
}

/// The expression with constants for some locals.
pub(super) fn put_constants(e: &LocalExpr, known: &BTreeMap<LocalId, i64>) -> LocalExpr {
    e.substitute(&mut |atom| match atom {
        LocalAtom::Local(id) => match known.get(id) {
            Some(value) => Expr::Const(*value),
            None => Expr::Atom(*atom),
        },
        LocalAtom::SelfId => Expr::Atom(*atom),
    })
}
