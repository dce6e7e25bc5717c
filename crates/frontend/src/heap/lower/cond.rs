//! *Conditions*: branches of the control-flow graph, with short circuits; and the
//! conditions of ghosts (`commit when`, `never`), which read without a step.

use palisade_program::heap::{Cond, Place, Step, Tag, Term, Type};
use palisade_program::{LocId, SharedId, Span};

use super::body::{Builder, Variable};
use super::functions::{Called, Wanted};
use super::tables::{Tables, element};
use super::value::Value;
use crate::diagnostic::Diagnostic;
use crate::heap::ast::{Cas, Compare, Expr, ExprKind, Name, Part, Path};

/// Whether the truth of an expression comes from a branch rather than from a word.
pub(super) const fn is_compound(expr: &Expr) -> bool {
    match expr.kind {
        ExprKind::Cas(..)
        | ExprKind::Not(_)
        | ExprKind::And(..)
        | ExprKind::Or(..)
        | ExprKind::Compare(..) => true,
        ExprKind::Null
        | ExprKind::Empty
        | ExprKind::Infinity(_)
        | ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Any
        | ExprKind::Path(_)
        | ExprKind::New(_)
        | ExprKind::Pack(..)
        | ExprKind::Swap(..)
        | ExprKind::Add(..)
        | ExprKind::Remainder(..)
        | ExprKind::Call(..) => false,
    }
}

/// Whether it is a `cas`, or the opposite of one.
pub(super) fn is_cas(expr: &Expr) -> bool {
    let mut inner = expr;
    while let ExprKind::Not(opposite) = &inner.kind {
        inner = opposite;
    }
    matches!(inner.kind, ExprKind::Cas(..))
}

