//! *Numbered threads*: `self` as a local that starts with any value
//! ([`palisade_program::named`]). In a proof for any number of copies the number of a copy
//! is unknown; that two copies have different numbers is a fact of the initial states that
//! the search is told ([`Reduction::impossible`]) and the certificate checker knows by itself.
//!
//! A run comes back with the numbers that it has chosen: the copies with these numbers do
//! what its threads do, the others nothing. A number that is too large becomes one that
//! nobody has and no variable starts with.

use std::collections::BTreeSet;
use std::rc::Rc;

use palisade_abstraction::space::Space;
use palisade_certify::{Certificate, Fingerprint, StateVar};
use palisade_checker::views;
use palisade_logic::{Formula, Substitution, Term, Var};
use palisade_machine::{Action, Witness, replay};
use palisade_program::named::Named;
use palisade_program::{Count, Init, Instance, LocalId, Program, TemplateId};

use super::{Kind, Reduction};
use crate::answer::Gap;
use crate::portfolio::MOST_NUMBERS;

/// A program whose replicated threads have their number in a local.
pub struct Number {
    original: Rc<Program>,
    program: Rc<Program>,
    /// For each template the local that is its copies' number, if it is used.
    numbers: Vec<Option<LocalId>>,
}

impl Number {
    /// Replaces `self` in the templates that are declared with `[*]`.
    pub fn of(original: &Rc<Program>) -> Self {
        let named = Named::of(original);
        Self {
            original: Rc::clone(original),
            program: Rc::new(named.program),
            numbers: named.numbers,
        }
    }

    fn is_number(&self, template: TemplateId, local: LocalId) -> bool {
        self.numbers[template.index()] == Some(local)
    }

    /// The run with the thread numbers that it has chosen.
    fn numbered(&self, run: &Witness) -> Option<Witness> {
        let instances = self.program.instances(run.start.threads);
        let number = |(thread, instance): (usize, &Instance)| {
            let local = self.numbers[instance.template.index()]?;
            run.start.locals.get(&(thread, local)).copied()
        };
        let all: Vec<Option<i64>> = instances.iter().enumerate().map(number).collect();
        let mut taken: BTreeSet<i64> = all.iter().flatten().copied().collect();
        taken.extend(run.start.cells.values());
        let starts = self.original.initial_cells().into_iter();
        taken.extend(starts.filter_map(|init| match init {
            Init::Value(value) => Some(value),
            Init::Any => None,
        }));
        let mut copies = Vec::new();
        for (instance, number) in instances.iter().zip(&all) {
            copies.push(match number {
                None => instance.copy,
                Some(small) if (0..i64::from(MOST_NUMBERS)).contains(small) => *small as u32,
                Some(_) => {
                    let free = (0..MOST_NUMBERS).find(|n| !taken.contains(&i64::from(*n)))?;
                    taken.insert(i64::from(free));
                    free
                }
            });
        }
        let many = |id: TemplateId| self.original.template(id).count == Count::Any;
        let copied = instances.iter().zip(&copies);
        let numbers = copied.clone().filter(|(i, _)| many(i.template));
        let threads = numbers.map(|(_, copy)| copy + 1).max()?;
        let machine = self.original.instances(threads);
        let place = |(instance, copy): (&Instance, &u32)| {
            let same = |i: &Instance| i.template == instance.template && i.copy == *copy;
            machine.iter().position(same)
        };
        let places: Vec<usize> = copied.map(place).collect::<Option<_>>()?;
        let mut start = self.without_numbers(&instances, run).start;
        start.threads = threads;
        let locals = std::mem::take(&mut start.locals).into_iter();
        start.locals = locals.map(|((t, l), v)| ((places[t], l), v)).collect();
        let moved = |action: &Action| Action {
            thread: places[action.thread],
            kind: action.kind.clone(),
        };
        let actions = run.actions.iter().map(moved).collect();
        Some(Witness { start, actions })
    }

    fn without_numbers(&self, instances: &[Instance], run: &Witness) -> Witness {
        let mut run = run.clone();
        let own = |(thread, local): &(usize, LocalId)| {
            !self.is_number(instances[*thread].template, *local)
        };
        run.start.locals.retain(|at, _| own(at));
        run
    }
}

impl Reduction for Number {
    fn describe(&self) -> String {
        "thread numbers as locals".to_owned()
    }

    fn kind(&self) -> Kind {
        Kind::Over
    }

    fn program(&self) -> &Rc<Program> {
        &self.program
    }

    fn run_back(&self, run: Witness) -> Result<Witness, Gap> {
        let instances = self.program.instances(run.start.threads);
        let same = self.without_numbers(&instances, &run);
        match replay(&self.original, &same.start, &same.actions) {
            Ok(replayed) if replayed.violation.is_some() => Ok(same),
            Ok(_) | Err(_) => {
                let lost = || Gap::Spurious("its threads have numbers that no copies have".into());
                self.numbered(&run).ok_or_else(lost)
            }
        }
    }

    fn proof_back(&self, mut certificate: Certificate) -> Certificate {
        let threads = views::threads(&self.program, certificate.threads, None);
        let mut renamed = Substitution::default();
        let number_of = |thread: u32, local: LocalId| {
            let template = threads.get(thread as usize)?.template;
            self.is_number(template, local)
                .then_some(StateVar::Number { thread })
        };
        for (thread, instance) in threads.iter().enumerate() {
            let thread = thread as u32;
            if let Some(local) = self.numbers[instance.template.index()]
                && let Some(own) = StateVar::var(StateVar::Local { thread, local })
                && let Some(number) = StateVar::var(StateVar::Number { thread })
            {
                renamed.set(own, Term::var(number));
            }
        }
        for var in &mut certificate.explicit {
            if let StateVar::Local { thread, local } = *var
                && let Some(number) = number_of(thread, local)
            {
                *var = number;
            }
        }
        for atom in &mut certificate.atoms {
            // Renaming one variable to another changes no number.
            if let Ok(same) = atom.substitute(&renamed) {
                *atom = same;
            }
        }
        let (model, threads) = (certificate.model, certificate.threads);
        certificate.fingerprint = Fingerprint::of(&self.original, model, threads);
        certificate
    }

    // For each two copies of a template the equation of their numbers.
    fn impossible(&self, space: &Space<'_>) -> Vec<Formula> {
        let number = |thread: usize| {
            let local = self.numbers[space.threads[thread].template.index()]?;
            Some(Term::var(Var(space.local_slot(thread, local) as u32)))
        };
        let mut all = Vec::new();
        for a in 0..space.threads.len() {
            for b in a + 1..space.threads.len() {
                if space.threads[a].template == space.threads[b].template
                    && let (Some(a), Some(b)) = (number(a), number(b))
                {
                    all.extend(Formula::eq(&a, &b));
                }
            }
        }
        all
    }
}
