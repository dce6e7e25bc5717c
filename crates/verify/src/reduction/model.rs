//! The *memory model* as a reduction: a program under SC whose store buffers, or whose
//! network, are variables. Under SC it is the program itself. Under TSO and PSO:
//!
//! - *bounded*: `k` cells; a proof includes that no store is without room, so that it
//!   holds for buffers of every size;
//! - *blocking*: `k` cells, and a store without room waits. Finds bugs, proves nothing;
//! - *abstract*: buffers of every size, `k` stores exactly [Abdulla et al., SAS 2012].
//!   Its counterexamples are bugs if the machine can run them; if not, `k` was too small
//!   (section 7, case 3), or no `k` is enough.
//!
//! Under RMA pending operations are in *slots* (exact) or in *value sets* [Baumann et al.,
//! VMCAI 2018].
//!
//! Abstract buffers rest on *summary invariants* of what a thread stores: guesses that the
//! reduced program asserts. One that fails is dropped ([`Encoder::drop_summary`]).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use palisade_abstraction::finite::{Finite, Values};
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::Space;
use palisade_certify::{Certificate, Kind as Argument};
use palisade_checker::search::Node;
use palisade_machine::Witness;
use palisade_memory::blocks::written_cells;
use palisade_memory::reduced::{Full, Meaning, Reduced};
use palisade_memory::summary::{Abstract, ExactCells, Keep, SummaryInvariant};
use palisade_memory::value_sets::{SetPart, Sharing, Wanted};
use palisade_memory::{pso, rma, tso};
use palisade_program::cfg::Step;
use palisade_program::{
    AssertKind, Bound, Cell, Domain, EdgeId, Expr, Init, Instance, LocalAtom, LocalExpr, Model,
    Program, Property, TemplateId,
};

use super::{Kind, deadlock};
use crate::answer::{Gap, Weak};
use crate::evidence::{certificate::Translator, replay};
use crate::method::cegar::simulate::Run;
use crate::portfolio::{EXACT_SLOTS, FEW_VALUES, MOST_LISTED, NEAR};
use crate::question::{Options, Promote};

/// How the memory model is encoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// SC: the program itself.
    Itself,
    /// Bounded buffers, of these sizes by cell.
    Bounded(Vec<u32>),
    /// The same, with sizes of its own for each template.
    BoundedEach(Vec<Vec<u32>>),
    /// The same, but a store without room waits.
    Blocking(Vec<u32>),
    /// Abstract buffers with this many exact cells.
    Abstract(ExactCells),
    /// The same, but the stores that are known exactly are those of the other end.
    AbstractOther(ExactCells),
    /// RMA: this many slots for each remote operation; a proof includes that they
    /// are enough.
    Slots(u32),
    /// RMA: the same, but an operation without a slot waits.
    BlockingSlots(u32),
    /// RMA: any number of pending operations, this many of each in slots, the others in
    /// value sets.
    Sets(u32),
    /// RMA: the same, but operations that the control flow bounds have all their slots.
    Mixed(u32),
    /// RMA: the same, without data: all variables are explicit, and the values of sets are
    /// guessed. For programs that count, but not far.
    Listed,
}

impl Encoding {
    /// Whether violations may go through value sets.
    const fn has_sets(&self) -> bool {
        matches!(self, Self::Sets(_) | Self::Mixed(_) | Self::Listed)
    }

    /// What is missing if the machine does not have a run, or the check does not accept a proof: where the encoding
    /// has more runs than the program, it is too coarse; where no predicate need say which list of a set goes with
    /// which value, a certificate cannot either.
    pub fn blamed(&self, program: &Program, options: &Options, gap: Gap) -> Gap {
        match (gap, self) {
            (Gap::Spurious(_), Self::Slots(slots) | Self::BlockingSlots(slots))
                if reorders_atomics(program, *slots) =>
            {
                Gap::Weak(Weak::RemoteOrder)
            }
            (Gap::Refused(_), Self::Sets(_) | Self::Mixed(_) | Self::Listed)
                if options.promote == Promote::Never && options.list_sets =>
            {
                Gap::Weak(Weak::Lists)
            }
            // Case 3 of section 7 [Abdulla et al., SAS 2012]: a larger k comes next
            // (`method/exact_cells.rs`).
            (Gap::Spurious(_), Self::Abstract(k) | Self::AbstractOther(k)) => {
                Gap::Bound(Bound::ExactCells(k.most()))
            }
            (Gap::Spurious(_), Self::Sets(_) | Self::Mixed(_) | Self::Listed) => {
                Gap::Bound(Bound::ValueSets)
            }
            (gap, _) => gap,
        }
    }

