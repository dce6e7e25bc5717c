//! The front end: located errors with a remedy, and no panic on any input.

use palisade_shape::analysis::{Input, Options, analyse};
use palisade_shape::verdict::Verdict;
use proptest::prelude::*;

const PROGRAM: &str = "%s Vars {x, y}\n\
foreach (z in Vars) { %p z(v) unique pointer }\n\
%p n(v, w) function acyclic\n\
%i shared(v) = E(a, b) a != b & n(a, v) & n(b, v)\n\
%r n(v, w) ==> v != w\n\
#define MOVE(p, q) p(v) = q(v)\n\
%%\n\
%action copy(p, q) { %t p + \" = \" + q %f { q(v) } { MOVE(p, q) } }\n\
%action check() { %message (E(v) x(v) & shared(v)) -> \"shared \" + x }\n\
%%\n\
a copy(y, x) b\n\
b check() c\n";

const STATES: &str = "%n = {u, w}\n%p = { sm = {w:1/2} x = {u} n = {u->w:1/2, w->w:1/2} }\n";

fn run(program: &str, states: &str) -> Result<&'static str, String> {
    let options = Options::default();
    let p = Input {
        name: "p.tvp",
        text: program,
    };
    let s = Input {
        name: "s.tvs",
        text: states,
    };
    match analyse(p, s, &options) {
        Ok(a) => Ok(a.verdict.word()),
        Err(e) => Err(e.to_string()),
    }
}

/// Replaces one part of the program and expects an error that contains the texts.
fn broken(from: &str, to: &str, place: &str, message: &str) {
    assert!(PROGRAM.contains(from), "{from}");
    let error = run(&PROGRAM.replacen(from, to, 1), STATES).expect_err("must be refused");
    assert!(error.contains(place) && error.contains(message), "{error}");
    assert!(error.contains("help:"), "{error}");
}

#[test]
fn the_unbroken_program_holds() {
    assert_eq!(run(PROGRAM, STATES), Ok("holds"));
}

#[test]
fn errors_point_at_their_place() {
    broken("%p n(v, w)", "%p n(v, w", "p.tvp:3", "expected `,`");
    broken("n(b, v)", "m(b, v)", "p.tvp:4:", "`m` is not declared");
    broken("n(a, v) &", "n(a) &", "p.tvp:4:", "takes 2 arguments");
    broken("E(a, b)", "E(a)", "p.tvp:4", "free variable `b`");
    broken(
        "function",
        "funktion",
        "p.tvp:3:",
        "unknown property `funktion`",
    );
    broken("unique", "function", "p.tvp:2:", "arity 2");
    broken("%%\n%action", "%action", "p.tvp:7:", "expected `%%`");
    broken(
        "b check()",
        "b chek()",
        "p.tvp:12:",
        "`chek` is not defined",
    );
    broken("copy(y, x)", "copy(y)", "p.tvp:11:", "takes 2 arguments");
    broken("-> \"shared", "\"shared", "p.tvp:9:", "expected `->`");
    broken(
        "z in Vars",
        "z in Wars",
        "p.tvp:2:",
        "set `Wars` is not declared",
    );
    broken(
        "#define MOVE",
        "#defin MOVE",
        "p.tvp:6",
        "unknown directive",
    );
    broken("%t p", "%param q in Vars %t p", "p.tvp:8:", "decomposition");
}

#[test]
fn errors_in_structures() {
    let with = |s: &str| run(PROGRAM, s).expect_err("must be refused");
    assert!(with("%n = {u} %p = { q = {u} }").contains("`q` is not declared"));
    assert!(with("%n = {u} %p = { x = {w} }").contains("`w` is not listed"));
    assert!(with("%n = {u} %p = { n = {u} }").contains("arity 2"));
    assert!(with("%n = {u} %p = { sm = {u} }").contains("`sm` cannot be 1"));
    assert!(with("").contains("no structure"));
    // Two objects for a unique predicate: nothing consistent, so an error, not a success.
    let error = with("%n = {u, w} %p = { x = {u, w} }");
    assert!(
        error.contains("x is unique") && error.contains("nothing was analysed"),
        "{error}"
    );
}

#[test]
fn a_message_without_a_run_is_unknown() {
    // The summary list may be shared only abstractly: is[n] is 1/2 but no rule allows it.
    let states =
        "%n = {u, w}\n%p = { sm = {w:1/2} x = {u} n = {u->w:1/2, w->w:1/2} shared = {u:1/2} }\n";
    let program = PROGRAM.replace("%r n(v, w) ==> v != w", "%r n(v, w) ==> !x(w)");
    assert_eq!(run(&program, states), Ok("holds"));
}

