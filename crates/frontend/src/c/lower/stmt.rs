//! *Statements*: control flow, declarations, jumps. A loop that starts or awaits
//! threads, or remote operations in a few rounds, is unrolled as long as its condition is a constant.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use palisade_program::{
    BinOp, Expr as Ir, FenceKind, Init, LocId, LocalAtom, LocalExpr, Order, Orders, Span, Step,
    UNINITIALISED,
};

use super::code::{Before, Code, Lower, Switch, meet};
use super::expr::unsupported;
use super::layout::Cells;
use super::walk;
use crate::c::ast::{Binary, Declaration, Expr, ExprKind, Stmt, StmtKind, Storage, Unary};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// Rounds of a loop that are unrolled at most.
const MAX_UNROLL: usize = 128;

/// Rounds of a loop with remote operations that is unrolled, at most.
const MAX_SHORT: i128 = 4;

/// The variable and the bound of `i < bound`.
fn counted(cond: &Expr) -> Option<(&str, &Expr)> {
    let ExprKind::Binary(Binary::Lt | Binary::Le, a, bound) = &cond.kind else {
        return None;
    };
    match &a.kind {
        ExprKind::Ident(name) => Some((name, bound)),
        _ => None,
    }
}

/// Whether a step is `i++` or `++i`.
fn steps_up(step: &Expr, name: &str) -> bool {
    let ExprKind::Unary(Unary::PreIncrement | Unary::PostIncrement, a) = &step.kind else {
        return false;
    };
    matches!(&a.kind, ExprKind::Ident(of) if of == name)
}

/// The parts of a loop.
struct Loop<'s> {
    cond: Option<&'s Expr>,
    step: Option<&'s Expr>,
    body: &'s Stmt,
    /// `do`: the first round is not asked for.
    body_first: bool,
    span: Span,
}

/// The length of an array.
enum Length {
    /// It is no array of a length that is computed.
    None,
    /// A constant here after all.
    Of(Declaration),
    /// Known when the program runs: of what, and how many.
    Variable(Type, super::value::Val),
}

impl Code<'_, '_> {
    pub(super) fn statement(&mut self, s: &Stmt) -> Lower<()> {
        // What cannot be reached is not looked at, unless a jump leads into it.
        if !self.live && !walk::is_entered(s) {
            self.skip_asserts(s);
            return self.declare_only(s);
        }
        self.check_size(s.span)?;
        let mark = self.mark();
        match self.with_temporaries(|code| code.statement_kind(s)) {
            Ok(()) => Ok(()),
            Err(error) if self.is_over() => Err(error),
            Err(error) => self.recover(&mark, error),
        }
    }

    /// A declaration that is jumped over: the names are there, without a value.
    fn declare_only(&mut self, s: &Stmt) -> Lower<()> {
        let StmtKind::Declare(all) = &s.kind else {
            return Ok(());
        };
        for d in all {
            let is_plain = d.storage == Storage::Automatic && !d.thread_local;
            let is_object = !matches!(d.ty.plain(), Type::Function(_) | Type::VariableArray(_));
            if is_plain && is_object {
                // What is not supported matters only where something gets there.
                if let Ok(object) = self.automatic(d) {
                    self.declare(&d.name, object);
                }
            } else if d.storage == Storage::Static {
                self.declaration(d, &HashSet::new())?;
            }
        }
        Ok(())
    }

