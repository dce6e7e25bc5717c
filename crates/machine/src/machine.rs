//! The *machine*: a program compiled for one memory model. Every thread
//! instance gets its own code, in which `self` is a number, places with constant
//! index are cells, and steps that have no effect under the model are `Skip`.
//!
//! | step | SC | TSO, PSO | RMA |
//! |---|---|---|---|
//! | store | [`Act::Store`] | [`Act::Buffer`] | [`Act::Store`] |
//! | load | [`Act::Load`] from memory | own newest store, else memory | from memory |
//! | fence | skip | [`Act::Fence`] | skip |
//! | fence(ss) | skip | PSO: [`Act::StoreStore`]; TSO: skip | skip |
//!
//! Under RC11 loads, stores and fences ([`Act::Ordered`]) keep their memory orders; see
//! [`crate::rc11`].
//!
//! | step | SC | TSO, PSO | RMA |
//! |---|---|---|---|
//! | put, get | [`Act::Copy`] at once | refused | [`Act::Issue`] |
//! | remote atomic | [`Act::Remote`], at once | refused | [`Act::Remote`], issued |
//! | flush | skip | refused | [`Act::Flush`] |

use palisade_program::liveness::Liveness;
use palisade_program::{
    Atomic, AtomicKind, Cfg, Count, Domain, FenceKind, FlushTarget, Init, Instance, LocalAtom,
    LocalExpr, LocalId, Model, Order, Orders, Origin, Place, Program, Span, Step, TemplateId,
};

use crate::code::{Atom, Code, Table};
use crate::delay::Delays;
use crate::options::{Bound, Bounds, Options, Unsupported};
use crate::property::Checks;
use crate::rc11::{Prompt, Rc11};
use crate::remote::RemoteCode;

/// Most values of one `choose` or `*` that are tried; beyond it a bound is touched.
const MOST_CHOICES: i128 = 4096;

/// A compiled place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot {
    /// This cell.
    Cell(u32),
    /// An element of an array, by computed index.
    Element { base: u32, len: u32, index: Code },
}

/// The values of a `*`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// The values that searches try.
    pub(crate) tried: Domain,
    /// Whether those are all.
    pub(crate) complete: bool,
    /// All values, for replay.
    pub(crate) all: Option<Domain>,
}

/// A compiled step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Skip,
    Assume(Code),
    Assign {
        dst: u32,
        value: Code,
    },
    Havoc {
        dst: u32,
        choice: Choice,
    },
    Load {
        dst: u32,
        src: Spot,
        order: Order,
    },
    Store {
        dst: Spot,
        value: Code,
        order: Order,
    },
    Buffer {
        dst: Spot,
        value: Code,
    },
    Fence,
    StoreStore,
    /// A fence of C11 (RC11).
    Ordered(Order),
    /// The atomic block with this index in [`Thread::blocks`].
    Block(u32),
    Assert(Code),
    /// A remote operation done at once (SC).
    Copy {
        dst: Spot,
        src: Spot,
    },
    /// A remote operation issued (RMA); `remote` is the side that names the process.
    Issue {
        dst: Spot,
        src: Spot,
        remote: Remote,
        put: bool,
    },
    /// The remote atomic operation with this index in [`Thread::remotes`].
    Remote(u32),
    /// Waits for own operations whose remote side is one of these threads.
    Flush {
        first: u32,
        count: u32,
        copy: Option<Code>,
        /// Only for their own side.
        local: bool,
    },
}

/// The thread on the remote side of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Remote {
    /// This one.
    Thread(u32),
    /// The home of the element that is written or read: the first thread of the
    /// template, and the cell of that thread's element.
    Copy { first: u32, base: u32, put: bool },
}

impl Remote {
    /// The thread, for an operation that writes `target` and reads `source`.
    pub(crate) const fn thread(self, target: u32, source: u32) -> u32 {
        match self {
            Self::Thread(thread) => thread,
            Self::Copy { first, base, put } => first + if put { target } else { source } - base,
        }
    }
}

/// A compiled edge; its index is its [`palisade_program::EdgeId`].
#[derive(Clone, Debug)]
pub(crate) struct Arc {
    /// Where it leads.
    pub(crate) to: u32,
    /// What it does.
    pub(crate) act: Act,
    /// Slots of locals that are dead after it and may not be 0.
    pub(crate) dead: Box<[u32]>,
}

