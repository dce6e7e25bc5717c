//! What the tests of the reductions share: one question (does this program have
//! such a run?) asked of two accounts of a model, the concrete machine on the
//! original and sequential consistency on the reduced program.

// Each test binary uses some of it.
#![allow(dead_code)]

pub(crate) mod faults;
pub(crate) mod over;
pub(crate) mod over_faults;
pub(crate) mod seeding;
pub(crate) mod shapes;

use std::fmt;

use palisade_arbitrary::Shape;
use palisade_frontend::pal;
use palisade_machine::{Bound, Exploration, Final, Options, explore};
use palisade_memory::reduced::{Full, Reduced};
use palisade_memory::{pso, tso};
use palisade_program::{AssertKind, Broken, Cfg, Model, Program, Source, Step, Verdict};

/// The assertion that a buffer has room.
const OVERFLOW: Broken = Broken::Assert(AssertKind::BufferOverflow);

/// The weak models that have a reduction.
pub(crate) const WEAK: [Model; 2] = [Model::Tso, Model::Pso];

/// The program of a text; panics with the diagnostics if there are any.
pub(crate) fn parse(text: &str) -> Program {
    let mut program = match pal::parse(Source::new("test.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics:?}\n{text}"),
    };
    for template in &mut program.templates {
        // The memory system's steps stand beside an `assume` in reduced programs: whether a
        // thread is stuck there is compared, not what that means.
        template.life.waits_at_assume = true;
    }
    program
}

/// How many random programs to try: `PALISADE_SOAK`, or `few`.
pub(crate) fn soak(few: u64) -> u64 {
    let count = std::env::var("PALISADE_SOAK").ok();
    count.and_then(|c| c.parse().ok()).unwrap_or(few)
}

/// The reduced program with buffers of `k` cells.
pub(crate) fn reduce(program: &Program, model: Model, k: u32, full: Full) -> Reduced {
    match model {
        Model::Tso => tso::reduce(program, k, full),
        Model::Pso => pso::reduce(program, &|_| k, full),
        Model::Sc | Model::Rma | Model::Rc11 => panic!("{model} has no buffers"),
    }
}

/// Explores with one worker: programs are small.
pub(crate) fn run(program: &Program, model: Model, k: Option<u32>, finals: bool) -> Exploration {
    let mut options = Options::new(model);
    options.buffer = k.map(|k| k as usize);
    options.workers = 1;
    options.collect_finals = finals;
    options.max_states = Some(4_000_000);
    let found = explore(program, &options).expect("the program fits the model");
    let foreign: Vec<Bound> = found
        .bounds
        .iter()
        .filter(|b| *b != Bound::Buffer)
        .collect();
    assert!(foreign.is_empty(), "not a finite program: {foreign:?}");
    if let Verdict::Unknown(why) = &found.verdict {
        assert!(found.bounds.contains(Bound::Buffer), "{why}");
    }
    found
}

/// Whether the program is small enough to be compared: a few random ones are not.
pub(crate) fn is_small(program: &Program, model: Model) -> bool {
    let mut options = Options::new(model);
    options.workers = 1;
    options.max_states = Some(20_000);
    let alone = only(program, Target::Finals);
    let found = explore(&alone, &options).expect("the program fits the model");
    !found.bounds.contains(Bound::States)
}

/// What an exploration says, with `Open` for a buffer that was too small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Holds,
    Violated,
    Overflow,
    Open,
}

/// The answer of an exploration.
pub(crate) fn answer(found: &Exploration) -> Answer {
    match &found.verdict {
        Verdict::Holds => Answer::Holds,
        Verdict::Violated(v) if v.broken == OVERFLOW => Answer::Overflow,
        Verdict::Violated(_) => Answer::Violated,
        Verdict::Unknown(_) => Answer::Open,
    }
}

/// One thing that may go wrong in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Nothing: only the final states are looked at.
    Finals,
    /// The property with this number.
    Property(usize),
    /// The assertion with this number, counted over all templates, atomic blocks
    /// included.
    Assertion(usize),
}

/// All targets of a program.
pub(crate) fn targets(program: &Program) -> Vec<Target> {
    let mut count = 0;
    for template in &program.templates {
        for_each_assertion(&mut template.cfg.clone(), &mut |_| count += 1);
    }
    let mut all = vec![Target::Finals];
    all.extend((0..program.properties.len()).map(Target::Property));
    all.extend((0..count).map(Target::Assertion));
    all
}

fn for_each_assertion(cfg: &mut Cfg, f: &mut dyn FnMut(&mut Step)) {
    for edge in &mut cfg.edges {
        match &mut edge.step {
            Step::Atomic(atomic) => for_each_assertion(&mut atomic.body, f),
            step @ Step::Assert { .. } => f(step),
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
            Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => {}
            Step::Put { .. } | Step::Get { .. } => {}
            Step::RemoteAtomic(_) | Step::Flush(_) => {}
        }
    }
}

/// The program with `target` as its only obligation. A search ends at the first
/// violation, so each is asked about by itself; other assertions become
/// assumptions, whose failure ends the thread's run as theirs would.
pub(crate) fn only(program: &Program, target: Target) -> Program {
    let mut alone = program.clone();
    alone.properties = match target {
        Target::Property(i) => vec![program.properties[i].clone()],
        Target::Finals | Target::Assertion(_) => Vec::new(),
    };
    let mut seen = 0;
    for template in &mut alone.templates {
        for_each_assertion(&mut template.cfg, &mut |step| {
            if target != Target::Assertion(seen)
                && let Step::Assert { cond, .. } = step
            {
                *step = Step::Assume(cond.clone());
            }
            seen += 1;
        });
    }
    alone
}

