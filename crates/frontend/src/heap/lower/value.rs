//! *Values* and *places*, from expressions. A value is a term over locals; what has
//! to be read on the way there is read by steps, from left to right.

use palisade_program::heap::{Place, Step, Tag, Term, Type};
use palisade_program::{FieldId, LocalId, SharedId, Span, StructId};

use super::body::{Builder, Variable};
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
    const fn plain(term: Term, base: Type) -> Self {
        Self {
            term,
            tag: None,
            ty: Some(Ty::plain(base)),
        }
    }

    fn local(variable: Variable) -> Self {
        Self {
            term: Term::Local(variable.id),
            tag: variable.tag.map(Term::Local),
            ty: Some(variable.ty),
        }
    }
}

/// What a path leads to before anything is read from its end.
enum Target {
    /// A local.
    Local(Variable),
    /// A shared word.
    Place(Place, Ty),
    /// The tag of a packed value.
    Tag(LocalId, Tag),
}

impl Builder<'_> {
    /// The value of an expression that must have type `ty`.
    pub(super) fn value_of(&mut self, expr: &Expr, ty: Ty) -> Option<Value> {
        let value = self.value(expr, None)?;
        self.fits(value, ty, expr.span).then_some(value)
    }

    /// Whether a value can be put where `ty` is asked for; says so if not.
    fn fits(&mut self, value: Value, ty: Ty, span: Span) -> bool {
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
            ExprKind::Add(left, right, minus) => self.sum(left, right, *minus, span),
        }
    }

    /// `into` if it has the type, else a temporary.
    fn target(&mut self, ty: Ty, into: Option<Variable>, span: Span) -> Variable {
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
        let (place, ty) = self.place(path)?;
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
            let place = match place {
                Place::Field { of, .. } => Some(of),
                Place::Shared(_) => None,
            };
            let used = [local(Some(new.term)), local(new.tag), place];
            used.contains(&Some(v.id)) || v.tag.is_some_and(|tag| used.contains(&Some(tag)))
        };
        let old = self.target(ty, into.filter(|v| !used(v)), span);
        self.atomic += 1;
        let read = Step::Read {
            to: old.id,
            tag: old.tag,
            from: place,
        };
        self.emit(read, span);
        self.atomic -= 1;
        let value = match (add, new.term) {
            (false, term) => term,
            (true, Term::Int(by)) => Term::Plus(old.id, by),
            (true, _) => {
                let error = Diagnostic::error(by.span, "a constant is asked for here")
                    .label("not a constant")
                    .help("count in steps: `fetch_add(x, 1)`");
                self.items.push(error);
                return None;
            }
        };
        let write = Step::Write {
            to: place,
            value,
            tag: new.tag,
        };
        self.emit(write, span);
        Some(Value::local(old))
    }

    fn sum(&mut self, left: &Expr, right: &Expr, minus: bool, span: Span) -> Option<Value> {
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
            (_, None, _, _) => {
                let error = Diagnostic::error(span, "one side must be a constant")
                    .label("two variables")
                    .help("count in steps: `x + 1`");
                self.items.push(error);
                return None;
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

    // ---- places

    pub(super) fn unknown(&mut self, name: &Name) {
        let near = suggest::nearest(&name.text, self.known()).map(str::to_owned);
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "declare it: `node n;` in the method, `shared node n;` outside".to_owned(),
        };
        let error = Diagnostic::error(name.span, format!("unknown variable `{}`", name.text))
            .label("not declared")
            .help(help);
        self.items.push(error);
    }

    /// Follows a path up to its last part.
    fn resolve(&mut self, path: &Path) -> Option<Target> {
        let mut target = if let Some(variable) = self.lookup(&path.base.text) {
            Target::Local(variable)
        } else {
            let found = self.shared.iter().position(|s| s.name == path.base.text);
            let Some(index) = found else {
                self.unknown(&path.base);
                return None;
            };
            let (base, tag) = (self.shared[index].ty, self.shared[index].tag);
            Target::Place(Place::Shared(SharedId::from(index)), Ty { base, tag })
        };
        for field in &path.fields {
            let variable = self.loaded(&target, path.base.span.to(field.span))?;
            target = self.member(variable, field)?;
        }
        Some(target)
    }

    /// A target as a local: places are read.
    fn loaded(&mut self, target: &Target, span: Span) -> Option<Variable> {
        match target {
            Target::Local(variable) => Some(*variable),
            Target::Place(from, ty) => self.load(*from, *ty, None, span),
            Target::Tag(id, tag) => Some(Variable {
                id: *id,
                tag: None,
                ty: Ty::plain(tag.ty()),
            }),
        }
    }

    fn load(
        &mut self,
        from: Place,
        ty: Ty,
        into: Option<Variable>,
        span: Span,
    ) -> Option<Variable> {
        if ty.base == Type::Lock {
            let error = Diagnostic::error(span, "a lock has no value")
                .label("cannot be read or written")
                .help("use `lock(l);` and `unlock(l);`");
            self.items.push(error);
            return None;
        }
        // A packed place may be read into a plain pointer: the tag is dropped.
        let plain = into.filter(|v| v.ty == Ty::plain(ty.base));
        let to = match plain {
            Some(variable) => variable,
            None => self.target(ty, into, span),
        };
        self.emit(
            Step::Read {
                to: to.id,
                tag: to.tag,
                from,
            },
            span,
        );
        Some(to)
    }

    /// A field of the node that a local points to.
    pub(super) fn field_of(&mut self, variable: Variable, field: &Name) -> Option<(FieldId, Ty)> {
        match self.member(variable, field)? {
            Target::Place(Place::Field { field, .. }, ty) => Some((field, ty)),
            Target::Place(Place::Shared(_), _) | Target::Local(_) | Target::Tag(..) => {
                let error = Diagnostic::error(field.span, "a field is asked for here")
                    .label("a part of the pointer's word");
                self.items.push(error.help("compare a field: `p.next`"));
                None
            }
        }
    }

    /// `variable.field`
    fn member(&mut self, variable: Variable, field: &Name) -> Option<Target> {
        match (field.text.as_str(), variable.ty.tag, variable.tag) {
            ("mark", Some(Tag::Mark), Some(id)) => return Some(Target::Tag(id, Tag::Mark)),
            ("count", Some(Tag::Count), Some(id)) => return Some(Target::Tag(id, Tag::Count)),
            ("ptr", Some(_), _) => {
                return Some(Target::Local(Variable {
                    id: variable.id,
                    tag: None,
                    ty: Ty::plain(variable.ty.base),
                }));
            }
            _ => {}
        }
        let Type::Pointer(of) = variable.ty.base else {
            let what = self.type_text(variable.ty);
            let error = Diagnostic::error(field.span, format!("{what} has no fields"))
                .label("not a pointer")
                .help("fields belong to pointers: `p.next`");
            self.items.push(error);
            return None;
        };
        let of = &self.tables.structs[of.index()];
        let Some(index) = of.fields.iter().position(|f| f.name == field.text) else {
            let known = of.fields.iter().map(|f| f.name.as_str());
            let help = match suggest::nearest(&field.text, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("add it to `struct {}`", of.name),
            };
            let message = format!("struct `{}` has no field `{}`", of.name, field.text);
            let error = Diagnostic::error(field.span, message).label("unknown field");
            self.items.push(error.help(help));
            return None;
        };
        let (base, tag) = (of.fields[index].ty, of.fields[index].tag);
        let place = Place::Field {
            of: variable.id,
            field: FieldId::from(index),
        };
        Some(Target::Place(place, Ty { base, tag }))
    }

    fn read(&mut self, path: &Path, into: Option<Variable>) -> Option<Value> {
        match self.resolve(path)? {
            Target::Place(from, ty) => {
                let variable = self.load(from, ty, into, path.span)?;
                Some(Value::local(variable))
            }
            target @ (Target::Local(_) | Target::Tag(..)) => {
                self.loaded(&target, path.span).map(Value::local)
            }
        }
    }

    /// A shared word that a path names, to be written; with its type.
    pub(super) fn place(&mut self, path: &Path) -> Option<(Place, Ty)> {
        match self.resolve(path)? {
            Target::Place(place, ty) => Some((place, ty)),
            Target::Local(_) => {
                let error = Diagnostic::error(path.span, "a local is not shared")
                    .label("no other thread sees it")
                    .help("name a shared variable, or a field such as `p.next`");
                self.items.push(error);
                None
            }
            Target::Tag(..) => {
                let error = Diagnostic::error(path.span, "a tag cannot be used alone")
                    .label("it is one word with its pointer")
                    .help("use the whole: `pack(pointer, tag)`");
                self.items.push(error);
                None
            }
        }
    }

    pub(super) fn lock_place(&mut self, path: &Path) -> Option<Place> {
        let (place, ty) = self.place(path)?;
        if ty.base == Type::Lock {
            return Some(place);
        }
        let what = self.type_text(ty);
        let error = Diagnostic::error(path.span, format!("expected a lock, found {what}"))
            .label("not a lock")
            .help("declare it with type `lock`");
        self.items.push(error);
        None
    }

    /// `place = value` for what is no whole local.
    pub(super) fn write(&mut self, path: &Path, value: &Expr, span: Span) {
        let Some(target) = self.resolve(path) else {
            return;
        };
        let (place, ty) = match target {
            Target::Place(place, ty) => (place, ty),
            // A part of a packed local.
            Target::Local(variable) => return self.assign_local(variable, value, span),
            Target::Tag(id, tag) => {
                let named = self
                    .lookup(&path.base.text)
                    .filter(|_| path.fields.len() == 1);
                if named.is_none() {
                    self.place(path);
                    return;
                }
                let ty = Ty::plain(tag.ty());
                let variable = Variable { id, tag: None, ty };
                return self.assign_local(variable, value, span);
            }
        };
        if ty.base == Type::Lock {
            let error = Diagnostic::error(path.span, "a lock cannot be assigned")
                .label("a lock")
                .help("use `lock(l);` and `unlock(l);`");
            self.items.push(error);
            return;
        }
        let Some(value) = self.fitting(value, ty) else {
            return;
        };
        let step = Step::Write {
            to: place,
            value: value.term,
            tag: value.tag,
        };
        self.emit(step, span);
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
