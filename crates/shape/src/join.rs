//! Joins: sets of structures, and which structures they merge.
//!
//! Place: the state kept at each location. Paper: [Friggens and Groves, arXiv 2015] uses the partial
//! join of its reference 11 ("partially disjunctive heap abstraction") throughout.
//!
//! | join | merges |
//! |---|---|
//! | `rel` | nothing: a set up to isomorphism |
//! | `part` | structures with equal nullary abstraction values and equal sets of canonical names |
//! | `ind` | structures with equal nullary abstraction values; an object of one side only may be absent (`ac` = 1/2) |
//! | `conc` | nothing, and objects are not merged either |
//!
//! Law (tested): the merged structure is the least upper bound of the two for the embedding
//! that keeps canonical names.

use crate::blur::{Name, names};
use crate::kleene::Kleene;
use crate::structure::Structure;
use crate::vocabulary::{PredId, Vocabulary};
use rustc_hash::FxHashMap;

/// Which structures are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Join {
    /// Relational: none.
    Rel,
    /// Partially disjunctive, the paper's choice.
    #[default]
    Part,
    /// Independent attributes: all with equal nullary values.
    Ind,
    /// Concrete: no blur.
    Conc,
}

impl std::str::FromStr for Join {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "rel" | "relational" => Ok(Self::Rel),
            // TVLA's `part_embedding` also drops structures that others cover: `part` is finer.
            "part" | "partial" | "part_embedding" => Ok(Self::Part),
            "ind" | "independent" | "independent_attributes" => Ok(Self::Ind),
            "conc" | "concrete" => Ok(Self::Conc),
            _ => Err(format!("unknown join `{text}`: use rel, part, ind or conc")),
        }
    }
}

/// A set of structures under a join.
#[derive(Clone, Debug)]
pub struct StructureSet {
    join: Join,
    structures: Vec<Structure>,
    index: FxHashMap<Vec<u64>, usize>,
}

/// What an insertion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// Already covered.
    Old,
    /// A new member.
    New(usize),
    /// A member grew.
    Grown(usize),
    /// The merged structure would exceed the size limit; nothing was stored.
    TooLarge,
}

impl StructureSet {
    /// The empty set.
    pub fn new(join: Join) -> Self {
        Self {
            join,
            structures: Vec::new(),
            index: FxHashMap::default(),
        }
    }

    /// The members.
    pub fn structures(&self) -> &[Structure] {
        &self.structures
    }

    /// Adds a structure; except under `conc` it must be canonically abstract.
    pub fn insert(&mut self, voc: &Vocabulary, s: Structure) -> Inserted {
        let key = self.key(voc, &s);
        let Some(at) = self.index.get(&key).copied() else {
            self.index.insert(key, self.structures.len());
            self.structures.push(s);
            return Inserted::New(self.structures.len() - 1);
        };
        let joined = match self.join {
            Join::Rel | Join::Conc => return Inserted::Old,
            Join::Part => {
                if s.below(voc, &self.structures[at]) {
                    return Inserted::Old;
                }
                self.structures[at].join(voc, &s)
            }
            Join::Ind => match join_by_name(voc, &self.structures[at], &s) {
                None => return Inserted::TooLarge,
                Some(joined) if joined == self.structures[at] => return Inserted::Old,
                Some(joined) => joined,
            },
        };
        self.structures[at] = joined;
        Inserted::Grown(at)
    }

    /// Whether inserting a structure would change nothing; `false` where that is not told without
    /// joining.
    pub fn covers(&self, voc: &Vocabulary, s: &Structure) -> bool {
        let known = || self.index.get(&self.key(voc, s));
        match self.join {
            Join::Rel | Join::Conc => known().is_some(),
            Join::Part => known().is_some_and(|at| s.below(voc, &self.structures[*at])),
            Join::Ind => false,
        }
    }

    /// The member that covers a structure which need not be canonically abstract, if the
    /// members were made from such structures by this join; a guess where focus and rules
    /// have made values more definite.
    pub fn find(&self, voc: &Vocabulary, s: &Structure) -> Option<usize> {
        let key = match self.join {
            Join::Conc => self.key(voc, s),
            Join::Rel | Join::Part | Join::Ind => self.key(voc, &crate::blur::blur(voc, s)),
        };
        self.index.get(&key).copied()
    }

    fn key(&self, voc: &Vocabulary, s: &Structure) -> Vec<u64> {
        match self.join {
            Join::Rel => s.words().to_vec(),
            Join::Conc => crate::isomorphism::canonical(voc, s).words().to_vec(),
            Join::Part => {
                let mut key = nullary_key(voc, s);
                for name in names(voc, s) {
                    key.extend(name);
                }
                key.push(s.len() as u64);
                key
            }
            Join::Ind => nullary_key(voc, s),
        }
    }
}

fn nullary_key(voc: &Vocabulary, s: &Structure) -> Vec<u64> {
    voc.nullary_abstraction()
        .iter()
        .map(|p| {
            let (may, must) = s.word(voc, *p);
            may | must << 1
        })
        .collect()
}

/// Least upper bound of two canonically abstract structures whose objects are matched by name;
/// `None` beyond the size limit.
pub(crate) fn join_by_name(voc: &Vocabulary, a: &Structure, b: &Structure) -> Option<Structure> {
    let (na, nb) = (names(voc, a), names(voc, b));
    let mut all: Vec<&Name> = na.iter().chain(&nb).collect();
    all.sort();
    all.dedup();
    if !voc.fits(all.len()) {
        return None;
    }
    let place = |names: &[Name]| -> Vec<Option<usize>> {
        all.iter()
            .map(|n| names.iter().position(|m| m == *n))
            .collect()
    };
    let (pa, pb) = (place(&na), place(&nb));
    let mut out = Structure::new(voc, all.len());
    for p in voc.ids() {
        let arity = voc.get(p).arity;
        let m = all.len();
        for index in 0..m.pow(arity as u32) {
            let tuple = if arity == 0 {
                vec![]
            } else {
                crate::coerce::tuple_at(index / m, index % m, arity, m)
            };
            let side = |s: &Structure, place: &[Option<usize>]| -> Option<Kleene> {
                let objects: Option<Vec<usize>> = tuple.iter().map(|i| place[*i]).collect();
                objects.map(|o| s.get(voc, p, &o))
            };
            let value = match (side(a, &pa), side(b, &pb)) {
                (Some(x), Some(y)) => x.join(y),
                (Some(x), None) | (None, Some(x)) => x,
                // The objects never exist together: any value covers.
                (None, None) => Kleene::False,
            };
            let value = if p == PredId::AC && (pa[tuple[0]].is_none() || pb[tuple[0]].is_none()) {
                Kleene::Half
            } else {
                value
            };
            out.set(voc, p, &tuple, value);
        }
    }
    Some(out)
}
