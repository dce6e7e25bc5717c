//! *Renaming*: a function whose locals all have names of their own, which no global has. Scopes need not be
//! looked at any more, and declarations can stand at the top of the body.

use std::collections::{BTreeMap, BTreeSet};

use crate::c::ast::{Declaration, Expr, ExprKind, Function, Initializer, Stmt, StmtKind, Storage};
use crate::c::types::Type;

/// A function under its new names.
pub(super) struct Renamed {
    pub(super) function: Function,
    /// The types of parameters and locals.
    pub(super) locals: BTreeMap<String, Type>,
    pub(super) parameters: Vec<String>,
}

/// Renames the locals of a function; `taken` are names that no local may have.
pub(super) fn renamed(function: &Function, taken: &BTreeSet<String>) -> Renamed {
    let mut renamer = Renamer {
        taken: taken.clone(),
        scopes: vec![BTreeMap::new()],
        locals: BTreeMap::new(),
    };
    let mut parameters = Vec::new();
    let mut params = Vec::new();
    for (index, (name, ty)) in function.params.iter().enumerate() {
        let name = name.clone().unwrap_or_else(|| format!("unnamed_{index}"));
        let name = renamer.declare(&name, &ty.decayed());
        parameters.push(name.clone());
        params.push((Some(name), ty.clone()));
    }
    let body = renamer.block(&function.body);
    Renamed {
        function: Function {
            name: function.name.clone(),
            result: function.result.clone(),
            params,
            body,
            span: function.span,
            extent: function.extent,
        },
        locals: renamer.locals,
        parameters,
    }
}

struct Renamer {
    taken: BTreeSet<String>,
    scopes: Vec<BTreeMap<String, String>>,
    locals: BTreeMap<String, Type>,
}

impl Renamer {
    fn declare(&mut self, name: &str, ty: &Type) -> String {
        let mut new = name.to_owned();
        let mut count = 1;
        while self.taken.contains(&new) {
            count += 1;
            new = format!("{name}_{count}");
        }
        self.taken.insert(new.clone());
        self.locals.insert(new.clone(), ty.clone());
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), new.clone());
        }
        new
    }

    fn lookup(&self, name: &str) -> String {
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        found.map_or_else(|| name.to_owned(), Clone::clone)
    }

    fn block(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        self.scopes.push(BTreeMap::new());
        let body = body.iter().map(|s| self.stmt(s)).collect();
        self.scopes.pop();
        body
    }

    fn boxed(&mut self, s: &Stmt) -> Box<Stmt> {
        Box::new(self.stmt(s))
    }

    fn stmt(&mut self, s: &Stmt) -> Stmt {
        let kind = match &s.kind {
            StmtKind::Expr(e) => StmtKind::Expr(self.expr(e)),
            StmtKind::Declare(all) => {
                StmtKind::Declare(all.iter().map(|d| self.declaration(d)).collect())
            }
            StmtKind::Block(body) => StmtKind::Block(self.block(body)),
            StmtKind::If(c, then, other) => {
                let c = self.expr(c);
                let then = self.boxed(then);
                StmtKind::If(c, then, other.as_deref().map(|s| self.boxed(s)))
            }
            StmtKind::While(c, body) => StmtKind::While(self.expr(c), self.boxed(body)),
            StmtKind::DoWhile(body, c) => StmtKind::DoWhile(self.boxed(body), self.expr(c)),
            StmtKind::For(start, c, step, body) => {
                self.scopes.push(BTreeMap::new());
                let start = start.as_deref().map(|s| self.boxed(s));
                let c = c.as_ref().map(|e| self.expr(e));
                let step = step.as_ref().map(|e| self.expr(e));
                let body = self.boxed(body);
                self.scopes.pop();
                StmtKind::For(start, c, step, body)
            }
            StmtKind::Switch(e, body) => StmtKind::Switch(self.expr(e), self.boxed(body)),
            StmtKind::Case(lo, hi, body) => StmtKind::Case(*lo, *hi, self.boxed(body)),
            StmtKind::Default(body) => StmtKind::Default(self.boxed(body)),
            StmtKind::Label(name, body) => StmtKind::Label(name.clone(), self.boxed(body)),
            StmtKind::Return(e) => StmtKind::Return(e.as_ref().map(|e| self.expr(e))),
            StmtKind::Empty
            | StmtKind::Goto(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Asm(_)
            | StmtKind::Refused(_)
            | StmtKind::Gap => s.kind.clone(),
        };
        Stmt { kind, span: s.span }
    }

    fn declaration(&mut self, d: &Declaration) -> Declaration {
        let is_local = d.storage == Storage::Automatic && !matches!(d.ty, Type::Function(_));
        let name = if is_local {
            self.declare(&d.name, &d.ty)
        } else {
            d.name.clone()
        };
        Declaration {
            name,
            init: d.init.as_ref().map(|i| self.initializer(i)),
            ..d.clone()
        }
    }

    fn initializer(&mut self, init: &Initializer) -> Initializer {
        match init {
            Initializer::Value(e) => Initializer::Value(self.expr(e)),
            Initializer::List(list, span) => {
                let list = list.iter();
                let list = list.map(|(at, i)| (at.clone(), self.initializer(i)));
                Initializer::List(list.collect(), *span)
            }
        }
    }

    fn expr(&mut self, e: &Expr) -> Expr {
        let mut each = |e: &Expr| Box::new(self.expr(e));
        let kind = match &e.kind {
            ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::UnknownSize => {
                e.kind.clone()
            }
            ExprKind::Ident(name) => ExprKind::Ident(self.lookup(name)),
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, each(a)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, each(a), each(b)),
            ExprKind::Assign(op, a, b) => ExprKind::Assign(*op, each(a), each(b)),
            ExprKind::Cond(c, a, b) => {
                ExprKind::Cond(each(c), a.as_ref().map(|a| each(a)), each(b))
            }
            ExprKind::Call(f, args) => {
                let f = each(f);
                ExprKind::Call(f, args.iter().map(|a| self.expr(a)).collect())
            }
            ExprKind::Index(a, b) => ExprKind::Index(each(a), each(b)),
            ExprKind::Member(a, name) => ExprKind::Member(each(a), name.clone()),
            ExprKind::Arrow(a, name) => ExprKind::Arrow(each(a), name.clone()),
            ExprKind::Cast(ty, a) => ExprKind::Cast(ty.clone(), each(a)),
            ExprKind::Comma(a, b) => ExprKind::Comma(each(a), each(b)),
            ExprKind::Statements(body) => ExprKind::Statements(self.block(body)),
            ExprKind::Compound(ty, init) => {
                ExprKind::Compound(ty.clone(), Box::new(self.initializer(init)))
            }
        };
        Expr { kind, span: e.span }
    }
}
