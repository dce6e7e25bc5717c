//! *Expressions*: values, conditions and places. What an expression does besides is done by statements before it.
//!
//! C leaves open which operand is evaluated first. Where both read shared memory, both orders are runs of the result; where one does
//! more than that, the expression is refused.

use std::collections::BTreeSet;

use palisade_program::Span;

use super::body::{Body, Meaning, each_stmt};
use super::kinds::{Kind, Slot};
use super::operation::{addressed, atomic, compares, uncast};
use super::reader::{Root, Sort, joined, named, number, path_of};
use super::{Read, refused};
use crate::c::ast::{Binary, Expr, ExprKind, Function, Initializer, Stmt, StmtKind, Unary};
use crate::c::parser::constant;
use crate::c::types::{StructId, Type};
use crate::heap::ast as heap;

/// Where something is in memory, or among locals.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    base: Base,
    path: Vec<String>,
    index: Option<heap::Expr>,
    pub(super) ty: Type,
    pub(super) slot: Option<Slot>,
}

#[derive(Clone, Debug)]
enum Base {
    Shared(Root),
    /// What a pointer to a node leads to.
    Node(StructId, heap::Path),
    Local(String, Sort),
}

/// Whether a function of the library returns new memory.
pub(super) fn is_allocation(name: &str) -> bool {
    matches!(name, "malloc" | "calloc" | "aligned_alloc" | "memalign")
}

/// Locals that only ever hold new memory: they are not null.
pub(super) fn allocated(function: &Function) -> BTreeSet<String> {
    let is_new = |e: &Expr| match &uncast(e).kind {
        ExprKind::Call(f, _) => matches!(&f.kind, ExprKind::Ident(name) if is_allocation(name)),
        _ => false,
    };
    let (mut new, mut other) = (BTreeSet::new(), BTreeSet::new());
    for s in &function.body {
        each_stmt(s, &mut |s: &Stmt| {
            let StmtKind::Declare(all) = &s.kind else {
                return;
            };
            for d in all {
                if let Some(Initializer::Value(e)) = &d.init {
                    let set = if is_new(e) { &mut new } else { &mut other };
                    set.insert(d.name.clone());
                }
            }
        });
        crate::c::lower::each_in_stmt(s, &mut |e| match &e.kind {
            ExprKind::Assign(_, to, value) => {
                if let ExprKind::Ident(name) = &to.kind {
                    let set = if is_new(value) { &mut new } else { &mut other };
                    set.insert(name.clone());
                }
            }
            ExprKind::Unary(Unary::Address, a) => {
                if let ExprKind::Ident(name) = &a.kind {
                    other.insert(name.clone());
                }
            }
            _ => {}
        });
    }
    new.difference(&other).cloned().collect()
}

fn expr(kind: heap::ExprKind, span: Span) -> heap::Expr {
    heap::Expr { kind, span }
}

fn not(e: heap::Expr) -> heap::Expr {
    let span = e.span;
    match e.kind {
        heap::ExprKind::Bool(value) => expr(heap::ExprKind::Bool(!value), span),
        _ => expr(heap::ExprKind::Not(Box::new(e)), span),
    }
}

impl Body<'_, '_> {
    pub(super) fn type_of(&self, e: &Expr) -> Option<Type> {
        self.reader.unit.type_of(&self.renamed, e)
    }

    /// The slot whose values an expression has.
    fn slot_of(&self, e: &Expr) -> Option<Slot> {
        match &e.kind {
            ExprKind::Ident(name) if self.renamed.locals.contains_key(name) => Some(Slot::Local(
                self.renamed.function.name.clone(),
                name.clone(),
            )),
            ExprKind::Ident(name) => Some(Slot::Global(name.clone())),
            ExprKind::Member(a, name) | ExprKind::Arrow(a, name) => {
                let of = self.type_of(a)?;
                match super::kinds::innermost(&of) {
                    Type::Struct(id) => Some(Slot::Member(*id, name.clone())),
                    _ => None,
                }
            }
            ExprKind::Cast(_, a) | ExprKind::Index(a, _) | ExprKind::Assign(_, a, _) => {
                self.slot_of(a)
            }
            ExprKind::Unary(Unary::Deref | Unary::Address | Unary::Plus, a) => self.slot_of(a),
            ExprKind::Unary(
                Unary::PreIncrement
                | Unary::PreDecrement
                | Unary::PostIncrement
                | Unary::PostDecrement,
                a,
            ) => self.slot_of(a),
            ExprKind::Comma(_, b) => self.slot_of(b),
            ExprKind::Cond(_, Some(a), b) => self.slot_of(a).or_else(|| self.slot_of(b)),
            ExprKind::Call(f, args) => {
                let ExprKind::Ident(name) = &f.kind else {
                    return None;
                };
                match atomic(name, args) {
                    Some((at, _)) => self.slot_of(at),
                    None => Some(Slot::Result(name.clone())),
                }
            }
            _ => None,
        }
    }

