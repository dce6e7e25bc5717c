//! The text of certificates: what is printed is read back as the same, and what
//! is malformed is refused at the right place without panic.

use crate::support;

use palisade_certify::*;
use palisade_logic::{Formula, Term};
use palisade_program::presence::Presence;
use palisade_program::*;
use support::build::*;
use support::interpret::Interpreter;
use support::invariant::exact;
use support::random::{Rng, program_of};

fn sample() -> Program {
    let code = vec![(0, store(0, k(1)), 1), (1, load(0, 1), 2)];
    let globals = vec![global("x", Init::Value(0)), array("a", &[0, 0])];
    let mut threads = vec![
        thread("left", Count::Once, &["r", "$1"], 3, code.clone()),
        thread("t", Count::Fixed(2), &["a b"], 3, code),
    ];
    threads[0].cfg.edges.pop();
    threads[1].cfg.edges.pop();
    program(globals, threads, Vec::new())
}

fn random_term(rng: &mut Rng, vars: &[Term], depth: usize) -> Term {
    let small = |rng: &mut Rng| rng.below(9) as i128 - 4;
    let var = vars[rng.below(vars.len())].clone();
    let term = match rng.below(if depth == 0 { 3 } else { 6 }) {
        0 => var.times(small(rng)),
        1 => var.plus_constant(small(rng)),
        2 => Ok(var),
        3 => random_term(rng, vars, depth - 1).plus(&random_term(rng, vars, depth - 1)),
        4 => random_term(rng, vars, depth - 1).modulo(2 + rng.below(4) as i128),
        _ => random_term(rng, vars, depth - 1).div(2 + rng.below(4) as i128),
    };
    term.expect("small")
}

fn random_formula(rng: &mut Rng, vars: &[Term], depth: usize) -> Formula {
    let part = |rng: &mut Rng| random_formula(rng, vars, depth - 1);
    match rng.below(if depth == 0 { 3 } else { 7 }) {
        0 => Formula::le(&random_term(rng, vars, 2), &random_term(rng, vars, 2)).expect("small"),
        1 | 2 => {
            Formula::eq(&random_term(rng, vars, 1), &random_term(rng, vars, 2)).expect("small")
        }
        3 => part(rng).and(&part(rng)),
        4 => part(rng).or(&part(rng)),
        5 => Formula::iff(&part(rng), &part(rng)),
        _ => part(rng).negated(),
    }
}

/// Variables of every kind that `model` has.
fn variables(model: Model) -> Vec<StateVar> {
    let mut vars = vec![StateVar::Cell(Cell(0)), StateVar::Cell(Cell(2))];
    for thread in 0..3 {
        vars.push(StateVar::Local {
            thread,
            local: LocalId(0),
        });
        vars.push(match model {
            Model::Pso => StateVar::CellSlot {
                thread,
                cell: Cell(2),
                position: 1,
            },
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => StateVar::Slot {
                thread,
                position: 1,
            },
        });
    }
    vars.push(StateVar::Local {
        thread: 0,
        local: LocalId(1),
    });
    let (thread, cell) = (1, Cell(2));
    vars.push(StateVar::Last { thread, cell });
    vars.push(StateVar::Low { thread, cell });
    vars.push(StateVar::Carried {
        thread,
        operation: 3,
        slot: 1,
    });
    vars
}

