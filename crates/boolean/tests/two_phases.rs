//! Two phases, with a file between them ([Dan et al., SAS 2013, section 6.1]): the Boolean program
//! of a program under a memory model is printed, read again and checked. The suite of the paper
//! is proved in this way; on random programs nothing is that the concrete machine refutes.

use std::path::Path;

use palisade_abstraction::cores::ByCores;
use palisade_arbitrary::{Shape, generate};
use palisade_boolean::check::{self, check};
use palisade_boolean::export::{
    Construction, Cubes, ExportError, Options as ExportOptions, construct, threads,
};
use palisade_boolean::parse;
use palisade_boolean::resolve::resolve;
use palisade_logic::{Limits, Prover};
use palisade_machine::explore;
use palisade_program::{Model, Program, Source, Verdict};
use palisade_verify::{Buffers, Extrapolate, Options, Promote, Sizes, prepare};

fn program(text: &str) -> Program {
    let parsed = palisade_frontend::pal::parse(Source::new("test.pal", text));
    parsed
        .unwrap_or_else(|d| panic!("{}\n{text}", d.render(false)))
        .program
}

fn cells(k: u32) -> Buffers {
    Buffers::Bounded(Sizes {
        default: k,
        named: std::collections::BTreeMap::new(),
    })
}

/// How a Boolean program is made.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // switches are independent
struct How {
    cartesian: bool,
    relate: bool,
    compress: bool,
    expand: bool,
    copies: u32,
}

const PLAIN: How = How {
    cartesian: false,
    relate: false,
    compress: true,
    expand: false,
    copies: 2,
};

/// The verdict about the Boolean program, and its text; none if it cannot be made or is too large.
fn checked(program: &Program, options: &Options, how: How) -> Option<(Verdict, String)> {
    let (threads, all) = threads(program, how.expand, how.copies).ok()?;
    let prepared = prepare(program, &threads, all, options).ok()?;
    let construction = Construction {
        expand: how.expand,
        copies: how.copies,
        explicit: options.promote == Promote::Always,
        atoms: Some(&prepared.atoms),
        search: if options.extrapolate == Extrapolate::Cubes {
            Cubes::Listed(&prepared.cubes)
        } else {
            Cubes::By(&ByCores)
        },
        options: ExportOptions {
            max_size: Some(options.cube_size),
            cartesian: how.cartesian,
            relate: how.relate,
            compress: how.compress,
        },
    };
    let mut prover = Prover::new(palisade_logic::Options::default());
    let made = match construct(&prepared.program, construction, &mut prover) {
        Ok((made, _)) => made,
        Err(ExportError::Unsupported(_)) => return None,
        Err(ExportError::Limit(reason)) => panic!("no limit was set: {reason}"),
    };
    let text = made.to_string();
    let again = parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let resolved = resolve(&again).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let source = Source::new("test.bp", text.as_str());
    let found = check(
        &resolved,
        &source,
        false,
        &check::Options {
            threads: how.copies,
            max_states: Some(20_000),
            merge: false,
            limits: Limits::default(),
        },
    );
    Some((found.verdict, text))
}

/// A program of the suite with the fences that `suite.json` names, and its predicates.
fn of_suite(entry: &serde_json::Value, model: Model, fenced: bool) -> (Program, usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/cupex");
    let read = |key: &str| {
        let name = entry[key].as_str().expect("a name");
        std::fs::read_to_string(folder.join(name)).expect("the suite is there")
    };
    let chosen = &entry["fences"][model.to_string()]["1"];
    let chosen: Vec<u64> = chosen.as_array().map_or_else(Vec::new, |list| {
        list.iter().filter_map(serde_json::Value::as_u64).collect()
    });
    let mut text = String::new();
    for (number, part) in read("program").split("fence?;").enumerate() {
        if number > 0 && fenced && chosen.contains(&(number as u64)) {
            text.push_str("fence;");
        }
        text.push_str(part);
    }
    text.push_str(&read("predicates"));
    (program(&text), chosen.len())
}

fn suite() -> Vec<serde_json::Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/cupex/suite.json");
    let text = std::fs::read_to_string(path).expect("the suite is there");
    let suite: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    suite["programs"].as_array().cloned().expect("programs")
}