    fn statement_kind(&mut self, s: &Stmt) -> Lower<()> {
        match &s.kind {
            StmtKind::Empty => Ok(()),
            StmtKind::Expr(e) => self.discard(e),
            StmtKind::Declare(all) => {
                let none = HashSet::new();
                all.iter().try_for_each(|d| self.declaration(d, &none))
            }
            StmtKind::Block(body) => self.compound(body),
            StmtKind::If(cond, then, otherwise) => {
                self.if_else(cond, then, otherwise.as_deref(), s.span)
            }
            StmtKind::While(cond, body) => self.looped(&Loop {
                cond: Some(cond),
                step: None,
                body,
                body_first: false,
                span: s.span,
            }),
            StmtKind::DoWhile(body, cond) => self.looped(&Loop {
                cond: Some(cond),
                step: None,
                body,
                body_first: true,
                span: s.span,
            }),
            StmtKind::For(init, cond, step, body) => {
                self.frame().scopes.push(HashMap::new());
                if let Some(init) = init {
                    self.statement(init)?;
                }
                self.looped(&Loop {
                    cond: cond.as_ref(),
                    step: step.as_ref(),
                    body,
                    body_first: false,
                    span: s.span,
                })?;
                self.frame().scopes.pop();
                Ok(())
            }
            StmtKind::Switch(on, body) => self.switch(on, body, s.span),
            StmtKind::Case(lo, hi, inner) => {
                let switch = self.frame().switches.last_mut();
                let Some((loc, before)) =
                    switch.and_then(|sw| Some((sw.next_case()?, sw.before())))
                else {
                    return Err(Diagnostic::error(
                        s.span,
                        format!("`case {lo}` (up to {hi}) outside of a switch"),
                    ));
                };
                self.enter(loc, before, s.span)?;
                self.statement(inner)
            }
            StmtKind::Default(inner) => {
                let switch = self.frame().switches.last();
                let Some((loc, before)) = switch.and_then(|sw| Some((sw.default?, sw.before())))
                else {
                    return Err(Diagnostic::error(s.span, "`default` outside of a switch"));
                };
                self.enter(loc, before, s.span)?;
                self.statement(inner)
            }
            // CBMC's way to start a thread.
            StmtKind::Label(name, inner) if name.starts_with("__CPROVER_ASYNC_") => {
                match &inner.kind {
                    StmtKind::Expr(Expr {
                        kind: ExprKind::Call(f, args),
                        ..
                    }) => self.create_async(f, args, s.span),
                    _ => unsupported(s.span, "this as a thread", "a call"),
                }
            }
            StmtKind::Label(name, inner) => {
                let loc = self.label(name, s.span);
                self.met_label(name, loc, s.span)?;
                self.frame().defined.insert(name.clone());
                if self.frame().loop_labels.contains(name) {
                    self.loop_depth += 1;
                }
                if self.live {
                    self.go(loc, s.span);
                }
                self.at(loc);
                self.known.clear();
                self.statement(inner)
            }
            StmtKind::Goto(name) => {
                let loc = self.label(name, s.span);
                self.jump_to(name, loc, s.span);
                Ok(())
            }
            StmtKind::Break => {
                self.jump(s.span, |code| code.frame().breaks.last_mut());
                Ok(())
            }
            StmtKind::Continue => {
                self.jump(s.span, |code| code.frame().continues.last_mut());
                Ok(())
            }
            StmtKind::Return(value) => self.return_(value.as_ref(), s.span),
            StmtKind::Asm(template) => self.assembler(template, s.span),
            StmtKind::Refused(refusal) => {
                if refusal.only_ordered && self.cx.options.orders == Orders::Mapped {
                    return Ok(());
                }
                unsupported(s.span, &refusal.what, refusal.help)
            }
            StmtKind::Gap if self.cx.onesided.is_some() => unsupported(
                s.span,
                "a search for flushes where remote races are looked for",
                "ask without `--check races`; programs with window locks, messages, requests or \
                     OpenSHMEM are always asked for races",
            ),
            StmtKind::Gap => {
                self.emit(Step::Fence(FenceKind::Candidate), s.span);
                Ok(())
            }
        }
    }

