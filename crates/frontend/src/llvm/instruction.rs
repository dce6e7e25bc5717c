//! *Instructions*, but for calls: each changes the state, and adds steps where shared memory is touched.

use std::rc::Rc;

use palisade_program::{Expr, LocalExpr};

use super::arith;
use super::engine::{Engine, Flow, Run, SMALLER, Trouble, unsupported};
use super::ir::{Inst, Type};
use super::state::{State, Value};
use super::values::{decided, range_of};
use super::world::{Key, ObjectId, World};

impl<'m> Engine<'_, 'm> {
    pub(super) fn instruction(&mut self, state: &mut State, inst: &'m Inst) -> Run<Flow> {
        match inst {
            Inst::Alloca { dst, size } => {
                let (path, thread) = (state.top().path, self.thread);
                let span = self.span(state);
                let object = self
                    .world
                    .object(Key::Stack(thread, path, *dst), *size, span);
                if state.prelude || !self.world.is_shared(object) {
                    state.memory.insert(object, Rc::default());
                }
                state.set(*dst, Value::Word(Expr::Const(World::address(object))));
            }
            Inst::Load {
                dst,
                ty,
                from,
                order,
                defined,
            } => {
                let pointer = self.word(state, from)?;
                if let Some(value) = self.spread_load(state, &pointer, ty, *order) {
                    state.set(*dst, value);
                    return Ok(Flow::Next);
                }
                let address = match self.pinned(state, from, "a pointer")? {
                    Ok(address) => address,
                    Err(flow) => return Ok(flow),
                };
                let value = self.load(state, address, ty, *order, *defined)?;
                state.set(*dst, value);
            }
            Inst::Store {
                ty,
                value,
                to,
                order,
            } => {
                let pointer = self.word(state, to)?;
                let value = self.value(state, value, ty)?;
                if self.spread_store(state, &pointer, ty, &value, *order)? {
                    return Ok(Flow::Next);
                }
                let address = match self.pinned(state, to, "a pointer")? {
                    Ok(address) => address,
                    Err(flow) => return Ok(flow),
                };
                self.store(state, address, ty, value, *order)?;
            }
            Inst::Address {
                dst,
                base,
                offset,
                scaled,
            } => {
                let mut e = self.word(state, base)?;
                for (ty, index, by) in scaled {
                    let bits = ty.bits().unwrap_or(64);
                    let index = self.word_of(state, index, bits)?;
                    let index = self.small(state, index);
                    let known = &state.known;
                    let ranges = |e: &LocalExpr| range_of(e, known);
                    let signed = arith::cast(super::ir::Cast::SignExtend, bits, 64, index, &ranges);
                    let moved = signed.and_then(|index| {
                        let by = Expr::Const(*by);
                        arith::binary(super::ir::Binary::Mul, 64, index, by, &ranges)
                    });
                    let sum = moved.and_then(|by| {
                        arith::binary(super::ir::Binary::Add, 64, e.clone(), by, &ranges)
                    });
                    e = sum.or_else(|words| unsupported(words, SMALLER))?;
                }
                let known = &state.known;
                let ranges = |e: &LocalExpr| range_of(e, known);
                let e = arith::binary(super::ir::Binary::Add, 64, e, Expr::Const(*offset), &ranges);
                let e = e.or_else(|words| unsupported(words, SMALLER))?;
                self.keep(state, *dst, e);
            }
            Inst::Binary {
                dst,
                op,
                bits,
                left,
                right,
            } => {
                let a = self.word_of(state, left, *bits)?;
                let b = self.word_of(state, right, *bits)?;
                let known = &state.known;
                let ranges = |e: &LocalExpr| range_of(e, known);
                let e = arith::binary(*op, *bits, a, b, &ranges);
                let e = e.or_else(|words| unsupported(words, SMALLER))?;
                self.keep(state, *dst, e);
            }
            Inst::Compare {
                dst,
                predicate,
                bits,
                left,
                right,
            } => {
                let a = self.word_of(state, left, *bits)?;
                let b = self.word_of(state, right, *bits)?;
                let known = &state.known;
                let ranges = |e: &LocalExpr| range_of(e, known);
                let e = arith::compare(*predicate, *bits, a, b, &ranges);
                let e = e.or_else(|words| unsupported(words, SMALLER))?;
                let e = match decided(&e, &state.known) {
                    Some(is) => Expr::Const(i64::from(is)),
                    None => e,
                };
                self.keep(state, *dst, e);
            }
            Inst::Cast {
                dst,
                kind,
                from,
                to,
                value,
            } => {
                let e = self.word_of(state, value, *from)?;
                let known = &state.known;
                let ranges = |e: &LocalExpr| range_of(e, known);
                let e = arith::cast(*kind, *from, *to, e, &ranges);
                let e = e.or_else(|words| unsupported(words, SMALLER))?;
                self.keep(state, *dst, e);
            }
            Inst::Select {
                dst,
                ty,
                test,
                yes,
                no,
            } => {
                let test = self.word_of(state, test, 1)?;
                let yes = self.value(state, yes, ty)?;
                let no = self.value(state, no, ty)?;
                let value = match (decided(&test, &state.known), yes, no) {
                    (Some(true), yes, _) => yes,
                    (Some(false), _, no) => no,
                    (None, Value::Word(yes), Value::Word(no)) => {
                        let e = Expr::Cond(Box::new(test), Box::new(yes), Box::new(no));
                        Value::Word(self.small(state, e))
                    }
                    (None, yes, no) if yes == no => yes,
                    (None, ..) => return unsupported("a choice between structs", SMALLER),
                };
                state.set(*dst, value);
            }
            Inst::Extract { dst, ty, of, path } => {
                let mut value = self.value(state, of, ty)?;
                for index in path {
                    value = match value {
                        Value::Parts(mut parts) if *index < parts.len() => {
                            parts.swap_remove(*index)
                        }
                        Value::Undefined => Value::Undefined,
                        Value::Parts(_) | Value::Word(_) => {
                            return unsupported("a part of something else", SMALLER);
                        }
                    };
                }
                state.set(*dst, value);
            }
            Inst::Insert {
                dst,
                ty,
                of,
                part,
                path,
            } => {
                let of = self.value(state, of, ty)?;
                let part = self.value(state, &part.1, &part.0)?;
                let value = inserted(of, ty, part, path).ok_or_else(|| {
                    Trouble::Unsupported("a part of something else".into(), SMALLER)
                })?;
                state.set(*dst, value);
            }
            Inst::Copy { dst, ty, value } => {
                let value = match self.value(state, value, ty)? {
                    // `freeze`: any value will do, and the same one each time.
                    Value::Undefined if ty.bits().is_some() => Value::Word(Expr::Const(0)),
                    value => value,
                };
                state.set(*dst, value);
            }
            Inst::CompareExchange { at, .. } | Inst::Change { at, .. } => {
                let address = match self.pinned(state, at, "a pointer")? {
                    Ok(address) => address,
                    Err(flow) => return Ok(flow),
                };
                self.read_modify_write(state, address, inst)?;
            }
            Inst::Fence(order, single_thread) => {
                if !single_thread {
                    self.fence(state, *order);
                }
            }
            Inst::Call { .. } => return self.call(state, inst),
            Inst::Phi { .. } => return unsupported("a value that depends on the way", SMALLER),
            Inst::Declare { at, variable } => self.note_name(state, *at, *variable),
            Inst::Unknown { text, .. } => {
                return unsupported(text.clone(), SMALLER);
            }
        }
        Ok(Flow::Next)
    }

    /// Remembers what people call the memory at a register.
    fn note_name(&mut self, state: &State, at: u32, variable: u32) {
        let module = state.top().function.0;
        let debug = &self.places.debug[module];
        let Some((name, ty, place)) = debug.variable(variable) else {
            return;
        };
        if (self.places.text.spans)(&place.file, place.line.max(1), 1).is_none() {
            return;
        }
        let Some(Value::Word(Expr::Const(address))) = state.top().registers.get(&at) else {
            return;
        };
        if let Some((object, 0)) = self.world.at(*address) {
            let slot = &mut self.world.objects[object].name;
            if slot.is_none() {
                *slot = Some((name, Some((module, ty))));
            }
        }
    }

    /// Names what a pointer in a named object points to.
    pub(super) fn name_targets(&mut self, object: ObjectId, offset: u64, address: i64) {
        let Some((target, 0)) = self.world.at(address) else {
            return;
        };
        if offset != 0 || self.world.objects[target].name.is_some() {
            return;
        }
        let Some((name, Some((module, ty)))) = self.world.objects[object].name.clone() else {
            return;
        };
        let debug = &self.places.debug[module];
        if let Some(pointee) = debug.pointee(ty)
            && debug.size(pointee) == self.world.objects[target].size
        {
            self.world.objects[target].name = Some((name, Some((module, pointee))));
        }
    }
}

fn inserted(of: Value, ty: &Type, part: Value, path: &[usize]) -> Option<Value> {
    let [index, rest @ ..] = path else {
        return Some(part);
    };
    let count = match ty {
        Type::Struct(fields, _) => fields.len(),
        Type::Array(n, _) => *n as usize,
        Type::Void | Type::Int(_) | Type::Pointer | Type::Other(..) => return None,
    };
    let mut parts = match of {
        Value::Parts(parts) => parts,
        Value::Undefined => vec![Value::Undefined; count],
        Value::Word(_) => return None,
    };
    let (_, inner) = ty.part(*index as u64)?;
    let slot = parts.get_mut(*index)?;
    *slot = inserted(slot.clone(), inner, part, rest)?;
    Some(Value::Parts(parts))
}
