//! A *cursor* over one line of LLVM's text: words, names, types and constants.

use std::collections::BTreeMap;

use super::ir::{Const, Type};

/// Named types of the module.
pub(super) type Named = BTreeMap<String, Type>;

/// What cannot be read, in a few words.
pub(super) type Read<T> = Result<T, String>;

/// What [`Type::Other`] says of `float` and its kin.
pub(super) const FLOATING: &str = "a floating-point number";

#[derive(Clone)]
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a str,
    pub(super) named: &'a Named,
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$' | b'-')
}

impl<'a> Cursor<'a> {
    pub(super) fn new(rest: &'a str, named: &'a Named) -> Self {
        let mut cursor = Self { rest, named };
        cursor.space();
        cursor
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Skips this text if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                self.space();
                true
            }
            None => false,
        }
    }

    pub(super) fn expect(&mut self, text: &str) -> Read<()> {
        if self.eat(text) {
            return Ok(());
        }
        let near: String = self.rest.chars().take(30).collect();
        Err(format!("`{text}` expected before `{near}`"))
    }

    /// The next word without taking it.
    pub(super) fn peek(&self) -> &'a str {
        let end = self.rest.bytes().position(|b| !is_word(b));
        &self.rest[..end.unwrap_or(self.rest.len())]
    }

    pub(super) fn word(&mut self) -> &'a str {
        let word = self.peek();
        self.rest = &self.rest[word.len()..];
        self.space();
        word
    }

    /// Skips this word if it comes next.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek() == word;
        if found {
            self.word();
        }
        found
    }

    /// A name behind its sigil.
    pub(super) fn name(&mut self, sigil: char) -> Read<String> {
        let Some(rest) = self.rest.strip_prefix(sigil) else {
            let near: String = self.rest.chars().take(30).collect();
            return Err(format!("a name expected before `{near}`"));
        };
        self.rest = rest;
        if let Some(rest) = rest.strip_prefix('"') {
            let end = rest.find('"').ok_or("an open quotation mark")?;
            self.rest = &rest[end + 1..];
            self.space();
            return Ok(rest[..end].to_owned());
        }
        Ok(self.word().to_owned())
    }

    /// What stands in parentheses that start here.
    pub(super) fn parenthesised(&mut self) -> Read<&'a str> {
        if !self.rest.starts_with('(') {
            return Err("a parenthesis expected".to_owned());
        }
        let mut depth = 0;
        let mut quoted = false;
        for (i, b) in self.rest.bytes().enumerate() {
            match b {
                b'"' => quoted = !quoted,
                b'(' if !quoted => depth += 1,
                b')' if !quoted => {
                    depth -= 1;
                    if depth == 0 {
                        let inner = &self.rest[1..i];
                        self.rest = &self.rest[i + 1..];
                        self.space();
                        return Ok(inner);
                    }
                }
                _ => {}
            }
        }
        Err("an open parenthesis".to_owned())
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Read<T> {
        let word = self.word();
        word.parse()
            .map_err(|_| format!("a number expected, not `{word}`"))
    }

    pub(super) fn ty(&mut self) -> Read<Type> {
        let ty = self.plain_type()?;
        // A function type: the signature of a call through it.
        if self.rest.starts_with('(') && ty != Type::Pointer {
            self.parenthesised()?;
        }
        Ok(ty)
    }

    fn plain_type(&mut self) -> Read<Type> {
        if self.rest.starts_with('%') {
            let name = self.name('%')?;
            let found = self.named.get(&name).cloned();
            return found.ok_or_else(|| format!("unknown type `{name}`"));
        }
        if self.eat("[") {
            let count = self.number()?;
            self.expect("x")?;
            let of = self.ty()?;
            self.expect("]")?;
            return Ok(Type::Array(count, Box::new(of)));
        }
        if self.eat("<{") {
            let fields = self.fields("}>")?;
            return Ok(Type::Struct(fields, true));
        }
        if self.eat("{") {
            let fields = self.fields("}")?;
            return Ok(Type::Struct(fields, false));
        }
        if self.eat("<") {
            let count: u64 = self.number()?;
            self.expect("x")?;
            let of = self.ty()?;
            self.expect(">")?;
            return Ok(Type::Other("a vector".to_owned(), of.size() * count));
        }
        let word = self.word();
        let other = |size| Ok(Type::Other(FLOATING.to_owned(), size));
        match word {
            "void" => Ok(Type::Void),
            "ptr" => {
                if self.eat_word("addrspace") {
                    self.parenthesised()?;
                }
                Ok(Type::Pointer)
            }
            "half" | "bfloat" => other(2),
            "float" => other(4),
            "double" => other(8),
            "x86_fp80" | "fp128" => other(16),
            "metadata" | "token" | "label" => Ok(Type::Other(word.to_owned(), 0)),
            _ => match word.strip_prefix('i').map(str::parse) {
                Some(Ok(bits)) => Ok(Type::Int(bits)),
                Some(Err(_)) | None => Err(format!("unknown type `{word}`")),
            },
        }
    }

    fn fields(&mut self, end: &str) -> Read<Vec<Type>> {
        let mut fields = Vec::new();
        if self.eat(end) {
            return Ok(fields);
        }
        loop {
            fields.push(self.ty()?);
            if self.eat(end) {
                return Ok(fields);
            }
            self.expect(",")?;
        }
    }

    /// Whether a constant comes next, not an attribute.
    pub(super) fn at_constant(&self) -> bool {
        let first = self.rest.bytes().next();
        match first {
            Some(b'@' | b'{' | b'[' | b'<' | b'-' | b'0'..=b'9') => true,
            _ => matches!(
                self.peek(),
                "true"
                    | "false"
                    | "null"
                    | "undef"
                    | "poison"
                    | "zeroinitializer"
                    | "c"
                    | "getelementptr"
                    | "inttoptr"
                    | "ptrtoint"
                    | "bitcast"
                    | "asm"
                    | "sub"
                    | "add"
                    | "trunc"
                    | "splat"
            ),
        }
    }

    /// A constant of this type.
    pub(super) fn constant(&mut self, ty: &Type) -> Read<Const> {
        if self.rest.starts_with('@') {
            return Ok(Const::Symbol(self.name('@')?));
        }
        if self.rest.starts_with("c\"") {
            return self.bytes();
        }
        for (open, close) in [("<{", "}>"), ("{", "}"), ("[", "]"), ("<", ">")] {
            if self.eat(open) {
                return self.parts(close);
            }
        }
        let word = self.word();
        match word {
            "true" => Ok(Const::Int(1)),
            "false" => Ok(Const::Int(0)),
            "null" | "zeroinitializer" => Ok(Const::Zero),
            "undef" | "poison" => Ok(Const::Undef),
            "getelementptr" => self.moved(),
            "sub" | "add" => self.sum(word == "sub"),
            "inttoptr" | "ptrtoint" | "bitcast" => {
                let inner = self.parenthesised()?;
                let mut inner = Cursor::new(inner, self.named);
                let from = inner.ty()?;
                inner.constant(&from)
            }
            _ => {
                let bits = ty.bits().unwrap_or(0);
                if let Type::Other(_, size) = ty {
                    let sign = if word.ends_with('e') && self.eat("+") {
                        self.word()
                    } else {
                        ""
                    };
                    let text = format!("{word}{sign}");
                    let bits = float_bits(&text, *size);
                    return Ok(bits.map_or(Const::Unknown(text), Const::Int));
                }
                match word.parse::<i128>() {
                    Ok(value) if (1..=128).contains(&bits) => {
                        let mask = u128::MAX >> (128 - bits);
                        Ok(Const::Int(value as u128 & mask))
                    }
                    Ok(_) | Err(_) => Ok(Const::Unknown(word.to_owned())),
                }
            }
        }
    }

    /// `sub nuw (i64 ptrtoint (ptr @x to i64), i64 1)`: a number, or an address and a number.
    fn sum(&mut self, is_difference: bool) -> Read<Const> {
        while !self.rest.starts_with('(') && !self.rest.is_empty() {
            self.word();
        }
        let inner = self.parenthesised()?;
        let mut inner = Cursor::new(inner, self.named);
        let ty = inner.ty()?;
        let left = inner.constant(&ty)?;
        inner.expect(",")?;
        let ty = inner.ty()?;
        let right = inner.constant(&ty)?;
        let unknown = || Const::Unknown("a sum of addresses".to_owned());
        let ((base, a), (other, b)) = (split(&left), split(&right));
        let sum = if is_difference { a - b } else { a + b };
        Ok(match (base, other) {
            (None, None) => Const::Int(i128::from(sum) as u128 & u128::from(u64::MAX)),
            (Some(base), None) => Const::Moved(Box::new(base.clone()), sum),
            (None, Some(other)) if !is_difference => Const::Moved(Box::new(other.clone()), sum),
            (Some(base), Some(other)) if is_difference && base == other => {
                Const::Int(i128::from(sum) as u128 & u128::from(u64::MAX))
            }
            (_, Some(_)) => unknown(),
        })
    }

    /// `getelementptr inbounds (i8, ptr @x, i64 8)`
    fn moved(&mut self) -> Read<Const> {
        while !self.rest.starts_with('(') && !self.rest.is_empty() {
            self.word();
        }
        let inner = self.parenthesised()?;
        let mut inner = Cursor::new(inner, self.named);
        let unit = inner.ty()?;
        inner.expect(",")?;
        let base_ty = inner.ty()?;
        let base = inner.constant(&base_ty)?;
        let (mut offset, mut at, mut first) = (0_i64, unit, true);
        while inner.eat(",") {
            inner.eat_word("inrange");
            let index_ty = inner.ty()?;
            let index = match inner.constant(&index_ty)? {
                Const::Int(index) => index as i64,
                Const::Zero => 0,
                _ => return Err("an index that is no number".to_owned()),
            };
            if first {
                offset += index * at.size() as i64;
                first = false;
            } else {
                let part = at.part(index as u64).map(|(by, ty)| (by, ty.clone()));
                let (by, ty) = part.ok_or("an index without a part")?;
                offset += by as i64;
                at = ty;
            }
        }
        Ok(Const::Moved(Box::new(base), offset))
    }

    fn parts(&mut self, close: &str) -> Read<Const> {
        let mut parts = Vec::new();
        if self.eat(close) {
            return Ok(Const::Parts(parts));
        }
        loop {
            let ty = self.ty()?;
            let part = self.constant(&ty)?;
            parts.push((ty, part));
            if self.eat(close) {
                return Ok(Const::Parts(parts));
            }
            self.expect(",")?;
        }
    }

    fn bytes(&mut self) -> Read<Const> {
        let text = self.rest.as_bytes();
        let (mut bytes, mut i) = (Vec::new(), 2);
        loop {
            match text.get(i) {
                None => return Err("an open quotation mark".to_owned()),
                Some(b'"') => break,
                Some(b'\\') if text.get(i + 1) == Some(&b'\\') => {
                    bytes.push(b'\\');
                    i += 2;
                }
                Some(b'\\') => {
                    let digits = self.rest.get(i + 1..i + 3).unwrap_or("");
                    let byte = u8::from_str_radix(digits, 16);
                    bytes.push(byte.map_err(|_| "a bad escape".to_owned())?);
                    i += 3;
                }
                Some(b) => {
                    bytes.push(*b);
                    i += 1;
                }
            }
        }
        self.rest = &self.rest[i + 1..];
        self.space();
        Ok(Const::Bytes(bytes))
    }
}

/// A constant as an address and a number.
fn split(constant: &Const) -> (Option<&Const>, i64) {
    match constant {
        Const::Moved(base, by) => {
            let (inner, more) = split(base);
            (inner, by + more)
        }
        Const::Int(value) => (None, *value as i64),
        Const::Zero => (None, 0),
        Const::Undef | Const::Symbol(_) | Const::Parts(_) | Const::Bytes(_) | Const::Unknown(_) => {
            (Some(constant), 0)
        }
    }
}

/// The bits of a floating-point number of so many bytes.
fn float_bits(text: &str, size: u64) -> Option<u128> {
    let number = match text.strip_prefix("0x") {
        Some(hex) => f64::from_bits(u64::from_str_radix(hex, 16).ok()?),
        None => text.parse().ok()?,
    };
    match size {
        8 => Some(u128::from(number.to_bits())),
        4 => Some(u128::from((number as f32).to_bits())),
        _ => None,
    }
}
