//! Laws of the strategies on random branches: every strategy over-approximates
//! the exact post (brute force over a box of integers), and with cubes of any size
//! `enumerate`, `cores` and `lazy` say the same.

use palisade_abstraction::command::{Branch, BranchId, Commands, End};
use palisade_abstraction::lazy::Lazy;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_abstraction::tables::Tables;
use palisade_abstraction::transformer::Transformer;
use palisade_abstraction::valuation::Valuation;
use palisade_logic::{Assignment, Formula, Options, Prover, Relation, Term, Var};
use palisade_program::cfg::local;
use palisade_program::{
    AssertKind, BinOp, CfgBuilder, Count, Expr, Global, GlobalId, Init, Local, LocalExpr, LocalId,
    Origin, Pick, Place, Program, PropAtom, Property, PropertyKind, Role, Source, Span, Step,
    Template, TemplateId, ThreadVar, ThreadVarId,
};

/// Values of the box: variables before the step and what `*` chooses.
const BOX: std::ops::RangeInclusive<i128> = -2..=2;
/// Slots: x, y, r, s.
const SLOTS: usize = 4;

/// A small generator of numbers, so that a failure can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    fn constant(&mut self) -> i64 {
        self.below(4) as i64 - 1
    }

    fn local_expr(&mut self) -> LocalExpr {
        let r = local(LocalId(self.below(2) as u32));
        match self.below(4) {
            0 => Expr::Const(self.constant()),
            1 => r,
            2 => Expr::binary(BinOp::Add, r, Expr::Const(self.constant())),
            _ => Expr::binary(BinOp::Sub, local(LocalId(0)), local(LocalId(1))),
        }
    }

    fn condition(&mut self) -> LocalExpr {
        let op = [BinOp::Eq, BinOp::Ne, BinOp::Lt, BinOp::Le][self.below(4) as usize];
        let both = Expr::binary(op, self.local_expr(), self.local_expr());
        match self.below(4) {
            0 => both.and(Expr::binary(BinOp::Le, local(LocalId(0)), Expr::Const(1))),
            1 => both.or(Expr::binary(BinOp::Eq, local(LocalId(1)), Expr::Const(0))),
            _ => both,
        }
    }

    fn step(&mut self) -> Step {
        let var = GlobalId(self.below(2) as u32);
        let dst = LocalId(self.below(2) as u32);
        match self.below(6) {
            0 => Step::Assume(self.condition()),
            1 => Step::Assign {
                dst,
                value: self.local_expr(),
            },
            2 => Step::Havoc { dst, domain: None },
            3 => Step::Load {
                dst,
                src: Place::scalar(var),
            },
            4 => Step::Store {
                dst: Place::scalar(var),
                value: self.local_expr(),
            },
            _ => Step::Assert {
                cond: self.condition(),
                kind: AssertKind::User,
            },
        }
    }

    /// A conjunction of several steps as one atomic block, or one step.
    fn program(&mut self) -> Program {
        let mut b = CfgBuilder::new();
        let (entry, exit) = (b.loc(), b.loc());
        if self.below(3) == 0 {
            let mut inner = CfgBuilder::new();
            let (start, middle, end) = (inner.loc(), inner.loc(), inner.loc());
            inner.edge(start, self.step(), middle, Span::default());
            inner.edge(middle, self.step(), end, Span::default());
            let body = inner.finish(start, end).0;
            let kind = palisade_program::AtomicKind::Block;
            let atomic = Box::new(palisade_program::Atomic { kind, body });
            b.edge(entry, Step::Atomic(atomic), exit, Span::default());
        } else {
            b.edge(entry, self.step(), exit, Span::default());
        }
        let cfg = b.finish(entry, exit).0;
        program(cfg, self.flip())
    }

    fn atom(&mut self) -> Option<palisade_logic::Atom> {
        let a = Term::var(Var(self.below(SLOTS as u64) as u32));
        let mut term = match self.below(3) {
            0 => a,
            1 => a
                .minus(&Term::var(Var(self.below(SLOTS as u64) as u32)))
                .ok()?,
            _ => a
                .plus(&Term::var(Var(self.below(SLOTS as u64) as u32)))
                .ok()?,
        };
        term = term.plus_constant(i128::from(self.below(4)) - 2).ok()?;
        let relation = if self.flip() {
            Relation::Le
        } else {
            Relation::Eq
        };
        let formula = Formula::compare(&term, relation).ok()?;
        formula.atoms().into_iter().next()
    }
}

