//! Branches, loops, jumps and labels.
//!
//! A jump makes the place where it stands and its target one location, so it
//! costs no step, unless the jump is labelled or would lead to itself. Labels own
//! their location: what is labelled is a place that properties can name.

use std::collections::HashMap;

use palisade_program::{BinOp, LocId, LocalExpr, LocalId, Span, Step};

use super::code::{Binding, Code};
use super::range::Range;
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, ExprKind, Name, Place, Stmt, StmtKind};

/// A loop around the current statement.
pub(super) struct Loop {
    exit: LocId,
    next: LocId,
    /// Whether some `break` leaves it.
    left: bool,
    /// `Code::atomic_depth` of the loop.
    depth: u32,
}

/// A label of a frame.
pub(super) struct LabelInfo {
    span: Span,
    /// The atomic block it stands in (its start), 0 outside.
    region: u32,
    /// Its location, once a jump or the label itself was met.
    loc: Option<LocId>,
    /// The declarations in scope at the label, once it was met.
    declared: Option<usize>,
    /// Jumps that were met before the label, with the declarations in scope there.
    jumps: Vec<(usize, Span)>,
}

impl Code<'_, '_> {
    // Labels.

    /// All labels of a frame's body, with the atomic blocks they stand in.
    pub(super) fn collect_labels(&mut self, body: &[Stmt]) -> HashMap<String, LabelInfo> {
        let mut labels = HashMap::new();
        for stmt in body {
            self.collect_from(stmt, 0, &mut labels);
        }
        labels
    }

    fn collect_from(&mut self, stmt: &Stmt, region: u32, labels: &mut HashMap<String, LabelInfo>) {
        for label in &stmt.labels {
            if labels.contains_key(&label.text) {
                self.report(
                    Diagnostic::error(
                        label.span,
                        format!("label `{}` is declared twice", label.text),
                    )
                    .label("declared again here")
                    .help("rename one of the two"),
                );
                continue;
            }
            let info = LabelInfo {
                span: label.span,
                region,
                loc: None,
                declared: None,
                jumps: Vec::new(),
            };
            labels.insert(label.text.clone(), info);
        }
        let region = match &stmt.kind {
            // The first statement of a file never is an atomic block: 0 is free.
            StmtKind::Atomic(_) if region == 0 => stmt.span.start,
            _ => region,
        };
        for_each_child(&stmt.kind, &mut |child| {
            self.collect_from(child, region, labels)
        });
    }

    /// Places the labels of `stmt` here; gives their location.
    pub(super) fn define_labels(&mut self, stmt: &Stmt) -> Option<LocId> {
        for label in &stmt.labels {
            let declared = self.frame().declared;
            let Some(info) = self.frame().labels.get_mut(&label.text) else {
                continue;
            };
            if info.span != label.span {
                continue;
            }
            info.declared = Some(declared);
            let jumps = std::mem::take(&mut info.jumps);
            let loc = info.loc;
            for (from, span) in jumps {
                self.check_jump_scope(declared, from, span, &label.text);
            }
            // A jump may arrive here from where the assertion does not hold.
            self.forget_assertions();
            let here = self.here;
            match loc {
                Some(loc) => self.graph.unify(loc, here),
                None => {
                    if let Some(info) = self.frame().labels.get_mut(&label.text) {
                        info.loc = Some(here);
                    }
                }
            }
            self.label_seen = true;
            self.dead = false;
            if self.atomic_depth == 0 {
                self.graph.set_labelled(here);
                self.labels.push((label.clone(), here));
            } else {
                self.hidden_labels.insert(label.text.clone());
            }
        }
        (!stmt.labels.is_empty()).then_some(self.here)
    }

    pub(super) fn goto(&mut self, label: &Name, span: Span) {
        let region = self.frame().region;
        let declared = self.frame().declared;
        let Some(info) = self.frame().labels.get_mut(&label.text) else {
            let names: Vec<String> = self.frame().labels.keys().cloned().collect();
            let known = names.iter().map(String::as_str);
            self.context.unknown(
                "label",
                label,
                known,
                "put the label before a statement of this thread: `name: ...`",
            );
            return;
        };
        if info.region != region {
            self.leaves_atomic("goto", span);
            return;
        }
        let at_label = info.declared;
        if at_label.is_none() {
            info.jumps.push((declared, span));
        }
        let loc = info.loc;
        if let Some(at_label) = at_label {
            self.check_jump_scope(at_label, declared, span, &label.text);
        }
        let target = loc.unwrap_or_else(|| {
            let loc = self.graph.loc();
            if let Some(info) = self.frame().labels.get_mut(&label.text) {
                info.loc = Some(loc);
            }
            loc
        });
        // Another statement may jump here again later.
        if self.atomic_depth == 0 {
            self.graph.set_labelled(target);
        }
        self.jump_to(target, span);
    }

