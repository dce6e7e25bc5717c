//! Remote memory access: `put`, `get` and `flush` [Baumann et al., VMCAI 2018], and atomic operations. Both sides are
//! variables: the network reads and writes them later, so a value must stand in
//! memory of its own process.

use palisade_program::{
    Change, Count, FlushTarget, LocalExpr, Operand, Order, Place as Memory, Span, Step, TemplateId,
};

use super::access::fits;
use super::code::Code;
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, ExprKind, Name, Place, Process, RemoteAtomic, RemoteChange};

impl Code<'_, '_> {
    pub(super) fn put(&mut self, remote: &Place, process: &Process, local: &Place, span: Span) {
        let places = self.both_sides(remote, process, local, span);
        if let Some((remote, local)) = places {
            self.check_sent(&local, &remote, span);
            self.emit(Step::Put { remote, local }, span);
        }
    }

    pub(super) fn get(&mut self, local: &Place, remote: &Place, process: &Process, span: Span) {
        let places = self.both_sides(remote, process, local, span);
        if let Some((remote, local)) = places {
            self.check_sent(&remote, &local, span);
            self.emit(Step::Get { local, remote }, span);
        }
    }

    /// The network copies values without a check, so a declared range of the
    /// variable it writes must contain that of the variable it reads.
    fn check_sent(&mut self, from: &Memory, to: &Memory, span: Span) {
        let domain = self.context.globals[to.var.index()].domain;
        if !fits(domain, self.shared_range(from.var)) {
            let name = &self.context.globals[to.var.index()].name;
            let error = Diagnostic::error(span, format!("values outside the range of `{name}`"))
                .label("the network would write them unchecked")
                .help("declare both variables with the same range, or neither");
            self.report(error);
        }
    }

    /// A remote atomic operation. An operand that is a shared variable is read by the
    /// network later, as that of a put; any other is evaluated now.
    pub(super) fn remote_atomic(&mut self, atomic: &RemoteAtomic, span: Span) {
        if !self.may_be_remote(span) {
            return;
        }
        let remote = self.remote_place(&atomic.remote, &atomic.process);
        let change = match &atomic.change {
            RemoteChange::CompareSwap(expected, new) => {
                let (expected, new) = (self.operand(expected), self.operand(new));
                expected
                    .zip(new)
                    .map(|(expected, new)| Change::CompareSwap { expected, new })
            }
            RemoteChange::Op(op, operand) => {
                let (op, operand) = (*op, self.operand(operand));
                operand.map(|operand| Change::Op { op, operand })
            }
        };
        let result = match &atomic.result {
            Some(place) => match self.own_place(place) {
                Some(place) => Some(place),
                None => return,
            },
            None => None,
        };
        let (Some(remote), Some(change)) = (remote, change) else {
            return;
        };
        for written in std::iter::once(&remote).chain(&result) {
            self.check_unranged(written, span);
        }
        let atomic = palisade_program::RemoteAtomic {
            remote,
            change,
            result,
        };
        self.emit(Step::RemoteAtomic(Box::new(atomic)), span);
    }

    fn operand(&mut self, e: &Expr) -> Option<Operand> {
        if let ExprKind::Place(place) = &e.kind
            && self.lookup(&place.name.text).is_none()
            && self.shared_variable(&place.name.text).is_some()
        {
            return self.own_place(place).map(Operand::Place);
        }
        Some(Operand::Value(self.value(e)))
    }

    /// The network computes without a check, so what it writes has no declared range.
    fn check_unranged(&mut self, place: &Memory, span: Span) {
        let global = &self.context.globals[place.var.index()];
        if global.domain.is_some() {
            let message = format!(
                "an atomic operation writes `{}`, which has a range",
                global.name
            );
            let error = Diagnostic::error(span, message)
                .label("the network would write unchecked")
                .help("declare the variable without `in`");
            self.report(error);
        }
    }

    pub(super) fn flush(&mut self, target: Option<&Process>, is_local: bool, span: Span) {
        if !self.may_be_remote(span) {
            return;
        }
        let target = match target {
            None => FlushTarget::All,
            Some(process) => match self.process(process) {
                Some((template, copy)) => FlushTarget::Process { template, copy },
                None => return,
            },
        };
        let target = if is_local {
            FlushTarget::Local(Box::new(target))
        } else {
            target
        };
        self.emit(Step::Flush(target), span);
    }

