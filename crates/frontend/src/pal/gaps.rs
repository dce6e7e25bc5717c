//! *Gaps* of a `.pal` program: between any two statements of a block, before its
//! first and after its last one, around a statement that is the whole body of a
//! branch or loop, and between a label and its statement (whoever jumps to the label
//! gets there). There is none inside atomic blocks and in functions that
//! atomic blocks call (their stores go straight to memory), after a jump (nothing
//! gets there), and in an empty block.
//!
//! The head of a `while` or `for` is a gap too: a fence there is passed on entry and on
//! each repetition, so that it serves a store before the loop and one at its end (or in
//! the parts of a `for`). It is written as
//! `while (1) { fence; if (!(condition)) break; ... }`, and lowered so.
//!
//! If the user wrote `fence?`, these are the only gaps.
//!
//! In programs with processes the gap after a remote operation knows what a flush there
//! waits for, and every flush is a gap of its own, which keeps its statement: synthesis
//! may leave it out.

use std::collections::BTreeSet;

use palisade_program::{AtomicKind, FenceKind, FlushWords, Gap, Head, Side, Span, UnOp};

use super::ast::{Decl, DeclInit, Expr, ExprKind, File, Item, Place, Stmt, StmtKind};

/// Puts a `fence?` into each gap that is wanted; returns those gaps in the order
/// of the text.
pub(super) fn fill(file: &mut File, wanted: &dyn Fn(&Gap) -> bool) -> Vec<Gap> {
    let atomic = called_in_atomic(file);
    let is_rma = |item: &Item| matches!(item, Item::Unit(unit) if unit.is_process);
    let marked =
        !file.items.iter().any(is_rma) && bodies(file).any(|(_, body)| body.iter().any(has_mark));
    let mut filler = Filler {
        wanted,
        marked,
        gaps: Vec::new(),
    };
    for item in &mut file.items {
        match item {
            Item::Function(f) if !atomic.contains(&f.name.text) => filler.list(&mut f.body),
            Item::Unit(unit) => filler.list(&mut unit.body),
            Item::Function(_) | Item::Const { .. } | Item::Shared(_) => {}
            Item::Property(_) | Item::Predicate { .. } | Item::Reach { .. } => {}
        }
    }
    filler.gaps.sort_unstable();
    filler.gaps
}

/// All code, with the names of functions.
fn bodies(file: &File) -> impl Iterator<Item = (Option<&str>, &Vec<Stmt>)> {
    file.items.iter().filter_map(|item| match item {
        Item::Function(f) => Some((Some(f.name.text.as_str()), &f.body)),
        Item::Unit(unit) => Some((None, &unit.body)),
        Item::Const { .. } | Item::Shared(_) => None,
        Item::Property(_) | Item::Predicate { .. } | Item::Reach { .. } => None,
    })
}

struct Filler<'w> {
    wanted: &'w dyn Fn(&Gap) -> bool,
    marked: bool,
    gaps: Vec<Gap>,
}

