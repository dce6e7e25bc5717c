//! The *program* that is read as a data structure: its functions, under new names, its globals and its types.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::rename::{Renamed, renamed};
use crate::c::ast::{Declaration, Expr, ExprKind, File, Item, Storage};
use crate::c::parser::Typing;
use crate::c::types::{DataModel, Signature, StructId, Type};

/// A C program, by names.
pub(super) struct Unit<'a> {
    pub(super) file: &'a File,
    pub(super) model: DataModel,
    pub(super) functions: BTreeMap<String, Rc<Renamed>>,
    pub(super) globals: BTreeMap<String, &'a Declaration>,
}

impl<'a> Unit<'a> {
    pub(super) fn new(file: &'a File, model: DataModel) -> Self {
        let mut globals: BTreeMap<String, &Declaration> = BTreeMap::new();
        for item in &file.items {
            let Item::Variable(d) = item else { continue };
            if matches!(d.ty, Type::Function(_)) || d.storage == Storage::Typedef {
                continue;
            }
            // A definition says more than a declaration of the same name.
            let known = globals.get(&d.name);
            if known.is_none_or(|k| k.init.is_none() && d.storage != Storage::Extern) {
                globals.insert(d.name.clone(), d);
            }
        }
        let taken: BTreeSet<String> = globals.keys().cloned().collect();
        let mut functions = BTreeMap::new();
        for item in &file.items {
            if let Item::Function(f) = item {
                functions.insert(f.name.clone(), Rc::new(renamed(f, &taken)));
            }
        }
        Self {
            file,
            model,
            functions,
            globals,
        }
    }

    /// Leaves only what is reached from these functions: functions that they call, and globals that those name.
    pub(super) fn keep(&mut self, roots: &[&str]) {
        let mut kept = BTreeSet::new();
        let mut named = BTreeSet::new();
        let mut open: Vec<String> = roots.iter().map(|name| (*name).to_owned()).collect();
        while let Some(name) = open.pop() {
            let Some(renamed) = self.functions.get(&name) else {
                continue;
            };
            if !kept.insert(name) {
                continue;
            }
            for s in &renamed.function.body {
                crate::c::lower::each_in_stmt(s, &mut |e| {
                    if let ExprKind::Ident(name) = &e.kind {
                        named.insert(name.clone());
                        open.push(name.clone());
                    }
                });
            }
        }
        self.functions.retain(|name, _| kept.contains(name));
        self.globals.retain(|name, _| named.contains(name));
    }

    /// The type of an expression of a function, as far as it is known.
    pub(super) fn type_of(&self, renamed: &Renamed, e: &Expr) -> Option<Type> {
        let names = |name: &str| {
            if let Some(ty) = renamed.locals.get(name) {
                return Some(ty.clone());
            }
            if let Some(f) = self.functions.get(name) {
                let signature = Signature {
                    result: f.function.result.clone(),
                    params: f.function.params.clone(),
                    variadic: false,
                };
                return Some(Type::Function(signature.into()));
            }
            self.globals.get(name).map(|d| d.ty.clone())
        };
        let typing = Typing {
            names: &names,
            structs: &self.file.structs,
            model: self.model,
        };
        typing.type_of(e)
    }

    /// The members of a struct; those of unnamed structs count as its own.
    pub(super) fn members(&self, id: StructId) -> Vec<(String, Type)> {
        let def = self.file.structs.get(id);
        let mut members = Vec::new();
        for field in def.and_then(|d| d.fields.as_ref()).into_iter().flatten() {
            match (&field.name, field.ty.plain()) {
                (Some(name), _) => members.push((name.clone(), field.ty.clone())),
                (None, Type::Struct(inner)) => members.extend(self.members(*inner)),
                (None, _) => {}
            }
        }
        members
    }

    /// The struct that a member belongs to, and its type.
    pub(super) fn member(&self, id: StructId, name: &str) -> Option<(StructId, Type)> {
        let members = self.members(id);
        let found = members.into_iter().find(|(n, _)| n == name);
        found.map(|(_, ty)| (id, ty))
    }
}
