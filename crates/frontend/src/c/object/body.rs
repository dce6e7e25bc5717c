//! *Functions*: a C function as a method or function of the data structure. Locals are declared at the top, under names of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use palisade_program::Span;

use super::control::{Frame, Target};
use super::expected::Live;
use super::kinds::{Kind, Slot, innermost};
use super::reader::{Passed, Reader, Root, Sort, Wanted, declaration, named, path_of, type_named};
use super::rename::Renamed;
use super::{Read, refused};
use crate::c::ast::{Declaration, Expr, ExprKind, Initializer, Stmt, StmtKind, Unary};
use crate::c::types::{StructId, Type};
use crate::heap::ast as heap;

/// What a local of the C function is.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Local(String, Sort),
    Object,
    /// A pointer to shared memory that has a name.
    Shared(Root, Vec<String>),
    /// A pointer to a member of the node that this local leads to.
    Member(String, StructId, Vec<String>),
    /// A pointer to this local.
    Pointed(String, Sort),
}

/// What `return` does.
#[derive(Clone, Debug)]
pub(super) enum Return {
    Nothing,
    Value(Sort),
    /// The result is in this local, unless the C function returns that there is none.
    Out {
        local: String,
        some: Option<bool>,
    },
    /// The operation has no result: all returns have to give the same.
    Same(Option<i128>),
}

/// One function while it is read.
pub(super) struct Body<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    pub(super) renamed: Rc<Renamed>,
    pub(super) out: Vec<heap::Stmt>,
    declared: Vec<heap::Stmt>,
    pub(super) meanings: BTreeMap<String, Meaning>,
    names: BTreeSet<String>,
    pub(super) frames: Vec<Frame>,
    pub(super) returns: Return,
    /// Where a failing compare-and-swap has to say what it has found.
    pub(super) live: Live,
    /// Locals that only ever hold new memory.
    pub(super) allocated: BTreeSet<String>,
}

/// A function as it is wanted; a method gets `result`.
pub(super) fn function(
    reader: &mut Reader<'_>,
    wanted: &Wanted,
    result: Option<Return>,
) -> Read<heap::Method> {
    let Some(renamed) = reader.unit.functions.get(&wanted.function).cloned() else {
        let message = format!("there is no function `{}`", wanted.function);
        return refused(Span::default(), &message, "name one that the file defines");
    };
    let span = renamed.function.span;
    let mut body = Body {
        live: Live::of(&renamed.function),
        allocated: super::value::allocated(&renamed.function),
        reader,
        renamed: Rc::clone(&renamed),
        out: Vec::new(),
        declared: Vec::new(),
        meanings: BTreeMap::new(),
        names: BTreeSet::new(),
        frames: Vec::new(),
        returns: Return::Nothing,
    };
    let parameters = body.parameters(wanted)?;
    let own = body.own_result(span)?;
    body.returns = match (result, &own) {
        (Some(Return::Out { .. }), _) => Return::Out {
            local: body.out_local(wanted)?,
            some: None,
        },
        (Some(result), _) => result,
        (None, Some((sort, _))) => Return::Value(*sort),
        (None, None) => Return::Nothing,
    };
    let returns = match &body.returns {
        Return::Nothing | Return::Same(_) => None,
        Return::Value(sort) => body.sort_name(*sort, span),
        Return::Out { .. } => Some(type_named("data", span)),
    };
    body.list(&renamed.function.body);
    if let Return::Out { some, .. } = &body.returns
        && some.is_none()
    {
        return refused(
            span,
            "a result that is never said to be there",
            "return true or false",
        );
    }
    let mut statements = body.declared;
    statements.append(&mut body.out);
    Ok(heap::Method {
        name: named(&wanted.name, span),
        parameters,
        returns,
        operation: None,
        role: None,
        body: statements,
        end: Span {
            start: renamed.function.extent.end.saturating_sub(1),
            end: renamed.function.extent.end,
        },
        span,
    })
}

