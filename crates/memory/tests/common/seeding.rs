//! Seeding a fault into a reduced program: finding where a rule of the reduction
//! was used (the tables in the headers of `tso.rs` and `pso.rs`), and changing its
//! alternatives in one way, everywhere.

use palisade_memory::blocks::{either, equals};
use palisade_memory::reduced::{Meaning, Part, Reduced, ReducedTemplate};
use palisade_program::cfg::{FenceKind, Step, local};
use palisade_program::{
    BinOp, Cell, Cfg, Edge, Expr, LocId, LocalAtom, LocalExpr, LocalId, Model, Program, Template,
};

/// A rule of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    Store,
    Load,
    Fence,
    StoreStore,
    Atomic,
    /// Atomic blocks that only read.
    Snapshot,
    Update,
    End,
}

/// One fault.
pub(crate) struct Fault {
    /// What goes wrong.
    pub(crate) name: &'static str,
    /// In which reductions.
    pub(crate) models: &'static [Model],
    rule: Rule,
    /// Changes one alternative of a rule: the steps that are taken in turn.
    edit: fn(&Site<'_>, &mut Vec<Step>),
}

/// Where a rule was used.
pub(crate) struct Site<'a> {
    pub(crate) program: &'a Program,
    pub(crate) parts: &'a ReducedTemplate,
    /// The step of the original, if it is one of a thread.
    pub(crate) original: Option<&'a Step>,
    /// The step of the original that comes next, for steps of the memory system.
    pub(crate) waiting: Option<&'a Step>,
    /// Whether the thread has ended, all but for its buffers.
    pub(crate) last: bool,
}

impl Fault {
    /// Seeds the fault.
    pub(crate) fn seed(&self, program: &Program, reduced: &mut Reduced) {
        for (i, original) in program.templates.iter().enumerate() {
            let parts = &reduced.templates[i];
            for (e, edge) in reduced.program.templates[i]
                .cfg
                .edges
                .iter_mut()
                .enumerate()
            {
                let meaning = parts.edges[e];
                if rule_of(original, meaning) == Some(self.rule) {
                    self.change(&site(program, original, parts, meaning, edge), edge);
                }
            }
        }
    }

    fn change(&self, site: &Site<'_>, edge: &mut Edge) {
        if self.rule == Rule::Atomic {
            // Only the condition in front is the reduction's.
            let Step::Atomic(atomic) = &mut edge.step else {
                panic!("atomic blocks stay atomic blocks")
            };
            let mut front = vec![atomic.body.edges[0].step.clone()];
            (self.edit)(site, &mut front);
            atomic.body.edges[0].step = front.pop().expect("one step stays one step");
            return;
        }
        if self.rule == Rule::Snapshot {
            // The block as one step, to be changed as a whole.
            let mut whole = vec![edge.step.clone()];
            (self.edit)(site, &mut whole);
            edge.step = whole.pop().expect("one step stays one step");
            return;
        }
        let mut alternatives = match &edge.step {
            Step::Atomic(atomic) => paths(&atomic.body),
            step => vec![vec![step.clone()]],
        };
        for steps in &mut alternatives {
            (self.edit)(site, steps);
        }
        edge.step = either(alternatives, edge.span);
    }
}

fn site<'a>(
    program: &'a Program,
    original: &'a Template,
    parts: &'a ReducedTemplate,
    meaning: Meaning,
    edge: &Edge,
) -> Site<'a> {
    let next = |loc: LocId| original.cfg.outgoing(loc).next().map(|(_, e)| &e.step);
    let (own, waiting) = match meaning {
        Meaning::Step { edge, .. } => (Some(&original.cfg.edge(edge).step), None),
        Meaning::Update(_) => (None, next(edge.from)),
        Meaning::End | Meaning::Read { .. } | Meaning::Write { .. } => (None, None),
        Meaning::Pick(_) | Meaning::AtomicRead { .. } | Meaning::AtomicApply(_) => (None, None),
    };
    Site {
        program,
        parts,
        original: own,
        waiting,
        last: edge.from == original.cfg.exit,
    }
}

