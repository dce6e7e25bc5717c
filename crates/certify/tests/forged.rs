//! *Forged* certificates: everything follows from one line but the line itself. The states are
//! those of the program that the line speaks of, computed by the interpreter, so that the rest
//! of the check finds nothing to object to. What is accepted must be right, and a line that is
//! wrong is refused. (Accesses that are wrongly called free of interference: `random_programs.rs`.)

use crate::support;

use palisade_certify::*;
use palisade_program::projection::without;
use palisade_program::unbuffered::{StoreEdge, with_unbuffered};
use palisade_program::*;
use std::fmt::Write;
use support::build::*;
use support::interpret::{Exploration, Interpreter};
use support::invariant::exact;
use support::random::{Rng, program_of, waiting_of};

const WEAK: [Model; 2] = [Model::Tso, Model::Pso];
const THREADS: u32 = 2;

fn seeds() -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|count| count.parse().ok()).unwrap_or(150)
}

fn random(seed: u64) -> Program {
    if seed.is_multiple_of(2) {
        program_of(seed)
    } else {
        waiting_of(seed)
    }
}

fn explore(program: &Program, model: Model, threads: u32) -> Exploration {
    Interpreter::new(program, model, threads).explore()
}

fn result(program: &Program, certificate: &Certificate) -> Result<(), Reason> {
    let result = check(program, certificate, &Options::default());
    result.map(|_| ()).map_err(|refusal| refusal.reason)
}

/// The certificate whose states are those of `changed`; `named` is the program that the line makes
/// of the original.
fn of_changed(
    changed: &Program,
    named: &Program,
    found: &Exploration,
    model: Model,
) -> Certificate {
    let states = found.states.iter().cloned();
    Certificate {
        fingerprint: Fingerprint::of(named, model, THREADS),
        ..exact(changed, model, THREADS, states, |_| true)
    }
}

fn stores(program: &Program) -> Vec<StoreEdge> {
    let mut all = Vec::new();
    for id in program.template_ids() {
        let edges = program.template(id).cfg.edges.iter().enumerate();
        let stores = edges.filter(|(_, e)| e.step.stored().is_some());
        all.extend(stores.map(|(number, _)| (id, number.into())));
    }
    all
}

/// `unbuffered`: any stores go to memory at once, many of which need their buffers.
#[test]
fn stores_that_are_wrongly_direct() {
    let (mut accepted, mut refused, mut dangerous) = (0, 0, 0);
    for seed in 0..seeds() {
        let program = random(seed);
        let mut rng = Rng::new(seed + 50);
        for model in WEAK {
            let original = explore(&program, model, THREADS);
            let mut direct = stores(&program);
            direct.retain(|_| rng.chance(60));
            let changed = with_unbuffered(&program, &direct).expect("they are stores");
            let found = explore(&changed, model, THREADS);
            if original.bounded || found.bounded || direct.is_empty() {
                continue;
            }
            let certificate = Certificate {
                unbuffered: direct,
                ..of_changed(&changed, &changed, &found, model)
            };
            dangerous += u32::from(original.violated && !found.violated);
            match result(&program, &certificate) {
                Ok(()) => {
                    assert!(!original.violated, "seed {seed}, {model}");
                    accepted += 1;
                }
                Err(Reason::Direct(_)) => refused += 1,
                // Nothing else is wrong, unless the changed program is.
                Err(why) => assert!(found.violated, "seed {seed}, {model}: {why}"),
            }
        }
    }
    println!("{accepted} accepted, {refused} refused, {dangerous} would have hidden a bug");
    assert!(accepted > 10 && refused > 50 && dangerous > 0);
}

/// A program in which what is read from a variable is 0 or 1, and what is written is lost.
fn forgotten(program: &Program, forgotten: GlobalId) -> Program {
    fn forget(cfg: &mut Cfg, forgotten: GlobalId) {
        for edge in &mut cfg.edges {
            match &mut edge.step {
                Step::Load { dst, src } if src.var == forgotten => {
                    let domain = Some(Domain { lo: 0, hi: 1 });
                    edge.step = Step::Havoc { dst: *dst, domain };
                }
                Step::Store { dst, .. } if dst.var == forgotten => edge.step = Step::Skip,
                Step::Atomic(atomic) => forget(&mut atomic.body, forgotten),
                Step::Load { .. } | Step::Store { .. } | Step::Skip | Step::Assume(_) => {}
                Step::Assign { .. } | Step::Havoc { .. } | Step::Fence(_) => {}
                Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } => {}
                Step::RemoteAtomic(_) | Step::Flush(_) => {}
            }
        }
    }
    let mut changed = program.clone();
    for template in &mut changed.templates {
        forget(&mut template.cfg, forgotten);
    }
    changed
}

/// `projects`: a variable that a property reads, or whose values the states do not all have.
#[test]
fn variables_that_are_wrongly_forgotten() {
    let (mut asked, mut open, mut accepted) = (0, 0, 0);
    for seed in 0..seeds() {
        let program = random(seed);
        for model in [Model::Sc, Model::Tso, Model::Pso] {
            let original = explore(&program, model, THREADS);
            for number in 0..program.globals.len() {
                let var = GlobalId::from(number);
                let changed = forgotten(&program, var);
                let found = explore(&changed, model, THREADS);
                if original.bounded || found.bounded {
                    continue;
                }
                let named = without(&program, &[var]).unwrap_or(program.clone());
                let certificate = Certificate {
                    forgotten: vec![var],
                    ..of_changed(&changed, &named, &found, model)
                };
                let is_asked = program.properties.iter().any(|property| {
                    let is = |atom: &PropAtom| matches!(atom, PropAtom::Global(v, _) if *v == var);
                    property.cond.any_atom(is)
                });
                let context = format!("seed {seed}, {model}, {number}");
                match result(&program, &certificate) {
                    Ok(()) => {
                        assert!(!original.violated && !is_asked, "{context}");
                        accepted += 1;
                    }
                    Err(Reason::Malformed(_)) => asked += u32::from(is_asked),
                    Err(_) => open += u32::from(!found.violated),
                }
            }
        }
    }
    println!("{asked} asked about, {open} with values that are missing, {accepted} accepted");
    assert!(asked > 50 && open > 50 && accepted > 50);
}

