//! The *fewest fences* for a data structure under TSO or PSO: behind as few stores as possible, such that no run within bounds is
//! wrong. Counterexample-guided [Kuperstein, Vechev and Yahav, FMCAD 2010]: every wrong run says behind which stores a fence would have
//! kept it from happening; the next placement is a smallest one that does so for all runs found. No placement with fewer
//! fences behind stores does for these. The text with the fences is read and checked again, and proved if that can be done.
//!
//! ```
//! use palisade::linearize::fences::{End, place};
//! use palisade::linearize::{Buffers, Options, Question, read};
//!
//! let text = "spec none; struct node { int x; } shared node top;
//! method put() { node n = new node; n.x = 1; top = n; }
//! method get() { node t = top; if (t != null) assert(t.x == 1); }";
//! let program = read("box.pal".as_ref(), text)?;
//! let bounds = Options { buffers: Buffers::Pso, ..Options::default() };
//! let question = Question { bounds, proof: None, stopped: &|| None, progress: None };
//! let found = place(&program, &question);
//! assert!(matches!(found.end, End::Placed(_)));
//! assert!(found.patched.text().contains("n.x = 1; fence;"));
//! # Ok::<(), palisade::Diagnostics>(())
//! ```

use palisade_fences::hitting_set::{Choice, Clause, Literal, cheapest};
use palisade_fences::{Cost, Level, Spelling, patch};
use palisade_frontend::heap;
use palisade_linearize::fences::{candidates, with_fences};
use palisade_linearize::{Found, Witness, stages};
use palisade_program::heap::Program;
use palisade_program::{Gap, Side, Source, Span, Unknown};

use super::{Checked, Question, check};

/// How the search ended.
#[derive(Debug)]
pub enum End {
    /// No run within bounds is wrong: what is known of the text with the fences.
    Placed(Box<Checked>),
    /// A run is wrong in which no thread goes on while its stores wait: no fence helps.
    NoRepair(Box<Witness>),
    /// The search was stopped.
    Stopped(Unknown),
    /// The search could not be done, or the fences not be written.
    Failed(String),
}

/// A placement.
#[derive(Debug)]
pub struct Fenced {
    /// The stores behind which the fences stand, and where: also behind their commit points.
    pub fences: Vec<(Span, Gap)>,
    /// The text with them.
    pub patched: Source,
    /// How many places there are.
    pub candidates: usize,
    /// Placements that were tried.
    pub rounds: usize,
    /// How it ended.
    pub end: End,
}

/// Looks for the fewest fences.
pub fn place(program: &Program, question: &Question<'_>) -> Fenced {
    let places = candidates(program);
    let mut fenced = Fenced {
        fences: Vec::new(),
        patched: program.source.clone(),
        candidates: places.len(),
        rounds: 0,
        end: End::Failed(String::new()),
    };
    let choice = Choice {
        costs: vec![Cost(0, 0), Cost(1, 0)],
        allowed: 0b11,
        fences: 1,
    };
    let choices = vec![choice; places.len()];
    let mut clauses: Vec<Clause> = Vec::new();
    loop {
        fenced.rounds += 1;
        let Some(levels) = cheapest(&choices, &clauses, None) else {
            fenced.end = End::Failed("no placement satisfies all runs".to_owned());
            return fenced;
        };
        let chosen: Vec<(Span, Span)> = (places.iter().zip(levels))
            .filter(|(_, level)| *level > 0)
            .map(|(place, _)| *place)
            .collect();
        let behind: Vec<Span> = chosen.iter().map(|(store, _)| *store).collect();
        let search = match stages::search(&with_fences(program, &behind), &question.bounds) {
            Ok(search) => search,
            Err(failure) => {
                fenced.end = End::Failed(failure.to_string());
                return fenced;
            }
        };
        match search.found {
            Found::Nothing => {
                fenced.fences = chosen
                    .iter()
                    .map(|place| (place.0, gap(&program.source, *place)))
                    .collect();
                finish(program, question, &mut fenced);
                return fenced;
            }
            Found::Stopped(_) => {
                fenced.end = End::Stopped((question.stopped)().unwrap_or(Unknown::Interrupted));
                return fenced;
            }
            Found::Wrong(witness) => {
                let literal = |(decision, _)| Literal {
                    decision,
                    levels: 0b10,
                };
                let hit = |(_, place): &(usize, &(Span, Span))| witness.passed.contains(&place.0);
                let clause: Clause = places.iter().enumerate().filter(hit).map(literal).collect();
                if clause.is_empty() {
                    fenced.end = End::NoRepair(witness);
                    return fenced;
                }
                clauses.push(clause);
            }
        }
    }
}

/// Writes the fences, reads the text again and checks it.
fn finish(program: &Program, question: &Question<'_>, fenced: &mut Fenced) {
    if fenced.fences.is_empty() {
        fenced.end = End::Placed(Box::new(check(program, question)));
        return;
    }
    let full: Vec<(Gap, Level)> = fenced
        .fences
        .iter()
        .map(|(_, gap)| (*gap, Level::Full))
        .collect();
    fenced.patched = patch::patched(&program.source, &full, &Spelling::pal());
    fenced.end = match heap::parse(fenced.patched.clone()) {
        Ok(parsed) => End::Placed(Box::new(check(&parsed.program, question))),
        Err(_) => End::Failed("the fences cannot be written where they should stand".to_owned()),
    };
}

/// The place behind a store, and behind its commit points where they stand in the same block.
fn gap(source: &Source, (store, last): (Span, Span)) -> Gap {
    let before = source.text()[..store.start as usize].trim_end();
    let lonely = before.ends_with(')') || before.ends_with("else") || before.ends_with("do");
    let statement = if lonely { store } else { last };
    Gap {
        at: statement,
        statement,
        side: Side::After,
        lonely,
        head: None,
        flush: None,
    }
}
