//! *Value sets* [Baumann et al., VMCAI 2018, section 3]: what is known of pending remote operations
//! without counting them. For each operation there is a flag `more`, whether instances
//! of it are pending beyond its slots, and the set of all values that such an instance
//! may still write. So programs that issue operations without bound can be proved.
//!
//! | [Baumann et al., VMCAI 2018, table 2] | here |
//! |---|---|
//! | `active(s)` | `more`, 0 or 1 |
//! | `set(s)` | *listed*: a flag `has` for each value, where the values are few and known; else a *summary*, one variable of [`Role::Set`] |
//! | `addToSet(set(s), X)` | `ValueSets::add` |
//! | `randomElem(set(s))` | `ValueSets::pick` |
//!
//! Rules. An operation `s` reads the cell `src(s)` and writes the cell `trg(s)`; v is
//! the value at hand.
//!
//! An operation of which the control flow allows only a few instances at once may have slots
//! for all of them and no set ([`Wanted::exact`]).
//!
//! | step of the original | in the reduced program, atomically |
//! |---|---|
//! | put, get without a free slot | the value of `src(s)` joins the set; `more = 1`. The set was empty if `more` was 0 |
//! | any write of v to a cell x (a store, a store in an atomic block, the network's write of a slot or of a set) | v joins the set of every operation of every process with `src = x` and `more = 1` |
//! | network writes from a set (any time, `more = 1`) | `trg(s)` gets some v of the set; then the rule above; then `more` stays 1, or becomes 0 and the set empty |
//! | `flush(p)`, end of a process | waits until `more = 0` as well |
//! | `flush_local(p)` | the same for gets; puts in a set may all have read their source |
//!
//! **One set per variable** ([`Sharing::Variable`]; section 4.2). All operations that read one
//! cell, of all processes, share one content; each keeps its own `more`. A flag `used` says whether
//! one of them is pending:
//!
//! | step | rule |
//! |---|---|
//! | put, get without a free slot | the value of `src(s)` joins the content; `more = used = 1`. The content was empty if `used` was 0, that is if *no* operation that reads the cell was pending |
//! | any write of v to a cell x | v joins the content of x if `used` is 1 |
//! | network writes from a set | as above; where `more` becomes 0 and no other operation that reads the cell is pending, `used` becomes 0 and the content empty |
//!
//! The content has the set of every pending operation that shares it, so no run is lost either;
//! there are fewer variables, and more runs.
//!
//! **No run is lost.** Let a state of the machine be given with any number of pending
//! instances, k of each operation assigned to slots and the rest to its set. Kept
//! invariant: if there is a rest, `more` is 1, the set holds the value of every read
//! instance of the rest, and the value that `src(s)` has now. The last holds when the
//! first instance joins, and whoever changes `src(s)` adds the new value. The network's
//! read changes nothing here: it takes a value that is in the set. Its write takes
//! one that is in the set; whether it was the last instance is a guess that both
//! outcomes of the rule allow.
//!
//! **Unsound points of table 2**, taken to the letter, and what is done here:
//! - the flush loop writes targets without telling the sets that read them: here every
//!   write does;
//! - a set shared by several statements (section 4.2) must not be initialised while
//!   one of them is pending. Operations of one process with the same cells share one always:
//!   it is in use as long as one of them is pending, and instances of these are alike. Others
//!   share one only if that is wanted, by the rules above;
//! - `remoteOps` stands before loads and stores only, so that `never` and `finally`
//!   would not see the network's writes: here the network may act at every location.
//!
//! **More runs than the model has.** Of one instance in a set the network may write
//! two values, since `more` may stay 1. A violation may therefore be none: the
//! machine decides.

use palisade_program::cfg::{AssertKind, Place, Step, local};
use palisade_program::{
    BinOp, Cell, Count, Expr, Global, GlobalId, Init, LocalAtom, LocalExpr, LocalId, Order,
    Program, Role, Span,
};

use crate::blocks::{Segment, assign, equals, range};
use crate::rma::Operation;

/// Which operations share a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Sharing {
    /// None, but for those of one process with the same cells (section 3).
    #[default]
    Statement,
    /// All that read the same cell (section 4.2).
    Variable,
}

/// How sets are wanted.
pub struct Wanted<'a> {
    /// The values that a cell can have, where they are few; a set of them is listed.
    pub values: &'a dyn Fn(Cell) -> Option<Vec<i64>>,
    /// Copies of `[*]` templates.
    pub copies: u32,
    /// Operations of which the control flow allows at most this many at once have all
    /// their slots, and no set.
    pub exact: u32,
    /// Which operations share a set.
    pub sharing: Sharing,
}

