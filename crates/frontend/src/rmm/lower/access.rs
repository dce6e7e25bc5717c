//! *Accesses*: reads and writes as steps. A step that would store a value outside
//! the domain of its target is not enabled; where the value's range does not rule
//! that out, an assumption stands before the store.

use palisade_program::{
    Atomic, AtomicKind, BinOp, CfgBuilder, Domain, Expr, FenceKind, LocId, LocalAtom, LocalExpr,
    LocalId, Span, Step,
};

use super::Lower;
use super::code::Code;
use super::memory::{Case, Owner, Target};
use crate::range::Range;
use crate::rmm::ast::{self, Loc, LocKind, Name, Sync, WriteKind};

/// From and to.
type Between = (LocId, LocId);

/// The expression that reads `id`.
const fn read(id: LocalId) -> LocalExpr {
    Expr::Atom(LocalAtom::Local(id))
}

/// That `value` lies in the domain, unless it surely does.
fn inside(value: &LocalExpr, range: Option<Range>, domain: Option<Domain>) -> Option<LocalExpr> {
    let domain = domain.filter(|d| range.is_none_or(|range| !range.inside(d.lo, d.hi)))?;
    if domain.lo == domain.hi {
        return Some(Expr::binary(
            BinOp::Eq,
            value.clone(),
            Expr::Const(domain.lo),
        ));
    }
    let low = Expr::binary(BinOp::Ge, value.clone(), Expr::Const(domain.lo));
    let high = Expr::binary(BinOp::Le, value.clone(), Expr::Const(domain.hi));
    Some(low.and(high))
}

/// Whether no value of the range is in the domain.
fn outside(range: Option<Range>, domain: Option<Domain>) -> bool {
    matches!((range, domain), (Some(range), Some(domain)) if range.outside(domain))
}

impl Code<'_, '_> {
    /// The cells that a location can be.
    fn cases(&mut self, loc: &Loc) -> Lower<Vec<Case>> {
        match &loc.kind {
            LocKind::Global(name) => {
                let target = self.memory.global(name, loc.span, self.complaints)?;
                Ok(vec![(None, target)])
            }
            LocKind::My(name) => self.private(name, Owner::My, loc.span),
            LocKind::Other(name, i) => self.private(name, Owner::Other(*i), loc.span),
            LocKind::Pointer(e) => {
                let e = self.expr(e)?;
                let range = self.range(&e);
                self.memory.pointer(&e, range, loc.span, self.complaints)
            }
        }
    }

    fn private(&mut self, name: &str, owner: Owner, span: Span) -> Lower<Vec<Case>> {
        let memory = self.memory;
        memory.private_of_copies(name, owner, self.group, span, self.complaints)
    }

    /// An assumption before a step, if there is one to make.
    fn assume(&mut self, from: LocId, cond: Option<LocalExpr>, span: Span) -> LocId {
        match cond {
            Some(cond) => self.step(from, Step::Assume(cond), span),
            None => from,
        }
    }

    /// Does `f` for each case, behind the case's condition.
    fn for_cases(
        &mut self,
        cases: Vec<Case>,
        from: LocId,
        span: Span,
        mut f: impl FnMut(&mut Self, LocId, &Target),
    ) {
        for (guard, target) in cases {
            let at = self.assume(from, guard, span);
            f(self, at, &target);
        }
    }

    /// An atomic block; `f` fills it.
    pub(super) fn atomic(
        &mut self,
        kind: AtomicKind,
        (from, to): Between,
        span: Span,
        f: impl FnOnce(&mut Self, Between),
    ) {
        let mut body = CfgBuilder::new();
        let (entry, exit) = (body.loc(), body.loc());
        let outer = std::mem::replace(&mut self.graph, body);
        self.in_atomic = true;
        f(self, (entry, exit));
        self.in_atomic = false;
        let body = std::mem::replace(&mut self.graph, outer);
        let (body, _) = body.finish(entry, exit);
        let step = Step::Atomic(Box::new(Atomic { kind, body }));
        self.edge(from, step, to, span);
    }

    /// Goes back to `start` if the loaded value does not satisfy `cond`: a read that
    /// waits has not happened. An atomic block as a whole does not happen.
    fn retry(&mut self, at: LocId, cond: LocalExpr, start: LocId, span: Span) {
        if !self.in_atomic {
            self.edge(at, Step::Assume(cond.negate()), start, span);
        }
    }

    /// Goes on if the loaded value satisfies `cond`, else back to `start`.
    fn fitting(&mut self, at: LocId, cond: LocalExpr, start: LocId, span: Span) -> LocId {
        self.retry(at, cond.clone(), start, span);
        self.step(at, Step::Assume(cond), span)
    }

    /// A load whose value must be in the register's domain.
    fn load(&mut self, register: LocalId, target: &Target, (from, to): Between, span: Span) {
        let domain = self.domain_of(register);
        let range = target.domain.map(Range::from);
        let src = target.place.clone();
        if inside(&read(register), range, domain).is_none() {
            let dst = register;
            self.edge(from, Step::Load { dst, src }, to, span);
            return;
        }
        let dst = self.scratch();
        let at = self.step(from, Step::Load { dst, src }, span);
        let fits = inside(&read(dst), range, domain).unwrap_or(Expr::TRUE);
        let at = self.fitting(at, fits, from, span);
        let value = read(dst);
        let dst = register;
        self.edge(at, Step::Assign { dst, value }, to, span);
    }

