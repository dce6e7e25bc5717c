//! *Finite variables*: variables that can take only a few values, whatever the
//! program does. The checker keeps their values explicit, as it does program
//! counters; predicates are needed only for the others.
//!
//! The analysis knows for each location of a thread the values that its locals
//! can have there, and for each memory cell all values that it can ever have. An
//! expression takes the values that it has over all combinations of its operands'
//! values; an `assume` keeps the values for which some combination satisfies it.
//! It starts from the initial values and adds until nothing changes; more than
//! [`MAX_VALUES`] values, or an unknown one, become unbounded. The result
//! over-approximates the values under every interleaving and, since a buffered
//! value was stored too, under every memory model.
//!
//! [`Finite::within`] leaves out values outside a range: what it says is a guess, which its
//! user must check.

use std::collections::BTreeSet;

use palisade_program::cfg::{Cfg, Place, Step};
use palisade_program::{
    BinOp, Cell, Change, Domain, Expr, Init, Instance, LocalAtom, LocalExpr, LocalId, Operand,
    Program, RemoteAtomic,
};

/// Most values of a finite variable.
pub const MAX_VALUES: usize = 16;
/// Most combinations of operands that one expression is evaluated for.
const MAX_COMBINATIONS: usize = 4096;

/// The values of a variable: a small set, or `None` for unbounded.
pub type Values = Option<BTreeSet<i64>>;

/// The finite values of memory cells and of each thread's locals.
#[derive(Clone, Debug)]
pub struct Finite {
    /// By cell.
    pub cells: Vec<Values>,
    /// By thread, then local.
    pub locals: Vec<Vec<Values>>,
}

impl Finite {
    /// Runs the analysis for these threads.
    pub fn of(program: &Program, threads: &[Instance]) -> Self {
        Self::analysed(program, threads, None)
    }

    /// The values inside `range`, which has at most [`MAX_VALUES`] of them, that variables would
    /// have if none ever left it.
    pub fn within(program: &Program, threads: &[Instance], range: Domain) -> Self {
        Self::analysed(program, threads, Some(range))
    }

    fn analysed(program: &Program, threads: &[Instance], range: Option<Domain>) -> Self {
        let cells = program.globals.iter().flat_map(|g| {
            g.init
                .iter()
                .map(|init| initial(*init, g.domain))
                .collect::<Vec<_>>()
        });
        let mut analysis = Analysis {
            program,
            cells: cells.collect(),
            assigned: Vec::new(),
            changed: true,
            range,
        };
        let mut locals = Vec::new();
        while std::mem::take(&mut analysis.changed) {
            locals = threads.iter().map(|t| analysis.thread(*t)).collect();
        }
        Self {
            cells: analysis.cells,
            locals,
        }
    }
}

fn initial(init: Init, domain: Option<Domain>) -> Values {
    match (init, domain) {
        (Init::Value(v), _) => Some(BTreeSet::from([v])),
        (Init::Any, Some(d)) => range(d),
        (Init::Any, None) => None,
    }
}

fn range(domain: Domain) -> Values {
    let size = domain.hi.checked_sub(domain.lo)?;
    (size < MAX_VALUES as i64).then(|| (domain.lo..=domain.hi).collect())
}

/// Adds `new` to `old`; tells whether `old` grew.
fn add(old: &mut Values, new: &Values) -> bool {
    let Some(set) = old else { return false };
    let Some(new) = new else {
        *old = None;
        return true;
    };
    let before = set.len();
    set.extend(new);
    let grew = set.len() > before;
    if set.len() > MAX_VALUES {
        *old = None;
    }
    grew
}

/// The values of a thread's locals at one location.
type Locals = Vec<Values>;

struct Analysis<'p> {
    program: &'p Program,
    cells: Vec<Values>,
    /// All values that each local of the thread at hand has or was given.
    assigned: Locals,
    /// Whether a cell has got new values.
    changed: bool,
    /// Values outside are left out.
    range: Option<Domain>,
}

