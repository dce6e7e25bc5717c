//! The naive evaluator: the textbook reading of formulas, structures and embeddings.
//!
//! Place: the second account of the logic, which checks the first. It shares nothing with
//! [`crate::eval`], [`crate::coerce`], `update` and [`crate::blur`]: values stand in
//! plain tables, formulas are evaluated by recursion one assignment at a time, closures by
//! walking, embeddings by search; nothing is cached. Paper: [Friggens and Groves, arXiv 2015],
//! section 2.

use crate::formula::{Formula, Var};
use crate::kleene::Kleene;
use crate::structure::Structure;
use crate::vocabulary::{PredId, Vocabulary};

/// A structure as plain tables. `sm` and `ac` are kept as predicates like any other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Number of objects.
    pub n: usize,
    /// The tables of all predicates, one after another.
    values: Vec<Kleene>,
    /// Where each predicate's table starts.
    starts: Vec<usize>,
}

/// All tuples of a length, in increasing order, one at a time.
pub(crate) struct Tuples {
    n: usize,
    tuple: Vec<usize>,
    begun: bool,
}

impl Tuples {
    pub(crate) fn new(n: usize, arity: usize) -> Self {
        Self {
            n,
            tuple: vec![0; arity],
            begun: false,
        }
    }

    /// The next tuple.
    pub(crate) fn next(&mut self) -> Option<&[usize]> {
        if !self.begun {
            self.begun = true;
            let empty = self.n == 0 && !self.tuple.is_empty();
            return (!empty).then_some(&self.tuple);
        }
        let mut at = self.tuple.len();
        loop {
            at = at.checked_sub(1)?;
            self.tuple[at] += 1;
            if self.tuple[at] < self.n {
                return Some(&self.tuple);
            }
            self.tuple[at] = 0;
        }
    }
}

/// An assignment of objects to variables; later entries hide earlier ones.
pub type Assignment = Vec<(Var, usize)>;

impl World {
    /// All predicates 0 but `ac`, which is 1.
    pub fn new(voc: &Vocabulary, n: usize) -> Self {
        let mut starts = Vec::with_capacity(voc.len());
        let mut total = 0;
        for p in voc.ids() {
            starts.push(total);
            total += n.pow(voc.get(p).arity as u32);
        }
        let mut w = Self {
            n,
            values: vec![Kleene::False; total],
            starts,
        };
        for u in 0..n {
            w.set(PredId::AC, &[u], Kleene::True);
        }
        w
    }

    /// Copies a structure value by value.
    pub fn of(voc: &Vocabulary, s: &Structure) -> Self {
        let mut w = Self::new(voc, s.len());
        for p in voc.ids() {
            let mut tuples = Tuples::new(w.n, voc.get(p).arity);
            while let Some(tuple) = tuples.next() {
                w.set(p, tuple, s.get(voc, p, tuple));
            }
        }
        w
    }

    /// Copies back into a structure.
    pub fn structure(&self, voc: &Vocabulary) -> Structure {
        let mut s = Structure::new(voc, self.n);
        for p in voc.ids() {
            let mut tuples = Tuples::new(self.n, voc.get(p).arity);
            while let Some(tuple) = tuples.next() {
                s.set(voc, p, tuple, self.get(p, tuple));
            }
        }
        s
    }

    fn index(&self, tuple: &[usize]) -> usize {
        tuple.iter().fold(0, |acc, u| acc * self.n + u)
    }

    /// The value of a predicate.
    pub fn get(&self, p: PredId, tuple: &[usize]) -> Kleene {
        self.values[self.starts[p.index()] + self.index(tuple)]
    }

    /// Sets a value.
    pub fn set(&mut self, p: PredId, tuple: &[usize], value: Kleene) {
        let at = self.starts[p.index()] + self.index(tuple);
        self.values[at] = value;
    }

