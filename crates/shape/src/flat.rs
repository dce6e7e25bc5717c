//! Flat definitions: those without quantifiers over one variable, differenced by single words.
//!
//! Place: beside [`crate::differencing`], for the same purpose and with the same rules. A *flat*
//! definition is a Boolean combination of unary predicates of one variable, as soft invariants are
//! ([Friggens and Groves, arXiv 2015, section 5]); a model has hundreds of them, and each step of a
//! thread concerns most. Its tables have one row, so nothing needs to be allocated.
//!
//! Law (tested): the result is that of [`crate::differencing::difference`].

use crate::differencing::{Change, Difference};
use crate::eval::{Arg, Node, Op, Plan};
use crate::rows::Rows;
use crate::structure::Structure;
use crate::table::Table;
use crate::vocabulary::{PredId, Vocabulary};

/// A flat definition, compiled.
#[derive(Clone, Debug)]
pub(crate) struct Flat(Part);

#[derive(Clone, Debug)]
enum Part {
    /// The place of a unary predicate's words.
    Atom(usize),
    Not(Box<Part>),
    And(Vec<Part>),
    Or(Vec<Part>),
}

/// The values of a formula for all objects.
#[derive(Clone, Copy)]
struct Word {
    may: u64,
    must: u64,
}

impl Word {
    const ZERO: Self = Self { may: 0, must: 0 };

    fn of(t: &Table) -> Self {
        Self {
            may: t.may[0],
            must: t.must[0],
        }
    }

    fn table(self) -> Table {
        Table {
            may: Rows::one(self.may),
            must: Rows::one(self.must),
        }
    }

    fn not(self, full: u64) -> Self {
        Self {
            may: !self.must & full,
            must: !self.may & full,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            may: self.may & other.may,
            must: self.must & other.must,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            may: self.may | other.may,
            must: self.must | other.must,
        }
    }
}

/// Before, after, gained, lost: see [`crate::differencing`].
#[derive(Clone, Copy)]
struct Quad {
    old: Word,
    new: Word,
    plus: Word,
    minus: Word,
}

impl Quad {
    fn not(self, full: u64) -> Self {
        Self {
            old: self.old.not(full),
            new: self.new.not(full),
            plus: self.minus,
            minus: self.plus,
        }
    }
}

impl Flat {
    /// Compiles a definition, if it is flat.
    pub(crate) fn new(voc: &Vocabulary, plan: &Plan) -> Option<Self> {
        if plan.out.len() != 1 {
            return None;
        }
        part(voc, &plan.root).map(Self)
    }

    /// The change of the predicate whose value before the action is `stored`.
    pub(crate) fn difference(&self, change: &Change<'_>, stored: &Table) -> Difference {
        let run = Run::new(change);
        let quad = run.quad(&self.0);
        let stored = Word::of(stored);
        let plus = quad.plus.and(stored.not(run.full));
        let minus = quad.minus.and(stored);
        let new = run.refine(quad.new, stored, plus, minus);
        Difference {
            new: new.table(),
            plus: plus.table(),
            minus: minus.table(),
        }
    }
}

fn part(voc: &Vocabulary, node: &Node) -> Option<Part> {
    if node.slots.len() != 1 {
        return None;
    }
    let all =
        |parts: &[Node]| -> Option<Vec<Part>> { parts.iter().map(|n| part(voc, n)).collect() };
    match &node.op {
        Op::Atom(p, args) => match args[..] {
            [Arg::Slot(_)] => Some(Part::Atom(voc.offset(*p, 0))),
            _ => None,
        },
        Op::Not(f) => Some(Part::Not(Box::new(part(voc, f)?))),
        Op::And(parts) => Some(Part::And(all(parts)?)),
        Op::Or(parts) => Some(Part::Or(all(parts)?)),
        Op::Value(_) | Op::Eq(..) | Op::Ite(_) | Op::Exists(..) | Op::Forall(..) | Op::Tc(..) => {
            None
        }
    }
}

struct Run<'a> {
    change: &'a Change<'a>,
    full: u64,
    /// Objects that existed before: only they have an old value to start from.
    before: u64,
}

impl<'a> Run<'a> {
    fn new(change: &'a Change<'a>) -> Self {
        let (existing, _) = change.new.word(change.voc, PredId::AC);
        let (existed, _) = change.old.word(change.voc, PredId::AC);
        Self {
            change,
            full: change.old.universe(),
            before: !(existing & !existed),
        }
    }

