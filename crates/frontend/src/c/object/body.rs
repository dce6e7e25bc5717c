//! *Functions*: a C function as a method or function of the data structure. Locals are declared at the top, under names of their own.
//!
//! C's jumps become loops: a label with jumps back to it is the start of a loop that is left at its end, one with jumps forward to it
//! is the end of such a loop, and so is the end of a `switch`. Who leaves several loops at once sets a flag, which each of them looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use palisade_program::Span;

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

/// Where a jump goes.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Target {
    /// Out of the innermost loop or `switch`.
    Break,
    /// To the next round of the innermost loop.
    Continue,
    Label(String),
}

/// A loop of the result, and what in C ends or repeats it.
struct Frame {
    /// Jumps that leave it.
    ends: Vec<Target>,
    /// Jumps that start its next round.
    repeats: Vec<Target>,
    /// Jumps from inside to loops around it: flags, and what they stand for.
    through: Vec<(String, Target)>,
}

/// One function while it is read.
pub(super) struct Body<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    pub(super) renamed: Rc<Renamed>,
    pub(super) out: Vec<heap::Stmt>,
    declared: Vec<heap::Stmt>,
    pub(super) meanings: BTreeMap<String, Meaning>,
    names: BTreeSet<String>,
    frames: Vec<Frame>,
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

    fn declare_sort(&mut self, name: &str, sort: Sort, span: Span) -> Read<String> {
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

    fn block_of(statements: Vec<heap::Stmt>, span: Span) -> Box<heap::Stmt> {
        Box::new(heap::Stmt {
            kind: heap::StmtKind::Block(statements),
            span,
        })
    }

    /// Statements one behind the other, which labels may divide.
    pub(super) fn list(&mut self, statements: &[Stmt]) {
        let forward = (1..statements.len()).rev().find(|k| {
            let names = labels(&statements[*k]);
            names.iter().any(|name| jumps(&statements[..*k], name))
        });
        if let Some(k) = forward {
            let names = labels(&statements[k]);
            let ends = names.into_iter().map(Target::Label).collect();
            self.section(ends, Vec::new(), &statements[..k]);
            self.list(&statements[k..]);
            return;
        }
        for (k, s) in statements.iter().enumerate() {
            let names = labels(s);
            if names.iter().any(|name| jumps(&statements[k..], name)) {
                let repeats = names.into_iter().map(Target::Label).collect();
                let mut rest = vec![unlabelled(s).clone()];
                rest.extend(statements[k + 1..].iter().cloned());
                self.section(Vec::new(), repeats, &rest);
                return;
            }
            self.stmt(s);
        }
    }

    /// A loop that is left at its end.
    fn section(&mut self, ends: Vec<Target>, repeats: Vec<Target>, statements: &[Stmt]) {
        let span = statements.first().map_or_else(Span::default, |s| s.span);
        self.round(span, ends, repeats, |body| {
            body.list(statements);
            body.emit(heap::StmtKind::Break, span);
        });
    }

    /// `while (true) { ... }`
    fn round(
        &mut self,
        span: Span,
        ends: Vec<Target>,
        repeats: Vec<Target>,
        f: impl FnOnce(&mut Self),
    ) {
        self.frames.push(Frame {
            ends,
            repeats,
            through: Vec::new(),
        });
        let ((), statements) = self.apart(f);
        let always = heap::Expr {
            kind: heap::ExprKind::Bool(true),
            span,
        };
        let kind = heap::StmtKind::While(always, Self::block_of(statements, span));
        self.emit(kind, span);
        self.close(span);
    }

    /// Behind a loop: jumps from inside it to loops around it go on.
    fn close(&mut self, span: Span) {
        let through = self.frames.pop().map(|f| f.through).unwrap_or_default();
        for (flag, target) in through {
            let is_set = heap::Expr {
                kind: heap::ExprKind::Path(path_of(&flag, span)),
                span,
            };
            let (result, statements) = self.apart(|body| body.go_on(&flag, &target, span));
            if let Err(error) = result {
                self.reader.note_error(error);
            }
            let kind = heap::StmtKind::If(is_set, Self::block_of(statements, span), None);
            self.emit(kind, span);
        }
    }

    /// A jump whose flag is set.
    fn go_on(&mut self, flag: &str, target: &Target, span: Span) -> Read<()> {
        let is_here = |f: &Frame| f.ends.contains(target) || f.repeats.contains(target);
        if self.frames.last().is_some_and(is_here) {
            let off = heap::Expr {
                kind: heap::ExprKind::Bool(false),
                span,
            };
            self.assign(path_of(flag, span), off, span);
            return self.jump(target, span);
        }
        if let Some(frame) = self.frames.last_mut()
            && !frame.through.iter().any(|(f, _)| f == flag)
        {
            frame.through.push((flag.to_owned(), target.clone()));
        }
        self.emit(heap::StmtKind::Break, span);
        Ok(())
    }

    fn jump(&mut self, target: &Target, span: Span) -> Read<()> {
        let known = |f: &Frame| f.ends.contains(target) || f.repeats.contains(target);
        let Some(frame) = self.frames.last() else {
            return refused(span, "a jump to this place", "use a loop");
        };
        if frame.ends.contains(target) {
            self.emit(heap::StmtKind::Break, span);
            return Ok(());
        }
        if frame.repeats.contains(target) {
            self.emit(heap::StmtKind::Continue, span);
            return Ok(());
        }
        if !self.frames.iter().any(known) {
            return refused(span, "a jump to this place", "use a loop");
        }
        let flag = self.declare_sort("leaves", Sort::Value(Kind::Truth), span)?;
        let on = heap::Expr {
            kind: heap::ExprKind::Bool(true),
            span,
        };
        self.assign(path_of(&flag, span), on, span);
        self.go_on(&flag, target, span)
    }

    fn stmt(&mut self, s: &Stmt) {
        if let Err(error) = self.read_stmt(s) {
            self.reader.note_error(error);
        }
    }

    fn inside(&mut self, s: &Stmt) -> Box<heap::Stmt> {
        let ((), statements) = self.apart(|body| body.list(std::slice::from_ref(s)));
        Self::block_of(statements, s.span)
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

    fn for_loop(
        &mut self,
        c: Option<&Expr>,
        step: Option<&Expr>,
        body: &Stmt,
        span: Span,
    ) -> Read<()> {
        let (c, before) = match c {
            None => (None, Vec::new()),
            Some(c) => {
                let (c, before) = self.apart(|b| b.condition(c));
                (Some(c?), before)
            }
        };
        let (stepped, step) = self.apart(|b| step.map_or(Ok(()), |e| b.effect(e)));
        stepped?;
        self.frames.push(Frame {
            ends: vec![Target::Break],
            repeats: vec![Target::Continue],
            through: Vec::new(),
        });
        let always = heap::Expr {
            kind: heap::ExprKind::Bool(true),
            span,
        };
        let ((), inner) = self.apart(|b| b.list(std::slice::from_ref(body)));
        let (cond, statements) = if before.is_empty() {
            (c.unwrap_or(always), inner)
        } else {
            // What the condition does is done in each round.
            let mut all = before;
            if let Some(c) = c {
                all.push(leave_unless(c, span));
            }
            all.extend(inner);
            (always, all)
        };
        let body = Self::block_of(statements, span);
        let kind = if step.is_empty() {
            heap::StmtKind::While(cond, body)
        } else {
            heap::StmtKind::For(None, Some(cond), Some(Self::block_of(step, span)), body)
        };
        self.emit(kind, span);
        self.close(span);
        Ok(())
    }

    fn do_while(&mut self, body: &Stmt, c: &Expr, span: Span) -> Read<()> {
        let (c, before) = self.apart(|b| b.condition(c));
        let c = c?;
        if before.is_empty() {
            self.frames.push(Frame {
                ends: vec![Target::Break],
                repeats: vec![Target::Continue],
                through: Vec::new(),
            });
            let body = self.inside(body);
            self.emit(heap::StmtKind::DoWhile(body, c), span);
            self.close(span);
            return Ok(());
        }
        // `continue` goes to the condition: the end of an inner loop.
        self.round(span, vec![Target::Break], Vec::new(), |b| {
            b.round(span, vec![Target::Continue], Vec::new(), |b| {
                b.list(std::slice::from_ref(body));
                b.emit(heap::StmtKind::Break, span);
            });
            b.out.extend(before);
            b.out.push(leave_unless(c, span));
        });
        Ok(())
    }

    /// Cases that end by `break`, `return` or another jump; labels may share a case.
    fn switch(&mut self, e: &Expr, body: &Stmt, span: Span) -> Read<()> {
        let StmtKind::Block(statements) = &body.kind else {
            return refused(span, "a switch of this form", "use if");
        };
        let sort = self.sort_of(e).unwrap_or(Sort::Value(Kind::Number));
        let value = self.value(e, sort)?;
        let local = self.temporary(sort, span)?;
        self.assign(local.clone(), value, span);
        let mut cases: Vec<(Vec<i128>, bool, Vec<Stmt>)> = Vec::new();
        for s in statements {
            let (mut values, mut is_default, mut inner) = (Vec::new(), false, s);
            loop {
                match &inner.kind {
                    StmtKind::Case(lo, hi, s) if hi - lo < 64 => {
                        values.extend(*lo..=*hi);
                        inner = s;
                    }
                    StmtKind::Default(s) => {
                        is_default = true;
                        inner = s;
                    }
                    _ => break,
                }
            }
            if values.is_empty() && !is_default {
                match cases.last_mut() {
                    Some(case) => case.2.push(inner.clone()),
                    None => {
                        return refused(s.span, "a statement before the first case", "remove it");
                    }
                }
            } else {
                cases.push((values, is_default, vec![inner.clone()]));
            }
        }
        let ends = |body: &[Stmt]| body.last().is_some_and(never_falls);
        let count = cases.len();
        if cases
            .iter()
            .take(count.saturating_sub(1))
            .any(|(_, _, body)| !ends(body))
        {
            return refused(
                span,
                "a case that falls through to the next",
                "end it by break",
            );
        }
        let mut result = Ok(());
        self.round(span, vec![Target::Break], Vec::new(), |b| {
            for (values, _, body) in cases.iter().filter(|case| !case.1) {
                let mut any: Option<heap::Expr> = None;
                for value in values {
                    let one = compare(&local, *value, sort, span);
                    any = Some(match any {
                        None => one,
                        Some(before) => heap::Expr {
                            kind: heap::ExprKind::Or(Box::new(before), Box::new(one)),
                            span,
                        },
                    });
                }
                let Some(any) = any else { continue };
                let ((), inner) = b.apart(|b| b.list(body));
                b.emit(
                    heap::StmtKind::If(any, Self::block_of(inner, span), None),
                    span,
                );
            }
            for (values, _, body) in cases.iter().filter(|case| case.1) {
                if !values.is_empty() {
                    result = refused(span, "a case beside default", "leave out the case");
                }
                b.list(body);
            }
            b.emit(heap::StmtKind::Break, span);
        });
        result
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

fn compare(local: &heap::Path, value: i128, sort: Sort, span: Span) -> heap::Expr {
    let kind = match sort {
        Sort::Value(Kind::Truth) => heap::ExprKind::Bool(value != 0),
        _ => heap::ExprKind::Int(value as i64),
    };
    let left = heap::Expr {
        kind: heap::ExprKind::Path(local.clone()),
        span,
    };
    let right = heap::Expr { kind, span };
    heap::Expr {
        kind: heap::ExprKind::Compare(heap::Compare::Eq, Box::new(left), Box::new(right)),
        span,
    }
}

/// `if (!c) break;`
fn leave_unless(c: heap::Expr, span: Span) -> heap::Stmt {
    let not = heap::Expr {
        kind: heap::ExprKind::Not(Box::new(c)),
        span,
    };
    let leave = heap::Stmt {
        kind: heap::StmtKind::Break,
        span,
    };
    heap::Stmt {
        kind: heap::StmtKind::If(not, Box::new(leave), None),
        span,
    }
}

/// The labels in front of a statement.
fn labels(s: &Stmt) -> Vec<String> {
    match &s.kind {
        StmtKind::Label(name, inner) => {
            let mut names = vec![name.clone()];
            names.extend(labels(inner));
            names
        }
        _ => Vec::new(),
    }
}

fn unlabelled(s: &Stmt) -> &Stmt {
    match &s.kind {
        StmtKind::Label(_, inner) => unlabelled(inner),
        _ => s,
    }
}

/// Whether there is a jump to a label in the statements.
fn jumps(statements: &[Stmt], label: &str) -> bool {
    let mut found = false;
    for s in statements {
        each_stmt(s, &mut |s| {
            found |= matches!(&s.kind, StmtKind::Goto(name) if name == label);
        });
    }
    found
}

/// Whether what follows a statement is not reached from it.
fn never_falls(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) | StmtKind::Return(_) => true,
        StmtKind::Block(body) => body.last().is_some_and(never_falls),
        StmtKind::If(_, then, Some(other)) => never_falls(then) && never_falls(other),
        StmtKind::Label(_, inner) => never_falls(inner),
        _ => false,
    }
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
