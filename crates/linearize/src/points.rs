//! *Points*: at which reads, writes and `cas` calls can take effect. The search chooses,
//! for each `return` of each method, one edge such that the calls that end there can
//! be taken to have taken effect when they executed the edge for the last time; a
//! choice stands if it explains all runs within bounds. What it finds is a suggestion:
//! other bounds may refute it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use palisade_program::heap::print::Names;
use palisade_program::heap::{Body, Commit, CommitKind, Cond, Edge, Program, Step};
use palisade_program::{LocId, MethodId, Span};

use crate::code::accesses;
use crate::explore::{Failure, Found, check_points};
use crate::machine::Bound;
use crate::options::Options;
use crate::track::Points as Allowed;

/// Where the calls of a method that end at one `return` take effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suggestion {
    /// The method's name.
    pub method: String,
    /// The `return`.
    pub at_return: Span,
    /// The step: `cas(top, t, n) succeeds`.
    pub step: String,
    /// Where the step stands.
    pub span: Span,
    /// The method, and the edges of its body: of the `return`, and of the step.
    pub edges: (MethodId, usize, usize),
}

/// Calls in the runs by which points are chosen, before they are tried on longer ones.
const FIRST_CALLS: u32 = 2;

/// What a search for points found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Points {
    /// A point for each return that runs get to; they explain all runs within bounds.
    Found(Vec<Suggestion>),
    /// No choice of one point for each return explains them.
    None,
    /// The search was cut: by time, or by the number of states.
    Cut,
}

/// The search was cut.
struct Cut;

/// Looks for a point for each return.
pub fn suggest(program: &Program, options: &Options) -> Result<Points, Failure> {
    let short = Options {
        calls: options.calls.min(FIRST_CALLS),
        ..options.clone()
    };
    for bounds in [&short, options] {
        match choose(program, bounds)? {
            Err(Cut) => return Ok(Points::Cut),
            Ok(None) => return Ok(Points::None),
            Ok(Some(chosen)) => match explains(program, options, &chosen)? {
                Err(Cut) => return Ok(Points::Cut),
                Ok(true) => return Ok(Points::Found(shown(program, &chosen))),
                Ok(false) => {}
            },
        }
    }
    Ok(Points::None)
}

/// One edge for each return, one return after another.
fn choose(program: &Program, options: &Options) -> Result<Result<Option<Allowed>, Cut>, Failure> {
    let mut points = candidates(program);
    match explains(program, options, &points)? {
        Err(Cut) => return Ok(Err(Cut)),
        Ok(false) => return Ok(Ok(None)),
        Ok(true) => {}
    }
    let keys: Vec<(usize, usize)> = points.keys().copied().collect();
    for key in keys {
        // No run gets to this return: any point would do, and none is worth saying.
        let mut trial = points.clone();
        trial.insert(key, BTreeSet::new());
        match explains(program, options, &trial)? {
            Err(Cut) => return Ok(Err(Cut)),
            Ok(true) => {
                points = trial;
                continue;
            }
            Ok(false) => {}
        }
        let body = &program.methods[key.0].body;
        let mut edges: Vec<usize> = points[&key].iter().copied().collect();
        edges.sort_by_key(|&index| rank(body, &body.edges[index]));
        let mut chosen = None;
        for edge in edges {
            let mut trial = points.clone();
            trial.insert(key, BTreeSet::from([edge]));
            match explains(program, options, &trial)? {
                Err(Cut) => return Ok(Err(Cut)),
                Ok(false) => {}
                Ok(true) => {
                    chosen = Some(trial);
                    break;
                }
            }
        }
        match chosen {
            Some(trial) => points = trial,
            None => return Ok(Ok(None)),
        }
    }
    Ok(Ok(Some(points)))
}

/// Where points mostly are: steps that write come first, then late ones. Accesses of a
/// node that the method has made itself come last.
fn rank(body: &Body, edge: &Edge) -> (bool, bool, Reverse<u32>) {
    let made = edge.step.dereferences().is_some_and(|local| {
        let mut edges = body.edges.iter();
        edges.any(|e| matches!(e.step, Step::New { to } if to == local))
    });
    (made, !edge.step.writes(), Reverse(edge.span.start))
}

/// Whether calls that take effect at `points` explain all runs within bounds.
fn explains(
    program: &Program,
    options: &Options,
    points: &Allowed,
) -> Result<Result<bool, Cut>, Failure> {
    let search = check_points(program, options, points.clone())?;
    Ok(match search.found {
        Found::Wrong(_) => Ok(false),
        Found::Stopped(_) => Err(Cut),
        Found::Nothing if search.bounds.contains(&Bound::States) => Err(Cut),
        Found::Nothing => Ok(true),
    })
}

