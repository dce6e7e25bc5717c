//! The Boolean program of a program and its predicates: program counters become
//! labels, explicit control variables one Boolean for each value. If all threads are
//! instances, every predicate becomes a shared variable (seed 003, section 1.1 calls
//! that symmetry-oblivious). With [`Rooms`] templates are kept (symmetry-aware,
//! algorithm 1): shared predicates are shared variables, local and mixed ones are local
//! variables, and a branch that must notify passive threads broadcasts
//! `[b] = choose(F(wp([phi])), F(wp(![phi])))`, where F may use shared predicates, the
//! active thread's and the passive one's (section 2.2). A branch with guard `g` becomes
//!
//! ```text
//! b1, b2 = choose(F(wp1), F(!wp1)), choose(F(wp2), F(!wp2)) constrain !F(!g) && R
//! ```
//!
//! `F` under the guard (seed 000, section 4.1; seed 003, section 2.2). `R`, left out
//! when [`Options::cartesian`] is set, forbids combinations of new values that no
//! concrete step gives: the minimal cubes over old and new values that contradict
//! the guard. With it the Boolean program is the best that the predicates allow;
//! without it, it is the Cartesian one of the papers.
//!
//! `never` and `finally` become `never` over labels and predicates. Predicates over
//! locals that are dead get any value (`*`).

use std::fmt::Write;

use palisade_logic::{Cluster, Formula, Lit, Prover, Reason, Term, Var};
use palisade_program::{Count, EdgeId, LocId, Span};

use super::ast::{
    At, BooleanProgram, Copies, Expr, ExprKind, Label, Passive, Property, Statement, StatementKind,
    Target, Thread, Value, Variable,
};
use crate::affected::{Effect, effect};
use crate::command::{Branch, Commands, End, Unsupported};
use crate::cubes::{Cover, Cube, CubeSearch, Question, contradict};
use crate::predicates::Predicates;
use crate::rooms::{Rooms, affects, must_notify};
use crate::space::{Control, SlotKind, Space};
use crate::valuation::{PredId, PredSet};

/// The session for questions about states.
pub(super) const STATES: Cluster = Cluster(u32::MAX);

/// Most combinations of explicit values that one edge or property may read.
const MAX_COMBINATIONS: usize = 4096;

/// How a Boolean program is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Largest cubes; no limit if none.
    pub max_size: Option<usize>,
    /// Leave out what relates new values to each other.
    pub cartesian: bool,
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

/// The Boolean program of `space` under `predicates`; `initial` is the condition on
/// the data at the start.
pub fn export(
    space: &Space<'_>,
    predicates: &Predicates,
    initial: &Formula,
    prover: &mut Prover,
    search: &dyn CubeSearch,
    options: Options,
) -> Result<BooleanProgram, ExportError> {
    whole(space, (predicates, None), initial, prover, search, options)
}

/// The Boolean broadcast program of a program whose templates are kept.
pub fn export_templates(
    space: &Space<'_>,
    (predicates, rooms): (&Predicates, &Rooms),
    initial: &Formula,
    prover: &mut Prover,
    search: &dyn CubeSearch,
    options: Options,
) -> Result<BooleanProgram, ExportError> {
    let kept = (predicates, Some(rooms));
    whole(space, kept, initial, prover, search, options)
}

