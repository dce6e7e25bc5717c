//! *Operands*: `$1`, `1`, `$x`, `%eax`, `EAX`, `(x)`, `[x]`, `x`, `8(%rax)`,
//! `(%rax,%rbx,8)`, `[rax+rbx*8+4]`, `x(%rip)`.

use palisade_program::Span;
use palisade_syntax::Parser as _;

use super::super::Failure;
use super::super::lexer::{Reader, Tok};
use super::super::split::Arch;
use super::instr::{Mem, Operand};
use super::reg::{Base, Reg};
use crate::diagnostic::Diagnostic;

/// Parses one operand.
pub(super) fn parse(cursor: &mut Reader<'_>, arch: Arch) -> Result<(Operand, Span), Failure> {
    let start = cursor.span();
    let operand = operand(cursor, arch)?;
    Ok((operand, start.to(cursor.last_span())))
}

fn operand(cursor: &mut Reader<'_>, arch: Arch) -> Result<Operand, Failure> {
    if cursor.eat("$") {
        return immediate(cursor);
    }
    skip_size_words(cursor);
    if cursor.is("%") {
        let reg = register(cursor, arch)?;
        if cursor.eat(":") {
            let mut mem = memory(cursor, arch)?;
            mem.segment = true;
            return Ok(Operand::Mem(mem));
        }
        return Ok(Operand::Reg(reg));
    }
    match cursor.tok() {
        Tok::Name(name) => {
            if let Some(reg) = Reg::named(name, arch) {
                cursor.advance();
                return Ok(Operand::Reg(reg));
            }
            Ok(Operand::Mem(memory(cursor, arch)?))
        }
        Tok::Punct("(" | "[") => Ok(Operand::Mem(memory(cursor, arch)?)),
        Tok::Number(_) | Tok::Punct("-" | "+") => {
            let number = cursor.signed()?;
            if cursor.is("(") || cursor.is("[") {
                let mut mem = memory(cursor, arch)?;
                mem.disp += number;
                return Ok(Operand::Mem(mem));
            }
            Ok(Operand::Imm(number))
        }
        Tok::Punct(_) | Tok::Text(_) | Tok::End => Err(cursor.unexpected("an operand")),
    }
}

fn immediate(cursor: &mut Reader<'_>) -> Result<Operand, Failure> {
    match cursor.tok() {
        Tok::Name(name) => {
            cursor.advance();
            Ok(Operand::Address(name.clone()))
        }
        Tok::Number(_) | Tok::Punct(_) | Tok::Text(_) | Tok::End => {
            Ok(Operand::Imm(cursor.signed()?))
        }
    }
}

/// Intel's `dword ptr`: the width follows from the instruction and the location.
fn skip_size_words(cursor: &mut Reader<'_>) {
    let is_ptr = |tok: &Tok| matches!(tok, Tok::Name(n) if n.eq_ignore_ascii_case("ptr"));
    if matches!(cursor.tok(), Tok::Name(_)) && is_ptr(cursor.tok_at(1)) {
        cursor.advance();
        cursor.advance();
    }
}

/// `%name` or a register's name; an unknown name after `%` is a symbolic register.
fn register(cursor: &mut Reader<'_>, arch: Arch) -> Result<Reg, Failure> {
    let symbolic = cursor.eat("%");
    let (name, span) = cursor.name("a register")?;
    if let Some(reg) = Reg::named(name, arch) {
        return Ok(reg);
    }
    let lower = name.to_ascii_lowercase();
    if !symbolic
        || ["xmm", "ymm", "zmm", "mm", "st"]
            .iter()
            .any(|p| lower.starts_with(p))
    {
        return Err(
            Diagnostic::error(span, format!("unknown or unsupported register `{name}`")).into(),
        );
    }
    Ok(Reg::whole(Base::Symbolic(name.to_owned()), arch))
}

fn memory(cursor: &mut Reader<'_>, arch: Arch) -> Result<Mem, Failure> {
    let mut mem = Mem::default();
    if matches!(cursor.tok(), Tok::Number(_)) || cursor.is("-") {
        mem.disp = cursor.signed()?;
    }
    if let Tok::Name(name) = cursor.tok() {
        cursor.advance();
        mem.symbol = Some(name.clone());
        while cursor.is("+") || cursor.is("-") {
            mem.disp += cursor.signed()?;
        }
        if !cursor.is("(") && !cursor.is("[") {
            return Ok(mem);
        }
    }
    if cursor.eat("(") {
        inside_parentheses(cursor, arch, &mut mem)?;
        cursor.expect(")")?;
    } else {
        cursor.expect("[")?;
        sum(cursor, arch, &mut mem)?;
        cursor.expect("]")?;
    }
    // `x(%rip)` is the location x.
    if matches!(&mem.base, Some(reg) if matches!(reg.base, Base::Special("rip" | "eip")))
        && mem.symbol.is_some()
    {
        mem.base = None;
    }
    Ok(mem)
}

/// `(x)`, `(%rax)`, `(%rax,%rbx,8)`, `(,%rbx,8)`.
fn inside_parentheses(cursor: &mut Reader<'_>, arch: Arch, mem: &mut Mem) -> Result<(), Failure> {
    if !cursor.is(",") {
        sum(cursor, arch, mem)?;
    }
    if cursor.eat(",") {
        let reg = register(cursor, arch)?;
        let scale = if cursor.eat(",") { cursor.signed()? } else { 1 };
        add_register(mem, reg, Some(scale), cursor.last_span())?;
    }
    Ok(())
}

/// `rax+rbx*8+4`, `x+4`, `x`.
fn sum(cursor: &mut Reader<'_>, arch: Arch, mem: &mut Mem) -> Result<(), Failure> {
    loop {
        let negative = cursor.eat("-");
        term(cursor, arch, mem, negative)?;
        if !cursor.eat("+") && !cursor.is("-") {
            return Ok(());
        }
    }
}

fn term(cursor: &mut Reader<'_>, arch: Arch, mem: &mut Mem, negative: bool) -> Result<(), Failure> {
    let span = cursor.span();
    if let Tok::Number(value) = cursor.tok() {
        cursor.advance();
        if cursor.eat("*") {
            let reg = register(cursor, arch)?;
            return add_register(mem, reg, Some(*value), span);
        }
        mem.disp += if negative { -value } else { *value };
        return Ok(());
    }
    if negative {
        return Err(cursor.unexpected("a number"));
    }
    if let Tok::Name(name) = cursor.tok()
        && Reg::named(name, arch).is_none()
    {
        cursor.advance();
        if mem.symbol.replace(name.clone()).is_some() {
            return Err(Diagnostic::error(span, "an address names one location only").into());
        }
        return Ok(());
    }
    let reg = register(cursor, arch)?;
    let scale = if cursor.eat("*") {
        Some(cursor.signed()?)
    } else {
        None
    };
    add_register(mem, reg, scale, span)
}

fn add_register(mem: &mut Mem, reg: Reg, scale: Option<i128>, span: Span) -> Result<(), Failure> {
    match (scale, &mem.base, &mem.index) {
        (None, None, _) => mem.base = Some(reg),
        (_, _, None) => mem.index = Some((reg, scale.unwrap_or(1))),
        (_, _, Some(_)) => {
            return Err(Diagnostic::error(span, "an address has two registers at most").into());
        }
    }
    Ok(())
}