    /// The sort of an expression's values; `None` for constants, which have any.
    pub(super) fn sort_of(&self, e: &Expr) -> Option<Sort> {
        match &e.kind {
            ExprKind::Int(..) => None,
            ExprKind::Cast(_, a) if matches!(uncast(a).kind, ExprKind::Int(..)) => None,
            // What a word is does not change by a cast, but for memory that is new.
            ExprKind::Cast(ty, a) => match self.sort_of(a) {
                Some(sort) if !Self::is_new(a) => Some(sort),
                _ => self.reader.sort(ty, None),
            },
            ExprKind::Unary(Unary::Not, _) => Some(Sort::Value(Kind::Truth)),
            ExprKind::Unary(Unary::Minus | Unary::BitNot, a) => {
                (!matches!(a.kind, ExprKind::Int(..))).then_some(Sort::Value(Kind::Number))
            }
            ExprKind::Binary(op, ..) if compares(*op) || matches!(op, Binary::And | Binary::Or) => {
                Some(Sort::Value(Kind::Truth))
            }
            ExprKind::Binary(..) => Some(Sort::Value(Kind::Number)),
            ExprKind::Call(f, args) => {
                let ExprKind::Ident(name) = &f.kind else {
                    return None;
                };
                let Some((at, operation)) = atomic(name, args) else {
                    let f = self.reader.unit.functions.get(name.as_str())?;
                    let slot = Slot::Result(name.clone());
                    return self.reader.sort(&f.function.result, Some(&slot));
                };
                self.atomic_sort(at, &operation)
            }
            ExprKind::Unary(Unary::Address, a) => {
                let to = self.type_of(a)?;
                self.reader.sort(&Type::pointer(to), None)
            }
            ExprKind::Cond(_, Some(a), b) => self.sort_of(a).or_else(|| self.sort_of(b)),
            _ => {
                let ty = self.type_of(e)?;
                self.reader.sort(&ty, self.slot_of(e).as_ref())
            }
        }
    }

    fn is_new(e: &Expr) -> bool {
        match &uncast(e).kind {
            ExprKind::Call(f, _) => matches!(&f.kind, ExprKind::Ident(name) if is_allocation(name)),
            _ => false,
        }
    }

    /// The sort of what a pointer expression leads to.
    pub(super) fn pointed_sort(&self, at: &Expr) -> Option<Sort> {
        let ty = match addressed(at) {
            Some(place) => self.type_of(place)?,
            None => self.type_of(at)?.pointee()?.clone(),
        };
        self.reader.sort(&ty, self.slot_of(at).as_ref())
    }

    // ---- places ----

    /// The place that a pointer expression leads to.
    pub(super) fn target(&mut self, at: &Expr) -> Read<Spot> {
        match addressed(at) {
            Some(place) => self.place(place),
            None => self.dereferenced(at),
        }
    }

