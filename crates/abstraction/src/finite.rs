//! *Finite variables*: variables that can take only a few values, whatever the
//! program does. The checker keeps their values explicit, as it does program
//! counters (DESIGN idea 2); predicates are needed only for the others.
//!
//! The analysis is flow-insensitive: the values of a variable are its initial
//! values and all that any step may assign to it, where an expression takes the
//! values that it has over all combinations of its operands' values. It starts
//! from the initial values and adds until nothing changes; a variable with more
//! than [`MAX_VALUES`] values, or assigned something unknown, becomes unbounded.
//! The result over-approximates the values under every interleaving and, since a
//! buffered value was assigned too, under every memory model.

use std::collections::BTreeSet;

use palisade_program::cfg::{Cfg, FlushTarget, Place, Step};
use palisade_program::{Cell, Domain, Init, Instance, LocalAtom, LocalExpr, LocalId, Program};

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
        let cells = program.globals.iter().flat_map(|g| {
            g.init
                .iter()
                .map(|init| initial(*init, g.domain))
                .collect::<Vec<_>>()
        });
        let locals = threads.iter().map(|t| {
            let locals = &program.template(t.template).locals;
            locals.iter().map(|l| initial(l.init, l.domain)).collect()
        });
        let mut analysis = Analysis {
            program,
            values: Self {
                cells: cells.collect(),
                locals: locals.collect(),
            },
            changed: true,
        };
        while std::mem::take(&mut analysis.changed) {
            for (index, thread) in threads.iter().enumerate() {
                analysis.graph(index, *thread, &program.template(thread.template).cfg);
            }
        }
        analysis.values
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

struct Analysis<'p> {
    program: &'p Program,
    values: Finite,
    changed: bool,
}

impl Analysis<'_> {
    fn graph(&mut self, index: usize, thread: Instance, cfg: &Cfg) {
        for edge in &cfg.edges {
            match &edge.step {
                Step::Assign { dst, value } => {
                    let new = self.evaluate(index, thread, value);
                    self.assign(index, *dst, &new);
                }
                Step::Havoc { dst, domain } => {
                    let new = domain.and_then(range);
                    self.assign(index, *dst, &new);
                }
                Step::Load { dst, src } => {
                    for cell in self.cells(index, thread, src) {
                        let new = self.values.cells[cell.index()].clone();
                        self.assign(index, *dst, &new);
                    }
                }
                Step::Store { dst, value } => {
                    let new = self.evaluate(index, thread, value);
                    for cell in self.cells(index, thread, dst) {
                        self.changed |= add(&mut self.values.cells[cell.index()], &new);
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
                    for source in self.cells(index, thread, from) {
                        let new = self.values.cells[source.index()].clone();
                        for target in self.cells(index, thread, to) {
                            self.changed |= add(&mut self.values.cells[target.index()], &new);
                        }
                    }
                }
                Step::Atomic(atomic) => self.graph(index, thread, &atomic.body),
                Step::Skip | Step::Assume(_) | Step::Assert { .. } | Step::Fence(_) => {}
                Step::Flush(FlushTarget::All | FlushTarget::Process { .. }) => {}
            }
        }
    }

    fn assign(&mut self, index: usize, dst: LocalId, new: &Values) {
        self.changed |= add(&mut self.values.locals[index][dst.index()], new);
    }

    /// The cells that a place may name.
    fn cells(&self, index: usize, thread: Instance, place: &Place) -> Vec<Cell> {
        let len = self.program.global(place.var).cell_count() as i64;
        let numbers = match &place.index {
            None => Some(BTreeSet::from([0])),
            Some(e) => self.evaluate(index, thread, e),
        };
        let all = || (0..len).collect();
        let numbers: Vec<i64> = numbers.map_or_else(all, |set| set.into_iter().collect());
        numbers
            .into_iter()
            .filter(|n| (0..len).contains(n))
            .map(|n| self.program.cell(place.var, n as u32))
            .collect()
    }

    fn evaluate(&self, index: usize, thread: Instance, e: &LocalExpr) -> Values {
        if e.is_boolean() {
            return Some(
                self.combinations(index, thread, e)
                    .unwrap_or(BTreeSet::from([0, 1])),
            );
        }
        self.combinations(index, thread, e)
    }

    /// The values of `e` over all combinations of its locals' values.
    fn combinations(&self, index: usize, thread: Instance, e: &LocalExpr) -> Values {
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
            let set = self.values.locals[index][id.index()].as_ref();
            match set {
                Some(set) => {
                    count = count.saturating_mul(set.len());
                    sets.push(set.iter().copied().collect());
                }
                // `x % 4` is finite although x is not.
                None => return modulus(e),
            }
        }
        if count > MAX_COMBINATIONS {
            return modulus(e);
        }
        let mut result = BTreeSet::new();
        for combination in 0..count {
            let mut rest = combination;
            let mut chosen = vec![0; locals.len()];
            for (slot, set) in chosen.iter_mut().zip(&sets) {
                *slot = set[rest % set.len()];
                rest /= set.len();
            }
            let value = e.eval(&|atom| match atom {
                LocalAtom::SelfId => i64::from(thread.copy),
                LocalAtom::Local(id) => {
                    chosen[locals.iter().position(|l| l == id).unwrap_or_default()]
                }
            });
            // A combination without a value cannot be assigned.
            result.extend(value.ok());
            if result.len() > MAX_VALUES {
                return None;
            }
        }
        Some(result)
    }
}

/// The values of `e % c` by its form.
fn modulus(e: &LocalExpr) -> Values {
    use palisade_program::{BinOp, Expr};
    match e {
        Expr::Binary(BinOp::Mod, _, d) => match **d {
            Expr::Const(c) if c > 0 => range(Domain { lo: 0, hi: c - 1 }),
            _ => None,
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
        palisade_program::Expr::Const(c) => Some(BTreeSet::from([*c])),
        e => modulus(e),
    }
}
