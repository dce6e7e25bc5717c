//! *Accesses* of memory. What only this thread can touch is read and written on the spot; an
//! access of a shared cell becomes a step. A load from a cell that no step writes needs none.

use std::collections::BTreeSet;
use std::rc::Rc;

use palisade_program::{
    AssertKind, BinOp, Expr, FREED, GlobalId, LocalAtom, LocalExpr, LocalId, MemoryError, Order,
    Orders, Place, Span, Step, UNINITIALISED,
};

use super::arith::{bytes_of, joined};
use super::engine::{Engine, Run, SMALLER, Trouble, unsupported};
use super::ir::Type;
use super::memory::{Bytes, Content, FORMATTED, Found};
use super::state::{State, Value};
use super::values::{Values, locals_of, values_of};
use super::world::{Cell, Key, ObjectId};
use crate::mapping;

pub(super) const FORMATTING: &str = "a text that was formatted (`format!`, `to_string`)";
pub(super) const FORMATTING_HELP: &str = "leave out what looks at the text";
pub(super) const MIXED: &str = "memory that is accessed in parts of different sizes";
pub(super) const MIXED_HELP: &str = "access each part of a shared object as one type";

/// Where an access goes.
pub(super) enum Target {
    /// To memory that only this thread can touch.
    Private,
    Constant(Rc<Content>),
    Shared,
}

impl Engine<'_, '_> {
    /// The object and offset of an access of so many bytes.
    pub(super) fn place(&self, address: i64, size: u64) -> Run<(ObjectId, u64)> {
        let Some((object, offset)) = self.world.at(address) else {
            return Err(self.fault(address));
        };
        match offset.checked_add(size) {
            Some(end) if end <= self.world.objects[object].size => Ok((object, offset)),
            Some(_) | None => Err(self.fault(address)),
        }
    }

    pub(super) fn target(&mut self, state: &mut State, object: ObjectId) -> Run<Target> {
        let key = self.world.objects[object].key.clone();
        let missing = |words: String| Trouble::Unsupported(words, SMALLER);
        if let Key::Static(name) = &key {
            if self.world.is_constant(object) {
                if let Some(known) = self.world.constants.get(&object) {
                    return Ok(Target::Constant(known.clone()));
                }
                let content = Rc::new(self.world.initial_content(name).map_err(missing)?);
                self.world.constants.insert(object, content.clone());
                return Ok(Target::Constant(content));
            }
            if state.prelude && !state.memory.contains_key(&object) {
                let content = self.world.initial_content(name).map_err(missing)?;
                state.memory.insert(object, Rc::new(content));
            }
        }
        if let Key::ThreadLocal(_, name) = &key
            && !state.memory.contains_key(&object)
        {
            let content = self.world.initial_content(name).map_err(missing)?;
            state.memory.insert(object, Rc::new(content));
        }
        if state.memory.contains_key(&object) {
            return Ok(Target::Private);
        }
        if !state.prelude && self.world.is_shared(object) {
            return Ok(Target::Shared);
        }
        let own = match key {
            Key::Heap(thread, _) | Key::Stack(thread, ..) => thread == self.thread,
            Key::Static(_) | Key::ThreadLocal(..) | Key::Function(_) => true,
        };
        if own && !self.world.given.contains(&object) {
            let error = match key {
                Key::Heap(..) => MemoryError::UseAfterFree,
                Key::Stack(..) | Key::Static(_) | Key::ThreadLocal(..) | Key::Function(_) => {
                    MemoryError::Wild
                }
            };
            return Err(Trouble::Wrong(AssertKind::Memory(error)));
        }
        self.world.share(object);
        Err(Trouble::Again)
    }

