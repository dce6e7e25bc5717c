//! Calls: built-in operations, and the user's functions, which are inlined. A
//! function's parameters and locals become locals of the thread, called `f.a`.

use palisade_program::{AtomicKind, Expr as Value, LocalExpr, LocalId, Role, Span, Step, UnOp};

use super::code::{Binding, Code};
use super::expr::read_local;
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, ExprKind, Function, Name, Stmt, StmtKind};
use crate::pal::token::BUILTINS;

/// Inlining stops when it has made so many steps.
const MAX_INLINED: usize = 100_000;
/// How deep calls may nest.
const MAX_CALL_DEPTH: usize = 30;

/// The operator behind `int32(e)`, `uint8(e)`, ...
pub(super) fn wrap_of(name: &str) -> Option<UnOp> {
    let (signed, bits) = match name.strip_prefix('u') {
        Some(rest) => (false, rest),
        None => (true, name),
    };
    let bits = match bits {
        "int8" => 8,
        "int16" => 16,
        "int32" => 32,
        "int64" => 64,
        _ => return None,
    };
    Some(UnOp::Wrap { bits, signed })
}

impl Code<'_, '_> {
    /// A call whose result is not used.
    pub(super) fn call_statement(&mut self, call: &Expr, span: Span) {
        let ExprKind::Call(name, args) = &call.kind else {
            return;
        };
        if wrap_of(&name.text).is_some() {
            self.report(
                Diagnostic::error(span, format!("`{}` has no effect", name.text))
                    .label("its value is not used")
                    .help("assign the value to a variable"),
            );
        } else if self.is_ordered_access(&name.text) {
            self.ordered_statement(name, args, span);
        } else if BUILTINS.contains(&name.text.as_str()) {
            self.call_value(name, args, span);
        } else {
            self.call_function(name, args, span, false);
        }
    }

    /// `local = name(args)`, straight into the local where that is possible.
    pub(super) fn call_into(
        &mut self,
        local: LocalId,
        name: &Name,
        args: &[Expr],
        call: Span,
        span: Span,
    ) {
        let value = match name.text.as_str() {
            "cas" | "xchg" | "fetch_add" => self.atomic_operation(name, args, Some(local), call),
            text if self.is_ordered_access(text) => {
                self.ordered_value(name, args, Some(local), call)
            }
            _ => self.call_value(name, args, call),
        };
        if value != read_local(local) {
            self.assign_value(local, value, span);
        }
    }

    /// The value of a call.
    pub(super) fn call_value(&mut self, name: &Name, args: &[Expr], span: Span) -> LocalExpr {
        if let Some(op) = wrap_of(&name.text) {
            if !self.has_arity(name, args, 1, span) {
                return Value::Const(0);
            }
            let arg = self.value(&args[0]);
            return Value::unary(op, arg);
        }
        match name.text.as_str() {
            "cas" | "xchg" | "fetch_add" => self.atomic_operation(name, args, None, span),
            text if self.is_ordered_access(text) => self.ordered_value(name, args, None, span),
            "lock" | "unlock" | "put" | "flush" | "flush_local" | "get" | "accumulate"
            | "compare_and_swap" | "fetch_and_op" => {
                let help = match name.text.as_str() {
                    "get" => {
                        "write `X = get(Y, p);` on its own, where X is a shared variable of this \
                         process"
                    }
                    "compare_and_swap" | "fetch_and_op" => {
                        "write `R = compare_and_swap(Y, p, old, new);` on its own, where R is a \
                         shared variable of this process"
                    }
                    _ => "write it as a statement of its own",
                };
                self.report(
                    Diagnostic::error(span, format!("`{}` gives no value", name.text))
                        .label("used as a value")
                        .help(help),
                );
                Value::Const(0)
            }
            _ => self.call_function(name, args, span, true),
        }
    }

    fn atomic_operation(
        &mut self,
        name: &Name,
        args: &[Expr],
        wanted: Option<LocalId>,
        span: Span,
    ) -> LocalExpr {
        let arity = if name.text == "cas" { 3 } else { 2 };
        let (args, orders) = args.split_at(arity.min(args.len()));
        let most = if name.text == "cas" { 2 } else { 1 };
        if orders.len() > most || args.len() < arity {
            self.wrong_arity(name, args.len() + orders.len(), arity, span);
            return Value::Const(0);
        }
        let Some(orders) = self.operation_orders(orders) else {
            return Value::Const(0);
        };
        match name.text.as_str() {
            "cas" => self.cas(args, orders, wanted, span),
            "xchg" => self.read_and_write(AtomicKind::Xchg, args, orders, wanted, span),
            _ => self.read_and_write(AtomicKind::FetchAdd, args, orders, wanted, span),
        }
    }

    fn has_arity(&mut self, name: &Name, args: &[Expr], arity: usize, span: Span) -> bool {
        if args.len() == arity {
            return true;
        }
        self.wrong_arity(name, args.len(), arity, span);
        false
    }

