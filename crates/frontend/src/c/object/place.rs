//! *Places*: what pointers lead to, members, elements, and the names that they have in the data structure.

use palisade_program::Span;

use super::body::{Body, Meaning};
use super::kinds::{Kind, Slot};
use super::operation::{addressed, uncast};
use super::reader::{Root, Sort, joined, named, path_of};
use super::value::expr;
use super::{Read, refused};
use crate::c::ast::{Expr, ExprKind, Unary};
use crate::c::types::{StructId, Type};
use crate::heap::ast as heap;

/// Where something is in memory, or among locals.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    base: Base,
    path: Vec<String>,
    index: Option<heap::Expr>,
    pub(super) ty: Type,
    pub(super) slot: Option<Slot>,
}

#[derive(Clone, Debug)]
enum Base {
    Shared(Root),
    /// What a pointer to a node leads to.
    Node(StructId, heap::Path),
    Local(String, Sort),
}

/// What a pointer to a place is for a function.
#[derive(Clone, Debug)]
pub(super) enum Passable {
    Shared(Root, Vec<String>),
    Member(StructId, Vec<String>),
    Local,
}

impl Body<'_, '_> {
    /// The place that a pointer expression leads to.
    pub(super) fn target(&mut self, at: &Expr) -> Read<Spot> {
        match addressed(at) {
            Some(place) => self.place(place),
            None => self.dereferenced(at),
        }
    }

    fn dereferenced(&mut self, at: &Expr) -> Read<Spot> {
        let at = uncast(at);
        let slot = self.slot_of(at);
        let ty = self.type_of(at).and_then(|ty| ty.pointee().cloned());
        let Some(ty) = ty else {
            return refused(
                at.span,
                "what this pointer leads to",
                "use pointers to nodes and members",
            );
        };
        if let ExprKind::Ident(name) = &at.kind {
            let spot = |base, path| Spot {
                base,
                path,
                index: None,
                ty: ty.clone(),
                slot: slot.clone(),
            };
            match self.meanings.get(name).cloned() {
                Some(Meaning::Shared(root, path)) => return Ok(spot(Base::Shared(root), path)),
                Some(Meaning::Member(local, id, path)) => {
                    return Ok(spot(Base::Node(id, path_of(&local, at.span)), path));
                }
                Some(Meaning::Pointed(local, sort)) => {
                    return Ok(spot(Base::Local(local, sort), Vec::new()));
                }
                Some(Meaning::Object | Meaning::Local(..)) | None => {}
            }
        }
        self.led_to(at, ty, slot)
    }

    /// What a pointer value leads to: the object, a node, an element.
    fn led_to(&mut self, at: &Expr, ty: Type, slot: Option<Slot>) -> Read<Spot> {
        let spot = |base, path, index| Spot {
            base,
            path,
            index,
            ty,
            slot,
        };
        match self.sort_of(at) {
            Some(Sort::Object) => {
                self.object_value(at)?;
                Ok(spot(Base::Shared(Root::Object), Vec::new(), None))
            }
            Some(sort @ Sort::Node(id)) => {
                let pointer = self.value(at, sort)?;
                let path = self.as_path(pointer, sort)?;
                Ok(spot(Base::Node(id, path), Vec::new(), None))
            }
            Some(sort @ Sort::Element(id)) => {
                let index = self.value(at, sort)?;
                let elements = self.reader.elements[&id].clone();
                Ok(spot(
                    Base::Shared(elements.root),
                    elements.path,
                    Some(index),
                ))
            }
            Some(Sort::Value(_) | Sort::Lock) | None => refused(
                at.span,
                "what this pointer leads to",
                "use pointers to nodes and members",
            ),
        }
    }

    /// A value as something that members can stand behind.
    fn as_path(&mut self, value: heap::Expr, sort: Sort) -> Read<heap::Path> {
        if let heap::ExprKind::Path(path) = value.kind {
            return Ok(path);
        }
        let span = value.span;
        let local = self.temporary(sort, span)?;
        self.assign(local.clone(), value, span);
        Ok(local)
    }

