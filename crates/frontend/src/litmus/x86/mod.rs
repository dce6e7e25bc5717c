//! Litmus tests in X86 and `X86_64` assembly: the table of code is parsed
//! ([`parse`], [`operand`], [`mnemonic`]), its registers and memory accesses are
//! surveyed, and each column is lowered to a thread ([`lower`]).

pub(super) mod flags;
pub(super) mod instr;
pub(super) mod lower;
pub(super) mod mnemonic;
pub(super) mod operand;
pub(super) mod parse;
pub(super) mod reg;
mod shift;

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::{Count, Life, LocalExpr, LocalId, Origin, Span, Template, TemplateId};

use super::condition::Question;
use super::emit::Emitter;
use super::init::{Item, LocRef};
use super::lexer::Token;
use super::memory::Layout;
use super::observe::{Register, RegisterMap, check_processors};
use super::split::Arch;
use super::ty::Ty;
use super::{Failure, Threads};
use crate::diagnostic::Diagnostic;
use instr::{Instr, Op, Operand};
use lower::{File, Thread, width};
use parse::{Column, Line};
use reg::{AX, Base, CX, Flag, Reg, full_bits};

/// What the test says of one thread beside its code.
struct Outline<'a> {
    column: &'a Column,
    /// Initial values of registers.
    init: BTreeMap<Base, i64>,
    /// Declared types of registers.
    types: BTreeMap<Base, Ty>,
    /// All registers that are mentioned, with the place.
    mentioned: BTreeMap<Base, Span>,
    /// Flags that something reads.
    flags: BTreeSet<Flag>,
    /// Registers that an instruction writes.
    written: BTreeSet<Base>,
    /// Registers that hold more than 32 bits at some time.
    wide: BTreeSet<Base>,
}

/// Parses and lowers the code.
pub(super) fn build(
    tokens: &[Token],
    arch: Arch,
    items: &[Item],
    question: &Question,
    layout: &mut Layout,
) -> Result<Threads, Vec<Diagnostic>> {
    let columns = parse::parse(tokens, arch)?;
    let one = |e: Failure| vec![*e];
    declare_symbols(&columns, layout).map_err(one)?;
    let mut outlines = Vec::new();
    for column in &columns {
        outlines.push(outline(column, arch, items, question, layout).map_err(one)?);
    }
    check_processors(&|p| columns.iter().any(|of| of.proc == p), items, question).map_err(one)?;
    for (thread, outline) in outlines.iter_mut().enumerate() {
        survey(outline, thread, arch, layout).map_err(one)?;
    }
    layout.settle_types();
    let mut threads = Threads {
        globals: Vec::new(),
        templates: Vec::new(),
        registers: RegisterMap::new(),
    };
    let mut errors = Vec::new();
    for outline in &outlines {
        match lower(outline, arch, layout) {
            Ok((template, file)) => {
                let id = TemplateId::from(threads.templates.len());
                name_registers(outline, &file, id, arch, &mut threads.registers);
                threads.templates.push(template);
            }
            Err(found) => errors.extend(found),
        }
    }
    if errors.is_empty() {
        threads.globals = layout.globals().map_err(one)?;
        Ok(threads)
    } else {
        Err(errors)
    }
}

fn instrs(column: &Column) -> impl Iterator<Item = &Instr> {
    column.lines.iter().filter_map(|line| match line {
        Line::Instr(instr) => Some(instr),
        Line::Label(..) => None,
    })
}

/// Makes every location that the code names; takes addresses where it does.
fn declare_symbols(columns: &[Column], layout: &mut Layout) -> Result<(), Failure> {
    for instr in columns.iter().flat_map(instrs) {
        for (operand, span) in &instr.operands {
            match operand {
                Operand::Address(name) => {
                    let var = layout.intern(name, *span)?;
                    layout.vars[var].taken = true;
                }
                Operand::Mem(mem) => {
                    let Some(name) = &mem.symbol else { continue };
                    let var = layout.intern(name, *span)?;
                    let computed = mem.base.is_some() || mem.index.is_some();
                    layout.vars[var].taken |= instr.op == Op::Lea || computed;
                }
                Operand::Imm(_) | Operand::Reg(_) => {}
            }
        }
    }
    Ok(())
}