    /// What it does, in a few words.
    pub fn describe(&self, program: &Program) -> String {
        let cells = |k: &ExactCells| {
            let named = k.named.iter().map(|((template, cell), k)| {
                let thread = &program.templates[*template].name;
                let of = cell.map_or_else(String::new, |c| format!(".{}", program.cell_name(c)));
                format!(",{thread}{of}={k}")
            });
            format!("{}{}", k.default, named.collect::<String>())
        };
        let sizes = |sizes: &[u32]| match sizes {
            [] => "0".to_owned(),
            [first, rest @ ..] if rest.iter().all(|k| k == first) => first.to_string(),
            all => {
                let all: Vec<String> = all.iter().map(u32::to_string).collect();
                all.join(",")
            }
        };
        match self {
            Self::Itself => "the program itself".to_owned(),
            Self::Bounded(k) => format!("buffers bounded:{}", sizes(k)),
            Self::BoundedEach(all) => {
                let each = all.iter().zip(&program.templates);
                let each = each.map(|(k, t)| format!("{}={}", t.name, sizes(k)));
                format!(
                    "buffers bounded:{}",
                    each.collect::<Vec<String>>().join(" ")
                )
            }
            Self::Blocking(k) => format!("blocking buffers of {}", sizes(k)),
            Self::Abstract(k) => format!("buffers abstract:{}", cells(k)),
            Self::AbstractOther(k) => format!("buffers abstract:{} at the other end", cells(k)),
            Self::Slots(k) => format!("{k} slots for each operation"),
            Self::BlockingSlots(k) => format!("{k} blocking slots for each operation"),
            Self::Sets(k) => format!("value sets beyond {k} slots"),
            Self::Mixed(k) => format!("value sets beyond {k} slots, bounded operations exact"),
            Self::Listed => "value sets of guessed values".to_owned(),
        }
    }
}

/// A program with its memory model encoded.
pub struct Encoded<'p> {
    original: &'p Program,
    model: Model,
    encoding: Encoding,
    reduced: Option<Reduced>,
    /// The program itself with deadlocks as a property, where they count.
    watched: Option<Program>,
}

/// The states that a search has reached, as evidence for a proof.
pub struct Reached<'s> {
    /// Over this space.
    pub space: &'s Space<'s>,
    /// The states,
    pub nodes: &'s [Node],
    /// with what is known of their data.
    pub predicates: &'s Predicates,
    /// What sort of argument they are.
    pub argument: Argument,
    /// Copies of `[*]` templates.
    pub threads: u32,
}

