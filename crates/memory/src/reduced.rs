//! A *reduced program* with the meaning of its parts in terms of the original:
//! which step of the model each edge is, and which buffer cell each variable is.
//! Counterexamples and certificates are translated back with it.

use palisade_program::cfg::{CfgBuilder, Edge};
use palisade_program::{
    Cell, Domain, EdgeId, Expr, Init, LocId, Local, LocalId, Origin, Program, PropAtom, PropExpr,
    Role, Template, ThreadVar,
};

use crate::remote_atomics::AtomicOperation;
use crate::rma::Operation;
use crate::summary::{ExactCells, Keep, SummaryInvariant};
use crate::value_sets::SetCell;

/// What a store into a full buffer does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Full {
    /// It fails an assertion (`AssertKind::BufferOverflow`): proofs hold for buffers of every size.
    Fails,
    /// It waits: fewer runs than the model has. Bugs found are bugs; the absence
    /// of bugs means nothing.
    Blocks,
}

/// What an edge of the reduced program does in the original.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Meaning {
    /// The thread takes this edge of its template. The body of an atomic block
    /// keeps its edges in order, after `skip` edges of the reduction's own; in blocks
    /// that only read, more edges of the reduction come behind them.
    Step {
        /// The original edge.
        edge: EdgeId,
        /// Edges that the reduction put before those of an atomic block.
        skip: u32,
    },
    /// A buffered store to this cell reaches memory: the oldest one (PSO: of those
    /// to this cell), or one of the abstract part.
    Update(Cell),
    /// RMA: the network reads the source of a pending operation.
    Read {
        /// The cell that is read.
        source: Cell,
        /// The cell that will be written.
        target: Cell,
    },
    /// RMA: the network writes what it has read.
    Write {
        /// The cell that is written.
        target: Cell,
        /// The local that holds the value.
        value: LocalId,
    },
    /// RMA: the network reads an operand of a remote atomic operation on this cell.
    AtomicRead {
        /// The cell that the operation will change.
        target: Cell,
        /// Which operand, from 0.
        operand: u32,
    },
    /// RMA: a remote atomic operation changes this cell.
    AtomicApply(Cell),
    /// RMA: the network writes some value of the set of an operation to this cell.
    Pick(Cell),
    /// Nothing: the thread has ended and its buffers are empty.
    End,
}

/// What a local of the reduced program is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Part {
    /// A local of the original, with the same number.
    Own,
    /// How many stores are buffered (PSO: to this cell).
    Count(Option<Cell>),
    /// TSO: which cell the store at this position goes to, as an index into
    /// [`ReducedTemplate::buffered`]; 0 is the oldest.
    Target(u32),
    /// The value of the store at this position (PSO: of those to this cell).
    Value(Option<Cell>, u32),
    /// PSO with store-store fences: how many fences that still matter were issued
    /// before the store at this position.
    Epoch(Cell, u32),
    /// PSO with store-store fences: how many such fences were issued so far.
    CurrentEpoch,
    /// Whether stores to this cell are in the abstract part of the buffer.
    More(Cell),
    /// The value of the last store to this cell in the abstract part.
    Last(Cell),
    /// A value that no store to this cell in the abstract part is below.
    Low(Cell),
    /// RMA: the phase of a slot of the operation with this number.
    Phase(u32, u32),
    /// RMA: what the network has read for a slot of the operation with this number.
    Carried(u32, u32),
    /// RMA: the phase of a slot of the remote atomic operation with this number.
    AtomicPhase(u32, u32),
    /// RMA: whether the network has read an operand, by operation, slot and operand.
    AtomicGot(u32, u32, u32),
    /// RMA: an operand, by operation, slot and operand.
    AtomicInput(u32, u32, u32),
    /// RMA: what the cell held before it changed, by operation and slot.
    AtomicOld(u32, u32),
    /// A temporary of the reduction.
    Scratch,
}

/// The parts of one reduced template.
#[derive(Clone, Debug)]
pub struct ReducedTemplate {
    /// What each edge does.
    pub edges: Vec<Meaning>,
    /// What each local is.
    pub locals: Vec<Part>,
    /// The cells that the template may write, in order: those with a buffer.
    pub buffered: Vec<Cell>,
    /// The location of the original for each location of the reduced program.
    pub locs: Vec<LocId>,
    /// Abstract buffers: what is claimed of the stores to each cell.
    pub claims: Vec<(Cell, SummaryInvariant)>,
    /// RMA: the remote operations, by number.
    pub operations: Vec<Operation>,
    /// RMA: the remote atomic operations, by number.
    pub atomics: Vec<AtomicOperation>,
}

