//! *Facts*: unary predicates about threads, each defined by where the thread's locals
//! point. They are what soft invariants speak of; none is an abstraction predicate
//! while threads are collapsed. [Friggens and Groves, arXiv 2015, section 3.1] (`has[f]`, `succ[a,b,next]`).

use std::collections::BTreeSet;

use palisade_program::heap::{Place, Step, Term};

use super::Level;
use super::fragment::{Effect, Fragment, Sequence};

/// A unary predicate over nodes that facts may ask about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Colour {
    /// Has entered the sequence.
    Entered,
    /// Has left the sequence (queues).
    Left,
    /// Its value was written.
    Valued,
    /// Its link is not null.
    Linked,
    /// A shared pointer (index) points here.
    Pointer(usize),
    /// A shared pointer (index) has pointed here.
    Was(usize),
    /// Reachable from a shared pointer (index).
    Reached(usize),
    /// Top of the stack; last dequeued node of the queue.
    First,
    /// Last enqueued node.
    Last,
    /// The node that leaves the queue next, where no pointer of the program leads to the one before it.
    Front,
}

impl Colour {
    /// Whether at most one node has it.
    const fn single(&self) -> bool {
        match self {
            Self::Pointer(_) | Self::First | Self::Last | Self::Front => true,
            Self::Entered
            | Self::Left
            | Self::Valued
            | Self::Linked
            | Self::Was(_)
            | Self::Reached(_) => false,
        }
    }

    /// Its predicate.
    pub fn name(&self, fragment: &Fragment<'_>) -> String {
        match self {
            Self::Entered => "com".to_owned(),
            Self::Left => "dq".to_owned(),
            Self::Valued => "val".to_owned(),
            Self::Linked => format!("has[{}]", fragment.link.1),
            Self::Pointer(p) => fragment.pointers[*p].1.clone(),
            Self::Was(p) => format!("was[{}]", fragment.pointers[*p].1),
            Self::Reached(p) => format!("r[{}]", fragment.pointers[*p].1),
            Self::First => first(fragment.sequence).to_owned(),
            Self::Last => "s.last".to_owned(),
            Self::Front => "s.front".to_owned(),
        }
    }
}

/// The ghost at the sequence's first end.
pub const fn first(sequence: Sequence) -> &'static str {
    match sequence {
        Sequence::Stack => "s.top",
        Sequence::Queue | Sequence::Nothing => "s.pos",
    }
}

/// All colours of a level.
pub fn colours(fragment: &Fragment<'_>, level: Level) -> Vec<Colour> {
    let mut all = vec![Colour::Linked];
    let pointers = 0..fragment.pointers.len();
    all.extend(pointers.clone().map(Colour::Pointer));
    match fragment.sequence {
        Sequence::Stack => all.extend([Colour::Entered, Colour::Valued, Colour::First]),
        Sequence::Queue => all.extend([
            Colour::Entered,
            Colour::Left,
            Colour::Valued,
            Colour::First,
            Colour::Last,
        ]),
        Sequence::Nothing => {}
    }
    if fragment.has_front() {
        all.push(Colour::Front);
    }
    if level >= Level::History {
        all.extend(pointers.clone().map(Colour::Was));
    }
    if level >= Level::Reach {
        all.extend(pointers.map(Colour::Reached));
    }
    all
}

/// What is said about a thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fact {
    /// A local is not null.
    Has(usize),
    /// A local's node has the colour.
    On(Colour, usize),
    /// The link of the first's node leads to the second's.
    Next(usize, usize),
    /// The first's node has no link, and the second is null.
    End(usize, usize),
    /// Both point to the same node.
    Same(usize, usize),
    /// The shared pointer (index) is not null: of no thread, but said of one that read it.
    Shared(usize),
    /// The local is the specification's result.
    Result(usize),
    /// The call has taken effect.
    Done,
    /// It took effect with the result `empty`.
    Empty,
    /// It holds the lock (index).
    Holds(usize),
    /// At the last `commit later` the result would have been `empty`.
    Noted,
}

impl Fact {
    /// The locals that it speaks of.
    pub fn locals(&self) -> BTreeSet<usize> {
        match self {
            Self::Has(x) | Self::On(_, x) | Self::Result(x) => BTreeSet::from([*x]),
            Self::Next(x, y) | Self::End(x, y) | Self::Same(x, y) => BTreeSet::from([*x, *y]),
            Self::Done | Self::Empty | Self::Noted | Self::Holds(_) | Self::Shared(_) => {
                BTreeSet::new()
            }
        }
    }

    /// Whether it may be the condition of a conditional soft invariant: it tells cases
    /// of the program apart.
    pub const fn decides(&self) -> bool {
        match self {
            Self::Has(_)
            | Self::Same(..)
            | Self::Done
            | Self::Empty
            | Self::Noted
            | Self::Holds(_) => true,
            Self::On(colour, _) => matches!(colour, Colour::Pointer(_)),
            Self::Next(..) | Self::End(..) | Self::Result(_) | Self::Shared(_) => false,
        }
    }

