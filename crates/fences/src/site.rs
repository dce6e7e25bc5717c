//! *Sites*: the places where a fence may go. A site is a gap of the source with
//! the candidate edges that it became: one, or several when the gap stands in a
//! function that is inlined at several places. All of them get the fence or none,
//! since there is one line of source.
//!
//! A gap can matter only if some store may be buffered there, and if it comes
//! directly after a store or directly before a load (nothing but local steps in
//! between, on some path): a fence anywhere else can be moved back to the last
//! such place without allowing more runs. Of several gaps with nothing but local
//! steps between them in a straight line the first is kept: fences there have
//! the same effect. A gap behind a join of control flow is one place for all the
//! stores before the join. The head of a loop counts as such a place only if it
//! comes directly after stores both on entry and on repetition, or after a store in
//! the parts of a `for`; else a fence beside the loop does the same.
//!
//! Places that the user marked are all kept.
//!
//! Under RC11 any fence beside an access may matter that has accesses before and behind it.
//!
//! Under RMA a site is a place for a *flush*: after a remote operation, or where the user
//! wrote one ([`flush_target`]).

use std::collections::BTreeSet;

use palisade_program::{
    Cfg, EdgeId, FenceKind, FlushTarget, Gap, LocId, Model, Order, Place, Program, Side, Span,
    Step, TemplateId,
};

/// A place for a fence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Where it stands in the source.
    pub gap: Gap,
    /// Its candidate edges.
    pub edges: Vec<(TemplateId, EdgeId)>,
    /// How many loops are around it; the most, if it is inlined.
    pub depth: u32,
}

/// The sites of a program that was lowered with these gaps, in the order of the
/// text. Gaps in dead code have no edge and are no sites.
pub fn sites(program: &Program, gaps: &[Gap]) -> Vec<Site> {
    let depths: Vec<Vec<u32>> = program
        .templates
        .iter()
        .map(|t| loop_depths(&t.cfg))
        .collect();
    let all = gaps.iter().map(|&gap| {
        let edges = edges_at(program, &gap);
        let depth = |(t, e): &(TemplateId, EdgeId)| {
            let from = program.template(*t).cfg.edge(*e).from;
            depths[t.index()][from.index()]
        };
        let depth = edges.iter().map(depth).max().unwrap_or(0);
        Site { gap, edges, depth }
    });
    all.filter(|site| !site.edges.is_empty()).collect()
}

fn edges_at(program: &Program, gap: &Gap) -> Vec<(TemplateId, EdgeId)> {
    // A flush that stands in the text is a place of its own.
    let is_own = |step: &Step| gap.flush.is_some() && matches!(step, Step::Flush(_));
    let mut found = Vec::new();
    for template in program.template_ids() {
        for (index, edge) in program.template(template).cfg.edges.iter().enumerate() {
            if edge.span == gap.at && (is_candidate(&edge.step) || is_own(&edge.step)) {
                found.push((template, EdgeId::from(index)));
            }
        }
    }
    found
}

fn is_candidate(step: &Step) -> bool {
    *step == Step::Fence(FenceKind::Candidate)
}

/// What a flush at the candidate `edge` waits for: what the flush there waits for that the
/// user wrote, or the remote side of the operation before.
pub fn flush_target(program: &Program, template: TemplateId, edge: EdgeId) -> Option<FlushTarget> {
    let cfg = &program.template(template).cfg;
    let here = cfg.edge(edge);
    if let Step::Flush(target) = &here.step {
        return Some(target.clone());
    }
    let into = |e: &&palisade_program::Edge| e.to == here.from;
    let remote = cfg
        .edges
        .iter()
        .filter(into)
        .find_map(|e| remote_place(&e.step))?;
    let home = program.global(remote.var).home?;
    Some(FlushTarget::Process {
        template: home.template,
        copy: remote.index.clone().filter(|_| home.per_copy),
    })
}

/// The remote place of a remote operation.
fn remote_place(step: &Step) -> Option<&Place> {
    match step {
        Step::Put { remote, .. } | Step::Get { remote, .. } => Some(remote),
        Step::RemoteAtomic(atomic) => Some(&atomic.remote),
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => None,
        Step::Load { .. } | Step::Store { .. } | Step::Fence(_) | Step::Atomic(_) => None,
        Step::Assert { .. } | Step::Flush(_) => None,
    }
}

/// The gaps that can matter under `model`, by their spans.
pub fn useful(program: &Program, gaps: &[Gap], model: Model) -> BTreeSet<Span> {
    let surroundings: Vec<Surroundings> = program
        .templates
        .iter()
        .map(|t| Surroundings::of(&t.cfg, model))
        .collect();
    let mut kept: Vec<Site> = sites(program, gaps);
    kept.retain(|site| {
        let matters = |(t, e): &(TemplateId, EdgeId)| surroundings[t.index()].matters[e.index()];
        let joins = |(t, e): &(TemplateId, EdgeId)| {
            let cfg = &program.template(*t).cfg;
            let (around, loc) = (&surroundings[t.index()], cfg.edge(*e).from);
            around.joins_stores(cfg, loc) || around.follows_own_parts(cfg, loc, &site.gap)
        };
        match site.gap.side {
            Side::At => true,
            Side::After | Side::Before => site.edges.iter().any(matters),
            Side::Head => site.edges.iter().any(matters) && site.edges.iter().any(joins),
        }
    });
    let repeats = |site: &Site, kept: &[Site]| {
        site.gap.side != Side::At
            && kept
                .iter()
                .any(|first| follows(program, &surroundings, first, site))
    };
    let spans = kept.iter().filter(|site| !repeats(site, &kept));
    spans.map(|site| site.gap.at).collect()
}

