//! *Any number of threads*: programs with templates declared with `[*]` are proved
//! for every number of copies, by views ([`palisade_checker::views`]), or refuted
//! with some number of copies.
//!
//! The predicates are those of the templates (`template_predicates`). They come from
//! ordinary searches with a few copies: such a search simulates its counterexamples
//! thread by thread, so that each step has the name of the thread that makes it, and
//! its interpolants are generalised by taking the names out [Donaldson et al., CAV 2011,
//! section 4]. A counterexample with a few copies that is a run is a bug. If the few copies
//! are proved and the views still fail, they are looked at more sharply
//! ([`crate::portfolio`] has the ladder), with predicates that they lack themselves
//! (`blame`).
//!
//! `self` is a local that starts with any value ([`crate::reduction::number`]); that
//! the numbers of two copies differ is a fact of the initial states and, since nobody
//! writes them, of all others.
//!
//! Under TSO and PSO all this is done with the encoded program: a buffer is local to
//! its thread, and that a buffered store reaches memory is a step of the thread that
//! notifies the others as every store to memory does.

mod blame;
mod template_predicates;
mod views;

use std::collections::BTreeSet;

use palisade_abstraction::space::Space;
use palisade_abstraction::{congruence, hints};
use palisade_logic::Formula;
use palisade_program::symmetry::Symmetry;
use palisade_program::{Bound, Count, Instance, Pick, Program, PropertyKind};

use self::template_predicates::TemplatePredicates;
use self::views::Seen;
use super::cegar::{End, Engine, limits};
use super::{Record, Session, falsify, promotes};
use crate::answer::{Answer, Gap, Weak};
use crate::portfolio::{COPIES_SEARCH, Cases, FALSIFIED_COPIES, MOST_COPIES, Search, sharpnesses};
use crate::question::Options;
use crate::reduction::Kind;
use crate::reduction::model::Encoded;

/// Why a program cannot be proved for every number of copies, if it cannot.
pub fn refusal(program: &Program) -> Option<Gap> {
    let process = program.templates.iter().find(|t| t.is_process);
    if let Some(process) = process
        && program.has_unbounded_threads()
    {
        let what = "any number of copies in a program with processes".to_owned();
        return Some(Gap::Unsupported(what, process.span));
    }
    let symmetry = Symmetry::of(program);
    for id in program.template_ids() {
        if program.template(id).count == Count::Any
            && let Some(asymmetry) = symmetry.asymmetry(id)
        {
            let what = format!(
                "any number of copies that are not alike: {}",
                asymmetry.reason
            );
            return Some(Gap::Unsupported(what, asymmetry.span));
        }
    }
    None
}

/// What attempts with views remember of each other.
#[derive(Default)]
pub(super) struct Memory {
    /// The machine has looked for bugs with more copies.
    falsified: bool,
    /// Where views have failed last.
    stuck: String,
}

/// What is searched.
struct Task<'t> {
    search: &'t Search,
    encoded: &'t Encoded<'t>,
    promote: bool,
}