fn random_certificate(rng: &mut Rng, program: &Program, model: Model) -> Certificate {
    let vars = variables(model);
    let terms: Vec<Term> = vars
        .iter()
        .map(|v| Term::var(v.var().expect("small")))
        .collect();
    let atoms: Vec<Formula> = (0..rng.below(5))
        .map(|_| random_formula(rng, &terms, 2))
        .collect();
    let explicit: Vec<StateVar> = vars.into_iter().filter(|_| rng.chance(30)).collect();
    let entries = (0..rng.below(6)).map(|_| {
        let item = |rng: &mut Rng| {
            if rng.chance(30) {
                Item::Fence
            } else {
                Item::Store(Cell(rng.below(3) as u32))
            }
        };
        let atomic = |rng: &mut Rng| PendingAtomic {
            operation: rng.below(9) as u32,
            slot: rng.below(3) as u32,
            got: rng.below(4) as u32,
            applied: rng.chance(50),
        };
        let pending = |rng: &mut Rng| Pending {
            operation: rng.below(9) as u32,
            slot: rng.below(3) as u32,
            read: rng.chance(50),
        };
        let control = Control {
            locs: (0..3).map(|_| LocId(rng.below(3) as u32)).collect(),
            buffers: (0..3)
                .map(|_| match model {
                    Model::Rma => Buffer {
                        pending: (0..rng.below(4)).map(|_| pending(rng)).collect(),
                        sets: (0..3).filter(|_| rng.chance(20)).collect(),
                        atomics: (0..rng.below(3)).map(|_| atomic(rng)).collect(),
                        ..Buffer::default()
                    },
                    Model::Sc | Model::Tso | Model::Pso | Model::Rc11 => Buffer {
                        items: (0..rng.below(4)).map(|_| item(rng)).collect(),
                        many: (0..3).filter(|_| rng.chance(20)).map(Cell).collect(),
                        ..Buffer::default()
                    },
                })
                .collect(),
            values: explicit
                .iter()
                .map(|_| rng.chance(70).then(|| rng.below(9) as i64 - 4))
                .collect(),
        };
        let cube = |rng: &mut Rng| {
            let literals = (0..rng.below(4)).filter(|_| !atoms.is_empty());
            Cube(
                literals
                    .map(|_| (rng.below(atoms.len()) as u32, rng.chance(50)))
                    .collect(),
            )
        };
        let cubes = (0..rng.below(4)).map(|_| cube(rng)).collect();
        Entry { control, cubes }
    });
    let entries = entries.collect();
    Certificate {
        fingerprint: Fingerprint::of(program, model, 0),
        kind: Kind::Inductive,
        model,
        threads: 0,
        unbuffered: some_numbers(rng, program),
        interference_free: some_numbers(rng, program),
        forgotten: random_forgotten(rng, program),
        present: random_presences(rng, program),
        beyond: random_beyond(rng),
        explicit,
        atoms,
        entries,
    }
}

/// Numbers of edges or locations of each template.
fn some_numbers<T: From<usize>>(rng: &mut Rng, program: &Program) -> Vec<(TemplateId, T)> {
    let mut numbers = Vec::new();
    for template in program.template_ids() {
        let edges = program.template(template).cfg.edges.len();
        let chosen = (0..edges).filter(|_| rng.below(4) == 0);
        numbers.extend(chosen.map(|number| (template, number.into())));
    }
    numbers
}

fn random_presences(rng: &mut Rng, program: &Program) -> Vec<Presence> {
    if program.is_rma() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for template in program.template_ids() {
        let locs = program.template(template).cfg.locs();
        let locs = locs.filter(|_| rng.below(3) == 0).collect();
        all.push(Presence { template, locs });
    }
    all
}

fn random_forgotten(rng: &mut Rng, program: &Program) -> Vec<GlobalId> {
    let all = (0..program.globals.len()).filter(|_| rng.below(3) == 0);
    all.map(GlobalId::from).collect()
}

fn random_beyond(rng: &mut Rng) -> Option<BufferSummary> {
    let keep = [Keep::Newest, Keep::Oldest][rng.below(2)];
    let claims = (0..rng.below(4)).map(|_| {
        let claim = match rng.below(3) {
            0 => SummaryInvariant::Any,
            1 => SummaryInvariant::Rising,
            _ => SummaryInvariant::Among((0..rng.below(3)).map(|v| v as i64 - 1).collect()),
        };
        (rng.below(3) as u32, Cell(rng.below(3) as u32), claim)
    });
    let claims = claims.collect();
    let slots = (0..rng.below(3)).map(|_| (rng.below(3) as u32, rng.below(9) as u32, 2));
    let slots = slots.collect();
    let sizes = (0..rng.below(3)).map(|_| {
        let cell = rng.chance(50).then(|| Cell(rng.below(3) as u32));
        (rng.below(3) as u32, cell, rng.below(9) as u32)
    });
    let sizes = sizes.collect();
    rng.chance(50).then(|| BufferSummary {
        cells: rng.below(4) as u32,
        sizes,
        keep,
        claims,
        slots,
    })
}

#[test]
fn what_is_printed_is_read_back() {
    let program = sample();
    let mut rng = Rng::new(1);
    for round in 0..2000 {
        let model = [Model::Sc, Model::Tso, Model::Pso, Model::Rma][round % 4];
        let certificate = random_certificate(&mut rng, &program, model);
        let text = print(&program, &certificate);
        assert_eq!(parse(&program, &text).as_ref(), Ok(&certificate), "{text}");
    }
}

#[test]
fn certificates_of_random_programs_are_read_back() {
    for seed in 0..60 {
        let program = program_of(seed);
        for model in [Model::Sc, Model::Tso, Model::Pso] {
            let found = Interpreter::new(&program, model, 2).explore();
            let certificate = exact(&program, model, 2, found.states, |v| v.thread() == Some(0));
            let text = print(&program, &certificate);
            assert_eq!(parse(&program, &text).as_ref(), Ok(&certificate), "{text}");
        }
    }
}

