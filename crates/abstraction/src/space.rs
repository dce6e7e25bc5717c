//! The *space* of a program's states: which threads run, which variables there
//! are (memory cells and each thread's locals), which of them the checker keeps
//! explicit and which are data for predicates. Data variables are numbered as
//! solver variables: slot `i` is `Var(i)`.

use std::collections::BTreeMap;

use palisade_logic::{Formula, Names, Term, Var};
use palisade_program::liveness::Liveness;
use palisade_program::{Cell, Domain, Init, Instance, LocId, LocalId, Program, Role};

use crate::finite::{Finite, Values};

/// Which program variable a slot is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum SlotKind {
    /// A cell of shared memory.
    Cell(Cell),
    /// A local of the thread with this index.
    Local(usize, LocalId),
}

/// A variable of the state space.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Which program variable.
    pub kind: SlotKind,
    /// Its name: `x`, `a[1]`, `left.r`.
    pub name: String,
    /// Its initial value.
    pub init: Init,
    /// Its declared domain.
    pub domain: Option<Domain>,
    /// If the checker keeps its value explicit: all values that it can take, and
    /// its position in [`Control::values`].
    pub explicit: Option<Explicit>,
}

/// An explicit variable.
#[derive(Clone, Debug)]
pub struct Explicit {
    /// All values that it can take.
    pub values: Vec<i64>,
    /// Its position among the explicit variables.
    pub position: usize,
    /// Whether it may take others as well: then it cannot get data.
    pub open: bool,
}

/// Values of `*` at most for a variable whose values are not listed.
const FEW_VALUES: i64 = 64;

impl Explicit {
    /// The values that `*` within `domain` gives; `None` if they are not known.
    pub fn any_of(&self, domain: Option<Domain>) -> Option<Vec<i64>> {
        match domain {
            _ if !self.open => {
                let inside = |v: &i64| domain.is_none_or(|d| d.contains(*v));
                Some(self.values.iter().copied().filter(inside).collect())
            }
            Some(d) if d.hi.saturating_sub(d.lo) < FEW_VALUES => Some((d.lo..=d.hi).collect()),
            Some(_) | None => None,
        }
    }
}

/// The finite part of a state: program counters and explicit variables.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Control {
    /// Where each thread is.
    pub pcs: Box<[LocId]>,
    /// Values of the explicit variables.
    pub values: Box<[i64]>,
}

/// The state space of a program with certain threads.
#[derive(Clone, Debug)]
pub struct Space<'p> {
    /// The program.
    pub program: &'p Program,
    /// The threads that run.
    pub threads: Vec<Instance>,
    /// All variables.
    pub slots: Vec<Slot>,
    /// The slots of explicit variables, by position.
    pub explicit: Vec<usize>,
    /// For each slot that is a set, the slot of the control variable that says whether
    /// it is in use.
    pub sets: BTreeMap<usize, usize>,
    /// Positions of explicit flags that only add runs: whatever can happen while one is 0 can
    /// happen while it is 1, so that a state covers the same state with fewer of them.
    pub monotone: Vec<usize>,
    /// For each thread and location whether the thread need not be interrupted there; `None`:
    /// as `interior` says.
    pub interior: Option<Vec<Vec<bool>>>,
    /// What is known of the initial data beside each variable's own initial value.
    pub facts: Vec<Formula>,
    first_local: Vec<usize>,
    liveness: Vec<Liveness>,
}

impl<'p> Space<'p> {
    /// The space of `program` with these threads. If `promote` is set, finite
    /// variables are explicit; control variables always are.
    pub fn new(program: &'p Program, threads: Vec<Instance>, promote: bool) -> Self {
        let liveness: Vec<Liveness> = program
            .template_ids()
            .map(|t| Liveness::of(program, t))
            .collect();
        let finite = Finite::of(program, &threads);
        let mut space = Self {
            program,
            slots: Vec::new(),
            explicit: Vec::new(),
            sets: BTreeMap::new(),
            monotone: Vec::new(),
            interior: None,
            facts: Vec::new(),
            first_local: Vec::new(),
            liveness,
            threads,
        };
        for (index, init) in program.initial_cells().into_iter().enumerate() {
            let cell = Cell::from(index);
            let (variable, element) = program.variable_of(cell);
            let global = program.global(variable);
            if let Role::Set(flag) = global.role {
                let flag = program.cell(flag, element);
                space.sets.insert(cell.index(), flag.index());
            }
            let explicit =
                explicit_values(global.role, global.domain, &finite.cells[index], promote);
            let name = program.cell_name(cell);
            space.push(SlotKind::Cell(cell), name, init, global.domain, explicit);
        }
        for (thread, instance) in space.threads.clone().into_iter().enumerate() {
            space.first_local.push(space.slots.len());
            for (index, local) in program
                .template(instance.template)
                .locals
                .iter()
                .enumerate()
            {
                let values = &finite.locals[thread][index];
                let explicit = explicit_values(local.role, local.domain, values, promote);
                let name = format!("{}.{}", program.instance_name(instance), local.name);
                let kind = SlotKind::Local(thread, LocalId::from(index));
                space.push(kind, name, local.init, local.domain, explicit);
            }
        }
        space
    }

