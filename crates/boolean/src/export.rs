//! The Boolean program of a program and its predicates: program counters become
//! labels, explicit control variables one Boolean for each value. If all threads are
//! instances, every predicate becomes a shared variable ([Donaldson et al., CAV 2011, section 1.1] calls
//! that symmetry-oblivious). With [`Scopes`] templates are kept (symmetry-aware,
//! algorithm 1): shared predicates are shared variables, local and mixed ones are local
//! variables, and a branch that must notify passive threads broadcasts
//! `[b] = choose(F(wp([phi])), F(wp(![phi])))`, where F may use shared predicates, the
//! active thread's and the passive one's (section 2.2). A branch with guard `g` becomes
//!
//! ```text
//! b1, b2 = choose(F(wp1), F(!wp1)), choose(F(wp2), F(!wp2)) constrain !F(!g) && R
//! ```
//!
//! `F` under the guard ([Dan et al., SAS 2013, section 4.1]; [Donaldson et al., CAV 2011, section 2.2]). `R`, there
//! if [`Options::relate`] is set, forbids combinations of new values that no
//! concrete step gives: the minimal cubes over old and new values that contradict
//! the guard. With it the Boolean program is the best that the predicates allow;
//! without it, it is the Cartesian one of the papers.
//!
//! A predicate over a set of values is two variables, `b_all` and `b_none`: whether it is known
//! that all elements satisfy it, and that none does ([Baumann et al., VMCAI 2018, section 4.2]).
//! Conditions only ask whether they are 1, and nothing is chosen.
//!
//! `branch` makes the statements of branches, `variables` declares what there is.
//! `never` and `finally` become `never` over labels and predicates. Predicates over
//! locals that are dead get any value (`*`).

mod branch;
mod variables;

use std::collections::BTreeSet;
use std::fmt::Write;

use palisade_logic::{Atom, Cluster, Formula, Lit, Prover, Reason, Var};
use palisade_program::{Count, EdgeId, Instance, LocId, Program, Span, Template};

use crate::ast::{
    At, BooleanProgram, Copies, Expr, ExprKind, Label, Passive, Property, Statement, StatementKind,
    Thread, Value, Variable,
};
use crate::scope::{Scopes, obstacle};
use palisade_abstraction::command::{Commands, Unsupported};
use palisade_abstraction::cubes::{Cover, Cube, CubeSearch, Question};
use palisade_abstraction::extrapolate::{Listed, Literals};
use palisade_abstraction::hints;
use palisade_abstraction::predicates::Predicates;
use palisade_abstraction::space::{Control, Space, initial_data};
use palisade_abstraction::tables::of_elements;
use palisade_abstraction::valuation::{PredId, PredSet};

/// The session for questions about states.
pub(super) const STATES: Cluster = Cluster(u32::MAX);

/// Most combinations of explicit values that one edge or property may read.
const MAX_COMBINATIONS: usize = 4096;

/// How a Boolean program is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Largest cubes; no limit if none.
    pub max_size: Option<usize>,
    /// Values only, as the papers write them: no constraints.
    pub cartesian: bool,
    /// Say which new values go together.
    pub relate: bool,
    /// Run a thread's local steps together with the step before them
    /// (`palisade_abstraction::interior`).
    pub compress: bool,
}

/// Why there is no Boolean program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExportError {
    /// Time or cancellation.
    #[error("{0}")]
    Limit(Reason),
    /// Something that cannot be executed symbolically.
    #[error("{0}")]
    Unsupported(Unsupported),
}

impl From<Reason> for ExportError {
    fn from(reason: Reason) -> Self {
        Self::Limit(reason)
    }
}

impl From<Unsupported> for ExportError {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}