impl Builder<'_> {
    /// From the current location to `yes` if the condition holds, to `no` otherwise.
    /// The current location is meaningless afterwards.
    pub(super) fn branch(&mut self, cond: &Expr, yes: LocId, no: LocId) {
        let span = cond.span;
        match &cond.kind {
            ExprKind::Not(inner) => self.branch(inner, no, yes),
            ExprKind::And(a, b) => {
                let next = self.fresh();
                self.branch(a, next, no);
                self.at = next;
                self.branch(b, yes, no);
            }
            ExprKind::Or(a, b) => {
                let next = self.fresh();
                self.branch(a, yes, next);
                self.at = next;
                self.branch(b, yes, no);
            }
            ExprKind::Any => {
                self.edge_to(yes, Step::Skip, span);
                self.edge_to(no, Step::Skip, span);
            }
            ExprKind::Bool(value) => {
                let to = if *value { yes } else { no };
                self.edge_to(to, Step::Skip, span);
            }
            ExprKind::Compare(op, a, b) => {
                let (Some(a), Some(b)) = (self.value(a, None), self.value(b, None)) else {
                    return;
                };
                if let Some(cond) = self.comparison(*op, a, b, span) {
                    self.assume_either(cond, yes, no, span);
                }
            }
            ExprKind::Cas(cas) => self.cas(cas, yes, no, span),
            ExprKind::Call(name, arguments) => {
                match self.call(name, arguments, Wanted::Branch(yes, no)) {
                    Called::Value(value) => {
                        if self.fits(value, super::Ty::plain(Type::Bool), span) {
                            self.assume_either(Cond::Holds(value.term), yes, no, span);
                        }
                    }
                    Called::Nothing => self.no_result(name, span),
                    Called::Branched | Called::Wrong => {}
                }
            }
            ExprKind::Null
            | ExprKind::Empty
            | ExprKind::Infinity(_)
            | ExprKind::Int(_)
            | ExprKind::Path(_)
            | ExprKind::New(_)
            | ExprKind::Pack(..)
            | ExprKind::Swap(..)
            | ExprKind::Add(..)
            | ExprKind::Remainder(..) => {
                if let Some(value) = self.value_of(cond, super::Ty::plain(Type::Bool)) {
                    self.assume_either(Cond::Holds(value.term), yes, no, span);
                }
            }
        }
    }

    /// Two opposite edges; a conjunction or disjunction is split, so that edges carry
    /// single comparisons.
    fn assume_either(&mut self, cond: Cond, yes: LocId, no: LocId, span: Span) {
        match cond {
            Cond::And(a, b) => {
                let next = self.fresh();
                self.assume_either(*a, next, no, span);
                self.at = next;
                self.assume_either(*b, yes, no, span);
            }
            Cond::Not(inner) if matches!(*inner, Cond::And(..)) => {
                self.assume_either(*inner, no, yes, span);
            }
            cond @ (Cond::True
            | Cond::Holds(_)
            | Cond::Eq(..)
            | Cond::Less(..)
            | Cond::Not(_)
            | Cond::Or(..)) => {
                self.edge_to(yes, Step::Assume(cond.clone()), span);
                self.edge_to(no, Step::Assume(cond.negated()), span);
            }
        }
    }

    fn cas(&mut self, cas: &Cas, yes: LocId, no: LocId, span: Span) {
        let Cas {
            place, expect, new, ..
        } = cas;
        let Some((spot, ty)) = self.place(place) else {
            return;
        };
        if ty.base == Type::Lock {
            let error = Diagnostic::error(place.span, "a lock cannot be swapped")
                .label("a lock")
                .help("use `lock(l);`, or a `bool` instead of the lock");
            self.items.push(error);
            return;
        }
        let (Some(expect), Some(new)) = (self.fitting(expect, ty), self.fitting(new, ty)) else {
            return;
        };
        let found = match &cas.found {
            None => None,
            Some(path) => match self.found(path, ty) {
                None => return,
                some => some,
            },
        };
        self.branch_each(&spot, span, |builder, at| {
            if cas.is_weak {
                let next = builder.failed(no, at, found, false, span);
                builder.edge_to(next, Step::Skip, span);
            }
            let fails = builder.failed(no, at, found, true, span);
            for (to, success) in [(yes, true), (fails, false)] {
                let step = Step::Cas {
                    at,
                    expect: expect.term,
                    expect_tag: expect.tag,
                    new: new.term,
                    new_tag: new.tag,
                    success,
                };
                builder.edge_to(to, step, span);
            }
        });
    }

    /// The local that gets what a failing `cas` has found.
    fn found(&mut self, path: &Path, ty: super::Ty) -> Option<Variable> {
        let local = match path.parts.as_slice() {
            [] => self.lookup(&path.base.text).filter(|local| local.ty == ty),
            _ => None,
        };
        if local.is_none() {
            let error = Diagnostic::error(path.span, "what was found cannot be kept here")
                .label("no local of the type of the place");
            self.items.push(error.help("give a local variable"));
        }
        local
    }

    /// Where a failing `cas` goes: to `no`, by a read of what it has found. `in_one`: together with it.
    fn failed(
        &mut self,
        no: LocId,
        at: Place,
        found: Option<Variable>,
        in_one: bool,
        span: Span,
    ) -> LocId {
        let Some(found) = found else {
            return no;
        };
        let here = self.at;
        self.atomic += u32::from(in_one);
        let start = self.fresh();
        self.atomic -= u32::from(in_one);
        self.at = start;
        let read = Step::Read {
            to: found.id,
            tag: found.tag,
            from: at,
        };
        self.edge_to(no, read, span);
        self.at = here;
        start
    }

    fn comparison(&mut self, op: Compare, a: Value, b: Value, span: Span) -> Option<Cond> {
        compare(op, a, b).or_else(|| {
            self.items.push(uncomparable(span));
            None
        })
    }

    /// A value that a ghost may look at: a constant, a local or its part, a shared
    /// variable.
    fn ghost_value(&mut self, expr: &Expr) -> Option<Value> {
        if let ExprKind::Path(path) = &expr.kind {
            let shared = shared_named(self.shared, path);
            if self.lookup(&path.base.text).is_none()
                && let Some(value) = shared
            {
                return Some(value);
            }
            if let (Some(variable), Some(fields)) = (self.lookup(&path.base.text), path.fields())
                && let Some(value) = ghost_part(variable, &fields)
            {
                return Some(value);
            }
        } else if is_constant(expr) {
            return self.value(expr, None);
        } else if let ExprKind::Add(left, right, minus) = &expr.kind
            && let Some(by) = right.number()
            && let Some(by) = if *minus { by.checked_neg() } else { Some(by) }
            && let Some(value) = self.ghost_value(left)
            && let Term::Local(id) = value.term
            && value.ty == Some(super::Ty::plain(Type::Int))
        {
            return Some(Value::plain(Term::Plus(id, by), Type::Int));
        }
        self.items
            .push(no_ghost(expr.span, "locals, shared variables"));
        None
    }
}