    /// Remote operations belong to processes, outside atomic blocks.
    fn may_be_remote(&mut self, span: Span) -> bool {
        if self.atomic_depth > 0 {
            self.report(
                Diagnostic::error(span, "a remote operation inside an atomic block")
                    .label("the network acts later, not atomically")
                    .help("move it out of the block"),
            );
            return false;
        }
        let in_process = self
            .unit
            .is_none_or(|unit| self.context.units[unit].ast.is_process);
        if !in_process {
            self.report(
                Diagnostic::error(span, "a remote operation in a thread")
                    .label("only processes have remote memory")
                    .help("declare `process name { ... }` instead of `thread`"),
            );
        }
        in_process
    }

    /// The remote and the own place of a put or get, evaluated left to right.
    fn both_sides(
        &mut self,
        remote: &Place,
        process: &Process,
        local: &Place,
        span: Span,
    ) -> Option<(Memory, Memory)> {
        if !self.may_be_remote(span) {
            return None;
        }
        let remote = self.remote_place(remote, process);
        let local = self.own_place(local);
        Some((remote?, local?))
    }

    fn own_place(&mut self, place: &Place) -> Option<Memory> {
        if self.lookup(&place.name.text).is_some() {
            let message = format!("`{}` is a local", place.name.text);
            self.report(
                Diagnostic::error(place.span, message)
                    .label("expected a shared variable of this process")
                    .help("the network reads and writes memory: use a `shared` variable of the process"),
            );
            return None;
        }
        self.shared_place(place)
    }

    fn remote_place(&mut self, place: &Place, process: &Process) -> Option<Memory> {
        let (template, copy) = self.process(process)?;
        let owner = &self.context.units[template.index()];
        let Some(&var) = owner.variables.get(&place.name.text) else {
            let names: Vec<String> = owner.variables.keys().cloned().collect();
            let message = format!(
                "process `{}` has no variable `{}`",
                process.name.text, place.name.text
            );
            let known = names.iter().map(String::as_str);
            self.context.unknown(
                message,
                &place.name,
                known,
                "declare it there: `shared Y = 0;`",
            );
            return None;
        };
        self.context.used_globals[var.index()] = true;
        let len = self.context.globals[var.index()].len;
        let index = match (copy, len, &place.index) {
            (Some(copy), _, None) => Some(copy),
            (None, Some(len), Some(index)) => Some(self.checked_index(index, len as usize)?),
            (None, None, None) => None,
            (_, _, Some(index)) => {
                let message = format!("`{}` is not an array", place.name.text);
                self.report(
                    Diagnostic::error(index.span, message)
                        .label("an index needs an array")
                        .help("remove the index"),
                );
                return None;
            }
            (None, Some(_), None) => {
                let message = format!("`{}` is an array", place.name.text);
                self.report(
                    Diagnostic::error(place.span, message)
                        .label("expected an index")
                        .help(format!("write `{}[0]`", place.name.text)),
                );
                return None;
            }
        };
        Some(Memory {
            var,
            index,
            order: Order::Plain,
        })
    }

    /// The process that a remote operation names, and which copy.
    fn process(&mut self, process: &Process) -> Option<(TemplateId, Option<LocalExpr>)> {
        let unit = self.process_named(&process.name)?;
        let template = TemplateId::from(unit);
        match (self.context.units[unit].count, &process.copy) {
            (Count::Once | Count::Any, None) => Some((template, None)),
            (Count::Fixed(n), Some(copy)) => {
                let copy = self.checked_index(copy, n as usize)?;
                Some((template, Some(copy)))
            }
            (Count::Fixed(_), None) => {
                let name = &process.name.text;
                self.report(
                    Diagnostic::error(process.name.span, format!("which copy of `{name}`?"))
                        .label("this process has copies")
                        .help(format!("write `{name}[0]` or `{name}[1 - self]`")),
                );
                None
            }
            (Count::Once | Count::Any, Some(copy)) => {
                let name = &process.name.text;
                self.report(
                    Diagnostic::error(copy.span, format!("`{name}` has no copies"))
                        .label("not needed")
                        .help(format!("write `{name}`")),
                );
                None
            }
        }
    }

    fn process_named(&mut self, name: &Name) -> Option<usize> {
        let found = self.context.unit_names.get(&name.text).copied();
        if let Some(unit) = found
            && self.context.units[unit].ast.is_process
        {
            return Some(unit);
        }
        let names: Vec<String> = self
            .context
            .units
            .iter()
            .filter(|u| u.ast.is_process)
            .map(|u| u.ast.name.text.clone())
            .collect();
        let known = names.iter().map(String::as_str);
        let message = format!("unknown process `{}`", name.text);
        self.context
            .unknown(message, name, known, "declare it: `process name { ... }`");
        None
    }
}