    /// Reads a value of this type.
    pub(super) fn load(
        &mut self,
        state: &mut State,
        address: i64,
        ty: &Type,
        order: Order,
        defined: bool,
    ) -> Run<Value> {
        if let Type::Struct(..) | Type::Array(..) = ty {
            let count = match ty {
                Type::Array(n, _) => *n,
                Type::Struct(fields, _) => fields.len() as u64,
                _ => 0,
            };
            let mut parts = Vec::new();
            for i in 0..count {
                let Some((by, part)) = ty.part(i) else { break };
                parts.push(self.load(state, address + by as i64, part, order, defined)?);
            }
            return Ok(Value::Parts(parts));
        }
        if let Some(pieces) = pieces(ty) {
            let mut words = Vec::new();
            let mut size = 0;
            for (at, bytes) in pieces {
                let piece = Type::Int(bytes as u32 * 8);
                match self.load(state, address + at as i64, &piece, order, defined)? {
                    Value::Word(e) => {
                        self.hold(state, &e);
                        words.push((at, bytes, e));
                    }
                    Value::Undefined | Value::Parts(_) => return Ok(Value::Undefined),
                }
                size = at + bytes;
            }
            self.unhold(state);
            return Ok(Value::Word(joined(&words, size)));
        }
        let size = ty.size();
        if size > 8 {
            return unsupported("an integer of more than 64 bits", SMALLER);
        }
        if size == 0 {
            return Ok(Value::Undefined);
        }
        let (object, offset) = self.place(address, size)?;
        let found = match self.target(state, object)? {
            Target::Private => state.memory[&object].word(offset, size),
            Target::Constant(content) => content.word(offset, size),
            Target::Shared => self.load_shared(state, (object, offset), size, (order, defined))?,
        };
        let found = match found {
            Found::Word(e) => Found::Word(self.with_mark(state, e)?),
            Found::Nothing | Found::CopyOf(..) => found,
        };
        match found {
            Found::Word(Expr::Const(FORMATTED)) => unsupported(FORMATTING, FORMATTING_HELP),
            Found::Nothing if defined => Err(uninitialised()),
            Found::Nothing => Ok(Value::Undefined),
            Found::CopyOf(object, offset) => {
                self.parts(object, offset, size)?;
                Err(Trouble::Again)
            }
            Found::Word(Expr::Const(UNINITIALISED)) if defined => Err(uninitialised()),
            Found::Word(Expr::Const(UNINITIALISED)) => Ok(Value::Undefined),
            Found::Word(e) if defined => {
                self.check_copied(state, &e);
                Ok(Value::Word(e))
            }
            Found::Word(e) => Ok(Value::Word(e)),
        }
    }

    /// Asserts that a word that was copied is not the mark of uninitialised memory.
    fn check_copied(&mut self, state: &mut State, e: &LocalExpr) {
        let Expr::Atom(LocalAtom::Local(id)) = e else {
            return;
        };
        let Some(mut list) = state.known.get(id).and_then(Values::list) else {
            return;
        };
        if !list.remove(&UNINITIALISED) || list.is_empty() {
            return;
        }
        let span = self.span(state);
        self.assert_not(e, UNINITIALISED, uninitialised_kind(), span);
        state.known.insert(*id, Values::of(list));
    }

    fn assert_not(&mut self, e: &LocalExpr, mark: i64, kind: AssertKind, span: Span) {
        let cond = LocalExpr::binary(BinOp::Ne, e.clone(), Expr::Const(mark));
        self.emit(Step::Assert { cond, kind }, span);
    }

    /// A word that is computed from one that may be the mark of uninitialised memory. A part of the
    /// mark is the mark; a word of which only a part may be the mark is not followed.
    pub(super) fn with_mark(&mut self, state: &mut State, e: LocalExpr) -> Run<LocalExpr> {
        if matches!(e, Expr::Const(_) | Expr::Atom(_)) {
            return Ok(e);
        }
        let locals = locals_of(&e);
        let may_be = |id: &&LocalId| {
            let list = state.known.get(id).and_then(Values::list);
            list.is_some_and(|list| list.contains(&UNINITIALISED))
        };
        let Some(whole) = locals.iter().find(may_be).copied() else {
            return Ok(e);
        };
        let is_part = matches!(e, Expr::Binary(BinOp::BitAnd | BinOp::Mod | BinOp::Shr, ..));
        if !is_part || locals.len() > 1 {
            return unsupported(MIXED, MIXED_HELP);
        }
        let mark = || Box::new(Expr::Const(UNINITIALISED));
        let whole = self.use_local(whole);
        let is_mark = Expr::Binary(BinOp::Eq, Box::new(whole), mark());
        let e = Expr::Cond(Box::new(is_mark), mark(), Box::new(e));
        Ok(self.in_local(state, e))
    }

