//! The *plan*: what is searched, one after another, until there is a verdict. Under
//! SC the program itself; under TSO and PSO reductions of it:
//!
//! - *exact*: buffers as large as the control flow can need, where that is little;
//! - *bounded*: `k` cells; a proof includes that no store is without room;
//! - *hunting*: `k` cells, and a store without room waits. Finds bugs, proves nothing;
//! - *abstract*: buffers of every size, `k` stores exactly (seed 002). Its
//!   counterexamples are bugs if the machine can run them; if not, `k` was too small
//!   (section 7, case 3), or no `k` is enough.
//!
//! Where stores without bound may be buffered, small searches come first, and bugs
//! are looked for early: an abstraction may show a violation that is none before one
//! that is.

use std::collections::{BTreeMap, BTreeSet};

use palisade_abstraction::finite::{Finite, Values};
use palisade_memory::beyond::{Abstract, CLAIM, Claim, Keep};
use palisade_memory::blocks::written_cells;
use palisade_memory::reduced::{Full, OVERFLOW, Reduced};
use palisade_memory::value_sets::{Sharing, Wanted};
use palisade_memory::{need, pso, rma, tso};
use palisade_program::cfg::Step;
use palisade_program::{
    AssertKind, Cell, Domain, Expr, Init, Instance, LocalAtom, LocalExpr, Model, Program, Span,
    Unknown,
};

use crate::options::{Buffers, Options, Strategy};
use crate::simulate::Run;

/// What is said of a bound on exact cells.
pub const ABSTRACT: &str = "exact cells of abstract store buffers";
/// What is said of sets that are too coarse.
pub const SETS: &str =
    "value sets of remote operations (they have a violation that the machine does not have)";
/// Buffers up to this size are modelled at their full need at once.
const EXACT_CELLS: u32 = 6;
/// Remote operations get as many slots as they can need at once, up to this many.
const EXACT_SLOTS: u32 = 3;
/// The most cells that are tried at all.
const MOST_CELLS: u32 = 16;
/// Rounds of refinement after which a search that is one of many gives up.
const ROUNDS: usize = 60;
/// The same for a first look for bugs.
const HUNTING_ROUNDS: usize = 8;

/// Sets of more values than this are not listed.
const MOST_LISTED: usize = 7;
/// How far variables are guessed to count.
const NEAR: i64 = 5;
/// Most values of a declared range that are listed.
const FEW: i64 = 32;

/// One search of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Search {
    /// The program itself.
    Itself,
    /// Bounded buffers, of these sizes by cell.
    Bounded(Vec<u32>),
    /// The same, but a store without room waits.
    Hunting(Vec<u32>),
    /// Abstract buffers with this many exact cells.
    Abstract(u32),
    /// The same, but the stores that are known exactly are those of the other end.
    Otherwise(u32),
    /// RMA: this many slots for each remote operation; a proof includes that they
    /// are enough.
    Slots(u32),
    /// RMA: the same, but an operation without a slot waits.
    HuntingSlots(u32),
    /// RMA: any number of pending operations, this many of each in slots, the others in
    /// value sets.
    Sets(u32),
    /// RMA: the same, but operations that the control flow bounds have all their slots.
    Mixed(u32),
    /// RMA: the same, without data: all variables are explicit, and the values of sets are
    /// guessed. For programs that count, but not far.
    Counting,
    /// RMA: the program without the variables that say little (`forget.rs`), with sets only.
    Forgetting,
}

impl Search {
    /// Whether it comes to an end soon.
    const fn is_brief(&self) -> bool {
        matches!(
            self,
            Self::Counting | Self::Slots(1) | Self::Forgetting | Self::Mixed(0)
        )
    }

    /// Whether violations may go through value sets.
    pub(crate) const fn has_sets(&self) -> bool {
        matches!(self, Self::Sets(_) | Self::Mixed(_) | Self::Counting)
    }
}

/// A search and how long to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Planned {
    pub(crate) search: Search,
    /// Most rounds of refinement.
    pub(crate) rounds: usize,
}

