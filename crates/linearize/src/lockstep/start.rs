//! How object and specification *start*: `init` is run, and must come to one state only.

use palisade_program::Span;
use palisade_program::heap::{Body, Program, Specification, Step};

use crate::code::Code;
use crate::options::Reclaim;
use crate::prove::Unsupported;
use crate::prove::supported::refuse;
use crate::spec::{Abstract, Oracle};
use crate::step::Rules;
use crate::value::Memory;

/// Memory of the object, and of the specification if it is one's own, after `init`.
pub(super) fn start(program: &Program) -> Result<(Memory, Option<Memory>), Unsupported> {
    let rules = Rules {
        structs: &program.structs,
        reclaim: Reclaim::Never,
        numbers: 1,
        nodes: usize::MAX,
    };
    let oracle = Oracle::new(program, rules);
    let object = after(&oracle, program.init.as_ref(), Memory::new(&program.shared))?;
    let specification = match &program.specification {
        Specification::Own(own) => {
            let memory = Memory::new(&own.shared);
            Some(after(&oracle, own.init.as_ref(), memory)?)
        }
        Specification::Stack
        | Specification::Queue
        | Specification::Set
        | Specification::Nothing => None,
    };
    Ok((object, specification))
}

fn after(oracle: &Oracle<'_>, init: Option<&Body>, memory: Memory) -> Result<Memory, Unsupported> {
    let Some(init) = init else {
        return Ok(memory);
    };
    let span = init.edges.first().map_or(Span::default(), |edge| edge.span);
    // Of `*` only some values would be tried.
    let chooses = |step: &Step| matches!(step, Step::Havoc { .. });
    if let Some(edge) = init.edges.iter().find(|edge| chooses(&edge.step)) {
        return refuse("`*` in `init`", edge.span);
    }
    let ends = oracle.execute(&Code::new(init), memory, &[]);
    match ends.as_deref() {
        Ok([(Abstract::Own(memory), _)]) => Ok(memory.clone()),
        Ok(_) | Err(_) => refuse("an `init` with several ends or none", span),
    }
}
