//! Consistency rules: what must hold in every structure that stands for a real state.
//!
//! Place: generated once per model, used by [`crate::coerce`]. Paper: [Friggens and Groves, arXiv
//! 2015] relies on the rules of Sagiv, Reps and Wilhelm (its reference 13, section
//! 6.4: compatibility constraints and their closure for extended Horn forms).
//!
//! Sources: rules written in the model, declared properties (unique, function, ...), and the
//! definitions of instrumentation predicates (phi implies p, and not phi implies not p).
//! Each source is brought to clauses: universal quantifiers are dropped, conjunctions split,
//! disjunctions distributed up to a limit; existential parts stay whole. Every literal of a
//! clause that is an atom or an equality gives one rule: the negation of the others implies
//! it. That is the closure under contraposition, all logically equivalent. Clauses of unary
//! literals over one variable are kept as they are (`clause`).

use crate::clause::Clause;
use crate::eval::Plan;
use crate::formula::{Formula, Var};
use crate::kleene::Kleene;
use crate::query::Query;
use crate::vocabulary::{PredId, Vocabulary};
use std::collections::BTreeSet;

/// Clauses that one source may give before distribution stops.
const MAX_CLAUSES: usize = 64;

/// What a rule concludes.
#[derive(Clone, Debug)]
pub(crate) enum Head {
    /// The predicate has this value.
    Atom(PredId, Vec<Var>, bool),
    /// The two are equal, or are not.
    Eq(Var, Var, bool),
    /// Contradiction.
    False,
}

/// A rule `body ==> head`, with the body's other variables existentially bound.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// The conclusion.
    pub head: Head,
    /// The body as a formula over the head's variables.
    pub body: Formula,
    /// The distinct variables of the head, in order.
    pub vars: Vec<Var>,
    pub(crate) body_plan: Plan,
    pub(crate) head_plan: Plan,
    /// The faster way, where the rule fits.
    pub(crate) query: Option<Query>,
    /// Predicates of the body and of the head.
    pub(crate) uses: Vec<PredId>,
    /// Whether it matters which objects there are.
    pub(crate) universe: bool,
    /// Whether it matters which objects are equal: which are summary objects.
    pub(crate) equality: bool,
    /// Where it comes from, for people.
    pub origin: String,
}

/// The kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Written with `%r`.
    Given,
    /// Implied by a declared property.
    Property,
    /// Implied by a definition.
    Definition,
}

/// A source formula: what always holds.
#[derive(Clone, Debug)]
pub struct Axiom {
    /// A formula that holds for all values of its free variables.
    pub formula: Formula,
    /// Those variables.
    pub vars: Vec<Var>,
    /// For people.
    pub origin: String,
    /// Its kind.
    pub source: Source,
}

impl Axiom {
    /// An axiom.
    pub fn new(formula: Formula, origin: String, source: Source) -> Self {
        Self {
            vars: formula.free_vars().into_iter().collect(),
            formula,
            origin,
            source,
        }
    }
}

/// Axioms from the declared properties of all predicates.
pub(crate) fn property_axioms(voc: &Vocabulary) -> Vec<Axiom> {
    let (a, b, c) = (Var(u32::MAX), Var(u32::MAX - 1), Var(u32::MAX - 2));
    let mut out = Vec::new();
    for p in voc.ids() {
        let pred = voc.get(p);
        let props = pred.properties;
        let mut push = |name: &str, formula: Formula| {
            let origin = format!("{} is {name}", pred.name);
            out.push(Axiom::new(formula, origin, Source::Property));
        };
        let at = |x: Var, y: Var| Formula::Atom(p, vec![x, y]);
        let implies = |body: Vec<Formula>, head: Formula| {
            Formula::or(body.into_iter().map(Formula::not).chain([head]))
        };
        if props.unique {
            let un = |x: Var| Formula::Atom(p, vec![x]);
            push("unique", implies(vec![un(a), un(b)], Formula::Eq(a, b)));
        }
        if props.function {
            push(
                "a function",
                implies(vec![at(a, b), at(a, c)], Formula::Eq(b, c)),
            );
        }
        if props.invfunction {
            push(
                "an inverse function",
                implies(vec![at(b, a), at(c, a)], Formula::Eq(b, c)),
            );
        }
        if props.symmetric {
            push("symmetric", implies(vec![at(a, b)], at(b, a)));
        }
        if props.antisymmetric {
            push(
                "antisymmetric",
                implies(vec![at(a, b), at(b, a)], Formula::Eq(a, b)),
            );
        }
        if props.reflexive {
            push("reflexive", at(a, a));
        }
        if props.antireflexive {
            push("antireflexive", at(a, a).not());
        }
        if props.transitive {
            push("transitive", implies(vec![at(a, b), at(b, c)], at(a, c)));
        }
    }
    out
}

