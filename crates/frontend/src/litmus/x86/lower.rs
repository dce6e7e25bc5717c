//! *Lowering*: a column of instructions becomes a thread's control-flow graph.
//!
//! | instruction | steps |
//! |---|---|
//! | load, store | one load or store |
//! | read-modify-write | a load and a store; an atomic block with LOCK, and for XCHG always |
//! | CMPXCHG that fails | its load only (inside the atomic block with LOCK), as in herd |
//! | MFENCE, SFENCE | full fence, store-store fence |
//! | jumps | assumptions on flags |

use std::collections::BTreeMap;

use palisade_program::{AtomicKind, BinOp, FenceKind, LocId, LocalExpr, LocalId, Span, Step};

use super::super::Failure;
use super::super::access;
use super::super::emit::{Emitter, read};
use super::super::memory::{CellRef, Layout};
use super::super::split::Arch;
use super::super::ty::{Ty, as_signed, canonical};
use super::flags::{self, Cause, Flags};
use super::instr::{Alu, Instr, Mem, Op, Operand, Unary};
use super::parse::{Column, Line};
use super::reg::{AX, Base, CX, Reg, full_bits};
use crate::diagnostic::Diagnostic;

/// The registers of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    /// The local of each register.
    pub(super) locals: BTreeMap<Base, LocalId>,
    /// The values of those that no instruction writes.
    pub(super) fixed: BTreeMap<Base, i64>,
}

/// A thread that is being lowered.
pub(super) struct Thread<'a> {
    pub(super) arch: Arch,
    pub(super) layout: &'a Layout,
    pub(super) emitter: Emitter,
    pub(super) file: File,
    pub(super) flags: Flags,
}

impl AsMut<Emitter> for Thread<'_> {
    fn as_mut(&mut self) -> &mut Emitter {
        &mut self.emitter
    }
}

impl File {
    fn whole(&self, base: &Base) -> LocalExpr {
        match (self.fixed.get(base), self.locals.get(base)) {
            (Some(value), _) => LocalExpr::Const(*value),
            (None, Some(local)) => read(*local),
            (None, None) => LocalExpr::Const(0),
        }
    }

    /// The value of a register's part.
    pub(super) fn read(&self, reg: &Reg, arch: Arch) -> LocalExpr {
        let whole = self.whole(&reg.base);
        if reg.bits == full_bits(arch) {
            return whole;
        }
        let shift = LocalExpr::Const(i64::from(reg.shift));
        let moved = if reg.shift == 0 {
            whole
        } else {
            LocalExpr::binary(BinOp::Shr, whole, shift)
        };
        canonical(reg.bits, moved)
    }

    /// The address that a memory operand names.
    pub(super) fn address(
        &self,
        mem: &Mem,
        layout: &Layout,
        arch: Arch,
        span: Span,
    ) -> Result<LocalExpr, Failure> {
        let wrong = |what: &str| Err(Failure::from(Diagnostic::error(span, what)));
        if mem.segment {
            return wrong("segment registers are not supported");
        }
        let symbol = mem.symbol.as_deref().and_then(|name| layout.find(name));
        let base = symbol.map_or(0, |var| i128::from(layout.address(var, 0)));
        let Ok(constant) = i64::try_from(base + mem.disp) else {
            return wrong("the displacement is out of range");
        };
        let mut sum = LocalExpr::Const(constant);
        let plus = |sum: LocalExpr, e: LocalExpr| flags::add(full_bits(arch), sum, e);
        if let Some(reg) = &mem.base {
            check_address_register(reg, span)?;
            sum = plus(self.read(reg, arch), sum);
        }
        if let Some((reg, scale)) = &mem.index {
            check_address_register(reg, span)?;
            if !matches!(scale, 1 | 2 | 4 | 8) {
                return wrong("the scale must be 1, 2, 4 or 8");
            }
            let scale = LocalExpr::Const(*scale as i64);
            let scaled = LocalExpr::binary(BinOp::Mul, self.read(reg, arch), scale);
            sum = plus(sum, canonical(full_bits(arch), scaled));
        }
        Ok(sum)
    }
}

