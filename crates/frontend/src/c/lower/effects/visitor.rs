//! The *visitor* that collects effects, in the order of the text.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::super::code::Code;
use super::super::layout::Object;
use super::super::{library, walk};
use super::{Effects, Memory};
use crate::c::ast::{
    Binary, Declaration, Expr, ExprKind, Function, Stmt, StmtKind, Storage, Unary,
};
use crate::c::types::{StructId, Type};

/// Collects effects. Names that are declared inside what is walked over are private.
pub(super) struct Visitor<'w, 'c, 'a> {
    code: &'w mut Code<'c, 'a>,
    /// The function whose body is walked over; else the code stands in the one at hand.
    function: Option<&'a Function>,
    pub(super) scopes: Vec<HashMap<String, Type>>,
    pub(super) parts: Vec<Effects>,
    /// Functions that are called, if a function is walked over.
    pub(super) called: HashSet<String>,
}

impl<'w, 'c, 'a> Visitor<'w, 'c, 'a> {
    pub(super) fn new(code: &'w mut Code<'c, 'a>, function: Option<&'a Function>) -> Self {
        Self {
            code,
            function,
            scopes: Vec::new(),
            parts: Vec::new(),
            called: HashSet::new(),
        }
    }

    fn private(&self, name: &str) -> Option<&Type> {
        self.scopes.iter().rev().find_map(|s| s.get(name))
    }

    fn object(&mut self, name: &str) -> Option<Rc<Object>> {
        if self.private(name).is_some() {
            return None;
        }
        if self.function.is_none() {
            return self.code.lookup(name).ok().flatten();
        }
        if let Some(declaration) = self.code.cx.thread_local.get(name).copied() {
            let known = self.code.thread_locals.get(name).cloned();
            return known.or_else(|| self.code.thread_local(declaration).ok());
        }
        self.code.cx.variables.get(name).cloned()
    }

    fn overlaps(&self, object: &Object) -> bool {
        self.code.cx.layouts.has_overlap(&object.ty)
    }

    fn touch(&mut self, memory: Option<Memory>, writes: bool) {
        if let Some(memory) = memory {
            self.parts.push(Effects::access(memory, writes));
        }
    }

    pub(super) fn type_of(&mut self, e: &Expr) -> Option<Type> {
        Some(match &e.kind {
            ExprKind::Int(_, ty) => ty.clone(),
            ExprKind::Str(text) => {
                Type::Array(Rc::new(Type::CHAR), Some(text.chars().count() as u64 + 1))
            }
            ExprKind::Ident(name) => match self.private(name) {
                Some(ty) => ty.clone(),
                None => self.object(name)?.ty.clone(),
            },
            ExprKind::Unary(Unary::Deref, a) => self.type_of(a)?.pointee()?.clone(),
            ExprKind::Unary(Unary::Address, a) => Type::pointer(self.type_of(a)?),
            ExprKind::Unary(Unary::Plus | Unary::Minus | Unary::BitNot, a) => {
                self.type_of(a)?.promoted()
            }
            ExprKind::Unary(Unary::Not, _) => Type::INT,
            ExprKind::Unary(
                Unary::PreIncrement
                | Unary::PreDecrement
                | Unary::PostIncrement
                | Unary::PostDecrement,
                a,
            )
            | ExprKind::Assign(_, a, _) => self.type_of(a)?.plain().clone(),
            ExprKind::Index(a, i) => {
                let (a, i) = (self.type_of(a), self.type_of(i));
                let of = |ty: &Option<Type>| ty.as_ref()?.pointee().cloned();
                of(&a).or_else(|| of(&i))?
            }
            ExprKind::Member(a, name) => {
                let of = self.type_of(a)?;
                self.member(&of, name)?.1
            }
            ExprKind::Arrow(a, name) => {
                let of = self.type_of(a)?.pointee()?.clone();
                self.member(&of, name)?.1
            }
            ExprKind::Cast(ty, _) | ExprKind::Compound(ty, _) => ty.clone(),
            ExprKind::Binary(op, a, b) => {
                let a = self.type_of(a)?.decayed();
                let b = self.type_of(b)?.decayed();
                match op {
                    Binary::Add if b.is_pointer() => b,
                    Binary::Add if a.is_pointer() => a,
                    Binary::Sub if a.is_pointer() && !b.is_pointer() => a,
                    Binary::Shl | Binary::Shr => a.promoted(),
                    Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge => Type::INT,
                    Binary::Eq | Binary::Ne | Binary::And | Binary::Or => Type::INT,
                    Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Rem => {
                        a.common(&b)
                    }
                    Binary::BitAnd | Binary::BitOr | Binary::BitXor => a.common(&b),
                }
            }
            ExprKind::Comma(_, b) => self.type_of(b)?,
            ExprKind::Cond(_, _, b) => self.type_of(b)?.decayed(),
            ExprKind::Call(f, _) => match &f.kind {
                ExprKind::Ident(name) => self.code.cx.functions.get(name.as_str())?.result.clone(),
                _ => return None,
            },
            ExprKind::Statements(_) | ExprKind::Float(_) | ExprKind::UnknownSize => return None,
        })
    }

