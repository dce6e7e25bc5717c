//! Accesses by a pointer with *several targets* that is not worth a fork: elements of arrays. In private
//! memory a load is a choice among words, and a store changes each of them or not. In shared memory
//! there is one step for each target, and all of them meet behind it.

use std::rc::Rc;

use palisade_program::{Expr, LocId, LocalExpr, Order, Step};

use super::arith::equals;
use super::engine::{Engine, Made, Run};
use super::ir::Type;
use super::memory::{Bytes, Found};
use super::state::{State, Value};
use super::values::{Values, decided, possible, values_of};
use super::world::ObjectId;

/// Targets at most.
const MOST: usize = 64;

/// One target: its address and where that is.
struct Target {
    address: i64,
    object: ObjectId,
    offset: u64,
    is_private: bool,
}

fn is(e: &LocalExpr, address: i64) -> LocalExpr {
    equals(e.clone(), address)
}

impl Engine<'_, '_> {
    /// The targets, if all of them can be accessed without further questions.
    fn targets(&mut self, state: &State, e: &LocalExpr, size: u64) -> Option<Vec<Target>> {
        if matches!(e, Expr::Const(_)) || size == 0 || size > 8 || state.prelude {
            return None;
        }
        let mut targets = Vec::new();
        for address in possible(e, &state.known)? {
            if decided(&is(e, address), &state.known) == Some(false) {
                continue;
            }
            let (object, offset) = self.place(address, size).ok()?;
            let is_private = state.memory.contains_key(&object);
            if is_private {
                let found = state.memory[&object].word(offset, size);
                if !matches!(found, Found::Word(_)) {
                    return None;
                }
            } else {
                let cell = self.world.cells.get(&(object, offset))?;
                let plain = !cell.freed && !cell.uninitialised && cell.size == size;
                if !plain || !self.world.is_shared(object) || self.world.freed.contains(&object) {
                    return None;
                }
                cell.known(true)?;
            }
            targets.push(Target {
                address,
                object,
                offset,
                is_private,
            });
        }
        (2..=MOST).contains(&targets.len()).then_some(targets)
    }

    /// Loads by a pointer with several targets.
    pub(super) fn spread_load(
        &mut self,
        state: &mut State,
        e: &LocalExpr,
        ty: &Type,
        order: Order,
    ) -> Option<Value> {
        ty.bits()?;
        let targets = self.targets(state, e, ty.size())?;
        let word =
            |state: &State, t: &Target| match state.memory[&t.object].word(t.offset, ty.size()) {
                Found::Word(word) => word,
                Found::Nothing | Found::CopyOf(..) => Expr::Const(0),
            };
        if targets.iter().all(|t| t.is_private) {
            let mut targets = targets.iter().rev();
            let mut choice = word(state, targets.next()?);
            for target in targets {
                let value = word(state, target);
                if value != choice {
                    let test = Box::new(is(e, target.address));
                    choice = Expr::Cond(test, Box::new(value), Box::new(choice));
                }
            }
            let choice = self.small(state, choice);
            return Some(Value::Word(choice));
        }
        self.drop_dead(state);
        let span = self.span(state);
        let dst = state.fresh(&[e]);
        let (start, join) = (self.here, self.loc());
        let mut values: Option<Values> = None;
        for target in &targets {
            self.here = start;
            self.emit(Step::Assume(is(e, target.address)), span);
            let (step, known) = if target.is_private {
                let value = word(state, target);
                let known = values_of(&value, &state.known);
                (Step::Assign { dst, value }, known)
            } else {
                let cell = &self.world.cells[&(target.object, target.offset)];
                let known = cell.known(true).unwrap_or_else(|| Values::all(64));
                let src = palisade_program::Place::scalar(cell.id).ordered(self.kept(order));
                (Step::Load { dst, src }, known)
            };
            self.finish_at(step, join, span);
            values = Some(match values {
                Some(all) => all.join(&known),
                None => known,
            });
        }
        if order != Order::SeqCst && order != Order::Plain {
            self.weak_loads = true;
        }
        self.here = join;
        self.after_access(span);
        state.known.insert(dst, values?);
        let local = self.use_local(dst);
        Some(Value::Word(local))
    }

    /// A step to a place that is known.
    fn finish_at(&mut self, step: Step, to: LocId, span: palisade_program::Span) {
        let from = self.here;
        self.edges.push(Made {
            from,
            step,
            to,
            span,
        });
        self.untouched = false;
    }

    /// Stores by a pointer with several targets; whether it was done.
    pub(super) fn spread_store(
        &mut self,
        state: &mut State,
        e: &LocalExpr,
        ty: &Type,
        value: &Value,
        order: Order,
    ) -> Run<bool> {
        let (Some(_), Value::Word(value)) = (ty.bits(), value) else {
            return Ok(false);
        };
        let Some(targets) = self.targets(state, e, ty.size()) else {
            return Ok(false);
        };
        let size = ty.size();
        if targets.iter().all(|t| t.is_private) {
            for target in targets {
                let content = &state.memory[&target.object];
                let Found::Word(old) = content.word(target.offset, size) else {
                    continue;
                };
                if old == *value {
                    continue;
                }
                let test = Box::new(is(e, target.address));
                let new = Expr::Cond(test, Box::new(value.clone()), Box::new(old));
                self.hold(state, e);
                self.hold(state, value);
                let new = self.small(state, new);
                let content = state.memory.get_mut(&target.object).expect("it is private");
                Rc::make_mut(content).put(target.offset, size, Bytes::Word(new));
            }
            self.unhold(state);
            return Ok(true);
        }
        if targets.iter().any(|t| t.is_private) {
            return Ok(false);
        }
        let span = self.span(state);
        let (start, join) = (self.here, self.loc());
        for target in targets {
            self.here = start;
            self.emit(Step::Assume(is(e, target.address)), span);
            self.store_cell(
                state,
                (target.object, target.offset),
                size,
                value.clone(),
                order,
            )?;
            self.finish_at(Step::Skip, join, span);
        }
        self.here = join;
        Ok(true)
    }
}
