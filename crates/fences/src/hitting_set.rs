//! The *minimum-cost hitting set*: a cheapest placement that satisfies every
//! clause. A clause asks for at least one of its literals; a literal asks for one of
//! some levels at one decision. What levels mean is not known here: fences of a strength,
//! or memory orders.
//!
//! Exact, by branch and bound: an unsatisfied clause with fewest literals is
//! branched on, each branch making one literal true and the ones before it false,
//! so that no placement is looked at twice. The bound adds up the cheapest literal
//! of unsatisfied clauses that share no decision. Among placements of equal cost
//! the one found first is taken; the order of everything is fixed.

use crate::cost::{Cost, Costs};
use crate::plan::{Level, Placement};

/// A set of levels of one decision: bit n stands for the level with the number n.
pub type Levels = u16;

/// What there is to choose at a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// What each level costs, by its number. Level 0 is that without a fence.
    pub costs: Vec<Cost>,
    /// The levels that may be chosen.
    pub allowed: Levels,
    /// Fences that every other level than 0 puts into the text.
    pub fences: usize,
}

/// One of these levels at this decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Literal {
    /// The decision.
    pub decision: usize,
    /// The levels that make it true.
    pub levels: Levels,
}

/// One of the literals must be true. An empty clause cannot be satisfied.
pub type Clause = Vec<Literal>;

/// The clause that excludes a placement and everything below it: some decision
/// must exceed it.
pub fn exceeding(placement: &Placement, levels: &[Level]) -> Clause {
    let literal = |(decision, &level): (usize, &Level)| {
        let above = levels.iter().filter(|&&l| l > level);
        let levels = above.fold(0, |all, &l| all | 1 << l as u16);
        (levels != 0).then_some(Literal { decision, levels })
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
    const ALL: [Level; 3] = [Level::None, Level::StoreStore, Level::Full];
    let allowed = levels.iter().fold(1, |all, &l| all | 1 << l as u16);
    let choice = |costs: &Costs| Choice {
        costs: ALL.map(|level| costs.of(level)).to_vec(),
        allowed,
        fences: costs.fences,
    };
    let choices: Vec<Choice> = costs.iter().map(choice).collect();
    let chosen = cheapest(&choices, clauses, most)?;
    Some(Placement(chosen.into_iter().map(|l| ALL[l]).collect()))
}

/// The number of the level to take at each decision: all clauses are satisfied, with at most
/// `most` fences, at the least cost.
pub fn cheapest(choices: &[Choice], clauses: &[Clause], most: Option<usize>) -> Option<Vec<usize>> {
    let mut search = Search {
        choices,
        clauses,
        most: most.unwrap_or(usize::MAX),
        best: None,
    };
    let mut node: Vec<Levels> = choices.iter().map(|c| c.allowed).collect();
    search.branch(&mut node);
    search.best.map(|(_, chosen)| chosen)
}

struct Search<'a> {
    choices: &'a [Choice],
    clauses: &'a [Clause],
    most: usize,
    best: Option<(Cost, Vec<usize>)>,
}

impl Search<'_> {
    /// The cheapest of some levels, the first of these.
    fn cheapest(&self, decision: usize, levels: Levels) -> usize {
        let costs = &self.choices[decision].costs;
        let all = (0..costs.len()).filter(|l| levels & (1 << l) != 0);
        all.min_by_key(|&l| costs[l]).unwrap_or(0)
    }

    fn leaf(&self, node: &[Levels]) -> Vec<usize> {
        let decisions = node.iter().enumerate();
        decisions.map(|(d, &l)| self.cheapest(d, l)).collect()
    }

    fn cost(&self, chosen: &[usize]) -> Cost {
        let levels = self.choices.iter().zip(chosen);
        levels.fold(Cost::default(), |sum, (c, &l)| sum + c.costs[l])
    }

    /// `node` says which levels each decision may still have.
    fn branch(&mut self, node: &mut Vec<Levels>) {
        let chosen = self.leaf(node);
        let placed = self.choices.iter().zip(&*node);
        let placed = placed.filter(|(_, levels)| **levels & 1 == 0);
        let fences: usize = placed.map(|(choice, _)| choice.fences).sum();
        let Some(open) = self.open_literals(node) else {
            return;
        };
        if fences > self.most || !self.may_improve(node, self.cost(&chosen), &open) {
            return;
        }
        let Some(literals) = open.into_iter().min_by_key(Vec::len) else {
            self.best = Some((self.cost(&chosen), chosen));
            return;
        };
        let before = node.clone();
        for Literal { decision, levels } in literals {
            let own = node[decision];
            if own & levels == 0 {
                continue;
            }
            node[decision] = own & levels;
            self.branch(node);
            // The other branches do without this literal.
            node[decision] = own & !levels;
            if node[decision] == 0 {
                break;
            }
        }
        node.clone_from(&before);
    }

    /// For each unsatisfied clause the literals that can still be made true; nothing
    /// if some clause has none.
    fn open_literals(&self, node: &[Levels]) -> Option<Vec<Clause>> {
        let mut open = Vec::new();
        for clause in self.clauses {
            if clause.iter().any(|l| node[l.decision] & !l.levels == 0) {
                continue;
            }
            let can = |l: &&Literal| node[l.decision] & l.levels != 0;
            let literals: Clause = clause.iter().filter(can).copied().collect();
            if literals.is_empty() {
                return None;
            }
            open.push(literals);
        }
        Some(open)
    }

    fn may_improve(&self, node: &[Levels], so_far: Cost, open: &[Clause]) -> bool {
        let Some((best, _)) = &self.best else {
            return true;
        };
        let mut bound = signed(so_far);
        let mut used = vec![false; self.choices.len()];
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
    fn extra(&self, node: &[Levels], literal: Literal) -> (i128, i128) {
        let (d, own) = (literal.decision, node[literal.decision]);
        let costs = &self.choices[d].costs;
        let with = signed(costs[self.cheapest(d, own & literal.levels)]);
        let without = signed(costs[self.cheapest(d, own)]);
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

    fn at_least(decision: usize, least: Level, levels: &[Level]) -> Literal {
        let above = levels.iter().filter(|&&l| l >= least);
        let levels = above.fold(0, |all, &l| all | 1 << l as u16);
        Literal { decision, levels }
    }

    fn satisfies(placement: &Placement, clauses: &[Clause]) -> bool {
        let is_true = |l: &Literal| l.levels & (1 << placement.0[l.decision] as u16) != 0;
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
                        .map(|_| {
                            let decision = numbers.below(decisions as u64) as usize;
                            let least = levels[numbers.below(levels.len() as u64) as usize];
                            at_least(decision, least, levels)
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
        let levels = [Level::StoreStore, Level::Full];
        let expected = vec![
            at_least(1, Level::Full, &levels),
            at_least(2, Level::StoreStore, &levels),
        ];
        assert_eq!(clause, expected);
    }
}