impl Encoded<'_> {
    /// The program that is searched.
    pub fn program(&self) -> &Program {
        let itself = self.watched.as_ref().unwrap_or(self.original);
        self.reduced.as_ref().map_or(itself, |r| &r.program)
    }

    /// What its parts stand for; `None` for the program itself.
    pub const fn reduced(&self) -> Option<&Reduced> {
        self.reduced.as_ref()
    }

    /// The encoding.
    pub const fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Which answers survive. Bounded buffers and slots are exact: that they are large
    /// enough is part of the proof.
    pub const fn kind(&self) -> Kind {
        match self.encoding {
            Encoding::Itself | Encoding::Slots(_) => Kind::Exact,
            Encoding::Bounded(_) | Encoding::BoundedEach(_) => Kind::Exact,
            Encoding::Blocking(_) | Encoding::BlockingSlots(_) => Kind::Under,
            Encoding::Abstract(_) | Encoding::AbstractOther(_) => Kind::Over,
            Encoding::Sets(_) | Encoding::Mixed(_) | Encoding::Listed => Kind::Over,
        }
    }

    /// A run of the searched program as one of the program under its model.
    pub fn run_back(&self, instances: &[Instance], copies: u32, run: &Run) -> Result<Witness, Gap> {
        match self.last_assertion(instances, run) {
            Some((_, AssertKind::BufferOverflow)) => return Err(self.overflow(instances, run)),
            Some((template, AssertKind::Summary(cell))) => {
                return Err(Gap::Summary {
                    template,
                    cell: *cell,
                    name: self.original.cell_name(*cell),
                });
            }
            Some((_, AssertKind::ListedValue)) => return Err(Gap::Bound(Bound::ValueSets)),
            Some(_) | None => {}
        }
        let start = replay::start(self.original, instances, self.model, copies, run);
        let (program, reduced) = (self.original, self.reduced.as_ref());
        let actions = run.steps.iter();
        let actions = actions.filter_map(|s| replay::action(program, reduced, instances, s));
        let actions: Vec<_> = actions.collect();
        if self.encoding.has_sets() {
            return replay::guided(program, start, &actions);
        }
        Ok(Witness { start, actions })
    }

    /// The buffer that a run overflows: the thread's, under PSO that for a variable.
    fn overflow(&self, instances: &[Instance], run: &Run) -> Gap {
        let last = run.steps.last();
        let template = last.map(|step| (instances[step.thread].template, step.edge));
        let of_run = template.zip(self.reduced.as_ref());
        let stored = of_run.and_then(|((template, edge), reduced)| {
            let Meaning::Step { edge, .. } =
                reduced.templates[template.index()].edges[edge.index()]
            else {
                return None;
            };
            let original = self.original.template(template);
            let Step::Store { dst, .. } = &original.cfg.edge(edge).step else {
                return None;
            };
            Some((original, dst.var))
        });
        let Some((template, variable)) = stored else {
            return Gap::Bound(Bound::BufferOverflow(None));
        };
        let thread = template.name.clone();
        let variable = (self.model == Model::Pso).then_some(variable);
        Gap::Overflow { thread, variable }
    }

    /// The template and the assertion in an atomic block that a run ends with.
    fn last_assertion(&self, instances: &[Instance], run: &Run) -> Option<(usize, &AssertKind)> {
        let last = run.steps.last()?;
        let template = instances[last.thread].template;
        let kind = self.assertion(template, last.edge, &last.path)?;
        Some((template.index(), kind))
    }

    /// Whether a way through an edge fails an assertion of the reduction's own.
    pub fn is_own_assertion(&self, template: TemplateId, edge: EdgeId, path: &[EdgeId]) -> bool {
        let kind = self.assertion(template, edge, path);
        let Some(kind) = kind else {
            return false;
        };
        matches!(
            kind,
            AssertKind::BufferOverflow | AssertKind::Summary(_) | AssertKind::ListedValue
        )
    }

    /// The assertion in an atomic block at the end of a way through it.
    fn assertion(
        &self,
        template: TemplateId,
        edge: EdgeId,
        path: &[EdgeId],
    ) -> Option<&AssertKind> {
        let reduced = self.reduced.as_ref()?;
        let edge = reduced.program.template(template).cfg.edge(edge);
        let Step::Atomic(atomic) = &edge.step else {
            return None;
        };
        match &atomic.body.edge(*path.last()?).step {
            Step::Assert { kind, .. } => Some(kind),
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => None,
            Step::Load { .. } | Step::Store { .. } | Step::Fence(_) | Step::Atomic(_) => None,
            Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => None,
        }
    }

    /// States of the searched program as a certificate of the program under its model.
    pub fn proof_back(&self, reached: &Reached<'_>) -> Result<Certificate, Gap> {
        match self.encoding {
            Encoding::Blocking(_) => return Err(Gap::Bound(Bound::FewStores)),
            Encoding::BlockingSlots(_) => return Err(Gap::Bound(Bound::FewOperations)),
            Encoding::Itself
            | Encoding::Bounded(_)
            | Encoding::BoundedEach(_)
            | Encoding::Abstract(_)
            | Encoding::AbstractOther(_)
            | Encoding::Slots(_)
            | Encoding::Sets(_)
            | Encoding::Mixed(_)
            | Encoding::Listed => {}
        }
        let translator = self.translator(reached.space, reached.argument);
        Ok(translator.certificate(reached.nodes, reached.predicates, reached.threads)?)
    }

    /// Translates states of `space` into the vocabulary of certificates.
    pub fn translator<'t>(&'t self, space: &'t Space<'t>, argument: Argument) -> Translator<'t> {
        Translator::new(space, self.original, self.reduced(), self.model, argument)
    }

    /// The positions of the flags that say which values listed sets have. Steps only ask
    /// whether a value is there, never whether it is not (`memory/value_sets.rs`).
    pub fn listing_flags(&self, space: &Space<'_>) -> Vec<usize> {
        let sets = |r: &Reduced| Some((r.program.cell_count(), r.sets.clone()?.1));
        let Some((count, cells)) = self.reduced.as_ref().and_then(sets) else {
            return Vec::new();
        };
        let first = count - cells.len();
        let listing = cells.iter().enumerate();
        let listing = listing.filter(|(_, cell)| matches!(cell.part, SetPart::Has(_)));
        let slots = listing.map(|(number, _)| space.cell_slot(Cell::from(first + number)));
        let explicit = slots.filter_map(|slot| space.slots[slot].explicit.as_ref());
        explicit.map(|e| e.position).collect()
    }
}

