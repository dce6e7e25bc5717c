//! What people and scripts see, written out: traces in the terminal and in
//! JSON, listings, and pictures of control flow.

use std::collections::BTreeMap;

use palisade_program::{
    AssertKind, BinOp, Broken, CfgBuilder, Count, Expr, Global, Init, Label, Local, LocalAtom,
    LocalId, Names, Origin, Place, Program, Property, PropertyKind, Role, Source, Span, Step,
    Template, Trace, TraceStep, Unknown, Verdict, Violation,
};
use palisade_report::columns::{self, Detail, View};
use palisade_report::{Document, Stats, Style, dot, graph, listing, svg, verdict};

const STORE_BUFFERING: &str = "\
shared x, y;

thread left {
  x = 1;       // may wait in the buffer
  if (y == 0) {
    left_in: skip;
  }
}

thread right {
  y = 1;
  if (x == 0) {
    right_in: skip;
  }
}
";

fn source() -> Source {
    Source::new("sb.pal", STORE_BUFFERING)
}

fn view(source: &Source, style: Style, width: usize) -> View<'_> {
    static NAMES: std::sync::LazyLock<Names> = std::sync::LazyLock::new(Names::default);
    View {
        source,
        names: &NAMES,
        detail: Detail::Full,
        style,
        width,
    }
}

/// The span of a piece of the program.
fn at(piece: &str) -> Span {
    let start = STORE_BUFFERING.find(piece).expect("part of the program");
    Span::new(start, start + piece.len())
}

/// Store buffering: both threads store, then read the other's variable.
fn store_buffering() -> Trace {
    let buffers = |left: &[&str], right: &[&str]| {
        let named = [("left", left), ("right", right)];
        let full = named.into_iter().filter(|(_, entries)| !entries.is_empty());
        full.map(|(name, entries)| {
            let entries = entries.iter().map(ToString::to_string).collect();
            (name.to_owned(), entries)
        })
        .collect()
    };
    let memory = |x, y| BTreeMap::from([("x".to_owned(), x), ("y".to_owned(), y)]);
    let step = |thread, span, text: &str, memory, buffers| TraceStep {
        thread,
        span,
        text: text.into(),
        memory,
        buffers,
        ..TraceStep::default()
    };
    let (x1, y1): (&[&str], &[&str]) = (&["x = 1"], &["y = 1"]);
    let update = TraceStep {
        by_memory: true,
        ..step(
            0,
            at("x = 1"),
            "x = 1 reaches memory",
            memory(1, 0),
            buffers(&[], y1),
        )
    };
    Trace {
        threads: vec!["left".into(), "right".into()],
        initial: memory(0, 0),
        steps: vec![
            step(0, at("x = 1"), "x = 1", memory(0, 0), buffers(x1, &[])),
            step(
                0,
                at("y == 0"),
                "$1 = y (0)",
                memory(0, 0),
                buffers(x1, &[]),
            ),
            step(
                0,
                at("y == 0"),
                "assume($1 == 0)",
                memory(0, 0),
                buffers(x1, &[]),
            ),
            step(1, at("y = 1"), "y = 1", memory(0, 0), buffers(x1, y1)),
            step(1, at("x == 0"), "$1 = x (0)", memory(0, 0), buffers(x1, y1)),
            update,
        ],
        ..Trace::default()
    }
}

fn violation() -> Verdict {
    Verdict::Violated(Box::new(Violation {
        broken: Broken::Property(0),
        span: at("left_in"),
        message: "never left@left_in && right@right_in".into(),
        trace: store_buffering(),
    }))
}

#[test]
fn trace_in_columns() {
    let trace = store_buffering();
    insta::assert_snapshot!(view(&source(), Style::PLAIN, 100).render(&trace));
    assert_eq!(columns::context_switches(&trace), 1);
}

