//! *Collective calls that move elements*: every member of a communicator sends some of its elements to others, then
//! receives. Who has sent does not wait for those who receive, which orders least. Both sides may count as many
//! elements of different types; they are not converted.
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
use super::super::value::Val;
use super::communicator::Communicator;
use super::message::Channel;
use super::network::Combine;
use super::shadow::Class;
use super::transfer::Elements;
use crate::c::ast::Expr;
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

impl Code<'_, '_> {
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
        let [sends, receives] = pattern.partners(self.me(), &communicator.members);
        let channel = Channel::collective(pattern.purpose(), communicator);
        let zero = Val::constant(0, &Type::INT);
        self.collectively(span, |code| {
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
        let zero = Val::constant(0, &Type::INT);
        self.push_message((channel, root), (from, elements), &zero, name, span)?;
        let me = self.me();
        if me != root {
            return Ok(());
        }
        let what = format!("{} `{name}`", self.whose());
        let cells = self.message_cells(to, elements, span)?;
        self.atomically(AtomicKind::Block, span, |code| {
            let mut sums: Vec<Option<LocalExpr>> = vec![None; cells.len()];
            for member in &communicator.members {
                let queue = code.queue(channel, *member, me, span);
                let sent = code.hidden(span);
                let tags = (&zero.e, sent);
                code.take_message(queue, tags, cells.len(), span, &mut |_, k, value| {
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