fn check_address_register(reg: &Reg, span: Span) -> Result<(), Failure> {
    match (&reg.base, reg.bits) {
        (Base::General(_) | Base::Symbolic(_), 32 | 64) => Ok(()),
        (Base::General(_) | Base::Symbolic(_) | Base::Special(_) | Base::Flag(_), _) => {
            Err(Diagnostic::error(span, "this register cannot hold an address").into())
        }
    }
}

/// The width of an instruction: from its suffix, its registers, or the location.
pub(super) fn width(
    instr: &Instr,
    file: &File,
    layout: &Layout,
    arch: Arch,
) -> Result<u8, Failure> {
    if let Op::Set { .. } = instr.op {
        return Ok(8);
    }
    let counted = match instr.op {
        // The count of a shift and the source of an extension have own widths.
        Op::Shift(_) | Op::Extend { .. } => 1,
        _ => 2,
    };
    let mut found = instr.width;
    for (operand, span) in instr.operands.iter().take(counted) {
        let Operand::Reg(reg) = operand else { continue };
        if matches!(reg.base, Base::Special(_) | Base::Flag(_)) {
            return Err(Diagnostic::error(*span, "this register cannot be an operand").into());
        }
        // A symbolic register is as wide as its use.
        if matches!(reg.base, Base::Symbolic(_)) && found.is_some() {
            continue;
        }
        match found {
            None => found = Some(reg.bits),
            Some(bits) if bits == reg.bits => {}
            Some(bits) => {
                let message = format!("a register of {} bits in an operation of {bits}", reg.bits);
                return Err(Diagnostic::error(*span, message)
                    .help("use the part of the register that has the right width")
                    .into());
            }
        }
    }
    if let Some(bits) = found {
        return Ok(bits);
    }
    let Some((mem, span)) = instr.memory() else {
        return Ok(full_bits(arch));
    };
    Ok(match file.address(mem, layout, arch, span)? {
        LocalExpr::Const(value) => layout
            .cell_at(value)
            .map_or(32, |cell| layout.vars[cell.var].ty.bits),
        _ => 32,
    })
}

