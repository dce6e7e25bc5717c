//! *Layout*: an object of any type as *cells*, one number each, at the bytes where the
//! compiler puts them: sizes, offsets and padding are those of the platform's ABI. The IR
//! gets one variable per *leaf* (a scalar member, over all elements of the arrays around
//! it): `struct { int a; int b[4]; } s[3]` becomes `s.a` with 3 elements and `s.b` with 12.
//!
//! An *address* is the number of a byte; pointers are addresses, and arithmetic on them is
//! that of bytes, whatever they point to. A cell is accessed as a whole: the address of its
//! first byte is the cell's, and no other byte has a value of its own. Objects are apart
//! from each other by at least one byte, so that a pointer one past the end is no other
//! object's.
//!
//! The size of a lock and of a packed struct is not known here. Objects that hold one are
//! *inexact*: distances within them mean nothing, except between elements of one array.

use std::collections::HashSet;

use palisade_program::{Domain, GlobalId, LocalId, Span};

use crate::c::types::{DataModel, Field, Opaque, StructId, Structs, Type};
use crate::diagnostic::Diagnostic;

/// Addresses of objects start here; numbers below are no addresses, and numbers of the program seldom come so far.
pub(super) const FIRST_ADDRESS: i64 = 1 << 45;
/// Numbers below this become pointers: nothing is there.
pub(super) const LARGE: i64 = 1_000_000;
/// Addresses of objects are multiples of this.
pub(super) const ALIGNMENT: i64 = 16;
/// Bytes between two objects at least: whoever follows a pointer beyond its object comes to no other one.
pub(super) const GAP: i64 = 1 << 34;
/// The same in litmus tests, whose registers may be narrow and hold addresses.
pub(super) const NARROW_GAP: i64 = 1 << 16;
/// All locations of a litmus test are before this.
pub(super) const LOCATIONS_END: i64 = 1_000_000_000;
/// Addresses of functions start here.
pub(super) const FIRST_FUNCTION: i64 = 1 << 49;
/// Nothing is at a number from here on.
pub(super) const FAR: i64 = 3 * FIRST_FUNCTION;
/// Where the texts of the program's arguments are, and how far they go: they are not read.
pub(super) const ARGUMENTS: (i64, i64) = (FAR + (1 << 40), FAR + (1 << 42));
/// An uninitialised pointer is null, or points to where nothing is.
pub(super) const WILD: Domain = Domain { lo: 0, hi: 1 };
/// Elements of one array at most.
const MAX_CELLS: u64 = 1 << 16;
/// Cells of a union of which more than one member is used, at most.
const MAX_UNION: u64 = 64;
/// Bytes of one object at most.
const MAX_BYTES: u64 = 1 << 22;
/// Size and alignment of what has none that is known.
const UNKNOWN: (u64, u64) = (64, 16);

/// A scalar part of a type.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// `.a.b`, empty for a scalar itself.
    pub(super) path: String,
    pub(super) ty: Type,
    /// Where its first element is, in bytes.
    pub(super) offset: u64,
    /// The arrays around it, outermost first: length, and bytes from one element to
    /// the next.
    pub(super) dims: Vec<(u64, u64)>,
    /// Bytes of one element.
    pub(super) bytes: u64,
}

impl Leaf {
    /// How many elements the leaf has.
    pub(super) fn count(&self) -> u64 {
        self.dims.iter().map(|(len, _)| len).product()
    }

    /// Where element `k` is.
    pub(super) fn cell(&self, k: u64) -> u64 {
        let (mut rest, mut cell) = (k, self.offset);
        for (len, stride) in self.dims.iter().rev() {
            cell += (rest % len) * stride;
            rest /= len;
        }
        cell
    }

    /// Whether it is part of an object of the library that says whether it was initialised.
    pub(super) fn is_raw(&self) -> bool {
        super::misuse::needs_initialiser(&self.ty) && !self.path.contains('#')
    }

    /// Whether its elements are next to each other.
    pub(super) fn is_contiguous(&self) -> bool {
        self.dims.is_empty() || self.stride() == Some(self.bytes)
    }

    /// The bytes from one element to the next, if they are the same for all.
    pub(super) fn stride(&self) -> Option<u64> {
        let mut dims = self.dims.iter().rev();
        let (len, first) = dims.next()?;
        let mut next = len * first;
        for (len, stride) in dims {
            if *stride != next {
                return None;
            }
            next *= len;
        }
        Some(*first)
    }
}

