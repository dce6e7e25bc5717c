//! Elaboration: names, sets, `foreach` and action arguments resolved; a [`Model`] built.
//!
//! Place: last step of the front end. Every edge gets its own action, with the arguments
//! replaced (as predicate names, textually, also inside brackets). For concurrent models each
//! label gives a predicate `at[label]`, and the scheduling parts are added to each action: the
//! scheduled thread `tr` is runnable and at the source; afterwards it is at the target, and,
//! unless an atomic block goes on, every ready thread may run next.

use super::ast::{
    ActionBody, ActionMacro, Decl, EdgeAction, EdgeAst, FocusItem, FormulaAst, MessageAst, Name,
    Piece, PredicateDecl, ProgramAst, SetExpr, UpdateItem,
};
use super::{Diagnostics, Span};
use crate::action::{Action, Creation, Message, Unary, Update};
use crate::coerce::RuleSet;
use crate::eval::Plan;
use crate::focus::FocusPlan;
use crate::formula::{Closure, Formula, Var};
use crate::kleene::Kleene;
use crate::model::{Edge, Model};
use crate::rules::{Axiom, Source, definition_axioms, property_axioms, rules};
use crate::update::Instrumentation;
use crate::vocabulary::{Definition, PredId, Properties, Vocabulary};
use rustc_hash::FxHashMap;

/// Most members that one set may have, and most declarations a `foreach` may give.
const MAX_EXPANSION: usize = 100_000;

/// What names stand for: action arguments and `foreach` variables.
type Env = Vec<(String, Name)>;

pub(crate) struct Elaborator<'a> {
    pub(crate) voc: Vocabulary,
    vars: FxHashMap<String, Var>,
    var_names: Vec<String>,
    sets: FxHashMap<String, Vec<Name>>,
    axioms: Vec<Axiom>,
    global_focus: Vec<(FocusItem, Env)>,
    global_messages: Vec<(MessageAst, Env)>,
    expansions: usize,
    pub(crate) errors: &'a mut Diagnostics,
}

/// Builds a model. Errors go to `errors`; the result is `None` when there are any.
pub fn elaborate(
    ast: &ProgramAst,
    concurrent: bool,
    errors: &mut Diagnostics,
) -> Option<Model> {
    let before = errors.errors.len();
    let mut e = Elaborator {
        voc: Vocabulary::new(),
        vars: FxHashMap::default(),
        var_names: Vec::new(),
        sets: FxHashMap::default(),
        axioms: Vec::new(),
        global_focus: Vec::new(),
        global_messages: Vec::new(),
        expansions: 0,
        errors,
    };
    e.built_in(ast, concurrent);
    e.decls(&ast.decls, &Env::new());
    if e.errors.errors.len() > before {
        return None;
    }
    let model = if concurrent {
        e.concurrent(ast)
    } else {
        e.sequential(ast)
    };
    model.filter(|_| errors.errors.len() == before)
}

/// Whether any part of the program text mentions a plain name.
fn mentions(ast: &ProgramAst, name: &str) -> bool {
    format!("{:?}", (&ast.decls, &ast.actions)).contains(&format!("id: \"{name}\""))
}

