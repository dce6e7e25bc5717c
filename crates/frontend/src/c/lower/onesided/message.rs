//! *Messages* between two ranks: a queue, first in, first out. A send does not wait (MPI may buffer it, which
//! orders least), a receive waits for a message. More messages at once than a queue holds, and messages that are
//! received in another order than they were sent (by their tags), are not followed. A deadlock of sends that wait
//! for their receives is therefore not found.

use palisade_program::{
    AtomicKind, BinOp, Expr as Ir, GlobalId, LocalExpr, Order, Place as Memory, Span, Step,
};

use super::super::code::{Code, Lower};
use super::super::expr::unsupported;
use super::super::value::Val;
use super::shadow::Class;
use super::transfer::Elements;
use crate::c::ast::Expr;
use crate::c::types::Type;

/// Messages of one queue at most.
const MAX_MESSAGES: u32 = 3;
/// Elements of one message at most.
const MAX_LENGTH: u32 = 8;
/// Any source, any tag.
const ANY: i128 = -1;

/// A queue: how many messages it holds, their tags, their elements.
#[derive(Clone, Copy)]
struct Queue {
    used: GlobalId,
    tags: GlobalId,
    data: GlobalId,
}

fn at(var: GlobalId, index: LocalExpr) -> Memory {
    Memory {
        var,
        index: Some(index),
        order: Order::Plain,
    }
}

impl Code<'_, '_> {
    fn queue(&mut self, kind: &str, from: u32, to: u32, span: Span) -> Queue {
        let mut make = |what: &str, len| {
            self.cx
                .common(format!("{kind}.{from}.{to}.{what}"), len, span)
        };
        Queue {
            used: make("used", None),
            tags: make("tags", Some(MAX_MESSAGES)),
            data: make("data", Some(MAX_MESSAGES * MAX_LENGTH)),
        }
    }

    /// The one cell of each element of a buffer.
    fn message_cells(
        &mut self,
        buffer: &Expr,
        (base, elements): &Elements,
        span: Span,
    ) -> Lower<Vec<Vec<(LocalExpr, Memory)>>> {
        if elements.len() > MAX_LENGTH as usize {
            return unsupported(
                span,
                "a message this long",
                "8 elements at most are followed",
            );
        }
        let pointer = self.value(buffer)?;
        let pointer = self.saved(pointer, span);
        let all = elements.iter();
        all.map(|byte| self.buffer_cells(&pointer, *byte, *base, span))
            .collect()
    }

    /// Puts a message into a queue.
    pub(super) fn push_message(
        &mut self,
        (kind, to): (&str, u32),
        buffer: (&Expr, &Elements),
        tag: &Val,
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let cells = self.message_cells(buffer.0, buffer.1, span)?;
        let queue = self.queue(kind, self.me(), to, span);
        let what = format!("{} `{name}`", self.whose());
        self.atomically(AtomicKind::Block, span, |code| {
            let used = code.load_from(&Memory::scalar(queue.used), span);
            let room =
                LocalExpr::binary(BinOp::Lt, used.clone(), Ir::Const(i64::from(MAX_MESSAGES)));
            code.require(room, "more messages on their way than are followed", span);
            let start =
                LocalExpr::binary(BinOp::Mul, used.clone(), Ir::Const(i64::from(MAX_LENGTH)));
            for (k, cases) in cells.iter().enumerate() {
                let mut result = Ok(());
                let cases = std::slice::from_ref(cases);
                code.each_cell(cases, &mut Vec::new(), span, &mut |code, places| {
                    code.cx.plain_accesses.insert((span, places[0].var));
                    let checked = code.check_access(&places[0], Class::Read, &what, span);
                    if result.is_ok() {
                        result = checked;
                    }
                    let value = code.load_from(&places[0], span);
                    let index = LocalExpr::binary(BinOp::Add, start.clone(), Ir::Const(k as i64));
                    code.store_to(&at(queue.data, index), value, span);
                });
                result?;
            }
            code.store_to(&at(queue.tags, used.clone()), tag.e.clone(), span);
            let more = LocalExpr::binary(BinOp::Add, used, Ir::Const(1));
            code.store_to(&Memory::scalar(queue.used), more, span);
            Ok(())
        })
    }

