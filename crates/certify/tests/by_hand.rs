//! Small programs with certificates written as text: what each rule of the
//! check accepts and refuses.

use crate::support;

use palisade_certify::*;
use palisade_program::*;
use support::build::*;
use support::interpret::Interpreter;
use support::invariant::exact;

fn fingerprinted(program: &Program, model: Model, threads: u32, body: &str) -> String {
    let fingerprint = Fingerprint::of(program, model, threads);
    format!(
        "palisade certificate 1\nfingerprint {fingerprint}\nkind inductive\nmodel {model}\n\
         threads {threads}\n{body}end\n"
    )
}

/// Checks the certificate with this body.
fn verdict(program: &Program, model: Model, threads: u32, body: &str) -> Result<(), Reason> {
    let text = fingerprinted(program, model, threads, body);
    let certificate = parse(program, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let result = check(program, &certificate, &Options::default());
    result.map(|_| ()).map_err(|refusal| refusal.reason)
}

/// Whether the exact set of reachable states is an accepted certificate.
fn certifiable(program: &Program, model: Model) -> bool {
    let found = Interpreter::new(program, model, 2).explore();
    assert!(!found.bounded);
    let certificate = exact(program, model, 2, found.states, |_| true);
    let result = check(program, &certificate, &Options::default());
    assert_eq!(result.is_ok(), !found.violated, "{model}");
    result.is_ok()
}

/// `x` and `y` grow together for ever.
fn counters() -> Program {
    let body = atomic(
        5,
        vec![
            (0, load(0, 0), 1),
            (1, store(0, bin(BinOp::Add, r(0), k(1))), 2),
            (2, load(0, 1), 3),
            (3, store(1, bin(BinOp::Add, r(0), k(1))), 4),
        ],
    );
    let code = vec![(0, body, 0), (0, Step::Skip, 1)];
    let globals = vec![global("x", Init::Value(0)), global("y", Init::Value(0))];
    let threads = vec![thread("t", Count::Any, &["r"], 2, code)];
    let equal = never(Vec::new(), pbin(BinOp::Ne, mem(0), mem(1)));
    program(globals, threads, vec![equal])
}

#[test]
fn an_unbounded_counter() {
    let program = counters();
    let body = "atom p: x = y\nat t[0]@0 t[1]@0: p\nat t[0]@0 t[1]@1: p\nat t[0]@1 t[1]@0: p\nat t[0]@1 t[1]@1: p\n";
    assert_eq!(verdict(&program, Model::Sc, 2, body), Ok(()));
    assert_eq!(verdict(&program, Model::Tso, 2, body), Ok(()));
    assert_eq!(verdict(&program, Model::Pso, 2, body), Ok(()));
    let weaker = body.replace("x = y", "x <= y");
    let refused = Err(Reason::Property(0));
    assert_eq!(verdict(&program, Model::Sc, 2, &weaker), refused);
    // Every state is in, but not every state is good.
    let all = body
        .replace(": p\n", ": true\n")
        .replace("atom p: x = y\n", "");
    assert_eq!(verdict(&program, Model::Sc, 2, &all), refused);
    let none = body.replace(": p\n", ": false\n");
    assert_eq!(verdict(&program, Model::Sc, 2, &none), Err(Reason::Initial));
    let wrong_start = body.replace("x = y", "x = y + 1");
    assert_eq!(
        verdict(&program, Model::Sc, 2, &wrong_start),
        Err(Reason::Initial)
    );
    let not_inductive = body.replace("x = y", "x = 0");
    assert_eq!(
        verdict(&program, Model::Sc, 2, &not_inductive),
        Err(Reason::NotClosed)
    );
    // For another number of threads it is another certificate.
    let text = fingerprinted(&program, Model::Sc, 2, body).replace("threads 2", "threads 3");
    assert!(
        parse(&program, &text).is_err(),
        "a thread is missing at every entry"
    );
}

#[test]
fn explicit_values_may_be_forgotten_and_overlap() {
    let program = counters();
    // `t[0].r` is explicit, but of no use: any value.
    let body = "explicit t[0].r\natom p: x = y\n\
        at t[0]@0 with t[0].r=*: p\nat t[0]@0 with t[0].r=0: p\nat t[0]@1 with t[0].r=*: p\n";
    assert_eq!(verdict(&program, Model::Sc, 1, body), Ok(()));
    // With a value it would have to be kept.
    let kept = body.replace("t[0]@1 with t[0].r=*", "t[0]@1 with t[0].r=0");
    assert_eq!(
        verdict(&program, Model::Sc, 1, &kept),
        Err(Reason::NotClosed)
    );
}

#[test]
fn an_explicit_value_that_becomes_data() {
    // r = x for an arbitrary x that is at least 3.
    let code = vec![
        (0, load(0, 0), 1),
        (1, assert(bin(BinOp::Ge, r(0), k(3))), 2),
    ];
    let domain = Some(Domain { lo: 3, hi: 5 });
    let x = Global {
        domain,
        ..global("x", Init::Any)
    };
    let program = program(
        vec![x],
        vec![thread("t", Count::Once, &["r"], 3, code)],
        Vec::new(),
    );
    let body = "explicit t.r\natom low: x >= 3\natom high: x <= 5\n\
        at t@0 with t.r=0: low & high\n\
        at t@1 with t.r=3: true\nat t@1 with t.r=4: true\nat t@1 with t.r=5: true\nat t@2 with t.r=*: true\n";
    for model in [Model::Sc, Model::Tso] {
        assert_eq!(verdict(&program, model, 0, body), Ok(()));
        let missing = body.replace("at t@1 with t.r=4: true\n", "");
        assert_eq!(
            verdict(&program, model, 0, &missing),
            Err(Reason::NotClosed)
        );
        let unbounded = body.replace("low & high", "low");
        assert_eq!(
            verdict(&program, model, 0, &unbounded),
            Err(Reason::NotClosed)
        );
        let extra = body.replace(
            "at t@1 with t.r=3: true",
            "at t@1 with t.r=2: true\nat t@1 with t.r=3: true",
        );
        assert_eq!(verdict(&program, model, 0, &extra), Err(Reason::Assertion));
    }
}

#[test]
fn atoms_over_explicit_variables() {
    // s = r + 1 where r is explicit and s is data related to it.
    let code = vec![
        (
            0,
            Step::Havoc {
                dst: LocalId(0),
                domain: Some(Domain { lo: 0, hi: 2 }),
            },
            1,
        ),
        (1, assign(1, bin(BinOp::Add, r(0), k(1))), 2),
        (
            2,
            assert(bin(BinOp::Eq, r(1), bin(BinOp::Add, r(0), k(1)))),
            3,
        ),
    ];
    let program = program(
        Vec::new(),
        vec![thread("t", Count::Once, &["r", "s"], 4, code)],
        Vec::new(),
    );
    let body = "explicit t.r\natom p: t.s = t.r + 1\nat t@0 with t.r=*: true\n\
        at t@1 with t.r=0: true\nat t@1 with t.r=1: true\nat t@1 with t.r=2: true\n\
        at t@2 with t.r=0: p\nat t@2 with t.r=1: p\nat t@2 with t.r=2: p\nat t@3 with t.r=*: true\n";
    assert_eq!(verdict(&program, Model::Sc, 0, body), Ok(()));
    let weaker = body.replace("at t@2 with t.r=1: p", "at t@2 with t.r=1: true");
    assert_eq!(
        verdict(&program, Model::Sc, 0, &weaker),
        Err(Reason::Assertion)
    );
    let wrong = body.replace("t.s = t.r + 1", "t.s = t.r");
    assert_eq!(
        verdict(&program, Model::Sc, 0, &wrong),
        Err(Reason::NotClosed)
    );
    // The entry for any r says the same at once.
    let merged = "explicit t.r\natom p: t.s = t.r + 1\nat t@0 with t.r=*: true\n\
        at t@1 with t.r=*: true\nat t@2 with t.r=*: p\nat t@3 with t.r=*: true\n";
    assert_eq!(verdict(&program, Model::Sc, 0, merged), Ok(()));
}

#[test]
fn an_array_index_must_be_in_range() {
    let a = || Place {
        var: GlobalId(0),
        index: Some(r(0)),
        order: Order::Plain,
    };
    let choose = Step::Havoc {
        dst: LocalId(0),
        domain: Some(Domain { lo: 0, hi: 2 }),
    };
    let code = vec![
        (0, choose, 1),
        (
            1,
            Step::Load {
                dst: LocalId(1),
                src: a(),
            },
            2,
        ),
    ];
    let build = |len: &[i64]| {
        let threads = vec![thread("t", Count::Once, &["r", "s"], 3, code.clone())];
        program(vec![array("a", len)], threads, Vec::new())
    };
    let body =
        "atom low: t.r >= 0\natom high: t.r <= 2\nat t@0: true\nat t@1: low & high\nat t@2: true\n";
    assert_eq!(verdict(&build(&[0, 0, 0]), Model::Sc, 0, body), Ok(()));
    assert_eq!(
        verdict(&build(&[0, 0]), Model::Sc, 0, body),
        Err(Reason::Index)
    );
    let weaker = body.replace("low & high", "high");
    assert_eq!(
        verdict(&build(&[0, 0, 0]), Model::Sc, 0, &weaker),
        Err(Reason::Index)
    );
}

/// Store buffering: each thread announces itself, fences or not, and looks.
fn dekker(fence: FenceKind) -> Program {
    let code = |own: u32, other: u32| {
        vec![
            (0, store(own, k(1)), 1),
            (1, Step::Fence(fence), 2),
            (2, load(0, other), 3),
            (3, assume(bin(BinOp::Eq, r(0), k(0))), 4),
            (3, assume(bin(BinOp::Ne, r(0), k(0))), 5),
            (4, Step::Skip, 5),
        ]
    };
    let threads = vec![
        thread("left", Count::Once, &["r"], 6, code(0, 1)),
        thread("right", Count::Once, &["r"], 6, code(1, 0)),
    ];
    let globals = vec![global("x", Init::Value(0)), global("y", Init::Value(0))];
    let both = never(vec![only(0), only(1)], pbin(BinOp::And, at(0, 4), at(1, 4)));
    program(globals, threads, vec![both])
}

#[test]
fn dekker_needs_its_fence() {
    for (fence, model, holds) in [
        (FenceKind::Candidate, Model::Sc, true),
        (FenceKind::Candidate, Model::Tso, false),
        (FenceKind::Candidate, Model::Pso, false),
        (FenceKind::StoreStore, Model::Tso, false),
        (FenceKind::StoreStore, Model::Pso, false),
        (FenceKind::Full, Model::Tso, true),
        (FenceKind::Full, Model::Pso, true),
    ] {
        assert_eq!(
            certifiable(&dekker(fence), model),
            holds,
            "{fence:?} {model}"
        );
    }
}

#[test]
fn no_certificate_for_unfenced_dekker() {
    // Without its fence there is none under TSO, whatever is left out or added:
    // each single entry dropped, and the proof of the fenced twin.
    let (bad, good) = (dekker(FenceKind::Candidate), dekker(FenceKind::Full));
    for model in [Model::Tso, Model::Pso] {
        let fingerprint = Fingerprint::of(&bad, model, 2);
        for source in [&bad, &good] {
            let states = Interpreter::new(source, model, 2).explore().states;
            let certificate = exact(source, model, 2, states, |_| true);
            for dropped in 0..certificate.entries.len() {
                let mut changed = certificate.clone();
                changed.entries.remove(dropped);
                changed.fingerprint = fingerprint;
                assert!(check(&bad, &changed, &Options::default()).is_err());
            }
            let mut forged = certificate;
            forged.fingerprint = fingerprint;
            assert!(check(&bad, &forged, &Options::default()).is_err());
        }
    }
}

/// Message passing: data, then a flag, with a fence between the stores.
fn message(fence: FenceKind) -> Program {
    let writer = vec![
        (0, store(0, k(1)), 1),
        (1, Step::Fence(fence), 2),
        (2, store(1, k(1)), 3),
    ];
    let reader = vec![
        (0, load(0, 1), 1),
        (1, assume(r(0)), 2),
        (2, load(0, 0), 3),
        (3, assert(r(0)), 4),
    ];
    let threads = vec![
        thread("writer", Count::Once, &[], 4, writer),
        thread("reader", Count::Once, &["r"], 5, reader),
    ];
    let globals = vec![
        global("data", Init::Value(0)),
        global("flag", Init::Value(0)),
    ];
    program(globals, threads, Vec::new())
}

#[test]
fn a_store_store_fence_orders_stores_under_pso() {
    for (fence, model, holds) in [
        (FenceKind::Candidate, Model::Tso, true),
        (FenceKind::Candidate, Model::Pso, false),
        (FenceKind::StoreStore, Model::Pso, true),
        (FenceKind::Full, Model::Pso, true),
    ] {
        assert_eq!(
            certifiable(&message(fence), model),
            holds,
            "{fence:?} {model}"
        );
    }
}

#[test]
fn a_store_beyond_the_listed_buffers_must_be_impossible() {
    // Two stores and no fence: shapes of length 2 are needed.
    let code = vec![(0, store(0, k(1)), 1), (1, store(0, k(2)), 2)];
    let program = program(
        vec![global("x", Init::Value(0))],
        vec![thread("t", Count::Once, &[], 3, code)],
        Vec::new(),
    );
    let body = "at t@0: true\nat t@1: true\nat t@1 buffers t(x): true\n\
        at t@2: true\nat t@2 buffers t(x): true\nat t@2 buffers t(x x): true\n";
    assert_eq!(verdict(&program, Model::Tso, 0, body), Ok(()));
    assert_eq!(verdict(&program, Model::Pso, 0, body), Ok(()));
    let short = body.replace("at t@2 buffers t(x x): true\n", "");
    assert_eq!(
        verdict(&program, Model::Tso, 0, &short),
        Err(Reason::NotClosed)
    );
    let undrained = body.replace("at t@2: true\n", "");
    assert_eq!(
        verdict(&program, Model::Tso, 0, &undrained),
        Err(Reason::NotClosed)
    );
}

#[test]
fn loops_in_atomic_blocks() {
    // atomic { do r = r + 1 while (r != n) }
    let block = |n: LocalExpr| {
        let body = vec![
            (0, assign(0, bin(BinOp::Add, r(0), k(1))), 1),
            (1, assume(bin(BinOp::Ne, r(0), n.clone())), 0),
            (1, assume(bin(BinOp::Eq, r(0), n)), 2),
        ];
        let code = vec![(0, atomic(3, body), 1)];
        let locals = ["r", "n"];
        program(
            Vec::new(),
            vec![thread("t", Count::Once, &locals, 2, code)],
            Vec::new(),
        )
    };
    let explicit = "explicit t.r\nat t@0 with t.r=0: true\nat t@1 with t.r=3: true\n";
    assert_eq!(verdict(&block(k(3)), Model::Sc, 0, explicit), Ok(()));
    let wrong = explicit.replace("t.r=3", "t.r=4");
    assert_eq!(
        verdict(&block(k(3)), Model::Sc, 0, &wrong),
        Err(Reason::NotClosed)
    );
    let data = "at t@0: true\nat t@1: true\n";
    let result = verdict(&block(r(1)), Model::Sc, 0, data);
    assert!(matches!(result, Err(Reason::Unsupported(_))), "{result:?}");
}

#[test]
fn an_assertion_in_an_atomic_block() {
    let body = vec![
        (0, load(0, 0), 1),
        (1, assert(bin(BinOp::Eq, r(0), k(0))), 2),
        (2, store(0, k(1)), 3),
    ];
    let code = vec![(0, atomic(4, body), 1)];
    let once = |count| {
        let threads = vec![thread("t", count, &["r"], 2, code.clone())];
        program(vec![global("x", Init::Value(0))], threads, Vec::new())
    };
    assert!(certifiable(&once(Count::Once), Model::Sc));
    assert!(!certifiable(&once(Count::Fixed(2)), Model::Sc));
}

#[test]
fn finally_is_about_drained_buffers() {
    let code = vec![(0, store(0, k(1)), 1)];
    let build = |value: i64| {
        let threads = vec![thread("t", Count::Once, &[], 2, code.clone())];
        let last = finally(Vec::new(), pbin(BinOp::Eq, mem(0), Expr::Const(value)));
        program(vec![global("x", Init::Value(0))], threads, vec![last])
    };
    for model in [Model::Sc, Model::Tso, Model::Pso] {
        assert!(certifiable(&build(1), model));
        assert!(!certifiable(&build(0), model));
    }
}

#[test]
fn remote_operations_are_synchronous_under_sc_and_unsupported_elsewhere() {
    let put = Step::Put {
        remote: Place::scalar(GlobalId(1)),
        local: Place::scalar(GlobalId(0)),
    };
    let get = Step::Get {
        local: Place::scalar(GlobalId(0)),
        remote: Place::scalar(GlobalId(1)),
    };
    let code = vec![
        (0, store(0, k(7)), 1),
        (1, put, 2),
        (2, store(0, k(0)), 3),
        (3, get, 4),
        (4, Step::Flush(FlushTarget::All), 5),
    ];
    let threads = vec![thread("t", Count::Once, &[], 6, code)];
    let same = finally(Vec::new(), pbin(BinOp::Eq, mem(0), Expr::Const(7)));
    let program = program(
        vec![global("x", Init::Value(0)), global("y", Init::Value(0))],
        threads,
        vec![same],
    );
    assert!(certifiable(&program, Model::Sc));
    // Nothing lives in a process here: also under RMA no remote operation has a meaning.
    for (model, body) in [
        (
            Model::Tso,
            "at t@0: true\nat t@1: true\nat t@1 buffers t(x): true\n",
        ),
        (Model::Rma, "at t@0: true\nat t@1: true\n"),
    ] {
        let result = verdict(&program, model, 0, body);
        assert!(matches!(result, Err(Reason::Unsupported(_))), "{result:?}");
    }
}

#[test]
fn a_malformed_certificate_is_refused() {
    let program = counters();
    for (what, body) in [
        ("location", "at t[0]@9: true\n"),
        ("twice", "explicit x, x\nat t[0]@0 with x=0, x=0: true\n"),
        ("buffer", "at t[0]@0 buffers t[0](x): true\n"),
    ] {
        let result = verdict(&program, Model::Sc, 1, body);
        assert!(
            matches!(result, Err(Reason::Malformed(_))),
            "{what}: {result:?}"
        );
    }
    for (what, body) in [
        ("fence under TSO", "at t[0]@0 buffers t[0](x | y): true\n"),
        ("absent slot", "atom p: t[0].buf[0] = 0\nat t[0]@0: p\n"),
        (
            "slot of PSO",
            "atom p: t[0].buf(x)[0] = 0\nat t[0]@0 buffers t[0](x): p\n",
        ),
        (
            "value of absent slot",
            "explicit t[0].buf[0]\nat t[0]@0 with t[0].buf[0]=0: true\n",
        ),
    ] {
        let result = verdict(&program, Model::Tso, 1, body);
        assert!(
            matches!(result, Err(Reason::Malformed(_))),
            "{what}: {result:?}"
        );
    }
}

#[test]
fn limits_end_the_check() {
    let program = counters();
    let text = fingerprinted(
        &program,
        Model::Sc,
        1,
        "atom p: x = y\nat t[0]@0: p\nat t[0]@1: p\n",
    );
    let certificate = parse(&program, &text).expect("a certificate");
    let options = Options::default();
    assert!(check(&program, &certificate, &options).is_ok());
    options
        .limits
        .cancel
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let reason = check(&program, &certificate, &options)
        .expect_err("cancelled")
        .reason;
    assert!(matches!(reason, Reason::Undecided(_)), "{reason:?}");
}

#[test]
fn workers_change_nothing_but_the_time() {
    // Enough entries that the work is shared.
    let code = vec![
        (0, load(0, 0), 1),
        (
            1,
            store(0, bin(BinOp::Mod, bin(BinOp::Add, r(0), k(1)), k(50))),
            2,
        ),
    ];
    let domain = Some(Domain { lo: 0, hi: 49 });
    let x = Global {
        domain,
        ..global("x", Init::Any)
    };
    let threads = vec![thread("t", Count::Fixed(2), &["r"], 3, code)];
    let small = never(Vec::new(), pbin(BinOp::Ge, mem(0), Expr::Const(50)));
    let program = program(vec![x], threads, vec![small]);
    let mut interpreter = Interpreter::new(&program, Model::Sc, 0);
    interpreter.max_states = 10_000;
    let found = interpreter.explore();
    assert!(!found.bounded && !found.violated);
    let mut certificate = exact(&program, Model::Sc, 0, found.states, |_| true);
    assert!(certificate.entries.len() > 600);
    let run = |certificate: &Certificate, workers: usize| {
        let options = Options {
            workers,
            ..Options::default()
        };
        let result = check(&program, certificate, &options);
        result.map(|checked| checked.obligations)
    };
    assert!(run(&certificate, 1).is_ok());
    assert_eq!(run(&certificate, 1), run(&certificate, 3));
    certificate.entries.remove(500);
    let alone = run(&certificate, 1);
    assert!(alone.is_err());
    assert_eq!(alone, run(&certificate, 3));
}

/// As [`verdict`], for a certificate of kind `stops` under SC.
fn between_stops(program: &Program, body: &str) -> Result<(), Reason> {
    let text = fingerprinted(program, Model::Sc, 1, body).replace("kind inductive", "kind stops");
    let certificate = parse(program, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let result = check(program, &certificate, &Options::default());
    result.map(|_| ()).map_err(|refusal| refusal.reason)
}

/// `u` sets `c`, then `d`; `t` does `code` with its locals `r` and `s`.
fn beside_two_stores(locs: u32, code: Vec<(u32, Step, u32)>) -> Program {
    let globals = vec![global("c", Init::Value(0)), global("d", Init::Value(0))];
    let stores = vec![(0, store(0, k(1)), 1), (1, store(1, k(1)), 2)];
    let threads = vec![
        thread("t", Count::Once, &["r", "s"], locs, code),
        thread("u", Count::Once, &[], 3, stores),
    ];
    program(globals, threads, Vec::new())
}

/// The states in which `t` has not begun.
const NOT_BEGUN: &str = "explicit c, d, t.r, t.s
at t@0 u@0 with c=0, d=0, t.r=0, t.s=0: true
at t@0 u@1 with c=1, d=0, t.r=0, t.s=0: true
at t@0 u@2 with c=1, d=1, t.r=0, t.s=0: true\n";

#[test]
fn a_test_of_one_load_is_no_stop() {
    let is_one = |id| bin(BinOp::Eq, r(id), k(1));
    let one = beside_two_stores(3, vec![(0, load(1, 1), 1), (1, assume(is_one(1)), 2)]);
    let through = format!("{NOT_BEGUN}at t@2 u@2 with c=1, d=1, t.r=0, t.s=1: true\n");
    assert_eq!(between_stops(&one, &through), Ok(()));
    assert_eq!(between_stops(&one, NOT_BEGUN), Err(Reason::NotClosed));
    // What was stored before the test is seen, whether the thread gets through or not.
    let stored = vec![(0, store(0, k(2)), 1), (1, assume(is_one(1)), 2)];
    let stored = beside_two_stores(3, stored);
    assert_eq!(between_stops(&stored, NOT_BEGUN), Err(Reason::NotClosed));
}

/// `r` is loaded before the stores and `s` after them; in no run is `t` never interrupted.
#[test]
fn a_test_of_two_loads_is_a_stop() {
    let zero = bin(BinOp::Eq, r(0), k(0));
    let both = bin(BinOp::And, zero, bin(BinOp::Eq, r(1), k(1)));
    let code = vec![
        (0, load(0, 0), 1),
        (1, load(1, 1), 2),
        (2, assume(both), 3),
        (3, assert(k(0)), 4),
    ];
    let program = beside_two_stores(5, code);
    assert!(!certifiable(&program, Model::Sc));
    let body = format!("interference_free t 1\n{NOT_BEGUN}");
    assert_eq!(between_stops(&program, &body), Err(Reason::NotClosed));
}

#[test]
fn a_disturbed_access_is_refused() {
    let one_more = bin(BinOp::Add, r(0), k(1));
    let code = vec![(0, load(0, 0), 1), (1, store(0, one_more), 2)];
    let program = beside_two_stores(3, code);
    let body = format!(
        "interference_free t 1\n{NOT_BEGUN}
at t@2 u@0 with c=1, d=0, t.r=0, t.s=0: true
at t@2 u@1 with c=2, d=0, t.r=1, t.s=0: true
at t@2 u@1 with c=1, d=0, t.r=0, t.s=0: true
at t@2 u@2 with c=2, d=1, t.r=1, t.s=0: true
at t@2 u@2 with c=1, d=1, t.r=0, t.s=0: true\n"
    );
    assert_eq!(
        between_stops(&program, &body),
        Err(Reason::Disturbed(LocId(1)))
    );
    let no_access = body.replace("interference_free t 1", "interference_free t 7");
    let refused = between_stops(&program, &no_access);
    assert!(matches!(refused, Err(Reason::Malformed(_))), "{refused:?}");
}
