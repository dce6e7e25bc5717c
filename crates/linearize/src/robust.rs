//! *Robustness* [Bouajjani, Derevenetc and Meyer, ESOP 2013]: every run under TSO (PSO) is like one under SC, so that what
//! is proved under SC holds under TSO (PSO). A syntactic condition, in the manner of triangular races
//! [Owens, ECOOP 2010]: under TSO only a load that is executed while an earlier store of the thread waits can tell the difference, under
//! PSO also a store.
//!
//! An access is *silent* if no other thread can use the word before the thread's stores have reached memory:
//!
//! - the word is in a node that only one local of this call has ever pointed to, or
//! - the word is a shared variable or field that is accessed, but for nodes as above, only while the thread holds one and the same shared `lock`,
//!   and that no `never` names. Who takes the lock next does so after `unlock`, which waits for the stores.
//!
//! Others are *loud*. The program is robust if
//!
//! | at | under TSO | under PSO |
//! |---|---|---|
//! | a loud load | no loud store of the thread waits | the same |
//! | a loud store | | no store of the thread waits, silent or loud |
//! | a return, if calls are complete when they return | no loud store waits | the same |
//!
//! What may wait is found by following the edges of each method from its entry, where that may wait which may wait at some
//! return; a `cas`, `xchg`, `fetch_add`, `lock`, `unlock`, `fence` or atomic block leaves nothing.
//!
//! *Why.* Take a run with buffers, extended until they are empty.
//!
//! 1. A silent store may reach memory at once: between it and its flush no other thread uses the word, and the thread itself
//!    reads the same from its buffer. For a node of the call: others reach it by what the thread stores later. If they
//!    do by a loud store, that reaches memory later, by the order of the buffer (TSO) or since nothing waited (PSO); if
//!    by a store under a lock, they read that after `unlock`.
//! 2. A loud store may be executed when it reaches memory: what the thread does in between reads nothing that others write, but
//!    for its silent words, and writes nothing that others read. So all of it can be moved to where the store reaches memory, with a return and the
//!    call that begins after it. Loud stores of one thread reach memory in the order of the program, under PSO since
//!    only one waits at a time.
//!
//! That is a run under SC, with the same results, and the same steps that go wrong. The same shared variables are seen by
//! `never`, because stores that it could notice are loud, and the same lists when all buffers are empty, which is where cycles are
//! looked for. A call that returned while stores waited returns when they have reached memory, which is when it is complete, and a call may begin later: that only
//! adds to the order that a linearization must respect.
//!
//! Tested against the search with buffers (`tests/relaxed.rs`): no mutant that is robust has a violation within bounds that it does not have
//! under SC.

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::heap::{Body, Edge, Place, Program, Step, Term};
use palisade_program::{FieldId, LocId, SharedId, Span, StructId};

use crate::options::{Buffers, Options, Reclaim};
use crate::prove::quiet::private;

/// What a program may do that tells buffers from none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relaxation {
    /// A load, while an earlier store of the thread waits.
    Load,
    /// A store that may reach memory before an earlier one (PSO).
    Store,
    /// A return, while a store of the thread waits.
    Return,
    /// Nodes are given back to the allocator.
    Reclamation,
}

/// Where a program is not seen to be robust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotRobust {
    /// What may happen.
    pub what: Relaxation,
    /// The method.
    pub method: String,
    /// The step.
    pub span: Span,
}

impl std::fmt::Display for Relaxation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Load => "a load may come before an earlier store of the thread reaches memory",
            Self::Store => "a store may reach memory before an earlier one of the thread",
            Self::Return => "a call may return before its stores reach memory",
            Self::Reclamation => "nodes are given back to the allocator",
        })
    }
}

/// Words that are accessed alike: a shared variable, a field of all nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Word {
    Shared(SharedId),
    Field(StructId, FieldId),
}

/// What may wait in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Waiting {
    loud: bool,
    silent: bool,
}

impl Waiting {
    fn or(self, other: Self) -> Self {
        Self {
            loud: self.loud || other.loud,
            silent: self.silent || other.silent,
        }
    }
}

/// A method with what is known at its locations.
struct Known<'a> {
    name: &'a str,
    body: &'a Body,
    /// Locals that are the only pointers to nodes of the call.
    private: Vec<Vec<bool>>,
    /// Shared locks that are held for sure; `None` where no path leads.
    held: Vec<Option<BTreeSet<SharedId>>>,
}

impl Known<'_> {
    /// The word that an access which is not of a node of the call's own uses.
    fn word(&self, edge: &Edge) -> Option<Word> {
        let place = match &edge.step {
            Step::Read { from: place, .. }
            | Step::Write { to: place, .. }
            | Step::Cas { at: place, .. } => *place,
            // Locks are touched by these only.
            Step::Lock(_) | Step::Unlock(_) => return None,
            Step::Skip | Step::Fence | Step::Assume(_) | Step::Assign { .. } => return None,
            Step::Havoc { .. } | Step::New { .. } | Step::Free(_) => return None,
            Step::Compute { .. } | Step::Fail(_) | Step::Return(_) => return None,
        };
        match place {
            Place::Shared(id) => Some(Word::Shared(id)),
            Place::Field { of, .. } if self.private[edge.from.index()][of.index()] => None,
            Place::Field { of, field } => {
                let of = self.body.pointee(of)?;
                Some(Word::Field(of, field))
            }
        }
    }

    fn is_atomic(&self, edge: &Edge) -> bool {
        let atomic = |at: LocId| self.body.locations[at.index()].atomic;
        atomic(edge.from) || atomic(edge.to)
    }
}