    /// Joins the way from above with the jump to a case, and what is known on both:
    /// before the switch, and at the end of the case above. Within a loop inside of the
    /// switch nothing is known: other rounds come by as well.
    fn enter(&mut self, loc: LocId, before: Before, span: Span) -> Lower<()> {
        let above = self.live.then(|| (self.here, self.known.clone()));
        self.at(loc);
        self.known = before.known;
        self.pass_in_switch(before.scopes, span)?;
        if let Some((end, known)) = above {
            let join = self.graph.loc();
            self.go(join, span);
            self.here = end;
            self.go(join, span);
            self.here = join;
            self.known = meet(known, &self.known);
        }
        if self.loop_depth > before.loops {
            self.known.clear();
        }
        Ok(())
    }

    fn label(&mut self, name: &str, span: Span) -> LocId {
        if let Some((loc, _)) = self.frame().labels.get(name) {
            return *loc;
        }
        let loc = self.graph.loc();
        self.frame().labels.insert(name.to_owned(), (loc, span));
        loc
    }

    fn compound(&mut self, body: &[Stmt]) -> Lower<()> {
        self.frame().scopes.push(HashMap::new());
        self.body(body)?;
        self.frame().scopes.pop();
        Ok(())
    }

    /// The statements of a block. What stands behind a declaration tells which parts
    /// of the variable are assigned before anything can read them.
    pub(super) fn body(&mut self, body: &[Stmt]) -> Lower<()> {
        for (k, s) in body.iter().enumerate() {
            match &s.kind {
                StmtKind::Declare(all) if self.live => {
                    for d in all {
                        let first = walk::assigned_first(&d.name, &body[k + 1..]);
                        let mark = self.mark();
                        let done = self.with_temporaries(|code| code.declaration(d, &first));
                        if let Err(error) = done {
                            self.cx.errors.of_declaration(&d.name, error.clone())?;
                            self.recover(&mark, error)?;
                        }
                    }
                }
                _ => self.statement(s)?,
            }
        }
        Ok(())
    }

    fn declaration(&mut self, d: &Declaration, assigned: &HashSet<String>) -> Lower<()> {
        if matches!(d.ty.plain(), Type::Function(_)) || d.storage == Storage::Extern {
            return Ok(());
        }
        if d.thread_local {
            return unsupported(
                d.span,
                "a thread-local variable in a function",
                "declare it at the top level",
            );
        }
        let fixed = match self.fixed_length(d)? {
            Length::Of(fixed) => Some(fixed),
            Length::Variable(of, length) => {
                let object = self.array_of_length(d, &of, length)?;
                self.declare(&d.name, object);
                return Ok(());
            }
            Length::None => None,
        };
        let d = fixed.as_ref().unwrap_or(d);
        if d.storage == Storage::Static {
            let function = self.frame().function.clone();
            let object = self.cx.static_local(&function, d)?;
            self.declare(&d.name, object);
            return Ok(());
        }
        let object = self.automatic(d)?;
        let place = Self::whole(&object);
        // The initialiser sees the name already, but not its value.
        self.declare(&d.name, object.clone());
        if d.init.is_some() {
            return self.initialise(&place, d.init.as_ref(), d.span);
        }
        if self.is_observed() && object.in_registers() {
            return Ok(());
        }
        self.undefine(&object, assigned, d.span)
    }

    /// The variable that a declaration in a function makes.
    fn automatic(&mut self, d: &Declaration) -> Lower<Rc<super::layout::Object>> {
        if self.is_observed() {
            return self.observed_variable(d);
        }
        self.variable(&d.name, &d.ty, d.span)
    }

    /// What an array is whose length was no constant for the parser.
    fn fixed_length(&mut self, d: &Declaration) -> Lower<Length> {
        let (Type::VariableArray(of), Some(length)) = (&d.ty, &d.length) else {
            return Ok(Length::None);
        };
        let value = self.value(length)?;
        let length = match value.as_constant().map(u64::try_from) {
            Some(Ok(length)) if length > 0 => length,
            None if !of.is_variable() => {
                return Ok(Length::Variable((**of).clone(), value));
            }
            // What follows is lowered all the same, for the next pass.
            Some(_) | None => {
                let why = "an array whose length is no constant";
                self.require(Ir::FALSE, why, d.span);
                1
            }
        };
        Ok(Length::Of(Declaration {
            ty: Type::Array(of.clone(), Some(length)),
            length: None,
            ..d.clone()
        }))
    }

