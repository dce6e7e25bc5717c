//! What one thread of a *Boolean program* can do, shared by all searches of such
//! programs: the values of expressions ([Donaldson et al., CAV 2011], appendix A), and what comes next at
//! a position. `goto` and `skip` change nothing but the position, so they are taken
//! together with the statement that follows them; positions which a `never` speaks
//! of are not passed over.

use crate::ast::Value;
use crate::resolve::{Code, Resolved, Step};
use palisade_program::Span;

/// Most bits that one step may choose freely.
pub const MAX_OPEN: usize = 30;

/// Bit `index` of some words.
pub fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

/// Changes bit `index` of some words.
pub fn set_bit(words: &mut [u64], index: usize, value: bool) {
    let word = &mut words[index / 64];
    *word = *word & !(1 << (index % 64)) | u64::from(value) << (index % 64);
}

/// A set of truth values: bit 0 for false, bit 1 for true.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Set(u8);

impl Set {
    /// Both values.
    pub const BOTH: Self = Self(3);

    /// One value.
    pub const fn of(value: bool) -> Self {
        Self(1 << value as u8)
    }

    /// Whether a value is in it.
    pub const fn has(self, value: bool) -> bool {
        self.0 >> value as u8 & 1 == 1
    }

    /// Its values.
    pub fn values(self) -> impl Iterator<Item = bool> {
        [false, true].into_iter().filter(move |v| self.has(*v))
    }

    /// The only value.
    pub const fn known(self) -> Option<bool> {
        match self.0 {
            1 => Some(false),
            2 => Some(true),
            _ => None,
        }
    }

    /// The values of `choose(yes, no)`.
    pub const fn chosen(yes: bool, no: bool) -> Self {
        match (yes, no) {
            (true, _) => Self::of(true),
            (false, true) => Self::of(false),
            (false, false) => Self::BOTH,
        }
    }

    /// All results of `f` on values of `a` and `b`.
    fn map2(a: Self, b: Self, f: impl Fn(bool, bool) -> Self) -> Self {
        let mut result = Self(0);
        for x in a.values() {
            for y in b.values() {
                result.0 |= f(x, y).0;
            }
        }
        result
    }
}

/// What expressions are evaluated in; variables are bits of words.
#[derive(Clone, Copy)]
pub struct Eval<'e> {
    /// The shared variables.
    pub shared: &'e [u64],
    /// The active thread's locals.
    pub own: &'e [u64],
    /// A passive thread's locals.
    pub passive: &'e [u64],
    /// The shared variables after the assignment, in constraints.
    pub next_shared: &'e [u64],
    /// The active thread's locals after the assignment, in constraints.
    pub next_own: &'e [u64],
    /// Whether the one thread of a kind is at a position.
    pub at: &'e dyn Fn(usize, usize) -> bool,
}

/// What is known of the variables that an expression reads.
pub trait Lookup {
    /// A shared variable.
    fn shared(&self, i: usize) -> Set;
    /// A local of the active thread.
    fn own(&self, i: usize) -> Set;
    /// A local of the passive thread.
    fn passive(&self, i: usize) -> Set;
    /// A shared variable after the assignment.
    fn next_shared(&self, i: usize) -> Set;
    /// A local of the active thread after the assignment.
    fn next_own(&self, i: usize) -> Set;
    /// Whether the one thread of a kind is at a position.
    fn is_at(&self, kind: usize, position: usize) -> bool;
}

impl Lookup for Eval<'_> {
    fn shared(&self, i: usize) -> Set {
        Set::of(bit(self.shared, i))
    }

    fn own(&self, i: usize) -> Set {
        Set::of(bit(self.own, i))
    }

    fn passive(&self, i: usize) -> Set {
        Set::of(bit(self.passive, i))
    }

    fn next_shared(&self, i: usize) -> Set {
        Set::of(bit(self.next_shared, i))
    }

    fn next_own(&self, i: usize) -> Set {
        Set::of(bit(self.next_own, i))
    }

    fn is_at(&self, kind: usize, position: usize) -> bool {
        (self.at)(kind, position)
    }
}

impl Eval<'_> {
    /// All values that an expression may have: eval(phi, i, j, sigma).
    pub fn eval(&self, code: &Code) -> Set {
        values(code, self)
    }
}

/// All values that an expression may have; more, where variables that are not known occur
/// several times.
pub fn values(code: &Code, known: &impl Lookup) -> Set {
    match code {
        Code::Value(Value::False) => Set::of(false),
        Code::Value(Value::True) => Set::of(true),
        Code::Value(Value::Any) => Set::BOTH,
        Code::Shared(i) => known.shared(*i),
        Code::Own(i) => known.own(*i),
        Code::Passive(i) => known.passive(*i),
        Code::NextShared(i) => known.next_shared(*i),
        Code::NextOwn(i) => known.next_own(*i),
        Code::At(kind, position) => Set::of(known.is_at(*kind, *position)),
        Code::Not(e) => {
            let inner = values(e, known).0;
            Set(inner >> 1 & 1 | (inner & 1) << 1)
        }
        Code::Binary(op, parts) => {
            let (a, b) = (values(&parts.0, known), values(&parts.1, known));
            Set::map2(a, b, |x, y| Set::of(op.apply(x, y)))
        }
        Code::Choose(parts) => {
            let (a, b) = (values(&parts.0, known), values(&parts.1, known));
            Set::map2(a, b, Set::chosen)
        }
        Code::Cond(parts) => {
            let mut result = Set(0);
            for choice in values(&parts.0, known).values() {
                let part = if choice { &parts.1 } else { &parts.2 };
                result.0 |= values(part, known).0;
            }
            result
        }
    }
}

/// What a thread can do next.
#[derive(Clone, Copy)]
pub enum Move {
    /// Execute the statement at this position.
    Execute(usize),
    /// Get to this position, which a property speaks of, by the `goto` there.
    Arrive(usize, Span),
}

/// The moves from each position, `goto` and `skip` passed over.
pub type Closure = Vec<Vec<Move>>;

/// For each position of a kind of thread what can be next. Positions that a
/// property speaks of are stops of their own: passing them would hide a state.
pub fn closure(program: &Resolved, t: usize) -> Closure {
    let code = &program.threads[t];
    let from = |start: usize| {
        let mut seen = vec![false; code.steps.len() + 1];
        let mut stack = vec![(start, Span::default())];
        let mut found = Vec::new();
        while let Some((position, by)) = stack.pop() {
            if std::mem::replace(&mut seen[position], true) {
                continue;
            }
            if position != start && code.observed.contains(&position) {
                found.push(Move::Arrive(position, by));
                continue;
            }
            match code.steps.get(position) {
                Some((Step::Goto(next), span)) => {
                    stack.extend(next.iter().rev().map(|to| (*to, *span)));
                }
                Some(_) => found.push(Move::Execute(position)),
                None => {}
            }
        }
        found
    };
    (0..=code.steps.len()).map(from).collect()
}

/// For each position where a thread is that gets there: single `goto` and `skip`
/// are followed at once, up to positions that a property speaks of.
pub fn settled(program: &Resolved, t: usize) -> Vec<usize> {
    let code = &program.threads[t];
    let from = |start: usize| {
        let mut position = start;
        for _ in 0..=code.steps.len() {
            if code.observed.contains(&position) {
                break;
            }
            match code.steps.get(position) {
                Some((Step::Goto(next), _)) if next.len() == 1 => position = next[0],
                _ => break,
            }
        }
        position
    };
    (0..=code.steps.len()).map(from).collect()
}
