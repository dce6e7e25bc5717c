//! Atomic blocks. A block's successors are its complete runs from entry to exit;
//! a false `assume` ends a run without trace; a failing `assert` is a violation.
//! Loads look into the own buffer first: it is empty where the block waits for that.
//!
//! A run that comes back to a place inside the block with the same values adds
//! nothing, so blocks with loops (or with many branches) remember where they
//! were. A block that has been at more than [`MOST_PLACES`] places touches
//! [`Bound::Block`].

use std::collections::HashSet;

use palisade_program::{BlockStep, EdgeId};

use crate::machine::{Act, Graph, Machine};
use crate::options::Bound;
use crate::state::{Queue, State};

/// Most places with values inside one block run.
const MOST_PLACES: usize = 20_000;

/// What a run of a block ends in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockEnd {
    /// Its exit.
    Exit,
    /// A failing assertion.
    Fails,
    /// A bound.
    Cut(Bound),
}

#[derive(Default)]
struct Frame {
    loc: u32,
    arc: usize,
    choice: i64,
    started: bool,
    slots: Vec<i64>,
}

/// Memory for block runs, reused.
#[derive(Default)]
pub(crate) struct BlockScratch {
    frames: Vec<Frame>,
    path: Vec<BlockStep>,
    seen: HashSet<(u32, Vec<i64>)>,
}

/// What one step inside a block does to the slots.
pub(crate) enum Inside {
    Done,
    Disabled,
    Fails,
    Cut(Bound),
}

impl Machine<'_> {
    /// Runs block `block` of thread `t` from `state` and calls `end` for every
    /// way a run ends, with the slots there and the run's steps.
    pub(crate) fn run_block(
        &self,
        state: &State,
        t: usize,
        block: u32,
        scratch: &mut BlockScratch,
        mut end: impl FnMut(BlockEnd, &[i64], &[BlockStep]),
    ) {
        let graph = &self.threads[t].blocks[block as usize];
        let queue = &state.queues[t];
        let BlockScratch { frames, path, seen } = scratch;
        seen.clear();
        path.clear();
        enter(frames, 0, graph.entry, &state.slots, graph);
        let mut depth = 0;
        loop {
            let (before, after) = frames.split_at_mut(depth + 1);
            let frame = &mut before[depth];
            path.truncate(depth);
            let ended = frame.loc == graph.exit;
            if ended {
                end(BlockEnd::Exit, &frame.slots, path);
            }
            if ended || frame.arc == graph.from(frame.loc).end {
                if depth == 0 {
                    return;
                }
                depth -= 1;
                continue;
            }
            let arc = frame.arc;
            let choice = match next_choice(graph, frame) {
                Next::Value(value) => value,
                Next::Partial(value) => {
                    end(BlockEnd::Cut(Bound::Choice), &frame.slots, path);
                    value
                }
                Next::Over => continue,
                Next::Nothing => {
                    end(BlockEnd::Cut(Bound::Choice), &frame.slots, path);
                    continue;
                }
            };
            path.push((EdgeId::from(arc), choice));
            if after.is_empty() {
                frames.push(Frame::default());
            }
            let (before, after) = frames.split_at_mut(depth + 1);
            let (frame, child) = (&before[depth], &mut after[0]);
            child.slots.clone_from(&frame.slots);
            match self.inside(
                graph.arcs[arc].act,
                choice.unwrap_or(0),
                queue,
                &mut child.slots,
            ) {
                Inside::Disabled => {}
                Inside::Fails => end(BlockEnd::Fails, &frame.slots, path),
                Inside::Cut(bound) => end(BlockEnd::Cut(bound), &frame.slots, path),
                Inside::Done => {
                    child.loc = graph.arcs[arc].to;
                    child.arc = graph.from(child.loc).start;
                    child.started = false;
                    let to = child.loc;
                    if graph.remember && !seen.insert((to, child.slots.clone())) {
                        continue;
                    }
                    if seen.len() > MOST_PLACES {
                        end(BlockEnd::Cut(Bound::Block), &frame.slots, path);
                        return;
                    }
                    depth += 1;
                }
            }
        }
    }

    /// One step inside a block, on `slots`; `queue` has the thread's buffered stores.
    pub(crate) fn inside(&self, act: Act, choice: i64, queue: &Queue, slots: &mut [i64]) -> Inside {
        match self.try_inside(act, choice, queue, slots) {
            Ok(inside) => inside,
            Err(bound) => Inside::Cut(bound),
        }
    }

    fn try_inside(
        &self,
        act: Act,
        choice: i64,
        queue: &Queue,
        slots: &mut [i64],
    ) -> Result<Inside, Bound> {
        match act {
            Act::Skip => {}
            Act::Assume(cond) => {
                if self.table.eval(cond, &[], slots)? == 0 {
                    return Ok(Inside::Disabled);
                }
            }
            Act::Assert(cond) => {
                if self.table.eval(cond, &[], slots)? == 0 {
                    return Ok(Inside::Fails);
                }
            }
            Act::Assign { dst, value } => slots[dst as usize] = self.kept(value, slots)?,
            Act::Havoc { dst, .. } => slots[dst as usize] = choice,
            Act::Load { dst, src, .. } => {
                let cell = self.cell_of(src, slots)?;
                slots[dst as usize] = queue.newest(cell).unwrap_or(slots[cell as usize]);
            }
            Act::Store { dst, value, .. } => {
                let cell = self.cell_of(dst, slots)?;
                slots[cell as usize] = self.kept(value, slots)?;
            }
            Act::Buffer { .. } | Act::Fence | Act::StoreStore | Act::Block(_) | Act::Ordered(_) => {
                unreachable!("compiled blocks hold no such step")
            }
            Act::Copy { .. } | Act::Issue { .. } | Act::Remote(_) => {
                unreachable!("compiled blocks hold no such step")
            }
            Act::Flush { .. } => {
                unreachable!("compiled blocks hold no such step")
            }
        }
        Ok(Inside::Done)
    }
}

fn enter(frames: &mut Vec<Frame>, depth: usize, loc: u32, slots: &[i64], graph: &Graph) {
    if frames.len() <= depth {
        frames.push(Frame::default());
    }
    let frame = &mut frames[depth];
    frame.loc = loc;
    frame.arc = graph.from(loc).start;
    frame.started = false;
    frame.slots.clear();
    frame.slots.extend_from_slice(slots);
}

enum Next {
    /// Take the arc, with this value of a `*`.
    Value(Option<i64>),
    /// The same, and other values are left out.
    Partial(Option<i64>),
    /// The arc's values are used up.
    Over,
    /// There are values, but none within the bounds.
    Nothing,
}

/// Moves the frame's cursor on: to the next value of a `*`, else to the next arc.
fn next_choice(graph: &Graph, frame: &mut Frame) -> Next {
    let Act::Havoc { choice, .. } = graph.arcs[frame.arc].act else {
        frame.arc += 1;
        frame.started = false;
        return Next::Value(None);
    };
    let first = !frame.started;
    if (first && choice.tried.lo > choice.tried.hi) || (!first && frame.choice == choice.tried.hi) {
        frame.arc += 1;
        frame.started = false;
        return if first { Next::Nothing } else { Next::Over };
    }
    frame.choice = if first {
        choice.tried.lo
    } else {
        frame.choice + 1
    };
    frame.started = true;
    if first && !choice.complete {
        Next::Partial(Some(frame.choice))
    } else {
        Next::Value(Some(frame.choice))
    }
}
