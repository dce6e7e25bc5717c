//! *Gaps* of a C file: after each statement, where one more statement can be
//! written. Statements that come out of macros or headers have no text of their own
//! and no gap. The gap after a remote operation of MPI knows what a flush there waits
//! for; a flush is a gap of its own.

use palisade_program::gap::Side;
use palisade_program::{FlushWords, Gap, Source, Span};

use super::ast::{Expr, ExprKind, File, Item, Stmt, StmtKind};

/// Puts a gap after each statement whose gap is wanted; returns the gaps in the
/// order of the text.
pub(super) fn fill(file: &mut File, source: &Source, wanted: &dyn Fn(&Gap) -> bool) -> Vec<Gap> {
    let mut filler = Filler {
        source,
        wanted,
        gaps: Vec::new(),
    };
    for item in &mut file.items {
        if let Item::Function(f) = item {
            filler.block(&mut f.body);
        }
    }
    filler.gaps.sort_by_key(|g| g.at);
    filler.gaps.dedup();
    filler.gaps
}

struct Filler<'a> {
    source: &'a Source,
    wanted: &'a dyn Fn(&Gap) -> bool,
    gaps: Vec<Gap>,
}

impl Filler<'_> {
    fn block(&mut self, body: &mut Vec<Stmt>) {
        let mut filled = Vec::new();
        for mut s in std::mem::take(body) {
            self.inside(&mut s);
            self.own_flush(&s);
            let gap = self.gap(&s, false);
            filled.push(s);
            filled.extend(gap);
        }
        *body = filled;
    }

    fn inside(&mut self, s: &mut Stmt) {
        match &mut s.kind {
            StmtKind::Block(body) => self.block(body),
            StmtKind::If(_, a, b) => {
                self.lonely(a);
                if let Some(b) = b {
                    self.lonely(b);
                }
            }
            StmtKind::While(_, a) | StmtKind::DoWhile(a, _) | StmtKind::For(_, _, _, a) => {
                self.lonely(a);
            }
            StmtKind::Switch(_, a) => self.inside(a),
            StmtKind::Case(_, _, a) | StmtKind::Default(a) | StmtKind::Label(_, a) => {
                self.inside(a);
            }
            StmtKind::Empty | StmtKind::Expr(_) | StmtKind::Declare(_) | StmtKind::Goto(_) => {}
            StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Asm(_)
            | StmtKind::Refused(_) => {}
            StmtKind::Gap => {}
        }
    }

    /// The only statement of a branch or loop.
    fn lonely(&mut self, s: &mut Box<Stmt>) {
        if matches!(s.kind, StmtKind::Block(_)) {
            return self.inside(s);
        }
        self.inside(s);
        if let Some(gap) = self.gap(s, true) {
            let span = s.span;
            let inner = std::mem::replace(
                &mut **s,
                Stmt {
                    kind: StmtKind::Empty,
                    span,
                },
            );
            s.kind = StmtKind::Block(vec![inner, gap]);
        }
    }

    /// A flush that stands in the text is a gap of its own.
    fn own_flush(&mut self, s: &Stmt) {
        let Some(("MPI_Win_flush", args, at)) = call(s) else {
            return;
        };
        let [target, window] = args else { return };
        let gap = Gap {
            at,
            statement: s.span,
            side: Side::At,
            lonely: false,
            head: None,
            flush: Some(FlushWords {
                target: target.span,
                window: Some(window.span),
            }),
        };
        if self.source.slice(s.span).ends_with(';') && (self.wanted)(&gap) {
            self.gaps.push(gap);
        }
    }

    fn gap(&mut self, s: &Stmt, lonely: bool) -> Option<Stmt> {
        let simple = match &s.kind {
            StmtKind::Expr(_) | StmtKind::Declare(_) | StmtKind::Block(_) | StmtKind::If(..) => {
                true
            }
            StmtKind::While(..) | StmtKind::DoWhile(..) | StmtKind::For(..) => true,
            StmtKind::Switch(..) | StmtKind::Label(..) => !lonely,
            StmtKind::Empty | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue => false,
            StmtKind::Return(_) | StmtKind::Asm(_) | StmtKind::Refused(_) | StmtKind::Gap => false,
            StmtKind::Case(..) | StmtKind::Default(_) => false,
        };
        let text = self.source.slice(s.span);
        if !simple || !text.ends_with([';', '}']) {
            return None;
        }
        let at = Span {
            start: s.span.end,
            end: s.span.end,
        };
        let gap = Gap {
            at,
            statement: s.span,
            side: Side::After,
            lonely,
            head: None,
            flush: remote_side(s),
        };
        if !(self.wanted)(&gap) {
            return None;
        }
        self.gaps.push(gap);
        Some(Stmt {
            kind: StmtKind::Gap,
            span: at,
        })
    }
}

