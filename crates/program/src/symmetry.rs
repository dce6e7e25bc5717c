//! Symmetry: which templates' copies are interchangeable, and what must be
//! renamed along when copies change places.
//!
//! A permutation of the copies of a template T is an automorphism of the program
//! if `self` is used as a *name* only: compared for (in)equality, stored, passed
//! on, and used to index arrays whose elements then change places too. The
//! analysis gives every variable's values, every array's indices and every `self`
//! a class by unification, and collects what each class is used for. Locals have a
//! class at each location where they are live, since front ends use one temporary
//! for many things. T is symmetric if in every class that holds its `self`
//!
//! - no other template's `self` occurs,
//! - no value is computed with (`self + 1`), ordered (`self < j`), or comes from
//!   such a computation,
//! - no constant is that of a copy (`turn = 0`; other constants, like -1 for
//!   "nobody", are fixed by every permutation). A comparison `x < c` that treats all
//!   copies alike (`c <= 0` or `c >= n`) is allowed,
//! - no `*` chooses from a range that permutations change,
//! - arrays indexed by it have an element for every copy,
//!
//! and no property names a certain copy (`t[2]`). Initial values do not matter:
//! a search up to symmetry needs symmetric steps and properties only (if `s` is
//! reachable, so is, from the permuted start, the permuted `s`, and each
//! representative that is visited is a permutation of a reachable state).
//!
//! For `[*]` every non-negative constant may be a copy.

use std::collections::BTreeSet;

use crate::cfg::{Cfg, Place, Step};
use crate::expr::{BinOp, Expr, UnOp};
use crate::ids::{GlobalId, LocId, LocalId, TemplateId};
use crate::liveness::{Liveness, inside_block};
use crate::program::{Count, Domain, LocalAtom, Program, Template};
use crate::property::{Pick, PropAtom};
use crate::source::Span;

/// Why a template is not symmetric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asymmetry {
    /// What breaks the symmetry.
    pub reason: String,
    /// Where.
    pub span: Span,
}

/// The symmetries of a program.
#[derive(Clone, Debug)]
pub struct Symmetry {
    asymmetries: Vec<Option<Asymmetry>>,
    values: Vec<Option<TemplateId>>,
    indices: Vec<Option<TemplateId>>,
    /// By template, location, local; empty where there is no symmetry.
    locals: Vec<Vec<Vec<Option<TemplateId>>>>,
}

impl Symmetry {
    /// Analyses `program`.
    pub fn of(program: &Program) -> Self {
        let runs_once = |t: &Template| t.count == Count::Once;
        if program.templates.iter().all(runs_once) {
            return Self::none(program, "it runs once");
        }
        let pairs = |t: &Template| t.locals.len() * t.cfg.loc_count();
        if program.templates.iter().map(pairs).sum::<usize>() > MOST_PAIRS {
            return Self::none(program, "the program is too large");
        }
        Analysis::new(program).finish()
    }

    /// That of a program without any.
    fn none(program: &Program, reason: &str) -> Self {
        let asymmetry = |t: &Template| {
            Some(Asymmetry {
                reason: reason.to_owned(),
                span: t.span,
            })
        };
        Self {
            asymmetries: program.templates.iter().map(asymmetry).collect(),
            values: vec![None; program.globals.len()],
            indices: vec![None; program.globals.len()],
            locals: Vec::new(),
        }
    }

    /// Whether the copies of `template` are interchangeable. Templates that run
    /// once are not.
    pub fn is_symmetric(&self, template: TemplateId) -> bool {
        self.asymmetries[template.index()].is_none()
    }

    /// Why `template` is not symmetric.
    pub fn asymmetry(&self, template: TemplateId) -> Option<&Asymmetry> {
        self.asymmetries[template.index()].as_ref()
    }

    /// The symmetric template whose numbers `var` holds.
    pub fn names_in(&self, var: GlobalId) -> Option<TemplateId> {
        self.values[var.index()]
    }

    /// The symmetric template by whose numbers the array `var` is indexed.
    pub fn indexed_by(&self, var: GlobalId) -> Option<TemplateId> {
        self.indices[var.index()]
    }

