//! Boolean broadcast programs with many threads: counted threads against named ones,
//! any number against each number, on random programs and on known ones.

#![allow(clippy::option_option)] // too large to check; holds; violated
#![allow(clippy::format_push_string)] // speed does not matter here

use crate::plain;

use palisade_arbitrary::Rng;
use palisade_boolean::check::{Options, Stop, check};
use palisade_boolean::counted;
use palisade_boolean::cover::{self, Any};
use palisade_boolean::mixed::{Treatment, unsound};
use palisade_boolean::parse;
use palisade_boolean::resolve::{Resolved, resolve};
use palisade_boolean::ternary;
use palisade_logic::Limits;
use palisade_program::Verdict;

fn resolved(text: &str) -> Resolved {
    let program = parse(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    resolve(&program).unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

fn options(threads: u32) -> Options {
    Options {
        threads,
        max_states: Some(4_000),
        merge: false,
        limits: Limits::default(),
    }
}

/// Steps of the shortest violation with named threads; `None` if too large.
fn named(program: &Resolved, threads: u32) -> Option<Option<usize>> {
    match plain::Checker::new(program, &options(threads)).run() {
        Ok(plain::Outcome::Safe) => Some(None),
        Ok(plain::Outcome::Violated(steps)) => Some(Some(steps)),
        Err(Stop::States(_) | Stop::Choices(_)) => None,
        Err(stop) => panic!("{stop:?}"),
    }
}

fn count(program: &Resolved, threads: u32) -> Option<Option<usize>> {
    match counted::Checker::new(program, &options(threads)).run() {
        Ok(counted::Outcome::Safe) => Some(None),
        Ok(counted::Outcome::Violated(run)) => Some(Some(run.steps.len())),
        Err(Stop::States(_) | Stop::Choices(_)) => None,
        Err(stop) => panic!("{stop:?}"),
    }
}

/// The smallest number of threads that violates; `None` if none does.
fn any(program: &Resolved) -> Option<Option<u32>> {
    within(program, None)
}

/// The same among numbers up to a limit.
fn within(program: &Resolved, limit: Option<u32>) -> Option<Option<u32>> {
    match cover::check(program, &options(0), limit).0 {
        Ok(Any::Safe) => Some(None),
        Ok(Any::Violated(threads, _)) => Some(Some(threads)),
        Err(Stop::States(_) | Stop::Choices(_)) => None,
        Err(stop) => panic!("{stop:?}"),
    }
}

/// Random programs: small, with broadcasts, constraints and several kinds of threads.
struct Random(Rng);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        let &chosen = self.0.pick(list);
        chosen
    }

    fn expr(&mut self, names: &[&str], depth: u32) -> String {
        match self.below(if depth == 0 { 3 } else { 8 }) {
            0 => self.pick(&["0", "1", "*"]).to_owned(),
            1 | 2 => self.pick(names).to_owned(),
            3 => format!("!({})", self.expr(names, depth - 1)),
            4 => {
                let (a, b) = (self.expr(names, depth - 1), self.expr(names, depth - 1));
                format!("choose({a}, {b})")
            }
            _ => {
                let op = self.pick(&["&&", "||", "^", "=="]);
                let (a, b) = (self.expr(names, depth - 1), self.expr(names, depth - 1));
                format!("(({a}) {op} ({b}))")
            }
        }
    }

    fn statement(&mut self, own: &[&str], labels: usize) -> String {
        match self.below(9) {
            0 => format!("assume {};", self.expr(own, 1)),
            1 => format!(
                "goto {}, {};",
                1 + self.below(labels),
                1 + self.below(labels)
            ),
            2 => {
                let literal = |r: &mut Self| format!("{}{}", r.pick(&["", "!"]), r.pick(own));
                let all = [literal(self), literal(self), literal(self)].join(" && ");
                format!("assert !({all});")
            }
            3 => {
                let target = self.pick(own);
                format!(
                    "{target} = {} constrain {};",
                    self.expr(own, 1),
                    self.expr(own, 1)
                )
            }
            4 | 5 => {
                let passive: Vec<&str> = own.iter().copied().chain(["[l]", "[m]"]).collect();
                let target = self.pick(own);
                let value = self.expr(own, 1);
                let told = self.pick(&["[l]", "[m]"]);
                format!("{target}, {told} = {value}, {};", self.expr(&passive, 2))
            }
            _ => {
                let target = self.pick(own);
                format!("{target} = {};", self.expr(own, 2))
            }
        }
    }

    fn body(&mut self, own: &[&str]) -> String {
        let count = 3 + self.below(3);
        let mut text = String::new();
        for k in 1..=count {
            let statement = self.statement(own, count);
            text += &format!("{k}: {statement}\n");
        }
        text
    }

    fn program(&mut self) -> String {
        let own = ["s", "t", "l", "m"];
        let many = self.body(&own);
        let init = |r: &mut Self| r.pick(&["0", "1", "*"]).to_owned();
        let mut text = format!("shared s = {}, t = 0;\n", init(self));
        let locals = format!("local l = {}, m = 0;\n", init(self));
        text += &format!("thread many[*] {{\n{locals}{many}}}\n");
        if self.below(3) == 0 {
            let once = self
                .body(&own)
                .replace("[l]", "[many.l]")
                .replace("[m]", "[many.m]");
            let copies = self.pick(&["", "[2]"]);
            text += &format!("thread few{copies} {{\n{locals}{once}}}\n");
            if copies.is_empty() {
                text += "never few@3 && s && t;\n";
            }
        }
        text
    }
}

