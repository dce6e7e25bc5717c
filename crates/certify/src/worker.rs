//! A *worker* proves that the invariant is closed: for every entry, every step
//! of every thread and of the memory system, and every cube, that the states
//! after the step are in the invariant; and that no fault can happen. Steps are
//! run symbolically once per thread, edge, buffer shape and explicit values
//! that they read, and remembered.
//!
//! For an effect with guard g and parallel assignment s, a source cube c and the
//! matching target cubes c1 .. cn, the obligation is that c and g imply
//! c1\[s\] or .. or cn\[s\], where a target whose explicit values are data after
//! the step carries the equations for them as well.

use crate::buffer::Buffer;
use crate::buffer_summary::SummaryInvariant;
use crate::certificate::{Control, Entry};
use crate::context::{At, Context};
use crate::index::After;
use crate::judge::Judge;
use crate::refusal::{Reason, Refusal, Site};
use crate::remote::{Processes, network};
use crate::remote_atomic;
use crate::state::StateVar;
use crate::steps::{Effect, Fault, Outcome, Runner, Trouble, departed};
use crate::views::is_numbered;
use palisade_logic::prover::Cluster;
use palisade_logic::{Formula, Lit, Overflow, Substitution, Term, Var};
use palisade_program::{LocId, Model, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Proves obligations of entries, one after another.
pub(crate) struct Worker<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) judge: Judge,
    /// The literal of each atom.
    atoms: Vec<Lit>,
    /// For each atom the set of whose elements it speaks, if it does.
    elements: Vec<Option<Var>>,
    compiled: FxHashMap<StepKey, Rc<Compiled>>,
}

/// What the symbolic run of a step depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct StepKey {
    thread: usize,
    edge: Option<usize>,
    buffer: Buffer,
    values: Box<[Option<i64>]>,
    /// RMA: which sets are in use, also those of others.
    sets: Vec<Vec<u32>>,
}

/// A step that was run, with its formulas as literals.
pub(crate) struct Compiled {
    pub(crate) effects: Vec<CompiledEffect>,
    pub(crate) faults: Vec<(Vec<Lit>, Fault)>,
}

/// An effect with its guard and the atoms' preconditions as literals.
pub(crate) struct CompiledEffect {
    pub(crate) effect: Effect,
    guard: Vec<Lit>,
    /// For each atom what must hold before so that it holds after, and so that it does
    /// not; of sets, for every element.
    before: Vec<(Lit, Lit)>,
    /// Explicit variables that change, with their new values.
    changes: Vec<(usize, Term)>,
}

/// The data at an entry: its cubes as literals.
pub(crate) struct Source {
    pub(crate) cubes: Vec<Vec<Lit>>,
    /// The literals of each as the certificate has them.
    pub(crate) literals: Vec<Vec<(u32, bool)>>,
}

/// A cube that states after a step may be in, over the states before.
struct Target {
    /// What it says of single values.
    plain: Vec<Lit>,
    /// What it says of all elements of sets.
    of_sets: Vec<Lit>,
}

/// Where a thread's step goes.
pub(crate) struct Successor {
    pub(crate) locs: Vec<LocId>,
    pub(crate) buffers: Vec<Buffer>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(context: &'a Context<'a>, mut judge: Judge) -> Self {
        let atoms = context.certificate.atoms.iter();
        let atoms = atoms.map(|atom| judge.lit(atom)).collect();
        let is_element = |v: &Var| matches!(StateVar::of(*v), Some(StateVar::Element { .. }));
        let element = |atom: &Formula| atom.free_vars().into_iter().find(is_element);
        let elements = context.certificate.atoms.iter().map(element).collect();
        Self {
            elements,
            context,
            judge,
            atoms,
            compiled: FxHashMap::default(),
        }
    }

