//! *Declarators* (pointers, arrays, functions around a name) and initialisers.

use std::rc::Rc;

use palisade_program::Span;

use super::spec::{QUALIFIERS, STORAGE_WORDS, Specifiers, TYPE_WORDS};
use super::{Meaning, Parse, Parser, constant};
use crate::c::ast::{Declaration, Designator, Initializer, Storage};
use crate::c::lexer::Kind;
use crate::c::packing::Packing;
use crate::c::types::{Signature, Type, library_type};
use crate::diagnostic::Diagnostic;
use palisade_syntax::Parser as _;

/// The type of a parameter that is declared behind the parentheses.
const UNDECLARED: &str = "of this parameter";

/// Elements at most that one initialiser is for.
const MAX_RANGE: u64 = 1 << 16;

impl Parser<'_> {
    /// A declarator around `base`: the name (none in abstract ones), the whole type,
    /// and the name's span.
    pub(super) fn declarator(&mut self, base: Type) -> Parse<(Option<String>, Type, Span)> {
        self.nested(|p| p.declarator_inner(base))
    }

    fn declarator_inner(&mut self, mut base: Type) -> Parse<(Option<String>, Type, Span)> {
        self.attributes()?;
        while self.eat("*") {
            base = Type::pointer(base);
            loop {
                if self.eat_word(&["_Atomic"]) {
                    base = Type::Atomic(Rc::new(base));
                } else if !self.eat_word(&QUALIFIERS) {
                    break;
                }
            }
            self.attributes()?;
        }
        // `(` starts a nested declarator unless it starts parameters.
        if self.is("(") && self.nested_declarator() {
            self.advance();
            let inside = self.cursor.position();
            // The suffixes behind the parentheses bind first: parse past the inner
            // declarator, build the type, then parse the inner one around it.
            self.declarator(Type::INT)?;
            self.expect(")")?;
            let outer = self.suffixes(base)?;
            let end = self.cursor.position();
            self.cursor.seek(inside);
            let result = self.declarator(outer)?;
            self.cursor.seek(end);
            return Ok(result);
        }
        let (name, span) = match self.word() {
            Some(word) if !is_asm(word) => {
                let (name, span) = self.identifier()?;
                (Some(name), span)
            }
            _ => (None, self.span()),
        };
        let ty = self.suffixes(base)?;
        Ok((name, ty, span))
    }

    fn nested_declarator(&self) -> bool {
        match &self.peek_at(1).kind {
            Kind::Punct("*" | "(" | "[") => true,
            Kind::Ident(word) if word == "__attribute__" => true,
            Kind::Ident(word) => {
                !matches!(self.lookup(word), Some(Meaning::Typedef(_)))
                    && !TYPE_WORDS.contains(&word.as_str())
                    && !QUALIFIERS.contains(&word.as_str())
                    && !STORAGE_WORDS.contains(&word.as_str())
            }
            _ => false,
        }
    }

    /// `[n]` and `(parameters)` behind a name.
    fn suffixes(&mut self, base: Type) -> Parse<Type> {
        self.nested(|p| {
            if p.eat("[") {
                p.array(base)
            } else if p.eat("(") {
                p.parameters(base)
            } else {
                p.attributes()?;
                Ok(base)
            }
        })
    }

    fn array(&mut self, base: Type) -> Parse<Type> {
        while self.eat_word(&["static"]) || self.eat_word(&QUALIFIERS) {}
        let length = if self.is("]") {
            None
        } else {
            Some(self.assignment()?)
        };
        self.expect("]")?;
        let element = self.suffixes(base)?;
        Ok(match length {
            None => Type::Array(Rc::new(element), None),
            Some(e) => {
                if let Some(n) = constant(&e).and_then(|n| u64::try_from(n).ok()) {
                    Type::Array(Rc::new(element), Some(n))
                } else {
                    self.length = Some(Box::new(e));
                    Type::VariableArray(Rc::new(element))
                }
            }
        })
    }

    fn parameters(&mut self, result: Type) -> Parse<Type> {
        let around = self.attributes.packing;
        let ty = self.parameters_inner(result);
        self.attributes.packing = around;
        ty
    }

    fn parameters_inner(&mut self, result: Type) -> Parse<Type> {
        let mut params = Vec::new();
        let mut variadic = false;
        let result = self.scoped(|p| {
            if p.is_word("void") && matches!(p.peek_at(1).kind, Kind::Punct(")")) {
                p.advance();
            }
            while !p.is(")") {
                if p.eat("...") {
                    variadic = true;
                } else if !p.starts_type() && p.word().is_some() {
                    // Their declarations follow: `f(a, b) int a; char b; { ... }`.
                    params.push((Some(p.identifier()?.0), Type::Other(UNDECLARED)));
                } else {
                    let specifiers = p.specifiers()?;
                    let (name, ty, _) = p.declarator(specifiers.ty)?;
                    p.attributes()?;
                    let ty = ty.decayed();
                    if let Some(name) = &name {
                        p.bind(name, Meaning::Variable(ty.clone()));
                    }
                    params.push((name, ty));
                }
                if !p.eat(",") {
                    break;
                }
            }
            p.expect(")")?;
            Ok(result)
        })?;
        // A function's result cannot be an array or function: nothing binds tighter.
        let signature = Signature {
            result,
            params,
            variadic,
        };
        self.attributes()?;
        Ok(Type::Function(Rc::new(signature)))
    }

    /// The declarations of the parameters of an old function definition, between its
    /// parentheses and its body; the function's type with them.
    pub(super) fn old_parameters(&mut self, ty: Type) -> Parse<Type> {
        let is_old = |s: &Signature| s.params.iter().any(|(_, ty)| is_undeclared(ty));
        let Type::Function(signature) = &ty else {
            return Ok(ty);
        };
        if !is_old(signature) {
            return Ok(ty);
        }
        let mut signature = (**signature).clone();
        while !self.is("{") {
            let specifiers = self.specifiers()?;
            loop {
                let (name, ty, span) = self.declarator(specifiers.ty.clone())?;
                self.attributes()?;
                let param = signature
                    .params
                    .iter_mut()
                    .find(|(known, _)| *known == name);
                match param {
                    Some((_, to)) if is_undeclared(to) => *to = ty.decayed(),
                    _ => return Err(Diagnostic::error(span, "this is no parameter")),
                }
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(";")?;
        }
        // What is not declared is `int`, as C had it before 1999.
        for (_, ty) in &mut signature.params {
            if is_undeclared(ty) {
                *ty = Type::INT;
            }
        }
        Ok(Type::Function(Rc::new(signature)))
    }

    /// A type without a name, as in casts.
    pub(super) fn type_name(&mut self) -> Parse<Type> {
        let around = self.attributes.packing;
        let specifiers = self.specifiers()?;
        let ty = self.declarator(specifiers.ty)?.1;
        self.attributes.packing = around;
        Ok(ty)
    }

    /// The declarators behind specifiers, up to the semicolon.
    pub(super) fn declarations(&mut self, specifiers: &Specifiers) -> Parse<Vec<Declaration>> {
        let mut all = Vec::new();
        if self.eat(";") {
            return Ok(all);
        }
        loop {
            let (name, ty, span) = self.declarator(specifiers.ty.clone())?;
            let name = name.ok_or_else(|| self.unexpected("a name"))?;
            self.attributes()?;
            all.extend(self.declared(specifiers, &name, ty, span)?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(";")?;
        Ok(all)
    }

    /// One declarator with its initialiser; typedefs are bound and gone.
    pub(super) fn declared(
        &mut self,
        specifiers: &Specifiers,
        name: &str,
        ty: Type,
        span: Span,
    ) -> Parse<Option<Declaration>> {
        let mut ty = self.with_mode(ty);
        if specifiers.storage == Storage::Typedef {
            let ty = library_type(name, self.model).unwrap_or(ty);
            let of_type = specifiers.packing.within(&specifiers.ty, &ty);
            let packing = std::mem::take(&mut self.attributes.packing).and(of_type);
            let packing = packing.of_typedef();
            if packing == Packing::default() {
                self.misaligned.remove(name);
            } else {
                self.misaligned.insert(name.to_owned(), packing);
            }
            self.bind(name, Meaning::Typedef(ty));
            return Ok(None);
        }
        self.attributes.packing = Packing::default();
        if specifiers.storage == Storage::Extern || matches!(ty.plain(), Type::Function(_)) {
            self.check_inner(name, span)?;
        }
        self.bind(name, Meaning::Variable(ty.clone()));
        let is_own = self.cursor.last().own;
        let full = self.linked(name, specifiers.storage, is_own);
        self.bind(&full, Meaning::Variable(ty.clone()));
        let length = self.length.take();
        let length = length.filter(|_| matches!(ty, Type::VariableArray(_)));
        let init = if self.eat("=") {
            Some(self.initializer()?)
        } else {
            None
        };
        if specifiers.auto_type
            && let Some(Initializer::Value(e)) = &init
        {
            ty = self.type_of(e).map(|t| t.decayed()).ok_or_else(|| {
                Diagnostic::error(
                    e.span,
                    "unsupported: the type of this expression is not known",
                )
            })?;
        }
        if let Some(init) = &init {
            ty = completed(ty, init);
        }
        if specifiers.storage != Storage::Static {
            self.check_type(&full, &ty, span)?;
        }
        self.bind(name, Meaning::Variable(ty.clone()));
        self.bind(&full, Meaning::Variable(ty.clone()));
        let declaration = Declaration {
            name: full,
            ty,
            length,
            storage: specifiers.storage,
            is_own,
            thread_local: specifiers.thread_local,
            init,
            span,
        };
        Ok(Some(declaration))
    }

    pub(super) fn initializer(&mut self) -> Parse<Initializer> {
        if !self.is("{") {
            return Ok(Initializer::Value(self.assignment()?));
        }
        self.nested(|p| {
            let start = p.advance().span;
            let mut list = Vec::new();
            while !p.is("}") {
                let (designators, range) = p.designators()?;
                let init = p.initializer()?;
                p.repeat(&mut list, designators, range, init)?;
                if !p.eat(",") {
                    break;
                }
            }
            p.expect("}")?;
            Ok(Initializer::List(list, p.from(start)))
        })
    }

    /// Adds an initialiser, once for each index of a range.
    fn repeat(
        &self,
        list: &mut Vec<(Vec<Designator>, Initializer)>,
        mut designators: Vec<Designator>,
        range: Option<u64>,
        init: Initializer,
    ) -> Parse<()> {
        if let (Some(last), Some(Designator::Index(first))) = (range, designators.last()) {
            let first = *first;
            if first > last || last - first > MAX_RANGE {
                return Err(Diagnostic::error(
                    self.span(),
                    "unsupported: this range of indices",
                ));
            }
            designators.pop();
            for k in first..last {
                let mut each = designators.clone();
                each.push(Designator::Index(k));
                list.push((each, init.clone()));
            }
            designators.push(Designator::Index(last));
        }
        list.push((designators, init));
        Ok(())
    }

    /// `.name[3]...=`, and the end of GNU C's `[1 ... 3]`.
    fn designators(&mut self) -> Parse<(Vec<Designator>, Option<u64>)> {
        let (mut all, mut range) = (Vec::new(), None);
        // The old GNU form `name: value`.
        if self.word().is_some() && matches!(self.peek_at(1).kind, Kind::Punct(":")) {
            let (name, _) = self.identifier()?;
            self.advance();
            return Ok((vec![Designator::Field(name)], None));
        }
        loop {
            if self.eat(".") {
                all.push(Designator::Field(self.identifier()?.0));
            } else if self.eat("[") {
                let e = self.conditional()?;
                all.push(Designator::Index(positive(&e)?));
                if range.is_some() {
                    return Err(self.unexpected("one range only"));
                }
                if self.eat("...") {
                    let e = self.conditional()?;
                    range = Some(positive(&e)?);
                }
                self.expect("]")?;
            } else {
                break;
            }
        }
        if !all.is_empty() {
            self.expect("=")?;
        }
        Ok((all, range))
    }

    /// `_Static_assert(e, "text");`: gcc's business, but it must be true.
    pub(super) fn static_assert(&mut self) -> Parse<()> {
        self.advance();
        self.expect("(")?;
        let e = self.conditional()?;
        if constant(&e) == Some(0) {
            return Err(Diagnostic::error(e.span, "static assertion failed"));
        }
        while !self.is(")") && !self.at_end() {
            self.advance();
        }
        self.expect(")")?;
        self.expect(";")?;
        Ok(())
    }
}

fn is_undeclared(ty: &Type) -> bool {
    matches!(ty, Type::Other(what) if *what == UNDECLARED)
}

pub(super) fn is_asm(word: &str) -> bool {
    matches!(word, "asm" | "__asm" | "__asm__")
}

pub(super) fn positive(e: &crate::c::ast::Expr) -> Parse<u64> {
    constant(e)
        .and_then(|v| u64::try_from(v).ok())
        .ok_or_else(|| not_constant(e.span))
}

pub(super) fn not_constant(span: Span) -> Diagnostic {
    Diagnostic::error(span, "expected a constant")
        .help("a number, an enumeration constant or sizeof")
}

/// An array without length gets that of its initialiser.
pub(super) fn completed(ty: Type, init: &Initializer) -> Type {
    match ty {
        Type::Array(of, None) => Type::Array(of, Some(length_of(init))),
        other => other,
    }
}

/// How many elements an initialiser gives.
fn length_of(init: &Initializer) -> u64 {
    match init {
        Initializer::Value(e) => match &e.kind {
            crate::c::ast::ExprKind::Str(s) => s.chars().count() as u64 + 1,
            _ => 1,
        },
        Initializer::List(list, _) => {
            let (mut next, mut most) = (0_u64, 0);
            for (designators, _) in list {
                if let Some(Designator::Index(i)) = designators.first() {
                    next = *i;
                }
                next = next.saturating_add(1);
                most = most.max(next);
            }
            most
        }
    }
}
