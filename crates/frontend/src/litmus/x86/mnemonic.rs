//! *Mnemonics*: the instruction's name gives its operation and, by a suffix
//! (`movb`, `movw`, `movl`, `movq`), its width. A name that is known as it stands
//! is not cut: `shl` is a shift, not `sh` with a suffix.

use super::instr::{Alu, Cc, Op, Shift, Unary};

/// An operation and the width that its name gives.
pub(super) fn decode(name: &str) -> Option<(Op, Option<u8>)> {
    let lower = name.to_ascii_lowercase();
    if let Some(op) = exact(&lower) {
        return Some((op, None));
    }
    if let Some(found) = sized_extension(&lower) {
        return Some(found);
    }
    let (stem, bits) = suffix(&lower)?;
    let op = exact(stem)?;
    has_sizes(&op).then_some((op, Some(bits)))
}

/// What is expected to follow the mnemonic.
pub(super) enum Shape {
    /// A label.
    Label,
    /// This many operands.
    Operands(std::ops::RangeInclusive<usize>),
}

/// The operands of an operation.
pub(super) fn shape(op: &Op) -> Shape {
    match op {
        Op::Jmp(_) | Op::Jcc { .. } => Shape::Label,
        Op::Nop => Shape::Operands(0..=1),
        Op::FullFence | Op::StoreFence | Op::Ret => Shape::Operands(0..=0),
        Op::Mov | Op::Extend { .. } | Op::Lea | Op::Xchg | Op::Xadd | Op::Cmpxchg => {
            Shape::Operands(2..=2)
        }
        Op::Alu(_) | Op::Cmp | Op::Test | Op::Cmov { .. } => Shape::Operands(2..=2),
        // Without a count, shifts shift by one.
        Op::Shift(_) => Shape::Operands(1..=2),
        Op::Unary(_) | Op::Set { .. } => Shape::Operands(1..=1),
    }
}

fn exact(name: &str) -> Option<Op> {
    let op = match name {
        "mov" | "movabs" => Op::Mov,
        "movzx" | "movz" => Op::Extend {
            from: None,
            signed: false,
        },
        "movsx" | "movsxd" => Op::Extend {
            from: None,
            signed: true,
        },
        "lea" => Op::Lea,
        "xchg" | "uxch" => Op::Xchg,
        "xadd" => Op::Xadd,
        "cmpxchg" => Op::Cmpxchg,
        "add" => Op::Alu(Alu::Add),
        "sub" => Op::Alu(Alu::Sub),
        "and" => Op::Alu(Alu::And),
        "or" => Op::Alu(Alu::Or),
        "xor" => Op::Alu(Alu::Xor),
        "inc" => Op::Unary(Unary::Inc),
        "dec" => Op::Unary(Unary::Dec),
        "neg" => Op::Unary(Unary::Neg),
        "not" => Op::Unary(Unary::Not),
        "shl" | "sal" => Op::Shift(Shift::Left),
        "shr" => Op::Shift(Shift::Right),
        "sar" => Op::Shift(Shift::Arithmetic),
        "cmp" => Op::Cmp,
        "test" => Op::Test,
        "jmp" => Op::Jmp(String::new()),
        "mfence" => Op::FullFence,
        "sfence" => Op::StoreFence,
        "ret" => Op::Ret,
        // Loads are never reordered with loads; the others are hints to the
        // cache or to the front end of the processor.
        "lfence" | "nop" | "endbr64" | "endbr32" | "pause" => Op::Nop,
        "clflush" | "clflushopt" | "clwb" => Op::Nop,
        "prefetch" | "prefetchw" | "prefetchnta" => Op::Nop,
        "prefetcht0" | "prefetcht1" | "prefetcht2" => Op::Nop,
        _ => return conditional(name),
    };
    Some(op)
}

