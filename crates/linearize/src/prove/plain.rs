//! A *plain* program has no numbers, truth values or tags: what the model has no words for. It has
//! every run of the original and perhaps more, so what is proved of it holds of the original.
//!
//! | in the original | here |
//! |---|---|
//! | a local of type bool | told by the location: one copy for each value that it can have there |
//! | a local or shared variable of type int, a shared one of type bool | any value: a test of it goes either way |
//! | a mark or counter beside a pointer | left out: a `cas` may fail though the pointer is the expected one |
//!
//! A condition of a commit point is a claim and must be exact: if it needs what is left out, the
//! program is [`Unsupported`]. Steps that then do nothing are taken out where that joins no
//! two steps between which others may act.

use std::collections::BTreeMap;

use palisade_program::heap::soft::Soft;
use palisade_program::heap::{
    Body, Commit, Cond, Edge, Location, Place, Program, Specification, Step, Term, Type,
};
use palisade_program::{LocId, LocalId};

use super::supported::{Unsupported, refuse, sequence};
use crate::code::Code;

/// Locals of type bool that one method may have.
const FLAGS: usize = 8;

/// The plain program.
pub fn plain(program: &Program) -> Result<Program, Unsupported> {
    sequence(program)?;
    if let Some(kept) = program.kept.first() {
        return refuse("a variable that threads keep between calls", kept.span);
    }
    let mut plain = program.clone();
    for body in plain
        .methods
        .iter_mut()
        .map(|m| &mut m.body)
        .chain(&mut plain.init)
    {
        *body = Splitter::new(program, body)?.split()?;
        while skip(body) {}
        prune(body);
    }
    for never in &plain.nevers {
        let mut fine = true;
        never
            .cond
            .for_each_term(&mut |term| fine &= !number(program, None, term));
        if !fine {
            return refuse("`never` over anything but pointers", never.span);
        }
    }
    for shared in &mut plain.shared {
        shared.tag = None;
    }
    for field in plain.structs.iter_mut().flat_map(|s| &mut s.fields) {
        field.tag = None;
    }
    Ok(plain)
}

/// Whether the term is a number or truth value.
fn number(program: &Program, body: Option<&Body>, term: Term) -> bool {
    let kind = |ty: Type| matches!(ty, Type::Int | Type::Bool);
    match term {
        Term::Null | Term::Empty | Term::Infinity(_) | Term::Undefined => false,
        Term::Bool(_) | Term::Int(_) | Term::Plus(..) => true,
        Term::Local(id) => body.is_some_and(|body| kind(body.locals[id.index()].ty)),
        Term::Shared(id) => kind(program.shared[id.index()].ty),
    }
}

/// The values of the flags, as bits.
type Values = usize;

struct Splitter<'a> {
    program: &'a Program,
    body: &'a Body,
    /// Locals of type bool.
    flags: Vec<LocalId>,
    code: Code<'a>,
    /// The copies, by location and values.
    copies: BTreeMap<(LocId, Values), LocId>,
    open: Vec<(LocId, Values)>,
    out: Body,
}

impl<'a> Splitter<'a> {
    fn new(program: &'a Program, body: &'a Body) -> Result<Self, Unsupported> {
        let all = (0..body.locals.len()).map(LocalId::from);
        let flags: Vec<LocalId> = all
            .filter(|id| body.locals[id.index()].ty == Type::Bool)
            .collect();
        if let Some(more) = flags.get(FLAGS) {
            let span = body.locals[more.index()].span;
            return refuse("a method with so many locals of type bool", span);
        }
        Ok(Self {
            program,
            body,
            flags,
            code: Code::new(body),
            copies: BTreeMap::new(),
            open: Vec::new(),
            out: Body {
                locals: body.locals.clone(),
                ..Body::default()
            },
        })
    }

    fn split(mut self) -> Result<Body, Unsupported> {
        self.out.entry = self.copy(self.body.entry, 0);
        self.out.exit = self.copy(self.body.exit, 0);
        while let Some((at, values)) = self.open.pop() {
            let from = self.copies[&(at, values)];
            for edge in self.body.edges.iter().filter(|e| e.from == at) {
                for (step, after) in self.outcomes(edge, values)? {
                    let commits = self.commits(edge, after)?;
                    let to = self.copy(edge.to, after);
                    self.out.edges.push(Edge {
                        from,
                        to,
                        step,
                        commits,
                        span: edge.span,
                    });
                }
            }
        }
        self.out.edges.sort_by_key(|edge| edge.from);
        for soft in &self.body.softs {
            let copies = self.copies.iter().filter(|((at, _), _)| *at == soft.at);
            let said = copies.map(|(_, &at)| Soft { at, ..*soft });
            self.out.softs.extend(said);
        }
        Ok(self.out)
    }

