//! *Reductions*: everything that changes a program before it is asked about. Each says
//! what its program is, which answers about it are answers about the original, and how
//! evidence comes back: a run of the reduced program as a run of the original, a
//! certificate of the reduced program as one of the original. A [`Stack`] applies several,
//! one on top of the other, and walks back through all of them in one loop
//! (as the extension stack of SAT solvers reconstructs models [Järvisalo et al., IJCAR
//! 2012]).
//!
//! | reduction | kind | what it does |
//! |---|---|---|
//! | [`unbuffer`] | exact | stores that nobody can see being delayed bypass the buffer |
//! | [`project`] | over | some variables may have any value at any time |
//! | [`generalise`] | over | any number of copies in place of a fixed one |
//! | [`number`] | over | `self` is a local that starts with any value |
//! | [`presence`] | over | flags that say where threads are, for deadlocks of any number of threads |
//! | [`select`] | under | only the assertions that are asked about; others are assumptions |
//! | [`model`] | each its own | the memory model: store buffers and the network as variables |
//! | `deadlock` | with the model | deadlocks, where they count, as a `never` |
//!
//! The memory model is always on top: what it makes is a program under sequential
//! consistency, which is all that methods know. Its evidence comes from a search over
//! abstract states, so that it has types of its own ([`model::Encoded`]).
//!
//! Nothing here is trusted. After the walk back the concrete machine replays the run, and
//! `palisade-certify` checks the certificate, on the original program under its memory
//! model ([`crate::evidence`]).
//!
//! **Law** (`tests/reductions.rs`): runs that come back are runs of the original, and
//! certificates that come back are accepted.

mod deadlock;
pub mod generalise;
pub mod joins;
pub mod model;
pub mod number;
pub mod presence;
pub mod project;
pub mod select;
pub mod unbuffer;

use std::rc::Rc;

use palisade_abstraction::space::Space;
use palisade_certify::Certificate;
use palisade_logic::Formula;
use palisade_machine::Witness;
use palisade_program::Program;

use crate::answer::Gap;
use crate::question::Options;

/// Which answers about the reduced program are answers about the original.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Both.
    Exact,
    /// Proofs: it has at least the runs of the original.
    Over,
    /// Runs: it has at most the runs of the original.
    Under,
}

/// A change of a program.
pub trait Reduction {
    /// What it does, in a few words.
    fn describe(&self) -> String;
    /// Which answers survive.
    fn kind(&self) -> Kind;
    /// The reduced program.
    fn program(&self) -> &Rc<Program>;
    /// A run of the reduced program as one of the original. One that is lost is no run of
    /// the original, or not known to be one.
    fn run_back(&self, run: Witness) -> Result<Witness, Gap>;
    /// A certificate of the reduced program as one of the original.
    fn proof_back(&self, certificate: Certificate) -> Certificate;

    /// How many stores bypass the buffer.
    fn unbuffered_stores(&self) -> usize {
        0
    }

    /// What a proof of the reduced program is remarked on with.
    fn note(&self) -> Option<String> {
        None
    }

    /// Formulas over a space of the reduced program that are false in every state, although
    /// its text does not say so.
    fn impossible(&self, _: &Space<'_>) -> Vec<Formula> {
        Vec::new()
    }
}

/// The name of a reduction that a portfolio asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Layer {
    /// [`unbuffer::Unbuffer`], where there is a store to unbuffer.
    Unbuffer,
    /// [`project::Project`].
    Project,
    /// [`generalise::Generalise`].
    Generalise,
    /// [`number::Number`].
    Number,
    /// [`presence::Flags`], where deadlocks are asked about.
    Presence,
    /// [`select::Select`].
    Select,
}

/// Reductions, each applied to the program of the one before.
pub struct Stack {
    original: Rc<Program>,
    layers: Vec<Box<dyn Reduction>>,
}

impl Stack {
    /// Applies `layers` to `original`, the first first; `None` if one of them cannot be
    /// applied.
    pub fn apply(original: &Rc<Program>, layers: &[Layer], options: &Options) -> Option<Self> {
        let mut stack = Self {
            original: Rc::clone(original),
            layers: Vec::new(),
        };
        for layer in layers {
            let top = stack.top();
            let next: Option<Box<dyn Reduction>> = match layer {
                Layer::Unbuffer => match unbuffer::Unbuffer::of(top, options) {
                    Some(unbuffer) => Some(Box::new(unbuffer)),
                    // Every store needs its buffer: nothing to do.
                    None => continue,
                },
                Layer::Project => boxed(project::Project::of(top)),
                Layer::Generalise => boxed(generalise::Generalise::of(top)),
                Layer::Number => boxed(Some(number::Number::of(top))),
                Layer::Presence => boxed(presence::Flags::of(top, options.model)),
                Layer::Select => boxed(select::Select::of(top)),
            };
            stack.layers.push(next?);
        }
        Some(stack)
    }

    /// The program that all of this is about.
    pub const fn original(&self) -> &Rc<Program> {
        &self.original
    }

    /// The program after the last reduction.
    pub fn top(&self) -> &Rc<Program> {
        self.layers.last().map_or(&self.original, |l| l.program())
    }

    /// The program before the last reduction.
    pub fn below(&self) -> &Rc<Program> {
        let count = self.layers.len().saturating_sub(1);
        let before = self.layers[..count].last();
        before.map_or(&self.original, |l| l.program())
    }

    /// Formulas that are false in every state of the top ([`Reduction::impossible`]).
    pub fn impossible(&self, space: &Space<'_>) -> Vec<Formula> {
        self.layers
            .iter()
            .flat_map(|l| l.impossible(space))
            .collect()
    }

    /// What the reductions do.
    pub fn describe(&self) -> Vec<String> {
        self.layers.iter().map(|l| l.describe()).collect()
    }

    /// How many stores bypass the buffer.
    pub fn unbuffered_stores(&self) -> usize {
        self.layers.iter().map(|l| l.unbuffered_stores()).sum()
    }

    /// Remarks on a proof of the top.
    pub fn notes(&self) -> Vec<String> {
        self.layers.iter().filter_map(|l| l.note()).collect()
    }

    /// Whether a proof of the top is one of the original.
    pub fn keeps_proofs(&self) -> bool {
        self.layers.iter().all(|l| l.kind() != Kind::Under)
    }

    /// A run of the top as one of the original.
    pub fn run_back(&self, run: Witness) -> Result<Witness, Gap> {
        let mut layers = self.layers.iter().rev();
        layers.try_fold(run, |run, layer| layer.run_back(run))
    }

    /// A certificate of the top as one of the original.
    pub fn proof_back(&self, certificate: Certificate) -> Certificate {
        let layers = self.layers.iter().rev();
        layers.fold(certificate, |certificate, layer| {
            layer.proof_back(certificate)
        })
    }
}

fn boxed<R: Reduction + 'static>(reduction: Option<R>) -> Option<Box<dyn Reduction>> {
    reduction.map(|r| Box::new(r) as Box<dyn Reduction>)
}
