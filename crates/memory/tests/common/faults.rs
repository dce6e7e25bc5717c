//! The faults that are seeded into reduced programs: each breaks one rule of a
//! reduction in one way.

use palisade_memory::blocks::{assign, equals, guarded, place_of};
use palisade_memory::reduced::Part;
use palisade_program::cfg::{AssertKind, FenceKind, Step, local};
use palisade_program::{BinOp, Expr, LocalAtom, Model};

use super::seeding::{
    Fault, Rule, fault, forward, is_count, is_epoch, is_target, is_value, never, no_wait,
    other_element, strictly,
};

const TSO: &[Model] = &[Model::Tso];
const PSO: &[Model] = &[Model::Pso];
const BOTH: &[Model] = &[Model::Tso, Model::Pso];

/// All faults.
pub(crate) const FAULTS: &[Fault] = &[
    // Update.
    fault(
        "update: values do not move down",
        BOTH,
        Rule::Update,
        |site, steps| {
            site.remove(steps, |to, from| is_value(to) && from.is_some());
        },
    ),
    fault(
        "update: targets do not move down",
        TSO,
        Rule::Update,
        |site, steps| {
            site.remove(steps, |to, from| is_target(to) && from.is_some());
        },
    ),
    fault(
        "update: a wrong cell moves down",
        BOTH,
        Rule::Update,
        |site, steps| {
            // Cell 1 gets what cell 1 has, not what cell 2 has.
            site.remove(steps, |to, from| {
                matches!(to, Part::Value(_, 1)) && from.is_some()
            });
        },
    ),
    fault(
        "update: the count stays",
        BOTH,
        Rule::Update,
        |site, steps| {
            site.remove(steps, |to, _| is_count(to));
        },
    ),
    fault(
        "update: the newest store leaves, not the oldest",
        BOTH,
        Rule::Update,
        |site, steps| {
            let cleared = |s: &Step| match site.assigned(s) {
                Some((part @ Part::Value(..), None)) => Some(site.local(part)),
                _ => None,
            };
            if let Some(newest) = steps.iter().find_map(cleared) {
                for step in steps {
                    if let Step::Store { value, .. } = step {
                        *value = local(newest);
                    }
                }
            }
        },
    ),
    fault(
        "update: memory does not change",
        BOTH,
        Rule::Update,
        |_, steps| {
            steps.retain(|s| !matches!(s, Step::Store { .. }));
        },
    ),
    fault(
        "update: another variable changes",
        BOTH,
        Rule::Update,
        |site, steps| {
            for step in steps {
                if let Step::Store { dst, .. } = step {
                    let element = match dst.index {
                        Some(Expr::Const(i)) => i as u32,
                        _ => 0,
                    };
                    let other = site.other(site.program.cell(dst.var, element));
                    *dst = place_of(site.program, other);
                }
            }
        },
    ),
    fault(
        "update: the target is not looked at",
        TSO,
        Rule::Update,
        |site, steps| {
            site.unguard(steps, is_target);
        },
    ),
    fault(
        "update: the last store of a buffer never leaves",
        BOTH,
        Rule::Update,
        |site, steps| {
            let zero = |s: &Step| matches!(s, Step::Assign { dst, value: Expr::Const(0) } if is_count(site.part(*dst)));
            if steps.iter().any(zero) {
                never(steps);
            }
        },
    ),
    fault(
        "update: none at a fence",
        BOTH,
        Rule::Update,
        |site, steps| {
            if matches!(site.waiting, Some(Step::Fence(FenceKind::Full))) {
                never(steps);
            }
        },
    ),
    fault(
        "update: none before a load",
        BOTH,
        Rule::Update,
        |site, steps| {
            if matches!(site.waiting, Some(Step::Load { .. })) {
                never(steps);
            }
        },
    ),
    // Store.
    fault(
        "store: always into the first cell",
        BOTH,
        Rule::Store,
        |site, steps| {
            for step in steps {
                if let Some((Part::Value(cell, _), _)) = site.assigned(step)
                    && let Step::Assign { dst, .. } = step
                {
                    *dst = site.local(Part::Value(cell, 0));
                }
            }
        },
    ),
    fault("store: not counted", BOTH, Rule::Store, |site, steps| {
        site.remove(steps, |to, _| is_count(to));
    }),
    fault(
        "store: the value is lost",
        BOTH,
        Rule::Store,
        |site, steps| {
            site.remove(steps, |to, _| is_value(to));
        },
    ),
    fault(
        "store: the target is lost",
        TSO,
        Rule::Store,
        |site, steps| {
            site.remove(steps, |to, _| is_target(to));
        },
    ),
    fault(
        "store: past the buffer to memory",
        BOTH,
        Rule::Store,
        |site, steps| {
            site.remove(steps, |to, _| {
                is_value(to) || is_target(to) || is_count(to) || is_epoch(to)
            });
            steps.extend(site.original.cloned());
        },
    ),
    fault(
        "store: no assertion that there is room",
        BOTH,
        Rule::Store,
        |_, steps| {
            steps.retain(|s| !matches!(s, Step::Assert { .. }));
        },
    ),
    fault(
        "store: overflow one cell too early",
        BOTH,
        Rule::Store,
        |site, steps| {
            if site.last_room(steps) {
                let kind = AssertKind::BufferOverflow;
                steps.push(Step::Assert {
                    cond: Expr::FALSE,
                    kind,
                });
            }
        },
    ),
    fault(
        "store: into another element of an array",
        BOTH,
        Rule::Store,
        |site, steps| {
            other_element(site, steps);
        },
    ),
    // Load.
    fault(
        "load: not from the own buffer",
        BOTH,
        Rule::Load,
        |site, steps| {
            let buffered = |s: &Step| matches!(site.assigned(s), Some((_, Some(p))) if is_value(p));
            if let Some(at) = steps.iter().position(buffered) {
                steps.truncate(at);
                steps.extend(site.original.cloned());
            }
        },
    ),
    fault(
        "load: the oldest own store, not the newest",
        BOTH,
        Rule::Load,
        |site, steps| {
            forward(site, steps, &|cell, _| Part::Value(cell, 0));
        },
    ),
    fault(
        "load: the newest own store to any variable",
        TSO,
        Rule::Load,
        |site, steps| {
            site.unguard(steps, is_target);
        },
    ),
    fault(
        "load: the value of another variable",
        PSO,
        Rule::Load,
        |site, steps| {
            forward(site, steps, &|cell, i| {
                Part::Value(cell.map(|c| site.other(c)), i)
            });
        },
    ),
    fault(
        "load: waits while an own store is buffered",
        BOTH,
        Rule::Load,
        |site, steps| {
            let buffered = |s: &Step| matches!(site.assigned(s), Some((_, Some(p))) if is_value(p));
            if steps.iter().any(buffered) {
                never(steps);
            }
        },
    ),
    fault(
        "load: from another element of an array",
        BOTH,
        Rule::Load,
        |site, steps| {
            other_element(site, steps);
        },
    ),
    fault(
        "load: changes the buffered value",
        BOTH,
        Rule::Load,
        |site, steps| {
            if let Some(Step::Load { dst, .. }) = site.original
                && let Some(Step::Assign {
                    value: Expr::Atom(LocalAtom::Local(from)),
                    ..
                }) = steps.last()
                && is_value(site.part(*from))
            {
                let from = *from;
                steps.push(assign(
                    from,
                    Expr::binary(BinOp::Add, local(*dst), Expr::Const(1)),
                ));
            }
        },
    ),
    // Full fences, atomic blocks, ends.
    fault("fence: does not wait", BOTH, Rule::Fence, no_wait),
    fault(
        "fence: waits for one of the buffers",
        PSO,
        Rule::Fence,
        |site, steps| {
            *steps = vec![site.first_empty()];
        },
    ),
    fault("atomic block: does not wait", BOTH, Rule::Atomic, no_wait),
    fault(
        "atomic block: waits for one of the buffers",
        PSO,
        Rule::Atomic,
        |site, steps| {
            *steps = vec![site.first_empty()];
        },
    ),
    fault(
        "reading block: waits",
        BOTH,
        Rule::Snapshot,
        |site, steps| {
            if let [Step::Atomic(atomic)] = &steps[..] {
                let span = palisade_program::Span::default();
                *steps = vec![guarded(site.all_empty(), atomic.kind, &atomic.body, span)];
            }
        },
    ),
    fault(
        "reading block: does not look into the buffer",
        BOTH,
        Rule::Snapshot,
        |site, steps| {
            *steps = site.original.cloned().into_iter().collect();
        },
    ),
    fault(
        "reading block: takes the oldest own store",
        BOTH,
        Rule::Snapshot,
        |site, steps| {
            if let [Step::Atomic(atomic)] = &mut steps[..] {
                for edge in &mut atomic.body.edges {
                    let step = std::slice::from_mut(&mut edge.step);
                    forward(site, step, &|cell, _| Part::Value(cell, 0));
                }
            }
        },
    ),
    fault("end: does not wait", BOTH, Rule::End, no_wait),
    fault(
        "end: waits for one of the buffers",
        PSO,
        Rule::End,
        |site, steps| {
            *steps = vec![site.first_empty()];
        },
    ),
    fault(
        "end: the buffers of a thread at its end do not drain",
        BOTH,
        Rule::Update,
        |site, steps| {
            if site.last {
                never(steps);
            }
        },
    ),
    // Store-store fences.
    fault(
        "store-store fence: waits",
        PSO,
        Rule::StoreStore,
        |site, steps| {
            let empty = |(i, part): (usize, &Part)| {
                is_count(*part).then(|| Step::Assume(equals(i.into(), 0)))
            };
            let empties: Vec<Step> = site
                .parts
                .locals
                .iter()
                .enumerate()
                .filter_map(empty)
                .collect();
            steps.splice(0..0, empties);
        },
    ),
    fault("store-store fence: dropped", PSO, Rule::StoreStore, no_wait),
    fault(
        "store-store fence: a store forgets its epoch",
        PSO,
        Rule::Store,
        |site, steps| {
            site.remove(steps, |to, _| is_epoch(to));
        },
    ),
    fault(
        "store-store fence: a store leaves at any time",
        PSO,
        Rule::Update,
        |site, steps| {
            site.unguard(steps, is_epoch);
        },
    ),
    fault(
        "store-store fence: stores of one epoch wait for each other",
        PSO,
        Rule::Update,
        |site, steps| {
            for step in steps {
                if let Step::Assume(cond) = step
                    && site.reads(cond, is_epoch)
                {
                    strictly(cond);
                }
            }
        },
    ),
    fault(
        "store-store fence: epochs do not move down",
        PSO,
        Rule::Update,
        |site, steps| {
            site.remove(steps, |to, from| is_epoch(to) && from.is_some());
        },
    ),
    fault(
        "store-store fence: epochs of stores are not renumbered",
        PSO,
        Rule::Update,
        |site, steps| {
            let renumbers = |s: &Step| matches!(s, Step::Assign { dst, value: Expr::Cond(..) } if is_epoch(site.part(*dst)));
            steps.retain(|s| !renumbers(s));
        },
    ),
    fault(
        "store-store fence: the current epoch is not renumbered",
        PSO,
        Rule::Update,
        |site, steps| {
            site.remove(steps, |to, _| to == Part::CurrentEpoch);
        },
    ),
];
