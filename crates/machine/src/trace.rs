//! Runs as evidence: a [`Recorder`] takes actions one by one, checks each
//! against the semantics, and writes the [`Trace`] for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use palisade_program::{
    AssertKind, Broken, Cell, Edge, EdgeId, LocalAtom, Model, Origin, Span, Step, Trace, TraceStep,
    Violation,
};

use crate::action::{Action, ActionKind, BlockStep};
use crate::block::Inside;
use crate::expand::{Move, Scratch, Sink};
use crate::machine::{Act, Choice, Machine};
use crate::options::Bound;
use crate::rc11::{Turn, TurnEnd};
use crate::remote::{Part, parts};
use crate::replay::Refused;
use crate::state::{NO_CELL, State};
use crate::step::{Effect, arrive};

/// A run in progress.
pub(crate) struct Recorder<'m, 'p> {
    machine: &'m Machine<'p>,
    pub(crate) state: State,
    pub(crate) trace: Trace,
    /// What failed in the last step: an assertion, or a data race.
    failed: Option<(Span, (Broken, String))>,
}

impl<'m, 'p> Recorder<'m, 'p> {
    /// A run that starts in `state`. `machine` keeps dead locals.
    pub(crate) fn new(machine: &'m Machine<'p>, state: State) -> Self {
        let program = machine.program;
        let names = machine.threads.iter();
        let trace = Trace {
            threads: names.map(|t| program.instance_name(t.instance)).collect(),
            initial: memory(machine, &state),
            steps: Vec::new(),
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
        let (span, text) = match &action.kind {
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
            by_memory,
            span,
            text,
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

    fn step(
        &mut self,
        t: usize,
        id: EdgeId,
        choice: Option<i64>,
    ) -> Result<(Span, String), Refused> {
        let machine = self.machine;
        let edge = self.edge(t, id)?;
        let act = machine.threads[t].graph.arcs[id.index()].act;
        let value = match act {
            Act::Havoc { choice: among, .. } => chosen(among, choice)?,
            Act::Block(_) => return Err(Refused::NoPath),
            _ => 0,
        };
        let mut next = State::default();
        match machine.apply(&self.state, &mut next, t, id.index(), value) {
            Effect::Done => {}
            Effect::Disabled => return Err(Refused::Disabled),
            Effect::Waits => return Err(Refused::Waits),
            Effect::Cut(bound) => return Err(Refused::Bound(bound)),
            Effect::Fails => {
                self.failed = Some((edge.span, self.assertion(t, edge)));
                let text = machine.program.show_step(self.template(t), &edge.step);
                return Ok((edge.span, format!("{text} fails")));
            }
        }
        let before = std::mem::replace(&mut self.state, next);
        Ok((edge.span, self.words(t, &edge.step, act, &before.slots)))
    }

    fn block(
        &mut self,
        t: usize,
        id: EdgeId,
        path: &[BlockStep],
    ) -> Result<(Span, String), Refused> {
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
        let mut loc = graph.entry;
        for (i, (inner, choice)) in path.iter().enumerate() {
            let inside = atomic.body.edges.get(inner.index());
            let inside = inside
                .filter(|e| e.from.0 == loc)
                .ok_or(Refused::NotThere)?;
            let act = graph.arcs[inner.index()].act;
            let value = match act {
                Act::Havoc { choice: among, .. } => chosen(among, *choice)?,
                _ => 0,
            };
            let before = slots.clone();
            match machine.inside(act, value, &self.state.queues[t], &mut slots) {
                Inside::Done => {}
                Inside::Disabled => return Err(Refused::Disabled),
                Inside::Cut(bound) => return Err(Refused::Bound(bound)),
                Inside::Fails if i + 1 == path.len() => {
                    let text = machine.program.show_step(self.template(t), &inside.step);
                    self.failed = Some((inside.span, self.assertion(t, inside)));
                    self.state.slots = slots;
                    words.push(format!("{text} fails"));
                    return Ok((inside.span, format!("atomic {{ {} }}", words.join("; "))));
                }
                Inside::Fails => return Err(Refused::Goes),
            }
            if !matches!(inside.step, Step::Skip) {
                let mut after = self.state.clone();
                after.slots.clone_from(&slots);
                words.push(self.words_in(t, &inside.step, act, &before, &after));
            }
            loc = inside.to.0;
        }
        if loc != graph.exit {
            return Err(Refused::NoPath);
        }
        self.state.slots = slots;
        arrive(arc, &mut self.state, t);
        Ok((edge.span, format!("atomic {{ {} }}", words.join("; "))))
    }

    /// A turn under RC11, with what was read and how old it was.
    fn turn(
        &mut self,
        t: usize,
        id: EdgeId,
        path: &[BlockStep],
        pick: usize,
    ) -> Result<(Span, String), Refused> {
        let machine = self.machine;
        let edge = self.edge(t, id)?;
        let mut scratch = crate::block::BlockScratch::default();
        let turns = machine.turns(&self.state, t, id.index(), &mut scratch);
        let turns = turns.ok_or(Refused::NotThere)?;
        let taken = turns
            .all
            .into_iter()
            .nth(pick)
            .ok_or(Refused::NothingToDo)?;
        if taken.path != path {
            return Err(Refused::NoPath);
        }
        let mut text = self.turn_words(t, id, edge, &taken);
        match taken.end {
            TurnEnd::Done => {}
            TurnEnd::Race(other) => {
                let name = &self.trace.threads[other];
                self.failed = Some((
                    edge.span,
                    (Broken::DataRace, self.race_words(t, edge, other)),
                ));
                let _ = write!(text, "; races with {name}");
            }
            TurnEnd::Fails => {
                let inside = edge.step.block().zip(path.last());
                let inside = inside.map(|(block, (last, _))| block.body.edge(*last));
                let inside = inside.ok_or(Refused::NoPath)?;
                self.failed = Some((inside.span, self.assertion(t, inside)));
                text.push_str("; an assertion fails");
            }
        }
        self.state = taken.next;
        Ok((edge.span, text))
    }

    fn race_words(&self, t: usize, edge: &Edge, other: usize) -> String {
        let steps = edge
            .step
            .block()
            .map(|b| b.body.edges.iter().map(|e| &e.step));
        let inner = steps.into_iter().flatten();
        let mut all = std::iter::once(&edge.step).chain(inner);
        let place = all.find_map(|s| s.loaded().or(s.stored()));
        let place = place.map_or_else(String::new, |p| {
            self.machine.program.show_place(self.template(t), p)
        });
        let (own, other) = (&self.trace.threads[t], &self.trace.threads[other]);
        format!("data race on {place}: nothing orders the accesses of {own} and {other}")
    }

    fn turn_words(&self, t: usize, id: EdgeId, edge: &Edge, turn: &Turn) -> String {
        let mut text = self.machine.program.show_step(self.template(t), &edge.step);
        if let Some(read) = turn.read {
            let age = match read.behind {
                0 => String::new(),
                1 => ", one store behind".to_owned(),
                n => format!(", {n} stores behind"),
            };
            let _ = write!(text, " (reads {}{age})", read.value);
        } else if let (Step::Store { value, .. }, Act::Store { value: code, .. }) = (
            &edge.step,
            self.machine.threads[t].graph.arcs[id.index()].act,
        ) && !matches!(value, palisade_program::Expr::Const(_))
            && let Ok(value) = self.machine.table.eval(code, &[], &self.state.slots)
        {
            let _ = write!(text, " ({value})");
        }
        match turn.below {
            0 => {}
            1 => text.push_str(", below one newer store"),
            n => {
                let _ = write!(text, ", below {n} newer stores");
            }
        }
        text
    }

    fn update(&mut self, t: usize, cell: Cell) -> Result<(Span, String), Refused> {
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
        Ok((span, format!("{name} = {} reaches memory", store.value)))
    }

    fn network(
        &mut self,
        t: usize,
        wanted: impl Fn(&crate::state::Pending) -> bool,
    ) -> Result<(Span, String), Refused> {
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
        Ok((self.origin(t, operation.origin), text))
    }

    fn network_atomic(
        &mut self,
        t: usize,
        target: Cell,
        position: usize,
        part: Part,
    ) -> Result<(Span, String), Refused> {
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
        Ok((self.origin(t, operation.origin), text))
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

    fn words(&self, t: usize, step: &Step, act: Act, before: &[i64]) -> String {
        self.words_in(t, step, act, before, &self.state)
    }

    /// The step with the values that it used.
    fn words_in(&self, t: usize, step: &Step, act: Act, before: &[i64], after: &State) -> String {
        let text = self.machine.program.show_step(self.template(t), step);
        let value = match act {
            Act::Assign { dst, value } => match value {
                crate::code::Code::Const(_) => None,
                _ => Some(after.slots[dst as usize]),
            },
            Act::Havoc { dst, .. } | Act::Load { dst, .. } => Some(after.slots[dst as usize]),
            Act::Store { value, .. } | Act::Buffer { value, .. } => match value {
                crate::code::Code::Const(_) => None,
                _ => self.machine.table.eval(value, &[], before).ok(),
            },
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

    fn assertion(&self, t: usize, edge: &Edge) -> (Broken, String) {
        let Step::Assert { cond, kind } = &edge.step else {
            return (
                Broken::Assert(AssertKind::User),
                "assertion failed".to_owned(),
            );
        };
        let program = self.machine.program;
        let template = program.template(self.template(t));
        let temporary = |atom: &LocalAtom| match atom {
            LocalAtom::Local(id) => template.local(*id).origin == Origin::Temporary,
            LocalAtom::SelfId => false,
        };
        // The user's words where the condition speaks of values that were loaded.
        let cond = if cond.any_atom(temporary) {
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
        (Broken::Assert(kind.clone()), kind.failure(&cond))
    }

    fn locals(&self, t: usize) -> BTreeMap<String, i64> {
        let thread = &self.machine.threads[t];
        let locals = &self.machine.program.template(self.template(t)).locals;
        let slots = &self.state.slots[thread.base as usize..];
        let users = locals.iter().zip(slots);
        users
            .filter(|(local, _)| local.origin == Origin::User)
            .map(|(local, &value)| (local.name.clone(), value))
            .collect()
    }

    fn buffers(&self) -> BTreeMap<String, Vec<String>> {
        let program = self.machine.program;
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (queue, name) in self.state.queues.iter().zip(&self.trace.threads) {
            for store in &queue.stores {
                let cell = program.cell_name(Cell(store.cell));
                if self.machine.model == Model::Pso {
                    let held = if store.epoch > 0 {
                        " after fence(ss)"
                    } else {
                        ""
                    };
                    let entry = format!("{}{held}", store.value);
                    all.entry(format!("{name}: {cell}"))
                        .or_default()
                        .push(entry);
                } else {
                    let entry = format!("{cell} = {}", store.value);
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
        let (broken, span, message) = if let Some((span, (broken, message))) = &self.failed {
            (broken.clone(), *span, message.clone())
        } else {
            let broken = self.machine.broken(&self.state)?;
            let Broken::Property(index) = broken else {
                return None;
            };
            let property = &self.machine.program.properties[index];
            let message = self.machine.program.show_property(property);
            (broken, property.span, format!("violated: {message}"))
        };
        Some(Violation {
            broken,
            span,
            message,
            trace: self.trace.clone(),
        })
    }

    /// Whether nothing can move although not all threads have ended.
    pub(crate) fn is_stuck(&self) -> bool {
        let mut quiet = Quiet;
        let machine = self.machine;
        let outcome = machine.expand(&self.state, false, &mut Scratch::default(), &mut quiet);
        outcome.steps == 0 && outcome.bounds.is_empty() && !machine.all_ended(&self.state)
    }

    /// The deadlock in which the run ends, as a violation.
    pub(crate) fn deadlock(&self) -> Violation {
        let program = self.machine.program;
        let waiting: Vec<usize> = (0..self.machine.threads.len())
            .filter(|&t| self.state.pcs[t] != self.machine.threads[t].graph.exit)
            .collect();
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
            trace: self.trace.clone(),
        }
    }
}

struct Quiet;

impl Sink for Quiet {
    fn next(&mut self, _next: &State, _step: Move<'_>) {}
    fn fails(&mut self, _step: Move<'_>) {}
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
