//! *Bit-fields* as gcc lays them out on x86-64 and ARM (System V ABI): a bit-field of type T and
//! width w stands at the next bit, unless it would cross a boundary of T's size and alignment; a
//! width of 0 moves to the next boundary of T. Unnamed ones only take room.
//!
//! Neighbouring bit-fields are one memory location [C11, 3.14]: a store to one of them reads and
//! writes all. So a struct gets a *unit*, an unsigned integer member of the bytes that they share, and the
//! bit-fields are parts of units ([`Bits`]): what another thread stores to a neighbour
//! in between is lost, as on hardware.

use std::ops::Range;

use super::types::{Bits, DataModel, Field, Shape, Structs, Type};

/// What marks the names of units.
pub(super) const UNIT: &str = ":";

/// A member where it is: units and members of full width by byte, bit-fields by bit.
struct Placed {
    field: Field,
    /// Its first bit.
    at: u64,
    /// Bits.
    len: u64,
    /// Bytes of its type.
    declared: u64,
}

impl Placed {
    fn bytes(&self) -> Range<u64> {
        self.at / 8..(self.at + self.len).div_ceil(8)
    }
}

/// The members of a struct with units for its bit-fields, and where they are; `None` where that is not known.
pub(super) fn with_units(
    fields: &[Field],
    structs: &Structs,
    model: DataModel,
) -> Option<(Vec<Field>, Shape)> {
    let (placed, extent) = placed(fields, structs, model)?;
    let (mut all, mut offsets) = (Vec::new(), Vec::new());
    let mut k = 0;
    while let Some(first) = placed.get(k) {
        if first.field.width.is_none() {
            offsets.push(first.bytes().start);
            all.push(first.field.clone());
            k += 1;
            continue;
        }
        let (unit, end) = unit(&placed, k)?;
        all.push(Field {
            name: Some(UNIT.to_owned()),
            ty: unit_type(&unit),
            width: None,
        });
        offsets.push(unit.start);
        for Placed { field, at, len, .. } in &placed[k..end] {
            let (signed, is_bool) = match field.ty.plain() {
                Type::Bool => (false, true),
                Type::Int { signed, .. } => (*signed, false),
                _ => return None,
            };
            let bits = Bits {
                unit: bits_of(&unit),
                shift: (at - unit.start * 8) as u8,
                width: *len as u8,
                signed,
                is_bool,
            };
            offsets.push(unit.start);
            all.push(Field {
                name: field.name.clone(),
                ty: Type::Bits(bits),
                width: None,
            });
        }
        k = end;
    }
    name_units(&mut all);
    Some((all, Shape { offsets, extent }))
}

/// A unit is called by the first and the last of its bit-fields.
fn name_units(fields: &mut [Field]) {
    for k in 0..fields.len() {
        if fields[k].is_unit() {
            let parts = fields[k + 1..].iter();
            let parts = parts.take_while(|f| matches!(f.ty, Type::Bits(_)));
            let names: Vec<&str> = parts.filter_map(|f| f.name.as_deref()).collect();
            let first = names.first().copied().unwrap_or_default();
            let last = names.last().copied().unwrap_or_default();
            fields[k].name = Some(format!("{first}:{last}"));
        }
    }
}

/// Where named members are, and size and alignment of the whole.
fn placed(
    fields: &[Field],
    structs: &Structs,
    model: DataModel,
) -> Option<(Vec<Placed>, (u64, u64))> {
    let (mut at, mut align) = (0_u64, 1_u64);
    let mut all = Vec::new();
    for field in fields {
        let (size, own) = field.ty.extent(structs, model, None)?;
        let len = match field.width {
            None => {
                at = at.next_multiple_of(own * 8);
                size * 8
            }
            Some(0) => {
                at = at.next_multiple_of(size * 8);
                continue;
            }
            Some(width) if width > size * 8 => return None,
            Some(width) => {
                if at / (size * 8) != (at + width - 1) / (size * 8) {
                    at = at.next_multiple_of(size * 8);
                }
                width
            }
        };
        // Anonymous structs have no width; unnamed bit-fields align nothing.
        if field.name.is_some() || field.width.is_none() {
            align = align.max(own);
            let field = field.clone();
            let declared = size;
            all.push(Placed {
                field,
                at,
                len,
                declared,
            });
        }
        at += len;
    }
    Some((all, (at.div_ceil(8).next_multiple_of(align), align)))
}

const fn bits_of(unit: &Range<u64>) -> u8 {
    ((unit.end - unit.start) * 8) as u8
}

const fn unit_type(unit: &Range<u64>) -> Type {
    Type::Int {
        bits: bits_of(unit),
        signed: false,
    }
}

/// The bytes of the unit that starts with bit-field `first`, and the first member that is not in it: as many
/// bit-fields as fit in the declared type where its bytes are free, else those of four bytes, or eight.
fn unit(placed: &[Placed], first: usize) -> Option<(Range<u64>, usize)> {
    let run = placed[first..].iter();
    let run = run.take_while(|p| p.field.width.is_some()).count();
    let from = match first {
        0 => 0,
        _ => placed[first - 1].bytes().end,
    };
    for most in [4, 8] {
        for end in (first + 1..=first + run).rev() {
            let within = &placed[first..end];
            let own = within[0].bytes().start..within[within.len() - 1].bytes().end;
            let free = from..placed.get(end).map_or(u64::MAX, |p| p.bytes().start);
            let declared = within.iter().map(|p| p.declared).max()?;
            let start = own.start / declared * declared;
            let wide = start..start + declared;
            let fits = |bytes: &Range<u64>| {
                let is_free = free.start <= bytes.start && bytes.end <= free.end;
                is_free && own.end <= bytes.end && bytes.end - bytes.start <= most
            };
            if let Some(unit) = [wide, own.clone()].into_iter().find(fits) {
                return Some((unit, end));
            }
        }
    }
    None
}