/// What a cell that the reduction has added stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetPart {
    /// Whether instances of the operation are in the set.
    More,
    /// Of a set that operations share: whether it is in use.
    Used,
    /// Whether it has this value.
    Has(i64),
    /// The summary of its values.
    Summary,
}

/// A cell that the reduction has added. What all operations share that read one cell is put
/// down to the first of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetCell {
    /// The template whose operation it is.
    pub template: usize,
    /// Which copy of the template.
    pub copy: u32,
    /// The operation's number.
    pub operation: u32,
    /// What it stands for.
    pub part: SetPart,
}

/// The scratch variables of a template: the value at hand, and a flag.
#[derive(Clone, Copy)]
pub(crate) struct Scratch {
    pub(crate) value: LocalId,
    pub(crate) flag: LocalId,
}

#[derive(Clone)]
enum Content {
    Listed(Vec<(i64, GlobalId)>),
    Summary(GlobalId),
}

struct Set {
    more: GlobalId,
    content: Content,
    source: Cell,
    /// If others share the content: whether it is in use.
    used: Option<GlobalId>,
}

impl Set {
    /// The index of the content's variables: what is shared is no array.
    fn content_at<'a>(&self, at: Option<&'a LocalExpr>) -> Option<&'a LocalExpr> {
        at.filter(|_| self.used.is_none())
    }
}

/// What an operation has beside its slots.
enum Own {
    /// Nothing: slots are always enough.
    Nothing,
    /// A set.
    Set(Set),
    /// The set of the operation with this number, which has the same cells.
    SetOf(usize),
}

impl Own {
    fn set(&self) -> Option<&Set> {
        match self {
            Self::Set(set) => Some(set),
            Self::Nothing | Self::SetOf(_) => None,
        }
    }
}

impl Content {
    /// A new content, listed if its values are known; `flag` says whether it is in use.
    fn new(
        values: Option<Vec<i64>>,
        flag: GlobalId,
        add: &mut dyn FnMut(&str, SetPart, Role) -> GlobalId,
    ) -> Self {
        let Some(values) = values else {
            return Self::Summary(add("set", SetPart::Summary, Role::Set(flag)));
        };
        let values = values.into_iter().enumerate();
        let listed = values.map(|(i, v)| {
            let name = format!("has{i}_");
            (v, add(&name, SetPart::Has(v), Role::Control))
        });
        Self::Listed(listed.collect())
    }
}

/// The sets of one template, by operation.
struct OfTemplate {
    copies: u32,
    sets: Vec<Own>,
}

impl OfTemplate {
    fn all(&self) -> impl Iterator<Item = &Set> {
        self.sets.iter().filter_map(Own::set)
    }

    fn reading(&self, cell: Cell) -> impl Iterator<Item = &Set> {
        self.all().filter(move |s| s.source == cell)
    }
}

/// All sets of a program.
pub(crate) struct ValueSets {
    templates: Vec<OfTemplate>,
    /// What the added cells are, in order.
    pub(crate) cells: Vec<SetCell>,
}

impl ValueSets {
    /// Adds the variables of the sets to `program`; `operations` are those of each
    /// template. Operations that never need a set (`is_bounded`) have none.
    pub(crate) fn new(
        program: &mut Program,
        operations: &[Vec<Operation>],
        is_bounded: &dyn Fn(usize, &Operation) -> bool,
        wanted: &Wanted<'_>,
    ) -> Self {
        let mut all = Self {
            templates: Vec::new(),
            cells: Vec::new(),
        };
        for (number, own) in operations.iter().enumerate() {
            let copies = match program.templates[number].count {
                Count::Once => None,
                Count::Fixed(n) => Some(n),
                Count::Any => Some(wanted.copies),
            };
            let mut sets: Vec<Own> = Vec::new();
            for (index, operation) in own.iter().enumerate() {
                if is_bounded(number, operation) {
                    sets.push(Own::Nothing);
                    continue;
                }
                let alike =
                    |i: &usize| matches!(sets[*i], Own::Set(_)) && own[*i].is_like(operation);
                if let Some(first) = (0..index).find(alike) {
                    sets.push(Own::SetOf(first));
                    continue;
                }
                let mut add = |name: &str, copies: Option<u32>, part, role| {
                    let name = format!("${name}{number}_{index}");
                    let cells = (0..copies.unwrap_or(1)).map(|copy| SetCell {
                        template: number,
                        copy,
                        operation: index as u32,
                        part,
                    });
                    all.cells.extend(cells);
                    declare(program, name, copies, role)
                };
                let more = add("more", copies, SetPart::More, Role::Control);
                let others = all.templates.iter().flat_map(OfTemplate::all);
                let others = others.chain(sets.iter().filter_map(Own::set));
                let earlier = { others }
                    .find(|s| s.source == operation.source)
                    .map(|s| (s.used, s.content.clone()));
                let (used, content) = match (wanted.sharing, earlier) {
                    (Sharing::Variable, Some(shared)) => shared,
                    (Sharing::Variable, None) => {
                        let used = add("used", None, SetPart::Used, Role::Control);
                        let values = (wanted.values)(operation.source);
                        let mut add = |name: &str, part, role| add(name, None, part, role);
                        (Some(used), Content::new(values, used, &mut add))
                    }
                    (Sharing::Statement, _) => {
                        let values = (wanted.values)(operation.source);
                        let mut add = |name: &str, part, role| add(name, copies, part, role);
                        (None, Content::new(values, more, &mut add))
                    }
                };
                sets.push(Own::Set(Set {
                    more,
                    content,
                    source: operation.source,
                    used,
                }));
            }
            all.templates.push(OfTemplate {
                copies: copies.unwrap_or(1),
                sets,
            });
        }
        all
    }

