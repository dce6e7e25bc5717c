//! *The library of C* as far as it is built in: output, which has no effect on what is
//! checked, and which functions allocate (`allocate` does). `copies` has copies of memory, `input` what is read from outside.

use palisade_program::{AssertKind, Expr as Ir, LocalExpr, Span, Step};

use super::assign::part_at;
use super::code::{Code, Lower};
use super::expr::unsupported;
use super::value::Val;
use crate::c::ast::{Expr, ExprKind, Unary};
use crate::c::types::Type;

/// Functions without effect on what is checked; their arguments are evaluated.
const SILENT: [&str; 40] = [
    "__palisade_stream",
    "__goblint_assume_join",
    "sched_setaffinity",
    "pthread_setaffinity_np",
    "vprintf",
    "vfprintf",
    "__builtin_va_start",
    "__builtin_va_end",
    "__builtin_va_copy",
    "printf",
    "fprintf",
    "puts",
    "putchar",
    "fputs",
    "fflush",
    "perror",
    "putc",
    "fputc",
    "srand",
    "sched_yield",
    "pthread_yield",
    "usleep",
    "sleep",
    "nanosleep",
    "pthread_detach",
    "pthread_attr_init",
    "pthread_attr_destroy",
    "pthread_attr_setdetachstate",
    "pthread_mutexattr_init",
    "pthread_mutexattr_destroy",
    "pthread_condattr_init",
    "pthread_condattr_destroy",
    "pthread_setconcurrency",
    "pthread_mutexattr_setpshared",
    "__builtin_unreachable_hint",
    "thrd_yield",
    "pthread_rwlockattr_init",
    "pthread_rwlockattr_destroy",
    "pthread_barrierattr_init",
    "setvbuf",
];

