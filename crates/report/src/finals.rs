//! *Final states*: memory and locals when all threads have ended and everything
//! has drained. A final state comes as a list of values: all cells of memory,
//! then the locals of each thread; temporaries have no name and are left out.

use palisade_program::{Cell, Origin, Program};
use serde_json::Value;

/// The names of the values of a final state; `None` for temporaries. Templates
/// with `[*]` have `any` copies.
pub fn names(program: &Program, any: u32) -> Vec<Option<String>> {
    let cells = (0..program.cell_count()).map(|cell| Some(program.cell_name(Cell::from(cell))));
    let mut names: Vec<Option<String>> = cells.collect();
    for instance in program.instances(any) {
        let thread = program.instance_name(instance);
        let locals = &program.template(instance.template).locals;
        names.extend(locals.iter().map(|local| match local.origin {
            Origin::User => Some(format!("{thread}.{}", local.name)),
            Origin::Temporary => None,
        }));
    }
    names
}

/// The values that have names.
pub fn named(names: &[Option<String>], values: &[i64]) -> Vec<(String, i64)> {
    names
        .iter()
        .zip(values)
        .filter_map(|(name, &value)| Some((name.clone()?, value)))
        .collect()
}

/// Final states as text, one a line.
pub fn render(states: &[Vec<(String, i64)>]) -> String {
    let line = |state: &Vec<(String, i64)>| {
        let values: Vec<String> = state
            .iter()
            .map(|(name, v)| format!("{name}={v}"))
            .collect();
        format!("  {}\n", values.join(" "))
    };
    let lines: Vec<String> = states.iter().map(line).collect();
    let noun = if lines.len() == 1 { "state" } else { "states" };
    format!("{} final {noun}\n{}", lines.len(), lines.concat())
}

/// A final state for the JSON document.
pub fn value(state: Vec<(String, i64)>) -> Value {
    state
        .into_iter()
        .map(|(name, value)| (name, Value::from(value)))
        .collect()
}