const GOOD: &str = "palisade certificate 1
fingerprint 0123456789abcdef0123456789abcdef
kind inductive
model pso
threads 0
# a comment
explicit x, left.r

atom p: x < left.r + 3   # another
atom q: a[1] % 2 = 0 || !(x = 1 && 2*x - a[0] > -5)
at left@0 t[0]@1 t[1]@2 with x=-1, left.r=* buffers left(x x | a[1]) t[1](x): p & !q | true
at left@0 t[0]@0 t[1]@0 with x=0, left.r=2: false
end
";

#[test]
fn nothing_follows_the_end() {
    assert!(parse(&sample(), &format!("{GOOD}\n\n")).is_ok());
    let error = parse(&sample(), &format!("{GOOD}\nat junk\n")).expect_err("a line too many");
    assert!(
        error.message.contains("after") || error.message.contains("follow"),
        "{error:?}"
    );
}

#[test]
fn a_person_may_write_one() {
    let certificate = parse(&sample(), GOOD).expect("well formed");
    assert_eq!(certificate.explicit.len(), 2);
    assert_eq!(certificate.entries[0].control.values, [Some(-1), None]);
    assert_eq!(
        certificate.entries[0].cubes,
        [Cube(vec![(0, true), (1, false)]), Cube::TRUE]
    );
    let shape = &certificate.entries[0].control.buffers[0];
    let cell = |c| Item::Store(Cell(c));
    assert_eq!(shape.items, [cell(0), cell(0), Item::Fence, cell(2)]);
    assert!(certificate.entries[1].cubes.is_empty());
}

#[test]
fn errors_point_at_the_place() {
    let mut wrong = Vec::new();
    for (from, to, position) in [
        ("palisade certificate 1", "palisade certificate 2", "1:22"),
        ("palisade", "pallisade", "1:1"),
        ("abcdef\n", "abcdeg\n", "2:1"),
        ("inductive", "symmetric", "3:6"),
        ("pso", "psx", "4:7"),
        ("threads 0", "threads 999", "5:9"),
        ("threads 0", "threads -1", "5:9"),
        ("explicit x", "explicit z", "7:10"),
        ("atom q", "atom p", "10:6"),
        ("x < left.r", "x < left.q", "9:13"),
        ("x < left.r + 3", "x + 3", "9:26"),
        ("2*x", "x*x", "10:38"),
        ("% 2", "% 0", "10:16"),
        ("t[0]@1", "t[1]@1", "11:11"),
        ("x=-1", "x=y", "11:32"),
        ("x=-1, ", "", "11:30"),
        ("left(x x", "left(z x", "11:58"),
        ("!q |", "!r |", "11:84"),
        ("true\n", "true extra\n", "11:93"),
        ("end\n", "", "13:1"),
        ("at left@0 t[0]@0", "az left@0 t[0]@0", "12:1"),
        ("false", "", "12:45"),
        ("x < left.r", "x ; left.r", "9:11"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let error = parse(&sample(), &text).expect_err(to);
        if error.position.to_string() != position {
            wrong.push(format!("{to}: {error}, not {position}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_text_makes_it_panic() {
    let program = sample();
    let mut rng = Rng::new(5);
    let signs: Vec<char> = "()[]!|&<>=+-*/%:@,?`#.'x10é \n".chars().collect();
    for _ in 0..4000 {
        let mut text: Vec<char> = GOOD.chars().collect();
        for _ in 0..=rng.below(4) {
            let at = rng.below(text.len());
            match rng.below(4) {
                0 => text.truncate(at + 1),
                1 => {
                    text.remove(at);
                }
                2 => text[at] = signs[rng.below(signs.len())],
                _ => text.insert(at, signs[rng.below(signs.len())]),
            }
        }
        let text: String = text.into_iter().collect();
        // Whatever it is, a certificate or an error; a certificate is then checked.
        if let Ok(mut certificate) = parse(&program, &text) {
            certificate.fingerprint =
                Fingerprint::of(&program, certificate.model, certificate.threads);
            let _ = check(&program, &certificate, &Options::default());
        }
    }
    for deep in [
        "(".repeat(100_000),
        "!".repeat(100_000),
        "-".repeat(100_000),
        "x + ".repeat(100_000),
    ] {
        let text = GOOD.replace("x < left.r + 3", &deep);
        assert!(parse(&program, &text).is_err());
    }
}