    pub(super) fn wrong_arity(&mut self, name: &Name, found: usize, arity: usize, span: Span) {
        let usage = match name.text.as_str() {
            "cas" => "write `cas(x, old, new)`".to_owned(),
            "xchg" => "write `xchg(x, value)`".to_owned(),
            "fetch_add" => "write `fetch_add(x, value)`".to_owned(),
            "load" => "write `load(x, acquire)`".to_owned(),
            "store" => "write `store(x, value, release)`".to_owned(),
            _ => format!("give {arity} arguments"),
        };
        self.report(
            Diagnostic::error(
                span,
                format!("wrong number of arguments for `{}`", name.text),
            )
            .label(format!("expected {arity}, found {found}"))
            .help(usage),
        );
    }

    fn call_function(
        &mut self,
        name: &Name,
        args: &[Expr],
        span: Span,
        wants_value: bool,
    ) -> LocalExpr {
        let Some(function) = self.context.functions.get(&name.text).copied() else {
            self.unknown_function(name);
            return Value::Const(0);
        };
        self.context.called.insert(name.text.clone());
        if !self.has_arity(name, args, function.params.len(), span) || !self.may_inline(name, span)
        {
            return Value::Const(0);
        }
        let gives_value = function.body.iter().any(returns_value);
        if wants_value && !gives_value {
            self.report(
                Diagnostic::error(span, format!("`{}` returns no value", name.text))
                    .label("used as a value")
                    .help("add `return e;` to the function"),
            );
        }
        let values: Vec<LocalExpr> = args.iter().map(|arg| self.value(arg)).collect();
        let result = gives_value.then(|| self.temporary(None));
        self.inline(function, values, result, span);
        result.map_or(Value::Const(0), read_local)
    }

    fn unknown_function(&mut self, name: &Name) {
        let names = self.context.candidates(|context| {
            let mut names: Vec<String> = context.functions.keys().cloned().collect();
            names.extend(BUILTINS.iter().map(|b| (*b).to_owned()));
            names
        });
        let known = names.iter().map(String::as_str);
        self.context.unknown(
            format!("unknown function `{}`", name.text),
            name,
            known,
            "define it: `fn name(a, b) { ... }`",
        );
    }

    fn may_inline(&mut self, name: &Name, span: Span) -> bool {
        if self.active.contains(&name.text) {
            self.report(
                Diagnostic::error(span, format!("recursive call of `{}`", name.text))
                    .label("this call leads back to itself")
                    .help("functions are inlined: use a loop instead"),
            );
            return false;
        }
        if self.active.len() >= MAX_CALL_DEPTH || self.context.inlined_steps > MAX_INLINED {
            self.report(
                Diagnostic::error(span, "inlining makes the program too large")
                    .label(format!(
                        "more than {MAX_INLINED} steps or {MAX_CALL_DEPTH} nested calls"
                    ))
                    .help("call fewer functions, or make them smaller"),
            );
            return false;
        }
        true
    }

    fn inline(
        &mut self,
        function: &Function,
        args: Vec<LocalExpr>,
        result: Option<LocalId>,
        span: Span,
    ) {
        // Even an empty function counts: many calls of nothing take time too.
        self.context.inlined_steps += 1;
        self.active.push(function.name.text.clone());
        let exit = self.graph.loc();
        self.push_frame(&function.name.text, exit, result, &function.body);
        for (param, value) in function.params.iter().zip(args) {
            self.declare_parameter(param, value, span);
        }
        let was_dead = self.dead;
        self.dead = false;
        self.statements(&function.body);
        if let Some(dst) = result {
            // Falling off the end gives 0.
            let value = Value::Const(0);
            self.emit(Step::Assign { dst, value }, span);
        }
        self.graph.unify(self.here, exit);
        self.here = exit;
        self.dead = was_dead;
        self.frames.pop();
        self.active.pop();
    }

    fn declare_parameter(&mut self, param: &Name, value: LocalExpr, span: Span) {
        let taken = self.context.constants.contains_key(&param.text)
            || self.shared_variable(&param.text).is_some()
            || self.lookup(&param.text).is_some();
        if taken {
            self.report(
                Diagnostic::error(param.span, format!("`{}` is already declared", param.text))
                    .label("would hide a variable or constant of the same name")
                    .help("choose another name"),
            );
        }
        let (local, _) = self.user_local(param, None, None, Role::Data);
        self.emit(Step::Assign { dst: local, value }, span);
        self.bind(&param.text, Binding::Scalar(local));
    }

    /// Lowers a function that nothing calls, for its errors.
    pub(super) fn check_function(&mut self, function: &Function) {
        let exit = self.graph.loc();
        self.push_frame("", exit, None, &[]);
        let args = vec![Value::Const(0); function.params.len()];
        let result = function
            .body
            .iter()
            .any(returns_value)
            .then(|| self.temporary(None));
        self.inline(function, args, result, function.name.span);
    }
}

/// Whether some `return` in the statement has a value.
fn returns_value(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Return(value) => value.is_some(),
        kind => {
            let mut found = false;
            super::walk::for_each_child(kind, &mut |s| found = found || returns_value(s));
            found
        }
    }
}
