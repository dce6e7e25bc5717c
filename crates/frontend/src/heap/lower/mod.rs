//! *Lowering*: the syntax tree to the heap program. Names are looked up and types
//! checked here; every access of shared memory becomes a step of its own, from left
//! to right.
//!
//! | file | term |
//! |---|---|
//! | `tables` | declarations: structs, shared variables |
//! | `methods` | methods, `init`, the specification, and how they fit together |
//! | `body` | control-flow graphs, from statements |
//! | `value` | values, from expressions |
//! | `place` | places: variables, fields, elements of arrays |
//! | `functions` | calls, inlined |
//! | `cond` | branches, and conditions of ghosts |
//! | `soft` | soft invariants |

mod body;
mod cond;
mod functions;
mod methods;
mod place;
mod soft;
mod tables;
mod value;

use palisade_program::Source;
use palisade_program::heap::{Never, Program, Tag, Type};

use super::ast::File;
use crate::diagnostic::Diagnostic;

/// A type with what is packed beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ty {
    base: Type,
    tag: Option<Tag>,
}

impl Ty {
    const fn plain(base: Type) -> Self {
        Self { base, tag: None }
    }
}

/// Lowers a file; what is wrong is added to `items`. The program is to be used only
/// if no error was added.
pub(super) fn lower(source: &Source, file: &File, items: &mut Vec<Diagnostic>) -> Option<Program> {
    let mut tables = tables::Tables {
        functions: &file.functions,
        ..tables::Tables::default()
    };
    tables.structs(&file.structs, items);
    let shared = tables.shared(&file.shared, items);
    tables.shared = shared;
    tables.kept(&file.kept, items);
    functions::check(&file.functions, items);
    let nevers = file.nevers.iter().filter_map(|(cond, span)| {
        let cond = cond::never(&tables, cond, items)?;
        Some(Never { cond, span: *span })
    });
    let nevers = nevers.collect();
    let init = methods::init(&tables, &file.inits, items);
    let specification = methods::specification(&tables, &file.specs, items)?;
    let (methods, roles) = methods::methods(&tables, &specification, &file.methods, items);
    functions::unused(&tables, items);
    Some(Program {
        source: source.clone(),
        structs: tables.structs,
        shared: tables.shared,
        kept: tables.kept,
        roles,
        init,
        methods,
        specification,
        nevers,
    })
}
