//! *RMA* [Baumann et al., VMCAI 2018, section 3]: remote operations that the network does later. A put
//! or get is *issued* by its process; the network then reads its source, and later
//! writes that value to its target, each half at any time. `flush(p)` waits until no
//! own operation with remote side `p` is pending.
//!
//! | [Baumann et al., VMCAI 2018] | here |
//! |---|---|
//! | remote statement `s` | [`Operation`]: an edge, with the cells that it reads and writes (a computed index makes several) |
//! | `active(s)` | phase of a slot: 0 free, 1 issued, 2 read |
//! | the value read | the slot's value |
//!
//! Each operation has `k` *slots*. Rules, all atomic:
//!
//! | step of the original | in the reduced program |
//! |---|---|
//! | put, get | the first free slot gets phase 1; if there is none, `assert` fails ([`Full::Fails`]) or the step waits ([`Full::Blocks`]) |
//! | network reads (any time) | phase 1: the slot's value is that of the source; phase 2 |
//! | network writes (any time) | phase 2: the target gets the slot's value; phase 0 |
//! | `flush(p)` | waits until all slots of own operations with remote side `p` have phase 0 |
//! | `flush_local(p)` | waits until all slots of own puts with remote side `p` have no phase 1, and those of own gets phase 0 |
//! | end of a process | waits until all own slots have phase 0: `finally` speaks of drained states |
//! | load, store, atomic block, fence | unchanged: they act on memory at once |
//! | compare-and-swap, fetch-and-op, accumulate | `remote_atomics.rs` |
//!
//! **Exact.** What is pending is a multiset of operations, each unread or with a
//! value. Slots of one operation are interchangeable, so taking the first free one
//! loses nothing; every run of the machine with at most `k` pending instances of each
//! operation is a run here and the other way round. Overflow is an assertion, so a
//! proof shows that `k` was enough. With [`reduce_sets`] an operation without a free
//! slot joins a value set instead (`value_sets.rs`): any number may be pending.
//!
//! **Departures** from table 2. The network's steps are possible at every location of
//! the issuing process, not only in `remoteOps` before loads and stores: then they are
//! also there before `never` and `finally`, and certificates speak of the machine's
//! steps one by one. Slots keep which value was read, where the paper's sets keep
//! all values that could have been.

use palisade_program::cfg::{
    AssertKind, Atomic, CfgBuilder, Edge, FlushTarget, Place, Step, local,
};
use palisade_program::{
    BinOp, Cell, EdgeId, Expr, LocId, LocalExpr, LocalId, Program, Span, Template, TemplateId,
};

use crate::blocks::{Segment, assign, cells, chains, either, equals, place_of, range, set, splice};
use crate::need;
use crate::reduced::{Full, Meaning, Part, Reduced, ReducedTemplate, TemplateBuilder};
use crate::remote_atomics::{self, AtomicOperation, AtomicSlot};
use crate::value_sets::{Scratch, ValueSets, Wanted};

/// The phase of a slot that no operation uses.
pub const FREE: i64 = 0;
/// The phase of an operation that was issued.
pub const ISSUED: i64 = 1;
/// The phase of an operation whose source the network has read.
pub const READ: i64 = 2;

/// A remote statement with the cells that it reads and writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The edge that issues it.
    pub edge: EdgeId,
    /// The cell that the network reads.
    pub source: Cell,
    /// The cell that the network writes.
    pub target: Cell,
    /// The process on the remote side.
    pub remote: TemplateId,
    /// Which copy of it, if there are several.
    pub copy: Option<u32>,
    /// Whether it is a put.
    pub put: bool,
    /// When the statement means these cells.
    conditions: Vec<Step>,
}

impl Operation {
    /// Whether the network does the same with instances of both.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let cells = |o: &Self| (o.source, o.target, o.remote, o.copy, o.put);
        cells(self) == cells(other)
    }
}