    fn member(&self, of: &Type, name: &str) -> Option<(StructId, Type)> {
        let Type::Struct(id) = of.plain() else {
            return None;
        };
        let fields = self.code.cx.layouts.structs[*id].fields.as_ref()?;
        let found = fields.iter().find_map(|f| match &f.name {
            Some(n) if n == name => Some(f.ty.clone()),
            Some(_) => None,
            None => self.member(&f.ty, name).map(|(_, ty)| ty),
        });
        Some((*id, found?))
    }

    /// The memory that a place is; accesses on the way to it are noted.
    pub(super) fn place(&mut self, e: &Expr) -> Option<Memory> {
        match &e.kind {
            ExprKind::Ident(name) => Some(Memory::Part {
                object: self.object(name)?,
                path: String::new(),
                index: Vec::new(),
            }),
            ExprKind::Member(a, name) => {
                let of = self.type_of(a);
                let found = of.and_then(|of| self.member(&of, name));
                let (id, ty) = found.map_or((None, None), |(id, ty)| (Some(id), Some(ty)));
                let place = self.place(a)?;
                // Members of unions overlap: the variable counts as a whole.
                match &place {
                    Memory::Part { object, .. } if self.overlaps(object) => Some(place),
                    Memory::Part { .. } | Memory::Behind { .. } => Some(place.member(id, name, ty)),
                }
            }
            ExprKind::Arrow(a, name) => {
                let of = self.type_of(a).and_then(|ty| ty.pointee().cloned());
                let found = of.and_then(|of| self.member(&of, name));
                let (id, ty) = found.map_or((None, None), |(id, ty)| (Some(id), Some(ty)));
                self.expr(a);
                let whole = Memory::Behind {
                    ty: None,
                    member: None,
                };
                Some(whole.member(id, name, ty))
            }
            ExprKind::Unary(Unary::Deref, a) => {
                if let ExprKind::Unary(Unary::Address, inner) = &a.kind {
                    return self.place(inner);
                }
                let ty = self.type_of(a).and_then(|ty| ty.pointee().cloned());
                self.expr(a);
                Some(Memory::Behind { ty, member: None })
            }
            ExprKind::Index(a, i) => {
                let of = self.type_of(a);
                let ty = self.type_of(e);
                self.expr(i);
                if !matches!(of.as_ref().map(Type::plain), Some(Type::Array(..))) {
                    self.expr(a);
                    return Some(Memory::Behind { ty, member: None });
                }
                Some(match self.place(a)? {
                    Memory::Part {
                        object,
                        path,
                        mut index,
                    } => {
                        let is_whole = self.overlaps(&object);
                        index.push(crate::c::parser::constant(i).filter(|_| !is_whole));
                        Memory::Part {
                            object,
                            path,
                            index,
                        }
                    }
                    Memory::Behind { member, .. } => Memory::Behind { ty, member },
                })
            }
            ExprKind::Cast(_, a) => self.place(a),
            ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::UnknownSize => {
                None
            }
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Assign(..) => {
                self.expr(e);
                None
            }
            ExprKind::Cond(..) | ExprKind::Call(..) | ExprKind::Comma(..) => {
                self.expr(e);
                None
            }
            ExprKind::Statements(_) | ExprKind::Compound(..) => {
                self.expr(e);
                None
            }
        }
    }

