//! Soft invariants *given* rather than found: those that the text of the program has
//! (`soft x != null;`, [Friggens and Groves, arXiv 2015, section 3.4]), and the plain over-definition of section 5.1,
//! `if[l,p]` and `nif[l,p]` for every location `l` and every thread predicate `p`.
//!
//! Nothing here is relied on: the analysis keeps the predicate of a soft invariant like any
//! other, and where it does not hold its value becomes unknown (section 3.5).

use palisade_program::LocalId;
use palisade_program::heap::{Step, soft};

use super::Level;
use super::facts::{Colour, Fact, colours};
use super::fragment::Fragment;
use super::soft::{Chosen, Invariant, conditional, speaks};
use super::walk::Seen;

/// A literal of the text, as the model says it.
type Literal = (Fact, bool);

/// What is said, and the locations at which it is said, in the order in which it first is.
#[derive(Default)]
struct Groups(Vec<(Option<Literal>, Literal, Vec<usize>)>);

impl Groups {
    fn add(&mut self, condition: Option<Literal>, then: Literal, location: usize) {
        let same = |(c, t, _): &&mut (_, _, Vec<usize>)| (c, t) == (&condition, &then);
        match self.0.iter_mut().find(same) {
            Some((_, _, locations)) if locations.contains(&location) => {}
            Some((_, _, locations)) => locations.push(location),
            None => self.0.push((condition, then, vec![location])),
        }
    }

    fn invariants(self) -> impl Iterator<Item = Invariant> {
        let one = |(condition, then, locations)| Invariant::At {
            locations,
            condition,
            then,
        };
        self.0.into_iter().map(one)
    }
}

/// The invariants of the text. Those that the level has no words for are left out.
pub fn hand(fragment: &Fragment<'_>, level: Level) -> Vec<Invariant> {
    let mut groups = Groups::default();
    for (method, declared) in fragment.program.methods.iter().enumerate() {
        for given in &declared.body.softs {
            let said = |given: &soft::Literal| literal(fragment, level, method, *given);
            let (Some(location), Some(then)) =
                (fragment.location(method, given.at), said(&given.then))
            else {
                continue;
            };
            let condition = match &given.when {
                None => None,
                Some(when) => match said(when) {
                    None => continue,
                    found => found,
                },
            };
            for location in within(fragment, method, location) {
                groups.add(condition.clone(), then.clone(), location);
            }
        }
    }
    groups.invariants().collect()
}

/// The location and those at which a thread is still evaluating what stands there: it has read
/// something that it will compare or store.
fn within(fragment: &Fragment<'_>, method: usize, location: usize) -> Vec<usize> {
    let body = fragment.methods[method].body;
    let mut all = vec![location];
    let mut next = 0;
    while let Some(&here) = all.get(next) {
        next += 1;
        for (_, edge) in body.leaving(fragment.locations[here].at) {
            let Step::Read { to, .. } = &edge.step else {
                continue;
            };
            // Locals of the text have names that start with a letter.
            let temporary = body.locals[to.index()].name.starts_with('$');
            let after = fragment.location(method, edge.to);
            if temporary && edge.commits.is_empty() {
                all.extend(after.filter(|l| !all.contains(l)));
            }
        }
    }
    all
}

/// The facts that invariants speak of and that are not in `known`.
pub fn further(known: &[Fact], invariants: &[Invariant]) -> Vec<Fact> {
    let mut all: Vec<Fact> = Vec::new();
    for invariant in invariants {
        if let Invariant::At {
            condition, then, ..
        } = invariant
        {
            for (fact, _) in condition.iter().chain([then]) {
                if !known.contains(fact) && !all.contains(fact) {
                    all.push(fact.clone());
                }
            }
        }
    }
    all
}

