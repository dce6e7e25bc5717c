//! *Predicates of C programs* [Donaldson et al., CAV 2011, sections 2.1, 3], with their scope:
//!
//! ```text
//! shared x == 0        // over shared variables
//! worker: l == 0       // over locals of the threads that run `worker`
//! worker: l == x       // mixed
//! worker: *p == 1      // over what a pointer points to
//! ```
//!
//! One on each line, in a file or in comments of the program that start with `//@ predicate`.
//! Expressions are C's, without calls and assignments.
//!
//! **Pointers** are followed case by case, as statements are ([`super::lower`]): `*p == 1` becomes
//! `p == &x && x == 1` for every `x` whose address the program takes. Both parts are
//! predicates of their own, so that after `*q = v` the value of `*p == 1` is found by asking
//! what `p` and `q` point to: that is Morris's axiom, with aliasing as predicates.
//!
//! A predicate is a suggestion: one that says nothing useful costs time, never correctness.

use std::collections::BTreeSet;

use palisade_program::{
    BinOp, Count, Expr as Value, GlobalId, Hint, Init, LocalExpr, LocalId, Pick, Program, PropAtom,
    PropExpr, Source, Span, TemplateId, ThreadVar, ThreadVarId, UnOp,
};

use super::ast::{Binary, Expr, ExprKind, Item, StmtKind, Unary};
use super::types::DataModel;
use super::{lexer, parser};
use crate::diagnostic::{Diagnostic, Diagnostics};

/// How a comment with a predicate starts.
const MARK: &str = "//@ predicate ";
/// Most cases of one predicate.
const MAX_CASES: usize = 256;
const HELP: &str = "write `shared x == 0`, `worker: l == x` or `worker: *p == 1`";

/// The predicates in the comments of a program's text, each on its line; none if there are none.
pub fn noted(source: &Source) -> Option<Source> {
    let line = |line: &str| match line.split_once(MARK) {
        Some((before, predicate)) if before.trim().is_empty() => predicate.to_owned(),
        Some(_) | None => String::new(),
    };
    let lines: Vec<String> = source.text().lines().map(line).collect();
    let any = lines.iter().any(|l| !l.is_empty());
    any.then(|| Source::new(source.name(), lines.join("\n")))
}

/// The program with the predicates of `extra` added.
pub fn with_predicates(program: &Program, extra: &Source) -> Result<Program, Diagnostics> {
    let mut errors = Vec::new();
    let mut added = program.clone();
    let mut start = 0;
    for line in extra.text().split_inclusive('\n') {
        let span = Span::new(start, start + line.trim_end().len());
        start += line.len();
        let code = line.split("//").next().unwrap_or_default().trim();
        let code = code.strip_prefix("predicate ").unwrap_or(code);
        let code = code.trim_end_matches(';').trim();
        if code.is_empty() {
            continue;
        }
        match hints(program, code) {
            Ok(hints) => added.hints.extend(hints),
            Err(what) => errors.push(Diagnostic::error(span, what).help(HELP)),
        }
    }
    if errors.is_empty() {
        Ok(added)
    } else {
        Err(Diagnostics::new(extra.clone(), errors))
    }
}

/// The scope of a predicate, and the predicate.
fn scope<'c>(program: &Program, code: &'c str) -> Result<(Option<TemplateId>, &'c str), String> {
    if let Some(rest) = code.strip_prefix("shared ") {
        return Ok((None, rest));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match code.split_once(':') {
        Some((thread, rest)) if thread.trim().chars().all(is_name) => {
            let named = program.template_named(thread.trim());
            let template = named.ok_or_else(|| format!("no thread runs `{}`", thread.trim()))?;
            Ok((Some(template), rest))
        }
        Some(_) | None => Ok((None, code)),
    }
}

fn hints(program: &Program, code: &str) -> Result<Vec<Hint>, String> {
    let (template, code) = scope(program, code)?;
    let parsed = expression(code)?;
    let threads: Vec<ThreadVar> = template
        .map(|template| ThreadVar {
            template,
            pick: match program.template(template).count {
                Count::Once => Pick::Only,
                Count::Fixed(_) | Count::Any => Pick::Any(1),
            },
        })
        .into_iter()
        .collect();
    let scope = Scope { program, template };
    let hint = |(conditions, value): (Vec<PropExpr>, PropExpr)| Hint {
        threads: threads.clone(),
        expr: conditions.into_iter().fold(value, |value, condition| {
            Value::binary(BinOp::And, condition, value)
        }),
        span: Span::default(),
    };
    Ok(scope.value(&parsed)?.into_iter().map(hint).collect())
}

/// An expression of C.
fn expression(code: &str) -> Result<Expr, String> {
    let text = format!("long predicate(void) {{ return {code}; }}");
    let source = Source::new("predicate", text.as_str());
    let wrong = || format!("`{code}` is no expression");
    let tokens = lexer::lex(&text, &source, lexer::Origin::Itself(0)).map_err(|_| wrong())?;
    let units = [("predicate".to_owned(), tokens)];
    let file = parser::parse(&units, DataModel::default(), false).map_err(|_| wrong())?;
    let mut items = file.items.into_iter();
    let (Some(Item::Function(function)), None) = (items.next(), items.next()) else {
        return Err(wrong());
    };
    let mut body = function.body.into_iter();
    match (body.next().map(|s| s.kind), body.next()) {
        (Some(StmtKind::Return(Some(value))), None) => Ok(value),
        _ => Err(wrong()),
    }
}

/// A value under conditions.
type Case = (Vec<PropExpr>, PropExpr);

struct Scope<'p> {
    program: &'p Program,
    template: Option<TemplateId>,
}

