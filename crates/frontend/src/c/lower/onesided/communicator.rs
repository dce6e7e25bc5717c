//! *Communicators* of MPI: which ranks are in one, and in which order. Messages and collective calls of one never meet
//! those of another [MPI 4.0, section 7.2]. A handle is a number of the header, or of a communicator that
//! the program has made.
//!
//! `MPI_Comm_dup` and `MPI_Comm_split` are collective: the n-th one that a rank calls on a communicator is the n-th
//! one of the others there. A copy is a split with one colour. The colours and keys of the other ranks are those of
//! the pass before. A split waits for all, since its result depends on them; a copy need not wait.

use palisade_program::{BinOp, Expr as Ir, LocalExpr, Span};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::mpi::NOBODY;
use super::rounds::Call;
use super::team::Group;
use crate::c::ast::Expr;

const NULL: i64 = 0;
pub(super) const WORLD: i64 = 1;
const SELF: i64 = 2;
/// Handles of made communicators start here.
const FIRST_MADE: i64 = 3;
/// The colour of those that are in no part.
pub(super) const UNDEFINED: i128 = -32_766;

/// A communicator that a rank is in.
#[derive(Clone, Debug)]
pub(super) struct Communicator {
    pub(super) handle: i64,
    /// The ranks of the program that are in it, by their ranks in it.
    pub(super) members: Vec<u32>,
}

/// A call that makes communicators: of which one, and the how many-th there.
pub(super) type Making = (i64, usize);

impl Communicator {
    /// The rank that one of the program's has here.
    pub(super) fn rank_of(&self, member: u32) -> Option<usize> {
        self.members.iter().position(|m| *m == member)
    }

    pub(super) fn group(&self) -> Group {
        Group {
            name: (self.handle != WORLD).then(|| format!("comm{}", self.handle)),
            members: self.members.clone(),
        }
    }
}

impl Code<'_, '_> {
    /// The communicator with a handle, if this rank is in it.
    pub(super) fn communicator(&mut self, handle: i64) -> Option<Communicator> {
        let me = self.me();
        let members = match handle {
            WORLD => (0..self.ranks()).collect(),
            SELF => vec![me],
            _ => {
                let made = usize::try_from(handle - FIRST_MADE).ok()?;
                let (making, color) = *self.cx.one_sided().communicators.get(made)?;
                let parent = self.communicator(making.0)?;
                let splits = &self.cx.one_sided().tracked.splits;
                let given = |rank: &u32| splits.get(&(making, *rank)).copied();
                let mut members: Vec<(i64, u32)> = parent
                    .members
                    .iter()
                    .filter_map(|rank| Some((given(rank)?, *rank)))
                    .filter(|((c, _), _)| *c == color)
                    .map(|((_, key), rank)| (key, rank))
                    .collect();
                // Equal keys: as in the other communicator.
                members.sort_by_key(|(key, _)| *key);
                members.into_iter().map(|(_, rank)| rank).collect()
            }
        };
        let found = Communicator { handle, members };
        found.rank_of(me).is_some().then_some(found)
    }

    /// The handles of communicators of all ranks, in their order.
    pub(in super::super) fn whole_communicators(&mut self) -> Vec<i64> {
        if self.cx.onesided.is_none() {
            return vec![WORLD];
        }
        let all: Vec<u32> = (0..self.ranks()).collect();
        let known = self.communicators();
        let whole = known.into_iter().filter(|c| c.members == all);
        whole.map(|c| c.handle).collect()
    }

    /// All communicators that this rank may name with a variable.
    fn communicators(&mut self) -> Vec<Communicator> {
        let made = self.cx.one_sided().communicators.len() as i64;
        let handles = std::iter::once(WORLD).chain(FIRST_MADE..FIRST_MADE + made);
        handles.filter_map(|h| self.communicator(h)).collect()
    }

    /// Runs `f` once for each communicator that an argument may be.
    pub(super) fn each_communicator(
        &mut self,
        e: &Expr,
        span: Span,
        f: &mut dyn FnMut(&mut Self, &Communicator) -> Lower<()>,
    ) -> Lower<()> {
        let value = self.value(e)?;
        if let Some(handle) = value.as_constant() {
            let Some(known) = self.communicator(handle as i64) else {
                self.demand(Ir::FALSE, "a communicator that this rank is not in", span);
                self.block(span);
                return Ok(());
            };
            return f(self, &known);
        }
        let value = self.saved(value, span);
        let is = |handle: i64| LocalExpr::binary(BinOp::Eq, value.e.clone(), Ir::Const(handle));
        let all = self.communicators();
        let known = all
            .iter()
            .fold(Ir::FALSE, |e, c| LocalExpr::or(e, is(c.handle)));
        self.require(known, "a communicator that is not known here", span);
        let cases: Vec<_> = all.into_iter().map(|c| (is(c.handle), c)).collect();
        self.each_case(&cases, span, f)
    }