/// A compiled control-flow graph.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) entry: u32,
    pub(crate) exit: u32,
    pub(crate) arcs: Vec<Arc>,
    first: Vec<u32>,
    /// Whether a run inside may come back to where it was, or branches so often
    /// that remembering where it was pays.
    pub(crate) remember: bool,
    /// An atomic block that waits for the own buffers to be empty.
    pub(crate) drains: bool,
}

impl Graph {
    /// Indices of the arcs from `loc`.
    #[inline]
    pub(crate) fn from(&self, loc: u32) -> std::ops::Range<usize> {
        self.first[loc as usize] as usize..self.first[loc as usize + 1] as usize
    }

    /// Number of locations.
    pub(crate) fn loc_count(&self) -> usize {
        self.first.len() - 1
    }
}

/// A compiled thread instance.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) instance: Instance,
    /// Slot of its first local.
    pub(crate) base: u32,
    pub(crate) graph: Graph,
    pub(crate) blocks: Vec<Graph>,
    pub(crate) remotes: Vec<RemoteCode>,
    /// Slots of the live locals at each location.
    pub(crate) live: Vec<Box<[u32]>>,
    /// For each location, whether partial order may prefer this thread there
    /// (see [`crate::partial_order`]).
    pub(crate) safe: Vec<bool>,
}

/// A program compiled for a model.
pub(crate) struct Machine<'p> {
    pub(crate) program: &'p Program,
    pub(crate) model: Model,
    pub(crate) table: Table,
    pub(crate) threads: Vec<Thread>,
    pub(crate) cells: usize,
    pub(crate) slots: usize,
    pub(crate) buffer: usize,
    /// How many equal pending operations mean so many or more.
    pub(crate) saturate: usize,
    pub(crate) range: Domain,
    pub(crate) checks: Checks,
    /// Whether some step is a remote atomic operation.
    pub(crate) has_atomics: bool,
    /// Bounds touched by compiling: `[*]` instantiated.
    pub(crate) bounds: Bounds,
    /// Which halves of remote operations may wait; set for partial-order reduction.
    pub(crate) delays: Delays,
    /// What is known of the program under RC11.
    pub(crate) rc11: Option<Rc11>,
    /// Partial-order reduction under RC11; set for searches that use it.
    pub(crate) prompt: Option<Prompt>,
    any: Domain,
    keep: Keep,
}

/// What to do with dead locals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keep {
    /// They become 0.
    Live,
    /// As [`Self::Live`], but the user's variables are kept to the thread's end.
    Finals,
    /// They keep their last value (replay).
    All,
}

/// The range of values where none is given.
pub(crate) const WHOLE: Domain = Domain {
    lo: i64::MIN,
    hi: i64::MAX,
};

impl<'p> Machine<'p> {
    /// Compiles `program`.
    pub(crate) fn new(
        program: &'p Program,
        options: &Options,
        keep: Keep,
    ) -> Result<Self, Unsupported> {
        check_model(program, options.model)?;
        let mut machine = Self {
            program,
            model: options.model,
            table: Table::default(),
            threads: Vec::new(),
            cells: program.cell_count(),
            slots: program.cell_count(),
            buffer: options.buffer.unwrap_or(usize::MAX),
            saturate: options.saturate.map_or(usize::MAX, |n| n.max(1)),
            range: options.range.unwrap_or(WHOLE),
            checks: Checks::default(),
            has_atomics: false,
            bounds: Bounds::default(),
            delays: Delays::default(),
            rc11: None,
            prompt: None,
            any: options.any,
            keep,
        };
        if program.has_unbounded_threads() {
            machine.bounds.touch(Bound::Threads);
        }
        let instances = program.instances(options.threads);
        for &instance in &instances {
            machine.add_thread(instance, &instances)?;
        }
        machine.has_atomics = machine.threads.iter().any(|t| !t.remotes.is_empty());
        machine.checks = Checks::compile(&mut machine);
        if options.model == Model::Rc11 {
            machine.rc11 = Some(Rc11::of(&machine, options));
        }
        Ok(machine)
    }

