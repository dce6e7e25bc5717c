//! *Collective calls that move elements*: every member of a communicator sends some of its elements to others, then
//! receives. Who has sent does not wait for those who receive, which orders least ([`rounds`](super::rounds) has what
//! is the same for all). Both sides count as many elements of one type.
//!
//! | call | sends | receives |
//! |---|---|---|
//! | gather | everybody its elements to the root | the root a slice from everybody |
//! | scatter | the root a slice to everybody | everybody its elements from the root |
//! | allgather | everybody its elements to all | everybody a slice from each |
//! | alltoall | everybody a slice to each | everybody a slice from each |
//! | reduce | everybody its elements to the root | the root from everybody, and combines them |

use palisade_program::{AtomicKind, Expr as Ir, LocalExpr, Span};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::value::Val;
use super::communicator::Communicator;
use super::message::Channel;
use super::network::Combine;
use super::rounds::Call;
use super::shadow::Class;
use super::transfer::Elements;
use crate::c::ast::{Expr, ExprKind};
use crate::c::types::Type;

/// Who sends what to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    Gather(u32),
    Scatter(u32),
    Allgather,
    Alltoall,
}

/// Partners of one side, each with the number of its slice.
type Partners = Vec<(u32, u64)>;

impl Pattern {
    pub(super) const fn rooted(is_gather: bool, root: u32) -> Self {
        if is_gather {
            Self::Gather(root)
        } else {
            Self::Scatter(root)
        }
    }

    const fn purpose(self) -> &'static str {
        match self {
            Self::Gather(_) => "gather",
            Self::Scatter(_) => "scatter",
            Self::Allgather => "allgather",
            Self::Alltoall => "alltoall",
        }
    }

    /// To whom, and from whom.
    fn partners(self, me: u32, members: &[u32]) -> [Partners; 2] {
        let slices: Partners = members.iter().copied().zip(0..).collect();
        let whole: Partners = members.iter().map(|m| (*m, 0)).collect();
        let nobody = Vec::new();
        match self {
            Self::Gather(root) if root == me => [vec![(root, 0)], slices],
            Self::Gather(root) => [vec![(root, 0)], nobody],
            Self::Scatter(root) if root == me => [slices, vec![(root, 0)]],
            Self::Scatter(root) => [nobody, vec![(root, 0)]],
            Self::Allgather => [whole, slices],
            Self::Alltoall => [slices.clone(), slices],
        }
    }
}

/// Whether an argument is MPI's word for the other buffer. Elsewhere the word is a call of a function that is not known.
pub(super) fn is_in_place(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Call(f, _) => {
            matches!(&f.kind, ExprKind::Ident(name) if name == "palisade_in_place")
        }
        ExprKind::Cast(_, inner) => is_in_place(inner),
        _ => false,
    }
}