/// Whether each edge of `second` comes in a straight line of local steps after an
/// edge of `first`, one for one.
fn follows(program: &Program, around: &[Surroundings], first: &Site, second: &Site) -> bool {
    let mut starts: Vec<(TemplateId, EdgeId)> = Vec::new();
    for &(template, edge) in &second.edges {
        let cfg = &program.template(template).cfg;
        let around = &around[template.index()];
        let line = around.straight_line_before(cfg, edge);
        let start = line.into_iter().map(|e| (template, e));
        let mut start = start.filter(|e| first.edges.contains(e));
        match start.next() {
            Some(edge) => starts.push(edge),
            None => return false,
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts.len() == first.edges.len()
}

/// What is known about the edges of one thread.
struct Surroundings {
    /// Per edge: whether it is a candidate that can matter.
    matters: Vec<bool>,
    /// Edges into each location.
    incoming: Vec<Vec<EdgeId>>,
    /// Locations directly after a store, on some path.
    after_store: Vec<bool>,
}

impl Surroundings {
    fn of(cfg: &Cfg, model: Model) -> Self {
        let mut incoming = vec![Vec::new(); cfg.loc_count()];
        for (index, edge) in cfg.edges.iter().enumerate() {
            incoming[edge.to.index()].push(EdgeId::from(index));
        }
        let is_load = |step: &Step| match step {
            Step::Load { .. } => true,
            Step::Atomic(atomic) => !atomic.drains(),
            Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => false,
            Step::Store { .. } | Step::Fence(_) | Step::Assert { .. } => false,
            Step::Put { .. } | Step::Get { .. } => false,
            Step::RemoteAtomic(_) | Step::Flush(_) => false,
        };
        let is_rc11 = model == Model::Rc11;
        let (first, last): (&Test, &Test) = if is_rc11 {
            (&accesses, &accesses)
        } else {
            (&is_store, &is_load)
        };
        let after_store = spread(cfg, Direction::Forward, first, &Step::is_local);
        let before_load = spread(cfg, Direction::Backward, last, &Step::is_local);
        let (dirty, awaited) = if is_rc11 {
            (
                spread(cfg, Direction::Forward, first, &|_| true),
                spread(cfg, Direction::Backward, last, &|_| true),
            )
        } else {
            (
                spread(cfg, Direction::Forward, first, &keeps_buffers),
                vec![true; cfg.loc_count()],
            )
        };
        let matters = cfg
            .edges
            .iter()
            .map(|edge| {
                is_candidate(&edge.step)
                    && dirty[edge.from.index()]
                    && awaited[edge.to.index()]
                    && (after_store[edge.from.index()] || before_load[edge.to.index()])
            })
            .collect();
        Self {
            matters,
            incoming,
            after_store,
        }
    }

    /// Whether two ways into `loc` come directly after stores.
    fn joins_stores(&self, cfg: &Cfg, loc: LocId) -> bool {
        let comes_from_store = |id: &&EdgeId| {
            let edge = cfg.edge(**id);
            is_store(&edge.step) || (edge.step.is_local() && self.after_store[edge.from.index()])
        };
        let ways = self.incoming[loc.index()].iter();
        ways.filter(comes_from_store).count() > 1
    }

    /// Whether a store in the parts of a `for` leads directly to the loop's head `loc`:
    /// no other gap stands between.
    fn follows_own_parts(&self, cfg: &Cfg, loc: LocId, gap: &Gap) -> bool {
        let Some(head) = gap.head else {
            return false;
        };
        let in_parts =
            |span: Span| span.start >= gap.statement.start && span.end <= head.body.start;
        let mut seen = vec![false; cfg.loc_count()];
        let mut open = vec![loc];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at.index()], true) {
                continue;
            }
            for &id in &self.incoming[at.index()] {
                let edge = cfg.edge(id);
                if is_store(&edge.step) && in_parts(edge.span) {
                    return true;
                }
                if edge.step.is_local() {
                    open.push(edge.from);
                }
            }
        }
        false
    }

    /// The edges before `edge` as long as there is one way only, by local steps.
    fn straight_line_before(&self, cfg: &Cfg, edge: EdgeId) -> Vec<EdgeId> {
        let mut line = Vec::new();
        let mut at = cfg.edge(edge).from;
        while let [only] = self.incoming[at.index()][..] {
            let before = cfg.edge(only);
            let one_way = at != cfg.entry && cfg.outgoing(at).count() == 1;
            if !one_way || !before.step.is_local() || line.contains(&only) || only == edge {
                break;
            }
            line.push(only);
            at = before.from;
        }
        line
    }
}