    /// A cell that somebody asks for.
    pub(super) fn demand(
        &mut self,
        (object, offset): (ObjectId, u64),
        size: u64,
        order: Order,
    ) -> Run<GlobalId> {
        let Some(id) = self.world.cell(object, offset, size).map(|cell| cell.id) else {
            return unsupported(MIXED, MIXED_HELP);
        };
        if order != Order::Plain {
            self.world.atomic.insert((object, offset));
        }
        Ok(id)
    }

    /// The cells of some bytes of a shared object.
    pub(super) fn parts(
        &mut self,
        object: ObjectId,
        offset: u64,
        size: u64,
    ) -> Run<Vec<(u64, u64)>> {
        let parts = self.world.parts(object, offset, size);
        parts.map_or_else(|| unsupported(MIXED, MIXED_HELP), Ok)
    }

    /// The cells of an access: one if it is atomic. So it is where it is not aligned: what is known of
    /// an index may leave room for places between the elements, which no run accesses.
    fn accessed(
        &mut self,
        object: ObjectId,
        offset: u64,
        size: u64,
        order: Order,
    ) -> Run<Vec<(u64, u64)>> {
        if order == Order::Plain && offset.is_multiple_of(size) {
            self.parts(object, offset, size)
        } else {
            Ok(vec![(offset, size)])
        }
    }

    /// Reads some bytes of a shared object: a cell, or with a plain access several.
    fn load_shared(
        &mut self,
        state: &mut State,
        (object, offset): (ObjectId, u64),
        size: u64,
        (order, defined): (Order, bool),
    ) -> Run<Found> {
        let parts = self.accessed(object, offset, size, order)?;
        if let [(at, size)] = parts[..] {
            let word = self.load_cell(state, (object, at), size, (order, defined))?;
            return Ok(Found::Word(word));
        }
        let mut words = Vec::new();
        for (at, size) in parts {
            match self.load_cell(state, (object, at), size, (order, defined))? {
                Expr::Const(UNINITIALISED) if defined => return Err(uninitialised()),
                Expr::Const(UNINITIALISED) => {}
                e => {
                    self.hold(state, &e);
                    words.push((at - offset, size, e));
                }
            }
        }
        self.unhold(state);
        Ok(if words.is_empty() {
            Found::Nothing
        } else {
            Found::Word(joined(&words, size))
        })
    }

    /// Writes some bytes of a shared object: a cell, or with a plain access several.
    fn store_shared(
        &mut self,
        state: &mut State,
        (object, offset): (ObjectId, u64),
        size: u64,
        value: LocalExpr,
        order: Order,
    ) -> Run<()> {
        let parts = self.accessed(object, offset, size, order)?;
        if let [(at, size)] = parts[..] {
            return self.store_cell(state, (object, at), size, value, order);
        }
        self.hold(state, &value);
        for (at, of) in parts {
            let part = match &value {
                Expr::Const(UNINITIALISED) => value.clone(),
                value => self.with_mark(state, bytes_of(value, size, at - offset, of))?,
            };
            self.store_cell(state, (object, at), of, part, order)?;
        }
        self.unhold(state);
        Ok(())
    }

    /// Reads a cell.
    pub(super) fn load_cell(
        &mut self,
        state: &mut State,
        (object, offset): (ObjectId, u64),
        size: u64,
        (order, defined): (Order, bool),
    ) -> Run<LocalExpr> {
        let id = self.demand((object, offset), size, order)?;
        let cell = self.world.cells[&(object, offset)].clone();
        if !cell.written
            && let Some(list) = cell.known(false).and_then(|values| values.list())
            && list.len() == 1
            && let Some(only) = list.first()
        {
            return Ok(Expr::Const(*only));
        }
        if order != Order::SeqCst && order != Order::Plain {
            self.weak_loads = true;
        }
        self.drop_dead(state);
        let span = self.span(state);
        self.before_access(span);
        let dst = state.fresh(&[]);
        let src = Place::scalar(id).ordered(self.kept(order));
        self.emit(Step::Load { dst, src }, span);
        let e = self.use_local(dst);
        self.check_loaded(state, &cell, &e, defined)?;
        self.after_access(span);
        Ok(self.settled(state, e))
    }