    fn add_thread(&mut self, instance: Instance, all: &[Instance]) -> Result<(), Unsupported> {
        let program = self.program;
        let template = program.template(instance.template);
        let keep = self.keep;
        let live = Liveness::keeping(program, instance.template, |local| {
            keep != Keep::Live && local.origin == Origin::User
        });
        let base = self.slots as u32;
        self.slots += template.locals.len();
        let is_live = |loc, local| keep == Keep::All || live.is_live(loc, local);
        let mut compiler = Compiler {
            machine: self,
            instance,
            base,
            all,
            blocks: Vec::new(),
            remotes: Vec::new(),
        };
        let mut graph = compiler.graph(&template.cfg)?;
        for (arc, edge) in graph.arcs.iter_mut().zip(&template.cfg.edges) {
            let written = if let Step::Atomic(atomic) = &edge.step {
                atomic.body.written_locals()
            } else {
                edge.step.written_local().into_iter().collect()
            };
            let locals = (0..template.locals.len()).map(LocalId::from);
            arc.dead = locals
                .filter(|&l| is_live(edge.from, l) || written.contains(&l))
                .filter(|&l| !is_live(edge.to, l))
                .map(|l| base + l.0)
                .collect();
            // A value that nobody will read needs no choice.
            if let Act::Havoc { dst, .. } = arc.act
                && arc.dead.contains(&dst)
            {
                arc.act = Act::Skip;
            }
        }
        let (blocks, remotes) = (compiler.blocks, compiler.remotes);
        let live = template
            .cfg
            .locs()
            .map(|loc| {
                let locals = (0..template.locals.len()).map(LocalId::from);
                let live = locals.filter(|&l| is_live(loc, l));
                live.map(|l| base + l.0).collect()
            })
            .collect();
        self.threads.push(Thread {
            instance,
            base,
            safe: vec![false; graph.loc_count()],
            graph,
            blocks,
            remotes,
            live,
        });
        Ok(())
    }

    /// The values of a `*` with this domain.
    pub(crate) fn choice(&self, domain: Option<Domain>) -> Choice {
        let all = domain;
        let inside = |d: Domain| Domain {
            lo: d.lo.max(self.range.lo),
            hi: d.hi.min(self.range.hi),
        };
        let whole = domain.unwrap_or(self.any);
        let mut tried = inside(whole);
        if i128::from(tried.hi) - i128::from(tried.lo) >= MOST_CHOICES {
            // Too many to try: those that `*` without a domain tries, or the least.
            let usual = Domain {
                lo: tried.lo.max(self.any.lo),
                hi: tried.hi.min(self.any.hi),
            };
            if usual.lo <= usual.hi {
                tried = usual;
            }
            if i128::from(tried.hi) - i128::from(tried.lo) >= MOST_CHOICES {
                tried.hi = tried.lo + (MOST_CHOICES - 1) as i64;
            }
        }
        Choice {
            tried,
            complete: domain.is_some() && tried == whole,
            all,
        }
    }

    /// The choices for the initial values of all slots: one for each variable
    /// that starts with any value and matters.
    pub(crate) fn initial_choices(&self) -> (Vec<i64>, Vec<(u32, Choice)>) {
        let mut values = vec![0; self.slots];
        let mut free = Vec::new();
        let mut slot = 0;
        for global in &self.program.globals {
            for init in &global.init {
                match init {
                    Init::Value(value) => values[slot] = *value,
                    Init::Any => free.push((slot as u32, self.choice(global.domain))),
                }
                slot += 1;
            }
        }
        for thread in &self.threads {
            let live = &thread.live[thread.graph.entry as usize];
            for local in &self.program.template(thread.instance.template).locals {
                if live.contains(&(slot as u32)) {
                    match local.init {
                        Init::Value(value) => values[slot] = value,
                        Init::Any => free.push((slot as u32, self.choice(local.domain))),
                    }
                }
                slot += 1;
            }
        }
        (values, free)
    }

    /// The first thread of a template, and how many there are.
    pub(crate) fn copies(all: &[Instance], template: TemplateId) -> (u32, u32) {
        let first = all.iter().position(|i| i.template == template);
        let count = all.iter().filter(|i| i.template == template).count();
        (first.unwrap_or(0) as u32, count as u32)
    }
}

fn check_model(program: &Program, model: Model) -> Result<(), Unsupported> {
    let process = program.templates.iter().find(|t| t.is_process);
    match (model, process) {
        (Model::Tso | Model::Pso, Some(process)) => Err(Unsupported {
            message: format!("a program with processes has no meaning under {model}"),
            span: process.span,
            help: "use --model rma, or --model sc".to_owned(),
        }),
        (Model::Rc11, _) => crate::rc11::check(program),
        (Model::Sc | Model::Tso | Model::Pso | Model::Rma, _) if program.orders == Orders::Kept => {
            Err(Unsupported {
                message: format!("a program that was read for rc11 has no meaning under {model}"),
                span: program
                    .templates
                    .first()
                    .map_or_else(Span::default, |t| t.span),
                help: "read it with memory orders mapped to fences".to_owned(),
            })
        }
        (Model::Sc | Model::Tso | Model::Pso | Model::Rma, _) => Ok(()),
    }
}