impl Session<'_> {
    /// Alternates between views and searches with a few copies.
    pub(super) fn views_of_any(&mut self, search: &Search, record: &mut Record) -> Answer {
        let mut properties = self.program.properties.iter();
        if let Some(property) = properties.find(|p| p.kind == PropertyKind::Finally) {
            let what = "`finally` with any number of threads".to_owned();
            return Gap::Unsupported(what, property.span).into();
        }
        let encoded = self.encoder.encode(&search.encoding);
        let task = Task {
            search,
            encoded: &encoded,
            promote: promotes(search.explicit),
        };
        match self.alternate(&task, record) {
            Ok(answer) => answer,
            Err(gap) => gap.into(),
        }
    }

    fn alternate(&mut self, task: &Task<'_>, record: &mut Record) -> Result<Answer, Gap> {
        let program = task.encoded.program();
        let reference = self.numbered_space(task, program.instances(MOST_COPIES));
        let mut pool = TemplatePredicates::new(&reference);
        if self.options.hints {
            for atom in hints::atoms(&reference).unwrap_or_default() {
                pool.add(&reference, &atom, false);
            }
        }
        for atom in hints::index_bounds(&reference) {
            pool.add(&reference, &atom, false);
        }
        for atom in congruence::suggested(&reference) {
            pool.add(&reference, &atom, false);
        }
        let impossible = self.stack.impossible(&reference);
        for atom in impossible.iter().flat_map(Formula::atoms) {
            pool.add(&reference, &atom, false);
        }
        // Blocking buffers prove nothing: only bugs are looked for.
        let can_prove = task.encoded.kind() != Kind::Under;
        let mut searched = Searched::default();
        let mut why = None;
        for sharpness in sharpnesses(self.fewest()) {
            if (sharpness.cases == Cases::All || sharpness.seen > 2)
                && !std::mem::replace(&mut self.parameterised.falsified, true)
                && let Some(run) = self.falsify_more_copies(record)
            {
                return Ok(run);
            }
            let mut asked = 0;
            loop {
                let mut lacked = Vec::new();
                match can_prove.then(|| self.views(task, sharpness, &pool, record)) {
                    Some(Ok(Seen::Proof(proof))) => return Ok(Answer::Proof(proof)),
                    Some(Ok(Seen::Failed(layers))) => lacked = layers,
                    None => {}
                    Some(Err(stop)) if stop.ends_everything() => return Err(stop),
                    Some(Err(other)) => {
                        why = Some(other);
                        break;
                    }
                }
                match self.few_copies(task, sharpness.copies, &mut pool, &mut searched, record) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(answer) => return Ok(answer),
                }
                if !can_prove {
                    return Err(Gap::Bound(Bound::FewStores));
                }
                asked += 1;
                let more = self.options.refine && asked <= sharpness.asks;
                let related = || sharpness.seen > 1 && asked == 1;
                if !(more
                    && (related() && pool.ask_for(&pool.relations())
                        || lacked.iter().any(|layer| pool.ask_for(layer))))
                {
                    break;
                }
            }
        }
        let coarse = || Weak::Views(self.parameterised.stuck.clone()).into();
        Err(searched.gap.or(why).unwrap_or_else(coarse))
    }

    /// Lets the machine look for bugs with more copies than the views show.
    fn falsify_more_copies(&self, record: &mut Record) -> Option<Answer> {
        if !(self.options.falsify && self.options.refine) {
            return None;
        }
        let (numbers, states) = FALSIFIED_COPIES;
        for copies in numbers {
            let options = Options {
                threads: Some(copies),
                ..self.options.clone()
            };
            // With numbers of its own, not any.
            let program = self.stack.below();
            if let Some(bug) = falsify::falsify(program, options.model, states, &options) {
                record.stats.falsified_states = bug.states;
                return Some(Answer::Run(bug.witness));
            }
        }
        None
    }

    /// A space of the searched program, with what is known of thread numbers.
    fn numbered_space<'t>(&self, task: &Task<'t>, threads: Vec<Instance>) -> Space<'t> {
        let mut space = Space::new(task.encoded.program(), threads, task.promote);
        let impossible = self.stack.impossible(&space).into_iter();
        space.facts = impossible.map(|f| f.negated()).collect();
        space
    }

    /// The fewest copies that views must show: those of which a property speaks.
    fn fewest(&self) -> u32 {
        let mut most = 1;
        for property in &self.program.properties {
            for template in self.program.template_ids() {
                let copies = property.threads.iter().filter(|t| t.template == template);
                let picks: BTreeSet<Pick> = copies.map(|t| t.pick).collect();
                most = most.max(picks.len() as u32);
            }
        }
        most
    }

    /// Searches with a few copies, until there is a new predicate.
    fn few_copies(
        &self,
        task: &Task<'_>,
        most: u32,
        pool: &mut TemplatePredicates<'_>,
        searched: &mut Searched,
        record: &mut Record,
    ) -> Result<bool, Answer> {
        if !self.options.refine {
            return Ok(false);
        }
        for copies in 2..=most.min(MOST_COPIES) {
            let before = pool.size();
            if searched.proved.contains(&(copies, before)) || searched.given_up.contains(&copies) {
                continue;
            }
            if let Some(why) = self.copies(task, copies, pool, record)? {
                searched.given_up.insert(copies);
                searched.gap = Some(why);
                continue;
            }
            searched.proved.insert((copies, pool.size()));
            if pool.size() != before {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The ordinary loop with this many copies. The predicates of a proof are kept.
    fn copies(
        &self,
        task: &Task<'_>,
        copies: u32,
        pool: &mut TemplatePredicates<'_>,
        record: &mut Record,
    ) -> Result<Option<Gap>, Answer> {
        let instances = task.encoded.program().instances(copies);
        let space = self.numbered_space(task, instances.clone());
        let table = pool.over(&space);
        let mut engine = Engine::new(&space, self.options, pool.atoms_over(&space));
        for (p, atom) in table.atoms().iter().enumerate() {
            if table.is_split(p)
                && let Some(own) = engine.predicates.find(atom)
            {
                engine.predicates.mark_split(own);
            }
        }
        let (mut prover, posts) = self.knowledge.take_prover(limits(self.options));
        let states = self.options.max_states.min(COPIES_SEARCH.1);
        let end = engine.run(&mut prover, task.search.rounds, states);
        self.knowledge.keep_prover(prover, posts);
        record.add(std::mem::take(&mut engine.stats));
        match end {
            End::Proved(_) => {
                pool.add_all(&space, &engine.predicates);
                Ok(None)
            }
            End::Gap(gap) if gap.ends_everything() => Err(gap.into()),
            End::Gap(gap) => Ok(Some(gap)),
            End::Falsified(run) => Err(Answer::Run(run)),
            End::Refuted(run) => match task.encoded.run_back(&instances, copies, &run) {
                Ok(run) => Err(Answer::Run(run)),
                Err(gap) => Err(gap.into()),
            },
        }
    }
}

/// What the searches with a few copies have come to.
#[derive(Default)]
struct Searched {
    /// Numbers of copies that were proved with so many predicates.
    proved: BTreeSet<(u32, (usize, usize))>,
    /// Numbers of copies that could not be decided,
    given_up: BTreeSet<u32>,
    /// and why.
    gap: Option<Gap>,
}
