//! Soft invariants in the text of a heap program: what is read, and what is refused.

use palisade_program::Source;
use palisade_program::heap::print;

const HEAD: &str = "spec stack;\nstruct node { data value; node next; }\nshared node top;\n\
                    shared lock l;\n";

fn program(body: &str) -> String {
    format!(
        "{HEAD}method push(data v) {{ node n = new node; node t = top; {body} n.value = v; \
         n.next = t; top = n; commit; }}\nmethod pop() returns data {{ commit; return empty; }}\n"
    )
}

/// The soft invariants of `push`, as they are printed.
fn read(body: &str) -> Vec<String> {
    let text = program(body);
    match palisade_frontend::heap::parse(Source::new("soft.pal", text.as_str())) {
        Ok(parsed) => {
            let shown = print::program(&parsed.program);
            let softs = shown.lines().filter(|line| line.contains("  soft "));
            softs.map(|line| line.trim().to_owned()).collect()
        }
        Err(errors) => panic!("{}", errors.render(false)),
    }
}

fn refused(body: &str) -> String {
    match palisade_frontend::heap::parse(Source::new("soft.pal", program(body).as_str())) {
        Ok(_) => panic!("{body} was read"),
        Err(errors) => errors.render(false),
    }
}

#[test]
fn every_form_is_read() {
    let forms = [
        "n != null",
        "t == null",
        "n == t",
        "t != top",
        "n.next == t",
        "n.next != null",
        "entered(t)",
        "!left(t)",
        "written(n)",
        "first(t)",
        "last(t)",
        "result(t)",
        "was(top, t)",
        "reaches(top, t)",
        "done",
        "nothing",
        "noted",
        "holds(l)",
    ];
    for form in forms {
        assert_eq!(
            read(&format!("soft {form};")),
            [format!("at 3  soft {form}")]
        );
    }
    assert_eq!(
        read("soft !(n == t) when !done;"),
        ["at 3  soft n != t when !done"]
    );
    // The side of the comparison does not matter.
    assert_eq!(read("soft null == t;"), ["at 3  soft t == null"]);
    assert_eq!(read("soft top == t;"), ["at 3  soft t == top"]);
}

/// They speak of the thread in front of its next step, also behind a join of paths.
#[test]
fn places() {
    let behind = read("if (t == null) { n.next = t; soft done; }");
    let after = read("if (t == null) { n.next = t; } soft done;");
    assert_eq!(behind.len(), 1);
    assert_eq!(behind, after);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (body, message) in [
        ("soft m != null;", "unknown variable `m`"),
        ("soft n.nxt == t;", "has no field `nxt`"),
        ("soft n.value == t;", "a pointer is asked for here"),
        ("soft v != null;", "a pointer is asked for here"),
        ("soft entered(top);", "a local is asked for here"),
        ("soft was(l, n);", "this is no shared pointer"),
        ("soft holds(top);", "this is no shared lock"),
        ("soft finished(n);", "this cannot be said of a thread"),
        ("soft done(n);", "this cannot be said of a thread"),
        ("soft n == t && done;", "this cannot be said of a thread"),
        ("soft n.next.next == t;", "this cannot be said of a thread"),
        ("soft top == top;", "one side must be a local"),
        ("soft;", "expected"),
    ] {
        let text = refused(body);
        assert!(text.contains(message), "{body}: {text}");
        assert!(text.contains("soft.pal:5:"), "{body}: {text}");
    }
    let outside = format!("{HEAD}init {{ soft done; }}\nmethod push(data v) {{ commit; }}\n");
    let errors = palisade_frontend::heap::parse(Source::new("soft.pal", outside.as_str()));
    let errors = errors.err().map(|errors| errors.render(false));
    assert!(errors.is_some_and(|text| text.contains("a soft invariant outside a method")));
}
