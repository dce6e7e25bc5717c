//! The axioms of RC11 [Lahav et al., PLDI 2017, s. 3] for straight-line programs: every choice of
//! reads-from and coherence is tried. Test code only: the machine is compared with it.
//!
//! | paper | here |
//! |---|---|
//! | po, rf, mo, rb | `po`, `rf`, `mo`, `fr` |
//! | eco | `eco` |
//! | rs, sw, hb | `sequence`, `sync`, `hb` |
//! | scb, psc | `scb`, `psc` |
//! | COHERENCE, ATOMICITY, SC, NO-THIN-AIR | in this order of cost in `Graph::is_consistent` |

use std::collections::BTreeSet;

use palisade_program::Order;

/// One operation of a straight-line program; locations are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Load(usize, Order),
    Store(usize, i64, Order),
    /// An exchange.
    Update(usize, i64, Order),
    Fence(Order),
}

impl Op {
    fn cell(self) -> Option<usize> {
        match self {
            Self::Load(cell, _) | Self::Store(cell, ..) | Self::Update(cell, ..) => Some(cell),
            Self::Fence(_) => None,
        }
    }

    fn order(self) -> Order {
        match self {
            Self::Load(_, o) | Self::Store(_, _, o) | Self::Update(_, _, o) | Self::Fence(o) => o,
        }
    }

    fn reads(self) -> bool {
        matches!(self, Self::Load(..) | Self::Update(..))
    }

    fn written(self) -> Option<i64> {
        match self {
            Self::Store(_, value, _) | Self::Update(_, value, _) => Some(value),
            Self::Load(..) | Self::Fence(_) => None,
        }
    }
}

/// What a program can do.
#[derive(Default, Debug)]
pub(crate) struct Meaning {
    /// Values read, thread by thread, and final values of the locations.
    pub(crate) outcomes: BTreeSet<(Vec<i64>, Vec<i64>)>,
    /// Whether some consistent execution has a data race.
    pub(crate) has_race: bool,
}

/// A relation: for each event the set of its successors.
type Relation = Vec<u32>;

fn bits(set: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |i| set >> i & 1 == 1)
}

fn compose(a: &Relation, b: &Relation) -> Relation {
    let after = |set: &u32| bits(*set).fold(0, |all, i| all | b[i]);
    a.iter().map(after).collect()
}

fn closure(mut r: Relation) -> Relation {
    for k in 0..r.len() {
        for i in 0..r.len() {
            if r[i] >> k & 1 == 1 {
                r[i] |= r[k];
            }
        }
    }
    r
}

fn union(relations: &[&Relation]) -> Relation {
    let count = relations[0].len();
    (0..count)
        .map(|i| relations.iter().fold(0, |all, r| all | r[i]))
        .collect()
}

fn is_irreflexive(r: &Relation) -> bool {
    r.iter().enumerate().all(|(i, set)| set >> i & 1 == 0)
}

struct Program {
    /// Thread (`None` for initial stores) and operation of each event.
    events: Vec<(Option<usize>, Op)>,
    cells: usize,
    po: Relation,
}

/// All outcomes of `threads` over `cells` locations that start as 0.
pub(crate) fn meaning(threads: &[Vec<Op>], cells: usize) -> Meaning {
    let init = (0..cells).map(|cell| (None, Op::Store(cell, 0, Order::Plain)));
    let mut events: Vec<(Option<usize>, Op)> = init.collect();
    for (t, ops) in threads.iter().enumerate() {
        events.extend(ops.iter().map(|op| (Some(t), *op)));
    }
    let follows = |i: usize, j: usize| match (events[i].0, events[j].0) {
        (None, Some(_)) => true,
        (Some(a), Some(b)) => a == b && i < j,
        (_, None) => false,
    };
    let count = events.len();
    let row = |i| (0..count).fold(0, |set, j| set | u32::from(follows(i, j)) << j);
    let po = (0..count).map(row).collect();
    let program = Program { events, cells, po };
    let mut meaning = Meaning::default();
    program.each_source(&mut Vec::new(), &mut meaning);
    meaning
}

impl Program {
    fn writes(&self, cell: usize) -> impl Iterator<Item = usize> {
        let all = self.events.iter().enumerate();
        all.filter(move |(_, (_, op))| op.cell() == Some(cell) && op.written().is_some())
            .map(|(i, _)| i)
    }