    /// The symmetric template whose numbers a local of `template` holds at `loc`.
    pub fn names_in_local(
        &self,
        template: TemplateId,
        loc: LocId,
        local: LocalId,
    ) -> Option<TemplateId> {
        let locals = self.locals.get(template.index())?;
        locals[loc.index()][local.index()]
    }
}

/// Pairs of a local and a location that are looked at; larger programs have no symmetry.
const MOST_PAIRS: usize = 1 << 23;

/// What the members of a class are used for.
#[derive(Clone, Default)]
struct Class {
    names: BTreeSet<TemplateId>,
    computed: Option<Span>,
    constants: Vec<(i64, Span)>,
    /// `x < c`.
    thresholds: Vec<(i64, Span)>,
    choices: Vec<(Option<Domain>, Span)>,
    arrays: Vec<GlobalId>,
}

impl Class {
    fn merge(&mut self, other: Self) {
        self.names.extend(other.names);
        self.computed = self.computed.or(other.computed);
        self.constants.extend(other.constants);
        self.thresholds.extend(other.thresholds);
        self.choices.extend(other.choices);
        self.arrays.extend(other.arrays);
    }
}

/// What an atom of an expression stands for.
enum Use {
    Node(usize),
    Constant(i64),
    Truth,
}

struct Analysis<'p> {
    program: &'p Program,
    parent: Vec<usize>,
    sizes: Vec<usize>,
    classes: Vec<Class>,
    /// By template: the node of local 0 at location 0.
    first_local: Vec<usize>,
    named: Vec<Option<Asymmetry>>,
}

impl<'p> Analysis<'p> {
    fn new(program: &'p Program) -> Self {
        let globals = program.globals.len();
        let mut count = 2 * globals + program.templates.len();
        let mut first_local = Vec::new();
        for template in &program.templates {
            first_local.push(count);
            count += template.locals.len() * template.cfg.loc_count();
        }
        let mut analysis = Self {
            program,
            parent: (0..count).collect(),
            sizes: vec![1; count],
            classes: vec![Class::default(); count],
            first_local,
            named: vec![None; program.templates.len()],
        };
        analysis.collect();
        analysis
    }

    fn value(var: GlobalId) -> usize {
        2 * var.index()
    }

    fn index(var: GlobalId) -> usize {
        2 * var.index() + 1
    }

    fn number(&self, template: TemplateId) -> usize {
        2 * self.program.globals.len() + template.index()
    }

    /// The node of local 0 at `loc`; the others follow.
    fn locals_at(&self, template: TemplateId, loc: LocId) -> usize {
        let count = self.program.template(template).locals.len();
        self.first_local[template.index()] + loc.index() * count
    }

    fn find(&self, mut node: usize) -> usize {
        while self.parent[node] != node {
            node = self.parent[node];
        }
        node
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (mut a, mut b) = (self.find(a), self.find(b));
        if a != b {
            // The larger tree stays the root: paths stay short.
            if self.sizes[a] < self.sizes[b] {
                std::mem::swap(&mut a, &mut b);
            }
            self.sizes[a] += self.sizes[b];
            let other = std::mem::take(&mut self.classes[b]);
            self.parent[b] = a;
            self.classes[a].merge(other);
        }
    }

    fn class(&mut self, node: usize) -> &mut Class {
        let node = self.find(node);
        &mut self.classes[node]
    }

    fn fresh(&mut self) -> usize {
        self.parent.push(self.parent.len());
        self.sizes.push(1);
        self.classes.push(Class::default());
        self.parent.len() - 1
    }

    fn collect(&mut self) {
        let program = self.program;
        for var in program.global_ids() {
            let global = program.global(var);
            if global.len.is_some() {
                self.class(Self::index(var)).arrays.push(var);
            }
            if let Some(home) = global.home.filter(|h| h.per_copy) {
                let number = self.number(home.template);
                self.unite(Self::index(var), number);
            }
        }
        for id in program.template_ids() {
            let template = program.template(id);
            if template.count != Count::Once {
                let number = self.number(id);
                self.class(number).names.insert(id);
            }
            let liveness = Liveness::of(program, id);
            let live = |loc| {
                let locals = (0..template.locals.len()).map(LocalId::from);
                locals.map(|l| liveness.is_live(loc, l)).collect()
            };
            let live: Vec<Vec<bool>> = template.cfg.locs().map(live).collect();
            self.graph(id, &template.cfg, self.first_local[id.index()], &live);
        }
        for property in &program.properties {
            for thread in &property.threads {
                if let Pick::Copy(copy) = thread.pick {
                    let name = &program.template(thread.template).name;
                    self.named[thread.template.index()].get_or_insert(Asymmetry {
                        reason: format!("a property names {name}[{copy}]"),
                        span: property.span,
                    });
                }
            }
            self.property(property);
        }
    }

