//! The *abstract part* of a store buffer ([Abdulla et al., SAS 2012, section 4] and appendix A):
//! what is buffered beyond the `k` exact cells. Of the stores in it is known which
//! memory cells they go to, and for each of these the value of the last one; not
//! how many there are, nor their order between different cells. `tso.rs` and
//! `pso.rs` say when a store joins it and when it may drain.
//!
//! | [Abdulla et al., SAS 2012] | here |
//! |---|---|
//! | S(p), the set of variables | `more_x`: 0 or 1 for each cell `x` (control) |
//! | R(lw), the last value written | `last_x`; 0 while `more_x = 0` |
//! | WRITE-G | *join*: `more_x = 1; last_x = e` |
//! | UPDATE-AM, one of several stores to `x` leaves | `assume more_x = 1`; `x` gets a value that may be among them |
//! | UPDATE-AS, the only store to `x` leaves | `assume more_x = 1; x = last_x; more_x = 0` |
//!
//! *Departure.* In the paper UPDATE-AM writes any integer. Then not even
//! `while (1) { x = 1; }` can be shown to keep `x <= 1`. Here the values are held
//! to a [`SummaryInvariant`] about what a thread stores to a cell. A claim is checked where a
//! store joins, by an assertion ([`AssertKind::Summary`]) that is no property of the program:
//! where it can fail, the claim is dropped. So it may be a guess.
//!
//! | claim | checked when `e` joins | UPDATE-AM writes |
//! |---|---|---|
//! | any | nothing | any integer, as in the paper |
//! | among `V` | `e` is in `V` | some value of `V` |
//! | rising | `e >= last_x` if `more_x = 1`; else `low_x = e` | some `v` with `low_x <= v <= last_x`; then `low_x = v` |
//!
//! *Why it has all runs of the model.* Say that a state of the reduced program
//! stands for a state of the model when they agree but for the abstract part, and
//! the buffered stores that are not in exact cells are, for each `x`: none if
//! `more_x = 0`; else at least one, the last of value `last_x`, all satisfying the
//! claim (rising: in ascending order and none below `low_x`). A join keeps this: the
//! joined store is newer than all others of the abstract part, so its value is the
//! last. When the model moves the oldest store of the abstract part, say to `x`, to
//! memory, either another store to `x` stays (UPDATE-AM can write its value, and
//! what stays is as claimed), or none does (its value is `last_x`: UPDATE-AS).

use std::collections::BTreeMap;
use std::fmt;

use palisade_program::cfg::{AssertKind, Step, local};
use palisade_program::{BinOp, Cell, Expr, LocalExpr, LocalId, Program};

use crate::blocks::{assign, equals, place_of, range, set};
use crate::reduced::{Part, TemplateBuilder};

/// Which stores are kept exactly ([Abdulla et al., SAS 2012, section 9]: the authors keep the newest).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Keep {
    /// The newest: a store into full cells pushes the oldest of them into the
    /// abstract part, which drains before any cell.
    #[default]
    Newest,
    /// The oldest, as in the paper's rules: a store joins the abstract part when
    /// the cells are full or the part is in use; it drains when the cells are empty.
    Oldest,
}

/// What is claimed of the values that a thread stores to a cell.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum SummaryInvariant {
    /// Nothing.
    #[default]
    Any,
    /// They are among these.
    Among(Vec<i64>),
    /// None is smaller than one before it.
    Rising,
}

/// A store buffer: the template's number, and under PSO its memory cell.
pub type BufferOf = (usize, Option<Cell>);

/// The `k` of each buffer: how many of its stores are known exactly.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ExactCells {
    /// That many
    pub default: u32,
    /// except for these buffers.
    pub named: BTreeMap<BufferOf, u32>,
}

impl ExactCells {
    /// The same for all buffers.
    pub const fn uniform(default: u32) -> Self {
        Self {
            default,
            named: BTreeMap::new(),
        }
    }

