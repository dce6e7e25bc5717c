//! Exported Boolean programs say the same as the search with the same predicates,
//! and never more than the concrete machine.

use crate::plain;

use palisade_abstraction::bad::BadStates;
use palisade_abstraction::command::Commands;
use palisade_abstraction::cores::ByCores;
use palisade_abstraction::cubes::CubeSearch;
use palisade_abstraction::enumerate::BySize;
use palisade_abstraction::hints;
use palisade_abstraction::lazy::Lazy;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_arbitrary::{Shape, generate};
use palisade_boolean::check;
use palisade_boolean::export::{ExportError, Options as ExportOptions, export};
use palisade_boolean::resolve::resolve;
use palisade_boolean::{BooleanProgram, parse};
use palisade_checker::search::{self, Search};
use palisade_logic::{Formula, Limits, Options, Prover, Relation, Term, Var};
use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Verdict};
use plain::{Checker, Outcome};

fn program(text: &str) -> Program {
    let parsed = palisade_frontend::pal::parse(Source::new("test.pal", text));
    parsed
        .unwrap_or_else(|d| panic!("{}\n{text}", d.render(false)))
        .program
}

/// The Boolean program, printed and read again; none if the program has something
/// that cannot be executed symbolically (a loop without bound in an atomic block).
fn try_exported(
    space: &Space<'_>,
    predicates: &Predicates,
    search: &dyn CubeSearch,
    cartesian: bool,
) -> Option<BooleanProgram> {
    let mut prover = Prover::new(Options::default());
    let options = ExportOptions {
        max_size: None,
        cartesian,
        relate: !cartesian,
        compress: false,
    };
    let made = match export(space, (predicates, None), &mut prover, search, options) {
        Ok(made) => made,
        Err(ExportError::Unsupported(_)) => return None,
        Err(ExportError::Limit(reason)) => panic!("no limit was set: {reason}"),
    };
    let printed = made.to_string();
    let parsed = parse(&printed).unwrap_or_else(|e| panic!("{e:?}\n{printed}"));
    assert_eq!(parsed, made, "printing and parsing change nothing");
    Some(made)
}

fn exported(
    space: &Space<'_>,
    predicates: &Predicates,
    search: &dyn CubeSearch,
    cartesian: bool,
) -> BooleanProgram {
    try_exported(space, predicates, search, cartesian).expect("supported")
}

/// Whether the Boolean program holds; none if there are too many states.
fn checked(program: &BooleanProgram) -> Option<bool> {
    let resolved = resolve(program).unwrap_or_else(|e| panic!("{e:?}\n{program}"));
    let options = check::Options {
        threads: 1,
        max_states: Some(50_000),
        merge: false,
        limits: Limits::default(),
    };
    let outcome = Checker::new(&resolved, &options).run();
    outcome.ok().map(|o| o == Outcome::Safe)
}

/// Whether the 3-valued search ends without an error.
fn searched(space: &Space<'_>, predicates: &Predicates) -> bool {
    let mut prover = Prover::new(Options::default());
    let mut lazy = Lazy::new(&mut prover);
    let mut commands = Commands::new(space);
    let bad = BadStates::new(space);
    let options = search::Options::default();
    let mut search = Search::new(&mut commands, &bad, predicates, &mut lazy, &options);
    matches!(search.run(), Ok(search::Outcome::Safe(_)))
}

fn hinted(space: &Space<'_>) -> Predicates {
    let mut predicates = Predicates::default();
    for atom in hints::atoms(space).expect("linear") {
        predicates.add(atom);
    }
    predicates
}

fn check_example(text: &str, holds: bool) -> BooleanProgram {
    let program = program(text);
    let space = Space::new(&program, program.instances(2), false);
    let predicates = hinted(&space);
    assert_eq!(searched(&space, &predicates), holds, "search");
    let by_size = exported(&space, &predicates, &BySize, false);
    assert_eq!(checked(&by_size), Some(holds), "enumerate:\n{by_size}");
    let by_cores = exported(&space, &predicates, &ByCores, false);
    assert_eq!(checked(&by_cores), Some(holds), "cores:\n{by_cores}");
    by_size
}

const PETERSON: &str = "\
shared flag[2] = 0;
shared turn = 0;
thread t[2] {
    while (1) {
        flag[self] = 1;
        turn = 1 - self;
        while (flag[1 - self] == 1 && turn == 1 - self) { }
        critical: skip;
        flag[self] = 0;
    }
}
never t#1@critical && t#2@critical;
predicate flag[0] == 1;
predicate flag[1] == 1;
predicate turn == 1;
predicate turn == 0;
";

#[test]
fn peterson() {
    // The temporaries that hold what was read need predicates too.
    let program = program(PETERSON);
    let space = Space::new(&program, program.instances(2), false);
    let mut predicates = hinted(&space);
    let given = predicates.len();
    assert_eq!(given, 4);
    assert_eq!(
        checked(&exported(&space, &predicates, &BySize, false)),
        Some(false)
    );
    for (slot, s) in space.slots.iter().enumerate() {
        if s.name.contains('.') {
            for value in 0..2 {
                let equal = Formula::eq(&Term::var(Var(slot as u32)), &Term::constant(value));
                for atom in equal.expect("small").atoms() {
                    predicates.add(atom);
                }
            }
        }
    }
    assert!(searched(&space, &predicates));
    assert_eq!(
        checked(&exported(&space, &predicates, &ByCores, false)),
        Some(true)
    );
    assert_eq!(
        checked(&exported(&space, &predicates, &BySize, true)),
        Some(true)
    );
}

