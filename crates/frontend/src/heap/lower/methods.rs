//! *Methods*, `init` and the *specification*, and whether they fit together.

use palisade_program::Span;
use palisade_program::heap::{
    Body, Method, Operation, Role, Sequential, Shared, Specification, Type,
};

use super::body::{Builder, Kind};
use super::tables::{Tables, declared_twice};
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{self, Init, Name, OwnSpec, Spec};
use crate::pal::suggest;

/// `init`, if there is one.
pub(super) fn init(
    tables: &Tables<'_>,
    inits: &[Init],
    items: &mut Vec<Diagnostic>,
) -> Option<Body> {
    sequential_init(tables, &tables.shared, inits, items)
}

fn sequential_init(
    tables: &Tables<'_>,
    shared: &[Shared],
    inits: &[Init],
    items: &mut Vec<Diagnostic>,
) -> Option<Body> {
    let (first, more) = inits.split_first()?;
    for one in more {
        let error = Diagnostic::error(one.span, "a second `init`").label("one stands above");
        items.push(error.help("join them"));
    }
    let mut builder = Builder::new(tables, shared, Kind::Sequential, None, items);
    builder.statements(&first.body);
    Some(builder.finish(first.span))
}

/// The specification; `None` if it is missing or wrong.
pub(super) fn specification(
    tables: &Tables<'_>,
    specs: &[Spec],
    items: &mut Vec<Diagnostic>,
) -> Option<Specification> {
    let Some((first, more)) = specs.split_first() else {
        let error = Diagnostic::error(Span::default(), "there is no specification")
            .help("say what calls should do one at a time: `spec stack;`, `queue`, `set`, `none`, or `spec { ... }`");
        items.push(error);
        return None;
    };
    for one in more {
        let span = match one {
            Spec::Named(name) => name.span,
            Spec::Own(own) => own.span,
        };
        let error = Diagnostic::error(span, "a second specification").label("one stands above");
        items.push(error.help("remove one of them"));
    }
    match first {
        Spec::Named(name) => named(name, items),
        Spec::Own(own) => Some(Specification::Own(Box::new(own_spec(tables, own, items)))),
    }
}

fn named(name: &Name, items: &mut Vec<Diagnostic>) -> Option<Specification> {
    match name.text.as_str() {
        "stack" => Some(Specification::Stack),
        "queue" => Some(Specification::Queue),
        "set" => Some(Specification::Set),
        "none" => Some(Specification::Nothing),
        other => {
            let known = ["stack", "queue", "set", "none"];
            let help = match suggest::nearest(other, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    "there are stack, queue, set and none; others are written out: `spec { ... }`"
                        .to_owned()
                }
            };
            let message = format!("unknown specification `{other}`");
            let error = Diagnostic::error(name.span, message).label("unknown");
            items.push(error.help(help));
            None
        }
    }
}

fn own_spec(tables: &Tables<'_>, own: &OwnSpec, items: &mut Vec<Diagnostic>) -> Sequential {
    let shared = tables.shared(&own.shared, items);
    let init = sequential_init(tables, &shared, &own.inits, items);
    let mut operations: Vec<Method> = Vec::new();
    for (index, operation) in own.operations.iter().enumerate() {
        if operations.iter().any(|o| o.name == operation.name.text) {
            declared_twice(&operation.name, "operation", items);
        }
        if let Some(name) = &operation.operation {
            let error = Diagnostic::error(name.span, "an operation is none of another")
                .label("`as` belongs to methods");
            items.push(error.help("remove it"));
        }
        if let Some(name) = &operation.role {
            let error = Diagnostic::error(name.span, "an operation has no role")
                .label("`by` belongs to methods");
            items.push(error.help("remove it"));
        }
        let lowered = method(tables, &shared, Kind::Sequential, operation, items);
        operations.extend(lowered.map(|lowered| Method {
            operation: Operation::Own(index),
            ..lowered
        }));
    }
    Sequential {
        shared,
        init,
        operations,
    }
}

/// The methods of the program.
pub(super) fn methods(
    tables: &Tables<'_>,
    specification: &Specification,
    methods: &[ast::Method],
    items: &mut Vec<Diagnostic>,
) -> (Vec<Method>, Vec<String>) {
    if methods.is_empty() {
        let error = Diagnostic::error(Span::default(), "there is no method")
            .help("write `method push(data v) { ... }`");
        items.push(error);
    }
    let mut all: Vec<Method> = Vec::new();
    let mut roles: Vec<String> = Vec::new();
    for one in methods {
        if all.iter().any(|m| m.name == one.name.text) {
            declared_twice(&one.name, "method", items);
        }
        let lowered = method(tables, &tables.shared, Kind::Method, one, items);
        let Some(lowered) = lowered else { continue };
        let operation = operation(specification, one, &lowered, items);
        let role = one.role.as_ref().map(|name| {
            let known = roles.iter().position(|role| *role == name.text);
            known.unwrap_or_else(|| {
                roles.push(name.text.clone());
                roles.len() - 1
            })
        });
        all.extend(operation.map(|operation| Method {
            operation,
            role,
            ..lowered
        }));
    }
    (all, roles)
}