fn rounds() -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    120 * soak.and_then(|s| s.parse().ok()).unwrap_or(1)
}

#[test]
fn counted_threads_agree_with_named_ones_and_any_number_with_each() {
    let mut random = Random(Rng::new(0x5a7a));
    let (mut safe, mut bad, mut late, mut limited) = (0, 0, 0, 0);
    for _ in 0..rounds() {
        let text = random.program();
        let program = resolved(&text);
        let mut smallest = None;
        for threads in 1..=4 {
            let Some(found) = count(&program, threads) else {
                continue;
            };
            if threads <= 3
                && let Some(named) = named(&program, threads)
            {
                assert_eq!(named, found, "{threads} threads\n{text}");
            }
            if found.is_some() && smallest.is_none() {
                smallest = Some(threads);
            }
            if let Some(within) = within(&program, Some(threads)) {
                assert_eq!(within, smallest, "at most {threads} threads\n{text}");
                limited += 1;
            }
        }
        let Some(any) = any(&program) else {
            continue;
        };
        match (any, smallest) {
            (None, None) => safe += 1,
            (Some(n), None) => assert!(n > 4, "any: {n} threads\n{text}"),
            (found, Some(_)) => {
                assert_eq!(found, smallest, "any against each\n{text}");
                bad += 1;
                late += u64::from(smallest > Some(1));
            }
        }
    }
    assert!(safe > rounds() / 30, "{safe} safe programs only");
    assert!(limited > rounds(), "{limited} searches with a limit only");
    assert!(
        bad > rounds() / 30,
        "{bad} violated, {late} by several threads"
    );
}

