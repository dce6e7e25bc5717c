//! Partial order: the conditions of an ample set, each by a program that goes
//! wrong without it.

use crate::common;

use common::{parse, word};
use palisade_machine::{Options, explore};
use palisade_program::{
    CfgBuilder, Expr, FenceKind, LocId, Model, Place, Program, Span, Step, Template,
};

/// The verdict, which has to be the same without reduction.
#[track_caller]
fn verdict(program: &Program, model: Model) -> &'static str {
    let mut options = Options::new(model);
    let reduced = explore(program, &options).unwrap();
    options.partial_order = false;
    let plain = explore(program, &options).unwrap();
    assert_eq!(word(&reduced.verdict), word(&plain.verdict));
    word(&reduced.verdict)
}

#[test]
fn a_thread_that_runs_for_ever_does_not_starve_others() {
    let text = "shared x = 0;
        thread p { local i = 0; while (1) { i = (i + 1) % 3; } }
        thread q { x = 1; }
        never x == 1;";
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        assert_eq!(verdict(&parse(text), model), "violated");
    }
}

#[test]
fn places_and_locals_that_a_property_sees_are_not_passed_over() {
    let text = "shared x = 0;
        thread p { local r = 0; a: skip; r = 1; b: skip; r = 0; }
        thread q { local r = 0; a: skip; r = 1; b: skip; r = 0; }";
    for (property, expected) in [
        ("never p@a && q@b;", "violated"),
        ("never p.r == 1 && q.r == 1;", "violated"),
        ("never p@b && p.r == 0;", "holds"),
    ] {
        assert_eq!(
            verdict(&parse(&format!("{text}\n{property}")), Model::Sc),
            expected
        );
    }
}

/// From one location a thread may pass a fence, which waits, or go elsewhere at
/// once: going elsewhere must not be preferred.
#[test]
fn a_choice_with_a_step_that_waits_is_left_open() {
    let mut program = parse("shared x = 0; thread p { x = 1; } never x == 5;");
    let x = palisade_program::GlobalId(0);
    let span = Span::default();
    let mut b = CfgBuilder::new();
    let locs: Vec<LocId> = (0..4).map(|_| b.loc()).collect();
    let store = Step::Store {
        dst: Place::scalar(x),
        value: Expr::Const(1),
    };
    let fails = Step::Assert {
        cond: Expr::FALSE,
        kind: palisade_program::AssertKind::User,
    };
    b.edge(locs[0], store, locs[1], span);
    b.edge(locs[1], Step::Fence(FenceKind::Full), locs[2], span);
    b.edge(locs[1], Step::Skip, locs[3], span);
    b.edge(locs[2], fails, locs[3], span);
    let (cfg, _) = b.finish(locs[0], locs[3]);
    program.templates[0] = Template {
        cfg,
        labels: Vec::new(),
        ..program.templates[0].clone()
    };
    assert_eq!(verdict(&program, Model::Tso), "violated");
    assert_eq!(verdict(&program, Model::Pso), "violated");
}