/// What a Boolean program is made from.
#[derive(Clone, Copy)]
pub struct Construction<'c> {
    /// Each copy of a template is a thread of its own.
    pub expand: bool,
    /// Copies of a template that runs in any number, where each is a thread of its own.
    pub copies: u32,
    /// Variables with few values stay as they are.
    pub explicit: bool,
    /// The predicates, over the variables of the program with [`threads`]; its own if none.
    pub atoms: Option<&'c BTreeSet<Atom>>,
    /// How cubes are found.
    pub search: Cubes<'c>,
    /// How large they are.
    pub options: Options,
}

/// How the cubes of a Boolean program are found.
#[derive(Clone, Copy)]
pub enum Cubes<'c> {
    /// By a strategy that looks for all.
    By(&'c dyn CubeSearch),
    /// Single literals and those of a list [Dan et al., SAS 2013, section 4.3].
    Listed(&'c BTreeSet<Literals>),
}

impl Cubes<'_> {
    /// The strategy's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::By(search) => search.name(),
            Self::Listed(_) => Listed::default().name(),
        }
    }

    fn search(
        self,
        table: &Predicates,
        find: impl FnOnce(&dyn CubeSearch) -> Result<BooleanProgram, ExportError>,
    ) -> Result<BooleanProgram, ExportError> {
        match self {
            Self::By(search) => find(search),
            Self::Listed(cubes) => find(&Listed::new(table, cubes)),
        }
    }
}

/// The threads of a Boolean program: all copies, or those that stand for the others; and
/// whether these are all.
pub fn threads(
    program: &Program,
    expand: bool,
    copies: u32,
) -> Result<(Vec<Instance>, bool), Unsupported> {
    let once = |t: &Template| t.count == Count::Once;
    if expand || program.templates.iter().all(once) {
        return Ok((program.instances(copies), true));
    }
    match obstacle(program) {
        Some(obstacle) => Err(obstacle),
        None => Ok((Scopes::instances(program), false)),
    }
}

/// The Boolean program of a program and its predicates, and how many these are.
pub fn construct(
    program: &Program,
    how: Construction<'_>,
    prover: &mut Prover,
) -> Result<(BooleanProgram, usize), ExportError> {
    let (threads, all) = threads(program, how.expand, how.copies)?;
    let space = Space::new(program, threads, how.explicit);
    let atoms = match how.atoms {
        Some(given) => given.clone(),
        None => hints::atoms(&space)?,
    };
    if all {
        let sets = space.sets.keys().map(|slot| Var(*slot as u32));
        let mut table = Predicates::with_sets(sets.collect());
        for atom in atoms {
            if table.admits(&atom) {
                table.add(atom);
            }
        }
        let made = how.search.search(&table, |search| {
            export(&space, (&table, None), prover, search, how.options)
        })?;
        return Ok((made, table.len()));
    }
    if !space.sets.is_empty() {
        return Err(Unsupported {
            what: "value sets in the Boolean program of a template".to_owned(),
            span: Span::default(),
        }
        .into());
    }
    let (table, scopes) = Scopes::new(&space, atoms)?;
    let kept = (&table, Some(&scopes));
    let made = how.search.search(&table, |search| {
        export(&space, kept, prover, search, how.options)
    })?;
    let count = (0..table.len()).filter(|p| scopes.origin(*p) == *p).count();
    Ok((made, count))
}

/// The Boolean program of `space` under `predicates`: a broadcast program that keeps the
/// templates if the predicates have scopes, else each copy is a thread of its own.
pub fn export(
    space: &Space<'_>,
    (predicates, scopes): (&Predicates, Option<&Scopes>),
    prover: &mut Prover,
    search: &dyn CubeSearch,
    options: Options,
) -> Result<BooleanProgram, ExportError> {
    let slots = (0..predicates.len()).map(|p| (p, prover.literal(&predicates.formula(p, true))));
    let slots = slots.collect();
    let mut exporter = Exporter {
        space,
        predicates,
        scopes,
        active: None,
        passive: None,
        locals: vec![Vec::new(); space.threads.len()],
        prover,
        search,
        options,
        slots,
        explicit: Vec::new(),
    };
    exporter.explicit = exporter.explicit_names();
    let mut program = BooleanProgram::default();
    exporter.variables(&mut program, &initial_data(space))?;
    let mut commands = if options.compress {
        Commands::compressed(space)
    } else {
        Commands::new(space)
    };
    for thread in 0..space.threads.len() {
        if scopes.is_some_and(|r| r.is_twin(thread)) {
            continue;
        }
        exporter.active = Some(thread);
        let code = exporter.thread(&mut commands, thread)?;
        program.threads.push(code);
    }
    exporter.active = None;
    exporter.properties(&mut program)?;
    Ok(program)
}

