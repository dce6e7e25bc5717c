//! *Kinds of values*: C has integers where a data structure has data, numbers and truth values. Variables, members, parameters and results
//! between which values are copied or compared are of one kind (a partition, by union and find):
//!
//! - *data*, if an argument or result of an operation is among them that the specification calls data. Nothing may be
//!   computed with it: that is data independence;
//! - *truth*, if what is stored is the outcome of a comparison or of an operator such as `!`, or 0 or 1, and nothing is computed with it;
//! - a *number* else.

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::Span;

use super::operation::{Atomic, Expected, atomic, compares, uncast};
use super::rename::Renamed;
use super::unit::Unit;
use crate::c::ast::{Binary, Declaration, Expr, ExprKind, Initializer, Stmt, StmtKind, Unary};
use crate::c::parser::constant;
use crate::c::types::{StructId, Type};

/// Something that has values. A pointer to values has those that it points to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Slot {
    Local(String, String),
    Result(String),
    Global(String),
    Member(StructId, String),
}

/// A kind of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Data,
    Number,
    Truth,
}

/// What is known of slots of one kind.
#[derive(Clone, Default, Debug)]
struct Facts {
    data: bool,
    truth: bool,
    /// Where something is computed with a value.
    computed: Option<Span>,
    /// Whether it may be below 0: something is subtracted, or callers give it.
    negative: bool,
    constants: BTreeSet<i128>,
}

/// The kinds of all slots.
#[derive(Default)]
pub(super) struct Kinds {
    slots: BTreeMap<Slot, usize>,
    parents: Vec<usize>,
    facts: Vec<Facts>,
}

impl Kinds {
    /// The kinds of a program's slots; `data` and `truth` are said by the specification.
    /// Numbers among `given` may be below 0.
    pub(super) fn of(unit: &Unit<'_>, data: &[Slot], truth: &[Slot], given: &[Slot]) -> Self {
        let mut kinds = Self::default();
        for slot in given {
            let class = kinds.class(slot.clone());
            kinds.facts[class].negative = true;
        }
        for slot in data {
            let class = kinds.class(slot.clone());
            kinds.facts[class].data = true;
        }
        for slot in truth {
            let class = kinds.class(slot.clone());
            kinds.facts[class].truth = true;
        }
        for (name, global) in &unit.globals {
            kinds.declared(unit, Slot::Global(name.clone()), &global.ty);
        }
        for renamed in unit.functions.values() {
            let mut walk = Walk {
                unit,
                renamed,
                kinds: &mut kinds,
            };
            walk.function();
        }
        kinds
    }

    /// The kind of a slot, and the constants that it is given or compared with.
    pub(super) fn kind(&self, slot: &Slot) -> Kind {
        let Some(class) = self.slots.get(slot) else {
            return Kind::Number;
        };
        let facts = &self.facts[self.root(*class)];
        let only_truth = facts.constants.iter().all(|c| matches!(c, 0 | 1));
        if facts.data {
            Kind::Data
        } else if facts.truth && facts.computed.is_none() && only_truth {
            Kind::Truth
        } else {
            Kind::Number
        }
    }

    /// Whether all numbers of a slot are at least 0, since they come from constants and sums.
    pub(super) fn never_negative(&self, slot: &Slot) -> bool {
        let Some(class) = self.slots.get(slot) else {
            return false;
        };
        let facts = &self.facts[self.root(*class)];
        !facts.negative && facts.constants.iter().all(|c| *c >= 0)
    }

    /// Where something is computed with data.
    pub(super) fn computed_data(&self) -> Vec<Span> {
        let facts = self.facts.iter().enumerate();
        let roots = facts.filter(|(index, _)| self.parents[*index] == *index);
        let data = roots.filter(|(_, facts)| facts.data);
        data.filter_map(|(_, facts)| facts.computed).collect()
    }

    /// The constants among data.
    pub(super) fn constants(&self) -> BTreeSet<i128> {
        let facts = self.facts.iter().enumerate();
        let roots = facts.filter(|(index, _)| self.parents[*index] == *index);
        let data = roots.filter(|(_, facts)| facts.data);
        data.flat_map(|(_, facts)| facts.constants.iter().copied())
            .collect()
    }

