//! The *minimum-cost hitting set*: a cheapest placement that satisfies every
//! clause. A clause asks for at least one of its literals; a literal asks for at
//! least some level at one decision.
//!
//! Exact, by branch and bound: an unsatisfied clause with fewest literals is
//! branched on, each branch making one literal true and the ones before it false,
//! so that no placement is looked at twice. The bound adds up the cheapest literal
//! of unsatisfied clauses that share no decision. Among placements of equal cost
//! the one found first is taken; the order of everything is fixed.

use crate::cost::{Cost, Costs};
use crate::plan::{Level, Placement};

/// At least this level at this decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Literal {
    /// The decision.
    pub decision: usize,
    /// The least level.
    pub least: Level,
}

/// One of the literals must be true. An empty clause cannot be satisfied.
pub type Clause = Vec<Literal>;

/// The clause that excludes a placement and everything below it: some decision
/// must exceed it.
pub fn exceeding(placement: &Placement, levels: &[Level]) -> Clause {
    let literal = |(decision, &level): (usize, &Level)| {
        let least = levels.iter().copied().find(|&l| l > level)?;
        Some(Literal { decision, least })
    };
    placement.0.iter().enumerate().filter_map(literal).collect()
}

/// The cheapest placement that satisfies all clauses with at most `most` fences.
pub fn minimum(
    costs: &[Costs],
    levels: &[Level],
    clauses: &[Clause],
    most: Option<usize>,
) -> Option<Placement> {
    let mut search = Search {
        costs,
        levels,
        clauses,
        most: most.unwrap_or(usize::MAX),
        best: None,
    };
    let mut node = Node {
        floor: vec![Level::None; costs.len()],
        ceiling: vec![Level::Full; costs.len()],
    };
    search.branch(&mut node);
    search.best.map(|(_, placement)| placement)
}

struct Search<'a> {
    costs: &'a [Costs],
    levels: &'a [Level],
    clauses: &'a [Clause],
    most: usize,
    best: Option<(Cost, Placement)>,
}

/// What is decided so far: a range of levels for each decision.
struct Node {
    floor: Vec<Level>,
    ceiling: Vec<Level>,
}

impl Search<'_> {
    /// The cheapest level between two, the lowest of these.
    fn cheapest(&self, decision: usize, floor: Level, ceiling: Level) -> Level {
        let between = self.levels.iter().copied();
        let between = between.filter(|l| (floor..=ceiling).contains(l));
        let none = (floor == Level::None).then_some(Level::None);
        let cost = |l: &Level| self.costs[decision].of(*l);
        none.into_iter()
            .chain(between)
            .min_by_key(cost)
            .unwrap_or(floor)
    }

    fn leaf(&self, node: &Node) -> Placement {
        let ranges = node.floor.iter().zip(&node.ceiling).enumerate();
        Placement(
            ranges
                .map(|(d, (&floor, &ceiling))| self.cheapest(d, floor, ceiling))
                .collect(),
        )
    }

    fn cost(&self, placement: &Placement) -> Cost {
        let levels = self.costs.iter().zip(&placement.0);
        levels.fold(Cost::default(), |sum, (c, &l)| sum + c.of(l))
    }

    fn branch(&mut self, node: &mut Node) {
        let placement = self.leaf(node);
        let fences: usize = self
            .costs
            .iter()
            .zip(&node.floor)
            .filter(|(_, floor)| **floor > Level::None)
            .map(|(costs, _)| costs.fences)
            .sum();
        let Some(open) = self.open_literals(node) else {
            return;
        };
        if fences > self.most || !self.may_improve(node, self.cost(&placement), &open) {
            return;
        }
        let Some(literals) = open.into_iter().min_by_key(Vec::len) else {
            self.best = Some((self.cost(&placement), placement));
            return;
        };
        let mut lowered = Vec::new();
        for Literal { decision, least } in literals {
            let floor = std::mem::replace(&mut node.floor[decision], least);
            self.branch(node);
            node.floor[decision] = floor;
            // The other branches do without this literal.
            let below = self.levels.iter().copied().rfind(|&l| l < least);
            let below = below.unwrap_or(Level::None);
            if below < floor {
                break;
            }
            lowered.push((decision, node.ceiling[decision]));
            node.ceiling[decision] = below;
        }
        for (decision, ceiling) in lowered.into_iter().rev() {
            node.ceiling[decision] = ceiling;
        }
    }

    /// For each unsatisfied clause the literals that can still be made true; nothing
    /// if some clause has none.
    fn open_literals(&self, node: &Node) -> Option<Vec<Clause>> {
        let mut open = Vec::new();
        for clause in self.clauses {
            if clause.iter().any(|l| node.floor[l.decision] >= l.least) {
                continue;
            }
            let can = |l: &&Literal| node.ceiling[l.decision] >= l.least;
            let literals: Clause = clause.iter().filter(can).copied().collect();
            if literals.is_empty() {
                return None;
            }
            open.push(literals);
        }
        Some(open)
    }

    fn may_improve(&self, node: &Node, so_far: Cost, open: &[Clause]) -> bool {
        let Some((best, _)) = &self.best else {
            return true;
        };
        let mut bound = signed(so_far);
        let mut used = vec![false; self.costs.len()];
        for clause in open {
            if clause.iter().any(|l| used[l.decision]) {
                continue;
            }
            for literal in clause {
                used[literal.decision] = true;
            }
            let extra = clause.iter().map(|l| self.extra(node, *l)).min();
            let extra = extra.unwrap_or_default();
            bound = (bound.0 + extra.0, bound.1 + extra.1);
        }
        bound < signed(*best)
    }

    /// What making a literal true adds to the cost. The second number may go down:
    /// a full fence takes the place of a store-store fence.
    fn extra(&self, node: &Node, literal: Literal) -> (i128, i128) {
        let (d, ceiling) = (literal.decision, node.ceiling[literal.decision]);
        let costs = &self.costs[d];
        let with = signed(costs.of(self.cheapest(d, literal.least, ceiling)));
        let without = signed(costs.of(self.cheapest(d, node.floor[d], ceiling)));
        (with.0 - without.0, with.1 - without.1)
    }
}

