//! *Covered* runs: a second look at the model before `holds` is said. The program itself is run at
//! random, not the model; the states of these runs must satisfy what the model assumes and be
//! among those that the analysis has stored, and nothing may go wrong in them.
//!
//! The translation from program to model (actions, rules, ghosts) is thus tested on the program at
//! hand. It is a test, not a proof.

use std::collections::HashSet;

use palisade_shape::analysis::Analysis;
use palisade_shape::concrete::define;
use palisade_shape::explore::covers;
use palisade_shape::kleene::Kleene;
use palisade_shape::naive::World;
use palisade_shape::vocabulary::Vocabulary;

use super::Options;
use super::action::STEP;
use super::fragment::{Fragment, Sequence};
use super::walk::{Call, Random, Walker, node};
use crate::step::holds;
use crate::value::Value;

/// Runs, and steps of each at most.
const RUNS: usize = 200;
const STEPS: usize = 80;
/// States to look at for each location, with some thread there.
const PER_LOCATION: usize = 6;
/// Runs of which the first state is looked at.
const STARTS: usize = 20;
/// One state of so many is looked at whatever was seen.
const ANY_OF: usize = 100;
/// Nodes at most: tables grow with their square.
const NODES: usize = 6;
/// Threads, where there are any number.
const THREADS: usize = 3;

/// What a run shows that the analysis does not know of.
pub(super) fn objection(
    fragment: &Fragment<'_>,
    options: &Options<'_>,
    analysis: &Analysis,
) -> Option<String> {
    let model = &analysis.model;
    let location = model.locations.iter().position(|label| label == STEP)?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut seen: HashSet<World> = HashSet::new();
    let mut looks = vec![0; fragment.locations.len()];
    for run in 0..RUNS {
        let threads = options.threads.unwrap_or(THREADS);
        let mut walker = Walker::new(fragment, threads, &mut random);
        for step in 0..STEPS {
            if let Some(what) = wrong(fragment, &walker) {
                return Some(format!("in a run of the program {what}"));
            }
            if !walker.begun || walker.memory.nodes.len() > NODES {
                break;
            }
            let calls = walker.calls.iter().flatten();
            let places: Vec<usize> = calls.filter_map(|call| walker.place(call)).collect();
            let rare = places.iter().any(|&l| looks[l] < PER_LOCATION);
            let start = step == 0 && run < STARTS;
            if rare || start || random.below(ANY_OF) == 0 {
                let world = world(fragment, &walker, &model.vocabulary);
                if !seen.contains(&world) {
                    if let Some(why) = unknown_to(analysis, location, &world) {
                        return Some(why);
                    }
                    for &l in &places {
                        looks[l] += 1;
                    }
                    seen.insert(world);
                }
            }
            if !walker.step(&mut random) {
                break;
            }
        }
    }
    None
}

/// Why the analysis does not know of a state.
fn unknown_to(analysis: &Analysis, location: usize, world: &World) -> Option<String> {
    let model = &analysis.model;
    let broken = model.axioms.iter().find(|a| !world.satisfies(&a.formula));
    if let Some(axiom) = broken {
        return Some(format!("a run of the program breaks {}", axiom.origin));
    }
    let covered = covers(model, &analysis.fixpoint, location, world);
    (!covered).then(|| "a run of the program comes to a state that was not found".to_owned())
}

/// What has gone wrong, between steps.
fn wrong(fragment: &Fragment<'_>, walker: &Walker<'_>) -> Option<&'static str> {
    let nevers = &fragment.program.nevers;
    let never = nevers
        .iter()
        .any(|never| holds(&never.cond, &walker.memory, &[]).unwrap_or(true));
    let between = walker.busy.is_none();
    walker
        .wrong
        .or((never && between).then_some("what must never hold does"))
}

/// The state as a world of the model: threads first, then nodes.
fn world(fragment: &Fragment<'_>, walker: &Walker<'_>, voc: &Vocabulary) -> World {
    let threads = walker.calls.len();
    let nodes = walker.memory.nodes.len();
    let mut world = World::new(voc, threads + nodes);
    let object = |node: u32| threads + node as usize;
    let mut set = |name: &str, tuple: &[usize]| {
        // What a level has no word for it does not speak of.
        if let Some(predicate) = voc.find(name) {
            world.set(predicate, tuple, Kleene::True);
        }
    };
    for node in 0..nodes as u32 {
        let of = object(node);
        set("is_node", &[of]);
        if let Some(next) = walker.link(node) {
            set(&fragment.link.1, &[of, object(next)]);
        }
        let words = &walker.memory.nodes[node as usize].words;
        if words.iter().any(|w| matches!(w.value, Value::Data(_))) {
            set("val", &[of]);
        }
    }
    for (pointer, was) in fragment.pointers.iter().zip(&walker.was) {
        if let Some(at) = node(walker.memory.shared(pointer.0)) {
            set(&pointer.1, &[object(at)]);
        }
        for &at in was {
            set(&format!("was[{}]", pointer.1), &[object(at)]);
        }
    }
    if fragment.sequence != Sequence::Nothing {
        let first = match fragment.sequence {
            Sequence::Stack => "s.top",
            Sequence::Queue | Sequence::Nothing => "s.pos",
        };
        for (name, at) in [(first, walker.first), ("s.last", walker.last)] {
            if let Some(at) = at {
                set(name, &[object(at)]);
            }
        }
        for &entered in &walker.entered {
            set("com", &[object(entered)]);
        }
        for &left in &walker.left {
            set("dq", &[object(left)]);
        }
        for (&from, &to) in &walker.next {
            set("s.next", &[object(from), object(to)]);
        }
    }
    // Whose turn it is; where anybody may go on, it may be the first.
    set("run", &[walker.busy.unwrap_or(0)]);
    for (thread, call) in walker.calls.iter().enumerate() {
        set("is_thread", &[thread]);
        set(&format!("id[t{thread}]"), &[thread]);
        for (id, lock) in &fragment.locks {
            if walker.memory.shared(*id) == Value::Holder(thread as u32) {
                set(&format!("hold[{lock}]"), &[thread]);
            }
        }
        let place = call.as_ref().and_then(|call| walker.place(call));
        let label = place.map_or("idle", |l| &fragment.locations[l].name);
        set(&format!("at[{label}]"), &[thread]);
        if let Some(call) = call {
            of_call(fragment, walker, call, thread, &object, &mut set);
        }
    }
    define(voc, &mut world);
    world
}

