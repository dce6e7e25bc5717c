//! *Bit-fields*: a load reads the unit and takes its part, a store reads the unit and writes it
//! with another part.

use palisade_program::Span;

use super::code::{Code, Lower};
use super::place::Place;
use super::value::Val;
use crate::c::ast::Binary;
use crate::c::types::{Bits, Type};

impl Code<'_, '_> {
    /// The value of a bit-field in a unit that holds `unit`.
    fn part_of_unit(&mut self, unit: Val, bits: Bits, span: Span) -> Lower<Val> {
        let raw = self.raw_part(unit, bits, span)?;
        self.convert(raw, &bits.value(), span)
    }

    /// Its bits as an unsigned number.
    fn raw_part(&mut self, unit: Val, bits: Bits, span: Span) -> Lower<Val> {
        let unit = self.convert(unit, &bits.unit(), span)?;
        let shift = Val::constant(i128::from(bits.shift), &Type::INT);
        let shifted = self.binary(Binary::Shr, unit, shift, span)?;
        let raw = Type::Int {
            bits: bits.width,
            signed: false,
        };
        self.convert(shifted, &raw, span)
    }

    /// A unit that holds `unit`, with another value of a bit-field.
    pub(super) fn unit_with(&mut self, unit: Val, v: Val, bits: Bits, span: Span) -> Lower<Val> {
        let ty = bits.unit();
        let old = self.raw_part(unit.clone(), bits, span)?;
        let v = self.convert(v, &bits.value(), span)?;
        let raw = Type::Int {
            bits: bits.width,
            signed: false,
        };
        let new = self.convert(v, &raw, span)?;
        let mut result = self.convert(unit, &ty, span)?;
        let wide = Type::Int {
            bits: bits.unit.max(32),
            signed: false,
        };
        let scale = Val::constant(1 << bits.shift, &wide);
        for (op, part) in [(Binary::Sub, old), (Binary::Add, new)] {
            let part = self.convert(part, &wide, span)?;
            let scaled = self.binary(Binary::Mul, part, scale.clone(), span)?;
            result = self.binary(op, result, scaled, span)?;
        }
        self.convert(result, &ty, span)
    }

    pub(super) fn load_bits(&mut self, place: &Place, bits: Bits, span: Span) -> Lower<Val> {
        let unit = self.load(&place.clone().part(0, bits.unit()), span)?;
        self.part_of_unit(unit, bits, span)
    }

    pub(super) fn store_bits(
        &mut self,
        place: &Place,
        v: Val,
        bits: Bits,
        span: Span,
    ) -> Lower<()> {
        let place = place.clone().part(0, bits.unit());
        let unit = self.load(&place, span)?;
        let unit = self.unit_with(unit, v, bits, span)?;
        self.store(&place, unit, span)
    }
}
