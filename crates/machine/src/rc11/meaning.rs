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
    AssertKind, Atomic, BinOp, Cfg, Expr, FenceKind, LocId, LocalAtom, LocalExpr, Orders, Place,
    Program, PropAtom, PropertyKind, Span, Step,
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

/// More ways through a block than this are not followed.
const MOST_WAYS: usize = 10_000;

/// A way through a block so far.
#[derive(Clone)]
struct Way<'a> {
    at: LocId,
    done: Done<'a>,
    /// What was assumed about locals that the way has not written since. Where a pointer may mean several
    /// variables, the load and the store of a read-modify-write each have a case for each of them; what
    /// was assumed excludes that they are different ones.
    assumed: Vec<&'a LocalExpr>,
}

impl<'a> Way<'a> {
    /// Behind a step that is no access; `None` if it cannot be taken.
    fn behind(mut self, step: &'a Step) -> Option<Self> {
        match step {
            Step::Assume(cond) => {
                if self.assumed.iter().any(|known| excludes(known, cond)) {
                    return None;
                }
                self.assumed.push(cond);
            }
            Step::Load { dst, .. } | Step::Assign { dst, .. } | Step::Havoc { dst, .. } => {
                let reads = |e: &&LocalExpr| e.any_atom(|a| *a == LocalAtom::Local(*dst));
                self.assumed.retain(|e| !reads(e));
            }
            Step::Skip | Step::Store { .. } | Step::Fence(_) | Step::Assert { .. } => {}
            Step::Atomic(_) | Step::Put { .. } | Step::Get { .. } => self.assumed.clear(),
            Step::RemoteAtomic(_) | Step::Flush(_) => self.assumed.clear(),
        }
        Some(self)
    }
}

/// The values that a condition leaves to a term, where it compares one with a constant.
fn interval(e: &LocalExpr) -> Option<(&LocalExpr, std::ops::RangeInclusive<i64>)> {
    let Expr::Binary(op, term, value) = e else {
        return None;
    };
    let Expr::Const(value) = **value else {
        return None;
    };
    let (least, most) = match op {
        BinOp::Eq => (value, value),
        BinOp::Ge => (value, i64::MAX),
        BinOp::Gt => (value.saturating_add(1), i64::MAX),
        BinOp::Le => (i64::MIN, value),
        BinOp::Lt => (i64::MIN, value.saturating_sub(1)),
        BinOp::Ne | BinOp::And | BinOp::Or | BinOp::Add | BinOp::Sub | BinOp::Mul => return None,
        BinOp::Div | BinOp::Mod | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => return None,
        BinOp::Shl | BinOp::Shr => return None,
    };
    Some((term, least..=most))
}

/// Whether two conditions cannot both be true: one is the negation of the other, they leave a term no
/// common value, or one of them has a part that excludes the other.
fn excludes(a: &LocalExpr, b: &LocalExpr) -> bool {
    let apart = match (interval(a), interval(b)) {
        (Some((s, x)), Some((t, y))) => s == t && (x.end() < y.start() || y.end() < x.start()),
        _ => false,
    };
    let part = |whole: &LocalExpr, other: &LocalExpr| {
        let Expr::Binary(BinOp::And, x, y) = whole else {
            return false;
        };
        excludes(x, other) || excludes(y, other)
    };
    apart || a.clone().negate() == *b || b.clone().negate() == *a || part(a, b) || part(b, a)
}

/// Whether some way through a block is more than one event.
fn too_many(body: &Cfg) -> Option<TooMany> {
    let same = |a: &Place, b: &Place| (a.var, &a.index) == (b.var, &b.index);
    let mut work = vec![Way {
        at: body.entry,
        done: Done::Nothing,
        assumed: Vec::new(),
    }];
    let mut ways = 0;
    while let Some(way) = work.pop() {
        ways += 1;
        if ways > MOST_WAYS {
            return Some(TooMany::Places);
        }
        for (_, edge) in body.outgoing(way.at) {
            let step = &edge.step;
            let Some(next) = way.clone().behind(step) else {
                continue;
            };
            let done = match (way.done, step.loaded(), step.stored()) {
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
            let at = edge.to;
            work.push(Way { at, done, ..next });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use palisade_program::LocalId;

    use super::*;

    fn local(k: u32) -> LocalExpr {
        Expr::Atom(LocalAtom::Local(LocalId(k)))
    }

    fn is(e: LocalExpr, value: i64) -> LocalExpr {
        LocalExpr::binary(BinOp::Eq, e, Expr::Const(value))
    }

    #[test]
    fn conditions_exclude_each_other() {
        let (p, q) = (local(0), local(1));
        let one = is(p.clone(), 1);
        assert!(excludes(&one, &is(p.clone(), 2)));
        assert!(excludes(&one, &one.clone().negate()));
        assert!(excludes(&one.clone().negate(), &one));
        let both = is(q.clone(), 3).and(is(p.clone(), 2));
        assert!(excludes(&both, &one) && excludes(&one, &both));
        let compare = |op, value| LocalExpr::binary(op, p.clone(), Expr::Const(value));
        let low = compare(BinOp::Ge, 0).and(compare(BinOp::Lt, 8));
        let high = compare(BinOp::Ge, 8).and(compare(BinOp::Lt, 16));
        assert!(
            excludes(&low, &high) && excludes(&high, &low) && excludes(&low, &is(p.clone(), 8))
        );
        // All of these can be true together.
        assert!(!excludes(&low, &compare(BinOp::Le, 0)) && !excludes(&low, &one));
        assert!(!excludes(&one, &one));
        assert!(!excludes(&one, &is(q, 2)));
        assert!(!excludes(&one.clone().negate(), &is(p, 2)));
    }
}