fn outline<'a>(
    column: &'a Column,
    arch: Arch,
    items: &[Item],
    question: &Question,
    layout: &mut Layout,
) -> Result<Outline<'a>, Failure> {
    let mut outline = Outline {
        column,
        init: BTreeMap::new(),
        types: BTreeMap::new(),
        mentioned: BTreeMap::new(),
        flags: BTreeSet::new(),
        written: BTreeSet::new(),
        wide: BTreeSet::new(),
    };
    for instr in instrs(column) {
        mention(instr, &mut outline);
        flags::read_by(instr, &mut outline.flags);
        outline.written.extend(instr.written());
    }
    for item in items {
        let LocRef::Reg { proc, name } = &item.loc else {
            continue;
        };
        if *proc == column.proc {
            initial_register(item, name, arch, &mut outline, layout)?;
        }
    }
    for (loc, span) in super::observe::locations(question) {
        let LocRef::Reg { proc, name } = loc else {
            continue;
        };
        if *proc == column.proc {
            let reg = named(name, arch, &outline, span)?;
            if let Base::Flag(flag) = reg.base {
                outline.flags.insert(flag);
            }
            outline.mentioned.entry(reg.base).or_insert(span);
        }
    }
    Ok(outline)
}

fn mention(instr: &Instr, outline: &mut Outline<'_>) {
    let mut add = |base: &Base, span: Span| {
        outline.mentioned.entry(base.clone()).or_insert(span);
    };
    for (operand, span) in &instr.operands {
        match operand {
            Operand::Reg(reg) => add(&reg.base, *span),
            Operand::Mem(mem) => {
                let index = mem.index.iter().map(|(reg, _)| reg);
                mem.base
                    .iter()
                    .chain(index)
                    .for_each(|reg| add(&reg.base, *span));
            }
            Operand::Imm(_) | Operand::Address(_) => {}
        }
    }
    match instr.op {
        Op::Cmpxchg => add(&AX, instr.span),
        Op::Shift(_) => add(&CX, instr.span),
        _ => {}
    }
}

/// The register that the initial state or the condition names. Symbolic
/// registers must occur in the code, so that a misspelt name is found.
fn named(name: &str, arch: Arch, outline: &Outline<'_>, span: Span) -> Result<Reg, Failure> {
    if let Some(reg) = Reg::named(name, arch) {
        return Ok(reg);
    }
    let base = Base::Symbolic(name.to_owned());
    if outline.mentioned.contains_key(&base) {
        return Ok(Reg::whole(base, arch));
    }
    Err(
        Diagnostic::error(span, format!("unknown register `{name}`"))
            .help(match arch {
                Arch::X86 => "registers are EAX, EBX, ECX, EDX, ESI, EDI, EBP, ESP",
                Arch::X86_64 | Arch::C => "registers are rax, rbx, ..., r15 and their parts",
            })
            .into(),
    )
}

fn initial_register(
    item: &Item,
    name: &str,
    arch: Arch,
    outline: &mut Outline<'_>,
    layout: &mut Layout,
) -> Result<(), Failure> {
    // A symbolic register may be declared before the code is looked at.
    let reg = match Reg::named(name, arch) {
        Some(reg) => reg,
        None => named(name, arch, outline, item.span)?,
    };
    let full = full_bits(arch);
    let value = match item.values.first() {
        Some(literal) => layout.value(literal, item.span)?,
        None => 0,
    };
    if reg.bits != full && !(reg.bits == 32 && Ty::unsigned(32).fits(value)) && value != 0 {
        return Err(
            Diagnostic::error(item.span, "give the whole register a value")
                .help(format!("name the register of {full} bits"))
                .into(),
        );
    }
    let declared = item.pointer.then_some(Ty::pointer(full)).or(item.ty);
    let ty = declared.unwrap_or(Ty::signed(full));
    if !Ty::signed(full).fits(value) {
        return Err(
            Diagnostic::error(item.span, format!("{value} does not fit a register")).into(),
        );
    }
    // A negative number of a narrow type is not widened by itself: registers of
    // type int hold 32 bits.
    let bits = match declared {
        Some(ty) => ty.bits,
        None if (-(1_i128 << 31)..(1_i128 << 32)).contains(&value) => 32,
        None => full,
    };
    if bits == 64 {
        outline.wide.insert(reg.base.clone());
    }
    let canonical = Ty::unsigned(bits.min(full)).canonical(value);
    if outline.init.insert(reg.base.clone(), canonical).is_some() {
        return Err(Diagnostic::error(item.span, format!("`{name}` is given twice")).into());
    }
    if declared.is_some() {
        outline.types.insert(reg.base.clone(), ty);
    }
    outline.mentioned.entry(reg.base).or_insert(item.span);
    Ok(())
}

fn file(outline: &Outline<'_>, locals: BTreeMap<Base, LocalId>) -> File {
    let fixed = outline
        .mentioned
        .keys()
        .filter(|base| !outline.written.contains(*base))
        .map(|base| (base.clone(), outline.init.get(base).copied().unwrap_or(0)))
        .collect();
    File { locals, fixed }
}