#[test]
fn trace_in_a_narrow_terminal_wraps() {
    let text = view(&source(), Style::PLAIN, 62).render(&store_buffering());
    assert!(text.lines().all(|line| line.len() <= 62), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn trace_in_colour_says_the_same() {
    let plain = view(&source(), Style::PLAIN, 100).render(&store_buffering());
    let coloured = view(&source(), Style::COLOURED, 100).render(&store_buffering());
    assert_ne!(plain, coloured);
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some(at) = rest.find('\u{1b}') {
        stripped.push_str(&rest[..at]);
        let end = rest[at..].find('m').expect("an escape ends in m");
        rest = &rest[at + end + 1..];
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
}

#[test]
fn verdicts_in_words() {
    let touched = Verdict::Unknown(Unknown::Bound(vec![
        palisade_program::Bound::BufferOverflow(None),
    ]));
    let lines = [violation(), touched, Verdict::Holds]
        .map(|verdict| verdict::line(&verdict, &source(), Style::PLAIN));
    insta::assert_snapshot!(lines.concat());
}

#[test]
fn document_of_a_violation() {
    let document = Document {
        input: Some("sb.pal".into()),
        model: Some("tso".into()),
        stats: Some(Stats {
            states: Some(42),
            cpu_seconds: 0.5,
            peak_memory_bytes: 1024,
            ..Stats::default()
        }),
        ..Document::new("explore").with_verdict(&violation(), &source())
    };
    insta::assert_snapshot!(document.to_json());
}

/// `shared x = 0, a[2]; thread t[2] { x = self; cs: r = x; assert(r < 2); }`
fn small_program() -> Program {
    let text = "shared x = 0;\nshared a[2] = {1, *};\nthread t[2] {\n  x = self;\n  cs: r = x;\n  \
                assert(r < 2);\n}\n";
    let at = |needle: &str| {
        let start = text.find(needle).expect("part of the text");
        Span::new(start, start + needle.len())
    };
    let mut cfg = CfgBuilder::new();
    let (start, cs, check, end) = (cfg.loc(), cfg.loc(), cfg.loc(), cfg.loc());
    let x = Place::scalar(0.into());
    let r = LocalId(0);
    cfg.edge(
        start,
        Step::Store {
            dst: x.clone(),
            value: Expr::Atom(LocalAtom::SelfId),
        },
        cs,
        at("x = self"),
    );
    cfg.edge(cs, Step::Load { dst: r, src: x }, check, at("r = x"));
    let below_two = Expr::binary(BinOp::Lt, Expr::Atom(LocalAtom::Local(r)), Expr::Const(2));
    let assert = Step::Assert {
        cond: below_two,
        kind: AssertKind::User,
    };
    cfg.edge(check, assert, end, at("assert"));
    cfg.edge(check, Step::Skip, check, at("assert"));
    cfg.edge(check, Step::Skip, start, at("assert"));
    let (cfg, new) = cfg.finish(start, end);
    let global = |name: &str, len, init| Global {
        name: name.into(),
        len,
        init,
        domain: None,
        role: Role::Data,
        home: None,
        span: Span::default(),
    };
    Program {
        source: Source::new("small.pal", text),
        globals: vec![
            global("x", None, vec![Init::Value(0)]),
            global("a", Some(2), vec![Init::Value(1), Init::Any]),
        ],
        templates: vec![Template {
            name: "t".into(),
            count: Count::Fixed(2),
            is_process: false,
            locals: vec![Local {
                name: "r".into(),
                init: Init::Value(0),
                domain: None,
                role: Role::Data,
                origin: Origin::User,
                span: Span::default(),
            }],
            cfg,
            labels: vec![Label {
                name: "cs".into(),
                loc: new[cs.index()].expect("reachable"),
                span: at("cs"),
            }],
            life: palisade_program::Life::default(),
            span: at("thread"),
        }],
        properties: vec![Property {
            kind: PropertyKind::Finally,
            threads: Vec::new(),
            cond: Expr::TRUE,
            span: Span::default(),
        }],
        ..Program::default()
    }
}

#[test]
fn listing_of_a_program() {
    insta::assert_snapshot!(listing::render(&small_program()));
}

#[test]
fn control_flow_in_dot() {
    insta::assert_snapshot!(dot::render(&graph::control_flows(&small_program())));
}

#[test]
fn control_flow_in_svg() {
    insta::assert_snapshot!(svg::render(&graph::control_flows(&small_program())));
}