/// Whether the program is robust.
///
/// # Errors
/// Where it is not seen to be.
pub fn robust(program: &Program, options: &Options) -> Result<(), NotRobust> {
    if options.reclaim != Reclaim::Never {
        return Err(NotRobust {
            what: Relaxation::Reclamation,
            method: String::new(),
            span: Span::default(),
        });
    }
    let methods: Vec<Known<'_>> = program
        .methods
        .iter()
        .map(|method| Known {
            name: &method.name,
            body: &method.body,
            private: private(&method.body),
            held: held(&method.body),
        })
        .collect();
    let guarded = guarded(program, &methods);
    let mut entry = Waiting::default();
    loop {
        let mut end = entry;
        for method in &methods {
            end = end.or(follow(method, &guarded, entry, options)?);
        }
        if end == entry {
            return Ok(());
        }
        entry = end;
    }
}

/// Shared locks that are held at each location, on all paths.
fn held(body: &Body) -> Vec<Option<BTreeSet<SharedId>>> {
    let mut all: Vec<Option<BTreeSet<SharedId>>> = vec![None; body.locations.len()];
    all[body.entry.index()] = Some(BTreeSet::new());
    loop {
        let mut changed = false;
        for edge in &body.edges {
            let Some(mut after) = all[edge.from.index()].clone() else {
                continue;
            };
            match edge.step {
                Step::Lock(Place::Shared(id)) => {
                    after.insert(id);
                }
                Step::Unlock(Place::Shared(id)) => {
                    after.remove(&id);
                }
                Step::Lock(Place::Field { .. }) | Step::Unlock(Place::Field { .. }) => {}
                Step::Skip | Step::Fence | Step::Assume(_) | Step::Assign { .. } => {}
                Step::Havoc { .. } | Step::New { .. } | Step::Free(_) => {}
                Step::Read { .. } | Step::Write { .. } | Step::Cas { .. } => {}
                Step::Compute { .. } | Step::Fail(_) | Step::Return(_) => {}
            }
            let here = &mut all[edge.to.index()];
            let next = match here {
                None => after,
                Some(here) => here.intersection(&after).copied().collect(),
            };
            changed |= here.as_ref() != Some(&next);
            *here = Some(next);
        }
        if !changed {
            return all;
        }
    }
}

/// Words that are accessed only while one and the same lock is held.
fn guarded(program: &Program, methods: &[Known<'_>]) -> BTreeSet<Word> {
    let mut locks: BTreeMap<Word, BTreeSet<SharedId>> = BTreeMap::new();
    for method in methods {
        for edge in &method.body.edges {
            let (Some(word), Some(held)) = (method.word(edge), &method.held[edge.from.index()])
            else {
                continue;
            };
            let known = locks.entry(word).or_insert_with(|| held.clone());
            *known = known.intersection(held).copied().collect();
        }
    }
    for never in &program.nevers {
        never.cond.for_each_term(&mut |term| {
            if let Term::Shared(id) = term {
                locks.insert(Word::Shared(id), BTreeSet::new());
            }
        });
    }
    let guarded = locks.into_iter().filter(|(_, locks)| !locks.is_empty());
    guarded.map(|(word, _)| word).collect()
}

/// What may wait at the returns of a method, if `entry` may at its start.
fn follow(
    method: &Known<'_>,
    guarded: &BTreeSet<Word>,
    entry: Waiting,
    options: &Options,
) -> Result<Waiting, NotRobust> {
    let body = method.body;
    let mut all: Vec<Option<Waiting>> = vec![None; body.locations.len()];
    all[body.entry.index()] = Some(entry);
    let mut open = vec![body.entry];
    let mut end = Waiting::default();
    while let Some(at) = open.pop() {
        let Some(here) = all[at.index()] else {
            continue;
        };
        for (_, edge) in body.leaving(at) {
            let not = |what: Relaxation| NotRobust {
                what,
                method: method.name.to_owned(),
                span: edge.span,
            };
            let loud = method
                .word(edge)
                .is_some_and(|word| !guarded.contains(&word));
            let mut after = here;
            match &edge.step {
                _ if method.is_atomic(edge) => after = Waiting::default(),
                Step::Cas { .. } | Step::Lock(_) | Step::Unlock(_) | Step::Fence => {
                    after = Waiting::default();
                }
                Step::Read { .. } if loud && here.loud => return Err(not(Relaxation::Load)),
                Step::Write { .. } if loud => {
                    if options.buffers == Buffers::Pso && (here.loud || here.silent) {
                        return Err(not(Relaxation::Store));
                    }
                    after.loud = true;
                }
                Step::Write { .. } => after.silent = true,
                Step::Return(_) => {
                    if options.real_time && here.loud {
                        return Err(not(Relaxation::Return));
                    }
                    end = end.or(here);
                }
                Step::Read { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
                Step::Havoc { .. } | Step::New { .. } | Step::Free(_) => {}
                Step::Compute { .. } | Step::Fail(_) => {}
            }
            let known = &mut all[edge.to.index()];
            let next = known.map_or(after, |known| known.or(after));
            if *known != Some(next) {
                *known = Some(next);
                open.push(edge.to);
            }
        }
    }
    Ok(end)
}
