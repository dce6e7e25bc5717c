//! *Gaps* of a C file: after each statement, where one more statement can be
//! written. Statements that come out of macros or headers have no text of their own
//! and no gap.

use palisade_program::gap::Side;
use palisade_program::{Gap, Source, Span};

use super::ast::{File, Item, Stmt, StmtKind};

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
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Asm(_) => {}
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

    fn gap(&mut self, s: &Stmt, lonely: bool) -> Option<Stmt> {
        let simple = match &s.kind {
            StmtKind::Expr(_) | StmtKind::Declare(_) | StmtKind::Block(_) | StmtKind::If(..) => {
                true
            }
            StmtKind::While(..) | StmtKind::DoWhile(..) | StmtKind::For(..) => true,
            StmtKind::Switch(..) | StmtKind::Label(..) => !lonely,
            StmtKind::Empty | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue => false,
            StmtKind::Return(_) | StmtKind::Asm(_) | StmtKind::Gap => false,
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
            flush: None,
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