impl Elaborator<'_> {
    fn built_in(&mut self, ast: &ProgramAst, concurrent: bool) {
        let none = Properties::default();
        if concurrent || mentions(ast, "isNew") {
            self.voc.add("isNew", 1, false, none);
        }
        if mentions(ast, "instance") {
            self.voc.add("instance", 2, false, none);
        }
        if concurrent || mentions(ast, "isthread") {
            self.voc.add("isthread", 1, true, none);
        }
        if concurrent || mentions(ast, "ready") {
            self.voc.add("ready", 1, true, none);
        }
        if concurrent || mentions(ast, "runnable") {
            let unique = Properties {
                unique: true,
                ..none
            };
            self.voc.add("runnable", 1, false, unique);
        }
        if !concurrent {
            return;
        }
        let mut labels: Vec<Name> = Vec::new();
        for e in ast.threads.iter().flat_map(|t| &t.edges) {
            for label in [&e.source, &e.target] {
                if !labels.iter().any(|l| l.id == *label) {
                    labels.push(Name::plain(label));
                }
            }
        }
        for l in &labels {
            self.voc.add(&format!("at[{l}]"), 1, true, none);
        }
        self.sets.insert("Labels".to_owned(), labels);
    }

    pub(crate) fn var(&mut self, name: &str) -> Var {
        if let Some(v) = self.vars.get(name) {
            return *v;
        }
        let v = Var(self.var_names.len() as u32);
        self.var_names.push(name.to_owned());
        self.vars.insert(name.to_owned(), v);
        v
    }

    fn resolve(name: &Name, env: &Env) -> Name {
        let params: Vec<Name> = name.params.iter().map(|p| Self::resolve(p, env)).collect();
        match env.iter().rev().find(|(from, _)| *from == name.id) {
            Some((_, to)) if params.is_empty() => to.clone(),
            Some((_, to)) => Name {
                id: to.id.clone(),
                params: [to.params.clone(), params].concat(),
            },
            None => Name {
                id: name.id.clone(),
                params,
            },
        }
    }

    fn predicate(&mut self, name: &Name, env: &Env, span: Span) -> Option<PredId> {
        let full = Self::resolve(name, env).to_string();
        let found = self.voc.find(&full);
        if found.is_none() {
            self.errors.error(
                span,
                format!("the predicate `{full}` is not declared"),
                "declare it with %p or %i before its first use; check arguments and brackets",
            );
        }
        found
    }

    fn set(&mut self, set: &SetExpr, env: &Env) -> Option<Vec<Name>> {
        let out = match set {
            SetExpr::Use(id, span) => {
                if let Some(members) = self.sets.get(id) {
                    members.clone()
                } else {
                    self.errors.error(
                        *span,
                        format!("the set `{id}` is not declared"),
                        "declare it with %s Name {members}",
                    );
                    return None;
                }
            }
            SetExpr::Constant(names) => names.iter().map(|n| Self::resolve(n, env)).collect(),
            SetExpr::Comprehension(names, var, inner) => {
                let mut out = Vec::new();
                for member in self.set(inner, env)? {
                    let mut env = env.clone();
                    env.push((var.clone(), member));
                    out.extend(names.iter().map(|n| Self::resolve(n, &env)));
                }
                out
            }
            SetExpr::Plus(a, b) => [self.set(a, env)?, self.set(b, env)?].concat(),
            SetExpr::Minus(a, b) => {
                let b = self.set(b, env)?;
                let mut a = self.set(a, env)?;
                a.retain(|n| !b.contains(n));
                a
            }
            SetExpr::And(a, b) => {
                let b = self.set(b, env)?;
                let mut a = self.set(a, env)?;
                a.retain(|n| b.contains(n));
                a
            }
        };
        let mut unique: Vec<Name> = Vec::with_capacity(out.len());
        for n in out {
            if !unique.contains(&n) {
                unique.push(n);
            }
        }
        Some(unique)
    }

    /// Counts expansions, so that nested `foreach` cannot go on for ever.
    fn expand(&mut self, span: Span) -> bool {
        self.expansions += 1;
        if self.expansions == MAX_EXPANSION {
            self.errors.error(
                span,
                "`foreach` and set iterations expand to too much text",
                "use smaller sets",
            );
        }
        self.expansions < MAX_EXPANSION
    }

    fn decls(&mut self, decls: &[Decl], env: &Env) {
        for d in decls {
            match d {
                Decl::Set(name, set, _) => {
                    if let Some(members) = self.set(set, env) {
                        let all = self.sets.entry(name.clone()).or_default();
                        for m in members {
                            if !all.contains(&m) {
                                all.push(m);
                            }
                        }
                    }
                }
                Decl::Predicate(p) => self.declare(p, env),
                Decl::Rule(body, head, span) => self.rule(body, head, env, *span),
                Decl::Foreach(var, set, body, span) => {
                    for member in self.set(set, env).unwrap_or_default() {
                        if !self.expand(*span) {
                            return;
                        }
                        let mut env = env.clone();
                        env.push((var.clone(), member));
                        self.decls(body, &env);
                    }
                }
                Decl::Focus(items) => {
                    for i in items {
                        self.global_focus.push((i.clone(), env.clone()));
                    }
                }
                Decl::Message(m) => self.global_messages.push((m.clone(), env.clone())),
            }
        }
    }

    fn declare(&mut self, p: &PredicateDecl, env: &Env) {
        let name = Self::resolve(&p.name, env).to_string();
        if self.voc.find(&name).is_some() {
            self.errors.error(
                p.span,
                format!("the predicate `{name}` is declared twice"),
                "remove or rename one of the declarations (sm, ac, isNew and the thread predicates \
                 are built in)",
            );
            return;
        }
        let arity = p.args.len();
        let Some((properties, abstraction)) = self.properties(p, arity) else {
            return;
        };
        let definition = match &p.formula {
            None => None,
            Some(f) => {
                let Some(formula) = self.formula(f, env) else {
                    return;
                };
                let args: Vec<Var> = p.args.iter().map(|a| self.var(a)).collect();
                if let Some(v) = formula.free_vars().iter().find(|v| !args.contains(v)) {
                    self.errors.error(
                        p.span,
                        format!(
                            "the definition of `{name}` has the free variable `{}`, which is not \
                             an argument",
                            self.var_names[v.0 as usize]
                        ),
                        "bind it with E or A, or make it an argument",
                    );
                    return;
                }
                Some(Definition { args, formula })
            }
        };
        let mut distinct = p.args.clone();
        distinct.sort();
        distinct.dedup();
        if distinct.len() != arity {
            self.errors.error(
                p.span,
                format!("`{name}` names an argument twice"),
                "give every argument its own name",
            );
            return;
        }
        let id = self.voc.add(&name, arity, abstraction, properties);
        if let Some(d) = definition {
            self.voc.define(id, d);
        }
        if let Some(values) = &p.shown {
            self.voc.get_mut(id).shown = (
                values.contains(&Kleene::True),
                values.contains(&Kleene::Half),
            );
        }
    }

    fn properties(&mut self, p: &PredicateDecl, arity: usize) -> Option<(Properties, bool)> {
        let mut out = Properties::default();
        let mut abstraction = arity <= 1;
        for (word, span) in &p.properties {
            let (flag, wanted) = match word.as_str() {
                "unique" => (&mut out.unique, 1),
                "pointer" => (&mut out.pointer, 1),
                "box" => (&mut out.boxed, 1),
                "function" => (&mut out.function, 2),
                "invfunction" => (&mut out.invfunction, 2),
                "symmetric" => (&mut out.symmetric, 2),
                "antisymmetric" => (&mut out.antisymmetric, 2),
                "reflexive" => (&mut out.reflexive, 2),
                "antireflexive" => (&mut out.antireflexive, 2),
                "transitive" => (&mut out.transitive, 2),
                "acyclic" => (&mut out.acyclic, 2),
                "abs" if arity <= 1 => {
                    abstraction = true;
                    continue;
                }
                "nonabs" => {
                    abstraction = false;
                    continue;
                }
                _ => {
                    self.errors.error(
                        *span,
                        format!("unknown property `{word}` for a predicate of arity {arity}"),
                        "known: unique pointer box abs nonabs (arity 1), function invfunction \
                         symmetric antisymmetric reflexive antireflexive transitive acyclic (arity 2)",
                    );
                    return None;
                }
            };
            *flag = true;
            if wanted != arity {
                self.errors.error(
                    *span,
                    format!("`{word}` is for predicates of arity {wanted}, not {arity}"),
                    "remove the property",
                );
                return None;
            }
        }
        Some((out, abstraction))
    }

    fn rule(&mut self, body: &FormulaAst, head: &FormulaAst, env: &Env, span: Span) {
        let (Some(body), Some(head)) = (self.formula(body, env), self.formula(head, env)) else {
            return;
        };
        let place = self.errors.place(span);
        self.axioms.push(Axiom {
            formula: Formula::or([body.not(), head]),
            origin: format!("the rule at {place}"),
            source: Source::Given,
        });
    }

    pub(crate) fn formula(&mut self, f: &FormulaAst, env: &Env) -> Option<Formula> {
        Some(match f {
            FormulaAst::Value(k) => Formula::Value(*k),
            FormulaAst::Eq(a, b) => Formula::Eq(self.var(a), self.var(b)),
            FormulaAst::Atom(name, args, span) => {
                let p = self.predicate(name, env, *span)?;
                let arity = self.voc.get(p).arity;
                if arity != args.len() {
                    self.errors.error(
                        *span,
                        format!(
                            "`{}` takes {arity} arguments, not {}",
                            self.voc.get(p).name,
                            args.len()
                        ),
                        "check the declaration",
                    );
                    return None;
                }
                Formula::Atom(p, args.iter().map(|a| self.var(a)).collect())
            }
            FormulaAst::Closure(name, from, to, reflexive, span) => {
                self.closure(name, (from, to), *reflexive, env, *span)?
            }
            FormulaAst::Not(f) => self.formula(f, env)?.not(),
            FormulaAst::And(a, b) => Formula::and([self.formula(a, env)?, self.formula(b, env)?]),
            FormulaAst::Or(a, b) => Formula::or([self.formula(a, env)?, self.formula(b, env)?]),
            FormulaAst::Implies(a, b) => {
                Formula::or([self.formula(a, env)?.not(), self.formula(b, env)?])
            }
            FormulaAst::Iff(a, b) => Formula::iff(self.formula(a, env)?, self.formula(b, env)?),
            FormulaAst::Ite(c, a, b) => Formula::ite(
                self.formula(c, env)?,
                self.formula(a, env)?,
                self.formula(b, env)?,
            ),
            FormulaAst::Exists(vars, body) => {
                let vars: Vec<Var> = vars.iter().map(|v| self.var(v)).collect();
                Formula::exists(&vars, self.formula(body, env)?)
            }
            FormulaAst::Forall(vars, body) => {
                let vars: Vec<Var> = vars.iter().map(|v| self.var(v)).collect();
                Formula::forall(&vars, self.formula(body, env)?)
            }
            FormulaAst::Tc(names, body) => {
                let [from, to, a, b] = names.each_ref().map(|n| self.var(n));
                Formula::Tc(Box::new(Closure {
                    from,
                    to,
                    a,
                    b,
                    body: self.formula(body, env)?,
                }))
            }
            FormulaAst::Combine(or, body, var, set) => {
                let mut parts = Vec::new();
                for member in self.set(set, env)? {
                    if !self.expand(Span::default()) {
                        return None;
                    }
                    let mut env = env.clone();
                    env.push((var.clone(), member));
                    parts.push(self.formula(body, &env)?);
                }
                if *or {
                    Formula::or(parts)
                } else {
                    Formula::and(parts)
                }
            }
        })
    }

    fn closure(
        &mut self,
        name: &Name,
        (from, to): (&str, &str),
        reflexive: bool,
        env: &Env,
        span: Span,
    ) -> Option<Formula> {
        let p = self.predicate(name, env, span)?;
        if self.voc.get(p).arity != 2 {
            self.errors.error(
                span,
                format!("the closure of `{}`, which is not binary", self.voc.get(p).name),
                "p+ and p* are for binary predicates",
            );
            return None;
        }
        let (from, to) = (self.var(from), self.var(to));
        let (a, b) = (self.var("__v1"), self.var("__v2"));
        let tc = Formula::Tc(Box::new(Closure {
            from,
            to,
            a,
            b,
            body: Formula::Atom(p, vec![a, b]),
        }));
        Some(if reflexive {
            Formula::or([Formula::Eq(from, to), tc])
        } else {
            tc
        })
    }

    fn text(pieces: &[Piece], env: &Env) -> String {
        pieces
            .iter()
            .map(|p| match p {
                Piece::Text(t) => t.replace("\\n", "\n"),
                Piece::Name(n) => Self::resolve(n, env).to_string(),
            })
            .collect()
    }

    fn too_complex(&mut self, span: Span) {
        self.errors.error(
            span,
            "the formula binds too many variables at once",
            "split it by instrumentation predicates",
        );
    }

    fn focus_items(&mut self, items: &[FocusItem], env: &Env, out: &mut Vec<Formula>) -> Option<()> {
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

    fn updates(
        &mut self,
        items: &[UpdateItem],
        env: &Env,
        out: &mut Vec<(PredId, Vec<Var>, Formula, Span)>,
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

    fn messages(&mut self, list: &[(MessageAst, Env)], bindings: &[Var], after: bool) -> Option<Vec<Message>> {
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
    fn unary(&mut self, f: &FormulaAst, env: &Env, bindings: &[Var], what: &str, span: Span) -> Option<Unary> {
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
    fn action(&mut self, body: &ActionBody, env: &Env, extra: Extra, span: Span) -> Option<Action> {
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
        let create = self.creation(body, env, &bindings, span)?;
        let cloned = match &body.cloned {
            None => None,
            Some(None) => {
                self.errors.error(span, "%clone needs a formula", "say which objects to clone");
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

    fn creation(&mut self, body: &ActionBody, env: &Env, bindings: &[Var], span: Span) -> Option<Option<Creation>> {
        Some(match &body.create {
            None => body.new_thread.as_ref().map(|_| Creation::One),
            Some(_) if body.new_thread.is_some() => {
                self.errors.error(
                    span,
                    "%new and %newthread in one action",
                    "use two actions",
                );
                return None;
            }
            Some(None | Some(FormulaAst::Value(Kleene::True))) => Some(Creation::One),
            Some(Some(f)) => {
                let u = self.unary(f, env, bindings, "%new", span)?;
                Some(Creation::Each(u.var, u.formula, u.plan))
            }
        })
    }

    fn update(&mut self, p: PredId, args: Vec<Var>, f: Formula, bindings: &[Var], span: Span) -> Option<Update> {
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

    fn find_action<'m>(&mut self, actions: &'m [ActionMacro], name: &str, args: &[Name], span: Span) -> Option<(&'m ActionMacro, Env)> {
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
        let env = found.args.iter().cloned().zip(args.iter().cloned()).collect();
        Some((found, env))
    }

    fn finish(mut self, locations: Vec<String>, edges: Vec<Edge>, actions: Vec<Action>, concurrent: bool, printed: Vec<String>) -> Option<Model> {
        let mut axioms = property_axioms(&self.voc);
        axioms.extend(definition_axioms(&self.voc));
        axioms.append(&mut self.axioms);
        let Some(instrumentation) = Instrumentation::new(&self.voc) else {
            self.too_complex(Span::default());
            return None;
        };
        Some(Model {
            rules: RuleSet::new(rules(&axioms)),
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
        })
    }

    fn sequential(mut self, ast: &ProgramAst) -> Option<Model> {
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
            locations.iter().position(|l| l == label).unwrap_or_else(|| {
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

    fn edge_action(
        &mut self,
        ast: &ProgramAst,
        e: &EdgeAst,
        extra: impl FnOnce(&mut Self, &ActionBody) -> Extra,
    ) -> Option<Action> {
        match &e.action {
            EdgeAction::Call(name, args) => {
                let (found, env) = self.find_action(&ast.actions, name, args, e.span)?;
                let mut extra = extra(self, &found.body);
                extra.name = format!(
                    "{name}({})",
                    args.iter().map(Name::to_string).collect::<Vec<_>>().join(", ")
                );
                self.action(&found.body, &env, extra, e.span)
            }
            EdgeAction::Assert(f, hard) => {
                let body = ActionBody::default();
                let mut extra = extra(self, &body);
                extra.name = "assert".to_owned();
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

    fn concurrent(mut self, ast: &ProgramAst) -> Option<Model> {
        if ast.threads.is_empty() {
            self.errors.error(
                Span::default(),
                "the program has no threads",
                "the third section of a tvm file is %thread name { ... }",
            );
            return None;
        }
        let entries: Vec<(String, String)> = ast
            .threads
            .iter()
            .filter_map(|t| Some((t.name.clone(), t.edges.first()?.source.clone())))
            .collect();
        let tr = self.var("tr");
        let mut actions = Vec::new();
        let total = ast.threads.iter().map(|t| t.edges.len()).sum::<usize>() + ast.globals.len();
        for e in ast.threads.iter().flat_map(|t| &t.edges) {
            let entries = &entries;
            let made = self.edge_action(ast, e, |this, body| {
                let find = |n: &str| this.voc.find(n).expect("built in");
                let at = |l: &str| find(&format!("at[{l}]"));
                let (source, target) = (at(&e.source), at(&e.target));
                let runnable = find("runnable");
                let here = Formula::Atom(source, vec![tr]);
                let scheduled = Formula::Atom(runnable, vec![tr]);
                Extra {
                    focus: vec![Formula::and([scheduled.clone(), here.clone()])],
                    precondition: vec![scheduled, here],
                    schedule: Some(Schedule {
                        source,
                        target,
                        moves: !body.explicit_at,
                        goes_on: e.atomic,
                        tr,
                        entries: entries.clone(),
                        span: e.span,
                    }),
                    ..Extra::default()
                }
            });
            actions.extend(made);
        }
        for (name, args, span) in &ast.globals {
            if let Some((found, env)) = self.find_action(&ast.actions, name, args, *span) {
                let extra = Extra {
                    name: name.clone(),
                    ..Extra::default()
                };
                actions.extend(self.action(&found.body, &env, extra, *span));
            }
        }
        if actions.len() != total {
            return None;
        }
        let edges = (0..actions.len())
            .map(|action| Edge {
                source: 0,
                target: 0,
                action,
            })
            .collect();
        let mut model = self.finish(vec!["states".to_owned()], edges, actions, true, vec![])?;
        model.threads = entries;
        Some(model)
    }
}

/// Parts of an action that do not come from its text.
#[derive(Default)]
struct Extra {
    name: String,
    focus: Vec<Formula>,
    precondition: Vec<Formula>,
    messages: Vec<Message>,
    updates: Vec<(PredId, Vec<Var>, Formula, Span)>,
    schedule: Option<Schedule>,
}

/// The scheduling part of a thread's step.
struct Schedule {
    source: PredId,
    target: PredId,
    moves: bool,
    goes_on: bool,
    tr: Var,
    entries: Vec<(String, String)>,
    span: Span,
}

impl Schedule {
    fn add(
        &self,
        e: &mut Elaborator<'_>,
        body: &ActionBody,
        env: &Env,
        list: &mut Vec<(PredId, Vec<Var>, Formula, Span)>,
    ) -> Option<()> {
        if body.wait.is_some() {
            e.errors.error(
                self.span,
                "%wait is not supported",
                "TVLA 3 ignores it; use %stop and %start",
            );
            return None;
        }
        let v = e.var("__thread");
        let same = Formula::Eq(v, self.tr);
        let mut at: Vec<(PredId, Formula)> = Vec::new();
        if self.moves && self.source != self.target {
            at.push((
                self.source,
                Formula::and([Formula::Atom(self.source, vec![v]), same.clone().not()]),
            ));
            at.push((
                self.target,
                Formula::or([Formula::Atom(self.target, vec![v]), same]),
            ));
        }
        if let Some(thread) = &body.new_thread {
            self.new_thread(e, thread, v, &mut at)?;
        }
        for (p, f) in at {
            if !list.iter().any(|(q, ..)| *q == p) {
                list.push((p, vec![v], f, self.span));
            }
        }
        self.run_next(e, body, env, v, list)
    }

    fn new_thread(
        &self,
        e: &mut Elaborator<'_>,
        thread: &str,
        v: Var,
        at: &mut Vec<(PredId, Formula)>,
    ) -> Option<()> {
        let Some((_, label)) = self.entries.iter().find(|(n, _)| n == thread) else {
            e.errors.error(
                self.span,
                format!("the thread `{thread}` is not defined"),
                "define it with %thread",
            );
            return None;
        };
        let find = |n: &str| e.voc.find(n).expect("built in");
        let fresh = Formula::Atom(find("isNew"), vec![v]);
        for p in [find("isthread"), find(&format!("at[{label}]"))] {
            match at.iter_mut().find(|(q, _)| *q == p) {
                Some((_, f)) => *f = Formula::or([f.clone(), fresh.clone()]),
                None => at.push((p, Formula::or([Formula::Atom(p, vec![v]), fresh.clone()]))),
            }
        }
        Some(())
    }

    /// Who may run next: the same thread inside an atomic block, else every ready thread.
    fn run_next(
        &self,
        e: &mut Elaborator<'_>,
        body: &ActionBody,
        env: &Env,
        v: Var,
        list: &mut Vec<(PredId, Vec<Var>, Formula, Span)>,
    ) -> Option<()> {
        let find = |e: &Elaborator<'_>, n: &str| e.voc.find(n).expect("built in");
        let (ready, runnable) = (find(e, "ready"), find(e, "runnable"));
        let given = list.iter().find(|(q, ..)| *q == ready).cloned();
        let mut fresh = 1 << 29;
        let mut value = match &given {
            Some((_, args, f, _)) => f.substitute(&[(args[0], v)], &mut fresh),
            None => Formula::Atom(ready, vec![v]),
        };
        let mut changed = given.is_some();
        for (f, starts) in [(&body.start, true), (&body.stop, false)] {
            let Some(f) = f else { continue };
            let u = e.unary(f, env, &[self.tr], "%start or %stop", self.span)?;
            let f = u.formula.substitute(&[(u.var, v)], &mut fresh);
            value = if starts {
                Formula::or([value, f])
            } else {
                Formula::and([value, f.not()])
            };
            changed = true;
        }
        if changed {
            list.retain(|(q, ..)| *q != ready);
            list.push((ready, vec![v], value.clone(), self.span));
        }
        if !self.goes_on && !list.iter().any(|(q, ..)| *q == runnable) {
            let may_run = Formula::ite(value, Formula::Value(Kleene::Half), Formula::FALSE);
            list.push((runnable, vec![v], may_run, self.span));
        }
        Some(())
    }
}