fn rule_of(original: &Template, meaning: Meaning) -> Option<Rule> {
    match meaning {
        Meaning::Update(_) => Some(Rule::Update),
        // Remote operations have faults of their own.
        Meaning::Read { .. } | Meaning::Write { .. } | Meaning::Pick(_) => None,
        Meaning::AtomicRead { .. } | Meaning::AtomicApply(_) => None,
        Meaning::End => Some(Rule::End),
        Meaning::Step { edge, .. } => match &original.cfg.edge(edge).step {
            Step::Store { .. } => Some(Rule::Store),
            Step::Load { .. } => Some(Rule::Load),
            Step::Fence(FenceKind::Full) => Some(Rule::Fence),
            Step::Fence(FenceKind::StoreStore) => Some(Rule::StoreStore),
            Step::Atomic(atomic) if atomic.drains() => Some(Rule::Atomic),
            Step::Atomic(_) => Some(Rule::Snapshot),
            Step::Fence(FenceKind::Candidate | FenceKind::Ordered(_)) => None,
            Step::Skip | Step::Assume(_) => None,
            Step::Assign { .. } | Step::Havoc { .. } | Step::Assert { .. } => None,
            Step::Put { .. } | Step::Get { .. } => None,
            Step::RemoteAtomic(_) | Step::Flush(_) => None,
        },
    }
}

/// The alternatives of a block made by [`either`].
fn paths(body: &Cfg) -> Vec<Vec<Step>> {
    let follow = |first: &Edge| {
        let (mut steps, mut at) = (vec![first.step.clone()], first.to);
        while let Some((_, edge)) = body.outgoing(at).next() {
            steps.push(edge.step.clone());
            at = edge.to;
        }
        steps
    };
    body.outgoing(body.entry).map(|(_, e)| follow(e)).collect()
}

impl Site<'_> {
    pub(crate) fn part(&self, id: LocalId) -> Part {
        self.parts.locals[id.index()]
    }

    pub(crate) fn local(&self, part: Part) -> LocalId {
        let found = self.parts.locals.iter().position(|p| *p == part);
        found.map(LocalId::from).expect("a part of this template")
    }

    /// What a step assigns to, and the one local whose value it assigns, if so.
    pub(crate) fn assigned(&self, step: &Step) -> Option<(Part, Option<Part>)> {
        let Step::Assign { dst, value } = step else {
            return None;
        };
        let from = match value {
            Expr::Atom(LocalAtom::Local(id)) => Some(self.part(*id)),
            _ => None,
        };
        Some((self.part(*dst), from))
    }

    /// Takes out the assignments for which `which` holds of their two sides.
    pub(crate) fn remove(&self, steps: &mut Vec<Step>, which: fn(Part, Option<Part>) -> bool) {
        steps.retain(|s| !self.assigned(s).is_some_and(|(to, from)| which(to, from)));
    }

    /// Takes out the conditions for which `which` holds of some local.
    pub(crate) fn unguard(&self, steps: &mut Vec<Step>, which: fn(Part) -> bool) {
        steps.retain(|s| match s {
            Step::Assume(cond) => !self.reads(cond, which),
            _ => true,
        });
    }

    pub(crate) fn reads(&self, expr: &LocalExpr, which: fn(Part) -> bool) -> bool {
        locals(expr).into_iter().any(|id| which(self.part(id)))
    }

    /// The buffered cell after `cell`, in turn.
    pub(crate) fn other(&self, cell: Cell) -> Cell {
        let cells = &self.parts.buffered;
        let at = cells.iter().position(|c| *c == cell).unwrap_or(0);
        cells[(at + 1) % cells.len()]
    }

    /// Whether the steps buffer a store into the last free cell.
    pub(crate) fn last_room(&self, steps: &[Step]) -> bool {
        steps.iter().any(|s| match self.assigned(s) {
            Some((Part::Value(cell, i), _)) => {
                !self.parts.locals.contains(&Part::Value(cell, i + 1))
            }
            _ => false,
        })
    }

    /// The condition that all of the buffers are empty.
    pub(crate) fn all_empty(&self) -> LocalExpr {
        let parts = self.parts.locals.iter().enumerate();
        let counts = parts.filter(|(_, p)| is_count(**p));
        counts.fold(Expr::TRUE, |all, (id, _)| all.and(equals(id.into(), 0)))
    }

    /// The condition that only the first of the buffers is empty.
    pub(crate) fn first_empty(&self) -> Step {
        let counts = self.parts.locals.iter().position(|p| is_count(*p));
        counts.map_or(Step::Skip, |id| Step::Assume(equals(id.into(), 0)))
    }
}

