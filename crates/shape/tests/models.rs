//! What public models need of the front end and of the confirmation, in small models of our own.

use palisade_shape::analysis::{Analysis, Input, Options, analyse};
use palisade_shape::report::notes;
use palisade_shape::verdict::Verdict;

fn run(name: &str, program: &str, states: &str, options: &Options<'_>) -> Analysis {
    let text = |name, text| Input { name, text };
    match analyse(text(name, program), text("s.tvs", states), options) {
        Ok(analysis) => analysis,
        Err(errors) => panic!("{errors}"),
    }
}

/// Whether the naive evaluator has confirmed every action that did anything.
fn every_action_confirmed(a: &Analysis) -> bool {
    matches!(a.verdict, Verdict::Holds { edges, fired, .. } if edges == fired && fired > 0)
}

/// Numbers without an end: no finite structure satisfies the rule, so nothing small is there to
/// confirm the result on unless the rule is left out.
const COUNTER: &str = "%p zero(v) unique\n%p at(v) unique\n\
%p succ(v, w) function invfunction antireflexive\n\
%i nat(v) = E(z) zero(z) & succ*(z, v)\n\
%r nat(v) & !(E(w) succ(v, w) & nat(w)) ==> 0\n%r !(E(v) at(v)) ==> 0\n%%\n\
%action up() { %f { at(v), at(v) & succ(v, w) } { at(v) = E(w) at(w) & succ(w, v) } }\n\
%action look() { %message (E(v) at(v) & FORBIDDEN(v)) -> \"reached\" }\n%%\n\
a up() a\na look() b\n";

const NUMBERS: &str = "%n = {z, more}\n%p = { sm = {more:1/2} zero = {z} at = {z} \
nat = {z, more} succ = {z->more:1/2, more->more:1/2} }\n";

#[test]
fn endless_numbers_are_confirmed_on_beginnings() {
    let program = COUNTER.replace("FORBIDDEN", "!nat");
    let a = run("p.tvp", &program, NUMBERS, &Options::default());
    assert!(every_action_confirmed(&a), "{:?}", a.verdict);
    let Verdict::Holds { relaxed, .. } = &a.verdict else {
        panic!("{:?}", a.verdict);
    };
    assert_eq!(relaxed.len(), 1);
    assert!(
        notes(&a).iter().any(|n| n.contains("p.tvp:5")),
        "{:?}",
        notes(&a)
    );
    // A message is not refuted by such a world: it is no world of the input.
    let reached = COUNTER.replace("FORBIDDEN", "!zero");
    let a = run("p.tvp", &reached, NUMBERS, &Options::default());
    assert_eq!(
        (a.verdict.word(), a.fixpoint.messages.len()),
        ("unknown", 1)
    );
    // Without worlds to look at nothing is confirmed.
    let mut options = Options::default();
    options.bounds.visits = 0;
    let a = run("p.tvp", &program, NUMBERS, &options);
    assert_eq!(a.verdict.word(), "unknown");
}

/// Twenty objects that cannot be told apart by fewer: larger than worlds usually are.
#[test]
fn a_large_concrete_input_is_its_own_world() {
    let names: Vec<String> = (0..20).map(|i| format!("o{i}")).collect();
    let each = |f: &dyn Fn(&String) -> String| names.iter().map(f).collect::<String>();
    let program = format!(
        "{}%p x(v) unique\n%p n(v, w) function\n%%\n\
         %action go() {{ %f {{ x(v), x(v) & n(v, w) }} {{ x(v) = E(w) x(w) & n(w, v) }} }}\n\
         %action check() {{ %message (E(v) c_o0(v) & x(v)) -> \"back\" }}\n%%\n\
         a go() b\nb check() c\n",
        each(&|o| format!("%p c_{o}(v)\n"))
    );
    let next = (0..19).map(|i| format!("o{i}->o{}", i + 1));
    let states = format!(
        "%n = {{{}}} %p = {{ {} x = {{o0}} n = {{{}}} }}",
        names.join(", "),
        each(&|o| format!("c_{o} = {{{o}}} ")),
        next.collect::<Vec<_>>().join(", ")
    );
    let a = run("p.tvp", &program, &states, &Options::default());
    assert!(every_action_confirmed(&a), "{:?}", a.verdict);
}