/// What is known of a call.
fn of_call(
    fragment: &Fragment<'_>,
    walker: &Walker<'_>,
    call: &Call,
    thread: usize,
    object: &dyn Fn(u32) -> usize,
    set: &mut dyn FnMut(&str, &[usize]),
) {
    for (v, variable) in fragment.variables.iter().enumerate() {
        if variable.method == call.method
            && let Some(at) = walker.points(call, v)
        {
            set(&variable.name, &[thread, object(at)]);
        }
    }
    for (flag, holds) in [
        ("done", call.done),
        ("rempty", call.empty),
        ("noted", call.noted),
    ] {
        if holds {
            set(flag, &[thread]);
        }
    }
    if let Some(result) = call.result {
        set("res", &[thread, object(result)]);
    }
}

#[cfg(test)]
mod tests {
    use palisade_program::Source;
    use palisade_shape::analysis::{self, Input, analyse};
    use palisade_shape::engine::Limits;
    use palisade_shape::verdict::Verdict;

    use super::*;
    use crate::prove::spin::with_locks;
    use crate::prove::{Apart, Interleaving, Level, Text, model, plain};

    const STACK: &str = "
spec stack; struct node { node next; data value; }
shared node first; shared lock l;
init { node n = new node; cas(first, null, n); cas(first, n, null); }
method push(data v) {
    node n = new node; n.value = v;
    lock(l); n.next = first; first = n; commit; unlock(l);
}
method pop() returns data {
    node t; data v;
    lock(l); t = first; commit when t == null;
    if (t == null) { unlock(l); return empty; }
    first = t.next; commit; unlock(l);
    v = t.value; return v;
}";

    const RING: &str = "
spec none; circular struct node { node next; } shared node x;
init {
    node first = new node; node last = first; node n;
    while (*) { n = new node; last.next = n; last = n; }
    last.next = first; x = first;
}
never x == null;
method inc() { node a, b; do { a = x; b = a.next; } while (!cas(x, a, b)); }";

    fn analysed(text: &Text, changed: &str) -> Option<Analysis> {
        let program = Input {
            name: "model.tvp",
            text: changed,
        };
        let structures = Input {
            name: "model.tvs",
            text: &text.structures,
        };
        let settings = analysis::Options {
            limits: Limits {
                structures: Some(600),
                messages: Some(1),
                ..Limits::default()
            },
            ..analysis::Options::default()
        };
        analyse(program, structures, &settings).ok()
    }

    /// Models in which one update is missing: of those that are proved, random runs of the program
    /// show that something is. Not counted are updates of what a call leaves behind: rules say it,
    /// too. Of the others some make no difference either (a thread comes back to where others
    /// are, `init` undoes what it did).
    #[test]
    fn models_that_forget_something_do_not_cover_the_runs() {
        let (mut proved, mut caught) = (0, 0);
        for source in [STACK, RING] {
            let parsed = palisade_frontend::heap::parse(Source::new("test.pal", source));
            let program = parsed.expect("it is a program").program;
            let program = plain::plain(&with_locks(&program)).expect("it is supported");
            let fragment = Fragment::of(&program, Interleaving::Full).expect("it is supported");
            let options = Options::default();
            let lists = crate::prove::lists(&fragment);
            let text = model::text(&fragment, &options, Apart::Nothing, Level::Ghosts, lists);
            let whole = analysed(&text, &text.program).expect("it can be read");
            assert!(matches!(whole.verdict, Verdict::Holds { .. }));
            assert_eq!(objection(&fragment, &options, &whole), None);
            let lines: Vec<&str> = text.program.lines().collect();
            for (number, line) in lines.iter().enumerate() {
                let update = line.starts_with("    ") && line.contains(") = ");
                let left_behind = line.contains("& t != tr") && !line.contains("at[");
                let back = line.contains("at[idle]") || line.contains("at[inc.0]");
                // Each takes a proof: some do.
                let is_tried = number % 3 == 0;
                if !update || !is_tried || line.contains("run(t)") || left_behind || back {
                    continue;
                }
                let mut fewer = lines.clone();
                fewer.remove(number);
                let changed = fewer.join("\n");
                let Some(analysis) = analysed(&text, &changed) else {
                    continue;
                };
                if matches!(analysis.verdict, Verdict::Holds { .. }) {
                    proved += 1;
                    let found = objection(&fragment, &options, &analysis);
                    caught += u32::from(found.is_some());
                    if found.is_none() {
                        println!("not noticed: {}", line.trim());
                    }
                }
            }
        }
        println!("{caught} of {proved} wrong models that are proved are noticed");
        assert!(
            proved > 6 && caught * 3 >= proved * 2,
            "{caught} of {proved}"
        );
    }
}
