//! Names become numbers, and the rules of [Donaldson et al., CAV 2011], appendix A are checked: the
//! targets of a parallel assignment are distinct, broadcasts go to locals, passive
//! expressions stand only on the right-hand side of broadcasts. The result is what
//! checkers run.

use std::collections::BTreeMap;

use palisade_program::Span;

use crate::BpError;
use crate::ast::{
    BooleanProgram, Copies, Expr, ExprKind, Label, Op, Passive, Property, Statement, StatementKind,
    Target, Thread, Value, Variable,
};

/// A program with numbers for names.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Names and first values of the shared variables.
    pub shared: Vec<(String, Value)>,
    /// The kinds of threads.
    pub threads: Vec<ThreadCode>,
    /// Conditions on the first states.
    pub initially: Vec<Code>,
    /// States that must not be reached, and where that is written.
    pub never: Vec<(Code, Span)>,
}

/// The code of one kind of thread. Position `steps.len()` is its end.
#[derive(Clone, Debug)]
pub struct ThreadCode {
    /// Its name.
    pub name: String,
    /// How many run.
    pub copies: Copies,
    /// Names and first values of the locals.
    pub locals: Vec<(String, Value)>,
    /// The statements with their places.
    pub steps: Vec<(Step, Span)>,
    /// Positions that a `never` speaks of.
    pub observed: Vec<usize>,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Step {
    /// A parallel assignment, and its constraint.
    Assign(Vec<(Place, Code)>, Option<Code>),
    /// One of these positions comes next; `skip` has one.
    Goto(Vec<usize>),
    /// Waits for the condition.
    Assume(Code),
    /// Fails unless the condition holds.
    Assert(Code),
}

/// What is assigned to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A shared variable.
    Shared(usize),
    /// A local of the active thread.
    Own(usize),
    /// A local of every passive thread of this kind.
    Passive(usize, usize),
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Code {
    /// A literal.
    Value(Value),
    /// A shared variable.
    Shared(usize),
    /// A local of the active thread.
    Own(usize),
    /// A local of the passive thread.
    Passive(usize),
    /// A shared variable after the assignment.
    NextShared(usize),
    /// A local of the active thread after the assignment.
    NextOwn(usize),
    /// Whether the one thread of this kind is at this position.
    At(usize, usize),
    /// Negation.
    Not(Box<Code>),
    /// A binary operator.
    Binary(Op, Box<(Code, Code)>),
    /// `c ? a : b`
    Cond(Box<(Code, Code, Code)>),
    /// `choose(a, b)`
    Choose(Box<(Code, Code)>),
}

/// Looks up all names of a program; on failure all errors that were found.
pub fn resolve(program: &BooleanProgram) -> Result<Resolved, Vec<BpError>> {
    let mut resolver = Resolver::new(program);
    let threads = (0..program.threads.len()).map(|t| resolver.thread(t));
    let threads: Vec<Vec<(Step, Span)>> = threads.collect();
    let initially = program.initially.iter();
    let initially = initially.filter_map(|p| resolver.property(p)).collect();
    let never = program.never.iter();
    let never: Vec<(Code, Span)> = never
        .filter_map(|p| Some((resolver.property(p)?, p.at.0)))
        .collect();
    if !resolver.errors.is_empty() {
        resolver.errors.sort_by_key(|e| e.span);
        return Err(resolver.errors);
    }
    let named = |list: &[Variable]| list.iter().map(|v| (v.name.clone(), v.init)).collect();
    let code = |(t, steps): (usize, Vec<(Step, Span)>)| {
        let thread = &program.threads[t];
        ThreadCode {
            name: thread.name.clone().unwrap_or_else(|| "thread".to_owned()),
            copies: thread.copies,
            locals: named(&thread.locals),
            steps,
            observed: observed(&never, t),
        }
    };
    Ok(Resolved {
        shared: named(&program.shared),
        threads: threads.into_iter().enumerate().map(code).collect(),
        initially,
        never,
    })
}

/// The positions of thread `t` that some condition speaks of.
fn observed(never: &[(Code, Span)], t: usize) -> Vec<usize> {
    let mut found = Vec::new();
    for (code, _) in never {
        code.for_each(&mut |part| {
            if let Code::At(thread, position) = part
                && *thread == t
            {
                found.push(*position);
            }
        });
    }
    found.sort_unstable();
    found.dedup();
    found
}

impl Code {
    /// Calls `f` on every part.
    pub fn for_each(&self, f: &mut dyn FnMut(&Self)) {
        f(self);
        match self {
            Self::Value(_) | Self::Shared(_) | Self::Own(_) | Self::Passive(_) => {}
            Self::NextShared(_) | Self::NextOwn(_) | Self::At(..) => {}
            Self::Not(e) => e.for_each(f),
            Self::Binary(_, parts) | Self::Choose(parts) => {
                parts.0.for_each(f);
                parts.1.for_each(f);
            }
            Self::Cond(parts) => {
                parts.0.for_each(f);
                parts.1.for_each(f);
                parts.2.for_each(f);
            }
        }
    }
}

/// Where an expression stands: decides what it may speak of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    /// In code, not in a broadcast.
    Plain,
    /// On the right of a broadcast to threads of this kind.
    Broadcast(usize),
    /// In a constraint.
    Constraint,
    /// In `never` or `initially`.
    Property,
}

