//! Reads LLVM's text ([`Module`]): one line at a time, as compilers print it.

use std::collections::BTreeMap;

use palisade_program::Order;

use super::cursor::{Cursor, Named, Read};
use super::ir::{
    Argument, Binary, Block, BlockId, Cast, Change, Const, End, Function, Inst, Module, Operand,
    Predicate, Reg, Type, Variable,
};

/// Reads a module. An error says which line cannot be read; unknown instructions are none.
pub(crate) fn parse(text: &str) -> Result<Module, String> {
    let mut module = Module::default();
    let named = named_types(text);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let wrong = |words: String| format!("{words} in `{line}`");
        if line.starts_with('@') {
            module
                .variables
                .extend(variable(line, &named).map_err(wrong)?);
        } else if line.starts_with("define") {
            let mut body = Vec::new();
            for line in lines.by_ref() {
                if line == "}" {
                    break;
                }
                body.push(line);
            }
            module.functions.push(function(line, &body, &named)?);
        } else if let Some(rest) = line.strip_prefix('!')
            && let Some((number, text)) = rest.split_once(" = ")
            && let Ok(number) = number.parse()
        {
            module.metadata.insert(number, text.to_owned());
        }
    }
    Ok(module)
}

/// Types may be used before they are defined; they are read until nothing is new.
fn named_types(text: &str) -> Named {
    let mut named = Named::new();
    let lines: Vec<&str> = text.lines().filter(|l| l.starts_with('%')).collect();
    for _ in 0..=lines.len() {
        let before = named.len();
        for line in &lines {
            let known = named.clone();
            let mut cursor = Cursor::new(line, &known);
            let Ok(name) = cursor.name('%') else { continue };
            if named.contains_key(&name) || !cursor.eat("= type") {
                continue;
            }
            if let Ok(ty) = cursor.ty() {
                named.insert(name, ty);
            }
        }
        if named.len() == before {
            break;
        }
    }
    named
}

fn variable(line: &str, named: &Named) -> Read<Option<Variable>> {
    let mut cursor = Cursor::new(line, named);
    let name = cursor.name('@')?;
    cursor.expect("=")?;
    let mut external = false;
    loop {
        match cursor.word() {
            "external" | "extern_weak" => external = true,
            "alias" | "ifunc" => return Ok(None),
            word @ ("global" | "constant") => {
                let constant = word == "constant";
                let ty = cursor.ty()?;
                let init = match external {
                    true => None,
                    false => Some(cursor.constant(&ty)?),
                };
                return Ok(Some(Variable {
                    name,
                    ty,
                    init,
                    constant,
                    debug: number_behind(line, "!dbg !"),
                }));
            }
            "" if cursor.rest.starts_with('(') => {
                cursor.parenthesised()?;
            }
            "" => return Err("a variable expected".to_owned()),
            _ => {}
        }
    }
}