    /// Takes a message from a queue, when there is one.
    pub(super) fn pull_message(
        &mut self,
        (kind, from): (&str, u32),
        buffer: (&Expr, &Elements),
        tag: &Val,
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let cells = self.message_cells(buffer.0, buffer.1, span)?;
        let queue = self.queue(kind, from, self.me(), span);
        let what = format!("{} `{name}`", self.whose());
        self.atomically(AtomicKind::Block, span, |code| {
            let used = code.load_from(&Memory::scalar(queue.used), span);
            let some = LocalExpr::binary(BinOp::Gt, used.clone(), Ir::Const(0));
            code.emit(Step::Assume(some), span);
            let sent = code.load_from(&at(queue.tags, Ir::Const(0)), span);
            let same = LocalExpr::binary(BinOp::Eq, sent, tag.e.clone());
            let any = LocalExpr::binary(BinOp::Eq, tag.e.clone(), Ir::Const(ANY as i64));
            code.require(
                same.or(any),
                "messages received in another order than sent",
                span,
            );
            for (k, cases) in cells.iter().enumerate() {
                let value = code.load_from(&at(queue.data, Ir::Const(k as i64)), span);
                let mut result = Ok(());
                let cases = std::slice::from_ref(cases);
                code.each_cell(cases, &mut Vec::new(), span, &mut |code, places| {
                    code.cx.plain_accesses.insert((span, places[0].var));
                    let checked = code.check_access(&places[0], Class::Write, &what, span);
                    if result.is_ok() {
                        result = checked;
                    }
                    code.store_to(&places[0], value.clone(), span);
                });
                result?;
            }
            for k in 0..MAX_MESSAGES - 1 {
                let (here, next) = (i64::from(k), i64::from(k) + 1);
                let moved = code.load_from(&at(queue.tags, Ir::Const(next)), span);
                code.store_to(&at(queue.tags, Ir::Const(here)), moved, span);
                let length = i64::from(MAX_LENGTH);
                for e in 0..cells.len() as i64 {
                    let moved = code.load_from(&at(queue.data, Ir::Const(next * length + e)), span);
                    code.store_to(&at(queue.data, Ir::Const(here * length + e)), moved, span);
                }
            }
            let last = i64::from(MAX_MESSAGES) - 1;
            code.store_to(&at(queue.tags, Ir::Const(last)), Ir::Const(0), span);
            for e in 0..cells.len() as i64 {
                let place = at(queue.data, Ir::Const(last * i64::from(MAX_LENGTH) + e));
                code.store_to(&place, Ir::Const(0), span);
            }
            let less = LocalExpr::binary(BinOp::Sub, used, Ir::Const(1));
            code.store_to(&Memory::scalar(queue.used), less, span);
            Ok(())
        })
    }

    pub(super) fn send(
        &mut self,
        buffer: (&Expr, &Elements),
        to: &Expr,
        tag: &Expr,
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let tag = self.value(tag)?;
        let tag = self.saved(tag, span);
        self.each_target(to, span, &mut |code, to| {
            code.push_message(("message", to), buffer, &tag, name, span)
        })
    }

    pub(super) fn receive(
        &mut self,
        buffer: (&Expr, &Elements),
        from: &Expr,
        tag: &Expr,
        name: &str,
        span: Span,
    ) -> Lower<()> {
        let tag = self.value(tag)?;
        let tag = self.saved(tag, span);
        if self.peek(from) == Some(ANY) {
            // One of those that have sent.
            let (start, join) = (self.here, self.graph.loc());
            for from in 0..self.ranks() {
                self.at(start);
                self.pull_message(("message", from), buffer, &tag, name, span)?;
                self.go(join, span);
            }
            self.at(join);
            return Ok(());
        }
        self.each_target(from, span, &mut |code, from| {
            code.pull_message(("message", from), buffer, &tag, name, span)
        })
    }

    /// The root's elements come to all others, which wait for them.
    pub(super) fn broadcast(
        &mut self,
        buffer: (&Expr, &Elements),
        root: &Expr,
        span: Span,
    ) -> Lower<()> {
        let zero = Val::constant(0, &Type::INT);
        self.each_target(root, span, &mut |code, root| {
            if root != code.me() {
                return code.pull_message(("broadcast", root), buffer, &zero, "MPI_Bcast", span);
            }
            for to in 0..code.ranks() {
                if to != root {
                    code.push_message(("broadcast", to), buffer, &zero, "MPI_Bcast", span)?;
                }
            }
            Ok(())
        })
    }
}
