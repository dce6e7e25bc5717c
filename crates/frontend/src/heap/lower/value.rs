//! *Values*, from expressions. A value is a term over locals; what has
//! to be read on the way there is read by steps, from left to right.

use palisade_program::heap::{Operator, Step, Tag, Term, Type};
use palisade_program::{Span, StructId};

use super::body::{Builder, Variable};
use super::functions::{Called, Wanted};
use super::{Ty, cond};
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{Expr, ExprKind, Name, Path};
use crate::pal::suggest;

/// A value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) term: Term,
    pub(super) tag: Option<Term>,
    /// `None` for the null pointer, which is of every pointer type.
    pub(super) ty: Option<Ty>,
}

impl Value {
    pub(super) const fn plain(term: Term, base: Type) -> Self {
        Self {
            term,
            tag: None,
            ty: Some(Ty::plain(base)),
        }
    }

    pub(super) fn local(variable: Variable) -> Self {
        Self {
            term: Term::Local(variable.id),
            tag: variable.tag.map(Term::Local),
            ty: Some(variable.ty),
        }
    }
}

impl Builder<'_> {
    /// The value of an expression that must have type `ty`.
    pub(super) fn value_of(&mut self, expr: &Expr, ty: Ty) -> Option<Value> {
        let value = self.value(expr, None)?;
        self.fits(value, ty, expr.span).then_some(value)
    }

    /// Whether a value can be put where `ty` is asked for; says so if not.
    pub(super) fn fits(&mut self, value: Value, ty: Ty, span: Span) -> bool {
        let is_pointer = matches!(ty.base, Type::Pointer(_));
        let (base, tag) = match value.ty {
            None => (is_pointer, None),
            Some(found) => (found.base == ty.base, found.tag),
        };
        if base && (ty.tag.is_none() || tag == ty.tag) {
            return true;
        }
        let wanted = self.type_text(ty);
        let found = value.ty.map_or("null".to_owned(), |ty| self.type_text(ty));
        let help = match ty.tag {
            Some(Tag::Mark) if base => "write `pack(pointer, bit)`".to_owned(),
            Some(Tag::Count) if base => "write `pack(pointer, number)`".to_owned(),
            Some(_) | None => format!("expected {wanted}"),
        };
        let error = Diagnostic::error(span, format!("expected {wanted}, found {found}"))
            .label(format!("this is {found}"))
            .help(help);
        self.items.push(error);
        false
    }

    pub(super) fn type_text(&self, ty: Ty) -> String {
        let tag = match ty.tag {
            Some(Tag::Mark) => "marked ",
            Some(Tag::Count) => "counted ",
            None => "",
        };
        let base = match ty.base {
            Type::Data => "data",
            Type::Int => "int",
            Type::Bool => "bool",
            Type::Lock => "lock",
            Type::Pointer(id) => &self.tables.structs[id.index()].name,
        };
        format!("{tag}{base}")
    }

    /// The value of an expression. If it has to be put somewhere anyway, it is put into
    /// `into` when that has the same type.
    pub(super) fn value(&mut self, expr: &Expr, into: Option<Variable>) -> Option<Value> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Null => Some(Value {
                term: Term::Null,
                tag: None,
                ty: None,
            }),
            ExprKind::Empty => Some(Value::plain(Term::Empty, Type::Data)),
            ExprKind::Infinity(positive) => {
                Some(Value::plain(Term::Infinity(*positive), Type::Data))
            }
            ExprKind::Bool(value) => Some(Value::plain(Term::Bool(*value), Type::Bool)),
            ExprKind::Int(value) => Some(Value::plain(Term::Int(*value), Type::Int)),
            ExprKind::Any => {
                let ty = into.map(|v| v.ty.base);
                let base = match ty {
                    Some(base @ (Type::Int | Type::Bool)) => base,
                    Some(Type::Data | Type::Lock | Type::Pointer(_)) | None => {
                        let error = Diagnostic::error(span, "`*` cannot stand here")
                            .label("any value of which type?")
                            .help("`b = *;` chooses a bool or an int, `if (*)` a branch");
                        self.items.push(error);
                        return None;
                    }
                };
                let to = self.target(Ty::plain(base), into, span);
                self.emit(Step::Havoc { to: to.id }, span);
                Some(Value::local(to))
            }
            ExprKind::Path(path) => self.read(path, into),
            ExprKind::New(name) => {
                let of = self.struct_id(name)?;
                let to = self.target(Ty::plain(Type::Pointer(of)), into, span);
                self.emit(Step::New { to: to.id }, span);
                Some(Value::local(to))
            }
            ExprKind::Pack(pointer, tag) => self.pack(pointer, tag),
            ExprKind::Swap(place, by, add) => self.swap(place, by, *add, into, span),
            ExprKind::Cas(..)
            | ExprKind::Not(_)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Compare(..) => {
                let to = self.target(Ty::plain(Type::Bool), into, span);
                // Whether a `cas` succeeds is known together with it: one step.
                self.atomic += u32::from(cond::is_cas(expr));
                let (yes, no) = (self.fresh(), self.fresh());
                self.atomic -= u32::from(cond::is_cas(expr));
                let after = self.fresh();
                self.branch(expr, yes, no);
                for (at, truth) in [(yes, true), (no, false)] {
                    self.at = at;
                    let value = Term::Bool(truth);
                    self.edge_to(after, Step::Assign { to: to.id, value }, span);
                }
                self.at = after;
                Some(Value::local(to))
            }
            ExprKind::Add(left, right, minus) => self.sum(left, right, *minus, into, span),
            ExprKind::Remainder(left, right) => self.remainder(left, right, into, span),
            ExprKind::Call(name, arguments) => {
                match self.call(name, arguments, Wanted::Value(into)) {
                    Called::Value(value) => Some(value),
                    Called::Wrong | Called::Branched => None,
                    Called::Nothing => {
                        self.no_result(name, span);
                        None
                    }
                }
            }
        }
    }

    /// `into` if it has the type, else a temporary.
    pub(super) fn target(&mut self, ty: Ty, into: Option<Variable>, span: Span) -> Variable {
        if let Some(variable) = into.filter(|v| v.ty == ty) {
            return variable;
        }
        let id = self.temporary(ty.base, span);
        let tag = ty.tag.map(|tag| self.temporary(tag.ty(), span));
        Variable { id, tag, ty }
    }

    fn struct_id(&mut self, name: &Name) -> Option<StructId> {
        let structs = &self.tables.structs;
        if let Some(index) = structs.iter().position(|s| s.name == name.text) {
            return Some(StructId::from(index));
        }
        let known = structs.iter().map(|s| s.name.as_str());
        let help = match suggest::nearest(&name.text, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "declare it with `struct`".to_owned(),
        };
        let error = Diagnostic::error(name.span, format!("unknown struct `{}`", name.text))
            .label("not declared")
            .help(help);
        self.items.push(error);
        None
    }

    fn pack(&mut self, pointer: &Expr, tag: &Expr) -> Option<Value> {
        let value = self.value(pointer, None)?;
        let tag_value = self.value(tag, None)?;
        let kind = match tag_value.ty.map(|ty| ty.base) {
            Some(Type::Bool) => Tag::Mark,
            Some(Type::Int) => Tag::Count,
            Some(Type::Data | Type::Lock | Type::Pointer(_)) | None => {
                let error = Diagnostic::error(tag.span, "expected a tag")
                    .label("not a bool or int")
                    .help("the tag of `marked` is a bool, that of `counted` an int");
                self.items.push(error);
                return None;
            }
        };
        match value.ty.map(|ty| ty.base) {
            None => Some(Value {
                // Of which struct a packed null is, only its use can tell.
                term: Term::Null,
                tag: Some(tag_value.term),
                ty: None,
            }),
            Some(base @ Type::Pointer(_)) => Some(Value {
                term: value.term,
                tag: Some(tag_value.term),
                ty: Some(Ty {
                    base,
                    tag: Some(kind),
                }),
            }),
            Some(Type::Data | Type::Int | Type::Bool | Type::Lock) => {
                let error = Diagnostic::error(pointer.span, "expected a pointer")
                    .label("not a pointer")
                    .help("write `pack(pointer, tag)`");
                self.items.push(error);
                None
            }
        }
    }

    /// `xchg(place, new)`, `fetch_add(place, number)`: reads and writes in one step, and gives the old value.
    fn swap(
        &mut self,
        path: &Path,
        by: &Expr,
        add: bool,
        into: Option<Variable>,
        span: Span,
    ) -> Option<Value> {
        let (spot, ty) = self.place(path)?;
        if ty.base == Type::Lock || (add && (ty.base != Type::Int || ty.tag.is_some())) {
            let what = self.type_text(ty);
            let error = Diagnostic::error(path.span, format!("{what} cannot be changed like this"))
                .label("not of a type that this works on")
                .help("`fetch_add` is for ints, `xchg` for all types but locks");
            self.items.push(error);
            return None;
        }
        let new = self.fitting(by, ty)?;
        // The new value may be what the old one is read into.
        let used = |v: &Variable| {
            let local = |t: Option<Term>| t.and_then(Term::local);
            let plus = match new.term {
                Term::Plus(id, _) => Some(id),
                _ => None,
            };
            let used = [local(Some(new.term)), local(new.tag), plus, spot.of()];
            used.contains(&Some(v.id)) || v.tag.is_some_and(|tag| used.contains(&Some(tag)))
        };
        let old = self.target(ty, into.filter(|v| !used(v)), span);
        let sum = match (add, new.term) {
            (true, Term::Int(_)) | (false, _) => None,
            (true, _) => Some(self.temporary(Type::Int, span)),
        };
        self.at_each(&spot, span, |builder, place| {
            builder.atomic += 1;
            let read = Step::Read {
                to: old.id,
                tag: old.tag,
                from: place,
            };
            builder.emit(read, span);
            let value = match (add, new.term, sum) {
                (true, Term::Int(by), _) => Term::Plus(old.id, by),
                (true, right, Some(to)) => {
                    let compute = Step::Compute {
                        to,
                        operator: Operator::Add,
                        left: Term::Local(old.id),
                        right,
                    };
                    builder.emit(compute, span);
                    Term::Local(to)
                }
                (_, term, _) => term,
            };
            builder.atomic -= 1;
            let write = Step::Write {
                to: place,
                value,
                tag: new.tag,
            };
            builder.emit(write, span);
        });
        Some(Value::local(old))
    }

    fn sum(
        &mut self,
        left: &Expr,
        right: &Expr,
        minus: bool,
        into: Option<Variable>,
        span: Span,
    ) -> Option<Value> {
        let a = self.value_of(left, Ty::plain(Type::Int))?;
        let b = self.value_of(right, Ty::plain(Type::Int))?;
        let constant = |term: Term| {
            if let Term::Int(value) = term {
                return Some(value);
            }
            None
        };
        let (base, by) = match (a.term, constant(b.term), constant(a.term), minus) {
            (base, Some(by), _, true) => (base, by.checked_neg()),
            (base, Some(by), _, false) => (base, Some(by)),
            (_, None, Some(by), false) => (b.term, Some(by)),
            (left, None, _, _) => {
                let operator = if minus {
                    Operator::Subtract
                } else {
                    Operator::Add
                };
                return Some(self.compute(operator, left, b.term, into, span));
            }
        };
        let term = match base {
            Term::Int(value) => by.and_then(|by| value.checked_add(by)).map(Term::Int),
            Term::Local(id) => by.map(|by| Term::Plus(id, by)),
            Term::Plus(id, first) => {
                let sum = by.and_then(|by| first.checked_add(by));
                sum.map(|by| Term::Plus(id, by))
            }
            Term::Null | Term::Empty | Term::Infinity(_) | Term::Undefined => None,
            Term::Bool(_) | Term::Shared(_) => None,
        };
        if term.is_none() {
            let error = Diagnostic::error(span, "the number is too large").label("beyond 64 bits");
            self.items.push(error.help("use smaller numbers"));
        }
        Some(Value::plain(term?, Type::Int))
    }

    /// `a % b`; the divisor is a positive constant.
    fn remainder(
        &mut self,
        left: &Expr,
        right: &Expr,
        into: Option<Variable>,
        span: Span,
    ) -> Option<Value> {
        let a = self.value_of(left, Ty::plain(Type::Int))?;
        let Some(by) = right.number().filter(|by| *by > 0) else {
            let error = Diagnostic::error(right.span, "a positive constant is asked for here")
                .label("the divisor of `%`")
                .help("write `x % 4`, or declare `const N = 4;`");
            self.items.push(error);
            return None;
        };
        if let Term::Int(value) = a.term {
            return Some(Value::plain(Term::Int(value.rem_euclid(by)), Type::Int));
        }
        let operator = Operator::Remainder;
        Some(self.compute(operator, a.term, Term::Int(by), into, span))
    }

    fn compute(
        &mut self,
        operator: Operator,
        left: Term,
        right: Term,
        into: Option<Variable>,
        span: Span,
    ) -> Value {
        let to = self.target(Ty::plain(Type::Int), into, span);
        let step = Step::Compute {
            to: to.id,
            operator,
            left,
            right,
        };
        self.emit(step, span);
        Value::local(to)
    }

    /// The value of an expression for a place of type `ty`: with a tag exactly if the
    /// place has one.
    pub(super) fn fitting(&mut self, expr: &Expr, ty: Ty) -> Option<Value> {
        let mut value = self.value(expr, None)?;
        if value.ty.is_none() && value.tag.is_some() && ty.tag.is_some() {
            // A packed null: its tag tells which kind it is.
            let kind = match (value.tag, &expr.kind) {
                (Some(tag), ExprKind::Pack(..)) => self.term_type(tag),
                _ => None,
            };
            if kind == ty.tag.map(Tag::ty) {
                return Some(value);
            }
        }
        if !self.fits(value, ty, expr.span) {
            return None;
        }
        if ty.tag.is_none() {
            value.tag = None;
        }
        Some(value)
    }

    fn term_type(&self, term: Term) -> Option<Type> {
        match term {
            Term::Bool(_) => Some(Type::Bool),
            Term::Int(_) | Term::Plus(..) => Some(Type::Int),
            Term::Local(id) => Some(self.body.locals[id.index()].ty),
            Term::Shared(id) => Some(self.shared[id.index()].ty),
            Term::Empty | Term::Infinity(_) | Term::Undefined => Some(Type::Data),
            Term::Null => None,
        }
    }

    /// `local = value`
    pub(super) fn assign_local(&mut self, variable: Variable, value: &Expr, span: Span) {
        // Conditions write their outcome straight into the local; what they read of it
        // has been read by then.
        let into = Some(variable);
        let found = match &value.kind {
            ExprKind::Pack(..) => self.fitting(value, variable.ty),
            _ if cond::is_compound(value) => self.value(value, into),
            _ => {
                let found = self.value(value, into);
                found.filter(|&found| self.fits(found, variable.ty, value.span))
            }
        };
        let Some(found) = found else { return };
        if cond::is_compound(value) && !self.fits(found, variable.ty, value.span) {
            return;
        }
        if found.term != Term::Local(variable.id) {
            let step = Step::Assign {
                to: variable.id,
                value: found.term,
            };
            self.emit(step, span);
        }
        if let (Some(to), Some(tag)) = (variable.tag, found.tag)
            && tag != Term::Local(to)
        {
            self.emit(Step::Assign { to, value: tag }, span);
        }
    }
}