    /// It, said of the thread `t`.
    pub fn of_thread(&self, fragment: &Fragment<'_>) -> String {
        let object = if matches!(self, Self::Shared(_)) {
            ""
        } else {
            "t"
        };
        format!("{}({object})", self.name(fragment))
    }

    /// Its predicate.
    pub fn name(&self, fragment: &Fragment<'_>) -> String {
        let variable = |v: usize| &fragment.variables[v].name;
        match self {
            Self::Has(x) => format!("has[{}]", variable(*x)),
            Self::On(colour, x) => format!("on[{},{}]", colour.name(fragment), variable(*x)),
            Self::Next(x, y) => format!("next[{},{}]", variable(*x), variable(*y)),
            Self::End(x, y) => format!("end[{},{}]", variable(*x), variable(*y)),
            Self::Same(x, y) => format!("eq[{},{}]", variable(*x), variable(*y)),
            Self::Result(x) => format!("eq[{},res]", variable(*x)),
            Self::Shared(p) => format!("has[{}]", fragment.pointers[*p].1),
            Self::Done => "done".to_owned(),
            Self::Empty => "rempty".to_owned(),
            Self::Noted => "noted".to_owned(),
            Self::Holds(lock) => format!("hold[{}]", fragment.locks[*lock].1),
        }
    }

    /// Its definition over the thread `t`; `None` for core predicates.
    pub fn definition(&self, fragment: &Fragment<'_>) -> Option<String> {
        let variable = |v: usize| &fragment.variables[v].name;
        let link = &fragment.link.1;
        Some(match self {
            Self::Has(x) => format!("E(v) {}(t,v)", variable(*x)),
            Self::On(colour, x) => {
                format!("E(v) {}(t,v) & {}(v)", variable(*x), colour.name(fragment))
            }
            Self::Next(x, y) => format!(
                "E(u,w) {}(t,u) & {}(t,w) & {link}(u,w)",
                variable(*x),
                variable(*y)
            ),
            Self::End(x, y) => format!(
                "E(u) {}(t,u) & !has[{link}](u) & !has[{}](t)",
                variable(*x),
                variable(*y)
            ),
            Self::Same(x, y) => {
                format!("E(u) {}(t,u) & {}(t,u)", variable(*x), variable(*y))
            }
            Self::Result(x) => format!("E(u) {}(t,u) & res(t,u)", variable(*x)),
            Self::Shared(_) | Self::Done | Self::Empty | Self::Noted | Self::Holds(_) => {
                return None;
            }
        })
    }

    /// Whether it says that the local is not null.
    fn requires(&self, v: usize) -> bool {
        match self {
            Self::Has(x) | Self::On(_, x) | Self::Result(x) => *x == v,
            Self::Next(x, y) | Self::Same(x, y) => *x == v || *y == v,
            Self::End(x, _) => *x == v,
            Self::Shared(_) | Self::Done | Self::Empty | Self::Noted | Self::Holds(_) => false,
        }
    }

    /// Whether "if this (or not), then `other` (or not)" follows from the rules of the two.
    pub fn implies(&self, holds: bool, other: &Self, then: bool) -> bool {
        match (self, holds, other, then) {
            (Self::Has(x), false, _, false) => other.requires(*x),
            (Self::Has(y), true, Self::End(_, null), false) => y == null,
            (Self::On(Colour::Pointer(p), x), true, Self::On(Colour::Was(was), y), true) => {
                p == was && x == y
            }
            _ => false,
        }
    }

    /// What follows from it about the thread: rules over single objects, which are cheap.
    fn about_thread(&self, fragment: &Fragment<'_>, level: Level) -> Vec<String> {
        let name = self.name(fragment);
        let has = |v: usize| Self::Has(v).name(fragment);
        let on = |colour: &Colour, v: usize| Self::On(colour.clone(), v).name(fragment);
        match self {
            Self::On(_, x) | Self::Result(x) => vec![format!("{name}(t) ==> {}(t)", has(*x))],
            Self::Next(x, y) => vec![
                format!("{name}(t) ==> {}(t)", on(&Colour::Linked, *x)),
                format!("{name}(t) ==> {}(t)", has(*y)),
            ],
            Self::End(x, y) => {
                let (some, linked, other) = (has(*x), on(&Colour::Linked, *x), has(*y));
                vec![
                    format!("{name}(t) ==> {some}(t)"),
                    format!("{name}(t) ==> !{linked}(t)"),
                    format!("{name}(t) ==> !{other}(t)"),
                    format!("{some}(t) & !{linked}(t) & !{other}(t) ==> {name}(t)"),
                ]
            }
            Self::Same(x, y) => {
                let mut all = vec![
                    format!("{name}(t) ==> {}(t)", has(*x)),
                    format!("{name}(t) ==> {}(t)", has(*y)),
                ];
                for colour in colours(fragment, level) {
                    let (a, b) = (on(&colour, *x), on(&colour, *y));
                    all.push(format!("{name}(t) & {a}(t) ==> {b}(t)"));
                    all.push(format!("{name}(t) & {b}(t) ==> {a}(t)"));
                }
                all
            }
            Self::Has(_)
            | Self::Shared(_)
            | Self::Done
            | Self::Empty
            | Self::Noted
            | Self::Holds(_) => Vec::new(),
        }
    }

