//! *Projection*: a proof that does without some variables
//! ([`palisade_program::projection`] says what the program is then, and why nothing is lost).
//!
//! Which:
//!
//! - RMA: a variable that only its own process touches and that gets what others have, if
//!   none of its gets is awaited before the variable is read. Then a read may find what is left
//!   of long ago, and a proof can hardly rest on it; but which old values are there, and which
//!   are still on their way, multiplies the states.
//! - Other models: an array of `PROJECTED_CELLS` and more that is accessed at a computed
//!   index, such as a heap of cells that are addressed by numbers, or the input of a search for
//!   the largest element [Donaldson et al., CAV 2011, section 5: `Stack`, `FindMax`]. Each access is one
//!   case for each cell, and what the cells hold often does not matter. That indices are
//!   in range is asserted before the access, and still asked.
//!
//! A run without these variables that is none of the program says nothing; other rows of the
//! portfolio decide then.

use std::rc::Rc;

use palisade_certify::Certificate;
use palisade_machine::{Witness, replay};
use palisade_program::cfg::{Cfg, Place, Step};
use palisade_program::projection::without;
use palisade_program::{EdgeId, Expr, GlobalId, Program, Template};

use super::{Kind, Reduction};
use crate::answer::{Gap, Weak};
use crate::portfolio::PROJECTED_CELLS;

/// A program without what some of its variables hold.
pub struct Project {
    variables: Vec<GlobalId>,
    names: String,
    original: Rc<Program>,
    program: Rc<Program>,
}

impl Project {
    /// The program without the variables that say little; `None` if there are none.
    pub fn of(original: &Rc<Program>) -> Option<Self> {
        let all = (0..original.globals.len()).map(GlobalId::from);
        let is_projected = |v: &GlobalId| {
            if original.is_rma() {
                says_little(original, *v)
            } else {
                is_wide(original, *v)
            }
        };
        let variables: Vec<GlobalId> = all.filter(is_projected).collect();
        // A variable with any value may let a thread go on that waits for ever.
        if variables.is_empty() || original.deadlock {
            return None;
        }
        let name = |v: &GlobalId| format!("`{}`", original.global(*v).name);
        let names: Vec<String> = variables.iter().map(name).collect();
        Some(Self {
            names: names.join(", "),
            program: Rc::new(without(original, &variables)?),
            original: Rc::clone(original),
            variables,
        })
    }
}

impl Reduction for Project {
    fn describe(&self) -> String {
        format!("whatever {} may be", self.names)
    }

    fn kind(&self) -> Kind {
        Kind::Over
    }

    fn program(&self) -> &Rc<Program> {
        &self.program
    }

    // Edges keep their numbers: where what was read does not matter, the run is one of the program.
    fn run_back(&self, run: Witness) -> Result<Witness, Gap> {
        match replay(&self.original, &run.start, &run.actions) {
            Ok(replayed) if replayed.violation.is_some() => Ok(run),
            Ok(_) | Err(_) => Err(Weak::Projected(self.names.clone()).into()),
        }
    }

    fn note(&self) -> Option<String> {
        Some(format!("proved {}", self.describe()))
    }

    fn proof_back(&self, mut certificate: Certificate) -> Certificate {
        // What was reduced may have been reduced once more.
        certificate.forgotten.extend(&self.variables);
        certificate.forgotten.sort_unstable();
        certificate.forgotten.dedup();
        certificate
    }
}

/// Whether a variable is an array of many cells that is accessed at computed indices.
fn is_wide(program: &Program, var: GlobalId) -> bool {
    let computed = |t: &Template| has_computed_index(&t.cfg, var);
    program.global(var).cell_count() >= PROJECTED_CELLS
        && program.templates.iter().any(computed)
        && without(program, &[var]).is_some()
}

fn has_computed_index(cfg: &Cfg, var: GlobalId) -> bool {
    let is = |place: &Place| {
        place.var == var
            && place
                .index
                .as_ref()
                .is_some_and(|i| !matches!(i, Expr::Const(_)))
    };
    cfg.edges.iter().any(|edge| match &edge.step {
        Step::Load { src, .. } => is(src),
        Step::Store { dst, .. } => is(dst),
        Step::Atomic(atomic) => has_computed_index(&atomic.body, var),
        Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => false,
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => false,
        Step::Fence(_) | Step::Assert { .. } => false,
    })
}

/// Whether a variable gets its values from others, at times that its process does not know.
fn says_little(program: &Program, var: GlobalId) -> bool {
    let Some(home) = program.global(var).home else {
        return false;
    };
    let is_own = |template: &Template| std::ptr::eq(template, program.template(home.template));
    let mut others = program.templates.iter().filter(|t| !is_own(t));
    if others.any(|t| t.cfg.edges.iter().any(|e| touches(&e.step, var))) {
        return false;
    }
    let cfg = &program.template(home.template).cfg;
    let gets = cfg.edges.iter().enumerate();
    let gets = gets.filter(|(_, e)| matches!(&e.step, Step::Get { local, .. } if local.var == var));
    let gets: Vec<EdgeId> = gets.map(|(number, _)| EdgeId::from(number)).collect();
    let is_late = |get: &EdgeId| may_be_read_before(cfg, *get, var);
    !gets.is_empty() && gets.iter().all(is_late) && without(program, &[var]).is_some()
}

/// Whether a step has to do with the variable.
fn touches(step: &Step, var: GlobalId) -> bool {
    let is = |place: &Place| place.var == var;
    match step {
        Step::Load { src, .. } => is(src),
        Step::Store { dst, .. } => is(dst),
        Step::Put { remote, local } | Step::Get { local, remote } => is(remote) || is(local),
        Step::RemoteAtomic(atomic) => atomic.places().any(is),
        Step::Atomic(atomic) => atomic.body.edges.iter().any(|e| touches(&e.step, var)),
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => false,
        Step::Fence(_) | Step::Assert { .. } | Step::Flush(_) => false,
    }
}

/// Whether the variable may be read after the get and before the next flush: one that waits for
/// others than the get is taken for one that waits for it, which only leaves the variable known.
fn may_be_read_before(cfg: &Cfg, get: EdgeId, var: GlobalId) -> bool {
    let mut seen = vec![false; cfg.loc_count()];
    let mut open = vec![cfg.edge(get).to];
    while let Some(loc) = open.pop() {
        if std::mem::replace(&mut seen[loc.index()], true) {
            continue;
        }
        for (_, edge) in cfg.outgoing(loc) {
            match &edge.step {
                Step::Flush(_) => {}
                Step::Get { local, .. } if local.var == var => open.push(edge.to),
                step if touches(step, var) => return true,
                Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => {
                    open.push(edge.to);
                }
                Step::Load { .. } | Step::Store { .. } | Step::Fence(_) | Step::Atomic(_) => {
                    open.push(edge.to);
                }
                Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) => open.push(edge.to),
                Step::Assert { .. } => open.push(edge.to),
            }
        }
    }
    false
}