fn conditional(name: &str) -> Option<Op> {
    if let Some((cc, negated)) = name.strip_prefix("cmov").and_then(condition) {
        return Some(Op::Cmov { cc, negated });
    }
    if let Some((cc, negated)) = name.strip_prefix("set").and_then(condition) {
        return Some(Op::Set { cc, negated });
    }
    let (cc, negated) = name.strip_prefix('j').and_then(condition)?;
    let label = String::new();
    Some(Op::Jcc { cc, negated, label })
}

fn condition(name: &str) -> Option<(Cc, bool)> {
    Some(match name {
        "e" | "z" => (Cc::Equal, false),
        "ne" | "nz" => (Cc::Equal, true),
        "l" | "lt" | "nge" => (Cc::Less, false),
        "ge" | "nl" => (Cc::Less, true),
        "le" | "ng" => (Cc::LessEqual, false),
        "g" | "gt" | "nle" => (Cc::LessEqual, true),
        "b" | "c" | "nae" => (Cc::Below, false),
        "ae" | "nb" | "nc" => (Cc::Below, true),
        "be" | "na" => (Cc::BelowEqual, false),
        "a" | "nbe" => (Cc::BelowEqual, true),
        "s" => (Cc::Negative, false),
        "ns" => (Cc::Negative, true),
        "o" => (Cc::Overflow, false),
        "no" => (Cc::Overflow, true),
        _ => return None,
    })
}

/// `movzbl`, `movswq`, `movslq`: both widths stand in the name.
fn sized_extension(name: &str) -> Option<(Op, Option<u8>)> {
    let rest = name.strip_prefix("mov")?;
    let (signed, sizes) = match rest.strip_prefix('z') {
        Some(sizes) => (false, sizes),
        None => (true, rest.strip_prefix('s')?),
    };
    let mut letters = sizes.chars();
    // One letter alone would be a string move.
    let (from, to) = (letter(letters.next()?)?, letter(letters.next()?)?);
    let op = Op::Extend {
        from: Some(from),
        signed,
    };
    letters.next().is_none().then_some((op, Some(to)))
}

fn suffix(name: &str) -> Option<(&str, u8)> {
    let last = name.chars().last()?;
    Some((&name[..name.len() - 1], letter(last)?))
}

const fn letter(c: char) -> Option<u8> {
    match c {
        'b' => Some(8),
        'w' => Some(16),
        'l' => Some(32),
        'q' => Some(64),
        _ => None,
    }
}

const fn has_sizes(op: &Op) -> bool {
    match op {
        Op::Jmp(_) | Op::Jcc { .. } | Op::Set { .. } | Op::FullFence | Op::StoreFence => false,
        Op::Nop | Op::Mov | Op::Lea | Op::Xchg | Op::Xadd | Op::Cmpxchg => true,
        Op::Alu(_) | Op::Unary(_) | Op::Shift(_) | Op::Cmp | Op::Test => true,
        Op::Cmov { .. } | Op::Ret => true,
        Op::Extend { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_cut_too_early() {
        assert_eq!(decode("SHL"), Some((Op::Shift(Shift::Left), None)));
        assert_eq!(decode("shll"), Some((Op::Shift(Shift::Left), Some(32))));
        assert_eq!(decode("movb"), Some((Op::Mov, Some(8))));
        assert_eq!(decode("sub"), Some((Op::Alu(Alu::Sub), None)));
        assert_eq!(decode("subb"), Some((Op::Alu(Alu::Sub), Some(8))));
        let less = Op::Cmov {
            cc: Cc::Less,
            negated: false,
        };
        assert_eq!(decode("cmovl"), Some((less.clone(), None)));
        assert_eq!(decode("cmovll"), Some((less, Some(32))));
        let zero_extend = Op::Extend {
            from: Some(8),
            signed: false,
        };
        assert_eq!(decode("movzbl"), Some((zero_extend, Some(32))));
        assert_eq!(decode("nopw"), Some((Op::Nop, Some(16))));
        assert_eq!(decode("movnti"), None);
        assert_eq!(decode("vmovaps"), None);
    }
}
