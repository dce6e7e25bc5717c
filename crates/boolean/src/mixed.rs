//! *Mixed predicates taken as local or as shared* [Donaldson et al., CAV 2011, sections 1.1 and 5]:
//! two Boolean programs that a symmetry-aware one can be turned into by leaving out what makes it
//! sound. Both are **unsound**: they may lack violations that the program has. They are here to be
//! measured beside the sound one (table 2 of the paper), and no verdict rests on them.
//!
//! | treatment | the variable of a mixed predicate | passive threads |
//! |---|---|---|
//! | sound (`crate::export`) | local | are notified: `[b] = ...` |
//! | [`Treatment::AsLocal`] | local | are not notified |
//! | [`Treatment::AsShared`] | shared: the thread that acted last has written it | are not notified |

use std::collections::BTreeSet;

use palisade_abstraction::command::Unsupported;
use palisade_abstraction::space::Space;
use palisade_logic::Atom;

use crate::ast::{BooleanProgram, Expr, Statement, StatementKind, Value};
use crate::export::variable;
use crate::scope::{Scope, Scopes};

/// How mixed predicates are taken, wrongly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Treatment {
    /// As if they were local.
    AsLocal,
    /// As if they were shared.
    AsShared,
}

/// The variables of the mixed predicates among `atoms`, and those atoms that a program which keeps
/// templates can have: none is over two copies.
pub fn mixed_variables(
    space: &Space<'_>,
    atoms: &BTreeSet<Atom>,
) -> Result<(BTreeSet<String>, BTreeSet<Atom>), Unsupported> {
    let fits = |atom: &&Atom| Scopes::new(space, [(*atom).clone()]).is_ok();
    let kept: BTreeSet<Atom> = atoms.iter().filter(fits).cloned().collect();
    let (table, scopes) = Scopes::new(space, kept.iter().cloned())?;
    let is_mixed = |p: &usize| matches!(scopes.scope(*p), Scope::Mixed(_));
    let mixed = (0..table.len()).filter(is_mixed);
    let names = mixed.map(|p| variable(scopes.origin(p))).collect();
    Ok((names, kept))
}

/// The unsound variant of a program whose mixed predicates have these variables.
#[must_use]
pub fn unsound(
    program: &BooleanProgram,
    mixed: &BTreeSet<String>,
    treatment: Treatment,
) -> BooleanProgram {
    let mut made = program.clone();
    for thread in &mut made.threads {
        for statement in &mut thread.body {
            without_broadcasts(statement);
        }
        if treatment == Treatment::AsShared {
            let locals = std::mem::take(&mut thread.locals).into_iter();
            let (shared, own): (Vec<_>, Vec<_>) = locals.partition(|v| mixed.contains(&v.name));
            thread.locals = own;
            made.shared.extend(shared);
        }
    }
    made
}

/// Passive threads are not told.
fn without_broadcasts(statement: &mut Statement) {
    let StatementKind::Assign {
        targets,
        values,
        constrain,
    } = &mut statement.kind
    else {
        return;
    };
    let told: Vec<bool> = targets.iter().map(|t| t.passive.is_some()).collect();
    let mut is_told = told.iter();
    targets.retain(|_| !is_told.next().copied().unwrap_or(false));
    let mut is_told = told.iter();
    values.retain(|_| !is_told.next().copied().unwrap_or(false));
    if targets.is_empty() {
        let all = Expr::value(Value::True);
        statement.kind = StatementKind::Assume(constrain.take().unwrap_or(all));
    }
}
