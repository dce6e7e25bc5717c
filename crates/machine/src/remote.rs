//! *Remote atomic operations* on the machine: the rules of
//! [`palisade_program::remote`]. An operation that was issued waits in its thread's
//! list ([`Queue::atomics`](crate::state::Queue)) until its operands are read and it
//! has changed its cell; if it has a result, what is left is a pending write like
//! that of a get.
//!
//! The list is sorted by cell, and for one cell in the order of issue: a canonical
//! form, since operations on different cells are not ordered.

use palisade_program::{Change, Operand, RemoteAtomic, RemoteOp, Span};

use crate::code::Code;
use crate::machine::{Compiler, Machine, Remote, Spot};
use crate::options::{Bound, Unsupported};
use crate::state::{NO_CELL, Pending, State};

/// What happens to the cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kind {
    /// An accumulate.
    Op(RemoteOp),
    /// A compare-and-swap.
    CompareSwap,
}

impl Kind {
    const fn operands(self) -> usize {
        match self {
            Self::Op(_) => 1,
            Self::CompareSwap => 2,
        }
    }

    /// A number for packed states.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::CompareSwap => 0,
            Self::Op(op) => 1 + RemoteOp::ALL.iter().position(|o| *o == op).unwrap_or(0) as u64,
        }
    }

    /// The inverse of [`Self::number`].
    pub(crate) fn of_number(number: u64) -> Self {
        match number.checked_sub(1) {
            None => Self::CompareSwap,
            Some(op) => Self::Op(RemoteOp::ALL[op as usize]),
        }
    }

    fn apply(self, old: i64, operands: [i64; 2]) -> Result<i64, Bound> {
        match self {
            Self::Op(op) => Ok(op.apply(old, operands[0])?),
            Self::CompareSwap if old == operands[0] => Ok(operands[1]),
            Self::CompareSwap => Ok(old),
        }
    }
}

/// An operand of an operation under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Input {
    /// This cell is still to be read.
    Cell(u32),
    /// This value.
    Value(i64),
}

/// An operation that has not changed its cell yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PendingAtomic {
    /// Index of the thread on the remote side.
    pub(crate) remote: u32,
    /// The cell that changes.
    pub(crate) cell: u32,
    /// The cell that gets the result, or [`NO_CELL`].
    pub(crate) result: u32,
    /// What happens to the cell.
    pub(crate) kind: Kind,
    /// The operands; the second is the value 0 if there is one only.
    pub(crate) inputs: [Input; 2],
    /// The edge that issued it; only for reports, not part of the state.
    pub(crate) origin: u32,
}

/// A part of an operation that the network can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// Reads this operand.
    Read(usize),
    /// Changes the cell.
    Apply,
}

/// The parts of the operation at `index` that may be done now.
pub(crate) fn parts(atomics: &[PendingAtomic], index: usize) -> impl Iterator<Item = Part> {
    let atomic = atomics[index];
    let unread = move |i: usize| matches!(atomic.inputs[i], Input::Cell(_));
    let reads = (0..2).filter(move |&i| unread(i)).map(Part::Read);
    // The list is sorted by cell: an earlier one on the cell stands right before.
    let first = index == 0 || atomics[index - 1].cell != atomic.cell;
    let ready = first && !unread(0) && !unread(1);
    reads.chain(ready.then_some(Part::Apply))
}

/// A compiled operand.
#[derive(Clone, Copy, Debug)]
enum InputCode {
    Value(Code),
    Spot(Spot),
}

/// A compiled operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteCode {
    cell: Spot,
    remote: Option<Remote>,
    result: Option<Spot>,
    kind: Kind,
    inputs: [InputCode; 2],
}

impl Compiler<'_, '_> {
    /// Compiles an operation; where it stands is `span`.
    pub(crate) fn remote_code(
        &mut self,
        atomic: &RemoteAtomic,
        span: Span,
    ) -> Result<RemoteCode, Unsupported> {
        let mut inputs = [InputCode::Value(Code::Const(0)); 2];
        for (input, operand) in inputs.iter_mut().zip(atomic.change.operands()) {
            *input = match operand {
                Operand::Value(e) => InputCode::Value(self.code(e)),
                Operand::Place(place) => InputCode::Spot(self.spot(place)),
            };
        }
        let kind = match &atomic.change {
            Change::Op { op, .. } => Kind::Op(*op),
            Change::CompareSwap { .. } => Kind::CompareSwap,
        };
        Ok(RemoteCode {
            cell: self.spot(&atomic.remote),
            remote: self.remote_side(&atomic.remote, span, true)?,
            result: atomic.result.as_ref().map(|place| self.spot(place)),
            kind,
            inputs,
        })
    }
}

