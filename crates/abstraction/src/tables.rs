//! *Tables* of cubes as abstract transformers: the strategies `enumerate`, `cores`,
//! `cubes` and `program`. For each branch there is a table, made when the search first meets the
//! branch: `F(!guard)` for the guard (a state passes unless it holds,
//! `G(phi) = !F(!phi)`), and for each affected predicate `F(wp)` and `F(!wp)` under
//! the guard, evaluated as `choose(F(wp), F(!wp))` [Dan et al., SAS 2013, section 4.1]. A post
//! only compares bit masks.
//!
//! Evaluation is 3-valued: a disjunction holds if one of its cubes is known to
//! hold. All minimal cubes are in the table, so nothing is lost by that, except
//! where the largest size of cubes cuts them off.
//!
//! Predicates marked for case splitting are treated as in [`crate::lazy`]: where
//! such a predicate stays unknown both values are tried, and the values of later
//! predicates come from tables that assume the choice. Those are made on demand.

use std::collections::BTreeSet;
use std::rc::Rc;

use palisade_logic::substitute::Substitution;
use palisade_logic::{
    Assignment, Cluster, Formula, Int, Key, Lit, Prover, Reason, Relation, Term, Var,
};
use rustc_hash::FxHashMap;

use crate::affected::effect;
use crate::command::{Branch, BranchId};
use crate::cores::ByCores;
use crate::cubes::{Cover, Cube, CubeSearch, Question, contradict, size};
use crate::enumerate::BySize;
use crate::extrapolate::{Extrapolated, Fact, Listed, literals_of};
use crate::predicates::Predicates;
use crate::transformer::{Transformer, Work, cases};
use crate::valuation::{PredId, PredSet, Valuation};

/// The session for questions about states and initial values.
const STATES: Cluster = Cluster(u32::MAX);

/// What the tables hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableStats {
    /// Branches that have a table.
    pub tables: usize,
    /// Cubes with more than one literal, over all tables.
    pub cubes: usize,
    /// Literals of the largest cube.
    pub largest: usize,
}

/// `F(wp)` and `F(!wp)`.
type Choose = Rc<(Cover, Cover)>;

struct Target {
    pred: PredId,
    wp: Lit,
    /// What must hold for the predicate to be false afterwards: `!wp`, except over sets.
    none: Lit,
    cone: PredSet,
    written: bool,
    /// By the choices assumed for predicates before it.
    choose: FxHashMap<Vec<Lit>, Choose>,
}

struct Table {
    cluster: Cluster,
    guard: Vec<Lit>,
    refused: Cover,
    cleared: PredSet,
    targets: Vec<Target>,
    /// Elements taken from sets.
    picks: Vec<(Var, Var)>,
}

/// A transformer that looks up tables of cubes.
pub struct Tables<'a> {
    prover: &'a mut Prover,
    search: Box<dyn CubeSearch>,
    max_size: Option<usize>,
    depth: usize,
    by_branch: FxHashMap<BranchId, Table>,
    questions: FxHashMap<Formula, Rc<Cover>>,
    /// The literals of the questions.
    questioned: FxHashMap<Formula, Vec<Lit>>,
    literals: Vec<Lit>,
}

/// A case of a post that is being computed: the next target, what is known so
/// far, the choices that were assumed.
type Case = (usize, Valuation, Vec<Lit>);

impl<'a> Tables<'a> {
    /// The strategy `enumerate`, with cubes of at most `max_size` literals.
    pub fn enumerate(prover: &'a mut Prover, max_size: Option<usize>) -> Self {
        Self::new(prover, Box::new(BySize), max_size)
    }

    /// The strategy `cores`, with cubes of at most `max_size` literals.
    pub fn cores(prover: &'a mut Prover, max_size: Option<usize>) -> Self {
        Self::new(prover, Box::new(ByCores), max_size)
    }

    /// The strategy `cubes`: single literals and the cubes of a list ([Dan et al., SAS 2013],
    /// section 4.3).
    pub fn listed(prover: &'a mut Prover, cubes: Listed) -> Self {
        Self::new(prover, Box::new(cubes), None)
    }

    /// The strategy `program`: the facts of a Boolean program under SC ([Baumann et al., VMCAI 2018],
    /// section 4.3). No solver is asked.
    pub fn extrapolated(prover: &'a mut Prover, facts: Extrapolated) -> Self {
        Self::new(prover, Box::new(facts), None)
    }

