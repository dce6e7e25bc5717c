//! *Bodies*: control-flow graphs from statements. The builder keeps a current
//! location; a statement adds edges from it and leaves the location behind itself.
//! Jumps add no edges where they can be avoided: the edges into the place that is left
//! are led on, so that a `commit` finds the access before it.

use std::collections::BTreeMap;

use palisade_program::heap::{
    Body, Commit, Cond, Edge, Failure, Local, Location, Role, Shared, Step, Term, Type,
};
use palisade_program::{LocId, LocalId, Span};

use super::functions::{Inlined, Wanted};
use super::tables::{
    Tables, check_name, declared_twice, default_of, element, local_lock, names, tag_word,
};
use super::{Ty, cond, soft};
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{Decl, Expr, ExprKind, Name, Path, Stmt, StmtKind, TypeName};

/// What a body belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A method: concurrent, with commits.
    Method,
    /// `init` or an operation of a specification: runs alone.
    Sequential,
}

/// A local as the text names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub(super) id: LocalId,
    pub(super) tag: Option<LocalId>,
    pub(super) ty: Ty,
}

pub(super) struct Loop {
    next: LocId,
    after: LocId,
}

/// Builds one body.
pub(super) struct Builder<'a> {
    pub(super) tables: &'a Tables<'a>,
    pub(super) shared: &'a [Shared],
    pub(super) items: &'a mut Vec<Diagnostic>,
    pub(super) body: Body,
    pub(super) at: LocId,
    returns: Option<Type>,
    pub(super) kind: Kind,
    pub(super) scopes: Vec<BTreeMap<String, Variable>>,
    pub(super) loops: Vec<Loop>,
    pub(super) atomic: u32,
    /// Locations that edges may still be led to later: heads of loops, and the entry.
    sealed: Vec<LocId>,
    temporaries: u32,
    /// What the thread keeps between calls, by name.
    kept: BTreeMap<String, Variable>,
    /// Whether a path is the left side of an assignment.
    pub(super) assigns: bool,
    /// The functions that are being inlined, the innermost last.
    pub(super) calls: Vec<Inlined>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        tables: &'a Tables<'a>,
        shared: &'a [Shared],
        kind: Kind,
        returns: Option<Type>,
        items: &'a mut Vec<Diagnostic>,
    ) -> Self {
        let mut builder = Self {
            tables,
            shared,
            items,
            body: Body::default(),
            at: LocId(0),
            returns,
            kind,
            scopes: vec![BTreeMap::new()],
            loops: Vec::new(),
            atomic: 0,
            sealed: Vec::new(),
            temporaries: 0,
            kept: BTreeMap::new(),
            assigns: false,
            calls: Vec::new(),
        };
        builder.at = builder.fresh();
        builder.body.entry = builder.at;
        builder.body.exit = builder.fresh();
        let entry = builder.at;
        builder.sealed.push(entry);
        builder
    }

    /// The body; `end` is where its text ends.
    pub(super) fn finish(mut self, end: Span) -> Body {
        if self.reachable()[self.at.index()] {
            if self.returns.is_some() {
                let error = Diagnostic::error(end, "the end can be reached without a result")
                    .label("nothing is returned here")
                    .help("end every path with `return e;`");
                self.items.push(error);
            }
            self.edge_to(self.body.exit, Step::Return(None), end);
        }
        self.prune();
        self.body
    }

    /// Which locations can be reached from the entry.
    pub(super) fn reachable(&self) -> Vec<bool> {
        let mut seen = vec![false; self.body.locations.len()];
        let mut open = vec![self.body.entry];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at.index()], true) {
                open.extend(self.body.leaving(at).map(|(_, edge)| edge.to));
            }
        }
        seen
    }

    /// Drops locations that cannot be reached, and numbers the others anew.
    fn prune(&mut self) {
        let mut seen = self.reachable();
        seen[self.body.exit.index()] = true;
        let mut numbers = vec![LocId(0); seen.len()];
        let kept = seen.iter().enumerate().filter(|(_, seen)| **seen);
        for (number, (index, _)) in kept.enumerate() {
            numbers[index] = LocId::from(number);
        }
        let body = &mut self.body;
        body.edges.retain(|edge| seen[edge.from.index()]);
        for edge in &mut body.edges {
            edge.from = numbers[edge.from.index()];
            edge.to = numbers[edge.to.index()];
        }
        body.edges.sort_by_key(|edge| edge.from);
        body.softs.retain(|soft| seen[soft.at.index()]);
        for soft in &mut body.softs {
            soft.at = numbers[soft.at.index()];
        }
        body.entry = numbers[body.entry.index()];
        body.exit = numbers[body.exit.index()];
        let mut index = 0;
        body.locations.retain(|_| {
            index += 1;
            seen[index - 1]
        });
    }

    // ---- the graph

    pub(super) fn fresh(&mut self) -> LocId {
        let atomic = self.atomic > 0;
        self.body.locations.push(Location { atomic });
        LocId::from(self.body.locations.len() - 1)
    }

    /// An edge from the current location; the current location stays.
    pub(super) fn edge_to(&mut self, to: LocId, step: Step, span: Span) {
        let commits = Vec::new();
        self.body.edges.push(Edge {
            from: self.at,
            to,
            step,
            commits,
            span,
        });
    }

    /// A step to a fresh location.
    pub(super) fn emit(&mut self, step: Step, span: Span) {
        let to = self.fresh();
        self.edge_to(to, step, span);
        self.at = to;
    }

    /// Goes on at `to`.
    pub(super) fn jump(&mut self, to: LocId, span: Span) {
        let from = self.at;
        if from == to {
            return;
        }
        let atomic = |at: LocId| self.body.locations[at.index()].atomic;
        let bare = self.body.leaving(from).next().is_none();
        // A block of one step would be a plain step: with store buffers it is not.
        let mut edges = self.body.edges.iter();
        let only = atomic(from) && !atomic(to) && edges.any(|e| e.to == from && !atomic(e.from));
        // To lead edges into an atomic block would join it with the step before.
        if bare && !only && !self.sealed.contains(&from) && (atomic(from) || !atomic(to)) {
            for edge in &mut self.body.edges {
                if edge.to == from {
                    edge.to = to;
                }
            }
            // They speak of the thread in front of its next step.
            for soft in self.body.softs.iter_mut().filter(|s| s.at == from) {
                soft.at = to;
            }
        } else {
            self.edge_to(to, Step::Skip, span);
        }
    }

    /// After a statement that does not go on: what follows cannot be reached.
    pub(super) fn cut(&mut self) {
        self.at = self.fresh();
    }

    // ---- locals

    pub(super) fn add_local(&mut self, name: &str, ty: Type, role: Role, span: Span) -> LocalId {
        let taken = |name: &str| self.body.locals.iter().any(|l| l.name == name);
        let mut unique = name.to_owned();
        let mut number = 2;
        while taken(&unique) {
            unique = format!("{name}#{number}");
            number += 1;
        }
        self.body.locals.push(Local {
            name: unique,
            ty,
            role,
            span,
        });
        LocalId::from(self.body.locals.len() - 1)
    }

    /// A local that the text declares.
    pub(super) fn declare(&mut self, ty: &TypeName, name: &Name, role: Role) -> Option<Variable> {
        self.declare_all(ty, name, None, role)?.pop()
    }

    /// A local, or the elements of an array, that the text declares.
    fn declare_all(
        &mut self,
        ty: &TypeName,
        name: &Name,
        length: Option<&Expr>,
        role: Role,
    ) -> Option<Vec<Variable>> {
        check_name(name, self.items);
        let first = element(&name.text, 0);
        if self.lookup(&name.text).is_some() || self.lookup(&first).is_some() {
            declared_twice(name, "local", self.items);
        } else if self
            .shared
            .iter()
            .any(|s| s.name == name.text || s.name == first)
        {
            let message = format!("`{}` hides a shared variable", name.text);
            let error = Diagnostic::error(name.span, message).label("the same name");
            self.items.push(error.help("choose another name"));
        }
        let found = self.tables.ty(ty, self.items)?;
        if found.base == Type::Lock {
            self.items.push(local_lock(ty.span));
            return None;
        }
        let mut all = Vec::new();
        for text in names(name, length, self.items) {
            let variable = self.new_variable(&text, found, role, name.span);
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(text, variable);
            }
            all.push(variable);
        }
        Some(all)
    }

    /// A local, with its tag.
    pub(super) fn new_variable(&mut self, name: &str, ty: Ty, role: Role, span: Span) -> Variable {
        let id = self.add_local(name, ty.base, role, span);
        let tag = ty.tag.map(|tag| {
            let name_of_tag = format!("{name}.{}", tag_word(tag));
            self.add_local(&name_of_tag, tag.ty(), Role::TagOf(id), span)
        });
        Variable { id, tag, ty }
    }

    /// Locals for what the thread keeps between calls.
    pub(super) fn declare_kept(&mut self) {
        let tables = self.tables;
        for kept in &tables.kept_variables {
            let span = tables.kept[kept.word].span;
            let id = self.add_local(&kept.name, kept.ty.base, Role::Kept(kept.word), span);
            let tag = kept.ty.tag.map(|tag| {
                let word = kept.word + 1;
                let name = &tables.kept[word].name;
                self.add_local(name, tag.ty(), Role::Kept(word), span)
            });
            let ty = kept.ty;
            self.kept
                .insert(kept.name.clone(), Variable { id, tag, ty });
        }
    }

    pub(super) fn temporary(&mut self, ty: Type, span: Span) -> LocalId {
        self.temporaries += 1;
        let name = format!("${}", self.temporaries);
        self.add_local(&name, ty, Role::Temporary, span)
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Variable> {
        let kept = std::iter::once(&self.kept);
        let mut scopes = self.scopes.iter().rev().chain(kept);
        scopes.find_map(|s| s.get(name).copied())
    }

    /// The elements of an array of locals.
    pub(super) fn lookup_array(&self, name: &str) -> Option<Vec<Variable>> {
        let all = (0..).map_while(|index| self.lookup(&element(name, index)));
        let all: Vec<Variable> = all.collect();
        (!all.is_empty()).then_some(all)
    }

    /// Names that can be meant, for suggestions.
    pub(super) fn known(&self) -> impl Iterator<Item = &str> {
        let scopes = self.scopes.iter().chain(std::iter::once(&self.kept));
        let locals = scopes.flat_map(|s| s.keys().map(String::as_str));
        locals.chain(self.shared.iter().map(|s| s.name.as_str()))
    }

    // ---- statements

    pub(super) fn statements(&mut self, statements: &[Stmt]) {
        self.scopes.push(BTreeMap::new());
        for statement in statements {
            self.statement(statement);
        }
        self.scopes.pop();
    }

    /// A statement that is a block of its own.
    fn branch_body(&mut self, statement: &Stmt) {
        self.statements(std::slice::from_ref(statement));
    }

    fn statement(&mut self, statement: &Stmt) {
        let span = statement.span;
        match &statement.kind {
            StmtKind::Block(body) => self.statements(body),
            StmtKind::Declare(decls) => {
                for decl in decls {
                    self.declaration(decl);
                }
            }
            StmtKind::Assign(place, value) => self.assign(place, value, span),
            StmtKind::Cas(cas) => {
                let after = self.fresh();
                self.branch(cas, after, after);
                self.at = after;
            }
            StmtKind::Swap(swap) => {
                self.value(swap, None);
            }
            StmtKind::Call(call) => {
                if let ExprKind::Call(name, arguments) = &call.kind {
                    self.call(name, arguments, Wanted::Nothing);
                }
            }
            StmtKind::Assert(cond) => {
                let (then, other) = (self.fresh(), self.fresh());
                self.branch(cond, then, other);
                self.at = other;
                self.edge_to(self.body.exit, Step::Fail(Failure::Assertion), span);
                self.at = then;
            }
            StmtKind::If(cond, then, other) => {
                self.if_statement(cond, then, other.as_deref(), span);
            }
            StmtKind::While(cond, body) => self.while_statement(cond, body, span),
            StmtKind::DoWhile(body, cond) => self.do_while(body, cond, span),
            StmtKind::For(start, cond, step, body) => {
                let parts = (start.as_deref(), cond.as_ref(), step.as_deref());
                self.for_statement(parts, body, span);
            }
            StmtKind::Choose(blocks) => self.choose(blocks, span),
            StmtKind::Break => self.leave_loop("break", |l| l.after, span),
            StmtKind::Continue => self.leave_loop("continue", |l| l.next, span),
            StmtKind::Return(value) => self.return_statement(value.as_ref(), span),
            StmtKind::Atomic(body) => self.atomic_block(body, span),
            StmtKind::Lock(place) => {
                if let Some(spot) = self.lock_place(place) {
                    self.at_each(&spot, span, |builder, place| {
                        builder.emit(Step::Lock(place), span);
                    });
                }
            }
            StmtKind::Unlock(place) => {
                if let Some(spot) = self.lock_place(place) {
                    self.at_each(&spot, span, |builder, place| {
                        builder.emit(Step::Unlock(place), span);
                    });
                }
            }
            StmtKind::Free(node) => self.free(node, span),
            StmtKind::Assume(cond) => {
                let (then, other) = (self.fresh(), self.fresh());
                self.branch(cond, then, other);
                self.at = then;
            }
            StmtKind::Skip => {}
            StmtKind::Fence => self.emit(Step::Fence, span),
            StmtKind::Commit(kind, when) => {
                let when = match when {
                    None => Some(Cond::True),
                    Some(when) => cond::ghost(self, when),
                };
                if let Some(when) = when {
                    let kind = *kind;
                    self.commit(&Commit { kind, when, span });
                }
            }
            StmtKind::Soft(then, when) => soft::lower(self, then, when.as_ref(), span),
        }
    }

    fn declaration(&mut self, decl: &Decl) {
        // The value is read before the name is known: `node n = n.next` is no use.
        let length = decl.length.as_ref();
        let Some(variables) = self.declare_all(&decl.ty, &decl.name, length, Role::Variable) else {
            return;
        };
        if !decl.values.is_empty() && decl.values.len() != variables.len() {
            let (given, count) = (decl.values.len(), variables.len());
            let message = format!("{given} values for {count} elements");
            let error = Diagnostic::error(decl.name.span, message).label("the array");
            let help = "give one value for each element, or one for all: `= 0`";
            self.items.push(error.help(help));
        }
        for (index, variable) in variables.into_iter().enumerate() {
            match decl.values.get(index).or(decl.value.as_ref()) {
                Some(value) => self.assign_local(variable, value, decl.name.span.to(value.span)),
                // Each time that the declaration is reached the local starts anew.
                None if self.is_repeated() => self.reset(variable, decl.name.span),
                None => {}
            }
        }
    }

    fn reset(&mut self, variable: Variable, span: Span) {
        for id in [Some(variable.id), variable.tag].into_iter().flatten() {
            let value = default_of(self.body.locals[id.index()].ty);
            self.emit(Step::Assign { to: id, value }, span);
        }
    }

    fn if_statement(&mut self, cond: &Expr, then: &Stmt, other: Option<&Stmt>, span: Span) {
        let (yes, no) = (self.fresh(), self.fresh());
        self.branch(cond, yes, no);
        let Some(other) = other else {
            self.at = yes;
            self.branch_body(then);
            self.jump(no, span);
            self.at = no;
            return;
        };
        let after = self.fresh();
        for (start, body) in [(yes, then), (no, other)] {
            self.at = start;
            self.branch_body(body);
            self.jump(after, span);
        }
        self.at = after;
    }

    /// The current location as the head of a loop. Inside an atomic block it must not be
    /// the location before the block, where others may act.
    fn loop_head(&mut self, span: Span) -> LocId {
        if self.atomic > 0 && !self.body.locations[self.at.index()].atomic {
            self.emit(Step::Skip, span);
        }
        self.sealed.push(self.at);
        self.at
    }

    fn while_statement(&mut self, cond: &Expr, body: &Stmt, span: Span) {
        let head = self.loop_head(span);
        let after = self.fresh();
        if !matches!(cond.kind, ExprKind::Bool(true)) {
            let inside = self.fresh();
            self.branch(cond, inside, after);
            self.at = inside;
        }
        self.loops.push(Loop { next: head, after });
        self.branch_body(body);
        self.loops.pop();
        if self.at == head {
            // An empty loop needs a step, or it would be no loop.
            self.edge_to(head, Step::Skip, span);
        } else {
            self.jump(head, span);
        }
        self.at = after;
    }

    fn do_while(&mut self, body: &Stmt, cond: &Expr, span: Span) {
        let head = self.loop_head(span);
        let (next, after) = (self.fresh(), self.fresh());
        self.loops.push(Loop { next, after });
        self.branch_body(body);
        self.loops.pop();
        self.jump(next, span);
        self.at = next;
        self.branch(cond, head, after);
        self.at = after;
    }

    /// `continue` goes on at the step.
    fn for_statement(
        &mut self,
        (start, cond, step): (Option<&Stmt>, Option<&Expr>, Option<&Stmt>),
        body: &Stmt,
        span: Span,
    ) {
        self.scopes.push(BTreeMap::new());
        if let Some(start) = start {
            self.statement(start);
        }
        let head = self.loop_head(span);
        let (next, after) = (self.fresh(), self.fresh());
        if let Some(cond) = cond {
            let inside = self.fresh();
            self.branch(cond, inside, after);
            self.at = inside;
        }
        self.loops.push(Loop { next, after });
        self.branch_body(body);
        self.loops.pop();
        self.edge_to(next, Step::Skip, span);
        self.at = next;
        if let Some(step) = step {
            self.statement(step);
        }
        self.edge_to(head, Step::Skip, span);
        self.at = after;
        self.scopes.pop();
    }

    fn choose(&mut self, blocks: &[Vec<Stmt>], span: Span) {
        let start = self.at;
        let after = self.fresh();
        for block in blocks {
            self.at = start;
            self.emit(Step::Skip, span);
            self.statements(block);
            self.jump(after, span);
        }
        self.at = after;
    }

    fn leave_loop(&mut self, word: &str, to: impl Fn(&Loop) -> LocId, span: Span) {
        if let Some(target) = self.loops.last().map(to) {
            self.jump(target, span);
            self.cut();
        } else {
            let error = Diagnostic::error(span, format!("`{word}` outside a loop"))
                .label("no loop to leave");
            self.items.push(error.help("`return` ends the method"));
        }
    }

    fn atomic_block(&mut self, body: &[Stmt], span: Span) {
        self.atomic += 1;
        self.statements(body);
        self.atomic -= 1;
        if self.atomic == 0 && self.body.locations[self.at.index()].atomic {
            let after = self.fresh();
            self.jump(after, span);
            self.at = after;
        }
    }

    fn return_statement(&mut self, value: Option<&Expr>, span: Span) {
        if !self.calls.is_empty() {
            self.return_inlined(value, span);
            self.cut();
            return;
        }
        let exit = self.body.exit;
        match (value, self.returns) {
            (None, None) => self.edge_to(exit, Step::Return(None), span),
            (Some(value), Some(Type::Bool)) if cond::is_compound(value) => {
                let (yes, no) = (self.fresh(), self.fresh());
                self.branch(value, yes, no);
                for (at, value) in [(yes, true), (no, false)] {
                    self.at = at;
                    self.edge_to(exit, Step::Return(Some(Term::Bool(value))), span);
                }
            }
            (Some(value), Some(ty)) => {
                if let Some(result) = self.value_of(value, Ty::plain(ty)) {
                    self.edge_to(exit, Step::Return(Some(result.term)), span);
                }
            }
            (Some(value), None) => {
                let error = Diagnostic::error(value.span, "a result is returned here")
                    .label("the head names none")
                    .help("write `returns data` (or int, bool) behind the parameters");
                self.items.push(error);
            }
            (None, Some(_)) => {
                let error = Diagnostic::error(span, "the result is missing")
                    .label("the head says that there is one")
                    .help("write `return e;`");
                self.items.push(error);
            }
        }
        self.cut();
    }

    fn free(&mut self, node: &Expr, span: Span) {
        let Some(value) = self.value(node, None) else {
            return;
        };
        match (value.term, value.ty) {
            (Term::Local(id), Some(ty)) if matches!(ty.base, Type::Pointer(_)) => {
                self.emit(Step::Free(id), span);
            }
            _ => {
                let error = Diagnostic::error(node.span, "only a node can be freed")
                    .label("not a pointer")
                    .help("write `free(p);`");
                self.items.push(error);
            }
        }
    }

    fn assign(&mut self, place: &Path, value: &Expr, span: Span) {
        if place.parts.is_empty()
            && let Some(variable) = self.lookup(&place.base.text)
        {
            self.assign_local(variable, value, span);
            return;
        }
        self.write(place, value, span);
    }

    /// Puts a commit point on the steps that lead here.
    fn commit(&mut self, commit: &Commit) {
        if self.kind == Kind::Sequential {
            let error = Diagnostic::error(commit.span, "a commit point outside a method")
                .label("runs alone: there is nothing to commit");
            self.items.push(error.help("remove it"));
            return;
        }
        let at = self.at;
        let leads_here = |edge: &Edge| edge.to == at;
        if self.sealed.contains(&at) || !self.body.edges.iter().any(leads_here) {
            self.emit(Step::Skip, commit.span);
        }
        let at = self.at;
        for edge in self.body.edges.iter_mut().filter(|edge| edge.to == at) {
            edge.commits.push(commit.clone());
        }
    }
}
