//! *Work items*: tasks that do not know of each other, numbered from 0, each with a result. Process 0 hands them out:
//! every thread of every process asks for an item when it has none, so that nobody waits while items are left. In the end all
//! processes have all results. All of it is one round of the network.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use palisade_machine::{Lost, Network};
use serde::{Deserialize, Serialize};

/// Between two looks at what has arrived, while threads work.
const PAUSE: Duration = Duration::from_millis(1);

/// What processes tell each other.
#[derive(Serialize, Deserialize)]
enum Message {
    /// To 0: a thread of this process has nothing to do.
    Want(usize),
    /// From 0: do this.
    Item(usize),
    /// To 0: the result of an item, and [`Message::Want`].
    Done {
        item: usize,
        result: String,
        process: usize,
    },
    /// From 0: all results; there is nothing left.
    All(Vec<String>),
}

fn send(network: &mut dyn Network, to: usize, message: &Message) {
    let text = serde_json::to_vec(message).expect("numbers and texts have a form in JSON");
    network.send(to, text);
}

/// What has been handed out, and what has come back. Only process 0 has it.
struct Ledger {
    next: usize,
    results: Vec<Option<String>>,
    left: usize,
}

impl Ledger {
    fn hand_out(&mut self) -> Option<usize> {
        let item = self.next;
        (item < self.results.len()).then(|| {
            self.next += 1;
            item
        })
    }

    fn note(&mut self, item: usize, result: String) {
        if self.results[item].replace(result).is_none() {
            self.left -= 1;
        }
    }
}

/// Does `items` items together with the other processes, up to `threads` at a time in this one: what `one` gives for
/// each, in the order of their numbers. All processes must be asked for the same items.
///
/// # Errors
/// A process was lost.
pub fn work(
    network: &mut dyn Network,
    items: usize,
    threads: usize,
    one: &(dyn Fn(usize) -> String + Sync),
) -> Result<Vec<String>, Lost> {
    let (give, taken) = channel();
    let (done, results) = channel();
    let taken = Mutex::new(taken);
    let threads = threads.max(1);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (taken, done) = (&taken, done.clone());
            scope.spawn(move || serve(taken, &done, one));
        }
        // When this function returns `give` is gone, and the threads end.
        let here = Here {
            give,
            results,
            threads,
        };
        let all = if network.me() == 0 {
            here.hand_out(network, items)?
        } else {
            here.ask(network)?
        };
        network.end_round()?;
        Ok(all)
    })
}

/// One thread.
fn serve(
    taken: &Mutex<Receiver<usize>>,
    done: &Sender<(usize, thread::Result<String>)>,
    one: &(dyn Fn(usize) -> String + Sync),
) {
    loop {
        let next = taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(item) = next else { return };
        let result = catch_unwind(AssertUnwindSafe(|| one(item)));
        if done.send((item, result)).is_err() {
            return;
        }
    }
}

/// The threads of this process.
struct Here {
    give: Sender<usize>,
    results: Receiver<(usize, thread::Result<String>)>,
    threads: usize,
}

impl Here {
    fn start(&self, item: usize) {
        // Threads are there as long as this is.
        let _ = self.give.send(item);
    }

    /// The next result, if it is there within `pause`. A panic goes on here: the others find this process lost.
    fn result(&self, pause: Duration) -> Option<(usize, String)> {
        let (item, result) = self.results.recv_timeout(pause).ok()?;
        Some((item, result.unwrap_or_else(|panic| resume_unwind(panic))))
    }

    /// Process 0.
    fn hand_out(&self, network: &mut dyn Network, items: usize) -> Result<Vec<String>, Lost> {
        let mut ledger = Ledger {
            next: 0,
            results: vec![None; items],
            left: items,
        };
        for _ in 0..self.threads {
            ledger.hand_out().into_iter().for_each(|i| self.start(i));
        }
        while ledger.left > 0 {
            let arrived = messages(network)?;
            let mut pause = pause_after(&arrived);
            for message in arrived {
                let from = match message {
                    Message::Want(process) => process,
                    Message::Done {
                        item,
                        result,
                        process,
                    } => {
                        ledger.note(item, result);
                        process
                    }
                    Message::Item(_) | Message::All(_) => continue,
                };
                if let Some(item) = ledger.hand_out() {
                    send(network, from, &Message::Item(item));
                }
            }
            while let Some((item, result)) = self.result(pause) {
                pause = Duration::ZERO;
                ledger.note(item, result);
                ledger.hand_out().into_iter().for_each(|i| self.start(i));
            }
        }
        let all: Vec<String> = ledger.results.into_iter().flatten().collect();
        for process in 1..network.peers() {
            send(network, process, &Message::All(all.clone()));
        }
        Ok(all)
    }

    /// Another process.
    fn ask(&self, network: &mut dyn Network) -> Result<Vec<String>, Lost> {
        let process = network.me();
        for _ in 0..self.threads {
            send(network, 0, &Message::Want(process));
        }
        loop {
            let arrived = messages(network)?;
            let mut pause = pause_after(&arrived);
            for message in arrived {
                match message {
                    Message::Item(item) => self.start(item),
                    Message::All(results) => return Ok(results),
                    Message::Want(_) | Message::Done { .. } => {}
                }
            }
            while let Some((item, result)) = self.result(pause) {
                pause = Duration::ZERO;
                let done = Message::Done {
                    item,
                    result,
                    process,
                };
                send(network, 0, &done);
            }
        }
    }
}

/// How long to wait for a thread before the next look at the network.
fn pause_after(arrived: &[Message]) -> Duration {
    if arrived.is_empty() {
        PAUSE
    } else {
        Duration::ZERO
    }
}

/// What has arrived.
fn messages(network: &mut dyn Network) -> Result<Vec<Message>, Lost> {
    let strange = |_| Lost("a message cannot be read".to_owned());
    let read = |bytes: Vec<u8>| serde_json::from_slice(&bytes).map_err(strange);
    network.received()?.into_iter().map(read).collect()
}
