//! *Views*: invariants over `m` of any number of copies
//! ([`Kind::Views`](crate::Kind::Views); the idea of [Donaldson et al., CAV 2011], and its
//! check: an invariant over m threads is checked with m + 1).
//!
//! **Meaning.** The certificate's entries, with all renamings of copies of the same
//! template, are a set I of views. It claims that in every reachable state, with any
//! number of copies of each template declared with `[*]`, every choice of `m` distinct
//! copies of each, in every order, with the threads that run once, is a view in I.
//!
//! **Rules.**
//! 1. Every initial state of `m` copies is in I.
//! 2. I is closed under the steps of the threads that are seen, and of their buffers;
//!    no step fails; no view violates a property. This is what other certificates ask
//!    for, with `m` copies.
//! 3. Let one more copy `a` of a template T be given, and let all views of the `m`
//!    seen copies in which `a` replaces one of T's copies be in I as well. After a
//!    step of `a` or of its buffers the `m` seen copies are a view in I.
//!
//! **Why that is enough.** By 1 the claim is true at the start. A step changes shared
//! variables and the locals and buffers of one thread. If it is a seen one, 2 applies
//! to every choice of copies with it; otherwise 3 does, since all views of the state
//! before are in I. That is so where there are at least `m + 1` copies of each
//! template. With fewer copies there are no more runs: a copy that does not move is
//! as it was at the start, so every run with few copies is one of more. A violated
//! assertion or `never` is violated there too. (`finally` waits for all copies to end
//! and is refused.) A property over `k` copies of a template needs `m >= k`.
//!
//! `self` is unknown ([`StateVar::Number`]): all that is used of the numbers is that
//! they are not negative and that two copies have different ones. With that, copies
//! differ in nothing, so that 2 and 3 need to be proved for one order of the copies
//! of each entry only.

use crate::certificate::{Certificate, Control, Cube, Entry, Kind};
use crate::check::{Options, admissible, located};
use crate::context::Context;
use crate::judge::Judge;
use crate::refusal::{Reason, Refusal};
use crate::state::StateVar;
use crate::wellformed::wellformed;
use crate::worker::{CompiledEffect, Source, Successor, Worker};
use crate::{Buffer, BufferSummary};
use palisade_logic::prover::Cluster;
use palisade_logic::{Formula, Lit, Overflow, Substitution, Term};
use palisade_program::presence::with_presence;
use palisade_program::{
    Count, Instance, LocId, LocalAtom, Model, Pick, Program, PropAtom, PropertyKind, Span,
    TemplateId,
};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The program that a certificate of this kind speaks of.
pub(crate) fn subject(program: &Program, kind: Kind) -> Cow<'_, Program> {
    match kind {
        Kind::Views if !program.has_unbounded_threads() => {
            let mut many = program.clone();
            for template in &mut many.templates {
                if let Count::Fixed(_) = template.count {
                    template.count = Count::Any;
                }
            }
            Cow::Owned(many)
        }
        Kind::Views | Kind::Inductive | Kind::Stops => Cow::Borrowed(program),
        Kind::Histories(_) | Kind::Reachable(_) => Cow::Borrowed(program),
    }
}

/// The program with the certificate's flags.
pub(crate) fn flagged<'p>(
    program: &'p Program,
    certificate: &Certificate,
) -> Result<Cow<'p, Program>, Reason> {
    if certificate.present.is_empty() {
        return Ok(Cow::Borrowed(program));
    }
    let malformed = || Reason::Malformed("a flag for locations that do not exist".to_owned());
    let changed = with_presence(
        program,
        &certificate.present,
        certificate.model != Model::Sc,
    )
    .ok_or_else(malformed)?;
    Ok(Cow::Owned(changed))
}

/// Whether a thread's number is not known.
pub(crate) fn is_numbered(program: &Program, kind: Kind, instance: Instance) -> bool {
    kind == Kind::Views && program.template(instance.template).count == Count::Any
}

