//! Boolean broadcast programs of templates [Donaldson et al., CAV 2011]: the programs of section 1.1,
//! appendix B, the canonical broadcast of section 2.2, and soundness on random
//! templates against the concrete machine.

#![allow(clippy::format_push_string)] // speed does not matter here

use palisade_abstraction::cores::ByCores;
use palisade_abstraction::hints;
use palisade_abstraction::space::Space;
use palisade_arbitrary::Rng;
use palisade_boolean::check::Options;
use palisade_boolean::counted::{self, Checker};
use palisade_boolean::cover::{self, Any};
use palisade_boolean::export::{Options as ExportOptions, export};
use palisade_boolean::resolve::resolve;
use palisade_boolean::scope::{Scope, Scopes, obstacle};
use palisade_boolean::{BooleanProgram, parse};
use palisade_logic::{Limits, Prover};
use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Verdict};

fn program(text: &str) -> Program {
    let parsed = palisade_frontend::pal::parse(Source::new("test.pal", text));
    parsed
        .unwrap_or_else(|d| panic!("{}\n{text}", d.render(false)))
        .program
}

/// The Boolean program, printed and read again.
fn exported(text: &str) -> BooleanProgram {
    exported_as(text, false)
}

fn exported_as(text: &str, compress: bool) -> BooleanProgram {
    let program = program(text);
    assert_eq!(obstacle(&program), None, "{text}");
    let space = Space::new(&program, Scopes::instances(&program), false);
    let atoms = hints::atoms(&space).expect("linear");
    let (predicates, scopes) = Scopes::new(&space, atoms).expect("over one thread each");
    let mut prover = Prover::new(palisade_logic::Options::default());
    let options = ExportOptions {
        max_size: None,
        cartesian: false,
        relate: true,
        compress,
    };
    let kept = (&predicates, Some(&scopes));
    let made = export(&space, kept, &mut prover, &ByCores, options);
    let made = made.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let printed = made.to_string();
    let parsed = parse(&printed).unwrap_or_else(|e| panic!("{e:?}\n{printed}"));
    assert_eq!(parsed, made, "printing and parsing change nothing");
    made
}

fn options(threads: u32) -> Options {
    Options {
        threads,
        max_states: Some(20_000),
        merge: false,
        limits: Limits::default(),
    }
}

/// The smallest number of threads that violates the Boolean program; none if it holds.
fn any(program: &BooleanProgram) -> Option<u32> {
    let resolved = resolve(program).unwrap_or_else(|e| panic!("{e:?}\n{program}"));
    match cover::check(&resolved, &options(0), None).0 {
        Ok(Any::Safe) => None,
        Ok(Any::Violated(n, _)) => Some(n),
        Err(stop) => panic!("{stop:?}\n{program}"),
    }
}

/// P of section 1.1: two threads violate it.
#[test]
fn a_mixed_predicate_is_broadcast() {
    let made = exported(
        "shared s = 0;\nthread t[*] { local l = 1;\n\
         atomic { local v = s; assert(v != l); }\n atomic { local w = s; s = w + 1; } }\n\
         predicate s == t.l;\n",
    );
    assert!(made.to_string().contains("[b0]"), "{made}");
    assert_eq!(any(&made), Some(2), "{made}");
}

/// P': the assertion speaks of another thread's view.
#[test]
fn a_mixed_predicate_is_not_shared() {
    let made = exported(
        "shared s = 0;\nshared t = 1;\nthread w[*] { local l = 0;\n\
         atomic { local a = s; local b = t; assert((b == 1) == (a == l)); }\n\
         atomic { local c = t; assume(c == 1); l = l + 1; t = 0; } }\n\
         predicate s == w.l;\npredicate t == 1;\npredicate t == 0;\n",
    );
    assert_eq!(any(&made), Some(2), "{made}");
}

const P2: &str = "shared r = 0;\nshared s = 0;\nthread t[*] { local first = 0; local l = 0;\n\
    atomic { first = r; r = first + 1; }\n\
    if (first == 0) { while (1) { atomic { s = s + 1; l = l + 1; assert(s == l); } } } }\n\
    predicate r == 0;\npredicate r >= 0;\npredicate t.first == 0;\n";

/// P'' needs a mixed predicate (appendix B): with s == l it is proved for any number of
/// threads. Predicates over s alone and over l alone do not prove it even for one
/// thread, however many constants they speak of: two of the values that s and l run
/// through together are not told apart, and s of one goes with l of the other.
#[test]
fn only_a_mixed_predicate_proves_p2() {
    let mixed = format!("{P2}predicate s == t.l;\n");
    let made = exported(&mixed);
    assert_eq!(any(&made), None, "{made}");
    let mut apart = P2.to_owned();
    for c in 0..4 {
        apart.push_str(&format!("predicate s == {c};\npredicate t.l == {c};\n"));
        let made = exported(&apart);
        assert_eq!(any(&made), Some(1), "{c}\n{made}");
    }
}

