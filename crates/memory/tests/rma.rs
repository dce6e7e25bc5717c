//! The reductions for RMA against the concrete machine on small programs: slots have
//! exactly the machine's violations, value sets have all of them. Faults are seeded,
//! among them table 2 of [Baumann et al., VMCAI 2018] taken to the letter, to show that such a comparison
//! notices them.

use palisade_arbitrary::{Shape, generate};
use palisade_machine::{Options, explore};
use palisade_memory::reduced::{Full, Meaning, Reduced};
use palisade_memory::rma;
use palisade_memory::value_sets::{Sharing, Wanted};
use palisade_program::cfg::{Atomic, Cfg, CfgBuilder, Step};
use palisade_program::projection::without;
use palisade_program::{AssertKind, Broken, Expr, GlobalId, Model, Program, Source, Verdict};

const MOST_STATES: u64 = 100_000;

fn parse(text: &str) -> Program {
    match palisade_frontend::pal::parse(Source::new("rma.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

/// Whether the program has a violation; `None` if that takes too long.
fn violated(program: &Program, model: Model) -> Option<bool> {
    let options = Options {
        max_states: Some(MOST_STATES),
        workers: 1,
        ..Options::new(model)
    };
    match explore(program, &options).expect("suits the model").verdict {
        Verdict::Violated(violation) => {
            let unlisted = Broken::Assert(AssertKind::ListedValue);
            assert_ne!(violation.broken, unlisted, "{violation:?}");
            Some(true)
        }
        Verdict::Holds => Some(false),
        Verdict::Unknown(_) => None,
    }
}

fn with_sets(program: &Program, k: u32, exact: u32) -> Reduced {
    sharing(program, k, exact, Sharing::Statement)
}

fn sharing(program: &Program, k: u32, exact: u32, sharing: Sharing) -> Reduced {
    let values = |_| Some((0..=3).collect());
    let wanted = Wanted {
        values: &values,
        copies: 2,
        exact,
        sharing,
    };
    rma::reduce_sets(program, k, &wanted)
}

fn count(default: u64) -> u64 {
    let soak = std::env::var("PALISADE_SOAK").ok();
    soak.and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn slots_have_the_machines_violations() {
    let (mut bad, mut good) = (0, 0);
    for seed in 0..count(100) {
        let text = generate(seed, &Shape::rma());
        let program = parse(&text);
        let reduced = rma::reduce(&program, 2, Full::Fails);
        let both = (
            violated(&program, Model::Rma),
            violated(&reduced.program, Model::Sc),
        );
        match both {
            (Some(true), Some(true)) => bad += 1,
            (Some(false), Some(false)) => good += 1,
            (None, _) | (_, None) => {}
            _ => panic!("machine and reduction: {both:?}\n{text}"),
        }
    }
    assert!(bad > 10 && good > 10, "{bad} violated, {good} not");
}

#[test]
fn sets_miss_no_violation() {
    miss_no_violation(Sharing::Statement, 0);
}

#[test]
fn sets_of_variables_miss_no_violation() {
    miss_no_violation(Sharing::Variable, 20_000);
}

fn miss_no_violation(shared: Sharing, first: u64) {
    let (mut bad, mut same, mut more) = (0, 0, 0);
    for seed in 0..count(100) {
        let text = generate(first + seed, &Shape::rma());
        let program = parse(&text);
        let reduced = sharing(&program, seed as u32 % 3, seed as u32 / 3 % 3, shared);
        let both = (
            violated(&program, Model::Rma),
            violated(&reduced.program, Model::Sc),
        );
        match both {
            (Some(true), Some(true)) => bad += 1,
            (Some(false), Some(false)) => same += 1,
            (Some(false), Some(true)) => more += 1,
            (Some(true), Some(false)) => panic!("missed with {} slots\n{text}", seed % 3),
            (None, _) | (_, None) => {}
        }
    }
    assert!(bad > 10, "{bad} violated");
    // Precision is not soundness; but sets that allow everything show nothing.
    assert!(same > 2 * more, "{same} as the machine, {more} too many");
}

/// A program without what some variables hold has every violation that it had with them.
#[test]
fn forgetting_misses_no_violation() {
    let (mut bad, mut forgotten) = (0, 0);
    for seed in 0..count(100) {
        let text = generate(12_000 + seed, &Shape::rma());
        let program = parse(&text);
        let all = (0..program.globals.len()).map(GlobalId::from);
        for var in all {
            let Some(changed) = without(&program, &[var]) else {
                continue;
            };
            forgotten += 1;
            if violated(&program, Model::Rma) == Some(true) {
                bad += 1;
                assert_eq!(
                    violated(&changed, Model::Rma),
                    Some(true),
                    "{var:?}\n{text}"
                );
            }
        }
    }
    assert!(bad > 10 && forgotten > 50, "{bad} of {forgotten}");
}

/// Flushes that wait for the own side only: slots are exact, sets miss nothing.
#[test]
fn local_flushes_are_as_the_machines() {
    let shape = |seed: u64| Shape {
        local_flushes: true,
        remote_atomics: seed.is_multiple_of(4),
        statements: 4,
        ..Shape::rma()
    };
    let (mut bad, mut good, mut flushes) = (0, 0, 0);
    for seed in 0..count(100) {
        let text = generate(8_000 + seed, &shape(seed));
        let program = parse(&text);
        flushes += usize::from(text.contains("flush_local"));
        let machine = violated(&program, Model::Rma);
        let slots = rma::reduce(&program, 2, Full::Fails);
        let sets = with_sets(&program, seed as u32 % 3, seed as u32 / 3 % 3);
        let slots = violated(&slots.program, Model::Sc);
        let sets = violated(&sets.program, Model::Sc);
        match (machine, slots) {
            (Some(machine), Some(slots)) if machine != slots => {
                // Atomic operations on one cell happen in any order in slots.
                assert!(slots && seed.is_multiple_of(4), "slots: {slots}\n{text}");
            }
            (Some(true), Some(_)) => bad += 1,
            (Some(false), Some(_)) => good += 1,
            (None, _) | (_, None) => {}
        }
        assert!(
            machine != Some(true) || sets != Some(false),
            "missed by sets\n{text}"
        );
    }
    assert!(
        bad > 10 && good > 10 && flushes > 20,
        "{bad}, {good}, {flushes}"
    );
}

/// What a local flush is for, and what it is not.
#[test]
fn a_local_flush_completes_the_own_side_only() {
    let text = |flush: &str, finally: &str| {
        format!(
            "process server {{ shared Y = 1; }}
             process client {{
                 shared X = 2; shared R = 0; local r = 0;
                 put(Y, server, X); {flush}(server); X = 3;
                 R = get(Y, server); flush_local(server); r = R;
             }}
             finally ({finally});"
        )
    };
    for (flush, finally, holds) in [
        // The source was read before it changed.
        ("flush_local", "Y == 2", true),
        ("flush_local", "client.r != 3", true),
        // The result of the get is there.
        ("flush_local", "client.r != 0", true),
        // The put may not have arrived.
        ("flush_local", "client.r == 2", false),
        ("flush", "client.r == 2", true),
    ] {
        let program = parse(&text(flush, finally));
        let slots = rma::reduce(&program, 1, Full::Fails);
        let machine = violated(&program, Model::Rma);
        assert_eq!(machine, Some(!holds), "{flush} {finally}");
        assert_eq!(
            violated(&slots.program, Model::Sc),
            machine,
            "{flush} {finally}"
        );
    }
}

/// Remote atomic operations: those on one cell happen in any order here, so that there
/// may be more violations, but none is missed; neither in slots nor beside sets.
#[test]
fn atomics_miss_no_violation() {
    let shape = Shape {
        remote_atomics: true,
        ..Shape::rma()
    };
    let (mut bad, mut same, mut more) = (0, 0, 0);
    for seed in 0..count(100) {
        let text = generate(5_000 + seed, &shape);
        let program = parse(&text);
        let reduced = rma::reduce(&program, 2, Full::Fails);
        let both = (
            violated(&program, Model::Rma),
            violated(&reduced.program, Model::Sc),
        );
        match both {
            (Some(true), Some(true)) => bad += 1,
            (Some(false), Some(false)) => same += 1,
            (Some(false), Some(true)) => more += 1,
            (Some(true), Some(false)) => panic!("missed\n{text}"),
            (None, _) | (_, None) => {}
        }
    }
    assert!(bad > 5 && same > 5 * more, "{bad}, {same}, {more}");
}

/// The violation needs a remote write to be read by an operation that is pending: the
/// put of `Z` was issued before `Y` could change.
const CHAIN: &str = "
process a {
    shared X = 1; shared Z = 0; shared G = 0; local g = 0;
    while (g == 0) { g = G; }
    put(Y, b, X);
}
process b { shared Y = 0; shared One = 1; put(Z, a, Y); put(G, a, One); }
never Z == 1;
";
/// The first instance of the put is done last.
const LOOP: &str = "
process a { shared X = 0; local i = 1; while (i < 3) { X = i; put(Y, b, X); i = i + 1; } X = 2; }
process b { shared Y = 0; }
finally (Y != 1);
";
/// Two statements read `X`: the first is still pending when the second is issued.
const TWICE: &str = "
process a { shared X = 1; shared D = 0; put(Y, b, X); X = 2; put(Z, b, X); D = 1; }
process b {
    shared Y = 0; shared Z = 0; shared G = 0; local before = 0; local after = 0;
    G = get(D, a); flush(a);
    if (G == 1) { before = Y; after = Y; }
}
finally (b.before != 0 || b.after != 1);
";
/// Figure 2 of [Baumann et al., VMCAI 2018].
const FIGURE: &str = "
process server { shared Y = 1; }
process client {
    shared X = 2; shared R = 0; local r = 0;
    put(Y, server, X); X = 3; R = get(Y, server); r = R;
}
finally (client.r != 3);
";
/// Nobody reads what the put writes, but the property does.
const UNREAD: &str = "
process a { shared X = 1; put(Y, b, X); }
process b { shared Y = 0; }
finally (Y != 1);
";

/// A way to get the reduction wrong.
type Fault = fn(&Program, &mut Reduced);

#[test]
fn faults_are_noticed() {
    let (own, shared) = (Sharing::Statement, Sharing::Variable);
    let faults: [(&str, &str, Sharing, Fault); 8] = [
        ("remote writes are not heard", CHAIN, own, remote_unheard),
        ("the same", CHAIN, shared, remote_unheard),
        (
            "a set in use is initialised anew",
            LOOP,
            own,
            initialised_anew,
        ),
        ("the same", LOOP, shared, initialised_anew),
        // Table 2 to the letter: the second statement is not pending yet.
        ("a set in use by another", TWICE, shared, initialised_anew),
        ("stores are not heard", FIGURE, own, stores_unheard),
        ("the same", FIGURE, shared, stores_unheard),
        (
            "the network rests when a process has ended",
            UNREAD,
            own,
            rests_at_exit,
        ),
    ];
    for (what, text, sets, fault) in faults {
        let program = parse(text);
        assert_eq!(violated(&program, Model::Rma), Some(true), "{what}");
        let mut reduced = sharing(&program, 0, 0, sets);
        let right = violated(&reduced.program, Model::Sc);
        assert_eq!(right, Some(true), "{what}: without the fault");
        fault(&program, &mut reduced);
        let wrong = violated(&reduced.program, Model::Sc);
        assert_eq!(wrong, Some(false), "{what}: with the fault");
    }
}

/// Calls `f` with the meaning, the source location's being the exit, and the step of
/// every edge.
fn each_step(program: &Program, reduced: &mut Reduced, f: &dyn Fn(Meaning, bool, &mut Step)) {
    for (number, template) in reduced.program.templates.iter_mut().enumerate() {
        let exit = program.templates[number].cfg.exit;
        for (edge, meaning) in template
            .cfg
            .edges
            .iter_mut()
            .zip(&reduced.templates[number].edges)
        {
            f(*meaning, edge.from == exit, &mut edge.step);
        }
    }
}

fn is_content(names: &[String], id: GlobalId) -> bool {
    names[id.index()].starts_with("$has")
}

fn names(reduced: &Reduced) -> Vec<String> {
    let globals = reduced.program.globals.iter();
    globals.map(|g| g.name.clone()).collect()
}

fn remote_unheard(program: &Program, reduced: &mut Reduced) {
    let names = names(reduced);
    each_step(program, reduced, &|meaning, _, step| {
        let (Meaning::Pick(_), Step::Atomic(atomic)) = (meaning, step) else {
            return;
        };
        for edge in &mut atomic.body.edges {
            if let Step::Store { dst, value } = &edge.step
                && is_content(&names, dst.var)
                && *value == Expr::Const(1)
            {
                edge.step = Step::Skip;
            }
        }
    });
}

fn initialised_anew(program: &Program, reduced: &mut Reduced) {
    let names = names(reduced);
    let original = program.clone();
    for (number, template) in reduced.program.templates.iter_mut().enumerate() {
        for (edge, meaning) in template
            .cfg
            .edges
            .iter_mut()
            .zip(&reduced.templates[number].edges)
        {
            let Meaning::Step { edge: own, .. } = meaning else {
                continue;
            };
            let Step::Put { .. } = original.templates[number].cfg.edge(*own).step else {
                continue;
            };
            let Step::Atomic(atomic) = &edge.step else {
                continue;
            };
            edge.step = Step::Atomic(Box::new(Atomic {
                kind: atomic.kind,
                body: cleared_first(&atomic.body, &names),
            }));
        }
    }
}

/// The block with all sets emptied before it.
fn cleared_first(body: &Cfg, names: &[String]) -> Cfg {
    let mut builder = CfgBuilder::new();
    for _ in body.locs() {
        builder.loc();
    }
    for edge in &body.edges {
        builder.edge(edge.from, edge.step.clone(), edge.to, edge.span);
    }
    let span = body.edges[0].span;
    let entry = builder.loc();
    let mut at = entry;
    for id in (0..names.len()).map(GlobalId::from) {
        if is_content(names, id) {
            let next = builder.loc();
            let clear = Step::Store {
                dst: palisade_program::cfg::Place::scalar(id),
                value: Expr::Const(0),
            };
            builder.edge(at, clear, next, span);
            at = next;
        }
    }
    builder.edge(at, Step::Skip, body.entry, span);
    builder.finish_whole(entry, body.exit)
}

fn stores_unheard(program: &Program, reduced: &mut Reduced) {
    for (number, template) in reduced.program.templates.iter_mut().enumerate() {
        for (edge, meaning) in template
            .cfg
            .edges
            .iter_mut()
            .zip(&reduced.templates[number].edges)
        {
            if let Meaning::Step { edge: own, .. } = meaning
                && let step @ Step::Store { .. } = &program.templates[number].cfg.edge(*own).step
            {
                edge.step = step.clone();
            }
        }
    }
}

fn rests_at_exit(program: &Program, reduced: &mut Reduced) {
    each_step(program, reduced, &|meaning, at_exit, step| {
        if at_exit && matches!(meaning, Meaning::Pick(_)) {
            *step = Step::Assume(Expr::FALSE);
        }
    });
}
