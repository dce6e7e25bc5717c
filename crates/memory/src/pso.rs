//! *PSO, bounded* [Dan et al., SAS 2013, section 3] and *abstract* [Abdulla et al., SAS 2012, section 4]. Each
//! thread has, for every memory cell `x` that it may write, a buffer of `k_x` cells `value_x_i` (0 is the oldest) and
//! a counter `count_x`. Figure 5 is lost in the scan; the rules from its text:
//!
//! | step of the original | in the reduced program, atomically |
//! |---|---|
//! | store `x = e` | `assert count_x < k_x`; `value_x_count = e; count_x = count_x + 1` |
//! | load `r = x` | `count_x = 0`: `r = x` from memory; else `r = value_x_(count_x - 1)` |
//! | update of `x` (memory, any time) | `assume count_x > 0`; `x = value_x_0`; cells move down; `count_x = count_x - 1` |
//! | fence | `assume` all counts are 0 |
//! | atomic block | `assume` all counts are 0, then the block on memory |
//! | atomic block that only reads | the block, each load in it by the rule for loads |
//! | end of the thread | `assume` all counts are 0 |
//!
//! *Store-store fences.* A store issued after `fence(ss)` may leave its
//! buffer only when no store issued before it is still buffered; the fence itself
//! never waits. Markers in the buffers are written here as *epochs*, which say the
//! same with less bookkeeping: `epoch` counts the fences issued, `epoch_x_i` is
//! the number that the store at that position was issued under. A store may leave
//! when no buffer holds a smaller epoch (heads suffice: buffers are first in,
//! first out). A fence counts only if something was stored since the last one,
//! and after an update the least epoch in use becomes 0 again; so epochs are dense
//! and at most the number of cells, and all of it is finite control.
//!
//! Overflow is an assertion, or blocks, as for TSO.
//! Unused cells are kept at 0, so that equal buffers are equal states.
//!
//! *Abstract*: beside the cells each buffer has an abstract part (`summary.rs`); the
//! rules are those of `tso.rs` for each buffer by itself. Stores of the abstract
//! part have no epoch: they neither wait for a store-store fence nor make others
//! wait. That only adds runs. When a cell's store joins and no other cell has its
//! epoch, greater epochs become smaller by one: epochs stay dense, hence finite.

use palisade_program::cfg::{AssertKind, Edge, FenceKind, Place, Step, local};
use palisade_program::{BinOp, Cell, Expr, LocalExpr, LocalId, Program, Span, Template};

use crate::blocks::{
    assign, cells, either, equals, guarded, place_of, range, set, snapshot, written_cells,
};
use crate::reduced::{Full, Meaning, Part, Reduced, ReducedTemplate, TemplateBuilder};
use crate::summary::{Abstract, Keep, Summary};

/// The program under PSO with a buffer of `size(x)` cells for memory cell `x`.
pub fn reduce(program: &Program, size: &dyn Fn(Cell) -> u32, full: Full) -> Reduced {
    reduce_each(program, &|_, cell| size(cell), full)
}

/// The program under PSO with a buffer of `size(t, x)` cells for memory cell `x` in the threads of
/// template `t` [Dan et al., SAS 2013, section 3].
pub fn reduce_each(program: &Program, size: &dyn Fn(usize, Cell) -> u32, full: Full) -> Reduced {
    let templates = program.templates.iter().enumerate();
    Reduced::new(
        program,
        templates.map(|(i, t)| reduce_template(program, t, &|cell| size(i, cell), full, None)),
    )
}

/// The program under PSO with buffers of every size, exact for `wanted.cells` stores.
pub fn reduce_abstract(program: &Program, wanted: &Abstract<'_>) -> Reduced {
    let templates = program.templates.iter().enumerate();
    let reduced = Reduced::new(
        program,
        templates.map(|(i, t)| {
            let size = |cell| wanted.cells.of((i, Some(cell)));
            reduce_template(program, t, &size, Full::Blocks, Some((i, wanted)))
        }),
    );
    Reduced {
        beyond: Some((wanted.cells.clone(), wanted.keep)),
        ..reduced
    }
}

/// The buffer of one memory cell.
struct Buffer {
    cell: Cell,
    count: LocalId,
    values: Vec<LocalId>,
    epochs: Vec<LocalId>,
}

/// Epochs, where the template has store-store fences.
struct Epochs {
    current: LocalId,
    least: LocalId,
    /// More than any epoch in use can be.
    top: i64,
}

struct Buffers<'p> {
    program: &'p Program,
    full: Full,
    all: Vec<Buffer>,
    epochs: Option<Epochs>,
    beyond: Option<Summary>,
}

