//! Small random programs: two or three threads over small values, with loads,
//! stores, both fences, atomic blocks, arrays, `self`, loops, `choose`.

use super::build::*;
use palisade_program::*;

/// A small generator of numbers: the tests need no quality, only the same
/// numbers on every machine.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Global 0 and 1 are scalars, 2 is an array of two; each thread has the
/// locals `r` and `s`, which properties may read, and `u`, which none reads.
pub(crate) fn program_of(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let rng = &mut rng;
    if rng.chance(30) {
        return litmus(rng);
    }
    let first = match rng.below(4) {
        0 => {
            let domain = Some(Domain { lo: 0, hi: 1 });
            Global {
                domain,
                ..global("x", Init::Any)
            }
        }
        _ => global("x", Init::Value(0)),
    };
    let globals = vec![first, global("y", Init::Value(0)), array("a", &[0, 1])];
    let templates = if rng.chance(40) {
        let count = if rng.chance(50) {
            Count::Fixed(2)
        } else {
            Count::Any
        };
        vec![random_thread(rng, "t", count)]
    } else {
        vec![
            random_thread(rng, "left", Count::Once),
            random_thread(rng, "right", Count::Once),
        ]
    };
    let properties = (0..=rng.below(2))
        .map(|_| random_property(rng, &templates))
        .collect();
    program(globals, templates, properties)
}

fn random_thread(rng: &mut Rng, name: &str, count: Count) -> Template {
    let length = 2 + rng.below(4) as u32;
    let mut code = Vec::new();
    for at in 0..length {
        match rng.below(10) {
            0 => {
                // A branch, or a wait.
                let cond = random_cond(rng);
                let other = if rng.chance(60) {
                    at + 1
                } else {
                    rng.below(length as usize) as u32
                };
                code.push((at, assume(cond.clone()), at + 1));
                code.push((at, assume(cond.negate()), other));
            }
            1 => {
                code.push((at, random_step(rng), at + 1));
                code.push((at, random_step(rng), rng.below(length as usize + 1) as u32));
            }
            _ => code.push((at, random_step(rng), at + 1)),
        }
    }
    thread(name, count, &["r", "s", "u"], length + 1, code)
}

fn random_step(rng: &mut Rng) -> Step {
    match rng.below(25) {
        0..=5 => Step::Load {
            dst: LocalId(rng.below(2) as u32),
            src: random_place(rng),
        },
        6..=12 => Step::Store {
            dst: random_place(rng),
            value: random_value(rng),
        },
        13 => assign(rng.below(3) as u32, random_value(rng)),
        14 => Step::Fence(FenceKind::Full),
        15 | 16 => Step::Fence(FenceKind::StoreStore),
        17 => random_block(rng),
        18 => random_snapshot(rng),
        19 => Step::Havoc {
            dst: LocalId(rng.below(2) as u32),
            domain: Some(Domain { lo: 0, hi: 1 }),
        },
        20 => assert(random_cond(rng).or(bin(BinOp::Lt, r(0), k(2)))),
        21..=23 => assign(2, random_value(rng)),
        _ => Step::Skip,
    }
}

/// A block that only reads.
fn random_snapshot(rng: &mut Rng) -> Step {
    let load = |rng: &mut Rng, dst: u32| Step::Load {
        dst: LocalId(dst),
        src: random_place(rng),
    };
    let mut code = vec![(0, load(rng, 0), 1), (1, load(rng, 1), 2)];
    match rng.below(3) {
        0 => code.push((2, assume(random_cond(rng)), 3)),
        1 => {
            let cond = random_cond(rng);
            code.push((2, assume(cond.clone()), 3));
            code.push((2, assume(cond.negate()), 1));
        }
        _ => code.push((2, load(rng, 0), 3)),
    }
    block(AtomicKind::Read, 4, code)
}

