//! *PSO, bounded* (seed 000, section 3): each thread has, for every memory cell
//! `x` that it may write, a buffer of `k_x` cells `value_x_i` (0 is the oldest) and
//! a counter `count_x`. Figure 5 is lost in the scan; the rules from its text:
//!
//! | step of the original | in the reduced program, atomically |
//! |---|---|
//! | store `x = e` | `assert count_x < k_x`; `value_x_count = e; count_x = count_x + 1` |
//! | load `r = x` | `count_x = 0`: `r = x` from memory; else `r = value_x_(count_x - 1)` |
//! | update of `x` (memory, any time) | `assume count_x > 0`; `x = value_x_0`; cells move down; `count_x = count_x - 1` |
//! | fence | `assume` all counts are 0 |
//! | atomic block | `assume` all counts are 0, then the block on memory |
//! | end of the thread | `assume` all counts are 0 |
//!
//! *Store-store fences.* DESIGN: a store issued after `fence(ss)` may leave its
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

use palisade_program::cfg::{AssertKind, Edge, FenceKind, Place, Step, local};
use palisade_program::{BinOp, Cell, Domain, Expr, LocalExpr, LocalId, Program, Span, Template};

use crate::blocks::{assign, cells, either, equals, guarded, place_of, set, written_cells};
use crate::reduced::{Full, Meaning, OVERFLOW, Part, Reduced, ReducedTemplate, TemplateBuilder};

/// The program under PSO with a buffer of `size(x)` cells for memory cell `x`.
pub fn reduce(program: &Program, size: &dyn Fn(Cell) -> u32, full: Full) -> Reduced {
    let templates = program.templates.iter();
    Reduced::new(
        program,
        templates.map(|t| reduce_template(program, t, size, full)),
    )
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
}

struct Buffers<'p> {
    program: &'p Program,
    full: Full,
    all: Vec<Buffer>,
    epochs: Option<Epochs>,
}

fn reduce_template(
    program: &Program,
    original: &Template,
    size: &dyn Fn(Cell) -> u32,
    full: Full,
) -> (Template, ReducedTemplate) {
    let mut builder = TemplateBuilder::new(original);
    let written = written_cells(program, original);
    let fences = |e: &Edge| e.step == Step::Fence(FenceKind::StoreStore);
    let with_epochs = original.cfg.edges.iter().any(fences);
    let total: u32 = written.iter().map(|c| size(*c)).sum();
    let range = |hi: u32| {
        Some(Domain {
            lo: 0,
            hi: i64::from(hi),
        })
    };
    let mut buffers = Buffers {
        program,
        full,
        all: Vec::new(),
        epochs: None,
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
        buffers.epochs = Some(Epochs { current, least });
    }
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
        self.all
            .iter()
            .fold(Expr::TRUE, |all, b| all.and(equals(b.count, 0)))
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
            Step::Atomic(atomic) => {
                return (guarded(self.empty(), atomic.kind, &atomic.body, span), 1);
            }
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => step.clone(),
            // RMA programs are not run under PSO; the caller refuses them.
            Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } | Step::Flush(_) => {
                step.clone()
            }
        };
        (own, 0)
    }

    fn store(&self, dst: &Place, value: &LocalExpr, span: Span) -> Step {
        let mut alternatives = Vec::new();
        for (conditions, cell) in cells(self.program, dst) {
            let Some(buffer) = self.buffer(cell) else {
                continue;
            };
            for used in 0..=buffer.values.len() {
                let mut steps = conditions.clone();
                steps.push(Step::Assume(equals(buffer.count, used as i64)));
                if used == buffer.values.len() && self.full == Full::Blocks {
                    continue;
                }
                if used == buffer.values.len() {
                    let kind = AssertKind::Other(OVERFLOW.into());
                    steps.push(Step::Assert {
                        cond: Expr::FALSE,
                        kind,
                    });
                } else {
                    steps.push(assign(buffer.values[used], value.clone()));
                    if let Some(epochs) = &self.epochs {
                        steps.push(assign(buffer.epochs[used], local(epochs.current)));
                    }
                    steps.push(set(buffer.count, used as i64 + 1));
                }
                alternatives.push(steps);
            }
        }
        either(alternatives, span)
    }

    fn load(&self, dst: LocalId, src: &Place, span: Span) -> Step {
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
            for used in 0..=buffer.values.len() {
                let mut steps = conditions.clone();
                steps.push(Step::Assume(equals(buffer.count, used as i64)));
                steps.push(match used.checked_sub(1) {
                    Some(newest) => assign(dst, local(buffer.values[newest])),
                    None => plain.clone(),
                });
                alternatives.push(steps);
            }
        }
        either(alternatives, span)
    }

    /// A store-store fence: a new epoch, if the current one was used.
    fn store_store(&self, span: Span) -> Step {
        let Some(epochs) = &self.epochs else {
            return Step::Skip;
        };
        let mut used: LocalExpr = Expr::FALSE;
        for buffer in &self.all {
            for (i, epoch) in buffer.epochs.iter().enumerate() {
                let held = binary(BinOp::Gt, local(buffer.count), Expr::Const(i as i64));
                let same = binary(BinOp::Eq, local(*epoch), local(epochs.current));
                used = used.or(held.and(same));
            }
        }
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
        let alternatives = (1..=buffer.values.len()).map(|used| {
            let mut steps = vec![Step::Assume(equals(buffer.count, used as i64))];
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
        either(alternatives.collect(), span)
    }

    /// No other buffer's head has a smaller epoch than this buffer's head.
    fn may_leave(&self, buffer: &Buffer) -> LocalExpr {
        let others = self.all.iter().filter(|b| b.cell != buffer.cell);
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
        for buffer in &self.all {
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
