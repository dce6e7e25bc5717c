//! *RMA* (seed 004, section 3): remote operations that the network does later. A put
//! or get is *issued* by its process; the network then reads its source, and later
//! writes that value to its target, each half at any time. `flush(p)` waits until no
//! own operation with remote side `p` is pending.
//!
//! | seed 004 | here |
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
//! | end of a process | waits until all own slots have phase 0: `finally` speaks of drained states |
//! | load, store, atomic block, fence | unchanged: they act on memory at once |
//!
//! **Exact.** What is pending is a multiset of operations, each unread or with a
//! value. Slots of one operation are interchangeable, so taking the first free one
//! loses nothing; every run of the machine with at most `k` pending instances of each
//! operation is a run here and the other way round. Overflow is an assertion, so a
//! proof shows that `k` was enough.
//!
//! **Departures** from table 2. The network's steps are possible at every location of
//! the issuing process, not only in `remoteOps` before loads and stores: then they are
//! also there before `never` and `finally`, and certificates speak of the machine's
//! steps one by one. Slots keep which value was read, where the paper's sets keep
//! all values that could have been.

use palisade_program::cfg::{AssertKind, Edge, FlushTarget, Place, Step, local};
use palisade_program::{
    BinOp, Cell, EdgeId, Expr, LocalExpr, LocalId, Program, Span, Template, TemplateId,
};

use crate::blocks::{cells, either, equals, place_of, range, set};
use crate::need;
use crate::reduced::{Full, Meaning, OVERFLOW, Part, Reduced, ReducedTemplate, TemplateBuilder};

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

/// The process in which a remote cell lives. Front ends let remote places be
/// variables of processes only.
fn side_of(program: &Program, place: &Place, cell: Cell) -> Option<(TemplateId, Option<u32>)> {
    let home = program.global(place.var).home?;
    let element = program.variable_of(cell).1;
    Some((home.template, home.per_copy.then_some(element)))
}

/// Whether a flush waits for the operation: for certain, or where the expression is
/// not 0.
fn awaited(operation: &Operation, target: &FlushTarget) -> LocalExpr {
    match target {
        FlushTarget::All => Expr::TRUE,
        FlushTarget::Process { template, .. } if *template != operation.remote => Expr::FALSE,
        FlushTarget::Process { copy, .. } => match (copy, operation.copy) {
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
    need::longest(&template.cfg, &|edge| {
        if let Step::Flush(target) = &template.cfg.edge(edge).step
            && awaited(operation, target) == Expr::TRUE
        {
            return None;
        }
        Some(u32::from(edge == operation.edge))
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
    }
    (needed <= most).then_some(needed)
}

/// The program under RMA with at most `k` slots for each operation.
pub fn reduce(program: &Program, k: u32, full: Full) -> Reduced {
    let templates = program.templates.iter();
    let mut reduced = Reduced::new(
        program,
        templates.map(|t| Network::reduce(program, t, k, full)),
    );
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
    operations: Vec<Operation>,
    slots: Vec<Vec<Slot>>,
    full: Full,
}

impl<'p> Network<'p> {
    fn reduce(
        program: &'p Program,
        original: &Template,
        k: u32,
        full: Full,
    ) -> (Template, ReducedTemplate) {
        let mut builder = TemplateBuilder::new(original);
        let operations = operations(program, original);
        let mut slots = Vec::new();
        for (number, operation) in operations.iter().enumerate() {
            let own = most_pending(original, operation).map_or(k, |need| need.min(k));
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
        let network = Self {
            program,
            operations,
            slots,
            full,
        };
        network.steps(&mut builder, original);
        network.network_steps(&mut builder, original);
        let drained = Step::Assume(network.drained(&FlushTarget::All));
        let (template, parts) = builder.finish(drained, Vec::new());
        let operations = network.operations;
        (
            template,
            ReducedTemplate {
                operations,
                ..parts
            },
        )
    }

    fn steps(&self, builder: &mut TemplateBuilder, original: &Template) {
        for (index, edge) in original.cfg.edges.iter().enumerate() {
            let edge_id = EdgeId::from(index);
            let step = match &edge.step {
                Step::Put { .. } | Step::Get { .. } => self.issue(edge_id, edge.span),
                Step::Flush(target) => Step::Assume(self.drained(target)),
                Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {
                    edge.step.clone()
                }
                Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => edge.step.clone(),
                Step::Atomic(_) | Step::Assert { .. } => edge.step.clone(),
                // Stays, and the abstraction refuses it with its span.
                Step::RemoteAtomic(_) => edge.step.clone(),
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

    /// The operations of an edge, with their slots.
    fn of_edge(&self, edge: EdgeId) -> impl Iterator<Item = (&Operation, &[Slot])> {
        let all = self.operations.iter().zip(&self.slots);
        all.filter(move |(o, _)| o.edge == edge)
            .map(|(o, slots)| (o, &slots[..]))
    }

    fn issue(&self, edge: EdgeId, span: Span) -> Step {
        let mut alternatives = Vec::new();
        for (operation, slots) in self.of_edge(edge) {
            let mut steps = operation.conditions.clone();
            for (phase, _) in slots {
                let mut here = steps.clone();
                here.push(Step::Assume(equals(*phase, FREE)));
                here.push(set(*phase, ISSUED));
                alternatives.push(here);
                steps.push(Step::Assume(equals(*phase, FREE).negate()));
            }
            if self.full == Full::Fails {
                let kind = AssertKind::Other(OVERFLOW.into());
                steps.push(Step::Assert {
                    cond: Expr::FALSE,
                    kind,
                });
                alternatives.push(steps);
            }
        }
        either(alternatives, span)
    }

    /// No own operation that a flush waits for is pending.
    fn drained(&self, target: &FlushTarget) -> LocalExpr {
        let mut all = Expr::TRUE;
        for (operation, slots) in self.operations.iter().zip(&self.slots) {
            let mut free = Expr::TRUE;
            for (phase, _) in slots {
                free = free.and(equals(*phase, FREE));
            }
            let condition = match awaited(operation, target) {
                Expr::TRUE => free,
                Expr::FALSE => continue,
                sometimes => sometimes.negate().or(free),
            };
            all = all.and(condition);
        }
        all
    }

    /// The network's halves, as self-loops at every location.
    fn network_steps(&self, builder: &mut TemplateBuilder, original: &Template) {
        for loc in original.cfg.locs() {
            for (operation, slots) in self.operations.iter().zip(&self.slots) {
                for slot in slots {
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
        let steps = vec![
            Step::Assume(equals(phase, READ)),
            Step::Store {
                dst: place_of(self.program, operation.target),
                value: local(value),
            },
            set(value, 0),
            set(phase, FREE),
        ];
        either(vec![steps], span)
    }
}