fn local_var(name: &str) -> Local {
    Local {
        name: name.to_owned(),
        init: Init::Any,
        domain: None,
        role: Role::Data,
        origin: Origin::User,
        span: Span::default(),
    }
}

fn global(name: &str) -> Global {
    Global {
        name: name.to_owned(),
        len: None,
        init: vec![Init::Any],
        domain: None,
        role: Role::Data,
        home: None,
        span: Span::default(),
    }
}

/// One thread over x, y, r, s; `observed` keeps s alive at the end.
fn program(cfg: palisade_program::Cfg, observed: bool) -> Program {
    let threads = vec![ThreadVar {
        template: TemplateId(0),
        pick: Pick::Only,
    }];
    let locals: &[LocalId] = if observed {
        &[LocalId(0), LocalId(1)]
    } else {
        &[LocalId(0)]
    };
    let properties = locals.iter().map(|id| Property {
        kind: PropertyKind::Finally,
        threads: threads.clone(),
        cond: Expr::binary(
            BinOp::Eq,
            Expr::Atom(PropAtom::Local(ThreadVarId(0), *id)),
            Expr::Const(0),
        ),
        span: Span::default(),
    });
    Program {
        source: Source::default(),
        globals: vec![global("x"), global("y")],
        templates: vec![Template {
            name: "t".to_owned(),
            count: Count::Once,
            is_process: false,
            locals: vec![local_var("r"), local_var("s")],
            cfg,
            labels: vec![],
            life: palisade_program::Life::default(),
            span: Span::default(),
        }],
        properties: properties.collect(),
        ..Program::default()
    }
}

/// All assignments of the slots, and of one fresh variable, in the box.
fn points(fresh: bool) -> Vec<Assignment> {
    let count = SLOTS + usize::from(fresh);
    let mut all = vec![Assignment::default()];
    for var in 0..count {
        all = all
            .iter()
            .flat_map(|point| {
                BOX.map(|value| {
                    let mut next = point.clone();
                    next.set(Var(var as u32), value);
                    next
                })
            })
            .collect();
    }
    all
}

fn satisfies(predicates: &Predicates, state: &Valuation, point: &Assignment) -> bool {
    let holds = |p| predicates.formula(p, true).eval(point) == Ok(true);
    state.known().all(|(p, value)| holds(p) == value)
}

/// What a few random points have in common: a valuation with a concrete state.
fn common(random: &mut Random, predicates: &Predicates, points: &[Assignment]) -> Valuation {
    let exact = |point: &Assignment| {
        let mut exact = Valuation::unknown(predicates.len());
        for p in 0..predicates.len() {
            exact.set(p, predicates.formula(p, true).eval(point).ok());
        }
        exact
    };
    let mut pick = || exact(&points[random.below(points.len() as u64) as usize]);
    let (first, second) = (pick(), pick());
    if random.flip() {
        first.join(&second)
    } else {
        first
    }
}

fn successor(branch: &Branch, point: &Assignment) -> Assignment {
    let value = |var: Var| match branch.updates.get(var) {
        Some(term) => term.eval(point).expect("small numbers"),
        None => point.value(var),
    };
    (0..SLOTS)
        .map(|v| (Var(v as u32), value(Var(v as u32))))
        .collect()
}

/// The points of `state` that pass the guard.
fn passing<'p>(
    predicates: &Predicates,
    branch: &Branch,
    state: &Valuation,
    points: &'p [Assignment],
) -> Vec<&'p Assignment> {
    let passes =
        |p: &&Assignment| satisfies(predicates, state, p) && branch.guard.eval(p) == Ok(true);
    points.iter().filter(passes).collect()
}

fn assert_covers(
    name: &str,
    predicates: &Predicates,
    branch: &Branch,
    posts: &[Valuation],
    passing: &[&Assignment],
) {
    for point in passing {
        if let End::Failed(_) = branch.end {
            assert!(!posts.is_empty(), "{name} misses a failing assertion");
            continue;
        }
        // Forgotten variables may have any value: the posts must not speak of them.
        let after = successor(branch, point);
        assert!(
            posts.iter().any(|post| satisfies(predicates, post, &after)),
            "{name} misses a successor: {branch:?} from {point:?} to {posts:?}"
        );
    }
}

struct Counts {
    posts: usize,
    known: usize,
    split: usize,
}

