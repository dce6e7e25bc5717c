//! *Shift symmetry*: counters that are only compared with each other may all be moved by the same
//! number. A *group* is a set of shared variables and of locals at locations where they are live (a temporary may
//! hold a counter here and something else there); moving every value of a group by a
//! multiple of its *modulus* maps runs to runs, and violations to violations, if
//!
//! - an expression of the group is one of its variables, plus or minus an expression that has
//!   none (weight 1); the difference of two, their comparison, and the remainder of one by a
//!   divisor of the modulus have weight 0, and so has what is built of such;
//! - variables of the group are assigned, loaded from and stored to variables of the same group
//!   only; they have no declared range and no free choice;
//! - a local that a step does not write, and that is live behind it, is in the same group before and
//!   behind; one that a property reads is in the same group everywhere;
//! - indices, conditions, assertions and properties have weight 0.
//!
//! Values are mathematical integers, or *words* of a width, which wrap around. Words are shifted modulo 2 to the width:
//!
//! - what is stored is a copy, or is wrapped to the width and sign of the group;
//! - a difference is wrapped to at most the width, and so the same in shifted states; nothing else is computed
//!   outside of such wraps;
//! - words are compared for equality only: which is greater depends on where zero is;
//! - the modulus divides 2 to the width.
//!
//! States that differ by a shift are
//! bisimilar [cf. Emerson and Sistla, FMSD 1996], so that one of each class is enough: that in which the newest
//! value of the group's first shared variable is from 0 to the modulus - 1.
//!
//! Old values of a counter may lag behind without end. Those of old messages that are further behind
//! than [`Group::window`] are one value, [`FAR`]: a thread that would read it makes the
//! search give up, so that it is never computed with.
//!
//! [`Groups::infer`] guesses groups; it is not trusted. `palisade-certify` checks the rules with
//! code of its own.

use crate::expr::wrap;
use crate::liveness::{Liveness, inside_block};
use crate::wrap::Wrapped;
use crate::{
    BinOp, Cfg, Expr, GlobalId, Init, LocId, LocalAtom, LocalId, Place, Program, PropAtom, Step,
    TemplateId, ThreadVarId, UnOp,
};

/// A variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Counter {
    /// A shared variable, with all its elements.
    Global(GlobalId),
    /// A local of every copy of a thread, at a location.
    Local(TemplateId, LocId, LocalId),
}

/// Variables that are shifted together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its shared variables; not empty.
    pub globals: Vec<GlobalId>,
    /// Its locals, at the locations where they are live and belong to it.
    pub locals: Vec<(TemplateId, LocId, LocalId)>,
    /// Shifts are multiples of this; at least 1.
    pub modulus: i64,
    /// The width and the sign of words; `None` for integers.
    pub width: Option<(u8, bool)>,
}

/// All groups of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Groups(pub Vec<Group>);

/// Any value far behind. No run of a search gets there.
pub const FAR: i64 = -(1 << 60);

impl Group {
    /// How far behind the newest value of the first shared variable old values are told apart.
    pub const fn window(&self) -> i64 {
        4 * self.modulus
    }

    /// A value moved down by `by`; `None` if it does not fit 64 bits.
    pub fn moved(&self, value: i64, by: i64) -> Option<i64> {
        match self.width {
            None => value.checked_sub(by),
            Some((bits, signed)) => Some(wrap(i128::from(value) - i128::from(by), bits, signed)),
        }
    }

    /// Whether a value is further than [`Self::window`] behind zero, by less than half a round if it is a word.
    pub fn is_behind(&self, value: i64) -> bool {
        let distance = match self.width {
            None => value,
            Some((bits, _)) => wrap(i128::from(value), bits, true),
        };
        distance < -self.window()
    }

    fn has(&self, init: Init) -> bool {
        match (self.width, init) {
            (None, _) => true,
            (Some((bits, signed)), Init::Value(value)) => {
                wrap(i128::from(value), bits, signed) == value
            }
            (Some(_), Init::Any) => false,
        }
    }
}

