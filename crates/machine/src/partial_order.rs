//! Partial-order reduction: which threads may run ahead.
//!
//! At a *safe* location a thread may be expanded alone: its steps there form an
//! ample set (Clarke, Grumberg, Peled, *Model Checking*, ch. 10). The four
//! conditions, with the parts that are decided here and now:
//!
//! - *C0*: the set is not empty. [`Machine::expand`] demands an enabled step.
//! - *C1*: before a step of the set is taken, no step that depends on it can be.
//!   Every edge from a safe location
//!   - reads and writes only the thread's own locals; or
//!   - appends to the thread's own list: a buffered store, a store-store fence
//!     (TSO, PSO), a remote operation that is issued (RMA). It commutes with every
//!     memory step for the thread, since that takes away from the other end (for
//!     PSO's epochs: the list after both is the same canonical list; for remote
//!     atomics: a later one waits for an earlier one, never the other way round),
//!     and others do not see the list; or
//!   - waits for the own list to be empty, or to hold no operation with some
//!     process. Once enabled it stays so until the thread itself moves; or
//!   - reads a cell that no other thread ever writes, or (SC, RMA) writes one
//!     that no other thread ever touches.
//!
//!   All edges from the location are in the set. Those not enabled now must not
//!   become so by steps of others: false `assume`s cannot, but an edge that waits
//!   for buffers to empty, or for room in a full buffer, could. `expand` then
//!   does not reduce ([`Outcome::waits`](crate::expand::Outcome)).
//! - *C2*: the steps are invisible: they change no local, memory cell or location
//!   that a `never` reads. An `assert` is a local step: whether it fails depends on
//!   locals alone, so it fails in the reduced search if it fails in any.
//!   `finally` and deadlocks speak of states without successors, which every
//!   ample-set search reaches. The same holds for touched bounds: whether a step
//!   of a thread touches one depends on its locals and its own list, and a thread
//!   at a safe location with an enabled, not waiting step touches none before it moves
//!   (but for that step itself, which is tried).
//! - *C3*: every cycle of the reduced search has a state that is fully expanded.
//!   The safe locations of a thread form no cycle: the source of every edge that
//!   closes one is made unsafe. A cycle of states that are not fully expanded would
//!   be a cycle through safe locations of some thread.

use palisade_program::{
    GlobalId, Model, Operand, Program, PropAtom, PropertyKind, Step, TemplateId,
};

use crate::machine::{Act, Graph, Machine, is_replicated};

/// Decides the safe locations of all threads.
pub(crate) fn mark_safe(machine: &mut Machine<'_>) {
    let accesses = Accesses::of(machine.program);
    let program = machine.program;
    let model = machine.model;
    for thread in &mut machine.threads {
        let template = thread.instance.template;
        let seen = Visible::of(program, template);
        let cfg = &program.template(template).cfg;
        let graph = &thread.graph;
        for loc in cfg.locs() {
            let mut edges = cfg.outgoing(loc).peekable();
            let some = edges.peek().is_some();
            let safe = some
                && loc != cfg.exit
                && edges.all(|(id, edge)| {
                    let act = graph.arcs[id.index()].act;
                    let moved =
                        edge.from != edge.to && (seen.at(edge.from.0) || seen.at(edge.to.0));
                    let wrote = edge.step.written_local();
                    !moved
                        && !wrote.is_some_and(|l| seen.locals[l.index()])
                        && independent(program, template, &edge.step, act, &accesses, model)
                });
            thread.safe[loc.index()] = safe;
        }
        break_cycles(&thread.graph, &mut thread.safe);
    }
}

/// Whether the step commutes with all steps of others and of memory; see the
/// module's header.
fn independent(
    program: &Program,
    template: TemplateId,
    step: &Step,
    act: Act,
    accesses: &Accesses,
    model: Model,
) -> bool {
    match act {
        Act::Skip | Act::Assume(_) | Act::Assign { .. } | Act::Havoc { .. } | Act::Assert(_) => {
            true
        }
        Act::Buffer { .. } | Act::Fence | Act::StoreStore => true,
        Act::Issue { .. } | Act::Flush { .. } => true,
        // Under RC11 it may publish or learn.
        Act::Load { .. } | Act::Store { .. } if model == Model::Rc11 => false,
        Act::Load { .. } => {
            matches!(step, Step::Load { src, .. } if accesses.only_writer(program, src.var, template))
        }
        Act::Store { .. } => {
            matches!(step, Step::Store { dst, .. } if accesses.only_user(program, dst.var, template))
        }
        // Issued, it appends to the own list; done at once (SC) it touches memory.
        Act::Remote(_) => model == Model::Rma,
        Act::Block(_) | Act::Copy { .. } | Act::Ordered(_) => false,
    }
}