fn check(seed: u64, count: &mut Counts) {
    let mut random = Random(seed);
    let program = random.program();
    let space = Space::new(&program, program.instances(1), false);
    let mut commands = Commands::new(&space);
    let control = space.initial_controls().remove(0);
    let edge = program.templates[0]
        .cfg
        .outgoing(program.templates[0].cfg.entry);
    let edge = edge.map(|(id, _)| id).next().expect("there is one edge");
    let ids = commands.execute(&control, 0, edge).expect("linear");
    let mut predicates = Predicates::default();
    for _ in 0..2 + random.below(4) {
        if let Some(atom) = random.atom() {
            let (p, _) = predicates.add(atom);
            if random.below(4) == 0 {
                predicates.mark_split(p);
            }
        }
    }
    for &id in ids.iter() {
        let branch = commands.branch(id).clone();
        check_branch(&mut random, &predicates, id, &branch, count);
    }
}

fn check_branch(
    random: &mut Random,
    predicates: &Predicates,
    id: BranchId,
    branch: &Branch,
    count: &mut Counts,
) {
    let points = points(branch.moves.iter().any(|m| !m.chosen.is_empty()));
    let [mut a, mut b, mut c, mut d] = [(); 4].map(|()| Prover::new(Options::default()));
    let mut lazy = Lazy::new(&mut a);
    let mut enumerate = Tables::enumerate(&mut b, None);
    let mut cores = Tables::cores(&mut c, None);
    let mut bounded = Tables::enumerate(&mut d, Some(1));
    for _ in 0..4 {
        let state = common(random, predicates, &points);
        let passing = passing(predicates, branch, &state, &points);
        let post = |name: &str, strategy: &mut dyn Transformer| {
            let posts = strategy
                .post(predicates, id, branch, &state)
                .expect("no limit");
            assert_covers(name, predicates, branch, &posts, &passing);
            posts
        };
        let by_lazy = post("lazy", &mut lazy);
        let by_size = post("enumerate", &mut enumerate);
        let by_cores = post("cores", &mut cores);
        let by_bounded = post("enumerate of size 1", &mut bounded);
        assert_eq!(by_size, by_cores, "{branch:?} from {state:?}");
        if !passing.is_empty() {
            assert_eq!(by_size, by_lazy, "{branch:?} from {state:?}");
            // A split where less is known assumes more for what comes after it.
            let covered = |post: &Valuation| by_bounded.iter().any(|b| b.covers(post));
            let split = predicates.split_count() > 0;
            assert!(
                split || by_size.iter().all(covered),
                "smaller cubes know less"
            );
        }
        count.posts += by_size.len();
        count.known += by_size.iter().map(|v| v.known().count()).sum::<usize>();
        count.split += usize::from(by_size.len() > 1);
    }
}

/// How many random branches; more with `PALISADE_SOAK`.
fn rounds() -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|n| n.parse().ok()).unwrap_or(300)
}

#[test]
fn strategies_over_approximate_and_agree() {
    let mut count = Counts {
        posts: 0,
        known: 0,
        split: 0,
    };
    for seed in 0..rounds() {
        check(seed, &mut count);
    }
    // The test must say something: most posts know something, some are split.
    assert!(
        count.known > count.posts && count.split > 20,
        "{} {}",
        count.known,
        count.split
    );
}

/// Cubes of two literals are needed to see that x < y and y < z give x < z.
#[test]
fn larger_cubes_know_more() {
    let less = |a, b| Formula::lt(&Term::var(Var(a)), &Term::var(Var(b))).expect("small");
    let mut predicates = Predicates::default();
    for (a, b) in [(0, 2), (2, 1), (0, 3), (1, 4), (5, 1)] {
        predicates.add(less(a, b).atoms().into_iter().next().expect("an atom"));
    }
    let formula = less(1, 0);
    let state = {
        let mut state = Valuation::unknown(5);
        for (p, f) in [(0, less(0, 2)), (1, less(2, 1))] {
            let positive = predicates.formula(p, true) == f;
            state.set(p, Some(positive));
        }
        state
    };
    let [mut a, mut b, mut c] = [(); 3].map(|()| Prover::new(Options::default()));
    let mut one = Tables::enumerate(&mut a, Some(1));
    let mut two = Tables::enumerate(&mut b, None);
    let mut cores = Tables::cores(&mut c, None);
    assert_eq!(one.may(&predicates, &formula, &state), Ok(true));
    assert_eq!(two.may(&predicates, &formula, &state), Ok(false));
    assert_eq!(cores.may(&predicates, &formula, &state), Ok(false));
    assert_eq!((two.stats().cubes, two.stats().largest), (1, 2));
    assert_eq!(cores.stats(), two.stats());
    let calls = |prover: &Prover| prover.stats().total_solver_calls() + prover.stats().total_hits();
    assert!(calls(&b) > 3 * calls(&c), "{} and {}", calls(&b), calls(&c));
}
