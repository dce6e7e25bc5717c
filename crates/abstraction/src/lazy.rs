//! The strategy *lazy* (default): ask the solver only about valuations that the
//! search meets, and remember. A post is computed predicate by predicate: after
//! branch `b` from cube `c`, predicate `p` is true if `c & guard(b) & !wp(b, p)`
//! has no model, false if `c & guard(b) & wp(b, p)` has none, else unknown.
//! Predicates that the branch does not write keep their value; where they share
//! a variable with the guard they may become known. Predicates over locals that
//! die are forgotten; what they and predicates over
//! overwritten variables say together about the others is kept first.
//!
//! A predicate over a set is true if all elements satisfy it, false if none does
//! [Baumann et al., VMCAI 2018, section 4.2]: where elements join, its value is one that it has for these and
//! had for the others. An element that is taken satisfies what all satisfy.
//!
//! Of the cube only the cone of influence is given to the solver. Leaving out
//! literals is sound, it only loses precision.
//!
//! Posts are remembered by branch and state as long as the predicates stay, and by
//! the literals that they ask about for as long as the prover lives ([`posts`](crate::posts)).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use palisade_logic::substitute::Substitution;
use palisade_logic::{Answer, Cluster, Formula, Lit, Prover, Purpose, Reason, Term, Var};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::command::{Branch, BranchId, End};
use crate::posts::{Answers, Asked, Posts, Question};
use crate::predicates::Predicates;
use crate::transformer::{Transformer, Work, cases};
use crate::valuation::{PredId, PredSet, Valuation};

/// The session for questions about states and initial values.
const STATES: Cluster = Cluster(u32::MAX);

/// Counters of the strategy.
#[derive(Clone, Copy, Debug, Default)]
pub struct LazyStats {
    /// Posts asked for.
    pub posts: u64,
    /// Posts answered from memory.
    pub hits: u64,
}

/// A predicate whose value a branch decides anew.
struct Target {
    pred: PredId,
    /// What must hold before the branch for the predicate to hold after it: one, or one
    /// for each way to take an element of a set that changes.
    wps: Vec<Lit>,
    /// Known predicates that may matter.
    cone: PredSet,
    /// Whether the branch writes it; else it is only strengthened.
    written: bool,
    /// Whether its cases are split if it is marked; not if it is looked at only for
    /// what is about to be forgotten.
    splits: bool,
}

/// What is to be done for one branch under the current predicates.
struct Plan {
    cluster: Cluster,
    guard: Vec<Lit>,
    guard_cone: PredSet,
    targets: Vec<Target>,
    /// Predicates that do not keep their value.
    cleared: PredSet,
    /// Predicates whose value the result depends on.
    relevant: PredSet,
    /// Elements taken from sets.
    picks: Vec<(Var, Var)>,
    /// The targets in an order by which [`Posts`] knows them. They are decided in the
    /// order of their predicates: with cases, what comes after a split knows more, so
    /// that a post that was kept may be another sound one than this plan would compute.
    order: Vec<usize>,
    /// The number of all this in [`Posts`]; none where sets change or are taken from.
    question: Option<u32>,
}

/// The lazy strategy.
pub struct Lazy<'a> {
    prover: &'a mut Prover,
    depth: usize,
    /// Branches for which all that is known counts.
    sharp: FxHashSet<BranchId>,
    plans: FxHashMap<BranchId, Rc<Plan>>,
    posts: FxHashMap<(BranchId, Valuation), Rc<[Valuation]>>,
    questions: FxHashMap<(Formula, Valuation), bool>,
    literals: Vec<Lit>,
    kept: Rc<RefCell<Posts>>,
    /// Counters.
    pub stats: LazyStats,
}

impl<'a> Lazy<'a> {
    /// Uses `prover`, whose memo outlives this.
    pub fn new(prover: &'a mut Prover) -> Self {
        Self::sharing(prover, Rc::default())
    }

