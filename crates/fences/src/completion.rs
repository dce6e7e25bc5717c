//! *Completion*: the cheapest calls that complete or order remote operations, such that a program has no remote race: flushes of MPI,
//! `shmem_fence` and `shmem_quiet` of OpenSHMEM, `gaspi_wait` of GASPI. Such calls are no steps that synthesis could switch on and off
//! ([`mod@crate::synthesize`]): what they complete is part of how the program is read. So placements are texts. They are
//! tried from the cheapest on, each one is patched, read and verified; the first that holds is the repair, and it is a
//! minimum if all before it were refuted.
//!
//! A call is *stronger* than another if it completes all that the other completes, and may stand
//! wherever the other may. Then a run that is left with the stronger one is a run with the weaker one. So
//! of all placements at the same gaps the strongest is verified first: where it is violated, all of them are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use palisade_program::{Gap, Program, Source, Unknown, Verdict};
use palisade_verify::{Report, verify};

use crate::cost::{Cost, TableError};
use crate::patch::with_statements;
use crate::plan::anchor;

/// Placements that are verified at most.
const MAX_TRIED: usize = 400;

/// A call that completes or orders operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Call {
    /// `MPI_Win_flush_local`: the own side of operations to one rank.
    FlushLocal,
    /// `MPI_Win_flush_local_all`: the own side of operations to all ranks.
    FlushLocalAll,
    /// `MPI_Win_flush`: operations to one rank.
    Flush,
    /// `MPI_Win_flush_all`: operations to all ranks.
    FlushAll,
    /// `shmem_fence`
    Fence,
    /// `shmem_quiet`
    Quiet,
    /// `gaspi_wait`
    Wait,
}

impl Call {
    /// The calls of MPI, the cheapest first.
    pub const MPI: [Self; 4] = [
        Self::FlushLocal,
        Self::FlushLocalAll,
        Self::Flush,
        Self::FlushAll,
    ];
    /// The calls of OpenSHMEM, the cheapest first.
    pub const SHMEM: [Self; 2] = [Self::Fence, Self::Quiet];

    /// The call of GASPI.
    pub const GASPI: [Self; 1] = [Self::Wait];

    /// The word for it, in reports and tables of costs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::FlushLocal => "flush_local",
            Self::FlushLocalAll => "flush_local_all",
            Self::Flush => "flush",
            Self::FlushAll => "flush_all",
            Self::Fence => "fence",
            Self::Quiet => "quiet",
            Self::Wait => "wait",
        }
    }

    /// How it is told from other calls where as many are needed: the own side is cheaper than both, and one target is
    /// cheaper than all.
    const fn weight(self) -> u64 {
        match self {
            Self::FlushLocal | Self::Fence | Self::Wait => 1,
            Self::FlushLocalAll | Self::Quiet => 2,
            Self::Flush => 3,
            Self::FlushAll => 4,
        }
    }

    /// Whether the other one completes and orders at least as much.
    const fn is_below(self, other: Self) -> bool {
        match (self, other) {
            (Self::FlushLocal, Self::FlushLocalAll | Self::Flush | Self::FlushAll)
            | (Self::FlushLocalAll | Self::Flush, Self::FlushAll)
            | (Self::Fence, Self::Quiet) => true,
            (
                Self::FlushLocal
                | Self::FlushLocalAll
                | Self::Flush
                | Self::FlushAll
                | Self::Fence
                | Self::Quiet
                | Self::Wait,
                _,
            ) => self as u8 == other as u8,
        }
    }

    /// The call as a statement, after an operation.
    fn text(self, source: &Source, gap: &Gap) -> String {
        let of = |name: &str, is_all: bool| {
            let words = gap.flush.as_ref();
            let target = words.map_or("", |w| source.slice(w.target));
            let window = words.and_then(|w| w.window);
            let window = window.map_or("", |w| source.slice(w));
            if is_all {
                format!("{name}({window});")
            } else {
                format!("{name}({target}, {window});")
            }
        };
        match self {
            Self::FlushLocal => of("MPI_Win_flush_local", false),
            Self::FlushLocalAll => of("MPI_Win_flush_local_all", true),
            Self::Flush => of("MPI_Win_flush", false),
            Self::FlushAll => of("MPI_Win_flush_all", true),
            Self::Fence => "shmem_fence();".to_owned(),
            Self::Quiet => "shmem_quiet();".to_owned(),
            Self::Wait => {
                let queue = gap.flush.as_ref().map_or("", |w| source.slice(w.target));
                format!("gaspi_wait({queue}, GASPI_BLOCK);")
            }
        }
    }
}

/// How calls are weighed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Fewest calls, then the weakest ones.
    Count,
    /// The same, ten times as much for each loop around.
    Loops,
    /// The least sum of numbers: for each call, and for lines; the last that fits counts.
    Table(Vec<(Option<u32>, Call, u64)>),
}

