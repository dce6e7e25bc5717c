//! *Memory orders* of C11 [Batty et al., POPL 2011; Lahav et al., PLDI 2017]: what a load, a
//! store or a fence asks of the accesses around it. Only the model RC11 goes by them. For SC,
//! TSO and PSO a front end turns them into fences ([`Orders::Mapped`]).
//!
//! | | load | store | fence |
//! |---|---|---|---|
//! | [`Order::Plain`] | not atomic: may race | the same | - |
//! | [`Order::Relaxed`] | coherence only | the same | nothing |
//! | [`Order::Acquire`] | brings what a release published | - | for the loads before it |
//! | [`Order::Release`] | - | publishes what is known | for the stores behind it |
//! | [`Order::AcqRel`] | both, of a read-modify-write | | both |
//! | [`Order::SeqCst`] | both, and in one order of all such events | | the same |

use std::fmt;

/// The order of an access or a fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Order {
    /// No atomic access.
    #[default]
    Plain,
    /// `memory_order_relaxed`
    Relaxed,
    /// `memory_order_acquire`; `consume` is taken as this.
    Acquire,
    /// `memory_order_release`
    Release,
    /// `memory_order_acq_rel`
    AcqRel,
    /// `memory_order_seq_cst`
    SeqCst,
}

impl Order {
    /// All that can be written, from weak to strong.
    pub const ATOMIC: [Self; 5] = [
        Self::Relaxed,
        Self::Acquire,
        Self::Release,
        Self::AcqRel,
        Self::SeqCst,
    ];

    /// Whether it has the strength of acquire.
    pub const fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether it has the strength of release.
    pub const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }

    /// This order; where the access has none, that of the program's plain accesses.
    #[must_use]
    pub fn or(self, default: Self) -> Self {
        if self == Self::Plain { default } else { self }
    }

    /// The order that its name says.
    pub fn named(name: &str) -> Option<Self> {
        Self::ATOMIC
            .into_iter()
            .find(|order| order.to_string() == name)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::SeqCst => "seq_cst",
        })
    }
}

/// What a front end has made of memory orders: which models a program is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Orders {
    /// They are fences now, as compilers for x86 and SPARC would place them: the program is for
    /// SC, TSO, PSO and RMA.
    #[default]
    Mapped,
    /// They are in the steps: the program is for RC11.
    Kept,
}

impl crate::Program {
    /// A variable with SC accesses and weaker ones, in a program with SC fences, and where it
    /// is accessed SC. What a fence then asks of a SC access depends on how the thread of
    /// the fence has learned of a store, which the accounts of RC11 do not distinguish.
    pub fn mixed_seq_cst(&self) -> Option<crate::Span> {
        let mut fenced = false;
        let mut seq_cst = std::collections::BTreeMap::new();
        let mut weak = std::collections::BTreeSet::new();
        for template in &self.templates {
            for edge in &template.cfg.edges {
                let block = edge.step.block();
                let default = match block.map(|b| b.kind) {
                    None => Order::Plain,
                    Some(crate::AtomicKind::Lock) => Order::Acquire,
                    Some(crate::AtomicKind::Unlock) => Order::Release,
                    Some(_) => Order::SeqCst,
                };
                let inner = block.into_iter().flat_map(|b| &b.body.edges);
                for step in std::iter::once(edge).chain(inner).map(|e| &e.step) {
                    fenced |= matches!(
                        step,
                        crate::Step::Fence(
                            crate::FenceKind::Full | crate::FenceKind::Ordered(Order::SeqCst)
                        )
                    );
                    let Some(place) = step.loaded().or(step.stored()) else {
                        continue;
                    };
                    let order = place.order.or(default);
                    if order == Order::SeqCst {
                        seq_cst.entry(place.var).or_insert(edge.span);
                    }
                    let strong = match step.stored() {
                        Some(_) => order.releases(),
                        None => order.acquires(),
                    };
                    if !strong {
                        weak.insert(place.var);
                    }
                }
            }
        }
        let mut both = seq_cst.iter().filter(|(var, _)| weak.contains(var));
        both.next().filter(|_| fenced).map(|(_, span)| *span)
    }
}
