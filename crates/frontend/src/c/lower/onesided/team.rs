//! *Teams* of OpenSHMEM, and reductions: sets of PEs, with barriers and reductions of their own. A handle is a number of
//! the header, or of a team that was made; teams are made of the team of all PEs.
//!
//! A reduction reads its source and writes its destination from its call to its return. Each PE's
//! contribution is there when it is called, and the result when all have called it.

use palisade_program::{
    AtomicKind, BinOp, Expr as Ir, GlobalId, LocalAtom, LocalExpr, Place as Memory, Span, Step,
};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::value::Val;
use super::network::Combine;
use super::shadow::{Class, Issue, Part};
use super::transfer::Elements;
use crate::c::ast::Expr;

const WORLD: i128 = 0;
const SHARED: i128 = 1;
const INVALID: i64 = -1;
/// Handles of made teams start here.
const FIRST_MADE: i64 = 2;
/// Elements of a reduction at most.
const MAX_REDUCED: usize = 8;

/// Ranks or PEs that call something together.
pub(super) struct Group {
    /// `None` for all of them.
    pub(super) name: Option<String>,
    pub(super) members: Vec<u32>,
}

impl Group {
    /// The group of a team, given as a set.
    pub(super) fn of_team(team: u64, all: u32) -> Self {
        let is_all = team == u64::MAX >> (64 - all);
        Self {
            name: (!is_all).then(|| format!("team{team}")),
            members: (0..all).filter(|pe| (team >> pe) & 1 == 1).collect(),
        }
    }

    fn word(&self, what: &str) -> String {
        let name = self.name.as_deref().unwrap_or("all");
        format!("{name}.{what}")
    }
}

impl Code<'_, '_> {
    /// The PEs of a team.
    pub(super) fn team(&mut self, e: &Expr, span: Span) -> Lower<u64> {
        let handle = self.value(e)?.as_constant();
        let all = (1_u64 << self.ranks()) - 1;
        let made = handle.and_then(|h| usize::try_from(h - i128::from(FIRST_MADE)).ok());
        let made = made.and_then(|k| self.cx.one_sided().teams.get(k).copied());
        match (handle, made) {
            (_, Some(made)) => Ok(made),
            (Some(WORLD | SHARED), None) => Ok(all),
            _ => unsupported(
                span,
                "a team that is not known here",
                "keep each team in a local variable of its own",
            ),
        }
    }

    pub(super) fn split_strided(
        &mut self,
        [parent, start, stride, size, to]: [&Expr; 5],
        span: Span,
    ) -> Lower<()> {
        let all = (1_u64 << self.ranks()) - 1;
        if self.team(parent, span)? != all {
            return unsupported(span, "a team of a team", "split SHMEM_TEAM_WORLD");
        }
        let mut number = |e: &Expr| {
            let value = self.value(e)?.as_constant();
            match value
                .and_then(|v| u32::try_from(v).ok())
                .filter(|v| *v <= 64)
            {
                Some(value) => Ok(value),
                None => unsupported(span, "a team of unknown size", "give constants"),
            }
        };
        let (start, stride, size) = (number(start)?, number(stride)?, number(size)?);
        let mut team = 0;
        for k in 0..size {
            let pe = start + k * stride;
            if pe >= self.ranks() {
                return unsupported(span, "a team with a PE that there is not", "run more PEs");
            }
            team |= 1_u64 << pe;
        }
        let teams = &mut self.cx.one_sided().teams;
        let known = teams.iter().position(|t| *t == team);
        let number = known.unwrap_or_else(|| {
            teams.push(team);
            teams.len() - 1
        });
        let is_in = (team >> self.me()) & 1 == 1;
        let handle = if is_in {
            FIRST_MADE + number as i64
        } else {
            INVALID
        };
        self.set_handle(to, handle, span)
    }

    /// A barrier of a group: it completes no operation.
    pub(super) fn group_sync(&mut self, group: &Group, span: Span) -> Lower<()> {
        if group.name.is_none() {
            return self.mpi_barrier(span);
        }
        self.group_sync_in("barrier", group, span)
    }

