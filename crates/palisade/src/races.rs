//! *Notes about data races*: what is said with every verdict about a C program. The
//! concrete machine searches runs under SC, up to a small number of states, for two
//! threads that are about to access the same plain variable, at least one of them to
//! write. A race that it finds is a race under every model; that it finds none is no
//! proof (`--check races` asks for one).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use palisade_frontend::c::{self, Races};
use palisade_machine::{Options, explore};
use palisade_program::{
    Asked, Broken, GlobalId, LocId, Model, Orders, Program, PropAtom, Property, Source, Step,
    TemplateId, Verdict,
};

/// States of one search at most.
const STATES: u64 = 4_000;
/// Time for all searches together.
const TIME: Duration = Duration::from_secs(2);
/// Races that are reported at most.
const MOST: usize = 4;

/// What stops the searches early.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Set from outside to stop.
    pub cancel: Arc<AtomicBool>,
}

/// Notes about the races of a C program. None where races are what is asked for, and none
/// where there is nothing to say.
///
/// ```
/// use palisade::{c, races};
///
/// let text = "#include <pthread.h>
///     int x;
///     void *f(void *p) { x = 1; return 0; }
///     int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; return 0; }";
/// let options = c::Options::default();
/// let notes = races::notes("x.c".as_ref(), text, &options, &races::Limits::default());
/// assert!(notes[0].starts_with("data race on `x`"));
/// ```
pub fn notes(path: &Path, text: &str, asked: &c::Options, limits: &Limits) -> Vec<String> {
    if asked.races == Races::Check || asked.orders == Orders::Kept {
        return Vec::new();
    }
    let options = c::Options {
        races: Races::Note,
        asked: Asked::Properties,
        ..asked.clone()
    };
    let source = Source::new(path.display().to_string(), text);
    let Ok(parsed) = c::parse(path, &source, &options) else {
        return Vec::new();
    };
    // Ranks of MPI share no plain variables.
    if parsed.program.templates.iter().any(|t| t.is_process) {
        return Vec::new();
    }
    let narrowed = parsed.program.narrowed();
    let mut program = narrowed.unwrap_or(parsed.program);
    let start = Instant::now();
    let deadline = limits.deadline;
    let end = deadline.map_or(start + TIME, |d| d.min(start + TIME));
    let mut notes = Vec::new();
    while !program.properties.is_empty() && notes.len() < MOST {
        let search = Options {
            max_states: Some(STATES),
            deadline: Some(end),
            cancel: limits.cancel.clone(),
            workers: 1,
            ..Options::new(Model::Sc)
        };
        let Ok(result) = explore(&program, &search) else {
            break;
        };
        let Verdict::Violated(violation) = &result.verdict else {
            if notes.is_empty() && result.verdict != Verdict::Holds {
                notes.push(
                    "no data race found, but not all runs were searched (--check races asks for all)"
                        .to_owned(),
                );
            }
            break;
        };
        let Broken::Property(k) = violation.broken else {
            break;
        };
        let Some(name) = program.properties.get(k).and_then(|p| raced(&program, p)) else {
            break;
        };
        notes.push(note(&program, &program.properties[k], &name));
        let all = std::mem::take(&mut program.properties);
        let about = |p: &Property| raced(&program, p).as_ref() == Some(&name);
        program.properties = all.into_iter().filter(|p| !about(p)).collect();
    }
    notes
}

fn note(program: &Program, property: &Property, name: &str) -> String {
    let threads: Vec<&str> = property
        .threads
        .iter()
        .map(|t| program.template(t.template).name.as_str())
        .collect();
    let who = match threads.as_slice() {
        [a, b] if a == b => format!("two threads `{a}`"),
        [a, b] => format!("`{a}` and `{b}`"),
        _ => "threads".to_owned(),
    };
    let (source, start) = (&program.source, property.span.start);
    let line = source.position(start).line;
    let place = match source.file_at(start) {
        file if file == source.name() => format!("line {line}"),
        file => format!("{file}:{line}"),
    };
    format!(
        "data race on `{name}`: {who}, see {place} (a run under SC; not a violation without --check races)"
    )
}

/// The variable that a property is about: the one that both threads access at the
/// first pair of locations that it names.
fn raced(program: &Program, property: &Property) -> Option<String> {
    let mut locations = Vec::new();
    property.cond.for_each_atom(&mut |atom| {
        if let PropAtom::At(thread, at) = atom {
            locations.push((thread.index(), *at));
        }
    });
    let mut accessed = locations.iter().map(|(thread, at)| {
        let template = property.threads.get(*thread).map(|t| t.template);
        template.map_or_else(Vec::new, |t| variables_at(program, t, *at))
    });
    let (first, second) = (accessed.next()?, accessed.next()?);
    let var = first.into_iter().find(|var| second.contains(var))?;
    Some(program.globals[var.index()].name.clone())
}

/// The variables that the steps from a location access.
fn variables_at(program: &Program, template: TemplateId, at: LocId) -> Vec<GlobalId> {
    let mut all = Vec::new();
    let edges = &program.template(template).cfg.edges;
    for edge in edges.iter().filter(|e| e.from == at) {
        accessed(&edge.step, &mut all);
    }
    all
}

fn accessed(step: &Step, all: &mut Vec<GlobalId>) {
    match step {
        Step::Load { src, .. } => all.push(src.var),
        Step::Store { dst, .. } => all.push(dst.var),
        Step::Atomic(block) => {
            let inside = block.body.edges.iter();
            inside.for_each(|e| accessed(&e.step, all));
        }
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
        Step::Fence(_) | Step::Assert { .. } => {}
        Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => {}
    }
}
