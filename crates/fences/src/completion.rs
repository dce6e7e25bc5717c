//! *Completion*: the fewest calls that complete or order remote operations, such that a program has no remote race: flushes of MPI,
//! `shmem_fence` and `shmem_quiet` of OpenSHMEM. Such calls are no steps that synthesis could switch on and off
//! ([`mod@crate::synthesize`]): what they complete is part of how the program is read. So placements are texts. They are
//! tried from the cheapest on (fewest calls, then fewest of the stronger kind), each one is patched, read and
//! verified; the first that holds is the repair, and it is a minimum if all before it were violated.

use palisade_program::{Gap, Program, Source, Unknown, Verdict};
use palisade_verify::{Report, verify};

use crate::patch::{Spelling, patched};
use crate::plan::Level;

/// Placements that are tried at most.
const MAX_TRIED: usize = 400;

/// A text with places for calls.
pub struct Places<'a> {
    /// The text.
    pub source: &'a Source,
    /// The places.
    pub gaps: &'a [Gap],
    /// What may stand at each of them, the weaker first.
    pub levels: &'a [Level],
    /// How it is written.
    pub spelling: &'a Spelling,
    /// Reads a text; `None` if it is none.
    pub read: &'a dyn Fn(&Source) -> Option<Program>,
}

/// What the search has come to.
pub struct Completed {
    /// `holds`: of the patched text; else of the text itself, or why the search has ended.
    pub verdict: Verdict,
    /// What was put where.
    pub placed: Vec<(Gap, Level)>,
    /// The text with them.
    pub patched: Source,
    /// Its program and its proof, or those of the text as it is.
    pub proof: Option<(Program, Report)>,
    /// Placements that were verified.
    pub tried: usize,
    /// Whether all cheaper placements are violated.
    pub is_minimum: bool,
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
    let most = most.unwrap_or(places.gaps.len()).min(places.gaps.len());
    for count in 0..=most {
        for strong in 0..=count {
            for placed in placements(places, count, strong) {
                if found.tried >= MAX_TRIED {
                    found.verdict = Verdict::Unknown(Unknown::GaveUp(format!(
                        "{MAX_TRIED} placements of flushes do not repair the program"
                    )));
                    return found;
                }
                found.tried += 1;
                let text = patched(places.source, &placed, places.spelling);
                let Some(program) = (places.read)(&text) else {
                    found.is_minimum = false;
                    continue;
                };
                let report = verify(&program, options);
                match &report.verdict {
                    Verdict::Holds => {
                        found.verdict = Verdict::Holds;
                        found.placed = placed;
                        found.patched = text;
                        found.proof = Some((program, report));
                        return found;
                    }
                    Verdict::Violated(_) => {}
                    Verdict::Unknown(why) if why.ends_everything() => {
                        found.verdict = report.verdict;
                        return found;
                    }
                    Verdict::Unknown(_) => found.is_minimum = false,
                }
            }
        }
    }
    found
}

/// All placements of `count` calls, of which `strong` are of the strongest level.
fn placements(places: &Places<'_>, count: usize, strong: usize) -> Vec<Vec<(Gap, Level)>> {
    let mut all = vec![Vec::new()];
    for (k, gap) in places.gaps.iter().enumerate() {
        let left = places.gaps.len() - k - 1;
        let mut next = Vec::new();
        for chosen in all {
            let chosen: Vec<(Gap, Level)> = chosen;
            if chosen.len() + left >= count {
                next.push(chosen.clone());
            }
            if chosen.len() < count {
                for level in places.levels {
                    let mut more = chosen.clone();
                    more.push((*gap, *level));
                    next.push(more);
                }
            }
            if next.len() > 4 * MAX_TRIED {
                break;
            }
        }
        all = next;
    }
    let last = places.levels.last();
    let is_strong = |(_, level): &&(Gap, Level)| Some(level) == last;
    all.retain(|p| p.len() == count && p.iter().filter(is_strong).count() == strong);
    all
}