    fn declared(&mut self, unit: &Unit<'_>, slot: Slot, ty: &Type) {
        if holds_values(ty) {
            let class = self.class(slot);
            self.facts[class].data |= innermost(ty) == &Type::Void;
            self.facts[class].truth |= innermost(ty) == &Type::Bool;
        }
        if let Type::Struct(id) = innermost(ty) {
            self.members(unit, *id, &mut BTreeSet::new());
        }
    }

    fn members(&mut self, unit: &Unit<'_>, id: StructId, seen: &mut BTreeSet<StructId>) {
        if !seen.insert(id) {
            return;
        }
        for (name, ty) in unit.members(id) {
            if holds_values(&ty) {
                let class = self.class(Slot::Member(id, name));
                self.facts[class].data |= innermost(&ty) == &Type::Void;
                self.facts[class].truth |= innermost(&ty) == &Type::Bool;
            } else if let Type::Struct(inner) = innermost(&ty) {
                self.members(unit, *inner, seen);
            }
        }
    }

    fn class(&mut self, slot: Slot) -> usize {
        if let Some(class) = self.slots.get(&slot) {
            return self.root(*class);
        }
        let class = self.fresh();
        self.slots.insert(slot, class);
        class
    }

    fn fresh(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.facts.push(Facts::default());
        self.parents.len() - 1
    }

    fn root(&self, mut class: usize) -> usize {
        while self.parents[class] != class {
            class = self.parents[class];
        }
        class
    }

    fn join(&mut self, a: Option<usize>, b: Option<usize>) -> Option<usize> {
        let (Some(a), Some(b)) = (a, b) else {
            return a.or(b);
        };
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parents[b] = a;
            let other = std::mem::take(&mut self.facts[b]);
            let facts = &mut self.facts[a];
            facts.data |= other.data;
            facts.truth |= other.truth;
            facts.computed = facts.computed.or(other.computed);
            facts.negative |= other.negative;
            facts.constants.extend(other.constants);
        }
        Some(a)
    }
}

/// The type behind `_Atomic`, arrays and pointers.
pub(super) fn innermost(ty: &Type) -> &Type {
    match ty.plain() {
        Type::Pointer(to) | Type::Array(to, _) | Type::VariableArray(to) => innermost(to),
        other => other,
    }
}

/// Whether it has values: integers, truth values, `void *`, arrays of them and pointers to them.
fn holds_values(ty: &Type) -> bool {
    match innermost(ty) {
        Type::Bool | Type::Int { .. } => true,
        Type::Void => ty.is_pointer(),
        _ => false,
    }
}

/// A walk over one function.
struct Walk<'w, 'a> {
    unit: &'w Unit<'a>,
    renamed: &'w Renamed,
    kinds: &'w mut Kinds,
}

