//! *Locked blocks*: `locked { S or S }` runs one alternative that can run to its
//! end, without interleaving.
//!
//! A block that writes needs empty buffers and becomes an atomic block. One that
//! writes nothing needs no empty buffers, and an atomic block would be too strict.
//! If no alternative reads memory twice, its one load happens at one moment
//! anyway, and the block becomes plain steps: a run that waits at the load is one in
//! which the block has not yet happened. If some alternative reads
//! twice and writes nothing, an atomic block is right exactly where the process's
//! buffers are certainly empty ([`check_snapshots`]); anywhere else it is refused.

use palisade_program::cfg::{Cfg, FenceKind, Step};
use palisade_program::{AtomicKind, LocId, Span};

use super::code::Code;
use super::{Complaints, Lower};
use crate::rmm::ast::{Alternatives, Labelled, Stmt, StmtKind, Sync, WriteKind};

/// What a block does to memory.
#[derive(Clone, Copy, Default)]
struct Effect {
    writes: bool,
    /// The most reads of one run through it.
    reads: usize,
}

impl Effect {
    fn then(self, next: Self) -> Self {
        Self {
            writes: self.writes || next.writes,
            reads: self.reads + next.reads,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            writes: self.writes || other.writes,
            reads: self.reads.max(other.reads),
        }
    }
}

fn effect_of_list(list: &[Labelled]) -> Effect {
    let all = list.iter().map(|item| effect(&item.stmt));
    all.fold(Effect::default(), Effect::then)
}

fn effect_of_alternatives(alternatives: &Alternatives) -> Effect {
    let all = alternatives.iter().map(|list| effect_of_list(list));
    all.fold(Effect::default(), Effect::or)
}

fn effect(stmt: &Stmt) -> Effect {
    match &stmt.kind {
        StmtKind::ReadEqual(..) | StmtKind::ReadInto(..) => Effect {
            writes: false,
            reads: 1,
        },
        StmtKind::Write(..) | StmtKind::Cas(..) => Effect {
            writes: true,
            reads: 0,
        },
        StmtKind::Block(list) => effect_of_list(list),
        StmtKind::Locked(alternatives) => effect_of_alternatives(alternatives),
        StmtKind::Nop | StmtKind::Assign(..) | StmtKind::Assume(_) => Effect::default(),
        // Refused below.
        StmtKind::Fence | StmtKind::StoreFence | StmtKind::LoadFence => Effect::default(),
        StmtKind::If(..) | StmtKind::While(..) | StmtKind::Goto(_) => Effect::default(),
        StmtKind::Either(_) | StmtKind::Candidate => Effect::default(),
    }
}

/// A locked block.
pub(super) fn block(
    code: &mut Code<'_, '_>,
    alternatives: &Alternatives,
    between: (LocId, LocId),
    span: Span,
) -> Lower<()> {
    let effect = effect_of_alternatives(alternatives);
    if !effect.writes && effect.reads <= 1 {
        return inner(code, alternatives, between);
    }
    if !effect.writes {
        code.snapshots.push(span);
    }
    let mut result = Ok(());
    code.atomic(AtomicKind::Block, between, span, |code, between| {
        result = inner(code, alternatives, between);
    });
    result
}

fn inner(
    code: &mut Code<'_, '_>,
    alternatives: &Alternatives,
    (from, to): (LocId, LocId),
) -> Lower<()> {
    let mut result = Ok(());
    for list in alternatives {
        result = result.and(sequence(code, list, (from, to)));
    }
    result
}

fn sequence(code: &mut Code<'_, '_>, list: &[Labelled], (from, to): (LocId, LocId)) -> Lower<()> {
    let mut at = from;
    let mut result = Ok(());
    for (i, item) in list.iter().enumerate() {
        let next = if i + 1 == list.len() {
            to
        } else {
            code.graph.loc()
        };
        if let Some(label) = &item.label {
            let message = "a locked block has no labels inside";
            let help = "put the label before `locked`";
            result = Err(code.complaints.error(label.span, message, help));
        }
        result = result.and(stmt(code, &item.stmt, (at, next)));
        at = next;
    }
    result
}