    /// Uses `prover` and the posts that were computed with it before.
    pub fn sharing(prover: &'a mut Prover, kept: Rc<RefCell<Posts>>) -> Self {
        Self {
            prover,
            kept,
            depth: 1,
            sharp: FxHashSet::default(),
            plans: FxHashMap::default(),
            posts: FxHashMap::default(),
            questions: FxHashMap::default(),
            literals: Vec::new(),
            stats: LazyStats::default(),
        }
    }

    fn literal(&mut self, predicates: &Predicates, p: PredId, value: bool) -> Lit {
        while self.literals.len() <= p {
            let next = self.literals.len();
            let lit = self.prover.literal(&predicates.formula(next, true));
            self.literals.push(lit);
        }
        if value {
            self.literals[p]
        } else {
            !self.literals[p]
        }
    }

    fn cube(
        &mut self,
        predicates: &Predicates,
        state: &Valuation,
        cone: &PredSet,
        picks: &[(Var, Var)],
    ) -> Vec<Lit> {
        let known: Vec<(PredId, bool)> = state.known().filter(|(p, _)| cone.contains(*p)).collect();
        let mut lits = Vec::with_capacity(known.len());
        for (p, value) in known {
            lits.push(self.literal(predicates, p, value));
            // What all elements of a set satisfy, one that was taken from it does.
            for (set, element) in picks {
                if predicates.vars(p).contains(set) {
                    let one = Substitution::single(*set, Term::var(*element));
                    if let Ok(formula) = predicates.formula(p, value).substitute(&one) {
                        lits.push(self.prover.literal(&formula));
                    }
                }
            }
        }
        lits
    }

    fn plan(&mut self, predicates: &Predicates, id: BranchId, branch: &Branch) -> Rc<Plan> {
        if let Some(plan) = self.plans.get(&id) {
            return Rc::clone(plan);
        }
        let depth = if self.sharp.contains(&id) {
            predicates.len()
        } else {
            self.depth
        };
        let plan = Rc::new(self.make_plan(predicates, branch, depth));
        self.plans.insert(id, Rc::clone(&plan));
        plan
    }

    fn make_plan(&mut self, predicates: &Predicates, branch: &Branch, depth: usize) -> Plan {
        let guard_vars = branch.with_sets(branch.guard.free_vars());
        let guard_cone = predicates.cone(guard_vars.iter().copied(), depth);
        let mut relevant = guard_cone.clone();
        let mut cleared = PredSet::new(predicates.len());
        let mut targets = Vec::new();
        let after = match branch.end {
            End::At(_) => 0..predicates.len(),
            End::Failed(_) => 0..0,
        };
        let lost = lost_vars(predicates, branch);
        for p in after {
            let has = |vars: &[Var]| {
                predicates
                    .vars(p)
                    .iter()
                    .any(|v| vars.binary_search(v).is_ok())
            };
            let written = has(&branch.written);
            if has(&branch.forgotten) {
                cleared.insert(p);
                continue;
            }
            let splits = written || has(&guard_vars);
            if !splits && !predicates.vars(p).iter().all(|v| lost.contains(v)) {
                continue;
            }
            // A weakest precondition whose numbers grow out of range stays unknown.
            let formula = predicates.formula(p, true);
            let ways = branch.values_of(predicates.vars(p));
            let wps: Result<Vec<Formula>, _> =
                ways.iter().map(|way| formula.substitute(way)).collect();
            let Ok(wps) = wps else {
                cleared.insert(p);
                continue;
            };
            let vars = wps.iter().flat_map(Formula::free_vars).collect();
            let vars = branch
                .with_sets(vars)
                .into_iter()
                .chain(guard_vars.iter().copied());
            let cone = predicates.cone(vars, depth);
            relevant.extend(&cone);
            if written {
                cleared.insert(p);
            }
            relevant.insert(p);
            targets.push(Target {
                pred: p,
                wps: wps.iter().map(|wp| self.prover.literal(wp)).collect(),
                cone,
                written,
                splits,
            });
        }
        // An order that does not depend on how predicates are numbered here.
        let mut order: Vec<usize> = (0..targets.len()).collect();
        order.sort_by_key(|&t| self.literal(predicates, targets[t].pred, true));
        let guard = branch
            .guard
            .conjuncts()
            .iter()
            .map(|f| self.prover.literal(f))
            .collect();
        let cluster = Cluster((branch.thread as u32) << 20 | branch.edge.0);
        let mut plan = Plan {
            cluster,
            guard,
            guard_cone,
            targets,
            order,
            cleared,
            relevant,
            picks: branch.picks.clone(),
            question: None,
        };
        let question = self.question(predicates, &plan, depth);
        plan.question = question.map(|q| self.kept.borrow_mut().number(q));
        plan
    }

