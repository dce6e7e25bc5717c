//! Coerce: sharpen a structure by the consistency rules, or find that it stands for nothing.
//!
//! Place: after focus and after update. Paper: [Friggens and Groves, arXiv 2015] uses TVLA's
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
//! a rule is looked at again only after a change that can make its body 1 or its head less than 1:
//! changes are told apart by predicate and direction (`Shift`). Clauses over one object
//! (`clause`) are cheap and come before the other rules.

use crate::clause::Clauses;
use crate::formula::Var;
use crate::rules::{Head, Rule, Rules, signs};
use crate::structure::{Structure, bits};
use crate::table::Table;
use crate::vocabulary::{PredId, Vocabulary};

/// How the values of a predicate changed, as a set of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shift(u8);

impl Shift {
    /// Somewhere it became 1.
    pub(crate) const TRUE: Self = Self(1);
    /// Somewhere it became 0.
    pub(crate) const FALSE: Self = Self(2);
    /// Somewhere it is no longer 1.
    pub(crate) const NOT_TRUE: Self = Self(4);
    /// Somewhere it is no longer 0.
    pub(crate) const NOT_FALSE: Self = Self(8);
    /// It became more definite.
    pub(crate) const SHARPER: Self = Self(3);
    /// Anything.
    pub(crate) const ANY: Self = Self(15);
    const KINDS: usize = 4;

    /// From one table to another of the same shape.
    pub(crate) fn between(old: &Table, new: &Table) -> Self {
        let some = |a: &[u64], b: &[u64]| a.iter().zip(b).any(|(a, b)| a & !b != 0);
        let bit = |yes: bool, shift: Self| if yes { shift.0 } else { 0 };
        Self(
            bit(some(&new.must, &old.must), Self::TRUE)
                | bit(some(&old.may, &new.may), Self::FALSE)
                | bit(some(&old.must, &new.must), Self::NOT_TRUE)
                | bit(some(&new.may, &old.may), Self::NOT_FALSE),
        )
    }

    const fn sharpened(to: bool) -> Self {
        if to { Self::TRUE } else { Self::FALSE }
    }

    fn kinds(self) -> impl Iterator<Item = usize> {
        (0..Self::KINDS).filter(move |k| self.0 >> k & 1 == 1)
    }
}

/// What changed since the structure was last closed under the rules.
#[derive(Clone, Debug)]
pub struct Dirty {
    /// Four bits for each predicate.
    shifts: Vec<u64>,
    universe: bool,
    equality: bool,
    all: bool,
}

const PER_WORD: usize = 64 / Shift::KINDS;

impl Dirty {
    /// Nothing changed.
    pub fn none(voc: &Vocabulary) -> Self {
        Self {
            shifts: vec![0; voc.len().div_ceil(PER_WORD)],
            universe: false,
            equality: false,
            all: false,
        }
    }

    /// Everything may have changed.
    pub fn all(voc: &Vocabulary) -> Self {
        Self {
            all: true,
            ..Self::none(voc)
        }
    }

    /// Marks a predicate.
    pub fn mark(&mut self, p: PredId) {
        self.shift(p, Shift::ANY);
    }

    /// Marks a predicate that changed in a certain way.
    pub(crate) fn shift(&mut self, p: PredId, shift: Shift) {
        let (word, bit) = (p.index() / PER_WORD, p.index() % PER_WORD * Shift::KINDS);
        self.shifts[word] |= u64::from(shift.0) << bit;
    }

    /// Marks the universe: which objects there are.
    pub fn mark_universe(&mut self) {
        self.universe = true;
        self.equality = true;
    }

    /// Marks equality: an object is no summary object any more, or is now two that are alike in
    /// every predicate. A formula without equality has the same values as before.
    pub fn mark_equality(&mut self) {
        self.equality = true;
    }
}

/// The rules of a model, indexed for coerce.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
    clauses: Clauses,
    /// Of the rules, then of the clauses.
    origins: Vec<String>,
    /// For each predicate and kind of shift the rules and the clauses that may have something to
    /// say after it.
    woken_rules: Vec<Vec<u32>>,
    woken_clauses: Vec<Vec<u32>>,
}

/// The rule that a structure broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach(pub usize);

