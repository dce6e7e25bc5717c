//! Certificates over abstract buffers, written as text: what proves programs that
//! store without bound is accepted, and refused with any part of it missing.

use crate::support;

use palisade_certify::*;
use palisade_program::*;
use std::fmt::Write;
use support::build::*;

fn verdict(program: &Program, model: Model, body: &str) -> Result<(), Reason> {
    let fingerprint = Fingerprint::of(program, model, 0);
    let text = format!(
        "palisade certificate 1\nfingerprint {fingerprint}\nkind inductive\nmodel {model}\n\
         threads 0\n{body}end\n"
    );
    // Under PSO a buffer has one variable's stores.
    let text = match model {
        Model::Pso => text.replace("t.buf[0]", "t.buf(x)[0]"),
        Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => text,
    };
    let certificate = parse(program, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(
        parse(program, &print(program, &certificate)).as_ref(),
        Ok(&certificate)
    );
    let result = check(program, &certificate, &Options::default());
    result.map(|_| ()).map_err(|refusal| refusal.reason)
}

const WEAK: [Model; 2] = [Model::Tso, Model::Pso];

/// `while (1) { x = 1; }`, and a reader that finds 0 or 1.
fn spinner() -> Program {
    let reads = bin(
        BinOp::Or,
        bin(BinOp::Eq, r(0), k(0)),
        bin(BinOp::Eq, r(0), k(1)),
    );
    let threads = vec![
        thread("t", Count::Once, &["r"], 2, vec![(0, store(0, k(1)), 0)]),
        thread(
            "u",
            Count::Once,
            &["r"],
            3,
            vec![(0, load(0, 0), 1), (1, assert(reads), 0)],
        ),
    ];
    program(vec![global("x", Init::Value(0))], threads, Vec::new())
}

fn spinner_proof() -> String {
    let mut text = "summary newest 1\ninvariant t(x) among 1\n\
        atom low: x >= 0\natom high: x <= 1\natom b: t.buf[0] = 1\natom l: t.last(x) = 1\n\
        atom rlow: u.r >= 0\natom rhigh: u.r <= 1\n"
        .to_owned();
    for (u, read) in [(0, ""), (1, " & rlow & rhigh")] {
        writeln!(text, "at t@0 u@{u}: low & high{read}").expect("a string");
        writeln!(text, "at t@0 u@{u} buffers t(x): low & high & b{read}").expect("a string");
        writeln!(
            text,
            "at t@0 u@{u} buffers t(x+ x): low & high & b & l{read}"
        )
        .expect("a string");
    }
    text
}

#[test]
fn a_flag_that_is_set_for_ever() {
    for model in WEAK {
        let proof = spinner_proof();
        assert_eq!(verdict(&spinner(), model, &proof), Ok(()), "{model}");
        let changed = [
            ("among 1", "among 2", Reason::SummaryInvariant),
            ("among 1", "among 1 2", Reason::NotClosed),
            ("among 1", "any", Reason::NotClosed),
            ("b & l", "l", Reason::SummaryInvariant),
            ("b & l", "b", Reason::NotClosed),
            ("newest 1", "newest 2", Reason::NotClosed),
            ("t.last(x) = 1", "t.last(x) >= 1", Reason::NotClosed),
            (
                "buffers t(x): low & high & b",
                "buffers t(x): low & high & !b",
                Reason::NotClosed,
            ),
        ];
        for (from, to, reason) in changed {
            let weaker = proof.replace(from, to);
            assert_ne!(weaker, proof);
            let found = verdict(&spinner(), model, &weaker);
            // Some entry before the one that was changed may fail first.
            let refused = found == Err(reason) || found == Err(Reason::NotClosed);
            assert!(refused, "{model}: {from} -> {to}: {found:?}");
        }
    }
}

/// `x` counts up for ever; who reads it twice finds no less.
fn counter() -> Program {
    let up = vec![
        (0, assign(0, bin(BinOp::Add, r(0), k(1))), 1),
        (1, store(0, r(0)), 0),
    ];
    let not_less = bin(BinOp::Ge, r(1), r(0));
    let reader = vec![
        (0, load(1, 0), 1),
        (1, assert(not_less), 2),
        (2, assign(0, r(1)), 0),
    ];
    let threads = vec![
        thread("t", Count::Once, &["r"], 3, up),
        thread("u", Count::Once, &["r", "s"], 4, reader),
    ];
    program(vec![global("x", Init::Value(0))], threads, Vec::new())
}

fn counter_proof(keep: &str) -> String {
    let mut text = format!(
        "summary {keep} 1\ninvariant t(x) rising\n\
         atom xt: x <= t.r\natom xb: x <= t.buf[0]\natom xl: x <= t.low(x)\n\
         atom ll: t.low(x) <= t.last(x)\natom lb: t.last(x) <= t.buf[0]\n\
         atom bl: t.buf[0] <= t.low(x)\natom lt: t.last(x) <= t.r\natom bt: t.buf[0] <= t.r\n\
         atom rx: u.r <= x\natom rs: u.r <= u.s\natom sx: u.s <= x\n"
    );
    let shapes: &[(&str, &str)] = match keep {
        "newest" => &[
            ("", "xt"),
            (" buffers t(x)", "xb & bt"),
            (" buffers t(x+ x)", "xl & ll & lb & bt"),
        ],
        _ => &[
            ("", "xt"),
            (" buffers t(x)", "xb & bt"),
            (" buffers t(x+ x)", "xb & bl & ll & lt"),
            (" buffers t(x+)", "xl & ll & lt"),
        ],
    };
    for t in 0..2 {
        for (u, read) in [(0, "rx"), (1, "rs & sx"), (2, "rs & sx")] {
            for (shape, data) in shapes {
                writeln!(text, "at t@{t} u@{u}{shape}: {data} & {read}").expect("a string");
            }
        }
    }
    text
}

#[test]
fn a_counter_that_rises_for_ever() {
    for model in WEAK {
        for keep in ["newest", "oldest"] {
            let proof = counter_proof(keep);
            assert_eq!(
                verdict(&counter(), model, &proof),
                Ok(()),
                "{model}, {keep}"
            );
            let other = if keep == "newest" { "oldest" } else { "newest" };
            let wrong = proof.replace(&format!("summary {keep}"), &format!("summary {other}"));
            assert!(
                verdict(&counter(), model, &wrong).is_err(),
                "{model}, {keep}"
            );
            // Every comparison is needed.
            for line in proof.lines().filter(|l| l.starts_with("atom")) {
                let unused = match keep {
                    "newest" => ["atom bl", "atom lt"],
                    _ => ["atom lb", "atom lb"],
                };
                if unused.iter().any(|u| line.starts_with(u)) {
                    continue;
                }
                let strict = proof.replace(line, &line.replace("<=", ">="));
                assert!(
                    verdict(&counter(), model, &strict).is_err(),
                    "{model}, {keep}: {line}"
                );
                let name = line[5..].split(':').next().expect("a name");
                let mut weaker = proof.replace(&format!(" & {name} "), " ");
                weaker = weaker.replace(&format!(" & {name}\n"), "\n");
                weaker = weaker.replace(&format!(": {name} & "), ": ");
                assert!(
                    verdict(&counter(), model, &weaker).is_err(),
                    "{model}, {keep}: no {name}"
                );
            }
        }
    }
}

/// A claim is proved of every store, not believed.
#[test]
fn a_claim_that_is_wrong() {
    let down = vec![
        (0, assign(0, bin(BinOp::Sub, r(0), k(1))), 1),
        (1, store(0, r(0)), 0),
    ];
    let threads = vec![thread("t", Count::Once, &["r"], 3, down)];
    let program = program(vec![global("x", Init::Value(0))], threads, Vec::new());
    let entries = |last: &str| {
        let mut text = String::new();
        for t in 0..2 {
            for shape in ["", " buffers t(x)", " buffers t(x+ x)"] {
                writeln!(text, "at t@{t}{shape}: {last}").expect("a string");
            }
        }
        text
    };
    for model in WEAK {
        let free = format!("summary newest 1\n{}", entries("true"));
        assert_eq!(verdict(&program, model, &free), Ok(()));
        let rising = format!(
            "summary newest 1\ninvariant t(x) rising\n{}",
            entries("true")
        );
        assert_eq!(
            verdict(&program, model, &rising),
            Err(Reason::SummaryInvariant)
        );
        let among = format!(
            "summary newest 1\ninvariant t(x) among -1 -2\n{}",
            entries("true")
        );
        assert_eq!(
            verdict(&program, model, &among),
            Err(Reason::SummaryInvariant)
        );
    }
}

/// A fence, an atomic block and the end wait for stores beyond the exact ones.
#[test]
fn stores_beyond_are_waited_for() {
    let code = vec![
        (0, store(0, k(1)), 1),
        (1, store(0, k(2)), 2),
        (2, Step::Fence(FenceKind::Full), 3),
    ];
    let threads = vec![thread("t", Count::Once, &["r"], 4, code)];
    let done = never(Vec::new(), pbin(BinOp::Gt, mem(0), Expr::Const(2)));
    let program = program(vec![global("x", Init::Value(0))], threads, vec![done]);
    let body = "summary newest 1\ninvariant t(x) among 1\natom x: x <= 2\natom y: x = 2\n\
        atom b1: t.buf[0] = 1\natom b2: t.buf[0] = 2\natom l: t.last(x) = 1\n\
        at t@0: x\nat t@1: x\nat t@1 buffers t(x): x & b1\n\
        at t@2: y\nat t@2 buffers t(x): x & b2\nat t@2 buffers t(x+ x): x & b2 & l\nat t@3: y\n";
    for model in WEAK {
        assert_eq!(verdict(&program, model, body), Ok(()));
        // Nothing passes the fence with stores in the buffer.
        let early = body.replace("at t@3: y\n", "");
        assert!(verdict(&program, model, &early).is_err());
        for line in body.lines().filter(|l| l.starts_with("at ")) {
            let fewer = body.replace(&format!("{line}\n"), "");
            assert!(verdict(&program, model, &fewer).is_err(), "{line}");
        }
    }
}

#[test]
fn what_does_not_fit_is_malformed() {
    let bodies = [
        ("no abstract buffers", "at t@0 u@0 buffers t(x+): true\n"),
        ("no last value", "atom p: t.last(x) = 0\nat t@0 u@0: p\n"),
        (
            "a last value of nothing",
            "summary newest 1\natom p: t.last(x) = 0\nat t@0 u@0: p\n",
        ),
        (
            "no low value",
            "summary newest 1\natom p: t.low(x) = 0\nat t@0 u@0 buffers t(x+): p\n",
        ),
        (
            "twice",
            "summary newest 1\nat t@0 u@0 buffers t(x+ x+): true\n",
        ),
        (
            "two claims",
            "summary newest 1\ninvariant t(x) rising\ninvariant t(x) any\nat t@0 u@0: true\n",
        ),
    ];
    for (name, body) in bodies {
        for model in WEAK {
            let found = verdict(&spinner(), model, body);
            assert!(
                matches!(found, Err(Reason::Malformed(_))),
                "{name}: {found:?}"
            );
        }
    }
    let under_sc = verdict(
        &spinner(),
        Model::Sc,
        "summary newest 1\nat t@0 u@0: true\n",
    );
    assert!(
        matches!(under_sc, Err(Reason::Malformed(_))),
        "{under_sc:?}"
    );
}
