//! *Formats* of IEEE 754: numbers as the integers that have the same bits, with their sign (a `float` in 32 bits, a `double`
//! in 64), and what of arithmetic is computed when the program is read: constants, rounded to nearest.
//!
//! Two patterns are no numbers of the program: [`Format::unknown`], a number of which nothing is known, and
//! [`Format::nan`], a NaN whose sign and payload C leaves open. For `float` they lie outside of 32 bits; for `double` they are
//! two of the NaNs, which inputs are taken not to be.

use super::ast::Binary;
use super::types::Type;

/// A binary format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    /// `float`
    Single,
    /// `double`
    Double,
}

/// A literal: its type, and its bits where they are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Literal {
    pub(super) ty: &'static str,
    pub(super) bits: Option<i64>,
}

impl Literal {
    /// The literal of a word, such as `1.5f`.
    pub(super) fn of(word: &str) -> Self {
        let lower = word.to_ascii_lowercase();
        let is_hex = lower.starts_with("0x");
        let (digits, ty) = if let Some(digits) = lower.strip_suffix('l') {
            (digits, "long double")
        } else {
            match lower
                .strip_suffix('f')
                .filter(|d| !is_hex || d.contains('p'))
            {
                Some(digits) => (digits, "float"),
                None => (lower.as_str(), "double"),
            }
        };
        let bits = match ty {
            "long double" => None,
            _ if is_hex => hexadecimal(&digits[2..]).map(|v| (v, v as f32)),
            _ => digits.parse().ok().zip(digits.parse::<f32>().ok()),
        };
        let bits = bits.map(|(double, single)| match ty {
            "float" => Format::Single.encode(f64::from(single)),
            _ => Format::Double.encode(double),
        });
        Self { ty, bits }
    }
}

/// The value of `1.8p3`; `None` if it is not exact.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once('p')?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mantissa = u64::from_str_radix(&format!("{whole}{part}"), 16).ok()?;
    // So that the rounding to `float` is the only one.
    let exponent = exponent.parse::<i32>().ok()? - 4 * i32::try_from(part.len()).ok()?;
    let is_exact = mantissa < 1 << 53 && (-900..900).contains(&exponent);
    is_exact.then(|| mantissa as f64 * 2_f64.powi(exponent))
}

impl Format {
    /// The format of a type.
    pub(super) fn of(ty: &Type) -> Option<Self> {
        match ty.plain() {
            Type::Other("float") => Some(Self::Single),
            Type::Other("double") => Some(Self::Double),
            _ => None,
        }
    }

    pub(super) const fn ty(self) -> Type {
        match self {
            Self::Single => Type::Other("float"),
            Self::Double => Type::Other("double"),
        }
    }

    /// Its width in bits.
    pub(super) const fn width(self) -> u8 {
        match self {
            Self::Single => 32,
            Self::Double => 64,
        }
    }

    /// The bits of infinity: positive numbers are below, NaNs above.
    pub(super) const fn infinity(self) -> i64 {
        match self {
            Self::Single => 0x7f80_0000,
            Self::Double => 0x7ff0_0000_0000_0000,
        }
    }

    /// The bits of -0, the least of all.
    pub(super) const fn minus_zero(self) -> i64 {
        match self {
            Self::Single => -(1 << 31),
            Self::Double => i64::MIN,
        }
    }

    /// The bits of negative infinity: negative numbers are below.
    pub(super) const fn minus_infinity(self) -> i64 {
        self.minus_zero() + self.infinity()
    }

    /// The bits of 1.
    pub(super) const fn one(self) -> i64 {
        match self {
            Self::Single => 0x3f80_0000,
            Self::Double => 0x3ff0_0000_0000_0000,
        }
    }

    /// The mark of a number of which nothing is known.
    pub(super) const fn unknown(self) -> i64 {
        match self {
            Self::Single => 1 << 40,
            Self::Double => 0x7ff4_0000_0000_0bad,
        }
    }

    /// The mark of a NaN that was computed.
    pub(super) const fn nan(self) -> i64 {
        self.unknown() + 1
    }

    /// The number with these bits; `None` for the mark of an unknown one.
    pub(super) fn decode(self, bits: i64) -> Option<f64> {
        if bits == self.unknown() {
            return None;
        }
        Some(match self {
            Self::Single if bits == self.nan() => f64::NAN,
            Self::Single => f64::from(f32::from_bits(bits as u32)),
            Self::Double => f64::from_bits(bits as u64),
        })
    }

    /// The bits of a number, rounded to this format.
    pub(super) fn encode(self, number: f64) -> i64 {
        if number.is_nan() {
            return self.nan();
        }
        match self {
            Self::Single => i64::from((number as f32).to_bits() as i32),
            Self::Double => number.to_bits() as i64,
        }
    }

    /// The bits of an integer, rounded to this format.
    pub(super) fn of_integer(self, value: i128) -> i64 {
        match self {
            Self::Single => i64::from((value as f32).to_bits() as i32),
            Self::Double => (value as f64).to_bits() as i64,
        }
    }

    /// Arithmetic on two constants. A `float` is computed as `double` and rounded again, which is exact for these four: a
    /// `double` has more than twice its digits.
    pub(super) fn fold(self, op: Binary, a: i64, b: i64) -> i64 {
        let (Some(a), Some(b)) = (self.decode(a), self.decode(b)) else {
            return self.unknown();
        };
        self.encode(match op {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            _ => return self.unknown(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Literal};
    use crate::c::ast::Binary;

    #[test]
    fn literals_have_the_bits_of_the_compiler() {
        let cases = [
            ("1.0", "double", 0x3ff0_0000_0000_0000),
            ("0.1f", "float", 0x3dcc_cccd),
            ("0x1.8p1", "double", 0x4008_0000_0000_0000),
            ("1e400", "double", 0x7ff0_0000_0000_0000),
            ("1.F", "float", 0x3f80_0000),
        ];
        for (word, ty, bits) in cases {
            let bits = Some(bits);
            assert_eq!(Literal::of(word), Literal { ty, bits }, "{word}");
        }
        assert_eq!(Literal::of("1.0L").bits, None);
    }

    #[test]
    fn singles_are_rounded_once() {
        let bits = |x: f32| i64::from(x.to_bits() as i32);
        let numbers = [
            0.1_f32,
            3.0,
            -7.25e-30,
            1.5e38,
            f32::MIN_POSITIVE,
            1e-45,
            -0.0,
        ];
        for a in numbers {
            for b in numbers {
                let fold = |op| Format::Single.fold(op, bits(a), bits(b));
                assert_eq!(fold(Binary::Add), bits(a + b), "{a} + {b}");
                assert_eq!(fold(Binary::Mul), bits(a * b), "{a} * {b}");
                if b != 0.0 {
                    assert_eq!(fold(Binary::Div), bits(a / b), "{a} / {b}");
                }
            }
        }
    }
}