impl Code<'_, '_> {
    /// Functions of C's library.
    pub(super) fn library_call(
        &mut self,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Lower<Option<Val>> {
        if SILENT.contains(&name) {
            self.print_all(args)?;
            if name == "pthread_detach" || name.contains("attr") || name.starts_with("pthread_") {
                return Ok(Some(Val::constant(0, &Type::INT)));
            }
            return Ok(Some(self.any_value(&Type::INT, span)));
        }
        match (name, args) {
            // Waits for some time.
            ("poll", [files, _, _]) if self.value(files)?.as_constant() == Some(0) => {
                Ok(Some(Val::constant(0, &Type::INT)))
            }
            ("__builtin_expect", [e, _]) => {
                let v = self.value(e)?;
                let long = Type::Int {
                    bits: self.cx.options.data_model.word(),
                    signed: true,
                };
                Ok(Some(self.convert(v, &long, span)?))
            }
            ("rand" | "random", []) => {
                let v = self.any_value(&Type::INT, span);
                let nonneg =
                    LocalExpr::binary(palisade_program::BinOp::Ge, v.e.clone(), Ir::Const(0));
                self.emit(Step::Assume(nonneg), span);
                Ok(Some(Val { lo: 0, ..v }))
            }
            ("clock_gettime", [_, at]) | ("gettimeofday", [at, _]) => {
                self.clock(at, 0, span).map(Some)
            }
            ("timespec_get", [at, base]) => {
                let base = self.value(base)?.as_constant().unwrap_or(0);
                self.clock(at, base as i64, span).map(Some)
            }
            ("pthread_mutexattr_settype", [_, kind]) => {
                if self.value(kind)?.as_constant() != Some(0) {
                    return unsupported(span, "this kind of mutex", "use the default kind");
                }
                Ok(Some(Val::constant(0, &Type::INT)))
            }
            ("free", [pointer]) => {
                self.free(pointer, span)?;
                Ok(Some(Val::void()))
            }
            ("alloca" | "__builtin_alloca", [size]) => {
                self.allocate_on_stack(&[size], span).map(Some)
            }
            ("realloc", [pointer, size]) => self.reallocate(pointer, size, span).map(Some),
            ("malloc", [size]) => self.allocate(&[size], false, span).map(Some),
            ("calloc", [count, size]) => self.allocate(&[count, size], true, span).map(Some),
            ("aligned_alloc" | "memalign", [alignment, size]) => {
                if self.is_alignment(alignment)? == Some(false) && name == "aligned_alloc" {
                    let kind = AssertKind::Language(
                        "the alignment of an allocation is no power of two".to_owned(),
                    );
                    self.oblige(Ir::FALSE, kind, span);
                }
                self.allocate(&[size], false, span).map(Some)
            }
            ("posix_memalign", [to, alignment, size]) => {
                if self.is_alignment(alignment)? == Some(false) {
                    const EINVAL: i128 = 22;
                    return Ok(Some(Val::constant(EINVAL, &Type::INT)));
                }
                let mut to = to;
                while let ExprKind::Cast(_, inner) = &to.kind {
                    to = inner;
                }
                let place = self.target_of(to)?;
                let of = place.ty().pointee().filter(|t| *t.plain() != Type::Void);
                self.cx.pending_type = of.map(|_| place.ty().plain().clone());
                let v = self.allocate(&[size], false, span)?;
                self.write(&place, v, span)?;
                Ok(Some(Val::constant(0, &Type::INT)))
            }
            _ => {
                if let Some(v) = self.math_call(name, args, span)? {
                    return Ok(Some(v));
                }
                if let Some(v) = self.bits_call(name, args, span)? {
                    return Ok(Some(v));
                }
                match self.input_call(name, args, span)? {
                    Some(v) => Ok(Some(v)),
                    None => self.memory_call(name, args, span),
                }
            }
        }
    }

    /// Whether this is an alignment that an allocation may ask for: a power of two. `None`
    /// where it is no constant.
    fn is_alignment(&mut self, alignment: &Expr) -> Lower<Option<bool>> {
        let v = self.value(alignment)?.as_constant();
        Ok(v.map(|v| v > 0 && v & (v - 1) == 0))
    }

    /// The time: any.
    fn clock(&mut self, at: &Expr, result: i64, span: Span) -> Lower<Val> {
        let place = self.target_of(at)?;
        for (path, ty) in self.scalars(&place.ty().clone(), span)? {
            let v = self.any_value(&ty, span);
            self.store(&part_at(place.clone(), &path, &ty), v, span)?;
        }
        Ok(Val::constant(i128::from(result), &Type::INT))
    }

    /// Whether a call of a program with remote memory prints what it gets and does nothing else: the order in which that is
    /// read does not matter then.
    pub(super) fn only_prints(&self, callee: &Expr, args: &[Expr]) -> bool {
        let ExprKind::Ident(name) = &callee.kind else {
            return false;
        };
        let is_own = self.cx.functions.contains_key(name.as_str());
        let prints = name.contains("print") && is_silent(name) && !is_own;
        prints && self.cx.onesided.is_some() && args.iter().all(only_reads)
    }

    pub(super) fn print_all(&mut self, args: &[Expr]) -> Lower<()> {
        for a in args {
            if !matches!(a.kind, ExprKind::Str(_) | ExprKind::Float(_)) && !is_stream(a) {
                self.print(a)?;
            }
        }
        Ok(())
    }

    /// Evaluates what is printed. Remote memory may hold anything there: nothing depends on it.
    fn print(&mut self, e: &Expr) -> Lower<()> {
        let is_place = matches!(
            e.kind,
            ExprKind::Ident(_)
                | ExprKind::Index(..)
                | ExprKind::Member(..)
                | ExprKind::Arrow(..)
                | ExprKind::Unary(Unary::Deref, _)
        );
        if !is_place || self.cx.onesided.is_none() {
            return self.discard(e);
        }
        let place = self.place(e)?;
        if !place.ty().is_value() {
            return Ok(());
        }
        self.is_printed = true;
        let loaded = self.load(&place, e.span);
        self.is_printed = false;
        loaded.map(|_| ())
    }

    /// A run that gets here makes the verdict unknown, and goes no further.
    pub(super) fn refuse_run(&mut self, what: &str, span: Span) {
        self.require(Ir::FALSE, what, span);
        self.block(span);
    }
}

impl super::Context<'_> {
    /// The type of the first `sizeof` in these expressions.
    pub(super) fn sized<'e>(&self, among: impl IntoIterator<Item = &'e Expr>) -> Option<Type> {
        let mut found = None;
        for e in among {
            super::walk::each_expr(e, &mut |e| {
                if found.is_none() {
                    found = self.file.sizes.get(&e.span).cloned();
                }
            });
        }
        found
    }
}

/// Whether a function of the library returns new memory.
pub(super) fn is_allocation(name: &str) -> bool {
    matches!(
        name,
        "malloc"
            | "calloc"
            | "realloc"
            | "aligned_alloc"
            | "memalign"
            | "alloca"
            | "__builtin_alloca"
    )
}

/// Whether a function has no effect on what is checked.
pub(in crate::c) fn is_silent(name: &str) -> bool {
    SILENT.contains(&name)
}

/// Whether an expression reads at most.
fn only_reads(e: &Expr) -> bool {
    let mut all = true;
    super::walk::each_expr(e, &mut |e| {
        all &= !matches!(
            e.kind,
            ExprKind::Call(..)
                | ExprKind::Assign(..)
                | ExprKind::Statements(_)
                | ExprKind::Unary(
                    Unary::PreIncrement
                        | Unary::PostIncrement
                        | Unary::PreDecrement
                        | Unary::PostDecrement,
                    _
                )
        );
    });
    all
}

fn is_stream(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Ident(name) if matches!(name.as_str(), "stdout" | "stderr" | "stdin"))
}
