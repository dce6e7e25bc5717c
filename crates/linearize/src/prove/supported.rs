//! What is *supported*: which structs, steps, conditions and arguments the model can express.
//! Anything else is [`Unsupported`], with its place; nothing is guessed.

use palisade_program::heap::{Body, Commit, Cond, Place, Program, Specification, Step, Term, Type};
use palisade_program::{FieldId, LocalId, Span, StructId};

use super::fragment::{Fragment, Sequence, word};
use super::places::assigns;

/// What the proof side cannot express.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// What.
    pub what: String,
    /// Where.
    pub span: Span,
}

pub(crate) fn refuse<T>(what: &str, span: Span) -> Result<T, Unsupported> {
    Err(Unsupported {
        what: what.to_owned(),
        span,
    })
}

/// The sequence that the specification keeps.
pub(super) fn sequence(program: &Program) -> Result<Sequence, Unsupported> {
    // What a set holds, and what a program of one's own does, depends on comparing and counting
    // values, of which the model says nothing.
    match &program.specification {
        Specification::Stack => Ok(Sequence::Stack),
        Specification::Queue => Ok(Sequence::Queue),
        Specification::Nothing => Ok(Sequence::Nothing),
        Specification::Set => refuse("the specification `set`", Span::default()),
        Specification::Own(_) => refuse("a specification of one's own", Span::default()),
    }
}

impl Fragment<'_> {
    /// The variable whose node holds the argument: written into it at one place, and
    /// allocated at one place.
    pub(super) fn mine(&self, index: usize) -> Result<usize, Unsupported> {
        let method = &self.program.methods[index];
        let parameter = LocalId::from(0);
        let mut holder = None;
        for edge in &method.body.edges {
            if let Step::Write {
                to: Place::Field { of, .. },
                value: Term::Local(value),
                ..
            } = &edge.step
                && *value == parameter
            {
                // The same statement may be there in several copies.
                if holder.is_some_and(|holder| holder != (*of, edge.span)) {
                    return refuse("an argument that is stored at two places", edge.span);
                }
                holder = Some((*of, edge.span));
            }
        }
        let Some((holder, _)) = holder else {
            return refuse("an argument that is not stored in a node", method.span);
        };
        let mut definitions = method
            .body
            .edges
            .iter()
            .filter(|e| assigns(&e.step, holder));
        let first = definitions.next();
        let fresh = first.is_some_and(|e| matches!(e.step, Step::New { .. }));
        if !fresh || definitions.any(|e| Some(e.span) != first.map(|first| first.span)) {
            return refuse(
                "an argument stored in a node that is not its own",
                method.span,
            );
        }
        match self.variable(index, holder) {
            Some(variable) => Ok(variable),
            None => refuse("an argument that is not stored in a node", method.span),
        }
    }

    pub(super) fn step(&self, body: &Body, step: &Step, span: Span) -> Result<(), Unsupported> {
        let data = |id: LocalId| body.locals[id.index()].ty == Type::Data;
        match step {
            Step::Skip
            | Step::Fence
            | Step::New { .. }
            | Step::Fail(_)
            | Step::Free(_)
            | Step::Lock(Place::Shared(_))
            | Step::Unlock(Place::Shared(_)) => Ok(()),
            Step::Lock(Place::Field { .. }) | Step::Unlock(Place::Field { .. }) => {
                refuse("a lock in a node", span)
            }
            Step::Assume(cond) => {
                let mut found = false;
                cond.for_each_term(&mut |term| {
                    found |= matches!(term, Term::Local(id) if data(id))
                        || matches!(term, Term::Empty | Term::Infinity(_) | Term::Undefined);
                });
                if found {
                    return refuse("a comparison of data", span);
                }
                pointers_only(cond, span)
            }
            Step::Assign { value, .. } => match value {
                Term::Null | Term::Local(_) => Ok(()),
                Term::Empty
                | Term::Infinity(_)
                | Term::Undefined
                | Term::Bool(_)
                | Term::Int(_)
                | Term::Plus(..)
                | Term::Shared(_) => refuse("such an assignment", span),
            },
            Step::Havoc { .. } => refuse("`*`", span),
            Step::Compute { .. } => refuse("such a computation", span),
            Step::Read { tag, .. } => match tag {
                None => Ok(()),
                Some(_) => refuse("a mark or counter", span),
            },
            Step::Write { to, value, .. } => {
                let parameter = matches!(value, Term::Local(id) if data(*id) && id.index() == 0);
                let link = match to {
                    Place::Shared(_) => true,
                    Place::Field { field, .. } => *field == self.link.0,
                };
                match value {
                    Term::Null if link => Ok(()),
                    Term::Local(id) if link != data(*id) => {
                        if link || parameter {
                            Ok(())
                        } else {
                            refuse("data written that is not the argument", span)
                        }
                    }
                    _ => refuse("such a write", span),
                }
            }
            Step::Cas {
                at, expect, new, ..
            } => {
                let fine = |t: &Term| matches!(t, Term::Null | Term::Local(_));
                let link = match at {
                    Place::Shared(_) => true,
                    Place::Field { field, .. } => *field == self.link.0,
                };
                if fine(expect) && fine(new) && link {
                    Ok(())
                } else {
                    refuse("such a cas", span)
                }
            }
            Step::Return(value) => match value {
                None | Some(Term::Local(_) | Term::Empty) => Ok(()),
                Some(_) => refuse("such a result", span),
            },
        }
    }
}

