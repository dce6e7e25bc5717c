//! What people and scripts see, written out: traces in the terminal and in
//! JSON, listings, and pictures of control flow.

use palisade_program::{
    AssertKind, BinOp, CfgBuilder, Count, Expr, Global, Init, Label, Local, LocalAtom, LocalId,
    Origin, Place, Program, Property, PropertyKind, Role, Source, Span, Step, Template,
};
use palisade_report::{
    Actor, Document, Snapshot, Stats, Style, Trace, TraceStep, Verdict, columns, dot, graph,
    listing, svg,
};

/// Store buffering: both threads store, then read the other's variable.
fn store_buffering() -> Trace {
    let state = |memory: [i64; 2], left: &[&str], right: &[&str]| Snapshot {
        memory: vec![("x".into(), memory[0]), ("y".into(), memory[1])],
        buffers: [left, right]
            .map(|b| b.iter().map(ToString::to_string).collect())
            .to_vec(),
    };
    let step = |thread, line: u32, source: &str, step: &str, after| TraceStep {
        thread,
        actor: Actor::Thread,
        line: Some(line),
        column: Some(3),
        source: source.into(),
        step: step.into(),
        after,
    };
    let update = |thread, text: &str, after| TraceStep {
        thread,
        actor: Actor::Memory,
        line: None,
        column: None,
        source: String::new(),
        step: text.into(),
        after,
    };
    Trace {
        threads: vec!["left".into(), "right".into()],
        start: state([0, 0], &[], &[]),
        steps: vec![
            step(0, 4, "  x = 1;", "x = 1", state([0, 0], &["x=1"], &[])),
            step(
                0,
                5,
                "  if (y == 0) {",
                "t = y",
                state([0, 0], &["x=1"], &[]),
            ),
            step(
                0,
                5,
                "  if (y == 0) {",
                "assume(t == 0)",
                state([0, 0], &["x=1"], &[]),
            ),
            step(
                1,
                11,
                "  y = 1;",
                "y = 1",
                state([0, 0], &["x=1"], &["y=1"]),
            ),
            step(
                1,
                12,
                "  if (x == 0) {",
                "t = x",
                state([0, 0], &["x=1"], &["y=1"]),
            ),
            update(0, "x = 1 reaches memory", state([1, 0], &[], &["y=1"])),
        ],
        conclusion: "never left@cs && right@cs".into(),
    }
}

#[test]
fn trace_in_columns() {
    insta::assert_snapshot!(columns::render(&store_buffering(), Style::PLAIN, 100));
}

#[test]
fn trace_in_a_narrow_terminal_wraps() {
    let text = columns::render(&store_buffering(), Style::PLAIN, 62);
    assert!(text.lines().all(|line| line.len() <= 62), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn trace_in_colour_says_the_same() {
    let plain = columns::render(&store_buffering(), Style::PLAIN, 100);
    let coloured = columns::render(&store_buffering(), Style::COLOURED, 100);
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
fn document_of_a_violation() {
    let trace = store_buffering();
    let document = Document {
        input: Some("sb.pal".into()),
        model: Some("tso".into()),
        verdict: Some(Verdict::Violated),
        replayed: Some(true),
        reason: Some(trace.conclusion.clone()),
        trace: Some(trace.to_json()),
        stats: Some(Stats {
            states: Some(42),
            cpu_seconds: 0.5,
            peak_memory_bytes: 1024,
            ..Stats::default()
        }),
        ..Document::new("explore")
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
            span: at("thread"),
        }],
        properties: vec![Property {
            kind: PropertyKind::Finally,
            threads: Vec::new(),
            cond: Expr::TRUE,
            span: Span::default(),
        }],
        hints: Vec::new(),
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