/// Axioms from the definitions of instrumentation predicates.
pub(crate) fn definition_axioms(voc: &Vocabulary) -> Vec<Axiom> {
    let mut out = Vec::new();
    for p in voc.instrumentation() {
        let pred = voc.get(p);
        let def = pred.definition.as_ref().expect("filtered");
        let atom = Formula::Atom(p, def.args.clone());
        let origin = format!("the definition of {}", pred.name);
        for formula in [
            Formula::or([def.formula.clone().not(), atom.clone()]),
            Formula::or([def.formula.clone(), atom.not()]),
        ] {
            out.push(Axiom::new(formula, origin.clone(), Source::Definition));
        }
    }
    out
}

/// What coerce works with.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub(crate) rules: Vec<Rule>,
    pub(crate) clauses: Vec<Clause>,
}

/// Turns axioms into rules and clauses.
pub(crate) fn rules(axioms: &[Axiom]) -> Rules {
    let mut out = Rules::default();
    let mut known: BTreeSet<Vec<(PredId, bool)>> = BTreeSet::new();
    for axiom in axioms {
        let mut fresh = 1 << 30;
        let renamed = axiom.formula.rename_bound(&mut fresh);
        for literals in clauses(&renamed.nnf(true)) {
            match Clause::of(&literals, &axiom.origin) {
                Some(clause) => {
                    if !clause.is_trivial() && known.insert(clause.literals.clone()) {
                        out.clauses.push(clause);
                    }
                }
                None => rules_of_clause(&literals, axiom, &mut out.rules),
            }
        }
    }
    out
}

/// The clauses of a formula in negation normal form.
fn clauses(f: &Formula) -> Vec<Vec<Formula>> {
    match f {
        Formula::Value(Kleene::True) => vec![],
        Formula::Value(Kleene::False) => vec![vec![]],
        Formula::Forall(_, body) => clauses(body),
        Formula::And(parts) => parts.iter().flat_map(clauses).collect(),
        Formula::Or(parts) => {
            let mut acc: Vec<Vec<Formula>> = vec![vec![]];
            for part in parts {
                let options = clauses(part);
                if acc.len() * options.len() > MAX_CLAUSES {
                    // Keep the part whole: weaker closure, same meaning.
                    for c in &mut acc {
                        c.push(part.clone());
                    }
                    continue;
                }
                acc = acc
                    .iter()
                    .flat_map(|c| {
                        options.iter().map(move |o| {
                            let mut joined = c.clone();
                            joined.extend(o.iter().cloned());
                            joined
                        })
                    })
                    .collect();
            }
            acc
        }
        Formula::Value(Kleene::Half)
        | Formula::Eq(..)
        | Formula::Atom(..)
        | Formula::Not(_)
        | Formula::Ite(..)
        | Formula::Exists(..)
        | Formula::Tc(_) => vec![vec![f.clone()]],
    }
}

fn head_of(literal: &Formula) -> Option<Head> {
    let (formula, positive) = literal.unsigned();
    match formula {
        Formula::Atom(p, args) => Some(Head::Atom(*p, args.clone(), positive)),
        Formula::Eq(a, b) => Some(Head::Eq(*a, *b, positive)),
        Formula::Value(_)
        | Formula::Not(_)
        | Formula::And(_)
        | Formula::Or(_)
        | Formula::Ite(..)
        | Formula::Exists(..)
        | Formula::Forall(..)
        | Formula::Tc(_) => None,
    }
}

fn rules_of_clause(clause: &[Formula], axiom: &Axiom, out: &mut Vec<Rule>) {
    let mut any = false;
    for (i, literal) in clause.iter().enumerate() {
        // `sm` and `ac` cannot be concluded; they are bookkeeping of the abstraction.
        let Some(head) = head_of(literal) else {
            continue;
        };
        if matches!(&head, Head::Atom(p, ..) if *p == PredId::SM || *p == PredId::AC) {
            continue;
        }
        let others = clause
            .iter()
            .enumerate()
            .filter(|(j, _)| *j != i)
            .map(|(_, f)| f);
        if let Some(rule) = rule(head, others, axiom) {
            any = true;
            out.push(rule);
        }
    }
    if !any {
        out.extend(rule(Head::False, clause.iter(), axiom));
    }
}