fn whole(
    space: &Space<'_>,
    (predicates, rooms): (&Predicates, Option<&Rooms>),
    initial: &Formula,
    prover: &mut Prover,
    search: &dyn CubeSearch,
    options: Options,
) -> Result<BooleanProgram, ExportError> {
    let slots = (0..predicates.len()).map(|p| (p, prover.literal(&predicates.formula(p, true))));
    let slots = slots.collect();
    let mut exporter = Exporter {
        space,
        predicates,
        rooms,
        active: None,
        passive: None,
        locals: vec![Vec::new(); space.threads.len()],
        prover,
        search,
        options,
        slots,
    };
    let mut program = BooleanProgram::default();
    exporter.variables(&mut program, initial)?;
    let mut commands = Commands::new(space);
    for thread in 0..space.threads.len() {
        if rooms.is_some_and(|r| r.is_twin(thread)) {
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
    pub(super) rooms: Option<&'e Rooms>,
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
}

fn variable(p: PredId) -> String {
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

impl<'e> Exporter<'e, '_> {
    /// The replicated thread that a predicate belongs to.
    fn owner(&self, p: PredId) -> Option<usize> {
        self.rooms.and_then(|r| r.owner(p))
    }

    /// Whether expressions written now may speak of a predicate.
    fn is_visible(&self, p: PredId) -> bool {
        let owner = self.owner(p);
        owner.is_none() || owner == self.active || owner == self.passive
    }

    /// The variable of a predicate: all copies of one have the same name.
    fn name(&self, p: PredId) -> String {
        variable(self.rooms.map_or(p, |r| r.origin(p)))
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

    /// Minimal cubes over the predicates in `cone` that contradict `base`.
    pub(super) fn contradictions(
        &mut self,
        cluster: Cluster,
        base: &[Lit],
        cone: &PredSet,
        ignored: &[&Cover],
    ) -> Result<Cover, Reason> {
        let seen = cone.iter().filter(|p| self.is_visible(*p));
        let slots: Vec<(usize, Lit)> = seen.map(|p| self.slots[p]).collect();
        let question = Question {
            cluster,
            base,
            slots: &slots,
            opposites: &[],
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

    /// Explicit variables are one Boolean per value.
    fn explicit_name(&self, position: usize, value: i64) -> String {
        let slot = &self.space.slots[self.space.explicit[position]];
        let sign = if value < 0 { "m" } else { "" };
        let name = match slot.kind {
            SlotKind::Local(thread, local) if self.is_replicated(thread) => {
                let template = self.space.threads[thread].template;
                let local = self.space.program.template(template).local(local);
                format!("own_{}", plain(&local.name))
            }
            SlotKind::Local(..) | SlotKind::Cell(_) => plain(&slot.name),
        };
        format!("{name}_is_{sign}{}", value.unsigned_abs())
    }

    fn is_replicated(&self, thread: usize) -> bool {
        self.rooms.is_some_and(|r| r.is_replicated(thread))
    }

    /// Declares a variable: of this thread, or shared.
    fn declare(&mut self, program: &mut BooleanProgram, owner: Option<usize>, variable: Variable) {
        match owner {
            Some(thread) => self.locals[thread].push(variable),
            None => program.shared.push(variable),
        }
    }

    fn explicit_values(&self, position: usize) -> &'e [i64] {
        let slot = &self.space.slots[self.space.explicit[position]];
        slot.explicit.as_ref().map_or(&[], |e| &e.values)
    }

    /// The values that the Boolean variables of an explicit variable stand for:
    /// its own, and 0, which dead locals have.
    fn tracked_values(&self, position: usize) -> Vec<i64> {
        let mut values = self.explicit_values(position).to_vec();
        values.push(0);
        values.sort_unstable();
        values.dedup();
        values
    }

    fn variables(
        &mut self,
        program: &mut BooleanProgram,
        initial: &Formula,
    ) -> Result<(), ExportError> {
        let facts = self.literals(initial);
        let mut open: Vec<PredId> = Vec::new();
        for p in 0..self.predicates.len() {
            let lit = self.slots[p].1;
            let mut known = |lit: Lit| {
                let mut lits = facts.clone();
                lits.push(lit);
                contradict(self.prover, STATES, &lits)
            };
            let init = if known(!lit)? {
                Value::True
            } else if known(lit)? {
                Value::False
            } else {
                Value::Any
            };
            let predicate = self.predicates.formula(p, true);
            let variable = Variable {
                name: self.name(p),
                init,
                note: Some(predicate.display(self.space).to_string()),
                at: At::default(),
            };
            // First states are conditions on shared variables only.
            if init == Value::Any && self.owner(p).is_none() {
                open.push(p);
            }
            self.declare(program, self.owner(p), variable);
        }
        self.explicit_variables(program);
        if open.len() > 1 && !self.options.cartesian {
            let mut cone = PredSet::new(self.predicates.len());
            for p in &open {
                cone.insert(*p);
            }
            let impossible = self.contradictions(STATES, &facts, &cone, &[])?;
            if !impossible.cubes().is_empty() {
                let cond = self.cover(&impossible).negated();
                program.initially.push(property(cond, None));
            }
        }
        Ok(())
    }

    /// One Boolean for each value; where several first values are possible, exactly
    /// one of them holds.
    fn explicit_variables(&mut self, program: &mut BooleanProgram) {
        let controls = self.space.initial_controls();
        for position in 0..self.space.explicit.len() {
            let slot = &self.space.slots[self.space.explicit[position]];
            let owner = match slot.kind {
                SlotKind::Local(thread, _) if self.is_replicated(thread) => Some(thread),
                SlotKind::Local(..) | SlotKind::Cell(_) => None,
            };
            let first = |v: i64| controls.iter().filter(|c| c.values[position] == v).count();
            let mut choices = Vec::new();
            for value in self.tracked_values(position) {
                let init = match first(value) {
                    0 => Value::False,
                    n if n == controls.len() => Value::True,
                    _ => Value::Any,
                };
                let name = self.explicit_name(position, value);
                if init == Value::Any && owner.is_none() {
                    choices.push(name.clone());
                }
                let variable = Variable {
                    name,
                    init,
                    note: Some(format!("{} = {value}", slot.name)),
                    at: At::default(),
                };
                self.declare(program, owner, variable);
            }
            if !choices.is_empty() {
                let one = |chosen: &String| {
                    Expr::all(choices.iter().map(|other| {
                        let name = Expr::name(other.clone());
                        if other == chosen {
                            name
                        } else {
                            name.negated()
                        }
                    }))
                };
                let cond = Expr::any(choices.iter().map(one));
                program.initially.push(property(cond, None));
            }
        }
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
        let mut locs: Vec<LocId> = cfg.locs().collect();
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
        let note = self
            .space
            .program
            .show_step(template, &code.cfg.edge(edge).step);
        for control in self.controls(&reads, span)? {
            let facts = self.explicit_facts(&reads, &control);
            for &id in commands.execute(&control, thread, edge)?.iter() {
                let branch = commands.branch(id).clone();
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

    fn branch(
        &mut self,
        branch: &Branch,
        facts: Expr,
        note: &str,
    ) -> Result<Vec<Statement>, ExportError> {
        let effect = effect(self.predicates, branch, 1);
        let cluster = Cluster((branch.thread as u32) << 20 | branch.edge.0);
        let guard = self.literals(&branch.guard);
        let refused = if guard.is_empty() {
            Cover::default()
        } else {
            self.contradictions(cluster, &guard, &effect.guard_cone, &[])?
        };
        let passes = Expr::all([facts, self.cover(&refused).negated()]);
        let note = Some(note.to_owned());
        let to = match branch.end {
            End::At(to) => to,
            End::Failed(_) => {
                let assert = StatementKind::Assert(passes.negated());
                let stop = StatementKind::Assume(Expr::value(Value::False));
                return Ok(vec![
                    statement(vec![], assert, note),
                    statement(vec![], stop, None),
                ]);
            }
        };
        let (targets, values) = self.updates(branch, &effect, cluster, &guard, &refused)?;
        let related = self.relation(branch, &effect, cluster, &guard, &refused, &values)?;
        let constrain = Expr::all([passes, related]);
        let trivial = *constrain.kind == ExprKind::Value(Value::True);
        let kind = match (targets.is_empty(), trivial) {
            (true, true) => StatementKind::Skip,
            (true, false) => StatementKind::Assume(constrain),
            (false, _) => StatementKind::Assign {
                targets,
                values: values.into_iter().map(|(_, value)| value).collect(),
                constrain: (!trivial).then_some(constrain),
            },
        };
        let goto = StatementKind::Goto(vec![label(self.location(branch.thread, to))]);
        Ok(vec![
            statement(vec![], kind, note),
            statement(vec![], goto, None),
        ])
    }

    /// The targets of the assignment and their values; a value of a predicate
    /// comes with its number.
    #[allow(clippy::type_complexity)] // two parallel lists
    fn updates(
        &mut self,
        branch: &Branch,
        effect: &Effect,
        cluster: Cluster,
        guard: &[Lit],
        refused: &Cover,
    ) -> Result<(Vec<Target>, Vec<(Option<PredId>, Expr)>), ExportError> {
        let mut targets = Vec::new();
        let mut values = Vec::new();
        for affected in effect.affected.iter().filter(|a| a.written) {
            let Some(place) = self.place(branch, affected.pred) else {
                continue;
            };
            let told = place.passive.is_some();
            self.passive = self.owner(affected.pred).filter(|_| told);
            let wp = self.prover.literal(&affected.wp);
            let base = |lit: Lit| guard.iter().copied().chain([lit]).collect::<Vec<Lit>>();
            let yes = self.contradictions(cluster, &base(!wp), &affected.cone, &[refused])?;
            let ignored = [refused, &yes];
            let no = self.contradictions(cluster, &base(wp), &affected.cone, &ignored)?;
            targets.push(place);
            let pred = (!told).then_some(affected.pred);
            values.push((pred, self.choose(&yes, &no)));
            self.passive = None;
        }
        for p in effect.lost.iter() {
            if let Some(place) = self.place(branch, p) {
                let pred = place.passive.is_none().then_some(p);
                targets.push(place);
                values.push((pred, Expr::value(Value::Any)));
            }
        }
        for (position, new) in &branch.explicit {
            for value in self.tracked_values(*position) {
                targets.push(target(self.explicit_name(*position, value)));
                let holds = if value == *new {
                    Value::True
                } else {
                    Value::False
                };
                values.push((None, Expr::value(holds)));
            }
        }
        Ok((targets, values))
    }

    /// Where a branch of the active thread puts the new value of a predicate: nowhere if
    /// another thread stands for those that have it.
    fn place(&self, branch: &Branch, p: PredId) -> Option<Target> {
        let mut place = target(self.name(p));
        let (Some(rooms), Some(owner)) = (self.rooms, self.owner(p)) else {
            return Some(place);
        };
        if owner == branch.thread {
            return Some(place);
        }
        let is_shared = |v: Var| rooms.owner_of(self.space, v).is_none();
        let loc = self.predicates.vars(p);
        debug_assert!(
            affects(&branch.written, loc),
            "only written predicates get values"
        );
        let notify = must_notify(&branch.written, loc, is_shared);
        place.passive = Some(self.passive_kind(owner));
        (notify && rooms.stands_for_passive(owner, branch.thread)).then_some(place)
    }

    /// `choose(F(wp), F(!wp))` in its simplest form.
    fn choose(&self, yes: &Cover, no: &Cover) -> Expr {
        let (yes, no) = (self.cover(yes), self.cover(no));
        match (&*yes.kind, &*no.kind) {
            (ExprKind::Value(Value::True), _) => Expr::value(Value::True),
            (_, ExprKind::Value(Value::True)) => Expr::value(Value::False),
            (ExprKind::Value(Value::False), ExprKind::Value(Value::False)) => {
                Expr::value(Value::Any)
            }
            // Both say the same: no choice is left.
            _ if yes.clone().negated() == no => yes,
            _ => Expr::new(ExprKind::Choose(yes, no)),
        }
    }

    /// What relates the new values that are not determined to each other.
    fn relation(
        &mut self,
        branch: &Branch,
        effect: &Effect,
        cluster: Cluster,
        guard: &[Lit],
        refused: &Cover,
        values: &[(Option<PredId>, Expr)],
    ) -> Result<Expr, ExportError> {
        let none = Ok(Expr::value(Value::True));
        if self.options.cartesian {
            return none;
        }
        let open: Vec<PredId> = values
            .iter()
            .filter(|(_, e)| !is_determined(e))
            .filter_map(|(p, _)| *p)
            .collect();
        if open.len() < 2 {
            return none;
        }
        let count = self.predicates.len();
        let mut cone = effect.guard_cone.clone();
        let mut slots = Vec::new();
        for p in open {
            let Some(wp) = self.new_value(branch, p) else {
                continue;
            };
            cone.extend(&self.predicates.cone(wp.free_vars(), 1));
            slots.push((count + p, self.prover.literal(&wp)));
        }
        let seen = cone.iter().filter(|p| self.is_visible(*p));
        slots.extend(seen.map(|p| self.slots[p]));
        let wide = |cover: &Cover| -> Cover {
            let widen = |cube: &Cube| {
                let mut wide = Cube::unknown(2 * count);
                cube.known().for_each(|(p, v)| wide.set(p, Some(v)));
                wide
            };
            cover.cubes().iter().map(widen).collect()
        };
        let refused = wide(refused);
        let question = Question {
            cluster,
            base: guard,
            slots: &slots,
            opposites: &[],
            width: 2 * count,
            max_size: self.options.max_size,
            ignored: &[&refused],
        };
        let cover = self.search.contradictions(self.prover, &question)?;
        // Cubes with one new value are in the choose expressions already.
        let relates = |cube: &&Cube| cube.known().filter(|(s, _)| *s >= count).count() > 1;
        let cubes: Cover = cover.cubes().iter().filter(relates).cloned().collect();
        Ok(self.cover(&cubes).negated())
    }

    /// What a predicate's new value says of the variables before the step; locals
    /// that are dead afterwards have any value.
    fn new_value(&self, branch: &Branch, p: PredId) -> Option<Formula> {
        let mut updates = branch.updates.clone();
        // Fresh variables of the branch are numbered from `first_fresh` on.
        let base = self.space.first_fresh()
            + branch.moves.iter().map(|m| m.chosen.len()).sum::<usize>() as u32;
        for (i, var) in branch.forgotten.iter().enumerate() {
            updates.set(*var, Term::var(Var(base + i as u32)));
        }
        self.predicates.formula(p, true).substitute(&updates).ok()
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

fn target(name: String) -> Target {
    Target {
        name,
        passive: None,
        at: At::default(),
    }
}

/// Whether a value leaves nothing open.
fn is_determined(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Value(Value::Any) | ExprKind::Choose(..) => false,
        ExprKind::Value(Value::False | Value::True) | ExprKind::Name(_) => true,
        ExprKind::Not(_) | ExprKind::Binary(..) => true,
        ExprKind::Passive(..) | ExprKind::Next(_) | ExprKind::Location(..) => true,
        ExprKind::Cond(..) => false,
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
