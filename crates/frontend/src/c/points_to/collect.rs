//! *Constraints*: the tree of a program as inclusions between sets. Functions are looked at when they are
//! first found to be called, from `main` on.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use palisade_program::Span;

use super::solve::{Node, Solver};
use super::{Id, PointsTo};
use crate::c::ast::{
    Binary, Declaration, Expr, ExprKind, File, Function, Initializer, Item, Stmt, StmtKind, Unary,
};
use crate::c::lower::{each_expr, is_silent, takes_place};
use crate::c::parser::Typing;
use crate::c::types::{DataModel, Signature, Type};

/// What a thread calls in the end (`headers/__palisade_keys.h`).
const THREAD_END: &str = "__palisade_thread_end";
/// Functions on locks and their kin, which hold no pointers.
const THREADS: [&str; 5] = ["pthread_", "mtx_", "cnd_", "sem_", "thrd_"];

/// A variable that a name means.
#[derive(Clone)]
struct Variable {
    id: Id,
    ty: Type,
}

/// A function that is called.
#[derive(Clone)]
struct Body {
    params: Vec<Id>,
    result: Node,
}

/// Arguments and the set of the result.
#[derive(Clone)]
struct Call {
    args: Vec<Node>,
    result: Node,
}

/// Collects the constraints.
pub(super) struct Collector<'a> {
    file: &'a File,
    model: DataModel,
    functions: HashMap<&'a str, (Id, &'a Function)>,
    by_id: HashMap<Id, &'a Function>,
    globals: HashMap<&'a str, Variable>,
    scopes: Vec<HashMap<String, Variable>>,
    solver: Solver,
    sites: HashMap<Span, Vec<Id>>,
    values: HashMap<*const Expr, Node>,
    places: HashMap<*const Expr, Node>,
    bodies: HashMap<Id, Body>,
    calls: Vec<Call>,
    /// Functions that are called and have not been looked at.
    open: Vec<Id>,
    /// The result of the function at hand.
    result: Node,
    /// What threads return.
    thread_results: Node,
    /// The empty set.
    nothing: Node,
}

impl<'a> Collector<'a> {
    pub(super) fn new(file: &'a File, model: DataModel) -> Self {
        let mut solver = Solver::default();
        let [result, thread_results, nothing] = [(); 3].map(|()| solver.node());
        let mut collector = Self {
            file,
            model,
            functions: HashMap::new(),
            by_id: HashMap::new(),
            globals: HashMap::new(),
            scopes: Vec::new(),
            solver,
            sites: HashMap::new(),
            values: HashMap::new(),
            places: HashMap::new(),
            bodies: HashMap::new(),
            calls: Vec::new(),
            open: Vec::new(),
            result,
            thread_results,
            nothing,
        };
        for item in &file.items {
            match item {
                Item::Function(f) => {
                    let id = collector.solver.object();
                    collector.functions.insert(&f.name, (id, f));
                    collector.by_id.insert(id, f);
                }
                Item::Variable(d) if matches!(d.ty.plain(), Type::Function(_)) => {}
                Item::Variable(d) => {
                    // Several declarations are one variable.
                    let known = collector.globals.get(d.name.as_str()).map(|v| v.id);
                    let id = known.unwrap_or_else(|| collector.solver.object());
                    collector.sites.entry(d.span).or_default().push(id);
                    let ty = d.ty.clone();
                    collector.globals.insert(&d.name, Variable { id, ty });
                }
            }
        }
        collector
    }

    pub(super) fn run(mut self) -> PointsTo {
        for item in &self.file.items {
            if let Item::Variable(d) = item
                && let (Some(init), Some(v)) = (&d.init, self.globals.get(d.name.as_str()))
            {
                let content = self.solver.content(v.id);
                self.initialiser(init, content);
            }
        }
        for name in ["main", THREAD_END] {
            if let Some((id, _)) = self.functions.get(name).copied() {
                self.body(id);
            }
        }
        loop {
            while let Some(id) = self.open.pop() {
                self.look_at(id);
            }
            self.solver.run();
            let called = std::mem::take(&mut self.solver.called);
            if called.is_empty() {
                break;
            }
            for (call, function) in called {
                let call = self.calls[call].clone();
                self.bind(&call, function);
            }
        }
        self.found()
    }