    fn property(&mut self, property: &crate::property::Property) {
        property.cond.for_each_atom(&mut |atom| match atom {
            PropAtom::Global(var, Some(element)) => {
                let constant = (i64::from(*element), property.span);
                self.class(Self::index(*var)).constants.push(constant);
            }
            // A property may read a local anywhere.
            PropAtom::Local(t, local) => {
                let template = property.threads[t.index()].template;
                let first = self.locals_at(template, LocId(0)) + local.index();
                for loc in self.program.template(template).cfg.locs() {
                    let here = self.locals_at(template, loc) + local.index();
                    self.unite(first, here);
                }
            }
            PropAtom::Global(_, None) | PropAtom::SelfOf(_) | PropAtom::At(..) => {}
        });
        let numbers = 2 * self.program.globals.len();
        let firsts = self.first_local.clone();
        let using = |atom: &PropAtom| match atom {
            PropAtom::Global(var, _) => Use::Node(Self::value(*var)),
            PropAtom::Local(t, local) => {
                let template = property.threads[t.index()].template;
                Use::Node(firsts[template.index()] + local.index())
            }
            PropAtom::SelfOf(t) => {
                Use::Node(numbers + property.threads[t.index()].template.index())
            }
            PropAtom::At(..) => Use::Truth,
        };
        self.truth(&property.cond, property.span, &using);
    }

    /// All edges of a graph whose locals have their nodes from `first` on.
    fn graph(&mut self, template: TemplateId, cfg: &Cfg, first: usize, live: &[Vec<bool>]) {
        let count = self.program.template(template).locals.len();
        for edge in &cfg.edges {
            let before = first + edge.from.index() * count;
            let after = first + edge.to.index() * count;
            let live = &live[edge.to.index()];
            if let Step::Atomic(atomic) = &edge.step {
                self.block(template, &atomic.body, before, after, live);
                continue;
            }
            let written = edge.step.written_local();
            for local in (0..count).filter(|&l| live[l]) {
                if written != Some(LocalId::from(local)) {
                    self.unite(before + local, after + local);
                }
            }
            self.step(template, &edge.step, edge.span, before, after);
        }
    }

    fn block(
        &mut self,
        template: TemplateId,
        body: &Cfg,
        before: usize,
        after: usize,
        live: &[bool],
    ) {
        let count = live.len();
        let first = self.parent.len();
        for _ in 0..count * body.loc_count() {
            self.fresh();
        }
        let inside = inside_block(body, live);
        for local in 0..count {
            if inside[body.entry.index()][local] {
                self.unite(before + local, first + body.entry.index() * count + local);
            }
            if live[local] {
                self.unite(after + local, first + body.exit.index() * count + local);
            }
        }
        self.graph(template, body, first, &inside);
    }

    fn step(&mut self, template: TemplateId, step: &Step, span: Span, before: usize, after: usize) {
        let once = self.program.template(template).count == Count::Once;
        let number = self.number(template);
        let using = |atom: &LocalAtom| match atom {
            LocalAtom::Local(local) => Use::Node(before + local.index()),
            LocalAtom::SelfId if once => Use::Constant(0),
            LocalAtom::SelfId => Use::Node(number),
        };
        match step {
            Step::Skip | Step::Fence(_) => {}
            Step::Assume(e) | Step::Assert { cond: e, .. } => self.truth(e, span, &using),
            Step::Assign { dst, value } => {
                self.flow(value, after + dst.index(), span, &using);
            }
            Step::Havoc { dst, domain } => {
                let choice = (*domain, span);
                self.class(after + dst.index()).choices.push(choice);
            }
            Step::Load { dst, src } => {
                self.unite(after + dst.index(), Self::value(src.var));
                self.place(src, span, &using);
            }
            Step::Store { dst, value } => {
                self.flow(value, Self::value(dst.var), span, &using);
                self.place(dst, span, &using);
            }
            Step::Atomic(_) => {} // see `block`
            Step::Put { remote, local } | Step::Get { local, remote } => {
                self.unite(Self::value(remote.var), Self::value(local.var));
                self.place(remote, span, &using);
                self.place(local, span, &using);
            }
            Step::RemoteAtomic(atomic) => {
                // The network computes with the values of all its variables: none of
                // them may name a copy.
                for place in atomic.places() {
                    self.unite(Self::value(atomic.remote.var), Self::value(place.var));
                    self.place(place, span, &using);
                }
                for value in atomic.values() {
                    self.flow(value, Self::value(atomic.remote.var), span, &using);
                }
                self.class(Self::value(atomic.remote.var)).computed = Some(span);
            }
            Step::Flush(target) => {
                if let Some((template, copy)) = target.one_copy() {
                    let number = self.number(template);
                    self.flow(copy, number, span, &using);
                }
            }
        }
    }

