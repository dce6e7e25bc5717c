//! Proves a set, writes, reads and checks the certificate; says what each costs. `FILE...`
use std::time::Instant;

use palisade_linearize::sets::{certificate, prove};
use palisade_program::Source;

fn main() {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).expect("the file can be read");
        let program = match palisade_frontend::heap::parse(Source::new(&file, &text)) {
            Ok(parsed) => parsed.program,
            Err(errors) => panic!("{}", errors.render(false)),
        };
        let start = Instant::now();
        let proof = match prove(&program, None) {
            Ok(Ok(proof)) => proof,
            other => {
                println!("{file}: {:?}", other.map(|o| o.map(|_| ())));
                continue;
            }
        };
        let proved = start.elapsed();
        let start = Instant::now();
        let text = proof.certificate.to_string();
        let read = certificate::parse(&text).expect("it can be read");
        assert_eq!(read, proof.certificate, "what was read is what was written");
        let wrote = start.elapsed();
        let start = Instant::now();
        let checked = read.check(&program, None);
        let line = checked
            .as_ref()
            .err()
            .map(|o| program.source.position(o.span.start).line);
        println!(
            "{file}: {} views, proof {proved:.1?}, text {} KB {wrote:.1?}, check {:.1?}: {checked:?} {line:?}",
            proof.views,
            text.len() / 1024,
            start.elapsed(),
        );
    }
}