    /// The copy of a location; flags that are not used any more do not count.
    fn copy(&mut self, at: LocId, values: Values) -> LocId {
        let live = &self.code.live()[at.index()];
        let mut kept = values;
        for (bit, flag) in self.flags.iter().enumerate() {
            if at == self.body.exit || !live[flag.index()] {
                kept &= !(1 << bit);
            }
        }
        if let Some(&copy) = self.copies.get(&(at, kept)) {
            return copy;
        }
        let copy = LocId::from(self.out.locations.len());
        self.out.locations.push(self.body.locations[at.index()]);
        self.copies.insert((at, kept), copy);
        self.open.push((at, kept));
        copy
    }

    fn flag(&self, id: LocalId) -> Option<usize> {
        self.flags.iter().position(|flag| *flag == id)
    }

    fn set(&self, values: Values, id: LocalId, value: bool) -> Values {
        match self.flag(id) {
            None => values,
            Some(bit) if value => values | 1 << bit,
            Some(bit) => values & !(1 << bit),
        }
    }

    fn either(&self, values: Values, id: LocalId) -> Vec<Values> {
        let mut both = vec![self.set(values, id, false), self.set(values, id, true)];
        both.dedup();
        both
    }

    /// What the step becomes, and the values after it.
    fn outcomes(&self, edge: &Edge, values: Values) -> Result<Vec<(Step, Values)>, Unsupported> {
        let only = |step: Step| vec![(step, values)];
        let skips = |all: Vec<Values>| all.into_iter().map(|v| (Step::Skip, v)).collect();
        let counted = |id: LocalId| {
            let ty = self.body.locals[id.index()].ty;
            matches!(ty, Type::Int | Type::Bool)
        };
        Ok(match &edge.step {
            Step::Assume(cond) => match self.weaker(cond, values, true) {
                Cond::True => only(Step::Skip),
                Cond::Not(inner) if *inner == Cond::True => Vec::new(),
                cond => only(Step::Assume(cond)),
            },
            Step::Assign { to, value } if counted(*to) => match self.truth(*value, values) {
                Some(truth) => skips(vec![self.set(values, *to, truth)]),
                None => skips(self.either(values, *to)),
            },
            Step::Havoc { to } | Step::Compute { to, .. } => skips(self.either(values, *to)),
            Step::Read { to, from, .. } if counted(*to) && self.plain_word(*from) => {
                skips(self.either(values, *to))
            }
            Step::Read { to, tag, from } => {
                let step = Step::Read {
                    to: *to,
                    tag: None,
                    from: *from,
                };
                let after = match tag {
                    None => vec![values],
                    Some(tag) => self.either(values, *tag),
                };
                after.into_iter().map(|v| (step.clone(), v)).collect()
            }
            Step::Write { to, .. } if self.plain_word(*to) => only(Step::Skip),
            Step::Write { to, value, .. } => only(Step::Write {
                to: *to,
                value: *value,
                tag: None,
            }),
            Step::Cas { at, .. } if self.plain_word(*at) => only(Step::Skip),
            Step::Cas {
                at,
                expect,
                expect_tag,
                new,
                success,
                ..
            } => {
                let mut all = only(Step::Cas {
                    at: *at,
                    expect: *expect,
                    expect_tag: None,
                    new: *new,
                    new_tag: None,
                    success: *success,
                });
                // The pointer is the expected one, the tag is not.
                if expect_tag.is_some() && !success {
                    all.push((Step::Skip, values));
                }
                all
            }
            Step::Return(Some(value)) if number(self.program, Some(self.body), *value) => {
                if self.program.specification != Specification::Nothing {
                    return refuse("such a result", edge.span);
                }
                only(Step::Return(None))
            }
            Step::Skip
            | Step::Fence
            | Step::Assign { .. }
            | Step::New { .. }
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Free(_)
            | Step::Fail(_)
            | Step::Return(_) => only(edge.step.clone()),
        })
    }

    /// Whether the place is a shared number or truth value. (Structs with such fields are
    /// refused elsewhere.)
    fn plain_word(&self, place: Place) -> bool {
        match place {
            Place::Shared(id) => {
                matches!(self.program.shared[id.index()].ty, Type::Int | Type::Bool)
            }
            Place::Field { .. } => false,
        }
    }

    /// The truth value of a term, if it is known.
    fn truth(&self, term: Term, values: Values) -> Option<bool> {
        match term {
            Term::Bool(value) => Some(value),
            Term::Local(id) => self.flag(id).map(|bit| values >> bit & 1 == 1),
            Term::Null
            | Term::Empty
            | Term::Infinity(_)
            | Term::Undefined
            | Term::Int(_)
            | Term::Plus(..)
            | Term::Shared(_) => None,
        }
    }

