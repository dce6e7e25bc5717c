//! Replaying a run whose threads have chosen their numbers.

use std::collections::BTreeSet;

use palisade_machine::Witness;
use palisade_program::{Count, Instance, TemplateId, Violation};

use super::{Many, Task};
use crate::evidence;
use crate::simulate::Run;

/// Thread numbers that a run is replayed with.
const MOST_NUMBERS: u32 = 16;

impl Many<'_> {
    /// Replays a run with the thread numbers that it has chosen: the copies with these
    /// numbers do what its threads do, the others nothing. A number that is too large
    /// becomes one that nobody has and no variable starts with.
    pub(super) fn replay_numbered(
        &self,
        task: &Task<'_>,
        instances: &[Instance],
        run: &Run,
    ) -> Option<(Box<Violation>, Witness)> {
        let number = |thread: usize| {
            let local = self.named.numbers[instances[thread].template.index()]?;
            run.locals[thread].get(local.index()).copied()
        };
        let all: Vec<Option<i64>> = (0..instances.len()).map(number).collect();
        let mut taken: BTreeSet<i64> = all.iter().flatten().copied().collect();
        taken.extend(run.cells.iter().copied());
        let mut copies = Vec::new();
        for (thread, instance) in instances.iter().enumerate() {
            copies.push(match all[thread] {
                None => instance.copy,
                Some(small) if (0..i64::from(MOST_NUMBERS)).contains(&small) => small as u32,
                Some(_) => {
                    let free = (0..MOST_NUMBERS).find(|n| !taken.contains(&i64::from(*n)))?;
                    taken.insert(i64::from(free));
                    free
                }
            });
        }
        let many = |id: TemplateId| self.program.template(id).count == Count::Any;
        let numbered = instances
            .iter()
            .zip(&copies)
            .filter(|(i, _)| many(i.template));
        let threads = numbered.map(|(_, copy)| copy + 1).max()?;
        let machine = self.program.instances(threads);
        let place = |(instance, copy): (&Instance, &u32)| {
            let same = |i: &Instance| i.template == instance.template && i.copy == *copy;
            machine.iter().position(same)
        };
        let places: Option<Vec<usize>> = instances.iter().zip(&copies).map(place).collect();
        let threads_of = (instances, &places?[..]);
        let model = self.options.model;
        evidence::replay_as(self.program, task.reduced, threads_of, model, threads, run).ok()
    }
}
