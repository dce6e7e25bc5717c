//! The *events* of an expression: loads, stores, calls, and parts with an order of their
//! own, each with those that C puts before it [C11, 6.5].

use std::collections::HashSet;

use palisade_program::Span;

use super::super::code::Code;
use super::super::effects::Effects;
use super::Key;
use crate::c::ast::{Binary, Expr, ExprKind, Unary};
use crate::c::types::Type;

/// What happens in an event.
#[derive(Clone, Copy)]
pub(super) enum Kind<'e> {
    /// The value is computed: a load, a call, a part with an order of its own.
    Value(&'e Expr),
    /// The value of an assignment is known; nothing happens yet.
    Result(&'e Expr),
    /// The store of that assignment.
    Store(&'e Expr),
}

pub(super) struct Event<'e> {
    pub(super) kind: Kind<'e>,
    /// Events that come before.
    pub(super) after: Vec<usize>,
    pub(super) effects: Effects,
    /// The accesses of a part with an order of its own, one by one.
    pub(super) pieces: Vec<Effects>,
    pub(super) span: Span,
}

/// The events of an expression, each behind those that it needs.
#[derive(Default)]
pub(super) struct Events<'e> {
    pub(super) all: Vec<Event<'e>>,
    pub(super) parts: HashSet<Key>,
}

