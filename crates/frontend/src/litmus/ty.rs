//! *Types* of locations and registers: how many bits, and whether the value is
//! read as signed. Values are kept *canonical*: reduced modulo 2^bits and read as
//! unsigned (64-bit ones as the `i64` with the same bits), so that moving a value
//! never changes it. Types matter where values are shown or compared with the
//! condition's numbers.

use palisade_program::LocalExpr;
use palisade_program::UnOp;
use palisade_program::expr::wrap;

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ty {
    /// 8, 16, 32 or 64.
    pub bits: u8,
    /// Whether the value is read as signed.
    pub signed: bool,
    /// Whether the value is an address.
    pub pointer: bool,
}

impl Ty {
    /// A signed integer of `bits` bits.
    pub const fn signed(bits: u8) -> Self {
        Self {
            bits,
            signed: true,
            pointer: false,
        }
    }

    /// An unsigned integer of `bits` bits.
    pub const fn unsigned(bits: u8) -> Self {
        Self {
            bits,
            signed: false,
            pointer: false,
        }
    }

    /// An address of `bits` bits.
    pub const fn pointer(bits: u8) -> Self {
        Self {
            bits,
            signed: false,
            pointer: true,
        }
    }

    /// C's `int`: the type of whatever is not declared.
    pub const INT: Self = Self::signed(32);

    /// The type that the words before a declarator name (`unsigned`, `long` ...).
    /// `None` if they name none. Long is 64 bits wide, as everywhere on Linux.
    pub fn named(words: &[&str]) -> Option<Self> {
        let mut unsigned = false;
        let mut base = None;
        let mut longs = 0;
        for word in words {
            match *word {
                "const" | "volatile" | "_Atomic" | "register" | "static" | "signed" => {}
                "unsigned" => unsigned = true,
                "long" => longs += 1,
                "int" => base = base.or(Some(Self::INT)),
                other => base = Some(Self::simple(other)?),
            }
        }
        let ty = match (base, longs) {
            (_, 1..) => Self::signed(64),
            (Some(ty), 0) => ty,
            (None, 0) if unsigned || words.contains(&"signed") => Self::INT,
            (None, _) if words.contains(&"_Atomic") || words.contains(&"volatile") => Self::INT,
            (None | Some(_), _) => return None,
        };
        Some(if unsigned {
            Self {
                signed: false,
                ..ty
            }
        } else {
            ty
        })
    }

    fn simple(word: &str) -> Option<Self> {
        if matches!(word, "atomic_t" | "spinlock_t") {
            return Some(Self::INT);
        }
        Some(match word.strip_prefix("atomic_").unwrap_or(word) {
            "int" | "int32_t" | "s32" | "__s32" => Self::INT,
            "uint32_t" | "u32" | "uint" | "__u32" => Self::unsigned(32),
            "char" | "int8_t" | "schar" | "s8" => Self::signed(8),
            "uint8_t" | "u8" | "uchar" | "bool" | "_Bool" => Self::unsigned(8),
            "short" | "int16_t" | "s16" => Self::signed(16),
            "uint16_t" | "u16" | "ushort" => Self::unsigned(16),
            "int64_t" | "intptr_t" | "long_t" | "llong" | "ssize_t" | "s64" | "__s64"
            | "atomic64_t" | "long" | "intmax_t" | "ptrdiff_t" => Self::signed(64),
            "uint64_t" | "uintptr_t" | "size_t" | "ulong" | "ullong" | "u64" | "__u64"
            | "uintmax_t" => Self::unsigned(64),
            _ => return None,
        })
    }

    /// The value reduced to this type: what the user sees.
    pub fn shown(self, value: i64) -> i128 {
        let wrapped = wrap(i128::from(value), self.bits, self.signed);
        if self.bits == 64 && !self.signed {
            i128::from(wrapped as u64)
        } else {
            i128::from(wrapped)
        }
    }

    /// The canonical value of a number written for this type.
    pub fn canonical(self, value: i128) -> i64 {
        wrap(value, self.bits, false)
    }

    /// Whether the number fits the type, as signed or as unsigned.
    pub fn fits(self, value: i128) -> bool {
        let span = 1_i128 << self.bits;
        (-(span / 2)..span).contains(&value)
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u32 {
        self.bits as u32 / 8
    }
}

/// `e` reduced to its canonical form of `bits` bits; words of 64 bits are kept as signed numbers.
pub(super) fn canonical(bits: u8, e: LocalExpr) -> LocalExpr {
    LocalExpr::unary(
        UnOp::Wrap {
            bits,
            signed: bits == 64,
        },
        e,
    )
}

/// A canonical value of `bits` bits read as signed.
pub(super) fn as_signed(bits: u8, e: LocalExpr) -> LocalExpr {
    if bits == 64 {
        return e;
    }
    LocalExpr::unary(UnOp::Wrap { bits, signed: true }, e)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types() {
        assert_eq!(Ty::named(&["int"]), Some(Ty::INT));
        assert_eq!(Ty::named(&["unsigned", "long"]), Some(Ty::unsigned(64)));
        assert_eq!(Ty::named(&["unsigned"]), Some(Ty::unsigned(32)));
        assert_eq!(Ty::named(&["long", "long", "int"]), Some(Ty::signed(64)));
        assert_eq!(Ty::named(&["volatile", "uint8_t"]), Some(Ty::unsigned(8)));
        assert_eq!(Ty::named(&["atomic_t"]), Some(Ty::INT));
        assert_eq!(Ty::named(&["atomic_int"]), Some(Ty::INT));
        assert_eq!(Ty::named(&["float"]), None);
        assert_eq!(Ty::named(&[]), None);
    }

    #[test]
    fn values_are_shown_by_their_type() {
        assert_eq!(Ty::INT.shown(0xffff_ffff), -1);
        assert_eq!(Ty::unsigned(32).shown(0xffff_ffff), 4_294_967_295);
        assert_eq!(Ty::unsigned(64).shown(-1), i128::from(u64::MAX));
        assert_eq!(Ty::signed(64).shown(-1), -1);
        assert_eq!(Ty::signed(8).canonical(-1), 255);
        assert!(Ty::signed(8).fits(255) && !Ty::signed(8).fits(256));
    }
}
