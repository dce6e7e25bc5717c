//! The *question*: a program, a memory model, and how to look for the answer. What is
//! tried for a question, in which order and within which limits, is in
//! [`crate::portfolio`]; the loop over it in [`crate::schedule`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub use palisade_memory::summary::{ExactCells, Keep};
pub use palisade_memory::value_sets::Sharing;
use palisade_program::{Cell, Model, Program};

use crate::answer::Progress;

/// What a verdict is for: it decides how far the portfolio goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Goal {
    /// The user's question: everything is tried, and a proof has a certificate.
    #[default]
    Verdict,
    /// One of many placements of fences or flushes: cheap refutations come first, and under
    /// RMA a complete search of the machine is a proof. What comes out in the end is
    /// verified once more.
    Placement,
    /// The placement that came out: as `Verdict`, but under RMA a complete search of the
    /// machine is better than nothing.
    Repair,
}

/// How abstract transformers are built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Strategy {
    /// Ask the solver only about valuations that the search meets.
    #[default]
    Lazy,
    /// Cubes by increasing size [Dan et al., SAS 2013, Fig. 6a].
    Enumerate,
    /// Prime implicants from solver cores.
    Cores,
    /// Single literals and the cubes of the SC proof, lifted [Dan et al., SAS 2013, Fig. 6b].
    /// Under SC, where there is nothing to lift from, as `Cores`.
    Cubes,
    /// The Boolean program of the SC proof, lifted as a whole: no solver is asked
    /// [Baumann et al., VMCAI 2018, section 4.3]. Under SC as `Cores`.
    Program,
}

/// What is taken over from a proof under SC to one under TSO or PSO [Dan et al., SAS 2013].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Extrapolate {
    /// Predicates, when the first search shows that some are needed.
    #[default]
    Auto,
    /// Predicates, from the start.
    Predicates,
    /// Predicates and cubes, from the start; the strategy is [`Strategy::Cubes`].
    Cubes,
    /// Nothing.
    None,
}

/// How store buffers are modelled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Buffers {
    /// As large as the program's control flow can need, if that is bounded; else
    /// with some bounds, and abstract.
    #[default]
    Auto,
    /// With this many cells; overflow is `unknown`.
    Bounded(Sizes),
    /// Of every size: this many stores exactly, the others as a set [Abdulla et al., SAS 2012].
    Abstract(u32),
}

/// Sizes of bounded buffers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Cells of each buffer
    pub default: u32,
    /// except for these variables (PSO), threads, and variables in the buffers of a thread
    /// (`thread.x`, PSO).
    pub named: BTreeMap<String, u32>,
}

impl Sizes {
    /// The size for a memory cell, whoever writes it.
    pub fn of(&self, program: &Program, cell: Cell) -> u32 {
        let (var, _) = program.variable_of(cell);
        self.named
            .get(&program.global(var).name)
            .copied()
            .unwrap_or(self.default)
    }

    /// The size for a memory cell in the buffers of a template's threads: what is said of both
    /// comes before what is said of the variable, and that before what is said of the thread.
    pub fn of_thread(&self, program: &Program, template: usize, cell: Cell) -> u32 {
        let variable = &program.global(program.variable_of(cell).0).name;
        let thread = &program.templates[template].name;
        let both = self.named.get(&format!("{thread}.{variable}"));
        let either = both.or_else(|| self.named.get(variable));
        let own = either.or_else(|| self.named.get(thread));
        own.copied().unwrap_or(self.default)
    }

    /// Whether some thread has a size of its own.
    pub fn is_by_thread(&self, program: &Program) -> bool {
        let is_variable = |name: &String| program.globals.iter().any(|g| g.name == *name);
        self.named.keys().any(|name| !is_variable(name))
    }
}