    /// The cells of one buffer.
    pub fn of(&self, buffer: BufferOf) -> u32 {
        self.named.get(&buffer).copied().unwrap_or(self.default)
    }

    /// The cells of the largest buffer.
    pub fn most(&self) -> u32 {
        let named = self.named.values().copied();
        named.fold(self.default, u32::max)
    }

    /// The same with other cells for one buffer.
    #[must_use]
    pub fn with(&self, buffer: BufferOf, cells: u32) -> Self {
        let mut sizes = self.clone();
        if cells == self.default {
            sizes.named.remove(&buffer);
        } else {
            sizes.named.insert(buffer, cells);
        }
        sizes
    }
}

impl fmt::Display for ExactCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.default)?;
        for ((template, cell), cells) in &self.named {
            write!(f, ",{template}")?;
            if let Some(cell) = cell {
                write!(f, ".{}", cell.0)?;
            }
            write!(f, "={cells}")?;
        }
        Ok(())
    }
}

/// Abstract buffers: their exact cells, and claims by template and cell.
pub struct Abstract<'a> {
    /// Exact cells of each buffer. With none, all stores are in the abstract part, whichever
    /// are to be kept.
    pub cells: &'a ExactCells,
    /// Which stores they hold.
    pub keep: Keep,
    /// What is claimed of the stores of a template (by its number) to a cell.
    pub claims: &'a dyn Fn(usize, Cell) -> SummaryInvariant,
}

/// The abstract part of one thread's buffers.
pub(crate) struct Summary {
    pub(crate) keep: Keep,
    sets: Vec<Set>,
    /// Holds the value that UPDATE-AM picks; 0 between steps.
    picked: Option<LocalId>,
}

/// What is known of the stores to one cell.
struct Set {
    cell: Cell,
    more: LocalId,
    last: LocalId,
    rule: Rule,
}

/// A claim with the variables it needs.
enum Rule {
    Any,
    Among(Vec<i64>),
    Rising { low: LocalId },
}

impl Summary {
    /// Adds the variables for the stores to `cells` of template number `template`.
    pub(crate) fn new(
        builder: &mut TemplateBuilder,
        program: &Program,
        cells: &[Cell],
        template: usize,
        wanted: &Abstract<'_>,
    ) -> Self {
        let mut sets = Vec::new();
        let mut picks = false;
        for &cell in cells {
            let plain = program.cell_name(cell).replace(['[', ']'], "_");
            let more = builder.local(format!("$more_{plain}"), Part::More(cell), range(1));
            let last = builder.local(format!("$last_{plain}"), Part::Last(cell), None);
            let claim = (wanted.claims)(template, cell);
            builder.claim(cell, claim.clone());
            let rule = match claim {
                SummaryInvariant::Any => Rule::Any,
                SummaryInvariant::Among(values) => Rule::Among(values),
                SummaryInvariant::Rising => Rule::Rising {
                    low: builder.local(format!("$low_{plain}"), Part::Low(cell), None),
                },
            };
            picks |= !matches!(rule, Rule::Among(_));
            sets.push(Set {
                cell,
                more,
                last,
                rule,
            });
        }
        let picked = picks.then(|| builder.local("$picked".into(), Part::Scratch, None));
        Self {
            keep: wanted.keep,
            sets,
            picked,
        }
    }

    /// No store is in the abstract part.
    pub(crate) fn empty(&self) -> LocalExpr {
        let none = self.sets.iter().map(|s| equals(s.more, 0));
        none.fold(Expr::TRUE, Expr::and)
    }

    fn set(&self, cell: Cell) -> Option<&Set> {
        self.sets.iter().find(|s| s.cell == cell)
    }

    /// A store to `cell` is in it, or none is.
    pub(crate) fn holds(&self, cell: Cell, held: bool) -> Option<Step> {
        let set = self.set(cell)?;
        Some(Step::Assume(equals(set.more, i64::from(held))))
    }

