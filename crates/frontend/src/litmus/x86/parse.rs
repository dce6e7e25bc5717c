//! The *table of code*: a column per processor, cells separated by `|`, rows
//! ended by `;`.
//!
//! ```text
//! P0          | P1            ;
//! movl $1,(x) | movl (y),%eax ;
//! ```
//!
//! X86 writes the destination first, `X86_64` last; both accept either form of a
//! memory operand, `(x)` and `[x]`, with or without `%` and `$`, as herd does.

use palisade_program::Span;
use palisade_syntax::Parser as _;

use super::super::Failure;
use super::super::init::proc_number;
use super::super::lexer::{Reader, Tok, Token};
use super::super::split::Arch;
use super::instr::{Instr, Op, Operand};
use super::mnemonic::{Shape, decode, shape};
use super::operand;
use crate::diagnostic::Diagnostic;

/// A line of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// `name:`
    Label(String, Span),
    /// An instruction.
    Instr(Instr),
}

/// One column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// The processor's number.
    pub(crate) proc: u32,
    /// Where it is named.
    pub(crate) span: Span,
    /// Its code.
    pub(crate) lines: Vec<Line>,
}

/// Parses the table; reports what is wrong in every cell.
pub(crate) fn parse(tokens: &[Token], arch: Arch) -> Result<Vec<Column>, Vec<Diagnostic>> {
    let mut cursor = Reader::new(tokens);
    let mut errors = Vec::new();
    let mut columns = header(&mut cursor).map_err(|e| vec![*e])?;
    while *cursor.tok() != Tok::End {
        row(&mut cursor, arch, &mut columns, &mut errors);
    }
    if errors.is_empty() {
        Ok(columns)
    } else {
        Err(errors)
    }
}

fn header(cursor: &mut Reader<'_>) -> Result<Vec<Column>, Failure> {
    while cursor.eat(";") {}
    let mut columns: Vec<Column> = Vec::new();
    loop {
        let span = cursor.span();
        let number = match cursor.tok() {
            Tok::Name(name) => proc_number(name),
            Tok::Number(_) | Tok::Punct(_) | Tok::Text(_) | Tok::End => None,
        };
        let Some(proc) = number else {
            return Err(cursor.unexpected("a processor such as `P0`"));
        };
        cursor.advance();
        if columns.iter().any(|c| c.proc == proc) {
            return Err(Diagnostic::error(span, format!("P{proc} has two columns")).into());
        }
        columns.push(Column {
            proc,
            span,
            lines: Vec::new(),
        });
        if cursor.eat(";") {
            return Ok(columns);
        }
        if !cursor.eat("|") {
            return Err(cursor.unexpected("`|` or `;`"));
        }
    }
}

fn row(cursor: &mut Reader<'_>, arch: Arch, columns: &mut [Column], errors: &mut Vec<Diagnostic>) {
    let start = cursor.span();
    let mut cells = 0;
    loop {
        match cell(cursor, arch) {
            Ok(lines) => {
                if let Some(column) = columns.get_mut(cells) {
                    column.lines.extend(lines);
                }
            }
            Err(error) => {
                errors.push(*error);
                skip_cell(cursor);
            }
        }
        cells += 1;
        if !cursor.eat("|") {
            break;
        }
    }
    if cells != columns.len() {
        let span = start.to(cursor.last_span());
        let message = format!(
            "the row has {cells} cells, the table {} columns",
            columns.len()
        );
        errors.push(
            Diagnostic::error(span, message)
                .help("separate cells by `|`, also empty ones, and end the row with `;`"),
        );
    }
    if *cursor.tok() != Tok::End && !cursor.eat(";") {
        errors.push(*cursor.unexpected("`|` or `;`"));
        skip_cell(cursor);
        cursor.eat("|");
        cursor.eat(";");
    }
}

fn skip_cell(cursor: &mut Reader<'_>) {
    while !cell_ends(cursor) {
        cursor.advance();
    }
}

fn cell_ends(cursor: &Reader<'_>) -> bool {
    cursor.is("|") || cursor.is(";") || *cursor.tok() == Tok::End
}

fn cell(cursor: &mut Reader<'_>, arch: Arch) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    while let (Tok::Name(name), Tok::Punct(":")) = (cursor.tok(), cursor.tok_at(1)) {
        lines.push(Line::Label(name.clone(), cursor.span()));
        cursor.advance();
        cursor.advance();
    }
    if !cell_ends(cursor) {
        lines.push(Line::Instr(instruction(cursor, arch)?));
        if !cell_ends(cursor) {
            return Err(cursor.unexpected("the end of the instruction"));
        }
    }
    Ok(lines)
}

