//! *Accesses* of memory. What only this thread can touch is read and written on the spot; an
//! access of a shared cell becomes a step. A load from a cell that no step writes needs none.

use std::collections::BTreeSet;
use std::rc::Rc;

use palisade_program::{
    AssertKind, Atomic, AtomicKind, BinOp, CfgBuilder, Domain, Expr, GlobalId, LocalAtom,
    LocalExpr, MemoryError, Order, Orders, Place, Span, Step, UNINITIALISED,
};

use super::arith;
use super::engine::{Engine, Run, SMALLER, Trouble, unsupported};
use super::ir::{Change, Inst, Type};
use super::memory::{Bytes, Content, Found};
use super::state::{State, Value};
use super::values::{Values, decided, locals_of, range_of, values_of};
use super::world::{Cell, FREED, Key, ObjectId, World};
use crate::mapping;

const MIXED: &str = "memory that is accessed in parts of different sizes";
const MIXED_HELP: &str = "access each part of a shared object as one type";

/// Where an access goes.
enum Target {
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
        if offset + size > self.world.objects[object].size {
            return Err(self.fault(address));
        }
        Ok((object, offset))
    }

    fn target(&mut self, state: &mut State, object: ObjectId) -> Run<Target> {
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
            Target::Shared => {
                Found::Word(self.load_cell(state, (object, offset), size, (order, defined))?)
            }
        };
        match found {
            Found::Nothing if defined => Err(uninitialised()),
            Found::Nothing => Ok(Value::Undefined),
            Found::CopyOf(object, offset) => {
                self.demand(object, offset, size)?;
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

    /// A cell that somebody asks for.
    fn demand(&mut self, object: ObjectId, offset: u64, size: u64) -> Run<GlobalId> {
        match self.world.cell(object, offset, size) {
            Some(cell) => Ok(cell.id),
            None => unsupported(MIXED, MIXED_HELP),
        }
    }

    /// Reads a cell.
    fn load_cell(
        &mut self,
        state: &mut State,
        (object, offset): (ObjectId, u64),
        size: u64,
        (order, defined): (Order, bool),
    ) -> Run<LocalExpr> {
        let id = self.demand(object, offset, size)?;
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
        let dst = state.fresh(&[]);
        let src = Place::scalar(id).ordered(self.kept(order));
        self.emit(Step::Load { dst, src }, span);
        let e = self.use_local(dst);
        self.check_loaded(state, &cell, &e, defined)?;
        Ok(self.settled(state, e))
    }

    /// Behind a load: what was loaded is a value.
    fn check_loaded(
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
    fn settled(&self, state: &State, e: LocalExpr) -> LocalExpr {
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
                self.store_cell(state, (object, offset), size, e, order)
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
    fn note_store(&mut self, state: &State, (object, offset): (ObjectId, u64), e: &LocalExpr) {
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
        let id = self.demand(object, offset, size)?;
        self.note_store(state, (object, offset), &value);
        let span = self.span(state);
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

    /// `cmpxchg` and `atomicrmw`.
    pub(super) fn read_modify_write(
        &mut self,
        state: &mut State,
        address: i64,
        inst: &Inst,
    ) -> Run<()> {
        match inst {
            Inst::CompareExchange {
                dst,
                ty,
                expected,
                new,
                orders,
                weak,
                ..
            } => {
                let bits = bits_of(ty)?;
                let expected = self.word_of(state, expected, bits)?;
                let new = self.word_of(state, new, bits)?;
                let how = How::Swap {
                    expected,
                    new,
                    orders: *orders,
                    weak: *weak,
                };
                let (old, same) = self.change_cell(state, address, bits, how)?;
                let parts = vec![Value::Word(old), Value::Word(same)];
                state.set(*dst, Value::Parts(parts));
                Ok(())
            }
            Inst::Change {
                dst,
                how,
                ty,
                value,
                order,
                ..
            } => {
                let bits = bits_of(ty)?;
                let by = self.word_of(state, value, bits)?;
                let how = How::By {
                    change: *how,
                    by,
                    order: *order,
                };
                let (old, _) = self.change_cell(state, address, bits, how)?;
                state.set(*dst, Value::Word(old));
                Ok(())
            }
            _ => unsupported("this instruction", SMALLER),
        }
    }

    /// Changes a word in one step: what it was, and whether it was changed.
    fn change_cell(
        &mut self,
        state: &mut State,
        address: i64,
        bits: u32,
        how: How,
    ) -> Run<(LocalExpr, LocalExpr)> {
        let size = u64::from(bits) / 8;
        let ty = Type::Int(bits);
        let (object, offset) = self.place(address, size)?;
        let may_fail = matches!(&how, How::Swap { weak: true, .. });
        if may_fail && state.prelude {
            self.end_prelude(state)?;
        }
        if !matches!(self.target(state, object)?, Target::Shared) {
            let Value::Word(old) = self.load(state, address, &ty, Order::Plain, true)? else {
                return Err(uninitialised());
            };
            let (new, same) = how.outcome(state, bits, &old)?;
            let same = match may_fail {
                true => same.and(self.luck(state, &[&old, &new])),
                false => same,
            };
            let new = match decided(&same, &state.known) {
                Some(true) => new,
                Some(false) => old.clone(),
                None => Expr::Cond(Box::new(same.clone()), Box::new(new), Box::new(old.clone())),
            };
            let new = self.small(state, new);
            self.store(state, address, &ty, Value::Word(new), Order::Plain)?;
            return Ok((old, same));
        }
        let id = self.demand(object, offset, size)?;
        let cell = self.world.cells[&(object, offset)].clone();
        let Some(values) = cell.known(true) else {
            return Err(Trouble::Again);
        };
        let span = self.span(state);
        self.drop_dead(state);
        let kept = how.operands();
        let luck = match may_fail {
            true => self.luck(state, &kept),
            false => Expr::TRUE,
        };
        let mut used = kept.clone();
        used.push(&luck);
        let dst = state.fresh(&used);
        let old = self.use_local(dst);
        state.known.insert(dst, values);
        let (new, same) = how.outcome(state, bits, &old)?;
        let same = same.and(luck);
        // What can be stored: only values for which the comparison holds.
        let mut then = state.clone();
        super::values::refine(&same, true, &mut then.known);
        if decided(&same, &state.known) != Some(false) {
            self.note_store(&then, (object, offset), &new);
        }
        let (kind, first, second) = match &how {
            How::Swap { orders, .. } => (AtomicKind::Cas, orders.1, orders.0),
            How::By {
                change: Change::Exchange,
                order,
                ..
            } => (AtomicKind::Xchg, *order, *order),
            How::By { order, .. } => (AtomicKind::FetchAdd, *order, *order),
        };
        let mut body = CfgBuilder::new();
        let (entry, middle, exit) = (body.loc(), body.loc(), body.loc());
        let src = Place::scalar(id).ordered(self.kept(first));
        body.edge(entry, Step::Load { dst, src }, middle, span);
        let mut at = middle;
        if same != Expr::TRUE {
            at = body.loc();
            body.edge(middle, Step::Assume(same.clone()), at, span);
            body.edge(middle, Step::Assume(same.clone().negate()), exit, span);
        }
        let place = Place::scalar(id).ordered(self.kept(second));
        let store = Step::Store {
            dst: place,
            value: new,
        };
        body.edge(at, store, exit, span);
        let (body, _) = body.finish(entry, exit);
        self.emit(Step::Atomic(Box::new(Atomic { kind, body })), span);
        self.check_loaded(state, &cell, &old, true)?;
        let old = self.settled(state, old);
        let same = match decided(&same, &state.known) {
            Some(is) => Expr::Const(i64::from(is)),
            None => same,
        };
        Ok((old, same))
    }

    /// A choice that nothing decides: a weak exchange may fail for no reason.
    pub(super) fn luck(&mut self, state: &mut State, keep: &[&LocalExpr]) -> LocalExpr {
        let dst = state.fresh(keep);
        let domain = Some(Domain { lo: 0, hi: 1 });
        let span = self.span(state);
        self.emit(Step::Havoc { dst, domain }, span);
        state.known.insert(dst, Values::range(0, 1));
        let e = self.use_local(dst);
        LocalExpr::binary(BinOp::Eq, e, Expr::Const(1))
    }

    /// `take`: waits until a word has a value, and replaces it.
    pub(super) fn take(&mut self, state: &mut State, address: i64, from: i64, to: i64) -> Run<()> {
        let ty = Type::Int(32);
        let (object, offset) = self.place(address, 4)?;
        if !matches!(self.target(state, object)?, Target::Shared) {
            let old = self.load(state, address, &ty, Order::Plain, true)?;
            if old != Value::Word(Expr::Const(from)) {
                // Nobody else can change it.
                let span = self.span(state);
                self.block_for_ever(span);
                return Err(Trouble::Nothing);
            }
            return self.store(
                state,
                address,
                &ty,
                Value::Word(Expr::Const(to)),
                Order::Plain,
            );
        }
        let id = self.demand(object, offset, 4)?;
        self.note_store(state, (object, offset), &Expr::Const(to));
        self.drop_dead(state);
        let span = self.span(state);
        let dst = state.fresh(&[]);
        let old = self.use_local(dst);
        let mut body = CfgBuilder::new();
        let (entry, middle, found, exit) = (body.loc(), body.loc(), body.loc(), body.loc());
        let src = Place::scalar(id).ordered(self.kept(Order::Acquire));
        body.edge(entry, Step::Load { dst, src }, middle, span);
        let test = LocalExpr::binary(BinOp::Eq, old, Expr::Const(from));
        body.edge(middle, Step::Assume(test), found, span);
        let place = Place::scalar(id).ordered(self.kept(Order::Acquire));
        let store = Step::Store {
            dst: place,
            value: Expr::Const(to),
        };
        body.edge(found, store, exit, span);
        let (body, _) = body.finish(entry, exit);
        let kind = AtomicKind::Lock;
        self.emit(Step::Atomic(Box::new(Atomic { kind, body })), span);
        Ok(())
    }

    /// The bytes of a range, by parts.
    fn gather(
        &mut self,
        state: &mut State,
        address: i64,
        count: u64,
    ) -> Run<Vec<(u64, u64, Bytes)>> {
        let (object, offset) = self.place(address, count)?;
        match self.target(state, object)? {
            Target::Private => Ok(state.memory[&object].parts_of(offset, count)),
            Target::Constant(content) => Ok(content.parts_of(offset, count)),
            Target::Shared => {
                let mut parts = Vec::new();
                let mut done = offset;
                for (at, size) in self.world.cells_within(object, offset, count) {
                    if at < offset || at + size > offset + count {
                        return unsupported(MIXED, MIXED_HELP);
                    }
                    if done < at {
                        parts.push((done - offset, at - done, Bytes::CopyOf(object, done)));
                    }
                    let e = self.load_cell(state, (object, at), size, (Order::Plain, false))?;
                    // Until all are there they must not share a local.
                    let key = (at - offset, size, Bytes::Word(e.clone()));
                    parts.push(key);
                    self.hold(state, &e);
                    done = at + size;
                }
                if done < offset + count {
                    let rest = offset + count - done;
                    parts.push((done - offset, rest, Bytes::CopyOf(object, done)));
                }
                self.unhold(state);
                Ok(parts)
            }
        }
    }

    /// Copies bytes.
    pub(super) fn copy(&mut self, state: &mut State, to: i64, from: i64, count: u64) -> Run<()> {
        if count == 0 || to == from {
            return Ok(());
        }
        let parts = self.gather(state, from, count)?;
        let (object, offset) = self.place(to, count)?;
        match self.target(state, object)? {
            Target::Private => {
                let content = state.memory.get_mut(&object).expect("it is private");
                let content = Rc::make_mut(content);
                content.clear(offset, count);
                for (at, size, bytes) in parts {
                    if let Bytes::Word(Expr::Const(UNINITIALISED)) = bytes {
                        continue;
                    }
                    if let Bytes::Word(Expr::Const(target)) = bytes {
                        self.name_targets(object, offset + at, target);
                    }
                    let content = state.memory.get_mut(&object).expect("it is private");
                    Rc::make_mut(content).put(offset + at, size, bytes);
                }
                Ok(())
            }
            Target::Constant(_) => Err(Trouble::Wrong(AssertKind::Language(
                "a constant is written".to_owned(),
            ))),
            Target::Shared => {
                let mut image = Content::default();
                for (at, size, bytes) in parts {
                    if let Bytes::CopyOf(source, place) = bytes {
                        self.world
                            .copied((source, place), (object, offset + at), size);
                    }
                    image.put(at, size, bytes);
                }
                self.write_image(state, object, offset, count, &image)
            }
        }
    }

    /// Stores bytes into the cells of a range.
    fn write_image(
        &mut self,
        state: &mut State,
        object: ObjectId,
        offset: u64,
        count: u64,
        image: &Content,
    ) -> Run<()> {
        for (_, (_, bytes)) in &image.parts {
            if let Bytes::Word(e) = bytes {
                self.hold(state, e);
                // What it points to can be found by others, in a cell or not.
                for target in self.pointed(state, e) {
                    self.world.share(target);
                }
            }
        }
        for (at, size) in self.world.cells_within(object, offset, count) {
            if at < offset || at + size > offset + count {
                return unsupported(MIXED, MIXED_HELP);
            }
            let e = match image.word(at - offset, size) {
                Found::Word(e) => e,
                Found::Nothing => Expr::Const(UNINITIALISED),
                Found::CopyOf(source, place) => {
                    self.demand(source, place, size)?;
                    return Err(Trouble::Again);
                }
            };
            self.store_cell(state, (object, at), size, e, Order::Plain)?;
        }
        self.unhold(state);
        Ok(())
    }

    /// Fills bytes with one.
    pub(super) fn fill(&mut self, state: &mut State, to: i64, byte: i64, count: u64) -> Run<()> {
        if count == 0 {
            return Ok(());
        }
        let (object, offset) = self.place(to, count)?;
        let mut image = Content::default();
        let word = byte & 0xff;
        let wide = arith::canonical(0x0101_0101_0101_0101 * word as u128, 64);
        let mut at = 0;
        while at < count {
            if count - at >= 8 && (offset + at) % 8 == 0 {
                image.write(at, 8, wide);
                at += 8;
            } else {
                image.write(at, 1, word);
                at += 1;
            }
        }
        match self.target(state, object)? {
            Target::Private => {
                let content = state.memory.get_mut(&object).expect("it is private");
                let content = Rc::make_mut(content);
                for (at, (size, bytes)) in image.parts {
                    content.put(offset + at, size, bytes);
                }
                Ok(())
            }
            Target::Constant(_) => unsupported("a constant that is written", SMALLER),
            Target::Shared => self.write_image(state, object, offset, count, &image),
        }
    }

    /// A new allocation.
    pub(super) fn allocate(&mut self, state: &mut State, size: u64, zeroed: bool) -> Run<i64> {
        if size >= super::world::ROOM as u64 {
            return unsupported("an allocation of a megabyte or more", "allocate less");
        }
        let number = (0..).find(|n| !state.heap.contains(n)).unwrap_or(0);
        if number > 4000 {
            return unsupported(
                "too many allocations",
                "allocate a fixed number of times, outside of endless loops",
            );
        }
        state.heap.insert(number);
        let span = self.span(state);
        let object = self
            .world
            .object(Key::Heap(self.thread, number), size, span);
        if state.prelude || !self.world.is_shared(object) {
            state.memory.insert(object, Rc::default());
        }
        let address = World::address(object);
        if zeroed {
            self.fill(state, address, 0, size)?;
        }
        Ok(address)
    }

    /// The end of an allocation.
    pub(super) fn free(&mut self, state: &mut State, address: i64) -> Run<()> {
        let wrong = |error| Err(Trouble::Wrong(AssertKind::Memory(error)));
        let Some((object, 0)) = self.world.at(address) else {
            return wrong(MemoryError::InvalidFree);
        };
        let Key::Heap(_, number) = self.world.objects[object].key else {
            return wrong(MemoryError::InvalidFree);
        };
        let own = matches!(self.world.objects[object].key, Key::Heap(t, _) if t == self.thread);
        let target = self.target(state, object);
        match target {
            Err(Trouble::Wrong(AssertKind::Memory(MemoryError::UseAfterFree))) => {
                wrong(MemoryError::DoubleFree)
            }
            Err(other) => Err(other),
            Ok(Target::Private) => {
                state.memory.remove(&object);
                if own {
                    state.heap.remove(&number);
                }
                Ok(())
            }
            Ok(Target::Constant(_)) => wrong(MemoryError::InvalidFree),
            // The library counts its references right, and nobody else can reach what it frees.
            Ok(Target::Shared) if self.counted(state) => Ok(()),
            Ok(Target::Shared) => {
                if self.world.freed.insert(object) {
                    self.world.grown = true;
                }
                let size = self.world.objects[object].size;
                let mut first = true;
                for (at, bytes) in self.world.cells_within(object, 0, size) {
                    if std::mem::take(&mut first) {
                        self.check_not_freed(state, (object, at), bytes)?;
                    }
                    let mark = Expr::Const(FREED);
                    self.store_cell(state, (object, at), bytes, mark, Order::Plain)?;
                }
                Ok(())
            }
        }
    }

    /// Whether it is an `Arc` of the standard library that frees, in a program that does not turn
    /// them into pointers.
    fn counted(&self, state: &State) -> bool {
        if self.world.raw_counts {
            return false;
        }
        state.frames.iter().rev().take(8).any(|frame| {
            let name = self.demangled(&self.function(frame).name);
            name.starts_with("<alloc::sync::Arc<") || name.starts_with("<alloc::sync::Weak<")
        })
    }

    fn check_not_freed(
        &mut self,
        state: &mut State,
        (object, at): (ObjectId, u64),
        size: u64,
    ) -> Run<()> {
        let id = self.demand(object, at, size)?;
        let span = self.span(state);
        self.drop_dead(state);
        let dst = state.fresh(&[]);
        let src = Place::scalar(id).ordered(self.kept(Order::Plain));
        self.emit(Step::Load { dst, src }, span);
        let old = self.use_local(dst);
        let cond = LocalExpr::binary(BinOp::Ne, old, Expr::Const(FREED));
        let kind = AssertKind::Memory(MemoryError::DoubleFree);
        self.emit(Step::Assert { cond, kind }, span);
        Ok(())
    }

    /// A run that comes here waits and never goes on.
    pub(super) fn block_for_ever(&mut self, span: Span) {
        let mut body = CfgBuilder::new();
        let (entry, exit) = (body.loc(), body.loc());
        body.edge(entry, Step::Assume(Expr::FALSE), exit, span);
        let (body, _) = body.finish(entry, exit);
        let kind = AtomicKind::Lock;
        self.emit(Step::Atomic(Box::new(Atomic { kind, body })), span);
    }
}

/// A read-modify-write.
enum How {
    Swap {
        expected: LocalExpr,
        new: LocalExpr,
        orders: (Order, Order),
        weak: bool,
    },
    By {
        change: Change,
        by: LocalExpr,
        order: Order,
    },
}

impl How {
    fn operands(&self) -> Vec<&LocalExpr> {
        match self {
            Self::Swap { expected, new, .. } => vec![expected, new],
            Self::By { by, .. } => vec![by],
        }
    }

    /// What is stored, and if.
    fn outcome(&self, state: &State, bits: u32, old: &LocalExpr) -> Run<(LocalExpr, LocalExpr)> {
        match self {
            Self::Swap { expected, new, .. } => {
                let same = LocalExpr::binary(BinOp::Eq, old.clone(), expected.clone());
                let same = match decided(&same, &state.known) {
                    Some(is) => Expr::Const(i64::from(is)),
                    None => same,
                };
                Ok((new.clone(), same))
            }
            Self::By { change, by, .. } => {
                let ranges = |e: &LocalExpr| range_of(e, &state.known);
                let new = arith::changed(*change, bits, old.clone(), by.clone(), &ranges);
                let new = new.or_else(|words| unsupported(words, SMALLER))?;
                Ok((new, Expr::TRUE))
            }
        }
    }
}

fn bits_of(ty: &Type) -> Run<u32> {
    match ty.bits() {
        Some(bits) if bits <= 64 => Ok(bits),
        Some(_) | None => unsupported("an atomic access of more than 64 bits", SMALLER),
    }
}

fn uninitialised_kind() -> AssertKind {
    AssertKind::Language("uninitialised memory is read".to_owned())
}

fn uninitialised() -> Trouble {
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