fn is_constant(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Null
            | ExprKind::Empty
            | ExprKind::Infinity(_)
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
    )
}

/// A shared variable as a ghost sees it: without its tag.
fn shared_named(shared: &[palisade_program::heap::Shared], path: &Path) -> Option<Value> {
    let (name, rest) = match path.parts.as_slice() {
        [Part::Index(index), rest @ ..] => {
            let number = usize::try_from(index.number()?).ok()?;
            (element(&path.base.text, number), rest)
        }
        rest => (path.base.text.clone(), rest),
    };
    let index = shared.iter().position(|s| s.name == name)?;
    let whole = match rest {
        [] => true,
        [Part::Field(field)] => field.text == "ptr",
        _ => false,
    };
    let ty = shared[index].ty;
    (whole && ty != Type::Lock).then(|| Value {
        term: Term::Shared(SharedId::from(index)),
        tag: None,
        ty: Some(super::Ty::plain(ty)),
    })
}

/// A local, or a part of it, without a step.
fn ghost_part(variable: Variable, fields: &[&Name]) -> Option<Value> {
    let tag = |kind: Tag| {
        let id = variable.tag.filter(|_| variable.ty.tag == Some(kind))?;
        Some(Value::plain(Term::Local(id), kind.ty()))
    };
    match fields {
        [] => Some(Value::local(variable)),
        [name] => match name.text.as_str() {
            "mark" => tag(Tag::Mark),
            "count" => tag(Tag::Count),
            "ptr" if variable.ty.tag.is_some() => {
                Some(Value::plain(Term::Local(variable.id), variable.ty.base))
            }
            _ => None,
        },
        _ => None,
    }
}

fn no_ghost(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(span, "this cannot be looked at here")
        .label("would need a step of its own")
        .help(format!("compare {what} and constants"))
}

fn uncomparable(span: Span) -> Diagnostic {
    Diagnostic::error(span, "these cannot be compared")
        .label("different types, or no order")
        .help("compare values of one type; `<` is for int and data")
}

/// The comparison of two values; a packed pointer is equal only with its tag, but may
/// be compared with `null` and with plain pointers.
fn compare(op: Compare, a: Value, b: Value) -> Option<Cond> {
    let pointer = |v: Value| v.ty.is_none_or(|ty| matches!(ty.base, Type::Pointer(_)));
    let same = match (a.ty, b.ty) {
        (Some(x), Some(y)) => {
            x.base == y.base && (x.tag == y.tag || x.tag.is_none() || y.tag.is_none())
        }
        (None, _) | (_, None) => pointer(a) && pointer(b),
    };
    let ordered = |v: Value| {
        v.ty.is_some_and(|ty| matches!(ty.base, Type::Int | Type::Data))
    };
    let lock = |v: Value| v.ty.is_some_and(|ty| ty.base == Type::Lock);
    if !same || lock(a) {
        return None;
    }
    let equal = match (a.tag, b.tag) {
        (Some(x), Some(y)) => {
            Cond::And(Box::new(Cond::Eq(a.term, b.term)), Box::new(Cond::Eq(x, y)))
        }
        (_, None) | (None, _) => Cond::Eq(a.term, b.term),
    };
    match op {
        Compare::Eq => Some(equal),
        Compare::Ne => Some(equal.negated()),
        Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge if !ordered(a) => None,
        Compare::Lt => Some(Cond::Less(a.term, b.term)),
        Compare::Ge => Some(Cond::Less(a.term, b.term).negated()),
        Compare::Gt => Some(Cond::Less(b.term, a.term)),
        Compare::Le => Some(Cond::Less(b.term, a.term).negated()),
    }
}

