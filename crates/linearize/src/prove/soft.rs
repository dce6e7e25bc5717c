//! *Soft invariants* [Friggens and Groves, arXiv 2015, sections 3.4 and 5]: "at these locations the fact holds", as
//! predicates that the analysis keeps but does not rely on. They are over-defined:
//! every fact and every implication between a deciding fact and another, at every
//! location. Random runs ([`super::walk`]) throw out those that are not invariant: the
//! first, quick pass.
//!
//! One invariant covers all locations at which the same thing is said. A thread that goes from
//! one of them to another does not change its value, which finite differencing sees; with
//! one predicate per location it would have to be derived anew at each step.

use std::collections::{BTreeMap, BTreeSet};

use super::Level;
use super::facts::{Colour, Fact, colours};
use super::fragment::{Effect, Fragment, Location};
use super::walk::{Seen, Valuation};

/// A fact or its negation.
pub type Literal = (usize, bool);

/// A soft invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Invariant {
    /// Wherever a local points, the node has the colour (or has not).
    Everywhere {
        /// The colour.
        colour: Colour,
        /// The local.
        variable: usize,
        /// Has, or has not.
        holds: bool,
    },
    /// At these locations: if the first, then the second.
    At {
        /// Locations.
        locations: Vec<usize>,
        /// The condition, if any.
        condition: Option<(Fact, bool)>,
        /// What then holds.
        then: (Fact, bool),
    },
}

fn literal(fragment: &Fragment<'_>, (fact, holds): &(Fact, bool)) -> String {
    let sign = if *holds { "" } else { "!" };
    format!("{sign}{}", fact.of_thread(fragment))
}

impl Invariant {
    /// Its predicate; `number` makes it unique.
    pub fn name(&self, fragment: &Fragment<'_>, number: usize) -> String {
        match self {
            Self::Everywhere {
                colour,
                variable,
                holds,
            } => {
                let word = if *holds { "all" } else { "none" };
                let x = &fragment.variables[*variable].name;
                format!("{word}[{},{x}]", colour.name(fragment))
            }
            Self::At { .. } => format!("soft{number}"),
        }
    }

    /// At how many locations something is said, which is how [Friggens and Groves, arXiv 2015] counts.
    pub const fn places(&self) -> usize {
        match self {
            Self::Everywhere { .. } => 1,
            Self::At { locations, .. } => locations.len(),
        }
    }

    /// Its definition over the thread `t`.
    pub fn definition(&self, fragment: &Fragment<'_>) -> String {
        match self {
            Self::Everywhere {
                colour,
                variable,
                holds,
            } => {
                let sign = if *holds { "" } else { "!" };
                let x = &fragment.variables[*variable].name;
                let colour = colour.name(fragment);
                format!("is_thread(t) & (A(v) ({x}(t,v) -> {sign}{colour}(v)))")
            }
            Self::At {
                locations,
                condition,
                then,
            } => {
                let at = locations
                    .iter()
                    .map(|&l| format!("at[{}](t)", fragment.locations[l].name));
                let at: Vec<String> = at.collect();
                let then = literal(fragment, then);
                let then = match condition {
                    None => then,
                    Some(condition) => format!("({} -> {then})", literal(fragment, condition)),
                };
                format!("is_thread(t) & (({}) -> {then})", at.join(" | "))
            }
        }
    }

    /// Rules that its definition implies and coerce does not find.
    pub fn rules(&self, fragment: &Fragment<'_>, number: usize) -> Vec<String> {
        match self {
            Self::Everywhere {
                colour,
                variable,
                holds,
            } => {
                let name = self.name(fragment, number);
                let x = &fragment.variables[*variable].name;
                let colour = colour.name(fragment);
                let (same, other) = if *holds { ("", "!") } else { ("!", "") };
                vec![
                    format!("{name}(t) & {x}(t,v) ==> {same}{colour}(v)"),
                    format!("{name}(t) & {other}{colour}(v) ==> !{x}(t,v)"),
                ]
            }
            Self::At { .. } => Vec::new(),
        }
    }
}

/// The invariants of a model.
#[derive(Default)]
pub struct Chosen {
    /// Those that the model has.
    pub invariants: Vec<Invariant>,
    /// How many were defined before the first pass.
    pub defined: usize,
}

/// Whether a fact can be said of a thread at the location.
pub fn speaks(fragment: &Fragment<'_>, location: &Location, fact: &Fact) -> bool {
    let takes = fragment.methods[location.method].effect == Effect::Take;
    fact.locals().is_subset(&location.live) && (takes || !matches!(fact, Fact::Empty | Fact::Noted))
}