fn rule<'a>(head: Head, others: impl Iterator<Item = &'a Formula>, axiom: &Axiom) -> Option<Rule> {
    let mut vars: Vec<Var> = Vec::new();
    let head_formula = match &head {
        Head::Atom(p, args, positive) => {
            for v in args {
                if !vars.contains(v) {
                    vars.push(*v);
                }
            }
            let atom = Formula::Atom(*p, args.clone());
            if *positive { atom } else { atom.not() }
        }
        Head::Eq(a, b, positive) => {
            vars.push(*a);
            if b != a {
                vars.push(*b);
            }
            let eq = Formula::Eq(*a, *b);
            if *positive { eq } else { eq.not() }
        }
        Head::False => Formula::FALSE,
    };
    let mut body: Vec<Formula> = others.map(|f| f.nnf(false)).collect();
    body.sort_by_key(cost);
    let body = Formula::and(body);
    let rest: Vec<Var> = body
        .free_vars()
        .into_iter()
        .filter(|v| !vars.contains(v))
        .collect();
    let body = place_quantifiers(&rest, body);
    let mut uses = Vec::new();
    body.each_predicate(&mut |p| uses.push(p));
    head_formula.each_predicate(&mut |p| uses.push(p));
    uses.sort_unstable();
    uses.dedup();
    Some(Rule {
        universe: body.depends_on_universe() || matches!(head, Head::Eq(..)),
        equality: uses_equality(&body) || matches!(head, Head::Eq(..)),
        body_plan: Plan::new(&body, &vars, &[])?,
        head_plan: Plan::new(&head_formula, &vars, &[])?,
        query: Query::new(&head, &vars, &body),
        body,
        head,
        vars,
        uses,
        origin: axiom.origin.clone(),
    })
}

/// Whether a formula compares objects, or asks which are summary objects.
fn uses_equality(f: &Formula) -> bool {
    match f {
        Formula::Value(_) => false,
        Formula::Atom(p, _) => *p == PredId::SM || *p == PredId::AC,
        Formula::Eq(..) => true,
        Formula::Not(f) | Formula::Exists(_, f) | Formula::Forall(_, f) => uses_equality(f),
        Formula::And(fs) | Formula::Or(fs) => fs.iter().any(uses_equality),
        Formula::Ite(c, a, b) => [c, a, b].iter().any(|f| uses_equality(f)),
        Formula::Tc(tc) => uses_equality(&tc.body),
    }
}

/// Calls `see` with every predicate of a formula and its sign: whether the formula can become 1
/// only as the predicate does, or as its negation does. Under the condition of a conditional
/// it has both.
pub(crate) fn signs(f: &Formula, positive: bool, see: &mut impl FnMut(PredId, bool)) {
    match f {
        Formula::Value(_) | Formula::Eq(..) => {}
        Formula::Atom(p, _) => see(*p, positive),
        Formula::Not(f) => signs(f, !positive, see),
        Formula::And(fs) | Formula::Or(fs) => fs.iter().for_each(|f| signs(f, positive, see)),
        Formula::Ite(c, a, b) => {
            signs(c, positive, see);
            signs(c, !positive, see);
            signs(a, positive, see);
            signs(b, positive, see);
        }
        Formula::Exists(_, f) | Formula::Forall(_, f) => signs(f, positive, see),
        Formula::Tc(tc) => signs(&tc.body, positive, see),
    }
}

/// Existentially closes a conjunction over `vars`, each quantifier around only the parts that
/// mention its variable: fewer variables alive at once.
fn place_quantifiers(vars: &[Var], body: Formula) -> Formula {
    let Formula::And(mut parts) = body else {
        return Formula::exists(vars, body);
    };
    for v in vars {
        let (with, without): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|f| f.free_vars().contains(v));
        parts = without;
        parts.push(Formula::Exists(*v, Box::new(Formula::and(with))));
    }
    parts.sort_by_key(cost);
    Formula::and(parts)
}

/// Cheap and selective parts first.
fn cost(f: &Formula) -> usize {
    match f {
        Formula::Value(_) => 0,
        Formula::Atom(_, args) => 1 + 2 * args.len(),
        Formula::Eq(..) => 6,
        Formula::Not(inner) => 2 + cost(inner),
        Formula::And(fs) | Formula::Or(fs) => 3 + fs.iter().map(cost).sum::<usize>(),
        Formula::Ite(c, a, b) => 3 + cost(c) + cost(a) + cost(b),
        Formula::Exists(_, f) | Formula::Forall(_, f) => 10 + cost(f),
        Formula::Tc(tc) => 100 + cost(&tc.body),
    }
}