    /// Behind a load: what was loaded is a value.
    pub(super) fn check_loaded(
        &mut self,
        state: &mut State,
        cell: &Cell,
        e: &LocalExpr,
        defined: bool,
    ) -> Run<()> {
        let span = self.span(state);
        if cell.freed {
            self.assert_not(e, FREED, freed_kind(), span);
        }
        if cell.uninitialised && defined {
            self.assert_not(e, UNINITIALISED, uninitialised_kind(), span);
        }
        let Some(values) = cell.known(defined) else {
            // Only what must not be read, or nothing that is known so far.
            return Err(Trouble::Again);
        };
        if let Expr::Atom(LocalAtom::Local(id)) = e {
            state.known.insert(*id, values);
        }
        Ok(())
    }

    /// The expression, or its only value.
    pub(super) fn settled(&self, state: &State, e: LocalExpr) -> LocalExpr {
        match values_of(&e, &state.known).list() {
            Some(list) if list.len() == 1 => Expr::Const(*list.first().unwrap_or(&0)),
            Some(_) | None => e,
        }
    }

    /// Writes a value of this type.
    pub(super) fn store(
        &mut self,
        state: &mut State,
        address: i64,
        ty: &Type,
        value: Value,
        order: Order,
    ) -> Run<()> {
        if let Type::Struct(..) | Type::Array(..) = ty {
            let parts = match value {
                Value::Parts(parts) => parts,
                Value::Undefined => return Ok(()),
                Value::Word(_) => return unsupported("a number in place of a struct", SMALLER),
            };
            for (i, part) in parts.into_iter().enumerate() {
                let Some((by, part_ty)) = ty.part(i as u64) else {
                    break;
                };
                self.store(state, address + by as i64, part_ty, part, order)?;
            }
            return Ok(());
        }
        if let Some(pieces) = pieces(ty) {
            let of = pieces.iter().map(|(_, bytes)| bytes).sum();
            for (at, bytes) in pieces {
                let part = match &value {
                    Value::Word(e) => Value::Word(bytes_of(e, of, at, bytes)),
                    Value::Undefined => Value::Undefined,
                    Value::Parts(_) => return unsupported("a struct as a number", SMALLER),
                };
                let piece = Type::Int(bytes as u32 * 8);
                self.store(state, address + at as i64, &piece, part, order)?;
            }
            return Ok(());
        }
        let size = ty.size();
        if size > 8 {
            return unsupported("an integer of more than 64 bits", SMALLER);
        }
        if size == 0 {
            return Ok(());
        }
        let (object, offset) = self.place(address, size)?;
        match self.target(state, object)? {
            Target::Private => {
                let content = state.memory.get_mut(&object).expect("it is private");
                match value {
                    Value::Word(e) => {
                        if let Expr::Const(target) = e {
                            self.name_targets(object, offset, target);
                        }
                        Rc::make_mut(content).put(offset, size, Bytes::Word(e));
                    }
                    Value::Undefined => Rc::make_mut(content).clear(offset, size),
                    Value::Parts(_) => return unsupported("a struct as a number", SMALLER),
                }
                Ok(())
            }
            Target::Constant(_) => Err(Trouble::Wrong(AssertKind::Language(
                "a constant is written".to_owned(),
            ))),
            Target::Shared => {
                let e = match value {
                    Value::Word(e) => e,
                    Value::Undefined => Expr::Const(UNINITIALISED),
                    Value::Parts(_) => return unsupported("a struct as a number", SMALLER),
                };
                self.store_shared(state, (object, offset), size, e, order)
            }
        }
    }

    /// Objects that an expression may point into.
    pub(super) fn pointed(&self, state: &State, e: &LocalExpr) -> BTreeSet<ObjectId> {
        let mut found = BTreeSet::new();
        let mut note = |value: i64| {
            found.extend(self.world.at(value).map(|(object, _)| object));
        };
        for_each_constant(e, &mut note);
        for id in locals_of(e) {
            if let Some(list) = state.known.get(&id).and_then(Values::list) {
                list.into_iter().for_each(&mut note);
            }
        }
        found
    }

