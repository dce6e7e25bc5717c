//! *Initialisers*: which scalar of an object gets which expression, for variables of
//! functions (assigned when the declaration is reached) and for those that live as
//! long as the program (constants).

use std::collections::BTreeMap;
use std::rc::Rc;

use palisade_program::{Init, Span};

use super::assign::part_at;
use super::code::{Code, Lower};
use super::expr::unsupported;
use super::layout::{Cells, Layouts, Object};
use super::place::Place;
use super::value::Val;
use crate::c::ast::{Declaration, Designator, Expr, ExprKind, Initializer};
use crate::c::parser::constant;
use crate::c::types::{Bits, Type};
use crate::diagnostic::Diagnostic;

/// What a scalar is set to.
enum Source<'e> {
    Expr(&'e Expr),
    Number(i64),
}

/// Scalars by the byte that they start at; of bit-fields their unit's, and which they are.
type Plan<'e> = BTreeMap<(u64, Option<u8>), (Source<'e>, Option<Bits>)>;

impl Layouts<'_> {
    /// Fills `plan` for an object of type `ty` that starts at byte `at`.
    fn fill<'e>(
        &self,
        ty: &Type,
        at: u64,
        init: &'e Initializer,
        span: Span,
        plan: &mut Plan<'e>,
    ) -> Lower<()> {
        match (ty.plain(), init) {
            (Type::Opaque(_), init) => check_zero(init, span),
            (_, init) if self.is_union(ty) && is_zero(init) => Ok(()),
            (Type::Array(of, _), Initializer::Value(e)) => match &e.kind {
                ExprKind::Str(text) if of.is_integer() => {
                    let size = self.size(of, span)?;
                    for (k, c) in text.chars().enumerate() {
                        let number = char_value(c);
                        let at = (at + k as u64 * size, None);
                        plan.insert(at, (Source::Number(number), None));
                    }
                    Ok(())
                }
                _ => unsupported(e.span, "this initialiser of an array", "use a list"),
            },
            (ty, Initializer::Value(e)) => {
                let bits = match ty {
                    Type::Bits(bits) => Some(*bits),
                    _ => None,
                };
                plan.insert((at, bits.map(|b| b.shift)), (Source::Expr(e), bits));
                Ok(())
            }
            (Type::Struct(_) | Type::Array(..), Initializer::List(list, _)) => {
                let mut rest = list.as_slice();
                self.fill_list(ty, at, &mut rest, true, span, plan)?;
                match rest.first() {
                    Some(_) => Err(Diagnostic::error(span, "too many initialisers")),
                    None => Ok(()),
                }
            }
            (_, Initializer::List(list, list_span)) => match list.as_slice() {
                [] => Ok(()),
                [(designators, one)] if designators.is_empty() => {
                    self.fill(ty, at, one, span, plan)
                }
                _ => Err(Diagnostic::error(*list_span, "too many initialisers")),
            },
        }
    }

    /// Takes the items of a list that belong to an aggregate; without braces of its
    /// own (`top` false) it takes as many as it has scalars.
    fn fill_list<'e>(
        &self,
        ty: &Type,
        at: u64,
        rest: &mut &'e [(Vec<Designator>, Initializer)],
        top: bool,
        span: Span,
        plan: &mut Plan<'e>,
    ) -> Lower<()> {
        // Named members need no order.
        let mut parts = None;
        let mut next = 0;
        while let Some((designators, init)) = rest.first() {
            if !designators.is_empty() {
                if !top {
                    return Ok(());
                }
                let (mut part_ty, mut part_at) = (ty.clone(), at);
                for (k, d) in designators.iter().enumerate() {
                    let (offset, inner, position) = self.designated(&part_ty, d, span)?;
                    part_at += offset;
                    part_ty = inner;
                    if k == 0 {
                        next = position + 1;
                    }
                }
                *rest = &rest[1..];
                self.fill(&part_ty, part_at, init, span, plan)?;
                continue;
            }
            if parts.is_none() {
                parts = Some(self.parts(ty, span)?);
            }
            let Some((offset, part)) = parts.as_ref().and_then(|p| p.get(next)) else {
                return Ok(());
            };
            next += 1;
            // Zero is zero by any member; without braces others might have a say.
            let is_last = rest.len() == 1 || matches!(init, Initializer::List(..));
            if self.is_union(part) && is_last && is_zero(init) {
                *rest = &rest[1..];
                continue;
            }
            let aggregate = matches!(part.plain(), Type::Struct(_) | Type::Array(..));
            let is_string = matches!(
                init,
                Initializer::Value(Expr {
                    kind: ExprKind::Str(_),
                    ..
                })
            );
            if aggregate && matches!(init, Initializer::Value(_)) && !is_string {
                self.fill_list(part, at + offset, rest, false, span, plan)?;
            } else {
                *rest = &rest[1..];
                self.fill(part, at + offset, init, span, plan)?;
            }
        }
        Ok(())
    }

    /// The members or elements of an aggregate, with their offsets.
    fn parts(&self, ty: &Type, span: Span) -> Lower<Vec<(u64, Type)>> {
        let mut parts = Vec::new();
        match ty.plain() {
            Type::Struct(id) => {
                let fields = self.fields(*id, span)?;
                let def = &self.structs[*id];
                let first = def.fields.as_ref().and_then(|f| f.first());
                if def.is_union && fields.first().copied() != first {
                    return unsupported(
                        span,
                        "the initialiser of a union's first member, which is not the one used",
                        "name the member: `{ .member = ... }`",
                    );
                }
                let members = self.members(*id, span)?.into_iter();
                let members = members.filter(|(_, field)| !field.is_unit());
                parts.extend(members.map(|(at, field)| (at, field.ty.clone())));
            }
            Type::Array(of, Some(n)) => {
                let size = self.size(of, span)?;
                parts.extend((0..*n).map(|k| (k * size, (**of).clone())));
            }
            _ => {}
        }
        Ok(parts)
    }

    fn designated(&self, ty: &Type, d: &Designator, span: Span) -> Lower<(u64, Type, usize)> {
        match (ty.plain(), d) {
            (Type::Struct(id), Designator::Field(name)) => {
                let is_first = self
                    .fields(*id, span)?
                    .iter()
                    .any(|f| f.name.as_ref() == Some(name));
                if self.has_overlap(ty) && !is_first && !self.covers(*id, name, span) {
                    return unsupported(
                        span,
                        "the initialiser of a union that is used in more than one way",
                        "assign to the member",
                    );
                }
                let position = self
                    .fields(*id, span)?
                    .iter()
                    .filter(|f| !f.is_unit())
                    .position(|f| f.name.as_ref() == Some(name))
                    .unwrap_or(0);
                match self.member(*id, name, span)? {
                    Some((offset, ty)) => Ok((offset, ty, position)),
                    None => Err(Diagnostic::error(span, format!("no member `{name}` here"))),
                }
            }
            (Type::Array(of, Some(n)), Designator::Index(i)) if i < n => {
                let size = self.size(of, span)?;
                Ok((i * size, (**of).clone(), *i as usize))
            }
            _ => Err(Diagnostic::error(span, "this designator does not fit")),
        }
    }
}

