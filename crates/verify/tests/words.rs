//! Counters that wrap around, shifted. Random programs count modulo a few numbers, so that the machine without shifts sees
//! all of their states: shifted states, of the machine and of the checker, must come to the same verdict.

use palisade_arbitrary::counters;
use palisade_certify::{
    Certificate, Counters, Fingerprint, Kind, Reachable, Reason, Summary, check,
};
use palisade_frontend::pal;
use palisade_machine::explore;
use palisade_program::random::Rng;
use palisade_program::shift::Groups;
use palisade_program::{
    BinOp, Expr, Model, Orders, Program, Property, Source, Step, UnOp, Verdict,
};

fn soak(few: u64) -> u64 {
    let asked = std::env::var("PALISADE_SOAK").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// A type of words, and whether sums are wrapped to it by cases.
#[derive(Clone, Copy, Debug)]
struct Type {
    bits: u8,
    signed: bool,
    by_cases: bool,
}

impl Type {
    fn range(self) -> (i128, i128) {
        let round = 1_i128 << self.bits;
        if self.signed {
            (-round / 2, round / 2 - 1)
        } else {
            (0, round - 1)
        }
    }

    /// Every sum and difference is wrapped.
    fn expr<A: Clone + PartialEq>(self, e: &Expr<A>) -> Expr<A> {
        match e {
            Expr::Const(_) | Expr::Atom(_) => e.clone(),
            Expr::Unary(op, a) => Expr::Unary(*op, Box::new(self.expr(a))),
            Expr::Cond(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|e| Box::new(self.expr(e)));
                Expr::Cond(c, a, b)
            }
            Expr::Binary(op, a, b) => {
                let (x, y) = (self.interval(a), self.interval(b));
                let sum = Expr::binary(*op, self.expr(a), self.expr(b));
                let (bits, signed) = (self.bits, self.signed);
                let values = if *op == BinOp::Add {
                    (x.0 + y.0, x.1 + y.1)
                } else if *op == BinOp::Sub {
                    (x.0 - y.1, x.1 - y.0)
                } else {
                    return sum;
                };
                if self.by_cases {
                    sum.wrapped(values, bits, signed)
                } else {
                    Expr::unary(UnOp::Wrap { bits, signed }, sum)
                }
            }
        }
    }

    fn interval<A>(self, e: &Expr<A>) -> (i128, i128) {
        match e {
            Expr::Const(c) => (i128::from(*c), i128::from(*c)),
            Expr::Atom(_) | Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..) => self.range(),
        }
    }

    fn step(self, step: &mut Step) {
        match step {
            Step::Assume(e) | Step::Assert { cond: e, .. } => *e = self.expr(e),
            Step::Assign { value, .. } | Step::Store { value, .. } => *value = self.expr(value),
            Step::Atomic(atomic) => {
                for edge in &mut atomic.body.edges {
                    self.step(&mut edge.step);
                }
            }
            Step::Skip | Step::Fence(_) | Step::Havoc { .. } | Step::Load { .. } => {}
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {}
        }
    }

    /// The same program, whose numbers are words.
    fn of(self, mut program: Program) -> Program {
        for template in &mut program.templates {
            for edge in &mut template.cfg.edges {
                self.step(&mut edge.step);
            }
        }
        let worded = |p: &Property| Property {
            cond: self.expr(&p.cond),
            ..p.clone()
        };
        program.properties = program.properties.iter().map(worded).collect();
        program
    }
}

fn read(text: &str, orders: Orders) -> Program {
    match pal::parse_ordered(Source::new("words.pal", text), orders) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics:?}\n{text}"),
    }
}

fn explored(program: &Program, model: Model, shift: bool) -> Verdict {
    let options = palisade_machine::Options {
        shift,
        max_states: Some(200_000),
        workers: 1,
        ..palisade_machine::Options::new(model)
    };
    let exploration = explore(program, &options);
    exploration.expect("it has a meaning").verdict
}

/// Whether the check accepts; `None` if it cannot say.
fn accepted(program: &Program, model: Model, kind: Kind) -> Option<bool> {
    let fingerprint = Fingerprint::of(program, model, 2);
    let certificate = Certificate::empty(fingerprint, kind, model, 2);
    match check(program, &certificate, &palisade_certify::Options::default()) {
        Ok(_) => Some(true),
        Err(refusal) => match refusal.reason {
            Reason::Property(_) | Reason::Assertion | Reason::Race => Some(false),
            Reason::Unsupported(what) => {
                // Both accounts have the same rules.
                assert_ne!(what, "counters that are no group");
                None
            }
            _ => None,
        },
    }
}