fn stmt(code: &mut Code<'_, '_>, stmt: &Stmt, between: (LocId, LocId)) -> Lower<()> {
    let (from, to) = between;
    let span = stmt.span;
    let what = match &stmt.kind {
        StmtKind::Nop => {
            code.edge(from, Step::Skip, to, span);
            return Ok(());
        }
        StmtKind::ReadEqual(Sync::No, loc, value) => {
            return code.read_equal(Sync::No, loc, value, between, span);
        }
        StmtKind::ReadInto(Sync::No, register, loc) => {
            return code.read_into(Sync::No, register, loc, between, span);
        }
        // Inside of the block all writes go straight to memory.
        StmtKind::Write(
            WriteKind::Plain | WriteKind::Locked | WriteKind::StoreLocked,
            loc,
            value,
        ) => return code.write(WriteKind::Plain, loc, value, between, span),
        StmtKind::Cas(loc, old, new) => return code.exchange(loc, old, new, between, span),
        StmtKind::Assign(register, value) => {
            return code.assign(register, value, between, span);
        }
        StmtKind::Assume(cond) => {
            let cond = code.cond(cond)?;
            code.edge(from, Step::Assume(cond), to, span);
            return Ok(());
        }
        StmtKind::Block(list) => return sequence(code, list, between),
        StmtKind::Locked(alternatives) => return inner(code, alternatives, between),
        StmtKind::ReadEqual(Sync::Yes, ..) | StmtKind::ReadInto(Sync::Yes, ..) => "`syncrd`",
        StmtKind::Write(WriteKind::Sync, ..) => "`syncwr`",
        StmtKind::Fence => "`fence`",
        StmtKind::StoreFence => "`ssfence`",
        StmtKind::LoadFence => "`llfence`",
        StmtKind::If(..) => "`if`",
        StmtKind::While(..) => "`while`",
        StmtKind::Goto(_) => "`goto`",
        StmtKind::Either(_) => "`either`",
        StmtKind::Candidate => "candidate",
    };
    let message = format!("a locked block has no {what} inside");
    let help = "use reads, writes, cas, assignments and assumptions; `or` separates alternatives";
    Err(code.complaints.error(span, message, help))
}

/// Refuses blocks that only read, but more than once, where the process may have
/// writes in its buffers: what they read there cannot be expressed.
pub(super) fn check_snapshots(cfg: &Cfg, snapshots: &[Span], complaints: &mut Complaints<'_>) {
    if snapshots.is_empty() {
        return;
    }
    let buffered = may_have_buffered(cfg);
    for edge in &cfg.edges {
        let is_atomic = matches!(edge.step, Step::Atomic(_));
        if is_atomic && snapshots.contains(&edge.span) && buffered[edge.from.index()] {
            let message = "this locked block reads more than once while writes may be buffered";
            let help = "put `fence` before it, or split it";
            complaints.error(edge.span, message, help);
        }
    }
}

/// For each location whether the thread may have stores in its buffers there.
fn may_have_buffered(cfg: &Cfg) -> Vec<bool> {
    let mut buffered = vec![false; cfg.loc_count()];
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for edge in &cfg.edges {
            let after = match &edge.step {
                Step::Store { .. } => true,
                Step::Fence(FenceKind::Full) | Step::Atomic(_) => false,
                Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {
                    buffered[edge.from.index()]
                }
                Step::Load { .. } | Step::Assert { .. } => buffered[edge.from.index()],
                Step::Fence(FenceKind::StoreStore | FenceKind::Candidate) => {
                    buffered[edge.from.index()]
                }
                Step::Put { .. } | Step::Get { .. } => buffered[edge.from.index()],
                Step::RemoteAtomic(_) | Step::Flush(_) => buffered[edge.from.index()],
            };
            if after && !buffered[edge.to.index()] {
                buffered[edge.to.index()] = true;
                changed = true;
            }
        }
    }
    buffered
}
