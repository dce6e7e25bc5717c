//! Lowered programs, location by location.
#![allow(missing_docs)]

mod common;

use palisade_frontend::pal;
use palisade_program::Source;

#[test]
fn examples_parse() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).unwrap()
    {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        match pal::parse(Source::new(path.display().to_string(), text)) {
            Ok(p) => println!("{}", common::dump(&p.program)),
            Err(e) => panic!("{e}"),
        }
    }
}
