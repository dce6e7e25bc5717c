//! A *remote atomic operation* under SC: all its parts happen at once
//! (`palisade_program::remote`). Under RMA it reaches this crate as a reduced program.

use palisade_logic::term::Overflow;
use palisade_logic::{Formula, Term};
use palisade_program::{Cell, Change, Operand, RemoteAtomic, RemoteOp, Span};

use super::{Executor, Run, Unsupported, fits};

/// The new values of a cell that holds `old`, each with its condition; `None` for an
/// operation that is not linear.
fn changed(
    change: &Change,
    old: &Term,
    inputs: &[Term],
) -> Result<Option<Vec<(Formula, Term)>>, Overflow> {
    let Some(first) = inputs.first() else {
        return Ok(None);
    };
    let one = |term: Term| Ok(Some(vec![(Formula::True, term)]));
    match change {
        Change::CompareSwap { .. } => {
            let same = Formula::eq(old, first)?;
            Ok(inputs.get(1).map(|new| {
                let other = same.negated();
                vec![(same, new.clone()), (other, old.clone())]
            }))
        }
        Change::Op { op, .. } => match op {
            RemoteOp::Replace => one(first.clone()),
            RemoteOp::NoOp => one(old.clone()),
            RemoteOp::Sum => one(old.plus(first)?),
            RemoteOp::Min | RemoteOp::Max => {
                let below = Formula::le(old, first)?;
                let (yes, no) = if *op == RemoteOp::Max {
                    (first, old)
                } else {
                    (old, first)
                };
                let above = below.negated();
                Ok(Some(vec![(below, yes.clone()), (above, no.clone())]))
            }
            RemoteOp::BitAnd | RemoteOp::BitOr | RemoteOp::BitXor => {
                let narrow = |t: &Term| t.as_constant().and_then(|c| i64::try_from(c).ok());
                let known = narrow(old).zip(narrow(first));
                let value = known.and_then(|(old, operand)| op.apply(old, operand).ok());
                Ok(value.map(|v| vec![(Formula::True, Term::constant(v))]))
            }
        },
    }
}

impl Executor<'_> {
    /// A remote atomic operation, at once.
    pub(super) fn remote_atomic(
        &self,
        run: Run,
        atomic: &RemoteAtomic,
        span: Span,
    ) -> Result<Vec<Run>, Unsupported> {
        let remote = self.cells(run, &atomic.remote, span)?.into_iter();
        let mut open: Vec<(Run, Cell, Vec<Term>)> =
            remote.map(|(run, cell)| (run, cell, Vec::new())).collect();
        for operand in atomic.change.operands() {
            let mut longer = Vec::new();
            for (run, cell, inputs) in open {
                let with = |value: Term| [&inputs[..], &[value]].concat();
                match operand {
                    Operand::Value(e) => {
                        let value = self.term(&run, e, span)?;
                        longer.push((run, cell, with(value)));
                    }
                    Operand::Place(place) => {
                        for (run, source) in self.cells(run, place, span)? {
                            let value = self.read(&run, self.space.cell_slot(source));
                            longer.push((run, cell, with(value)));
                        }
                    }
                }
            }
            open = longer;
        }
        let mut done = Vec::new();
        for (run, cell, inputs) in open {
            let slot = self.space.cell_slot(cell);
            let old = self.read(&run, slot);
            let ways = fits(changed(&atomic.change, &old, &inputs), span)?;
            let ways = ways.ok_or_else(|| Unsupported {
                what: "a bitwise remote operation on data".to_owned(),
                span,
            })?;
            for (condition, new) in ways {
                let Some(run) = Self::assume(run.clone(), condition) else {
                    continue;
                };
                for run in self.assign(run, slot, &new, span)? {
                    let Some(place) = &atomic.result else {
                        done.push(run);
                        continue;
                    };
                    for (run, result) in self.cells(run, place, span)? {
                        done.extend(self.assign(run, self.space.cell_slot(result), &old, span)?);
                    }
                }
            }
        }
        Ok(done)
    }
}
