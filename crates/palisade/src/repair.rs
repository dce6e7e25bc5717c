//! *Repair*: the fewest fences (RMA: flushes) that make a program right, as a patch of its
//! text, proved.
//!
//! ```
//! use palisade::{Model, Verdict};
//!
//! let text = "shared x = 0; shared y = 0;
//! thread left { local a; x = 1; a = y; }
//! thread right { local b; y = 1; b = x; }
//! finally left.a == 1 || right.b == 1;
//! ";
//! let repaired = palisade::repair("sb.pal".as_ref(), text, Model::Tso)?;
//! assert_eq!(repaired.verdict, Verdict::Holds);
//! assert!(repaired.synthesis.is_minimum);
//! assert_eq!(repaired.patched.text().matches("fence;").count(), 2);
//! # Ok::<(), palisade::Diagnostics>(())
//! ```

use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub use palisade_fences::orders;
pub use palisade_fences::{
    End, Language, Level, Options, Placement, Plan, Repaired, Rule, Search, Site, Spelling, diff,
    nouns,
};
use palisade_fences::{repair as repaired, sites, useful};
use palisade_frontend::{Diagnostics, Gapped, c, pal};
use palisade_machine::explore_choosing;
use palisade_program::{Chosen, Model, Program, Side, Source, Span};
use palisade_verify::portfolio::{BUFFER, QUICK};

/// Which flushes are looked at (RMA).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flushes {
    /// One after every remote operation.
    #[default]
    All,
    /// Those that the program has.
    Own,
}

/// A program with places for fences or flushes.
pub struct Candidates {
    /// The program as it is.
    pub program: Program,
    /// Variables that a short search has seen read before anything was written to them:
    /// they may have any value.
    pub chosen: Chosen,
    gapped: Gapped,
    model: Model,
    path: PathBuf,
    options: c::Options,
    /// Further predicates, as text.
    predicates: Option<Source>,
}