    fn found(self) -> PointsTo {
        // Equal sets are one.
        let mut shared: HashSet<super::Targets> = HashSet::new();
        let mut sets = HashMap::new();
        for (e, node) in &self.values {
            let all = self.solver.objects(*node);
            // Nothing may mean that nothing is known: an integer that became a pointer.
            if all.is_empty() {
                continue;
            }
            let set = match shared.get(all) {
                Some(set) => set.clone(),
                None => Rc::new(all.clone()),
            };
            shared.insert(set.clone());
            sets.insert(*e, set);
        }
        let globals = self.globals.iter();
        let written = globals.filter(|(_, v)| self.solver.written.contains(&v.id));
        PointsTo {
            sets,
            written: written.map(|(name, _)| (*name).to_owned()).collect(),
            sites: self.sites,
        }
    }

    /// The parameters and the result of a function that is called.
    fn body(&mut self, id: Id) -> Option<Body> {
        if let Some(body) = self.bodies.get(&id) {
            return Some(body.clone());
        }
        let function = self.by_id.get(&id).copied()?;
        let params = function
            .params
            .iter()
            .map(|_| self.new_object(function.span));
        let params = params.collect();
        let result = self.solver.node();
        let body = Body { params, result };
        self.bodies.insert(id, body.clone());
        self.open.push(id);
        Some(body)
    }

    fn look_at(&mut self, id: Id) {
        let (Some(function), Some(body)) = (self.by_id.get(&id).copied(), self.bodies.get(&id))
        else {
            return;
        };
        let params = function.params.iter().zip(&body.params);
        let scope = params.filter_map(|((name, ty), id)| {
            let ty = ty.decayed();
            Some((name.clone()?, Variable { id: *id, ty }))
        });
        self.result = body.result;
        self.scopes = vec![scope.collect()];
        function.body.iter().for_each(|s| self.statement(s));
        self.scopes.clear();
    }

    fn bind(&mut self, call: &Call, function: Id) {
        let Some(body) = self.body(function) else {
            return;
        };
        for (arg, param) in call.args.iter().zip(&body.params) {
            self.solver.include(*arg, self.solver.content(*param));
        }
        self.solver.include(body.result, call.result);
    }

    fn new_object(&mut self, site: Span) -> Id {
        let id = self.solver.object();
        self.sites.entry(site).or_default().push(id);
        id
    }

    fn variable(&self, name: &str) -> Option<&Variable> {
        let local = self.scopes.iter().rev().find_map(|s| s.get(name));
        local.or_else(|| self.globals.get(name))
    }

    fn address(&mut self, id: Id) -> Node {
        let node = self.solver.node();
        self.solver.add(node, id);
        node
    }

    fn union(&mut self, parts: &[Node]) -> Node {
        let node = self.solver.node();
        for part in parts {
            self.solver.include(*part, node);
        }
        node
    }

    fn loaded(&mut self, from: Node) -> Node {
        let node = self.solver.node();
        self.solver.load(from, node);
        node
    }

    fn scoped(&mut self, f: impl FnOnce(&mut Self)) {
        self.scopes.push(HashMap::new());
        f(self);
        self.scopes.pop();
    }

