//! Finite differencing: new values of instrumentation predicates from their old ones.
//!
//! Place: part of update, for instrumentation predicates that an action does not update
//! itself. The idea is that of Reps, Sagiv and Loginov: instead of evaluating the definition
//! anew (which forgets what the stored value knew), compute what the action adds to and takes
//! from the definition: p' = (p ? not minus : plus).
//!
//! Departure: no formulas are derived. For every part of a definition four tables are
//! computed at once: its value before (`old`), after (`new`), and what changes (`plus`,
//! `minus`):
//!
//! | part | plus | minus |
//! |---|---|---|
//! | a & b | plus a & new b, or new a & plus b | minus a & old b, or old a & minus b |
//! | a or b | plus a & !old b, or !old a & plus b | minus a & !new b, or !new a & minus b |
//! | E v. a | (E v. plus a) & !old | (E v. minus a) & !new |
//! | TC f | pairs joined through an added step | pairs whose path used a removed step |
//!
//! and `new` is the more definite of the direct value and (old ? not minus : plus); both are
//! sound, so their combination is. On tuples with a created object only the direct value counts. Created and deleted objects enter through the predicate
//! `ac` in the quantifiers. Closures: with T* the stored closure, a removed step affects (x,y)
//! only if T*(x,a), T*(b,y); where paths are unique (a function or inverse function without
//! cycles) it then cuts them; added steps P give TC(T* or P).
//!
//! Law (tested): on concrete structures the result equals evaluating the definition after the
//! action; on abstract ones it covers it.

use crate::closure::{close, relation_at};
use crate::eval::{Cx, Node, Op, Plan};
use crate::formula::{Closure, Formula};
use crate::kleene::Kleene;
use crate::rows::Rows;
use crate::structure::{Structure, bits};
use crate::table::{Table, table_rows};
use crate::vocabulary::{PredId, Vocabulary};

/// The four structures that differencing reads, over one universe.
pub(crate) struct Change<'a> {
    pub(crate) voc: &'a Vocabulary,
    /// Before; created objects have `ac` = 0.
    pub(crate) old: &'a Structure,
    /// After; deleted objects have `ac` = 0.
    pub(crate) new: &'a Structure,
    /// What each predicate gains.
    pub(crate) plus: &'a Structure,
    /// What each predicate loses.
    pub(crate) minus: &'a Structure,
}

/// What is known of closures stored in instrumentation predicates.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClosureIndex {
    /// (step predicate, predicate holding the closure, closure is reflexive).
    stored: Vec<(PredId, PredId, bool)>,
}

impl ClosureIndex {
    /// Finds the instrumentation predicates defined as `p*(x,y)` or `p+(x,y)`.
    pub(crate) fn new(voc: &Vocabulary) -> Self {
        let mut stored = Vec::new();
        for t in voc.instrumentation() {
            let def = voc.get(t).definition.as_ref().expect("instrumentation");
            let [x, y] = def.args[..] else { continue };
            let plain = |f: &Formula| match f {
                Formula::Tc(tc) if tc.from == x && tc.to == y => step_predicate(tc),
                _ => None,
            };
            match &def.formula {
                Formula::Tc(_) => stored.extend(plain(&def.formula).map(|p| (p, t, false))),
                Formula::Or(parts) => {
                    if let [a, b] = &parts[..] {
                        let eq = |f: &Formula| *f == Formula::Eq(x, y) || *f == Formula::Eq(y, x);
                        let found = if eq(a) {
                            plain(b)
                        } else if eq(b) {
                            plain(a)
                        } else {
                            None
                        };
                        stored.extend(found.map(|p| (p, t, true)));
                    }
                }
                _ => {}
            }
        }
        Self { stored }
    }
}

fn step_predicate(tc: &Closure) -> Option<PredId> {
    match &tc.body {
        Formula::Atom(p, args) if args[..] == [tc.a, tc.b] => Some(*p),
        _ => None,
    }
}

/// The four tables of a formula.
struct Quad {
    old: Table,
    new: Table,
    plus: Table,
    minus: Table,
}