pub(super) struct Exporter<'e, 's> {
    pub(super) space: &'e Space<'s>,
    pub(super) predicates: &'e Predicates,
    pub(super) scopes: Option<&'e Scopes>,
    /// The thread whose code is written, and the one that it tells, if it tells one.
    active: Option<usize>,
    passive: Option<usize>,
    /// The local variables of each thread.
    locals: Vec<Vec<Variable>>,
    prover: &'e mut Prover,
    search: &'e dyn CubeSearch,
    options: Options,
    /// The literal of each predicate.
    slots: Vec<(usize, Lit)>,
    /// A name for each explicit variable, by position.
    explicit: Vec<String>,
}

/// The variable of a predicate.
pub(crate) fn variable(p: PredId) -> String {
    format!("b{p}")
}

/// A name made of letters and digits: `a[1]` gives `a_1`.
fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(letter).collect();
    name.trim_matches('_').to_owned()
}

fn statement(labels: Vec<Label>, kind: StatementKind, note: Option<String>) -> Statement {
    Statement {
        labels,
        kind,
        note,
        at: At::default(),
    }
}

pub(super) fn label(name: impl Into<String>) -> Label {
    Label {
        name: name.into(),
        at: At::default(),
    }
}

pub(super) fn property(cond: Expr, note: Option<String>) -> Property {
    Property {
        cond,
        note,
        at: At::default(),
    }
}

impl Exporter<'_, '_> {
    /// The replicated thread that a predicate belongs to.
    fn owner(&self, p: PredId) -> Option<usize> {
        self.scopes.and_then(|r| r.owner(p))
    }

    /// Whether expressions written now may speak of a predicate.
    fn is_visible(&self, p: PredId) -> bool {
        let owner = self.owner(p);
        owner.is_none() || owner == self.active || owner == self.passive
    }

    /// The variable of a predicate: all copies of one have the same name.
    fn name(&self, p: PredId) -> String {
        variable(self.scopes.map_or(p, |r| r.origin(p)))
    }

    fn read(&self, p: PredId) -> Expr {
        match self.owner(p) {
            Some(thread) if self.active != Some(thread) => {
                let passive = self.passive_kind(thread);
                Expr::new(ExprKind::Passive(passive, self.name(p)))
            }
            Some(_) | None => Expr::name(self.name(p)),
        }
    }

    /// How the active thread calls the passive threads that `thread` stands for.
    fn passive_kind(&self, thread: usize) -> Passive {
        let template = |t: usize| self.space.threads[t].template;
        let own = self.active.is_some_and(|a| template(a) == template(thread));
        Passive {
            thread: (!own).then(|| self.thread_name(thread)),
        }
    }

    /// The literals of a cube; numbers from the count of predicates on are values
    /// after the step.
    fn cube(&self, cube: &Cube) -> Expr {
        let count = self.predicates.len();
        Expr::all(cube.known().map(|(slot, value)| {
            if slot < count && self.predicates.is_of_set(slot) {
                return Expr::name(self.of_set(slot, value));
            }
            let name = if slot < count {
                self.read(slot)
            } else {
                Expr::new(ExprKind::Next(self.name(slot - count)))
            };
            if value { name } else { name.negated() }
        }))
    }

