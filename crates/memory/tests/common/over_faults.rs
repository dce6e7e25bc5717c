//! Faults in the rules of abstract buffers. Most lose runs, and are caught by the
//! comparison with the machine. Those that only add runs are caught by shapes that
//! the right rules prove.

use palisade_memory::blocks::{assign, equals};
use palisade_memory::reduced::Part;
use palisade_memory::summary::Keep;
use palisade_program::cfg::{FenceKind, Step, local};
use palisade_program::{Expr, Model};

use super::over::Claimed;
use super::seeding::{Fault, Rule, Site, fault, is_count, is_target, is_value, never};

const TSO: &[Model] = &[Model::Tso];
const BOTH: &[Model] = &[Model::Tso, Model::Pso];
const NEWEST: &[Keep] = &[Keep::Newest];
const OLDEST: &[Keep] = &[Keep::Oldest];
const KEEPS: &[Keep] = &[Keep::Newest, Keep::Oldest];

/// A fault, for which ways to keep stores, and under which claim it matters.
pub(crate) struct OverFault {
    pub(crate) fault: Fault,
    pub(crate) keeps: &'static [Keep],
    pub(crate) claimed: Claimed,
}

const fn over(keeps: &'static [Keep], claimed: Claimed, fault: Fault) -> OverFault {
    OverFault {
        fault,
        keeps,
        claimed,
    }
}

const fn is_more(part: Part) -> bool {
    matches!(part, Part::More(_))
}

const fn is_last(part: Part) -> bool {
    matches!(part, Part::Last(_))
}

const fn is_low(part: Part) -> bool {
    matches!(part, Part::Low(_))
}

/// Whether a step assumes that a flag of the set has this value.
fn asks_more(site: &Site<'_>, steps: &[Step], value: i64) -> bool {
    steps.iter().any(|s| match s {
        Step::Assume(Expr::Binary(_, a, b)) => site.reads(a, is_more) && **b == Expr::Const(value),
        _ => false,
    })
}

/// Whether the steps let a store of the set reach memory as the only one.
fn only_one(site: &Site<'_>, steps: &[Step]) -> bool {
    let clears = |s: &Step| matches!(site.assigned(s), Some((Part::More(_), None)));
    let writes = |s: &Step| matches!(s, Step::Store { .. });
    steps.iter().any(clears) && steps.iter().any(writes)
}

/// Whether the steps let a store of the set reach memory as one of several.
fn one_of_several(site: &Site<'_>, steps: &[Step]) -> bool {
    let exact = |s: &Step| matches!(site.assigned(s), Some((Part::Count(_), _)));
    asks_more(site, steps, 1) && !only_one(site, steps) && !steps.iter().any(exact)
}

