//! Certificates of *reachable states*, for programs with finitely many under SC, TSO and PSO. Such a
//! certificate says no more than how many states there are at most. The check finds them by itself:
//! the least set of states that has the initial ones and is closed under every step; no state of it
//! may violate anything. That is as much work as to confirm a set that is given, and nothing in
//! the certificate is trusted.
//!
//! A state has every thread at a stop ([`crate::stops`] says why that is enough), buffers of any
//! length, and exact values; locals that are dead are 0 ([`palisade_program::liveness`]). Steps are
//! those of all other certificates ([`crate::steps`]), run with every value known.
//!
//! | file | term |
//! |---|---|
//! | `threads` | thread states, decision trees of their steps |
//! | `judged` | which states violate a property |
//! | `shifted` | one state for all that differ by a shift of counters |
//! | `gaps` | and by how far apart counters are that are far apart |
//! | `persistent` | which steps of a state are enough |
//! | `stagnant` | deadlocks, and threads that may spin for ever |
//! | `store` | packed states, each once |

mod gaps;
mod judged;
mod persistent;
mod shifted;
mod stagnant;
mod store;
mod threads;

use crate::certificate::{Certificate, Reachable};
use crate::check::{Options, admissible};
use crate::refusal::{Reason, Refusal, Site};
use crate::shift::IllTyped;
use crate::steps::{MAX_ENUMERATED, Trouble, unsupported};
use crate::unbuffered::confirmed;
use judged::Judged;
use palisade_program::{Cell, Domain, Init, Model, Program, Span};
use persistent::{Part, Persistent};
use shifted::Shift;
use std::time::Instant;
use store::Store;
use threads::{Own, Threads};

/// Initial states that are listed at most.
const MOST_STARTS: usize = 1 << 16;
/// The limits are looked at once in so many states.
const INTERVAL: usize = 1 << 10;

/// What a check has found.
pub(crate) struct Found {
    /// States.
    pub(crate) states: usize,
    /// Steps between them.
    pub(crate) steps: u64,
}

/// Checks a certificate of reachable states.
pub(crate) fn check(
    program: &Program,
    certificate: &Certificate,
    reachable: Reachable,
    options: &Options,
) -> Result<Found, Refusal> {
    let refused = |what: &str| Refusal::whole(Reason::Unsupported(what.to_owned()));
    match certificate.model {
        Model::Sc | Model::Tso | Model::Pso => {}
        Model::Rma | Model::Rc11 => return Err(refused("reachable states under this model")),
    }
    let is_bare = certificate.forgotten.is_empty()
        && certificate.interference_free.is_empty()
        && certificate.beyond.is_none()
        && certificate.explicit.is_empty()
        && certificate.atoms.is_empty()
        && certificate.entries.is_empty();
    if !is_bare {
        let what = "reachable states with an invariant beside them".to_owned();
        return Err(Refusal::whole(Reason::Malformed(what)));
    }
    let program = &*confirmed(program, certificate).map_err(Refusal::whole)?;
    admissible(program, certificate).map_err(Refusal::whole)?;
    let instances = program.instances(certificate.threads);
    let judged = Judged::new(program, &instances);
    let shift = Shift::of(program, certificate.model, &instances, reachable.counters);
    let shift = shift.map_err(|IllTyped| refused("counters that are no group"))?;
    let is_reduced = options.reduce && shift.is_none();
    let threads = Threads::new(program, certificate.model, &instances, judged, is_reduced);
    let persistent = is_reduced.then(|| Persistent::of(&threads)).flatten();
    let mut search = Search {
        alike: threads.alike(),
        threads,
        shift,
        persistent,
        most: reachable.most,
        options,
    };
    let result = search.narrow_to_wide();
    result.map_err(|stop| match stop {
        Stop::Trouble(trouble) => located(program, trouble),
        Stop::Limit(reason) => Refusal::whole(reason),
        Stop::Wide => refused("so many values"),
    })
}

