//! The *intermediate representation* of LLVM, as far as compilers of Rust use it: modules,
//! functions, blocks, instructions with opaque pointers. What the reader does not know is kept as
//! [`Inst::Unknown`] and matters only if a thread can come to it.

use palisade_program::Order;

/// A type. Sizes are those of 64-bit machines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    Void,
    /// An integer of this many bits.
    Int(u32),
    Pointer,
    Array(u64, Box<Type>),
    /// Fields; whether packed.
    Struct(Vec<Type>, bool),
    /// A type without a model: floating point, vectors, ...; its name and size in bytes.
    Other(String, u64),
}

impl Type {
    /// Size in bytes, and alignment.
    pub(crate) fn layout(&self) -> (u64, u64) {
        match self {
            Self::Void => (0, 1),
            Self::Int(bits) => {
                let bytes = u64::from(bits.div_ceil(8)).next_power_of_two();
                (bytes, bytes.min(16))
            }
            Self::Pointer => (8, 8),
            Self::Array(n, of) => {
                let (size, align) = of.layout();
                (size * n, align)
            }
            Self::Struct(fields, packed) => {
                let (mut at, mut most) = (0_u64, 1);
                for field in fields {
                    let (size, align) = field.layout();
                    let align = if *packed { 1 } else { align };
                    at = at.next_multiple_of(align) + size;
                    most = most.max(align);
                }
                (at.next_multiple_of(most), most)
            }
            Self::Other(_, size) => (*size, (*size).max(1)),
        }
    }

    /// Size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.layout().0
    }

    /// Where a field or an element starts, and its type.
    pub(crate) fn part(&self, index: u64) -> Option<(u64, &Self)> {
        match self {
            Self::Array(_, of) => Some((of.size() * index, of)),
            Self::Struct(fields, packed) => {
                let mut at = 0_u64;
                for (i, field) in fields.iter().enumerate() {
                    let (size, align) = field.layout();
                    at = at.next_multiple_of(if *packed { 1 } else { align });
                    if i as u64 == index {
                        return Some((at, field));
                    }
                    at += size;
                }
                None
            }
            Self::Void | Self::Int(_) | Self::Pointer | Self::Other(..) => None,
        }
    }

    /// The width of an integer or a pointer.
    pub(crate) const fn bits(&self) -> Option<u32> {
        match self {
            Self::Int(bits) => Some(*bits),
            Self::Pointer => Some(64),
            Self::Void | Self::Array(..) | Self::Struct(..) | Self::Other(..) => None,
        }
    }
}

/// A register of a function: index into [`Function::registers`].
pub(crate) type Reg = u32;
/// A block: index into [`Function::blocks`].
pub(crate) type BlockId = usize;

/// A constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Const {
    /// The bits of an integer.
    Int(u128),
    Undef,
    /// `null`, `zeroinitializer`.
    Zero,
    /// A function or a variable.
    Symbol(String),
    Bytes(Vec<u8>),
    Parts(Vec<(Type, Const)>),
    /// A symbol (or another constant) moved by bytes.
    Moved(Box<Const>, i64),
    /// What the reader does not know.
    Unknown(String),
}

/// An operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    Reg(Reg),
    Const(Const),
}

/// Binary operators on integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
}

/// Comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Predicate {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
}

/// Conversions of integers; pointers are integers of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cast {
    Truncate,
    ZeroExtend,
    SignExtend,
    /// The same bits.
    Same,
}

/// What a read-modify-write computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Exchange,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    UMax,
    UMin,
}

/// An argument of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Argument {
    pub(crate) ty: Type,
    pub(crate) value: Operand,
    /// Memory for the result, of this size: nothing of it is read.
    pub(crate) result: Option<u64>,
}

/// An instruction. `dst` is the register that it defines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Inst {
    Alloca {
        dst: Reg,
        size: u64,
    },
    Load {
        dst: Reg,
        ty: Type,
        from: Operand,
        order: Order,
        /// Whether uninitialised bytes must not be read.
        defined: bool,
    },
    Store {
        ty: Type,
        value: Operand,
        to: Operand,
        order: Order,
    },
    /// An address: a base, a constant, and indices with their scales.
    Address {
        dst: Reg,
        base: Operand,
        offset: i64,
        scaled: Vec<(Type, Operand, i64)>,
    },
    Binary {
        dst: Reg,
        op: Binary,
        bits: u32,
        left: Operand,
        right: Operand,
    },
    Compare {
        dst: Reg,
        predicate: Predicate,
        bits: u32,
        left: Operand,
        right: Operand,
    },
    Cast {
        dst: Reg,
        kind: Cast,
        from: u32,
        to: u32,
        value: Operand,
    },
    Select {
        dst: Reg,
        ty: Type,
        test: Operand,
        yes: Operand,
        no: Operand,
    },
    Extract {
        dst: Reg,
        ty: Type,
        of: Operand,
        path: Vec<usize>,
    },
    Insert {
        dst: Reg,
        ty: Type,
        of: Operand,
        part: (Type, Operand),
        path: Vec<usize>,
    },
    /// The same value.
    Copy {
        dst: Reg,
        ty: Type,
        value: Operand,
    },
    CompareExchange {
        dst: Reg,
        at: Operand,
        ty: Type,
        expected: Operand,
        new: Operand,
        orders: (Order, Order),
        weak: bool,
    },
    Change {
        dst: Reg,
        how: Change,
        at: Operand,
        ty: Type,
        value: Operand,
        order: Order,
    },
    Fence(Order, bool),
    Call {
        dst: Option<Reg>,
        ty: Type,
        callee: Operand,
        arguments: Vec<Argument>,
    },
    Phi {
        dst: Reg,
        ty: Type,
        incoming: Vec<(Operand, String)>,
    },
    /// The debugger's name of the memory at a register.
    Declare {
        at: Reg,
        variable: u32,
    },
    Unknown {
        dst: Option<Reg>,
        text: String,
    },
}

