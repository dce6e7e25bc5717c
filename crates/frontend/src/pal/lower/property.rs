//! *Properties* and hints: expressions over shared memory, locals of threads and
//! locations. `left.r` is a local, `left@label` a location, `t#1` and `t#2` two
//! distinct copies of `t`, `t[0]` a certain one, `p.X` a variable of process `p`.

use palisade_program::{
    BinOp, Count, Expr as Value, GlobalId, Hint, Pick, PropAtom, PropExpr, Property, PropertyKind,
    TemplateId, ThreadVar, ThreadVarId,
};

use super::call::wrap_of;
use super::{Context, Finished};
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, ExprKind, File, Item, Name, Place, Thread, ThreadPick};
use crate::range::{Range, range_of};

/// Largest array that a property may read by a computed index.
const MAX_CASES: usize = 256;

/// What a file says of the program as a whole.
#[derive(Default)]
pub(super) struct Said {
    pub(super) properties: Vec<Property>,
    pub(super) reaches: Vec<Property>,
    pub(super) hints: Vec<Hint>,
}

impl Context<'_> {
    /// Lowers all properties and hints; then all uses of locals are known.
    pub(super) fn properties(&mut self, file: &File, threads: &[Finished]) -> Said {
        let mut used: Vec<Vec<bool>> = threads.iter().map(|t| t.used.clone()).collect();
        let mut all = Said::default();
        for item in &file.items {
            match item {
                Item::Property(property) => {
                    let (cond, threads) = self.condition(&property.cond, threads, &mut used);
                    all.properties.push(Property {
                        kind: property.kind,
                        threads,
                        cond,
                        span: property.span,
                    });
                }
                Item::Reach { cond, span } => {
                    let (cond, threads) = self.condition(cond, threads, &mut used);
                    all.reaches.push(Property {
                        kind: PropertyKind::Never,
                        threads,
                        cond,
                        span: *span,
                    });
                }
                Item::Predicate { cond, span } => {
                    let (expr, threads) = self.condition(cond, threads, &mut used);
                    all.hints.push(Hint {
                        threads,
                        expr,
                        span: *span,
                    });
                }
                Item::Const { .. } | Item::Shared(_) | Item::Function(_) | Item::Unit(_) => {}
            }
        }
        for (thread, used) in threads.iter().zip(used) {
            self.warn_unused_locals(&thread.template, &used);
        }
        all
    }

    fn condition(
        &mut self,
        cond: &Expr,
        threads: &[Finished],
        used: &mut [Vec<bool>],
    ) -> (PropExpr, Vec<ThreadVar>) {
        let mut lowering = Lowering {
            context: self,
            threads,
            used,
            vars: Vec::new(),
        };
        let expr = lowering.value(cond);
        (expr, lowering.vars)
    }
}

struct Lowering<'l, 'a> {
    context: &'l mut Context<'a>,
    threads: &'l [Finished],
    used: &'l mut [Vec<bool>],
    vars: Vec<ThreadVar>,
}

impl Lowering<'_, '_> {
    fn value(&mut self, e: &Expr) -> PropExpr {
        // After an error any value will do: no Program comes out.
        self.try_value(e).unwrap_or(Value::Const(0))
    }