/// Why a search ends before it has all states.
enum Stop {
    Trouble(Trouble),
    Limit(Reason),
    /// A number does not fit its bytes.
    Wide,
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

fn located(program: &Program, trouble: Trouble) -> Refusal {
    let position = program.source.position(trouble.span.start);
    let span = (trouble.span != Span::default()).then_some((trouble.span, position));
    Refusal {
        reason: trouble.reason,
        site: Site {
            span,
            ..Site::default()
        },
    }
}

/// Bytes of the number of a thread's state and of a cell's value.
#[derive(Clone, Copy)]
struct Layout {
    threads: usize,
    thread_bytes: usize,
    cell_bytes: usize,
    width: usize,
}

impl Layout {
    fn new((thread_bytes, cell_bytes): (usize, usize), threads: usize, cells: usize) -> Self {
        Self {
            threads,
            thread_bytes,
            cell_bytes,
            width: threads * thread_bytes + cells * cell_bytes,
        }
    }

    /// Writes the number of thread `at`, or of the cell behind the threads.
    fn write(&self, record: &mut [u8], at: usize, number: u32) -> Result<(), Stop> {
        let (first, bytes) = if at < self.threads {
            (at * self.thread_bytes, self.thread_bytes)
        } else {
            let cell = at - self.threads;
            let first = self.threads * self.thread_bytes + cell * self.cell_bytes;
            (first, self.cell_bytes)
        };
        if bytes < 4 && number >> (8 * bytes) != 0 {
            return Err(Stop::Wide);
        }
        record[first..first + bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
        Ok(())
    }

    fn read(&self, record: &[u8], numbers: &mut [u32]) {
        let (own, cells) = record.split_at(self.threads * self.thread_bytes);
        let fields = own.chunks_exact(self.thread_bytes);
        let fields = fields.chain(cells.chunks_exact(self.cell_bytes));
        for (number, field) in numbers.iter_mut().zip(fields) {
            *number = match *field {
                [a] => u32::from(a),
                [a, b] => u32::from(u16::from_le_bytes([a, b])),
                [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
                _ => unreachable!("numbers have one, two or four bytes"),
            };
        }
    }
}

/// The states that were found.
struct Packed {
    layout: Layout,
    store: Store,
    /// One state.
    record: Vec<u8>,
}

impl Packed {
    fn add(&mut self, state: &[u32]) -> Result<(), Stop> {
        for (at, number) in state.iter().enumerate() {
            self.layout.write(&mut self.record, at, *number)?;
        }
        self.store.insert(&self.record);
        Ok(())
    }
}

struct Search<'p, 'o> {
    threads: Threads<'p>,
    /// How counters are shifted, if they are.
    shift: Option<Shift>,
    /// Threads that are alike.
    alike: Vec<Vec<usize>>,
    /// Which steps are enough, if not all are taken.
    persistent: Option<Persistent>,
    most: u64,
    options: &'o Options,
}

/// A step of a state.
#[derive(Clone, Copy)]
struct Move {
    thread: usize,
    /// Whether it is the memory system's.
    departs: bool,
    /// The number of the change.
    change: u32,
}

impl Part {
    /// Whether a step is of this part.
    fn contains(self, step: Move) -> bool {
        step.thread == self.thread && (self.departures || !step.departs)
    }
}

impl Search<'_, '_> {
    /// Searches with small numbers first; where one does not fit, again with larger ones. What is
    /// known of steps stays.
    fn narrow_to_wide(&mut self) -> Result<Found, Stop> {
        const BYTES: [(usize, usize); 3] = [(2, 1), (4, 2), (4, 4)];
        let (threads, cells) = (self.threads.count(), self.threads.program().cell_count());
        let mut last = Err(Stop::Wide);
        for bytes in BYTES {
            last = self.states(Layout::new(bytes, threads, cells));
            if !matches!(last, Err(Stop::Wide)) {
                break;
            }
        }
        last
    }

    /// The least set of states; each of them is judged.
    fn states(&mut self, layout: Layout) -> Result<Found, Stop> {
        let count = self.threads.count();
        let mut found = Packed {
            layout,
            store: Store::new(layout.width),
            record: vec![0; layout.width],
        };
        for mut start in starts(&mut self.threads)? {
            self.insert(&mut start, None, &mut found)?;
        }
        let mut steps = 0;
        let mut numbers = vec![0; count + self.threads.program().cell_count()];
        let mut successor = numbers.clone();
        let mut current = found.record.clone();
        let mut moves = Vec::new();
        let mut next = 0;
        while next < found.store.len() {
            self.is_over(next, found.store.len())?;
            current.copy_from_slice(found.store.record(next));
            next += 1;
            layout.read(&current, &mut numbers);
            let (own, cells) = numbers.split_at(count);
            self.threads.judge(own, cells)?;
            self.threads.get_on(own, cells)?;
            let clusters = self.shift.as_ref();
            let clusters = clusters.map(|shift| self.threads.clusters(shift, &numbers));
            moves.clear();
            for (thread, &number) in own.iter().enumerate() {
                let last = self.threads.steps(thread, number) - 1;
                for step in 0..=last {
                    let departs = step == last;
                    let changes = self.threads.changes(thread, number, step, cells)?;
                    moves.extend(changes.map(|change| Move {
                        thread,
                        departs,
                        change,
                    }));
                }
            }
            if let Some(part) = self.enough(&moves, &numbers, next, &mut found)? {
                steps += moves.iter().filter(|step| part.contains(**step)).count() as u64;
                continue;
            }
            for step in &moves {
                steps += 1;
                if let Some(clusters) = &clusters {
                    let change = self.threads.change(step.change);
                    successor.copy_from_slice(&numbers);
                    successor[step.thread] = change.to;
                    for &(cell, value) in self.threads.writes(change) {
                        successor[count + cell as usize] = value;
                    }
                    self.insert(&mut successor, Some(clusters), &mut found)?;
                } else {
                    found.record.copy_from_slice(&current);
                    self.add(*step, &numbers, &mut found)?;
                }
            }
        }
        Ok(Found {
            states: found.store.len(),
            steps,
        })
    }

    /// Adds what a step makes of the state in the record, which has these numbers; its number.
    fn add(&self, step: Move, numbers: &[u32], found: &mut Packed) -> Result<usize, Stop> {
        let layout = found.layout;
        let change = self.threads.change(step.change);
        layout.write(&mut found.record, step.thread, change.to)?;
        for &(cell, value) in self.threads.writes(change) {
            let at = layout.threads + cell as usize;
            layout.write(&mut found.record, at, value)?;
        }
        let alike = self
            .alike
            .iter()
            .filter(|alike| alike.contains(&step.thread));
        for alike in alike {
            let after = |&thread: &usize| {
                if thread == step.thread {
                    change.to
                } else {
                    numbers[thread]
                }
            };
            let mut ascending: Vec<u32> = alike.iter().map(after).collect();
            ascending.sort_unstable();
            for (&thread, number) in alike.iter().zip(ascending) {
                layout.write(&mut found.record, thread, number)?;
            }
        }
        Ok(found.store.insert(&found.record))
    }

    /// A part of the steps that is enough, and that leads to a state from `next` on: one that is not yet expanded. Its
    /// successors are added.
    fn enough(
        &mut self,
        moves: &[Move],
        numbers: &[u32],
        next: usize,
        found: &mut Packed,
    ) -> Result<Option<Part>, Stop> {
        let Some(mut persistent) = self.persistent.take() else {
            return Ok(None);
        };
        let part = self.progressing(&mut persistent, moves, numbers, next, found);
        self.persistent = Some(persistent);
        part
    }

    fn progressing(
        &self,
        persistent: &mut Persistent,
        moves: &[Move],
        numbers: &[u32],
        next: usize,
        found: &mut Packed,
    ) -> Result<Option<Part>, Stop> {
        let count = self.threads.count();
        let (own, cells) = numbers.split_at(count);
        let is_idle = |step: &Move| {
            let change = self.threads.change(step.change);
            let mut writes = self.threads.writes(change).iter();
            change.to == own[step.thread] && writes.all(|(cell, v)| cells[*cell as usize] == *v)
        };
        let mut can_move = vec![false; count];
        for step in moves.iter().filter(|step| !step.departs && !is_idle(step)) {
            can_move[step.thread] = true;
        }
        persistent.look(&self.threads, own, &can_move);
        let mut first = 0;
        while let Some(part) = persistent.part(first) {
            let mut is_new = false;
            for step in moves.iter().filter(|step| part.contains(**step)) {
                for (at, number) in numbers.iter().enumerate() {
                    found.layout.write(&mut found.record, at, *number)?;
                }
                is_new |= self.add(*step, numbers, found)? >= next;
            }
            if is_new {
                return Ok(Some(part));
            }
            first = part.thread + 1;
        }
        Ok(None)
    }

    /// Adds a state, or what represents it. `clusters` are those of the state before.
    fn insert(
        &mut self,
        state: &mut [u32],
        clusters: Option<&[Vec<i64>]>,
        found: &mut Packed,
    ) -> Result<(), Stop> {
        let Some(shift) = &mut self.shift else {
            for alike in &self.alike {
                let mut ascending: Vec<u32> = alike.iter().map(|&thread| state[thread]).collect();
                ascending.sort_unstable();
                for (&thread, number) in alike.iter().zip(ascending) {
                    state[thread] = number;
                }
            }
            return found.add(state);
        };
        let Some(width) = shift.width else {
            self.threads.represent(shift, state)?;
            return found.add(state);
        };
        let all = self
            .threads
            .representatives(shift, width, clusters, state)?;
        all.iter().try_for_each(|state| found.add(state))
    }

    /// Ends a search at its limits.
    fn is_over(&self, next: usize, states: usize) -> Result<(), Stop> {
        let most = self.most;
        if states as u64 > most {
            return Err(Stop::Limit(Reason::States(most)));
        }
        if next.is_multiple_of(INTERVAL)
            // Not a query: only what ends everything ends it.
            && let Some(reason) = self.options.limits.exceeded(Instant::now())
        {
            return Err(Stop::Limit(Reason::Undecided(reason)));
        }
        Ok(())
    }
}

/// The initial states: for each the numbers of the threads' states and of the cells' values.
fn starts(threads: &mut Threads<'_>) -> Result<Vec<Vec<u32>>, Trouble> {
    let program = threads.program();
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for thread in 0..threads.count() {
        let template = program.template(threads.instance(thread).template);
        let mut locals: Vec<Vec<i64>> = vec![Vec::new()];
        for local in &template.locals {
            let values = values(local.init, local.domain, local.span)?;
            locals = extended(&locals, &values, local.span)?;
        }
        let mut numbers = Vec::new();
        for locals in locals {
            let own = Own {
                loc: template.cfg.entry,
                locals: locals.into(),
                buffer: crate::Buffer::default(),
                slots: Box::default(),
            };
            numbers.push(threads.intern(thread, own));
        }
        all = extended(&all, &numbers, template.span)?;
    }
    for (index, init) in program.initial_cells().into_iter().enumerate() {
        let cell = Cell::from(index);
        let global = program.global(program.variable_of(cell).0);
        let values = values(init, global.domain, global.span)?;
        let numbers = values.into_iter().map(|v| threads.number(cell, v));
        all = extended(&all, &numbers.collect::<Vec<_>>(), global.span)?;
    }
    Ok(all)
}

fn values(init: Init, domain: Option<Domain>, span: Span) -> Result<Vec<i64>, Trouble> {
    match (init, domain) {
        (Init::Value(value), _) => Ok(vec![value]),
        (Init::Any, Some(d)) if i128::from(d.hi) - i128::from(d.lo) < MAX_ENUMERATED => {
            Ok((d.lo..=d.hi).collect())
        }
        (Init::Any, _) => Err(unsupported("so many initial values", span)),
    }
}

/// Every list with every item behind it.
fn extended<T: Copy>(lists: &[Vec<T>], items: &[T], span: Span) -> Result<Vec<Vec<T>>, Trouble> {
    if lists.len() * items.len() > MOST_STARTS {
        return Err(unsupported("so many initial states", span));
    }
    let with = |list: &Vec<T>, item: T| {
        let mut list = list.clone();
        list.push(item);
        list
    };
    let all = lists.iter();
    let all = all.flat_map(|list| items.iter().map(move |item| with(list, *item)));
    Ok(all.collect())
}