fn reduce_template(
    program: &Program,
    original: &Template,
    size: &dyn Fn(Cell) -> u32,
    full: Full,
    wanted: Option<(usize, &Abstract<'_>)>,
) -> (Template, ReducedTemplate) {
    let mut builder = TemplateBuilder::new(original);
    let written = written_cells(program, original);
    let fences = |e: &Edge| e.step == Step::Fence(FenceKind::StoreStore);
    let with_epochs = original.cfg.edges.iter().any(fences);
    let total: u32 = written.iter().map(|c| size(*c)).sum();
    let mut buffers = Buffers {
        program,
        full,
        all: Vec::new(),
        epochs: None,
        beyond: None,
    };
    for &cell in &written {
        let name = program.cell_name(cell).replace(['[', ']'], "_");
        let k = size(cell);
        let count = builder.local(format!("$count_{name}"), Part::Count(Some(cell)), range(k));
        let values = (0..k).map(|i| {
            builder.local(
                format!("$value_{name}_{i}"),
                Part::Value(Some(cell), i),
                None,
            )
        });
        let values = values.collect();
        let epochs = (0..if with_epochs { k } else { 0 }).map(|i| {
            builder.local(
                format!("$epoch_{name}_{i}"),
                Part::Epoch(cell, i),
                range(total),
            )
        });
        let epochs = epochs.collect();
        buffers.all.push(Buffer {
            cell,
            count,
            values,
            epochs,
        });
    }
    if with_epochs {
        let current = builder.local("$epoch".into(), Part::CurrentEpoch, range(total));
        let least = builder.local("$least".into(), Part::Scratch, range(total));
        let top = i64::from(total);
        buffers.epochs = Some(Epochs {
            current,
            least,
            top,
        });
    }
    buffers.beyond = wanted
        .map(|(number, wanted)| Summary::new(&mut builder, program, &written, number, wanted));
    for (index, edge) in original.cfg.edges.iter().enumerate() {
        let (step, skip) = buffers.step(&edge.step, edge.span);
        builder.edge(
            Edge {
                step,
                ..edge.clone()
            },
            Meaning::Step {
                edge: index.into(),
                skip,
            },
        );
    }
    for loc in original.cfg.locs() {
        for buffer in &buffers.all {
            let step = buffers.update(buffer, original.span);
            let edge = Edge {
                from: loc,
                to: loc,
                step,
                span: original.span,
            };
            builder.edge(edge, Meaning::Update(buffer.cell));
        }
    }
    let drained = Step::Assume(buffers.empty());
    builder.finish(drained, written)
}

/// `a op b`.
fn binary(op: BinOp, a: LocalExpr, b: LocalExpr) -> LocalExpr {
    Expr::binary(op, a, b)
}

impl Buffers<'_> {
    fn empty(&self) -> LocalExpr {
        let part = self.beyond.as_ref().map_or(Expr::TRUE, Summary::empty);
        self.all
            .iter()
            .fold(part, |all, b| all.and(equals(b.count, 0)))
    }

    fn buffer(&self, cell: Cell) -> Option<&Buffer> {
        self.all.iter().find(|b| b.cell == cell)
    }

    fn step(&self, step: &Step, span: Span) -> (Step, u32) {
        let own = match step {
            Step::Store { dst, value } => self.store(dst, value, span),
            Step::Load { dst, src } => self.load(*dst, src, span),
            Step::Fence(FenceKind::Full) => Step::Assume(self.empty()),
            Step::Fence(FenceKind::StoreStore) => self.store_store(span),
            Step::Fence(FenceKind::Candidate) => step.clone(),
            Step::Fence(FenceKind::Ordered(_)) => unreachable!("orders are mapped to fences"),
            Step::Atomic(atomic) if atomic.drains() => {
                return (guarded(self.empty(), atomic.kind, &atomic.body, span), 1);
            }
            Step::Atomic(atomic) => snapshot(&atomic.body, &|dst, src| self.loads(dst, src)),
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => step.clone(),
            // RMA programs are not run under PSO; the caller refuses them.
            Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } => step.clone(),
            Step::RemoteAtomic(_) | Step::Flush(_) => step.clone(),
        };
        (own, 0)
    }

    fn store(&self, dst: &Place, value: &LocalExpr, span: Span) -> Step {
        let mut alternatives = Vec::new();
        for (conditions, cell) in cells(self.program, dst) {
            let Some(buffer) = self.buffer(cell) else {
                continue;
            };
            for used in 0..buffer.values.len() {
                let mut steps = conditions.clone();
                steps.push(Step::Assume(equals(buffer.count, used as i64)));
                steps.extend(self.part_in_front(Keep::Oldest, cell));
                steps.extend(self.put(buffer, used, value));
                steps.push(set(buffer.count, used as i64 + 1));
                alternatives.push(steps);
            }
            let full = equals(buffer.count, buffer.values.len() as i64);
            if self.full == Full::Fails {
                let mut steps = conditions.clone();
                steps.push(Step::Assume(full));
                let kind = AssertKind::BufferOverflow;
                steps.push(Step::Assert {
                    cond: Expr::FALSE,
                    kind,
                });
                alternatives.push(steps);
            }
            let more = self.store_beyond(buffer, value);
            alternatives.extend(more.into_iter().map(|own| [&conditions[..], &own].concat()));
        }
        either(alternatives, span)
    }

    /// The store is in cell number `at`.
    fn put(&self, buffer: &Buffer, at: usize, value: &LocalExpr) -> Vec<Step> {
        let mut steps = vec![assign(buffer.values[at], value.clone())];
        if let Some(epochs) = &self.epochs {
            steps.push(assign(buffer.epochs[at], local(epochs.current)));
        }
        steps
    }

    /// Where the abstract part has the stores that `keep` does not, it has none to
    /// this cell: those in the cells come next.
    fn part_in_front(&self, keep: Keep, cell: Cell) -> Option<Step> {
        let beyond = self.beyond.as_ref().filter(|b| b.keep == keep)?;
        beyond.holds(cell, false)
    }

    /// The store makes a store join the abstract part.
    fn store_beyond(&self, buffer: &Buffer, value: &LocalExpr) -> Vec<Vec<Step>> {
        let Some(beyond) = &self.beyond else {
            return Vec::new();
        };
        let size = buffer.values.len();
        let full = Step::Assume(equals(buffer.count, size as i64));
        match beyond.keep {
            // Without cells there is none that could make room.
            Keep::Newest if size == 0 => beyond.join(buffer.cell, value),
            Keep::Oldest => {
                let ways = beyond.join(buffer.cell, value);
                // Not full, but newer stores are in the part already: the second way.
                let not_full = Step::Assume(equals(buffer.count, size as i64).negate());
                let busy = ways.last().map(|own| [&[not_full], &own[..]].concat());
                let full = std::slice::from_ref(&full);
                let all = ways.iter().map(|own| [full, &own[..]].concat());
                all.chain(busy).collect()
            }
            Keep::Newest => {
                let ways = beyond
                    .join(buffer.cell, &local(buffer.values[0]))
                    .into_iter();
                ways.map(|own| {
                    let mut steps = vec![full.clone()];
                    steps.extend(own);
                    let left = self
                        .epochs
                        .as_ref()
                        .map(|e| assign(e.least, local(buffer.epochs[0])));
                    steps.extend(left);
                    for column in [&buffer.values, &buffer.epochs] {
                        let moved =
                            (1..column.len()).map(|i| assign(column[i - 1], local(column[i])));
                        steps.extend(moved);
                    }
                    steps.extend(self.put(buffer, size - 1, value));
                    steps.extend(self.close_gap());
                    steps
                })
                .collect()
            }
        }
    }

    /// The epoch `least` has lost a store; if no cell has it any more, greater ones
    /// become smaller by one.
    fn close_gap(&self) -> Vec<Step> {
        let Some(epochs) = &self.epochs else {
            return Vec::new();
        };
        let used = self.held_in(epochs.least);
        let least = Expr::Cond(
            Box::new(used),
            Box::new(Expr::Const(epochs.top)),
            Box::new(local(epochs.least)),
        );
        let mut steps = vec![assign(epochs.least, least)];
        let own = self.all.iter().flat_map(|b| b.epochs.iter().copied());
        for epoch in own.chain([epochs.current]) {
            let greater = binary(BinOp::Gt, local(epoch), local(epochs.least));
            let moved = binary(BinOp::Sub, local(epoch), Expr::Const(1));
            let value = Expr::Cond(Box::new(greater), Box::new(moved), Box::new(local(epoch)));
            steps.push(assign(epoch, value));
        }
        steps.push(set(epochs.least, 0));
        steps
    }

    /// Some cell in use has the epoch that the local `epoch` says.
    fn held_in(&self, epoch: LocalId) -> LocalExpr {
        let mut used: LocalExpr = Expr::FALSE;
        for buffer in &self.all {
            for (i, own) in buffer.epochs.iter().enumerate() {
                let held = binary(BinOp::Gt, local(buffer.count), Expr::Const(i as i64));
                let same = binary(BinOp::Eq, local(*own), local(epoch));
                used = used.or(held.and(same));
            }
        }
        used
    }

    fn load(&self, dst: LocalId, src: &Place, span: Span) -> Step {
        either(self.loads(dst, src), span)
    }

    /// The ways in which a load can happen.
    fn loads(&self, dst: LocalId, src: &Place) -> Vec<Vec<Step>> {
        let mut alternatives = Vec::new();
        for (conditions, cell) in cells(self.program, src) {
            let plain = Step::Load {
                dst,
                src: place_of(self.program, cell),
            };
            let Some(buffer) = self.buffer(cell) else {
                alternatives.push(conditions.into_iter().chain([plain]).collect());
                continue;
            };
            let (mut conditions, mut fallback) = (conditions, vec![vec![plain.clone()]]);
            if let Some(beyond) = &self.beyond
                && let (Some(held), Some(none)) =
                    (beyond.holds(cell, true), beyond.holds(cell, false))
                && let Some(last) = beyond.last(cell)
            {
                let from_part = vec![held, assign(dst, last)];
                match beyond.keep {
                    Keep::Newest => fallback = vec![from_part, vec![none, plain]],
                    Keep::Oldest => {
                        alternatives.push([&conditions[..], &from_part].concat());
                        conditions.push(none);
                    }
                }
            }
            for used in 0..=buffer.values.len() {
                let mut steps = conditions.clone();
                steps.push(Step::Assume(equals(buffer.count, used as i64)));
                match used.checked_sub(1) {
                    Some(newest) => {
                        steps.push(assign(dst, local(buffer.values[newest])));
                        alternatives.push(steps);
                    }
                    None => alternatives.extend(fallback.iter().map(|f| [&steps[..], f].concat())),
                }
            }
        }
        alternatives
    }

    /// A store-store fence: a new epoch, if the current one was used.
    fn store_store(&self, span: Span) -> Step {
        let Some(epochs) = &self.epochs else {
            return Step::Skip;
        };
        let used = self.held_in(epochs.current);
        let next = binary(BinOp::Add, local(epochs.current), Expr::Const(1));
        either(
            vec![
                vec![Step::Assume(used.clone()), assign(epochs.current, next)],
                vec![Step::Assume(used.negate())],
            ],
            span,
        )
    }

    fn update(&self, buffer: &Buffer, span: Span) -> Step {
        let exact = (1..=buffer.values.len()).map(|used| {
            let mut steps = vec![Step::Assume(equals(buffer.count, used as i64))];
            steps.extend(self.part_in_front(Keep::Newest, buffer.cell));
            if self.epochs.is_some() {
                steps.push(Step::Assume(self.may_leave(buffer)));
            }
            steps.push(Step::Store {
                dst: place_of(self.program, buffer.cell),
                value: local(buffer.values[0]),
            });
            for column in [&buffer.values, &buffer.epochs] {
                for i in 1..used.min(column.len()) {
                    steps.push(assign(column[i - 1], local(column[i])));
                }
                if let Some(last) = column.get(used - 1) {
                    steps.push(set(*last, 0));
                }
            }
            steps.push(set(buffer.count, used as i64 - 1));
            steps.extend(self.renumber());
            steps
        });
        let mut alternatives: Vec<Vec<Step>> = exact.collect();
        if let Some(beyond) = &self.beyond {
            let next = match beyond.keep {
                Keep::Newest => Vec::new(),
                Keep::Oldest => vec![Step::Assume(equals(buffer.count, 0))],
            };
            alternatives.extend(beyond.drain(self.program, buffer.cell, &next));
        }
        either(alternatives, span)
    }

    /// No other buffer's head has a smaller epoch than this buffer's head.
    fn may_leave(&self, buffer: &Buffer) -> LocalExpr {
        let others = self.all.iter();
        let others = others.filter(|b| b.cell != buffer.cell && !b.epochs.is_empty());
        others.fold(Expr::TRUE, |all, other| {
            let newer = binary(BinOp::Ge, local(other.epochs[0]), local(buffer.epochs[0]));
            all.and(equals(other.count, 0).or(newer))
        })
    }

    /// The least epoch in use becomes 0.
    fn renumber(&self) -> Vec<Step> {
        let Some(epochs) = &self.epochs else {
            return Vec::new();
        };
        let mut steps = vec![assign(epochs.least, local(epochs.current))];
        for buffer in self.all.iter().filter(|b| !b.epochs.is_empty()) {
            let head = buffer.epochs[0];
            let held = binary(BinOp::Gt, local(buffer.count), Expr::Const(0));
            let less = held.and(binary(BinOp::Lt, local(head), local(epochs.least)));
            let least = Expr::Cond(
                Box::new(less),
                local(head).into(),
                local(epochs.least).into(),
            );
            steps.push(assign(epochs.least, least));
        }
        for buffer in &self.all {
            for (i, epoch) in buffer.epochs.iter().enumerate() {
                let held = binary(BinOp::Gt, local(buffer.count), Expr::Const(i as i64));
                let moved = binary(BinOp::Sub, local(*epoch), local(epochs.least));
                let value = Expr::Cond(Box::new(held), Box::new(moved), Box::new(Expr::Const(0)));
                steps.push(assign(*epoch, value));
            }
        }
        let current = binary(BinOp::Sub, local(epochs.current), local(epochs.least));
        steps.push(assign(epochs.current, current));
        steps.push(set(epochs.least, 0));
        steps
    }
}