const TYPES: [Type; 4] = [
    Type {
        bits: 3,
        signed: false,
        by_cases: false,
    },
    Type {
        bits: 4,
        signed: true,
        by_cases: false,
    },
    Type {
        bits: 8,
        signed: false,
        by_cases: true,
    },
    Type {
        bits: 8,
        signed: true,
        by_cases: true,
    },
];

#[test]
fn shifted_words_are_those_of_the_machine() {
    let (mut words, mut proved, mut refused) = (0, 0, 0);
    let count = soak(160);
    for seed in 0..count {
        let mut rng = Rng::new(seed);
        let of = *rng.pick(&TYPES);
        let text = counters::round(seed);
        let program = of.of(read(&text, Orders::Mapped));
        let groups = Groups::infer(&program).0;
        if groups.is_empty() {
            continue;
        }
        assert!(groups.iter().all(|g| g.width.is_some()), "{text}");
        words += 1;
        let model = [Model::Sc, Model::Tso, Model::Pso][seed as usize % 3];
        let context = format!("seed {seed}, {of:?}, {model}:\n{text}");
        let kind = Kind::Reachable(Reachable {
            most: 100_000,
            counters: Counters::Shifted,
        });
        let check = accepted(&program, model, kind);
        let holds = match explored(&program, model, false) {
            Verdict::Holds => true,
            Verdict::Violated(_) => false,
            Verdict::Unknown(_) => continue,
        };
        let shifted = explored(&program, model, true) == Verdict::Holds;
        assert_eq!(shifted, holds, "{context}");
        assert!(check.is_none_or(|check| check == holds), "{context}");
        proved += u64::from(check == Some(true));
        refused += u64::from(check == Some(false));
    }
    println!("{words} with words, {proved} proved, {refused} refused");
    assert!(words * 2 > count && proved * 8 > count && refused * 8 > count);
}

/// A thread of operations on `x` and `y`.
fn counting(rng: &mut Rng) -> String {
    let mut text = String::from("local a = 0;\nlocal b = 0;\n");
    for _ in 0..2 + rng.below(3) {
        let cell = *rng.pick(&["x", "y"]);
        let order = *rng.pick(&["relaxed", "acq_rel", "seq_cst"]);
        let plain = *rng.pick(&["relaxed", "seq_cst"]);
        let by = rng.below(3);
        let line = match rng.below(7) {
            0 | 1 => format!("a = fetch_add({cell}, {by}, {order});\n"),
            2 => format!("store({cell}, a + {by}, {plain});\n"),
            3 => format!("b = load({cell}, {plain});\n"),
            4 => format!("if (b - a > {by}) {{ b = a + 1; }}\n"),
            5 => format!("if (a == b + {by}) {{ a = b; }}\n"),
            _ => format!("if ((a + {by}) % 2 == 1) {{ a = b; }}\n"),
        };
        text += &line;
    }
    text + &format!("assert(b - a != {});\n", rng.below(5))
}

#[test]
fn shifted_words_are_those_of_the_machine_under_rc11() {
    let mut rng = Rng::new(77);
    let (mut words, mut right, mut wrong) = (0, 0, 0);
    for number in 0..soak(120) {
        let bodies = [counting(&mut rng), counting(&mut rng)];
        let of = Type {
            bits: 2 + rng.below(3) as u8,
            signed: false,
            by_cases: false,
        };
        let text = palisade_arbitrary::ordered::program_text(bodies.into_iter(), 2);
        let program = of.of(read(&text, Orders::Kept));
        words += u64::from(!Groups::infer(&program).0.is_empty());
        let context = format!("program {number}, {of:?}:\n{text}");
        let options = palisade_machine::Options {
            buffer: None,
            shortest: false,
            workers: 1,
            partial_order: false,
            ..palisade_machine::Options::new(Model::Rc11)
        };
        let exact = explore(&program, &options).expect("it has a meaning");
        let holds = exact.verdict == Verdict::Holds;
        for (messages, prompt) in [(64, false), (1, false), (64, true), (2, true)] {
            let kind = Kind::Histories(Summary {
                messages,
                carried: messages == 2,
                events: messages,
                shifted: true,
                prompt,
                many: false,
            });
            let check = accepted(&program, Model::Rc11, kind);
            assert!(
                holds || check != Some(true),
                "{messages}, {prompt}, {context}"
            );
            assert!(messages < 64 || check == Some(holds), "{prompt}, {context}");
        }
        right += u64::from(holds);
        wrong += u64::from(!holds);
    }
    println!("{words} with words, {right} right, {wrong} wrong");
    assert!(
        words > 20 && right > 20 && wrong > 20,
        "{words} {right} {wrong}"
    );
}

