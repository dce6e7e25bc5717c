//! *Effects*: what evaluating an expression does that its neighbours or other threads can
//! notice: memory that it reads and writes, synchronisation, ends of the run. Functions
//! count with all that they call. `order` asks for them where C leaves the order of two
//! evaluations open.
//!
//! Memory is a part of a named variable, or whatever lies behind a pointer of some type.
//! Both over-approximate: two evaluations that touch the same cell are never said to be
//! apart.

mod visitor;

use std::collections::BTreeSet;
use std::rc::Rc;

use palisade_program::GlobalId;

use super::cases::part_width;
use super::code::{Code, FunctionEffects};
use super::layout::{Cells, Object, compatible};
use crate::c::ast::{Expr, Function};
use crate::c::types::{StructId, Type};
use visitor::Visitor;

/// A piece of memory.
#[derive(Clone, Debug)]
pub(super) enum Memory {
    /// A part of a variable: the members on the way (`.a.b`), and the indices, where they
    /// are constants.
    Part {
        object: Rc<Object>,
        path: String,
        index: Vec<Option<i128>>,
    },
    /// What a pointer points to: its type, and which member of which struct it is.
    Behind {
        ty: Option<Type>,
        member: Option<(StructId, String)>,
    },
}

/// One access, or one call with all that it does.
#[derive(Clone, Default, Debug)]
pub(super) struct Effects {
    pub(super) reads: Vec<Memory>,
    pub(super) writes: Vec<Memory>,
    /// Locks, fences, threads: others notice when.
    pub(super) synchronises: bool,
    /// The run may end or fail here.
    pub(super) stops: bool,
    /// A function is called: it is not interleaved with its neighbours.
    pub(super) is_call: bool,
}

impl Effects {
    fn access(memory: Memory, writes: bool) -> Self {
        let mut effects = Self::default();
        if writes {
            effects.writes.push(memory);
        } else {
            effects.reads.push(memory);
        }
        effects
    }

    /// Adds what another does.
    pub(super) fn join(&mut self, other: &Self) {
        self.reads.extend(other.reads.iter().cloned());
        self.writes.extend(other.writes.iter().cloned());
        self.synchronises |= other.synchronises;
        self.stops |= other.stops;
        self.is_call |= other.is_call;
    }

    /// Whether one writes what the other reads or writes.
    pub(super) fn conflicts(&self, other: &Self, code: &Code<'_, '_>) -> bool {
        let meet = |a: &[Memory], b: &[Memory]| {
            a.iter().any(|m| b.iter().any(|n| may_overlap(m, n, code)))
        };
        meet(&self.writes, &other.reads)
            || meet(&self.writes, &other.writes)
            || meet(&self.reads, &other.writes)
    }

    /// The variable that both certainly access, one of them to write it.
    pub(super) fn certain_conflict(&self, other: &Self) -> Option<String> {
        let meet = |a: &[Memory], b: &[Memory]| {
            let found = a.iter().find(|m| b.iter().any(|n| is_same(m, n)));
            found.map(Memory::name)
        };
        meet(&self.writes, &other.reads)
            .or_else(|| meet(&self.writes, &other.writes))
            .or_else(|| meet(&self.reads, &other.writes))
    }
}

impl Memory {
    fn name(&self) -> String {
        match self {
            Self::Part { object, path, .. } => format!("{}{path}", object.name),
            Self::Behind { .. } => "*".to_owned(),
        }
    }

    /// The member `name` of it.
    fn member(self, id: Option<StructId>, name: &str, ty: Option<Type>) -> Self {
        match self {
            Self::Part {
                object,
                path,
                index,
            } => Self::Part {
                object,
                path: format!("{path}.{name}"),
                index,
            },
            Self::Behind { member, .. } => Self::Behind {
                ty,
                member: member.or_else(|| Some((id?, name.to_owned()))),
            },
        }
    }
}

/// Whether two pieces are certainly one scalar.
fn is_same(a: &Memory, b: &Memory) -> bool {
    let (
        Memory::Part {
            object: o,
            path: p,
            index: i,
        },
        Memory::Part {
            object: q,
            path: r,
            index: j,
        },
    ) = (a, b)
    else {
        return false;
    };
    let is_leaf = o
        .leaves
        .iter()
        .any(|l| l.path == *p && l.dims.len() == i.len());
    Rc::ptr_eq(o, q) && p == r && i == j && i.iter().all(Option::is_some) && is_leaf
}

