//! *Growth* of vectors that threads share. The library asks for more room by what is there: twice as much, as often as it is
//! needed. Of a shared vector neither length nor capacity is known before the program runs, and no end would be found. So one
//! that has too little room gets room for [`ROOM`] elements at once, and a run in which that is not enough is not followed. How much
//! room a vector has is for the library to decide: programs may not depend on it.
//!
//! | function | what is done |
//! |---|---|
//! | `grow_amortized(self, len, additional, layout)` | so much more is asked for that there is room for all |
//! | `finish_grow(result, self, cap, layout)` | more room than that is refused |

use palisade_program::Expr;

use super::engine::{Engine, Flow, Run, unsupported};
use super::ir::Argument;
use super::state::{State, Value};

/// Elements of a shared vector at most (bytes of a text): more of them, and lengths would become ranges.
const ROOM: i64 = 8;

/// Which of the two functions a name is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Growth {
    Amortised,
    Finish,
}

impl Growth {
    /// The function of this demangled name.
    pub(super) fn of(name: &str) -> Option<Self> {
        if !name.contains("raw_vec::RawVecInner") {
            return None;
        }
        match name.rsplit("::").next()? {
            "grow_amortized" => Some(Self::Amortised),
            "finish_grow" => Some(Self::Finish),
            _ => None,
        }
    }
}

impl<'m> Engine<'_, 'm> {
    /// The arguments of such a call, changed where the vector is shared.
    pub(super) fn growing(
        &mut self,
        state: &mut State,
        growth: Growth,
        arguments: &'m [Argument],
    ) -> Run<Result<Vec<Value>, Flow>> {
        let mut values = arguments
            .iter()
            .map(|a| self.value(state, &a.value, &a.ty))
            .collect::<Run<Vec<Value>>>()?;
        let [first, second, third, _, _] = arguments else {
            return Ok(Ok(values));
        };
        let vector = match growth {
            Growth::Amortised => first,
            Growth::Finish => second,
        };
        let vector = match self.pinned(state, &vector.value, "a vector")? {
            Ok(address) => address,
            Err(flow) => return Ok(Err(flow)),
        };
        let shared = self.world.at(vector);
        if !shared.is_some_and(|(object, _)| self.world.is_shared(object)) {
            return Ok(Ok(values));
        }
        let asked = match self.pinned(state, &third.value, "a size")? {
            Ok(asked) => asked,
            Err(flow) => return Ok(Err(flow)),
        };
        let needed = match growth {
            Growth::Finish => asked,
            Growth::Amortised => {
                let len = match self.pinned(state, &second.value, "a length")? {
                    Ok(len) => len,
                    Err(flow) => return Ok(Err(flow)),
                };
                values[2] = Value::Word(Expr::Const(ROOM - len));
                len.saturating_add(asked)
            }
        };
        if !(0..=ROOM).contains(&needed) {
            return unsupported(
                format!("a vector of more than {ROOM} elements that threads share"),
                "push fewer elements, or reserve the room before the threads start",
            );
        }
        Ok(Ok(values))
    }
}