/// What the 3-valued search proves holds; where it finds a path, the verdict is that of the
/// exact search, and its run is shortest.
#[test]
fn three_valued_states_agree_with_named_threads() {
    let mut random = Random(Rng::new(0x3a7));
    let (mut proved, mut followed, mut spurious) = (0, 0, 0);
    for round in 0..5 * rounds() {
        let text = random.program();
        let program = resolved(&text);
        let source = palisade_program::Source::new("random.bp", text.as_str());
        for threads in 1..=3 {
            let Some(exact) = named(&program, threads) else {
                continue;
            };
            for merge in [false, true] {
                let options = Options {
                    merge,
                    ..options(threads)
                };
                let Ok(path) = ternary::Search::new(&program, &options).run() else {
                    continue;
                };
                match (&path, exact) {
                    (None, None) => proved += 1,
                    (None, Some(_)) => panic!("round {round}, {threads} threads\n{text}"),
                    (Some(path), Some(steps)) if !merge => {
                        assert!(path.steps.len() <= steps, "{threads} threads\n{text}");
                        followed += 1;
                    }
                    (Some(_), Some(_)) => {}
                    (Some(_), None) => spurious += 1,
                }
                let found = check(&program, &source, false, &options).verdict;
                let steps = match found {
                    Verdict::Holds => None,
                    Verdict::Violated(violation) => Some(violation.trace.steps.len()),
                    Verdict::Unknown(why) => panic!("{why}\n{text}"),
                };
                if merge {
                    assert_eq!(steps.is_some(), exact.is_some(), "merged\n{text}");
                } else {
                    assert_eq!(steps, exact, "{threads} threads\n{text}");
                }
            }
        }
    }
    assert!(
        proved > rounds() / 3 && followed > rounds() / 3 && spurious > 0,
        "{proved} proved, {followed} followed, {spurious} paths that are no runs"
    );
}

/// Unknown values need no case each: thirty variables of any value are one state.
#[test]
fn what_is_unknown_is_one_state() {
    let names: Vec<String> = (0..30).map(|i| format!("a{i}")).collect();
    let any = names.join(" = *, ");
    let all = vec!["*"; 30].join(", ");
    let text = format!(
        "shared {any} = *;\n1: {} = {all};\n2: assume a3 && !a4;\n3: a5 = a4 || !a3;\n\
         4: assert !a5 && (a3 || a7);\n5: goto 1;\n",
        names.join(", ")
    );
    let source = palisade_program::Source::new("unknown.bp", text.as_str());
    let found = check(&resolved(&text), &source, false, &options(1));
    assert_eq!(found.verdict, Verdict::Holds);
    assert_eq!(found.states, 4);
}

/// A lock: proved for any number of threads; without `constrain` two break it.
#[test]
fn a_lock_for_any_number_of_threads() {
    let lock = "shared taken = 0, inside = 0;\n1: taken = 1 constrain !taken;\n\
                2: assert !inside;\n3: inside = 1;\n4: inside = 0;\n5: taken = 0;\n6: goto 1;\n";
    assert_eq!(any(&resolved(lock)), Some(None));
    assert_eq!(count(&resolved(lock), 200), Some(None));
    let broken = lock.replace(" constrain !taken", "");
    assert_eq!(any(&resolved(&broken)), Some(Some(2)));
}

/// A violation that needs three threads at once: each passes one gate.
#[test]
fn the_smallest_number_of_threads_is_found() {
    let gates = "shared a = 0, b = 0;\nlocal l = 0;\n\
                 1: goto 2, 5, 8;\n\
                 2: a = 1;\n3: assume 0;\n4: skip;\n\
                 5: assume a;\n6: b = 1;\n7: assume 0;\n\
                 8: assume a && b;\n9: assert 0;\n";
    assert_eq!(any(&resolved(gates)), Some(Some(3)));
    assert_eq!(count(&resolved(gates), 2), Some(None));
}