/// The soft invariants that random runs do not refute.
pub fn found(fragment: &Fragment<'_>, level: Level, facts: &[Fact], seen: &[Seen]) -> Chosen {
    let mut all = everywhere(fragment, level, facts, seen);
    let mut defined = 2 * fragment.variables.len() * colours(fragment, level).len();
    let mut groups: BTreeMap<(Option<Literal>, Literal), Vec<usize>> = BTreeMap::new();
    for (l, location) in fragment.locations.iter().enumerate() {
        let valuations = &seen[l];
        if valuations.is_empty() {
            continue;
        }
        let here = (0..facts.len()).filter(|&f| speaks(fragment, location, &facts[f]));
        let here: Vec<usize> = here.collect();
        defined += 2 * here.len();
        // Where nobody else may act the thread is an object of its own, which needs to be told only
        // what differs from run to run.
        for &f in here.iter().filter(|_| !location.busy) {
            if let Some(value) = constant(valuations, f) {
                groups.entry((None, (f, value))).or_default().push(l);
            }
        }
        let (tried, found) = conditional(facts, &here, valuations);
        defined += tried;
        for (condition, then) in found {
            groups.entry((Some(condition), then)).or_default().push(l);
        }
    }
    let fact = |(f, holds): Literal| (facts[f].clone(), holds);
    all.extend(
        groups
            .into_iter()
            .map(|((condition, then), locations)| Invariant::At {
                locations,
                condition: condition.map(fact),
                then: fact(then),
            }),
    );
    Chosen {
        invariants: all,
        defined,
    }
}

/// The fact's value in all valuations.
fn constant(valuations: &Seen, f: usize) -> Option<bool> {
    let first = valuations.iter().next().is_some_and(|v| v.contains(f));
    let same = |v: &Valuation| v.contains(f) == first;
    valuations.iter().all(same).then_some(first)
}

/// Implications between facts that are not constant, which hold in all valuations, each
/// once (not its contraposition too); and how many were tried.
pub fn conditional(
    facts: &[Fact],
    here: &[usize],
    valuations: &Seen,
) -> (usize, Vec<(Literal, Literal)>) {
    let varying: Vec<usize> = here
        .iter()
        .copied()
        .filter(|&f| constant(valuations, f).is_none())
        .collect();
    let (mut out, mut tried) = (Vec::new(), 0);
    for &p in varying.iter().filter(|&&p| facts[p].decides()) {
        for &q in &varying {
            let related = related(&facts[p], &facts[q]);
            if p == q || !related || facts[q].decides() && p > q {
                continue;
            }
            for (if_p, then_q) in [(true, true), (true, false), (false, true), (false, false)] {
                tried += 1;
                if facts[p].implies(if_p, &facts[q], then_q) {
                    continue;
                }
                let fine = |v: &Valuation| v.contains(p) != if_p || v.contains(q) == then_q;
                if valuations.iter().all(fine) {
                    out.push(((p, if_p), (q, then_q)));
                }
            }
        }
    }
    (tried, out)
}

/// Whether an implication from the one to the other is worth a try.
fn related(p: &Fact, q: &Fact) -> bool {
    if matches!(q, Fact::Shared(_)) {
        // What was read was null, and the pointer still is.
        return matches!(p, Fact::Has(_));
    }
    !p.locals().is_disjoint(&q.locals())
        || p.locals().is_empty()
        || q.locals().is_empty()
        || q.decides()
        || matches!(q, Fact::On(Colour::Reached(_), _))
}

/// Colours that all nodes have to which a local ever points, or none.
fn everywhere(
    fragment: &Fragment<'_>,
    level: Level,
    facts: &[Fact],
    seen: &[Seen],
) -> Vec<Invariant> {
    let number = |fact: &Fact| facts.iter().position(|f| f == fact);
    let mut out = Vec::new();
    for variable in 0..fragment.variables.len() {
        for colour in colours(fragment, level) {
            let (Some(has), Some(on)) = (
                number(&Fact::Has(variable)),
                number(&Fact::On(colour.clone(), variable)),
            ) else {
                continue;
            };
            let valuations = seen.iter().flatten().filter(|v| v.contains(has));
            let values: BTreeSet<bool> = valuations.map(|v| v.contains(on)).collect();
            if let [holds] = values.iter().copied().collect::<Vec<bool>>()[..] {
                out.push(Invariant::Everywhere {
                    colour,
                    variable,
                    holds,
                });
            }
        }
    }
    out
}