    /// The same with every variable explicit that starts with a known value, whether its values
    /// are few or not: there may be no end of states. No data is left but for sets and for what
    /// starts with any value, and none may go to a variable whose values are not known.
    pub fn open(program: &'p Program, threads: Vec<Instance>) -> Self {
        let mut space = Self::new(program, threads, true);
        for index in 0..space.slots.len() {
            let slot = &mut space.slots[index];
            if let (None, Init::Value(value), false) =
                (&slot.explicit, slot.init, space.sets.contains_key(&index))
            {
                slot.explicit = Some(Explicit {
                    values: vec![value],
                    position: space.explicit.len(),
                    open: true,
                });
                space.explicit.push(index);
            }
        }
        space
    }

    fn push(
        &mut self,
        kind: SlotKind,
        name: String,
        init: Init,
        domain: Option<Domain>,
        values: Option<Vec<i64>>,
    ) {
        let explicit = values.map(|values| {
            self.explicit.push(self.slots.len());
            Explicit {
                values,
                position: self.explicit.len() - 1,
                open: false,
            }
        });
        self.slots.push(Slot {
            kind,
            name,
            init,
            domain,
            explicit,
        });
    }

    /// The slot of a memory cell.
    pub fn cell_slot(&self, cell: Cell) -> usize {
        cell.index()
    }

    /// The slot of a thread's local.
    pub fn local_slot(&self, thread: usize, local: LocalId) -> usize {
        self.first_local[thread] + local.index()
    }

    /// The first number that no slot uses: fresh solver variables start here.
    pub fn first_fresh(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The variable of the first element that a step takes from a set; those of further
    /// ones follow. They stand behind the fresh variables for `*`.
    pub fn first_element(&self) -> Var {
        Var(self.first_fresh() + (1 << 19))
    }

    /// Which locals of `thread` are live.
    pub fn liveness(&self, thread: usize) -> &Liveness {
        &self.liveness[self.threads[thread].template.index()]
    }

    /// The slots of `thread`'s locals that are dead when it is at `loc`.
    pub fn dead_slots(&self, thread: usize, loc: LocId) -> Vec<usize> {
        self.liveness(thread)
            .dead(loc)
            .map(|l| self.local_slot(thread, l))
            .collect()
    }

    /// All initial controls: explicit variables with any value of their domain
    /// are enumerated; dead locals are 0.
    pub fn initial_controls(&self) -> Vec<Control> {
        let pcs: Box<[LocId]> = self
            .threads
            .iter()
            .map(|t| self.program.template(t.template).cfg.entry)
            .collect();
        let mut all: Vec<Vec<i64>> = vec![Vec::new()];
        for &slot in &self.explicit {
            let choices = match (self.slots[slot].init, &self.slots[slot].explicit) {
                (Init::Any, Some(e)) if self.is_live_at(slot, &pcs) => e.values.clone(),
                (Init::Value(v), _) if self.is_live_at(slot, &pcs) => vec![v],
                (Init::Any | Init::Value(_), _) => vec![0],
            };
            all = all
                .into_iter()
                .flat_map(|prefix| {
                    choices.iter().map(move |v| {
                        let mut next = prefix.clone();
                        next.push(*v);
                        next
                    })
                })
                .collect();
        }
        all.into_iter()
            .map(|values| Control {
                pcs: pcs.clone(),
                values: values.into(),
            })
            .collect()
    }

    /// Whether the variable matters when the threads are at `pcs`.
    pub fn is_live_at(&self, slot: usize, pcs: &[LocId]) -> bool {
        match self.slots[slot].kind {
            SlotKind::Cell(_) => true,
            SlotKind::Local(thread, local) => self.liveness(thread).is_live(pcs[thread], local),
        }
    }
}

impl Names for Space<'_> {
    fn name(&self, var: Var) -> String {
        let slot = self.slots.get(var.0 as usize);
        slot.map_or_else(|| format!("any{}", var.0), |s| s.name.clone())
    }
}

/// The values of a variable that is kept explicit.
fn explicit_values(
    role: Role,
    domain: Option<Domain>,
    finite: &Values,
    promote: bool,
) -> Option<Vec<i64>> {
    let of_domain = |d: Domain| (d.lo..=d.hi).collect();
    match role {
        Role::Control => finite
            .as_ref()
            .map(|set| set.iter().copied().collect())
            .or_else(|| domain.map(of_domain)),
        Role::Data if promote => finite.as_ref().map(|set| set.iter().copied().collect()),
        Role::Data | Role::Set(_) => None,
    }
}

/// The condition on the data in initial states.
pub fn initial_data(space: &Space<'_>) -> Formula {
    let facts = space
        .slots
        .iter()
        .enumerate()
        .filter(|(_, s)| s.explicit.is_none());
    let facts = facts.flat_map(|(slot, s)| {
        let value = Term::var(Var(slot as u32));
        let le = |a: &Term, b: &Term| Formula::le(a, b).unwrap_or(Formula::True);
        match (s.init, s.domain) {
            (Init::Value(v), _) => {
                let v = Term::constant(v);
                // Equality of a variable and a 64-bit constant stays in range.
                vec![Formula::eq(&value, &v).unwrap_or(Formula::True)]
            }
            (Init::Any, Some(d)) => {
                vec![
                    le(&Term::constant(d.lo), &value),
                    le(&value, &Term::constant(d.hi)),
                ]
            }
            (Init::Any, None) => vec![],
        }
    });
    Formula::all(facts.chain(space.facts.iter().cloned()))
}