/// Structures may use predicates that exist without a declaration, also in a sequential model.
#[test]
fn structures_use_built_in_predicates() {
    let program = "#warning \"odd, but no error\"\n%p x(v) unique\n%%\n\
        %action go() { %message (E(v) x(v)) -> \"x\" }\n%%\na go() b\n";
    let states = "%n = {u, w, t} %p = { ready = {w, t} isthread = {t} }";
    let a = run("p.tvp", program, states, &Options::default());
    assert_eq!(a.verdict.word(), "holds");
    // They are abstraction predicates: the three objects stay apart.
    assert_eq!(a.fixpoint.locations[0].set.structures()[0].len(), 3);
}

/// Sets as arguments of actions, and blanks inside `|/`.
#[test]
fn arguments_may_name_sets() {
    let program = "%s Mine {x}\n%s Yours {y}\n%s All Mine + Yours\n\
        foreach (z in All) { %p z(v) unique }\n%%\n\
        %action clear(LOCALS) { { foreach (z in LOCALS) { z(v) = 0 } } }\n\
        %action check(LOCALS) { %message (E(v) ( | / { z(v) : z in LOCALS } )) -> \"left\" }\n\
        %%\na clear(Mine) b\nb check(WHICH) c\n";
    let states = "%n = {u} %p = { x = {u} y = {u} }";
    let word = |which| {
        let program = program.replace("WHICH", which);
        run("p.tvp", &program, states, &Options::default())
            .verdict
            .word()
    };
    assert_eq!((word("Mine"), word("Yours")), ("holds", "violated"));
}

/// Main starts a thread by an update of `ready` and then writes. The thread may come first; TVLA
/// lets it wait until main has taken its next step, and misses that.
#[test]
fn a_started_thread_may_run_at_once() {
    let program = "%p written()\n%p job(v) unique\n%%\n\
        %action start() { { ready(v) = ready(v) | job(v) } }\n\
        %action write() { { written() = 1 } }\n\
        %action read() { %message (!written()) -> \"too early\" }\n%%\n\
        %thread main { m1 start() m2 m2 write() m3 }\n%thread other { o1 read() o2 }\n%%\n";
    let states = "%t = {m(main), o(other)} %n = {} %p = { ready = {m} job = {o} }";
    let verdict = |delayed_start| {
        let options = Options {
            delayed_start,
            ..Options::default()
        };
        run("p.tvm", program, states, &options).verdict.word()
    };
    assert_eq!((verdict(false), verdict(true)), ("violated", "holds"));
}

/// A functional dependency is a rule: two tuples that agree in the first arguments are one.
#[test]
fn functional_dependencies_are_rules() {
    let program = |clause: &str| {
        format!(
            "%p at(t, x, y) {clause}\n%p a(v) unique\n%p b(v) unique\n%p c(v) unique\n%%\n\
             %action check() {{ %message (E(t, x, y, z) a(t) & b(x) & at(t, x, y) & at(t, x, z) & \
             y != z) -> \"two\" }}\n%%\nl check() m\n"
        )
    };
    let states = "%n = {u, v, w} %p = { sm = {w:1/2} a = {u} b = {v} at = {(u, v, w):1/2} }";
    let word = |clause| {
        let program = program(clause);
        run("p.tvp", &program, states, &Options::default())
            .verdict
            .word()
    };
    assert_eq!((word(""), word("[t, x] --> y")), ("violated", "unknown"));
    let input = |name, text| Input { name, text };
    let wrong = program("[t, q] --> y");
    let refused = analyse(
        input("p.tvp", &wrong),
        input("s.tvs", states),
        &Options::default(),
    );
    let errors = refused.expect_err("q is no argument").to_string();
    assert!(
        errors.contains("p.tvp:1:") && errors.contains("`q` is no argument"),
        "{errors}"
    );
}
