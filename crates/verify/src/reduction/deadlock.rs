//! *Deadlocks as a property* of the program that is searched: a `never` that says that every thread
//! is blocked, has ended or was not started, and that one of them waits ([`palisade_program::Stuck`]).
//! It is added on top of the memory model, whose buffers are variables there.
//!
//! A thread is *blocked* at a location if nothing of its own is buffered or pending and none of
//! its steps there is possible. That nothing is pending is the condition under which the
//! encoded thread leaves the exit of the original; then fences and flushes do not wait, and what
//! its steps read is memory. So a step can only be impossible if it is an `assume`, or an
//! atomic block no path of which leads through its `assume`s: these are collected by running
//! the block symbolically over the state before it. What cannot be told so (a block with a loop,
//! a condition on a value that the block chooses) is refused, and there is no proof.
//!
//! With any number of threads, and flags that say where threads are ([`super::presence`]), it is enough to look at one copy of each
//! template: these copies and the threads that run once are stuck, one waits, and no flag is 1 at whose locations a step is
//! possible.
//!
//! Encodings with more runs than the model lose no deadlock: where the model has drained so
//! has some state of the encoding that stands for it, since a fence passes there.

use std::collections::BTreeMap;

use palisade_memory::reduced::{Meaning, Reduced};
use palisade_program::cfg::{Cfg, FenceKind, Place, Step};
use palisade_program::presence::Flag;
use palisade_program::{
    BinOp, Cell, Count, Expr, Instance, LocId, LocalAtom, LocalExpr, LocalId, Pick, Program,
    PropAtom, PropExpr, Property, PropertyKind, Role, Span, Stuck, TemplateId, ThreadVar,
    ThreadVarId,
};

use crate::answer::Gap;
use crate::portfolio::{BLOCK_CHOICES, BLOCK_PATHS};

/// That `program`, or what it has become, is in a deadlock: a `never`.
///
/// # Errors
/// It cannot be told whether a step is possible.
pub(super) fn property(
    program: &Program,
    reduced: Option<&Reduced>,
    instances: &[Instance],
) -> Result<Property, Gap> {
    let (mut all, mut some) = (PropExpr::TRUE, PropExpr::FALSE);
    let instances: Vec<Instance> = match program.present.as_slice() {
        [] => instances.to_vec(),
        _ => program.instances(1),
    };
    for (number, instance) in instances.iter().enumerate() {
        let thread = Thread {
            template: instance.template,
            var: ThreadVarId::from(number),
        };
        let (stuck, waits) = thread.stuck(program, reduced)?;
        all = both(all, stuck);
        some = one_of(some, waits);
    }
    for Flag { presence, var } in &program.present {
        let is_there = |i: &Instance| i.template == presence.template;
        let Some(number) = instances.iter().position(is_there) else {
            continue;
        };
        let thread = Thread {
            template: presence.template,
            var: ThreadVarId::from(number),
        };
        let mut nobody = Expr::Atom(PropAtom::Global(*var, None)).negate();
        for loc in &presence.locs {
            nobody = nobody.or(thread.possible_at(program, *loc)?.negate());
        }
        all = both(all, nobody);
    }
    let variable = |i: &Instance| ThreadVar {
        template: i.template,
        pick: match program.template(i.template).count {
            Count::Once => Pick::Only,
            Count::Any if !program.present.is_empty() => Pick::Any(0),
            Count::Fixed(_) | Count::Any => Pick::Copy(i.copy),
        },
    };
    Ok(Property {
        kind: PropertyKind::Never,
        threads: instances.iter().map(variable).collect(),
        cond: both(all, some),
        span: Span::default(),
    })
}

/// `a && b`. Locations are truth values here, which they are not by their form, and stand only
/// under `&&` and `||`, so that others may be interior.
fn both(a: PropExpr, b: PropExpr) -> PropExpr {
    match (a, b) {
        (Expr::Const(1), e) | (e, Expr::Const(1)) => e,
        (Expr::Const(0), _) | (_, Expr::Const(0)) => PropExpr::FALSE,
        (a, b) => PropExpr::binary(BinOp::And, a, b),
    }
}