    /// A jump may not skip a declaration whose variable is in scope at the label:
    /// the declarations at the label must be among those at the jump.
    fn check_jump_scope(&mut self, at_label: usize, at_jump: usize, span: Span, label: &str) {
        let mut node = at_jump;
        while node > at_label {
            node = self.declarations[node];
        }
        if node != at_label {
            self.report(
                Diagnostic::error(span, format!("the jump to `{label}` skips a declaration"))
                    .label("jumps into the scope of a local")
                    .help("declare the local before the jump"),
            );
        }
    }

    fn leaves_atomic(&mut self, what: &str, span: Span) {
        self.report(
            Diagnostic::error(
                span,
                format!("`{what}` crosses the border of an atomic block"),
            )
            .label("an atomic block is entered at its start and left at its end")
            .help("set a local inside the block and test it behind it"),
        );
    }

    /// Goes on at `target`; what follows here cannot be reached.
    pub(super) fn jump_to(&mut self, target: LocId, span: Span) {
        if self.graph.same(self.here, target) || self.graph.is_labelled(self.here) {
            self.graph.edge(self.here, Step::Skip, target, span);
        } else {
            self.graph.unify(self.here, target);
        }
        self.here = self.graph.loc();
        self.dead = true;
    }

    pub(super) fn warn_if_dead(&mut self, stmt: &Stmt) {
        let silent = matches!(stmt.kind, StmtKind::Empty | StmtKind::Local(_));
        if !self.dead || silent || has_label(stmt) {
            return;
        }
        self.dead = false;
        self.report(
            Diagnostic::warning(stmt.span, "unreachable statement")
                .label("no path leads here")
                .help("remove it, or label it and jump to it"),
        );
    }

    // Branches.

    pub(super) fn if_else(&mut self, arms: &[(Expr, Stmt)], otherwise: Option<&Stmt>) {
        let join = self.graph.loc();
        let mut all_dead = true;
        for (cond, body) in arms {
            let (then, other) = (self.graph.loc(), self.graph.loc());
            self.with_temporaries(|code| code.branch(cond, then, other));
            self.at(then);
            self.scoped(body);
            all_dead &= self.dead;
            self.graph.unify(self.here, join);
            self.at(other);
        }
        if let Some(body) = otherwise {
            self.scoped(body);
            all_dead &= self.dead;
        } else {
            all_dead = false;
        }
        self.graph.unify(self.here, join);
        self.at(join);
        self.dead = all_dead;
    }

    fn at(&mut self, loc: LocId) {
        self.here = loc;
        self.dead = false;
    }

    pub(super) fn choose(&mut self, branches: &[Vec<Stmt>], span: Span) {
        let start = self.here;
        let join = self.graph.loc();
        let mut all_dead = true;
        for branch in branches {
            // A branch that starts with a step starts right here, so that its first
            // step makes the choice; a loop or label at its start must not be
            // re-entered through the other branches, so it gets a place of its own.
            let first = if branch.first().is_some_and(|s| self.starts_with_step(s)) {
                start
            } else {
                let first = self.graph.loc();
                self.graph.edge(start, Step::Skip, first, span);
                first
            };
            self.at(first);
            self.block(branch);
            all_dead &= self.dead;
            self.graph.unify(self.here, join);
        }
        self.at(join);
        self.dead = all_dead;
    }

