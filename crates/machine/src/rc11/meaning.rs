//! Which programs have a *meaning* under RC11; what has none is refused where it stands.
//!
//! - Memory orders must be there ([`Orders::Kept`]): with fences in their place the program would
//!   be another one.
//! - `fence(ss)`, processes and remote operations are no part of C11.
//! - An atomic block is one event: on each way through it there is at most one load and then at
//!   most one store, of the same place. Accesses without an order are SC there
//!   (acquire in `lock`, release in `unlock`).
//! - Shared memory has no one state, so that `never` may not read it. For `finally` it is the
//!   newest message of each location.

use palisade_program::{
    AssertKind, Atomic, Cfg, FenceKind, LocId, LocalAtom, Orders, Place, Program, PropAtom,
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
    if places().next().is_none() {
        return Ok(());
    }
    let help = "use lock and unlock, or atomic operations on one variable";
    if body.has_cycle() {
        return refused(
            "an atomic block with a loop has no meaning under rc11",
            span,
            help,
        );
    }
    let written = body.written_locals();
    let moves = |place: &Place| {
        place.index.as_ref().is_some_and(|index| {
            index.any_atom(|a| matches!(a, LocalAtom::Local(l) if written.contains(l)))
        })
    };
    if places().any(moves) {
        let message =
            "an atomic block that changes the index of its access has no meaning under rc11";
        return refused(message, span, "compute the index before the block");
    }
    match too_many(body) {
        Some(TooMany::Places) => {
            let message = "an atomic block over several variables has no meaning under rc11";
            return refused(message, span, help);
        }
        Some(TooMany::Accesses) => {
            let message =
                "an atomic block with more than one load and one store has no meaning under rc11";
            return refused(message, span, help);
        }
        None => {}
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

/// Why a way through a block is no event.
enum TooMany {
    /// It accesses several places.
    Places,
    /// It has two loads, two stores, or a load behind a store.
    Accesses,
}

/// What a way through a block has done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done<'a> {
    Nothing,
    Loaded(&'a Place),
    Stored(&'a Place),
}

/// Whether some way through a block is more than one event.
fn too_many(body: &Cfg) -> Option<TooMany> {
    let same = |a: &Place, b: &Place| (a.var, &a.index) == (b.var, &b.index);
    let mut work: Vec<(LocId, Done<'_>)> = vec![(body.entry, Done::Nothing)];
    let mut seen: Vec<(LocId, Done<'_>)> = Vec::new();
    while let Some(at) = work.pop() {
        if seen.contains(&at) {
            continue;
        }
        seen.push(at);
        let (loc, done) = at;
        for (_, edge) in body.outgoing(loc) {
            let next = match (done, edge.step.loaded(), edge.step.stored()) {
                (done, None, None) => done,
                (Done::Nothing, Some(place), _) => Done::Loaded(place),
                (Done::Nothing, None, Some(place)) => Done::Stored(place),
                (Done::Loaded(first), None, Some(place)) if same(first, place) => {
                    Done::Stored(place)
                }
                (Done::Loaded(first) | Done::Stored(first), loaded, stored) => {
                    let place = loaded.or(stored)?;
                    return Some(if same(first, place) {
                        TooMany::Accesses
                    } else {
                        TooMany::Places
                    });
                }
            };
            work.push((edge.to, next));
        }
    }
    None
}