/// The searches for buffers whose size is not given.
pub(crate) fn automatic(program: &Program, model: Model) -> Vec<Planned> {
    let cells = program.cell_count();
    let planned = |search| Planned {
        search,
        rounds: ROUNDS,
    };
    let need = |cell| match model {
        Model::Pso => need::most_buffered(program, Some(cell)),
        Model::Sc | Model::Tso | Model::Rma => need::most_buffered(program, None),
    };
    let needs: Option<Vec<u32>> = (0..cells).map(|c| need(Cell::from(c))).collect();
    let exact = |most: u32| {
        let few = needs.as_ref().filter(|n| n.iter().all(|n| *n <= most));
        few.map(|needs| Planned {
            search: Search::Bounded(needs.clone()),
            rounds: usize::MAX,
        })
    };
    if let Some(exact) = exact(EXACT_CELLS) {
        return vec![exact];
    }
    let bounded = |k| planned(Search::Bounded(vec![k; cells]));
    let hunting = |k, rounds| Planned {
        search: Search::Hunting(vec![k; cells]),
        rounds,
    };
    let abstracted = |k| planned(Search::Abstract(k));
    // A loop that stores to several variables in order needs the oldest stores to
    // be known, not the newest.
    let otherwise = |k| planned(Search::Otherwise(k));
    // A bound that is too small shows soon. Hunting, where it finds nothing, proves
    // something of no use, and may take long for it.
    let mut plan = vec![
        bounded(1),
        hunting(2, HUNTING_ROUNDS),
        abstracted(1),
        bounded(2),
        abstracted(2),
        bounded(3),
        bounded(4),
        otherwise(1),
        abstracted(3),
        otherwise(2),
        hunting(3, ROUNDS),
        bounded(6),
        abstracted(4),
    ];
    plan.extend(exact(MOST_CELLS));
    plan
}

/// Whether the control flow bounds pending remote operations to a few: then there is one search.
pub(crate) fn has_exact_slots(program: &Program) -> bool {
    rma::slots_needed(program, EXACT_SLOTS).is_some()
}

/// The searches under RMA where the number of slots is not given.
pub(crate) fn remote(program: &Program, instances: &[Instance]) -> Vec<Planned> {
    if let Some(slots) = rma::slots_needed(program, EXACT_SLOTS) {
        return vec![Planned {
            search: Search::Slots(slots),
            rounds: usize::MAX,
        }];
    }
    let planned = |search| Planned {
        search,
        rounds: ROUNDS,
    };
    let counts = Finite::of(program, instances);
    let is_unknown = |values: &Values| values.is_none();
    let counting = counts
        .cells
        .iter()
        .any(is_unknown)
        .then(|| planned(Search::Counting));
    // A slot too few shows soon; sets may have violations that are none.
    let mut plan: Vec<Planned> = counting.into_iter().collect();
    plan.extend([
        planned(Search::Slots(1)),
        planned(Search::Forgetting),
        planned(Search::Mixed(0)),
        planned(Search::Mixed(1)),
        planned(Search::HuntingSlots(2)),
        planned(Search::Slots(2)),
        planned(Search::Mixed(2)),
        planned(Search::Slots(3)),
    ]);
    plan
}

