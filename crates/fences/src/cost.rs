//! *Costs* of fences. The usual cost counts full fences first and store-store
//! fences second; `loops` lets a fence inside loops cost ten times as much for
//! each loop around it; a table gives numbers, and then only their sum counts.

use std::ops::Add;

use palisade_program::Source;

use crate::plan::{Level, anchor};
use crate::site::Site;

/// What a placement costs: compared by the first number, then by the second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cost(pub u64, pub u64);

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(
            self.0.saturating_add(other.0),
            self.1.saturating_add(other.1),
        )
    }
}

/// How fences are weighed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Rule {
    /// Fewest full fences, then fewest store-store fences.
    #[default]
    Count,
    /// The same with weights: ten for each loop around the fence.
    Loops,
    /// By a table.
    Table(Table),
}

/// Costs that the user gives: for each kind, and for lines of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// A full fence anywhere else.
    pub full: u64,
    /// A store-store fence anywhere else.
    pub store_store: u64,
    /// Lines with costs of their own, by kind; the last that fits counts.
    pub lines: Vec<(u32, Level, u64)>,
}

/// Why a table of costs cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableError {
    /// The line of the table, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: &'static str,
}

impl Table {
    /// Reads a table: lines `full 10`, `ss 3`, `12 full 100`, `12 ss 7` (the line of
    /// the statement beside which the fence goes), `#` starts a comment.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut table = Self {
            full: 10,
            store_store: 1,
            lines: Vec::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> = line
                .split('#')
                .next()
                .unwrap_or("")
                .split_whitespace()
                .collect();
            let wrong = |message| TableError {
                line: index + 1,
                message,
            };
            let (place, kind, number) = match words[..] {
                [] => continue,
                [kind, number] => (None, kind, number),
                [place, kind, number] => (Some(place), kind, number),
                _ => return Err(wrong("expected `KIND COST` or `LINE KIND COST`")),
            };
            let level = match kind {
                "full" => Level::Full,
                "ss" => Level::StoreStore,
                _ => return Err(wrong("the kinds of fence are `full` and `ss`")),
            };
            let cost = number.parse::<u32>();
            let cost = cost.map_err(|_| wrong("the cost is no number from 0 to 4294967295"))?;
            let cost = u64::from(cost);
            match (place, level) {
                (Some(place), level) => {
                    let line = place.parse().map_err(|_| wrong("the line is no number"))?;
                    table.lines.push((line, level, cost));
                }
                (None, Level::Full) => table.full = cost,
                (None, Level::StoreStore | Level::None) => table.store_store = cost,
            }
        }
        Ok(table)
    }

    fn of(&self, line: u32, level: Level) -> u64 {
        let own = self.lines.iter().rfind(|l| l.0 == line && l.1 == level);
        own.map_or(
            match level {
                Level::None => 0,
                Level::StoreStore => self.store_store,
                Level::Full => self.full,
            },
            |l| l.2,
        )
    }
}

/// The costs of one decision, by level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    /// Of a store-store fence.
    pub store_store: Cost,
    /// Of a full fence.
    pub full: Cost,
    /// Fences that it puts into the text.
    pub fences: usize,
}

impl Costs {
    /// The cost of a level.
    pub const fn of(&self, level: Level) -> Cost {
        match level {
            Level::None => Cost(0, 0),
            Level::StoreStore => self.store_store,
            Level::Full => self.full,
        }
    }
}

/// The costs of fences at these sites, all or none.
pub fn costs<'s>(rule: &Rule, source: &Source, together: impl Iterator<Item = &'s Site>) -> Costs {
    let mut all = Costs {
        store_store: Cost::default(),
        full: Cost::default(),
        fences: 0,
    };
    for site in together {
        let line = anchor(source, &site.gap).line;
        let (store_store, full) = match rule {
            Rule::Count => (Cost(0, 1), Cost(1, 0)),
            Rule::Loops => {
                let weight = 10_u64.saturating_pow(site.depth);
                (Cost(0, weight), Cost(weight, 0))
            }
            Rule::Table(table) => (
                Cost(table.of(line, Level::StoreStore), 0),
                Cost(table.of(line, Level::Full), 0),
            ),
        };
        all.store_store = all.store_store + store_store;
        all.full = all.full + full;
        all.fences += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read() {
        let table = Table::parse("full 5 # all\n\n12 full 70\nss 2\n12 ss 3\n").unwrap();
        assert_eq!(table.of(1, Level::Full), 5);
        assert_eq!(table.of(12, Level::Full), 70);
        assert_eq!(table.of(12, Level::StoreStore), 3);
        assert_eq!(table.of(13, Level::StoreStore), 2);
        assert_eq!(table.of(12, Level::None), 0);
        for (text, line) in [("\nfence 1", 2), ("full", 1), ("full -1", 1), ("a ss 1", 1)] {
            assert_eq!(Table::parse(text).unwrap_err().line, line, "{text}");
        }
    }
}
