//! Random MPI, OpenSHMEM and GASPI programs: `explore` says that there is a remote race exactly if a detector
//! of its own finds one. The detector knows nothing of accesses under way: it runs a program along random
//! schedules with *vector clocks*, and reports two conflicting accesses of which none happens
//! before the other, where an access of an operation ends when a call completes it. Some programs have a second
//! thread at rank 0 (OpenMP); the detector has a clock for each thread then.

use std::collections::VecDeque;
use std::fmt::Write;
use std::fs;
use std::process::Command;

const SCHEDULES: usize = 300;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Memory of a rank: two cells of its window, and two buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Window(usize),
    X,
    Y,
}

const PLACES: [Place; 4] = [Place::Window(0), Place::Window(1), Place::X, Place::Y];

impl Place {
    const fn text(self) -> &'static str {
        match self {
            Self::Window(0) => "w[0]",
            Self::Window(_) => "w[1]",
            Self::X => "x",
            Self::Y => "y",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Read,
    Write,
    Sum,
    Product,
    Look,
}

fn conflict(a: Kind, b: Kind, same_origin: bool) -> bool {
    use Kind::{Look, Product, Read, Sum, Write};
    match (a, b) {
        (Read | Look, Read | Look) | (Sum, Sum) | (Product, Product) => false,
        (Sum | Product | Look, Sum | Product | Look) => !same_origin && a != Look && b != Look,
        (Write, _) | (_, Write) => true,
        (Read, Sum | Product) | (Sum | Product, Read) => true,
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Load(Place),
    Store(Place),
    Put {
        to: usize,
        cell: usize,
        from: Place,
        blocks: bool,
    },
    Get {
        to: usize,
        cell: usize,
        into: Place,
        blocks: bool,
    },
    Atomic {
        to: usize,
        cell: usize,
        buffer: Place,
        kind: Kind,
    },
    /// Completes the own operations to a rank, or to all; for the origin's side only.
    Complete {
        to: Option<usize>,
        local: bool,
    },
    /// OpenSHMEM.
    Fence,
    Barrier,
    /// Completes, then a barrier.
    FenceAll,
    Lock {
        to: usize,
        exclusive: bool,
    },
    Unlock {
        to: usize,
    },
    Send(usize),
    Receive(usize),
    /// A barrier of the two threads of rank 0.
    Meet,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    /// `MPI_Win_lock_all`, flushes, barriers, messages.
    Passive,
    Fences,
    Locks,
    Shmem,
    /// Writes, reads, waits for the queue; a message is a notification.
    Gaspi,
}

struct Program {
    style: Style,
    /// The steps of each rank, and of the second thread of rank 0.
    ranks: Vec<Vec<Step>>,
}

const RANKS: usize = 2;

/// The rank of a thread.
const fn rank_of(thread: usize) -> usize {
    if thread < RANKS { thread } else { 0 }
}

fn access(random: &mut Random, style: Style, me: usize, ranks: usize) -> Step {
    let to = random.below(ranks);
    let cell = random.below(2);
    let buffer = random.pick(&PLACES);
    let blocks = style == Style::Shmem && random.below(2) == 0;
    // A buffer that is the target itself is no interesting race.
    let buffer = match buffer {
        Place::Window(_) if to == me => Place::X,
        other => other,
    };
    match random.below(7) {
        0 => Step::Load(random.pick(&PLACES)),
        1 => Step::Store(random.pick(&PLACES)),
        2 | 3 => Step::Put {
            to,
            cell,
            from: buffer,
            blocks,
        },
        4 => Step::Get {
            to,
            cell,
            into: buffer,
            blocks,
        },
        _ if matches!(style, Style::Shmem | Style::Gaspi) => Step::Put {
            to,
            cell,
            from: buffer,
            blocks,
        },
        _ => {
            let kind = random.pick(&[Kind::Sum, Kind::Sum, Kind::Product, Kind::Look]);
            Step::Atomic {
                to,
                cell,
                buffer,
                kind,
            }
        }
    }
}

fn program(random: &mut Random) -> Program {
    let style = random.pick(&[
        Style::Passive,
        Style::Passive,
        Style::Fences,
        Style::Locks,
        Style::Shmem,
    ]);
    let count = 2;
    let mut ranks = vec![Vec::new(); count];
    for _ in 0..=random.below(2) {
        for (me, steps) in ranks.iter_mut().enumerate() {
            let (mut locked, length) = (None, random.below(3));
            if style == Style::Locks && random.below(4) > 0 {
                let (to, exclusive) = (random.below(count), random.below(3) > 0);
                steps.push(Step::Lock { to, exclusive });
                locked = Some(to);
            }
            for _ in 0..length {
                let step = access(random, style, me, count);
                match (style, locked, step) {
                    (Style::Locks, None, Step::Load(_) | Step::Store(_)) => steps.push(step),
                    (Style::Locks, None, _) => steps.push(Step::Load(Place::Window(0))),
                    (
                        Style::Locks,
                        Some(to),
                        Step::Put {
                            cell, from, blocks, ..
                        },
                    ) => {
                        let from = if to == me { Place::X } else { from };
                        steps.push(Step::Put {
                            to,
                            cell,
                            from,
                            blocks,
                        });
                    }
                    (
                        Style::Locks,
                        Some(to),
                        Step::Get {
                            cell, into, blocks, ..
                        },
                    ) => {
                        let into = if to == me { Place::X } else { into };
                        steps.push(Step::Get {
                            to,
                            cell,
                            into,
                            blocks,
                        });
                    }
                    (
                        Style::Locks,
                        Some(to),
                        Step::Atomic {
                            cell, buffer, kind, ..
                        },
                    ) => {
                        let buffer = if to == me { Place::X } else { buffer };
                        steps.push(Step::Atomic {
                            to,
                            cell,
                            buffer,
                            kind,
                        });
                    }
                    _ => steps.push(step),
                }
                match style {
                    Style::Passive if random.below(3) == 0 => {
                        let to = random.pick(&[None, Some(0), Some(1)]);
                        let local = random.below(3) == 0;
                        steps.push(Step::Complete { to, local });
                    }
                    Style::Shmem if random.below(4) == 0 => {
                        let quiet = Step::Complete {
                            to: None,
                            local: false,
                        };
                        steps.push(random.pick(&[quiet, Step::Fence]));
                    }
                    _ => {}
                }
            }
            if let Some(to) = locked {
                steps.push(Step::Unlock { to });
            }
        }
        let how = random.below(4);
        match (style, how) {
            (Style::Fences, _) => ranks.iter_mut().for_each(|r| r.push(Step::FenceAll)),
            (Style::Shmem, 0) => ranks.iter_mut().for_each(|r| r.push(Step::FenceAll)),
            (Style::Passive, 0) => {
                ranks[0].push(Step::Send(1));
                ranks[1].push(Step::Receive(0));
            }
            (_, 1 | 2) => ranks.iter_mut().for_each(|r| r.push(Step::Barrier)),
            _ => {}
        }
    }
    for (me, steps) in ranks.iter_mut().enumerate() {
        if random.below(2) == 0 && style != Style::Locks {
            let step = access(random, style, me, count);
            steps.push(step);
        }
    }
    if style == Style::Passive && random.below(2) == 0 {
        let mut second = Vec::new();
        for _ in 0..=random.below(2) {
            second.push(access(random, style, 0, count));
            if random.below(3) == 0 {
                let (to, local) = (None, random.below(3) == 0);
                second.push(Step::Complete { to, local });
            }
        }
        if random.below(2) == 0 {
            for steps in [&mut ranks[0], &mut second] {
                let at = random.below(steps.len() + 1);
                steps.insert(at, Step::Meet);
            }
        }
        ranks.push(second);
    }
    Program { style, ranks }
}

/// Two ranks of GASPI: one queue, and notifications from one to the other.
fn gaspi_program(random: &mut Random) -> Program {
    let style = Style::Gaspi;
    let mut ranks = vec![Vec::new(); RANKS];
    for _ in 0..=random.below(2) {
        for (me, steps) in ranks.iter_mut().enumerate() {
            for _ in 0..random.below(3) {
                steps.push(access(random, style, me, RANKS));
                if random.below(3) == 0 {
                    let (to, local) = (None, false);
                    steps.push(Step::Complete { to, local });
                }
            }
        }
        let from = random.below(2);
        match random.below(4) {
            0 => ranks.iter_mut().for_each(|r| r.push(Step::Barrier)),
            1 => {}
            _ => {
                ranks[from].push(Step::Send(1 - from));
                ranks[1 - from].push(Step::Receive(from));
            }
        }
    }
    for (me, steps) in ranks.iter_mut().enumerate() {
        if random.below(2) == 0 {
            steps.push(access(random, style, me, RANKS));
        }
    }
    Program { style, ranks }
}

/// The steps of the threads of rank 0, between the barriers of both.
fn team_text(first: &[Step], second: &[Step]) -> String {
    let pieces = |steps: &[Step]| -> Vec<String> {
        let pieces = steps.split(|s| matches!(s, Step::Meet));
        let lines = |piece: &[Step]| piece.iter().map(|s| mpi_text(*s) + "\n").collect();
        pieces.map(lines).collect()
    };
    let both = pieces(first).into_iter().zip(pieces(second));
    let both =
        both.map(|(a, b)| format!("if (omp_get_thread_num() == 0) {{\n{a}}} else {{\n{b}}}\n"));
    let body = both.collect::<Vec<_>>().join("#pragma omp barrier\n");
    format!("#pragma omp parallel num_threads(2)\n{{\n{body}}}\n")
}

fn mpi_text(step: Step) -> String {
    match step {
        Step::Load(p) => format!("printf(\"%d\", {});", p.text()),
        Step::Store(p) => format!("{} = 3;", p.text()),
        Step::Put { to, cell, from, .. } => {
            format!(
                "MPI_Put(&{}, 1, MPI_INT, {to}, {cell}, 1, MPI_INT, win);",
                from.text()
            )
        }
        Step::Get { to, cell, into, .. } => {
            format!(
                "MPI_Get(&{}, 1, MPI_INT, {to}, {cell}, 1, MPI_INT, win);",
                into.text()
            )
        }
        Step::Atomic {
            to,
            cell,
            buffer,
            kind,
        } => {
            let op = if kind == Kind::Sum {
                "MPI_SUM"
            } else {
                "MPI_PROD"
            };
            let b = buffer.text();
            if kind == Kind::Look {
                format!("MPI_Fetch_and_op(NULL, &{b}, MPI_INT, {to}, {cell}, MPI_NO_OP, win);")
            } else {
                format!("MPI_Accumulate(&{b}, 1, MPI_INT, {to}, {cell}, 1, MPI_INT, {op}, win);")
            }
        }
        Step::Complete { to, local } => {
            let local = if local { "_local" } else { "" };
            match to {
                Some(to) => format!("MPI_Win_flush{local}({to}, win);"),
                None => format!("MPI_Win_flush{local}_all(win);"),
            }
        }
        Step::Fence | Step::Meet => String::new(),
        Step::Barrier => "MPI_Barrier(MPI_COMM_WORLD);".to_owned(),
        Step::FenceAll => "MPI_Win_fence(0, win);".to_owned(),
        Step::Lock { to, exclusive } => {
            let kind = if exclusive { "EXCLUSIVE" } else { "SHARED" };
            format!("MPI_Win_lock(MPI_LOCK_{kind}, {to}, 0, win);")
        }
        Step::Unlock { to } => format!("MPI_Win_unlock({to}, win);"),
        Step::Send(to) => format!("MPI_Send(&token, 1, MPI_INT, {to}, 0, MPI_COMM_WORLD);"),
        Step::Receive(from) => {
            format!("MPI_Recv(&token, 1, MPI_INT, {from}, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);")
        }
    }
}

fn shmem_text(step: Step) -> String {
    let nbi = |blocks: bool| if blocks { "" } else { "_nbi" };
    match step {
        Step::Put {
            to,
            cell,
            from,
            blocks,
        } => {
            format!(
                "shmem_int_put{}(&w[{cell}], &{}, 1, {to});",
                nbi(blocks),
                from.text()
            )
        }
        Step::Get {
            to,
            cell,
            into,
            blocks,
        } => {
            format!(
                "shmem_int_get{}(&{}, &w[{cell}], 1, {to});",
                nbi(blocks),
                into.text()
            )
        }
        Step::Complete { .. } => "shmem_quiet();".to_owned(),
        Step::Fence => "shmem_fence();".to_owned(),
        Step::Barrier => "shmem_sync_all();".to_owned(),
        Step::FenceAll => "shmem_barrier_all();".to_owned(),
        other => mpi_text(other),
    }
}

/// Where a place is in the segment: the window's cells, then the buffers.
const fn offset(place: Place) -> usize {
    match place {
        Place::Window(k) => k,
        Place::X => 2,
        Place::Y => 3,
    }
}

fn gaspi_text(program: &Program) -> String {
    let mut text = String::from(
        "#include <GASPI.h>\n#include <stdio.h>\nint main(void) {\ngaspi_rank_t rank;\n\
         gaspi_pointer_t memory;\ngaspi_notification_id_t first;\ngaspi_proc_init(GASPI_BLOCK);\n\
         gaspi_proc_rank(&rank);\ngaspi_segment_create(0, 4 * sizeof(int), GASPI_GROUP_ALL, GASPI_BLOCK, \
         GASPI_MEM_INITIALIZED);\ngaspi_segment_ptr(0, &memory);\nint *s = (int *)memory;\n",
    );
    for (rank, steps) in program.ranks.iter().enumerate() {
        let _ = writeln!(text, "if (rank == {rank}) {{");
        let (mut sent, mut received) = (0, 0);
        for step in steps {
            let moved = |name: &str, near: Place, to: usize, cell: usize| {
                let (near, far) = (4 * offset(near), 4 * cell);
                format!("gaspi_{name}(0, {near}, {to}, 0, {far}, 4, 0, GASPI_BLOCK);")
            };
            let line = match *step {
                Step::Load(p) => format!("printf(\"%d\", s[{}]);", offset(p)),
                Step::Store(p) => format!("s[{}] = 3;", offset(p)),
                Step::Put { to, cell, from, .. } => moved("write", from, to, cell),
                Step::Get { to, cell, into, .. } => moved("read", into, to, cell),
                Step::Complete { .. } => "gaspi_wait(0, GASPI_BLOCK);".to_owned(),
                Step::Barrier => "gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);".to_owned(),
                Step::Send(to) => {
                    sent += 1;
                    format!("gaspi_notify(0, {to}, {}, 1, 0, GASPI_BLOCK);", sent - 1)
                }
                Step::Receive(_) => {
                    received += 1;
                    let id = received - 1;
                    format!("gaspi_notify_waitsome(0, {id}, 1, &first, GASPI_BLOCK);")
                }
                Step::Atomic { .. } | Step::Fence | Step::FenceAll => String::new(),
                Step::Lock { .. } | Step::Unlock { .. } | Step::Meet => String::new(),
            };
            let _ = writeln!(text, "{line}");
        }
        text += "}\n";
    }
    text + "gaspi_proc_term(GASPI_BLOCK);\nreturn 0;\n}\n"
}

fn text(program: &Program) -> String {
    if program.style == Style::Gaspi {
        return gaspi_text(program);
    }
    let is_shmem = program.style == Style::Shmem;
    let mut text = String::new();
    if is_shmem {
        text += "#include <shmem.h>\n#include <stdio.h>\nstatic int w[2];\nint main(void) {\n\
                 int x = 1, y = 2, rank;\nshmem_init();\nrank = shmem_my_pe();\n";
    } else {
        text += "#include <mpi.h>\n#include <omp.h>\n#include <stdio.h>\nint main(int argc, char **argv) {\n\
                 int x = 1, y = 2, token = 0, rank, w[2] = {0, 0};\nMPI_Win win;\n\
                 MPI_Init(&argc, &argv);\nMPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
                 MPI_Win_create(w, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);\n";
        text += match program.style {
            Style::Passive => "MPI_Win_lock_all(0, win);\n",
            Style::Fences => "MPI_Win_fence(0, win);\n",
            Style::Locks | Style::Shmem | Style::Gaspi => "",
        };
    }
    for (rank, steps) in program.ranks.iter().take(RANKS).enumerate() {
        let _ = writeln!(text, "if (rank == {rank}) {{");
        if let (0, Some(second)) = (rank, program.ranks.get(RANKS)) {
            let _ = writeln!(text, "{}}}", team_text(steps, second));
            continue;
        }
        for step in steps {
            let line = if is_shmem {
                shmem_text(*step)
            } else {
                mpi_text(*step)
            };
            let _ = writeln!(text, "{line}");
        }
        text += "}\n";
    }
    if !is_shmem {
        text += "MPI_Finalize();\n";
    }
    text + "return 0;\n}\n"
}

/// An access that was seen.
struct Seen {
    home: usize,
    place: Place,
    kind: Kind,
    by: usize,
    to: usize,
    is_origin: bool,
    /// Whose event completed it, and when.
    done: Option<(usize, u64)>,
    fenced: bool,
}

struct Lock {
    holders: Vec<usize>,
    exclusive: bool,
    after_exclusive: Vec<u64>,
    after_all: Vec<u64>,
}

struct Run<'p> {
    program: &'p Program,
    at: Vec<usize>,
    clocks: Vec<Vec<u64>>,
    seen: Vec<Seen>,
    locks: Vec<Lock>,
    /// Messages: the sender's clock, and the accesses that are over when it is received.
    queues: Vec<VecDeque<(Vec<u64>, Vec<usize>)>>,
}

fn join(a: &mut [u64], b: &[u64]) {
    a.iter_mut().zip(b).for_each(|(x, y)| *x = (*x).max(*y));
}

impl Run<'_> {
    fn new(program: &Program) -> Run<'_> {
        let n = program.ranks.len();
        let lock = || Lock {
            holders: Vec::new(),
            exclusive: false,
            after_exclusive: vec![0; n],
            after_all: vec![0; n],
        };
        Run {
            program,
            at: vec![0; n],
            clocks: vec![vec![0; n]; n],
            seen: Vec::new(),
            locks: (0..n).map(|_| lock()).collect(),
            queues: vec![VecDeque::new(); n],
        }
    }

    fn next(&self, rank: usize) -> Option<Step> {
        self.program.ranks[rank].get(self.at[rank]).copied()
    }

    fn is_ready(&self, rank: usize) -> bool {
        match self.next(rank) {
            None => false,
            Some(Step::Receive(_)) => !self.queues[rank].is_empty(),
            Some(Step::Lock { to, exclusive }) => {
                let lock = &self.locks[to];
                lock.holders.is_empty() || !(exclusive || lock.exclusive)
            }
            Some(Step::Barrier | Step::FenceAll) => {
                let waits = |r| matches!(self.next(r), Some(Step::Barrier | Step::FenceAll));
                (0..RANKS).all(waits)
            }
            Some(Step::Meet) => {
                let waits = |r| matches!(self.next(r), Some(Step::Meet));
                waits(0) && waits(RANKS)
            }
            Some(_) => true,
        }
    }

    /// Notes an access; whether it races with one before.
    fn note(&mut self, new: Seen, ordered: bool) -> bool {
        let clock = &self.clocks[new.by];
        let races = self.seen.iter().any(|old| {
            let same = old.home == new.home && old.place == new.place;
            let before = old.done.is_some_and(|(rank, time)| clock[rank] >= time);
            let is_own = rank_of(old.by) == rank_of(new.by);
            let fenced = ordered && old.fenced && is_own;
            same && !before && !fenced && conflict(old.kind, new.kind, is_own)
        });
        self.seen.push(new);
        races
    }

    fn complete(&mut self, rank: usize, to: Option<usize>, local: bool) {
        let now = (rank, self.clocks[rank][rank]);
        for access in &mut self.seen {
            let is_far_write = !access.is_origin && access.kind == Kind::Write;
            let stays = self.program.style == Style::Gaspi && is_far_write;
            let own = rank_of(access.by) == rank_of(rank) && !stays;
            let meant = own && to.is_none_or(|t| t == access.to);
            if meant && access.done.is_none() && (access.is_origin || !local) {
                access.done = Some(now);
            }
        }
    }

    /// Takes the next step of a rank; whether there is a race.
    fn step(&mut self, rank: usize) -> bool {
        let Some(step) = self.next(rank) else {
            return false;
        };
        self.clocks[rank][rank] += 1;
        let now = (rank, self.clocks[rank][rank]);
        let own = |place, kind| Seen {
            home: rank_of(rank),
            place,
            kind,
            by: rank,
            to: rank_of(rank),
            is_origin: true,
            done: Some(now),
            fenced: false,
        };
        let far = |to, cell, kind, done| Seen {
            home: to,
            place: Place::Window(cell),
            kind,
            by: rank,
            to,
            is_origin: false,
            done,
            fenced: false,
        };
        let near = |to, place, kind, done| Seen {
            to,
            done,
            ..own(place, kind)
        };
        let mut races = false;
        match step {
            Step::Load(place) => races |= self.note(own(place, Kind::Read), false),
            Step::Store(place) => races |= self.note(own(place, Kind::Write), false),
            Step::Put {
                to,
                cell,
                from,
                blocks,
            } => {
                races |= self.note(far(to, cell, Kind::Write, None), true);
                let done = blocks.then_some(now);
                races |= self.note(near(to, from, Kind::Read, done), false);
            }
            Step::Get {
                to,
                cell,
                into,
                blocks,
            } => {
                let done = blocks.then_some(now);
                races |= self.note(far(to, cell, Kind::Read, done), false);
                races |= self.note(near(to, into, Kind::Write, done), false);
            }
            Step::Atomic {
                to,
                cell,
                buffer,
                kind,
            } => {
                races |= self.note(far(to, cell, kind, None), true);
                let own = if kind == Kind::Look {
                    Kind::Write
                } else {
                    Kind::Read
                };
                races |= self.note(near(to, buffer, own, None), false);
            }
            Step::Complete { to, local } => self.complete(rank, to, local),
            Step::Fence => {
                let own = self
                    .seen
                    .iter_mut()
                    .filter(|a| a.by == rank && !a.is_origin);
                own.filter(|a| a.kind == Kind::Write)
                    .for_each(|a| a.fenced = true);
            }
            Step::Barrier | Step::FenceAll => {
                let all = 0..RANKS;
                for r in all.clone() {
                    if r != rank {
                        self.clocks[r][r] += 1;
                    }
                    if matches!(self.next(r), Some(Step::FenceAll)) {
                        self.complete(r, None, false);
                    }
                }
                let mut joined = vec![0; self.at.len()];
                let clocks = &mut self.clocks[..RANKS];
                for c in clocks.iter() {
                    join(&mut joined, c);
                }
                for c in clocks.iter_mut() {
                    c.clone_from(&joined);
                }
                all.filter(|r| *r != rank).for_each(|r| self.at[r] += 1);
            }
            Step::Meet => {
                let other = if rank == 0 { RANKS } else { 0 };
                self.clocks[other][other] += 1;
                let mut joined = self.clocks[rank].clone();
                join(&mut joined, &self.clocks[other]);
                self.clocks[rank].clone_from(&joined);
                self.clocks[other] = joined;
                self.at[other] += 1;
            }
            Step::Lock { to, exclusive } => {
                let lock = &mut self.locks[to];
                lock.holders.push(rank);
                lock.exclusive = exclusive;
                let after = if exclusive {
                    &lock.after_all
                } else {
                    &lock.after_exclusive
                };
                join(&mut self.clocks[rank], after);
            }
            Step::Unlock { to } => {
                self.complete(rank, Some(to), false);
                let lock = &mut self.locks[to];
                lock.holders.retain(|r| *r != rank);
                let clock = &self.clocks[rank];
                join(&mut lock.after_all, clock);
                if lock.exclusive {
                    join(&mut lock.after_exclusive, clock);
                }
                if lock.holders.is_empty() {
                    lock.exclusive = false;
                }
            }
            Step::Send(to) => {
                let clock = self.clocks[rank].clone();
                // A notification comes behind the writes to the same rank.
                let is_written = |a: &Seen| match a.kind {
                    Kind::Read => a.is_origin,
                    Kind::Write => !a.is_origin,
                    Kind::Sum | Kind::Product | Kind::Look => false,
                };
                let all = self.seen.iter().enumerate();
                let covered = all.filter(|(_, a)| {
                    a.by == rank && a.to == to && a.done.is_none() && is_written(a)
                });
                let covered = covered.map(|(k, _)| k);
                let covered = covered.filter(|_| self.program.style == Style::Gaspi);
                let covered = covered.collect();
                self.queues[to].push_back((clock, covered));
            }
            Step::Receive(_) => {
                if let Some((clock, covered)) = self.queues[rank].pop_front() {
                    join(&mut self.clocks[rank], &clock);
                    for k in covered {
                        self.seen[k].done.get_or_insert(now);
                    }
                }
            }
        }
        self.at[rank] += 1;
        races
    }
}