    fn try_value(&mut self, e: &Expr) -> Option<PropExpr> {
        Some(match &e.kind {
            ExprKind::Int(value) => Value::Const(*value),
            ExprKind::Place(place) => self.place(place)?,
            ExprKind::Unary(op, arg) => Value::unary(*op, self.value(arg)),
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.value(a), self.value(b));
                self.check_operands(*op, &left, &right, e);
                Value::binary(*op, left, right)
            }
            ExprKind::Cond(c, a, b) => {
                let (c, a, b) = (self.value(c), self.value(a), self.value(b));
                Value::Cond(Box::new(c), Box::new(a), Box::new(b))
            }
            ExprKind::Call(name, args) => match (wrap_of(&name.text), args.as_slice()) {
                (Some(op), [arg]) => Value::unary(op, self.value(arg)),
                _ => return self.not_a_property(e, "a call"),
            },
            ExprKind::At(thread, label) => self.location(thread, label)?,
            ExprKind::Field(thread, name, index) => self.field(thread, name, index.as_deref())?,
            ExprKind::SelfId => return self.not_a_property(e, "`self` without a thread"),
            ExprKind::Any => return self.not_a_property(e, "`*`"),
            ExprKind::Choose(_) | ExprKind::ChooseRange(..) => {
                return self.not_a_property(e, "a choice");
            }
        })
    }

    fn not_a_property(&mut self, e: &Expr, what: &str) -> Option<PropExpr> {
        self.context.report(
            Diagnostic::error(e.span, format!("{what} in a property"))
                .label("a property looks at one state")
                .help("use shared variables, `thread.local`, `t#1.self` and `thread@label`"),
        );
        None
    }

    fn check_operands(&mut self, op: BinOp, left: &PropExpr, right: &PropExpr, e: &Expr) {
        let constant = |v: &PropExpr| matches!(v, Value::Const(_));
        let wrong = match op {
            BinOp::Mul => !constant(left) && !constant(right),
            BinOp::Div | BinOp::Mod => !matches!(right, Value::Const(1..)),
            BinOp::Add | BinOp::Sub | BinOp::Shl | BinOp::Shr => false,
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => false,
            BinOp::And | BinOp::Or | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => false,
        };
        if wrong {
            self.context.report(
                Diagnostic::error(e.span, "an operation that is not linear")
                    .label("one side must be a constant, a divisor a positive one")
                    .help("use a number or a `const`"),
            );
        }
    }

    /// A shared variable, an element of a shared array, or a constant.
    fn place(&mut self, place: &Place) -> Option<PropExpr> {
        if place.index.is_none()
            && let Some(constant) = self.context.constants.get(&place.name.text)
        {
            return Some(Value::Const(constant.value));
        }
        let var = self.variable(&place.name)?;
        self.element(var, place.index.as_deref(), place)
    }

    fn variable(&mut self, name: &Name) -> Option<GlobalId> {
        if let Some(id) = self.context.global_names.get(&name.text) {
            return Some(*id);
        }
        let owners: Vec<(String, GlobalId)> = self
            .context
            .units
            .iter()
            .filter_map(|u| Some((u.ast.name.text.clone(), *u.variables.get(&name.text)?)))
            .collect();
        match owners.as_slice() {
            [(_, id)] => Some(*id),
            [] => {
                self.unknown_variable(name);
                None
            }
            [(first, _), ..] => {
                let message = format!("`{}` lives in several processes", name.text);
                self.context.report(
                    Diagnostic::error(name.span, message)
                        .label("which one?")
                        .help(format!("name the process: `{first}.{}`", name.text)),
                );
                None
            }
        }
    }

    fn unknown_variable(&mut self, name: &Name) {
        let owner = self.threads.iter().find(|t| {
            let locals = &t.template.locals;
            locals.iter().any(|l| l.name == name.text) || t.arrays.contains_key(&name.text)
        });
        if let Some(owner) = owner {
            let thread = &owner.template.name;
            let message = format!("`{}` is a local of thread `{thread}`", name.text);
            self.context.report(
                Diagnostic::error(name.span, message)
                    .label("which thread?")
                    .help(format!("name the thread: `{thread}.{}`", name.text)),
            );
            return;
        }
        let names = self.context.candidates(|context| {
            let mut names: Vec<String> = context.global_names.keys().cloned().collect();
            for unit in &context.units {
                names.extend(unit.variables.keys().cloned());
            }
            names
        });
        let known = names.iter().map(String::as_str);
        let help = "properties speak of shared variables, `thread.local` and `thread@label`";
        let message = format!("unknown variable `{}`", name.text);
        self.context.unknown(message, name, known, help);
    }

    fn element(&mut self, var: GlobalId, index: Option<&Expr>, place: &Place) -> Option<PropExpr> {
        self.context.used_globals[var.index()] = true;
        let name = &place.name.text;
        match (self.context.globals[var.index()].len, index) {
            (None, None) => Some(Value::Atom(PropAtom::Global(var, None))),
            (Some(len), Some(index)) => {
                let index_value = self.value(index);
                self.select(&index_value, len as usize, index, |i| {
                    Value::Atom(PropAtom::Global(var, Some(i as u32)))
                })
            }
            (Some(_), None) => {
                self.context.report(
                    Diagnostic::error(place.span, format!("`{name}` has several elements"))
                        .label("expected an index")
                        .help(format!("write `{name}[0]`")),
                );
                None
            }
            (None, Some(index)) => {
                self.context.report(
                    Diagnostic::error(index.span, format!("`{name}` is not an array"))
                        .label("an index needs an array")
                        .help("remove the index"),
                );
                None
            }
        }
    }

    /// Element `index` of `len`: a case distinction when the index is computed,
    /// which must be in range by its form.
    fn select(
        &mut self,
        index: &PropExpr,
        len: usize,
        at: &Expr,
        element: impl Fn(usize) -> PropExpr,
    ) -> Option<PropExpr> {
        let last = len as i64 - 1;
        if let Value::Const(c) = index
            && (0..=last).contains(c)
        {
            return Some(element(*c as usize));
        }
        let range = range_of(index, &|atom| match atom {
            PropAtom::SelfOf(t) => {
                match self.threads[self.vars[t.index()].template.index()]
                    .template
                    .count
                {
                    Count::Once => Some(Range::new(0, 0)),
                    Count::Fixed(n) => Some(Range::new(0, i64::from(n) - 1)),
                    Count::Any => None,
                }
            }
            PropAtom::Global(var, _) => self.context.globals[var.index()].domain.map(Range::from),
            PropAtom::Local(t, local) => {
                let template = self.vars[t.index()].template;
                let local = self.threads[template.index()].template.local(*local);
                local.domain.map(Range::from)
            }
            PropAtom::At(..) => Some(Range::new(0, 1)),
        });
        if !range.is_some_and(|r| r.inside(0, last)) || len > MAX_CASES {
            self.context.report(
                Diagnostic::error(at.span, "the index may be out of range")
                    .label(format!("expected 0 to {last}"))
                    .help("use a constant, `t#1.self`, or a variable with a declared range"),
            );
            return None;
        }
        Some((0..len - 1).rev().fold(element(len - 1), |rest, i| {
            let here = PropExpr::binary(BinOp::Eq, index.clone(), Value::Const(i as i64));
            Value::Cond(Box::new(here), Box::new(element(i)), Box::new(rest))
        }))
    }

    // Threads.

    fn template(&mut self, name: &Name) -> Option<usize> {
        if let Some(unit) = self.context.unit_names.get(&name.text) {
            return Some(*unit);
        }
        let names = self
            .context
            .candidates(|c| c.unit_names.keys().cloned().collect());
        let known = names.iter().map(String::as_str);
        self.context.unknown(
            format!("unknown thread `{}`", name.text),
            name,
            known,
            "properties name threads of this program",
        );
        None
    }

    /// The thread variable that `thread` stands for.
    fn thread_var(&mut self, thread: &Thread) -> Option<ThreadVarId> {
        let unit = self.template(&thread.name)?;
        let pick = self.pick(thread, self.context.units[unit].count)?;
        let template = TemplateId::from(unit);
        let var = ThreadVar { template, pick };
        let position = self.vars.iter().position(|v| *v == var);
        Some(ThreadVarId::from(position.unwrap_or_else(|| {
            self.vars.push(var);
            self.vars.len() - 1
        })))
    }

    fn pick(&mut self, thread: &Thread, count: Count) -> Option<Pick> {
        let name = &thread.name.text;
        let error = |label: String, help: String| {
            Diagnostic::error(thread.span, format!("no such copy of `{name}`"))
                .label(label)
                .help(help)
        };
        let wrong = match (&thread.pick, count) {
            (ThreadPick::Plain, Count::Once) => return Some(Pick::Only),
            (ThreadPick::Plain, Count::Fixed(_) | Count::Any) => return Some(Pick::Any(1)),
            (ThreadPick::Number(n @ 1..=1_000_000), Count::Any) => {
                return Some(Pick::Any(*n as u32));
            }
            (ThreadPick::Number(n), Count::Fixed(copies)) if (1..=copies.into()).contains(n) => {
                return Some(Pick::Any(*n as u32));
            }
            (ThreadPick::Copy(e), Count::Fixed(copies)) => {
                let copy = self.context.constant(e)?;
                if (0..i64::from(copies)).contains(&copy) {
                    return Some(Pick::Copy(copy as u32));
                }
                let help = format!("write `{name}[0]`, or `{name}#1` for any copy");
                error(format!("expected 0 to {}", copies - 1), help)
            }
            (ThreadPick::Copy(_), Count::Any) => error(
                "there may be any number of copies".to_owned(),
                format!("write `{name}#1` for some copy, `{name}#2` for another"),
            ),
            (ThreadPick::Number(_), Count::Fixed(copies)) => error(
                format!("expected #1 to #{copies}"),
                format!("`{name}#1`, `{name}#2` are distinct copies; there are {copies}"),
            ),
            (ThreadPick::Number(_), Count::Any) => error(
                "expected a number from 1".to_owned(),
                format!("write `{name}#1` for some copy, `{name}#2` for another"),
            ),
            (ThreadPick::Number(_) | ThreadPick::Copy(_), Count::Once) => error(
                "there is only one".to_owned(),
                format!("write `{name}`, or declare `thread {name}[2]`"),
            ),
        };
        self.context.report(wrong);
        None
    }

    /// `thread@label`: at any of the places with that label (an inlined function may
    /// have put it in several).
    fn location(&mut self, thread: &Thread, label: &Name) -> Option<PropExpr> {
        let var = self.thread_var(thread)?;
        let unit = self.vars[var.index()].template.index();
        let finished = &self.threads[unit];
        let labels = &finished.template.labels;
        let places = labels
            .iter()
            .filter(|l| l.name == label.text)
            .map(|l| Value::Atom(PropAtom::At(var, l.loc)));
        let here = places.reduce(|a, b| PropExpr::binary(BinOp::Or, a, b));
        if here.is_some() {
            return here;
        }
        if finished.unreachable.iter().any(|l| l.text == label.text) {
            self.context.report(
                Diagnostic::warning(label.span, format!("`{}` can never be reached", label.text))
                    .label("no path of the thread leads to this label")
                    .help("the property says nothing about it"),
            );
            return Some(Value::Const(0));
        }
        if finished.hidden.contains(&label.text) {
            let message = format!("label `{}` is inside an atomic block", label.text);
            self.context.report(
                Diagnostic::error(label.span, message)
                    .label("nobody can see a thread there")
                    .help("put the label before or behind the block"),
            );
            return None;
        }
        let known = labels.iter().map(|l| l.name.as_str());
        let message = format!("`{}` has no label `{}`", thread.name.text, label.text);
        let help = "put it before a statement: `name: ...`";
        self.context.unknown(message, label, known, help);
        None
    }

    /// `thread.local`, `thread.array[e]`, `thread.self`, `process.X`.
    fn field(&mut self, thread: &Thread, name: &Name, index: Option<&Expr>) -> Option<PropExpr> {
        let unit = self.template(&thread.name)?;
        if let Some(&var) = self.context.units[unit].variables.get(&name.text) {
            return self.process_variable(thread, unit, var, name, index);
        }
        let var = self.thread_var(thread)?;
        if name.text == "self" {
            return Some(Value::Atom(PropAtom::SelfOf(var)));
        }
        let threads = self.threads;
        let finished = &threads[unit];
        if let Some(elements) = finished.arrays.get(&name.text)
            && let Some(index) = index
        {
            let value = self.value(index);
            for element in elements {
                self.used[unit][element.index()] = true;
            }
            return self.select(&value, elements.len(), index, |i| {
                Value::Atom(PropAtom::Local(var, elements[i]))
            });
        }
        let locals = &finished.template.locals;
        if let Some(local) = locals.iter().position(|l| l.name == name.text)
            && index.is_none()
        {
            self.used[unit][local] = true;
            return Some(Value::Atom(PropAtom::Local(var, local.into())));
        }
        if let Some(index) = index {
            self.context.report(
                Diagnostic::error(
                    index.span,
                    format!("`{}` is not an array of locals", name.text),
                )
                .label("an index needs an array")
                .help("remove the index"),
            );
            return None;
        }
        let known = locals.iter().map(|l| l.name.as_str());
        let message = format!("`{}` has no local `{}`", thread.name.text, name.text);
        self.context.unknown(
            message,
            name,
            known,
            "properties name locals that the thread declares",
        );
        None
    }

    /// `p.X`, `p.A[e]`, or `p[1].X` for a process with copies.
    fn process_variable(
        &mut self,
        thread: &Thread,
        unit: usize,
        var: GlobalId,
        name: &Name,
        index: Option<&Expr>,
    ) -> Option<PropExpr> {
        let copies = self.context.units[unit].count != Count::Once;
        match (&thread.pick, copies) {
            (ThreadPick::Plain, false) => {
                let place = Place {
                    name: name.clone(),
                    index: None,
                    span: name.span,
                };
                self.element(var, index, &place)
            }
            (ThreadPick::Copy(copy), true) if index.is_none() => {
                let place = Place {
                    name: name.clone(),
                    index: None,
                    span: name.span,
                };
                self.element(var, Some(copy), &place)
            }
            (ThreadPick::Plain | ThreadPick::Copy(_) | ThreadPick::Number(_), _) => {
                let process = &thread.name.text;
                let help = if copies {
                    format!("write `{process}[0].{}`", name.text)
                } else {
                    format!("write `{process}.{}`", name.text)
                };
                self.context.report(
                    Diagnostic::error(thread.span, "which copy's variable?")
                        .label("memory is named by a certain copy")
                        .help(help),
                );
                None
            }
        }
    }
}