    /// A barrier of a group in another call.
    pub(super) fn group_sync_in(&mut self, call: &str, group: &Group, span: Span) -> Lower<()> {
        if group.members.len() == 1 {
            return Ok(());
        }
        let mut word = |what: &str| {
            let name = group.word(&format!("{call}.{what}"));
            self.cx.common(name, None, span)
        };
        let (arrived, sense) = (word("arrived"), word("sense"));
        let size = group.members.len() as u32;
        self.collectively(span, |code| code.barrier_of((arrived, sense), size, span))
    }

    /// What a member of a group gives to a reduction, and which of its two places is next.
    fn contribution(&mut self, group: &Group, member: u32, span: Span) -> (GlobalId, GlobalId) {
        let name = |what: &str| group.word(&format!("{what}.{member}"));
        let len = Some(2 * MAX_REDUCED as u32);
        let values = self.cx.common(name("values"), len, span);
        (values, self.cx.common(name("turn"), None, span))
    }

    pub(super) fn reduce(
        &mut self,
        group: &Group,
        (to, from): (&Val, &Val),
        (base, elements): &Elements,
        (combine, name): (Combine, &str),
        span: Span,
    ) -> Lower<()> {
        if elements.len() > MAX_REDUCED {
            return unsupported(
                span,
                "a reduction of so many elements",
                "8 at most are followed",
            );
        }
        let me = self.me();
        let words = format!("{} `{name}`", self.whose());
        let number = self.request_number(me, span);
        let issue = Issue {
            site: self.cx.one_sided().site(words.clone(), span),
            channel: 0,
            to: me,
            request: Some(number),
            fetches: false,
            covers: false,
        };
        let part = Part::RequestOrigin(number);
        // A PE may be one reduction ahead of others, which still read the one before: two
        // places for each contribution, in turn.
        let (values, turn) = self.contribution(group, me, span);
        let turn = Memory::scalar(turn);
        let this = self.hidden(span);
        let at = |var: GlobalId, k: usize| {
            let this = Ir::Atom(LocalAtom::Local(this));
            let start = LocalExpr::binary(BinOp::Mul, this, Ir::Const(MAX_REDUCED as i64));
            let index = LocalExpr::binary(BinOp::Add, start, Ir::Const(k as i64));
            Memory {
                var,
                index: Some(index),
                order: palisade_program::Order::Plain,
            }
        };
        self.atomically(AtomicKind::Block, span, |code| {
            let (dst, src) = (this, turn.clone());
            code.emit(Step::Load { dst, src }, span);
            let other = Ir::Atom(LocalAtom::Local(this));
            let other = LocalExpr::binary(BinOp::Sub, Ir::Const(1), other);
            code.store_to(&turn, other, span);
            for (k, byte) in elements.iter().enumerate() {
                let places = code.buffer_cells(from, *byte, *base, span)?;
                // In place, the write is the access.
                let is_apart = from.e != to.e;
                code.each_case(&places, span, &mut |code, place| {
                    if is_apart {
                        code.check_blocking(place, Class::Read, &words, span)?;
                        code.mark_access(place, (part, Class::Read), &issue, span)?;
                    }
                    let value = code.load_from(place, span);
                    code.store_to(&at(values, k), value, span);
                    Ok(())
                })?;
                let places = code.buffer_cells(to, *byte, *base, span)?;
                code.each_case(&places, span, &mut |code, place| {
                    code.check_blocking(place, Class::Write, &words, span)?;
                    code.mark_access(place, (part, Class::Write), &issue, span)
                })?;
            }
            Ok(())
        })?;
        self.group_sync_in(&format!("{name}.{}", combine as i64), group, span)?;
        self.atomically(AtomicKind::Block, span, |code| {
            for (k, byte) in elements.iter().enumerate() {
                let mut sum: Option<LocalExpr> = None;
                for pe in &group.members {
                    let (values, _) = code.contribution(group, *pe, span);
                    let value = code.load_from(&at(values, k), span);
                    sum = Some(match sum {
                        Some(before) => combine.apply(&before, &[value]),
                        None => value,
                    });
                }
                let places = code.buffer_cells(to, *byte, *base, span)?;
                let sum = sum.unwrap_or(Ir::Const(0));
                code.each_case(&places, span, &mut |code, place| {
                    code.store_to(place, sum.clone(), span);
                    Ok(())
                })?;
            }
            code.complete_accesses(&|a| a.part == part, span)
        })
    }
}