pub(crate) struct Compiler<'m, 'p> {
    machine: &'m mut Machine<'p>,
    instance: Instance,
    base: u32,
    all: &'m [Instance],
    blocks: Vec<Graph>,
    remotes: Vec<RemoteCode>,
}

impl Compiler<'_, '_> {
    fn graph(&mut self, cfg: &Cfg) -> Result<Graph, Unsupported> {
        let mut arcs = Vec::with_capacity(cfg.edges.len());
        for edge in &cfg.edges {
            arcs.push(Arc {
                to: edge.to.0,
                act: self.act(&edge.step, edge.span)?,
                dead: Box::default(),
            });
        }
        let first = (0..=cfg.loc_count() as u32)
            .map(|loc| cfg.edges.partition_point(|e| e.from.0 < loc) as u32)
            .collect();
        let branching = cfg.locs().filter(|&l| cfg.outgoing(l).count() > 1).count();
        let choosing = cfg
            .edges
            .iter()
            .any(|e| matches!(e.step, Step::Havoc { .. }));
        Ok(Graph {
            entry: cfg.entry.0,
            exit: cfg.exit.0,
            arcs,
            first,
            remember: cfg.has_cycle() || branching > 6 || choosing,
            drains: false,
        })
    }

    pub(crate) fn code(&mut self, e: &LocalExpr) -> Code {
        let (base, copy) = (self.base, self.instance.copy);
        self.machine.table.compile(e, &|atom| match atom {
            LocalAtom::Local(id) => Atom::Slot(base + id.0),
            LocalAtom::SelfId => Atom::Const(i64::from(copy)),
        })
    }

    fn slot(&self, local: LocalId) -> u32 {
        self.base + local.0
    }

    pub(crate) fn spot(&mut self, place: &Place) -> Spot {
        let base = self.machine.program.cell(place.var, 0).0;
        let len = self.machine.program.global(place.var).cell_count() as u32;
        match place.index.as_ref().map(|e| self.code(e)) {
            None => Spot::Cell(base),
            Some(Code::Const(i)) if (0..i64::from(len)).contains(&i) => Spot::Cell(base + i as u32),
            Some(index) => Spot::Element { base, len, index },
        }
    }

    fn act(&mut self, step: &Step, span: palisade_program::Span) -> Result<Act, Unsupported> {
        let model = self.machine.model;
        let buffered = matches!(model, Model::Tso | Model::Pso);
        Ok(match step {
            Step::Skip => Act::Skip,
            Step::Assume(e) => Act::Assume(self.code(e)),
            Step::Assign { dst, value } => Act::Assign {
                dst: self.slot(*dst),
                value: self.code(value),
            },
            Step::Havoc { dst, domain } => Act::Havoc {
                dst: self.slot(*dst),
                choice: self.machine.choice(*domain),
            },
            Step::Load { dst, src } => Act::Load {
                dst: self.slot(*dst),
                src: self.spot(src),
                order: src.order,
            },
            Step::Store { dst, value } => {
                let order = dst.order;
                let (dst, value) = (self.spot(dst), self.code(value));
                if buffered {
                    Act::Buffer { dst, value }
                } else {
                    Act::Store { dst, value, order }
                }
            }
            Step::Fence(FenceKind::Full) if buffered => Act::Fence,
            Step::Fence(FenceKind::StoreStore) if model == Model::Pso => Act::StoreStore,
            Step::Fence(FenceKind::Full) if model == Model::Rc11 => Act::Ordered(Order::SeqCst),
            Step::Fence(FenceKind::Ordered(order)) => Act::Ordered(*order),
            Step::Fence(FenceKind::Full | FenceKind::StoreStore | FenceKind::Candidate) => {
                Act::Skip
            }
            Step::Atomic(atomic) => Act::Block(self.block(atomic)?),
            Step::Assert { cond, .. } => Act::Assert(self.code(cond)),
            Step::Put { remote, local } => {
                let (dst, src) = (self.spot(remote), self.spot(local));
                self.remote_act(remote, dst, src, span, true)?
            }
            Step::Get { local, remote } => {
                let (dst, src) = (self.spot(local), self.spot(remote));
                self.remote_act(remote, dst, src, span, false)?
            }
            Step::RemoteAtomic(atomic) => {
                let code = self.remote_code(atomic, span)?;
                self.remotes.push(code);
                Act::Remote(self.remotes.len() as u32 - 1)
            }
            Step::Flush(_) if model != Model::Rma => Act::Skip,
            Step::Flush(target) => self.flush(target),
        })
    }