struct Resolver<'p> {
    program: &'p BooleanProgram,
    shared: BTreeMap<&'p str, usize>,
    locals: Vec<BTreeMap<&'p str, usize>>,
    labels: Vec<BTreeMap<&'p str, usize>>,
    kinds: BTreeMap<&'p str, usize>,
    errors: Vec<BpError>,
}

impl<'p> Resolver<'p> {
    fn new(program: &'p BooleanProgram) -> Self {
        let mut resolver = Self {
            program,
            shared: BTreeMap::new(),
            locals: Vec::new(),
            labels: Vec::new(),
            kinds: BTreeMap::new(),
            errors: Vec::new(),
        };
        resolver.shared = resolver.declare(&program.shared);
        for (t, thread) in program.threads.iter().enumerate() {
            if let Some(name) = &thread.name
                && resolver.kinds.insert(name, t).is_some()
            {
                let message = format!("two threads are called `{name}`");
                resolver.error(
                    thread.at.0,
                    message,
                    "give them different names, or write `[2]`",
                );
            }
            let locals = resolver.declare(&thread.locals);
            for v in &thread.locals {
                if resolver.shared.contains_key(v.name.as_str()) {
                    let message = format!("`{}` is also a shared variable", v.name);
                    resolver.error(v.at.0, message, "choose another name");
                }
            }
            resolver.locals.push(locals);
            let labels = resolver.declare_labels(thread);
            resolver.labels.push(labels);
        }
        resolver
    }

    fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.errors.push(BpError::new(span, message, help));
    }

    fn declare(&mut self, list: &'p [Variable]) -> BTreeMap<&'p str, usize> {
        let mut map = BTreeMap::new();
        for (index, v) in list.iter().enumerate() {
            if map.insert(v.name.as_str(), index).is_some() {
                let message = format!("`{}` is declared twice", v.name);
                self.error(v.at.0, message, "remove one of the declarations");
            }
        }
        map
    }

    fn declare_labels(&mut self, thread: &'p Thread) -> BTreeMap<&'p str, usize> {
        let mut map = BTreeMap::new();
        let statements = thread.body.iter().map(|s: &Statement| &s.labels);
        for (position, labels) in statements.chain([&thread.end]).enumerate() {
            for label in labels {
                if map.insert(label.name.as_str(), position).is_some() {
                    let message = format!("the label `{}` stands twice", label.name);
                    self.error(label.at.0, message, "rename one of them");
                }
            }
        }
        map
    }

    fn thread(&mut self, t: usize) -> Vec<(Step, Span)> {
        let program = self.program;
        let mut steps = Vec::new();
        for (position, statement) in program.threads[t].body.iter().enumerate() {
            if let Some(step) = self.statement(t, position, statement) {
                steps.push((step, statement.at.0));
            }
        }
        steps
    }

    fn statement(&mut self, t: usize, position: usize, statement: &'p Statement) -> Option<Step> {
        match &statement.kind {
            StatementKind::Skip => Some(Step::Goto(vec![position + 1])),
            StatementKind::Assume(e) => Some(Step::Assume(self.expr(t, Context::Plain, e)?)),
            StatementKind::Assert(e) => Some(Step::Assert(self.expr(t, Context::Plain, e)?)),
            StatementKind::Goto(labels) => {
                let positions = labels.iter().map(|l| self.position(t, l));
                let positions: Vec<Option<usize>> = positions.collect();
                positions.into_iter().collect::<Option<_>>().map(Step::Goto)
            }
            StatementKind::Assign {
                targets,
                values,
                constrain,
            } => self.assign(t, statement.at.0, targets, values, constrain.as_ref()),
        }
    }

    fn assign(
        &mut self,
        t: usize,
        span: Span,
        targets: &'p [Target],
        values: &'p [Expr],
        constrain: Option<&'p Expr>,
    ) -> Option<Step> {
        if targets.len() != values.len() {
            let message = format!("{} variables, but {} values", targets.len(), values.len());
            self.error(
                span,
                message,
                "give as many values as variables, in the same order",
            );
            return None;
        }
        let mut assigned = Vec::new();
        let mut complete = true;
        for (target, value) in targets.iter().zip(values) {
            let place = self.place(t, target);
            let context = match place {
                Some(Place::Passive(kind, _)) => Context::Broadcast(kind),
                Some(Place::Shared(_) | Place::Own(_)) | None => Context::Plain,
            };
            let value = self.expr(t, context, value);
            if let Some(place) = place
                && assigned.iter().any(|(other, _)| *other == place)
            {
                let message = format!("`{target}` is assigned twice at once");
                self.error(
                    target.at.0,
                    message,
                    "the targets of an assignment are distinct",
                );
            }
            match (place, value) {
                (Some(place), Some(value)) => assigned.push((place, value)),
                _ => complete = false,
            }
        }
        let constraint = constrain.map(|e| self.expr(t, Context::Constraint, e));
        match constraint {
            Some(None) => None,
            Some(Some(code)) => complete.then_some(Step::Assign(assigned, Some(code))),
            None => complete.then_some(Step::Assign(assigned, None)),
        }
    }

    fn place(&mut self, t: usize, target: &'p Target) -> Option<Place> {
        let name = target.name.as_str();
        let Some(passive) = &target.passive else {
            let own = self.locals[t].get(name).map(|i| Place::Own(*i));
            let place = own.or_else(|| self.shared.get(name).map(|i| Place::Shared(*i)));
            if place.is_none() {
                self.unknown_variable(target.at.0, name);
            }
            return place;
        };
        let kind = self.passive_kind(t, passive, target.at.0)?;
        let index = self.locals[kind].get(name).copied();
        if index.is_none() {
            self.not_local(target.at.0, name);
        }
        index.map(|index| Place::Passive(kind, index))
    }

    fn passive_kind(&mut self, t: usize, passive: &Passive, span: Span) -> Option<usize> {
        let Some(name) = &passive.thread else {
            return Some(t);
        };
        let kind = self.kinds.get(name.as_str()).copied();
        if kind.is_none() {
            self.error(span, format!("there is no thread `{name}`"), "declare it");
        }
        kind
    }

    fn unknown_variable(&mut self, span: Span, name: &str) {
        let help = format!("declare it: `shared {name} = 0;` or `local {name} = 0;`");
        self.error(span, format!("there is no variable `{name}`"), help);
    }

    fn not_local(&mut self, span: Span, name: &str) {
        let message = format!("`{name}` is no local variable of the passive threads");
        self.error(span, message, "only locals have copies in passive threads");
    }

    fn position(&mut self, t: usize, label: &Label) -> Option<usize> {
        let position = self.labels[t].get(label.name.as_str()).copied();
        if position.is_none() {
            let message = format!("there is no label `{}`", label.name);
            self.error(
                label.at.0,
                message,
                "put it before the statement that is meant",
            );
        }
        position
    }

    fn property(&mut self, property: &'p Property) -> Option<Code> {
        self.expr(0, Context::Property, &property.cond)
    }

    fn expr(&mut self, t: usize, context: Context, e: &'p Expr) -> Option<Code> {
        let span = e.at.0;
        match &*e.kind {
            ExprKind::Value(value) => Some(Code::Value(*value)),
            ExprKind::Name(name) => self.variable(t, context, name, span),
            ExprKind::Passive(passive, name) => self.passive(t, context, passive, name, span),
            ExprKind::Next(name) if context == Context::Constraint => {
                match self.variable(t, context, name, span)? {
                    Code::Shared(i) => Some(Code::NextShared(i)),
                    Code::Own(i) => Some(Code::NextOwn(i)),
                    other => Some(other),
                }
            }
            ExprKind::Next(_) => {
                let message = "a value after the assignment, outside of a constraint";
                self.error(span, message, "`'v` belongs behind `constrain`");
                None
            }
            ExprKind::Location(thread, label) => self.location(context, thread, label, span),
            ExprKind::Not(e) => Some(Code::Not(Box::new(self.expr(t, context, e)?))),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(t, context, a), self.expr(t, context, b));
                Some(Code::Binary(*op, Box::new((a?, b?))))
            }
            ExprKind::Choose(a, b) => {
                let (a, b) = (self.expr(t, context, a), self.expr(t, context, b));
                Some(Code::Choose(Box::new((a?, b?))))
            }
            ExprKind::Cond(c, a, b) => {
                let c = self.expr(t, context, c);
                let (a, b) = (self.expr(t, context, a), self.expr(t, context, b));
                Some(Code::Cond(Box::new((c?, a?, b?))))
            }
        }
    }

    fn variable(&mut self, t: usize, context: Context, name: &str, span: Span) -> Option<Code> {
        let own = match context {
            Context::Property => None,
            Context::Plain | Context::Broadcast(_) | Context::Constraint => {
                self.locals[t].get(name).copied()
            }
        };
        let code = own.map(Code::Own);
        let code = code.or_else(|| self.shared.get(name).map(|i| Code::Shared(*i)));
        if code.is_none() {
            if context == Context::Property {
                let message = format!("there is no shared variable `{name}`");
                let help = "`never` and `initially` speak of shared variables and locations";
                self.error(span, message, help);
            } else {
                self.unknown_variable(span, name);
            }
        }
        code
    }

    fn passive(
        &mut self,
        t: usize,
        context: Context,
        passive: &Passive,
        name: &str,
        span: Span,
    ) -> Option<Code> {
        let Context::Broadcast(expected) = context else {
            let message = format!("`[{name}]` is used outside of a broadcast");
            self.error(
                span,
                message,
                "passive values may only be assigned to `[v]`",
            );
            return None;
        };
        // Beside `[t.v] = `, a plain `[w]` means the same passive thread.
        let kind = match passive.thread {
            None => expected,
            Some(_) => self.passive_kind(t, passive, span)?,
        };
        if kind != expected {
            let message = "a passive value of another kind of thread than the target's";
            self.error(
                span,
                message,
                "one broadcast speaks of one passive thread at a time",
            );
            return None;
        }
        let index = self.locals[kind].get(name).copied();
        if index.is_none() {
            self.not_local(span, name);
        }
        index.map(Code::Passive)
    }

    fn location(
        &mut self,
        context: Context,
        thread: &str,
        label: &Label,
        span: Span,
    ) -> Option<Code> {
        if context != Context::Property {
            self.error(
                span,
                "a location outside of `never`",
                "code cannot see locations",
            );
            return None;
        }
        let Some(&kind) = self.kinds.get(thread) else {
            self.error(span, format!("there is no thread `{thread}`"), "declare it");
            return None;
        };
        if self.program.threads[kind].copies != Copies::One {
            let message = format!("`{thread}` runs more than once");
            let help = "locations are those of threads that run once; use `assert` instead";
            self.error(span, message, help);
            return None;
        }
        Some(Code::At(kind, self.position(kind, label)?))
    }
}