fn random_block(rng: &mut Rng) -> Step {
    let inner = |rng: &mut Rng| loop {
        let step = random_step(rng);
        match step {
            Step::Fence(_) | Step::Atomic(_) => {}
            step => return step,
        }
    };
    match rng.below(4) {
        // Compare and swap.
        0 => atomic(
            4,
            vec![
                (
                    0,
                    Step::Load {
                        dst: LocalId(0),
                        src: random_place(rng),
                    },
                    1,
                ),
                (1, assume(bin(BinOp::Eq, r(0), k(0))), 2),
                (1, assume(bin(BinOp::Ne, r(0), k(0))), 3),
                (2, inner(rng), 3),
            ],
        ),
        // A loop inside.
        1 => atomic(
            3,
            vec![
                (
                    0,
                    Step::Havoc {
                        dst: LocalId(1),
                        domain: Some(Domain { lo: 0, hi: 1 }),
                    },
                    1,
                ),
                (1, assume(bin(BinOp::Eq, r(1), k(0))), 0),
                (1, assume(bin(BinOp::Ne, r(1), k(0))), 2),
            ],
        ),
        _ => atomic(
            4,
            vec![
                (0, inner(rng), 1),
                (1, assume(random_cond(rng)), 2),
                (2, inner(rng), 3),
            ],
        ),
    }
}

fn random_place(rng: &mut Rng) -> Place {
    match rng.below(5) {
        0 | 1 => Place::scalar(GlobalId(0)),
        2 | 3 => Place::scalar(GlobalId(1)),
        _ => {
            // Always in range.
            let index = match rng.below(3) {
                0 => Expr::Atom(LocalAtom::SelfId),
                1 => bin(BinOp::Mod, r(0), k(2)),
                _ => k(rng.below(2) as i64),
            };
            let var = GlobalId(2);
            let index = Some(index);
            let order = Order::Plain;
            Place { var, index, order }
        }
    }
}

fn random_value(rng: &mut Rng) -> LocalExpr {
    let local = r(rng.below(3) as u32);
    match rng.below(5) {
        0 => local,
        1 => bin(BinOp::Mod, bin(BinOp::Add, local, k(1)), k(3)),
        2 => bin(BinOp::Sub, k(1), bin(BinOp::Gt, local, k(0))),
        _ => k(rng.below(3) as i64),
    }
}

fn random_cond(rng: &mut Rng) -> LocalExpr {
    let ops = [BinOp::Eq, BinOp::Ne, BinOp::Lt, BinOp::Ge];
    let op = ops[rng.below(4)];
    let right = if rng.chance(30) {
        r(1)
    } else {
        k(rng.below(3) as i64)
    };
    bin(op, r(0), right)
}

fn random_property(rng: &mut Rng, templates: &[Template]) -> Property {
    let threads = if templates.len() == 2 {
        vec![only(0), only(1)]
    } else {
        vec![any(0, 1), any(0, 2)]
    };
    let exit = templates[0].cfg.exit.0;
    let atom = |rng: &mut Rng| match rng.below(5) {
        0 => mem(rng.below(2) as u32),
        1 => Expr::Atom(PropAtom::Global(GlobalId(2), Some(rng.below(2) as u32))),
        _ => prop_local(rng.below(2) as u32, rng.below(2) as u32),
    };
    let a = pbin(BinOp::Eq, atom(rng), Expr::Const(rng.below(2) as i64));
    let b = pbin(BinOp::Eq, atom(rng), Expr::Const(rng.below(2) as i64));
    let other = if rng.chance(50) { b } else { Expr::TRUE };
    if rng.chance(50) {
        finally(threads, pbin(BinOp::Or, a.negate(), other.negate()))
    } else {
        let place = at(
            rng.below(2) as u32,
            exit.saturating_sub(rng.below(3) as u32),
        );
        never(threads, pbin(BinOp::And, pbin(BinOp::And, a, other), place))
    }
}