/// The change of a defined predicate: new value, gain and loss.
pub(crate) struct Difference {
    pub(crate) new: Table,
    pub(crate) plus: Table,
    pub(crate) minus: Table,
}

/// Computes the change of a formula whose value before the action is `stored`.
pub(crate) fn difference(
    change: &Change<'_>,
    index: &ClosureIndex,
    plan: &Plan,
    stored: &Table,
) -> Difference {
    if plan.too_wide(change.old.len()) {
        let unknown = plan.unknown(change.old.len());
        return Difference {
            new: unknown.clone(),
            plus: unknown.clone(),
            minus: unknown,
        };
    }
    let d = Differ {
        old: Cx::new(change.voc, change.old, &[]),
        new: Cx::new(change.voc, change.new, &[]),
        plus: Cx::new(change.voc, change.plus, &[]),
        minus: Cx::new(change.voc, change.minus, &[]),
        index,
    };
    let quad = d.quad(&plan.root);
    let wide = |t: Table| d.old.expand(t, &plan.root.slots, &plan.out);
    let full = d.old.full(plan.out.len());
    let plus = wide(quad.plus).and(&stored.clone().not(full));
    let minus = wide(quad.minus).and(stored);
    let new = refine(
        wide(quad.new),
        stored,
        &plus,
        &minus,
        d.shape(plan.out.len()),
    );
    Difference { new, plus, minus }
}

/// The shape of a table and the objects that did not exist before: on tuples with one of them
/// there is no old value to start from.
#[derive(Clone, Copy)]
struct Shape {
    created: u64,
    n: usize,
    slots: usize,
    full: u64,
}

impl Shape {
    /// The bits of a row whose tuples consist of old objects only.
    fn old_tuples(self, row: usize) -> u64 {
        if self.created == 0 || self.slots == 0 {
            return u64::MAX;
        }
        let mut rest = row;
        for _ in 1..self.slots {
            if self.created >> (rest % self.n) & 1 == 1 {
                return 0;
            }
            rest /= self.n;
        }
        !self.created
    }
}

/// The more definite of the direct value and (old ? not minus : plus).
fn refine(mut new: Table, old: &Table, plus: &Table, minus: &Table, shape: Shape) -> Table {
    let by_change = Table::ite(old, &minus.clone().not(shape.full), plus);
    for r in 0..new.may.len() {
        let half = new.may[r] & !new.must[r] & shape.old_tuples(r);
        // Only where the direct value is unknown; so the two never need to agree.
        new.may[r] = new.may[r] & !half | half & by_change.may[r];
        new.must[r] |= half & by_change.must[r];
    }
    new
}

struct Differ<'a> {
    old: Cx<'a>,
    new: Cx<'a>,
    plus: Cx<'a>,
    minus: Cx<'a>,
    index: &'a ClosureIndex,
}

