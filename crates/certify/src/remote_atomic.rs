//! *Remote atomic operations* (RMA) in certificates: compare-and-swap, fetch-and-op and
//! accumulate, whose parts `palisade_program::remote` describes. A pending one
//! ([`PendingAtomic`]) is told from others of its operation by a slot number, as puts and
//! gets are; its operands and the value that its cell held before are state variables.
//!
//! | step | rule |
//! |---|---|
//! | the operation | one more instance; operands that are expressions have their values now |
//! | network reads an operand | an operand that is a variable and was not read gets its value |
//! | network changes the cell | all operands are known: the cell changes in one step; if there is a result, the value from before is kept, else the instance is gone |
//! | network writes the result | it gets the value from before; the instance is gone |
//! | flush(p) | only if no own instance has its remote side at p |
//!
//! That operations of one process on one cell change it in the order of issue is not
//! used: what is proved here holds for every order.

use crate::buffer::Buffer;
use crate::expression::joined;
use crate::remote::{Processes, named};
use crate::state::StateVar;
use crate::steps::{Effect, Explicit, Trouble, before, number, overflow, unsupported};
use palisade_logic::{Formula, Overflow, Term, Var};
use palisade_program::{
    BinOp, Cell, Change, Instance, Operand, Program, RemoteAtomic, RemoteOp, Span, Step, TemplateId,
};

/// Beyond the numbers of puts and gets: operations of this kind in state variables.
const ATOMIC: u32 = 1 << 14;
/// Variables of one slot: the value from before, and up to two operands.
const PER_SLOT: u32 = 3;

/// A remote atomic operation with its cells.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AtomicOperation {
    /// The number of its edge.
    pub edge: u32,
    /// The cell that changes.
    pub cell: Cell,
    /// For each operand the cell from which the network reads it; none for expressions.
    pub inputs: Vec<Option<Cell>>,
    /// The cell that gets the value from before.
    pub result: Option<Cell>,
    /// The process on the remote side.
    pub remote: TemplateId,
    /// Which copy of it; `None` if it is the only one.
    pub copy: Option<u32>,
}

impl AtomicOperation {
    /// Whether all operands of a pending instance that the network has to read are read.
    pub(crate) fn is_read(&self, pending: PendingAtomic) -> bool {
        let mut inputs = self.inputs.iter().enumerate();
        inputs.all(|(i, cell)| cell.is_none() || pending.got >> i & 1 == 1)
    }
}

/// A pending instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PendingAtomic {
    /// The number of the operation among those of its template.
    pub operation: u32,
    /// Its slot.
    pub slot: u32,
    /// Which operands have values, one bit for each; 0 once it was applied.
    pub got: u32,
    /// Whether the cell has changed and the result is still to be written.
    pub applied: bool,
}

/// Whether an operation's number in a [`StateVar::Carried`] is one of a remote atomic
/// operation, and which.
pub(crate) const fn atomic_number(operation: u32) -> Option<u32> {
    operation.checked_sub(ATOMIC)
}

impl PendingAtomic {
    const fn var(self, thread: u32, which: u32) -> StateVar {
        StateVar::Carried {
            thread,
            operation: ATOMIC + self.operation,
            slot: PER_SLOT * self.slot + which,
        }
    }

    /// The value that the cell held before.
    pub const fn old(self, thread: u32) -> StateVar {
        self.var(thread, 0)
    }

    /// An operand.
    pub const fn input(self, thread: u32, at: u32) -> StateVar {
        self.var(thread, 1 + at)
    }

    /// The state variables that exist.
    pub(crate) fn vars(self, thread: u32) -> Vec<StateVar> {
        if self.applied {
            return vec![self.old(thread)];
        }
        let known = (0..PER_SLOT - 1).filter(|i| self.got >> i & 1 == 1);
        known.map(|i| self.input(thread, i)).collect()
    }
}

/// All remote atomic operations of a template, in ascending order: an operation's number
/// is its position.
pub fn atomic_operations(program: &Program, template: TemplateId) -> Vec<AtomicOperation> {
    let mut all = Vec::new();
    for (index, edge) in program.template(template).cfg.edges.iter().enumerate() {
        if let Step::RemoteAtomic(atomic) = &edge.step {
            all.extend(choices(program, index as u32, atomic));
        }
    }
    all.sort_unstable();
    all
}

fn choices(program: &Program, edge: u32, atomic: &RemoteAtomic) -> Vec<AtomicOperation> {
    let Some(home) = program.global(atomic.remote.var).home else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for cell in named(program, &atomic.remote) {
        let mut inputs: Vec<Vec<Option<Cell>>> = vec![Vec::new()];
        for operand in atomic.change.operands() {
            let cells = match operand {
                Operand::Value(_) => vec![None],
                Operand::Place(place) => named(program, place).into_iter().map(Some).collect(),
            };
            let longer = |list: &Vec<Option<Cell>>| {
                let own = cells.iter().map(|c| [&list[..], &[*c]].concat());
                own.collect::<Vec<_>>()
            };
            inputs = inputs.iter().flat_map(longer).collect();
        }
        let results = match &atomic.result {
            Some(place) => named(program, place).into_iter().map(Some).collect(),
            None => vec![None],
        };
        for list in &inputs {
            all.extend(results.iter().map(|result| AtomicOperation {
                edge,
                cell,
                inputs: list.clone(),
                result: *result,
                remote: home.template,
                copy: home.per_copy.then(|| program.variable_of(cell).1),
            }));
        }
    }
    all
}

