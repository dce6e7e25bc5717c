//! *Globals*: variables that live as long as the program: those of the top level, static
//! ones of functions, string literals. They start with constants.

use std::rc::Rc;

use palisade_program::{Init, Span};

use super::Context;
use super::code::{Code, Lower};
use super::init::char_value;
use super::layout::{Cells, Object};
use crate::c::ast::{Declaration, Item, Storage};
use crate::c::types::{Opaque, Type};

impl<'a> Context<'a> {
    pub(super) fn declare_globals(&mut self) -> Lower<()> {
        let mut best: Vec<&'a Declaration> = Vec::new();
        for item in &self.file.items {
            let Item::Variable(d) = item else { continue };
            if matches!(d.ty.plain(), Type::Function(_)) {
                continue;
            }
            if d.storage == Storage::Extern && d.init.is_none() {
                continue;
            }
            match best.iter_mut().find(|b| b.name == d.name) {
                Some(old) if d.init.is_some() => *old = d,
                Some(_) => {}
                None => best.push(d),
            }
        }
        // C11 6.9.2: an array without length that nothing completes has one element.
        let tentative: Vec<Declaration> = best.iter().filter_map(|d| one_element(d)).collect();
        let elsewhere = self.defined_elsewhere(&best);
        let best = best.into_iter().filter(|d| one_element(d).is_none());
        // Names first: initialisers may take addresses of what is declared later.
        let mut made = Vec::new();
        for d in &tentative {
            let object = self.object(&d.name, &d.ty, true, false, d.span)?;
            self.variables.insert(d.name.clone(), object);
        }
        for d in elsewhere {
            let taken = self.names_used.addressed.contains(&d.name);
            let object = self.object(&d.name, &d.ty, taken, false, d.span)?;
            let values = Code::new(self, 0, false).uninitialised(&d.ty);
            for var in object.shared() {
                let global = &mut self.globals[var.index()];
                global.domain = values;
                global.init.fill(Init::Any);
            }
            self.calls_undefined = true;
            self.variables.insert(d.name.clone(), object);
        }
        for d in best {
            if d.thread_local {
                self.thread_local.insert(d.name.clone(), d);
                continue;
            }
            // Headers declare what nobody uses.
            let mentioned = self.names_used.mentioned.contains(&d.name);
            if !self.is_supported(&d.ty) && !mentioned || self.is_idle(&d.name) {
                continue;
            }
            // An array becomes a pointer where it is mentioned.
            let decays = mentioned && self.layouts.has_array(&d.ty);
            let taken = decays || self.names_used.addressed.contains(&d.name);
            match self.object(&d.name, &d.ty, taken, false, d.span) {
                Ok(object) => {
                    self.note_symmetric(format!("global {}", d.name));
                    self.variables.insert(d.name.clone(), object.clone());
                    made.push((d, object));
                }
                Err(error) => self.errors.of_declaration(&d.name, error)?,
            }
        }
        for (d, object) in made {
            if let Err(error) = self.set_initial(d, &object) {
                self.errors.note(error)?;
            }
            self.mark_raw(&object);
        }
        self.declared = self.globals.len();
        Ok(())
    }

    /// Semaphores and barriers have no initialiser but a call: they start as raw as those on the stack.
    fn mark_raw(&mut self, object: &Object) {
        for (leaf, cells) in object.leaves.iter().zip(&object.cells) {
            let is_call = matches!(
                leaf.ty.plain(),
                Type::Opaque(Opaque::Semaphore | Opaque::Barrier)
            );
            let checks = self.options.asked == palisade_program::Asked::All;
            if let (Cells::Shared(var), true) = (cells, is_call && leaf.is_raw() && checks) {
                let init = Init::Value(super::misuse::RAW);
                self.globals[var.index()].init.fill(init);
            }
        }
    }

    /// Integers that the user declares `extern` and uses, and no file here defines: they start with any value.
    fn defined_elsewhere(&self, defined: &[&'a Declaration]) -> Vec<&'a Declaration> {
        let mut found: Vec<&Declaration> = Vec::new();
        for item in &self.file.items {
            let Item::Variable(d) = item else { continue };
            let is_open = d.storage == Storage::Extern && d.init.is_none() && d.is_own;
            let is_used = self.names_used.mentioned.contains(&d.name) && !d.thread_local;
            let is_known = defined
                .iter()
                .chain(&found)
                .any(|other| other.name == d.name);
            if is_open && is_used && !is_known && d.ty.is_integer() && self.is_program() {
                found.push(d);
            }
        }
        found
    }

    fn is_supported(&self, ty: &Type) -> bool {
        self.layouts.leaves(ty, Span::default()).is_ok()
    }

    pub(super) fn set_initial(&mut self, d: &Declaration, object: &Object) -> Lower<()> {
        let values = Code::new(self, 0, false).constants(d)?;
        for (leaf, cells) in object.leaves.iter().zip(&object.cells) {
            let Cells::Shared(var) = cells else { continue };
            for k in 0..leaf.count() {
                if let Some(value) = values.get(&leaf.cell(k)) {
                    self.globals[var.index()].init[k as usize] = Init::Value(*value);
                }
            }
        }
        Ok(())
    }

    /// The array of a string literal.
    pub(super) fn string(&mut self, text: &str, span: Span) -> Lower<Rc<Object>> {
        let key = (text.to_owned(), span);
        if let Some(object) = self.strings.get(&key) {
            return Ok(object.clone());
        }
        let length = text.chars().count() as u64 + 1;
        let ty = Type::Array(Rc::new(Type::CHAR), Some(length));
        let object = self.object("string", &ty, true, false, span)?;
        if let [Cells::Shared(var)] = object.cells.as_slice() {
            let init = &mut self.globals[var.index()].init;
            for (cell, c) in init.iter_mut().zip(text.chars()) {
                *cell = Init::Value(char_value(c));
            }
        }
        self.strings.insert(key, object.clone());
        Ok(object)
    }

    /// The one object of a `static` variable in a function.
    pub(super) fn static_local(&mut self, function: &str, d: &Declaration) -> Lower<Rc<Object>> {
        let key = (function.to_owned(), d.span);
        if let Some(object) = self.statics.get(&key) {
            return Ok(object.clone());
        }
        let name = format!("{function}.{}", d.name);
        let object = self.object(&name, &d.ty, true, false, d.span)?;
        self.note_symmetric(format!("static {function} {:?}", d.span));
        self.statics.insert(key, object.clone());
        self.set_initial(d, &object)?;
        self.mark_raw(&object);
        Ok(object)
    }
}

/// The definition of an array without length, with the one element that it has.
fn one_element(d: &Declaration) -> Option<Declaration> {
    match (d.ty.plain(), &d.init) {
        (Type::Array(of, None), None) => Some(Declaration {
            ty: Type::Array(of.clone(), Some(1)),
            ..d.clone()
        }),
        _ => None,
    }
}
