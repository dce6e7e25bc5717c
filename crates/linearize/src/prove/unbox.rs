//! *Boxes*: nodes of a struct that has one field of type data, which is written before anybody else knows the box and
//! never again. A pointer to one is as good as the value in it, so the program is written with values in place of pointers.
//!
//! | before | after |
//! |---|---|
//! | `box b = new box; b.value = v; n.item = b;` | `b = v; n.item = b;` with `data item` |
//! | `b = t.item; v = b.value;` | `b = t.item; v = b;` |
//!
//! This has the same runs if nobody can tell: boxes are not compared, whether with each other or with null, and no
//! pointer that is followed to a box is null: a local is given one before it is used, and a field before
//! others know its node. Else the program stays as it is.

use palisade_program::heap::{Body, Cond, Place, Program, Specification, Step, Term, Type};
use palisade_program::{FieldId, LocalId, StructId};

use super::private::{Known, hands_on, known, written_field};
use crate::code::Code;

/// The program with values in place of boxes.
pub(super) fn unboxed(program: &Program) -> Program {
    let mut program = program.clone();
    // A specification of one's own may have boxes, too.
    if matches!(program.specification, Specification::Own(_)) {
        return program;
    }
    for of in (0..program.structs.len()).rev().map(StructId::from) {
        if is_box(&program, of) {
            replace(&mut program, of);
        }
    }
    program
}

fn bodies(program: &Program) -> impl Iterator<Item = &Body> {
    program.methods.iter().map(|m| &m.body).chain(&program.init)
}

/// Locals of a type.
fn locals(body: &Body, of: StructId) -> impl Iterator<Item = LocalId> + '_ {
    let all = (0..body.locals.len()).map(LocalId::from);
    all.filter(move |l| body.locals[l.index()].ty == Type::Pointer(of))
}

/// Whether pointers to the struct are as good as values.
fn is_box(program: &Program, of: StructId) -> bool {
    let boxed = Type::Pointer(of);
    let one = &program.structs[of.index()];
    let [only] = one.fields.as_slice() else {
        return false;
    };
    // Null is a value of shared variables, and of what threads keep.
    let outside =
        program.shared.iter().any(|s| s.ty == boxed) || program.kept.iter().any(|k| k.ty == boxed);
    let tagged = program
        .structs
        .iter()
        .flat_map(|s| &s.fields)
        .any(|f| f.ty == boxed && f.tag.is_some());
    let alone = program.methods.iter().all(|m| m.returns != Some(boxed))
        && bodies(program).all(|b| b.softs.is_empty());
    only.ty == Type::Data
        && !outside
        && !tagged
        && alone
        && bodies(program).all(|body| {
            locals(body, of).all(|local| is_local_box(body, local))
                && fields_are_given(program, body, boxed)
        })
}

/// Whether no box of the local is looked at otherwise than for what is in it, which is written first.
fn is_local_box(body: &Body, local: LocalId) -> bool {
    let live = Code::new(body);
    if live.live()[body.entry.index()][local.index()] {
        return false;
    }
    let known = known(body, local, &Known::OTHERS);
    body.edges.iter().zip(&known).all(|(edge, known)| {
        let Some(known) = known else { return true };
        let step = &edge.step;
        let compared = |cond: &Cond| {
            let mut found = false;
            cond.for_each_term(&mut |term| found |= term == Term::Local(local));
            found
        };
        if step.assumed().is_some_and(compared) || edge.commits.iter().any(|c| compared(&c.when)) {
            return false;
        }
        let field = FieldId::from(0);
        let followed = matches!(step.place(), Some(Place::Field { of, .. }) if of == local);
        let handed = hands_on(step, local) || followed && written_field(step, local).is_none();
        if handed && !known.has(field) || written_field(step, local).is_some() && known.public {
            return false;
        }
        match step {
            Step::Cas { expect, new, .. } => {
                ![expect, new].contains(&&Term::Local(local)) && !followed
            }
            Step::Lock(_) | Step::Unlock(_) => !followed,
            Step::Free(freed) => *freed != local,
            Step::Assign { to, value } if *to == local => matches!(value, Term::Local(_)),
            Step::Skip
            | Step::Fence
            | Step::Assume(_)
            | Step::Assign { .. }
            | Step::Havoc { .. }
            | Step::New { .. }
            | Step::Read { .. }
            | Step::Write { .. }
            | Step::Compute { .. }
            | Step::Fail(_)
            | Step::Return(_) => true,
        }
    })
}

