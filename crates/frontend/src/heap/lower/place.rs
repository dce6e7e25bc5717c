//! *Places*: what a path names. A path leads from a variable over fields and indices; what has to be
//! read on the way is read by steps, from left to right.
//!
//! An array is as many variables as it has elements. An access with an index that is not known from
//! the text is a branch for each element, over the index, which is a local and does not change in
//! between; the access itself is one step, as for any other word. An index that fits none is a
//! violation ([`Failure::Index`]).

use palisade_program::heap::{Cond, Failure, Place, Role, Step, Tag, Term, Type};
use palisade_program::{FieldId, LocId, LocalId, SharedId, Span};

use super::Ty;
use super::body::{Builder, Variable};
use super::tables::elements;
use super::value::Value;
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{Expr, ExprKind, Name, Part, Path};
use crate::pal::suggest;

/// What a path leads to before anything is read from its end.
enum Target {
    /// A local.
    Local(Variable),
    /// A shared word, or one of several.
    Place(Spot, Ty),
    /// The tag of a packed value.
    Tag(LocalId, Tag),
    /// One of several locals.
    Element(Vec<Variable>, Index),
    /// A whole array of shared words.
    Places(Vec<Place>, Ty),
    /// A whole array of locals.
    Locals(Vec<Variable>),
}

/// A shared word, or one of several.
pub(super) enum Spot {
    One(Place),
    /// The one with this index.
    Indexed(Vec<Place>, Index),
}

/// An index that is not known from the text.
#[derive(Clone, Copy)]
pub(super) struct Index {
    term: Term,
    /// It is a remainder by this: not negative, and less.
    below: Option<usize>,
}

impl Spot {
    /// The local that is followed to a node.
    pub(super) fn of(&self) -> Option<LocalId> {
        let place = match self {
            Self::One(place) => Some(place),
            Self::Indexed(places, _) => places.first(),
        };
        match place {
            Some(Place::Field { of, .. }) => Some(*of),
            Some(Place::Shared(_)) | None => None,
        }
    }
}