/// The gaps after remote operations of OpenSHMEM.
pub(super) fn after_shmem(file: &mut File, source: &Source) -> Vec<Gap> {
    let mut ends = std::collections::BTreeSet::new();
    for item in &file.items {
        if let Item::Function(f) = item {
            for s in &f.body {
                super::lower::each_statement(s, &mut |s| {
                    if is_shmem(s) {
                        ends.insert(s.span.end);
                    }
                });
            }
        }
    }
    fill(file, source, &|gap| {
        gap.side == Side::After && ends.contains(&gap.statement.end)
    })
}

/// Gaps with the number of loops around each, in the text of its function.
pub(super) fn with_loops(file: &File, gaps: Vec<Gap>) -> Vec<(Gap, u32)> {
    let mut loops = Vec::new();
    for item in &file.items {
        if let Item::Function(f) = item {
            for s in &f.body {
                super::lower::each_statement(s, &mut |s| {
                    if let StmtKind::While(..) | StmtKind::DoWhile(..) | StmtKind::For(..) = s.kind
                    {
                        loops.push(s.span);
                    }
                });
            }
        }
    }
    let depth = |gap: &Gap| {
        let is_around = |l: &&Span| l.start <= gap.at.start && gap.at.end < l.end;
        loops.iter().filter(is_around).count() as u32
    };
    gaps.into_iter().map(|gap| (gap, depth(&gap))).collect()
}

/// Whether a statement is a remote operation of OpenSHMEM that may go on after it.
fn is_shmem(s: &Stmt) -> bool {
    let Some((name, _, _)) = call(s) else {
        return false;
    };
    let parts = ["_put", "_iput", "_get_nbi", "_atomic_"];
    let is_remote = name.ends_with("_p") || parts.iter().any(|part| name.contains(part));
    name.starts_with("shmem_") && is_remote
}

/// The function that a statement calls, its arguments, and the span of the call.
fn call(s: &Stmt) -> Option<(&str, &[Expr], Span)> {
    let StmtKind::Expr(e) = &s.kind else {
        return None;
    };
    let ExprKind::Call(callee, args) = &e.kind else {
        return None;
    };
    let ExprKind::Ident(name) = &callee.kind else {
        return None;
    };
    Some((name, args, e.span))
}

/// The queue of an operation of GASPI, which a wait would complete.
fn queue_of(name: &str, args: &[Expr]) -> Option<FlushWords> {
    let is_remote = name.starts_with("gaspi_write") || name.starts_with("gaspi_read");
    let queue = args.get(args.len().checked_sub(2)?)?;
    is_remote.then_some(FlushWords {
        target: queue.span,
        window: None,
    })
}

/// What a flush after the statement would wait for: rank and window of a remote operation.
fn remote_side(s: &Stmt) -> Option<FlushWords> {
    let (name, args, _) = call(s)?;
    let (last, before) = (
        args.last()?,
        args.len().checked_sub(2).and_then(|k| args.get(k)),
    );
    let (rank, window) = match name {
        "MPI_Put" | "MPI_Get" | "MPI_Accumulate" | "MPI_Fetch_and_op" => (args.get(3)?, last),
        "MPI_Rput" | "MPI_Rget" | "MPI_Raccumulate" => (args.get(3)?, before?),
        "MPI_Compare_and_swap" => (args.get(4)?, last),
        "MPI_Get_accumulate" => (args.get(6)?, last),
        "MPI_Rget_accumulate" => (args.get(6)?, before?),
        _ => return queue_of(name, args),
    };
    Some(FlushWords {
        target: rank.span,
        window: Some(window.span),
    })
}
