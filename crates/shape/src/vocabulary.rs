//! Vocabulary: the predicates of a model and where each lies in a structure.
//!
//! Place: made by the front end, read by everything else. Paper: [Friggens and Groves, arXiv
//! 2015], section 2 (the set P of predicates, the abstraction predicates A
//! among the unary ones, core and instrumentation predicates).
//!
//! Two predicates are built in: `sm` (summary object: 0 or 1/2, the paper's `eq(u,u)` is
//! its opposite side) and `ac` (active: the object certainly exists, or may be absent).

use crate::formula::Formula;
use crate::formula::Var;
use crate::structure::MAX_OBJECTS;
use rustc_hash::FxHashMap;

/// Most words of one structure, and of one table.
pub(crate) const MAX_WORDS: usize = 1 << 21;

/// Index of a predicate in its [`Vocabulary`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PredId(pub u32);

impl PredId {
    /// The summary predicate.
    pub const SM: Self = Self(0);
    /// The activity predicate.
    pub const AC: Self = Self(1);

    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Properties of a predicate that imply consistency rules or steer focus and display.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // one flag per keyword of the language
pub struct Properties {
    /// Holds for at most one object (arity 1).
    pub unique: bool,
    /// Each object has at most one successor (arity 2).
    pub function: bool,
    /// Each object has at most one predecessor (arity 2).
    pub invfunction: bool,
    /// p(a,b) implies p(b,a).
    pub symmetric: bool,
    /// p(a,b) and p(b,a) imply a = b.
    pub antisymmetric: bool,
    /// p(a,a) always.
    pub reflexive: bool,
    /// p(a,a) never.
    pub antireflexive: bool,
    /// p(a,b) and p(b,c) imply p(a,c).
    pub transitive: bool,
    /// No cycles along p.
    pub acyclic: bool,
    /// Drawn as a pointer variable.
    pub pointer: bool,
    /// Drawn as a box of its own.
    pub boxed: bool,
}

/// The definition of an instrumentation predicate.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The arguments, which are the formula's free variables.
    pub args: Vec<Var>,
    /// The defining formula.
    pub formula: Formula,
}

/// One predicate.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Its name, parameters included: `r[n,x]`.
    pub name: String,
    /// Number of arguments.
    pub arity: usize,
    /// Whether canonical abstraction distinguishes objects (or, nullary, structures) by it.
    pub abstraction: bool,
    /// Declared properties.
    pub properties: Properties,
    /// The definition, for instrumentation predicates.
    pub definition: Option<Definition>,
    /// Whether pictures show it when it is 1 and when it is 1/2.
    pub shown: (bool, bool),
}

/// All predicates of a model.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    predicates: Vec<Predicate>,
    by_name: FxHashMap<String, PredId>,
    /// How many predicates of each arity.
    counts: Vec<usize>,
    /// Arity and slot of each predicate, close together: this is asked most often.
    layout: Vec<(u32, u32)>,
    unary_abs: Vec<PredId>,
    nullary_abs: Vec<PredId>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        Self::new()
    }
}

impl Vocabulary {
    /// The vocabulary with the built-in predicates only.
    pub fn new() -> Self {
        let mut v = Self {
            predicates: Vec::new(),
            by_name: FxHashMap::default(),
            counts: vec![0; 3],
            layout: Vec::new(),
            unary_abs: Vec::new(),
            nullary_abs: Vec::new(),
        };
        v.add("sm", 1, false, Properties::default());
        v.add("ac", 1, false, Properties::default());
        v
    }

    /// Adds a predicate. The name must be new.
    pub fn add(
        &mut self,
        name: &str,
        arity: usize,
        abstraction: bool,
        properties: Properties,
    ) -> PredId {
        debug_assert!(!self.by_name.contains_key(name), "predicate {name} twice");
        let id = PredId(self.predicates.len() as u32);
        if self.counts.len() <= arity {
            self.counts.resize(arity + 1, 0);
        }
        let slot = self.counts[arity];
        self.counts[arity] += 1;
        self.layout.push((arity as u32, slot as u32));
        self.predicates.push(Predicate {
            name: name.to_owned(),
            arity,
            abstraction,
            properties,
            definition: None,
            shown: (true, true),
        });
        self.by_name.insert(name.to_owned(), id);
        if abstraction {
            match arity {
                0 => self.nullary_abs.push(id),
                1 => self.unary_abs.push(id),
                _ => {}
            }
        }
        id
    }

