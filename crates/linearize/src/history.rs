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
    pub(crate) thread: usize,
    pub(crate) operation: Operation,
    pub(crate) arguments: Vec<Value>,
    pub(crate) begin: usize,
    /// When it was complete: when it returned, or with store buffers later; `None` if it is not.
    pub(crate) end: Option<usize>,
    /// What it returned, if it has returned.
    pub(crate) result: Option<Value>,
}

/// Whether some order of all calls that are complete, and of some that are not, is
/// one that the specification allows, with the results returned, and in which no call
/// comes before one that was complete when it began, or that its thread had called before.
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
    let first_end = left.iter().filter_map(|&index| calls[index].end).min();
    for &index in left {
        let call = &calls[index];
        // Something that was complete before it began must come first, and so must what its thread has called.
        let called =
            |&other: &usize| calls[other].thread == call.thread && calls[other].begin < call.begin;
        if first_end.is_some_and(|time| time < call.begin) || left.iter().any(called) {
            continue;
        }
        let mut rest = left.clone();
        rest.remove(&index);
        for (after, result) in oracle.apply(state, call.operation, &call.arguments)? {
            let agrees = call.result.is_none_or(|value| value == result);
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
    use crate::buffer::Returned;
    use crate::options::Reclaim;
    use crate::step::Rules;
    use crate::track::{Belief, Effect, Open, Pending, completed, left, returned};

    const THREADS: usize = 3;

    fn program(specification: Specification) -> Program {
        Program {
            source: Source::default(),
            structs: Vec::new(),
            shared: Vec::new(),
            kept: Vec::new(),
            roles: Vec::new(),
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

    /// A history that goes on, and what tracking says of it.
    struct Run<'a> {
        oracle: &'a Oracle<'a>,
        beliefs: Vec<Belief>,
        calls: Vec<Call>,
        running: [Option<usize>; THREADS],
        /// By thread, calls that have returned and are not complete.
        waiting: Vec<Vec<usize>>,
    }

    impl<'a> Run<'a> {
        fn new(oracle: &'a Oracle<'a>) -> Self {
            let start = oracle.initial().expect("built in").into_iter();
            let beliefs = start.map(|spec| Belief {
                spec,
                calls: vec![Effect::default(); THREADS],
                taken: vec![0; THREADS],
            });
            Self {
                oracle,
                beliefs: beliefs.collect(),
                calls: Vec::new(),
                running: [None; THREADS],
                waiting: vec![Vec::new(); THREADS],
            }
        }

        fn begin(
            &mut self,
            thread: usize,
            time: usize,
            (operation, arguments): (Operation, Vec<Value>),
        ) {
            self.running[thread] = Some(self.calls.len());
            self.calls.push(Call {
                thread,
                operation,
                arguments,
                begin: time,
                end: None,
                result: None,
            });
        }

        fn returned_calls(&self) -> Vec<Vec<Returned>> {
            let of = |index: &usize| Returned {
                operation: self.calls[*index].operation,
                arguments: self.calls[*index].arguments.clone(),
                value: self.calls[*index].result.expect("it has returned"),
                waits: 1,
            };
            let all = self.waiting.iter();
            all.map(|calls| calls.iter().map(of).collect()).collect()
        }

        fn pending(&self) -> Vec<Pending<'_>> {
            let running = self.running.iter().enumerate();
            running
                .filter_map(|(thread, index)| {
                    let call = &self.calls[(*index)?];
                    Some(Pending {
                        thread,
                        operation: call.operation,
                        arguments: &call.arguments,
                    })
                })
                .collect()
        }

        /// A call returns; it is complete unless it, or one before it, waits.
        fn ends(&mut self, thread: usize, index: usize, time: usize, value: Value, waits: bool) {
            let (pending, others) = (self.pending(), self.returned_calls());
            let open = Open {
                pending: &pending,
                returned: &others,
            };
            let waits = waits || !self.waiting[thread].is_empty();
            self.beliefs = if waits {
                left(&self.beliefs, thread, value, self.waiting[thread].len())
            } else {
                returned(self.oracle, &self.beliefs, open, thread, value).expect("built in")
            };
            self.calls[index].result = Some(value);
            if waits {
                self.waiting[thread].push(index);
            } else {
                self.calls[index].end = Some(time);
            }
            self.running[thread] = None;
        }

        /// The first calls that wait are complete.
        fn completes(&mut self, thread: usize, time: usize, count: usize) {
            let (pending, others) = (self.pending(), self.returned_calls());
            let open = Open {
                pending: &pending,
                returned: &others,
            };
            let count32 = count as u32;
            self.beliefs =
                completed(self.oracle, &self.beliefs, open, thread, count32).expect("built in");
            for index in self.waiting[thread].drain(..count) {
                self.calls[index].end = Some(time);
            }
        }
    }

    /// Law: tracking finds no belief exactly when no order explains the history, after
    /// every return of random histories, and whenever calls are complete that were not when they returned.
    fn agree(specification: Specification, rounds: usize, late: bool) {
        let program = program(specification);
        let oracle = oracle(&program);
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
        let (mut right, mut wrong, mut after) = (0, 0, 0);
        for _ in 0..rounds {
            let mut run = Run::new(&oracle);
            for time in 0..12 {
                let thread = dice.roll(THREADS);
                let waiting = run.waiting[thread].len();
                match run.running[thread] {
                    _ if waiting > 0 && dice.roll(3) == 0 => {
                        let count = 1 + dice.roll(waiting);
                        run.completes(thread, time, count);
                        after += 1;
                    }
                    None => {
                        let called = operation(&mut dice, &program.specification);
                        run.begin(thread, time, called);
                    }
                    Some(index) => {
                        let value = result(&mut dice, run.calls[index].operation);
                        let waits = late && dice.roll(2) == 0;
                        run.ends(thread, index, time, value, waits);
                    }
                }
                let explained = linearizable(&oracle, &run.calls).expect("built in");
                assert_eq!(explained, !run.beliefs.is_empty(), "{:?}", run.calls);
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
        assert_eq!(late, after > rounds / 10, "{after}");
    }

    #[test]
    fn tracking_agrees_with_orders() {
        for late in [false, true] {
            agree(Specification::Stack, 400, late);
            agree(Specification::Queue, 400, late);
            agree(Specification::Set, 400, late);
        }
    }
}
