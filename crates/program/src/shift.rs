//! *Shift symmetry*: counters that are only compared with each other may all be moved by the same
//! number. A *group* is a set of shared variables and locals; moving every value of a group by a
//! multiple of its *modulus* maps runs to runs, and violations to violations, if
//!
//! - an expression of the group is one of its variables, plus or minus an expression that has
//!   none (weight 1); the difference of two, their comparison, and the remainder of one by a
//!   divisor of the modulus have weight 0, and so has what is built of such;
//! - variables of the group are assigned, loaded from and stored to variables of the same group
//!   only; they have no declared range and no free choice;
//! - indices, conditions, assertions and properties have weight 0.
//!
//! Values are mathematical integers: nothing wraps around. States that differ by a shift are
//! bisimilar [cf. Emerson and Sistla, FMSD 1996], so that one of each class is enough: that in which the newest
//! value of the group's first shared variable is from 0 to the modulus - 1.
//!
//! Old values of a counter may lag behind without end. Those of old messages that are further behind
//! than [`Group::window`] are one value, [`FAR`]: a thread that would read it makes the
//! search give up, so that it is never computed with.
//!
//! [`Groups::infer`] guesses groups; it is not trusted. `palisade-certify` checks the rules with
//! code of its own.

use crate::{
    BinOp, Cfg, Expr, GlobalId, Init, LocalAtom, LocalId, Place, Program, PropAtom, Step,
    TemplateId, ThreadVarId, UnOp,
};

/// A variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Counter {
    /// A shared variable, with all its elements.
    Global(GlobalId),
    /// A local of every copy of a thread.
    Local(TemplateId, LocalId),
}

/// Variables that are shifted together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its shared variables; not empty.
    pub globals: Vec<GlobalId>,
    /// Its locals.
    pub locals: Vec<(TemplateId, LocalId)>,
    /// Shifts are multiples of this; at least 1.
    pub modulus: i64,
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
}

/// The largest modulus: states are as many.
const LARGEST: i64 = 64;