    fn statement(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Expr(e) => {
                self.value(e);
            }
            StmtKind::Declare(all) => all.iter().for_each(|d| self.declare(d)),
            StmtKind::Block(body) => self.scoped(|c| body.iter().for_each(|s| c.statement(s))),
            StmtKind::If(cond, yes, no) => {
                self.value(cond);
                self.statement(yes);
                if let Some(no) = no {
                    self.statement(no);
                }
            }
            StmtKind::While(cond, body)
            | StmtKind::DoWhile(body, cond)
            | StmtKind::Switch(cond, body) => {
                self.value(cond);
                self.statement(body);
            }
            StmtKind::For(init, cond, step, body) => self.scoped(|c| {
                if let Some(init) = init {
                    c.statement(init);
                }
                cond.iter().chain(step).for_each(|e| {
                    c.value(e);
                });
                c.statement(body);
            }),
            StmtKind::Case(_, _, s) | StmtKind::Default(s) | StmtKind::Label(_, s) => {
                self.statement(s);
            }
            StmtKind::Return(Some(e)) => {
                let value = self.value(e);
                self.solver.include(value, self.result);
            }
            StmtKind::Empty | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Return(None) | StmtKind::Asm(_) | StmtKind::Refused(_) | StmtKind::Gap => {}
        }
    }

    fn declare(&mut self, d: &Declaration) {
        d.length.iter().for_each(|e| {
            self.value(e);
        });
        if matches!(d.ty.plain(), Type::Function(_)) {
            return;
        }
        // A declaration `extern` means the variable of the top level.
        let global = self.globals.get(d.name.as_str()).map(|v| v.id);
        let id = match global.filter(|_| d.storage == crate::c::ast::Storage::Extern) {
            Some(id) => id,
            None => self.new_object(d.span),
        };
        let ty = d.ty.clone();
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(d.name.clone(), Variable { id, ty });
        }
        if let Some(init) = &d.init {
            let content = self.solver.content(id);
            self.initialiser(init, content);
        }
    }

    fn initialiser(&mut self, init: &Initializer, content: Node) {
        match init {
            Initializer::Value(e) => {
                let value = self.value(e);
                self.solver.include(value, content);
            }
            Initializer::List(list, _) => {
                for (_, init) in list {
                    self.initialiser(init, content);
                }
            }
        }
    }

    /// The type of an expression; `None` if it is not known.
    fn type_of(&self, e: &Expr) -> Option<Type> {
        let mut has_names = false;
        each_expr(e, &mut |e| {
            has_names |= matches!(e.kind, ExprKind::Statements(_));
        });
        if has_names {
            return None;
        }
        let names = |name: &str| {
            if let Some(variable) = self.variable(name) {
                return Some(variable.ty.clone());
            }
            let (_, f) = self.functions.get(name)?;
            Some(Type::Function(Rc::new(Signature {
                result: f.result.clone(),
                params: f.params.clone(),
                variadic: false,
            })))
        };
        let typing = Typing {
            names: &names,
            structs: &self.file.structs,
            model: self.model,
        };
        typing.type_of(e)
    }

    /// The value at a place: arrays and functions become pointers.
    fn read(&mut self, e: &Expr) -> Node {
        let place = self.place(e);
        match self.type_of(e) {
            Some(ty) if ty.decayed() != *ty.plain() => place,
            Some(_) => self.loaded(place),
            None => {
                let held = self.loaded(place);
                self.union(&[place, held])
            }
        }
    }

    /// The objects that a place may be in.
    fn place(&mut self, e: &Expr) -> Node {
        let key = std::ptr::from_ref(e);
        if let Some(node) = self.places.get(&key) {
            return *node;
        }
        let node = match &e.kind {
            ExprKind::Ident(name) => {
                let variable = self.variable(name).map(|v| v.id);
                let function = || self.functions.get(name.as_str()).map(|(id, _)| *id);
                match variable.or_else(function) {
                    Some(id) => self.address(id),
                    None => self.nothing,
                }
            }
            ExprKind::Unary(Unary::Deref, a) | ExprKind::Arrow(a, _) => self.value(a),
            ExprKind::Member(a, _) | ExprKind::Cast(_, a) => self.place(a),
            ExprKind::Index(a, i) => {
                let (array, index) = (self.value(a), self.value(i));
                match self.type_of(a) {
                    Some(ty) if ty.pointee().is_some() => array,
                    Some(_) | None => self.union(&[array, index]),
                }
            }
            ExprKind::Cond(c, a, b) => {
                self.value(c);
                let first = a.as_ref().map_or(self.nothing, |a| self.place(a));
                let second = self.place(b);
                self.union(&[first, second])
            }
            ExprKind::Comma(a, b) => {
                self.value(a);
                self.place(b)
            }
            ExprKind::Compound(_, init) => {
                let id = self.new_object(e.span);
                let content = self.solver.content(id);
                self.initialiser(init, content);
                self.address(id)
            }
            ExprKind::Str(_) => {
                let id = self.new_object(e.span);
                self.address(id)
            }
            // A struct that is a value: a place of its own.
            ExprKind::Call(..) | ExprKind::Statements(_) | ExprKind::Assign(..) => {
                let value = self.value(e);
                let id = self.solver.object();
                self.solver.include(value, self.solver.content(id));
                self.address(id)
            }
            ExprKind::Unary(..) | ExprKind::Binary(..) => self.value(e),
            ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::UnknownSize => self.nothing,
        };
        self.places.insert(key, node);
        node
    }

    /// What an expression may point to.
    fn value(&mut self, e: &Expr) -> Node {
        let key = std::ptr::from_ref(e);
        if let Some(node) = self.values.get(&key) {
            return *node;
        }
        let node = self.fresh_value(e);
        self.values.insert(key, node);
        node
    }

    fn fresh_value(&mut self, e: &Expr) -> Node {
        match &e.kind {
            ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::UnknownSize => self.nothing,
            ExprKind::Str(_) => self.place(e),
            ExprKind::Ident(_) | ExprKind::Member(..) | ExprKind::Arrow(..) => self.read(e),
            ExprKind::Index(..) | ExprKind::Unary(Unary::Deref, _) => self.read(e),
            ExprKind::Compound(..) => self.read(e),
            ExprKind::Unary(Unary::Address, a) => {
                if matches!(a.kind, ExprKind::Compound(..)) {
                    // Lowering makes it where the `&` stands.
                    let node = self.place(a);
                    let made = self.solver.objects(node).clone();
                    self.sites.entry(e.span).or_default().extend(made);
                    return node;
                }
                self.place(a)
            }
            ExprKind::Unary(
                Unary::PreIncrement
                | Unary::PreDecrement
                | Unary::PostIncrement
                | Unary::PostDecrement,
                a,
            ) => {
                let place = self.place(a);
                self.solver.store(place, self.nothing);
                self.loaded(place)
            }
            ExprKind::Unary(Unary::Not, a) => {
                self.value(a);
                self.nothing
            }
            ExprKind::Unary(Unary::Plus | Unary::Minus | Unary::BitNot, a)
            | ExprKind::Cast(_, a) => self.value(a),
            ExprKind::Binary(op, a, b) => {
                let (first, second) = (self.value(a), self.value(b));
                match op {
                    Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge => self.nothing,
                    Binary::Eq | Binary::Ne | Binary::And | Binary::Or => self.nothing,
                    Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Rem => {
                        self.union(&[first, second])
                    }
                    Binary::Shl | Binary::Shr => self.union(&[first, second]),
                    Binary::BitAnd | Binary::BitOr | Binary::BitXor => self.union(&[first, second]),
                }
            }
            ExprKind::Assign(op, a, b) => {
                let (place, value) = (self.place(a), self.value(b));
                self.solver.store(place, value);
                match op {
                    None => value,
                    Some(_) => self.loaded(place),
                }
            }
            ExprKind::Cond(c, a, b) => {
                let cond = self.value(c);
                let first = a.as_ref().map_or(cond, |a| self.value(a));
                let second = self.value(b);
                self.union(&[first, second])
            }
            ExprKind::Comma(a, b) => {
                self.value(a);
                self.value(b)
            }
            ExprKind::Statements(body) => {
                let mut last = self.nothing;
                self.scoped(|c| {
                    for s in body {
                        c.statement(s);
                    }
                    if let Some(StmtKind::Expr(e)) = body.last().map(|s| &s.kind) {
                        last = c.value(e);
                    }
                });
                last
            }
            ExprKind::Call(callee, args) => self.call(callee, args, e.span),
        }
    }

    fn call(&mut self, callee: &Expr, args: &[Expr], span: Span) -> Node {
        if let ExprKind::Ident(name) = &callee.kind
            && self.variable(name).is_none()
        {
            return match self.functions.get(name.as_str()).copied() {
                Some((id, _)) => {
                    let args = args.iter().map(|a| self.value(a)).collect();
                    let result = self.solver.node();
                    self.bind(&Call { args, result }, id);
                    result
                }
                None => self.library(name, args, span),
            };
        }
        let callee = match &callee.kind {
            ExprKind::Unary(Unary::Deref, inner) => inner,
            _ => callee,
        };
        let function = self.value(callee);
        let args = args.iter().map(|a| self.value(a)).collect();
        self.called(function, args)
    }

    /// The functions of a set are called.
    fn called(&mut self, function: Node, args: Vec<Node>) -> Node {
        let result = self.solver.node();
        self.calls.push(Call { args, result });
        self.solver.call(function, self.calls.len() - 1);
        result
    }

    /// A function that has no body here. What is not known of it: it may copy what its
    /// arguments point to among them, and it returns one of them or what they point to.
    fn library(&mut self, name: &str, args: &[Expr], span: Span) -> Node {
        let values: Vec<Node> = args.iter().map(|a| self.value(a)).collect();
        match (name, values.as_slice()) {
            ("pthread_create", [handle, _, function, argument])
            | ("thrd_create", [handle, function, argument]) => {
                self.solver.store(*handle, self.nothing);
                let result = self.called(*function, vec![*argument]);
                self.solver.include(result, self.thread_results);
                self.nothing
            }
            ("pthread_join" | "thrd_join", [_, to]) => {
                self.solver.store(*to, self.thread_results);
                self.nothing
            }
            ("pthread_exit" | "thrd_exit", [value]) => {
                self.solver.include(*value, self.thread_results);
                self.nothing
            }
            ("pthread_once" | "call_once", [control, function]) => {
                self.solver.store(*control, self.nothing);
                self.called(*function, Vec::new());
                self.nothing
            }
            ("__palisade_cleanup_push", [handler, argument]) => {
                self.called(*handler, vec![*argument]);
                self.nothing
            }
            ("realloc", [old, _]) => {
                // What the old object holds comes into the new one.
                let id = self.new_object(span);
                let held = self.loaded(*old);
                self.solver.include(held, self.solver.content(id));
                self.address(id)
            }
            (
                "malloc" | "calloc" | "aligned_alloc" | "memalign" | "alloca" | "__builtin_alloca",
                _,
            ) => {
                let id = self.new_object(span);
                self.address(id)
            }
            ("posix_memalign", [to, ..]) => {
                let id = self.new_object(span);
                let made = self.address(id);
                self.solver.store(*to, made);
                self.nothing
            }
            _ if is_silent(name) => self.nothing,
            _ if THREADS.iter().any(|family| name.starts_with(family)) => {
                for value in values {
                    self.solver.store(value, self.nothing);
                }
                self.nothing
            }
            (_, values) => {
                let is_atomic = (0..args.len()).any(|k| takes_place(name, k));
                let is_place = |k: usize| !is_atomic || takes_place(name, k);
                let parts: Vec<(usize, Node)> = values.iter().copied().enumerate().collect();
                let moved = self.solver.node();
                for (k, value) in &parts {
                    if is_place(*k) {
                        self.solver.load(*value, moved);
                    } else {
                        self.solver.include(*value, moved);
                    }
                }
                for (_, value) in parts.iter().filter(|(k, _)| is_place(*k)) {
                    self.solver.store(*value, moved);
                }
                if is_atomic {
                    return moved;
                }
                let args = self.union(values);
                self.union(&[args, moved])
            }
        }
    }
}
