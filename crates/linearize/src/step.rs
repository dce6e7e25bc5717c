//! One *step*: what an edge does to memory and locals. The only account of it: the
//! search, the replay and own specifications all come here.

use palisade_program::LocalId;
use palisade_program::heap::{Body, Cond, Failure, Operator, Place, Step, Struct, Term};

use crate::options::Reclaim;
use crate::value::{Life, Memory, Value, Word};

/// What goes wrong in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A field of null is used.
    NullDereference,
    /// A freed node is used.
    UseAfterFree,
    /// A freed node is freed again.
    DoubleFree,
    /// A lock is given back that the thread does not hold.
    NotHeld,
    /// A number left the range of 64 bits.
    Overflow,
    /// The condition of an `assert` does not hold.
    Assertion,
    /// The index of an array is out of range.
    Index,
}

/// What a step came to.
pub(crate) enum Outcome {
    /// It happened, in one of these ways.
    Done(Vec<(Memory, Vec<Value>)>),
    /// It is not possible now.
    Blocked,
    /// It is a violation.
    Wrong(Fault),
}

/// What steps depend on besides memory and locals.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) structs: &'a [Struct],
    pub(crate) reclaim: Reclaim,
    /// Values of `*`.
    pub(crate) numbers: u32,
    /// Nodes at most.
    pub(crate) nodes: usize,
}

/// Evaluates a term.
pub(crate) fn term(term: Term, memory: &Memory, locals: &[Value]) -> Result<Value, Fault> {
    Ok(match term {
        Term::Null => Value::Null,
        Term::Empty => Value::Empty,
        Term::Infinity(false) => Value::Least,
        Term::Infinity(true) => Value::Greatest,
        Term::Undefined => Value::Undefined,
        Term::Bool(value) => Value::Bool(value),
        Term::Int(value) => Value::Int(value),
        Term::Local(id) => locals[id.index()],
        Term::Plus(id, by) => match locals[id.index()] {
            Value::Int(value) => Value::Int(value.checked_add(by).ok_or(Fault::Overflow)?),
            // The front end has checked types.
            other => other,
        },
        Term::Shared(id) => memory.shared(id),
    })
}

fn computed(operator: Operator, left: Value, right: Value) -> Result<Value, Fault> {
    let (Value::Int(left), Value::Int(right)) = (left, right) else {
        // The front end has checked types.
        return Ok(left);
    };
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Remainder => left.checked_rem_euclid(right),
    };
    result.map(Value::Int).ok_or(Fault::Overflow)
}

/// Evaluates a condition.
pub(crate) fn holds(cond: &Cond, memory: &Memory, locals: &[Value]) -> Result<bool, Fault> {
    let value = |t: Term| term(t, memory, locals);
    Ok(match cond {
        Cond::True => true,
        Cond::Holds(t) => value(*t)? == Value::Bool(true),
        Cond::Eq(a, b) => value(*a)? == value(*b)?,
        Cond::Less(a, b) => match (value(*a)?, value(*b)?) {
            (Value::Int(a), Value::Int(b)) => a < b,
            // An order of data: undefined and empty have some place in it.
            (a, b) => a < b,
        },
        Cond::Not(inner) => !holds(inner, memory, locals)?,
        Cond::And(a, b) => holds(a, memory, locals)? && holds(b, memory, locals)?,
        Cond::Or(a, b) => holds(a, memory, locals)? || holds(b, memory, locals)?,
    })
}

/// How a place is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
}

fn node_index(local: LocalId, locals: &[Value]) -> Result<usize, Fault> {
    match locals[local.index()] {
        Value::Node(index) => Ok(index as usize),
        _ => Err(Fault::NullDereference),
    }
}

/// What goes wrong when a place is used like this, if anything.
pub(crate) fn fault(
    memory: &Memory,
    place: Place,
    locals: &[Value],
    how: Use,
    me: u32,
    rules: &Rules<'_>,
) -> Option<Fault> {
    let Place::Field { of, .. } = place else {
        return None;
    };
    let node = match node_index(of, locals) {
        Ok(index) => &memory.nodes[index],
        Err(fault) => return Some(fault),
    };
    let wrong = match node.life {
        Life::Live => false,
        Life::FreedBy(who) => who == me || how == Use::Write,
        Life::Freed => how == Use::Write,
    };
    let strict = rules.reclaim == Reclaim::Strict && node.life != Life::Live;
    (wrong || strict).then_some(Fault::UseAfterFree)
}

/// The word of a place. With recycled memory a freed node may be read by others than
/// the thread that freed it: allocators of lock-free structures keep nodes of
/// one type, and optimistic readers rely on that. To write one is always wrong.
fn word<'m>(
    memory: &'m mut Memory,
    place: Place,
    locals: &[Value],
    how: Use,
    me: u32,
    rules: &Rules<'_>,
) -> Result<&'m mut Word, Fault> {
    if let Some(fault) = fault(memory, place, locals, how, me, rules) {
        return Err(fault);
    }
    match place {
        Place::Shared(id) => Ok(&mut memory.shared[id.index()]),
        Place::Field { of, field } => {
            let node = &mut memory.nodes[node_index(of, locals)?];
            Ok(&mut node.words[field.index()])
        }
    }
}

