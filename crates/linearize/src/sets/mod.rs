//! *Sets* as sorted lists: a proof that one is linearizable, for any number of threads, nodes and values.
//!
//! *One key.* A set is the product of independent objects, one for each key, and linearizability is
//! local [Herlihy and Wing, TOPLAS 1990, s. 3.3]: a history is linearizable exactly if, for every key, its calls with
//! this key are. So one key is fixed, an arbitrary one, and nodes and arguments are less,
//! equal or greater. What a call with another key returns does not matter; what it does to the list does.
//!
//! *When calls take effect.* The key is in the set if a node with this key can be reached from the shared pointer
//! and is not marked. Which bit is the mark is found by trying. A step that changes this must be one of a
//! call with this key that has not yet changed it, and says `true` in the end: an `add` if the key is in afterwards, a
//! `remove` if it is not. It takes effect there. All other calls leave the set as it is, and may take
//! effect whenever it was as they say: a call that says that the key is in (out) is right if it was in
//! (out) at some time while the call ran. No commit points are needed.
//!
//! *The proof* is thread-modular: all views of single calls (`view`) that steps (`step`) and
//! interference (`interference`) lead to are computed (`fixpoint`). A step that is not understood is a [`Refusal`], so nothing is
//! concluded. Random runs of the program must be covered (`covered`). In the end the views are a [`Certificate`], which is
//! checked by an account of its own.
//!
//! | file | term |
//! |---|---|
//! | `object` | fields, bits and locks of the program |
//! | `view` | views: what they say |
//! | `consistent` | which of them can be |
//! | `heap` | links that are followed and written |
//! | `step` | steps of the call itself |
//! | `interference` | steps of other calls |
//! | `fixpoint` | all views |
//! | `covered` | random runs, whose views must have been found |
//! | [`certificate`] | the views as a certificate, and its check |

pub mod certificate;
mod consistent;
mod covered;
mod fixpoint;
mod heap;
mod interference;
mod object;
mod step;
mod view;

use std::fmt;
use std::sync::atomic::AtomicBool;

use palisade_program::Span;
use palisade_program::heap::Program;

pub use certificate::Certificate;

use crate::prove::{Unsupported, with_locks, without_aliases};
use fixpoint::{Fixpoint, Stuck};
use object::Object;
use view::Mark;

/// What the analysis cannot exclude, or does not understand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Refusal {
    /// A field of null is used.
    NullDereference,
    /// A lock is given back that is not held.
    NotHeld,
    /// A call returns with a lock.
    StillHeld,
    /// The condition of an `assert` does not hold.
    Assertion,
    /// The index of an array is out of range.
    Index,
    /// A result that the set does not explain.
    Result,
    /// A call takes effect twice.
    Twice,
    /// A call changes whether a key is in that is not its own.
    OthersKey,
    /// A node replaces another with the same key.
    Replaced,
    /// The set is not empty at first.
    NotEmpty,
    /// Keys in the list do not grow.
    Unsorted,
    /// A list becomes cyclic.
    Cycle,
    /// A part of the list is dropped that is not known.
    Lost,
    /// The link of a marked node is written.
    LinkOfMarked,
    /// A mark is taken back.
    Unmarked,
    /// The link of a node that has left the list is written.
    LinkOfLeft,
    /// A link is written that leads to a node that has left the list.
    LinkToLeft,
    /// The key of a node is written that others can reach.
    KeyOfShared,
    /// It takes too long.
    Stopped,
    /// A random run of the program is not explained.
    NotCovered(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NullDereference => "null may be dereferenced",
            Self::NotHeld => "a lock may be given back that is not held",
            Self::StillHeld => "a call may return with a lock",
            Self::Assertion => "an assertion may fail",
            Self::Index => "an index may be out of range",
            Self::Result => "the result may be wrong",
            Self::Twice => "a call may take effect twice",
            Self::OthersKey => "a call may change the set in a way that is not its own",
            Self::Replaced => "a node may take the place of one with the same key",
            Self::NotEmpty => "the set may not be empty at first",
            Self::Unsorted => "the list may not be sorted",
            Self::Cycle => "the list may become cyclic",
            Self::Lost => "nodes may be dropped from the list of which nothing is known",
            Self::LinkOfMarked => "the link of a marked node may be written",
            Self::Unmarked => "a mark may be taken back",
            Self::LinkOfLeft => "the link of a node may be written that has left the list",
            Self::LinkToLeft => "a node that has left the list may come back",
            Self::KeyOfShared => "the key of a node may be written that others can reach",
            Self::Stopped => "it takes too many views",
            Self::NotCovered(why) => why,
        })
    }
}

/// A proof, not yet checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proved {
    /// Views that were found.
    pub views: usize,
    /// Steps that others notice.
    pub actions: usize,
    /// The proof itself.
    pub certificate: Certificate,
}

/// Why there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unproved {
    /// What was not excluded.
    pub refusal: Refusal,
    /// In which method.
    pub method: String,
    /// At which step.
    pub span: Span,
}

/// Tries to prove that a set is linearizable. What looks like a spin lock is taken for a lock first.
///
/// # Errors
/// What the analysis has no words for.
pub fn prove(
    program: &Program,
    cancel: Option<&AtomicBool>,
) -> Result<Result<Proved, Unproved>, Unsupported> {
    let simple = &without_aliases(program);
    let locks = with_locks(simple);
    let fingerprint = certificate::fingerprint(program);
    let outcome = prove_plain(&locks, locks != *simple, fingerprint, cancel)?;
    if locks != *simple && outcome.is_err() {
        return prove_plain(simple, false, fingerprint, cancel);
    }
    Ok(outcome)
}

fn prove_plain(
    program: &Program,
    locks: bool,
    fingerprint: u128,
    cancel: Option<&AtomicBool>,
) -> Result<Result<Proved, Unproved>, Unsupported> {
    let object = Object::of(program)?;
    let mut last: Option<Stuck> = None;
    for mark in marks(&object) {
        match Fixpoint::of(&object, mark, cancel) {
            Ok(all) => {
                if let Some(why) = covered::objection(&all) {
                    return Ok(Err(Unproved {
                        refusal: Refusal::NotCovered(why),
                        method: String::new(),
                        span: Span::default(),
                    }));
                }
                return Ok(Ok(Proved {
                    views: all.views.len(),
                    actions: all.actions.len(),
                    certificate: all.certificate(fingerprint, locks),
                }));
            }
            // The one that has come furthest is most likely meant.
            Err(stuck) => {
                if last.as_ref().is_none_or(|last| last.views < stuck.views) {
                    last = Some(stuck);
                }
            }
        }
    }
    let unproved = last.map(|stuck| Unproved {
        refusal: stuck.refusal,
        method: object.parts[stuck.part].name.to_owned(),
        span: stuck.span,
    });
    // There is always a mark to try: none.
    Ok(Err(unproved.unwrap_or(Unproved {
        refusal: Refusal::Stopped,
        method: String::new(),
        span: Span::default(),
    })))
}

/// What may say that a node is not in the set: each bit with each value, or none.
fn marks(object: &Object<'_>) -> Vec<Mark> {
    let bits = (0..object.bits).flat_map(|bit| [Some((bit, true)), Some((bit, false))]);
    [None].into_iter().chain(bits).collect()
}