/// Where the cells of a leaf are.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    Shared(GlobalId),
    Locals(Vec<LocalId>),
}

/// A variable or allocated object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) leaves: Vec<Leaf>,
    pub(super) cells: Vec<Cells>,
    pub(super) size: u64,
    /// The address of its first cell; `None` for registers of a thread.
    pub(super) base: Option<i64>,
    /// Whether pointers can point to it.
    pub(super) taken: bool,
    /// Whether it is a local of a function, on some thread's stack.
    pub(super) on_stack: bool,
    /// The thread whose registers it is in, for pointers to it.
    pub(super) owner: Option<usize>,
    /// Whether it may hold [`palisade_program::UNINITIALISED`].
    pub(super) poisoned: std::cell::Cell<bool>,
    /// Where it says whether it was freed ([`super::lifetime`]).
    pub(super) status: Option<GlobalId>,
    /// The thread that allocates it while others run, and where it says so (RC11).
    pub(super) allocation: Option<(usize, GlobalId)>,
    /// The rank that it belongs to, in MPI programs.
    pub(super) rank: Option<u32>,
    /// Where it is declared or allocated.
    pub(super) site: Span,
}

impl Object {
    /// Its variables in memory.
    pub(super) fn shared(&self) -> impl Iterator<Item = GlobalId> + '_ {
        self.cells.iter().filter_map(|cells| match cells {
            Cells::Shared(var) => Some(*var),
            Cells::Locals(_) => None,
        })
    }

    /// Whether its cells are registers of a thread.
    pub(super) fn in_registers(&self) -> bool {
        self.cells.iter().any(|c| matches!(c, Cells::Locals(_)))
    }
}

/// Types with the members of unions that the program uses.
pub(super) struct Layouts<'a> {
    pub(super) structs: &'a Structs,
    pub(super) model: DataModel,
    /// Names of members that occur behind `.` and `->`.
    pub(super) used_members: HashSet<String>,
    /// Whether floating-point numbers have cells, of values that are not followed.
    pub(super) floats: bool,
    /// For how many threads a condition variable says whether they wait.
    pub(super) waiting: usize,
}

