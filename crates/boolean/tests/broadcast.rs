//! Boolean broadcast programs: the examples of [Donaldson et al., CAV 2011] and its appendix A, and
//! the semantics of each construct.

use crate::plain;

use palisade_boolean::check::{Options, Stop, Target};
use palisade_boolean::counted;
use palisade_boolean::parse;
use palisade_boolean::resolve::resolve;
use palisade_logic::Limits;
use plain::{Checker, Outcome};

/// `holds` or `violated in n steps`, and how many states.
fn check(text: &str, threads: u32) -> (String, usize) {
    let program = parse(text).unwrap_or_else(|e| panic!("{e:?}"));
    let resolved = resolve(&program).unwrap_or_else(|e| panic!("{e:?}"));
    let options = Options {
        threads,
        max_states: Some(100_000),
        merge: false,
        limits: Limits::default(),
    };
    let mut checker = Checker::new(&resolved, &options);
    let verdict = match checker.run() {
        Ok(Outcome::Safe) => "holds".to_owned(),
        Ok(Outcome::Violated(steps)) => format!("violated in {steps} steps"),
        Err(stop) => format!("{stop:?}"),
    };
    let counted = match counted::Checker::new(&resolved, &options).run() {
        Ok(counted::Outcome::Safe) => "holds".to_owned(),
        Ok(counted::Outcome::Violated(run)) => format!("violated in {} steps", run.steps.len()),
        Err(_) => verdict.clone(),
    };
    assert_eq!(counted, verdict, "counted threads and named ones: {text}");
    (verdict, checker.states.len())
}

fn verdict(text: &str, threads: u32) -> String {
    check(text, threads).0
}

/// [Donaldson et al., CAV 2011], 1.1: `s != l` in a local variable without a broadcast.
#[test]
fn mixed_predicates_in_locals_need_a_broadcast() {
    let unsound = "local b = 1;\n1: assert b;\n2: b = b ? * : 1;\n";
    assert_eq!(verdict(unsound, 2), "holds");
    let sound = "local b = 1;\n1: assert b;\n2: b, [b] = (b ? * : 1), ([b] ? * : 1);\n";
    assert_eq!(verdict(sound, 1), "holds");
    assert_eq!(verdict(sound, 2), "violated in 3 steps");
}

/// [Donaldson et al., CAV 2011], 2.2: `[b] = choose([b] && b, [b] ^ b)` for `s = l` and `s == l`.
#[test]
fn the_canonical_broadcast() {
    let program = "\
        shared done = 0;\n\
        thread writer {\n\
            local b = 1;\n\
            1: b, [reader.b], done = 1, choose([b] && b, [b] ^ b), 1;\n\
        }\n\
        thread reader[*] {\n\
            local b = INIT;\n\
            1: assume done;\n\
            2: assert b;\n\
        }\n";
    assert_eq!(verdict(&program.replace("INIT", "1"), 2), "holds");
    assert_eq!(
        verdict(&program.replace("INIT", "0"), 2),
        "violated in 3 steps"
    );
}

/// A broadcast changes all passive threads and not the active one; the right-hand
/// sides speak of the store before.
#[test]
fn broadcasts_reach_passive_threads_only() {
    let text = "\
        shared first = 1;\n\
        local l = 0, m = 0;\n\
        1: goto 2, 5;\n\
        2: skip;\n\
        3: first, m, [l], [m] = 0, !m, 1, [l] constrain first;\n\
        4: assert !l && m;\n\
        9: goto 9;\n\
        5: assume !first;\n\
        6: assert l && !m;\n";
    assert_eq!(verdict(text, 3), "holds");
    let broken = text.replace("assert l && !m", "assert m");
    assert_eq!(verdict(&broken, 3), "violated in 3 steps");
}

#[test]
fn star_is_chosen_anew_at_each_occurrence() {
    assert_eq!(
        verdict("local a = 0;\nassert * || !*;\n", 1),
        "violated in 1 steps"
    );
    assert_eq!(verdict("local a = *;\nassert a || !a;\n", 1), "holds");
    assert_eq!(
        check("shared a = *, b = *;\ninitially a ^ b;\n1: skip;\n", 1),
        ("holds".into(), 2)
    );
    let choose = "shared a = 0;\n1: a = choose(1, 1);\n2: assert a;\n\
                  3: a = choose(0, 1);\n4: assert !a;\n5: a = choose(0, 0);\n6: assert a;\n";
    assert_eq!(verdict(choose, 1), "violated in 6 steps");
}

