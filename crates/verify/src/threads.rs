//! *Numbers of threads*: the program with another number of copies of its
//! replicated templates (`--threads`), and when a proof for every number of copies
//! is tried for a certain one.

use palisade_program::symmetry::{Asymmetry, Symmetry};
use palisade_program::{Count, Pick, Program, PropertyKind};

/// How many copies of each replicated template run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threads {
    /// So many.
    Exactly(u32),
    /// Any number.
    Any,
}

/// Copies of a template from which on a proof for every number is tried first: with
/// fewer, their own states are soon searched.
const MANY: u32 = 4;

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
    let mut changed = program.clone();
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

/// The program with any number of copies, if a proof of that is worth a try before
/// one for the copies that are declared: there are many of them, and nothing depends
/// on how many.
pub(crate) fn generalised(program: &Program) -> Option<Program> {
    let many = |c: Count| matches!(c, Count::Fixed(n) if n >= MANY);
    let waits = program
        .properties
        .iter()
        .any(|p| p.kind == PropertyKind::Finally);
    if program.has_unbounded_threads() || waits || !program.templates.iter().any(|t| many(t.count))
    {
        return None;
    }
    with_threads(program, Threads::Any).ok()
}
