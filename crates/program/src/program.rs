//! Variables, thread templates, and the whole [`Program`].

use crate::asked::{Asked, Assumption};
use crate::cfg::Cfg;
use crate::deadlock::Life;
use crate::expr::Expr;
use crate::ids::{Cell, GlobalId, LocId, LocalId, TemplateId};
use crate::names::Names;
use crate::order::Orders;
use crate::presence::Flag;
use crate::property::{Hint, Property};
use crate::source::{Source, Span};
use crate::verdict::{Broken, Trace, Violation};

/// What an expression in a step may read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LocalAtom {
    /// A local of the thread.
    Local(LocalId),
    /// The thread's number among the copies of its template, from 0.
    SelfId,
}

/// An expression in a step.
pub type LocalExpr = Expr<LocalAtom>;

/// A variable's value when the program starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Init {
    /// This value.
    Value(i64),
    /// Any integer, or any value of the variable's domain.
    Any,
}

/// A finite range of values, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Domain {
    /// Least value.
    pub lo: i64,
    /// Greatest value.
    pub hi: i64,
}

impl Domain {
    /// Whether `value` lies in the range.
    pub const fn contains(self, value: i64) -> bool {
        self.lo <= value && value <= self.hi
    }
}

/// Whether a variable's values are abstracted by predicates or kept as they are.
/// A control variable has a domain and never leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Role {
    /// An integer that predicates speak of.
    #[default]
    Data,
    /// Finite control that checkers keep explicit: buffer counters, cell indices, flags.
    Control,
    /// Reduced programs only: a set of integers, in shared memory. A store adds its
    /// value, a load gives some element, not always the same. While the control
    /// variable named here (its element with the same index) is 0 the set is empty.
    Set(GlobalId),
}

/// Where a shared variable lives (RMA).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Home {
    /// The process template it was declared in.
    pub template: TemplateId,
    /// Whether element `j` of the array lives with copy `j` of the template, as a
    /// variable of a replicated process does; otherwise all of it lives with the
    /// template's only copy.
    pub per_copy: bool,
}

/// A shared variable or array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// Its name in the source.
    pub name: String,
    /// Number of elements, for arrays.
    pub len: Option<u32>,
    /// Initial value of each cell: one, or `len` of them.
    pub init: Vec<Init>,
    /// Declared range of values. Front ends make sure by [`crate::AssertKind::Domain`]
    /// assertions (or by assumptions) that it is never left.
    pub domain: Option<Domain>,
    /// Data or control.
    pub role: Role,
    /// The process it lives in; `None` outside RMA programs.
    pub home: Option<Home>,
    /// Where it was declared.
    pub span: Span,
}

impl Global {
    /// Number of memory cells: 1 for variables.
    pub fn cell_count(&self) -> usize {
        self.len.map_or(1, |n| n as usize)
    }
}

/// Where a local comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// The user declared it.
    User,
    /// A front end or reduction made it up to split expressions.
    Temporary,
}

/// A thread-local variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Local {
    /// Its name, unique within the template.
    pub name: String,
    /// Initial value.
    pub init: Init,
    /// Declared range of values, as for [`Global::domain`].
    pub domain: Option<Domain>,
    /// Data or control.
    pub role: Role,
    /// The user's, or made up.
    pub origin: Origin,
    /// Where it was declared.
    pub span: Span,
}

/// How many threads run a template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Count {
    /// `thread t { }`
    Once,
    /// `thread t[n] { }`
    Fixed(u32),
    /// `thread t[*] { }`: any number.
    Any,
}

/// A named location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The name.
    pub name: String,
    /// The location before the labelled statement.
    pub loc: LocId,
    /// Where it was written.
    pub span: Span,
}

/// The code of a thread, or of several identical ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    /// Its name.
    pub name: String,
    /// How many copies run.
    pub count: Count,
    /// Whether it is a `process` (RMA) that may own shared variables.
    pub is_process: bool,
    /// Its local variables.
    pub locals: Vec<Local>,
    /// Its code.
    pub cfg: Cfg,
    /// Its labels, by location.
    pub labels: Vec<Label>,
    /// When it takes part in a deadlock.
    pub life: Life,
    /// Where it was declared.
    pub span: Span,
}

/// A running thread: one copy of a template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Instance {
    /// The template.
    pub template: TemplateId,
    /// Its `self`.
    pub copy: u32,
}

/// A concurrent program with its properties.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// The text it came from.
    pub source: Source,
    /// Shared variables.
    pub globals: Vec<Global>,
    /// Threads.
    pub templates: Vec<Template>,
    /// `never` and `finally`.
    pub properties: Vec<Property>,
    /// `reach`: each is a `never` that some run must violate.
    pub reaches: Vec<Property>,
    /// Which properties are asked about.
    pub asked: Asked,
    /// Whether a deadlock is a violation.
    pub deadlock: bool,
    /// Whether it is a violation that a thread spins for ever ([`crate::Stuck`]).
    pub progress: bool,
    /// What a verdict takes for granted.
    pub assumptions: Vec<Assumption>,
    /// The user's predicates.
    pub hints: Vec<Hint>,
    /// What has become of memory orders: which models it is for.
    pub orders: Orders,
    /// What reports call things.
    pub names: Names,
    /// Assertions that the front end left out, since no run gets there.
    pub left_out: Vec<Span>,
    /// Flags that say where threads are ([`crate::presence`]).
    pub present: Vec<Flag>,
}