/// The operations that a template can issue, by edge, then cells.
pub fn operations(program: &Program, template: &Template) -> Vec<Operation> {
    let mut all = Vec::new();
    for (index, edge) in template.cfg.edges.iter().enumerate() {
        let (source, target, put) = match &edge.step {
            Step::Put { remote, local } => (local, remote, true),
            Step::Get { local, remote } => (remote, local, false),
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => continue,
            Step::Load { .. } | Step::Store { .. } | Step::Fence(_) | Step::Atomic(_) => continue,
            Step::RemoteAtomic(_) | Step::Assert { .. } | Step::Flush(_) => continue,
        };
        let remote = if put { target } else { source };
        for (from, read) in cells(program, source) {
            for (to, written) in cells(program, target) {
                let side = if put { written } else { read };
                let Some((process, copy)) = side_of(program, remote, side) else {
                    continue;
                };
                all.push(Operation {
                    edge: EdgeId::from(index),
                    source: read,
                    target: written,
                    remote: process,
                    copy,
                    put,
                    conditions: [&from[..], &to[..]].concat(),
                });
            }
        }
    }
    all
}

/// The remote atomic operations that a template can issue.
pub fn atomic_operations(program: &Program, template: &Template) -> Vec<AtomicOperation> {
    let edges = template.cfg.edges.iter().enumerate();
    let all = edges.filter_map(|(index, edge)| match &edge.step {
        Step::RemoteAtomic(atomic) => Some((EdgeId::from(index), atomic)),
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => None,
        Step::Load { .. } | Step::Store { .. } | Step::Fence(_) | Step::Atomic(_) => None,
        Step::Put { .. } | Step::Get { .. } | Step::Assert { .. } | Step::Flush(_) => None,
    });
    all.flat_map(|(edge, atomic)| remote_atomics::operations(program, edge, atomic))
        .collect()
}

/// The process in which a remote cell lives. Front ends let remote places be
/// variables of processes only.
fn side_of(program: &Program, place: &Place, cell: Cell) -> Option<(TemplateId, Option<u32>)> {
    let home = program.global(place.var).home?;
    let element = program.variable_of(cell).1;
    Some((home.template, home.per_copy.then_some(element)))
}

/// The process on the remote side, and which copy of it.
type Side = (TemplateId, Option<u32>);

/// Whether a flush is for operations with this remote side: for certain, or where the expression is
/// not 0.
fn awaited(side: Side, target: &FlushTarget) -> LocalExpr {
    match target {
        FlushTarget::All => Expr::TRUE,
        FlushTarget::Local(whole) => awaited(side, whole),
        FlushTarget::Process { template, .. } if *template != side.0 => Expr::FALSE,
        FlushTarget::Process { copy, .. } => match (copy, side.1) {
            (Some(copy), Some(own)) => {
                Expr::binary(BinOp::Eq, copy.clone(), Expr::Const(i64::from(own)))
            }
            (Some(_) | None, _) => Expr::TRUE,
        },
    }
}

/// The most instances of an operation that can be pending at once, by the control
/// flow alone; `None` if there is no bound.
pub fn most_pending(template: &Template, operation: &Operation) -> Option<u32> {
    let side = (operation.remote, operation.copy);
    most_issued(template, operation.edge, side, !operation.put)
}

/// The most instances of what an edge issues that can be pending at once. `returns`: they end with a
/// write to the own side, so that a local flush is enough.
fn most_issued(template: &Template, issued: EdgeId, side: Side, returns: bool) -> Option<u32> {
    need::longest(&template.cfg, &|edge| {
        if let Step::Flush(target) = &template.cfg.edge(edge).step
            && awaited(side, target) == Expr::TRUE
            && (returns || !target.is_local())
        {
            return None;
        }
        Some(u32::from(edge == issued))
    })
}

/// How many slots the operations need, if none needs more than `most`.
pub fn slots_needed(program: &Program, most: u32) -> Option<u32> {
    let mut needed = 0;
    for template in &program.templates {
        for operation in operations(program, template) {
            let own = most_pending(template, &operation)?;
            needed = needed.max(own);
        }
        for operation in atomic_operations(program, template) {
            let side = (operation.remote, operation.copy);
            let returns = operation.result.is_some();
            needed = needed.max(most_issued(template, operation.edge, side, returns)?);
        }
    }
    (needed <= most).then_some(needed)
}

/// The program under RMA with at most `k` slots for each operation.
pub fn reduce(program: &Program, k: u32, full: Full) -> Reduced {
    let all = program.templates.iter().map(|t| operations(program, t));
    let all: Vec<Vec<Operation>> = all.collect();
    assemble(program, all, ((k, 0), full), None)
}