/// Runs `step` for thread `me`. A `Return` does nothing here, but its value must fit.
pub(crate) fn run(
    step: &Step,
    body: &Body,
    memory: &Memory,
    locals: &[Value],
    me: u32,
    rules: &Rules<'_>,
) -> Outcome {
    match try_run(step, body, memory, locals, me, rules) {
        Ok(outcome) => outcome,
        Err(fault) => Outcome::Wrong(fault),
    }
}

fn try_run(
    step: &Step,
    body: &Body,
    memory: &Memory,
    locals: &[Value],
    me: u32,
    rules: &Rules<'_>,
) -> Result<Outcome, Fault> {
    // Most of the edges that are tried are branches that are not taken.
    if let Step::Assume(cond) = step
        && !holds(cond, memory, locals)?
    {
        return Ok(Outcome::Blocked);
    }
    let mut memory = memory.clone();
    let mut locals = locals.to_vec();
    match step {
        Step::Skip | Step::Fence | Step::Assume(_) | Step::Return(None) => {}
        Step::Return(Some(value)) => {
            term(*value, &memory, &locals)?;
        }
        Step::Assign { to, value } => {
            locals[to.index()] = term(*value, &memory, &locals)?;
        }
        Step::Compute {
            to,
            operator,
            left,
            right,
        } => {
            let left = term(*left, &memory, &locals)?;
            let right = term(*right, &memory, &locals)?;
            locals[to.index()] = computed(*operator, left, right)?;
        }
        Step::Fail(Failure::Assertion) => return Err(Fault::Assertion),
        Step::Fail(Failure::Index) => return Err(Fault::Index),
        Step::Havoc { to } => return Ok(havoc(*to, &memory, &locals, rules)),
        Step::New { to } => return Ok(allocate(*to, body, &memory, &locals, rules)),
        Step::Read { to, tag, from } => {
            let word = *word(&mut memory, *from, &locals, Use::Read, me, rules)?;
            locals[to.index()] = word.value;
            if let Some(tag) = tag {
                locals[tag.index()] = word.tag;
            }
        }
        Step::Write { to, value, tag } => {
            let new = packed(*value, *tag, &memory, &locals)?;
            *word(&mut memory, *to, &locals, Use::Write, me, rules)? = new;
        }
        Step::Cas {
            at,
            expect,
            expect_tag,
            new,
            new_tag,
            success,
        } => {
            let expect = packed(*expect, *expect_tag, &memory, &locals)?;
            let new = packed(*new, *new_tag, &memory, &locals)?;
            let found = *word(&mut memory, *at, &locals, Use::Read, me, rules)?;
            if (found == expect) != *success {
                return Ok(Outcome::Blocked);
            }
            if *success {
                *word(&mut memory, *at, &locals, Use::Write, me, rules)? = new;
            }
        }
        Step::Lock(place) => {
            let word = word(&mut memory, *place, &locals, Use::Write, me, rules)?;
            if word.value != Value::Null {
                return Ok(Outcome::Blocked);
            }
            word.value = Value::Holder(me);
        }
        Step::Unlock(place) => {
            let word = word(&mut memory, *place, &locals, Use::Write, me, rules)?;
            if word.value != Value::Holder(me) {
                return Err(Fault::NotHeld);
            }
            word.value = Value::Null;
        }
        Step::Free(local) => {
            let index = node_index(*local, &locals)?;
            if rules.reclaim != Reclaim::Never {
                let node = &mut memory.nodes[index];
                if node.life != Life::Live {
                    return Err(Fault::DoubleFree);
                }
                node.life = Life::FreedBy(me);
            }
        }
    }
    Ok(Outcome::Done(vec![(memory, locals)]))
}

pub(crate) fn packed(
    value: Term,
    tag: Option<Term>,
    memory: &Memory,
    locals: &[Value],
) -> Result<Word, Fault> {
    let value = term(value, memory, locals)?;
    let tag = match tag {
        Some(tag) => term(tag, memory, locals)?,
        None => Value::Nothing,
    };
    Ok(Word { value, tag })
}

fn havoc(to: LocalId, memory: &Memory, locals: &[Value], rules: &Rules<'_>) -> Outcome {
    let values: Vec<Value> = match locals[to.index()] {
        Value::Bool(_) => vec![Value::Bool(false), Value::Bool(true)],
        _ => (0..i64::from(rules.numbers)).map(Value::Int).collect(),
    };
    let with = |value| {
        let mut locals = locals.to_vec();
        locals[to.index()] = value;
        (memory.clone(), locals)
    };
    Outcome::Done(values.into_iter().map(with).collect())
}

/// A fresh node, or with reclamation any freed one, as it is.
fn allocate(
    to: LocalId,
    body: &Body,
    memory: &Memory,
    locals: &[Value],
    rules: &Rules<'_>,
) -> Outcome {
    let Some(of) = body.pointee(to) else {
        return Outcome::Blocked;
    };
    let mut ways = Vec::new();
    for (index, node) in memory.nodes.iter().enumerate() {
        if node.of == of && node.life != Life::Live {
            let (mut memory, mut locals) = (memory.clone(), locals.to_vec());
            memory.nodes[index].life = Life::Live;
            locals[to.index()] = Value::Node(index as u32);
            ways.push((memory, locals));
        }
    }
    if memory.nodes.len() < rules.nodes {
        let (mut memory, mut locals) = (memory.clone(), locals.to_vec());
        let fields = &rules.structs[of.index()].fields;
        locals[to.index()] = memory.allocate(of, fields);
        ways.push((memory, locals));
    }
    Outcome::Done(ways)
}
