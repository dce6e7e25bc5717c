//! *Observables*: the registers and locations that a test shows, tied to the
//! program's locals and cells. A final state is the list of their values; the
//! condition and the filter are propositions over it.

use std::collections::BTreeMap;

use palisade_program::{GlobalId, LocalId, Span, TemplateId};

use super::Failure;
use super::condition::{Equation, Listed, Prop, Quantifier, Question, Right};
use super::init::{Item, Literal, LocRef};
use super::memory::Layout;
use super::ty::Ty;
use crate::diagnostic::Diagnostic;

/// Where a register's value is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Register {
    pub(super) template: TemplateId,
    pub(super) local: LocalId,
    pub(super) shift: u8,
    pub(super) ty: Ty,
    /// Orders the registers of a thread.
    pub(super) rank: (usize, usize),
    /// `0:EAX`
    pub(super) label: String,
}

/// Registers by processor and lower-case name.
pub(super) type RegisterMap = BTreeMap<(u32, String), Register>;

/// Where one value of a final state is found.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Slot {
    /// Bits of a thread's local, from `shift` up.
    Local {
        /// The thread.
        template: TemplateId,
        /// Its local.
        local: LocalId,
        /// The lowest bit.
        shift: u8,
    },
    /// A cell of memory.
    Cell {
        /// The variable.
        var: GlobalId,
        /// The element; 0 for variables that are no array.
        index: u32,
    },
}

/// Something that is shown: a register, a location, or a whole array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observable {
    /// `0:EAX`, `[x]`, `t`, `t[1]`
    pub label: String,
    /// Where its values are: one, or one per element.
    pub slots: Vec<Slot>,
    /// Whether it is shown as `{1,2}`.
    pub is_array: bool,
    /// How the values are read.
    pub ty: Ty,
    order: (u32, usize, usize, String, u32),
}

/// An equation over values: of the list of all slots' values, by position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Atom {
    /// The value at a position is this canonical one.
    Is {
        /// The position,
        at: usize,
        /// the value,
        value: i64,
        /// and the words to print.
        text: String,
    },
    /// The values at two positions are the same.
    Same {
        /// One position
        at: usize,
        /// and the other.
        other: usize,
        /// The words to print.
        text: String,
    },
}

/// A question about final states, tied to the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// What is shown, in herd's order.
    pub shown: Vec<Observable>,
    /// Further slots that only the filter reads.
    pub hidden: Vec<Observable>,
    /// States that do not satisfy it are dropped.
    pub filter: Option<Prop<Atom>>,
    /// Which states the proposition speaks of.
    pub quantifier: Quantifier,
    /// The proposition.
    pub prop: Prop<Atom>,
}

impl Condition {
    /// The slots of a state, in the order of the positions of atoms.
    pub fn slots(&self) -> impl Iterator<Item = (&Slot, Ty)> {
        let all = self.shown.iter().chain(&self.hidden);
        all.flat_map(|o| o.slots.iter().map(|slot| (slot, o.ty)))
    }
}

/// Every processor that is named is there.
pub(super) fn check_processors(
    is_there: &dyn Fn(u32) -> bool,
    items: &[Item],
    question: &Question,
) -> Result<(), Failure> {
    let in_init = items.iter().map(|item| (&item.loc, item.span));
    for (loc, span) in in_init.chain(locations(question)) {
        if let LocRef::Reg { proc, .. } = loc
            && !is_there(*proc)
        {
            return Err(Diagnostic::error(span, format!("the test has no P{proc}")).into());
        }
    }
    Ok(())
}

/// All locations that a question names, with the places.
pub(super) fn locations(question: &Question) -> Vec<(&LocRef, Span)> {
    let mut found: Vec<(&LocRef, Span)> = Vec::new();
    found.extend(question.listed.iter().map(|l| (&l.loc, l.span)));
    in_prop(&question.prop, &mut found);
    if let Some(filter) = &question.filter {
        in_prop(filter, &mut found);
    }
    found
}