fn locals(expr: &LocalExpr) -> Vec<LocalId> {
    match expr {
        Expr::Const(_) | Expr::Atom(LocalAtom::SelfId) => Vec::new(),
        Expr::Atom(LocalAtom::Local(id)) => vec![*id],
        Expr::Unary(_, a) => locals(a),
        Expr::Binary(_, a, b) => [locals(a), locals(b)].concat(),
        Expr::Cond(c, a, b) => [locals(c), locals(a), locals(b)].concat(),
    }
}

pub(crate) const fn is_value(part: Part) -> bool {
    matches!(part, Part::Value(..))
}

pub(crate) const fn is_target(part: Part) -> bool {
    matches!(part, Part::Target(_))
}

pub(crate) const fn is_count(part: Part) -> bool {
    matches!(part, Part::Count(_))
}

pub(crate) const fn is_epoch(part: Part) -> bool {
    matches!(part, Part::Epoch(..))
}

/// The steps never happen.
pub(crate) fn never(steps: &mut Vec<Step>) {
    *steps = vec![Step::Assume(Expr::FALSE)];
}

/// The steps are done without any waiting.
pub(crate) fn no_wait(_: &Site<'_>, steps: &mut Vec<Step>) {
    *steps = vec![Step::Skip];
}

/// Replaces the local that assignments from buffered values read.
pub(crate) fn forward(
    site: &Site<'_>,
    steps: &mut [Step],
    from: &dyn Fn(Option<Cell>, u32) -> Part,
) {
    for step in steps {
        if let Some((_, Some(Part::Value(cell, i)))) = site.assigned(step)
            && let Step::Assign { value, .. } = step
        {
            *value = local(site.local(from(cell, i)));
        }
    }
}

/// Replaces the element that conditions on an index ask for.
pub(crate) fn other_element(site: &Site<'_>, steps: &mut [Step]) {
    for step in steps {
        if let Step::Assume(Expr::Binary(BinOp::Eq, index, element)) = step
            && !site.reads(index, |p| p != Part::Own)
            && let Expr::Const(e) = element.as_mut()
        {
            *e = 1 - *e;
        }
    }
}

/// A fault.
pub(crate) const fn fault(
    name: &'static str,
    models: &'static [Model],
    rule: Rule,
    edit: fn(&Site<'_>, &mut Vec<Step>),
) -> Fault {
    Fault {
        name,
        models,
        rule,
        edit,
    }
}

/// Every `>=` becomes `>`.
pub(crate) fn strictly(expr: &mut LocalExpr) {
    match expr {
        Expr::Const(_) | Expr::Atom(_) => {}
        Expr::Unary(_, a) => strictly(a),
        Expr::Binary(op, a, b) => {
            if *op == BinOp::Ge {
                *op = BinOp::Gt;
            }
            strictly(a);
            strictly(b);
        }
        Expr::Cond(c, a, b) => {
            strictly(c);
            strictly(a);
            strictly(b);
        }
    }
}