impl Machine<'_> {
    /// The operation as it is issued in a state with these slots.
    fn issued(
        &self,
        code: &RemoteCode,
        slots: &[i64],
        origin: u32,
    ) -> Result<PendingAtomic, Bound> {
        let cell = self.cell_of(code.cell, slots)?;
        let result = match code.result {
            Some(spot) => self.cell_of(spot, slots)?,
            None => NO_CELL,
        };
        let mut inputs = [Input::Value(0); 2];
        for (input, code) in inputs.iter_mut().zip(&code.inputs) {
            *input = match *code {
                InputCode::Value(value) => Input::Value(self.kept(value, slots)?),
                InputCode::Spot(spot) => Input::Cell(self.cell_of(spot, slots)?),
            };
        }
        let remote = code.remote.map_or(0, |remote| remote.thread(cell, cell));
        Ok(PendingAtomic {
            remote,
            cell,
            result,
            kind: code.kind,
            inputs,
            origin,
        })
    }

    /// The step of a thread: issues the operation, or does it at once where the
    /// model has no network.
    pub(crate) fn remote_step(
        &self,
        state: &State,
        next: &mut State,
        t: usize,
        code: &RemoteCode,
        arc: usize,
    ) -> Result<(), Bound> {
        let atomic = self.issued(code, &state.slots, arc as u32)?;
        if code.remote.is_some() {
            if state.queues[t].pending.len() + state.queues[t].atomics.len() >= self.buffer {
                return Err(Bound::Buffer);
            }
            next.clone_from(state);
            next.queues[t].add_atomic(atomic);
            return Ok(());
        }
        let value = |input: Input| match input {
            Input::Cell(cell) => state.slots[cell as usize],
            Input::Value(value) => value,
        };
        let old = state.slots[atomic.cell as usize];
        let new = self.changed(atomic.kind, old, atomic.inputs.map(value))?;
        next.clone_from(state);
        next.slots[atomic.cell as usize] = new;
        if atomic.result != NO_CELL {
            next.slots[atomic.result as usize] = old;
        }
        Ok(())
    }

    fn changed(&self, kind: Kind, old: i64, operands: [i64; 2]) -> Result<i64, Bound> {
        let new = kind.apply(old, operands)?;
        if self.range.contains(new) {
            Ok(new)
        } else {
            Err(Bound::Range)
        }
    }

    /// The network does one part of the operation at `index` of thread `t`.
    pub(crate) fn network_atomic(
        &self,
        state: &State,
        next: &mut State,
        t: usize,
        index: usize,
        part: Part,
    ) -> Result<(), Bound> {
        let atomic = state.queues[t].atomics[index];
        match (part, atomic.inputs) {
            (Part::Read(operand), inputs) => {
                next.clone_from(state);
                if let Input::Cell(cell) = inputs[operand] {
                    let value = state.slots[cell as usize];
                    next.queues[t].atomics[index].inputs[operand] = Input::Value(value);
                }
            }
            (Part::Apply, [Input::Value(first), Input::Value(second)]) => {
                let old = state.slots[atomic.cell as usize];
                let new = self.changed(atomic.kind, old, [first, second])?;
                next.clone_from(state);
                next.slots[atomic.cell as usize] = new;
                next.queues[t].atomics.remove(index);
                if atomic.result != NO_CELL {
                    let pending = Pending {
                        remote: atomic.remote,
                        source: NO_CELL,
                        target: atomic.result,
                        put: false,
                        value: old,
                        origin: atomic.origin,
                    };
                    self.add_pending(next, t, pending);
                }
            }
            (Part::Apply, _) => unreachable!("operands are read before the cell changes"),
        }
        Ok(())
    }
}

impl PendingAtomic {
    /// Whether the own side is done: no result is awaited, and all operands are read.
    pub(crate) fn is_locally_done(&self) -> bool {
        let unread = |input: &Input| matches!(input, Input::Cell(_));
        self.result == NO_CELL && !self.inputs.iter().any(unread)
    }

    /// What it is, in words; `name` names cells.
    pub(crate) fn words(&self, name: &impl Fn(u32) -> String) -> String {
        let input = |i: &Input| match i {
            Input::Cell(cell) => name(*cell),
            Input::Value(value) => value.to_string(),
        };
        let inputs: Vec<String> = self.inputs[..self.kind.operands()]
            .iter()
            .map(input)
            .collect();
        let word = match self.kind {
            Kind::Op(op) => op.name(),
            Kind::CompareSwap => "cas",
        };
        format!("{word} {} by {}", name(self.cell), inputs.join(", "))
    }
}