/// Encodes a program under its memory model, in the ways that a portfolio asks for.
pub struct Encoder<'a> {
    program: &'a Program,
    model: Model,
    keep: Keep,
    instances: Vec<Instance>,
    copies: u32,
    sharing: Sharing,
    lists: bool,
    /// Summary invariants that may be right; found when they are needed first.
    claims: RefCell<Option<Summaries>>,
}

/// Summary invariants by template and cell.
type Summaries = BTreeMap<(usize, Cell), SummaryInvariant>;

impl<'a> Encoder<'a> {
    /// For `program` under the model of `options`.
    pub fn new(program: &'a Program, options: &Options, instances: &[Instance]) -> Self {
        Self {
            program,
            model: options.model,
            keep: options.keep,
            instances: instances.to_vec(),
            copies: options.copies(),
            sharing: options.sets,
            lists: options.list_sets,
            claims: RefCell::new(None),
        }
    }

    /// The program in this encoding.
    pub fn encode(&self, encoding: &Encoding) -> Encoded<'a> {
        self.encode_with(encoding, true)
    }

    /// As [`encode`](Self::encode); whether sets of few values are listed. Where their
    /// sources are not explicit, the certificate could not say which list goes with which value.
    pub fn encode_with(&self, encoding: &Encoding, lists: bool) -> Encoded<'a> {
        let mut reduced = self.reduce(encoding, lists && self.lists);
        let mut watched = None;
        if let Ok(Some(deadlock)) = self.deadlock(reduced.as_ref()) {
            let program = match &mut reduced {
                Some(reduced) => &mut reduced.program,
                None => watched.insert(self.program.clone()),
            };
            program.properties.push(deadlock);
        }
        Encoded {
            original: self.program,
            model: self.model,
            encoding: encoding.clone(),
            reduced,
            watched,
        }
    }

    fn deadlock(&self, reduced: Option<&Reduced>) -> Result<Option<Property>, Gap> {
        let asked = self.program.deadlock;
        let property = || deadlock::property(self.program, reduced, &self.instances);
        asked.then(property).transpose()
    }

    /// Why the program in this encoding cannot be asked about; no proof of it is one then.
    pub fn refusal(&self, encoding: &Encoding) -> Option<Gap> {
        let reduced = || self.reduce(encoding, true);
        let asked = self.program.deadlock.then(reduced)?;
        self.deadlock(asked.as_ref()).err()
    }

    fn reduce(&self, encoding: &Encoding, lists: bool) -> Option<Reduced> {
        let bounded = |sizes: &[u32], full| {
            let size = |cell: Cell| sizes.get(cell.index()).copied().unwrap_or(0);
            match self.model {
                Model::Pso => pso::reduce(self.program, &size, full),
                Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => {
                    tso::reduce(self.program, size(Cell(0)), full)
                }
            }
        };
        Some(match encoding {
            Encoding::Itself => return None,
            Encoding::Bounded(sizes) => bounded(sizes, Full::Fails),
            Encoding::BoundedEach(all) => {
                let size = |t: usize, cell: Cell| {
                    let own = all.get(t).and_then(|sizes| sizes.get(cell.index()));
                    own.copied().unwrap_or(0)
                };
                match self.model {
                    Model::Pso => pso::reduce_each(self.program, &size, Full::Fails),
                    Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => {
                        tso::reduce_each(self.program, &|t| size(t, Cell(0)), Full::Fails)
                    }
                }
            }
            Encoding::Blocking(sizes) => bounded(sizes, Full::Blocks),
            Encoding::Slots(slots) => rma::reduce(self.program, *slots, Full::Fails),
            Encoding::BlockingSlots(slots) => rma::reduce(self.program, *slots, Full::Blocks),
            Encoding::Sets(slots) => {
                let finite = lists.then(|| self.finite());
                self.with_sets(*slots, 0, finite.as_ref())
            }
            Encoding::Mixed(slots) => {
                let finite = lists.then(|| self.finite());
                self.with_sets(*slots, EXACT_SLOTS, finite.as_ref())
            }
            Encoding::Listed => self.with_sets(0, EXACT_SLOTS, Some(&self.guessed())),
            Encoding::Abstract(cells) => self.abstracted(cells, self.keep),
            Encoding::AbstractOther(cells) => {
                let keep = match self.keep {
                    Keep::Newest => Keep::Oldest,
                    Keep::Oldest => Keep::Newest,
                };
                self.abstracted(cells, keep)
            }
        })
    }

    fn abstracted(&self, cells: &ExactCells, keep: Keep) -> Reduced {
        let (program, instances) = (self.program, &self.instances);
        let mut known = self.claims.borrow_mut();
        let known = known.get_or_insert_with(|| claims(program, instances));
        let claims = |template, cell| known.get(&(template, cell)).cloned().unwrap_or_default();
        let wanted = Abstract {
            cells,
            keep,
            claims: &claims,
        };
        match self.model {
            Model::Pso => pso::reduce_abstract(self.program, &wanted),
            Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => {
                tso::reduce_abstract(self.program, &wanted)
            }
        }
    }

    /// The values of variables, where they are few.
    fn finite(&self) -> Finite {
        Finite::of(self.program, &self.instances)
    }

    /// The values of variables if none goes far beyond what it starts with. Sets of them are
    /// checked to have no others ([`AssertKind::ListedValue`]).
    fn guessed(&self) -> Finite {
        let given = self.program.initial_cells().into_iter();
        let given = given.filter_map(|init| match init {
            Init::Value(v) => Some(v),
            Init::Any => None,
        });
        let near = given.filter(|v| (-NEAR..=NEAR).contains(v));
        let (lo, hi) = near.fold((0, 0), |(lo, hi), v| (v.min(lo), v.max(hi)));
        let range = Domain { lo, hi: hi + NEAR };
        Finite::within(self.program, &self.instances, range)
    }

    /// Any number of pending operations; sets of few values are listed, if these are given.
    fn with_sets(&self, slots: u32, exact: u32, finite: Option<&Finite>) -> Reduced {
        let values = |cell: Cell| listed(finite?, cell);
        let wanted = Wanted {
            values: &values,
            copies: self.copies,
            exact,
            sharing: self.sharing,
        };
        rma::reduce_sets(self.program, slots, &wanted)
    }

    /// Drops the summary invariant of a template's stores to a cell; tells whether there was
    /// one.
    pub fn drop_summary(&self, template: usize, cell: Cell) -> bool {
        let mut claims = self.claims.borrow_mut();
        let claims = claims.as_mut();
        claims.is_some_and(|claims| claims.remove(&(template, cell)).is_some())
    }
}

