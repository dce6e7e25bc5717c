//! *Linking*: several files as one program. They are parsed one after another into one tree;
//! each has scopes of its own. Names with internal linkage (`static`) get the file's name
//! behind them, `count@b` for `static int count` of `b.c`, so that they are kept apart. A
//! struct that several files define alike is one. What has external linkage must have one
//! type in all files.

use std::collections::{HashMap, HashSet};

use palisade_program::Span;
use palisade_syntax::Cursor;

use super::{Parse, Parser, Scope, Tag};
use crate::c::ast::{Declaration, Function, Item, Storage};
use crate::c::lexer::Token;
use crate::c::types::{StructId, Type};
use crate::diagnostic::Diagnostic;

/// What is known of the files before, and of the one at hand.
#[derive(Default)]
pub(super) struct Linker {
    /// Whether there are several files.
    pub(super) several: bool,
    /// The file at hand: its number, and a short name that no other has.
    unit: usize,
    name: String,
    /// The short names so far.
    files: HashSet<String>,
    /// Its names with internal linkage, and what they are called in the program.
    renamed: HashMap<String, String>,
    /// Structs of the files before by their tags,
    tags: HashMap<String, StructId>,
    /// and all structs by where they are defined.
    places: HashMap<Span, StructId>,
    /// Structs that the file at hand defines itself.
    first: usize,
    /// Names with external linkage: the file that defines them, and where,
    defined: HashMap<String, (usize, Span)>,
    /// and the file that first declares them, with their type there.
    types: HashMap<String, (usize, Type)>,
}

/// Whether two declarations of one name agree: an array may leave out its length, a function
/// its parameters.
fn agree(a: &Type, b: &Type) -> bool {
    if a.is_atomic() != b.is_atomic() {
        return false;
    }
    match (a.plain(), b.plain()) {
        (Type::Array(a, m), Type::Array(b, n)) => {
            agree(a, b) && (m == n || m.is_none() || n.is_none())
        }
        (Type::Function(f), Type::Function(g)) => {
            let mut pairs = f.params.iter().zip(&g.params);
            let some = !f.params.is_empty() && !g.params.is_empty();
            let alike = f.params.len() == g.params.len() && pairs.all(|(p, q)| agree(&p.1, &q.1));
            agree(&f.result, &g.result) && (alike || !some)
        }
        (a, b) => a == b,
    }
}

impl<'t> Parser<'t> {
    /// Begins with a file.
    pub(super) fn start(&mut self, name: &str, tokens: &'t [Token]) {
        let before = std::mem::replace(&mut self.scopes, vec![Scope::default()]);
        for (tag, meaning) in before.into_iter().flat_map(|scope| scope.tags) {
            if let Tag::Struct(id) = meaning {
                self.linker.tags.entry(tag).or_insert(id);
            }
        }
        if !self.linker.files.is_empty() {
            self.linker.unit += 1;
        }
        self.linker.name = if self.linker.files.insert(name.to_owned()) {
            name.to_owned()
        } else {
            format!("{name}.{}", self.linker.unit)
        };
        self.linker.renamed.clear();
        self.linker.first = self.file.structs.len();
        self.cursor = Cursor::new(tokens);
    }

    /// The struct of a file before that a tag of this one means.
    pub(super) fn earlier(&self, tag: &str, is_union: bool) -> Option<StructId> {
        let id = *self.linker.tags.get(tag)?;
        (self.scopes.len() == 1 && self.file.structs[id].is_union == is_union).then_some(id)
    }

    /// The members of a struct have been read: it may be one of a file before.
    pub(super) fn defined(&mut self, id: StructId, span: Span) -> StructId {
        let new = self.file.structs[id].clone();
        let same = self.linker.places.get(&span).copied();
        let same = same.filter(|known| *known != id && self.file.structs[*known] == new);
        self.linker.places.insert(span, same.unwrap_or(id));
        same.unwrap_or(id)
    }

