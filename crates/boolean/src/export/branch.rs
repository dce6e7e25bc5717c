//! The statement of a *branch*: parallel assignments of the predicates that it changes, with the
//! constraint under which it happens ([Dan et al., SAS 2013, section 4.1]; [Donaldson et al., CAV 2011, section 2.2]).

use palisade_logic::{Cluster, Formula, Lit, Term, Var};

use super::{ExportError, Exporter, label, statement};
use crate::ast::{At, Expr, ExprKind, Op, Statement, StatementKind, Target, Value};
use crate::scope::{affects, must_notify};
use palisade_abstraction::affected::{Affected, Effect, effect};
use palisade_abstraction::command::{Branch, End};
use palisade_abstraction::cubes::{Cover, Cube, Question};
use palisade_abstraction::valuation::PredId;

impl Exporter<'_, '_> {
    pub(super) fn branch(
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
            let among = (&effect.guard_cone, &branch.picks[..]);
            self.contradictions(cluster, &guard, among, &[])?
        };
        let sharper = self.sharpened(branch, &effect, cluster, &guard, &refused)?;
        let passes = Expr::all([facts, self.cover(&sharper).negated()]);
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
        let (values, decided) = self.decided(values);
        let related = self.relation(branch, &effect, cluster, &guard, &refused, &values)?;
        let constrain = Expr::all([passes, decided, related]);
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

    /// `b = choose(yes, no)` as `b = choose(yes, 0)` and `no => !'b`. In states of the program
    /// not both hold, so that this is the same; but where `no` is known to hold and `yes` is
    /// not known, a 3-valued search finds only in this form that `b` becomes 0.
    fn decided(&self, values: Vec<(Option<PredId>, Expr)>) -> (Vec<(Option<PredId>, Expr)>, Expr) {
        if self.options.cartesian {
            return (values, Expr::value(Value::True));
        }
        let mut constraints = Vec::new();
        let values = values.into_iter().map(|(pred, value)| {
            let (Some(p), ExprKind::Choose(yes, no)) = (pred, &*value.kind) else {
                return (pred, value);
            };
            let never = Expr::value(Value::False);
            if *yes == never || *no == never {
                return (pred, value);
            }
            let next = Expr::new(ExprKind::Next(self.name(p)));
            let zero = ExprKind::Binary(Op::Implies, no.clone(), next.negated());
            constraints.push(Expr::new(zero));
            let one = ExprKind::Choose(yes.clone(), never);
            (pred, Expr::new(one))
        });
        (values.collect(), Expr::all(constraints))
    }

    /// The cubes that contradict the guard, with those that say what it makes known: of a
    /// predicate that the branch does not write, what the guard and a cube decide of it. A
    /// search that does not know the predicate learns it from them.
    fn sharpened(
        &mut self,
        branch: &Branch,
        effect: &Effect,
        cluster: Cluster,
        guard: &[Lit],
        refused: &Cover,
    ) -> Result<Cover, ExportError> {
        let mut all = refused.clone();
        if guard.is_empty() {
            return Ok(all);
        }
        for affected in effect.affected.iter().filter(|a| !a.written) {
            let p = affected.pred;
            if self.predicates.is_of_set(p) || !self.is_visible(p) {
                continue;
            }
            let wp = self.prover.literal(&affected.wp);
            for value in [true, false] {
                let opposite = if value { !wp } else { wp };
                let base: Vec<Lit> = guard.iter().copied().chain([opposite]).collect();
                let among = (&affected.cone, &branch.picks[..]);
                let decides = self.contradictions(cluster, &base, among, &[refused])?;
                for cube in decides.cubes() {
                    if cube.get(p).is_none() {
                        let mut cube = cube.clone();
                        cube.set(p, Some(!value));
                        all.insert(cube);
                    }
                }
            }
        }
        Ok(all)
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
        for affected in &effect.affected {
            if self.predicates.is_of_set(affected.pred) {
                let both = self.set_update(branch, affected, cluster, guard, refused)?;
                for (value, known) in [(true, both.0), (false, both.1)] {
                    targets.push(target(self.of_set(affected.pred, value)));
                    values.push((None, known));
                }
                continue;
            }
            if !affected.written {
                continue;
            }
            let Some(place) = self.place(branch, affected.pred) else {
                continue;
            };
            let told = place.passive.is_some();
            self.passive = self.owner(affected.pred).filter(|_| told);
            let wp = self.prover.literal(&affected.wp);
            let base = |lit: Lit| guard.iter().copied().chain([lit]).collect::<Vec<Lit>>();
            let among = (&affected.cone, &branch.picks[..]);
            let yes = self.contradictions(cluster, &base(!wp), among, &[refused])?;
            let ignored = [refused, &yes];
            let no = self.contradictions(cluster, &base(wp), among, &ignored)?;
            targets.push(place);
            let pred = (!told).then_some(affected.pred);
            values.push((pred, self.choose(&yes, &no)));
            self.passive = None;
        }
        for p in effect.lost.iter() {
            if self.predicates.is_of_set(p) {
                for value in [true, false] {
                    targets.push(target(self.of_set(p, value)));
                    values.push((None, Expr::value(Value::False)));
                }
            } else if let Some(place) = self.place(branch, p) {
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

    /// When all elements of a set satisfy a predicate after a branch, and when none does, as far
    /// as that is known. What was known stays so if the set does not change.
    fn set_update(
        &mut self,
        branch: &Branch,
        affected: &Affected,
        cluster: Cluster,
        guard: &[Lit],
        refused: &Cover,
    ) -> Result<(Expr, Expr), ExportError> {
        let (all, none) = affected.outcomes();
        let among = (&affected.cone, &branch.picks[..]);
        let yes = self.of_set(affected.pred, true);
        let no = self.of_set(affected.pred, false);
        let mut known = |wanted: &Formula, before: String| -> Result<Expr, ExportError> {
            let not = !self.prover.literal(wanted);
            let base: Vec<Lit> = guard.iter().copied().chain([not]).collect();
            let cover = self.contradictions(cluster, &base, among, &[refused])?;
            let kept = (!affected.written).then(|| Expr::name(before));
            Ok(Expr::any(kept.into_iter().chain([self.cover(&cover)])))
        };
        Ok((known(&all, yes)?, known(&none, no)?))
    }

    /// Where a branch of the active thread puts the new value of a predicate: nowhere if
    /// another thread stands for those that have it.
    fn place(&self, branch: &Branch, p: PredId) -> Option<Target> {
        let mut place = target(self.name(p));
        let (Some(scopes), Some(owner)) = (self.scopes, self.owner(p)) else {
            return Some(place);
        };
        if owner == branch.thread {
            return Some(place);
        }
        let is_shared = |v: Var| scopes.owner_of(self.space, v).is_none();
        let loc = self.predicates.vars(p);
        debug_assert!(
            affects(&branch.written, loc),
            "only written predicates get values"
        );
        let notify = must_notify(&branch.written, loc, is_shared);
        place.passive = Some(self.passive_kind(owner));
        (notify && scopes.stands_for_passive(owner, branch.thread)).then_some(place)
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
        if !self.options.relate {
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
