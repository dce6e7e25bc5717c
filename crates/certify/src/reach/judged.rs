//! Which states *violate* a property, asked quickly: a `never` with some choice of its threads is a
//! *case*. Most cases are excluded by the state of one thread alone (`t#1@critical && ...` by a
//! `t#1` that is elsewhere). For each thread state there is a set of the cases that it leaves
//! possible; what all threads leave possible is evaluated, once for each combination of what the
//! property reads.

use super::threads::{Own, Threads};
use crate::expression::formula_of;
use crate::property::choices;
use crate::refusal::Reason;
use crate::steps::{Trouble, unsupported};
use palisade_logic::{Formula, Term};
use palisade_program::{
    BinOp, Cell, Expr, Instance, Program, PropAtom, PropExpr, Property, PropertyKind, UnOp,
};
use rustc_hash::FxHashMap;

/// A property with a thread for each of its thread variables.
struct Case<'p> {
    number: usize,
    property: &'p Property,
    choice: Vec<usize>,
    /// Threads and cells that it reads.
    threads: Vec<usize>,
    cells: Vec<Cell>,
    /// Whether it is violated, by the numbers of these.
    answered: FxHashMap<Box<[u32]>, bool>,
}

/// All cases.
pub(super) struct Judged<'p> {
    instances: Vec<Instance>,
    cases: Vec<Case<'p>>,
}

impl<'p> Judged<'p> {
    pub(super) fn new(program: &'p Program, instances: &[Instance]) -> Self {
        let mut cases = Vec::new();
        for (number, property) in program.properties.iter().enumerate() {
            for choice in choices(&property.threads, instances) {
                let (mut threads, mut cells) = (Vec::new(), Vec::new());
                property.cond.for_each_atom(&mut |atom| match atom {
                    PropAtom::Global(var, index) => {
                        cells.push(program.cell(*var, index.unwrap_or(0)));
                    }
                    PropAtom::Local(thread, _) | PropAtom::At(thread, _) => {
                        threads.push(choice[thread.index()]);
                    }
                    PropAtom::SelfOf(_) => {}
                });
                threads.sort_unstable();
                threads.dedup();
                cells.sort_unstable();
                cells.dedup();
                cases.push(Case {
                    number,
                    property,
                    choice,
                    threads,
                    cells,
                    answered: FxHashMap::default(),
                });
            }
        }
        Self {
            instances: instances.to_vec(),
            cases,
        }
    }

    /// The cases that are possible while `thread` is in state `own`, as bits. A `finally` always is.
    pub(super) fn possible(&self, thread: usize, own: &Own) -> Box<[u64]> {
        let mut bits = vec![0; self.cases.len().div_ceil(64)];
        for (i, case) in self.cases.iter().enumerate() {
            if !self.is_excluded(case, thread, own) {
                bits[i / 64] |= 1 << (i % 64);
            }
        }
        bits.into()
    }

    /// Whether one of the conjuncts of a `never` speaks of `thread` alone and is false.
    fn is_excluded(&self, case: &Case<'p>, thread: usize, own: &Own) -> bool {
        let property = case.property;
        if property.kind != PropertyKind::Never || !is_total(&property.cond) {
            return false;
        }
        let mut conjuncts = Vec::new();
        split(&property.cond, &mut conjuncts);
        let is_other = |atom: &PropAtom| match atom {
            PropAtom::Global(..) => true,
            PropAtom::SelfOf(_) => false,
            PropAtom::Local(other, _) | PropAtom::At(other, _) => {
                case.choice[other.index()] != thread
            }
        };
        let alone = conjuncts.into_iter().filter(|e| !e.any_atom(&is_other));
        let mut alone = alone.map(|conjunct| {
            formula_of(conjunct, property.span, &mut |atom| {
                Ok(Term::constant(match atom {
                    PropAtom::Local(_, local) => own.locals[local.index()],
                    PropAtom::At(_, loc) => i64::from(own.loc == *loc),
                    PropAtom::SelfOf(other) => {
                        i64::from(self.instances[case.choice[other.index()]].copy)
                    }
                    PropAtom::Global(..) => {
                        return Err(unsupported("memory", property.span));
                    }
                }))
            })
        });
        alone.any(|value| matches!(value, Ok(Formula::False)))
    }
}

