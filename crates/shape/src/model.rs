//! Model: a program ready for analysis.
//!
//! Place: what the front end yields and the engine reads. A sequential program (TVP) has a
//! control flow graph; a concurrent one (TVM) has a single location, the state space, and
//! every step of every thread is an edge from it to itself, the thread's place being kept by
//! the predicates `at[label]` ([Friggens and Groves, arXiv 2015, section 1.1]).

use crate::action::Action;
use crate::coerce::RuleSet;
use crate::formula::Formula;
use crate::rules::{Axiom, rules};
use crate::update::Instrumentation;
use crate::vocabulary::Vocabulary;

/// An edge of the control flow graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// From this location.
    pub source: usize,
    /// To this one.
    pub target: usize,
    /// By this action.
    pub action: usize,
}

/// A model.
#[derive(Clone, Debug)]
pub struct Model {
    /// The predicates.
    pub vocabulary: Vocabulary,
    /// The consistency rules.
    pub rules: RuleSet,
    /// What the rules were made of.
    pub axioms: Vec<Axiom>,
    /// Compiled definitions.
    pub instrumentation: Instrumentation,
    /// Labels of the locations; the first is the entry.
    pub locations: Vec<String>,
    /// Which locations the model asks to print; empty means all.
    pub printed: Vec<String>,
    /// The edges.
    pub edges: Vec<Edge>,
    /// The actions, one per edge use.
    pub actions: Vec<Action>,
    /// Whether this is a concurrent model, explored as one set of states.
    pub concurrent: bool,
    /// Names of logical variables by number, for printing formulas.
    pub variables: Vec<String>,
    /// For every thread its entry label (tvm).
    pub threads: Vec<(String, String)>,
    /// What the text says that has no meaning here, with where.
    pub ignored: Vec<String>,
}

impl Model {
    /// The edges that leave a location.
    pub fn leaving(&self, location: usize) -> impl Iterator<Item = (usize, &Edge)> {
        self.edges
            .iter()
            .enumerate()
            .filter(move |(_, e)| e.source == location)
    }

    /// Most variables that a formula of the model has a value for at once, those of closures
    /// aside.
    pub(crate) fn nesting(&self) -> usize {
        let definitions = self.vocabulary.ids().filter_map(|p| {
            let definition = self.vocabulary.get(p).definition.as_ref()?;
            Some(definition.args.len() + definition.formula.nesting())
        });
        let axioms = self
            .axioms
            .iter()
            .map(|a| a.vars.len() + a.formula.nesting());
        // Only the precondition is evaluated for all bindings; the rest where it may hold.
        let actions = self.actions.iter().map(|a| {
            let messages = a.messages.iter().chain(&a.post_messages);
            let conditions = messages.map(|m| m.formula.nesting());
            let updates = a.updates.iter().map(|u| u.args.len() + u.formula.nesting());
            let precondition = a.precondition.iter().map(Formula::nesting);
            let precondition = precondition.map(|depth| a.bindings.len() + depth);
            let all = conditions.chain(updates).chain(precondition);
            all.max().unwrap_or(0)
        });
        let all = definitions.chain(axioms).chain(actions);
        all.max().unwrap_or(0)
    }

    /// The model without some of its axioms, given by index.
    #[must_use]
    pub(crate) fn without(&self, axioms: &[usize]) -> Self {
        let kept = self.axioms.iter().enumerate();
        let kept: Vec<Axiom> = kept
            .filter(|(i, _)| !axioms.contains(i))
            .map(|(_, axiom)| axiom.clone())
            .collect();
        Self {
            rules: RuleSet::new(&self.vocabulary, rules(&kept)),
            axioms: kept,
            ..self.clone()
        }
    }

    /// Locations in reverse post-order from the entry, then the unreachable ones.
    pub fn reverse_post_order(&self) -> Vec<usize> {
        let n = self.locations.len();
        let mut seen = vec![false; n];
        let mut post = Vec::with_capacity(n);
        for root in 0..n {
            if seen[root] {
                continue;
            }
            if root > 0 {
                // Unreachable locations come last: they never hold structures.
                continue;
            }
            seen[root] = true;
            let mut stack: Vec<(usize, Vec<usize>)> = vec![(root, self.targets(root))];
            while let Some((at, rest)) = stack.last_mut() {
                match rest.pop() {
                    Some(t) if !seen[t] => {
                        seen[t] = true;
                        let next = self.targets(t);
                        stack.push((t, next));
                    }
                    Some(_) => {}
                    None => {
                        post.push(*at);
                        stack.pop();
                    }
                }
            }
        }
        post.reverse();
        post.extend((0..n).filter(|l| !seen[*l]));
        post
    }

    /// Targets, last edge first, so that popping visits them in order.
    fn targets(&self, location: usize) -> Vec<usize> {
        let mut out: Vec<usize> = self.leaving(location).map(|(_, e)| e.target).collect();
        out.reverse();
        out
    }
}
