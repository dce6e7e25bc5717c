//! Extrapolation on the examples of [Dan et al., SAS 2013]: Figures 3 and 4 (why predicates must
//! not be buffered themselves), Figure 8 (intra-thread coherence), and how many
//! predicates the rules of section 5 give (Tables 1 and 2); and what extrapolation to value sets
//! needs beyond [Baumann et al., VMCAI 2018].

use palisade_abstraction::hints;
use palisade_abstraction::space::Space;
use palisade_machine::explore;
use palisade_memory::reduced::{Full, Reduced};
use palisade_memory::{pso, tso};
use palisade_program::{Model, Program, Source, Unknown, Verdict};
use palisade_verify::method::extrapolate::copies;
use palisade_verify::{Buffers, Extrapolate, Options, Promote, Report, Sizes, Strategy, verify};

fn parse(text: &str) -> Program {
    let parsed = palisade_frontend::pal::parse(Source::new("figure.pal", text));
    parsed.unwrap_or_else(|e| panic!("{e}\n{text}")).program
}

fn explored(text: &str, model: Model) -> Verdict {
    let options = palisade_machine::Options {
        workers: 1,
        ..palisade_machine::Options::new(model)
    };
    explore(&parse(text), &options)
        .expect("a small program")
        .verdict
}

/// One search with the predicates given, lifted, and nothing else.
fn given(text: &str, model: Model, extrapolate: Extrapolate) -> Report {
    let options = Options {
        model,
        extrapolate,
        strategy: if extrapolate == Extrapolate::Cubes {
            Strategy::Cubes
        } else {
            Strategy::Lazy
        },
        promote: Promote::Never,
        refine: false,
        buffers: Buffers::Bounded(Sizes {
            default: 2,
            named: std::collections::BTreeMap::new(),
        }),
        ..Options::default()
    };
    verify(&parse(text), &options)
}

/// Figure 3, with the assertion after all is written.
const FIGURE_3: &str = "
shared x = 0;
shared y = 0;
thread left { x = 1; fence; }
thread right { y = 1; fence; }
predicate x == y;
predicate x == 1;
predicate y == 1;
predicate x == 0;
predicate y == 0;
finally x != y;
";

/// Figure 4 (b): the naive scheme. The Boolean variable of `x == y` has a buffer of
/// its own in each thread; neither thread sees the other's store, so both write
/// false, and false is what memory gets, beside `x == 1` and `y == 1`.
const FIGURE_4: &str = "
shared equal = 1; // x == y
shared x_is_1 = 0;
shared y_is_1 = 0;
thread left {
    local mine = 0;
    atomic { mine = y_is_1; }
    // What thread left sees of x == y once it has written x.
    x_is_1 = 1;
    equal = mine;
    fence;
}
thread right {
    local mine = 0;
    atomic { mine = x_is_1; }
    y_is_1 = 1;
    equal = mine;
    fence;
}
finally !(x_is_1 == 1 && y_is_1 == 1 && equal == 0);
";

#[test]
fn buffering_predicates_is_unsound_and_is_not_what_we_do() {
    // The program fails under SC and PSO alike,
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        let fails = explored(FIGURE_3, model);
        assert!(matches!(fails, Verdict::Violated(_)), "{model}");
    }
    // the naive scheme has the inconsistent state in which it seems not to,
    let naive = explored(FIGURE_4, Model::Pso);
    assert!(matches!(naive, Verdict::Violated(_)));
    // and with exactly the five predicates of the paper we find the violation.
    for model in [Model::Tso, Model::Pso] {
        for way in [
            Extrapolate::Predicates,
            Extrapolate::Cubes,
            Extrapolate::None,
        ] {
            let report = given(FIGURE_3, model, way);
            assert!(
                matches!(report.verdict, Verdict::Violated(_)),
                "{model} {way:?}: {report:?}"
            );
        }
    }
}

/// Figure 8: a thread sees its own latest store.
const FIGURE_8: &str = "
shared x = 0;
thread one {
    local l1 = 0;
    x = 0;
    x = 1;
    l1 = x;
    fence;
    assert(l1 == 1);
}
predicate x == 0;
predicate x == 1;
predicate one.l1 == 1;
";

#[test]
fn coherence_needs_predicates_over_buffered_values() {
    for model in [Model::Tso, Model::Pso] {
        let unlifted = given(FIGURE_8, model, Extrapolate::None).verdict;
        assert!(
            matches!(unlifted, Verdict::Unknown(Unknown::GaveUp(_))),
            "{unlifted:?}"
        );
        for way in [Extrapolate::Predicates, Extrapolate::Cubes] {
            let report = given(FIGURE_8, model, way);
            assert_eq!(report.verdict, Verdict::Holds, "{model} {way:?}");
            assert!(report.certified);
        }
        // The twin that expects the older store.
        let twin = FIGURE_8.replace("assert(l1 == 1)", "assert(l1 == 0)");
        let report = given(&twin, model, Extrapolate::Predicates);
        assert!(matches!(report.verdict, Verdict::Violated(_)), "{model}");
    }
}