/// Makes safe locations unsafe until no cycle of them is left.
pub(crate) fn break_cycles(graph: &Graph, safe: &mut [bool]) {
    // Depth-first search: 0 new, 1 on the path, 2 done.
    let mut colour = vec![0_u8; safe.len()];
    for root in 0..safe.len() as u32 {
        let mut stack = vec![(root, false)];
        while let Some((loc, leave)) = stack.pop() {
            let at = loc as usize;
            if leave {
                colour[at] = 2;
                continue;
            }
            if colour[at] != 0 || !safe[at] {
                continue;
            }
            colour[at] = 1;
            stack.push((loc, true));
            for arc in graph.from(loc) {
                let to = graph.arcs[arc].to;
                match colour[to as usize] {
                    0 => stack.push((to, false)),
                    1 => safe[at] = false,
                    _ => {}
                }
            }
        }
    }
}

/// What the `never` properties see of a template.
struct Visible {
    locs: Vec<u32>,
    locals: Vec<bool>,
}

impl Visible {
    fn of(program: &Program, template: TemplateId) -> Self {
        let mut visible = Self {
            locs: Vec::new(),
            locals: vec![false; program.template(template).locals.len()],
        };
        let never = |p: &&palisade_program::Property| p.kind == PropertyKind::Never;
        for property in program.properties.iter().filter(never) {
            let own = |t: &palisade_program::ThreadVarId| {
                property.threads[t.index()].template == template
            };
            property.cond.for_each_atom(&mut |atom| match atom {
                PropAtom::At(t, loc) if own(t) => visible.locs.push(loc.0),
                PropAtom::Local(t, local) if own(t) => visible.locals[local.index()] = true,
                PropAtom::At(..) | PropAtom::Local(..) => {}
                PropAtom::Global(..) | PropAtom::SelfOf(_) => {}
            });
        }
        visible
    }

    fn at(&self, loc: u32) -> bool {
        self.locs.contains(&loc)
    }
}

/// Which templates read and write each shared variable, and which variables a
/// `never` reads.
struct Accesses {
    read: Vec<Vec<TemplateId>>,
    written: Vec<Vec<TemplateId>>,
    seen: Vec<bool>,
}

impl Accesses {
    fn of(program: &Program) -> Self {
        let count = program.globals.len();
        let mut all = Self {
            read: vec![Vec::new(); count],
            written: vec![Vec::new(); count],
            seen: vec![false; count],
        };
        for template in program.template_ids() {
            for edge in &program.template(template).cfg.edges {
                all.add(template, &edge.step);
            }
        }
        for property in &program.properties {
            property.cond.for_each_atom(&mut |atom| {
                if let PropAtom::Global(var, _) = atom {
                    all.seen[var.index()] = true;
                }
            });
        }
        all
    }

    fn add(&mut self, template: TemplateId, step: &Step) {
        match step {
            Step::Load { src, .. } => self.read[src.var.index()].push(template),
            Step::Store { dst, .. } => self.written[dst.var.index()].push(template),
            Step::Atomic(atomic) => {
                for edge in &atomic.body.edges {
                    self.add(template, &edge.step);
                }
            }
            // The network acts apart from the thread: count it as someone else,
            // by naming the variable twice.
            Step::Put {
                remote: to,
                local: from,
            }
            | Step::Get {
                local: to,
                remote: from,
            } => {
                let nobody = TemplateId(u32::MAX);
                self.read[from.var.index()].extend([template, nobody]);
                self.written[to.var.index()].extend([template, nobody]);
            }
            Step::RemoteAtomic(atomic) => {
                let nobody = TemplateId(u32::MAX);
                for operand in atomic.change.operands() {
                    if let Operand::Place(from) = operand {
                        self.read[from.var.index()].extend([template, nobody]);
                    }
                }
                self.read[atomic.remote.var.index()].extend([template, nobody]);
                for to in std::iter::once(&atomic.remote).chain(&atomic.result) {
                    self.written[to.var.index()].extend([template, nobody]);
                }
            }
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {}
            Step::Fence(_) | Step::Assert { .. } | Step::Flush(_) => {}
        }
    }

    /// Whether no thread but the one of `template` ever writes `var`.
    fn only_writer(&self, program: &Program, var: GlobalId, template: TemplateId) -> bool {
        let written = &self.written[var.index()];
        written.is_empty()
            || (!is_replicated(program.template(template).count)
                && written.iter().all(|&t| t == template))
    }

    /// Whether no other thread ever reads or writes `var`, and no `never` reads it.
    fn only_user(&self, program: &Program, var: GlobalId, template: TemplateId) -> bool {
        !self.seen[var.index()]
            && self.only_writer(program, var, template)
            && self.read[var.index()].iter().all(|&t| t == template)
    }
}
