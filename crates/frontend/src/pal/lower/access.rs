//! *Places*: what a name with or without an index stands for, how it is read and
//! written, and the checks that come with it: an index outside its array is a
//! violation, and so is a value outside a declared range.

use palisade_program::{
    AssertKind, BinOp, Domain, Expr as Value, GlobalId, LocalAtom, LocalExpr, LocalId, Order,
    Place as Memory, Span, Step,
};

use super::code::{Binding, Code};
use super::expr::read_local;
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, Name, Place};
use crate::range::Range;

/// What a place stands for.
pub(super) enum Target {
    Local(LocalId),
    /// An element of an array of locals; the index is a constant, `self` or a local.
    Element(Vec<LocalId>, LocalExpr),
    Shared(Memory),
}

/// `lo <= e && e <= hi`
fn between(e: &LocalExpr, lo: i64, hi: i64) -> LocalExpr {
    let low = LocalExpr::binary(BinOp::Le, Value::Const(lo), e.clone());
    let high = LocalExpr::binary(BinOp::Le, e.clone(), Value::Const(hi));
    LocalExpr::binary(BinOp::And, low, high)
}

/// Whether values of `range` always lie in `domain`.
pub(super) fn fits(domain: Option<Domain>, range: Option<Range>) -> bool {
    domain.is_none_or(|d| range.is_some_and(|r| r.inside(d.lo, d.hi)))
}

impl Code<'_, '_> {
    /// The shared variable that `name` means in this thread's own code.
    pub(super) fn shared_variable(&self, name: &str) -> Option<GlobalId> {
        let own = self
            .unit
            .and_then(|unit| self.context.units[unit].variables.get(name));
        own.or_else(|| self.context.global_names.get(name)).copied()
    }

    /// Resolves a place and evaluates its index, with its check.
    pub(super) fn target(&mut self, place: &Place) -> Option<Target> {
        match self.lookup(&place.name.text) {
            Some(Binding::Scalar(local)) => {
                self.mark_used(local);
                self.no_index(place)?;
                Some(Target::Local(local))
            }
            Some(Binding::Array(elements)) => {
                for element in &elements {
                    self.mark_used(*element);
                }
                let index = self.index(place, elements.len())?;
                // The index occurs once per element.
                let index = self.small(index, place.span);
                Some(Target::Element(elements, index))
            }
            None => self.shared_place(place).map(Target::Shared),
        }
    }

    /// The value as a constant or variable, so that copies of it cost little.
    fn small(&mut self, value: LocalExpr, span: Span) -> LocalExpr {
        match value {
            Value::Const(_) | Value::Atom(_) => value,
            Value::Unary(..) | Value::Binary(..) | Value::Cond(..) => {
                let range = self.range(&value);
                let dst = self.temporary(range);
                self.emit(Step::Assign { dst, value }, span);
                read_local(dst)
            }
        }
    }

    /// A place in shared memory that this thread may access directly.
    pub(super) fn shared_place(&mut self, place: &Place) -> Option<Memory> {
        let Some(var) = self.shared_variable(&place.name.text) else {
            self.unknown_variable(&place.name);
            return None;
        };
        self.context.used_globals[var.index()] = true;
        let global = &self.context.globals[var.index()];
        if global.home.is_some_and(|home| home.per_copy) {
            // The own copy of a variable of a process with copies.
            self.no_index(place)?;
            let index = Some(Value::Atom(LocalAtom::SelfId));
            return Some(Memory {
                var,
                index,
                order: Order::Plain,
            });
        }
        match global.len {
            None => {
                self.no_index(place)?;
                Some(Memory::scalar(var))
            }
            Some(len) => {
                let index = Some(self.index(place, len as usize)?);
                Some(Memory {
                    var,
                    index,
                    order: Order::Plain,
                })
            }
        }
    }

    pub(super) fn unknown_variable(&mut self, name: &Name) {
        if self.context.constants.contains_key(&name.text) {
            self.report(
                Diagnostic::error(name.span, format!("`{}` is a constant", name.text))
                    .label("not a variable")
                    .help("declare a variable if its value should change"),
            );
            return;
        }
        let elsewhere = self
            .context
            .units
            .iter()
            .find(|u| u.variables.contains_key(&name.text));
        if let Some(owner) = elsewhere {
            let owner = owner.ast.name.text.clone();
            let text = &name.text;
            self.report(
                Diagnostic::error(name.span, format!("`{text}` lives in process `{owner}`"))
                    .label("not memory of this process")
                    .help(format!(
                        "reach it by `put({text}, {owner}, X);` or `X = get({text}, {owner});`"
                    )),
            );
            return;
        }
        let names = self.context.candidates(|context| {
            let mut names: Vec<String> = context.global_names.keys().cloned().collect();
            names.extend(context.constants.keys().cloned());
            if let Some(unit) = self.unit {
                names.extend(context.units[unit].variables.keys().cloned());
            }
            for scope in self.frames.iter().flat_map(|f| &f.scopes) {
                names.extend(scope.keys().cloned());
            }
            names
        });
        let known = names.iter().map(String::as_str);
        let help = format!(
            "declare it: `shared {0} = 0;` or `local {0} = 0;`",
            name.text
        );
        let message = format!("unknown variable `{}`", name.text);
        self.context.unknown(message, name, known, &help);
    }

