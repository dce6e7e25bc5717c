//! *Directives of OpenMP* [OpenMP 5.2], as C: what several threads run becomes a function of its
//! own, everything else calls and statements ([`crate::c::openmp`]).
//!
//! | directive | becomes |
//! |---|---|
//! | `parallel` | a function, which all threads of a team run |
//! | `single`, `section` | `if (CLAIM(k)) ...` |
//! | `for` | its loop, in which each thread does the iterations that it `OWNS` |
//! | `master`, `masked` | `if (omp_get_thread_num() == 0) ...` |
//! | `task` | a function, which somebody runs at some time |
//! | `critical`, `atomic`, `barrier`, `taskwait`, `flush` | calls |
//!
//! A variable around a `parallel` is shared. `private`, `firstprivate` and `reduction` declare another
//! one of its name inside. Directives and clauses that are not in these tables are errors with their places.

mod tree;

use std::collections::BTreeSet;

use palisade_program::Span;
use palisade_syntax::Parser as _;

use super::{Meaning, Parse, Parser};
use crate::c::ast::{Binary, Expr, ExprKind, Function, Initializer, Item, Stmt, StmtKind, Unary};
use crate::c::lexer::DIRECTIVE_END;
use crate::c::lower;
use crate::c::openmp::{
    BARRIER, CLAIM, ENTER, ITERATED, LEAVE, ORDERED, OWNS, PARALLEL, Schedule, TASK, TASKWAIT,
    TASKYIELD,
};
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;
use tree::{
    address, assign, binary, call, calls, declare, does, expr, int, is_first, name, stmt, target,
    trips, updated, when,
};

/// The order of an atomic construct: relaxed.
const RELAXED: i128 = 0;

/// The constructs around a statement.
#[derive(Default)]
pub(super) struct Around {
    /// How many constructs there are so far.
    count: usize,
    /// How many scopes were open where the innermost parallel region began.
    region: Option<usize>,
    /// The number of the innermost loop with `ordered`.
    ordered: Option<usize>,
}

/// The clauses of a directive.
#[derive(Default)]
struct Clauses {
    threads: Option<Expr>,
    nowait: bool,
    ordered: bool,
    private: Vec<String>,
    firstprivate: Vec<String>,
    shared: Vec<String>,
    reductions: Vec<(String, String)>,
    schedule: Option<(Schedule, Option<Expr>)>,
    /// Of `atomic`.
    kind: Option<String>,
}

fn refused(span: Span, what: &str, help: &str) -> Diagnostic {
    Diagnostic::error(span, format!("unsupported: {what}")).help(help)
}

fn other_directive(words: &str, span: Span) -> Diagnostic {
    refused(
        span,
        &format!("`#pragma omp {words}`"),
        "parallel, for, sections, single, master, critical, atomic, barrier, ordered, task and \
         taskwait are supported",
    )
}

/// The counter of a loop construct.
fn counter(construct: usize) -> String {
    format!("__omp_iteration{construct}")
}

/// Whether this thread does the iteration at hand.
fn mine(construct: usize) -> String {
    format!("__omp_mine{construct}")
}

/// A jump that may leave a statement.
fn jump_out(s: &Stmt) -> Option<Span> {
    let mut found = None;
    lower::each_statement(s, &mut |s| {
        if matches!(s.kind, StmtKind::Return(_) | StmtKind::Goto(_)) {
            found.get_or_insert(s.span);
        }
    });
    found
}

/// What threads share, with the barrier behind it.
fn shared_work(mut work: Vec<Stmt>, clauses: &Clauses, span: Span) -> StmtKind {
    if !clauses.nowait {
        work.push(calls(BARRIER, Vec::new(), span));
    }
    StmtKind::Block(work)
}