fn instruction(cursor: &mut Reader<'_>, arch: Arch) -> Result<Instr, Failure> {
    let (mut name, start) = cursor.name("an instruction")?;
    let mut name_span = start;
    let lock = name.eq_ignore_ascii_case("lock");
    if lock {
        // `lock; incl (x)` is written with a semicolon as well.
        cursor.eat(";");
        (name, name_span) = cursor.name("the locked instruction")?;
    }
    let Some((mut op, width)) = decode(name) else {
        let message = format!("unknown or unsupported instruction `{name}`");
        return Err(Diagnostic::error(name_span, message)
            .help("moves, integer arithmetic, jumps, fences and locked instructions are supported")
            .into());
    };
    let mut operands = Vec::new();
    match (shape(&op), &mut op) {
        (Shape::Label, Op::Jmp(label) | Op::Jcc { label, .. }) => {
            cursor.name("a label")?.0.clone_into(label);
        }
        (Shape::Label, _) => {}
        (Shape::Operands(count), _) => {
            while !cell_ends(cursor) && operands.len() < *count.end() {
                if !operands.is_empty() {
                    cursor.expect(",")?;
                }
                operands.push(operand::parse(cursor, arch)?);
            }
            if operands.len() < *count.start() {
                return Err(cursor.unexpected("an operand"));
            }
        }
    }
    let mut instr = Instr {
        op,
        lock,
        width,
        operands,
        mnemonic: name.to_owned(),
        span: start.to(cursor.last_span()),
    };
    order_operands(&mut instr, arch)?;
    check_lock(&instr)?;
    Ok(instr)
}

/// Puts the destination first.
fn order_operands(instr: &mut Instr, arch: Arch) -> Result<(), Failure> {
    let is_mem = |i: usize| matches!(instr.operands.get(i), Some((Operand::Mem(_), _)));
    let last_is_destination = arch == Arch::X86_64;
    let swap = match instr.op {
        // herd reads the memory operand first, assemblers last: whichever it is,
        // it is the destination.
        Op::Cmpxchg | Op::Xadd if is_mem(0) != is_mem(1) => is_mem(1),
        // herd takes the destination first, assemblers last.
        Op::Cmov { .. } if is_mem(0) != is_mem(1) => is_mem(0),
        Op::Cmpxchg | Op::Xadd | Op::Cmov { .. } if last_is_destination => {
            return Err(Diagnostic::error(
                instr.span,
                format!("`{}` needs a memory operand here", instr.mnemonic),
            )
            .help("between two registers the order of the operands is not clear")
            .into());
        }
        Op::Nop | Op::Mov | Op::Extend { .. } | Op::Lea | Op::Xchg | Op::Xadd => {
            last_is_destination
        }
        Op::Cmpxchg | Op::Alu(_) | Op::Unary(_) | Op::Shift(_) | Op::Cmp | Op::Test => {
            last_is_destination
        }
        Op::Set { .. } | Op::Cmov { .. } | Op::Jmp(_) | Op::Jcc { .. } => last_is_destination,
        Op::FullFence | Op::StoreFence | Op::Ret => false,
    };
    if swap {
        instr.operands.reverse();
    }
    if is_mem_pair(instr) {
        return Err(Diagnostic::error(instr.span, "both operands are in memory")
            .help("load one of them into a register first")
            .into());
    }
    Ok(())
}

fn is_mem_pair(instr: &Instr) -> bool {
    let mut operands = instr.operands.iter();
    instr.operands.len() == 2 && operands.all(|(o, _)| matches!(o, Operand::Mem(_)))
}

/// LOCK needs a memory destination and an instruction that reads and writes it.
fn check_lock(instr: &Instr) -> Result<(), Failure> {
    if !instr.lock {
        return Ok(());
    }
    let lockable = match instr.op {
        Op::Xchg | Op::Xadd | Op::Cmpxchg | Op::Alu(_) | Op::Unary(_) => true,
        Op::Nop | Op::Mov | Op::Extend { .. } | Op::Lea | Op::Shift(_) | Op::Cmp | Op::Test => {
            false
        }
        Op::Set { .. } | Op::Cmov { .. } | Op::Jmp(_) | Op::Jcc { .. } => false,
        Op::FullFence | Op::StoreFence | Op::Ret => false,
    };
    let to_memory = match instr.op {
        Op::Xchg => instr.memory().is_some(),
        _ => matches!(instr.operands.first(), Some((Operand::Mem(_), _))),
    };
    if lockable && to_memory {
        return Ok(());
    }
    Err(Diagnostic::error(
        instr.span,
        format!("illegal lock prefix on `{}`", instr.mnemonic),
    )
    .help("only instructions that read and write memory can be locked")
    .into())
}