    fn flush(&mut self, target: &FlushTarget) -> Act {
        let local = target.is_local();
        let threads = self.all.len() as u32;
        let (first, count) = match target.process() {
            None => (0, threads),
            Some(template) => Machine::copies(self.all, template),
        };
        let copy = target.one_copy().map(|(_, e)| self.code(e));
        Act::Flush {
            first,
            count,
            copy,
            local,
        }
    }

    /// Inside a block stores go straight to memory, under every model; one that does
    /// not wait has none.
    fn block(&mut self, atomic: &Atomic) -> Result<u32, Unsupported> {
        let body = &atomic.body;
        let mut graph = self.graph(body)?;
        graph.drains = atomic.drains();
        // Two runs with the same end may be different events.
        graph.remember &= self.machine.model != Model::Rc11;
        for (arc, edge) in graph.arcs.iter_mut().zip(&body.edges) {
            if let Act::Buffer { dst, value } = arc.act {
                let order = Order::Plain;
                arc.act = Act::Store { dst, value, order };
            }
            if self.machine.model == Model::Rc11 {
                order_in_block(&mut arc.act, atomic.kind);
            }
            let refused = match &edge.step {
                Step::Fence(FenceKind::Candidate) => false,
                Step::Fence(_) | Step::Atomic(_) => true,
                Step::Put { .. } | Step::Get { .. } => true,
                Step::RemoteAtomic(_) | Step::Flush(_) => true,
                Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => false,
                Step::Store { .. } => !atomic.drains(),
                Step::Load { .. } | Step::Assert { .. } => false,
            };
            if refused {
                return Err(Unsupported {
                    message: "this step may not stand in an atomic block".to_owned(),
                    span: edge.span,
                    help: "move it out of the block".to_owned(),
                });
            }
        }
        self.blocks.push(graph);
        Ok(self.blocks.len() as u32 - 1)
    }

    fn remote_act(
        &mut self,
        remote: &Place,
        dst: Spot,
        src: Spot,
        span: palisade_program::Span,
        put: bool,
    ) -> Result<Act, Unsupported> {
        Ok(match self.remote_side(remote, span, put)? {
            None => Act::Copy { dst, src },
            Some(remote) => Act::Issue {
                dst,
                src,
                remote,
                put,
            },
        })
    }

    /// The thread on the remote side; `None` if the model has no network. `put`: the
    /// remote cell is the one that is written.
    pub(crate) fn remote_side(
        &self,
        remote: &Place,
        span: palisade_program::Span,
        put: bool,
    ) -> Result<Option<Remote>, Unsupported> {
        if self.machine.model != Model::Rma {
            return Ok(None);
        }
        let home = self.machine.program.global(remote.var).home;
        let Some(home) = home else {
            return Err(Unsupported {
                message: "a remote operation on a variable that lives in no process".to_owned(),
                span,
                help: "declare the variable inside a process".to_owned(),
            });
        };
        let (first, _) = Machine::copies(self.all, home.template);
        Ok(Some(if home.per_copy {
            let base = self.machine.program.cell(remote.var, 0).0;
            Remote::Copy { first, base, put }
        } else {
            Remote::Thread(first)
        }))
    }
}

/// The order of an access in an atomic block where none is written.
const fn order_in_block(act: &mut Act, kind: AtomicKind) {
    if let Act::Load { order, .. } | Act::Store { order, .. } = act
        && matches!(order, Order::Plain)
    {
        *order = match kind {
            AtomicKind::Lock => Order::Acquire,
            AtomicKind::Unlock => Order::Release,
            AtomicKind::Block | AtomicKind::Read | AtomicKind::Cas => Order::SeqCst,
            AtomicKind::Xchg | AtomicKind::FetchAdd => Order::SeqCst,
        };
    }
}

/// Whether `[n]` or `[*]`.
pub(crate) fn is_replicated(count: Count) -> bool {
    match count {
        Count::Once => false,
        Count::Fixed(_) | Count::Any => true,
    }
}