/// How many slots an operation gets, of `k` at most; all that it can need if these are no more
/// than `exact`.
fn own_slots(template: &Template, operation: &Operation, (k, exact): (u32, u32)) -> u32 {
    most_pending(template, operation).map_or(k, |need| need.min(k.max(exact)))
}

/// The program under RMA with any number of pending operations: at most `k` of each in
/// slots, the others in value sets.
pub fn reduce_sets(program: &Program, k: u32, wanted: &Wanted<'_>) -> Reduced {
    let all = program.templates.iter().map(|t| operations(program, t));
    let all: Vec<Vec<Operation>> = all.collect();
    let mut extended = program.clone();
    let slots = |template: &Template, o: &Operation| own_slots(template, o, (k, wanted.exact));
    let is_bounded = |number: usize, operation: &Operation| {
        let template = &program.templates[number];
        most_pending(template, operation).is_some_and(|need| need <= slots(template, operation))
    };
    let sets = ValueSets::new(&mut extended, &all, &is_bounded, wanted);
    let reduced = assemble(
        &extended,
        all,
        ((k, wanted.exact), Full::Blocks),
        Some(&sets),
    );
    Reduced {
        sets: Some((k, sets.cells)),
        ..reduced
    }
}

fn assemble(
    program: &Program,
    operations: Vec<Vec<Operation>>,
    room: ((u32, u32), Full),
    sets: Option<&ValueSets>,
) -> Reduced {
    let templates = program.templates.iter().zip(operations).enumerate();
    let templates = templates.map(|(number, (template, operations))| {
        Network::reduce(program, (number, template), operations, room, sets)
    });
    let mut reduced = Reduced::new(program, templates);
    // What is left are threads with common memory.
    for template in &mut reduced.program.templates {
        template.is_process = false;
    }
    for global in &mut reduced.program.globals {
        global.home = None;
    }
    reduced
}

/// A slot: its phase and its value.
type Slot = (LocalId, LocalId);

/// What a process has under way.
struct Network<'p> {
    program: &'p Program,
    template: usize,
    operations: Vec<Operation>,
    slots: Vec<Vec<Slot>>,
    atomics: Vec<(AtomicOperation, Vec<AtomicSlot>)>,
    full: Full,
    sets: Option<(&'p ValueSets, Scratch)>,
}

impl<'p> Network<'p> {
    fn reduce(
        program: &'p Program,
        (number, original): (usize, &Template),
        operations: Vec<Operation>,
        ((k, exact), full): ((u32, u32), Full),
        sets: Option<&'p ValueSets>,
    ) -> (Template, ReducedTemplate) {
        let mut builder = TemplateBuilder::new(original);
        let mut slots = Vec::new();
        for (number, operation) in operations.iter().enumerate() {
            let own = own_slots(original, operation, (k, exact));
            let number = number as u32;
            let kind = if operation.put { "put" } else { "get" };
            let slot = |i: u32| {
                let name = format!("${kind}{number}_{i}");
                let phase = Part::Phase(number, i);
                let phase = builder.local(name.clone(), phase, range(READ as u32));
                let value = builder.local(format!("{name}v"), Part::Carried(number, i), None);
                (phase, value)
            };
            slots.push((0..own).map(slot).collect());
        }
        let mut atomics = Vec::new();
        let all = atomic_operations(program, original).into_iter();
        for (number, operation) in all.enumerate() {
            let side = (operation.remote, operation.copy);
            // None of them joins a set.
            let most = k.max(exact).max(1);
            let returns = operation.result.is_some();
            let own = most_issued(original, operation.edge, side, returns);
            let own = own.map_or(most, |n| n.min(most));
            let slot = |i| AtomicSlot::new(&mut builder, &operation, number as u32, i);
            let own = (0..own).map(slot).collect();
            atomics.push((operation, own));
        }
        let sets = sets.map(|sets| {
            let value = builder.local("$moved".into(), Part::Scratch, None);
            let flag = builder.local("$flag".into(), Part::Scratch, range(1));
            (sets, Scratch { value, flag })
        });
        let network = Self {
            program,
            template: number,
            operations,
            slots,
            atomics,
            full,
            sets,
        };
        network.steps(&mut builder, original);
        network.network_steps(&mut builder, original);
        let drained = network.wait(&FlushTarget::All, original.span);
        let (template, parts) = builder.finish(drained, Vec::new());
        let operations = network.operations;
        let atomics = network.atomics.into_iter().map(|(o, _)| o).collect();
        (
            template,
            ReducedTemplate {
                operations,
                atomics,
                ..parts
            },
        )
    }

