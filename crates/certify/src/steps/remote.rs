//! The steps of *remote operations*: put, get, flush, and remote atomic operations, at once
//! under SC, issued and waited for under RMA (`remote.rs` and `remote_atomic.rs` have the
//! rules).

use super::{Frame, Memory, Runner, Trouble, number, overflow, unsupported};
use crate::buffer_summary::BufferSummary;
use crate::remote::{Awaited, Operation, awaited, operations, set_of};
use crate::remote_atomic::{AtomicOperation, atomic_operations, changed};
use crate::state::StateVar;
use palisade_logic::{Formula, Term};
use palisade_program::{Cell, EdgeId, FlushTarget, Model, Operand, Place, RemoteAtomic, Span};

impl Runner<'_> {
    /// RMA: a remote operation is issued; `places` are what it writes and reads.
    pub(super) fn issue(
        &mut self,
        frame: Frame,
        edge: EdgeId,
        (to, from): (&Place, &Place),
        span: Span,
    ) -> Result<Vec<Frame>, Trouble> {
        let all = operations(self.program, self.instance.template);
        let mut after = Vec::new();
        for (frame, source) in self.cells(frame, from, span)? {
            for (mut frame, target) in self.cells(frame, to, span)? {
                let is_it =
                    |o: &Operation| (o.edge, o.source, o.target) == (edge.0, source, target);
                let Some(operation) = all.iter().position(is_it) else {
                    let what = "a remote operation on a variable that lives in no process";
                    return Err(unsupported(what, span));
                };
                self.issued(&mut frame, operation as u32, source, span)?;
                after.push(frame);
            }
        }
        Ok(after)
    }

    /// RMA: a remote atomic operation is issued.
    pub(super) fn issue_atomic(
        &mut self,
        frame: Frame,
        edge: EdgeId,
        atomic: &RemoteAtomic,
        span: Span,
    ) -> Result<Vec<Frame>, Trouble> {
        let all = atomic_operations(self.program, self.instance.template);
        let mut open = Vec::new();
        for (frame, cell) in self.cells(frame, &atomic.remote, span)? {
            open.push((frame, cell, Vec::new()));
        }
        let mut values = Vec::new();
        for operand in atomic.change.operands() {
            let mut longer = Vec::new();
            for (frame, cell, inputs) in open {
                let with = |input| [&inputs[..], &[input]].concat();
                match operand {
                    Operand::Value(_) => longer.push((frame, cell, with(None))),
                    Operand::Place(place) => {
                        for (frame, source) in self.cells(frame, place, span)? {
                            longer.push((frame, cell, with(Some(source))));
                        }
                    }
                }
            }
            open = longer;
            values.push(match operand {
                Operand::Value(e) => Some(e),
                Operand::Place(_) => None,
            });
        }
        let mut after = Vec::new();
        for (frame, cell, inputs) in open {
            let results = match &atomic.result {
                Some(place) => {
                    let all = self.cells(frame, place, span)?.into_iter();
                    all.map(|(frame, cell)| (frame, Some(cell))).collect()
                }
                None => vec![(frame, None)],
            };
            for (mut frame, result) in results {
                let is_it = |o: &AtomicOperation| {
                    (o.edge, o.cell, o.result) == (edge.0, cell, result) && o.inputs == inputs
                };
                let Some(operation) = all.iter().position(is_it) else {
                    let what = "a remote operation on a variable that lives in no process";
                    return Err(unsupported(what, span));
                };
                let known = values.iter().enumerate().filter(|(_, v)| v.is_some());
                let got = known.fold(0, |bits, (i, _)| bits | 1 << i);
                let (buffer, pending) = frame.buffer.with_atomic(operation as u32, got);
                for (i, value) in values.iter().enumerate() {
                    if let Some(e) = value {
                        let value = self.term(&frame, e, span)?;
                        let var = number(pending.input(self.thread, i as u32), span)?;
                        frame.values.insert(var, value);
                    }
                }
                frame.buffer = buffer;
                after.push(frame);
            }
        }
        Ok(after)
    }

    /// RMA: one more instance is pending, in a slot or beyond them.
    fn issued(
        &self,
        frame: &mut Frame,
        operation: u32,
        source: Cell,
        span: Span,
    ) -> Result<(), Trouble> {
        let in_slots = frame.buffer.pending.iter();
        let in_slots = in_slots.filter(|p| p.operation == operation).count();
        let has_room = |b: &BufferSummary| in_slots < b.slots(self.thread, operation) as usize;
        if self.beyond.is_none_or(has_room) {
            frame.buffer = frame.buffer.with_issued(operation);
            return Ok(());
        }
        let thread = self.thread;
        let operation = set_of(&operations(self.program, self.instance.template), operation);
        let element = number(StateVar::Element { thread, operation }, span)?;
        let value = self.value(frame, number(StateVar::Cell(source), span)?);
        match frame.buffer.sets.binary_search(&operation) {
            Ok(_) => frame.adds.push((element, value)),
            Err(at) => {
                frame.buffer.sets.insert(at, operation);
                frame.values.insert(element, value);
            }
        }
        Ok(())
    }

    /// RMA: no own operation with its remote side at the target is pending. A local flush does
    /// not wait for puts whose source is read, nor for puts in sets: some of these may have
    /// read it.
    pub(super) fn flush(
        &mut self,
        mut frame: Frame,
        target: &FlushTarget,
        span: Span,
    ) -> Result<Vec<Frame>, Trouble> {
        let all = operations(self.program, self.instance.template);
        let atomics = atomic_operations(self.program, self.instance.template);
        let local = target.is_local();
        let slots = frame.buffer.pending.iter().map(|p| (p.operation, p.read));
        let plain = slots.chain(frame.buffer.sets.iter().map(|&set| (set, true)));
        let plain = plain.map(|(number, read)| (all[number as usize], read));
        let plain = plain.filter(|(o, read)| !(local && o.put && *read));
        let plain = plain.map(|(o, _)| (o.remote, o.copy));
        let atomic = frame.buffer.atomics.iter();
        let atomic = atomic.map(|p| (p, &atomics[p.operation as usize]));
        let atomic = atomic.filter(|(p, o)| !(local && o.result.is_none() && o.is_read(**p)));
        let atomic = atomic.map(|(_, o)| (o.remote, o.copy));
        let pending: Vec<_> = plain.chain(atomic).collect();
        for side in pending {
            match awaited(target, side) {
                Awaited::Always => return Ok(Vec::new()),
                Awaited::Never => {}
                Awaited::If(copy, own) => {
                    let copy = self.term(&frame, copy, span)?;
                    let other = Formula::eq(&copy, &Term::constant(i64::from(own)));
                    let other = other.map_err(|e| overflow(e, span))?.negated();
                    let Some(passing) = frame.assuming(&other) else {
                        return Ok(Vec::new());
                    };
                    frame = passing;
                }
            }
        }
        Ok(vec![frame])
    }

    /// SC: all parts of a remote atomic operation.
    pub(super) fn at_once(
        &mut self,
        frame: Frame,
        atomic: &RemoteAtomic,
        span: Span,
    ) -> Result<Vec<Frame>, Trouble> {
        self.only_sc(span)?;
        let mut open: Vec<(Frame, Cell, Vec<Term>)> = Vec::new();
        for (frame, cell) in self.cells(frame, &atomic.remote, span)? {
            open.push((frame, cell, Vec::new()));
        }
        for operand in atomic.change.operands() {
            let mut longer = Vec::new();
            for (frame, cell, inputs) in open {
                let with = |value: Term| [&inputs[..], &[value]].concat();
                match operand {
                    Operand::Value(e) => {
                        let value = self.term(&frame, e, span)?;
                        longer.push((frame, cell, with(value)));
                    }
                    Operand::Place(place) => {
                        for (frame, source) in self.cells(frame, place, span)? {
                            let value = self.load(&frame, source, span, Memory::Direct)?;
                            longer.push((frame, cell, with(value)));
                        }
                    }
                }
            }
            open = longer;
        }
        let mut after = Vec::new();
        for (frame, cell, inputs) in open {
            let old = self.load(&frame, cell, span, Memory::Direct)?;
            for (condition, new) in changed(&atomic.change, &old, &inputs, span)? {
                let Some(frame) = frame.clone().assuming(&condition) else {
                    continue;
                };
                let frame = self.store(frame, cell, new, span, Memory::Direct)?;
                let Some(place) = &atomic.result else {
                    after.push(frame);
                    continue;
                };
                for (frame, result) in self.cells(frame, place, span)? {
                    after.push(self.store(frame, result, old.clone(), span, Memory::Direct)?);
                }
            }
        }
        Ok(after)
    }

    /// A synchronous remote operation: `to` receives the value of `from`.
    pub(super) fn copy(
        &mut self,
        frame: Frame,
        to: &Place,
        from: &Place,
        span: Span,
    ) -> Result<Vec<Frame>, Trouble> {
        self.only_sc(span)?;
        let mut after = Vec::new();
        for (frame, source) in self.cells(frame, from, span)? {
            for (frame, target) in self.cells(frame, to, span)? {
                let value = self.load(&frame, source, span, Memory::Direct)?;
                after.push(self.store(frame, target, value, span, Memory::Direct)?);
            }
        }
        Ok(after)
    }

    pub(super) fn only_sc(&self, span: Span) -> Result<(), Trouble> {
        match self.model {
            Model::Sc => Ok(()),
            Model::Tso | Model::Pso | Model::Rma | Model::Rc11 => {
                Err(unsupported("remote operations under this model", span))
            }
        }
    }
}