/// What is true of thread numbers: not negative, and different for two copies.
/// Templates that do not use theirs have none.
pub(crate) fn number_facts(program: &Program, kind: Kind, instances: &[Instance]) -> Vec<Formula> {
    let number = |thread: usize| {
        let used = is_numbered(program, kind, instances[thread])
            && uses_number(program, instances[thread].template);
        let thread = thread as u32;
        used.then(|| StateVar::Number { thread }.var().map(Term::var))
            .flatten()
    };
    let mut facts = Vec::new();
    for a in 0..instances.len() {
        let Some(own) = number(a) else { continue };
        facts.extend(Formula::ge(&own, &Term::constant(0)));
        for b in a + 1..instances.len() {
            if instances[a].template == instances[b].template
                && let Some(other) = number(b)
            {
                facts.extend(Formula::ne(&own, &other));
            }
        }
    }
    facts
}

/// Whether a template, or a property of it, asks for the numbers of its copies.
pub(crate) fn uses_number(program: &Program, template: TemplateId) -> bool {
    let mut used = false;
    for edge in &program.template(template).cfg.edges {
        edge.step
            .for_each_expr(&mut |e| used |= e.any_atom(|a| *a == LocalAtom::SelfId));
    }
    for property in &program.properties {
        let own = |atom: &PropAtom| match atom {
            PropAtom::SelfOf(t) => property.threads[t.index()].template == template,
            PropAtom::Global(..) | PropAtom::Local(..) | PropAtom::At(..) => false,
        };
        used |= property.cond.any_atom(own);
    }
    used
}

/// Checks a certificate of kind [`Kind::Views`] of its [`subject`]: obligations and
/// solver calls.
pub(crate) fn check(
    program: &Program,
    certificate: &Certificate,
    options: &Options,
) -> Result<(u64, u64), Refusal> {
    admissible(program, certificate).map_err(Refusal::whole)?;
    let program = &*flagged(program, certificate).map_err(Refusal::whole)?;
    suitable(program, certificate).map_err(Refusal::whole)?;
    let instances = program.instances(certificate.threads);
    wellformed(program, &instances, certificate).map_err(Refusal::whole)?;
    let closed = closed(program, certificate, &instances).map_err(Refusal::whole)?;
    let context = Context::new(program, &closed, instances.clone());
    let mut worker = Worker::new(&context, Judge::new(&options.limits, &options.stats));
    let initial = worker.initial_states();
    initial.map_err(|t| located(&context, t.reason, t.span))?;
    let own = &closed.entries[..certificate.entries.len()];
    for entry in own {
        worker.entry(entry)?;
    }
    let mut counts = (worker.judge.obligations, worker.judge.calls);
    for template in program.template_ids() {
        if program.template(template).count != Count::Any {
            continue;
        }
        let wider = wider(&closed, &instances, template).map_err(Refusal::whole)?;
        let mut all = instances.clone();
        let copy = certificate.threads;
        all.push(Instance { template, copy });
        let context = Context::new(program, &wider.certificate, all);
        let judge = Judge::new(&options.limits, &options.stats);
        let mut interference = Interference::new(&context, &wider, judge);
        for (number, _) in own.iter().enumerate() {
            interference.entry(number)?;
        }
        let judge = &interference.worker.judge;
        counts = (counts.0 + judge.obligations, counts.1 + judge.calls);
    }
    Ok(counts)
}

/// Whether views of this size can speak of the program's properties.
fn suitable(program: &Program, certificate: &Certificate) -> Result<(), Reason> {
    let unsupported = |what: &str| Err(Reason::Unsupported(what.to_owned()));
    if certificate.threads == 0 {
        return unsupported("views of no copies");
    }
    if program.is_rma() {
        return unsupported("views of processes");
    }
    for property in &program.properties {
        if property.kind == PropertyKind::Finally {
            return unsupported("`finally` with any number of threads");
        }
        for template in program.template_ids() {
            let own = property.threads.iter().filter(|t| t.template == template);
            let picks: BTreeSet<Pick> = own.map(|t| t.pick).collect();
            let any = program.template(template).count == Count::Any;
            if any && picks.iter().any(|p| matches!(p, Pick::Copy(_))) {
                return unsupported("a property of a certain copy among any number");
            }
            if any && picks.len() > certificate.threads as usize {
                return unsupported("a property of more copies than are seen");
            }
        }
    }
    Ok(())
}

/// A way to take threads to threads.
type Threads = Vec<u32>;

