//! *Blocks of bytes*: copies, fills, and what the allocator gives and takes back. A block of shared
//! memory is copied cell by cell; freeing writes a mark into each cell that must not be read.

use std::rc::Rc;

use palisade_program::{
    AssertKind, BinOp, Expr, FREED, LocalExpr, MemoryError, Order, Place, Step, UNINITIALISED,
};

use super::access::{MIXED, MIXED_HELP, Target};
use super::arith;
use super::engine::{Engine, Run, SMALLER, Trouble, unsupported};
use super::memory::{Bytes, Content, Found};
use super::state::State;
use super::world::{Key, ObjectId, World};

impl Engine<'_, '_> {
    /// The cells of a range, cut where it begins and ends. Bytes in no cell stay so.
    fn cells_of(&mut self, object: ObjectId, offset: u64, count: u64) -> Run<Vec<(u64, u64)>> {
        if !self.world.cut(object, offset) || !self.world.cut(object, offset + count) {
            return unsupported(MIXED, MIXED_HELP);
        }
        Ok(self.world.cells_within(object, offset, count))
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
                for (at, size) in self.cells_of(object, offset, count)? {
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
        for (_, bytes) in image.parts.values() {
            if let Bytes::Word(e) = bytes {
                self.hold(state, e);
                // What it points to can be found by others, in a cell or not.
                for target in self.pointed(state, e) {
                    self.world.share(target);
                }
            }
        }
        for (at, size) in self.cells_of(object, offset, count)? {
            let e = match image.word(at - offset, size) {
                Found::Word(e) => self.with_mark(state, e)?,
                Found::Nothing => Expr::Const(UNINITIALISED),
                Found::CopyOf(source, place) => {
                    self.parts(source, place, size)?;
                    return Err(Trouble::Again);
                }
            };
            self.store_cell(state, (object, at), size, e, Order::Plain)?;
        }
        self.unhold(state);
        Ok(())
    }

    /// Fills bytes with one; without one they are uninitialised from now on.
    pub(super) fn fill(
        &mut self,
        state: &mut State,
        to: i64,
        byte: Option<i64>,
        count: u64,
    ) -> Run<()> {
        if count == 0 {
            return Ok(());
        }
        let (object, offset) = self.place(to, count)?;
        let mut image = Content::default();
        if let Some(byte) = byte {
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
        }
        match self.target(state, object)? {
            Target::Private => {
                let content = state.memory.get_mut(&object).expect("it is private");
                let content = Rc::make_mut(content);
                content.clear(offset, count);
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
            self.fill(state, address, Some(0), size)?;
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
        let id = self.demand((object, at), size, Order::Plain)?;
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
}