    /// Tables made by any search for cubes.
    pub fn new(
        prover: &'a mut Prover,
        search: Box<dyn CubeSearch>,
        max_size: Option<usize>,
    ) -> Self {
        Self {
            prover,
            search,
            max_size,
            depth: 1,
            by_branch: FxHashMap::default(),
            questions: FxHashMap::default(),
            questioned: FxHashMap::default(),
            literals: Vec::new(),
        }
    }

    /// The size of the tables made so far.
    pub fn stats(&self) -> TableStats {
        let targets = |t: &Table| -> Vec<Choose> {
            let chooses = t.targets.iter().flat_map(|target| target.choose.values());
            chooses.cloned().collect()
        };
        let mut stats = TableStats {
            tables: self.by_branch.len(),
            ..TableStats::default()
        };
        for table in self.by_branch.values() {
            stats.add(&table.refused);
            for choose in targets(table) {
                stats.add(&choose.0);
                stats.add(&choose.1);
            }
        }
        for cover in self.questions.values() {
            stats.add(cover);
        }
        stats
    }

    /// All cubes of two or more literals in the tables, each once: the cubes of the
    /// Boolean program as far as the search has met it.
    pub fn all_cubes(&self) -> BTreeSet<Cube> {
        let mut all = BTreeSet::new();
        let mut add = |cover: &Cover| {
            let cubes = cover.cubes().iter().filter(|cube| size(cube) > 1);
            all.extend(cubes.cloned());
        };
        for table in self.by_branch.values() {
            add(&table.refused);
            for target in &table.targets {
                for choose in target.choose.values() {
                    add(&choose.0);
                    add(&choose.1);
                }
            }
        }
        for cover in self.questions.values() {
            add(cover);
        }
        all
    }

    /// What the tables say, as facts: cubes with what they contradict.
    pub fn facts(&self, predicates: &Predicates) -> BTreeSet<Fact> {
        let mut all = BTreeSet::new();
        let mut add = |cover: &Cover, base: &[Lit]| {
            let formulas = base.iter().map(|lit| self.prover.formula(*lit));
            let base: BTreeSet<Formula> = formulas.flat_map(|f| f.conjuncts().to_vec()).collect();
            for cube in cover.cubes() {
                let cube = literals_of(predicates, cube);
                let base = base.clone();
                all.insert(Fact { cube, base });
            }
        };
        for table in self.by_branch.values() {
            add(&table.refused, &table.guard);
            for target in &table.targets {
                for (assumed, choose) in &target.choose {
                    let with = |last: Lit| [&table.guard[..], assumed, &[last]].concat();
                    add(&choose.0, &with(!target.wp));
                    add(&choose.1, &with(!target.none));
                }
            }
        }
        for (formula, cover) in &self.questions {
            let lits = self.questioned.get(formula);
            add(cover, lits.map_or(&[], Vec::as_slice));
        }
        all.retain(|fact| !fact.base.is_empty());
        all
    }

    fn literal(&mut self, predicates: &Predicates, p: PredId) -> Lit {
        while self.literals.len() <= p {
            let next = self.literals.len();
            let lit = self.prover.literal(&predicates.formula(next, true));
            self.literals.push(lit);
        }
        self.literals[p]
    }

    /// The minimal cubes over `cone` that contradict `base`.
    fn cubes(
        &mut self,
        predicates: &Predicates,
        cluster: Cluster,
        base: &[Lit],
        (cone, picks): (&PredSet, &[(Var, Var)]),
        ignored: &[&Cover],
    ) -> Result<Cover, Reason> {
        let mut slots: Vec<(usize, Lit)> = Vec::new();
        let mut opposites = Vec::new();
        for p in cone.iter() {
            let lit = self.literal(predicates, p);
            let (yes, no) = match of_elements(predicates, p, picks) {
                Some((yes, no)) => (self.prover.literal(&yes), self.prover.literal(&no)),
                None => (lit, !lit),
            };
            slots.push((p, yes));
            opposites.push(no);
        }
        let question = Question {
            cluster,
            base,
            slots: &slots,
            opposites: &opposites,
            width: predicates.len(),
            max_size: self.max_size,
            ignored,
        };
        self.search.contradictions(self.prover, &question)
    }