impl Groups {
    /// The groups of a program.
    pub fn infer(program: &Program) -> Self {
        let mut first = 0;
        let mut starts = Vec::new();
        for template in &program.templates {
            starts.push(program.globals.len() + first);
            first += template.locals.len();
        }
        let count = program.globals.len() + first;
        let mut inference = Inference {
            program,
            starts,
            parent: (0..count).collect(),
            fixed: vec![false; count],
            modulus: vec![1; count],
            decides: false,
            changed: true,
        };
        // What is ambiguous is decided last, when all that is clear is known.
        loop {
            while inference.changed {
                inference.changed = false;
                inference.pass();
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
            Counter::Local(template, local) => group.locals.contains(&(template, local)),
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

struct Inference<'p> {
    program: &'p Program,
    /// The number of each template's first local.
    starts: Vec<usize>,
    /// Classes of variables, as a forest.
    parent: Vec<usize>,
    fixed: Vec<bool>,
    modulus: Vec<i64>,
    /// Whether sums of two variables are decided now.
    decides: bool,
    changed: bool,
}

impl Inference<'_> {
    fn number(&self, counter: Counter) -> usize {
        match counter {
            Counter::Global(var) => var.index(),
            Counter::Local(template, local) => self.starts[template.index()] + local.index(),
        }
    }

    fn class(&self, mut at: usize) -> usize {
        while self.parent[at] != at {
            at = self.parent[at];
        }
        at
    }

    fn weight(&self, counter: Counter) -> Weight {
        let class = self.class(self.number(counter));
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
            self.changed = true;
        }
        if self.fixed[self.class(x)] {
            Weight::Zero
        } else {
            Weight::One(self.class(x))
        }
    }

    fn expr<A>(&mut self, e: &Expr<A>, atom: &dyn Fn(&Self, &A) -> Weight) -> Weight {
        match e {
            Expr::Const(_) => Weight::Zero,
            Expr::Atom(a) => atom(self, a),
            Expr::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot | UnOp::Wrap { .. }, a) => {
                let a = self.expr(a, atom);
                self.fix(a)
            }
            Expr::Binary(BinOp::Mod, a, k) => {
                let weight = self.expr(a, atom);
                match (weight, &**k) {
                    (Weight::One(class), Expr::Const(k)) if *k != 0 => {
                        let class = self.class(class);
                        let wanted = multiple(self.modulus[class], k.saturating_abs());
                        self.changed |= wanted != self.modulus[class];
                        self.modulus[class] = wanted;
                        Weight::Zero
                    }
                    (weight, k) => {
                        let k = self.expr(k, atom);
                        self.fix(k);
                        self.fix(weight)
                    }
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, atom), self.expr(b, atom));
                match op {
                    BinOp::Add => match (a, b) {
                        (Weight::Zero, other) | (other, Weight::Zero) => other,
                        _ if !self.decides => Weight::Open,
                        _ => {
                            self.fix(a);
                            self.fix(b)
                        }
                    },
                    BinOp::Sub => match (a, b) {
                        (_, Weight::Zero) => a,
                        (Weight::Zero, _) => self.fix(b),
                        // A number of steps may still turn out to be no counter.
                        _ if !self.decides => Weight::Open,
                        _ => {
                            self.same(a, b);
                            Weight::Zero
                        }
                    },
                    BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                        self.same(a, b);
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

    fn local(&mut self, template: TemplateId, e: &Expr<LocalAtom>) -> Weight {
        self.expr(e, &|this: &Self, atom| match atom {
            LocalAtom::Local(local) => this.weight(Counter::Local(template, *local)),
            LocalAtom::SelfId => Weight::Zero,
        })
    }

    fn assigned(&mut self, to: Counter, weight: Weight) {
        let to = self.weight(to);
        self.same(to, weight);
    }

    fn index(&mut self, template: TemplateId, place: &Place) {
        if let Some(index) = &place.index {
            let weight = self.local(template, index);
            self.fix(weight);
        }
    }

    fn steps(&mut self, template: TemplateId, cfg: &Cfg) {
        for edge in &cfg.edges {
            match &edge.step {
                Step::Assume(e) | Step::Assert { cond: e, .. } => {
                    let weight = self.local(template, e);
                    self.fix(weight);
                }
                Step::Assign { dst, value } => {
                    let weight = self.local(template, value);
                    self.assigned(Counter::Local(template, *dst), weight);
                }
                Step::Havoc { dst, .. } => {
                    self.assigned(Counter::Local(template, *dst), Weight::Zero);
                }
                Step::Load { dst, src } => {
                    self.index(template, src);
                    let weight = self.weight(Counter::Global(src.var));
                    self.assigned(Counter::Local(template, *dst), weight);
                }
                Step::Store { dst, value } => {
                    self.index(template, dst);
                    let weight = self.local(template, value);
                    self.assigned(Counter::Global(dst.var), weight);
                }
                Step::Atomic(atomic) => self.steps(template, &atomic.body),
                Step::Skip | Step::Fence(_) => {}
                Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {
                    self.fixed.fill(true);
                }
            }
        }
    }

    fn pass(&mut self) {
        let program = self.program;
        for (var, global) in program.global_ids().zip(&program.globals) {
            if global.domain.is_some() || global.init.contains(&Init::Any) {
                self.assigned(Counter::Global(var), Weight::Zero);
            }
        }
        for (id, template) in program.template_ids().zip(&program.templates) {
            for (local, declared) in template.locals.iter().enumerate() {
                if declared.domain.is_some() || declared.init == Init::Any {
                    let local = LocalId::from(local);
                    self.assigned(Counter::Local(id, local), Weight::Zero);
                }
            }
            self.steps(id, &template.cfg);
        }
        for property in &program.properties {
            let template = |t: ThreadVarId| property.threads[t.index()].template;
            let weight = self.expr(&property.cond, &|this: &Self, atom| match atom {
                PropAtom::Global(var, _) => this.weight(Counter::Global(*var)),
                PropAtom::Local(t, local) => this.weight(Counter::Local(template(*t), *local)),
                PropAtom::SelfOf(_) | PropAtom::At(..) => Weight::Zero,
            });
            self.fix(weight);
        }
    }

    fn groups(&self) -> Groups {
        let mut all: Vec<(usize, Group)> = Vec::new();
        for var in self.program.global_ids() {
            let Weight::One(class) = self.weight(Counter::Global(var)) else {
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
                    },
                )),
            }
        }
        for (id, template) in self.program.template_ids().zip(&self.program.templates) {
            for local in (0..template.locals.len()).map(LocalId::from) {
                if let Weight::One(class) = self.weight(Counter::Local(id, local))
                    && let Some((_, group)) = all.iter_mut().find(|(c, _)| *c == class)
                {
                    group.locals.push((id, local));
                }
            }
        }
        Groups(all.into_iter().map(|(_, group)| group).collect())
    }
}

/// The least common multiple.
fn multiple(a: i64, b: i64) -> i64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}
