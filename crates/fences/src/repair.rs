//! *Repair*: from a program with candidates for fences to a verdict. Synthesis finds the
//! placement; the source text is patched; and what comes out, read anew, is verified once
//! more. What the user gets is what was proved.

use palisade_program::{Model, Program, Source, Unknown, Verdict};
use palisade_verify::{Goal, Report, verify_with};

use crate::patch::{Spelling, patched};
use crate::plan::{Placement, Plan};
use crate::synthesize::{End, Options, Outcome, Repair, synthesize};

/// The source language, for patches.
pub struct Language<'a> {
    /// How fences are written.
    pub spelling: Spelling,
    /// Reads a text of the language; `None` if it is none.
    pub read: &'a dyn Fn(&Source) -> Option<Program>,
}

/// What a repair has come to.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// `holds`: the patched program is proved; `violated`: the program is wrong under SC.
    pub verdict: Verdict,
    /// Placements that were proved, all of the same cost; the first is that of the patch.
    pub placements: Vec<Placement>,
    /// The files with the first placement; the original ones if there is none.
    pub patched: Source,
    /// The program that the patched text is.
    pub program: Option<Program>,
    /// The proof of the patched program.
    pub proof: Option<Report>,
    /// How the synthesis went.
    pub synthesis: Outcome,
}

impl Repaired {
    /// Whether the proof's certificate was checked.
    pub fn is_certified(&self) -> bool {
        self.proof.as_ref().is_some_and(|proof| proof.certified)
    }
}

/// Finds the cheapest fences with which the plan's program satisfies its properties, patches
/// `source`, and proves the patched program.
pub fn repair(
    plan: &Plan<'_>,
    source: &Source,
    language: &Language<'_>,
    options: &Options,
) -> Repaired {
    let synthesis = synthesize(plan, options);
    let (_, many) = nouns(plan.model);
    let verdict = match synthesis.end.clone() {
        End::Repaired(repairs) => match patch(plan, source, language, options, &repairs) {
            Ok(patch) => return patch.finished(&repairs, synthesis),
            Err(why) => why,
        },
        End::WrongUnderSc(violation) => plan.program.judged(violation),
        End::NoRepair(_) => gave_up(format!(
            "no placement of {many} at the candidates repairs the program, \
             although it is right under sc"
        )),
        End::TooFew(most) => gave_up(format!(
            "no placement of at most {most} {many} repairs the program"
        )),
        End::Unknown(why) => Verdict::Unknown(why),
    };
    Repaired {
        verdict,
        placements: Vec::new(),
        patched: source.clone(),
        program: None,
        proof: None,
        synthesis,
    }
}

/// The words for one and for several of what is placed.
pub const fn nouns(model: Model) -> (&'static str, &'static str) {
    match model {
        Model::Rma => ("flush", "flushes"),
        Model::Sc | Model::Tso | Model::Pso | Model::Rc11 => ("fence", "fences"),
    }
}

fn gave_up(why: String) -> Verdict {
    Verdict::Unknown(Unknown::GaveUp(why))
}

/// A patched text and the proof of its program.
struct Patch {
    text: Source,
    program: Program,
    proof: Report,
}

fn patch(
    plan: &Plan<'_>,
    source: &Source,
    language: &Language<'_>,
    options: &Options,
    repairs: &[Repair],
) -> Result<Patch, Verdict> {
    let first = repairs.first();
    let first = first.ok_or_else(|| gave_up("nothing was found".to_owned()))?;
    let fences = plan.sites_at(&first.placement);
    let fences: Vec<_> = fences.iter().map(|(s, level)| (s.gap, *level)).collect();
    let text = patched(source, &fences, &language.spelling);
    let program = (language.read)(&text).ok_or_else(|| {
        gave_up("the patched program cannot be read (a bug in Palisade)".to_owned())
    })?;
    let options = Options {
        verify: palisade_verify::Options {
            goal: Goal::Repair,
            ..options.verify.clone()
        },
        ..options.clone()
    };
    let proof = verify_with(&program, &options.verify, &options.knowledge);
    Ok(Patch {
        text,
        program,
        proof,
    })
}

impl Patch {
    fn finished(self, repairs: &[Repair], synthesis: Outcome) -> Repaired {
        let verdict = match &self.proof.verdict {
            Verdict::Violated(_) => gave_up(
                "the patched program is not the one that was proved (a bug in Palisade)".to_owned(),
            ),
            other @ (Verdict::Holds | Verdict::Unknown(_)) => other.clone(),
        };
        let placements = match &verdict {
            Verdict::Holds => repairs.iter().map(|r| r.placement.clone()).collect(),
            Verdict::Violated(_) | Verdict::Unknown(_) => Vec::new(),
        };
        Repaired {
            verdict,
            placements,
            patched: self.text,
            program: Some(self.program),
            proof: Some(self.proof),
            synthesis,
        }
    }
}
