//! *Locked blocks*: `locked { S or S }` runs one alternative that can run to its
//! end, without interleaving.
//!
//! A block that writes needs empty buffers and becomes an atomic block. One that
//! writes nothing needs no empty buffers, and an atomic block would be too strict.
//! If no alternative reads memory twice, its one load happens at one moment
//! anyway, and the block becomes plain steps: a run that waits at the load is one in
//! which the block has not yet happened. If some alternative reads
//! twice and none writes, it becomes an atomic block that only reads and does not wait.

use palisade_program::{AtomicKind, LocId, Span, Step};

use super::Lower;
use super::code::Code;
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
    let kind = if effect.writes {
        AtomicKind::Block
    } else {
        AtomicKind::Read
    };
    let mut result = Ok(());
    code.atomic(kind, between, span, |code, between| {
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