fn method(
    tables: &Tables<'_>,
    shared: &[Shared],
    kind: Kind,
    method: &ast::Method,
    items: &mut Vec<Diagnostic>,
) -> Option<Method> {
    let returns = match &method.returns {
        None => None,
        Some(ty) => {
            let found = tables.ty(ty, items)?;
            Some(value_type(found, ty.span, items)?)
        }
    };
    let mut builder = Builder::new(tables, shared, kind, returns, items);
    for ast::Parameter { ty, name, .. } in &method.parameters {
        let variable = builder.declare(ty, name, Role::Parameter)?;
        value_type(variable.ty, ty.span, builder.items)?;
    }
    let parameters = builder.body.locals.len();
    if kind == Kind::Method {
        builder.declare_kept();
    }
    builder.statements(&method.body);
    Some(Method {
        name: method.name.text.clone(),
        operation: Operation::Unspecified,
        parameters,
        returns,
        role: None,
        body: builder.finish(method.end),
        span: method.span,
    })
}

/// The type of a parameter or result.
fn value_type(ty: super::Ty, span: Span, items: &mut Vec<Diagnostic>) -> Option<Type> {
    match (ty.base, ty.tag) {
        (base @ (Type::Data | Type::Int | Type::Bool), None) => Some(base),
        (Type::Data | Type::Int | Type::Bool | Type::Lock | Type::Pointer(_), _) => {
            let error = Diagnostic::error(span, "callers have no nodes and no locks")
                .label("not a value")
                .help("parameters and results are data, int or bool");
            items.push(error);
            None
        }
    }
}

/// Names of operations of the built-in specifications.
const STACK: &[(&str, Operation)] = &[("push", Operation::Push), ("pop", Operation::Pop)];
const QUEUE: &[(&str, Operation)] = &[
    ("enqueue", Operation::Enqueue),
    ("dequeue", Operation::Dequeue),
    ("enq", Operation::Enqueue),
    ("deq", Operation::Dequeue),
];
const SET: &[(&str, Operation)] = &[
    ("add", Operation::Add),
    ("remove", Operation::Remove),
    ("contains", Operation::Contains),
    ("insert", Operation::Add),
    ("delete", Operation::Remove),
    ("member", Operation::Contains),
];

/// What a method is in the specification.
fn operation(
    specification: &Specification,
    method: &ast::Method,
    lowered: &Method,
    items: &mut Vec<Diagnostic>,
) -> Option<Operation> {
    let name = method.operation.as_ref().unwrap_or(&method.name);
    let own: Vec<(&str, Operation)>;
    let known: &[(&str, Operation)] = match specification {
        Specification::Stack => STACK,
        Specification::Queue => QUEUE,
        Specification::Set => SET,
        Specification::Nothing => return Some(Operation::Unspecified),
        Specification::Own(sequential) => {
            let named = sequential.operations.iter();
            own = named.map(|o| (o.name.as_str(), o.operation)).collect();
            &own
        }
    };
    let Some((_, operation)) = known.iter().find(|(known, _)| *known == name.text) else {
        let names: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
        let message = format!("the specification has no operation `{}`", name.text);
        let error = Diagnostic::error(name.span, message)
            .label("what should it do?")
            .help(format!(
                "it has {}: write `method {}(...) as ...`",
                names.join(", "),
                method.name.text
            ));
        items.push(error);
        return None;
    };
    let wanted = signature(specification, *operation);
    let parameters: Vec<Type> = parameter_types(lowered);
    if wanted != (parameters, lowered.returns) {
        let error = Diagnostic::error(method.span, format!("`{}` has another head", name.text))
            .label("parameters or result differ")
            .help(format!(
                "the specification says {}",
                head(&name.text, &wanted)
            ));
        items.push(error);
        return None;
    }
    Some(*operation)
}

fn parameter_types(method: &Method) -> Vec<Type> {
    let locals = &method.body.locals[..method.parameters];
    locals.iter().map(|local| local.ty).collect()
}

type Signature = (Vec<Type>, Option<Type>);

fn signature(specification: &Specification, operation: Operation) -> Signature {
    match operation {
        Operation::Push | Operation::Enqueue => (vec![Type::Data], None),
        Operation::Pop | Operation::Dequeue => (Vec::new(), Some(Type::Data)),
        Operation::Add | Operation::Remove | Operation::Contains => {
            (vec![Type::Data], Some(Type::Bool))
        }
        Operation::Own(index) => match specification {
            Specification::Own(sequential) => {
                let own = sequential.operations.get(index);
                own.map_or((Vec::new(), None), |o| (parameter_types(o), o.returns))
            }
            Specification::Stack
            | Specification::Queue
            | Specification::Set
            | Specification::Nothing => (Vec::new(), None),
        },
        Operation::Unspecified => (Vec::new(), None),
    }
}

fn head(name: &str, (parameters, returns): &Signature) -> String {
    let word = |ty: &Type| match ty {
        Type::Data => "data",
        Type::Int => "int",
        Type::Bool => "bool",
        Type::Lock | Type::Pointer(_) => "?",
    };
    let parameters: Vec<&str> = parameters.iter().map(word).collect();
    let returns = returns.as_ref().map(|ty| format!(" returns {}", word(ty)));
    format!(
        "`{name}({}){}`",
        parameters.join(", "),
        returns.unwrap_or_default()
    )
}