impl Rule {
    /// Reads a table: lines `flush 10`, `quiet 3`, `12 flush_all 100` (the line of the operation); `#` starts a comment.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut table = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let wrong = |message| TableError {
                line: index + 1,
                message,
            };
            let line = line.split('#').next().unwrap_or("");
            let words: Vec<&str> = line.split_whitespace().collect();
            let (place, kind, number) = match words[..] {
                [] => continue,
                [kind, number] => (None, kind, number),
                [place, kind, number] => (Some(place), kind, number),
                _ => return Err(wrong("expected `CALL COST` or `LINE CALL COST`")),
            };
            let mut calls = Call::MPI.into_iter().chain(Call::SHMEM).chain(Call::GASPI);
            let call = calls.find(|c| c.word() == kind);
            let call = call.ok_or_else(|| {
                wrong("the calls are `flush`, `flush_local`, `flush_all`, `flush_local_all`, `fence`, `quiet` and `wait`")
            })?;
            let place = place.map(str::parse).transpose();
            let place = place.map_err(|_| wrong("the line is no number"))?;
            let cost = number.parse::<u32>();
            let cost = cost.map_err(|_| wrong("the cost is no number from 0 to 4294967295"))?;
            table.push((place, call, u64::from(cost)));
        }
        Ok(Self::Table(table))
    }

    /// What a call costs beside the statement in a line, in so many loops.
    fn cost(&self, call: Call, line: u32, depth: u32) -> Cost {
        match self {
            Self::Count => Cost(1, call.weight()),
            Self::Loops => {
                let factor = 10_u64.saturating_pow(depth);
                Cost(factor, factor.saturating_mul(call.weight()))
            }
            Self::Table(table) => {
                let fits = |(at, c, _): &&(Option<u32>, Call, u64)| {
                    *c == call && (at.is_none() || *at == Some(line))
                };
                let own = table.iter().rfind(fits);
                Cost(own.map_or(10 * call.weight(), |(_, _, cost)| *cost), 0)
            }
        }
    }
}

/// A text with places for calls.
pub struct Places<'a> {
    /// The text.
    pub source: &'a Source,
    /// The places, each with the number of loops around it in the text.
    pub gaps: &'a [(Gap, u32)],
    /// What may stand at each of them.
    pub calls: &'a [Call],
    /// How calls are weighed.
    pub rule: &'a Rule,
    /// Reads a text; `None` if it is none.
    pub read: &'a dyn Fn(&Source) -> Option<Program>,
}

/// What the search has come to.
pub struct Completed {
    /// `holds`: of the patched text; else of the text itself, or why the search has ended.
    pub verdict: Verdict,
    /// What was put where.
    pub placed: Vec<(Gap, Call)>,
    /// The text with them.
    pub patched: Source,
    /// Its program and its proof, or those of the text as it is.
    pub proof: Option<(Program, Report)>,
    /// Placements that were verified.
    pub tried: usize,
    /// Whether all cheaper placements are violated.
    pub is_minimum: bool,
}

/// Calls at gaps, by the gaps' numbers.
type Placement = Vec<(usize, Call)>;

/// What is known of a placement.
enum Known {
    Refuted,
    Undecided,
    Proved(Source, Box<(Program, Report)>),
    /// Nothing can be decided any more.
    Over(Verdict),
}

/// Searches for the cheapest placement, of at most `most` calls.
pub fn complete(
    places: &Places<'_>,
    most: Option<usize>,
    options: &palisade_verify::Options,
) -> Completed {
    let mut found = Completed {
        verdict: Verdict::Unknown(Unknown::GaveUp(
            "no placement of flushes repairs the program".to_owned(),
        )),
        placed: Vec::new(),
        patched: places.source.clone(),
        proof: None,
        tried: 0,
        is_minimum: true,
    };
    let most = most.unwrap_or(places.gaps.len());
    let mut refuted: BTreeSet<Vec<usize>> = BTreeSet::new();
    let mut proved: BTreeMap<Placement, Known> = BTreeMap::new();
    for placement in Cheapest::new(places, most) {
        let gaps: Vec<usize> = placement.iter().map(|(gap, _)| *gap).collect();
        if refuted.contains(&gaps) {
            continue;
        }
        let strongest = strengthened(&placement, places.calls);
        for candidate in [&strongest, &placement] {
            if !proved.contains_key(candidate) {
                if found.tried >= MAX_TRIED {
                    found.verdict = Verdict::Unknown(Unknown::GaveUp(format!(
                        "{MAX_TRIED} placements of flushes do not repair the program"
                    )));
                    return found;
                }
                found.tried += 1;
                let known = tried(places, candidate, options);
                proved.insert(candidate.clone(), known);
            }
            if matches!(proved.get(candidate), Some(Known::Refuted)) {
                if *candidate == strongest {
                    refuted.insert(gaps.clone());
                }
                break;
            }
        }
        match proved.remove(&placement) {
            Some(Known::Proved(text, proof)) => {
                let gap = |(gap, call): &(usize, Call)| (places.gaps[*gap].0, *call);
                found.verdict = Verdict::Holds;
                found.placed = placement.iter().map(gap).collect();
                found.patched = text;
                found.proof = Some(*proof);
                return found;
            }
            Some(Known::Over(verdict)) => {
                found.verdict = verdict;
                return found;
            }
            Some(Known::Undecided) => found.is_minimum = false,
            Some(Known::Refuted) | None => {}
        }
        if let Some(Known::Over(_)) = proved.get(&strongest)
            && let Some(Known::Over(verdict)) = proved.remove(&strongest)
        {
            found.verdict = verdict;
            return found;
        }
    }
    found
}

