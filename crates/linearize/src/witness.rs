//! A *witness*: a run that violates, event by event, with stable names. The search knows
//! states up to renaming; here the run is run again from the start, one move at a time,
//! and each state is compared with the one that the search stored. A history that is
//! said not to be linearizable is looked at once more by `history`.

use palisade_program::Span;
use palisade_program::heap::print::Names;
use palisade_program::heap::{Body, Edge, Place, Role, Step, Term};

use crate::buffer::Cell;
use crate::canonical::{canonical, empty_garbage};
use crate::code::selects;
use crate::explore::Failure;
use crate::fences::is_candidate;
use crate::history::{self, Call};
use crate::machine::{End, Event, Machine, Wrong};
use crate::state::State;
use crate::value::{Memory, Value};

/// What happens in one line of a witness.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A method is called: `push(1)`.
    Call(String),
    /// A step: `t = top (n2)`.
    Step(String),
    /// A store reaches memory: `top = n2`.
    Flush(String),
    /// The call returns, with this result.
    Return(Option<String>),
}

/// One line of a witness.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Happening {
    /// The thread, from 0.
    pub thread: usize,
    /// What happens.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
}

/// A run that violates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// What it violates.
    pub what: Wrong,
    /// Where the violation shows.
    pub span: Span,
    /// Shared variables before the first call.
    pub start: Vec<(String, String)>,
    /// The run.
    pub happenings: Vec<Happening>,
    /// Stores behind which a fence would have kept the run from happening: their thread goes on while stores wait.
    pub passed: Vec<Span>,
}

/// A witness of something that is wrong before the first call.
pub(crate) fn at_start(_: &Machine<'_>, what: &Wrong, span: Span) -> Witness {
    Witness {
        what: what.clone(),
        span,
        start: Vec::new(),
        happenings: Vec::new(),
        passed: Vec::new(),
    }
}

/// Runs the states with these keys again, and then a move that ends in `what`.
pub(crate) fn replay(
    searched: &Machine<'_>,
    way: &[&[u8]],
    what: &Wrong,
    span: Span,
) -> Result<Witness, Failure> {
    let lost = |text: &str| Failure::Replay(text.to_owned());
    let (program, options) = (searched.program, searched.options);
    let machine = Machine::new(program, options, searched.mode.clone()).unbounded();
    let key = |state: &State| canonical(state, machine.renaming).1;
    let starts = machine.initial()?.into_iter().filter_map(|end| match end {
        End::State(state) => Some(*state),
        End::Wrong { .. } => None,
    });
    let mut starts = starts.filter(|state| way.first().is_some_and(|first| **first == *key(state)));
    let mut state = starts.next().ok_or_else(|| lost("no such start"))?;
    let start = shown_memory(&machine, &state.memory);
    empty_garbage(&mut state);
    let mut events: Vec<(usize, Event)> = Vec::new();
    for wanted in &way[1..] {
        let moves = machine.moves(&state)?.into_iter();
        let found = moves.filter_map(|step| match step.end {
            End::State(next) => Some((step.thread, step.events, next)),
            End::Wrong { .. } => None,
        });
        let mut found = found.filter(|(_, _, next)| **wanted == *key(next));
        let (thread, more, next) = found.next().ok_or_else(|| lost("a state is not reached"))?;
        events.extend(more.into_iter().map(|event| (thread, event)));
        state = *next;
        empty_garbage(&mut state);
    }
    let last = machine.moves(&state)?.into_iter();
    let mut last = last.filter(|step| match &step.end {
        End::Wrong {
            what: found,
            span: at,
        } => found == what && *at == span,
        End::State(_) => false,
    });
    let last = last
        .next()
        .ok_or_else(|| lost("the violation is not reached"))?;
    let thread = last.thread;
    events.extend(last.events.into_iter().map(|event| (thread, event)));
    if *what == Wrong::NotLinearizable {
        let calls = calls(&machine, &events);
        if history::linearizable(&machine.oracle, &calls)? {
            return Err(lost("the history is linearizable after all"));
        }
    }
    let told = events.iter().filter(|(_, event)| is_told(&machine, event));
    let happenings = told.map(|(thread, event)| shown(&machine, *thread, event));
    Ok(Witness {
        what: what.clone(),
        span,
        start,
        happenings: happenings.collect(),
        passed: passed(&machine, &events),
    })
}

