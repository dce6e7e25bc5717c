//! Runs as evidence: a [`Recorder`] takes actions one by one, checks each
//! against the semantics, and writes the [`Trace`] for people.

mod turns;

use std::collections::BTreeMap;

use palisade_program::{
    AssertKind, AtomicKind, Broken, Cell, Edge, EdgeId, Event, LocId, LocalAtom, LocalId, Model,
    Origin, Span, Standing, Step, Stuck, Trace, TraceStep, Violation,
};

use crate::block::Inside;
use crate::expand::Scratch;
use crate::machine::{Act, Choice, Machine};
use crate::options::{Bound, Bounds};
use crate::remote::{Part, parts};
use crate::replay::Refused;
use crate::state::{NO_CELL, Queue, State};
use crate::step::{Effect, arrive};
use palisade_program::{Action, ActionKind, BlockStep};

/// A run in progress.
pub(crate) struct Recorder<'m, 'p> {
    machine: &'m Machine<'p>,
    pub(crate) state: State,
    pub(crate) trace: Trace,
    /// What failed in the last step.
    failed: Option<Failed>,
}

/// An assertion that failed, or a data race.
struct Failed {
    span: Span,
    broken: Broken,
    message: String,
    /// The variables that it names, with their values.
    because: Vec<(String, i64)>,
}

/// What a step looks like.
struct Seen {
    span: Span,
    text: String,
    events: Vec<Event>,
    brings: Vec<(String, i64)>,
    block: Option<AtomicKind>,
}

impl Seen {
    /// A step of the memory system.
    fn by_memory(span: Span, text: String, events: Vec<Event>) -> Self {
        Self {
            span,
            text,
            events,
            brings: Vec::new(),
            block: None,
        }
    }
}

impl<'m, 'p> Recorder<'m, 'p> {
    /// A run that starts in `state`. `machine` keeps dead locals.
    pub(crate) fn new(machine: &'m Machine<'p>, state: State) -> Self {
        let program = machine.program;
        let names = machine.threads.iter();
        let trace = Trace {
            threads: names.map(|t| program.instance_name(t.instance)).collect(),
            initial: memory(machine, &state),
            locals: chosen_locals(machine, &state),
            ..Trace::default()
        };
        Self {
            machine,
            state,
            trace,
            failed: None,
        }
    }

    /// Whether the run is over: the last step failed an assertion.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Does one action.
    pub(crate) fn act(&mut self, action: &Action) -> Result<(), Refused> {
        let thread = action.thread;
        if thread >= self.machine.threads.len() {
            return Err(Refused::NoThread);
        }
        let seen = match &action.kind {
            ActionKind::Step { edge, choice } => self.step(thread, *edge, *choice)?,
            ActionKind::Block { edge, path } => self.block(thread, *edge, path)?,
            ActionKind::Ordered { edge, path, pick } => self.turn(thread, *edge, path, *pick)?,
            ActionKind::Update { cell } => self.update(thread, *cell)?,
            ActionKind::NetworkRead { source, target } => {
                self.network(thread, |p| p.source == source.0 && p.target == target.0)?
            }
            ActionKind::AtomicRead {
                target,
                position,
                operand,
            } => self.network_atomic(thread, *target, *position, Part::Read(*operand))?,
            ActionKind::AtomicApply { target } => {
                self.network_atomic(thread, *target, 0, Part::Apply)?
            }
            ActionKind::NetworkWrite { target, value } => self.network(thread, |p| {
                p.source == NO_CELL && p.target == target.0 && p.value == *value
            })?,
        };
        let by_memory = match &action.kind {
            ActionKind::Step { .. } | ActionKind::Block { .. } => false,
            ActionKind::Ordered { .. } => false,
            ActionKind::Update { .. }
            | ActionKind::NetworkRead { .. }
            | ActionKind::AtomicRead { .. }
            | ActionKind::AtomicApply { .. }
            | ActionKind::NetworkWrite { .. } => true,
        };
        let locals = self.locals(thread);
        self.trace.steps.push(TraceStep {
            thread,
            action: Some(action.clone()),
            by_memory,
            span: seen.span,
            text: seen.text,
            events: seen.events,
            brings: seen.brings,
            block: seen.block,
            failed: self.has_failed(),
            memory: memory(self.machine, &self.state),
            locals,
            buffers: self.buffers(),
        });
        Ok(())
    }