/// Predicates of the SC proof, lifted ones and those of rule 1, for one cell.
fn counts(text: &str, reduce: &dyn Fn(&Program) -> Reduced) -> (usize, usize, usize) {
    let program = parse(text);
    let reduced = reduce(&program);
    let threads = program.instances(2);
    let sc = Space::new(&program, threads.clone(), false);
    let space = Space::new(&reduced.program, threads, false);
    let atoms = hints::atoms(&sc).expect("plain predicates");
    let copies = copies(&sc, &reduced, &space);
    let lifted = copies.lift_atoms(&atoms);
    (
        atoms.len(),
        lifted.len() - atoms.len(),
        copies.generic_count,
    )
}

/// Section 2.3: from 8 predicates for SC, 15 for PSO; Table 1: 17 for TSO.
const ABP: &str = "
shared msg = 0;
shared ack = 0;
thread sender {
    local lack = 0; local sst = 0; local scnt = 0;
    while (1) { lack = ack; if (lack == sst) { sst = 1 - sst; scnt = scnt + 1; msg = sst; } }
}
thread receiver {
    local lmsg = 0; local rst = 0; local rcnt = 0;
    while (1) { lmsg = msg; if (lmsg != rst) { rst = lmsg; rcnt = rcnt + 1; ack = rst; } }
}
predicate msg == 0;
predicate ack == 0;
predicate sender.sst == 0;
predicate sender.lack == 0;
predicate receiver.lmsg == 0;
predicate receiver.rst == 0;
predicate receiver.rcnt == sender.scnt;
predicate receiver.rcnt + 1 == sender.scnt;
never receiver.rcnt > sender.scnt;
";

/// Table 1, Dekker: from 7 predicates, 20 for PSO and 18 for TSO.
const DEKKER: &str = "
shared flag0 = 0;
shared flag1 = 0;
shared turn = 0;
thread left { local f = 0; local t = 0; while (1) { flag0 = 1; f = flag1; t = turn; turn = 1; } }
thread right { local f = 0; local t = 0; while (1) { flag1 = 1; f = flag0; t = turn; turn = 0; } }
predicate flag0 == 0;
predicate flag1 == 0;
predicate turn == 0;
predicate left.f == 0;
predicate left.t == 0;
predicate right.f == 0;
predicate right.t == 0;
never turn > 1;
";

#[test]
fn the_rules_give_as_many_predicates_as_the_paper_says() {
    let pso: &dyn Fn(&Program) -> Reduced = &|p| pso::reduce(p, &|_| 1, Full::Fails);
    let tso: &dyn Fn(&Program) -> Reduced = &|p| tso::reduce(p, 1, Full::Fails);
    assert_eq!(counts(ABP, pso), (8, 2, 5));
    assert_eq!(counts(ABP, tso), (8, 2, 7));
    assert_eq!(counts(DEKKER, pso), (7, 4, 9));
    assert_eq!(counts(DEKKER, tso), (7, 2, 9));
}

/// A bug under SC is found there and replayed under the weak model.
#[test]
fn a_bug_under_sc_is_a_bug_under_the_weak_models() {
    let text = "
shared x[2] = 0;
thread counter { local i = 0; while (1) { x[i % 2] = x[i % 2] + 1; i = i + 1; } }
never x[1] == 2;
";
    for model in [Model::Tso, Model::Pso] {
        for extrapolate in [Extrapolate::Predicates, Extrapolate::Auto] {
            let options = Options {
                model,
                extrapolate,
                ..Options::default()
            };
            let report = verify(&parse(text), &options);
            assert!(matches!(report.verdict, Verdict::Violated(_)), "{report:?}");
            let witness = report.witness.expect("a run");
            assert_eq!(witness.start.model, model);
        }
    }
}

/// What is known of `Y` was known of all that is on its way to it, and of how that compares with
/// `X`, which goes on: no variable replaced by its set says so.
#[test]
fn what_is_said_of_a_target_is_said_of_what_it_may_get() {
    let program = parse(
        "process a { shared X = 0; while (1) { X = X + 1; } }
         process b { shared Y = 0; while (1) { Y = get(X, a); } }
         never Y > X;",
    );
    let options = Options {
        model: Model::Rma,
        strategy: Strategy::Program,
        buffers: Buffers::Abstract(0),
        ..Options::default()
    };
    let report = verify(&program, &options);
    assert_eq!(report.verdict, Verdict::Holds);
    assert!(report.certified);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    let (calls, facts) = report.stats.extrapolated.expect("it was extrapolated");
    assert!(calls == 0 && facts > 0, "{calls} calls, {facts} facts");
}
