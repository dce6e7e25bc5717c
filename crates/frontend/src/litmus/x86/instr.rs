//! *Instructions* as data: operation, width, operands with the destination
//! first, whatever order the dialect writes them in.

use palisade_program::Span;

use super::reg::{AX, Base, Reg};

/// A condition of `jcc`, `setcc`, `cmovcc`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cc {
    /// `ZF`
    Equal,
    /// `SF != OF`
    Less,
    /// `ZF or SF != OF`
    LessEqual,
    /// `CF`
    Below,
    /// `CF or ZF`
    BelowEqual,
    /// `SF`
    Negative,
    /// `OF`
    Overflow,
}

/// Arithmetic on two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alu {
    /// `add`
    Add,
    /// `sub`
    Sub,
    /// `and`
    And,
    /// `or`
    Or,
    /// `xor`
    Xor,
}

/// Arithmetic on one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unary {
    /// `inc`
    Inc,
    /// `dec`
    Dec,
    /// `neg`
    Neg,
    /// `not`
    Not,
}

/// Shifts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shift {
    /// `shl`, `sal`
    Left,
    /// `shr`
    Right,
    /// `sar`
    Arithmetic,
}

/// What an instruction does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// Nothing that another thread or a register could show.
    Nop,
    /// Copies.
    Mov,
    /// Copies and widens from the given width (that of the operand if none).
    Extend {
        /// Width of the source.
        from: Option<u8>,
        /// `movsx` or `movzx`.
        signed: bool,
    },
    /// Computes an address.
    Lea,
    /// Swaps; with memory always atomic.
    Xchg,
    /// Swaps and adds.
    Xadd,
    /// Compares with the accumulator and swaps.
    Cmpxchg,
    /// `dst = dst op src`
    Alu(Alu),
    /// `dst = op dst`
    Unary(Unary),
    /// Shifts by a constant or by `cl`.
    Shift(Shift),
    /// Flags of `dst - src`.
    Cmp,
    /// Flags of `dst & src`.
    Test,
    /// Stores the condition as a byte.
    Set {
        /// The condition,
        cc: Cc,
        /// or its opposite.
        negated: bool,
    },
    /// Copies if the condition holds.
    Cmov {
        /// The condition,
        cc: Cc,
        /// or its opposite.
        negated: bool,
    },
    /// Jumps.
    Jmp(String),
    /// Jumps if the condition holds.
    Jcc {
        /// The condition,
        cc: Cc,
        /// or its opposite.
        negated: bool,
        /// Where to.
        label: String,
    },
    /// `mfence`
    FullFence,
    /// `sfence`: orders stores; loads are in order anyway, so `lfence` is a no-op.
    StoreFence,
    /// Ends the thread.
    Ret,
}

/// A memory operand: `disp(base, index, scale)`, `[symbol + disp]`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mem {
    /// The location whose address is added.
    pub(crate) symbol: Option<String>,
    /// A number that is added.
    pub(crate) disp: i128,
    /// A register that is added.
    pub(crate) base: Option<Reg>,
    /// A register that is scaled and added.
    pub(crate) index: Option<(Reg, i128)>,
    /// Whether a segment register was written before it.
    pub(crate) segment: bool,
}

/// An operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    /// A number.
    Imm(i128),
    /// A location's address as a number.
    Address(String),
    /// A register.
    Reg(Reg),
    /// Memory.
    Mem(Mem),
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Instr {
    /// What it does.
    pub(crate) op: Op,
    /// Whether it has the LOCK prefix.
    pub(crate) lock: bool,
    /// Its width, if the mnemonic says it.
    pub(crate) width: Option<u8>,
    /// Its operands, destination first.
    pub(crate) operands: Vec<(Operand, Span)>,
    /// Its mnemonic as written.
    pub(crate) mnemonic: String,
    /// Where it stands.
    pub(crate) span: Span,
}

impl Instr {
    /// The memory operand that is really accessed.
    pub(crate) fn memory(&self) -> Option<(&Mem, Span)> {
        if matches!(self.op, Op::Nop | Op::Lea) {
            return None;
        }
        self.operands
            .iter()
            .find_map(|(operand, span)| match operand {
                Operand::Mem(mem) => Some((mem, *span)),
                Operand::Imm(_) | Operand::Address(_) | Operand::Reg(_) => None,
            })
    }

    /// Whether memory is accessed in one atomic step.
    pub(crate) fn is_atomic(&self) -> bool {
        self.memory().is_some() && (self.lock || self.op == Op::Xchg)
    }

    /// The registers that it may write.
    pub(crate) fn written(&self) -> Vec<Base> {
        let reg = |i: usize| match self.operands.get(i) {
            Some((Operand::Reg(reg), _)) => Some(reg.base.clone()),
            Some((Operand::Imm(_) | Operand::Address(_) | Operand::Mem(_), _)) | None => None,
        };
        match &self.op {
            Op::Nop | Op::Cmp | Op::Test | Op::Jmp(_) | Op::Jcc { .. } => Vec::new(),
            Op::FullFence | Op::StoreFence | Op::Ret => Vec::new(),
            Op::Mov | Op::Extend { .. } | Op::Lea | Op::Alu(_) | Op::Unary(_) | Op::Shift(_) => {
                reg(0).into_iter().collect()
            }
            Op::Set { .. } | Op::Cmov { .. } => reg(0).into_iter().collect(),
            Op::Xchg | Op::Xadd => reg(0).into_iter().chain(reg(1)).collect(),
            Op::Cmpxchg => reg(0).into_iter().chain([AX]).collect(),
        }
    }
}
