//! What an *atomic block* of the program accesses, as conditions on the state before it. The
//! block runs at once, and not at all if one of its `assume`s is false. So it accesses a
//! variable in a state if one of its paths from start to end does whose `assume`s are true there:
//! expressions over memory and the thread's locals, found by executing the path symbolically.
//!
//! A block waits until its thread's buffers are empty. For the condition to mean the
//! same until then, it may name no variable that the thread itself stores through its buffer.

use std::collections::{BTreeSet, HashMap};

use palisade_program::{
    Cfg, Expr as Ir, GlobalId, LocId, LocalAtom, LocalExpr, LocalId, Place, PropAtom, PropExpr,
    Step, ThreadVarId,
};

/// Paths through one block, at most.
const MAX_PATHS: usize = 64;

/// One access on one path.
pub(super) struct Access {
    pub(super) var: GlobalId,
    pub(super) index: Option<PropExpr>,
    pub(super) writes: bool,
    /// When the path is taken.
    pub(super) when: PropExpr,
}

/// The accesses of a block, in terms of `thread`; `None` if they depend on what no property can name.
/// `buffered` are the variables that the thread stores outside of blocks. Where `is_checked` the block's assertions say
/// nothing about its accesses: they look at those of others.
pub(super) fn accesses(
    body: &Cfg,
    thread: ThreadVarId,
    buffered: &BTreeSet<GlobalId>,
    is_checked: bool,
) -> Option<Vec<Access>> {
    let mut paths = Paths {
        body,
        thread,
        is_checked,
        ended: 0,
        all: Vec::new(),
    };
    let start = State {
        locals: HashMap::new(),
        memory: HashMap::new(),
        when: Ir::TRUE,
        touched: Vec::new(),
        steps: 0,
    };
    paths.from(body.entry, start)?;
    let named = |e: &PropExpr| {
        e.any_atom(|atom| matches!(atom, PropAtom::Global(var, _) if buffered.contains(var)))
    };
    let is_stable = |a: &Access| !named(&a.when) && !a.index.as_ref().is_some_and(named);
    paths.all.iter().all(is_stable).then_some(paths.all)
}

/// No property can name it.
struct Unclear;

/// A value on a path; `None` if no property can name it.
type Value = Option<PropExpr>;

#[derive(Clone)]
struct State {
    locals: HashMap<LocalId, Value>,
    /// Cells that were stored on this path; by variable where the element is not known.
    memory: HashMap<(GlobalId, Option<u32>), Value>,
    when: PropExpr,
    touched: Vec<(GlobalId, Option<PropExpr>, bool)>,
    steps: usize,
}

struct Paths<'a> {
    body: &'a Cfg,
    thread: ThreadVarId,
    is_checked: bool,
    ended: usize,
    all: Vec<Access>,
}

impl Paths<'_> {
    fn from(&mut self, at: LocId, state: State) -> Option<()> {
        if at == self.body.exit {
            self.ended += 1;
            for (var, index, writes) in state.touched {
                let when = state.when.clone();
                self.all.push(Access {
                    var,
                    index,
                    writes,
                    when,
                });
            }
            return (self.ended <= MAX_PATHS).then_some(());
        }
        // A path longer than the block has a loop in it.
        if state.steps > self.body.edges.len() {
            return None;
        }
        for edge in self.body.edges.iter().filter(|e| e.from == at) {
            let mut next = state.clone();
            next.steps += 1;
            self.step(&edge.step, &mut next)?;
            if next.when != Ir::FALSE {
                self.from(edge.to, next)?;
            }
        }
        Some(())
    }

    /// Executes a step; `None` if the path cannot be followed.
    fn step(&self, step: &Step, state: &mut State) -> Option<()> {
        match step {
            Step::Skip | Step::Fence(_) => {}
            Step::Assert { .. } if self.is_checked => {}
            Step::Assume(cond) | Step::Assert { cond, .. } => {
                let cond = self.value(cond, state)?;
                state.when = std::mem::replace(&mut state.when, Ir::TRUE).and(cond);
            }
            Step::Assign { dst, value } => {
                let value = self.value(value, state);
                state.locals.insert(*dst, value);
            }
            Step::Havoc { dst, .. } => {
                state.locals.insert(*dst, None);
            }
            Step::Load { dst, src } => {
                let index = self.index(src, state).ok()?;
                state.touched.push((src.var, index.clone(), false));
                let value = read(src.var, index.as_ref(), state);
                state.locals.insert(*dst, value);
            }
            Step::Store { dst, value } => {
                let index = self.index(dst, state).ok()?;
                state.touched.push((dst.var, index.clone(), true));
                let value = self.value(value, state);
                if let Ok(k) = element(index.as_ref()) {
                    state.memory.insert((dst.var, k), value);
                } else {
                    state.memory.retain(|(var, _), _| *var != dst.var);
                    state.memory.insert((dst.var, None), None);
                }
            }
            Step::Atomic(_) | Step::Put { .. } | Step::Get { .. } => return None,
            Step::RemoteAtomic(_) | Step::Flush(_) => return None,
        }
        Some(())
    }

    fn value(&self, e: &LocalExpr, state: &State) -> Value {
        let known = !e.any_atom(
            |atom| matches!(atom, LocalAtom::Local(l) if state.locals.get(l) == Some(&None)),
        );
        known.then(|| {
            e.substitute(&mut |atom| match atom {
                LocalAtom::Local(l) => match state.locals.get(l) {
                    Some(Some(value)) => value.clone(),
                    Some(None) | None => Ir::Atom(PropAtom::Local(self.thread, *l)),
                },
                LocalAtom::SelfId => Ir::Atom(PropAtom::SelfOf(self.thread)),
            })
        })
    }

    /// The index of a place, none for a scalar.
    fn index(&self, place: &Place, state: &State) -> Result<Option<PropExpr>, Unclear> {
        let value = |e| self.value(e, state).ok_or(Unclear);
        place.index.as_ref().map(value).transpose()
    }
}

/// The element of an access, none for a scalar; unclear if it is no constant.
fn element(index: Option<&PropExpr>) -> Result<Option<u32>, Unclear> {
    match index {
        None => Ok(None),
        Some(Ir::Const(k)) => u32::try_from(*k).map(Some).map_err(|_| Unclear),
        Some(_) => Err(Unclear),
    }
}

fn read(var: GlobalId, index: Option<&PropExpr>, state: &State) -> Value {
    let k = element(index).ok()?;
    let stored = state.memory.get(&(var, k));
    // An element may be one that was stored to by an index that is not known.
    let unclear = k.is_some() && state.memory.contains_key(&(var, None));
    match stored {
        Some(value) => value.clone(),
        None if unclear => None,
        None => Some(Ir::Atom(PropAtom::Global(var, k))),
    }
}