    fn make_table(&mut self, predicates: &Predicates, branch: &Branch) -> Result<Table, Reason> {
        let effect = effect(predicates, branch, self.depth);
        let cluster = Cluster((branch.thread as u32) << 20 | branch.edge.0);
        let guard = branch.guard.conjuncts().iter();
        let guard: Vec<Lit> = guard.map(|f| self.prover.literal(f)).collect();
        let refused = if guard.is_empty() {
            Cover::default()
        } else {
            let among = (&effect.guard_cone, &branch.picks[..]);
            self.cubes(predicates, cluster, &guard, among, &[])?
        };
        let targets = effect.affected.into_iter().map(|a| {
            let (all, none) = a.outcomes();
            Target {
                pred: a.pred,
                wp: self.prover.literal(&all),
                none: self.prover.literal(&none),
                cone: a.cone,
                written: a.written,
                choose: FxHashMap::default(),
            }
        });
        Ok(Table {
            cluster,
            guard,
            refused,
            cleared: effect.cleared,
            targets: targets.collect(),
            picks: branch.picks.clone(),
        })
    }

    /// `F(wp)` and `F(!wp)` of a target under the guard and `assumed`.
    fn choose(
        &mut self,
        predicates: &Predicates,
        table: &mut Table,
        target: usize,
        assumed: &[Lit],
    ) -> Result<Choose, Reason> {
        if let Some(known) = table.targets[target].choose.get(assumed) {
            return Ok(Rc::clone(known));
        }
        let (wp, none, cone) = {
            let target = &table.targets[target];
            (target.wp, target.none, target.cone.clone())
        };
        let among = (&cone, &table.picks[..]);
        let mut base = table.guard.clone();
        base.extend(assumed);
        base.push(!wp);
        let cluster = table.cluster;
        let yes = self.cubes(predicates, cluster, &base, among, &[&table.refused])?;
        base.pop();
        base.push(!none);
        let no = self.cubes(predicates, cluster, &base, among, &[&table.refused, &yes])?;
        let choose = Rc::new((yes, no));
        let memo = &mut table.targets[target].choose;
        memo.insert(assumed.to_vec(), Rc::clone(&choose));
        Ok(choose)
    }

    fn evaluate(
        &mut self,
        predicates: &Predicates,
        table: &mut Table,
        state: &Valuation,
    ) -> Result<Rc<[Valuation]>, Reason> {
        if table.refused.holds(state) {
            return Ok(Rc::new([]));
        }
        let mut results = Vec::new();
        let mut stack: Vec<Case> = vec![(0, state.without(&table.cleared), Vec::new())];
        while let Some(case) = stack.pop() {
            results.extend(self.finish(predicates, table, state, case, &mut stack)?);
        }
        results.sort();
        results.dedup();
        Ok(results.into())
    }

    /// Decides the targets of a case from its number on; at a split, pushes both
    /// cases and gives none.
    fn finish(
        &mut self,
        predicates: &Predicates,
        table: &mut Table,
        state: &Valuation,
        (from, mut after, assumed): Case,
        stack: &mut Vec<Case>,
    ) -> Result<Option<Valuation>, Reason> {
        for number in from..table.targets.len() {
            let Target {
                pred, wp, written, ..
            } = table.targets[number];
            if !written && state.get(pred).is_some() {
                continue;
            }
            let choose = self.choose(predicates, table, number, &assumed)?;
            let value = if choose.0.holds(state) {
                Some(true)
            } else {
                choose.1.holds(state).then_some(false)
            };
            after.set(pred, value);
            if value.is_none() && predicates.is_split(pred) {
                for choice in [false, true] {
                    let mut case = after.clone();
                    case.set(pred, Some(choice));
                    let mut assumed = assumed.clone();
                    assumed.push(if choice { wp } else { !wp });
                    stack.push((number + 1, case, assumed));
                }
                return Ok(None);
            }
        }
        Ok(Some(after))
    }

    /// What `facts` say of predicate `p`.
    fn known(
        &mut self,
        predicates: &Predicates,
        facts: &[Lit],
        p: PredId,
    ) -> Result<Option<bool>, Reason> {
        let lit = self.literal(predicates, p);
        if let Some(value) = evaluated(self.prover, predicates, facts, p) {
            return Ok(Some(value));
        }
        let mut lits = facts.to_vec();
        lits.push(!lit);
        if contradict(self.prover, STATES, &lits)? {
            return Ok(Some(true));
        }
        lits.pop();
        lits.push(lit);
        Ok(contradict(self.prover, STATES, &lits)?.then_some(false))
    }
}