impl Layouts<'_> {
    pub(super) fn fields(&self, id: StructId, span: Span) -> Result<Vec<&Field>, Diagnostic> {
        let def = &self.structs[id];
        let Some(fields) = &def.fields else {
            let message = format!("unsupported: `{}` has no members here", def.tag);
            return Err(Diagnostic::error(span, message).help("define the struct in this file"));
        };
        if let Some(field) = fields.iter().find(|f| f.width.is_some()) {
            let name = field.name.as_deref().unwrap_or_default();
            let message = format!("unsupported: the bit-field `{name}`");
            return Err(Diagnostic::error(span, message).help("use a member of full width"));
        }
        if !def.is_union {
            return Ok(fields.iter().collect());
        }
        let used = self.used_fields(id);
        match used.as_slice() {
            [] => Ok(fields.iter().take(1).collect()),
            [one] => Ok(vec![one]),
            // One pointer by several names.
            [first, ..] if used.iter().all(|f| f.ty.is_pointer()) => Ok(vec![first]),
            [_, _, ..] if let Some(whole) = self.whole(&used, span) => Ok(vec![whole]),
            [_, second, ..] => {
                let name = second.name.as_deref().unwrap_or("...");
                let message = format!(
                    "unsupported: the union `{}` is used in more than one way (`{name}`)",
                    def.tag
                );
                Err(Diagnostic::error(span, message).help("use one member of it only"))
            }
        }
    }

    /// The same without a flexible array member.
    fn fixed_fields(&self, id: StructId, span: Span) -> Result<Vec<&Field>, Diagnostic> {
        let last = self.structs[id].flexible().map(|(field, _)| field);
        let mut fields = self.fields(id, span)?;
        fields.retain(|f| !last.is_some_and(|l| std::ptr::eq(l, *f)));
        Ok(fields)
    }

    /// The flexible array member of a type: where it starts, and what it is an array of.
    pub(super) fn tail(&self, ty: &Type, span: Span) -> Result<Option<(u64, Type)>, Diagnostic> {
        let Type::Struct(id) = ty.plain() else {
            return Ok(None);
        };
        let Some((_, of)) = self.structs[*id].flexible() else {
            return Ok(None);
        };
        let at = self.members(*id, span)?.last().map_or(0, |(at, _)| *at);
        Ok(Some((at, of.clone())))
    }

    /// The leaves of an object of this type with so many elements in its flexible array member.
    pub(super) fn leaves_with_tail(
        &self,
        ty: &Type,
        count: u64,
        span: Span,
    ) -> Result<Vec<Leaf>, Diagnostic> {
        let mut leaves = self.leaves(ty, span)?;
        if let (Type::Struct(id), Some((at, of))) = (ty.plain(), self.tail(ty, span)?)
            && count > 0
        {
            let name = self.structs[*id]
                .flexible()
                .and_then(|(f, _)| f.name.clone());
            let array = Type::Array(std::rc::Rc::new(of), Some(count));
            let path = format!(".{}", name.unwrap_or_default());
            self.collect(&array, path, at, &[], span, &mut leaves)?;
        }
        Ok(leaves)
    }

    fn used_fields(&self, id: StructId) -> Vec<&Field> {
        let fields = self.structs[id].fields.iter().flatten();
        fields.filter(|f| self.is_used(f)).collect()
    }

    /// Of the members of a union that are used, the one whose cells hold all others: each of their cells is one of its cells,
    /// or a part of an integer. The union has the cells of that member.
    fn whole<'f>(&self, used: &[&'f Field], span: Span) -> Option<&'f Field> {
        let cells = |field: &Field| {
            let leaves = self.leaves(&field.ty, span).ok()?;
            let count: u64 = leaves.iter().map(Leaf::count).sum();
            (count <= MAX_UNION).then(|| {
                let each = leaves.into_iter().flat_map(|leaf| {
                    let at = (0..leaf.count()).map(|k| leaf.cell(k)).collect::<Vec<_>>();
                    at.into_iter()
                        .map(move |at| (at, leaf.bytes, leaf.ty.plain().clone()))
                });
                each.collect::<Vec<_>>()
            })
        };
        let all: Vec<_> = used.iter().map(|f| cells(f)).collect::<Option<_>>()?;
        let holds = |(at, bytes, held): &(u64, u64, Type), (by, size, ty): &(u64, u64, Type)| {
            let is_part = super::cases::width(held).is_some()
                && super::cases::width(ty).is_some()
                && at <= by
                && by + size <= at + bytes
                && (by - at) % size == 0;
            let is_same = at == by && bytes == size && held.is_scalar() && ty.is_scalar();
            is_part || (at, held) == (by, ty) || is_same && (held.is_pointer() || ty.is_pointer())
        };
        let is_whole = |whole: &[(u64, u64, Type)]| {
            let mut parts = all.iter().flatten();
            parts.all(|part| whole.iter().any(|cell| holds(cell, part)))
        };
        let k = all.iter().position(|cells| is_whole(cells))?;
        used.get(k).copied()
    }

    pub(super) fn is_union(&self, ty: &Type) -> bool {
        matches!(ty.plain(), Type::Struct(id) if self.structs[*id].is_union)
    }

    /// Whether a member of a union has the same cells as the union itself, one for one.
    pub(super) fn covers(&self, id: StructId, name: &str, span: Span) -> bool {
        let mut fields = self.structs[id].fields.iter().flatten();
        let named = fields.find(|f| f.name.as_deref() == Some(name));
        self.structs[id].is_union && named.is_some_and(|f| self.is_covering(id, f, span))
    }

    fn is_covering(&self, id: StructId, field: &Field, span: Span) -> bool {
        let cells = |ty: &Type| {
            let leaves = self.leaves(ty, span).ok()?;
            let each = leaves.into_iter().map(|l| (l.offset, l.bytes, l.dims));
            Some(each.collect::<Vec<_>>())
        };
        let all = cells(&Type::Struct(id));
        all.is_some() && all == cells(&field.ty)
    }

    /// Whether a type is or holds a union of which more than one member is used.
    pub(super) fn has_overlap(&self, ty: &Type) -> bool {
        match ty.plain() {
            Type::Array(of, _) | Type::VariableArray(of) => self.has_overlap(of),
            Type::Struct(id) => {
                let def = &self.structs[*id];
                let overlaps = def.is_union && self.used_fields(*id).len() > 1;
                let mut fields = def.fields.iter().flatten();
                overlaps || fields.any(|f| self.has_overlap(&f.ty))
            }
            Type::Void | Type::Bool | Type::Int { .. } | Type::Pointer(_) | Type::Bits(_) => false,
            Type::Other(_) | Type::Function(_) | Type::Atomic(_) | Type::Opaque(_) => false,
        }
    }

    /// Whether a type is or holds bit-fields, or a union: its parts are written by reading their neighbours.
    pub(super) fn shares_cells(&self, ty: &Type) -> bool {
        match ty.plain() {
            Type::Array(of, _) | Type::VariableArray(of) => self.shares_cells(of),
            Type::Struct(id) => {
                let def = &self.structs[*id];
                let mut fields = def.fields.iter().flatten();
                def.is_union || fields.any(|f| self.shares_cells(&f.ty))
            }
            Type::Bits(_) => true,
            Type::Void | Type::Bool | Type::Int { .. } | Type::Pointer(_) => false,
            Type::Other(_) | Type::Function(_) | Type::Atomic(_) | Type::Opaque(_) => false,
        }
    }

    fn is_used(&self, field: &Field) -> bool {
        match (&field.name, field.ty.plain()) {
            (Some(name), _) => self.used_members.contains(name),
            (None, Type::Struct(id)) => self.structs[*id]
                .fields
                .as_ref()
                .is_some_and(|fields| fields.iter().any(|f| self.is_used(f))),
            (None, _) => false,
        }
    }

    /// Whether a type is or holds an array.
    pub(super) fn has_array(&self, ty: &Type) -> bool {
        match ty.plain() {
            Type::Array(..) | Type::VariableArray(_) => true,
            Type::Struct(id) => self.structs[*id]
                .fields
                .iter()
                .flatten()
                .any(|f| self.has_array(&f.ty)),
            Type::Void | Type::Bool | Type::Int { .. } | Type::Pointer(_) | Type::Bits(_) => false,
            Type::Other(_) | Type::Function(_) | Type::Atomic(_) | Type::Opaque(_) => false,
        }
    }

    /// Size in bytes.
    pub(super) fn size(&self, ty: &Type, span: Span) -> Result<u64, Diagnostic> {
        self.extent(ty, span).map(|(size, _)| size)
    }

    /// Whether a type is one of floating point that has cells.
    pub(super) fn is_followed_float(&self, ty: &Type) -> bool {
        self.floats && matches!(ty.plain(), Type::Other("float" | "double" | "long double"))
    }

    /// What addresses of objects of this type are multiples of, as far as that is known.
    pub(super) fn alignment(&self, ty: &Type, span: Span) -> Result<u64, Diagnostic> {
        if !self.is_exact(ty) {
            return Ok(1);
        }
        self.extent(ty, span).map(|(_, align)| align)
    }

    /// Whether the size of a type, and so what lies where in it, is known.
    pub(super) fn is_exact(&self, ty: &Type) -> bool {
        ty.size(self.structs, self.model).is_some()
    }

    /// Size and alignment in bytes; an error for what cannot be laid out.
    fn extent(&self, ty: &Type, span: Span) -> Result<(u64, u64), Diagnostic> {
        match ty.plain() {
            // Pointers to void and to functions move by one.
            Type::Void | Type::Function(_) => return Ok((1, 1)),
            Type::Bool | Type::Int { .. } | Type::Pointer(_) | Type::Opaque(_) => {}
            Type::Bits(_) => {}
            Type::Struct(id) => {
                for field in self.fixed_fields(*id, span)? {
                    self.extent(&field.ty, span)?;
                }
            }
            Type::Array(of, Some(_)) => {
                self.extent(of, span)?;
            }
            Type::Other(_) if self.is_followed_float(ty) => {}
            Type::Other(what) => return Err(unsupported_type(what, span)),
            Type::Array(_, None) | Type::VariableArray(_) | Type::Atomic(_) => {
                return Err(Diagnostic::error(
                    span,
                    "unsupported: an array whose length is no constant",
                )
                .help("give it a fixed length"));
            }
        }
        let extent = ty.extent(self.structs, self.model, Some(UNKNOWN));
        let fits = extent.filter(|(size, _)| *size <= MAX_BYTES);
        fits.ok_or_else(|| {
            Diagnostic::error(span, "unsupported: an object of this size")
                .help(format!("at most {MAX_BYTES} bytes"))
        })
    }

    /// The members of a struct or union that count, with the bytes that they start at.
    pub(super) fn members(
        &self,
        id: StructId,
        span: Span,
    ) -> Result<Vec<(u64, &Field)>, Diagnostic> {
        let fields = self.fields(id, span)?;
        if self.structs[id].is_union {
            return Ok(fields.into_iter().map(|field| (0, field)).collect());
        }
        if let Some(shape) = &self.structs[id].shape {
            return Ok(shape.offsets.iter().copied().zip(fields).collect());
        }
        let mut at = 0_u64;
        let mut all = Vec::new();
        let flexible = self.structs[id].flexible();
        for field in fields {
            let (size, align) = match flexible {
                Some((last, of)) if std::ptr::eq(last, field) => (0, self.extent(of, span)?.1),
                _ => self.extent(&field.ty, span)?,
            };
            at = at.next_multiple_of(align);
            all.push((at, field));
            at += size;
        }
        Ok(all)
    }

    /// The leaves of a type.
    pub(super) fn leaves(&self, ty: &Type, span: Span) -> Result<Vec<Leaf>, Diagnostic> {
        let mut leaves = Vec::new();
        self.collect(ty, String::new(), 0, &[], span, &mut leaves)?;
        Ok(leaves)
    }

    fn collect(
        &self,
        ty: &Type,
        path: String,
        offset: u64,
        dims: &[(u64, u64)],
        span: Span,
        leaves: &mut Vec<Leaf>,
    ) -> Result<(), Diagnostic> {
        let bytes = self.size(ty, span)?;
        let mut leaf = |path: String, offset| {
            leaves.push(Leaf {
                path,
                ty: ty.clone(),
                offset,
                dims: dims.to_vec(),
                bytes,
            });
        };
        match ty.plain() {
            Type::Bool | Type::Int { .. } | Type::Pointer(_) => leaf(path, offset),
            // Its unit has the cell.
            Type::Bits(_) => {}
            Type::Opaque(Opaque::Barrier) => {
                for (k, part) in [".limit", ".count", ".generation"].iter().enumerate() {
                    leaf(format!("{path}{part}"), offset + k as u64);
                }
            }
            Type::Opaque(Opaque::Cond) => {
                leaf(path.clone(), offset);
                for k in 0..self.waiting {
                    leaf(format!("{path}.waiting#{k}"), offset + 1 + k as u64);
                }
            }
            Type::Opaque(_) => leaf(path, offset),
            Type::Struct(_) if ty.is_atomic() => {
                let error = Diagnostic::error(span, "unsupported: an atomic struct");
                return Err(error.help("make its members atomic, or use a lock"));
            }
            Type::Struct(id) => {
                let last = self.structs[*id].flexible().map(|(field, _)| field);
                let members = self.members(*id, span)?.into_iter();
                let fixed = members.filter(|(_, f)| !last.is_some_and(|l| std::ptr::eq(l, *f)));
                for (at, field) in fixed {
                    let path = match &field.name {
                        Some(name) => format!("{path}.{name}"),
                        None => path.clone(),
                    };
                    self.collect(&field.ty, path, offset + at, dims, span, leaves)?;
                }
            }
            Type::Array(of, Some(n)) => {
                let stride = self.size(of, span)?;
                let mut dims = dims.to_vec();
                dims.push((*n, stride));
                let count = dims
                    .iter()
                    .try_fold(1_u64, |all, (n, _)| all.checked_mul(*n));
                // Nothing is in it, as in C of the GNU compiler.
                if count == Some(0) {
                    return Ok(());
                }
                if count.is_none_or(|n| n > MAX_CELLS) {
                    let error = Diagnostic::error(span, "unsupported: an array of this size");
                    return Err(error.help(format!("at most {MAX_CELLS} elements")));
                }
                self.collect(of, path, offset, &dims, span, leaves)?;
            }
            Type::Void | Type::Function(_) => {
                return Err(Diagnostic::error(span, "a variable of this type cannot be"));
            }
            Type::Array(_, None) | Type::VariableArray(_) | Type::Atomic(_) => {
                self.size(ty, span)?;
            }
            Type::Other(_) if self.is_followed_float(ty) => leaf(path, offset),
            Type::Other(what) => return Err(unsupported_type(what, span)),
        }
        Ok(())
    }

    /// A member by name: where it is within the struct, and its type.
    pub(super) fn member(
        &self,
        id: StructId,
        name: &str,
        span: Span,
    ) -> Result<Option<(u64, Type)>, Diagnostic> {
        let mut members = self.members(id, span)?;
        // The members of a union are all at its start, whichever has the cells.
        if self.structs[id].is_union && !self.used_fields(id).is_empty() {
            let all = self.structs[id].fields.iter().flatten();
            let counts = |f: &&Field| self.is_used(f) || self.is_covering(id, f, span);
            members = all.filter(counts).map(|f| (0, f)).collect();
        }
        for (at, field) in members {
            match (&field.name, field.ty.plain()) {
                (Some(n), _) if n == name => return Ok(Some((at, field.ty.clone()))),
                (None, Type::Struct(inner)) => {
                    if let Some((offset, ty)) = self.member(*inner, name, span)? {
                        return Ok(Some((at + offset, ty)));
                    }
                }
                (Some(_) | None, _) => {}
            }
        }
        Ok(None)
    }
}