    /// Proves everything that concerns the states of one entry.
    pub(crate) fn entry(&mut self, entry: &Entry) -> Result<(), Refusal> {
        if entry.cubes.is_empty() {
            return Ok(());
        }
        let control = &entry.control;
        let interrupted = self.judge.interrupted();
        interrupted.map_err(|r| self.refusal(r.into(), control, None, None))?;
        let source = self.source(entry)?;
        for thread in 0..self.context.instances.len() {
            self.thread_steps(control, &source, thread)?;
            self.memory_steps(control, &source, thread)?;
        }
        self.properties(control, &source)?;
        self.deadlock(control, &source)?;
        self.progress(control)
    }

    /// The cubes of an entry as literals, with the values of those explicit
    /// variables that atoms speak of.
    fn source(&mut self, entry: &Entry) -> Result<Source, Refusal> {
        let values = self.values(&entry.control.values)?;
        let cubes = entry.cubes.iter().map(|cube| {
            let own = cube.0.iter().map(|literal| self.literal(*literal));
            values.iter().copied().chain(own).collect()
        });
        Ok(Source {
            cubes: cubes.collect(),
            literals: entry.cubes.iter().map(|cube| cube.0.clone()).collect(),
        })
    }

    /// A literal of a cube.
    pub(crate) fn literal(&self, (atom, positive): (u32, bool)) -> Lit {
        let lit = self.atoms[atom as usize];
        if positive { lit } else { !lit }
    }

    /// The values of those explicit variables that atoms speak of, and what is true
    /// in all states.
    pub(crate) fn values(&mut self, values: &[Option<i64>]) -> Result<Vec<Lit>, Refusal> {
        let mut lits = self.facts();
        for i in &self.context.mixed {
            if let Some(value) = values[*i] {
                let var = Term::var(self.context.explicit[*i]);
                let equation = Formula::eq(&var, &Term::constant(value)).map_err(overflow)?;
                lits.push(self.judge.lit(&equation));
            }
        }
        Ok(lits)
    }

    fn facts(&mut self) -> Vec<Lit> {
        let facts = self.context.facts.iter();
        facts.map(|fact| self.judge.lit(fact)).collect()
    }

    fn thread_steps(
        &mut self,
        control: &Control,
        source: &Source,
        thread: usize,
    ) -> Result<(), Refusal> {
        let context = self.context;
        let template = context.instances[thread].template;
        let cfg = &context.program.template(template).cfg;
        for (id, edge) in cfg.outgoing(control.locs[thread]) {
            let step = || {
                let text = context.program.show_step(template, &edge.step);
                format!("`{}: {text}`", context.names.thread(thread as u32))
            };
            let compiled = self.compiled(control, thread, Some(id.index()))?;
            let cluster = Cluster(context.cluster(thread, Some(id.index())));
            for (condition, fault) in &compiled.faults {
                if !self.excluded(cluster, source, condition, control)? {
                    let reason = fault.reason.clone();
                    return Err(self.refusal(reason, control, Some(step()), Some(fault.span)));
                }
            }
            for effect in &compiled.effects {
                if !self.closed(cluster, control, source, thread, effect)? {
                    let reason = Reason::NotClosed;
                    return Err(self.refusal(reason, control, Some(step()), Some(edge.span)));
                }
            }
        }
        Ok(())
    }

    fn memory_steps(
        &mut self,
        control: &Control,
        source: &Source,
        thread: usize,
    ) -> Result<(), Refusal> {
        if control.buffers[thread].is_empty() {
            return Ok(());
        }
        let compiled = self.compiled(control, thread, None)?;
        let cluster = Cluster(self.context.cluster(thread, None));
        for effect in &compiled.effects {
            if !self.closed(cluster, control, source, thread, effect)? {
                let name = self.context.names.thread(thread as u32);
                let what = match self.context.certificate.model {
                    Model::Rma => "the network does half of a remote operation",
                    Model::Sc | Model::Tso | Model::Pso | Model::Rc11 => {
                        "a buffered store reaches memory"
                    }
                };
                let step = Some(format!("`{name}: {what}`"));
                return Err(self.refusal(Reason::NotClosed, control, step, None));
            }
        }
        Ok(())
    }