/// The value of a predicate all of whose variables have values by `facts`.
pub fn evaluated(
    prover: &Prover,
    predicates: &Predicates,
    facts: &[Lit],
    p: PredId,
) -> Option<bool> {
    let mut values = Assignment::default();
    let mut fixed = BTreeSet::new();
    for (var, value) in facts.iter().filter_map(|f| equation(&prover.formula(*f))) {
        values.set(var, value);
        fixed.insert(var);
    }
    let all = predicates.vars(p).iter().all(|v| fixed.contains(v));
    let formula = predicates.formula(p, true);
    all.then(|| formula.eval(&values).ok()).flatten()
}

/// `var = constant`.
fn equation(formula: &Formula) -> Option<(Var, Int)> {
    let Formula::Literal(literal) = formula else {
        return None;
    };
    match (&**literal.atom.sum(), literal.atom.relation()) {
        ([(Key::Var(var), 1)], Relation::Eq) if literal.positive => {
            Some((*var, literal.atom.bound()))
        }
        _ => None,
    }
}

/// What a predicate over a set and its negation say if elements of the set were taken:
/// of all, and so of these.
pub fn of_elements(
    predicates: &Predicates,
    p: PredId,
    picks: &[(Var, Var)],
) -> Option<(Formula, Formula)> {
    let own = picks
        .iter()
        .filter(|(set, _)| predicates.vars(p).contains(set));
    let mut both = (predicates.formula(p, true), predicates.formula(p, false));
    let mut taken = false;
    for (set, element) in own {
        let one = Substitution::single(*set, Term::var(*element));
        let image = |value| predicates.formula(p, value).substitute(&one).ok();
        both.0 = both.0.and(&image(true)?);
        both.1 = both.1.and(&image(false)?);
        taken = true;
    }
    taken.then_some(both)
}

impl TableStats {
    fn add(&mut self, cover: &Cover) {
        for cube in cover.cubes() {
            let size = size(cube);
            self.cubes += usize::from(size > 1);
            self.largest = self.largest.max(size);
        }
    }
}

impl Transformer for Tables<'_> {
    fn post(
        &mut self,
        predicates: &Predicates,
        id: BranchId,
        branch: &Branch,
        state: &Valuation,
    ) -> Result<Rc<[Valuation]>, Reason> {
        let mut table = match self.by_branch.remove(&id) {
            Some(table) => table,
            None => self.make_table(predicates, branch)?,
        };
        let result = self.evaluate(predicates, &mut table, state);
        self.by_branch.insert(id, table);
        result
    }

    fn may(
        &mut self,
        predicates: &Predicates,
        formula: &Formula,
        state: &Valuation,
    ) -> Result<bool, Reason> {
        if let Some(refused) = self.questions.get(formula) {
            return Ok(!refused.holds(state));
        }
        let base = formula.conjuncts().iter();
        let base: Vec<Lit> = base.map(|f| self.prover.literal(f)).collect();
        let cone = predicates.cone(formula.free_vars(), self.depth);
        let refused = self.cubes(predicates, STATES, &base, (&cone, &[]), &[])?;
        let answer = !refused.holds(state);
        self.questions.insert(formula.clone(), Rc::new(refused));
        self.questioned.insert(formula.clone(), base);
        Ok(answer)
    }

    fn initial(
        &mut self,
        predicates: &Predicates,
        formula: &Formula,
    ) -> Result<Rc<[Valuation]>, Reason> {
        let facts = formula.conjuncts().iter();
        let facts: Vec<Lit> = facts.map(|f| self.prover.literal(f)).collect();
        // Equations for different variables do not contradict each other.
        let is_equation = |lit: &Lit| equation(&self.prover.formula(*lit)).is_some();
        if !facts.iter().all(is_equation) && contradict(self.prover, STATES, &facts)? {
            return Ok(Rc::new([]));
        }
        cases(predicates, facts, |facts, p| {
            Ok((
                self.known(predicates, facts, p)?,
                self.literal(predicates, p),
            ))
        })
    }

    fn predicates_changed(&mut self) {
        self.by_branch.clear();
        self.questions.clear();
        self.questioned.clear();
    }

    fn prover(&mut self) -> &mut Prover {
        self.prover
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn set_depth(&mut self, depth: usize) {
        self.depth = depth;
        self.predicates_changed();
    }

    fn work(&self) -> Work {
        let stats = self.stats();
        Work {
            cubes: stats.cubes,
            largest_cube: stats.largest,
            ..Work::default()
        }
    }
}
