//! Query: the tuples for which a rule's body is 1 while its head is not.
//!
//! Place: below [`crate::coerce`], made by [`crate::rules`]. A body is a conjunction with
//! existential variables. Instead of a table over all its variables (which [`crate::eval`] would
//! build), the variables are bound one after another, those of the head first; every part of at
//! most two variables narrows the candidates of the other one by a word operation, and the
//! last variable is never enumerated. The head comes in as one more part ("is not 1"), so a
//! structure that satisfies the rule is left early.
//!
//! Only the `must` plane is computed: a rule acts where its body is 1. Law (tested): the tuples
//! are those of the body's and the head's tables.
//!
//! Limits: parts of at most two variables and at most [`MAX_VARS`] variables; the rest of the
//! rules is evaluated by tables.

use crate::eval::{Plan, column};
use crate::formula::{Formula, Var};
use crate::rules::Head;
use crate::structure::{Structure, bits};
use crate::vocabulary::{PredId, Vocabulary};

/// Most variables of a query.
const MAX_VARS: usize = 8;

/// Where the values of a part come from.
#[derive(Clone, Debug)]
enum Source {
    /// A predicate; for two variables `flipped` says that the later one is its first argument.
    Atom {
        predicate: PredId,
        positive: bool,
        flipped: bool,
    },
    /// The two variables are equal, or are not.
    Eq(bool),
    /// Any other formula.
    Formula(Plan),
}

/// A part of the body with the positions of its variables, increasing.
#[derive(Clone, Debug)]
struct Part {
    vars: Vec<usize>,
    source: Source,
}

/// A compiled query.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// Variables of the head, then the existential ones.
    heads: usize,
    total: usize,
    /// Parts of no and of one variable, cheap ones first.
    small: Vec<Part>,
    /// Parts of two variables; the first may be the head's.
    pairs: Vec<Part>,
    /// For a head of one variable or none: the values under which the rule has nothing to say.
    done: Option<Part>,
    /// Whether `pairs[0]` stands for "the head is not 1".
    head_pair: bool,
}

impl Query {
    /// Compiles a body over the head's variables. `None` when it does not fit (see the header).
    pub(crate) fn new(head: &Head, vars: &[Var], body: &Formula) -> Option<Self> {
        let mut flat = Vec::new();
        let mut bound: Vec<Var> = Vec::new();
        flatten(body, &mut flat, &mut bound);
        let order = order(vars, &bound, &flat);
        if order.len() > MAX_VARS {
            return None;
        }
        let mut query = Self {
            heads: vars.len(),
            total: order.len(),
            small: Vec::new(),
            pairs: Vec::new(),
            done: None,
            head_pair: false,
        };
        query.add_head(head, &order)?;
        for f in &flat {
            let part = part(f, &order)?;
            if part.vars.len() == 2 {
                query.pairs.push(part);
            } else {
                query.small.push(part);
            }
        }
        let dear = |p: &Part| matches!(p.source, Source::Formula(_));
        query.small.sort_by_key(dear);
        query.pairs[usize::from(query.head_pair)..].sort_by_key(dear);
        Some(query)
    }

    fn add_head(&mut self, head: &Head, order: &[Var]) -> Option<()> {
        let literal = match head {
            Head::Atom(p, args, positive) => {
                let atom = Formula::Atom(*p, args.clone());
                if *positive { atom } else { atom.not() }
            }
            Head::Eq(a, b, _) if a == b => return None,
            Head::Eq(a, b, positive) => {
                let eq = Formula::Eq(*a, *b);
                if *positive { eq } else { eq.not() }
            }
            Head::False => return Some(()),
        };
        let part = part(&literal, order)?;
        if part.vars.len() == 2 {
            self.pairs.push(part);
            self.head_pair = true;
        } else {
            self.done = Some(part);
        }
        Some(())
    }