/// Who accesses which location, and how wide.
fn survey(
    outline: &mut Outline<'_>,
    thread: usize,
    arch: Arch,
    layout: &mut Layout,
) -> Result<(), Failure> {
    // Addresses are looked at by their form only; what the locals are called is
    // of no importance yet.
    let locals = outline.mentioned.keys().cloned().zip((0..).map(LocalId));
    let file = file(outline, locals.collect());
    for instr in instrs(outline.column) {
        if let Ok(bits) = width(instr, &file, layout, arch) {
            note_wide_writes(instr, bits, &mut outline.wide);
        }
        let Some((mem, span)) = instr.memory() else {
            continue;
        };
        let address = file.address(mem, layout, arch, span)?;
        let vars: Vec<usize> = match address {
            LocalExpr::Const(value) => layout.cell_at(value).map(|c| c.var).into_iter().collect(),
            _ => layout.pointees().iter().map(|c| c.var).collect(),
        };
        let known = known_width(instr);
        for var in vars {
            layout.vars[var].threads.insert(thread);
            layout.vars[var].widths.extend(known);
        }
    }
    Ok(())
}

/// The width of the access, if the instruction alone tells it.
fn known_width(instr: &Instr) -> Option<u8> {
    let register = instr
        .operands
        .iter()
        .find_map(|(operand, _)| match operand {
            Operand::Reg(reg) if !matches!(reg.base, Base::Symbolic(_)) => Some(reg.bits),
            Operand::Reg(_) | Operand::Imm(_) | Operand::Address(_) | Operand::Mem(_) => None,
        });
    match &instr.op {
        Op::Set { .. } => Some(8),
        Op::Extend { from, .. } => *from,
        Op::Shift(_) => instr.width,
        _ => instr.width.or(register),
    }
}

fn note_wide_writes(instr: &Instr, bits: u8, wide: &mut BTreeSet<Base>) {
    if bits == 64 {
        wide.extend(instr.written());
    }
}

fn lower(
    outline: &Outline<'_>,
    arch: Arch,
    layout: &Layout,
) -> Result<(Template, File), Vec<Diagnostic>> {
    let mut emitter = Emitter::new();
    let mut locals = BTreeMap::new();
    let mut kept = BTreeMap::new();
    for (base, span) in &outline.mentioned {
        if matches!(base, Base::Flag(_)) {
            continue;
        }
        let name = Reg::whole(base.clone(), arch).label(arch);
        let init = outline.init.get(base).copied().unwrap_or(0);
        let local = emitter.local(&name, init, Origin::User, *span);
        locals.insert(base.clone(), local);
    }
    for &flag in &outline.flags {
        let init = outline.init.get(&Base::Flag(flag)).copied().unwrap_or(0);
        let span = outline.column.span;
        let local = emitter.local(flag.name(), init, Origin::User, span);
        kept.insert(flag, local);
        locals.insert(Base::Flag(flag), local);
    }
    let mut thread = Thread {
        arch,
        layout,
        emitter,
        file: file(outline, locals),
        flags: kept,
    };
    thread.lower(outline.column)?;
    let Thread { emitter, file, .. } = thread;
    let (locals, cfg) = emitter.finish(outline.column.span);
    let template = Template {
        name: format!("P{}", outline.column.proc),
        count: Count::Once,
        is_process: false,
        locals,
        cfg,
        labels: Vec::new(),
        life: Life::default(),
        span: outline.column.span,
    };
    Ok((template, file))
}

/// Tells the condition where its registers are. A register without a declared
/// type is an int, unless something of 64 bits is written to it.
fn name_registers(
    outline: &Outline<'_>,
    file: &File,
    template: TemplateId,
    arch: Arch,
    registers: &mut RegisterMap,
) {
    let full = full_bits(arch);
    for (base, &local) in &file.locals {
        let whole_ty = match outline.types.get(base) {
            Some(ty) => *ty,
            None if full == 64 && !outline.wide.contains(base) => Ty::INT,
            None => Ty::signed(full),
        };
        let parts: &[(u8, u8)] = match base {
            Base::General(_) => &[(64, 0), (32, 0), (16, 0), (8, 0), (8, 8)],
            Base::Special(_) | Base::Symbolic(_) | Base::Flag(_) => &[(64, 0)],
        };
        for (order, &(bits, shift)) in parts.iter().enumerate() {
            let bits = bits.min(full);
            let part = Reg {
                base: base.clone(),
                bits,
                shift,
            };
            let ty = if bits == full {
                whole_ty
            } else {
                Ty::signed(bits)
            };
            let label = part.label(arch);
            let key = (
                outline.column.proc,
                label.trim_start_matches('%').to_lowercase(),
            );
            registers.entry(key).or_insert(Register {
                template,
                local,
                shift,
                ty,
                rank: (rank(base, file), order),
                label: format!("{}:{label}", outline.column.proc),
            });
        }
    }
}

/// The place of a register in the order that herd lists them.
fn rank(base: &Base, file: &File) -> usize {
    file.locals.keys().position(|b| b == base).unwrap_or(0)
}