    /// The symbolic run of a step at `control`, from the table if it is there.
    pub(crate) fn compiled(
        &mut self,
        control: &Control,
        thread: usize,
        edge: Option<usize>,
    ) -> Result<Rc<Compiled>, Refusal> {
        let key = StepKey {
            thread,
            edge,
            buffer: control.buffers[thread].clone(),
            values: self.context.read_values(control, thread, edge),
            sets: match self.context.certificate.model {
                Model::Rma => control.buffers.iter().map(|b| b.sets.clone()).collect(),
                Model::Sc | Model::Tso | Model::Pso | Model::Rc11 => Vec::new(),
            },
        };
        if let Some(compiled) = self.compiled.get(&key) {
            return Ok(Rc::clone(compiled));
        }
        let compiled = self.outcome(control, thread, edge).and_then(|outcome| {
            let compiled = self.compile(outcome);
            compiled.map_err(|Overflow| Trouble {
                reason: overflow_reason(),
                span: Span::default(),
            })
        });
        match compiled {
            Ok(compiled) => {
                let compiled = Rc::new(compiled);
                self.compiled.insert(key, Rc::clone(&compiled));
                Ok(compiled)
            }
            Err(trouble) => Err(self.refusal(trouble.reason, control, None, Some(trouble.span))),
        }
    }

    fn outcome(
        &self,
        control: &Control,
        thread: usize,
        edge: Option<usize>,
    ) -> Result<Outcome, Trouble> {
        let context = self.context;
        let at = At {
            context,
            values: &control.values,
        };
        let model = context.certificate.model;
        let instance = context.instances[thread];
        let buffer = &control.buffers[thread];
        let template = context.program.template(instance.template);
        let Some(edge) = edge else {
            let own = (thread as u32, instance);
            let processes = Processes {
                instances: &context.instances,
                buffers: &control.buffers,
            };
            let mut effects = network(context.program, own, processes, &at, template.span)?;
            let span = template.span;
            let atomics = remote_atomic::network(context.program, own, processes, &at, span)?;
            effects.extend(atomics);
            for departure in buffer.departures(model, thread as u32, context.keep()) {
                let claim = match &context.certificate.beyond {
                    Some(beyond) => beyond.claim(thread as u32, departure.cell),
                    None => &SummaryInvariant::Any,
                };
                let own = departed(departure, (thread as u32, claim), &at, template.span)?;
                effects.extend(own);
            }
            return Ok(Outcome {
                effects,
                faults: Vec::new(),
            });
        };
        let beyond = context.certificate.beyond.as_ref();
        let numbered = is_numbered(context.program, context.certificate.kind, instance);
        let own = (thread as u32, instance, numbered);
        let processes = Processes {
            instances: &context.instances,
            buffers: &control.buffers,
        };
        let runner = Runner::new(context.program, (model, beyond), own, &at, processes);
        runner.run(&template.cfg, edge, &context.stops[thread], buffer)
    }

    fn compile(&mut self, outcome: Outcome) -> Result<Compiled, Overflow> {
        let mut effects = Vec::new();
        for effect in outcome.effects {
            effects.push(self.compile_effect(effect)?);
        }
        let faults = outcome.faults.into_iter();
        let faults = faults.map(|f| (self.judge.conjuncts(&f.condition), f));
        Ok(Compiled {
            faults: faults.collect(),
            effects,
        })
    }

