//! *Costs* of orders: relaxed is free, acquire and release cost 1, `acq_rel` 2, `seq_cst` 4; a
//! fence costs more than the access that it stands for. What a compare-and-swap's failure costs
//! counts last. `loops` lets what stands inside loops cost ten times as much for
//! each loop; a table gives other numbers.

use palisade_program::Order;

use crate::cost::{Cost, TableError};

use super::level::{Carrier, Strength};

/// How orders are weighed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rule {
    /// Ten times as much for each loop around.
    pub loops: bool,
    /// Costs of the user's own; the last entry that fits counts.
    pub table: Vec<Entry>,
}

/// A line of a table of costs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    line: Option<u32>,
    carrier: &'static str,
    order: Order,
    cost: u64,
}

impl Rule {
    /// Reads a table: lines `load acquire 2`, `12 fence seq_cst 100` (the line of the source),
    /// `#` starts a comment.
    ///
    /// # Errors
    /// Where a line is none.
    pub fn table(text: &str) -> Result<Self, TableError> {
        let mut table = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("");
            let words: Vec<&str> = line.split_whitespace().collect();
            let wrong = |message| TableError {
                line: index + 1,
                message,
            };
            let (place, carrier, order, number) = match words[..] {
                [] => continue,
                [carrier, order, number] => (None, carrier, order, number),
                [place, carrier, order, number] => (Some(place), carrier, order, number),
                _ => {
                    return Err(wrong(
                        "expected `KIND ORDER COST` or `LINE KIND ORDER COST`",
                    ));
                }
            };
            let carriers = [
                Carrier::Load,
                Carrier::Store,
                Carrier::Update,
                Carrier::Fence,
            ];
            let carrier = carriers.iter().map(|c| c.name()).find(|n| *n == carrier);
            let carrier = carrier.ok_or_else(|| wrong("the kinds are load, store, rmw, fence"))?;
            let order = Order::named(order).ok_or_else(|| wrong("this is no memory order"))?;
            let line = place.map(str::parse).transpose();
            let line = line.map_err(|_| wrong("the line is no number"))?;
            let cost = number.parse::<u32>();
            let cost = cost.map_err(|_| wrong("the cost is no number from 0 to 4294967295"))?;
            table.push(Entry {
                line,
                carrier,
                order,
                cost: cost.into(),
            });
        }
        let loops = false;
        Ok(Self { loops, table })
    }

    fn of(&self, carrier: Carrier, order: Order, line: u32) -> u64 {
        let fits = |e: &&Entry| {
            e.carrier == carrier.name() && e.order == order && e.line.is_none_or(|l| l == line)
        };
        let usual = match (carrier, order) {
            (_, Order::Plain | Order::Relaxed) => 0,
            (Carrier::Fence, Order::Acquire | Order::Release) => 3,
            (Carrier::Fence, Order::AcqRel) => 4,
            (Carrier::Fence, Order::SeqCst) => 8,
            (_, Order::Acquire | Order::Release) => 1,
            (_, Order::AcqRel) => 2,
            (_, Order::SeqCst) => 4,
        };
        self.table.iter().rfind(fits).map_or(usual, |e| e.cost)
    }

    /// What each level costs, at this line inside so many loops.
    pub fn costs(&self, carrier: Carrier, levels: &[Strength], line: u32, depth: u32) -> Vec<Cost> {
        let weight = if self.loops {
            10_u64.saturating_pow(depth)
        } else {
            1
        };
        let cost = |level: &Strength| {
            let failing = level.failing.map_or(0, |o| self.of(Carrier::Load, o, line));
            let order = self.of(carrier, level.order, line);
            Cost(order.saturating_mul(weight), failing.saturating_mul(weight))
        };
        levels.iter().map(cost).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read() {
        let rule = Rule::table("load acquire 7 # all\n\n3 rmw seq_cst 9\n").unwrap();
        assert_eq!(rule.of(Carrier::Load, Order::Acquire, 1), 7);
        assert_eq!(rule.of(Carrier::Swap, Order::SeqCst, 3), 9);
        assert_eq!(rule.of(Carrier::Swap, Order::SeqCst, 4), 4);
        for (text, line) in [("\nrmw 1", 2), ("full acquire 1", 1), ("load weak 1", 1)] {
            assert_eq!(Rule::table(text).unwrap_err().line, line, "{text}");
        }
    }
}