/// All orders of the copies of each template declared with `[*]`; the first changes
/// nothing.
fn orders(program: &Program, instances: &[Instance]) -> Vec<Threads> {
    let mut all: Vec<Threads> = vec![(0..instances.len() as u32).collect()];
    for (thread, instance) in instances.iter().enumerate() {
        if program.template(instance.template).count != Count::Any {
            continue;
        }
        // Each copy may change places with itself or a later one.
        let mut next = Vec::new();
        for order in &all {
            for (other, own) in instances.iter().enumerate().skip(thread) {
                if own.template == instance.template {
                    let mut order = order.clone();
                    order.swap(thread, other);
                    next.push(order);
                }
            }
        }
        all = next;
    }
    all
}

fn renamed_var(var: StateVar, threads: &[u32]) -> StateVar {
    match var.thread() {
        Some(thread) => var.of_thread(threads[thread as usize]),
        None => var,
    }
}

fn renamed_atom(atom: &Formula, threads: &[u32]) -> Result<Formula, Reason> {
    let mut names = Substitution::default();
    for var in atom.free_vars() {
        let image = StateVar::of(var).and_then(|v| renamed_var(v, threads).var());
        let image = image.ok_or_else(|| Reason::Unsupported("so large a program".to_owned()))?;
        names.set(var, Term::var(image));
    }
    atom.substitute(&names)
        .map_err(|Overflow| crate::worker::overflow_reason())
}

/// A growing table of atoms.
struct Atoms {
    formulas: Vec<Formula>,
    index: FxHashMap<Formula, u32>,
}

impl Atoms {
    fn of(formulas: &[Formula]) -> Self {
        let mut index = FxHashMap::default();
        for (number, formula) in formulas.iter().enumerate() {
            index.entry(formula.clone()).or_insert(number as u32);
        }
        Self {
            formulas: formulas.to_vec(),
            index,
        }
    }

    fn number(&mut self, formula: Formula) -> u32 {
        let next = self.formulas.len() as u32;
        let number = *self.index.entry(formula.clone()).or_insert(next);
        if number == next {
            self.formulas.push(formula);
        }
        number
    }
}

/// The certificate with all orders of copies: its own entries first, then the others.
fn closed(
    program: &Program,
    certificate: &Certificate,
    instances: &[Instance],
) -> Result<Certificate, Reason> {
    let mut atoms = Atoms::of(&certificate.atoms);
    let mut entries = certificate.entries.clone();
    for order in orders(program, instances).iter().skip(1) {
        let images: Result<Vec<u32>, Reason> = certificate
            .atoms
            .iter()
            .map(|atom| Ok(atoms.number(renamed_atom(atom, order)?)))
            .collect();
        let images = images?;
        let positions = positions(certificate, order)?;
        for entry in &certificate.entries {
            entries.push(renamed_entry(entry, order, &positions, &images));
        }
    }
    let mut closed = certificate.clone();
    closed.atoms = atoms.formulas;
    closed.entries = entries;
    if let Some(beyond) = &mut closed.beyond {
        symmetric_claims(beyond, program, instances)?;
    }
    Ok(closed)
}

/// For each explicit variable the position of its image.
fn positions(certificate: &Certificate, order: &[u32]) -> Result<Vec<usize>, Reason> {
    let explicit = &certificate.explicit;
    let position = |v: &StateVar| {
        let image = renamed_var(*v, order);
        explicit.iter().position(|other| *other == image)
    };
    let all: Option<Vec<usize>> = explicit.iter().map(position).collect();
    all.ok_or_else(|| Reason::Malformed("copies have different explicit variables".to_owned()))
}

fn renamed_entry(entry: &Entry, order: &[u32], positions: &[usize], atoms: &[u32]) -> Entry {
    let mut control = entry.control.clone();
    for (thread, image) in order.iter().enumerate() {
        control.locs[*image as usize] = entry.control.locs[thread];
        control.buffers[*image as usize].clone_from(&entry.control.buffers[thread]);
    }
    for (from, to) in positions.iter().enumerate() {
        control.values[*to] = entry.control.values[from];
    }
    let literal = |(atom, positive): &(u32, bool)| (atoms[*atom as usize], *positive);
    let cubes = entry.cubes.iter();
    let cubes = cubes.map(|cube| Cube(cube.0.iter().map(literal).collect()));
    Entry {
        control,
        cubes: cubes.collect(),
    }
}