#[test]
fn property_violations_on_runs_are_not_hidden() {
    // The update makes n no function: the abstract engine drops the state, the verdict must not
    // say that all is well.
    let program = "%p x(v) unique\n%p n(v, w) function\n%%\n\
        %action link() { { n(v, w) = n(v, w) | x(v) } }\n%%\na link() b\n";
    let states = "%n = {u, w} %p = { x = {u} n = {u->w} }";
    let p = Input {
        name: "p.tvp",
        text: program,
    };
    let s = Input {
        name: "s.tvs",
        text: states,
    };
    let a = analyse(p, s, &Options::default()).expect("readable");
    assert!(matches!(a.verdict, Verdict::Unknown(_)), "{:?}", a.verdict);
}

#[test]
fn wrong_update_formulas_are_not_trusted() {
    let program = "%p x(v) unique\n%p n(v, w) function\n%i has(v) = E(w) n(v, w)\n%%\n\
        %action link() { { n(v, w) = n(v, w) | x(v) & !x(w) has(v) = has(v) } }\n\
        %action bad() { %message (E(v, w) x(v) & n(v, w) & !has(v)) -> \"no\" }\n%%\n\
        a link() b\nb bad() c\n";
    assert_eq!(run(program, "%n = {u, w} %p = { x = {u} }"), Ok("unknown"));
}

/// What is missing is told where it should have been, or where its other half stands.
#[test]
fn missing_ends_are_found() {
    let missing = |from: &str, to: &str, place: &str, message: &str, help: &str| {
        assert!(PROGRAM.contains(from), "{from}");
        let error = run(&PROGRAM.replacen(from, to, 1), STATES).expect_err("must be refused");
        let first = error.lines().next().unwrap_or_default();
        assert!(
            first.starts_with(place) && first.contains(message),
            "{error}"
        );
        assert!(error.contains(help), "{error}");
    };
    let brace = |place: &str| format!("is the `}}` missing that closes {place}?");
    let foreach = brace("p.tvp:2:21");
    missing(
        "unique pointer }",
        "unique pointer",
        "p.tvp:7",
        "found `%%`",
        &foreach,
    );
    let action = brace("p.tvp:8:20");
    missing(
        "MOVE(p, q) } }",
        "MOVE(p, q) }",
        "p.tvp:9",
        "%action",
        &action,
    );
    missing(
        "{ MOVE(p, q) } }",
        "MOVE(p, q) }",
        "p.tvp:8:",
        "expected",
        "help:",
    );
    missing(
        "\" = \"",
        "\" = ",
        "p.tvp:8:",
        "the string is not closed",
        "add `\"`",
    );
    missing(
        "%r n",
        "/* %r n",
        "p.tvp:5:1",
        "the comment is not closed",
        "add `*/`",
    );
    missing(
        "copy(y, x)",
        "copy(y, z)",
        "p.tvp:11:3",
        "`z` is not declared",
        "`q` of p.tvp:8",
    );
    missing(
        "check() c",
        "chek() c",
        "p.tvp:12:3",
        "`chek` is not defined",
        "%action",
    );

    let error = run(PROGRAM, "%n = {u}\n%p = { x = {u}\n%n = {w}\n%p = { }\n");
    let error = error.expect_err("must be refused");
    assert!(
        error.contains("s.tvs:3:1") && error.contains("closes s.tvs:2:6?"),
        "{error}"
    );
    assert_eq!(error.matches("error:").count(), 1, "{error}");
}

/// Spellings of public models that no preprocessor of C knows, but whose meaning is plain.
#[test]
fn elseif_and_backslashes_are_read() {
    let branches = |defines: &str| {
        format!(
            "{defines}#ifdef A\n%n = {{u}} %p = {{ x = {{u}} }}\n#elseif\n\
             %n = {{u}} %p = {{ nosuch = {{u}} }}\n#endif\n"
        )
    };
    assert_eq!(run(PROGRAM, &branches("#define A\n")), Ok("holds"));
    let error = run(PROGRAM, &branches("")).expect_err("the second branch is taken");
    assert!(error.contains("s.tvs:4"), "{error}");
    let condition = "#if 0\n%n = {u}\n#elseif 1 < 2\n%n = {u, w}\n#endif\n%p = { x = {w} }";
    assert_eq!(run(PROGRAM, condition), Ok("holds"));

    let load = |path: &str, _: &str| {
        (path == "../lib/states.tvs").then(|| (path.to_owned(), STATES.to_owned()))
    };
    let options = Options {
        loader: &load,
        ..Options::default()
    };
    let input = |name, text| Input { name, text };
    let states = input("s.tvs", "#include \"..\\lib\\states.tvs\"\n");
    let analysis = analyse(input("p.tvp", PROGRAM), states, &options).expect("it is found");
    assert_eq!(analysis.verdict.word(), "holds");
}