    fn set(
        &self,
        program: &Program,
        (template, operation): (usize, usize),
    ) -> Option<(&Set, Option<LocalExpr>)> {
        match &self.templates[template].sets[operation] {
            Own::Nothing => None,
            Own::SetOf(first) => self.set(program, (template, *first)),
            Own::Set(set) => {
                let own = at(program, template, Expr::Atom(LocalAtom::SelfId));
                Some((set, own))
            }
        }
    }

    /// Whether an operation's set is that of another one: then what happens to it is said there.
    pub(crate) fn is_shared(&self, (template, operation): (usize, usize)) -> bool {
        matches!(self.templates[template].sets[operation], Own::SetOf(_))
    }

    /// The value at hand joins the own set of an operation, which is in use from now on;
    /// `None` if it has none.
    pub(crate) fn join(
        &self,
        program: &Program,
        operation: (usize, usize),
        scratch: Scratch,
    ) -> Option<Vec<Segment>> {
        let (set, own) = self.set(program, operation)?;
        let mut marks = vec![store(set.more, own.as_ref(), Expr::Const(1))];
        marks.extend(set.used.map(|used| store(used, None, Expr::Const(1))));
        Some(vec![
            Self::add(set, set.content_at(own.as_ref()), scratch),
            vec![marks],
        ])
    }

    /// The value at hand joins a set.
    fn add(set: &Set, at: Option<&LocalExpr>, scratch: Scratch) -> Segment {
        match &set.content {
            Content::Summary(variable) => {
                vec![vec![store(*variable, at, local(scratch.value))]]
            }
            Content::Listed(values) => {
                let is = |v: i64| equals(scratch.value, v);
                let mut ways: Segment = Vec::new();
                let mut none = Expr::TRUE;
                for (value, has) in values {
                    ways.push(vec![
                        Step::Assume(is(*value)),
                        store(*has, at, Expr::Const(1)),
                    ]);
                    none = none.and(is(*value).negate());
                }
                ways.push(vec![
                    Step::Assume(none),
                    Step::Assert {
                        cond: Expr::FALSE,
                        kind: AssertKind::ListedValue,
                    },
                ]);
                ways
            }
        }
    }