/// What to search, one after another until there is a verdict.
pub(crate) fn searches(program: &Program, options: &Options) -> Result<Vec<Planned>, Unknown> {
    let model = options.model;
    let refuse = |what: &str| Err(Unknown::Unsupported(what.to_owned(), Span::default()));
    let one = |search| {
        Ok(vec![Planned {
            search,
            rounds: usize::MAX,
        }])
    };
    match model {
        Model::Sc => return one(Search::Itself),
        Model::Rma => {}
        Model::Tso | Model::Pso if program.is_rma() => {
            return refuse("an RMA program under TSO or PSO");
        }
        Model::Tso | Model::Pso => {}
    }
    match &options.buffers {
        Buffers::Bounded(sizes) if model == Model::Rma => one(Search::Slots(sizes.default)),
        Buffers::Abstract(slots) if model == Model::Rma => one(Search::Sets(*slots)),
        Buffers::Auto if model == Model::Rma => {
            let mut plan = remote(program, &program.instances(options.copies()));
            // Other ways that are asked for are tried as asked.
            if options.strategy != Strategy::Lazy || !options.refine {
                plan.retain(|planned| planned.search != Search::Forgetting);
            }
            if options.brief && plan.len() > 1 {
                plan.retain(|planned| planned.search.is_brief());
            }
            Ok(plan)
        }
        Buffers::Bounded(sizes) => {
            let cells = (0..program.cell_count()).map(Cell::from);
            let sizes = cells.map(|cell| sizes.of(program, cell));
            one(Search::Bounded(sizes.collect()))
        }
        Buffers::Abstract(cells) => one(Search::Abstract(*cells)),
        Buffers::Auto => Ok(automatic(program, model)),
    }
}

/// Reduces programs for the searches of a plan.
pub(crate) struct Reducer<'a> {
    program: &'a Program,
    model: Model,
    keep: Keep,
    instances: Vec<Instance>,
    copies: u32,
    sharing: Sharing,
    /// Found when they are needed first.
    claims: Option<Claims>,
}

/// Claims by template and cell.
type Claims = BTreeMap<(usize, Cell), Claim>;

impl<'a> Reducer<'a> {
    pub(crate) fn new(program: &'a Program, options: &Options, instances: &[Instance]) -> Self {
        Self {
            program,
            model: options.model,
            keep: options.keep,
            instances: instances.to_vec(),
            copies: options.copies(),
            sharing: options.sets,
            claims: None,
        }
    }

    /// What a search works on; `None` for the program itself.
    pub(crate) fn reduce(&mut self, search: &Search) -> Option<Reduced> {
        let bounded = |sizes: &[u32], full| {
            let size = |cell: Cell| sizes.get(cell.index()).copied().unwrap_or(0);
            match self.model {
                Model::Pso => pso::reduce(self.program, &size, full),
                Model::Sc | Model::Tso | Model::Rma => {
                    tso::reduce(self.program, size(Cell(0)), full)
                }
            }
        };
        Some(match search {
            Search::Itself | Search::Forgetting => return None,
            Search::Bounded(sizes) => bounded(sizes, Full::Fails),
            Search::Hunting(sizes) => bounded(sizes, Full::Blocks),
            Search::Slots(slots) => rma::reduce(self.program, *slots, Full::Fails),
            Search::HuntingSlots(slots) => rma::reduce(self.program, *slots, Full::Blocks),
            Search::Sets(slots) => self.with_sets(*slots, 0, &self.finite()),
            Search::Mixed(slots) => self.with_sets(*slots, EXACT_SLOTS, &self.finite()),
            Search::Counting => self.with_sets(0, EXACT_SLOTS, &self.guessed()),
            Search::Abstract(cells) => return Some(self.abstracted(*cells, self.keep)),
            Search::Otherwise(cells) => {
                let keep = match self.keep {
                    Keep::Newest => Keep::Oldest,
                    Keep::Oldest => Keep::Newest,
                };
                return Some(self.abstracted(*cells, keep));
            }
        })
    }

    fn abstracted(&mut self, cells: u32, keep: Keep) -> Reduced {
        let (program, instances) = (self.program, &self.instances);
        let known = self
            .claims
            .get_or_insert_with(|| claims(program, instances));
        let claims = |template, cell| known.get(&(template, cell)).cloned().unwrap_or_default();
        let wanted = Abstract {
            cells,
            keep,
            claims: &claims,
        };
        match self.model {
            Model::Pso => pso::reduce_abstract(self.program, &wanted),
            Model::Sc | Model::Tso | Model::Rma => tso::reduce_abstract(self.program, &wanted),
        }
    }

    /// The values of variables, where they are few.
    fn finite(&self) -> Finite {
        Finite::of(self.program, &self.instances)
    }

    /// The values of variables if none goes far beyond what it starts with. Sets of them are
    /// checked to have no others ([`palisade_memory::value_sets::UNLISTED`]).
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

