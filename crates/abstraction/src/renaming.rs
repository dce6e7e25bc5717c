//! *Renamings*: the threads of one space as threads of another, or of the same.
//! Copies of a template are alike where their numbers do not matter, so what is
//! known of some copies can be said of others: the variables are renamed with the
//! threads, and a predicate becomes the predicate over the renamed variables, if the
//! other table has it. What it does not have is forgotten, which is sound.

use std::collections::{BTreeMap, BTreeSet};

use palisade_logic::substitute::Substitution;
use palisade_logic::{Atom, Formula, Term, Var};
use palisade_program::LocId;

use crate::predicates::Predicates;
use crate::space::{Control, SlotKind, Space};
use crate::valuation::{PredId, Valuation};

/// The threads of one space as threads of another.
#[derive(Clone, Debug)]
pub struct Renaming {
    /// For each thread its image.
    pub threads: Vec<usize>,
    /// For each position among the explicit variables that of the image.
    positions: Vec<usize>,
    /// For each predicate its image, and whether that has the same sense.
    preds: Vec<Option<(PredId, bool)>>,
}

/// A space with its table of predicates.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary<'a> {
    /// The space.
    pub space: &'a Space<'a>,
    /// The predicates over its slots.
    pub predicates: &'a Predicates,
}

impl Renaming {
    /// The renaming that takes thread `t` of `from` to thread `threads[t]` of `to`;
    /// both must be spaces of one program, and images run the same template.
    /// `None` if the two do not keep the same variables explicit.
    pub fn new(from: Vocabulary<'_>, to: Vocabulary<'_>, threads: Vec<usize>) -> Option<Self> {
        let mut positions = Vec::new();
        for &slot in &from.space.explicit {
            let image = &to.space.slots[renamed_slot(from.space, to.space, &threads, slot)];
            let values = |e: &crate::space::Explicit| e.values.clone();
            let own = from.space.slots[slot].explicit.as_ref().map(values);
            if image.explicit.as_ref().map(values) != own {
                return None;
            }
            positions.push(image.explicit.as_ref()?.position);
        }
        let atoms = from.predicates.atoms().iter();
        let preds = atoms.map(|atom| {
            let (image, positive) = renamed_atom(from.space, to.space, &threads, atom)?;
            to.predicates.find(&image).map(|p| (p, positive))
        });
        let preds = preds.collect();
        Some(Self {
            threads,
            positions,
            preds,
        })
    }

    /// Writes the renamed control over the parts of `to` that are images.
    pub fn write_control(&self, control: &Control, to: &mut Control) {
        for (thread, loc) in control.pcs.iter().enumerate() {
            to.pcs[self.threads[thread]] = *loc;
        }
        for (position, value) in control.values.iter().enumerate() {
            to.values[self.positions[position]] = *value;
        }
    }

    /// The part of `control` that is the image of something, in the words before
    /// renaming: the inverse of [`Self::write_control`].
    pub fn read_control(&self, control: &Control) -> Control {
        Control {
            pcs: self.threads.iter().map(|t| control.pcs[*t]).collect(),
            values: self.positions.iter().map(|p| control.values[*p]).collect(),
        }
    }

    /// The image of a control under a renaming of a space to itself.
    #[must_use]
    pub fn control(&self, control: &Control) -> Control {
        let mut image = control.clone();
        self.write_control(control, &mut image);
        image
    }

    /// What is known, said of `count` predicates of the other table.
    pub fn valuation(&self, valuation: &Valuation, count: usize) -> Valuation {
        let mut image = Valuation::unknown(count);
        for (p, value) in valuation.known() {
            if let Some((q, positive)) = self.preds[p] {
                image.set(q, Some(value == positive));
            }
        }
        image
    }

