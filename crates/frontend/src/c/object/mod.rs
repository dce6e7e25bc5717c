//! *Data structures in C*: functions of a C program as the methods of a data structure, for `palisade linearize FILE.c`. The syntax
//! tree of C becomes that of [data structures](crate::heap), which is lowered as if it had been written so.
//!
//! | file | term |
//! |---|---|
//! | `notes` | what comments say: specification, methods |
//! | `rename`, `unit` | functions whose locals have names of their own; the program by names |
//! | `kinds` | which integers are data, which are truth values |
//! | `reader` | what is the object, what are nodes; names of shared variables |
//! | `body`, `control` | statements; loops and jumps |
//! | `value`, `condition`, `place`, `call` | expressions; effects |
//! | `operation` | atomic operations by their names |
//! | `expected` | which compare-and-swaps have to say what they have found |
//!
//! What has no exact counterpart is refused with its place. Assumptions, which are told as notes: there is one object; integers that are
//! computed with do not overflow; memory from `malloc` holds null and zeros where it is read before it is written; callers never pass a
//! constant that stands for "nothing there".

mod body;
mod call;
mod condition;
mod control;
mod expected;
mod kinds;
mod notes;
mod operation;
mod place;
mod reader;
mod rename;
mod unit;
mod value;

use std::collections::BTreeSet;
use std::path::Path;

use palisade_program::{Source, Span};

use self::body::Return;
use self::kinds::{Kind, Kinds, Slot, innermost};
use self::notes::Method;
use self::reader::{Passed, Reader, Sort, Wanted};
use self::unit::Unit;
use super::ast::{ExprKind, File};
use super::types::{StructId, Type};
use super::{Options, parsed};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::heap::{self, ast};

/// Result of reading a part.
type Read<T> = Result<T, Diagnostic>;

fn refused<T>(span: Span, what: &str, help: &str) -> Read<T> {
    Err(Diagnostic::error(span, format!("unsupported in a data structure: {what}")).help(help))
}

/// What is said of a data structure outside its file.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// Operations and the functions that are to do them.
    pub operations: Vec<(String, String)>,
    /// The function that runs before all calls.
    pub init: Option<String>,
    /// The specification, in the language of data structures: `stack`, or a text with `spec ...`.
    pub specification: Option<Source>,
    /// Whether stores wait in buffers, so that seq_cst ones need a fence.
    pub buffers: bool,
}

/// A data structure that was read without error.
#[derive(Clone, Debug)]
pub struct ParsedObject {
    /// The data structure.
    pub parsed: heap::Parsed,
    /// What is taken for granted, and which function is which operation.
    pub notes: Vec<String>,
}

/// Reads a data structure from a C file.
pub fn parse_object(
    path: &Path,
    source: &Source,
    options: &Options,
    object: &Object,
) -> Result<ParsedObject, Diagnostics> {
    let (whole, file) = parsed(path, source, options)?;
    let mut errors = Vec::new();
    let mut notes = notes::read(source, &mut errors);
    if let Some(given) = &object.specification {
        if !notes.declared.specs.is_empty() {
            notes.declared = ast::File::default();
        }
        let mut wrong = Vec::new();
        let declared = heap::syntax(given, &mut wrong);
        if !wrong.is_empty() {
            return Err(Diagnostics::new(given.clone(), wrong));
        }
        notes.declared = declared;
    }
    if !errors.is_empty() {
        return Err(Diagnostics::new(source.clone(), errors));
    }
    let translated = translated(&file, options, object, notes);
    let (tree, mut said) = translated.map_err(|items| Diagnostics::new(whole.clone(), items))?;
    let mut parsed = heap::lowered(whole, &tree)?;
    // Functions that nothing calls are no part of the data structure.
    parsed.warnings.retain(|w| w.severity == Severity::Error);
    said.sort();
    Ok(ParsedObject {
        parsed,
        notes: said,
    })
}

/// Whether a text says in its comments what a data structure should do.
pub fn has_specification(text: &str) -> bool {
    notes::has_specification(text)
}

/// The operations of the built-in specifications: their parameters and results.
fn built_in(name: &str) -> Option<Vec<Operation>> {
    let operation = |names: &[&'static str], parameters, result| Operation {
        names: names.iter().map(|n| (*n).to_owned()).collect(),
        parameters,
        result,
    };
    let (data, truth) = (Kind::Data, Kind::Truth);
    Some(match name {
        "stack" => vec![
            operation(&["push"], vec![data], None),
            operation(&["pop"], Vec::new(), Some(data)),
        ],
        "queue" => vec![
            operation(&["enqueue", "enq"], vec![data], None),
            operation(&["dequeue", "deq"], Vec::new(), Some(data)),
        ],
        "set" => vec![
            operation(&["add", "insert"], vec![data], Some(truth)),
            operation(&["remove", "delete"], vec![data], Some(truth)),
            operation(&["contains", "member"], vec![data], Some(truth)),
        ],
        _ => return None,
    })
}

