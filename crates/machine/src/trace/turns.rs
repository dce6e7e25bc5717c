//! Turns under RC11 as evidence: which message was read and how many stores it was behind, below
//! how many newer ones a store went, what an acquire brought, and with whom an access races.

use std::fmt::Write;

use palisade_program::{AssertKind, Broken, Cell, Edge, EdgeId, Event, MemoryError, Step};

use super::{Failed, Recorder, Seen};
use crate::block::BlockScratch;
use crate::rc11::{Turn, TurnEnd};
use crate::replay::Refused;
use palisade_program::BlockStep;

impl Recorder<'_, '_> {
    /// Does one turn.
    pub(super) fn turn(
        &mut self,
        t: usize,
        id: EdgeId,
        path: &[BlockStep],
        pick: usize,
    ) -> Result<Seen, Refused> {
        let edge = self.edge(t, id)?;
        let mut scratch = BlockScratch::default();
        let turns = self
            .machine
            .turns(&self.state, t, id.index(), &mut scratch)
            .ok_or(Refused::NotThere)?;
        let taken = turns.all.into_iter().nth(pick);
        let taken = taken.ok_or(Refused::NothingToDo)?;
        if taken.path != path {
            return Err(Refused::NoPath);
        }
        let mut text = self.turn_words(t, edge, &taken);
        let brought = self.machine.brought(&self.state, t, id.index(), &taken);
        let name = |(cell, value)| (self.machine.program.cell_name(Cell::from(cell)), value);
        let brings: Vec<(String, i64)> = brought.into_iter().map(name).collect();
        match taken.end {
            TurnEnd::Done => {}
            TurnEnd::Race(other) => {
                let place = edge.step.loaded().or(edge.step.stored());
                let status = place.and_then(|p| self.machine.program.status_error(p.var));
                self.failed = Some(Failed {
                    span: edge.span,
                    broken: status.map_or(Broken::DataRace, |error| {
                        Broken::Assert(AssertKind::Memory(error))
                    }),
                    message: match status {
                        None => self.race_words(t, other, &taken),
                        Some(error) => self.life_words(t, other, error),
                    },
                    because: Vec::new(),
                });
                let _ = write!(text, "; races with {}", self.trace.threads[other]);
            }
            TurnEnd::Fails => {
                let inside = edge.step.block().zip(path.last());
                let inside = inside.map(|(block, (last, _))| block.body.edge(*last));
                let inside = inside.ok_or(Refused::NoPath)?;
                self.failed = Some(self.assertion(t, inside, &self.state.slots));
                text.push_str("; an assertion fails");
            }
        }
        let events = self.turn_events(edge, &taken);
        self.state = taken.next;
        Ok(Seen {
            span: edge.span,
            text,
            events,
            brings,
            block: edge.step.block().map(|block| block.kind),
        })
    }

    fn cell_name(&self, turn: &Turn) -> Option<String> {
        let cell = Cell::from(turn.event?.cell);
        Some(self.machine.program.cell_name(cell))
    }

    fn turn_events(&self, edge: &Edge, turn: &Turn) -> Vec<Event> {
        let Some((event, cell)) = turn.event.zip(self.cell_name(turn)) else {
            let fence = matches!(edge.step, Step::Fence(_)).then_some(Event::Fence);
            return fence.into_iter().collect();
        };
        let read = event.read.map(|read| Event::Read {
            cell: cell.clone(),
            value: read.value,
            own: false,
            behind: read.behind,
        });
        let write = event.write.map(|value| Event::Write {
            cell,
            value,
            buffered: false,
            below: turn.below,
        });
        read.into_iter().chain(write).collect()
    }

    fn race_words(&self, t: usize, other: usize, turn: &Turn) -> String {
        let place = self.cell_name(turn).unwrap_or_default();
        let (own, other) = (&self.trace.threads[t], &self.trace.threads[other]);
        format!("data race on {place}: nothing orders the accesses of {own} and {other}")
    }

    /// A use and the end of an object's life that nothing orders.
    fn life_words(&self, t: usize, other: usize, error: MemoryError) -> String {
        let (own, other) = (&self.trace.threads[t], &self.trace.threads[other]);
        format!("{error}: nothing orders what {own} and {other} do")
    }

    fn turn_words(&self, t: usize, edge: &Edge, turn: &Turn) -> String {
        let program = self.machine.program;
        let mut text = program.show_step(self.template(t), &edge.step);
        let Some(event) = turn.event else {
            return text;
        };
        match (event.read, event.write) {
            (Some(read), _) => {
                let age = match read.behind {
                    0 => String::new(),
                    1 => ", one store behind".to_owned(),
                    n => format!(", {n} stores behind"),
                };
                let _ = write!(text, " (reads {}{age})", read.value);
            }
            (None, Some(value)) => {
                use palisade_program::Expr::Const;
                if !matches!(&edge.step, Step::Store { value, .. } if matches!(value, Const(_))) {
                    let _ = write!(text, " ({value})");
                }
            }
            (None, None) => {}
        }
        match turn.below {
            0 => {}
            1 => text.push_str(", below one newer store"),
            n => {
                let _ = write!(text, ", below {n} newer stores");
            }
        }
        text
    }
}