/// Whether variables with few values are kept explicit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Promote {
    /// First yes, then, if the states become too many, no.
    #[default]
    Auto,
    /// Yes.
    Always,
    /// Only declared control variables are.
    Never,
    /// All variables are, whatever values they take: proofs state by state, and no others.
    All,
}

/// Options of a verification.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // switches are independent
pub struct Options {
    /// The memory model.
    pub model: Model,
    /// Copies of `[*]` templates; then the proof is for that many only.
    pub threads: Option<u32>,
    /// Prove programs with `[*]` for every number of copies.
    pub symmetry: bool,
    /// How transformers are built.
    pub strategy: Strategy,
    /// Largest cube of `enumerate`.
    pub cube_size: usize,
    /// Store buffers of TSO and PSO.
    pub buffers: Buffers,
    /// Whether given sizes of buffers grow where a counterexample asks for it.
    pub grow_buffers: bool,
    /// Let stores bypass the buffer where nobody can tell; only with [`Buffers::Auto`].
    pub unbuffer: bool,
    /// What is taken over from the proof under SC.
    pub extrapolate: Extrapolate,
    /// Leave predicates over buffered values out of lifted cubes ([Dan et al., SAS 2013],
    /// section 6.3).
    pub drop_buffered: bool,
    /// Whether questions may be answered without the solver where that is possible.
    pub shortcuts: bool,
    /// Which stores abstract buffers know exactly.
    pub keep: Keep,
    /// RMA: which remote operations share a value set.
    pub sets: Sharing,
    /// RMA: whether a set of a variable with few values is listed, one flag for each; else it is a
    /// summary that predicates speak of.
    pub list_sets: bool,
    /// Explicit finite variables.
    pub promote: Promote,
    /// Run a thread's local steps together with the step before them.
    pub compress: bool,
    /// Join states at one control.
    pub merge: bool,
    /// Drop states that several others cover together [Abdulla et al., SAS 2012, Algorithm 1].
    pub cover_by_several: bool,
    /// Find new predicates; otherwise exactly those given are used.
    pub refine: bool,
    /// Sharpen abstract steps that are impossible by themselves before predicates are
    /// added.
    pub transitions: bool,
    /// Add parameterised predicates with each new one.
    pub parameterised: bool,
    /// Use the program's hints.
    pub hints: bool,
    /// Check the certificate.
    pub certify: bool,
    /// Let the concrete machine search for shallow bugs as well ([`crate::method::falsify`]).
    pub falsify: bool,
    /// Most abstract states of one search.
    pub max_states: usize,
    /// What the verdict is for.
    pub goal: Goal,
    /// Most rounds of refinement.
    pub max_rounds: usize,
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Set from outside to stop.
    pub cancel: Arc<AtomicBool>,
    /// Told about progress.
    pub progress: Option<fn(&Progress)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            model: Model::Sc,
            threads: None,
            symmetry: true,
            strategy: Strategy::default(),
            cube_size: 3,
            buffers: Buffers::default(),
            grow_buffers: false,
            unbuffer: true,
            extrapolate: Extrapolate::default(),
            drop_buffered: false,
            shortcuts: true,
            keep: Keep::default(),
            sets: Sharing::default(),
            list_sets: true,
            promote: Promote::default(),
            compress: true,
            merge: false,
            cover_by_several: false,
            refine: true,
            transitions: false,
            parameterised: false,
            hints: true,
            certify: true,
            falsify: false,
            max_states: 4_000_000,
            goal: Goal::default(),
            max_rounds: 200,
            deadline: None,
            cancel: Arc::default(),
            progress: None,
        }
    }
}

impl Options {
    /// Copies of `[*]` templates: two when none are asked for.
    pub fn copies(&self) -> u32 {
        self.threads.unwrap_or(2)
    }

    /// Whether the run has to end now.
    pub fn is_over(&self) -> bool {
        let late = self.deadline.is_some_and(|d| Instant::now() >= d);
        late || self.cancel.load(Ordering::Relaxed)
    }
}