    fn steps(&self, builder: &mut TemplateBuilder, original: &Template) {
        for (index, edge) in original.cfg.edges.iter().enumerate() {
            let edge_id = EdgeId::from(index);
            let step = match &edge.step {
                Step::Put { .. } | Step::Get { .. } => self.issue(edge_id, edge.span),
                Step::Flush(target) => self.wait(target, edge.span),
                Step::Store { dst, value } => self.store(dst, value, edge),
                Step::Atomic(atomic) => self.block(atomic),
                Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {
                    edge.step.clone()
                }
                Step::Load { .. } | Step::Fence(_) | Step::Assert { .. } => edge.step.clone(),
                Step::RemoteAtomic(_) => self.issue_atomic(edge_id, edge.span),
            };
            let meaning = Meaning::Step {
                edge: edge_id,
                skip: 0,
            };
            builder.edge(
                Edge {
                    step,
                    ..edge.clone()
                },
                meaning,
            );
        }
    }

    /// The numbered operations, with their slots.
    fn all(&self) -> impl Iterator<Item = (usize, &Operation, &[Slot])> {
        let all = self.operations.iter().zip(&self.slots).enumerate();
        all.map(|(number, (o, slots))| (number, o, &slots[..]))
    }

    fn issue(&self, edge: EdgeId, span: Span) -> Step {
        let mut alternatives: Vec<Vec<Segment>> = Vec::new();
        for (number, operation, slots) in self.all().filter(|(_, o, _)| o.edge == edge) {
            let mut steps = operation.conditions.clone();
            for (phase, _) in slots {
                let mut here = steps.clone();
                here.push(Step::Assume(equals(*phase, FREE)));
                here.push(set(*phase, ISSUED));
                alternatives.push(vec![vec![here]]);
                steps.push(Step::Assume(equals(*phase, FREE).negate()));
            }
            let own = (self.template, number);
            let joining = self.sets.and_then(|(sets, scratch)| {
                Some((sets.join(self.program, own, scratch)?, scratch))
            });
            if let Some((joining, scratch)) = joining {
                steps.push(Step::Load {
                    dst: scratch.value,
                    src: place_of(self.program, operation.source),
                });
                let mut chain = vec![vec![steps]];
                chain.extend(joining);
                alternatives.push(chain);
            } else if self.sets.is_some() || self.full == Full::Fails {
                let kind = AssertKind::BufferOverflow;
                steps.push(Step::Assert {
                    cond: Expr::FALSE,
                    kind,
                });
                alternatives.push(vec![vec![steps]]);
            }
        }
        chains(alternatives, span)
    }

    fn issue_atomic(&self, edge: EdgeId, span: Span) -> Step {
        // Without a slot it may wait only where nothing is proved.
        let full = match self.sets {
            Some(_) => Full::Fails,
            None => self.full,
        };
        let own = self.atomics.iter().filter(|(o, _)| o.edge == edge);
        let ways = own.flat_map(|(o, slots)| remote_atomics::issue(o, slots, full));
        chains(ways.collect(), span)
    }

    /// A store of the process: sets that read the cell hear of it.
    fn store(&self, dst: &Place, value: &LocalExpr, edge: &Edge) -> Step {
        let mut alternatives = Vec::new();
        let mut heard = false;
        for (conditions, cell) in cells(self.program, dst) {
            heard |= self.is_heard(cell);
            let mut chain = vec![vec![conditions]];
            chain.extend(self.stored(cell, value.clone()));
            alternatives.push(chain);
        }
        if heard {
            chains(alternatives, edge.span)
        } else {
            edge.step.clone()
        }
    }