    /// What follows from it: rules that the definition implies but that coerce does not find by
    /// itself.
    pub fn rules(&self, fragment: &Fragment<'_>, level: Level) -> Vec<String> {
        let mut all = self.about_thread(fragment, level);
        all.extend(self.about_nodes(fragment));
        all
    }

    /// What follows from it about single nodes.
    fn about_nodes(&self, fragment: &Fragment<'_>) -> Vec<String> {
        let variable = |v: usize| &fragment.variables[v].name;
        let (name, link) = (self.name(fragment), &fragment.link.1);
        match self {
            Self::On(colour, x) => {
                let (single, x) = (colour.single(), variable(*x));
                let colour = colour.name(fragment);
                let mut all = vec![
                    format!("{name}(t) & {x}(t,v) ==> {colour}(v)"),
                    format!("!{name}(t) & {x}(t,v) ==> !{colour}(v)"),
                    format!("{name}(t) & !{colour}(v) ==> !{x}(t,v)"),
                    format!("!{name}(t) & {colour}(v) ==> !{x}(t,v)"),
                ];
                if single {
                    all.push(format!("{name}(t) & {colour}(v) ==> {x}(t,v)"));
                }
                all
            }
            Self::Next(x, y) => {
                let (x, y) = (variable(*x), variable(*y));
                vec![
                    format!("{name}(t) & {x}(t,u) & {y}(t,w) ==> {link}(u,w)"),
                    format!("{name}(t) & {x}(t,u) & {link}(u,w) ==> {y}(t,w)"),
                ]
            }
            Self::Same(x, y) => {
                let (x, y) = (variable(*x), variable(*y));
                vec![
                    format!("{name}(t) & {x}(t,u) ==> {y}(t,u)"),
                    format!("{name}(t) & {y}(t,u) ==> {x}(t,u)"),
                ]
            }
            Self::Result(x) => {
                let x = variable(*x);
                vec![
                    format!("{name}(t) & {x}(t,u) ==> res(t,u)"),
                    format!("{name}(t) & res(t,u) ==> {x}(t,u)"),
                ]
            }
            Self::Has(_)
            | Self::End(..)
            | Self::Shared(_)
            | Self::Done
            | Self::Empty
            | Self::Noted
            | Self::Holds(_) => Vec::new(),
        }
    }
}

/// All facts of a level, in a fixed order.
pub fn facts(fragment: &Fragment<'_>, level: Level) -> Vec<Fact> {
    let variables = 0..fragment.variables.len();
    let mut all: Vec<Fact> = variables.clone().map(Fact::Has).collect();
    let colours = colours(fragment, level);
    for x in variables.clone() {
        all.extend(colours.iter().map(|c| Fact::On(c.clone(), x)));
    }
    for x in variables.clone() {
        for y in variables.clone() {
            let together =
                |l: &super::fragment::Location| l.live.contains(&x) && l.live.contains(&y);
            if x == y || !fragment.locations.iter().any(together) {
                continue;
            }
            if linked(fragment, x, y) {
                all.extend([Fact::Next(x, y), Fact::End(x, y)]);
            }
            if x < y {
                all.push(Fact::Same(x, y));
            }
        }
    }
    all.extend((0..fragment.pointers.len()).map(Fact::Shared));
    all.extend((0..fragment.locks.len()).map(Fact::Holds));
    if fragment.sequence != Sequence::Nothing {
        let results = variables.filter(|&v| returned(fragment, v));
        all.extend(results.map(Fact::Result));
        all.push(Fact::Done);
        if fragment.methods.iter().any(|m| m.effect == Effect::Take) {
            all.extend([Fact::Empty, Fact::Noted]);
        }
    }
    all
}

/// Whether some step makes the second the successor of the first.
fn linked(fragment: &Fragment<'_>, x: usize, y: usize) -> bool {
    let (x, y) = (&fragment.variables[x], &fragment.variables[y]);
    let link = Place::Field {
        of: x.local,
        field: fragment.link.0,
    };
    let (read, put) = ((y.local, link), (link, Term::Local(y.local)));
    let body = fragment.methods[x.method].body;
    let links = |step: &Step| {
        step.read() == Some(read) || step.written() == Some(put) || step.swapped() == Some(put)
    };
    x.method == y.method && body.edges.iter().any(|edge| links(&edge.step))
}

/// Whether a method returns the local's value, or the value of its node.
fn returned(fragment: &Fragment<'_>, v: usize) -> bool {
    let variable = &fragment.variables[v];
    let body = fragment.methods[variable.method].body;
    let gives = |step: &Step| {
        let own = step.returned() == Some(Term::Local(variable.local));
        let of_node = step.read().is_some_and(|(to, from)| {
            matches!(from, Place::Field { of, .. } if of == variable.local)
                && body.locals[to.index()].ty == palisade_program::heap::Type::Data
        });
        own || of_node
    };
    fragment.methods[variable.method].returns && body.edges.iter().any(|edge| gives(&edge.step))
}
