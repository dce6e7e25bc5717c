//! Output: printed structures can be read again; pictures follow the conventions.

use palisade_shape::analysis::{Analysis, Input, Options, analyse, read_structures};
use palisade_shape::draw::{dot, page, svg};
use palisade_shape::print::tvs;
use palisade_shape::report::text;
use palisade_shape::syntax::Diagnostics;

const PROGRAM: &str = "%p isthread(v)\n%p x(v) unique pointer\n%p n(v, w) function\n%p busy()\n\
%%\n%action start() { { busy() = 1/2 } }\n\
%action check() { %message (E(v, w) x(v) & n(v, w)) -> \"linked\" }\n%%\n\
a start() b\nb check() c\n";

const STATES: &str = "%n = {t, u, w}\n%p = { sm = {w:1/2, t:1/2} isthread = {t} x = {u}\n\
n = {u->w:1/2, w->w:1/2, t->u} }\n";

fn run() -> Analysis {
    // `isthread` is the model's own here, so the file is not read as a concurrent program.
    let program = PROGRAM.replace("isthread", "is_thread");
    let states = STATES.replace("isthread", "is_thread");
    let p = Input {
        name: "p.tvp",
        text: &program,
    };
    let s = Input {
        name: "s.tvs",
        text: &states,
    };
    analyse(p, s, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn printed_structures_are_read_back() {
    let a = run();
    for at in &a.fixpoint.locations {
        for s in at.set.structures() {
            let printed = tvs(&a.model.vocabulary, s);
            let mut errors = Diagnostics::default();
            let input = Input {
                name: "again.tvs",
                text: &printed,
            };
            let read = read_structures(&a.model, input, &Options::default(), &mut errors);
            assert!(errors.is_empty(), "{errors}\n{printed}");
            assert_eq!(read.as_slice(), std::slice::from_ref(s));
        }
    }
}

#[test]
fn pictures_follow_the_conventions() {
    let a = run();
    let voc = &a.model.vocabulary;
    let s = &a.fixpoint.locations[1].set.structures()[0];
    let d = dot(voc, "b", s);
    assert!(d.contains("shape=hexagon, peripheries=2"), "{d}");
    assert!(d.contains("label=\"x\", shape=box, peripheries=1"), "{d}");
    assert!(
        d.contains("style=dotted") && d.contains("busy = 1/2"),
        "{d}"
    );
    let picture = svg(voc, s);
    assert_eq!(
        picture.matches("<polygon").count(),
        2,
        "a summary thread has a double line"
    );
    assert_eq!(
        picture.matches("<rect").count(),
        3,
        "one single and one double rectangle"
    );
    assert!(picture.contains("stroke-dasharray"));
    for tag in ["svg", "text", "defs", "marker"] {
        let open = picture.matches(&format!("<{tag}")).count();
        assert_eq!(open, picture.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert!(page(voc, "a < b", std::slice::from_ref(s)).contains("<h1>a &lt; b</h1>"));
}

#[test]
fn a_message_comes_with_its_trace_and_structure() {
    let a = run();
    let report = text(&a);
    let expected = "message: linked (value 1/2, 1 times)\n  a: start()\n  b: check()\n    %n = {";
    assert!(report.contains(expected), "{report}");
    assert!(
        report.contains("run from") && report.ends_with("violated: linked\n"),
        "{report}"
    );
}

/// An action that only larger worlds than are looked at can take: the verdict says that it was not
/// confirmed, and so does a note.
#[test]
fn actions_that_no_small_world_takes_are_told() {
    let names: Vec<String> = (0..9).map(|i| format!("v{i}")).collect();
    let mut apart = Vec::new();
    for (i, a) in names.iter().enumerate() {
        apart.extend(names[i + 1..].iter().map(|b| format!("{a} != {b}")));
    }
    let nine = format!("E({}) {}", names.join(", "), apart.join(" & "));
    let program = format!(
        "%p busy()\n%%\n%action start() {{ {{ busy() = 1 }} }}\n\
         %action nine() {{ %p {nine} {{ busy() = 0 }} }}\n%%\na start() b\nb nine() c\n"
    );
    let p = Input {
        name: "p.tvp",
        text: &program,
    };
    let s = Input {
        name: "s.tvs",
        text: "%n = {u}\n%p = { sm = {u:1/2} }\n",
    };
    let a = analyse(p, s, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let said = text(&a);
    assert!(said.contains("1 of 2 actions)"), "{said}");
    assert!(
        said.contains("note: 1 of 2 actions rest on the analysis alone"),
        "{said}"
    );
}