/// The largest modulus: states are as many.
const LARGEST: i64 = 64;
/// Pairs of a local and a location that are looked at; larger programs have no groups.
const MOST_PAIRS: usize = 1 << 20;

impl Groups {
    /// The groups of a program.
    pub fn infer(program: &Program) -> Self {
        let Some(mut inference) = Inference::new(program) else {
            return Self::default();
        };
        // What is ambiguous is decided last, when all that is clear is known.
        loop {
            while inference.changed {
                inference.changed = false;
                inference.pass();
                inference.flatten();
                inference.contradictions();
            }
            if inference.decides {
                return inference.groups();
            }
            inference.decides = true;
            inference.changed = true;
        }
    }

    /// The group of a variable, by number.
    pub fn of(&self, counter: Counter) -> Option<usize> {
        self.0.iter().position(|group| match counter {
            Counter::Global(var) => group.globals.contains(&var),
            Counter::Local(template, loc, local) => group.locals.contains(&(template, loc, local)),
        })
    }
}

/// What an expression is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// The same in shifted states.
    Zero,
    /// Shifted with this class.
    One(usize),
    /// Not clear yet.
    Open,
}

/// What is known of the width of a class.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Words {
    width: Option<(u8, bool)>,
    /// Whether it is used as words cannot be: in an order, or computed with and not wrapped.
    exact: bool,
    /// The widest wrap of a difference.
    difference: u8,
}

impl Words {
    const EXACT: Self = Self {
        width: None,
        exact: true,
        difference: 0,
    };

    /// What is known of two classes that are one.
    fn with(self, other: Self) -> Self {
        let differ = self.width.zip(other.width).is_some_and(|(a, b)| a != b);
        Self {
            width: self.width.or(other.width),
            // Two widths are none.
            exact: self.exact || other.exact || differ,
            difference: self.difference.max(other.difference),
        }
    }

    fn is_contradiction(self) -> bool {
        let none = |(bits, _)| self.exact || self.difference > bits;
        self.width.is_some_and(none)
    }
}

/// What is wrapped.
#[derive(Clone, Copy)]
enum Operand {
    /// The same in shifted states.
    Zero,
    /// Shifted with this class.
    Counter(Weight),
    /// A difference in this class: the same but for rounds.
    Difference(Weight),
    /// Not clear yet.
    Open,
}

/// The numbers of the locals of one graph: a template's, or an atomic block's. The local with number `l` is at
/// location `k` number `first + k * locals + l`.
#[derive(Clone, Copy)]
struct Numbers {
    template: TemplateId,
    first: usize,
    locals: usize,
}

impl Numbers {
    fn of(self, loc: LocId, local: LocalId) -> usize {
        self.first + loc.index() * self.locals + local.index()
    }
}

struct Inference<'p> {
    program: &'p Program,
    /// Those of each template, and of the blocks on its edges.
    numbers: Vec<(Numbers, Vec<Option<Numbers>>)>,
    live: Vec<Liveness>,
    /// Classes of variables, as a forest.
    parent: Vec<usize>,
    fixed: Vec<bool>,
    modulus: Vec<i64>,
    words: Vec<Words>,
    /// Whether sums of two variables are decided now.
    decides: bool,
    changed: bool,
}