impl Program {
    /// The question whether some run reaches what the `reach` with this number says: a run
    /// that does violates it.
    #[must_use]
    pub fn reaching(&self, number: usize) -> Self {
        Self {
            properties: vec![self.reaches[number].clone()],
            reaches: Vec::new(),
            deadlock: false,
            progress: false,
            ..self.clone()
        }
    }

    /// What is said when the answer is that none does.
    pub fn unreachable(&self, number: usize) -> Violation {
        let property = &self.reaches[number];
        let cond = self.show_property(property);
        let cond = cond.strip_prefix("never ").unwrap_or(&cond);
        Violation {
            broken: Broken::Unreachable(number),
            span: property.span,
            message: format!("no run reaches {cond}"),
            trace: Trace::default(),
        }
    }

    /// The shared variable `id`.
    pub fn global(&self, id: GlobalId) -> &Global {
        &self.globals[id.index()]
    }

    /// The template `id`.
    pub fn template(&self, id: TemplateId) -> &Template {
        &self.templates[id.index()]
    }

    /// The template called `name`.
    pub fn template_named(&self, name: &str) -> Option<TemplateId> {
        self.templates
            .iter()
            .position(|t| t.name == name)
            .map(TemplateId::from)
    }

    /// All shared variables with their ids.
    pub fn global_ids(&self) -> impl Iterator<Item = GlobalId> + use<> {
        (0..self.globals.len()).map(GlobalId::from)
    }

    /// All templates with their ids.
    pub fn template_ids(&self) -> impl Iterator<Item = TemplateId> + use<> {
        (0..self.templates.len()).map(TemplateId::from)
    }

    /// Number of memory cells.
    pub fn cell_count(&self) -> usize {
        self.globals.iter().map(Global::cell_count).sum()
    }

    /// The cell of element `index` of `var` (0 for variables that are no array).
    pub fn cell(&self, var: GlobalId, index: u32) -> Cell {
        debug_assert!((index as usize) < self.global(var).cell_count());
        let base: usize = self.globals[..var.index()]
            .iter()
            .map(Global::cell_count)
            .sum();
        Cell::from(base + index as usize)
    }

    /// The variable and element number of a cell; the inverse of [`Self::cell`].
    pub fn variable_of(&self, cell: Cell) -> (GlobalId, u32) {
        let mut rest = cell.index();
        for (i, global) in self.globals.iter().enumerate() {
            if rest < global.cell_count() {
                return (GlobalId::from(i), rest as u32);
            }
            rest -= global.cell_count();
        }
        panic!("cell {} is not a cell of this program", cell.0)
    }

    /// A cell's name: `x`, or `a[3]`.
    pub fn cell_name(&self, cell: Cell) -> String {
        let (var, index) = self.variable_of(cell);
        let global = self.global(var);
        match global.len {
            Some(_) => format!("{}[{index}]", global.name),
            None => global.name.clone(),
        }
    }

    /// Initial values of all cells, in the order of [`Self::cell`].
    pub fn initial_cells(&self) -> Vec<Init> {
        self.globals
            .iter()
            .flat_map(|g| g.init.iter().copied())
            .collect()
    }

    /// How many copies of templates with `[*]` make threads of these names.
    pub fn copies_named(&self, names: &[String]) -> Option<u32> {
        let named = |copies: u32| {
            let instances = self.instances(copies);
            instances.len() == names.len()
                && instances
                    .iter()
                    .zip(names)
                    .all(|(i, name)| self.instance_name(*i) == *name)
        };
        // No run has fewer threads than copies.
        (1..=names.len().max(1) as u32).find(|copies| named(*copies))
    }

    /// The threads that run: the copies of each template in order. Templates with
    /// `[*]` get `any` copies.
    pub fn instances(&self, any: u32) -> Vec<Instance> {
        let mut all = Vec::new();
        for template in self.template_ids() {
            let copies = match self.template(template).count {
                Count::Once => 1,
                Count::Fixed(n) => n,
                Count::Any => any,
            };
            all.extend((0..copies).map(|copy| Instance { template, copy }));
        }
        all
    }

    /// Whether some template runs in any number of copies.
    pub fn has_unbounded_threads(&self) -> bool {
        self.templates.iter().any(|t| t.count == Count::Any)
    }

    /// Whether this is an RMA program: it has processes.
    pub fn is_rma(&self) -> bool {
        self.templates.iter().any(|t| t.is_process)
    }

    /// A thread's name: `left`, or `t[2]` for copies.
    pub fn instance_name(&self, instance: Instance) -> String {
        let template = self.template(instance.template);
        match template.count {
            Count::Once => template.name.clone(),
            Count::Fixed(_) | Count::Any => format!("{}[{}]", template.name, instance.copy),
        }
    }
}

impl Template {
    /// The local `id`.
    pub fn local(&self, id: LocalId) -> &Local {
        &self.locals[id.index()]
    }

    /// The label at `loc`, if there is one.
    pub fn label_at(&self, loc: LocId) -> Option<&Label> {
        self.labels.iter().find(|l| l.loc == loc)
    }
}
