//! *Instructions of x86* in inline assembler (AT&T syntax), as C.
//!
//! | instruction | C |
//! |---|---|
//! | `mov` | a relaxed load or store, a copy of registers |
//! | `xchg` with memory (locked by itself), `lock cmpxchg`, `lock xadd` | `__atomic_exchange_n`, `__atomic_compare_exchange_n`, `__atomic_fetch_add` |
//! | `lock add`, `sub`, `and`, `or`, `xor`, `inc`, `dec`, `not`, `neg` | `__atomic_add_fetch` ... |
//! | the same (and `cmpxchg`, `xadd`) without `lock` | a load, then a store |
//! | `lock bts`, `btr`, `btc` | `__atomic_fetch_or`, `_and`, `_xor` of one bit |
//! | `lock cmpxchg16b`, `cmpxchg8b` | an atomic block over two words |
//! | `cmp`, `test`, `set..`, `j..`, `"=@cc.."` | comparisons of the operands that set the flags |
//! | fences, `pause`, `prefetch..` | as without operands |
//!
//! Every register is a local variable of its operand's type, so that a pointer stays a pointer.
//! Memory is accessed at the width of the instruction, whatever type the operand has (`*(char *)p` may
//! stand for eight bytes), through the type of the register that is moved where that has the width.
//! An instruction, a flag or a width that is not in the table is refused.

mod flags;
mod instructions;

use palisade_program::Span;

use super::assembler::{Access, Assembler, Operand};
use crate::c::ast::{
    Binary, Declaration, Expr, ExprKind, Initializer, Refusal, Stmt, StmtKind, Storage, Unary,
};
use crate::c::types::{DataModel, Structs, Type};

/// The compiler's numbers of memory orders.
const RELAXED: i128 = 0;
const SEQ_CST: i128 = 5;

/// What cannot be translated.
type Part<T> = Result<T, String>;

/// A register: a local variable.
struct Register {
    variable: String,
    ty: Type,
    /// `a`, `b`, `c`, `d`, `S`, `D`: one of the hardware's.
    letter: Option<char>,
    start: Option<Expr>,
    /// What it is a copy of, as long as neither changes.
    copy_of: Option<usize>,
}

/// What a word of the template stands for.
#[derive(Clone)]
enum Place {
    Register(usize),
    Memory { address: Expr, ty: Option<Type> },
    Number(i128),
}

/// What the flags tell, if it is known.
#[derive(Clone)]
enum Flags {
    Nothing,
    /// Those of `left - right`: variables of one type.
    Compared(String, String, Type),
    /// Whether this is zero.
    Result(String),
    /// The carry flag is this.
    Carry(String),
    /// The zero flag is this.
    Zero(String),
}

struct Translator<'a> {
    asm: &'a Assembler,
    structs: &'a Structs,
    model: DataModel,
    registers: Vec<Register>,
    /// Of each operand; `None` for flags.
    places: Vec<Option<Place>>,
    flags: Flags,
    variables: usize,
    declared: Vec<Stmt>,
    body: Vec<Stmt>,
}

/// The statements that do what the assembler does.
pub(super) fn translate(asm: &Assembler, structs: &Structs, model: DataModel) -> Part<Vec<Stmt>> {
    let mut t = Translator {
        asm,
        structs,
        model,
        registers: Vec::new(),
        places: Vec::new(),
        flags: Flags::Nothing,
        variables: 0,
        declared: Vec::new(),
        body: Vec::new(),
    };
    t.operands()?;
    let mut locked = false;
    for line in asm.template.split(['\n', ';']) {
        let mut line = line.split('#').next().unwrap_or("").trim();
        while let Some((label, rest)) = line.split_once(':') {
            t.label(label.trim());
            line = rest.trim();
        }
        let (prefix, rest) = match line.split_once(char::is_whitespace) {
            Some(("lock", rest)) => (true, rest.trim()),
            _ if line == "lock" => (true, ""),
            _ => (false, line),
        };
        locked |= prefix;
        if rest.is_empty() {
            continue;
        }
        t.instruction(rest, locked)?;
        locked = false;
    }
    t.finish()
}

