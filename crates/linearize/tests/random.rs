//! Random programs over lists: what is proved has no violation in the runs that the search looks at,
//! and the other way round: no program with a wrong run is proved. `PALISADE_SOAK=n` tries n.

use std::fmt::Write;

use palisade_linearize::prove::{Interleaving, Options, prove};
use palisade_linearize::{Found, explore};
use palisade_program::Source;
use palisade_program::heap::Program;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    fn of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }

    fn local(&mut self) -> &'static str {
        self.of(&["a", "b"])
    }

    fn shared(&mut self) -> &'static str {
        self.of(&["x", "y"])
    }

    fn value(&mut self) -> &'static str {
        self.of(&["a", "b", "a", "b", "null"])
    }

    fn condition(&mut self) -> String {
        let op = self.of(&["==", "!="]);
        format!("{} {op} {}", self.local(), self.value())
    }

    /// A statement; in `init` there are no locks and blocks.
    fn statement(&mut self, depth: usize, init: bool) -> String {
        let (a, b, s, v) = (self.local(), self.local(), self.shared(), self.value());
        match self.below(14) {
            0 | 1 => format!("{a} = new node;"),
            2 | 3 => format!("{a} = {s};"),
            4 | 5 => format!("{s} = {v};"),
            6 => format!("if ({a} != null) {b} = {a}.next;"),
            7 => format!("if ({a} != null) {a}.next = {v};"),
            8 => format!("cas({s}, {v}, {});", self.value()),
            9 => format!("if ({a} != null) cas({a}.next, {v}, {});", self.value()),
            10 => format!("{a} = {v};"),
            11 => match self.below(4) {
                0 => format!("free({a});"),
                1 => format!("{b} = {a}.next;"),
                _ => format!("if ({a} != null) free({a});"),
            },
            12 if depth < 2 => {
                let (yes, no) = (self.block(depth + 1, init), self.block(depth + 1, init));
                format!("if ({}) {{ {yes} }} else {{ {no} }}", self.condition())
            }
            13 if depth == 0 && !init => {
                let inner = self.block(1, true);
                if self.below(2) == 0 {
                    format!("atomic {{ {inner} }}")
                } else {
                    format!("lock(l); {inner} unlock(l);")
                }
            }
            _ => format!("if ({}) {a} = {b};", self.condition()),
        }
    }

    fn block(&mut self, depth: usize, init: bool) -> String {
        let count = 1 + self.below(3);
        let all: Vec<String> = (0..count).map(|_| self.statement(depth, init)).collect();
        all.join(" ")
    }

    fn program(&mut self) -> String {
        let mut text =
            "spec none; circular struct node { node next; } shared node x, y; shared lock l;\n"
                .to_owned();
        let init = [self.block(0, true), self.block(0, true)].join(" ");
        writeln!(text, "init {{ node a, b; {init} }}").expect("a string");
        for m in 0..=self.below(2) {
            let body = [self.block(0, false), self.block(0, false)].join(" ");
            writeln!(text, "method m{m}() {{ node a, b; {body} }}").expect("a string");
        }
        let op = self.of(&["==", "!="]);
        let other = self.of(&["y", "null"]);
        if self.below(4) > 0 {
            writeln!(text, "never x {op} {other};").expect("a string");
        }
        text
    }
}

fn parsed(text: &str) -> Program {
    match palisade_frontend::heap::parse(Source::new("random.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{}\n{text}", errors.render(false)),
    }
}

#[test]
fn what_is_proved_has_no_wrong_run() {
    let soak = std::env::var("PALISADE_SOAK").ok();
    let count = soak.and_then(|count| count.parse().ok()).unwrap_or(100);
    let (mut proved, mut wrong, mut open, mut refused) = (0, 0, 0, 0);
    for seed in 0..count {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (seed + 1) << 20);
        random.below(2);
        let text = random.program();
        let program = parsed(&text);
        let bounds = palisade_linearize::Options {
            threads: 2,
            calls: 3,
            max_states: 20_000,
            check_cycles: false,
            ..palisade_linearize::Options::default()
        };
        let found = explore(&program, &bounds).unwrap_or_else(|no| panic!("{no}\n{text}"));
        let is_wrong = matches!(found.found, Found::Wrong(_));
        let options = Options {
            interleaving: [Interleaving::Full, Interleaving::Restricted][seed as usize % 2],
            max_structures: Some(800),
            ..Options::default()
        };
        match prove(&program, &options) {
            Ok(proof) if proof.holds() => {
                assert!(!is_wrong, "seed {seed} is proved, but not right:\n{text}");
                proved += 1;
            }
            // The runs themselves must not contradict the model.
            Ok(proof) => {
                let why = proof.reason.unwrap_or_default();
                assert!(!why.contains("defect"), "seed {seed}: {why}\n{text}");
                open += u32::from(!is_wrong);
            }
            Err(_) => refused += 1,
        }
        wrong += u32::from(is_wrong);
    }
    println!("{proved} proved, {wrong} wrong, {open} open, {refused} not supported");
    assert!(proved > 10 && wrong > 10);
}