impl Builder<'_> {
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
        let mut target = self.base(&path.base)?;
        let mut span = path.base.span;
        for part in &path.parts {
            target = match part {
                Part::Field(field) => {
                    span = span.to(field.span);
                    let variable = self.loaded(&target, span)?;
                    self.member(variable, field)?
                }
                Part::Index(index) => {
                    span = span.to(index.span);
                    self.indexed(target, index, span)?
                }
            };
        }
        if matches!(target, Target::Places(..) | Target::Locals(_)) {
            self.whole_array(path.span);
            return None;
        }
        Some(target)
    }

    /// What the first name of a path means.
    fn base(&mut self, name: &Name) -> Option<Target> {
        if let Some(variable) = self.lookup(&name.text) {
            return Some(Target::Local(self.copied(variable, name.span)));
        }
        if let Some(array) = self.lookup_array(&name.text) {
            return Some(Target::Locals(array));
        }
        let shared = |index: usize| Place::Shared(SharedId::from(index));
        let ty = |index: usize| {
            let (base, tag) = (self.shared[index].ty, self.shared[index].tag);
            Ty { base, tag }
        };
        if let Some(index) = self.shared.iter().position(|s| s.name == name.text) {
            return Some(Target::Place(Spot::One(shared(index)), ty(index)));
        }
        let names = self.shared.iter().map(|s| s.name.as_str());
        if let Some(array) = elements(names, &name.text) {
            let ty = ty(array.start);
            return Some(Target::Places(array.map(shared).collect(), ty));
        }
        self.unknown(name);
        None
    }

    /// A function may change what the thread keeps, between the moment at which an expression reads it and
    /// the one at which it is used: so its value is copied.
    fn copied(&mut self, variable: Variable, span: Span) -> Variable {
        let kept = matches!(self.body.locals[variable.id.index()].role, Role::Kept(_));
        if !kept || self.assigns || self.tables.functions.is_empty() {
            return variable;
        }
        let copy = self.target(variable.ty, None, span);
        let words = [Some((copy.id, variable.id)), copy.tag.zip(variable.tag)];
        for (to, from) in words.into_iter().flatten() {
            let value = Term::Local(from);
            self.emit(Step::Assign { to, value }, span);
        }
        copy
    }

    fn whole_array(&mut self, span: Span) {
        let error = Diagnostic::error(span, "an array cannot be used as a whole")
            .label("an element is asked for")
            .help("name an element: `a[i]`");
        self.items.push(error);
    }

    /// `target[index]`
    fn indexed(&mut self, target: Target, index: &Expr, span: Span) -> Option<Target> {
        let length = match &target {
            Target::Places(places, _) => places.len(),
            Target::Locals(locals) => locals.len(),
            Target::Local(_) | Target::Place(..) | Target::Tag(..) | Target::Element(..) => {
                let error = Diagnostic::error(span, "this is no array")
                    .label("has no elements")
                    .help("declare it with its length: `data items[4];`");
                self.items.push(error);
                return None;
            }
        };
        let assigns = std::mem::replace(&mut self.assigns, false);
        let value = self.value_of(index, Ty::plain(Type::Int));
        self.assigns = assigns;
        let value = value?;
        let Term::Int(number) = value.term else {
            let by = match &index.kind {
                ExprKind::Remainder(_, by) => by.number(),
                _ => None,
            };
            let index = Index {
                term: value.term,
                below: by.and_then(|by| usize::try_from(by).ok()),
            };
            return Some(match target {
                Target::Places(places, ty) => Target::Place(Spot::Indexed(places, index), ty),
                Target::Locals(locals) => Target::Element(locals, index),
                other @ (Target::Local(_)
                | Target::Place(..)
                | Target::Tag(..)
                | Target::Element(..)) => other,
            });
        };
        let Some(number) = usize::try_from(number).ok().filter(|n| *n < length) else {
            let error = Diagnostic::error(index.span, "the index is out of range")
                .label(format!("the array has {length} elements"))
                .help(format!("indices are 0 to {}", length - 1));
            self.items.push(error);
            return None;
        };
        Some(match target {
            Target::Places(places, ty) => Target::Place(Spot::One(places[number]), ty),
            Target::Locals(locals) => Target::Local(self.copied(locals[number], span)),
            other @ (Target::Local(_)
            | Target::Place(..)
            | Target::Tag(..)
            | Target::Element(..)) => other,
        })
    }

    /// One branch for each value that an index below `length` can have; other values are a violation.
    fn select(
        &mut self,
        Index { term: index, below }: Index,
        length: usize,
        span: Span,
    ) -> Vec<LocId> {
        let start = self.at;
        let number = |n: usize| Term::Int(n as i64);
        let fits = below.is_some_and(|below| below <= length);
        let count = below.filter(|_| fits).unwrap_or(length);
        let branches = (0..count).map(|n| {
            let to = self.fresh();
            let cond = Cond::Eq(index, number(n));
            self.at = start;
            self.edge_to(to, Step::Assume(cond), span);
            to
        });
        let branches = branches.collect();
        if fits {
            return branches;
        }
        let below = Cond::Less(index, Term::Int(0));
        let above = Cond::Less(index, number(length)).negated();
        for cond in [below, above] {
            self.at = start;
            self.emit(Step::Assume(cond), span);
            self.edge_to(self.body.exit, Step::Fail(Failure::Index), span);
        }
        branches
    }

    /// Does something with one of several, whichever it is, and goes on behind it.
    fn each<T: Copy>(
        &mut self,
        all: &[T],
        index: Index,
        span: Span,
        mut step: impl FnMut(&mut Self, T),
    ) {
        let branches = self.select(index, all.len(), span);
        let after = self.fresh();
        for (at, one) in branches.into_iter().zip(all) {
            self.at = at;
            step(self, *one);
            self.jump(after, span);
        }
        self.at = after;
    }

    /// Does something at a place, whichever it is, and goes on behind it.
    pub(super) fn at_each(
        &mut self,
        spot: &Spot,
        span: Span,
        mut step: impl FnMut(&mut Self, Place),
    ) {
        match spot {
            Spot::One(place) => step(self, *place),
            Spot::Indexed(places, index) => self.each(places, *index, span, step),
        }
    }

    /// Does something at a place, whichever it is; each branch goes on for itself.
    pub(super) fn branch_each(
        &mut self,
        spot: &Spot,
        span: Span,
        mut step: impl FnMut(&mut Self, Place),
    ) {
        match spot {
            Spot::One(place) => step(self, *place),
            Spot::Indexed(places, index) => {
                let branches = self.select(*index, places.len(), span);
                for (at, place) in branches.into_iter().zip(places) {
                    self.at = at;
                    step(self, *place);
                }
            }
        }
    }

    pub(super) fn assign_words(
        &mut self,
        to: Variable,
        value: Term,
        tag: Option<Term>,
        span: Span,
    ) {
        self.emit(Step::Assign { to: to.id, value }, span);
        if let (Some(to), Some(value)) = (to.tag, tag) {
            self.emit(Step::Assign { to, value }, span);
        }
    }

    /// A target as a local: places are read.
    fn loaded(&mut self, target: &Target, span: Span) -> Option<Variable> {
        match target {
            Target::Local(variable) => Some(*variable),
            Target::Place(from, ty) => self.load(from, *ty, None, span),
            Target::Tag(id, tag) => Some(Variable {
                id: *id,
                tag: None,
                ty: Ty::plain(tag.ty()),
            }),
            Target::Element(locals, index) => Some(self.load_local(locals, *index, None, span)),
            Target::Places(..) | Target::Locals(_) => {
                self.whole_array(span);
                None
            }
        }
    }

    /// One of several locals as one.
    fn load_local(
        &mut self,
        locals: &[Variable],
        index: Index,
        into: Option<Variable>,
        span: Span,
    ) -> Variable {
        let to = self.target(locals[0].ty, into, span);
        self.each(locals, index, span, |builder, from| {
            let tag = from.tag.map(Term::Local);
            builder.assign_words(to, Term::Local(from.id), tag, span);
        });
        to
    }

    fn load(
        &mut self,
        from: &Spot,
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
        self.at_each(from, span, |builder, from| {
            let read = Step::Read {
                to: to.id,
                tag: to.tag,
                from,
            };
            builder.emit(read, span);
        });
        Some(to)
    }

    /// A field of the node that a local points to.
    pub(super) fn field_of(&mut self, variable: Variable, field: &Name) -> Option<(FieldId, Ty)> {
        match self.member(variable, field)? {
            Target::Place(Spot::One(Place::Field { field, .. }), ty) => Some((field, ty)),
            Target::Place(..)
            | Target::Local(_)
            | Target::Tag(..)
            | Target::Element(..)
            | Target::Places(..)
            | Target::Locals(_) => {
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
        let place = |index: usize| Place::Field {
            of: variable.id,
            field: FieldId::from(index),
        };
        let names = of.fields.iter().map(|f| f.name.as_str());
        if let Some(array) = elements(names, &field.text) {
            let (base, tag) = (of.fields[array.start].ty, of.fields[array.start].tag);
            return Some(Target::Places(array.map(place).collect(), Ty { base, tag }));
        }
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
        Some(Target::Place(Spot::One(place(index)), Ty { base, tag }))
    }

    pub(super) fn read(&mut self, path: &Path, into: Option<Variable>) -> Option<Value> {
        match self.resolve(path)? {
            Target::Place(from, ty) => {
                let variable = self.load(&from, ty, into, path.span)?;
                Some(Value::local(variable))
            }
            Target::Element(locals, index) => Some(Value::local(
                self.load_local(&locals, index, into, path.span),
            )),
            target @ (Target::Local(_)
            | Target::Tag(..)
            | Target::Places(..)
            | Target::Locals(_)) => self.loaded(&target, path.span).map(Value::local),
        }
    }

    /// A shared word that a path names, to be written; with its type.
    pub(super) fn place(&mut self, path: &Path) -> Option<(Spot, Ty)> {
        match self.resolve(path)? {
            Target::Place(place, ty) => Some((place, ty)),
            Target::Local(_) | Target::Element(..) | Target::Places(..) | Target::Locals(_) => {
                let error = Diagnostic::error(path.span, "a local is not shared")
                    .label("no other thread sees it")
                    .help("name a shared variable, or a field such as `p.next`");
                self.items.push(error);
                None
            }
            Target::Tag(..) => {
                self.tag_alone(path.span);
                None
            }
        }
    }

    pub(super) fn lock_place(&mut self, path: &Path) -> Option<Spot> {
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
        let part = |name: &Name| matches!(name.text.as_str(), "ptr" | "mark" | "count");
        self.assigns = match path.parts.as_slice() {
            [Part::Field(name)] => part(name),
            [Part::Index(_)] => true,
            _ => false,
        };
        let target = self.resolve(path);
        self.assigns = false;
        let Some(target) = target else {
            return;
        };
        // A part of a packed local; one of a shared word is not written alone.
        let is_part = path
            .parts
            .iter()
            .any(|p| matches!(p, Part::Field(n) if part(n)));
        let whole = matches!(target, Target::Local(_) | Target::Tag(..));
        let of_local = self.lookup(&path.base.text).is_some() && path.parts.len() == 1;
        if whole && is_part && !of_local {
            self.tag_alone(path.span);
            return;
        }
        match target {
            Target::Local(variable) => self.assign_local(variable, value, span),
            Target::Tag(id, tag) => {
                let ty = Ty::plain(tag.ty());
                let variable = Variable { id, tag: None, ty };
                self.assign_local(variable, value, span);
            }
            Target::Element(locals, index) => {
                let Some(value) = self.fitting(value, locals[0].ty) else {
                    return;
                };
                self.each(&locals, index, span, |builder, to| {
                    builder.assign_words(to, value.term, value.tag, span);
                });
            }
            Target::Places(..) | Target::Locals(_) => self.whole_array(path.span),
            Target::Place(_, ty) if ty.base == Type::Lock => {
                let error = Diagnostic::error(path.span, "a lock cannot be assigned")
                    .label("a lock")
                    .help("use `lock(l);` and `unlock(l);`");
                self.items.push(error);
            }
            Target::Place(spot, ty) => {
                let Some(value) = self.fitting(value, ty) else {
                    return;
                };
                self.at_each(&spot, span, |builder, to| {
                    let step = Step::Write {
                        to,
                        value: value.term,
                        tag: value.tag,
                    };
                    builder.emit(step, span);
                });
            }
        }
    }

    fn tag_alone(&mut self, span: Span) {
        let error = Diagnostic::error(span, "a tag cannot be used alone")
            .label("it is one word with its pointer")
            .help("use the whole: `pack(pointer, tag)`");
        self.items.push(error);
    }
}