    /// Defines the members of a struct; those of a file before must be the same.
    pub(super) fn set_fields(
        &mut self,
        id: StructId,
        fields: Vec<crate::c::types::Field>,
        span: Span,
    ) -> Parse<()> {
        let has_bits = fields.iter().any(|f| f.width.is_some());
        let units = has_bits && !self.file.structs[id].is_union;
        let units = units
            .then(|| crate::c::bit_fields::with_units(&fields, &self.file.structs, self.model))
            .flatten();
        let (fields, shape) = match units {
            Some((fields, shape)) => (fields, Some(shape)),
            None => (fields, None),
        };
        self.file.structs[id].shape = shape;
        let old = self.file.structs[id].fields.replace(fields);
        if id < self.linker.first && old.is_some() && old != self.file.structs[id].fields {
            let tag = &self.file.structs[id].tag;
            let message = format!("unsupported: `{tag}` has other members in another file");
            return Err(Diagnostic::error(span, message).help("give one of them another name"));
        }
        Ok(())
    }

    /// What a name of the top level is called in the program.
    pub(super) fn linked(&mut self, name: &str, storage: Storage, is_own: bool) -> String {
        let internal = storage == Storage::Static || self.linker.renamed.contains_key(name);
        if !self.linker.several || self.scopes.len() > 1 || !internal || !is_own {
            return name.to_owned();
        }
        let full = format!("{name}@{}", self.linker.name);
        self.linker.renamed.insert(name.to_owned(), full.clone());
        full
    }

    /// Refuses a declaration in a block that means a variable or function of the top level,
    /// where the name means something else around it.
    pub(super) fn check_inner(&self, name: &str, span: Span) -> Parse<()> {
        let mut around = self.scopes.iter().skip(1);
        let shadowed = around.any(|scope| scope.names.contains_key(name));
        if self.scopes.len() > 1 && (shadowed || self.linker.renamed.contains_key(name)) {
            let message = format!("unsupported: a declaration of `{name}` in a block");
            return Err(Diagnostic::error(span, message).help("declare it at the top level"));
        }
        Ok(())
    }

    /// What has external linkage has one type in all files.
    pub(super) fn check_type(&mut self, name: &str, ty: &Type, span: Span) -> Parse<()> {
        if !self.linker.several || self.scopes.len() > 1 || name.contains('@') {
            return Ok(());
        }
        let unit = self.linker.unit;
        match self.linker.types.get(name) {
            Some((other, known)) if *other != unit && !agree(known, ty) => {
                let message = format!("`{name}` has another type in another file");
                Err(Diagnostic::error(span, message).help("declare it alike in all files"))
            }
            Some(_) => Ok(()),
            None => {
                self.linker
                    .types
                    .insert(name.to_owned(), (unit, ty.clone()));
                Ok(())
            }
        }
    }

    /// What a name that is used is called in the program.
    pub(super) fn renamed(&self, name: String) -> String {
        let Some(full) = self.linker.renamed.get(&name) else {
            return name;
        };
        let inner = self.scopes.iter().skip(1);
        if inner.into_iter().any(|s| s.names.contains_key(&name)) {
            return name;
        }
        full.clone()
    }

    /// Adds a function; a second one of the same name is wrong, unless it is the same text.
    pub(super) fn add_function(&mut self, function: Function, is_external: bool) -> Parse<()> {
        if is_external && self.is_again(&function.name, function.span)? {
            return Ok(());
        }
        self.item(Item::Function(function));
        Ok(())
    }

    /// Adds a variable.
    pub(super) fn add_variable(&mut self, d: Declaration) -> Parse<()> {
        let is_function = matches!(d.ty.plain(), Type::Function(_));
        let defines = d.init.is_some() || d.storage == Storage::Automatic;
        if !is_function && defines && self.is_again(&d.name, d.span)? {
            return Ok(());
        }
        self.item(Item::Variable(d));
        Ok(())
    }

    /// Whether a file before has this definition, too.
    fn is_again(&mut self, name: &str, span: Span) -> Parse<bool> {
        let unit = self.linker.unit;
        match self.linker.defined.get(name) {
            Some((other, place)) if *other != unit => {
                if *place == span || !self.cursor.last().own {
                    return Ok(true);
                }
                let message = format!("`{name}` is defined in another file, too");
                Err(Diagnostic::error(span, message)
                    .help("make one of them `static`, or declare it `extern`"))
            }
            Some(_) => Ok(false),
            None => {
                self.linker.defined.insert(name.to_owned(), (unit, span));
                Ok(false)
            }
        }
    }
}