/// What is still to be looked at while a structure is closed.
struct Work<'a> {
    set: &'a RuleSet,
    /// The rules, as bits; taken in order.
    rules: Vec<u64>,
    /// The clauses; taken before any rule.
    stack: Vec<u32>,
    stacked: Vec<u64>,
}

impl<'a> Work<'a> {
    fn new(set: &'a RuleSet, dirty: &Dirty) -> Self {
        let mut work = Self {
            set,
            rules: vec![0; set.rules.len().div_ceil(64)],
            stack: Vec::new(),
            stacked: vec![0; set.clauses.len().div_ceil(64)],
        };
        if dirty.all {
            (0..set.rules.len()).for_each(|r| work.add_rule(r));
            (0..set.clauses.len())
                .rev()
                .for_each(|c| work.add_clause(c));
            return work;
        }
        for (w, word) in dirty.shifts.iter().enumerate().filter(|(_, w)| **w != 0) {
            for at in bits(*word) {
                work.wake(w * 64 + at);
            }
        }
        if dirty.universe {
            work.universe();
        } else if dirty.equality {
            work.equality();
        }
        work
    }

    fn add_rule(&mut self, r: usize) {
        self.rules[r / 64] |= 1 << (r % 64);
    }

    fn add_clause(&mut self, c: usize) {
        if self.stacked[c / 64] >> (c % 64) & 1 == 0 {
            self.stacked[c / 64] |= 1 << (c % 64);
            self.stack.push(c as u32);
        }
    }

    fn wake(&mut self, slot: usize) {
        let set = self.set;
        for r in &set.woken_rules[slot] {
            self.add_rule(*r as usize);
        }
        for c in &set.woken_clauses[slot] {
            self.add_clause(*c as usize);
        }
    }

    fn shift(&mut self, p: PredId, shift: Shift) {
        for kind in shift.kinds() {
            self.wake(p.index() * Shift::KINDS + kind);
        }
    }

    fn universe(&mut self) {
        for (r, rule) in self.set.rules.iter().enumerate() {
            if rule.universe || rule.equality {
                self.add_rule(r);
            }
        }
    }

    fn equality(&mut self) {
        for (r, rule) in self.set.rules.iter().enumerate() {
            if rule.equality {
                self.add_rule(r);
            }
        }
    }

    fn next_clause(&mut self) -> Option<usize> {
        let c = self.stack.pop()? as usize;
        self.stacked[c / 64] &= !(1 << (c % 64));
        Some(c)
    }

    /// The next rule from `from` on, or from the beginning.
    fn next_rule(&mut self, from: usize) -> Option<usize> {
        let words = self.rules.len();
        let first = from / 64;
        for i in 0..=words {
            let w = (first + i) % words.max(1);
            let mut word = *self.rules.get(w)?;
            if i == 0 {
                word &= u64::MAX << (from % 64);
            }
            if word != 0 {
                let r = w * 64 + word.trailing_zeros() as usize;
                self.rules[w] &= !(1 << (r % 64));
                return Some(r);
            }
        }
        None
    }
}

impl RuleSet {
    /// Takes the rules.
    pub fn new(voc: &Vocabulary, Rules { rules, clauses }: Rules) -> Self {
        let slots = voc.len().div_ceil(PER_WORD) * 64;
        let mut out = Self {
            clauses: Clauses::new(voc, &clauses),
            origins: rules.iter().map(|r| r.origin.clone()).collect(),
            woken_rules: vec![Vec::new(); slots],
            woken_clauses: vec![Vec::new(); slots],
            rules,
        };
        out.origins.extend(clauses.iter().map(|c| c.origin.clone()));
        for (r, rule) in out.rules.iter().enumerate() {
            wakers(rule, &mut |p, shift| {
                add(&mut out.woken_rules, p, shift, r);
            });
        }
        for (c, clause) in clauses.iter().enumerate() {
            for (p, positive) in &clause.literals {
                // All others 0, this one no longer 1; or this one 0.
                for shift in [Shift::sharpened(!positive), weakened(*positive)] {
                    add(&mut out.woken_clauses, *p, shift, c);
                }
            }
        }
        out
    }

    /// Where the rule of a breach comes from, for people.
    pub fn origin(&self, rule: usize) -> &str {
        &self.origins[rule]
    }

