//! *Calls*. A function with code is entered. What has none is known by its name: LLVM's
//! intrinsics, the allocator, panics, printing, and the functions by which the library in
//! `rust/library` asks for threads.

use palisade_program::{AssertKind, BinOp, Expr, LocalExpr};

use super::access::FORMATTING;
use super::arith;
use super::engine::{Engine, Flow, Run, SMALLER, Trouble, unsupported};
use super::growth::Growth;
use super::ir::{Argument, Binary, Const, Inst, Operand, Predicate};
use super::known::{Known, known};
use super::memory::Found;
use super::overflow::overflowing;
use super::state::{State, Value};
use super::values::{decided, range_of};
use super::world::Key;

/// Words that one comparison of bytes has at most that only a run decides.
const MOST_COMPARED: usize = 64;

/// What an intrinsic does, in words of Rust.
fn operation(base: &str) -> String {
    match base {
        "ctpop" => "`count_ones`".to_owned(),
        "ctlz" => "`leading_zeros`".to_owned(),
        "cttz" => "`trailing_zeros`".to_owned(),
        "bswap" => "`swap_bytes`".to_owned(),
        "bitreverse" => "`reverse_bits`".to_owned(),
        "abs" => "`abs`".to_owned(),
        "fshl" => "`rotate_left`".to_owned(),
        "fshr" => "`rotate_right`".to_owned(),
        base => format!("an operation of the machine (`{base}`)"),
    }
}

/// What a function of the standard library does that programs call by another name.
fn not_modelled(name: &str) -> Option<&'static str> {
    let path = name.split('<').next().unwrap_or(name);
    match path {
        "alloc::fmt::format::format_inner" => Some(FORMATTING),
        "core::fmt::write" => Some("formatting into a text (`write!`)"),
        _ => None,
    }
}

/// What `memcmp` returns for two words of `size` bytes, little-endian; `rest` where they are equal.
fn compared(size: u64, x: &LocalExpr, y: &LocalExpr, rest: LocalExpr) -> LocalExpr {
    // The lowest byte that differs decides.
    let mut sign = arith::c(0);
    for byte in (0..size).rev() {
        let [x, y] = [x, y].map(|e| arith::bytes_of(e, size, byte, 1));
        let less = arith::bin(BinOp::Lt, x.clone(), y.clone());
        let differ = arith::cond(less, arith::c(0xffff_ffff), arith::c(1));
        sign = if byte + 1 == size {
            differ
        } else {
            arith::cond(arith::bin(BinOp::Eq, x, y), sign, differ)
        };
    }
    arith::cond(arith::bin(BinOp::Eq, x.clone(), y.clone()), rest, sign)
}

