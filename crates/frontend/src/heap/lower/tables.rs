//! Declarations: struct types and shared variables.

use palisade_program::StructId;
use palisade_program::heap::{Field, Shared, Struct, Term, Type};

use super::Ty;
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{self, Decl, Expr, ExprKind, Name, TypeName};
use crate::pal::suggest;

/// Names of types and values that nothing else may be called.
const TAKEN: &[&str] = &[
    "data", "bool", "lock", "null", "empty", "new", "marked", "counted", "pack", "cas",
];

/// Parts of a packed pointer: no field may be called so.
const PARTS: &[&str] = &["ptr", "mark", "count"];

/// What is declared.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) structs: Vec<Struct>,
    pub(super) shared: Vec<Shared>,
}

/// Refuses a name that has a meaning already.
pub(super) fn check_name(name: &Name, items: &mut Vec<Diagnostic>) {
    if TAKEN.contains(&name.text.as_str()) {
        let message = format!("`{}` has a meaning of its own", name.text);
        let error = Diagnostic::error(name.span, message).label("cannot be declared");
        items.push(error.help("choose another name"));
    }
}

/// Refuses a second declaration of the same name.
pub(super) fn declared_twice(name: &Name, what: &str, items: &mut Vec<Diagnostic>) {
    let error = Diagnostic::error(
        name.span,
        format!("{what} `{}` is declared twice", name.text),
    )
    .label("declared before")
    .help("remove one of them, or choose another name");
    items.push(error);
}

impl Tables {
    /// Fills in the struct types. Names first: structs may point to each other.
    pub(super) fn structs(&mut self, structs: &[ast::Struct], items: &mut Vec<Diagnostic>) {
        for one in structs {
            check_name(&one.name, items);
            if self.structs.iter().any(|s| s.name == one.name.text) {
                declared_twice(&one.name, "struct", items);
            }
            self.structs.push(Struct {
                name: one.name.text.clone(),
                fields: Vec::new(),
                circular: one.circular,
                span: one.name.span,
            });
        }
        for (index, one) in structs.iter().enumerate() {
            let fields = self.fields(one, items);
            self.structs[index].fields = fields;
        }
    }

    fn fields(&self, one: &ast::Struct, items: &mut Vec<Diagnostic>) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        for (ty, name) in &one.fields {
            if PARTS.contains(&name.text.as_str()) {
                let message = format!("a field cannot be called `{}`", name.text);
                let error = Diagnostic::error(name.span, message)
                    .label("a part of a packed pointer is called so");
                items.push(error.help("choose another name"));
            }
            if fields.iter().any(|f| f.name == name.text) {
                declared_twice(name, "field", items);
            }
            let Some(Ty { base, tag }) = self.ty(ty, items) else {
                continue;
            };
            fields.push(Field {
                name: name.text.clone(),
                ty: base,
                tag,
                span: name.span,
            });
        }
        fields
    }

    /// The type that a name means.
    pub(super) fn ty(&self, ty: &TypeName, items: &mut Vec<Diagnostic>) -> Option<Ty> {
        let base = match ty.name.text.as_str() {
            "data" => Type::Data,
            "int" => Type::Int,
            "bool" => Type::Bool,
            "lock" => Type::Lock,
            name => {
                let found = self.structs.iter().position(|s| s.name == name);
                let Some(index) = found else {
                    items.push(self.unknown_type(&ty.name));
                    return None;
                };
                Type::Pointer(StructId::from(index))
            }
        };
        if ty.tag.is_some() && !matches!(base, Type::Pointer(_)) {
            let error = Diagnostic::error(ty.span, "only a pointer has room for a tag")
                .label("not a pointer")
                .help("`marked` and `counted` stand before the name of a struct");
            items.push(error);
            return None;
        }
        Some(Ty { base, tag: ty.tag })
    }

    fn unknown_type(&self, name: &Name) -> Diagnostic {
        let known = ["data", "int", "bool", "lock"].into_iter();
        let known = known.chain(self.structs.iter().map(|s| s.name.as_str()));
        let help = match suggest::nearest(&name.text, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "types are data, int, bool, lock and structs: declare `struct {} {{ ... }}`",
                name.text
            ),
        };
        Diagnostic::error(name.span, format!("unknown type `{}`", name.text))
            .label("not declared")
            .help(help)
    }

    /// Shared variables, of the program or of a specification.
    pub(super) fn shared(&self, decls: &[Decl], items: &mut Vec<Diagnostic>) -> Vec<Shared> {
        let mut shared: Vec<Shared> = Vec::new();
        for decl in decls {
            check_name(&decl.name, items);
            if shared.iter().any(|s| s.name == decl.name.text) {
                declared_twice(&decl.name, "shared variable", items);
            }
            let Some(ty) = self.ty(&decl.ty, items) else {
                continue;
            };
            shared.push(Shared {
                name: decl.name.text.clone(),
                ty: ty.base,
                tag: ty.tag,
                init: initial(ty, decl.value.as_ref(), items),
                span: decl.name.span,
            });
        }
        shared
    }
}

/// The value that a type starts with.
pub(super) const fn default_of(ty: Type) -> Term {
    match ty {
        Type::Data => Term::Undefined,
        Type::Int => Term::Int(0),
        Type::Bool | Type::Lock => Term::Bool(false),
        Type::Pointer(_) => Term::Null,
    }
}

/// The constant that a shared variable starts with.
fn initial(ty: Ty, value: Option<&Expr>, items: &mut Vec<Diagnostic>) -> Term {
    let default = default_of(ty.base);
    let Some(value) = value else { return default };
    match (&value.kind, ty.base) {
        (ExprKind::Null, Type::Pointer(_)) => Term::Null,
        (ExprKind::Int(value), Type::Int) => Term::Int(*value),
        (ExprKind::Bool(value), Type::Bool) => Term::Bool(*value),
        (ExprKind::Empty, Type::Data) => Term::Empty,
        (ExprKind::Infinity(positive), Type::Data) => Term::Infinity(*positive),
        _ => {
            let error = Diagnostic::error(value.span, "not a constant of this type")
                .label("shared variables start with constants")
                .help("do the rest in `init { ... }`, which runs before all calls");
            items.push(error);
            default
        }
    }
}
