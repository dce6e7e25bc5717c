//! *TSO, bounded* [Dan et al., SAS 2013, section 3] and *abstract* [Abdulla et al., SAS 2012, section 4]. Each
//! thread that writes has a buffer of `k` cells. For cell `i` (0 is the oldest) there are `target_i`, which variable
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
//! | atomic block that only reads | the block, each load in it by the rule for loads |
//! | end of the thread | `assume count = 0`: it has ended when it has drained |
//!
//! `fence(ss)` has no effect under TSO. Unused cells are kept at 0, so that equal
//! buffers are equal states. Overflow is an assertion: a proof of the reduced
//! program shows that no buffer ever needs more than `k` cells, hence holds for
//! buffers of every size (Theorem 1). With [`Full::Blocks`] a store into a full
//! buffer waits instead: an under-approximation, for finding bugs only.
//!
//! *Abstract*: there is an abstract part beside the cells (`summary.rs` has its rules
//! and why no run is lost). With the *newest* stores in the cells it holds older
//! stores than they, with the *oldest* newer ones; else the rules are as above:
//!
//! | step of the original | newest in cells | oldest in cells |
//! |---|---|---|
//! | store, `count < k` | as above | as above if the part is empty, else it joins |
//! | store, `count = k` | cell 0 joins, the others move down, the store is in cell `k - 1` | it joins |
//! | load | newest cell, else `last_x` if `more_x = 1`, else memory | `last_x` if `more_x = 1`, else newest cell, else memory |
//! | update from the cells | only when the part is empty | as above |
//! | update from the part | at any time | only when `count = 0` |
//! | fence, atomic block, end | `count = 0` and the part is empty | the same |
//!
//! Each thread has its own `k`; with `k = 0` every store joins at once.
//! With the newest in the cells, `last_x` is the last write *within the part*; the
//! paper's R, the last write of all, would be read even after a cell holds a newer
//! store, and written to memory before its time.

use palisade_program::cfg::{AssertKind, Edge, FenceKind, Place, Step, local};
use palisade_program::{Cell, Expr, LocalExpr, LocalId, Program, Span, Template};

use crate::blocks::{
    assign, cells, either, equals, guarded, place_of, range, set, snapshot, written_cells,
};
use crate::reduced::{Full, Meaning, Part, Reduced, ReducedTemplate, TemplateBuilder};
use crate::summary::{Abstract, Keep, Summary};

/// The program under TSO with buffers of `k` cells.
pub fn reduce(program: &Program, k: u32, full: Full) -> Reduced {
    reduce_each(program, &|_| k, full)
}

/// The program under TSO with a buffer of `k(t)` cells for the threads of template `t`
/// [Dan et al., SAS 2013, section 3].
pub fn reduce_each(program: &Program, k: &dyn Fn(usize) -> u32, full: Full) -> Reduced {
    let templates = program.templates.iter().enumerate();
    Reduced::new(
        program,
        templates.map(|(i, t)| reduce_template(program, t, k(i), full, None)),
    )
}

/// The program under TSO with buffers of every size, exact for `wanted.cells` stores.
pub fn reduce_abstract(program: &Program, wanted: &Abstract<'_>) -> Reduced {
    let templates = program.templates.iter().enumerate();
    let k = |template| wanted.cells.of((template, None));
    let reduced = Reduced::new(
        program,
        templates.map(|(i, t)| reduce_template(program, t, k(i), Full::Blocks, Some((i, wanted)))),
    );
    Reduced {
        beyond: Some((wanted.cells.clone(), wanted.keep)),
        ..reduced
    }
}

/// The buffer of a thread.
struct Buffer<'p> {
    program: &'p Program,
    full: Full,
    cells: Vec<Cell>,
    count: LocalId,
    targets: Vec<LocalId>,
    values: Vec<LocalId>,
    beyond: Option<Summary>,
}

