//! *Remote operations* (RMA) in certificates: what a process has issued and the
//! network has not yet done. An [`Operation`] is a put or get with the cells that the
//! network reads and writes; a computed index makes several of one statement. Of each
//! operation any number of instances may be pending, each unread or with the value
//! that was read: a multiset.
//!
//! In a certificate each pending instance is one [`Pending`] of a thread's
//! [`Buffer`], told from others of its operation by a slot number; its
//! value, once read, is [`StateVar::Carried`]. Slots are names only: a state of the
//! model matches if its pending instances can be given slots such that all agrees.
//! Hence a new instance may take any slot, and takes the first that is free.
//!
//! | step | rule |
//! |---|---|
//! | put, get | one more instance, unread |
//! | network reads | an unread instance: its value is that of its source now |
//! | network writes | a read instance: its target gets its value, the instance is gone |
//! | flush(p) | only if no own instance has its remote side at p |
//! | `flush_local(p)` | the same but for puts that are read: their own side is done |
//!
//! The network's steps are possible whenever there is such an instance.
//!
//! **Sets** [Baumann et al., VMCAI 2018, section 4.2]. A certificate that says how many instances of one
//! operation it knows exactly may have others: an operation in
//! [`Buffer::sets`](crate::Buffer::sets) has one or more instances beyond those in
//! slots, and an atom over [`StateVar::Element`] speaks of each value that one of them
//! may write: the value of each that was read, and the value of the source now if one
//! was not. A literal holds if *all* these values satisfy the atom, a negated one if
//! *none* does. No atom speaks of two sets. Rules, beside those above:
//!
//! | step | rule |
//! |---|---|
//! | put, get, and the slots are used up | the set has the value of the source; or, if it was in use, that value joins it |
//! | any write of a value to a cell | the value joins every set in use whose operation reads the cell |
//! | network reads | nothing changes: the value of the source is in the set |
//! | network writes | the target gets one value of the set; instances are left, or none |
//! | `flush_local(p)` | does not wait for sets of puts, all of which may be read |
//!
//! Puts, or gets, of a process with the same cells and the same remote side are alike: what the
//! network does with an instance of one it may do with one of another. They share one set,
//! which has the number of the first of them ([`set_of`]).
//!
//! A value that joins must satisfy what is said of the set, beside all that were in it.
//! There is at least one value in a set that is in use, so what is said of all is
//! true of one.

use crate::buffer::Buffer;
use crate::state::{StateVar, fresh_var};
use crate::steps::{Effect, Explicit, Trouble, before, number};
use palisade_logic::{Formula, Term, Var};
use palisade_program::{
    Cell, Expr, FlushTarget, Instance, LocalExpr, Place, Program, Span, Step, TemplateId,
};

/// A put or get with its cells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Operation {
    /// The number of its edge.
    pub edge: u32,
    /// The cell that the network reads.
    pub source: Cell,
    /// The cell that the network writes.
    pub target: Cell,
    /// The process on the remote side.
    pub remote: TemplateId,
    /// Which copy of it; `None` if it is the only one.
    pub copy: Option<u32>,
    /// Whether it is a put: its own side is done when its source is read.
    pub put: bool,
}

/// A pending instance of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pending {
    /// The number of the operation among those of its template.
    pub operation: u32,
    /// Its slot.
    pub slot: u32,
    /// Whether the network has read its source.
    pub read: bool,
}

/// All operations of a template, in ascending order: an operation's number is its
/// position.
pub fn operations(program: &Program, template: TemplateId) -> Vec<Operation> {
    let mut all = Vec::new();
    for (index, edge) in program.template(template).cfg.edges.iter().enumerate() {
        let (from, to, remote) = match &edge.step {
            Step::Put { remote, local } => (local, remote, remote),
            Step::Get { local, remote } => (remote, local, remote),
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => continue,
            Step::Load { .. } | Step::Store { .. } | Step::Fence(_) | Step::Atomic(_) => continue,
            // Have numbers of their own.
            Step::RemoteAtomic(_) => continue,
            Step::Assert { .. } | Step::Flush(_) => continue,
        };
        let Some(home) = program.global(remote.var).home else {
            continue;
        };
        for source in named(program, from) {
            for target in named(program, to) {
                let put = std::ptr::eq(remote, to);
                let side = if put { target } else { source };
                let copy = home.per_copy.then(|| program.variable_of(side).1);
                all.push(Operation {
                    edge: index as u32,
                    source,
                    target,
                    remote: home.template,
                    copy,
                    put,
                });
            }
        }
    }
    all.sort_unstable();
    all
}

/// The number of the set for instances of an operation: that of the first operation that is
/// like it.
pub fn set_of(operations: &[Operation], number: u32) -> u32 {
    let alike = |o: &Operation| (o.source, o.target, o.remote, o.copy, o.put);
    let own = operations.get(number as usize).map(alike);
    let first = operations.iter().position(|o| Some(alike(o)) == own);
    first.map_or(number, |first| first as u32)
}

/// The cells that a place may name.
pub(crate) fn named(program: &Program, place: &Place) -> Vec<Cell> {
    let count = program.global(place.var).cell_count() as u32;
    let elements = match place.index {
        Some(Expr::Const(i)) if (0..i64::from(count)).contains(&i) => i as u32..i as u32 + 1,
        Some(_) => 0..count,
        None => 0..1,
    };
    elements.map(|i| program.cell(place.var, i)).collect()
}