impl Differ<'_> {
    fn shape(&self, slots: usize) -> Shape {
        Shape {
            created: self.created(),
            n: self.old.n,
            slots,
            full: self.old.full(slots),
        }
    }

    /// Objects that may exist now and did not before.
    fn created(&self) -> u64 {
        self.new.existing & !self.old.existing
    }

    fn zero(&self, k: usize) -> Table {
        Table::constant(Kleene::False, table_rows(k, self.old.n), 0)
    }

    fn quad(&self, node: &Node) -> Quad {
        let full = self.old.full(node.slots.len());
        match &node.op {
            Op::Value(_) | Op::Eq(..) => Quad {
                old: self.old.eval(node),
                new: self.new.eval(node),
                plus: self.zero(node.slots.len()),
                minus: self.zero(node.slots.len()),
            },
            Op::Atom(..) => Quad {
                old: self.old.eval(node),
                new: self.new.eval(node),
                plus: self.plus.eval(node),
                minus: self.minus.eval(node),
            },
            Op::Not(f) => negate(self.quad(f), full),
            Op::And(parts) => {
                let mut acc = self.constant(Kleene::True, node.slots.len());
                for part in parts {
                    let q = self.wide(self.quad(part), &part.slots, &node.slots);
                    acc = conjoin(acc, &q, self.shape(node.slots.len()));
                }
                acc
            }
            Op::Or(parts) => {
                let mut acc = self.constant(Kleene::False, node.slots.len());
                for part in parts {
                    let q = self.wide(self.quad(part), &part.slots, &node.slots);
                    // a | b = !(!a & !b)
                    acc = negate(
                        conjoin(
                            negate(acc, full),
                            &negate(q, full),
                            self.shape(node.slots.len()),
                        ),
                        full,
                    );
                }
                acc
            }
            Op::Ite(parts) => self.conditional(parts, &node.slots),
            Op::Exists(slot, f) => self.exists(*slot, self.quad(f), &f.slots, &node.slots),
            Op::Forall(slot, f) => {
                let inner = negate(self.quad(f), self.old.full(f.slots.len()));
                negate(self.exists(*slot, inner, &f.slots, &node.slots), full)
            }
            Op::Tc(_, _, a, b, f) => self.closure(node, (*a, *b), f),
        }
    }

    fn constant(&self, k: Kleene, slots: usize) -> Quad {
        let value = Table::constant(k, table_rows(slots, self.old.n), self.old.full(slots));
        Quad {
            old: value.clone(),
            new: value,
            plus: self.zero(slots),
            minus: self.zero(slots),
        }
    }

    fn wide(&self, q: Quad, from: &[u8], to: &[u8]) -> Quad {
        let go = |t: Table| self.old.expand(t, from, to);
        Quad {
            old: go(q.old),
            new: go(q.new),
            plus: go(q.plus),
            minus: go(q.minus),
        }
    }

    fn conditional(&self, parts: &[Node; 3], slots: &[u8]) -> Quad {
        let full = self.old.full(slots.len());
        let [c, a, b] = parts;
        let get = |f: &Node| self.wide(self.quad(f), &f.slots, slots);
        let (qa, qb) = (get(a), get(b));
        let old = Table::ite(&get(c).old, &qa.old, &qb.old);
        let new = Table::ite(&get(c).new, &qa.new, &qb.new);
        let yes = conjoin(get(c), &qa, self.shape(slots.len()));
        let no = conjoin(negate(get(c), full), &qb, self.shape(slots.len()));
        let both = negate(
            conjoin(
                negate(yes, full),
                &negate(no, full),
                self.shape(slots.len()),
            ),
            full,
        );
        let new = refine(new, &old, &both.plus, &both.minus, self.shape(slots.len()));
        Quad {
            old,
            new,
            plus: both.plus,
            minus: both.minus,
        }
    }

    fn exists(&self, slot: u8, f: Quad, inner: &[u8], slots: &[u8]) -> Quad {
        // The body together with "the object exists".
        let mut wanted = inner.to_vec();
        if !wanted.contains(&slot) {
            wanted.push(slot);
            wanted.sort_unstable();
        }
        let f = self.wide(f, inner, &wanted);
        let exists = |cx: &Cx<'_>| {
            let t = Table {
                may: Rows::one(cx.existing),
                must: Rows::one(cx.active),
            };
            self.old.expand(t, &[slot], &wanted)
        };
        let full_in = self.old.full(wanted.len());
        let (ac_old, ac_new) = (exists(&self.old), exists(&self.new));
        let there = Quad {
            plus: ac_new.clone().and(&ac_old.clone().not(full_in)),
            minus: ac_old.clone().and(&ac_new.clone().not(full_in)),
            old: ac_old,
            new: ac_new,
        };
        let body = conjoin(there, &f, self.shape(wanted.len()));
        let all = self.old.all;
        let some = |t: Table| self.old.project(t, slot, &wanted, all, all);
        let full = self.old.full(slots.len());
        let (old, new) = (some(body.old), some(body.new));
        let plus = some(body.plus).and(&old.clone().not(full));
        let minus = some(body.minus).and(&new.clone().not(full));
        let new = refine(new, &old, &plus, &minus, self.shape(slots.len()));
        Quad {
            old,
            new,
            plus,
            minus,
        }
    }

    fn closure(&self, node: &Node, step: (u8, u8), f: &Node) -> Quad {
        let full = self.old.full(node.slots.len());
        let (old, new) = (self.old.eval(node), self.new.eval(node));
        let has_parameters = f.slots.iter().any(|s| *s != step.0 && *s != step.1);
        if has_parameters {
            let plus = new.clone().and(&old.clone().not(full));
            let minus = old.clone().and(&new.clone().not(full));
            return Quad {
                old,
                new,
                plus,
                minus,
            };
        }
        let q = self.wide(self.quad(f), &f.slots, &[step.1, step.0]);
        let paths = self.paths(&q, f);
        // Read the relations at (from, to) through the node's own shape.
        let shape = |rel: &Relation| self.old.read_relation(node, &rel.may, &rel.must);
        let old = sharper(old, &shape(&paths.old));
        let plus = shape(&paths.plus).and(&old.clone().not(full));
        let new = sharper(new, &shape(&paths.new));
        let minus = shape(&paths.affected).and(&old).and(&new.clone().not(full));
        let new = refine(new, &old, &plus, &minus, self.shape(node.slots.len()));
        Quad {
            old,
            new,
            plus,
            minus,
        }
    }

    /// The closures before and after.
    fn paths(&self, q: &Quad, f: &Node) -> Paths {
        let n = self.old.n;
        let rel = |t: &Table| Relation {
            may: relation_at(&t.may, n, &[]),
            must: relation_at(&t.must, n, &[]),
        };
        let (r_old, r_new) = (rel(&q.old), rel(&q.new));
        let added = rel(&q.plus);
        // A deleted object takes its steps with it.
        let gone = Relation {
            may: Self::incident(&r_old.may, self.old.existing & !self.new.active),
            must: Self::incident(&r_old.must, self.old.active & !self.new.existing),
        };
        let removed = rel(&q.minus).union(&gone);
        let eq = self.identity();
        let step = match &f.op {
            Op::Atom(p, args) if args.len() == 2 && args[0] != args[1] => Some(*p),
            _ => None,
        };
        let before = self
            .stored_closure(step)
            .unwrap_or_else(|| r_old.close(self.old.existing, self.old.active).union(&eq));
        let unique = step.is_some_and(|p| {
            let props = self.old.voc.get(p).properties;
            props.acyclic && (props.function || props.invfunction)
        });
        let through = |a: &Relation, b: &Relation| a.compose(b, self.old.existing, self.old.active);
        // Steps of created objects can be removed as well, by an update of what they copy.
        let wide = |a: &Relation, b: &Relation| {
            a.compose(b, self.old.existing | self.created(), self.old.active)
        };
        let affected = wide(&wide(&before, &removed), &before);
        let kept = before.without(&affected, unique).union(&eq);
        let after = kept
            .union(&added)
            .close(self.new.existing, self.new.active)
            .union(&eq)
            .meet(&r_new.close(self.new.existing, self.new.active).union(&eq));
        let via_new = |a: &Relation, b: &Relation| a.compose(b, self.new.existing, self.new.active);
        // From T* to TC: equal off the diagonal, one step and then T* on it.
        Paths {
            old: through(&r_old, &before).meet_off_diagonal(&before),
            new: via_new(&r_new, &after).meet_off_diagonal(&after),
            plus: via_new(&via_new(&kept, &added), &after),
            affected,
        }
    }

    /// The steps of a relation that touch one of the objects.
    fn incident(rows: &[u64], objects: u64) -> Vec<u64> {
        rows.iter()
            .enumerate()
            .map(|(u, row)| {
                if objects >> u & 1 == 1 {
                    *row
                } else {
                    row & objects
                }
            })
            .collect()
    }

    fn identity(&self) -> Relation {
        let summary = self.old.s.summaries(self.old.voc);
        Relation {
            may: (0..self.old.n).map(|u| 1 << u).collect(),
            must: (0..self.old.n).map(|u| (1 << u) & !summary).collect(),
        }
    }

    /// The reflexive closure as stored before the action.
    fn stored_closure(&self, step: Option<PredId>) -> Option<Relation> {
        let step = step?;
        let (_, t, reflexive) = self.index.stored.iter().find(|(p, ..)| *p == step)?;
        let (may, must) = self.old.s.planes(self.old.voc, *t);
        let stored = Relation {
            may: may.to_vec(),
            must: must.to_vec(),
        };
        Some(if *reflexive {
            stored
        } else {
            stored.union(&self.identity())
        })
    }
}