impl Inst {
    /// The register that it defines.
    pub(crate) fn defined(&self) -> Option<Reg> {
        match self {
            Self::Alloca { dst, .. } | Self::Load { dst, .. } | Self::Address { dst, .. } => {
                Some(*dst)
            }
            Self::Binary { dst, .. } | Self::Compare { dst, .. } | Self::Cast { dst, .. } => {
                Some(*dst)
            }
            Self::Select { dst, .. } | Self::Extract { dst, .. } | Self::Insert { dst, .. } => {
                Some(*dst)
            }
            Self::Copy { dst, .. } | Self::CompareExchange { dst, .. } | Self::Phi { dst, .. } => {
                Some(*dst)
            }
            Self::Change { dst, .. } => Some(*dst),
            Self::Call { dst, .. } | Self::Unknown { dst, .. } => *dst,
            Self::Store { .. } | Self::Fence(..) | Self::Declare { .. } => None,
        }
    }

    /// Calls `f` on each operand.
    pub(crate) fn operands<'a>(&'a self, f: &mut dyn FnMut(&'a Operand)) {
        match self {
            Self::Alloca { .. } | Self::Fence(..) | Self::Unknown { .. } => {}
            Self::Declare { .. } => {}
            Self::Load { from, .. } => f(from),
            Self::Store { value, to, .. } => {
                f(value);
                f(to);
            }
            Self::Address { base, scaled, .. } => {
                f(base);
                scaled.iter().for_each(|(_, index, _)| f(index));
            }
            Self::Binary { left, right, .. } | Self::Compare { left, right, .. } => {
                f(left);
                f(right);
            }
            Self::Cast { value, .. } | Self::Copy { value, .. } => f(value),
            Self::Select { test, yes, no, .. } => {
                f(test);
                f(yes);
                f(no);
            }
            Self::Extract { of, .. } => f(of),
            Self::Insert { of, part, .. } => {
                f(of);
                f(&part.1);
            }
            Self::CompareExchange {
                at, expected, new, ..
            } => {
                f(at);
                f(expected);
                f(new);
            }
            Self::Change { at, value, .. } => {
                f(at);
                f(value);
            }
            Self::Call {
                callee, arguments, ..
            } => {
                f(callee);
                arguments.iter().for_each(|a| f(&a.value));
            }
            Self::Phi { incoming, .. } => incoming.iter().for_each(|(value, _)| f(value)),
        }
    }
}

/// How a block ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Jump(BlockId),
    Branch(Operand, BlockId, BlockId),
    Switch {
        bits: u32,
        on: Operand,
        default: BlockId,
        cases: Vec<(u128, BlockId)>,
    },
    Return(Option<(Type, Operand)>),
    Unreachable,
    Unknown(String),
}

impl End {
    /// Where it may go.
    pub(crate) fn targets(&self) -> Vec<BlockId> {
        match self {
            Self::Jump(to) => vec![*to],
            Self::Branch(_, a, b) => vec![*a, *b],
            Self::Switch { default, cases, .. } => {
                let mut all: Vec<BlockId> = cases.iter().map(|(_, to)| *to).collect();
                all.push(*default);
                all
            }
            Self::Return(_) | Self::Unreachable | Self::Unknown(_) => Vec::new(),
        }
    }

    /// What it reads.
    pub(crate) fn operand(&self) -> Option<&Operand> {
        match self {
            Self::Branch(on, ..) | Self::Switch { on, .. } | Self::Return(Some((_, on))) => {
                Some(on)
            }
            Self::Jump(_) | Self::Return(None) | Self::Unreachable | Self::Unknown(_) => None,
        }
    }
}

/// A basic block. Each instruction goes with the number of its debug location (0 for none).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    pub(crate) name: String,
    pub(crate) insts: Vec<(Inst, u32)>,
    pub(crate) end: (End, u32),
}

/// A function with a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) parameters: Vec<(Type, Reg)>,
    pub(crate) registers: Vec<String>,
    pub(crate) blocks: Vec<Block>,
    /// Its `DISubprogram`.
    pub(crate) debug: u32,
}

/// A variable of the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) init: Option<Const>,
    pub(crate) constant: bool,
    /// Its `DIGlobalVariableExpression`.
    pub(crate) debug: u32,
}

/// What one file of text says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    pub(crate) functions: Vec<Function>,
    pub(crate) variables: Vec<Variable>,
    /// Debug information, by number: the text behind `!N = `.
    pub(crate) metadata: std::collections::BTreeMap<u32, String>,
}
