//! *Gaps* of an `.rmm` program: places for one more statement. As in `.pal` they
//! stand between the statements of a list, before the first and after the last
//! one, and around a statement that is the whole body of a branch or loop; there
//! is none in locked blocks and after a jump. A fence before a labelled statement
//! goes behind the label.
//!
//! A statement of a macro is one piece of text but may stand at several places of
//! the program: it has a gap on both sides wherever it stands, in braces, so that
//! the patch is right everywhere.

use palisade_program::{Gap, Side, Span};

use super::ast::{File, Labelled, Stmt, StmtKind, Sync, WriteKind};

/// Puts a candidate into each gap that is wanted; returns those gaps in the order
/// of the text.
pub(super) fn fill(file: &mut File, wanted: &dyn Fn(&Gap) -> bool) -> Vec<Gap> {
    let mut filler = Filler {
        wanted,
        gaps: Vec::new(),
    };
    for process in &mut file.processes {
        filler.list(&mut process.text);
    }
    filler.gaps.sort_unstable();
    filler.gaps.dedup();
    filler.gaps
}

struct Filler<'w> {
    wanted: &'w dyn Fn(&Gap) -> bool,
    gaps: Vec<Gap>,
}

/// How a statement ends: decides whether the gap behind it is told by it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// By a jump: nothing gets behind it.
    Jumps,
    /// It touches no memory, or leaves the buffers empty.
    Quiet,
    /// It may load or store.
    Acts,
}

impl Filler<'_> {
    /// The statements of a list.
    fn list(&mut self, list: &mut Vec<Labelled>) {
        let old = std::mem::take(list);
        let mut before = Ending::Quiet;
        let mut last: Option<Span> = None;
        for mut item in old {
            // Behind the statement before this one, if that is not of a macro.
            if let (Ending::Acts, Some(span)) = (before, last) {
                let gap = after(span, false);
                list.extend(
                    self.candidate(gap)
                        .map(|stmt| Labelled { label: None, stmt }),
                );
            }
            let is_dead = before == Ending::Jumps && item.label.is_none();
            let wants_first = before != Ending::Acts && !is_dead;
            before = ending(&item.stmt);
            last = item.stmt.in_file.then_some(item.stmt.span);
            self.inside(&mut item.stmt);
            if !item.stmt.in_file {
                self.alone(&mut item);
            } else if wants_first
                && let Some(stmt) = self.candidate(in_front(item.stmt.span, false))
            {
                let label = item.label.take();
                list.push(Labelled { label, stmt });
            }
            list.push(item);
        }
        if let (Ending::Acts, Some(span)) = (before, last) {
            let stmt = self.candidate(after(span, false));
            list.extend(stmt.map(|stmt| Labelled { label: None, stmt }));
        }
    }

    /// A statement that is the whole body of a branch or loop.
    fn body(&mut self, item: &mut Labelled) {
        let in_file = item.stmt.in_file;
        if let (StmtKind::Block(list), true) = (&mut item.stmt.kind, in_file) {
            self.list(list);
            return;
        }
        self.inside(&mut item.stmt);
        self.alone(item);
    }

    /// Gaps on both sides of a statement, which gets braces.
    fn alone(&mut self, item: &mut Labelled) {
        let (span, in_file) = (item.stmt.span, item.stmt.in_file);
        let ends = ending(&item.stmt);
        let first = self.candidate(in_front(span, true));
        let last = match ends {
            Ending::Jumps => None,
            Ending::Quiet | Ending::Acts => self.candidate(after(span, true)),
        };
        if first.is_none() && last.is_none() {
            return;
        }
        let block = Stmt {
            kind: StmtKind::Nop,
            span,
            in_file,
        };
        let stmt = std::mem::replace(&mut item.stmt, block);
        let list = first.into_iter().chain([stmt]).chain(last);
        let list = list.map(|stmt| Labelled { label: None, stmt });
        item.stmt.kind = StmtKind::Block(list.collect());
    }

    /// The statements inside a statement.
    fn inside(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::If(_, yes, no) => {
                self.body(yes);
                if let Some(no) = no {
                    self.body(no);
                }
            }
            StmtKind::While(_, body) => self.body(body),
            StmtKind::Either(alternatives) => alternatives.iter_mut().for_each(|a| self.list(a)),
            StmtKind::Block(list) => self.list(list),
            StmtKind::Nop | StmtKind::ReadEqual(..) | StmtKind::ReadInto(..) => {}
            StmtKind::Write(..) | StmtKind::Cas(..) | StmtKind::Assign(..) => {}
            StmtKind::Fence | StmtKind::StoreFence | StmtKind::LoadFence => {}
            StmtKind::Candidate | StmtKind::Assume(_) | StmtKind::Goto(_) => {}
            StmtKind::Locked(_) => {}
        }
    }

    fn candidate(&mut self, gap: Gap) -> Option<Stmt> {
        if !(self.wanted)(&gap) {
            return None;
        }
        self.gaps.push(gap);
        Some(Stmt {
            kind: StmtKind::Candidate,
            span: gap.at,
            in_file: true,
        })
    }
}

fn in_front(statement: Span, lonely: bool) -> Gap {
    Gap {
        at: Span {
            start: statement.start,
            end: statement.start,
        },
        statement,
        side: Side::Before,
        lonely,
        head: None,
        flush: None,
    }
}

/// The gap behind a statement. A lonely statement and the branch or loop around it
/// end at the same place, so the whole statement stands for its gap.
fn after(statement: Span, lonely: bool) -> Gap {
    let end = Span {
        start: statement.end,
        end: statement.end,
    };
    Gap {
        at: if lonely { statement } else { end },
        statement,
        side: Side::After,
        lonely,
        head: None,
        flush: None,
    }
}

fn ending(stmt: &Stmt) -> Ending {
    match &stmt.kind {
        StmtKind::Goto(_) => Ending::Jumps,
        StmtKind::Nop | StmtKind::Assign(..) | StmtKind::Assume(_) => Ending::Quiet,
        StmtKind::Fence | StmtKind::StoreFence | StmtKind::LoadFence => Ending::Quiet,
        StmtKind::Candidate | StmtKind::Cas(..) => Ending::Quiet,
        StmtKind::ReadEqual(Sync::Yes, ..) | StmtKind::ReadInto(Sync::Yes, ..) => Ending::Quiet,
        StmtKind::ReadEqual(Sync::No, ..) | StmtKind::ReadInto(Sync::No, ..) => Ending::Acts,
        StmtKind::Write(WriteKind::Locked | WriteKind::Sync, ..) => Ending::Quiet,
        StmtKind::Write(WriteKind::Plain | WriteKind::StoreLocked, ..) => Ending::Acts,
        StmtKind::If(..) | StmtKind::While(..) | StmtKind::Either(_) => Ending::Acts,
        StmtKind::Locked(_) | StmtKind::Block(_) => Ending::Acts,
    }
}
