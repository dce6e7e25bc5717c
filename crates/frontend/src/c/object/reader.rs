//! What stands for what: the struct that is the object, structs of nodes, arrays of structs, shared variables and
//! their names in the data structure.

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::Span;

use super::kinds::{Kind, Kinds, Slot, innermost};
use super::operation::uncast;
use super::unit::Unit;
use super::{Read, refused};
use crate::c::ast::{Expr, ExprKind, Initializer};
use crate::c::types::{Opaque, StructId, Type};
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{self as heap, Name};

/// Words of the language of data structures that no name may be.
const WORDS: &[&str] = &[
    "data",
    "bool",
    "lock",
    "null",
    "empty",
    "new",
    "marked",
    "counted",
    "pack",
    "cas",
    "xchg",
    "fetch_add",
    "infinity",
    "int",
    "true",
    "false",
    "ptr",
    "mark",
    "count",
    "spec",
    "struct",
    "circular",
    "shared",
    "const",
    "init",
    "method",
    "fn",
    "never",
    "choose",
    "assume",
    "skip",
    "atomic",
    "assert",
    "commit",
    "confirm",
    "soft",
    "free",
    "unlock",
    "fence",
    "local",
    "returns",
    "as",
    "by",
    "or",
    "ref",
    "when",
    "later",
    "operation",
    "if",
    "while",
    "do",
    "for",
    "break",
    "continue",
    "return",
];

/// Where members stand that are shared variables.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Root {
    /// The object that methods get a pointer to.
    Object,
    Global(String),
}

/// The sort of an expression's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    Value(Kind),
    Node(StructId),
    /// A pointer to an element of an array of structs: its index.
    Element(StructId),
    Object,
    Lock,
}

/// An array of structs.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub(super) root: Root,
    pub(super) path: Vec<String>,
}

/// How a parameter of a function is passed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Passed {
    Value,
    Object,
    /// A pointer to shared memory that has a name: the argument is no value.
    Shared(Root, Vec<String>),
    /// A pointer to a member of the node that is passed.
    Member(StructId, Vec<String>),
    /// A pointer to a local of the caller.
    Reference,
    /// A pointer to where a method puts its result.
    Out,
}

/// A function of the data structure that has to be read.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) function: String,
    pub(super) passed: Vec<Passed>,
    pub(super) name: String,
}

