//! A small driver: `shape PROGRAM.tvp STATES.tvs [-join rel] [-D X=1] [-workers N] [-dump FOLDER]`.
use palisade_shape::analysis::{Input, Options, analyse};
use palisade_shape::draw::page;
use palisade_shape::report::text;
use std::path::Path;

fn load(path: &str, from: &str) -> Option<(String, String)> {
    let beside = Path::new(from).parent()?.join(path);
    let text = std::fs::read_to_string(&beside).ok()?;
    Some((beside.display().to_string(), text))
}

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut options = Options {
        loader: &load,
        ..Options::default()
    };
    let mut dump = None;
    let mut i = 2;
    while i < args.len() {
        let value = args.get(i + 1).cloned().unwrap_or_default();
        match args[i].as_str() {
            "-join" => options.limits.join = value.parse().expect("a join"),
            "-workers" => options.limits.workers = value.parse().expect("a number"),
            "-ms" => options.limits.structures = value.parse().ok(),
            "-mm" => options.limits.messages = value.parse().ok(),
            "-visits" => options.bounds.visits = value.parse().expect("a number"),
            "-delayed" => options.delayed_start = value == "1",
            "-dump" => dump = Some(value),
            "-D" => {
                let (n, v) = value.split_once('=').unwrap_or((&value, "1"));
                options.defines.push((n.to_owned(), v.to_owned()));
            }
            other => panic!("unknown option {other}"),
        }
        i += 2;
    }
    let read = |name: &str| std::fs::read_to_string(name).expect("a readable file");
    let (program, states) = (read(&args[0]), read(&args[1]));
    let result = analyse(
        Input {
            name: &args[0],
            text: &program,
        },
        Input {
            name: &args[1],
            text: &states,
        },
        &options,
    );
    match result {
        Err(errors) => {
            eprint!("{errors}");
            std::process::ExitCode::from(2)
        }
        Ok(a) => {
            for (l, at) in a.model.locations.iter().zip(&a.fixpoint.locations) {
                if let Some(folder) = &dump {
                    let file = Path::new(folder).join(format!("{l}.html"));
                    let page = page(&a.model.vocabulary, l, at.set.structures());
                    std::fs::write(file, page).expect("a folder that can be written");
                }
            }
            print!("{}", text(&a));
            std::process::ExitCode::from(a.verdict.exit_code())
        }
    }
}
