//! *Specifiers*: what type a declaration is about and how it is stored; structs,
//! unions and enums; attributes, which are skipped.

use std::rc::Rc;

use palisade_program::Span;

use super::decl::{is_asm, not_constant, positive};
use super::{Meaning, Parse, Parser, Tag, constant};
use crate::c::ast::Storage;
use crate::c::lexer::Kind;
use crate::c::packing::{Packing, lay_out};
use crate::c::types::{Field, StructDef, Type};
use crate::diagnostic::Diagnostic;
use palisade_syntax::Parser as _;

/// The specifiers of a declaration.
pub(super) struct Specifiers {
    pub(super) ty: Type,
    pub(super) storage: Storage,
    pub(super) thread_local: bool,
    /// `__auto_type`: the type is the initialiser's.
    pub(super) auto_type: bool,
    /// What attributes and the typedef say of where it stands.
    pub(super) packing: Packing,
}

/// How often each type word stood there.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // one for each word
struct Words {
    void: bool,
    boolean: bool,
    char: bool,
    short: bool,
    int: bool,
    long: u8,
    signed: bool,
    unsigned: bool,
    other: Option<&'static str>,
    named: Option<Type>,
    atomic: bool,
    auto_type: bool,
}

pub(super) const QUALIFIERS: [&str; 19] = [
    "const",
    "__const",
    "__const__",
    "volatile",
    "__volatile",
    "__volatile__",
    "restrict",
    "__restrict",
    "__restrict__",
    "inline",
    "__inline",
    "__inline__",
    "_Noreturn",
    "__noreturn__",
    "__extension__",
    "register",
    "auto",
    "_Nonnull",
    "_Nullable",
];

pub(super) const TYPE_WORDS: [&str; 38] = [
    "void",
    "_Bool",
    "bool",
    "char",
    "short",
    "int",
    "long",
    "signed",
    "__signed",
    "__signed__",
    "unsigned",
    "float",
    "double",
    "_Complex",
    "__int128",
    "__int128_t",
    "__uint128_t",
    "struct",
    "union",
    "enum",
    "typeof",
    "__typeof",
    "__typeof__",
    "__auto_type",
    "_Atomic",
    "_Float128",
    "_Float64",
    "_Float32",
    "_Float32x",
    "_Float64x",
    "__float128",
    "__builtin_va_list",
    "_Float16",
    "__bf16",
    "__float80",
    "_Decimal32",
    "_Decimal64",
    "_Decimal128",
];

pub(super) const STORAGE_WORDS: [&str; 10] = [
    "typedef",
    "extern",
    "static",
    "_Thread_local",
    "__thread",
    "thread_local",
    "__CPROVER_thread_local",
    "__attribute__",
    "__attribute",
    "_Alignas",
];

