//! *TSO, bounded* (seed 000, section 3): each thread that writes has a buffer of
//! `k` cells. For cell `i` (0 is the oldest) there are `target_i`, which variable
//! the store goes to (a control variable), and `value_i`, what it writes (data);
//! `count` says how many are in use. Figure 5 gives the rules for PSO and is lost
//! in the scan; these are derived for one buffer per thread:
//!
//! | step of the original | in the reduced program, atomically |
//! |---|---|
//! | store `x = e` | `assert count < k`; `target_count = x; value_count = e; count = count + 1` |
//! | load `r = x` | the newest `i < count` with `target_i = x`: `r = value_i`; if none, `r = x` from memory |
//! | update (memory, any time) | `assume count > 0`; the variable `target_0` gets `value_0`; every cell moves down by one; `count = count - 1` |
//! | fence | `assume count = 0` |
//! | atomic block | `assume count = 0`, then the block on memory |
//! | end of the thread | `assume count = 0`: it has ended when it has drained |
//!
//! `fence(ss)` has no effect under TSO. Unused cells are kept at 0, so that equal
//! buffers are equal states. Overflow is an assertion: a proof of the reduced
//! program shows that no buffer ever needs more than `k` cells, hence holds for
//! buffers of every size (Theorem 1). With [`Full::Blocks`] a store into a full
//! buffer waits instead: an under-approximation, for finding bugs only.

use palisade_program::cfg::{AssertKind, Edge, FenceKind, Step, local};
use palisade_program::{Cell, Domain, Expr, LocalExpr, LocalId, Program, Span, Template};

use crate::blocks::{assign, cells, either, equals, guarded, place_of, set, written_cells};
use crate::reduced::{Full, Meaning, OVERFLOW, Part, Reduced, ReducedTemplate, TemplateBuilder};

/// The program under TSO with buffers of `k` cells.
pub fn reduce(program: &Program, k: u32, full: Full) -> Reduced {
    let templates = program.templates.iter();
    Reduced::new(
        program,
        templates.map(|t| reduce_template(program, t, k, full)),
    )
}

/// The buffer of a thread.
struct Buffer<'p> {
    program: &'p Program,
    full: Full,
    cells: Vec<Cell>,
    count: LocalId,
    targets: Vec<LocalId>,
    values: Vec<LocalId>,
}

fn reduce_template(
    program: &Program,
    original: &Template,
    k: u32,
    full: Full,
) -> (Template, ReducedTemplate) {
    let mut builder = TemplateBuilder::new(original);
    let written = written_cells(program, original);
    let range = |hi: usize| {
        Some(Domain {
            lo: 0,
            hi: hi as i64,
        })
    };
    let bound = if written.is_empty() { 0 } else { k };
    let count = builder.local("$count".into(), Part::Count(None), range(bound as usize));
    let mut buffer = Buffer {
        program,
        full,
        count,
        cells: written,
        targets: Vec::new(),
        values: Vec::new(),
    };
    for i in 0..bound {
        let last = buffer.cells.len() - 1;
        let target = builder.local(format!("$target{i}"), Part::Target(i), range(last));
        let value = builder.local(format!("$value{i}"), Part::Value(None, i), None);
        buffer.targets.push(target);
        buffer.values.push(value);
    }
    for (index, edge) in original.cfg.edges.iter().enumerate() {
        let (step, skip) = buffer.step(&edge.step, edge.span);
        let meaning = Meaning::Step {
            edge: index.into(),
            skip,
        };
        builder.edge(
            Edge {
                step,
                ..edge.clone()
            },
            meaning,
        );
    }
    for loc in original.cfg.locs() {
        for (index, &cell) in buffer.cells.iter().enumerate() {
            let step = buffer.update(index as i64, cell, original.span);
            let edge = Edge {
                from: loc,
                to: loc,
                step,
                span: original.span,
            };
            builder.edge(edge, Meaning::Update(cell));
        }
    }
    let drained = Step::Assume(buffer.empty());
    let cells = buffer.cells;
    builder.finish(drained, cells)
}