    /// The value of the last store to `cell`.
    pub(crate) fn last(&self, cell: Cell) -> Option<LocalExpr> {
        self.set(cell).map(|set| local(set.last))
    }

    /// The ways in which a store of `value` to `cell` joins: as the first to it, and
    /// as a further one.
    pub(crate) fn join(&self, cell: Cell, value: &LocalExpr) -> Vec<Vec<Step>> {
        let Some(set) = self.set(cell) else {
            return Vec::new();
        };
        [false, true].map(|held| set.join(held, value)).into()
    }

    /// The ways in which a store to `cell` reaches memory, from steps that say
    /// that the abstract part comes next.
    pub(crate) fn drain(&self, program: &Program, cell: Cell, next: &[Step]) -> Vec<Vec<Step>> {
        let Some(set) = self.set(cell) else {
            return Vec::new();
        };
        let start = |own: Vec<Step>| {
            let held = Step::Assume(equals(set.more, 1));
            next.iter().cloned().chain([held]).chain(own).collect()
        };
        let mut all = vec![start(set.only(program))];
        all.extend(set.some(program, self.picked).into_iter().map(start));
        all
    }
}

impl Set {
    fn join(&self, held: bool, value: &LocalExpr) -> Vec<Step> {
        let mut steps = vec![Step::Assume(equals(self.more, i64::from(held)))];
        let kept = match &self.rule {
            Rule::Any => None,
            Rule::Among(values) => {
                let is = |v: &i64| Expr::binary(BinOp::Eq, value.clone(), Expr::Const(*v));
                Some(values.iter().map(is).fold(Expr::FALSE, Expr::or))
            }
            Rule::Rising { .. } => {
                held.then(|| Expr::binary(BinOp::Ge, value.clone(), local(self.last)))
            }
        };
        steps.extend(kept.map(|cond| Step::Assert {
            cond,
            kind: AssertKind::Summary(self.cell),
        }));
        steps.push(assign(self.last, value.clone()));
        if !held {
            steps.push(set(self.more, 1));
            if let Rule::Rising { low } = self.rule {
                steps.push(assign(low, value.clone()));
            }
        }
        steps
    }

    fn write(&self, program: &Program, value: LocalExpr) -> Step {
        Step::Store {
            dst: place_of(program, self.cell),
            value,
        }
    }

    /// UPDATE-AS.
    fn only(&self, program: &Program) -> Vec<Step> {
        let mut steps = vec![
            self.write(program, local(self.last)),
            set(self.more, 0),
            set(self.last, 0),
        ];
        if let Rule::Rising { low } = self.rule {
            steps.push(set(low, 0));
        }
        steps
    }

    /// `low <= value <= last`.
    fn between(&self, low: LocalId, value: LocalId) -> LocalExpr {
        let above = Expr::binary(BinOp::Le, local(low), local(value));
        above.and(Expr::binary(BinOp::Le, local(value), local(self.last)))
    }

    /// UPDATE-AM.
    fn some(&self, program: &Program, picked: Option<LocalId>) -> Vec<Vec<Step>> {
        match (&self.rule, picked) {
            (Rule::Among(values), _) => values
                .iter()
                .map(|v| vec![self.write(program, Expr::Const(*v))])
                .collect(),
            (Rule::Any | Rule::Rising { .. }, None) => Vec::new(),
            (Rule::Any, Some(p)) => vec![vec![pick(p), self.write(program, local(p)), set(p, 0)]],
            (Rule::Rising { low }, Some(p)) => vec![vec![
                pick(p),
                Step::Assume(self.between(*low, p)),
                self.write(program, local(p)),
                assign(*low, local(p)),
                set(p, 0),
            ]],
        }
    }
}

fn pick(dst: LocalId) -> Step {
    Step::Havoc { dst, domain: None }
}
