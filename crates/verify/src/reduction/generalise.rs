//! *Generalisation* to any number of copies. A proof for every number of copies is one
//! for those that are declared, and a run of fewer copies is a run of more of them, in
//! which the others do not move. [`with_threads`] changes the question itself
//! (`--threads`): the program with another number of copies. Where the program waits for
//! all copies it waits for as many as there are.

use std::rc::Rc;

use palisade_certify::Certificate;
use palisade_machine::{Action, Witness};
use palisade_program::symmetry::{Asymmetry, Symmetry};
use palisade_program::{Count, Instance, Pick, Program, PropertyKind};

use super::joins::{self, Entangled};
use super::{Kind, Reduction};
use crate::answer::Gap;
use crate::portfolio::MANY;

/// How many copies of each replicated template run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threads {
    /// So many.
    Exactly(u32),
    /// Any number.
    Any,
}

/// The program with this number of copies of each template declared with `[n]` or
/// `[*]`.
///
/// # Errors
/// What in the program depends on the number that it declares.
pub fn with_threads(program: &Program, threads: Threads) -> Result<Program, Asymmetry> {
    let count = match threads {
        Threads::Exactly(n) => Count::Fixed(n),
        Threads::Any => Count::Any,
    };
    if let [first, ..] = &program.templates[..]
        && program.templates.iter().all(|t| t.count == Count::Once)
    {
        return Err(Asymmetry {
            reason: "no thread is declared with a number of copies".to_owned(),
            span: first.span,
        });
    }
    let mut changed = program.clone();
    for id in program.template_ids() {
        let copies = match threads {
            Threads::Exactly(n) => Some(n),
            Threads::Any => None,
        };
        joins::renumbered(&mut changed, id, copies).map_err(|Entangled(template)| Asymmetry {
            reason: "the program counts the ends of these threads".to_owned(),
            span: program.template(template).span,
        })?;
    }
    for template in &mut changed.templates {
        match template.count {
            Count::Once => {}
            Count::Fixed(_) | Count::Any => template.count = count,
        }
    }
    let symmetry = Symmetry::of(&changed);
    for id in program.template_ids() {
        let grows = match (program.template(id).count, threads) {
            (Count::Once | Count::Any, _) => false,
            (Count::Fixed(before), Threads::Exactly(n)) => n > before,
            (Count::Fixed(_), Threads::Any) => true,
        };
        if grows && let Some(asymmetry) = symmetry.asymmetry(id) {
            return Err(asymmetry.clone());
        }
    }
    if let Threads::Exactly(n) = threads {
        named_copies(&changed, n)?;
    }
    Ok(changed)
}

/// Properties must not name a copy that is not there.
fn named_copies(program: &Program, n: u32) -> Result<(), Asymmetry> {
    for property in &program.properties {
        for thread in &property.threads {
            if let Pick::Copy(copy) = thread.pick
                && copy >= n
            {
                return Err(Asymmetry {
                    reason: format!("there is no copy {copy} among {n}"),
                    span: property.span,
                });
            }
        }
    }
    Ok(())
}

/// A program with any number of copies in place of the declared one.
pub struct Generalise {
    original: Rc<Program>,
    program: Rc<Program>,
}

impl Generalise {
    /// `None` if it is not worth a try before the copies that are declared: there are few
    /// of them, or something depends on how many there are.
    pub fn of(original: &Rc<Program>) -> Option<Self> {
        let many = |c: Count| matches!(c, Count::Fixed(n) if n >= MANY);
        let waits = original
            .properties
            .iter()
            .any(|p| p.kind == PropertyKind::Finally);
        let waits = waits || joins::waits_for_all(original);
        let few = !original.templates.iter().any(|t| many(t.count));
        if original.has_unbounded_threads() || original.deadlock || waits || few {
            return None;
        }
        Some(Self {
            program: Rc::new(with_threads(original, Threads::Any).ok()?),
            original: Rc::clone(original),
        })
    }

    /// The run with the threads that the original declares.
    fn with_declared(&self, run: &Witness) -> Option<Witness> {
        let declared = self.original.instances(1);
        let few = self.program.instances(run.start.threads);
        let thread = |t: usize| {
            let instance: &Instance = few.get(t)?;
            declared.iter().position(|other| other == instance)
        };
        let mut start = run.start.clone();
        start.locals.clear();
        for ((t, local), value) in &run.start.locals {
            start.locals.insert((thread(*t)?, *local), *value);
        }
        let moved = |action: &Action| {
            Some(Action {
                thread: thread(action.thread)?,
                kind: action.kind.clone(),
            })
        };
        let actions = run.actions.iter().map(moved).collect::<Option<_>>()?;
        Some(Witness { start, actions })
    }
}

impl Reduction for Generalise {
    fn describe(&self) -> String {
        "any number of copies".to_owned()
    }

    fn kind(&self) -> Kind {
        Kind::Over
    }

    fn program(&self) -> &Rc<Program> {
        &self.program
    }

    fn run_back(&self, run: Witness) -> Result<Witness, Gap> {
        let lost = || Gap::Spurious("it needs more copies than are declared".into());
        self.with_declared(&run).ok_or_else(lost)
    }

    // Certificates of views speak of the program with `[*]` in place of every number.
    fn proof_back(&self, certificate: Certificate) -> Certificate {
        certificate
    }
}