impl Translator<'_> {
    // --- Building C ---

    fn span(&self) -> Span {
        self.asm.span
    }

    fn expr(&self, kind: ExprKind) -> Expr {
        Expr {
            kind,
            span: self.span(),
        }
    }

    fn int(&self, value: i128) -> Expr {
        self.expr(ExprKind::Int(value, Type::INT))
    }

    fn var(&self, name: &str) -> Expr {
        self.expr(ExprKind::Ident(name.to_owned()))
    }

    fn cast(&self, ty: &Type, e: Expr) -> Expr {
        self.expr(ExprKind::Cast(ty.clone(), Box::new(e)))
    }

    fn unary(&self, op: Unary, e: Expr) -> Expr {
        self.expr(ExprKind::Unary(op, Box::new(e)))
    }

    fn binary(&self, op: Binary, a: Expr, b: Expr) -> Expr {
        self.expr(ExprKind::Binary(op, Box::new(a), Box::new(b)))
    }

    fn call(&self, name: &str, args: Vec<Expr>) -> Expr {
        let callee = self.var(name);
        self.expr(ExprKind::Call(Box::new(callee), args))
    }

    fn stmt(&self, kind: StmtKind) -> Stmt {
        Stmt {
            kind,
            span: self.span(),
        }
    }

    fn run(&mut self, e: Expr) {
        let stmt = self.stmt(StmtKind::Expr(e));
        self.body.push(stmt);
    }

    fn assignment(&self, to: Expr, value: Expr) -> Expr {
        self.expr(ExprKind::Assign(None, Box::new(to), Box::new(value)))
    }

    fn assign(&mut self, name: &str, value: Expr) {
        let e = self.assignment(self.var(name), value);
        self.run(e);
    }

    /// A local variable of this `asm`.
    fn declare(&mut self, ty: &Type, init: Option<Expr>) -> String {
        let name = format!("asm.{}", self.variables);
        self.variables += 1;
        let declaration = Declaration {
            name: name.clone(),
            ty: ty.clone(),
            length: None,
            storage: Storage::Automatic,
            is_own: false,
            thread_local: false,
            init: init.map(Initializer::Value),
            span: self.span(),
        };
        let stmt = self.stmt(StmtKind::Declare(vec![declaration]));
        self.declared.push(stmt);
        name
    }

    /// A variable with a value, here.
    fn named(&mut self, ty: &Type, value: Expr) -> String {
        let zero = self.int(0);
        let name = self.declare(ty, Some(zero));
        self.assign(&name, value);
        name
    }

    const fn unsigned(bits: u8) -> Type {
        Type::Int {
            bits,
            signed: false,
        }
    }

    fn bits(&self, ty: &Type) -> Option<u8> {
        let size = ty.size(self.structs, self.model)?;
        ty.is_scalar()
            .then(|| u8::try_from(size * 8).ok())
            .flatten()
    }

    // --- Operands ---

    fn operands(&mut self) -> Part<()> {
        for operand in &self.asm.operands {
            let place = self.operand(operand)?;
            self.places.push(place);
        }
        Ok(())
    }

    fn operand(&mut self, operand: &Operand) -> Part<Option<Place>> {
        if operand.constraint.starts_with('@') {
            return Ok(None);
        }
        if operand.is_memory() {
            let (address, ty) = (operand.address(), operand.ty.clone());
            return Ok(Some(Place::Memory { address, ty }));
        }
        let ty = operand.ty.clone().map(|t| t.plain().clone());
        let ty = ty.filter(Type::is_scalar);
        let Some(ty) = ty else {
            return Err("an operand of assembler that is no number or pointer".to_owned());
        };
        let read = (operand.access != Access::Writes).then(|| operand.value.clone());
        let tied = operand.constraint.chars().find_map(|c| c.to_digit(10));
        let letters = ['a', 'b', 'c', 'd', 'S', 'D'];
        let general = operand.constraint.contains(['r', 'q', 'g', 'R', 'l', 'X']);
        let letter = operand.constraint.chars().find(|c| letters.contains(c));
        let letter = letter.filter(|_| !general);
        if letter.is_none() && !general && tied.is_none() {
            let is_number = operand
                .constraint
                .contains(['i', 'n', 'e', 'I', 'J', 'K', 'N', 'Z', 's']);
            if !is_number {
                return Err(format!(
                    "assembler with the constraint `{}`",
                    operand.constraint
                ));
            }
        }
        let same = match tied {
            Some(k) => match self.places.get(k as usize) {
                Some(Some(Place::Register(r))) => Some(*r),
                _ => return Err("an operand of assembler tied to no register".to_owned()),
            },
            None => letter.and_then(|l| self.registers.iter().position(|r| r.letter == Some(l))),
        };
        if let Some(r) = same {
            if self.bits(&self.registers[r].ty) != self.bits(&ty) {
                return Err("assembler with two types in one register".to_owned());
            }
            if let Some(value) = read {
                self.registers[r].start = Some(value);
            }
            return Ok(Some(Place::Register(r)));
        }
        Ok(Some(Place::Register(self.register(ty, letter, read))))
    }

    fn register(&mut self, ty: Type, letter: Option<char>, start: Option<Expr>) -> usize {
        let variable = format!("asm.r{}", self.registers.len());
        self.registers.push(Register {
            variable,
            ty,
            letter,
            start,
            copy_of: None,
        });
        self.registers.len() - 1
    }

    /// The register of the hardware with this letter.
    fn hardware(&mut self, letter: char) -> usize {
        let known = self.registers.iter().position(|r| r.letter == Some(letter));
        known.unwrap_or_else(|| self.register(Self::unsigned(64), Some(letter), None))
    }

    /// An operand of an instruction, with the width that a modifier gives.
    fn place(&mut self, word: &str) -> Part<(Place, Option<u8>)> {
        let word = word.trim();
        let refused = || format!("the operand `{word}` in assembler");
        if let Some(number) = word.strip_prefix('$') {
            if let Some(number) = number.strip_prefix('%') {
                return self.place(&format!("%{number}"));
            }
            return Ok((Place::Number(parsed(number).ok_or_else(refused)?), None));
        }
        if let Some(name) = word.strip_prefix("%%") {
            let (letter, width) = hardware_name(name).ok_or_else(refused)?;
            return Ok((Place::Register(self.hardware(letter)), Some(width)));
        }
        if let Some((offset, inner)) = word.strip_suffix(')').and_then(|w| w.split_once('(')) {
            let offset = if offset.is_empty() {
                Some(0)
            } else {
                parsed(offset)
            };
            let (Some(offset), (Place::Register(r), _)) = (offset, self.place(inner)?) else {
                return Err(refused());
            };
            let mut address = self.var(&self.registers[r].variable);
            let ty = self.registers[r].ty.pointee().cloned();
            if offset != 0 {
                let bytes = self.cast(&Type::pointer(Type::CHAR), address);
                address = self.binary(Binary::Add, bytes, self.int(offset));
            }
            return Ok((Place::Memory { address, ty }, None));
        }
        let rest = word.strip_prefix('%').ok_or_else(refused)?;
        let (modifier, rest) = match rest.chars().next() {
            Some(c) if c.is_ascii_alphabetic() => (Some(c), &rest[1..]),
            _ => (None, rest),
        };
        let index = match rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
            Some(name) => {
                let named = |o: &Operand| o.name.as_deref() == Some(name);
                self.asm.operands.iter().position(named)
            }
            None => rest.parse().ok(),
        };
        let place = index.and_then(|i| self.places.get(i).cloned().flatten());
        let width = match modifier {
            None => None,
            Some('b') => Some(8),
            Some('w') => Some(16),
            Some('k') => Some(32),
            Some('q') => Some(64),
            Some(_) => return Err(refused()),
        };
        Ok((place.ok_or_else(refused)?, width))
    }

    /// The type through which memory is accessed at a width: that of a register if it fits, else
    /// the operand's own.
    fn access_type(&self, bits: u8, candidates: &[Option<&Type>]) -> Type {
        let fits = |ty: &&Type| self.bits(ty) == Some(bits) && **ty != Type::Bool;
        let found = candidates.iter().flatten().find(|t| fits(t));
        found.map_or(Self::unsigned(bits), |t| t.plain().clone())
    }

    fn at(&self, ty: &Type, address: &Expr) -> Expr {
        self.cast(&Type::pointer(ty.clone()), address.clone())
    }

    fn type_of<'t>(&'t self, place: &'t Place) -> Option<&'t Type> {
        match place {
            Place::Register(r) => Some(&self.registers[*r].ty),
            Place::Memory { ty, .. } => ty.as_ref(),
            Place::Number(_) => None,
        }
    }

    /// The value of an operand at a width; memory is loaded.
    fn value(&self, place: &Place, ty: &Type) -> Expr {
        match place {
            Place::Number(n) => self.cast(ty, self.int(*n)),
            Place::Register(r) => self.cast(ty, self.var(&self.registers[*r].variable)),
            Place::Memory { address, .. } => {
                let args = vec![self.at(ty, address), self.int(RELAXED)];
                self.call("__atomic_load_n", args)
            }
        }
    }

    fn set_register(&mut self, r: usize, bits: u8, value: Expr) -> Part<()> {
        let ty = self.registers[r].ty.clone();
        let own = self.bits(&ty).unwrap_or(0);
        // Writing 32 bits clears the others; narrower writes keep them.
        if own != bits && !(bits == 32 && own == 64) && !(ty == Type::Bool && bits == 8) {
            return Err("assembler that writes a part of a register".to_owned());
        }
        let value = if own == bits || ty == Type::Bool {
            value
        } else {
            self.cast(&Self::unsigned(bits), value)
        };
        let value = self.cast(&ty, value);
        let name = self.registers[r].variable.clone();
        self.assign(&name, value);
        for register in &mut self.registers {
            if register.copy_of == Some(r) {
                register.copy_of = None;
            }
        }
        self.registers[r].copy_of = None;
        Ok(())
    }

    fn set(&mut self, place: &Place, bits: u8, ty: &Type, value: Expr) -> Part<()> {
        match place {
            Place::Register(r) => self.set_register(*r, bits, value),
            Place::Memory { address, .. } => {
                let args = vec![self.at(ty, address), value, self.int(RELAXED)];
                let store = self.call("__atomic_store_n", args);
                self.run(store);
                Ok(())
            }
            Place::Number(_) => Err("assembler that writes to a number".to_owned()),
        }
    }

    // --- The end ---

    /// Registers start with their inputs, outputs get their registers.
    fn finish(mut self) -> Part<Vec<Stmt>> {
        let refusal = Refusal {
            what: "assembler of x86 under C11's memory model".to_owned(),
            help: "check it with `--model tso`, which is x86's",
            only_ordered: true,
        };
        let mut all = vec![self.stmt(StmtKind::Refused(refusal))];
        let instructions = std::mem::take(&mut self.body);
        let declared = std::mem::take(&mut self.declared);
        for r in 0..self.registers.len() {
            let register = &self.registers[r];
            let init = register.start.clone().map(|e| self.cast(&register.ty, e));
            let declaration = Declaration {
                name: register.variable.clone(),
                ty: register.ty.clone(),
                length: None,
                storage: Storage::Automatic,
                is_own: false,
                thread_local: false,
                init: init.map(Initializer::Value),
                span: self.span(),
            };
            all.push(self.stmt(StmtKind::Declare(vec![declaration])));
        }
        all.extend(declared);
        all.extend(instructions);
        for (operand, place) in self.asm.operands.iter().zip(&self.places) {
            let value = match place {
                _ if operand.access == Access::Reads => continue,
                Some(Place::Register(r)) => self.var(&self.registers[*r].variable),
                Some(Place::Memory { .. } | Place::Number(_)) => continue,
                None => {
                    let name = operand.constraint.trim_start_matches("@cc");
                    let refused = || format!("the flag `{}` in assembler", operand.constraint);
                    self.condition(name).ok_or_else(refused)?
                }
            };
            let assigned = self.assignment(operand.value.clone(), value);
            all.push(self.stmt(StmtKind::Expr(assigned)));
        }
        Ok(all)
    }
}

/// A number as written.
fn parsed(text: &str) -> Option<i128> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// `rax`, `eax`, `ax`, `al`: a letter and a width.
fn hardware_name(name: &str) -> Option<(char, u8)> {
    let (width, rest) = match name.as_bytes() {
        [b'r', ..] => (64, &name[1..]),
        [b'e', ..] => (32, &name[1..]),
        [_, b'l'] => (8, name),
        [_, b'x' | b'i'] => (16, name),
        _ => return None,
    };
    let letter = match rest {
        "ax" | "al" => 'a',
        "bx" | "bl" => 'b',
        "cx" | "cl" => 'c',
        "dx" | "dl" => 'd',
        "si" => 'S',
        "di" => 'D',
        _ => return None,
    };
    Some((letter, width))
}