/// The values that each template stores to each cell, where they are few: claims
/// that need no proof.
pub fn stored_values(program: &Program) -> impl Fn(usize, Cell) -> SummaryInvariant {
    let claims = claims(program, &program.instances(2));
    move |template, cell| match claims.get(&(template, cell)) {
        Some(SummaryInvariant::Among(values)) => SummaryInvariant::Among(values.clone()),
        Some(SummaryInvariant::Any | SummaryInvariant::Rising) | None => SummaryInvariant::Any,
    }
}

/// Whether slots let a process change a cell in another order than it asked for (`memory/remote_atomics.rs`, *Departure*):
/// two of its remote atomic operations may be pending there at the same time.
fn reorders_atomics(program: &Program, slots: u32) -> bool {
    program.templates.iter().any(|template| {
        let all = rma::atomic_operations(program, template);
        let on = |cell: Cell| all.iter().filter(|o| o.cell == cell).count();
        all.iter().any(|o| slots > 1 || on(o.cell) > 1)
    })
}

/// The values that each cell can have, where they are few.
pub fn cell_values(program: &Program) -> impl Fn(Cell) -> Option<Vec<i64>> {
    let finite = Finite::of(program, &program.instances(2));
    move |cell| listed(&finite, cell)
}

fn listed(finite: &Finite, cell: Cell) -> Option<Vec<i64>> {
    let values = finite.cells[cell.index()].as_ref()?;
    (values.len() <= MOST_LISTED).then(|| values.iter().copied().collect())
}

