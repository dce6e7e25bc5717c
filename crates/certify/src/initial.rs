//! Initial states: every thread at its entry, buffers empty, every variable with
//! its initial value; `*` is any integer, or any value of the declared domain.
//! They are treated as what a first step, which happens always, assigns.

use crate::buffer::Buffer;
use crate::refusal::Reason;
use crate::state::StateVar;
use crate::steps::{Effect, MAX_ENUMERATED, Trouble, number, within};
use crate::worker::{Worker, overflow_reason};
use palisade_logic::{Formula, Overflow, Term, Var};
use palisade_program::{Domain, Init, LocalId, Program, Span};
use std::collections::BTreeMap;

/// Enumerated choices of initial values; beyond them domains stay symbolic.
const MAX_STARTS: usize = 4096;

/// A variable with the values it may start with.
struct Start {
    var: Var,
    init: Init,
    domain: Option<Domain>,
}

impl Worker<'_> {
    /// Proves that every initial state is in the invariant.
    pub(crate) fn initial_states(&mut self) -> Result<(), Trouble> {
        let context = self.context;
        let locs: Vec<_> = context
            .instances
            .iter()
            .map(|i| context.program.template(i.template).cfg.entry)
            .collect();
        let trouble = |reason| Trouble {
            reason,
            span: Span::default(),
        };
        let starts = self.starts()?;
        let overflow = |Overflow| trouble(overflow_reason());
        for effect in self.start_effects(&starts).map_err(overflow)? {
            let effect = self.compile_effect(effect).map_err(overflow)?;
            if !self.initial(&effect, locs.clone()).map_err(trouble)? {
                return Err(trouble(Reason::Initial));
            }
        }
        Ok(())
    }

    fn starts(&self) -> Result<Vec<Start>, Trouble> {
        let program = self.context.program;
        let mut starts = Vec::new();
        for (id, global) in program.global_ids().zip(&program.globals) {
            for i in 0..global.cell_count() {
                let cell = program.cell(id, i as u32);
                starts.push(Start {
                    var: number(StateVar::Cell(cell), global.span)?,
                    init: initial_value(&global.init, i),
                    domain: global.domain,
                });
            }
        }
        for (thread, instance) in self.context.instances.iter().enumerate() {
            starts.extend(local_starts(program, thread as u32, *instance)?);
        }
        Ok(starts)
    }

    /// One effect per choice of the explicit variables that start with a value
    /// of a small domain; all other choices stay symbolic.
    fn start_effects(&self, starts: &[Start]) -> Result<Vec<Effect>, Overflow> {
        let mut guard = Formula::True;
        let mut updates: Vec<BTreeMap<Var, Term>> = vec![BTreeMap::new()];
        for start in starts {
            let explicit = self.context.position(start.var).is_some();
            match (start.init, start.domain) {
                (Init::Value(value), _) => {
                    let value = Term::constant(value);
                    for update in &mut updates {
                        update.insert(start.var, value.clone());
                    }
                }
                // The variable itself stands for its arbitrary value.
                (Init::Any, None) => {}
                (Init::Any, Some(domain)) => {
                    let size = i128::from(domain.hi) - i128::from(domain.lo) + 1;
                    if explicit && size <= MAX_ENUMERATED.min((MAX_STARTS / updates.len()) as i128)
                    {
                        updates = product(&updates, start.var, domain);
                    } else {
                        guard = guard.and(&within(&Term::var(start.var), domain)?);
                    }
                }
            }
        }
        let effect = |update: BTreeMap<Var, Term>| Effect {
            guard: guard.clone(),
            written: update.keys().copied().collect(),
            updates: update.into_iter().collect(),
            to: None,
            buffer: Buffer::default(),
            adds: Vec::new(),
            picks: Vec::new(),
        };
        Ok(updates.into_iter().map(effect).collect())
    }
}

/// The `i`th initial value of an array whose values may be given once for all.
fn initial_value(init: &[Init], i: usize) -> Init {
    match init.get(i).or(init.first()) {
        Some(init) => *init,
        None => Init::Any,
    }
}

fn local_starts(
    program: &Program,
    thread: u32,
    instance: palisade_program::Instance,
) -> Result<Vec<Start>, Trouble> {
    let locals = program.template(instance.template).locals.iter();
    let start = |(i, local): (usize, &palisade_program::Local)| {
        let state_var = StateVar::Local {
            thread,
            local: LocalId::from(i),
        };
        Ok(Start {
            var: number(state_var, local.span)?,
            init: local.init,
            domain: local.domain,
        })
    };
    locals.enumerate().map(start).collect()
}

fn product(updates: &[BTreeMap<Var, Term>], var: Var, domain: Domain) -> Vec<BTreeMap<Var, Term>> {
    let mut all = Vec::new();
    for update in updates {
        for value in domain.lo..=domain.hi {
            let mut update = update.clone();
            update.insert(var, Term::constant(value));
            all.push(update);
        }
    }
    all
}