impl Scope<'_> {
    /// All cases of an expression.
    fn value(&self, e: &Expr) -> Result<Vec<Case>, String> {
        let one = |value: PropExpr| Ok(vec![(Vec::new(), value)]);
        match &e.kind {
            ExprKind::Int(value, _) => {
                let value = i64::try_from(*value).map_err(|_| "a number beyond 64 bits")?;
                one(Value::Const(value))
            }
            ExprKind::Unary(op, inner) => match op {
                Unary::Plus => self.value(inner),
                Unary::Minus => self.unary(UnOp::Neg, inner),
                Unary::Not => self.unary(UnOp::Not, inner),
                Unary::Deref => self.targets(&self.value(inner)?, None),
                Unary::Address => one(Value::Const(self.address(inner)?)),
                Unary::BitNot => Err("`~` in a predicate".to_owned()),
                Unary::PreIncrement | Unary::PreDecrement => Err(changes()),
                Unary::PostIncrement | Unary::PostDecrement => Err(changes()),
            },
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.value(a)?, self.value(b)?);
                let mut all = Vec::new();
                for (conditions, x) in &left {
                    for (more, y) in &right {
                        let conditions = [&conditions[..], more].concat();
                        let value = Value::binary(binary(*op), x.clone(), y.clone());
                        all.push((conditions, value));
                    }
                }
                few(all)
            }
            ExprKind::Arrow(pointer, field) => self.targets(&self.value(pointer)?, Some(field)),
            ExprKind::Ident(_) | ExprKind::Index(..) | ExprKind::Member(..) => {
                let (name, index) = path(e)?;
                self.variable(&name, index)
            }
            ExprKind::Cast(_, inner) => self.value(inner),
            ExprKind::Cond(..) | ExprKind::Call(..) | ExprKind::Assign(..) => Err(changes()),
            ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::Comma(..) => Err(changes()),
            ExprKind::Statements(_) | ExprKind::Compound(..) => Err(changes()),
            ExprKind::UnknownSize => Err("`sizeof` in a predicate".to_owned()),
        }
    }

    fn unary(&self, op: UnOp, e: &Expr) -> Result<Vec<Case>, String> {
        let cases = self.value(e)?.into_iter();
        Ok(cases.map(|(c, v)| (c, Value::unary(op, v))).collect())
    }

    /// A local of the thread, each that has the name; else a shared variable.
    fn variable(&self, name: &str, index: Option<u32>) -> Result<Vec<Case>, String> {
        let mut all = Vec::new();
        if let (Some(template), None) = (self.template, index) {
            for (number, local) in self.program.template(template).locals.iter().enumerate() {
                if local.name == name {
                    let atom = PropAtom::Local(ThreadVarId::from(0), LocalId::from(number));
                    all.push((Vec::new(), Value::Atom(atom)));
                }
            }
        }
        if all.is_empty()
            && let Some(cell) = self.cell(name, index)
        {
            all.push((Vec::new(), cell));
        }
        if all.is_empty() {
            return Err(format!("there is no variable `{name}` here"));
        }
        Ok(all)
    }

    /// A shared variable, or an element of one.
    fn cell(&self, name: &str, index: Option<u32>) -> Option<PropExpr> {
        let globals = &self.program.globals;
        let number = globals.iter().position(|g| g.name == name)?;
        let inside = match index {
            Some(index) => (index as usize) < globals[number].cell_count(),
            None => globals[number].len.is_none(),
        };
        let atom = PropAtom::Global(GlobalId::from(number), index);
        inside.then_some(Value::Atom(atom))
    }

    /// The cell with a name such as `a[3]` or `q.head`.
    fn named(&self, name: &str) -> Option<PropExpr> {
        let indexed = name.strip_suffix(']').and_then(|n| n.rsplit_once('['));
        match indexed {
            Some((variable, index)) => self.cell(variable, Some(index.parse().ok()?)),
            None => self.cell(name, None),
        }
    }

    /// What a pointer may point to, or a member of that: one case for each address.
    fn targets(&self, pointers: &[Case], field: Option<&str>) -> Result<Vec<Case>, String> {
        let taken = self.taken();
        let mut all = Vec::new();
        for (conditions, pointer) in pointers {
            for (address, name) in &self.program.names.addresses {
                if !taken.contains(variable_of(name)) {
                    continue;
                }
                let target = match field {
                    None => self.named(name),
                    Some(field) => self.named(&format!("{name}.{field}")).or_else(|| {
                        let is_first = name.strip_suffix(field).is_some_and(|n| n.ends_with('.'));
                        is_first.then(|| self.named(name)).flatten()
                    }),
                };
                let Some(target) = target else { continue };
                let here = Value::binary(BinOp::Eq, pointer.clone(), Value::Const(*address));
                let mut conditions = conditions.clone();
                conditions.push(here);
                all.push((conditions, target));
            }
        }
        if all.is_empty() {
            return Err("the pointer points to nothing that has a name".to_owned());
        }
        few(all)
    }

    /// The variables and objects whose addresses occur in the program.
    fn taken(&self) -> BTreeSet<&str> {
        let mut constants = BTreeSet::new();
        let locals = self.program.templates.iter().flat_map(|t| &t.locals);
        let inits = self.program.globals.iter().flat_map(|g| &g.init);
        for init in inits.chain(locals.map(|l| &l.init)) {
            match init {
                Init::Value(value) => drop(constants.insert(*value)),
                Init::Any => {}
            }
        }
        for template in &self.program.templates {
            for edge in &template.cfg.edges {
                edge.step.for_each_expr(&mut |e| collect(e, &mut constants));
            }
        }
        let names = self.program.names.addresses.iter();
        let names = names.filter(|(address, _)| constants.contains(address));
        names.map(|(_, name)| variable_of(name)).collect()
    }

    /// The address of a variable.
    fn address(&self, e: &Expr) -> Result<i64, String> {
        let (name, index) = path(e)?;
        let name = index.map_or_else(|| name.clone(), |i| format!("{name}[{i}]"));
        let mut addresses = self.program.names.addresses.iter();
        let found = addresses.find(|(_, own)| **own == name);
        let found = found.map(|(address, _)| *address);
        found.ok_or_else(|| format!("the program does not take the address of `{name}`"))
    }
}