    /// The plan in literals. What is taken from sets is not said by literals.
    fn question(&mut self, predicates: &Predicates, plan: &Plan, depth: usize) -> Option<Question> {
        if !plan.picks.is_empty() {
            return None;
        }
        let asked = plan.order.iter().map(|&t| {
            let target = &plan.targets[t];
            let [wp] = target.wps[..] else {
                return None;
            };
            Some(Asked {
                pred: self.literal(predicates, target.pred, true),
                wp,
                written: target.written,
                splits: target.splits && predicates.is_split(target.pred),
            })
        });
        let asked: Option<Vec<Asked>> = asked.collect();
        let guard = plan.guard.clone();
        asked.map(|asked| Question {
            guard,
            depth,
            asked,
        })
    }

    fn unsat(&mut self, cluster: Cluster, lits: &[Lit], purpose: Purpose) -> Result<bool, Reason> {
        match self.prover.check(cluster, lits, purpose) {
            Answer::Sat => Ok(false),
            Answer::Unsat(_) => Ok(true),
            Answer::Unknown(reason @ (Reason::Cancelled | Reason::Deadline)) => Err(reason),
            // Not knowing is answered by keeping the predicate unknown or the
            // branch possible: sound.
            Answer::Unknown(
                Reason::QueryTime
                | Reason::Solver(_)
                | Reason::ModelTooLarge
                | Reason::ModelRejected,
            ) => Ok(false),
        }
    }

    /// The post of a state that knows nothing but what is relevant: recalled, or
    /// computed and kept.
    fn recall(
        &mut self,
        predicates: &Predicates,
        plan: &Plan,
        state: &Valuation,
    ) -> Result<Rc<[Valuation]>, Reason> {
        let Some(question) = plan.question else {
            return self.compute(predicates, plan, state);
        };
        if plan.guard.is_empty() && plan.targets.is_empty() {
            return self.compute(predicates, plan, state);
        }
        let mut lits = self.cube(predicates, state, &plan.relevant, &[]);
        lits.sort_unstable();
        let key = (question, lits.into_boxed_slice());
        let known = self.kept.borrow_mut().get(&key);
        if let Some(known) = known {
            self.stats.hits += 1;
            return Ok(rebuilt(plan, state, &known));
        }
        let results = self.compute(predicates, plan, state)?;
        let value = |after: &Valuation, t: usize| after.get(plan.targets[t].pred);
        let values = |after: &Valuation| plan.order.iter().map(|&t| value(after, t)).collect();
        let answers: Answers = results.iter().map(values).collect();
        self.kept.borrow_mut().keep(key, answers);
        Ok(results)
    }