    /// `read: $r := loc`
    pub(super) fn read_into(
        &mut self,
        sync: Sync,
        register: &Name,
        loc: &Loc,
        between: Between,
        span: Span,
    ) -> Lower<()> {
        let register = self.register(register);
        let cases = self.cases(loc)?;
        let register = register?;
        let fill = |code: &mut Self, (from, to): Between| {
            code.for_cases(cases, from, span, |code, at, target| {
                code.load(register, target, (at, to), span);
            });
        };
        match sync {
            Sync::No => fill(self, between),
            Sync::Yes => self.atomic(AtomicKind::Block, between, span, fill),
        }
        Ok(())
    }

    /// `read: loc = e`
    pub(super) fn read_equal(
        &mut self,
        sync: Sync,
        loc: &Loc,
        value: &ast::Expr,
        between: Between,
        span: Span,
    ) -> Lower<()> {
        let cases = self.cases(loc);
        let value = self.expr(value)?;
        let cases = cases?;
        if self.is_outside(&cases, &value) {
            let message = "this waits for a value outside of the variable's domain";
            self.complaints.warning(span, message, "it waits forever");
        }
        let dst = self.scratch();
        let fill = |code: &mut Self, (from, to): Between| {
            code.for_cases(cases, from, span, |code, at, target| {
                let src = target.place.clone();
                let start = at;
                let at = code.step(at, Step::Load { dst, src }, span);
                let equal = Expr::binary(BinOp::Eq, read(dst), value.clone());
                code.edge(at, Step::Assume(equal.clone()), to, span);
                code.retry(at, equal, start, span);
            });
        };
        match sync {
            Sync::No => fill(self, between),
            Sync::Yes => self.atomic(AtomicKind::Block, between, span, fill),
        }
        Ok(())
    }

    /// A store whose value must be in the target's domain.
    fn store(&mut self, target: &Target, value: &LocalExpr, (from, to): Between, span: Span) {
        let fits = inside(value, self.range(value), target.domain);
        let at = self.assume(from, fits, span);
        let step = Step::Store {
            dst: target.place.clone(),
            value: value.clone(),
        };
        self.edge(at, step, to, span);
    }

    /// Whether the value is outside of the domain in every case.
    fn is_outside(&self, cases: &[Case], value: &LocalExpr) -> bool {
        let range = self.range(value);
        cases.iter().all(|(_, t)| outside(range, t.domain))
    }

    fn warn_outside(&mut self, cases: &[Case], value: &LocalExpr, span: Span) {
        if self.is_outside(cases, value) {
            let message = "this value is outside of the variable's domain";
            let help = "the process stops here; widen the domain";
            self.complaints.warning(span, message, help);
        }
    }

    /// `write: loc := e` and its kin.
    pub(super) fn write(
        &mut self,
        kind: WriteKind,
        loc: &Loc,
        value: &ast::Expr,
        (from, to): Between,
        span: Span,
    ) -> Lower<()> {
        let cases = self.cases(loc);
        let value = self.expr(value)?;
        let cases = cases?;
        self.warn_outside(&cases, &value, span);
        let fill = |code: &mut Self, (from, to): Between| {
            code.for_cases(cases, from, span, |code, at, target| {
                code.store(target, &value, (at, to), span);
            });
        };
        match kind {
            WriteKind::Plain => fill(self, (from, to)),
            WriteKind::StoreLocked => {
                let fence = self.graph.loc();
                fill(self, (from, fence));
                self.edge(fence, Step::Fence(FenceKind::StoreStore), to, span);
            }
            WriteKind::Locked | WriteKind::Sync => {
                self.atomic(AtomicKind::Block, (from, to), span, fill);
            }
        }
        Ok(())
    }

    /// What is inside of `cas(loc, old, new)`.
    pub(super) fn exchange(
        &mut self,
        loc: &Loc,
        old: &ast::Expr,
        new: &ast::Expr,
        (from, to): Between,
        span: Span,
    ) -> Lower<()> {
        let cases = self.cases(loc);
        let old = self.expr(old);
        let new = self.expr(new)?;
        let (cases, old) = (cases?, old?);
        self.warn_outside(&cases, &new, span);
        let dst = self.scratch();
        self.for_cases(cases, from, span, |code, at, target| {
            let src = target.place.clone();
            let at = code.step(at, Step::Load { dst, src }, span);
            let equal = Expr::binary(BinOp::Eq, read(dst), old.clone());
            let at = code.step(at, Step::Assume(equal), span);
            code.store(target, &new, (at, to), span);
        });
        Ok(())
    }

    /// `cas(loc, old, new)`
    pub(super) fn cas(
        &mut self,
        loc: &Loc,
        old: &ast::Expr,
        new: &ast::Expr,
        between: Between,
        span: Span,
    ) -> Lower<()> {
        let mut result = Ok(());
        self.atomic(AtomicKind::Cas, between, span, |code, between| {
            result = code.exchange(loc, old, new, between, span);
        });
        result
    }

    /// `$r := e`
    pub(super) fn assign(
        &mut self,
        register: &Name,
        value: &ast::Expr,
        (from, to): Between,
        span: Span,
    ) -> Lower<()> {
        let dst = self.register(register);
        let value = self.expr(value)?;
        let range = self.range(&value);
        let dst = dst?;
        let domain = self.domain_of(dst);
        if outside(range, domain) {
            let message = "this value is outside of the register's domain";
            let help = "the process stops here; widen the domain";
            self.complaints.warning(span, message, help);
        }
        let at = self.assume(from, inside(&value, range, domain), span);
        self.edge(at, Step::Assign { dst, value }, to, span);
        Ok(())
    }
}