/// All seven programs hold under all three models with fences, and those that need fences do not
/// without.
#[test]
fn the_suite_is_proved_in_two_phases() {
    let mut unfenced = 0;
    for entry in suite() {
        for model in [Model::Sc, Model::Tso, Model::Pso] {
            let name = format!("{} {model}", entry["name"]);
            let options = Options {
                model,
                buffers: cells(1),
                promote: Promote::Never,
                cube_size: 4,
                ..Options::default()
            };
            let (program, fences) = of_suite(&entry, model, true);
            let (verdict, _) = checked(&program, &options, PLAIN).expect(&name);
            assert_eq!(verdict, Verdict::Holds, "{name}");
            if fences > 0 {
                let (program, _) = of_suite(&entry, model, false);
                let (verdict, _) = checked(&program, &options, PLAIN).expect(&name);
                assert_ne!(verdict, Verdict::Holds, "{name} without fences");
                unfenced += 1;
            }
        }
    }
    assert_eq!(unfenced, 10);
}

fn rounds(few: u64) -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    few * soak.and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// What the concrete machine says, without any reduction of its own.
fn concrete(program: &Program, model: Model) -> Option<bool> {
    let options = palisade_machine::Options {
        max_states: Some(20_000),
        partial_order: false,
        symmetry: false,
        ..palisade_machine::Options::new(model)
    };
    match explore(program, &options).ok()?.verdict {
        Verdict::Holds => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// What is proved in two phases is right; how often it was, and how often it must not.
fn sound(shape: &Shape, models: &[Model], seeds: u64) -> (u64, u64) {
    let (mut held, mut refuted) = (0, 0);
    for seed in 0..seeds {
        let text = generate(seed, shape);
        let program = program(&text);
        let model = models[(seed % models.len() as u64) as usize];
        let Some(holds) = concrete(&program, model) else {
            continue;
        };
        let remote = model == Model::Rma;
        let options = Options {
            model,
            buffers: match seed / 2 % 3 {
                0 => Buffers::Auto,
                1 if remote => Buffers::Abstract(0),
                1 => Buffers::Abstract(1),
                _ => cells(2),
            },
            extrapolate: if seed % 5 == 0 {
                Extrapolate::Cubes
            } else {
                Extrapolate::Predicates
            },
            promote: if seed % 7 < 4 {
                Promote::Always
            } else {
                Promote::Never
            },
            list_sets: seed % 7 < 2,
            cube_size: 2,
            max_states: 2_000,
            max_rounds: 8,
            ..Options::default()
        };
        let how = How {
            cartesian: seed % 4 == 0,
            relate: seed % 4 == 1,
            compress: seed % 11 > 2,
            expand: true,
            copies: 2,
        };
        let Some((verdict, made)) = checked(&program, &options, how) else {
            continue;
        };
        if verdict == Verdict::Holds {
            assert!(holds, "unsound: seed {seed} under {model}\n{text}\n{made}");
            held += 1;
        }
        refuted += u64::from(!holds);
    }
    (held, refuted)
}

#[test]
fn boolean_programs_under_store_buffers_are_sound() {
    let shape = Shape {
        statements: 3,
        modulus: 2,
        ..Shape::default()
    };
    let models = [Model::Tso, Model::Pso, Model::Sc];
    let (held, refuted) = sound(&shape, &models, rounds(60));
    assert!(
        held >= 6 && refuted >= 6,
        "{held} held, {refuted} are violated"
    );
}

#[test]
fn boolean_programs_of_remote_operations_are_sound() {
    let shape = Shape {
        statements: 3,
        modulus: 2,
        ..Shape::rma()
    };
    let (held, refuted) = sound(&shape, &[Model::Rma], rounds(300));
    assert!(
        held >= 3 && refuted >= 3,
        "{held} held, {refuted} are violated"
    );
}

/// A set that grows by a value of another kind: what was known of all its elements is forgotten.
#[test]
fn sets_that_grow_are_known_less() {
    let text = "process a {\n shared x = 0;\n while (*) { put(y, b, x); STEP }\n}\n\
                process b {\n shared y = 0;\n local r = 0;\n r = y;\n assert(r == 0);\n}\n\
                predicate a.x == 0;\npredicate b.y == 0;\npredicate b.r == 0;\n";
    for (step, holds) in [("", true), ("x = 1;", false)] {
        let program = program(&text.replace("STEP", step));
        let options = Options {
            model: Model::Rma,
            buffers: Buffers::Abstract(0),
            promote: Promote::Never,
            list_sets: false,
            ..Options::default()
        };
        let how = How {
            expand: true,
            ..PLAIN
        };
        let (verdict, made) = checked(&program, &options, how).expect("it can be made");
        assert!(made.contains("_all"), "{made}");
        assert_eq!(verdict == Verdict::Holds, holds, "{step}\n{made}");
    }
}