fn in_prop<'a>(prop: &'a Prop<Equation>, found: &mut Vec<(&'a LocRef, Span)>) {
    match prop {
        Prop::Atom(equation) => {
            found.push((&equation.left, equation.span));
            if let Right::Loc(loc) = &equation.right {
                found.push((loc, equation.span));
            }
        }
        Prop::Not(p) => in_prop(p, found),
        Prop::And(ps) | Prop::Or(ps) => ps.iter().for_each(|p| in_prop(p, found)),
        Prop::Implies(p, q) => {
            in_prop(p, found);
            in_prop(q, found);
        }
    }
}

/// Makes the locations that a question names, and takes the addresses that it
/// compares with; before the layout is settled.
pub(super) fn declare(question: &Question, layout: &mut Layout) -> Result<(), Failure> {
    for (loc, span) in locations(question) {
        if let LocRef::Global { name, .. } = loc {
            layout.intern(name, span)?;
        }
    }
    let mut take = |equation: &Equation| {
        let literals: &[Literal] = match &equation.right {
            Right::Value(literal) => std::slice::from_ref(literal),
            Right::Array(list) => list,
            Right::Loc(_) => &[],
        };
        for literal in literals {
            layout.value(literal, equation.span)?;
        }
        Ok(Prop::Atom(()))
    };
    question.prop.try_map(&mut take)?;
    if let Some(filter) = &question.filter {
        filter.try_map(&mut take)?;
    }
    Ok(())
}

/// Ties a question to the program.
pub(super) fn tie(
    question: &Question,
    layout: &mut Layout,
    registers: &RegisterMap,
) -> Result<Condition, Failure> {
    let mut shown: Vec<Observable> = Vec::new();
    for Listed { loc, ty, span } in &question.listed {
        let mut observable = observable(loc, *span, layout, registers)?;
        if let Some(ty) = ty {
            observable.ty.signed = ty.signed;
            observable.ty.bits = observable.ty.bits.min(ty.bits);
        }
        add(&mut shown, observable);
    }
    let mut equations = Vec::new();
    in_prop(&question.prop, &mut equations);
    for (loc, span) in equations {
        add(&mut shown, observable(loc, span, layout, registers)?);
    }
    shown.sort_by(|a, b| a.order.cmp(&b.order));
    let mut hidden: Vec<Observable> = Vec::new();
    if let Some(filter) = &question.filter {
        let mut equations = Vec::new();
        in_prop(filter, &mut equations);
        for (loc, span) in equations {
            let observable = observable(loc, span, layout, registers)?;
            if !shown.iter().any(|o| o.label == observable.label) {
                add(&mut hidden, observable);
            }
        }
    }
    let mut tie = Tie {
        all: shown.iter().chain(&hidden).cloned().collect(),
        layout,
        registers,
    };
    let prop = question.prop.try_map(&mut |e| tie.equation(e))?;
    let filter = match &question.filter {
        Some(filter) => Some(filter.try_map(&mut |e| tie.equation(e))?),
        None => None,
    };
    Ok(Condition {
        shown,
        hidden,
        filter,
        quantifier: question.quantifier,
        prop,
    })
}

fn add(all: &mut Vec<Observable>, new: Observable) {
    if !all.iter().any(|o| o.label == new.label) {
        all.push(new);
    }
}

fn observable(
    loc: &LocRef,
    span: Span,
    layout: &Layout,
    registers: &RegisterMap,
) -> Result<Observable, Failure> {
    match loc {
        LocRef::Reg { proc, name } => {
            let key = (*proc, name.to_lowercase());
            // C's locals differ by case.
            let exact = registers.get(&(*proc, name.clone()));
            let Some(register) = exact.or_else(|| registers.get(&key)) else {
                let message = format!("P{proc} has no register or variable `{name}`");
                return Err(Diagnostic::error(span, message).into());
            };
            Ok(Observable {
                label: register.label.clone(),
                slots: vec![Slot::Local {
                    template: register.template,
                    local: register.local,
                    shift: register.shift,
                }],
                is_array: false,
                ty: register.ty,
                order: (*proc, register.rank.0, register.rank.1, String::new(), 0),
            })
        }
        LocRef::Global { name, index } => {
            let var = layout.find(name).ok_or_else(|| {
                Failure::from(Diagnostic::error(
                    span,
                    format!("unknown location `{name}`"),
                ))
            })?;
            let variable = &layout.vars[var];
            let (label, cells, is_array) = match (variable.len, index) {
                (None, None) => (format!("[{name}]"), 0..1, false),
                (Some(len), None) => (name.clone(), 0..len, true),
                (Some(len), Some(i)) if *i < len => (format!("{name}[{i}]"), *i..*i + 1, false),
                (_, Some(i)) => return Err(layout.out_of_range(var, *i, span)),
            };
            let first = cells.start;
            Ok(Observable {
                label,
                slots: cells
                    .map(|index| Slot::Cell {
                        var: Layout::global_id(var),
                        index,
                    })
                    .collect(),
                is_array,
                ty: variable.ty,
                order: (u32::MAX, 0, 0, name.clone(), first),
            })
        }
    }
}

