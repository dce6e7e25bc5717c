//! *Knowledge*: what one verification leaves for the next of a similar program,
//! such as the same program with another fence. Predicates are kept with the names
//! of their variables and taken up where variables of these names are data; the
//! prover is kept with its sessions and with all answers that it remembers, and so are
//! the posts computed with it. All
//! are about numbers, not about programs: they save work and prove nothing. The encoding
//! that proved the last program is the first that is tried for the next.
//!
//! Predicates are kept only from searches that came to an end: those of a search
//! that gave up did not help.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use palisade_abstraction::posts::Posts;
use palisade_abstraction::space::Space;
use palisade_logic::{
    Atom, Formula, Limits, Names, Prover, Purpose, SolverStats, Substitution, Term, Var,
};
use rustc_hash::FxHashMap;

use crate::answer::Stats;
use crate::portfolio::Planned;
use crate::reduction::model::Encoding;

/// A predicate with the names of its variables.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct NamedAtom {
    atom: Atom,
    names: Vec<(u32, String)>,
}

/// What earlier verifications have left.
#[derive(Default)]
pub struct Knowledge {
    atoms: RefCell<BTreeSet<NamedAtom>>,
    /// The prover with the posts that were computed with it.
    prover: RefCell<Option<(Prover, Rc<RefCell<Posts>>)>>,
    /// The encoding of the memory model that proved the last program.
    proved_by: RefCell<Option<Encoding>>,
    /// Counts the queries of the prover.
    pub(crate) solver: Arc<SolverStats>,
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let predicates = self.atoms.borrow().len();
        f.debug_struct("Knowledge")
            .field("predicates", &predicates)
            .finish_non_exhaustive()
    }
}

impl Knowledge {
    /// New knowledge whose queries are counted with those of this one.
    pub(crate) fn apart(&self) -> Self {
        Self {
            solver: Arc::clone(&self.solver),
            ..Self::default()
        }
    }

    /// The prover and its posts, or new ones; they should be given back.
    pub(crate) fn take_prover(&self, limits: Limits) -> (Prover, Rc<RefCell<Posts>>) {
        if let Some((mut prover, posts)) = self.prover.borrow_mut().take() {
            prover.set_limits(limits);
            return (prover, posts);
        }
        (self.new_prover(limits), Rc::default())
    }

    /// A prover whose queries are counted here.
    pub(crate) fn new_prover(&self, limits: Limits) -> Prover {
        Prover::new(palisade_logic::Options {
            limits,
            stats: Arc::clone(&self.solver),
            ..palisade_logic::Options::default()
        })
    }

    /// Gives the prover back, with its posts.
    pub(crate) fn keep_prover(&self, prover: Prover, posts: Rc<RefCell<Posts>>) {
        *self.prover.borrow_mut() = Some((prover, posts));
    }

    /// Remembers the encoding that proved a program.
    pub(crate) fn proved_by(&self, encoding: &Encoding) {
        *self.proved_by.borrow_mut() = Some(encoding.clone());
    }

    /// The encodings with the one in front that proved the last program, if it is
    /// among them, or one of them with the cells that a run has asked for.
    pub(crate) fn in_order(&self, mut plan: Vec<Planned>) -> Vec<Planned> {
        let last = self.proved_by.borrow();
        let Some(last) = &*last else {
            return plan;
        };
        match plan.iter().position(|p| p.encoding == *last) {
            Some(at) => plan[..=at].rotate_right(1),
            None if plan.iter().any(|p| p.is_sized(last)) => plan.insert(0, Planned::known(last)),
            None => {}
        }
        plan
    }

    /// Posts that were not computed anew because an earlier search had computed them,
    /// of this program or of another.
    pub fn recalled_posts(&self) -> u64 {
        let prover = self.prover.borrow();
        prover
            .as_ref()
            .map_or(0, |(_, posts)| posts.borrow().recalled())
    }

    /// Remembers the predicates of a search over `space`.
    pub(crate) fn learn(&self, space: &Space<'_>, atoms: &[Atom]) {
        let mut known = self.atoms.borrow_mut();
        for atom in atoms {
            let mut vars: BTreeSet<u32> = BTreeSet::new();
            atom.term().for_each_var(&mut |var| {
                vars.insert(var.0);
            });
            let names = vars.into_iter().map(|v| (v, space.name(Var(v)))).collect();
            known.insert(NamedAtom {
                atom: atom.clone(),
                names,
            });
        }
    }

    /// The predicates that make sense in `space`.
    pub(crate) fn atoms(&self, space: &Space<'_>) -> BTreeSet<Atom> {
        let slots: FxHashMap<&str, u32> = space
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.explicit.is_none())
            .map(|(index, slot)| (slot.name.as_str(), index as u32))
            .collect();
        let known = self.atoms.borrow();
        known.iter().filter_map(|n| renamed(n, &slots)).collect()
    }

    /// Queries so far, by purpose, and those answered without the solver.
    pub(crate) fn counts(&self) -> (Vec<u64>, u64) {
        let calls = Purpose::ALL.iter().map(|p| self.solver.solver_calls(*p));
        (calls.collect(), self.solver.total_hits())
    }

    /// Puts the queries since `before` down in `stats`.
    pub(crate) fn count_since(&self, before: &(Vec<u64>, u64), stats: &mut Stats) {
        stats.solver_calls = Purpose::ALL
            .iter()
            .zip(&before.0)
            .map(|(p, before)| (p.name(), self.solver.solver_calls(*p) - before))
            .collect();
        stats.cache_hits = self.solver.total_hits() - before.1;
    }
}

/// The predicate over the slots that have its variables' names.
fn renamed(named: &NamedAtom, slots: &FxHashMap<&str, u32>) -> Option<Atom> {
    let mut substitution = Substitution::default();
    let mut moved = false;
    for (old, name) in &named.names {
        let new = *slots.get(name.as_str())?;
        moved |= new != *old;
        substitution.set(Var(*old), Term::var(Var(new)));
    }
    if !moved {
        return Some(named.atom.clone());
    }
    match Formula::from(named.atom.clone()).substitute(&substitution) {
        Ok(Formula::Literal(literal)) => Some(literal.atom),
        Ok(_) | Err(_) => None,
    }
}