impl Thread<'_> {
    /// Lowers the whole column.
    pub(super) fn lower(&mut self, column: &Column) -> Result<(), Vec<Diagnostic>> {
        let labels = self.labels(column).map_err(|e| vec![*e])?;
        let mut errors = Vec::new();
        for line in &column.lines {
            self.emitter.release();
            match line {
                Line::Label(name, span) => {
                    let Some(&loc) = labels.get(name.as_str()) else {
                        continue;
                    };
                    self.emitter.edge_to(Step::Skip, loc, *span);
                    self.emitter.go_on(loc);
                }
                Line::Instr(instr) => {
                    if let Err(error) = self.instruction(instr, &labels) {
                        errors.push(*error);
                    }
                }
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    fn labels<'c>(&mut self, column: &'c Column) -> Result<BTreeMap<&'c str, LocId>, Failure> {
        let mut labels = BTreeMap::new();
        for line in &column.lines {
            if let Line::Label(name, span) = line {
                let loc = self.emitter.loc();
                if labels.insert(name.as_str(), loc).is_some() {
                    let message = format!("label `{name}` is defined twice");
                    return Err(Diagnostic::error(*span, message).into());
                }
            }
        }
        Ok(labels)
    }

    fn instruction(
        &mut self,
        instr: &Instr,
        labels: &BTreeMap<&str, LocId>,
    ) -> Result<(), Failure> {
        let span = instr.span;
        let target = |label: &str| {
            labels.get(label).copied().ok_or_else(|| {
                let message = format!("unknown label `{label}`");
                Failure::from(
                    Diagnostic::error(span, message).help("define it in the same column: `name:`"),
                )
            })
        };
        match &instr.op {
            Op::Nop => Ok(()),
            Op::FullFence => {
                self.emitter.step(Step::Fence(FenceKind::Full), span);
                Ok(())
            }
            Op::StoreFence => {
                self.emitter.step(Step::Fence(FenceKind::StoreStore), span);
                Ok(())
            }
            Op::Ret => {
                self.emitter.end(span);
                Ok(())
            }
            Op::Jmp(label) => {
                let to = target(label)?;
                self.emitter.edge_to(Step::Skip, to, span);
                let next = self.emitter.loc();
                self.emitter.go_on(next);
                Ok(())
            }
            Op::Jcc { cc, negated, label } => {
                let to = target(label)?;
                let cond = flags::condition(&self.flags, *cc, *negated);
                let (yes, no) = self.emitter.branch(&cond, span);
                self.emitter.go_on(yes);
                self.emitter.edge_to(Step::Skip, to, span);
                self.emitter.go_on(no);
                Ok(())
            }
            Op::Mov | Op::Extend { .. } | Op::Lea | Op::Xchg | Op::Xadd | Op::Cmpxchg => {
                self.data(instr)
            }
            Op::Alu(_) | Op::Unary(_) | Op::Shift(_) | Op::Cmp | Op::Test => self.data(instr),
            Op::Set { .. } | Op::Cmov { .. } => self.data(instr),
        }
    }

    /// An instruction that moves or computes data.
    fn data(&mut self, instr: &Instr) -> Result<(), Failure> {
        let bits = width(instr, &self.file, self.layout, self.arch)?;
        let Some((mem, mem_span)) = instr.memory() else {
            return self.compute(instr, bits, None);
        };
        let address = self.file.address(mem, self.layout, self.arch, mem_span)?;
        if instr.is_atomic() {
            self.emitter.open_atomic();
        }
        let layout = self.layout;
        let done = access::for_each_cell(self, layout, &address, mem_span, |thread, cell| {
            thread.compute(instr, bits, Some(cell))
        });
        if instr.is_atomic() {
            let kind = match instr.op {
                Op::Xchg => AtomicKind::Xchg,
                Op::Cmpxchg => AtomicKind::Cas,
                Op::Xadd => AtomicKind::FetchAdd,
                _ => AtomicKind::Block,
            };
            self.emitter.close_atomic(kind, instr.span);
        }
        done
    }

    /// The value of operand `i`, canonical in `bits` bits; memory is loaded.
    fn value(
        &mut self,
        instr: &Instr,
        i: usize,
        bits: u8,
        cell: Option<CellRef>,
    ) -> Result<LocalExpr, Failure> {
        let Some((operand, span)) = instr.operands.get(i) else {
            return Err(Diagnostic::error(instr.span, "an operand is missing").into());
        };
        match (operand, cell) {
            (Operand::Imm(value), _) => {
                if !Ty::signed(bits).fits(*value) {
                    let message = format!("{value} does not fit {bits} bits");
                    return Err(Diagnostic::error(*span, message).into());
                }
                Ok(LocalExpr::Const(Ty::signed(bits).canonical(*value)))
            }
            (Operand::Address(name), _) => {
                let var = self.layout.find(name).unwrap_or_default();
                let address = LocalExpr::Const(self.layout.address(var, 0));
                Ok(canonical(bits, address))
            }
            (Operand::Reg(reg), _) => Ok(self.file.read(&sized(reg, bits), self.arch)),
            (Operand::Mem(_), Some(cell)) => {
                let dst = self.emitter.temp();
                access::load(&mut self.emitter, self.layout, cell, bits, dst, *span)?;
                Ok(read(dst))
            }
            (Operand::Mem(_), None) => {
                Err(Diagnostic::error(*span, "memory is not expected here").into())
            }
        }
    }

    /// Writes operand `i`.
    fn write(
        &mut self,
        instr: &Instr,
        i: usize,
        bits: u8,
        cell: Option<CellRef>,
        value: LocalExpr,
    ) -> Result<(), Failure> {
        let Some((operand, span)) = instr.operands.get(i) else {
            return Err(Diagnostic::error(instr.span, "an operand is missing").into());
        };
        match (operand, cell) {
            (Operand::Reg(reg), _) => {
                self.write_reg(&sized(reg, bits), value, instr.span);
                Ok(())
            }
            (Operand::Mem(_), Some(cell)) => {
                access::store(&mut self.emitter, self.layout, cell, bits, value, *span)
            }
            (Operand::Mem(_) | Operand::Imm(_) | Operand::Address(_), _) => {
                Err(Diagnostic::error(*span, "this cannot be a destination").into())
            }
        }
    }

    pub(super) fn write_reg(&mut self, reg: &Reg, value: LocalExpr, span: Span) {
        let Some(&dst) = self.file.locals.get(&reg.base) else {
            debug_assert!(false, "every register of the code has a local");
            return;
        };
        let full = full_bits(self.arch);
        let new = if reg.bits >= 32 {
            value
        } else {
            let mask = ((1_i64 << reg.bits) - 1) << reg.shift;
            let kept = LocalExpr::binary(BinOp::BitAnd, read(dst), LocalExpr::Const(!mask));
            let shift = LocalExpr::Const(i64::from(reg.shift));
            let moved = canonical(full, LocalExpr::binary(BinOp::Shl, value, shift));
            LocalExpr::binary(BinOp::BitOr, kept, moved)
        };
        self.emitter.assign(dst, new, span);
    }

    fn set_flags(&mut self, bits: u8, cause: &Cause, span: Span) {
        flags::set(&mut self.emitter, &self.flags, bits, cause, span);
    }

    /// The instruction itself, with its memory operand in `cell`.
    fn compute(&mut self, instr: &Instr, bits: u8, cell: Option<CellRef>) -> Result<(), Failure> {
        let span = instr.span;
        match &instr.op {
            Op::Mov => self.mov(instr, bits, cell),
            Op::Extend { from, signed } => {
                let from = self.source_width(instr, *from, bits, cell)?;
                let source = self.value(instr, 1, from, cell)?;
                let value = if *signed {
                    canonical(bits, as_signed(from, source))
                } else {
                    source
                };
                self.write(instr, 0, bits, cell, value)
            }
            Op::Lea => match instr.operands.get(1) {
                Some((Operand::Mem(mem), mem_span)) => {
                    let address = self.file.address(mem, self.layout, self.arch, *mem_span)?;
                    self.write(instr, 0, bits, cell, canonical(bits, address))
                }
                _ => Err(Diagnostic::error(span, "`lea` needs a memory operand").into()),
            },
            Op::Xchg => self.xchg(instr, bits, cell),
            Op::Xadd => self.xadd(instr, bits, cell),
            Op::Cmpxchg => self.cmpxchg(instr, bits, cell),
            Op::Alu(op) => self.alu(*op, instr, bits, cell),
            Op::Unary(op) => self.unary(*op, instr, bits, cell),
            Op::Shift(op) => {
                let a = self.value(instr, 0, bits, cell)?;
                let count = self.count(instr, bits)?;
                let keeps_flags = !self.flags.is_empty();
                match super::shift::shift(*op, bits, &a, &count, keeps_flags, span)? {
                    // Also a shift by 0 clears the upper half of a register.
                    None if cell.is_none() => self.write(instr, 0, bits, None, a),
                    None => Ok(()),
                    Some((result, cause)) => {
                        self.set_flags(bits, &cause, span);
                        self.write(instr, 0, bits, cell, result)
                    }
                }
            }
            Op::Cmp => {
                let (a, b) = self.pair(instr, bits, cell)?;
                self.set_flags(bits, &Cause::Sub(a, b), span);
                Ok(())
            }
            Op::Test => {
                let (a, b) = self.pair(instr, bits, cell)?;
                let both = LocalExpr::binary(BinOp::BitAnd, a, b);
                self.set_flags(bits, &Cause::Logic(both), span);
                Ok(())
            }
            Op::Set { cc, negated } => {
                let value = flags::condition(&self.flags, *cc, *negated);
                self.write(instr, 0, 8, cell, value)
            }
            Op::Cmov { cc, negated } => {
                let cond = flags::condition(&self.flags, *cc, *negated);
                let (a, b) = self.pair(instr, bits, cell)?;
                let value = LocalExpr::Cond(Box::new(cond), Box::new(b), Box::new(a));
                self.write(instr, 0, bits, cell, value)
            }
            Op::Nop | Op::Jmp(_) | Op::Jcc { .. } => Ok(()),
            Op::FullFence | Op::StoreFence | Op::Ret => Ok(()),
        }
    }

    /// The values of both operands.
    fn pair(
        &mut self,
        instr: &Instr,
        bits: u8,
        cell: Option<CellRef>,
    ) -> Result<(LocalExpr, LocalExpr), Failure> {
        let a = self.value(instr, 0, bits, cell)?;
        Ok((a, self.value(instr, 1, bits, cell)?))
    }

    /// The value in a temporary, unless it is there already or constant.
    fn keep(&mut self, value: LocalExpr, span: Span) -> LocalExpr {
        if matches!(value, LocalExpr::Const(_)) {
            return value;
        }
        let temp = self.emitter.temp();
        self.emitter.assign(temp, value, span);
        read(temp)
    }

    /// Swaps the operands. The memory operand is either of them.
    fn xchg(&mut self, instr: &Instr, bits: u8, cell: Option<CellRef>) -> Result<(), Failure> {
        let is_mem = |i: usize| matches!(instr.operands.get(i), Some((Operand::Mem(_), _)));
        let (first, second) = if is_mem(1) { (1, 0) } else { (0, 1) };
        let mut old = self.value(instr, first, bits, cell)?;
        if cell.is_none() {
            old = self.keep(old, instr.span);
        }
        let new = self.value(instr, second, bits, None)?;
        self.write(instr, first, bits, cell, new)?;
        self.write(instr, second, bits, None, old)
    }

    fn xadd(&mut self, instr: &Instr, bits: u8, cell: Option<CellRef>) -> Result<(), Failure> {
        let span = instr.span;
        let (a, b) = self.pair(instr, bits, cell)?;
        let (a, b) = (self.keep(a, span), self.keep(b, span));
        self.set_flags(bits, &Cause::Add(a.clone(), b.clone()), span);
        let sum = flags::add(bits, a.clone(), b);
        // The destination last: it wins if both are the same register.
        self.write(instr, 1, bits, None, a)?;
        self.write(instr, 0, bits, cell, sum)
    }

    /// The count of a shift: a constant, or `cl`; the processor takes it modulo
    /// the width (32 for narrow operands).
    fn count(&self, instr: &Instr, bits: u8) -> Result<LocalExpr, Failure> {
        let mask = if bits == 64 { 63 } else { 31 };
        match instr.operands.get(1) {
            None => Ok(LocalExpr::Const(1)),
            Some((Operand::Imm(count), _)) => Ok(LocalExpr::Const(*count as i64 & mask)),
            Some((Operand::Reg(reg), _)) if reg.base == CX && reg.bits == 8 && reg.shift == 0 => {
                let cl = self.file.read(reg, self.arch);
                Ok(LocalExpr::binary(BinOp::BitAnd, cl, LocalExpr::Const(mask)))
            }
            Some((_, span)) => {
                Err(Diagnostic::error(*span, "shifts count by a number or by `cl`").into())
            }
        }
    }

    fn mov(&mut self, instr: &Instr, bits: u8, cell: Option<CellRef>) -> Result<(), Failure> {
        // A load that fills its register needs no temporary.
        if let [(Operand::Reg(reg), _), (Operand::Mem(_), span)] = instr.operands.as_slice()
            && let Some(cell) = cell
            && bits >= 32
            && let Some(&dst) = self.file.locals.get(&reg.base)
        {
            return access::load(&mut self.emitter, self.layout, cell, bits, dst, *span);
        }
        let value = self.value(instr, 1, bits, cell)?;
        self.write(instr, 0, bits, cell, value)
    }

    fn source_width(
        &self,
        instr: &Instr,
        from: Option<u8>,
        bits: u8,
        cell: Option<CellRef>,
    ) -> Result<u8, Failure> {
        let width = match (from, instr.operands.get(1), cell) {
            (Some(from), ..) => from,
            (None, Some((Operand::Reg(reg), _)), _) => reg.bits,
            (None, _, Some(cell)) => self.layout.vars[cell.var].ty.bits,
            (None, _, None) => bits,
        };
        if width >= bits {
            let message = format!("`{}` must widen its operand", instr.mnemonic);
            return Err(Diagnostic::error(instr.span, message).into());
        }
        Ok(width)
    }

    fn cmpxchg(&mut self, instr: &Instr, bits: u8, cell: Option<CellRef>) -> Result<(), Failure> {
        let span = instr.span;
        let (old, new) = self.pair(instr, bits, cell)?;
        let ax = Reg {
            base: AX,
            bits,
            shift: 0,
        };
        let expected = self.file.read(&ax, self.arch);
        self.set_flags(bits, &Cause::Sub(expected.clone(), old.clone()), span);
        let equal = LocalExpr::binary(BinOp::Eq, expected, old.clone());
        let (yes, no) = self.emitter.branch(&equal, span);
        let join = self.emitter.loc();
        self.emitter.go_on(yes);
        self.write(instr, 0, bits, cell, new)?;
        self.emitter.edge_to(Step::Skip, join, span);
        self.emitter.go_on(no);
        self.write_reg(&ax, old, span);
        self.emitter.edge_to(Step::Skip, join, span);
        self.emitter.go_on(join);
        Ok(())
    }

    fn alu(
        &mut self,
        op: Alu,
        instr: &Instr,
        bits: u8,
        cell: Option<CellRef>,
    ) -> Result<(), Failure> {
        let span = instr.span;
        let same = instr.operands.len() == 2 && instr.operands[0].0 == instr.operands[1].0;
        let (a, b) = self.pair(instr, bits, cell)?;
        let bitwise = |op| LocalExpr::binary(op, a.clone(), b.clone());
        let result = match op {
            // Known without the register: keeps false dependencies constant.
            Alu::Xor | Alu::Sub if same => LocalExpr::Const(0),
            Alu::Add => flags::add(bits, a.clone(), b.clone()),
            Alu::Sub => flags::sub(bits, a.clone(), b.clone()),
            Alu::And => bitwise(BinOp::BitAnd),
            Alu::Or => bitwise(BinOp::BitOr),
            Alu::Xor => bitwise(BinOp::BitXor),
        };
        let cause = match op {
            Alu::Add => Cause::Add(a, b),
            Alu::Sub => Cause::Sub(a, b),
            Alu::And | Alu::Or | Alu::Xor => Cause::Logic(result.clone()),
        };
        self.set_flags(bits, &cause, span);
        self.write(instr, 0, bits, cell, result)
    }

    fn unary(
        &mut self,
        op: Unary,
        instr: &Instr,
        bits: u8,
        cell: Option<CellRef>,
    ) -> Result<(), Failure> {
        let a = self.value(instr, 0, bits, cell)?;
        let one = LocalExpr::Const(1);
        let zero = LocalExpr::Const(0);
        let (result, cause) = match op {
            Unary::Inc => (flags::add(bits, a.clone(), one), Some(Cause::Inc(a))),
            Unary::Dec => (flags::sub(bits, a.clone(), one), Some(Cause::Dec(a))),
            Unary::Neg => (
                flags::sub(bits, zero.clone(), a.clone()),
                Some(Cause::Sub(zero, a)),
            ),
            Unary::Not => {
                let minus_one = LocalExpr::Const(-1);
                let all = LocalExpr::binary(BinOp::BitXor, a, minus_one);
                (canonical(bits, all), None)
            }
        };
        if let Some(cause) = cause {
            self.set_flags(bits, &cause, instr.span);
        }
        self.write(instr, 0, bits, cell, result)
    }
}

/// The part of a register that an operation of `bits` bits uses: symbolic
/// registers fit any width.
fn sized(reg: &Reg, bits: u8) -> Reg {
    match reg.base {
        Base::Symbolic(_) => Reg {
            bits: bits.min(reg.bits),
            ..reg.clone()
        },
        Base::General(_) | Base::Special(_) | Base::Flag(_) => reg.clone(),
    }
}