    fn reads(&self) -> Vec<usize> {
        let all = 0..self.events.len();
        all.filter(|&i| self.events[i].1.reads()).collect()
    }

    /// Every store for every load.
    fn each_source(&self, sources: &mut Vec<usize>, meaning: &mut Meaning) {
        let reads = self.reads();
        let Some(&read) = reads.get(sources.len()) else {
            let mut rf = vec![0; self.events.len()];
            for (read, source) in reads.iter().zip(&*sources) {
                rf[*source] |= 1 << read;
            }
            // NO-THIN-AIR
            if is_irreflexive(&closure(union(&[&self.po, &rf]))) {
                self.each_coherence(sources, &rf, &mut Vec::new(), meaning);
            }
            return;
        };
        let cell = self.events[read].1.cell().unwrap_or(0);
        let stores: Vec<usize> = self.writes(cell).collect();
        for store in stores {
            if store != read && self.po[read] >> store & 1 == 0 {
                sources.push(store);
                self.each_source(sources, meaning);
                sources.pop();
            }
        }
    }

    /// Every order of the stores of each location that program order allows.
    fn each_coherence(
        &self,
        sources: &[usize],
        rf: &Relation,
        orders: &mut Vec<Vec<usize>>,
        meaning: &mut Meaning,
    ) {
        if orders.len() == self.cells {
            Graph::new(self, sources, rf, orders).judge(meaning);
            return;
        }
        let stores: Vec<usize> = self.writes(orders.len()).collect();
        let mut all = Vec::new();
        self.permute(&stores, &mut Vec::new(), &mut all);
        for order in all {
            orders.push(order);
            self.each_coherence(sources, rf, orders, meaning);
            orders.pop();
        }
    }

    fn permute(&self, rest: &[usize], done: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if rest.is_empty() {
            all.push(done.clone());
        }
        for &store in rest {
            if rest.iter().all(|&other| self.po[other] >> store & 1 == 0) {
                let others: Vec<usize> = rest.iter().copied().filter(|&o| o != store).collect();
                done.push(store);
                self.permute(&others, done, all);
                done.pop();
            }
        }
    }
}

struct Graph<'a> {
    program: &'a Program,
    sources: &'a [usize],
    reads: Vec<usize>,
    rf: &'a Relation,
    orders: &'a [Vec<usize>],
    /// For each event its source.
    source: Vec<usize>,
    /// For each store its place in its location's order.
    place: Vec<usize>,
}

impl<'a> Graph<'a> {
    fn new(
        program: &'a Program,
        sources: &'a [usize],
        rf: &'a Relation,
        orders: &'a [Vec<usize>],
    ) -> Self {
        let count = program.events.len();
        let reads = program.reads();
        let mut source = vec![0; count];
        for (read, from) in reads.iter().zip(sources) {
            source[*read] = *from;
        }
        let mut place = vec![0; count];
        for order in orders {
            for (k, &store) in order.iter().enumerate() {
                place[store] = k;
            }
        }
        Self {
            program,
            sources,
            reads,
            rf,
            orders,
            source,
            place,
        }
    }

    fn op(&self, i: usize) -> Op {
        self.program.events[i].1
    }

    fn relation(&self, related: impl Fn(usize, usize) -> bool) -> Relation {
        let count = self.program.events.len();
        let row = |i| (0..count).fold(0, |set, j| set | u32::from(related(i, j)) << j);
        (0..count).map(row).collect()
    }

    fn is_store(&self, i: usize) -> bool {
        self.op(i).written().is_some()
    }

    fn same_cell(&self, i: usize, j: usize) -> bool {
        self.op(i).cell().is_some() && self.op(i).cell() == self.op(j).cell()
    }

