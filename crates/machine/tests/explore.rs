//! What `explore` promises beside the models: bounds, deadlocks, final states,
//! traces, RMA.

use crate::common;

use std::collections::BTreeSet;

use common::{parse, run, word};
use palisade_machine::{Bound, Options, explore};
use palisade_program::{Broken, Domain, Model, Program, Unknown, Verdict};

/// [Baumann et al., VMCAI 2018], Figure 2.
const FIGURE_2: &str = "
process one { shared Y = 1; }
process two {
    shared X = 2;
    shared R = 0;
    local r = 0;
    put(Y, one, X);
    X = 3;
    R = get(Y, one);
    r = R;
}
finally (two.r != 3);";

#[test]
fn buffers_without_bound_are_a_touched_bound() {
    let text = "shared x = 0; thread t { while (1) { x = 1; } } never x == 2;";
    let found = run(text, Model::Tso);
    assert_eq!(word(&found.verdict), "unknown");
    assert!(found.bounds.contains(Bound::Buffer));
    assert_eq!(word(&run(text, Model::Sc).verdict), "holds");
    let bug = "shared x = 0; thread t { while (1) { x = 1; } } never x == 1;";
    assert_eq!(word(&run(bug, Model::Tso).verdict), "violated");
}

#[test]
fn ranges_and_overflow_are_touched_bounds() {
    let text = "shared x = 0; thread t { local r = 0; while (1) { r = r + 1; } } never x == 1;";
    let mut options = Options::new(Model::Sc);
    options.range = Some(Domain { lo: -5, hi: 5 });
    let found = explore(&parse(text), &options).unwrap();
    assert_eq!(
        found.verdict,
        Verdict::Unknown(Unknown::Bound(vec![palisade_program::Bound::Search(
            Bound::Range
        )]))
    );
    assert!(found.deadlock.is_none(), "a bound is no deadlock");
    let big = "shared x = 0; thread t { local r = 9223372036854775807; r = r + 1; x = r; }";
    let found = run(big, Model::Sc);
    assert!(found.bounds.contains(Bound::Overflow));
    assert_eq!(word(&found.verdict), "unknown");
}

#[test]
fn choices_among_all_integers_are_a_touched_bound() {
    let text = "shared x = 0; thread t { local r = 0; r = *; x = r; } never x == 9;";
    assert_eq!(word(&run(text, Model::Sc).verdict), "unknown");
    let small = "shared x = 0; thread t { local r = 0; r = *; x = r; } never x == 3;";
    assert_eq!(word(&run(small, Model::Sc).verdict), "violated");
    let domain = "shared x in 0..3 = *; thread t { skip; } never x == 4;";
    assert_eq!(word(&run(domain, Model::Sc).verdict), "holds");
    let start = "shared x in 0..3 = *; thread t { skip; } never x == 2;";
    let Verdict::Violated(violation) = run(start, Model::Sc).verdict else {
        panic!("2 is a possible start");
    };
    assert!(violation.trace.steps.is_empty());
    assert_eq!(violation.trace.initial["x"], 2);
}

#[test]
fn limits_end_as_unknown() {
    let text = "shared x = 0; thread t { local r = 0; while (1) { r = (r + 1) % 1000; x = r; } }
                thread u { local r = 0; while (1) { r = (r + 1) % 1000; } } never x == -1;";
    let program = parse(text);
    let mut options = Options::new(Model::Sc);
    options.max_states = Some(1000);
    let found = explore(&program, &options).unwrap();
    assert!(found.bounds.contains(Bound::States));
    assert!(matches!(found.verdict, Verdict::Unknown(Unknown::Bound(_))));
    let mut options = Options::new(Model::Sc);
    options.max_memory = Some(10_000);
    let found = explore(&program, &options).unwrap();
    assert_eq!(found.verdict, Verdict::Unknown(Unknown::Memory));
    let options = Options::new(Model::Sc);
    options
        .cancel
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let found = explore(&program, &options).unwrap();
    assert_eq!(found.verdict, Verdict::Unknown(Unknown::Interrupted));
    let mut options = Options::new(Model::Sc);
    options.deadline = Some(std::time::Instant::now());
    let found = explore(&program, &options).unwrap();
    assert_eq!(found.verdict, Verdict::Unknown(Unknown::Time));
}