    /// A variable without initialiser holds anything, except for the parts that are
    /// assigned before they can be read.
    pub(super) fn undefine(
        &mut self,
        object: &Rc<super::layout::Object>,
        assigned: &HashSet<String>,
        span: Span,
    ) -> Lower<()> {
        for (leaf, cells) in object.leaves.iter().zip(&object.cells) {
            if matches!(leaf.ty.plain(), Type::Opaque(_)) {
                if let (Cells::Shared(var), true) = (cells, leaf.is_raw() && self.checks_misuse()) {
                    self.undefine_object(*var, leaf.count(), span);
                }
                continue;
            }
            match cells {
                Cells::Locals(locals) => {
                    let is_marked = self.cx.options.check_uninitialised
                        && !self.cx.layouts.shares_cells(&object.ty);
                    if is_marked {
                        object.poisoned.set(true);
                    }
                    for local in locals.clone() {
                        self.known.remove(&local);
                        let domain = self.uninitialised(&leaf.ty);
                        let value = Ir::Const(UNINITIALISED);
                        let step = if is_marked {
                            Step::Assign { dst: local, value }
                        } else {
                            Step::Havoc { dst: local, domain }
                        };
                        self.emit(step, span);
                    }
                }
                Cells::Shared(_) if assigned.contains(&leaf.path) => {}
                // Reached once at most: nothing was written before.
                Cells::Shared(var) if self.loop_depth == 0 && !self.is_any => {
                    object.poisoned.set(true);
                    let init = Init::Value(UNINITIALISED);
                    self.cx.globals[var.index()].init.fill(init);
                }
                Cells::Shared(_) if leaf.count() > 64 => {
                    return unsupported(
                        span,
                        "a large array without initialiser in a function",
                        "initialise it (`= {0}`), or make it global",
                    );
                }
                Cells::Shared(var) => {
                    object.poisoned.set(true);
                    let marked = self.hidden(span);
                    for k in 0..leaf.count() {
                        let mark = Ir::Const(UNINITIALISED);
                        self.emit(
                            Step::Assign {
                                dst: marked,
                                value: mark,
                            },
                            span,
                        );
                        let value = Ir::Atom(LocalAtom::Local(marked));
                        let index = (!leaf.dims.is_empty()).then_some(Ir::Const(k as i64));
                        let order = Order::Plain;
                        let dst = palisade_program::Place {
                            var: *var,
                            index,
                            order,
                        };
                        self.emit(Step::Store { dst, value }, span);
                    }
                }
            }
        }
        Ok(())
    }

    fn if_else(
        &mut self,
        cond: &Expr,
        then: &Stmt,
        otherwise: Option<&Stmt>,
        span: Span,
    ) -> Lower<()> {
        let (yes, no, join) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        let (can, cannot) = if self.live {
            self.with_temporaries(|code| code.branch(cond, yes, no))?
        } else {
            (false, false)
        };
        let before = std::mem::take(&mut self.known);
        let mut after: Option<super::code::Known> = None;
        for (loc, can, arm) in [(yes, can, Some(then)), (no, cannot, otherwise)] {
            self.here = loc;
            self.live = can;
            self.known.clone_from(&before);
            if let Some(arm) = arm {
                let was_chosen = self.is_chosen;
                self.is_chosen |= !can && !walk::has_name(cond);
                self.statement(arm)?;
                self.is_chosen = was_chosen;
            }
            if self.live {
                self.go(join, span);
                after = Some(match after {
                    None => self.known.clone(),
                    Some(other) => meet(other, &self.known),
                });
            }
        }
        self.here = join;
        self.live = after.is_some();
        self.known = after.unwrap_or_default();
        Ok(())
    }