/// The numbers in an expression.
fn collect(e: &LocalExpr, constants: &mut BTreeSet<i64>) {
    match e {
        Value::Const(value) => drop(constants.insert(*value)),
        Value::Atom(_) => {}
        Value::Unary(_, inner) => collect(inner, constants),
        Value::Binary(_, a, b) => {
            collect(a, constants);
            collect(b, constants);
        }
        Value::Cond(c, a, b) => {
            collect(c, constants);
            collect(a, constants);
            collect(b, constants);
        }
    }
}

/// The variable of a cell, without the member or the element: `q` of `q.next[3]`.
fn variable_of(name: &str) -> &str {
    name.split(['.', '[']).next().unwrap_or(name)
}

/// The name of a variable and the number of its element: `q.slots[2]`, `q[2].slots`.
fn path(e: &Expr) -> Result<(String, Option<u32>), String> {
    match &e.kind {
        ExprKind::Ident(name) => Ok((name.clone(), None)),
        ExprKind::Member(inner, field) => {
            let (name, index) = path(inner)?;
            Ok((format!("{name}.{field}"), index))
        }
        ExprKind::Index(inner, index) => match (path(inner)?, &index.kind) {
            ((name, None), ExprKind::Int(index, _)) => {
                let index = u32::try_from(*index).map_err(|_| "an index out of range")?;
                Ok((name, Some(index)))
            }
            _ => Err("an index that is no number".to_owned()),
        },
        _ => Err("no variable".to_owned()),
    }
}

fn few(cases: Vec<Case>) -> Result<Vec<Case>, String> {
    if cases.len() > MAX_CASES {
        return Err("too many cases of pointers".to_owned());
    }
    Ok(cases)
}

fn changes() -> String {
    "a predicate looks at one state: no calls, choices or assignments".to_owned()
}

const fn binary(op: Binary) -> BinOp {
    match op {
        Binary::Add => BinOp::Add,
        Binary::Sub => BinOp::Sub,
        Binary::Mul => BinOp::Mul,
        Binary::Div => BinOp::Div,
        Binary::Rem => BinOp::Mod,
        Binary::Shl => BinOp::Shl,
        Binary::Shr => BinOp::Shr,
        Binary::Lt => BinOp::Lt,
        Binary::Gt => BinOp::Gt,
        Binary::Le => BinOp::Le,
        Binary::Ge => BinOp::Ge,
        Binary::Eq => BinOp::Eq,
        Binary::Ne => BinOp::Ne,
        Binary::BitAnd => BinOp::BitAnd,
        Binary::BitOr => BinOp::BitOr,
        Binary::BitXor => BinOp::BitXor,
        Binary::And => BinOp::And,
        Binary::Or => BinOp::Or,
    }
}
