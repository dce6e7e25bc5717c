//! *Calls*: functions are inlined, each call with locals of its own; functions of the
//! libraries (`library`, `atomic`, `thread`) and of SV-COMP's conventions are built in.
//! A call of anything else is refused: what it does is not known.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use palisade_program::{AssertKind, AtomicKind, Expr as Ir, LocalExpr, Span, Step};

use super::code::{Code, Frame, Lower, MAX_CALLS};
use super::expr::unsupported;
use super::graph::Op;
use super::layout::FIRST_FUNCTION;
use super::value::Val;
use crate::c::ast::{Expr, ExprKind, Function, Item};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// How often a function may be in a call of itself: each is inlined.
const MAX_RECURSION: usize = 32;

impl<'a> Code<'_, 'a> {
    /// A call and its value.
    pub(super) fn call(&mut self, callee: &Expr, args: &[Expr], span: Span) -> Lower<Val> {
        if let ExprKind::Ident(name) = &callee.kind
            && self.lookup(name)?.is_none()
        {
            return self.call_named(&name.clone(), args, span);
        }
        self.want = None;
        let callee = match &callee.kind {
            ExprKind::Unary(crate::c::ast::Unary::Deref, inner) => inner,
            _ => callee,
        };
        let pointer = self.value(callee)?;
        self.call_pointer(&pointer, args, span)
    }

    /// A call through a pointer: case by case over the functions that it may be.
    fn call_pointer(&mut self, pointer: &Val, args: &[Expr], span: Span) -> Lower<Val> {
        if let Some(c) = pointer.as_constant() {
            let number = usize::try_from(c - i128::from(FIRST_FUNCTION)).ok();
            let function = number.and_then(|n| self.cx.function_list.get(n).copied());
            let Some(function) = function else {
                self.demand(Ir::FALSE, "call of a null pointer", span);
                self.block(span);
                return Ok(Val::void());
            };
            return self.inline(function, args, span);
        }
        let pointer = self.saved(pointer.clone(), span);
        let names = self.cx.taken_functions.clone();
        let candidates: Vec<(i64, &'a Function)> = self
            .cx
            .function_list
            .iter()
            .enumerate()
            .filter(|(_, f)| names.contains(&f.name) && f.params.len() == args.len())
            .map(|(n, f)| (FIRST_FUNCTION + n as i64, *f))
            .collect();
        let is = |address: i64| {
            LocalExpr::binary(
                palisade_program::BinOp::Eq,
                pointer.e.clone(),
                Ir::Const(address),
            )
        };
        let any = candidates
            .iter()
            .fold(Ir::FALSE, |all: LocalExpr, (address, _)| {
                all.or(is(*address))
            });
        self.demand(
            LocalExpr::binary(palisade_program::BinOp::Ne, pointer.e.clone(), Ir::Const(0)),
            "call of a null pointer",
            span,
        );
        self.require(any, "a call of an unknown function", span);
        let (start, join) = (self.here, self.graph.loc());
        let result = self.temporary(span);
        let mut ty = Type::Void;
        for (address, function) in candidates {
            let then = self.graph.loc();
            self.here = start;
            self.assume(is(address), then, span);
            self.at(then);
            let before = self.known.clone();
            let v = self.inline(function, args, span)?;
            if v.ty.is_value() {
                ty = v.ty.clone();
                self.assign(result, v.e, span);
            }
            // What the arguments changed is forgotten, not merged.
            self.known = before;
            self.known.clear();
            if self.live {
                self.go(join, span);
            }
        }
        self.at(join);
        self.known.clear();
        if ty == Type::Void {
            return Ok(Val::void());
        }
        let e = self.read(result);
        Ok(self.held(e, &ty))
    }

    fn call_named(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<Val> {
        if let Some(v) = self.convention(name, args, span)? {
            self.want = None;
            return Ok(v);
        }
        if let ("strcpy", [_, from]) = (name, args)
            && matches!(from.kind, ExprKind::Str(_))
            && let Some(v) = self.memory_call(name, args, span)?
        {
            // Better known than the loop of the header.
            return Ok(v);
        }
        if let Some(function) = self.cx.functions.get(name).copied() {
            self.want = None;
            if name.starts_with("__VERIFIER_atomic_") {
                self.emit_op(Op::Begin(AtomicKind::Block), span);
                let v = self.inline(function, args, span)?;
                self.emit_op(Op::End, span);
                return Ok(v);
            }
            return self.inline(function, args, span);
        }
        let want = self.want.take();
        self.want = want;
        if let Some(v) = self.atomic_call(name, args, span)? {
            self.want = None;
            return Ok(v);
        }
        self.want = None;
        if let Some(v) = self.mpi_call(name, args, span)? {
            return Ok(v);
        }
        if let Some(v) = self.shmem_call(name, args, span)? {
            return Ok(v);
        }
        if let Some(v) = self.gaspi_call(name, args, span)? {
            return Ok(v);
        }
        if let Some(v) = self.openmp_call(name, args, span)? {
            return Ok(v);
        }
        if let Some(v) = self.thread_call(name, args, span)? {
            return Ok(v);
        }
        if let Some(v) = self.sync_library_call(name, args, span)? {
            return Ok(v);
        }
        if let Some(v) = self.library_call(name, args, span)? {
            return Ok(v);
        }
        if let Some(v) = self.without_body(name, args, span)? {
            return Ok(v);
        }
        self.unknown_call(name, span)
    }

    /// A call of something that is not known here: a run that gets there is not followed.
    fn unknown_call(&mut self, name: &str, span: Span) -> Lower<Val> {
        let declared = self.cx.file.items.iter().find_map(|item| match item {
            Item::Variable(d) if d.name == name => Some(d.ty.plain()),
            Item::Variable(_) | Item::Function(_) => None,
        });
        let result = match declared {
            Some(Type::Function(signature)) => signature.result.plain().clone(),
            Some(_) | None => Type::INT,
        };
        let is_followed = result == Type::Void || result.is_value();
        if !self.cx.is_program() || !is_followed {
            return unsupported(
                span,
                &format!("call of `{name}`, which has no body here"),
                "define the function in this file, or give the file that defines it",
            );
        }
        let what =
            format!("call of `{name}`, which has no body here; give the file that defines it");
        self.refuse_run(&what, span);
        Ok(match result {
            Type::Void => Val::void(),
            result => Val::constant(0, &result),
        })
    }

    /// A function of the user's that is declared only, or not at all (then it returns `int`, C89 6.3.2.2): it returns any
    /// value, and the verdict
    /// says that it is taken to do nothing else. One that gets or returns a pointer is refused:
    /// what it does with it is not known. So is one of a library, which may well do something.
    fn without_body(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<Option<Val>> {
        let declared = self.cx.file.items.iter().find_map(|item| match item {
            Item::Variable(d) if d.name == name => Some(d),
            Item::Variable(_) | Item::Function(_) => None,
        });
        let result = match declared.map(|d| (d.is_own, d.ty.plain())) {
            Some((true, Type::Function(signature))) => signature.result.plain().clone(),
            Some(_) => return Ok(None),
            None if self.cx.is_program() => Type::INT,
            None => return Ok(None),
        };
        if is_library(name) || !(result == Type::Void || result.is_integer()) {
            return Ok(None);
        }
        for a in args {
            let v = self.value(a)?;
            if v.ty.is_pointer() && v.as_constant() != Some(0) {
                return Ok(None);
            }
        }
        self.cx.calls_undefined = true;
        Ok(Some(match result {
            Type::Void => Val::void(),
            result => self.any_value(&result, span),
        }))
    }

    /// SV-COMP's conventions, and what `assert` becomes.
    fn convention(&mut self, name: &str, args: &[Expr], span: Span) -> Lower<Option<Val>> {
        let is_error = match &self.cx.options.error_function {
            Some(f) => f == name,
            None => matches!(name, "reach_error" | "__VERIFIER_error"),
        };
        if is_error {
            self.oblige(Ir::FALSE, AssertKind::ErrorCall(name.to_owned()), span);
            self.block(span);
            return Ok(Some(Val::void()));
        }
        let only = self.cx.options.error_function.is_some();
        match (name, args) {
            ("__palisade_assert", [cond]) => {
                self.check(cond, only)?;
                Ok(Some(Val::void()))
            }
            ("__assert_fail" | "__assert" | "__assert_func" | "__assert_perror_fail", _) => {
                if !only {
                    let text = match args.first().map(|a| &a.kind) {
                        Some(ExprKind::Str(text)) => text.clone(),
                        _ => "here".to_owned(),
                    };
                    self.demand(Ir::FALSE, &format!("assertion failed: {text}"), span);
                }
                self.block(span);
                Ok(Some(Val::void()))
            }
            ("assert", [cond]) if !self.cx.functions.contains_key(name) => {
                self.check(cond, only)?;
                Ok(Some(Val::void()))
            }
            ("__CPROVER_assert", [cond, ..]) => {
                self.check(cond, only)?;
                Ok(Some(Val::void()))
            }
            (
                "__VERIFIER_assume"
                | "assume_abort_if_not"
                | "__builtin_assume"
                | "__CPROVER_assume",
                [cond],
            ) => {
                let (yes, no) = (self.graph.loc(), self.graph.loc());
                let (can, _) = self.branch(cond, yes, no)?;
                self.here = yes;
                self.live = can;
                Ok(Some(Val::void()))
            }
            ("__VERIFIER_assert", [cond]) if !self.cx.functions.contains_key(name) => {
                self.check(cond, only)?;
                Ok(Some(Val::void()))
            }
            ("__VERIFIER_atomic_begin" | "__CPROVER_atomic_begin", _) => {
                self.emit_op(Op::Begin(AtomicKind::Block), span);
                Ok(Some(Val::void()))
            }
            ("__VERIFIER_atomic_end" | "__CPROVER_atomic_end", _) => {
                self.emit_op(Op::End, span);
                Ok(Some(Val::void()))
            }
            ("abort" | "exit" | "_exit" | "_Exit" | "quick_exit" | "__builtin_unreachable", _) => {
                for a in args {
                    self.discard(a)?;
                }
                if name == "exit" {
                    self.check_leaks(span);
                }
                self.block(span);
                Ok(Some(Val::void()))
            }
            ("__VERIFIER_loop_bound" | "__VERIFIER_loop_begin", _) => Ok(Some(Val::void())),
            ("__VERIFIER_spin_start" | "__VERIFIER_spin_end", _) => Ok(Some(Val::void())),
            _ if self.cx.functions.contains_key(name) => Ok(None),
            _ => match nondet_kind(name) {
                Some("pointer" | "ptr") if self.cx.is_program() => {
                    self.refuse_run("any pointer", span);
                    Ok(Some(Val::constant(0, &Type::pointer(Type::Void))))
                }
                Some(kind) => {
                    let ty = self.nondet_type(kind, span)?;
                    Ok(Some(self.any_value(&ty, span)))
                }
                None => self.peer_call(name, args, span),
            },
        }
    }

    /// Any value of a type.
    pub(super) fn any_value(&mut self, ty: &Type, span: Span) -> Val {
        let dst = self.temporary(span);
        self.havoc(dst, ty, span);
        let v = self.held(self.read(dst), ty);
        self.any_number(&v, span);
        v
    }

    pub(super) fn nondet_type(&self, kind: &str, span: Span) -> Lower<Type> {
        let word = self.cx.options.data_model.word();
        let int = |bits, signed| Type::Int { bits, signed };
        Ok(match kind {
            "bool" | "_Bool" => Type::Bool,
            "char" | "schar" => int(8, true),
            "uchar" | "unsigned_char" | "u8" => int(8, false),
            "short" => int(16, true),
            "ushort" | "u16" => int(16, false),
            "int" => int(32, true),
            "uint" | "unsigned" | "unsigned_int" | "u32" => int(32, false),
            "long" => int(word, true),
            "ulong" | "size_t" | "sizet" => int(word, false),
            "longlong" | "loff_t" => int(64, true),
            "ulonglong" | "u64" => int(64, false),
            "float" if self.cx.is_program() => Type::Other("float"),
            "double" if self.cx.is_program() => Type::Other("double"),
            _ => {
                return unsupported(
                    span,
                    &format!("a nondeterministic {kind}"),
                    "use an integer",
                );
            }
        })
    }

    /// `assert(cond)`.
    fn check(&mut self, cond: &Expr, only_assume: bool) -> Lower<()> {
        let (yes, no) = (self.graph.loc(), self.graph.loc());
        if only_assume {
            let (can, _) = self.branch(cond, yes, no)?;
            self.here = yes;
            self.live = can;
            return Ok(());
        }
        let v = self.value(cond)?;
        let cond_ir = self.truth(v, cond.span)?;
        let is_trivial = self.live && cond_ir == Ir::TRUE;
        self.cx.asserts.meet(cond.span, is_trivial);
        let kind = AssertKind::User;
        self.emit(
            Step::Assert {
                cond: cond_ir,
                kind,
            },
            cond.span,
        );
        Ok(())
    }

    /// Inlines a call.
    pub(super) fn inline(&mut self, f: &'a Function, args: &[Expr], span: Span) -> Lower<Val> {
        if args.len() < f.params.len() {
            return Err(Diagnostic::error(
                span,
                format!("too few arguments for `{}`", f.name),
            ));
        }
        let mut values = Vec::new();
        for (k, a) in args.iter().enumerate() {
            match f.params.get(k) {
                Some((_, ty)) if matches!(ty.plain(), Type::Struct(_)) => {
                    let source = self.place(a)?;
                    values.push(Argument::Place(source));
                }
                Some((_, ty)) => {
                    let v = self.value(a)?;
                    let v = self.convert(v, ty, a.span)?;
                    values.push(Argument::Value(v));
                }
                None => self.discard(a)?,
            }
        }
        self.inline_values(f, values, span)
    }

    /// Inlines a call with arguments that are evaluated.
    pub(super) fn inline_values(
        &mut self,
        f: &'a Function,
        values: Vec<Argument>,
        span: Span,
    ) -> Lower<Val> {
        // The caller's expression is not evaluated further while the function runs.
        let around = std::mem::take(&mut self.arranged);
        let result = self.inlined(f, values, span);
        self.arranged = around;
        result
    }

    fn inlined(&mut self, f: &'a Function, values: Vec<Argument>, span: Span) -> Lower<Val> {
        let calls = self.frames.iter().filter(|frame| frame.function == f.name);
        if calls.count() >= MAX_RECURSION {
            // Runs that get this far are not followed.
            self.refuse_run(&format!("recursion of `{}` this deep", f.name), span);
            return Ok(nothing(&f.result));
        }
        if self.frames.len() >= MAX_CALLS {
            return unsupported(
                span,
                "calls nested this deeply",
                "fewer levels of functions",
            );
        }
        if !self.live {
            return Ok(nothing(&f.result));
        }
        let site = self.graph.site;
        if f.name.starts_with("__palisade") {
            self.graph.site = site.or(Some(span));
        }
        let exit = self.target();
        let addresses = self.cx.addresses_of(f);
        let captured = std::mem::take(&mut self.captured);
        self.frames.push(Frame {
            function: f.name.clone(),
            scopes: vec![captured, HashMap::new()],
            addresses,
            published: Vec::new(),
            result: None,
            exit,
            labels: HashMap::new(),
            jumps: HashMap::new(),
            defined: HashSet::new(),
            loop_labels: super::walk::loop_labels(&f.body),
            loop_depth: self.loop_depth,
            breaks: Vec::new(),
            continues: Vec::new(),
            switches: Vec::new(),
        });
        let result = match f.result.plain() {
            Type::Void => None,
            ty => Some(self.registers(&format!("{}.result", f.name), ty, span)?),
        };
        self.frame().result.clone_from(&result);
        for ((name, ty), value) in f.params.iter().zip(values) {
            let Some(name) = name else { continue };
            let object = self.variable(name, ty, f.span)?;
            let place = Self::whole(&object);
            match value {
                Argument::Value(v) => self.store(&place, v, span)?,
                Argument::Place(source) => self.copy(&place, &source, span)?,
            }
            self.declare(name, object);
        }
        self.body(&f.body)?;
        if self.live {
            self.jump(span, |code| Some(&mut code.frame().exit));
        }
        self.graph.site = site;
        let frame = self.frames.pop().expect("pushed above");
        self.loop_depth = frame.loop_depth;
        let undefined = frame
            .labels
            .iter()
            .find(|(name, _)| !frame.defined.contains(*name));
        if let (Some((name, (_, at))), true) = (undefined, self.cx.errors.all.is_empty()) {
            return Err(Diagnostic::error(
                *at,
                format!("there is no label `{name}`"),
            ));
        }
        self.arrive(frame.exit);
        self.end_lives(&frame.published, span);
        self.result(result, span)
    }

    fn result(&mut self, result: Option<Rc<super::layout::Object>>, span: Span) -> Lower<Val> {
        self.cx.last_result.clone_from(&result);
        match result {
            Some(object) if object.ty.is_value() => self.load(&Self::whole(&object), span),
            Some(_) | None => Ok(Val::void()),
        }
    }
}

/// The value of a call that does not come back: any.
fn nothing(result: &Type) -> Val {
    if result.is_value() {
        Val::constant(0, result)
    } else {
        Val::void()
    }
}

/// An argument that is evaluated.
pub(super) enum Argument {
    Value(Val),
    Place(super::place::Place),
}

/// The type of the value that a function with such a name chooses: `__VERIFIER_nondet_int`,
/// and `nondet_int` where that is a type.
pub(super) fn nondet_kind(name: &str) -> Option<&str> {
    let short = || {
        let kind = name.strip_prefix("nondet_")?;
        let known = [
            "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "size_t",
        ];
        known.contains(&kind).then_some(kind)
    };
    name.strip_prefix("__VERIFIER_nondet_").or_else(short)
}

/// Whether a name is one of a library that is known here in parts only.
fn is_library(name: &str) -> bool {
    let families = [
        "__", "pthread_", "sem_", "mtx_", "cnd_", "thrd_", "tss_", "atomic_", "MPI_", "sig", "str",
        "mem", "shmem_", "gaspi_", "omp_",
    ];
    let single = [
        "fork", "vfork", "clone", "longjmp", "setjmp", "system", "raise", "kill", "alarm", "wait",
        "read", "write", "open", "close", "select", "poll", "malloc", "realloc", "free",
    ];
    families.iter().any(|f| name.starts_with(f)) || single.contains(&name)
}
