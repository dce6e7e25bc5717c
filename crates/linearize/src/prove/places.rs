//! *Places*: where a thread can stand, which locals matter there, and between which steps
//! commits have a place of their own.

use palisade_program::heap::{Body, Commit, CommitKind, Cond, Place, Step, Term};
use palisade_program::{FieldId, LocId, LocalId};

use super::Interleaving;
use super::fragment::{Fragment, Location};
use super::quiet::quiet;
use crate::code::{Code, uses_of_cond};

impl Fragment<'_> {
    /// Locations of a method, with what is live there.
    pub(super) fn locate(&mut self, index: usize, interleaving: Interleaving) {
        let method = &self.methods[index];
        let body = method.body;
        let code = Code::new(body);
        let mut live = code.live().to_vec();
        if let Some(mine) = method.mine {
            keep_until_commit(body, self.variables[mine].local, &mut live);
        }
        keep_neighbours(body, self.link.0, &mut live);
        let quiet = match interleaving {
            Interleaving::Full => vec![false; body.locations.len()],
            Interleaving::Restricted => quiet(body),
        };
        for at in (0..body.locations.len()).map(LocId::from) {
            if at == body.exit {
                continue;
            }
            let live = (0..self.variables.len()).filter(|&v| {
                let variable = &self.variables[v];
                variable.method == index && live[at.index()][variable.local.index()]
            });
            self.locations.push(Location {
                name: format!("{}.{}", method.name, at.index()),
                method: index,
                at,
                commit: None,
                busy: body.locations[at.index()].atomic || quiet[at.index()],
                live: live.collect(),
            });
        }
        self.locate_commits(index, &live);
    }

    /// Locations between a step and its commits, where these are conditional: conditions
    /// are about the state after the step.
    fn locate_commits(&mut self, index: usize, live: &[Vec<bool>]) {
        let method = self.methods[index].clone();
        for (e, edge) in method.body.edges.iter().enumerate() {
            if at_once(&edge.step, &edge.commits) {
                continue;
            }
            for number in 0..edge.commits.len() {
                let spoken: Vec<LocalId> = edge.commits[number..]
                    .iter()
                    .flat_map(|c| locals_of(&c.when))
                    .collect();
                let matters = |v: &usize| {
                    let variable = &self.variables[*v];
                    let here = live[edge.to.index()][variable.local.index()]
                        || spoken.contains(&variable.local)
                        || method.mine == Some(*v);
                    variable.method == index && here
                };
                let live = (0..self.variables.len()).filter(matters).collect();
                self.locations.push(Location {
                    name: format!(
                        "{}.{}.commit{}",
                        method.name,
                        edge.from.index(),
                        e * 8 + number
                    ),
                    method: index,
                    at: edge.to,
                    commit: Some((e, number)),
                    busy: true,
                    live,
                });
            }
        }
    }
}

/// Whether the commits of an edge can be done together with its step: at most one, whose
/// condition, which speaks of the state after the step, can be told before it.
pub fn at_once(step: &Step, commits: &[Commit]) -> bool {
    match commits {
        [] => true,
        [only] => told_before(step, &only.when),
        _ => false,
    }
}

fn told_before(step: &Step, cond: &Cond) -> bool {
    match cond {
        Cond::True => true,
        Cond::Eq(a, b) => match step {
            // What is read from a field can be compared with null before it is read.
            Step::Read {
                to,
                from: Place::Field { .. },
                ..
            } => {
                let read = |t: &Term| *t == Term::Local(*to);
                (!read(a) && !read(b)) || *a == Term::Null || *b == Term::Null
            }
            Step::Read {
                from: Place::Shared(_),
                ..
            }
            | Step::Skip
            | Step::Fence
            | Step::Assume(_) => true,
            Step::Write { .. } | Step::Cas { .. } => {
                let local = |t: &Term| matches!(t, Term::Null | Term::Local(_));
                local(a) && local(b)
            }
            Step::Assign { .. }
            | Step::Havoc { .. }
            | Step::New { .. }
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Free(_)
            | Step::Compute { .. }
            | Step::Fail(_)
            | Step::Return(_) => false,
        },
        Cond::Not(inner) => told_before(step, inner),
        Cond::And(a, b) | Cond::Or(a, b) => told_before(step, a) && told_before(step, b),
        Cond::Holds(_) | Cond::Less(..) => false,
    }
}

/// Whether the step gives the local a value.
pub(crate) fn assigns(step: &Step, local: LocalId) -> bool {
    step.assigned().any(|to| to == local)
}

/// The node with the argument matters as long as a commit may come.
fn keep_until_commit(body: &Body, mine: LocalId, live: &mut [Vec<bool>]) {
    loop {
        let mut changed = false;
        for edge in &body.edges {
            let committed = edge.commits.iter().any(|c| c.kind != CommitKind::Later);
            let kept = committed || live[edge.to.index()][mine.index()];
            let fresh = matches!(edge.step, Step::New { to } if to == mine);
            if kept && !fresh && !live[edge.from.index()][mine.index()] {
                live[edge.from.index()][mine.index()] = true;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

/// What was read from a node's link is known by that node: the local that points to it matters as
/// long as the one that was read does. And what was written to a link is known by the local that was
/// written, as long as the node's matters.
pub(crate) fn keep_neighbours(body: &Body, link: FieldId, live: &mut [Vec<bool>]) {
    let before = live.to_vec();
    for edge in &body.edges {
        let read = edge.step.read().map(|(to, from)| (from, to, true));
        let written = edge.step.written();
        let written = written.and_then(|(to, value)| Some((to, value.local()?, false)));
        let Some((place, local, read)) = read.or(written) else {
            continue;
        };
        let of = match place {
            Place::Field { of, field } if field == link && of != local => of,
            Place::Field { .. } | Place::Shared(_) => continue,
        };
        let (matters, kept) = if read { (local, of) } else { (of, local) };
        let mut reached = vec![false; live.len()];
        let mut stack = vec![edge.to];
        while let Some(at) = stack.pop() {
            if at == body.exit || reached[at.index()] || !before[at.index()][matters.index()] {
                continue;
            }
            reached[at.index()] = true;
            live[at.index()][kept.index()] = true;
            let leaving = body.leaving(at).filter(|(_, e)| !assigns(&e.step, matters));
            stack.extend(leaving.map(|(_, next)| next.to));
        }
    }
}

/// Locals that a condition speaks of.
pub fn locals_of(cond: &Cond) -> Vec<LocalId> {
    let mut all = Vec::new();
    uses_of_cond(cond, &mut |id| all.push(id));
    all
}