    /// Calls `see` with every tuple of the head's variables for which the body is 1 and the
    /// head is not, in increasing order.
    pub(crate) fn each(&self, voc: &Vocabulary, s: &Structure, see: &mut impl FnMut(&[usize])) {
        let n = s.len();
        let mut candidates = [s.universe(); MAX_VARS];
        candidates[self.heads..].fill(s.active(voc));
        if let Some(done) = &self.done {
            let word = done.word(voc, s);
            match done.vars.first() {
                None if word != 0 => return,
                None => {}
                Some(v) => candidates[*v] &= !word,
            }
        }
        for part in &self.small {
            let word = part.word(voc, s);
            match part.vars.first() {
                None if word == 0 => return,
                None => {}
                Some(v) => candidates[*v] &= word,
            }
            if part.vars.first().is_some_and(|v| candidates[*v] == 0) {
                return;
            }
        }
        if candidates[..self.total].contains(&0) {
            return;
        }
        let needed = self.pairs.len() * n;
        let mut few = [0u64; 64];
        let mut many;
        let rows: &mut [u64] = if needed <= few.len() {
            &mut few[..needed]
        } else {
            many = vec![0u64; needed];
            &mut many
        };
        for (i, part) in self.pairs.iter().enumerate() {
            let rows = &mut rows[i * n..(i + 1) * n];
            let invert = i == 0 && self.head_pair;
            let (a, b) = (part.vars[0], part.vars[1]);
            if !part.fill(voc, s, rows, invert, candidates[a], candidates[b]) {
                return;
            }
        }
        let run = Run {
            query: self,
            rows,
            n,
        };
        run.bind(0, &candidates, &mut [0; MAX_VARS], see);
    }
}

/// The conjuncts of a body; outer existential quantifiers are dropped, their variables noted.
fn flatten(f: &Formula, out: &mut Vec<Formula>, bound: &mut Vec<Var>) {
    match f {
        Formula::And(parts) => parts.iter().for_each(|p| flatten(p, out, bound)),
        Formula::Exists(v, body) => {
            bound.push(*v);
            flatten(body, out, bound);
        }
        Formula::Value(_)
        | Formula::Eq(..)
        | Formula::Atom(..)
        | Formula::Not(_)
        | Formula::Or(_)
        | Formula::Ite(..)
        | Formula::Forall(..)
        | Formula::Tc(_) => out.push(f.clone()),
    }
}

/// The head's variables, then the existential ones: next the one with most parts towards those
/// already there.
fn order(heads: &[Var], bound: &[Var], parts: &[Formula]) -> Vec<Var> {
    let mut order = heads.to_vec();
    let mut rest = bound.to_vec();
    while !rest.is_empty() {
        let links = |v: Var| {
            let free = parts.iter().map(Formula::free_vars);
            free.filter(|f| f.contains(&v) && f.iter().any(|w| order.contains(w)))
                .count()
        };
        let best = (0..rest.len())
            .max_by_key(|i| (links(rest[*i]), std::cmp::Reverse(*i)))
            .expect("not empty");
        let v = rest.remove(best);
        order.push(v);
    }
    order
}

fn part(f: &Formula, order: &[Var]) -> Option<Part> {
    let place = |v: &Var| order.iter().position(|w| w == v);
    let mut vars: Vec<usize> = f.free_vars().iter().map(place).collect::<Option<_>>()?;
    vars.sort_unstable();
    if vars.len() > 2 {
        return None;
    }
    let (literal, positive) = match f {
        Formula::Not(inner) => (&**inner, false),
        other => (other, true),
    };
    let source = match literal {
        Formula::Atom(predicate, args) if args.len() == vars.len() => Source::Atom {
            predicate: *predicate,
            positive,
            flipped: args.len() == 2 && place(&args[0])? > place(&args[1])?,
        },
        Formula::Eq(..) if vars.len() == 2 => Source::Eq(positive),
        _ => {
            let free: Vec<Var> = vars.iter().map(|i| order[*i]).collect();
            Source::Formula(Plan::new(f, &free, &[])?)
        }
    };
    Some(Part { vars, source })
}

