//! *Mixed predicates taken as local or as shared*, measured: the unsound columns of table 2
//! [Donaldson et al., CAV 2011, section 5], for the suite `sapa`. The predicates are those of a proof
//! of the safe program with two threads; those over two threads are left out. With them a Boolean
//! program is made of the safe program and of its unsafe twin, in the sound way and in the two unsound
//! ones (`palisade_boolean::mixed`), and each is checked for any number of threads, or, where that takes
//! too long, for one thread, two, and so on, each thread counted. A check may take a quarter of a row's time.
//!
//! | answer | the safe program | its twin, violated from n threads on |
//! |---|---|---|
//! | `safe` | right, for any number of threads | wrong: a bug is missed |
//! | `safe m` | no violation with up to m threads; more took too long | the same; wrong if m >= n |
//! | `unsafe m` | - | right; m > n: found late |
//! | `error m` | spurious with m threads: these predicates do not suffice | the same, with m < n |
//!
//! The paper refines predicates after a spurious answer and says `error` where that failed; here they
//! stay as they are. No answer of an unsound program is a verdict.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use palisade_abstraction::cores::ByCores;
use palisade_abstraction::space::Space;
use palisade_boolean::check::{Options as Search, Stop};
use palisade_boolean::counted::{Checker, Outcome};
use palisade_boolean::cover::{self, Any};
use palisade_boolean::export::{self, Construction, Cubes, construct};
use palisade_boolean::mixed::{Treatment, mixed_variables, unsound};
use palisade_boolean::resolve::{Resolved, resolve};
use palisade_boolean::scope::{Scopes, obstacle};
use palisade_logic::substitute::Substitution;
use palisade_logic::{Atom, Formula, Limits, Prover, Term, Var};
use palisade_program::{Model, Program};
use palisade_verify::{Options, Promote, prepare};
use serde_json::{Value, json};

use crate::Request;

/// Most states of one check.
const MAX_STATES: usize = 500_000;

/// Most threads that are counted, as in the paper's table.
const MOST_THREADS: u32 = 10;

/// The ways to take mixed predicates, with their names in documents.
const WAYS: [(&str, Option<Treatment>); 3] = [
    ("sound", None),
    ("as_local", Some(Treatment::AsLocal)),
    ("as_shared", Some(Treatment::AsShared)),
];

/// What a Boolean program says.
enum Answer {
    Safe,
    /// Not violated with up to this many threads.
    SafeUpTo(u32),
    /// Violated with this many threads and not with fewer.
    Violated(u32),
}

impl Answer {
    /// The paper's words; `violated_from`: the threads with which the program itself is violated.
    fn words(&self, violated_from: Option<u32>) -> String {
        match (self, violated_from) {
            (Self::Safe, _) => "safe".to_owned(),
            (Self::SafeUpTo(n), _) => format!("safe {n}"),
            (Self::Violated(m), Some(n)) if *m >= n => format!("unsafe {m}"),
            (Self::Violated(m), _) => format!("error {m}"),
        }
    }
}

/// A program and its twin, which is violated from `needed` threads on: what the three Boolean
/// programs of each say, for scripts.
pub(crate) fn measure(request: &Request, safe: &Program, twin: &Program, needed: u32) -> Value {
    let options = Options {
        promote: Promote::Never,
        ..request.verification(Model::Sc)
    };
    let threads = Scopes::instances(safe);
    let refused = obstacle(safe).or_else(|| obstacle(twin));
    if let Some(unsupported) = refused {
        return json!({ "reason": unsupported.to_string() });
    }
    let atoms = match prepare(safe, &threads, true, &options) {
        Ok(prepared) => prepared.atoms,
        Err(gap) => return json!({ "reason": gap.unknown(safe).to_string() }),
    };
    let space = Space::new(safe, threads, false);
    let (mut value, mut count) = (json!({}), (0, 0));
    for (name, program, violated_from) in [("safe", safe, None), ("unsafe", twin, Some(needed))] {
        let own = Space::new(program, Scopes::instances(program), false);
        let atoms = translated(&space, &own, &atoms);
        let answers = answers(&own, &atoms, &options, request.row_timeout / 4);
        match answers {
            Ok((answers, mixed, all)) => {
                count = (mixed, all);
                for ((way, _), answer) in WAYS.iter().zip(answers) {
                    value[*way][name] = json!(answer.words(violated_from));
                }
            }
            Err(why) => {
                for (way, _) in WAYS {
                    value[way][name] = json!(why.clone());
                }
            }
        }
    }
    value["mixed_predicates"] = json!(count.0);
    value["predicates"] = json!(count.1);
    // Nobody should take these for verdicts.
    value["unsound"] = json!(["as_local", "as_shared"]);
    value
}