/// The shapes in which the models differ, with a random step put in: store
/// buffering (seen under TSO and PSO) and message passing (PSO only).
fn litmus(rng: &mut Rng) -> Program {
    let fence = |rng: &mut Rng| match rng.below(6) {
        0 => Step::Fence(FenceKind::Full),
        1 => Step::Fence(FenceKind::StoreStore),
        2 => random_step(rng),
        3 => store(1, k(1)),
        _ => Step::Skip,
    };
    let buffering = rng.chance(50);
    let (left, right) = if buffering {
        (
            vec![
                (0, store(0, k(1)), 1),
                (1, fence(rng), 2),
                (2, load(0, 1), 3),
            ],
            vec![
                (0, store(1, k(1)), 1),
                (1, fence(rng), 2),
                (2, load(0, 0), 3),
            ],
        )
    } else {
        (
            vec![
                (0, store(0, k(1)), 1),
                (1, fence(rng), 2),
                (2, store(1, k(1)), 3),
            ],
            vec![(0, load(0, 1), 1), (1, fence(rng), 2), (2, load(1, 0), 3)],
        )
    };
    let bad = if buffering {
        let r = |t| pbin(BinOp::Eq, prop_local(t, 0), Expr::Const(0));
        pbin(BinOp::And, r(0), r(1))
    } else {
        let seen = pbin(BinOp::Eq, prop_local(1, 0), Expr::Const(1));
        pbin(
            BinOp::And,
            seen,
            pbin(BinOp::Eq, prop_local(1, 1), Expr::Const(0)),
        )
    };
    let globals = vec![
        global("x", Init::Value(0)),
        global("y", Init::Value(0)),
        array("a", &[0, 1]),
    ];
    let templates = vec![
        thread("left", Count::Once, &["r", "s", "u"], 4, left),
        thread("right", Count::Once, &["r", "s", "u"], 4, right),
    ];
    let ended = finally(vec![only(0), only(1)], bad.negate());
    program(globals, templates, vec![ended])
}

/// Threads that load, store, lock and wait for values; their locals are seen by assertions
/// at their ends only.
pub(crate) fn waiting_of(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let rng = &mut rng;
    let names = ["x", "y", "z", "m"];
    let globals = names.map(|name| global(name, Init::Value(0))).to_vec();
    let threads = ["left", "middle", "right"];
    let count = 2 + rng.below(2);
    let templates = threads[..count]
        .iter()
        .map(|name| waiting_thread(rng, name, 5 - count as u32));
    let templates = templates.collect();
    let last = pbin(BinOp::Ne, mem(0), PropExpr::Const(rng.below(3) as i64));
    program(globals, templates, vec![finally(Vec::new(), last)])
}

fn waiting_thread(rng: &mut Rng, name: &str, most: u32) -> Template {
    let length = 2 + rng.below(most as usize + 1) as u32;
    let code = (0..length).map(|at| (at, waiting_step(rng), at + 1));
    let mut code: Vec<_> = code.collect();
    let last = assert(random_cond(rng).or(random_cond(rng)));
    code.push((length, last, length + 1));
    thread(name, Count::Once, &["r", "s", "u"], length + 2, code)
}

fn waiting_step(rng: &mut Rng) -> Step {
    let (var, local, value) = (
        rng.below(3) as u32,
        rng.below(2) as u32,
        rng.below(2) as i64,
    );
    let is = |id: u32, value: i64| bin(BinOp::Eq, r(id), k(value));
    match rng.below(12) {
        0..=3 => load(local, var),
        4..=6 => store(var, k(1 + value)),
        7 => store(var, bin(BinOp::Add, r(local), k(1))),
        8 => assume(is(local, value)),
        9 => assume(bin(BinOp::And, is(0, value), is(1, 1))),
        10 => {
            let wait = vec![
                (0, load(2, 3), 1),
                (1, assume(is(2, 0)), 2),
                (2, store(3, k(1)), 3),
            ];
            atomic(4, wait)
        }
        _ => store(3, k(0)),
    }
}