    pub(super) fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::UnknownSize => {}
            ExprKind::Ident(_) | ExprKind::Index(..) | ExprKind::Member(..) => self.read(e),
            ExprKind::Arrow(..) | ExprKind::Unary(Unary::Deref, _) => self.read(e),
            ExprKind::Unary(Unary::Plus | Unary::Minus | Unary::Not | Unary::BitNot, a)
            | ExprKind::Cast(_, a) => self.expr(a),
            ExprKind::Unary(Unary::Address, a) => {
                self.place(a);
            }
            ExprKind::Unary(
                Unary::PreIncrement
                | Unary::PreDecrement
                | Unary::PostIncrement
                | Unary::PostDecrement,
                a,
            ) => self.assign(true, a),
            ExprKind::Binary(_, a, b) | ExprKind::Comma(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Assign(op, a, b) => {
                self.expr(b);
                self.assign(op.is_some(), a);
            }
            ExprKind::Cond(c, a, b) => {
                self.expr(c);
                if let Some(a) = a {
                    self.expr(a);
                }
                self.expr(b);
            }
            ExprKind::Call(callee, args) => {
                for a in args {
                    self.expr(a);
                }
                let before = self.parts.len();
                self.callee(callee, args);
                let mut all = Effects::default();
                self.parts.drain(before..).for_each(|p| all.join(&p));
                all.is_call = true;
                self.parts.push(all);
            }
            ExprKind::Statements(body) => {
                self.scopes.push(HashMap::new());
                for s in body {
                    self.stmt(s);
                }
                self.scopes.pop();
            }
            ExprKind::Compound(_, init) => {
                let mut all = Vec::new();
                walk::top_of_init(init, &mut |e| all.push(e));
                for e in all {
                    self.expr(e);
                }
            }
        }
    }

    fn read(&mut self, e: &Expr) {
        let is_address = self.type_of(e).is_some_and(|ty| {
            matches!(
                ty.plain(),
                Type::Array(..) | Type::VariableArray(_) | Type::Function(_)
            )
        });
        let memory = self.place(e);
        if !is_address {
            self.touch(memory, false);
        }
    }

    fn assign(&mut self, reads: bool, a: &Expr) {
        let ty = self.type_of(a);
        let memory = self.place(a);
        if reads {
            self.touch(memory.clone(), false);
        }
        self.touch(memory, true);
        if ty.is_none_or(|ty| ty.is_atomic()) {
            self.parts.push(Effects {
                synchronises: true,
                ..Effects::default()
            });
        }
    }

    /// What the called function does.
    pub(super) fn callee(&mut self, callee: &Expr, args: &[Expr]) {
        let name = match &callee.kind {
            ExprKind::Ident(name)
                if self.object(name).is_none() && self.private(name).is_none() =>
            {
                Some(name.as_str())
            }
            _ => None,
        };
        let Some(name) = name else {
            self.expr(callee);
            let taken: Vec<String> = self.code.cx.taken_functions.iter().cloned().collect();
            self.run(taken);
            return;
        };
        if self.code.cx.functions.contains_key(name) {
            let is_end = matches!(
                name,
                "reach_error" | "__VERIFIER_error" | "assume_abort_if_not"
            );
            let is_error = self.code.cx.options.error_function.as_deref() == Some(name);
            if is_end || is_error {
                self.parts.push(Effects {
                    stops: true,
                    ..Effects::default()
                });
            }
            self.run(vec![name.to_owned()]);
            return;
        }
        self.library(name, args);
    }

    /// Functions of the program.
    fn run(&mut self, names: Vec<String>) {
        if self.function.is_some() {
            self.called.extend(names);
            return;
        }
        let mut seen: BTreeSet<String> = names.into_iter().collect();
        let mut open: Vec<String> = seen.iter().cloned().collect();
        while let Some(name) = open.pop() {
            let Some(f) = self.code.cx.functions.get(name.as_str()).copied() else {
                continue;
            };
            let known = self.code.function_effects(f);
            self.parts.push(known.0.clone());
            for called in &known.1 {
                if seen.insert(called.clone()) {
                    open.push(called.clone());
                }
            }
        }
    }

    /// Functions that are built in.
    fn library(&mut self, name: &str, args: &[Expr]) {
        let (reads, writes, synchronises, stops) = match library_kind(name) {
            Library::Silent => return,
            Library::Stops => (false, false, false, true),
            Library::Loads => (true, false, false, false),
            Library::Accesses => (true, true, true, false),
            Library::Copies => (true, true, false, false),
            Library::Other => (true, true, true, true),
        };
        let mut all = Effects {
            synchronises,
            stops,
            ..Effects::default()
        };
        for a in args {
            let Some(memory) = self.pointed_by(a) else {
                continue;
            };
            if reads {
                all.reads.push(memory.clone());
            }
            if writes {
                all.writes.push(memory);
            }
        }
        self.parts.push(all);
    }

    /// The memory that an argument points to.
    fn pointed_by(&mut self, e: &Expr) -> Option<Memory> {
        let before = self.parts.len();
        let memory = match &e.kind {
            ExprKind::Unary(Unary::Address, a) => self.place(a),
            ExprKind::Cast(_, a) => self.pointed_by(a),
            ExprKind::Int(..) | ExprKind::Str(_) => None,
            _ => match self.type_of(e).map(|ty| ty.decayed()) {
                Some(ty) if !ty.is_pointer() => None,
                Some(ty) => Some(Memory::Behind {
                    ty: ty.pointee().filter(|t| **t != Type::Void).cloned(),
                    member: None,
                }),
                None => Some(Memory::Behind {
                    ty: None,
                    member: None,
                }),
            },
        };
        // Arguments are evaluated elsewhere.
        self.parts.truncate(before);
        // Whole objects are copied, not one scalar of them.
        Some(match memory? {
            Memory::Part { object, path, .. } => Memory::Part {
                object,
                path,
                index: Vec::new(),
            },
            behind @ Memory::Behind { .. } => behind,
        })
    }

    pub(super) fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Empty | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Return(None) | StmtKind::Gap => {}
            StmtKind::Expr(e) | StmtKind::Return(Some(e)) => self.expr(e),
            StmtKind::Declare(all) => all.iter().for_each(|d| self.declare(d)),
            StmtKind::Block(body) => {
                self.scopes.push(HashMap::new());
                for s in body {
                    self.stmt(s);
                }
                self.scopes.pop();
            }
            StmtKind::If(c, a, b) => {
                self.expr(c);
                self.stmt(a);
                if let Some(b) = b {
                    self.stmt(b);
                }
            }
            StmtKind::While(c, a) | StmtKind::DoWhile(a, c) | StmtKind::Switch(c, a) => {
                self.again(|visitor| {
                    visitor.expr(c);
                    visitor.stmt(a);
                });
            }
            StmtKind::For(init, c, step, body) => {
                self.scopes.push(HashMap::new());
                if let Some(init) = init {
                    self.stmt(init);
                }
                self.again(|visitor| {
                    c.iter().chain(step).for_each(|e| visitor.expr(e));
                    visitor.stmt(body);
                });
                self.scopes.pop();
            }
            StmtKind::Case(_, _, a) | StmtKind::Default(a) => self.stmt(a),
            StmtKind::Label(_, a) => self.again(|visitor| visitor.stmt(a)),
            StmtKind::Refused(_) => {}
            StmtKind::Asm(_) => self.parts.push(Effects {
                synchronises: true,
                ..Effects::default()
            }),
        }
    }

    /// What may run more than once counts twice, where accesses are told apart.
    fn again(&mut self, f: impl Fn(&mut Self)) {
        f(self);
        if self.function.is_none() {
            f(self);
        }
    }

    fn declare(&mut self, d: &Declaration) {
        let mut all = Vec::new();
        d.init
            .iter()
            .for_each(|i| walk::top_of_init(i, &mut |e| all.push(e)));
        d.length.iter().for_each(|e| all.push(e));
        if d.storage == Storage::Automatic {
            for e in all {
                self.expr(e);
            }
            if self.scopes.is_empty() {
                self.scopes.push(HashMap::new());
            }
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(d.name.clone(), d.ty.clone());
            }
        } else if d.storage == Storage::Static {
            // One object for all calls: anything of its type.
            self.parts.push(Effects {
                reads: vec![Memory::Behind {
                    ty: None,
                    member: None,
                }],
                writes: vec![Memory::Behind {
                    ty: None,
                    member: None,
                }],
                ..Effects::default()
            });
        }
    }
}

