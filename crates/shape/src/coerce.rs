//! Coerce: sharpen a structure by the consistency rules, or find that it stands for nothing.
//!
//! Place: after focus and after update. Paper: seed `001_9f3334838971d197` uses TVLA's
//! *coerce* (reference 13, section 6.4).
//!
//! For every assignment for which a rule's body is 1: a head that is 0 discards the structure
//! (or removes an object that need not exist); a head that is 1/2 becomes definite; an
//! equality head on a summary object makes it a single object. Repeated until nothing changes.
//!
//! Law (tested): a concrete structure that satisfies the rules and embeds in S embeds in
//! `coerce(S)`; `coerce` is idempotent; the result is below S.
//!
//! A structure that is closed under the rules stays closed when blurred or joined (a body
//! that is 1 on the merged objects was 1 on all of them, so the head was 1 on all of them), so
//! only rules that mention something changed since are looked at again.

use crate::rules::{Head, Rule};
use crate::structure::{Structure, bits};
use crate::vocabulary::{PredId, Vocabulary};

/// Which predicates changed since the structure was last closed under the rules.
#[derive(Clone, Debug)]
pub struct Dirty {
    words: Vec<u64>,
    universe: bool,
}

impl Dirty {
    /// Nothing changed.
    pub fn none(voc: &Vocabulary) -> Self {
        Self {
            words: vec![0; voc.len().div_ceil(64)],
            universe: false,
        }
    }

    /// Everything may have changed.
    pub fn all(voc: &Vocabulary) -> Self {
        Self {
            words: vec![u64::MAX; voc.len().div_ceil(64)],
            universe: true,
        }
    }

    /// Marks a predicate.
    pub fn mark(&mut self, p: PredId) {
        self.words[p.index() / 64] |= 1 << (p.index() % 64);
    }

    /// Marks the universe: objects, `sm`, `ac`.
    pub fn mark_universe(&mut self) {
        self.universe = true;
    }

    fn has(&self, p: PredId) -> bool {
        self.words[p.index() / 64] >> (p.index() % 64) & 1 == 1
    }

    fn concerns(&self, rule: &Rule) -> bool {
        self.universe && rule.universe || rule.uses.iter().any(|p| self.has(*p))
    }

    /// Whether nothing is marked.
    pub fn is_empty(&self) -> bool {
        !self.universe && self.words.iter().all(|w| *w == 0)
    }
}

/// The rules of a model, indexed for coerce.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
}

/// The rule that a structure broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach(pub usize);

enum Outcome {
    Unchanged,
    Changed,
    Breach,
}

impl RuleSet {
    /// Takes the rules.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self { rules }
    }

    /// All rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Closes `s` under the rules that concern what is marked dirty.
    pub fn coerce(
        &self,
        voc: &Vocabulary,
        s: &mut Structure,
        mut dirty: Dirty,
    ) -> Result<(), Breach> {
        while !dirty.is_empty() {
            let round = dirty;
            dirty = Dirty::none(voc);
            for (i, rule) in self.rules.iter().enumerate() {
                if !round.concerns(rule) && !dirty.concerns(rule) {
                    continue;
                }
                match apply(voc, s, rule, &mut dirty) {
                    Outcome::Unchanged | Outcome::Changed => {}
                    Outcome::Breach => return Err(Breach(i)),
                }
            }
        }
        Ok(())
    }
}

fn apply(voc: &Vocabulary, s: &mut Structure, rule: &Rule, dirty: &mut Dirty) -> Outcome {
    let k = rule.vars.len();
    let full = if k == 0 { 1 } else { s.universe() };
    let head = rule.head_plan.eval(voc, s, &[]);
    if head.must.iter().all(|w| *w == full) {
        return Outcome::Unchanged;
    }
    let body = rule.body_plan.eval(voc, s, &[]);
    let mut outcome = Outcome::Unchanged;
    let n = s.len();
    let mut absent = 0u64;
    for row in 0..body.must.len() {
        for bit in bits(body.must[row] & !head.must[row] & full) {
            let tuple = tuple_at(row, bit, k, n);
            let may = head.may[row] >> bit & 1 == 1;
            let sharpened = if may {
                sharpen(voc, s, rule, &tuple, dirty)
            } else {
                Sharpened::Impossible
            };
            match sharpened {
                Sharpened::Done => {
                    outcome = Outcome::Changed;
                    continue;
                }
                Sharpened::Cannot => continue,
                Sharpened::Impossible => {}
            }
            // The head cannot hold: an object of the tuple that need not exist does not.
            let maybe: Vec<usize> = maybe_absent(voc, s, &tuple);
            match maybe.as_slice() {
                [] => return Outcome::Breach,
                [u] => absent |= 1 << u,
                [_, _, ..] => {}
            }
        }
    }
    if absent != 0 {
        let keep: Vec<usize> = (0..n).filter(|u| absent >> u & 1 == 0).collect();
        *s = s.select(voc, &keep);
        dirty.mark_universe();
        for p in &rule.uses {
            dirty.mark(*p);
        }
        return Outcome::Changed;
    }
    outcome
}

fn maybe_absent(voc: &Vocabulary, s: &Structure, tuple: &[usize]) -> Vec<usize> {
    let active = s.active(voc);
    let mut out: Vec<usize> = tuple
        .iter()
        .copied()
        .filter(|u| active >> u & 1 == 0)
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// What became of a head that is 1/2.
enum Sharpened {
    /// It is definite now.
    Done,
    /// It concerns only some of the concrete tuples that the abstract tuple stands for.
    Cannot,
    /// No concrete tuple can satisfy it.
    Impossible,
}

/// Makes a head that is 1/2 definite.
fn sharpen(
    voc: &Vocabulary,
    s: &mut Structure,
    rule: &Rule,
    tuple: &[usize],
    dirty: &mut Dirty,
) -> Sharpened {
    let object = |v| {
        tuple[rule
            .vars
            .iter()
            .position(|w| *w == v)
            .expect("head variable")]
    };
    match &rule.head {
        Head::Atom(p, args, positive) => {
            let objects: Vec<usize> = args.iter().map(|v| object(*v)).collect();
            // p(v,v) speaks of the diagonal; on a summary object p(u,u) has more pairs.
            if args.len() != rule.vars.len() && objects.iter().any(|u| s.is_summary(voc, *u)) {
                return Sharpened::Cannot;
            }
            s.set(voc, *p, &objects, (*positive).into());
            dirty.mark(*p);
            Sharpened::Done
        }
        Head::Eq(a, b, true) => {
            let (u, w) = (object(*a), object(*b));
            if u != w {
                return Sharpened::Impossible;
            }
            s.set(voc, PredId::SM, &[u], crate::kleene::Kleene::False);
            dirty.mark_universe();
            Sharpened::Done
        }
        // The body holds for every pair of the object's members, also for equal ones.
        Head::Eq(_, _, false) | Head::False => Sharpened::Impossible,
    }
}

/// The tuple of a row and bit of a table over `k` variables.
pub(crate) fn tuple_at(row: usize, bit: usize, k: usize, n: usize) -> Vec<usize> {
    if k == 0 {
        return vec![];
    }
    let mut out = vec![0; k];
    out[k - 1] = bit;
    let mut rest = row;
    for d in (0..k - 1).rev() {
        out[d] = rest % n;
        rest /= n;
    }
    out
}