impl Body<'_, '_> {
    fn parameters(&mut self, wanted: &Wanted) -> Read<Vec<heap::Parameter>> {
        let mut parameters = Vec::new();
        let renamed = Rc::clone(&self.renamed);
        for (name, passed) in renamed.parameters.iter().zip(&wanted.passed) {
            let span = renamed.function.span;
            let ty = renamed.locals[name].clone();
            let slot = Slot::Local(renamed.function.name.clone(), name.clone());
            let meaning = match passed {
                Passed::Object => Meaning::Object,
                Passed::Shared(root, path) => Meaning::Shared(root.clone(), path.clone()),
                Passed::Out => {
                    let Some(to) = ty.pointee().cloned() else {
                        return refused(span, "this parameter", "take a pointer");
                    };
                    let local = self.declare(name, &to, Some(&slot), span)?;
                    Meaning::Pointed(local.0, local.1)
                }
                Passed::Value | Passed::Reference | Passed::Member(..) => {
                    let is_reference = *passed == Passed::Reference;
                    let inner = match passed {
                        Passed::Member(id, _) => Type::pointer(Type::Struct(*id)),
                        Passed::Reference => ty.pointee().cloned().unwrap_or(Type::Void),
                        _ => ty.clone(),
                    };
                    let Some(sort) = self.reader.sort(&inner, Some(&slot)) else {
                        return refused(
                            span,
                            "a parameter of this type",
                            "take a value or a pointer to a node",
                        );
                    };
                    let Some(type_name) = self.sort_name(sort, span) else {
                        return refused(
                            span,
                            "a parameter of this type",
                            "take a value or a pointer to a node",
                        );
                    };
                    let local = self.local_name(name);
                    parameters.push(heap::Parameter {
                        ty: type_name,
                        name: named(&local, span),
                        is_reference,
                    });
                    match passed {
                        Passed::Member(id, path) => Meaning::Member(local, *id, path.clone()),
                        Passed::Reference => Meaning::Pointed(local, sort),
                        _ => Meaning::Local(local, sort),
                    }
                }
            };
            self.meanings.insert(name.clone(), meaning);
        }
        Ok(parameters)
    }

    fn out_local(&self, wanted: &Wanted) -> Read<String> {
        let names = self.renamed.parameters.iter().zip(&wanted.passed);
        for (name, passed) in names {
            if *passed == Passed::Out
                && let Some(Meaning::Pointed(local, _)) = self.meanings.get(name)
            {
                return Ok(local.clone());
            }
        }
        refused(
            self.renamed.function.span,
            "a method without its result",
            "return it",
        )
    }

    /// The sort of what the C function returns, unless it is nothing.
    fn own_result(&self, span: Span) -> Read<Option<(Sort, Slot)>> {
        let result = &self.renamed.function.result;
        let slot = Slot::Result(self.renamed.function.name.clone());
        match self.reader.sort(result, Some(&slot)) {
            Some(Sort::Object) => Ok(None),
            Some(sort) => Ok(Some((sort, slot))),
            None if *result == Type::Void => Ok(None),
            None => refused(
                span,
                "a result of this type",
                "return a value or a pointer to a node",
            ),
        }
    }

    pub(super) fn sort_name(&self, sort: Sort, span: Span) -> Option<heap::TypeName> {
        let name = match sort {
            Sort::Value(Kind::Data) => "data".to_owned(),
            Sort::Value(Kind::Number) | Sort::Element(_) => "int".to_owned(),
            Sort::Value(Kind::Truth) => "bool".to_owned(),
            Sort::Node(id) => self.reader.node_name(id),
            Sort::Object | Sort::Lock => return None,
        };
        Some(type_named(&name, span))
    }

