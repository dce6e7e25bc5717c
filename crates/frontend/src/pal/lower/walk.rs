//! Questions about pieces of the syntax tree.

use crate::pal::ast::{DeclInit, Expr, ExprKind, Place, Stmt, StmtKind};

/// Calls `f` on the statements directly inside.
pub(in crate::pal) fn for_each_child(kind: &StmtKind, f: &mut dyn FnMut(&Stmt)) {
    match kind {
        StmtKind::Block(body) | StmtKind::Atomic(_, body) => body.iter().for_each(f),
        StmtKind::If { arms, otherwise } => {
            for (_, body) in arms {
                f(body);
            }
            if let Some(body) = otherwise {
                f(body);
            }
        }
        StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } => f(body),
        StmtKind::For {
            init, update, body, ..
        } => {
            if let Some(init) = init {
                f(init);
            }
            f(body);
            if let Some(update) = update {
                f(update);
            }
        }
        StmtKind::Choose(branches) => branches.iter().flatten().for_each(f),
        StmtKind::Empty | StmtKind::Local(_) | StmtKind::Shared(_) => {}
        StmtKind::Assign { .. } | StmtKind::Update { .. } => {}
        StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) | StmtKind::Return(_) => {}
        StmtKind::Assume(_) | StmtKind::Assert(_) | StmtKind::Skip | StmtKind::Fence(_) => {}
        StmtKind::Lock(_) | StmtKind::Unlock(_) | StmtKind::Call(_) => {}
        StmtKind::Put { .. } | StmtKind::Get { .. } => {}
        StmtKind::RemoteAtomic(_) | StmtKind::Flush(..) => {}
    }
}

/// Whether the expression calls something.
pub(super) fn has_call(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(_) | ExprKind::SelfId | ExprKind::Any => false,
        ExprKind::Place(place) => place.index.as_deref().is_some_and(has_call),
        ExprKind::Unary(_, arg) => has_call(arg),
        ExprKind::Binary(_, a, b) | ExprKind::ChooseRange(a, b) => has_call(a) || has_call(b),
        ExprKind::Cond(c, a, b) => has_call(c) || has_call(a) || has_call(b),
        ExprKind::Call(..) => true,
        ExprKind::Choose(values) => values.iter().any(has_call),
        ExprKind::At(..) | ExprKind::Field(..) => false,
    }
}

/// Whether a label stands somewhere in the statement.
pub(super) fn has_label(stmt: &Stmt) -> bool {
    let mut found = !stmt.labels.is_empty();
    for_each_child(&stmt.kind, &mut |child| found = found || has_label(child));
    found
}

/// Whether the statement may assign the local `name`, or has a label.
pub(super) fn touches(stmt: &Stmt, name: &str) -> bool {
    let mut found = match &stmt.kind {
        StmtKind::Assign { place, .. } | StmtKind::Update { place, .. } => place.name.text == name,
        _ => false,
    } || !stmt.labels.is_empty();
    for_each_child(&stmt.kind, &mut |child| {
        found = found || touches(child, name);
    });
    found
}

pub(super) fn is_plain(place: &Place, name: &str) -> bool {
    place.index.is_none() && place.name.text == name
}

/// `i = e` or `local i = e`.
pub(super) fn initial_assignment(stmt: &Stmt) -> Option<(&str, &Expr)> {
    match &stmt.kind {
        StmtKind::Assign { place, value } if place.index.is_none() => {
            Some((&place.name.text, value))
        }
        StmtKind::Local(decls) => match decls.as_slice() {
            [decl] if decl.len.is_none() && decl.domain.is_none() => match &decl.init {
                DeclInit::Value(value) => Some((&decl.name.text, value)),
                DeclInit::None | DeclInit::List(..) => None,
            },
            _ => None,
        },
        _ => None,
    }
}