impl Threads<'_> {
    /// Finds the property that a state violates, if there is one. `own` has the numbers of the
    /// threads' states, `cells` those of the cells' values.
    pub(super) fn judge(&mut self, own: &[u32], cells: &[u32]) -> Result<(), Trouble> {
        let ended = own.iter().enumerate();
        let has_ended = ended.fold(true, |all, (t, n)| all && self.known(t, *n).has_ended);
        for word in 0..self.judged.cases.len().div_ceil(64) {
            let mut possible = u64::MAX;
            for (thread, number) in own.iter().enumerate() {
                possible &= self.possible(thread, *number)[word];
            }
            let count = self.judged.cases.len() - word * 64;
            if count < 64 {
                possible &= (1 << count) - 1;
            }
            while possible != 0 {
                let case = word * 64 + possible.trailing_zeros() as usize;
                possible &= possible - 1;
                let kind = self.judged.cases[case].property.kind;
                let is_due = kind == PropertyKind::Never || has_ended;
                if is_due && self.is_violated(case, own, cells)? {
                    let case = &self.judged.cases[case];
                    return Err(Trouble {
                        reason: Reason::Property(case.number),
                        span: case.property.span,
                    });
                }
            }
        }
        Ok(())
    }

    fn is_violated(&mut self, case: usize, own: &[u32], cells: &[u32]) -> Result<bool, Trouble> {
        let read = &self.judged.cases[case];
        let threads = read.threads.iter().map(|t| own[*t]);
        let key: Vec<u32> = threads
            .chain(read.cells.iter().map(|c| cells[c.index()]))
            .collect();
        if let Some(known) = read.answered.get(&*key) {
            return Ok(*known);
        }
        let span = read.property.span;
        let holds = formula_of(&read.property.cond, span, &mut |atom| {
            Ok(Term::constant(match atom {
                PropAtom::Global(var, index) => {
                    let cell = self.program().cell(*var, index.unwrap_or(0));
                    self.value(cell, cells[cell.index()])
                }
                PropAtom::Local(thread, local) => {
                    let thread = read.choice[thread.index()];
                    self.own(thread, own[thread]).locals[local.index()]
                }
                PropAtom::At(thread, loc) => {
                    let thread = read.choice[thread.index()];
                    i64::from(self.own(thread, own[thread]).loc == *loc)
                }
                PropAtom::SelfOf(thread) => {
                    i64::from(self.judged.instances[read.choice[thread.index()]].copy)
                }
            }))
        })?;
        let holds = match holds {
            Formula::True => true,
            Formula::False => false,
            Formula::Literal(_) | Formula::And(_) | Formula::Or(_) | Formula::Iff(_) => {
                return Err(unsupported("a property without a value", span));
            }
        };
        let violated = match read.property.kind {
            PropertyKind::Never => holds,
            PropertyKind::Finally => !holds,
        };
        self.judged.cases[case]
            .answered
            .insert(key.into(), violated);
        Ok(violated)
    }
}

/// The operands of `&&`.
fn split<'e>(e: &'e PropExpr, conjuncts: &mut Vec<&'e PropExpr>) {
    match e {
        Expr::Binary(BinOp::And, a, b) => {
            split(a, conjuncts);
            split(b, conjuncts);
        }
        Expr::Binary(..) | Expr::Const(_) | Expr::Atom(_) | Expr::Unary(..) | Expr::Cond(..) => {
            conjuncts.push(e);
        }
    }
}

/// Whether it has a value whatever its atoms are.
fn is_total(e: &PropExpr) -> bool {
    match e {
        Expr::Const(_) | Expr::Atom(_) => true,
        Expr::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot | UnOp::Wrap { .. }, e) => is_total(e),
        Expr::Binary(op, a, b) => {
            let has_value = match op {
                BinOp::Add | BinOp::Sub | BinOp::And | BinOp::Or => true,
                BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => true,
                BinOp::Mul | BinOp::Div | BinOp::Mod | BinOp::Shl | BinOp::Shr => false,
                BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => false,
            };
            has_value && is_total(a) && is_total(b)
        }
        Expr::Cond(c, a, b) => is_total(c) && is_total(a) && is_total(b),
    }
}
