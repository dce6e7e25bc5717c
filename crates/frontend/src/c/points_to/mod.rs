//! *Points-to analysis*: which objects each pointer expression of a program may point to, in all runs, whatever
//! the schedule and the memory model. It runs before lowering, which follows a pointer case by case:
//! fewer objects are fewer cases.
//!
//! The analysis is Andersen's (inclusion constraints; see [Hind, PASTE 2001]), flow-insensitive, so that the order in
//! which stores reach memory does not matter, and context-insensitive. Abstract objects are variables, allocation
//! sites, string and compound literals, and functions. All of an object is one set: an object's members are not
//! kept apart, which makes casts, unions, copies of bytes and pointer arithmetic within an object harmless.
//!
//! | expression | constraint |
//! |---|---|
//! | `&x`, an array `x` | x is in the set of the expression |
//! | `a = b` | set of `b` is part of what `a` holds |
//! | `*p` | all that the objects of `p` hold |
//! | `*p = b` | the set of `b` is part of what each object of `p` holds |
//! | `f(b)`, `p(b)`, threads | `b` is part of what the parameters hold; the results are part of the call's set |
//! | arithmetic, also on integers | the sets of the operands |
//!
//! Integers have sets like pointers, so that a pointer may be an integer on its way. What is not known here, a function
//! without body for instance, passes on what its arguments reach. An expression or an object that the analysis
//! has not met is not restricted: lowering then takes all objects. And a pointer that points to none
//! of its objects fails a check of its own (`lower/place.rs`): a set that were too small would make a
//! verdict unknown, not wrong.

mod collect;
mod solve;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use palisade_program::Span;

use super::ast::{Expr, File};
use super::types::DataModel;
use collect::Collector;

/// Number of an abstract object.
type Id = u32;

/// The objects that a pointer may point to.
pub(super) type Targets = Rc<BTreeSet<Id>>;

/// What the analysis has found.
#[derive(Default)]
pub(super) struct PointsTo {
    /// By expression: it is known by where it is in the tree.
    sets: HashMap<*const Expr, Targets>,
    /// Abstract objects by where they are declared or allocated. Objects of one place are one.
    sites: HashMap<Span, Vec<Id>>,
    /// Variables of the top level that something may be stored to.
    written: HashSet<String>,
}

impl PointsTo {
    /// Analyses what `main` reaches.
    pub(super) fn of(file: &File, model: DataModel) -> Self {
        Collector::new(file, model).run()
    }

    /// What an expression may point to; `None` if nothing is known of it.
    pub(super) fn targets(&self, e: &Expr) -> Option<&Targets> {
        self.sets.get(&std::ptr::from_ref(e))
    }

    /// Whether a pointer with these targets may point to an object made at `site`.
    pub(super) fn may_be(&self, targets: &Targets, site: Span) -> bool {
        let known = self.sites.get(&site);
        known.is_none_or(|ids| ids.iter().any(|id| targets.contains(id)))
    }

    /// Whether something may be stored to a variable of the top level.
    pub(super) fn is_written(&self, name: &str) -> bool {
        self.written.contains(name)
    }
}