/// `a || b`, as [`both`].
fn one_of(a: PropExpr, b: PropExpr) -> PropExpr {
    match (a, b) {
        (Expr::Const(0), e) | (e, Expr::Const(0)) => e,
        (Expr::Const(1), _) | (_, Expr::Const(1)) => PropExpr::TRUE,
        (a, b) => PropExpr::binary(BinOp::Or, a, b),
    }
}

/// A thread of the program.
#[derive(Clone, Copy)]
struct Thread {
    template: TemplateId,
    var: ThreadVarId,
}

impl Thread {
    fn at(self, loc: LocId) -> PropExpr {
        Expr::Atom(PropAtom::At(self.var, loc))
    }

    /// When the thread is stuck without the run being over, and when it also waits, as far
    /// as its location says.
    fn stuck(
        self,
        program: &Program,
        reduced: Option<&Reduced>,
    ) -> Result<(PropExpr, PropExpr), Gap> {
        let template = program.template(self.template);
        let cfg = &template.cfg;
        let (end, drained) = match reduced {
            None => (cfg.exit, PropExpr::TRUE),
            Some(reduced) => self.drained(reduced)?,
        };
        let (mut stuck, mut waits) = (PropExpr::FALSE, PropExpr::FALSE);
        for loc in cfg.locs() {
            let standing = template.stuck_at(loc);
            if standing == Stuck::Over {
                continue;
            }
            if loc == cfg.exit {
                stuck = one_of(stuck, self.at(end));
                continue;
            }
            let possible = self.possible_at(program, loc)?;
            if possible == PropExpr::TRUE {
                continue;
            }
            let blocked = both(drained.clone(), possible.negate());
            stuck = one_of(stuck, both(self.at(loc), blocked));
            if standing == Stuck::Waits {
                waits = one_of(waits, self.at(loc));
            }
        }
        Ok((stuck, waits))
    }

    /// Where the encoded thread ends, and when nothing of its own is under way.
    fn drained(self, reduced: &Reduced) -> Result<(LocId, PropExpr), Gap> {
        let cfg = &reduced.program.template(self.template).cfg;
        let meanings = &reduced.templates[self.template.index()].edges;
        let mut both = cfg.edges.iter().zip(meanings);
        let ends = both.find(|(_, meaning)| **meaning == Meaning::End);
        let (edge, _) = ends.expect("every encoded thread has an end");
        let drained = self.possible(&reduced.program, &edge.step, edge.span)?;
        Ok((cfg.exit, drained))
    }

    /// When some step from a location is possible, nothing being pending.
    fn possible_at(self, program: &Program, loc: LocId) -> Result<PropExpr, Gap> {
        let mut possible = PropExpr::FALSE;
        for (_, edge) in program.template(self.template).cfg.outgoing(loc) {
            possible = possible.or(self.possible(program, &edge.step, edge.span)?);
        }
        Ok(possible)
    }

    /// When a step is possible, nothing being pending.
    fn possible(self, program: &Program, step: &Step, span: Span) -> Result<PropExpr, Gap> {
        match step {
            Step::Assume(cond) => Block::new(self, program, span).truth(cond),
            Step::Havoc { domain, .. } => Ok(PropExpr::Const(i64::from(
                domain.is_none_or(|d| d.lo <= d.hi),
            ))),
            Step::Atomic(atomic) => Block::new(self, program, span).passes(&atomic.body),
            Step::Fence(FenceKind::Full | FenceKind::StoreStore | FenceKind::Candidate) => {
                Ok(PropExpr::TRUE)
            }
            Step::Fence(FenceKind::Ordered(_)) => Ok(PropExpr::TRUE),
            Step::Skip | Step::Assign { .. } | Step::Load { .. } | Step::Store { .. } => {
                Ok(PropExpr::TRUE)
            }
            // A failing step is a violation of another kind.
            Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } => Ok(PropExpr::TRUE),
            Step::RemoteAtomic(_) | Step::Flush(_) => Ok(PropExpr::TRUE),
        }
    }
}

