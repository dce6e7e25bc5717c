//! Declarations: struct types, shared variables, and what threads keep between calls. An array
//! is as many variables (or fields) as it has elements: `a[0]`, `a[1]`, side by side. No name of the
//! text looks like that, so [`elements`] finds an array by the names.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use palisade_program::Span;
use palisade_program::StructId;
use palisade_program::heap::{Field, Kept, Shared, Struct, Tag, Term, Type};

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

/// Elements of an array at most: each access has a branch for each of them.
const MAX_LENGTH: i64 = 64;

/// What is declared.
#[derive(Default)]
pub(super) struct Tables<'f> {
    pub(super) structs: Vec<Struct>,
    pub(super) shared: Vec<Shared>,
    /// Words that threads keep between calls.
    pub(super) kept: Vec<Kept>,
    /// The variables that they belong to.
    pub(super) kept_variables: Vec<KeptVariable>,
    pub(super) functions: &'f [ast::Method],
    /// Functions that are called.
    pub(super) called: RefCell<BTreeSet<String>>,
}

/// A variable, or an element of an array, that threads keep between calls.
pub(super) struct KeptVariable {
    pub(super) name: String,
    pub(super) ty: Ty,
    /// Its first word; its tag is the next.
    pub(super) word: usize,
}

/// The name of an element of an array.
pub(super) fn element(array: &str, index: usize) -> String {
    format!("{array}[{index}]")
}

/// Where the elements of an array stand among variables with these names.
pub(super) fn elements<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
    array: &str,
) -> Option<Range<usize>> {
    let first = names.clone().position(|name| name == element(array, 0))?;
    let rest = names.skip(first).enumerate();
    let count = rest.take_while(|(index, name)| *name == element(array, *index));
    Some(first..first + count.count())
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

impl Tables<'_> {
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
        for (ty, name, length) in &one.fields {
            if PARTS.contains(&name.text.as_str()) {
                let message = format!("a field cannot be called `{}`", name.text);
                let error = Diagnostic::error(name.span, message)
                    .label("a part of a packed pointer is called so");
                items.push(error.help("choose another name"));
            }
            if is_declared(fields.iter().map(|f| f.name.as_str()), &name.text) {
                declared_twice(name, "field", items);
            }
            let Some(Ty { base, tag }) = self.ty(ty, items) else {
                continue;
            };
            for text in names(name, length.as_ref(), items) {
                fields.push(Field {
                    name: text,
                    ty: base,
                    tag,
                    span: name.span,
                });
            }
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
            if is_declared(shared.iter().map(|s| s.name.as_str()), &decl.name.text) {
                declared_twice(&decl.name, "shared variable", items);
            }
            let Some(ty) = self.ty(&decl.ty, items) else {
                continue;
            };
            let names = names(&decl.name, decl.length.as_ref(), items);
            let values = initial_values(ty, decl, names.len(), items);
            for (name, init) in names.into_iter().zip(values) {
                shared.push(Shared {
                    name,
                    ty: ty.base,
                    tag: ty.tag,
                    init,
                    span: decl.name.span,
                });
            }
        }
        shared
    }

    /// Fills in what threads keep between calls.
    pub(super) fn kept(&mut self, decls: &[Decl], items: &mut Vec<Diagnostic>) {
        for decl in decls {
            check_name(&decl.name, items);
            let kept = self.kept_variables.iter().map(|k| k.name.as_str());
            let known = kept.chain(self.shared.iter().map(|s| s.name.as_str()));
            if is_declared(known, &decl.name.text) {
                declared_twice(&decl.name, "variable", items);
            }
            let Some(ty) = self.ty(&decl.ty, items) else {
                continue;
            };
            if ty.base == Type::Lock {
                items.push(local_lock(decl.ty.span));
                continue;
            }
            let names = names(&decl.name, decl.length.as_ref(), items);
            let values = initial_values(ty, decl, names.len(), items);
            for (name, init) in names.into_iter().zip(values) {
                let word = self.kept.len();
                let span = decl.name.span;
                self.kept.push(Kept {
                    name: name.clone(),
                    ty: ty.base,
                    init,
                    span,
                });
                if let Some(tag) = ty.tag {
                    self.kept.push(Kept {
                        name: format!("{name}.{}", tag_word(tag)),
                        ty: tag.ty(),
                        init: default_of(tag.ty()),
                        span,
                    });
                }
                self.kept_variables.push(KeptVariable { name, ty, word });
            }
        }
    }
}

/// The word for a tag, behind the name of its pointer.
pub(super) const fn tag_word(tag: Tag) -> &'static str {
    match tag {
        Tag::Mark => "mark",
        Tag::Count => "count",
    }
}

/// Locks are shared.
pub(super) fn local_lock(span: Span) -> Diagnostic {
    Diagnostic::error(span, "a lock cannot be local")
        .label("locks are shared variables or fields")
        .help("declare it with `shared lock`, or as a field")
}

/// Whether a variable or an array of this name is among those with these names.
fn is_declared<'n>(names: impl Iterator<Item = &'n str>, name: &str) -> bool {
    let first = element(name, 0);
    let mut names = names;
    names.any(|known| known == name || known == first)
}

/// The names of the variables that a declaration makes: of the elements, for an array.
pub(super) fn names(
    name: &Name,
    length: Option<&Expr>,
    items: &mut Vec<Diagnostic>,
) -> Vec<String> {
    let Some(length) = length else {
        return vec![name.text.clone()];
    };
    let Some(count) = length.number().filter(|n| (1..=MAX_LENGTH).contains(n)) else {
        let error = Diagnostic::error(length.span, "an array has a fixed length")
            .label(format!("a number from 1 to {MAX_LENGTH} is asked for"))
            .help("write `data items[4];`, or a constant: `const N = 4;`");
        items.push(error);
        return vec![element(&name.text, 0)];
    };
    (0..count)
        .map(|index| element(&name.text, index as usize))
        .collect()
}

/// The constants that a declaration's variables start with.
fn initial_values(ty: Ty, decl: &Decl, count: usize, items: &mut Vec<Diagnostic>) -> Vec<Term> {
    if decl.values.is_empty() {
        return vec![initial(ty, decl.value.as_ref(), items); count];
    }
    if decl.values.len() != count {
        let message = format!("{} values for {count} elements", decl.values.len());
        let error = Diagnostic::error(decl.name.span, message)
            .label("the array")
            .help("give one value for each element, or one for all: `= 0`");
        items.push(error);
    }
    let values = decl.values.iter();
    let mut all: Vec<Term> = values
        .map(|value| initial(ty, Some(value), items))
        .collect();
    all.resize(count, default_of(ty.base));
    all
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
    if let (Some(number), Type::Int) = (value.number(), ty.base) {
        return Term::Int(number);
    }
    match (&value.kind, ty.base) {
        (ExprKind::Null, Type::Pointer(_)) => Term::Null,
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