impl Parser<'_> {
    /// Whether a declaration (or a type name) starts here.
    pub(super) fn starts_type(&self) -> bool {
        let Some(word) = self.word() else {
            return false;
        };
        match self.lookup(word) {
            Some(Meaning::Typedef(_)) => return true,
            Some(Meaning::Enumerator(_) | Meaning::Variable(_)) => return false,
            None => {}
        }
        QUALIFIERS.contains(&word) || TYPE_WORDS.contains(&word) || STORAGE_WORDS.contains(&word)
    }

    /// `__attribute__((...))`, `__asm__("name")` behind declarators.
    pub(super) fn attributes(&mut self) -> Parse<()> {
        loop {
            if self.eat_word(&["__attribute__", "__attribute", "__declspec"]) {
                self.attribute_list()?;
            } else if self.eat_word(&["_Alignas"]) {
                let start = self.cursor.position();
                self.parenthesised()?;
                self.aligned(start);
            } else if self.word().is_some_and(is_asm) {
                self.advance();
                self.parenthesised()?;
            } else if !self.eat_word(&["__extension__"]) {
                return Ok(());
            }
        }
    }

    /// The words of an attribute. Nearly all are about warnings and optimisation; those
    /// that change what the program does are refused, those that change a type noted.
    fn attribute_list(&mut self) -> Parse<()> {
        let start = self.cursor.position();
        self.parenthesised()?;
        for k in start..self.cursor.position() {
            let Kind::Ident(word) = &self.cursor.tokens()[k].kind else {
                continue;
            };
            match word.trim_matches('_') {
                "packed" => self.attributes.packing.is_packed = true,
                "aligned" => self.aligned(k + 1),
                "ms_struct" | "gcc_struct" => self.attributes.packing.is_odd = true,
                "mode" => self.attributes.mode = Some(self.mode_at(k + 2)),
                name @ ("cleanup"
                | "constructor"
                | "destructor"
                | "vector_size"
                | "scalar_storage_order"
                | "ifunc") => {
                    let what = format!("unsupported: the attribute `{name}`");
                    return Err(Diagnostic::error(self.cursor.tokens()[k].span, what)
                        .help("write out what it does"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The alignment in parentheses at a position, or the greatest if there are none.
    fn aligned(&mut self, at: usize) {
        const GREATEST: u64 = 16;
        let tokens = self.cursor.tokens();
        let is = |k: usize, text| matches!(tokens.get(k).map(|t| &t.kind), Some(Kind::Punct(p)) if *p == text);
        let opened = (at..tokens.len()).take_while(|k| is(*k, "(")).count();
        let number = match tokens.get(at + opened).map(|t| &t.kind) {
            _ if opened == 0 => Some(GREATEST),
            Some(Kind::Int { value, .. }) if is(at + opened + 1, ")") => {
                u64::try_from(*value).ok().filter(|n| n.is_power_of_two())
            }
            _ => self.alignment_at(at + 1),
        };
        let packing = &mut self.attributes.packing;
        match number {
            Some(number) => packing.align(number),
            None => packing.is_odd = true,
        }
    }

    /// The alignment that stands at a position: a constant expression, or a type whose alignment it is.
    fn alignment_at(&mut self, at: usize) -> Option<u64> {
        let (before, around) = (self.cursor.position(), std::mem::take(&mut self.attributes));
        self.cursor.seek(at);
        let number = if self.starts_type() {
            let ty = self.type_name().ok();
            let extent = ty.and_then(|ty| ty.extent(&self.file.structs, self.model, None));
            extent.map(|(_, align)| align)
        } else {
            let e = self.conditional().ok();
            let value = e.as_ref().and_then(super::typing::constant);
            value.and_then(|value| u64::try_from(value).ok())
        };
        let is_all = self.is(")");
        self.cursor.seek(before);
        self.attributes = around;
        number.filter(|n| is_all && n.is_power_of_two())
    }

    /// The width that a word of `mode(...)` stands for; 0 for one that is not known.
    fn mode_at(&self, at: usize) -> u8 {
        let word = match self.cursor.tokens().get(at).map(|t| &t.kind) {
            Some(Kind::Ident(word)) => word.trim_matches('_'),
            _ => "",
        };
        match word {
            "QI" | "byte" => 8,
            "HI" => 16,
            "SI" => 32,
            "DI" => 64,
            "word" | "pointer" | "unwind_word" => self.model.word(),
            _ => 0,
        }
    }

    /// The type with the width that an attribute gives it.
    pub(super) fn with_mode(&mut self, ty: Type) -> Type {
        match (self.attributes.mode.take(), ty.plain()) {
            (None, _) => ty,
            (Some(bits), Type::Int { signed, .. }) if bits > 0 => Type::Int {
                bits,
                signed: *signed,
            },
            (Some(_), _) => Type::Other("with this mode attribute"),
        }
    }

    /// Skips a balanced pair of parentheses.
    fn parenthesised(&mut self) -> Parse<()> {
        self.expect("(")?;
        let mut depth = 1;
        while depth > 0 {
            if self.at_end() {
                return Err(self.unexpected("`)`"));
            }
            depth += i32::from(self.is("(")) - i32::from(self.is(")"));
            self.advance();
        }
        Ok(())
    }

    pub(super) fn specifiers(&mut self) -> Parse<Specifiers> {
        let around = std::mem::take(&mut self.attributes.packing);
        let specifiers = self.specifiers_inner();
        self.attributes.packing = around;
        specifiers
    }

    fn specifiers_inner(&mut self) -> Parse<Specifiers> {
        let start = self.span();
        self.attributes.mode = None;
        let mut words = Words::default();
        let mut storage = Storage::default();
        let mut thread_local = false;
        let mut any = false;
        while let Some(word) = self.word() {
            let word = word.to_owned();
            if self.type_word(&word, &mut words)? {
                any = true;
                continue;
            }
            match word.as_str() {
                "typedef" => storage = Storage::Typedef,
                "extern" => storage = Storage::Extern,
                "static" => storage = Storage::Static,
                "_Thread_local" | "__thread" | "thread_local" | "__CPROVER_thread_local" => {
                    thread_local = true;
                }
                "__attribute__" | "__attribute" | "_Alignas" => {
                    self.attributes()?;
                    continue;
                }
                w if QUALIFIERS.contains(&w) => {}
                _ => break,
            }
            any = true;
            self.advance();
        }
        if !any {
            return Err(self.unexpected("a declaration"));
        }
        let auto_type = words.auto_type;
        let ty = self.type_of_words(&words, self.from(start))?;
        Ok(Specifiers {
            ty,
            storage,
            thread_local,
            auto_type,
            packing: std::mem::take(&mut self.attributes.packing),
        })
    }

    /// Takes one word of a type; tells whether it was one.
    fn type_word(&mut self, word: &str, words: &mut Words) -> Parse<bool> {
        match word {
            "void" => words.void = true,
            "_Bool" => words.boolean = true,
            "bool" if self.lookup("bool").is_none() => words.boolean = true,
            "char" => words.char = true,
            "short" => words.short = true,
            "int" => words.int = true,
            "long" => words.long += 1,
            "signed" | "__signed" | "__signed__" => words.signed = true,
            "unsigned" => words.unsigned = true,
            // Complex numbers stay what they are.
            "float" | "_Float32" => words.other = words.other.or(Some("float")),
            "double" | "_Float64" | "_Float32x" => words.other = words.other.or(Some("double")),
            "_Complex" | "_Float128" | "_Float64x" | "__float128" | "__float80" | "_Float16"
            | "__bf16" | "_Decimal32" | "_Decimal64" | "_Decimal128" => {
                words.other = Some("floating point");
            }
            "__int128" | "__int128_t" | "__uint128_t" => words.other = Some("__int128"),
            // It is only handed on; what it holds is never read.
            "__builtin_va_list" => words.named = Some(Type::INT),
            "__auto_type" => words.auto_type = true,
            "struct" | "union" => {
                words.named = Some(self.structure()?);
                return Ok(true);
            }
            "enum" => {
                words.named = Some(self.enumeration()?);
                return Ok(true);
            }
            "typeof" | "__typeof" | "__typeof__" => {
                self.advance();
                words.named = Some(self.type_operand()?);
                return Ok(true);
            }
            "_Atomic" => {
                self.advance();
                words.atomic = true;
                if self.is("(") {
                    self.advance();
                    words.named = Some(self.type_name()?);
                    self.expect(")")?;
                }
                return Ok(true);
            }
            _ => return Ok(self.typedef_word(word, words)),
        }
        self.advance();
        Ok(true)
    }

    fn typedef_word(&mut self, word: &str, words: &mut Words) -> bool {
        let taken = words.named.is_some() || words.has_arithmetic();
        match self.lookup(word) {
            Some(Meaning::Typedef(ty)) if !taken => {
                words.named = Some(ty.clone());
                // A struct with such a member lies otherwise in memory.
                if let Some(packing) = self.misaligned.get(word) {
                    self.attributes.packing = self.attributes.packing.and(*packing);
                }
                self.advance();
                true
            }
            _ => false,
        }
    }

    /// `(type)` or `(expression)` of `typeof`.
    fn type_operand(&mut self) -> Parse<Type> {
        self.expect("(")?;
        let ty = if self.starts_type() {
            self.type_name()?
        } else {
            let e = self.expression()?;
            self.type_of(&e).ok_or_else(|| {
                Diagnostic::error(
                    e.span,
                    "unsupported: the type of this expression is not known",
                )
            })?
        };
        self.expect(")")?;
        Ok(ty)
    }

    fn type_of_words(&self, words: &Words, span: Span) -> Parse<Type> {
        let signed = !words.unsigned;
        let ty = if let Some(ty) = words.named.clone() {
            ty
        } else if let Some(other) = words.other {
            let is_long = other == "double" && words.long > 0;
            Type::Other(if is_long { "long double" } else { other })
        } else if words.void {
            Type::Void
        } else if words.boolean {
            Type::Bool
        } else if words.char {
            Type::Int { bits: 8, signed }
        } else if words.short {
            Type::Int { bits: 16, signed }
        } else if words.long > 0 {
            let bits = if words.long > 1 {
                64
            } else {
                self.model.word()
            };
            Type::Int { bits, signed }
        } else if words.has_arithmetic() || words.auto_type || words.atomic {
            Type::Int { bits: 32, signed }
        } else if self.peek().own {
            return Err(
                Diagnostic::error(span, "expected a type").help("C11 has no implicit `int`")
            );
        } else {
            Type::INT
        };
        Ok(if words.atomic {
            Type::Atomic(Rc::new(ty))
        } else {
            ty
        })
    }

    fn structure(&mut self) -> Parse<Type> {
        let around = std::mem::take(&mut self.attributes);
        let ty = self.structure_inner();
        self.attributes = around;
        ty
    }

    fn structure_inner(&mut self) -> Parse<Type> {
        let is_union = self.advance().kind == Kind::Ident("union".to_owned());
        self.attributes()?;
        let tag = match self.word() {
            Some(_) => Some(self.identifier()?.0),
            None => None,
        };
        self.attributes()?;
        let defines = self.is("{");
        let known = tag.as_ref().and_then(|tag| {
            let find = |s: &super::Scope| s.tags.get(tag).cloned();
            if defines {
                self.scopes.last().and_then(find)
            } else {
                self.scopes.iter().rev().find_map(find)
            }
        });
        let earlier = tag.as_ref().and_then(|tag| self.earlier(tag, is_union));
        let id = if let Some(Tag::Struct(id)) = known {
            id
        } else if let (Some(id), Some(tag)) = (earlier, &tag) {
            if let Some(scope) = self.scopes.last_mut() {
                scope.tags.insert(tag.clone(), Tag::Struct(id));
            }
            id
        } else {
            self.file.structs.push(StructDef {
                tag: tag.clone().unwrap_or_default(),
                is_union,
                fields: None,
                is_packed: false,
                shape: None,
            });
            let id = self.file.structs.len() - 1;
            if let (Some(tag), Some(scope)) = (tag, self.scopes.last_mut()) {
                scope.tags.insert(tag, Tag::Struct(id));
            }
            id
        };
        if self.is("{") {
            let place = self.advance().span;
            let before = std::mem::take(&mut self.attributes.packing);
            let (fields, members) = self.nested(Self::fields)?;
            self.set_fields(id, fields, place)?;
            self.attributes.packing = before;
            self.attributes()?;
            let own = self.attributes.packing;
            lay_out(id, &members, own, &mut self.file.structs, self.model);
            return Ok(Type::Struct(self.defined(id, place)));
        }
        Ok(Type::Struct(id))
    }

    fn fields(&mut self) -> Parse<(Vec<Field>, Vec<Packing>)> {
        let mut fields = Vec::new();
        let mut packings = Vec::new();
        while !self.eat("}") {
            if self.eat(";") {
                continue;
            }
            if self.is_word("_Static_assert") {
                self.static_assert()?;
                continue;
            }
            let specifiers = self.specifiers()?;
            if self.eat(";") {
                // Anonymous members count as their owner's.
                if matches!(specifiers.ty, Type::Struct(_)) {
                    fields.push(Field {
                        name: None,
                        ty: specifiers.ty,
                        width: None,
                    });
                    packings.push(specifiers.packing);
                }
                continue;
            }
            loop {
                self.attributes.packing = Packing::default();
                let (name, ty) = if self.is(":") {
                    (None, specifiers.ty.clone())
                } else {
                    let (name, ty, _) = self.declarator(specifiers.ty.clone())?;
                    (name, ty)
                };
                let width = if self.eat(":") {
                    let e = self.conditional()?;
                    Some(positive(&e)?)
                } else {
                    None
                };
                self.attributes()?;
                let ty = self.with_mode(ty);
                if name.is_some() || width.is_some() {
                    let of_type = specifiers.packing.within(&specifiers.ty, &ty);
                    packings.push(of_type.and(self.attributes.packing));
                    fields.push(Field { name, ty, width });
                }
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(";")?;
        }
        Ok((fields, packings))
    }

    fn enumeration(&mut self) -> Parse<Type> {
        let around = std::mem::take(&mut self.attributes);
        let ty = self.enumeration_inner();
        self.attributes = around;
        ty
    }

    fn enumeration_inner(&mut self) -> Parse<Type> {
        self.advance();
        self.attributes()?;
        let tag = match self.word() {
            Some(_) => Some(self.identifier()?.0),
            None => None,
        };
        if !self.eat("{") {
            let tag = tag.unwrap_or_default();
            let known = self.scopes.iter().rev().find_map(|s| s.tags.get(&tag));
            return Ok(match known {
                Some(Tag::Enum(ty)) => ty.clone(),
                _ => Type::UINT,
            });
        }
        let (mut next, mut low, mut high) = (0_i128, 0_i128, 0_i128);
        while !self.eat("}") {
            let (name, _) = self.identifier()?;
            self.attributes()?;
            if self.eat("=") {
                let e = self.conditional()?;
                next = constant(&e).ok_or_else(|| not_constant(e.span))?;
            }
            self.bind(&name, Meaning::Enumerator(next));
            (low, high) = (low.min(next), high.max(next));
            next += 1;
            if !self.eat(",") && !self.is("}") {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        self.attributes()?;
        // As gcc does: unsigned unless some constant is negative; packed, the least type
        // that has all constants.
        let packing = self.attributes.packing;
        let least = if packing.is_packed { 8 } else { 32 };
        let fits = |bits: &u8| {
            let ty = Type::Int {
                bits: *bits,
                signed: low < 0,
            };
            ty.range().0 <= low && high <= ty.range().1
        };
        let bits = [8, 16, 32].into_iter().filter(|b| *b >= least).find(fits);
        let ty = Type::Int {
            bits: bits.unwrap_or(64),
            signed: low < 0,
        };
        if packing.align > 0 || packing.is_odd {
            let error = Diagnostic::error(self.span(), "unsupported: an aligned enum");
            return Err(error.help("leave out the attribute"));
        }
        if let (Some(tag), Some(scope)) = (tag, self.scopes.last_mut()) {
            scope.tags.insert(tag, Tag::Enum(ty.clone()));
        }
        Ok(ty)
    }
}

impl Words {
    const fn has_arithmetic(&self) -> bool {
        self.void
            || self.boolean
            || self.char
            || self.short
            || self.int
            || self.long > 0
            || self.signed
            || self.unsigned
            || self.other.is_some()
    }
}