/// What a variable holds inside a block, over the state before it; `None`: what the block chooses.
type Held = Option<PropExpr>;

/// A block that is being run.
#[derive(Clone)]
struct Block<'p> {
    thread: Thread,
    program: &'p Program,
    span: Span,
    guard: PropExpr,
    /// That an assertion has failed on the way: the step is possible then, whatever follows.
    failed: PropExpr,
    locals: BTreeMap<LocalId, Held>,
    cells: BTreeMap<Cell, Held>,
    /// The locations on the way here.
    path: Vec<LocId>,
}

impl<'p> Block<'p> {
    fn new(thread: Thread, program: &'p Program, span: Span) -> Self {
        Self {
            thread,
            program,
            span,
            guard: PropExpr::TRUE,
            failed: PropExpr::FALSE,
            locals: BTreeMap::new(),
            cells: BTreeMap::new(),
            path: Vec::new(),
        }
    }

    fn refused(&self, what: &str) -> Gap {
        Gap::Unsupported(format!("deadlocks where {what}"), self.span)
    }

    /// When a path leads through the block, or to a failing assertion.
    fn passes(mut self, body: &Cfg) -> Result<PropExpr, Gap> {
        let mut passes = PropExpr::FALSE;
        self.path = vec![body.entry];
        let mut open = vec![self];
        let mut paths = 0;
        while let Some(block) = open.pop() {
            let at = block.path.last().copied().unwrap_or(body.entry);
            if at == body.exit {
                passes = passes.or(block.guard);
                continue;
            }
            paths += 1;
            if paths > BLOCK_PATHS {
                return Err(block.refused("an atomic block has many paths"));
            }
            for (_, edge) in body.outgoing(at) {
                if block.path.contains(&edge.to) {
                    return Err(block.refused("an atomic block has a loop"));
                }
                let mut next = block.clone();
                next.path.push(edge.to);
                next.step(&edge.step, &mut open)?;
            }
        }
        Ok(passes)
    }

    /// Takes a step; what goes on, or has failed, is added to `open`.
    fn step(mut self, step: &Step, open: &mut Vec<Self>) -> Result<(), Gap> {
        match step {
            Step::Skip => {}
            Step::Assume(cond) => {
                let goes_on = self.failed.clone().or(self.truth(cond)?);
                self.guard = self.guard.clone().and(goes_on);
            }
            Step::Assert { cond, .. } => {
                self.failed = self.failed.clone().or(self.truth(cond)?.negate());
            }
            Step::Assign { dst, value } => {
                let value = self.value(value);
                self.locals.insert(*dst, value);
            }
            Step::Havoc { dst, domain } => match domain {
                Some(d) if d.hi - d.lo < BLOCK_CHOICES => {
                    for value in d.lo..=d.hi {
                        let mut next = self.clone();
                        next.locals.insert(*dst, Some(Expr::Const(value)));
                        open.push(next);
                    }
                    return Ok(());
                }
                Some(_) | None => drop(self.locals.insert(*dst, None)),
            },
            Step::Load { dst, src } => {
                let value = self.loaded(src)?;
                self.locals.insert(*dst, value);
            }
            Step::Store { dst, value } => {
                let value = self.value(value);
                self.store(dst, &value)?;
            }
            Step::Fence(_) | Step::Atomic(_) | Step::Put { .. } | Step::Get { .. } => {
                unreachable!("atomic blocks hold no such step")
            }
            Step::RemoteAtomic(_) | Step::Flush(_) => {
                unreachable!("atomic blocks hold no such step")
            }
        }
        if self.guard != PropExpr::FALSE {
            open.push(self);
        }
        Ok(())
    }