/// A program whose memory model is part of it.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The program, to be run under SC.
    pub program: Program,
    /// What its templates' parts stand for.
    pub templates: Vec<ReducedTemplate>,
    /// Abstract buffers: their exact cells, and which stores these hold.
    pub beyond: Option<(ExactCells, Keep)>,
    /// RMA with sets: what the cells beyond those of the original are, and how many
    /// slots an operation has at most.
    pub sets: Option<(u32, Vec<SetCell>)>,
}

impl Reduced {
    /// The program with its templates reduced. The original's exit has become two
    /// locations, before and after the buffers have drained: properties and hints
    /// that speak of it mean both.
    pub fn new(
        program: &Program,
        templates: impl Iterator<Item = (Template, ReducedTemplate)>,
    ) -> Self {
        let (reduced, parts): (Vec<Template>, Vec<ReducedTemplate>) = templates.unzip();
        let both = |threads: &[ThreadVar], expr: &PropExpr| {
            expr.substitute(&mut |atom| {
                let here = Expr::Atom(atom.clone());
                let PropAtom::At(thread, loc) = atom else {
                    return here;
                };
                let template = threads[thread.index()].template;
                if *loc != program.template(template).cfg.exit {
                    return here;
                }
                let end = reduced[template.index()].cfg.exit;
                here.or(Expr::Atom(PropAtom::At(*thread, end)))
            })
        };
        let mut whole = program.clone();
        for property in &mut whole.properties {
            property.cond = both(&property.threads, &property.cond);
        }
        for hint in &mut whole.hints {
            hint.expr = both(&hint.threads, &hint.expr);
        }
        whole.templates = reduced;
        Self {
            program: whole,
            templates: parts,
            beyond: None,
            sets: None,
        }
    }
}

/// Builds one reduced template: the original's locations, locals and labels, with
/// new locals and new edges.
pub struct TemplateBuilder {
    template: Template,
    builder: CfgBuilder,
    edges: Vec<(LocId, Meaning)>,
    locals: Vec<Part>,
    claims: Vec<(Cell, SummaryInvariant)>,
}

impl TemplateBuilder {
    /// Starts from the original's locations and locals, without edges.
    pub fn new(original: &Template) -> Self {
        let mut builder = CfgBuilder::new();
        for _ in original.cfg.locs() {
            builder.loc();
        }
        Self {
            template: original.clone(),
            builder,
            edges: Vec::new(),
            locals: vec![Part::Own; original.locals.len()],
            claims: Vec::new(),
        }
    }

    /// Adds a local. Those with a domain are control variables.
    pub fn local(&mut self, name: String, part: Part, domain: Option<Domain>) -> LocalId {
        let id = LocalId::from(self.template.locals.len());
        self.template.locals.push(Local {
            name,
            init: Init::Value(0),
            domain,
            role: if domain.is_some() {
                Role::Control
            } else {
                Role::Data
            },
            origin: Origin::Temporary,
            span: self.template.span,
        });
        self.locals.push(part);
        id
    }

    /// Notes what is claimed of the stores to a cell.
    pub fn claim(&mut self, cell: Cell, claim: SummaryInvariant) {
        self.claims.push((cell, claim));
    }

    /// Adds an edge.
    pub fn edge(&mut self, edge: Edge, meaning: Meaning) {
        self.edges.push((edge.from, meaning));
        self.builder.edge(edge.from, edge.step, edge.to, edge.span);
    }

    /// Where the original ends.
    pub fn exit(&self) -> LocId {
        self.template.cfg.exit
    }

    /// Ends the template: it is over when `drained` has let it leave the
    /// original's exit.
    pub fn finish(
        mut self,
        drained: palisade_program::Step,
        buffered: Vec<Cell>,
    ) -> (Template, ReducedTemplate) {
        let exit = self.exit();
        let end = self.builder.loc();
        let span = self.template.span;
        self.edge(
            Edge {
                from: exit,
                to: end,
                step: drained,
                span,
            },
            Meaning::End,
        );
        let entry = self.template.cfg.entry;
        let mut locs: Vec<LocId> = self.template.cfg.locs().collect();
        locs.push(exit);
        let mut template = self.template;
        // Properties name locations by number: all are kept.
        template.cfg = self.builder.finish_whole(entry, end);
        // The builder sorts edges by source and keeps their order otherwise.
        self.edges.sort_by_key(|(from, _)| *from);
        let parts = ReducedTemplate {
            edges: self.edges.into_iter().map(|(_, m)| m).collect(),
            locals: self.locals,
            buffered,
            locs,
            claims: self.claims,
            operations: Vec::new(),
            atomics: Vec::new(),
        };
        (template, parts)
    }
}