    /// Reports an index on something that is no array.
    fn no_index(&mut self, place: &Place) -> Option<()> {
        let Some(index) = &place.index else {
            return Some(());
        };
        let message = format!("`{}` is not an array", place.name.text);
        self.report(
            Diagnostic::error(index.span, message)
                .label("an index needs an array")
                .help(format!(
                    "declare `{}[n]`, or remove the index",
                    place.name.text
                )),
        );
        None
    }

    /// The index of an array access, checked against the array's length.
    fn index(&mut self, place: &Place, len: usize) -> Option<LocalExpr> {
        let Some(index) = &place.index else {
            let name = &place.name.text;
            self.report(
                Diagnostic::error(place.span, format!("`{name}` is an array"))
                    .label("expected an index")
                    .help(format!("write `{name}[0]`")),
            );
            return None;
        };
        self.checked_index(index, len)
    }

    /// The value of `index`; outside `0..len` it is an error now, if it is a
    /// constant, or a violation when the program runs.
    pub(super) fn checked_index(&mut self, index: &Expr, len: usize) -> Option<LocalExpr> {
        let value = self.value(index);
        let last = len as i64 - 1;
        if let Value::Const(c) = value
            && !(0..=last).contains(&c)
        {
            self.report(
                Diagnostic::error(index.span, format!("index {c} is out of range"))
                    .label(format!("expected 0 to {last}"))
                    .help("numbering starts at 0"),
            );
            return None;
        }
        if !self.range(&value).is_some_and(|r| r.inside(0, last)) {
            let cond = between(&value, 0, last);
            self.emit_check(cond, AssertKind::Index, index.span);
        }
        Some(value)
    }

    /// The range that a shared variable's declaration promises.
    pub(super) fn shared_range(&self, var: GlobalId) -> Option<Range> {
        self.context.globals[var.index()].domain.map(Range::from)
    }

    /// Emits a check that `value` lies in `domain`, unless its form shows it.
    pub(super) fn check_domain(&mut self, value: &LocalExpr, domain: Option<Domain>, span: Span) {
        if let Some(d) = domain
            && !fits(domain, self.range(value))
        {
            self.emit_check(between(value, d.lo, d.hi), AssertKind::Domain, span);
        }
    }

    /// The value at a target; shared memory is loaded into a temporary.
    pub(super) fn read(&mut self, target: &Target, span: Span) -> LocalExpr {
        match target {
            Target::Local(local) => read_local(*local),
            Target::Element(elements, Value::Const(c)) => read_local(elements[*c as usize]),
            Target::Element(elements, index) => {
                let last = read_local(elements[elements.len() - 1]);
                let others = elements.iter().enumerate().rev().skip(1);
                others.fold(last, |rest, (i, element)| {
                    let here = LocalExpr::binary(BinOp::Eq, index.clone(), Value::Const(i as i64));
                    Value::Cond(
                        Box::new(here),
                        Box::new(read_local(*element)),
                        Box::new(rest),
                    )
                })
            }
            Target::Shared(src) => {
                let range = self.shared_range(src.var);
                let dst = self.temporary(range);
                let src = src.clone();
                self.emit(Step::Load { dst, src }, span);
                read_local(dst)
            }
        }
    }

    /// Writes shared memory, with a check of the variable's domain.
    pub(super) fn store(&mut self, dst: Memory, value: LocalExpr, span: Span) {
        let domain = self.context.globals[dst.var.index()].domain;
        self.check_domain(&value, domain, span);
        self.emit(Step::Store { dst, value }, span);
    }

    /// Writes an element of an array of locals: one branch per element.
    pub(super) fn store_element(
        &mut self,
        elements: &[LocalId],
        index: &LocalExpr,
        value: LocalExpr,
        span: Span,
    ) {
        if let Value::Const(c) = index {
            self.assign_value(elements[*c as usize], value, span);
            return;
        }
        let domain = self.locals[elements[0].index()].domain;
        self.check_domain(&value, domain, span);
        let value = self.small(value, span);
        let (start, join) = (self.here, self.graph.loc());
        for (i, element) in elements.iter().enumerate() {
            self.here = start;
            let cond = LocalExpr::binary(BinOp::Eq, index.clone(), Value::Const(i as i64));
            self.emit(Step::Assume(cond), span);
            let value = value.clone();
            let step = Step::Assign {
                dst: *element,
                value,
            };
            self.emit(step, span);
            self.graph.unify(self.here, join);
        }
        self.here = join;
    }
}