    fn local(&self, atom: LocalAtom) -> Held {
        match atom {
            LocalAtom::SelfId => Some(Expr::Atom(PropAtom::SelfOf(self.thread.var))),
            LocalAtom::Local(id) => match self.locals.get(&id) {
                Some(held) => held.clone(),
                None => Some(Expr::Atom(PropAtom::Local(self.thread.var, id))),
            },
        }
    }

    fn value(&self, e: &LocalExpr) -> Held {
        if e.any_atom(|atom| self.local(*atom).is_none()) {
            return None;
        }
        Some(e.substitute(&mut |atom| self.local(*atom).unwrap_or(Expr::FALSE)))
    }

    /// Whether a condition holds, as 0 or 1.
    fn truth(&self, cond: &LocalExpr) -> Result<PropExpr, Gap> {
        let chosen = || self.refused("an atomic block waits for a value that it chooses");
        let value = self.value(cond).ok_or_else(chosen)?;
        if value.is_boolean() {
            return Ok(value);
        }
        Ok(PropExpr::binary(BinOp::Ne, value, Expr::FALSE))
    }

    /// The cells that a place may be, each with the condition that it is.
    fn cells_of(&self, place: &Place) -> Result<Vec<(PropExpr, Cell)>, Gap> {
        let global = self.program.global(place.var);
        let Some(index) = &place.index else {
            return Ok(vec![(PropExpr::TRUE, self.program.cell(place.var, 0))]);
        };
        let chosen = || self.refused("an atomic block chooses an index");
        let index = self.value(index).ok_or_else(chosen)?;
        let all = 0..global.cell_count() as u32;
        let one = |k: u32| {
            let here = PropExpr::binary(BinOp::Eq, index.clone(), Expr::Const(i64::from(k)));
            (here, self.program.cell(place.var, k))
        };
        let possible = all.map(one).filter(|(here, _)| *here != PropExpr::FALSE);
        Ok(possible.collect())
    }

    fn held(&self, cell: Cell) -> Held {
        if let Some(held) = self.cells.get(&cell) {
            return held.clone();
        }
        let (var, index) = self.program.variable_of(cell);
        let global = self.program.global(var);
        match global.role {
            Role::Set(_) => None,
            Role::Data | Role::Control => {
                let index = global.len.map(|_| index);
                Some(Expr::Atom(PropAtom::Global(var, index)))
            }
        }
    }

    fn loaded(&self, place: &Place) -> Result<Held, Gap> {
        let mut cells = self.cells_of(place)?.into_iter();
        let Some((_, first)) = cells.next() else {
            return Ok(None);
        };
        let mut value = self.held(first);
        for (here, cell) in cells {
            value = either(&here, self.held(cell), value);
        }
        Ok(value)
    }

    fn store(&mut self, place: &Place, value: &Held) -> Result<(), Gap> {
        for (here, cell) in self.cells_of(place)? {
            let before = self.held(cell);
            let after = if here == PropExpr::TRUE {
                value.clone()
            } else {
                either(&here, value.clone(), before)
            };
            self.cells.insert(cell, after);
        }
        Ok(())
    }
}

fn either(cond: &PropExpr, yes: Held, no: Held) -> Held {
    Some(Expr::Cond(
        Box::new(cond.clone()),
        Box::new(yes?),
        Box::new(no?),
    ))
}

/// When a step of a thread of this template is possible at `loc`, if that depends on shared variables alone.
pub(super) fn shared_condition(
    program: &Program,
    template: TemplateId,
    loc: LocId,
) -> Option<PropExpr> {
    let thread = Thread {
        template,
        var: ThreadVarId::from(0),
    };
    let possible = thread.possible_at(program, loc).ok()?;
    let mut shared = true;
    possible.for_each_atom(&mut |atom| match atom {
        PropAtom::Global(..) => {}
        PropAtom::Local(..) | PropAtom::SelfOf(_) | PropAtom::At(..) => shared = false,
    });
    shared.then_some(possible)
}