    fn is_heard(&self, cell: Cell) -> bool {
        self.sets.is_some_and(|(sets, _)| !sets.is_unread(cell))
    }

    /// Writes a cell and tells the sets that read it.
    fn stored(&self, cell: Cell, value: LocalExpr) -> Vec<Segment> {
        let dst = place_of(self.program, cell);
        let plain = vec![vec![vec![Step::Store {
            dst: dst.clone(),
            value: value.clone(),
        }]]];
        let Some((sets, scratch)) = self.sets.filter(|(s, _)| !s.is_unread(cell)) else {
            return plain;
        };
        let mut chain = vec![vec![vec![
            assign(scratch.value, value),
            Step::Store {
                dst,
                value: local(scratch.value),
            },
        ]]];
        chain.extend(sets.written(self.program, cell, scratch));
        chain
    }

    /// An atomic block: the stores inside are heard as well.
    fn block(&self, atomic: &Atomic) -> Step {
        let body = &atomic.body;
        let mut builder = CfgBuilder::new();
        for _ in body.locs() {
            builder.loc();
        }
        for edge in &body.edges {
            match &edge.step {
                Step::Store { dst, value }
                    if cells(self.program, dst)
                        .iter()
                        .any(|(_, c)| self.is_heard(*c)) =>
                {
                    for (conditions, cell) in cells(self.program, dst) {
                        let mut chain = vec![vec![conditions]];
                        chain.extend(self.stored(cell, value.clone()));
                        splice(&mut builder, edge.from, chain, edge.to, edge.span);
                    }
                }
                Step::Store { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {
                    builder.edge(edge.from, edge.step.clone(), edge.to, edge.span);
                }
                Step::Havoc { .. } | Step::Load { .. } | Step::Fence(_) | Step::Atomic(_) => {
                    builder.edge(edge.from, edge.step.clone(), edge.to, edge.span);
                }
                Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } | Step::Flush(_) => {
                    builder.edge(edge.from, edge.step.clone(), edge.to, edge.span);
                }
                Step::RemoteAtomic(_) => {
                    builder.edge(edge.from, edge.step.clone(), edge.to, edge.span);
                }
            }
        }
        Step::Atomic(Box::new(Atomic {
            kind: atomic.kind,
            body: builder.finish_whole(body.entry, body.exit),
        }))
    }

    /// Waits until no own operation that a flush is for is pending.
    fn wait(&self, target: &FlushTarget, span: Span) -> Step {
        let drained = Step::Assume(self.drained(target));
        let Some((sets, scratch)) = self.sets else {
            return drained;
        };
        let mut chain = vec![vec![vec![drained]]];
        for (number, operation, _) in self.all() {
            // Of a set it is not known which puts have read their source: some that have not may
            // stay, which adds runs only.
            if target.is_local() && operation.put {
                continue;
            }
            let own = (self.template, number);
            let unused = sets.unused(self.program, own, scratch);
            let Some(unused) = unused.filter(|_| !sets.is_shared(own)) else {
                continue;
            };
            match awaited((operation.remote, operation.copy), target) {
                Expr::TRUE => chain.push(vec![unused]),
                Expr::FALSE => {}
                sometimes @ (Expr::Const(_)
                | Expr::Atom(_)
                | Expr::Unary(..)
                | Expr::Binary(..)
                | Expr::Cond(..)) => chain.push(vec![
                    vec![Step::Assume(sometimes.clone().negate())],
                    [vec![Step::Assume(sometimes)], unused].concat(),
                ]),
            }
        }
        chains(vec![chain], span)
    }

    /// No own operation in a slot that a flush waits for is pending.
    fn drained(&self, target: &FlushTarget) -> LocalExpr {
        let mut all = Expr::TRUE;
        for (_, operation, slots) in self.all() {
            let mut free = Expr::TRUE;
            for (phase, _) in slots {
                let done = if target.is_local() && operation.put {
                    equals(*phase, ISSUED).negate()
                } else {
                    equals(*phase, FREE)
                };
                free = free.and(done);
            }
            all = all.and(unless(
                awaited((operation.remote, operation.copy), target),
                free,
            ));
        }
        for (operation, slots) in &self.atomics {
            let mut free = Expr::TRUE;
            for slot in slots {
                let done = if target.is_local() && operation.result.is_none() {
                    equals(slot.phase, FREE).or(slot.has_operands())
                } else {
                    equals(slot.phase, FREE)
                };
                free = free.and(done);
            }
            all = all.and(unless(
                awaited((operation.remote, operation.copy), target),
                free,
            ));
        }
        all
    }