/// A ring whose accesses have memory orders, which may be too weak.
fn ordered_round(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut order = |wanted: &'static str| {
        if rng.chance(85) { wanted } else { "relaxed" }
    };
    let mut text = String::new();
    for line in counters::round(seed).lines() {
        if line.starts_with("never") || line.contains("fence(ss)") {
            continue;
        }
        let mut line = line.to_owned();
        for (local, counter) in [("p", "x"), ("q", "y")] {
            let load = format!("{local} = {counter};");
            let ordered = format!("{local} = load({counter}, {});", order("acquire"));
            line = line.replace(&load, &ordered);
            let store = format!(" {counter} = {local} + ");
            if let Some(at) = line.find(&store) {
                let by = line[at + store.len()..].trim_end_matches(';');
                line = format!("store({counter}, {local} + {by}, {});", order("release"));
            }
            if line.contains(&format!("cas({counter}")) {
                line = line.replace(");", &format!(", {});", order("acq_rel")));
            }
        }
        text += &line;
        text.push('\n');
    }
    text
}

#[test]
fn words_without_end_under_rc11() {
    let (mut proved, mut wrong) = (0, 0);
    for seed in 0..soak(60) {
        let of = TYPES[seed as usize % TYPES.len()];
        let text = ordered_round(seed);
        let program = of.of(read(&text, Orders::Kept));
        if Groups::infer(&program).0.is_empty() {
            continue;
        }
        let options = palisade_machine::Options {
            buffer: Some(6),
            max_states: Some(4_000),
            workers: 1,
            ..palisade_machine::Options::new(Model::Rc11)
        };
        let exact = explore(&program, &options).expect("it has a meaning");
        let is_wrong = matches!(exact.verdict, Verdict::Violated(_));
        wrong += u64::from(is_wrong);
        for (messages, prompt) in [(1, false), (2, false), (1, true)] {
            let kind = Kind::Histories(Summary {
                messages,
                carried: prompt,
                events: messages,
                shifted: true,
                prompt,
                many: false,
            });
            let check = accepted(&program, Model::Rc11, kind);
            let context = format!("seed {seed}, {of:?}, {messages}, {prompt}:\n{text}");
            assert!(!(is_wrong && check == Some(true)), "{context}");
            proved += u64::from(check == Some(true));
        }
    }
    println!("{proved} proved, {wrong} wrong");
    assert!(proved > 5 && wrong > 20, "{proved} {wrong}");
}

/// How many groups of words an unsigned ring of 8 bits has, where one thing is changed.
fn words_of(right: &str, wrong: &str, of: Type) -> usize {
    let text = "
        shared x = 0;
        shared y = 0;
        shared slot[2] = 0;
        thread p {
            local p = 0;
            local q = 0;
            while (1) { p = x; q = y; if (p - q < 2) { slot[p % 2] = 1; x = p + 1; } }
        }
        thread c {
            local p = 0;
            local q = 0;
            while (1) { p = x; q = y; if (p != q) { slot[q % 2] = 0; y = q + 1; } }
        }
    ";
    assert!(text.contains(right), "{right}");
    let program = of.of(read(&text.replace(right, wrong), Orders::Mapped));
    let kind = Kind::Reachable(Reachable {
        most: 1 << 20,
        counters: Counters::Shifted,
    });
    // The account of the checker agrees.
    assert!(accepted(&program, Model::Sc, kind).is_some());
    let groups = Groups::infer(&program).0;
    assert!(groups.iter().all(|g| g.width.is_some()));
    groups.iter().map(|g| g.globals.len()).sum()
}

#[test]
fn what_is_no_word_is_not_shifted() {
    let [_, _, byte, signed] = TYPES;
    assert_eq!(words_of("p != q", "p != q", byte), 2);
    assert_eq!(words_of("p != q", "p != q", signed), 2);
    // An order, a remainder that does not divide 256, a product, a number.
    for (right, wrong) in [
        ("p != q", "p > q"),
        ("p != q", "p != q && p < 100"),
        ("q % 2", "q % 3 % 2"),
        ("x = p + 1", "x = p * 3"),
        ("x = p + 1", "x = 7"),
        ("shared x = 0", "shared x = 300"),
    ] {
        assert_eq!(words_of(right, wrong, byte), 0, "{wrong}");
    }
}
