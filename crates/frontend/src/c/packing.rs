//! *Packing*: what `packed`, `aligned` and `_Alignas` say of where members stand, as gcc lays them out. A member stands
//! at the next multiple of its alignment: that of its type, 1 if it or its struct is packed, and at least what its own
//! attribute asks for. A struct has the alignment of its members, and at least that of its attribute.
//!
//! Together with bit-fields, and where an attribute is not understood, the layout stays unknown.

use super::types::{DataModel, Field, Shape, StructDef, Structs, Type};

/// What attributes say of a struct, a member or a typedef.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Packing {
    pub(super) is_packed: bool,
    /// The least alignment that is asked for; 0: none.
    pub(super) align: u64,
    /// The alignment that a typedef gives its type; 0: none.
    pub(super) natural: u64,
    /// Whether there is more that is not understood.
    pub(super) is_odd: bool,
}

impl Packing {
    /// What two places say together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            is_packed: self.is_packed || other.is_packed,
            align: self.align.max(other.align),
            natural: self.natural.max(other.natural),
            is_odd: self.is_odd || other.is_odd || self.differs(other.align),
        }
    }

    /// Asks for an alignment.
    pub(super) fn align(&mut self, align: u64) {
        self.is_odd |= self.differs(align);
        self.align = self.align.max(align);
    }

    /// Whether there is another alignment already: compilers take the last one, wherever it stands.
    const fn differs(self, align: u64) -> bool {
        self.align > 0 && align > 0 && self.align != align
    }

    /// That of a typedef, for whoever uses its name.
    pub(super) fn of_typedef(self) -> Self {
        Self {
            is_odd: self.is_odd || self.is_packed || self.align > 0 && self.natural > 0,
            natural: self.align.max(self.natural),
            ..Self::default()
        }
    }

    /// That of a declarator's type, whose specifiers have this one: a pointer has its own alignment.
    pub(super) fn within(self, specified: &Type, declared: &Type) -> Self {
        let is_same = element(specified) == element(declared);
        let natural = if is_same { self.natural } else { 0 };
        Self { natural, ..self }
    }

    fn is_plain(self) -> bool {
        self == Self::default()
    }
}

/// What an array is of, in the end.
fn element(ty: &Type) -> &Type {
    match ty {
        Type::Array(of, _) => element(of),
        other => other,
    }
}

/// Lays out a struct whose members are read; the packings are those of the members, and its own.
pub(super) fn lay_out(
    id: usize,
    members: &[Packing],
    own: Packing,
    structs: &mut Structs,
    model: DataModel,
) {
    if own.is_plain() && members.iter().all(|m| m.is_plain()) {
        return;
    }
    let shape = shape(&structs[id], members, own, structs, model);
    structs[id].is_packed = shape.is_none();
    structs[id].shape = shape;
}

fn shape(
    def: &StructDef,
    members: &[Packing],
    own: Packing,
    structs: &Structs,
    model: DataModel,
) -> Option<Shape> {
    let fields = def.fields.as_deref()?;
    let has_bits = def.shape.is_some() || fields.iter().any(|f| f.width.is_some());
    if own.is_odd || own.natural > 0 || has_bits || members.len() != fields.len() {
        return None;
    }
    let (mut at, mut size, mut align) = (0_u64, 0_u64, 1_u64);
    let mut offsets = Vec::new();
    for (field, packing) in fields.iter().zip(members) {
        let (bytes, natural) = extent(def, field, structs, model)?;
        let is_packed = own.is_packed || packing.is_packed;
        if packing.is_odd || is_packed && packing.natural > 0 {
            return None;
        }
        let natural = match (is_packed, packing.natural) {
            (true, _) => 1,
            (false, 0) => natural,
            (false, given) => given,
        };
        let own = natural.max(packing.align);
        align = align.max(own);
        at = if def.is_union {
            0
        } else {
            at.next_multiple_of(own)
        };
        offsets.push(at);
        at = at.checked_add(bytes)?;
        size = size.max(at);
    }
    let align = align.max(own.align);
    let extent = (size.next_multiple_of(align), align);
    Some(Shape { offsets, extent })
}

/// Size and alignment of a member; a flexible array has no size.
fn extent(
    def: &StructDef,
    field: &Field,
    structs: &Structs,
    model: DataModel,
) -> Option<(u64, u64)> {
    match def.flexible() {
        Some((last, of)) if std::ptr::eq(last, field) => {
            Some((0, of.extent(structs, model, None)?.1))
        }
        _ => field.ty.extent(structs, model, None),
    }
}
