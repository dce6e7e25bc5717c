//! States of the *specification*, and what its operations do to them.

use palisade_program::heap::{Operation, Program, Sequential, Specification, Step};

use crate::canonical;
use crate::code::Code;
use crate::options::Reclaim;
use crate::step::{Outcome, Rules, run, term};
use crate::value::{Memory, Value};

/// Steps that one operation of an own specification may take.
const MAX_STEPS: usize = 10_000;

/// A state of the specification.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Abstract {
    /// Stack (the last is the top) and queue (the first is the oldest).
    Sequence(Vec<Value>),
    /// Set, sorted.
    Set(Vec<Value>),
    /// One's own: its memory, with nodes in the order in which they are reached.
    Own(Memory),
    /// Nothing is specified.
    Nothing,
}

impl Abstract {
    /// Calls `f` on every value.
    pub(crate) fn for_each_value(&mut self, f: &mut dyn FnMut(&mut Value)) {
        match self {
            Self::Sequence(values) | Self::Set(values) => values.iter_mut().for_each(f),
            Self::Own(memory) => canonical::for_each_value(memory, f),
            Self::Nothing => {}
        }
    }
}

/// The specification, prepared.
pub(crate) struct Oracle<'a> {
    program: &'a Program,
    own: Option<(&'a Sequential, Vec<Code<'a>>)>,
    rules: Rules<'a>,
}

/// An own specification ran into something that a specification must not do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokenSpec(pub String);

impl<'a> Oracle<'a> {
    pub(crate) fn new(program: &'a Program, rules: Rules<'a>) -> Self {
        let own = match &program.specification {
            Specification::Own(own) => {
                let codes = own.operations.iter().map(|o| Code::new(&o.body));
                Some((&**own, codes.collect()))
            }
            Specification::Stack
            | Specification::Queue
            | Specification::Set
            | Specification::Nothing => None,
        };
        let rules = Rules {
            reclaim: Reclaim::Never,
            nodes: usize::MAX,
            ..rules
        };
        Self {
            program,
            own,
            rules,
        }
    }

    /// The states it may start in.
    pub(crate) fn initial(&self) -> Result<Vec<Abstract>, BrokenSpec> {
        Ok(match &self.program.specification {
            Specification::Stack | Specification::Queue => vec![Abstract::Sequence(Vec::new())],
            Specification::Set => vec![Abstract::Set(Vec::new())],
            Specification::Nothing => vec![Abstract::Nothing],
            Specification::Own(own) => {
                let memory = Memory::new(&own.shared);
                let Some(init) = &own.init else {
                    return Ok(vec![Abstract::Own(memory)]);
                };
                let ends = self.execute(&Code::new(init), memory, &[])?;
                ends.into_iter().map(|(state, _)| state).collect()
            }
        })
    }

    /// What an operation with these arguments can do: states after it with results.
    pub(crate) fn apply(
        &self,
        state: &Abstract,
        operation: Operation,
        arguments: &[Value],
    ) -> Result<Vec<(Abstract, Value)>, BrokenSpec> {
        let argument = arguments.first().copied().unwrap_or(Value::Nothing);
        let one = match (state, operation) {
            (Abstract::Sequence(values), Operation::Push | Operation::Enqueue) => {
                let mut values = values.clone();
                values.push(argument);
                (Abstract::Sequence(values), Value::Nothing)
            }
            (Abstract::Sequence(values), Operation::Pop) => {
                let mut values = values.clone();
                let result = values.pop().unwrap_or(Value::Empty);
                (Abstract::Sequence(values), result)
            }
            (Abstract::Sequence(values), Operation::Dequeue) => {
                let result = values.first().copied().unwrap_or(Value::Empty);
                let rest = values.iter().skip(1).copied().collect();
                (Abstract::Sequence(rest), result)
            }
            (Abstract::Set(values), Operation::Add) => {
                let mut values = values.clone();
                let place = values.binary_search(&argument);
                if let Err(place) = place {
                    values.insert(place, argument);
                }
                (Abstract::Set(values), Value::Bool(place.is_err()))
            }
            (Abstract::Set(values), Operation::Remove) => {
                let mut values = values.clone();
                let place = values.binary_search(&argument);
                if let Ok(place) = place {
                    values.remove(place);
                }
                (Abstract::Set(values), Value::Bool(place.is_ok()))
            }
            (Abstract::Set(values), Operation::Contains) => {
                let found = values.binary_search(&argument).is_ok();
                (state.clone(), Value::Bool(found))
            }
            (Abstract::Own(memory), Operation::Own(index)) => {
                let Some((_, codes)) = &self.own else {
                    return Ok(Vec::new());
                };
                return self.execute(&codes[index], memory.clone(), arguments);
            }
            (Abstract::Nothing, _) => (Abstract::Nothing, Value::Nothing),
            // The front end has matched methods with the specification.
            (Abstract::Sequence(_) | Abstract::Set(_) | Abstract::Own(_), _) => {
                return Ok(Vec::new());
            }
        };
        Ok(vec![one])
    }

    /// Runs a body of an own specification in all ways.
    pub(crate) fn execute(
        &self,
        code: &Code<'_>,
        memory: Memory,
        arguments: &[Value],
    ) -> Result<Vec<(Abstract, Value)>, BrokenSpec> {
        let mut locals = code.defaults.clone();
        locals[..arguments.len()].copy_from_slice(arguments);
        let mut open = vec![(code.body.entry, memory, locals)];
        let mut ends = Vec::new();
        let mut steps = 0;
        while let Some((at, memory, locals)) = open.pop() {
            steps += 1;
            if steps > MAX_STEPS {
                let text =
                    format!("an operation of the specification takes more than {MAX_STEPS} steps");
                return Err(BrokenSpec(text));
            }
            for &index in code.leaving(at) {
                let edge = &code.body.edges[index];
                let wrong = |fault| {
                    let line = self.program.source.position(edge.span.start).line;
                    let text =
                        format!("the specification itself goes wrong at line {line}: {fault}");
                    BrokenSpec(text)
                };
                match run(&edge.step, code.body, &memory, &locals, 0, &self.rules) {
                    Outcome::Blocked => {}
                    Outcome::Wrong(fault) => return Err(wrong(fault)),
                    Outcome::Done(ways) => {
                        for (memory, locals) in ways {
                            if let Step::Return(value) = &edge.step {
                                let result = match value {
                                    Some(value) => term(*value, &memory, &locals).map_err(wrong)?,
                                    None => Value::Nothing,
                                };
                                let memory = canonical::tidied(memory);
                                ends.push((Abstract::Own(memory), result));
                            } else {
                                open.push((edge.to, memory, locals));
                            }
                        }
                    }
                }
            }
        }
        ends.sort();
        ends.dedup();
        Ok(ends)
    }
}