    fn compute(
        &mut self,
        predicates: &Predicates,
        plan: &Plan,
        state: &Valuation,
    ) -> Result<Rc<[Valuation]>, Reason> {
        if !plan.guard.is_empty() {
            let mut lits = self.cube(predicates, state, &plan.guard_cone, &plan.picks);
            lits.extend(&plan.guard);
            if self.unsat(plan.cluster, &lits, Purpose::Guard)? {
                return Ok(Rc::new([]));
            }
        }
        let mut results = Vec::new();
        let mut stack = vec![(0, state.without(&plan.cleared), Vec::new())];
        while let Some((from, mut after, assumed)) = stack.pop() {
            if self.decide_targets(
                predicates, plan, state, from, &mut after, &assumed, &mut stack,
            )? {
                results.push(after);
            }
        }
        results.sort();
        results.dedup();
        Ok(results.into())
    }

    /// Decides the targets from number `from` on; at a split, pushes both cases and
    /// says that this one is not complete.
    #[allow(clippy::too_many_arguments)] // the state of one depth-first search
    fn decide_targets(
        &mut self,
        predicates: &Predicates,
        plan: &Plan,
        state: &Valuation,
        from: usize,
        after: &mut Valuation,
        assumed: &[Lit],
        stack: &mut Vec<(usize, Valuation, Vec<Lit>)>,
    ) -> Result<bool, Reason> {
        for (number, target) in plan.targets.iter().enumerate().skip(from) {
            if !target.written && state.get(target.pred).is_some() {
                continue;
            }
            let value = self.value(predicates, plan, state, target, assumed)?;
            after.set(target.pred, value);
            // Predicates over sets are never marked, so there is one way.
            if let [wp] = target.wps[..]
                && value.is_none()
                && target.splits
                && predicates.is_split(target.pred)
            {
                for choice in [false, true] {
                    let mut case = after.clone();
                    case.set(target.pred, Some(choice));
                    let mut assumed = assumed.to_vec();
                    assumed.push(if choice { wp } else { !wp });
                    stack.push((number + 1, case, assumed));
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn value(
        &mut self,
        predicates: &Predicates,
        plan: &Plan,
        state: &Valuation,
        target: &Target,
        assumed: &[Lit],
    ) -> Result<Option<bool>, Reason> {
        let mut lits = self.cube(predicates, state, &target.cone, &plan.picks);
        lits.extend(&plan.guard);
        lits.extend(assumed);
        let mut common = None;
        for wp in &target.wps {
            // Of a set all elements must agree.
            match (self.decide(plan.cluster, &mut lits, *wp)?, common) {
                (None, _) => return Ok(None),
                (Some(value), Some(other)) if value != other => return Ok(None),
                (value, _) => common = value,
            }
        }
        Ok(common)
    }

    /// The value that `lits` give to `wp`, if they give one.
    fn decide(
        &mut self,
        cluster: Cluster,
        lits: &mut Vec<Lit>,
        wp: Lit,
    ) -> Result<Option<bool>, Reason> {
        if wp == Lit::TRUE || wp == Lit::FALSE {
            return Ok(Some(wp == Lit::TRUE));
        }
        if lits.contains(&wp) || lits.contains(&!wp) {
            return Ok(Some(lits.contains(&wp)));
        }
        if lits.is_empty() {
            return Ok(None);
        }
        lits.push(!wp);
        let is_true = self.unsat(cluster, lits, Purpose::Abstract);
        lits.pop();
        if is_true? {
            return Ok(Some(true));
        }
        lits.push(wp);
        let is_false = self.unsat(cluster, lits, Purpose::Abstract);
        lits.pop();
        Ok(is_false?.then_some(false))
    }
}

/// The results of a post from the values of what was asked about.
fn rebuilt(plan: &Plan, state: &Valuation, answers: &Answers) -> Rc<[Valuation]> {
    let kept = state.without(&plan.cleared);
    let result = |values: &[Option<bool>]| {
        let mut after = kept.clone();
        for (&target, value) in plan.order.iter().zip(values) {
            after.set(plan.targets[target].pred, *value);
        }
        after
    };
    let mut results: Vec<Valuation> = answers.iter().map(|values| result(values)).collect();
    results.sort();
    results.into()
}

/// The variables that predicates over what the branch overwrites or forgets relate
/// it to. What such predicates say together about these variables would be lost
/// with it: `a <= m` and `m <= b`, say, when `m` is overwritten. So predicates over
/// these variables alone are decided anew.
fn lost_vars(predicates: &Predicates, branch: &Branch) -> BTreeSet<Var> {
    let gone = branch.written.iter().chain(&branch.forgotten);
    let over: BTreeSet<PredId> = gone
        .flat_map(|var| predicates.over(*var))
        .copied()
        .collect();
    over.iter()
        .flat_map(|p| predicates.vars(*p))
        .copied()
        .collect()
}

impl Transformer for Lazy<'_> {
    fn post(
        &mut self,
        predicates: &Predicates,
        id: BranchId,
        branch: &Branch,
        state: &Valuation,
    ) -> Result<Rc<[Valuation]>, Reason> {
        let plan = self.plan(predicates, id, branch);
        self.stats.posts += 1;
        let key = (id, state.project(&plan.relevant));
        let changes = if let Some(known) = self.posts.get(&key) {
            self.stats.hits += 1;
            Rc::clone(known)
        } else {
            let result = self.recall(predicates, &plan, &key.1)?;
            self.posts.insert(key, Rc::clone(&result));
            result
        };
        let kept = state.without(&plan.cleared).without(&plan.relevant);
        Ok(changes.iter().map(|change| kept.with(change)).collect())
    }

    fn may(
        &mut self,
        predicates: &Predicates,
        formula: &Formula,
        state: &Valuation,
    ) -> Result<bool, Reason> {
        match formula {
            Formula::True => return Ok(true),
            Formula::False => return Ok(false),
            Formula::Literal(_) | Formula::And(_) | Formula::Or(_) | Formula::Iff(_) => {}
        }
        let cone = predicates.cone(formula.free_vars(), self.depth);
        let key = (formula.clone(), state.project(&cone));
        if let Some(&known) = self.questions.get(&key) {
            return Ok(known);
        }
        let mut lits = self.cube(predicates, state, &cone, &[]);
        lits.extend(formula.conjuncts().iter().map(|f| self.prover.literal(f)));
        let answer = !self.unsat(STATES, &lits, Purpose::Guard)?;
        self.questions.insert(key, answer);
        Ok(answer)
    }

    fn initial(
        &mut self,
        predicates: &Predicates,
        formula: &Formula,
    ) -> Result<Rc<[Valuation]>, Reason> {
        let facts: Vec<Lit> = formula
            .conjuncts()
            .iter()
            .map(|f| self.prover.literal(f))
            .collect();
        if self.unsat(STATES, &facts, Purpose::Guard)? {
            return Ok(Rc::new([]));
        }
        cases(predicates, facts, |facts, p| {
            let lit = self.literal(predicates, p, true);
            let mut decide = |lit: Lit| {
                let lits = [facts, &[lit]].concat();
                self.unsat(STATES, &lits, Purpose::Abstract)
            };
            if decide(!lit)? {
                return Ok((Some(true), lit));
            }
            Ok((decide(lit)?.then_some(false), lit))
        })
    }

    fn predicates_changed(&mut self) {
        self.plans.clear();
        self.posts.clear();
        self.questions.clear();
    }

    fn prover(&mut self) -> &mut Prover {
        self.prover
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn sharpen(&mut self, branch: BranchId) -> bool {
        let is_new = self.sharp.insert(branch);
        if is_new {
            self.plans.remove(&branch);
            self.posts.retain(|(of, _), _| *of != branch);
        }
        is_new
    }

    fn set_depth(&mut self, depth: usize) {
        self.depth = depth;
        self.predicates_changed();
    }

    fn work(&self) -> Work {
        Work {
            posts: self.stats.posts,
            remembered: self.stats.hits,
            ..Work::default()
        }
    }
}