/// A hundred threads cost what the violation needs, not what their states are: counted, twenty
/// of them have millions. The violation of the second program needs six.
#[test]
fn a_hundred_threads_are_no_more_than_a_violation_needs() {
    let ask = |text: &str, threads| {
        let source = palisade_program::Source::new("many.bp", text);
        let options = Options {
            threads,
            max_states: None,
            merge: false,
            limits: Limits::default(),
        };
        check(&resolved(text), &source, false, &options)
    };
    // P'' of [Donaldson et al., CAV 2011]: r == 0, first == 0, s == l.
    let only_one = "shared r = 1;\nlocal f = 1, b = 1;\n\
                    1: f, r = r, 0;\n2: goto 3, 6;\n3: assume f;\n\
                    4: b, [b] = b, choose(0, [b]);\n5: assert b;\n7: goto 4;\n6: assume !f;\n";
    let holds = ask(only_one, 100);
    assert_eq!(holds.verdict, Verdict::Holds);
    assert!(
        holds.summary.starts_with("100 threads, "),
        "{}",
        holds.summary
    );
    let twin = only_one.replace("f, r = r, 0", "f, r = r, *");
    let violated = ask(&twin, 100);
    assert!(matches!(violated.verdict, Verdict::Violated(_)));
    assert!(
        violated.summary.starts_with("2 of 100 threads, "),
        "{}",
        violated.summary
    );
    // Six gates: each thread passes one, and the last needs all of them.
    let mut gates =
        "shared a = 0, b = 0, c = 0, d = 0, e = 0;\n1: goto 2, 4, 6, 8, 10, 12;\n".to_owned();
    for (k, gate) in ["a", "b", "c", "d", "e"].iter().enumerate() {
        gates += &format!("{}: {gate} = 1;\n{}: assume 0;\n", 2 * k + 2, 2 * k + 3);
    }
    gates += "12: assume a && b && c && d && e;\n13: assert 0;\n";
    assert_eq!(within(&resolved(&gates), Some(5)), Some(None));
    assert_eq!(within(&resolved(&gates), Some(6)), Some(Some(6)));
    assert!(ask(&gates, 100).summary.starts_with("6 of 100 threads, "));
}

/// The state count grows with the number of different local states, not of threads.
#[test]
fn counting_keeps_states_few() {
    let text = "shared s = 0;\nlocal l = 0;\n1: l = 1;\n2: s = !s;\n3: assert l;\n";
    let program = resolved(text);
    let options = options(12);
    let mut checker = counted::Checker::new(&program, &options);
    assert_eq!(checker.run(), Ok(counted::Outcome::Safe));
    // Multisets of 12 threads over four positions, and s counts their parity.
    assert_eq!(checker.state_count(), 455);
}

/// [Donaldson et al., CAV 2011, section 1.1]: keeping a mixed predicate in a local variable without
/// telling passive threads, or in a shared variable, hides violations.
#[test]
fn mixed_predicates_as_local_or_shared_are_unsound() {
    // P: shared s = 0; local l = 1; assert s != l; ++s. Two threads violate it.
    let as_local = "local b = 1;\n1: assert b;\n2: b = b ? * : 1;\n";
    assert_eq!(
        any(&resolved(as_local)),
        Some(None),
        "the unsound variant says so"
    );
    let told = "local b = 1;\n1: assert b;\n2: b, [b] = (b ? * : 1), ([b] ? * : 1);\n";
    assert_eq!(any(&resolved(told)), Some(Some(2)));
    // P': shared s = 0, t = 1; local l = 0; assert t <-> (s == l); assume t; ++l, t = 0.
    let as_shared = "shared b = 1, t = 1;\n1: assert t == b;\n2: assume t;\n\
                     3: b, t = (b ? 0 : *), 0;\n";
    let as_shared = resolved(as_shared);
    assert_eq!(
        count(&as_shared, 2),
        Some(None),
        "the unsound variant says so"
    );
    let mixed = "shared t = 1;\nlocal b = 1;\n1: assert t == b;\n2: assume t;\n\
                 3: b, t = (b ? 0 : *), 0;\n";
    assert_eq!(any(&resolved(mixed)), Some(Some(2)));
    // `palisade_boolean::mixed` makes these unsound programs of the sound ones.
    let names = ["b".to_owned()].into_iter().collect();
    let made = |text: &str, treatment| {
        let program = parse(text).expect("a program");
        unsound(&program, &names, treatment)
    };
    assert_eq!(
        made(told, Treatment::AsLocal),
        parse(as_local).expect("a program")
    );
    let shared = resolve(&made(mixed, Treatment::AsShared)).expect("resolved");
    assert_eq!(count(&shared, 2), Some(None), "the unsound variant says so");
}
