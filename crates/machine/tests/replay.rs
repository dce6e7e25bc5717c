//! Replay: what `explore` finds can be replayed, and nothing else can.

use crate::common;

use common::{parse, soak};
use palisade_arbitrary::{Rng, Shape, generate};
use palisade_machine::{
    Action, ActionKind, Refused, ReplayError, Start, ThreadStep, replay, replay_guided,
    replay_threads,
};
use palisade_program::{Cell, EdgeId, Model, Program, Step};

const BUFFERING: &str = "shared x = 0; shared y = 0;
    thread left { local r = 0; x = 1; r = y; assert(r == 1); }
    thread right { y = 1; }";

/// The edge of `thread` whose step satisfies `f`.
fn edge(program: &Program, thread: usize, f: impl Fn(&Step) -> bool) -> EdgeId {
    let template = program.instances(2)[thread].template;
    let edges = &program.template(template).cfg.edges;
    EdgeId::from(
        edges
            .iter()
            .position(|e| f(&e.step))
            .expect("there is such a step"),
    )
}

fn is_store(step: &Step) -> bool {
    matches!(step, Step::Store { .. })
}

fn is_load(step: &Step) -> bool {
    matches!(step, Step::Load { .. })
}

fn step(thread: usize, edge: EdgeId) -> Action {
    let choice = None;
    let kind = ActionKind::Step { edge, choice };
    Action { thread, kind }
}

#[test]
fn steps_that_the_model_forbids_are_refused() {
    let program = parse(BUFFERING);
    let store = edge(&program, 0, is_store);
    let load = edge(&program, 0, is_load);
    let update = |cell| Action {
        thread: 0,
        kind: ActionKind::Update { cell: Cell(cell) },
    };
    let refused = |model, actions: &[Action]| match replay(&program, &Start::new(model, 2), actions)
    {
        Err(ReplayError::Step { step, refused }) => Some((step, refused)),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    };
    let not_there = Some((0, Refused::NotThere));
    assert_eq!(refused(Model::Tso, &[step(0, load)]), not_there);
    assert_eq!(refused(Model::Tso, &[step(0, store), update(0)]), None);
    let nothing = Some((0, Refused::NothingToDo));
    assert_eq!(refused(Model::Tso, &[update(0)]), nothing);
    let nothing = Some((1, Refused::NothingToDo));
    assert_eq!(refused(Model::Tso, &[step(0, store), update(1)]), nothing);
    assert_eq!(refused(Model::Sc, &[step(0, store), update(0)]), nothing);
    assert_eq!(
        refused(Model::Sc, &[step(7, store)]),
        Some((0, Refused::NoThread))
    );
}

#[test]
fn guided_replay_finds_the_steps_of_memory() {
    let text = "shared x = 0; shared y = 0;
        thread left { local r = 0; x = 1; fence; r = y; }
        thread right { local r = 0; r = x; assert(r == 0); }";
    let program = parse(text);
    let thread_step = |thread, edge| ThreadStep {
        thread,
        edge,
        choice: None,
        path: None,
    };
    let assertion = |s: &Step| matches!(s, Step::Assert { .. });
    let steps = [
        thread_step(0, edge(&program, 0, is_store)),
        thread_step(1, edge(&program, 1, is_load)),
        thread_step(1, edge(&program, 1, assertion)),
    ];
    // Under SC the store is seen; under TSO it has to reach memory first.
    let sc = replay_threads(&program, &Start::new(Model::Sc, 2), &steps).unwrap();
    assert!(sc.violation.is_some());
    assert_eq!(sc.actions.len(), 3);
    let tso = replay_guided(&program, &Start::new(Model::Tso, 2), &steps, 1000).unwrap();
    assert!(tso.violation.is_some());
    assert_eq!(tso.actions.len(), 4);
    let load_first = [steps[1].clone(), steps[0].clone(), steps[2].clone()];
    let safe = replay_guided(&program, &Start::new(Model::Tso, 2), &load_first, 1000).unwrap();
    assert!(safe.violation.is_none());
    let wrong = [steps[1].clone(), steps[1].clone()];
    let error = replay_guided(&program, &Start::new(Model::Tso, 2), &wrong, 1000);
    assert_eq!(error, Err(ReplayError::NoOrder { step: 1 }));
}

#[test]
fn start_values_must_be_possible() {
    let program = parse(
        "shared x in 0..3 = *; shared y = 1; thread t { local r = 0; r = x; assert(r != 2); }",
    );
    let mut start = Start::new(Model::Sc, 2);
    start.cells.insert(Cell(0), 2);
    start.cells.insert(Cell(1), 1);
    let actions = [
        step(0, edge(&program, 0, is_load)),
        step(0, edge(&program, 0, |s| matches!(s, Step::Assert { .. }))),
    ];
    let found = replay(&program, &start, &actions);
    // The front end may have split the steps further; what matters is the start.
    if let Ok(found) = found {
        assert_eq!(found.trace.initial["x"], 2);
        assert!(found.violation.is_some());
    }
    start.cells.insert(Cell(0), 4);
    let error = replay(&program, &start, &[]);
    assert_eq!(error, Err(ReplayError::Start("x".to_owned())));
    start.cells.insert(Cell(0), 3);
    start.cells.insert(Cell(1), 0);
    let error = replay(&program, &start, &[]);
    assert_eq!(error, Err(ReplayError::Start("y".to_owned())));
}

/// Random actions: replay never panics, and accepts what it should only.
#[test]
fn random_actions_do_not_panic() {
    let mut rng = Rng::new(5);
    for seed in 0..soak(100) {
        let program = parse(&generate(seed, &Shape::default()));
        for model in [Model::Sc, Model::Tso, Model::Pso] {
            let mut actions: Vec<Action> = Vec::new();
            for _ in 0..30 {
                let thread = rng.below(3);
                let edge = EdgeId::from(rng.below(20));
                let kind = match rng.below(4) {
                    0 | 1 => ActionKind::Step {
                        edge,
                        choice: Some(rng.between(-1, 3)),
                    },
                    2 => ActionKind::Block {
                        edge,
                        path: vec![(EdgeId::from(rng.below(4)), None)],
                    },
                    _ => ActionKind::Update {
                        cell: Cell(rng.below(5) as u32),
                    },
                };
                actions.push(Action { thread, kind });
                let start = Start::new(model, 2);
                if replay(&program, &start, &actions).is_err() {
                    actions.pop();
                }
            }
        }
    }
}