/// Stores behind which the thread goes on while stores wait that it has made until then.
fn passed(machine: &Machine<'_>, events: &[(usize, Event)]) -> Vec<Span> {
    let threads = machine.options.threads as usize;
    // By thread, when the stores in its buffer were made; the last store that it executed, if it has not gone on since.
    let mut stores: Vec<Vec<usize>> = vec![Vec::new(); threads];
    let mut last: Vec<Option<(Span, usize)>> = vec![None; threads];
    let mut passed = Vec::new();
    for (time, (thread, event)) in events.iter().enumerate() {
        if let Event::Flush { index, .. } = event {
            stores[*thread].remove(*index);
            continue;
        }
        if let Some((span, made)) = last[*thread].take()
            && stores[*thread].iter().any(|store| *store <= made)
        {
            passed.push(span);
        }
        if let Event::Step {
            method,
            edge,
            waits,
            ..
        } = event
        {
            let body = &machine.program.methods[*method].body;
            if *waits {
                stores[*thread].push(time);
            }
            if is_candidate(body, *edge) {
                last[*thread] = Some((body.edges[*edge].span, time));
            }
        }
    }
    passed.sort_by_key(|span| (span.start, span.end));
    passed.dedup();
    passed
}

/// The history of a run. A call is complete when the stores that its thread had made before it returned have
/// reached memory.
fn calls(machine: &Machine<'_>, events: &[(usize, Event)]) -> Vec<Call> {
    let threads = machine.options.threads as usize;
    let mut calls: Vec<Call> = Vec::new();
    let mut running: Vec<Option<usize>> = vec![None; threads];
    // By thread, when the stores in its buffer were made; and by call, those that it waits for.
    let mut stores: Vec<Vec<usize>> = vec![Vec::new(); threads];
    let mut waits: Vec<Vec<usize>> = Vec::new();
    for (time, (thread, event)) in events.iter().enumerate() {
        match event {
            Event::Call { method, arguments } => {
                running[*thread] = Some(calls.len());
                calls.push(Call {
                    thread: *thread,
                    operation: machine.program.methods[*method].operation,
                    arguments: arguments.clone(),
                    begin: time,
                    end: None,
                    result: None,
                });
                waits.push(Vec::new());
            }
            Event::Return { value, .. } => {
                if let Some(index) = running[*thread].take() {
                    calls[index].result = Some(*value);
                    if stores[*thread].is_empty() || machine.options.real_time {
                        calls[index].end = Some(time);
                    } else {
                        waits[index].clone_from(&stores[*thread]);
                    }
                }
            }
            Event::Step { waits: true, .. } => stores[*thread].push(time),
            Event::Step { waits: false, .. } => {}
            Event::Flush { index, .. } => {
                let made = stores[*thread].remove(*index);
                for (call, waits) in calls.iter_mut().zip(&mut waits) {
                    let before = waits.len();
                    waits.retain(|store| *store != made);
                    if waits.is_empty() && before > 0 {
                        call.end = Some(time);
                    }
                }
            }
        }
    }
    calls
}

/// A value as people read it.
pub(crate) fn shown_value(value: Value) -> String {
    match value {
        Value::Nothing => String::new(),
        Value::Null => "null".to_owned(),
        Value::Node(index) => format!("n{}", index + 1),
        Value::Holder(thread) => match thread.checked_add(1) {
            Some(number) => format!("held by thread {number}"),
            None => "held by init".to_owned(),
        },
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Data(number) => (number + 1).to_string(),
        Value::Empty => "empty".to_owned(),
        Value::Least => "-infinity".to_owned(),
        Value::Greatest => "infinity".to_owned(),
        Value::Undefined => "undefined".to_owned(),
    }
}

fn shown_memory(machine: &Machine<'_>, memory: &Memory) -> Vec<(String, String)> {
    let shared = machine.program.shared.iter().zip(&memory.shared);
    shared
        .map(|(declared, word)| (declared.name.clone(), shown_value(word.value)))
        .collect()
}

/// The choice of an element of an array is told by the access of it.
fn is_told(machine: &Machine<'_>, event: &Event) -> bool {
    match event {
        Event::Call { .. } | Event::Return { .. } | Event::Flush { .. } => true,
        Event::Step { method, edge, .. } => {
            let body = &machine.program.methods[*method].body;
            !selects(body, &body.edges[*edge])
        }
    }
}

