//! Which programs have a *meaning* under RC11; what has none is refused where it stands.
//!
//! - Memory orders must be there ([`Orders::Kept`]): with fences in their place the program would
//!   be another one.
//! - `fence(ss)`, processes and remote operations are no part of C11.
//! - An atomic block is one event: all its accesses are of one place, at most one load and
//!   then at most one store on each way through it. Accesses without an order are seq_cst there
//!   (acquire in `lock`, release in `unlock`).
//! - Shared memory has no one state, so that `never` may not read it. For `finally` it is the
//!   newest message of each location.

use palisade_program::{
    AssertKind, Atomic, Cfg, FenceKind, LocId, LocalAtom, Order, Orders, Place, Program, PropAtom,
    PropertyKind, Span, Step,
};

use crate::options::Unsupported;

fn refused<T>(message: &str, span: Span, help: &str) -> Result<T, Unsupported> {
    Err(Unsupported {
        message: message.to_owned(),
        span,
        help: help.to_owned(),
    })
}

/// Whether `program` has a meaning under RC11.
pub(crate) fn check(program: &Program) -> Result<(), Unsupported> {
    if let Some(process) = program.templates.iter().find(|t| t.is_process) {
        let message = "a program with processes has no meaning under rc11";
        return refused(message, process.span, "use --model rma, or --model sc");
    }
    if program.orders == Orders::Mapped {
        let span = program
            .templates
            .first()
            .map_or_else(Span::default, |t| t.span);
        let message =
            "memory orders of this program have become fences: it has no meaning under rc11";
        return refused(message, span, "read it with memory orders kept");
    }
    for template in &program.templates {
        for edge in &template.cfg.edges {
            step(&edge.step, edge.span)?;
        }
    }
    for property in &program.properties {
        let mut reads = false;
        property.cond.for_each_atom(&mut |atom| {
            reads |= matches!(atom, PropAtom::Global(..));
        });
        if reads && property.kind == PropertyKind::Never {
            return refused(
                "shared memory has no one state under rc11, so that `never` cannot read it",
                property.span,
                "assert it in a thread, or use `finally`",
            );
        }
    }
    Ok(())
}

fn step(step: &Step, span: Span) -> Result<(), Unsupported> {
    match step {
        Step::Fence(FenceKind::StoreStore) => refused(
            "a store-store fence has no meaning under rc11",
            span,
            "write `fence(release)`, or another fence of C11",
        ),
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => refused(
            "a remote operation has no meaning under rc11",
            span,
            "use --model rma",
        ),
        Step::Atomic(atomic) => block(atomic, span),
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => Ok(()),
        Step::Load { .. } | Step::Store { .. } | Step::Assert { .. } => Ok(()),
        Step::Fence(FenceKind::Full | FenceKind::Candidate | FenceKind::Ordered(_)) => Ok(()),
    }
}

fn block(atomic: &Atomic, span: Span) -> Result<(), Unsupported> {
    let body = &atomic.body;
    let places = || {
        let steps = body.edges.iter().map(|e| &e.step);
        steps.filter_map(|s| s.loaded().or(s.stored()))
    };
    let plain = |place: &Place| place.clone().ordered(Order::Plain);
    let Some(first) = places().next().map(plain) else {
        return Ok(());
    };
    let help = "use lock and unlock, or atomic operations on one variable";
    if places().any(|place| plain(place) != first) {
        let message = "an atomic block over several variables has no meaning under rc11";
        return refused(message, span, help);
    }
    if body.has_cycle() {
        return refused(
            "an atomic block with a loop has no meaning under rc11",
            span,
            help,
        );
    }
    let written = body.written_locals();
    let moves = first.index.as_ref().is_some_and(|index| {
        index.any_atom(|a| matches!(a, LocalAtom::Local(l) if written.contains(l)))
    });
    if moves {
        let message =
            "an atomic block that changes the index of its access has no meaning under rc11";
        return refused(message, span, "compute the index before the block");
    }
    if too_many(body) {
        let message =
            "an atomic block with more than one load and one store has no meaning under rc11";
        return refused(message, span, help);
    }
    let has_store = body.edges.iter().any(|e| e.step.stored().is_some());
    let users = body.edges.iter().find(|e| {
        matches!(
            &e.step,
            Step::Assert {
                kind: AssertKind::User,
                ..
            }
        )
    });
    match users {
        Some(edge) if has_store => refused(
            "an assertion in an atomic block that stores has no meaning under rc11",
            edge.span,
            "put it behind the block",
        ),
        Some(_) | None => Ok(()),
    }
}

/// Whether some way through a block has two loads, two stores, or a load behind a store.
fn too_many(body: &Cfg) -> bool {
    // 0: nothing yet, 1: a load, 2: a store.
    let mut reached = vec![[false; 3]; body.loc_count()];
    let mut work: Vec<(LocId, usize)> = vec![(body.entry, 0)];
    while let Some((loc, stage)) = work.pop() {
        if std::mem::replace(&mut reached[loc.index()][stage], true) {
            continue;
        }
        for (_, edge) in body.outgoing(loc) {
            let next = match (edge.step.loaded(), edge.step.stored(), stage) {
                (None, None, stage) => stage,
                (Some(_), _, 0) => 1,
                (Some(_), ..) | (None, Some(_), 2) => return true,
                (None, Some(_), _) => 2,
            };
            work.push((edge.to, next));
        }
    }
    false
}