    /// The same where the communicator has to be known.
    pub(super) fn only_communicator(
        &mut self,
        e: &Expr,
        span: Span,
        f: &mut dyn FnMut(&mut Self, &Communicator) -> Lower<()>,
    ) -> Lower<()> {
        if self.peek(e).is_none() && self.communicators().len() > 1 {
            let help = "keep each communicator in a local variable";
            return unsupported(span, "a communicator that may be several", help);
        }
        self.each_communicator(e, span, f)
    }

    /// Runs `f` once for each rank of the program that a rank in a communicator may be, and without one for nobody.
    pub(super) fn each_named_or(
        &mut self,
        communicator: &Communicator,
        rank: &Expr,
        span: Span,
        f: &mut dyn FnMut(&mut Self, Option<u32>) -> Lower<()>,
    ) -> Lower<()> {
        let value = self.value(rank)?;
        let value = self.saved(value, span);
        self.each_rank_of(&value, &communicator.members, Some(NOBODY), span, f)
    }

    /// The same; where it is nobody, nothing happens.
    pub(super) fn each_named(
        &mut self,
        communicator: &Communicator,
        rank: &Expr,
        span: Span,
        f: &mut dyn FnMut(&mut Self, u32) -> Lower<()>,
    ) -> Lower<()> {
        self.each_named_or(communicator, rank, span, &mut |code, rank| match rank {
            Some(rank) => f(code, rank),
            None => Ok(()),
        })
    }

    /// `MPI_Comm_dup` without a colour, `MPI_Comm_split` with colour and key.
    pub(super) fn make_communicator(
        &mut self,
        of: &Expr,
        split: Option<[&Expr; 2]>,
        to: &Expr,
        span: Span,
    ) -> Lower<()> {
        if self.loop_depth > 0 || self.cx.has_threads() && self.thread > 0 {
            let help = "make it before, in the rank's first thread";
            return unsupported(span, "a communicator made in a loop or thread", help);
        }
        let of = self.value(of)?.as_constant();
        let Some(parent) = of.and_then(|h| self.communicator(h as i64)) else {
            let help = "keep it in a local variable";
            return unsupported(span, "a communicator that is not known here", help);
        };
        let (mut color, mut key) = (Some(0), Some(0));
        if let Some([c, k]) = split {
            color = self.fixed(c)?;
            key = self.fixed(k)?;
        }
        let (Some(color), Some(key)) = (color, key) else {
            let help = "compute them from the rank and from constants";
            return unsupported(span, "a colour or key that is not known here", help);
        };
        let me = self.me();
        let one_sided = self.cx.one_sided();
        let count = one_sided.makings.entry(parent.handle).or_insert(0);
        let making: Making = (parent.handle, *count);
        *count += 1;
        let given = (color as i64, key as i64);
        one_sided.tracked.splits.insert((making, me), given);
        let handle = if color == UNDEFINED {
            NULL
        } else {
            let made = (making, color as i64);
            let known = one_sided.communicators.iter().position(|c| *c == made);
            let number = known.unwrap_or_else(|| {
                one_sided.communicators.push(made);
                one_sided.communicators.len() - 1
            });
            FIRST_MADE + number as i64
        };
        let name = if split.is_some() {
            "MPI_Comm_split"
        } else {
            "MPI_Comm_dup"
        };
        self.enter_round(&parent, &Call::new(name), span)?;
        if split.is_some() {
            self.group_sync_in(name, &parent.group(), span)?;
        }
        self.set_handle(to, handle, span)
    }

    /// `MPI_Comm_rank` and `MPI_Comm_size`.
    pub(super) fn communicator_number(
        &mut self,
        of: &Expr,
        to: &Expr,
        is_size: bool,
        span: Span,
    ) -> Lower<()> {
        let place = self.target_of(to)?;
        let me = self.me();
        self.each_communicator(of, span, &mut |code, communicator| {
            let rank = communicator.rank_of(me).unwrap_or(0);
            let number = if is_size {
                communicator.members.len()
            } else {
                rank
            };
            code.store_number(&place, number as i64, span)
        })
    }
}