/// What is known while functions are read.
pub(super) struct Reader<'a> {
    pub(super) unit: Unit<'a>,
    pub(super) kinds: Kinds,
    /// Structs that are the object.
    pub(super) objects: BTreeSet<StructId>,
    pub(super) elements: BTreeMap<StructId, Elements>,
    /// Names of shared variables, and where those of nodes lead.
    shared: BTreeMap<(Root, Vec<String>), String>,
    taken: BTreeSet<String>,
    nodes: BTreeSet<StructId>,
    functions: BTreeMap<(String, Vec<Passed>), String>,
    pub(super) wanted: Vec<Wanted>,
    /// Extreme integers are infinite.
    pub(super) has_infinity: bool,
    /// Whether seq_cst stores are followed by a fence.
    pub(super) fences: bool,
    pub(super) notes: BTreeSet<&'static str>,
    pub(super) errors: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(unit: Unit<'a>, kinds: Kinds, objects: BTreeSet<StructId>) -> Self {
        let mut reader = Self {
            unit,
            kinds,
            objects,
            elements: BTreeMap::new(),
            shared: BTreeMap::new(),
            taken: WORDS.iter().map(|w| (*w).to_owned()).collect(),
            nodes: BTreeSet::new(),
            functions: BTreeMap::new(),
            wanted: Vec::new(),
            has_infinity: false,
            fences: false,
            notes: BTreeSet::new(),
            errors: Vec::new(),
        };
        reader.find_nodes();
        reader
    }

    /// A name that nothing else has.
    pub(super) fn fresh_name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut count = 1;
        while self.taken.contains(&name) {
            count += 1;
            name = format!("{wanted}_{count}");
        }
        self.taken.insert(name.clone());
        name
    }

    /// Structs that pointers in memory lead to, or that are allocated, and that are neither the object nor elements of its arrays.
    fn find_nodes(&mut self) {
        let mut types: Vec<Type> = self.unit.globals.values().map(|d| d.ty.clone()).collect();
        types.extend(self.objects.iter().map(|id| Type::Struct(*id)));
        let mut seen = BTreeSet::new();
        // What is allocated is a node, too.
        let sizes = self.unit.file.sizes.values();
        let mut pointed: BTreeSet<StructId> = sizes
            .filter_map(|ty| match ty {
                Type::Struct(id) => Some(*id),
                _ => None,
            })
            .collect();
        types.extend(pointed.iter().map(|id| Type::Struct(*id)));
        let mut arrays = BTreeSet::new();
        while let Some(ty) = types.pop() {
            let is_array = matches!(ty.plain(), Type::Array(..));
            if let Type::Struct(id) = innermost(&ty) {
                if ty.is_pointer() || has_pointer(&ty) {
                    pointed.insert(*id);
                } else if is_array {
                    arrays.insert(*id);
                }
                if seen.insert(*id) {
                    types.extend(self.unit.members(*id).into_iter().map(|(_, ty)| ty));
                }
            }
        }
        let is_node = |id: &StructId| !self.objects.contains(id) && !arrays.contains(id);
        self.nodes = pointed.into_iter().filter(is_node).collect();
    }

    pub(super) fn is_node(&self, id: StructId) -> bool {
        self.nodes.contains(&id)
    }

    /// The name of the struct of nodes.
    pub(super) fn node_name(&self, id: StructId) -> String {
        let tag = &self.unit.file.structs[id].tag;
        let is_word = WORDS.contains(&tag.as_str());
        let is_name = tag.chars().all(|c| c.is_alphanumeric() || c == '_');
        if tag.is_empty() || is_word || !is_name {
            format!("node_{id}")
        } else {
            tag.clone()
        }
    }

    /// The scalars of a type by their paths, and how many elements they have.
    fn scalars(&self, ty: &Type, slot: Option<Slot>, path: &[String]) -> Vec<Scalar> {
        match ty.plain() {
            Type::Struct(id) => {
                let members = self.unit.members(*id).into_iter();
                let parts = members.flat_map(|(name, ty)| {
                    let slot = Slot::Member(*id, name.clone());
                    let path: Vec<String> = path.iter().cloned().chain([name]).collect();
                    self.scalars(&ty, Some(slot), &path)
                });
                parts.collect()
            }
            Type::Array(of, length) => {
                let parts = self.scalars(of, slot, path).into_iter();
                let parts = parts.map(|part| Scalar {
                    length: if part.length.is_none() { *length } else { None },
                    is_nested: part.length.is_some(),
                    ..part
                });
                parts.collect()
            }
            _ => vec![Scalar {
                path: path.to_vec(),
                ty: ty.clone(),
                slot,
                length: None,
                is_nested: false,
            }],
        }
    }

    /// The type of a scalar as the data structure has it; `None` if it has no such values.
    pub(super) fn type_name(
        &self,
        ty: &Type,
        slot: Option<&Slot>,
        span: Span,
    ) -> Option<heap::TypeName> {
        let name = match self.sort(ty, slot)? {
            Sort::Value(Kind::Data) => "data".to_owned(),
            Sort::Value(Kind::Number) | Sort::Element(_) => "int".to_owned(),
            Sort::Value(Kind::Truth) => "bool".to_owned(),
            Sort::Lock => "lock".to_owned(),
            Sort::Node(id) => self.node_name(id),
            Sort::Object => return None,
        };
        Some(type_named(&name, span))
    }

    /// The sort of what has a type.
    pub(super) fn sort(&self, ty: &Type, slot: Option<&Slot>) -> Option<Sort> {
        let kind = |default| Sort::Value(slot.map_or(default, |slot| self.kinds.kind(slot)));
        match ty.plain() {
            Type::Bool => Some(kind(Kind::Truth)),
            Type::Int { .. } => Some(kind(Kind::Number)),
            Type::Opaque(Opaque::Mutex { .. }) => Some(Sort::Lock),
            Type::Pointer(to) => match to.plain() {
                Type::Struct(id) if self.objects.contains(id) => Some(Sort::Object),
                Type::Struct(id) if self.elements.contains_key(id) => Some(Sort::Element(*id)),
                Type::Struct(id) if self.is_node(*id) => Some(Sort::Node(*id)),
                Type::Void => Some(kind(Kind::Data)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Declares shared variables and structs of nodes.
    pub(super) fn declare(&mut self, out: &mut heap::File, span: Span) {
        let mut roots: Vec<(Root, Type, Option<Slot>, Option<Initializer>)> = Vec::new();
        let mut own_objects = 0;
        for id in self.objects.clone() {
            roots.push((Root::Object, Type::Struct(id), None, None));
        }
        for (name, d) in self.unit.globals.clone() {
            let slot = Slot::Global(name.clone());
            if self.is_object_pointer(&d.ty) {
                continue;
            }
            if matches!(innermost(&d.ty), Type::Struct(id) if self.objects.contains(id)) {
                // There is one object, whatever it is called.
                own_objects += 1;
                let is_array = !matches!(d.ty.plain(), Type::Struct(_));
                if own_objects > 1 || is_array || d.init.as_ref().is_some_and(|init| !is_zero(init))
                {
                    let error = refused::<()>(
                        d.span,
                        "a second object, or initial values of its members",
                        "leave one object, and set its members in the function that runs before all calls",
                    );
                    self.errors.extend(error.err());
                }
                continue;
            }
            roots.push((Root::Global(name), d.ty.clone(), Some(slot), d.init.clone()));
        }
        // Arrays first: pointers to their elements are numbers.
        for (root, ty, _, _) in &roots {
            self.find_elements(root, ty, &[]);
        }
        for (root, ty, slot, init) in roots {
            self.declare_root(root, &ty, slot, init.as_ref(), out, span);
        }
        for id in self.nodes.clone() {
            if self.elements.contains_key(&id) {
                continue;
            }
            let mut fields = Vec::new();
            for scalar in self.scalars(&Type::Struct(id), None, &[]) {
                let Some(ty) = self.type_name(&scalar.ty, scalar.slot.as_ref(), span) else {
                    continue;
                };
                if scalar.is_nested {
                    continue;
                }
                let name = named(&joined(&scalar.path), span);
                fields.push((ty, name, scalar.length.map(|n| number(n.into(), span))));
            }
            out.structs.push(heap::Struct {
                circular: false,
                name: named(&self.node_name(id), span),
                fields,
            });
        }
    }

    fn is_object_pointer(&self, ty: &Type) -> bool {
        ty.is_pointer() && matches!(innermost(ty), Type::Struct(id) if self.objects.contains(id))
    }

    fn find_elements(&mut self, root: &Root, ty: &Type, path: &[String]) {
        match ty.plain() {
            Type::Array(of, _) => {
                if let Type::Struct(id) = of.plain() {
                    let elements = Elements {
                        root: root.clone(),
                        path: path.to_vec(),
                    };
                    self.elements.insert(*id, elements);
                }
            }
            Type::Struct(id) => {
                for (name, ty) in self.unit.members(*id) {
                    let path: Vec<String> = path.iter().cloned().chain([name]).collect();
                    self.find_elements(root, &ty, &path);
                }
            }
            _ => {}
        }
    }

    fn declare_root(
        &mut self,
        root: Root,
        ty: &Type,
        slot: Option<Slot>,
        init: Option<&Initializer>,
        out: &mut heap::File,
        span: Span,
    ) {
        let is_node = matches!(ty.plain(), Type::Struct(id) if self.is_node(*id));
        let start = match &root {
            Root::Object => Vec::new(),
            Root::Global(name) => vec![name.clone()],
        };
        if is_node {
            // A node that has a name: a pointer to it that nothing changes.
            let name = self.fresh_name(&joined(&start));
            let Type::Struct(id) = ty.plain() else { return };
            let node = self.node_name(*id);
            out.shared
                .push(declaration(&type_named(&node, span), &name, span));
            let value = heap::Expr {
                kind: heap::ExprKind::New(named(&node, span)),
                span,
            };
            Self::initialise(out, &name, value, span);
            self.shared.insert((root, Vec::new()), name);
            return;
        }
        for scalar in self.scalars(ty, slot, &[]) {
            let Some(ty) = self.type_name(&scalar.ty, scalar.slot.as_ref(), span) else {
                continue;
            };
            if scalar.is_nested {
                continue;
            }
            let path: Vec<String> = start.iter().chain(&scalar.path).cloned().collect();
            let name = self.fresh_name(&joined(&path));
            let sort = self.sort(&scalar.ty, scalar.slot.as_ref());
            let mut decl = declaration(&ty, &name, span);
            decl.length = scalar.length.map(|n| number(n.into(), span));
            // Without a value it starts as 0 or null.
            let is_whole = scalar.path.is_empty() && scalar.length.is_none();
            if let (Some(init), Some(sort)) = (init.filter(|init| !is_zero(init)), sort) {
                let value = if is_whole {
                    self.initial(init, sort)
                } else {
                    refused(
                        span,
                        "initial values of members and elements",
                        "set them in the function that runs before all calls",
                    )
                };
                match value {
                    Ok(value) => decl.value = Some(value),
                    Err(error) => self.note_error(error),
                }
            }
            let is_kept = match &root {
                Root::Global(name) => self.unit.globals[name].thread_local,
                Root::Object => false,
            };
            if is_kept {
                out.kept.push(decl);
            } else {
                out.shared.push(decl);
            }
            self.shared.insert((root.clone(), scalar.path), name);
        }
    }

    /// The value that an initialiser gives to a scalar.
    fn initial(&self, init: &Initializer, sort: Sort) -> Read<heap::Expr> {
        let (Initializer::Value(Expr { span, .. }) | Initializer::List(_, span)) = init;
        let value = match init {
            Initializer::Value(e) => crate::c::parser::constant(uncast(e)),
            Initializer::List(..) => is_zero(init).then_some(0),
        };
        let kind = match (value, sort) {
            (Some(value), Sort::Value(Kind::Number)) => {
                i64::try_from(value).ok().map(heap::ExprKind::Int)
            }
            (Some(value), Sort::Value(Kind::Truth)) => Some(heap::ExprKind::Bool(value != 0)),
            (Some(value), Sort::Value(Kind::Data)) => Some(self.constant(value)),
            (Some(0), Sort::Node(_)) => Some(heap::ExprKind::Null),
            _ => None,
        };
        match kind {
            Some(kind) => Ok(heap::Expr { kind, span: *span }),
            None => refused(
                *span,
                "this initial value",
                "set it in the function that runs before all calls",
            ),
        }
    }

    /// A constant among data: what is returned where there is nothing, or the key of a sentinel.
    pub(super) fn constant(&self, value: i128) -> heap::ExprKind {
        let is_extreme = |v: i128| {
            [32, 64].iter().any(|bits| {
                let half = 1_i128 << (bits - 1);
                v == half - 1 || v == 2 * half - 1 || v == -half || v == -half + 1
            })
        };
        if self.has_infinity && is_extreme(value) {
            heap::ExprKind::Infinity(value > 0)
        } else {
            heap::ExprKind::Empty
        }
    }

    fn initialise(out: &mut heap::File, name: &str, value: heap::Expr, span: Span) {
        let statement = heap::Stmt {
            kind: heap::StmtKind::Assign(path_of(name, span), value),
            span,
        };
        match out.inits.first_mut() {
            Some(init) => init.body.push(statement),
            None => out.inits.push(heap::Init {
                body: vec![statement],
                span,
            }),
        }
    }

    /// The shared variable of a member.
    pub(super) fn shared_name(&self, root: &Root, path: &[String]) -> Option<&str> {
        let key = (root.clone(), path.to_vec());
        self.shared.get(&key).map(String::as_str)
    }

    /// The name under which a function is read that gets its parameters so.
    pub(super) fn function_name(&mut self, function: &str, passed: &[Passed]) -> String {
        let key = (function.to_owned(), passed.to_vec());
        if let Some(name) = self.functions.get(&key) {
            return name.clone();
        }
        let name = self.fresh_name(function);
        self.functions.insert(key, name.clone());
        self.wanted.push(Wanted {
            function: function.to_owned(),
            passed: passed.to_vec(),
            name: name.clone(),
        });
        name
    }

    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// Whether a shared variable has this name.
    pub(super) fn is_shared(&self, name: &str) -> bool {
        self.shared.values().any(|shared| shared == name)
    }

    pub(super) fn note_numbers(&mut self) {
        self.notes.insert("numbers are taken not to overflow");
    }

    pub(super) fn note_allocation(&mut self) {
        self.notes
            .insert("what malloc returns is taken to hold null and zeros, and to be there");
    }

    /// What an allocation is of: the type whose size is asked for.
    pub(super) fn allocated(&self, args: &[Expr]) -> Option<Type> {
        let mut found = None;
        for e in args {
            crate::c::lower::each_expr(e, &mut |e| {
                if found.is_none() {
                    found = self.unit.file.sizes.get(&e.span).cloned();
                }
            });
        }
        found
    }

    pub(super) fn note_error(&mut self, error: Diagnostic) {
        crate::c::note_error(&mut self.errors, error);
    }
}

struct Scalar {
    path: Vec<String>,
    ty: Type,
    slot: Option<Slot>,
    length: Option<u64>,
    /// An array of arrays: not followed.
    is_nested: bool,
}

/// Whether an initialiser gives nothing but zeros.
fn is_zero(init: &Initializer) -> bool {
    match init {
        Initializer::Value(e) => crate::c::parser::constant(uncast(e)) == Some(0),
        Initializer::List(list, _) => list.iter().all(|(_, init)| is_zero(init)),
    }
}

fn has_pointer(ty: &Type) -> bool {
    match ty.plain() {
        Type::Pointer(_) => true,
        Type::Array(of, _) => has_pointer(of),
        _ => false,
    }
}

pub(super) fn joined(path: &[String]) -> String {
    path.join("_")
}

pub(super) fn named(name: &str, span: Span) -> Name {
    Name {
        text: name.to_owned(),
        span,
    }
}

pub(super) fn type_named(name: &str, span: Span) -> heap::TypeName {
    heap::TypeName {
        tag: None,
        name: named(name, span),
        span,
    }
}

pub(super) fn path_of(name: &str, span: Span) -> heap::Path {
    heap::Path {
        base: named(name, span),
        parts: Vec::new(),
        span,
    }
}

pub(super) fn number(value: i128, span: Span) -> heap::Expr {
    heap::Expr {
        kind: heap::ExprKind::Int(value as i64),
        span,
    }
}

pub(super) fn declaration(ty: &heap::TypeName, name: &str, span: Span) -> heap::Decl {
    heap::Decl {
        ty: ty.clone(),
        name: named(name, span),
        length: None,
        value: None,
        values: Vec::new(),
    }
}

/// The name of a function that is called directly.
pub(super) fn callee(f: &Expr) -> Read<&str> {
    match &f.kind {
        ExprKind::Ident(name) => Ok(name),
        _ => refused(
            f.span,
            "a call through a pointer",
            "call the function by its name",
        ),
    }
}