/// Patches, reads and verifies a placement.
fn tried(places: &Places<'_>, placement: &Placement, options: &palisade_verify::Options) -> Known {
    let text = |(gap, call): &(usize, Call)| {
        let gap = places.gaps[*gap].0;
        (gap, call.text(places.source, &gap))
    };
    let placed: Vec<(Gap, String)> = placement.iter().map(text).collect();
    let text = with_statements(places.source, &placed);
    let Some(program) = (places.read)(&text) else {
        return Known::Undecided;
    };
    let report = verify(&program, options);
    match &report.verdict {
        Verdict::Holds => Known::Proved(text, Box::new((program, report))),
        Verdict::Violated(_) => Known::Refuted,
        Verdict::Unknown(why) if why.ends_everything() => Known::Over(report.verdict),
        Verdict::Unknown(_) => Known::Undecided,
    }
}

/// The strongest calls at the same gaps.
fn strengthened(placement: &Placement, calls: &[Call]) -> Placement {
    let top = |call: Call| {
        let above = calls.iter().rfind(|c| call.is_below(**c));
        above.copied().unwrap_or(call)
    };
    placement.iter().map(|(gap, c)| (*gap, top(*c))).collect()
}

/// All placements, from the cheapest on. A part of one decides the first gaps; without calls at the others it costs as
/// much, so that each part that is taken leads to a placement of its cost.
struct Cheapest<'a> {
    places: &'a Places<'a>,
    most: usize,
    /// Parts: their cost, how many gaps they leave open, and their calls.
    open: BinaryHeap<Reverse<(Cost, usize, Placement)>>,
}

impl<'a> Cheapest<'a> {
    fn new(places: &'a Places<'a>, most: usize) -> Self {
        let start = (Cost::default(), places.gaps.len(), Vec::new());
        Self {
            places,
            most,
            open: BinaryHeap::from([Reverse(start)]),
        }
    }
}

impl Iterator for Cheapest<'_> {
    type Item = Placement;

    fn next(&mut self) -> Option<Placement> {
        let all = self.places.gaps;
        while let Some(Reverse((cost, left, placement))) = self.open.pop() {
            if left == 0 {
                return Some(placement);
            }
            let number = all.len() - left;
            if placement.len() < self.most {
                let (gap, depth) = &all[number];
                let line = anchor(self.places.source, gap).line;
                for call in self.places.calls {
                    let more = self.places.rule.cost(*call, line, *depth);
                    let mut longer = placement.clone();
                    longer.push((number, *call));
                    self.open.push(Reverse((cost + more, left - 1, longer)));
                }
            }
            self.open.push(Reverse((cost, left - 1, placement)));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stronger_calls_cost_more() {
        for calls in [&Call::MPI[..], &Call::SHMEM[..]] {
            for a in calls {
                for b in calls.iter().filter(|b| *b != a && a.is_below(**b)) {
                    assert!(a.weight() < b.weight(), "{a:?} {b:?}");
                    assert!(!b.is_below(*a));
                }
                assert_eq!(
                    strengthened(&vec![(0, *a)], calls),
                    [(0, calls[calls.len() - 1])]
                );
            }
        }
    }

    #[test]
    fn tables_are_read() {
        let rule = Rule::parse("flush 5 # any\n\n12 flush 70\nquiet 2\n").unwrap();
        assert_eq!(rule.cost(Call::Flush, 1, 0), Cost(5, 0));
        assert_eq!(rule.cost(Call::Flush, 12, 0), Cost(70, 0));
        assert_eq!(rule.cost(Call::Quiet, 12, 3), Cost(2, 0));
        assert_eq!(rule.cost(Call::FlushAll, 12, 0), Cost(40, 0));
        for (text, line) in [
            ("\nfull 1", 2),
            ("flush", 1),
            ("flush -1", 1),
            ("a flush 1", 1),
        ] {
            assert_eq!(Rule::parse(text).unwrap_err().line, line, "{text}");
        }
        assert_eq!(Rule::Loops.cost(Call::Flush, 1, 2), Cost(100, 300));
    }
}