const COUNTER: &str = "\
shared x = 0;
shared y = *;
thread up {
    local r = 0;
    while (1) {
        atomic { r = x; x = r + 1; }
        assert(r >= 0);
    }
}
never x < 0 && y == 0;
predicate x >= 0;
predicate up.r >= 0;
";

#[test]
fn an_unbounded_counter() {
    check_example(COUNTER, true);
    check_example(&COUNTER.replace("x = r + 1", "x = r - 1"), false);
    // Without x >= 0 nothing can be shown.
    check_example(&COUNTER.replace("predicate x >= 0;", ""), false);
}

/// A branch whose guard and update are one step; `finally`; related new values.
const HANDOVER: &str = "\
shared x = 0;
shared y = 0;
thread a {
    local r = 0;
    r = *;
    atomic { assume(r > 2); x = r; y = r; }
}
thread b {
    local s = 0;
    s = x;
    assert(s == 0 || s > 2);
}
finally (x == y && x > 2);
predicate x == y;
predicate x > 2;
predicate x == 0;
predicate a.r > 2;
predicate b.s > 2;
predicate b.s == 0;
";

#[test]
fn handover() {
    let made = check_example(HANDOVER, true).to_string();
    assert!(made.contains("constrain"), "{made}");
    assert!(
        made.contains("// x - y = 0") || made.contains("// x = y"),
        "{made}"
    );
    check_example(&HANDOVER.replace("y = r;", "y = r + 1;"), false);
    check_example(&HANDOVER.replace("assume(r > 2)", "assume(r > 1)"), false);
}

fn rounds(few: u64) -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|n| n.parse().ok()).unwrap_or(few)
}

fn concrete(program: &Program) -> Option<bool> {
    let options = palisade_machine::Options {
        max_states: Some(20_000),
        ..palisade_machine::Options::new(Model::Sc)
    };
    match explore(program, &options).ok()?.verdict {
        Verdict::Holds => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// Finite values as explicit variables: the Boolean program is exact.
#[test]
fn explicit_exports_agree_with_the_machine() {
    let shape = Shape {
        statements: 3,
        ..Shape::default()
    };
    let (mut held, mut violated) = (0, 0);
    for seed in 0..rounds(60) {
        let text = generate(seed, &shape);
        let program = program(&text);
        let space = Space::new(&program, program.instances(2), true);
        let finite = space.slots.iter().all(|s| s.explicit.is_some());
        let (true, Some(holds)) = (finite, concrete(&program)) else {
            continue;
        };
        let Some(made) = try_exported(&space, &Predicates::default(), &ByCores, false) else {
            continue;
        };
        let Some(verdict) = checked(&made) else {
            continue;
        };
        assert_eq!(verdict, holds, "seed {seed}\n{text}\n{made}");
        if holds { held += 1 } else { violated += 1 }
    }
    assert!(
        held >= 10 && violated >= 10,
        "{held} held, {violated} violated"
    );
}

/// Predicates `v == c`, `v <= c` at random: a Boolean program that holds is right,
/// and it knows no less than the 3-valued search.
#[test]
fn abstract_exports_are_sound() {
    let shape = Shape {
        statements: 3,
        vars: 2,
        arrays: false,
        ..Shape::default()
    };
    let (mut held, mut violated) = (0, 0);
    for seed in 0..rounds(40) {
        let text = generate(seed, &shape);
        let program = program(&text);
        let space = Space::new(&program, program.instances(2), false);
        let Some(holds) = concrete(&program) else {
            continue;
        };
        let mut predicates = Predicates::default();
        for (slot, s) in space.slots.iter().enumerate() {
            if (seed + slot as u64).is_multiple_of(5) || s.explicit.is_some() {
                continue;
            }
            let constant = Term::constant((seed % 2) as i64);
            let term = Term::var(Var(slot as u32)).minus(&constant).expect("small");
            let relation = if seed % 3 == 0 {
                Relation::Le
            } else {
                Relation::Eq
            };
            for atom in Formula::compare(&term, relation).expect("small").atoms() {
                predicates.add(atom);
            }
        }
        if predicates.len() > 9 {
            continue;
        }
        let Some(made) = try_exported(&space, &predicates, &ByCores, seed % 2 == 0) else {
            continue;
        };
        let Some(verdict) = checked(&made) else {
            continue;
        };
        assert!(holds || !verdict, "unsound: seed {seed}\n{text}\n{made}");
        if searched(&space, &predicates) {
            assert!(verdict, "less precise: seed {seed}\n{text}\n{made}");
        }
        if verdict { held += 1 } else { violated += 1 }
    }
    assert!(
        held >= 3 && violated >= 3,
        "{held} held, {violated} violated"
    );
}
