//! Evaluation: the 3-valued meaning of a formula, computed for all assignments at once.
//!
//! Place: below focus, coerce, update and messages. Paper: [Friggens and Groves, arXiv 2015],
//! section 2 (Kleene's logic, with the Embedding Theorem as its soundness).
//!
//! A formula is compiled once into a [`Plan`]. Evaluating a plan gives a [`Table`]: the value
//! for every assignment of the free variables, as `may` and `must` words, the last variable
//! being the bit. Bound variables get low slots, so that a quantifier is mostly an OR of
//! rows. Variables known beforehand (an action's bindings) are *fixed* and take no room.
//!
//! Law (property-tested against [`crate::naive`]): the value equals the textbook recursion;
//! and for S embedded in S', the value on S is below the value on S'.

use crate::compile::compile;
use crate::formula::{Formula, Var};
use crate::kleene::Kleene;
use crate::rows::Rows;
use crate::scope::scope;
use crate::structure::{Structure, bits, mask};
pub use crate::table::Table;
use crate::table::table_rows;
use crate::vocabulary::{MAX_WORDS, PredId, Vocabulary};

/// An argument of a compiled atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    Slot(u8),
    Fixed(u8),
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Value(Kleene),
    Eq(Arg, Arg),
    Atom(PredId, Vec<Arg>),
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Ite(Box<[Node; 3]>),
    Exists(u8, Box<Node>),
    Forall(u8, Box<Node>),
    /// From, to, the two step slots, the step.
    Tc(Arg, Arg, u8, u8, Box<Node>),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) op: Op,
    /// Slots of the free variables, increasing.
    pub(crate) slots: Vec<u8>,
}

/// A compiled formula.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) root: Node,
    /// Slots of the free variables asked for, increasing: the result's shape.
    pub(crate) out: Vec<u8>,
    /// Most variables of a table on the way.
    width: usize,
}

/// Most variables of a table that evaluating a node builds.
fn width(node: &Node) -> usize {
    let below = match &node.op {
        Op::Value(_) | Op::Eq(..) | Op::Atom(..) => 0,
        Op::Not(f) | Op::Exists(_, f) | Op::Forall(_, f) => width(f),
        Op::And(parts) | Op::Or(parts) => parts.iter().map(width).max().unwrap_or(0),
        Op::Ite(parts) => parts.iter().map(width).max().unwrap_or(0),
        Op::Tc(.., f) => width(f).max(f.slots.len() + 2),
    };
    // A quantifier that its body does not mention is one more in differencing.
    below.max(node.slots.len() + 1)
}

/// Whether a table over `k` variables is too large to build.
fn too_wide(k: usize, n: usize) -> bool {
    let rows = n.checked_pow(k.saturating_sub(1) as u32);
    rows.is_none_or(|rows| rows > MAX_WORDS)
}

impl Plan {
    /// Compiles a formula whose free variables are among `free` and `fixed`; the table it
    /// evaluates to ranges over all of `free`, in that order, the last being the bit.
    ///
    /// Returns `None` when the formula nests more variables than a plan can hold.
    pub fn new(formula: &Formula, free: &[Var], fixed: &[Var]) -> Option<Self> {
        Self::plain(&scope(formula), free, fixed)
    }

    /// Like [`Plan::new`], following the shape of the formula as it is.
    pub(crate) fn plain(formula: &Formula, free: &[Var], fixed: &[Var]) -> Option<Self> {
        let (root, out) = compile(formula, free, fixed)?;
        Some(Self {
            width: width(&root).max(out.len()),
            root,
            out,
        })
    }

    /// Whether the tables on the way would be too large in a universe of `n`.
    pub(crate) fn too_wide(&self, n: usize) -> bool {
        too_wide(self.width, n)
    }

    /// Whether even the result would be.
    pub(crate) fn result_too_wide(&self, n: usize) -> bool {
        too_wide(self.out.len(), n)
    }

    /// The result when nothing can be said.
    pub(crate) fn unknown(&self, n: usize) -> Table {
        let k = self.out.len();
        let full = if k == 0 { 1 } else { mask(n) };
        Table::constant(Kleene::Half, table_rows(k, n), full)
    }

