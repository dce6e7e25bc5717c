//! Counters *far behind*, in prompt runs. Values of a group ([`palisade_program::shift`]) are numbers
//! relative to the newest value of its first cell, the *origin*; those from `-window` on are *near* and exact. Others are
//!
//! - *anchors*, if a local or an exact message has them: known by their order and their remainder.
//!   The first below the window is [`anchor`] 0, the next [`anchor`] 1, and so on; an old message of such a
//!   value keeps it;
//! - *unknown* ([`unknown`]): any other number below the window of which no more is known than its
//!   remainder.
//!
//! What is used:
//!
//! - The origin never falls (else the check ends). So what was once below the window is below every
//!   near value for ever.
//! - An unknown value differs from every anchor. When it became unknown it was no anchor, and an anchor that
//!   comes later was near at that time, and so greater; for values below the window are copied, never
//!   computed (else the check ends).
//! - Anchors keep their order, since one that comes later is greater than those that are there.
//!
//! So a value far behind may be copied, taken modulo a divisor of the modulus, and compared: with a near value it is
//! less; with an anchor by order, or not equal to it. Whatever needs more has no value here, and the
//! check ends unless `&&`, `||` or a condition does without it.

use palisade_program::shift::Group;
use palisade_program::{
    BinOp, Cfg, Expr, GlobalId, LocalAtom, LocalExpr, LocalId, Span, Step, UnOp,
};

use super::memory::Memory;
use super::view::{Fact, Past, Spot};
use super::{Judge, State, Trouble, unsupported};
use crate::expression::term_of;

/// The distance of anchors: more than any near value, and a multiple of the modulus.
const fn distance(group: &Group) -> i64 {
    group.modulus << 34
}

/// Below every anchor.
const UNKNOWN: i64 = -(1 << 60);

/// The anchor with this number.
const fn anchor(group: &Group, number: usize, remainder: i64) -> i64 {
    -(number as i64 + 1) * distance(group) + remainder
}

/// Any number below the window with this remainder, but for anchors.
const fn unknown(group: &Group, remainder: i64) -> i64 {
    UNKNOWN - UNKNOWN % group.modulus + remainder
}

/// Whether a value of a group is unknown.
pub(super) const fn is_far(value: i64) -> bool {
    value < UNKNOWN / 2
}

/// How a value far behind compares; `None` if that is not known.
fn compared(op: BinOp, order: Option<std::cmp::Ordering>, differ: bool) -> Option<i64> {
    let truth = match (op, order) {
        (BinOp::Eq, Some(order)) => order.is_eq(),
        (BinOp::Ne, Some(order)) => order.is_ne(),
        (BinOp::Lt, Some(order)) => order.is_lt(),
        (BinOp::Le, Some(order)) => order.is_le(),
        (BinOp::Gt, Some(order)) => order.is_gt(),
        (BinOp::Ge, Some(order)) => order.is_ge(),
        (BinOp::Eq, None) if differ => false,
        (BinOp::Ne, None) if differ => true,
        (
            BinOp::Eq
            | BinOp::Ne
            | BinOp::Lt
            | BinOp::Le
            | BinOp::Gt
            | BinOp::Ge
            | BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Div
            | BinOp::Mod
            | BinOp::And
            | BinOp::Or
            | BinOp::BitAnd
            | BinOp::BitOr
            | BinOp::BitXor
            | BinOp::Shl
            | BinOp::Shr,
            _,
        ) => return None,
    };
    Some(i64::from(truth))
}

/// An expression in a state, perhaps inside an atomic block.
#[derive(Clone, Copy)]
pub(super) struct Scene<'s> {
    pub(super) state: &'s State,
    pub(super) thread: usize,
    pub(super) block: Option<&'s Cfg>,
    pub(super) span: Span,
}