fn may_overlap(a: &Memory, b: &Memory, code: &Code<'_, '_>) -> bool {
    match (a, b) {
        (
            Memory::Part {
                object: o,
                path: p,
                index: i,
            },
            Memory::Part {
                object: q,
                path: r,
                index: j,
            },
        ) => {
            let apart =
                |(m, n): (&Option<i128>, &Option<i128>)| m.is_some() && n.is_some() && m != n;
            Rc::ptr_eq(o, q) && (is_prefix(p, r) || is_prefix(r, p)) && !i.iter().zip(j).any(apart)
        }
        (Memory::Part { object, path, .. }, Memory::Behind { ty, .. })
        | (Memory::Behind { ty, .. }, Memory::Part { object, path, .. }) => {
            let is_target = object.taken || object.owner.is_some();
            is_target && leaves(object, path).any(|k| fits(&object.leaves[k].ty, ty.as_ref()))
        }
        (Memory::Behind { ty: s, member: m }, Memory::Behind { ty: t, member: n }) => {
            if let (Some((a, m)), Some((b, n))) = (m, n)
                && a == b
                && m != n
            {
                return code.cx.layouts.has_overlap(&Type::Struct(*a));
            }
            match (s, t) {
                (Some(s), Some(t)) => fits(s, Some(t)) || !s.is_scalar(),
                _ => true,
            }
        }
    }
}

/// Whether memory of a type may be accessed through a pointer to `ty`.
fn fits(held: &Type, ty: Option<&Type>) -> bool {
    let touches = |ty| compatible(held, ty) || part_width(held, ty).is_some();
    ty.is_none_or(|ty| !ty.is_scalar() || touches(ty))
}

fn is_prefix(short: &str, long: &str) -> bool {
    long.strip_prefix(short)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The leaves of an object below a path.
fn leaves<'o>(object: &'o Object, path: &'o str) -> impl Iterator<Item = usize> + 'o {
    let below = move |k: &usize| is_prefix(path, &object.leaves[*k].path);
    (0..object.leaves.len()).filter(below)
}

impl<'a> Code<'_, 'a> {
    /// Whether other threads can tell when this happens.
    pub(super) fn is_contended(&self, effects: &Effects) -> bool {
        let found = &self.cx.previous;
        let alone = found.accesses.len() <= 1 && !self.is_any && self.cx.mpi.is_none();
        if alone {
            return false;
        }
        let reads = effects.reads.iter().any(|m| self.is_shared(m, false));
        reads || effects.synchronises || effects.writes.iter().any(|m| self.is_shared(m, true))
    }

    /// Whether others write the memory, or access it at all if this writes it.
    fn is_shared(&self, memory: &Memory, writes: bool) -> bool {
        let mut vars: BTreeSet<GlobalId> = BTreeSet::new();
        let mut take = |object: &Object, path: &str, ty: Option<&Type>| {
            for k in leaves(object, path) {
                if let (Cells::Shared(var), true) =
                    (&object.cells[k], fits(&object.leaves[k].ty, ty))
                {
                    vars.insert(*var);
                }
            }
        };
        match memory {
            Memory::Part { object, path, .. } => take(object, path, None),
            Memory::Behind { ty, .. } => {
                for object in self.cx.targets(None, None, self.thread) {
                    take(&object, "", ty.as_ref());
                }
            }
        }
        let all = self.cx.previous.accesses.iter().enumerate();
        let mut others = all.filter(|(k, _)| *k != self.thread || self.is_any);
        let network = &self.cx.previous.network;
        vars.iter().any(|v| network.contains(v))
            || others.any(|(_, a)| {
                let is_it = |v: &GlobalId| a.stores.contains(v) || writes && a.loads.contains(v);
                vars.iter().any(is_it)
            })
    }

    /// What an expression does, access by access and call by call.
    pub(super) fn effects(&mut self, e: &Expr) -> Vec<Effects> {
        let mut visitor = Visitor::new(self, None);
        visitor.expr(e);
        visitor.parts
    }

    /// What a call does, apart from evaluating its arguments.
    pub(super) fn call_effects(&mut self, callee: &Expr, args: &[Expr]) -> Effects {
        let mut visitor = Visitor::new(self, None);
        visitor.callee(callee, args);
        let mut all = Effects::default();
        visitor.parts.iter().for_each(|p| all.join(p));
        all.is_call = true;
        all
    }

    /// The memory that a place is.
    pub(super) fn memory_of(&mut self, e: &Expr) -> Option<Memory> {
        Visitor::new(self, None).place(e)
    }

    /// The type of a place, or of a value where that is easily told.
    pub(super) fn type_of(&mut self, e: &Expr) -> Option<Type> {
        Visitor::new(self, None).type_of(e)
    }

    /// What a function does itself, and the functions that it calls.
    fn function_effects(&mut self, f: &'a Function) -> Rc<FunctionEffects> {
        if let Some(known) = self.functions.get(&f.name) {
            return known.clone();
        }
        let mut visitor = Visitor::new(self, Some(f));
        let params = f.params.iter();
        let params = params.filter_map(|(n, ty)| Some((n.clone()?, ty.decayed())));
        visitor.scopes.push(params.collect());
        f.body.iter().for_each(|s| visitor.stmt(s));
        let called = std::mem::take(&mut visitor.called);
        let mut all = Effects::default();
        visitor.parts.iter().for_each(|p| all.join(p));
        let known = Rc::new((all, called));
        self.functions.insert(f.name.clone(), known.clone());
        known
    }
}
