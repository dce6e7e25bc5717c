//! *State variables*: the integers of a program's state under a memory model.
//! A state is the locations of all threads, the shape of their store buffers
//! ([`crate::Buffer`]), and a value for each state variable: memory cells,
//! locals, and the slots of the buffers.
//!
//! Formulas of a certificate range over [`Var`]s. Each state variable has one
//! fixed number ([`StateVar::var`]), so that a certificate needs no table of
//! variables beside it and whoever writes one can build its formulas without
//! asking this crate:
//!
//! | bits | cell | local | TSO slot | PSO slot | fresh | last, low | RMA value | number |
//! |---|---|---|---|---|---|---|---|---|
//! | 31..29 | 0 | 1 | 2 | 3 | 4 | 5, 6 | 7 | 1 |
//! | 28..21 | | thread | thread | thread | | thread | thread | thread |
//! | the rest | cell | local | position | cell (15), position (6) | number | cell | operation (15), slot (6; 63: of a set) | all ones |
//!
//! A program that does not fit (more than 256 threads, 64 stores in one PSO
//! buffer, ...) has no number for some variable and is refused.

use crate::remote::Pending;
use palisade_logic::{Term, Var};
use palisade_program::{Cell, LocalId};

/// An integer of the state. Threads are numbered as by
/// [`Program::instances`](palisade_program::Program::instances).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StateVar {
    /// A cell of shared memory.
    Cell(Cell),
    /// A local of a thread.
    Local {
        /// Which thread.
        thread: u32,
        /// Which of its locals.
        local: LocalId,
    },
    /// The value of a buffered store under TSO.
    Slot {
        /// Whose buffer.
        thread: u32,
        /// Its position, 0 being the oldest.
        position: u32,
    },
    /// The value of a buffered store under PSO.
    CellSlot {
        /// Whose buffer.
        thread: u32,
        /// The cell to which it goes.
        cell: Cell,
        /// Its position among the thread's buffered stores to that cell, 0 being
        /// the oldest.
        position: u32,
    },
    /// Abstract buffers: the value of the last of the stores to a cell that are not
    /// known exactly.
    Last {
        /// Whose buffer.
        thread: u32,
        /// The cell to which they go.
        cell: Cell,
    },
    /// RMA: what the network has read for a pending operation.
    Carried {
        /// Whose operation.
        thread: u32,
        /// The operation's number among those of its template.
        operation: u32,
        /// The slot of the instance.
        slot: u32,
    },
    /// RMA: any of the values that instances of an operation beyond those in slots may
    /// write; what a certificate says of it is said of all of them.
    Element {
        /// Whose operation.
        thread: u32,
        /// The operation's number among those of its template.
        operation: u32,
    },
    /// Abstract buffers with rising values: none of these stores is below it.
    Low {
        /// Whose buffer.
        thread: u32,
        /// The cell to which they go.
        cell: Cell,
    },
    /// Views: the number of a copy, `self`, where there is any number of copies.
    Number {
        /// Which thread.
        thread: u32,
    },
}

/// Threads that a certificate can speak of.
pub const MAX_THREADS: u32 = 1 << (KIND - THREAD);

const KIND: u32 = 29;
const THREAD: u32 = 21;
const POSITION: u32 = 6;
/// In the place of a slot: the elements of a set.
const ELEMENT: u32 = (1 << POSITION) - 1;
/// What a thread's number has in place of a local's.
const NUMBER: u32 = (1 << THREAD) - 1;

impl StateVar {
    /// Its number in formulas; `None` when the program is too large for it.
    pub const fn var(self) -> Option<Var> {
        match self {
            Self::Cell(cell) => pack(0, 0, cell.0, THREAD),
            Self::Local { local, .. } if local.0 == NUMBER => None,
            Self::Local { thread, local } => pack(1, thread, local.0, THREAD),
            Self::Slot { thread, position } => pack(2, thread, position, THREAD),
            Self::CellSlot {
                thread,
                cell,
                position,
            } => {
                if position >> POSITION != 0 || cell.0 >> (THREAD - POSITION) != 0 {
                    return None;
                }
                pack(3, thread, cell.0 << POSITION | position, THREAD)
            }
            Self::Carried {
                thread,
                operation,
                slot,
            } => {
                if slot >= ELEMENT || operation >> (THREAD - POSITION) != 0 {
                    return None;
                }
                pack(7, thread, operation << POSITION | slot, THREAD)
            }
            Self::Element { thread, operation } => {
                if operation >> (THREAD - POSITION) != 0 {
                    return None;
                }
                pack(7, thread, operation << POSITION | ELEMENT, THREAD)
            }
            Self::Last { thread, cell } => pack(5, thread, cell.0, THREAD),
            Self::Low { thread, cell } => pack(6, thread, cell.0, THREAD),
            Self::Number { thread } => pack(1, thread, NUMBER, THREAD),
        }
    }