struct Paths {
    old: Relation,
    new: Relation,
    plus: Relation,
    affected: Relation,
}

/// A binary relation with Kleene values.
#[derive(Clone)]
struct Relation {
    may: Vec<u64>,
    must: Vec<u64>,
}

impl Relation {
    fn union(&self, other: &Self) -> Self {
        let or = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(x, y)| x | y).collect();
        Self {
            may: or(&self.may, &other.may),
            must: or(&self.must, &other.must),
        }
    }

    /// Relational composition through objects that may and that do exist.
    fn compose(&self, other: &Self, existing: u64, active: u64) -> Self {
        let go = |a: &[u64], b: &[u64], via: u64| {
            a.iter()
                .map(|row| bits(row & via).fold(0, |acc, k| acc | b[k]))
                .collect()
        };
        Self {
            may: go(&self.may, &other.may, existing),
            must: go(&self.must, &other.must, active),
        }
    }

    fn close(&self, existing: u64, active: u64) -> Self {
        Self {
            may: close(self.may.clone(), existing),
            must: close(self.must.clone(), active),
        }
    }

    /// Without the pairs cut by a removal: exactly those where paths are unique, else a pair
    /// that may be affected is unknown.
    fn without(&self, affected: &Self, unique: bool) -> Self {
        let rows = 0..self.may.len();
        Self {
            may: rows
                .clone()
                .map(|r| {
                    if unique {
                        self.may[r] & !affected.must[r]
                    } else {
                        self.may[r]
                    }
                })
                .collect(),
            must: rows.map(|r| self.must[r] & !affected.may[r]).collect(),
        }
    }

    /// The more definite of two accounts of one relation; the first wins where they clash.
    fn meet(&self, other: &Self) -> Self {
        let mut out = self.clone();
        for r in 0..out.may.len() {
            let half = out.may[r] & !out.must[r];
            out.may[r] = out.may[r] & !half | half & other.may[r];
            out.must[r] |= half & other.must[r];
        }
        out
    }

    /// Like [`Relation::meet`], leaving the diagonal alone.
    fn meet_off_diagonal(&self, other: &Self) -> Self {
        let met = self.meet(other);
        let pick = |a: u64, b: u64, u: usize| a & !(1 << u) | b & (1 << u);
        Self {
            may: (0..self.may.len())
                .map(|u| pick(met.may[u], self.may[u], u))
                .collect(),
            must: (0..self.must.len())
                .map(|u| pick(met.must[u], self.must[u], u))
                .collect(),
        }
    }
}

fn sharper(mut t: Table, other: &Table) -> Table {
    for r in 0..t.may.len() {
        let half = t.may[r] & !t.must[r];
        t.may[r] = t.may[r] & !half | half & other.may[r];
        t.must[r] |= half & other.must[r];
    }
    t
}

fn negate(q: Quad, full: u64) -> Quad {
    Quad {
        old: q.old.not(full),
        new: q.new.not(full),
        plus: q.minus,
        minus: q.plus,
    }
}

fn conjoin(a: Quad, b: &Quad, shape: Shape) -> Quad {
    let plus = a.plus.clone().and(&b.new).or(&b.plus.clone().and(&a.new));
    let minus = a.minus.clone().and(&b.old).or(&b.minus.clone().and(&a.old));
    let old = a.old.and(&b.old);
    let new = refine(a.new.and(&b.new), &old, &plus, &minus, shape);
    Quad {
        old,
        new,
        plus,
        minus,
    }
}
