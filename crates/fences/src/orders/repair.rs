//! *Repair by orders*: the search finds the placement, the text is patched, and what comes out,
//! read anew, is verified once more.

use palisade_program::{Program, Source, Unknown, Verdict};
use palisade_verify::{Goal, Report, verify_with};

use crate::patch::{Spelling, rewritten};
use crate::synthesize::Options;

use super::plan::{Levelled, Plan};
use super::search::{End, Outcome, search};

/// What a repair has come to.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// `holds`: the patched program is proved; `violated`: no order repairs the program.
    pub verdict: Verdict,
    /// Placements that were proved, all of the same cost; the first is that of the patch.
    pub placements: Vec<Levelled>,
    /// The files with the first placement; the original ones if there is none.
    pub patched: Source,
    /// The program that the patched text is.
    pub program: Option<Program>,
    /// The proof of the patched program.
    pub proof: Option<Report>,
    /// How the search went.
    pub outcome: Outcome,
}

/// Finds the cheapest orders and fences of the plan, patches `source`, and proves the
/// result. `read` reads a text of the language.
pub fn repair(
    plan: &Plan<'_>,
    source: &Source,
    spelling: &Spelling,
    read: &dyn Fn(&Source) -> Option<Program>,
    options: &Options,
) -> Repaired {
    let outcome = search(plan, options);
    let gave_up = |why: String| Verdict::Unknown(Unknown::GaveUp(why));
    let mut repaired = Repaired {
        verdict: gave_up(String::new()),
        placements: Vec::new(),
        patched: source.clone(),
        program: None,
        proof: None,
        outcome,
    };
    let placements: Vec<Levelled> = match &repaired.outcome.end {
        End::Proved(all) => all.iter().map(|(p, _)| p.clone()).collect(),
        End::Wrong(violation) => {
            repaired.verdict = plan.program.judged(violation.clone());
            return repaired;
        }
        End::TooFew(most) => {
            let why = format!("no orders with at most {most} fences repair the program");
            repaired.verdict = gave_up(why);
            return repaired;
        }
        End::Unknown(why) => {
            repaired.verdict = Verdict::Unknown(why.clone());
            return repaired;
        }
    };
    let edits = plan.edits(source, &placements[0]);
    let text = rewritten(source, &edits, spelling);
    let Some(program) = read(&text) else {
        let why = "the patched program cannot be read (a bug in Palisade)";
        repaired.verdict = gave_up(why.to_owned());
        return repaired;
    };
    let verify = palisade_verify::Options {
        goal: Goal::Repair,
        ..options.verify.clone()
    };
    let proof = verify_with(&program, &verify, &options.knowledge);
    repaired.verdict = match &proof.verdict {
        Verdict::Violated(_) => gave_up(
            "the patched program is not the one that was proved (a bug in Palisade)".to_owned(),
        ),
        other @ (Verdict::Holds | Verdict::Unknown(_)) => other.clone(),
    };
    if repaired.verdict == Verdict::Holds {
        repaired.placements = placements;
        repaired.patched = text;
    }
    repaired.program = Some(program);
    repaired.proof = Some(proof);
    repaired
}

impl Repaired {
    /// Whether the proof's certificate was checked.
    pub fn is_certified(&self) -> bool {
        self.proof.as_ref().is_some_and(|proof| proof.certified)
    }
}