/// An operation of the specification.
#[derive(Clone, Debug)]
struct Operation {
    names: Vec<String>,
    parameters: Vec<Kind>,
    result: Option<Kind>,
}

fn kind_named(ty: &ast::TypeName) -> Kind {
    match ty.name.text.as_str() {
        "data" => Kind::Data,
        "bool" => Kind::Truth,
        _ => Kind::Number,
    }
}

fn operations(specs: &[ast::Spec]) -> Option<Vec<Operation>> {
    match specs.first()? {
        ast::Spec::Named(name) => built_in(&name.text),
        ast::Spec::Own(own) => {
            let all = own.operations.iter().map(|o| Operation {
                names: vec![o.name.text.clone()],
                parameters: o.parameters.iter().map(|p| kind_named(&p.ty)).collect(),
                result: o.returns.as_ref().map(kind_named),
            });
            Some(all.collect())
        }
    }
}

fn translated(
    file: &File,
    options: &Options,
    object: &Object,
    notes: notes::Notes,
) -> Result<(ast::File, Vec<String>), Vec<Diagnostic>> {
    let one = |error: Diagnostic| vec![error];
    let mut unit = Unit::new(file, options.data_model);
    let known = operations(&notes.declared.specs);
    let methods = methods(&unit, object, &notes, known.as_deref()).map_err(one)?;
    let init = object
        .init
        .clone()
        .or(notes.init.map(|(name, _)| name))
        .or_else(|| {
            let named = ["init", "initialize", "initialise"];
            let is_init = |name: &&String| {
                named
                    .iter()
                    .any(|n| *name == n || name.ends_with(&format!("_{n}")))
            };
            let mut all = unit
                .functions
                .keys()
                .filter(|f| !f.starts_with("__"))
                .filter(is_init);
            let first = all.next().cloned();
            first.filter(|_| all.next().is_none())
        });
    let roots = methods
        .iter()
        .map(|m| m.function.as_str())
        .chain(init.as_deref());
    unit.keep(&roots.collect::<Vec<_>>());
    let objects = objects(&unit, &methods, init.as_deref());
    let mut heads = Vec::new();
    let (mut data, mut truth, mut given) = (Vec::new(), Vec::new(), Vec::new());
    for method in &methods {
        let head = head(&unit, method, known.as_deref(), &objects).map_err(one)?;
        data.extend(head.data.clone());
        truth.extend(head.truth.clone());
        given.extend(head.given.clone());
        heads.push(head);
    }
    let kinds = Kinds::of(&unit, &data, &truth, &given);
    if let Some(span) = kinds.computed_data().first() {
        let error = Diagnostic::error(
            *span,
            "something is computed with a value that the specification calls data",
        );
        return Err(one(
            error.help("write a specification of your own, in which it is an int")
        ));
    }
    let constants = kinds.constants();
    let mut reader = Reader::new(unit, kinds, objects);
    reader.fences = object.buffers;
    reader.has_infinity =
        matches!(notes.declared.specs.first(), Some(ast::Spec::Named(name)) if name.text == "set");
    let infinite: BTreeSet<i128> = constants
        .iter()
        .copied()
        .filter(|c| matches!(reader.constant(*c), ast::ExprKind::Infinity(_)))
        .collect();
    let empties: BTreeSet<i128> = constants
        .into_iter()
        .filter(|c| matches!(reader.constant(*c), ast::ExprKind::Empty))
        .collect();
    if empties.len() > 1 {
        let all: Vec<String> = empties.iter().map(ToString::to_string).collect();
        let message = format!("several constants among the data: {}", all.join(", "));
        let span = reader.unit.functions[&methods[0].function].function.span;
        let error =
            Diagnostic::error(span, message).label("which of them says that there is nothing?");
        return Err(one(error.help(
            "return one constant where there is nothing, and compare data with no other",
        )));
    }
    for renamed in reader.unit.functions.values() {
        let is_object = |p: &&String| reader.sort(&renamed.locals[*p], None) == Some(Sort::Object);
        if renamed.parameters.iter().filter(is_object).count() > 1 {
            let span = renamed.function.span;
            return refused(span, "a function of two objects", "leave one").map_err(one);
        }
    }
    let mut out = notes.declared;
    let span = methods[0].span;
    reader.declare(&mut out, span);
    let mut said = Vec::new();
    for (method, head) in methods.iter().zip(heads) {
        let wanted = Wanted {
            function: method.function.clone(),
            passed: head.passed,
            name: reader.fresh_name(&method.function),
        };
        match body::function(&mut reader, &wanted, Some(head.returns)) {
            Ok(read) => out.methods.push(ast::Method {
                operation: Some(reader::named(&method.operation, method.span)),
                role: method
                    .role
                    .as_ref()
                    .map(|role| reader::named(role, method.span)),
                ..read
            }),
            Err(error) => reader.note_error(error),
        }
        if method.function != method.operation {
            said.push(format!(
                "`{}` is the operation {}",
                method.function, method.operation
            ));
        }
    }
    if let Some(init) = init {
        said.push(format!("`{init}` runs before all calls"));
        init_body(&mut reader, &init, &mut out);
    }
    while let Some(wanted) = reader.wanted.pop() {
        match body::function(&mut reader, &wanted, None) {
            Ok(read) => out.functions.push(read),
            Err(error) => reader.note_error(error),
        }
    }
    if names_orders(&reader.unit) {
        let note = "memory orders are taken as x86 has them: this says nothing about ARM, POWER and RISC-V";
        said.push(note.to_owned());
    }
    if !infinite.is_empty() {
        said.push(
            "the least and greatest integers are taken to be below and above all that callers pass"
                .to_owned(),
        );
    }
    if let Some(empty) = empties.first() {
        said.push(format!(
            "{empty} says that there is nothing: callers are taken never to pass it"
        ));
    }
    said.extend(reader.notes.iter().map(|note| (*note).to_owned()));
    if reader.errors.is_empty() {
        Ok((out, said))
    } else {
        Err(reader.errors)
    }
}

