//! Actions of a program: clauses with arguments replaced, compiled.
//!
//! Place: part of elaboration; one [`Action`] for every edge.

use super::threads::Schedule;
use super::{Elaborator, Env};
use crate::action::{Action, Creation, Message, Unary, Update};
use crate::bindings::Bindings;
use crate::eval::Plan;
use crate::focus::FocusPlan;
use crate::formula::{Formula, Var};
use crate::kleene::Kleene;
use crate::syntax::Span;
use crate::syntax::ast::{ActionBody, FocusItem, FormulaAst, MessageAst, UpdateItem};
use crate::syntax::parser::{Failed, Parsed};
use crate::vocabulary::PredId;

/// A predicate, its arguments, its new value.
pub(super) type Assigned = (PredId, Vec<Var>, Formula, Span);

/// Parts of an action that do not come from its text.
#[derive(Default)]
pub(super) struct Extra {
    pub(super) name: String,
    pub(super) focus: Vec<Formula>,
    pub(super) precondition: Vec<Formula>,
    pub(super) messages: Vec<Message>,
    pub(super) updates: Vec<Assigned>,
    pub(super) schedule: Option<Schedule>,
}

impl Elaborator<'_> {
    pub(super) fn focus_items(
        &mut self,
        items: &[FocusItem],
        env: &Env,
        out: &mut Vec<Formula>,
    ) -> Option<()> {
        for item in items {
            match item {
                FocusItem::Formula(f, _) => out.push(self.formula(f, env)?),
                FocusItem::Foreach(var, set, inner) => {
                    for member in self.set(set, env)? {
                        if !self.expand(Span::default()) {
                            return None;
                        }
                        let mut env = env.clone();
                        env.push((var.clone(), member));
                        self.focus_items(inner, &env, out)?;
                    }
                }
            }
        }
        Some(())
    }

    pub(super) fn updates(
        &mut self,
        items: &[UpdateItem],
        env: &Env,
        out: &mut Vec<Assigned>,
    ) -> Option<()> {
        for item in items {
            match item {
                UpdateItem::Update(_, _, _, true, _) => {}
                UpdateItem::Update(name, args, f, false, span) => {
                    let p = self.predicate(name, env, *span)?;
                    let vars: Vec<Var> = args.iter().map(|a| self.var(a)).collect();
                    let arity = self.voc.get(p).arity;
                    let mut distinct = vars.clone();
                    distinct.sort_unstable();
                    distinct.dedup();
                    if arity != vars.len() || distinct.len() != arity {
                        self.errors.error(
                            *span,
                            format!(
                                "the update of `{}` needs {arity} different variables",
                                self.voc.get(p).name
                            ),
                            "check the declaration",
                        );
                        return None;
                    }
                    if p == PredId::SM || p == PredId::AC {
                        self.errors.error(
                            *span,
                            "`sm` and `ac` cannot be updated",
                            "use %new, %clone and %retain",
                        );
                        return None;
                    }
                    let f = self.formula(f, env)?;
                    // As in TVLA, a later update of the same predicate replaces an earlier one.
                    out.retain(|(q, ..)| *q != p);
                    out.push((p, vars, f, *span));
                }
                UpdateItem::Foreach(var, set, inner) => {
                    for member in self.set(set, env)? {
                        if !self.expand(Span::default()) {
                            return None;
                        }
                        let mut env = env.clone();
                        env.push((var.clone(), member));
                        self.updates(inner, &env, out)?;
                    }
                }
            }
        }
        Some(())
    }

    pub(super) fn messages(
        &mut self,
        list: &[(MessageAst, Env)],
        bindings: &[Var],
        after: bool,
    ) -> Option<Vec<Message>> {
        let mut out = Vec::new();
        for (m, env) in list {
            let mut formula = self.formula(&m.formula, env)?;
            let free: Vec<Var> = formula.free_vars().into_iter().collect();
            if after {
                // The precondition's objects are gone after the blur: any objects will do.
                formula = Formula::exists(&free, formula);
            } else if let Some(v) = free.iter().find(|v| !bindings.contains(v)) {
                let name = self.var_names[v.0 as usize].clone();
                self.errors.error(
                    m.span,
                    format!("the message's condition has the free variable `{name}`"),
                    "bind it with E or A, or in the precondition; E(v) reaches to the end",
                );
                return None;
            }
            let text = Self::text(&m.text, env);
            let only = if text.starts_with("1:") {
                Some(Kleene::True)
            } else if text.starts_with("0:") {
                Some(Kleene::False)
            } else {
                None
            };
            let fixed = if after { &[][..] } else { bindings };
            let Some(plan) = Plan::new(&formula, &[], fixed) else {
                self.too_complex(m.span);
                return None;
            };
            out.push(Message {
                formula,
                plan,
                text,
                only,
                span: m.span,
            });
        }
        Some(out)
    }

    /// A formula with one free variable besides the bindings.
    pub(super) fn unary(
        &mut self,
        f: &FormulaAst,
        env: &Env,
        bindings: &[Var],
        what: &str,
        span: Span,
    ) -> Option<Unary> {
        let formula = self.formula(f, env)?;
        let free: Vec<Var> = formula
            .free_vars()
            .into_iter()
            .filter(|v| !bindings.contains(v))
            .collect();
        let [var] = free[..] else {
            self.errors.error(
                span,
                format!("the formula of {what} must have exactly one free variable"),
                "it says which objects are meant",
            );
            return None;
        };
        let Some(plan) = Plan::new(&formula, &[var], bindings) else {
            self.too_complex(span);
            return None;
        };
        Some(Unary { var, formula, plan })
    }

    /// Compiles an action; `extra` are scheduling parts of concurrent models.
    pub(super) fn action(
        &mut self,
        body: &ActionBody,
        env: &Env,
        extra: Extra,
        span: Span,
    ) -> Option<Action> {
        let mut focus = extra.focus;
        self.focus_items(&body.focus, env, &mut focus)?;
        for (item, env) in self.global_focus.clone() {
            self.focus_items(&[item], &env, &mut focus)?;
        }
        let mut parts = extra.precondition;
        if let Some(f) = &body.precondition {
            parts.push(self.formula(f, env)?);
        }
        let precondition = (!parts.is_empty()).then(|| Formula::and(parts));
        let bindings: Vec<Var> = precondition
            .as_ref()
            .map(|f| f.free_vars().into_iter().collect())
            .unwrap_or_default();
        let mut focus_plans = Vec::new();
        for f in &focus {
            let Some(plan) = FocusPlan::new(&self.voc, f) else {
                self.too_complex(span);
                return None;
            };
            focus_plans.push(plan);
        }
        let with_env = |list: &[MessageAst]| -> Vec<(MessageAst, Env)> {
            list.iter().map(|m| (m.clone(), env.clone())).collect()
        };
        let before = [with_env(&body.messages), self.global_messages.clone()].concat();
        let mut messages = self.messages(&before, &bindings, false)?;
        messages.extend(extra.messages);
        let post_messages = self.messages(&with_env(&body.post_messages), &bindings, true)?;
        let create = self.creation(body, env, &bindings, span).ok()?;
        let cloned = match &body.cloned {
            None => None,
            Some(None) => {
                self.errors
                    .error(span, "%clone needs a formula", "say which objects to clone");
                return None;
            }
            Some(Some(f)) => Some(self.unary(f, env, &bindings, "%clone", span)?),
        };
        let retain = match &body.retain {
            None => None,
            Some(f) => Some(self.unary(f, env, &bindings, "%retain", span)?),
        };
        let mut list = extra.updates;
        self.updates(&body.updates, env, &mut list)?;
        if let Some(schedule) = extra.schedule {
            schedule.add(self, body, env, &mut list)?;
        }
        let mut updates = Vec::new();
        for (p, args, f, at) in list {
            updates.push(self.update(p, args, f, &bindings, at)?);
        }
        let halt = match &body.halt {
            None => None,
            Some(f) => {
                let f = match f {
                    None => Formula::TRUE,
                    Some(f) => self.formula(f, env)?,
                };
                let open = f.free_vars().iter().any(|v| !bindings.contains(v));
                let plan = (!open).then(|| Plan::new(&f, &[], &bindings)).flatten();
                let Some(plan) = plan else {
                    self.errors.error(
                        span,
                        "the %halt condition has free variables that the precondition does not bind",
                        "bind them with E or A",
                    );
                    return None;
                };
                Some((f, plan))
            }
        };
        let precondition_plan = match &precondition {
            None => None,
            Some(f) => {
                let plan = Plan::new(f, &bindings, &[]);
                if plan.is_none() {
                    self.too_complex(span);
                    return None;
                }
                plan
            }
        };
        let title = Self::text(&body.title, env);
        Some(Action {
            title: if title.is_empty() { extra.name } else { title },
            focus,
            focus_plans,
            binder: precondition
                .as_ref()
                .and_then(|f| Bindings::new(f, &bindings)),
            bindings,
            precondition,
            precondition_plan,
            messages,
            create,
            cloned,
            updates,
            retain,
            post_messages,
            halt,
            span,
        })
    }

    pub(super) fn creation(
        &mut self,
        body: &ActionBody,
        env: &Env,
        bindings: &[Var],
        span: Span,
    ) -> Parsed<Option<Creation>> {
        Ok(match &body.create {
            None => body.new_thread.as_ref().map(|_| Creation::One),
            Some(_) if body.new_thread.is_some() => {
                self.errors
                    .error(span, "%new and %newthread in one action", "use two actions");
                return Err(Failed);
            }
            Some(None | Some(FormulaAst::Value(Kleene::True))) => Some(Creation::One),
            Some(Some(f)) => {
                let u = self.unary(f, env, bindings, "%new", span).ok_or(Failed)?;
                Some(Creation::Each(u.var, u.formula, u.plan))
            }
        })
    }

    pub(super) fn update(
        &mut self,
        p: PredId,
        args: Vec<Var>,
        f: Formula,
        bindings: &[Var],
        span: Span,
    ) -> Option<Update> {
        let name = self.voc.get(p).name.clone();
        if let Some(v) = args.iter().find(|v| bindings.contains(v)) {
            let var = self.var_names[v.0 as usize].clone();
            self.errors.error(
                span,
                format!("the update of `{name}` uses `{var}`, which the precondition binds, as an argument"),
                "rename one of the two variables",
            );
            return None;
        }
        if let Some(v) = f
            .free_vars()
            .iter()
            .find(|v| !args.contains(v) && !bindings.contains(v))
        {
            let var = self.var_names[v.0 as usize].clone();
            self.errors.error(
                span,
                format!("the update of `{name}` has the free variable `{var}`"),
                "bind it with E or A, in the precondition, or make it an argument",
            );
            return None;
        }
        let update = Update::new(p, args, f, bindings, span);
        if update.is_none() {
            self.too_complex(span);
        }
        update
    }
}
