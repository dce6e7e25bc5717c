//! *Liveness* in functions of LLVM: which registers are read later, and which bytes of a
//! function's locals are read before they are written again. What is dead is dropped where paths
//! meet, so that they do meet.
//!
//! Bytes are judged by what the function itself does with the local's name. That another pointer
//! to the local exists is for the caller to see ([`super::merge`]).

use std::collections::{BTreeMap, BTreeSet};

use super::ir::{Const, End, Function, Inst, Operand, Reg};

/// Bytes of a local, one bit each; larger locals are always live.
type Mask = u128;
const LARGEST: u64 = 128;

fn mask(from: i64, size: u64) -> Mask {
    let Ok(from) = u64::try_from(from) else {
        return 0;
    };
    if from >= LARGEST || size == 0 {
        return 0;
    }
    let size = size.min(LARGEST - from) as u32;
    (Mask::MAX >> (128 - size)) << from
}

/// What is live in one function.
pub(super) struct Liveness {
    /// Registers read before they are defined, at the start of each block.
    registers: Vec<BTreeSet<Reg>>,
    /// Live bytes of each local at the start of each block.
    bytes: Vec<BTreeMap<Reg, Mask>>,
    /// Locals with their sizes.
    pub(super) locals: BTreeMap<Reg, u64>,
    /// Registers that are a local moved by a constant.
    aliases: BTreeMap<Reg, (Reg, i64)>,
    /// Whether control comes to a block from several others.
    pub(super) joins: Vec<bool>,
}

fn register(operand: &Operand) -> Option<Reg> {
    match operand {
        Operand::Reg(reg) => Some(*reg),
        Operand::Const(_) => None,
    }
}

fn number(operand: &Operand) -> Option<u64> {
    match operand {
        Operand::Const(Const::Int(value)) => u64::try_from(*value).ok(),
        Operand::Const(Const::Zero) => Some(0),
        Operand::Const(_) | Operand::Reg(_) => None,
    }
}

/// What an instruction does to the bytes of a local: reads and overwrites, in this order.
struct Touch {
    local: Reg,
    read: Mask,
    written: Mask,
}

impl Liveness {
    pub(super) fn of(function: &Function) -> Self {
        let count = function.blocks.len();
        let mut locals = BTreeMap::new();
        let mut aliases = BTreeMap::new();
        let mut incoming = vec![0_u32; count];
        for block in &function.blocks {
            for target in block.end.0.targets() {
                incoming[target] += 1;
            }
            for (inst, _) in &block.insts {
                match inst {
                    Inst::Alloca { dst, size } => {
                        locals.insert(*dst, *size);
                        aliases.insert(*dst, (*dst, 0));
                    }
                    Inst::Address {
                        dst,
                        base: Operand::Reg(base),
                        offset,
                        scaled,
                    } if scaled.is_empty() => {
                        if let Some((local, by)) = aliases.get(base).copied() {
                            aliases.insert(*dst, (local, by + offset));
                        }
                    }
                    _ => {}
                }
            }
        }
        let mut live = Self {
            registers: vec![BTreeSet::new(); count],
            bytes: vec![BTreeMap::new(); count],
            locals,
            aliases,
            joins: incoming.into_iter().map(|n| n > 1).collect(),
        };
        let mut changed = true;
        while changed {
            changed = false;
            for b in (0..count).rev() {
                let (registers, bytes) = live.before(function, b, 0);
                if registers != live.registers[b] || bytes != live.bytes[b] {
                    live.registers[b] = registers;
                    live.bytes[b] = bytes;
                    changed = true;
                }
            }
        }
        live
    }

    /// What is live in block `b` before instruction `first`.
    pub(super) fn before(
        &self,
        function: &Function,
        b: usize,
        first: usize,
    ) -> (BTreeSet<Reg>, BTreeMap<Reg, Mask>) {
        let block = &function.blocks[b];
        let mut registers = BTreeSet::new();
        let mut bytes: BTreeMap<Reg, Mask> = BTreeMap::new();
        for target in block.end.0.targets() {
            registers.extend(&self.registers[target]);
            for (local, mask) in &self.bytes[target] {
                *bytes.entry(*local).or_default() |= mask;
            }
            // What the target's phis read when they are entered from here.
            for (inst, _) in &function.blocks[target].insts {
                let Inst::Phi { dst, incoming, .. } = inst else {
                    continue;
                };
                registers.remove(dst);
                for (value, from) in incoming {
                    if *from == block.name {
                        registers.extend(register(value));
                        self.read_all(value, &mut bytes);
                    }
                }
            }
        }
        if let Some(operand) = block.end.0.operand() {
            registers.extend(register(operand));
            if matches!(block.end.0, End::Return(_)) {
                self.read_all(operand, &mut bytes);
            }
        }
        for (inst, _) in block.insts.iter().skip(first).rev() {
            if let Some(defined) = inst.defined() {
                registers.remove(&defined);
            }
            if let Inst::Phi { .. } = inst {
                continue;
            }
            inst.operands(&mut |operand| registers.extend(register(operand)));
            for touch in self.touches(inst) {
                let entry = bytes.entry(touch.local).or_default();
                *entry = (*entry & !touch.written) | touch.read;
            }
        }
        bytes.retain(|_, mask| *mask != 0);
        (registers, bytes)
    }