    /// What a store into a cell means to the world.
    pub(super) fn note_store(
        &mut self,
        state: &State,
        (object, offset): (ObjectId, u64),
        e: &LocalExpr,
    ) {
        let values = values_of(e, &state.known);
        self.world.stored(object, offset, &values);
        if let Some(cell) = self.world.cells.get_mut(&(object, offset))
            && !cell.written
        {
            cell.written = true;
            self.world.grown = true;
        }
        for target in self.pointed(state, e) {
            self.world.share(target);
        }
    }

    pub(super) fn store_cell(
        &mut self,
        state: &mut State,
        (object, offset): (ObjectId, u64),
        size: u64,
        value: LocalExpr,
        order: Order,
    ) -> Run<()> {
        if value == Expr::Const(FORMATTED) {
            return unsupported(FORMATTING, FORMATTING_HELP);
        }
        let id = self.demand((object, offset), size, order)?;
        self.note_store(state, (object, offset), &value);
        let span = self.span(state);
        self.before_access(span);
        if self.world.freed.contains(&object) && value != Expr::Const(FREED) {
            let seen = match order {
                Order::Plain => Order::Plain,
                _ => Order::Relaxed,
            };
            self.drop_dead(state);
            let dst = state.fresh(&[&value]);
            let src = Place::scalar(id).ordered(self.kept(seen));
            self.emit(Step::Load { dst, src }, span);
            let old = self.use_local(dst);
            let cond = LocalExpr::binary(BinOp::Ne, old, Expr::Const(FREED));
            let kind = freed_kind();
            self.emit(Step::Assert { cond, kind }, span);
        }
        let mapped = self.settings.orders == Orders::Mapped;
        if let Some(fence) = mapping::before_store(order).filter(|_| mapped) {
            self.emit(Step::Fence(fence), span);
        }
        let dst = Place::scalar(id).ordered(self.kept(order));
        self.emit(Step::Store { dst, value }, span);
        if let Some(fence) = mapping::after_store(order).filter(|_| mapped) {
            self.emit(Step::Fence(fence), span);
        }
        self.after_access(span);
        Ok(())
    }

    pub(super) fn fence(&mut self, state: &State, order: Order) {
        if state.prelude {
            return;
        }
        let span = self.span(state);
        match self.settings.orders {
            Orders::Kept => self.emit(mapping::kept_fence(order), span),
            Orders::Mapped => {
                for kind in mapping::fences(order) {
                    self.emit(Step::Fence(*kind), span);
                }
            }
        }
    }
}

/// The parts of an integer of 3, 5, 6 or 7 bytes in memory: it is accessed as so many bytes, not as the next
/// larger word. (The compiler compares and passes small arrays so.)
fn pieces(ty: &Type) -> Option<Vec<(u64, u64)>> {
    let Type::Int(bits) = ty else { return None };
    let bytes = u64::from(bits.div_ceil(8));
    if bytes > 8 || bytes.is_power_of_two() {
        return None;
    }
    let (mut at, mut pieces) = (0, Vec::new());
    while at < bytes {
        let size = 1 << (bytes - at).ilog2();
        pieces.push((at, size));
        at += size;
    }
    Some(pieces)
}

fn uninitialised_kind() -> AssertKind {
    AssertKind::Language("uninitialised memory is read".to_owned())
}

pub(super) fn uninitialised() -> Trouble {
    Trouble::Wrong(uninitialised_kind())
}

fn freed_kind() -> AssertKind {
    AssertKind::Memory(MemoryError::UseAfterFree)
}

pub(super) fn for_each_constant(e: &LocalExpr, f: &mut dyn FnMut(i64)) {
    match e {
        Expr::Const(value) => f(*value),
        Expr::Atom(_) => {}
        Expr::Unary(_, a) => for_each_constant(a, f),
        Expr::Binary(_, a, b) => {
            for_each_constant(a, f);
            for_each_constant(b, f);
        }
        Expr::Cond(c, a, b) => {
            for_each_constant(c, f);
            for_each_constant(a, f);
            for_each_constant(b, f);
        }
    }
}