    fn place(&mut self, place: &Place, span: Span, using: &impl Fn(&LocalAtom) -> Use) {
        if let Some(index) = &place.index {
            self.flow(index, Self::index(place.var), span, using);
        }
    }

    /// The value of `e` becomes a value of `node`.
    fn flow<A>(&mut self, e: &Expr<A>, node: usize, span: Span, using: &impl Fn(&A) -> Use) {
        match e {
            Expr::Const(c) => self.class(node).constants.push((*c, span)),
            Expr::Atom(a) => match using(a) {
                Use::Node(other) => self.unite(node, other),
                Use::Constant(c) => self.class(node).constants.push((c, span)),
                Use::Truth => self.class(node).computed = Some(span),
            },
            Expr::Cond(c, a, b) => {
                self.truth(c, span, using);
                self.flow(a, node, span, using);
                self.flow(b, node, span, using);
            }
            Expr::Unary(..) | Expr::Binary(..) => {
                self.class(node).computed = Some(span);
                self.number_of(e, span, using);
            }
        }
    }

    /// `e` is used as a truth value.
    fn truth<A>(&mut self, e: &Expr<A>, span: Span, using: &impl Fn(&A) -> Use) {
        match e {
            // `x` means `x != 0`.
            Expr::Atom(a) => {
                if let Use::Node(node) = using(a) {
                    self.class(node).constants.push((0, span));
                }
            }
            Expr::Const(_) | Expr::Unary(..) | Expr::Binary(..) => self.number_of(e, span, using),
            Expr::Cond(c, a, b) => {
                self.truth(c, span, using);
                self.truth(a, span, using);
                self.truth(b, span, using);
            }
        }
    }

    /// `e` is computed with.
    fn number_of<A>(&mut self, e: &Expr<A>, span: Span, using: &impl Fn(&A) -> Use) {
        match e {
            Expr::Const(_) => {}
            Expr::Atom(a) => {
                if let Use::Node(node) = using(a) {
                    self.class(node).computed = Some(span);
                }
            }
            Expr::Unary(UnOp::Not, a) => self.truth(a, span, using),
            Expr::Unary(UnOp::Neg | UnOp::BitNot | UnOp::Wrap { .. }, a) => {
                self.number_of(a, span, using);
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b, span, using),
            Expr::Cond(c, a, b) => {
                self.truth(c, span, using);
                self.number_of(a, span, using);
                self.number_of(b, span, using);
            }
        }
    }