    /// Whether lowering the statement starts with a step that leads away from where
    /// it stands, for good. The body of a called function might start with a loop,
    /// and so might an atomic block that dissolves in the one around it.
    fn starts_with_step(&self, stmt: &Stmt) -> bool {
        if !stmt.labels.is_empty() {
            return false;
        }
        let plain = |place: &Place| !place.index.as_deref().is_some_and(has_call);
        match &stmt.kind {
            StmtKind::Assign { place, value } | StmtKind::Update { place, value, .. } => {
                plain(place) && !has_call(value)
            }
            StmtKind::Assume(e) | StmtKind::Assert(e) => !has_call(e),
            StmtKind::Skip | StmtKind::Fence(_) => true,
            StmtKind::Atomic(_) => self.atomic_depth == 0,
            StmtKind::Lock(place) | StmtKind::Unlock(place) => plain(place),
            StmtKind::Flush(None) => true,
            StmtKind::Put { .. } | StmtKind::Get { .. } | StmtKind::Flush(Some(_)) => false,
            StmtKind::Empty | StmtKind::Block(_) | StmtKind::Local(_) => false,
            StmtKind::Shared(_) | StmtKind::If { .. } | StmtKind::While { .. } => false,
            StmtKind::DoWhile { .. } | StmtKind::For { .. } | StmtKind::Choose(_) => false,
            StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) => false,
            StmtKind::Return(_) | StmtKind::Call(_) => false,
        }
    }

    /// Goes to `yes` or `no` by the value of `cond`.
    pub(super) fn branch(&mut self, cond: &Expr, yes: LocId, no: LocId) {
        match &cond.kind {
            ExprKind::Unary(palisade_program::UnOp::Not, arg) => self.branch(arg, no, yes),
            ExprKind::Binary(BinOp::And, a, b) if !self.is_pure(b) => {
                let middle = self.graph.loc();
                self.branch(a, middle, no);
                self.here = middle;
                self.branch(b, yes, no);
            }
            ExprKind::Binary(BinOp::Or, a, b) if !self.is_pure(b) => {
                let middle = self.graph.loc();
                self.branch(a, yes, middle);
                self.here = middle;
                self.branch(b, yes, no);
            }
            ExprKind::Cond(c, a, b) if !(self.is_pure(a) && self.is_pure(b)) => {
                let (then, other) = (self.graph.loc(), self.graph.loc());
                self.branch(c, then, other);
                self.here = then;
                self.branch(a, yes, no);
                self.here = other;
                self.branch(b, yes, no);
            }
            ExprKind::Any => {
                self.graph.edge(self.here, Step::Skip, yes, cond.span);
                self.graph.edge(self.here, Step::Skip, no, cond.span);
            }
            _ => {
                let value = self.value(cond);
                self.branch_on(value, yes, no, cond.span);
            }
        }
    }

    pub(super) fn branch_on(&mut self, value: LocalExpr, yes: LocId, no: LocId, span: Span) {
        if let LocalExpr::Const(c) = value {
            let target = if c != 0 { yes } else { no };
            self.graph.edge(self.here, Step::Skip, target, span);
            return;
        }
        let negated = value.clone().negate();
        self.graph.edge(self.here, Step::Assume(value), yes, span);
        self.graph.edge(self.here, Step::Assume(negated), no, span);
    }

    /// The truth of a condition that costs no step to know.
    fn known_truth(&mut self, cond: &Expr) -> Option<bool> {
        if !self.is_pure(cond) {
            return None;
        }
        // A pure expression emits no step, so looking at its value is harmless.
        match self.value(cond) {
            LocalExpr::Const(c) => Some(c != 0),
            _ => None,
        }
    }

    // Loops.

    fn push_loop(&mut self, exit: LocId, next: LocId) {
        let depth = self.atomic_depth;
        self.frame().loops.push(Loop {
            exit,
            next,
            left: false,
            depth,
        });
    }

    /// Ends a loop: whatever comes next stands at its exit.
    fn pop_loop(&mut self, exit: LocId, endless: bool) {
        let left = self.frame().loops.pop().is_some_and(|l| l.left);
        self.here = exit;
        self.dead = endless && !left;
    }

    /// Goes back to `target`, by a step of its own only if nothing was done since.
    fn back_to(&mut self, target: LocId, span: Span) {
        if self.graph.same(self.here, target) {
            self.graph.edge(self.here, Step::Skip, target, span);
        } else {
            self.graph.unify(self.here, target);
        }
    }

    pub(super) fn while_loop(&mut self, cond: &Expr, body: &Stmt) {
        self.forget_assertions();
        let head = self.here;
        let exit = self.graph.loc();
        self.loop_with(Some(cond), cond.span, head, exit, head, |code| {
            code.scoped(body);
            code.back_to(head, body.span);
        });
    }

    /// Tests `cond` (none: always true) at `head`, runs `body` if it holds.
    fn loop_with(
        &mut self,
        cond: Option<&Expr>,
        span: Span,
        head: LocId,
        exit: LocId,
        next: LocId,
        body: impl FnOnce(&mut Self),
    ) {
        let known = match cond {
            None => Some(true),
            Some(cond) => self.known_truth(cond),
        };
        match (known, cond) {
            (Some(true), _) | (None, None) => {}
            (Some(false), _) => {
                // The body is lowered for its errors and labels.
                self.graph.edge(head, Step::Skip, exit, span);
                self.here = self.graph.loc();
            }
            (None, Some(cond)) => {
                let first = self.graph.loc();
                self.with_temporaries(|code| code.branch(cond, first, exit));
                self.here = first;
            }
        }
        self.push_loop(exit, next);
        body(self);
        self.pop_loop(exit, known == Some(true));
    }

    pub(super) fn do_while(&mut self, body: &Stmt, cond: &Expr) {
        self.forget_assertions();
        let first = self.here;
        let (test, exit) = (self.graph.loc(), self.graph.loc());
        self.push_loop(exit, test);
        self.scoped(body);
        self.graph.unify(self.here, test);
        self.here = test;
        let known = self.known_truth(cond);
        match known {
            Some(true) => self.back_to(first, cond.span),
            Some(false) => self.graph.unify(test, exit),
            None => self.with_temporaries(|code| code.branch(cond, first, exit)),
        }
        self.pop_loop(exit, known == Some(true));
    }

    pub(super) fn for_loop(
        &mut self,
        init: Option<&Stmt>,
        cond: Option<&Expr>,
        update: Option<&Stmt>,
        body: &Stmt,
    ) {
        let declared = self.frame().declared;
        self.frame().scopes.push(HashMap::new());
        if let Some(init) = init {
            self.statement(init);
        }
        self.forget_assertions();
        let head = self.here;
        let (exit, next) = (self.graph.loc(), self.graph.loc());
        let counter = self.counter(init, cond, update, body);
        let span = body.span;
        self.loop_with(cond, span, head, exit, next, |code| {
            let old = counter.map(|(local, range)| {
                (
                    local,
                    std::mem::replace(&mut code.ranges[local.index()], Some(range)),
                )
            });
            code.scoped(body);
            if let Some((local, range)) = old {
                code.ranges[local.index()] = range;
            }
            code.graph.unify(code.here, next);
            code.here = next;
            code.dead = false;
            if let Some(update) = update {
                code.statement(update);
            }
            code.back_to(head, span);
        });
        self.frame().scopes.pop();
        self.frame().declared = declared;
    }

    /// The range of a loop counter inside the body, for loops of the form
    /// `for (i = c; i < d; i++)` whose body neither assigns `i` nor has a label.
    fn counter(
        &mut self,
        init: Option<&Stmt>,
        cond: Option<&Expr>,
        update: Option<&Stmt>,
        body: &Stmt,
    ) -> Option<(LocalId, Range)> {
        let (name, lo) = initial_assignment(init?)?;
        let lo = self.pure_constant(lo)?;
        let ExprKind::Binary(op, left, right) = &cond?.kind else {
            return None;
        };
        let hi = self.pure_constant(right)?;
        let hi = match op {
            BinOp::Lt => hi.checked_sub(1)?,
            BinOp::Le => hi,
            _ => return None,
        };
        let StmtKind::Update {
            place,
            op: BinOp::Add,
            value,
        } = &update?.kind
        else {
            return None;
        };
        let grows = self.pure_constant(value)? > 0;
        let same =
            is_plain(place, name) && matches!(&left.kind, ExprKind::Place(p) if is_plain(p, name));
        if !grows || !same || touches(body, name) {
            return None;
        }
        match self.lookup(name)? {
            Binding::Scalar(local) => Some((local, Range::new(lo, hi.max(lo)))),
            Binding::Array(_) => None,
        }
    }

    fn pure_constant(&mut self, e: &Expr) -> Option<i64> {
        if !self.is_pure(e) {
            return None;
        }
        match self.value(e) {
            LocalExpr::Const(c) => Some(c),
            _ => None,
        }
    }

    pub(super) fn break_loop(&mut self, span: Span) {
        if let Some((exit, _)) = self.innermost_loop("break", span) {
            if let Some(l) = self.frame().loops.last_mut() {
                l.left = true;
            }
            self.jump_to(exit, span);
        }
    }

    pub(super) fn continue_loop(&mut self, span: Span) {
        if let Some((_, next)) = self.innermost_loop("continue", span) {
            self.jump_to(next, span);
        }
    }

    fn innermost_loop(&mut self, word: &str, span: Span) -> Option<(LocId, LocId)> {
        let depth = self.atomic_depth;
        let Some(found) = self.frame().loops.last() else {
            self.report(
                Diagnostic::error(span, format!("`{word}` outside a loop"))
                    .label("there is no loop here")
                    .help("remove it, or use `goto` or `return`"),
            );
            return None;
        };
        if found.depth != depth {
            self.leaves_atomic(word, span);
            return None;
        }
        Some((found.exit, found.next))
    }

    pub(super) fn return_from(&mut self, value: Option<&Expr>, span: Span) {
        let result = self.frame().result;
        if self.frame().function.is_empty() && value.is_some() {
            self.report(
                Diagnostic::error(span, "a thread returns no value")
                    .label("value in a thread's `return`")
                    .help("write `return;`, or store the value in a shared variable"),
            );
            return;
        }
        if let Some(value) = value {
            match result {
                Some(result) => self.assign_local(result, value, span),
                None => {
                    self.value(value);
                }
            }
        }
        if self.frame().base_depth != self.atomic_depth {
            self.leaves_atomic("return", span);
            return;
        }
        let exit = self.frame().exit;
        self.jump_to(exit, span);
    }
}