/// All accesses from which a return can be reached, for each return.
fn candidates(program: &Program) -> Allowed {
    let mut points = BTreeMap::new();
    for (method, declared) in program.methods.iter().enumerate() {
        let body = &declared.body;
        let first = accesses(body);
        for (index, edge) in body.edges.iter().enumerate() {
            if !matches!(edge.step, Step::Return(_)) {
                continue;
            }
            let before = leading_to(body, edge.from);
            let found = body.edges.iter().enumerate().filter(|(index, e)| {
                let access = matches!(
                    e.step,
                    Step::Read { .. } | Step::Write { .. } | Step::Cas { .. }
                );
                access && first[*index] == *index && before[e.to.index()]
            });
            points.insert((method, index), found.map(|(i, _)| i).collect());
        }
    }
    points
}

/// Locations from which `at` can be reached.
fn leading_to(body: &Body, at: LocId) -> Vec<bool> {
    let mut seen = vec![false; body.locations.len()];
    let mut open = vec![at];
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut seen[at.index()], true) {
            open.extend(body.edges.iter().filter(|e| e.to == at).map(|e| e.from));
        }
    }
    seen
}

/// The program with the points as commit points, in place of those that it has. A step
/// behind which only returns come that have no other point, and not the step itself, commits; another notes
/// what would be the result (`commit later`), and the step in front of the `return` confirms
/// it. `None` if no step is there that could. Claims like any others: a proof, or
/// [`check_commits`](crate::check_commits), says whether they are right.
pub fn applied(program: &Program, points: &[Suggestion]) -> Option<Program> {
    let mut program = program.clone();
    for method in &mut program.methods {
        for edge in &mut method.body.edges {
            edge.commits.clear();
        }
    }
    for point in points {
        let (method, at_return, step) = point.edges;
        let body = &mut program.methods.get_mut(method.index())?.body;
        let claim = |kind: CommitKind| Commit {
            kind,
            when: Cond::True,
            span: point.span,
        };
        let (returns, again) = behind(body, step);
        let other = |at: &usize| {
            let mut same = points
                .iter()
                .filter(|p| (p.edges.0, p.edges.1) == (method, *at));
            same.any(|p| p.edges.2 != step)
        };
        let first = accesses(body);
        let same = |edge: &usize| first[*edge] == step;
        let same: Vec<usize> = (0..body.edges.len()).filter(same).collect();
        if !again && !returns.iter().any(other) {
            for edge in same {
                let commits = &mut body.edges[edge].commits;
                if commits.is_empty() {
                    commits.push(claim(CommitKind::Now));
                }
            }
            continue;
        }
        let before = body.edges[at_return].from;
        let only = body.leaving(before).count() == 1;
        if !only || before == body.entry {
            return None;
        }
        for edge in same {
            body.edges[edge].commits.push(claim(CommitKind::Later));
        }
        for edge in body.edges.iter_mut().filter(|e| e.to == before) {
            edge.commits.push(claim(CommitKind::Confirm));
        }
    }
    Some(program)
}

/// The returns that can come behind a step, and whether the step itself can.
fn behind(body: &Body, step: usize) -> (BTreeSet<usize>, bool) {
    let mut seen = vec![false; body.locations.len()];
    let mut open = vec![body.edges[step].to];
    let mut found = BTreeSet::new();
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at.index()], true) {
            continue;
        }
        for (index, edge) in body.leaving(at) {
            if matches!(edge.step, Step::Return(_)) {
                found.insert(index);
            }
            open.push(edge.to);
        }
    }
    (found, seen[body.edges[step].from.index()])
}

fn shown(program: &Program, points: &Allowed) -> Vec<Suggestion> {
    let mut all = Vec::new();
    for ((method, at_return), edges) in points {
        let declared = &program.methods[*method];
        let names = Names {
            structs: &program.structs,
            shared: &program.shared,
            body: Some(&declared.body),
        };
        for &edge in edges {
            let step = &declared.body.edges[edge];
            let mut text = names.step(&step.step);
            let first = accesses(&declared.body);
            let mut places = first.iter().zip(&declared.body.edges);
            if let Some(place) = step.step.place()
                && places.any(|(same, e)| *same == edge && e.step.place() != Some(place))
            {
                // Any element of the array.
                let place = names.place(place);
                let array = place
                    .rsplit_once('[')
                    .map_or(place.as_str(), |(array, _)| array);
                text = text.replace(&place, &format!("{array}[...]"));
            }
            all.push(Suggestion {
                method: declared.name.clone(),
                at_return: declared.body.edges[*at_return].span,
                step: text,
                span: step.span,
                edges: (MethodId::from(*method), *at_return, edge),
            });
        }
    }
    all
}
