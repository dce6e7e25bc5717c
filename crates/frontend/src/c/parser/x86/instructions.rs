//! *Instructions*: each as the C that does the same.

use super::{Flags, Part, Place, RELAXED, SEQ_CST, Translator};
use crate::c::ast::{Binary, Expr, ExprKind, StmtKind, Unary};
use crate::c::types::Type;

/// Longer names first, so that `cmpxchg` is not `cmp`.
const OPERATIONS: [&str; 19] = [
    "cmpxchg", "xchg", "xadd", "mov", "test", "cmp", "bts", "btr", "btc", "bt", "add", "sub",
    "and", "xor", "or", "inc", "dec", "neg", "not",
];

impl Translator<'_> {
    pub(super) fn label(&mut self, label: &str) {
        self.flags = Flags::Nothing;
        for register in &mut self.registers {
            register.copy_of = None;
        }
        let empty = self.stmt(StmtKind::Empty);
        let stmt = self.stmt(StmtKind::Label(self.label_name(label), Box::new(empty)));
        self.body.push(stmt);
    }

    pub(super) fn label_name(&self, label: &str) -> String {
        format!("asm.{}.{}", self.asm.number, label.replace("%=", ""))
    }

    pub(super) fn instruction(&mut self, text: &str, locked: bool) -> Part<()> {
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
            ([from, to], "cmpxchg") => self.cas(from, to, bits, locked, &refused()),
            ([from, to], "xadd") => self.fetch_add(from, to, bits, locked, &refused()),
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
    /// Without `lock` that is a load, and a store of either value.
    fn cas(&mut self, from: &Place, to: &Place, bits: u8, locked: bool, refused: &str) -> Part<()> {
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
        if !locked {
            let seen = self.value(to, &ty);
            let seen = self.named(&ty, seen);
            let equal = self.binary(Binary::Eq, self.var(&seen), self.var(&expected));
            let flag = self.named(&Type::INT, equal);
            let (new, old) = (Box::new(self.value(from, &ty)), Box::new(self.var(&seen)));
            let test = Box::new(self.var(&flag));
            let value = self.expr(ExprKind::Cond(test, Some(new), old));
            self.set(to, bits, &ty, value)?;
            let seen = self.var(&seen);
            self.set_register(a, bits, seen)?;
            self.flags = Flags::Zero(flag);
            return Ok(());
        }
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

    fn fetch_add(
        &mut self,
        from: &Place,
        to: &Place,
        bits: u8,
        locked: bool,
        refused: &str,
    ) -> Part<()> {
        let (Place::Register(r), Place::Memory { address, .. }) = (from, to) else {
            return Err(refused.to_owned());
        };
        let ty = self.number_type(bits, &[from, to]);
        if !locked {
            let old = self.value(to, &ty);
            let old = self.named(&ty, old);
            let sum = self.binary(Binary::Add, self.var(&old), self.value(from, &ty));
            let sum = self.cast(&ty, sum);
            self.set(to, bits, &ty, sum)?;
            self.flags = Flags::Nothing;
            let old = self.var(&old);
            return self.set_register(*r, bits, old);
        }
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