impl Filler<'_> {
    /// The statements of a block.
    fn list(&mut self, body: &mut Vec<Stmt>) {
        let old = std::mem::take(body);
        let count = old.len();
        let mut before: Option<(Span, Ending, Option<FlushWords>)> = None;
        for (index, mut stmt) in old.into_iter().enumerate() {
            let whole = with_labels(&stmt);
            let gap = match before {
                None => Some(beside(whole, Side::Before, false)),
                Some((_, Ending::Jumps, _)) => None,
                Some((_, Ending::Quiet, _)) => Some(beside(whole, Side::Before, false)),
                Some((last, Ending::Acts, flush)) => Some(after(last, flush, false)),
            };
            // Nothing is put between a jump and a label: the label may be reached by
            // other ways, and what stands before it is dead.
            body.extend(gap.and_then(|gap| self.candidate(gap)));
            before = Some((whole, ending(&stmt), remote_side(&stmt)));
            let is_label_at_end = index + 1 == count && matches!(stmt.kind, StmtKind::Empty);
            self.inside(&mut stmt);
            body.extend(self.behind_labels(&mut stmt));
            body.push(stmt);
            if is_label_at_end {
                before = None;
            }
        }
        if let Some((last, Ending::Acts | Ending::Quiet, flush)) = before {
            body.extend(self.candidate(after(last, flush, false)));
        }
    }

    /// The gap between the labels of a statement and the statement: the labels go to
    /// the candidate.
    fn behind_labels(&mut self, stmt: &mut Stmt) -> Option<Stmt> {
        if stmt.labels.is_empty() || matches!(stmt.kind, StmtKind::Empty) {
            return None;
        }
        let candidate = self.candidate(beside(stmt.span, Side::Before, false))?;
        let labels = std::mem::take(&mut stmt.labels);
        Some(Stmt {
            labels,
            ..candidate
        })
    }

    /// The statement that is a whole body.
    fn body(&mut self, stmt: &mut Stmt) {
        if let (StmtKind::Block(list), true) = (&mut stmt.kind, stmt.labels.is_empty()) {
            self.list(list);
            return;
        }
        let whole = with_labels(stmt);
        let ends = ending(stmt);
        let is_nothing = matches!(stmt.kind, StmtKind::Empty);
        let flush = remote_side(stmt);
        self.inside(stmt);
        if is_nothing {
            return;
        }
        let first = self.candidate(beside(whole, Side::Before, true));
        let last = match ends {
            Ending::Jumps => None,
            Ending::Quiet | Ending::Acts => self.candidate(after(whole, flush, true)),
        };
        if first.is_none() && last.is_none() {
            return;
        }
        let span = stmt.span;
        let empty = Stmt {
            labels: Vec::new(),
            kind: StmtKind::Empty,
            span,
        };
        let alone = std::mem::replace(stmt, empty);
        let list = first.into_iter().chain([alone]).chain(last).collect();
        stmt.kind = StmtKind::Block(list);
    }

    /// The statements inside a statement.
    fn inside(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Block(list) => self.list(list),
            StmtKind::If { arms, otherwise } => {
                for (_, body) in arms {
                    self.body(body);
                }
                if let Some(body) = otherwise {
                    self.body(body);
                }
            }
            StmtKind::While { cond, body } => {
                let head = head(cond, body);
                self.body(body);
                if let Some(head) = head {
                    self.loop_head(with_labels(stmt), head, stmt);
                }
            }
            StmtKind::DoWhile { body, .. } => self.body(body),
            StmtKind::For { cond, body, .. } => {
                let head = cond.as_ref().and_then(|cond| head(cond, body));
                self.body(body);
                if let Some(head) = head {
                    self.loop_head(with_labels(stmt), head, stmt);
                }
            }
            StmtKind::Choose(branches) => branches.iter_mut().for_each(|b| self.list(b)),
            StmtKind::Fence(FenceKind::Candidate) => {
                let gap = Gap {
                    at: stmt.span,
                    statement: stmt.span,
                    side: Side::At,
                    lonely: false,
                    head: None,
                    flush: None,
                };
                if self.marked && (self.wanted)(&gap) {
                    self.gaps.push(gap);
                } else {
                    stmt.kind = StmtKind::Skip;
                }
            }
            StmtKind::Atomic(..) | StmtKind::Empty | StmtKind::Local(_) => {}
            StmtKind::Shared(_) | StmtKind::Assign { .. } | StmtKind::Update { .. } => {}
            StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) => {}
            StmtKind::Return(_) | StmtKind::Assume(_) | StmtKind::Assert(_) => {}
            StmtKind::Skip | StmtKind::Fence(_) | StmtKind::Lock(_) | StmtKind::Unlock(_) => {}
            StmtKind::Call(_) | StmtKind::Put { .. } | StmtKind::Get { .. } => {}
            StmtKind::RemoteAtomic(_) => {}
            // What completes the own side only is no candidate: nothing else does the same.
            StmtKind::Flush(_, true) => {}
            StmtKind::Flush(target, false) => {
                let target = target.as_ref().map_or(stmt.span, |process| process.span);
                let gap = Gap {
                    flush: Some(FlushWords {
                        target,
                        window: None,
                    }),
                    ..beside(stmt.span, Side::At, false)
                };
                if (self.wanted)(&gap) {
                    self.gaps.push(gap);
                }
            }
        }
    }

    /// Puts a candidate before the condition of a `while` or `for`.
    fn loop_head(&mut self, whole: Span, head: Head, stmt: &mut Stmt) {
        let start = head.condition.start;
        let gap = Gap {
            at: Span { start, end: start },
            statement: whole,
            side: Side::Head,
            lonely: false,
            head: Some(head),
            flush: None,
        };
        let (StmtKind::While { cond, body }
        | StmtKind::For {
            cond: Some(cond),
            body,
            ..
        }) = &mut stmt.kind
        else {
            return;
        };
        let Some(candidate) = self.candidate(gap) else {
            return;
        };
        let always = Expr {
            kind: ExprKind::Int(1),
            span: cond.span,
            height: 1,
        };
        let cond = std::mem::replace(cond, always);
        let span = cond.span;
        let plain = |kind| Stmt {
            labels: Vec::new(),
            kind,
            span,
        };
        let height = cond.height.saturating_add(1);
        let left = Expr {
            kind: ExprKind::Unary(UnOp::Not, Box::new(cond)),
            span,
            height,
        };
        let test = plain(StmtKind::If {
            arms: vec![(left, plain(StmtKind::Break))],
            otherwise: None,
        });
        let body_span = body.span;
        let old = std::mem::replace(&mut **body, plain(StmtKind::Empty));
        let list = vec![candidate, test, old];
        **body = Stmt {
            labels: Vec::new(),
            kind: StmtKind::Block(list),
            span: body_span,
        };
    }

    fn candidate(&mut self, gap: Gap) -> Option<Stmt> {
        if self.marked || !(self.wanted)(&gap) {
            return None;
        }
        self.gaps.push(gap);
        Some(Stmt {
            labels: Vec::new(),
            kind: StmtKind::Fence(FenceKind::Candidate),
            span: gap.at,
        })
    }
}