/// The number behind a mark such as `!dbg !`.
fn number_behind(line: &str, mark: &str) -> u32 {
    let Some(at) = line.rfind(mark) else { return 0 };
    let digits: String = line[at + mark.len()..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(0)
}

fn function(head: &str, body: &[&str], named: &Named) -> Result<Function, String> {
    let at = head.find('@').ok_or("a function without a name")?;
    let mut cursor = Cursor::new(&head[at..], named);
    let name = cursor.name('@')?;
    let inner = cursor.parenthesised()?;
    let mut reader = Reader {
        named,
        registers: Vec::new(),
        numbers: BTreeMap::new(),
        labels: BTreeMap::new(),
    };
    let mut parameters = Vec::new();
    let mut cursor = Cursor::new(inner, named);
    while !cursor.rest.is_empty() && !cursor.eat("...") {
        let ty = cursor.ty()?;
        reader.attributes(&mut cursor)?;
        let name = cursor.name('%')?;
        parameters.push((ty, reader.register(&name)));
        cursor.eat(",");
    }
    // Labels first: branches go forward, too.
    let mut count = 0;
    for line in body {
        if let Some(label) = label_of(line) {
            reader.labels.insert(label, count);
            count += 1;
        } else if count == 0 && !line.trim().is_empty() {
            reader.labels.insert(String::new(), 0);
            count = 1;
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let mut lines = body.iter();
    while let Some(line) = lines.next() {
        let mut text = (*line).to_owned();
        if let Some(name) = label_of(line) {
            open = Some(new_block(name));
            continue;
        }
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(';') {
            continue;
        }
        if trimmed.starts_with("switch") {
            while !text.contains(']') {
                let Some(more) = lines.next() else { break };
                text.push_str(more);
            }
        }
        let block = open.get_or_insert_with(|| new_block(String::new()));
        let debug = number_behind(&text, "!dbg !");
        let mut cursor = Cursor::new(&text, named);
        match reader.end(&mut cursor) {
            Ok(None) => block
                .insts
                .extend(reader.instruction(&text).map(|i| (i, debug))),
            Ok(Some(end)) => {
                block.end = (end, debug);
                blocks.extend(open.take());
            }
            Err(words) => {
                block.end = (End::Unknown(words), debug);
                blocks.extend(open.take());
            }
        }
    }
    Ok(Function {
        name,
        parameters,
        registers: reader.registers,
        blocks,
        debug: number_behind(head, "!dbg !"),
    })
}

fn new_block(name: String) -> Block {
    Block {
        name,
        insts: Vec::new(),
        end: (End::Unreachable, 0),
    }
}

fn label_of(line: &str) -> Option<String> {
    let first = line.bytes().next()?;
    if first.is_ascii_whitespace() || first == b';' {
        return None;
    }
    let line = line.split(" ; ").next()?.trim_end();
    let name = line.split_once(':').map_or(line, |(name, _)| name);
    Some(name.trim_matches('"').to_owned())
}

struct Reader<'a> {
    named: &'a Named,
    registers: Vec<String>,
    numbers: BTreeMap<String, Reg>,
    labels: BTreeMap<String, BlockId>,
}

impl Reader<'_> {
    fn register(&mut self, name: &str) -> Reg {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let number = self.registers.len() as Reg;
        self.registers.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Skips attributes of a parameter; the size of the result if it is for that.
    fn attributes(&mut self, cursor: &mut Cursor<'_>) -> Read<Option<u64>> {
        let mut result = None;
        while !cursor.rest.starts_with('%') && !cursor.at_constant() {
            match cursor.word() {
                "" => break,
                "align" => {
                    cursor.word();
                }
                "sret" => {
                    let inner = cursor.parenthesised()?;
                    result = Some(Cursor::new(inner, self.named).ty()?.size());
                }
                _ if cursor.rest.starts_with('(') => {
                    cursor.parenthesised()?;
                }
                _ => {}
            }
        }
        Ok(result)
    }

    fn value(&mut self, cursor: &mut Cursor<'_>, ty: &Type) -> Read<Operand> {
        if cursor.rest.starts_with('%') {
            let name = cursor.name('%')?;
            return Ok(Operand::Reg(self.register(&name)));
        }
        Ok(Operand::Const(cursor.constant(ty)?))
    }

    fn typed(&mut self, cursor: &mut Cursor<'_>) -> Read<(Type, Operand)> {
        let ty = cursor.ty()?;
        let value = self.value(cursor, &ty)?;
        Ok((ty, value))
    }

    fn label(&mut self, cursor: &mut Cursor<'_>) -> Read<BlockId> {
        cursor.expect("label")?;
        let name = cursor.name('%')?;
        let found = self.labels.get(&name).copied();
        found.ok_or_else(|| format!("no block `{name}`"))
    }

    fn end(&mut self, cursor: &mut Cursor<'_>) -> Read<Option<End>> {
        let word = cursor.peek();
        if !matches!(
            word,
            "br" | "switch" | "ret" | "unreachable" | "resume" | "indirectbr"
        ) {
            return Ok(None);
        }
        cursor.word();
        Ok(Some(match word {
            "br" if cursor.peek() == "label" => End::Jump(self.label(cursor)?),
            "br" => {
                let (_, test) = self.typed(cursor)?;
                cursor.expect(",")?;
                let yes = self.label(cursor)?;
                cursor.expect(",")?;
                End::Branch(test, yes, self.label(cursor)?)
            }
            "switch" => {
                let (ty, on) = self.typed(cursor)?;
                cursor.expect(",")?;
                let default = self.label(cursor)?;
                cursor.expect("[")?;
                let mut cases = Vec::new();
                while !cursor.eat("]") {
                    let ty = cursor.ty()?;
                    let value = match cursor.constant(&ty)? {
                        Const::Int(value) => value,
                        Const::Zero => 0,
                        _ => return Err("a case that is no number".to_owned()),
                    };
                    cursor.expect(",")?;
                    cases.push((value, self.label(cursor)?));
                }
                let bits = ty.bits().ok_or("a switch over something else")?;
                End::Switch {
                    bits,
                    on,
                    default,
                    cases,
                }
            }
            "ret" if cursor.peek() == "void" => End::Return(None),
            "ret" => End::Return(Some(self.typed(cursor)?)),
            "unreachable" => End::Unreachable,
            _ => End::Unknown(word.to_owned()),
        }))
    }

    /// An instruction; `None` for what only debuggers ask about.
    fn instruction(&mut self, text: &str) -> Option<Inst> {
        let named = self.named;
        let mut cursor = Cursor::new(text, named);
        if cursor.eat("#dbg_declare") {
            return self.declare(text);
        }
        if cursor.rest.starts_with('#') {
            return None;
        }
        let mut dst = None;
        if cursor.rest.starts_with('%')
            && let Ok(name) = cursor.name('%')
        {
            dst = Some(self.register(&name));
            cursor.eat("=");
        }
        let word = cursor.word();
        match self.known(word, dst, &mut cursor) {
            Ok(Some(inst)) => Some(inst),
            Ok(None) => Some(Inst::Unknown {
                dst,
                text: format!("`{word}`"),
            }),
            Err(words) => Some(Inst::Unknown {
                dst,
                text: format!("`{word}`: {words}"),
            }),
        }
    }

    fn declare(&mut self, text: &str) -> Option<Inst> {
        let inner = text.split_once("(ptr %")?.1;
        let (name, rest) = inner.split_once(',')?;
        let at = self.register(name.trim_matches('"'));
        let variable = rest.trim_start().strip_prefix('!')?;
        let variable = variable.split(',').next()?.parse().ok()?;
        Some(Inst::Declare { at, variable })
    }

    fn known(
        &mut self,
        word: &str,
        dst: Option<Reg>,
        cursor: &mut Cursor<'_>,
    ) -> Read<Option<Inst>> {
        if let Some(op) = binary(word) {
            while matches!(cursor.peek(), "nuw" | "nsw" | "exact" | "disjoint") {
                cursor.word();
            }
            let (ty, left) = self.typed(cursor)?;
            cursor.expect(",")?;
            let right = self.value(cursor, &ty)?;
            let (Some(bits), Some(dst)) = (ty.bits(), dst) else {
                return Ok(None);
            };
            return Ok(Some(Inst::Binary {
                dst,
                op,
                bits,
                left,
                right,
            }));
        }
        match (word, dst) {
            ("alloca", Some(dst)) => {
                let ty = cursor.ty()?;
                let size = ty.size();
                if cursor.eat(",") && !matches!(cursor.peek(), "align" | "") {
                    return Ok(None);
                }
                Ok(Some(Inst::Alloca { dst, size }))
            }
            ("load", Some(dst)) => {
                let atomic = cursor.eat_word("atomic");
                cursor.eat_word("volatile");
                let ty = cursor.ty()?;
                cursor.expect(",")?;
                let (_, from) = self.typed(cursor)?;
                let order = self.access_order(atomic, cursor)?;
                let defined = atomic || cursor.rest.contains("!noundef");
                Ok(Some(Inst::Load {
                    dst,
                    ty,
                    from,
                    order,
                    defined,
                }))
            }
            ("store", _) => {
                let atomic = cursor.eat_word("atomic");
                cursor.eat_word("volatile");
                let (ty, value) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (_, to) = self.typed(cursor)?;
                let order = self.access_order(atomic, cursor)?;
                Ok(Some(Inst::Store {
                    ty,
                    value,
                    to,
                    order,
                }))
            }
            ("getelementptr", Some(dst)) => self.address(dst, cursor).map(Some),
            ("icmp", Some(dst)) => {
                cursor.eat_word("samesign");
                let Some(predicate) = predicate(cursor.word()) else {
                    return Ok(None);
                };
                let (ty, left) = self.typed(cursor)?;
                cursor.expect(",")?;
                let right = self.value(cursor, &ty)?;
                let bits = ty.bits().ok_or("a comparison of something else")?;
                Ok(Some(Inst::Compare {
                    dst,
                    predicate,
                    bits,
                    left,
                    right,
                }))
            }
            ("trunc" | "zext" | "sext" | "ptrtoint" | "inttoptr" | "bitcast", Some(dst)) => {
                while matches!(cursor.peek(), "nuw" | "nsw" | "nneg") {
                    cursor.word();
                }
                let (from, value) = self.typed(cursor)?;
                cursor.expect("to")?;
                let to = cursor.ty()?;
                let (Some(from), Some(to)) = (from.bits(), to.bits()) else {
                    return Ok(None);
                };
                let kind = match word {
                    "sext" => Cast::SignExtend,
                    _ if from > to => Cast::Truncate,
                    _ if from < to => Cast::ZeroExtend,
                    _ => Cast::Same,
                };
                Ok(Some(Inst::Cast {
                    dst,
                    kind,
                    from,
                    to,
                    value,
                }))
            }
            ("select", Some(dst)) => {
                let (_, test) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (ty, yes) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (_, no) = self.typed(cursor)?;
                Ok(Some(Inst::Select {
                    dst,
                    ty,
                    test,
                    yes,
                    no,
                }))
            }
            ("extractvalue", Some(dst)) => {
                let (ty, of) = self.typed(cursor)?;
                let path = path(cursor)?;
                Ok(Some(Inst::Extract { dst, ty, of, path }))
            }
            ("insertvalue", Some(dst)) => {
                let (ty, of) = self.typed(cursor)?;
                cursor.expect(",")?;
                let part = self.typed(cursor)?;
                let path = path(cursor)?;
                Ok(Some(Inst::Insert {
                    dst,
                    ty,
                    of,
                    part,
                    path,
                }))
            }
            ("freeze", Some(dst)) => {
                let (ty, value) = self.typed(cursor)?;
                Ok(Some(Inst::Copy { dst, ty, value }))
            }
            ("cmpxchg", Some(dst)) => {
                let weak = cursor.eat_word("weak");
                cursor.eat_word("volatile");
                let (_, at) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (ty, expected) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (_, new) = self.typed(cursor)?;
                scope(cursor);
                let success = order(cursor.word())?;
                let failure = order(cursor.word())?;
                Ok(Some(Inst::CompareExchange {
                    dst,
                    at,
                    ty,
                    expected,
                    new,
                    orders: (success, failure),
                    weak,
                }))
            }
            ("atomicrmw", Some(dst)) => {
                cursor.eat_word("volatile");
                let Some(how) = change(cursor.word()) else {
                    return Ok(None);
                };
                let (_, at) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (ty, value) = self.typed(cursor)?;
                scope(cursor);
                let order = order(cursor.word())?;
                Ok(Some(Inst::Change {
                    dst,
                    how,
                    at,
                    ty,
                    value,
                    order,
                }))
            }
            ("fence", _) => {
                let single = scope(cursor);
                Ok(Some(Inst::Fence(order(cursor.word())?, single)))
            }
            ("phi", Some(dst)) => {
                let ty = cursor.ty()?;
                let mut incoming = Vec::new();
                while cursor.eat("[") {
                    let value = self.value(cursor, &ty)?;
                    cursor.expect(",")?;
                    incoming.push((value, cursor.name('%')?));
                    cursor.expect("]")?;
                    cursor.eat(",");
                }
                Ok(Some(Inst::Phi { dst, ty, incoming }))
            }
            ("call" | "tail" | "musttail" | "notail", _) => self.call(dst, cursor).map(Some),
            _ => Ok(None),
        }
    }

    fn access_order(&mut self, atomic: bool, cursor: &mut Cursor<'_>) -> Read<Order> {
        if !atomic {
            return Ok(Order::Plain);
        }
        scope(cursor);
        order(cursor.word())
    }

    fn address(&mut self, dst: Reg, cursor: &mut Cursor<'_>) -> Read<Inst> {
        while matches!(cursor.peek(), "inbounds" | "nuw" | "nusw") {
            cursor.word();
        }
        let mut at = cursor.ty()?;
        cursor.expect(",")?;
        let (_, base) = self.typed(cursor)?;
        let (mut offset, mut scaled, mut first) = (0_i64, Vec::new(), true);
        while cursor.eat(",") {
            if cursor.rest.starts_with('!') {
                break;
            }
            let (ty, index) = self.typed(cursor)?;
            let constant = match &index {
                Operand::Const(Const::Int(value)) => {
                    let bits = ty.bits().unwrap_or(64).min(64);
                    Some(palisade_program::expr::wrap(
                        *value as i128,
                        bits as u8,
                        true,
                    ))
                }
                Operand::Const(Const::Zero) => Some(0),
                Operand::Const(_) | Operand::Reg(_) => None,
            };
            let (by, next) = match (&at, first) {
                (_, true) => (at.size() as i64, at.clone()),
                (Type::Array(_, of), false) => (of.size() as i64, (**of).clone()),
                (_, false) => {
                    let index = constant.ok_or("an index of a struct that is no number")?;
                    let (by, ty) = at.part(index as u64).ok_or("an index without a part")?;
                    offset += by as i64;
                    at = ty.clone();
                    continue;
                }
            };
            match constant {
                Some(index) => offset += index * by,
                None => scaled.push((ty, index, by)),
            }
            at = next;
            first = false;
        }
        Ok(Inst::Address {
            dst,
            base,
            offset,
            scaled,
        })
    }

    fn call(&mut self, dst: Option<Reg>, cursor: &mut Cursor<'_>) -> Read<Inst> {
        cursor.eat_word("call");
        // Attributes of the result, and calling conventions.
        loop {
            let mut ahead = cursor.clone();
            if ahead.ty().is_ok()
                && (ahead.rest.starts_with('@')
                    || ahead.rest.starts_with('%')
                    || ahead.peek() == "asm")
            {
                break;
            }
            match cursor.word() {
                "align" => {
                    cursor.word();
                }
                "" if cursor.rest.starts_with('(') => {
                    cursor.parenthesised()?;
                }
                "" => return Err("a call expected".to_owned()),
                _ if cursor.rest.starts_with('(') => {
                    cursor.parenthesised()?;
                }
                _ => {}
            }
        }
        let ty = cursor.ty()?;
        if cursor.peek() == "asm" {
            return Ok(Inst::Call {
                dst,
                ty,
                callee: Operand::Const(Const::Unknown("inline assembler".to_owned())),
                arguments: Vec::new(),
            });
        }
        let callee = self.value(cursor, &Type::Pointer)?;
        let inner = cursor.parenthesised()?;
        let mut inner = Cursor::new(inner, self.named);
        let mut arguments = Vec::new();
        while !inner.rest.is_empty() {
            let ty = inner.ty()?;
            let result = self.attributes(&mut inner)?;
            let value = if matches!(&ty, Type::Other(name, _) if name == "metadata") {
                inner.rest = "";
                Operand::Const(Const::Undef)
            } else {
                self.value(&mut inner, &ty)?
            };
            arguments.push(Argument { ty, value, result });
            inner.eat(",");
        }
        Ok(Inst::Call {
            dst,
            ty,
            callee,
            arguments,
        })
    }
}

fn path(cursor: &mut Cursor<'_>) -> Read<Vec<usize>> {
    let mut path = Vec::new();
    while cursor.eat(",") {
        if cursor.rest.starts_with('!') {
            break;
        }
        path.push(cursor.number()?);
    }
    Ok(path)
}

/// `syncscope("singlethread")`: whether it is there.
fn scope(cursor: &mut Cursor<'_>) -> bool {
    cursor.eat_word("syncscope") && cursor.parenthesised().is_ok()
}

fn order(word: &str) -> Read<Order> {
    Ok(match word {
        "unordered" | "monotonic" => Order::Relaxed,
        "acquire" => Order::Acquire,
        "release" => Order::Release,
        "acq_rel" => Order::AcqRel,
        "seq_cst" => Order::SeqCst,
        _ => return Err(format!("unknown memory order `{word}`")),
    })
}

fn binary(word: &str) -> Option<Binary> {
    Some(match word {
        "add" => Binary::Add,
        "sub" => Binary::Sub,
        "mul" => Binary::Mul,
        "udiv" => Binary::UDiv,
        "sdiv" => Binary::SDiv,
        "urem" => Binary::URem,
        "srem" => Binary::SRem,
        "shl" => Binary::Shl,
        "lshr" => Binary::LShr,
        "ashr" => Binary::AShr,
        "and" => Binary::And,
        "or" => Binary::Or,
        "xor" => Binary::Xor,
        _ => return None,
    })
}

fn predicate(word: &str) -> Option<Predicate> {
    Some(match word {
        "eq" => Predicate::Eq,
        "ne" => Predicate::Ne,
        "ugt" => Predicate::Ugt,
        "uge" => Predicate::Uge,
        "ult" => Predicate::Ult,
        "ule" => Predicate::Ule,
        "sgt" => Predicate::Sgt,
        "sge" => Predicate::Sge,
        "slt" => Predicate::Slt,
        "sle" => Predicate::Sle,
        _ => return None,
    })
}

fn change(word: &str) -> Option<Change> {
    Some(match word {
        "xchg" => Change::Exchange,
        "add" => Change::Add,
        "sub" => Change::Sub,
        "and" => Change::And,
        "nand" => Change::Nand,
        "or" => Change::Or,
        "xor" => Change::Xor,
        "max" => Change::Max,
        "min" => Change::Min,
        "umax" => Change::UMax,
        "umin" => Change::UMin,
        _ => return None,
    })
}