    fn read_all(&self, operand: &Operand, bytes: &mut BTreeMap<Reg, Mask>) {
        if let Some((local, _)) = register(operand).and_then(|r| self.aliases.get(&r)) {
            bytes.insert(*local, Mask::MAX);
        }
    }

    /// The live bytes of a local; all of them if it is large.
    pub(super) fn live_bytes(&self, bytes: &BTreeMap<Reg, Mask>, local: Reg) -> Option<Vec<bool>> {
        let size = *self.locals.get(&local)?;
        if size > LARGEST {
            return None;
        }
        let mask = bytes.get(&local).copied().unwrap_or(0);
        Some((0..size).map(|i| mask >> i & 1 == 1).collect())
    }

    fn touches(&self, inst: &Inst) -> Vec<Touch> {
        let alias = |operand: &Operand| register(operand).and_then(|r| self.aliases.get(&r));
        let mut touches = Vec::new();
        let mut touch = |operand: &Operand, read: Option<u64>, written: Option<u64>| {
            if let Some((local, by)) = alias(operand) {
                let bytes = |size: Option<u64>| size.map_or(0, |size| mask(*by, size));
                touches.push(Touch {
                    local: *local,
                    read: bytes(read),
                    written: bytes(written),
                });
            }
        };
        let all = Some(LARGEST);
        match inst {
            Inst::Load { ty, from, .. } => touch(from, Some(ty.size()), None),
            Inst::Store { ty, value, to, .. } => {
                touch(to, None, Some(ty.size()));
                touch(value, all, None);
            }
            Inst::Alloca { .. } | Inst::Fence(..) | Inst::Declare { .. } => {}
            Inst::Unknown { .. } => {}
            Inst::Address { base, scaled, .. } if !scaled.is_empty() => touch(base, all, None),
            Inst::Address { .. } => {}
            Inst::Call {
                callee, arguments, ..
            } => {
                let name = match callee {
                    Operand::Const(Const::Symbol(name)) => name.as_str(),
                    Operand::Const(_) | Operand::Reg(_) => "",
                };
                let whole = |operand: &Operand| alias(operand).is_some_and(|(_, by)| *by == 0);
                match arguments.as_slice() {
                    [to, from, count, ..]
                        if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove") =>
                    {
                        let count = number(&count.value);
                        touch(&to.value, None, count);
                        touch(&from.value, count.or(all), None);
                    }
                    [to, _, count, ..] if name.starts_with("llvm.memset") => {
                        touch(&to.value, None, number(&count.value));
                    }
                    [.., at] if name.starts_with("llvm.lifetime") => {
                        let bytes = if whole(&at.value) { all } else { Some(0) };
                        touch(&at.value, None, bytes);
                    }
                    _ => {
                        for argument in arguments {
                            match argument.result {
                                Some(size) => touch(&argument.value, None, Some(size)),
                                None => touch(&argument.value, all, None),
                            }
                        }
                    }
                }
            }
            Inst::Binary { .. } | Inst::Compare { .. } | Inst::Cast { .. } | Inst::Copy { .. } => {
                inst.operands(&mut |operand| touch(operand, all, None));
            }
            Inst::Select { .. } | Inst::Extract { .. } | Inst::Insert { .. } | Inst::Phi { .. } => {
                inst.operands(&mut |operand| touch(operand, all, None));
            }
            Inst::CompareExchange { .. } | Inst::Change { .. } => {
                inst.operands(&mut |operand| touch(operand, all, None));
            }
        }
        // Reads count before writes of the same instruction.
        touches.sort_by_key(|t| t.read != 0);
        touches
    }
}
