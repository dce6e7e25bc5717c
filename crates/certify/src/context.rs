//! What all workers of one check share: the program's threads, names, and for
//! each step the explicit variables that it may read.

use crate::buffer_summary::Keep;
use crate::certificate::{Certificate, Control, Kind};
use crate::index::Index;
use crate::names::StateNames;
use crate::remote::operations;
use crate::remote_atomic::atomic_operations;
use crate::state::StateVar;
use crate::steps::Explicit;
use crate::stops::{Passing, stops_with, until_stop};
use crate::views::number_facts;
use palisade_logic::{Formula, Var};
use palisade_program::{Cell, Instance, LocId, LocalAtom, Place, Program, Step, TemplateId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Program, certificate, and tables made of them.
pub(crate) struct Context<'a> {
    pub(crate) program: &'a Program,
    pub(crate) certificate: &'a Certificate,
    pub(crate) instances: Vec<Instance>,
    pub(crate) names: StateNames,
    pub(crate) index: Index,
    /// The number of each explicit variable in formulas.
    pub(crate) explicit: Vec<Var>,
    position: FxHashMap<Var, usize>,
    /// Explicit variables that occur in atoms.
    pub(crate) mixed: Vec<usize>,
    /// For each thread and location whether it is a stop; all are unless the
    /// certificate's kind says otherwise.
    pub(crate) stops: Vec<Vec<bool>>,
    /// For each thread and edge the explicit variables that the step may read.
    reads: Vec<Vec<Vec<usize>>>,
    /// For each thread the explicit variables that the memory system reads: its slots,
    /// and under RMA what its operations read.
    slots: Vec<Vec<usize>>,
    /// For each thread the cluster of its first edge.
    first_cluster: Vec<u32>,
    /// What is true of thread numbers in all states.
    pub(crate) facts: Vec<Formula>,
}

/// The values that a control gives.
pub(crate) struct At<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) values: &'a [Option<i64>],
}

impl Explicit for At<'_> {
    fn value(&self, var: Var) -> Option<i64> {
        let position = *self.context.position.get(&var)?;
        self.values[position]
    }

    fn contains(&self, var: Var) -> bool {
        self.context.position.contains_key(&var)
    }
}

impl<'a> Context<'a> {
    /// The tables of a well-formed certificate.
    pub(crate) fn new(
        program: &'a Program,
        certificate: &'a Certificate,
        instances: Vec<Instance>,
    ) -> Self {
        let names = StateNames::of(program, &instances);
        let index = Index::of(certificate);
        let explicit: Vec<Var> = certificate
            .explicit
            .iter()
            .filter_map(|v| v.var())
            .collect();
        let position = explicit.iter().enumerate().map(|(i, v)| (*v, i)).collect();
        let in_atoms: FxHashSet<Var> = certificate
            .atoms
            .iter()
            .flat_map(Formula::free_vars)
            .collect();
        let mixed = (0..explicit.len())
            .filter(|i| in_atoms.contains(&explicit[*i]))
            .collect();
        let mut context = Self {
            program,
            certificate,
            instances,
            names,
            index,
            explicit,
            position,
            mixed,
            stops: Vec::new(),
            reads: Vec::new(),
            slots: Vec::new(),
            first_cluster: Vec::new(),
            facts: Vec::new(),
        };
        context.facts = number_facts(program, certificate.kind, &context.instances);
        context.tabulate();
        context
    }

    fn tabulate(&mut self) {
        let mut cluster = 1;
        for (thread, instance) in self.instances.iter().enumerate() {
            let thread = thread as u32;
            let slots = self.slots_of(thread);
            let cfg = &self.program.template(instance.template).cfg;
            let stops = match self.certificate.kind {
                Kind::Inductive => vec![true; cfg.loc_count()],
                // A location at which the certificate has states is a stop of the
                // engine that made it.
                Kind::Stops | Kind::Views | Kind::Histories(_) | Kind::Reachable(_) => {
                    let used = self.used(thread as usize, *instance);
                    let passing = Passing {
                        accesses: &self.certificate.interference_free,
                        also: &used,
                    };
                    let model = self.certificate.model;
                    stops_with(self.program, model, instance.template, &passing)
                }
            };
            let edges = &cfg.edges;
            let reads = edges.iter().map(|e| {
                let mut all = self.reads_of(thread, &e.step, &slots);
                for next in until_stop(cfg, e, &stops) {
                    all.extend(self.reads_of(thread, &next.step, &slots));
                }
                all.sort_unstable();
                all.dedup();
                all
            });
            let reads = reads.collect();
            self.stops.push(stops);
            self.first_cluster.push(cluster);
            cluster += edges.len() as u32 + 1;
            self.reads.push(reads);
            self.slots
                .push(self.network_reads(instance.template, slots));
        }
    }

