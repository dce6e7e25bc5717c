//! Sizes of store buffers from counterexamples: [Abdulla et al., SAS 2012, section 7, case 3], and
//! bounded buffers that overflow.

use palisade_program::{Bound, Model, Program, Source, Unknown, Verdict};
use palisade_verify::{Buffers, Keep, Options, Report, Sizes, verify};

fn parse(text: &str) -> Program {
    match palisade_frontend::pal::parse(Source::new("cells.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

fn ask(text: &str, model: Model, change: impl Fn(&mut Options)) -> Report {
    let mut options = Options {
        model,
        ..Options::default()
    };
    change(&mut options);
    verify(&parse(text), &options)
}

fn abstracted(cells: u32, grow_buffers: bool) -> impl Fn(&mut Options) {
    move |options| {
        options.buffers = Buffers::Abstract(cells);
        options.grow_buffers = grow_buffers;
    }
}

/// Stores without bound, then `a` before `b`, then `more` stores that push both out of the
/// exact cells. The order of the two is known as long as `b` is in one.
fn message(more: usize, first: &str, second: &str) -> String {
    let later: Vec<String> = (1..=more).map(|i| format!("p = {i};\n")).collect();
    let later = later.concat();
    format!(
        "shared n = 0, a = 0, b = 0, p = 0, q = 0;
         thread writer {{
             local i = 0, s;
             while (*) {{ i = i + 1; n = i; }}
             {first} = 1; {second} = 1;
             {later} s = q;
         }}
         thread reader {{ local r, t; r = b; t = a; assert(r == 0 || t == 1); q = 1; }}"
    )
}

/// The cells that the last attempt had, as `--explain` shows them.
fn last_attempt(report: &Report) -> &str {
    &report.attempts.last().expect("something was tried").method
}

#[test]
fn a_spurious_run_says_how_many_cells_are_missing() {
    let text = message(3, "a", "b");
    let few = ask(&text, Model::Tso, abstracted(1, false));
    let Verdict::Unknown(Unknown::Bound(bounds)) = &few.verdict else {
        panic!("{:?}", few.verdict);
    };
    assert_eq!(bounds[..], [Bound::ExactCells(1)]);
    let grown = ask(&text, Model::Tso, abstracted(1, true));
    assert_eq!(grown.verdict, Verdict::Holds);
    assert!(grown.certified);
    // The reader stores nothing: its buffer stays as it is.
    let method = last_attempt(&grown);
    assert!(method.contains("abstract:1,writer=4,"), "{method}");
    // No cell too many: with one less there is a spurious run.
    let less = ask(&text, Model::Tso, abstracted(3, false));
    assert!(matches!(less.verdict, Verdict::Unknown(_)));
}

#[test]
fn the_default_goes_beyond_four_cells() {
    let report = ask(&message(4, "a", "b"), Model::Tso, |_| {});
    assert_eq!(report.verdict, Verdict::Holds, "{:?}", report.attempts);
    assert!(report.certified);
    let twin = ask(&message(4, "b", "a"), Model::Tso, |_| {});
    assert!(matches!(twin.verdict, Verdict::Violated(_)));
}

#[test]
fn under_pso_one_variable_gets_more_cells() {
    // Only of `x` more than one store has to be known: reading it back gives the newest but
    // one of its stores only through memory.
    let text = "shared x = 0, y = 0, q = 0;
        thread writer {
            local i = 0, s;
            while (*) { i = 1 - i; y = i; }
            x = 1; x = 2; x = 3; s = q;
        }
        thread reader { local r, t; r = x; t = x; assert(t >= r); }";
    let coarse = |o: &mut Options| {
        abstracted(1, false)(o);
    };
    let few = ask(text, Model::Pso, coarse);
    let grown = ask(text, Model::Pso, abstracted(1, true));
    assert_eq!(grown.verdict, Verdict::Holds, "{:?}", grown.attempts);
    assert!(grown.certified);
    match few.verdict {
        Verdict::Unknown(_) => {
            let method = last_attempt(&grown);
            assert!(method.contains("writer.x="), "{method}");
            assert!(!method.contains("writer.y="), "{method}");
        }
        other => panic!("one cell should not do: {other:?}"),
    }
}

#[test]
fn no_exact_cell_at_all() {
    let text = "shared x = 0;
        thread writer { local i = 0; while (*) { i = i + 1; x = i; } }
        thread reader { local r; while (*) { r = x; assert(r >= LEAST); } }";
    for model in [Model::Tso, Model::Pso] {
        for keep in [Keep::Newest, Keep::Oldest] {
            let with = |least: &str| {
                ask(&text.replace("LEAST", least), model, |o| {
                    o.keep = keep;
                    abstracted(0, false)(o);
                })
            };
            let holds = with("0");
            assert_eq!(holds.verdict, Verdict::Holds, "{model} {keep:?}");
            assert!(holds.certified);
            assert!(matches!(with("1").verdict, Verdict::Violated(_)));
        }
    }
}

#[test]
fn an_overflow_names_the_buffer() {
    let text = "shared x = 0, y = 0, q = 0;
        thread left { local s; x = 1; y = 1; y = 2; s = q; }
        thread right { local r, t; r = y; t = x; assert(r < 2 || t == 1); }";
    let bounded = |grow_buffers: bool| {
        move |o: &mut Options| {
            let named = std::collections::BTreeMap::default();
            o.buffers = Buffers::Bounded(Sizes { default: 1, named });
            o.grow_buffers = grow_buffers;
        }
    };
    let why = |model| match ask(text, model, bounded(false)).verdict {
        Verdict::Unknown(why) => why.to_string(),
        other => panic!("{other:?}"),
    };
    let (tso, pso) = (why(Model::Tso), why(Model::Pso));
    assert!(tso.ends_with("that of `left`"), "{tso}");
    assert!(pso.ends_with("that of `left` for `y`"), "{pso}");
    let report = ask(text, Model::Tso, bounded(true));
    assert_eq!(report.verdict, Verdict::Holds, "{:?}", report.attempts);
    assert!(last_attempt(&report).contains("bounded:3"));
    let report = ask(text, Model::Pso, bounded(true));
    assert!(matches!(report.verdict, Verdict::Violated(_)));
    assert!(last_attempt(&report).contains("bounded:1,2"));
}

/// Each thread has its own K [Dan et al., SAS 2013, section 3]: one that stores three times before it
/// reads needs three cells, one that stores once needs one.
#[test]
fn sizes_for_each_thread() {
    let text = "shared x = 0, y = 0, z = 0;
        thread many { local r; x = 1; x = 2; z = 3; r = y; assert(r >= 0); }
        thread one { local r; y = 1; r = x; assert(r <= 2); }";
    let bounded = |named: &[(&str, u32)]| {
        let named = named.iter().map(|(n, k)| ((*n).to_owned(), *k)).collect();
        move |options: &mut Options| {
            options.buffers = Buffers::Bounded(Sizes {
                default: 1,
                named: std::collections::BTreeMap::clone(&named),
            });
            options.falsify = false;
        }
    };
    let enough: [(Model, &[(&str, u32)]); 4] = [
        (Model::Tso, &[("many", 3)]),
        (Model::Pso, &[("many", 2)]),
        (Model::Pso, &[("many.x", 2)]),
        (Model::Pso, &[("x", 2)]),
    ];
    for (model, named) in enough {
        let report = ask(text, model, bounded(named));
        assert_eq!(report.verdict, Verdict::Holds, "{model} {named:?}");
        assert!(report.certified, "{model} {named:?}");
    }
    let too_few: [(Model, &[(&str, u32)]); 3] = [
        (Model::Tso, &[("many", 2), ("one", 4)]),
        (Model::Pso, &[("one", 4)]),
        (Model::Pso, &[("many.z", 4), ("one.x", 4)]),
    ];
    for (model, named) in too_few {
        let report = ask(text, model, bounded(named));
        let Verdict::Unknown(Unknown::Bound(bounds)) = &report.verdict else {
            panic!("{model} {named:?}: {:?}", report.verdict);
        };
        assert!(
            matches!(bounds[..], [Bound::BufferOverflow(Some(_))]),
            "{bounds:?}"
        );
    }
}