    /// What is known of images, in the words before renaming.
    pub fn read_valuation(&self, valuation: &Valuation) -> Valuation {
        let mut own = Valuation::unknown(self.preds.len());
        for (p, image) in self.preds.iter().enumerate() {
            if let Some((q, positive)) = *image {
                own.set(p, valuation.get(q).map(|value| value == positive));
            }
        }
        own
    }

    /// Where a thread is and its explicit values, in one key; see [`Part`].
    pub fn part(space: &Space<'_>, control: &Control, thread: usize) -> Part {
        Part {
            loc: control.pcs[thread],
            values: own_positions(space, thread)
                .map(|p| control.values[p])
                .collect(),
        }
    }
}

/// The finite part of one thread.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Part {
    /// Where it is.
    pub loc: LocId,
    /// Its explicit locals, in order.
    pub values: Box<[i64]>,
}

impl Part {
    /// Puts a thread there.
    pub fn write(&self, space: &Space<'_>, thread: usize, control: &mut Control) {
        control.pcs[thread] = self.loc;
        for (position, value) in own_positions(space, thread).zip(&self.values) {
            control.values[position] = *value;
        }
    }
}

/// The positions of a thread's explicit locals.
fn own_positions<'a>(space: &'a Space<'_>, thread: usize) -> impl Iterator<Item = usize> + 'a {
    space.explicit.iter().enumerate().filter_map(move |(p, s)| {
        let own = matches!(space.slots[*s].kind, SlotKind::Local(t, _) if t == thread);
        own.then_some(p)
    })
}

fn renamed_slot(from: &Space<'_>, to: &Space<'_>, threads: &[usize], slot: usize) -> usize {
    match from.slots[slot].kind {
        SlotKind::Cell(cell) => to.cell_slot(cell),
        SlotKind::Local(thread, local) => to.local_slot(threads[thread], local),
    }
}

/// The atom over the renamed variables, and whether it has the same sense.
fn renamed_atom(
    from: &Space<'_>,
    to: &Space<'_>,
    threads: &[usize],
    atom: &Atom,
) -> Option<(Atom, bool)> {
    let formula = Formula::from(atom.clone());
    let mut names = Substitution::default();
    for var in formula.free_vars() {
        let image = renamed_slot(from, to, threads, var.0 as usize);
        names.set(var, Term::var(Var(image as u32)));
    }
    match formula.substitute(&names).ok()? {
        Formula::Literal(literal) => Some((literal.atom, literal.positive)),
        Formula::True | Formula::False | Formula::And(_) | Formula::Or(_) | Formula::Iff(_) => None,
    }
}

/// The images of an atom of `from` under all ways to take the threads that it
/// speaks of to distinct threads of `to` that run the same templates; none if there
/// are too few.
pub fn instances(from: &Space<'_>, to: &Space<'_>, atom: &Atom) -> BTreeSet<Atom> {
    let mut spoken: BTreeSet<usize> = BTreeSet::new();
    for var in Formula::from(atom.clone()).free_vars() {
        if let SlotKind::Local(thread, _) = from.slots[var.0 as usize].kind {
            spoken.insert(thread);
        }
    }
    let mut ways: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new()];
    for thread in spoken {
        let template = from.threads[thread].template;
        let images: Vec<usize> = (0..to.threads.len())
            .filter(|t| to.threads[*t].template == template)
            .collect();
        ways = ways
            .into_iter()
            .flat_map(|way| {
                let free = images.iter().filter(|t| !way.values().any(|u| u == *t));
                let next = free.map(|t| {
                    let mut way = way.clone();
                    way.insert(thread, *t);
                    way
                });
                next.collect::<Vec<_>>()
            })
            .collect();
    }
    let image = |way: &BTreeMap<usize, usize>| {
        let threads: Vec<usize> = (0..from.threads.len())
            .map(|t| way.get(&t).copied().unwrap_or(0))
            .collect();
        renamed_atom(from, to, &threads, atom).map(|(atom, _)| atom)
    };
    ways.iter().filter_map(image).collect()
}