type Test = dyn Fn(&Step) -> bool;

/// Whether a step reads or writes shared memory.
fn accesses(step: &Step) -> bool {
    step.loaded().or(step.stored()).is_some() || matches!(step, Step::Atomic(_))
}

/// Under RC11: whether an acquire fence at a site has an atomic read before it, and a release
/// fence an atomic store behind it.
pub(crate) fn fence_effects(program: &Program, site: &Site) -> (bool, bool) {
    let is_atomic = |place: Option<&Place>| place.is_some_and(|p| p.order != Order::Plain);
    let reads = |s: &Step| is_atomic(s.loaded()) || matches!(s, Step::Atomic(_));
    let writes = |s: &Step| is_atomic(s.stored()) || matches!(s, Step::Atomic(_));
    let (mut before, mut behind) = (false, false);
    for (template, edge) in &site.edges {
        let cfg = &program.template(*template).cfg;
        let edge = cfg.edge(*edge);
        before |= spread(cfg, Direction::Forward, &reads, &|_| true)[edge.from.index()];
        behind |= spread(cfg, Direction::Backward, &writes, &|_| true)[edge.to.index()];
    }
    (before, behind)
}

fn is_store(step: &Step) -> bool {
    matches!(step, Step::Store { .. })
}

/// Whether stores may still be buffered after the step if they were before.
fn keeps_buffers(step: &Step) -> bool {
    match step {
        Step::Fence(FenceKind::Full) => false,
        Step::Atomic(atomic) => !atomic.drains(),
        Step::Fence(FenceKind::StoreStore | FenceKind::Candidate | FenceKind::Ordered(_)) => true,
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => true,
        Step::Load { .. } | Step::Store { .. } | Step::Assert { .. } => true,
        Step::Put { .. } | Step::Get { .. } => true,
        Step::RemoteAtomic(_) | Step::Flush(_) => true,
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Forward,
    Backward,
}

/// The locations reached from the far ends of `source` edges through `through`
/// edges.
fn spread(
    cfg: &Cfg,
    direction: Direction,
    source: &dyn Fn(&Step) -> bool,
    through: &dyn Fn(&Step) -> bool,
) -> Vec<bool> {
    let ends = |edge: &palisade_program::Edge| -> (LocId, LocId) {
        match direction {
            Direction::Forward => (edge.from, edge.to),
            Direction::Backward => (edge.to, edge.from),
        }
    };
    let mut reached = vec![false; cfg.loc_count()];
    for edge in cfg.edges.iter().filter(|e| source(&e.step)) {
        reached[ends(edge).1.index()] = true;
    }
    loop {
        let mut grew = false;
        for edge in cfg.edges.iter().filter(|e| through(&e.step)) {
            let (from, to) = ends(edge);
            if reached[from.index()] && !reached[to.index()] {
                reached[to.index()] = true;
                grew = true;
            }
        }
        if !grew {
            return reached;
        }
    }
}

/// For each location the number of loops around it: strongly connected parts,
/// taken apart by removing the edges back to where each was entered.
pub(crate) fn loop_depths(cfg: &Cfg) -> Vec<u32> {
    let mut depth = vec![0; cfg.loc_count()];
    let mut edges: Vec<(usize, usize)> = cfg
        .edges
        .iter()
        .map(|e| (e.from.index(), e.to.index()))
        .collect();
    loop {
        let parts = components(cfg.loc_count(), &edges);
        let inside = |&&(from, to): &&(usize, usize)| parts[from] == parts[to];
        let looping: BTreeSet<usize> = edges.iter().filter(inside).map(|e| parts[e.0]).collect();
        if looping.is_empty() {
            return depth;
        }
        for (loc, depth) in depth.iter_mut().enumerate() {
            *depth += u32::from(looping.contains(&parts[loc]));
        }
        // Where control enters a part: by an edge from outside, or at the start.
        let mut heads = BTreeSet::new();
        for &(from, to) in &edges {
            if parts[from] != parts[to] {
                heads.insert(to);
            }
        }
        heads.insert(cfg.entry.index());
        let before = edges.len();
        edges.retain(|(from, to)| parts[*from] == parts[*to] && !heads.contains(to));
        if edges.len() == before {
            // A part that nothing enters cannot be left out by its head.
            return depth;
        }
    }
}

/// The number of the strongly connected part of each location: the least
/// location that reaches it and is reached from it. Graphs of threads are small.
fn components(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let reach = |from: usize| {
        let mut seen = vec![false; count];
        let mut stack = vec![from];
        while let Some(at) = stack.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                stack.extend(edges.iter().filter(|e| e.0 == at).map(|e| e.1));
            }
        }
        seen
    };
    let reached: Vec<Vec<bool>> = (0..count).map(reach).collect();
    let least = |loc: usize| (0..=loc).find(|&o| o == loc || (reached[o][loc] && reached[loc][o]));
    (0..count).map(|loc| least(loc).unwrap_or(loc)).collect()
}
