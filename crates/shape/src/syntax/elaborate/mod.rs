//! Elaboration: names, sets, `foreach` and action arguments resolved; a [`Model`] built.
//!
//! Place: last step of the front end. Every edge gets its own action, with the arguments
//! replaced (as predicate names, textually, also inside brackets). For concurrent models each
//! label gives a predicate `at[label]`, and the scheduling parts are added to each action: the
//! scheduled thread `tr` is runnable and at the source; afterwards it is at the target, and,
//! unless an atomic block goes on, every ready thread may run next.

use super::ast::{
    Decl, FocusItem, FormulaAst, Ignored, MessageAst, Name, Piece, PredicateDecl, ProgramAst,
    SetExpr,
};
use super::{Diagnostics, Span};
use crate::formula::{Closure, Formula, Var};
use crate::kleene::Kleene;
use crate::model::Model;
use crate::rules::{Axiom, Source};
use crate::vocabulary::{Definition, PredId, Properties, Vocabulary};
use rustc_hash::FxHashMap;

mod actions;
mod graph;
mod threads;

/// Most members that one set may have, and most declarations a `foreach` may give.
const MAX_EXPANSION: usize = 100_000;

/// What names stand for: action arguments and `foreach` variables.
pub(super) type Env = Vec<(String, Name)>;

pub(crate) struct Elaborator<'a> {
    pub(crate) voc: Vocabulary,
    vars: FxHashMap<String, Var>,
    var_names: Vec<String>,
    sets: FxHashMap<String, Vec<Name>>,
    axioms: Vec<Axiom>,
    global_focus: Vec<(FocusItem, Env)>,
    global_messages: Vec<(MessageAst, Env)>,
    expansions: usize,
    /// Where the action that is read now is used.
    used: Option<Span>,
    /// See [`Reading::delayed`].
    pub(super) delayed: bool,
    pub(crate) errors: &'a mut Diagnostics,
}

/// Predicates that exist without a declaration. Those that nothing mentions are left out of a
/// sequential model: they would be 0 everywhere.
pub const BUILT_IN: [&str; 6] = [
    "isNew", "instance", "isthread", "ready", "runnable", "outside",
];

/// What a program is read as, beside its text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// Whether it is a concurrent model.
    pub concurrent: bool,
    /// Predicates of [`BUILT_IN`] that the structures use.
    pub used: &'a [&'static str],
    /// Whether a thread that an update makes `ready` has to wait for one more step, as in TVLA.
    pub delayed: bool,
}

/// Builds a model. Errors go to `errors`; the result is `None` when there are any.
pub fn elaborate(
    ast: &ProgramAst,
    reading: Reading<'_>,
    errors: &mut Diagnostics,
) -> Option<Model> {
    let concurrent = reading.concurrent;
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
        used: None,
        delayed: reading.delayed,
        errors,
    };
    e.built_in(ast, reading);
    e.decls(&ast.decls, &Env::new());
    if e.errors.errors.len() > before {
        return None;
    }
    let model = if concurrent {
        e.concurrent(ast)
    } else {
        e.sequential(ast)
    };
    let model = model.filter(|_| errors.errors.len() == before)?;
    let ignored = ignored(ast, errors);
    Some(Model { ignored, ..model })
}

/// One note for each kind of directive that was ignored, with the first place of it.
fn ignored(ast: &ProgramAst, errors: &Diagnostics) -> Vec<String> {
    let mut sorted = ast.ignored.clone();
    sorted.sort();
    let kinds = sorted.chunk_by(|a, b| a.0 == b.0);
    let note = |kind: &[(Ignored, Span)]| {
        let (what, span) = kind[0];
        let more = match kind.len() - 1 {
            0 => String::new(),
            n => format!(", and {n} more of this kind,"),
        };
        format!(
            "{}: {what}{more} is ignored: it belongs to TVLA's decomposition",
            errors.place(span)
        )
    };
    kinds.map(note).collect()
}

/// Whether any part of the program text mentions a plain name.
fn mentions(ast: &ProgramAst, name: &str) -> bool {
    format!("{:?}", (&ast.decls, &ast.actions)).contains(&format!("id: \"{name}\""))
}