    fn quad(&self, part: &Part) -> Quad {
        match part {
            Part::Atom(at) => {
                let word = |s: &Structure| Word {
                    may: s.words()[*at],
                    must: s.words()[at + 1],
                };
                Quad {
                    old: word(self.change.old),
                    new: word(self.change.new),
                    plus: word(self.change.plus),
                    minus: word(self.change.minus),
                }
            }
            Part::Not(f) => self.quad(f).not(self.full),
            Part::And(parts) => parts
                .iter()
                .fold(self.one(), |acc, f| self.conjoin(acc, self.quad(f))),
            Part::Or(parts) => {
                // a | b = !(!a & !b)
                let none = parts.iter().fold(self.one(), |acc, f| {
                    self.conjoin(acc, self.quad(f).not(self.full))
                });
                none.not(self.full)
            }
        }
    }

    fn one(&self) -> Quad {
        let all = Word {
            may: self.full,
            must: self.full,
        };
        Quad {
            old: all,
            new: all,
            plus: Word::ZERO,
            minus: Word::ZERO,
        }
    }

    fn conjoin(&self, a: Quad, b: Quad) -> Quad {
        let plus = a.plus.and(b.new).or(b.plus.and(a.new));
        let minus = a.minus.and(b.old).or(b.minus.and(a.old));
        let old = a.old.and(b.old);
        let new = self.refine(a.new.and(b.new), old, plus, minus);
        Quad {
            old,
            new,
            plus,
            minus,
        }
    }

    /// The more definite of the direct value and (old ? not minus : plus).
    fn refine(&self, new: Word, old: Word, plus: Word, minus: Word) -> Word {
        let kept = minus.not(self.full);
        let may = old.may & kept.may | !old.must & plus.may;
        let must = (!old.may | kept.must) & (old.must | plus.must);
        let half = new.may & !new.must & self.before;
        Word {
            may: new.may & !half | half & may,
            must: new.must | half & must,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Flat;
    use crate::differencing::{Change, ClosureIndex, difference};
    use crate::eval::Plan;
    use crate::formula::{Formula, Var};
    use crate::structure::Structure;
    use crate::table::Table;
    use crate::vocabulary::{PredId, Properties, Vocabulary};

    struct Random(u64);

    impl Random {
        fn word(&mut self) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            self.0 >> 33
        }

        fn formula(&mut self, preds: &[PredId], depth: usize) -> Formula {
            let v = Var(0);
            match self.word() % if depth == 0 { 2 } else { 5 } {
                0 => Formula::Atom(preds[self.word() as usize % preds.len()], vec![v]),
                1 => Formula::Atom(preds[self.word() as usize % preds.len()], vec![v]).not(),
                2 => Formula::Not(Box::new(self.formula(preds, depth - 1))),
                3 => Formula::And((0..3).map(|_| self.formula(preds, depth - 1)).collect()),
                _ => Formula::Or((0..3).map(|_| self.formula(preds, depth - 1)).collect()),
            }
        }

        /// Any values: the two ways must agree whatever they are.
        fn structure(&mut self, voc: &Vocabulary, n: usize) -> Structure {
            let mut s = Structure::new(voc, n);
            for p in voc.ids().filter(|p| *p != PredId::SM) {
                let (a, b) = (self.word() & s.universe(), self.word() & s.universe());
                s.set_word(voc, p, (a | b, a & b));
            }
            s
        }
    }

    #[test]
    fn flat_definitions_are_differenced_like_others() {
        let mut voc = Vocabulary::new();
        let names = ["a", "b", "c", "d"];
        let preds: Vec<PredId> = names
            .iter()
            .map(|name| voc.add(name, 1, true, Properties::default()))
            .collect();
        let closures = ClosureIndex::new(&voc);
        let mut random = Random(5);
        let mut gained = 0;
        for round in 0..2000 {
            let n = 1 + round % 6;
            let formula = random.formula(&preds, 3);
            let plan = Plan::plain(&formula, &[Var(0)], &[]).expect("one variable");
            let flat = Flat::new(&voc, &plan).expect("flat");
            let [old, new, plus, minus] = [(); 4].map(|()| random.structure(&voc, n));
            let change = Change {
                voc: &voc,
                old: &old,
                new: &new,
                plus: &plus,
                minus: &minus,
            };
            let stored = {
                let (a, b) = (random.word() & old.universe(), random.word());
                Table {
                    may: [a].into_iter().collect(),
                    must: [a & b].into_iter().collect(),
                }
            };
            let expected = difference(&change, &closures, &plan, &stored);
            let found = flat.difference(&change, &stored);
            assert_eq!(found.new, expected.new, "{formula:?}");
            assert_eq!(found.plus, expected.plus, "{formula:?}");
            assert_eq!(found.minus, expected.minus, "{formula:?}");
            gained += usize::from(found.plus.may[0] != 0);
        }
        assert!(gained > 100);
    }
}
