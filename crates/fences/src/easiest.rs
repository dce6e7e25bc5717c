//! The *easiest* of several placements that cost the same. With more than two threads proofs are
//! what a synthesis spends its time on, and a store that needs no buffer
//! ([`palisade_verify::reduction::unbuffer`]) saves most of it: a fence behind two stores does as
//! much for the user as one between them, and leaves less to be proved.

use palisade_program::Model;
use palisade_verify::reduction::{Layer, Reduction, Stack};

use crate::hitting_set::{Clause, Literal};
use crate::plan::{Level, Placement};
use crate::synthesize::Synthesis;

/// Placements of the same cost that are compared before one is looked at.
const COMPARED: usize = 400;

impl Synthesis<'_, '_> {
    /// A placement of the same cost that satisfies all clauses and with which the most stores need
    /// no buffer: fences are moved one by one, as long as that makes more of them so.
    pub(crate) fn easiest(&self, placement: Placement) -> Placement {
        let is_buffered = matches!(self.plan.model, Model::Tso | Model::Pso);
        let copies = self.options.verify.copies();
        if self.options.all || !is_buffered || self.plan.program.instances(copies).len() <= 2 {
            return placement;
        }
        let fences = self.plan.fences(&placement).len();
        let cost = self.plan.cost(&placement);
        let mut best = (self.unbuffered(&placement), placement);
        let mut left = COMPARED;
        let mut improved = true;
        while improved {
            improved = false;
            let levels = best.1.0.iter().enumerate();
            let (free, placed): (Vec<_>, Vec<_>) =
                levels.partition(|(_, level)| **level == Level::None);
            let moves = placed
                .iter()
                .flat_map(|(from, level)| free.iter().map(move |(to, _)| (*from, *to, **level)));
            for (from, to, level) in moves.collect::<Vec<_>>() {
                let moved = best.1.with(from, Level::None).with(to, level);
                let is_as_good = self.plan.cost(&moved) == cost
                    && self.plan.fences(&moved).len() <= fences
                    && self.clauses.iter().all(|c| is_satisfied(c, &moved));
                if left == 0 || !is_as_good {
                    continue;
                }
                left -= 1;
                let unbuffered = self.unbuffered(&moved);
                if unbuffered > best.0 {
                    best = (unbuffered, moved);
                    improved = true;
                    break;
                }
            }
        }
        best.1
    }

    /// How many stores need no buffer.
    fn unbuffered(&self, placement: &Placement) -> usize {
        let options = palisade_verify::Options {
            model: self.plan.model,
            ..self.options.verify.clone()
        };
        let placed = self.plan.placed(placement);
        let stack = Stack::apply(placed.program(), &[Layer::Unbuffer], &options);
        stack.map_or(0, |stack| stack.unbuffered_stores())
    }
}

/// Whether a placement makes one of the literals true.
fn is_satisfied(clause: &Clause, placement: &Placement) -> bool {
    let holds = |l: &Literal| l.levels & (1 << placement.0[l.decision] as u16) != 0;
    clause.iter().any(holds)
}