/// The weights of variables.
type Atom<'a, 'p, A> = dyn Fn(&Inference<'p>, &A) -> Weight + 'a;

/// The least and the greatest value of a type.
const fn range(bits: u8, signed: bool) -> (i128, i128) {
    let round = 1_i128 << bits;
    if signed {
        (-round / 2, round / 2 - 1)
    } else {
        (0, round - 1)
    }
}

impl<'p> Inference<'p> {
    fn new(program: &'p Program) -> Option<Self> {
        let mut count = program.globals.len();
        let mut numbers = Vec::new();
        for (id, template) in program.template_ids().zip(&program.templates) {
            let locals = template.locals.len();
            let mut add = |cfg: &Cfg| {
                let first = count;
                count += cfg.loc_count() * locals;
                Numbers {
                    template: id,
                    first,
                    locals,
                }
            };
            let own = add(&template.cfg);
            let block = |step: &Step| match step {
                Step::Atomic(atomic) => Some(add(&atomic.body)),
                Step::Skip | Step::Fence(_) | Step::Assume(_) | Step::Assert { .. } => None,
                Step::Assign { .. } | Step::Havoc { .. } => None,
                Step::Load { .. } | Step::Store { .. } => None,
                Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {
                    None
                }
            };
            let blocks = template.cfg.edges.iter().map(|e| &e.step).map(block);
            numbers.push((own, blocks.collect()));
            if count > MOST_PAIRS {
                return None;
            }
        }
        let mut inference = Self {
            program,
            numbers,
            live: program
                .template_ids()
                .map(|t| Liveness::of(program, t))
                .collect(),
            parent: (0..count).collect(),
            fixed: vec![false; count],
            modulus: vec![1; count],
            words: vec![Words::default(); count],
            decides: false,
            changed: true,
        };
        inference.webs();
        Some(inference)
    }

    /// Makes one class of a local before and behind each step that does not write it, where it is live behind.
    fn webs(&mut self) {
        for (index, template) in self.program.templates.iter().enumerate() {
            let (own, blocks) = self.numbers[index].clone();
            for (edge, block) in template.cfg.edges.iter().zip(blocks) {
                let locals = (0..own.locals).map(LocalId::from);
                let after: Vec<bool> = locals
                    .map(|l| self.live[index].is_live(edge.to, l))
                    .collect();
                let (Some(inner), Step::Atomic(atomic)) = (block, &edge.step) else {
                    self.passed(&after, edge.step.written_local(), |l| {
                        (own.of(edge.from, l), own.of(edge.to, l))
                    });
                    continue;
                };
                let body = &atomic.body;
                let live = inside_block(body, &after);
                self.passed(&live[body.entry.index()], None, |l| {
                    (own.of(edge.from, l), inner.of(body.entry, l))
                });
                for e in &body.edges {
                    self.passed(&live[e.to.index()], e.step.written_local(), |l| {
                        (inner.of(e.from, l), inner.of(e.to, l))
                    });
                }
                self.passed(&after, None, |l| {
                    (inner.of(body.exit, l), own.of(edge.to, l))
                });
            }
        }
        self.flatten();
    }

    fn passed(
        &mut self,
        live: &[bool],
        written: Option<LocalId>,
        ends: impl Fn(LocalId) -> (usize, usize),
    ) {
        let locals = live.iter().enumerate().filter(|(_, is_live)| **is_live);
        for local in locals.map(|(l, _)| LocalId::from(l)) {
            if written != Some(local) {
                let (from, to) = ends(local);
                let (x, y) = (self.class(from), self.class(to));
                self.parent[x.max(y)] = x.min(y);
            }
        }
    }

    /// Every number points to its class.
    fn flatten(&mut self) {
        for at in 0..self.parent.len() {
            // Parents have smaller numbers.
            self.parent[at] = self.parent[self.parent[at]];
        }
    }

    fn class(&self, mut at: usize) -> usize {
        while self.parent[at] != at {
            at = self.parent[at];
        }
        at
    }

    fn weight(&self, number: usize) -> Weight {
        let class = self.class(number);
        if self.fixed[class] {
            Weight::Zero
        } else {
            Weight::One(class)
        }
    }

    fn fix(&mut self, weight: Weight) -> Weight {
        if let Weight::One(class) = weight {
            let class = self.class(class);
            self.changed |= !self.fixed[class];
            self.fixed[class] = true;
        }
        Weight::Zero
    }

    /// Both are shifted together, or neither is.
    fn same(&mut self, a: Weight, b: Weight) -> Weight {
        let (x, y) = match (a, b) {
            (Weight::Open, other) | (other, Weight::Open) => return other,
            (Weight::One(x), Weight::One(y)) => (x, y),
            (Weight::Zero, other) | (other, Weight::Zero) => return self.fix(other),
        };
        let (x, y) = (self.class(x), self.class(y));
        if x != y {
            let (x, y) = (x.min(y), x.max(y));
            self.parent[y] = x;
            self.fixed[x] |= self.fixed[y];
            self.modulus[x] = multiple(self.modulus[x], self.modulus[y]);
            self.words[x] = self.words[x].with(self.words[y]);
            self.changed = true;
        }
        if self.fixed[self.class(x)] {
            Weight::Zero
        } else {
            Weight::One(self.class(x))
        }
    }

    /// More is known of the width of a class.
    fn learn(&mut self, weight: Weight, words: Words) {
        if let Weight::One(class) = weight {
            let class = self.class(class);
            let known = self.words[class].with(words);
            self.changed |= known != self.words[class];
            self.words[class] = known;
        }
    }

    /// Classes of which nothing can be true are none.
    fn contradictions(&mut self) {
        for class in 0..self.parent.len() {
            if self.parent[class] == class && self.words[class].is_contradiction() {
                self.fix(Weight::One(class));
            }
        }
    }

    /// An expression that is wrapped.
    fn wrapped<A: Clone + PartialEq>(
        &mut self,
        e: &Wrapped<'_, A>,
        atom: &Atom<'_, 'p, A>,
    ) -> Weight {
        let width = Some((e.bits, e.signed));
        let weight = match self.operand(e.operand, (e.bits, e.signed), atom) {
            Operand::Zero => return Weight::Zero,
            Operand::Open => return Weight::Open,
            Operand::Counter(weight) => {
                let words = Words {
                    width,
                    ..Words::default()
                };
                self.learn(weight, words);
                weight
            }
            Operand::Difference(weight) => {
                let words = Words {
                    // By cases it has to be a difference of words of this type.
                    width: width.filter(|_| e.limits.is_some()),
                    difference: e.bits,
                    ..Words::default()
                };
                self.learn(weight, words);
                Weight::Zero
            }
        };
        let values = self.interval(e.operand, (e.bits, e.signed), atom);
        let fits = |(lo, hi)| values.is_some_and(|(least, most)| lo <= least && most <= hi);
        if !e.limits.is_none_or(fits) {
            self.fix_all(e.operand, atom);
            return Weight::Zero;
        }
        weight
    }

    fn fix_all<A>(&mut self, e: &Expr<A>, atom: &Atom<'_, 'p, A>) {
        e.for_each_atom(&mut |a| {
            let weight = atom(self, a);
            self.fix(weight);
        });
    }

    /// A sum or difference that is wrapped to a type. What is inside of it must fit 64 bits.
    fn operand<A: Clone + PartialEq>(
        &mut self,
        e: &Expr<A>,
        of: (u8, bool),
        atom: &Atom<'_, 'p, A>,
    ) -> Operand {
        use Operand::{Counter, Difference, Open, Zero};
        let (Expr::Binary(op @ (BinOp::Add | BinOp::Sub), a, b), None) = (e, e.as_wrapped()) else {
            return match self.expr(e, atom) {
                Weight::Zero => Zero,
                Weight::Open => Open,
                one @ Weight::One(_) => Counter(one),
            };
        };
        for part in [a, b] {
            let is_sum = matches!(**part, Expr::Binary(BinOp::Add | BinOp::Sub, ..));
            if is_sum && self.interval(part, of, atom).is_none() {
                let weight = self.expr(part, atom);
                self.fix(weight);
                self.fix_all(part, atom);
            }
        }
        let (x, y) = (self.operand(a, of, atom), self.operand(b, of, atom));
        match (op, x, y) {
            (_, Open, _) | (_, _, Open) => Open,
            (_, x, Zero) | (BinOp::Add, Zero, x) | (_, Zero, x @ Difference(_)) => x,
            (_, Difference(x), Difference(y)) => match self.same(x, y) {
                Weight::Zero | Weight::Open => Zero,
                one @ Weight::One(_) => Difference(one),
            },
            (_, Counter(x), Difference(y)) | (BinOp::Add, Difference(x), Counter(y)) => {
                match self.same(x, y) {
                    Weight::Zero | Weight::Open => Zero,
                    one @ Weight::One(_) => Counter(one),
                }
            }
            // A number of steps may still turn out to be no counter.
            (_, Counter(_) | Difference(_), Counter(_)) if !self.decides => Open,
            (BinOp::Sub, Counter(x), Counter(y)) => match self.same(x, y) {
                Weight::Zero | Weight::Open => Zero,
                one @ Weight::One(_) => Difference(one),
            },
            (_, Counter(x) | Difference(x), Counter(y)) => {
                self.fix(x);
                self.fix(y);
                Zero
            }
            (_, Zero, Counter(x)) => {
                self.fix(x);
                Zero
            }
        }
    }

    /// The least and the greatest value of a sum of words of a type, if it fits 64 bits.
    fn interval<A: Clone + PartialEq>(
        &self,
        e: &Expr<A>,
        of: (u8, bool),
        atom: &Atom<'_, 'p, A>,
    ) -> Option<(i128, i128)> {
        let (lo, hi) = match (e, e.as_wrapped()) {
            (_, Some(wrapped)) => range(wrapped.bits, wrapped.signed),
            (Expr::Const(value), None) => (i128::from(*value), i128::from(*value)),
            (Expr::Atom(a), None) => match atom(self, a) {
                Weight::One(_) => range(of.0, of.1),
                Weight::Zero | Weight::Open => return None,
            },
            (Expr::Binary(op @ (BinOp::Add | BinOp::Sub), a, b), None) => {
                let (a, b) = (self.interval(a, of, atom)?, self.interval(b, of, atom)?);
                if *op == BinOp::Add {
                    (a.0 + b.0, a.1 + b.1)
                } else {
                    (a.0 - b.1, a.1 - b.0)
                }
            }
            (Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..), None) => return None,
        };
        (i128::from(i64::MIN) <= lo && hi <= i128::from(i64::MAX)).then_some((lo, hi))
    }

    /// The remainder of an expression by a positive number: its low bits, too.
    fn remainder<A: Clone + PartialEq>(
        &mut self,
        a: &Expr<A>,
        k: i64,
        atom: &Atom<'_, 'p, A>,
    ) -> Weight {
        match self.expr(a, atom) {
            Weight::One(class) if k != 0 => {
                let class = self.class(class);
                let wanted = multiple(self.modulus[class], k.saturating_abs());
                self.changed |= wanted != self.modulus[class];
                self.modulus[class] = wanted;
                Weight::Zero
            }
            weight @ (Weight::Zero | Weight::One(_) | Weight::Open) => self.fix(weight),
        }
    }

    fn expr<A: Clone + PartialEq>(&mut self, e: &Expr<A>, atom: &Atom<'_, 'p, A>) -> Weight {
        if let Some(wrapped) = e.as_wrapped() {
            return self.wrapped(&wrapped, atom);
        }
        match e {
            Expr::Const(_) => Weight::Zero,
            Expr::Atom(a) => atom(self, a),
            Expr::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot | UnOp::Wrap { .. }, a) => {
                let a = self.expr(a, atom);
                self.fix(a)
            }
            Expr::Binary(BinOp::Mod, a, k) if matches!(**k, Expr::Const(_)) => {
                let Expr::Const(k) = **k else {
                    return Weight::Zero;
                };
                self.remainder(a, k, atom)
            }
            Expr::Binary(BinOp::BitAnd, a, mask) | Expr::Binary(BinOp::BitAnd, mask, a)
                if low_bits(mask).is_some() =>
            {
                self.remainder(a, low_bits(mask).unwrap_or(0), atom)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, atom), self.expr(b, atom));
                match op {
                    BinOp::Add => match (a, b) {
                        (Weight::Zero, other) | (other, Weight::Zero) => {
                            self.learn(other, Words::EXACT);
                            other
                        }
                        _ if !self.decides => Weight::Open,
                        _ => {
                            self.fix(a);
                            self.fix(b)
                        }
                    },
                    BinOp::Sub => match (a, b) {
                        (_, Weight::Zero) => {
                            self.learn(a, Words::EXACT);
                            a
                        }
                        (Weight::Zero, _) => self.fix(b),
                        // A number of steps may still turn out to be no counter.
                        _ if !self.decides => Weight::Open,
                        _ => {
                            let both = self.same(a, b);
                            self.learn(both, Words::EXACT);
                            Weight::Zero
                        }
                    },
                    BinOp::Eq | BinOp::Ne => {
                        self.same(a, b);
                        Weight::Zero
                    }
                    BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                        let both = self.same(a, b);
                        self.learn(both, Words::EXACT);
                        Weight::Zero
                    }
                    BinOp::Mul
                    | BinOp::Div
                    | BinOp::Mod
                    | BinOp::And
                    | BinOp::Or
                    | BinOp::BitAnd
                    | BinOp::BitOr
                    | BinOp::BitXor
                    | BinOp::Shl
                    | BinOp::Shr => {
                        self.fix(a);
                        self.fix(b)
                    }
                }
            }
            Expr::Cond(c, a, b) => {
                let c = self.expr(c, atom);
                self.fix(c);
                let (a, b) = (self.expr(a, atom), self.expr(b, atom));
                self.same(a, b)
            }
        }
    }

    fn local(&mut self, numbers: Numbers, at: LocId, e: &Expr<LocalAtom>) -> Weight {
        self.expr(e, &|this: &Self, atom| match atom {
            LocalAtom::Local(local) => this.weight(numbers.of(at, *local)),
            LocalAtom::SelfId => Weight::Zero,
        })
    }

    fn assigned(&mut self, to: usize, weight: Weight) {
        let to = self.weight(to);
        self.same(to, weight);
    }

    fn index(&mut self, numbers: Numbers, at: LocId, place: &Place) {
        if let Some(index) = &place.index {
            let weight = self.local(numbers, at, index);
            self.fix(weight);
        }
    }

    fn steps(&mut self, numbers: Numbers, cfg: &Cfg) {
        for (k, edge) in cfg.edges.iter().enumerate() {
            let (from, to) = (edge.from, edge.to);
            match &edge.step {
                Step::Assume(e) | Step::Assert { cond: e, .. } => {
                    let weight = self.local(numbers, from, e);
                    self.fix(weight);
                }
                Step::Assign { dst, value } => {
                    let weight = self.local(numbers, from, value);
                    self.assigned(numbers.of(to, *dst), weight);
                }
                Step::Havoc { dst, .. } => {
                    self.assigned(numbers.of(to, *dst), Weight::Zero);
                }
                Step::Load { dst, src } => {
                    self.index(numbers, from, src);
                    let weight = self.weight(src.var.index());
                    self.assigned(numbers.of(to, *dst), weight);
                }
                Step::Store { dst, value } => {
                    self.index(numbers, from, dst);
                    let weight = self.local(numbers, from, value);
                    self.assigned(dst.var.index(), weight);
                }
                Step::Atomic(atomic) => {
                    if let Some(inner) = self.numbers[numbers.template.index()].1[k] {
                        self.steps(inner, &atomic.body);
                    }
                }
                Step::Skip | Step::Fence(_) => {}
                Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {
                    self.fixed.fill(true);
                }
            }
        }
    }

    fn pass(&mut self) {
        let program = self.program;
        for (var, global) in program.globals.iter().enumerate() {
            if global.domain.is_some() || global.init.contains(&Init::Any) {
                self.assigned(var, Weight::Zero);
            }
        }
        for (index, template) in program.templates.iter().enumerate() {
            let own = self.numbers[index].0;
            for (local, declared) in template.locals.iter().enumerate() {
                if declared.domain.is_some() || declared.init == Init::Any {
                    for loc in template.cfg.locs() {
                        self.assigned(own.of(loc, LocalId::from(local)), Weight::Zero);
                    }
                }
            }
            self.steps(own, &template.cfg);
        }
        for property in &program.properties {
            let template = |t: ThreadVarId| property.threads[t.index()].template;
            // It is asked wherever the thread is.
            property.cond.for_each_atom(&mut |atom| {
                if let PropAtom::Local(t, local) = atom {
                    let own = self.numbers[template(*t).index()].0;
                    let cfg = &program.template(template(*t)).cfg;
                    let entry = self.weight(own.of(cfg.entry, *local));
                    for loc in cfg.locs() {
                        self.assigned(own.of(loc, *local), entry);
                    }
                }
            });
            let weight = self.expr(&property.cond, &|this: &Self, atom| match atom {
                PropAtom::Global(var, _) => this.weight(var.index()),
                PropAtom::Local(t, local) => {
                    let own = this.numbers[template(*t).index()].0;
                    let entry = program.template(template(*t)).cfg.entry;
                    this.weight(own.of(entry, *local))
                }
                PropAtom::SelfOf(_) | PropAtom::At(..) => Weight::Zero,
            });
            self.fix(weight);
        }
    }

    fn groups(&self) -> Groups {
        let mut all: Vec<(usize, Group)> = Vec::new();
        for var in self.program.global_ids() {
            let Weight::One(class) = self.weight(var.index()) else {
                continue;
            };
            let modulus = self.modulus[class];
            if modulus > LARGEST {
                continue;
            }
            match all.iter_mut().find(|(c, _)| *c == class) {
                Some((_, group)) => group.globals.push(var),
                None => all.push((
                    class,
                    Group {
                        globals: vec![var],
                        locals: Vec::new(),
                        modulus,
                        width: self.words[class].width,
                    },
                )),
            }
        }
        for (id, template) in self.program.template_ids().zip(&self.program.templates) {
            if all.is_empty() {
                break;
            }
            let own = self.numbers[id.index()].0;
            for loc in template.cfg.locs() {
                let locals = (0..template.locals.len()).map(LocalId::from);
                for local in locals.filter(|l| self.live[id.index()].is_live(loc, *l)) {
                    if let Weight::One(class) = self.weight(own.of(loc, local))
                        && let Some((_, group)) = all.iter_mut().find(|(c, _)| *c == class)
                    {
                        group.locals.push((id, loc, local));
                    }
                }
            }
        }
        all.retain(|(_, group)| self.starts(group));
        Groups(all.into_iter().map(|(_, group)| group).collect())
    }

    /// Whether words start as words of their type, and have remainders.
    fn starts(&self, group: &Group) -> bool {
        let Some((bits, _)) = group.width else {
            return true;
        };
        let program = self.program;
        let globals = group.globals.iter();
        let mut cells = globals.flat_map(|var| program.global(*var).init.iter());
        let mut locals = group.locals.iter();
        group.modulus.count_ones() == 1
            && i128::from(group.modulus) < 1 << bits
            && cells.all(|init| group.has(*init))
            && locals
                .all(|(t, _, local)| group.has(program.template(*t).locals[local.index()].init))
    }
}

/// The number by which `x & mask` is the remainder of `x`.
fn low_bits<A>(mask: &Expr<A>) -> Option<i64> {
    let Expr::Const(mask) = mask else { return None };
    let next = mask.checked_add(1)?;
    (next > 1 && next.count_ones() == 1).then_some(next)
}

/// The least common multiple.
fn multiple(a: i64, b: i64) -> i64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}
