//! *Litmus tests* in herd's format: all final states of a small program, and whether its
//! condition can be met.
//!
//! ```
//! use palisade::litmus::{Limits, LitmusResult, parse, run};
//! use palisade::{Model, Source};
//!
//! let text = "X86 SB
//! { x=0; y=0; }
//!  P0          | P1          ;
//!  MOV [x],$1  | MOV [y],$1  ;
//!  MOV EAX,[y] | MOV EAX,[x] ;
//! exists (0:EAX=0 /\\ 1:EAX=0)
//! ";
//! let test = parse(Source::new("SB.litmus", text))?;
//! let report = run(&test, Model::Tso, &Limits::default());
//! assert!(report.render().contains("Observation SB Sometimes 1 3"));
//! # Ok::<(), palisade::Diagnostics>(())
//! ```

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub use palisade_frontend::litmus::{LitmusTest, parse, parse_ordered};
pub use palisade_report::litmus::{LitmusReport, LitmusResult};

use palisade_frontend::litmus::observe::Slot;
use palisade_machine::{Exploration, Final, Options, explore};
use palisade_program::{Broken, Model, Program, Verdict};

/// What ends a run early.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Most memory, in bytes.
    pub memory: Option<u64>,
    /// Set from outside to stop.
    pub cancel: Arc<AtomicBool>,
}

/// States to store at most for a test with loops, which may count for ever.
const MAX_STATES: u64 = 1_000_000;

/// Runs a test under a model.
pub fn run(test: &LitmusTest, model: Model, limits: &Limits) -> LitmusReport {
    let has_race = model == Model::Rc11 && has_race(&test.program, limits);
    let (result, explored) = match explore(&test.program, &options(&test.program, model, limits)) {
        Ok(found) => {
            let states = found.stats.states;
            (judged(test, found), states)
        }
        Err(unsupported) => (LitmusResult::Unknown(unsupported.message), 0),
    };
    LitmusReport {
        file: test.program.source.name().to_owned(),
        name: test.name.clone(),
        kind: test.condition.quantifier.kind(),
        condition: test.question(),
        result,
        explored,
        has_race,
    }
}

/// Whether some run has a data race.
fn has_race(program: &Program, limits: &Limits) -> bool {
    let options = Options {
        races: true,
        collect_finals: false,
        shortest: false,
        ..options(program, Model::Rc11, limits)
    };
    explore(program, &options).is_ok_and(|found| match found.verdict {
        Verdict::Violated(violation) => violation.broken == Broken::DataRace,
        Verdict::Holds | Verdict::Unknown(_) => false,
    })
}

/// Without loops every run ends and the number of stores bounds the buffers;
/// with loops there are bounds, and touching one makes the test unknown.
fn options(program: &Program, model: Model, limits: &Limits) -> Options {
    let defaults = Options::new(model);
    let loops = program.templates.iter().any(|t| t.cfg.has_cycle());
    Options {
        buffer: if loops { defaults.buffer } else { None },
        max_states: loops.then_some(MAX_STATES),
        max_memory: limits.memory,
        deadline: limits.deadline,
        cancel: limits.cancel.clone(),
        collect_finals: true,
        // herd goes on behind a race, and says that there is one.
        races: false,
        ..defaults
    }
}

fn judged(test: &LitmusTest, found: Exploration) -> LitmusResult {
    match found.verdict {
        Verdict::Holds => {}
        Verdict::Unknown(why) => return LitmusResult::Unknown(why.to_string()),
        // The only assertions in a litmus test's program are the front end's own.
        Verdict::Violated(violation) => {
            let place = test.program.source.position(violation.span.start);
            return LitmusResult::Unknown(format!("{} at {place}", violation.message));
        }
    }
    let outcome = test.judge(&found.finals, |state, slot| value(test, state, slot));
    LitmusResult::Complete {
        states: outcome.states,
        answer: outcome.answer.word(),
        observation: outcome.observation.word(),
        positive: outcome.positive,
        negative: outcome.negative,
    }
}

/// A slot's value. Every template of a litmus test runs once, so threads and
/// templates have the same numbers.
fn value(test: &LitmusTest, state: &Final, slot: &Slot) -> i64 {
    match slot {
        Slot::Local {
            template, local, ..
        } => state.locals[template.index()][local.index()],
        Slot::Cell { var, index } => state.cells[test.program.cell(*var, *index).index()],
    }
}