/// Calls `f` on the statements directly inside.
pub(super) fn for_each_child(kind: &StmtKind, f: &mut dyn FnMut(&Stmt)) {
    match kind {
        StmtKind::Block(body) | StmtKind::Atomic(body) => body.iter().for_each(f),
        StmtKind::If { arms, otherwise } => {
            arms.iter().for_each(|(_, body)| f(body));
            if let Some(body) = otherwise {
                f(body);
            }
        }
        StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } => f(body),
        StmtKind::For {
            init, update, body, ..
        } => {
            init.iter().for_each(|s| f(s));
            f(body);
            update.iter().for_each(|s| f(s));
        }
        StmtKind::Choose(branches) => branches.iter().flatten().for_each(f),
        StmtKind::Empty | StmtKind::Local(_) | StmtKind::Shared(_) => {}
        StmtKind::Assign { .. } | StmtKind::Update { .. } => {}
        StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) | StmtKind::Return(_) => {}
        StmtKind::Assume(_) | StmtKind::Assert(_) | StmtKind::Skip | StmtKind::Fence(_) => {}
        StmtKind::Lock(_) | StmtKind::Unlock(_) | StmtKind::Call(_) => {}
        StmtKind::Put { .. } | StmtKind::Get { .. } | StmtKind::Flush(_) => {}
    }
}