/// All faults. Under PSO with the newest stores in cells the set is never read, a
/// newer store to the same variable being in a cell; and whoever waits for the cells
/// has waited for the set.
pub(crate) const FAULTS: &[OverFault] = &[
    over(
        KEEPS,
        Claimed::Rising,
        fault(
            "join: the last value stays the first",
            BOTH,
            Rule::Store,
            |site, steps| {
                if asks_more(site, steps, 1) {
                    site.remove(steps, |to, _| is_last(to));
                }
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Among,
        fault(
            "join: the set does not hold the cell",
            BOTH,
            Rule::Store,
            |site, steps| {
                site.remove(steps, |to, _| is_more(to));
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Rising,
        fault(
            "join: a claim is not checked",
            BOTH,
            Rule::Store,
            |_, steps| {
                steps.retain(|s| !matches!(s, Step::Assert { .. }));
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Rising,
        fault(
            "join: the lower end rises with the last value",
            BOTH,
            Rule::Store,
            |site, steps| {
                let last = |s: &Step| match site.assigned(s) {
                    Some((Part::Last(cell), _)) => Some(cell),
                    _ => None,
                };
                if let Some(cell) = steps.iter().find_map(last) {
                    let (low, last) = (site.local(Part::Low(cell)), site.local(Part::Last(cell)));
                    steps.push(assign(low, local(last)));
                }
            },
        ),
    ),
    over(
        NEWEST,
        Claimed::Rising,
        fault(
            "join: the cells do not move down",
            BOTH,
            Rule::Store,
            |site, steps| {
                site.remove(steps, |to, from| {
                    (is_value(to) || is_target(to))
                        && from.is_some_and(|f| is_value(f) || is_target(f))
                });
            },
        ),
    ),
    over(
        NEWEST,
        Claimed::Among,
        fault(
            "join: the new store is lost",
            BOTH,
            Rule::Store,
            |site, steps| {
                if steps
                    .iter()
                    .any(|s| site.assigned(s).is_some_and(|(to, _)| is_last(to)))
                {
                    site.remove(steps, |to, from| {
                        is_value(to) && !from.is_some_and(is_value)
                    });
                }
            },
        ),
    ),
    over(
        NEWEST,
        Claimed::Among,
        fault(
            "join: the target of the oldest is not looked at",
            TSO,
            Rule::Store,
            |site, steps| {
                site.unguard(steps, is_target);
            },
        ),
    ),
    over(
        NEWEST,
        Claimed::Among,
        fault(
            "join: never, a full buffer waits",
            BOTH,
            Rule::Store,
            |site, steps| {
                if steps
                    .iter()
                    .any(|s| site.assigned(s).is_some_and(|(to, _)| is_last(to)))
                {
                    never(steps);
                }
            },
        ),
    ),
    over(
        OLDEST,
        Claimed::Among,
        fault(
            "store: into a cell although the set is in use",
            BOTH,
            Rule::Store,
            |site, steps| {
                if steps
                    .iter()
                    .any(|s| site.assigned(s).is_some_and(|(to, _)| is_value(to)))
                {
                    site.unguard(steps, is_more);
                }
            },
        ),
    ),
    over(
        OLDEST,
        Claimed::Among,
        fault(
            "load: the set is not read",
            BOTH,
            Rule::Load,
            |site, steps| {
                if steps.iter().any(|s| {
                    site.assigned(s)
                        .is_some_and(|(_, from)| from.is_some_and(is_last))
                }) {
                    never(steps);
                }
            },
        ),
    ),
    over(
        NEWEST,
        Claimed::Among,
        fault(
            "load: the set is not read",
            TSO,
            Rule::Load,
            |site, steps| {
                if steps.iter().any(|s| {
                    site.assigned(s)
                        .is_some_and(|(_, from)| from.is_some_and(is_last))
                }) {
                    never(steps);
                }
            },
        ),
    ),
    over(
        OLDEST,
        Claimed::Among,
        fault(
            "load: memory, although the set has a store",
            BOTH,
            Rule::Load,
            |site, steps| {
                if steps.iter().any(|s| {
                    site.assigned(s)
                        .is_some_and(|(_, from)| from.is_some_and(is_last))
                }) && let Some(own) = site.original
                {
                    steps.pop();
                    steps.push(own.clone());
                }
            },
        ),
    ),
    over(
        NEWEST,
        Claimed::Among,
        fault(
            "load: memory, although the set has a store",
            TSO,
            Rule::Load,
            |site, steps| {
                if steps.iter().any(|s| {
                    site.assigned(s)
                        .is_some_and(|(_, from)| from.is_some_and(is_last))
                }) && let Some(own) = site.original
                {
                    steps.pop();
                    steps.push(own.clone());
                }
            },
        ),
    ),
    over(
        OLDEST,
        Claimed::Among,
        fault(
            "load: a cell although the set has a newer store",
            BOTH,
            Rule::Load,
            |site, steps| {
                if steps.iter().any(|s| {
                    site.assigned(s)
                        .is_some_and(|(_, from)| from.is_some_and(is_last))
                }) {
                    never(steps);
                } else {
                    site.unguard(steps, is_more);
                }
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Among,
        fault(
            "update: never the only one",
            BOTH,
            Rule::Update,
            |site, steps| {
                if only_one(site, steps) {
                    never(steps);
                }
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Among,
        fault(
            "update: never one of several",
            BOTH,
            Rule::Update,
            |site, steps| {
                if one_of_several(site, steps) {
                    never(steps);
                }
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Rising,
        fault(
            "update: one of several has the least value",
            BOTH,
            Rule::Update,
            |site, steps| {
                let last = steps.iter().find_map(|s| match site.assigned(s) {
                    Some((Part::Low(cell), Some(_))) => Some(site.local(Part::Last(cell))),
                    _ => None,
                });
                if let Some(last) = last {
                    for step in steps {
                        if let Step::Store { value, .. } = step {
                            *value = local(last);
                        }
                    }
                }
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Among,
        fault(
            "update: the set keeps what has left",
            BOTH,
            Rule::Update,
            |site, steps| {
                if only_one(site, steps) {
                    site.remove(steps, |to, _| is_more(to));
                }
            },
        ),
    ),
    over(
        OLDEST,
        Claimed::Among,
        fault(
            "update: the only one writes 0",
            BOTH,
            Rule::Update,
            |site, steps| {
                if only_one(site, steps) {
                    for step in steps {
                        if let Step::Store { value, .. } = step {
                            *value = Expr::Const(0);
                        }
                    }
                }
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Rising,
        fault(
            "update: the lower end stays at the start",
            BOTH,
            Rule::Update,
            |site, steps| {
                if one_of_several(site, steps) {
                    site.remove(steps, |to, _| is_low(to));
                }
            },
        ),
    ),
    over(
        NEWEST,
        Claimed::Among,
        fault(
            "update: a cell before the set",
            BOTH,
            Rule::Update,
            |site, steps| {
                if steps
                    .iter()
                    .any(|s| site.assigned(s).is_some_and(|(to, _)| is_count(to)))
                {
                    site.unguard(steps, is_more);
                }
            },
        ),
    ),
    over(
        OLDEST,
        Claimed::Among,
        fault(
            "update: the set before the cells",
            BOTH,
            Rule::Update,
            |site, steps| {
                if asks_more(site, steps, 1) {
                    site.unguard(steps, is_count);
                }
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Among,
        fault(
            "update: none of the set at a fence",
            BOTH,
            Rule::Update,
            |site, steps| {
                let fence = matches!(site.waiting, Some(Step::Fence(FenceKind::Full)));
                if fence && asks_more(site, steps, 1) {
                    never(steps);
                }
            },
        ),
    ),
    over(
        OLDEST,
        Claimed::Among,
        fault(
            "fence: does not wait for the set",
            BOTH,
            Rule::Fence,
            |site, steps| {
                cells_only(site, steps);
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Among,
        fault(
            "reading block: does not look into the set",
            BOTH,
            Rule::Snapshot,
            |site, steps| {
                *steps = site.original.cloned().into_iter().collect();
            },
        ),
    ),
    over(
        OLDEST,
        Claimed::Among,
        fault(
            "atomic block: does not wait for the set",
            BOTH,
            Rule::Atomic,
            |site, steps| {
                cells_only(site, steps);
            },
        ),
    ),
    over(
        OLDEST,
        Claimed::Among,
        fault(
            "end: does not wait for the set",
            BOTH,
            Rule::End,
            |site, steps| {
                cells_only(site, steps);
            },
        ),
    ),
    over(
        KEEPS,
        Claimed::Among,
        fault(
            "end: with stores that never leave",
            BOTH,
            Rule::Update,
            |site, steps| {
                if site.last && asks_more(site, steps, 1) {
                    never(steps);
                }
            },
        ),
    ),
];

/// Waits for the cells only.
fn cells_only(site: &Site<'_>, steps: &mut Vec<Step>) {
    let parts = site.parts.locals.iter().enumerate();
    let counts = parts.filter(|(_, part)| is_count(**part));
    let empty = counts
        .map(|(id, _)| equals(id.into(), 0))
        .fold(Expr::TRUE, Expr::and);
    *steps = vec![Step::Assume(empty)];
}
