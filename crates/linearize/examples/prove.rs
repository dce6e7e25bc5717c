//! Development aid: proves a data structure, prints what came out.
use palisade_linearize::prove::{Level, Options, emit, prove};
use palisade_program::Source;

fn main() {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else { return };
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let Ok(parsed) = palisade_frontend::heap::parse(Source::new(file, text)) else {
        println!("cannot be read");
        return;
    };
    let options = Options::default();
    if args.next().is_some() {
        match emit(&parsed.program, &options, Level::Ghosts) {
            Ok(text) => println!("{}\n-----\n{}", text.program, text.structures),
            Err(no) => println!("{no:?}"),
        }
        return;
    }
    match prove(&parsed.program, &options) {
        Ok(proof) => println!(
            "{} {:?} {:?} kept {} stored {} built {} soft {} locations {} level {:?}",
            proof.verdict.word(),
            proof.reason,
            proof.messages,
            proof.kept,
            proof.stored,
            proof.built,
            proof.text.soft,
            proof.text.locations,
            proof.level
        ),
        Err(no) => println!("{no:?}"),
    }
}
