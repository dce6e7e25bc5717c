//! *Scopes*: where a predicate lives [Donaldson et al., CAV 2011]. A predicate over shared variables is
//! *shared*, one over the locals of a replicated thread is *local*, one over both is
//! *mixed* (definition 1). Local and mixed predicates have a copy in every thread. A
//! step of one thread, the *active* one, may change mixed predicates of all others,
//! the *passive* ones, which are then notified.
//!
//! | paper | here |
//! |---|---|
//! | `V_S`, `V_L` | [`Scopes::owner_of`] is none, or a copy of a template |
//! | Loc(phi) (definitions 2, 3) | the variables of a predicate |
//! | targets(x, d) (definition 4) | the variables that a branch writes |
//! | affects(x, phi, d) | [`affects`] |
//! | `must_notify(x, phi, d)` (section 3.2, refined) | [`must_notify`] |
//! | \[phi\], phi in a passive thread | the *twin* of phi |
//!
//! There are no pointers here: front ends follow a pointer case by case, and a branch
//! ([`palisade_abstraction::command`]) is one case, so targets and loc are exact for it. That is
//! where the precision of section 3.2 comes from: a write through `p` that may go to
//! `t` or to the local `l` is two branches, of which none writes `s`, and a predicate
//! `s > l` is not broadcast.
//!
//! The space has two copies of every replicated template: the first acts, the second
//! stands for all passive ones. Locals of threads that run once are shared.
//! A predicate over two copies is neither; it is refused.

use std::collections::BTreeSet;

use palisade_logic::substitute::Substitution;
use palisade_logic::{Atom, Formula, Term, Var};
use palisade_program::symmetry::Symmetry;
use palisade_program::{Count, Instance, LocalAtom, LocalId, Program, PropAtom, Span};

use palisade_abstraction::command::Unsupported;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::{SlotKind, Space};
use palisade_abstraction::valuation::PredId;

/// Where a predicate lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Over shared variables only.
    Shared,
    /// Over the locals of this thread only.
    Local(usize),
    /// Over both.
    Mixed(usize),
}

/// Whether writing `targets` may change a predicate over `loc`: both sorted or not,
/// they meet.
pub fn affects(targets: &[Var], loc: &[Var]) -> bool {
    targets.iter().any(|v| loc.contains(v))
}

/// Whether passive threads must be told that `targets` were written, for a predicate
/// over `loc`: a shared variable of it is among them, and it has a local.
pub fn must_notify(targets: &[Var], loc: &[Var], is_shared: impl Fn(Var) -> bool) -> bool {
    let shared = |v: &&Var| is_shared(**v);
    targets.iter().filter(shared).any(|v| loc.contains(v)) && loc.iter().any(|v| !is_shared(*v))
}

/// The scopes of a program's predicates.
#[derive(Clone, Debug)]
pub struct Scopes {
    /// For each thread of the space, if its template is replicated: the first copy.
    first: Vec<Option<usize>>,
    /// By predicate.
    of: Vec<Scope>,
    /// By predicate: the one of the first copy, which gives it its name.
    origin: Vec<PredId>,
}

impl Scopes {
    /// The threads of a space with scopes.
    pub fn instances(program: &Program) -> Vec<Instance> {
        let mut all = Vec::new();
        for template in program.template_ids() {
            let copies = match program.template(template).count {
                Count::Once => 1,
                Count::Fixed(_) | Count::Any => 2,
            };
            all.extend((0..copies).map(|copy| Instance { template, copy }));
        }
        all
    }

    /// The table of predicates: each atom for the active and for a passive copy.
    pub fn new(
        space: &Space<'_>,
        atoms: impl IntoIterator<Item = Atom>,
    ) -> Result<(Predicates, Self), Unsupported> {
        let first = (0..space.threads.len()).map(|t| first_copy(space, t));
        let mut scopes = Self {
            first: first.collect(),
            of: Vec::new(),
            origin: Vec::new(),
        };
        let mut table = Predicates::default();
        for atom in atoms {
            scopes.add(space, &mut table, &atom)?;
        }
        Ok((table, scopes))
    }

    fn add(
        &mut self,
        space: &Space<'_>,
        table: &mut Predicates,
        atom: &Atom,
    ) -> Result<(), Unsupported> {
        let vars: Vec<Var> = Formula::from(atom.clone())
            .free_vars()
            .into_iter()
            .collect();
        let owners: BTreeSet<usize> = vars
            .iter()
            .filter_map(|v| self.owner_of(space, *v))
            .collect();
        let mut owners = owners.into_iter();
        let owner = owners.next();
        if owners.next().is_some() {
            let shown = Formula::from(atom.clone());
            let what = format!("the predicate {} over two threads", shown.display(space));
            return Err(no(what));
        }
        let Some(owner) = owner else {
            self.insert(table, atom.clone(), Scope::Shared, None);
            return Ok(());
        };
        let template = space.threads[owner].template;
        let local = vars.iter().all(|v| self.owner_of(space, *v).is_some());
        let copies = (0..space.threads.len()).filter(|t| space.threads[*t].template == template);
        let mut origin = None;
        for copy in copies {
            let renamed = renamed(space, atom, owner, copy)?;
            let scope = if local {
                Scope::Local(copy)
            } else {
                Scope::Mixed(copy)
            };
            origin = Some(self.insert(table, renamed, scope, origin));
        }
        Ok(())
    }