    /// Evaluates over a structure; `fixed` are the objects of the fixed variables. Where tables on
    /// the way would be too large, the result is unknown everywhere, which is sound.
    pub fn eval(&self, voc: &Vocabulary, s: &Structure, fixed: &[usize]) -> Table {
        if self.too_wide(s.len()) {
            return self.unknown(s.len());
        }
        let cx = Cx::new(voc, s, fixed);
        let table = cx.eval(&self.root);
        cx.expand(table, &self.root.slots, &self.out)
    }

    /// The value of a closed formula.
    pub fn value(&self, voc: &Vocabulary, s: &Structure, fixed: &[usize]) -> Kleene {
        debug_assert!(self.out.is_empty());
        self.eval(voc, s, fixed).value()
    }
}

/// What an evaluation reads.
pub(crate) struct Cx<'a> {
    pub(crate) voc: &'a Vocabulary,
    pub(crate) s: &'a Structure,
    pub(crate) fixed: &'a [usize],
    pub(crate) n: usize,
    /// Objects that certainly exist.
    pub(crate) active: u64,
    /// Objects that may exist.
    pub(crate) existing: u64,
    pub(crate) all: u64,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(voc: &'a Vocabulary, s: &'a Structure, fixed: &'a [usize]) -> Self {
        let (existing, active) = s.word(voc, PredId::AC);
        Self {
            voc,
            s,
            fixed,
            n: s.len(),
            active,
            existing,
            all: s.universe(),
        }
    }

    pub(crate) fn full(&self, slots: usize) -> u64 {
        if slots == 0 { 1 } else { self.all }
    }

    pub(crate) fn eval(&self, node: &Node) -> Table {
        let k = node.slots.len();
        let full = self.full(k);
        match &node.op {
            Op::Value(v) => Table::constant(*v, 1, 1),
            Op::Eq(a, b) => self.equality(*a, *b),
            Op::Atom(p, args) => self.atom(*p, args, &node.slots),
            Op::Not(f) => self.eval(f).not(full),
            Op::And(parts) => self.conjunction(parts, &node.slots),
            Op::Or(parts) => {
                let mut acc = Table::constant(Kleene::False, table_rows(k, self.n), full);
                for part in parts {
                    let t = self.expand(self.eval(part), &part.slots, &node.slots);
                    acc = acc.or(&t);
                }
                acc
            }
            Op::Ite(parts) => {
                let [c, a, b] = &**parts;
                let get = |f: &Node| self.expand(self.eval(f), &f.slots, &node.slots);
                Table::ite(&get(c), &get(a), &get(b))
            }
            Op::Exists(slot, f) => self.exists(*slot, f),
            Op::Forall(slot, f) => {
                // A v. f  =  ! E v. !f
                let inner_full = self.full(f.slots.len());
                let t = self.eval(f).not(inner_full);
                self.project(t, *slot, &f.slots, self.existing, self.active)
                    .not(full)
            }
            Op::Tc(from, to, a, b, f) => self.closure(*from, *to, (*a, *b), f, &node.slots),
        }
    }

    /// The parts one after another, over no more variables than they have so far.
    fn conjunction(&self, parts: &[Node], slots: &[u8]) -> Table {
        let mut acc = Table::constant(Kleene::True, 1, 1);
        let mut so_far: Vec<u8> = Vec::new();
        for part in parts {
            let t = self.eval(part);
            if part.slots == so_far {
                acc = acc.and(&t);
            } else {
                let mut union = so_far.clone();
                union.extend(part.slots.iter().filter(|s| !so_far.contains(s)));
                union.sort_unstable();
                acc = self
                    .expand(acc, &so_far, &union)
                    .and(&self.expand(t, &part.slots, &union));
                so_far = union;
            }
            if acc.may.iter().all(|w| *w == 0) {
                let rows = table_rows(slots.len(), self.n);
                return Table::constant(Kleene::False, rows, self.full(slots.len()));
            }
        }
        self.expand(acc, &so_far, slots)
    }

    fn exists(&self, slot: u8, f: &Node) -> Table {
        let t = self.eval(f);
        self.project(t, slot, &f.slots, self.existing, self.active)
    }

    /// Existential projection of one slot over the objects that may and that do exist.
    pub(crate) fn project(
        &self,
        t: Table,
        slot: u8,
        slots: &[u8],
        existing: u64,
        active: u64,
    ) -> Table {
        let Some(at) = slots.iter().position(|s| *s == slot) else {
            // The body does not mention the variable: E v. f = f when some object exists.
            let full = self.full(slots.len());
            let may = if existing != 0 { full } else { 0 };
            let must = if active != 0 { full } else { 0 };
            let mut t = t;
            t.may.iter_mut().for_each(|w| *w &= may);
            t.must.iter_mut().for_each(|w| *w &= must);
            return t;
        };
        let n = self.n;
        if slots.len() == 1 {
            return Table {
                may: Rows::one(u64::from(t.may[0] & existing != 0)),
                must: Rows::one(u64::from(t.must[0] & active != 0)),
            };
        }
        if at == slots.len() - 1 {
            return self.project_bit(&t, existing, active);
        }
        // The slot is a row digit: OR the rows that differ in it.
        let inner = n.pow((slots.len() - 2 - at) as u32);
        let outer = n.pow(at as u32);
        let mut out = Table {
            may: Rows::filled(0, outer * inner),
            must: Rows::filled(0, outer * inner),
        };
        for o in 0..outer {
            for u in 0..n {
                let (maybe, exists) = (existing >> u & 1 == 1, active >> u & 1 == 1);
                for i in 0..inner {
                    let from = (o * n + u) * inner + i;
                    if maybe {
                        out.may[o * inner + i] |= t.may[from];
                    }
                    if exists {
                        out.must[o * inner + i] |= t.must[from];
                    }
                }
            }
        }
        out
    }

    /// Projects the bit variable; the last row digit becomes the bit.
    fn project_bit(&self, t: &Table, existing: u64, active: u64) -> Table {
        let n = self.n;
        let rows = t.may.len() / n.max(1);
        let mut out = Table {
            may: Rows::filled(0, rows.max(1)),
            must: Rows::filled(0, rows.max(1)),
        };
        for row in 0..rows {
            for u in 0..n {
                out.may[row] |= u64::from(t.may[row * n + u] & existing != 0) << u;
                out.must[row] |= u64::from(t.must[row * n + u] & active != 0) << u;
            }
        }
        out
    }

    /// Broadcasts a table over `from` to one over the larger `to`.
    pub(crate) fn expand(&self, t: Table, from: &[u8], to: &[u8]) -> Table {
        if from == to {
            return t;
        }
        let n = self.n;
        let rows = table_rows(to.len(), n);
        let full = self.full(to.len());
        if from.is_empty() {
            return Table::constant(t.value(), rows, full);
        }
        if to.len() == 2 {
            // The common case: a unary table beside a second variable.
            let planes = |w: u64| -> Rows {
                if from[0] == to[1] {
                    Rows::filled(w, n)
                } else {
                    (0..n)
                        .map(|u| if w >> u & 1 == 1 { full } else { 0 })
                        .collect()
                }
            };
            return Table {
                may: planes(t.may[0]),
                must: planes(t.must[0]),
            };
        }
        // A universe without objects has tables of no rows but for one free variable.
        let mut out = Table {
            may: Rows::filled(0, rows),
            must: Rows::filled(0, rows),
        };
        let same_bit = from.last() == to.last();
        let digits = to.len() - 1;
        let mut tuple = vec![0usize; digits];
        let at: Vec<usize> = from
            .iter()
            .map(|slot| {
                let found = to.iter().position(|s| s == slot);
                found.expect("from is part of to")
            })
            .collect();
        for row in 0..rows {
            let mut rest = row;
            for d in (0..digits).rev() {
                tuple[d] = rest % n;
                rest /= n;
            }
            let source = at[..at.len() - 1]
                .iter()
                .fold(0, |acc, digit| acc * n + tuple[*digit]);
            if same_bit {
                out.may[row] = t.may[source];
                out.must[row] = t.must[source];
            } else {
                let bit = tuple[at[at.len() - 1]];
                let spread = |w: u64| if w >> bit & 1 == 1 { full } else { 0 };
                out.may[row] = spread(t.may[source]);
                out.must[row] = spread(t.must[source]);
            }
        }
        out
    }

    fn equality(&self, a: Arg, b: Arg) -> Table {
        let summary = self.s.summaries(self.voc);
        match (a, b) {
            (Arg::Fixed(x), Arg::Fixed(y)) => {
                let (u, w) = (self.fixed[x as usize], self.fixed[y as usize]);
                let k = if u != w {
                    Kleene::False
                } else if summary >> u & 1 == 1 && x != y {
                    // Two variables bound to one summary object may be two objects.
                    Kleene::Half
                } else {
                    Kleene::True
                };
                Table::constant(k, 1, 1)
            }
            (Arg::Fixed(x), Arg::Slot(_)) | (Arg::Slot(_), Arg::Fixed(x)) => {
                let bit = 1 << self.fixed[x as usize];
                Table {
                    may: Rows::one(bit),
                    must: Rows::one(bit & !summary),
                }
            }
            (Arg::Slot(x), Arg::Slot(y)) if x == y => Table::constant(Kleene::True, 1, self.all),
            (Arg::Slot(_), Arg::Slot(_)) => {
                let diagonal: Rows = (0..self.n).map(|u| 1 << u).collect();
                Table {
                    must: diagonal.iter().map(|w| w & !summary).collect(),
                    may: diagonal,
                }
            }
        }
    }

    fn atom(&self, p: PredId, args: &[Arg], slots: &[u8]) -> Table {
        let (may, must) = self.s.planes(self.voc, p);
        let pick = |word: u64, u: usize| word >> u & 1;
        match args {
            [] | [Arg::Slot(_)] => Table {
                may: may.into(),
                must: must.into(),
            },
            [Arg::Fixed(x)] => {
                let u = self.fixed[*x as usize];
                Table {
                    may: Rows::one(pick(may[0], u)),
                    must: Rows::one(pick(must[0], u)),
                }
            }
            [Arg::Slot(a), Arg::Slot(b)] if a < b => Table {
                may: may.into(),
                must: must.into(),
            },
            [Arg::Slot(a), Arg::Slot(b)] if a == b => Table {
                may: Rows::one(diagonal(may)),
                must: Rows::one(diagonal(must)),
            },
            [Arg::Slot(_), Arg::Slot(_)] => Table {
                may: transpose(may),
                must: transpose(must),
            },
            [Arg::Fixed(x), Arg::Slot(_)] => {
                let u = self.fixed[*x as usize];
                Table {
                    may: Rows::one(may[u]),
                    must: Rows::one(must[u]),
                }
            }
            [Arg::Slot(_), Arg::Fixed(x)] => {
                let u = self.fixed[*x as usize];
                Table {
                    may: Rows::one(column(may, u)),
                    must: Rows::one(column(must, u)),
                }
            }
            [Arg::Fixed(x), Arg::Fixed(y)] => {
                let (u, w) = (self.fixed[*x as usize], self.fixed[*y as usize]);
                Table {
                    may: Rows::one(pick(may[u], w)),
                    must: Rows::one(pick(must[u], w)),
                }
            }
            [_, _, _, ..] => self.atom_by_tuple(p, args, slots),
        }
    }

    /// The general case, one tuple at a time.
    fn atom_by_tuple(&self, p: PredId, args: &[Arg], slots: &[u8]) -> Table {
        let n = self.n;
        let k = slots.len();
        let rows = table_rows(k, n);
        let mut out = Table {
            may: Rows::filled(0, rows),
            must: Rows::filled(0, rows),
        };
        let total = n.pow(k as u32);
        for index in 0..total {
            let mut rest = index;
            let mut values = vec![0; k];
            for d in (0..k).rev() {
                values[d] = rest % n;
                rest /= n;
            }
            let tuple: Vec<usize> = args
                .iter()
                .map(|a| match a {
                    Arg::Fixed(x) => self.fixed[*x as usize],
                    Arg::Slot(s) => values[slots.iter().position(|t| t == s).expect("slot listed")],
                })
                .collect();
            let v = self.s.get(self.voc, p, &tuple);
            let (row, bit) = if k == 0 {
                (0, 0)
            } else {
                (index / n, index % n)
            };
            out.may[row] |= u64::from(v.may()) << bit;
            out.must[row] |= u64::from(v.must()) << bit;
        }
        out
    }
}

fn diagonal(rows: &[u64]) -> u64 {
    rows.iter()
        .enumerate()
        .fold(0, |acc, (u, row)| acc | row & 1 << u)
}

pub(crate) fn column(rows: &[u64], w: usize) -> u64 {
    rows.iter()
        .enumerate()
        .fold(0, |acc, (u, row)| acc | (row >> w & 1) << u)
}

pub(crate) fn transpose(rows: &[u64]) -> Rows {
    let mut out = Rows::filled(0, rows.len());
    for (u, row) in rows.iter().enumerate() {
        for w in bits(*row) {
            out[w] |= 1 << u;
        }
    }
    out
}