/// Copies that count how many of them have come by, and expect few.
fn counting(seed: u64) -> Program {
    let mut rng = Rng::new(seed + 70);
    let modulus = [1, 4][rng.below(2)];
    let up = bin(BinOp::Mod, bin(BinOp::Add, r(0), k(1)), k(modulus));
    let count = atomic(3, vec![(0, load(0, 0), 1), (1, store(0, up), 2)]);
    let mut code = vec![(0, count, 1)];
    let last = 1 + rng.below(3) as u32;
    for at in 1..last {
        let step = match rng.below(3) {
            0 => load(1, 0),
            1 => store(1, r(0)),
            _ => load(1, 1),
        };
        code.push((at, step, at + 1));
    }
    let few = bin(
        BinOp::Lt,
        r(rng.below(2) as u32),
        k(1 + rng.below(4) as i64),
    );
    code.push((last, assert(few), last + 1));
    let globals = vec![global("x", Init::Value(0)), global("y", Init::Value(0))];
    let copies = thread("t", Count::Any, &["r", "s"], last + 2, code);
    program(globals, vec![copies], Vec::new())
}

/// `kind views`: the states of two copies alone are no proof for any number.
#[test]
fn views_that_do_not_know_of_others() {
    let (mut accepted, mut refused, mut dangerous) = (0, 0, 0);
    for seed in 0..seeds() {
        let program = counting(seed);
        let found = explore(&program, Model::Sc, 2);
        let more = explore(&program, Model::Sc, 3);
        if found.bounded || more.bounded || found.violated {
            continue;
        }
        dangerous += u32::from(more.violated);
        let states = found.states.iter().cloned();
        let certificate = Certificate {
            kind: Kind::Views,
            ..exact(&program, Model::Sc, 2, states, |_| true)
        };
        match result(&program, &certificate) {
            Ok(()) => {
                assert!(!more.violated, "seed {seed}");
                accepted += 1;
            }
            Err(_) => refused += 1,
        }
    }
    println!("{accepted} accepted, {refused} refused, {dangerous} would have hidden a bug");
    assert!(accepted > 0 && refused > 20 && dangerous > 0);
}

/// `invariant`: every state is in the invariant, whatever is in the buffers; what is claimed of the
/// values must still be true of all that are stored.
#[test]
fn claims_that_leave_values_out() {
    let mut counts = [0, 0];
    for seed in 0..seeds() {
        let mut rng = Rng::new(seed + 90);
        let values: Vec<i64> = (0..3).map(|_| rng.below(4) as i64).collect();
        let code = vec![
            (0, store(0, k(values[0])), 1),
            (1, store(0, k(values[1])), 2),
            (2, store(0, k(values[2])), 0),
        ];
        let threads = vec![thread("t", Count::Once, &["r"], 4, code)];
        let program = program(vec![global("x", Init::Value(0))], threads, Vec::new());
        let claimed: Vec<i64> = (0..4).filter(|_| rng.chance(75)).collect();
        let right = values.iter().all(|v| claimed.contains(v));
        let keep = if rng.chance(50) { "newest" } else { "oldest" };
        let among: Vec<String> = claimed.iter().map(i64::to_string).collect();
        if claimed.is_empty() {
            continue;
        }
        let mut body = format!(
            "summary {keep} 1\ninvariant t(x) among {}\n",
            among.join(" ")
        );
        for value in 0..4 {
            writeln!(body, "atom b{value}: t.buf[0] = {value}").expect("a string");
        }
        for (at, value) in [(0, values[2]), (1, values[0]), (2, values[1])] {
            for shape in ["", " buffers t(x)", " buffers t(x+ x)", " buffers t(x+)"] {
                if keep == "newest" && shape.ends_with("(x+)") {
                    continue;
                }
                // The newest store is the last that was issued.
                let known = keep == "newest" && !shape.is_empty();
                let data = if known {
                    format!("b{value}")
                } else {
                    "true".to_owned()
                };
                writeln!(body, "at t@{at}{shape}: {data}").expect("a string");
            }
        }
        for model in WEAK {
            let fingerprint = Fingerprint::of(&program, model, 0);
            let text = format!(
                "palisade certificate 1\nfingerprint {fingerprint}\nkind inductive\nmodel {model}\n\
                 threads 0\n{body}end\n"
            );
            // Under PSO a buffer has one variable's stores.
            let text = match model {
                Model::Pso => text.replace("t.buf[0]", "t.buf(x)[0]"),
                Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => text,
            };
            let certificate = parse(&program, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let found = result(&program, &certificate);
            if right {
                assert_eq!(found, Ok(()), "seed {seed}, {model}\n{text}");
            } else {
                assert_eq!(
                    found,
                    Err(Reason::SummaryInvariant),
                    "seed {seed}, {model}\n{text}"
                );
            }
            counts[usize::from(right)] += 1;
        }
    }
    println!("{counts:?}");
    assert!(counts[0] > 20 && counts[1] > 20);
}