    fn binary<A>(
        &mut self,
        op: BinOp,
        a: &Expr<A>,
        b: &Expr<A>,
        span: Span,
        using: &impl Fn(&A) -> Use,
    ) {
        match op {
            BinOp::Eq | BinOp::Ne => {
                let both = self.fresh();
                self.flow(a, both, span, using);
                self.flow(b, both, span, using);
            }
            BinOp::And | BinOp::Or => {
                self.truth(a, span, using);
                self.truth(b, span, using);
            }
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                if let Some((Expr::Atom(atom), c)) = threshold(op, a, b) {
                    if let Use::Node(node) = using(atom) {
                        self.class(node).thresholds.push((c, span));
                    }
                } else {
                    self.number_of(a, span, using);
                    self.number_of(b, span, using);
                }
            }
            BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Div
            | BinOp::Mod
            | BinOp::BitAnd
            | BinOp::BitOr
            | BinOp::BitXor
            | BinOp::Shl
            | BinOp::Shr => {
                self.number_of(a, span, using);
                self.number_of(b, span, using);
            }
        }
    }

    /// What is wrong with a class as names of `template`'s copies.
    fn trouble(&self, class: &Class, template: TemplateId) -> Option<Asymmetry> {
        let copies = match self.program.template(template).count {
            Count::Once => 1,
            Count::Fixed(n) => i64::from(n),
            Count::Any => i64::MAX,
        };
        let because = |span: Span, reason: &str| {
            Some(Asymmetry {
                reason: reason.to_owned(),
                span,
            })
        };
        if class.names.len() > 1 {
            let span = self.program.template(template).span;
            return because(span, "numbers of two templates are mixed");
        }
        if let Some(span) = class.computed {
            return because(span, "a thread's number is computed with or ordered");
        }
        let is_copy = |c: i64| (0..copies).contains(&c);
        if let Some((_, span)) = class.constants.iter().find(|(c, _)| is_copy(*c)) {
            return because(*span, "a constant names a certain copy");
        }
        let divides = |c: i64| 0 < c && c < copies;
        if let Some((_, span)) = class.thresholds.iter().find(|(c, _)| divides(*c)) {
            return because(*span, "a comparison orders copies");
        }
        let all = Domain {
            lo: 0,
            hi: copies - 1,
        };
        if let Some((_, span)) = class.choices.iter().find(|(d, _)| *d != Some(all)) {
            return because(*span, "a choice does not range over all copies");
        }
        let short = |var: &&GlobalId| (self.program.global(**var).cell_count() as i64) < copies;
        if let Some(var) = class.arrays.iter().find(short) {
            let span = self.program.global(*var).span;
            return because(span, "the array has no element for some copy");
        }
        None
    }

    fn finish(self) -> Symmetry {
        let program = self.program;
        let mut asymmetries = self.named.clone();
        for id in program.template_ids() {
            let template = program.template(id);
            if template.count == Count::Once {
                asymmetries[id.index()] = Some(Asymmetry {
                    reason: "it runs once".to_owned(),
                    span: template.span,
                });
            }
        }
        for (node, class) in self.classes.iter().enumerate() {
            if self.find(node) == node {
                for &id in &class.names {
                    if asymmetries[id.index()].is_none() {
                        asymmetries[id.index()] = self.trouble(class, id);
                    }
                }
            }
        }
        let of = |node: usize| {
            let names = &self.classes[self.find(node)].names;
            let symmetric = |id: &&TemplateId| asymmetries[id.index()].is_none();
            names.iter().find(symmetric).copied()
        };
        let locals = |id: TemplateId| {
            let template = program.template(id);
            let at = |loc| {
                let first = self.locals_at(id, loc);
                (first..first + template.locals.len()).map(of).collect()
            };
            template.cfg.locs().map(at).collect()
        };
        Symmetry {
            values: program.global_ids().map(|v| of(Self::value(v))).collect(),
            indices: program.global_ids().map(|v| of(Self::index(v))).collect(),
            locals: program.template_ids().map(locals).collect(),
            asymmetries: asymmetries.clone(),
        }
    }
}

/// An order comparison with a constant as `x < c`, up to negation.
fn threshold<'e, A>(op: BinOp, a: &'e Expr<A>, b: &'e Expr<A>) -> Option<(&'e Expr<A>, i64)> {
    let (x, c, op) = match (a, b) {
        (x, Expr::Const(c)) => (x, *c, op),
        (Expr::Const(c), x) => {
            let turned = [
                (BinOp::Lt, BinOp::Gt),
                (BinOp::Le, BinOp::Ge),
                (BinOp::Gt, BinOp::Lt),
                (BinOp::Ge, BinOp::Le),
            ];
            let (_, turned) = turned.into_iter().find(|(from, _)| *from == op)?;
            (x, *c, turned)
        }
        _ => return None,
    };
    if matches!(op, BinOp::Lt | BinOp::Ge) {
        return Some((x, c));
    }
    let is_strict = matches!(op, BinOp::Le | BinOp::Gt);
    is_strict.then(|| c.checked_add(1).map(|c| (x, c)))?
}