/// Whether all of an initialiser is the constant 0.
fn is_zero(init: &Initializer) -> bool {
    match init {
        Initializer::Value(e) => constant(e) == Some(0),
        Initializer::List(list, _) => list.iter().all(|(_, init)| is_zero(init)),
    }
}

/// Library objects are initialised by constants of their headers, all zero for the
/// ordinary kinds; recursive and error-checking mutexes are not.
fn check_zero(init: &Initializer, span: Span) -> Lower<()> {
    let zero = match init {
        Initializer::Value(e) => match &e.kind {
            ExprKind::Compound(_, inner) => return check_zero(inner, span),
            _ => constant(e) == Some(0),
        },
        Initializer::List(list, _) => {
            return list.iter().try_for_each(|(_, i)| check_zero(i, span));
        }
    };
    if zero {
        return Ok(());
    }
    unsupported(span, "this kind of mutex or lock", "use the default kind")
}

impl<'a> Code<'_, 'a> {
    /// Assigns what an initialiser says.
    pub(super) fn initialise(
        &mut self,
        place: &Place,
        init: Option<&Initializer>,
        span: Span,
    ) -> Lower<()> {
        let Some(init) = init else { return Ok(()) };
        let ty = place.ty().clone();
        if let (Type::Struct(_), Initializer::Value(e)) = (ty.plain(), init) {
            let source = self.place(e)?;
            return self.copy(place, &source, span);
        }
        let mut plan = Plan::new();
        self.cx.layouts.fill(&ty, 0, init, span, &mut plan)?;
        let exprs = plan.values().filter_map(|(source, _)| match source {
            Source::Expr(e) => Some(*e),
            Source::Number(_) => None,
        });
        let exprs: Vec<&Expr> = exprs.collect();
        self.arranged(&exprs, |code| code.initialise_by(place, &plan, span))
    }

    fn initialise_by(&mut self, place: &Place, plan: &Plan<'_>, span: Span) -> Lower<()> {
        for (path, ty) in self.scalars(&place.ty().clone(), span)? {
            let cell = cell_of(&path);
            let target = part_at(place.clone(), &path, &ty);
            if let Some(unit) = self.initial_unit(plan, cell, &ty, span)? {
                self.store(&target, unit, span)?;
                continue;
            }
            let v = match plan.get(&(cell, None)).map(|(source, _)| source) {
                Some(Source::Expr(e)) => {
                    self.want = self.wanted(&target);
                    let v = self.allocated(&ty, e)?;
                    self.want = None;
                    if v.ty == Type::Void && self.live {
                        return Err(Diagnostic::error(e.span, "this gives no value"));
                    }
                    v
                }
                Some(Source::Number(n)) => Val::constant(i128::from(*n), &Type::INT),
                None => Val::constant(0, &ty),
            };
            if matches!(ty.plain(), Type::Opaque(_)) {
                self.store(&target, Val::constant(0, &ty), span)?;
            } else if v.ty == Type::Void {
                // The call does not come back.
                return Ok(());
            } else {
                let v = self.convert(v, &ty, span)?;
                self.store(&target, v, span)?;
            }
        }
        Ok(())
    }

    /// What a unit starts with whose bit-fields are initialised; `None` if there are none.
    fn initial_unit(
        &mut self,
        plan: &Plan<'_>,
        cell: u64,
        ty: &Type,
        span: Span,
    ) -> Lower<Option<Val>> {
        let mut unit = None;
        for (source, bits) in plan
            .range((cell, Some(0))..(cell + 1, None))
            .map(|(_, s)| s)
        {
            let Some(bits) = bits else { continue };
            let v = match source {
                Source::Expr(e) => self.value(e)?,
                Source::Number(n) => Val::constant(i128::from(*n), &Type::INT),
            };
            let old = unit.unwrap_or_else(|| Val::constant(0, ty));
            unit = Some(self.unit_with(old, v, *bits, span)?);
        }
        Ok(unit)
    }

    /// The constants that a variable starts with, by offset.
    pub(super) fn constants(&mut self, d: &Declaration) -> Lower<BTreeMap<u64, i64>> {
        let mut values = BTreeMap::new();
        let Some(init) = &d.init else {
            return Ok(values);
        };
        let mut plan = Plan::new();
        self.cx.layouts.fill(&d.ty, 0, init, d.span, &mut plan)?;
        for (path, ty) in self.scalars(&d.ty, d.span)? {
            let cell = cell_of(&path);
            let source = plan.get(&(cell, None)).map(|(source, _)| source);
            let v = match source {
                _ if let Some(unit) = self.initial_unit(&plan, cell, &ty, d.span)? => unit,
                Some(Source::Expr(e)) => {
                    let v = self.value(e)?;
                    self.convert(v, &ty, e.span)?
                }
                Some(Source::Number(n)) => Val::constant(i128::from(*n), &ty),
                None => continue,
            };
            let Some(c) = v.as_constant() else {
                return Err(Diagnostic::error(d.span, "this initialiser is no constant")
                    .help("variables that live as long as the program start with constants"));
            };
            values.insert(cell, c as i64);
        }
        Ok(values)
    }

    /// The copy of a `__thread` variable that this thread has.
    pub(super) fn thread_local(&mut self, d: &'a Declaration) -> Lower<Rc<Object>> {
        if self.cx.names_used.mentioned.contains(&d.name) && self.cx.is_address_taken(&d.name) {
            if self.is_any {
                return unsupported(
                    d.span,
                    &format!(
                        "the address of `{}`, of which each of any number of threads has one",
                        d.name
                    ),
                    "start a fixed number of threads",
                );
            }
            // Others may reach it; that it ends with its thread is not followed.
            let object = self.cx.object(&d.name, &d.ty, true, false, d.span)?;
            self.cx.set_initial(d, &object)?;
            self.thread_locals.insert(d.name.clone(), object.clone());
            return Ok(object);
        }
        let values = self.constants(d)?;
        let object = self.registers(&d.name, &d.ty, d.span)?;
        for (leaf, cells) in object.leaves.iter().zip(&object.cells) {
            if let Cells::Locals(locals) = cells {
                for (k, local) in locals.iter().enumerate() {
                    let value = values.get(&leaf.cell(k as u64)).copied().unwrap_or(0);
                    self.locals[local.index()].init = Init::Value(value);
                    self.untracked.insert(*local);
                }
            }
        }
        self.thread_locals.insert(d.name.clone(), object.clone());
        Ok(object)
    }
}

/// What a character of a literal is as a `char`.
pub(super) fn char_value(c: char) -> i64 {
    i64::from(u32::from(c) as u8 as i8)
}

fn cell_of(path: &super::assign::Path) -> u64 {
    path.0 + path.1.iter().map(|(i, stride)| i * stride).sum::<u64>()
}