    fn dereferenced(&mut self, at: &Expr) -> Read<Spot> {
        let at = uncast(at);
        let slot = self.slot_of(at);
        let ty = self.type_of(at).and_then(|ty| ty.pointee().cloned());
        let Some(ty) = ty else {
            return refused(
                at.span,
                "what this pointer leads to",
                "use pointers to nodes and members",
            );
        };
        if let ExprKind::Ident(name) = &at.kind {
            let spot = |base, path| Spot {
                base,
                path,
                index: None,
                ty: ty.clone(),
                slot: slot.clone(),
            };
            match self.meanings.get(name).cloned() {
                Some(Meaning::Shared(root, path)) => return Ok(spot(Base::Shared(root), path)),
                Some(Meaning::Member(local, id, path)) => {
                    return Ok(spot(Base::Node(id, path_of(&local, at.span)), path));
                }
                Some(Meaning::Pointed(local, sort)) => {
                    return Ok(spot(Base::Local(local, sort), Vec::new()));
                }
                Some(Meaning::Object | Meaning::Local(..)) | None => {}
            }
        }
        self.led_to(at, ty, slot)
    }

    /// What a pointer value leads to: the object, a node, an element.
    fn led_to(&mut self, at: &Expr, ty: Type, slot: Option<Slot>) -> Read<Spot> {
        let spot = |base, path, index| Spot {
            base,
            path,
            index,
            ty,
            slot,
        };
        match self.sort_of(at) {
            Some(Sort::Object) => {
                self.object_value(at)?;
                Ok(spot(Base::Shared(Root::Object), Vec::new(), None))
            }
            Some(sort @ Sort::Node(id)) => {
                let pointer = self.value(at, sort)?;
                let path = self.as_path(pointer, sort)?;
                Ok(spot(Base::Node(id, path), Vec::new(), None))
            }
            Some(sort @ Sort::Element(id)) => {
                let index = self.value(at, sort)?;
                let elements = self.reader.elements[&id].clone();
                Ok(spot(
                    Base::Shared(elements.root),
                    elements.path,
                    Some(index),
                ))
            }
            Some(Sort::Value(_) | Sort::Lock) | None => refused(
                at.span,
                "what this pointer leads to",
                "use pointers to nodes and members",
            ),
        }
    }

    /// A value as something that members can stand behind.
    fn as_path(&mut self, value: heap::Expr, sort: Sort) -> Read<heap::Path> {
        if let heap::ExprKind::Path(path) = value.kind {
            return Ok(path);
        }
        let span = value.span;
        let local = self.temporary(sort, span)?;
        self.assign(local.clone(), value, span);
        Ok(local)
    }

    pub(super) fn place(&mut self, e: &Expr) -> Read<Spot> {
        let slot = self.slot_of(e);
        let Some(ty) = self.type_of(e) else {
            return refused(e.span, "this place", "use variables and members");
        };
        match &e.kind {
            ExprKind::Ident(name) => match self.meanings.get(name).cloned() {
                Some(Meaning::Local(local, sort)) => Ok(Spot {
                    base: Base::Local(local, sort),
                    path: Vec::new(),
                    index: None,
                    ty,
                    slot,
                }),
                Some(_) => refused(
                    e.span,
                    "a pointer parameter as a value",
                    "use what it points to",
                ),
                None if matches!(ty.plain(), Type::Struct(id) if self.reader.objects.contains(id)) => {
                    Ok(Spot {
                        base: Base::Shared(Root::Object),
                        path: Vec::new(),
                        index: None,
                        ty,
                        slot,
                    })
                }
                None => {
                    let root = Root::Global(name.clone());
                    // A node that has a name.
                    if let (Type::Struct(id), Some(pointer)) =
                        (ty.plain(), self.reader.shared_name(&root, &[]))
                    {
                        let pointer = path_of(pointer, e.span);
                        return Ok(Spot {
                            base: Base::Node(*id, pointer),
                            path: Vec::new(),
                            index: None,
                            ty,
                            slot,
                        });
                    }
                    Ok(Spot {
                        base: Base::Shared(root),
                        path: Vec::new(),
                        index: None,
                        ty,
                        slot,
                    })
                }
            },
            ExprKind::Unary(Unary::Deref, at) => self.target(at),
            ExprKind::Member(of, name) => {
                let of = self.place(of)?;
                Self::member_of(of, name, ty, slot, e.span)
            }
            ExprKind::Arrow(at, name) => {
                let of = self.target(at)?;
                Self::member_of(of, name, ty, slot, e.span)
            }
            ExprKind::Index(of, index) => {
                let mut of = self.place(of)?;
                if of.index.is_some() {
                    return refused(e.span, "an array of arrays", "use one index");
                }
                let index = self.value(index, Sort::Value(Kind::Number))?;
                of.index = Some(index);
                Ok(Spot { ty, slot, ..of })
            }
            ExprKind::Cast(_, inner) => self.place(inner),
            _ => refused(e.span, "this place", "use variables and members"),
        }
    }