    /// Gives a predicate its defining formula, which makes it an instrumentation predicate.
    pub fn define(&mut self, id: PredId, definition: Definition) {
        self.predicates[id.index()].definition = Some(definition);
    }

    /// Mutable access for display attributes.
    pub fn get_mut(&mut self, id: PredId) -> &mut Predicate {
        &mut self.predicates[id.index()]
    }

    /// The predicate.
    pub fn get(&self, id: PredId) -> &Predicate {
        &self.predicates[id.index()]
    }

    /// Finds a predicate by name.
    pub fn find(&self, name: &str) -> Option<PredId> {
        self.by_name.get(name).copied()
    }

    /// All ids in order of declaration.
    pub fn ids(&self) -> impl Iterator<Item = PredId> + use<> {
        (0..self.predicates.len() as u32).map(PredId)
    }

    /// Number of predicates, built-in ones included.
    pub fn len(&self) -> usize {
        self.predicates.len()
    }

    /// Never: the built-in predicates are always there.
    pub fn is_empty(&self) -> bool {
        self.predicates.is_empty()
    }

    /// Unary abstraction predicates (the paper's A).
    pub fn unary_abstraction(&self) -> &[PredId] {
        &self.unary_abs
    }

    /// Nullary abstraction predicates.
    pub fn nullary_abstraction(&self) -> &[PredId] {
        &self.nullary_abs
    }

    /// Instrumentation predicates in order of declaration, which is an order of dependency.
    pub fn instrumentation(&self) -> impl Iterator<Item = PredId> + '_ {
        self.ids().filter(|p| self.get(*p).definition.is_some())
    }

    /// Words per plane of a predicate of this arity in a universe of `n`.
    pub(crate) fn rows(arity: usize, n: usize) -> usize {
        match arity {
            0 | 1 => 1,
            2 => n,
            _ => n.pow(arity as u32 - 1),
        }
    }

    /// Offset of the may plane of `id` in a universe of `n`; the must plane follows it.
    #[inline]
    pub(crate) fn offset(&self, id: PredId, n: usize) -> usize {
        let (arity, slot) = self.layout[id.index()];
        let slot = slot as usize;
        match arity {
            0 => 2 * slot,
            1 => 2 * (self.counts[0] + slot),
            2 => 2 * (self.counts[0] + self.counts[1] + slot * n),
            _ => self.far_offset(arity as usize, slot, n),
        }
    }

    /// Number of arguments.
    #[inline]
    pub(crate) fn arity(&self, id: PredId) -> usize {
        self.layout[id.index()].0 as usize
    }

    /// The offset of a predicate of arity three or more.
    fn far_offset(&self, arity: usize, slot: usize, n: usize) -> usize {
        let base: usize = (0..arity)
            .map(|k| 2 * self.counts[k] * Self::rows(k, n))
            .sum();
        base + 2 * slot * Self::rows(arity, n)
    }

    /// Whether a structure with `n` objects is small enough: at most [`MAX_OBJECTS`], and within
    /// [`MAX_WORDS`], which only predicates of many arguments exceed.
    pub(crate) fn fits(&self, n: usize) -> bool {
        let of_arity = |k: usize| {
            let rows = n.checked_pow(k.saturating_sub(1) as u32)?;
            rows.checked_mul(2 * self.counts[k])
        };
        let total = (0..self.counts.len()).try_fold(0usize, |sum, k| {
            if self.counts[k] == 0 {
                return Some(sum);
            }
            sum.checked_add(of_arity(k)?)
        });
        n <= MAX_OBJECTS && total.is_some_and(|words| words <= MAX_WORDS)
    }

    /// Words of a structure with `n` objects.
    pub(crate) fn words(&self, n: usize) -> usize {
        (0..self.counts.len())
            .map(|k| 2 * self.counts[k] * Self::rows(k, n))
            .sum()
    }
}