impl<'m> Engine<'_, 'm> {
    /// A call instruction.
    pub(super) fn call(&mut self, state: &mut State, inst: &'m Inst) -> Run<Flow> {
        let Inst::Call {
            dst,
            ty,
            callee,
            arguments,
        } = inst
        else {
            return unsupported("this instruction", SMALLER);
        };
        let name = match callee {
            Operand::Const(Const::Symbol(name)) => name.clone(),
            Operand::Const(Const::Unknown(what)) => return unsupported(what.clone(), SMALLER),
            callee => {
                let address = match self.pinned(state, callee, "a function")? {
                    Ok(address) => address,
                    Err(flow) => return Ok(flow),
                };
                let object = self.world.at(address).filter(|(_, offset)| *offset == 0);
                match object.map(|(object, _)| self.world.objects[object].key.clone()) {
                    Some(Key::Function(name)) => name,
                    _ => return Err(self.fault(address)),
                }
            }
        };
        if let Some(rest) = name.strip_prefix("llvm.") {
            return match self.intrinsic(state, rest, arguments)? {
                Done::Value(value) => self.done(state, *dst, value),
                Done::Flow(flow) => Ok(flow),
            };
        }
        if let Some(rest) = name.strip_prefix("__palisade_") {
            return self.request(state, rest, *dst, arguments);
        }
        let shown = self.demangled(&name);
        if let Some(known) = known(&shown) {
            return self.known_call(state, &known, &shown, *dst, arguments);
        }
        if matches!(name.as_str(), "memcmp" | "bcmp") {
            return self.compare_bytes(state, *dst, arguments);
        }
        let _ = ty;
        if self.world.function_index(&name).is_none() {
            let words = match not_modelled(&shown) {
                Some(what) => what.to_owned(),
                None => format!("`{}`, a function without code", self.shown(&name)),
            };
            return unsupported(
                words,
                "leave the call out of what is verified, or write the function yourself",
            );
        }
        let values = if let Some(growth) = Growth::of(&shown) {
            match self.growing(state, growth, arguments)? {
                Ok(values) => values,
                Err(flow) => return Ok(flow),
            }
        } else {
            let values = arguments.iter();
            values
                .map(|a| self.value(state, &a.value, &a.ty))
                .collect::<Run<Vec<Value>>>()?
        };
        self.enter(state, &name, values)
    }

    /// The call has returned this.
    fn done(&mut self, state: &mut State, dst: Option<u32>, value: Value) -> Run<Flow> {
        if let Some(dst) = dst {
            state.set(dst, value);
        }
        state.top_mut().inst += 1;
        Ok(Flow::Next)
    }

    /// A name for messages: of the standard library's parts, as programs see them.
    pub(super) fn shown(&self, name: &str) -> String {
        self.demangled(name).replace("palisade_std", "std")
    }

    /// A name as people write it.
    pub(super) fn demangled(&self, name: &str) -> String {
        format!("{:#}", rustc_demangle::demangle(name))
    }

    fn known_call(
        &mut self,
        state: &mut State,
        known: &Known,
        name: &str,
        dst: Option<u32>,
        arguments: &[Argument],
    ) -> Run<Flow> {
        match known {
            Known::Nothing => self.done(state, dst, Value::Undefined),
            Known::Panic(_) if state.is_behind_model => unsupported(
                "an assertion behind a model, which is about all of its executions",
                "assert inside of the model",
            ),
            Known::Panic(words) => {
                let words = self
                    .panic_words(state, name, arguments)
                    .unwrap_or((*words).to_owned());
                Err(Trouble::Wrong(AssertKind::Language(words)))
            }
            Known::Allocate | Known::AllocateZeroed => {
                let size = match self.pinned(state, &arguments[0].value, "a size")? {
                    Ok(size) => size,
                    Err(flow) => return Ok(flow),
                };
                let zeroed = matches!(known, Known::AllocateZeroed);
                let address = self.allocate(state, size as u64, zeroed)?;
                self.done(state, dst, Value::Word(Expr::Const(address)))
            }
            Known::Free => {
                let address = match self.pinned(state, &arguments[0].value, "a pointer")? {
                    Ok(address) => address,
                    Err(flow) => return Ok(flow),
                };
                self.free(state, address)?;
                self.done(state, dst, Value::Undefined)
            }
            Known::Destroyed => {
                let numbers = match self.all_pinned(state, arguments, "a pointer")? {
                    Ok(numbers) => numbers,
                    Err(flow) => return Ok(flow),
                };
                let [variable, destructor] = numbers[..] else {
                    return unsupported("this thread-local variable", SMALLER);
                };
                state.destructors.push((variable, destructor));
                self.done(state, dst, Value::Undefined)
            }
            Known::Reallocate => {
                let numbers = match self.all_pinned(state, arguments, "a size")? {
                    Ok(numbers) => numbers,
                    Err(flow) => return Ok(flow),
                };
                let [old, size, _, new] = numbers[..] else {
                    return unsupported("this call of the allocator", SMALLER);
                };
                let address = self.allocate(state, new as u64, false)?;
                self.copy(state, address, old, size.min(new) as u64)?;
                self.free(state, old)?;
                self.done(state, dst, Value::Word(Expr::Const(address)))
            }
        }
    }

    /// The message of a panic, if its arguments are a constant text.
    fn panic_words(
        &mut self,
        state: &mut State,
        name: &str,
        arguments: &[Argument],
    ) -> Option<String> {
        let last = name
            .split('<')
            .next()?
            .trim_end_matches("::")
            .rsplit("::")
            .next()?;
        if matches!(last, "assert_failed" | "assert_failed_inner") {
            let kind = self.word(state, &arguments.first()?.value).ok()?;
            return Some(match kind {
                Expr::Const(0) => "assertion `left == right` failed".to_owned(),
                Expr::Const(1) => "assertion `left != right` failed".to_owned(),
                _ => "assertion failed".to_owned(),
            });
        }
        let [text, length, ..] = arguments else {
            return None;
        };
        if !matches!(
            last,
            "panic" | "panic_fmt" | "panic_nounwind" | "expect_failed" | "panic_str_2015"
        ) {
            return None;
        }
        let (Ok(Expr::Const(at)), Ok(Expr::Const(length))) = (
            self.word(state, &text.value),
            self.word(state, &length.value),
        ) else {
            return None;
        };
        // `fmt::Arguments` of a text without arguments is that text, with a length that is
        // twice as large and odd.
        let length = if last == "panic_fmt" {
            length / 2
        } else {
            length
        };
        let (object, offset) = self.world.at(at)?;
        if !(1..400).contains(&length) || !self.world.is_constant(object) {
            return None;
        }
        let content = match &self.world.objects[object].key {
            Key::Static(name) => {
                let name = name.clone();
                self.world.initial_content(&name).ok()?
            }
            _ => return None,
        };
        let mut bytes = Vec::new();
        for i in 0..length as u64 {
            match content.word(offset + i, 1) {
                Found::Word(Expr::Const(byte)) => bytes.push(byte as u8),
                _ => return None,
            }
        }
        let text = String::from_utf8(bytes).ok()?;
        (!text.contains(char::is_control)).then_some(text)
    }

    fn compare_bytes(
        &mut self,
        state: &mut State,
        dst: Option<u32>,
        arguments: &[Argument],
    ) -> Run<Flow> {
        let numbers = match self.all_pinned(state, arguments, "a pointer or a size")? {
            Ok(numbers) => numbers,
            Err(flow) => return Ok(flow),
        };
        let [a, b, count] = numbers[..] else {
            return unsupported("this comparison of bytes", SMALLER);
        };
        // Word by word, as memory is accessed elsewhere: bytes of a cell would cut it.
        let mut pairs: Vec<(u64, LocalExpr, LocalExpr)> = Vec::new();
        let mut done = 0;
        while done < count {
            let size = self.compared_at(a + done, b + done, (count - done) as u64);
            let ty = super::ir::Type::Int(size as u32 * 8);
            let order = palisade_program::Order::Plain;
            let mut words = Vec::new();
            for at in [a + done, b + done] {
                let Value::Word(word) = self.load(state, at, &ty, order, true)? else {
                    return unsupported("a comparison of these bytes", SMALLER);
                };
                self.hold(state, &word);
                words.push(word);
            }
            let [x, y] = <[LocalExpr; 2]>::try_from(words).expect("two were pushed");
            let differ = matches!((&x, &y), (Expr::Const(x), Expr::Const(y)) if x != y);
            if x != y {
                pairs.push((size, x, y));
            }
            if pairs.len() > MOST_COMPARED {
                return unsupported("a comparison of so many bytes", SMALLER);
            }
            if differ {
                break;
            }
            done += size as i64;
        }
        let rest = arith::c(0);
        let pairs = pairs.iter().rev();
        let result = pairs.fold(rest, |rest, (size, x, y)| compared(*size, x, y, rest));
        let result = self.small(state, result);
        self.unhold(state);
        self.done(state, dst, Value::Word(result))
    }

    /// How many bytes of two places are compared at once: a cell of shared memory, where one begins.
    fn compared_at(&mut self, a: i64, b: i64, most: u64) -> u64 {
        let mut size = most.min(8);
        let mut is_shared = false;
        for at in [a, b] {
            let Ok((object, offset)) = self.place(at, 1) else {
                return 1;
            };
            if !self.world.is_shared(object) {
                continue;
            }
            is_shared = true;
            let cells = self.world.cells_within(object, offset, most);
            if let Some(&(from, bytes)) = cells.first() {
                let gap = if from <= offset { from + bytes } else { from } - offset;
                size = size.min(gap);
            }
            size = size.min(1 << offset.trailing_zeros().min(3));
        }
        if is_shared { 1 << size.ilog2() } else { 1 }
    }

    /// The value that an intrinsic returns.
    fn intrinsic(&mut self, state: &mut State, name: &str, arguments: &[Argument]) -> Run<Done> {
        let nothing = Ok(Done::Value(Value::Undefined));
        let base = name.split('.').next().unwrap_or(name);
        let bits = arguments.first().and_then(|a| a.ty.bits()).unwrap_or(64);
        match base {
            "lifetime" | "dbg" | "prefetch" | "experimental" | "donothing" | "sideeffect"
            | "invariant" | "va_start" | "va_end" => return nothing,
            "x86" if name.ends_with("pause") => return nothing,
            "aarch64" if name.contains("hint") || name.contains("isb") => return nothing,
            "assume" => return nothing,
            "trap" | "debugtrap" | "ubsantrap" => {
                let words = "the process aborts".to_owned();
                return Err(Trouble::Wrong(AssertKind::Language(words)));
            }
            "expect" | "ssa" => {
                let value = self.value(state, &arguments[0].value, &arguments[0].ty)?;
                return Ok(Done::Value(value));
            }
            "is" => return Ok(Done::Value(Value::Word(Expr::Const(0)))),
            "threadlocal" => {
                let Operand::Const(Const::Symbol(name)) = &arguments[0].value else {
                    return unsupported("a thread-local variable", SMALLER);
                };
                let Some((_, variable)) = self.world.variable(name) else {
                    return unsupported("a thread-local variable of another crate", SMALLER);
                };
                let size = variable.ty.size();
                let span = self.span(state);
                let key = Key::ThreadLocal(self.thread, name.clone());
                let object = self.world.object(key, size, span);
                let address = super::world::World::address(object);
                return Ok(Done::Value(Value::Word(Expr::Const(address))));
            }
            "memcpy" | "memmove" | "memset" => return self.move_bytes(state, base, arguments),
            _ => {}
        }
        let signed_or_not = [
            ("uadd", Binary::Add, false),
            ("usub", Binary::Sub, false),
            ("umul", Binary::Mul, false),
            ("sadd", Binary::Add, true),
            ("ssub", Binary::Sub, true),
            ("smul", Binary::Mul, true),
        ];
        let known = signed_or_not.into_iter().find(|(word, ..)| *word == base);
        if let Some((_, op, is_signed)) = known {
            let a = self.word(state, &arguments[0].value)?;
            let b = self.word(state, &arguments[1].value)?;
            let known = &state.known;
            let ranges = |e: &LocalExpr| range_of(e, known);
            let made = overflowing(op, is_signed, bits, a.clone(), b.clone(), &ranges);
            let (value, flag) = made.or_else(|words| unsupported(words, SMALLER))?;
            let flag = match decided(&flag, &state.known) {
                Some(is) => Expr::Const(i64::from(is)),
                None => flag,
            };
            if name.contains(".with.overflow") {
                let value = self.small(state, value);
                return Ok(Done::Value(Value::Parts(vec![
                    Value::Word(value),
                    Value::Word(flag),
                ])));
            }
            if name.contains(".sat") && is_signed {
                let half = arith::c(1_i64 << (bits - 1));
                let (least, most, test) = if bits == 64 {
                    let test = arith::bin(BinOp::Lt, a, arith::c(0));
                    (arith::c(i64::MIN), arith::c(i64::MAX), test)
                } else {
                    let most = arith::c((1_i64 << (bits - 1)) - 1);
                    (half.clone(), most, arith::bin(BinOp::Ge, a, half))
                };
                // The way in which it does not fit is that of the first operand.
                let e = arith::cond(flag, arith::cond(test, least, most), value);
                let e = self.small(state, e);
                return Ok(Done::Value(Value::Word(e)));
            }
            if name.contains(".sat") && !is_signed {
                let (_, most) = arith::limits(bits);
                let limit = match op {
                    Binary::Sub => 0,
                    _ if bits == 64 => -1,
                    _ => most,
                };
                let e = Expr::Cond(
                    Box::new(flag),
                    Box::new(Expr::Const(limit)),
                    Box::new(value),
                );
                let e = e.substitute(&mut |atom| Expr::Atom(*atom));
                let e = self.small(state, e);
                return Ok(Done::Value(Value::Word(e)));
            }
        }
        let picks = [
            ("umax", Predicate::Ugt),
            ("umin", Predicate::Ult),
            ("smax", Predicate::Sgt),
            ("smin", Predicate::Slt),
        ];
        if let Some((_, predicate)) = picks.into_iter().find(|(word, _)| *word == base) {
            let a = self.word(state, &arguments[0].value)?;
            let b = self.word(state, &arguments[1].value)?;
            let known = &state.known;
            let ranges = |e: &LocalExpr| range_of(e, known);
            let test = arith::compare(predicate, bits, a.clone(), b.clone(), &ranges);
            let test = test.or_else(|words| unsupported(words, SMALLER))?;
            let e = match decided(&test, &state.known) {
                Some(true) => a,
                Some(false) => b,
                None => Expr::Cond(Box::new(test), Box::new(a), Box::new(b)),
            };
            let e = self.small(state, e);
            return Ok(Done::Value(Value::Word(e)));
        }
        // `Ord::cmp`: 1, 0 or -1 in so many bits.
        let orders = [("ucmp", Predicate::Ult), ("scmp", Predicate::Slt)];
        if let Some((_, predicate)) = orders.into_iter().find(|(word, _)| *word == base) {
            let result = name.split('.').nth(1).and_then(|ty| ty.strip_prefix('i'));
            let Some(result) = result.and_then(|bits| bits.parse().ok()) else {
                return unsupported(operation(base), SMALLER);
            };
            let a = self.word(state, &arguments[0].value)?;
            let b = self.word(state, &arguments[1].value)?;
            let e = {
                let known = &state.known;
                let ranges = |e: &LocalExpr| range_of(e, known);
                let test = |a: &LocalExpr, b: &LocalExpr| {
                    let test = arith::compare(predicate, bits, a.clone(), b.clone(), &ranges);
                    test.or_else(|words| unsupported(words, SMALLER))
                };
                let [less, more] = [test(&a, &b)?, test(&b, &a)?].map(|test| {
                    let is = decided(&test, known);
                    is.map_or(test, |is| arith::c(i64::from(is)))
                });
                let minus = arith::c(arith::limits(result).1);
                let minus = if result >= 64 { arith::c(-1) } else { minus };
                arith::cond(less, minus, arith::cond(more, arith::c(1), arith::c(0)))
            };
            let e = self.small(state, e);
            return Ok(Done::Value(Value::Word(e)));
        }
        self.bit_counting(state, base, bits, arguments)
    }

    /// Intrinsics that are modelled for constants, and rotations by constants.
    fn bit_counting(
        &mut self,
        state: &mut State,
        base: &str,
        bits: u32,
        arguments: &[Argument],
    ) -> Run<Done> {
        let words = format!("{} of a number", operation(base));
        let mut numbers = Vec::new();
        let is_shift = matches!(base, "fshl" | "fshr");
        let rotated = is_shift && arguments[0].value == arguments[1].value;
        if rotated && let Ok(Expr::Const(by)) = self.word(state, &arguments[2].value) {
            let e = self.word(state, &arguments[0].value)?;
            let by = by.rem_euclid(i64::from(bits));
            let (left, right) = match base {
                "fshl" => (by, (i64::from(bits) - by) % i64::from(bits)),
                _ => ((i64::from(bits) - by) % i64::from(bits), by),
            };
            let known = &state.known;
            let ranges = |e: &LocalExpr| range_of(e, known);
            let high = arith::binary(Binary::Shl, bits, e.clone(), Expr::Const(left), &ranges);
            let low = arith::binary(Binary::LShr, bits, e, Expr::Const(right), &ranges);
            let both = high.and_then(|high| arith::binary(Binary::Or, bits, high, low?, &ranges));
            let e = both.or_else(|words| unsupported(words, SMALLER))?;
            let e = self.small(state, e);
            return Ok(Done::Value(Value::Word(e)));
        }
        for argument in arguments {
            match self.pinned(state, &argument.value, &words)? {
                Ok(number) => numbers.push(number as u64 & (u64::MAX >> (64 - bits.min(64)))),
                Err(flow) => return Ok(Done::Flow(flow)),
            }
        }
        let first = numbers.first().copied().unwrap_or(0);
        let extra = 64 - bits.min(64);
        let value = match base {
            "ctpop" => u64::from(first.count_ones()),
            "ctlz" => u64::from(first.leading_zeros()) - u64::from(extra),
            "cttz" => u64::from(first.trailing_zeros()).min(u64::from(bits)),
            "bswap" => first.swap_bytes() >> extra,
            "bitreverse" => first.reverse_bits() >> extra,
            "abs" => {
                let negative = first >> (bits - 1) & 1 == 1;
                if negative {
                    first.wrapping_neg()
                } else {
                    first
                }
            }
            "fshl" | "fshr" => {
                let wide = (u128::from(numbers[0]) << bits) | u128::from(numbers[1]);
                let by = (numbers[2] % u64::from(bits)) as u32;
                let moved = match base {
                    "fshl" => (wide << by) >> bits,
                    _ => wide >> by,
                };
                moved as u64
            }
            _ => return unsupported(operation(base), SMALLER),
        };
        let value = arith::canonical(u128::from(value), bits);
        Ok(Done::Value(Value::Word(Expr::Const(value))))
    }

    fn move_bytes(&mut self, state: &mut State, base: &str, arguments: &[Argument]) -> Run<Done> {
        let mut numbers = Vec::new();
        let byte = &arguments[1];
        let undefined =
            base == "memset" && self.value(state, &byte.value, &byte.ty)? == Value::Undefined;
        let places = if undefined { &[0, 2][..] } else { &[0, 1, 2] };
        for argument in places.iter().map(|at| &arguments[*at]) {
            match self.pinned(state, &argument.value, "a pointer or a size")? {
                Ok(number) => numbers.push(number),
                Err(flow) => return Ok(Done::Flow(flow)),
            }
        }
        match (base, &numbers[..]) {
            ("memset", &[to, byte, count]) => self.fill(state, to, Some(byte), count as u64)?,
            (_, &[to, from, count]) => self.copy(state, to, from, count as u64)?,
            (_, &[to, count]) => self.fill(state, to, None, count as u64)?,
            _ => {}
        }
        Ok(Done::Value(Value::Undefined))
    }

    /// The value of a finished request.
    pub(super) fn answered(
        &mut self,
        state: &mut State,
        dst: Option<u32>,
        value: Option<i64>,
    ) -> Run<Flow> {
        let value = value.map_or(Value::Undefined, |v| Value::Word(Expr::Const(v)));
        self.done(state, dst, value)
    }
}

/// How an intrinsic goes on.
enum Done {
    Value(Value),
    Flow(Flow),
}