    /// Closes `s` under the rules that concern what is marked dirty. The order of rules does not
    /// matter for the result: each only makes values more definite or removes objects.
    pub fn coerce(&self, voc: &Vocabulary, s: &mut Structure, dirty: Dirty) -> Result<(), Breach> {
        let mut work = Work::new(self, &dirty);
        drop(dirty);
        let mut from = 0;
        loop {
            while let Some(c) = work.next_clause() {
                self.clause(voc, s, c, &mut work)?;
            }
            let Some(r) = work.next_rule(from) else {
                return Ok(());
            };
            if !apply(voc, s, &self.rules[r], &mut work) {
                return Err(Breach(r));
            }
            from = r + 1;
        }
    }

    fn clause(
        &self,
        voc: &Vocabulary,
        s: &mut Structure,
        c: usize,
        work: &mut Work<'_>,
    ) -> Result<(), Breach> {
        let mut see = |p: PredId, to: bool| work.shift(p, Shift::sharpened(to));
        let breached = self.clauses.propagate(c, s, &mut see);
        if breached & s.active(voc) != 0 {
            return Err(Breach(self.rules.len() + c));
        }
        if breached != 0 {
            // Objects that need not exist do not.
            remove(voc, s, breached);
            work.universe();
        }
        Ok(())
    }
}

fn add(woken: &mut [Vec<u32>], p: PredId, shift: Shift, index: usize) {
    for kind in shift.kinds() {
        let list = &mut woken[p.index() * Shift::KINDS + kind];
        if list.last() != Some(&(index as u32)) {
            list.push(index as u32);
        }
    }
}

/// A literal that was 1 no longer is.
const fn weakened(positive: bool) -> Shift {
    if positive {
        Shift::NOT_TRUE
    } else {
        Shift::NOT_FALSE
    }
}

/// After which shifts a rule that had nothing to say may have: its body is 1 somewhere for the first
/// time, or its head no longer is. A head with a variable twice is left unknown on
/// summary objects, so there it matters too when it becomes 0.
fn wakers(rule: &Rule, see: &mut impl FnMut(PredId, Shift)) {
    signs(&rule.body, true, &mut |p, positive| {
        see(p, Shift::sharpened(positive));
    });
    if let Head::Atom(p, args, positive) = &rule.head {
        see(*p, weakened(*positive));
        if args.len() != rule.vars.len() {
            see(*p, Shift::sharpened(!*positive));
        }
    }
}

fn remove(voc: &Vocabulary, s: &mut Structure, objects: u64) {
    let keep: Vec<usize> = bits(s.universe() & !objects).collect();
    *s = s.select(voc, &keep);
}

/// Applies a rule; false if the structure stands for nothing.
fn apply(voc: &Vocabulary, s: &mut Structure, rule: &Rule, work: &mut Work<'_>) -> bool {
    let mut found: Vec<Vec<usize>> = Vec::new();
    breaches(voc, s, rule, &mut found);
    let mut absent = 0u64;
    for tuple in &found {
        let sharpened = if can_hold(voc, s, rule, tuple) {
            sharpen(voc, s, rule, tuple, work)
        } else {
            Sharpened::Impossible
        };
        match sharpened {
            Sharpened::Done | Sharpened::Cannot => continue,
            Sharpened::Impossible => {}
        }
        // The head cannot hold: an object of the tuple that need not exist does not.
        let maybe: Vec<usize> = maybe_absent(voc, s, tuple);
        match maybe.as_slice() {
            [] => return false,
            [u] => absent |= 1 << u,
            [_, _, ..] => {}
        }
    }
    if absent != 0 {
        remove(voc, s, absent);
        work.universe();
        for p in &rule.uses {
            work.shift(*p, Shift::ANY);
        }
    }
    true
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
    work: &mut Work<'_>,
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
            work.shift(*p, Shift::sharpened(*positive));
            Sharpened::Done
        }
        Head::Eq(a, b, true) => {
            let (u, w) = (object(*a), object(*b));
            if u != w {
                return Sharpened::Impossible;
            }
            s.set(voc, PredId::SM, &[u], crate::kleene::Kleene::False);
            work.equality();
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
        let all = rules(&axioms).rules;
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