impl Analysis<'_> {
    /// All values that each local of a thread can have.
    fn thread(&mut self, thread: Instance) -> Locals {
        let template = self.program.template(thread.template);
        let start: Locals = template
            .locals
            .iter()
            .map(|l| initial(l.init, l.domain))
            .collect();
        self.assigned.clone_from(&start);
        self.graph(thread, &template.cfg, start);
        std::mem::take(&mut self.assigned)
    }

    /// The locals' values at each location; `None` where the thread never is.
    fn graph(&mut self, thread: Instance, cfg: &Cfg, start: Locals) -> Vec<Option<Locals>> {
        let mut at: Vec<Option<Locals>> = vec![None; cfg.loc_count()];
        at[cfg.entry.index()] = Some(start);
        let mut queue = BTreeSet::from([cfg.entry]);
        while let Some(loc) = queue.pop_first() {
            for (_, edge) in cfg.outgoing(loc) {
                let Some(before) = &at[loc.index()] else {
                    break;
                };
                let Some(after) = self.step(thread, &edge.step, before.clone()) else {
                    continue;
                };
                let grew = match &mut at[edge.to.index()] {
                    Some(known) => {
                        let mut grew = false;
                        for (old, new) in known.iter_mut().zip(&after) {
                            grew |= add(old, new);
                        }
                        grew
                    }
                    slot @ None => {
                        *slot = Some(after);
                        true
                    }
                };
                if grew {
                    queue.insert(edge.to);
                }
            }
        }
        at
    }

    /// The locals after a step; `None` if it cannot be taken.
    fn step(&mut self, thread: Instance, step: &Step, mut locals: Locals) -> Option<Locals> {
        match step {
            Step::Assume(e) | Step::Assert { cond: e, .. } => return restrict(thread, locals, e),
            Step::Assign { dst, value } => {
                locals[dst.index()] = self.evaluate(thread, &locals, value);
            }
            Step::Havoc { dst, domain } => locals[dst.index()] = domain.and_then(range),
            Step::Load { dst, src } => locals[dst.index()] = self.held(thread, &locals, src),
            Step::Store { dst, value } => {
                let new = self.evaluate(thread, &locals, value);
                for cell in self.named(thread, &locals, dst) {
                    self.changed |= add(&mut self.cells[cell.index()], &new);
                }
            }
            Step::Put {
                remote: to,
                local: from,
            }
            | Step::Get {
                local: to,
                remote: from,
            } => {
                for source in self.named(thread, &locals, from) {
                    let new = self.cells[source.index()].clone();
                    for target in self.named(thread, &locals, to) {
                        self.changed |= add(&mut self.cells[target.index()], &new);
                    }
                }
            }
            Step::RemoteAtomic(atomic) => self.remote_atomic(thread, &locals, atomic),
            Step::Atomic(atomic) => {
                let mut at = self.graph(thread, &atomic.body, locals);
                return at.swap_remove(atomic.body.exit.index());
            }
            Step::Skip | Step::Fence(_) | Step::Flush(_) => {}
        }
        if let Some(dst) = step.written_local() {
            add(&mut self.assigned[dst.index()], &locals[dst.index()]);
        }
        Some(locals)
    }

    /// The network changes a cell; what it held before goes to the result.
    fn remote_atomic(&mut self, thread: Instance, locals: &Locals, atomic: &RemoteAtomic) {
        let mut operands = Vec::new();
        for operand in atomic.change.operands() {
            let values = match operand {
                Operand::Value(e) => self.evaluate(thread, locals, e),
                Operand::Place(place) => self.held(thread, locals, place),
            };
            operands.push(values);
        }
        let results = atomic.result.iter();
        let results: Vec<Cell> = results
            .flat_map(|p| self.named(thread, locals, p))
            .collect();
        for target in self.named(thread, locals, &atomic.remote) {
            let old = self.cells[target.index()].clone();
            let new = self.changes(&atomic.change, &old, &operands);
            self.changed |= add(&mut self.cells[target.index()], &new);
            for result in &results {
                self.changed |= add(&mut self.cells[result.index()], &old);
            }
        }
    }

    /// What a change of a cell with one of the `old` values may leave there.
    fn changes(&self, change: &Change, old: &Values, operands: &[Values]) -> Values {
        let zero = BTreeSet::from([0]);
        let first = operands.first()?.as_ref()?;
        let second = match operands.get(1) {
            Some(values) => values.as_ref()?,
            None => &zero,
        };
        let mut all = BTreeSet::new();
        for old in old.as_ref()? {
            for a in first {
                for b in second {
                    all.insert(change.apply(*old, [*a, *b]).ok()?);
                }
            }
        }
        self.inside(Some(all))
    }

    /// All values that the cells of a place have.
    fn held(&self, thread: Instance, locals: &Locals, place: &Place) -> Values {
        let mut values = Some(BTreeSet::new());
        for cell in self.named(thread, locals, place) {
            add(&mut values, &self.cells[cell.index()]);
        }
        values
    }

    /// The values of an expression.
    fn evaluate(&self, thread: Instance, locals: &Locals, e: &LocalExpr) -> Values {
        self.inside(evaluate(thread, locals, e))
    }

    /// Those of some values that are looked at.
    fn inside(&self, values: Values) -> Values {
        let Some(range) = self.range else {
            return values;
        };
        let mut set = values?;
        set.retain(|v| range.contains(*v));
        Some(set)
    }

    /// The cells that a place may name.
    fn named(&self, thread: Instance, locals: &Locals, place: &Place) -> Vec<Cell> {
        let len = self.program.global(place.var).cell_count() as i64;
        let numbers = match &place.index {
            None => Some(BTreeSet::from([0])),
            Some(e) => evaluate(thread, locals, e),
        };
        let all = || (0..len).collect();
        let numbers: Vec<i64> = numbers.map_or_else(all, |set| set.into_iter().collect());
        numbers
            .into_iter()
            .filter(|n| (0..len).contains(n))
            .map(|n| self.program.cell(place.var, n as u32))
            .collect()
    }
}

