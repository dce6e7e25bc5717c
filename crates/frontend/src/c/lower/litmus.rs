//! *Litmus tests*: threads that all run from the start, each once, and whose variables
//! are looked at when they have ended. A variable that is declared twice in a thread is
//! one register, as in herd; it starts as the test says, else as 0. No step is left out
//! because nothing reads what it assigns.

use std::collections::BTreeMap;
use std::rc::Rc;

use palisade_program::{Global, GlobalId, Init, LocalId, Orders, Span, Template};

use super::call::Argument;
use super::code::{Code, Lower};
use super::layout::{Cells, Object};
use super::thread::Plan;
use super::{Context, settled};
use crate::c::Options;
use crate::c::ast::{Declaration, File, Function};
use crate::c::litmus::scalar;
use crate::c::types::Type;
use crate::diagnostic::Diagnostic;

/// A shared location.
pub(in crate::c) struct Location {
    pub(in crate::c) name: String,
    pub(in crate::c) ty: Type,
    pub(in crate::c) address: i64,
    pub(in crate::c) init: Vec<Init>,
    pub(in crate::c) span: Span,
}

/// What a test starts from.
pub(in crate::c) struct Start {
    /// The functions that are threads.
    pub(in crate::c) threads: Vec<String>,
    pub(in crate::c) locations: Vec<Location>,
    /// First values of variables, by thread and name.
    pub(in crate::c) values: BTreeMap<(usize, String), i128>,
}

/// The variables of threads, by thread and name.
pub(super) type Observed = BTreeMap<(usize, String), Rc<Object>>;

/// The threads of a test.
pub(in crate::c) struct Lowered {
    /// The locations come first.
    pub(in crate::c) globals: Vec<Global>,
    pub(in crate::c) templates: Vec<Template>,
    /// Thread, name, type and place of each variable and member that is one number.
    pub(in crate::c) locals: Vec<(usize, String, Type, LocalId)>,
}

/// Lowers the threads of a test.
pub(in crate::c) fn lower(
    file: &File,
    start: &Start,
    orders: Orders,
) -> Result<Lowered, Vec<Diagnostic>> {
    let options = Options {
        orders,
        ..Options::default()
    };
    let (context, templates) = settled(file, &options, Some(start))?;
    let mut locals = Vec::new();
    for ((thread, name), object) in &context.observed {
        for (leaf, cells) in object.leaves.iter().zip(&object.cells) {
            if let (Cells::Locals(ids), true) = (cells, leaf.dims.is_empty()) {
                let name = format!("{name}{}", leaf.path);
                let all = ids
                    .iter()
                    .map(|id| (*thread, name.clone(), leaf.ty.clone(), *id));
                locals.extend(all);
            }
        }
    }
    Ok(Lowered {
        globals: context.globals,
        templates,
        locals,
    })
}

impl<'a> Context<'a> {
    pub(super) fn litmus_threads(&mut self, start: &'a Start) -> Lower<Vec<Template>> {
        for location in &start.locations {
            self.next_address = location.address;
            let object = self.object(&location.name, &location.ty, true, false, location.span)?;
            if let [Cells::Shared(var)] = object.cells.as_slice() {
                self.globals[var.index()].init.clone_from(&location.init);
            }
        }
        self.declared = self.globals.len();
        for name in &start.threads {
            let Some(function) = self.functions.get(name.as_str()).copied() else {
                return Err(Diagnostic::error(
                    Span::default(),
                    format!("there is no `{name}`"),
                ));
            };
            self.plans.push(Plan {
                function,
                name: name.clone(),
                constant: None,
                argument: None,
                captured: None,
                started: GlobalId(0),
                ended: GlobalId(0),
                result: None,
                claimed: None,
                is_any: false,
                is_main: true,
                rank: None,
                part: None,
                span: function.span,
            });
        }
        let mut templates = Vec::new();
        for number in 0..start.threads.len() {
            let plan = self.plans[number].clone();
            templates.push(self.template(number, &plan)?);
        }
        match self.plans.get(start.threads.len()) {
            Some(plan) => Err(Diagnostic::error(
                plan.span,
                "unsupported: a litmus test that starts threads",
            )
            .help("write each thread as a function P0, P1, ...")),
            None => Ok(templates),
        }
    }
}

impl Code<'_, '_> {
    /// The addresses that a thread gets: of the locations with the names of its parameters.
    pub(super) fn locations(&self, function: &Function, start: &Start) -> Vec<Argument> {
        let address = |name: &Option<String>| {
            let is_it = |l: &&Location| Some(&l.name) == name.as_ref();
            start.locations.iter().find(is_it).map_or(0, |l| l.address)
        };
        let value = |(name, ty): &(Option<String>, Type)| {
            let e = palisade_program::LocalExpr::Const(address(name));
            Argument::Value(self.held(e, ty))
        };
        function.params.iter().map(value).collect()
    }

    /// Whether the variables declared here are those of a litmus test's thread.
    pub(super) fn is_observed(&self) -> bool {
        self.cx.litmus.is_some() && self.frames.len() == 1
    }

    /// The one variable of its name.
    pub(super) fn observed_variable(&mut self, d: &Declaration) -> Lower<Rc<Object>> {
        let key = (self.thread, d.name.clone());
        if let Some(object) = self.cx.observed.get(&key) {
            if object.ty == d.ty {
                return Ok(object.clone());
            }
            let message = format!("`{}` has another type elsewhere", d.name);
            return Err(Diagnostic::error(d.span, message));
        }
        let object = self.variable(&d.name, &d.ty, d.span)?;
        let start = self.cx.litmus.and_then(|l| l.values.get(&key)).copied();
        for (leaf, cells) in object.leaves.iter().zip(&object.cells) {
            let first = scalar(&leaf.ty).zip(start);
            let first = match (first, leaf.ty.plain()) {
                (Some((_, value)), Type::Bool) => i64::from(value != 0),
                (Some((ty, value)), _) => ty.shown(ty.canonical(value)) as i64,
                (None, _) => 0,
            };
            let Cells::Locals(locals) = cells else {
                continue;
            };
            // What is known of it in one scope would be wrong in another.
            self.untracked.extend(locals);
            for local in locals {
                self.locals[local.index()].init = Init::Value(first);
            }
        }
        self.cx.observed.insert(key, object.clone());
        Ok(object)
    }
}