    /// Whether a predicate has the values that it has in a world of as many objects.
    pub(crate) fn same(&self, voc: &Vocabulary, other: &Self, p: PredId) -> bool {
        let start = self.starts[p.index()];
        let end = start + self.n.pow(voc.get(p).arity as u32);
        self.values[start..end] == other.values[start..end]
    }

    /// All tuples of a length.
    pub fn tuples(&self, arity: usize) -> Vec<Vec<usize>> {
        let mut out = Vec::new();
        let mut tuples = Tuples::new(self.n, arity);
        while let Some(tuple) = tuples.next() {
            out.push(tuple.to_vec());
        }
        out
    }

    fn equal(&self, u: usize, w: usize) -> Kleene {
        if u != w {
            Kleene::False
        } else if self.get(PredId::SM, &[u]).may() {
            Kleene::Half
        } else {
            Kleene::True
        }
    }

    /// The value of a formula.
    pub fn eval(&self, f: &Formula, at: &Assignment) -> Kleene {
        self.value(f, &mut at.clone())
    }

    /// The value of a formula; the assignment is as before afterwards.
    pub(crate) fn value(&self, f: &Formula, at: &mut Assignment) -> Kleene {
        let object = |at: &Assignment, v: &Var| {
            at.iter()
                .rev()
                .find(|(w, _)| w == v)
                .map(|(_, u)| *u)
                .expect("every free variable is assigned")
        };
        match f {
            Formula::Value(k) => *k,
            // The same variable twice is one object, even inside a summary object.
            Formula::Eq(a, b) if a == b => Kleene::True,
            Formula::Eq(a, b) => self.equal(object(at, a), object(at, b)),
            Formula::Atom(p, args) => {
                let index = args.iter().fold(0, |acc, v| acc * self.n + object(at, v));
                self.values[self.starts[p.index()] + index]
            }
            Formula::Not(f) => self.value(f, at).not(),
            Formula::And(fs) => self.least(fs.len(), |i| self.value(&fs[i], at)),
            Formula::Or(fs) => self.least(fs.len(), |i| self.value(&fs[i], at).not()).not(),
            Formula::Ite(c, a, b) => match self.value(c, at) {
                Kleene::True => self.value(a, at),
                Kleene::False => self.value(b, at),
                Kleene::Half => self.value(a, at).join(self.value(b, at)),
            },
            Formula::Exists(v, f) => self
                .least(self.n, |u| {
                    let there = self.get(PredId::AC, &[u]);
                    there.and(self.with(*v, u, f, at)).not()
                })
                .not(),
            Formula::Forall(v, f) => self.least(self.n, |u| {
                let gone = self.get(PredId::AC, &[u]).not();
                gone.or(self.with(*v, u, f, at))
            }),
            Formula::Tc(tc) => {
                let (from, to) = (object(at, &tc.from), object(at, &tc.to));
                let mut step = |u: usize, w: usize| {
                    at.extend([(tc.a, u), (tc.b, w)]);
                    let value = self.value(&tc.body, at);
                    at.truncate(at.len() - 2);
                    value
                };
                self.path(from, to, &mut step)
            }
        }
    }

    /// The conjunction of `count` values; those after a 0 are not asked for.
    #[allow(clippy::unused_self)] // reads as part of the evaluator
    fn least(&self, count: usize, mut value: impl FnMut(usize) -> Kleene) -> Kleene {
        let mut all = Kleene::True;
        for i in 0..count {
            all = all.and(value(i));
            if all == Kleene::False {
                break;
            }
        }
        all
    }

    /// The value with one more variable assigned.
    fn with(&self, v: Var, u: usize, f: &Formula, at: &mut Assignment) -> Kleene {
        at.push((v, u));
        let value = self.value(f, at);
        at.pop();
        value
    }