/// The values of an expression.
fn evaluate(thread: Instance, locals: &Locals, e: &LocalExpr) -> Values {
    let mut result = BTreeSet::new();
    let complete = combinations(thread, locals, e, |_, value| {
        result.insert(value);
        result.len() <= MAX_VALUES
    });
    match complete {
        Some(()) => Some(result),
        None if e.is_boolean() => Some(BTreeSet::from([0, 1])),
        // `x % 4` is finite although x is not.
        None => modulus(e),
    }
}

/// The locals where `e` holds; `None` if it cannot.
fn restrict(thread: Instance, mut locals: Locals, e: &LocalExpr) -> Option<Locals> {
    let mut kept: Vec<(LocalId, BTreeSet<i64>)> = Vec::new();
    let mut possible = false;
    let complete = combinations(thread, &locals, e, |chosen, value| {
        if value != 0 {
            possible = true;
            for (id, value) in chosen {
                match kept.iter_mut().find(|(known, _)| known == id) {
                    Some((_, set)) => drop(set.insert(*value)),
                    None => kept.push((*id, BTreeSet::from([*value]))),
                }
            }
        }
        true
    });
    match complete {
        Some(()) => {
            for (id, set) in kept {
                locals[id.index()] = Some(set);
            }
            possible.then_some(locals)
        }
        // A conjunction restricts by each side.
        None => match e {
            Expr::Binary(BinOp::And, a, b) => restrict(thread, restrict(thread, locals, a)?, b),
            Expr::Const(_) | Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) => Some(locals),
            Expr::Cond(..) => Some(locals),
        },
    }
}

/// Calls `f` with every combination of the values of `e`'s locals and the value of
/// `e`, as long as it returns true. `None` if not all combinations were seen: some
/// local is unbounded, there are too many, or `f` stopped.
fn combinations(
    thread: Instance,
    values: &Locals,
    e: &LocalExpr,
    mut f: impl FnMut(&[(LocalId, i64)], i64) -> bool,
) -> Option<()> {
    let mut locals: Vec<LocalId> = Vec::new();
    e.for_each_atom(&mut |atom| {
        if let LocalAtom::Local(id) = atom
            && !locals.contains(id)
        {
            locals.push(*id);
        }
    });
    let mut sets: Vec<Vec<i64>> = Vec::new();
    let mut count = 1_usize;
    for id in &locals {
        let set = values[id.index()].as_ref()?;
        count = count.saturating_mul(set.len());
        sets.push(set.iter().copied().collect());
    }
    if count > MAX_COMBINATIONS {
        return None;
    }
    for combination in 0..count {
        let mut rest = combination;
        let mut chosen = Vec::with_capacity(locals.len());
        for (id, set) in locals.iter().zip(&sets) {
            chosen.push((*id, set[rest % set.len()]));
            rest /= set.len();
        }
        let value = e.eval(&|atom| match atom {
            LocalAtom::SelfId => i64::from(thread.copy),
            LocalAtom::Local(id) => chosen.iter().find(|(l, _)| l == id).map_or(0, |(_, v)| *v),
        });
        if !f(&chosen, value.ok()?) {
            return None;
        }
    }
    Some(())
}

/// The values of `e % c` by its form.
fn modulus(e: &LocalExpr) -> Values {
    match e {
        Expr::Binary(BinOp::Mod, _, d) => match **d {
            Expr::Const(c) if c > 0 => range(Domain { lo: 0, hi: c - 1 }),
            Expr::Const(_) | Expr::Atom(_) => None,
            Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..) => None,
        },
        Expr::Cond(_, a, b) => {
            let mut values = constant_or_modulus(a)?;
            values.extend(constant_or_modulus(b)?);
            Some(values)
        }
        Expr::Const(_) | Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) => None,
    }
}

fn constant_or_modulus(e: &LocalExpr) -> Values {
    match e {
        Expr::Const(c) => Some(BTreeSet::from([*c])),
        Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..) => modulus(e),
    }
}