/// The gap after a statement; `flush` if that is a remote operation.
fn after(statement: Span, flush: Option<FlushWords>, lonely: bool) -> Gap {
    Gap {
        flush,
        ..beside(statement, Side::After, lonely)
    }
}

/// What a flush after the statement would wait for.
fn remote_side(stmt: &Stmt) -> Option<FlushWords> {
    let process = match &stmt.kind {
        StmtKind::Put { process, .. } | StmtKind::Get { process, .. } => process,
        StmtKind::RemoteAtomic(atomic) => &atomic.process,
        StmtKind::Empty | StmtKind::Block(_) | StmtKind::Local(_) | StmtKind::Shared(_) => {
            return None;
        }
        StmtKind::Assign { .. } | StmtKind::Update { .. } | StmtKind::If { .. } => return None,
        StmtKind::While { .. } | StmtKind::DoWhile { .. } | StmtKind::For { .. } => return None,
        StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) => return None,
        StmtKind::Choose(_) | StmtKind::Assume(_) | StmtKind::Assert(_) => return None,
        StmtKind::Skip | StmtKind::Atomic(..) | StmtKind::Lock(_) | StmtKind::Unlock(_) => {
            return None;
        }
        StmtKind::Fence(_) | StmtKind::Return(_) | StmtKind::Call(_) | StmtKind::Flush(..) => {
            return None;
        }
    };
    Some(FlushWords {
        target: process.span,
        window: None,
    })
}

fn beside(statement: Span, side: Side, lonely: bool) -> Gap {
    let start = statement.start;
    let at = match side {
        // Several statements may end at one place; their spans differ.
        Side::After | Side::At => statement,
        Side::Before | Side::Head => Span { start, end: start },
    };
    Gap {
        at,
        statement,
        side,
        lonely,
        head: None,
        flush: None,
    }
}

fn with_labels(stmt: &Stmt) -> Span {
    match stmt.labels.first() {
        Some(label) => label.span.to(stmt.span),
        None => stmt.span,
    }
}

/// The head of a loop as a gap; none if its test costs no step.
fn head(cond: &Expr, body: &Stmt) -> Option<Head> {
    if let ExprKind::Int(_) = cond.kind {
        return None;
    }
    Some(Head {
        condition: cond.span,
        body: with_labels(body),
        is_block: body.labels.is_empty() && matches!(body.kind, StmtKind::Block(_)),
    })
}

/// How a statement ends: decides whether a gap behind it is told by it.
#[derive(Clone, Copy)]
enum Ending {
    /// By a jump: nothing gets behind it.
    Jumps,
    /// It touches no memory.
    Quiet,
    /// It may touch memory.
    Acts,
}

fn ending(stmt: &Stmt) -> Ending {
    match &stmt.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) => Ending::Jumps,
        StmtKind::Return(_) => Ending::Jumps,
        StmtKind::Empty | StmtKind::Local(_) | StmtKind::Shared(_) | StmtKind::Skip => {
            Ending::Quiet
        }
        StmtKind::Fence(_) | StmtKind::Lock(_) | StmtKind::Unlock(_) => Ending::Quiet,
        StmtKind::Atomic(AtomicKind::Read, _) => Ending::Acts,
        StmtKind::Atomic(_, _) => Ending::Quiet,
        StmtKind::Block(_) | StmtKind::If { .. } | StmtKind::While { .. } => Ending::Acts,
        StmtKind::DoWhile { .. } | StmtKind::For { .. } | StmtKind::Choose(_) => Ending::Acts,
        StmtKind::Assign { .. } | StmtKind::Update { .. } | StmtKind::Call(_) => Ending::Acts,
        StmtKind::Assume(_) | StmtKind::Assert(_) => Ending::Acts,
        StmtKind::Put { .. } | StmtKind::Get { .. } => Ending::Acts,
        StmtKind::RemoteAtomic(_) | StmtKind::Flush(..) => Ending::Acts,
    }
}