/// Whether some operation names its memory order.
fn names_orders(unit: &Unit<'_>) -> bool {
    let mut found = false;
    for renamed in unit.functions.values() {
        for s in &renamed.function.body {
            super::lower::each_in_stmt(s, &mut |e| {
                if let ExprKind::Call(f, _) = &e.kind
                    && let ExprKind::Ident(name) = &f.kind
                {
                    found |= name.ends_with("_explicit") || name.starts_with("__atomic_");
                }
            });
        }
    }
    found
}

fn init_body(reader: &mut Reader<'_>, init: &str, out: &mut ast::File) {
    let Some(function) = reader.unit.functions.get(init).cloned() else {
        let error = Diagnostic::error(Span::default(), format!("there is no function `{init}`"));
        reader.note_error(error.help("name one that the file defines"));
        return;
    };
    let span = function.function.span;
    let is_object = |p: &String| reader.sort(&function.locals[p], None) == Some(Sort::Object);
    if !function.parameters.iter().all(is_object) {
        let error = Diagnostic::error(span, "init has parameters beside the object");
        reader.note_error(error.help("write a function without them that calls it"));
        return;
    }
    let wanted = Wanted {
        function: init.to_owned(),
        passed: vec![Passed::Object; function.parameters.len()],
        name: reader.fresh_name(init),
    };
    let returns = match function.function.result {
        Type::Void => Return::Nothing,
        _ if reader.sort(&function.function.result, None) == Some(Sort::Object) => Return::Nothing,
        _ => Return::Same(None),
    };
    match body::function(reader, &wanted, Some(returns)) {
        Ok(read) => {
            // As a function, so that it may return from its midst.
            let call = ast::Expr {
                kind: ast::ExprKind::Call(read.name.clone(), Vec::new()),
                span,
            };
            let statement = ast::Stmt {
                kind: ast::StmtKind::Call(call),
                span,
            };
            out.functions.push(read);
            match out.inits.first_mut() {
                Some(init) => init.body.push(statement),
                None => out.inits.push(ast::Init {
                    body: vec![statement],
                    span,
                }),
            }
        }
        Err(error) => reader.note_error(error),
    }
}

/// Which function is which operation: as it is said, else by names: `push` or `..._push`.
fn methods(
    unit: &Unit<'_>,
    object: &Object,
    notes: &notes::Notes,
    known: Option<&[Operation]>,
) -> Read<Vec<Method>> {
    let mut methods = notes.methods.clone();
    if !object.operations.is_empty() {
        let given = object
            .operations
            .iter()
            .map(|(operation, function)| Method {
                function: function.clone(),
                operation: operation.clone(),
                role: None,
                span: Span::default(),
            });
        methods = given.collect();
    }
    if methods.is_empty() {
        for operation in known.unwrap_or_default() {
            let is_it = |f: &&String| {
                operation
                    .names
                    .iter()
                    .any(|name| *f == name || f.ends_with(&format!("_{name}")))
            };
            // Names with underscores in front are the library's.
            let own = unit.functions.keys().filter(|f| !f.starts_with("__"));
            let found: Vec<&String> = own.filter(is_it).collect();
            match found.as_slice() {
                [] => {}
                [function] => methods.push(Method {
                    function: (*function).clone(),
                    operation: operation.names[0].clone(),
                    role: None,
                    span: Span::default(),
                }),
                [_, second, ..] => {
                    let name = &operation.names[0];
                    let span = unit.functions[*second].function.span;
                    let message = format!("several functions may be the operation {name}");
                    let error = Diagnostic::error(span, message).label("one of them");
                    return Err(error.help(format!(
                        "say which: `//@ method f as {name};` or --object {name}=f"
                    )));
                }
            }
        }
    }
    for method in &mut methods {
        let Some(renamed) = unit.functions.get(&method.function) else {
            let message = format!("there is no function `{}`", method.function);
            return Err(
                Diagnostic::error(method.span, message).help("name one that the file defines")
            );
        };
        method.span = renamed.function.span;
    }
    if methods.is_empty() {
        let message = "no function is an operation of the specification";
        let help = "say `//@ spec stack;` and `//@ method f as push;`, or --spec stack --object push=f,pop=g";
        return Err(Diagnostic::error(Span::default(), message).help(help));
    }
    Ok(methods)
}