    fn insert(
        &mut self,
        table: &mut Predicates,
        atom: Atom,
        scope: Scope,
        origin: Option<PredId>,
    ) -> PredId {
        let (id, new) = table.add(atom);
        if new {
            self.of.push(scope);
            self.origin.push(origin.unwrap_or(id));
        }
        self.origin[id]
    }

    /// The replicated thread that a variable belongs to.
    pub fn owner_of(&self, space: &Space<'_>, var: Var) -> Option<usize> {
        match space.slots.get(var.0 as usize)?.kind {
            SlotKind::Cell(_) => None,
            SlotKind::Local(thread, _) => self.first[thread].map(|_| thread),
        }
    }

    /// Where a predicate lives.
    pub fn scope(&self, p: PredId) -> Scope {
        self.of[p]
    }

    /// The replicated thread that a predicate belongs to.
    pub fn owner(&self, p: PredId) -> Option<usize> {
        match self.of[p] {
            Scope::Shared => None,
            Scope::Local(thread) | Scope::Mixed(thread) => Some(thread),
        }
    }

    /// The predicate of the first copy that `p` is, or is the twin of.
    pub fn origin(&self, p: PredId) -> PredId {
        self.origin[p]
    }

    /// Whether a thread is one of several.
    pub fn is_replicated(&self, thread: usize) -> bool {
        self.first[thread].is_some()
    }

    /// Whether a thread only stands for passive ones.
    pub fn is_twin(&self, thread: usize) -> bool {
        self.first[thread].is_some_and(|first| first != thread)
    }

    /// The passive threads of `thread`'s kind, as seen by `active`, are told by this
    /// one: another copy of the active thread's template, the first of other ones.
    pub fn stands_for_passive(&self, thread: usize, active: usize) -> bool {
        match self.first[thread] {
            None => false,
            Some(first) if first == active => thread != active,
            Some(first) => thread == first,
        }
    }
}

/// The first copy of a replicated thread's template.
fn first_copy(space: &Space<'_>, thread: usize) -> Option<usize> {
    let template = space.threads[thread].template;
    let replicated = space.program.template(template).count != Count::Once;
    let mut threads = space.threads.iter();
    let first = threads.position(|t| t.template == template);
    first.filter(|_| replicated)
}

fn no(what: String) -> Unsupported {
    Unsupported {
        what,
        span: Span::default(),
    }
}

/// An atom over the locals of thread `from` for thread `to`.
fn renamed(space: &Space<'_>, atom: &Atom, from: usize, to: usize) -> Result<Atom, Unsupported> {
    let mut renaming = Substitution::default();
    let template = space.program.template(space.threads[from].template);
    for local in (0..template.locals.len()).map(LocalId::from) {
        let var = |thread: usize| Var(space.local_slot(thread, local) as u32);
        renaming.set(var(from), Term::var(var(to)));
    }
    let formula = Formula::from(atom.clone());
    let formula = formula.substitute(&renaming);
    let formula = formula.map_err(|e| no(e.to_string()))?;
    let mut atoms = formula.atoms().into_iter();
    match (atoms.next(), atoms.next()) {
        (Some(atom), None) if Formula::from(atom.clone()) == formula => Ok(atom),
        _ => Err(no("a predicate that differs between copies".to_owned())),
    }
}

/// Why a program's threads cannot be kept as templates: they differ, or use `self`.
pub fn obstacle(program: &Program) -> Option<Unsupported> {
    let symmetry = Symmetry::of(program);
    for id in program.template_ids() {
        let template = program.template(id);
        if template.count == Count::Once {
            continue;
        }
        if let Some(asymmetry) = symmetry.asymmetry(id) {
            return Some(Unsupported {
                what: asymmetry.reason.clone(),
                span: asymmetry.span,
            });
        }
        for edge in &template.cfg.edges {
            let mut uses_self = false;
            edge.step.for_each_expr(&mut |e| {
                e.for_each_atom(&mut |a| uses_self |= matches!(a, LocalAtom::SelfId));
            });
            if uses_self {
                return Some(Unsupported {
                    what: "`self` in the Boolean program of a template".to_owned(),
                    span: edge.span,
                });
            }
        }
    }
    for hint in &program.hints {
        let mut uses_self = false;
        let mut atom = |a: &PropAtom| uses_self |= matches!(a, PropAtom::SelfOf(_));
        hint.expr.for_each_atom(&mut atom);
        if uses_self {
            return Some(Unsupported {
                what: "`self` in a predicate of a template".to_owned(),
                span: hint.span,
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 3.2: `s > l` and a write that may go to `t` or to the local `l`.
    #[test]
    fn notification_is_refined() {
        let (s, t, l) = (Var(0), Var(1), Var(2));
        let is_shared = |v: Var| v != l;
        let loc = [s, l];
        assert!(affects(&[t, l], &loc));
        assert!(!must_notify(&[t, l], &loc, is_shared));
        assert!(must_notify(&[s], &loc, is_shared));
        // A shared predicate changes for all at once, a local one for its thread only.
        assert!(affects(&[s], &[s, t]) && !must_notify(&[s], &[s, t], is_shared));
        assert!(affects(&[l], &[l]) && !must_notify(&[l], &[l], is_shared));
    }
}