fn literal(
    fragment: &Fragment<'_>,
    level: Level,
    method: usize,
    given: soft::Literal,
) -> Option<Literal> {
    let local = |id: LocalId| fragment.variable(method, id);
    let pointer = |id| fragment.pointers.iter().position(|(p, _)| *p == id);
    let on = |colour: Colour, x: LocalId| {
        let known = colours(fragment, level).contains(&colour);
        known.then_some(())?;
        Some(Fact::On(colour, local(x)?))
    };
    let specified = fragment.sequence != super::fragment::Sequence::Nothing;
    let takes = fragment
        .methods
        .iter()
        .any(|m| m.effect == super::fragment::Effect::Take);
    let link = fragment.link.0;
    let fact = match given.fact {
        soft::Fact::NotNull(x) => Fact::Has(local(x)?),
        soft::Fact::Linked(x, field) if field == link => on(Colour::Linked, x)?,
        soft::Fact::Next(x, field, y) if field == link => Fact::Next(local(x)?, local(y)?),
        soft::Fact::Linked(..) | soft::Fact::Next(..) => return None,
        // Data is known by its node.
        soft::Fact::Same(x, y) | soft::Fact::Value(x, _, y) => {
            let (x, y) = (local(x)?, local(y)?);
            Fact::Same(x.min(y), x.max(y))
        }
        soft::Fact::Is(x, g) => on(Colour::Pointer(pointer(g)?), x)?,
        soft::Fact::Was(g, x) => on(Colour::Was(pointer(g)?), x)?,
        soft::Fact::Reaches(g, x) => on(Colour::Reached(pointer(g)?), x)?,
        soft::Fact::Entered(x) => on(Colour::Entered, x)?,
        soft::Fact::Left(x) => on(Colour::Left, x)?,
        soft::Fact::Written(x) => on(Colour::Valued, x)?,
        soft::Fact::First(x) => on(Colour::First, x)?,
        soft::Fact::Last(x) => on(Colour::Last, x)?,
        soft::Fact::Result(x) if takes && specified => Fact::Result(local(x)?),
        soft::Fact::Done if specified => Fact::Done,
        soft::Fact::Nothing if takes && specified => Fact::Empty,
        soft::Fact::Noted if takes && specified => Fact::Noted,
        soft::Fact::Result(_) | soft::Fact::Done | soft::Fact::Nothing | soft::Fact::Noted => {
            return None;
        }
        soft::Fact::Holds(l) => {
            let lock = fragment.locks.iter().position(|(p, _)| *p == l);
            Fact::Holds(lock?)
        }
    };
    Some((fact, given.holds))
}

/// One invariant per location and literal; with `first_pass` without those that random runs
/// refute. Conditional ones are those that [`super::soft`] finds, one for all locations where the
/// same holds: what is known only together with a condition is not derived anew when a thread goes
/// on, unless the step happens to tell whether the condition holds.
pub fn over(fragment: &Fragment<'_>, facts: &[Fact], seen: &[Seen], first_pass: bool) -> Chosen {
    let mut chosen = Chosen::default();
    let fact = |(f, holds): super::soft::Literal| (facts[f].clone(), holds);
    let mut groups = Groups::default();
    for (l, location) in fragment.locations.iter().enumerate() {
        let here = (0..facts.len()).filter(|&f| speaks(fragment, location, &facts[f]));
        let here: Vec<usize> = here.collect();
        let alone = here.iter().filter(|_| !location.busy);
        for (f, holds) in alone.flat_map(|&f| [(f, true), (f, false)]) {
            chosen.defined += 1;
            let refuted = seen[l].iter().any(|v| v.contains(f) != holds);
            if !(first_pass && refuted) {
                chosen.invariants.push(Invariant::At {
                    locations: vec![l],
                    condition: None,
                    then: fact((f, holds)),
                });
            }
        }
        let (tried, found) = conditional(facts, &here, &seen[l]);
        chosen.defined += tried;
        for (condition, then) in found {
            groups.add(Some(fact(condition)), fact(then), l);
        }
    }
    chosen.invariants.extend(groups.invariants());
    chosen
}