    fn edge(&self, t: usize, id: EdgeId) -> Result<&'p Edge, Refused> {
        let template = self.machine.threads[t].instance.template;
        let cfg = &self.machine.program.template(template).cfg;
        match cfg.edges.get(id.index()) {
            Some(edge) if edge.from.0 == self.state.pcs[t] && edge.from != cfg.exit => Ok(edge),
            _ => Err(Refused::NotThere),
        }
    }

    fn step(&mut self, t: usize, id: EdgeId, choice: Option<i64>) -> Result<Seen, Refused> {
        let machine = self.machine;
        let edge = self.edge(t, id)?;
        let act = machine.threads[t].graph.arcs[id.index()].act;
        if matches!(act, Act::Block(_)) {
            return Err(Refused::NoPath);
        }
        let value = value_of(act, choice)?;
        let mut next = State::default();
        match machine.apply(&self.state, &mut next, t, id.index(), value) {
            Effect::Done => {}
            Effect::Disabled => return Err(Refused::Disabled),
            Effect::Waits => return Err(Refused::Waits),
            Effect::Cut(bound) => return Err(Refused::Bound(bound)),
            Effect::Fails => {
                self.failed = Some(self.assertion(t, edge, &self.state.slots));
                let text = machine.program.show_step(self.template(t), &edge.step);
                return Ok(Seen {
                    span: edge.span,
                    text: format!("{text} fails"),
                    events: Vec::new(),
                    brings: Vec::new(),
                    block: None,
                });
            }
        }
        let before = std::mem::replace(&mut self.state, next);
        Ok(Seen {
            span: edge.span,
            text: self.words(t, &edge.step, act, &before.slots, &self.state.slots),
            events: self.events(act, &before.queues[t], &before.slots, &self.state.slots),
            brings: Vec::new(),
            block: None,
        })
    }

    fn block(&mut self, t: usize, id: EdgeId, path: &[BlockStep]) -> Result<Seen, Refused> {
        let machine = self.machine;
        let edge = self.edge(t, id)?;
        let arc = &machine.threads[t].graph.arcs[id.index()];
        let (Act::Block(block), Step::Atomic(atomic)) = (arc.act, &edge.step) else {
            return Err(Refused::NotThere);
        };
        let graph = &machine.threads[t].blocks[block as usize];
        if graph.drains && !self.state.queues[t].stores.is_empty() {
            return Err(Refused::Waits);
        }
        let mut slots = self.state.slots.clone();
        let mut words = Vec::new();
        let mut events = Vec::new();
        let mut loc = graph.entry;
        for (i, (inner, choice)) in path.iter().enumerate() {
            let inside = atomic.body.edges.get(inner.index());
            let inside = inside
                .filter(|e| e.from.0 == loc)
                .ok_or(Refused::NotThere)?;
            let act = graph.arcs[inner.index()].act;
            let value = value_of(act, *choice)?;
            let before = slots.clone();
            match machine.inside(act, value, &self.state.queues[t], &mut slots) {
                Inside::Done => {}
                Inside::Disabled => return Err(Refused::Disabled),
                Inside::Cut(bound) => return Err(Refused::Bound(bound)),
                Inside::Fails if i + 1 == path.len() => {
                    let text = machine.program.show_step(self.template(t), &inside.step);
                    self.failed = Some(self.assertion(t, inside, &slots));
                    self.state.slots = slots;
                    words.push(format!("{text} fails"));
                    return Ok(Seen {
                        span: inside.span,
                        text: format!("atomic {{ {} }}", words.join("; ")),
                        events,
                        brings: Vec::new(),
                        block: Some(atomic.kind),
                    });
                }
                Inside::Fails => return Err(Refused::Goes),
            }
            if !matches!(inside.step, Step::Skip) {
                words.push(self.words(t, &inside.step, act, &before, &slots));
                events.extend(self.events(act, &self.state.queues[t], &before, &slots));
            }
            loc = inside.to.0;
        }
        if loc != graph.exit {
            return Err(Refused::NoPath);
        }
        self.state.slots = slots;
        arrive(arc, &mut self.state, t);
        Ok(Seen {
            span: edge.span,
            text: format!("atomic {{ {} }}", words.join("; ")),
            events,
            brings: Vec::new(),
            block: Some(atomic.kind),
        })
    }

    fn update(&mut self, t: usize, cell: Cell) -> Result<Seen, Refused> {
        let stores = &self.state.queues[t].stores;
        let index = stores.iter().position(|s| s.cell == cell.0);
        let index = index.filter(|&i| self.machine.may_update(&self.state, t, i));
        let index = index.ok_or(Refused::NothingToDo)?;
        let store = stores[index];
        let mut next = State::default();
        Machine::update(&self.state, &mut next, t, index);
        self.state = next;
        let name = self.machine.program.cell_name(cell);
        let span = self.origin(t, store.origin);
        let value = store.value;
        let shown = self.machine.program.names.value(&name, value);
        let text = format!("{name} = {shown} reaches memory");
        Ok(Seen::by_memory(
            span,
            text,
            vec![Event::Write {
                cell: name,
                value,
                buffered: false,
                below: 0,
            }],
        ))
    }

    fn network(
        &mut self,
        t: usize,
        wanted: impl Fn(&crate::state::Pending) -> bool,
    ) -> Result<Seen, Refused> {
        let pending = &self.state.queues[t].pending;
        let index = pending
            .iter()
            .position(wanted)
            .ok_or(Refused::NothingToDo)?;
        let operation = pending[index];
        let mut next = State::default();
        self.machine.network(&self.state, &mut next, t, index);
        let program = self.machine.program;
        let target = program.cell_name(Cell(operation.target));
        let text = if operation.source == NO_CELL {
            format!("network writes {target} = {}", operation.value)
        } else {
            let source = program.cell_name(Cell(operation.source));
            let value = self.state.slots[operation.source as usize];
            format!("network reads {source} ({value}) for {target}")
        };
        self.state = next;
        let span = self.origin(t, operation.origin);
        Ok(Seen::by_memory(span, text, vec![Event::Other]))
    }

    fn network_atomic(
        &mut self,
        t: usize,
        target: Cell,
        position: usize,
        part: Part,
    ) -> Result<Seen, Refused> {
        let atomics = &self.state.queues[t].atomics;
        let first = atomics.iter().position(|a| a.cell == target.0);
        let index = first.ok_or(Refused::NothingToDo)? + position;
        let here = atomics.get(index).filter(|a| a.cell == target.0);
        let operation = *here.ok_or(Refused::NothingToDo)?;
        if !parts(atomics, index).any(|p| p == part) {
            return Err(Refused::NothingToDo);
        }
        let mut next = State::default();
        let done = self
            .machine
            .network_atomic(&self.state, &mut next, t, index, part);
        done.map_err(Refused::Bound)?;
        let name = |cell: u32| self.machine.program.cell_name(Cell(cell));
        let words = operation.words(&name);
        let text = match part {
            Part::Read(_) => {
                let read = next.queues[t].atomics[index].words(&name);
                format!("network reads for {words}: {read}")
            }
            Part::Apply => {
                let value = next.slots[target.index()];
                format!("network does {words}: {} = {value}", name(target.0))
            }
        };
        self.state = next;
        let span = self.origin(t, operation.origin);
        Ok(Seen::by_memory(span, text, vec![Event::Other]))
    }

    fn template(&self, t: usize) -> palisade_program::TemplateId {
        self.machine.threads[t].instance.template
    }

    fn origin(&self, t: usize, arc: u32) -> Span {
        let cfg = &self.machine.program.template(self.template(t)).cfg;
        cfg.edges
            .get(arc as usize)
            .map_or_else(Span::default, |e| e.span)
    }

    /// What a step of a thread with these buffers does to shared memory.
    fn events(&self, act: Act, own: &Queue, before: &[i64], after: &[i64]) -> Vec<Event> {
        let cell = |spot| self.machine.cell_of(spot, before).ok();
        let name = |cell: u32| self.machine.program.cell_name(Cell(cell));
        match act {
            Act::Skip | Act::Assume(_) | Act::Assign { .. } | Act::Havoc { .. } => Vec::new(),
            Act::Assert(_) | Act::Block(_) => Vec::new(),
            Act::Load { dst, src, .. } => {
                let read = cell(src).map(|cell| Event::Read {
                    cell: name(cell),
                    value: after[dst as usize],
                    own: own.stores.iter().any(|store| store.cell == cell),
                    behind: 0,
                });
                read.into_iter().collect()
            }
            Act::Store { dst, value, .. } | Act::Buffer { dst, value } => {
                let value = self.machine.table.eval(value, &[], before).ok();
                let written = cell(dst).zip(value).map(|(cell, value)| Event::Write {
                    cell: name(cell),
                    value,
                    buffered: matches!(act, Act::Buffer { .. }),
                    below: 0,
                });
                written.into_iter().collect()
            }
            Act::Fence | Act::StoreStore | Act::Ordered(_) => vec![Event::Fence],
            Act::Copy { .. } | Act::Issue { .. } | Act::Remote(_) | Act::Flush { .. } => {
                vec![Event::Other]
            }
        }
    }

    /// The step with the values that it used.
    fn words(&self, t: usize, step: &Step, act: Act, before: &[i64], after: &[i64]) -> String {
        let text = self.machine.program.show_step(self.template(t), step);
        let value = match act {
            Act::Assign { value, .. } | Act::Store { value, .. } | Act::Buffer { value, .. }
                if matches!(value, crate::code::Code::Const(_)) =>
            {
                None
            }
            Act::Assign { dst, .. } => Some(after[dst as usize]),
            Act::Havoc { dst, .. } | Act::Load { dst, .. } => Some(after[dst as usize]),
            Act::Store { value, .. } | Act::Buffer { value, .. } => {
                self.machine.table.eval(value, &[], before).ok()
            }
            Act::Copy { src, .. } => {
                let cell = self.machine.cell_of(src, before).ok();
                cell.map(|c| before[c as usize])
            }
            Act::Skip | Act::Assume(_) | Act::Fence | Act::StoreStore | Act::Block(_) => None,
            Act::Ordered(_) => None,
            Act::Remote(_) => None,
            Act::Assert(_) | Act::Issue { .. } | Act::Flush { .. } => None,
        };
        value.map_or(text.clone(), |value| format!("{text} ({value})"))
    }

    fn assertion(&self, t: usize, edge: &Edge, slots: &[i64]) -> Failed {
        let Step::Assert { cond, kind } = &edge.step else {
            return Failed {
                span: edge.span,
                broken: Broken::Assert(AssertKind::User),
                message: "assertion failed".to_owned(),
                because: Vec::new(),
            };
        };
        let program = self.machine.program;
        let template = program.template(self.template(t));
        let base = self.machine.threads[t].base as usize;
        let mut because = Vec::new();
        let mut temporary = false;
        cond.for_each_atom(&mut |atom: &LocalAtom| match atom {
            LocalAtom::Local(id) => match template.local(*id).origin {
                Origin::Temporary => temporary = true,
                Origin::User => {
                    because.push((template.local(*id).name.clone(), slots[base + id.index()]));
                }
            },
            LocalAtom::SelfId => {}
        });
        because.sort();
        because.dedup();
        // The user's words where the condition speaks of values that were loaded.
        let cond = if temporary {
            let line = program
                .source
                .slice(edge.span)
                .lines()
                .next()
                .unwrap_or_default();
            let words = line
                .trim()
                .trim_end_matches(';')
                .trim_start_matches("assert")
                .trim();
            let inner = words.strip_prefix('(').and_then(|w| w.strip_suffix(')'));
            let balanced = |w: &&str| !w.contains(')') || w.contains('(');
            inner.filter(balanced).unwrap_or(words).to_owned()
        } else {
            template.show_expr(cond)
        };
        Failed {
            span: edge.span,
            broken: Broken::Assert(kind.clone()),
            message: kind.failure(&cond),
            because,
        }
    }

    fn locals(&self, t: usize) -> BTreeMap<String, i64> {
        let thread = &self.machine.threads[t];
        let program = self.machine.program;
        let template = program.template(self.template(t));
        let slots = &self.state.slots[thread.base as usize..];
        // What a front end with functions has folded to a constant is written nowhere.
        let written = template.cfg.written_locals();
        let folds = !program.names.functions.is_empty();
        let is_held = |k: usize| !folds || written.binary_search(&LocalId::from(k)).is_ok();
        let users = template.locals.iter().zip(slots).enumerate();
        users
            .filter(|(k, (local, _))| local.origin == Origin::User && is_held(*k))
            .map(|(_, (local, &value))| (local.name.clone(), value))
            .collect()
    }

    fn buffers(&self) -> BTreeMap<String, Vec<String>> {
        let program = self.machine.program;
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (queue, name) in self.state.queues.iter().zip(&self.trace.threads) {
            for store in &queue.stores {
                let cell = program.cell_name(Cell(store.cell));
                let value = program.names.value(&cell, store.value);
                if self.machine.model == Model::Pso {
                    let held = if store.epoch > 0 {
                        " after fence(ss)"
                    } else {
                        ""
                    };
                    let entry = format!("{value}{held}");
                    all.entry(format!("{name}: {cell}"))
                        .or_default()
                        .push(entry);
                } else {
                    let entry = format!("{cell} = {value}");
                    all.entry(name.clone()).or_default().push(entry);
                }
            }
            for atomic in &queue.atomics {
                let entry = atomic.words(&|cell| program.cell_name(Cell(cell)));
                all.entry(name.clone()).or_default().push(entry);
            }
            for pending in &queue.pending {
                let target = program.cell_name(Cell(pending.target));
                let entry = if pending.source == NO_CELL {
                    format!("write {target} = {}", pending.value)
                } else {
                    let source = program.cell_name(Cell(pending.source));
                    format!("read {source}, write {target}")
                };
                all.entry(name.clone()).or_default().push(entry);
            }
        }
        all
    }

    /// The violation in which the run ends, if it does.
    pub(crate) fn violation(&self) -> Option<Violation> {
        let (broken, span, message) = if let Some(failed) = &self.failed {
            (failed.broken.clone(), failed.span, failed.message.clone())
        } else {
            let broken = self.machine.broken(&self.state)?;
            let Broken::Property(index) = broken else {
                return None;
            };
            let property = &self.machine.program.properties[index];
            let message = self.machine.program.show_property(property);
            (broken, property.span, format!("violated: {message}"))
        };
        // Asked after each step: only what is a violation is worth a copy of the run.
        let mut trace = self.whole();
        if let Some(failed) = &self.failed {
            trace.because.clone_from(&failed.because);
        }
        Some(Violation {
            broken,
            span,
            message,
            trace,
        })
    }

    /// The run so far, with where everybody stands.
    pub(crate) fn whole(&self) -> Trace {
        let stands = |t: usize| {
            let graph = &self.machine.threads[t].graph;
            let cfg = &self.machine.program.template(self.template(t)).cfg;
            let pc = self.state.pcs[t];
            if pc == graph.exit {
                return Standing::Ended;
            }
            let next = cfg.edges.iter().find(|edge| edge.from.0 == pc);
            next.map_or(Standing::Ended, |edge| Standing::Before(edge.span))
        };
        Trace {
            standing: (0..self.machine.threads.len()).map(stands).collect(),
            ..self.trace.clone()
        }
    }

    /// Whether nothing can move and a thread waits.
    pub(crate) fn is_stuck(&self) -> bool {
        let (mut scratch, mut bounds) = (Scratch::default(), Bounds::default());
        self.machine
            .is_stuck(&self.state, &mut scratch, &mut bounds)
    }

    /// The deadlock in which the run ends, if it does and the program asks for it.
    pub(crate) fn asked_deadlock(&self) -> Option<Violation> {
        let asked = self.machine.program.deadlock && self.failed.is_none();
        (asked && self.is_stuck()).then(|| self.deadlock())
    }

    /// The deadlock in which the run ends, or what spins there for ever, where that counts.
    pub(crate) fn no_progress(&mut self) -> Option<Violation> {
        self.asked_deadlock().or_else(|| self.asked_spinning())
    }

    /// The threads that spin for ever where the run ends, with one round of the first.
    fn asked_spinning(&mut self) -> Option<Violation> {
        if !self.machine.program.progress || self.failed.is_some() {
            return None;
        }
        let machine = self.machine;
        let mut bounds = Bounds::default();
        let spinning = machine.spinning(&self.state, &mut Scratch::default(), &mut bounds);
        let first = *spinning.first()?;
        let before = self.trace.steps.len();
        let (round, lead) = machine.round(&self.state, first);
        for action in &round {
            self.act(action).ok()?;
        }
        self.trace.repeats = Some(before + lead);
        let names: Vec<&str> = spinning
            .iter()
            .map(|&t| self.trace.threads[t].as_str())
            .collect();
        let steps = self.trace.steps[before + lead..].iter();
        let reads = |step: &&palisade_program::TraceStep| !step.events.is_empty();
        let seen = steps.clone().find(reads).or(steps.clone().next());
        let (verb, others) = match names.len() {
            1 => ("spins", "nobody else"),
            _ => ("spin", "nobody"),
        };
        Some(Violation {
            broken: Broken::Progress,
            span: seen.map_or_else(Span::default, |step| step.span),
            message: format!(
                "no progress: {} {verb} for ever, and {others} can change that",
                names.join(", ")
            ),
            trace: self.whole(),
        })
    }

    /// The deadlock in which the run ends, as a violation.
    pub(crate) fn deadlock(&self) -> Violation {
        let program = self.machine.program;
        let waits = |t: &usize| {
            let template = program.template(self.template(*t));
            template.stuck_at(LocId(self.state.pcs[*t])) == Stuck::Waits
        };
        let threads = 0..self.machine.threads.len();
        let waiting: Vec<usize> = threads.filter(waits).collect();
        let span = waiting.first().map_or_else(Span::default, |&t| {
            let graph = &self.machine.threads[t].graph;
            let arcs = graph.from(self.state.pcs[t]);
            let cfg = &program.template(self.template(t)).cfg;
            let edges = cfg.edges.get(arcs.start).filter(|_| !arcs.is_empty());
            edges.map_or_else(|| program.template(self.template(t)).span, |e| e.span)
        });
        let names: Vec<&str> = waiting
            .iter()
            .map(|&t| self.trace.threads[t].as_str())
            .collect();
        Violation {
            broken: Broken::Deadlock,
            span,
            message: format!("deadlock: {} can never move again", names.join(", ")),
            trace: self.whole(),
        }
    }
}