#[test]
fn deep_and_long_inputs_end() {
    let deep = format!("%i p() = {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(run(&deep, "").is_err());
    let macros = "#define A B B\n#define B C C\n#define C A A\nA A A\n".repeat(20);
    assert!(run(&macros, "").is_err());
    let long = format!("%s S {{{}}}\n", "a, ".repeat(1_000_000));
    assert!(run(&long, "").is_err());
    assert!(run("#include \"p.tvp\"", "").is_err());
}

/// What does not fit in memory is refused or unknown, not a crash.
#[test]
fn huge_tables_are_not_built() {
    let vars: Vec<String> = (0..12).map(|i| format!("v{i}")).collect();
    let all = vars.join(", ");
    let objects: Vec<String> = (0..20).map(|i| format!("o{i}")).collect();
    let program = format!(
        "%p x(v) unique\n%p wide({all})\n%%\n%action go() {{ {{ x(v) = 0 }} }}\n%%\na go() b\n"
    );
    let states = format!("%n = {{{}}} %p = {{ }}", objects.join(", "));
    let error = run(&program, &states).expect_err("must be refused");
    assert!(error.contains("do not fit in memory"), "{error}");

    // Twenty objects with names of their own, a precondition of twelve variables, a message
    // and a definition that nest as many.
    let names = |what: fn(usize) -> String| (0..20).map(what).collect::<Vec<_>>().join(" ");
    let clique = |glue: &str| {
        let pairs = vars
            .iter()
            .flat_map(|v| vars.iter().map(move |w| format!("n({v}, {w})")));
        pairs.collect::<Vec<_>>().join(glue)
    };
    let states = format!(
        "%n = {{{}}} %p = {{ {} q = 1/2 n = {{o1->o2:1/2}} }}",
        objects.join(", "),
        names(|i| format!("c{i} = {{o{i}}}"))
    );
    let head = format!(
        "{}\n%p n(v, w)\n%i q() = E({all}) {}\n%%\n",
        names(|i| format!("%p c{i}(v)\n")),
        clique(" & ")
    );
    let message = format!(
        "%action go() {{ %message (E({all}) {}) -> \"m\" {{ n(y, z) = n(z, y) }} }}\n",
        clique(" & ")
    );
    let program = format!("{head}{message}%%\na go() b\n");
    assert_eq!(run(&program, &states), Ok("unknown"));
    let bound = format!("%action go() {{ %p {} }}\n", clique(" | "));
    let program = format!("{head}{bound}%%\na go() b\n");
    assert_eq!(run(&program, &states), Ok("unknown"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(text in "\\PC{0,200}", states in "\\PC{0,80}") {
        let _ = run(&text, &states);
        let _ = run(PROGRAM, &states);
    }

    #[test]
    fn mutated_programs_never_panic(
        at in 0..PROGRAM.len(), cut in 0..12usize, put in "[-%a-z(){}!&|=,.+*/:\\[\\]01\" \n#]{0,6}",
        s_at in 0..STATES.len(), s_cut in 0..6usize,
    ) {
        let splice = |text: &str, at: usize, cut: usize, put: &str| {
            let end = (at + cut).min(text.len());
            format!("{}{put}{}", &text[..at], &text[end..])
        };
        let _ = run(&splice(PROGRAM, at, cut, &put), STATES);
        let _ = run(PROGRAM, &splice(STATES, s_at, s_cut, &put));
    }
}

/// What belongs to TVLA's decomposition changes nothing and is told, with the first place of each kind.
#[test]
fn directives_of_the_decomposition_are_ignored() {
    let text = PROGRAM
        .replace("%s Vars", "%pset Vars")
        .replace(
            "%r n(v, w)",
            "%dname x(v) | y(v) z\n%closecycle n -> x(v)\n%dname y(v)\n%r n(v, w)",
        )
        .replace(
            "%t p + \" = \" + q %f",
            "%t p + \" = \" + q %frame_pre x(v1) %compose |/{ z(v1) : z in Vars } %frame x(v1) %f",
        )
        .replace("MOVE(p, q) } }", "MOVE(p, q) } %decompose x(v) }")
        .replace("%message (", "%message [x(v)] (")
        .replace("+ x }", "+ x %decompose }");
    let analyse_text = |text: &str| {
        let options = Options::default();
        let p = Input {
            name: "p.tvp",
            text,
        };
        let s = Input {
            name: "s.tvs",
            text: STATES,
        };
        analyse(p, s, &options).expect("a program")
    };
    let (plain, decomposed) = (analyse_text(PROGRAM), analyse_text(&text));
    assert_eq!(plain.verdict.word(), decomposed.verdict.word());
    assert_eq!(plain.fixpoint.kept(), decomposed.fixpoint.kept());
    let notes = palisade_shape::report::notes(&decomposed).join("\n");
    for told in [
        "p.tvp:1:1: that the set is parametric",
        "p.tvp:5:1: `%dname`, and 1 more of this kind, is ignored",
        "p.tvp:6:1: `%closecycle`",
        "`%compose` is ignored",
        "`%frame` is ignored",
        "`%frame_pre` is ignored",
        "`%decompose`, and 1 more",
        "the composition formula of the message is ignored",
    ] {
        assert!(notes.contains(told), "{told} in {notes}");
    }
    let wrong = text.replace("%compose |/", "%compose |/ |/");
    assert!(run(&wrong, STATES).is_err());
}