fn signed(cost: Cost) -> (i128, i128) {
    (i128::from(cost.0), i128::from(cost.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from a linear congruence: enough variety for small sets.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 33) % n
        }
    }

    fn satisfies(placement: &Placement, clauses: &[Clause]) -> bool {
        let is_true = |l: &Literal| placement.0[l.decision] >= l.least;
        clauses.iter().all(|c| c.iter().any(is_true))
    }

    fn all_placements(decisions: usize, levels: &[Level]) -> Vec<Placement> {
        let mut all = vec![Placement(Vec::new())];
        for _ in 0..decisions {
            let extended = all.iter().flat_map(|p| {
                let levels = std::iter::once(Level::None).chain(levels.iter().copied());
                levels.map(|l| Placement(p.0.iter().copied().chain([l]).collect()))
            });
            all = extended.collect();
        }
        all
    }

    fn random_costs(numbers: &mut Numbers, by_table: bool) -> Costs {
        let (ss, full) = (numbers.below(5), numbers.below(5));
        Costs {
            store_store: if by_table {
                Cost(ss, 0)
            } else {
                Cost(0, 1 + ss)
            },
            full: if by_table {
                Cost(full, 0)
            } else {
                Cost(1 + full, 0)
            },
            fences: 1 + numbers.below(2) as usize,
        }
    }

    #[test]
    fn as_cheap_as_the_best_of_all() {
        let mut numbers = Numbers(7);
        for round in 0..400 {
            let levels: &[Level] = if round % 2 == 0 {
                &[Level::Full]
            } else {
                &[Level::StoreStore, Level::Full]
            };
            let decisions = 1 + numbers.below(5) as usize;
            let costs: Vec<Costs> = (0..decisions)
                .map(|_| random_costs(&mut numbers, round % 3 == 0))
                .collect();
            let clauses: Vec<Clause> = (0..numbers.below(6))
                .map(|_| {
                    (0..=numbers.below(3))
                        .map(|_| Literal {
                            decision: numbers.below(decisions as u64) as usize,
                            least: levels[numbers.below(levels.len() as u64) as usize],
                        })
                        .collect()
                })
                .collect();
            let most = (round % 5 == 0).then(|| numbers.below(4) as usize);
            let cost = |p: &Placement| {
                let levels = costs.iter().zip(&p.0);
                levels.fold(Cost::default(), |sum, (c, &l)| sum + c.of(l))
            };
            let few = |p: &Placement| {
                let fences = costs.iter().zip(&p.0).filter(|(_, l)| **l > Level::None);
                fences.map(|(c, _)| c.fences).sum::<usize>() <= most.unwrap_or(usize::MAX)
            };
            let all = all_placements(decisions, levels);
            let right = all.iter().filter(|p| satisfies(p, &clauses) && few(p));
            let best = right.map(cost).min();
            let found = minimum(&costs, levels, &clauses, most);
            assert_eq!(found.as_ref().map(cost), best, "{clauses:?} {costs:?}");
            assert!(found.is_none_or(|p| satisfies(&p, &clauses) && few(&p)));
        }
    }

    #[test]
    fn exceeding_excludes_what_lies_below() {
        let placement = Placement(vec![Level::Full, Level::StoreStore, Level::None]);
        let clause = exceeding(&placement, &[Level::StoreStore, Level::Full]);
        let literal = |decision, least| Literal { decision, least };
        let expected = vec![literal(1, Level::Full), literal(2, Level::StoreStore)];
        assert_eq!(clause, expected);
    }
}
