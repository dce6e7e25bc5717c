//! *Remote atomic operations* under RMA (`palisade_program::remote` has their parts):
//! compare-and-swap, fetch-and-op and accumulate. Each statement has `k` slots as puts
//! and gets do, with one variable for each operand and one for the value from before.
//!
//! | step of the original | in the reduced program, atomically |
//! |---|---|
//! | the operation | a free slot gets phase 1; operands that are expressions are evaluated. Without a free slot an assertion fails, or (hunting) the step waits |
//! | network reads an operand (any time) | phase 1: the operand is that of its cell, and marked as read |
//! | network changes the cell (any time) | phase 1, all operands read: the cell changes; with a result the old value is kept and the phase is 2, else 0 |
//! | network writes the result (any time) | phase 2: the result gets the old value; phase 0 |
//! | flush, end of a process | wait for phase 0 |
//!
//! **Departure.** Operations of one process on one cell change it in the order of issue;
//! here they do so in any order. That has every run of the machine and may have more: a
//! violation that the machine cannot run is none. With at most one such operation
//! pending on a cell there is no difference.
//!
//! They never join value sets: more than `k` at once is an overflow there as well.

use palisade_program::cfg::{AssertKind, Place, Step, local};
use palisade_program::{
    BinOp, Cell, Change, EdgeId, Expr, LocalExpr, LocalId, Operand, Program, RemoteAtomic,
    RemoteOp, TemplateId,
};

use crate::blocks::{Segment, assign, cells, equals, place_of, range, set};
use crate::reduced::{Full, Part, TemplateBuilder};
use crate::rma::{FREE, ISSUED, READ};

/// An operand with its cell, if it is read by the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// Evaluated when the operation is issued.
    Value(LocalExpr),
    /// Read by the network.
    Cell(Cell),
}

/// A remote atomic operation with its cells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AtomicOperation {
    /// The edge that issues it.
    pub edge: EdgeId,
    /// The cell that changes.
    pub cell: Cell,
    /// The operands.
    pub inputs: Vec<Input>,
    /// The cell that gets the value from before.
    pub result: Option<Cell>,
    /// The process on the remote side.
    pub remote: TemplateId,
    /// Which copy of it, if there are several.
    pub copy: Option<u32>,
    change: Change,
    /// When the statement means these cells.
    conditions: Vec<Step>,
}

/// All choices of cells of a remote atomic operation.
pub(crate) fn operations(
    program: &Program,
    edge: EdgeId,
    atomic: &RemoteAtomic,
) -> Vec<AtomicOperation> {
    let Some(home) = program.global(atomic.remote.var).home else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (conditions, cell) in cells(program, &atomic.remote) {
        all.push(AtomicOperation {
            edge,
            cell,
            inputs: Vec::new(),
            result: None,
            remote: home.template,
            copy: home.per_copy.then(|| program.variable_of(cell).1),
            change: atomic.change.clone(),
            conditions,
        });
    }
    for operand in atomic.change.operands() {
        all = match operand {
            Operand::Value(e) => {
                let with = |mut o: AtomicOperation| {
                    o.inputs.push(Input::Value(e.clone()));
                    o
                };
                all.into_iter().map(with).collect()
            }
            Operand::Place(place) => choose(program, all, place, &|o, cell| {
                o.inputs.push(Input::Cell(cell));
            }),
        };
    }
    match &atomic.result {
        Some(place) => choose(program, all, place, &|o, cell| o.result = Some(cell)),
        None => all,
    }
}

/// The operations with each cell that a place may name.
fn choose(
    program: &Program,
    all: Vec<AtomicOperation>,
    place: &Place,
    note: &dyn Fn(&mut AtomicOperation, Cell),
) -> Vec<AtomicOperation> {
    let mut longer = Vec::new();
    for operation in all {
        for (conditions, cell) in cells(program, place) {
            let mut own = operation.clone();
            own.conditions.extend(conditions);
            note(&mut own, cell);
            longer.push(own);
        }
    }
    longer
}

/// A slot: its phase, whether each operand was read (where the network reads it), the
/// operands, and the value from before.
pub(crate) struct AtomicSlot {
    pub(crate) phase: LocalId,
    got: Vec<Option<LocalId>>,
    inputs: Vec<LocalId>,
    pub(crate) old: LocalId,
}

impl AtomicSlot {
    /// All operands that the network has to read are read.
    pub(crate) fn has_operands(&self) -> LocalExpr {
        let got = self.got.iter().flatten();
        got.fold(Expr::TRUE, |all, flag| all.and(equals(*flag, 1)))
    }