/// Final states of the reduced program, without the locals of the reduction.
pub(crate) fn original_finals(program: &Program, finals: &[Final]) -> Vec<Final> {
    let instances = program.instances(2);
    let mut all: Vec<Final> = finals
        .iter()
        .map(|end| Final {
            cells: end.cells.clone(),
            locals: (end.locals.iter().zip(&instances))
                .map(|(locals, i)| locals[..program.template(i.template).locals.len()].to_vec())
                .collect(),
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Where the two accounts differ, in words.
pub(crate) type Disagreement = String;

fn differ<T: PartialEq + fmt::Debug>(
    what: &str,
    machine: &T,
    reduced: &T,
) -> Result<(), Disagreement> {
    if machine == reduced {
        return Ok(());
    }
    Err(format!(
        "{what}: the machine says {machine:?}, the reduced program {reduced:?}"
    ))
}

/// Compares sorted final states; names the first that only one side has.
fn same_ends(name: &str, machine: &[Final], reduced: &[Final]) -> Result<(), Disagreement> {
    if let Some(lost) = machine.iter().find(|end| !reduced.contains(end)) {
        return Err(format!("{name}: the reduced program has no end {lost:?}"));
    }
    if let Some(made_up) = reduced.iter().find(|end| !machine.contains(end)) {
        return Err(format!("{name}: only the reduced program has {made_up:?}"));
    }
    Ok(())
}

/// Something done to the reduced form of a program before it is looked at.
pub(crate) type Change<'a> = &'a dyn Fn(&Program, &mut Reduced);

/// The change that leaves a reduced program as it is.
pub(crate) fn unchanged(_: &Program, _: &mut Reduced) {}

/// Compares the machine, with buffers of `k`, and the reduction with `k` cells, on
/// one program: final states, each obligation alone, and whether a buffer is ever
/// too small. `change` is applied to every reduced program.
pub(crate) fn agree(
    program: &Program,
    model: Model,
    k: u32,
    change: Change<'_>,
) -> Result<Agreed, Disagreement> {
    let mut agreed = Agreed::default();
    for target in targets(program) {
        let alone = only(program, target);
        let finals = target == Target::Finals;
        let machine = run(&alone, model, Some(k), finals);
        let mut blocking = reduce(&alone, model, k, Full::Blocks);
        change(&alone, &mut blocking);
        // A full buffer waits here, and is cut off there: the same runs.
        let reduced = run(&blocking.program, Model::Sc, None, finals);
        let name = format!("{target:?} under {model}, k = {k}");
        let touched = machine.bounds.contains(Bound::Buffer);
        agreed.overflows |= touched;
        let violated = answer(&machine) == Answer::Violated;
        agreed.violated |= violated;
        differ(&name, &violated, &(answer(&reduced) == Answer::Violated))?;
        if finals {
            let ends = original_finals(&alone, &reduced.finals);
            same_ends(&name, &machine.finals, &ends)?;
            let stuck = |found: &Exploration| found.deadlock.is_some();
            differ(
                &format!("{name}, stuck"),
                &stuck(&machine),
                &stuck(&reduced),
            )?;
            let mut failing = reduce(&alone, model, k, Full::Fails);
            change(&alone, &mut failing);
            let reduced = run(&failing.program, Model::Sc, None, false);
            let expected = if touched {
                Answer::Overflow
            } else {
                Answer::Holds
            };
            differ(&format!("{name}, overflow"), &expected, &answer(&reduced))?;
        }
    }
    whole(program, model, k, change)?;
    Ok(agreed)
}

/// The program with all its obligations, as `verify` reduces it: the answer is the
/// machine's where no buffer is too small; else it is a violation, and one other
/// than an overflow is one of the original with buffers of every size.
fn whole(program: &Program, model: Model, k: u32, change: Change<'_>) -> Result<(), Disagreement> {
    let name = format!("all under {model}, k = {k}");
    let mut failing = reduce(program, model, k, Full::Fails);
    change(program, &mut failing);
    let reduced = answer(&run(&failing.program, Model::Sc, None, false));
    let machine = answer(&run(program, model, Some(k), false));
    match (machine, reduced) {
        (Answer::Violated, Answer::Violated | Answer::Overflow)
        | (Answer::Open, Answer::Overflow)
        | (Answer::Holds, Answer::Holds) => Ok(()),
        // Every run with a full buffer is a run of the machine too, so a
        // violation before any overflow would have been found with `k` cells.
        _ => differ(&name, &machine, &reduced),
    }
}

/// What was seen while two accounts agreed.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Agreed {
    /// Something was violated.
    pub(crate) violated: bool,
    /// A buffer was too small.
    pub(crate) overflows: bool,
}

/// Shapes in turn, so that every seed has one; of five, so that both models see each.
pub(crate) fn shape(seed: u64) -> Shape {
    match seed % 5 {
        0 => Shape {
            threads: 3,
            statements: 3,
            ..Shape::default()
        },
        1 => Shape {
            vars: 3,
            statements: 4,
            modulus: 2,
            ..Shape::default()
        },
        2 => Shape {
            loops: false,
            statements: 6,
            ..Shape::default()
        },
        _ => Shape::default(),
    }
}
