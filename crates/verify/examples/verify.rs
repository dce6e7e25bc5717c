//! Runs the loop on a `.pal` file: a tool for working on the engine.
use palisade_program::{Model, Source, Verdict};
use palisade_verify::{Options, verify};

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().expect("a file");
    let model = match args.next().as_deref() {
        Some("tso") => Model::Tso,
        Some("pso") => Model::Pso,
        _ => Model::Sc,
    };
    let text = std::fs::read_to_string(&file).expect("a readable file");
    let parsed = palisade_frontend::pal::parse(Source::new(file.clone(), text));
    let Ok(parsed) = parsed else {
        println!("{file}: does not parse");
        return;
    };
    let started = std::time::Instant::now();
    let options = Options {
        model,
        progress: Some(|p| {
            eprintln!(
                "round {} predicates {} states {}",
                p.round, p.predicates, p.states
            );
        }),
        certify: std::env::var("NOCERT").is_err(),
        falsify: std::env::var("NO_FALSIFY").is_err(),
        transitions: std::env::var("TRANS").is_ok(),
        parameterised: std::env::var("PARAM").is_ok(),
        refine: std::env::var("NOREFINE").is_err(),
        max_rounds: std::env::var("ROUNDS").map_or(200, |r| r.parse().expect("a number")),
        compress: std::env::var("NOCOMP").is_err(),
        ..Options::default()
    };
    let report = verify(&parsed.program, &options);
    let verdict = match &report.verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Violated(v) => format!("violated: {} ({} steps)", v.message, v.trace.steps.len()),
        Verdict::Unknown(u) => format!("unknown: {u}"),
    };
    println!(
        "{file} {model}: {verdict} certified={} in {:?}",
        report.certified,
        started.elapsed()
    );
    println!("{:?}", report.stats);
    if let (Some(c), Ok(_)) = (&report.certificate, std::env::var("CERT")) {
        println!("{}", palisade_certify::print(&parsed.program, c));
    }
    for p in &report.predicates {
        println!("  {p}");
    }
}