    pub(super) fn cover(&self, cover: &Cover) -> Expr {
        let mut cubes = cover.cubes().to_vec();
        cubes.sort();
        Expr::any(cubes.iter().map(|cube| self.cube(cube)))
    }

    /// The variable that says that all elements of a set satisfy a predicate, or none.
    fn of_set(&self, p: PredId, value: bool) -> String {
        format!("{}_{}", self.name(p), if value { "all" } else { "none" })
    }

    /// Minimal cubes over the predicates in `cone` that contradict `base`, if elements were
    /// taken from sets.
    pub(super) fn contradictions(
        &mut self,
        cluster: Cluster,
        base: &[Lit],
        (cone, picks): (&PredSet, &[(Var, Var)]),
        ignored: &[&Cover],
    ) -> Result<Cover, Reason> {
        let seen = cone.iter().filter(|p| self.is_visible(*p));
        let mut slots: Vec<(usize, Lit)> = seen.map(|p| self.slots[p]).collect();
        let mut opposites = Vec::new();
        for (p, lit) in &mut slots {
            let mut no = !*lit;
            if let Some((yes, not)) = of_elements(self.predicates, *p, picks) {
                (*lit, no) = (self.prover.literal(&yes), self.prover.literal(&not));
            }
            opposites.push(no);
        }
        let question = Question {
            cluster,
            base,
            slots: &slots,
            opposites: &opposites,
            width: self.predicates.len(),
            max_size: self.options.max_size,
            ignored,
        };
        self.search.contradictions(self.prover, &question)
    }

    pub(super) fn literals(&mut self, formula: &Formula) -> Vec<Lit> {
        let parts = formula.conjuncts().iter();
        parts.map(|f| self.prover.literal(f)).collect()
    }

    fn is_replicated(&self, thread: usize) -> bool {
        self.scopes.is_some_and(|r| r.is_replicated(thread))
    }

    pub(super) fn thread_name(&self, thread: usize) -> String {
        let instance = self.space.threads[thread];
        if self.is_replicated(thread) {
            return plain(&self.space.program.template(instance.template).name);
        }
        plain(&self.space.program.instance_name(instance))
    }

    /// A location's label: the user's if there is one.
    pub(super) fn location(&self, thread: usize, loc: LocId) -> String {
        let template = self
            .space
            .program
            .template(self.space.threads[thread].template);
        let numbered = format!("L{}", loc.0);
        match template.label_at(loc) {
            Some(user) => format!("{}_{numbered}", plain(&user.name)),
            None => numbered,
        }
    }

    fn thread(
        &mut self,
        commands: &mut Commands<'_>,
        thread: usize,
    ) -> Result<Thread, ExportError> {
        let template = self.space.threads[thread].template;
        let cfg = &self.space.program.template(template).cfg;
        let mut code = Thread {
            name: Some(self.thread_name(thread)),
            copies: match self.space.program.template(template).count {
                _ if !self.is_replicated(thread) => Copies::One,
                Count::Once => Copies::One,
                Count::Fixed(n) => Copies::Fixed(n),
                Count::Any => Copies::Any,
            },
            locals: std::mem::take(&mut self.locals[thread]),
            body: Vec::new(),
            end: Vec::new(),
            at: At::default(),
        };
        // The entry comes first, a location where nothing follows last.
        let stops = |l: &LocId| !commands.is_interior(thread, *l);
        let mut locs: Vec<LocId> = cfg.locs().filter(stops).collect();
        let is_end = |l: &LocId| cfg.outgoing(*l).next().is_none();
        locs.sort_by_key(|l| (*l != cfg.entry, is_end(l), *l));
        if is_end(&cfg.entry) {
            let only = label(self.location(thread, cfg.entry));
            code.body
                .push(statement(vec![only], StatementKind::Skip, None));
            locs.retain(|l| *l != cfg.entry);
        }
        for loc in locs {
            let name = self.location(thread, loc);
            if is_end(&loc) {
                code.end.push(label(name));
                continue;
            }
            let mut branches = Vec::new();
            for (edge, _) in cfg.outgoing(loc) {
                self.edge(commands, thread, edge, &mut branches)?;
            }
            choice(&mut code, &name, branches);
        }
        Ok(code)
    }