impl Code<'_, '_> {
    /// The buffer that an argument is: of `rank == 0 ? MPI_IN_PLACE : buffer` the one of this rank.
    pub(super) fn buffer_of<'e>(&mut self, e: &'e Expr) -> Lower<&'e Expr> {
        let ExprKind::Cond(cond, Some(yes), no) = &e.kind else {
            return Ok(e);
        };
        if !is_in_place(yes) && !is_in_place(no) {
            return Ok(e);
        }
        match self.fixed(cond)? {
            Some(0) => self.buffer_of(no),
            Some(_) => self.buffer_of(yes),
            None => {
                let help = "choose it by the rank, or write two calls";
                unsupported(e.span, "MPI_IN_PLACE in some runs", help)
            }
        }
    }

    /// A slice of a buffer of so many elements each.
    fn slice(&mut self, [_, count, ty]: [&Expr; 3], number: u64, span: Span) -> Lower<Elements> {
        let (base, mut bytes) = self.counted(count, ty, span)?;
        let instances = self.small(count, "a number of elements", span)?;
        let start = number * instances * self.datatype(ty, span)?.extent;
        for byte in &mut bytes {
            *byte += start;
        }
        Ok((base, bytes))
    }

    pub(super) fn exchange(
        &mut self,
        pattern: Pattern,
        communicator: &Communicator,
        [from, to]: [[&Expr; 3]; 2],
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let me = self.me();
        let [mut sends, mut receives] = pattern.partners(me, &communicator.members);
        let (mut from, mut to) = (from, to);
        from[0] = self.buffer_of(from[0])?;
        to[0] = self.buffer_of(to[0])?;
        match (pattern, is_in_place(from[0]), is_in_place(to[0])) {
            (_, false, false) => {}
            // The root's own slice is where it has to be.
            (Pattern::Gather(root), true, false) if root == me => {
                sends.clear();
                receives.retain(|(partner, _)| *partner != me);
            }
            (Pattern::Scatter(root), false, true) if root == me => {
                sends.retain(|(partner, _)| *partner != me);
                receives.clear();
            }
            (Pattern::Allgather, true, false) => {
                let own = communicator.rank_of(me).unwrap_or(0) as u64;
                from = to;
                sends.retain(|(partner, _)| *partner != me);
                for (_, slice) in &mut sends {
                    *slice = own;
                }
                receives.retain(|(partner, _)| *partner != me);
            }
            // All slices are sent before one is received.
            (Pattern::Alltoall, true, false) => from = to,
            (Pattern::Gather(_) | Pattern::Scatter(_), _, _)
            | (Pattern::Allgather | Pattern::Alltoall, _, true) => {
                let help = "pass it for the root's own elements, or for what all send";
                return unsupported(span, "MPI_IN_PLACE here", help);
            }
        }
        let channel = Channel::collective(pattern.purpose(), communicator);
        let zero = Val::constant(0, &Type::INT);
        let call = match pattern {
            Pattern::Gather(root) | Pattern::Scatter(root) => Call::new(name).to(root),
            Pattern::Allgather | Pattern::Alltoall => Call::new(name),
        };
        self.collectively(span, |code| {
            code.enter_round(communicator, &call, span)?;
            for (partner, number) in sends {
                let elements = code.slice(from, number, span)?;
                code.push_message((channel, partner), (from[0], &elements), &zero, name, span)?;
            }
            for (partner, number) in receives {
                let elements = code.slice(to, number, span)?;
                let buffer = (to[0], &elements);
                code.pull_message((channel, partner), buffer, (&zero, None), name, span)?;
            }
            Ok(())
        })
    }

    pub(super) fn reduce_to(
        &mut self,
        (communicator, root): (&Communicator, u32),
        [from, to]: [&Expr; 2],
        elements: &Elements,
        (combine, name): (Combine, &str),
        span: Span,
    ) -> Lower<()> {
        let channel = Channel::collective("reduce", communicator);
        let call = Call::new(name).to(root).with(combine as i64);
        self.enter_round(communicator, &call, span)?;
        let zero = Val::constant(0, &Type::INT);
        let me = self.me();
        let from = self.buffer_of(from)?;
        let from = match (is_in_place(from), me == root) {
            (false, _) => from,
            (true, true) => to,
            (true, false) => {
                let help = "pass it at the root";
                return unsupported(span, "MPI_IN_PLACE here", help);
            }
        };
        self.push_message((channel, root), (from, elements), &zero, name, span)?;
        if me != root {
            return Ok(());
        }
        let what = format!("{} `{name}`", self.whose());
        let cells = self.message_cells(to, elements, span)?;
        self.atomically(AtomicKind::Block, span, |code| {
            let mut sums: Vec<Option<LocalExpr>> = vec![None; cells.len()];
            for member in &communicator.members {
                let queue = code.queue(channel, *member, me, span);
                let tags = (&zero.e, code.envelope(span));
                let form = ((cells.len(), elements.0), true);
                code.take_message(queue, tags, form, span, &mut |_, k, value| {
                    sums[k] = Some(match sums[k].take() {
                        Some(before) => combine.apply(&before, &[value]),
                        None => value,
                    });
                });
            }
            for (places, sum) in cells.iter().zip(sums) {
                let sum = sum.unwrap_or(Ir::Const(0));
                code.each_case(places, span, &mut |code, place| {
                    code.check_blocking(place, Class::Write, &what, span)?;
                    code.store_to(place, sum.clone(), span);
                    Ok(())
                })?;
            }
            Ok(())
        })
    }
}