impl Buffer<'_> {
    fn capacity(&self) -> usize {
        self.values.len()
    }

    fn empty(&self) -> LocalExpr {
        equals(self.count, 0)
    }

    fn step(&self, step: &Step, span: Span) -> (Step, u32) {
        let own = match step {
            Step::Store { dst, value } => self.store(dst, value, span),
            Step::Load { dst, src } => self.load(*dst, src, span),
            Step::Fence(FenceKind::Full) => Step::Assume(self.empty()),
            Step::Fence(FenceKind::StoreStore | FenceKind::Candidate) => step.clone(),
            Step::Atomic(atomic) => {
                return (guarded(self.empty(), atomic.kind, &atomic.body, span), 1);
            }
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => step.clone(),
            // RMA programs are not run under TSO; the caller refuses them.
            Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } | Step::Flush(_) => {
                step.clone()
            }
        };
        (own, 0)
    }

    fn store(&self, dst: &palisade_program::Place, value: &LocalExpr, span: Span) -> Step {
        let mut alternatives = Vec::new();
        for (conditions, cell) in cells(self.program, dst) {
            let index = self
                .cells
                .iter()
                .position(|c| *c == cell)
                .unwrap_or_default();
            for used in 0..self.capacity() {
                let mut steps = conditions.clone();
                steps.push(Step::Assume(equals(self.count, used as i64)));
                steps.push(set(self.targets[used], index as i64));
                steps.push(assign(self.values[used], value.clone()));
                steps.push(set(self.count, used as i64 + 1));
                alternatives.push(steps);
            }
        }
        if self.full == Full::Fails {
            let kind = AssertKind::Other(OVERFLOW.into());
            alternatives.push(vec![
                Step::Assume(equals(self.count, self.capacity() as i64)),
                Step::Assert {
                    cond: Expr::FALSE,
                    kind,
                },
            ]);
        }
        either(alternatives, span)
    }

    fn load(&self, dst: LocalId, src: &palisade_program::Place, span: Span) -> Step {
        let mut alternatives = Vec::new();
        for (conditions, cell) in cells(self.program, src) {
            let plain = Step::Load {
                dst,
                src: place_of(self.program, cell),
            };
            let Some(index) = self.cells.iter().position(|c| *c == cell) else {
                // Never written by this thread: only memory has it.
                alternatives.push(conditions.into_iter().chain([plain]).collect());
                continue;
            };
            for used in 0..=self.capacity() {
                let mut prefix = conditions.clone();
                prefix.push(Step::Assume(equals(self.count, used as i64)));
                for i in (0..used).rev() {
                    let mut steps = prefix.clone();
                    steps.push(Step::Assume(equals(self.targets[i], index as i64)));
                    steps.push(assign(dst, local(self.values[i])));
                    alternatives.push(steps);
                    prefix.push(Step::Assume(equals(self.targets[i], index as i64).negate()));
                }
                prefix.push(plain.clone());
                alternatives.push(prefix);
            }
        }
        either(alternatives, span)
    }

    /// The oldest store, which goes to `cell`, reaches memory.
    fn update(&self, index: i64, cell: Cell, span: Span) -> Step {
        let alternatives = (1..=self.capacity()).map(|used| {
            let mut steps = vec![
                Step::Assume(equals(self.count, used as i64)),
                Step::Assume(equals(self.targets[0], index)),
                Step::Store {
                    dst: place_of(self.program, cell),
                    value: local(self.values[0]),
                },
            ];
            for i in 1..used {
                steps.push(assign(self.targets[i - 1], local(self.targets[i])));
                steps.push(assign(self.values[i - 1], local(self.values[i])));
            }
            steps.push(set(self.targets[used - 1], 0));
            steps.push(set(self.values[used - 1], 0));
            steps.push(set(self.count, used as i64 - 1));
            steps
        });
        either(alternatives.collect(), span)
    }
}
