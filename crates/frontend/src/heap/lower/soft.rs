//! *Soft invariants* of the text: `soft p.next == q when done;`. They are said of a thread
//! in front of its next step; names and types are checked here, whether they are true is
//! nobody's business but the proof's.

use palisade_program::heap::Type;
use palisade_program::heap::soft::{Fact, Literal, Soft};
use palisade_program::{SharedId, Span};

use super::body::{Builder, Kind, Variable};
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{self, Compare, Expr, ExprKind, FactKind, Name, Path};

const FORMS: &str = "write a comparison such as `x != null`, `x == y`, `x == top`, `x.next == y`, \
    or one of done, nothing, noted, entered(x), left(x), written(x), first(x), last(x), \
    result(x), was(g, x), reaches(g, x), holds(l)";

/// Adds a soft invariant to the body.
pub(super) fn lower(
    builder: &mut Builder<'_>,
    then: &ast::Fact,
    when: Option<&ast::Fact>,
    span: Span,
) {
    if builder.kind == Kind::Sequential {
        let error = Diagnostic::error(span, "a soft invariant outside a method")
            .label("no thread of the data structure is here");
        builder.items.push(error.help("remove it"));
        return;
    }
    let Some(then) = literal(builder, then) else {
        return;
    };
    let when = match when {
        None => None,
        Some(when) => match literal(builder, when) {
            None => return,
            found => found,
        },
    };
    let at = builder.at;
    builder.body.softs.push(Soft {
        at,
        then,
        when,
        span,
    });
}

fn literal(builder: &mut Builder<'_>, fact: &ast::Fact) -> Option<Literal> {
    let mut found = match &fact.kind {
        FactKind::Word(word, arguments) => Literal {
            fact: word_fact(builder, word, arguments)?,
            holds: true,
        },
        FactKind::Compare(expr) => comparison(builder, expr)?,
    };
    found.holds ^= fact.negated;
    Some(found)
}

fn refuse<T>(builder: &mut Builder<'_>, span: Span, message: &str) -> Option<T> {
    let error = Diagnostic::error(span, message)
        .label("not of the form that the proof knows")
        .help(FORMS);
    builder.items.push(error);
    None
}

fn word_fact(builder: &mut Builder<'_>, word: &Name, arguments: &[Name]) -> Option<Fact> {
    match (word.text.as_str(), arguments) {
        ("done", []) => Some(Fact::Done),
        ("nothing", []) => Some(Fact::Nothing),
        ("noted", []) => Some(Fact::Noted),
        ("entered", [x]) => pointer(builder, x).map(|x| Fact::Entered(x.id)),
        ("left", [x]) => pointer(builder, x).map(|x| Fact::Left(x.id)),
        ("written", [x]) => pointer(builder, x).map(|x| Fact::Written(x.id)),
        ("first", [x]) => pointer(builder, x).map(|x| Fact::First(x.id)),
        ("last", [x]) => pointer(builder, x).map(|x| Fact::Last(x.id)),
        ("result", [x]) => local(builder, x).map(|x| Fact::Result(x.id)),
        ("was", [g, x]) => {
            let shared = shared_pointer(builder, g)?;
            pointer(builder, x).map(|x| Fact::Was(shared, x.id))
        }
        ("reaches", [g, x]) => {
            let shared = shared_pointer(builder, g)?;
            pointer(builder, x).map(|x| Fact::Reaches(shared, x.id))
        }
        ("holds", [l]) => {
            let found = builder.shared.iter().position(|s| s.name == l.text);
            match found.filter(|&index| builder.shared[index].ty == Type::Lock) {
                Some(index) => Some(Fact::Holds(SharedId::from(index))),
                None => refuse(builder, l.span, "this is no shared lock"),
            }
        }
        _ => refuse(builder, word.span, "this cannot be said of a thread"),
    }
}

fn local(builder: &mut Builder<'_>, name: &Name) -> Option<Variable> {
    let found = builder.lookup(&name.text);
    if found.is_none() {
        if builder.shared.iter().any(|s| s.name == name.text) {
            return refuse(builder, name.span, "a local is asked for here");
        }
        builder.unknown(name);
    }
    found
}