/// What a step that chooses a value chooses; 0 for the others.
fn value_of(act: Act, choice: Option<i64>) -> Result<i64, Refused> {
    if let Act::Havoc { choice: among, .. } = act {
        return chosen(among, choice);
    }
    Ok(0)
}

/// The value of a `*`: the one given if it is among those allowed.
fn chosen(among: Choice, choice: Option<i64>) -> Result<i64, Refused> {
    match (among.all, choice) {
        (None, value) => Ok(value.unwrap_or(0)),
        (Some(all), Some(value)) if all.contains(value) => Ok(value),
        (Some(_), Some(_)) => Err(Refused::Bound(Bound::Range)),
        (Some(all), None) => Ok(0.max(all.lo).min(all.hi)),
    }
}

fn memory(machine: &Machine<'_>, state: &State) -> BTreeMap<String, i64> {
    let cells = state.slots[..machine.cells].iter().enumerate();
    cells
        .map(|(cell, &value)| (machine.program.cell_name(Cell::from(cell)), value))
        .collect()
}

/// What locals that may start with any value start with.
fn chosen_locals(machine: &Machine<'_>, state: &State) -> BTreeMap<(usize, LocalId), i64> {
    let (_, free) = machine.initial_choices();
    let named = free.iter().filter_map(|(slot, _)| {
        let thread = machine.threads.iter().rposition(|t| t.base <= *slot)?;
        let local = (*slot - machine.threads[thread].base) as usize;
        (*slot as usize >= machine.cells)
            .then(|| ((thread, LocalId::from(local)), state.slots[*slot as usize]))
    });
    named.collect()
}