    fn member_of(of: Spot, name: &str, ty: Type, slot: Option<Slot>, span: Span) -> Read<Spot> {
        if matches!(of.base, Base::Local(..)) {
            return refused(
                span,
                "a member of a local struct",
                "use a local for each member",
            );
        }
        let mut path = of.path;
        path.push(name.to_owned());
        Ok(Spot {
            path,
            ty,
            slot,
            ..of
        })
    }

    /// The place as the data structure names it.
    pub(super) fn named_place(&mut self, spot: &Spot, span: Span) -> Read<heap::Path> {
        let mut path = match &spot.base {
            Base::Local(name, _) => path_of(name, span),
            Base::Shared(root) => match self.reader.shared_name(root, &spot.path) {
                Some(name) => path_of(name, span),
                None => {
                    return refused(
                        span,
                        "a shared variable of this type",
                        "use integers, locks and pointers to nodes",
                    );
                }
            },
            Base::Node(_, pointer) => {
                let mut path = pointer.clone();
                path.parts
                    .push(heap::Part::Field(named(&joined(&spot.path), span)));
                path
            }
        };
        if let Some(index) = &spot.index {
            path.parts.push(heap::Part::Index(index.clone()));
        }
        path.span = span;
        Ok(path)
    }

    /// Shared memory that has a name, or a member of a node: what a function can be given a pointer to.
    pub(super) fn passable(spot: &Spot) -> Option<(Option<heap::Path>, Passable)> {
        if spot.index.is_some() {
            return None;
        }
        Some(match &spot.base {
            Base::Shared(root) => (None, Passable::Shared(root.clone(), spot.path.clone())),
            Base::Node(id, pointer) => {
                let member = Passable::Member(*id, spot.path.clone());
                (Some(pointer.clone()), member)
            }
            Base::Local(name, _) => (Some(path_of(name, Span::default())), Passable::Local),
        })
    }

    pub(super) fn is_local(spot: &Spot) -> bool {
        matches!(spot.base, Base::Local(..))
    }

    /// The sort of a place's values.
    pub(super) fn spot_sort(&self, spot: &Spot) -> Option<Sort> {
        match &spot.base {
            Base::Local(_, sort) => Some(*sort),
            Base::Shared(_) | Base::Node(..) => self.reader.sort(&spot.ty, spot.slot.as_ref()),
        }
    }

    // ---- values ----

    /// Whether evaluating it reads shared memory.
    pub(super) fn reads(&self, e: &heap::Expr) -> bool {
        match &e.kind {
            heap::ExprKind::Path(path) => {
                !path.parts.is_empty() || self.reader.is_shared(&path.base.text)
            }
            heap::ExprKind::Add(a, b, _)
            | heap::ExprKind::Remainder(a, b)
            | heap::ExprKind::Pack(a, b)
            | heap::ExprKind::And(a, b)
            | heap::ExprKind::Or(a, b)
            | heap::ExprKind::Compare(_, a, b) => self.reads(a) || self.reads(b),
            heap::ExprKind::Not(a) => self.reads(a),
            heap::ExprKind::Cas(..) | heap::ExprKind::Swap(..) | heap::ExprKind::Call(..) => true,
            heap::ExprKind::Null
            | heap::ExprKind::Empty
            | heap::ExprKind::Infinity(_)
            | heap::ExprKind::Bool(_)
            | heap::ExprKind::Int(_)
            | heap::ExprKind::Any
            | heap::ExprKind::New(_) => false,
        }
    }