/// What to claim of each template's stores to each cell: the values, where they are
/// few; else that they rise, which is a guess.
fn claims(program: &Program, instances: &[Instance]) -> Summaries {
    let finite = Finite::of(program, instances);
    let mut claims = BTreeMap::new();
    for (number, template) in program.templates.iter().enumerate() {
        for cell in written_cells(program, template) {
            let mut values: Values = Some(BTreeSet::new());
            for edge in &template.cfg.edges {
                let Step::Store { dst, value } = &edge.step else {
                    continue;
                };
                if palisade_memory::blocks::cells(program, dst)
                    .iter()
                    .any(|(_, c)| *c == cell)
                {
                    let own = stored(&finite, instances, number, cell, value);
                    values = values.and_then(|all| Some(&all | &own?));
                }
            }
            let values = values.or_else(|| declared(program, cell));
            let claim = values.map_or(SummaryInvariant::Rising, |set| {
                SummaryInvariant::Among(set.into_iter().collect())
            });
            claims.insert((number, cell), claim);
        }
    }
    claims
}

/// The values that a cell was declared to have, where these are few.
fn declared(program: &Program, cell: Cell) -> Values {
    let domain = program.global(program.variable_of(cell).0).domain?;
    let few = domain.hi.checked_sub(domain.lo)? < FEW_VALUES;
    few.then(|| (domain.lo..=domain.hi).collect())
}

/// The values that a store of template `number` to `cell` can have.
fn stored(
    finite: &Finite,
    instances: &[Instance],
    number: usize,
    cell: Cell,
    value: &LocalExpr,
) -> Values {
    let own = instances.iter().enumerate();
    let own = own.filter(|(_, i)| i.template.index() == number);
    match value {
        Expr::Const(c) => Some(BTreeSet::from([*c])),
        Expr::Atom(LocalAtom::SelfId) => Some(own.map(|(_, i)| i64::from(i.copy)).collect()),
        Expr::Atom(LocalAtom::Local(id)) => own
            .map(|(thread, _)| finite.locals[thread][id.index()].clone())
            .try_fold(BTreeSet::new(), |all, set| Some(&all | &set?)),
        Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..) => finite.cells[cell.index()].clone(),
    }
}
