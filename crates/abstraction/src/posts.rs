//! *Remembered posts*: what the lazy strategy found out, kept beyond one search and
//! one program. A post is a question about literals of the prover: is the guard
//! possible with a cube, and which values do predicates have afterwards. Asked of
//! the same literals it has the same answer, whatever the program, the branch and the
//! predicate were called. So where two programs share an edge (the same program with
//! another fence), or where new predicates do not touch a branch, its posts survive.
//!
//! Literals are numbers of one prover: posts must not be used with another one.

use std::rc::Rc;

use palisade_logic::Lit;
use rustc_hash::FxHashMap;

/// Answers kept at most; beyond it all are forgotten.
const MOST: usize = 400_000;

/// What a branch asks about one predicate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Asked {
    /// The predicate.
    pub(crate) pred: Lit,
    /// What must hold before for it to hold afterwards.
    pub(crate) wp: Lit,
    /// Whether it loses its value.
    pub(crate) written: bool,
    /// Whether its cases are split.
    pub(crate) splits: bool,
}

/// What a branch asks under some predicates, all but the state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Question {
    pub(crate) guard: Vec<Lit>,
    /// How far the cone of influence goes. Which predicates are in it is not told: what
    /// was found with another cone of the same state is right as well.
    pub(crate) depth: usize,
    pub(crate) asked: Vec<Asked>,
}

/// The values of the predicates asked about, for each way in which a step can end.
pub(crate) type Answers = Rc<[Box<[Option<bool>]>]>;

/// Posts that were computed with one prover.
#[derive(Debug, Default)]
pub struct Posts {
    questions: FxHashMap<Question, u32>,
    answers: FxHashMap<(u32, Box<[Lit]>), Answers>,
    recalled: u64,
}

impl Posts {
    /// The number of a question.
    pub(crate) fn number(&mut self, question: Question) -> u32 {
        let next = self.questions.len() as u32;
        *self.questions.entry(question).or_insert(next)
    }

    /// The answers for a state, given by its literals in order.
    pub(crate) fn get(&mut self, key: &(u32, Box<[Lit]>)) -> Option<Answers> {
        let found = self.answers.get(key).map(Rc::clone);
        self.recalled += u64::from(found.is_some());
        found
    }

    /// Keeps answers.
    pub(crate) fn keep(&mut self, key: (u32, Box<[Lit]>), answers: Answers) {
        if self.answers.len() >= MOST {
            // Questions keep their numbers: plans in use have them.
            self.answers.clear();
        }
        self.answers.insert(key, answers);
    }

    /// Posts that were recalled so far.
    pub fn recalled(&self) -> u64 {
        self.recalled
    }
}
