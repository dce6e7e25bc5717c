//! *Instructions of x86* in inline assembler (AT&T syntax), as C.
//!
//! | instruction | C |
//! |---|---|
//! | `mov` | a relaxed load or store, a copy of registers |
//! | `xchg` with memory (locked by itself), `lock cmpxchg`, `lock xadd` | `__atomic_exchange_n`, `__atomic_compare_exchange_n`, `__atomic_fetch_add` |
//! | `lock add`, `sub`, `and`, `or`, `xor`, `inc`, `dec`, `not`, `neg` | `__atomic_add_fetch` ... |
//! | the same without `lock` | a load, then a store |
//! | `lock bts`, `btr`, `btc` | `__atomic_fetch_or`, `_and`, `_xor` of one bit |
//! | `lock cmpxchg16b`, `cmpxchg8b` | an atomic block over two words |
//! | `cmp`, `test`, `set..`, `j..`, `"=@cc.."` | comparisons of the operands that set the flags |
//! | fences, `pause`, `prefetch..` | as without operands |
//!
//! Every register is a local variable of its operand's type, so that a pointer stays a pointer.
//! Memory is accessed at the width of the instruction, whatever type the operand has (`*(char *)p` may
//! stand for eight bytes), through the type of the register that is moved where that has the width.
//! An instruction, a flag or a width that is not in the table is refused.

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

    // --- Instructions ---

    fn label(&mut self, label: &str) {
        self.flags = Flags::Nothing;
        for register in &mut self.registers {
            register.copy_of = None;
        }
        let empty = self.stmt(StmtKind::Empty);
        let stmt = self.stmt(StmtKind::Label(self.label_name(label), Box::new(empty)));
        self.body.push(stmt);
    }

    fn label_name(&self, label: &str) -> String {
        format!("asm.{}.{}", self.asm.number, label.replace("%=", ""))
    }

    fn instruction(&mut self, text: &str, locked: bool) -> Part<()> {
        let refused = || format!("the instruction `{text}` in assembler");
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let words: Vec<&str> = if rest.trim().is_empty() {
            Vec::new()
        } else {
            split(rest)
        };
        if let Some(condition) = name.strip_prefix("set") {
            let [to] = words[..] else {
                return Err(refused());
            };
            let value = self.condition(condition).ok_or_else(refused)?;
            let (place, _) = self.place(to)?;
            let ty = self.access_type(8, &[self.type_of(&place)]);
            return self.set(&place, 8, &ty, value);
        }
        if let Some(condition) = name.strip_prefix('j') {
            let [to] = words[..] else {
                return Err(refused());
            };
            return self.jump(condition, to, &refused());
        }
        if name.starts_with("prefetch") {
            return Ok(());
        }
        // A locked instruction on the stack that changes nothing, fences, `pause`.
        let on_stack = rest.contains("(%%rsp)") || rest.contains("(%%esp)");
        if words.is_empty() || (on_stack && rest.trim_start().starts_with("$0")) || name == "rep" {
            let text = text.replace("%%", "%");
            let text = if locked { format!("lock {text}") } else { text };
            let stmt = self.stmt(StmtKind::Asm(text));
            self.body.push(stmt);
            return Ok(());
        }
        let mut places = Vec::new();
        let mut widths = Vec::new();
        for word in &words {
            let (place, width) = self.place(word)?;
            widths.extend(width);
            places.push(place);
        }
        let wide = ["cmpxchg16b", "cmpxchg8b"];
        if let (Some(k), [Place::Memory { address, .. }]) =
            (wide.iter().position(|w| *w == name), &places[..])
        {
            let (bits, address) = ([64, 32][k], address.clone());
            return self.cas_pair(&address, bits, locked);
        }
        let known = OPERATIONS.iter().find_map(|o| {
            let suffix = name.strip_prefix(o)?;
            let bits = match suffix {
                "" => None,
                "b" => Some(8),
                "w" => Some(16),
                "l" => Some(32),
                "q" => Some(64),
                _ => return None,
            };
            Some((*o, bits))
        });
        let (operation, suffix) = known.ok_or_else(refused)?;
        let of_operands = places.iter().find_map(|p| match p {
            Place::Register(_) => self.type_of(p).and_then(|t| self.bits(t)),
            Place::Memory { .. } | Place::Number(_) => None,
        });
        let of_memory = places
            .iter()
            .find_map(|p| self.type_of(p).and_then(|t| self.bits(t)));
        let bits = suffix
            .or(widths.first().copied())
            .or(of_operands)
            .or(of_memory);
        let bits = bits.ok_or_else(refused)?;
        match (&places[..], operation) {
            ([from, to], "mov") if !locked => self.mov(from, to, bits),
            ([from, to], "xchg") => self.exchange(from, to, bits, &refused()),
            ([from, to], "cmpxchg") if locked => self.cas(from, to, bits, &refused()),
            ([from, to], "xadd") if locked => self.fetch_add(from, to, bits, &refused()),
            ([right, left], "cmp" | "test") if !locked => {
                self.compare(left, right, bits, operation == "test");
                Ok(())
            }
            ([bit, to], "bts" | "btr" | "btc" | "bt") => {
                self.bit(operation, bit, to, bits, locked, &refused())
            }
            ([by, to], "add" | "sub" | "and" | "or" | "xor") => {
                let (by, to) = (by.clone(), to.clone());
                self.change(operation, Some(&by), &to, bits, locked)
            }
            ([to], "inc" | "dec" | "neg" | "not") => {
                let to = to.clone();
                self.change(operation, None, &to, bits, locked)
            }
            _ => Err(refused()),
        }
    }

    fn mov(&mut self, from: &Place, to: &Place, bits: u8) -> Part<()> {
        if matches!((from, to), (Place::Memory { .. }, Place::Memory { .. })) {
            return Err("`mov` from memory to memory in assembler".to_owned());
        }
        let (a, b) = match from {
            Place::Memory { .. } => (to, from),
            Place::Register(_) | Place::Number(_) => (from, to),
        };
        let ty = self.access_type(bits, &[self.type_of(a), self.type_of(b)]);
        let value = self.value(from, &ty);
        self.set(to, bits, &ty, value)?;
        if let (Place::Register(a), Place::Register(b)) = (from, to) {
            self.registers[*b].copy_of = Some(*a);
        }
        Ok(())
    }

    fn exchange(&mut self, a: &Place, b: &Place, bits: u8, refused: &str) -> Part<()> {
        let (register, memory) = match (a, b) {
            (Place::Register(_), Place::Memory { .. }) => (a, b),
            (Place::Memory { .. }, Place::Register(_)) => (b, a),
            _ => return Err(refused.to_owned()),
        };
        let (Place::Register(r), Place::Memory { address, .. }) = (register, memory) else {
            return Err(refused.to_owned());
        };
        let ty = self.access_type(bits, &[self.type_of(register), self.type_of(memory)]);
        let args = vec![
            self.at(&ty, address),
            self.value(register, &ty),
            self.int(SEQ_CST),
        ];
        let value = self.call("__atomic_exchange_n", args);
        self.set_register(*r, bits, value)
    }

    /// `cmpxchg`: the accumulator is compared, and gets what was there.
    fn cas(&mut self, from: &Place, to: &Place, bits: u8, refused: &str) -> Part<()> {
        let Place::Memory { address, .. } = to else {
            return Err(refused.to_owned());
        };
        let a = self.hardware('a');
        let accumulator = Place::Register(a);
        let candidates = [
            self.type_of(from),
            self.type_of(&accumulator),
            self.type_of(to),
        ];
        let ty = self.access_type(bits, &candidates);
        let old = self.value(&accumulator, &ty);
        let expected = self.named(&ty, old);
        let zero = self.int(0);
        let flag = self.declare(&Type::INT, Some(zero));
        let args = vec![
            self.at(&ty, address),
            self.unary(Unary::Address, self.var(&expected)),
            self.value(from, &ty),
            self.int(0),
            self.int(SEQ_CST),
            self.int(SEQ_CST),
        ];
        let done = self.call("__atomic_compare_exchange_n", args);
        self.assign(&flag, done);
        let seen = self.var(&expected);
        self.set_register(a, bits, seen)?;
        self.flags = Flags::Zero(flag);
        Ok(())
    }

    /// `cmpxchg16b`: two words at once, compared with `a` and `d`, replaced by `b` and `c`.
    fn cas_pair(&mut self, address: &Expr, bits: u8, locked: bool) -> Part<()> {
        if !locked {
            return Err("`cmpxchg` of two words without `lock` in assembler".to_owned());
        }
        let word = Self::unsigned(bits);
        let [a, d, b, c] = ['a', 'd', 'b', 'c'].map(|l| self.hardware(l));
        let base = self.at(&word, address);
        let at = |t: &Self, k: i128| {
            let place = t.binary(Binary::Add, base.clone(), t.int(k));
            t.unary(Unary::Deref, place)
        };
        let begin = self.call("__VERIFIER_atomic_begin", Vec::new());
        self.run(begin);
        let (low, high) = (at(self, 0), at(self, 1));
        let low = self.named(&word, low);
        let high = self.named(&word, high);
        // What is replaced by itself is only read.
        let is_load = self.registers[b].copy_of == Some(a) && self.registers[c].copy_of == Some(d);
        if is_load {
            let end = self.call("__VERIFIER_atomic_end", Vec::new());
            self.run(end);
            for (r, value) in [(a, &low), (d, &high), (b, &low), (c, &high)] {
                let value = self.var(value);
                self.set_register(r, bits, value)?;
            }
            self.flags = Flags::Nothing;
            return Ok(());
        }
        let same = |t: &Self, value: &str, r: usize| {
            let register = t.value(&Place::Register(r), &word);
            t.binary(Binary::Eq, t.var(value), register)
        };
        let equal = self.binary(Binary::And, same(self, &low, a), same(self, &high, d));
        let flag = self.named(&Type::INT, equal);
        let stores = [(0, b), (1, c)].map(|(k, r)| {
            let value = self.value(&Place::Register(r), &word);
            self.stmt(StmtKind::Expr(self.assignment(at(self, k), value)))
        });
        let block = self.stmt(StmtKind::Block(stores.into()));
        let branch = self.stmt(StmtKind::If(self.var(&flag), Box::new(block), None));
        self.body.push(branch);
        let end = self.call("__VERIFIER_atomic_end", Vec::new());
        self.run(end);
        for (r, value) in [(a, &low), (d, &high)] {
            let value = self.var(value);
            self.set_register(r, bits, value)?;
        }
        self.flags = Flags::Zero(flag);
        Ok(())
    }

    fn fetch_add(&mut self, from: &Place, to: &Place, bits: u8, refused: &str) -> Part<()> {
        let (Place::Register(r), Place::Memory { address, .. }) = (from, to) else {
            return Err(refused.to_owned());
        };
        let ty = self.number_type(bits, &[from, to]);
        let args = vec![
            self.at(&ty, address),
            self.value(from, &ty),
            self.int(SEQ_CST),
        ];
        let value = self.call("__atomic_fetch_add", args);
        self.flags = Flags::Nothing;
        self.set_register(*r, bits, value)
    }

    /// An integer type of this width, that of an operand if there is one.
    fn number_type(&self, bits: u8, places: &[&Place]) -> Type {
        let types = places.iter().filter_map(|p| self.type_of(p));
        let integers: Vec<Option<&Type>> = types.filter(|t| t.is_integer()).map(Some).collect();
        self.access_type(bits, &integers)
    }

    fn compare(&mut self, left: &Place, right: &Place, bits: u8, is_test: bool) {
        let ty = Self::unsigned(bits);
        let (l, r) = (self.value(left, &ty), self.value(right, &ty));
        let (l, r) = if is_test {
            (self.binary(Binary::BitAnd, l, r), self.int(0))
        } else {
            (l, r)
        };
        let (l, r) = (self.named(&ty, l), self.named(&ty, r));
        self.flags = Flags::Compared(l, r, ty);
    }

    fn change(
        &mut self,
        operation: &str,
        by: Option<&Place>,
        to: &Place,
        bits: u8,
        locked: bool,
    ) -> Part<()> {
        let places: Vec<&Place> = by.into_iter().chain([to]).collect();
        let ty = self.number_type(bits, &places);
        let by = match by {
            Some(place) => self.value(place, &ty),
            None => self.int(if operation == "not" { -1 } else { 1 }),
        };
        let (op, name) = match operation {
            "add" | "inc" => (Binary::Add, "__atomic_add_fetch"),
            "sub" | "dec" => (Binary::Sub, "__atomic_sub_fetch"),
            "and" => (Binary::BitAnd, "__atomic_and_fetch"),
            "or" => (Binary::BitOr, "__atomic_or_fetch"),
            _ => (Binary::BitXor, "__atomic_xor_fetch"),
        };
        let result = match to {
            Place::Memory { address, .. } if locked && operation == "neg" => {
                let place = self.unary(Unary::Deref, self.at(&ty, address));
                let begin = self.call("__VERIFIER_atomic_begin", Vec::new());
                self.run(begin);
                let less = self.unary(Unary::Minus, place.clone());
                let result = self.named(&ty, less);
                let store = self.assignment(place, self.var(&result));
                self.run(store);
                let end = self.call("__VERIFIER_atomic_end", Vec::new());
                self.run(end);
                result
            }
            Place::Memory { address, .. } if locked => {
                let args = vec![self.at(&ty, address), by, self.int(SEQ_CST)];
                let value = self.call(name, args);
                self.named(&ty, value)
            }
            _ if locked => return Err("`lock` without memory in assembler".to_owned()),
            _ => {
                let old = self.value(to, &ty);
                let value = if operation == "neg" {
                    self.unary(Unary::Minus, old)
                } else {
                    self.binary(op, old, by)
                };
                let result = self.named(&ty, value);
                let value = self.var(&result);
                self.set(to, bits, &ty, value)?;
                result
            }
        };
        // `not` leaves the flags alone.
        if operation != "not" {
            self.flags = Flags::Result(result);
        }
        Ok(())
    }

    /// `bts`, `btr`, `btc`, `bt`: a bit of memory counts from the operand's first on.
    fn bit(
        &mut self,
        operation: &str,
        bit: &Place,
        to: &Place,
        bits: u8,
        locked: bool,
        refused: &str,
    ) -> Part<()> {
        let Place::Memory { address, .. } = to else {
            return Err(refused.to_owned());
        };
        if matches!(bit, Place::Memory { .. }) {
            return Err(refused.to_owned());
        }
        let ty = self.number_type(bits, &[to]);
        let index = Type::Int {
            bits: bits.max(32),
            signed: true,
        };
        let number = self.value(bit, &index);
        let number = self.named(&index, number);
        let width = self.int(i128::from(bits.trailing_zeros()));
        let word = self.binary(Binary::Shr, self.var(&number), width);
        let at = self.binary(Binary::Add, self.at(&ty, address), word);
        let place = self.binary(
            Binary::BitAnd,
            self.var(&number),
            self.int(i128::from(bits) - 1),
        );
        let place = self.named(&Type::INT, place);
        let one = self.cast(&ty, self.int(1));
        let mask = self.binary(Binary::Shl, one, self.var(&place));
        let mask = self.cast(&ty, mask);
        let mask = self.named(&ty, mask);
        let without = self.unary(Unary::BitNot, self.var(&mask));
        let (name, op, with) = match operation {
            "bts" => ("__atomic_fetch_or", Binary::BitOr, self.var(&mask)),
            "btr" => ("__atomic_fetch_and", Binary::BitAnd, without),
            _ => ("__atomic_fetch_xor", Binary::BitXor, self.var(&mask)),
        };
        let old = if locked && operation != "bt" {
            let args = vec![at, with, self.int(SEQ_CST)];
            let value = self.call(name, args);
            self.named(&ty, value)
        } else {
            let value = self.call("__atomic_load_n", vec![at.clone(), self.int(RELAXED)]);
            let old = self.named(&ty, value);
            if operation != "bt" {
                let new = self.binary(op, self.var(&old), with);
                let new = self.cast(&ty, new);
                let args = vec![at, new, self.int(RELAXED)];
                let store = self.call("__atomic_store_n", args);
                self.run(store);
            }
            old
        };
        let seen = self.binary(Binary::BitAnd, self.var(&old), self.var(&mask));
        let seen = self.binary(Binary::Ne, seen, self.int(0));
        let carry = self.named(&Type::INT, seen);
        self.flags = Flags::Carry(carry);
        Ok(())
    }

    // --- Flags ---

    /// A condition as `set` and `j` name it.
    fn condition(&self, name: &str) -> Option<Expr> {
        let negated = |e: Expr| self.unary(Unary::Not, e);
        let zero = |e: Expr| self.binary(Binary::Eq, e, self.int(0));
        match (&self.flags, name) {
            (Flags::Zero(z), "e" | "z") => Some(self.var(z)),
            (Flags::Zero(z), "ne" | "nz") => Some(negated(self.var(z))),
            (Flags::Result(r), "e" | "z") => Some(zero(self.var(r))),
            (Flags::Result(r), "ne" | "nz") => Some(negated(zero(self.var(r)))),
            (Flags::Carry(c), "c" | "b" | "nae") => Some(self.var(c)),
            (Flags::Carry(c), "nc" | "ae" | "nb") => Some(negated(self.var(c))),
            (Flags::Compared(l, r, ty), _) => {
                let signed = match ty {
                    Type::Int { bits, .. } => Type::Int {
                        bits: *bits,
                        signed: true,
                    },
                    _ => return None,
                };
                let (op, is_signed) = match name {
                    "e" | "z" => (Binary::Eq, false),
                    "ne" | "nz" => (Binary::Ne, false),
                    "b" | "c" | "nae" => (Binary::Lt, false),
                    "ae" | "nc" | "nb" => (Binary::Ge, false),
                    "a" | "nbe" => (Binary::Gt, false),
                    "be" | "na" => (Binary::Le, false),
                    "l" | "nge" => (Binary::Lt, true),
                    "ge" | "nl" => (Binary::Ge, true),
                    "g" | "nle" => (Binary::Gt, true),
                    "le" | "ng" => (Binary::Le, true),
                    _ => return None,
                };
                let side = |name: &str| {
                    let value = self.var(name);
                    if is_signed {
                        self.cast(&signed, value)
                    } else {
                        value
                    }
                };
                Some(self.binary(op, side(l), side(r)))
            }
            _ => None,
        }
    }

    fn jump(&mut self, condition: &str, to: &str, refused: &str) -> Part<()> {
        let label = match to.strip_prefix("%l") {
            Some(user) => self.users_label(user),
            None => self.own_label(to),
        };
        let label = label.ok_or_else(|| refused.to_owned())?;
        let goto = self.stmt(StmtKind::Goto(label));
        let stmt = if condition == "mp" {
            goto
        } else {
            let condition = self
                .condition(condition)
                .ok_or_else(|| refused.to_owned())?;
            self.stmt(StmtKind::If(condition, Box::new(goto), None))
        };
        self.body.push(stmt);
        Ok(())
    }

    /// A label of `asm goto`, by its name or number. Outputs would have to be written before.
    fn users_label(&self, word: &str) -> Option<String> {
        let writes = |o: &Operand| o.access != Access::Reads && !o.is_memory();
        if self.asm.operands.iter().any(writes) {
            return None;
        }
        if let Some(name) = word.strip_prefix('[') {
            return name.strip_suffix(']').map(str::to_owned);
        }
        let number: usize = word.parse().ok()?;
        let at = number.checked_sub(self.asm.operands.len())?;
        self.asm.labels.get(at).cloned()
    }

    /// `1f` and `1b` name the next and the last label `1`: only labels that are written once
    /// are followed.
    fn own_label(&self, word: &str) -> Option<String> {
        let digits = word.trim_end_matches(['f', 'b']);
        let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        let name = if is_number { digits } else { word };
        let written = self.asm.template.matches(&format!("{name}:")).count();
        (written == 1).then(|| self.label_name(name))
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

/// Longer names first, so that `cmpxchg` is not `cmp`.
const OPERATIONS: [&str; 19] = [
    "cmpxchg", "xchg", "xadd", "mov", "test", "cmp", "bts", "btr", "btc", "bt", "add", "sub",
    "and", "xor", "or", "inc", "dec", "neg", "not",
];

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

/// Operands at commas outside parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}
