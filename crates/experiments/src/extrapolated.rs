//! The two Boolean programs of table 3 [Baumann et al., VMCAI 2018, section 5.2], as files: `B`, of
//! the program under SC with the predicates of a proof, and its extrapolation under RMA, for the program
//! with a flush after every remote operation. Pending operations are value sets only, sets are
//! summaries, and no variable is explicit, as in the paper; the second program is made without solver
//! calls and checked as `palisade check` does.

use std::time::Instant;

use palisade_abstraction::cores::ByCores;
use palisade_boolean::check::{self, check};
use palisade_boolean::export::{self, Construction, Cubes, construct};
use palisade_boolean::resolve::resolve;
use palisade_logic::{Limits, Prover};
use palisade_program::{Model, Program, Source, Verdict};
use palisade_report::verdict::word;
use palisade_verify::{Buffers, Extrapolate, Options, Promote, Strategy, prepare};
use serde_json::{Value, json};

/// Copies of templates that run in any number: processes have none.
const COPIES: u32 = 2;
/// Most states of the check.
const MAX_STATES: usize = 2_000_000;

/// A Boolean program and what it took.
struct Made {
    program: palisade_boolean::BooleanProgram,
    predicates: usize,
    seconds: f64,
    solver_calls: u64,
}

/// Both programs and the check of the second, for scripts; as far as time allows.
pub(crate) fn measure(program: &Program, options: &Options) -> Value {
    let mut value = json!({});
    let under = |model, strategy, extrapolate| Options {
        model,
        strategy,
        extrapolate,
        buffers: Buffers::Abstract(0),
        list_sets: false,
        promote: Promote::Never,
        ..options.clone()
    };
    let sc = under(Model::Sc, Strategy::Cores, Extrapolate::None);
    match made(program, &sc) {
        Ok(made) if made.predicates > 0 => {
            value["sc_predicates"] = json!(made.predicates);
            value["sc_lines"] = json!(made.program.to_string().lines().count());
            value["build_seconds"] = json!(made.seconds);
        }
        Ok(_) => {
            value["extrapolated"] = json!("no proof under SC");
            return value;
        }
        Err(why) => {
            value["extrapolated"] = json!(why);
            return value;
        }
    }
    let rma = under(Model::Rma, Strategy::Program, Extrapolate::Predicates);
    let made = match made(program, &rma) {
        Ok(made) => made,
        Err(why) => {
            value["extrapolated"] = json!(why);
            return value;
        }
    };
    let text = made.program.to_string();
    value["rma_predicates"] = json!(made.predicates);
    value["rma_lines"] = json!(text.lines().count());
    value["extrapolation_calls"] = json!(made.solver_calls);
    let Ok(resolved) = resolve(&made.program) else {
        value["extrapolated"] = json!("not a Boolean program");
        return value;
    };
    let search = check::Options {
        threads: 1,
        max_states: Some(MAX_STATES),
        merge: options.merge,
        limits: limits(options),
    };
    let started = Instant::now();
    let checked = check(
        &resolved,
        &Source::new("extrapolated.bp", text),
        false,
        &search,
    );
    value["check_seconds"] = json!(started.elapsed().as_secs_f64());
    value["extrapolated"] = json!(match &checked.verdict {
        // A violation of the Boolean program says nothing of the program.
        Verdict::Violated(_) => "too weak",
        Verdict::Holds | Verdict::Unknown(_) => word(&checked.verdict),
    });
    value
}

fn limits(options: &Options) -> Limits {
    Limits {
        deadline: options.deadline,
        cancel: options.cancel.clone(),
        ..Limits::default()
    }
}

/// The Boolean program under the model of `options`, by its strategy.
fn made(program: &Program, options: &Options) -> Result<Made, String> {
    let (threads, all) = export::threads(program, true, COPIES).map_err(|u| u.to_string())?;
    let prepared = prepare(program, &threads, all, options);
    let prepared = prepared.map_err(|gap| gap.unknown(program).to_string())?;
    let mut prover = Prover::new(palisade_logic::Options {
        limits: limits(options),
        ..palisade_logic::Options::default()
    });
    let how = Construction {
        expand: true,
        copies: COPIES,
        explicit: false,
        atoms: Some(&prepared.atoms),
        search: if options.strategy == Strategy::Program {
            Cubes::By(&prepared.facts)
        } else {
            Cubes::By(&ByCores)
        },
        options: export::Options {
            max_size: Some(options.cube_size),
            cartesian: false,
            relate: false,
            compress: true,
        },
    };
    let started = Instant::now();
    let built = construct(&prepared.program, how, &mut prover);
    let (program, predicates) = built.map_err(|e| e.to_string())?;
    Ok(Made {
        program,
        predicates,
        seconds: started.elapsed().as_secs_f64(),
        solver_calls: prover.stats().total_solver_calls(),
    })
}