/// What is claimed of one copy's buffers must be claimed of all copies'.
fn symmetric_claims(
    beyond: &BufferSummary,
    program: &Program,
    instances: &[Instance],
) -> Result<(), Reason> {
    for (thread, cell, claim) in &beyond.claims {
        let instance = instances[*thread as usize];
        if program.template(instance.template).count != Count::Any {
            continue;
        }
        for (other, own) in instances.iter().enumerate() {
            if own.template == instance.template && beyond.claim(other as u32, *cell) != claim {
                let what = "copies have different claims".to_owned();
                return Err(Reason::Malformed(what));
            }
        }
    }
    Ok(())
}

/// A certificate's vocabulary with one more copy of a template.
struct Wider {
    certificate: Certificate,
    /// The copies that are seen.
    seen: Vec<u32>,
    /// For each of them and each atom: the atom with the new copy in its place.
    instead: Vec<Vec<u32>>,
    /// For each seen copy the positions of its explicit variables, and those of the
    /// new copy in the same order.
    own: Vec<Vec<usize>>,
    active: Vec<usize>,
}

fn wider(
    closed: &Certificate,
    instances: &[Instance],
    template: TemplateId,
) -> Result<Wider, Reason> {
    let active = instances.len() as u32;
    let of_template = |t: &u32| instances[*t as usize].template == template;
    let seen: Vec<u32> = (0..active).filter(of_template).collect();
    let mut certificate = closed.clone();
    let mut atoms = Atoms::of(&closed.atoms);
    let mut instead = Vec::new();
    for copy in &seen {
        let mut threads: Threads = (0..active).collect();
        threads[*copy as usize] = active;
        let own = closed.atoms.iter();
        let own = own.map(|atom| Ok(atoms.number(renamed_atom(atom, &threads)?)));
        instead.push(own.collect::<Result<Vec<u32>, Reason>>()?);
    }
    certificate.atoms = atoms.formulas;
    let first = seen.first().copied().unwrap_or(0);
    for var in &closed.explicit {
        if var.thread() == Some(first) {
            certificate.explicit.push(var.of_thread(active));
        }
    }
    if let Some(beyond) = &mut certificate.beyond {
        let own = beyond.claims.iter().filter(|c| c.0 == first);
        let more: Vec<_> = own.map(|(_, cell, c)| (active, *cell, c.clone())).collect();
        beyond.claims.extend(more);
    }
    let of = |copy: u32| {
        let of_new = certificate.explicit[closed.explicit.len()..].iter();
        let find = |v: &StateVar| {
            let own = v.of_thread(copy);
            closed.explicit.iter().position(|other| *other == own)
        };
        let all: Option<Vec<usize>> = of_new.map(find).collect();
        all.ok_or_else(|| Reason::Malformed("copies have different explicit variables".to_owned()))
    };
    let own = seen.iter().map(|copy| of(*copy));
    let own = own.collect::<Result<Vec<_>, Reason>>()?;
    let active = (closed.explicit.len()..certificate.explicit.len()).collect();
    Ok(Wider {
        certificate,
        seen,
        instead,
        own,
        active,
    })
}

/// Locations and buffers of some threads.
type Shape = (Vec<LocId>, Vec<Buffer>);

/// Proves rule 3 for one template.
struct Interference<'a> {
    worker: Worker<'a>,
    wider: &'a Wider,
    /// Entries by the shape of all threads but the first seen copy,
    besides: FxHashMap<Shape, Vec<usize>>,
    /// and by the shape of all threads.
    by_shape: FxHashMap<Shape, Vec<usize>>,
}

impl<'a> Interference<'a> {
    fn new(context: &'a Context<'a>, wider: &'a Wider, judge: Judge) -> Self {
        let mut besides: FxHashMap<Shape, Vec<usize>> = FxHashMap::default();
        let mut by_shape: FxHashMap<Shape, Vec<usize>> = FxHashMap::default();
        let first = wider.seen.first().map_or(0, |t| *t as usize);
        for (number, entry) in wider.certificate.entries.iter().enumerate() {
            let shape = (entry.control.locs.clone(), entry.control.buffers.clone());
            let mut rest = shape.clone();
            rest.0.remove(first);
            rest.1.remove(first);
            besides.entry(rest).or_default().push(number);
            by_shape.entry(shape).or_default().push(number);
        }
        Self {
            worker: Worker::new(context, judge),
            wider,
            besides,
            by_shape,
        }
    }