/// The condition of a commit.
pub(super) fn ghost(builder: &mut Builder<'_>, expr: &Expr) -> Option<Cond> {
    formula(expr, &mut |expr| match expr {
        Leaf::Value(expr) => builder.ghost_value(expr),
        Leaf::Refused(span) => {
            builder
                .items
                .push(no_ghost(span, "locals, shared variables"));
            None
        }
        Leaf::Uncomparable(span) => {
            builder.items.push(uncomparable(span));
            None
        }
    })
}

/// The condition of a `never`.
pub(super) fn never(tables: &Tables<'_>, expr: &Expr, items: &mut Vec<Diagnostic>) -> Option<Cond> {
    formula(expr, &mut |leaf| match leaf {
        Leaf::Value(expr) => {
            let value = match &expr.kind {
                ExprKind::Path(path) => shared_named(&tables.shared, path),
                _ => constant(expr),
            };
            if value.is_none() {
                items.push(no_ghost(expr.span, "shared variables"));
            }
            value
        }
        Leaf::Refused(span) => {
            items.push(no_ghost(span, "shared variables"));
            None
        }
        Leaf::Uncomparable(span) => {
            items.push(uncomparable(span));
            None
        }
    })
}

fn constant(expr: &Expr) -> Option<Value> {
    let (term, base) = match expr.kind {
        ExprKind::Null => {
            return Some(Value {
                term: Term::Null,
                tag: None,
                ty: None,
            });
        }
        ExprKind::Empty => (Term::Empty, Type::Data),
        ExprKind::Infinity(positive) => (Term::Infinity(positive), Type::Data),
        ExprKind::Bool(value) => (Term::Bool(value), Type::Bool),
        ExprKind::Int(value) => (Term::Int(value), Type::Int),
        _ => return None,
    };
    Some(Value {
        term,
        tag: None,
        ty: Some(super::Ty::plain(base)),
    })
}

/// What a formula asks its leaves about.
enum Leaf<'a> {
    Value(&'a Expr),
    Refused(Span),
    Uncomparable(Span),
}

/// A condition without steps; `leaf` finds values and reports what is wrong.
fn formula(expr: &Expr, leaf: &mut dyn FnMut(Leaf<'_>) -> Option<Value>) -> Option<Cond> {
    match &expr.kind {
        ExprKind::Not(inner) => formula(inner, leaf).map(Cond::negated),
        ExprKind::And(a, b) => {
            let (a, b) = (formula(a, leaf), formula(b, leaf));
            Some(Cond::And(Box::new(a?), Box::new(b?)))
        }
        ExprKind::Or(a, b) => {
            let (a, b) = (formula(a, leaf), formula(b, leaf));
            Some(Cond::Or(Box::new(a?), Box::new(b?)))
        }
        ExprKind::Bool(true) => Some(Cond::True),
        ExprKind::Bool(false) => Some(Cond::True.negated()),
        ExprKind::Compare(op, a, b) => {
            let a = leaf(Leaf::Value(a))?;
            let b = leaf(Leaf::Value(b))?;
            let found = compare(*op, a, b);
            if found.is_none() {
                leaf(Leaf::Uncomparable(expr.span));
            }
            found
        }
        ExprKind::Path(_) => {
            let value = leaf(Leaf::Value(expr))?;
            if value.ty.is_some_and(|ty| ty.base == Type::Bool) {
                return Some(Cond::Holds(value.term));
            }
            leaf(Leaf::Refused(expr.span));
            None
        }
        ExprKind::Null
        | ExprKind::Empty
        | ExprKind::Infinity(_)
        | ExprKind::Int(_)
        | ExprKind::Any
        | ExprKind::New(_)
        | ExprKind::Pack(..)
        | ExprKind::Cas(..)
        | ExprKind::Swap(..)
        | ExprKind::Add(..)
        | ExprKind::Remainder(..)
        | ExprKind::Call(..) => {
            leaf(Leaf::Refused(expr.span));
            None
        }
    }
}