    fn local_name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut count = 1;
        while self.reader.is_taken(&name) || self.names.contains(&name) {
            count += 1;
            name = format!("{wanted}_{count}");
        }
        self.names.insert(name.clone());
        name
    }

    /// Declares a local at the top of the body.
    fn declare(
        &mut self,
        name: &str,
        ty: &Type,
        slot: Option<&Slot>,
        span: Span,
    ) -> Read<(String, Sort)> {
        let Some(sort) = self.reader.sort(ty, slot) else {
            return refused(
                span,
                "a local of this type",
                "use integers and pointers to nodes",
            );
        };
        Ok((self.declare_sort(name, sort, span)?, sort))
    }

    pub(super) fn declare_sort(&mut self, name: &str, sort: Sort, span: Span) -> Read<String> {
        let Some(ty) = self.sort_name(sort, span) else {
            return refused(
                span,
                "a local of this type",
                "use integers and pointers to nodes",
            );
        };
        let local = self.local_name(name);
        let decl = declaration(&ty, &local, span);
        self.declared.push(heap::Stmt {
            kind: heap::StmtKind::Declare(vec![decl]),
            span,
        });
        Ok(local)
    }

    /// A local that holds a value for a moment.
    pub(super) fn temporary(&mut self, sort: Sort, span: Span) -> Read<heap::Path> {
        let local = self.declare_sort("value", sort, span)?;
        Ok(path_of(&local, span))
    }

    pub(super) fn emit(&mut self, kind: heap::StmtKind, span: Span) {
        self.out.push(heap::Stmt { kind, span });
    }

    pub(super) fn assign(&mut self, to: heap::Path, value: heap::Expr, span: Span) {
        self.emit(heap::StmtKind::Assign(to, value), span);
    }

    /// What `f` emits, apart.
    pub(super) fn apart<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (T, Vec<heap::Stmt>) {
        let before = std::mem::take(&mut self.out);
        let result = f(self);
        (result, std::mem::replace(&mut self.out, before))
    }

    pub(super) fn stmt(&mut self, s: &Stmt) {
        if let Err(error) = self.read_stmt(s) {
            self.reader.note_error(error);
        }
    }

    pub(super) fn inside(&mut self, s: &Stmt) -> Box<heap::Stmt> {
        let ((), statements) = self.apart(|body| body.list(std::slice::from_ref(s)));
        block_of(statements, s.span)
    }

    fn read_stmt(&mut self, s: &Stmt) -> Read<()> {
        let span = s.span;
        match &s.kind {
            StmtKind::Empty | StmtKind::Gap => Ok(()),
            StmtKind::Expr(e) => self.effect(e),
            StmtKind::Declare(all) => all.iter().try_for_each(|d| self.declare_local(d)),
            StmtKind::Block(body) => {
                self.list(body);
                Ok(())
            }
            StmtKind::If(c, then, other) => {
                let c = self.condition(c)?;
                match c.kind {
                    heap::ExprKind::Bool(true) => self.stmt(then),
                    heap::ExprKind::Bool(false) => {
                        if let Some(other) = other {
                            self.stmt(other);
                        }
                    }
                    _ => {
                        let then = self.inside(then);
                        let other = other.as_deref().map(|s| self.inside(s));
                        self.emit(heap::StmtKind::If(c, then, other), span);
                    }
                }
                Ok(())
            }
            StmtKind::While(c, body) => self.for_loop(Some(c), None, body, span),
            StmtKind::For(start, c, step, body) => {
                if let Some(start) = start {
                    self.stmt(start);
                }
                self.for_loop(c.as_ref(), step.as_ref(), body, span)
            }
            StmtKind::DoWhile(body, c) => self.do_while(body, c, span),
            StmtKind::Switch(e, body) => self.switch(e, body, span),
            StmtKind::Case(..) | StmtKind::Default(_) => refused(
                span,
                "a case inside another statement",
                "put it directly into its switch",
            ),
            StmtKind::Label(_, body) => {
                self.list(std::slice::from_ref(&**body));
                Ok(())
            }
            StmtKind::Goto(name) => self.jump(&Target::Label(name.clone()), span),
            StmtKind::Break => self.jump(&Target::Break, span),
            StmtKind::Continue => self.jump(&Target::Continue, span),
            StmtKind::Return(e) => self.returned(e.as_ref(), span),
            // A compiler barrier, or a hint to the processor.
            StmtKind::Asm(text)
                if matches!(text.trim(), "" | "pause" | "rep; nop" | "nop" | "yield") =>
            {
                Ok(())
            }
            StmtKind::Asm(text) if matches!(text.trim(), "mfence" | "lock; addl $0,0(%%rsp)") => {
                self.emit(heap::StmtKind::Fence, span);
                Ok(())
            }
            StmtKind::Asm(_) => refused(
                span,
                "assembler in a data structure",
                "use the operations of stdatomic.h",
            ),
            StmtKind::Refused(refusal) => refused(span, &refusal.what, refusal.help),
        }
    }

    fn declare_local(&mut self, d: &Declaration) -> Read<()> {
        if matches!(d.ty, Type::Function(_)) {
            return Ok(());
        }
        let slot = Slot::Local(self.renamed.function.name.clone(), d.name.clone());
        if self.reader.sort(&d.ty, None) == Some(Sort::Object) {
            self.meanings.insert(d.name.clone(), Meaning::Object);
            return match &d.init {
                Some(Initializer::Value(e)) => self.object_value(e),
                _ => Ok(()),
            };
        }
        if d.storage != crate::c::ast::Storage::Automatic {
            return refused(
                d.span,
                "a static variable in a function",
                "declare it at the top of the file",
            );
        }
        let (local, sort) = self.declare(&d.name, &d.ty, Some(&slot), d.span)?;
        self.meanings
            .insert(d.name.clone(), Meaning::Local(local.clone(), sort));
        match &d.init {
            Some(Initializer::Value(e)) => {
                let value = self.value(e, sort)?;
                self.assign(path_of(&local, d.span), value, d.span);
                Ok(())
            }
            Some(Initializer::List(_, span)) => {
                refused(*span, "an initialiser of this kind", "assign the members")
            }
            None => Ok(()),
        }
    }

    fn returned(&mut self, e: Option<&Expr>, span: Span) -> Read<()> {
        let Some(e) = e else {
            self.emit(heap::StmtKind::Return(None), span);
            return Ok(());
        };
        match self.returns.clone() {
            Return::Value(sort) => {
                let value = match sort {
                    Sort::Value(Kind::Truth) => self.condition(e)?,
                    _ => self.value(e, sort)?,
                };
                self.emit(heap::StmtKind::Return(Some(value)), span);
            }
            Return::Nothing => {
                if self.reader.sort(&self.renamed.function.result, None) != Some(Sort::Object) {
                    self.effect(e)?;
                }
                self.emit(heap::StmtKind::Return(None), span);
            }
            Return::Same(before) => {
                let value = crate::c::parser::constant(e);
                if value.is_none() || before.is_some_and(|b| Some(b) != value) {
                    return refused(
                        span,
                        "a result that the operation does not have",
                        "return nothing, or write a specification in which it has one",
                    );
                }
                self.returns = Return::Same(value);
                self.emit(heap::StmtKind::Return(None), span);
            }
            Return::Out { local, some } => {
                let Some(value) = crate::c::parser::constant(e) else {
                    return refused(span, "a result that is no constant", "return true or false");
                };
                let has_truth = innermost(&self.renamed.function.result) == &Type::Bool;
                // 1 says that there is a value, unless there are negative results: then it is 0.
                let some = some.unwrap_or_else(|| has_truth || !self.returns_negative());
                let is_there = (value != 0) == some;
                self.returns = Return::Out {
                    local: local.clone(),
                    some: Some(some),
                };
                let kind = if is_there {
                    heap::ExprKind::Path(path_of(&local, span))
                } else {
                    heap::ExprKind::Empty
                };
                self.emit(
                    heap::StmtKind::Return(Some(heap::Expr { kind, span })),
                    span,
                );
            }
        }
        Ok(())
    }

    /// Whether the function returns an error as a negative number, or as more than 1.
    fn returns_negative(&self) -> bool {
        let mut found = false;
        for s in &self.renamed.function.body {
            each_return(s, &mut |e| {
                let value = crate::c::parser::constant(e);
                found |= value.is_some_and(|v| !(0..=1).contains(&v));
            });
        }
        found
    }

    /// An expression whose value is the object: what it does besides.
    pub(super) fn object_value(&mut self, e: &Expr) -> Read<()> {
        match &super::operation::uncast(e).kind {
            ExprKind::Ident(_) | ExprKind::Unary(Unary::Address, _) | ExprKind::Int(0, _) => Ok(()),
            ExprKind::Call(f, args) => {
                let name = super::reader::callee(f)?;
                if super::value::is_allocation(name) {
                    return Ok(());
                }
                self.call_function(name, args, e.span).map(|_| ())
            }
            _ => refused(
                e.span,
                "another object",
                "there is one object, which methods get a pointer to",
            ),
        }
    }
}

/// `{ ... }`
pub(super) fn block_of(statements: Vec<heap::Stmt>, span: Span) -> Box<heap::Stmt> {
    Box::new(heap::Stmt {
        kind: heap::StmtKind::Block(statements),
        span,
    })
}

fn each_return<'e>(s: &'e Stmt, f: &mut dyn FnMut(&'e Expr)) {
    each_stmt(s, &mut |s| {
        if let StmtKind::Return(Some(e)) = &s.kind {
            f(e);
        }
    });
}

/// Calls `f` on a statement and all inside.
pub(super) fn each_stmt<'e>(s: &'e Stmt, f: &mut dyn FnMut(&'e Stmt)) {
    crate::c::lower::each_stmt(s, f);
}