/// Whether the expression calls something.
fn has_call(e: &Expr) -> bool {
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
fn has_label(stmt: &Stmt) -> bool {
    let mut found = !stmt.labels.is_empty();
    for_each_child(&stmt.kind, &mut |child| found = found || has_label(child));
    found
}

/// Whether the statement may assign the local `name`, or has a label.
fn touches(stmt: &Stmt, name: &str) -> bool {
    let mut found = match &stmt.kind {
        StmtKind::Assign { place, .. } | StmtKind::Update { place, .. } => place.name.text == name,
        _ => false,
    } || !stmt.labels.is_empty();
    for_each_child(&stmt.kind, &mut |child| {
        found = found || touches(child, name)
    });
    found
}

fn is_plain(place: &Place, name: &str) -> bool {
    place.index.is_none() && place.name.text == name
}

/// `i = e` or `local i = e`.
fn initial_assignment(stmt: &Stmt) -> Option<(&str, &Expr)> {
    match &stmt.kind {
        StmtKind::Assign { place, value } if place.index.is_none() => {
            Some((&place.name.text, value))
        }
        StmtKind::Local(decls) => match decls.as_slice() {
            [decl] if decl.len.is_none() && decl.domain.is_none() => match &decl.init {
                crate::pal::ast::DeclInit::Value(value) => Some((&decl.name.text, value)),
                crate::pal::ast::DeclInit::None | crate::pal::ast::DeclInit::List(..) => None,
            },
            _ => None,
        },
        _ => None,
    }
}