    /// Two operands, in both orders where that can be seen.
    fn both(
        &mut self,
        (a, m): (&Expr, Sort),
        (b, n): (&Expr, Sort),
        span: Span,
    ) -> Read<(heap::Expr, heap::Expr)> {
        let (left, before_left) = self.apart(|body| body.value(a, m));
        let (right, before_right) = self.apart(|body| body.value(b, n));
        let (left, right) = (left?, right?);
        let (l, r) = (
            !before_left.is_empty() || self.reads(&left),
            !before_right.is_empty() || self.reads(&right),
        );
        if !(l && r) {
            self.out.extend(before_left);
            self.out.extend(before_right);
            return Ok((left, right));
        }
        if !(before_left.is_empty() && before_right.is_empty()) {
            return refused(
                span,
                "operands of which both touch shared memory, in an order that C leaves open",
                "put one of them into a local first",
            );
        }
        let (x, y) = (self.temporary(m, span)?, self.temporary(n, span)?);
        let order = |flip: bool| {
            let first = statement(x.clone(), left.clone(), span);
            let second = statement(y.clone(), right.clone(), span);
            if flip {
                vec![second, first]
            } else {
                vec![first, second]
            }
        };
        self.emit(
            heap::StmtKind::Choose(vec![order(false), order(true)]),
            span,
        );
        Ok((
            expr(heap::ExprKind::Path(x), span),
            expr(heap::ExprKind::Path(y), span),
        ))
    }

    fn literal(&self, value: i128, sort: Sort, span: Span) -> Read<heap::Expr> {
        Ok(match sort {
            Sort::Node(_) if value == 0 => expr(heap::ExprKind::Null, span),
            Sort::Value(Kind::Number) if i64::try_from(value).is_ok() => number(value, span),
            Sort::Value(Kind::Truth) => expr(heap::ExprKind::Bool(value != 0), span),
            Sort::Value(Kind::Data) => expr(self.reader.constant(value), span),
            Sort::Value(Kind::Number)
            | Sort::Node(_)
            | Sort::Element(_)
            | Sort::Object
            | Sort::Lock => {
                return refused(
                    span,
                    "this constant",
                    "use pointers to nodes, NULL, and numbers of 63 bits",
                );
            }
        })
    }

