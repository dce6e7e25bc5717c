//! The law of reductions, for all of them and for stacks of several: runs that come back are
//! runs of the original, which the machine replays under its memory model; certificates
//! that come back are accepted by the checker. Where a reduction is exact or has fewer runs
//! than the original, every run comes back.

use std::collections::BTreeMap;
use std::rc::Rc;

use palisade_arbitrary::{Rng, Shape, generate};
use palisade_machine::explore;
use palisade_program::{Asked, Model, Program, Source, Unknown, Verdict};
use palisade_verify::reduction::{Layer, Stack};
use palisade_verify::{Buffers, Options, Sizes, evidence, verify};

fn parse(text: &str) -> Program {
    match palisade_frontend::pal::parse(Source::new("random.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("the generator writes programs that parse: {errors:?}\n{text}"),
    }
}

/// How often something was seen, so that the test keeps saying something.
#[derive(Default)]
struct Seen(BTreeMap<(String, &'static str), usize>);

impl Seen {
    fn count(&mut self, stack: &Stack, what: &'static str) {
        // Numbers of stores or names of variables do not matter.
        let name = |layer: String| layer.split(' ').next().unwrap_or_default().to_owned();
        for layer in stack.describe() {
            *self.0.entry((name(layer), what)).or_default() += 1;
        }
    }

    fn assert_some(&self, layer: &str, what: &'static str) {
        let seen = self.0.get(&(layer.to_owned(), what)).copied();
        assert!(seen.unwrap_or(0) > 0, "{layer}, {what}: {:?}", self.0);
    }
}

/// One program, one stack: what the machine and the verifier say of the top comes back.
fn law(program: Program, layers: &[Layer], options: &Options, seen: &mut Seen) {
    let text = program.source.text().to_owned();
    let original = Rc::new(program);
    let Some(stack) = Stack::apply(&original, layers, options) else {
        return;
    };
    if stack.describe().is_empty() {
        return;
    }
    let limits = palisade_machine::Options {
        max_states: Some(20_000),
        workers: 1,
        ..palisade_machine::Options::new(options.model)
    };
    let Ok(explored) = explore(stack.top(), &limits) else {
        return;
    };
    if let (Verdict::Violated(_), Some(run)) = (&explored.verdict, explored.witness) {
        match stack
            .run_back(run)
            .and_then(|run| evidence::replayed(&original, run))
        {
            Ok(_) => seen.count(&stack, "run"),
            Err(why) => {
                seen.count(&stack, "lost");
                let may_lose = [Layer::Project, Layer::Generalise, Layer::Number];
                let excused = layers.iter().any(|l| may_lose.contains(l));
                assert!(excused, "{layers:?}: {why:?}\n{text}");
            }
        }
        return;
    }
    // The top with nothing else done to it.
    let plain = Options {
        unbuffer: false,
        symmetry: stack.top().has_unbounded_threads(),
        max_rounds: 8,
        max_states: 20_000,
        ..options.clone()
    };
    let report = verify(stack.top(), &plain);
    match (&report.verdict, report.certificate) {
        (Verdict::Holds, Some(certificate)) => {
            let certificate = stack.proof_back(certificate);
            if !stack.keeps_proofs() {
                return;
            }
            let solver = std::sync::Arc::default();
            let checked = evidence::checked(&original, &certificate, options, &solver);
            assert_eq!(checked.map(|_| ()), Ok(()), "{layers:?}\n{text}");
            seen.count(&stack, "proof");
        }
        (
            Verdict::Unknown(why @ (Unknown::CertificateRefused(_) | Unknown::ReplayFailed(_))),
            _,
        ) => {
            panic!("{layers:?}: {why}\n{text}");
        }
        (Verdict::Holds | Verdict::Violated(_) | Verdict::Unknown(_), _) => {}
    }
}

fn soak(usual: u64) -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn stacks_of_reductions() {
    let mut seen = Seen::default();
    for seed in 0..soak(240) {
        let mut rng = Rng::new(seed);
        let model = [Model::Sc, Model::Tso, Model::Pso][seed as usize % 3];
        let shape = Shape {
            threads: 2,
            ..Shape::default()
        };
        let mut program = parse(&generate(seed, &shape));
        let mut layers = Vec::new();
        if rng.below(3) == 0 {
            program.asked = Asked::Properties;
            layers.push(Layer::Select);
        }
        if rng.below(4) > 0 {
            layers.push(Layer::Unbuffer);
        }
        let options = Options {
            model,
            ..Options::default()
        };
        law(program, &layers, &options, &mut seen);
    }
    for what in ["run", "proof"] {
        seen.assert_some("unbuffer", what);
    }
    seen.assert_some("assume", "run");
}

#[test]
fn projections() {
    let mut seen = Seen::default();
    for seed in 0..soak(120) {
        let shape = Shape {
            processes: true,
            ..Shape::default()
        };
        let options = Options {
            model: Model::Rma,
            ..Options::default()
        };
        let program = parse(&generate(seed, &shape));
        law(program, &[Layer::Project], &options, &mut seen);
    }
    // A process that reads what it gets before it has arrived.
    let text = "process p { shared x = 0; local a; x = get(y, q); a = x; }\n\
                process q { shared y = 1; shared z = 0; z = 1; assert(z == 1); }\n";
    let options = Options {
        model: Model::Rma,
        ..Options::default()
    };
    law(parse(text), &[Layer::Project], &options, &mut seen);
    // Arrays at computed indices, whose contents matter or do not.
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        for property in ["v >= 0 || v < 0", "v == 0", "i < 4", "i < 3"] {
            let text = format!(
                "shared x = 0; shared a[4] = 0;\nthread t[*] {{ local i, v; i = choose(0..3); \
                 a[i] = i; v = a[3 - i]; x = 1; assert({property}); }}\n"
            );
            let options = Options {
                model,
                threads: None,
                ..Options::default()
            };
            let layers = [Layer::Project, Layer::Unbuffer, Layer::Number];
            law(parse(&text), &layers, &options, &mut seen);
        }
    }
    seen.assert_some("whatever", "proof");
    seen.assert_some("whatever", "run");
}

/// Programs with copies, right and wrong.
fn copies(declared: &str) -> Vec<String> {
    let lock = |body: &str| {
        format!(
            "shared l = 0;\nshared c = 0;\nthread t[{declared}] {{\n  local r;\n  {body}\n  cs: c = self;\n  \
             r = c;\n  assert(r == self);\n  l = 0;\n}}\nnever t#1@cs && t#2@cs;\n"
        )
    };
    vec![
        lock("atomic { assume(l == 0); l = 1; }"),
        lock("skip;"),
        lock("atomic { assume(l == 0); l = self + 1; }"),
        format!("shared x = 0;\nthread t[{declared}] {{ x = self; assert(self != 3); }}\n"),
    ]
}

#[test]
fn any_number_of_copies() {
    let mut seen = Seen::default();
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let options = Options {
            model,
            threads: None,
            ..Options::default()
        };
        for text in copies("*") {
            law(parse(&text), &[Layer::Number], &options, &mut seen);
            law(
                parse(&text),
                &[Layer::Unbuffer, Layer::Number],
                &options,
                &mut seen,
            );
        }
        for text in copies("5") {
            let few = Options {
                threads: Some(2),
                ..options.clone()
            };
            law(parse(&text), &[Layer::Generalise], &options, &mut seen);
            let layers = [Layer::Unbuffer, Layer::Generalise, Layer::Number];
            law(parse(&text), &layers, &few, &mut seen);
        }
    }
    for layer in ["any", "thread"] {
        seen.assert_some(layer, "run");
        seen.assert_some(layer, "proof");
    }
}

/// The memory model as a reduction: every encoding, with the evidence that comes back.
#[test]
fn encodings() {
    let mut decided = [0; 2];
    for seed in 0..soak(60) {
        let model = [Model::Tso, Model::Pso][seed as usize % 2];
        let program = parse(&generate(seed, &Shape::default()));
        let sizes = |k| {
            Buffers::Bounded(Sizes {
                default: k,
                named: BTreeMap::new(),
            })
        };
        for buffers in [
            sizes(1),
            sizes(3),
            Buffers::Abstract(1),
            Buffers::Abstract(2),
        ] {
            let options = Options {
                model,
                buffers,
                max_rounds: 10,
                max_states: 20_000,
                ..Options::default()
            };
            let report = verify(&program, &options);
            match &report.verdict {
                Verdict::Holds => {
                    assert!(report.certified);
                    decided[0] += 1;
                }
                Verdict::Violated(_) => decided[1] += 1,
                Verdict::Unknown(
                    why @ (Unknown::CertificateRefused(_) | Unknown::ReplayFailed(_)),
                ) => panic!("{why}\n{}", program.source.text()),
                Verdict::Unknown(_) => {}
            }
        }
    }
    assert!(decided.iter().all(|n| *n > 10), "{decided:?}");
}
