//! Programs that wait for all copies of a template, with other numbers of copies.

use std::path::Path;

use palisade_frontend::c;
use palisade_program::cfg::Step;
use palisade_program::{Count, Program, Source, Verdict};
use palisade_verify::{
    Options, Report, Threads, verify, verify_threads, waits_for_all, with_threads,
};

/// Workers that each do `body`, are waited for, and what holds then.
fn program(body: &str, finally: &str) -> Program {
    let text = format!(
        "#include <assert.h>\n#include <pthread.h>\nint value;\n\
         pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
         static void *worker(void *unused) {{\n  pthread_mutex_lock(&lock);\n  {body}\n  \
         pthread_mutex_unlock(&lock);\n  return 0;\n}}\n\
         int main(void) {{\n  pthread_t t[3];\n  for (int i = 0; i < 3; i++)\n    \
         pthread_create(&t[i], 0, worker, 0);\n  for (int i = 0; i < 3; i++)\n    \
         pthread_join(t[i], 0);\n  {finally}\n  return 0;\n}}\n"
    );
    let source = Source::new("joins.c", text);
    match c::parse(Path::new("joins.c"), &source, &c::Options::default()) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{}", errors.render(false)),
    }
}

/// What the command says of the program with any number of threads.
fn any(program: &Program) -> Report {
    let any = verify_threads(program, Threads::Any, &Options::default());
    any.expect("nothing depends on the number")
}

fn exactly(program: &Program, n: u32) -> Verdict {
    let changed = with_threads(program, Threads::Exactly(n)).expect("the join is renumbered");
    verify(&changed, &Options::default()).verdict
}

#[test]
fn a_join_waits_for_as_many_as_there_are() {
    let program = program("value = value + 1;", "assert(value == 3);");
    assert!(waits_for_all(&program));
    assert!(program.templates.iter().any(|t| t.count == Count::Fixed(3)));
    assert_eq!(exactly(&program, 3), Verdict::Holds);
    // The join lets main go on with two and with four, and then the sum is another.
    for n in [2, 4] {
        let verdict = exactly(&program, n);
        assert!(matches!(verdict, Verdict::Violated(_)), "{n}: {verdict:?}");
    }
}

#[test]
fn proofs_do_not_need_the_join() {
    let report = any(&program(
        "value = 1; assert(value == 1);",
        "assert(value <= 1);",
    ));
    assert_eq!(report.verdict, Verdict::Holds);
    assert!(report.certified);
}

#[test]
fn what_only_the_join_excludes_is_not_violated() {
    // No thread has run before main looks, unless main waits.
    let report = any(&program("value = 1;", "assert(value == 1);"));
    assert!(
        matches!(report.verdict, Verdict::Unknown(_)),
        "{:?}",
        report.verdict
    );
    assert!(report.witness.is_none());
}

#[test]
fn violations_in_spite_of_the_join_are_runs() {
    let report = any(&program("value = value + 1;", "assert(value < 2);"));
    assert!(
        matches!(report.verdict, Verdict::Violated(_)),
        "{:?}",
        report.verdict
    );
    assert!(report.witness.is_some());
}

/// A count that is used in some other way is not taken for a join.
#[test]
fn other_counts_are_left_alone() {
    let mut program = program("value = 1;", "assert(value == 1);");
    let mut changed = 0;
    for edge in &mut program.templates[0].cfg.edges {
        if let Step::Atomic(block) = &mut edge.step
            && !block.drains()
        {
            // The count is read, and nobody waits.
            let last = block.body.edges.last_mut().expect("a load and an assume");
            last.step = Step::Skip;
            changed += 1;
        }
    }
    assert_eq!(changed, 1, "main waits once");
    assert!(with_threads(&program, Threads::Any).is_err());
    assert!(with_threads(&program, Threads::Exactly(2)).is_err());
}