    /// Turns an effect into literals.
    pub(crate) fn compile_effect(&mut self, effect: Effect) -> Result<CompiledEffect, Overflow> {
        let guard = self.judge.conjuncts(&effect.guard);
        let mut before = Vec::with_capacity(self.atoms.len());
        for atom in &self.context.certificate.atoms {
            let mut all = vec![atom.substitute(&effect.updates)?];
            for (element, value) in &effect.adds {
                if atom.free_vars().contains(element) {
                    let mut with = effect.updates.clone();
                    with.set(*element, value.clone());
                    all.push(atom.substitute(&with)?);
                }
            }
            let none = Formula::all(all.iter().map(Formula::negated));
            let all = Formula::all(all);
            before.push((self.judge.lit(&all), self.judge.lit(&none)));
        }
        let mut changes = Vec::new();
        for var in &effect.written {
            let position = self.context.position(*var);
            if let (Some(i), Some(term)) = (position, effect.updates.get(*var)) {
                changes.push((i, term.clone()));
            }
        }
        Ok(CompiledEffect {
            effect,
            guard,
            before,
            changes,
        })
    }

    /// Whether `condition` cannot hold in any state of the entry.
    pub(crate) fn excluded(
        &mut self,
        cluster: Cluster,
        source: &Source,
        condition: &[Lit],
        control: &Control,
    ) -> Result<bool, Refusal> {
        for cube in &source.cubes {
            let query: Vec<Lit> = cube.iter().chain(condition).copied().collect();
            let impossible = self.judge.impossible(cluster, &query);
            if !impossible.map_err(|r| self.refusal(r.into(), control, None, None))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn closed(
        &mut self,
        cluster: Cluster,
        control: &Control,
        source: &Source,
        thread: usize,
        effect: &CompiledEffect,
    ) -> Result<bool, Refusal> {
        let mut successor = Successor {
            locs: control.locs.clone(),
            buffers: control.buffers.clone(),
        };
        if let Some(to) = effect.effect.to {
            successor.locs[thread] = to;
        }
        successor.buffers[thread].clone_from(&effect.effect.buffer);
        let closed = self.leads_in(cluster, &control.values, source, &successor, effect);
        closed.map_err(|reason| self.refusal(reason, control, None, None))
    }

    /// Whether every state after the effect is in the invariant.
    pub(crate) fn leads_in(
        &mut self,
        cluster: Cluster,
        values: &[Option<i64>],
        source: &Source,
        successor: &Successor,
        effect: &CompiledEffect,
    ) -> Result<bool, Reason> {
        let after = after(values, effect);
        let index = &self.context.index;
        let candidates = index.matching(&successor.locs, &successor.buffers, &after);
        let mut targets = Vec::new();
        for number in candidates {
            let entry = &self.context.certificate.entries[number as usize];
            let equations = self.equations(&after, effect, &entry.control)?;
            for cube in &entry.cubes {
                if cube.0.is_empty() && equations.is_empty() {
                    return Ok(true);
                }
                let mut target = Target {
                    plain: equations.clone(),
                    of_sets: Vec::new(),
                };
                for (atom, positive) in &cube.0 {
                    let (all, none) = effect.before[*atom as usize];
                    let lit = if *positive { all } else { none };
                    if self.elements[*atom as usize].is_some() {
                        target.of_sets.push(lit);
                    } else {
                        target.plain.push(lit);
                    }
                }
                targets.push(target);
            }
        }
        for (number, cube) in source.cubes.iter().enumerate() {
            let mut known: Vec<Lit> = cube.iter().chain(&effect.guard).copied().collect();
            if let Some(literals) = source.literals.get(number) {
                known.extend(self.taken(literals, &effect.effect.picks)?);
            }
            let mut plain = Vec::new();
            for target in &targets {
                if self.holds_for_all(cluster, &known, target)? {
                    plain.push(target.plain.clone());
                    if target.plain.is_empty() {
                        break;
                    }
                }
            }
            if !self.judge.covered(cluster, &known, &plain)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What is known of elements that were taken from sets: what holds for all.
    fn taken(
        &mut self,
        literals: &[(u32, bool)],
        picks: &[(Var, Var)],
    ) -> Result<Vec<Lit>, Reason> {
        let mut known = Vec::new();
        for (atom, positive) in literals {
            for (element, one) in picks {
                if self.elements[*atom as usize] == Some(*element) {
                    let formula = &self.context.certificate.atoms[*atom as usize];
                    let renaming = Substitution::single(*element, Term::var(*one));
                    let formula = formula.substitute(&renaming);
                    let formula = formula.map_err(|Overflow| overflow_reason())?;
                    let lit = self.judge.lit(&formula);
                    known.push(if *positive { lit } else { !lit });
                }
            }
        }
        Ok(known)
    }

    /// Whether what a target says of sets holds for each element wherever the rest of
    /// it holds. One target must do for all elements, so that this is asked of each
    /// alone: that every element is in one of several would not do.
    fn holds_for_all(
        &mut self,
        cluster: Cluster,
        known: &[Lit],
        target: &Target,
    ) -> Result<bool, Reason> {
        if target.of_sets.is_empty() {
            return Ok(true);
        }
        let here: Vec<Lit> = known.iter().chain(&target.plain).copied().collect();
        let wanted = std::slice::from_ref(&target.of_sets);
        Ok(self.judge.covered(cluster, &here, wanted)?)
    }

    /// What must hold before so that explicit variables whose values are data
    /// have the target's values after.
    fn equations(
        &mut self,
        after: &[After],
        effect: &CompiledEffect,
        target: &Control,
    ) -> Result<Vec<Lit>, Reason> {
        let mut equations = Vec::new();
        for (i, value) in target.values.iter().enumerate() {
            let (Some(value), After::Unknown) = (value, after[i]) else {
                continue;
            };
            let changed = effect.changes.iter().find(|change| change.0 == i);
            let same = Term::var(self.context.explicit[i]);
            let term = changed.map_or(&same, |change| &change.1);
            let equation = Formula::eq(term, &Term::constant(*value));
            let equation = equation.map_err(|Overflow| overflow_reason())?;
            equations.push(self.judge.lit(&equation));
        }
        Ok(equations)
    }

    /// That every state after the start is in the invariant.
    pub(crate) fn initial(
        &mut self,
        effect: &CompiledEffect,
        locs: Vec<LocId>,
    ) -> Result<bool, Reason> {
        let buffers = vec![Buffer::default(); locs.len()];
        let successor = Successor { locs, buffers };
        let source = Source {
            cubes: vec![self.facts()],
            literals: Vec::new(),
        };
        let values = vec![None; self.context.explicit.len()];
        self.leads_in(Cluster(0), &values, &source, &successor, effect)
    }

    /// A refusal located at `control`.
    pub(crate) fn refusal(
        &self,
        reason: Reason,
        control: &Control,
        step: Option<String>,
        span: Option<Span>,
    ) -> Refusal {
        let mut text = String::new();
        let explicit = &self.context.certificate.explicit;
        let written =
            crate::print::write_control(&mut text, &self.context.names, explicit, control);
        debug_assert!(written.is_ok(), "writing to a string does not fail");
        let source = &self.context.program.source;
        Refusal {
            reason,
            site: Site {
                control: Some(text),
                step,
                span: span.map(|span| (span, source.position(span.start))),
            },
        }
    }
}

/// The explicit values after an effect.
/// The explicit values after an effect.
pub(crate) fn after(values: &[Option<i64>], effect: &CompiledEffect) -> Vec<After> {
    let known = |value: i64| After::Known(i128::from(value));
    let kept = values
        .iter()
        .map(|value| value.map_or(After::Unknown, known));
    let mut after: Vec<After> = kept.collect();
    for (i, term) in &effect.changes {
        after[*i] = term.as_constant().map_or(After::Unknown, After::Known);
    }
    after
}

fn overflow(_: Overflow) -> Refusal {
    Refusal::whole(overflow_reason())
}

/// Numbers beyond the range of terms.
pub(crate) fn overflow_reason() -> Reason {
    Reason::Unsupported(Overflow.to_string())
}