struct Tie<'a> {
    all: Vec<Observable>,
    layout: &'a mut Layout,
    registers: &'a RegisterMap,
}

impl Tie<'_> {
    /// The observable of a location, and the position of its first value.
    fn position(&self, loc: &LocRef, span: Span) -> Result<(Observable, usize), Failure> {
        let wanted = observable(loc, span, self.layout, self.registers)?;
        let mut at = 0;
        for o in &self.all {
            if o.label == wanted.label {
                return Ok((o.clone(), at));
            }
            at += o.slots.len();
        }
        debug_assert!(false, "every location of the condition is observed");
        Err(Diagnostic::error(span, "unknown location").into())
    }

    fn equation(&mut self, equation: &Equation) -> Result<Prop<Atom>, Failure> {
        let span = equation.span;
        let (left, at) = self.position(&equation.left, span)?;
        match &equation.right {
            Right::Value(literal) if !left.is_array => {
                let text = format!("{}={}", left.label, show(literal, left.ty));
                Ok(Prop::Atom(self.is(at, left.ty, literal, text, span)?))
            }
            Right::Array(list) if left.is_array && list.len() == left.slots.len() => {
                let parts = list.iter().enumerate().map(|(i, literal)| {
                    let text = format!("{}[{i}]={}", left.label, show(literal, left.ty));
                    Ok(Prop::Atom(self.is(at + i, left.ty, literal, text, span)?))
                });
                Ok(Prop::And(parts.collect::<Result<_, Failure>>()?))
            }
            Right::Loc(loc) => {
                let (right, other) = self.position(loc, span)?;
                if left.slots.len() != right.slots.len() {
                    return Err(shape_error(span));
                }
                let text = format!("{}={}", left.label, right.label);
                let same = |i| Atom::Same {
                    at: at + i,
                    other: other + i,
                    text: text.clone(),
                };
                let parts = (0..left.slots.len()).map(|i| Prop::Atom(same(i)));
                Ok(Prop::And(parts.collect()))
            }
            Right::Value(_) | Right::Array(_) => Err(shape_error(span)),
        }
    }

    fn is(
        &mut self,
        at: usize,
        ty: Ty,
        literal: &Literal,
        text: String,
        span: Span,
    ) -> Result<Atom, Failure> {
        let value = self.layout.value(literal, span)?;
        // A number that the type does not have equals none of its values. Narrow
        // canonical values are not negative, and 64 bits hold every number that
        // the lexer accepts.
        let value = if ty.fits(value) {
            ty.canonical(value)
        } else {
            i64::MIN
        };
        Ok(Atom::Is { at, value, text })
    }
}

fn show(literal: &Literal, ty: Ty) -> String {
    match literal {
        Literal::Number(n) if ty.fits(*n) => ty.shown(ty.canonical(*n)).to_string(),
        Literal::Number(n) => n.to_string(),
        Literal::Address(name, 0) => name.clone(),
        Literal::Address(name, index) => format!("{name}[{index}]"),
    }
}

fn shape_error(span: Span) -> Failure {
    Diagnostic::error(span, "an array is compared with values of another number")
        .help("write as many values as it has elements: `t={1,2}`")
        .into()
}
