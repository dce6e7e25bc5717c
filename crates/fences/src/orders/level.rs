//! *Levels* of memory orders: what an access or a fence may have, as a finite partial order.
//!
//! | access | levels |
//! |---|---|
//! | load | relaxed < acquire < seq_cst |
//! | store | relaxed < release < seq_cst |
//! | read-modify-write | relaxed < acquire, release < acq_rel < seq_cst |
//! | compare-and-swap | the same for success; failure is a load's, and no stronger than success |
//! | fence | none < acquire, release < acq_rel < seq_cst |
//!
//! A higher level allows no run that is not there with a lower one: synchronises-with,
//! happens-before and the SC order only grow [Lahav et al., PLDI 2017, s. 3]. So a run that
//! exists with some orders exists with all weaker ones; `tests/orders.rs` checks that on random
//! programs.

use std::fmt;

use palisade_program::Order;

/// What carries an order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Carrier {
    /// A load.
    Load,
    /// A store.
    Store,
    /// A read-modify-write that always writes.
    Update,
    /// A compare-and-swap: it may fail, and then is a load.
    Swap,
    /// A fence.
    Fence,
}

impl Carrier {
    /// Its word in tables of costs and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Update | Self::Swap => "rmw",
            Self::Fence => "fence",
        }
    }

    /// All levels, from weak to strong; the first has no effect.
    pub fn levels(self) -> Vec<Strength> {
        use Order::{Acquire, Relaxed, Release, SeqCst};
        let orders: &[Order] = match self {
            Self::Load => &[Relaxed, Acquire, SeqCst],
            Self::Store => &[Relaxed, Release, SeqCst],
            Self::Update | Self::Fence | Self::Swap => &Order::ATOMIC,
        };
        let one = |&order: &Order| Strength {
            order,
            failing: None,
        };
        if self != Self::Swap {
            return orders.iter().map(one).collect();
        }
        let mut all = Vec::new();
        for &order in orders {
            for failing in [Relaxed, Acquire, SeqCst] {
                if is_below(failing, order) {
                    let failing = Some(failing);
                    all.push(Strength { order, failing });
                }
            }
        }
        all
    }
}

/// The order of an access or a fence; a relaxed fence is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Strength {
    /// The order; of a compare-and-swap that of success.
    pub order: Order,
    /// A compare-and-swap's order of failure.
    pub failing: Option<Order>,
}

impl Strength {
    /// Whether it allows every run that `other` allows.
    pub fn is_below(self, other: Self) -> bool {
        let failing = match (self.failing, other.failing) {
            (Some(a), Some(b)) => is_below(a, b),
            (None, _) => true,
            (Some(_), None) => false,
        };
        failing && is_below(self.order, other.order)
    }
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.order)?;
        match self.failing {
            Some(failing) => write!(f, ", {failing}"),
            None => Ok(()),
        }
    }
}

/// Whether an order is no stronger than another.
pub fn is_below(a: Order, b: Order) -> bool {
    const fn parts(order: Order) -> u8 {
        match order {
            Order::Plain | Order::Relaxed => 0,
            Order::Acquire => 1,
            Order::Release => 2,
            Order::AcqRel => 3,
            Order::SeqCst => 7,
        }
    }
    parts(a) & !parts(b) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Carrier; 5] = [
        Carrier::Load,
        Carrier::Store,
        Carrier::Update,
        Carrier::Swap,
        Carrier::Fence,
    ];

    #[test]
    fn levels_are_a_partial_order_with_a_least_and_a_greatest() {
        for carrier in ALL {
            let levels = carrier.levels();
            let (first, last) = (levels[0], levels[levels.len() - 1]);
            for &a in &levels {
                assert!(first.is_below(a) && a.is_below(last), "{carrier:?} {a}");
                for &b in &levels {
                    assert!(a == b || !(a.is_below(b) && b.is_below(a)), "{a} {b}");
                    let through = |c: &Strength| a.is_below(b) && b.is_below(*c);
                    assert!(levels.iter().filter(|c| through(c)).all(|c| a.is_below(*c)));
                }
            }
        }
    }

    #[test]
    fn failure_is_no_stronger_than_success() {
        let swaps = Carrier::Swap.levels();
        assert_eq!(swaps.len(), 9);
        let strong = |s: &&Strength| s.failing == Some(Order::Acquire);
        assert!(swaps.iter().filter(strong).all(|s| s.order.acquires()));
    }
}
