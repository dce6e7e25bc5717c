//! *Histories*: calls and returns of a run, and whether an order of the calls explains
//! the results (Wing and Gong). Simple and slow, on purpose: it shares nothing with
//! `track` but the specification, and confirms what the search found before it is
//! reported.

use std::collections::BTreeSet;

use palisade_program::heap::Operation;

use crate::spec::{Abstract, BrokenSpec, Oracle};
use crate::value::Value;

/// A call of a history. Times are positions in the history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) arguments: Vec<Value>,
    pub(crate) begin: usize,
    /// When it returned and what; `None` if it is pending.
    pub(crate) end: Option<(usize, Value)>,
}

/// Whether some order of all calls that have returned, and of some that have not, is
/// one that the specification allows, with the results returned, and in which no call
/// comes before one that had returned when it began.
pub(crate) fn linearizable(oracle: &Oracle<'_>, calls: &[Call]) -> Result<bool, BrokenSpec> {
    let left: BTreeSet<usize> = (0..calls.len()).collect();
    for start in oracle.initial()? {
        if explained(oracle, calls, &left, &start)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn explained(
    oracle: &Oracle<'_>,
    calls: &[Call],
    left: &BTreeSet<usize>,
    state: &Abstract,
) -> Result<bool, BrokenSpec> {
    if left.iter().all(|&index| calls[index].end.is_none()) {
        return Ok(true);
    }
    let returned = left.iter().filter_map(|&index| calls[index].end);
    let first_return = returned.map(|(time, _)| time).min();
    for &index in left {
        let call = &calls[index];
        // Something that has returned before it began must come first.
        if first_return.is_some_and(|time| time < call.begin) {
            continue;
        }
        let mut rest = left.clone();
        rest.remove(&index);
        for (after, result) in oracle.apply(state, call.operation, &call.arguments)? {
            let agrees = call.end.is_none_or(|(_, value)| value == result);
            if agrees && explained(oracle, calls, &rest, &after)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use palisade_program::Source;
    use palisade_program::heap::{Program, Specification};

    use super::*;
    use crate::options::Reclaim;
    use crate::step::Rules;
    use crate::track::{Belief, Effect, Pending, returned};

    const THREADS: usize = 3;

    fn program(specification: Specification) -> Program {
        Program {
            source: Source::default(),
            structs: Vec::new(),
            shared: Vec::new(),
            init: None,
            methods: Vec::new(),
            specification,
            nevers: Vec::new(),
        }
    }

    fn oracle(program: &Program) -> Oracle<'_> {
        let rules = Rules {
            structs: &[],
            reclaim: Reclaim::Never,
            numbers: 2,
            nodes: 8,
        };
        Oracle::new(program, rules)
    }

    /// A small generator of numbers: xorshift.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as usize % sides
        }
    }

    /// A random operation with its argument.
    fn operation(dice: &mut Dice, specification: &Specification) -> (Operation, Vec<Value>) {
        let operations: &[Operation] = match specification {
            Specification::Stack => &[Operation::Push, Operation::Pop],
            Specification::Queue => &[Operation::Enqueue, Operation::Dequeue],
            Specification::Set | Specification::Own(_) | Specification::Nothing => {
                &[Operation::Add, Operation::Remove, Operation::Contains]
            }
        };
        let operation = operations[dice.roll(operations.len())];
        let takes = !matches!(operation, Operation::Pop | Operation::Dequeue);
        let argument = Value::Data(dice.roll(2) as u32);
        (operation, if takes { vec![argument] } else { Vec::new() })
    }

    fn result(dice: &mut Dice, operation: Operation) -> Value {
        match operation {
            Operation::Push | Operation::Enqueue => Value::Nothing,
            Operation::Pop | Operation::Dequeue => {
                [Value::Data(0), Value::Data(1), Value::Empty][dice.roll(3)]
            }
            Operation::Add
            | Operation::Remove
            | Operation::Contains
            | Operation::Own(_)
            | Operation::Unspecified => Value::Bool(dice.roll(2) == 0),
        }
    }

    /// Law: tracking finds no belief exactly when no order explains the history, after
    /// every return of random histories.
    fn agree(specification: Specification, rounds: usize) {
        let program = program(specification);
        let oracle = oracle(&program);
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
        let (mut right, mut wrong) = (0, 0);
        for _ in 0..rounds {
            let start = oracle.initial().expect("built in").into_iter();
            let mut beliefs: Vec<Belief> = start
                .map(|spec| Belief {
                    spec,
                    calls: vec![Effect::default(); THREADS],
                })
                .collect();
            let mut calls: Vec<Call> = Vec::new();
            let mut running: [Option<usize>; THREADS] = [None; THREADS];
            for time in 0..12 {
                let thread = dice.roll(THREADS);
                let Some(index) = running[thread] else {
                    let (operation, arguments) = operation(&mut dice, &program.specification);
                    running[thread] = Some(calls.len());
                    calls.push(Call {
                        operation,
                        arguments,
                        begin: time,
                        end: None,
                    });
                    continue;
                };
                let value = result(&mut dice, calls[index].operation);
                let pending: Vec<Pending<'_>> = (0..THREADS)
                    .filter_map(|thread| {
                        let call = &calls[running[thread]?];
                        Some(Pending {
                            thread,
                            operation: call.operation,
                            arguments: &call.arguments,
                        })
                    })
                    .collect();
                beliefs = returned(&oracle, &beliefs, &pending, thread, value).expect("built in");
                calls[index].end = Some((time, value));
                running[thread] = None;
                let explained = linearizable(&oracle, &calls).expect("built in");
                assert_eq!(explained, !beliefs.is_empty(), "{calls:?}");
                *(if explained { &mut right } else { &mut wrong }) += 1;
                if !explained {
                    break;
                }
            }
        }
        assert!(
            right > rounds / 10 && wrong > rounds / 10,
            "{right} {wrong}"
        );
    }

    #[test]
    fn tracking_agrees_with_orders() {
        agree(Specification::Stack, 400);
        agree(Specification::Queue, 400);
        agree(Specification::Set, 400);
    }
}