fn pointer(builder: &mut Builder<'_>, name: &Name) -> Option<Variable> {
    let found = local(builder, name)?;
    if matches!(found.ty.base, Type::Pointer(_)) {
        Some(found)
    } else {
        refuse(builder, name.span, "a pointer is asked for here")
    }
}

fn shared_pointer(builder: &mut Builder<'_>, name: &Name) -> Option<SharedId> {
    let found = builder.shared.iter().position(|s| s.name == name.text);
    match found.filter(|&index| matches!(builder.shared[index].ty, Type::Pointer(_))) {
        Some(index) => Some(SharedId::from(index)),
        None => refuse(builder, name.span, "this is no shared pointer"),
    }
}

/// One side of a comparison.
enum Side<'a> {
    Null,
    Name(&'a Name),
    Field(&'a Path),
}

fn side(expr: &Expr) -> Option<Side<'_>> {
    match &expr.kind {
        ExprKind::Null => Some(Side::Null),
        ExprKind::Path(path) => match path.fields()?.len() {
            0 => Some(Side::Name(&path.base)),
            1 => Some(Side::Field(path)),
            _ => None,
        },
        _ => None,
    }
}

fn comparison(builder: &mut Builder<'_>, expr: &Expr) -> Option<Literal> {
    let (equal, left, right) = match &expr.kind {
        ExprKind::Compare(Compare::Eq, a, b) => (true, a, b),
        ExprKind::Compare(Compare::Ne, a, b) => (false, a, b),
        _ => return refuse(builder, expr.span, "this cannot be said of a thread"),
    };
    let (Some(left), Some(right)) = (side(left), side(right)) else {
        return refuse(builder, expr.span, "this cannot be said of a thread");
    };
    let (fact, holds) = match (left, right) {
        (Side::Name(x), Side::Null) | (Side::Null, Side::Name(x)) => {
            (Fact::NotNull(pointer(builder, x)?.id), !equal)
        }
        (Side::Field(path), Side::Null) | (Side::Null, Side::Field(path)) => {
            let (x, field) = link(builder, path)?;
            (Fact::Linked(x.id, field), !equal)
        }
        (Side::Field(path), Side::Name(y)) | (Side::Name(y), Side::Field(path)) => {
            (field_is(builder, path, y)?, equal)
        }
        (Side::Name(x), Side::Name(y)) => (names(builder, x, y)?, equal),
        (Side::Null, Side::Null) | (Side::Field(_), Side::Field(_)) => {
            return refuse(builder, expr.span, "this cannot be said of a thread");
        }
    };
    Some(Literal { fact, holds })
}

fn names(builder: &mut Builder<'_>, x: &Name, y: &Name) -> Option<Fact> {
    let is_local = |name: &Name| builder.lookup(&name.text).is_some();
    match (is_local(x), is_local(y)) {
        (true, true) => {
            let x = pointer(builder, x)?;
            Some(Fact::Same(x.id, pointer(builder, y)?.id))
        }
        (true, false) => {
            let g = shared_pointer(builder, y)?;
            Some(Fact::Is(pointer(builder, x)?.id, g))
        }
        (false, true) => names(builder, y, x),
        (false, false) => refuse(builder, x.span.to(y.span), "one side must be a local"),
    }
}

/// `x.next == y`, or `x.value == y` for data.
fn field_is(builder: &mut Builder<'_>, path: &Path, y: &Name) -> Option<Fact> {
    let other = local(builder, y)?;
    if other.ty.base != Type::Data {
        let (x, field) = link(builder, path)?;
        return Some(Fact::Next(x.id, field, pointer(builder, y)?.id));
    }
    let x = pointer(builder, &path.base)?;
    let name = *path.fields()?.first()?;
    let (field, ty) = builder.field_of(x, name)?;
    if ty.base == Type::Data {
        Some(Fact::Value(x.id, field, other.id))
    } else {
        refuse(builder, y.span, "a pointer is asked for here")
    }
}

/// `x.next`, a pointer field.
fn link(builder: &mut Builder<'_>, path: &Path) -> Option<(Variable, palisade_program::FieldId)> {
    let x = pointer(builder, &path.base)?;
    let name = *path.fields()?.first()?;
    let (field, ty) = builder.field_of(x, name)?;
    if matches!(ty.base, Type::Pointer(_)) {
        Some((x, field))
    } else {
        refuse(builder, name.span, "a pointer is asked for here")
    }
}