impl Code<'_, '_> {
    /// Notes the events of a value; returns those that it needs.
    pub(super) fn collect_value<'e>(&mut self, e: &'e Expr, events: &mut Events<'e>) -> Vec<usize> {
        events.parts.insert(e);
        match &e.kind {
            ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::UnknownSize => {
                Vec::new()
            }
            ExprKind::Ident(_) | ExprKind::Member(..) | ExprKind::Arrow(..) => {
                self.collect_load(e, events)
            }
            ExprKind::Index(..) | ExprKind::Unary(Unary::Deref, _) => self.collect_load(e, events),
            ExprKind::Unary(Unary::Plus | Unary::Minus | Unary::Not | Unary::BitNot, a)
            | ExprKind::Cast(_, a) => self.collect_value(a, events),
            ExprKind::Unary(Unary::Address, a) => self.collect_place(a, events),
            ExprKind::Binary(Binary::And | Binary::Or, ..) | ExprKind::Cond(..) => {
                self.collect_whole(e, events)
            }
            ExprKind::Comma(..) | ExprKind::Statements(_) | ExprKind::Compound(..) => {
                self.collect_whole(e, events)
            }
            ExprKind::Binary(_, a, b) => {
                let mut needs = self.collect_value(a, events);
                needs.extend(self.collect_value(b, events));
                needs
            }
            ExprKind::Assign(op, a, b) => {
                let ty = self.type_of(a);
                let is_scalar = ty.as_ref().is_some_and(Type::is_scalar);
                let is_atomic = ty.is_some_and(|ty| ty.is_atomic());
                if !is_scalar || (is_atomic && op.is_some()) {
                    return self.collect_at_once(e, a, Some(b), events);
                }
                let start = events.all.len();
                let value = if is_allocation(b) {
                    // What is allocated depends on what it is assigned to.
                    let mut parts = Events::default();
                    self.collect_value(b, &mut parts);
                    events.parts.extend(parts.parts);
                    Vec::new()
                } else {
                    self.collect_value(b, events)
                };
                self.collect_store(e, op.is_some(), (start, value), events)
            }
            ExprKind::Unary(
                Unary::PreIncrement
                | Unary::PreDecrement
                | Unary::PostIncrement
                | Unary::PostDecrement,
                a,
            ) => {
                let ty = self.type_of(a);
                if ty.is_none_or(|ty| ty.is_atomic() || !ty.is_scalar()) {
                    return self.collect_at_once(e, a, None, events);
                }
                let start = events.all.len();
                self.collect_store(e, true, (start, Vec::new()), events)
            }
            ExprKind::Call(callee, args) => {
                let start = events.all.len();
                let is_name = matches!(&callee.kind, ExprKind::Ident(name)
                    if self.lookup(name).ok().flatten().is_none());
                if !is_name {
                    self.collect_value(callee, events);
                }
                for a in args {
                    self.collect_value(a, events);
                }
                let effects = self.call_effects(callee, args);
                let needs = (start..events.all.len()).collect();
                vec![events.push(Kind::Value(e), needs, effects)]
            }
        }
    }

    /// A load, unless it is an address only.
    fn collect_load<'e>(&mut self, e: &'e Expr, events: &mut Events<'e>) -> Vec<usize> {
        let needs = self.collect_place(e, events);
        let is_load = match self.type_of(e) {
            Some(ty) => match ty.plain() {
                Type::Array(..) | Type::VariableArray(_) | Type::Function(_) => false,
                Type::Void | Type::Opaque(_) => false,
                Type::Bool | Type::Int { .. } | Type::Bits(_) => true,
                Type::Pointer(_) | Type::Other(_) => true,
                Type::Struct(_) | Type::Atomic(_) => true,
            },
            None => !matches!(e.kind, ExprKind::Ident(_)),
        };
        let (Some(memory), true) = (self.memory_of(e), is_load) else {
            return needs;
        };
        let effects = Effects {
            reads: vec![memory],
            ..Effects::default()
        };
        vec![events.push(Kind::Value(e), needs, effects)]
    }

    /// A part with an order of its own: `&&`, `?:`, statements.
    fn collect_whole<'e>(&mut self, e: &'e Expr, events: &mut Events<'e>) -> Vec<usize> {
        let pieces = self.effects(e);
        let mut effects = Effects::default();
        for piece in &pieces {
            effects.join(piece);
        }
        effects.is_call = false;
        let event = events.push(Kind::Value(e), Vec::new(), effects);
        events.all[event].pieces = pieces;
        vec![event]
    }

    /// An assignment that is one event: of a struct, or a read-modify-write.
    fn collect_at_once<'e>(
        &mut self,
        e: &'e Expr,
        a: &'e Expr,
        b: Option<&'e Expr>,
        events: &mut Events<'e>,
    ) -> Vec<usize> {
        let mut needs = self.collect_place(a, events);
        let ty = self.type_of(a);
        let mut effects = Effects {
            synchronises: ty.is_none_or(|ty| ty.is_atomic()),
            ..Effects::default()
        };
        if let Some(b) = b {
            needs.extend(self.collect_value(b, events));
        }
        let memory = self.memory_of(a);
        effects.reads.extend(memory.clone());
        effects.writes.extend(memory);
        vec![events.push(Kind::Value(e), needs, effects)]
    }

    /// The load, the value and the store of an assignment, whose other operand's events
    /// start at `value`.
    fn collect_store<'e>(
        &mut self,
        e: &'e Expr,
        loads: bool,
        value: (usize, Vec<usize>),
        events: &mut Events<'e>,
    ) -> Vec<usize> {
        let a = target(e);
        events.parts.insert(a);
        let (start, mut needs) = value;
        let calls = start..events.all.len();
        let place = self.collect_place(a, events);
        let memory = self.memory_of(a);
        if loads {
            // Calls in the other operand come before [C11, 6.5.16.2].
            let is_call = |k: &usize| events.all[*k].effects.is_call;
            let mut first: Vec<usize> = calls.filter(is_call).collect();
            first.extend(&place);
            let effects = Effects {
                reads: memory.iter().cloned().collect(),
                ..Effects::default()
            };
            needs.push(events.push(Kind::Value(a), first, effects));
        }
        let result = events.push(Kind::Result(e), needs, Effects::default());
        let effects = Effects {
            writes: memory.into_iter().collect(),
            synchronises: self.type_of(a).is_some_and(|ty| ty.is_atomic()),
            ..Effects::default()
        };
        let mut needs = place;
        needs.push(result);
        events.push(Kind::Store(e), needs, effects);
        vec![result]
    }

    fn collect_place<'e>(&mut self, e: &'e Expr, events: &mut Events<'e>) -> Vec<usize> {
        events.parts.insert(e);
        match &e.kind {
            ExprKind::Ident(_) | ExprKind::Str(_) => Vec::new(),
            ExprKind::Unary(Unary::Deref, a) | ExprKind::Arrow(a, _) => {
                self.collect_value(a, events)
            }
            ExprKind::Member(a, _) | ExprKind::Cast(_, a) => self.collect_place(a, events),
            ExprKind::Index(a, i) => {
                let is_array = matches!(
                    self.type_of(a).as_ref().map(Type::plain),
                    Some(Type::Array(..))
                );
                let mut needs = if is_array {
                    self.collect_place(a, events)
                } else {
                    self.collect_value(a, events)
                };
                needs.extend(self.collect_value(i, events));
                needs
            }
            ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::UnknownSize => Vec::new(),
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Assign(..) => {
                self.collect_value(e, events)
            }
            ExprKind::Cond(..) | ExprKind::Call(..) | ExprKind::Comma(..) => {
                self.collect_value(e, events)
            }
            ExprKind::Statements(_) | ExprKind::Compound(..) => self.collect_value(e, events),
        }
    }
}

impl<'e> Events<'e> {
    fn push(&mut self, kind: Kind<'e>, after: Vec<usize>, effects: Effects) -> usize {
        let (Kind::Value(e) | Kind::Result(e) | Kind::Store(e)) = kind;
        self.all.push(Event {
            kind,
            after,
            effects,
            pieces: Vec::new(),
            span: e.span,
        });
        self.all.len() - 1
    }
}

/// The left side of an assignment, the operand of `++`.
pub(super) fn target(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Assign(_, a, _) | ExprKind::Unary(_, a) => a,
        _ => e,
    }
}

fn is_allocation(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Cast(_, a) => is_allocation(a),
        ExprKind::Call(f, _) => {
            matches!(&f.kind, ExprKind::Ident(name) if matches!(name.as_str(), "malloc" | "calloc"))
        }
        _ => false,
    }
}