    /// Declares the variables of a slot.
    pub(crate) fn new(
        builder: &mut TemplateBuilder,
        operation: &AtomicOperation,
        number: u32,
        slot: u32,
    ) -> Self {
        let name = format!("$rmw{number}_{slot}");
        let part = Part::AtomicPhase(number, slot);
        let phase = builder.local(name.clone(), part, range(READ as u32));
        let mut got = Vec::new();
        let mut inputs = Vec::new();
        for (i, input) in operation.inputs.iter().enumerate() {
            let i = i as u32;
            let part = Part::AtomicInput(number, slot, i);
            inputs.push(builder.local(format!("{name}a{i}"), part, None));
            got.push(match input {
                Input::Value(_) => None,
                Input::Cell(_) => {
                    let part = Part::AtomicGot(number, slot, i);
                    Some(builder.local(format!("{name}g{i}"), part, range(1)))
                }
            });
        }
        let old = builder.local(format!("{name}v"), Part::AtomicOld(number, slot), None);
        Self {
            phase,
            got,
            inputs,
            old,
        }
    }

    /// The variables are as in a free slot, but for the value from before.
    fn cleared(&self) -> Vec<Step> {
        let got = self.got.iter().flatten().map(|g| set(*g, 0));
        let inputs = self.inputs.iter().map(|i| set(*i, 0));
        got.chain(inputs).collect()
    }

    /// The network reads operand number `at`, if it is one that it reads.
    pub(crate) fn read(
        &self,
        program: &Program,
        operation: &AtomicOperation,
        at: usize,
    ) -> Option<Vec<Segment>> {
        let (Input::Cell(source), Some(got)) = (&operation.inputs[at], self.got[at]) else {
            return None;
        };
        let steps = vec![
            Step::Assume(equals(self.phase, ISSUED)),
            Step::Assume(equals(got, 0)),
            Step::Load {
                dst: self.inputs[at],
                src: place_of(program, *source),
            },
            set(got, 1),
        ];
        Some(vec![vec![steps]])
    }

    /// The network changes the cell: each way, with the new value; the value from before
    /// is in its variable.
    pub(crate) fn apply(
        &self,
        program: &Program,
        operation: &AtomicOperation,
    ) -> Vec<(Vec<Step>, LocalExpr)> {
        let mut ready = vec![Step::Assume(equals(self.phase, ISSUED))];
        for got in self.got.iter().flatten() {
            ready.push(Step::Assume(equals(*got, 1)));
        }
        ready.push(Step::Load {
            dst: self.old,
            src: place_of(program, operation.cell),
        });
        let ways = self.ways(&operation.change).into_iter();
        ways.map(|(condition, value)| {
            let mut steps = ready.clone();
            steps.push(Step::Assume(condition));
            (steps, value)
        })
        .collect()
    }

    /// The new values of a cell, each with its condition.
    fn ways(&self, change: &Change) -> Vec<(LocalExpr, LocalExpr)> {
        let old = || local(self.old);
        let input = |i: usize| local(self.inputs[i]);
        let binary = |op| Expr::binary(op, old(), input(0));
        let lesser = |op| {
            let first = Expr::binary(op, old(), input(0));
            vec![(first.clone(), old()), (first.negate(), input(0))]
        };
        match change {
            Change::Op { op, .. } => match op {
                RemoteOp::Replace => vec![(Expr::TRUE, input(0))],
                RemoteOp::NoOp => vec![(Expr::TRUE, old())],
                RemoteOp::Sum => vec![(Expr::TRUE, binary(BinOp::Add))],
                RemoteOp::Min => lesser(BinOp::Le),
                RemoteOp::Max => lesser(BinOp::Ge),
                RemoteOp::BitAnd => vec![(Expr::TRUE, binary(BinOp::BitAnd))],
                RemoteOp::BitOr => vec![(Expr::TRUE, binary(BinOp::BitOr))],
                RemoteOp::BitXor => vec![(Expr::TRUE, binary(BinOp::BitXor))],
            },
            Change::CompareSwap { .. } => {
                let same = binary(BinOp::Eq);
                vec![(same.clone(), input(1)), (same.negate(), old())]
            }
        }
    }

    /// What is done after the cell has changed.
    pub(crate) fn applied(&self, operation: &AtomicOperation) -> Vec<Step> {
        let mut steps = self.cleared();
        if operation.result.is_some() {
            steps.push(set(self.phase, READ));
        } else {
            steps.push(set(self.old, 0));
            steps.push(set(self.phase, FREE));
        }
        steps
    }
}

/// The operation is issued: a chain of segments for each slot, and one without.
pub(crate) fn issue(
    operation: &AtomicOperation,
    slots: &[AtomicSlot],
    full: Full,
) -> Vec<Vec<Segment>> {
    let mut alternatives = Vec::new();
    let mut steps = operation.conditions.clone();
    for slot in slots {
        let mut here = steps.clone();
        here.push(Step::Assume(equals(slot.phase, FREE)));
        for (input, variable) in operation.inputs.iter().zip(&slot.inputs) {
            if let Input::Value(e) = input {
                here.push(assign(*variable, e.clone()));
            }
        }
        here.push(set(slot.phase, ISSUED));
        alternatives.push(vec![vec![here]]);
        steps.push(Step::Assume(equals(slot.phase, FREE).negate()));
    }
    if full == Full::Fails {
        steps.push(Step::Assert {
            cond: Expr::FALSE,
            kind: AssertKind::BufferOverflow,
        });
        alternatives.push(vec![vec![steps]]);
    }
    alternatives
}
