//! Reads LLVM's text ([`Module`]): one line at a time, as compilers print it.

use std::collections::BTreeMap;

use super::cursor::{Cursor, Named, Read};
use super::ir::{Block, BlockId, Const, End, Function, Inst, Module, Operand, Reg, Type, Variable};

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
                let init = if external {
                    None
                } else {
                    Some(cursor.constant(&ty)?)
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
        } else if count == 0 && !is_empty(line) {
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
            blocks.extend(open.replace(new_block(name)));
            continue;
        }
        if is_empty(line) {
            continue;
        }
        let trimmed = line.trim();
        if open.is_none() && !blocks.is_empty() {
            return Err("code behind the end of a block".to_owned());
        }
        if trimmed.starts_with("switch") {
            while !text.contains(']') {
                let Some(more) = lines.next() else { break };
                text.push_str(more);
            }
        }
        let is_invoke = trimmed.starts_with("invoke ") || trimmed.contains(" = invoke ");
        if is_invoke && !text.contains(" unwind label ") {
            text.push_str(lines.next().unwrap_or(&""));
        }
        let block = open.get_or_insert_with(|| new_block(String::new()));
        let debug = number_behind(&text, "!dbg !");
        let mut cursor = Cursor::new(&text, named);
        if is_invoke {
            // Panics are violations: nothing unwinds, and this is a call.
            let (call, targets) = text.split_once(" to label ").unwrap_or((&text, ""));
            let call = call.replacen("invoke ", "call ", 1);
            block
                .insts
                .extend(reader.instruction(&call).map(|i| (i, debug)));
            let mut targets = Cursor::new(targets, named);
            let target = targets
                .name('%')
                .ok()
                .and_then(|name| reader.labels.get(&name));
            let unknown = || End::Unknown("a call without a way back".to_owned());
            block.end = (target.copied().map_or_else(unknown, End::Jump), debug);
            blocks.extend(open.take());
            continue;
        }
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
    blocks.extend(open);
    if blocks.is_empty() {
        return Err(format!("the function `{name}` has no code"));
    }
    if blocks.len() != count {
        return Err(format!(
            "the blocks of the function `{name}` cannot be told apart"
        ));
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
        end: (End::Unknown("a block without an end".to_owned()), 0),
    }
}

/// Whether a line says nothing.
fn is_empty(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(';')
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

pub(super) struct Reader<'a> {
    pub(super) named: &'a Named,
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
    pub(super) fn attributes(&mut self, cursor: &mut Cursor<'_>) -> Read<Option<u64>> {
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

    pub(super) fn value(&mut self, cursor: &mut Cursor<'_>, ty: &Type) -> Read<Operand> {
        if cursor.rest.starts_with('%') {
            let name = cursor.name('%')?;
            return Ok(Operand::Reg(self.register(&name)));
        }
        Ok(Operand::Const(cursor.constant(ty)?))
    }

    pub(super) fn typed(&mut self, cursor: &mut Cursor<'_>) -> Read<(Type, Operand)> {
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
                text: operation(word),
            }),
            Err(words) => Some(Inst::Unknown {
                dst,
                text: format!("{}: {words}", operation(word)),
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
}

/// What an instruction does that is not modelled, in words.
fn operation(word: &str) -> String {
    match word {
        "fadd" | "fsub" | "fmul" | "fdiv" | "frem" | "fneg" | "fcmp" => {
            "floating-point arithmetic".to_owned()
        }
        "fptosi" | "fptoui" | "sitofp" | "uitofp" | "fpext" | "fptrunc" => {
            "a conversion of floating-point numbers".to_owned()
        }
        "extractelement" | "insertelement" | "shufflevector" => "vector operations".to_owned(),
        word => format!("an operation of the machine (`{word}`)"),
    }
}
