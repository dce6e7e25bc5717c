//! Properties: no state of the invariant satisfies a `never`, and none in which
//! all threads have ended and all buffers are drained falsifies a `finally`.
//! Both speak of memory, not of what is buffered.
//!
//! `t#1`, `t#2` stand for any distinct copies of their template: every choice is
//! checked. A copy named by its number (`t[0]`) takes no part in that: `t#1` may
//! be the same copy. With fewer copies than names there is no choice, and
//! nothing to violate.

use crate::certificate::Control;
use crate::context::{At, Context};
use crate::expression::formula_of;
use crate::refusal::{Reason, Refusal};
use crate::state::StateVar;
use crate::steps::{Explicit, Trouble, unsupported};
use crate::views::is_numbered;
use crate::worker::{Source, Worker};
use palisade_logic::prover::Cluster;
use palisade_logic::{Formula, Term};
use palisade_program::property::{Pick, PropAtom, PropertyKind};
use palisade_program::{Instance, Property, ThreadVar};

/// The solver session for properties.
const CLUSTER: Cluster = Cluster(0);

impl Worker<'_> {
    /// Proves that no state at `control` violates a property.
    pub(crate) fn properties(&mut self, control: &Control, source: &Source) -> Result<(), Refusal> {
        let context = self.context;
        for (number, property) in context.program.properties.iter().enumerate() {
            if property.kind == PropertyKind::Finally && !has_ended(context, control) {
                continue;
            }
            for choice in choices(&property.threads, &context.instances) {
                let violation = violation(context, control, property, &choice);
                let violation = violation.map_err(|trouble| {
                    self.refusal(trouble.reason, control, None, Some(trouble.span))
                })?;
                if violation == Formula::False {
                    continue;
                }
                let violation = self.judge.conjuncts(&violation);
                if !self.excluded(CLUSTER, source, &violation, control)? {
                    let reason = Reason::Property(number);
                    return Err(self.refusal(reason, control, None, Some(property.span)));
                }
            }
        }
        Ok(())
    }
}

/// Whether all threads have ended and all buffers are drained.
fn has_ended(context: &Context<'_>, control: &Control) -> bool {
    let exit = |i: &Instance| context.program.template(i.template).cfg.exit;
    let mut ends = context.instances.iter().zip(&control.locs);
    ends.all(|(instance, loc)| exit(instance) == *loc)
        && control.buffers.iter().all(crate::Buffer::is_empty)
}

/// All ways to choose a thread for each thread variable: the numbers of the
/// threads, in the order of the variables.
pub(crate) fn choices(threads: &[ThreadVar], instances: &[Instance]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for (i, thread) in threads.iter().enumerate() {
        let mut longer = Vec::new();
        for choice in &all {
            for (number, instance) in instances.iter().enumerate() {
                let fits = instance.template == thread.template
                    && match thread.pick {
                        Pick::Only => true,
                        Pick::Copy(copy) => instance.copy == copy,
                        Pick::Any(_) => agrees(&threads[..i], choice, *thread, number),
                    };
                if fits {
                    let mut choice: Vec<usize> = choice.clone();
                    choice.push(number);
                    longer.push(choice);
                }
            }
        }
        all = longer;
    }
    all
}

/// Whether `number` can be the thread of `thread` beside the choices so far:
/// the same name is the same copy, different names are different copies.
fn agrees(earlier: &[ThreadVar], choice: &[usize], thread: ThreadVar, number: usize) -> bool {
    earlier.iter().zip(choice).all(|(other, chosen)| {
        let any = matches!(other.pick, Pick::Any(_)) && other.template == thread.template;
        !any || (other.pick == thread.pick) == (*chosen == number)
    })
}

/// When `property` is violated at `control` for a choice of threads.
fn violation(
    context: &Context<'_>,
    control: &Control,
    property: &Property,
    choice: &[usize],
) -> Result<Formula, Trouble> {
    let at = At {
        context,
        values: &control.values,
    };
    let span = property.span;
    let value = |state_var: StateVar| {
        let var = state_var
            .var()
            .ok_or_else(|| unsupported("so large a program", span))?;
        Ok(at.value(var).map_or(Term::var(var), Term::constant))
    };
    let holds = formula_of(&property.cond, span, &mut |atom| match atom {
        PropAtom::Global(var, index) => {
            let cell = context.program.cell(*var, index.unwrap_or(0));
            value(StateVar::Cell(cell))
        }
        PropAtom::Local(thread, local) => value(StateVar::Local {
            thread: choice[thread.index()] as u32,
            local: *local,
        }),
        PropAtom::SelfOf(thread) => {
            let number = choice[thread.index()];
            let instance = context.instances[number];
            if is_numbered(context.program, context.certificate.kind, instance) {
                return value(StateVar::Number {
                    thread: number as u32,
                });
            }
            Ok(Term::constant(i64::from(instance.copy)))
        }
        PropAtom::At(thread, loc) => {
            let here = control.locs[choice[thread.index()]] == *loc;
            Ok(Term::constant(i64::from(here)))
        }
    })?;
    Ok(match property.kind {
        PropertyKind::Never => holds,
        PropertyKind::Finally => holds.negated(),
    })
}