impl Part {
    /// The objects (or, without variables, the one bit) for which a part of at most one
    /// variable is 1.
    fn word(&self, voc: &Vocabulary, s: &Structure) -> u64 {
        match &self.source {
            Source::Atom {
                predicate,
                positive,
                ..
            } => {
                let (may, must) = s.word(voc, *predicate);
                let full = if self.vars.is_empty() {
                    1
                } else {
                    s.universe()
                };
                if *positive { must } else { !may & full }
            }
            Source::Eq(_) => unreachable!("an equality has two variables"),
            Source::Formula(plan) => plan.eval(voc, s, &[]).must[0],
        }
    }

    /// Fills the rows of a part of two variables: for each candidate of the earlier variable
    /// the candidates of the later one for which it is 1, or (inverted) is not. Returns whether
    /// there are any.
    fn fill(
        &self,
        voc: &Vocabulary,
        s: &Structure,
        rows: &mut [u64],
        invert: bool,
        first: u64,
        second: u64,
    ) -> bool {
        let all = s.universe();
        match &self.source {
            Source::Atom {
                predicate,
                positive,
                flipped,
            } => {
                let (may, must) = s.planes(voc, *predicate);
                let plane = if *positive { must } else { may };
                for u in bits(first) {
                    let row = if *flipped { column(plane, u) } else { plane[u] };
                    rows[u] = if *positive { row } else { !row & all };
                }
            }
            Source::Eq(positive) => {
                let summary = s.summaries(voc);
                for u in bits(first) {
                    rows[u] = if *positive {
                        1 << u & !summary
                    } else {
                        !(1 << u) & all
                    };
                }
            }
            Source::Formula(plan) => rows.copy_from_slice(&plan.eval(voc, s, &[]).must),
        }
        let mut any = 0;
        for u in bits(first) {
            if invert {
                rows[u] = !rows[u];
            }
            rows[u] &= second;
            any |= rows[u];
        }
        any != 0
    }
}

/// A query under way.
struct Run<'a> {
    query: &'a Query,
    rows: &'a [u64],
    n: usize,
}

impl Run<'_> {
    /// Binds variable `k` and those after it; returns whether the existential ones can be.
    fn bind(
        &self,
        k: usize,
        candidates: &[u64; MAX_VARS],
        tuple: &mut [usize; MAX_VARS],
        see: &mut impl FnMut(&[usize]),
    ) -> bool {
        let q = self.query;
        if k == q.heads && !self.witness(k, candidates) {
            return false;
        }
        if k == q.heads {
            see(&tuple[..k]);
            return true;
        }
        for u in bits(candidates[k]) {
            tuple[k] = u;
            if let Some(next) = self.narrow(k, u, candidates) {
                self.bind(k + 1, &next, tuple, see);
            }
        }
        true
    }

    /// Whether the existential variables from `k` on have a value.
    fn witness(&self, k: usize, candidates: &[u64; MAX_VARS]) -> bool {
        if k + 1 >= self.query.total {
            return k == self.query.total || candidates[k] != 0;
        }
        bits(candidates[k]).any(|u| {
            self.narrow(k, u, candidates)
                .is_some_and(|next| self.witness(k + 1, &next))
        })
    }

    /// The candidates once variable `k` is `u`; `None` when a later variable has none left.
    fn narrow(&self, k: usize, u: usize, candidates: &[u64; MAX_VARS]) -> Option<[u64; MAX_VARS]> {
        let mut next = *candidates;
        for (i, part) in self.query.pairs.iter().enumerate() {
            if part.vars[0] == k {
                let word = &mut next[part.vars[1]];
                *word &= self.rows[i * self.n + u];
                if *word == 0 {
                    return None;
                }
            }
        }
        Some(next)
    }
}