/// Consecutive objects of one type within another: the byte of the first, how many
/// there are, and the bytes from one to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Region {
    pub(super) at: u64,
    pub(super) count: u64,
    pub(super) stride: u64,
}

impl Region {
    /// Where it starts and ends.
    pub(super) const fn bounds(&self) -> (u64, u64) {
        (self.at, self.at + self.count * self.stride)
    }
}

/// Regions of one object at most that are looked at.
const MAX_REGIONS: usize = 512;

/// Whether memory of type `held` can be accessed as `ty`.
pub(super) fn compatible(held: &Type, ty: &Type) -> bool {
    match (held.plain(), ty.plain()) {
        (Type::Int { bits: m, .. }, Type::Int { bits: n, .. }) => m == n,
        (Type::Pointer(_), Type::Pointer(_)) => true,
        (a, b) => a == b,
    }
}

/// Whether it can be where pointers of other types were converted: a pointer is also a number of its width.
pub(super) fn convertible(held: &Type, ty: &Type, model: DataModel) -> bool {
    let is_word = |ty: &Type| {
        ty.is_pointer() || matches!(ty.plain(), Type::Int { bits, .. } if *bits == model.word())
    };
    let is_wide = super::cases::width(held).is_some_and(|w| super::cases::width(ty) == Some(w));
    compatible(held, ty) || is_word(held) && is_word(ty) || is_wide
}