fn reduce_template(
    program: &Program,
    original: &Template,
    k: u32,
    full: Full,
    wanted: Option<(usize, &Abstract<'_>)>,
) -> (Template, ReducedTemplate) {
    let mut builder = TemplateBuilder::new(original);
    let written = written_cells(program, original);
    let bound = if written.is_empty() { 0 } else { k };
    let count = builder.local("$count".into(), Part::Count(None), range(bound));
    let mut buffer = Buffer {
        program,
        full,
        count,
        cells: written,
        targets: Vec::new(),
        values: Vec::new(),
        beyond: None,
    };
    for i in 0..bound {
        let last = buffer.cells.len() as u32 - 1;
        let target = builder.local(format!("$target{i}"), Part::Target(i), range(last));
        let value = builder.local(format!("$value{i}"), Part::Value(None, i), None);
        buffer.targets.push(target);
        buffer.values.push(value);
    }
    buffer.beyond = wanted
        .map(|(number, wanted)| Summary::new(&mut builder, program, &buffer.cells, number, wanted));
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
        let cells = equals(self.count, 0);
        match &self.beyond {
            Some(beyond) => cells.and(beyond.empty()),
            None => cells,
        }
    }

    fn step(&self, step: &Step, span: Span) -> (Step, u32) {
        let own = match step {
            Step::Store { dst, value } => self.store(dst, value, span),
            Step::Load { dst, src } => self.load(*dst, src, span),
            Step::Fence(FenceKind::Full) => Step::Assume(self.empty()),
            Step::Fence(FenceKind::StoreStore | FenceKind::Candidate) => step.clone(),
            Step::Fence(FenceKind::Ordered(_)) => unreachable!("orders are mapped to fences"),
            Step::Atomic(atomic) if atomic.drains() => {
                return (guarded(self.empty(), atomic.kind, &atomic.body, span), 1);
            }
            Step::Atomic(atomic) => snapshot(&atomic.body, &|dst, src| self.loads(dst, src)),
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => step.clone(),
            // RMA programs are not run under TSO; the caller refuses them.
            Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } => step.clone(),
            Step::RemoteAtomic(_) | Step::Flush(_) => step.clone(),
        };
        (own, 0)
    }

    fn store(&self, dst: &Place, value: &LocalExpr, span: Span) -> Step {
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
                steps.extend(self.part_in_front(Keep::Oldest));
                steps.extend(self.put(used, index, value));
                steps.push(set(self.count, used as i64 + 1));
                alternatives.push(steps);
            }
            let more = self.store_beyond((index, cell), value);
            alternatives.extend(more.into_iter().map(|own| [&conditions[..], &own].concat()));
        }
        if self.full == Full::Fails {
            let kind = AssertKind::BufferOverflow;
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

    /// The store is in cell number `at`.
    fn put(&self, at: usize, index: usize, value: &LocalExpr) -> [Step; 2] {
        [
            set(self.targets[at], index as i64),
            assign(self.values[at], value.clone()),
        ]
    }

    /// Cells move down by one; those from `used` on are not in use.
    fn shift(&self, used: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        for i in 1..used {
            steps.push(assign(self.targets[i - 1], local(self.targets[i])));
            steps.push(assign(self.values[i - 1], local(self.values[i])));
        }
        steps
    }

    /// Where the abstract part has the stores that `keep` does not, it is empty:
    /// those in the cells come next.
    fn part_in_front(&self, keep: Keep) -> Option<Step> {
        let beyond = self.beyond.as_ref().filter(|b| b.keep == keep)?;
        Some(Step::Assume(beyond.empty()))
    }

    /// The store makes a store join the abstract part.
    fn store_beyond(&self, (index, cell): (usize, Cell), value: &LocalExpr) -> Vec<Vec<Step>> {
        let Some(beyond) = &self.beyond else {
            return Vec::new();
        };
        let full = equals(self.count, self.capacity() as i64);
        match beyond.keep {
            // Without cells there is none that could make room.
            Keep::Newest if self.capacity() == 0 => beyond.join(cell, value),
            Keep::Oldest => {
                let joins = full.or(beyond.empty().negate());
                let ways = beyond.join(cell, value).into_iter();
                ways.map(|own| [vec![Step::Assume(joins.clone())], own].concat())
                    .collect()
            }
            Keep::Newest => {
                let mut all = Vec::new();
                for (target, &oldest) in self.cells.iter().enumerate() {
                    for own in beyond.join(oldest, &local(self.values[0])) {
                        let mut steps = vec![
                            Step::Assume(full.clone()),
                            Step::Assume(equals(self.targets[0], target as i64)),
                        ];
                        steps.extend(own);
                        steps.extend(self.shift(self.capacity()));
                        steps.extend(self.put(self.capacity() - 1, index, value));
                        all.push(steps);
                    }
                }
                all
            }
        }
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
            let Some(index) = self.cells.iter().position(|c| *c == cell) else {
                // Never written by this thread: only memory has it.
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
                alternatives.extend(fallback.iter().map(|f| [&prefix[..], f].concat()));
            }
        }
        alternatives
    }

    /// A store to `cell` reaches memory: the oldest, or one of the abstract part.
    fn update(&self, index: i64, cell: Cell, span: Span) -> Step {
        let exact = (1..=self.capacity()).map(|used| {
            let mut steps = vec![
                Step::Assume(equals(self.count, used as i64)),
                Step::Assume(equals(self.targets[0], index)),
            ];
            steps.extend(self.part_in_front(Keep::Newest));
            steps.push(Step::Store {
                dst: place_of(self.program, cell),
                value: local(self.values[0]),
            });
            steps.extend(self.shift(used));
            steps.push(set(self.targets[used - 1], 0));
            steps.push(set(self.values[used - 1], 0));
            steps.push(set(self.count, used as i64 - 1));
            steps
        });
        let mut alternatives: Vec<Vec<Step>> = exact.collect();
        if let Some(beyond) = &self.beyond {
            let next = match beyond.keep {
                Keep::Newest => Vec::new(),
                Keep::Oldest => vec![Step::Assume(equals(self.count, 0))],
            };
            alternatives.extend(beyond.drain(self.program, cell, &next));
        }
        either(alternatives, span)
    }
}