    /// The network's halves, as self-loops at every location.
    fn network_steps(&self, builder: &mut TemplateBuilder, original: &Template) {
        for loc in original.cfg.locs() {
            self.atomic_steps(builder, original, loc);
            for (number, operation, slots) in self.all() {
                let span = original.cfg.edge(operation.edge).span;
                let mut add = |step, meaning| {
                    let edge = Edge {
                        from: loc,
                        to: loc,
                        step,
                        span,
                    };
                    builder.edge(edge, meaning);
                };
                for slot in slots {
                    let read = Meaning::Read {
                        source: operation.source,
                        target: operation.target,
                    };
                    add(self.read(operation, *slot, span), read);
                    let write = Meaning::Write {
                        target: operation.target,
                        value: slot.1,
                    };
                    add(self.write(operation, *slot, span), write);
                }
                let own = (self.template, number);
                if let Some((sets, scratch)) = self.sets.filter(|(s, _)| !s.is_shared(own)) {
                    let Some(mut chain) = sets.pick(self.program, own, scratch) else {
                        continue;
                    };
                    chain.extend(self.stored(operation.target, local(scratch.value)));
                    chain.push(sets.leave(self.program, own, scratch));
                    add(chains(vec![chain], span), Meaning::Pick(operation.target));
                }
            }
        }
    }

    /// The network's parts of remote atomic operations at `loc`.
    fn atomic_steps(&self, builder: &mut TemplateBuilder, original: &Template, loc: LocId) {
        for (operation, slots) in &self.atomics {
            let span = original.cfg.edge(operation.edge).span;
            let target = operation.cell;
            let mut add = |ways, meaning| {
                let step = chains(ways, span);
                let edge = Edge {
                    from: loc,
                    to: loc,
                    step,
                    span,
                };
                builder.edge(edge, meaning);
            };
            for slot in slots {
                for operand in 0..operation.inputs.len() {
                    if let Some(chain) = slot.read(self.program, operation, operand) {
                        let operand = operand as u32;
                        add(vec![chain], Meaning::AtomicRead { target, operand });
                    }
                }
                let ways = slot.apply(self.program, operation).into_iter();
                let ways = ways.map(|(steps, value)| {
                    let mut chain = vec![vec![steps]];
                    chain.extend(self.stored(target, value));
                    chain.push(vec![slot.applied(operation)]);
                    chain
                });
                add(ways.collect(), Meaning::AtomicApply(target));
                if let Some(result) = operation.result {
                    let meaning = Meaning::Write {
                        target: result,
                        value: slot.old,
                    };
                    let mut chain = vec![vec![vec![Step::Assume(equals(slot.phase, READ))]]];
                    chain.extend(self.stored(result, local(slot.old)));
                    chain.push(vec![vec![set(slot.old, 0), set(slot.phase, FREE)]]);
                    add(vec![chain], meaning);
                }
            }
        }
    }

    fn read(&self, operation: &Operation, (phase, value): Slot, span: Span) -> Step {
        let steps = vec![
            Step::Assume(equals(phase, ISSUED)),
            Step::Load {
                dst: value,
                src: place_of(self.program, operation.source),
            },
            set(phase, READ),
        ];
        either(vec![steps], span)
    }

    fn write(&self, operation: &Operation, (phase, value): Slot, span: Span) -> Step {
        let mut chain = vec![vec![vec![Step::Assume(equals(phase, READ))]]];
        chain.extend(self.stored(operation.target, local(value)));
        chain.push(vec![vec![set(value, 0), set(phase, FREE)]]);
        chains(vec![chain], span)
    }
}

/// `condition` wherever `when` holds.
fn unless(when: LocalExpr, condition: LocalExpr) -> LocalExpr {
    if when == Expr::TRUE {
        return condition;
    }
    if when == Expr::FALSE {
        return Expr::TRUE;
    }
    when.negate().or(condition)
}