/// Whether some schedule has a race.
fn has_race(program: &Program, random: &mut Random) -> bool {
    (0..SCHEDULES).any(|_| {
        let mut run = Run::new(program);
        loop {
            let ready: Vec<usize> = (0..program.ranks.len())
                .filter(|r| run.is_ready(*r))
                .collect();
            if ready.is_empty() {
                return false;
            }
            if run.step(random.pick(&ready)) {
                return true;
            }
        }
    })
}

#[test]
fn races_are_those_of_vector_clocks() {
    compare(50, &program);
}

#[test]
fn races_of_gaspi_are_those_of_vector_clocks() {
    compare(30, &gaspi_program);
}

/// Compares both on so many programs.
fn compare(few: u64, made: &dyn Fn(&mut Random) -> Program) {
    if Command::new("cc").arg("--version").output().is_err() {
        return;
    }
    let wanted = std::env::var("PALISADE_SOAK")
        .ok()
        .and_then(|n| n.parse().ok());
    let count: u64 = wanted.unwrap_or(few);
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let file = folder.join("t.c");
    let (mut racy, mut free) = (0, 0);
    for seed in 0..count {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
        let program = made(&mut random);
        let text = text(&program);
        fs::write(&file, &text).expect("written");
        let output = Command::new(env!("CARGO_BIN_EXE_palisade"))
            .args([
                "explore", "--check", "races", "--model", "rma", "-n", "2", "--json",
            ])
            .arg(&file)
            .output()
            .expect("palisade runs");
        let words = String::from_utf8_lossy(&output.stdout).into_owned();
        let context = format!(
            "seed {seed}\n{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let found = match output.status.code() {
            Some(0) => false,
            Some(1) => {
                // Two loads and stores of one rank are a data race.
                let is_team = program.ranks.len() > RANKS;
                let is_race = words.contains("\"remote-race\"");
                let is_data_race = is_team && words.contains("data race");
                assert!(is_race || is_data_race, "{context}\n{words}");
                true
            }
            other => panic!("{other:?}: {context}\n{words}"),
        };
        let expected = has_race(&program, &mut random);
        assert_eq!(
            found, expected,
            "a race by vector clocks: {expected}; {context}"
        );
        *(if found { &mut racy } else { &mut free }) += 1;
    }
    assert!(
        racy * 5 > count && free * 5 > count,
        "{racy} with races, {free} without"
    );
}