impl Judge<'_> {
    /// The group of a local here. In a block a local keeps its group until something is written to
    /// it; what a load writes has the group of the cell.
    fn group_here(&self, scene: &Scene<'_>, local: LocalId) -> Option<&Group> {
        let Scene { state, thread, .. } = *scene;
        let written = scene.block.into_iter().flat_map(|body| &body.edges);
        let mut written = written.filter(|e| e.step.written_local() == Some(local));
        let template = self.instances[thread].template;
        let Some(first) = written.next() else {
            let here = (template, state.at[thread], local);
            return self.groups.0.iter().find(|g| g.locals.contains(&here));
        };
        let group_of = |step: &Step| match step {
            Step::Load { src, .. } => self.group_of(src.var),
            Step::Skip | Step::Fence(_) | Step::Assume(_) | Step::Assert { .. } => None,
            Step::Assign { .. } | Step::Havoc { .. } | Step::Store { .. } => None,
            Step::Atomic(_) | Step::Put { .. } | Step::Get { .. } => None,
            Step::RemoteAtomic(_) | Step::Flush(_) => None,
        };
        // Read before it is written it would be something else.
        let is_new = !self.live[thread].is_live(state.at[thread], local);
        (is_new && written.next().is_none()).then(|| group_of(&first.step))?
    }

    /// The group of a variable.
    pub(super) fn group_of(&self, var: GlobalId) -> Option<&Group> {
        self.groups.0.iter().find(|g| g.globals.contains(&var))
    }

    /// The value of an expression, if it is known.
    pub(super) fn far_value(&self, e: &LocalExpr, scene: &Scene<'_>) -> Result<i64, Trouble> {
        let value = self.perhaps(e, scene)?;
        value.ok_or_else(|| unsupported("a counter far behind that is computed with", scene.span))
    }

    /// The value of a local that is far behind, and its group.
    fn behind(&self, e: &LocalExpr, scene: &Scene<'_>) -> Option<(i64, Option<&Group>)> {
        let Expr::Atom(LocalAtom::Local(local)) = e else {
            return None;
        };
        let value = scene.state.locals[scene.thread][local.index()];
        match self.group_here(scene, *local) {
            Some(group) => (value < -group.window()).then_some((value, Some(group))),
            // It may be a counter all the same.
            None => (!self.groups.0.is_empty() && value < -(1 << 30)).then_some((value, None)),
        }
    }

    /// Whether some local of it is far behind.
    fn has_behind(&self, e: &LocalExpr, scene: &Scene<'_>) -> bool {
        e.any_atom(|atom| {
            let atom = Expr::Atom(*atom);
            self.behind(&atom, scene).is_some()
        })
    }

    fn perhaps(&self, e: &LocalExpr, scene: &Scene<'_>) -> Result<Option<i64>, Trouble> {
        if let Some((value, _)) = self.behind(e, scene) {
            return Ok(Some(value));
        }
        if !self.has_behind(e, scene) {
            return self
                .plain_value(scene.state, scene.thread, e, scene.span)
                .map(Some);
        }
        Ok(match e {
            Expr::Const(_) | Expr::Atom(_) => None,
            Expr::Unary(UnOp::Not, a) => {
                let value = self.truth_of(a, scene)?;
                value.map(|value| i64::from(value == 0))
            }
            Expr::Unary(UnOp::Neg | UnOp::BitNot | UnOp::Wrap { .. }, _) => None,
            Expr::Binary(BinOp::And, a, b) => {
                match (self.truth_of(a, scene)?, self.truth_of(b, scene)?) {
                    (Some(0), _) | (_, Some(0)) => Some(0),
                    (Some(_), Some(_)) => Some(1),
                    (None, _) | (_, None) => None,
                }
            }
            Expr::Binary(BinOp::Or, a, b) => {
                match (self.truth_of(a, scene)?, self.truth_of(b, scene)?) {
                    (Some(0), Some(0)) => Some(0),
                    (Some(1..), _) | (_, Some(1..)) => Some(1),
                    (Some(_) | None, _) => None,
                }
            }
            Expr::Binary(BinOp::Mod, a, b) => match (self.behind(a, scene), &**b) {
                (Some((value, Some(group))), Expr::Const(k))
                    if *k > 0 && group.modulus % k == 0 =>
                {
                    Some(value.rem_euclid(*k))
                }
                (_, Expr::Const(_) | Expr::Atom(_) | Expr::Unary(..)) => None,
                (_, Expr::Binary(..) | Expr::Cond(..)) => None,
            },
            Expr::Binary(
                op @ (BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge),
                a,
                b,
            ) => self.comparison(*op, (a, b), scene)?,
            Expr::Binary(
                BinOp::Add
                | BinOp::Sub
                | BinOp::Mul
                | BinOp::Div
                | BinOp::BitAnd
                | BinOp::BitOr
                | BinOp::BitXor
                | BinOp::Shl
                | BinOp::Shr,
                ..,
            ) => None,
            Expr::Cond(c, a, b) => match self.truth_of(c, scene)? {
                None => None,
                Some(0) => self.perhaps(b, scene)?,
                Some(_) => self.perhaps(a, scene)?,
            },
        })
    }

    /// A value that is used as a truth: a counter is none.
    fn truth_of(&self, e: &LocalExpr, scene: &Scene<'_>) -> Result<Option<i64>, Trouble> {
        if self.behind(e, scene).is_some() {
            return Ok(None);
        }
        let value = self.perhaps(e, scene)?;
        Ok(value.map(|value| i64::from(value != 0)))
    }

    fn comparison(
        &self,
        op: BinOp,
        (a, b): (&LocalExpr, &LocalExpr),
        scene: &Scene<'_>,
    ) -> Result<Option<i64>, Trouble> {
        use std::cmp::Ordering::{Greater, Less};
        let near = |e: &LocalExpr, group: &Group| {
            if self.has_behind(e, scene) {
                return Ok(false);
            }
            let value = self.plain_value(scene.state, scene.thread, e, scene.span)?;
            Ok::<bool, Trouble>(value >= -group.window())
        };
        Ok(match (self.behind(a, scene), self.behind(b, scene)) {
            (Some((x, Some(_))), Some((y, Some(_)))) => match (is_far(x), is_far(y)) {
                (true, true) => None,
                (true, false) | (false, true) => compared(op, None, true),
                (false, false) => compared(op, Some(x.cmp(&y)), x != y),
            },
            (Some((_, Some(group))), None) if near(b, group)? => compared(op, Some(Less), true),
            (None, Some((_, Some(group)))) if near(a, group)? => compared(op, Some(Greater), true),
            (Some(_), _) | (_, Some(_)) => None,
            (None, None) => None,
        })
    }

    /// The value of an expression that is written to a variable of a group: below the window it is a copy.
    pub(super) fn far_written(
        &self,
        e: &LocalExpr,
        group: Option<&Group>,
        scene: &Scene<'_>,
    ) -> Result<i64, Trouble> {
        let value = self.far_value(e, scene)?;
        let copies = matches!(e, Expr::Atom(_));
        if !copies && group.is_some_and(|group| value < -group.window()) {
            return Err(unsupported("a counter that is set far behind", scene.span));
        }
        Ok(value)
    }

    /// The group of what an assignment writes, behind it. In a block that may be any.
    pub(super) fn target(
        &self,
        thread: usize,
        to: palisade_program::LocId,
        block: Option<&Cfg>,
        local: LocalId,
    ) -> Option<&Group> {
        if block.is_some() {
            return self.groups.0.iter().min_by_key(|group| group.window());
        }
        let template = self.instances[thread].template;
        let there = (template, to, local);
        self.groups.0.iter().find(|g| g.locals.contains(&there))
    }

    /// The value of an expression without regard to counters.
    pub(super) fn plain_value(
        &self,
        state: &State,
        thread: usize,
        e: &LocalExpr,
        span: Span,
    ) -> Result<i64, Trouble> {
        let copy = i64::from(self.instances[thread].copy);
        let known = term_of(e, span, &mut |atom| {
            Ok(palisade_logic::Term::constant(match atom {
                LocalAtom::Local(local) => state.locals[thread][local.index()],
                LocalAtom::SelfId => copy,
            }))
        })?;
        super::narrow(&known, span)
    }

    /// Moves each group of counters to its origin, and brings what is far behind into normal form.
    pub(super) fn shift_far(&self, state: &mut State) -> Result<(), Trouble> {
        for group in &self.groups.0 {
            let cells: Vec<usize> = group
                .globals
                .iter()
                .flat_map(|&var| {
                    let count = self.program.global(var).cell_count() as u32;
                    (0..count).map(move |i| self.program.cell(var, i).index())
                })
                .collect();
            let newest = state.memory.cells[cells[0]].last();
            let newest = newest.map_or(0, |message| message.value);
            let by = newest - newest.rem_euclid(group.modulus);
            if by < 0 {
                let what = "a counter that goes back";
                return Err(unsupported(what, Span::default()));
            }
            let locals = self.counters(state, group);
            let kept = cells
                .iter()
                .flat_map(|cell| state.memory.cells[*cell].iter());
            let kept = kept.map(|message| message.value);
            let own = locals.iter().map(|(t, local)| state.locals[*t][*local]);
            let mut anchors: Vec<i64> = kept
                .chain(own)
                .filter(|value| is_below(group, *value, by) && !is_far(*value))
                .collect();
            anchors.sort_unstable_by(|a, b| b.cmp(a));
            anchors.dedup();
            let place = |value: i64| {
                if is_far(value) {
                    return value;
                }
                if !is_below(group, value, by) {
                    return value - by;
                }
                // `by` is a multiple of the modulus, and so is the distance of anchors.
                let remainder = value.rem_euclid(group.modulus);
                match anchors.iter().position(|anchor| *anchor == value) {
                    Some(number) => anchor(group, number, remainder),
                    None => unknown(group, remainder),
                }
            };
            for cell in cells {
                state.memory.rename(cell, &place);
            }
            for (thread, local) in locals {
                let value = state.locals[thread][local];
                if place(value) != value {
                    state.locals[thread][local] = place(value);
                }
            }
        }
        Ok(())
    }

    /// The live locals of a group, by thread.
    fn counters(&self, state: &State, group: &Group) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for (thread, instance) in self.instances.iter().enumerate() {
            let at = state.at[thread];
            let own = group.locals.iter();
            let own = own.filter(|(t, loc, _)| (*t, *loc) == (instance.template, at));
            let live = own.filter(|(.., local)| self.live[thread].is_live(at, *local));
            all.extend(live.map(|(.., local)| (thread, local.index())));
        }
        all
    }
}

/// Whether a value is below the window when `by` is taken from what is near. Anchors and unknown values have been before.
const fn is_below(group: &Group, value: i64, by: i64) -> bool {
    value < -(distance(group) / 2) || value - by < -group.window()
}

impl Memory {
    /// Gives every value of a cell another name; old messages of one name are not told apart.
    fn rename(&mut self, cell: usize, name: &dyn Fn(i64) -> i64) {
        if self.cells[cell].iter().any(|m| name(m.value) != m.value) {
            for message in self.cells[cell].iter_mut() {
                message.value = name(message.value);
            }
        }
        let changes = |spot: &Spot| match spot {
            Spot::Old(past) => past.keys().any(|value| name(*value) != *value),
            Spot::Nowhere | Spot::Kept(_) => false,
        };
        self.spots(cell, &changes, &mut |spot| {
            if let Spot::Old(past) = spot {
                let mut renamed = Past::new();
                for (value, fact) in &**past {
                    Fact::add(&mut renamed, name(*value), fact.free, fact.carries.as_ref());
                }
                *past = renamed.into();
            }
        });
    }
}
