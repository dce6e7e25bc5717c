//! Wherever states are kept, and whoever shares the search: the same verdict, counts and
//! shortest run as in memory.

use crate::common;

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;

use common::{models, parse, soak};
use palisade_arbitrary::{Shape, generate};
use palisade_machine::{
    Exploration, Lost, Network, Options, Storage, StorageError, explore, explore_choosing_in,
};
use palisade_program::{Model, Program, Unknown, Verdict};

/// What must not depend on where states are.
fn result(found: &Exploration) -> impl PartialEq + std::fmt::Debug + use<> {
    let stats = &found.stats;
    (
        found.verdict.clone(),
        found.witness.clone(),
        found.bounds,
        found.deadlock.as_ref().map(|d| d.trace.steps.len()),
        found.vacuous.clone(),
        found.reached.clone(),
        (stats.states, stats.transitions, stats.depth),
        (stats.trace_states, stats.shortest),
    )
}

fn in_storage(program: &Program, options: &Options, storage: &mut Storage<'_>) -> Exploration {
    let found = explore_choosing_in(program, options, storage);
    found.expect("the model fits").0
}

/// Processes as threads: each message names its round, and a barrier ends it.
struct Threads {
    me: usize,
    senders: Vec<Sender<(u64, Vec<u8>)>>,
    receiver: Receiver<(u64, Vec<u8>)>,
    early: Vec<(u64, Vec<u8>)>,
    round: u64,
    barrier: Arc<Barrier>,
}

impl Threads {
    fn group(count: usize) -> Vec<Self> {
        let barrier = Arc::new(Barrier::new(count));
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| channel()).unzip();
        let receivers = receivers.into_iter().enumerate();
        receivers
            .map(|(me, receiver)| Self {
                me,
                senders: senders.clone(),
                receiver,
                early: Vec::new(),
                round: 0,
                barrier: Arc::clone(&barrier),
            })
            .collect()
    }
}

impl Network for Threads {
    fn me(&self) -> usize {
        self.me
    }

    fn peers(&self) -> usize {
        self.senders.len()
    }

    fn send(&mut self, to: usize, message: Vec<u8>) {
        let sent = self.senders[to].send((self.round, message));
        sent.expect("nobody ends early");
    }

    fn received(&mut self) -> Result<Vec<Vec<u8>>, Lost> {
        self.early.extend(self.receiver.try_iter());
        let (now, later) = self.early.drain(..).partition(|(r, _)| *r == self.round);
        self.early = later;
        let now: Vec<(u64, Vec<u8>)> = now;
        Ok(now.into_iter().map(|(_, message)| message).collect())
    }

    fn end_round(&mut self) -> Result<Vec<Vec<u8>>, Lost> {
        self.barrier.wait();
        let messages = self.received();
        self.round += 1;
        messages
    }
}

/// Explores with `count` processes; all must find the same.
fn together(program: &Program, options: &Options, count: usize) -> Exploration {
    let found: Vec<Exploration> = thread::scope(|scope| {
        let group = Threads::group(count).into_iter();
        let handles: Vec<_> = group
            .map(|network| {
                scope.spawn(|| {
                    let mut storage = Storage::shared(Box::new(network));
                    in_storage(program, options, &mut storage)
                })
            })
            .collect();
        let joined = handles.into_iter().map(|h| h.join().expect("no panic"));
        joined.collect()
    });
    for other in &found[1..] {
        assert_eq!(result(other), result(&found[0]));
    }
    found.into_iter().next().expect("there is a process")
}

fn shape(seed: u64) -> Shape {
    match seed % 4 {
        0 => Shape {
            threads: 3,
            statements: 3,
            ..Shape::default()
        },
        1 => Shape::rma(),
        _ => Shape::default(),
    }
}

#[test]
fn states_on_disk_and_in_other_processes() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..soak(60) {
        let text = generate(seed.wrapping_add(7_000_000), &shape(seed));
        let program = Program {
            deadlock: seed.is_multiple_of(3),
            ..parse(&text)
        };
        for &model in models(&program) {
            let mut options = Options::new(model);
            options.workers = 1 + seed as usize % 2;
            options.partial_order = !seed.is_multiple_of(5);
            options.max_states = Some(20_000);
            let plain = explore(&program, &options).expect("the model fits");
            if plain.stats.states.max(plain.stats.trace_states) > 20_000 {
                continue;
            }
            let context = format!("seed {seed} under {model}:\n{text}");
            options.max_states = None;
            let checkpoint = folder.path().join(format!("{seed}{model}"));
            for resume in [false, true] {
                let mut storage = Storage::checkpoint(&checkpoint, &text, resume).unwrap();
                let found = in_storage(&program, &options, &mut storage);
                assert_eq!(result(&found), result(&plain), "{resume} {context}");
            }
            fs::remove_dir_all(&checkpoint).unwrap();
            let found = together(&program, &options, 1 + seed as usize % 3);
            assert_eq!(result(&found), result(&plain), "together, {context}");
            // Memory for some dozens of states.
            options.max_memory = Some(20_000);
            let mut storage = Storage::spill(folder.path()).unwrap();
            let found = in_storage(&program, &options, &mut storage);
            assert_eq!(result(&found), result(&plain), "spill, {context}");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Two threads that count: some thousand states, and a violation at the end.
const COUNTERS: &str = "
shared x = 0;
shared y = 0;
thread t { local i = 0; while (i < 20) { i = i + 1; x = i; } }
thread u { local i = 0; while (i < 20) { i = i + 1; y = i; } }
never x == 20 && y == 20;";

#[test]
fn a_search_that_spills_finds_the_same_run() {
    let folder = tempfile::tempdir().unwrap();
    let program = parse(COUNTERS);
    for model in [Model::Sc, Model::Tso] {
        let mut options = Options::new(model);
        options.buffer = Some(2);
        let plain = explore(&program, &options).unwrap();
        assert!(matches!(plain.verdict, Verdict::Violated(_)));
        options.max_memory = Some(30_000);
        let unknown = explore(&program, &options).unwrap();
        assert_eq!(unknown.verdict, Verdict::Unknown(Unknown::Memory));
        let mut storage = Storage::spill(folder.path()).unwrap();
        let found = in_storage(&program, &options, &mut storage);
        assert_eq!(result(&found), result(&plain));
    }
}

fn checkpoint(folder: &Path, question: &str, resume: bool) -> Result<(), StorageError> {
    Storage::checkpoint(folder, question, resume).map(drop)
}

#[test]
fn a_checkpoint_is_of_one_question() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    checkpoint(folder, "a", false).unwrap();
    let refused = checkpoint(folder, "a", false).unwrap_err();
    assert!(matches!(refused, StorageError::Taken(_)));
    let refused = checkpoint(folder, "b", true).unwrap_err();
    assert!(matches!(refused, StorageError::AnotherQuestion(_)));
    checkpoint(folder, "a", true).unwrap();
}

#[test]
fn a_damaged_checkpoint_gives_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let program = parse(COUNTERS);
    let options = Options::new(Model::Sc);
    let mut storage = Storage::checkpoint(folder.path(), COUNTERS, false).unwrap();
    in_storage(&program, &options, &mut storage);
    let mut damaged = 0;
    for entry in fs::read_dir(folder.path().join("search-0")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(&path, bytes).unwrap();
        damaged += 1;
    }
    assert!(damaged > 0);
    let mut storage = Storage::checkpoint(folder.path(), COUNTERS, true).unwrap();
    let found = in_storage(&program, &options, &mut storage);
    assert!(matches!(found.verdict, Verdict::Unknown(Unknown::Lost(_))));
}