/// Structs that methods and `init` get pointers to, and that no method allocates: the object.
fn objects(unit: &Unit<'_>, methods: &[Method], init: Option<&str>) -> BTreeSet<StructId> {
    let mut objects = BTreeSet::new();
    let functions = methods.iter().map(|m| m.function.as_str()).chain(init);
    for name in functions {
        let Some(renamed) = unit.functions.get(name) else {
            continue;
        };
        for parameter in &renamed.parameters {
            let ty = &renamed.locals[parameter];
            if let (Some(_), Type::Struct(id)) = (ty.pointee(), innermost(ty)) {
                objects.insert(*id);
            }
        }
    }
    objects
}

/// How the parameters of a method are passed, and what it returns.
struct Head {
    passed: Vec<Passed>,
    returns: Return,
    data: Vec<Slot>,
    truth: Vec<Slot>,
    /// Numbers that callers give.
    given: Vec<Slot>,
}

fn head(
    unit: &Unit<'_>,
    method: &Method,
    known: Option<&[Operation]>,
    objects: &BTreeSet<StructId>,
) -> Read<Head> {
    let renamed = &unit.functions[&method.function];
    let span = renamed.function.span;
    let operation = known.map(|known| known.iter().find(|o| o.names.contains(&method.operation)));
    let operation = match operation {
        Some(None) => {
            let message = format!("the specification has no operation `{}`", method.operation);
            return Err(Diagnostic::error(span, message).help("name one of its operations"));
        }
        Some(Some(operation)) => Some(operation),
        None => None,
    };
    let mut head = Head {
        passed: Vec::new(),
        returns: Return::Nothing,
        data: Vec::new(),
        truth: Vec::new(),
        given: Vec::new(),
    };
    let mut parameters = operation.map(|o| o.parameters.iter());
    let mut has_out = false;
    for name in &renamed.parameters {
        let ty = &renamed.locals[name];
        let slot = Slot::Local(method.function.clone(), name.clone());
        let is_object = matches!(innermost(ty), Type::Struct(id) if objects.contains(id));
        if is_object {
            head.passed.push(Passed::Object);
        } else if ty.pointee().is_some_and(Type::is_scalar) {
            has_out = true;
            head.passed.push(Passed::Out);
            head.data.push(slot);
        } else {
            head.passed.push(Passed::Value);
            match parameters.as_mut().map(Iterator::next) {
                Some(Some(Kind::Data)) => head.data.push(slot),
                Some(Some(Kind::Truth)) => head.truth.push(slot),
                Some(Some(Kind::Number)) | None => head.given.push(slot),
                Some(None) => {
                    return refused(
                        span,
                        "more parameters than the operation has",
                        "leave the object and its values",
                    );
                }
            }
        }
    }
    if parameters.is_some_and(|mut rest| rest.next().is_some()) {
        return refused(
            span,
            "fewer parameters than the operation has",
            "take its arguments as parameters",
        );
    }
    let own = Slot::Result(method.function.clone());
    let is_void = renamed.function.result == Type::Void;
    head.returns = match operation.map(|o| o.result) {
        Some(Some(Kind::Data)) if has_out => Return::Out {
            local: String::new(),
            some: None,
        },
        Some(Some(_)) if is_void => {
            return refused(
                span,
                "a method without the result of its operation",
                "return it",
            );
        }
        Some(Some(kind)) => {
            match kind {
                Kind::Data => head.data.push(own),
                Kind::Truth => head.truth.push(own),
                Kind::Number => {}
            }
            Return::Value(Sort::Value(kind))
        }
        Some(None) if is_void => Return::Nothing,
        Some(None) => Return::Same(None),
        None if is_void => Return::Nothing,
        None => Return::Value(Sort::Value(Kind::Number)),
    };
    Ok(head)
}