/// Whether each field that holds a box is given one before others know its node, or it is read.
fn fields_are_given(program: &Program, body: &Body, boxed: Type) -> bool {
    let ids = (0..body.locals.len()).map(LocalId::from);
    ids.filter_map(|local| Some((local, body.pointee(local)?)))
        .all(|(local, of)| {
            let fields = program.structs[of.index()].fields.iter().enumerate();
            let mut fields = fields
                .filter(|(_, f)| f.ty == boxed)
                .map(|(k, _)| FieldId::from(k));
            let known = known(body, local, &Known::OTHERS);
            fields.all(|field| {
                body.edges.iter().zip(&known).all(|(edge, known)| {
                    let Some(known) = known else { return true };
                    let step = &edge.step;
                    let place = Some(Place::Field { of: local, field });
                    let read = step.place() == place && step.written().is_none();
                    let swapped = read && matches!(step, Step::Cas { .. });
                    let null = step
                        .written()
                        .is_some_and(|(at, value)| Some(at) == place && value.local().is_none());
                    let needed = read || hands_on(step, local);
                    (known.has(field) || !needed) && !swapped && !null
                })
            })
        })
}

fn replace(program: &mut Program, of: StructId) {
    let boxed = Type::Pointer(of);
    for field in program.structs.iter_mut().flat_map(|s| &mut s.fields) {
        if field.ty == boxed {
            field.ty = Type::Data;
        }
    }
    let bodies = program
        .methods
        .iter_mut()
        .map(|m| &mut m.body)
        .chain(&mut program.init);
    for body in bodies {
        let is_box: Vec<bool> = body.locals.iter().map(|l| l.ty == boxed).collect();
        let boxes = |place: Place| match place {
            Place::Field { of, .. } if is_box[of.index()] => Some(of),
            Place::Field { .. } | Place::Shared(_) => None,
        };
        for edge in &mut body.edges {
            let new = match &edge.step {
                Step::New { to } if is_box[to.index()] => Some(Step::Skip),
                Step::Read { to, from, .. } => boxes(*from).map(|of| Step::Assign {
                    to: *to,
                    value: Term::Local(of),
                }),
                Step::Write { to, value, .. } => boxes(*to).map(|of| Step::Assign {
                    to: of,
                    value: *value,
                }),
                Step::Skip
                | Step::Fence
                | Step::Assume(_)
                | Step::Assign { .. }
                | Step::Havoc { .. }
                | Step::New { .. }
                | Step::Cas { .. }
                | Step::Lock(_)
                | Step::Unlock(_)
                | Step::Free(_)
                | Step::Compute { .. }
                | Step::Fail(_)
                | Step::Return(_) => None,
            };
            edge.step = new.unwrap_or_else(|| edge.step.clone());
        }
        for local in &mut body.locals {
            if local.ty == boxed {
                local.ty = Type::Data;
            }
        }
    }
    remove(program, of);
}

/// Takes out a struct that nothing points to.
fn remove(program: &mut Program, of: StructId) {
    program.structs.remove(of.index());
    let renumbered = |ty: &mut Type| {
        if let Type::Pointer(id) = ty
            && id.index() > of.index()
        {
            *id = StructId::from(id.index() - 1);
        }
    };
    program
        .structs
        .iter_mut()
        .flat_map(|s| &mut s.fields)
        .for_each(|f| renumbered(&mut f.ty));
    program
        .shared
        .iter_mut()
        .for_each(|s| renumbered(&mut s.ty));
    program.kept.iter_mut().for_each(|k| renumbered(&mut k.ty));
    program
        .methods
        .iter_mut()
        .filter_map(|m| m.returns.as_mut())
        .for_each(renumbered);
    let bodies = program
        .methods
        .iter_mut()
        .map(|m| &mut m.body)
        .chain(&mut program.init);
    bodies
        .flat_map(|b| &mut b.locals)
        .for_each(|l| renumbered(&mut l.ty));
}