impl Layouts<'_> {
    /// Where objects of type `wanted` are within one of type `ty`.
    pub(super) fn regions(&self, ty: &Type, wanted: &Type, span: Span) -> Vec<Region> {
        let mut all = Vec::new();
        // What has no layout here is in no region.
        let _ = self.find_regions(ty, wanted, 0, span, &mut all);
        all
    }

    /// The same within an object, with the elements of its flexible array member.
    pub(super) fn regions_in(&self, object: &Object, wanted: &Type, span: Span) -> Vec<Region> {
        let mut all = self.regions(&object.ty, wanted, span);
        if let Ok(Some((at, of))) = self.tail(&object.ty, span)
            && let Ok(stride) = self.size(&of, span)
            && object.size > at
        {
            let count = (object.size - at) / stride.max(1);
            let array = Type::Array(std::rc::Rc::new(of), Some(count));
            let _ = self.find_regions(&array, wanted, at, span, &mut all);
        }
        all
    }

    fn find_regions(
        &self,
        ty: &Type,
        wanted: &Type,
        at: u64,
        span: Span,
        all: &mut Vec<Region>,
    ) -> Result<(), Diagnostic> {
        if all.len() >= MAX_REGIONS {
            return Ok(());
        }
        if compatible(ty, wanted) {
            let stride = self.size(ty, span)?.max(1);
            let count = 1;
            all.push(Region { at, count, stride });
            return Ok(());
        }
        match ty.plain() {
            Type::Array(of, Some(n)) if compatible(of, wanted) => {
                let (count, stride) = (*n, self.size(of, span)?.max(1));
                all.push(Region { at, count, stride });
            }
            Type::Array(of, Some(n)) => {
                let stride = self.size(of, span)?;
                for k in 0..*n {
                    let before = all.len();
                    self.find_regions(of, wanted, at + k * stride, span, all)?;
                    if all.len() == before {
                        break;
                    }
                }
            }
            Type::Struct(id) => {
                for (offset, field) in self.members(*id, span)? {
                    self.find_regions(&field.ty, wanted, at + offset, span, all)?;
                }
            }
            Type::Void | Type::Bool | Type::Int { .. } | Type::Pointer(_) | Type::Other(_) => {}
            Type::Array(_, None) | Type::VariableArray(_) => {}
            Type::Function(_) | Type::Atomic(_) | Type::Opaque(_) | Type::Bits(_) => {}
        }
        Ok(())
    }
}

pub(super) fn unsupported_type(what: &str, span: Span) -> Diagnostic {
    Diagnostic::error(span, format!("unsupported: the type {what}"))
        .help("integers, pointers, and structs and arrays of them are supported")
}