#[test]
fn any_number_of_threads_never_holds() {
    let text = "shared x = 0; thread t[*] { x = 1; } never x == 2;";
    let found = run(text, Model::Sc);
    assert!(found.bounds.contains(Bound::Threads));
    assert_eq!(word(&found.verdict), "unknown");
    let two = "shared x = 0; thread t[*] { l: skip; } never t#1@l && t#2@l;";
    assert_eq!(word(&run(two, Model::Sc).verdict), "violated");
}

#[test]
fn deadlocks_are_reported_and_violations_only_when_asked_for() {
    let text = "shared m = 0; shared n = 0;
                thread a { lock(m); lock(n); unlock(n); unlock(m); }
                thread b { lock(n); lock(m); unlock(m); unlock(n); }";
    let found = run(text, Model::Tso);
    assert_eq!(word(&found.verdict), "holds");
    let deadlock = found.deadlock.expect("both may wait for each other");
    assert_eq!(deadlock.trace.steps.len(), 2);
    let asked = Program {
        deadlock: true,
        ..parse(text)
    };
    let options = Options::new(Model::Tso);
    let Verdict::Violated(violation) = explore(&asked, &options).unwrap().verdict else {
        panic!("asked for");
    };
    assert_eq!(violation.broken, Broken::Deadlock);
    assert_eq!(violation.trace.steps.len(), 2);
    let fine = "shared x = 0; thread a { x = 1; } thread b { while (x != 1) { } }";
    assert!(run(fine, Model::Tso).deadlock.is_none());
    // A failed assumption is no deadlock, wherever the others are; a block that waits is.
    let assumed =
        "shared x = 0; thread a { assume(x == 1); } thread b { atomic { assume(x == 2); } }";
    assert!(run(assumed, Model::Tso).deadlock.is_none());
    let waits = "shared x = 0; thread a { x = 1; } thread b { atomic { assume(x == 2); } }";
    assert!(run(waits, Model::Tso).deadlock.is_some());
}

#[test]
fn what_no_run_reaches_is_told() {
    let text = "shared x = 0; shared l = 1;
                thread a { lock(l); critical: assert(x == 0); unlock(l); }
                thread b { assume(x == 1); assert(x == 2); }
                never a@critical && x == 7;";
    let told = |text: &str, model| {
        let found = run(text, model);
        assert_eq!(word(&found.verdict), "holds", "{text}");
        let what = found.vacuous.into_iter().map(|(_, what)| what.to_string());
        what.collect::<BTreeSet<String>>()
    };
    let all = [
        "`a@critical` is never reached",
        "no run passes this assumption",
        "this assertion is never reached",
    ];
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        assert_eq!(told(text, model), all.map(str::to_owned).into());
        let free = text.replace("l = 1", "l = 0").replace("x == 1", "x == 0");
        let fine = free.replace("assert(x == 2)", "assert(x == 0)");
        assert_eq!(told(&fine, model), BTreeSet::new());
    }
}

#[test]
fn what_must_be_reached() {
    let text = "shared x = 0; thread a { x = 1; end: skip; } reach x == 1; reach x == 2;";
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let found = run(text, model);
        let Verdict::Violated(violation) = &found.verdict else {
            panic!("{:?}", found.verdict);
        };
        assert_eq!(violation.broken, Broken::Unreachable(1));
        assert_eq!(found.reached.len(), 1);
        let fine = run(&text.replace("x == 2", "a@end"), model);
        assert_eq!(word(&fine.verdict), "holds");
        assert_eq!(fine.reached.len(), 2);
    }
}

#[test]
fn atomic_blocks_happen_as_a_whole_or_not_at_all() {
    let text = "shared x = 0; shared y = 0;
                thread a { atomic { x = 1; assume(y == 1); x = 2; } }
                thread b { y = 1; }
                never x == 1;";
    assert_eq!(word(&run(text, Model::Sc).verdict), "holds");
    // A block with a loop that comes back to where it was adds nothing.
    let loops = "shared x = 0;
                 thread a { atomic { while (x != 1) { skip; } } }
                 thread b { x = 1; }
                 finally (x == 1);";
    assert_eq!(word(&run(loops, Model::Pso).verdict), "holds");
    let endless = "shared x = 0; thread a { local r = 0; atomic { while (1) { r = r + 1; } } }";
    let found = run(endless, Model::Sc);
    assert!(found.bounds.contains(Bound::Block));
    let fails = "shared x = 0;
                 thread a { local r = 0; atomic { r = x; assert(r == 0); } }
                 thread b { x = 1; }";
    let Verdict::Violated(violation) = run(fails, Model::Tso).verdict else {
        panic!("b may come first");
    };
    assert_eq!(
        violation.broken,
        Broken::Assert(palisade_program::AssertKind::User)
    );
    assert_eq!(violation.trace.steps.len(), 3, "store, update, block");
}