fn shown(machine: &Machine<'_>, thread: usize, event: &Event) -> Happening {
    let program = machine.program;
    let (kind, span) = match event {
        Event::Call { method, arguments } => {
            let method = &program.methods[*method];
            let arguments: Vec<String> = arguments.iter().map(|v| shown_value(*v)).collect();
            let text = format!("{}({})", method.name, arguments.join(", "));
            (Kind::Call(text), method.span)
        }
        Event::Return { value, span } => {
            let value = (*value != Value::Nothing).then(|| shown_value(*value));
            (Kind::Return(value), *span)
        }
        Event::Flush { store, .. } => {
            let (method, edge) = store.made;
            let body = &program.methods[method].body;
            let edge = &body.edges[edge];
            let names = Names {
                structs: &program.structs,
                shared: &program.shared,
                body: Some(body),
            };
            let written = edge.step.written().map(|(place, _)| place);
            let place = match (store.at, written) {
                (Cell::Shared(_), Some(place)) => names.place(place),
                (Cell::Field { node, .. }, Some(place)) => {
                    let place = names.place(place);
                    let field = place.split_once('.').map_or("", |(_, field)| field);
                    format!("{}.{field}", shown_value(Value::Node(node)))
                }
                (Cell::Shared(_) | Cell::Field { .. }, None) => String::new(),
            };
            let mut value = shown_value(store.word.value);
            if store.word.tag != Value::Nothing {
                value = format!("{value}, {}", shown_value(store.word.tag));
            }
            (Kind::Flush(format!("{place} = {value}")), edge.span)
        }
        Event::Step {
            method,
            edge,
            locals,
            waits: _,
        } => {
            let body = &program.methods[*method].body;
            let edge = &body.edges[*edge];
            let names = Names {
                structs: &program.structs,
                shared: &program.shared,
                body: Some(body),
            };
            let text = spelled_out(names.step(&edge.step), &names, body);
            (Kind::Step(noted(text, &edge.step, body, locals)), edge.span)
        }
    };
    Happening { thread, kind, span }
}

/// A step in the words of the text: a temporary is the place that it was read from.
fn spelled_out(mut text: String, names: &Names<'_>, body: &Body) -> String {
    for (index, local) in body.locals.iter().enumerate().rev() {
        // From the last on: `$1` is also the start of `$10`.
        if local.role != Role::Temporary || !text.contains(&local.name) {
            continue;
        }
        let mut edges = body.edges.iter();
        let made = edges.find(|edge| edge.step.assigned().any(|to| to.index() == index));
        let Some(made) = made else { continue };
        let (verb, meaning) = match &made.step {
            Step::Read { from, .. } => ("reads ", element_of(names, &made.step, *from, body)),
            Step::Compute { .. } => {
                let whole = names.step(&made.step);
                let value = whole.split_once(" = ").map(|(_, value)| value.to_owned());
                ("", value.unwrap_or(whole))
            }
            Step::Skip
            | Step::Fence
            | Step::Assume(_)
            | Step::Assign { .. }
            | Step::Havoc { .. }
            | Step::New { .. }
            | Step::Write { .. }
            | Step::Cas { .. }
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Free(_)
            | Step::Fail(_)
            | Step::Return(_) => continue,
        };
        text = match text.strip_prefix(&format!("{} = ", local.name)) {
            Some(rest) => format!("{verb}{rest}"),
            None => text.replace(&local.name, &meaning),
        };
    }
    text
}

/// The place that a temporary is read from: which element of an array it is may differ.
fn element_of(names: &Names<'_>, read: &Step, from: Place, body: &Body) -> String {
    let place = names.place(from);
    let reads = |edge: &&Edge| edge.step.read().map(|(to, _)| to) == read.read().map(|(to, _)| to);
    let several = body.edges.iter().filter(reads).count() > 1;
    match place.rsplit_once('[') {
        Some((array, _)) if several => format!("{array}[...]"),
        Some(_) | None => place,
    }
}

/// A step with the value that it is about.
fn noted(text: String, step: &Step, body: &Body, locals: &[Value]) -> String {
    let local = |id: palisade_program::LocalId| shown_value(locals[id.index()]);
    let of_term = |term: &Term| match (term, term.local()) {
        (Term::Plus(id, by), _) => match locals[id.index()] {
            Value::Int(number) => number.checked_add(*by).map(|sum| sum.to_string()),
            _ => None,
        },
        (_, id) => id.map(local),
    };
    let note = match step {
        Step::Read { to, tag, .. } => match tag {
            Some(tag) => Some(format!("{}, {}", local(*to), local(*tag))),
            None => Some(local(*to)),
        },
        Step::New { to } | Step::Havoc { to } | Step::Compute { to, .. } => Some(local(*to)),
        // The locals are those after the step.
        Step::Assign { to, value } => of_term(value).map(|_| local(*to)),
        Step::Write { value, .. } => of_term(value),
        Step::Cas {
            expect,
            new,
            success,
            ..
        } => {
            if *success {
                of_term(new)
            } else {
                of_term(expect).map(|e| format!("not {e}"))
            }
        }
        Step::Free(id) => Some(local(*id)),
        Step::Skip
        | Step::Fence
        | Step::Assume(_)
        | Step::Lock(_)
        | Step::Unlock(_)
        | Step::Return(_) => None,
        Step::Fail(_) => None,
    };
    let dereferenced = step.dereferences().map(|id| {
        let name = &body.locals[id.index()].name;
        format!("{name} is {}", local(id))
    });
    match (note, dereferenced) {
        (Some(note), Some(of)) if !matches!(step, Step::Free(_)) => {
            format!("{text} ({note}; {of})")
        }
        (Some(note), _) => format!("{text} ({note})"),
        (None, Some(of)) => format!("{text} ({of})"),
        (None, None) => text,
    }
}