impl Candidates {
    /// Reads a program, with a place for a fence wherever one can matter under `model`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn read(
        path: &Path,
        text: &str,
        model: Model,
        flushes: Flushes,
        options: &c::Options,
    ) -> Result<Self, Diagnostics> {
        Self::read_with(path, text, model, flushes, options, None)
    }

    /// As [`read`](Self::read), with the predicates of another file, which only `.pal` programs
    /// have.
    ///
    /// # Errors
    /// What is wrong with either text.
    pub fn read_with(
        path: &Path,
        text: &str,
        model: Model,
        flushes: Flushes,
        options: &c::Options,
        predicates: Option<&Source>,
    ) -> Result<Self, Diagnostics> {
        let mut program = crate::read_c(path, text, options)?;
        if let Some(predicates) = predicates {
            program = pal::with_predicates(&program, predicates)?;
            cut(&mut program, text);
        }
        let whole = with_text(text, predicates);
        let load = |wanted: &dyn Fn(&palisade_program::Gap) -> bool| {
            let gapped = palisade_frontend::load_gapped_with(path, &whole, options, wanted);
            gapped.map(|mut gapped| {
                if predicates.is_some() {
                    cut(&mut gapped.program, text);
                }
                gapped
            })
        };
        let mut gapped = match (model, flushes) {
            (Model::Rma, Flushes::All) => load(&|g| g.flush.is_some() && g.side == Side::After)?,
            (Model::Rma, Flushes::Own) => load(&|g| g.flush.is_some() && g.side == Side::At)?,
            (Model::Sc | Model::Tso | Model::Pso | Model::Rc11, _) => {
                let all = load(&|_| true)?;
                let kept = useful(&all.program, &all.gaps, model);
                load(&|gap| kept.contains(&gap.at))?
            }
        };
        let chosen = uninitialised(&gapped.program, model);
        if !chosen.is_empty() {
            gapped.program = gapped.program.choosing(&chosen);
        }
        Ok(Self {
            program,
            chosen,
            gapped,
            model,
            path: path.to_owned(),
            options: options.clone(),
            predicates: predicates.cloned(),
        })
    }

    /// What is to be decided, and what it costs.
    pub fn plan(&self, rule: &Rule) -> Plan<'_> {
        let program = &self.gapped.program;
        Plan::new(program, self.model, sites(program, &self.gapped.gaps), rule)
    }

    /// What is to be decided under RC11: the order of each access, and fences.
    pub fn orders(&self, start: orders::Start, rule: &orders::Rule) -> orders::Plan<'_> {
        let program = &self.gapped.program;
        let words = match self.path.extension().and_then(|e| e.to_str()) {
            Some("c" | "i") => orders::Words::C,
            Some("rs") => orders::Words::Rust,
            Some(_) | None => orders::Words::Pal,
        };
        let sites = sites(program, &self.gapped.gaps);
        orders::Plan::new(program, words, start, sites, rule)
    }

    /// Finds the cheapest orders and fences of the plan, patches the text, and proves the result.
    pub fn repair_orders(
        &self,
        plan: &orders::Plan<'_>,
        spelling: &Spelling,
        options: &Options,
    ) -> orders::Repaired {
        let read = |source: &Source| self.reread(source);
        orders::repair(plan, &self.program.source, spelling, &read, options)
    }

    fn reread(&self, source: &Source) -> Option<Program> {
        let is_c = self.path.extension().is_some_and(|e| e == "c");
        let parsed = if is_c {
            c::parse(&self.path, source, &self.options)
        } else {
            let whole = with_text(source.text(), self.predicates.as_ref());
            palisade_frontend::load_with(&self.path, &whole, &self.options)
        };
        let mut program = parsed.ok()?.program;
        if self.predicates.is_some() {
            cut(&mut program, source.text());
        }
        Some(program)
    }

    /// How fences are written in the program's language.
    pub fn spelling(&self) -> Spelling {
        match self.path.extension().and_then(|e| e.to_str()) {
            Some("c" | "i") => Spelling::c(),
            Some("rs") => Spelling::rust(),
            Some("rmm") => Spelling::rmm(),
            Some(_) | None => Spelling::pal(),
        }
    }

    /// Finds the cheapest fences of the plan, patches the text, and proves the result.
    pub fn repair(&self, plan: &Plan<'_>, spelling: Spelling, options: &Options) -> Repaired {
        let read = |source: &Source| self.reread(source);
        let language = Language {
            spelling,
            read: &read,
        };
        repaired(plan, &self.program.source, &language, options)
    }
}

/// A program's text with predicates behind it.
fn with_text<'t>(text: &'t str, predicates: Option<&Source>) -> Cow<'t, str> {
    match predicates {
        Some(predicates) => Cow::Owned(format!("{text}\n{}", predicates.text())),
        None => Cow::Borrowed(text),
    }
}

/// The program of a text to which predicates were added: they stand nowhere in it.
fn cut(program: &mut Program, text: &str) {
    program.source = Source::new(program.source.name(), text);
    let is_inside = |span: Span| span.end as usize <= text.len();
    for hint in &mut program.hints {
        if !is_inside(hint.span) {
            hint.span = Span::default();
        }
    }
}

/// The variables that a short search sees read before anything was written to them.
fn uninitialised(program: &Program, model: Model) -> Chosen {
    let options = palisade_machine::Options {
        buffer: Some(BUFFER as usize),
        max_states: Some(QUICK),
        ..palisade_machine::Options::new(model)
    };
    explore_choosing(program, &options).map_or_else(|_| Chosen::new(), |(_, chosen)| chosen)
}

/// Repairs a program under `model`, with everything else as usual.
///
/// # Errors
/// What is wrong with the text.
pub fn repair(path: &Path, text: &str, model: Model) -> Result<Repaired, Diagnostics> {
    let options = c::Options::default();
    let candidates = Candidates::read(path, text, model, Flushes::All, &options)?;
    let options = Options {
        verify: palisade_verify::Options {
            model,
            falsify: model != Model::Rma,
            ..palisade_verify::Options::default()
        },
        ..Options::default()
    };
    let plan = candidates.plan(&Rule::Count);
    Ok(candidates.repair(&plan, candidates.spelling(), &options))
}