/// The atoms over the variables of the same names in another space; those without are left out.
fn translated(from: &Space<'_>, to: &Space<'_>, atoms: &BTreeSet<Atom>) -> BTreeSet<Atom> {
    let named = |name: &str| to.slots.iter().position(|slot| slot.name == name);
    let mut all = BTreeSet::new();
    for atom in atoms {
        let formula = Formula::from(atom.clone());
        let mut renaming = Substitution::default();
        let mut is_known = true;
        for var in formula.free_vars() {
            let slot = from.slots.get(var.0 as usize);
            match slot.and_then(|slot| named(&slot.name)) {
                Some(own) => renaming.set(var, Term::var(Var(own as u32))),
                None => is_known = false,
            }
        }
        if let (true, Ok(formula)) = (is_known, formula.substitute(&renaming)) {
            all.extend(formula.atoms());
        }
    }
    all
}

/// What the Boolean programs with these predicates say, how many predicates are mixed, and how
/// many there are.
fn answers(
    space: &Space<'_>,
    atoms: &BTreeSet<Atom>,
    options: &Options,
    slice: Duration,
) -> Result<(Vec<Answer>, usize, usize), String> {
    let limits = Limits {
        deadline: options.deadline,
        cancel: options.cancel.clone(),
        ..Limits::default()
    };
    let mut prover = Prover::new(palisade_logic::Options {
        limits: limits.clone(),
        ..palisade_logic::Options::default()
    });
    let (mixed, atoms) = mixed_variables(space, atoms).map_err(|u| u.to_string())?;
    let how = Construction {
        expand: false,
        copies: 2,
        explicit: false,
        atoms: Some(&atoms),
        search: Cubes::By(&ByCores),
        options: export::Options {
            max_size: Some(options.cube_size),
            cartesian: false,
            relate: true,
            compress: true,
        },
    };
    let (sound, count) = construct(space.program, how, &mut prover).map_err(|e| e.to_string())?;
    let mut answers = Vec::new();
    for (_, treatment) in WAYS {
        let program = treatment.map_or_else(|| sound.clone(), |t| unsound(&sound, &mixed, t));
        let resolved = resolve(&program).map_err(|errors| {
            let first = errors.first().map(ToString::to_string);
            first.unwrap_or_default()
        })?;
        let slice = options.deadline.map(|_| Instant::now() + slice);
        let limits = Limits {
            deadline: slice,
            ..limits.clone()
        };
        answers.push(answer(&resolved, &limits));
    }
    Ok((answers, mixed.len(), count))
}

/// What a Boolean program says of any number of threads, or of as many as time allows.
fn answer(program: &Resolved, limits: &Limits) -> Answer {
    let half = limits.deadline.map(|end| {
        let left = end.saturating_duration_since(Instant::now());
        Instant::now() + left / 2
    });
    let search = |threads, deadline| Search {
        threads,
        max_states: Some(MAX_STATES),
        merge: false,
        limits: Limits {
            deadline,
            ..limits.clone()
        },
    };
    match cover::check(program, &search(0, half), None).0 {
        Ok(Any::Safe) => return Answer::Safe,
        Ok(Any::Violated(threads, _)) => return Answer::Violated(threads),
        Err(Stop::Limit(_) | Stop::States(_) | Stop::Choices(_)) => {}
    }
    for threads in 1..=MOST_THREADS {
        match Checker::new(program, &search(threads, limits.deadline)).run() {
            Ok(Outcome::Safe) => {}
            Ok(Outcome::Violated(_)) => return Answer::Violated(threads),
            Err(_) => return Answer::SafeUpTo(threads - 1),
        }
    }
    Answer::SafeUpTo(MOST_THREADS)
}