    /// The locations at which the certificate has states with this thread; with
    /// views, what one copy does all copies do.
    fn used(&self, thread: usize, instance: Instance) -> FxHashSet<LocId> {
        let entries = self.certificate.entries.iter();
        match self.certificate.kind {
            Kind::Inductive | Kind::Stops | Kind::Histories(_) | Kind::Reachable(_) => {
                entries.map(|e| e.control.locs[thread]).collect()
            }
            Kind::Views => {
                let own =
                    |(t, _): &(usize, &LocId)| self.instances[*t].template == instance.template;
                let locs = entries.flat_map(|e| e.control.locs.iter().enumerate().filter(own));
                locs.map(|(_, loc)| *loc).collect()
            }
        }
    }

    fn slots_of(&self, thread: u32) -> Vec<usize> {
        let own = |v: &StateVar| match v {
            StateVar::Cell(_) | StateVar::Local { .. } | StateVar::Number { .. } => false,
            StateVar::Slot { thread: t, .. } | StateVar::CellSlot { thread: t, .. } => *t == thread,
            StateVar::Last { thread: t, .. } | StateVar::Low { thread: t, .. } => *t == thread,
            StateVar::Carried { thread: t, .. } => *t == thread,
            StateVar::Element { thread: t, .. } => *t == thread,
        };
        let explicit = &self.certificate.explicit;
        (0..explicit.len()).filter(|i| own(&explicit[*i])).collect()
    }

    /// `slots` with the explicit cells that operations of a template read.
    fn network_reads(&self, template: TemplateId, mut slots: Vec<usize>) -> Vec<usize> {
        for operation in operations(self.program, template) {
            let source = StateVar::Cell(operation.source);
            let explicit = &self.certificate.explicit;
            slots.extend((0..explicit.len()).filter(|i| explicit[*i] == source));
        }
        for operation in atomic_operations(self.program, template) {
            let cells = operation.inputs.iter().copied().flatten();
            for cell in cells.chain([operation.cell]) {
                let explicit = &self.certificate.explicit;
                let read = StateVar::Cell(cell);
                slots.extend((0..explicit.len()).filter(|i| explicit[*i] == read));
            }
        }
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// The explicit variables that a step may read: more than it does is
    /// harmless, fewer would be a wrong memo.
    fn reads_of(&self, thread: u32, step: &Step, slots: &[usize]) -> Vec<usize> {
        let mut reads: FxHashSet<StateVar> = FxHashSet::default();
        step.for_each_expr(&mut |e| {
            e.for_each_atom(&mut |atom| match *atom {
                LocalAtom::Local(local) => {
                    reads.insert(StateVar::Local { thread, local });
                }
                LocalAtom::SelfId => {
                    reads.insert(StateVar::Number { thread });
                }
            });
        });
        self.cells_of(step, &mut |cell| {
            reads.insert(StateVar::Cell(cell));
        });
        let explicit = &self.certificate.explicit;
        let of_step = (0..explicit.len()).filter(|i| reads.contains(&explicit[*i]));
        let mut all: Vec<usize> = of_step.chain(slots.iter().copied()).collect();
        all.sort_unstable();
        all
    }

    /// Every cell that a step names, whether it reads or writes it.
    fn cells_of(&self, step: &Step, f: &mut dyn FnMut(Cell)) {
        let mut place = |place: &Place| {
            let count = self.program.global(place.var).cell_count() as u32;
            (0..count).for_each(|i| f(self.program.cell(place.var, i)));
        };
        match step {
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
            Step::Fence(_) | Step::Assert { .. } | Step::Flush(_) => {}
            Step::Load { src, .. } => place(src),
            Step::Store { dst, .. } => place(dst),
            Step::Put { remote, local } | Step::Get { local, remote } => {
                place(remote);
                place(local);
            }
            Step::RemoteAtomic(atomic) => atomic.places().for_each(place),
            Step::Atomic(atomic) => {
                for edge in &atomic.body.edges {
                    self.cells_of(&edge.step, f);
                }
            }
        }
    }

    /// The values at `control` of the explicit variables that the step of
    /// `thread` may read; `edge` is `None` for the memory system's steps.
    pub(crate) fn read_values(
        &self,
        control: &Control,
        thread: usize,
        edge: Option<usize>,
    ) -> Box<[Option<i64>]> {
        let reads = match edge {
            Some(edge) => &self.reads[thread][edge],
            None => &self.slots[thread],
        };
        reads.iter().map(|i| control.values[*i]).collect()
    }

    /// The solver session for a step.
    pub(crate) fn cluster(&self, thread: usize, edge: Option<usize>) -> u32 {
        let edge = edge.map_or(0, |edge| edge as u32 + 1);
        self.first_cluster[thread] + edge
    }

    /// Which stores the certificate knows exactly.
    pub(crate) fn keep(&self) -> Keep {
        let beyond = self.certificate.beyond.as_ref();
        beyond.map_or(Keep::default(), |b| b.keep)
    }

    /// Where in [`Certificate::explicit`] a variable stands.
    pub(crate) fn position(&self, var: Var) -> Option<usize> {
        self.position.get(&var).copied()
    }
}
