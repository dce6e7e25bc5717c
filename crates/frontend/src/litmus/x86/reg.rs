//! *Registers* and their parts. `rax`, `eax`, `ax`, `al` and `ah` are parts of
//! one register; each register is one local of its thread. Writing 32 bits of a
//! 64-bit register clears the upper half, writing 8 or 16 keeps the rest (Intel
//! SDM vol. 1, 3.4.1.1).

use super::super::split::Arch;

/// A part of a register.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Reg {
    /// The register, as a position in [`ORDER`], or a symbolic one's name.
    pub(crate) base: Base,
    /// Width of the part.
    pub(crate) bits: u8,
    /// Its lowest bit: 8 for `ah` and its like, else 0.
    pub(crate) shift: u8,
}

/// A whole register. The order is the one in which herd lists them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Base {
    /// One of [`ORDER`].
    General(u8),
    /// A register that no supported instruction writes: `rip`, `cs` ...
    Special(&'static str),
    /// A flag that the test names.
    Flag(Flag),
    /// `%name`: any register, named by the test.
    Symbolic(String),
}

/// The flags that conditions read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Flag {
    /// Zero.
    Zero,
    /// Sign.
    Sign,
    /// Carry.
    Carry,
    /// Overflow.
    Overflow,
}

impl Flag {
    /// All flags.
    pub(crate) const ALL: [Self; 4] = [Self::Zero, Self::Sign, Self::Carry, Self::Overflow];

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zf",
            Self::Sign => "sf",
            Self::Carry => "cf",
            Self::Overflow => "of",
        }
    }
}

/// The general registers without their size letter.
const ORDER: [&str; 16] = [
    "ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];
const SPECIAL: [&str; 9] = ["rip", "eip", "cs", "ds", "es", "fs", "gs", "ss", "flags"];

/// The accumulator, which `cmpxchg` uses.
pub(crate) const AX: Base = Base::General(0);
/// The counter, by whose low byte shifts may count.
pub(crate) const CX: Base = Base::General(2);

impl Reg {
    /// The whole register.
    pub(crate) const fn whole(base: Base, arch: Arch) -> Self {
        Self {
            base,
            bits: full_bits(arch),
            shift: 0,
        }
    }

    /// The register of this name; upper or lower case.
    pub(crate) fn named(name: &str, arch: Arch) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let lower = lower.as_str();
        if let Some(special) = SPECIAL.iter().find(|s| **s == lower) {
            return Some(Self::whole(Base::Special(special), arch));
        }
        if let Some(flag) = Flag::ALL.into_iter().find(|f| f.name() == lower) {
            return Some(Self {
                base: Base::Flag(flag),
                bits: 8,
                shift: 0,
            });
        }
        let (index, bits, shift) = general(lower)?;
        // 32-bit code has neither the wide nor the additional registers.
        if arch == Arch::X86 && (bits == 64 || index >= 8) {
            return None;
        }
        Some(Self {
            base: Base::General(index),
            bits,
            shift,
        })
    }

    /// The name that herd prints.
    pub(crate) fn label(&self, arch: Arch) -> String {
        let name = match &self.base {
            Base::General(index) => part_name(*index, self.bits, self.shift),
            Base::Special(name) => (*name).to_owned(),
            Base::Flag(flag) => flag.name().to_owned(),
            Base::Symbolic(name) => return format!("%{name}"),
        };
        match arch {
            Arch::X86 => name.to_ascii_uppercase(),
            Arch::X86_64 | Arch::C => name,
        }
    }
}

/// The width of a register.
pub(crate) const fn full_bits(arch: Arch) -> u8 {
    match arch {
        Arch::X86 => 32,
        Arch::X86_64 | Arch::C => 64,
    }
}

/// Number, width and lowest bit of the general register `name`.
fn general(name: &str) -> Option<(u8, u8, u8)> {
    for (index, base) in ORDER.iter().enumerate() {
        for (bits, shift) in [(64, 0), (32, 0), (16, 0), (8, 0), (8, 8)] {
            let has_high = index < 4;
            if (shift == 0 || has_high) && part_name(index as u8, bits, shift) == name {
                return Some((index as u8, bits, shift));
            }
        }
        debug_assert!(base.len() > 1);
    }
    None
}

fn part_name(index: u8, bits: u8, shift: u8) -> String {
    let base = ORDER[usize::from(index)];
    let letter = &base[..1];
    match (index, bits, shift) {
        (0..8, 64, _) => format!("r{base}"),
        (0..8, 32, _) => format!("e{base}"),
        (0..8, 16, _) => base.to_owned(),
        (0..4, _, 8) => format!("{letter}h"),
        (0..4, ..) => format!("{letter}l"),
        (4..8, ..) => format!("{base}l"),
        (_, 64, _) => base.to_owned(),
        (_, 32, _) => format!("{base}d"),
        (_, 16, _) => format!("{base}w"),
        (..) => format!("{base}b"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parts() {
        let named = |name| Reg::named(name, Arch::X86_64).map(|r| (r.base, r.bits, r.shift));
        assert_eq!(named("RAX"), Some((Base::General(0), 64, 0)));
        assert_eq!(named("eax"), Some((Base::General(0), 32, 0)));
        assert_eq!(named("ah"), Some((Base::General(0), 8, 8)));
        assert_eq!(named("sil"), Some((Base::General(4), 8, 0)));
        assert_eq!(named("r10d"), Some((Base::General(10), 32, 0)));
        assert_eq!(named("sih"), None);
        assert_eq!(named("x"), None);
        assert_eq!(Reg::named("rax", Arch::X86), None);
        assert_eq!(Reg::named("r8d", Arch::X86), None);
        let eax = Reg::named("eax", Arch::X86);
        assert_eq!(eax.map(|r| r.label(Arch::X86)), Some("EAX".to_owned()));
    }
}