/// What a function of the library does.
enum Library {
    /// Nothing that counts.
    Silent,
    /// The run may end or fail.
    Stops,
    /// One atomic load.
    Loads,
    /// Atomic accesses, locks, threads: of what the arguments point to.
    Accesses,
    /// Plain accesses of what the arguments point to.
    Copies,
    /// Anything.
    Other,
}

fn library_kind(name: &str) -> Library {
    let is_load = |rest: &str| rest.starts_with("load") && rest != "load";
    match name {
        "atomic_load" | "atomic_load_explicit" => Library::Loads,
        "malloc" | "calloc" | "rand" | "random" | "pthread_self" | "thrd_current" => {
            Library::Silent
        }
        "abs" | "labs" | "llabs" => Library::Silent,
        "memcpy" | "memmove" | "memset" | "strcpy" => Library::Copies,
        "abort" | "exit" | "_exit" | "_Exit" | "quick_exit" | "__builtin_unreachable" => {
            Library::Stops
        }
        "reach_error" | "assume_abort_if_not" | "assert" => Library::Stops,
        "__VERIFIER_assume" | "__VERIFIER_error" | "__VERIFIER_assert" => Library::Stops,
        "__palisade_assert" | "__assert_fail" | "__CPROVER_assert" | "__CPROVER_assume" => {
            Library::Stops
        }
        _ if library::is_silent(name) => Library::Silent,
        _ if super::super::call::nondet_kind(name).is_some() => Library::Silent,
        _ if name.strip_prefix("__atomic_").is_some_and(is_load) => Library::Loads,
        _ if ["atomic_", "__atomic_", "__sync_"]
            .iter()
            .any(|p| name.starts_with(p)) =>
        {
            Library::Accesses
        }
        _ if name.starts_with("__builtin_mem") || name.starts_with("__builtin_str") => {
            Library::Copies
        }
        _ if name.starts_with("__builtin_") => Library::Silent,
        _ => Library::Other,
    }
}