    /// The value at hand was written to a cell: it joins every set in use that reads
    /// the cell.
    pub(crate) fn written(&self, program: &Program, cell: Cell, scratch: Scratch) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut shared = self.templates.iter().flat_map(|t| t.reading(cell));
        if let Some((set, used)) = shared.find_map(|set| Some((set, set.used?))) {
            // All that read the cell share one content.
            let in_use = |value| flag(used, None, scratch, value);
            let mut ways: Segment = vec![in_use(0).to_vec()];
            for way in Self::add(set, None, scratch) {
                ways.push([&in_use(1)[..], &way[..]].concat());
            }
            return vec![ways];
        }
        for (number, template) in self.templates.iter().enumerate() {
            for set in template.reading(cell) {
                for copy in 0..template.copies {
                    let at = at(program, number, Expr::Const(i64::from(copy)));
                    let used = |value| flag(set.more, at.as_ref(), scratch, value);
                    let mut ways: Segment = vec![used(0).to_vec()];
                    for way in Self::add(set, at.as_ref(), scratch) {
                        ways.push([&used(1)[..], &way[..]].concat());
                    }
                    segments.push(ways);
                }
            }
        }
        segments
    }

    /// Whether writing the cell changes no set.
    pub(crate) fn is_unread(&self, cell: Cell) -> bool {
        let mut sets = self.templates.iter().flat_map(|t| t.reading(cell));
        sets.next().is_none()
    }

    /// The own set of an operation is in use, and the value at hand is one of it; `None` if
    /// it has no set.
    pub(crate) fn pick(
        &self,
        program: &Program,
        operation: (usize, usize),
        scratch: Scratch,
    ) -> Option<Vec<Segment>> {
        let (set, own) = self.set(program, operation)?;
        let own = own.as_ref();
        let ways = match &set.content {
            Content::Summary(variable) => {
                vec![vec![Step::Load {
                    dst: scratch.value,
                    src: place(*variable, set.content_at(own)),
                }]]
            }
            Content::Listed(values) => {
                let pick = |(value, has): &(i64, GlobalId)| {
                    let mut steps = flag(*has, set.content_at(own), scratch, 1).to_vec();
                    steps.push(assign(scratch.value, Expr::Const(*value)));
                    steps
                };
                values.iter().map(pick).collect()
            }
        };
        Some(vec![vec![flag(set.more, own, scratch, 1).to_vec()], ways])
    }

    /// The own set of an operation stays in use, or becomes empty; a content that others share
    /// becomes empty if none of them is pending.
    pub(crate) fn leave(
        &self,
        program: &Program,
        operation: (usize, usize),
        scratch: Scratch,
    ) -> Segment {
        let Some((set, own)) = self.set(program, operation) else {
            return vec![Vec::new()];
        };
        let own = own.as_ref();
        let mut left = vec![store(set.more, own, Expr::Const(0))];
        let mut empty = Vec::new();
        match &set.content {
            Content::Summary(_) => {}
            Content::Listed(values) => {
                let at = set.content_at(own);
                let clear = |(_, has): &(i64, GlobalId)| store(*has, at, Expr::Const(0));
                empty.extend(values.iter().map(clear));
            }
        }
        let Some(used) = set.used else {
            return vec![Vec::new(), [left, empty].concat()];
        };
        let mut ways = vec![Vec::new()];
        for (more, at) in self.sharing(program, set.source) {
            let pending = |value| flag(more, at.as_ref(), scratch, value);
            ways.push([&left[..], &pending(1)[..]].concat());
            left.extend(pending(0));
        }
        empty.push(store(used, None, Expr::Const(0)));
        ways.push([left, empty].concat());
        ways
    }

    /// The flags `more` of all that read a cell, by copy.
    fn sharing(&self, program: &Program, cell: Cell) -> Vec<(GlobalId, Option<LocalExpr>)> {
        let mut all = Vec::new();
        for (number, template) in self.templates.iter().enumerate() {
            for set in template.reading(cell) {
                let copies = (0..template.copies).map(i64::from).map(Expr::Const);
                all.extend(copies.map(|copy| (set.more, at(program, number, copy))));
            }
        }
        all
    }

    /// The own set of an operation is not in use; `None` if it has none.
    pub(crate) fn unused(
        &self,
        program: &Program,
        operation: (usize, usize),
        scratch: Scratch,
    ) -> Option<Vec<Step>> {
        let (set, own) = self.set(program, operation)?;
        Some(flag(set.more, own.as_ref(), scratch, 0).to_vec())
    }
}

/// A new variable, or an array with one element for each copy.
fn declare(program: &mut Program, name: String, copies: Option<u32>, role: Role) -> GlobalId {
    let id = GlobalId::from(program.globals.len());
    program.globals.push(Global {
        name,
        len: copies,
        init: vec![Init::Value(0); copies.unwrap_or(1) as usize],
        domain: match role {
            Role::Control => range(1),
            Role::Data | Role::Set(_) => None,
        },
        role,
        home: None,
        span: Span::default(),
    });
    id
}

/// The index of a template's variables for one copy.
fn at(program: &Program, template: usize, copy: LocalExpr) -> Option<LocalExpr> {
    match program.templates[template].count {
        Count::Once => None,
        Count::Fixed(_) | Count::Any => Some(copy),
    }
}

fn place(var: GlobalId, index: Option<&LocalExpr>) -> Place {
    Place {
        var,
        index: index.cloned(),
        order: Order::Plain,
    }
}

fn store(var: GlobalId, index: Option<&LocalExpr>, value: LocalExpr) -> Step {
    Step::Store {
        dst: place(var, index),
        value,
    }
}

/// The flag variable has this value.
fn flag(var: GlobalId, index: Option<&LocalExpr>, scratch: Scratch, value: i64) -> [Step; 2] {
    let load = Step::Load {
        dst: scratch.flag,
        src: place(var, index),
    };
    let is = Expr::binary(BinOp::Eq, local(scratch.flag), Expr::Const(value));
    [load, Step::Assume(is)]
}