/// Whether the user wrote `fence?` somewhere in the statement.
fn has_mark(stmt: &Stmt) -> bool {
    let mut found = matches!(stmt.kind, StmtKind::Fence(FenceKind::Candidate));
    super::lower::for_each_child(&stmt.kind, &mut |child| found = found || has_mark(child));
    found
}

/// The functions that atomic blocks call, directly or not.
fn called_in_atomic(file: &File) -> BTreeSet<String> {
    let mut called = BTreeSet::new();
    for (_, body) in bodies(file) {
        for stmt in body {
            calls_in_atomic(stmt, &mut called);
        }
    }
    loop {
        let mut more = called.clone();
        for (name, body) in bodies(file) {
            if name.is_some_and(|name| called.contains(name)) {
                for stmt in body {
                    calls(stmt, &mut more);
                }
            }
        }
        if more.len() == called.len() {
            return called;
        }
        called = more;
    }
}

fn calls_in_atomic(stmt: &Stmt, found: &mut BTreeSet<String>) {
    if let StmtKind::Atomic(_, body) = &stmt.kind {
        for stmt in body {
            calls(stmt, found);
        }
    } else {
        super::lower::for_each_child(&stmt.kind, &mut |child| calls_in_atomic(child, found));
    }
}

/// The names that a statement calls.
fn calls(stmt: &Stmt, found: &mut BTreeSet<String>) {
    let mut place = |place: &Place| place.index.iter().for_each(|e| calls_of(e, found));
    match &stmt.kind {
        StmtKind::Assign { place: p, value }
        | StmtKind::Update {
            place: p, value, ..
        } => {
            place(p);
            calls_of(value, found);
        }
        StmtKind::If { arms, .. } => arms.iter().for_each(|(cond, _)| calls_of(cond, found)),
        StmtKind::While { cond, .. } | StmtKind::DoWhile { cond, .. } => calls_of(cond, found),
        StmtKind::For { cond, .. } => cond.iter().for_each(|e| calls_of(e, found)),
        StmtKind::Assume(e) | StmtKind::Assert(e) | StmtKind::Call(e) => calls_of(e, found),
        StmtKind::Return(value) => value.iter().for_each(|e| calls_of(e, found)),
        StmtKind::Local(decls) => decls.iter().for_each(|d| calls_of_decl(d, found)),
        StmtKind::Lock(p) | StmtKind::Unlock(p) => place(p),
        StmtKind::Empty | StmtKind::Block(_) | StmtKind::Shared(_) | StmtKind::Break => {}
        StmtKind::Continue | StmtKind::Goto(_) | StmtKind::Choose(_) | StmtKind::Skip => {}
        StmtKind::Atomic(..) | StmtKind::Fence(_) => {}
        // Remote operations do not stand in atomic blocks.
        StmtKind::Put { .. } | StmtKind::Get { .. } => {}
        StmtKind::RemoteAtomic(_) | StmtKind::Flush(..) => {}
    }
    super::lower::for_each_child(&stmt.kind, &mut |child| calls(child, found));
}

fn calls_of_decl(decl: &Decl, found: &mut BTreeSet<String>) {
    match &decl.init {
        DeclInit::None => {}
        DeclInit::Value(e) => calls_of(e, found),
        DeclInit::List(values, _) => values.iter().for_each(|e| calls_of(e, found)),
    }
}

fn calls_of(e: &Expr, found: &mut BTreeSet<String>) {
    match &e.kind {
        ExprKind::Int(_) | ExprKind::SelfId | ExprKind::Any => {}
        ExprKind::Place(place) => place.index.iter().for_each(|e| calls_of(e, found)),
        ExprKind::Unary(_, arg) => calls_of(arg, found),
        ExprKind::Binary(_, a, b) | ExprKind::ChooseRange(a, b) => {
            calls_of(a, found);
            calls_of(b, found);
        }
        ExprKind::Cond(c, a, b) => [c, a, b].into_iter().for_each(|e| calls_of(e, found)),
        ExprKind::Call(name, arguments) => {
            found.insert(name.text.clone());
            for e in arguments {
                calls_of(e, found);
            }
        }
        ExprKind::Choose(values) => values.iter().for_each(|e| calls_of(e, found)),
        ExprKind::At(..) | ExprKind::Field(..) => {}
    }
}