    fn entries(&self) -> &'a [Entry] {
        &self.wider.certificate.entries
    }

    /// Proves the rule for the views of one entry beside all copies that may be there.
    fn entry(&mut self, number: usize) -> Result<(), Refusal> {
        let control = &self.entries()[number].control;
        let interrupted = self.worker.judge.interrupted();
        interrupted.map_err(|r| Refusal::whole(r.into()))?;
        let first = self.wider.seen.first().map_or(0, |t| *t as usize);
        let mut rest = (control.locs.clone(), control.buffers.clone());
        rest.0.remove(first);
        rest.1.remove(first);
        let others = self.besides.get(&rest).cloned().unwrap_or_default();
        for other in others {
            self.beside(number, other)?;
        }
        Ok(())
    }

    /// Entry `number`, and the new copy as the first seen copy of entry `other`.
    fn beside(&mut self, number: usize, other: usize) -> Result<(), Refusal> {
        let entries = self.entries();
        let (here, there) = (&entries[number].control, &entries[other].control);
        let Some(control) = self.joined(here, there) else {
            return Ok(());
        };
        let edges = self.steps(&control);
        if edges.is_empty() {
            return Ok(());
        }
        let mut source: Option<Rc<Source>> = None;
        let active = here.locs.len();
        for edge in edges {
            let compiled = self.worker.compiled(&control, active, edge)?;
            for effect in &compiled.effects {
                if !writes_shared(effect) {
                    continue;
                }
                // Many pairs of views have no such effect: what is known is not needed.
                let known = if let Some(known) = &source {
                    Rc::clone(known)
                } else {
                    Rc::new(self.source(&control, number, other)?)
                };
                source = Some(Rc::clone(&known));
                self.closed(&control, here, &known, edge, effect)?;
            }
        }
        Ok(())
    }

    /// The new copy's edges at `control`; `None` is what its buffers do.
    fn steps(&self, control: &Control) -> Vec<Option<usize>> {
        let context = self.worker.context;
        let active = control.locs.len() - 1;
        let cfg = &context
            .program
            .template(context.instances[active].template)
            .cfg;
        let edges = cfg.outgoing(control.locs[active]);
        let mut all: Vec<Option<usize>> = edges.map(|(id, _)| Some(id.index())).collect();
        if !control.buffers[active].is_empty() {
            all.push(None);
        }
        all
    }

    /// The control of all threads; `None` if the two contradict each other.
    fn joined(&self, here: &Control, there: &Control) -> Option<Control> {
        let first = self.wider.seen.first().map_or(0, |t| *t as usize);
        let mut control = here.clone();
        control.locs.push(there.locs[first]);
        control.buffers.push(there.buffers[first].clone());
        let of_first = &self.wider.own[0];
        for (i, value) in there.values.iter().enumerate() {
            if of_first.contains(&i) {
                continue;
            }
            match (control.values[i], *value) {
                (Some(a), Some(b)) if a != b => return None,
                (None, some) => control.values[i] = some,
                (Some(_), _) => {}
            }
        }
        control
            .values
            .extend(of_first.iter().map(|i| there.values[*i]));
        Some(control)
    }

    /// What is known of all threads where all views are in the invariant.
    fn source(
        &mut self,
        control: &Control,
        number: usize,
        other: usize,
    ) -> Result<Source, Refusal> {
        let entries = self.entries();
        let mut known = self.worker.values(&control.values)?;
        for place in 1..self.wider.seen.len() {
            known.push(self.instead(control, place)?);
        }
        let mut cubes = Vec::new();
        for own in &entries[number].cubes {
            for new in &entries[other].cubes {
                let mut cube = known.clone();
                cube.extend(own.0.iter().map(|l| self.worker.literal(*l)));
                cube.extend(new.0.iter().map(|l| self.renamed(0, *l)));
                cubes.push(cube);
            }
        }
        // Only remote operations pick elements of sets.
        let literals = Vec::new();
        Ok(Source { cubes, literals })
    }

    /// A literal with the new copy in the place of a seen one.
    fn renamed(&self, place: usize, (atom, positive): (u32, bool)) -> Lit {
        let image = self.wider.instead[place][atom as usize];
        self.worker.literal((image, positive))
    }

    /// That the view with the new copy in the place of a seen one is in the invariant.
    fn instead(&mut self, control: &Control, place: usize) -> Result<Lit, Refusal> {
        let seen = self.wider.seen[place] as usize;
        let active = control.locs.len() - 1;
        let mut shape = (control.locs.clone(), control.buffers.clone());
        shape.0.swap_remove(seen);
        shape.1.swap_remove(seen);
        debug_assert_eq!(shape.0.len(), active, "the new copy is in its place");
        let mut ways = Vec::new();
        for number in self.by_shape.get(&shape).cloned().unwrap_or_default() {
            let entry = &self.entries()[number];
            let Some(equations) = self.equations(control, &entry.control, place)? else {
                continue;
            };
            for cube in &entry.cubes {
                let atoms = &self.wider.certificate.atoms;
                let image = |(atom, positive): &(u32, bool)| {
                    let number = self.wider.instead[place][*atom as usize];
                    let formula = &atoms[number as usize];
                    if *positive {
                        formula.clone()
                    } else {
                        formula.negated()
                    }
                };
                let literals = cube.0.iter().map(image);
                ways.push(Formula::all(equations.iter().cloned().chain(literals)));
            }
        }
        Ok(self.worker.judge.lit(&Formula::any(ways)))
    }

    /// What must hold so that explicit values are those of `view`, which has the new
    /// copy in the place of a seen one; `None` if they are not.
    fn equations(
        &self,
        control: &Control,
        view: &Control,
        place: usize,
    ) -> Result<Option<Vec<Formula>>, Refusal> {
        let mut equations = Vec::new();
        for (i, value) in view.values.iter().enumerate() {
            let own = self.wider.own[place].iter().position(|p| *p == i);
            let at = own.map_or(i, |k| self.wider.active[k]);
            match (control.values[at], value) {
                (_, None) => {}
                (Some(known), Some(value)) if known == *value => {}
                (Some(_), Some(_)) => return Ok(None),
                (None, Some(value)) => {
                    let var = Term::var(self.worker.context.explicit[at]);
                    let equation = Formula::eq(&var, &Term::constant(*value));
                    let overflow = |Overflow| Refusal::whole(crate::worker::overflow_reason());
                    equations.push(equation.map_err(overflow)?);
                }
            }
        }
        Ok(Some(equations))
    }

    fn closed(
        &mut self,
        control: &Control,
        here: &Control,
        source: &Source,
        edge: Option<usize>,
        effect: &CompiledEffect,
    ) -> Result<(), Refusal> {
        let context = self.worker.context;
        let active = here.locs.len();
        let cluster = Cluster(context.cluster(active, edge));
        let successor = Successor {
            locs: here.locs.clone(),
            buffers: here.buffers.clone(),
        };
        let worker = &mut self.worker;
        let closed = worker.leads_in(cluster, &control.values, source, &successor, effect);
        if closed.map_err(Refusal::whole)? {
            return Ok(());
        }
        let template = context.instances[active].template;
        let cfg = &context.program.template(template).cfg;
        let (step, span) = match edge {
            Some(edge) => {
                let edge = &cfg.edges[edge];
                (context.program.show_step(template, &edge.step), edge.span)
            }
            None => (
                "a buffered store reaches memory".to_owned(),
                Span::default(),
            ),
        };
        let step = Some(format!("`another copy: {step}`"));
        let span = (span != Span::default()).then_some(span);
        Err(worker.refusal(Reason::NotClosed, control, step, span))
    }
}

/// Whether the seen threads can notice the effect.
fn writes_shared(effect: &CompiledEffect) -> bool {
    let shared = |var: &palisade_logic::Var| matches!(StateVar::of(*var), Some(StateVar::Cell(_)));
    effect.effect.written.iter().any(shared)
}
