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

use crate::formula::Var;
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

    fn concerns(&self, rule: &Rule, uses: &[u64]) -> bool {
        self.universe && rule.universe || uses.iter().zip(&self.words).any(|(a, b)| a & b != 0)
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
    /// For each rule the predicates it mentions, as in [`Dirty`].
    uses: Vec<Vec<u64>>,
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
        let uses = |rule: &Rule| {
            let most = rule.uses.iter().map(|p| p.index()).max();
            let mut words = vec![0; most.map_or(0, |m| m / 64 + 1)];
            for p in &rule.uses {
                words[p.index() / 64] |= 1 << (p.index() % 64);
            }
            words
        };
        Self {
            uses: rules.iter().map(uses).collect(),
            rules,
        }
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
                let uses = &self.uses[i];
                if !round.concerns(rule, uses) && !dirty.concerns(rule, uses) {
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
    let mut found: Vec<Vec<usize>> = Vec::new();
    breaches(voc, s, rule, &mut found);
    if found.is_empty() {
        return Outcome::Unchanged;
    }
    let mut outcome = Outcome::Unchanged;
    let n = s.len();
    let mut absent = 0u64;
    for tuple in &found {
        let sharpened = if can_hold(voc, s, rule, tuple) {
            sharpen(voc, s, rule, tuple, dirty)
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
        let maybe: Vec<usize> = maybe_absent(voc, s, tuple);
        match maybe.as_slice() {
            [] => return Outcome::Breach,
            [u] => absent |= 1 << u,
            [_, _, ..] => {}
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

/// The tuples for which the body is 1 and the head is not.
fn breaches(voc: &Vocabulary, s: &Structure, rule: &Rule, found: &mut Vec<Vec<usize>>) {
    if let Some(query) = &rule.query {
        query.each(voc, s, &mut |tuple| found.push(tuple.to_vec()));
        return;
    }
    let k = rule.vars.len();
    let full = if k == 0 { 1 } else { s.universe() };
    let head = rule.head_plan.eval(voc, s, &[]);
    if head.must.iter().all(|w| *w == full) {
        return;
    }
    let body = rule.body_plan.eval(voc, s, &[]);
    for row in 0..body.must.len() {
        for bit in bits(body.must[row] & !head.must[row] & full) {
            found.push(tuple_at(row, bit, k, s.len()));
        }
    }
}

/// Whether the head is not 0 for a tuple.
fn can_hold(voc: &Vocabulary, s: &Structure, rule: &Rule, tuple: &[usize]) -> bool {
    let object = |v| object_of(rule, tuple, v);
    match &rule.head {
        Head::Atom(p, args, positive) => {
            let objects: Vec<usize> = args.iter().map(|v| object(*v)).collect();
            let value = s.get(voc, *p, &objects);
            if *positive {
                value.may()
            } else {
                !value.must()
            }
        }
        Head::Eq(a, b, true) => object(*a) == object(*b),
        Head::Eq(a, b, false) => {
            let (u, w) = (object(*a), object(*b));
            u != w || s.is_summary(voc, u)
        }
        Head::False => false,
    }
}

/// The object of one of the head's variables.
fn object_of(rule: &Rule, tuple: &[usize], v: Var) -> usize {
    let at = rule.vars.iter().position(|w| *w == v);
    tuple[at.expect("a variable of the head")]
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
    let object = |v| object_of(rule, tuple, v);
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

#[cfg(test)]
mod tests {
    use super::{bits, breaches, tuple_at};
    use crate::formula::{Closure, Formula, Var};
    use crate::kleene::Kleene;
    use crate::naive::World;
    use crate::rules::{definition_axioms, property_axioms, rules};
    use crate::structure::Structure;
    use crate::vocabulary::{Definition, PredId, Properties, Vocabulary};

    /// x unique, n a function and antisymmetric, t = n* transitive and reflexive,
    /// r(v) = E(a) x(a) & t(a,v), s(v) = E(a,b) a != b & n(a,v) & n(b,v).
    fn vocabulary() -> Vocabulary {
        let mut voc = Vocabulary::new();
        let props = |change: fn(&mut Properties)| {
            let mut p = Properties::default();
            change(&mut p);
            p
        };
        let x = voc.add("x", 1, true, props(|p| p.unique = true));
        let n = voc.add(
            "n",
            2,
            false,
            props(|p| (p.function, p.antisymmetric) = (true, true)),
        );
        let t = voc.add(
            "t",
            2,
            false,
            props(|p| (p.transitive, p.reflexive) = (true, true)),
        );
        let r = voc.add("r", 1, true, Properties::default());
        let s = voc.add("s", 1, true, Properties::default());
        let (v, w, a, b) = (Var(0), Var(1), Var(2), Var(3));
        let atom = |p: PredId, args: &[Var]| Formula::Atom(p, args.to_vec());
        let path = Formula::Tc(Box::new(Closure {
            from: v,
            to: w,
            a,
            b,
            body: atom(n, &[a, b]),
        }));
        let mut define = |p, args: Vec<Var>, formula| voc.define(p, Definition { args, formula });
        define(t, vec![v, w], Formula::or([Formula::Eq(v, w), path]));
        let from_x = Formula::and([atom(x, &[a]), atom(t, &[a, v])]);
        define(r, vec![v], Formula::exists(&[a], from_x));
        let differ = Formula::Eq(a, b).not();
        let shared = Formula::and([differ, atom(n, &[a, v]), atom(n, &[b, v])]);
        define(s, vec![v], Formula::exists(&[a, b], shared));
        voc
    }

    fn random(voc: &Vocabulary, n: usize, seed: &mut u64) -> Structure {
        let mut next = |limit: u64| {
            *seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 33) % limit
        };
        let mut s = Structure::new(voc, n);
        for p in voc.ids().filter(|p| *p != PredId::AC) {
            for tuple in World::new(voc, n).tuples(voc.get(p).arity) {
                let value = match next(if p == PredId::SM { 2 } else { 3 }) {
                    0 => Kleene::False,
                    1 => Kleene::Half,
                    _ => Kleene::True,
                };
                s.set(voc, p, &tuple, value);
            }
        }
        s
    }

    #[test]
    fn queries_and_tables_find_the_same_tuples() {
        let voc = vocabulary();
        let axioms = [property_axioms(&voc), definition_axioms(&voc)].concat();
        let all = rules(&axioms);
        assert!(all.iter().filter(|r| r.query.is_some()).count() > 10);
        let mut seed = 7;
        let mut found_any = 0;
        for round in 0..400 {
            let s = random(&voc, round % 5, &mut seed);
            for rule in &all {
                let mut found = Vec::new();
                breaches(&voc, &s, rule, &mut found);
                let (body, head) = (
                    rule.body_plan.eval(&voc, &s, &[]),
                    rule.head_plan.eval(&voc, &s, &[]),
                );
                let k = rule.vars.len();
                let mut expected = Vec::new();
                for row in 0..body.must.len() {
                    for bit in bits(body.must[row] & !head.must[row]) {
                        expected.push(tuple_at(row, bit, k, s.len()));
                    }
                }
                assert_eq!(found, expected, "{}", rule.origin);
                found_any += found.len();
            }
        }
        assert!(found_any > 1000);
    }
}