    /// The branches of an edge for all explicit values that it reads.
    fn edge(
        &mut self,
        commands: &mut Commands<'_>,
        thread: usize,
        edge: EdgeId,
        branches: &mut Vec<Vec<Statement>>,
    ) -> Result<(), ExportError> {
        let template = self.space.threads[thread].template;
        let code = self.space.program.template(template);
        let span = code.cfg.edge(edge).span;
        let reads = commands.explicit_reads(thread, edge).to_vec();
        let shown = |edge: EdgeId| {
            let step = &code.cfg.edge(edge).step;
            self.space.program.show_step(template, step)
        };
        for control in self.controls(&reads, span)? {
            let facts = self.explicit_facts(&reads, &control);
            for &id in commands.execute(&control, thread, edge)?.iter() {
                let branch = commands.branch(id).clone();
                let steps: Vec<String> = branch.moves.iter().map(|m| shown(m.edge)).collect();
                let note = steps.join("; ");
                branches.push(self.branch(&branch, facts.clone(), &note)?);
            }
        }
        Ok(())
    }

    /// Controls that differ in the explicit variables at `reads`.
    pub(super) fn controls(
        &self,
        reads: &[usize],
        span: Span,
    ) -> Result<Vec<Control>, Unsupported> {
        let mut all = self.space.initial_controls();
        all.truncate(1);
        for &position in reads {
            let values = self.tracked_values(position);
            if all.len() * values.len() > MAX_COMBINATIONS {
                let what = "too many combinations of explicit values".to_owned();
                return Err(Unsupported { what, span });
            }
            let each = |control: &Control| {
                let with = |v: &i64| {
                    let mut control = control.clone();
                    control.values[position] = *v;
                    control
                };
                values.iter().map(with).collect::<Vec<Control>>()
            };
            all = all.iter().flat_map(each).collect();
        }
        Ok(all)
    }

    pub(super) fn explicit_facts(&self, reads: &[usize], control: &Control) -> Expr {
        let fact = |p: &usize| Expr::name(self.explicit_name(*p, control.values[*p]));
        Expr::all(reads.iter().map(fact))
    }
}

/// A location with its branches: `goto` to each of them.
fn choice(code: &mut Thread, name: &str, branches: Vec<Vec<Statement>>) {
    if branches.is_empty() {
        let stuck = StatementKind::Assume(Expr::value(Value::False));
        code.body.push(statement(vec![label(name)], stuck, None));
        return;
    }
    let several = branches.len() > 1;
    let alternative = |n: usize| label(format!("{name}_{}", n + 1));
    if several {
        let labels = (0..branches.len()).map(alternative).collect();
        let goto = StatementKind::Goto(labels);
        code.body.push(statement(vec![label(name)], goto, None));
    }
    for (number, mut statements) in branches.into_iter().enumerate() {
        let first = if several {
            alternative(number)
        } else {
            label(name)
        };
        if let Some(statement) = statements.first_mut() {
            statement.labels.push(first);
        }
        code.body.append(&mut statements);
    }
}

/// A heading for an exported program: what it is the Boolean program of.
pub fn heading(name: &str, strategy: &str, options: Options) -> String {
    let mut text = format!("// Boolean program of {name}: strategy {strategy}");
    if let Some(max) = options.max_size {
        // Writing to a string does not fail.
        let _ = write!(text, ", cubes of up to {max} literals");
    }
    if options.cartesian {
        text.push_str(", Cartesian");
    }
    text.push('\n');
    text
}
