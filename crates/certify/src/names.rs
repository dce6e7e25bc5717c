//! Names of state variables as a person reads them in the source: `x`, `a[1]`,
//! `left.r`, `t[0].r`; buffer slots are `left.buf[0]` under TSO and
//! `left.buf(x)[0]` under PSO; of stores beyond the exact ones, `left.last(x)` and
//! `left.low(x)`; what the network has read for a pending operation is
//! `left.op(2)[0]`, by the operation's number and slot; any of the values that
//! instances beyond the slots may write is `left.set(2)`; a copy's number is
//! `t[0].self`. One table serves both directions.

use crate::state::StateVar;
use palisade_logic::Var;
use palisade_program::{Cell, Instance, LocalId, Program};
use rustc_hash::FxHashMap;

/// The names of a program's threads, cells and locals.
pub(crate) struct StateNames {
    threads: Vec<String>,
    cells: Vec<String>,
    locals: Vec<Vec<String>>,
    thread_of: FxHashMap<String, u32>,
    var_of: FxHashMap<String, StateVar>,
}

impl StateNames {
    /// The names of `program` with these threads.
    pub(crate) fn of(program: &Program, instances: &[Instance]) -> Self {
        let mut names = Self {
            threads: Vec::new(),
            cells: Vec::new(),
            locals: Vec::new(),
            thread_of: FxHashMap::default(),
            var_of: FxHashMap::default(),
        };
        for cell in (0..program.cell_count()).map(Cell::from) {
            let name = names.add(program.cell_name(cell), StateVar::Cell(cell));
            names.cells.push(name);
        }
        for (thread, instance) in instances.iter().enumerate() {
            names.add_thread(program, *instance, thread as u32);
        }
        names
    }

    fn add_thread(&mut self, program: &Program, instance: Instance, thread: u32) {
        let own = program.instance_name(instance);
        let mut locals = Vec::new();
        for (i, local) in program
            .template(instance.template)
            .locals
            .iter()
            .enumerate()
        {
            let local_id = LocalId::from(i);
            let state_var = StateVar::Local {
                thread,
                local: local_id,
            };
            locals.push(self.add(format!("{own}.{}", local.name), state_var));
        }
        self.locals.push(locals);
        self.thread_of.insert(own.clone(), thread);
        self.threads.push(own);
    }

    /// Gives `state_var` the name, primed as long as it is taken: a shared
    /// variable might be called like another thread's local.
    fn add(&mut self, mut name: String, state_var: StateVar) -> String {
        while self.var_of.contains_key(&name) {
            name.push('\'');
        }
        self.var_of.insert(name.clone(), state_var);
        name
    }

    /// A thread's name.
    pub(crate) fn thread(&self, thread: u32) -> &str {
        self.threads
            .get(thread as usize)
            .map_or("?", String::as_str)
    }

    /// A cell's name.
    pub(crate) fn cell(&self, cell: Cell) -> &str {
        self.cells.get(cell.index()).map_or("?", String::as_str)
    }

    /// A state variable's name.
    pub(crate) fn state_var(&self, state_var: StateVar) -> String {
        match state_var {
            StateVar::Cell(cell) => self.cell(cell).to_owned(),
            StateVar::Local { thread, local } => self
                .locals
                .get(thread as usize)
                .and_then(|locals| locals.get(local.index()))
                .map_or_else(|| "?".to_owned(), String::clone),
            StateVar::Slot { thread, position } => {
                format!("{}.buf[{position}]", self.thread(thread))
            }
            StateVar::CellSlot {
                thread,
                cell,
                position,
            } => format!(
                "{}.buf({})[{position}]",
                self.thread(thread),
                self.cell(cell)
            ),
            StateVar::Carried {
                thread,
                operation,
                slot,
            } => format!("{}.op({operation})[{slot}]", self.thread(thread)),
            StateVar::Element { thread, operation } => {
                format!("{}.set({operation})", self.thread(thread))
            }
            StateVar::Last { thread, cell } => {
                format!("{}.last({})", self.thread(thread), self.cell(cell))
            }
            StateVar::Low { thread, cell } => {
                format!("{}.low({})", self.thread(thread), self.cell(cell))
            }
            StateVar::Number { thread } => format!("{}.self", self.thread(thread)),
        }
    }

    /// The thread with this name.
    pub(crate) fn find_thread(&self, name: &str) -> Option<u32> {
        self.thread_of.get(name).copied()
    }

    /// The cell with this name.
    pub(crate) fn find_cell(&self, name: &str) -> Option<Cell> {
        match self.var_of.get(name) {
            Some(StateVar::Cell(cell)) => Some(*cell),
            Some(_) | None => None,
        }
    }

    /// The state variable with this name.
    pub(crate) fn find(&self, name: &str) -> Option<StateVar> {
        self.var_of
            .get(name)
            .copied()
            .or_else(|| self.find_slot(name))
    }

    fn find_slot(&self, name: &str) -> Option<StateVar> {
        if let Some(thread) = name.strip_suffix(".self") {
            let thread = self.find_thread(thread)?;
            return Some(StateVar::Number { thread });
        }
        if let Some(front) = name.strip_suffix(')') {
            return self.find_beyond(front);
        }
        let (front, position) = name.strip_suffix(']')?.rsplit_once('[')?;
        let position = position.parse().ok()?;
        if let Some(thread) = front.strip_suffix(".buf") {
            let thread = self.find_thread(thread)?;
            return Some(StateVar::Slot { thread, position });
        }
        if let Some((thread, operation)) = front.strip_suffix(')')?.split_once(".op(") {
            return Some(StateVar::Carried {
                thread: self.find_thread(thread)?,
                operation: operation.parse().ok()?,
                slot: position,
            });
        }
        let (thread, cell) = front.strip_suffix(')')?.split_once(".buf(")?;
        Some(StateVar::CellSlot {
            thread: self.find_thread(thread)?,
            cell: self.find_cell(cell)?,
            position,
        })
    }

    fn find_beyond(&self, front: &str) -> Option<StateVar> {
        if let Some((thread, cell)) = front.split_once(".last(") {
            let (thread, cell) = (self.find_thread(thread)?, self.find_cell(cell)?);
            return Some(StateVar::Last { thread, cell });
        }
        if let Some((thread, operation)) = front.split_once(".set(") {
            return Some(StateVar::Element {
                thread: self.find_thread(thread)?,
                operation: operation.parse().ok()?,
            });
        }
        let (thread, cell) = front.split_once(".low(")?;
        let (thread, cell) = (self.find_thread(thread)?, self.find_cell(cell)?);
        Some(StateVar::Low { thread, cell })
    }
}

impl palisade_logic::Names for StateNames {
    fn name(&self, var: Var) -> String {
        match StateVar::of(var) {
            Some(state_var) => crate::token::quoted(&self.state_var(state_var)),
            None => format!("?{}", var.0),
        }
    }
}
