//! Clause: a disjunction of unary literals over one object, closed by unit propagation.
//!
//! Place: below [`crate::coerce`], made by [`crate::rules`]. A clause of k literals would give k
//! rules ("the others are 0, so this one is 1"). Here one pass over the literals finds, for all
//! objects at once, those for which every literal is 0 (a breach) and those for which all but one
//! are 0 (that one becomes 1): two words, however many objects there are. Models with soft invariants
//! ([Friggens and Groves, arXiv 2015, section 5]) consist of such clauses for the most part.
//!
//! Law (tested): the result is that of the k rules.

use crate::formula::{Formula, Var};
use crate::structure::Structure;
use crate::vocabulary::{PredId, Vocabulary};

/// A clause as it comes from an axiom: predicates with their signs, all of one variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clause {
    /// Sorted, each once.
    pub(crate) literals: Vec<(PredId, bool)>,
    /// Which axiom it comes from, for people.
    pub(crate) origin: String,
}

impl Clause {
    /// The clause of these formulas, if all are unary literals of the same variable.
    pub(crate) fn of(literals: &[Formula], origin: &str) -> Option<Self> {
        let mut of: Option<Var> = None;
        let mut out = Vec::new();
        for literal in literals {
            let (atom, positive) = match literal {
                Formula::Not(inner) => (&**inner, false),
                other => (other, true),
            };
            let Formula::Atom(p, args) = atom else {
                return None;
            };
            let [v] = args[..] else { return None };
            if *of.get_or_insert(v) != v || *p == PredId::SM || *p == PredId::AC {
                return None;
            }
            out.push((*p, positive));
        }
        out.sort_unstable();
        out.dedup();
        (!out.is_empty()).then(|| Self {
            literals: out,
            origin: origin.to_owned(),
        })
    }

    /// Whether it holds by itself: a literal and its negation.
    pub(crate) fn is_trivial(&self) -> bool {
        let mut pairs = self.literals.windows(2);
        pairs.any(|w| w[0].0 == w[1].0)
    }
}

/// Clauses laid out for propagation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clauses {
    /// Where each clause's literals begin; one more at the end.
    starts: Vec<u32>,
    /// The place of a predicate's `may` word (even, the same for every size of the universe), plus
    /// one if the literal is negative.
    literals: Vec<u32>,
    /// The predicates of the literals.
    predicates: Vec<PredId>,
}

impl Clauses {
    pub(crate) fn new(voc: &Vocabulary, clauses: &[Clause]) -> Self {
        let mut out = Self {
            starts: vec![0],
            ..Self::default()
        };
        for clause in clauses {
            for (p, positive) in &clause.literals {
                let place = voc.offset(*p, 0) as u32;
                out.literals.push(place | u32::from(!positive));
                out.predicates.push(*p);
            }
            out.starts.push(out.literals.len() as u32);
        }
        out
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Propagates clause `c`; `see` is told every predicate that became definite somewhere, and
    /// to which value. Returns the objects for which no literal can hold.
    pub(crate) fn propagate(
        &self,
        c: usize,
        s: &mut Structure,
        see: &mut impl FnMut(PredId, bool),
    ) -> u64 {
        let range = self.starts[c] as usize..self.starts[c + 1] as usize;
        // Objects for which all literals so far are 0, and for which all but one are.
        let (mut none, mut one) = (s.universe(), 0);
        for literal in &self.literals[range.clone()] {
            let no = zero(s, *literal);
            one = one & no | none & !no;
            none &= no;
            if none | one == 0 {
                break;
            }
        }
        if one != 0 {
            for at in range {
                let literal = self.literals[at];
                let (place, positive) = ((literal & !1) as usize, literal & 1 == 0);
                let words = s.words_mut();
                let (may, must) = (words[place], words[place + 1]);
                let unknown = one & may & !must;
                if unknown == 0 {
                    continue;
                }
                if positive {
                    words[place + 1] |= unknown;
                } else {
                    words[place] &= !unknown;
                }
                see(self.predicates[at], positive);
            }
        }
        none
    }
}

/// The objects for which a literal is 0.
fn zero(s: &Structure, literal: u32) -> u64 {
    let place = (literal & !1) as usize;
    if literal & 1 == 0 {
        !s.words()[place]
    } else {
        s.words()[place + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::{Clause, Clauses};
    use crate::kleene::Kleene;
    use crate::structure::Structure;
    use crate::vocabulary::{PredId, Properties, Vocabulary};

    /// What the rules of a clause say: where all other literals are 0, the last one is 1.
    fn by_rules(voc: &Vocabulary, s: &mut Structure, clause: &Clause) -> u64 {
        let value = |s: &Structure, (p, positive): (PredId, bool), u: usize| {
            let v = s.get(voc, p, &[u]);
            if positive { v } else { v.not() }
        };
        let mut breached = 0;
        for u in 0..s.len() {
            for (i, literal) in clause.literals.iter().enumerate() {
                let mut others = clause.literals.iter().enumerate().filter(|(j, _)| *j != i);
                if !others.all(|(_, l)| value(s, *l, u) == Kleene::False) {
                    continue;
                }
                match value(s, *literal, u) {
                    Kleene::False => breached |= 1 << u,
                    Kleene::Half => s.set(voc, literal.0, &[u], literal.1.into()),
                    Kleene::True => {}
                }
            }
        }
        breached
    }

    #[test]
    fn propagation_does_what_the_rules_do() {
        let mut voc = Vocabulary::new();
        voc.add("nothing", 0, true, Properties::default());
        let preds: Vec<PredId> = ["a", "b", "c", "d", "e"]
            .iter()
            .map(|name| voc.add(name, 1, true, Properties::default()))
            .collect();
        let mut seed = 3u64;
        let mut next = |limit: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        let (mut broken, mut sharpened) = (0, 0);
        for round in 0..3000 {
            let mut literals: Vec<(PredId, bool)> = Vec::new();
            for p in &preds {
                match next(3) {
                    0 => literals.push((*p, true)),
                    1 => literals.push((*p, false)),
                    _ => {}
                }
            }
            if literals.is_empty() {
                continue;
            }
            let clause = Clause {
                literals,
                origin: String::new(),
            };
            let mut s = Structure::new(&voc, round % 6);
            for u in 0..s.len() {
                for p in &preds {
                    let values = [Kleene::False, Kleene::Half, Kleene::True];
                    s.set(&voc, *p, &[u], values[next(3) as usize]);
                }
            }
            let mut expected = s.clone();
            let breached = by_rules(&voc, &mut expected, &clause);
            let clauses = Clauses::new(&voc, &[clause]);
            assert_eq!(clauses.len(), 1);
            let mut told = 0;
            let found = clauses.propagate(0, &mut s, &mut |_, _| told += 1);
            assert_eq!(found, breached);
            assert_eq!(s, expected);
            broken += usize::from(breached != 0);
            sharpened += told;
        }
        assert!(broken > 50 && sharpened > 50);
    }
}