impl Buffer {
    /// The shape with one more instance of a remote atomic operation, and the instance;
    /// `got` tells which operands have values.
    pub(crate) fn with_atomic(&self, operation: u32, got: u32) -> (Self, PendingAtomic) {
        let own = self.atomics.iter().filter(|p| p.operation == operation);
        let slot = own.fold(0, |free, p| free + u32::from(p.slot == free));
        let new = PendingAtomic {
            operation,
            slot,
            got,
            applied: false,
        };
        let mut after = self.clone();
        after.atomics.push(new);
        after.atomics.sort_unstable();
        (after, new)
    }

    /// Whether each slot is used once, in order.
    pub(crate) fn atomics_are_canonical(&self) -> bool {
        let key = |p: &PendingAtomic| (p.operation, p.slot);
        let ascending = self.atomics.windows(2).all(|w| key(&w[0]) < key(&w[1]));
        ascending && self.atomics.iter().all(|p| !p.applied || p.got == 0)
    }
}

/// The network does a part of a pending remote atomic operation of `thread`.
pub(crate) fn network(
    program: &Program,
    (thread, instance): (u32, Instance),
    processes: Processes<'_>,
    explicit: &dyn Explicit,
    span: Span,
) -> Result<Vec<Effect>, Trouble> {
    let buffer = &processes.buffers[thread as usize];
    let all = atomic_operations(program, instance.template);
    let mut effects = Vec::new();
    for (at, pending) in buffer.atomics.iter().enumerate() {
        // Numbers are in range: the certificate is well formed.
        let operation = &all[pending.operation as usize];
        let value =
            |var: StateVar| -> Result<Term, Trouble> { Ok(before(explicit, number(var, span)?)) };
        let write = |updates: Vec<(Var, Term)>, guard, cell: Option<(Cell, &Term)>, after| {
            let mut adds = Vec::new();
            if let Some((cell, value)) = cell {
                for element in processes.listening(program, (thread, buffer), cell, span)? {
                    adds.push((element, value.clone()));
                }
            }
            Ok::<Effect, Trouble>(Effect {
                guard,
                written: updates.iter().map(|(var, _)| *var).collect(),
                updates: updates.into_iter().collect(),
                to: None,
                buffer: after,
                adds,
                picks: Vec::new(),
            })
        };
        let mut after = buffer.clone();
        if let (true, Some(result)) = (pending.applied, operation.result) {
            after.atomics.remove(at);
            let (to, old) = (
                number(StateVar::Cell(result), span)?,
                value(pending.old(thread))?,
            );
            let update = vec![(to, old.clone())];
            effects.push(write(update, Formula::True, Some((result, &old)), after)?);
            continue;
        }
        for (i, source) in operation.inputs.iter().enumerate() {
            let Some(source) = source.filter(|_| pending.got >> i & 1 == 0) else {
                continue;
            };
            let mut after = buffer.clone();
            after.atomics[at].got |= 1 << i;
            let to = number(pending.input(thread, i as u32), span)?;
            let update = vec![(to, value(StateVar::Cell(source))?)];
            effects.push(write(update, Formula::True, None, after)?);
        }
        if pending.got != (1 << operation.inputs.len()) - 1 {
            continue;
        }
        let old = value(StateVar::Cell(operation.cell))?;
        let mut inputs = Vec::new();
        for i in 0..operation.inputs.len() as u32 {
            inputs.push(value(pending.input(thread, i))?);
        }
        let mut updates = Vec::new();
        if operation.result.is_some() {
            after.atomics[at].applied = true;
            after.atomics[at].got = 0;
            updates.push((number(pending.old(thread), span)?, old.clone()));
        } else {
            after.atomics.remove(at);
        }
        let edge = program
            .template(instance.template)
            .cfg
            .edges
            .get(operation.edge as usize);
        let Some(Step::RemoteAtomic(atomic)) = edge.map(|e| &e.step) else {
            return Err(unsupported("an operation that is none", span));
        };
        for (guard, new) in changed(&atomic.change, &old, &inputs, span)? {
            let mut updates = updates.clone();
            updates.push((number(StateVar::Cell(operation.cell), span)?, new.clone()));
            let cell = Some((operation.cell, &new));
            effects.push(write(updates, guard, cell, after.clone())?);
        }
    }
    Ok(effects)
}

/// The new values of a cell, each with its condition.
pub(crate) fn changed(
    change: &Change,
    old: &Term,
    inputs: &[Term],
    span: Span,
) -> Result<Vec<(Formula, Term)>, Trouble> {
    let fits = |f: Result<Formula, Overflow>| f.map_err(|e| overflow(e, span));
    let Some(first) = inputs.first() else {
        return Err(unsupported("an operation without operand", span));
    };
    let one = |term: &Term| Ok(vec![(Formula::True, term.clone())]);
    match change {
        Change::CompareSwap { .. } => {
            let same = fits(Formula::eq(old, first))?;
            let Some(new) = inputs.get(1) else {
                return Err(unsupported("an operation without operand", span));
            };
            Ok(vec![
                (same.clone(), new.clone()),
                (same.negated(), old.clone()),
            ])
        }
        Change::Op { op, .. } => match op {
            RemoteOp::Replace => one(first),
            RemoteOp::NoOp => one(old),
            RemoteOp::Sum => one(&old.plus(first).map_err(|e| overflow(e, span))?),
            RemoteOp::Min | RemoteOp::Max => {
                let below = fits(Formula::le(old, first))?;
                let (yes, no) = if *op == RemoteOp::Min {
                    (old, first)
                } else {
                    (first, old)
                };
                Ok(vec![
                    (below.clone(), yes.clone()),
                    (below.negated(), no.clone()),
                ])
            }
            RemoteOp::BitAnd => one(&joined(BinOp::BitAnd, old, first, span)?),
            RemoteOp::BitOr => one(&joined(BinOp::BitOr, old, first, span)?),
            RemoteOp::BitXor => one(&joined(BinOp::BitXor, old, first, span)?),
        },
    }
}