    /// Any number of pending operations; sets of few values are listed.
    fn with_sets(&self, slots: u32, exact: u32, finite: &Finite) -> Reduced {
        let values = |cell: Cell| listed(finite, cell);
        let wanted = Wanted {
            values: &values,
            copies: self.copies,
            exact,
            sharing: self.sharing,
        };
        rma::reduce_sets(self.program, slots, &wanted)
    }

    /// What it means that the machine has no such run, and whether a claim was
    /// dropped because of it.
    pub(crate) fn no_bug(
        &mut self,
        (search, reduced): (&Search, Option<&Reduced>),
        instances: &[Instance],
        run: &Run,
        failed: Unknown,
    ) -> (Unknown, bool) {
        let words = reduced.and_then(|r| last_assertion(r, instances, run));
        if words == Some(OVERFLOW) {
            return (Unknown::Bound(vec![OVERFLOW.to_owned()]), false);
        }
        if let (Some(name), Some(last)) =
            (words.and_then(|w| w.strip_prefix(CLAIM)), run.steps.last())
        {
            let template = instances[last.thread].template.index();
            let why = format!("a claim about buffered stores to {name}, which is wrong");
            return (Unknown::Bound(vec![why]), self.drop_claim(template, name));
        }
        let why = match search {
            // Seed 002, section 7, case 3: a larger k is next in the plan.
            Search::Abstract(k) | Search::Otherwise(k) => Unknown::Bound(vec![format!(
                "{k} {ABSTRACT} (they have a violation that the machine does not have)"
            )]),
            Search::Itself | Search::Bounded(_) | Search::Hunting(_) => failed,
            Search::Forgetting => failed,
            Search::Slots(_) | Search::HuntingSlots(_) => failed,
            Search::Sets(_) | Search::Mixed(_) | Search::Counting => {
                Unknown::Bound(vec![SETS.to_owned()])
            }
        };
        (why, false)
    }

    /// Drops the claim about a template's stores to the cell of this name; tells
    /// whether there was one.
    fn drop_claim(&mut self, template: usize, name: &str) -> bool {
        let Some(claims) = &mut self.claims else {
            return false;
        };
        let program = self.program;
        let is_it = |(t, cell): &(usize, Cell)| *t == template && program.cell_name(*cell) == name;
        let key = claims.keys().copied().find(is_it);
        key.is_some_and(|key| claims.remove(&key).is_some())
    }
}

/// The words of the assertion inside a block that a run of a reduced program ends
/// with.
fn last_assertion<'r>(reduced: &'r Reduced, instances: &[Instance], run: &Run) -> Option<&'r str> {
    let last = run.steps.last()?;
    let template = instances[last.thread].template;
    let edge = reduced.program.template(template).cfg.edge(last.edge);
    let Step::Atomic(atomic) = &edge.step else {
        return None;
    };
    match &atomic.body.edge(*last.path.last()?).step {
        Step::Assert {
            kind: AssertKind::Other(words),
            ..
        } => Some(words),
        _ => None,
    }
}

/// The values that each template stores to each cell, where they are few: claims
/// that need no proof.
pub fn stored_values(program: &Program) -> impl Fn(usize, Cell) -> Claim {
    let claims = claims(program, &program.instances(2));
    move |template, cell| match claims.get(&(template, cell)) {
        Some(Claim::Among(values)) => Claim::Among(values.clone()),
        Some(Claim::Any | Claim::Rising) | None => Claim::Any,
    }
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
fn claims(program: &Program, instances: &[Instance]) -> Claims {
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
            let claim = values.map_or(Claim::Rising, |set| Claim::Among(set.into_iter().collect()));
            claims.insert((number, cell), claim);
        }
    }
    claims
}

/// The values that a cell was declared to have, where these are few.
fn declared(program: &Program, cell: Cell) -> Values {
    let domain = program.global(program.variable_of(cell).0).domain?;
    let few = domain.hi.checked_sub(domain.lo)? < FEW;
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