    /// The state variable of a number; `None` for numbers that are none.
    pub const fn of(var: Var) -> Option<Self> {
        let thread = var.0 >> THREAD & ((1 << (KIND - THREAD)) - 1);
        let rest = var.0 & ((1 << THREAD) - 1);
        match var.0 >> KIND {
            0 if thread == 0 => Some(Self::Cell(Cell(rest))),
            1 if rest == NUMBER => Some(Self::Number { thread }),
            1 => Some(Self::Local {
                thread,
                local: LocalId(rest),
            }),
            2 => Some(Self::Slot {
                thread,
                position: rest,
            }),
            3 => Some(Self::CellSlot {
                thread,
                cell: Cell(rest >> POSITION),
                position: rest & ((1 << POSITION) - 1),
            }),
            5 => Some(Self::Last {
                thread,
                cell: Cell(rest),
            }),
            6 => Some(Self::Low {
                thread,
                cell: Cell(rest),
            }),
            7 if rest & ELEMENT == ELEMENT => Some(Self::Element {
                thread,
                operation: rest >> POSITION,
            }),
            7 => Some(Self::Carried {
                thread,
                operation: rest >> POSITION,
                slot: rest & ((1 << POSITION) - 1),
            }),
            _ => None,
        }
    }

    /// The value of a pending operation.
    pub const fn carried(thread: u32, pending: Pending) -> Self {
        Self::Carried {
            thread,
            operation: pending.operation,
            slot: pending.slot,
        }
    }

    /// The thread that a local or slot belongs to.
    pub const fn thread(self) -> Option<u32> {
        match self {
            Self::Cell(_) => None,
            Self::Local { thread, .. } | Self::Slot { thread, .. } => Some(thread),
            Self::CellSlot { thread, .. } | Self::Carried { thread, .. } => Some(thread),
            Self::Element { thread, .. } => Some(thread),
            Self::Last { thread, .. } | Self::Low { thread, .. } => Some(thread),
            Self::Number { thread } => Some(thread),
        }
    }

    /// The same variable of another thread; cells are nobody's and stay.
    #[must_use]
    pub const fn of_thread(self, thread: u32) -> Self {
        match self {
            Self::Cell(cell) => Self::Cell(cell),
            Self::Local { local, .. } => Self::Local { thread, local },
            Self::Slot { position, .. } => Self::Slot { thread, position },
            Self::CellSlot { cell, position, .. } => Self::CellSlot {
                thread,
                cell,
                position,
            },
            Self::Carried {
                operation, slot, ..
            } => Self::Carried {
                thread,
                operation,
                slot,
            },
            Self::Element { operation, .. } => Self::Element { thread, operation },
            Self::Last { cell, .. } => Self::Last { thread, cell },
            Self::Low { cell, .. } => Self::Low { thread, cell },
            Self::Number { .. } => Self::Number { thread },
        }
    }
}

const fn pack(kind: u32, thread: u32, rest: u32, width: u32) -> Option<Var> {
    if thread >> (KIND - THREAD) != 0 || rest >> width != 0 {
        return None;
    }
    Some(Var(kind << KIND | thread << THREAD | rest))
}

/// The `number`th variable that is no state variable: an unknown input of one
/// step, such as the value a `havoc` picks.
pub(crate) fn fresh(number: u32) -> Term {
    Term::var(fresh_var(number))
}

/// The variable of [`fresh`].
pub(crate) const fn fresh_var(number: u32) -> Var {
    Var(4 << KIND | number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_one_to_one() {
        let mut seen = std::collections::BTreeSet::new();
        let mut all = Vec::new();
        for n in [0, 1, 63, 255] {
            all.push(StateVar::Cell(Cell(n)));
            for thread in [0, 1, 255] {
                let local = LocalId(n);
                all.push(StateVar::Local { thread, local });
                if n == 0 {
                    all.push(StateVar::Number { thread });
                }
                let position = n;
                all.push(StateVar::Slot { thread, position });
                let cell = Cell(n);
                all.push(StateVar::Last { thread, cell });
                all.push(StateVar::Low { thread, cell });
                let operation = n;
                all.push(StateVar::Element { thread, operation });
                for position in [0, 62] {
                    let cell = Cell(n);
                    all.push(StateVar::CellSlot {
                        thread,
                        cell,
                        position,
                    });
                    let (operation, slot) = (n, position);
                    all.push(StateVar::Carried {
                        thread,
                        operation,
                        slot,
                    });
                }
            }
        }
        for state_var in all {
            let var = state_var.var().expect("small enough");
            assert_eq!(StateVar::of(var), Some(state_var));
            assert!(seen.insert(var));
        }
    }

    #[test]
    fn what_does_not_fit_has_no_number() {
        let local = LocalId(0);
        assert_eq!(StateVar::Local { thread: 256, local }.var(), None);
        let slot = |cell, position| StateVar::CellSlot {
            thread: 0,
            cell: Cell(cell),
            position,
        };
        assert_eq!(slot(0, 64).var(), None);
        assert_eq!(slot(1 << 15, 0).var(), None);
        assert_eq!(StateVar::Cell(Cell(1 << 21)).var(), None);
    }
}