    pub(super) fn place(&mut self, e: &Expr) -> Read<Spot> {
        let slot = self.slot_of(e);
        let Some(ty) = self.type_of(e) else {
            return refused(e.span, "this place", "use variables and members");
        };
        match &e.kind {
            ExprKind::Ident(name) => match self.meanings.get(name).cloned() {
                Some(Meaning::Local(local, sort)) => Ok(Spot {
                    base: Base::Local(local, sort),
                    path: Vec::new(),
                    index: None,
                    ty,
                    slot,
                }),
                Some(_) => refused(
                    e.span,
                    "a pointer parameter as a value",
                    "use what it points to",
                ),
                None if matches!(ty.plain(), Type::Struct(id) if self.reader.objects.contains(id)) => {
                    Ok(Spot {
                        base: Base::Shared(Root::Object),
                        path: Vec::new(),
                        index: None,
                        ty,
                        slot,
                    })
                }
                None => {
                    let root = Root::Global(name.clone());
                    // A node that has a name.
                    if let (Type::Struct(id), Some(pointer)) =
                        (ty.plain(), self.reader.shared_name(&root, &[]))
                    {
                        let pointer = path_of(pointer, e.span);
                        return Ok(Spot {
                            base: Base::Node(*id, pointer),
                            path: Vec::new(),
                            index: None,
                            ty,
                            slot,
                        });
                    }
                    Ok(Spot {
                        base: Base::Shared(root),
                        path: Vec::new(),
                        index: None,
                        ty,
                        slot,
                    })
                }
            },
            ExprKind::Unary(Unary::Deref, at) => self.target(at),
            ExprKind::Member(of, name) => {
                let of = self.place(of)?;
                Self::member_of(of, name, ty, slot, e.span)
            }
            ExprKind::Arrow(at, name) => {
                let of = self.target(at)?;
                Self::member_of(of, name, ty, slot, e.span)
            }
            ExprKind::Index(of, index) => {
                let mut of = self.place(of)?;
                if of.index.is_some() {
                    return refused(e.span, "an array of arrays", "use one index");
                }
                let index = self.value(index, Sort::Value(Kind::Number))?;
                of.index = Some(index);
                Ok(Spot { ty, slot, ..of })
            }
            ExprKind::Cast(_, inner) => self.place(inner),
            _ => refused(e.span, "this place", "use variables and members"),
        }
    }

    fn member_of(of: Spot, name: &str, ty: Type, slot: Option<Slot>, span: Span) -> Read<Spot> {
        if matches!(of.base, Base::Local(..)) {
            return refused(
                span,
                "a member of a local struct",
                "use a local for each member",
            );
        }
        let mut path = of.path;
        path.push(name.to_owned());
        Ok(Spot {
            path,
            ty,
            slot,
            ..of
        })
    }

    /// The place as the data structure names it.
    pub(super) fn named_place(&mut self, spot: &Spot, span: Span) -> Read<heap::Path> {
        let mut path = match &spot.base {
            Base::Local(name, _) => path_of(name, span),
            Base::Shared(root) => match self.reader.shared_name(root, &spot.path) {
                Some(name) => path_of(name, span),
                None => {
                    return refused(
                        span,
                        "a shared variable of this type",
                        "use integers, locks and pointers to nodes",
                    );
                }
            },
            Base::Node(_, pointer) => {
                let mut path = pointer.clone();
                path.parts
                    .push(heap::Part::Field(named(&joined(&spot.path), span)));
                path
            }
        };
        if let Some(index) = &spot.index {
            path.parts.push(heap::Part::Index(index.clone()));
        }
        path.span = span;
        Ok(path)
    }

    /// Shared memory that has a name, or a member of a node: what a function can be given a pointer to.
    pub(super) fn passable(spot: &Spot) -> Option<(Option<heap::Path>, Passable)> {
        if spot.index.is_some() {
            return None;
        }
        Some(match &spot.base {
            Base::Shared(root) => (None, Passable::Shared(root.clone(), spot.path.clone())),
            Base::Node(id, pointer) => {
                let member = Passable::Member(*id, spot.path.clone());
                (Some(pointer.clone()), member)
            }
            Base::Local(name, _) => (Some(path_of(name, Span::default())), Passable::Local),
        })
    }

    pub(super) fn is_local(spot: &Spot) -> bool {
        matches!(spot.base, Base::Local(..))
    }

    /// The sort of a place's values.
    pub(super) fn spot_sort(&self, spot: &Spot) -> Option<Sort> {
        match &spot.base {
            Base::Local(_, sort) => Some(*sort),
            Base::Shared(_) | Base::Node(..) => self.reader.sort(&spot.ty, spot.slot.as_ref()),
        }
    }

    /// `&x`, of a node that has a name or of an element of an array.
    pub(super) fn address(&mut self, a: &Expr, span: Span) -> Read<heap::Expr> {
        let spot = self.place(a)?;
        match spot {
            Spot {
                base: Base::Node(_, pointer),
                path,
                index: None,
                ..
            } if path.is_empty() => Ok(expr(heap::ExprKind::Path(pointer), span)),
            Spot {
                base: Base::Shared(_),
                index: Some(index),
                ty,
                ..
            } if matches!(ty.plain(), Type::Struct(id) if self.reader.elements.contains_key(id)) => {
                Ok(index)
            }
            _ => refused(
                span,
                "the address of this as a value",
                "pass it to a function, or use pointers to nodes",
            ),
        }
    }
}
