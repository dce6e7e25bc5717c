//! Litmus tests in C: the threads are read by the C front end
//! ([`crate::c::litmus`]). The types of locations are taken from the parameters
//! unless the initial state declares them; a thread's variables are its registers.

use std::collections::BTreeMap;

use palisade_program::{Global, Init, Orders, TemplateId};

use super::condition::Question;
use super::init::{Item, LocRef, proc_number};
use super::memory::Layout;
use super::observe::{Register, RegisterMap, check_processors};
use super::ty::Ty;
use super::{Failure, Threads};
use crate::c::litmus::{Code, Param};
use crate::diagnostic::Diagnostic;

/// Parses the code.
pub(super) fn parse(text: &str, code: std::ops::Range<usize>) -> Result<Code, Vec<Diagnostic>> {
    crate::c::litmus::parse(text, code, |name| proc_number(name).is_some())
}

/// Lowers the code.
pub(super) fn build(
    code: &Code,
    items: &[Item],
    question: &Question,
    layout: &mut Layout,
    orders: Orders,
) -> Result<Threads, Vec<Diagnostic>> {
    let one = |e: Failure| vec![*e];
    let procs: Vec<Option<u32>> = code.threads.iter().map(|t| proc_number(&t.name)).collect();
    check_processors(&|p| procs.contains(&Some(p)), items, question).map_err(one)?;
    for param in code.threads.iter().flat_map(|thread| &thread.params) {
        declare(param, layout).map_err(one)?;
    }
    let mut globals = layout.globals().map_err(one)?;
    read_by_type(&mut globals, layout);
    let values = first_values(items, &procs, layout).map_err(one)?;
    let locations: Vec<(&Global, Ty, i64)> = globals
        .iter()
        .enumerate()
        .map(|(var, global)| (global, layout.vars[var].ty, layout.address(var, 0)))
        .collect();
    let program = code.lower(&locations, values, orders)?;
    let mut registers = RegisterMap::new();
    for (rank, found) in program.registers.into_iter().enumerate() {
        let Some(proc) = procs[found.thread] else {
            continue;
        };
        let register = Register {
            template: TemplateId::from(found.thread),
            local: found.local,
            shift: 0,
            ty: found.ty,
            rank: (rank, 0),
            label: format!("{proc}:{}", found.name),
        };
        registers.insert((proc, found.name), register);
    }
    Ok(Threads {
        globals: program.globals,
        templates: program.templates,
        registers,
    })
}

/// Makes the location that a parameter names; its address is a value.
fn declare(param: &Param, layout: &mut Layout) -> Result<(), Failure> {
    let Param { name, ty, span, .. } = param;
    let var = layout.intern(name, *span)?;
    let variable = &mut layout.vars[var];
    variable.taken = true;
    if !variable.declared {
        variable.ty = *ty;
        variable.declared = true;
    } else if variable.ty.bits != ty.bits {
        let bits = variable.ty.bits;
        let message = format!("`{name}` was declared with {bits} bits");
        return Err(Diagnostic::error(*span, message)
            .help("give the parameter the type of the location")
            .into());
    }
    Ok(())
}

/// What the initial state says of registers, by thread and name.
fn first_values(
    items: &[Item],
    procs: &[Option<u32>],
    layout: &mut Layout,
) -> Result<BTreeMap<(usize, String), i128>, Failure> {
    let mut values = BTreeMap::new();
    for item in items {
        if let (LocRef::Reg { proc, name }, Some(value)) = (&item.loc, item.values.first())
            && let Some(thread) = procs.iter().position(|p| *p == Some(*proc))
        {
            values.insert((thread, name.clone()), layout.value(value, item.span)?);
        }
    }
    Ok(values)
}

/// C's cells hold values as their types read them, not canonical ones.
fn read_by_type(globals: &mut [Global], layout: &Layout) {
    for (global, variable) in globals.iter_mut().zip(&layout.vars) {
        for init in &mut global.init {
            if let Init::Value(value) = init {
                *value = variable.ty.shown(*value) as i64;
            }
        }
    }
}