/// Whether a flush waits for an operation.
pub(crate) enum Awaited<'a> {
    /// It does.
    Always,
    /// It does not.
    Never,
    /// It does if the expression has this value.
    If(&'a LocalExpr, u32),
}

/// Whether a flush waits for an operation whose remote side is this copy of a process.
pub(crate) fn awaited(
    target: &FlushTarget,
    (remote, copy): (TemplateId, Option<u32>),
) -> Awaited<'_> {
    match target {
        FlushTarget::All => Awaited::Always,
        FlushTarget::Local(whole) => awaited(whole, (remote, copy)),
        FlushTarget::Process { template, .. } if *template != remote => Awaited::Never,
        FlushTarget::Process { copy: named, .. } => match (named, copy) {
            (Some(named), Some(own)) => Awaited::If(named, own),
            (Some(_) | None, _) => Awaited::Always,
        },
    }
}

impl Buffer {
    /// The shape with one more instance of an operation.
    pub(crate) fn with_issued(&self, operation: u32) -> Self {
        let mut after = self.clone();
        // In order, so that the first gap is the first free slot.
        let own = self.pending.iter().filter(|p| p.operation == operation);
        let slot = own.fold(0, |free, p| free + u32::from(p.slot == free));
        after.pending.push(Pending {
            operation,
            slot,
            read: false,
        });
        after.pending.sort_unstable();
        after
    }

    /// Whether each slot is used once, in order.
    pub(crate) fn pending_is_canonical(&self) -> bool {
        let key = |p: &Pending| (p.operation, p.slot);
        let ascending = self.pending.windows(2).all(|w| key(&w[0]) < key(&w[1]));
        ascending && self.sets.windows(2).all(|w| w[0] < w[1])
    }
}

/// All processes: what each has under way.
#[derive(Clone, Copy)]
pub(crate) struct Processes<'a> {
    pub(crate) instances: &'a [Instance],
    pub(crate) buffers: &'a [Buffer],
}

impl Processes<'_> {
    /// The sets in use that a value written to `cell` joins, as the variables of their
    /// elements; `own` is a thread whose buffer may have changed since.
    pub(crate) fn listening(
        &self,
        program: &Program,
        own: (u32, &Buffer),
        cell: Cell,
        span: Span,
    ) -> Result<Vec<Var>, Trouble> {
        let mut elements = Vec::new();
        for (thread, instance) in self.instances.iter().enumerate() {
            let thread = thread as u32;
            let buffer = if thread == own.0 {
                own.1
            } else {
                &self.buffers[thread as usize]
            };
            if buffer.sets.is_empty() {
                continue;
            }
            let all = operations(program, instance.template);
            for &operation in &buffer.sets {
                if all[operation as usize].source == cell {
                    elements.push(number(StateVar::Element { thread, operation }, span)?);
                }
            }
        }
        Ok(elements)
    }
}

/// The network does one half of a pending operation of `thread`, or writes a value of a
/// set.
pub(crate) fn network(
    program: &Program,
    (thread, instance): (u32, Instance),
    processes: Processes<'_>,
    explicit: &dyn Explicit,
    span: Span,
) -> Result<Vec<Effect>, Trouble> {
    let buffer = &processes.buffers[thread as usize];
    let all = operations(program, instance.template);
    let heard = |cell: Cell, value: &Term| -> Result<Vec<(Var, Term)>, Trouble> {
        let elements = processes.listening(program, (thread, buffer), cell, span)?;
        Ok(elements.into_iter().map(|e| (e, value.clone())).collect())
    };
    let mut effects = Vec::new();
    for (at, pending) in buffer.pending.iter().enumerate() {
        // Numbers are in range: the certificate is well formed.
        let operation = &all[pending.operation as usize];
        let carried = number(StateVar::carried(thread, *pending), span)?;
        let mut after = buffer.clone();
        let mut adds = Vec::new();
        let (to, value) = if pending.read {
            after.pending.remove(at);
            let value = before(explicit, carried);
            adds = heard(operation.target, &value)?;
            (number(StateVar::Cell(operation.target), span)?, value)
        } else {
            after.pending[at].read = true;
            let source = number(StateVar::Cell(operation.source), span)?;
            (carried, before(explicit, source))
        };
        effects.push(writing(to, value, adds, after));
    }
    for (at, &operation) in buffer.sets.iter().enumerate() {
        let target = all[operation as usize].target;
        let element = number(StateVar::Element { thread, operation }, span)?;
        let one = fresh_var(1);
        let value = Term::var(one);
        let to = number(StateVar::Cell(target), span)?;
        let mut emptied = buffer.clone();
        emptied.sets.remove(at);
        for after in [buffer.clone(), emptied] {
            let adds = heard(target, &value)?;
            effects.push(Effect {
                picks: vec![(element, one)],
                ..writing(to, value.clone(), adds, after)
            });
        }
    }
    Ok(effects)
}

/// The effect that a variable gets a value.
fn writing(to: Var, value: Term, adds: Vec<(Var, Term)>, buffer: Buffer) -> Effect {
    Effect {
        guard: Formula::True,
        written: vec![to],
        updates: [(to, value)].into_iter().collect(),
        to: None,
        buffer,
        adds,
        picks: Vec::new(),
    }
}