impl Parser<'_> {
    /// A directive that does not stand in a function.
    pub(super) fn outside_functions(&mut self) -> Diagnostic {
        let span = self.span();
        while !self.at_end() && !self.is(DIRECTIVE_END) {
            self.advance();
        }
        self.advance();
        refused(
            span,
            "this directive of OpenMP outside of functions",
            "leave it out",
        )
    }

    /// A directive, and the statement that it is about.
    pub(super) fn directive(&mut self) -> Parse<StmtKind> {
        let start = self.advance().span;
        let mut words = Vec::new();
        while let Some(word) = self.directive_word() {
            words.push(word);
        }
        if words.is_empty() {
            let first = self.word().unwrap_or_default().to_owned();
            return Err(other_directive(&first, self.span()));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["critical"] => {
                let section = self.critical_name()?;
                self.directive_end()?;
                let body = self.structured(start)?;
                let section = || vec![expr(ExprKind::Str(section.clone()), start)];
                return Ok(StmtKind::Block(vec![
                    calls(ENTER, section(), start),
                    body,
                    calls(LEAVE, section(), start),
                ]));
            }
            ["flush"] => {
                while !self.at_end() && !self.is(DIRECTIVE_END) {
                    self.advance();
                }
                self.directive_end()?;
                return Ok(StmtKind::Expr(call(
                    "__sync_synchronize",
                    Vec::new(),
                    start,
                )));
            }
            _ => {}
        }
        let clauses = self.clauses()?;
        self.directive_end()?;
        let span = self.from(start);
        match words.as_slice() {
            ["parallel"] => self.parallel(&clauses, span, Self::structured),
            ["parallel", "for"] => {
                let inner = clauses.worksharing();
                self.parallel(&clauses, span, |p, at| {
                    let kind = p.loop_construct(&inner, at)?;
                    Ok(stmt(kind, at))
                })
            }
            ["parallel", "sections"] => {
                let inner = clauses.worksharing();
                self.parallel(&clauses, span, |p, at| {
                    let kind = p.sections(&inner, at)?;
                    Ok(stmt(kind, at))
                })
            }
            ["parallel", "master" | "masked"] => self.parallel(&clauses, span, |p, at| {
                let body = p.structured(at)?;
                Ok(when(is_first(at), body))
            }),
            ["for"] => self.loop_construct(&clauses, span),
            ["sections"] => self.sections(&clauses, span),
            ["single"] => {
                let claim = self.claim(span);
                let body = self.structured(span)?;
                let body = self.with_privates(&clauses, body, span)?;
                Ok(shared_work(vec![when(claim, body)], &clauses, span))
            }
            ["master" | "masked"] => {
                let body = self.structured(span)?;
                Ok(when(is_first(span), body).kind)
            }
            ["barrier"] => Ok(calls(BARRIER, Vec::new(), span).kind),
            ["taskwait"] => Ok(calls(TASKWAIT, Vec::new(), span).kind),
            ["taskyield"] => Ok(calls(TASKYIELD, Vec::new(), span).kind),
            ["atomic"] => self.atomic_construct(&clauses, span),
            ["ordered"] => self.ordered(span),
            ["task"] => self.task(&clauses, span),
            _ => Err(other_directive(&words.join(" "), span)),
        }
    }

    /// The next word of the directive's name; `None` at its clauses.
    fn directive_word(&mut self) -> Option<String> {
        const WORDS: [&str; 17] = [
            "parallel",
            "for",
            "sections",
            "section",
            "single",
            "master",
            "masked",
            "critical",
            "barrier",
            "taskwait",
            "taskyield",
            "atomic",
            "ordered",
            "task",
            "flush",
            "simd",
            "taskgroup",
        ];
        let word = self.word()?;
        let is_name = WORDS.contains(&word);
        // `for ordered`: a clause.
        let is_clause = word == "ordered" && self.cursor.last().span != self.span() && {
            let before = &self.cursor.last().kind;
            *before != crate::c::lexer::Kind::Punct(crate::c::lexer::DIRECTIVE)
        };
        if !is_name || is_clause {
            return None;
        }
        let word = word.to_owned();
        self.advance();
        Some(word)
    }

    fn directive_end(&mut self) -> Parse<()> {
        if self.is(DIRECTIVE_END) {
            self.advance();
            return Ok(());
        }
        let span = self.span();
        Err(refused(span, "this part of a directive", "leave it out"))
    }

    fn critical_name(&mut self) -> Parse<String> {
        if !self.eat("(") {
            return Ok(String::new());
        }
        let (section, _) = self.identifier()?;
        self.expect(")")?;
        Ok(section)
    }

    fn clauses(&mut self) -> Parse<Clauses> {
        let mut all = Clauses::default();
        while !self.is(DIRECTIVE_END) && !self.at_end() {
            self.eat(",");
            let span = self.span();
            let Some(word) = self.word().map(str::to_owned) else {
                return Err(self.unexpected("a clause"));
            };
            self.advance();
            match word.as_str() {
                "nowait" => all.nowait = true,
                "ordered" => all.ordered = true,
                "read" | "write" | "update" | "capture" => all.kind = Some(word),
                "seq_cst" | "relaxed" | "acq_rel" | "acquire" | "release" => {}
                "num_threads" => {
                    self.expect("(")?;
                    all.threads = Some(self.assignment()?);
                    self.expect(")")?;
                }
                "private" => all.private.extend(self.names()?),
                "firstprivate" => all.firstprivate.extend(self.names()?),
                "shared" => all.shared.extend(self.names()?),
                "default" => {
                    let mode = self.names()?;
                    if mode.iter().any(|m| m != "shared" && m != "none") {
                        return Err(refused(span, "this default", "use shared or none"));
                    }
                }
                "proc_bind" => {
                    self.names()?;
                }
                "schedule" => all.schedule = Some(self.schedule()?),
                "reduction" => self.reduction(&mut all)?,
                _ => {
                    return Err(refused(
                        span,
                        &format!("the clause `{word}` of OpenMP"),
                        "num_threads, private, firstprivate, shared, default, reduction, schedule, ordered \
                         and nowait are supported",
                    ));
                }
            }
        }
        Ok(all)
    }

    /// `(a, b)`
    fn names(&mut self) -> Parse<Vec<String>> {
        self.expect("(")?;
        let mut all = vec![self.identifier()?.0];
        while self.eat(",") {
            all.push(self.identifier()?.0);
        }
        self.expect(")")?;
        Ok(all)
    }

    fn schedule(&mut self) -> Parse<(Schedule, Option<Expr>)> {
        self.expect("(")?;
        let (kind, span) = self.identifier()?;
        let chunk = if self.eat(",") {
            Some(self.assignment()?)
        } else {
            None
        };
        self.expect(")")?;
        let schedule = match (kind.as_str(), &chunk) {
            ("static", None) => Schedule::Static,
            ("static", Some(_)) => Schedule::StaticChunks,
            ("dynamic", _) => Schedule::Dynamic,
            ("auto" | "runtime", None) => Schedule::Any,
            _ => {
                let help = "static, dynamic, auto and runtime are supported";
                return Err(refused(span, "this schedule", help));
            }
        };
        Ok((schedule, chunk))
    }

    fn reduction(&mut self, all: &mut Clauses) -> Parse<()> {
        self.expect("(")?;
        let span = self.span();
        let op = match &self.peek().kind {
            crate::c::lexer::Kind::Punct(p) => (*p).to_owned(),
            _ => String::new(),
        };
        if !["+", "*", "-", "&", "|", "^", "&&", "||"].contains(&op.as_str()) {
            return Err(refused(
                span,
                "this reduction",
                "+ * - & | ^ && || are supported",
            ));
        }
        self.advance();
        self.expect(":")?;
        loop {
            let (variable, _) = self.identifier()?;
            all.reductions.push((op.clone(), variable));
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(())
    }

    fn construct(&mut self) -> usize {
        self.openmp.count += 1;
        self.openmp.count
    }

    fn claim(&mut self, span: Span) -> Expr {
        let construct = self.construct();
        call(CLAIM, vec![int(construct as i128, span)], span)
    }

    /// The statement of a construct, which no jump leaves.
    fn structured(&mut self, _: Span) -> Parse<Stmt> {
        let body = self.statement()?;
        if let Some(at) = jump_out(&body) {
            let help = "OpenMP does not allow a jump out of it";
            return Err(refused(at, "a jump in a construct of OpenMP", help));
        }
        Ok(body)
    }

    fn variable_type(&self, variable: &str, span: Span) -> Parse<Type> {
        match self.lookup(variable) {
            Some(Meaning::Variable(ty)) => Ok(ty.clone()),
            Some(Meaning::Typedef(_) | Meaning::Enumerator(_)) | None => Err(Diagnostic::error(
                span,
                format!("there is no variable `{variable}`"),
            )),
        }
    }

    /// A statement with variables of its own for those that clauses name.
    fn with_privates(&self, clauses: &Clauses, body: Stmt, span: Span) -> Parse<Stmt> {
        let mut inside = Vec::new();
        let mut outside = Vec::new();
        let mut after = Vec::new();
        for variable in &clauses.private {
            let ty = self.variable_type(variable, span)?;
            inside.push(declare(variable, &ty, None, span));
        }
        for variable in &clauses.firstprivate {
            let ty = self.variable_type(variable, span)?;
            if !ty.is_scalar() {
                return Err(refused(span, "firstprivate of this type", "use a scalar"));
            }
            let before = format!("__omp_before_{variable}");
            outside.push(declare(&before, &ty, Some(name(variable, span)), span));
            inside.push(declare(variable, &ty, Some(name(&before, span)), span));
        }
        for (op, variable) in &clauses.reductions {
            let ty = self.variable_type(variable, span)?;
            if !ty.is_integer() {
                return Err(refused(span, "a reduction of this type", "use an integer"));
            }
            let into = format!("__omp_into_{variable}");
            let whole = address(name(variable, span), span);
            outside.push(declare(
                &into,
                &Type::pointer(ty.clone()),
                Some(whole),
                span,
            ));
            let (neutral, op) = match op.as_str() {
                "*" => (1, Binary::Mul),
                "&" => (-1, Binary::BitAnd),
                "|" => (0, Binary::BitOr),
                "^" => (0, Binary::BitXor),
                "&&" => (1, Binary::And),
                "||" => (0, Binary::Or),
                _ => (0, Binary::Add),
            };
            inside.push(declare(variable, &ty, Some(int(neutral, span)), span));
            let cell = || target(name(&into, span), span);
            let sum = binary(op, cell(), name(variable, span), span);
            let section = || vec![expr(ExprKind::Str("reduction".to_owned()), span)];
            after.push(calls(ENTER, section(), span));
            after.push(does(assign(cell(), sum, span)));
            after.push(calls(LEAVE, section(), span));
        }
        if outside.is_empty() && inside.is_empty() {
            return Ok(body);
        }
        inside.push(body);
        inside.extend(after);
        outside.push(stmt(StmtKind::Block(inside), span));
        Ok(stmt(StmtKind::Block(outside), span))
    }

    /// The local variables around a statement that it mentions.
    pub(super) fn captured(&self, body: &Stmt) -> BTreeSet<String> {
        let mut mentioned = BTreeSet::new();
        lower::each_in_stmt(body, &mut |e| {
            if let ExprKind::Ident(text) = &e.kind {
                mentioned.insert(text.clone());
            }
        });
        mentioned.retain(|text| self.depth_of(text).is_some_and(|depth| depth > 0));
        mentioned
    }

    /// How many scopes are around the one that a variable is in.
    pub(super) fn depth_of(&self, variable: &str) -> Option<usize> {
        let scopes = self.scopes.iter().enumerate().rev();
        let mut found = scopes.filter_map(|(k, s)| Some((k, s.names.get(variable)?)));
        let (depth, meaning) = found.next()?;
        matches!(meaning, Meaning::Variable(_)).then_some(depth)
    }

    /// Makes a function of a statement.
    fn outlined(&mut self, what: &str, body: Stmt, span: Span) -> String {
        let number = self.construct();
        let full = format!("{what}{number}");
        self.item(Item::Function(Function {
            name: full.clone(),
            result: Type::Void,
            params: Vec::new(),
            body: vec![body],
            span,
            extent: span,
        }));
        full
    }

    fn parallel(
        &mut self,
        clauses: &Clauses,
        span: Span,
        inside: impl FnOnce(&mut Self, Span) -> Parse<Stmt>,
    ) -> Parse<StmtKind> {
        let Some(threads) = clauses.threads.clone() else {
            let help = "say how many threads there are: `num_threads(2)`";
            return Err(refused(span, "a team of any size", help));
        };
        let around = self.openmp.region.replace(self.scopes.len());
        let ordered = self.openmp.ordered.take();
        let body = inside(self, span);
        self.openmp.region = around;
        self.openmp.ordered = ordered;
        let own = Clauses {
            private: clauses.private.clone(),
            firstprivate: clauses.firstprivate.clone(),
            reductions: clauses.reductions.clone(),
            ..Clauses::default()
        };
        let body = self.with_privates(&own, body?, span)?;
        let written = lower::assigned(&[&body], &[]);
        let mut args = vec![name("", span), threads];
        for variable in self.captured(&body) {
            if clauses.private.contains(&variable) {
                continue;
            }
            let plain = name(&variable, span);
            let is_copy = clauses.firstprivate.contains(&variable);
            args.push(if written.contains(&variable) && !is_copy {
                address(plain, span)
            } else {
                plain
            });
        }
        let function = self.outlined("parallel", body, span);
        args[0] = name(&function, span);
        Ok(StmtKind::Expr(call(PARALLEL, args, span)))
    }

    /// Variables of the region itself are copied, unless they are said to be shared.
    fn task(&mut self, clauses: &Clauses, span: Span) -> Parse<StmtKind> {
        let region = self.openmp.region.unwrap_or(1);
        let body = self.structured(span)?;
        let written = lower::assigned(&[&body], &[]);
        let mut args = vec![name("", span)];
        for variable in self.captured(&body) {
            let plain = name(&variable, span);
            let is_inner = self
                .depth_of(&variable)
                .is_some_and(|depth| depth >= region);
            let is_shared = clauses.shared.contains(&variable);
            let is_copy = is_inner && !is_shared || clauses.firstprivate.contains(&variable);
            args.push(match (is_copy, is_inner || written.contains(&variable)) {
                (true, _) => expr(ExprKind::Unary(Unary::Plus, Box::new(plain)), span),
                (false, true) => address(plain, span),
                (false, false) => plain,
            });
        }
        if !clauses.private.is_empty() || !clauses.reductions.is_empty() {
            let help = "declare the variable in the task";
            return Err(refused(span, "this clause of a task", help));
        }
        let function = self.outlined("task", body, span);
        args[0] = name(&function, span);
        Ok(StmtKind::Expr(call(TASK, args, span)))
    }

    fn sections(&mut self, clauses: &Clauses, span: Span) -> Parse<StmtKind> {
        self.expect("{")?;
        let mut work = Vec::new();
        while !self.eat("}") {
            let at = self.span();
            if self.is(crate::c::lexer::DIRECTIVE) {
                self.advance();
                if !self.eat_word(&["section"]) {
                    return Err(self.unexpected("`section`"));
                }
                self.directive_end()?;
            } else if !work.is_empty() {
                return Err(self.unexpected("`#pragma omp section`"));
            }
            let claim = self.claim(at);
            let body = self.structured(at)?;
            let body = self.with_privates(clauses, body, at)?;
            work.push(when(claim, body));
        }
        Ok(shared_work(work, clauses, span))
    }

    /// A loop, each iteration of which one thread of the team does.
    fn loop_construct(&mut self, clauses: &Clauses, span: Span) -> Parse<StmtKind> {
        let construct = self.construct();
        let around = if clauses.ordered {
            self.openmp.ordered.replace(construct)
        } else {
            self.openmp.ordered.take()
        };
        let parsed = self.structured(span);
        self.openmp.ordered = around;
        let parsed = parsed?;
        let StmtKind::For(Some(init), Some(cond), Some(step), body) = parsed.kind else {
            return Err(refused(
                span,
                "this loop",
                "write `for (int i = a; i < b; i++)`",
            ));
        };
        let (init, variable, from) = self.loop_start(*init)?;
        let total = trips(&variable, from, &cond, &step).ok_or_else(|| {
            refused(
                cond.span,
                "this loop",
                "write `for (int i = a; i < b; i++)`",
            )
        })?;
        let is_written = lower::assigned(&[&body], &[]).contains(&variable);
        if is_written {
            let help = "leave its variable alone in the loop";
            return Err(refused(cond.span, "this loop", help));
        }
        let (schedule, chunk) = clauses.schedule.clone().unwrap_or((Schedule::Any, None));
        let number = |n: usize| int(n as i128, span);
        let owns = call(
            OWNS,
            vec![
                number(construct),
                name(&counter(construct), span),
                int(schedule.number(), span),
                chunk.unwrap_or_else(|| number(1)),
                total,
            ],
            span,
        );
        let owned = assign(name(&mine(construct), span), owns, span);
        let next = binary(
            Binary::Add,
            name(&counter(construct), span),
            number(1),
            span,
        );
        let next = assign(name(&counter(construct), span), next, span);
        let mut step = expr(ExprKind::Comma(Box::new(step), Box::new(next)), span);
        if clauses.ordered {
            let args = vec![number(construct), name(&counter(construct), span)];
            let iterated = call(ITERATED, args, span);
            let iterated = ExprKind::Cond(
                Box::new(name(&mine(construct), span)),
                Some(Box::new(iterated)),
                Box::new(number(0)),
            );
            let first = Box::new(expr(iterated, span));
            step = expr(ExprKind::Comma(first, Box::new(step)), span);
        }
        let body = when(owned, *body);
        let kind = StmtKind::For(Some(Box::new(init)), Some(cond), Some(step), Box::new(body));
        let work = vec![
            declare(&counter(construct), &Type::INT, Some(number(0)), span),
            declare(&mine(construct), &Type::INT, Some(number(0)), span),
            stmt(kind, span),
        ];
        let own = stmt(StmtKind::Block(work), span);
        let own = self.with_privates(clauses, own, span)?;
        Ok(shared_work(vec![own], clauses, span))
    }

    /// The start of a loop, as a declaration of its variable, which is private.
    fn loop_start(&self, init: Stmt) -> Parse<(Stmt, String, Expr)> {
        let span = init.span;
        let other = || refused(span, "this loop", "write `for (int i = a; i < b; i++)`");
        match init.kind {
            StmtKind::Declare(all) => {
                let [only] = all.as_slice() else {
                    return Err(other());
                };
                let Some(Initializer::Value(from)) = only.init.clone() else {
                    return Err(other());
                };
                let variable = only.name.clone();
                Ok((stmt(StmtKind::Declare(all), span), variable, from))
            }
            StmtKind::Expr(e) => {
                let ExprKind::Assign(None, to, from) = e.kind else {
                    return Err(other());
                };
                let ExprKind::Ident(variable) = to.kind else {
                    return Err(other());
                };
                let ty = self.variable_type(&variable, span)?;
                let start = declare(&variable, &ty, Some((*from).clone()), span);
                Ok((start, variable, *from))
            }
            _ => Err(other()),
        }
    }

    fn ordered(&mut self, span: Span) -> Parse<StmtKind> {
        let Some(construct) = self.openmp.ordered else {
            let help = "put it into a loop with `#pragma omp for ordered`";
            return Err(refused(span, "`ordered` here", help));
        };
        let body = self.structured(span)?;
        let args = || {
            let number = int(construct as i128, span);
            vec![number, name(&counter(construct), span)]
        };
        Ok(StmtKind::Block(vec![
            calls(ORDERED, args(), span),
            body,
            calls(ITERATED, args(), span),
        ]))
    }

    /// `atomic`: the update, read or write of one variable.
    fn atomic_construct(&mut self, clauses: &Clauses, span: Span) -> Parse<StmtKind> {
        let body = self.statement()?;
        let body = match body.kind {
            StmtKind::Block(mut all) if all.len() == 1 => all.remove(0),
            _ => body,
        };
        let kind = clauses.kind.as_deref().unwrap_or("update");
        let other = || {
            let help =
                "write `x++`, `x += e`, `v = x` (read), `x = e` (write), or `v = x++` (capture)";
            refused(span, "this atomic construct", help)
        };
        let StmtKind::Expr(e) = body.kind else {
            return Err(other());
        };
        let order = || int(RELAXED, span);
        let made = match (kind, e.kind) {
            ("read", ExprKind::Assign(None, to, from)) => {
                let args = vec![address(*from, span), order()];
                assign(*to, call("__atomic_load_n", args, span), span)
            }
            ("write", ExprKind::Assign(None, to, value)) => {
                let args = vec![address(*to, span), *value, order()];
                call("__atomic_store_n", args, span)
            }
            ("capture", ExprKind::Assign(None, to, update)) => {
                let update = updated(*update, span).ok_or_else(other)?;
                assign(*to, update, span)
            }
            ("update", kind) => updated(expr(kind, e.span), span).ok_or_else(other)?,
            _ => return Err(other()),
        };
        Ok(StmtKind::Expr(made))
    }
}

impl Clauses {
    /// Those of a combined construct that are about the work.
    fn worksharing(&self) -> Self {
        Self {
            nowait: true,
            ordered: self.ordered,
            schedule: self.schedule.clone(),
            ..Self::default()
        }
    }
}
