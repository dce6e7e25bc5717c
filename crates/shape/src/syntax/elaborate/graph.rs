//! The graph of a program: locations, edges, and the model built of all parts.
//!
//! Place: last part of elaboration.

use super::actions::Extra;
use super::{Elaborator, Env};
use crate::action::{Action, Message};
use crate::coerce::RuleSet;
use crate::eval::Plan;
use crate::kleene::Kleene;
use crate::model::{Edge, Model};
use crate::rules::{definition_axioms, property_axioms, rules};
use crate::syntax::Span;
use crate::syntax::ast::{ActionBody, ActionMacro, EdgeAction, EdgeAst, Name, ProgramAst};
use crate::update::Instrumentation;

impl Elaborator<'_> {
    pub(super) fn find_action<'m>(
        &mut self,
        actions: &'m [ActionMacro],
        name: &str,
        args: &[Name],
        span: Span,
    ) -> Option<(&'m ActionMacro, Env)> {
        let Some(found) = actions.iter().find(|a| a.name == name) else {
            self.errors.error(
                span,
                format!("the action `{name}` is not defined"),
                "define it with %action in the second section",
            );
            return None;
        };
        if found.args.len() != args.len() {
            self.errors.error(
                span,
                format!(
                    "`{name}` takes {} arguments, not {}",
                    found.args.len(),
                    args.len()
                ),
                "check the definition of the action",
            );
            return None;
        }
        let env = found
            .args
            .iter()
            .cloned()
            .zip(args.iter().cloned())
            .collect();
        Some((found, env))
    }

    pub(super) fn finish(
        mut self,
        locations: Vec<String>,
        edges: Vec<Edge>,
        actions: Vec<Action>,
        concurrent: bool,
        printed: Vec<String>,
    ) -> Option<Model> {
        let mut axioms = property_axioms(&self.voc);
        axioms.extend(definition_axioms(&self.voc));
        axioms.append(&mut self.axioms);
        let Some(instrumentation) = Instrumentation::new(&self.voc) else {
            self.too_complex(Span::default());
            return None;
        };
        Some(Model {
            rules: RuleSet::new(&self.voc, rules(&axioms)),
            axioms,
            instrumentation,
            vocabulary: self.voc,
            locations,
            printed,
            edges,
            actions,
            concurrent,
            variables: self.var_names,
            threads: Vec::new(),
            ignored: Vec::new(),
        })
    }

    pub(super) fn sequential(mut self, ast: &ProgramAst) -> Option<Model> {
        if ast.edges.is_empty() {
            self.errors.error(
                Span::default(),
                "the program has no edges",
                "the third section lists `label action(args) label`",
            );
            return None;
        }
        let mut locations: Vec<String> = Vec::new();
        let mut place = |label: &String| {
            locations
                .iter()
                .position(|l| l == label)
                .unwrap_or_else(|| {
                    locations.push(label.clone());
                    locations.len() - 1
                })
        };
        let mut edges = Vec::new();
        for (i, e) in ast.edges.iter().enumerate() {
            edges.push(Edge {
                source: place(&e.source),
                target: place(&e.target),
                action: i,
            });
        }
        let mut actions = Vec::new();
        for e in &ast.edges {
            let made = self.edge_action(ast, e, |_, _| Extra::default());
            actions.extend(made);
        }
        if actions.len() != edges.len() {
            return None;
        }
        self.finish(locations, edges, actions, false, ast.printed.clone())
    }

    pub(super) fn edge_action(
        &mut self,
        ast: &ProgramAst,
        e: &EdgeAst,
        extra: impl FnOnce(&mut Self, &ActionBody) -> Extra,
    ) -> Option<Action> {
        match &e.action {
            EdgeAction::Call(name, args) => {
                let (found, env) = self.find_action(&ast.actions, name, args, e.span)?;
                self.used = Some(e.span);
                let mut extra = extra(self, &found.body);
                extra.name = format!(
                    "{name}({})",
                    args.iter()
                        .map(Name::to_string)
                        .collect::<Vec<_>>()
                        .join(", ")
                );
                let action = self.action(&found.body, &env, extra, e.span);
                self.used = None;
                action
            }
            EdgeAction::Assert(f, hard) => {
                let body = ActionBody::default();
                let mut extra = extra(self, &body);
                "assert".clone_into(&mut extra.name);
                let tr = self.var("tr");
                let formula = self.formula(f, &Env::new())?.not();
                let open = formula.free_vars().iter().any(|v| *v != tr);
                let plan = (!open).then(|| Plan::new(&formula, &[], &[tr])).flatten();
                let Some(plan) = plan else {
                    self.errors.error(
                        e.span,
                        "the assertion has free variables besides `tr`",
                        "bind them with E or A",
                    );
                    return None;
                };
                extra.messages.push(Message {
                    formula,
                    plan,
                    text: "assertion violated".to_owned(),
                    only: (!hard).then_some(Kleene::True),
                    span: e.span,
                });
                self.action(&body, &Env::new(), extra, e.span)
            }
        }
    }
}