    fn looped(&mut self, l: &Loop<'_>) -> Lower<()> {
        let threads = &self.cx.thread_functions;
        let with_threads = walk::calls(l.body, threads);
        let finite = l.cond.is_some_and(walk::has_name);
        let exit = self.target();
        self.frame().breaks.push(exit);
        let is_unrolled = with_threads || self.is_short(l);
        if is_unrolled && finite && !walk::is_entered(l.body) && self.live {
            self.unrolled(l)?;
        } else {
            self.general_loop(l)?;
        }
        let exit = self.frame().breaks.pop().expect("pushed above");
        // Jumps out of a loop that was not unrolled come from any round: what they
        // know has been reduced to what holds in all rounds.
        let falls = self.live;
        let mut target = exit;
        if falls {
            let known = self.known.clone();
            target.known = Some(match target.known.take() {
                Some(other) => meet(other, &known),
                None => known,
            });
            self.go(target.loc, l.span);
        }
        self.arrive(target);
        Ok(())
    }

    /// Whether a loop calls a library of remote operations in each of a few rounds: each round has operations of its own
    /// then, with ranks and offsets that are known.
    fn is_short(&mut self, l: &Loop<'_>) -> bool {
        if self.cx.onesided.is_none() || !self.is_remote(l.body) {
            return false;
        }
        let Some((name, last)) = l.cond.and_then(counted) else {
            return false;
        };
        let is_step = l.step.is_some_and(|step| steps_up(step, name));
        if !is_step || walk::assigned(&[l.body], &[]).contains(name) {
            return false;
        }
        let first = Expr {
            kind: ExprKind::Ident(name.to_owned()),
            span: l.span,
        };
        match (self.peek(&first), self.peek(last)) {
            (Some(first), Some(last)) => last - first <= MAX_SHORT,
            _ => false,
        }
    }

    /// Whether remote operations are called in a statement, or in functions that it calls.
    fn is_remote(&self, body: &Stmt) -> bool {
        let mut found = false;
        walk::each_in_stmt(body, &mut |e| {
            if let ExprKind::Call(callee, _) = &e.kind
                && let ExprKind::Ident(name) = &callee.kind
            {
                let families = ["MPI_", "shmem_", "gaspi_"];
                found |= families.iter().any(|family| name.starts_with(family));
                found |= self.cx.functions.contains_key(name.as_str());
            }
        });
        found
    }

    /// Round by round while the condition is a constant; a loop for the rest.
    fn unrolled(&mut self, l: &Loop<'_>) -> Lower<()> {
        for round in 0..MAX_UNROLL {
            if !self.live {
                return Ok(());
            }
            if round > 0 || !l.body_first {
                match l.cond.and_then(|c| self.peek(c)) {
                    Some(0) => return Ok(()),
                    Some(_) => {}
                    None => {
                        let rest = Loop {
                            body_first: false,
                            ..*l
                        };
                        return self.general_loop(&rest);
                    }
                }
            }
            let next = self.target();
            self.frame().continues.push(next);
            self.statement(l.body)?;
            let mut next = self.frame().continues.pop().expect("pushed above");
            if self.live {
                let known = self.known.clone();
                next.known = Some(match next.known.take() {
                    Some(other) => meet(other, &known),
                    None => known,
                });
                self.go(next.loc, l.span);
            }
            self.arrive(next);
            if let (Some(step), true) = (l.step, self.live) {
                self.with_temporaries(|code| code.discard(step))?;
            }
        }
        let rest = Loop {
            body_first: false,
            ..*l
        };
        self.general_loop(&rest)
    }