    /// The value of an expression, which is wanted as one of a sort.
    pub(super) fn value(&mut self, e: &Expr, want: Sort) -> Read<heap::Expr> {
        if let Some(value) = constant(uncast(e)) {
            return self.literal(value, want, e.span);
        }
        if want == Sort::Value(Kind::Truth) && self.sort_of(e) != Some(want) {
            return self.condition(e);
        }
        let span = e.span;
        match &e.kind {
            ExprKind::Cast(ty, a) => {
                if let (Type::Int { bits, .. }, Some(Type::Int { bits: from, .. })) =
                    (ty.plain(), self.type_of(a).as_ref().map(Type::plain))
                    && *bits < 32
                    && bits < from
                {
                    return refused(span, "a cast to a smaller integer", "leave out the cast");
                }
                self.value(a, want)
            }
            ExprKind::Ident(name) => {
                if let Some(Meaning::Pointed(..) | Meaning::Shared(..) | Meaning::Member(..)) =
                    self.meanings.get(name)
                {
                    return refused(
                        span,
                        "a pointer parameter as a value",
                        "use what it points to",
                    );
                }
                self.read(e)
            }
            ExprKind::Member(..)
            | ExprKind::Arrow(..)
            | ExprKind::Index(..)
            | ExprKind::Unary(Unary::Deref, _) => self.read(e),
            ExprKind::Unary(Unary::Plus, a) => self.value(a, want),
            ExprKind::Unary(Unary::Address, a) => self.address(a, span),
            ExprKind::Unary(Unary::Not, _) => self.condition(e),
            ExprKind::Unary(Unary::Minus, a) => {
                self.reader.note_numbers();
                let a = self.value(a, want)?;
                let kind = heap::ExprKind::Add(Box::new(number(0, span)), Box::new(a), true);
                Ok(expr(kind, span))
            }
            ExprKind::Unary(Unary::PreIncrement | Unary::PreDecrement, a) => {
                let spot = self.place(a)?;
                if !Self::is_local(&spot) {
                    return self.changed(e, want);
                }
                self.effect(e)?;
                self.value(a, want)
            }
            ExprKind::Unary(Unary::PostIncrement | Unary::PostDecrement, a) => {
                let spot = self.place(a)?;
                if !Self::is_local(&spot) {
                    return self.changed(e, want);
                }
                let old = self.temporary(want, span)?;
                let value = self.value(a, want)?;
                self.assign(old.clone(), value, span);
                self.effect(e)?;
                Ok(expr(heap::ExprKind::Path(old), span))
            }
            ExprKind::Unary(Unary::BitNot, _) => {
                refused(span, "operations on bits", "use + - and % by constants")
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e),
            ExprKind::Assign(_, to, _) => {
                let spot = self.place(to)?;
                if !Self::is_local(&spot) {
                    return self.changed(e, want);
                }
                self.effect(e)?;
                self.value(to, want)
            }
            ExprKind::Cond(c, Some(a), b) => {
                let c = self.condition(c)?;
                let to = self.temporary(want, span)?;
                let branch = |body: &mut Self, e: &Expr| {
                    let (value, mut before) = body.apart(|body| body.value(e, want));
                    before.push(statement(to.clone(), value?, span));
                    Ok(Box::new(heap::Stmt {
                        kind: heap::StmtKind::Block(before),
                        span,
                    }))
                };
                let (then, other) = (branch(self, a)?, branch(self, b)?);
                self.emit(heap::StmtKind::If(c, then, Some(other)), span);
                Ok(expr(heap::ExprKind::Path(to), span))
            }
            ExprKind::Cond(_, None, _) => refused(
                span,
                "?: without its second operand",
                "write the operand twice",
            ),
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.value(b, want)
            }
            ExprKind::Call(f, args) => self.called(f, args, want, span),
            ExprKind::Statements(body) => match body.split_last() {
                Some((last, rest)) if matches!(last.kind, StmtKind::Expr(_)) => {
                    let StmtKind::Expr(e) = &last.kind else {
                        return refused(span, "this expression", "write a function");
                    };
                    self.statements(rest);
                    self.value(e, want)
                }
                _ => refused(span, "statements without a value", "write a function"),
            },
            ExprKind::Int(value, _) => self.literal(*value, want, span),
            ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Compound(..)
            | ExprKind::UnknownSize => refused(
                span,
                "a value of this kind",
                "use integers and pointers to nodes",
            ),
        }
    }

    /// What is in a place.
    fn read(&mut self, e: &Expr) -> Read<heap::Expr> {
        let spot = self.place(e)?;
        let path = self.named_place(&spot, e.span)?;
        Ok(expr(heap::ExprKind::Path(path), e.span))
    }

    /// `&x`, of a node that has a name or of an element of an array.
    fn address(&mut self, a: &Expr, span: Span) -> Read<heap::Expr> {
        let spot = self.place(a)?;
        match spot {
            Spot {
                base: Base::Node(_, pointer),
                path,
                index: None,
                ..
            } if path.is_empty() => Ok(expr(heap::ExprKind::Path(pointer), span)),
            Spot {
                base: Base::Shared(_),
                index: Some(index),
                ty,
                ..
            } if matches!(ty.plain(), Type::Struct(id) if self.reader.elements.contains_key(id)) => {
                Ok(index)
            }
            _ => refused(
                span,
                "the address of this as a value",
                "pass it to a function, or use pointers to nodes",
            ),
        }
    }

    fn binary(&mut self, op: Binary, a: &Expr, b: &Expr, e: &Expr) -> Read<heap::Expr> {
        let span = e.span;
        if compares(op) || matches!(op, Binary::And | Binary::Or) {
            return self.condition(e);
        }
        self.reader.note_numbers();
        let sort = Sort::Value(Kind::Number);
        match op {
            Binary::Add | Binary::Sub => {
                let (a, b) = self.both((a, sort), (b, sort), span)?;
                let kind = heap::ExprKind::Add(Box::new(a), Box::new(b), op == Binary::Sub);
                Ok(expr(kind, span))
            }
            Binary::Rem | Binary::BitAnd => {
                let by = constant(b).map(|by| if op == Binary::BitAnd { by + 1 } else { by });
                let is_power = |by: i128| by > 0 && by & (by - 1) == 0;
                let Some(by) = by.filter(|by| *by > 0 && (op == Binary::Rem || is_power(*by)))
                else {
                    return refused(
                        span,
                        "this operation",
                        "use % by a constant, or & with one less than a power of two",
                    );
                };
                let is_unsigned = matches!(
                    self.type_of(a).as_ref().map(Type::promoted),
                    Some(Type::Int { signed: false, .. })
                );
                let may_wrap = Self::subtracts(a);
                // -1 & 3 is 3, as here, and so is (unsigned)-1 % 4; -1 % 4 is not.
                if op == Binary::Rem
                    && if is_unsigned {
                        may_wrap && !is_power(by)
                    } else {
                        !self.never_negative(a)
                    }
                {
                    return refused(
                        span,
                        "a remainder that may be negative",
                        "use an unsigned type",
                    );
                }
                let a = self.value(a, sort)?;
                let kind = heap::ExprKind::Remainder(Box::new(a), Box::new(number(by, span)));
                Ok(expr(kind, span))
            }
            _ => refused(span, "this operation", "use + - and % by constants"),
        }
    }

    /// Whether it is a difference, which wraps if it is unsigned and below zero.
    fn subtracts(e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Binary(Binary::Sub, ..) | ExprKind::Unary(Unary::Minus, _) => true,
            ExprKind::Binary(_, a, b) => Self::subtracts(a) || Self::subtracts(b),
            ExprKind::Cast(_, a) => Self::subtracts(a),
            _ => false,
        }
    }

    fn never_negative(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Binary(Binary::Add, a, b) => self.never_negative(a) && self.never_negative(b),
            ExprKind::Binary(Binary::Rem | Binary::BitAnd, _, b) => {
                constant(b).is_some_and(|b| b > 0)
            }
            _ => match constant(e) {
                Some(value) => value >= 0,
                None => self
                    .slot_of(uncast(e))
                    .is_some_and(|slot| self.reader.kinds.never_negative(&slot)),
            },
        }
    }

    // ---- conditions ----

    /// A condition, true or false.
    pub(super) fn condition(&mut self, e: &Expr) -> Read<heap::Expr> {
        let span = e.span;
        if let Some(value) = constant(uncast(e)) {
            return Ok(expr(heap::ExprKind::Bool(value != 0), span));
        }
        match &e.kind {
            ExprKind::Cast(_, a) => self.condition(a),
            ExprKind::Unary(Unary::Not, a) => Ok(not(self.condition(a)?)),
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.condition(b)
            }
            ExprKind::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                self.junction(*op == Binary::And, a, b, span)
            }
            ExprKind::Binary(op, a, b) if compares(*op) => self.comparison(*op, a, b, e),
            ExprKind::Ident(name) if self.allocated.contains(name) => {
                Ok(expr(heap::ExprKind::Bool(true), span))
            }
            ExprKind::Call(f, args) if matches!(&f.kind, ExprKind::Ident(name) if name == "__builtin_expect") => {
                match args.first() {
                    Some(first) => self.condition(first),
                    None => refused(span, "this call", "give it a condition"),
                }
            }
            _ => {
                let sort = self.sort_of(e);
                match sort {
                    Some(Sort::Value(Kind::Truth)) => self.value(e, Sort::Value(Kind::Truth)),
                    Some(sort @ (Sort::Node(_) | Sort::Value(_))) => {
                        let value = self.value(e, sort)?;
                        let zero = self.literal(0, sort, span)?;
                        let kind = heap::ExprKind::Compare(
                            heap::Compare::Ne,
                            Box::new(value),
                            Box::new(zero),
                        );
                        Ok(expr(kind, span))
                    }
                    // There is an object, and a pointer to an element is no null pointer.
                    Some(Sort::Object | Sort::Element(_)) => {
                        Ok(expr(heap::ExprKind::Bool(true), span))
                    }
                    Some(Sort::Lock) | None => refused(
                        span,
                        "this condition",
                        "compare integers and pointers to nodes",
                    ),
                }
            }
        }
    }

    fn junction(&mut self, is_and: bool, a: &Expr, b: &Expr, span: Span) -> Read<heap::Expr> {
        let left = self.condition(a)?;
        if let heap::ExprKind::Bool(value) = left.kind {
            return if value == is_and {
                self.condition(b)
            } else {
                Ok(left)
            };
        }
        let (right, before) = self.apart(|body| body.condition(b));
        let right = right?;
        let join = |a: heap::Expr, b: heap::Expr| {
            let (a, b) = (Box::new(a), Box::new(b));
            let kind = if is_and {
                heap::ExprKind::And(a, b)
            } else {
                heap::ExprKind::Or(a, b)
            };
            expr(kind, span)
        };
        if before.is_empty() {
            return Ok(join(left, right));
        }
        // What the second operand does is done only if the first one does not decide.
        let to = self.temporary(Sort::Value(Kind::Truth), span)?;
        let mut inner = before;
        inner.push(statement(to.clone(), right, span));
        let decided = vec![statement(
            to.clone(),
            expr(heap::ExprKind::Bool(!is_and), span),
            span,
        )];
        let block = |body| {
            Box::new(heap::Stmt {
                kind: heap::StmtKind::Block(body),
                span,
            })
        };
        let (yes, no) = if is_and {
            (inner, decided)
        } else {
            (decided, inner)
        };
        self.emit(heap::StmtKind::If(left, block(yes), Some(block(no))), span);
        Ok(expr(heap::ExprKind::Path(to), span))
    }

    fn comparison(&mut self, op: Binary, a: &Expr, b: &Expr, e: &Expr) -> Read<heap::Expr> {
        let span = e.span;
        let Some(sort) = self.sort_of(a).or_else(|| self.sort_of(b)) else {
            return refused(
                span,
                "a comparison of these",
                "compare integers and pointers to nodes",
            );
        };
        let is_null = |e: &Expr| constant(uncast(e)) == Some(0);
        if is_null(a) || is_null(b) {
            let other = if is_null(b) { a } else { b };
            let is_new = matches!(&uncast(other).kind, ExprKind::Ident(name) if self.allocated.contains(name));
            if is_new || matches!(sort, Sort::Object | Sort::Element(_)) {
                return Ok(expr(heap::ExprKind::Bool(op == Binary::Ne), span));
            }
        }
        let op = match op {
            Binary::Eq => heap::Compare::Eq,
            Binary::Ne => heap::Compare::Ne,
            Binary::Lt => heap::Compare::Lt,
            Binary::Le => heap::Compare::Le,
            Binary::Gt => heap::Compare::Gt,
            _ => heap::Compare::Ge,
        };
        let is_order = !matches!(op, heap::Compare::Eq | heap::Compare::Ne);
        if is_order && (self.wraps(a) || self.wraps(b)) {
            return refused(
                span,
                "an order of unsigned differences, which wrap below zero",
                "cast the difference to a signed type",
            );
        }
        let (a, b) = self.both((a, sort), (b, sort), span)?;
        let truth = |e: &heap::Expr| match e.kind {
            heap::ExprKind::Bool(value) => Some(value),
            _ => None,
        };
        match (op, truth(&a), truth(&b)) {
            (heap::Compare::Eq, _, Some(value)) => Ok(if value { a } else { not(a) }),
            (heap::Compare::Ne, _, Some(value)) => Ok(if value { not(a) } else { a }),
            (heap::Compare::Eq, Some(value), None) => Ok(if value { b } else { not(b) }),
            (heap::Compare::Ne, Some(value), None) => Ok(if value { not(b) } else { b }),
            _ => Ok(expr(
                heap::ExprKind::Compare(op, Box::new(a), Box::new(b)),
                span,
            )),
        }
    }

    /// Whether it is an unsigned difference.
    fn wraps(&self, e: &Expr) -> bool {
        let is_unsigned = |e: &Expr| {
            matches!(
                self.type_of(e).as_ref().map(Type::promoted),
                Some(Type::Int { signed: false, .. })
            )
        };
        match &e.kind {
            ExprKind::Cast(Type::Int { signed: true, .. }, _) => false,
            _ => is_unsigned(e) && Self::subtracts(e),
        }
    }
}

/// What a pointer to a place is for a function.
#[derive(Clone, Debug)]
pub(super) enum Passable {
    Shared(Root, Vec<String>),
    Member(StructId, Vec<String>),
    Local,
}

pub(super) fn statement(to: heap::Path, value: heap::Expr, span: Span) -> heap::Stmt {
    heap::Stmt {
        kind: heap::StmtKind::Assign(to, value),
        span,
    }
}