impl Elaborator<'_> {
    pub(super) fn built_in(&mut self, ast: &ProgramAst, reading: Reading<'_>) {
        for name in BUILT_IN {
            let threads = reading.concurrent && name != "instance" && name != "outside";
            if !threads && !reading.used.contains(&name) && !mentions(ast, name) {
                continue;
            }
            let arity = if name == "instance" { 2 } else { 1 };
            let abstraction = ["isthread", "ready", "outside"].contains(&name);
            let properties = Properties {
                unique: name == "runnable",
                ..Properties::default()
            };
            self.voc.add(name, arity, abstraction, properties);
        }
        if !reading.concurrent {
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
            self.voc
                .add(&format!("at[{l}]"), 1, true, Properties::default());
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

    pub(super) fn resolve(name: &Name, env: &Env) -> Name {
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

    pub(super) fn predicate(&mut self, name: &Name, env: &Env, span: Span) -> Option<PredId> {
        let full = Self::resolve(name, env).to_string();
        let found = self.voc.find(&full);
        if found.is_none() {
            let message = format!("the predicate `{full}` is not declared");
            match self.used {
                // An argument of the action, or a part of one: it stands where the action is used.
                Some(used) if full != name.to_string() => {
                    let place = self.errors.place(span);
                    let help = format!("it stands for `{name}` of {place}: check the arguments");
                    self.errors.error(used, message, help);
                }
                _ => self.errors.error(
                    span,
                    message,
                    "declare it with %p or %i before its first use; check arguments and brackets",
                ),
            }
        }
        found
    }

    pub(super) fn set(&mut self, set: &SetExpr, env: &Env) -> Option<Vec<Name>> {
        let out = match set {
            SetExpr::Use(id, span) => {
                // An argument of an action may be a set.
                let id = &Self::resolve(&Name::plain(id), env).to_string();
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
    pub(super) fn expand(&mut self, span: Span) -> bool {
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

    pub(super) fn decls(&mut self, decls: &[Decl], env: &Env) {
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

    pub(super) fn declare(&mut self, p: &PredicateDecl, env: &Env) {
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
        self.dependencies(p, id);
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

    /// `[x] --> z`: two tuples that agree in x agree in z, whatever their other arguments.
    fn dependencies(&mut self, p: &PredicateDecl, id: PredId) {
        for (from, to, span) in &p.dependencies {
            let mut named = from.iter().chain([to]);
            if let Some(other) = named.find(|a| !p.args.contains(a)) {
                self.errors.error(
                    *span,
                    format!("`{other}` is no argument of `{}`", self.voc.get(id).name),
                    "a dependency is [x, y] --> z with arguments of the predicate",
                );
                return;
            }
            let tuple = |e: &mut Self, copy: &str| -> Vec<Var> {
                let name = |a: &String| {
                    let shared = from.contains(a);
                    format!("{a}{}", if shared { "" } else { copy })
                };
                p.args.iter().map(|a| e.var(&name(a))).collect()
            };
            // A quote is not part of any name.
            let (one, two) = (tuple(self, "'"), tuple(self, "''"));
            let at = p.args.iter().position(|a| a == to).unwrap_or(0);
            let formula = Formula::or([
                Formula::Atom(id, one.clone()).not(),
                Formula::Atom(id, two.clone()).not(),
                Formula::Eq(one[at], two[at]),
            ]);
            let origin = format!(
                "the dependency of {} at {}",
                self.voc.get(id).name,
                self.errors.place(*span)
            );
            self.axioms
                .push(Axiom::new(formula, origin, Source::Property));
        }
    }

    pub(super) fn properties(
        &mut self,
        p: &PredicateDecl,
        arity: usize,
    ) -> Option<(Properties, bool)> {
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

    pub(super) fn rule(&mut self, body: &FormulaAst, head: &FormulaAst, env: &Env, span: Span) {
        let (Some(body), Some(head)) = (self.formula(body, env), self.formula(head, env)) else {
            return;
        };
        let place = self.errors.place(span);
        let formula = Formula::or([body.not(), head]);
        let origin = format!("the rule at {place}");
        self.axioms.push(Axiom::new(formula, origin, Source::Given));
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

    pub(super) fn closure(
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
                format!(
                    "the closure of `{}`, which is not binary",
                    self.voc.get(p).name
                ),
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

    pub(super) fn text(pieces: &[Piece], env: &Env) -> String {
        pieces
            .iter()
            .map(|p| match p {
                Piece::Text(t) => t.replace("\\n", "\n"),
                Piece::Name(n) => Self::resolve(n, env).to_string(),
            })
            .collect()
    }

    pub(super) fn too_complex(&mut self, span: Span) {
        self.errors.error(
            span,
            "the formula binds too many variables at once",
            "split it by instrumentation predicates",
        );
    }
}