    fn general_loop(&mut self, l: &Loop<'_>) -> Lower<()> {
        let exprs: Vec<&Expr> = l.cond.iter().chain(&l.step).copied().collect();
        let assigned: HashSet<String> = walk::assigned(&[l.body], &exprs);
        self.forget(&assigned);
        let entered = walk::is_entered(l.body);
        if entered {
            // Jumps from outside come with other values.
            self.known.clear();
        }
        let invariant = self.known.clone();
        self.loop_depth += 1;
        let overlaps = !self.completes(l.body, &exprs);
        let around = std::mem::replace(&mut self.overlaps, overlaps);
        let (head, body, exit) = (self.graph.loc(), self.graph.loc(), self.graph.loc());
        // A jump into the loop comes round to its start.
        let was_live = self.live || entered;
        let next = self.target();
        self.frame().continues.push(next);
        let mut can_exit = false;
        if l.body_first {
            self.go(body, l.span);
        } else {
            self.go(head, l.span);
            can_exit = self.loop_head(l, head, body, exit, was_live)?;
        }
        self.here = body;
        self.live = was_live;
        self.known.clone_from(&invariant);
        self.statement(l.body)?;
        let next = self.frame().continues.pop().expect("pushed above");
        let comes_back = self.live || next.known.is_some();
        if self.live {
            self.go(next.loc, l.span);
        }
        self.here = next.loc;
        self.live = comes_back;
        self.known.clone_from(&invariant);
        if let (Some(step), true) = (l.step, comes_back) {
            self.with_temporaries(|code| code.discard(step))?;
        }
        self.known.clone_from(&invariant);
        if comes_back {
            self.go(head, l.span);
        }
        if l.body_first {
            can_exit = self.loop_head(l, head, body, exit, comes_back)?;
        }
        // Breaks come from inside: what they know beyond the invariant may differ
        // from round to round, but each carries its own account.
        self.here = exit;
        self.live = can_exit;
        self.known = invariant;
        self.loop_depth -= 1;
        self.overlaps = around;
        Ok(())
    }

    /// The condition at the head; tells whether the loop can end there.
    fn loop_head(
        &mut self,
        l: &Loop<'_>,
        head: LocId,
        body: LocId,
        exit: LocId,
        live: bool,
    ) -> Lower<bool> {
        self.here = head;
        self.live = live;
        let Some(cond) = l.cond else {
            self.go(body, l.span);
            return Ok(false);
        };
        if !live {
            return Ok(false);
        }
        let (_, can_exit) = self.with_temporaries(|code| code.branch(cond, body, exit))?;
        Ok(can_exit)
    }

    fn switch(&mut self, on: &Expr, body: &Stmt, span: Span) -> Lower<()> {
        let v = self.value(on)?;
        let ty = v.ty.promoted();
        let v = self.convert(v, &ty, span)?;
        let (values, has_default) = walk::cases(body);
        let assigned = walk::assigned(&[body], &[]);
        self.forget(&assigned);
        let mut cases = Vec::new();
        let start = self.here;
        let mut none = Ir::TRUE;
        // Labels are converted to the type of what they are compared with.
        let converted = |v: i128| match ty {
            Type::Int { bits, signed } => {
                i128::from(palisade_program::expr::wrap(v, bits, signed || bits == 64))
            }
            _ => v,
        };
        for (lo, hi) in values {
            let (lo, hi) = (converted(lo), converted(hi));
            let loc = self.graph.loc();
            cases.push(((lo, hi), loc));
            let when = if lo == hi {
                LocalExpr::binary(BinOp::Eq, v.e.clone(), Ir::Const(lo as i64))
            } else {
                let low = LocalExpr::binary(BinOp::Ge, v.e.clone(), Ir::Const(lo as i64));
                low.and(LocalExpr::binary(
                    BinOp::Le,
                    v.e.clone(),
                    Ir::Const(hi as i64),
                ))
            };
            none = none.and(when.clone().negate());
            if when != Ir::FALSE && self.live {
                self.here = start;
                self.assume(when, loc, span);
            }
        }
        let exit = self.target();
        let default = has_default.then(|| self.graph.loc());
        self.here = start;
        let misses = none != Ir::FALSE && self.live;
        if misses {
            self.assume(none, default.unwrap_or(exit.loc), span);
        }
        let known = self.known.clone();
        let mut exit = exit;
        if misses && default.is_none() {
            exit.known = Some(known.clone());
        }
        self.frame().breaks.push(exit);
        let before = Before {
            known,
            loops: self.loop_depth,
            scopes: self.frame().scopes.len(),
        };
        let switch = Switch::new(cases, default, before);
        self.frame().switches.push(switch);
        self.stop();
        self.statement(body)?;
        self.frame().switches.pop();
        let mut exit = self.frame().breaks.pop().expect("pushed above");
        if self.live {
            let known = self.known.clone();
            exit.known = Some(match exit.known.take() {
                Some(other) => meet(other, &known),
                None => known,
            });
            self.go(exit.loc, span);
        }
        self.arrive(exit);
        Ok(())
    }