#[test]
fn traces_show_memory_and_buffers_and_switch_rarely() {
    let text = "shared x = 0; shared y = 0;
                thread left { local r = 0; x = 1; r = y; }
                thread right { local r = 0; y = 1; r = x; }
                finally (!(left.r == 0 && right.r == 0));";
    let Verdict::Violated(violation) = run(text, Model::Tso).verdict else {
        panic!("store buffering");
    };
    let trace = &violation.trace;
    assert_eq!(trace.threads, ["left", "right"]);
    let shown: Vec<String> = trace
        .steps
        .iter()
        .map(|s| {
            let who = &trace.threads[s.thread];
            let memory = if s.by_memory { " memory" } else { "" };
            format!("{who}{memory}: {} | {:?}", s.text, s.buffers)
        })
        .collect();
    assert!(trace.steps.len() >= 6, "{shown:#?}");
    let mut switches = 0;
    for pair in trace.steps.windows(2) {
        switches += usize::from(pair[0].thread != pair[1].thread);
    }
    assert!(switches <= 2, "{shown:#?}");
    assert!(
        shown.iter().any(|s| s.contains("x = 1 reaches memory")),
        "{shown:#?}"
    );
    assert!(
        shown.iter().any(|s| s.contains(r#"{"left": ["x = 1"]}"#)),
        "{shown:#?}"
    );
    let last = trace.steps.last().unwrap();
    assert_eq!(last.memory["x"], 1);
    assert!(violation.message.contains("finally"));
}

#[test]
fn final_states_are_collected() {
    let text = "shared x = 0; shared y = 0;
                thread p { local r = 0; x = 1; r = y; }
                thread q { local r = 0; y = 1; r = x; }";
    let mut counts = Vec::new();
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let mut options = Options::new(model);
        options.collect_finals = true;
        let found = explore(&parse(text), &options).unwrap();
        counts.push(found.finals.len());
    }
    assert_eq!(counts, [3, 4, 4]);
}

/// The final values of `two`'s local.
fn final_values(text: &str, model: Model) -> BTreeSet<i64> {
    let mut program = parse(text);
    program.properties.clear();
    let mut options = Options::new(model);
    options.collect_finals = true;
    let found = explore(&program, &options).unwrap();
    found.finals.iter().map(|f| f.locals[1][0]).collect()
}

#[test]
fn remote_operations_are_done_in_halves_at_any_time() {
    assert_eq!(final_values(FIGURE_2, Model::Sc), BTreeSet::from([2]));
    assert_eq!(
        final_values(FIGURE_2, Model::Rma),
        BTreeSet::from([0, 1, 2, 3])
    );
    assert_eq!(word(&run(FIGURE_2, Model::Sc).verdict), "holds");
    assert_eq!(word(&run(FIGURE_2, Model::Rma).verdict), "violated");
}

#[test]
fn a_flush_waits_for_both_halves_of_operations_with_its_process_only() {
    let put = FIGURE_2.replace("put(Y, one, X);", "put(Y, one, X); flush(one);");
    assert_eq!(word(&run(&put, Model::Rma).verdict), "holds");
    assert_eq!(final_values(&put, Model::Rma), BTreeSet::from([0, 2]));
    let both = put.replace("R = get(Y, one);", "R = get(Y, one); flush(one);");
    assert_eq!(final_values(&both, Model::Rma), BTreeSet::from([2]));
    let get = FIGURE_2.replace("R = get(Y, one);", "R = get(Y, one); flush(one);");
    assert_eq!(word(&run(&get, Model::Rma).verdict), "violated");
    let other = FIGURE_2
        .replace(
            "process two",
            "process three { shared Z = 0; }\nprocess two",
        )
        .replace("put(Y, one, X);", "put(Y, one, X); flush(three);");
    assert_eq!(word(&run(&other, Model::Rma).verdict), "violated");
    let all = FIGURE_2.replace("put(Y, one, X);", "put(Y, one, X); flush(all);");
    assert_eq!(word(&run(&all, Model::Rma).verdict), "holds");
}

#[test]
fn store_buffer_models_refuse_processes() {
    let error = explore(&parse(FIGURE_2), &Options::new(Model::Tso)).unwrap_err();
    assert!(error.message.contains("tso"), "{error}");
    assert_ne!(error.span.start, error.span.end);
}