    /// The best path: 1 if one of steps that are 1 leads there, 1/2 if one of steps not 0.
    fn path(
        &self,
        from: usize,
        to: usize,
        step: &mut impl FnMut(usize, usize) -> Kleene,
    ) -> Kleene {
        for (least, value) in [(Kleene::True, Kleene::True), (Kleene::Half, Kleene::Half)] {
            let mut seen = vec![false; self.n];
            let mut stack = vec![from];
            let mut first = true;
            while let Some(u) = stack.pop() {
                // Intermediate objects must exist; the ends are given.
                if !first && self.get(PredId::AC, &[u]) < least {
                    continue;
                }
                first = false;
                for (w, visited) in seen.iter_mut().enumerate() {
                    if step(u, w) < least {
                        continue;
                    }
                    if w == to {
                        return value;
                    }
                    if !*visited {
                        *visited = true;
                        stack.push(w);
                    }
                }
            }
        }
        Kleene::False
    }

    /// Whether a formula is not 0 for every assignment of its free variables.
    pub fn satisfies(&self, f: &Formula) -> bool {
        let free: Vec<Var> = f.free_vars().into_iter().collect();
        self.satisfies_for(&free, f)
    }

    /// The same for given variables.
    pub(crate) fn satisfies_for(&self, free: &[Var], f: &Formula) -> bool {
        let mut tuples = Tuples::new(self.n, free.len());
        let mut at: Assignment = Vec::new();
        while let Some(tuple) = tuples.next() {
            at.clear();
            at.extend(free.iter().copied().zip(tuple.iter().copied()));
            if !self.value(f, &mut at).may() {
                return false;
            }
        }
        true
    }

    /// Whether this embeds in `other`: some map of the objects onto those that must exist,
    /// one-to-one on single objects, under which every value is below the other's.
    pub fn embeds_in(&self, voc: &Vocabulary, other: &World) -> bool {
        if self.n == 0 {
            let empty = (0..other.n).all(|u| other.get(PredId::AC, &[u]) != Kleene::True);
            return empty && self.below_on(voc, other, &[], 0);
        }
        let mut map = Vec::new();
        self.extend_map(voc, other, &mut map)
    }

    fn extend_map(&self, voc: &Vocabulary, other: &World, map: &mut Vec<usize>) -> bool {
        let u = map.len();
        if u == self.n {
            return (0..other.n)
                .all(|t| other.get(PredId::AC, &[t]) != Kleene::True || map.contains(&t));
        }
        for t in 0..other.n {
            let single = other.get(PredId::SM, &[t]) == Kleene::False;
            if single && (map.contains(&t) || self.get(PredId::SM, &[u]).may()) {
                continue;
            }
            map.push(t);
            if self.below_on(voc, other, map, u + 1) && self.extend_map(voc, other, map) {
                return true;
            }
            map.pop();
        }
        false
    }

    /// Whether all values on tuples that contain the last mapped object are below the other's.
    fn below_on(&self, voc: &Vocabulary, other: &World, map: &[usize], mapped: usize) -> bool {
        let fits = |p: PredId, tuple: &[usize]| {
            let image: Vec<usize> = tuple.iter().map(|u| map[*u]).collect();
            self.get(p, tuple).below(other.get(p, &image))
        };
        let pair = |p: PredId, u: usize, w: usize| {
            let image = [map[u], map[w]];
            self.get(p, &[u, w]).below(other.get(p, &image))
        };
        let last = mapped.checked_sub(1);
        // Small arities first: they tell objects apart at least cost.
        let of_arity = |k: usize| {
            voc.ids()
                .filter(move |p| *p != PredId::SM && voc.get(*p).arity == k)
        };
        of_arity(0).all(|p| self.get(p, &[]).below(other.get(p, &[])))
            && last.is_none_or(|last| {
                let single = [last];
                let image = [map[last]];
                of_arity(1).all(|p| self.get(p, &single).below(other.get(p, &image)))
                    && of_arity(2)
                        .all(|p| (0..mapped).all(|u| pair(p, u, last) && pair(p, last, u)))
            })
            && voc.ids().filter(|p| voc.get(*p).arity > 2).all(|p| {
                mapped < self.n || self.tuples(voc.get(p).arity).iter().all(|t| fits(p, t))
            })
    }
}
