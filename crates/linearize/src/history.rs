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