/// Whether the step changes the local, or hands its value on to another local or the caller.
pub(super) fn touches(step: &Step, local: LocalId) -> bool {
    let value = Term::Local(local);
    let copied = matches!(step, Step::Assign { value: of, .. } if *of == value);
    let handed = copied || step.returned() == Some(value);
    handed || assigns(step, local)
}

/// `*`, or a branch that depends on it.
pub fn free_choice(step: &Step) -> bool {
    let on_choice = |cond: &Cond| match cond {
        Cond::Holds(Term::Local(_)) => true,
        Cond::Not(inner) => matches!(**inner, Cond::Holds(Term::Local(_))),
        Cond::True
        | Cond::Eq(..)
        | Cond::Less(..)
        | Cond::And(..)
        | Cond::Or(..)
        | Cond::Holds(_) => false,
    };
    matches!(step, Step::Havoc { .. }) || step.assumed().is_some_and(on_choice)
}

pub(super) fn link(program: &Program) -> Result<(FieldId, String), Unsupported> {
    let [only] = program.structs.as_slice() else {
        return refuse("more or less than one struct", Span::default());
    };
    let mut link = None;
    let mut values = 0;
    for (index, field) in only.fields.iter().enumerate() {
        match field.ty {
            Type::Pointer(to) if to == StructId::from(0) && link.is_none() => {
                link = Some((FieldId::from(index), format!("f.{}", word(&field.name))));
            }
            Type::Data if values == 0 => values = 1,
            Type::Pointer(_) | Type::Data => {
                return refuse("another field of that type", field.span);
            }
            Type::Int | Type::Bool => return refuse("a field of type int or bool", field.span),
            Type::Lock => return refuse("a lock in a node", field.span),
        }
    }
    match link {
        Some(link) => Ok(link),
        None => refuse("a struct without a pointer field", only.span),
    }
}

pub(super) fn pointers_only(cond: &Cond, span: Span) -> Result<(), Unsupported> {
    match cond {
        Cond::True => Ok(()),
        Cond::Eq(a, b) => {
            let fine = |t: &Term| matches!(t, Term::Null | Term::Local(_) | Term::Shared(_));
            if fine(a) && fine(b) {
                Ok(())
            } else {
                refuse("such a comparison", span)
            }
        }
        Cond::Not(inner) => pointers_only(inner, span),
        Cond::And(a, b) | Cond::Or(a, b) => {
            pointers_only(a, span)?;
            pointers_only(b, span)
        }
        Cond::Holds(_) | Cond::Less(..) => refuse("such a condition", span),
    }
}

pub(super) fn commits(commit: &Commit) -> Result<(), Unsupported> {
    pointers_only(&commit.when, commit.span)
}