    /// Synchronizes-with.
    fn sync(&self) -> Relation {
        let po = &self.program.po;
        let is_init = |i: usize| self.program.events[i].0.is_none();
        // Release sequences.
        let updates = self.relation(|i, j| self.rf[i] >> j & 1 == 1 && self.is_store(j));
        let chains = closure(updates);
        let sequence = self.relation(|i, j| {
            let heads = |k: usize| {
                let own = k == i
                    || (!is_init(i)
                        && po[i] >> k & 1 == 1
                        && self.is_store(k)
                        && self.same_cell(i, k));
                own && self.op(k).order() != Order::Plain && (k == j || chains[k] >> j & 1 == 1)
            };
            self.is_store(i) && (0..po.len()).any(heads)
        });
        let mut sync = vec![0; po.len()];
        for i in 0..po.len() {
            if !self.op(i).order().releases() || is_init(i) {
                continue;
            }
            let is_fence = matches!(self.op(i), Op::Fence(_));
            let heads = (0..po.len()).filter(|&k| {
                self.is_store(k)
                    && if is_fence {
                        po[i] >> k & 1 == 1
                    } else {
                        k == i
                    }
            });
            for store in heads.flat_map(|h| bits(sequence[h])) {
                for read in bits(self.rf[store]) {
                    let order = self.op(read).order();
                    if order == Order::Plain {
                        continue;
                    }
                    if order.acquires() {
                        sync[i] |= 1 << read;
                    }
                    for f in bits(po[read]) {
                        if matches!(self.op(f), Op::Fence(o) if o.acquires()) {
                            sync[i] |= 1 << f;
                        }
                    }
                }
            }
        }
        sync
    }

    fn judge(&self, meaning: &mut Meaning) {
        let po = &self.program.po;
        // ATOMICITY
        let torn = |&r: &usize| self.is_store(r) && self.place[r] != self.place[self.source[r]] + 1;
        if self.reads.iter().any(torn) {
            return;
        }
        let mo = self.relation(|i, j| {
            self.is_store(i)
                && self.is_store(j)
                && self.same_cell(i, j)
                && self.place[i] < self.place[j]
        });
        let fr = self.relation(|i, j| {
            i != j
                && self.op(i).reads()
                && self.is_store(j)
                && self.same_cell(i, j)
                && self.place[self.source[i]] < self.place[j]
        });
        let eco = closure(union(&[self.rf, &mo, &fr]));
        let hb = closure(union(&[po, &self.sync()]));
        let heco = compose(&hb, &eco);
        // COHERENCE
        if !is_irreflexive(&hb) || !is_irreflexive(&heco) {
            return;
        }
        if !is_irreflexive(&closure(self.psc(&hb, &heco, &mo, &fr))) {
            return;
        }
        let value = |store: usize| self.op(store).written().unwrap_or(0);
        let read = self.sources.iter().map(|&s| value(s)).collect();
        let last = self.orders.iter().map(|o| value(o[o.len() - 1])).collect();
        meaning.outcomes.insert((read, last));
        meaning.has_race |= self.has_race(&hb);
    }

    fn psc(&self, hb: &Relation, heco: &Relation, mo: &Relation, fr: &Relation) -> Relation {
        let po = &self.program.po;
        let away = self.relation(|i, j| po[i] >> j & 1 == 1 && !self.same_cell(i, j));
        let near = self.relation(|i, j| hb[i] >> j & 1 == 1 && self.same_cell(i, j));
        let linked = compose(&compose(&away, hb), &away);
        let scb = union(&[po, &near, mo, fr, &linked]);
        let is_sc = |i: usize| self.op(i).order() == Order::SeqCst;
        let is_fence = |i: usize| is_sc(i) && matches!(self.op(i), Op::Fence(_));
        let around = compose(heco, hb);
        self.relation(|i, j| {
            if !is_sc(i) || !is_sc(j) {
                return false;
            }
            let left = 1 << i | if is_fence(i) { hb[i] } else { 0 };
            let ends = bits(left).fold(0, |all, k| all | scb[k]);
            let base = bits(ends).any(|k| k == j || (is_fence(j) && hb[k] >> j & 1 == 1));
            base || (is_fence(i) && is_fence(j) && (hb[i] | around[i]) >> j & 1 == 1)
        })
    }

    fn has_race(&self, hb: &Relation) -> bool {
        let count = self.program.events.len();
        let thread = |i: usize| self.program.events[i].0;
        let is_race = |i: usize, j: usize| {
            thread(i) != thread(j)
                && thread(i).is_some()
                && thread(j).is_some()
                && self.same_cell(i, j)
                && (self.is_store(i) || self.is_store(j))
                && (self.op(i).order() == Order::Plain || self.op(j).order() == Order::Plain)
                && (hb[i] >> j | hb[j] >> i) & 1 == 0
        };
        (0..count).any(|i| (0..i).any(|j| is_race(i, j)))
    }
}