#[test]
fn constraints_relate_before_and_after() {
    let text = "shared a = 0, b = 0;\n1: a, b = *, * constrain ('a == 'b) && ('a ^ a);\n\
                2: assert a && b;\n";
    assert_eq!(check(text, 1), ("holds".into(), 3));
    assert_eq!(
        verdict(&text.replace(" && ('a ^ a)", ""), 1),
        "violated in 2 steps"
    );
}

#[test]
fn assume_waits() {
    let text = "shared turn = 0;\n\
        thread a { 1: assume turn; 2: turn = 0; 3: assert 0; }\n\
        thread b { 1: VALUE; }\n";
    assert_eq!(verdict(&text.replace("VALUE", "skip"), 1), "holds");
    assert_eq!(
        verdict(&text.replace("VALUE", "turn = 1"), 1),
        "violated in 4 steps"
    );
}

const PETERSON: &str = "\
    shared f0 = 0, f1 = 0, turn = 0;\n\
    thread p {\n\
        top: f0 = 1;\n\
        turn = 1;\n\
        wait: goto w1, w2;\n\
        w1: assume !f1 || !turn;\n\
        goto cs;\n\
        w2: assume f1 && turn;\n\
        goto wait;\n\
        cs: skip;\n\
        f0 = 0;\n\
        goto top;\n\
    }\n\
    thread q {\n\
        top: f1 = 1;\n\
        turn = 0;\n\
        wait: assume !f0 || turn;\n\
        cs: f1 = 0;\n\
        goto top;\n\
    }\n\
    never p@cs && q@cs;\n";

#[test]
fn locations_are_not_passed_over() {
    assert_eq!(verdict(PETERSON, 1), "holds");
    let broken = PETERSON.replace("turn = 1", "turn = 0");
    assert!(verdict(&broken, 1).starts_with("violated"));
    // cs is reached by a goto and left by a skip: it is a state all the same.
    let never = "thread p { 1: goto cs, 2; cs: skip; 2: skip; }\nnever p@cs;\n";
    assert_eq!(verdict(never, 1), "violated in 1 steps");
    let never = "thread p { 1: goto cs, 2; cs: goto 2; 2: skip; end: }\nnever p@end;\n";
    assert!(verdict(never, 1).starts_with("violated"));
}

#[test]
fn traces_say_who_did_what() {
    let text = "shared a = 0;\nlocal l = 0;\n1: assume !a;\n2: a, l = 1, 1;\n3: [l] = 1;\n\
                4: assert !(a && l && *);\n";
    let program = parse(text).expect("right");
    let resolved = resolve(&program).expect("right");
    let options = Options {
        threads: 2,
        max_states: None,
        merge: false,
        limits: Limits::default(),
    };
    let Ok(counted::Outcome::Violated(trace)) = counted::Checker::new(&resolved, &options).run()
    else {
        panic!("it is violated")
    };
    assert_eq!(trace.threads, ["thread[0]", "thread[1]"]);
    assert!(matches!(trace.target, Target::Assert(_)));
    let texts: Vec<&str> = trace
        .steps
        .iter()
        .map(|s| &text[s.span.start as usize..s.span.end as usize])
        .collect();
    assert_eq!(
        texts,
        [
            "assume !a",
            "a, l = 1, 1",
            "[l] = 1",
            "assert !(a && l && *)"
        ]
    );
    assert_eq!(trace.steps[2].shared, [("a".to_owned(), true)]);
    assert_eq!(trace.steps[1].locals, [("l".to_owned(), true)]);
}

#[test]
fn limits_end_as_no_verdict() {
    let names: Vec<String> = (0..64).map(|i| format!("a{i} = *")).collect();
    let text = format!("shared {};\n1: skip;\n", names.join(", "));
    assert_eq!(verdict(&text, 1), format!("{:?}", Stop::Choices(64)));
    let text = format!("shared {};\n1: skip;\n", names[..20].join(", "));
    assert!(verdict(&text, 1).starts_with("States"));
}