    fn return_(&mut self, value: Option<&Expr>, span: Span) -> Lower<()> {
        let result = self.frame().result.clone();
        match (value, result) {
            (Some(e), Some(object)) => {
                let place = Self::whole(&object);
                if matches!(object.ty.plain(), Type::Struct(_)) {
                    let source = self.place(e)?;
                    self.copy(&place, &source, span)?;
                } else {
                    let v = self.value(e)?;
                    if v.ty == Type::Void {
                        // The call does not come back.
                        return Ok(());
                    }
                    let v = self.convert(v, &object.ty, span)?;
                    self.store(&place, v, span)?;
                }
            }
            (Some(e), None) => self.discard(e)?,
            (None, _) => {}
        }
        self.jump(span, |code| Some(&mut code.frame().exit));
        Ok(())
    }

    fn assembler(&mut self, template: &str, span: Span) -> Lower<()> {
        let text = template.to_ascii_lowercase();
        for part in text.split(['\n', ';']) {
            let part = part.trim().trim_start_matches('\t').trim();
            match instruction(part) {
                Instruction::Fence(kind) => self.emit(Step::Fence(kind), span),
                Instruction::Nothing => {}
                Instruction::Unknown => {
                    return unsupported(
                        span,
                        &format!("assembler `{part}`"),
                        "fences (mfence, sfence, sync, lwsync, dmb) and barriers are supported",
                    );
                }
            }
        }
        Ok(())
    }
}

/// What an instruction means for the order of stores.
enum Instruction {
    Fence(FenceKind),
    Nothing,
    Unknown,
}

fn instruction(text: &str) -> Instruction {
    let full = Instruction::Fence(FenceKind::Full);
    let stores = Instruction::Fence(FenceKind::StoreStore);
    let mut words = text.split_whitespace();
    let word = words.next().unwrap_or("");
    let rest: Vec<&str> = words.collect();
    let changes_nothing =
        |word: &str| matches!(word, "addl" | "addq" | "orl" | "orq") && text.contains("$0");
    match word {
        "" | "nop" | "pause" | "lfence" | "isync" | "isb" | "yield" => Instruction::Nothing,
        "rep" if rest.is_empty() || rest == ["nop"] => Instruction::Nothing,
        "mfence" | "hwsync" => full,
        "sync" if rest.is_empty() => full,
        "sfence" | "lwsync" | "eieio" => stores,
        "dmb" | "dsb" => match rest.as_slice() {
            [] | ["ish" | "sy" | "osh" | "nsh"] => full,
            ["ishst" | "st" | "oshst" | "nshst"] => stores,
            ["ishld" | "ld" | "oshld" | "nshld"] => Instruction::Nothing,
            _ => Instruction::Unknown,
        },
        // `lock; addl $0,0(%esp)`: a locked instruction that changes nothing.
        "lock" if rest.is_empty() || changes_nothing(rest[0]) => full,
        w if changes_nothing(w) => Instruction::Nothing,
        _ => Instruction::Unknown,
    }
}