impl Walk<'_, '_> {
    fn function(&mut self) {
        let function = &self.renamed.function;
        let name = function.name.clone();
        for (local, ty) in &self.renamed.locals {
            let slot = Slot::Local(name.clone(), local.clone());
            self.kinds.declared(self.unit, slot, ty);
        }
        self.kinds
            .declared(self.unit, Slot::Result(name), &function.result);
        for s in &function.body {
            self.stmt(s);
        }
    }

    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Declare(all) => all.iter().for_each(|d| self.declaration(d)),
            StmtKind::Expr(e) => {
                self.class(e);
            }
            StmtKind::Block(body) => body.iter().for_each(|s| self.stmt(s)),
            StmtKind::If(c, then, other) => {
                self.class(c);
                self.stmt(then);
                if let Some(other) = other {
                    self.stmt(other);
                }
            }
            StmtKind::While(c, body) | StmtKind::DoWhile(body, c) => {
                self.class(c);
                self.stmt(body);
            }
            StmtKind::Switch(e, body) => {
                let class = self.class(e);
                self.compute(class, e.span);
                self.stmt(body);
            }
            StmtKind::For(start, c, step, body) => {
                if let Some(start) = start {
                    self.stmt(start);
                }
                for e in c.iter().chain(step) {
                    self.class(e);
                }
                self.stmt(body);
            }
            StmtKind::Case(_, _, body) | StmtKind::Default(body) | StmtKind::Label(_, body) => {
                self.stmt(body);
            }
            StmtKind::Return(Some(e)) => {
                let class = self.class(e);
                if holds_values(&self.renamed.function.result) {
                    let slot = Slot::Result(self.renamed.function.name.clone());
                    let result = self.kinds.class(slot);
                    self.kinds.join(Some(result), class);
                }
            }
            StmtKind::Empty
            | StmtKind::Goto(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Asm(_)
            | StmtKind::Refused(_)
            | StmtKind::Gap => {}
        }
    }

    fn declaration(&mut self, d: &Declaration) {
        if let Some(Initializer::Value(e)) = &d.init {
            let class = self.class(e);
            if holds_values(&d.ty) {
                let own = self.variable(&d.name);
                self.kinds.join(own, class);
            }
        }
    }

    fn variable(&mut self, name: &str) -> Option<usize> {
        let function = self.renamed.function.name.clone();
        if let Some(ty) = self.renamed.locals.get(name) {
            let slot = Slot::Local(function, name.to_owned());
            return holds_values(ty).then(|| self.kinds.class(slot));
        }
        let global = self.unit.globals.get(name)?;
        holds_values(&global.ty).then(|| self.kinds.class(Slot::Global(name.to_owned())))
    }

    fn member(&mut self, of: Option<Type>, name: &str) -> Option<usize> {
        let of = of?;
        let Type::Struct(id) = innermost(&of) else {
            return None;
        };
        let (id, ty) = self.unit.member(*id, name)?;
        holds_values(&ty).then(|| self.kinds.class(Slot::Member(id, name.to_owned())))
    }

    fn compute(&mut self, class: Option<usize>, span: Span) {
        if let Some(class) = class {
            let class = self.kinds.root(class);
            self.kinds.facts[class].computed.get_or_insert(span);
        }
    }

    fn negative(&mut self, class: Option<usize>) {
        if let Some(class) = class {
            let class = self.kinds.root(class);
            self.kinds.facts[class].negative = true;
        }
    }

    fn truth(&mut self) -> usize {
        let class = self.kinds.fresh();
        self.kinds.facts[class].truth = true;
        class
    }

    fn number(&mut self, span: Span) -> usize {
        let class = self.kinds.fresh();
        self.compute(Some(class), span);
        class
    }

    fn same(&mut self, a: &Expr, b: &Expr) -> Option<usize> {
        let (a, b) = (self.class(a), self.class(b));
        self.kinds.join(a, b)
    }

    /// The class of an expression's values; `None` for pointers to nodes and the like.
    fn class(&mut self, e: &Expr) -> Option<usize> {
        if let Some(value) = constant(uncast(e)) {
            let class = self.kinds.fresh();
            self.kinds.facts[class].constants.insert(value);
            return Some(class);
        }
        match &e.kind {
            ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::UnknownSize => {
                None
            }
            ExprKind::Ident(name) => self.variable(name),
            ExprKind::Cast(_, a) => self.class(a),
            ExprKind::Unary(op, a) => {
                let class = self.class(a);
                match op {
                    Unary::Plus | Unary::Deref | Unary::Address => class,
                    Unary::Not => Some(self.truth()),
                    Unary::Minus | Unary::BitNot => {
                        self.compute(class, e.span);
                        let class = Some(self.number(e.span));
                        self.negative(class);
                        class
                    }
                    Unary::PreIncrement | Unary::PostIncrement => {
                        self.compute(class, e.span);
                        class
                    }
                    Unary::PreDecrement | Unary::PostDecrement => {
                        self.compute(class, e.span);
                        self.negative(class);
                        class
                    }
                }
            }
            ExprKind::Binary(Binary::And | Binary::Or, a, b) => {
                self.class(a);
                self.class(b);
                Some(self.truth())
            }
            ExprKind::Binary(op, a, b) if compares(*op) => {
                self.same(a, b);
                Some(self.truth())
            }
            ExprKind::Binary(op, a, b) => {
                let class = Some(self.number(e.span));
                let (a, b) = (self.class(a), self.class(b));
                // Remainders and the like are not of the kind of what they are computed from.
                if matches!(op, Binary::Add | Binary::Sub) {
                    let class = self.kinds.join(class, a);
                    let class = self.kinds.join(class, b);
                    self.negative(class.filter(|_| *op == Binary::Sub));
                    return class;
                }
                self.compute(a, e.span);
                self.compute(b, e.span);
                class
            }
            ExprKind::Assign(None, a, b) => self.same(a, b),
            ExprKind::Assign(Some(op), a, b) => {
                let class = self.same(a, b);
                self.compute(class, e.span);
                self.negative(class.filter(|_| *op == Binary::Sub));
                class
            }
            ExprKind::Cond(c, a, b) => {
                self.class(c);
                self.same(a.as_deref().unwrap_or(c), b)
            }
            ExprKind::Comma(a, b) => {
                self.class(a);
                self.class(b)
            }
            ExprKind::Index(a, b) => {
                let index = self.class(b);
                self.compute(index, b.span);
                self.class(a)
            }
            ExprKind::Member(a, name) | ExprKind::Arrow(a, name) => {
                self.class(a);
                let of = self.unit.type_of(self.renamed, a);
                self.member(of, name)
            }
            ExprKind::Call(f, args) => self.call(f, args, e.span),
            ExprKind::Statements(body) => {
                for s in body {
                    self.stmt(s);
                }
                match body.last().map(|s| &s.kind) {
                    Some(StmtKind::Expr(e)) => self.class(e),
                    _ => None,
                }
            }
            ExprKind::Compound(..) => None,
        }
    }

    fn call(&mut self, f: &Expr, args: &[Expr], span: Span) -> Option<usize> {
        let ExprKind::Ident(name) = &f.kind else {
            return None;
        };
        if let Some((at, operation)) = atomic(name, args) {
            let at = self.class(at);
            return match operation {
                Atomic::Load => at,
                Atomic::Store(value, _) | Atomic::Exchange(value) | Atomic::Initialise(value) => {
                    let value = self.class(value);
                    self.kinds.join(at, value)
                }
                Atomic::Add { by, minus, .. } => {
                    let by = self.class(by);
                    let class = self.kinds.join(at, by);
                    self.compute(class, span);
                    self.negative(class.filter(|_| minus));
                    class
                }
                Atomic::Other => {
                    self.compute(at, span);
                    at
                }
                Atomic::Cas(cas) => {
                    let new = self.class(cas.new);
                    let (Expected::Variable(expected)
                    | Expected::Value(expected)
                    | Expected::Found(expected)) = cas.expected;
                    let expected_class = self.class(expected);
                    let class = self.kinds.join(at, new);
                    let class = self.kinds.join(class, expected_class);
                    match cas.expected {
                        Expected::Found(_) => class,
                        Expected::Variable(_) | Expected::Value(_) => Some(self.truth()),
                    }
                }
                Atomic::TestAndSet => {
                    if let Some(class) = at {
                        let class = self.kinds.root(class);
                        self.kinds.facts[class].truth = true;
                    }
                    Some(self.truth())
                }
                Atomic::Clear(_) => None,
            };
        }
        let classes: Vec<Option<usize>> = args.iter().map(|a| self.class(a)).collect();
        let called = self.unit.functions.get(name.as_str())?;
        for (parameter, class) in called.parameters.iter().zip(classes) {
            if called.locals.get(parameter).is_some_and(holds_values) {
                let slot = Slot::Local(name.clone(), parameter.clone());
                let own = self.kinds.class(slot);
                self.kinds.join(Some(own), class);
            }
        }
        holds_values(&called.function.result).then(|| self.kinds.class(Slot::Result(name.clone())))
    }
}
