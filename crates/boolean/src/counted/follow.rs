//! *Following a path*: whether the program itself can take the steps of a path that a 3-valued
//! search has found ([`crate::ternary`]). All states after the same steps are kept together.

use rustc_hash::FxHashMap;

use super::{Checker, Run, State};
use crate::check::{Stop, Target};
use crate::ternary::Path;

/// Most states of all places on a path.
const MAX_STATES: usize = 100_000;

impl Checker<'_> {
    /// A run along the path, if there is one; the search must not have begun.
    pub fn follow(&mut self, path: &Path) -> Result<Option<Box<Run>>, Stop> {
        let mut layer = Vec::new();
        for state in self.machine.first_states(&self.copies())? {
            layer.push(self.states.len());
            self.states.push((state, None));
        }
        let moves = match path.target {
            Target::Assert(_) => path.steps.len() - 1,
            Target::Never(_) => path.steps.len(),
        };
        for step in &path.steps[..moves] {
            let mut next: FxHashMap<State, usize> = FxHashMap::default();
            let mut ids = Vec::new();
            for id in layer {
                let state = self.states[id].0.clone();
                for (active, _) in state.parts.iter().filter(|(p, _)| p.kind == step.kind) {
                    for successor in self.machine.successors(&state, active)? {
                        if successor.span != step.span || next.contains_key(&successor.after) {
                            continue;
                        }
                        let new = self.states.len();
                        next.insert(successor.after.clone(), new);
                        ids.push(new);
                        self.states
                            .push((successor.after, Some((id, active.clone()))));
                    }
                }
                self.check_limits(self.states.len())?;
                if self.states.len() > MAX_STATES {
                    return Err(Stop::States(self.states.len()));
                }
            }
            layer = ids;
        }
        for id in layer {
            let found = match path.target {
                Target::Never(_) => {
                    let broken = self.machine.broken(&self.states[id].0);
                    broken.map(|number| (id, None, Target::Never(number)))
                }
                Target::Assert(span) => {
                    let state = &self.states[id].0;
                    let kind = path.steps[moves].kind;
                    let mut parts = state.parts.iter().filter(|(p, _)| p.kind == kind);
                    let fails = |part| -> Result<bool, Stop> {
                        let effects = self.machine.act(&state.shared, part)?;
                        Ok(effects.iter().any(|e| e.fails && e.span == span))
                    };
                    let failing = parts.find_map(|(part, _)| match fails(part) {
                        Ok(true) => Some(Ok(part.clone())),
                        Ok(false) => None,
                        Err(stop) => Some(Err(stop)),
                    });
                    let failing = failing.transpose()?;
                    failing.map(|part| (id, Some((part, span)), path.target))
                }
            };
            if let Some(found) = found {
                return Ok(Some(Box::new(self.trace(found)?)));
            }
        }
        Ok(None)
    }
}