/// Section 2.2: `s = l` and the predicate `s == l`.
#[test]
fn the_canonical_broadcast() {
    let made = exported(
        "shared s = 0;\nthread t[*] { local l = 0; l = *; s = l; assert(l == l); s = l; }\npredicate s == t.l;\n",
    );
    let text = made.to_string();
    // choose([b] && b, [b] ^ b), as cubes.
    let canonical = "choose(b0 && [b0], !b0 && [b0] || b0 && ![b0])";
    let other = "choose(b0 && [b0], b0 && ![b0] || !b0 && [b0])";
    assert!(text.contains(canonical) || text.contains(other), "{text}");
}

#[test]
fn predicates_have_scopes() {
    let program = program(
        "shared s = 0;\nthread once { local o = 0; o = s; s = o; }\n\
         thread t[*] { local l = 0; l = s; s = l; }\n\
         predicate s == once.o;\npredicate t.l == 1;\npredicate s <= t.l;\n",
    );
    let space = Space::new(&program, Scopes::instances(&program), false);
    let atoms = hints::atoms(&space).expect("linear");
    let (predicates, scopes) = Scopes::new(&space, atoms).expect("over one thread each");
    let all: Vec<Scope> = (0..predicates.len()).map(|p| scopes.scope(p)).collect();
    let count = |f: fn(&Scope) -> bool| all.iter().filter(|r| f(r)).count();
    // The local of a thread that runs once is shared; the others have two copies each.
    assert_eq!(count(|r| *r == Scope::Shared), 1);
    assert_eq!(count(|r| matches!(r, Scope::Local(_))), 2);
    assert_eq!(count(|r| matches!(r, Scope::Mixed(_))), 2);
}

/// What the threads of a random template do.
const STATEMENTS: [&str; 12] = [
    "a = x;",
    "x = a;",
    "x = a + 1;",
    "y = a;",
    "a = y;",
    "x = 0;",
    "atomic { a = x; x = a + 1; }",
    "atomic { local p = y; assume(a <= p); }",
    "atomic { local q = x; assert(a <= q); }",
    "atomic { local q = x; assert(a == q || a == 0); }",
    "atomic { local q = y; assert(q <= 1); }",
    "if (a == 0) { y = 1; }",
];

const PREDICATES: [&str; 8] = [
    "x == t.a", "t.a <= x", "y == t.a", "t.a <= y", "x == 0", "y == 1", "t.a == 0", "y <= 1",
];

#[test]
fn exports_of_random_templates_are_sound() {
    let soak = std::env::var("PALISADE_SOAK").ok();
    let rounds: u64 = 25 * soak.and_then(|s| s.parse().ok()).unwrap_or(1);
    let (mut held, mut violated) = (0, 0);
    for seed in 0..rounds {
        let mut rng = Rng::new(seed);
        // Every other program looks whether others have counted since: several violate it.
        let mut body = vec!["atomic { a = x; x = a + 1; }"];
        body.extend((0..3).map(|_| *rng.pick(&STATEMENTS)));
        if seed % 2 == 0 {
            body.push("atomic { local last = x; assert(a + 1 == last || last == 0); }");
        }
        let mut text = format!(
            "shared x = 0;\nshared y = 0;\nthread t[*] {{ local a = 0;\n{}\n}}\n",
            body.join("\n")
        );
        for predicate in PREDICATES {
            if rng.chance(60) {
                text.push_str(&format!("predicate {predicate};\n"));
            }
        }
        let made = exported_as(&text, seed % 4 > 1);
        let resolved = resolve(&made).unwrap_or_else(|e| panic!("{e:?}\n{made}"));
        let smallest = any(&made);
        for n in 1..=3 {
            let options = options(n);
            let Ok(outcome) = Checker::new(&resolved, &options).run() else {
                continue;
            };
            let safe = outcome == counted::Outcome::Safe;
            assert_eq!(
                safe,
                smallest.is_none_or(|m| n < m),
                "{n} threads\n{text}\n{made}"
            );
            let concrete = program(&text.replace("t[*]", &format!("t[{n}]")));
            let verdict = explore(&concrete, &palisade_machine::Options::new(Model::Sc));
            match verdict.expect("small").verdict {
                Verdict::Violated(_) => {
                    assert!(!safe, "unsound with {n} threads\n{text}\n{made}");
                    violated += 1;
                }
                Verdict::Holds => held += u64::from(safe),
                Verdict::Unknown(_) => {}
            }
        }
    }
    assert!(
        held >= 5 && violated >= 5,
        "{held} held, {violated} violated"
    );
}