    /// A condition that holds where `cond` does (or does not): the same, as far as it can be said.
    fn weaker(&self, cond: &Cond, values: Values, holds: bool) -> Cond {
        match cond {
            Cond::True => constant(holds),
            Cond::Holds(term) => match self.truth(*term, values) {
                Some(value) => constant(value == holds),
                None => Cond::True,
            },
            Cond::Eq(a, b) | Cond::Less(a, b) => {
                let counts = |t: Term| number(self.program, Some(self.body), t);
                if !counts(*a) && !counts(*b) {
                    return if holds {
                        cond.clone()
                    } else {
                        cond.clone().negated()
                    };
                }
                match (self.truth(*a, values), self.truth(*b, values)) {
                    (Some(a), Some(b)) => constant((a == b) == holds),
                    _ => Cond::True,
                }
            }
            Cond::Not(inner) => self.weaker(inner, values, !holds),
            Cond::And(a, b) | Cond::Or(a, b) => {
                let (a, b) = (self.weaker(a, values, holds), self.weaker(b, values, holds));
                let both = matches!(cond, Cond::And(..)) == holds;
                joined(a, b, both)
            }
        }
    }

    /// The commits of an edge; `values` are those after it.
    fn commits(&self, edge: &Edge, values: Values) -> Result<Vec<Commit>, Unsupported> {
        let mut all = Vec::new();
        for commit in &edge.commits {
            let mut exact = true;
            commit.when.for_each_term(&mut |term| {
                exact &= !number(self.program, Some(self.body), term)
                    || self.truth(term, values).is_some();
            });
            if !exact {
                return refuse("a commit point that depends on a number", commit.span);
            }
            let when = self.weaker(&commit.when, values, true);
            if when != constant(false) {
                all.push(Commit {
                    when,
                    ..commit.clone()
                });
            }
        }
        Ok(all)
    }
}

fn constant(value: bool) -> Cond {
    if value {
        Cond::True
    } else {
        Cond::Not(Box::new(Cond::True))
    }
}

fn joined(a: Cond, b: Cond, both: bool) -> Cond {
    // The one of which `a && b` (or `a || b`) is the other.
    let neutral = constant(both);
    if a == neutral {
        b
    } else if b == neutral {
        a
    } else if a == constant(!both) || b == constant(!both) {
        constant(!both)
    } else if both {
        Cond::And(Box::new(a), Box::new(b))
    } else {
        Cond::Or(Box::new(a), Box::new(b))
    }
}

/// Takes one step out that does nothing, if there is one.
fn skip(body: &mut Body) -> bool {
    let Some((index, edge)) = idle(body) else {
        return false;
    };
    body.edges.remove(index);
    for before in body.edges.iter_mut().filter(|e| e.to == edge.from) {
        before.to = edge.to;
        before.commits.extend(edge.commits.iter().cloned());
    }
    for soft in body.softs.iter_mut().filter(|s| s.at == edge.from) {
        soft.at = edge.to;
    }
    true
}

/// A step that does nothing, the only one from its location. One that commits belongs to the step
/// before it only where nobody acts in between.
fn idle(body: &Body) -> Option<(usize, Edge)> {
    let atomic = |at: LocId| body.locations[at.index()].atomic;
    let found = body.edges.iter().enumerate().find(|(_, edge)| {
        let alone = body.leaving(edge.from).count() == 1;
        let inside = atomic(edge.from) || edge.commits.is_empty() && !atomic(edge.to);
        let elsewhere = edge.from != body.entry && edge.from != edge.to;
        matches!(edge.step, Step::Skip | Step::Fence) && alone && inside && elsewhere
    });
    found.map(|(index, edge)| (index, edge.clone()))
}

/// Drops locations that no edge leads to or from.
fn prune(body: &mut Body) {
    let used = |at: LocId| {
        at == body.entry || at == body.exit || body.edges.iter().any(|e| e.from == at || e.to == at)
    };
    let all = (0..body.locations.len()).map(LocId::from);
    let kept: Vec<LocId> = all.filter(|&at| used(at)).collect();
    let number = |at: LocId| LocId::from(kept.iter().position(|&k| k == at).unwrap_or_default());
    let locations: Vec<Location> = kept.iter().map(|at| body.locations[at.index()]).collect();
    body.softs.retain(|soft| kept.contains(&soft.at));
    for soft in &mut body.softs {
        soft.at = number(soft.at);
    }
    for edge in &mut body.edges {
        (edge.from, edge.to) = (number(edge.from), number(edge.to));
    }
    body.edges.sort_by_key(|edge| edge.from);
    (body.entry, body.exit) = (number(body.entry), number(body.exit));
    body.locations = locations;
}
